//! Prepared statements: what the server says of them, and how values become their parameters.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use farbird_types::{CharacterSet, Error, Result, SqlType, Value, isc};
use farbird_wire::info::{RecordCounts, StatementInformation, Variable, statement_type};
use farbird_wire::message::{EncodeFault, Message, MessageForm, MessageFormat, MessageType};
use farbird_wire::packet::{Execute, Output};
use farbird_wire::protocol::{Handle, ProtocolVersion, prepare_reply};

use crate::character_set;
use crate::core::{Fetching, Object, Shared, StatementCounters};
use crate::deferred::Deferred;
use crate::tuning::Tuning;

/// A column of a result, or a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its label: the alias, or the name.
    pub label: String,
    /// Name of the column it comes from; empty for expressions and parameters.
    pub name: String,
    /// The table it comes from; empty for expressions and parameters.
    pub relation: String,
    /// How its values travel.
    pub message_type: MessageType,
    /// Whether it may be NULL.
    pub nullable: bool,
}

impl Column {
    /// A value without a name.
    pub(crate) fn unnamed(message_type: MessageType) -> Column {
        Column {
            label: String::new(),
            name: String::new(),
            relation: String::new(),
            message_type,
            nullable: true,
        }
    }

    /// Its SQL type, as far as its values tell: NUMERIC and DECIMAL are not told apart.
    pub fn sql_type(&self) -> SqlType {
        self.message_type.sql_type()
    }
}

/// A prepared statement of one connection. When the last clone of it and the last of its cursors are dropped, it is
/// released on the server with the next flight.
#[derive(Debug, Clone)]
pub struct Statement(Arc<Prepared>);

#[derive(Debug)]
struct Prepared {
    object: Object,
    /// What is known from the start.
    first: Inner,
    /// What is not.
    deferred: Option<Deferred>,
    /// How long an execution may take; 0 for as long as it takes.
    timeout_ms: AtomicU32,
    /// As [`Statement::set_inline_blob_bytes`] has it, or [`UNSET`].
    inline_blob_bytes: AtomicU32,
}

/// What is known by now.
impl Deref for Prepared {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        self.deferred.as_ref().and_then(Deferred::description).unwrap_or(&self.first)
    }
}

/// What is known of a statement.
#[derive(Debug)]
pub(crate) struct Inner {
    information: StatementInformation,
    parameters: Vec<Column>,
    columns: Arc<[Column]>,
    input: Option<Input>,
    output: Option<Arc<MessageFormat>>,
    /// One row at a time (SELECT ... FOR UPDATE).
    row_by_row: bool,
    /// What it is was not told by the server but by the caller: its parameters travel in their own types.
    is_assumed: bool,
    /// The connection's.
    character_set: CharacterSet,
}

const UNSET: u32 = u32::MAX;
/// Memory that a server may take for the rows of one fetch, in bytes, by the declared lengths.
const BATCH_BYTES_MAX: u32 = 1_048_576;
/// Rows of one fetch, at least and at most.
const BATCH_ROWS_MIN: u32 = 10;
const BATCH_ROWS_MAX: u32 = 32_000;
/// What stands in front of each row, in bytes.
const ROW_HEAD_BYTES: usize = 16;

#[derive(Debug)]
struct Input {
    format: Arc<MessageFormat>,
    blr: Vec<u8>,
    /// Whether the server has been told this format last: then it need not be told again.
    is_bound: AtomicBool,
}

impl Inner {
    /// What prepare answered.
    pub(crate) fn new(
        flags: u16,
        information: StatementInformation,
        version: ProtocolVersion,
        character_set: CharacterSet,
    ) -> Result<Inner> {
        let columns = |variables: &[Variable]| {
            let columns = variables.iter().map(|variable| column(variable, version, character_set));
            columns.collect::<Result<Vec<_>>>()
        };
        let (parameters, outputs) = (columns(&information.inputs)?, columns(&information.outputs)?);
        let format = |columns: &[Column]| {
            let types = columns.iter().map(|column| column.message_type);
            (!columns.is_empty()).then(|| Arc::new(MessageFormat::from_columns(types)))
        };
        let input = format(&parameters).map(|format| Input {
            blr: format.to_blr(),
            format,
            is_bound: AtomicBool::new(false),
        });
        Ok(Inner {
            output: format(&outputs),
            input,
            parameters,
            columns: outputs.into(),
            information,
            row_by_row: flags & prepare_reply::NO_BATCH != 0,
            is_assumed: false,
            character_set,
        })
    }

