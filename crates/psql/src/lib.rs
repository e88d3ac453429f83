//! PSQL: EXECUTE BLOCK, procedures, functions and triggers.
//!
//! A routine is compiled once, against one catalog, to a flat list of [`routine::Instruction`]s; running it is moving
//! a program counter over them. A frame is a value (variables, open cursors, handlers that wait, program counter), so a
//! selectable procedure rests between two rows without a thread, and goes on where it was.
//!
//! While a frame runs, its variables take the place of the context's parameters: bound expressions and statements read
//! them as `Expression::Parameter(slot)`.
//!
//! | file | subject |
//! |---|---|
//! | `routine` | a compiled routine, and what it can do |
//! | `compile` | from syntax trees to instructions: names, control flow, handlers |
//! | `execution` | a running frame |
//! | `cursor` | the cursors of a frame |
//! | `condition` | which handler catches which error; user-defined exceptions |
//! | `trace` | where an error came from: "At procedure 'P' line: 3, col: 5" |
//! | `traced` | what trace sessions are told of routines |
//! | `procedure_call` | EXECUTE PROCEDURE, local routines |
//! | `dynamic`, `dynamic_rows`, `named_parameters` | EXECUTE STATEMENT |
//! | `external`, `external_rows` | EXECUTE STATEMENT in another database, or as somebody else |
//! | `library_function` | external functions: how they are called |
//! | `autonomous`, `autonomous_rows` | IN AUTONOMOUS TRANSACTION; EXECUTE STATEMENT in a transaction of its own |
//! | `positioned` | UPDATE and DELETE ... WHERE CURRENT OF |
//! | `session_settings` | SET ROLE, SET TIME ZONE, SET DECFLOAT and their siblings, in routines and alone |
//! | `profiler`, `watch` | RDB$PROFILER: its routines and tables; what runs is told to it |
//! | `call` | procedures, functions and triggers as the rest of the engine calls them |
//! | `compiled`, `cache` | compiled routines of a catalog |
//!
//! # Promises
//! - No instruction looks at the catalog or binds anything, but EXECUTE STATEMENT.
//! - A routine that fails leaves nothing of what it did since it was called (or since the latest row it gave).
//!
//! Source: Firebird 5 language reference, chapter Procedural SQL Statements; statuses and error stacks as Firebird 4
//! gives them.
//!
//! Uses `execute` and what stands below it. Definitions in EXECUTE STATEMENT are asked of [`Above`](farbird_expression::Above); what
//! floors below ask of routines is answered by [`Psql`].
#![forbid(unsafe_code)]

pub mod authority;
mod autonomous;
mod autonomous_rows;
mod cache;
mod call;
mod compile;
mod compiled;
mod condition;
mod cursor;
mod dynamic;
mod dynamic_rows;
mod execution;
mod external;
mod external_rows;
mod library_function;
mod named_parameters;
mod plans;
mod positioned;
mod procedure_call;
mod profiler;
mod routine;
pub mod session_settings;
mod trace;
mod traced;
mod watch;

pub use call::{Psql, fire_database_triggers, fire_ddl_triggers, has_database_triggers, has_ddl_triggers};
pub use compile::{CompiledStatement, compile_statement};
pub use execution::Execution;
pub use external::{End, end_external, has_external, has_lost_external};
pub use plans::RoutineStatement;
pub use profiler::write_if_due;
pub use routine::CompiledRoutine;
pub use watch::{Watch, WatchedBody, within};

/// Compiles a procedure to see whether it can be: for CREATE and ALTER PROCEDURE. One that comes out of a backup (`is_restored`) may
/// SUSPEND without outputs.
///
/// # Errors
/// Those of compiling.
pub fn check_procedure(
    catalog: &std::sync::Arc<farbird_catalog::Catalog>,
    procedure: &farbird_catalog::Routine,
    is_restored: bool,
) -> farbird_types::Result<()> {
    compile::compile_procedure(catalog, procedure, is_restored).map(drop)
}

/// Compiles a function to see whether it can be: for CREATE and ALTER FUNCTION.
///
/// # Errors
/// Those of compiling.
pub fn check_function(
    catalog: &std::sync::Arc<farbird_catalog::Catalog>,
    function: &farbird_catalog::Routine,
) -> farbird_types::Result<()> {
    compile::compile_function(catalog, function).map(drop)
}

/// Compiles a trigger to see whether it can be: for CREATE and ALTER TRIGGER.
///
/// # Errors
/// Those of compiling.
pub fn check_trigger(
    catalog: &std::sync::Arc<farbird_catalog::Catalog>,
    trigger: &farbird_catalog::Trigger,
) -> farbird_types::Result<()> {
    let relation = trigger.relation.as_ref().and_then(|name| catalog.relation(name));
    // Whether NEW may be written is told when it is fired; BEFORE triggers may.
    let is_before = (trigger.trigger_type + 1) & 1 == 0;
    let fired = compile::Fired { is_before, action: None };
    compile::compile_trigger(catalog, trigger, relation.map(|relation| &**relation), fired).map(drop)
}
