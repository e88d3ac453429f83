//! The syntax tree: what a statement says, before anybody looks up a name.
//!
//! Trees are plain values. Two trees are equal when they say the same: positions ([`Position`]), source texts
//! ([`Source`]) and the way a name was written are left out of comparisons, so that a printed and re-parsed tree equals its
//! original. Conjunctions and disjunctions are flat lists; the height of everything else is bounded by the parser.
//!
//! | file | subject |
//! |---|---|
//! | `name` | positions, names, source texts |
//! | `literal` | constants |
//! | `data_type` | types as they are written |
//! | `expression` | values and predicates |
//! | `query` | SELECT and its clauses |
//! | `statement` | statements, data manipulation |
//! | `transaction` | transactions and savepoints |
//! | `session` | session management |
//! | `ddl` | definitions of schema objects |
//! | `ddl_event` | what DDL triggers watch |
//! | `routine` | definitions of procedures, functions, triggers and packages |
//! | `security` | users, roles, privileges, mappings |
//! | `psql` | the procedural language |

pub mod data_type;
pub mod ddl;
pub mod ddl_event;
pub mod expression;
pub mod literal;
pub mod name;
pub mod psql;
pub mod query;
pub mod routine;
pub mod security;
pub mod session;
pub mod statement;
pub mod transaction;

pub use data_type::*;
pub use ddl::*;
pub use ddl_event::*;
pub use expression::*;
pub use literal::*;
pub use name::*;
pub use psql::*;
pub use query::*;
pub use routine::*;
pub use security::*;
pub use session::*;
pub use statement::*;
pub use transaction::*;