    /// A query whose rows are wanted in these types.
    fn assumed(columns: &[MessageType], character_set: CharacterSet) -> Inner {
        let columns = columns.iter().map(|column| character_set::assumed_type(character_set, *column));
        let columns: Vec<_> = columns.map(Column::unnamed).collect();
        let output = MessageFormat::from_columns(columns.iter().map(|column| column.message_type));
        Inner {
            information: StatementInformation { flags: HAS_CURSOR, ..StatementInformation::default() },
            parameters: Vec::new(),
            columns: columns.into(),
            input: None,
            output: Some(Arc::new(output)),
            row_by_row: false,
            is_assumed: true,
            character_set,
        }
    }
}

impl Statement {
    /// A statement of which the server has said this.
    pub(crate) fn new(object: Object, description: Inner) -> Statement {
        Statement::of(object, description, None)
    }

    fn of(object: Object, first: Inner, deferred: Option<Deferred>) -> Statement {
        Statement(Arc::new(Prepared {
            object,
            first,
            deferred,
            timeout_ms: AtomicU32::new(0),
            inline_blob_bytes: AtomicU32::new(UNSET),
        }))
    }

    /// A statement of which the server has not said anything yet.
    pub(crate) fn deferred(object: Object, deferred: Deferred, character_set: CharacterSet) -> Statement {
        let flags = if deferred.is_query() { HAS_CURSOR } else { 0 };
        let first = Inner {
            information: StatementInformation { flags, ..StatementInformation::default() },
            parameters: Vec::new(),
            columns: Arc::default(),
            input: None,
            output: None,
            row_by_row: false,
            is_assumed: true,
            character_set,
        };
        Statement::of(object, first, Some(deferred))
    }

    /// A query whose rows are wanted in these types, before the server has said anything about it.
    pub(crate) fn assumed(object: Object, columns: &[MessageType], character_set: CharacterSet) -> Statement {
        Statement::of(object, Inner::assumed(columns, character_set), None)
    }

    /// The same, of one that the server is going to describe.
    pub(crate) fn expected(
        object: Object,
        columns: &[MessageType],
        deferred: Deferred,
        character_set: CharacterSet,
    ) -> Statement {
        Statement::of(object, Inner::assumed(columns, character_set), Some(deferred))
    }

    /// Whether the server is known to have refused its text.
    pub(crate) fn is_refused(&self) -> bool {
        self.0.deferred.as_ref().is_some_and(Deferred::has_failed)
    }

    pub(crate) fn object(&self) -> &Object {
        &self.0.object
    }

    /// What the server has still to say, or had when it was prepared.
    pub(crate) fn deferral(&self) -> Option<&Deferred> {
        self.0.deferred.as_ref()
    }

    /// Whether the server has described it: always, but after [`Connection::prepare_deferred`]. Before it has, there are no
    /// [`Statement::parameters`] and [`Statement::columns`], and [`Statement::kind`] is 0.
    ///
    /// [`Connection::prepare_deferred`]: crate::Connection::prepare_deferred
    pub fn is_described(&self) -> bool {
        self.0.deferred.as_ref().is_none_or(|deferred| deferred.description().is_some())
    }

    /// Whether somebody besides the caller holds it.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// The parameters, in order.
    pub fn parameters(&self) -> &[Column] {
        &self.0.parameters
    }

    /// The columns of its rows.
    pub fn columns(&self) -> &[Column] {
        &self.0.columns
    }

    /// As [`Statement::columns`], for rows to keep.
    pub(crate) fn shared_columns(&self) -> &Arc<[Column]> {
        &self.0.columns
    }

    /// Whether executing it opens a cursor, as opposed to giving one row or none.
    pub fn has_cursor(&self) -> bool {
        match self.0.information.flags {
            // Servers before Firebird 3 do not tell.
            0 => matches!(
                u8::try_from(self.0.information.statement_type),
                Ok(statement_type::SELECT | statement_type::SELECT_FOR_UPD)
            ),
            flags => flags & HAS_CURSOR != 0,
        }
    }

    /// Kind of the statement: a number of `isc_info_sql_stmt_*`.
    pub fn kind(&self) -> u32 {
        self.0.information.statement_type
    }

    /// What it has cost so far: see [`StatementCounters`]. Nothing is asked of the server.
    pub fn counters(&self) -> StatementCounters {
        self.0.object.shared().lock().statement_counters(self.0.object.id())
    }

    /// Whether executing it may end the transaction.
    pub(crate) fn ends_transactions(&self) -> bool {
        matches!(
            u8::try_from(self.kind()),
            Ok(statement_type::START_TRANS | statement_type::COMMIT | statement_type::ROLLBACK)
        )
    }

