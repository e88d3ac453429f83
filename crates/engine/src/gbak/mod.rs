//! gbak's backup files restored: definitions become SQL, which is executed in an order in which it can be, and rows go
//! into the store without statements. What cannot be taken is listed by name; nothing is left out silently.
//!
//! | module | subject |
//! |---|---|
//! | `schema` | the definitions of the backup |
//! | `types`, `statements`, `tables` | definitions as SQL |
//! | `runner` | executing them, again and again as long as some still become possible |
//! | `rows` | rows, straight into packed blocks |
//! | `loader` | the transactions that they are in, committed beside |
//! | `failure` | why a restore ends, and Firebird's status for it |
//! | `finish` | owners, comments, privileges: what no statement says |
//! | `file_database` | a database file as a backup for gbak reads it |
//! | `script` | what such a backup leaves out, as SQL |
//!
//! # Promises
//! - As with our own backups a database has its name only when it is whole ([`crate::backup`]).
//! - Tables come first, then rows, then keys and indexes, then what is code. Foreign keys are looked at again, CHECKs are not.

mod failure;
mod file_database;
mod finish;
mod loader;
mod rows;
mod runner;
mod schema;
mod script;
mod statements;
mod tables;
mod types;

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use farbird_gbak::attribute::{
    database, filter, function, generator, mapping, physical, procedure, publication, relation, trigger,
};
use farbird_gbak::{BackupReader, Record, RecordKind};
use farbird_store::{
    FileKind, SequenceId as StoreSequence, Store, StoreError, StoreOptions, TransactionOptions,
};
use farbird_types::{CharacterSet, Error, Result, isc};

use crate::api::CreateDatabaseOptions;
use crate::backup::{
    BackupName, BackupProgress, BackupStage, CancelFlag, PendingFile, ProgressObserver, RestoreOptions,
    check_absent, check_replaceable,
};
use crate::catalog::Catalog;
use crate::engine::Engine;
use failure::{GbakError, GbakResult, status};
use finish::objects;
use loader::Loader;
use rows::{Loaded, Loading};
use runner::Runner;
use schema::Schema;
use statements::{Definition, Statements};

pub use farbird_gbak::write;
pub use farbird_gbak::{Contents, SPLIT_HEADER_BYTES, Volumes, is_gbak};
pub use file_database::{CopyError, FileDatabase};
pub use script::{Remainder, SCRIPT_HEAD};

/// What a database reports whose backup says nothing of it.
const DEFAULT_PAGE_SIZE: u32 = 8192;

/// Something of the backup that is not in the restored database, or not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What, by kind and name: `filter NOTES`.
    pub object: String,
    /// Why.
    pub reason: String,
}

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
    schema: Schema,
    runner: Runner,
    loader: Loader,
    loaded: Loaded,
    summary: GbakSummary,
    cancel: &'o Arc<CancelFlag>,
    observer: &'o mut ProgressObserver<'p>,
}

impl<'r, 'o, 'p> Restore<'r, 'o, 'p> {
    /// Makes and fills the file.
    fn make(
        mut reader: BackupReader<'r>,
        path: &Path,
        (options, store_options): (&RestoreOptions, &StoreOptions),
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
        let store_options = StoreOptions { background_sweep: false, ..store_options.clone() };
        let runner = Runner::create(path, &create, store_options, cancel)?;
        let summary = GbakSummary {
            format: reader.header().format,
            database: reader.header().database.clone(),
            ..GbakSummary::default()
        };
        let loaded = Loaded::default();
        let loader = Loader::new(&runner.database().store, cancel);
        let mut restore = Restore { reader, schema, loader, runner, loaded, summary, cancel, observer };
        restore.run(record)?;
        restore.finish(read_only)?;
        // A definition that was interrupted may have been taken for one that is refused.
        restore.cancel.check()?;
        // The file is closed when nobody holds its store any more.
        drop(restore.loader);
        restore.runner.close()?;
        Ok(restore.summary)
    }

    fn run(&mut self, first: Record) -> GbakResult<()> {
        let mut record = first;
        // Definitions stand before the rows, except those that are about them.
        while !matches!(record.kind, RecordKind::RelationData | RecordKind::End) {
            self.schema.add(record, None);
            record = self.reader.next_record()?;
        }
        let undone = self.begin()?;
        while record.kind != RecordKind::End {
            match record.kind {
                RecordKind::RelationData => {
                    let name = record.name(relation::NAME).unwrap_or_default();
                    self.relation(&name)?;
                }
                RecordKind::Data | RecordKind::Blob | RecordKind::Array | RecordKind::Burp => {
                    return Err(GbakError::Words("rows that belong to no table".to_owned()));
                }
                _ => self.schema.add(record, None),
            }
            record = self.reader.next_record()?;
        }
        self.loader.finish()?;
        self.keys_and_code(undone)
    }

