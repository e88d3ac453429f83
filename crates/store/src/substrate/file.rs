//! The default substrate: redb, one file, one table per space. Why redb: docs/store.md, "Substrate".

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use redb::{
    Builder, Database, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable, StorageBackend,
    TableDefinition, TableError, backends::InMemoryBackend,
};

use super::{
    Direction, Durability, Entries, KeyBounds, KeySpan, Slice, Snapshot, Space, Substrate, WriteBatch,
    is_empty_span,
};
use crate::{Result, StoreError};

/// A redb database, in a file or on another storage backend.
#[derive(Debug)]
pub struct RedbSubstrate {
    database: Database,
}

impl RedbSubstrate {
    /// Creates the file.
    ///
    /// # Errors
    /// `Exists` if there is one already.
    pub fn create(path: &Path, cache_bytes: usize) -> Result<RedbSubstrate> {
        let file = std::fs::OpenOptions::new().read(true).write(true).create_new(true).open(path);
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Exists,
            _ => error.into(),
        })?;
        let database = builder(cache_bytes).create_file(file).map_err(failed)?;
        Ok(RedbSubstrate { database })
    }

    /// Opens a file, repairing it if it was not closed.
    pub fn open(path: &Path, cache_bytes: usize) -> Result<RedbSubstrate> {
        let database = builder(cache_bytes).open(path).map_err(failed)?;
        Ok(RedbSubstrate { database })
    }

    /// A substrate without a file.
    pub fn in_memory(cache_bytes: usize) -> Result<RedbSubstrate> {
        RedbSubstrate::on_backend(InMemoryBackend::new(), cache_bytes)
    }

    /// A substrate on another storage: tests own the disk that way.
    pub fn on_backend(backend: impl StorageBackend, cache_bytes: usize) -> Result<RedbSubstrate> {
        let database = builder(cache_bytes).create_with_backend(backend).map_err(failed)?;
        Ok(RedbSubstrate { database })
    }
}

fn builder(cache_bytes: usize) -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(cache_bytes);
    builder
}

/// The one place where redb's errors become ours.
fn failed(error: impl Into<redb::Error>) -> StoreError {
    match error.into() {
        redb::Error::Io(error) => error.into(),
        redb::Error::DatabaseAlreadyOpen => StoreError::InUse,
        redb::Error::Corrupted(what) => StoreError::Corrupt { what },
        redb::Error::PreviousIo => StoreError::Poisoned,
        other => StoreError::Io(io::Error::other(other)),
    }
}

type Table = ReadOnlyTable<&'static [u8], &'static [u8]>;

fn table_name(space: Space) -> String {
    let mut name = String::new();
    let written = match space {
        Space::Meta => write!(name, "meta"),
        Space::Catalog => write!(name, "catalog"),
        Space::Sequences => write!(name, "sequences"),
        Space::Blobs => write!(name, "blobs"),
        Space::Versions(relation) => write!(name, "versions/{}", relation.0),
        Space::Blocks(relation) => write!(name, "blocks/{}", relation.0),
        Space::Index(index) => write!(name, "index/{}", index.0),
    };
    written.expect("writing to a string does not fail");
    name
}

impl Substrate for RedbSubstrate {
    fn snapshot(&self) -> Result<Arc<dyn Snapshot>> {
        let transaction = self.database.begin_read().map_err(failed)?;
        Ok(Arc::new(RedbSnapshot { transaction, tables: Mutex::default(), bounds: Mutex::default() }))
    }

    fn write(&self, batch: WriteBatch, durability: Durability) -> Result<()> {
        let (cleared, spaces) = batch.into_sorted();
        let mut transaction = self.database.begin_write().map_err(failed)?;
        transaction
            .set_durability(match durability {
                Durability::Durable => redb::Durability::Immediate,
                Durability::Relaxed => redb::Durability::None,
            })
            .map_err(failed)?;
        for space in cleared {
            let name = table_name(space);
            transaction.delete_table(TableDefinition::<&[u8], &[u8]>::new(&name)).map_err(failed)?;
        }
        for (space, changes) in spaces {
            let name = table_name(space);
            let mut table =
                transaction.open_table(TableDefinition::<&[u8], &[u8]>::new(&name)).map_err(failed)?;
            for (key, value) in changes {
                match value {
                    Some(value) => table.insert(key.as_slice(), value.as_slice()).map_err(failed)?,
                    None => table.remove(key.as_slice()).map_err(failed)?,
                };
            }
        }
        transaction.commit().map_err(failed)
    }
}

struct RedbSnapshot {
    transaction: ReadTransaction,
    /// Opened tables; `None`: there is no such table.
    tables: Mutex<HashMap<Space, Option<Arc<Table>>>>,
    bounds: Mutex<HashMap<Space, Option<Arc<KeyBounds>>>>,
}

impl RedbSnapshot {
    fn table(&self, space: Space) -> Result<Option<Arc<Table>>> {
        let mut tables = self.tables.lock();
        if let Some(table) = tables.get(&space) {
            return Ok(table.clone());
        }
        let name = table_name(space);
        let table = match self.transaction.open_table(TableDefinition::<&[u8], &[u8]>::new(&name)) {
            Ok(table) => Some(Arc::new(table)),
            Err(TableError::TableDoesNotExist(_)) => None,
            Err(error) => return Err(failed(error)),
        };
        tables.insert(space, table.clone());
        Ok(table)
    }
}

impl Snapshot for RedbSnapshot {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Slice>> {
        match self.table(space)? {
            Some(table) => Ok(table.get(key).map_err(failed)?.map(Slice::page)),
            None => Ok(None),
        }
    }

    fn bounds(&self, space: Space) -> Result<Option<Arc<KeyBounds>>> {
        if let Some(known) = self.bounds.lock().get(&space) {
            return Ok(known.clone());
        }
        let Some(table) = self.table(space)? else { return Ok(None) };
        let ends = table.first().map_err(failed)?.zip(table.last().map_err(failed)?);
        let bounds = ends.map(|((first, _), (last, _))| {
            Arc::new(KeyBounds { first: first.value().to_vec(), last: last.value().to_vec() })
        });
        self.bounds.lock().insert(space, bounds.clone());
        Ok(bounds)
    }

    fn scan(&self, space: Space, span: KeySpan<'_>, direction: Direction) -> Result<Entries> {
        let Some(table) = self.table(space)? else { return Ok(Box::new(std::iter::empty())) };
        if is_empty_span(span) {
            return Ok(Box::new(std::iter::empty()));
        }
        let range = table.range::<&[u8]>(span).map_err(failed)?;
        let entry = |entry: std::result::Result<_, redb::StorageError>| {
            let (key, value) = entry.map_err(failed)?;
            Ok((Slice::page(key), Slice::page(value)))
        };
        Ok(match direction {
            Direction::Forward => Box::new(range.map(entry)),
            Direction::Backward => Box::new(range.rev().map(entry)),
        })
    }
}
