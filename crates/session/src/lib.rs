//! A session: who is attached, with which settings, doing what, and what stops it.
//!
//! | module | what it does |
//! |---|---|
//! | `parameters` | how somebody attaches, creates a database, starts a transaction |
//! | `description` | what a statement is said to be and to have done |
//! | `activity` | one attachment as everybody else sees it: identity, settings, transactions, statements |
//! | `definition` | what DDL triggers are told of the statement that fires them |
//! | `interrupt` | stopping a running statement from another thread |
//! | `binding`, `type_names` | SET BIND: as which types a client is shown the server's types |
//! | `events` | events that transactions post when they commit, and who waits for them |
//! | `backups` | what a server has noted of the backups that it makes by itself |
//! | `external` | databases elsewhere, for EXECUTE STATEMENT ON EXTERNAL |
//! | `restored_rows` | what gbak has stored into system tables, until definitions are made of it |
//! | `external_files` | the folders whose files external tables may read and append to |
//! | `profile` | what RDB$PROFILER collects, until it is written to tables |
//! | `trace` | trace sessions: what happens, told to those who ask for it while it happens |
//! | `mapping` | as whom somebody who has logged in works in a database |
//! | `users` | users as the engine needs them; they live in the server's security database |
//! | `clock` | the machine's clock, in Firebird's units |
//!
//! Plain values, shared by reference between an attachment's own thread and those that watch or stop it. Uses `types`,
//! `sql`, `store` and `budget`; knows no catalog: what it must ask of one, [`TypeNames`] asks.
#![forbid(unsafe_code)]

mod activity;
pub mod backups;
pub mod binding;
pub mod clock;
mod definition;
mod description;
pub mod events;
pub mod external;
pub mod external_files;
mod idle;
mod interrupt;
pub mod mapping;
mod parameters;
pub mod profile;
mod restored_rows;
pub mod trace;
mod type_names;
pub mod users;

pub use activity::{
    Activity, ServerUser, Session, SessionSettings, StatementActivity, StatementState, TransactionActivity,
};
pub use definition::WatchedDefinition;
pub use description::{ColumnDescription, RecordCounts, StatementDescription, StatementKind};
pub use idle::{IdleLook, IdleTimer};
pub use interrupt::{Deadline, ExecutionNumber, Interrupt, StopReason};
pub use parameters::{
    AttachOptions, ClientDescription, CreateDatabaseOptions, Isolation, TableReservation, Tool,
    TransactionParameters,
};
pub use restored_rows::{RestoredRows, TransactionNumber};
pub use type_names::TypeNames;
