//! What callers of the engine (the server, the embedding API, tests) hand in and get back.
//!
//! Plain values only. The calls themselves stand in `engine` and `attachment`.

use std::time::Duration;

use farbird_types::{BlobId, CharacterSet, Result, Value};

pub use crate::execute::ColumnRows;
pub use farbird_record::{ColumnValues, ColumnVector};
pub use farbird_session::{
    AttachOptions, ClientDescription, ColumnDescription, CreateDatabaseOptions, Isolation, RecordCounts,
    StatementDescription, StatementKind, TableReservation, TransactionParameters,
};

/// A transaction of an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransactionHandle(pub u32);

/// A statement of an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StatementHandle(pub u32);

/// A compiled BLR request of an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestHandle(pub u32);

/// What an instance of a BLR request is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestState {
    /// It has ended, or has not begun.
    Inactive,
    /// It hands out a message of this number.
    Sending(u8),
    /// It waits for one of these messages.
    Receiving(Vec<u8>),
}

/// Facts about an instance of a BLR request (`isc_info_*` of isc_request_info).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFacts {
    /// What it is doing.
    pub state: RequestState,
    /// Rows that it has touched since it was started.
    pub counts: RecordCounts,
}

/// An open BLOB of an attachment, being written or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobHandle(pub u32);

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

/// A table or column, as slices of arrays name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named<'a> {
    /// By its name.
    Name(&'a str),
    /// By its number: RDB$RELATION_ID, RDB$FIELD_ID.
    Number(u16),
}

/// The column that an array is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrayColumn<'a> {
    /// The table.
    pub relation: Named<'a>,
    /// The column.
    pub field: Named<'a>,
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
