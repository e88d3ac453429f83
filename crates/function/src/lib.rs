//! The built-in scalar functions and aggregates.
//!
//! A function is a row of a table: name, how its result type follows from its arguments, and how it is evaluated. The
//! binder looks names up here; evaluation gets values, never expressions. Functions with special evaluation (COALESCE,
//! CASE, IIF, DECODE, NULLIF: not all arguments are evaluated) are bound to expressions of their own and are not here.
//! Forms with keywords (EXTRACT, SUBSTRING, TRIM ...) are turned into plain calls by [`call::keyword_call`].
//!
//! Source: Firebird 5 language reference, chapters Built-in Scalar Functions and Aggregate Functions.
//!
//! | module | what it does |
//! |---|---|
//! | `scalar`, `accumulator` | what a scalar function and an aggregate are |
//! | `grouped` | accumulators of many groups, side by side |
//! | `lookup` | the functions by their names |
//! | `context` | what a function has at hand while it is computed |
//! | `text`, `number`, `bits`, `date`, `encoding`, `cryptography`, `decfloat`, `context_variable`, `record_key` | the functions |
//! | `continuous` | roots, logarithms and powers of DECFLOAT, with more digits than a result has |
//! | `blob_util`, `time_zone_util` | what the system packages of these names are made of |
//! | `aggregate` | the aggregates |
//! | `library` | external functions: those of the libraries `ib_udf`, `fbudf` and `udflib` |
//! | `call` | forms with keywords, as plain calls |
//! | `argument`, `numeric`, `result_type` | reading arguments, as numbers too; how types of results follow from those of arguments |
//! | `array` | elements and slices of arrays |
//! | `blob`, `compare` | BLOBs as texts; comparing values, BLOBs among them |
//!
//! Uses `catalog` and what stands below it, and `vector`; knows no expression and no plan.
#![forbid(unsafe_code)]

mod accumulator;
pub mod aggregate;
pub mod argument;
pub mod array;
pub mod bits;
pub mod blob;
mod blob_handles;
pub mod blob_util;
pub mod call;
pub mod compare;
mod context;
pub mod context_variable;
mod continuous;
mod cryptography;
pub mod date;
pub mod decfloat;
pub mod encoding;
mod grouped;
pub mod library;
mod lookup;
pub mod number;
mod numeric;
mod random;
pub mod record_key;
pub mod result_type;
mod scalar;
pub mod text;
pub mod time_zone_util;

pub use accumulator::{Accumulator, AggregateFunction, GroupedAccumulator, GroupedRows, StartGrouped};
pub use blob_handles::BlobUtil;
pub use context::Context;
pub use lookup::{lookup_aggregate, lookup_scalar};
pub use scalar::{ARITY_UNBOUNDED, Argument, Call, ScalarBody, ScalarFunction, Signature};
