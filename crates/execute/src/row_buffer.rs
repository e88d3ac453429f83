//! Rows that are kept for later, read in order or by number: in memory while the statement's budget allows it, the others
//! in a temporary file.
//!
//! Used for RETURNING of many rows, for cursors that scroll and for partitions of windows.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use farbird_budget::{Reservation, StatementBudget, TemporaryFile, row_bytes};
use farbird_types::{Result, Value};

use crate::row_codec::{append_row, take_row};

/// What is written to the file, and read back, at a time.
const PAGE_BYTES: usize = 16 << 10;

/// Pages of the file that are kept decoded: some functions look at two or three places by turns.
const PAGES_AT_HAND: usize = 4;

/// Rows by number.
pub struct RowBuffer {
    /// The first rows.
    rows: Vec<Vec<Value>>,
    memory: Reservation,
    /// In a cell, since reading a file changes it.
    spilled: Option<Box<RefCell<Spilled>>>,
}

/// The rows for which there was no memory.
struct Spilled {
    file: TemporaryFile,
    /// The pages in the file.
    pages: Vec<Page>,
    /// Rows behind those, encoded.
    tail: Vec<u8>,
    tail_rows: usize,
    /// How many rows the pages have.
    rows_in_pages: usize,
    /// The pages that were read last, and their rows; the latest one first.
    at_hand: Vec<(usize, Vec<Vec<Value>>)>,
}

struct Page {
    place: u64,
    bytes: usize,
    /// Number of its first row among the spilled ones.
    first: usize,
}

/// The rows of a buffer, one after the other.
pub struct BufferedRows {
    rows: std::vec::IntoIter<Vec<Value>>,
    spilled: Option<Box<Spilled>>,
    /// How many of the spilled ones have been given.
    taken: usize,
    /// What the rows in memory are charged to: dropped with them.
    _memory: Option<Reservation>,
}

impl RowBuffer {
    /// No rows; those to come are charged to a statement.
    pub fn new(budget: &Arc<StatementBudget>) -> RowBuffer {
        RowBuffer { rows: Vec::new(), memory: budget.reserve(), spilled: None }
    }

    /// Appends a row.
    ///
    /// # Errors
    /// Those of temporary space that is used up; `io_error`.
    pub fn push(&mut self, row: Vec<Value>) -> Result<()> {
        if self.spilled.is_none() && self.memory.try_grow(row_bytes(&row)) {
            self.rows.push(row);
            return Ok(());
        }
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            none => {
                let file = self.memory.budget().temporary_file()?;
                none.insert(Box::new(RefCell::new(Spilled::new(file))))
            }
        };
        spilled.get_mut().push(&row)
    }

    /// How many rows there are.
    pub fn row_count(&self) -> usize {
        self.rows.len() + self.spilled.as_ref().map_or(0, |spilled| spilled.borrow().len())
    }

    /// The row with a number, from 0.
    ///
    /// # Errors
    /// `io_error` if the file cannot be read.
    pub fn get(&self, number: usize) -> Result<Option<Cow<'_, [Value]>>> {
        if let Some(row) = self.rows.get(number) {
            return Ok(Some(Cow::Borrowed(row)));
        }
        match &self.spilled {
            Some(spilled) => Ok(spilled.borrow_mut().get(number - self.rows.len())?.map(Cow::Owned)),
            None => Ok(None),
        }
    }

    /// Gives the rows away.
    pub fn into_rows(self) -> BufferedRows {
        BufferedRows {
            rows: self.rows.into_iter(),
            spilled: self.spilled.map(|spilled| Box::new(spilled.into_inner())),
            taken: 0,
            _memory: Some(self.memory),
        }
    }
}

impl BufferedRows {
    /// The next row.
    ///
    /// # Errors
    /// `io_error` if the file cannot be read.
    pub fn next_row(&mut self) -> Result<Option<Vec<Value>>> {
        if let Some(row) = self.rows.next() {
            return Ok(Some(row));
        }
        let Some(spilled) = &mut self.spilled else { return Ok(None) };
        self.taken += 1;
        spilled.get(self.taken - 1)
    }
}

