//! Between the engine's values and the formats that a client asks for.
//!
//! Clients decide in which types, lengths and character sets they send and want values (wire-protocol.md, 7.1). Texts
//! are described in the connection's character set, so that a client meets one character set only; NONE as the
//! connection's character set leaves each column in its own.

use farbird_types::convert::{CastContext, cast, to_display_text};
use farbird_types::{
    CharacterSet, ColumnType, Error, ExactSubtype, ExactWidth, Result, SqlType, Text, Value, isc,
};
use farbird_wire::message::{MessageFormat, MessageType};

/// "The connection's character set" in a message format.
const DYNAMIC: u8 = 127;

/// Longest VARCHAR that is described, in bytes.
const VARYING_BYTES_MAX: u32 = 32_765;

/// Longest CHAR that is described, in bytes.
const FIXED_BYTES_MAX: u32 = 32_767;

/// How a column is described to a client: texts in the connection's character set.
///
/// Source: Firebird 5 describes texts of NONE and OCTETS as they are, others by the attachment's character set, with
/// the length in bytes that the same number of characters may take there, but none longer than a column may be: programs keep
/// lengths in 15 bits.
pub(crate) fn described(column: &ColumnType, connection: CharacterSet) -> ColumnType {
    if let SqlType::Blob { subtype: 1, character_set, .. } = column.sql_type
        && !is_raw(character_set)
        && !is_raw(connection)
    {
        return ColumnType { sql_type: SqlType::blob_text(connection), ..*column };
    }
    let SqlType::Text(mut text) = column.sql_type else { return *column };
    let as_it_is = is_raw(text.character_set) || is_raw(connection) || text.character_set == connection;
    if !as_it_is {
        text.character_set = connection;
        text.collation = farbird_types::Collation(0);
    }
    let longest = if text.varying { VARYING_BYTES_MAX } else { FIXED_BYTES_MAX };
    text.length_chars = text.length_chars.min(longest / u32::from(text.character_set.bytes_per_character()));
    ColumnType { sql_type: SqlType::Text(text), ..*column }
}

/// NONE and OCTETS: bytes that are nobody's characters.
fn is_raw(character_set: CharacterSet) -> bool {
    matches!(character_set, CharacterSet::NONE | CharacterSet::OCTETS)
}

/// Turns rows of the engine into rows of one message format.
#[derive(Debug)]
pub(crate) struct RowConversion {
    steps: Vec<Step>,
    /// Whether all columns go as they are.
    identity: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    AsIs,
    /// To text of at most so many bytes.
    Text {
        character_set: CharacterSet,
        bytes_max: usize,
    },
    Cast(SqlType),
}

impl RowConversion {
    /// The conversion of rows of `columns` to `format`.
    ///
    /// # Errors
    /// `isc_dsql_sqlda_err` if the number of columns differs.
    pub(crate) fn new(
        columns: &[ColumnType],
        format: &MessageFormat,
        connection: CharacterSet,
    ) -> Result<Self> {
        if columns.len() != format.column_count() {
            return Err(wrong_count(columns.len(), format.column_count()));
        }
        let steps: Vec<Step> = columns
            .iter()
            .zip(format.columns())
            .map(|(column, message_type)| step(&column.sql_type, message_type, connection))
            .collect();
        Ok(RowConversion { identity: steps.iter().all(|step| *step == Step::AsIs), steps })
    }

    /// Whether all values go as they are.
    pub(crate) fn is_identity(&self) -> bool {
        self.identity
    }

    /// Converts a row into `scratch`, or gives it back as it is.
    ///
    /// # Errors
    /// What CAST gives for a value that does not fit.
    pub(crate) fn apply<'a>(
        &self,
        row: &'a [Value],
        context: &CastContext,
        scratch: &'a mut Vec<Value>,
    ) -> Result<&'a [Value]> {
        if self.identity {
            return Ok(row);
        }
        scratch.clear();
        for (value, step) in row.iter().zip(&self.steps) {
            scratch.push(match step {
                Step::AsIs => value.clone(),
                _ if value.is_null() => Value::Null,
                Step::Text { character_set, bytes_max } => to_text(value, *character_set, *bytes_max)?,
                Step::Cast(target) => cast(value, target, context)?,
            });
        }
        Ok(scratch)
    }
}

