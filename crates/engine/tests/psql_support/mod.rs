//! A database in a temporary folder and one attachment to it, for tests of PSQL and the built-in functions.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::sync::Arc;

use farbird_engine::SegmentRead;
use farbird_engine::api::{
    AttachOptions, BlobParameters, ClientDescription, CreateDatabaseOptions, ExecuteOptions, Execution,
    FetchEnd, Rows, StatementHandle, TransactionHandle, TransactionParameters,
};
use farbird_engine::attachment::Attachment;
use farbird_engine::engine::Engine;
use farbird_engine::users::{NoUsers, UserDirectory};
use farbird_types::error::StatusArgument;
use farbird_types::{CharacterSet, Error, Result, Value, convert, isc};

/// An attachment that speaks SQL and answers in texts.
pub(crate) struct Session {
    attachment: Attachment,
    transaction: Option<TransactionHandle>,
    engine: Arc<Engine>,
    folder: Arc<tempfile::TempDir>,
}

fn options(user: &str) -> AttachOptions {
    AttachOptions {
        user: user.to_owned(),
        role: None,
        character_set: CharacterSet::UTF8,
        dialect: 3,
        time_zone: Some("Etc/UTC".to_owned()),
        no_database_triggers: false,
        client: ClientDescription::default(),
    }
}

impl Session {
    /// A new, empty database.
    pub(crate) fn new() -> Session {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::new(Default::default());
        let create = CreateDatabaseOptions {
            default_character_set: CharacterSet::UTF8,
            page_size: 8192,
            overwrite: false,
            dialect: 3,
        };
        let users: Arc<dyn UserDirectory> = Arc::new(NoUsers);
        let path = folder.path().join("psql.fbd");
        let attachment = engine.create_database(&path, &create, options("SYSDBA"), users).unwrap();
        Session { attachment, transaction: None, engine, folder: Arc::new(folder) }
    }

    /// Another attachment to the same database.
    pub(crate) fn attach_as(&self, user: &str) -> Session {
        let users: Arc<dyn UserDirectory> = Arc::new(NoUsers);
        let path = self.folder.path().join("psql.fbd");
        let attachment = self.engine.attach(&path, options(user), users).unwrap();
        Session {
            attachment,
            transaction: None,
            engine: Arc::clone(&self.engine),
            folder: Arc::clone(&self.folder),
        }
    }

