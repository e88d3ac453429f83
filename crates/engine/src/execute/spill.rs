//! Sorting more rows than memory should hold: sorted runs in temporary files, merged when they are read.
//!
//! Rows are sorted by a key of bytes; equal keys keep the order in which they came. The files have no name and vanish
//! with the sorter, also when the process dies. Their format is nobody else's business and never outlives the process.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};

use farbird_types::decimal::Decimal;
use farbird_types::{
    BlobId, CharacterSet, Date, Error, Result, Text, Time, TimeTz, Timestamp, TimestampTz, Value, ZoneId, isc,
};

use crate::execute::batch::Batch;
use crate::execute::keyed_rows::KeyedRows;

/// Memory for the rows of one sort, in bytes.
pub const SORT_BYTES_MAX: usize = 64 << 20;

/// What [`KeyedRows`] can hold, with a long key or two on top.
const MEMORY_BYTES_MAX: usize = 1 << 31;

/// Most files of one sort: more are merged into one first.
const RUNS_MAX: usize = 64;

/// Longest key or text in a file: what the engine itself writes is far below.
const PIECE_BYTES_MAX: usize = 1 << 30;

/// Collects rows to be sorted.
pub(crate) struct Sorter {
    rows: KeyedRows,
    bytes: usize,
    bytes_max: usize,
    runs: Vec<Run>,
    /// Of rows with equal keys only the first is kept.
    unique: bool,
}

/// Rows in order.
pub(crate) struct Sorted {
    runs: Vec<Run>,
    memory: KeyedRows,
    /// If there are runs: the next row of each, then that of the memory.
    heads: Vec<Option<(Vec<u8>, Vec<Value>)>>,
    unique: bool,
    latest: Option<Vec<u8>>,
}

/// A file of sorted rows, being read.
struct Run {
    file: BufReader<File>,
    rows_left: u64,
}

impl Sorter {
    pub(crate) fn new(unique: bool) -> Sorter {
        Sorter::with_memory(unique, SORT_BYTES_MAX)
    }

    /// A sorter that keeps so many bytes in memory.
    pub(crate) fn with_memory(unique: bool, bytes_max: usize) -> Sorter {
        let bytes_max = bytes_max.min(MEMORY_BYTES_MAX);
        Sorter { rows: KeyedRows::default(), bytes: 0, bytes_max, runs: Vec::new(), unique }
    }

    /// Takes a row.
    ///
    /// # Errors
    /// `io_error` if a temporary file cannot be written.
    pub(crate) fn push(&mut self, key: &[u8], row: impl IntoIterator<Item = Value>) -> Result<()> {
        self.bytes += self.rows.push(key, row);
        if self.bytes > self.bytes_max {
            self.spill()?;
        }
        Ok(())
    }

    /// Gives the rows in order.
    ///
    /// # Errors
    /// As [`Sorter::push`].
    pub(crate) fn finish(mut self) -> Result<Sorted> {
        self.sort();
        let mut sorted = Sorted {
            runs: self.runs,
            memory: self.rows,
            heads: Vec::new(),
            unique: self.unique,
            latest: None,
        };
        if !sorted.runs.is_empty() {
            for place in 0..=sorted.runs.len() {
                let head = sorted.read(place)?;
                sorted.heads.push(head);
            }
        }
        Ok(sorted)
    }

    fn sort(&mut self) {
        self.rows.sort();
        if self.unique {
            self.rows.keep_first_of_equals();
        }
    }

    fn spill(&mut self) -> Result<()> {
        self.sort();
        let mut rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        self.runs.push(write_run(std::iter::from_fn(|| rows.next().map(Ok)))?);
        if self.runs.len() >= RUNS_MAX {
            let whole = Sorter {
                rows: KeyedRows::default(),
                bytes: 0,
                bytes_max: self.bytes_max,
                runs: std::mem::take(&mut self.runs),
                unique: self.unique,
            };
            let mut sorted = whole.finish()?;
            self.runs.push(write_run(std::iter::from_fn(|| sorted.next().transpose()))?);
        }
        Ok(())
    }
}

impl Sorted {
    /// No rows.
    pub(crate) fn empty() -> Sorted {
        Sorted {
            runs: Vec::new(),
            memory: KeyedRows::default(),
            heads: Vec::new(),
            unique: false,
            latest: None,
        }
    }

    /// The next row with its key.
    ///
    /// # Errors
    /// `io_error` if a temporary file cannot be read.
    pub(crate) fn next(&mut self) -> Result<Option<(Vec<u8>, Vec<Value>)>> {
        if self.runs.is_empty() {
            return Ok(self.memory.next());
        }
        loop {
            let mut least: Option<usize> = None;
            for (place, head) in self.heads.iter().enumerate() {
                let Some((key, _)) = head else { continue };
                let better = match least.and_then(|least| self.heads.get(least)) {
                    Some(Some((best, _))) => key < best,
                    _ => true,
                };
                if better {
                    least = Some(place);
                }
            }
            let Some(place) = least else { return Ok(None) };
            let next = self.read(place)?;
            let Some(head) = self.heads.get_mut(place) else { return Ok(None) };
            let Some((key, row)) = std::mem::replace(head, next) else { return Ok(None) };
            if !self.unique {
                return Ok(Some((key, row)));
            }
            if self.latest.as_ref() != Some(&key) {
                self.latest = Some(key.clone());
                return Ok(Some((key, row)));
            }
        }
    }

