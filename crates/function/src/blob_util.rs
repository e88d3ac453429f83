//! The package RDB$BLOB_UTIL: BLOBs made, opened, read and sought piece by piece.
//!
//! Its procedures are functions here, called for what they do: the package's own bodies call them. Handles live as long as their transaction. A BLOB counts as
//! writable from NEW_BLOB or BLOB_APPEND until it is opened or appended to: Firebird appends to such BLOBs in place.
//!
//! Source: Firebird 5's README.blob_util.md and BlobUtil.cpp.

use farbird_store::{BlobOptions, SeekFrom, SegmentRead};
use farbird_types::{BlobId, CharacterSet, ColumnType, Error, Result, SqlType, Text, Value, isc};

use crate::blob;
use crate::context::Context;
use crate::result_type::{COLUMN_BYTES_MAX, required};
use crate::{BlobUtil, Call, ScalarBody, ScalarFunction, argument};

/// Most handles that a transaction has open at a time.
const HANDLES_MAX: usize = 10_000;

/// The functions of this module.
pub const FUNCTIONS: &[ScalarFunction] = &[
    function("RDB$BLOB_UTIL.NEW_BLOB", 2, SqlType::BLOB_BINARY, SqlType::Boolean, new_blob),
    function("RDB$BLOB_UTIL.OPEN_BLOB", 1, SqlType::INTEGER, SqlType::BLOB_BINARY, open_blob),
    function("RDB$BLOB_UTIL.IS_WRITABLE", 1, SqlType::Boolean, SqlType::BLOB_BINARY, is_writable),
    function("RDB$BLOB_UTIL.READ_DATA", 2, DATA, SqlType::INTEGER, read_data),
    function("RDB$BLOB_UTIL.SEEK", 3, SqlType::INTEGER, SqlType::INTEGER, seek),
    function("RDB$BLOB_UTIL.CANCEL_BLOB", 1, SqlType::Null, SqlType::BLOB_BINARY, cancel_blob),
    function("RDB$BLOB_UTIL.CLOSE_HANDLE", 1, SqlType::Null, SqlType::INTEGER, close_handle),
];

const DATA: SqlType = SqlType::varchar(COLUMN_BYTES_MAX, CharacterSet::OCTETS);

/// A function whose arguments are all of one type.
const fn function(
    name: &'static str,
    arguments: usize,
    result: SqlType,
    argument: SqlType,
    body: ScalarBody,
) -> ScalarFunction {
    ScalarFunction {
        name,
        arity: (arguments, arguments),
        result: match result {
            SqlType::Blob { .. } => |_, _| Ok(ColumnType { sql_type: SqlType::BLOB_BINARY, nullable: false }),
            SqlType::Boolean => |_, _| Ok(ColumnType { sql_type: SqlType::Boolean, nullable: false }),
            SqlType::Text(_) => |_, _| Ok(ColumnType { sql_type: DATA, nullable: true }),
            SqlType::Null => |_, _| Ok(ColumnType { sql_type: SqlType::Null, nullable: true }),
            _ => |_, _| Ok(ColumnType { sql_type: SqlType::INTEGER, nullable: false }),
        },
        parameter_type: match argument {
            SqlType::Blob { .. } => |_, _| required(SqlType::BLOB_BINARY),
            SqlType::Boolean => |_, _| required(SqlType::Boolean),
            _ => |_, _| required(SqlType::INTEGER),
        },
        body,
        strict: false,
        deterministic: false,
    }
}

/// The first argument as a BLOB: texts become one.
fn blob(context: &mut Context<'_>, call: &Call<'_>) -> Result<BlobId> {
    match blob::cast_value(call.argument(0).clone(), &SqlType::BLOB_BINARY, context)? {
        Value::Blob(id) => Ok(id),
        _ => Err(Error::new(isc::BAD_SEGSTR_ID)),
    }
}

