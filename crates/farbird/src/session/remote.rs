//! A session with a database of a server, over the wire.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use farbird::{Dialect, TableCounts};
use farbird_client::blocking::{Batch, Connection, Pipeline};
use farbird_client::{
    Column as ClientColumn, ConnectOptions, CreateOptions, Isolation, Outcome, Statement, Transaction,
    TransactionOptions,
};
use farbird_sql::ParseOptions;
use farbird_sql::ast::{StatementKind, TransactionStatement};
use farbird_types::{BlobId, Error, SqlType, Value, isc};

use super::load::{Load, LoadRow};
use super::{
    Blobs, Canceller, Column, Contents, Description, Failure, Kind, Opening, Ran, Session, Sink,
    WireCounters, bind, text_of_bytes,
};

/// Longest text that a query about the catalog gives, in bytes.
const CATALOG_TEXT_BYTES: usize = 1 << 20;

/// A session with a database of a server.
pub(crate) struct RemoteSession {
    connection: Connection,
    transaction: Option<Transaction>,
    commit_definitions: bool,
    /// Whether the statement that runs is to end. A server may find nothing to cancel, because it is between two fetches, of
    /// which more are on their way.
    is_cancelled: Arc<AtomicBool>,
    address: String,
}

impl RemoteSession {
    /// Connects and attaches, or makes the database, as `opening` says.
    pub(crate) fn open(
        address: &str,
        options: &ConnectOptions,
        opening: &Opening,
    ) -> Result<RemoteSession, Error> {
        let connection = match &opening.new {
            Some(new) => {
                let mut wanted = CreateOptions { page_size: new.page_size, ..CreateOptions::default() };
                if let Some(character_set) = &new.character_set {
                    wanted.character_set.clone_from(character_set);
                }
                Connection::create(address, &wanted, options)
            }
            None => match Connection::attach(address, options) {
                Err(error) if opening.create && error.has(isc::IO_ERROR) => {
                    Connection::create(address, &CreateOptions::default(), options)
                }
                other => other,
            },
        }?;
        Ok(RemoteSession {
            connection,
            transaction: None,
            commit_definitions: true,
            is_cancelled: Arc::new(AtomicBool::new(false)),
            address: address.to_owned(),
        })
    }

    /// Drops the database.
    pub(crate) fn drop_database(mut self) -> Result<(), Error> {
        self.rollback()?;
        self.connection.drop_database()
    }

    /// Takes leave.
    pub(crate) fn close(mut self) -> Result<(), Error> {
        self.rollback()?;
        self.connection.close()
    }

    /// The transaction that is open, or a new one: SNAPSHOT, READ WRITE, WAIT.
    fn begin(&mut self) -> Result<&Transaction, Error> {
        let transaction = match self.transaction.take() {
            Some(transaction) => transaction,
            None => self.connection.begin(&TransactionOptions::default())?,
        };
        Ok(self.transaction.insert(transaction))
    }