fn step(source: &SqlType, target: &MessageType, connection: CharacterSet) -> Step {
    match *target {
        MessageType::Text { length, charset }
        | MessageType::Varying { length, charset }
        | MessageType::Cstring { length, charset } => {
            let character_set = character_set_of(charset, connection);
            match source {
                SqlType::Null => Step::AsIs,
                SqlType::Text(text)
                    if text.character_set == character_set && text.length_bytes() <= u32::from(length) =>
                {
                    Step::AsIs
                }
                _ => Step::Text { character_set, bytes_max: usize::from(length) },
            }
        }
        MessageType::Blob { .. } | MessageType::Quad { .. } => Step::AsIs,
        other => match sql_type_of(&other) {
            Some(target) if is_same_representation(source, &target) => Step::AsIs,
            Some(target) => Step::Cast(target),
            None => Step::AsIs,
        },
    }
}

/// Whether values of one type are values of the other without a change.
fn is_same_representation(source: &SqlType, target: &SqlType) -> bool {
    match (source, target) {
        (
            SqlType::Exact { width: source_width, scale: source_scale, .. },
            SqlType::Exact { width, scale, .. },
        ) => {
            source_scale == scale
                && source_width <= width
                && (*width == ExactWidth::Int128) == (*source_width == ExactWidth::Int128)
        }
        (source, target) => source == target,
    }
}

/// The SQL type whose values a message item carries; texts and BLOBs are handled apart.
fn sql_type_of(message_type: &MessageType) -> Option<SqlType> {
    let exact = |width, scale| SqlType::Exact { width, scale, subtype: ExactSubtype::Integer };
    Some(match *message_type {
        MessageType::Short { scale } => exact(ExactWidth::Short, scale),
        MessageType::Long { scale } => exact(ExactWidth::Long, scale),
        MessageType::Int64 { scale } => exact(ExactWidth::Int64, scale),
        MessageType::Int128 { scale } => exact(ExactWidth::Int128, scale),
        MessageType::Float => SqlType::Float,
        MessageType::Double | MessageType::DFloat => SqlType::Double,
        MessageType::Date => SqlType::Date,
        MessageType::Time => SqlType::Time,
        MessageType::Timestamp => SqlType::Timestamp,
        MessageType::Boolean => SqlType::Boolean,
        MessageType::DecFloat16 => SqlType::DecFloat16,
        MessageType::DecFloat34 => SqlType::DecFloat34,
        MessageType::TimeTz | MessageType::ExtendedTimeTz => SqlType::TimeTz,
        MessageType::TimestampTz | MessageType::ExtendedTimestampTz => SqlType::TimestampTz,
        MessageType::Text { .. }
        | MessageType::Varying { .. }
        | MessageType::Cstring { .. }
        | MessageType::Blob { .. }
        | MessageType::Quad { .. } => return None,
    })
}

fn character_set_of(word: Option<u16>, connection: CharacterSet) -> CharacterSet {
    match word.map(|word| word.to_le_bytes()[0]) {
        None | Some(DYNAMIC) => connection,
        Some(id) => CharacterSet(id),
    }
}

/// A value as text of a character set, refused if it is too long; trailing spaces may go.
fn to_text(value: &Value, character_set: CharacterSet, bytes_max: usize) -> Result<Value> {
    let text = match value {
        Value::Text(text) if is_raw(text.character_set()) || is_raw(character_set) => {
            Text::new(text.bytes(), character_set)
        }
        Value::Text(text) => text.transliterate(character_set)?,
        other => Text::new(to_display_text(other).into_bytes(), character_set),
    };
    if text.bytes().len() <= bytes_max {
        return Ok(Value::Text(text));
    }
    let needed = text.bytes().trim_ascii_end();
    if needed.len() > bytes_max {
        let number = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        return Err(Error::new(isc::ARITH_EXCEPT)
            .and(isc::STRING_TRUNCATION)
            .and(isc::TRUNC_LIMITS)
            .with(number(bytes_max / usize::from(character_set.bytes_per_character())))
            .with(number(Text::new(needed, character_set).char_length())));
    }
    Ok(Value::Text(Text::new(&text.bytes()[..bytes_max], character_set)))
}

/// A value for an item of a BLR request's message. NULL becomes what the item holds then: blanks in a text of fixed length,
/// nothing in others.
///
/// # Errors
/// What CAST gives for a value that does not fit.
pub(crate) fn message_item(
    value: &Value,
    item: &MessageType,
    connection: CharacterSet,
    context: &CastContext,
) -> Result<Value> {
    match (value, item) {
        (Value::Null, MessageType::Text { .. }) => Ok(Value::Text(Text::new(&b""[..], connection))),
        (Value::Null, _) => Ok(Value::Null),
        (
            value,
            MessageType::Text { length, .. }
            | MessageType::Varying { length, .. }
            | MessageType::Cstring { length, .. },
        ) => {
            let character_set = text_character_set(item, connection).unwrap_or(connection);
            // A program's memory has a zero behind the bytes of a CSTRING.
            let end = usize::from(matches!(item, MessageType::Cstring { .. }));
            to_text(value, character_set, usize::from(*length).saturating_sub(end))
        }
        (Value::Blob(_), _) => Ok(value.clone()),
        (value, item) => match sql_type_of(item) {
            Some(target) => cast(value, &target, context),
            None => Err(Error::new(isc::CONVERT_ERROR).with(to_display_text(value))),
        },
    }
}

