//! Text to syntax tree and back: the Firebird SQL dialect, version 5, PSQL included.
//!
//! Promises: no I/O and no catalog; any text gives a tree or a Firebird status, never a panic; every limit is named
//! ([`limits`]). Uses `farbird-types` for the status and the widths of integers; the engine uses it.
#![forbid(unsafe_code)]

pub mod ast;
