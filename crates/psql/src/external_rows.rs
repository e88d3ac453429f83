//! A text that runs in another database: its inputs, its rows, and the BLOBs of both.

use std::io::Read;

use farbird_expression::ExecutionContext;
use farbird_function::blob::{self, releasing};
use farbird_session::external::{ExternalStatement, ExternalTransaction};
use farbird_store::BlobOptions;
use farbird_types::{BlobId, Error, Result, SqlType, Value, isc};

/// Bytes of each piece of a BLOB on its way: Firebird's longest segments.
const SEGMENT_BYTES: usize = 32_767;

/// What errors tell of a text.
pub(super) struct Place {
    pub(super) sql: String,
    /// The data source as it is shown.
    pub(super) source: String,
}

impl Place {
    /// A result of the other server with Firebird's words around its error, unless it is we who have stopped it.
    pub(super) fn of_statement<T>(
        &self,
        call: &str,
        result: Result<T>,
        context: &ExecutionContext<'_>,
    ) -> Result<T> {
        result.map_err(|error| match context.check_interrupt() {
            Err(stopped) => stopped,
            Ok(()) => Error::new(isc::EDS_STATEMENT)
                .with(call)
                .with(lines_of(&error))
                .with(self.sql.as_str())
                .with(self.source.as_str()),
        })
    }
}

/// The rows of a text that runs elsewhere.
pub(super) struct ExternalRows {
    /// None when it has ended.
    statement: Option<Box<dyn ExternalStatement>>,
    /// WITH AUTONOMOUS TRANSACTION: the transaction that ends with it.
    autonomous: Option<Box<dyn ExternalTransaction>>,
    place: Place,
    columns: Vec<SqlType>,
    /// The row of what has no cursor.
    single: Option<Vec<Value>>,
    has_cursor: bool,
    /// Whether a commit would keep what a failed text has done. So it is while the text does something; between its rows it may be left.
    has_failed: bool,
}

