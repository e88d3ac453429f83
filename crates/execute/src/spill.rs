//! Sorting more rows than memory should hold: sorted runs in temporary files, merged when they are read.
//!
//! Rows are sorted by a key of bytes; equal keys keep the order in which they came. In memory they are rows or columns
//! ([`RowsInMemory`]), in files rows. Whatever goes through many rows looks at the interrupt. Memory and files are charged to the
//! statement.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;

use farbird_budget::{HelpingThread, Reservation, StatementBudget};
use farbird_session::Interrupt;
use farbird_types::{Result, Value};
use farbird_vector::Vectors;

use crate::batch::{BATCH_ROWS_MAX, Batch};
use crate::keyed_columns::{KeyedColumns, PUSHED_ROWS_MAX};
use crate::keyed_rows::KeyedRows;
use crate::row_stream::{RowReader, RowStream, StreamFile};
use crate::rows_in_memory::RowsInMemory;
use crate::sort_keys::KeyBytes;

/// So many runs of one level are merged into one of the next, so that a row is written again a few times at most.
const RUNS_MAX: usize = 64;

/// Fewer rows are sorted before other threads would have begun.
const THREADED_ROWS_MIN: usize = 1 << 15;
/// Of so many more rows than are wanted the first ones are picked out.
const SURPLUS_ROWS: usize = 1 << 14;

/// Collects rows to be sorted.
pub(crate) struct Sorter<M = KeyedRows> {
    rows: M,
    memory: Reservation,
    /// Sorted runs. Those of the first level come from memory, those of each further one from runs of the level before.
    levels: Vec<Level>,
    /// Of rows with equal keys only the first is kept.
    unique: bool,
    /// So many rows will be asked for at most.
    rows_max: usize,
    /// The key of the last row of so many: others must come before it.
    bound: Option<Vec<u8>>,
    /// How many threads may sort, the statement's own included.
    workers: usize,
}

/// Runs in one file, oldest first.
struct Level {
    file: StreamFile,
    runs: Vec<Arc<RowStream>>,
}

/// Rows in order.
pub(crate) struct Sorted<M = KeyedRows> {
    memory: M,
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

impl Sorter<KeyedRows> {
    /// A sorter of rows that is charged to a statement.
    pub(crate) fn new(unique: bool, budget: &Arc<StatementBudget>) -> Sorter {
        Sorter::of(unique, budget)
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
}

impl Sorter<KeyedColumns> {
    /// A sorter of columns that is charged to a statement, of which so many rows will be asked for at most; so many threads
    /// may sort them.
    pub(crate) fn by_columns(
        unique: bool,
        rows_max: usize,
        workers: usize,
        budget: &Arc<StatementBudget>,
    ) -> Sorter<KeyedColumns> {
        Sorter { rows_max, workers, ..Sorter::of(unique, budget) }
    }

    /// Takes rows with their keys.
    ///
    /// # Errors
    /// As [`Sorter::push`].
    pub(crate) fn push_columns(
        &mut self,
        rows: Vectors,
        keys: KeyBytes,
        interrupt: &Interrupt,
    ) -> Result<()> {
        interrupt.check()?;
        let count = rows.len() as u32;
        if let Some(bound) = &self.bound {
            let places: Vec<u32> =
                (0..count).filter(|row| keys.get(*row as usize) < bound.as_slice()).collect();
            if places.len() < rows.len() {
                let (rows, keys) = (rows.gather(&places), keys.gather(&places));
                return self.push_all(rows, keys, interrupt);
            }
        }
        self.push_all(rows, keys, interrupt)
    }

    fn push_all(&mut self, rows: Vectors, keys: KeyBytes, interrupt: &Interrupt) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let room = self.rows.room(&rows, &keys);
        let has_room = rows.len() <= PUSHED_ROWS_MAX
            && (self.memory.try_grow(room) || {
                self.spill(interrupt)?;
                self.memory.try_grow(room)
            });
        if !has_room && rows.len() > 1 {
            let count = rows.len() as u32;
            for places in [0..count / 2, count / 2..count] {
                let places: Vec<u32> = places.collect();
                self.push_all(rows.gather(&places), keys.gather(&places), interrupt)?;
            }
            return Ok(());
        }
        if !has_room {
            self.memory.grow(room)?;
        }
        self.rows.push(rows, keys);
        self.release_surplus();
        if self.rows.len() / 2 > self.rows_max.saturating_add(SURPLUS_ROWS / 2) {
            self.keep_first(interrupt)?;
        }
        Ok(())
    }

    /// Keeps the first of the rows in memory, as many as will be asked for; writes them as a run if there is no memory for a copy.
    fn keep_first(&mut self, interrupt: &Interrupt) -> Result<()> {
        self.sort(interrupt)?;
        if self.rows.len() == self.rows_max {
            self.bound = self.rows.last_key().map(<[u8]>::to_vec);
        }
        if !self.memory.try_grow(self.rows.room_to_keep_first(self.rows_max)) {
            return self.write_run(interrupt);
        }
        self.rows.keep_first(self.rows_max);
        self.release_surplus();
        Ok(())
    }

