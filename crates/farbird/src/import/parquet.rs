//! Reads Parquet files of flat columns.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use farbird_types::{CharacterSet, Date, Text, Time, Timestamp, TimestampTz, Value, ZoneId};
use parquet::basic::{ConvertedType, LogicalType, TimeUnit};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::record::{Field, Record, RecordReader};

/// Rows that are decoded at a time.
const ROWS_AT_A_TIME: usize = 8_192;
/// Firebird's unit of time: ten-thousandths of a second in a microsecond's.
const MICROSECONDS: i64 = 100;
/// Of the Unix epoch, in ten-thousandths of a second since Firebird's day 0.
const UNIX_EPOCH_TICKS: i64 = Date::UNIX_EPOCH.0 as i64 * TICKS_PER_DAY;
const TICKS_PER_DAY: i64 = 864_000_000;
/// The Julian day that INT96 timestamps count from, as a day of the Unix epoch.
const JULIAN_UNIX_EPOCH: i64 = 2_440_588;

/// Reads the rows of a file.
pub(super) struct ParquetReader {
    reader: Arc<SerializedFileReader<File>>,
    names: Vec<String>,
    row_group: usize,
    /// Rows of this row group that have not been decoded.
    left: usize,
    columns: Vec<Column>,
    /// The next row among those decoded, and how many those are.
    next: usize,
    decoded: usize,
    number: u64,
}

/// A column of the row group at hand.
struct Column {
    reader: ColumnReader,
    values: Vec<Option<Value>>,
}

impl ParquetReader {
    /// Opens a file.
    pub(super) fn open(path: &Path) -> anyhow::Result<ParquetReader> {
        let name = path.display();
        let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
        let reader = SerializedFileReader::new(file).with_context(|| format!("{name} is no Parquet file"))?;
        let schema = reader.metadata().file_metadata().schema_descr();
        for column in schema.columns() {
            if column.max_rep_level() > 0 || column.path().parts().len() > 1 {
                bail!("{name}: column {} holds lists or records; only flat columns are read", column.path());
            }
        }
        let names = schema.columns().iter().map(|column| column.name().to_owned()).collect();
        Ok(ParquetReader {
            reader: Arc::new(reader),
            names,
            row_group: 0,
            left: 0,
            columns: Vec::new(),
            next: 0,
            decoded: 0,
            number: 0,
        })
    }

    /// Decodes the next rows; false if there are none.
    fn decode(&mut self) -> anyhow::Result<bool> {
        while self.left == 0 {
            if self.row_group == self.reader.num_row_groups() {
                return Ok(false);
            }
            let group = self.reader.get_row_group(self.row_group)?;
            self.row_group += 1;
            self.left = usize::try_from(group.metadata().num_rows()).unwrap_or_default();
            self.columns = (0..group.num_columns())
                .map(|index| Ok(Column { reader: group.get_column_reader(index)?, values: Vec::new() }))
                .collect::<anyhow::Result<_>>()?;
        }
        let count = self.left.min(ROWS_AT_A_TIME);
        let schema = self.reader.metadata().file_metadata().schema_descr_ptr();
        for (column, descriptor) in self.columns.iter_mut().zip(schema.columns()) {
            column.values = read(&mut column.reader, descriptor, count)
                .with_context(|| format!("column {}", descriptor.name()))?;
            if column.values.len() != count {
                bail!("column {} ends too soon", descriptor.name());
            }
        }
        (self.left, self.next, self.decoded) = (self.left - count, 0, count);
        Ok(true)
    }
}

impl RecordReader for ParquetReader {
    fn names(&self) -> Option<&[String]> {
        Some(&self.names)
    }

    fn next_record(&mut self, record: &mut Record) -> anyhow::Result<bool> {
        if self.next == self.decoded && !self.decode()? {
            return Ok(false);
        }
        record.clear();
        self.number += 1;
        record.line = self.number;
        for column in &mut self.columns {
            let value = column.values.get_mut(self.next).and_then(Option::take);
            record.fields.push(value.map_or(Field::Null, Field::Value));
        }
        if record.keeps_raw {
            record.raw.clear();
            let shown: Vec<String> = record.fields.iter().map(shown).collect();
            record.raw.extend_from_slice(shown.join(",").as_bytes());
        }
        self.next += 1;
        Ok(true)
    }

