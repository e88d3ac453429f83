//! Farbird inside this process: the library, used as any program would.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use farbird::{Connection, Database, Error};
use farbird_lab::sql::metadata::DatabaseFile;
use farbird_lab::sql::{Client, points::Embedded};
use farbird_lab::{Failure, Result};

/// Makes a database file in a folder that goes with all that is in it.
pub(super) fn open(folder: &Path) -> Result<Embedded> {
    let database = Database::create(folder.join("embedded.fbd")).map_err(failure)?;
    let definer = database.connect().map_err(failure)?;
    let connection = database.connect().map_err(failure)?;
    Ok(Embedded {
        name: "Farbird embedded".to_owned(),
        client: Box::new(EmbeddedClient { connection }),
        run: Box::new(move |sql| definer.execute(sql, ()).map(|_| ()).map_err(failure)),
    })
}

/// Makes a database file, as [`open`] does, that can be closed and opened again.
pub(super) fn file(folder: &Path) -> Result<Box<dyn DatabaseFile>> {
    let path = folder.join("metadata.fbd");
    let connection = Database::create(&path).and_then(|database| database.connect()).map_err(failure)?;
    Ok(Box::new(EmbeddedFile { path, connection: Some(connection) }))
}

struct EmbeddedFile {
    path: PathBuf,
    /// Keeps the file open; `None` while it is closed.
    connection: Option<Connection>,
}

impl DatabaseFile for EmbeddedFile {
    fn name(&self) -> &str {
        "Farbird embedded"
    }

    fn run(&mut self, sql: &str) -> Result<()> {
        let closed = || Failure::Other("the database file is closed".to_owned());
        let connection = self.connection.as_ref().ok_or_else(closed)?;
        connection.execute(sql, ()).map(|_| ()).map_err(failure)
    }

    fn open_again(&mut self, query: &str) -> Result<Duration> {
        self.connection = None;
        let start = Instant::now();
        let connection =
            Database::open(&self.path).and_then(|database| database.connect()).map_err(failure)?;
        let _count: i64 = connection.query_one(query, ()).map_err(failure)?;
        let took = start.elapsed();
        self.connection = Some(connection);
        Ok(took)
    }
}

struct EmbeddedClient {
    connection: Connection,
}

impl Client for EmbeddedClient {
    fn read_all(&mut self, sql: &str, keys: &mut dyn Iterator<Item = i64>) -> Result<i64> {
        let mut statement = self.connection.prepare(sql).map_err(failure)?;
        let transaction = self.connection.transaction().map_err(failure)?;
        let mut sum = 0_i64;
        for key in keys {
            sum = sum.wrapping_add(statement.query_one(&transaction, [key]).map_err(failure)?);
        }
        transaction.commit().map_err(failure)?;
        Ok(sum)
    }

    fn change_all(&mut self, sql: &str, parameters: &mut dyn Iterator<Item = Vec<i64>>) -> Result<()> {
        let mut statement = self.connection.prepare(sql).map_err(failure)?;
        let transaction = self.connection.transaction().map_err(failure)?;
        for row in parameters {
            statement.execute(&transaction, row).map_err(failure)?;
        }
        transaction.commit().map_err(failure)
    }

    fn read(&mut self, sql: &str, key: i64) -> Result<i64> {
        self.connection.query_one(sql, [key]).map_err(failure)
    }

    fn change(&mut self, sql: &str, parameters: &[i64]) -> Result<()> {
        self.connection.execute(sql, parameters).map(|_| ()).map_err(failure)
    }
}

fn failure(error: Error) -> Failure {
    Failure::Other(error.to_string())
}