    /// Gives back what the rows have been given room for and did not take.
    fn release_surplus(&mut self) {
        self.memory.shrink(self.memory.bytes().saturating_sub(self.rows.size_bytes()));
    }
}

impl<M: RowsInMemory> Sorter<M> {
    fn of(unique: bool, budget: &Arc<StatementBudget>) -> Sorter<M> {
        Sorter {
            rows: M::none(unique),
            memory: budget.reserve(),
            levels: Vec::new(),
            unique,
            rows_max: usize::MAX,
            bound: None,
            workers: 1,
        }
    }

    /// As [`Sorter::finish`], for one who keeps what he takes: if not all rows have room in memory he has all of it.
    ///
    /// # Errors
    /// As [`Sorter::push`].
    pub(crate) fn finish_for_keeping(mut self, interrupt: &Interrupt) -> Result<Sorted<M>> {
        if !self.levels.is_empty() {
            self.spill(interrupt)?;
        }
        self.finish(interrupt)
    }

    /// Gives the rows in order.
    ///
    /// # Errors
    /// As [`Sorter::push`].
    pub(crate) fn finish(mut self, interrupt: &Interrupt) -> Result<Sorted<M>> {
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
        let permits = helping_threads(self.rows.len(), self.workers, self.memory.budget());
        self.rows.sort(permits.len(), interrupt)?;
        if self.unique {
            self.rows.keep_first_of_equals();
        }
        self.rows.truncate(self.rows_max);
        Ok(())
    }

    /// Writes the rows in memory as a run.
    fn spill(&mut self, interrupt: &Interrupt) -> Result<()> {
        if self.rows.len() == 0 {
            return Ok(());
        }
        self.sort(interrupt)?;
        self.write_run(interrupt)
    }

