//! How figures stand in the file, from one opening of a database to the next.
//!
//! # Layout
//! One entry of the meta space per relation (`keyspace::meta::statistics`). Numbers are varints, fractions 8 bytes, little-endian.
//!
//! | item | |
//! |---|---|
//! | 1 byte | version of this layout: 1 |
//! | number | current record format of the relation; figures for another one are not taken |
//! | 1 byte | effort of the look: 0 quick, 1 usual, 2 whole |
//! | 1 byte | whether all rows were looked at |
//! | numbers | rows, bytes, blocks |
//! | fraction | size of a row |
//! | number, columns | fractions: different values, share of NULLs, size, correlation; lists of values: the least and the greatest (or none), the common ones, with a fraction each, the histogram |
//! | number, indexes | numbers: index, entries; list of fractions |
//!
//! A list begins with its length. A value is a row of one column in value encoding, with its length.

use farbird_record::bytes::{Reader, put_bytes, put_varint};
use farbird_record::value_codec::{decode_row, encode_row};
use farbird_record::{ColumnSet, DecodeError, RecordFormat};
use farbird_types::{SqlType, Value};

use super::column::cut;
use super::look::Effort;
use super::{ColumnStatistics, IndexStatistics, RelationStatistics};
use crate::{IndexId, RelationLayout};

const VERSION: u8 = 1;
/// No list is longer.
const LIST_MAX: u64 = 1 << 16;

/// The entry of a relation's figures.
pub(super) fn encode(figures: &RelationStatistics, effort: Effort, layout: &RelationLayout) -> Vec<u8> {
    let types = layout.current_format().map(RecordFormat::columns).unwrap_or_default();
    let mut out = vec![VERSION];
    put_varint(u64::from(layout.current), &mut out);
    out.extend([effort as u8, u8::from(figures.is_exact)]);
    for number in [figures.rows, figures.bytes, figures.blocks] {
        put_varint(number, &mut out);
    }
    put_fraction(figures.row_bytes, &mut out);
    put_varint(figures.columns.len() as u64, &mut out);
    for (column, sql_type) in figures.columns.iter().zip(types) {
        for fraction in [column.distinct, column.null_fraction, column.bytes, column.correlation] {
            put_fraction(fraction, &mut out);
        }
        let format = RecordFormat::new(vec![*sql_type]);
        let ends: Vec<&Value> = column.least.iter().chain(&column.greatest).collect();
        put_values(&format, ends.into_iter(), &mut out);
        put_values(&format, column.common.iter().map(|(value, _)| value), &mut out);
        column.common.iter().for_each(|(_, share)| put_fraction(*share, &mut out));
        put_values(&format, column.histogram.iter(), &mut out);
    }
    put_varint(figures.indexes.len() as u64, &mut out);
    for index in &figures.indexes {
        put_varint(u64::from(index.id.0), &mut out);
        put_varint(index.entries, &mut out);
        put_varint(index.distinct.len() as u64, &mut out);
        index.distinct.iter().for_each(|distinct| put_fraction(*distinct, &mut out));
    }
    out
}

fn put_fraction(fraction: f64, out: &mut Vec<u8>) {
    out.extend(fraction.to_le_bytes());
}

/// A value that cannot be written stands as NULL, which no list has otherwise.
fn put_values<'v>(
    format: &RecordFormat,
    values: impl ExactSizeIterator<Item = &'v Value>,
    out: &mut Vec<u8>,
) {
    put_varint(values.len() as u64, out);
    let mut row = Vec::new();
    for value in values {
        row.clear();
        if encode_row(format, std::slice::from_ref(value), &mut row).is_err() {
            row.clear();
        }
        put_bytes(&row, out);
    }
}

/// The figures that an entry tells of a relation; `None` if they are of another format of its rows, or make no sense.
pub(super) fn decode(bytes: &[u8], layout: &RelationLayout) -> Option<(RelationStatistics, Effort)> {
    read(&mut Reader::new(bytes), layout).ok().flatten()
}

fn read(
    reader: &mut Reader<'_>,
    layout: &RelationLayout,
) -> Result<Option<(RelationStatistics, Effort)>, DecodeError> {
    if reader.u8()? != VERSION || reader.varint()? != u64::from(layout.current) {
        return Ok(None);
    }
    let types = layout.current_format().map(RecordFormat::columns).unwrap_or_default();
    let effort = match reader.u8()? {
        0 => Effort::Quick,
        1 => Effort::Usual,
        _ => Effort::Whole,
    };
    let is_exact = reader.u8()? != 0;
    let mut figures = RelationStatistics {
        is_exact,
        rows: reader.varint()?,
        bytes: reader.varint()?,
        blocks: reader.varint()?,
        row_bytes: fraction(reader)?,
        ..RelationStatistics::default()
    };
    if reader.varint()? != types.len() as u64 {
        return Ok(None);
    }
    for sql_type in types {
        figures.columns.push(column(reader, *sql_type)?);
    }
    for _ in 0..list_length(reader)? {
        let id = u32::try_from(reader.varint()?);
        let id = IndexId(id.map_err(|_| DecodeError::Invalid { what: "index", offset: reader.offset() })?);
        let entries = reader.varint()?;
        let parts = list_length(reader)?;
        let distinct = (0..parts).map(|_| fraction(reader)).collect::<Result<_, _>>()?;
        figures.indexes.push(IndexStatistics { id, entries, distinct });
    }
    Ok(Some((figures, effort)))
}

fn column(reader: &mut Reader<'_>, sql_type: SqlType) -> Result<ColumnStatistics, DecodeError> {
    let (distinct, null_fraction) = (fraction(reader)?, fraction(reader)?);
    let (bytes, correlation) = (fraction(reader)?, fraction(reader)?);
    let format = RecordFormat::new(vec![sql_type]);
    let mut ends = values(reader, &format)?.into_iter();
    let common = values(reader, &format)?;
    let mut shares = Vec::with_capacity(common.len());
    for _ in &common {
        shares.push(fraction(reader)?);
    }
    let mut common: Vec<(Value, f64)> = common.into_iter().zip(shares).collect();
    common.retain(|(value, _)| !value.is_null());
    let mut histogram = values(reader, &format)?;
    histogram.retain(|value| !value.is_null());
    Ok(ColumnStatistics {
        distinct,
        null_fraction,
        bytes,
        correlation,
        least: ends.next().filter(|value| !value.is_null()),
        greatest: ends.next().filter(|value| !value.is_null()),
        common,
        histogram,
    })
}

fn values(reader: &mut Reader<'_>, format: &RecordFormat) -> Result<Vec<Value>, DecodeError> {
    let mut found = Vec::new();
    for _ in 0..list_length(reader)? {
        let bytes = reader.length_and_bytes()?;
        let mut row = Vec::new();
        if !bytes.is_empty() {
            decode_row(format, bytes, &ColumnSet::All, &mut row)?;
        }
        // CHAR comes back with its padding.
        found.push(row.pop().map(|value| cut(&value).0).unwrap_or_default());
    }
    Ok(found)
}

fn list_length(reader: &mut Reader<'_>) -> Result<u64, DecodeError> {
    let offset = reader.offset();
    let length = reader.varint()?;
    (length <= LIST_MAX).then_some(length).ok_or(DecodeError::Invalid { what: "length of a list", offset })
}

fn fraction(reader: &mut Reader<'_>) -> Result<f64, DecodeError> {
    Ok(f64::from_le_bytes(reader.array()?))
}
