//! The words that all rooms of Farbird share: values, SQL types, dates, decimals, character sets, and the
//! error with its status vector.
//!
//! | module | answers |
//! |---|---|
//! | [`value`], [`sql_type`], [`mod@array`] | what a value and a type are; the elements of arrays |
//! | [`convert`] | CAST and assignment; a value as text |
//! | [`compare`], [`key`], [`collation`] | which of two values is greater; the same as bytes; the order of texts |
//! | [`arithmetic`] | `+ - * / \|\|`, with the types of their results |
//! | [`decimal`], [`temporal`], [`character_set`] | DECFLOAT; dates, times, zones; bytes and characters |
//! | [`query_text`] | what a query's text shows of what it may change |
//! | [`error`] | what goes wrong, as Firebird's codes |
//!
//! Promises: no I/O, no threads, no clock; nothing here panics on input from outside.
//! Uses nothing of ours; everything else uses it.
#![forbid(unsafe_code)]

pub mod arithmetic;
pub mod array;
pub mod character_set;
pub mod collation;
pub mod compare;
pub mod convert;
pub mod decimal;
pub mod error;
pub mod key;
pub mod query_text;
pub mod sql_type;
pub mod temporal;
pub mod value;

pub use array::ArrayShape;
pub use character_set::{CharacterSet, Collation};
pub use convert::CastContext;
pub use error::{Error, Result, isc};
pub use sql_type::{ColumnType, ExactSubtype, ExactWidth, SqlType, TextType};
pub use temporal::{Date, Time, TimeTz, Timestamp, TimestampTz, ZoneId};
pub use value::{BlobId, Text, Value};
