//! Rows as bytes: transportable ones are in XDR (docs: RFC 4506), native ones as Firebird has them in memory.

use std::ops::Range;

use farbird_types::decimal::Decimal;
use farbird_types::{CharacterSet, Date, Text, Time, TimeTz, Timestamp, TimestampTz, Value, ZoneId};

use crate::Record;
use crate::attribute::field;

/// How a field of a row is written. Lengths are bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FieldKind {
    Text {
        length: u16,
        character_set: CharacterSet,
    },
    Varying {
        length: u16,
        character_set: CharacterSet,
    },
    /// Ends with a zero.
    CString {
        length: u16,
        character_set: CharacterSet,
    },
    Short {
        scale: i8,
    },
    Long {
        scale: i8,
    },
    Int64 {
        scale: i8,
    },
    Int128 {
        scale: i8,
    },
    Float,
    Double,
    DecFloat16,
    DecFloat34,
    Boolean,
    Date,
    Time,
    Timestamp,
    /// With the offset that the zone had, or without.
    TimeTz {
        extended: bool,
    },
    TimestampTz {
        extended: bool,
    },
    /// A number that means nothing in the backup: what belongs there follows the row, unless it is NULL.
    Blob,
    /// The same for an array.
    Array,
}

impl FieldKind {
    /// The kind of a type by its number in RDB$FIELDS; `None` for one that does not exist.
    pub fn of(field_type: i64, length: i64, scale: i64, character_set: i64) -> Option<FieldKind> {
        let length = u16::try_from(length).ok();
        let scale = i8::try_from(scale).ok();
        let character_set = u8::try_from(character_set).ok().and_then(CharacterSet::by_id);
        let character_set = character_set.unwrap_or(CharacterSet::NONE);
        Some(match field_type {
            14 => FieldKind::Text { length: length?, character_set },
            37 => FieldKind::Varying { length: length?, character_set },
            40 => FieldKind::CString { length: length?, character_set },
            7 => FieldKind::Short { scale: scale? },
            8 => FieldKind::Long { scale: scale? },
            16 | 9 => FieldKind::Int64 { scale: scale? },
            26 => FieldKind::Int128 { scale: scale? },
            10 => FieldKind::Float,
            11 | 27 => FieldKind::Double,
            24 => FieldKind::DecFloat16,
            25 => FieldKind::DecFloat34,
            23 => FieldKind::Boolean,
            12 => FieldKind::Date,
            13 => FieldKind::Time,
            35 => FieldKind::Timestamp,
            28 => FieldKind::TimeTz { extended: false },
            29 => FieldKind::TimestampTz { extended: false },
            30 => FieldKind::TimeTz { extended: true },
            31 => FieldKind::TimestampTz { extended: true },
            261 => FieldKind::Blob,
            _ => return None,
        })
    }

    /// Where it begins and how long it is in a native row: alignment and bytes.
    pub(crate) fn native(self) -> (usize, usize) {
        match self {
            FieldKind::Text { length, .. } | FieldKind::CString { length, .. } => (1, length.into()),
            FieldKind::Varying { length, .. } => (2, usize::from(length) + 2),
            FieldKind::Short { .. } => (2, 2),
            FieldKind::Long { .. } | FieldKind::Float | FieldKind::Date | FieldKind::Time => (4, 4),
            FieldKind::Int64 { .. } | FieldKind::Double | FieldKind::DecFloat16 => (8, 8),
            FieldKind::Int128 { .. } => (8, 16),
            // gbak looks its alignment up under another type's number.
            FieldKind::DecFloat34 => (4, 16),
            FieldKind::Boolean => (1, 1),
            FieldKind::Timestamp | FieldKind::Blob | FieldKind::Array => (4, 8),
            FieldKind::TimeTz { .. } => (4, 8),
            FieldKind::TimestampTz { .. } => (4, 12),
        }
    }

    /// The longest form in XDR.
    fn transportable_bytes(self) -> usize {
        match self {
            FieldKind::Text { length, .. } => padded(length),
            FieldKind::Varying { length, .. } | FieldKind::CString { length, .. } => 4 + padded(length),
            FieldKind::Int128 { .. } | FieldKind::DecFloat34 | FieldKind::TimestampTz { .. } => 16,
            FieldKind::TimeTz { .. } => 12,
            _ => 8,
        }
    }
}

fn padded(length: u16) -> usize {
    usize::from(length).next_multiple_of(4)
}

