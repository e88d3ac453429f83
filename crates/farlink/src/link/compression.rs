//! Zstandard over the life of a connection: what went before is the window for what comes, and each batch is flushed, so that the
//! other end can read all of it at once.
//!
//! Between neighbours compressing takes longer than sending. There the same format carries the bytes as they are: a frame of blocks that
//! are not compressed, which costs both ends a copy (RFC 8878, 3.1.1.2). The receiving side need not know.
//!
//! Promises of the receiving side: its memory is bounded by the window, whatever the sender says, and output comes in pieces
//! of at most [`PIECE_BYTES`], so that a few bytes that claim to be gigabytes are noticed by whoever counts.

use zstd::stream::raw::{CParameter, DParameter, Decoder, Encoder, InBuffer, Operation, OutBuffer};

/// How far back both ends remember, as a power of two: 4 MiB.
const WINDOW_LOG: u32 = 22;
/// Output is made in pieces of at most this size.
pub(super) const PIECE_BYTES: usize = 64 * 1024;
/// What flushing a batch adds to it at most, as far as memory is reserved for it.
const FLUSHED_BYTES: usize = 64;

/// The head of a frame of stored blocks: magic number, no size, no checksum, a window of 128 KiB, which is the longest block.
const STORED_HEAD: [u8; 6] = [0x28, 0xB5, 0x2F, 0xFD, 0x00, (17 - 10) << 3];
/// Longest stored block.
const STORED_BYTES_MAX: usize = 128 * 1024;
/// An empty stored block that ends its frame.
const STORED_END: [u8; 3] = [1, 0, 0];

/// Bytes that cannot be decompressed.
#[derive(Debug)]
pub(super) struct Damaged;

/// The sending side.
pub(super) struct Compressor {
    encoder: Encoder<'static>,
    frame: OpenFrame,
}

/// The frame that the next batch is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenFrame {
    None,
    Compressed,
    Stored,
}

impl Compressor {
    /// `None` if the library refuses the level.
    pub(super) fn new(level: i32) -> Option<Compressor> {
        let mut encoder = Encoder::new(level).ok()?;
        encoder.set_parameter(CParameter::WindowLog(WINDOW_LOG)).ok()?;
        Some(Compressor { encoder, frame: OpenFrame::None })
    }

    /// Appends the batch, flushed.
    pub(super) fn compress(&mut self, batch: &[u8], out: &mut Vec<u8>) -> Result<(), Damaged> {
        if self.frame == OpenFrame::Stored {
            out.extend_from_slice(&STORED_END);
        }
        self.frame = OpenFrame::Compressed;
        let mut input = InBuffer::around(batch);
        while input.pos() < batch.len() {
            let room = batch.len() - input.pos() + FLUSHED_BYTES;
            self.step(room, out, |encoder, piece| encoder.run(&mut input, piece))?;
        }
        while self.step(FLUSHED_BYTES, out, |encoder, piece| encoder.flush(piece))? > 0 {}
        Ok(())
    }

    /// Appends the batch as it is.
    pub(super) fn store(&mut self, batch: &[u8], out: &mut Vec<u8>) -> Result<(), Damaged> {
        if self.frame == OpenFrame::Compressed {
            while self.step(FLUSHED_BYTES, out, |encoder, piece| encoder.finish(piece, true))? > 0 {}
        }
        if self.frame != OpenFrame::Stored {
            out.extend_from_slice(&STORED_HEAD);
            self.frame = OpenFrame::Stored;
        }
        out.reserve(batch.len() + 3 * batch.len().div_ceil(STORED_BYTES_MAX));
        for block in batch.chunks(STORED_BYTES_MAX) {
            // Not the last, stored, and its length.
            let head = u32::try_from(block.len()).unwrap_or_default() << 3;
            out.extend_from_slice(&head.to_le_bytes()[..3]);
            out.extend_from_slice(block);
        }
        Ok(())
    }

