//! A transaction's uncommitted BLOBs: temporary ones, and those that a row has taken.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use farbird_types::{BlobId, CharacterSet};

use super::packs::{self, NewEntry};
use super::references::{self, delete_uncommitted};
use super::{BlobKey, Contents, Header, entries};
use crate::keyspace::meta;
use crate::store::Inner;
use crate::substrate::{Durability, Space, WriteBatch};
use crate::{RelationId, Result, StoreError};

/// A transaction's uncommitted BLOBs.
#[derive(Debug, Default)]
pub(crate) struct BlobSet {
    blobs: HashMap<u64, Uncommitted>,
    /// Entries not written to the file yet.
    entries: BTreeMap<BlobKey, Arc<[u8]>>,
    bytes: usize,
    /// Committed BLOBs whose contents are kept for this transaction.
    kept: HashSet<u64>,
}

#[derive(Debug, Default, Clone)]
struct Uncommitted {
    /// At which change a row took it.
    adopted: Option<u64>,
    /// The instance of a temporary relation whose row has it.
    instance: Option<RelationId>,
    /// At which change its row lost it again.
    replaced: Option<u64>,
    /// Whether it is (partly) in the file already.
    spilled: bool,
    /// Whether its writer has closed it.
    closed: bool,
    /// The BLOB whose contents it has, if it has none of its own.
    owner: Option<u64>,
    /// What its entries take.
    bytes: u64,
}

impl Uncommitted {
    fn is_to_commit(&self) -> bool {
        self.adopted.is_some() && self.replaced.is_none()
    }
}

/// What a commit does about BLOBs.
#[derive(Debug, Default)]
pub(crate) struct BlobCommit {
    entries: Vec<NewEntry>,
    /// Owners, and the BLOBs that have their contents.
    references: Vec<(u64, u64)>,
    /// BLOBs that no row has, but that others have the contents of.
    ownerless: Vec<u64>,
    unmarked: Vec<u64>,
    /// Those of instances of temporary relations, which go with them.
    of_instances: Vec<(RelationId, u64)>,
}

impl BlobCommit {
    pub(crate) fn write(self, batch: &mut WriteBatch) {
        packs::put_all(self.entries, batch);
        for (owner, referrer) in self.references {
            references::put_reference(owner, referrer, batch);
        }
        for blob in self.ownerless {
            references::put_ownerless(blob, batch);
        }
        for blob in self.unmarked {
            batch.delete(Space::Meta, meta::pending_blob(blob));
        }
        for (relation, blob) in self.of_instances {
            batch.put(Space::Meta, meta::dropped_blob(relation, blob), Vec::new());
        }
    }
}

