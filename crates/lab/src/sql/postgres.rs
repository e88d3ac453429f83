//! PostgreSQL.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use postgres::types::ToSql;
use postgres::{Config, NoTls, SimpleQueryMessage, Statement};

use super::answer::Answer;
use super::guard::{Patience, guarded};
use super::side::{Client, Dialect, Field, Rows, Side, TableDefinition};
use crate::{Failure, Result};

/// Bytes of rows that are sent at a time.
const COPY_BYTES: usize = 64 << 10;

/// A PostgreSQL server, with a database made for the benchmark.
pub struct PostgresSide {
    /// Connection to the database that was named, from which ours is made and dropped.
    maintenance: postgres::Client,
    config: Config,
    database: String,
    client: postgres::Client,
    name: String,
}

impl PostgresSide {
    /// Makes a database beside the one that `url` names (`postgres://user@host/database`). It compares texts byte by byte, as
    /// the others do.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn create(url: &str) -> Result<PostgresSide> {
        let mut config: Config = url.parse()?;
        let mut maintenance = config.connect(NoTls)?;
        let version: String =
            maintenance.query_one("select current_setting('server_version')", &[])?.try_get(0)?;
        let name = format!("PostgreSQL {}", version.split(' ').next().unwrap_or_default());
        let database = format!("farbird_sql_{}", std::process::id());
        maintenance.batch_execute(&format!(
            "create database {database} template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C'"
        ))?;
        config.dbname(&database);
        let client = config.connect(NoTls)?;
        Ok(PostgresSide { maintenance, config, database, client, name })
    }

    /// Does work for no longer than it may take.
    fn patiently<T>(
        &mut self,
        patience: &Patience<'_>,
        work: impl FnOnce(&mut postgres::Client) -> std::result::Result<T, postgres::Error>,
    ) -> Result<(T, Duration)> {
        let token = self.client.cancel_token();
        let cancel = || {
            // What cannot be cancelled is waited for.
            let _ = token.cancel_query(NoTls);
        };
        let done = guarded(patience, &cancel, || Ok(work(&mut self.client)?));
        if let Err(Failure::TimedOut(_)) = done {
            // A cancel may still be on its way: it must not meet the next statement.
            self.client = self.config.connect(NoTls)?;
        }
        done
    }
}

impl Side for PostgresSide {
    fn name(&self) -> &str {
        &self.name
    }

    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn about(&mut self) -> Result<String> {
        let mut about = self.name.clone();
        for setting in ["shared_buffers", "work_mem", "max_parallel_workers_per_gather", "jit", "fsync"] {
            let value: String =
                self.client.query_one("select current_setting($1)", &[&setting])?.try_get(0)?;
            // Writing to a String cannot fail.
            let _ = write!(about, ", {setting} {value}");
        }
        Ok(about)
    }

    fn run(&mut self, sql: &str, patience: &Patience<'_>) -> Result<Duration> {
        let ((), took) = self.patiently(patience, |client| client.batch_execute(sql))?;
        Ok(took)
    }

    fn answer(&mut self, sql: &str, patience: &Patience<'_>) -> Result<(Answer, Duration)> {
        // The simple protocol gives texts, which need no library for numerics.
        let (messages, took) = self.patiently(patience, |client| client.simple_query(sql))?;
        let mut answer = Answer::default();
        for message in messages {
            if let SimpleQueryMessage::Row(row) = message {
                answer.push((0..row.len()).map(|column| row.get(column).map(str::to_owned)));
            }
        }
        Ok((answer, took))
    }

    fn load(&mut self, table: &TableDefinition, rows: &Rows<'_>) -> Result<()> {
        let copy = format!("copy {} ({}) from stdin", table.name, table.column_names());
        let mut writer = self.client.copy_in(&copy)?;
        let mut text = String::new();
        rows(&mut |row| {
            write_line(row, &mut text);
            if text.len() >= COPY_BYTES {
                writer.write_all(text.as_bytes())?;
                text.clear();
            }
            Ok(())
        })?;
        writer.write_all(text.as_bytes())?;
        writer.finish()?;
        Ok(())
    }

    fn settle(&mut self) -> Result<()> {
        Ok(self.client.batch_execute("vacuum analyze")?)
    }

    fn connect(&self) -> Result<Option<Box<dyn Client>>> {
        let client = self.config.connect(NoTls)?;
        Ok(Some(Box::new(PostgresClient { client, statements: HashMap::new() })))
    }

    fn remove(self: Box<Self>) -> Result<()> {
        let PostgresSide { mut maintenance, client, database, .. } = *self;
        client.close()?;
        Ok(maintenance.batch_execute(&format!("drop database {database} with (force)"))?)
    }
}

/// A row with tabs between its fields, as COPY reads it by default.
pub(super) fn write_line(row: &[Field<'_>], out: &mut String) {
    for (column, field) in row.iter().enumerate() {
        if column > 0 {
            out.push('\t');
        }
        // Writing to a String cannot fail.
        let _ = match field {
            Field::Integer(number) => write!(out, "{number}"),
            Field::Money(hundredths) => {
                let sign = if *hundredths < 0 { "-" } else { "" };
                let hundredths = hundredths.unsigned_abs();
                write!(out, "{sign}{}.{:02}", hundredths / 100, hundredths % 100)
            }
            Field::Text(text) => write!(out, "{text}"),
            Field::Date(days) => write!(out, "{}", farbird_types::Date(*days)),
        };
    }
    out.push('\n');
}

struct PostgresClient {
    client: postgres::Client,
    statements: HashMap<String, Statement>,
}

impl PostgresClient {
    /// Firebird's `?` are `$1`, `$2` ... here.
    fn prepared(&mut self, sql: &str) -> Result<Statement> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let mut text = String::new();
        let mut parts = sql.split('?');
        text.push_str(parts.next().unwrap_or_default());
        for (number, part) in (1..).zip(parts) {
            text.push_str(&format!("${number}{part}"));
        }
        let statement = self.client.prepare(&text)?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

impl Client for PostgresClient {
    fn read_all(&mut self, sql: &str, keys: &mut dyn Iterator<Item = i64>) -> Result<i64> {
        let statement = self.prepared(sql)?;
        let mut transaction = self.client.transaction()?;
        let mut sum = 0_i64;
        for key in keys {
            let number: i64 = transaction.query_one(&statement, &[&key])?.try_get(0)?;
            sum = sum.wrapping_add(number);
        }
        transaction.commit()?;
        Ok(sum)
    }

    fn change_all(&mut self, sql: &str, parameters: &mut dyn Iterator<Item = Vec<i64>>) -> Result<()> {
        let statement = self.prepared(sql)?;
        let mut transaction = self.client.transaction()?;
        for row in parameters {
            transaction.execute(&statement, &references(&row))?;
        }
        Ok(transaction.commit()?)
    }

    fn read(&mut self, sql: &str, key: i64) -> Result<i64> {
        let statement = self.prepared(sql)?;
        Ok(self.client.query_one(&statement, &[&key])?.try_get(0)?)
    }

    fn change(&mut self, sql: &str, parameters: &[i64]) -> Result<()> {
        let statement = self.prepared(sql)?;
        self.client.execute(&statement, &references(parameters))?;
        Ok(())
    }
}

fn references(parameters: &[i64]) -> Vec<&(dyn ToSql + Sync)> {
    parameters.iter().map(|parameter| parameter as &(dyn ToSql + Sync)).collect()
}
