//! BLOBs: those that rows refer to, and those that are there.

use std::collections::HashSet;

use farbird_types::{BlobId, Value};

use super::walk::Walk;
use super::{Check, Location};
use crate::blob::references::is_referred_to;
use crate::blob::{BlobKey, entries, packs, pieces};
use crate::keyspace::meta;
use crate::recovery::marks;
use crate::substrate::Space;
use crate::{RelationId, Result, RowId, SegmentRead, StoreError, keyspace};

/// Bytes read at a time.
const BYTES_PER_READ: usize = 1 << 20;

/// The BLOBs that rows refer to.
#[derive(Debug, Default)]
pub(super) struct BlobReferences(Vec<Reference>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Reference {
    blob: u64,
    /// Last, so that of several references to a BLOB the first is one by which it must be there.
    is_optional: bool,
    relation: RelationId,
    row: RowId,
}

impl BlobReferences {
    /// Notes those of an image of a row; `is_optional`: nobody may see this image any more, and its BLOBs may be gone.
    pub(super) fn add(&mut self, relation: RelationId, row: RowId, image: &[Value], is_optional: bool) {
        for value in image {
            if let Value::Blob(blob) = value {
                self.0.push(Reference { blob: blob.0, is_optional, relation, row });
            }
        }
    }
}

impl Check<'_> {
    /// The contents of every BLOB that a row refers to are read, once; BLOBs of no row are counted.
    pub(super) fn check_blobs(&mut self) -> Result<()> {
        self.at.relation = None;
        let references = self.take_references();
        self.count_orphans(&references)?;
        self.read_all(references)
    }

    /// As [`Check::check_blobs`], of the rows that were looked at; BLOBs of no row are left alone.
    pub(super) fn check_blobs_of_rows(&mut self) -> Result<()> {
        let references = self.take_references();
        self.read_all(references)
    }

    fn take_references(&mut self) -> Vec<Reference> {
        let mut references = std::mem::take(&mut self.references).0;
        references.sort_unstable();
        references.dedup_by_key(|reference| reference.blob);
        references
    }

    fn read_all(&mut self, references: Vec<Reference>) -> Result<()> {
        let mut sound = HashSet::new();
        for Reference { blob, relation, row, .. } in references.into_iter().filter(|one| !one.is_optional) {
            self.report.blobs += 1;
            self.advance(1)?;
            match self.read_blob(BlobId(blob), &mut sound) {
                Ok(()) => {}
                Err(error @ StoreError::Cancelled) => return Err(error),
                Err(error) => self.report.add(Location::Blob(relation, row, BlobId(blob)), error.to_string()),
            }
        }
        Ok(())
    }

    /// Counts the BLOBs in both spaces that no row has, and no other BLOB has the contents of.
    fn count_orphans(&mut self, references: &[Reference]) -> Result<()> {
        // Those of sessions' temporary rows, and of dropped relations that the sweep has yet to remove.
        let marked = marks(&*self.snapshot, meta::DROPPED_BLOB).unwrap_or_default();
        let marked: HashSet<u64> =
            marked.iter().filter_map(|key| key.last_chunk().map(|blob| u64::from_be_bytes(*blob))).collect();
        let is_owned = |blob: &u64| {
            marked.contains(blob) || references.binary_search_by_key(blob, |reference| reference.blob).is_ok()
        };
        let packs = self.count_orphans_in_packs(is_owned)?;
        for space in [Space::Blobs, Space::BlobPages] {
            let mut last = None;
            let mut walk = Walk::new(&self.snapshot, space);
            while let Some(entry) = walk.next() {
                let blob = match &entry {
                    Ok((key, _)) if packs::first_member(key).is_some_and(|first| packs.contains(&first)) => {
                        continue;
                    }
                    Ok((_, value)) if pieces::is_gone(space, value) => continue,
                    Ok((key, _)) => {
                        let is_whole = key.len() == keyspace::BLOB_PIECE_BYTES;
                        key.get(..8).and_then(keyspace::number).filter(|_| is_whole)
                    }
                    Err(gap) => {
                        self.report.add(Location::Blobs, gap.to_string());
                        continue;
                    }
                };
                let Some(blob) = blob else {
                    self.report.add(Location::Blobs, "a key makes no sense");
                    continue;
                };
                if last.replace(blob) != Some(blob) && !is_owned(&blob) && self.is_orphan(space, blob)? {
                    self.report.orphan_blobs += 1;
                }
            }
        }
        Ok(())
    }

    /// As [`Check::count_orphans`], of members of packs; tells the first member of each pack.
    fn count_orphans_in_packs(&mut self, is_owned: impl Fn(&u64) -> bool) -> Result<HashSet<u64>> {
        let mut firsts = HashSet::new();
        for pack in packs::names(&*self.snapshot).unwrap_or_default() {
            self.advance(0)?;
            firsts.extend(pack.map(|(_, first)| first));
            let members = match pack.map(|(last, first)| packs::members(&*self.snapshot, last, first)) {
                Some(Ok(members)) => members,
                Some(Err(StoreError::Corrupt { what })) => {
                    self.report.add(Location::Blobs, what);
                    continue;
                }
                Some(Err(error)) => return Err(error),
                None => {
                    self.report.add(Location::Blobs, "the name of a pack makes no sense");
                    continue;
                }
            };
            for blob in members.into_iter().filter(|blob| !is_owned(blob)) {
                if !is_referred_to(&*self.snapshot, blob)? {
                    self.report.orphan_blobs += 1;
                }
            }
        }
        Ok(firsts)
    }

    /// Whether a BLOB that no row has is nobody's, and not counted already.
    fn is_orphan(&self, space: Space, blob: u64) -> Result<bool> {
        let is_counted = space == Space::BlobPages
            && entries::read(&*self.snapshot, BlobKey::header(blob), |_| Ok(()))
                .map_or(true, |found| found.is_some());
        Ok(!is_counted && !is_referred_to(&*self.snapshot, blob)?)
    }

    /// Reads a BLOB to its end; its lengths must be those that its header names. Of contents that are known to be `sound`
    /// already only the lengths are compared.
    fn read_blob(&self, blob: BlobId, sound: &mut HashSet<(BlobId, u64, u64)>) -> Result<()> {
        let mut reader = self.transaction.open_blob(blob)?;
        let properties = reader.properties();
        let contents = (reader.contents_owner(), properties.bytes, properties.segments);
        if sound.contains(&contents) {
            return Ok(());
        }
        let (mut bytes, mut segments) = (0, 0);
        let mut part = Vec::new();
        loop {
            part.clear();
            match reader.read_segment(self.transaction, BYTES_PER_READ, &mut part)? {
                SegmentRead::Complete => segments += 1,
                SegmentRead::Incomplete => {}
                SegmentRead::End => break,
            }
            bytes += part.len() as u64;
        }
        let has_segments = !properties.options.stream && properties.bytes > 0;
        if bytes != properties.bytes || (has_segments && segments != properties.segments) {
            let what = format!("{bytes} bytes in {segments} segments instead of {properties:?}");
            return Err(StoreError::corrupt(what));
        }
        if contents.0 != blob || is_referred_to(&*self.snapshot, blob.0)? {
            sound.insert(contents);
        }
        Ok(())
    }
}
