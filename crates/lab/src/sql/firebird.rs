//! Farbird's server, or a Firebird: the same client does the same work with both.

use std::collections::HashMap;
use std::time::Duration;

use farbird_client::blocking::Connection;
use farbird_client::{ConnectOptions, CreateOptions, Statement, Transaction, TransactionOptions};
use farbird_types::{Date, Value};

use super::answer::Answer;
use super::guard::{Patience, guarded};
use super::side::{Client, Dialect, Field, Rows, Side, TableDefinition};
use crate::articles::Server;
use crate::{Failure, Result};

/// A server of the Firebird protocol, with a database made for the benchmark.
#[derive(Debug)]
pub struct FirebirdSide {
    server: Server,
    connection: Connection,
}

impl FirebirdSide {
    /// Makes the server's database, which must not exist. Its commits wait for the disk.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn create(server: Server) -> Result<FirebirdSide> {
        let create = CreateOptions { forced_writes: Some(true), ..CreateOptions::default() };
        let connection = Connection::create(&server.address(), &create, &options(&server))?;
        Ok(FirebirdSide { server, connection })
    }

    /// Does work in a transaction, for no longer than it may take.
    fn in_transaction<T>(
        &mut self,
        patience: &Patience<'_>,
        work: impl FnOnce(&Connection, &Transaction) -> farbird_types::Result<T>,
    ) -> Result<(T, Duration)> {
        let canceller = self.connection.canceller();
        let cancel = || {
            // A cancel that fails finds a connection that is lost: the work fails by itself then.
            let _ = canceller.cancel();
        };
        let done = guarded(patience, &cancel, || {
            let transaction = self.connection.begin(&TransactionOptions::default())?;
            match work(&self.connection, &transaction) {
                Ok(result) => {
                    self.connection.commit(transaction)?;
                    Ok(result)
                }
                Err(error) => {
                    // What is told is the first failure.
                    let _ = self.connection.rollback(transaction);
                    Err(Failure::from(error))
                }
            }
        });
        if let Err(Failure::TimedOut(_)) = done {
            // A cancel may still be on its way: it must not meet the next statement.
            let cancelled = std::mem::replace(&mut self.connection, attach(&self.server)?);
            // Of what failed there is nothing to be kept.
            let _ = cancelled.close();
        }
        done
    }
}

fn options(server: &Server) -> ConnectOptions {
    ConnectOptions::new(&server.user, &server.password)
}

fn attach(server: &Server) -> Result<Connection> {
    Ok(Connection::attach(&server.address(), &options(server))?)
}

impl Side for FirebirdSide {
    fn name(&self) -> &str {
        &self.server.name
    }

    fn dialect(&self) -> Dialect {
        Dialect::Firebird
    }

    fn about(&mut self) -> Result<String> {
        let version = self.connection.server_version()?;
        Ok(format!("{version}, protocol {}, forced writes on", self.connection.version().number()))
    }

    fn run(&mut self, sql: &str, patience: &Patience<'_>) -> Result<Duration> {
        let ((), took) =
            self.in_transaction(patience, |connection, transaction| connection.run(transaction, sql))?;
        Ok(took)
    }

    fn answer(&mut self, sql: &str, patience: &Patience<'_>) -> Result<(Answer, Duration)> {
        self.in_transaction(patience, |connection, transaction| {
            let statement = connection.prepare(transaction, sql)?;
            let mut answer = Answer::default();
            for row in connection.query(transaction, &statement, &[])? {
                answer.push(row?.to_values().iter().map(text));
            }
            Ok(answer)
        })
    }

    fn load(&mut self, table: &TableDefinition, rows: &Rows<'_>) -> Result<()> {
        let connection = &self.connection;
        let transaction = connection.begin(&TransactionOptions::default())?;
        let marks = vec!["?"; table.columns.len()].join(", ");
        let insert = format!("insert into {} ({}) values ({marks})", table.name, table.column_names());
        let statement = connection.prepare(&transaction, &insert)?;
        let mut bulk = connection.bulk(&transaction, &statement)?;
        let mut values = Vec::new();
        rows(&mut |row| {
            values.clear();
            values.extend(row.iter().map(value));
            Ok(bulk.add(&values)?)
        })?;
        bulk.finish()?.into_result()?;
        Ok(connection.commit(transaction)?)
    }

    fn settle(&mut self) -> Result<()> {
        Ok(())
    }

    fn connect(&self) -> Result<Option<Box<dyn Client>>> {
        let connection = Some(attach(&self.server)?);
        Ok(Some(Box::new(FirebirdClient { connection, statements: HashMap::new() })))
    }

    fn remove(self: Box<Self>) -> Result<()> {
        Ok(self.connection.drop_database()?)
    }
}

