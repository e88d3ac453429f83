//! BLR, the binary language of requests: programs that Firebird's own tools and old applications send compiled (op_compile).
//!
//! A request declares messages, waits for those that it receives, and gives those that it sends, from loops over records.
//!
//! | file | subject |
//! |---|---|
//! | `code` | the codes |
//! | `tree` | what a request says |
//! | `reader` | bytes with a place, and the errors that name it |
//! | `request` | requests and their statements |
//! | `record_source` | record selection expressions |
//! | `expression` | values and conditions |
//! | `data_type` | types and constants |
//! | `assembly` | bytes in the making: names, words, constants, types |
//! | `referring` | the triggers of a foreign key's actions as bytes |
//!
//! Promises: no I/O; no panic on any bytes; what is allocated is bounded by the length of the input, and recursion by
//! [`DEPTH_MAX`]. Names are not looked up: that is the engine's affair. What BLR has and requests of tools have not (cursors,
//! variables, exceptions, procedures in procedures: the language of stored routines) is refused as `isc_wish_list`.
//!
//! Uses `farbird_types`. Source: Firebird 5.0.4, src/jrd/par.cpp, src/dsql/StmtNodes.cpp, ExprNodes.cpp, BoolNodes.cpp,
//! src/jrd/RecordSourceNodes.cpp, src/include/firebird/impl/blr.h.
#![forbid(unsafe_code)]

mod assembly;
pub mod code;
mod data_type;
mod expression;
mod reader;
mod record_source;
mod referring;
mod request;
mod tree;

pub use assembly::Code;
pub use reader::DEPTH_MAX;
pub use referring::{Reference, ReferringAction, ReferringColumn, on_delete_program, on_update_program};
pub use request::parse;
pub use tree::*;
