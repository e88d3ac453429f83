//! The library face: databases inside the program that uses them.
//!
//! # Place
//! Typed values, lifetimes and destructors over the engine's `Engine` and `Attachment`, which speak in handles. The
//! server stands on the same two: what a client can do here it can do there. Nothing here knows of it.
//!
//! | module | what it is |
//! |---|---|
//! | `database`, `options` | a file, opened once per process |
//! | `maintenance` | sweep, check, backup and restore |
//! | `connection` | a session; what stops it from elsewhere |
//! | `transaction` | a transaction; how one begins |
//! | `statement`, `prepared` | prepared statements, and those that a connection keeps |
//! | `execute` | running statements, in a given transaction or one of their own |
//! | `parameters`, `from_value`, `rows` | Rust's types to SQL's and back; rows |
//! | `blob` | BLOBs as `Read`, `Write` and `Seek` |
//! | `table_counts` | what a connection has done with the rows of tables |
//! | `script` | statements that begin and end transactions themselves |
//! | `error` | the one error |
//!
//! # Promises
//! - A lock is held only while the engine is called: never while the program works on a row.
//! - Whatever is dropped is undone: transactions, cursors, BLOBs that are not finished.

mod blob;
mod connection;
mod database;
mod error;
mod execute;
mod from_value;
mod maintenance;
mod options;
mod parameters;
mod prepared;
mod rows;
mod script;
mod statement;
mod table_counts;
mod transaction;

pub use blob::{Blob, BlobReader, BlobWriter};
pub use connection::{Canceller, Connection};
pub use database::Database;
pub use error::{Error, Result};
pub use execute::Executor;
pub use farbird_engine::backup::BackupSummary;
pub use farbird_engine::budget::Limits;
pub use farbird_engine::check::{Damage, DatabaseReport};
pub use farbird_engine::engine::Engine;
pub use farbird_store::check::CheckReport;
pub use from_value::{FromValue, NotOfType};
pub use options::{DatabaseOptions, engine, set_external_file_folders, set_limits};
pub use parameters::{Parameters, ToValue};
pub use rows::{Column, ColumnIndex, FromRow, Row, Rows};
pub use script::Script;
pub use statement::{Statement, StatementKind};
pub use table_counts::TableCounts;
pub use transaction::{Isolation, Transaction, TransactionOptions};