    fn report(&mut self, stage: BackupStage, object: &str) {
        (self.observer)(&BackupProgress {
            stage,
            object,
            rows: self.loaded.rows,
            rows_total: 0,
            indexes: self.summary.indexes,
            indexes_total: 0,
            bytes: self.reader.offset(),
        });
    }

    fn differ(&mut self, object: impl Into<String>, reason: impl Into<String>) {
        self.summary.differences.push(Difference { object: object.into(), reason: reason.into() });
    }

    /// What tables need, and tables. Gives what has to wait.
    fn begin(&mut self) -> GbakResult<Vec<Definition>> {
        let schema = std::mem::take(&mut self.schema);
        let statements = Statements { schema: &schema };
        let mut definitions = statements.collations();
        let libraries = schema.functions.iter().filter(|it| is_of_library(&it.record));
        definitions.extend(libraries.map(|it| statements.library_function(it)));
        definitions.extend(statements.domains());
        definitions.extend(statements.sequences());
        definitions.extend(statements.exceptions());
        // By the object of their definition.
        let mut tables = HashMap::new();
        for table in schema.relations.iter().filter(|it| !it.is_view()) {
            let columns = statements.columns(table);
            let definition = statements.table(table, &columns);
            tables.insert(definition.object.clone(), (table, columns));
            definitions.push(definition);
        }
        definitions.extend(routines(statements, false));
        definitions.extend(statements.package_headers());
        let failed = self.runner.run_all(definitions)?;
        let mut waiting = Vec::new();
        for (definition, error) in failed {
            match tables.get(&definition.object) {
                Some((table, columns)) => {
                    waiting.extend(self.smaller_table(statements, table, columns, &error)?);
                }
                None => waiting.push(definition),
            }
        }
        self.runner.commit()?;
        self.schema = schema;
        Ok(waiting)
    }

    /// Makes a table of those columns that can be had, after it failed as a whole. Gives those that may be had later.
    fn smaller_table(
        &mut self,
        statements: Statements<'_>,
        table: &schema::RelationRecords,
        columns: &[tables::ColumnSql],
        error: &Error,
    ) -> GbakResult<Vec<Definition>> {
        let (mut taken, mut later) = (Vec::new(), Vec::new());
        for column in columns {
            let probe = statements.table(table, &[taken.as_slice(), std::slice::from_ref(column)].concat());
            if self.runner.is_possible(&probe.sql)? {
                taken.push(column.clone());
            } else {
                later.push(column);
            }
        }
        if taken.is_empty() {
            self.differ(format!("table {}", table.name), error.to_string());
            return Ok(Vec::new());
        }
        self.runner.run(&statements.table(table, &taken).sql)?;
        let name = statements.name(&table.name);
        let mut waiting = Vec::new();
        for column in later {
            let object = format!("column {} of table {}", column.name, table.name);
            if !column.is_computed {
                let reason = self.runner.run(&format!("ALTER TABLE {name} ADD {}", column.sql)).err();
                let reason =
                    reason.map_or_else(|| "it came behind the others".to_owned(), |it| it.to_string());
                self.differ(object, reason);
                continue;
            }
            waiting.push(Definition::new(object.clone(), format!("ALTER TABLE {name} ADD {}", column.sql)));
            let position = column.position;
            let to =
                format!("ALTER TABLE {name} ALTER {} POSITION {position}", statements.name(&column.name));
            waiting.push(Definition::new(format!("{object}: its position"), to));
        }
        Ok(waiting)
    }

