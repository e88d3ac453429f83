//! The engine: SQL in, rows out, over a `store`.
//!
//! # Rooms inside
//! | module | what it does |
//! |---|---|
//! | `engine` | the way in: attachments of databases, limits |
//! | `open_databases` | databases by file, opened once however many attach |
//! | `attachment` | one user's session in one database: transactions, statements, cursors, BLOBs, by handle |
//! | `api` | what callers hand in and get back |
//! | `backup` | backup and restore of whole databases |
//! | `gbak` | the same from gbak's backup files |
//! | `figures` | what gstat tells of a database and its tables |
//! | `check` | whether a database is sound |
//! | `ddl` | statements that change the catalog |
//! | `system` | RDB$, MON$ and SEC$ tables: views over the catalog and the live server |
//! | `above` | what floors below ask of this one |
//! | `index_expression` | expressions of indexes, as the store evaluates them |
//! | `maintenance` | shutting down, bringing online, settings of a database, checks and sweeps on request |
//! | `pattern` | patterns of names that tools give |
//! | `watchdog` | timeouts of statements |
//!
//! # Promises
//! - Synchronous; no sockets, no tokio. Calls may be made from any thread, one at a time per attachment.
//! - Between two calls a cursor holds no lock, no thread and no substrate snapshot.
//! - Long work looks at the attachment's cancel flag; a cancelled statement is undone whole.
//! - Every failure is a `farbird_types::Error` with Firebird's codes.
//!
//! The uppermost floor: statements are bound and planned by `plan`, run by `execute` and `psql`, and all stand on `expression`,
//! `catalog` and `store` (docs/architecture.md). Knows no packets.
#![forbid(unsafe_code)]

mod above;
pub mod api;
pub mod attachment;
pub mod backup;
mod build_room;
pub mod check;
mod ddl;
pub mod engine;
pub mod figures;
pub mod gbak;
mod index_expression;
pub mod maintenance;
mod open_databases;
pub mod pattern;
mod system;
mod watchdog;

pub use farbird_budget as budget;
pub(crate) use farbird_catalog as catalog;
pub use farbird_catalog::database;
pub(crate) use farbird_catalog::transaction;
pub(crate) use farbird_execute as execute;
pub(crate) use farbird_expression as expression;
pub(crate) use farbird_function as function;
pub(crate) use farbird_plan as plan;
pub use farbird_plan::COST_CONSTANTS;
pub(crate) use farbird_plan::bind;
pub(crate) use farbird_psql as psql;
pub use farbird_session as session;
pub use farbird_session::{clock, users};
pub use farbird_store::{CodecId, SeekFrom, SegmentRead, StoreOptions};
/// What stores have done, for those who watch.
pub mod store_figures {
    pub use farbird_store::{
        CacheFigures, Counted, FileFigures, LockFigures, RecordCounter, StoreFigures, SweepFigures,
        SweepState, TIME_BOUNDS, Times,
    };
}

/// Whether a file is one of our databases; false, too, if it cannot be read.
pub fn is_database(path: &std::path::Path) -> bool {
    matches!(farbird_store::identify(path), Ok(farbird_store::FileKind::Farbird))
}
