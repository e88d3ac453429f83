//! Runs the statements of a script or a conversation, one transaction after another.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use farbird_engine::StoreOptions;
use farbird_engine::api::{
    AttachOptions, ClientDescription, CreateDatabaseOptions, ExecuteOptions, Execution, FetchEnd, Rows,
    StatementDescription, StatementHandle, StatementKind, TransactionHandle, TransactionParameters,
};
use farbird_engine::attachment::Attachment;
use farbird_engine::engine::Engine;
use farbird_engine::users::NoUsers;
use farbird_types::convert::to_display_text;
use farbird_types::{BlobId, CharacterSet, Error, Value};

use super::Format;
use super::output::{Cell, Printer};

/// Rows fetched at a time.
const ROWS_AT_A_TIME: usize = 256;
/// Longest BLOB that is shown; the rest is said to be there.
const BLOB_BYTES_SHOWN: usize = 1 << 20;
/// What SHOW TABLES asks.
const SHOW_TABLES: &str = "select trim(rdb$relation_name) as table_name,
    case when rdb$view_blr is null then 'TABLE' else 'VIEW' end as kind
    from rdb$relations where coalesce(rdb$system_flag, 0) = 0 order by 1";
/// What SHOW TABLE asks.
const SHOW_TABLE: &str = "select trim(rf.rdb$field_name) as column_name, trim(t.rdb$type_name) as type,
    f.rdb$field_length as bytes, iif(coalesce(rf.rdb$null_flag, 0) = 1, 'NOT NULL', '') as nullability
    from rdb$relation_fields rf join rdb$fields f on f.rdb$field_name = rf.rdb$field_source
    left join rdb$types t on t.rdb$field_name = 'RDB$FIELD_TYPE' and t.rdb$type = f.rdb$field_type
    where rf.rdb$relation_name = ? order by rf.rdb$field_position";

/// A database and what the shell remembers between statements.
pub(super) struct Runner {
    attachment: Attachment,
    transaction: Option<TransactionHandle>,
    format: Format,
    auto_ddl: bool,
    terminator: String,
}

impl Runner {
    /// Opens a database file, or makes it.
    pub(super) fn open(path: &Path, create: bool, format: Format) -> anyhow::Result<Runner> {
        let engine = Engine::new(StoreOptions::default());
        let options = AttachOptions {
            user: "SYSDBA".to_owned(),
            role: None,
            character_set: CharacterSet::UTF8,
            dialect: 3,
            time_zone: None,
            no_database_triggers: false,
            client: ClientDescription::default(),
        };
        let users = Arc::new(NoUsers);
        let attachment = if create && !path.exists() {
            let create = CreateDatabaseOptions {
                default_character_set: CharacterSet::UTF8,
                page_size: 8192,
                overwrite: false,
                dialect: 3,
            };
            engine.create_database(path, &create, options, users)
        } else {
            engine.attach(path, options, users)
        };
        let attachment = attachment
            .map_err(|error| anyhow::anyhow!("{}", error.message()))
            .with_context(|| format!("cannot open {}", path.display()))?;
        Ok(Runner { attachment, transaction: None, format, auto_ddl: true, terminator: ";".to_owned() })
    }

    /// Whether a text ends with the terminator, so that its statements can run.
    pub(super) fn is_complete(&self, text: &str) -> bool {
        text.trim_end().ends_with(self.terminator.as_str())
    }

    /// Runs statements until one fails. Says what failed on stderr; false then.
    pub(super) fn run_script(&mut self, text: &str) -> anyhow::Result<bool> {
        // The splitter begins each script with `;`: tell it what this conversation has set.
        let prefix =
            if self.terminator == ";" { String::new() } else { format!("SET TERM {} ;", self.terminator) };
        let script = prefix + text;
        let mut statements = farbird_sql::split_script(&script);
        for statement in statements.by_ref() {
            if let Err(error) = self.run_statement(statement.text) {
                eprintln!("Statement failed, SQLSTATE = {}", error.sql_state());
                eprintln!("{}", error.message());
                eprintln!("At line {}", statement.line);
                return Ok(false);
            }
        }
        self.terminator = statements.terminator().to_owned();
        Ok(true)
    }

    /// Commits what is open, or rolls it back, and closes the database.
    pub(super) fn close(mut self, commit: bool) -> anyhow::Result<()> {
        if let Some(transaction) = self.transaction.take() {
            let end = if commit {
                self.attachment.commit(transaction)
            } else {
                self.attachment.rollback(transaction)
            };
            end.map_err(|error| anyhow::anyhow!("{}", error.message()))?;
        }
        self.attachment.detach().map_err(|error| anyhow::anyhow!("{}", error.message()))
    }

