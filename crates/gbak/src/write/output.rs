//! Records, rows and BLOBs as the bytes of a backup.

use std::hash::DefaultHasher;
use std::io::{Result, Write};

use farbird_types::Value;

use super::BlobShape;
use super::array::ArrayOf;
use super::row;
use crate::attribute::{backup, blob, data, xdr};
use crate::record::{Attribute, Record, RecordKind};
use crate::{RowField, record};

/// What gbak says of its own writes to a file; nothing depends on it.
const BLOCK_BYTES: i32 = 1 << 18;
/// att_backup_blksize and att_backup_volume.
const BLOCK_SIZE: u8 = 6;
const VOLUME: u8 = 8;
/// Longest text of an attribute whose length is one byte.
const SHORT_BYTES_MAX: usize = 255;

/// Writes a backup, and counts its bytes.
pub(super) struct Output<W> {
    inner: W,
    bytes: u64,
    row: Vec<u8>,
    packed: Vec<u8>,
}

impl<W: Write> Output<W> {
    pub(super) fn new(inner: W) -> Output<W> {
        Output { inner, bytes: 0, row: Vec::new(), packed: Vec::new() }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.inner.flush()
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes += bytes.len() as u64;
        self.inner.write_all(bytes)
    }

    fn put_number(&mut self, attribute: u8, number: i32) -> Result<()> {
        self.put(&[attribute, 4])?;
        self.put(&number.to_le_bytes())
    }

    /// What a backup begins with; `database` and `date` are for people.
    pub(super) fn header(&mut self, format: i32, database: &str, date: &str) -> Result<()> {
        self.put(&[RecordKind::Burp as u8])?;
        for (attribute, number) in [
            (backup::FORMAT, format),
            (backup::COMPRESS, 1),
            (backup::TRANSPORTABLE, 1),
            (BLOCK_SIZE, BLOCK_BYTES),
            (VOLUME, 1),
        ] {
            self.put_number(attribute, number)?;
        }
        for (attribute, text) in [(backup::FILE, database), (backup::DATE, date)] {
            let end = (0..=SHORT_BYTES_MAX.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
            let text = text.get(..end.unwrap_or_default()).unwrap_or_default();
            self.put(&[attribute, u8::try_from(text.len()).unwrap_or_default()])?;
            self.put(text.as_bytes())?;
        }
        self.put(&[0])
    }

    /// A record that has no attributes.
    pub(super) fn mark(&mut self, kind: RecordKind) -> Result<()> {
        self.put(&[kind as u8])
    }

    pub(super) fn record(&mut self, record: &Record) -> Result<()> {
        self.put(&[record.kind as u8])?;
        for attribute in &record.attributes {
            self.attribute(record.kind, attribute)?;
        }
        self.put(&[0])
    }

    fn attribute(&mut self, kind: RecordKind, attribute: &Attribute) -> Result<()> {
        let head = record::attribute_head(kind, attribute.number, attribute.bytes.len());
        let head = head.ok_or_else(|| {
            std::io::Error::other(format!(
                "{} bytes are too many for attribute {} of a record of kind {}",
                attribute.bytes.len(),
                attribute.number,
                kind as u8
            ))
        })?;
        self.put(&head)?;
        self.put(&attribute.bytes)
    }

    /// A row, whose bytes are added to a checksum, except those of arrays. False for values that are not of their fields'
    /// types: nothing is written then.
    pub(super) fn row(
        &mut self,
        fields: &[RowField],
        native_bytes: u32,
        values: &[Value],
        hasher: &mut DefaultHasher,
    ) -> Result<bool> {
        self.row.clear();
        self.packed.clear();
        if row::encode(fields, values, &mut self.row).is_none() {
            return Ok(false);
        }
        row::add_to_checksum(fields, values, &self.row, hasher);
        let (mut encoded, mut packed) = (std::mem::take(&mut self.row), std::mem::take(&mut self.packed));
        packed.extend_from_slice(&[RecordKind::Data as u8, data::LENGTH, 4]);
        packed.extend_from_slice(&native_bytes.to_le_bytes());
        packed.extend_from_slice(&[xdr::LENGTH, 4]);
        packed.extend_from_slice(&u32::try_from(encoded.len()).unwrap_or(u32::MAX).to_le_bytes());
        packed.push(data::DATA);
        row::pack(&encoded, &mut packed);
        self.put(&packed)?;
        encoded.clear();
        (self.row, self.packed) = (encoded, packed);
        Ok(true)
    }

    /// An array. False for elements that are not of its type: nothing is written then.
    pub(super) fn array(&mut self, field: i64, array: &ArrayOf, elements: &[Value]) -> Result<bool> {
        let mut encoded = vec![RecordKind::Array as u8];
        if array.encode(field, elements, &mut encoded).is_none() {
            return Ok(false);
        }
        self.put(&encoded)?;
        Ok(true)
    }

    /// What stands before the segments of a BLOB.
    pub(super) fn blob(&mut self, field: i64, shape: BlobShape) -> Result<()> {
        self.put(&[RecordKind::Blob as u8])?;
        let segments = u32::try_from(shape.segments)
            .map_err(|_| std::io::Error::other("a blob of more than 4,294,967,295 segments"))?;
        for (attribute, number) in [
            (blob::FIELD_NUMBER, i32::try_from(field).unwrap_or_default()),
            (blob::MAX_SEGMENT, i32::from(shape.longest)),
            (blob::NUMBER_SEGMENTS, segments.cast_signed()),
            (blob::TYPE, i32::from(shape.stream)),
        ] {
            self.put_number(attribute, number)?;
        }
        self.put(&[blob::DATA])
    }

    pub(super) fn segment(&mut self, bytes: &[u8]) -> Result<()> {
        let length = u16::try_from(bytes.len())
            .map_err(|_| std::io::Error::other("a segment of more than 65,535 bytes"))?;
        self.put(&length.to_le_bytes())?;
        self.put(bytes)
    }
}
