//! The built-in scalar functions and aggregates.
//!
//! A function is a row of a table: name, how its result type follows from its argument types, and how it is
//! evaluated. The binder looks names up here; evaluation gets values, never expressions. Functions with special
//! evaluation (COALESCE, CASE, IIF, DECODE, NULLIF: not all arguments are evaluated) are bound to expressions of their
//! own and are not here.
//!
//! Source: Firebird 5 language reference, chapters Built-in Scalar Functions and Aggregate Functions.

use farbird_types::{ColumnType, Result, Value};

use crate::execute::context::ExecutionContext;

/// A built-in scalar function.
pub struct ScalarFunction {
    /// Name, upper-case; also the column's default label (`CHAR_LENGTH`).
    pub name: &'static str,
    /// Fewest and most arguments.
    pub arity: (usize, usize),
    /// Result type from the argument types. A parameter without type comes as [`farbird_types::SqlType::Null`].
    pub result: fn(&[ColumnType]) -> Result<ColumnType>,
    /// What a `?` in the given argument place should be described as, if the function knows.
    pub parameter_type: fn(usize) -> Option<farbird_types::SqlType>,
    /// Evaluates. `result` is the type found when binding; BLOB arguments come as ids, to be read through the context.
    pub evaluate: fn(&mut ExecutionContext<'_>, &[Value], &ColumnType) -> Result<Value>,
    /// Same arguments, same result, within one statement: constant calls are folded.
    pub deterministic: bool,
}

/// A built-in aggregate function.
pub struct AggregateFunction {
    /// Name, upper-case.
    pub name: &'static str,
    /// Fewest and most arguments; COUNT(*) has none.
    pub arity: (usize, usize),
    /// Result type from the argument types.
    pub result: fn(&[ColumnType]) -> Result<ColumnType>,
    /// A fresh accumulator for one group, given the argument types and the result type.
    pub start: fn(&[ColumnType], &ColumnType) -> Box<dyn Accumulator>,
}

/// Collects the rows of one group.
pub trait Accumulator: Send {
    /// Takes one row's arguments. NULL handling is the function's own (most skip it).
    fn add(&mut self, context: &mut ExecutionContext<'_>, arguments: &[Value]) -> Result<()>;

    /// The result so far; windows ask more than once.
    fn result(&self, context: &mut ExecutionContext<'_>) -> Result<Value>;
}
