//! gbak's backup files restored: definitions become SQL, which is executed in an order in which it can be, and rows go
//! into the store without statements. What cannot be taken is listed by name; nothing is left out silently.
//!
//! | module | subject |
//! |---|---|
//! | `schema` | the definitions of the backup |
//! | `types`, `statements`, `tables` | definitions as SQL |
//! | `maker` | what is made when |
//! | `runner` | executing them, again and again as long as some still become possible |
//! | `columns` | what rows are made of, and how they become rows of the store |
//! | `rows` | rows read |
//! | `live` | what gbak restores into a server by requests |
//! | `batch` | what of them goes from one thread to the next |
//! | `filler` | the transactions that they are in |
//! | `loader`, `stage` | the threads: reading, filling, committing |
//! | `failure` | why a restore ends, and Firebird's status for it |
//! | `finish` | owners, comments, privileges: what no statement says |
//! | `file_database` | a database file as a backup for gbak reads it |
//! | `script` | what such a backup leaves out, as SQL |
//!
//! # Promises
//! - As with our own backups a database has its name only when it is whole ([`crate::backup`]).
//! - Tables come first, then rows, then keys and indexes, then what is code. Foreign keys are looked at again, CHECKs are not.

mod batch;
mod columns;
mod failure;
mod file_database;
mod filler;
mod finish;
mod live;
mod loader;
mod maker;
mod rows;
mod runner;
mod schema;
mod script;
mod stage;
mod statements;
mod tables;
mod types;

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use farbird_gbak::attribute::{database, physical, relation};
use farbird_gbak::{BackupReader, Record, RecordKind};
use farbird_store::{FileKind, StoreOptions, TransactionOptions};
use farbird_types::{CharacterSet, Error, Result, isc};

use crate::api::CreateDatabaseOptions;
pub use crate::backup::Difference;
use crate::backup::without_validity;
use crate::backup::{
    BackupName, BackupProgress, BackupStage, BackupSummary, CancelFlag, PendingFile, ProgressObserver,
    RestoreOptions, check_absent, check_replaceable,
};
use crate::engine::Engine;
use failure::{GbakError, GbakResult, status};
use loader::Loader;
use maker::Maker;
use rows::{Loaded, Loading};
use runner::Runner;
use schema::Schema;

pub use farbird_gbak::write;
pub use farbird_gbak::{Contents, Volumes, is_gbak};
pub use file_database::{CopyError, FileDatabase};
pub use script::{Remainder, SCRIPT_HEAD};

/// What a database reports whose backup says nothing of it.
const DEFAULT_PAGE_SIZE: u32 = 8192;
/// More than a transaction of restored rows comes to, but for a single row with large BLOBs: they are written once, by the commit.
const BLOB_BYTES_MAX: usize = 16 << 20;

/// What a restore has made of a backup.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GbakSummary {
    /// gbak's backup format: 10 is Firebird 3's, 11 that of Firebird 4 and 5.
    pub format: i64,
    /// The database that was backed up.
    pub database: String,
    /// Tables with their rows.
    pub tables: u64,
    /// Their rows.
    pub rows: u64,
    /// BLOBs, and their bytes.
    pub blobs: u64,
    /// Bytes of all BLOBs.
    pub blob_bytes: u64,
    /// Indexes that were built, those of keys included.
    pub indexes: u64,
    /// Bytes of the backup, unpacked.
    pub bytes: u64,
    /// What is not there, or not as it was, in the order in which it was met.
    pub differences: Vec<Difference>,
}

impl From<&GbakSummary> for BackupSummary {
    fn from(summary: &GbakSummary) -> BackupSummary {
        BackupSummary {
            relations: summary.tables,
            rows: summary.rows,
            blobs: summary.blobs,
            blob_bytes: summary.blob_bytes,
            indexes: summary.indexes,
            bytes: summary.bytes,
            ..BackupSummary::default()
        }
    }
}

impl Engine {
    /// Makes a database of a backup of gbak's.
    ///
    /// # Durability
    /// As [`Engine::restore`].
    ///
    /// # Errors
    /// As [`Engine::restore`]; for what is wrong with the backup gbak's own codes, with its place. Definitions that cannot be
    /// taken are no errors: [`GbakSummary::differences`] names them.
    pub fn restore_gbak<'r>(
        &self,
        input: impl Read + 'r,
        name: BackupName<'_>,
        target: &Path,
        options: &RestoreOptions,
        cancel: &Arc<CancelFlag>,
        observer: &mut ProgressObserver<'_>,
    ) -> Result<GbakSummary> {
        let check_target = || match options.replace {
            true => check_replaceable(target, FileKind::Farbird),
            false => check_absent(target),
        };
        self.while_closed(target, check_target)?;
        let reader =
            BackupReader::open(Box::new(input)).map_err(|error| status(error.into(), target, name))?;
        let mut pending = PendingFile::reserve(target, options.replace)?;
        let filled = Restore::make(reader, pending.path(), (options, self.store_options()), cancel, observer);
        let summary = filled.map_err(|error| match cancel.is_raised() {
            // Whatever it was that did not come to its end.
            true => Error::new(isc::CANCELLED),
            false => status(error, target, name),
        })?;
        self.shrink_new(pending.path(), cancel)?;
        self.while_closed(target, || {
            check_target()?;
            pending.publish()
        })?;
        Ok(summary)
    }
}

