//! Figures of a database and its tables, as gstat tells them: looked at, not estimated.

use farbird_store::{IndexId as StoreIndex, RelationId as StoreRelation, StoreStatistics};
use farbird_types::{Error, Result, Timestamp, isc};

use crate::attachment::Attachment;
use crate::catalog::privileges::Actor;
use crate::catalog::{DatabaseProperties, ShutdownMode, SystemPrivilege};
use crate::clock;

/// What holds for a whole database.
#[derive(Debug, Clone)]
pub struct DatabaseFigures {
    /// The size of a page, as it is reported.
    pub page_size: u32,
    /// Its SQL dialect.
    pub dialect: u8,
    /// When it was made, in UTC.
    pub created: Timestamp,
    /// Its number, in braces.
    pub guid: String,
    /// Whether it takes no changes.
    pub read_only: bool,
    /// How far it is shut down.
    pub shutdown: ShutdownMode,
    /// After how many transactions it is swept at the latest; 0: only when somebody asks for it.
    pub sweep_interval: u32,
    /// The number that the next attachment gets.
    pub next_attachment: u64,
    /// Transactions and commits.
    pub store: StoreStatistics,
}

/// A table.
#[derive(Debug, Clone)]
pub struct TableFigures {
    /// Its name.
    pub name: String,
    /// Its number (RDB$RELATION_ID).
    pub id: u32,
    /// How many formats its rows may have.
    pub formats: usize,
    /// Committed rows.
    pub rows: u64,
    /// Average size of a row as it travels, in bytes.
    pub row_bytes: f64,
    /// Row blocks.
    pub blocks: u64,
    /// What its rows take in the file, in bytes, without index entries and BLOBs.
    pub bytes: u64,
    /// Its indexes that are active.
    pub indexes: Vec<IndexFigures>,
}

/// An index.
#[derive(Debug, Clone)]
pub struct IndexFigures {
    /// Its name.
    pub name: String,
    /// Rows that stand in it.
    pub entries: u64,
    /// How many different keys there are.
    pub distinct: u64,
    /// What it takes in the file, in bytes.
    pub bytes: u64,
}

impl Attachment {
    /// What holds for the whole database.
    ///
    /// # Errors
    /// `isc_adm_task_denied` for those who may not use gstat.
    pub fn database_figures(&self) -> Result<DatabaseFigures> {
        let database = self.database();
        let catalog = database.catalog();
        if !Actor::of(self.session()).has(&catalog, SystemPrivilege::UseGstatUtility) {
            return Err(Error::new(isc::ADM_TASK_DENIED).and(isc::MISS_PRVLG).with("USE_GSTAT_UTILITY"));
        }
        let DatabaseProperties { page_size, dialect, read_only, shutdown, sweep_interval, .. } =
            *catalog.database;
        Ok(DatabaseFigures {
            page_size,
            dialect,
            created: clock::timestamp_of_us(catalog.database.created_us),
            guid: catalog.database.guid.clone(),
            read_only,
            shutdown,
            sweep_interval,
            next_attachment: self.session().id + 1,
            store: database.store.statistics(),
        })
    }

    /// The names of the stored tables.
    pub fn stored_tables(&self) -> Vec<String> {
        let catalog = self.database().catalog();
        let stored = catalog.relations.values().filter(|relation| relation.is_stored());
        let mut names: Vec<String> = stored.map(|relation| relation.name.clone()).collect();
        names.sort();
        names
    }

    /// Looks at all rows of a table; `None` if it is gone.
    ///
    /// # Errors
    /// Those of reading; `isc_cancelled`.
    pub fn table_figures(&self, name: &str) -> Result<Option<TableFigures>> {
        let database = self.database();
        let catalog = database.catalog();
        let Some(relation) = catalog.relations.get(name).filter(|relation| relation.is_stored()) else {
            return Ok(None);
        };
        let cancel = &self.session().interrupt.cancel;
        let failed = |error| database.status(error);
        let store = &database.store;
        let Some(known) = store.analyze(StoreRelation(relation.id.0), cancel).map_err(failed)? else {
            return Ok(None);
        };
        let mut indexes = Vec::new();
        for index in relation.indexes.iter().filter(|index| !index.inactive) {
            let id = StoreIndex(index.id.0);
            let found = known.index(id);
            indexes.push(IndexFigures {
                name: index.name.clone(),
                entries: found.map_or(0, |found| found.entries),
                distinct: found
                    .and_then(|found| found.distinct.last())
                    .map_or(0, |distinct| *distinct as u64),
                bytes: store.index_bytes(id).map_err(failed)?,
            });
        }
        Ok(Some(TableFigures {
            name: relation.name.clone(),
            id: relation.id.0,
            formats: relation.formats.len(),
            rows: known.rows,
            row_bytes: known.row_bytes,
            blocks: known.blocks,
            bytes: known.bytes,
            indexes,
        }))
    }
}
