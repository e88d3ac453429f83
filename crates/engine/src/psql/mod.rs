//! PSQL: EXECUTE BLOCK, procedures, functions and triggers.
//!
//! A routine is compiled once, against one catalog, to a flat list of [`instruction::Instruction`]s; running it is moving
//! a program counter over them. A frame is a value (variables, open cursors, handlers that wait, program counter), so a
//! selectable procedure rests between two rows without a thread, and goes on where it was.
//!
//! While a frame runs, its variables take the place of the context's parameters: bound expressions and statements read
//! them as `Expression::Parameter(slot)`.
//!
//! | file | subject |
//! |---|---|
//! | `routine` | a compiled routine |
//! | `instruction` | what it can do |
//! | `compile` | from syntax trees to instructions: names, control flow, handlers |
//! | `execution` | a running frame |
//! | `cursor` | the cursors of a frame |
//! | `condition` | which handler catches which error; user-defined exceptions |
//! | `trace` | where an error came from: "At procedure 'P' line: 3, col: 5" |
//! | `dynamic` | EXECUTE STATEMENT |
//! | `autonomous` | IN AUTONOMOUS TRANSACTION |
//! | `call` | procedures, functions and triggers as the rest of the engine calls them |
//! | `cache` | compiled routines of a catalog |
//!
//! # Promises
//! - No instruction looks at the catalog or binds anything, but EXECUTE STATEMENT.
//! - A routine that fails leaves nothing of what it did since it was called (or since the latest row it gave).
//!
//! Source: Firebird 5 language reference, chapter Procedural SQL Statements; statuses and error stacks as Firebird 4
//! gives them.

mod autonomous;
mod cache;
mod call;
mod compile;
mod condition;
mod cursor;
mod dynamic;
mod execution;
pub mod instruction;
mod routine;
mod trace;

pub use cache::RoutineCache;
pub use call::{
    ProcedureRows, TriggerMoment, call_function, call_local_function, fire_triggers, has_triggers,
};
pub use compile::{CompiledStatement, compile_statement};
pub use execution::Execution;
pub use routine::CompiledRoutine;
pub use trace::CallFrame;

/// How deeply procedures, functions, triggers and EXECUTE STATEMENT may be nested (Firebird: MAX_CLONES).
pub const DEPTH_MAX: u32 = 1_000;
