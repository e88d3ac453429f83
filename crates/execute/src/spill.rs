//! Sorting more rows than memory should hold: sorted runs in temporary files, merged when they are read.
//!
//! Rows are sorted by a key of bytes; equal keys keep the order in which they came. In memory they are rows or columns
//! ([`RowsInMemory`]), in files rows. Whatever goes through many rows looks at the interrupt. Memory and files are charged to the
//! statement.

use std::sync::Arc;

use farbird_budget::{HelpingThread, Reservation, StatementBudget, row_bytes};
use farbird_session::Interrupt;
use farbird_types::{Result, Value};
use farbird_vector::{Column, Vectors};

use crate::batch::Batch;
use crate::keyed_columns::{KeyedColumns, PUSHED_ROWS_MAX};
use crate::keyed_rows::KeyedRows;
use crate::row_codec::{take_row, take_row_to};
use crate::row_stream::{RowReader, RowStream, RowWriter, StreamFile};
use crate::rows_in_memory::RowsInMemory;
use crate::sort_keys::KeyBytes;

/// So many runs of one level are merged into one of the next, so that a row is written again a few times at most.
const RUNS_MAX: usize = 64;

/// So many rows of runs are put together at a time for whoever takes rows by columns, or so many bytes of them.
const MERGED_ROWS_MAX: usize = 1_024;
const MERGED_TEXT_BYTES: usize = 1 << 20;

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

/// Runs being merged, with the rows in memory as the last of them. Rows stay encoded until somebody wants them.
struct Merge {
    runs: Vec<RowReader>,
    /// The next row of each run that has one, as a heap: none comes before the one at half its place.
    heads: Vec<Head>,
    unique: bool,
    /// The key of the row that was handed out last, where no other one may have it.
    latest: Option<Vec<u8>>,
}

