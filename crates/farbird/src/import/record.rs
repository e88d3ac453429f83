//! Records of files, whatever their format.

use std::ops::Range;

use farbird_types::Value;

/// A field of a record.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Field {
    Null,
    /// Text in the file's character set: a part of the record's bytes.
    Text {
        range: Range<usize>,
        /// Whether it was written in quotes: a text in any case.
        quoted: bool,
    },
    /// A value that has a type of its own. Bytes are a text in OCTETS.
    Value(Value),
}

/// A record of a file.
#[derive(Debug, Clone, Default)]
pub(super) struct Record {
    /// Line on which it begins, or its number where there are no lines; from 1.
    pub(super) line: u64,
    pub(super) fields: Vec<Field>,
    /// The texts of the fields, without quotes.
    pub(super) bytes: Vec<u8>,
    /// The record as it was written, if somebody wants it.
    pub(super) raw: Vec<u8>,
    /// Whether somebody does.
    pub(super) keeps_raw: bool,
}

impl Record {
    pub(super) fn clear(&mut self) {
        self.fields.clear();
        self.bytes.clear();
    }
}

/// Reads the records of a file.
pub(super) trait RecordReader: Send {
    /// The names of the fields, if the file has any.
    fn names(&self) -> Option<&[String]>;

    /// Reads the next record; false behind the last one.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged: what comes behind cannot be told apart.
    fn next_record(&mut self, record: &mut Record) -> anyhow::Result<bool>;

    /// What stands above the records of a file of records that were refused.
    fn header(&self) -> Option<Vec<u8>>;
}
