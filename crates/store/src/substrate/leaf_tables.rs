//! Leaves of indexes in redb's tables, and the packing of files whose index entries stand one by one.

use std::ops::Bound;
use std::sync::Arc;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, TableHandle};

use super::fault;
use super::file::{OpenTable, RedbEntries, WriteTable, failed, table_name};
use super::leaves::{self, LeafSource, LeafTable, Limits, NewLeaf, SharedLeaf};
use super::{Direction, Entries, KeyChange, KeySpan, Slice, Space};
use crate::keyspace::{FORMAT_OF_SINGLE_ENTRIES, STORE_FORMAT, meta};
use crate::{IndexId, Result};

/// An index's table, to be changed.
pub(super) struct RedbLeafTable<'t>(pub(super) WriteTable<'t>);

impl LeafTable for RedbLeafTable<'_> {
    fn leaf_of(&self, entry: &[u8]) -> Result<Option<NewLeaf>> {
        let span = (Bound::Unbounded, Bound::Included(entry));
        let leaf = self.0.range::<&[u8]>(span).map_err(failed)?.next_back().transpose().map_err(failed)?;
        Ok(leaf.map(|(key, value)| (key.value().to_vec(), value.value().to_vec())))
    }

    fn leaf_behind(&self, key: Option<&[u8]>) -> Result<Option<NewLeaf>> {
        let span = (key.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        let leaf = self.0.range::<&[u8]>(span).map_err(failed)?.next().transpose().map_err(failed)?;
        Ok(leaf.map(|(key, value)| (key.value().to_vec(), value.value().to_vec())))
    }

    fn leaf_before(&self, key: &[u8]) -> Result<Option<NewLeaf>> {
        let span = (Bound::Unbounded, Bound::Excluded(key));
        let leaf = self.0.range::<&[u8]>(span).map_err(failed)?.next_back().transpose().map_err(failed)?;
        Ok(leaf.map(|(key, value)| (key.value().to_vec(), value.value().to_vec())))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.0.insert(key, value).map(drop).map_err(failed)
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.0.remove(key).map(drop).map_err(failed)
    }
}

/// An index's table, to be read.
pub(super) struct RedbLeaves(pub(super) Arc<OpenTable>);

impl LeafSource for RedbLeaves {
    fn leaves(&self, span: KeySpan<'_>, direction: Direction) -> Result<Entries> {
        let range = fault::catch(|| self.0.table.range::<&[u8]>(span).map_err(failed))?;
        Ok(Box::new(RedbEntries { range: Some(range), direction }))
    }

    fn leaf_of(&self, entry: &[u8]) -> Result<Option<SharedLeaf>> {
        if let Some(leaf) = self.0.recent.of(entry) {
            return Ok(Some(leaf));
        }
        let leaf = fault::catch(|| {
            let span = (Bound::Unbounded, Bound::Included(entry));
            let leaf = self.0.table.range::<&[u8]>(span).map_err(failed)?.next_back();
            let leaf = leaf.transpose().map_err(failed)?;
            Ok(leaf.map(|(key, value)| SharedLeaf::new((Slice::page(key), Slice::page(value)))))
        })?;
        leaf.iter().try_for_each(|leaf| self.0.recent.note(leaf))?;
        Ok(leaf)
    }
}

/// The beginning of the names of tables whose entries stand one by one.
const SINGLE_ENTRIES: &str = "index/";
/// Entries packed at a time, in bytes.
const PACKED_BYTES: usize = 16 << 20;

