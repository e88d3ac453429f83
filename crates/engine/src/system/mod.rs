//! The RDB$, MON$ and SEC$ tables: views over the catalog and the live server.
//!
//! Their definitions are those of Firebird 5 (data/system-*.tsv, read out of a database of 5.0), so that whatever asks
//! for a column of them finds it where it expects it. Their rows are made when they are asked for: nothing is stored.
//!
//! | file | subject |
//! |---|---|
//! | `definitions` | the tables themselves, their domains, indexes and triggers |

mod definitions;

pub use definitions::{relations, roles};
pub(crate) use definitions::{SystemDomain, domains, table};
