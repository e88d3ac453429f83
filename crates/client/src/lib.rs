//! The driver: connects to any server that speaks the Firebird protocol, 10 to 20 (Firebird 2.5 and later, Farbird).
//!
//! # Two faces
//! The types of the crate's root are asynchronous; a task of tokio moves the bytes of each connection (feature `tokio`, on
//! by default). Clones of a [`Connection`] are the same connection, all calls take `&self`, and what is asked together
//! travels together:
//!
#![cfg_attr(feature = "tokio", doc = "```no_run")]
#![cfg_attr(not(feature = "tokio"), doc = "```ignore")]
//! use farbird_client::{ConnectOptions, Connection, TransactionOptions, Value};
//!
//! # async fn example() -> farbird_client::Result<()> {
//! let options = ConnectOptions::new("SYSDBA", "masterkey");
//! let connection = Connection::attach("db.example.com:/data/app.fdb", &options).await?;
//! let transaction = connection.begin(&TransactionOptions::default()).await?;
//! let texts = ["select id, name from customer where id < ?", "select count(*) from invoice"];
//! let statements = connection.prepare_all(&transaction, &texts).await?;
//! // Nothing is waited for until the first row is asked for: it brings the first rows of both.
//! let mut customers = connection.query(&transaction, &statements[0], &[Value::integer(10)]).await?;
//! let mut count = connection.query(&transaction, &statements[1], &[]).await?;
//! while let Some(row) = customers.next().await? {
//!     println!("{row:?} of {:?}", count.next().await?);
//! }
//! connection.commit(transaction).await?;
//! connection.close().await
//! # }
//! ```
//!
//! [`blocking`] has the same calls without `async`: they run the same operations on the calling thread, without tokio and
//! without another thread.
//!
//! ```no_run
//! use farbird_client::blocking::Connection;
//! use farbird_client::{ConnectOptions, TransactionOptions};
//!
//! # fn main() -> farbird_client::Result<()> {
//! let options = ConnectOptions::new("SYSDBA", "masterkey");
//! let connection = Connection::attach("db.example.com:/data/app.fdb", &options)?;
//! let transaction = connection.begin(&TransactionOptions::default())?;
//! let statement = connection.prepare(&transaction, "select id, name from customer where id < ?")?;
//! for row in connection.query(&transaction, &statement, (10,))? {
//!     let (id, name): (i64, Option<String>) = row?.convert()?;
//!     println!("{id}: {name:?}");
//! }
//! connection.commit(transaction)?;
//! connection.close()
//! # }
//! ```
//!
//! [`Transaction`] and [`Statement`] are the same types in both. Under both lies [`core`], a connection without I/O, which
//! a program can drive over a transport or a clock of its own.
//!
//! With feature `farlink` a database may be named `farlink://site/database`: another contract of round trips, see `farlink`.
//!
//! # Rows and parameters
//! A [`Row`] is a view of the bytes that came; values are decoded when they are asked for, by position or by name, in the
//! program's types ([`FromValue`] says which): `row.get::<Option<i32>>("ID")?`. [`Row::convert`] makes tuples and structs with
//! `#[derive(FromRow)]` (feature `derive`, on by default) of it, and [`Row::value`] a [`Value`]. Parameters are tuples, slices of
//! [`Value`], or slices of anything that is [`ToValue`]: see [`Parameters`].
//!
//! # Failures
//! An [`Error`] is the server's status: codes with arguments, an SQLSTATE, a message. What a program decides by has a name:
//! [`Error::is_conflict`], [`Error::is_disconnected`], [`Error::is_cancelled`], [`Error::is_timed_out`],
//! [`Error::is_constraint_violation`]. [`Connection::in_transaction`] does the work of a transaction again after a conflict.
//!
//! # Round trips
//! Latency is what this driver is built against. Requests are queued and leave together, when somebody waits for an
//! answer; answers are matched by their order, so that any number of requests may be under way. Each call says what it
//! costs under *Round trips*, and [`Connection::counters`] and [`Statement::counters`] show it:
//! - a transaction's start and a query's execute wait for nothing: they leave with what is waited for next;
//! - what is dropped (statements, cursors, transactions) is released with the next flight;
//! - a statement is allocated and prepared in one flight, and any number of them by [`Connection::prepare_all`];
//!   [`Connection::prepare_cached`] keeps them; [`Connection::prepare_deferred`] does not wait for it at all, by another
//!   contract;
//! - the next rows are asked for while those that are here are read, by bytes and twice as much with each flight: 16 MB
//!   of rows take five flights or six;
//! - small BLOBs come with their rows, and when a program reads BLOBs of a column, those of the next rows come in the same
//!   flight; [`Connection::read_blobs`] is for ids that were collected first;
//! - [`Pipeline`] executes a statement any number of times without waiting for each answer, [`Batch`] sends many rows
//!   in one packet where the server knows how;
//! - [`Connection::query_all_as`] prepares and executes a query and brings its rows in one flight, where the row type tells
//!   what columns there are going to be;
//! - a [`Connector`] takes work before the attach is answered.
//!
//! Each of these is a switch of [`Tuning`], whose presets do as older generations of clients did.
//!
//! # Cancel safety
//! Any future may be dropped at any time: the answer is passed over, and objects that were made for it are released. The
//! request itself may have been done by the server. Where dropping loses something, the call says so.
//!
//! # Place
//! Uses `types` and `wire`, with feature `farlink` also `gateway`; knows nothing of the engine.
//!
//! | a new operation | goes to |
//! |---|---|
//! | on a connection or a transaction | `connection.rs`, and a line in `blocking/connection.rs` |
//! | about a statement, or executing it | `prepare.rs`, `execute.rs`; before it is described `deferred.rs`, `expected_query.rs` |
//! | about what one user of a connection leaves to the next | `recycle.rs`, `core/lease.rs`; `pool.rs`, `blocking/pool.rs` are adapters |
//! | on arrays | `array_column.rs`, and a line in `blocking/array.rs` |
//! | on rows | `cursor.rs`, `scroll.rs`, and their faces in `blocking/` |
//! | about transactions and attachments as a whole | `transaction_*.rs`, `two_phase.rs`, `attach_options.rs` |
//! | of the services manager | `service_action.rs`, `service_backup.rs`, `service_information.rs`, `service_maintenance.rs`, `service_properties.rs`, `service_trace.rs` |
//! | that is to be asked ahead | `core/ahead.rs`: rows in `core/reading.rs`, BLOBs in `core/blob_cache.rs`, how much in `core/pace.rs` |
//! | that makes an object on the server | a kind in `core/handles.rs` |
//! | that moves bytes otherwise | a driver, by the contract in [`core`] |
//! | about where a database is | `options.rs`, `farlink/mod.rs` |
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod array;
mod array_column;
mod attach_options;
mod batch;
mod batch_options;
mod blob;
#[cfg(feature = "tokio")]
mod blob_io;
mod blob_seek;
mod blob_text;
pub mod blocking;
mod bulk;
mod cancel;
mod character_set;
mod connect;
mod connection;
pub mod core;
mod cursor;
mod deferred;
mod error;
mod event;
#[cfg(feature = "tokio")]
mod event_stream;
mod execute;
mod expected_query;
#[cfg(feature = "farlink")]
pub mod farlink;
#[cfg(feature = "farlink")]
mod farlink_options;
mod key_callback;
mod lent;
mod login;
mod machine;
mod options;
mod pipeline;
#[cfg(feature = "deadpool")]
pub mod pool;
mod prepare;
mod recycle;
mod retry;
mod scroll;
mod service;
mod service_action;
mod service_backup;
mod service_backup_options;
mod service_information;
mod service_maintenance;
mod service_properties;
mod service_trace;
mod statement;
mod statement_cache;
#[cfg(feature = "tokio")]
mod task;
mod timeout;
mod transaction;
mod transaction_information;
mod transaction_options;
mod transaction_sql;
mod tuning;
mod two_phase;
mod typed;
/// The SQL types that Rust has none for.
pub mod types {
    pub use farbird_types::decimal::Decimal;
    pub use farbird_types::{CharacterSet, Date, Text, Time, TimeTz, Timestamp, TimestampTz, ZoneId};
}
#[cfg(feature = "testing")]
pub mod virtual_clock;

