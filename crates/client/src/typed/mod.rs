//! Rows and parameters in the program's types.
//!
//! A [`Row`] is a view of the bytes that came: nothing is decoded before somebody asks. [`FromValue`] says what becomes a
//! value of which type, [`FromRow`] does so for whole rows (tuples, or structs by `#[derive(FromRow)]`); [`ToValue`] and
//! [`Parameters`] are the other way.
//!
//! | file | subject |
//! |---|---|
//! | `row` | rows, and how their columns are found |
//! | `from_value` | what an SQL value becomes |
//! | `from_row` | what a row becomes |
//! | `expected` | the columns that a row type expects |
//! | `to_value` | what becomes an SQL value |
//! | `parameters` | what becomes the parameters of a statement |
//! | `mismatch` | why a value does not become what was wanted |
//!
//! # Types
//! | SQL | Rust |
//! |---|---|
//! | SMALLINT, INTEGER, BIGINT, INT128 | every integer type, if the number fits; `f32` and `f64`, the nearest; [`Decimal`] |
//! | NUMERIC, DECIMAL | [`Decimal`]; `f64`, the nearest; an integer type if declared without decimal places |
//! | FLOAT | `f32`, `f64` |
//! | DOUBLE PRECISION | `f64` |
//! | DECFLOAT | [`Decimal`] |
//! | BOOLEAN | `bool` |
//! | CHAR, VARCHAR | `String`, `&str`, `Cow<str>`, `Box<str>`, `Arc<str>`; a CHAR with the spaces up to its declared length |
//! | BINARY, VARBINARY, texts as their bytes | `Vec<u8>`, `&[u8]` |
//! | DATE, TIME, TIMESTAMP | [`Date`], [`Time`], [`Timestamp`] |
//! | TIME and TIMESTAMP WITH TIME ZONE | [`TimeTz`], [`TimestampTz`] |
//! | BLOB | [`BlobId`](crate::BlobId), to be opened |
//! | any | [`Value`](crate::Value); `Option` of a type for what may be NULL |
//!
//! [`Decimal`]: farbird_types::decimal::Decimal
//! [`Date`]: farbird_types::Date
//! [`Time`]: farbird_types::Time
//! [`Timestamp`]: farbird_types::Timestamp
//! [`TimeTz`]: farbird_types::temporal::TimeTz
//! [`TimestampTz`]: farbird_types::temporal::TimestampTz

mod expected;
mod from_row;
mod from_value;
mod mismatch;
mod parameters;
mod row;
mod to_value;

pub(crate) use expected::Expected;
pub use expected::{ColumnType, ExpectedColumn};
pub use farbird_wire::message::WireValue;
pub use from_row::FromRow;
pub use from_value::FromValue;
pub use mismatch::Mismatch;
pub use parameters::Parameters;
pub(crate) use row::RowBlock;
pub use row::{ColumnIndex, Row};
pub use to_value::ToValue;
