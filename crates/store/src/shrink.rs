//! Making a database file as small as its contents.

use std::path::Path;

use crate::log::LoggedSubstrate;
use crate::{FileKind, Result, StoreError, identify};

/// What a file took before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shrunk {
    /// Bytes before.
    pub before: u64,
    /// Bytes after.
    pub after: u64,
}

/// Gives a file's free space back to the operating system. Nobody may have it open. What is no longer needed but not yet
/// swept stays: let [`crate::Store::sweep`] find nothing to do first.
///
/// Contents move inside the file, so it needs no room beside itself.
///
/// # Durability
/// A crash at any time leaves a database that opens, with all its contents.
///
/// # Errors
/// `InUse`, `WrongKind`, `Io`, `Full`.
pub fn shrink(path: &Path, cache_bytes: usize) -> Result<Shrunk> {
    match identify(path)? {
        FileKind::Farbird => {}
        kind => return Err(StoreError::WrongKind(kind)),
    }
    let before = std::fs::metadata(path)?.len();
    let substrate = LoggedSubstrate::open(path, cache_bytes)?;
    // One pass can leave room for another: tables that it moved late were in the way of earlier ones.
    let mut bytes = before;
    for _ in 0..PASSES_MAX {
        let is_shorter = substrate.compact()?;
        let left = std::fs::metadata(path)?.len();
        // Each pass walks over the whole file: one that gained next to nothing is the last.
        if !is_shorter || bytes - left.min(bytes) < bytes / WORTH_ANOTHER_PASS {
            break;
        }
        bytes = left;
    }
    drop(substrate);
    Ok(Shrunk { before, after: std::fs::metadata(path)?.len() })
}

/// More passes gain next to nothing.
const PASSES_MAX: usize = 8;
/// A pass that gives back less than this part of the file is the last one.
const WORTH_ANOTHER_PASS: u64 = 64;
