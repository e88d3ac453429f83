//! Firebird, or a Farbird server: the same client does the same work with both.

use std::time::{Duration, Instant};

use farbird_client::blocking::Connection;
use farbird_client::{ConnectOptions, CreateOptions, Statement, Transaction, TransactionOptions, Value};
use farbird_types::isc;

use super::side::{
    About, Committer, Dialect, Failure, LoadWay, LoadedRow, PointReader, Result, Session, Side,
};

/// So often at most one change of a row is tried.
const CONFLICTS_MAX: usize = 100_000;

/// A server of the Firebird protocol, with a database made for the contest.
#[derive(Debug)]
pub struct FirebirdSide {
    location: String,
    options: ConnectOptions,
    connection: Connection,
}

impl FirebirdSide {
    /// Makes a database at `location` (`host/port:path`), which must not exist. Its commits wait for the disk.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn create(location: &str, options: &ConnectOptions) -> Result<FirebirdSide> {
        let create = CreateOptions { forced_writes: Some(true), ..CreateOptions::default() };
        let connection = Connection::create(location, &create, options)?;
        Ok(FirebirdSide { location: location.to_owned(), options: options.clone(), connection })
    }

    fn in_transaction<T>(
        &mut self,
        work: impl FnOnce(&mut Connection, &Transaction) -> farbird_types::Result<T>,
    ) -> Result<T> {
        let transaction = self.connection.begin(&TransactionOptions::default())?;
        let result = work(&mut self.connection, &transaction)?;
        self.connection.commit(transaction)?;
        Ok(result)
    }
}

impl Side for FirebirdSide {
    fn about(&mut self) -> Result<About> {
        let version = self.connection.server_version()?;
        let protocol = self.connection.version().number();
        let forced = self.integer("select mon$forced_writes from mon$database")? != 0;
        let durability = match forced {
            true => "forced writes on: each commit waits for the disk".to_owned(),
            false => "FORCED WRITES OFF: commits do not wait for the disk".to_owned(),
        };
        Ok(About { version: format!("{version} (protocol {protocol})"), durability })
    }

    fn dialect(&self) -> Dialect {
        Dialect::Firebird
    }

    fn run(&mut self, sql: &str) -> Result<()> {
        self.in_transaction(|connection, transaction| connection.run(transaction, sql))
    }

    fn integer(&mut self, sql: &str) -> Result<i64> {
        let rows = self.in_transaction(|connection, transaction| connection.query_all(transaction, sql))?;
        rows.first().and_then(|row| row.first()).map_or_else(|| number(&Value::Null), number)
    }

    fn bytes_on_disk(&mut self) -> Result<u64> {
        let bytes = self.integer("select mon$pages * mon$page_size from mon$database")?;
        Ok(u64::try_from(bytes).unwrap_or_default())
    }

    fn settle(&mut self) -> Result<()> {
        Ok(())
    }

    fn connect(&self) -> Result<Box<dyn Session>> {
        let connection = Connection::attach(&self.location, &self.options)?;
        Ok(Box::new(FirebirdSession { connection: Some(connection) }))
    }

    fn remove(self: Box<Self>) -> Result<()> {
        Ok(self.connection.drop_database()?)
    }
}

struct FirebirdSession {
    /// There until the session ends.
    connection: Option<Connection>,
}

impl FirebirdSession {
    /// The connection, and a statement prepared on it.
    fn prepare(&mut self, sql: &str) -> Result<(&mut Connection, Statement)> {
        let closed = || Failure::Other("the session is closed".to_owned());
        let connection = self.connection.as_mut().ok_or_else(closed)?;
        let transaction = connection.begin(&TransactionOptions::default())?;
        let statement = connection.prepare(&transaction, sql)?;
        connection.commit(transaction)?;
        Ok((connection, statement))
    }
}

impl Drop for FirebirdSession {
    /// Waits until the server has let go of the database: it may be dropped next.
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            // A connection that has failed is of no use to the server either.
            let _ = connection.close();
        }
    }
}

impl Session for FirebirdSession {
    fn point_reader<'s>(&'s mut self, sql: &str) -> Result<PointReader<'s>> {
        let (connection, statement) = self.prepare(sql)?;
        let transaction = connection.begin(&TransactionOptions::default())?;
        Ok(Box::new(move |id| {
            let key = [Value::integer(i64::from(id))];
            let row = connection.execute(&transaction, &statement, &key)?;
            number(&row.map_or(Ok(Value::Null), |row| row.value(0))?)
        }))
    }

    fn committer<'s>(&'s mut self, sql: &str) -> Result<Committer<'s>> {
        let (connection, statement) = self.prepare(sql)?;
        Ok(Box::new(move |first, second| {
            let row = [Value::integer(i64::from(first)), Value::integer(i64::from(second))];
            for _ in 1..CONFLICTS_MAX {
                match connection.execute_and_commit(&statement, &row) {
                    // Firebird 3 turns away who waited for a row that has changed then: the application asks again.
                    Err(error) if error.has(isc::UPDATE_CONFLICT) => {}
                    other => return other.map(drop).map_err(Failure::from),
                }
            }
            connection.execute_and_commit(&statement, &row).map(drop).map_err(Failure::from)
        }))
    }

    fn load(&mut self, sql: &str, rows: i32, way: LoadWay) -> Result<Option<Duration>> {
        let (connection, statement) = self.prepare(sql)?;
        if way == LoadWay::Batch && !connection.version().has_statement_timeout() {
            return Ok(None);
        }
        let start = Instant::now();
        let transaction = connection.begin(&TransactionOptions::default())?;
        let rows = (0..rows).map(|id| {
            let LoadedRow { id, name, amount } = LoadedRow::new(id);
            [Value::integer(i64::from(id)), Value::text(&name), Value::integer(amount)]
        });
        let outcome = match way {
            LoadWay::Execute => {
                let mut pipeline = connection.pipeline(&transaction, &statement);
                for row in rows {
                    pipeline.execute(&row)?;
                }
                pipeline.finish()?
            }
            LoadWay::Batch => {
                let mut batch = connection.batch(&transaction, &statement)?;
                for row in rows {
                    batch.add(&row)?;
                }
                batch.finish()?
            }
        };
        outcome.into_result()?;
        connection.commit(transaction)?;
        Ok(Some(start.elapsed()))
    }
}

/// A whole number, whatever its width.
fn number(value: &Value) -> Result<i64> {
    match value {
        Value::Integer { unscaled, scale: 0 } => Ok(*unscaled),
        Value::Int128 { unscaled, scale: 0 } => {
            i64::try_from(*unscaled).map_err(|_| Failure::Other(format!("{unscaled} is too large")))
        }
        other => Err(Failure::Other(format!("a number was expected, not {other:?}"))),
    }
}
