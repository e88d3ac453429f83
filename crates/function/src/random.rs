//! Randomness.

use farbird_types::{Error, Result, isc};

/// Fills `bytes` with randomness of the operating system.
pub(crate) fn random(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes).map_err(|error| Error::new(isc::RANDOM).with(error.to_string()))
}
