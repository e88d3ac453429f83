//! Rows of a query.

use std::fmt;
use std::sync::Arc;

use farbird_engine::api::{
    ColumnDescription, Scroll, StatementDescription, StatementKind, TransactionHandle,
};
use farbird_engine::attachment::Attachment;
use farbird_types::{SqlType, Value};

use super::blob::{self, Blob, BlobReader};
use super::connection::Shared;
use super::error::{Error, Fault, Result};
use super::execute::OwnTransaction;
use super::from_value::FromValue;
use super::prepared::Prepared;

/// Rows fetched when the first is asked for.
const BATCH_FIRST: usize = 8;
/// Rows fetched at a time later on: as many are held in memory.
const BATCH_MAX: usize = 256;

/// The statement behind rows.
pub(super) enum Held<'r> {
    Owned(Prepared),
    Borrowed(&'r mut Prepared),
}

impl Held<'_> {
    pub(super) fn prepared(&mut self) -> &mut Prepared {
        match self {
            Held::Owned(prepared) => prepared,
            Held::Borrowed(prepared) => prepared,
        }
    }

    fn get(&self) -> &Prepared {
        match self {
            Held::Owned(prepared) => prepared,
            Held::Borrowed(prepared) => prepared,
        }
    }
}

/// The rows of a query, computed as they are asked for: an iterator of `Result<Row>`.
///
/// At most 256 rows are in memory, however many there are. After an error there are no more rows. Dropping it ends the
/// query.
pub struct Rows<'r> {
    shared: &'r Arc<Shared>,
    // Before the statement: the transaction ends first.
    own: Option<OwnTransaction>,
    statement: Held<'r>,
    transaction: TransactionHandle,
    /// Rows fetched and not handed out, last first.
    fetched: Vec<Vec<Value>>,
    cursor: CursorState,
    batch: usize,
}

/// What is left of the cursor.
enum CursorState {
    Open,
    /// It failed behind the rows that are fetched.
    Failed(Error),
    Closed,
}

impl<'r> Rows<'r> {
    pub(super) fn new(
        shared: &'r Arc<Shared>,
        statement: Held<'r>,
        transaction: TransactionHandle,
    ) -> Rows<'r> {
        Rows {
            shared,
            own: None,
            statement,
            transaction,
            fetched: Vec::new(),
            cursor: CursorState::Closed,
            batch: BATCH_FIRST,
        }
    }

    /// The rows of a statement that gives none.
    pub(super) fn none(
        shared: &'r Arc<Shared>,
        statement: Prepared,
        transaction: TransactionHandle,
    ) -> Rows<'r> {
        Rows::new(shared, Held::Owned(statement), transaction)
    }

    /// A cursor is open. If data was changed by then (RETURNING), its own transaction is committed at once: nobody has to
    /// read to the end for that.
    pub(super) fn opened(&mut self, own: Option<OwnTransaction>) -> Result<()> {
        self.cursor = CursorState::Open;
        let kind = self.statement.get().description.kind;
        // Rows locked one by one are locked when they are asked for.
        if kind == StatementKind::SelectForUpdate {
            self.batch = 1;
        }
        let counts =
            self.shared.with(|attachment| Ok(attachment.record_counts(self.statement.get().handle)?))?;
        let changes = counts.inserted + counts.updated + counts.deleted > 0;
        match own {
            Some(own) if changes => {
                while matches!(self.cursor, CursorState::Open) {
                    self.fetch(usize::MAX);
                }
                self.fetched.reverse();
                match std::mem::replace(&mut self.cursor, CursorState::Closed) {
                    CursorState::Failed(error) => Err(error),
                    _ => own.commit(),
                }
            }
            own => {
                self.own = own;
                Ok(())
            }
        }
    }

    /// There is one row, or none, and no cursor.
    pub(super) fn hold(&mut self, row: Option<Vec<Value>>) {
        self.fetched.extend(row);
    }

    /// The columns, in order.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = Column<'_>> {
        self.statement.get().description.columns.iter().map(Column)
    }

    /// What kind of statement gives them.
    pub fn kind(&self) -> StatementKind {
        self.statement.get().description.kind
    }

    /// How many rows the statement has inserted, updated and deleted so far.
    ///
    /// # Errors
    /// That the connection is closed.
    pub fn changed(&self) -> Result<u64> {
        let counts =
            self.shared.with(|attachment| Ok(attachment.record_counts(self.statement.get().handle)?))?;
        Ok(counts.inserted + counts.updated + counts.deleted)
    }

    /// Appends up to `rows_max` rows to those fetched, in order.
    fn fetch(&mut self, rows_max: usize) {
        let handle = self.statement.get().handle;
        let fetched = &mut self.fetched;
        let end = self.shared.with(|attachment| {
            for _ in 0..rows_max {
                match attachment.fetch_scroll(handle, Scroll::Next)? {
                    Some(row) => fetched.push(row),
                    None => return Ok(true),
                }
            }
            Ok(false)
        });
        match end {
            Ok(false) => return,
            Ok(true) => self.cursor = CursorState::Closed,
            Err(error) => self.cursor = CursorState::Failed(error),
        }
        self.shared.with_if_open(|attachment| close(attachment, self.statement.get()));
    }

    /// The next row's values; at the end its own transaction is committed.
    fn next_values(&mut self) -> Result<Option<Vec<Value>>> {
        if let Some(values) = self.fetched.pop() {
            return Ok(Some(values));
        }
        if matches!(self.cursor, CursorState::Open) {
            self.fetch(self.batch);
            self.fetched.reverse();
            if self.batch > 1 {
                self.batch = BATCH_MAX;
            }
            if let Some(values) = self.fetched.pop() {
                return Ok(Some(values));
            }
        }
        match std::mem::replace(&mut self.cursor, CursorState::Closed) {
            CursorState::Failed(error) => {
                self.own = None;
                Err(error)
            }
            _ => {
                self.own.take().map_or(Ok(()), OwnTransaction::commit)?;
                Ok(None)
            }
        }
    }
}

