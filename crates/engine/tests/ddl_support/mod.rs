//! A database in a temporary folder and people attached to it, for tests of definitions and of the system tables.

#![allow(dead_code, unreachable_pub)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use farbird_engine::api::{
    AttachOptions, BlobParameters, ClientDescription, CreateDatabaseOptions, ExecuteOptions, Execution,
    FetchEnd, Rows, StatementDescription, StatementHandle, TransactionHandle, TransactionParameters,
};
use farbird_engine::attachment::Attachment;
use farbird_engine::check::{DatabaseReport, check_database};
use farbird_engine::engine::Engine;
use farbird_engine::users::{NoUsers, UserDirectory};
use farbird_engine::{SegmentRead, StoreOptions};
use farbird_types::error::StatusArgument;
use farbird_types::{CharacterSet, Error, Result, Value, convert, isc};

/// A database that can be attached to more than once, and opened again.
pub struct TestDatabase {
    engine: Arc<Engine>,
    path: PathBuf,
    _folder: tempfile::TempDir,
}

fn users() -> Arc<dyn UserDirectory> {
    Arc::new(NoUsers)
}

fn attach_options(user: &str, role: Option<&str>) -> AttachOptions {
    AttachOptions {
        user: user.to_owned(),
        role: role.map(str::to_owned),
        character_set: CharacterSet::UTF8,
        dialect: 3,
        time_zone: Some("Etc/UTC".to_owned()),
        no_database_triggers: false,
        client: ClientDescription::default(),
    }
}

impl TestDatabase {
    /// A new, empty database of SYSDBA's, who is attached to it.
    pub fn create() -> (TestDatabase, Session) {
        TestDatabase::create_with(StoreOptions::default())
    }

    /// As [`TestDatabase::create`], for tests of plans and estimates: what the background finds out about tables, whenever that is,
    /// changes both.
    pub fn create_unswept() -> (TestDatabase, Session) {
        TestDatabase::create_with(StoreOptions { background_sweep: false, ..StoreOptions::default() })
    }

    /// As [`TestDatabase::create`], with these options.
    pub fn create_with(options: StoreOptions) -> (TestDatabase, Session) {
        let folder = tempfile::tempdir().expect("a folder");
        let engine = Engine::new(options);
        let create = CreateDatabaseOptions {
            default_character_set: CharacterSet::UTF8,
            page_size: 8192,
            overwrite: false,
            dialect: 3,
        };
        let path = folder.path().join("ddl.fbd");
        let attachment = engine
            .create_database(&path, &create, attach_options("SYSDBA", None), users())
            .expect("a new database");
        let database = TestDatabase { engine, path, _folder: folder };
        (database, Session { attachment, transaction: None, timeout: None })
    }

    /// What `farbird check` says of the file, which nobody may have open any more.
    pub fn check(self) -> DatabaseReport {
        let TestDatabase { engine, path, _folder } = self;
        drop(engine);
        check_database(&path, &Default::default(), &mut |_| {}, &Arc::default()).expect("a check")
    }

    /// As [`TestDatabase::check`], of a database that is attached to again later.
    pub fn check_closed(&self) -> DatabaseReport {
        check_database(&self.path, &Default::default(), &mut |_| {}, &Arc::default()).expect("a check")
    }

    /// Where the file is.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Why somebody cannot attach.
    pub fn attach_error(&self, user: &str) -> String {
        match self.engine.attach(&self.path, attach_options(user, None), users()) {
            Ok(_) => String::from("attached"),
            Err(error) => described(&error),
        }
    }

    /// The engine that has it open.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Attaches somebody.
    pub fn attach(&self, user: &str, role: Option<&str>) -> Session {
        let attachment =
            self.engine.attach(&self.path, attach_options(user, role), users()).expect("an attachment");
        Session { attachment, transaction: None, timeout: None }
    }
}

/// An attachment that speaks SQL and answers in texts.
pub struct Session {
    attachment: Attachment,
    transaction: Option<TransactionHandle>,
    /// Of the statements that it runs.
    pub timeout: Option<Duration>,
}