    /// Indexes and rows of a table.
    fn relation(&mut self, name: &str) -> GbakResult<()> {
        self.report(BackupStage::Rows, name);
        let mut record = self.reader.next_record()?;
        while record.kind != RecordKind::RelationEnd {
            if record.kind != RecordKind::Data {
                self.schema.add(record, Some(name));
                record = self.reader.next_record()?;
                continue;
            }
            let Some(table) = self.schema.relation(name) else {
                return Err(GbakError::Words(format!("rows of table {name}, which is not there")));
            };
            let catalog = self.runner.database().catalog();
            let made = catalog.relation(name).map(AsRef::as_ref);
            let loading = Loading::of(&self.schema, table, made, &mut self.loader, &mut self.loaded)?;
            let observer = &mut self.observer;
            record = loading.run(&mut self.reader, &mut |rows, bytes| {
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
        }
        self.summary.tables += 1;
        Ok(())
    }

    /// Keys and indexes, then views, bodies, triggers, and whatever had to wait.
    fn keys_and_code(&mut self, waiting: Vec<Definition>) -> GbakResult<()> {
        let schema = std::mem::take(&mut self.schema);
        let statements = Statements { schema: &schema };
        // What waited may be a column that an index needs.
        let mut undone = self.runner.run_all(waiting)?;
        let (mut indexes, mut foreign, mut checks) = (Vec::new(), Vec::new(), Vec::new());
        let mut inactive = Vec::new();
        let mut failed = Vec::new();
        for table in schema.relations.iter().filter(|it| !it.is_view()) {
            let keys = statements.keys(table);
            indexes.extend(keys.indexes);
            inactive.extend(keys.inactive);
            foreign.extend(keys.foreign);
            checks.extend(keys.checks);
            self.build(keys.unique, &mut failed)?;
        }
        // Those of an expression may need a function: tried once more at the end.
        self.build(indexes, &mut undone)?;
        self.build(foreign, &mut failed)?;
        let undone = undone.into_iter().map(|(definition, _)| definition);
        let (heads, mut code): (Vec<_>, Vec<_>) =
            undone.partition(|it| statements.drop_routine(&it.object).is_some());
        code.extend(schema.relations.iter().filter(|it| it.is_view()).map(|it| statements.view(it)));
        code.extend(statements.roles());
        // Those of an expression may need a function.
        code.extend(inactive);
        code.extend(checks);
        code.extend(routines(statements, true));
        code.extend(statements.package_bodies());
        code.extend(statements.triggers());
        self.report(BackupStage::Finishing, "views, routines and triggers");
        failed.extend(self.whole_routines(code, heads)?);
        for (definition, _) in &failed {
            // Its head without its body is of no use, unless others need it: calling it fails then.
            if let Some(drop) = statements.drop_routine(&definition.object) {
                drop_if_possible(&mut self.runner, &drop);
            }
        }
        self.runner.commit()?;
        for (definition, error) in failed {
            self.differ(definition.object, error.to_string());
        }
        self.schema = schema;
        Ok(())
    }

    /// Executes definitions, routines with their bodies among them. Those that need each other's heads, which had to wait
    /// too, get them first: a head never comes behind its body, which it would replace.
    fn whole_routines(
        &mut self,
        definitions: Vec<Definition>,
        mut heads: Vec<Definition>,
    ) -> GbakResult<runner::Failed> {
        let refused = self.runner.run_all(definitions)?;
        heads.retain(|head| refused.iter().any(|(it, _)| it.object == head.object));
        if heads.is_empty() {
            return Ok(refused);
        }
        self.runner.run_all(heads)?;
        Ok(self.runner.run_all(refused.into_iter().map(|(definition, _)| definition).collect())?)
    }

    /// Executes what reads all rows of a table: once, since trying it again is expensive.
    fn build(&mut self, definitions: Vec<Definition>, failed: &mut runner::Failed) -> GbakResult<()> {
        for definition in definitions {
            if self.cancel.is_raised() {
                return Err(StoreError::Cancelled.into());
            }
            self.report(BackupStage::Indexes, &definition.object);
            match self.runner.run(&definition.sql) {
                Ok(()) => self.summary.indexes += 1,
                Err(_) if self.cancel.is_raised() => return Err(StoreError::Cancelled.into()),
                Err(error) => failed.push((definition, error)),
            }
            // Indexes are large: they are not kept in one transaction.
            self.runner.commit()?;
        }
        Ok(())
    }

    /// What no statement says, what is not there, and the figures.
    fn finish(&mut self, read_only: bool) -> GbakResult<()> {
        self.left_out();
        let malformed: std::collections::BTreeMap<String, u64> = self.loaded.malformed.drain().collect();
        for (column, texts) in malformed {
            let reason =
                format!("{texts} of its texts were not in its character set: their wrong bytes became ?");
            self.differ(format!("column {column}"), reason);
        }
        let database = Arc::clone(self.runner.database());
        let catalog = database.catalog();
        self.sequence_values(&catalog, &database.store)?;
        let mut changed = objects(&self.schema, self.summary.format, &catalog)?;
        if read_only {
            let described = changed.iter().find_map(|it| match it {
                crate::catalog::CatalogObject::Database(properties) => Some(Arc::clone(properties)),
                _ => None,
            });
            let mut properties = (*described.unwrap_or_else(|| Arc::clone(&catalog.database))).clone();
            properties.read_only = true;
            changed.push(crate::catalog::CatalogObject::Database(Arc::new(properties)));
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
        self.summary = GbakSummary { rows, blobs, blob_bytes, bytes, ..std::mem::take(&mut self.summary) };
        Ok(())
    }

    /// Sequences go on where they were, those behind identity columns too.
    fn sequence_values(&self, catalog: &Catalog, store: &Store) -> GbakResult<()> {
        let value = |record: &Record| {
            record
                .number(generator::VALUE_INT64)
                .or_else(|| record.number(generator::VALUE))
                .unwrap_or_default()
        };
        for record in self.schema.sequences() {
            let made = record.name(generator::GENERATOR).and_then(|it| catalog.sequences.get(&it));
            if let Some(made) = made {
                store.sequence_set(StoreSequence(made.id.0), value(record))?;
            }
        }
        for table in &self.schema.relations {
            let Some(made) = catalog.relation(&table.name) else { continue };
            for record in &table.fields {
                let column = record.name(farbird_gbak::attribute::field::NAME).unwrap_or_default();
                let identity = made.column(&column).and_then(|it| it.identity.as_ref());
                let sequence = identity.and_then(|it| catalog.sequences.get(&it.sequence));
                if let (Some(sequence), Some(record)) = (sequence, self.schema.identity_generator(record)) {
                    store.sequence_set(StoreSequence(sequence.id.0), value(record))?;
                }
            }
        }
        Ok(())
    }

    /// What there is no statement for.
    fn left_out(&mut self) {
        let mut differences = Vec::new();
        let mut add = |object: String, reason: &str| {
            differences.push(Difference { object, reason: reason.to_owned() });
        };
        let schema = &self.schema;
        for record in schema.all(RecordKind::Filter) {
            let name = record.name(filter::NAME).unwrap_or_default();
            add(format!("filter {name}"), "filters are not supported");
        }
        for record in schema.all(RecordKind::Mapping) {
            if finish::mapping(record).is_none() {
                let name = record.name(mapping::NAME).unwrap_or_default();
                add(format!("mapping {name}"), "its definition is not complete");
            }
        }
        for record in schema.all(RecordKind::Publication) {
            let name = record.name(publication::NAME).unwrap_or_default();
            // Every database has this one.
            if name != "RDB$DEFAULT" {
                add(format!("publication {name}"), "replication is not supported");
            }
        }
        if !schema.all(RecordKind::PublicationTable).is_empty() {
            add("tables of publications".to_owned(), "replication is not supported");
        }
        if !schema.all(RecordKind::Files).is_empty() {
            add("shadows".to_owned(), "shadows are not supported");
        }
        for routine in schema.functions.iter().filter(|it| it.package.is_none() && has_engine(&it.record)) {
            add(format!("function {}", routine.name), "functions of external engines are not supported");
        }
        for routine in &schema.procedures {
            if routine.package.is_none() && routine.record.bytes(procedure::ENGINE_NAME).is_some() {
                add(format!("procedure {}", routine.name), "external procedures are not supported");
            }
        }
        for record in schema.all(RecordKind::Trigger) {
            let name = record.name(trigger::NAME).unwrap_or_default();
            if record.bytes(trigger::ENGINE_NAME).is_some() {
                add(format!("trigger {name}"), "external triggers are not supported");
            }
        }
        self.summary.differences.extend(differences);
    }
}

/// A routine that others need stays.
fn drop_if_possible(runner: &mut Runner, drop: &str) {
    if let Err(error) = runner.run(drop) {
        tracing::debug!(%error, drop, "a routine without its body stays");
    }
}

/// Whether a function is one of an engine of external routines (UDR).
fn has_engine(record: &Record) -> bool {
    record.bytes(function::ENGINE_NAME).is_some()
}

/// Whether a function is one of a library: DECLARE EXTERNAL FUNCTION.
fn is_of_library(record: &Record) -> bool {
    !has_engine(record) && record.name(function::MODULE_NAME).is_some_and(|module| !module.is_empty())
}

/// Procedures and functions, functions first: they are called in more places.
fn routines(statements: Statements<'_>, with_body: bool) -> Vec<Definition> {
    let schema = statements.schema;
    let functions = schema
        .functions
        .iter()
        .filter(|it| it.package.is_none() && !has_engine(&it.record) && !is_of_library(&it.record));
    let procedures = schema
        .procedures
        .iter()
        .filter(|it| it.package.is_none() && it.record.bytes(procedure::ENGINE_NAME).is_none());
    functions
        .map(|it| statements.function(it, with_body))
        .chain(procedures.map(|it| statements.procedure(it, with_body)))
        .collect()
}