    /// COMMIT, ROLLBACK and SET TRANSACTION are the client's affair. False for what is the server's.
    fn control(&mut self, statement: &TransactionStatement, sql: &str) -> Result<bool, Error> {
        match statement {
            TransactionStatement::Set(_) => {
                self.rollback()?;
                let transaction = self.connection.begin_by(sql)?;
                // That it was refused would show when it is used: ask now.
                self.connection.transaction_information(&transaction)?;
                self.transaction = Some(transaction);
            }
            TransactionStatement::Commit { retain: false } => self.commit()?,
            TransactionStatement::Rollback { retain: false } => self.rollback()?,
            TransactionStatement::Commit { retain: true } => {
                if let Some(transaction) = &self.transaction {
                    self.connection.commit_retaining(transaction)?;
                }
            }
            TransactionStatement::Rollback { retain: true } => {
                if let Some(transaction) = &self.transaction {
                    self.connection.rollback_retaining(transaction)?;
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn run_in(
        &self,
        transaction: &Transaction,
        statement: &Statement,
        parameters: &[Value],
        sink: &mut dyn Sink,
    ) -> Result<(), Failure> {
        let columns: Vec<Column> = statement.columns().iter().map(column).collect();
        let mut blobs = RowBlobs { connection: &self.connection, transaction };
        let has_rows = !columns.is_empty();
        if !statement.has_cursor() {
            let row = self.connection.execute(transaction, statement, parameters)?;
            if has_rows {
                sink.columns(&columns)?;
            }
            return match row.filter(|_| has_rows) {
                Some(row) => sink.row(&row.to_values(), &mut blobs),
                None => Ok(()),
            };
        }
        let mut cursor = self.connection.query(transaction, statement, parameters)?;
        cursor.opened()?;
        sink.columns(&columns)?;
        for row in cursor {
            if self.is_cancelled.load(Ordering::Relaxed) {
                return Err(Error::new(isc::CANCELLED).into());
            }
            sink.row(&row?.to_values(), &mut blobs)?;
        }
        Ok(())
    }

    fn all_rows(
        &self,
        transaction: &Transaction,
        sql: &str,
        parameters: &[Value],
    ) -> Result<Vec<Vec<Value>>, Error> {
        let statement = self.connection.prepare(transaction, sql)?;
        let columns: Vec<Column> = statement.columns().iter().map(column).collect();
        let rows = self.connection.query(transaction, &statement, parameters)?;
        let mut rows: Vec<Vec<Value>> = rows.map(|row| Ok(row?.to_values())).collect::<Result<_, Error>>()?;
        let mut blobs = RowBlobs { connection: &self.connection, transaction };
        for (value, column) in rows.iter_mut().flat_map(|row| row.iter_mut().zip(&columns)) {
            if let (Value::Blob(id), SqlType::Blob { character_set, .. }) = (&*value, column.sql_type) {
                let contents = blobs.read(*id, CATALOG_TEXT_BYTES)?;
                *value = Value::text(&text_of_bytes(&contents.bytes, character_set));
            }
        }
        Ok(rows)
    }
}

impl Session for RemoteSession {
    fn run(
        &mut self,
        sql: &str,
        bound: &[Option<String>],
        count: bool,
        sink: &mut dyn Sink,
    ) -> Result<Ran, Failure> {
        self.is_cancelled.store(false, Ordering::Relaxed);
        if let Some(statement) = transaction_statement(sql)
            && self.control(&statement, sql)?
        {
            return Ok(Ran { kind: Kind::Transaction, changed: None });
        }
        self.begin()?;
        let Some(transaction) = &self.transaction else {
            return Err(Error::new(isc::BAD_TRANS_HANDLE).into());
        };
        let statement = self.connection.prepare(transaction, sql)?;
        let wanted: Vec<Column> = statement.parameters().iter().map(column).collect();
        let mut parameters = bind(&wanted, bound)?;
        for (value, parameter) in parameters.iter_mut().zip(&wanted) {
            if let (SqlType::Blob { .. }, Value::Text(text)) = (parameter.sql_type, &*value) {
                *value = Value::Blob(self.connection.write_blob(transaction, text.bytes())?);
            }
        }
        self.run_in(transaction, &statement, &parameters, sink)?;
        let kind = kind_of(&statement);
        let mut changed = None;
        if count && kind == Kind::Change {
            let counts = self.connection.counts(&statement)?;
            changed = Some([counts.inserted, counts.updated, counts.deleted].map(u64::from).iter().sum());
        }
        if kind == Kind::Definition && self.commit_definitions {
            self.commit()?;
        }
        Ok(Ran { kind, changed })
    }

    fn look_up(&mut self, sql: &str, parameters: &[Value]) -> Result<Vec<Vec<Value>>, Error> {
        match &self.transaction {
            Some(transaction) => self.all_rows(transaction, sql, parameters),
            None => {
                let isolation = Isolation::ReadCommitted;
                let options =
                    TransactionOptions { isolation, read_only: true, ..TransactionOptions::default() };
                // Dropped, it ends with the next flight.
                let transaction = self.connection.begin(&options)?;
                self.all_rows(&transaction, sql, parameters)
            }
        }
    }

    fn describe(&mut self, sql: &str) -> Result<Description, Error> {
        let own;
        let transaction = match &self.transaction {
            Some(transaction) => transaction,
            None => {
                own = self.connection.begin(&TransactionOptions::default())?;
                &own
            }
        };
        let statement = self.connection.prepare(transaction, sql)?;
        let plan = self.connection.plan(&statement)?;
        Ok(Description {
            columns: statement.columns().iter().map(column).collect(),
            parameters: statement.parameters().iter().map(column).collect(),
            plan,
        })
    }

    fn load(
        &mut self,
        sql: &str,
        rows_per_commit: Option<u64>,
        source: &mut dyn Load,
    ) -> Result<(), Failure> {
        self.rollback()?;
        let mut first = 0;
        loop {
            let transaction = self.connection.begin(&TransactionOptions::default())?;
            let statement = self.connection.prepare(&transaction, sql)?;
            let end = rows_per_commit.map_or(u64::MAX, |rows| first + rows);
            let mut feed =
                Feed { source: &mut *source, first, next: first, end, more: true, skipped: Vec::new() };
            match self.connection.batch(&transaction, &statement) {
                Ok(batch) => feed.through_batch(batch)?,
                Err(error) if error.has(isc::WISH_LIST) => {
                    let pipeline = self.connection.pipeline(&transaction, &statement);
                    feed.through_pipeline(pipeline, &self.connection, &transaction)?;
                }
                Err(error) => return Err(error.into()),
            }
            let (more, next) = (feed.more, feed.next);
            self.connection.commit(transaction)?;
            source.committed(next);
            first = next;
            if !more {
                return Ok(());
            }
        }
    }

    fn commit(&mut self) -> Result<(), Error> {
        match self.transaction.take() {
            Some(transaction) => self.connection.commit(transaction),
            None => Ok(()),
        }
    }

    fn rollback(&mut self) -> Result<(), Error> {
        match self.transaction.take() {
            Some(transaction) => self.connection.rollback(transaction),
            None => Ok(()),
        }
    }

    fn is_in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    fn commit_definitions(&mut self, at_once: bool) {
        self.commit_definitions = at_once;
    }

    fn set_dialect(&mut self, dialect: Dialect) {
        // Every dialect that there is has a number that the client knows.
        if let Err(error) = self.connection.set_dialect(dialect.number()) {
            tracing::debug!(%error, "the client refuses a dialect");
        }
    }

    fn canceller(&self) -> Canceller {
        let canceller = self.connection.canceller();
        let is_cancelled = Arc::clone(&self.is_cancelled);
        Box::new(move || {
            is_cancelled.store(true, Ordering::Relaxed);
            if let Err(error) = canceller.cancel() {
                tracing::debug!(%error, "nothing is there to be cancelled");
            }
        })
    }

    fn forget_cancel(&mut self) {
        // The server keeps a cancel for the next request: this one takes it.
        if let Err(error) = self.look_up("select 1 from rdb$database", &[]) {
            tracing::debug!(%error, "took a late cancel");
        }
    }

    fn table_counts(&mut self) -> Result<BTreeMap<u32, TableCounts>, Error> {
        Ok(table_counts(&self.connection.database_information(&TABLE_ITEMS)?))
    }

    fn counters(&self) -> Option<WireCounters> {
        Some(self.connection.counters())
    }

    fn about(&mut self) -> Result<Vec<(&'static str, String)>, Error> {
        let version = self.connection.server_version()?;
        Ok(vec![
            ("Database", self.address.clone()),
            ("Server", version),
            ("Protocol", self.connection.version().number().to_string()),
        ])
    }
}

/// isc_info_read_seq_count and its likes, in the order of the fields of [`TableCounts`]; isc_info_end.
const TABLE_ITEMS: [u8; 9] = [23, 24, 25, 26, 27, 28, 29, 30, 1];

/// The counts of each table in an answer to [`TABLE_ITEMS`]: items with a length of two bytes, of entries with the number of a table in
/// two bytes and a count in four. What has another form is passed over.
fn table_counts(answer: &[u8]) -> BTreeMap<u32, TableCounts> {
    let mut tables: BTreeMap<u32, TableCounts> = BTreeMap::new();
    let mut rest = answer;
    while let Some((&[item, low, high], behind)) = rest.split_first_chunk()
        && let Some((entries, behind)) = behind.split_at_checked(u16::from_le_bytes([low, high]).into())
    {
        rest = behind;
        for entry in entries.chunks_exact(6) {
            let &[low, high, a, b, c, d] = entry else { continue };
            let table = tables.entry(u16::from_le_bytes([low, high]).into()).or_default();
            let count = u64::from(u32::from_le_bytes([a, b, c, d]));
            match item {
                23 => table.natural = count,
                24 => table.indexed = count,
                25 => table.inserted = count,
                26 => table.updated = count,
                27 => table.deleted = count,
                28 => table.backed_out = count,
                29 => table.purged = count,
                30 => table.expunged = count,
                _ => {}
            }
        }
    }
    tables
}

/// The BLOBs of a transaction's rows.
struct RowBlobs<'c> {
    connection: &'c Connection,
    transaction: &'c Transaction,
}

impl Blobs for RowBlobs<'_> {
    fn read(&mut self, id: BlobId, bytes_max: usize) -> Result<Contents, Error> {
        let mut reader = self.connection.open_blob(self.transaction, id)?;
        let mut bytes = Vec::new();
        // One more than is wanted tells whether there is more.
        let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
        reader.by_ref().take(limit).read_to_end(&mut bytes).map_err(|error| {
            // Behind it is the driver's own error, made an I/O error for the sake of `Read`.
            match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
                Some(inner) => inner.clone(),
                None => Error::new(isc::RANDOM).with(error.to_string()),
            }
        })?;
        let cut = bytes.len() > bytes_max;
        bytes.truncate(bytes_max);
        Ok(Contents { bytes, cut })
    }
}

fn column(column: &ClientColumn) -> Column {
    Column {
        name: column.label.clone(),
        table: column.relation.clone(),
        sql_type: column.sql_type(),
        nullable: column.nullable,
    }
}

fn kind_of(statement: &Statement) -> Kind {
    // Numbers of isc_info_sql_stmt_*.
    match statement.kind() {
        1 | 12 => Kind::Query,
        2..=4 => Kind::Change,
        5 => Kind::Definition,
        9..=11 => Kind::Transaction,
        _ if statement.has_cursor() => Kind::Query,
        _ => Kind::Other,
    }
}

/// A statement about transactions, if it is one.
fn transaction_statement(sql: &str) -> Option<TransactionStatement> {
    let first = sql.split_whitespace().next()?;
    if !["COMMIT", "ROLLBACK", "SET"].iter().any(|word| first.eq_ignore_ascii_case(word)) {
        return None;
    }
    match farbird_sql::parse_statement(sql, &ParseOptions::default()).ok()?.kind {
        StatementKind::Transaction(statement) => Some(*statement),
        _ => None,
    }
}

/// The rows of one transaction, between their source and the wire.
struct Feed<'s> {
    source: &'s mut dyn Load,
    /// Number of this transaction's first row.
    first: u64,
    /// Number of the next row.
    next: u64,
    /// Where this transaction ends.
    end: u64,
    /// Whether the source has more.
    more: bool,
    /// Rows that were not sent because they do not suit the parameters.
    skipped: Vec<u64>,
}