/// Reads a whole backup of gbak's and checks what can be checked without restoring it.
///
/// # Errors
/// As [`Engine::restore_gbak`], as far as they concern the backup.
pub fn verify_gbak<'r>(input: impl Read + 'r, name: BackupName<'_>) -> Result<Contents> {
    let read = BackupReader::open(Box::new(input)).and_then(|mut reader| farbird_gbak::verify(&mut reader));
    read.map_err(|fault| status(fault.into(), Path::new(""), name))
}

struct Restore<'r, 'o, 'p> {
    reader: BackupReader<'r>,
    maker: Maker,
    loader: Loader,
    loaded: Loaded,
    summary: GbakSummary,
    options: &'o RestoreOptions,
    cancel: &'o Arc<CancelFlag>,
    observer: &'o mut ProgressObserver<'p>,
}

impl<'r, 'o, 'p> Restore<'r, 'o, 'p> {
    /// Makes and fills the file.
    fn make(
        mut reader: BackupReader<'r>,
        path: &Path,
        (options, store_options): (&'o RestoreOptions, &StoreOptions),
        cancel: &'o Arc<CancelFlag>,
        observer: &'o mut ProgressObserver<'p>,
    ) -> GbakResult<GbakSummary> {
        let mut schema = Schema::default();
        let mut create = CreateDatabaseOptions {
            default_character_set: CharacterSet::NONE,
            page_size: DEFAULT_PAGE_SIZE,
            overwrite: false,
            dialect: 3,
        };
        let mut read_only = options.read_only;
        // The first records are about the whole database.
        let record = loop {
            let record = reader.next_record()?;
            match record.kind {
                RecordKind::PhysicalDatabase => {
                    create.dialect = if record.number(physical::SQL_DIALECT) == Some(1) { 1 } else { 3 };
                    let page_size = record.number(physical::PAGE_SIZE).and_then(|it| u32::try_from(it).ok());
                    create.page_size = crate::api::reported_page_size(
                        options.page_size.or(page_size).unwrap_or(create.page_size),
                    );
                    read_only |= record.number(physical::DB_READ_ONLY).is_some_and(|it| it != 0);
                }
                RecordKind::Database => {
                    let set = record.name(database::DFL_CHARSET).and_then(|it| CharacterSet::by_name(&it));
                    create.default_character_set = set.unwrap_or(CharacterSet::NONE);
                    schema.add(record, None);
                }
                _ => break record,
            }
        };
        schema.dialect = create.dialect;
        let store_options = StoreOptions {
            background_sweep: false,
            blob_bytes_max: BLOB_BYTES_MAX.max(store_options.blob_bytes_max),
            ..store_options.clone()
        };
        let runner = Runner::create(path, &create, store_options, cancel)?;
        let summary = GbakSummary {
            format: reader.header().format,
            database: reader.header().database.clone(),
            ..GbakSummary::default()
        };
        let loaded = Loaded::default();
        let loader = Loader::new(&runner.database().store, cancel);
        let mut maker = Maker::new(schema, runner, cancel);
        maker.inactive_indexes = options.inactive_indexes;
        maker.resets_sequences = options.tables.is_none();
        let mut restore = Restore { reader, maker, loader, loaded, summary, options, cancel, observer };
        restore.run(record)?;
        restore.finish(read_only)?;
        // A definition that was interrupted may have been taken for one that is refused.
        restore.cancel.check()?;
        // The file is closed when nobody holds its store any more.
        drop(restore.loader);
        restore.maker.runner.close()?;
        Ok(restore.summary)
    }

    fn run(&mut self, first: Record) -> GbakResult<()> {
        let mut record = first;
        // Definitions stand before the rows, except those that are about them.
        while !matches!(record.kind, RecordKind::RelationData | RecordKind::End) {
            self.maker.schema.add(record, None);
            record = self.reader.next_record()?;
        }
        let undone = self.maker.begin()?;
        while record.kind != RecordKind::End {
            match record.kind {
                RecordKind::RelationData => {
                    let name = record.name(relation::NAME).unwrap_or_default();
                    self.relation(&name)?;
                }
                RecordKind::Data | RecordKind::Blob | RecordKind::Array | RecordKind::Burp => {
                    return Err(GbakError::Words("rows that belong to no table".to_owned()));
                }
                _ => self.maker.schema.add(record, None),
            }
            record = self.reader.next_record()?;
        }
        self.loaded.malformed = self.loader.finish()?;
        self.maker.rows_of = Some(std::mem::take(&mut self.loaded.rows_of));
        let (rows, bytes) = (self.loaded.rows, self.reader.offset());
        let observer = &mut self.observer;
        self.maker.keys_and_code(undone, &mut |stage, object, indexes| {
            observer(&BackupProgress {
                stage,
                object,
                rows,
                rows_total: 0,
                indexes,
                indexes_total: 0,
                bytes,
            });
        })
    }

    fn report(&mut self, stage: BackupStage, object: &str) {
        (self.observer)(&BackupProgress {
            stage,
            object,
            rows: self.loaded.rows,
            rows_total: 0,
            indexes: 0,
            indexes_total: 0,
            bytes: self.reader.offset(),
        });
    }

    /// Indexes and rows of a table.
    fn relation(&mut self, name: &str) -> GbakResult<()> {
        self.report(BackupStage::Rows, name);
        let is_chosen = self.options.tables.has(name, self.cancel)?;
        let mut record = self.reader.next_record()?;
        while record.kind != RecordKind::RelationEnd {
            if record.kind != RecordKind::Data {
                self.maker.schema.add(record, Some(name));
                record = self.reader.next_record()?;
                continue;
            }
            let Some(table) = self.maker.schema.relation(name) else {
                return Err(GbakError::Words(format!("rows of table {name}, which is not there")));
            };
            let catalog = self.maker.runner.database().catalog();
            let made = catalog.relation(name).map(AsRef::as_ref).filter(|_| is_chosen);
            let transportable = self.reader.header().transportable;
            let into = (&mut self.loader, &mut self.loaded);
            let loading = Loading::of(&self.maker.schema, table, made, transportable, into)?;
            let observer = &mut self.observer;
            let (next, rows) = loading.run(&mut self.reader, &mut |rows, bytes| {
                observer(&BackupProgress {
                    stage: BackupStage::Rows,
                    object: name,
                    rows,
                    rows_total: 0,
                    indexes: 0,
                    indexes_total: 0,
                    bytes,
                });
            })?;
            if is_chosen {
                *self.loaded.rows_of.entry(name.to_owned()).or_default() += rows;
            }
            record = next;
        }
        self.summary.tables += u64::from(is_chosen);
        Ok(())
    }

    /// What no statement says, what is not there, and the figures.
    fn finish(&mut self, read_only: bool) -> GbakResult<()> {
        let mut changed = self.maker.last_objects(self.summary.format)?;
        let malformed: std::collections::BTreeMap<String, u64> = self.loaded.malformed.drain().collect();
        for (column, texts) in malformed {
            let reason =
                format!("{texts} of its texts were not in its character set: their wrong bytes became ?");
            self.maker.differ(format!("column {column}"), reason);
        }
        let database = Arc::clone(self.maker.runner.database());
        let catalog = database.catalog();
        if read_only {
            let described = changed.iter().find_map(|it| match it {
                crate::catalog::CatalogObject::Database(properties) => Some(Arc::clone(properties)),
                _ => None,
            });
            let mut properties = (*described.unwrap_or_else(|| Arc::clone(&catalog.database))).clone();
            properties.read_only = true;
            changed.push(crate::catalog::CatalogObject::Database(Arc::new(properties)));
        }
        if self.options.no_validity {
            let mut last = crate::catalog::Catalog::clone(&catalog);
            changed.iter().for_each(|object| last.insert(object.clone()));
            changed.extend(without_validity(&last));
        }
        // Nobody sees the open catalog any more: whoever opens the file reads this one.
        let transaction = database.store.begin(TransactionOptions::default(), Arc::clone(self.cancel))?;
        for object in changed {
            let (kind, name) = object.identity();
            transaction.catalog_put(&kind.key(&name), &object.encode()?)?;
        }
        transaction.commit()?;
        let Loaded { rows, blobs, blob_bytes, .. } = self.loaded;
        let bytes = self.reader.offset();
        let indexes = self.maker.indexes;
        let differences = std::mem::take(&mut self.maker.differences);
        let summary = std::mem::take(&mut self.summary);
        self.summary = GbakSummary { rows, blobs, blob_bytes, indexes, bytes, differences, ..summary };
        Ok(())
    }
}
