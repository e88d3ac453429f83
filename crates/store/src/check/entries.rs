//! Index entries compared with the rows.

use std::sync::Arc;

use farbird_types::Value;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::walk::Walk;
use super::{Check, Location};
use crate::keys::IndexKey;
use crate::substrate::Space;
use crate::{IndexDefinition, IndexId, RelationLayout, Result, RowId, keyspace};

/// Entries expected that are kept in memory, 32 bytes each; if there are more, they are compared in several passes.
const EXPECTATIONS_MAX: usize = 4 << 20;

/// The entries that the rows of a relation should have, by their hashes; in each pass a part of them.
pub(super) struct Expectations {
    /// Keys whose hashes leave `remainder` when divided by `modulus` belong to the pass.
    modulus: u64,
    remainder: u64,
    list: Vec<Expectation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Expectation {
    /// Of the entry.
    hash: u64,
    /// Of its key alone, so that equal keys are compared in the same pass.
    key_hash: u64,
    /// The row is seen with this key: the entry must be there. Else it may be.
    is_due: bool,
    row: u64,
    index: u32,
    is_met: bool,
}

impl Default for Expectations {
    fn default() -> Self {
        Expectations { modulus: 1, remainder: 0, list: Vec::new() }
    }
}

/// Hash of an entry, or of its key alone.
fn hash(index: IndexId, bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, u64::from(index.0))
}

impl Expectations {
    /// Notes the entries of a row, given as in the current format.
    ///
    /// # Errors
    /// If the key of an index cannot be computed.
    pub(super) fn add(
        &mut self,
        layout: &RelationLayout,
        row: RowId,
        values: &[Value],
        is_due: bool,
    ) -> Result<()> {
        let mut failure = None;
        for index in layout.indexes.iter().filter(|index| index.active) {
            match index.key(values) {
                Ok(Some(key)) => self.add_entry(index.id, &key, row, is_due),
                Ok(None) => {}
                Err(error) => failure = Some(error),
            }
        }
        failure.map_or(Ok(()), Err)
    }

    fn add_entry(&mut self, index: IndexId, key: &IndexKey, row: RowId, is_due: bool) {
        let key_hash = hash(index, &key.bytes);
        if !self.is_of_pass(key_hash) {
            return;
        }
        let hash = hash(index, &key.entry(row));
        self.list.push(Expectation { hash, key_hash, is_due, row: row.0, index: index.0, is_met: false });
        if self.list.len() >= EXPECTATIONS_MAX {
            self.settle();
            // Only in the first pass: the others have as many at most.
            if self.list.len() >= EXPECTATIONS_MAX / 2 && self.remainder == 0 {
                self.modulus *= 2;
                let modulus = self.modulus;
                self.list.retain(|expectation| expectation.key_hash % modulus == 0);
            }
        }
    }

    fn is_of_pass(&self, key_hash: u64) -> bool {
        key_hash % self.modulus == self.remainder
    }

    /// Each entry once, and due if any row of it is.
    fn settle(&mut self) {
        self.list.sort_unstable_by(|a, b| a.hash.cmp(&b.hash).then(b.is_due.cmp(&a.is_due)));
        self.list.dedup_by_key(|expectation| expectation.hash);
    }

    fn find(&mut self, hash: u64) -> Option<&mut Expectation> {
        let at = self.list.binary_search_by_key(&hash, |expectation| expectation.hash).ok()?;
        self.list.get_mut(at)
    }

    /// Begins the next pass, if there is one.
    pub(super) fn next_pass(&mut self) -> bool {
        self.list.clear();
        self.remainder += 1;
        self.remainder < self.modulus
    }
}

impl Check<'_> {
    pub(super) fn check_indexes(
        &mut self,
        layout: &Arc<RelationLayout>,
        expected: &mut Expectations,
    ) -> Result<()> {
        expected.settle();
        for index in layout.indexes.iter().filter(|index| index.active) {
            self.check_index(layout, index, expected)?;
        }
        for missing in expected.list.iter().filter(|expectation| expectation.is_due && !expectation.is_met) {
            let place = Location::Index(layout.id, IndexId(missing.index));
            self.report.add(place, format!("has no entry for row {}", missing.row));
        }
        Ok(())
    }

    fn check_index(
        &mut self,
        layout: &Arc<RelationLayout>,
        index: &IndexDefinition,
        expected: &mut Expectations,
    ) -> Result<()> {
        let place = Location::Index(layout.id, index.id);
        let nulls = vec![Value::Null; index.parts.len()];
        let all_null = index.encode(&nulls)?.bytes;
        // The last key that a row is seen with, and the row.
        let mut last: Option<(Vec<u8>, RowId)> = None;
        let mut walk = Walk::new(&self.snapshot, Space::Index(index.id));
        while let Some(entry) = walk.next() {
            self.advance(1)?;
            let (entry, value) = match entry {
                Ok(entry) => entry,
                Err(gap) => {
                    if expected.remainder == 0 {
                        self.report.add(place, gap.to_string());
                    }
                    continue;
                }
            };
            let Some((key, row)) = keyspace::parse_entry(&entry).filter(|_| value.is_empty()) else {
                if expected.remainder == 0 {
                    self.report.add(place, "an entry makes no sense");
                }
                continue;
            };
            if !expected.is_of_pass(hash(index.id, key)) {
                continue;
            }
            self.report.entries += 1;
            let Some(expectation) = expected.find(hash(index.id, &entry)) else {
                self.report.stale_entries += 1;
                continue;
            };
            expectation.is_met = true;
            if !expectation.is_due || !index.unique || key == all_null {
                continue;
            }
            if let Some((last, other)) = &last
                && last == key
            {
                self.report.add(place, format!("rows {} and {} have the same key", other.0, row.0));
            }
            last = Some((key.to_vec(), row));
        }
        Ok(())
    }
}
