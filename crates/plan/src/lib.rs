//! From syntax trees to plans: names are bound to columns, queries are rewritten, and what reads and joins their tables is
//! chosen by what it costs.
//!
//! | module | subject |
//! |---|---|
//! | `bind` | the binder: syntax trees to bound queries, names to positions |
//! | `bound` | bound queries: what the binder hands to the planner |
//! | `node`, `node_estimate`, `node_path` | plans: trees of operators, what is expected of them, and names in them |
//! | `block` | one SELECT: from its bound clauses to nodes |
//! | `rewrite` | what is made of a FROM clause and its conditions before it is planned, a file for each rule |
//! | `join`, `join_node` | joins: from a FROM clause to nodes |
//! | `join_cost` | what joins cost, and what the search for an order is told |
//! | `order`, `classes` | the order of joins and how each is done; columns that are equal to each other |
//! | `range` | joins by ranges: what conditions find partners in an order |
//! | `leaf` | one source read by itself |
//! | `hint` | what PLAN clauses say, done |
//! | `push` | conditions on derived tables, asked of what those are made of |
//! | `access` | which index reads a table |
//! | `prefix` | what patterns begin with |
//! | `estimate`, `group_estimate`, `cost` | how many rows and groups come of what is known of tables, and what that costs |
//! | `modification` | plans of statements that change rows |
//! | `subplan` | plans of queries inside expressions |
//! | `text`, `access_text` | plans as Firebird writes them, short and explained |
//! | `explain` | plans for EXPLAIN, a line for each operator |
//!
//! # Promises
//! - Planning looks at the catalog and its statistics only: it reads no rows and evaluates nothing.
//! - A plan is immutable and may run any number of times, also at once. What it depends on is told in [`bind::Prepared`].
//! - PLAN clauses are obeyed or refused with Firebird's statuses.
//!
//! Uses `expression` and what stands below it; what runs plans stands above. The binder and the planner are one floor, since each
//! subquery is planned while the expression around it is bound.
#![forbid(unsafe_code)]

mod access;
mod access_text;
pub mod bind;
mod block;
mod bound;
mod classes;
mod cost;
mod estimate;
mod explain;
mod first_of_union;
mod group_estimate;
mod hint;
mod join;
mod join_cost;
mod join_node;
mod keyed;
mod leaf;
pub mod modification;
mod node;
mod node_estimate;
mod node_path;
mod order;
mod prefix;
mod push;
mod range;
mod rewrite;
mod subplan;
mod text;

pub use cost::CONSTANTS as COST_CONSTANTS;
pub use explain::{ExplainLine, explain, explain_value, plan_text, plan_text_of_value};
pub use node::*;
pub use subplan::{PlannedQuery, planned};
