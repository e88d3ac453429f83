//! A backup in gbak's format, written of any database that answers queries about its RDB$ tables.
//!
//! | module | what it knows |
//! |---|---|
//! | `output` | records, rows and BLOBs as bytes |
//! | `row`, `array` | a row in XDR, and how it is packed; the arrays behind it |
//! | `columns` | which column of the system tables each attribute is |
//! | `definitions` | reading them |
//! | `leaving_out` | taking out of them what a restore could not run |
//! | `left_out` | what is not in a backup, in words |
//! | `since_4` | which programs need Firebird 4 |
//! | `computed` | expressions that have other types before Firebird 4 |
//! | `copy` | the whole backup, in gbak's order |
//!
//! # Promises
//! - What Firebird's gbak restores: format 10 (Firebird 3 and later) where that is enough, else 11 (Firebird 4 and later).
//! - Firebird runs BLR, not sources. What has a source and no BLR is left out and named: [`LeftOut`].
//!   So is what has no records here: filters, shadows, publications, default collations of character sets.
//! - Memory for the definitions, a row, and a segment of a BLOB.
//!
//! Source: what Firebird's gbak writes and reads (src/burp of Firebird 3.0 to 5.0).

mod array;
mod columns;
mod computed;
mod copy;
mod definitions;
mod leaving_out;
mod left_out;
mod output;
mod row;
mod since_4;

use farbird_types::{BlobId, Value};

pub use copy::{TableContents, WriteFailure, Written, write_backup};
pub use definitions::Definitions;
pub use left_out::LeftOut;

/// A BLOB that is about to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobShape {
    /// Stream rather than segmented.
    pub stream: bool,
    /// How many segments come.
    pub segments: u64,
    /// Bytes of the longest, at most 65,535.
    pub longest: u16,
}

/// Takes a BLOB: its shape, then its segments, as many as were said.
pub trait BlobSink<E> {
    /// Before the first segment.
    ///
    /// # Errors
    /// Those of what takes them.
    fn begin(&mut self, shape: BlobShape) -> Result<(), E>;

    /// A segment.
    ///
    /// # Errors
    /// Those of what takes them.
    fn segment(&mut self, bytes: &[u8]) -> Result<(), E>;
}

/// Who takes rows.
pub type RowVisitor<'a, E> = dyn FnMut(&[Value]) -> Result<(), E> + 'a;

/// A column that is an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrayColumn<'a> {
    /// Its table.
    pub relation: &'a str,
    /// Its name.
    pub name: &'a str,
    /// First and last subscript of each dimension.
    pub bounds: &'a [(i32, i32)],
}

/// A database as a backup reads it: in one snapshot, texts in the character sets of their columns.
pub trait Database {
    /// Why something cannot be read; or written, by whom it is handed to.
    type Error: From<std::io::Error>;

    /// Hands over the rows of a query.
    ///
    /// # Errors
    /// Those of the query, and of `row`.
    fn query(&self, sql: &str, row: &mut RowVisitor<'_, Self::Error>) -> Result<(), Self::Error>;

    /// Hands over a BLOB of the row at hand, which has `bytes` bytes.
    ///
    /// # Errors
    /// That it cannot be read; those of the sink.
    fn blob(&self, id: BlobId, bytes: u64, sink: &mut dyn BlobSink<Self::Error>) -> Result<(), Self::Error>;

    /// The elements of an array of the row at hand, the last subscript running fastest.
    ///
    /// # Errors
    /// That it cannot be read.
    fn array(&self, id: BlobId, column: ArrayColumn<'_>) -> Result<Vec<Value>, Self::Error>;
}
