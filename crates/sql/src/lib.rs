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
    indexes_of_plans, parse_check, parse_computed, parse_data_type, parse_default, parse_expression,
    parse_psql_body, parse_query, parse_statement,
};

pub use script::{ScriptStatement, ScriptStatements, split_script};

/// SQL dialect of a statement, or of a database, which has no dialect 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Dialect {
    /// Dialect 1: double quotes make strings, DATE is a timestamp, large and decimal numbers are doubles.
    One,
    /// Dialect 2: dialect 3 for whoever comes from dialect 1. What means something else there is refused, or warned of.
    Two,
    /// Dialect 3.
    #[default]
    Three,
}

impl Dialect {
    /// The dialect of a number; any but 1 and 2 is 3.
    pub const fn numbered(number: u8) -> Dialect {
        match number {
            1 => Dialect::One,
            2 => Dialect::Two,
            _ => Dialect::Three,
        }
    }

    /// Its number.
    pub const fn number(self) -> u8 {
        match self {
            Dialect::One => 1,
            Dialect::Two => 2,
            Dialect::Three => 3,
        }
    }
}

/// What a parser must know besides the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ParseOptions {
    /// The statement's dialect.
    pub dialect: Dialect,
    /// The database's dialect: some types have to be in both.
    pub database: Dialect,
    /// Whether a type may be written that the dialects do not have: a restored table has the columns that it had.
    pub any_type: bool,
}

impl ParseOptions {
    /// A text of the database's own dialect.
    pub const fn of(dialect: Dialect) -> ParseOptions {
        ParseOptions { dialect, database: dialect, any_type: false }
    }
}
