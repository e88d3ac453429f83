//! Makes what a schema defines, in an order in which it can be made.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use farbird_gbak::attribute::{filter, function, generator, mapping, procedure, publication, trigger};
use farbird_gbak::{Record, RecordKind};
use farbird_store::{SequenceId as StoreSequence, Store, StoreError};
use farbird_types::Error;

use super::failure::GbakResult;
use super::runner::{Failed, Runner};
use super::schema::{RelationRecords, Schema};
use super::statements::{Definition, Statements};
use super::{finish, tables};
use crate::backup::{BackupStage, CancelFlag, Difference};
use crate::catalog::{Catalog, CatalogObject};

/// Who is told what is done, with what, and how many indexes there are by now.
pub(super) type Report<'a> = dyn FnMut(BackupStage, &str, u64) + 'a;

/// Keys and indexes are committed when there are so many, or when so many rows were read for them.
const DEFINITIONS_PER_COMMIT: usize = 256;
const BUILT_ROWS_PER_COMMIT: u64 = 200_000;

/// What was done about keys and indexes since the last commit.
#[derive(Debug, Default)]
struct Built {
    definitions: usize,
    /// Rows that were read for them.
    rows: u64,
}

/// What is being made of a schema.
pub(super) struct Maker {
    pub(super) schema: Schema,
    pub(super) runner: Runner,
    pub(super) cancel: Arc<CancelFlag>,
    /// Whether indexes stay inactive, but for those of keys.
    pub(super) inactive_indexes: bool,
    /// Whether sequences begin anew: their values belong to rows that are not restored.
    pub(super) resets_sequences: bool,
    /// Indexes that were built.
    pub(super) indexes: u64,
    /// How many rows each table has that has some; `None`: nobody has counted them.
    pub(super) rows_of: Option<HashMap<String, u64>>,
    built: Built,
    pub(super) differences: Vec<Difference>,
    /// Why what was refused was.
    pub(super) refused: BTreeMap<String, Error>,
    /// What was made before the schema was whole: all but tables.
    made: BTreeSet<String>,
    /// The tables that were, with those of their columns.
    tables: BTreeMap<String, Vec<String>>,
}

impl Maker {
    pub(super) fn new(schema: Schema, runner: Runner, cancel: &Arc<CancelFlag>) -> Maker {
        Maker {
            schema,
            runner,
            cancel: Arc::clone(cancel),
            inactive_indexes: false,
            resets_sequences: false,
            indexes: 0,
            rows_of: None,
            built: Built::default(),
            differences: Vec::new(),
            refused: BTreeMap::new(),
            made: BTreeSet::new(),
            tables: BTreeMap::new(),
        }
    }

    pub(super) fn differ(&mut self, object: impl Into<String>, reason: impl Into<String>) {
        self.differences.push(Difference { object: object.into(), reason: reason.into() });
    }

    /// Makes a table that rows come for, with the columns that they have, before the schema is whole: columns that are computed
    /// come later, as do CHECKs of domains.
    ///
    /// # Errors
    /// Those of its definition.
    pub(super) fn make_table(&mut self, name: &str, columns: &[String]) -> GbakResult<()> {
        let schema = std::mem::take(&mut self.schema);
        let outcome = self.make_table_of(&schema, name, columns);
        self.schema = schema;
        outcome
    }

    fn make_table_of(&mut self, schema: &Schema, name: &str, columns: &[String]) -> GbakResult<()> {
        let Some(table) = schema.relation(name).filter(|it| !it.is_view()) else { return Ok(()) };
        let statements = Statements { schema };
        if self.made.is_empty() {
            let mut definitions = statements.collations();
            definitions.extend(statements.domains());
            definitions.extend(statements.sequences());
            let objects: Vec<String> = definitions.iter().map(|it| it.object.clone()).collect();
            let failed = self.runner.run_all(definitions)?;
            let is_made = |object: &String| failed.iter().all(|(it, _)| it.object != *object);
            self.made.extend(objects.into_iter().filter(is_made));
        }
        let own: Vec<_> =
            statements.columns(table).into_iter().filter(|it| columns.contains(&it.name)).collect();
        self.runner.run(&statements.table(table, &own).sql)?;
        self.runner.commit()?;
        self.tables.insert(name.to_owned(), own.into_iter().map(|it| it.name).collect());
        Ok(())
    }

