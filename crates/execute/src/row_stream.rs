//! Rows with keys, written to a temporary file one after the other and read in the same order.
//!
//! Several streams may share a file: each hands over what it has collected when its buffer is full, and remembers where
//! that stands. The file's space is given back when the last of its streams is dropped.

use std::ops::Range;
use std::sync::Arc;

use farbird_budget::{StatementBudget, TemporaryFile};
use farbird_types::{Result, Value};
use farbird_vector::Vectors;
use parking_lot::Mutex;

use crate::row_codec::{append_bytes, append_row, append_row_of, damaged, take_bytes, take_row};

/// What a stream collects before it writes, and reads at a time.
const BUFFER_BYTES: usize = 16 << 10;

/// Bytes of the length in front of a record.
const LENGTH_BYTES: usize = size_of::<u32>();

/// A file that streams share.
#[derive(Clone)]
pub(crate) struct StreamFile {
    file: Arc<Mutex<TemporaryFile>>,
}

/// A part of a file.
#[derive(Clone, Copy)]
struct Extent {
    place: u64,
    bytes: u64,
}

/// Rows being written.
pub(crate) struct RowWriter {
    file: StreamFile,
    buffer: Vec<u8>,
    extents: Vec<Extent>,
    rows: u64,
}

/// Rows that have been written: may be read any number of times.
pub(crate) struct RowStream {
    file: StreamFile,
    extents: Vec<Extent>,
    rows: u64,
}

/// Reads the rows of a stream in order.
pub(crate) struct RowReader {
    stream: Arc<RowStream>,
    /// The extent that is read, and how much of it has been read.
    extent: usize,
    taken: u64,
    buffer: Vec<u8>,
    /// Where the next record begins in the buffer.
    next: usize,
    rows_left: u64,
    /// Where the latest one stands there: its key, and its row.
    key: Range<usize>,
    row: Range<usize>,
}

impl StreamFile {
    /// A new file.
    ///
    /// # Errors
    /// `io_error` if it cannot be made.
    pub(crate) fn new(budget: &Arc<StatementBudget>) -> Result<StreamFile> {
        Ok(StreamFile { file: Arc::new(Mutex::new(budget.temporary_file()?)) })
    }

    /// A new stream in it.
    pub(crate) fn writer(&self) -> RowWriter {
        RowWriter { file: self.clone(), buffer: Vec::new(), extents: Vec::new(), rows: 0 }
    }
}

impl RowWriter {
    /// Appends a row.
    ///
    /// # Errors
    /// As [`TemporaryFile::append`].
    pub(crate) fn push(&mut self, key: &[u8], row: &[Value]) -> Result<()> {
        self.push_with(key, |buffer| append_row(row, buffer))
    }

    /// Appends a row of some that are by columns.
    ///
    /// # Errors
    /// As [`RowWriter::push`].
    pub(crate) fn push_of(&mut self, key: &[u8], rows: &Vectors, row: usize) -> Result<()> {
        self.push_with(key, |buffer| append_row_of(rows, row, buffer))
    }

    /// Appends a row as it was read.
    ///
    /// # Errors
    /// As [`RowWriter::push`].
    pub(crate) fn push_encoded(&mut self, key: &[u8], row: &[u8]) -> Result<()> {
        self.push_with(key, |buffer| buffer.extend_from_slice(row))
    }

    fn push_with(&mut self, key: &[u8], append_row: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let start = self.buffer.len();
        self.buffer.extend([0; LENGTH_BYTES]);
        append_bytes(key, &mut self.buffer);
        append_row(&mut self.buffer);
        let length = self.buffer.len() - start - LENGTH_BYTES;
        let length = u32::try_from(length).map_err(|_| damaged())?.to_le_bytes();
        if let Some(place) = self.buffer.get_mut(start..start + LENGTH_BYTES) {
            place.copy_from_slice(&length);
        }
        self.rows += 1;
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// As [`RowWriter::push`].
    pub(crate) fn finish(mut self) -> Result<RowStream> {
        self.flush()?;
        Ok(RowStream { file: self.file, extents: self.extents, rows: self.rows })
    }

    fn flush(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let bytes = self.buffer.len() as u64;
        let place = self.file.file.lock().append(&self.buffer)?;
        match self.extents.last_mut() {
            Some(last) if last.place + last.bytes == place => last.bytes += bytes,
            _ => self.extents.push(Extent { place, bytes }),
        }
        self.buffer.clear();
        // One long row must not keep its room for all that follow.
        self.buffer.shrink_to(2 * BUFFER_BYTES);
        Ok(())
    }
}

impl RowStream {
    /// How many rows there are.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Reads them from the first one on.
    pub(crate) fn read(self: &Arc<Self>) -> RowReader {
        RowReader {
            stream: Arc::clone(self),
            extent: 0,
            taken: 0,
            buffer: Vec::new(),
            next: 0,
            rows_left: self.rows,
            key: 0..0,
            row: 0..0,
        }
    }
}

impl RowReader {
    /// The next row with its key.
    ///
    /// # Errors
    /// `io_error` if the file cannot be read.
    pub(crate) fn next(&mut self) -> Result<Option<(Vec<u8>, Vec<Value>)>> {
        if !self.advance()? {
            return Ok(None);
        }
        Ok(Some((self.key().to_vec(), take_row(&mut self.row())?)))
    }

