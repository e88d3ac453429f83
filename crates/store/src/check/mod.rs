//! Checking a database: every version, block, index entry and BLOB, and what they say of each other.
//!
//! # What is compared
//! - Every key and value is read, with its checksums; every row is decoded whole, in the format that it names.
//! - Blocks do not overlap; nothing is newer than the latest commit.
//! - The rows that a scan gives are as many as the headers count, and each has its entry in every active index. No two of
//!   them have the same key in a unique index. Entries that lead to no version of their row with that key are only
//!   hints, left by rollbacks and crashes: they are counted.
//! - Relations and indexes that stand in the file and that nobody knows are measured.
//! - Every BLOB that a row refers to can be read to its end. BLOBs that no row refers to are counted.
//!
//! What is damaged is a [`Finding`], and the check goes on behind it. Memory is bounded: the keys of rows are sorted as those of
//! a new index are, in files if there are too many.

mod blobs;
mod entries;
mod relation;
mod walk;

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use farbird_types::BlobId;
use redb::StorageBackend;

use crate::keyspace::meta;
use crate::log::{LoggedSubstrate, backend};
use crate::recovery::{id, marks};
use crate::store::Inner;
use crate::substrate::{Space, SubstrateState};
use crate::{
    BuildRoom, CancelFlag, CommitNumber, FileKind, IndexId, ReadView, RelationId, RelationLayout, Result,
    RowId, Store, StoreError, StoreOptions, Transaction, TransactionOptions, identify,
};
use blobs::BlobReferences;
use walk::Walk;

/// Findings that are described; the others are counted.
const FINDINGS_MAX: usize = 1_000;

/// What a check has found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// What is damaged; at most the first thousand.
    pub findings: Vec<Finding>,
    /// How many findings there are beyond these.
    pub more_findings: u64,
    /// Relations looked at.
    pub relations: u64,
    /// Row blocks.
    pub blocks: u64,
    /// Versions of rows outside of blocks.
    pub versions: u64,
    /// Rows that a new transaction sees.
    pub rows: u64,
    /// Index entries.
    pub entries: u64,
    /// Of these, entries that lead nowhere: they take space until the index is built anew, and do no harm.
    pub stale_entries: u64,
    /// BLOBs of rows.
    pub blobs: u64,
    /// BLOBs that no row refers to: they take space, and do no harm.
    pub orphan_blobs: u64,
    /// Bytes taken by relations and indexes that nobody knows: they do no harm.
    pub unknown_bytes: u64,
}

impl CheckReport {
    /// Whether nothing is damaged.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    /// Adds what is damaged.
    pub fn add(&mut self, place: Location, what: impl Into<String>) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(Finding { place, what: what.into() });
        } else {
            self.more_findings += 1;
        }
    }
}

/// Something that is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where.
    pub place: Location,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.place, self.what)
    }
}

/// Where something is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Location {
    /// The file as such: its head, its pages, its list of free space.
    File,
    /// The store's own numbers and marks.
    Meta,
    /// The catalog.
    Catalog,
    /// The sequences.
    Sequences,
    /// A relation, or a stretch of it.
    Relation(RelationId),
    /// One row.
    Row(RelationId, RowId),
    /// An index of a relation.
    Index(RelationId, IndexId),
    /// A BLOB, with the row that refers to it.
    Blob(RelationId, RowId, BlobId),
    /// The BLOBs as such.
    Blobs,
    /// A row that refers to another one by a foreign key; the engine compares those.
    Reference(RelationId, RowId),
}

/// How far a check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckProgress {
    /// What is being looked at: a relation, or `None` for the rest.
    pub relation: Option<RelationId>,
    /// Work done, in units of about a row.
    pub done: u64,
    /// All work, as estimated.
    pub total: u64,
}

/// Compares the checksums of all pages of a file that are in use. The file is not changed.
///
/// # Errors
/// `InUse`, `WrongKind`, and `Io` if it cannot be read. What is damaged is in the report.
pub fn check_pages(path: &Path, cache_bytes: usize) -> Result<CheckReport> {
    match identify(path)? {
        FileKind::Farbird => {}
        kind => return Err(StoreError::WrongKind(kind)),
    }
    pages_of(Arc::new(backend(File::open(path)?)?), cache_bytes)
}

/// As [`check_pages`], on another storage.
pub fn check_pages_of(storage: impl StorageBackend, cache_bytes: usize) -> Result<CheckReport> {
    pages_of(Arc::new(storage), cache_bytes)
}