    /// What there is no statement for: owners, comments, privileges, as objects that are to take the place of those in the catalog.
    /// Sequences have their values then, and what there is not is noted.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) fn last_objects(&mut self, format: i64) -> GbakResult<Vec<CatalogObject>> {
        self.left_out();
        let database = Arc::clone(self.runner.database());
        let catalog = database.catalog();
        self.sequence_values(&catalog, &database.store)?;
        Ok(finish::objects(&self.schema, format, &catalog)?)
    }

    /// What tables need, and tables. Gives what has to wait.
    pub(super) fn begin(&mut self) -> GbakResult<Vec<Definition>> {
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
        let mut waiting = Vec::new();
        for table in schema.relations.iter().filter(|it| !it.is_view()) {
            let columns = statements.columns(table);
            if let Some(made) = self.tables.get(&table.name) {
                let later = columns.iter().filter(|it| !made.contains(&it.name));
                waiting.extend(later.flat_map(|column| added(statements, &table.name, column)));
                continue;
            }
            let definition = statements.table(table, &columns);
            tables.insert(definition.object.clone(), (table, columns));
            definitions.push(definition);
        }
        definitions.extend(routines(statements, false));
        definitions.extend(statements.package_headers());
        definitions.retain(|it| !self.made.contains(&it.object));
        waiting.extend(statements.domain_checks(&self.made));
        let failed = self.runner.run_all(definitions)?;
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
        table: &RelationRecords,
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
            waiting.extend(added(statements, &table.name, column));
        }
        Ok(waiting)
    }

    /// Keys and indexes, then views, bodies, triggers, and whatever had to wait.
    pub(super) fn keys_and_code(
        &mut self,
        waiting: Vec<Definition>,
        report: &mut Report<'_>,
    ) -> GbakResult<()> {
        let schema = std::mem::take(&mut self.schema);
        let statements = Statements { schema: &schema };
        // What waited may be a column that an index needs.
        let mut undone = self.runner.run_all(waiting)?;
        let (mut indexes, mut foreign, mut checks) = (Vec::new(), Vec::new(), Vec::new());
        let mut inactive = Vec::new();
        let mut failed = Vec::new();
        for table in schema.relations.iter().filter(|it| !it.is_view()) {
            let keys = statements.keys(table, self.inactive_indexes);
            let rows = self.rows_of.as_ref().map_or(BUILT_ROWS_PER_COMMIT, |counted| {
                counted.get(&table.name).copied().unwrap_or_default()
            });
            let of_rows = |definitions: Vec<Definition>| definitions.into_iter().map(move |it| (rows, it));
            indexes.extend(of_rows(keys.indexes));
            inactive.extend(keys.inactive);
            foreign.extend(of_rows(keys.foreign));
            checks.extend(keys.checks);
            self.build(of_rows(keys.unique), &mut failed, report)?;
        }
        // Those of an expression may need a function: tried once more at the end.
        self.build(indexes, &mut undone, report)?;
        self.build(foreign, &mut failed, report)?;
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
        report(BackupStage::Finishing, "views, routines and triggers", self.indexes);
        failed.extend(self.whole_routines(code, heads)?);
        for (definition, _) in &failed {
            // Its head without its body is of no use, unless others need it: calling it fails then.
            if let Some(drop) = statements.drop_routine(&definition.object) {
                drop_if_possible(&mut self.runner, &drop);
            }
        }
        self.runner.commit()?;
        for (definition, error) in failed {
            self.differ(definition.object.clone(), error.to_string());
            self.refused.insert(definition.object, error);
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
    ) -> GbakResult<Failed> {
        let refused = self.runner.run_all(definitions)?;
        heads.retain(|head| refused.iter().any(|(it, _)| it.object == head.object));
        if heads.is_empty() {
            return Ok(refused);
        }
        self.runner.run_all(heads)?;
        Ok(self.runner.run_all(refused.into_iter().map(|(definition, _)| definition).collect())?)
    }

    /// Executes what reads all of so many rows of a table: once, since trying it again is expensive.
    fn build(
        &mut self,
        definitions: impl IntoIterator<Item = (u64, Definition)>,
        failed: &mut Failed,
        report: &mut Report<'_>,
    ) -> GbakResult<()> {
        for (rows, definition) in definitions {
            if self.cancel.is_raised() {
                return Err(StoreError::Cancelled.into());
            }
            report(BackupStage::Indexes, &definition.object, self.indexes);
            match self.runner.run(&definition.sql) {
                Ok(()) => self.indexes += 1,
                Err(_) if self.cancel.is_raised() => return Err(StoreError::Cancelled.into()),
                Err(error) => failed.push((definition, error)),
            }
            // Large indexes are not kept in one transaction; of small ones a commit for each would take most of the time.
            self.built.definitions += 1;
            self.built.rows = self.built.rows.saturating_add(rows);
            if self.built.definitions >= DEFINITIONS_PER_COMMIT || self.built.rows >= BUILT_ROWS_PER_COMMIT {
                self.runner.commit()?;
                self.built = Built::default();
            }
        }
        Ok(())
    }

    /// Sequences go on where they were, those behind identity columns too.
    fn sequence_values(&self, catalog: &Catalog, store: &Store) -> GbakResult<()> {
        let value = |record: &Record| match self.resets_sequences {
            true => 0,
            false => record
                .number(generator::VALUE_INT64)
                .or_else(|| record.number(generator::VALUE))
                .unwrap_or_default(),
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
        self.differences.extend(differences);
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

/// Adds a column to a table that is there, and puts it in its place.
fn added(statements: Statements<'_>, table: &str, column: &tables::ColumnSql) -> [Definition; 2] {
    let object = format!("column {} of table {table}", column.name);
    let (table, name) = (statements.name(table), statements.name(&column.name));
    let position = column.position;
    [
        Definition::new(object.clone(), format!("ALTER TABLE {table} ADD {}", column.sql)),
        Definition::new(
            format!("{object}: its position"),
            format!("ALTER TABLE {table} ALTER {name} POSITION {position}"),
        ),
    ]
}
