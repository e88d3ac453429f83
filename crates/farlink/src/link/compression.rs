//! Zstandard over the life of a connection: what went before is the window for what comes, and each batch is flushed, so that the
//! other end can read all of it at once.
//!
//! Promises of the receiving side: its memory is bounded by the window, whatever the sender says, and output comes in pieces
//! of [`PIECE_BYTES`], so that a few bytes that claim to be gigabytes are noticed by whoever counts.

use zstd::stream::raw::{CParameter, DParameter, Decoder, Encoder, InBuffer, Operation, OutBuffer};

/// How far back both ends remember, as a power of two: 4 MiB.
const WINDOW_LOG: u32 = 22;
/// Output is made in pieces of this size.
pub(super) const PIECE_BYTES: usize = 64 * 1024;

/// Bytes that cannot be decompressed.
#[derive(Debug)]
pub(super) struct Damaged;

/// The sending side.
pub(super) struct Compressor {
    encoder: Encoder<'static>,
}

impl Compressor {
    /// `None` if the library refuses the level.
    pub(super) fn new(level: i32) -> Option<Compressor> {
        let mut encoder = Encoder::new(level).ok()?;
        encoder.set_parameter(CParameter::WindowLog(WINDOW_LOG)).ok()?;
        Some(Compressor { encoder })
    }

    /// Appends the batch, flushed.
    pub(super) fn compress(&mut self, batch: &[u8], out: &mut Vec<u8>) -> Result<(), Damaged> {
        let mut input = InBuffer::around(batch);
        while input.pos() < batch.len() {
            self.step(out, |encoder, piece| encoder.run(&mut input, piece))?;
        }
        while self.step(out, |encoder, piece| encoder.flush(piece))? > 0 {}
        Ok(())
    }

    fn step(
        &mut self,
        out: &mut Vec<u8>,
        run: impl FnOnce(&mut Encoder<'static>, &mut OutBuffer<'_, Vec<u8>>) -> std::io::Result<usize>,
    ) -> Result<usize, Damaged> {
        out.reserve(PIECE_BYTES);
        let written = out.len();
        let mut piece = OutBuffer::around_pos(out, written);
        run(&mut self.encoder, &mut piece).map_err(|_| Damaged)
    }
}

/// The receiving side.
pub(super) struct Decompressor {
    decoder: Decoder<'static>,
}

impl Decompressor {
    pub(super) fn new() -> Option<Decompressor> {
        let mut decoder = Decoder::new().ok()?;
        decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG)).ok()?;
        Some(Decompressor { decoder })
    }

    /// Makes one piece of `input`, whose start it takes, and appends it. Returns whether there may be more.
    pub(super) fn decompress(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<bool, Damaged> {
        let start = out.len();
        out.resize(start + PIECE_BYTES, 0);
        let step = self.decoder.run_on_buffers(input, &mut out[start..]).map_err(|_| Damaged);
        let Ok(step) = step else {
            out.truncate(start);
            return Err(Damaged);
        };
        out.truncate(start + step.bytes_written);
        *input = &input[step.bytes_read..];
        // A full piece may have left output inside the decoder, though its input is used up.
        Ok(!input.is_empty() || step.bytes_written == PIECE_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_batch_can_be_read_when_it_arrives_and_repeats_cost_little() {
        let mut compressor = Compressor::new(1).unwrap();
        let mut decompressor = Decompressor::new().unwrap();
        let mut state = 1_u32;
        let batch: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .take(200_000)
        .collect();
        let mut lengths = Vec::new();
        for _ in 0..3 {
            let (mut wire, mut plain) = (Vec::new(), Vec::new());
            compressor.compress(&batch, &mut wire).unwrap();
            let mut input = wire.as_slice();
            while decompressor.decompress(&mut input, &mut plain).unwrap() {}
            assert!(plain == batch);
            lengths.push(wire.len());
        }
        assert!(lengths[0] >= batch.len() && lengths[1] < 1_000, "{lengths:?}");
    }

    #[test]
    fn garbage_is_an_error() {
        let mut decompressor = Decompressor::new().unwrap();
        assert!(decompressor.decompress(&mut [1_u8; 64].as_slice(), &mut Vec::new()).is_err());
    }
}
