//! RDB$PROFILER: its routines, and the tables that profiles are written to.
//!
//! | file | subject |
//! |---|---|
//! | `command` | the routines of the package |
//! | `tables` | the tables and views, made when they are first wanted |
//! | `written` | profiles written to the tables |
//!
//! What is collected stands in `session::profile`; who tells of it is `watch`.

mod command;
mod tables;
mod written;

pub use written::write_if_due;