#[derive(Clone, Copy)]
struct Head {
    /// The first bytes of its key, zeros behind a shorter one.
    prefix: u128,
    /// Which run it comes from: of equal keys the older one is first.
    run: usize,
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
            && (self.memory.try_grow_to_share(room) || {
                self.spill(interrupt)?;
                self.memory.try_grow_to_share(room)
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
        let memory = self.rows;
        // Those that have been merged most often are the oldest.
        let runs = self.levels.iter().rev().flat_map(|level| &level.runs);
        let runs: Vec<RowReader> = runs.map(RowStream::read).collect();
        let merge = match runs.is_empty() {
            true => None,
            false => Some(Merge::start(runs, &memory, self.unique, interrupt)?),
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
        self.add_run(0, interrupt, |run| {
            rows.write_head(run)?;
            Ok(rows.advance(1) > 0)
        })?;
        drop(rows);
        self.memory.clear();
        let mut level = 0;
        while let Some(full) = self.levels.get_mut(level).filter(|level| level.runs.len() >= RUNS_MAX) {
            let runs = std::mem::take(&mut full.runs);
            // A new file for the next runs: this one goes with the runs in it.
            full.file = StreamFile::new(self.memory.budget())?;
            let readers = runs.iter().map(RowStream::read).collect();
            let mut nothing = M::none(false);
            let mut merge = Merge::start(readers, &nothing, self.unique, interrupt)?;
            self.add_run(level + 1, interrupt, |run| {
                if let Some(reader) = merge.heads.first().and_then(|head| merge.runs.get(head.run)) {
                    run.push_encoded(reader.key(), reader.row())?;
                }
                merge.advance(&mut nothing)
            })?;
            level += 1;
        }
        Ok(())
    }

    /// Adds a run of what `write_next` writes, row after row until it says that there is none.
    fn add_run(
        &mut self,
        level: usize,
        interrupt: &Interrupt,
        mut write_next: impl FnMut(&mut RowWriter) -> Result<bool>,
    ) -> Result<()> {
        if self.levels.len() <= level {
            self.levels.push(Level { file: StreamFile::new(self.memory.budget())?, runs: Vec::new() });
        }
        let Some(level) = self.levels.get_mut(level) else { return Ok(()) };
        let mut run = level.file.writer();
        while write_next(&mut run)? {
            interrupt.check()?;
        }
        level.runs.push(Arc::new(run.finish()?));
        Ok(())
    }
}

impl Sorted<KeyedColumns> {
    /// The next rows by columns, those of `wanted`, so many at most, and none behind those whose keys have so many bytes; none at the
    /// end. `note` is called with the key of each.
    ///
    /// # Errors
    /// As [`Sorted::next`].
    pub(crate) fn take(
        &mut self,
        rows_max: usize,
        key_bytes_max: usize,
        wanted: &[bool],
        interrupt: &Interrupt,
        mut note: impl FnMut(&[u8]),
    ) -> Result<Vectors> {
        if self.merge.is_none() {
            let rows = self.memory.take(rows_max, key_bytes_max, note);
            if rows.is_empty() {
                self.let_go();
            }
            return Ok(rows);
        }
        let mut columns = vec![Vec::new(); wanted.len()];
        let (mut rows, mut text_bytes, mut key_bytes) = (0, 0, 0);
        while rows < rows_max.min(MERGED_ROWS_MAX)
            && text_bytes < MERGED_TEXT_BYTES
            && key_bytes < key_bytes_max
        {
            interrupt.check()?;
            let Some(key) = self.head_key() else { break };
            key_bytes += key.len();
            note(key);
            text_bytes += self.take_head_to(&mut columns)?;
            self.advance()?;
            rows += 1;
        }
        if rows == 0 {
            self.let_go();
        }
        let column = |(values, wanted): (Vec<Value>, &bool)| wanted.then(|| Column::of_values(values));
        Ok(Vectors::new(rows, columns.into_iter().zip(wanted).map(column).collect()))
    }

    /// Puts each value of the next row to the end of its column; gives how many bytes that took in memory or in a file.
    fn take_head_to(&mut self, columns: &mut [Vec<Value>]) -> Result<usize> {
        match self.merge.as_ref().and_then(Merge::reader) {
            Some(reader) => {
                take_row_to(&mut reader.row(), columns)?;
                Ok(reader.row().len())
            }
            None => {
                let row = self.memory.take_head();
                let bytes = row_bytes(&row);
                columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
                Ok(bytes)
            }
        }
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
        let mut key = Vec::new();
        Ok(self.next_with(&mut key, interrupt)?.map(|row| (key, row)))
    }

    /// The values of the next row; its key takes the place of what is in `key`.
    ///
    /// # Errors
    /// As [`Sorted::next`].
    pub(crate) fn next_with(
        &mut self,
        key: &mut Vec<u8>,
        interrupt: &Interrupt,
    ) -> Result<Option<Vec<Value>>> {
        interrupt.check()?;
        let Some(head_key) = self.head_key() else {
            self.let_go();
            return Ok(None);
        };
        key.clear();
        key.extend_from_slice(head_key);
        let row = self.take_head()?;
        self.advance()?;
        Ok(Some(row))
    }

    /// Goes on by so many rows at most; gives how many those are.
    ///
    /// # Errors
    /// As [`Sorted::next`].
    pub(crate) fn skip(&mut self, rows: usize, interrupt: &Interrupt) -> Result<usize> {
        if self.merge.is_none() {
            return Ok(self.memory.advance(rows));
        }
        let mut skipped = 0;
        while skipped < rows && self.has_next() {
            interrupt.check()?;
            self.advance()?;
            skipped += 1;
        }
        Ok(skipped)
    }

    /// Whether there is a next row.
    fn has_next(&self) -> bool {
        match &self.merge {
            Some(merge) => !merge.heads.is_empty(),
            None => self.memory.len() > 0,
        }
    }

    /// The key of the next row.
    fn head_key(&self) -> Option<&[u8]> {
        match &self.merge {
            Some(merge) => merge.heads.first().map(|head| key_of(&merge.runs, *head, &self.memory)),
            None => self.memory.head_key(),
        }
    }

    /// The values of the next row, which are given away.
    fn take_head(&mut self) -> Result<Vec<Value>> {
        match self.merge.as_ref().and_then(Merge::reader) {
            Some(reader) => take_row(&mut reader.row()),
            None => Ok(self.memory.take_head()),
        }
    }

    /// Goes on to the row behind the next one.
    fn advance(&mut self) -> Result<()> {
        match &mut self.merge {
            Some(merge) => {
                merge.advance(&mut self.memory)?;
            }
            None => {
                self.memory.advance(1);
            }
        }
        Ok(())
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
        while !batch.is_full() && self.has_next() {
            interrupt.check()?;
            batch.push(self.take_head()?);
            self.advance()?;
        }
        if batch.is_empty() {
            self.let_go();
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
        memory: &impl RowsInMemory,
        unique: bool,
        interrupt: &Interrupt,
    ) -> Result<Merge> {
        let mut merge = Merge { runs, heads: Vec::new(), unique, latest: None };
        for run in 0..merge.runs.len() {
            interrupt.check()?;
            if let Some(reader) = merge.runs.get_mut(run)
                && reader.advance()?
            {
                merge.heads.push(Head { prefix: prefix(reader.key()), run });
            }
        }
        if let Some(key) = memory.head_key() {
            merge.heads.push(Head { prefix: prefix(key), run: merge.runs.len() });
        }
        for place in (0..merge.heads.len() / 2).rev() {
            merge.sink(place, memory);
        }
        Ok(merge)
    }

    /// The run that the next row comes from; none if that is in memory.
    fn reader(&self) -> Option<&RowReader> {
        self.runs.get(self.heads.first()?.run)
    }

    /// Goes on to the row behind the next one, past others with its key if rows are unique; false at the end.
    fn advance(&mut self, memory: &mut impl RowsInMemory) -> Result<bool> {
        let Some(first) = self.heads.first() else { return Ok(false) };
        if self.unique {
            let latest = self.latest.get_or_insert_default();
            latest.clear();
            latest.extend_from_slice(key_of(&self.runs, *first, memory));
        }
        self.step(memory)?;
        while self.unique
            && let Some(first) = self.heads.first()
            && self.latest.as_deref() == Some(key_of(&self.runs, *first, memory))
        {
            self.step(memory)?;
        }
        Ok(!self.heads.is_empty())
    }

    /// The next row of the same run takes the place of the first one.
    fn step(&mut self, memory: &mut impl RowsInMemory) -> Result<()> {
        let Some(first) = self.heads.first_mut() else { return Ok(()) };
        let key = match self.runs.get_mut(first.run) {
            Some(reader) => reader.advance()?.then(|| reader.key()),
            None => {
                memory.advance(1);
                memory.head_key()
            }
        };
        match key {
            Some(key) => first.prefix = prefix(key),
            None => {
                self.heads.swap_remove(0);
            }
        }
        self.sink(0, memory);
        Ok(())
    }

    /// Lets a head sink below those that come before it.
    fn sink(&mut self, mut place: usize, memory: &impl RowsInMemory) {
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            let first = if self.is_before(right, left, memory) { right } else { left };
            if !self.is_before(first, place, memory) {
                return;
            }
            self.heads.swap(place, first);
            place = first;
        }
    }

    /// Whether one head comes before another; none is behind all of them.
    fn is_before(&self, one: usize, other: usize, memory: &impl RowsInMemory) -> bool {
        let (Some(one), Some(other)) = (self.heads.get(one), self.heads.get(other)) else {
            return one < self.heads.len();
        };
        let by_key = || key_of(&self.runs, *one, memory).cmp(key_of(&self.runs, *other, memory));
        one.prefix.cmp(&other.prefix).then_with(by_key).then_with(|| one.run.cmp(&other.run)).is_lt()
    }
}

/// The key of the next row of a run; those in memory are the last run.
fn key_of<'a>(runs: &'a [RowReader], head: Head, memory: &'a impl RowsInMemory) -> &'a [u8] {
    match runs.get(head.run) {
        Some(reader) => reader.key(),
        None => memory.head_key().unwrap_or_default(),
    }
}

fn prefix(key: &[u8]) -> u128 {
    let mut bytes = [0; size_of::<u128>()];
    bytes.iter_mut().zip(key).for_each(|(place, byte)| *place = *byte);
    u128::from_be_bytes(bytes)
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
            let rows = sorted.take(300, usize::MAX, &[true; 3], &interrupt, |_| {}).unwrap();
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
    fn rows_are_passed_over_in_memory_and_in_files() {
        let interrupt = Interrupt::new();
        for memory in [u64::MAX, 200_000] {
            let server = Account::server(Limits { statement_memory: memory, ..Limits::default() });
            let mut sorter = Sorter::by_columns(false, usize::MAX, 1, &server.statement());
            for numbers in (0..20_000u32).rev().collect::<Vec<_>>().chunks(500) {
                let mut keys = KeyBytes::default();
                numbers.iter().for_each(|number| keys.push(&number.to_be_bytes()));
                let values: Vec<_> =
                    numbers.iter().map(|number| Value::integer(i64::from(*number))).collect();
                sorter.push_columns(Vectors::of_rows(500, &values, &[true]), keys, &interrupt).unwrap();
            }
            let mut sorted = sorter.finish(&interrupt).unwrap();
            assert_eq!(sorted.merge.is_some(), memory < u64::MAX);
            for (skipped, number) in [(0, 0), (7_000, 7_001), (12_000, 19_002)] {
                assert_eq!(sorted.skip(skipped, &interrupt).unwrap(), skipped);
                let row = sorted.next(&interrupt).unwrap().unwrap().1;
                assert_eq!(row, [Value::integer(number)]);
            }
            assert_eq!(sorted.skip(5_000, &interrupt).unwrap(), 997);
            assert!(sorted.next(&interrupt).unwrap().is_none());
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
