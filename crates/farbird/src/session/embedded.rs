//! A session with a database file, on the embedded engine.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::Arc;

use farbird::{Connection, Dialect, Row, Script, TableCounts, ToValue};
use farbird_types::{BlobId, CharacterSet, Error, SqlType, Value, isc};

use super::load::{Load, LoadRow};
use super::{
    Blobs, Canceller, Column, Contents, Description, Failure, Kind, Ran, Session, Sink, WireCounters, bind,
};

/// A session with a database file.
pub(crate) struct EmbeddedSession<'c> {
    connection: &'c Connection,
    script: Script<'c>,
}

/// The status behind an error of the library.
pub(super) fn status(error: &farbird::Error) -> Error {
    error.status().cloned().unwrap_or_else(|| Error::new(isc::RANDOM).with(error.to_string()))
}

fn failed(error: farbird::Error) -> Error {
    status(&error)
}

impl<'c> EmbeddedSession<'c> {
    /// No transaction is open yet; definitions commit at once.
    pub(crate) fn new(connection: &'c Connection) -> EmbeddedSession<'c> {
        let mut script = Script::new(connection);
        script.commit_definitions(true);
        EmbeddedSession { connection, script }
    }
}

impl Session for EmbeddedSession<'_> {
    fn run(
        &mut self,
        sql: &str,
        bound: &[Option<String>],
        count: bool,
        sink: &mut dyn Sink,
    ) -> Result<Ran, Failure> {
        let parameters = match bound {
            [] => Vec::new(),
            bound => bind(&self.describe(sql)?.parameters, bound)?,
        };
        let mut rows = self.script.query(sql, parameters).map_err(failed)?;
        let kind = kind_of(rows.kind());
        let columns: Vec<Column> = rows.columns().map(column).collect();
        if !columns.is_empty() {
            sink.columns(&columns)?;
        }
        for row in rows.by_ref() {
            let row = row.map_err(failed)?;
            sink.row(row.values(), &mut RowBlobs(&row))?;
        }
        let counts = count && matches!(kind, Kind::Change | Kind::Query);
        let changed = if counts { Some(rows.changed().map_err(failed)?) } else { None };
        Ok(Ran { kind, changed: changed.filter(|count| kind == Kind::Change || *count > 0) })
    }