    /// Appends the next rows to a batch until it is full.
    ///
    /// # Errors
    /// As [`Sorted::next`].
    pub(crate) fn hand_out(&mut self, batch: &mut Batch) -> Result<()> {
        if self.runs.is_empty() {
            self.memory.hand_out(batch);
            return Ok(());
        }
        while !batch.is_full() {
            let Some((_, row)) = self.next()? else { break };
            batch.push(row);
        }
        Ok(())
    }

    fn read(&mut self, place: usize) -> Result<Option<(Vec<u8>, Vec<Value>)>> {
        match self.runs.get_mut(place) {
            Some(run) => run.next().map_err(io_error),
            None => Ok(self.memory.next()),
        }
    }
}

impl Run {
    fn next(&mut self) -> std::io::Result<Option<(Vec<u8>, Vec<Value>)>> {
        if self.rows_left == 0 {
            return Ok(None);
        }
        self.rows_left -= 1;
        let key = read_bytes(&mut self.file)?;
        let width = read_length(&mut self.file)?;
        let mut row = Vec::new();
        for _ in 0..width {
            row.push(read_value(&mut self.file)?);
        }
        Ok(Some((key, row)))
    }
}

fn io_error(error: std::io::Error) -> Error {
    Error::new(isc::IO_ERROR).with("temporary file").with("sort").and(isc::RANDOM).with(error.to_string())
}

fn write_run(rows: impl Iterator<Item = Result<(Vec<u8>, Vec<Value>)>>) -> Result<Run> {
    let mut file = BufWriter::new(tempfile::tempfile().map_err(io_error)?);
    let mut count = 0;
    for row in rows {
        let (key, row) = row?;
        write_row(&mut file, &key, &row).map_err(io_error)?;
        count += 1;
    }
    let mut file = file.into_inner().map_err(|error| io_error(error.into_error()))?;
    file.seek(SeekFrom::Start(0)).map_err(io_error)?;
    Ok(Run { file: BufReader::new(file), rows_left: count })
}

fn write_row(file: &mut impl Write, key: &[u8], row: &[Value]) -> std::io::Result<()> {
    write_bytes(file, key)?;
    write_length(file, row.len())?;
    row.iter().try_for_each(|value| write_value(file, value))
}

fn write_length(file: &mut impl Write, length: usize) -> std::io::Result<()> {
    let length = u32::try_from(length).map_err(std::io::Error::other)?;
    file.write_all(&length.to_le_bytes())
}

fn read_length(file: &mut impl Read) -> std::io::Result<usize> {
    let length = usize::try_from(u32::from_le_bytes(read_array(file)?)).map_err(std::io::Error::other)?;
    if length > PIECE_BYTES_MAX { Err(damaged()) } else { Ok(length) }
}

fn write_bytes(file: &mut impl Write, bytes: &[u8]) -> std::io::Result<()> {
    write_length(file, bytes.len())?;
    file.write_all(bytes)
}

fn read_bytes(file: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; read_length(file)?];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn read_array<const N: usize>(file: &mut impl Read) -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn damaged() -> std::io::Error {
    std::io::Error::other("a temporary file is damaged")
}

fn write_value(file: &mut impl Write, value: &Value) -> std::io::Result<()> {
    match value {
        Value::Null => file.write_all(&[0]),
        Value::Boolean(truth) => file.write_all(&[1, u8::from(*truth)]),
        Value::Integer { unscaled, scale } => {
            file.write_all(&[2])?;
            file.write_all(&scale.to_le_bytes())?;
            file.write_all(&unscaled.to_le_bytes())
        }
        Value::Int128 { unscaled, scale } => {
            file.write_all(&[3])?;
            file.write_all(&scale.to_le_bytes())?;
            file.write_all(&unscaled.to_le_bytes())
        }
        Value::Float(number) => {
            file.write_all(&[4])?;
            file.write_all(&number.to_le_bytes())
        }
        Value::Double(number) => {
            file.write_all(&[5])?;
            file.write_all(&number.to_le_bytes())
        }
        Value::DecFloat(number) => {
            file.write_all(&[6])?;
            file.write_all(&number.0.to_le_bytes())
        }
        Value::Date(date) => {
            file.write_all(&[7])?;
            file.write_all(&date.0.to_le_bytes())
        }
        Value::Time(time) => {
            file.write_all(&[8])?;
            file.write_all(&time.0.to_le_bytes())
        }
        Value::Timestamp(timestamp) => {
            file.write_all(&[9])?;
            write_timestamp(file, timestamp)
        }
        Value::TimeTz(time) => {
            file.write_all(&[10])?;
            file.write_all(&time.utc.0.to_le_bytes())?;
            file.write_all(&time.zone.0.to_le_bytes())
        }
        Value::TimestampTz(timestamp) => {
            file.write_all(&[11])?;
            write_timestamp(file, &timestamp.utc)?;
            file.write_all(&timestamp.zone.0.to_le_bytes())
        }
        Value::Text(text) => {
            file.write_all(&[12, text.character_set().0])?;
            write_bytes(file, text.bytes())
        }
        Value::Blob(id) => {
            file.write_all(&[13])?;
            file.write_all(&id.0.to_le_bytes())
        }
    }
}