/// A field of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowField {
    /// RDB$FIELD_ID: by it BLOBs and arrays name what they belong to.
    pub number: i64,
    /// How it is written.
    pub kind: FieldKind,
}

impl RowField {
    /// The field of a column. What the column does not say of itself its domain says. `None` for a type that is not known.
    pub fn of(column: &Record, domain: Option<&Record>) -> Option<RowField> {
        let kind = match column.number(field::DIMENSIONS).is_some_and(|it| it > 0) {
            true => FieldKind::Array,
            false => RowField::element_of(column, domain)?,
        };
        Some(RowField { number: column.number(field::NUMBER).unwrap_or(-1), kind })
    }

    /// How the values of a column are written, or the elements of an array. `None` for a type that is not known.
    pub fn element_of(column: &Record, domain: Option<&Record>) -> Option<FieldKind> {
        let number = |attribute| {
            column
                .number(attribute)
                .or_else(|| domain.and_then(|it| it.number(attribute)))
                .unwrap_or_default()
        };
        let (length, scale) = (number(field::LENGTH), number(field::SCALE));
        FieldKind::of(number(field::TYPE), length, scale, number(field::CHARACTER_SET))
    }
}

/// The fields of a table's rows, in the order of the definitions, without computed ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowFormat {
    /// The fields.
    pub fields: Vec<RowField>,
}

impl RowFormat {
    /// The longest row, in bytes.
    pub(crate) fn bytes_max(&self) -> usize {
        self.fields
            .iter()
            .map(|field| field.kind.transportable_bytes().max(field.kind.native().1 + 8) + 4)
            .sum::<usize>()
    }

    /// Finds the fields of a row; `None` if its bytes are too few for them.
    pub fn find(&self, row: RowBytes<'_>, places: &mut RowPlaces) -> Option<()> {
        places.fields.clear();
        places.nulls.clear();
        match row.transportable {
            true => self.find_transportable(row.bytes, places),
            false => self.find_native(row.bytes, places),
        }
    }

    fn find_transportable(&self, bytes: &[u8], places: &mut RowPlaces) -> Option<()> {
        let mut xdr = Xdr { rest: bytes };
        for field in &self.fields {
            let start = bytes.len() - xdr.rest.len();
            xdr.skip(field.kind)?;
            places.fields.push(start..bytes.len() - xdr.rest.len());
        }
        for _ in &self.fields {
            places.nulls.push(xdr.long()? != 0);
        }
        Some(())
    }

    fn find_native(&self, bytes: &[u8], places: &mut RowPlaces) -> Option<()> {
        let mut offset = 0;
        for field in &self.fields {
            let (alignment, length) = field.kind.native();
            offset = usize::next_multiple_of(offset, alignment);
            let end = offset.checked_add(length).filter(|end| *end <= bytes.len())?;
            places.fields.push(offset..end);
            offset = end;
        }
        for _ in &self.fields {
            offset = offset.next_multiple_of(2);
            places.nulls.push(bytes.get(offset..offset + 2)? != [0, 0]);
            offset += 2;
        }
        Some(())
    }

    /// The value of a field of a row: NULL where a BLOB or an array may follow.
    pub fn field<'r>(&self, row: RowBytes<'r>, places: &RowPlaces, field: usize) -> Option<FieldValue<'r>> {
        let kind = self.fields.get(field)?.kind;
        if *places.nulls.get(field)? {
            return Some(FieldValue::Other(Value::Null));
        }
        let bytes = row.bytes.get(places.fields.get(field)?.clone())?;
        match row.transportable {
            true => Xdr { rest: bytes }.value(kind),
            false => native_value(kind, bytes),
        }
    }
}

/// The bytes of a row as a backup has them, but for the runs.
#[derive(Debug, Clone, Copy)]
pub struct RowBytes<'r> {
    /// All of them.
    pub bytes: &'r [u8],
    /// Whether they are in XDR: [`crate::Header::transportable`].
    pub transportable: bool,
}

/// Where the fields of a row are. May be used for one row after the other.
#[derive(Debug, Clone, Default)]
pub struct RowPlaces {
    fields: Vec<Range<usize>>,
    nulls: Vec<bool>,
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldValue<'r> {
    /// A text, where it stands in the row.
    Text {
        /// Its bytes.
        bytes: &'r [u8],
        /// That of the backup's definition.
        character_set: CharacterSet,
    },
    /// Anything else.
    Other(Value),
}

