//! Randomness.

use farbird_types::{Error, Result, isc};

/// Fills `bytes` with randomness of the operating system.
pub(crate) fn random(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes).map_err(|error| Error::new(isc::RANDOM).with(error.to_string()))
}

/// 53 random bits as a fraction: 0 inclusive to 1 exclusive.
pub(crate) fn fraction() -> Result<f64> {
    let mut bytes = [0; 8];
    random(&mut bytes)?;
    let bits = u64::from_ne_bytes(bytes) >> 11;
    Ok(bits as f64 / (1_u64 << 53) as f64)
}
