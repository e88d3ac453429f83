//! The blocking face: the calls of the crate's root, which wait for their answers. No runtime and no thread is needed.
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
//! # Place
//! Each call runs the operation of the same name on the [`Driver`]; nothing else is decided here.

mod array;
mod blob;
mod bulk;
mod cancel;
mod connection;
mod cursor;
mod driver;
mod event;
#[cfg(feature = "r2d2")]
pub mod pool;
mod recycle;
mod scroll;
mod service;
mod service_action;
mod service_maintenance;
mod transaction;
mod two_phase;

pub use blob::{BlobReader, BlobWriter};
pub use bulk::{Batch, Bulk, Pipeline};
pub use cancel::Canceller;
pub use connection::{Connection, Connector};
pub use cursor::Cursor;
pub use driver::{Driver, Transport};
pub use event::Events;
pub use scroll::ScrollCursor;
pub use service::Services;
pub use two_phase::commit_together;