    /// The number by which requests on this connection name it.
    pub(crate) async fn handle(&self, shared: &Shared) -> Result<Handle> {
        if !self.0.object.shared().is(shared) {
            return Err(Error::new(isc::BAD_STMT_HANDLE));
        }
        self.0.object.handle().await
    }

    pub(crate) fn shared(&self) -> &Shared {
        self.0.object.shared()
    }

    /// Executions from now on carry this limit of time.
    pub(crate) fn keep_timeout(&self, milliseconds: u32) {
        self.0.timeout_ms.store(milliseconds, Ordering::Relaxed);
    }

    pub(crate) fn input_format(&self) -> Option<&Arc<MessageFormat>> {
        self.0.input.as_ref().map(|input| &input.format)
    }

    pub(crate) fn output(&self) -> Output {
        Output::new(self.0.output.clone())
    }

    /// How its rows are asked for.
    pub(crate) fn fetching(&self, version: ProtocolVersion, tuning: &Tuning) -> Fetching {
        let format = match &self.0.output {
            Some(format) if !self.0.row_by_row => format,
            _ => return Fetching::OnDemand(1),
        };
        let rows = format.fetch_count(version.has_packed_messages());
        match (tuning.fetch_ahead, tuning.fetch_windows) {
            (false, _) => Fetching::OnDemand(rows),
            (true, false) => Fetching::AtHalf(rows),
            (true, true) => {
                let rows = (BATCH_BYTES_MAX / format.length().max(1)).clamp(BATCH_ROWS_MIN, BATCH_ROWS_MAX);
                Fetching::Windows(u16::try_from(rows).unwrap_or(u16::MAX))
            }
        }
    }

    /// What a row is taken to have, in bytes on the line, before one was seen: texts are rarely as long as they may be.
    pub(crate) fn row_bytes(&self) -> usize {
        let columns = self.0.columns.iter().map(|column| match column.message_type {
            MessageType::Varying { length, .. } => (usize::from(length) / 8 + 64).min(length.into()),
            other => usize::try_from(other.memory_length()).unwrap_or_default(),
        });
        ROW_HEAD_BYTES + columns.sum::<usize>()
    }

    /// The columns that hold BLOBs.
    pub(crate) fn blob_columns(&self) -> Vec<usize> {
        let columns = self.0.columns.iter().enumerate();
        columns.filter(|(_, column)| column.message_type.is_blob()).map(|(index, _)| index).collect()
    }

    /// Lets BLOBs of up to so many bytes travel with the statement's rows from its next execution on, instead of
    /// [`ConnectOptions::inline_blob_bytes`]; 0 for none, at most 65,535. Protocol 19 and later.
    ///
    /// [`ConnectOptions::inline_blob_bytes`]: crate::ConnectOptions::inline_blob_bytes
    pub fn set_inline_blob_bytes(&self, bytes: u16) {
        self.0.inline_blob_bytes.store(bytes.into(), Ordering::Relaxed);
    }

    /// The same, as a request says it; `default` unless it was set.
    pub(crate) fn inline_blob_bytes(&self, default: u32) -> u32 {
        match self.0.inline_blob_bytes.load(Ordering::Relaxed) {
            UNSET => default,
            bytes => bytes,
        }
    }

    /// op_execute with these parameters.
    ///
    /// # Errors
    /// `isc_dsql_sqlda_err` for another number of values than there are parameters.
    pub(crate) fn execute(
        &self,
        statement: Handle,
        transaction: Handle,
        values: &[Value],
        version: ProtocolVersion,
        inline_blob_bytes: u32,
    ) -> Result<Execute> {
        let (input_blr, message) = self.message(values, MessageForm::of_sql(version))?;
        Ok(Execute {
            statement,
            transaction,
            input_blr,
            message_number: 0,
            message,
            timeout_ms: self.0.timeout_ms.load(Ordering::Relaxed),
            cursor_flags: 0,
            inline_blob_bytes: self.inline_blob_bytes(inline_blob_bytes),
        })
    }

