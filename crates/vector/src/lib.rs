//! Columns of values: what operators, functions and expressions hand each other, and loops over them.
//!
//! | module | what it does |
//! |---|---|
//! | `operand` | columns and constants, selections of their rows, and loops over them |
//! | `nulls` | which rows are NULL |
//! | `truth` | three-valued logic on columns |
//! | `unit` | what whole numbers stand for |
//! | `arithmetic` | what the loops do with numbers |
//! | `vectors` | rows by columns, as operators exchange them |
//!
//! # Promise
//! Errors are not made here: whenever a row that is looked at might fail (an overflow, a division by zero), the whole
//! batch [`Failed`] and nothing of it counts; the caller goes through it row by row and meets the right error at the
//! right row, or none.
//!
//! Uses `types` and, for the NULLs of stored columns, `store`. Its loops run for every row: what is not generic is
//! marked `#[inline]`, so that they are compiled where they are used.
#![forbid(unsafe_code)]

pub mod arithmetic;
mod failed;
mod nulls;
mod operand;
pub mod truth;
mod unit;
mod vectors;

pub use arithmetic::order_of_doubles;
pub use failed::Failed;
pub use nulls::Nulls;
pub use operand::{Column, Operand, Selection, Values};
pub use unit::{DAY, Unit};
pub use vectors::{NO_ROW, Vectors};
