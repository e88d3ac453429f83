//! Preparing statements: parsing, binding, and binding again when definitions or tables have changed since.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Instant;

use farbird_sql::{Dialect, ParseOptions, ast};
use farbird_types::{Error, Result, SqlType, isc};

use crate::api::{
    ColumnDescription, StatementDescription, StatementHandle, StatementKind, TransactionHandle,
};
use crate::attachment::blob_text::BlobTexts;
use crate::attachment::client_cursors::ClientCursors;
use crate::attachment::explain::{self, Explained};
use crate::attachment::statement_slot::{Body, Prepared, bad_handle, bad_transaction, unprepared};
use crate::attachment::table_sizes::TableSizes;
use crate::attachment::{Attachment, transaction_statement};
use crate::bind::{self, Environment};
use crate::budget::{Charge, prepared_bytes};
use crate::catalog::privileges::Actor;
use crate::catalog::{Catalog, Footprint};
use crate::psql::{self, authority};
use crate::session::StatementActivity;
use crate::session::trace::{self, Event};

/// What binding a statement gives.
struct Compiled {
    body: Body,
    description: StatementDescription,
    /// As [`Prepared::cursors`].
    cursors: Vec<(String, String)>,
}

impl Attachment {
    /// Parses and binds a statement. What was prepared under the handle before is forgotten.
    ///
    /// Statements that start transactions and those of the session need none.
    ///
    /// # Errors
    /// Syntax, unknown names, types that do not go together, privileges that are missing.
    pub fn prepare(
        &mut self,
        handle: StatementHandle,
        transaction: Option<TransactionHandle>,
        sql: &str,
        dialect: u8,
    ) -> Result<Arc<StatementDescription>> {
        let begun = self.session.tracer.wants(Event::Prepare).then(Instant::now);
        let prepared = self.prepare_text(handle, transaction, sql, dialect, false);
        self.session.tally.take_pages();
        if let Some(begun) = begun {
            self.tell_prepared(handle, transaction, sql, begun.elapsed(), trace::Outcome::of(&prepared));
        }
        prepared
    }

    /// As [`Attachment::prepare`], for a definition of a database that is being restored: it may have types that its dialect does
    /// not, since the database may have been of another one before.
    ///
    /// # Errors
    /// As [`Attachment::prepare`].
    pub(crate) fn prepare_restored(
        &mut self,
        handle: StatementHandle,
        transaction: TransactionHandle,
        sql: &str,
        dialect: u8,
    ) -> Result<Arc<StatementDescription>> {
        self.prepare_text(handle, Some(transaction), sql, dialect, true)
    }

    fn prepare_text(
        &mut self,
        handle: StatementHandle,
        transaction: Option<TransactionHandle>,
        sql: &str,
        dialect: u8,
        any_type: bool,
    ) -> Result<Arc<StatementDescription>> {
        self.check_open()?;
        self.unprepare(handle)?;
        self.statements.get_mut(&handle).ok_or_else(bad_handle)?.is_written = true;
        let memory = self.session.budget.charge(prepared_bytes(sql))?;
        let options = ParseOptions {
            dialect: Dialect::numbered(dialect),
            database: Dialect::numbered(self.database().catalog().database.dialect),
            any_type,
        };
        let mut tree = Arc::new(farbird_sql::parse_statement(sql, &options)?);
        if self.restoring.is_some() {
            self.make_inserted_table(transaction, &tree.kind)?;
            if self.sets_number_of_names(sql, &tree.kind) {
                tree = Arc::new(farbird_sql::parse_statement("EXECUTE BLOCK AS BEGIN END", &options)?);
            }
        }
        self.prepare_parsed(handle, transaction, tree, sql.into(), dialect, memory)
    }

    /// As [`Attachment::prepare`], with a tree that nobody has written: its text is for those who look at what runs.
    ///
    /// # Errors
    /// As [`Attachment::prepare`].
    pub(super) fn prepare_tree(
        &mut self,
        handle: StatementHandle,
        transaction: TransactionHandle,
        tree: Arc<ast::Statement>,
        sql: Arc<str>,
    ) -> Result<Arc<StatementDescription>> {
        self.check_open()?;
        self.unprepare(handle)?;
        let memory = self.session.budget.charge(prepared_bytes(&sql))?;
        self.prepare_parsed(handle, Some(transaction), tree, sql, 3, memory)
    }

