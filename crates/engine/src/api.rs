//! What callers of the engine (the server, the embedding API, tests) hand in and get back.
//!
//! Plain values only. The calls themselves stand in `engine` and `attachment`.

use std::time::Duration;

use farbird_types::{BlobId, CharacterSet, ColumnType, Result, Value};

pub use crate::execute::ColumnRows;
pub use farbird_record::{ColumnValues, ColumnVector};

/// A transaction of an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransactionHandle(pub u32);

/// A statement of an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StatementHandle(pub u32);

/// An open BLOB of an attachment, being written or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobHandle(pub u32);

/// Who attaches, and how.
#[derive(Debug, Clone)]
pub struct AttachOptions {
    /// Authenticated user, normalised (`SYSDBA`).
    pub user: String,
    /// Role asked for, or `None`.
    pub role: Option<String>,
    /// Character set of the client's texts (`isc_dpb_lc_ctype`).
    pub character_set: CharacterSet,
    /// SQL dialect, 1 or 3.
    pub dialect: u8,
    /// `isc_dpb_session_time_zone`.
    pub time_zone: Option<String>,
    /// `isc_dpb_no_db_triggers`.
    pub no_database_triggers: bool,
    /// What MON$ATTACHMENTS shows of the peer.
    pub client: ClientDescription,
}

/// What is known of the program at the other end; shown in MON$ATTACHMENTS.
#[derive(Debug, Clone, Default)]
pub struct ClientDescription {
    /// `TCPv4`, `TCPv6` or empty when embedded.
    pub protocol: String,
    /// Address and port.
    pub address: String,
    /// Host name as the client tells it.
    pub host: String,
    /// Operating system user as the client tells it.
    pub os_user: String,
    /// Program's path.
    pub process_name: String,
    /// Program's process id.
    pub process_id: Option<i32>,
    /// Client library's version.
    pub client_version: String,
    /// `P19` and the like.
    pub remote_version: String,
    /// Authentication plugin used.
    pub authentication: String,
    /// Wire encryption plugin, or empty.
    pub wire_crypt: String,
    /// Whether the wire is compressed.
    pub wire_compressed: bool,
}

/// What CREATE DATABASE (or a driver's create call) asks for.
#[derive(Debug, Clone)]
pub struct CreateDatabaseOptions {
    /// `isc_dpb_set_db_charset` / DEFAULT CHARACTER SET.
    pub default_character_set: CharacterSet,
    /// Page size that is reported to those who ask; the store has no pages of that size.
    pub page_size: u32,
    /// Overwrite an existing Farbird database (`isc_dpb_overwrite`).
    pub overwrite: bool,
    /// SQL dialect of the database.
    pub dialect: u8,
}

/// Isolation level of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// SNAPSHOT (concurrency).
    Snapshot,
    /// SNAPSHOT TABLE STABILITY (consistency).
    TableStability,
    /// READ COMMITTED; always with read consistency, as Firebird 4 and later default to.
    ReadCommitted,
}

/// Lock wish of a RESERVING clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableReservation {
    /// Relation's name.
    pub relation: String,
    /// FOR WRITE rather than FOR READ.
    pub write: bool,
    /// PROTECTED rather than SHARED.
    pub protected: bool,
}

/// Transaction parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionParameters {
    /// Isolation level.
    pub isolation: Isolation,
    /// READ ONLY.
    pub read_only: bool,
    /// How long to wait for another's lock: `None` for ever, zero not at all.
    pub lock_timeout: Option<Duration>,
    /// SNAPSHOT AT NUMBER.
    pub at_snapshot: Option<u64>,
    /// Each statement commits by itself (`isc_tpb_autocommit`).
    pub auto_commit: bool,
    /// NO AUTO UNDO. It is shown; what is undone at a rollback is the store's affair.
    pub no_auto_undo: bool,
    /// RESERVING.
    pub reservations: Vec<TableReservation>,
}

impl Default for TransactionParameters {
    fn default() -> Self {
        TransactionParameters {
            isolation: Isolation::Snapshot,
            read_only: false,
            lock_timeout: None,
            at_snapshot: None,
            auto_commit: false,
            no_auto_undo: false,
            reservations: Vec::new(),
        }
    }
}

/// Kind of a prepared statement (`isc_info_sql_stmt_*`; wire-protocol.md, 11.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementKind {
    /// SELECT, EXECUTE BLOCK with SUSPEND, RETURNING with a cursor.
    Select = 1,
    /// INSERT.
    Insert = 2,
    /// UPDATE.
    Update = 3,
    /// DELETE.
    Delete = 4,
    /// DDL and session commands.
    Ddl = 5,
    /// EXECUTE PROCEDURE, EXECUTE BLOCK without SUSPEND, singleton RETURNING.
    ExecuteProcedure = 8,
    /// SET TRANSACTION.
    StartTransaction = 9,
    /// COMMIT.
    Commit = 10,
    /// ROLLBACK.
    Rollback = 11,
    /// SELECT ... FOR UPDATE.
    SelectForUpdate = 12,
    /// SET GENERATOR.
    SetGenerator = 13,
    /// SAVEPOINT and its relatives.
    Savepoint = 14,
}

/// A column of a result or a parameter of a statement, as prepare describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnDescription {
    /// Type and nullability.
    pub column_type: ColumnType,
    /// Source column's name, or the expression's (`ADD`, `COUNT`).
    pub field: String,
    /// Source relation's name, or empty.
    pub relation: String,
    /// Alias of the relation in the query, or empty.
    pub relation_alias: String,
    /// Owner of the source relation, or empty.
    pub owner: String,
    /// Label of the column: its alias, or its name.
    pub alias: String,
}