impl FieldValue<'_> {
    /// The value on its own.
    pub fn into_value(self) -> Value {
        match self {
            FieldValue::Text { bytes, character_set } => Value::Text(Text::new(bytes, character_set)),
            FieldValue::Other(value) => value,
        }
    }
}

/// The elements of an array, `count` at most. `None` for bytes that are no such elements.
pub(crate) fn decode_elements(
    kind: FieldKind,
    bytes: &[u8],
    transportable: bool,
    count: u64,
) -> Option<Vec<Value>> {
    // In an array a text of variable length ends with a zero, and takes the room that its length would.
    let kind = match kind {
        FieldKind::Varying { length, character_set } => {
            FieldKind::CString { length: length.checked_add(2)?, character_set }
        }
        kind => kind,
    };
    let mut values = Vec::new();
    if transportable {
        let mut xdr = Xdr { rest: bytes };
        // How many bytes they take natively.
        xdr.long()?;
        while !xdr.rest.is_empty() && (values.len() as u64) < count {
            values.push(xdr.value(kind)?.into_value());
        }
        return Some(values);
    }
    let (_, width) = kind.native();
    for slice in bytes.chunks_exact(width.max(1)).take(usize::try_from(count).unwrap_or(usize::MAX)) {
        values.push(native_value(kind, slice)?.into_value());
    }
    Some(values)
}

/// What a text makes of its bytes.
fn text(bytes: &[u8], character_set: CharacterSet) -> FieldValue<'_> {
    FieldValue::Text { bytes, character_set }
}

/// Numbers of a row, each in the order that the row's form has.
struct Numbers {
    first: u64,
    second: u64,
}

fn number_of(kind: FieldKind, Numbers { first, second }: Numbers) -> Value {
    let low = |number: u64| u32::try_from(number & 0xffff_ffff).unwrap_or_default();
    let zone = |number: u64| ZoneId(u16::try_from(number & 0xffff).unwrap_or_default());
    let signed = |number: u64| low(number).cast_signed();
    let timestamp = |date: u64, time: u64| Timestamp { date: Date(signed(date)), time: Time(low(time)) };
    match kind {
        FieldKind::Short { scale } | FieldKind::Long { scale } => {
            Value::Integer { unscaled: signed(first).into(), scale }
        }
        FieldKind::Int64 { scale } => Value::Integer { unscaled: first.cast_signed(), scale },
        FieldKind::Int128 { scale } => {
            Value::Int128 { unscaled: (u128::from(first) << 64 | u128::from(second)).cast_signed(), scale }
        }
        FieldKind::Float => Value::Float(f32::from_bits(low(first))),
        FieldKind::Double => Value::Double(f64::from_bits(first)),
        FieldKind::DecFloat16 => Value::DecFloat(Decimal::from_decimal64_bits(first)),
        FieldKind::DecFloat34 => Value::DecFloat(Decimal(u128::from(first) << 64 | u128::from(second))),
        FieldKind::Date => Value::Date(Date(signed(first))),
        FieldKind::Time => Value::Time(Time(low(first))),
        FieldKind::Timestamp => Value::Timestamp(timestamp(first >> 32, first)),
        FieldKind::TimeTz { .. } => Value::TimeTz(TimeTz { utc: Time(low(first)), zone: zone(second) }),
        FieldKind::TimestampTz { .. } => {
            Value::TimestampTz(TimestampTz { utc: timestamp(first >> 32, first), zone: zone(second) })
        }
        _ => Value::Null,
    }
}