/// The character set of a text's item; none for other items.
pub(crate) fn text_character_set(item: &MessageType, connection: CharacterSet) -> Option<CharacterSet> {
    match item {
        MessageType::Text { charset, .. }
        | MessageType::Varying { charset, .. }
        | MessageType::Cstring { charset, .. } => Some(character_set_of(*charset, connection)),
        _ => None,
    }
}

/// Turns a client's parameters into values of the types that the statement described. `context` is asked for what
/// conversions depend on if there is something to convert.
///
/// # Errors
/// `isc_dsql_sqlda_err` if the number differs (what comes for a statement without parameters is passed over, as in
/// Firebird); what CAST gives for a value that does not fit;
/// `isc_malformed_string` for bytes that are not of their character set.
pub(crate) fn parameters(
    mut values: Vec<Value>,
    format: Option<&MessageFormat>,
    described: &[ColumnType],
    connection: CharacterSet,
    context: impl Fn() -> CastContext,
) -> Result<Vec<Value>> {
    if described.is_empty() {
        return Ok(Vec::new());
    }
    if values.is_empty() {
        return Err(Error::new(isc::DSQL_ERROR).and(isc::DSQL_SQLDA_ERR).and(isc::DSQL_NO_INPUT_SQLDA));
    }
    if values.len() != described.len() {
        return Err(wrong_count(described.len(), values.len()));
    }
    let mut columns = format.into_iter().flat_map(MessageFormat::columns);
    for (value, column) in values.iter_mut().zip(described) {
        let target = column.sql_type.of_parameter_value();
        let character_set = match columns.next() {
            Some(
                MessageType::Text { charset, .. }
                | MessageType::Varying { charset, .. }
                | MessageType::Cstring { charset, .. },
            ) => character_set_of(*charset, connection),
            _ => connection,
        };
        if !is_exactly(value, character_set, &target) {
            let given = std::mem::replace(value, Value::Null);
            *value = parameter(given, character_set, &target, &context())?;
        }
    }
    Ok(values)
}

/// Whether a value needs no conversion, for the commonest types.
fn is_exactly(value: &Value, character_set: CharacterSet, target: &SqlType) -> bool {
    match (value, target) {
        (Value::Null, _) => true,
        (Value::Integer { unscaled, scale: given }, SqlType::Exact { width, scale, .. }) => {
            given == scale
                && match width {
                    ExactWidth::Short => i16::try_from(*unscaled).is_ok(),
                    ExactWidth::Long => i32::try_from(*unscaled).is_ok(),
                    ExactWidth::Int64 => true,
                    ExactWidth::Int128 => false,
                }
        }
        (Value::Text(text), SqlType::Text(to)) => {
            let length_max = usize::try_from(to.length_chars).unwrap_or(usize::MAX);
            to.varying
                && character_set == to.character_set
                && character_set == text.character_set()
                && (text.bytes().len() <= length_max || text.char_length() <= length_max)
                && character_set.check(text.bytes()).is_ok()
        }
        (Value::Date(date), SqlType::Date) => date.is_valid(),
        (Value::Time(time), SqlType::Time) => time.is_valid(),
        (Value::Timestamp(moment), SqlType::Timestamp) => moment.date.is_valid() && moment.time.is_valid(),
        (Value::Boolean(_), SqlType::Boolean)
        | (Value::Float(_), SqlType::Float)
        | (Value::Double(_), SqlType::Double) => true,
        _ => false,
    }
}

fn parameter(
    value: Value,
    character_set: CharacterSet,
    target: &SqlType,
    context: &CastContext,
) -> Result<Value> {
    let value = match value {
        // Bytes are bytes, whatever the client calls them.
        Value::Text(text) if takes_bytes(target) => {
            Value::Text(Text::new(text.bytes(), CharacterSet::OCTETS))
        }
        Value::Text(text) => {
            character_set.check(text.bytes())?;
            Value::Text(match text.character_set() == character_set {
                true => text,
                false => Text::new(text.bytes(), character_set),
            })
        }
        other => other,
    };
    match (&value, target) {
        // The engine makes BLOBs of texts, and keeps parameters of no type as they come.
        (Value::Null, _) | (_, SqlType::Null | SqlType::Blob { .. } | SqlType::Array) => Ok(value),
        _ => cast(&value, target, context),
    }
}

