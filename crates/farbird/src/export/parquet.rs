//! Writes Parquet: a row group for every 131,072 rows or 64 MiB, compressed with Snappy, which all readers know.

use std::io::{self, Write};
use std::sync::Arc;

use farbird_types::{CharacterSet, Date, ExactWidth, SqlType, Value};
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, FloatType,
    Int32Type, Int64Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use super::RowWriter;
use crate::exchange::text;
use crate::session::Column;

/// Rows of a row group.
const GROUP_ROWS: usize = 131_072;
/// Bytes of a row group's texts, before compression.
const GROUP_BYTES: usize = 64 << 20;
/// Microseconds in Firebird's unit of time.
const MICROSECONDS: i64 = 100;
const UNIX_EPOCH_TICKS: i64 = Date::UNIX_EPOCH.0 as i64 * 864_000_000;

/// Writes Parquet.
pub(super) struct ParquetWriter<W: Write + Send> {
    /// Where to write, until the columns are known.
    out: Option<W>,
    writer: Option<SerializedFileWriter<W>>,
    columns: Vec<Gathered>,
    rows: usize,
    bytes: usize,
}

/// A column's values of the row group that is gathered.
struct Gathered {
    values: Values,
    /// 1 for each value, 0 for each NULL.
    levels: Vec<i16>,
}

enum Values {
    Boolean(Vec<bool>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Bytes(Vec<ByteArray>),
    Fixed(Vec<FixedLenByteArray>),
}

impl<W: Write + Send> ParquetWriter<W> {
    pub(super) fn new(out: W) -> ParquetWriter<W> {
        ParquetWriter { out: Some(out), writer: None, columns: Vec::new(), rows: 0, bytes: 0 }
    }

