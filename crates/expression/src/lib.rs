//! Bound expressions, their values, and what they are computed in.
//!
//! | file | subject |
//! |---|---|
//! | `tree` | expressions: names are positions, types are known, conversions are explicit |
//! | `visit` | walking and rewriting them |
//! | `static_type` | their types |
//! | `frame_size` | what they need of the frame that they run in |
//! | `context` | what running statements have at hand: surroundings, state, and what they ask of those above |
//! | `evaluate` | values of expressions |
//! | `predicate`, `comparison` | truth of expressions, three-valued |
//! | `bound` | expressions with frames of their own |
//! | `whole`, `whole_compile` | programs for arithmetic and comparisons of numbers that fit 64 bits |
//! | `context_variable` | CURRENT_USER, ROW_COUNT ... |
//! | `affected_rows` | what ROW_COUNT counts |
//! | `pattern`, `compiled_pattern`, `like`, `similar`, `pattern_states` | LIKE, STARTING, CONTAINING, SIMILAR TO |
//! | `subquery` | queries inside expressions: what they take from the row around them |
//! | `measurement` | what the parts of running plans have done, if somebody asks |
//! | `nesting`, `stack` | room for routines that call each other |
//!
//! # Promises
//! - Expressions are immutable and shared. What changes while they are evaluated stands in the context and its frame.
//! - Nothing is evaluated that its operator does not need: CASE, AND, OR and their like stop where the result is known.
//! - What only floors above can do (queries, stored functions) is asked of [`Above`]; no plan and no PSQL is known here.
//!
//! Uses `function` and what stands below it; the planner, the operators and PSQL use it.
#![forbid(unsafe_code)]

mod affected_rows;
mod bound;
mod comparison;
mod compiled_pattern;
mod context;
mod context_variable;
mod evaluate;
mod frame_size;
mod like;
mod measurement;
mod nesting;
mod pattern;
mod pattern_states;
mod predicate;
mod restart;
mod similar;
mod stack;
mod static_type;
mod subquery;
mod tree;
mod visit;
mod whole;
mod whole_compile;

pub use affected_rows::AffectedRows;
pub use comparison::operator_holds;
pub use compiled_pattern::Similar;
pub use context::{
    Above, Definitions, ExecutionContext, FiredRows, Frame, ProcedureRows, RoutineState, Routines,
    RunningSubquery, Subqueries, SystemTables,
};
pub use context_variable::{context_type, error_type};
pub use evaluate::{evaluate_all, row_of_db_key};
pub use frame_size::FrameSize;
pub use measurement::{Figures, Measured, Measurements, Scanned};
pub use nesting::{DEPTH_MAX, nested};
pub use pattern::KnownPattern;
pub use predicate::is_distinct;
pub use restart::Restart;
pub use stack::{StackSegment, on_new_stack};
pub use tree::{
    BoundExpression, DomainConstraint, Expression, FunctionReference, PatternKind, PatternMatch, Subplan,
    Subquery, SubqueryKind,
};