    fn header(&self) -> Option<Vec<u8>> {
        Some(self.names.join(",").into_bytes())
    }
}

/// A field as text, for the file of refused rows.
fn shown(field: &Field) -> String {
    match field {
        Field::Value(value) => {
            let text = farbird_types::convert::to_display_text(value);
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        _ => String::new(),
    }
}

/// Reads so many values of a column.
fn read(
    reader: &mut ColumnReader,
    descriptor: &ColumnDescriptor,
    count: usize,
) -> anyhow::Result<Vec<Option<Value>>> {
    let kind = Kind::of(descriptor);
    match reader {
        ColumnReader::BoolColumnReader(reader) => values(reader, count, |value| Ok(Value::Boolean(*value))),
        ColumnReader::Int32ColumnReader(reader) => values(reader, count, |value| match kind {
            // Unsigned numbers travel as the signed ones of the same bits.
            Kind::Unsigned => Ok(Value::integer(i64::from(value.cast_unsigned()))),
            kind => kind.integer(i64::from(*value)),
        }),
        ColumnReader::Int64ColumnReader(reader) => values(reader, count, |value| match kind {
            Kind::Unsigned => Ok(Value::Int128 { unscaled: i128::from(value.cast_unsigned()), scale: 0 }),
            kind => kind.integer(*value),
        }),
        ColumnReader::Int96ColumnReader(reader) => values(reader, count, |value| {
            // The form of old: nanoseconds of a day and a Julian day.
            let [low, high, day] = value.data() else { bail!("a timestamp is cut short") };
            let nanoseconds = (i64::from(*high) << 32) | i64::from(*low);
            let days = i64::from(*day) - JULIAN_UNIX_EPOCH;
            timestamp(days * TICKS_PER_DAY + nanoseconds / 100_000).map(Value::Timestamp)
        }),
        ColumnReader::FloatColumnReader(reader) => values(reader, count, |value| Ok(Value::Float(*value))),
        ColumnReader::DoubleColumnReader(reader) => values(reader, count, |value| Ok(Value::Double(*value))),
        ColumnReader::ByteArrayColumnReader(reader) => {
            values(reader, count, |value| kind.bytes(value.data()))
        }
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            values(reader, count, |value| kind.bytes(value.data()))
        }
    }
}

/// Reads values and puts NULLs where they belong.
fn values<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    count: usize,
    convert: impl Fn(&T::T) -> anyhow::Result<Value>,
) -> anyhow::Result<Vec<Option<Value>>> {
    let (mut levels, mut found) = (Vec::new(), Vec::new());
    let mut read = 0;
    while read < count {
        let (records, ..) = reader.read_records(count - read, Some(&mut levels), None, &mut found)?;
        if records == 0 {
            break;
        }
        read += records;
    }
    let mut found = found.iter();
    if levels.is_empty() {
        return found.map(|value| convert(value).map(Some)).collect();
    }
    levels
        .iter()
        .map(|level| match level {
            0 => Ok(None),
            _ => found.next().map(&convert).transpose(),
        })
        .collect()
}

/// What the numbers and bytes of a column mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integer,
    Unsigned,
    Decimal { scale: i8 },
    Date,
    Time { per_second: i64 },
    Timestamp { per_second: i64, utc: bool },
    Text,
    Bytes,
}

