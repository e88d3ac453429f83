//! Farbird, a Firebird-compatible SQL database, inside your program.
//!
//! ```
//! # fn main() -> farbird::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("app.fbd");
//! let db = farbird::Database::open_or_create(&path)?;
//! let connection = db.connect()?;
//! connection.execute("create table note (id int generated always as identity, text varchar(200))", ())?;
//! connection.execute("insert into note (text) values (?)", ("Hello, file!",))?;
//! for row in connection.query("select id, text from note", ())? {
//!     let row = row?;
//!     println!("{}: {}", row.get::<i32>("ID")?, row.get::<&str>("TEXT")?);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A [`Database`] is a file, or lives in memory. It is shared by all threads of the program; each takes a
//! [`Connection`], which runs SQL by itself or in [`Transaction`]s, given as text or as prepared [`Statement`]s.
//! Parameters are tuples, arrays or slices of Rust's types ([`Parameters`], [`ToValue`]); [`Rows`] are iterators of
//! [`Row`]s whose columns are read as Rust's types ([`FromValue`]), or whole rows as tuples ([`FromRow`]). Large values
//! are read and written in pieces ([`BlobReader`], [`BlobWriter`]). All that can go wrong is an [`Error`].
//!
//! The dialect is Firebird 5's, PSQL included, and so are the rules of transactions. docs/embedding.md tells more.
//!
//! # Place
//! The public face of the library; the binary beside it is one of its users. The server is the other user of the engine
//! underneath.
#![forbid(unsafe_code)]

mod embedded;

pub use embedded::*;

pub use farbird_engine::CodecId;
pub use farbird_sql::Dialect;
pub use farbird_types::decimal::Decimal;
pub use farbird_types::{
    BlobId, CharacterSet, Date, SqlType, Text, Time, TimeTz, Timestamp, TimestampTz, Value, ZoneId, isc,
};
