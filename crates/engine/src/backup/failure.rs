//! Failures of files, as statuses.

use farbird_types::{Error, isc};

pub(crate) fn io_error(operation: &str, file: &str, detail: u32, error: &std::io::Error) -> Error {
    Error::new(isc::IO_ERROR).with(operation).with(file).and(detail).and(isc::RANDOM).with(error.to_string())
}
