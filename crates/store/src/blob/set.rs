//! A transaction's uncommitted BLOBs: temporary ones, and those that a row has taken.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use farbird_types::{BlobId, CharacterSet};

use super::{BlobKey, Header, PART_HEADER};
use crate::keyspace::{self, meta};
use crate::recovery::delete_blob;
use crate::store::Inner;
use crate::substrate::{Direction, Durability, Space, WriteBatch};
use crate::{Result, StoreError};

/// A transaction's uncommitted BLOBs.
#[derive(Debug, Default)]
pub(crate) struct BlobSet {
    blobs: HashMap<u64, Uncommitted>,
    /// Entries not written to the file yet.
    entries: BTreeMap<[u8; 13], Arc<[u8]>>,
    bytes: usize,
}

#[derive(Debug, Default, Clone)]
struct Uncommitted {
    /// At which change a row took it.
    adopted: Option<u64>,
    /// At which change its row lost it again.
    replaced: Option<u64>,
    /// Whether it is (partly) in the file already.
    spilled: bool,
    /// Whether its writer has closed it.
    closed: bool,
}

impl Uncommitted {
    fn is_to_commit(&self) -> bool {
        self.adopted.is_some() && self.replaced.is_none()
    }
}

/// What a commit does about BLOBs.
#[derive(Debug, Default)]
pub(crate) struct BlobCommit {
    entries: Vec<([u8; 13], Arc<[u8]>)>,
    unmarked: Vec<u64>,
}

impl BlobCommit {
    pub(crate) fn write(self, batch: &mut WriteBatch) {
        for (key, value) in self.entries {
            batch.put(Space::Blobs, key.to_vec(), value.to_vec());
        }
        for blob in self.unmarked {
            batch.delete(Space::Meta, meta::pending_blob(blob));
        }
    }
}

