//! Firebird's status for files that cannot be opened, closed, made or deleted.

use std::path::Path;

use farbird_store::StoreError;
use farbird_types::{Error, isc};

use crate::database::shown;

/// A failure of the system, with the file's name.
pub(super) fn io_error(operation: &str, path: &Path, error: &std::io::Error) -> Error {
    let detail = match operation {
        "delete" => isc::IO_DELETE_ERR,
        "open O_CREAT" => isc::IO_CREATE_ERR,
        _ => isc::IO_OPEN_ERR,
    };
    Error::new(isc::IO_ERROR)
        .with(operation)
        .with(shown(path))
        .and(detail)
        .and(isc::RANDOM)
        .with(error.to_string())
}

/// A failure to open or close a store, with the file's name.
pub(crate) fn store_error(path: &Path, error: StoreError) -> Error {
    match error {
        StoreError::InUse => Error::new(isc::IO_ERROR).with("lock").with(shown(path)).and(isc::RANDOM).with(
            "another process has the database open; connect to it through that server, or stop it first",
        ),
        StoreError::Io(error) => io_error("open", path, &error),
        error @ (StoreError::Full | StoreError::Poisoned | StoreError::Reopened) => {
            Error::from(error).about_file(&shown(path))
        }
        other => Error::new(isc::DB_CORRUPT).with(shown(path)).and(isc::RANDOM).with(other.to_string()),
    }
}
