//! Temporary files: for rows that have no room in memory.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use farbird_types::{Error, Result, isc};

use super::{Resource, StatementBudget};

/// How much temporary space a file takes at a time.
const STEP_BYTES: u64 = 1 << 20;

/// A file without a name that grows at its end. Its space is charged to a statement and given back when it is dropped;
/// the operating system removes it then, or when the process ends in whatever way.
#[derive(Debug)]
pub struct TemporaryFile {
    file: File,
    budget: Arc<StatementBudget>,
    bytes: u64,
    charged: u64,
    /// Where the operating system's own place in the file is.
    place: u64,
}

impl StatementBudget {
    /// A new temporary file, charged as it grows.
    ///
    /// # Errors
    /// `io_error` if it cannot be made.
    pub fn temporary_file(self: &Arc<Self>) -> Result<TemporaryFile> {
        let folder = self.account().limits.temporary_folder();
        let file = tempfile::tempfile_in(folder).map_err(|error| io_error(&error))?;
        Ok(TemporaryFile { file, budget: Arc::clone(self), bytes: 0, charged: 0, place: 0 })
    }
}

impl TemporaryFile {
    /// Appends bytes; gives the place where they stand.
    ///
    /// # Errors
    /// `out_of_temp_space` past the limit of the statement or the server, or if the disk is full; `io_error`.
    pub fn append(&mut self, bytes: &[u8]) -> Result<u64> {
        let place = self.bytes;
        let end = place.saturating_add(bytes.len() as u64);
        if end > self.charged {
            self.charge(end - self.charged)?;
        }
        self.go_to(place)?;
        self.file.write_all(bytes).map_err(|error| io_error(&error))?;
        self.place = end;
        self.bytes = end;
        Ok(place)
    }

    /// Reads as many bytes as `out` has room for.
    ///
    /// # Errors
    /// `io_error`, also past the end.
    pub fn read_at(&mut self, place: u64, out: &mut [u8]) -> Result<()> {
        self.go_to(place)?;
        self.file.read_exact(out).map_err(|error| io_error(&error))?;
        self.place += out.len() as u64;
        Ok(())
    }

    /// Its length.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn charge(&mut self, needed: u64) -> Result<()> {
        let step = needed.next_multiple_of(STEP_BYTES);
        let charged = match self.budget.take(Resource::Temporary, step) {
            Ok(()) => step,
            Err(_) => self.budget.take(Resource::Temporary, needed).map(|()| needed)?,
        };
        self.charged += charged;
        Ok(())
    }

    fn go_to(&mut self, place: u64) -> Result<()> {
        if self.place != place {
            // Unknown until this has worked.
            self.place = u64::MAX;
            self.file.seek(SeekFrom::Start(place)).map_err(|error| io_error(&error))?;
            self.place = place;
        }
        Ok(())
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        self.budget.give_back(Resource::Temporary, self.charged);
    }
}

/// Firebird's status: a full disk is no space in its temporary directories, with the reason behind.
fn io_error(error: &std::io::Error) -> Error {
    let reason = Error::new(isc::IO_ERROR)
        .with("temporary file")
        .with("sort")
        .and(isc::RANDOM)
        .with(error.to_string());
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            Error::new(isc::OUT_OF_TEMP_SPACE).and_all(reason)
        }
        _ => reason,
    }
}
