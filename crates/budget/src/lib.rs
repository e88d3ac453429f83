//! Budgets: how much memory and temporary space a statement may take, and all statements of a server together.
//!
//! # Levels
//! | level | what it is | limits |
//! |---|---|---|
//! | server | one engine, with all its databases | `server-memory-mib`, `server-temporary-mib` |
//! | database, attachment | [`Account`]s: they count for the MON$ tables | none |
//! | statement | a [`StatementBudget`]: a client's statement with its cursor and all that it calls | `statement-memory-mib`, `statement-temporary-mib` |
//!
//! # Use
//! Whatever grows with the data asks before it grows:
//!
//! ```no_run
//! # fn sorted(budget: &std::sync::Arc<farbird_budget::StatementBudget>, bytes: usize) -> farbird_types::Result<()> {
//! let mut memory = budget.reserve();       // a `Reservation`: nothing yet
//! memory.grow(bytes)?;                             // fails with `isc_virmemexh` past the limit of statement or server
//! if !memory.try_grow(bytes) { /* spill */ } // for those who can spill: false when their share is used up
//! memory.clear();                                  // gives all back; so does dropping it
//! let file = budget.temporary_file()?;     // charged as it grows, gone when it is dropped
//! # Ok(())
//! # }
//! ```
//!
//! A reservation belongs to the value whose memory it counts and is dropped with it. It asks for more in steps, so a
//! call per row costs a comparison of two numbers.
//!
//! A prepared statement is charged to its attachment as long as it is prepared, by the tokens of its text ([`Charge`]).
//!
//! # Promises
//! - What was taken is given back when reservations and files are dropped: after an error, a cancel and a panic too.
//! - Temporary files have no name: they vanish with their statement, and with the process however that ends.
//! - Each statement has its first [`STATEMENT_UNCOUNTED_BYTES`] without the server's count, so that short statements
//!   do not meet at one counter. Buffers of a fixed size (batches, buffers of files) are not counted at all.
//!
//! Uses `types`; knows neither statements nor rows, only what they take.

#![forbid(unsafe_code)]

mod account;
mod growth;
mod limits;
mod reservation;
mod size;
mod statement;
mod temporary_file;
#[cfg(test)]
mod tests;

pub use account::{Account, Charge, HelpingThread, Usage, Working};
pub use growth::{extend_within, reserve_entry, room};
pub use limits::Limits;
pub use reservation::Reservation;
pub use size::{heap_bytes, prepared_bytes, row_bytes};
pub use statement::{STATEMENT_UNCOUNTED_BYTES, StatementBudget};
pub use temporary_file::TemporaryFile;

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// Memory that grows with the data.
    Memory,
    /// Files for rows that have no room in memory.
    Temporary,
}

/// Whose limit it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Statement,
    Server,
}
