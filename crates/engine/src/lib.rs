//! The engine: SQL in, rows out, over a `store`.
//!
//! # Rooms inside
//! | module | what it does |
//! |---|---|
//! | `engine` | open databases by file, the security database, limits; the way in |
//! | `attachment` | one user's session in one database: transactions, statements, cursors, BLOBs, by handle |
//! | `backup` | backup and restore of whole databases |
//! | `ddl` | statements that change the catalog |
//! | `system` | RDB$, MON$ and SEC$ tables: views over the catalog and the live server |
//! | `bind` | names to columns, syntax trees to typed plans |
//! | `plan` | the plan: operators and expressions; choice of indexes and join orders |
//! | `execute` | plans running: operators that hand out batches of rows; INSERT, UPDATE, DELETE |
//! | `expression` | evaluation of bound expressions |
//! | `vector` | expressions over columns, thousands of rows at a time |
//! | `psql` | EXECUTE BLOCK, procedures, functions and triggers: compiled to instructions, resumable at SUSPEND |
//!
//! # Promises
//! - Synchronous; no sockets, no tokio. Calls may be made from any thread, one at a time per attachment.
//! - Between two calls a cursor holds no lock, no thread and no substrate snapshot.
//! - Long work looks at the attachment's cancel flag; a cancelled statement is undone whole.
//! - Every failure is a `farbird_types::Error` with Firebird's codes.
//!
//! Stands on `budget`, `session`, `catalog`, `vector` and `function`, which were its rooms, and on `types`, `record`, `store`
//! and `sql`; knows no packets. Which arrows between its rooms still point up stands in docs/architecture.md.
#![forbid(unsafe_code)]

mod above;
pub mod api;
pub mod attachment;
pub mod backup;
pub mod check;
pub mod ddl;
pub mod engine;
mod index_expression;
pub mod psql;
pub mod system;
mod watchdog;

pub use farbird_budget as budget;
pub(crate) use farbird_catalog as catalog;
pub use farbird_catalog::database;
pub(crate) use farbird_catalog::transaction;
pub(crate) use farbird_execute as execute;
pub use farbird_expression as expression;
pub(crate) use farbird_function as function;
pub(crate) use farbird_plan as plan;
pub(crate) use farbird_plan::bind;
pub use farbird_session as session;
pub use farbird_session::{clock, users};
pub use farbird_store::{CodecId, SeekFrom, SegmentRead, StoreOptions};