/// Packs the indexes of a file of [`FORMAT_OF_SINGLE_ENTRIES`], all or none, and makes it one of [`STORE_FORMAT`]. What its log holds
/// comes later: it names entries.
pub(super) fn pack_single_entries(database: &Database) -> Result<()> {
    let meta_name = table_name(Space::Meta);
    let meta = TableDefinition::<&[u8], &[u8]>::new(&meta_name);
    fault::catch(|| {
        let reading = database.begin_read().map_err(failed)?;
        let format = match reading.open_table(meta) {
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(()),
            table => table
                .map_err(failed)?
                .get(meta::FORMAT)
                .map_err(failed)?
                .map(|format| format.value().to_vec()),
        };
        drop(reading);
        if format.as_deref() != Some(&FORMAT_OF_SINGLE_ENTRIES.to_le_bytes()) {
            return Ok(());
        }
        tracing::info!("packing the indexes of a database of an older format");
        let mut writing = database.begin_write().map_err(failed)?;
        let names: Vec<String> =
            writing.list_tables().map_err(failed)?.map(|table| table.name().to_owned()).collect();
        for name in names {
            let Some(index) = name.strip_prefix(SINGLE_ENTRIES).and_then(|number| number.parse().ok()) else {
                continue;
            };
            let single = TableDefinition::<&[u8], &[u8]>::new(&name);
            let packed = table_name(Space::Index(IndexId(index)));
            {
                let packed = TableDefinition::<&[u8], &[u8]>::new(&packed);
                let mut packed = RedbLeafTable(writing.open_table(packed).map_err(failed)?);
                let mut portion: Vec<KeyChange> = Vec::new();
                let mut bytes = 0;
                for entry in writing.open_table(single).map_err(failed)?.iter().map_err(failed)? {
                    let entry = entry.map_err(failed)?.0.value().to_vec();
                    bytes += entry.len();
                    portion.push((entry, Some(Vec::new())));
                    if bytes > PACKED_BYTES {
                        leaves::apply(&mut packed, &portion, Limits::default())?;
                        portion.clear();
                        bytes = 0;
                    }
                }
                leaves::apply(&mut packed, &portion, Limits::default())?;
            }
            writing.delete_table(single).map_err(failed)?;
        }
        let format = STORE_FORMAT.to_le_bytes();
        writing.open_table(meta).map_err(failed)?.insert(meta::FORMAT, format.as_slice()).map_err(failed)?;
        writing.set_durability(redb::Durability::Immediate).map_err(failed)?;
        writing.set_quick_repair(true);
        writing.commit().map_err(failed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::substrate::{ALL_KEYS, RedbSubstrate, Substrate};

    #[test]
    fn a_file_of_single_entries_is_packed_when_it_is_opened() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("old");
        let entry = |number: u64| [&(number / 3).to_be_bytes()[..], &number.to_be_bytes()].concat();
        {
            let database = RedbSubstrate::create(&path, 1 << 20).expect("create");
            database.with_database(|database| {
                let writing = database.begin_write().expect("write");
                let table = |name| TableDefinition::<&[u8], &[u8]>::new(name);
                let mut meta = writing.open_table(table("meta")).expect("table");
                meta.insert(&b"format"[..], &2u64.to_le_bytes()[..]).expect("insert");
                meta.insert(&b"other"[..], &b"kept"[..]).expect("insert");
                drop(meta);
                let mut index = writing.open_table(table("index/9")).expect("table");
                for number in 0..5_000 {
                    index.insert(entry(number).as_slice(), &b""[..]).expect("insert");
                }
                drop(index);
                writing.open_table(table("index/10")).expect("table");
                writing.commit().expect("commit");
            });
        }
        for _ in 0..2 {
            let database = RedbSubstrate::open(&path, 1 << 20).expect("open");
            let snapshot = database.snapshot().expect("snapshot");
            let found = snapshot.scan(Space::Index(IndexId(9)), ALL_KEYS, Direction::Forward).expect("scan");
            let found: Vec<_> = found.map(|entry| entry.expect("entry").0.to_vec()).collect();
            assert_eq!(found, (0..5_000).map(entry).collect::<Vec<_>>());
            let value = |key| snapshot.get(Space::Meta, key).expect("get").map(|value| value.to_vec());
            assert_eq!(value(b"format"), Some(STORE_FORMAT.to_le_bytes().to_vec()));
            assert_eq!(value(b"other"), Some(b"kept".to_vec()));
            assert_eq!(snapshot.bounds(Space::Index(IndexId(10))).expect("bounds"), None);
            let known = [Space::Meta, Space::Index(IndexId(9)), Space::Index(IndexId(10))].into();
            assert_eq!(database.unknown_spaces(&known).expect("spaces"), []);
            assert!(snapshot.bytes(Space::Index(IndexId(9))).expect("bytes") < 40_000);
        }
    }
}