impl ExternalRows {
    /// Executes a prepared text.
    ///
    /// # Errors
    /// As [`crate::external::open`].
    pub(super) fn start(
        statement: Box<dyn ExternalStatement>,
        autonomous: Option<Box<dyn ExternalTransaction>>,
        place: Place,
        targets: usize,
        inputs: Vec<Value>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<ExternalRows> {
        let (columns, has_cursor) = (statement.columns(), statement.has_cursor());
        // Until the text has begun to run there is nothing to commit.
        let mut rows = ExternalRows {
            statement: None,
            autonomous,
            place,
            columns,
            single: None,
            has_cursor,
            has_failed: true,
        };
        let mut statement = statement;
        if rows.columns.len() != targets {
            return Err(Error::new(isc::EDS_OUTPUT_PRM_MISMATCH));
        }
        let inputs = sent(&mut *statement, &rows.place, inputs, context)?;
        let executed = statement.execute(inputs);
        let row = rows.place.of_statement("isc_dsql_execute2", executed, context)?;
        rows.single = row.filter(|_| !has_cursor && !rows.columns.is_empty());
        rows.statement = Some(statement);
        if !has_cursor {
            rows.single = match rows.single.take() {
                Some(row) => Some(rows.received(row, context)?),
                None => None,
            };
            rows.has_failed = false;
            rows.finish(context)?;
        }
        rows.has_failed = false;
        Ok(rows)
    }

    /// The next row, its BLOBs copied into this database.
    ///
    /// # Errors
    /// `isc_eds_statement` with what the other server says.
    pub(super) fn next(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>> {
        self.has_failed = true;
        let row = match self.fetched(context)? {
            Some(row) if self.has_cursor => Some(self.received(row, context)?),
            row => row,
        };
        self.has_failed = false;
        if row.is_none() {
            self.finish(context)?;
        }
        Ok(row)
    }

    /// The only row.
    ///
    /// # Errors
    /// As [`ExternalRows::next`]; `isc_sing_select_err` if there is another one.
    pub(super) fn singleton(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>> {
        let row = self.next(context)?;
        self.has_failed = true;
        if row.is_some() && self.fetched(context)?.is_some() {
            return self.place.of_statement("isc_dsql_fetch", Err(Error::new(isc::SING_SELECT_ERR)), context);
        }
        self.has_failed = false;
        self.finish(context)?;
        Ok(row)
    }

    fn fetched(&mut self, context: &ExecutionContext<'_>) -> Result<Option<Vec<Value>>> {
        context.check_interrupt()?;
        match &mut self.statement {
            Some(statement) if self.has_cursor => {
                let row = statement.next();
                self.place.of_statement("isc_dsql_fetch", row, context)
            }
            _ => Ok(self.single.take()),
        }
    }

    /// A row with BLOBs of this database in the place of those of the other one.
    fn received(&mut self, row: Vec<Value>, context: &mut ExecutionContext<'_>) -> Result<Vec<Value>> {
        let Some(statement) = &mut self.statement else { return Ok(row) };
        let taken = row.into_iter().zip(&self.columns).map(|(value, column)| match (value, column) {
            (Value::Blob(id), SqlType::Blob { subtype, character_set, .. }) => {
                let options = BlobOptions { stream: false, subtype: *subtype, character_set: *character_set };
                let opened = statement.open_blob(id);
                let contents = self.place.of_statement("isc_open_blob2", opened, context)?;
                Ok(Value::Blob(copied(contents, options, &self.place, context)?))
            }
            (value, _) => Ok(value),
        });
        taken.collect()
    }

    /// The text has run: its own transaction is committed, or rolled back if it has failed.
    fn finish(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        self.statement = None;
        match self.autonomous.take() {
            Some(transaction) if self.has_failed => {
                let ended = transaction.rollback();
                self.place.of_statement("isc_rollback_transaction", ended, context)
            }
            Some(transaction) => {
                let ended = transaction.commit();
                self.place.of_statement("isc_commit_transaction", ended, context)
            }
            None => Ok(()),
        }
    }
}

impl Drop for ExternalRows {
    /// A loop that was left: as in Firebird that is the end of its statement, not a failure of it.
    fn drop(&mut self) {
        self.statement = None;
        let Some(transaction) = self.autonomous.take() else { return };
        let ended = if self.has_failed { transaction.rollback() } else { transaction.commit() };
        if let Err(error) = ended {
            tracing::warn!(source = self.place.source, %error, "an autonomous transaction elsewhere is lost");
        }
    }
}

/// The inputs as the other server takes them: in the types of the parameters, BLOBs made there.
fn sent(
    statement: &mut dyn ExternalStatement,
    place: &Place,
    inputs: Vec<Value>,
    context: &mut ExecutionContext<'_>,
) -> Result<Vec<Value>> {
    let types = statement.parameters();
    if inputs.len() != types.len() {
        return Err(Error::new(isc::EDS_INPUT_PRM_MISMATCH));
    }
    let mut values = Vec::with_capacity(inputs.len());
    for (value, sql_type) in inputs.into_iter().zip(&types) {
        values.push(match (value, sql_type) {
            (Value::Null, _) => Value::Null,
            (value, SqlType::Blob { subtype, character_set, .. }) => {
                let made = releasing(context, |context| {
                    let mut text = blob::text_of(&value, context)?;
                    if *subtype == 1 {
                        text = text.transliterate(*character_set)?;
                    }
                    Ok(statement.write_blob(text.bytes()))
                })?;
                Value::Blob(place.of_statement("isc_create_blob2", made, context)?)
            }
            (value, sql_type) => releasing(context, |context| {
                blob::cast_value(value, &sql_type.of_parameter_value(), context)
            })?,
        });
    }
    Ok(values)
}

/// Copies a BLOB piece by piece.
fn copied(
    mut contents: Box<dyn Read + Send>,
    options: BlobOptions,
    place: &Place,
    context: &mut ExecutionContext<'_>,
) -> Result<BlobId> {
    let store = &context.transaction.store;
    let mut writer = store.create_blob(options)?;
    let mut piece = vec![0; SEGMENT_BYTES];
    loop {
        context.check_interrupt()?;
        let read = contents.read(&mut piece).map_err(|error| Error::new(isc::RANDOM).with(error.to_string()));
        let length = place.of_statement("isc_get_segment", read, context)?;
        match piece.get(..length) {
            Some(bytes) if length > 0 => writer.write_segment(store, bytes)?,
            _ => break,
        }
    }
    Ok(writer.close(store)?)
}

/// A status as the text that Firebird makes of it: number and message of each code.
pub(super) fn lines_of(error: &Error) -> String {
    let line = |item: &farbird_types::error::StatusItem| {
        let of_item = item
            .arguments
            .iter()
            .fold(Error::new(item.gds_code), |error, argument| error.with(argument.clone()));
        format!("{} : {of_item}\n", item.gds_code)
    };
    error.items().iter().map(line).collect()
}