    fn prepare_parsed(
        &mut self,
        handle: StatementHandle,
        transaction: Option<TransactionHandle>,
        tree: Arc<ast::Statement>,
        sql: Arc<str>,
        dialect: u8,
        memory: Charge,
    ) -> Result<Arc<StatementDescription>> {
        let prepared = self.bind(tree, Arc::clone(&sql), dialect, transaction);
        let prepared = prepared.map_err(|error| self.database().status(error))?;
        let description = Arc::clone(&prepared.description);
        let slot = self.statements.get_mut(&handle).ok_or_else(bad_handle)?;
        let plan = description.explained_plan.clone();
        let activity = StatementActivity::new(sql.as_ref().to_owned(), plan, Arc::clone(&slot.budget));
        let activity = Arc::new(activity);
        self.session.activity.lock().statements.insert(slot.id, Arc::clone(&activity));
        slot.activity = Some(activity);
        slot.prepared = Some(prepared);
        slot.prepared_memory = Some(memory);
        Ok(description)
    }

    fn bind(
        &self,
        tree: Arc<ast::Statement>,
        sql: Arc<str>,
        dialect: u8,
        transaction: Option<TransactionHandle>,
    ) -> Result<Prepared> {
        let catalog = match transaction {
            Some(transaction) => {
                let transaction = self.transaction(transaction)?;
                let mut own = transaction.catalog.lock();
                own.refresh(&self.database().catalog());
                Arc::clone(&own.current)
            }
            None => self.database().catalog(),
        };
        let mut environment = Environment {
            catalog: Arc::clone(&catalog),
            character_set: self.session.options.character_set,
            dialect,
            first_rows: self.session.settings.lock().hurries_to_first_rows(),
            package: None,
        };
        let has_transaction = transaction.is_some();
        let mut compiled = self.compile(&environment, &tree, has_transaction)?;
        let mut sizes = TableSizes::default();
        if let (Body::Plan(_) | Body::Explained(_), Some(transaction)) = (&compiled.body, transaction) {
            let rows = &self.transaction(transaction)?.store;
            sizes = TableSizes::of(&catalog, compiled.body.accesses(), rows);
            let seen = sizes.seen_otherwise(&catalog.statistics, rows);
            if !seen.is_empty() {
                let mut as_seen = Catalog::clone(&catalog);
                as_seen.statistics = catalog.statistics.with(&seen);
                environment.catalog = Arc::new(as_seen);
                compiled = self.compile(&environment, &tree, has_transaction)?;
            }
        }
        let Compiled { body, description, cursors } = compiled;
        let accesses = body.accesses();
        authority::verify(&catalog, &Actor::of(&self.session), None, accesses)?;
        let is_blob = |parameter: &ColumnDescription| {
            matches!(parameter.column_type.sql_type, SqlType::Blob { .. } | SqlType::Array)
        };
        let takes_blobs = description.parameters.iter().any(is_blob);
        let gives_blobs = description.columns.iter().any(is_blob);
        let accesses = if gives_blobs { accesses.into() } else { Arc::from([]) };
        let blob_texts = BlobTexts::of(&description.columns, self.session.options.character_set);
        Ok(Prepared {
            tree,
            sql,
            dialect,
            catalog,
            footprint: OnceCell::new(),
            sizes,
            body,
            cursors,
            description: Arc::new(description),
            takes_blobs,
            gives_blobs,
            blob_texts,
            accesses,
        })
    }

    /// Binds a statement in an environment.
    fn compile(
        &self,
        environment: &Environment,
        tree: &ast::Statement,
        has_transaction: bool,
    ) -> Result<Compiled> {
        let mut cursors = Vec::new();
        let (body, description) = match &tree.kind {
            ast::StatementKind::Transaction(statement) => {
                (Body::Transaction, plain_description(transaction_statement::kind(statement)))
            }
            ast::StatementKind::Session(_) => (Body::Session, plain_description(StatementKind::Ddl)),
            _ if !has_transaction => return Err(Error::new(isc::BAD_TRANS_HANDLE)),
            ast::StatementKind::Ddl(statement) => (Body::Ddl, plain_description(ddl_kind(statement))),
            ast::StatementKind::ExecuteBlock(_) | ast::StatementKind::ExecuteProcedure(_) => {
                let compiled = psql::compile_statement(environment, tree)?;
                let description = compiled.description.clone();
                (Body::Routine(compiled), description)
            }
            ast::StatementKind::Explain(explain) => {
                let (statement, mut description) = match &explain.statement.kind {
                    ast::StatementKind::ExecuteBlock(_) | ast::StatementKind::ExecuteProcedure(_) => {
                        let compiled = psql::compile_statement(environment, &explain.statement)?;
                        let description = compiled.description.clone();
                        (explain::Statement::Routine(compiled), description)
                    }
                    _ => {
                        let (bound, description) =
                            self.bind_plan(environment, &explain.statement, &mut cursors)?;
                        (explain::Statement::Plan(bound), description)
                    }
                };
                description.kind = StatementKind::Select;
                description.columns = explain::columns(explain.analyze);
                description.has_cursor = true;
                (Body::Explained(Explained { statement, analyze: explain.analyze }), description)
            }
            _ => {
                let (bound, description) = self.bind_plan(environment, tree, &mut cursors)?;
                (Body::Plan(bound), description)
            }
        };
        Ok(Compiled { body, description, cursors })
    }