impl Kind {
    fn of(column: &ColumnDescriptor) -> Kind {
        let per_second = |unit: &TimeUnit| match unit {
            TimeUnit::MILLIS => 1_000,
            TimeUnit::MICROS => 1_000_000,
            _ => 1_000_000_000,
        };
        let scale = |scale: i32| i8::try_from(-scale).unwrap_or_default();
        let old = |converted: ConvertedType| match converted {
            ConvertedType::UTF8 | ConvertedType::JSON | ConvertedType::ENUM => Kind::Text,
            ConvertedType::DECIMAL => Kind::Decimal { scale: scale(column.type_scale()) },
            ConvertedType::DATE => Kind::Date,
            ConvertedType::TIME_MILLIS => Kind::Time { per_second: 1_000 },
            ConvertedType::TIME_MICROS => Kind::Time { per_second: 1_000_000 },
            ConvertedType::TIMESTAMP_MILLIS => Kind::Timestamp { per_second: 1_000, utc: true },
            ConvertedType::TIMESTAMP_MICROS => Kind::Timestamp { per_second: 1_000_000, utc: true },
            ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64 => Kind::Unsigned,
            _ if column.physical_type() == parquet::basic::Type::BYTE_ARRAY => Kind::Bytes,
            _ if column.physical_type() == parquet::basic::Type::FIXED_LEN_BYTE_ARRAY => Kind::Bytes,
            _ => Kind::Integer,
        };
        match column.logical_type_ref() {
            Some(LogicalType::String | LogicalType::Json | LogicalType::Enum) => Kind::Text,
            Some(LogicalType::Decimal(decimal)) => Kind::Decimal { scale: scale(decimal.scale) },
            Some(LogicalType::Date) => Kind::Date,
            Some(LogicalType::Time(time)) => Kind::Time { per_second: per_second(&time.unit) },
            Some(LogicalType::Timestamp(moment)) => {
                Kind::Timestamp { per_second: per_second(&moment.unit), utc: moment.is_adjusted_to_u_t_c }
            }
            Some(LogicalType::Integer(integer)) if !integer.is_signed => Kind::Unsigned,
            _ => old(column.converted_type()),
        }
    }

    fn integer(self, number: i64) -> anyhow::Result<Value> {
        // Ten-thousandths of a second; finer ones are cut off.
        let ticks = |per_second: i64| match per_second {
            1_000 => number.checked_mul(10),
            1_000_000 => Some(number.div_euclid(MICROSECONDS)),
            _ => Some(number.div_euclid(MICROSECONDS * 1_000)),
        };
        Ok(match self {
            Kind::Decimal { scale } => Value::Integer { unscaled: number, scale },
            Kind::Date => {
                let day = i32::try_from(number).ok().and_then(|day| day.checked_add(Date::UNIX_EPOCH.0));
                let date = day.map(Date).filter(|date| date.is_valid());
                Value::Date(date.context("a date is out of Firebird's range")?)
            }
            Kind::Time { per_second } => {
                let time = ticks(per_second).and_then(|ticks| u32::try_from(ticks).ok()).map(Time);
                Value::Time(time.filter(|time| time.is_valid()).context("a time is no time of day")?)
            }
            Kind::Timestamp { per_second, utc } => {
                let moment = timestamp(ticks(per_second).context("a timestamp is out of range")?)?;
                match utc {
                    true => Value::TimestampTz(TimestampTz { utc: moment, zone: ZoneId::GMT }),
                    false => Value::Timestamp(moment),
                }
            }
            _ => Value::integer(number),
        })
    }

    fn bytes(self, bytes: &[u8]) -> anyhow::Result<Value> {
        Ok(match self {
            Kind::Decimal { scale } => {
                // Two's complement, the high byte first.
                if bytes.len() > 16 {
                    bail!("a decimal has more than 128 bits");
                }
                let filler = if bytes.first().is_some_and(|byte| *byte >= 128) { 0xFF } else { 0 };
                let mut whole = [filler; 16];
                if let Some(low) = whole.get_mut(16 - bytes.len()..) {
                    low.copy_from_slice(bytes);
                }
                Value::Int128 { unscaled: i128::from_be_bytes(whole), scale }
            }
            Kind::Text => Value::Text(Text::new(bytes, CharacterSet::UTF8)),
            _ => Value::Text(Text::new(bytes, CharacterSet::OCTETS)),
        })
    }
}

/// A moment of so many ten-thousandths of a second since the Unix epoch.
fn timestamp(ticks: i64) -> anyhow::Result<Timestamp> {
    ticks
        .checked_add(UNIX_EPOCH_TICKS)
        .and_then(Timestamp::from_ticks)
        .context("a timestamp is out of Firebird's range")
}