/// Whether a column holds bytes rather than characters.
fn takes_bytes(target: &SqlType) -> bool {
    match target {
        SqlType::Text(text) => text.character_set == CharacterSet::OCTETS,
        SqlType::Blob { subtype, .. } => *subtype != 1,
        _ => false,
    }
}

/// A message has another number of columns than the statement.
pub(crate) fn wrong_count(expected: usize, given: usize) -> Error {
    let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    Error::new(isc::DSQL_ERROR)
        .and(isc::DSQL_SQLDA_ERR)
        .and(isc::DSQL_WRONG_PARAM_NUM)
        .with(number(expected))
        .with(number(given))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> CastContext {
        CastContext {
            session_zone: farbird_types::ZoneId(u16::MAX),
            now: Default::default,
            ..CastContext::UTC
        }
    }

    fn nullable(sql_type: SqlType) -> ColumnType {
        ColumnType { sql_type, nullable: true }
    }

    fn converted(source: SqlType, target: MessageType, value: Value) -> Result<Value> {
        let format = MessageFormat::from_columns([target]);
        let conversion = RowConversion::new(&[nullable(source)], &format, CharacterSet::UTF8)?;
        let mut scratch = Vec::new();
        conversion.apply(&[value], &context(), &mut scratch).map(|row| row[0].clone())
    }

    #[test]
    fn texts_are_described_in_the_connections_character_set() {
        let win1252 = CharacterSet::by_name("WIN1252").unwrap();
        let column = nullable(SqlType::varchar(10, win1252));
        assert_eq!(described(&column, CharacterSet::UTF8).sql_type, SqlType::varchar(10, CharacterSet::UTF8));
        assert_eq!(described(&column, CharacterSet::NONE), column);
        let octets = nullable(SqlType::varchar(10, CharacterSet::OCTETS));
        assert_eq!(described(&octets, CharacterSet::UTF8), octets);
    }

    #[test]
    fn no_text_is_described_as_longer_than_a_column() {
        let win1252 = CharacterSet::by_name("WIN1252").unwrap();
        for (column, shown) in [
            (SqlType::varchar(30_000, win1252), SqlType::varchar(8191, CharacterSet::UTF8)),
            (SqlType::varchar(16_000, CharacterSet::UTF8), SqlType::varchar(8191, CharacterSet::UTF8)),
            (SqlType::varchar(64_000, CharacterSet::OCTETS), SqlType::varchar(32_765, CharacterSet::OCTETS)),
        ] {
            assert_eq!(described(&nullable(column), CharacterSet::UTF8).sql_type, shown);
        }
    }

    #[test]
    fn a_client_may_ask_for_numbers_as_text() {
        let target = MessageType::Varying { length: 20, charset: None };
        let value = Value::Integer { unscaled: 12345, scale: -2 };
        let numeric = SqlType::Exact { width: ExactWidth::Long, scale: -2, subtype: ExactSubtype::Numeric };
        assert_eq!(converted(numeric, target, value).unwrap(), Value::text("123.45"));
    }

    #[test]
    fn a_text_too_long_for_the_client_is_an_error_not_a_cut() {
        let target = MessageType::Varying { length: 3, charset: Some(4) };
        let source = SqlType::varchar(10, CharacterSet::UTF8);
        assert_eq!(converted(source, target, Value::text("abc  ")).unwrap(), Value::text("abc"));
        let error = converted(source, target, Value::text("abcd")).unwrap_err();
        assert!(error.has(isc::STRING_TRUNCATION), "{error}");
    }

    #[test]
    fn a_text_that_ends_with_a_zero_leaves_room_for_it() {
        let item = MessageType::Cstring { length: 4, charset: None };
        let made = |text| message_item(&Value::text(text), &item, CharacterSet::UTF8, &context());
        assert_eq!(made("abc  ").unwrap(), Value::text("abc"));
        assert!(made("abcd").unwrap_err().has(isc::STRING_TRUNCATION));
    }

    #[test]
    fn the_number_of_columns_must_match() {
        let format = MessageFormat::from_columns([MessageType::Long { scale: 0 }]);
        let error = RowConversion::new(&[], &format, CharacterSet::UTF8).unwrap_err();
        assert!(error.has(isc::DSQL_SQLDA_ERR));
    }
}
