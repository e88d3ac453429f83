//! The same work done by several databases, side by side: who takes how long, and how many bytes.
//!
//! A [`Side`] is a database that can do the work; an [`Experiment`] says what work, with the same tables, rows and
//! statements on every side; a [`Figure`] is what came of it, with the goals that it is held to.
//!
//! # Promises
//! Every side commits durably, as it says itself in [`About::durability`]. Each table is made for its experiment, in a
//! database that is made for the contest and dropped by [`Side::remove`].

mod experiments;
mod figure;
mod firebird;
mod postgres;
mod side;

pub use experiments::{Experiment, Scale, run};
pub use figure::{Better, Figure, Goal, Sample, Unit};
pub use firebird::FirebirdSide;
pub use postgres::PostgresSide;
pub use side::{
    About, Committer, Dialect, Failure, LoadWay, LoadedRow, PointReader, Result, Role, Session, Side,
};
