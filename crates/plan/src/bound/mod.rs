//! Bound queries: what the binder hands to the planner.
//!
//! | file | subject |
//! |---|---|
//! | `environment` | what binding and planning look at besides the statement |
//! | `source` | what rows come from: sources, their columns, and how they are joined |
//! | `column` | columns as names see them |
//! | `query` | a query: its block, clauses and select list |
//! | `opaque` | columns that stand for expressions, in queries that group |
//! | `shape` | values made of parameters whose types are not known yet |

pub(crate) mod column;
pub(crate) mod environment;
pub(crate) mod opaque;
pub(crate) mod query;
pub(crate) mod shape;
pub(crate) mod source;