    /// A new database in which these statements were run, each in a transaction of its own.
    pub(crate) fn with(statements: &[&str]) -> Session {
        let mut session = Session::new();
        for statement in statements {
            session.run(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
            session.commit();
        }
        session
    }

    /// The attachment itself.
    pub(crate) fn attachment(&mut self) -> &mut Attachment {
        &mut self.attachment
    }

    fn transaction(&mut self) -> TransactionHandle {
        match self.transaction {
            Some(transaction) => transaction,
            None => {
                let started = self.attachment.start_transaction(TransactionParameters::default()).unwrap();
                self.transaction = Some(started);
                started
            }
        }
    }

    /// Commits the running transaction.
    pub(crate) fn commit(&mut self) {
        if let Some(transaction) = self.transaction.take() {
            self.attachment.commit(transaction).unwrap();
        }
    }

    /// Undoes the running transaction.
    pub(crate) fn rollback(&mut self) {
        if let Some(transaction) = self.transaction.take() {
            self.attachment.rollback(transaction).unwrap();
        }
    }

    /// Runs a statement; gives its rows.
    pub(crate) fn run(&mut self, sql: &str) -> Result<Vec<Vec<Value>>> {
        let statement = self.attachment.allocate_statement()?;
        let result = self.run_in(statement, sql, Vec::new());
        self.attachment.drop_statement(statement)?;
        result
    }

    /// Runs a statement with parameters.
    pub(crate) fn run_with(&mut self, sql: &str, parameters: Vec<Value>) -> Result<Vec<Vec<Value>>> {
        let statement = self.attachment.allocate_statement()?;
        let result = self.run_in(statement, sql, parameters);
        self.attachment.drop_statement(statement)?;
        result
    }

    fn run_in(
        &mut self,
        statement: StatementHandle,
        sql: &str,
        parameters: Vec<Value>,
    ) -> Result<Vec<Vec<Value>>> {
        let transaction = self.transaction();
        let description = self.attachment.prepare(statement, Some(transaction), sql, 3)?;
        let executed =
            self.attachment.execute(statement, Some(transaction), parameters, ExecuteOptions::default())?;
        match executed {
            Execution::Row(row) => Ok(row.into_iter().collect()),
            Execution::CursorOpened => {
                let mut found = Vec::new();
                let mut rows = Rows::default();
                loop {
                    rows.reset(description.columns.len());
                    let end = self.attachment.fetch(statement, 100, &mut rows)?;
                    found.extend(rows.iter().map(<[Value]>::to_vec));
                    if end == FetchEnd::EndOfCursor {
                        return Ok(found);
                    }
                }
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The types and nullability that a statement's columns are described with.
    pub(crate) fn column_types(&mut self, sql: &str) -> Vec<farbird_types::ColumnType> {
        let statement = self.attachment.allocate_statement().unwrap();
        let transaction = self.transaction();
        let description = self.attachment.prepare(statement, Some(transaction), sql, 3).unwrap();
        let types = description.columns.iter().map(|column| column.column_type).collect();
        self.attachment.drop_statement(statement).unwrap();
        types
    }

    /// Runs a statement; its rows as texts, BLOBs by their contents, values separated by `|`.
    pub(crate) fn rows(&mut self, sql: &str) -> Vec<String> {
        self.try_rows(sql).unwrap_or_else(|error| panic!("{sql}: {}", described(&error)))
    }

    /// As [`Session::rows`], for statements that may fail.
    pub(crate) fn try_rows(&mut self, sql: &str) -> Result<Vec<String>> {
        let rows = self.run(sql)?;
        let mut texts = Vec::new();
        for row in &rows {
            let values: Vec<String> = row.iter().map(|value| self.shown(value)).collect();
            texts.push(values.join("|"));
        }
        Ok(texts)
    }

    /// Runs a statement of one row.
    pub(crate) fn row(&mut self, sql: &str) -> String {
        let mut rows = self.rows(sql);
        assert_eq!(rows.len(), 1, "{sql}");
        rows.remove(0)
    }

    /// Runs a statement without result.
    pub(crate) fn execute(&mut self, sql: &str) {
        self.run(sql).unwrap_or_else(|error| panic!("{sql}: {}", described(&error)));
    }

    /// Runs a statement that fails; the status as in [`described`].
    pub(crate) fn error(&mut self, sql: &str) -> String {
        match self.run(sql) {
            Ok(rows) => panic!("{sql} gave {rows:?}"),
            Err(error) => described(&error),
        }
    }

    fn shown(&mut self, value: &Value) -> String {
        match value {
            Value::Blob(id) => {
                let transaction = self.transaction();
                let blob = self.attachment.open_blob(transaction, *id, BlobParameters::default()).unwrap();
                let mut bytes = Vec::new();
                while self.attachment.get_segment(blob, 65_535, &mut bytes).unwrap() != SegmentRead::End {}
                self.attachment.close_blob(blob).unwrap();
                String::from_utf8_lossy(&bytes).into_owned()
            }
            Value::Text(text) if text.character_set() == CharacterSet::OCTETS => {
                text.bytes().iter().map(|byte| format!("{byte:02X}")).collect()
            }
            other => convert::to_display_text(other),
        }
    }
}

/// A status as `symbol(argument, ...) symbol(...)`, codes by their names.
pub(crate) fn described(error: &Error) -> String {
    let items = error.items().iter().map(|item| {
        let symbol = isc::CODES
            .iter()
            .find(|row| row.gds_code == item.gds_code)
            .map_or_else(|| item.gds_code.to_string(), |row| row.symbol.to_owned());
        let arguments: Vec<String> = item
            .arguments
            .iter()
            .map(|argument| match argument {
                StatusArgument::Text(text) => text.clone(),
                StatusArgument::Number(number) => number.to_string(),
            })
            .collect();
        if arguments.is_empty() { symbol } else { format!("{symbol}({})", arguments.join(", ")) }
    });
    items.collect::<Vec<_>>().join(" ")
}
