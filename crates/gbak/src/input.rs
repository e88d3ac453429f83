//! Bytes of a backup.

use std::io::Read;

use crate::{Fault, Result};

/// Bytes of one read.
const BUFFER_BYTES: usize = 1 << 18;
/// How much longer an allocation may be than what has been read of it.
const AHEAD_BYTES: usize = 1 << 16;

/// Bytes, with their place.
pub(crate) struct Input<'a> {
    source: Box<dyn Read + 'a>,
    buffer: Vec<u8>,
    /// What of the buffer has been taken, and what of it is filled.
    at: usize,
    end: usize,
    /// Place of the buffer's first byte.
    start: u64,
}

impl<'a> Input<'a> {
    pub(crate) fn new(source: Box<dyn Read + 'a>) -> Input<'a> {
        Input { source, buffer: vec![0; BUFFER_BYTES], at: 0, end: 0, start: 0 }
    }

    /// Place of the next byte, counted after unpacking.
    pub(crate) fn offset(&self) -> u64 {
        self.start + self.at as u64
    }

    pub(crate) fn damaged(&self, what: &'static str) -> Fault {
        Fault::Damaged { at: self.offset(), what }
    }

    /// What follows is packed by zlib.
    pub(crate) fn unpack(self) -> Input<'a> {
        let start = self.offset();
        let rest = self.buffer.get(self.at..self.end).unwrap_or_default().to_vec();
        let packed = Box::new(std::io::Cursor::new(rest).chain(self.source));
        let source = Box::new(Unpacked {
            source: packed,
            inflater: flate2::Decompress::new(true),
            packed: vec![0; BUFFER_BYTES],
            at: 0,
            end: 0,
        });
        Input { start, ..Input::new(source) }
    }

    fn fill(&mut self) -> Result<()> {
        self.start += self.end as u64;
        (self.at, self.end) = (0, 0);
        loop {
            match self.source.read(&mut self.buffer) {
                Ok(0) => return Err(Fault::Eof),
                Ok(read) => {
                    self.end = read;
                    return Ok(());
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Err(Fault::Eof),
                Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                    return Err(self.damaged("packed bytes that cannot be unpacked"));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub(crate) fn byte(&mut self) -> Result<u8> {
        if self.at == self.end {
            self.fill()?;
        }
        let byte = self.buffer.get(self.at).copied().ok_or(Fault::Eof)?;
        self.at += 1;
        Ok(byte)
    }

    /// Appends bytes to `out`.
    pub(crate) fn take(&mut self, mut count: usize, out: &mut Vec<u8>) -> Result<()> {
        out.reserve(count.min(AHEAD_BYTES));
        while count > 0 {
            if self.at == self.end {
                self.fill()?;
            }
            let here = count.min(self.end - self.at);
            out.extend_from_slice(self.buffer.get(self.at..self.at + here).unwrap_or_default());
            self.at += here;
            count -= here;
        }
        Ok(())
    }

    /// Appends `count` bytes that are written as runs: a positive number and so many bytes, or a negative one and the byte
    /// that is there so many times.
    pub(crate) fn take_runs(&mut self, count: usize, out: &mut Vec<u8>) -> Result<()> {
        out.reserve(count.min(AHEAD_BYTES));
        let target = out.len() + count;
        while out.len() < target {
            let run = self.byte()?.cast_signed();
            let length = usize::from(run.unsigned_abs());
            if length > target - out.len() {
                return Err(self.damaged("a run that is longer than its row"));
            }
            if run < 0 {
                let byte = self.byte()?;
                out.resize(out.len() + length, byte);
            } else {
                self.take(length, out)?;
            }
        }
        Ok(())
    }

    /// A number, as attributes have them: its length in one byte, then the bytes, lowest first.
    pub(crate) fn number(&mut self) -> Result<i64> {
        let length = self.byte()?;
        if length > 8 {
            return Err(self.damaged("a number of more than eight bytes"));
        }
        let length = usize::from(length);
        if let Some(bytes) = self.buffer.get(self.at..self.end).and_then(|here| here.get(..length)) {
            self.at += length;
            return Ok(little_endian(bytes));
        }
        let mut bytes = [0; 8];
        for place in bytes.iter_mut().take(length) {
            *place = self.byte()?;
        }
        Ok(little_endian(bytes.get(..length).unwrap_or_default()))
    }

    /// A length of four bytes, lowest first.
    pub(crate) fn length(&mut self) -> Result<u32> {
        let mut bytes = [0; 4];
        for place in &mut bytes {
            *place = self.byte()?;
        }
        Ok(u32::from_le_bytes(bytes))
    }
}

/// Unpacks what gbak has packed. It does not end the stream of zlib but flushes it, and fills its last block with zeros: bytes
/// that cannot be unpacked matter only to whoever needs more than those before them.
struct Unpacked<'a> {
    source: Box<dyn Read + 'a>,
    inflater: flate2::Decompress,
    packed: Vec<u8>,
    at: usize,
    end: usize,
}

impl Read for Unpacked<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        loop {
            if self.at == self.end {
                (self.at, self.end) = (0, self.source.read(&mut self.packed)?);
                if self.end == 0 {
                    return Ok(0);
                }
            }
            let before = (self.inflater.total_in(), self.inflater.total_out());
            let packed = self.packed.get(self.at..self.end).unwrap_or_default();
            let result = self.inflater.decompress(packed, out, flate2::FlushDecompress::None);
            let taken = usize::try_from(self.inflater.total_in() - before.0).unwrap_or(packed.len());
            let made = usize::try_from(self.inflater.total_out() - before.1).unwrap_or(out.len());
            self.at += taken.min(packed.len());
            match result {
                _ if made > 0 || out.is_empty() => return Ok(made),
                Ok(flate2::Status::StreamEnd) => return Ok(0),
                Ok(_) if taken > 0 => {}
                _ => return Err(std::io::ErrorKind::InvalidData.into()),
            }
        }
    }
}

/// A signed number of up to eight bytes.
pub(crate) fn little_endian(bytes: &[u8]) -> i64 {
    let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut whole = if negative { [0xff; 8] } else { [0; 8] };
    for (place, byte) in whole.iter_mut().zip(bytes) {
        *place = *byte;
    }
    i64::from_le_bytes(whole)
}
