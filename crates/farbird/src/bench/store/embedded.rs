//! Farbird's own side of the contest: the library inside this process, used as any program would.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use farbird::{Connection, Database, Isolation, TransactionOptions};
use farbird_lab::contest::{
    About, Committer, Dialect, Failure, LoadWay, LoadedRow, PointReader, Result, Session, Side,
};

/// A database file made for the contest.
pub(super) struct EmbeddedSide {
    path: PathBuf,
    database: Database,
    connection: Connection,
}

impl EmbeddedSide {
    /// Makes a database file, which must not exist.
    pub(super) fn create(path: &Path) -> Result<EmbeddedSide> {
        let database = Database::create(path).map_err(failure)?;
        let connection = database.connect().map_err(failure)?;
        Ok(EmbeddedSide { path: path.to_owned(), database, connection })
    }
}

impl Side for EmbeddedSide {
    fn about(&mut self) -> Result<About> {
        Ok(About {
            version: format!("Farbird {} embedded", env!("CARGO_PKG_VERSION")),
            durability: "each commit waits for the disk".to_owned(),
        })
    }

    fn dialect(&self) -> Dialect {
        Dialect::Firebird
    }

    fn run(&mut self, sql: &str) -> Result<()> {
        self.connection.execute(sql, ()).map(|_| ()).map_err(failure)
    }

    fn integer(&mut self, sql: &str) -> Result<i64> {
        self.connection.query_one(sql, ()).map_err(failure)
    }

    fn bytes_on_disk(&mut self) -> Result<u64> {
        // Should the database ever keep files beside its own, they count: the folder holds nothing else of that name.
        let (Some(folder), Some(name)) = (self.path.parent(), self.path.file_name()) else { return Ok(0) };
        let mut bytes = 0;
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(name.as_encoded_bytes()) {
                bytes += entry.metadata()?.len();
            }
        }
        Ok(bytes)
    }

    fn settle(&mut self) -> Result<()> {
        self.database.sweep().map_err(failure)
    }

    fn connect(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(EmbeddedSession { connection: self.database.connect().map_err(failure)? }))
    }

    fn remove(self: Box<Self>) -> Result<()> {
        let EmbeddedSide { path, database, connection } = *self;
        connection.close().map_err(failure)?;
        drop(database);
        Ok(std::fs::remove_file(path)?)
    }
}

struct EmbeddedSession {
    connection: Connection,
}

impl Session for EmbeddedSession {
    fn point_reader<'s>(&'s mut self, sql: &str) -> Result<PointReader<'s>> {
        let mut statement = self.connection.prepare(sql).map_err(failure)?;
        let transaction = self.connection.transaction().map_err(failure)?;
        Ok(Box::new(move |id| statement.query_one(&transaction, [id]).map_err(failure)))
    }

    fn committer<'s>(&'s mut self, sql: &str) -> Result<Committer<'s>> {
        let mut statement = self.connection.prepare(sql).map_err(failure)?;
        let connection = &self.connection;
        let options = TransactionOptions::new().isolation(Isolation::ReadCommitted);
        Ok(Box::new(move |first, second| {
            let transaction = connection.transaction_with(&options).map_err(failure)?;
            statement.execute(&transaction, [first, second]).map_err(failure)?;
            transaction.commit().map_err(failure)
        }))
    }

    fn load(&mut self, sql: &str, rows: i32, way: LoadWay) -> Result<Option<Duration>> {
        if way == LoadWay::Batch {
            return Ok(None);
        }
        let mut statement = self.connection.prepare(sql).map_err(failure)?;
        let start = Instant::now();
        let transaction = self.connection.transaction().map_err(failure)?;
        for id in 0..rows {
            let LoadedRow { id, name, amount } = LoadedRow::new(id);
            statement.execute(&transaction, (id, name, amount)).map_err(failure)?;
        }
        transaction.commit().map_err(failure)?;
        Ok(Some(start.elapsed()))
    }
}

fn failure(error: farbird::Error) -> Failure {
    Failure::Other(error.to_string())
}
