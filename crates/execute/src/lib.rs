//! Plans running: operators that hand out batches of rows, and statements that change rows.
//!
//! A cursor is a value: its operators own their state and borrow nothing, so between two calls it may rest as long as
//! the client likes and go on in another thread.
//!
//! | file | subject |
//! |---|---|
//! | `batch` | rows between operators |
//! | `cursor` | an open query |
//! | `repeated` | plans that run again and again, whose operators are kept |
//! | `operator`, `build` | the operators' common face, and how plans become operators |
//! | `measured` | what operators do, measured |
//! | `column_rows` | rows on their way out by columns |
//! | `column_source`, `column_scan` | reading tables in row order, with the conditions on their rows, by columns |
//! | `scan`, `bounds` | reading tables by indexes |
//! | `named_rows` | the rows that several ranges of indexes name, read in row order by `column_source` |
//! | `external_scan`, `external_append` | the files of external tables: reading them, appending to them |
//! | `row_source` | procedures, system tables, recursion |
//! | `aggregate`, `groups`, `distinct_set` | GROUP BY and aggregates, of rows and of columns |
//! | `blob_keys` | BLOBs in GROUP BY and PARTITION BY |
//! | `hash_join`, `join_table`, `key_filter` | joins by hashing, past the memory limit too |
//! | `range_join` | joins by the order of a value |
//! | `column_join`, `join_columns`, `join_keys` | joins by hashing, by columns while there is memory |
//! | `stage`, `in_order` | rows made by several threads, and taken in their order |
//! | `computed`, `folded_hash` | expressions on columns that operators exchange; the hash of tables in memory |
//! | `join`, `sort`, `window`, `set` | the other operators |
//! | `row_id_set` | sets of rows by number |
//! | `sort_keys`, `keyed_columns`, `keyed_rows`, `rows_in_memory`, `ordering`, `spill` | sorting, of columns and of rows, past the memory limit too |
//! | `row_stream`, `row_buffer`, `row_codec` | rows in temporary files |
//! | `subquery` | queries inside expressions |
//! | `value_set` | the values that IN looks among |
//! | `modify`, `row_change`, `constraint`, `reference` | INSERT, UPDATE, DELETE, UPDATE OR INSERT, MERGE |
//! | `modify_many` | UPDATE and DELETE of many rows at once, where nobody sees the difference |
//! | `vector` | expressions over columns, thousands of rows at a time |
//!
//! # Promises
//! - An operator owns what it knows: a cursor is a value, and between two calls it holds no lock, no thread and no snapshot of the
//!   substrate.
//! - Rows before an error come first, and what grows with the data is charged to the statement before it grows.
//! - A statement that changes rows happens whole or not at all.
//!
//! Uses `plan` and what stands below it. Stored routines, system tables and definitions are asked of
//! [`Above`](farbird_expression::Above).
#![forbid(unsafe_code)]

mod aggregate;
mod batch;
mod blob_keys;
mod bounds;
mod build;
mod column_join;
mod column_rows;
mod column_scan;
mod column_source;
mod computed;
mod constraint;
mod cursor;
mod distinct_set;
mod external_append;
mod external_scan;
mod failure;
mod few_rows;
mod first_sorted;
mod folded_hash;
mod groups;
mod hash_join;
mod in_order;
mod join;
mod join_columns;
mod join_keys;
mod join_table;
mod key_filter;
mod keyed_columns;
mod keyed_rows;
mod matched_rows;
mod measured;
mod merge_many;
mod modify;
mod modify_many;
mod named_rows;
mod number_groups;
mod operator;
mod ordering;
mod range_join;
mod recursion;
mod reference;
mod repeated;
mod row_buffer;
mod row_by_key;
mod row_change;
mod row_codec;
mod row_id_set;
mod row_source;
mod row_stream;
mod rows_in_memory;
mod scan;
mod set;
mod shared;
mod sort;
mod sort_keys;
mod spill;
mod stage;
mod subquery;
mod told_texts;
mod value_set;
mod vector;
mod window;

pub use batch::Batch;
pub use column_rows::ColumnRows;
pub use constraint::key_text;
pub use cursor::Cursor;
pub use key_filter::KeyFilter;
pub use modify::{Modified, insert_together, modify, modify_again};
pub use modify_many::Pace;
pub use operator::ByColumns;
pub use repeated::{KeptSource, RepeatedQuery};
pub use row_buffer::{BufferedRows, RowBuffer};
pub use subquery::Operators;