    /// Writes what is gathered as a row group.
    fn write_group(&mut self) -> parquet::errors::Result<()> {
        let Some(writer) = self.writer.as_mut().filter(|_| self.rows > 0) else { return Ok(()) };
        let mut group = writer.next_row_group()?;
        for column in &mut self.columns {
            if let Some(mut writer) = group.next_column()? {
                column.write(&mut writer)?;
                writer.close()?;
            }
        }
        group.close()?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

impl Gathered {
    fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> parquet::errors::Result<()> {
        let levels = Some(self.levels.as_slice());
        match &mut self.values {
            Values::Boolean(values) => {
                writer.typed::<BoolType>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Int32(values) => {
                writer.typed::<Int32Type>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Int64(values) => {
                writer.typed::<Int64Type>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Float(values) => {
                writer.typed::<FloatType>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Double(values) => {
                writer.typed::<DoubleType>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Bytes(values) => {
                writer.typed::<ByteArrayType>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Fixed(values) => {
                writer.typed::<FixedLenByteArrayType>().write_batch(values, levels, None)?;
                values.clear();
            }
        }
        self.levels.clear();
        Ok(())
    }

    /// Adds a value; gives how many bytes it takes beyond a number's.
    fn push(&mut self, value: &Value, contents: Option<Vec<u8>>, sql_type: SqlType) -> usize {
        self.levels.push(i16::from(!value.is_null()));
        match (&mut self.values, value) {
            (_, Value::Null) => return 0,
            (Values::Boolean(values), Value::Boolean(truth)) => values.push(*truth),
            (Values::Int32(values), Value::Integer { unscaled, .. }) => {
                values.push(i32::try_from(*unscaled).unwrap_or_default());
            }
            (Values::Int32(values), Value::Date(date)) => values.push(date.0 - Date::UNIX_EPOCH.0),
            (Values::Int64(values), Value::Integer { unscaled, .. }) => values.push(*unscaled),
            (Values::Int64(values), Value::Time(time)) => values.push(i64::from(time.0) * MICROSECONDS),
            (Values::Int64(values), Value::Timestamp(moment)) => {
                values.push((moment.ticks() - UNIX_EPOCH_TICKS) * MICROSECONDS);
            }
            (Values::Float(values), Value::Float(number)) => values.push(*number),
            (Values::Double(values), Value::Double(number)) => values.push(*number),
            (Values::Fixed(values), Value::Int128 { unscaled, .. }) => {
                values.push(FixedLenByteArray::from(unscaled.to_be_bytes().to_vec()));
            }
            (Values::Bytes(values), value) => {
                let bytes = match (contents, value) {
                    (Some(contents), _) => contents,
                    (None, Value::Text(text)) if text.character_set() == CharacterSet::OCTETS => {
                        text.bytes().to_vec()
                    }
                    (None, value) => {
                        let mut shown = String::new();
                        text::append(value, sql_type, &mut shown);
                        shown.into_bytes()
                    }
                };
                let length = bytes.len();
                values.push(ByteArray::from(bytes));
                return length;
            }
            // A value of another type than its column's: the server's mistake, of which NULL is the least harmful telling.
            _ => {
                if let Some(level) = self.levels.last_mut() {
                    *level = 0;
                }
            }
        }
        0
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::other(error)
}

impl<W: Write + Send> RowWriter for ParquetWriter<W> {
    fn begin(&mut self, columns: &[Column]) -> io::Result<()> {
        let mut fields = Vec::new();
        for column in columns {
            let (field, values) = field(column).map_err(failed)?;
            fields.push(field);
            self.columns.push(Gathered { values, levels: Vec::new() });
        }
        let schema = Type::group_type_builder("rows").with_fields(fields).build().map_err(failed)?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        if let Some(out) = self.out.take() {
            let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties));
            self.writer = Some(writer.map_err(failed)?);
        }
        Ok(())
    }

    fn row(
        &mut self,
        columns: &[Column],
        values: &[Value],
        contents: &mut [Option<Vec<u8>>],
    ) -> io::Result<()> {
        for (((gathered, value), column), contents) in
            self.columns.iter_mut().zip(values).zip(columns).zip(contents)
        {
            self.bytes += gathered.push(value, contents.take(), column.sql_type);
        }
        self.rows += 1;
        if self.rows >= GROUP_ROWS || self.bytes >= GROUP_BYTES {
            self.write_group().map_err(failed)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.write_group().map_err(failed)?;
        if let Some(writer) = self.writer.take() {
            writer.close().map_err(failed)?;
        }
        Ok(())
    }
}

/// The column of a file for a column of a result.
fn field(column: &Column) -> parquet::errors::Result<(TypePtr, Values)> {
    let decimal = |precision: u8, scale: i8| {
        let (scale, precision) = (i32::from(scale.unsigned_abs()), i32::from(precision));
        (Some(LogicalType::decimal(scale, precision)), Some((precision, scale)))
    };
    let (physical, (logical, digits), values) = match column.sql_type {
        SqlType::Boolean => (PhysicalType::BOOLEAN, (None, None), Values::Boolean(Vec::new())),
        SqlType::Exact { width: ExactWidth::Short, scale: 0, .. } => {
            (PhysicalType::INT32, (Some(LogicalType::integer(16, true)), None), Values::Int32(Vec::new()))
        }
        SqlType::Exact { width: ExactWidth::Long, scale: 0, .. } => {
            (PhysicalType::INT32, (None, None), Values::Int32(Vec::new()))
        }
        SqlType::Exact { width: ExactWidth::Int64, scale: 0, .. } => {
            (PhysicalType::INT64, (None, None), Values::Int64(Vec::new()))
        }
        SqlType::Exact { width: ExactWidth::Short | ExactWidth::Long, scale, .. } => {
            (PhysicalType::INT32, decimal(9, scale), Values::Int32(Vec::new()))
        }
        SqlType::Exact { width: ExactWidth::Int64, scale, .. } => {
            (PhysicalType::INT64, decimal(18, scale), Values::Int64(Vec::new()))
        }
        SqlType::Exact { scale, .. } => {
            (PhysicalType::FIXED_LEN_BYTE_ARRAY, decimal(38, scale), Values::Fixed(Vec::new()))
        }
        SqlType::Float => (PhysicalType::FLOAT, (None, None), Values::Float(Vec::new())),
        SqlType::Double => (PhysicalType::DOUBLE, (None, None), Values::Double(Vec::new())),
        SqlType::Date => (PhysicalType::INT32, (Some(LogicalType::Date), None), Values::Int32(Vec::new())),
        SqlType::Time => {
            let time = LogicalType::time(false, TimeUnit::MICROS);
            (PhysicalType::INT64, (Some(time), None), Values::Int64(Vec::new()))
        }
        SqlType::Timestamp => {
            let moment = LogicalType::timestamp(false, TimeUnit::MICROS);
            (PhysicalType::INT64, (Some(moment), None), Values::Int64(Vec::new()))
        }
        SqlType::Text(text) if text.character_set == CharacterSet::OCTETS => {
            (PhysicalType::BYTE_ARRAY, (None, None), Values::Bytes(Vec::new()))
        }
        SqlType::Blob { subtype, .. } if subtype != 1 => {
            (PhysicalType::BYTE_ARRAY, (None, None), Values::Bytes(Vec::new()))
        }
        // Times with a zone and DECFLOAT have no type there that keeps them: they are texts.
        _ => (PhysicalType::BYTE_ARRAY, (Some(LogicalType::String), None), Values::Bytes(Vec::new())),
    };
    let mut builder = Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical);
    if physical == PhysicalType::FIXED_LEN_BYTE_ARRAY {
        builder = builder.with_length(16);
    }
    if let Some((precision, scale)) = digits {
        builder = builder.with_precision(precision).with_scale(scale);
    }
    Ok((Arc::new(builder.build()?), values))
}
