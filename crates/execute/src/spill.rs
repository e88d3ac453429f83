//! Sorting more rows than memory should hold: sorted runs in temporary files, merged when they are read.
//!
//! Rows are sorted by a key of bytes; equal keys keep the order in which they came. Whatever goes through many rows looks
//! at the interrupt. Memory and files are charged to the statement.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use farbird_budget::{Reservation, StatementBudget};
use farbird_session::Interrupt;
use farbird_types::{Result, Value};

use crate::batch::Batch;
use crate::keyed_rows::KeyedRows;
use crate::row_stream::{RowReader, RowStream, StreamFile};

/// So many runs of one level are merged into one of the next, so that a row is written again a few times at most.
const RUNS_MAX: usize = 64;

/// Collects rows to be sorted.
pub(crate) struct Sorter {
    rows: KeyedRows,
    memory: Reservation,
    /// Sorted runs. Those of the first level come from memory, those of each further one from runs of the level before.
    levels: Vec<Level>,
    /// Of rows with equal keys only the first is kept.
    unique: bool,
}

/// Runs in one file, oldest first.
struct Level {
    file: StreamFile,
    runs: Vec<Arc<RowStream>>,
}

/// Rows in order.
pub(crate) struct Sorted {
    memory: KeyedRows,
    /// What the rows in memory are charged to: dropped with them.
    _reserved: Option<Reservation>,
    merge: Option<Merge>,
}

/// Runs being merged, with the rows in memory as the last of them.
struct Merge {
    runs: Vec<RowReader>,
    /// The next row of each.
    heads: BinaryHeap<Head>,
    unique: bool,
    latest: Option<Vec<u8>>,
}

struct Head {
    key: Vec<u8>,
    /// Which run it comes from: of equal keys the older one is first.
    run: usize,
    row: Vec<Value>,
}

impl Sorter {
    /// A sorter that is charged to a statement.
    pub(crate) fn new(unique: bool, budget: &Arc<StatementBudget>) -> Sorter {
        Sorter { rows: KeyedRows::default(), memory: budget.reserve(), levels: Vec::new(), unique }
    }

    /// Takes a row.
    ///
    /// # Errors
    /// Those of memory and temporary space that are used up; `io_error`; the interrupt's.
    pub(crate) fn push(
        &mut self,
        key: &[u8],
        row: impl IntoIterator<Item = Value>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let row = row.into_iter();
        let width = row.size_hint().0;
        if !self.memory.try_grow(self.rows.room(key.len(), width)) {
            self.spill(interrupt)?;
            self.memory.grow(self.rows.room(key.len(), width))?;
        }
        let texts = self.rows.push(key, row);
        if texts > 0 && !self.memory.try_grow(texts) {
            self.spill(interrupt)?;
        }
        Ok(())
    }

    /// Gives the rows in order.
    ///
    /// # Errors
    /// As [`Sorter::push`].
    pub(crate) fn finish(mut self, interrupt: &Interrupt) -> Result<Sorted> {
        self.sort(interrupt)?;
        let mut memory = self.rows;
        // Those that have been merged most often are the oldest.
        let runs = self.levels.iter().rev().flat_map(|level| &level.runs);
        let runs: Vec<RowReader> = runs.map(RowStream::read).collect();
        let merge = match runs.is_empty() {
            true => None,
            false => Some(Merge::start(runs, &mut memory, self.unique, interrupt)?),
        };
        Ok(Sorted { memory, _reserved: Some(self.memory), merge })
    }

    fn sort(&mut self, interrupt: &Interrupt) -> Result<()> {
        self.rows.sort(interrupt)?;
        if self.unique {
            self.rows.keep_first_of_equals();
        }
        Ok(())
    }

    /// Writes the rows in memory as a run.
    fn spill(&mut self, interrupt: &Interrupt) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        self.sort(interrupt)?;
        let mut rows = std::mem::take(&mut self.rows);
        self.add_run(0, || Ok(rows.next()), interrupt)?;
        drop(rows);
        self.memory.clear();
        let mut level = 0;
        while let Some(full) = self.levels.get_mut(level).filter(|level| level.runs.len() >= RUNS_MAX) {
            let runs = std::mem::take(&mut full.runs);
            // A new file for the next runs: this one goes with the runs in it.
            full.file = StreamFile::new(self.memory.budget())?;
            let readers = runs.iter().map(RowStream::read).collect();
            let mut nothing = KeyedRows::default();
            let mut merge = Merge::start(readers, &mut nothing, self.unique, interrupt)?;
            self.add_run(level + 1, || merge.next(&mut nothing, interrupt), interrupt)?;
            level += 1;
        }
        Ok(())
    }

    fn add_run(
        &mut self,
        level: usize,
        mut next: impl FnMut() -> Result<Option<(Vec<u8>, Vec<Value>)>>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        if self.levels.len() <= level {
            self.levels.push(Level { file: StreamFile::new(self.memory.budget())?, runs: Vec::new() });
        }
        let Some(level) = self.levels.get_mut(level) else { return Ok(()) };
        let mut run = level.file.writer();
        while let Some((key, row)) = next()? {
            interrupt.check()?;
            run.push(&key, &row)?;
        }
        level.runs.push(Arc::new(run.finish()?));
        Ok(())
    }
}

