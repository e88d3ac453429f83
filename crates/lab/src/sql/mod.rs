//! Reports, joins, procedures, point queries and a mixed load, beside Firebird, PostgreSQL and DuckDB, in one run.
//!
//! | module | what is measured |
//! |---|---|
//! | [`tpch`] | the 22 queries of TPC-H over the standard's data |
//! | [`joins`] | joins of up to twelve tables over made-up skewed data, after the Join Order Benchmark |
//! | [`groups`] | groups, distinct values, sorts, windows, a self-join of one long table |
//! | [`psql`] | loops in PSQL, and in PL/pgSQL |
//! | [`points`] | prepared statements by key, one after another; UPDATE and DELETE of ranges |
//! | [`metadata`] | a database with very many tables |
//! | [`plans`] | random joins: the chosen plan beside those that PLAN clauses force |
//! | [`mixed`] | many connections that read, write and report at once |
//!
//! A [`Side`] is a database that takes part; a [`Figure`] is what one of them made of one piece of work. [`Bench`] has the
//! sides do the same work in turn, compares their answers, and holds them to a limit of time.
//!
//! # Place
//! Uses the client as any program would. Embedded Farbird takes part through [`Client`], which the binary implements.

mod answer;
mod bench;
mod duckdb;
mod estimates;
mod figure;
mod firebird;
pub mod groups;
mod guard;
pub mod joins;
pub mod metadata;
pub mod mixed;
pub mod plans;
pub mod points;
mod postgres;
pub mod psql;
mod side;
mod statements;
pub mod tpch;

pub use answer::Answer;
pub use bench::{Bench, Limits};
pub use duckdb::DuckDbSide;
pub use estimates::{Errors, OperatorEstimate};
pub use figure::{Figure, Outcome, Percentiles, Unit};
pub use firebird::FirebirdSide;
pub use guard::Stop;
pub use postgres::PostgresSide;
pub use side::{Client, Dialect, Field, Rows, Side, TableDefinition, Visitor};