impl Feed<'_> {
    fn next_row(&mut self, row: &mut LoadRow) -> Result<bool, Failure> {
        if self.next == self.end {
            return Ok(false);
        }
        self.more = self.source.next_row(row)?;
        Ok(self.more)
    }

    /// A row was handed over, or could not be.
    fn handed_over(&mut self, result: Result<(), Error>) -> Result<(), Failure> {
        match result {
            Ok(()) => {}
            // The row's own fault rather than the line's.
            Err(error) if [isc::ARITH_EXCEPT, isc::DSQL_SQLDA_ERR].iter().any(|code| error.has(*code)) => {
                self.skipped.push(self.next);
                self.source.refused(self.next, error)?;
            }
            Err(error) => return Err(error.into()),
        }
        self.next += 1;
        Ok(())
    }

    /// The number of the row that was sent as this transaction's row `position`.
    fn number(&self, position: u64) -> u64 {
        let mut number = self.first + position;
        for skipped in &self.skipped {
            number += u64::from(*skipped <= number);
        }
        number
    }

    /// Hands on what is known of rows.
    fn report(&mut self, outcome: Outcome) -> Result<(), Failure> {
        for (position, error) in outcome.failures {
            let number = self.number(position);
            self.source.refused(number, error)?;
        }
        for position in outcome.further {
            let number = self.number(position);
            let error = Error::new(isc::RANDOM).with("refused; the server tells why only of the first rows");
            self.source.refused(number, error)?;
        }
        let known = self.number(outcome.executed);
        self.source.settled(known.min(self.next));
        Ok(())
    }

    fn through_batch(&mut self, mut batch: Batch) -> Result<(), Failure> {
        let mut row = LoadRow::default();
        let mut reported = 0;
        while self.next_row(&mut row)? {
            for (place, contents) in row.blobs.drain(..) {
                if let Some(value) = row.values.get_mut(place) {
                    *value = batch.add_blob(&contents)?;
                }
            }
            let added = batch.add(&row.values);
            self.handed_over(added)?;
            if batch.executed() != reported {
                reported = batch.executed();
                self.report(batch.take_outcome())?;
            }
        }
        let outcome = batch.finish()?;
        self.report(outcome)
    }

    fn through_pipeline(
        &mut self,
        mut pipeline: Pipeline,
        connection: &Connection,
        transaction: &Transaction,
    ) -> Result<(), Failure> {
        let mut row = LoadRow::default();
        let mut reported = 0;
        while self.next_row(&mut row)? {
            for (place, contents) in row.blobs.drain(..) {
                if let Some(value) = row.values.get_mut(place) {
                    *value = Value::Blob(connection.write_blob(transaction, &contents)?);
                }
            }
            let queued = pipeline.execute(&row.values);
            self.handed_over(queued)?;
            if pipeline.executed() != reported {
                reported = pipeline.executed();
                self.report(pipeline.take_outcome())?;
            }
        }
        let outcome = pipeline.finish()?;
        self.report(outcome)
    }
}