    /// Goes on to the next row; false if there is none.
    ///
    /// # Errors
    /// `io_error` if the file cannot be read.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        if self.rows_left == 0 {
            return Ok(false);
        }
        self.rows_left -= 1;
        let length = self.ahead(LENGTH_BYTES)?.first_chunk().map(|length| u32::from_le_bytes(*length));
        self.next += LENGTH_BYTES;
        let length = usize::try_from(length.ok_or_else(damaged)?).map_err(|_| damaged())?;
        let mut record = self.ahead(length)?;
        let key = take_bytes(&mut record)?.len();
        let row = record.len();
        self.next += length;
        self.row = self.next - row..self.next;
        self.key = self.row.start - key..self.row.start;
        Ok(true)
    }

    /// The key of the row that it has gone on to.
    pub(crate) fn key(&self) -> &[u8] {
        self.buffer.get(self.key.clone()).unwrap_or_default()
    }

    /// That row, as it was encoded.
    pub(crate) fn row(&self) -> &[u8] {
        self.buffer.get(self.row.clone()).unwrap_or_default()
    }

    /// The next bytes, read from the file as far as they are not in the buffer.
    fn ahead(&mut self, bytes: usize) -> Result<&[u8]> {
        while self.buffer.len() - self.next < bytes {
            self.buffer.drain(..self.next);
            self.next = 0;
            self.buffer.shrink_to(bytes.max(2 * BUFFER_BYTES));
            self.fill()?;
        }
        self.buffer.get(self.next..self.next + bytes).ok_or_else(damaged)
    }

    fn fill(&mut self) -> Result<()> {
        let extent = self.stream.extents.get(self.extent).copied().ok_or_else(damaged)?;
        let bytes = (extent.bytes - self.taken).min(BUFFER_BYTES as u64);
        let start = self.buffer.len();
        self.buffer.resize(start + usize::try_from(bytes).map_err(|_| damaged())?, 0);
        let target = self.buffer.get_mut(start..).unwrap_or_default();
        self.stream.file.file.lock().read_at(extent.place + self.taken, target)?;
        self.taken += bytes;
        if self.taken == extent.bytes {
            self.extent += 1;
            self.taken = 0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_in_one_file_keep_their_own_rows() {
        let budget = StatementBudget::alone();
        let file = StreamFile::new(&budget).unwrap();
        let mut writers: Vec<RowWriter> = (0..3).map(|_| file.writer()).collect();
        // Some rows are longer than a buffer.
        let row = |number: usize| {
            let text = "x".repeat(number % 7 * 5_000);
            vec![Value::integer(number as i64), Value::text(&text)]
        };
        for number in 0..300 {
            writers[number % 3].push(&number.to_le_bytes(), &row(number)).unwrap();
        }
        drop(file);
        for (first, writer) in writers.into_iter().enumerate() {
            let stream = Arc::new(writer.finish().unwrap());
            assert_eq!(stream.rows(), 100);
            for _ in 0..2 {
                let mut reader = stream.read();
                for number in (first..300).step_by(3) {
                    let (key, found) = reader.next().unwrap().unwrap();
                    assert_eq!((key.as_slice(), found), (number.to_le_bytes().as_slice(), row(number)));
                }
                assert!(reader.next().unwrap().is_none());
            }
        }
        assert_eq!(budget.usage(farbird_budget::Resource::Temporary).used, 0);
    }
}
