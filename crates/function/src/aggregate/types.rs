//! Types of what aggregates take and give.

use farbird_types::{ColumnType, Error, Result, SqlType, isc};

pub(super) fn argument_type(arguments: &[ColumnType]) -> &SqlType {
    arguments.first().map_or(&SqlType::Null, |argument| &argument.sql_type)
}

pub(super) fn must_be_numeric(function: &str) -> Error {
    Error::new(isc::DSQL_ERROR).and(isc::EXPRESSION_EVAL_ERR).and(isc::DSQL_AGG2_WRONGARG).with(function)
}

pub(super) fn nullable(sql_type: SqlType) -> Result<ColumnType> {
    Ok(ColumnType { sql_type, nullable: true })
}
