//! The statuses that the lexer and the parser give.
//!
//! Source: codes and arguments as Firebird 3.0.11 and 5.0 send them (recorded in the tests of the parser).

use crate::Dialect;
use crate::ast::Position;
use farbird_types::{Error, isc};

/// SQLCODE of errors in a statement's text.
const SQLCODE_SYNTAX: i32 = -104;
/// SQLCODE of errors in the numbers of a type.
const SQLCODE_TYPE: i32 = -842;
/// SQLCODE of what the database's dialect does not allow.
const SQLCODE_DIALECT: i32 = -817;
/// SQLCODE of a clause that was written twice.
const SQLCODE_DUPLICATE: i32 = -637;

/// isc_dsql_line_col_error: At line @1, column @2.
const LINE_COLUMN: u32 = 336_397_208;
/// isc_dsql_string_byte_length: String literal with @1 bytes exceeds the maximum length of @2 bytes.
const STRING_BYTE_LENGTH: u32 = 336_397_331;

/// A number as an argument of a status; positions never reach the limit.
fn number(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

/// The beginning that all of them share: Dynamic SQL Error, SQL error code = -104.
fn syntax_error() -> Error {
    Error::new(isc::DSQL_ERROR).and(isc::SQLERR).with(SQLCODE_SYNTAX)
}

/// Token unknown - line @1, column @2, and the token.
pub(crate) fn token_unknown(position: Position, token: &str) -> Error {
    syntax_error()
        .and(isc::DSQL_TOKEN_UNK_ERR)
        .with(number(position.line))
        .with(number(position.column))
        .and(isc::RANDOM)
        .with(token)
}

/// Unexpected end of command - line @1, column @2: the position of the last token.
pub(crate) fn command_end(position: Position) -> Error {
    syntax_error().and(isc::COMMAND_END_ERR2).with(number(position.line)).with(number(position.column))
}

/// Appends the place: At line @1, column @2.
fn located(error: Error, position: Position) -> Error {
    error.and(LINE_COLUMN).with(number(position.line)).with(number(position.column))
}

/// A name that cannot be one (too long, empty), with its place.
pub(crate) fn bad_name(code: u32, position: Position) -> Error {
    located(syntax_error().and(code), position)
}

/// A number of a type out of its range, with its place.
pub(crate) fn bad_type_number(code: u32, arguments: &[i32], position: Position) -> Error {
    let mut error = Error::new(isc::DSQL_ERROR).and(isc::SQLERR).with(SQLCODE_TYPE).and(code);
    for argument in arguments {
        error = error.with(*argument);
    }
    located(error, position)
}

/// A string constant of too many bytes.
pub(crate) fn string_too_long(bytes: usize, bytes_max: usize) -> Error {
    syntax_error()
        .and(STRING_BYTE_LENGTH)
        .with(i32::try_from(bytes).unwrap_or(i32::MAX))
        .with(i32::try_from(bytes_max).unwrap_or(i32::MAX))
}

/// A type that a statement's or a database's dialect does not have.
pub(crate) fn no_such_type(rule: u32, dialect: Dialect, data_type: &str) -> Error {
    syntax_error().and(rule).with(i32::from(dialect.number())).with(data_type)
}

/// A definition that would mean something else in the database's dialect.
pub(crate) fn definition_of_other_dialect(database: Dialect) -> Error {
    Error::new(isc::DSQL_ERROR)
        .and(isc::SQLERR)
        .with(SQLCODE_DIALECT)
        .and(isc::DDL_NOT_ALLOWED_BY_DB_SQL_DIAL)
        .with(i32::from(database.number()))
}

/// A clause that was written twice.
pub(crate) fn duplicate_clause(what: &str) -> Error {
    Error::new(isc::SQLERR).with(SQLCODE_DUPLICATE).and(isc::DSQL_DUPLICATE_SPEC).with(what)
}

/// A whole number beyond its type, as for a sequence's values.
pub(crate) fn number_out_of_range() -> Error {
    syntax_error().and(isc::ARITH_EXCEPT).and(isc::NUMERIC_OUT_OF_RANGE)
}

/// A list of values beyond its limit.
pub(crate) fn too_many_values(most: usize) -> Error {
    Error::new(isc::DSQL_ERROR)
        .and(isc::SQLERR)
        .with(-901)
        .and(isc::IMP_EXC)
        .and(isc::DSQL_TOO_MANY_VALUES)
        .with(i32::try_from(most).unwrap_or(i32::MAX))
}

/// A statement beyond one of the limits of [`crate::limits`].
pub(crate) fn limit_exceeded(limit: &str) -> Error {
    syntax_error().and(isc::IMP_EXC).and(isc::RANDOM).with(limit)
}

/// A number of digits that no time has.
pub(crate) fn time_precision(digits_max: u8) -> Error {
    Error::new(isc::DSQL_ERROR).and(isc::INVALID_TIME_PRECISION).with(i32::from(digits_max))
}