fn refused(what: &str) -> Error {
    Error::new(isc::RANDOM).with(what)
}

fn new_blob(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let segmented = matches!(call.argument(0), Value::Boolean(true));
    let options = BlobOptions { stream: !segmented, ..BlobOptions::default() };
    let store = &context.transaction.store;
    let id = store.create_blob(options)?.close(store)?;
    BlobUtil::of(context.transaction).writable.insert(id, !segmented);
    Ok(Value::Blob(id))
}

fn open_blob(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let id = blob(context, call)?;
    let mut util = BlobUtil::of(context.transaction);
    util.check(id)?;
    if util.open.len() >= HANDLES_MAX {
        return Err(Error::new(isc::IMP_EXC));
    }
    let reader = context.transaction.store.open_blob(id)?;
    let reader = if util.writable.remove(&id) == Some(true) { reader.as_stream() } else { reader };
    util.last_handle = util.last_handle.checked_add(1).ok_or_else(|| Error::new(isc::IMP_EXC))?;
    let handle = util.last_handle;
    util.open.insert(handle, reader);
    Ok(Value::integer(i64::from(handle)))
}

fn is_writable(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let id = blob(context, call)?;
    Ok(Value::Boolean(BlobUtil::of(context.transaction).writable.contains_key(&id)))
}

/// So many bytes, or one segment; NULL at the end.
fn read_data(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let handle = argument::int32(context, call.argument(0))?;
    let length = match call.argument(1) {
        Value::Null => None,
        length => Some(argument::int32(context, length)?),
    };
    if length.is_some_and(|length| length <= 0) {
        return Err(refused("Length must be NULL or greater than 0"));
    }
    let wanted =
        length.map_or(COLUMN_BYTES_MAX, |length| length.unsigned_abs().min(COLUMN_BYTES_MAX)) as usize;
    let store = &context.transaction.store;
    let mut util = BlobUtil::of(context.transaction);
    let reader = util.reader(handle)?;
    let mut bytes = Vec::new();
    loop {
        let read = reader.read_segment(store, wanted - bytes.len(), &mut bytes)?;
        match read {
            SegmentRead::End if bytes.is_empty() => return Ok(Value::Null),
            SegmentRead::End => break,
            _ if length.is_none() || bytes.len() >= wanted => break,
            _ => {}
        }
    }
    Ok(Value::Text(Text::new(bytes, CharacterSet::OCTETS)))
}

fn seek(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let handle = argument::int32(context, call.argument(0))?;
    let mode = argument::int32(context, call.argument(1))?;
    let offset = argument::int32(context, call.argument(2))?;
    let mut util = BlobUtil::of(context.transaction);
    let reader = util.reader(handle)?;
    let from = match mode {
        0 => SeekFrom::Start,
        1 => SeekFrom::Current,
        2 if offset > 0 => {
            let what = "Argument OFFSET for RDB$BLOB_UTIL must be zero or negative when argument MODE is 2";
            return Err(refused(what));
        }
        2 => SeekFrom::End,
        _ => return Err(refused("Seek mode must be 0 (START), 1 (CURRENT) or 2 (END)")),
    };
    let place = reader.seek(from, i64::from(offset))?;
    Ok(Value::integer(i64::try_from(place).unwrap_or(i64::MAX)))
}

fn cancel_blob(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let id = blob(context, call)?;
    let mut util = BlobUtil::of(context.transaction);
    util.check(id)?;
    if util.writable.remove(&id).is_none() {
        return Err(Error::new(isc::BAD_TEMP_BLOB_ID));
    }
    util.cancelled.insert(id);
    Ok(Value::Null)
}

fn close_handle(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let handle = argument::int32(context, call.argument(0))?;
    let closed = BlobUtil::of(context.transaction).open.remove(&handle);
    closed.map(|_| Value::Null).ok_or_else(|| Error::new(isc::INVALID_BLOB_UTIL_HANDLE))
}