/// What the first phase of a two-phase commit does about BLOBs.
#[derive(Debug)]
pub(crate) struct PreparedBlobs {
    /// Puts them into the file, and takes away the marks under which an open would remove them.
    pub(crate) batch: WriteBatch,
    /// All of them.
    pub(crate) ids: Vec<u64>,
    /// As [`BlobCommit`] has it: to be entered with the commit.
    pub(crate) ownerless: Vec<u64>,
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
        let bytes = value.len() as u64;
        self.blobs.entry(key.blob).and_modify(|uncommitted| uncommitted.bytes += bytes);
        self.entries.insert(key, value.into());
        if self.bytes > inner.options.blob_bytes_max { self.spill(inner) } else { Ok(()) }
    }

    /// An entry that is not in the file.
    pub(crate) fn entry(&self, key: BlobKey) -> Option<Arc<[u8]>> {
        self.entries.get(&key).cloned()
    }

    /// Whether the BLOB is uncommitted, and may be read.
    pub(crate) fn is_readable(&self, blob: u64) -> Option<bool> {
        self.blobs.get(&blob).map(|uncommitted| uncommitted.closed)
    }

    /// The entries of a BLOB that are not in the file.
    fn entries_of(&self, blob: u64) -> impl Iterator<Item = (BlobKey, &Arc<[u8]>)> {
        self.entries.range(BlobKey::all_of(blob)).map(|(key, entry)| (*key, entry))
    }

    /// As [`BlobSet::entries_of`], to be written.
    fn new_entries_of(&self, blob: u64, uncommitted: &Uncommitted) -> impl Iterator<Item = NewEntry> {
        let is_whole = !uncommitted.spilled && self.entries_of(blob).nth(1).is_none();
        self.entries_of(blob).map(move |(key, entry)| NewEntry { key, entry: Arc::clone(entry), is_whole })
    }

    fn spill(&mut self, inner: &Inner) -> Result<()> {
        let bytes_max = inner.options.temporary_blob_bytes_max;
        let temporary = self.blobs.values().filter(|blob| !blob.is_to_commit());
        if temporary.map(|blob| blob.bytes).sum::<u64>() > bytes_max {
            return Err(StoreError::TooManyTemporaryBlobs { bytes_max });
        }
        let mut batch = WriteBatch::new();
        let mut newly_spilled = Vec::new();
        let mut new_entries = Vec::with_capacity(self.entries.len());
        for (blob, uncommitted) in &self.blobs {
            new_entries.extend(self.new_entries_of(*blob, uncommitted));
            if self.entries_of(*blob).next().is_some() && !uncommitted.spilled {
                batch.put(Space::Meta, meta::pending_blob(*blob), Vec::new());
                if let Some(owner) = uncommitted.owner {
                    references::put_reference(owner, *blob, &mut batch);
                }
                newly_spilled.push(*blob);
            }
        }
        packs::put_all(new_entries, &mut batch);
        inner.write(batch, Durability::Relaxed)?;
        for blob in newly_spilled {
            self.blobs.entry(blob).and_modify(|uncommitted| uncommitted.spilled = true);
        }
        self.entries.clear();
        self.bytes = 0;
        Ok(())
    }

    /// An entry of a BLOB, from memory or from the file.
    fn stored<T>(
        &self,
        inner: &Inner,
        key: BlobKey,
        read: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<Option<T>> {
        match self.entries.get(&key) {
            Some(entry) => read(entry).map(Some),
            None => entries::read(&*inner.snapshot(), key, read),
        }
    }

    /// Gives a BLOB to a row, of an instance of a temporary relation or of another one: itself if it is nobody's yet, else another one
    /// with the same contents. Gives the id under which the row has it.
    pub(crate) fn adopt(
        &mut self,
        inner: &Inner,
        id: BlobId,
        change: u64,
        instance: Option<RelationId>,
    ) -> Result<BlobId> {
        match self.blobs.get(&id.0) {
            Some(uncommitted) if !uncommitted.closed => Err(StoreError::NoSuchBlob),
            Some(uncommitted) if uncommitted.adopted.is_none() => {
                self.adopt_own(id, change, instance).map(|()| id)
            }
            _ => {
                let another = self.share(inner, id)?;
                self.blobs.entry(another.0).and_modify(|uncommitted| {
                    uncommitted.adopted = Some(change);
                    uncommitted.instance = instance;
                });
                Ok(another)
            }
        }
    }

    /// As [`BlobSet::adopt`], but only one that is nobody's yet.
    pub(crate) fn adopt_own(&mut self, id: BlobId, change: u64, instance: Option<RelationId>) -> Result<()> {
        let uncommitted = self.blobs.get_mut(&id.0).ok_or(StoreError::NoSuchBlob)?;
        if !uncommitted.closed || uncommitted.adopted.is_some() {
            return Err(StoreError::NoSuchBlob);
        }
        uncommitted.adopted = Some(change);
        uncommitted.instance = instance;
        uncommitted.replaced = None;
        Ok(())
    }

    /// Says of an uncommitted BLOB what its column says: whoever made it need not have known.
    pub(crate) fn describe(
        &mut self,
        inner: &Inner,
        id: BlobId,
        subtype: i16,
        character_set: CharacterSet,
    ) -> Result<()> {
        let key = BlobKey::header(id.0);
        let header = self.stored(inner, key, |entry| Header::decode(id.0, entry))?;
        let mut header = header.ok_or(StoreError::NoSuchBlob)?;
        let options = &mut header.properties.options;
        if (options.subtype, options.character_set) == (subtype, character_set) {
            return Ok(());
        }
        (options.subtype, options.character_set) = (subtype, character_set);
        self.put(inner, key, header.encode())
    }

    /// A new BLOB, nobody's yet, with the contents of another one: shared with it, or copied if they are tiny.
    ///
    /// # Errors
    /// `NoSuchBlob` also if another transaction has not committed it.
    pub(crate) fn share(&mut self, inner: &Inner, id: BlobId) -> Result<BlobId> {
        let read = |entry: &[u8]| {
            let header = Header::decode(id.0, entry)?;
            Ok(if header.is_copied() { (header, Some(entry.to_vec())) } else { (header, None) })
        };
        let found = self.stored(inner, BlobKey::header(id.0), read)?;
        let (mut header, tiny) = found.ok_or(StoreError::NoSuchBlob)?;
        let owner = match header.contents {
            Contents::Of(owner) => owner,
            Contents::Own(_) => id.0,
        };
        if !self.blobs.contains_key(&owner) {
            self.keep(inner, owner)?;
        }
        let new = inner.blob_numbers.next(inner)?;
        let mut uncommitted = Uncommitted { closed: true, ..Uncommitted::default() };
        let entry = match tiny {
            Some(entry) => entry,
            None => {
                uncommitted.owner = Some(owner);
                header.contents = Contents::Of(owner);
                header.encode()
            }
        };
        self.blobs.insert(new, uncommitted);
        self.put(inner, BlobKey::header(new), entry)?;
        Ok(BlobId(new))
    }

    /// Keeps the contents of a committed BLOB until this transaction ends.
    fn keep(&mut self, inner: &Inner, owner: u64) -> Result<()> {
        if !self.kept.insert(owner) {
            return Ok(());
        }
        inner.blob_references.keep(owner);
        match references::is_committed(&*inner.snapshot(), owner)? {
            true => Ok(()),
            false => Err(StoreError::NoSuchBlob),
        }
    }

    /// Takes BLOBs back from the row that was to have them.
    pub(crate) fn give_up(&mut self, taken: &[BlobId]) {
        for blob in taken {
            self.blobs.entry(blob.0).and_modify(|uncommitted| uncommitted.adopted = None);
        }
    }

    /// Makes those that rows of an instance of a temporary relation have taken nobody's again.
    pub(crate) fn give_up_of(&mut self, instance: RelationId) {
        for uncommitted in
            self.blobs.values_mut().filter(|uncommitted| uncommitted.instance == Some(instance))
        {
            uncommitted.adopted = None;
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

    /// The BLOBs that are committed: those that rows have taken, and those whose contents they have.
    fn committed(&self) -> HashSet<u64> {
        let taken = self.blobs.iter().filter(|(_, uncommitted)| uncommitted.is_to_commit());
        let with_owners =
            taken.flat_map(|(blob, uncommitted)| std::iter::once(*blob).chain(uncommitted.owner));
        with_owners.filter(|blob| self.blobs.contains_key(blob)).collect()
    }

    /// What the commit has to write.
    pub(crate) fn to_commit(&self) -> BlobCommit {
        let mut commit = BlobCommit::default();
        for blob in self.committed() {
            let Some(uncommitted) = self.blobs.get(&blob) else { continue };
            commit.entries.extend(self.new_entries_of(blob, uncommitted));
            commit.references.extend(uncommitted.owner.map(|owner| (owner, blob)));
            if !uncommitted.is_to_commit() {
                commit.ownerless.push(blob);
            }
            if uncommitted.spilled {
                commit.unmarked.push(blob);
            }
            if uncommitted.is_to_commit() {
                commit.of_instances.extend(uncommitted.instance.map(|instance| (instance, blob)));
            }
        }
        commit
    }

    /// What the first phase of a two-phase commit has to write.
    pub(crate) fn to_prepare(&self) -> PreparedBlobs {
        let mut commit = self.to_commit();
        let ownerless = std::mem::take(&mut commit.ownerless);
        let mut batch = WriteBatch::new();
        commit.write(&mut batch);
        PreparedBlobs { batch, ids: self.committed().into_iter().collect(), ownerless }
    }

    /// After a commit: its BLOBs are no more this transaction's affair.
    pub(crate) fn forget_adopted(&mut self) {
        let committed = self.committed();
        self.blobs.retain(|blob, _| !committed.contains(blob));
    }

    /// Removes one BLOB.
    pub(crate) fn cancel(&mut self, inner: &Inner, blob: u64) -> Result<()> {
        let keys: Vec<_> = self.entries_of(blob).map(|(key, _)| key).collect();
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
        for owner in self.kept.drain() {
            inner.blob_references.give_back(owner);
        }
        let spilled: Vec<u64> =
            self.blobs.drain().filter(|(_, uncommitted)| uncommitted.spilled).map(|(blob, _)| blob).collect();
        if spilled.is_empty() { Ok(()) } else { remove_spilled(inner, &spilled) }
    }
}

/// Removes uncommitted BLOBs that are in the file, with their marks.
pub(crate) fn remove_spilled(inner: &Inner, blobs: &[u64]) -> Result<()> {
    let snapshot = inner.snapshot();
    let mut batch = WriteBatch::new();
    for blob in blobs {
        delete_uncommitted(&*snapshot, *blob, &mut batch)?;
        batch.delete(Space::Meta, meta::pending_blob(*blob));
    }
    inner.write(batch, Durability::Relaxed)
}
