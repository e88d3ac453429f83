//! Wire compression: one zlib stream per direction for the life of the connection.
//!
//! Promises: [`Inflater`] gives out at most what its caller allows per call, so a small packet cannot become a flood.
//! Source: wire-protocol.md, 5.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use crate::xdr::DecodeError;

const STEP_BYTES: usize = 8 * 1024;

/// The sending half.
#[derive(Debug)]
pub struct Deflater {
    stream: Compress,
}

impl Default for Deflater {
    fn default() -> Self {
        Deflater { stream: Compress::new(Compression::default(), true) }
    }
}

impl Deflater {
    /// Compresses `plain` to the end of `out` and closes the run with Z_SYNC_FLUSH, so that the peer can read all
    /// of it.
    pub fn flush(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        let mut rest = plain;
        loop {
            let (in_before, out_before) = (self.stream.total_in(), self.stream.total_out());
            let room_start = out.len();
            out.resize(room_start + STEP_BYTES, 0);
            let room = out.get_mut(room_start..).unwrap_or_default();
            // A deflate stream in memory has no input that it refuses.
            let status = self.stream.compress(rest, room, FlushCompress::Sync);
            let read = (self.stream.total_in() - in_before) as usize;
            let written = (self.stream.total_out() - out_before) as usize;
            out.truncate(room_start + written);
            rest = rest.get(read..).unwrap_or_default();
            let finished = rest.is_empty() && written < STEP_BYTES;
            if finished || status.is_err() || (read == 0 && written == 0) {
                return;
            }
        }
    }
}

/// The receiving half.
#[derive(Debug)]
pub struct Inflater {
    stream: Decompress,
}

impl Default for Inflater {
    fn default() -> Self {
        Inflater { stream: Decompress::new(true) }
    }
}

impl Inflater {
    /// Decompresses from the front of `packed` to the end of `out`, at most `out_bytes_max` bytes. Gives how many
    /// bytes of `packed` were used. If fewer than all, or exactly `out_bytes_max` bytes came out, call again with
    /// the rest (which may be empty) before feeding more.
    ///
    /// # Errors
    /// [`DecodeError::Inflate`] for a damaged stream. What follows the end of a stream is passed over.
    pub fn inflate(
        &mut self,
        packed: &[u8],
        out: &mut Vec<u8>,
        out_bytes_max: usize,
    ) -> Result<usize, DecodeError> {
        let (mut used, mut produced) = (0, 0);
        while produced < out_bytes_max {
            let step = STEP_BYTES.min(out_bytes_max - produced);
            let (in_before, out_before) = (self.stream.total_in(), self.stream.total_out());
            let room_start = out.len();
            out.resize(room_start + step, 0);
            let room = out.get_mut(room_start..).unwrap_or_default();
            let rest = packed.get(used..).unwrap_or_default();
            let status = self.stream.decompress(rest, room, FlushDecompress::Sync);
            let read = (self.stream.total_in() - in_before) as usize;
            let written = (self.stream.total_out() - out_before) as usize;
            out.truncate(room_start + written);
            used += read;
            produced += written;
            match status {
                Ok(Status::Ok | Status::BufError) if read == 0 && written == 0 => break,
                Ok(Status::Ok | Status::BufError) => {}
                // The peer has closed its stream: an orderly end, after which it sends nothing more.
                Ok(Status::StreamEnd) => {
                    used = packed.len();
                    break;
                }
                Err(_) => return Err(DecodeError::Inflate),
            }
        }
        Ok(used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inflate_all(inflater: &mut Inflater, mut packed: &[u8], step: usize) -> Vec<u8> {
        let mut out = Vec::new();
        loop {
            let before = out.len();
            let used = inflater.inflate(packed, &mut out, step).unwrap();
            packed = &packed[used..];
            if out.len() - before < step {
                assert!(packed.is_empty());
                return out;
            }
        }
    }

    #[test]
    fn runs_can_be_read_as_soon_as_they_are_flushed() {
        let (mut deflater, mut inflater) = (Deflater::default(), Inflater::default());
        for run in [b"first".to_vec(), Vec::new(), vec![7; 300_000], b"last".to_vec()] {
            let mut packed = Vec::new();
            deflater.flush(&run, &mut packed);
            assert_eq!(inflate_all(&mut inflater, &packed, 1000), run);
        }
    }

    #[test]
    fn output_is_bounded_per_call_and_damage_is_an_error() {
        let mut packed = Vec::new();
        Deflater::default().flush(&vec![0; 1_000_000], &mut packed);
        let mut out = Vec::new();
        Inflater::default().inflate(&packed, &mut out, 10_000).unwrap();
        assert_eq!(out.len(), 10_000);
        packed[1] ^= 0xFF;
        assert_eq!(Inflater::default().inflate(&packed, &mut out, 10_000), Err(DecodeError::Inflate));
    }
}