fn value(field: &Field<'_>) -> Value {
    match field {
        Field::Integer(number) => Value::integer(*number),
        Field::Money(hundredths) => Value::Integer { unscaled: *hundredths, scale: -2 },
        Field::Text(text) => Value::text(text),
        Field::Date(days) => Value::Date(Date(*days)),
    }
}

/// As the answers of all databases are compared.
fn text(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Boolean(is_true) => is_true.to_string(),
        Value::Integer { unscaled, scale } => decimal(i128::from(*unscaled), *scale),
        Value::Int128 { unscaled, scale } => decimal(*unscaled, *scale),
        Value::Float(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        Value::DecFloat(number) => number.to_string(),
        Value::Date(date) => date.to_string(),
        Value::Time(time) => time.to_string(),
        Value::Timestamp(timestamp) => timestamp.to_string(),
        Value::TimeTz(time) => time.to_string(),
        Value::TimestampTz(timestamp) => timestamp.to_string(),
        Value::Text(text) => String::from_utf8_lossy(text.bytes()).into_owned(),
        Value::Blob(id) => format!("BLOB {}", id.0),
    })
}

/// A number with its decimal point: 1234 of scale -2 is 12.34.
fn decimal(unscaled: i128, scale: i8) -> String {
    let places = usize::from(scale.min(0).unsigned_abs());
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    let sign = if unscaled < 0 { "-" } else { "" };
    if places == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

struct FirebirdClient {
    /// There until the client ends.
    connection: Option<Connection>,
    statements: HashMap<String, Statement>,
}

impl FirebirdClient {
    fn connection(&self) -> Result<&Connection> {
        self.connection.as_ref().ok_or_else(|| Failure::Other("the connection is closed".to_owned()))
    }

    fn prepared(&mut self, sql: &str) -> Result<Statement> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let connection = self.connection()?;
        let transaction = connection.begin(&TransactionOptions::default())?;
        let statement = connection.prepare(&transaction, sql)?;
        connection.commit(transaction)?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

impl Drop for FirebirdClient {
    /// Waits until the server has let go of the database: it may be dropped next.
    fn drop(&mut self) {
        self.statements.clear();
        if let Some(connection) = self.connection.take() {
            // A connection that has failed is of no use to the server either.
            let _ = connection.close();
        }
    }
}

impl Client for FirebirdClient {
    fn read_all(&mut self, sql: &str, keys: &mut dyn Iterator<Item = i64>) -> Result<i64> {
        let statement = self.prepared(sql)?;
        let connection = self.connection()?;
        let transaction = connection.begin(&TransactionOptions::default())?;
        let mut sum = 0_i64;
        for key in keys {
            let row = connection.execute(&transaction, &statement, (key,))?;
            sum = sum.wrapping_add(first_number(row.map(|row| row.value(0)).transpose()?)?);
        }
        connection.commit(transaction)?;
        Ok(sum)
    }

    fn change_all(&mut self, sql: &str, parameters: &mut dyn Iterator<Item = Vec<i64>>) -> Result<()> {
        let statement = self.prepared(sql)?;
        let connection = self.connection()?;
        let transaction = connection.begin(&TransactionOptions::default())?;
        for row in parameters {
            let values: Vec<Value> = row.into_iter().map(Value::integer).collect();
            connection.execute(&transaction, &statement, values)?;
        }
        Ok(connection.commit(transaction)?)
    }

    fn read(&mut self, sql: &str, key: i64) -> Result<i64> {
        let statement = self.prepared(sql)?;
        let row = self.connection()?.execute_and_commit(&statement, (key,))?;
        first_number(row.map(|row| row.value(0)).transpose()?)
    }

    fn change(&mut self, sql: &str, parameters: &[i64]) -> Result<()> {
        let statement = self.prepared(sql)?;
        let values: Vec<Value> = parameters.iter().copied().map(Value::integer).collect();
        self.connection()?.execute_and_commit(&statement, values)?;
        Ok(())
    }
}

/// A whole number, whatever its width.
fn first_number(value: Option<Value>) -> Result<i64> {
    match value {
        Some(Value::Integer { unscaled, scale: 0 }) => Ok(unscaled),
        Some(Value::Int128 { unscaled, scale: 0 }) => {
            i64::try_from(unscaled).map_err(|_| Failure::Other(format!("{unscaled} is too large")))
        }
        other => Err(Failure::Other(format!("a number was expected, not {other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_written_with_their_point() {
        assert_eq!(decimal(1_234, -2), "12.34");
        assert_eq!(decimal(-5, -2), "-0.05");
        assert_eq!(decimal(7, 0), "7");
        assert_eq!(decimal(0, -1), "0.0");
    }
}
