//! What commands that write backups and databases say and do about their targets.

use farbird_types::{Error, isc};

/// Bytes gathered before they are written to the backup.
pub(crate) const BUFFER_BYTES: usize = 1 << 20;
/// Stands for standard input or output.
pub(crate) const PIPE: &str = "-";
/// What became of a backup when it was interrupted.
pub(super) const NOT_MADE: &str = "no backup was made";

/// Tells whoever meets a file of the target's name how to replace it.
pub(crate) fn explain_existing(error: anyhow::Error) -> anyhow::Error {
    let exists = error.downcast_ref::<Error>().is_some_and(|error| {
        // Behind it stands why the file is not replaced, if it was to be.
        error.has(isc::DB_OR_FILE_EXISTS) && !error.has(isc::RANDOM)
    });
    if exists { error.context("--replace takes the place of what is there") } else { error }
}
