//! A whole backup, item by item.

use std::io::Read;

use farbird_types::Value;

use crate::attribute::{array, backup, blob, data, xdr};
use crate::input::Input;
use crate::row::decode_elements;
use crate::{Fault, FieldKind, Record, RecordKind, Result, RowFormat, record};

/// Oldest and newest format that is known.
const FORMATS: std::ops::RangeInclusive<i64> = 6..=11;
/// Most dimensions of an array.
const DIMENSIONS_MAX: i64 = 16;

/// What a backup says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    /// 6 to 9: Firebird 1 to 2.5; 10: 3; 11: 4 and 5.
    pub format: i64,
    /// Rows are written as runs of bytes.
    pub compressed: bool,
    /// Rows are written in XDR.
    pub transportable: bool,
    /// The database that was backed up.
    pub database: String,
    /// When, in the words of the machine that did it.
    pub date: String,
}

/// A BLOB whose segments follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobHeader {
    /// [`crate::RowField::number`] of the field that it belongs to.
    pub field: i64,
    /// Stream rather than segmented.
    pub stream: bool,
    /// How many segments follow.
    pub segments: u64,
}

/// An array whose bytes follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayHeader {
    /// [`crate::RowField::number`] of the field that it belongs to.
    pub field: i64,
    /// First and last subscript of each dimension.
    pub bounds: Vec<(i64, i64)>,
    /// Its bytes.
    pub bytes: u32,
}

/// Reads a backup.
///
/// [`BackupReader::next_record`] gives one item after the other. After a [`RecordKind::Data`] comes
/// [`BackupReader::row`], after a [`RecordKind::Blob`] [`BackupReader::blob`] and then each
/// [`BackupReader::segment`], after a [`RecordKind::Array`] [`BackupReader::array`] and [`BackupReader::elements`] or
/// [`BackupReader::skip`].
pub struct BackupReader<'a> {
    input: Input<'a>,
    header: Header,
    /// Bytes of an array.
    array: Vec<u8>,
}