/// The value of a field of a native row.
fn native_value(kind: FieldKind, slice: &[u8]) -> Option<FieldValue<'_>> {
    let number = |range: std::ops::Range<usize>| {
        let bytes = slice.get(range)?;
        let mut whole = [0; 8];
        whole.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(whole))
    };
    let other = |value| Some(FieldValue::Other(value));
    let pair = |first, second| other(number_of(kind, Numbers { first, second }));
    match kind {
        FieldKind::Text { character_set, .. } => Some(text(slice, character_set)),
        FieldKind::Varying { character_set, length } => {
            let used = number(0..2)?.min(length.into());
            Some(text(slice.get(2..2 + usize::try_from(used).ok()?)?, character_set))
        }
        FieldKind::CString { character_set, .. } => {
            Some(text(slice.split(|byte| *byte == 0).next()?, character_set))
        }
        FieldKind::Boolean => other(Value::Boolean(slice.first()? != &0)),
        FieldKind::Short { scale } => {
            let bytes = <[u8; 2]>::try_from(slice).ok()?;
            other(Value::Integer { unscaled: i16::from_le_bytes(bytes).into(), scale })
        }
        FieldKind::Int128 { .. } | FieldKind::DecFloat34 => pair(number(8..16)?, number(0..8)?),
        FieldKind::Timestamp => pair(number(0..4)? << 32 | number(4..8)?, 0),
        FieldKind::TimeTz { .. } => pair(number(0..4)?, number(4..6)?),
        FieldKind::TimestampTz { .. } => pair(number(0..4)? << 32 | number(4..8)?, number(8..10)?),
        FieldKind::Blob | FieldKind::Array => other(Value::Null),
        _ => pair(number(0..slice.len().min(8))?, 0),
    }
}

/// XDR: everything in multiples of four bytes, highest byte first.
struct Xdr<'a> {
    rest: &'a [u8],
}

impl<'a> Xdr<'a> {
    fn opaque(&mut self, length: u16) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(padded(length))?;
        self.rest = rest;
        bytes.get(..length.into())
    }

    fn long(&mut self) -> Option<u32> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u32::from_be_bytes(*bytes))
    }

    fn hyper(&mut self) -> Option<u64> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u64::from_be_bytes(*bytes))
    }

    fn short_length(&mut self) -> Option<u16> {
        u16::try_from(self.long()? & 0xffff).ok()
    }

    /// Passes over a value.
    fn skip(&mut self, kind: FieldKind) -> Option<()> {
        let length = match kind {
            FieldKind::Text { length, .. } => usize::from(length),
            FieldKind::Varying { length, .. } | FieldKind::CString { length, .. } => {
                self.short_length()?.min(length).into()
            }
            FieldKind::Boolean
            | FieldKind::Short { .. }
            | FieldKind::Long { .. }
            | FieldKind::Float
            | FieldKind::Date
            | FieldKind::Time => 4,
            FieldKind::Int64 { .. }
            | FieldKind::Double
            | FieldKind::DecFloat16
            | FieldKind::Timestamp
            | FieldKind::Blob
            | FieldKind::Array => 8,
            FieldKind::Int128 { .. } | FieldKind::DecFloat34 => 16,
            FieldKind::TimeTz { extended } => 8 + 4 * usize::from(extended),
            FieldKind::TimestampTz { extended } => 12 + 4 * usize::from(extended),
        };
        self.rest = self.rest.get(length.next_multiple_of(4)..)?;
        Some(())
    }

    fn value(&mut self, kind: FieldKind) -> Option<FieldValue<'a>> {
        let (first, second) = match kind {
            FieldKind::Text { length, character_set } => {
                return Some(text(self.opaque(length)?, character_set));
            }
            FieldKind::Varying { length, character_set } | FieldKind::CString { length, character_set } => {
                let used = self.short_length()?.min(length);
                return Some(text(self.opaque(used)?, character_set));
            }
            FieldKind::Boolean => {
                return Some(FieldValue::Other(Value::Boolean(self.opaque(1)? != [0])));
            }
            FieldKind::Blob | FieldKind::Array => {
                self.hyper()?;
                return Some(FieldValue::Other(Value::Null));
            }
            FieldKind::Short { .. }
            | FieldKind::Long { .. }
            | FieldKind::Float
            | FieldKind::Date
            | FieldKind::Time => (self.long()?.into(), 0),
            FieldKind::Int64 { .. } | FieldKind::Double | FieldKind::DecFloat16 | FieldKind::Timestamp => {
                (self.hyper()?, 0)
            }
            FieldKind::Int128 { .. } | FieldKind::DecFloat34 => (self.hyper()?, self.hyper()?),
            FieldKind::TimeTz { extended } => {
                let zoned = (self.long()?.into(), self.long()?.into());
                self.offset_of(extended)?;
                zoned
            }
            FieldKind::TimestampTz { extended } => {
                let zoned = (self.hyper()?, self.long()?.into());
                self.offset_of(extended)?;
                zoned
            }
        };
        Some(FieldValue::Other(number_of(kind, Numbers { first, second })))
    }

    /// The offset that a zone had is not kept.
    fn offset_of(&mut self, extended: bool) -> Option<()> {
        if extended {
            self.long()?;
        }
        Some(())
    }
}
