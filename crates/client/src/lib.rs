//! The driver: connects to any server that speaks the Firebird protocol, 13 to 20 (Firebird 3 and later, Farbird).
//!
//! ```no_run
//! use farbird_client::blocking::Connection;
//! use farbird_client::{ConnectOptions, TransactionOptions, Value};
//!
//! # fn main() -> farbird_client::Result<()> {
//! let options = ConnectOptions::new("SYSDBA", "masterkey");
//! let connection = Connection::attach("db.example.com:/data/app.fdb", &options)?;
//! let transaction = connection.begin(&TransactionOptions::default())?;
//! let statement = connection.prepare(&transaction, "select id, name from customer where id < ?")?;
//! for row in connection.query(&transaction, &statement, &[Value::integer(10)])? {
//!     println!("{:?}", row?);
//! }
//! connection.commit(transaction)?;
//! connection.close()
//! # }
//! ```
//!
//! Latency is what this driver is built against. Requests are queued and leave together; answers are matched by their
//! order, so that any number of requests may be under way:
//! - what is dropped (statements, cursors, transactions) is released with the next flight, and nobody waits for it;
//! - a statement is allocated and prepared in one flight, executed and its first rows fetched in another; the next rows
//!   are asked for while those that are here are read; small BLOBs come with their rows;
//! - [`Pipeline`] executes a statement any number of times without waiting for each answer, [`Batch`] sends many rows
//!   in one packet where the server knows how;
//! - each call says what it costs under *Round trips*, and [`Connection::counters`] shows it.
//!
//! # Place
//! Uses `types` and `wire`; knows nothing of the engine. [`core`] does no I/O.
//!
//! # Not there yet
//! An asynchronous face, cancelling, events, arrays, scrolling, protocols 10 to 12.
#![forbid(unsafe_code)]

mod batch;
mod blob;
pub mod blocking;
mod connect;
mod connection;
pub mod core;
mod cursor;
mod error;
mod execute;
mod login;
mod options;
mod pipeline;
mod prepare;
mod service;
mod statement;
mod statement_cache;
#[cfg(feature = "tokio")]
mod task;
mod transaction;
mod tuning;

pub use batch::Batch;
pub use blob::{BlobOptions, BlobReader, BlobWriter};
pub use connection::{Connection, Connector};
pub use cursor::Cursor;
pub use farbird_types::{BlobId, Error, Result, Value};
pub use farbird_wire::auth::AuthPlugin;
pub use farbird_wire::counters::Counters;
pub use farbird_wire::crypt::CryptPlugin;
pub use options::{ConnectOptions, CreateOptions, DEFAULT_PORT, Location, ProtocolVersion, WireCrypt};
pub use pipeline::{Outcome, Pipeline};
pub use service::{Heard, Services};
pub use statement::{Column, Counts, Statement};
#[cfg(feature = "tokio")]
pub use task::drive;
pub use transaction::{Isolation, Transaction, TransactionOptions, Wait};
pub use tuning::{PRESETS, Tuning};