fn write_timestamp(file: &mut impl Write, timestamp: &Timestamp) -> std::io::Result<()> {
    file.write_all(&timestamp.date.0.to_le_bytes())?;
    file.write_all(&timestamp.time.0.to_le_bytes())
}

fn read_timestamp(file: &mut impl Read) -> std::io::Result<Timestamp> {
    let date = Date(i32::from_le_bytes(read_array(file)?));
    Ok(Timestamp { date, time: Time(u32::from_le_bytes(read_array(file)?)) })
}

fn read_value(file: &mut impl Read) -> std::io::Result<Value> {
    let [tag] = read_array(file)?;
    Ok(match tag {
        0 => Value::Null,
        1 => Value::Boolean(read_array::<1>(file)? != [0]),
        2 => {
            let scale = i8::from_le_bytes(read_array(file)?);
            Value::Integer { unscaled: i64::from_le_bytes(read_array(file)?), scale }
        }
        3 => {
            let scale = i8::from_le_bytes(read_array(file)?);
            Value::Int128 { unscaled: i128::from_le_bytes(read_array(file)?), scale }
        }
        4 => Value::Float(f32::from_le_bytes(read_array(file)?)),
        5 => Value::Double(f64::from_le_bytes(read_array(file)?)),
        6 => Value::DecFloat(Decimal(u128::from_le_bytes(read_array(file)?))),
        7 => Value::Date(Date(i32::from_le_bytes(read_array(file)?))),
        8 => Value::Time(Time(u32::from_le_bytes(read_array(file)?))),
        9 => Value::Timestamp(read_timestamp(file)?),
        10 => {
            let utc = Time(u32::from_le_bytes(read_array(file)?));
            Value::TimeTz(TimeTz { utc, zone: ZoneId(u16::from_le_bytes(read_array(file)?)) })
        }
        11 => {
            let utc = read_timestamp(file)?;
            Value::TimestampTz(TimestampTz { utc, zone: ZoneId(u16::from_le_bytes(read_array(file)?)) })
        }
        12 => {
            let [character_set] = read_array(file)?;
            Value::Text(Text::new(read_bytes(file)?, CharacterSet(character_set)))
        }
        13 => Value::Blob(BlobId(u64::from_le_bytes(read_array(file)?))),
        _ => return Err(damaged()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(numbers: impl IntoIterator<Item = u32>, unique: bool, memory: usize) -> Vec<(u32, Value)> {
        let mut sorter = Sorter::with_memory(unique, memory);
        for (place, number) in (0i64..).zip(numbers) {
            let row = vec![Value::integer(place), Value::text("text")];
            sorter.push(&number.to_be_bytes(), row).unwrap();
        }
        let mut sorted = sorter.finish().unwrap();
        let mut rows = Vec::new();
        while let Some((key, row)) = sorted.next().unwrap() {
            assert_eq!(row[1], Value::text("text"));
            rows.push((u32::from_be_bytes(key.try_into().unwrap()), row[0].clone()));
        }
        rows
    }

    #[test]
    fn files_and_memory_give_the_same_order() {
        let numbers: Vec<u32> = (0..5_000u32).map(|n| n.wrapping_mul(2_654_435_761) % 700).collect();
        let in_memory = sorted(numbers.iter().copied(), false, usize::MAX);
        let in_files = sorted(numbers.iter().copied(), false, 2_000);
        assert_eq!(in_memory, in_files);
        assert!(in_memory.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        assert_eq!(sorted(numbers, true, 2_000).len(), 700);
    }

    #[test]
    fn every_kind_of_value_survives_a_file() {
        let values = [
            Value::Null,
            Value::Boolean(true),
            Value::Integer { unscaled: -5, scale: -2 },
            Value::Int128 { unscaled: i128::MIN, scale: -3 },
            Value::Float(1.5),
            Value::Double(-2.5),
            Value::DecFloat(Decimal(7)),
            Value::Date(Date(1)),
            Value::Time(Time(2)),
            Value::Timestamp(Timestamp { date: Date(3), time: Time(4) }),
            Value::TimeTz(TimeTz { utc: Time(5), zone: ZoneId(6) }),
            Value::TimestampTz(TimestampTz {
                utc: Timestamp { date: Date(7), time: Time(8) },
                zone: ZoneId(9),
            }),
            Value::text("ä"),
            Value::Blob(BlobId(10)),
        ];
        let mut bytes = Vec::new();
        values.iter().try_for_each(|value| write_value(&mut bytes, value)).unwrap();
        let mut reader = bytes.as_slice();
        for value in &values {
            assert_eq!(read_value(&mut reader).unwrap(), *value);
        }
        assert!(reader.is_empty());
    }
}