impl Session {
    /// The attachment itself.
    pub fn attachment(&mut self) -> &mut Attachment {
        &mut self.attachment
    }

    /// The running transaction, which begins now if there is none.
    pub fn transaction(&mut self) -> TransactionHandle {
        // Tests never wait for one another.
        let parameters =
            TransactionParameters { lock_timeout: Some(Duration::ZERO), ..TransactionParameters::default() };
        *self
            .transaction
            .get_or_insert_with(|| self.attachment.start_transaction(parameters).expect("a transaction"))
    }

    /// Starts a transaction that waits for others without end.
    pub fn start_waiting(&mut self) {
        let parameters = TransactionParameters::default();
        self.transaction = Some(self.attachment.start_transaction(parameters).expect("a transaction"));
    }

    /// Starts a transaction with these parameters.
    pub fn start(&mut self, parameters: TransactionParameters) {
        self.transaction = Some(self.attachment.start_transaction(parameters).expect("a transaction"));
    }

    /// As [`Session::start`], if it can be had.
    pub fn try_start(&mut self, parameters: TransactionParameters) -> Result<()> {
        self.rollback();
        self.transaction = Some(self.attachment.start_transaction(parameters)?);
        Ok(())
    }

    /// As which type SET BIND shows a type.
    pub fn shown_type(
        &self,
        column_type: farbird_types::ColumnType,
    ) -> farbird_engine::session::binding::ShownType {
        self.attachment.shown_type(column_type)
    }

    /// Prepares a statement only to see what it is.
    pub fn prepare(&mut self, sql: &str) -> Result<Arc<StatementDescription>> {
        let transaction = self.transaction();
        let statement = self.attachment.allocate_statement()?;
        let description = self.attachment.prepare(statement, Some(transaction), sql, 3);
        self.attachment.drop_statement(statement)?;
        description
    }

    /// Prepares a statement.
    pub fn keep_prepared(&mut self, sql: &str) -> Result<StatementHandle> {
        let transaction = self.transaction();
        let statement = self.attachment.allocate_statement()?;
        match self.attachment.prepare(statement, Some(transaction), sql, 3) {
            Ok(_) => Ok(statement),
            Err(error) => {
                self.attachment.drop_statement(statement)?;
                Err(error)
            }
        }
    }

    /// Forgets a statement.
    pub fn forget(&mut self, statement: StatementHandle) {
        self.attachment.drop_statement(statement).expect("a statement");
    }

    /// Opens the cursor of a query.
    pub fn open(&mut self, sql: &str) -> StatementHandle {
        let transaction = self.transaction();
        let statement = self.attachment.allocate_statement().expect("a statement");
        self.attachment.prepare(statement, Some(transaction), sql, 3).expect("a query");
        let options = ExecuteOptions { timeout: self.timeout, ..ExecuteOptions::default() };
        self.attachment.execute(statement, Some(transaction), Vec::new(), options).expect("a cursor");
        statement
    }

    /// The next row of a cursor, which must have one of one column.
    pub fn fetch_one(&mut self, statement: StatementHandle) -> String {
        let mut rows = Rows::default();
        rows.reset(1);
        self.attachment.fetch(statement, 1, &mut rows).expect("a row");
        let row = rows.iter().next().expect("a row").to_vec();
        self.shown(&row[0])
    }

    /// Commits the running transaction.
    pub fn commit(&mut self) {
        if let Some(transaction) = self.transaction.take() {
            self.attachment.commit(transaction).expect("a commit");
        }
    }

    /// Rolls the running transaction back.
    pub fn rollback(&mut self) {
        if let Some(transaction) = self.transaction.take() {
            self.attachment.rollback(transaction).expect("a rollback");
        }
    }

    /// Runs a statement; gives its rows.
    pub fn run(&mut self, sql: &str) -> Result<Vec<Vec<Value>>> {
        self.run_with(sql, Vec::new())
    }

    /// Runs a statement with values for its parameters; gives its rows.
    pub fn run_with(&mut self, sql: &str, values: Vec<Value>) -> Result<Vec<Vec<Value>>> {
        let statement = self.attachment.allocate_statement()?;
        let result = self.run_in(statement, sql, values);
        self.attachment.drop_statement(statement)?;
        result
    }