impl<'r> Iterator for Rows<'r> {
    type Item = Result<Row<'r>>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.next_values().transpose()?;
        Some(row.map(|values| {
            let description = Arc::clone(&self.statement.get().description);
            Row::new(self.shared, self.transaction, description, values)
        }))
    }
}

impl Drop for Rows<'_> {
    fn drop(&mut self) {
        if matches!(self.cursor, CursorState::Open) {
            self.shared.with_if_open(|attachment| close(attachment, self.statement.get()));
        }
    }
}

fn close(attachment: &mut Attachment, prepared: &Prepared) {
    if let Err(error) = attachment.close_cursor(prepared.handle) {
        tracing::debug!(%error, "a cursor was gone before it was closed");
    }
}

impl fmt::Debug for Rows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").finish_non_exhaustive()
    }
}

/// One row. It owns its values; BLOBs are read when they are asked for.
pub struct Row<'r> {
    shared: &'r Arc<Shared>,
    transaction: TransactionHandle,
    description: Arc<StatementDescription>,
    values: Vec<Value>,
}

impl<'r> Row<'r> {
    pub(super) fn new(
        shared: &'r Arc<Shared>,
        transaction: TransactionHandle,
        description: Arc<StatementDescription>,
        values: Vec<Value>,
    ) -> Row<'r> {
        Row { shared, transaction, description, values }
    }

    /// How many columns it has.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether it has no columns, which no row of a query is.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// A column's value, by its place (from 0) or by its name. Names match in any case if none matches exactly.
    ///
    /// A BLOB gives its contents as `String` or `Vec<u8>`, or itself as [`Blob`], for reading in pieces.
    ///
    /// ```
    /// # fn main() -> farbird::Result<()> {
    /// # let connection = farbird::Database::in_memory()?.connect()?;
    /// for row in connection.query("select 7 as n, null as nothing, 'text' as t from rdb$database", ())? {
    ///     let row = row?;
    ///     assert_eq!(row.get::<i64>("N")?, 7);
    ///     assert_eq!(row.get::<Option<i64>>(1)?, None);
    ///     assert_eq!(row.get::<&str>("t")?, "text");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// That there is no such column, that its value is not of the type asked for (NULL is of `Option` only), and those
    /// of reading a BLOB.
    pub fn get<'v, T: FromValue<'v>>(&'v self, column: impl ColumnIndex) -> Result<T> {
        let index = column.index(&self.description.columns)?;
        let value = self.values.get(index).ok_or_else(|| Fault::NoSuchColumn(index.to_string()))?;
        let converted = match value {
            Value::Blob(id) if T::TAKES_CONTENTS => T::from_contents(self.contents(Blob(*id), index)?),
            value => T::from_value(value),
        };
        converted.map_err(|wanted| self.conversion_error(index, value, wanted.0))
    }

    /// Opens the BLOB in a column, for reading in pieces while the row's transaction lasts.
    ///
    /// # Errors
    /// That the column is none of BLOBs, or NULL; that the transaction has ended.
    pub fn open_blob(&self, column: impl ColumnIndex) -> Result<BlobReader<'r>> {
        BlobReader::new(self.shared, self.transaction, self.get(column)?)
    }

    /// The columns, in order.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = Column<'_>> {
        self.description.columns.iter().map(Column)
    }

    /// The values, in order.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    fn contents(&self, blob: Blob, index: usize) -> Result<farbird_types::Text> {
        let sql_type = self.description.columns.get(index).map(|column| column.column_type.sql_type);
        let is_text = matches!(sql_type, Some(SqlType::Blob { subtype: 1, .. }));
        blob::contents(self.shared, self.transaction, blob, is_text)
    }

    fn conversion_error(&self, index: usize, value: &Value, wanted: &'static str) -> Error {
        let column = self.description.columns.get(index);
        let found = match (value, column) {
            (Value::Null, _) | (_, None) => "NULL".to_owned(),
            (_, Some(column)) => column.column_type.sql_type.to_string(),
        };
        let column = column.map(|column| column.alias.clone()).unwrap_or_default();
        Fault::Conversion { column, found, wanted }.into()
    }
}