    /// The parameters as they travel.
    ///
    /// # Errors
    /// `isc_transliteration_failed` for a character that the parameter's character set has not.
    fn in_character_set<'v>(&self, input: &Input, values: &'v [Value]) -> Result<Cow<'v, [Value]>> {
        character_set::parameters(self.0.character_set, input.format.columns().copied(), values)
    }

    /// The values of a row of a batch as they travel.
    pub(crate) fn batch_values<'v>(&self, values: &'v [Value]) -> Result<Cow<'v, [Value]>> {
        match &self.0.input {
            Some(input) => self.in_character_set(input, values),
            None => Ok(Cow::Borrowed(values)),
        }
    }

    fn message(&self, values: &[Value], form: MessageForm) -> Result<(Vec<u8>, Option<Message>)> {
        let Some(input) = &self.0.input else {
            if self.0.is_assumed && !values.is_empty() {
                let set = self.0.character_set;
                let wanted = MessageType::Varying { length: 1, charset: Some(u16::from(set.0)) };
                let values = character_set::parameters(set, std::iter::repeat(wanted), values)?;
                return own_types(&values, form);
            }
            return match values.len() {
                0 => Ok((Vec::new(), None)),
                given => Err(wrong_count(0, given)),
            };
        };
        let values = &self.in_character_set(input, values)?[..];
        match Message::new(Arc::clone(&input.format), form, values) {
            Ok(message) => {
                let blr =
                    if input.is_bound.swap(true, Ordering::Relaxed) { Vec::new() } else { input.blr.clone() };
                Ok((blr, Some(message)))
            }
            Err(error) => match error.fault {
                EncodeFault::ColumnCount { expected, given } => Err(wrong_count(expected, given)),
                _ => {
                    // The server converts: it is told what the values are instead of what they should be.
                    let types =
                        input.format.columns().zip(values).map(|(wanted, value)| natural(value, *wanted));
                    let format = Arc::new(MessageFormat::from_columns(types));
                    let message = Message::new(Arc::clone(&format), form, values)?;
                    input.is_bound.store(false, Ordering::Relaxed);
                    Ok((format.to_blr(), Some(message)))
                }
            },
        }
    }
}

/// Bit of the statement's flags.
const HAS_CURSOR: u32 = 1;

/// Rows that a statement has touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Inserted.
    pub inserted: u32,
    /// Updated.
    pub updated: u32,
    /// Deleted.
    pub deleted: u32,
    /// Read.
    pub selected: u32,
}

impl From<RecordCounts> for Counts {
    fn from(counts: RecordCounts) -> Counts {
        let RecordCounts { selected, inserted, updated, deleted } = counts;
        Counts { inserted, updated, deleted, selected }
    }
}

fn column(variable: &Variable, version: ProtocolVersion, connection: CharacterSet) -> Result<Column> {
    let text = |bytes: &[u8]| character_set::decode(connection, bytes);
    let message_type = MessageType::described(&variable.description, version).ok_or_else(|| {
        Error::new(isc::DSQL_SQLDA_ERR)
            .and(isc::RANDOM)
            .with(format!("the server describes a type {} that is not known", variable.description.sql_type))
    })?;
    Ok(Column {
        label: text(if variable.alias.is_empty() { &variable.field } else { &variable.alias }),
        name: text(&variable.field),
        relation: text(&variable.relation),
        message_type: character_set::message_type(connection, message_type),
        nullable: variable.description.sql_type & 1 != 0,
    })
}

/// The values as they are, with their description.
fn own_types(values: &[Value], form: MessageForm) -> Result<(Vec<u8>, Option<Message>)> {
    // Of NULL nothing but itself travels, so any type will do.
    let any = MessageType::Varying { length: 1, charset: None };
    let format = Arc::new(MessageFormat::from_columns(values.iter().map(|value| natural(value, any))));
    let message = Message::new(Arc::clone(&format), form, values)?;
    Ok((format.to_blr(), Some(message)))
}

/// The type in which a value travels as it is; NULL travels as what is wanted.
pub(crate) fn natural(value: &Value, wanted: MessageType) -> MessageType {
    match value {
        Value::Null => wanted,
        Value::Boolean(_) => MessageType::Boolean,
        Value::Integer { scale, .. } => MessageType::Int64 { scale: *scale },
        Value::Int128 { scale, .. } => MessageType::Int128 { scale: *scale },
        Value::Float(_) => MessageType::Float,
        Value::Double(_) => MessageType::Double,
        Value::DecFloat(_) => MessageType::DecFloat34,
        Value::Date(_) => MessageType::Date,
        Value::Time(_) => MessageType::Time,
        Value::Timestamp(_) => MessageType::Timestamp,
        Value::TimeTz(_) => MessageType::TimeTz,
        Value::TimestampTz(_) => MessageType::TimestampTz,
        Value::Text(text) => MessageType::Varying {
            length: u16::try_from(text.bytes().len()).unwrap_or(u16::MAX),
            charset: Some(u16::from(text.character_set().0)),
        },
        Value::Blob(_) => MessageType::Quad { scale: 0 },
    }
}

fn wrong_count(expected: usize, given: usize) -> Error {
    Error::new(isc::DSQL_SQLDA_ERR)
        .and(isc::RANDOM)
        .with(format!("{given} values were given for {expected} parameters"))
}
