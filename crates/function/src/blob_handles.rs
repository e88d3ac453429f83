//! The handles that a transaction has of BLOBs through RDB$BLOB_UTIL.

use std::collections::{BTreeMap, BTreeSet};

use farbird_catalog::transaction::Transaction;
use farbird_store::BlobReader;
use farbird_types::{BlobId, Error, Result, isc};
use parking_lot::{Mutex, MutexGuard};

/// What a transaction knows of the BLOBs that the package is used with.
#[derive(Default)]
pub struct BlobUtil {
    pub(crate) last_handle: i32,
    pub(crate) open: BTreeMap<i32, BlobReader>,
    /// Writable BLOBs, and whether each is a stream.
    pub(crate) writable: BTreeMap<BlobId, bool>,
    pub(crate) cancelled: BTreeSet<BlobId>,
}

impl BlobUtil {
    /// That of a transaction.
    pub fn of(transaction: &Transaction) -> MutexGuard<'_, BlobUtil> {
        transaction.kept.get::<Mutex<BlobUtil>>().lock()
    }

    /// Refuses a BLOB that CANCEL_BLOB has thrown away.
    ///
    /// # Errors
    /// `bad_segstr_id`.
    pub fn check(&self, id: BlobId) -> Result<()> {
        if self.cancelled.contains(&id) { Err(Error::new(isc::BAD_SEGSTR_ID)) } else { Ok(()) }
    }

    /// Notes that BLOB_APPEND has made a BLOB of another one.
    pub fn appended(&mut self, from: Option<BlobId>, to: BlobId) {
        let stream = from.and_then(|from| self.writable.remove(&from)).unwrap_or(false);
        self.writable.insert(to, stream);
    }

    pub(crate) fn reader(&mut self, handle: i32) -> Result<&mut BlobReader> {
        self.open.get_mut(&handle).ok_or_else(|| Error::new(isc::INVALID_BLOB_UTIL_HANDLE))
    }
}