impl From<Vec<Vec<Value>>> for BufferedRows {
    fn from(rows: Vec<Vec<Value>>) -> BufferedRows {
        BufferedRows { rows: rows.into_iter(), spilled: None, taken: 0, _memory: None }
    }
}

impl Spilled {
    fn new(file: TemporaryFile) -> Spilled {
        Spilled {
            file,
            pages: Vec::new(),
            tail: Vec::new(),
            tail_rows: 0,
            rows_in_pages: 0,
            at_hand: Vec::new(),
        }
    }

    fn len(&self) -> usize {
        self.rows_in_pages + self.tail_rows
    }

    fn push(&mut self, row: &[Value]) -> Result<()> {
        append_row(row, &mut self.tail);
        self.tail_rows += 1;
        if self.tail.len() >= PAGE_BYTES {
            let place = self.file.append(&self.tail)?;
            self.pages.push(Page { place, bytes: self.tail.len(), first: self.rows_in_pages });
            self.rows_in_pages += self.tail_rows;
            self.tail_rows = 0;
            self.tail.clear();
            self.tail.shrink_to(2 * PAGE_BYTES);
        }
        Ok(())
    }

    fn get(&mut self, number: usize) -> Result<Option<Vec<Value>>> {
        if number >= self.len() {
            return Ok(None);
        }
        // The tail counts as the page behind the last one, and is never at hand: it still grows.
        if let Some(number) = number.checked_sub(self.rows_in_pages) {
            return Ok(decoded(&self.tail)?.into_iter().nth(number));
        }
        let page = self.pages.partition_point(|page| page.first <= number) - 1;
        let Some(Page { place, bytes, first }) = self.pages.get(page) else { return Ok(None) };
        match self.at_hand.iter().position(|(at_hand, _)| *at_hand == page) {
            Some(known) => self.at_hand.get_mut(..=known).unwrap_or_default().rotate_right(1),
            None => {
                let mut read = vec![0; *bytes];
                self.file.read_at(*place, &mut read)?;
                self.at_hand.truncate(PAGES_AT_HAND - 1);
                self.at_hand.insert(0, (page, decoded(&read)?));
            }
        }
        Ok(self.at_hand.first().and_then(|(_, rows)| rows.get(number - first)).cloned())
    }
}

/// The rows of a page.
fn decoded(mut bytes: &[u8]) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    while !bytes.is_empty() {
        rows.push(take_row(&mut bytes)?);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farbird_budget::{Account, Limits, Resource};

    fn row(number: usize) -> Vec<Value> {
        vec![Value::integer(number as i64), Value::text(&"x".repeat(number % 300))]
    }

    #[test]
    fn rows_are_found_by_number_while_more_come() {
        let server = Account::server(Limits { statement_memory: 200_000, ..Limits::default() });
        let budget = server.statement();
        let mut buffer = RowBuffer::new(&budget);
        for number in 0..3_000 {
            buffer.push(row(number)).unwrap();
            for earlier in [number, number / 2, number.saturating_sub(150)] {
                assert_eq!(buffer.get(earlier).unwrap().as_deref(), Some(&row(earlier)[..]));
            }
            assert_eq!(buffer.get(number + 1).unwrap(), None);
        }
        assert_eq!(buffer.row_count(), 3_000);
        assert!(budget.usage(Resource::Temporary).used > 0);
        let mut rows = buffer.into_rows();
        for number in 0..3_000 {
            assert_eq!(rows.next_row().unwrap(), Some(row(number)));
        }
        assert_eq!(rows.next_row().unwrap(), None);
        drop(rows);
        assert_eq!(budget.usage(Resource::Temporary).used, 0);
        assert_eq!(budget.usage(Resource::Memory).used, 0);
    }
}
