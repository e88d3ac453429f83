//! Expressions over columns: a condition or an argument computed for thousands of rows at a time, in plain numbers.
//!
//! [`Program`] is a bound expression compiled for columns of known types. What it cannot compute in plain numbers (texts,
//! INT128, most functions) it computes row by row, on just the columns that the part looks at, so it computes any
//! expression that is not volatile.
//!
//! # Promise
//! Results are those of [`Expression::evaluate`](farbird_expression::Expression::evaluate) and
//! [`Expression::truth`](farbird_expression::Expression::truth), row by row. Errors are not made here: whenever a row that
//! is looked at might fail (an overflow, a division by zero), the whole batch [`Failed`](farbird_vector::Failed) and nothing of it counts; the
//! caller goes through it row by row and meets the right error at the right row, or none. AND, OR and CASE look only at
//! the rows that the parts before have left open, so that a guarded division does not fail.
//!
//! | file | subject |
//! |---|---|
//! | `expression` | what is computed: numbers, doubles, truths |
//! | `column_kind` | what kind of columns they are compiled for |
//! | `compile` | from bound expressions |
//! | `evaluate` | running it on rows of a batch |
//! | `known_texts` | results for texts that repeat |
//! | `bounds` | what a condition can come to within bounds of columns |

mod bounds;
mod column_kind;
mod compile;
mod evaluate;
mod expression;
mod known_texts;

pub(crate) use bounds::Possible;
pub(crate) use column_kind::ColumnKind;
pub(crate) use compile::Program;
pub(crate) use evaluate::Rows;
