//! BLOBs through the traits of std.

use std::io::{Read, Seek, SeekFrom, Write};

use farbird_types::{BlobId, Result};

use super::driver::Runner;
use crate::error;

/// A BLOB being written. Dropped before [`BlobWriter::finish`] it is thrown away.
#[derive(Debug)]
pub struct BlobWriter {
    pub(super) inner: crate::BlobWriter,
    pub(super) runner: Runner,
}

impl BlobWriter {
    /// Adds bytes, as [`crate::BlobWriter::put`].
    ///
    /// # Round trips
    /// None for the first two megabytes, then one for about every two more.
    ///
    /// # Errors
    /// What the server said of earlier ones.
    pub fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.runner.run(self.inner.put(bytes))
    }

    /// Completes the BLOB; gives its id.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn finish(self) -> Result<BlobId> {
        self.runner.run(self.inner.finish())
    }
}

impl Write for BlobWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.put(bytes).map_err(error::io)?;
        Ok(bytes.len())
    }

    /// Does nothing: bytes leave when they are many, or with [`BlobWriter::finish`].
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A BLOB being read, through [`Read`] and [`Seek`].
#[derive(Debug)]
pub struct BlobReader {
    pub(super) inner: crate::BlobReader,
    pub(super) runner: Runner,
}

impl Read for BlobReader {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        self.runner.run(self.inner.read(out)).map_err(error::io)
    }
}

/// As [`crate::BlobReader::seek`].
impl Seek for BlobReader {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.runner.run(self.inner.seek(to)).map_err(error::io)
    }
}