/// What prepare found out about a statement.
#[derive(Debug, Clone, PartialEq)]
pub struct StatementDescription {
    /// Kind.
    pub kind: StatementKind,
    /// Parameters in order.
    pub parameters: Vec<ColumnDescription>,
    /// Result columns.
    pub columns: Vec<ColumnDescription>,
    /// Whether executing it opens a cursor (as opposed to handing back one row, or none).
    pub has_cursor: bool,
    /// Access plan in Firebird's short form (`PLAN (T NATURAL)`), or empty.
    pub plan: String,
    /// Access plan in Firebird's explained form, or empty.
    pub explained_plan: String,
}

/// Rows a statement touched (`isc_info_sql_records`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordCounts {
    /// Rows handed to the client.
    pub selected: u64,
    /// Rows inserted.
    pub inserted: u64,
    /// Rows updated.
    pub updated: u64,
    /// Rows deleted.
    pub deleted: u64,
}

/// What executing a statement led to.
#[derive(Debug, Clone, PartialEq)]
pub enum Execution {
    /// It ran; nothing to hand back.
    Done,
    /// It ran and gave one row (EXECUTE PROCEDURE, singleton RETURNING); `None` when no row was touched.
    Row(Option<Vec<Value>>),
    /// A cursor is open on the statement: fetch from it.
    CursorOpened,
    /// SET TRANSACTION started this transaction.
    TransactionStarted(TransactionHandle),
    /// COMMIT or ROLLBACK as SQL ended the transaction it ran in.
    TransactionEnded,
}

/// How a fetch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchEnd {
    /// As many rows as asked for; there may be more.
    MoreToCome,
    /// The cursor is at its end.
    EndOfCursor,
}

/// Rows on their way out: value after value in one vector, so that a buffer used again allocates nothing.
#[derive(Debug, Default)]
pub struct Rows {
    values: Vec<Value>,
    width: usize,
}

impl Rows {
    /// Empties it, for rows of `width` values.
    pub fn reset(&mut self, width: usize) {
        self.values.clear();
        self.width = width;
    }

    /// Adds a row.
    pub fn push(&mut self, row: &[Value]) {
        debug_assert_eq!(row.len(), self.width, "rows of one buffer are of one width");
        self.values.extend_from_slice(row);
    }

    /// Adds a row, taking its values.
    pub(crate) fn take(&mut self, row: &mut [Value]) {
        debug_assert_eq!(row.len(), self.width, "rows of one buffer are of one width");
        self.values.extend(row.iter_mut().map(std::mem::take));
    }

    /// How many rows there are. Rows of no columns do not exist in SQL.
    pub fn len(&self) -> usize {
        self.values.len().checked_div(self.width).unwrap_or(0)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The row at `index`; empty past the end.
    pub fn row(&self, index: usize) -> &[Value] {
        let start = index.saturating_mul(self.width);
        self.values.get(start..start.saturating_add(self.width)).unwrap_or_default()
    }

    /// The rows in order.
    pub fn iter(&self) -> impl Iterator<Item = &[Value]> {
        self.values.chunks_exact(self.width.max(1))
    }
}

/// Rows on their way out in whichever way they come: row by row, or by columns.
#[derive(Debug, Default)]
pub struct FetchedRows {
    /// The rows, unless they are in `columns`.
    pub rows: Rows,
    /// The rows, unless they are in `rows`.
    pub columns: ColumnRows,
}

impl FetchedRows {
    /// Empties it, for rows of `width` values.
    pub fn reset(&mut self, width: usize) {
        self.rows.reset(width);
        self.columns.clear();
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len() + self.columns.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.columns.is_empty()
    }

    /// Whether the rows are by columns.
    pub fn by_columns(&self) -> bool {
        !self.columns.is_empty()
    }

    /// Makes rows of columns, from a row on; those before it are dropped.
    ///
    /// # Errors
    /// A column is damaged.
    pub fn make_rows(&mut self, from: usize) -> Result<()> {
        let FetchedRows { rows, columns } = self;
        let made = columns.for_each_row(from..columns.len(), rows.width, |row| rows.push(row));
        columns.clear();
        made
    }
}

/// Where a scrollable cursor goes (`op_fetch_scroll`; wire-protocol.md, 8.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Scroll {
    Next,
    Prior,
    First,
    Last,
    Absolute(i64),
    Relative(i64),
}

/// What the caller of a statement that gives rows wants of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowsWanted {
    /// A cursor to fetch them from.
    #[default]
    Cursor,
    /// The only row, if there is one; a second one is an error (`isc_sing_select_err`).
    AtMostOne,
    /// The only row; none is an error too (`isc_stream_eof`).
    One,
}

/// The page size that a database reports which was to have this one: the next smaller one that Firebird has.
pub fn reported_page_size(wanted: u32) -> u32 {
    1 << wanted.clamp(4096, 32768).ilog2()
}

/// How a statement is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExecuteOptions {
    /// The statement must end within this time.
    pub timeout: Option<Duration>,
    /// A cursor, or one row.
    pub rows: RowsWanted,
    /// The cursor may scroll.
    pub scrollable: bool,
}

/// How a BLOB is made or read (`isc_bpb_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlobParameters {
    /// Stream rather than segmented.
    pub stream: bool,
    /// Subtype and character set that the client writes or wants to read, if it says so.
    pub client: Option<(i16, CharacterSet)>,
    /// Subtype and character set of the column, if the client says so.
    pub column: Option<(i16, CharacterSet)>,
}

/// Facts about a BLOB (`isc_info_blob_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlobFacts {
    /// The BLOB.
    pub id: BlobId,
    /// Number of segments.
    pub segments: u64,
    /// Longest segment in bytes.
    pub longest_segment: u32,
    /// Bytes in all.
    pub total_bytes: u64,
    /// Stream rather than segmented.
    pub stream: bool,
}