impl<'a> BackupReader<'a> {
    /// Reads the beginning.
    ///
    /// # Errors
    /// [`Fault::NotABackup`], [`Fault::Format`], [`Fault::Encrypted`], and what damage gives.
    pub fn open(source: Box<dyn Read + 'a>) -> Result<BackupReader<'a>> {
        let mut input = Input::new(source);
        let record = match record::read(&mut input) {
            Ok(record) if record.kind == RecordKind::Burp => record,
            Ok(_) | Err(Fault::Record { .. }) => return Err(Fault::NotABackup),
            Err(error) => return Err(error),
        };
        let format = record.number(backup::FORMAT).ok_or(Fault::NotABackup)?;
        if !FORMATS.contains(&format) {
            return Err(Fault::Format(format));
        }
        if [backup::HASH, backup::CRYPT, backup::KEYNAME].iter().any(|it| record.bytes(*it).is_some()) {
            return Err(Fault::Encrypted);
        }
        let flag = |number| record.number(number).is_some_and(|value| value != 0);
        let header = Header {
            format,
            compressed: flag(backup::COMPRESS),
            transportable: flag(backup::TRANSPORTABLE),
            database: record.name(backup::FILE).unwrap_or_default(),
            date: record.name(backup::DATE).unwrap_or_default(),
        };
        let input = if flag(backup::ZIP) { input.unpack() } else { input };
        Ok(BackupReader { input, header, array: Vec::new() })
    }

    /// What the backup says of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// How many bytes have been read, counted after unpacking.
    pub fn offset(&self) -> u64 {
        self.input.offset()
    }

    /// Something wrong here.
    pub(crate) fn damaged(&self, what: &'static str) -> Fault {
        self.input.damaged(what)
    }

    /// The next item.
    ///
    /// # Errors
    /// [`Fault::Record`], [`Fault::Eof`], damage.
    pub fn next_record(&mut self) -> Result<Record> {
        record::read(&mut self.input)
    }

    /// Appends the bytes of a row, without runs.
    ///
    /// # Errors
    /// [`Fault::Damaged`] if it is longer than a row of `format` can be; whether it is long enough [`RowFormat::find`] says.
    pub fn row(&mut self, format: &RowFormat, out: &mut Vec<u8>) -> Result<()> {
        self.expect(data::LENGTH, "a row without its length")?;
        let mut length = self.input.number()?;
        if self.header.transportable {
            self.expect(xdr::LENGTH, "a row without its XDR length")?;
            length = self.input.number()?;
        }
        self.expect(data::DATA, "a row without its bytes")?;
        let length = usize::try_from(length).ok().filter(|length| *length <= format.bytes_max());
        let length = length.ok_or_else(|| self.input.damaged("a row that is too long for its table"))?;
        match self.header.compressed {
            true => self.input.take_runs(length, out),
            false => self.input.take(length, out),
        }
    }

    /// What is wrong with a row that ends here and in which [`RowFormat::find`] does not find all fields.
    pub fn short_row(at: u64) -> Fault {
        Fault::Damaged { at, what: "a row that is too short for its table" }
    }

    /// What is said of a BLOB; its segments follow.
    ///
    /// # Errors
    /// As for records.
    pub fn blob(&mut self) -> Result<BlobHeader> {
        let mut header = BlobHeader { field: -1, stream: false, segments: 0 };
        loop {
            match self.input.byte()? {
                blob::DATA => return Ok(header),
                blob::FIELD_NUMBER => header.field = self.input.number()?,
                blob::TYPE => header.stream = self.input.number()? & 1 != 0,
                blob::NUMBER_SEGMENTS => {
                    // Written as 32 bits, of which the highest is no sign.
                    header.segments = (self.input.number()? & 0xffff_ffff).unsigned_abs();
                }
                blob::MAX_SEGMENT => drop(self.input.number()?),
                _ => return Err(self.input.damaged("an attribute of a blob that is not known")),
            }
        }
    }

    /// Appends the next segment of a BLOB.
    ///
    /// # Errors
    /// [`Fault::Eof`], damage.
    pub fn segment(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let length = u16::from_le_bytes([self.input.byte()?, self.input.byte()?]);
        self.input.take(length.into(), out)
    }

    /// What is said of an array; so many bytes follow.
    ///
    /// # Errors
    /// As for records.
    pub fn array(&mut self) -> Result<ArrayHeader> {
        let (mut field, mut bounds) = (-1, Vec::new());
        loop {
            match self.input.byte()? {
                blob::DATA => break,
                blob::FIELD_NUMBER => field = self.input.number()?,
                array::DIMENSIONS => bounds = self.bounds()?,
                _ => return Err(self.input.damaged("an attribute of an array that is not known")),
            }
        }
        let mut bytes = self.input.length()?;
        if self.header.transportable && bytes > 0 {
            self.expect(xdr::ARRAY, "an array without its XDR length")?;
            bytes = self.input.length()?;
        }
        Ok(ArrayHeader { field, bounds, bytes })
    }

    /// The elements of an array of which the header has just been read: as many as its bytes hold, `count` at most. `None` for
    /// bytes that are no such elements.
    ///
    /// # Errors
    /// As for records.
    pub fn elements(
        &mut self,
        header: &ArrayHeader,
        kind: FieldKind,
        count: u64,
    ) -> Result<Option<Vec<Value>>> {
        self.array.clear();
        let bytes = usize::try_from(header.bytes).unwrap_or(usize::MAX);
        self.input.take(bytes, &mut self.array)?;
        Ok(decode_elements(kind, &self.array, self.header.transportable, count))
    }

    fn bounds(&mut self) -> Result<Vec<(i64, i64)>> {
        let dimensions = self.input.number()?;
        if !(1..=DIMENSIONS_MAX).contains(&dimensions) {
            return Err(self.input.damaged("the dimensions of an array"));
        }
        let mut bounds = Vec::new();
        for _ in 0..dimensions {
            self.expect(array::RANGE_LOW, "the bounds of an array")?;
            let lower = self.input.number()?;
            self.expect(array::RANGE_HIGH, "the bounds of an array")?;
            bounds.push((lower, self.input.number()?));
        }
        Ok(bounds)
    }

    /// Passes over bytes.
    ///
    /// # Errors
    /// [`Fault::Eof`], damage.
    pub fn skip(&mut self, bytes: u32) -> Result<()> {
        let mut left = usize::try_from(bytes).unwrap_or(usize::MAX);
        while left > 0 {
            self.array.clear();
            let piece = left.min(1 << 16);
            self.input.take(piece, &mut self.array)?;
            left -= piece;
        }
        Ok(())
    }

    fn expect(&mut self, attribute: u8, what: &'static str) -> Result<()> {
        match self.input.byte()? == attribute {
            true => Ok(()),
            false => Err(self.input.damaged(what)),
        }
    }
}