fn pages_of(file: Arc<dyn StorageBackend>, cache_bytes: usize) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    let opened = LoggedSubstrate::on_unchanged(Arc::clone(&file), cache_bytes);
    match opened.and_then(|substrate| substrate.check_pages()) {
        Ok(wrong) => wrong.into_iter().for_each(|what| report.add(Location::File, what)),
        Err(StoreError::Corrupt { what }) => report.add(Location::File, what),
        Err(error) => return Err(error),
    }
    // What is damaged can keep redb from looking further: what else is there shall be known too.
    if !report.is_sound() {
        for pages in LoggedSubstrate::damaged_pages(file)?.chunk_by(|a, b| a + 1 == *b) {
            if let (Some(first), Some(last)) = (pages.first(), pages.last()) {
                let what = match last - first {
                    0 => format!("damaged: page {first}"),
                    _ => format!("damaged: pages {first} to {last}"),
                };
                report.add(Location::File, what);
            }
        }
    }
    Ok(report)
}

impl Store {
    /// Opens a file to look at it: what would be written stays in memory.
    pub fn open_unchanged(path: &Path, options: StoreOptions) -> Result<Store> {
        Store::on_substrate(Arc::new(LoggedSubstrate::open_unchanged(path, options.cache_bytes)?), options)
    }

    /// Checks everything that the store holds, as of now; others may go on working. `layouts` are all relations that the
    /// catalog knows; `room` is for sorting the keys of their rows. The file's pages as such are checked by [`check_pages`].
    ///
    /// # Errors
    /// If the check itself cannot go on: `Cancelled`. What is damaged is in the report.
    pub fn check(
        &self,
        layouts: &[Arc<RelationLayout>],
        room: &dyn BuildRoom,
        progress: &mut dyn FnMut(CheckProgress),
        cancel: &Arc<CancelFlag>,
    ) -> Result<CheckReport> {
        self.run_check(room, progress, cancel, |check| {
            check.estimate(layouts);
            check.check_small_spaces()?;
            check.measure_unknown_spaces(layouts)?;
            for layout in layouts {
                check.check_relation(layout)?;
            }
            check.check_blobs()
        })
    }

    /// Runs a check of what the store holds now.
    fn run_check(
        &self,
        room: &dyn BuildRoom,
        progress: &mut dyn FnMut(CheckProgress),
        cancel: &Arc<CancelFlag>,
        run: impl FnOnce(&mut Check<'_>) -> Result<()>,
    ) -> Result<CheckReport> {
        let options = TransactionOptions { ignore_limbo: true, ..TransactionOptions::default() };
        let transaction = self.begin(options, Arc::clone(cancel))?;
        let (snapshot, view) = {
            // No commit comes between the two.
            let _guard = self.inner.begin_write();
            (self.inner.snapshot(), transaction.view()?)
        };
        let mut check = Check {
            inner: &self.inner,
            transaction: &transaction,
            room,
            view,
            snapshot,
            report: CheckReport::default(),
            references: BlobReferences::default(),
            progress,
            at: CheckProgress { relation: None, done: 0, total: 0 },
        };
        run(&mut check)?;
        let report = check.report;
        transaction.rollback()?;
        Ok(report)
    }

    /// Checks one relation with its active indexes and the BLOBs of its rows, as of now; others may go on working.
    ///
    /// # Errors
    /// As [`Store::check`].
    pub fn check_relation(
        &self,
        layout: &Arc<RelationLayout>,
        room: &dyn BuildRoom,
        cancel: &Arc<CancelFlag>,
    ) -> Result<CheckReport> {
        let layouts = std::slice::from_ref(layout);
        self.run_check(room, &mut |_| {}, cancel, |check| {
            check.estimate(layouts);
            check.check_relation(layout)?;
            check.check_blobs_of_rows()
        })
    }
}

/// A running check.
struct Check<'a> {
    inner: &'a Arc<Inner>,
    transaction: &'a Transaction,
    /// For sorting keys.
    room: &'a dyn BuildRoom,
    view: ReadView,
    /// The substrate as of the view.
    snapshot: Arc<dyn SubstrateState>,
    report: CheckReport,
    references: BlobReferences,
    progress: &'a mut dyn FnMut(CheckProgress),
    at: CheckProgress,
}

/// Progress is told each time that so much is done.
const UNITS_PER_REPORT: u64 = 1_024;