    fn run_statement(&mut self, sql: &str) -> Result<(), Error> {
        let words: Vec<String> = sql.split_whitespace().take(4).map(str::to_uppercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            [] => Ok(()),
            ["SET", "AUTODDL", rest @ ..] => {
                self.auto_ddl = !matches!(rest, ["OFF"]);
                Ok(())
            }
            ["SHOW", "TABLES", ..] => self.run_sql(SHOW_TABLES, Vec::new()),
            ["SHOW", "TABLE", name] => self.run_sql(SHOW_TABLE, vec![Value::text(name)]),
            _ => self.run_sql(sql, Vec::new()),
        }
    }

    fn run_sql(&mut self, sql: &str, parameters: Vec<Value>) -> Result<(), Error> {
        let transaction = self.open_transaction()?;
        let statement = self.attachment.allocate_statement()?;
        let result = self.run_prepared(statement, transaction, sql, parameters);
        self.attachment.drop_statement(statement)?;
        result
    }

    fn run_prepared(
        &mut self,
        statement: StatementHandle,
        transaction: TransactionHandle,
        sql: &str,
        parameters: Vec<Value>,
    ) -> Result<(), Error> {
        let description = self.attachment.prepare(statement, Some(transaction), sql, 3)?;
        let execution =
            self.attachment.execute(statement, Some(transaction), parameters, ExecuteOptions::default())?;
        match execution {
            Execution::CursorOpened => self.print_cursor(statement, transaction, &description)?,
            Execution::Row(row) => self.print_row(transaction, &description, row.as_deref())?,
            Execution::TransactionEnded => self.transaction = None,
            Execution::TransactionStarted(started) => {
                self.attachment.rollback(transaction)?;
                self.transaction = Some(started);
            }
            Execution::Done => {}
        }
        if description.kind == StatementKind::Ddl && self.auto_ddl && self.transaction.is_some() {
            self.attachment.commit(transaction)?;
            self.transaction = None;
        }
        Ok(())
    }

    fn open_transaction(&mut self) -> Result<TransactionHandle, Error> {
        match self.transaction {
            Some(transaction) => Ok(transaction),
            None => {
                let transaction = self.attachment.start_transaction(TransactionParameters::default())?;
                self.transaction = Some(transaction);
                Ok(transaction)
            }
        }
    }

    fn print_cursor(
        &mut self,
        statement: StatementHandle,
        transaction: TransactionHandle,
        description: &StatementDescription,
    ) -> Result<(), Error> {
        let mut printer = Printer::new(self.format, &description.columns, io::stdout().lock());
        let mut rows = Rows::default();
        let mut end = FetchEnd::MoreToCome;
        while end == FetchEnd::MoreToCome {
            rows.reset(description.columns.len());
            end = self.attachment.fetch(statement, ROWS_AT_A_TIME, &mut rows)?;
            for row in rows.iter() {
                let cells = self.cells(transaction, row)?;
                printer.row(row, cells).map_err(|error| output_failed(&error))?;
            }
        }
        self.attachment.close_cursor(statement)?;
        let count = printer.finish().map_err(|error| output_failed(&error))?;
        if self.format == Format::Table {
            eprintln!("({count} row{})", if count == 1 { "" } else { "s" });
        }
        Ok(())
    }

    fn print_row(
        &mut self,
        transaction: TransactionHandle,
        description: &StatementDescription,
        row: Option<&[Value]>,
    ) -> Result<(), Error> {
        let mut printer = Printer::new(self.format, &description.columns, io::stdout().lock());
        if let Some(row) = row {
            let cells = self.cells(transaction, row)?;
            printer.row(row, cells).map_err(|error| output_failed(&error))?;
        }
        printer.finish().map_err(|error| output_failed(&error))?;
        Ok(())
    }

    /// The texts of a row's values; BLOBs by their contents.
    fn cells(&mut self, transaction: TransactionHandle, row: &[Value]) -> Result<Vec<Cell>, Error> {
        row.iter()
            .map(|value| match value {
                Value::Null => Ok(None),
                Value::Blob(id) => self.blob_text(transaction, *id).map(Some),
                other => Ok(Some(to_display_text(other))),
            })
            .collect()
    }

    fn blob_text(&mut self, transaction: TransactionHandle, id: BlobId) -> Result<String, Error> {
        let blob = self.attachment.open_blob(transaction, id, Default::default())?;
        let total = self.attachment.blob_facts(blob)?.total_bytes;
        let mut bytes = Vec::new();
        while bytes.len() < BLOB_BYTES_SHOWN
            && self.attachment.get_segment(blob, BLOB_BYTES_SHOWN - bytes.len(), &mut bytes)?
                != farbird_engine::SegmentRead::End
        {}
        self.attachment.close_blob(blob)?;
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if total > bytes.len() as u64 {
            text.push_str(&format!(" ... ({total} bytes)"));
        }
        Ok(text)
    }
}

/// Standard output is gone: a closed pipe ends the shell quietly, as its reader wanted.
fn output_failed(error: &io::Error) -> Error {
    if error.kind() == io::ErrorKind::BrokenPipe {
        let _ = io::stderr().flush();
        std::process::exit(0);
    }
    Error::new(farbird_types::isc::RANDOM).with(error.to_string())
}