    /// Writes the rows in memory, which are in order, as a run.
    fn write_run(&mut self, interrupt: &Interrupt) -> Result<()> {
        let mut rows = std::mem::replace(&mut self.rows, M::none(self.unique));
        self.add_run(0, || Ok(rows.next()), interrupt)?;
        drop(rows);
        self.memory.clear();
        let mut level = 0;
        while let Some(full) = self.levels.get_mut(level).filter(|level| level.runs.len() >= RUNS_MAX) {
            let runs = std::mem::take(&mut full.runs);
            // A new file for the next runs: this one goes with the runs in it.
            full.file = StreamFile::new(self.memory.budget())?;
            let readers = runs.iter().map(RowStream::read).collect();
            let mut nothing = M::none(false);
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

impl Sorted<KeyedColumns> {
    /// The values of the next row; its key takes the place of what is in `key`.
    ///
    /// # Errors
    /// As [`Sorted::next`].
    pub(crate) fn next_with(
        &mut self,
        key: &mut Vec<u8>,
        interrupt: &Interrupt,
    ) -> Result<Option<Vec<Value>>> {
        if self.merge.is_none()
            && let Some(row) = self.memory.next_with(key)
        {
            return Ok(Some(row));
        }
        Ok(self.next(interrupt)?.map(|(next_key, row)| {
            *key = next_key;
            row
        }))
    }

    /// The next rows by columns, those of `wanted`, so many at most; none at the end.
    ///
    /// # Errors
    /// As [`Sorted::next`].
    pub(crate) fn take(
        &mut self,
        rows_max: usize,
        wanted: &[bool],
        interrupt: &Interrupt,
    ) -> Result<Vectors> {
        if self.merge.is_none() {
            let rows = self.memory.take(rows_max);
            if rows.is_empty() {
                self.let_go();
            }
            return Ok(rows);
        }
        let mut batch = Batch::new(wanted.len(), rows_max.min(BATCH_ROWS_MAX));
        self.hand_out(&mut batch, interrupt)?;
        Ok(Vectors::of_rows(batch.len(), batch.values(), wanted))
    }
}

impl<M: RowsInMemory> Sorted<M> {
    /// No rows.
    pub(crate) fn empty() -> Sorted<M> {
        Sorted { memory: M::none(false), _reserved: None, merge: None }
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
        memory: &mut impl RowsInMemory,
        unique: bool,
        interrupt: &Interrupt,
    ) -> Result<Merge> {
        let mut merge = Merge { runs, heads: BinaryHeap::new(), unique, latest: None };
        for run in 0..=merge.runs.len() {
            interrupt.check()?;
            let head = read(&mut merge.runs, run, memory)?;
            merge.heads.extend(head);
        }
        Ok(merge)
    }

    fn next(
        &mut self,
        memory: &mut impl RowsInMemory,
        interrupt: &Interrupt,
    ) -> Result<Option<(Vec<u8>, Vec<Value>)>> {
        loop {
            interrupt.check()?;
            let Some(mut top) = self.heads.peek_mut() else { return Ok(None) };
            // The next row of the same run takes the place of the one that is given.
            let Head { key, row, .. } = match read(&mut self.runs, top.run, memory)? {
                Some(head) => std::mem::replace(&mut *top, head),
                None => PeekMut::pop(top),
            };
            if !self.unique {
                return Ok(Some((key, row)));
            }
            if self.latest.as_ref() != Some(&key) {
                self.latest = Some(key.clone());
                return Ok(Some((key, row)));
            }
        }
    }
}

/// Threads that help to sort so many rows, where so many may be at it, the statement's own included.
pub(crate) fn helping_threads(
    rows: usize,
    workers: usize,
    budget: &Arc<StatementBudget>,
) -> Vec<HelpingThread> {
    let wanted = if rows < THREADED_ROWS_MIN { 1 } else { workers };
    (1..wanted).map_while(|_| budget.account().helping_thread()).collect()
}

/// The next row of a run; those in memory are the last run.
fn read(runs: &mut [RowReader], run: usize, memory: &mut impl RowsInMemory) -> Result<Option<Head>> {
    let row = match runs.get_mut(run) {
        Some(reader) => reader.next()?,
        None => memory.next(),
    };
    Ok(row.map(|(key, row)| Head { key, run, row }))
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

    /// As `sorted`, by columns, of rows that come in parts of so many.
    fn sorted_columns(
        numbers: &[u32],
        unique: bool,
        memory: u64,
        rows_max: usize,
        part: usize,
    ) -> Vec<(u32, Value)> {
        let interrupt = Interrupt::new();
        let server = Account::server(Limits { statement_memory: memory, ..Limits::default() });
        let budget = server.statement();
        let mut sorter = Sorter::by_columns(unique, rows_max, 3, &budget);
        for (number, numbers) in numbers.chunks(part).enumerate() {
            let mut keys = KeyBytes::default();
            let mut values = Vec::new();
            for (place, key) in (number * part..).zip(numbers) {
                keys.push(&key.to_be_bytes());
                values.extend([
                    Value::integer(place as i64),
                    Value::text("text"),
                    Value::integer(i64::from(*key)),
                ]);
            }
            let rows = Vectors::of_rows(numbers.len(), &values, &[true; 3]);
            sorter.push_columns(rows, keys, &interrupt).unwrap();
        }
        let mut sorted = sorter.finish(&interrupt).unwrap();
        let mut found = Vec::new();
        // By rows and by columns in turns.
        let mut batch = Batch::new(3, 50);
        loop {
            let rows = sorted.take(300, &[true; 3], &interrupt).unwrap();
            batch.reset(3);
            sorted.hand_out(&mut batch, &interrupt).unwrap();
            if rows.is_empty() && batch.is_empty() {
                break;
            }
            let mut values = Vec::new();
            (0..rows.len()).for_each(|row| rows.read_row(row, &mut values));
            values.extend(batch.rows().flatten().cloned());
            for row in values.chunks_exact(3) {
                assert_eq!(row[1], Value::text("text"));
                let Value::Integer { unscaled, .. } = row[2] else { panic!("{row:?}") };
                found.push((u32::try_from(unscaled).unwrap(), row[0].clone()));
            }
        }
        found.truncate(rows_max);
        assert_eq!(budget.usage(Resource::Memory).used, 0);
        assert_eq!(budget.usage(Resource::Temporary).used, 0);
        assert!(budget.usage(Resource::Memory).peak <= memory);
        found
    }

    #[test]
    fn columns_are_sorted_as_rows_are() {
        for keys in [700, 4_000_000_000] {
            let numbers: Vec<u32> = (0..40_000u32).map(|n| n.wrapping_mul(2_654_435_761) % keys).collect();
            for unique in [false, true] {
                let expected = sorted(numbers.iter().copied(), unique, u64::MAX);
                for (memory, part) in [(u64::MAX, 5_000), (u64::MAX, 300), (200_000, 5_000), (200_000, 7)] {
                    assert!(
                        sorted_columns(&numbers, unique, memory, usize::MAX, part) == expected,
                        "{keys} {part}"
                    );
                }
                for rows_max in [1, 100, 9_000].into_iter().filter(|_| !unique) {
                    for memory in [u64::MAX, 200_000] {
                        let found = sorted_columns(&numbers, unique, memory, rows_max, 3_000);
                        assert!(found == expected[..rows_max], "{keys} {rows_max} {memory}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_row_longer_than_the_memory_is_an_error() {
        let server = Account::server(Limits { statement_memory: 100_000, ..Limits::default() });
        let mut sorter = Sorter::new(false, &server.statement());
        let error = sorter.push(&[7; 200_000], [Value::Null], &Interrupt::new()).unwrap_err();
        assert!(error.has(farbird_types::isc::VIRMEMEXH));
    }
}