impl Check<'_> {
    fn last_commit(&self) -> CommitNumber {
        self.view.commit_number()
    }

    /// Tells of `units` more done.
    fn advance(&mut self, units: u64) -> Result<()> {
        let before = self.at.done / UNITS_PER_REPORT;
        self.at.done = (self.at.done + units).min(self.at.total);
        if self.at.done / UNITS_PER_REPORT > before {
            self.transaction.cancel_flag().check()?;
            (self.progress)(self.at);
        }
        Ok(())
    }

    fn estimate(&mut self, layouts: &[Arc<RelationLayout>]) {
        let last_of = |space| {
            let bounds = self.snapshot.bounds(space).ok().flatten();
            bounds.and_then(|bounds| crate::keyspace::number(bounds.last.get(..8)?)).unwrap_or(0)
        };
        let rows = |layout: &Arc<RelationLayout>| {
            let rows = last_of(Space::Blocks(layout.id)).max(last_of(Space::Versions(layout.id)));
            rows * (2 + layout.indexes.len() as u64)
        };
        self.at.total = layouts.iter().map(rows).sum::<u64>() + last_of(Space::Blobs);
    }

    /// What relations and indexes take that neither the catalog knows nor a mark: nothing removes them.
    fn measure_unknown_spaces(&mut self, layouts: &[Arc<RelationLayout>]) -> Result<()> {
        let mut known: HashSet<Space> = HashSet::from([
            Space::Meta,
            Space::Catalog,
            Space::Sequences,
            Space::Blobs,
            Space::BlobPages,
            Space::BlobReferences,
        ]);
        let mut relations: HashSet<RelationId> = layouts.iter().map(|layout| layout.id).collect();
        let mut indexes: HashSet<IndexId> =
            layouts.iter().flat_map(|layout| layout.indexes.iter().map(|index| index.id)).collect();
        for (prefix, is_index) in
            [(meta::DROPPED_RELATION, false), (meta::DROPPED_INDEX, true), (meta::PENDING_INDEX, true)]
        {
            let Ok(marks) = marks(&*self.snapshot, prefix) else { continue };
            for id in marks.iter().filter_map(|key| id(key.get(prefix.len()..)?)) {
                match is_index {
                    true => indexes.insert(IndexId(id)),
                    false => relations.insert(RelationId(id)),
                };
            }
        }
        for mark in marks(&*self.snapshot, meta::TEMPORARY).unwrap_or_default() {
            relations.extend(mark.get(meta::TEMPORARY.len()..).and_then(id).map(RelationId));
            let value = self.snapshot.get(Space::Meta, &mark)?;
            let numbers = value.iter().flat_map(|value| value.chunks(4)).filter_map(id);
            indexes.extend(numbers.map(IndexId));
        }
        for relation in relations {
            known.extend([Space::Versions(relation), Space::Changes(relation), Space::Blocks(relation)]);
        }
        known.extend(indexes.into_iter().map(Space::Index));
        match self.inner.unknown_spaces(&known) {
            Ok(unknown) => self.report.unknown_bytes = unknown.iter().map(|(_, bytes)| bytes).sum(),
            Err(error @ StoreError::Corrupt { .. }) => self.report.add(Location::File, error.to_string()),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Meta, catalog and sequences: all of them are read, and the store's own are understood.
    fn check_small_spaces(&mut self) -> Result<()> {
        for (space, place) in [
            (Space::Meta, Location::Meta),
            (Space::Catalog, Location::Catalog),
            (Space::Sequences, Location::Sequences),
        ] {
            let mut walk = Walk::new(&self.snapshot, space);
            while let Some(entry) = walk.next() {
                match entry {
                    Err(gap) => self.report.add(place, gap.to_string()),
                    Ok((key, value)) if !is_understood(space, &key, &value) => {
                        self.report
                            .add(place, format!("entry {:?} makes no sense", String::from_utf8_lossy(&key)));
                    }
                    Ok(_) => {}
                }
            }
        }
        Ok(())
    }
}

fn is_understood(space: Space, key: &[u8], value: &[u8]) -> bool {
    match space {
        Space::Meta => match key {
            meta::FORMAT
            | meta::LAST_COMMIT
            | meta::TRANSACTIONS_RESERVED
            | meta::BLOBS_RESERVED
            | meta::SINGLE_BLOBS_FROM => value.len() == 8,
            _ => true,
        },
        Space::Sequences => key.len() == 4 && value.len() == 8,
        _ => true,
    }
}
