//! The experiments of people who measured Firebird over long distances, to be repeated by anybody.
//!
//! | module | what is measured | after |
//! |---|---|---|
//! | [`blobs`] | six queries over short and long BLOBs, by client generation, compression and inline size | "Transfer of BLOBs over the wire", IBSurgeon and iBase, 2025 |
//! | [`nested`] | an outer query with two inner queries for each row | "Influence of network latency in the Firebird wire protocol", A. dos Santos Fernandes, 2009 |
//! | [`fetch`] | wide rows, full and half NULL, at several distances; narrow rows over loopback | "Firebird 3 protocol benchmark", Firebird Developers Day, 2015 |
//! | [`connect`] | from nothing to the first row | |
//! | [`far`] | programs at the server, and through a farlink | |
//! | [`rows`] | rows of NULL in wide columns: inserting, counting, bytes on disk | |
//!
//! Every experiment returns figures that can be written as JSON (each field is documented at its struct); printing them is
//! the binary's work. A figure that was not measured to its end says so ([`blobs::BlobFigure::is_complete`]).
//!
//! # Place
//! Uses the client as any program would, and the emulated link. Knows no server from the inside.

pub mod blobs;
pub mod connect;
pub mod far;
pub mod fetch;
pub mod nested;
pub mod rows;

mod blob_files;
mod customers;
mod mariadb_side;
mod postgres_side;
mod server;
mod session;
mod wire;

pub use blob_files::{BlobFile, folder_files, made_up_files};
pub use mariadb_side::MariaDbServer;
pub use postgres_side::PostgresServer;
pub use server::{Preset, Server, Settings, UnknownPreset};
pub use wire::WireFigure;

pub use farbird_client::core::FlightRecord;

use crate::{Failure, Result};

/// Who looks on while an experiment runs.
pub trait Observer {
    /// A piece of the work begins, of so many units; 0 if nobody knows.
    fn begin(&mut self, what: &str, units: u64);

    /// So many more of its units are done.
    fn advance(&mut self, units: u64);

    /// A line to show at once, of an experiment that tells its steps as it goes.
    fn say(&mut self, line: &str);

    /// Whether the user wants no more.
    fn is_interrupted(&self) -> bool;
}

/// Ends an experiment that nobody wants any more.
fn go_on(observer: &dyn Observer) -> Result<()> {
    if observer.is_interrupted() { Err(Failure::Interrupted) } else { Ok(()) }
}

/// Flights kept of each run: enough for a waterfall.
const FLIGHTS_MAX: usize = 64;

/// Milliseconds, as figures have them.
fn milliseconds(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
