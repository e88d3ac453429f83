//! Tokens to syntax tree: recursive descent, with operator precedence for expressions.
//!
//! Promises: never panics; needs no backtracking, so that its time is proportional to the text; its recursion is
//! bounded by [`crate::limits::DEPTH_MAX`], and so is the height of the trees that it makes. The first token that
//! Firebird's grammar (5.0, src/dsql/parse.y) cannot take is the one that the error names.
//!
//! | file | subject |
//! |---|---|
//! | `cursor` | looking at tokens, taking them, names, numbers, strings |
//! | `expression` | operators and operands |
//! | `literal` | constants, defaults |
//! | `function` | calls; `window` aggregates and windows |
//! | `data_type` | types |
//! | `query` | SELECT; `table` its FROM, `plan` its PLAN |
//! | `statement` | statements that change rows |
//! | `psql` | blocks; `psql_execute` EXECUTE STATEMENT and its siblings |
//! | `transaction`, `session` | what their statements say |
//! | `ddl` and below | definitions |

mod cursor;
mod data_type;
mod ddl;
mod dialect;
mod expression;
mod function;
mod literal;
mod plan;
mod psql;
mod psql_execute;
mod query;
mod session;
mod statement;
mod table;
mod transaction;
mod window;

use crate::ast::{
    Check, Computed, DataType, DefaultValue, Expression, RoutineBody, SelectStatement, Statement,
    StatementKind,
};
use crate::limits::STATEMENT_BYTES_MAX;
use crate::{ParseOptions, error};
use cursor::Parser;
use farbird_types::Result;

pub use plan::indexes_of_plans;

/// Parses one statement; a semicolon may end it.
///
/// # Errors
/// Firebird's statuses for faulty texts: Dynamic SQL Error with SQL error code -104 and, for instance, Token unknown with
/// line, column and token.
pub fn parse_statement(text: &str, options: &ParseOptions) -> Result<Statement> {
    let mut parser = parser(without_semicolon(text), options)?;
    let kind = parser.statement()?;
    parser.eat_symbol(";");
    parser.expect_end()?;
    if matches!(kind, StatementKind::Ddl(_)) {
        parser.check_definition_is_clear()?;
    }
    Ok(Statement { kind, parameter_count: parser.parameter_count(), warnings: parser.take_warnings() })
}

/// Parses a value or predicate and nothing else.
///
/// # Errors
/// As [`parse_statement`].
pub fn parse_expression(text: &str, options: &ParseOptions) -> Result<Expression> {
    whole(text, options, Parser::expression)
}

/// Parses a data type, as CAST takes it, and nothing else.
///
/// # Errors
/// As [`parse_statement`].
pub fn parse_data_type(text: &str, options: &ParseOptions) -> Result<DataType> {
    whole(text, options, Parser::data_type)
}

/// Parses a query: the source of a view without WITH CHECK OPTION.
///
/// # Errors
/// As [`parse_statement`].
pub fn parse_query(text: &str, options: &ParseOptions) -> Result<SelectStatement> {
    whole(text, options, |parser| {
        let query = parser.select_statement()?;
        parser.check_option()?;
        Ok(query)
    })
}

/// Parses declarations and a block: the source of a procedure or function; that of a trigger, which begins with AS,
/// too.
///
/// # Errors
/// As [`parse_statement`].
pub fn parse_psql_body(text: &str, options: &ParseOptions) -> Result<RoutineBody> {
    whole(text, options, |parser| {
        parser.eat_keyword("AS");
        parser.routine_body()
    })
}

/// Parses `DEFAULT value` or `= value`: the source of a default.
///
/// # Errors
/// As [`parse_statement`].
pub fn parse_default(text: &str, options: &ParseOptions) -> Result<DefaultValue> {
    whole(text, options, Parser::default_clause)
}

/// Parses `CHECK (condition)`: the source of a constraint.
///
/// # Errors
/// As [`parse_statement`].
pub fn parse_check(text: &str, options: &ParseOptions) -> Result<Check> {
    whole(text, options, Parser::check)
}

/// Parses `(value)`: the source of a computed column or index.
///
/// # Errors
/// As [`parse_statement`].
pub fn parse_computed(text: &str, options: &ParseOptions) -> Result<Computed> {
    whole(text, options, Parser::computed_value)
}

/// The text without the semicolon at its end: Firebird takes it off before it parses, so that it is not the token that an
/// error names.
fn without_semicolon(text: &str) -> &str {
    text.trim_end_matches(' ').strip_suffix(';').unwrap_or(text)
}

/// Parses a text that consists of one thing.
fn whole<'a, T>(
    text: &'a str,
    options: &ParseOptions,
    parse: impl FnOnce(&mut Parser<'a>) -> Result<T>,
) -> Result<T> {
    let mut parser = parser(text, options)?;
    let tree = parse(&mut parser)?;
    parser.expect_end()?;
    Ok(tree)
}

fn parser<'a>(text: &'a str, options: &ParseOptions) -> Result<Parser<'a>> {
    if text.len() > STATEMENT_BYTES_MAX {
        return Err(error::limit_exceeded("statement length"));
    }
    Ok(Parser::new(text, *options))
}