    /// One step of the encoder, for which `room` bytes are reserved, a piece at most.
    fn step(
        &mut self,
        room: usize,
        out: &mut Vec<u8>,
        run: impl FnOnce(&mut Encoder<'static>, &mut OutBuffer<'_, Vec<u8>>) -> std::io::Result<usize>,
    ) -> Result<usize, Damaged> {
        out.reserve(room.min(PIECE_BYTES));
        let written = out.len();
        let mut piece = OutBuffer::around_pos(out, written);
        run(&mut self.encoder, &mut piece).map_err(|_| Damaged)
    }
}

/// The receiving side.
pub(super) struct Decompressor {
    decoder: Decoder<'static>,
    /// Where a piece is made. In the caller's vector the decoder would fill whatever capacity that has grown to.
    piece: Box<[u8]>,
}

impl Decompressor {
    pub(super) fn new() -> Option<Decompressor> {
        let mut decoder = Decoder::new().ok()?;
        decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG)).ok()?;
        Some(Decompressor { decoder, piece: vec![0; PIECE_BYTES].into_boxed_slice() })
    }

    /// Makes one piece of `input`, whose start it takes, and appends it. Returns whether there may be more.
    pub(super) fn decompress(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<bool, Damaged> {
        let mut unread = InBuffer::around(input);
        let mut piece = OutBuffer::around(&mut *self.piece);
        self.decoder.run(&mut unread, &mut piece).map_err(|_| Damaged)?;
        let is_full = piece.pos() == PIECE_BYTES;
        out.extend_from_slice(piece.as_slice());
        *input = &input[unread.pos()..];
        // A full piece may have left output inside the decoder, though its input is used up.
        Ok(!input.is_empty() || is_full)
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
    fn stored_and_compressed_batches_may_follow_each_other_in_any_order() {
        let mut compressor = Compressor::new(1).unwrap();
        let mut decompressor = Decompressor::new().unwrap();
        let batch: Vec<u8> = (0..300_000_u32).flat_map(|number| (number / 7).to_le_bytes()).collect();
        let lengths = [1, 5, batch.len(), STORED_BYTES_MAX, 100, 70_000, 1, 300_000];
        for (number, is_stored) in
            [true, true, false, false, true, false, true, true, false].iter().enumerate()
        {
            let batch = &batch[..lengths[number % lengths.len()]];
            let mut wire = Vec::new();
            match is_stored {
                true => compressor.store(batch, &mut wire).unwrap(),
                false => compressor.compress(batch, &mut wire).unwrap(),
            }
            // Cut anywhere, each batch is there when its last byte is.
            let mut plain = Vec::new();
            for cut in wire.chunks(9_973) {
                let mut input = cut;
                while decompressor.decompress(&mut input, &mut plain).unwrap() {}
            }
            assert!(plain == batch, "batch {number}: {} of {} bytes", plain.len(), batch.len());
            assert_eq!(wire.len() < batch.len() / 2, !is_stored && batch.len() > 1_000, "batch {number}");
        }
    }

    #[test]
    fn a_few_bytes_that_become_many_come_piece_by_piece_whatever_room_there_is() {
        let mut compressor = Compressor::new(1).unwrap();
        let mut decompressor = Decompressor::new().unwrap();
        let batch = vec![7; 8 << 20];
        let (mut wire, mut plain) = (Vec::new(), Vec::with_capacity(batch.len()));
        compressor.compress(&batch, &mut wire).unwrap();
        assert!(wire.len() < PIECE_BYTES, "{} bytes", wire.len());
        let mut input = wire.as_slice();
        loop {
            let before = plain.len();
            let more = decompressor.decompress(&mut input, &mut plain).unwrap();
            assert!(plain.len() - before <= PIECE_BYTES, "{} bytes at once", plain.len() - before);
            if !more {
                break;
            }
        }
        assert!(plain == batch);
    }

    #[test]
    fn garbage_is_an_error() {
        let mut decompressor = Decompressor::new().unwrap();
        assert!(decompressor.decompress(&mut [1_u8; 64].as_slice(), &mut Vec::new()).is_err());
    }
}
