//! The format of gbak's backup files, read and written: definitions as records of attributes, rows as values, BLOBs as segments.
//!
//! | module | what it knows |
//! |---|---|
//! | `volumes` | a backup in several files |
//! | `input` | bytes, packed by zlib or not, with their place |
//! | `record` | records and their attributes, and how each attribute is written |
//! | `attribute` | the attributes' numbers |
//! | `row` | rows: transportable (XDR) and native ones, run lengths |
//! | `reader` | a whole backup, item by item |
//! | `verify` | a whole backup read for what breaks its form |
//! | `write` | a whole backup written of a database that answers queries |
//!
//! # Promises
//! - Formats 6 to 11, thus Firebird 1 to 5. Whatever the bytes are: no panic, nothing allocated by an unchecked length,
//!   no loop without bound; damage is told with its place.
//! - Knows neither SQL nor databases: what becomes of the definitions is the affair of `farbird-engine`.
//!
//! Source: what Firebird's gbak writes and reads (src/burp of Firebird 2.5 to 5.0).
#![forbid(unsafe_code)]

use std::io::{self, Chain, Cursor, Read};

pub mod attribute;
mod fault;
mod input;
mod reader;
mod record;
mod row;
mod verify;
mod volumes;
pub mod write;

pub use fault::{Fault, Result};
pub use reader::{ArrayHeader, BackupReader, BlobHeader, Header};
pub use record::{Attribute, Record, RecordKind};
pub use row::{FieldKind, FieldValue, RowBytes, RowField, RowFormat, RowPlaces};
pub use verify::{Contents, verify};
pub use volumes::{SplitHeader, Volumes};

use volumes::SPLIT_HEADER_BYTES;

/// Whether a file is a backup made by gbak, or a part of one, and the file again: what was looked at is read once more.
pub fn is_gbak<R: Read>(mut file: R) -> (io::Result<bool>, Chain<Cursor<Vec<u8>>, R>) {
    let mut beginning = Vec::new();
    let looked = file.by_ref().take(SPLIT_HEADER_BYTES as u64).read_to_end(&mut beginning);
    let is_gbak = looked.map(|_| begins_as_gbak(&beginning));
    (is_gbak, Cursor::new(beginning).chain(file))
}

fn begins_as_gbak(beginning: &[u8]) -> bool {
    // rec_burp, then att_backup_format with a number of four bytes.
    matches!(beginning, [0, 2, 4, 1..=64, 0, 0, 0, ..]) || SplitHeader::has_tag(beginning)
}