    fn look_up(&mut self, sql: &str, parameters: &[Value]) -> Result<Vec<Vec<Value>>, Error> {
        let rows = match self.script.is_in_transaction() {
            true => self.script.query(sql, parameters),
            false => self.connection.query(sql, parameters),
        };
        let row_values = |row: farbird::Result<Row<'_>>| {
            let row = row.map_err(failed)?;
            let value = |(index, value): (usize, &Value)| match value {
                Value::Blob(_) => row.get::<String>(index).map(|text| Value::text(&text)).map_err(failed),
                value => Ok(value.clone()),
            };
            row.values().iter().enumerate().map(value).collect()
        };
        rows.map_err(failed)?.map(row_values).collect()
    }

    fn describe(&mut self, sql: &str) -> Result<Description, Error> {
        let statement = self.connection.prepare(sql).map_err(failed)?;
        Ok(Description {
            columns: statement.columns().map(column).collect(),
            parameters: statement.parameters().map(column).collect(),
            plan: statement.plan().to_owned(),
        })
    }

    fn load(
        &mut self,
        sql: &str,
        rows_per_commit: Option<u64>,
        source: &mut dyn Load,
    ) -> Result<(), Failure> {
        let mut statement = self.connection.prepare(sql).map_err(failed)?;
        let mut row = LoadRow::default();
        let mut number = 0;
        let mut more = true;
        while more {
            let transaction = self.connection.transaction().map_err(failed)?;
            let end = rows_per_commit.map_or(u64::MAX, |rows| number + rows);
            while number < end {
                more = source.next_row(&mut row)?;
                if !more {
                    break;
                }
                if let Err(error) = insert(&mut statement, &transaction, &mut row) {
                    source.refused(number, failed(error))?;
                }
                number += 1;
                source.settled(number);
            }
            transaction.commit().map_err(failed)?;
            source.committed(number);
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Error> {
        self.script.commit().map_err(failed)
    }

    fn rollback(&mut self) -> Result<(), Error> {
        self.script.rollback().map_err(failed)
    }

    fn is_in_transaction(&self) -> bool {
        self.script.is_in_transaction()
    }

    fn commit_definitions(&mut self, at_once: bool) {
        self.script.commit_definitions(at_once);
    }

    fn set_dialect(&mut self, dialect: Dialect) {
        self.connection.set_dialect(dialect);
    }

    fn canceller(&self) -> Canceller {
        let canceller = Arc::new(self.connection.canceller());
        Box::new(move || canceller.cancel())
    }

    fn forget_cancel(&mut self) {
        // The engine keeps a cancel for the next call: this one takes it.
        if let Err(error) = self.connection.execute("select 1 from rdb$database", ()) {
            tracing::debug!(%error, "took a late cancel");
        }
    }

    fn table_counts(&mut self) -> Result<BTreeMap<u32, TableCounts>, Error> {
        self.connection.table_counts().map_err(failed)
    }

    fn counters(&self) -> Option<WireCounters> {
        None
    }

    fn about(&mut self) -> Result<Vec<(&'static str, String)>, Error> {
        let engine = format!("Farbird {}, embedded: no server is involved", env!("CARGO_PKG_VERSION"));
        Ok(vec![("Engine", engine)])
    }
}

fn insert(
    statement: &mut farbird::Statement,
    transaction: &farbird::Transaction<'_>,
    row: &mut LoadRow,
) -> farbird::Result<()> {
    for (place, contents) in row.blobs.drain(..) {
        let mut writer = transaction.create_blob()?;
        let written = writer.write_all(&contents);
        let blob = writer.finish()?;
        // What the writer says of a failed write is that of its last piece, which `finish` has repeated.
        if let (Ok(()), Some(value)) = (written, row.values.get_mut(place)) {
            *value = blob.to_value();
        }
    }
    statement.execute(transaction, row.values.as_slice()).map(drop)
}

pub(super) fn column(column: farbird::Column<'_>) -> Column {
    Column {
        name: column.name().to_owned(),
        table: column.table().to_owned(),
        sql_type: with_contents_in_utf8(column.sql_type()),
        nullable: column.is_nullable(),
    }
}

/// Texts in BLOBs are handed over in UTF8.
fn with_contents_in_utf8(sql_type: SqlType) -> SqlType {
    match sql_type {
        SqlType::Blob { subtype: 1, character_set, collation }
            if ![CharacterSet::NONE, CharacterSet::OCTETS].contains(&character_set) =>
        {
            SqlType::Blob { subtype: 1, character_set: CharacterSet::UTF8, collation }
        }
        other => other,
    }
}

fn kind_of(kind: farbird::StatementKind) -> Kind {
    use farbird::StatementKind::{
        Commit, Ddl, Delete, Insert, Rollback, Select, SelectForUpdate, StartTransaction, Update,
    };
    match kind {
        Select | SelectForUpdate => Kind::Query,
        Insert | Update | Delete => Kind::Change,
        Ddl => Kind::Definition,
        StartTransaction | Commit | Rollback => Kind::Transaction,
        _ => Kind::Other,
    }
}

/// The BLOBs of a row.
struct RowBlobs<'r>(&'r Row<'r>);

impl Blobs for RowBlobs<'_> {
    fn read(&mut self, id: BlobId, bytes_max: usize) -> Result<Contents, Error> {
        let index = self.0.values().iter().position(|value| *value == Value::Blob(id)).unwrap_or_default();
        let mut blob = self.0.open_blob(index).map_err(failed)?;
        let mut bytes = Vec::new();
        let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX);
        blob.by_ref().take(limit).read_to_end(&mut bytes).map_err(|error| {
            // Behind it is the library's own error, made an I/O error for the sake of `Read`.
            match error.get_ref().and_then(|inner| inner.downcast_ref::<farbird::Error>()) {
                Some(inner) => status(inner),
                None => Error::new(isc::RANDOM).with(error.to_string()),
            }
        })?;
        Ok(Contents { cut: blob.len() > limit, bytes })
    }
}