impl BlobSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.blobs.is_empty()
    }

    pub(crate) fn begin(&mut self, blob: u64) {
        self.blobs.insert(blob, Uncommitted::default());
    }

    pub(crate) fn close(&mut self, blob: u64) {
        if let Some(uncommitted) = self.blobs.get_mut(&blob) {
            uncommitted.closed = true;
        }
    }

    /// Adds an entry of a BLOB; writes all entries to the file if they have become too many.
    pub(crate) fn put(&mut self, inner: &Inner, key: BlobKey, value: Vec<u8>) -> Result<()> {
        self.bytes += value.len();
        self.entries.insert(keyspace::blob(key), value.into());
        if self.bytes > inner.options.blob_bytes_max { self.spill(inner) } else { Ok(()) }
    }

    /// An entry that is not in the file.
    pub(crate) fn entry(&self, key: BlobKey) -> Option<Arc<[u8]>> {
        self.entries.get(&keyspace::blob(key)).cloned()
    }

    /// Whether the BLOB is uncommitted, and may be read.
    pub(crate) fn is_readable(&self, blob: u64) -> Option<bool> {
        self.blobs.get(&blob).map(|uncommitted| uncommitted.closed)
    }

    fn spill(&mut self, inner: &Inner) -> Result<()> {
        let mut batch = WriteBatch::new();
        for (blob, uncommitted) in &mut self.blobs {
            let first = keyspace::blob(BlobKey { blob: *blob, part: 0, chunk: 0 });
            let last = keyspace::blob(BlobKey { blob: *blob, part: u8::MAX, chunk: u32::MAX });
            let mut entries = self.entries.range(first..=last).peekable();
            if entries.peek().is_some() && !uncommitted.spilled {
                batch.put(Space::Meta, meta::pending_blob(*blob), Vec::new());
                uncommitted.spilled = true;
            }
            for (key, value) in entries {
                batch.put(Space::Blobs, key.to_vec(), value.to_vec());
            }
        }
        inner.write(batch, Durability::Relaxed)?;
        self.entries.clear();
        self.bytes = 0;
        Ok(())
    }

    /// Gives a BLOB to a row: itself if it is nobody's yet, else a copy. Gives the id under which the row has it.
    pub(crate) fn adopt(&mut self, inner: &Inner, id: BlobId, change: u64) -> Result<BlobId> {
        match self.blobs.get_mut(&id.0) {
            Some(uncommitted) if !uncommitted.closed => Err(StoreError::NoSuchBlob),
            Some(uncommitted) if uncommitted.adopted.is_none() => {
                uncommitted.adopted = Some(change);
                uncommitted.replaced = None;
                Ok(id)
            }
            _ => {
                let copy = inner.blob_numbers.next(inner)?;
                self.copy(inner, id.0, copy)?;
                self.blobs.entry(copy).and_modify(|uncommitted| {
                    (uncommitted.adopted, uncommitted.closed) = (Some(change), true)
                });
                Ok(BlobId(copy))
            }
        }
    }

    /// Says of an uncommitted BLOB what its column says: whoever made it need not have known.
    pub(crate) fn describe(
        &mut self,
        inner: &Inner,
        id: BlobId,
        subtype: i16,
        character_set: CharacterSet,
    ) -> Result<()> {
        let key = BlobKey { blob: id.0, part: PART_HEADER, chunk: 0 };
        let stored = match self.entry(key) {
            Some(entry) => entry,
            None => match inner.snapshot().get(Space::Blobs, &keyspace::blob(key))? {
                Some(value) => value.as_ref().into(),
                None => return Err(StoreError::NoSuchBlob),
            },
        };
        let mut header = Header::decode(id.0, &stored)?;
        let options = &mut header.properties.options;
        if (options.subtype, options.character_set) == (subtype, character_set) {
            return Ok(());
        }
        (options.subtype, options.character_set) = (subtype, character_set);
        self.put(inner, key, header.encode())
    }

    fn copy(&mut self, inner: &Inner, from: u64, to: u64) -> Result<()> {
        self.begin(to);
        let first = keyspace::blob(BlobKey { blob: from, part: 0, chunk: 0 });
        let last = keyspace::blob(BlobKey { blob: from, part: u8::MAX, chunk: u32::MAX });
        let mut found = false;
        let snapshot = inner.snapshot();
        let span = (Bound::Included(&first[..]), Bound::Included(&last[..]));
        let own: Vec<_> =
            self.entries.range(first..=last).map(|(key, value)| (*key, Arc::clone(value))).collect();
        for entry in snapshot.scan(Space::Blobs, span, Direction::Forward)? {
            let (key, value) = entry?;
            found = true;
            self.put(inner, copied_key(&key, to)?, value.to_vec())?;
        }
        for (key, value) in own {
            found = true;
            self.put(inner, copied_key(&key, to)?, value.to_vec())?;
        }
        if found {
            Ok(())
        } else {
            self.blobs.remove(&to);
            Err(StoreError::NoSuchBlob)
        }
    }

    /// Notes that the uncommitted row which had the BLOB has it no more.
    pub(crate) fn replace(&mut self, id: BlobId, change: u64) {
        if let Some(uncommitted) = self.blobs.get_mut(&id.0) {
            uncommitted.replaced = Some(change);
        }
    }

    /// Undoes what rows took and lost after a savepoint.
    pub(crate) fn undo(&mut self, savepoint: u64) {
        for uncommitted in self.blobs.values_mut() {
            uncommitted.adopted = uncommitted.adopted.filter(|change| *change <= savepoint);
            uncommitted.replaced = uncommitted.replaced.filter(|change| *change <= savepoint);
        }
    }

    pub(crate) fn has_adopted(&self) -> bool {
        self.blobs.values().any(Uncommitted::is_to_commit)
    }

    /// What the commit has to write.
    pub(crate) fn to_commit(&self) -> BlobCommit {
        let mut commit = BlobCommit::default();
        for (blob, uncommitted) in &self.blobs {
            if uncommitted.is_to_commit() {
                let first = keyspace::blob(BlobKey { blob: *blob, part: 0, chunk: 0 });
                let last = keyspace::blob(BlobKey { blob: *blob, part: u8::MAX, chunk: u32::MAX });
                let entries = self.entries.range(first..=last);
                commit.entries.extend(entries.map(|(key, value)| (*key, Arc::clone(value))));
                if uncommitted.spilled {
                    commit.unmarked.push(*blob);
                }
            }
        }
        commit
    }

    /// After a commit: its BLOBs are no more this transaction's affair.
    pub(crate) fn forget_adopted(&mut self) {
        self.blobs.retain(|_, uncommitted| !uncommitted.is_to_commit());
    }

    /// Removes one BLOB.
    pub(crate) fn cancel(&mut self, inner: &Inner, blob: u64) -> Result<()> {
        let first = keyspace::blob(BlobKey { blob, part: 0, chunk: 0 });
        let last = keyspace::blob(BlobKey { blob, part: u8::MAX, chunk: u32::MAX });
        let keys: Vec<_> = self.entries.range(first..=last).map(|(key, _)| *key).collect();
        for key in keys {
            if let Some(value) = self.entries.remove(&key) {
                self.bytes -= value.len();
            }
        }
        match self.blobs.remove(&blob) {
            Some(uncommitted) if uncommitted.spilled => remove_spilled(inner, &[blob]),
            _ => Ok(()),
        }
    }

    /// Removes all that is left, at the end of the transaction.
    pub(crate) fn discard(&mut self, inner: &Inner) -> Result<()> {
        self.entries.clear();
        let spilled: Vec<u64> =
            self.blobs.drain().filter(|(_, uncommitted)| uncommitted.spilled).map(|(blob, _)| blob).collect();
        if spilled.is_empty() { Ok(()) } else { remove_spilled(inner, &spilled) }
    }
}

fn copied_key(key: &[u8], to: u64) -> Result<BlobKey> {
    match key.split_at_checked(8).map(|(_, rest)| rest) {
        Some(&[part, a, b, c, d]) => Ok(BlobKey { blob: to, part, chunk: u32::from_be_bytes([a, b, c, d]) }),
        _ => Err(StoreError::corrupt("key of a blob")),
    }
}

fn remove_spilled(inner: &Inner, blobs: &[u64]) -> Result<()> {
    let snapshot = inner.snapshot();
    let mut batch = WriteBatch::new();
    for blob in blobs {
        delete_blob(&*snapshot, *blob, &mut batch)?;
        batch.delete(Space::Meta, meta::pending_blob(*blob));
    }
    inner.write(batch, Durability::Relaxed)
}
