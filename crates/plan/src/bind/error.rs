//! The statuses of binding, as Firebird's.

use farbird_sql::ast::{Name, Position};
use farbird_types::{Error, isc};

/// SQLCODEs that go with `isc_sqlerr`.
pub(crate) mod sqlcode {
    /// Unknown table.
    pub(crate) const UNKNOWN_TABLE: i32 = -204;
    /// Unknown column.
    pub(crate) const UNKNOWN_COLUMN: i32 = -206;
    /// Syntax, aggregates, anything without a number of its own.
    pub(crate) const SYNTAX: i32 = -104;
    /// A procedure without outputs, where values are asked for.
    pub(crate) const NO_VALUES: i32 = -84;
    /// Types and counts of values.
    pub(crate) const VALUES: i32 = -804;
    /// An unknown character set before a text.
    pub(crate) const CHARACTER_SET: i32 = -504;
    /// What is not allowed for an object of this kind.
    pub(crate) const NOT_ALLOWED: i32 = -607;
}

/// Where in the text: line and column.
pub(crate) const DSQL_LINE_COL_ERROR: u32 = 336_397_208;

/// The head of an error of prepare, with the SQLCODE.
pub(crate) fn dsql(code: i32) -> Error {
    Error::new(isc::DSQL_ERROR).and(isc::SQLERR).with(code)
}

/// Adds where it happened.
pub(crate) fn at(error: Error, position: Position) -> Error {
    error.and(DSQL_LINE_COL_ERROR).with(number(position.line)).with(number(position.column))
}

fn number(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// A table that is not there.
pub(crate) fn unknown_table(name: &Name) -> Error {
    let error = dsql(sqlcode::UNKNOWN_TABLE).and(isc::DSQL_RELATION_ERR).and(isc::RANDOM).with(name.as_str());
    at(error, name.position)
}

/// A column that is not there.
pub(crate) fn unknown_column(qualifier: Option<&Name>, name: &str, position: Position) -> Error {
    let text = match qualifier {
        Some(qualifier) => format!("{qualifier}.{name}"),
        None => name.to_owned(),
    };
    at(dsql(sqlcode::UNKNOWN_COLUMN).and(isc::DSQL_FIELD_ERR).and(isc::RANDOM).with(text), position)
}

/// Something that this engine does not do.
pub(crate) fn unsupported(what: &str) -> Error {
    Error::new(isc::WISH_LIST).and(isc::RANDOM).with(what)
}

/// The head of what Firebird finds when it reads its BLR, of which there is none here.
pub(crate) fn invalid_blr() -> Error {
    // A place as it could be: drivers take zero for the end of the status and one for its next code, and miss what is wrong.
    Error::new(isc::INVALID_BLR).with(2)
}

/// Two items of the select list have the name that GROUP BY or ORDER BY asks for.
pub(crate) fn ambiguous_item(name: &Name, first: &str, second: &str) -> Error {
    dsql(sqlcode::UNKNOWN_TABLE)
        .and(isc::DSQL_AMBIGUOUS_FIELD_NAME)
        .with(first)
        .with(format!("{second} in the select list with name"))
        .and(isc::RANDOM)
        .with(name.as_str())
}
