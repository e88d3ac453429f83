//! The BLOBs whose ids an attachment has been given: nobody opens another.
//!
//! An id is a small number that anybody can guess, and a BLOB does not know its table. So an attachment may open those
//! that it wrote itself, and those that came with its rows: within the transaction in any case, as in Firebird; later if
//! what gave the id would still be allowed. (Firebird then asks for SELECT on the BLOB's table; a view through which it
//! came does not count there.) Administrators may open all.
//!
//! # Limits
//! The latest [`REMEMBERED_MAX`] ids are remembered, in about 100 bytes each at most.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use farbird_types::{BlobId, Value};

use crate::api::TransactionHandle;
use crate::attachment::blob_text::unmarked;
use crate::bind::Access;

/// How many ids are remembered.
const REMEMBERED_MAX: usize = 65_536;

/// Where an id came from.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) transaction: TransactionHandle,
    /// What was needed to be given it.
    pub(super) accesses: Arc<[Access]>,
}

/// The ids that an attachment has been given.
#[derive(Default)]
pub(super) struct KnownBlobs {
    sources: HashMap<BlobId, Source>,
    /// From the longest known to the latest.
    order: VecDeque<BlobId>,
}

impl KnownBlobs {
    /// Notes the BLOBs of a row that is handed to the client.
    pub(super) fn note_row(&mut self, row: &[Value], source: &Source) {
        for value in row {
            if let Value::Blob(id) = value
                && *id != BlobId(0)
            {
                self.note(*id, source);
            }
        }
    }

    /// Notes one BLOB.
    pub(super) fn note(&mut self, id: BlobId, source: &Source) {
        let (id, _) = unmarked(id);
        if self.sources.insert(id, source.clone()).is_none() {
            self.order.push_back(id);
        }
        if self.order.len() > REMEMBERED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.sources.remove(&oldest);
        }
    }

    /// Where an id came from, if it is known.
    pub(super) fn source(&self, id: BlobId) -> Option<&Source> {
        self.sources.get(&unmarked(id).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_ids_are_remembered() {
        let mut known = KnownBlobs::default();
        let source = Source { transaction: TransactionHandle(1), accesses: Arc::from([]) };
        for id in 1..=REMEMBERED_MAX as u64 + 10 {
            known.note(BlobId(id), &source);
        }
        assert!(known.source(BlobId(10)).is_none() && known.source(BlobId(11)).is_some());
        assert_eq!(known.sources.len(), REMEMBERED_MAX);
        known.note(BlobId(11), &source);
        assert_eq!(known.order.len(), REMEMBERED_MAX);
    }
}