impl fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.columns().map(|column| column.name().to_owned());
        f.debug_map().entries(names.zip(&self.values)).finish()
    }
}

/// A column of a result, or a parameter of a statement.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a>(pub(super) &'a ColumnDescription);

impl<'a> Column<'a> {
    /// Its label: its alias, or its own name.
    pub fn name(&self) -> &'a str {
        &self.0.alias
    }

    /// The table it comes from, or nothing.
    pub fn table(&self) -> &'a str {
        &self.0.relation
    }

    /// Its type.
    pub fn sql_type(&self) -> SqlType {
        self.0.column_type.sql_type
    }

    /// Whether it may be NULL.
    pub fn is_nullable(&self) -> bool {
        self.0.column_type.nullable
    }
}

/// How a column is named: by its place, or by its label.
pub trait ColumnIndex: sealed::Index {}

mod sealed {
    use super::{ColumnDescription, Fault, Result};

    /// What an index is to this library.
    pub trait Index {
        /// The place among these columns.
        fn index(&self, columns: &[ColumnDescription]) -> Result<usize>;
    }

    impl Index for usize {
        fn index(&self, _columns: &[ColumnDescription]) -> Result<usize> {
            Ok(*self)
        }
    }

    impl Index for &str {
        fn index(&self, columns: &[ColumnDescription]) -> Result<usize> {
            let exact = columns.iter().position(|column| column.alias == *self);
            let found =
                exact.or_else(|| columns.iter().position(|column| column.alias.eq_ignore_ascii_case(self)));
            found.ok_or_else(|| Fault::NoSuchColumn((*self).to_owned()).into())
        }
    }
}

impl ColumnIndex for usize {}
impl ColumnIndex for &str {}

/// What a row can be turned into: the value of its first column, or a tuple of its first columns.
pub trait FromRow: Sized {
    /// Reads the row.
    ///
    /// # Errors
    /// Those of [`Row::get`].
    fn from_row(row: &Row<'_>) -> Result<Self>;
}

impl<T> FromRow for T
where
    T: for<'v> FromValue<'v>,
{
    fn from_row(row: &Row<'_>) -> Result<Self> {
        row.get(0)
    }
}

macro_rules! tuples {
    ($($name:ident $index:literal)*) => {
        impl<$($name: for<'v> FromValue<'v>),*> FromRow for ($($name,)*) {
            fn from_row(row: &Row<'_>) -> Result<Self> {
                Ok(($(row.get::<$name>($index)?,)*))
            }
        }
    };
}

tuples!(A 0);
tuples!(A 0 B 1);
tuples!(A 0 B 1 C 2);
tuples!(A 0 B 1 C 2 D 3);
tuples!(A 0 B 1 C 2 D 3 E 4);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11);
