//! The RDB$, MON$ and SEC$ tables: views over the catalog and the live server.
//!
//! Their definitions are those of Firebird 5 (data/system-*.tsv, read out of a database of 5.0), so that whatever asks
//! for a column of them finds it where it expects it. Their rows are made when they are asked for: nothing is stored.
//!
//! | file | subject |
//! |---|---|
//! | `definitions` | the tables themselves, their domains, indexes and triggers |
//! | `rows` | which rows a table has |
//! | `row_set` | rows while they are made |
//! | `change` | what UPDATE does to rows: it hides sources |
//! | `restored` | what gbak has stored, to itself |
//! | `tables`, `keys`, `code`, `access`, `constants`, `counters`, `monitor`, `statistics`, `watch` | the rows, by subject |
//! | `type_numbers` | types as RDB$FIELDS shows them |

mod access;
mod change;
mod code;
mod constants;
mod counters;
mod keys;
mod monitor;
pub(crate) mod program;
mod restored;
mod row_set;
mod rows;
mod statistics;
mod tables;
mod type_numbers;
mod watch;

pub(crate) use change::change;
pub(crate) use counters::{of_session, pages_of};
pub(crate) use monitor::stop;
pub(crate) use restored::rows;