    fn run_in(
        &mut self,
        statement: StatementHandle,
        sql: &str,
        values: Vec<Value>,
    ) -> Result<Vec<Vec<Value>>> {
        let transaction = self.transaction();
        let description = self.attachment.prepare(statement, Some(transaction), sql, 3)?;
        self.run_prepared(statement, description.columns.len(), values)
    }

    /// Runs a statement that has been prepared; gives its rows, of so many columns.
    pub fn run_prepared(
        &mut self,
        statement: StatementHandle,
        columns: usize,
        values: Vec<Value>,
    ) -> Result<Vec<Vec<Value>>> {
        let transaction = self.transaction();
        let options = ExecuteOptions { timeout: self.timeout, ..ExecuteOptions::default() };
        match self.attachment.execute(statement, Some(transaction), values, options)? {
            Execution::Row(row) => Ok(row.into_iter().collect()),
            Execution::CursorOpened => {
                let mut found = Vec::new();
                let mut rows = Rows::default();
                loop {
                    rows.reset(columns);
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

    /// Runs a statement and gives its rows away one after the other.
    pub fn for_each_row(&mut self, sql: &str, take: &mut dyn FnMut(&[Value])) -> Result<()> {
        let statement = self.attachment.allocate_statement()?;
        let result = self.each_row_of(statement, sql, take);
        self.attachment.drop_statement(statement)?;
        result
    }

    fn each_row_of(
        &mut self,
        statement: StatementHandle,
        sql: &str,
        take: &mut dyn FnMut(&[Value]),
    ) -> Result<()> {
        let transaction = self.transaction();
        let description = self.attachment.prepare(statement, Some(transaction), sql, 3)?;
        let options = ExecuteOptions::default();
        match self.attachment.execute(statement, Some(transaction), Vec::new(), options)? {
            Execution::Row(row) => row.iter().for_each(|row| take(row)),
            Execution::CursorOpened => {
                let mut rows = Rows::default();
                loop {
                    rows.reset(description.columns.len());
                    let end = self.attachment.fetch(statement, 100, &mut rows)?;
                    rows.iter().for_each(&mut *take);
                    if end == FetchEnd::EndOfCursor {
                        break;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Runs a statement that must not fail.
    pub fn execute(&mut self, sql: &str) {
        self.run(sql).unwrap_or_else(|error| panic!("{sql}: {}", described(&error)));
    }

    /// Runs a statement that fails; the status as in [`described`].
    pub fn error(&mut self, sql: &str) -> String {
        match self.run(sql) {
            Ok(rows) => panic!("{sql} gave {rows:?}"),
            Err(error) => described(&error),
        }
    }

    /// Runs a statement; its rows as texts without spaces at their ends, BLOBs by their contents, values separated by `|`.
    pub fn rows(&mut self, sql: &str) -> Vec<String> {
        let rows = self.run(sql).unwrap_or_else(|error| panic!("{sql}: {}", described(&error)));
        rows.iter()
            .map(|row| row.iter().map(|value| self.shown(value)).collect::<Vec<_>>().join("|"))
            .collect()
    }

    /// A value as text, a BLOB by its contents.
    pub fn shown(&mut self, value: &Value) -> String {
        match value {
            Value::Blob(id) => {
                let transaction = self.transaction();
                let parameters = BlobParameters::default();
                let blob = self.attachment.open_blob(transaction, *id, parameters).expect("a BLOB");
                let mut bytes = Vec::new();
                while self.attachment.get_segment(blob, 65_535, &mut bytes).expect("a segment")
                    != SegmentRead::End
                {}
                self.attachment.close_blob(blob).expect("a close");
                String::from_utf8_lossy(&bytes).trim_end().to_owned()
            }
            other => convert::to_display_text(other).trim_end().to_owned(),
        }
    }
}

/// A status as `symbol(argument, ...) symbol(...)`, codes by their public names or their numbers.
pub fn described(error: &Error) -> String {
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
