//! Text to syntax tree and back: the Firebird SQL dialect, version 5, PSQL included.
//!
//! Promises: no I/O and no catalog; any text gives a tree or a Firebird status, never a panic; every limit is named
//! ([`limits`]). Uses `farbird-types` for the status and the widths of integers; the engine uses it.
#![forbid(unsafe_code)]

pub mod ast;
pub mod limits;

mod error;
mod lexer;
mod parser;
mod printer;
mod script;

pub use lexer::{alternative_quoted, keywords};
pub use parser::{
    ParseOptions, indexes_of_plans, parse_check, parse_computed, parse_data_type, parse_default,
    parse_expression, parse_psql_body, parse_query, parse_statement,
};

pub use script::{ScriptStatement, ScriptStatements, split_script};

/// SQL dialect of an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Dialect {
    /// Dialect 1: double quotes make strings, DATE is a timestamp, large and decimal numbers are doubles.
    One,
    /// Dialect 3.
    #[default]
    Three,
}