pub use array::Array;
pub use array_column::ArrayColumn;
pub use attach_options::{AttachOptions, BindRule};
pub use batch::Batch;
pub use batch_options::{BatchBlobs, BatchInformation, BatchOptions};
pub use blob::{BlobOptions, BlobReader, BlobWriter};
pub use bulk::Bulk;
pub use cancel::Canceller;
pub use connection::{Connection, Connector};
pub use core::StatementCounters;
pub use cursor::Cursor;
pub use event::Posted;
#[cfg(feature = "tokio")]
pub use event_stream::EventStream;
#[cfg(feature = "derive")]
pub use farbird_client_derive::FromRow;
pub use farbird_types::{BlobId, Error, Result, Value, isc};
pub use farbird_wire::auth::AuthPlugin;
pub use farbird_wire::counters::Counters;
pub use farbird_wire::crypt::CryptPlugin;
pub use farbird_wire::message::MessageType;
pub use key_callback::KeyCallback;
pub use options::{ConnectOptions, CreateOptions, DEFAULT_PORT, Location, ProtocolVersion, WireCrypt};
pub use pipeline::{Outcome, Pipeline};
pub use recycle::RecyclingMethod;
pub use scroll::{Scroll, ScrollCursor};
pub use service::Services;
pub use service_action::{Polled, ServiceAction, Statistics, User};
pub use service_backup::Heard;
pub use service_backup_options::{BackupOptions, RestoreOptions};
pub use service_information::OpenDatabases;
pub use service_maintenance::{LimboTransaction, Repair, Validation};
pub use service_properties::{OnlineMode, Property, ReplicaMode, Shutdown};
pub use service_trace::TraceSession;
pub use statement::{Column, Counts, Statement};
#[cfg(feature = "tokio")]
pub use task::drive;
pub use transaction::Transaction;
pub use transaction_information::TransactionInformation;
pub use transaction_options::{
    Isolation, TableAccess, TableReservation, TableSharing, TransactionOptions, Wait,
};
pub use tuning::{PRESETS, Tuning};
pub use two_phase::commit_together;
pub use typed::{
    ColumnIndex, ColumnType, ExpectedColumn, FromRow, FromValue, Mismatch, Parameters, Row, ToValue,
    WireValue,
};

/// The example of the README, which has to compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