impl Sorted {
    /// No rows.
    pub(crate) fn empty() -> Sorted {
        Sorted { memory: KeyedRows::default(), _reserved: None, merge: None }
    }

    /// The next row with its key.
    ///
    /// # Errors
    /// `io_error` if a temporary file cannot be read; the interrupt's.
    pub(crate) fn next(&mut self, interrupt: &Interrupt) -> Result<Option<(Vec<u8>, Vec<Value>)>> {
        let row = match &mut self.merge {
            None => self.memory.next(),
            Some(merge) => merge.next(&mut self.memory, interrupt)?,
        };
        if row.is_none() {
            self.let_go();
        }
        Ok(row)
    }

    /// Appends the next rows to a batch until it is full.
    ///
    /// # Errors
    /// As [`Sorted::next`].
    pub(crate) fn hand_out(&mut self, batch: &mut Batch, interrupt: &Interrupt) -> Result<()> {
        if self.merge.is_none() {
            self.memory.hand_out(batch);
            if batch.is_empty() {
                self.let_go();
            }
            return Ok(());
        }
        while !batch.is_full() {
            let Some((_, row)) = self.next(interrupt)? else { break };
            batch.push(row);
        }
        Ok(())
    }

    /// All rows have been handed out: memory and files are for others.
    fn let_go(&mut self) {
        *self = Sorted::empty();
    }
}

impl Merge {
    fn start(
        runs: Vec<RowReader>,
        memory: &mut KeyedRows,
        unique: bool,
        interrupt: &Interrupt,
    ) -> Result<Merge> {
        let mut merge = Merge { runs, heads: BinaryHeap::new(), unique, latest: None };
        for run in 0..=merge.runs.len() {
            interrupt.check()?;
            let head = merge.read(run, memory)?;
            merge.heads.extend(head);
        }
        Ok(merge)
    }

    fn next(
        &mut self,
        memory: &mut KeyedRows,
        interrupt: &Interrupt,
    ) -> Result<Option<(Vec<u8>, Vec<Value>)>> {
        loop {
            interrupt.check()?;
            let Some(Head { key, run, row }) = self.heads.pop() else { return Ok(None) };
            let head = self.read(run, memory)?;
            self.heads.extend(head);
            if !self.unique {
                return Ok(Some((key, row)));
            }
            if self.latest.as_ref() != Some(&key) {
                self.latest = Some(key.clone());
                return Ok(Some((key, row)));
            }
        }
    }

    fn read(&mut self, run: usize, memory: &mut KeyedRows) -> Result<Option<Head>> {
        let row = match self.runs.get_mut(run) {
            Some(reader) => reader.next()?,
            None => memory.next(),
        };
        Ok(row.map(|(key, row)| Head { key, run, row }))
    }
}

impl Head {
    /// The first row is the greatest: that is the one on top of a heap.
    fn rank(&self, other: &Head) -> Ordering {
        (&other.key, other.run).cmp(&(&self.key, self.run))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.rank(other).is_eq()
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Head) -> Ordering {
        self.rank(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farbird_budget::{Account, Limits, Resource};

    fn sorted(numbers: impl IntoIterator<Item = u32>, unique: bool, memory: u64) -> Vec<(u32, Value)> {
        let interrupt = Interrupt::new();
        let server = Account::server(Limits { statement_memory: memory, ..Limits::default() });
        let budget = server.statement();
        let mut sorter = Sorter::new(unique, &budget);
        for (place, number) in (0i64..).zip(numbers) {
            let row = vec![Value::integer(place), Value::text("text")];
            sorter.push(&number.to_be_bytes(), row, &interrupt).unwrap();
        }
        let mut sorted = sorter.finish(&interrupt).unwrap();
        let mut rows = Vec::new();
        while let Some((key, row)) = sorted.next(&interrupt).unwrap() {
            assert_eq!(row[1], Value::text("text"));
            rows.push((u32::from_be_bytes(key.try_into().unwrap()), row[0].clone()));
        }
        assert_eq!(budget.usage(Resource::Memory).used, 0);
        assert_eq!(budget.usage(Resource::Temporary).used, 0);
        assert!(budget.usage(Resource::Memory).peak <= memory);
        assert_eq!(budget.usage(Resource::Temporary).peak > 0, memory < u64::MAX);
        rows
    }

    #[test]
    fn files_and_memory_give_the_same_order() {
        // Enough for runs of runs: each run has a few hundred rows.
        let numbers: Vec<u32> = (0..40_000u32).map(|n| n.wrapping_mul(2_654_435_761) % 700).collect();
        let in_memory = sorted(numbers.iter().copied(), false, u64::MAX);
        let in_files = sorted(numbers.iter().copied(), false, 100_000);
        assert!(in_memory == in_files);
        assert!(in_memory.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        assert_eq!(sorted(numbers, true, 100_000).len(), 700);
    }

    #[test]
    fn a_row_longer_than_the_memory_is_an_error() {
        let server = Account::server(Limits { statement_memory: 100_000, ..Limits::default() });
        let mut sorter = Sorter::new(false, &server.statement());
        let error = sorter.push(&[7; 200_000], [Value::Null], &Interrupt::new()).unwrap_err();
        assert!(error.has(farbird_types::isc::VIRMEMEXH));
    }
}
