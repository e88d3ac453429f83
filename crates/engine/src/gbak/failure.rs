//! Why a restore ends, and Firebird's status for it.

use std::path::Path;

use farbird_gbak::Fault;
use farbird_store::StoreError;
use farbird_types::{Error, isc};

use crate::backup::{BackupName, io_error};
use crate::open_databases::store_error;

/// Codes of gbak's messages (its facility is 12).
const UNEXPECTED_EOF: u32 = 336_330_802;
const INVALID_VERSION: u32 = 336_330_796;
const MISSING_DESCRIPTION: u32 = 336_330_797;
const UNKNOWN_RECORD: u32 = 336_330_795;

/// Why a restore ends.
#[derive(Debug)]
pub(super) enum GbakError {
    Backup(Fault),
    Store(StoreError),
    Engine(Error),
    Words(String),
}

impl From<Fault> for GbakError {
    fn from(error: Fault) -> Self {
        GbakError::Backup(error)
    }
}

impl From<StoreError> for GbakError {
    fn from(error: StoreError) -> Self {
        GbakError::Store(error)
    }
}

impl From<Error> for GbakError {
    fn from(error: Error) -> Self {
        GbakError::Engine(error)
    }
}

/// What a step of a restore gives.
pub(super) type GbakResult<T> = std::result::Result<T, GbakError>;

/// Firebird's status for what went wrong.
pub(super) fn status(error: GbakError, database: &Path, name: BackupName<'_>) -> Error {
    let said = |code, fault: &Fault| Error::new(code).and(isc::RANDOM).with(format!("{name}: {fault}"));
    match error {
        GbakError::Store(StoreError::Cancelled) => Error::new(isc::CANCELLED),
        GbakError::Store(error) => store_error(database, error),
        GbakError::Engine(error) => error,
        GbakError::Words(words) => Error::new(isc::RANDOM).with(format!("{name}: {words}")),
        GbakError::Backup(Fault::Io(error)) => io_error("read", name, isc::IO_READ_ERR, &error),
        GbakError::Backup(fault) => match &fault {
            Fault::Eof => said(UNEXPECTED_EOF, &fault),
            Fault::Format(format) => Error::new(INVALID_VERSION)
                .with(i32::try_from(*format).unwrap_or(i32::MAX))
                .and(isc::RANDOM)
                .with(format!("{name}: {fault}")),
            Fault::NotABackup => said(MISSING_DESCRIPTION, &fault),
            Fault::Record { kind, .. } => Error::new(UNKNOWN_RECORD)
                .with(i32::from(*kind))
                .and(isc::RANDOM)
                .with(format!("{name}: {fault}")),
            _ => Error::new(isc::RANDOM).with(format!("{name}: {fault}")),
        },
    }
}