    /// Binds a statement that has a plan of its own, and tells which cursors it refers to.
    fn bind_plan(
        &self,
        environment: &Environment,
        tree: &ast::Statement,
        cursors: &mut Vec<(String, String)>,
    ) -> Result<(bind::Prepared, StatementDescription)> {
        let scope = {
            let names = self.statements.values().filter_map(|slot| slot.cursor_name.as_deref());
            ClientCursors::new(names.collect(), tree.parameter_count)
        };
        let bound = bind::bind_statement(environment, tree, &scope)?;
        *cursors = scope.used.into_inner();
        let description = StatementDescription {
            kind: bound.kind,
            parameters: bound.parameters.clone(),
            columns: bound.columns.clone(),
            has_cursor: bound.has_cursor,
            plan: bound.plan.clone(),
            explained_plan: bound.explained_plan.clone(),
        };
        Ok((bound, description))
    }

    /// Binds again if the catalog has changed since, or the tables are of another size.
    ///
    /// # Errors
    /// Those of binding; and `isc_dsql_sqlda_err` if the statement's columns or parameters are not what its client
    /// was told.
    pub(super) fn bind_again_if_stale(
        &mut self,
        handle: StatementHandle,
        transaction: TransactionHandle,
    ) -> Result<()> {
        let committed = self.database().catalog_version();
        let database = self.database.as_deref();
        let own = self.transactions.get_mut(&transaction).ok_or_else(bad_transaction)?;
        let farbird_catalog::transaction::Transaction { catalog: own, store: rows, .. } =
            &mut *own.transaction;
        let own = own.get_mut();
        if let Some(database) = database.filter(|_| own.current.base_version != committed) {
            own.refresh(&database.catalog());
        }
        let slot = self.statements.get_mut(&handle).ok_or_else(bad_handle)?;
        let prepared = slot.prepared.as_mut().ok_or_else(unprepared)?;
        let is_resized = prepared.sizes.have_changed(rows);
        if !is_resized && prepared.catalog.version == own.current.version {
            return Ok(());
        }
        let footprint = prepared.footprint.get_or_init(|| Footprint::of(&prepared.catalog, &prepared.sql));
        if !is_resized && footprint.is_same_in(&prepared.catalog, &own.current) {
            prepared.catalog = Arc::clone(&own.current);
            return Ok(());
        }
        let (tree, sql, dialect) = (Arc::clone(&prepared.tree), Arc::clone(&prepared.sql), prepared.dialect);
        let told = Arc::clone(&prepared.description);
        let again = self.bind(tree, sql, dialect, Some(transaction))?;
        let changed = types_of(&again.description.columns) != types_of(&told.columns)
            || types_of(&again.description.parameters) != types_of(&told.parameters);
        if changed {
            return Err(Error::new(isc::DSQL_ERROR).and(isc::SQLERR).with(-804).and(isc::DSQL_SQLDA_ERR));
        }
        self.statements.get_mut(&handle).ok_or_else(bad_handle)?.prepared = Some(again);
        Ok(())
    }
}

fn ddl_kind(statement: &ast::DdlStatement) -> StatementKind {
    match statement {
        ast::DdlStatement::DefineSequence(sequence) if sequence.set_generator => StatementKind::SetGenerator,
        _ => StatementKind::Ddl,
    }
}

fn types_of(columns: &[ColumnDescription]) -> Vec<SqlType> {
    columns.iter().map(|column| column.column_type.sql_type).collect()
}

fn plain_description(kind: StatementKind) -> StatementDescription {
    StatementDescription {
        kind,
        parameters: Vec::new(),
        columns: Vec::new(),
        has_cursor: false,
        plan: String::new(),
        explained_plan: String::new(),
    }
}
