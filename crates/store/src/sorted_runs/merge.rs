//! Sorted runs as one.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::file::RunReader;
use super::maker::{LongRun, Run, SortedRuns};
use super::{head, unpack};
use crate::{BuildMemory, Result};

/// Memory for reading runs from files, all together,
const BUFFER_BYTES: usize = 16 << 20;
/// and most for one run.
const RUN_BUFFER_BYTES_MAX: usize = 64 << 10;
/// Less than this is not read at a time, however many runs there are.
const RUN_BUFFER_BYTES_MIN: usize = 512;

/// All entries of some runs, in order.
pub(crate) struct Merge<'r> {
    cursors: BinaryHeap<Reverse<Cursor>>,
    _memory: Vec<Box<dyn BuildMemory + 'r>>,
}

/// A place in a run.
struct Cursor {
    source: Source,
    entry: Vec<u8>,
    /// Of the entry.
    head: u128,
}

enum Source {
    Short(Vec<u128>, usize),
    Long(LongRun, usize),
    File(Box<RunReader>),
}

impl Cursor {
    /// Goes to the next entry; false at the end.
    fn step(&mut self) -> Result<bool> {
        let is_there = match &mut self.source {
            Source::Short(entries, next) => match entries.get(*next) {
                Some(packed) => {
                    self.head = unpack(*packed, &mut self.entry);
                    *next += 1;
                    return Ok(true);
                }
                None => false,
            },
            Source::Long(run, next) => match run.get(*next) {
                Some(entry) => {
                    self.entry.clear();
                    self.entry.extend_from_slice(entry);
                    *next += 1;
                    true
                }
                None => false,
            },
            Source::File(reader) => reader.next(&mut self.entry)?,
        };
        self.head = head(&self.entry);
        Ok(is_there)
    }
}

impl Ord for Cursor {
    fn cmp(&self, other: &Cursor) -> Ordering {
        self.head.cmp(&other.head).then_with(|| self.entry.cmp(&other.entry))
    }
}

impl PartialOrd for Cursor {
    fn partial_cmp(&self, other: &Cursor) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Cursor {
    fn eq(&self, other: &Cursor) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Cursor {}

impl<'r> Merge<'r> {
    /// Of what all threads have made.
    ///
    /// # Errors
    /// Those of reading temporary files.
    pub(crate) fn of(made: Vec<SortedRuns<'r>>) -> Result<Merge<'r>> {
        let in_files = made.iter().flat_map(|made| &made.runs).filter(|run| matches!(run, Run::File(_)));
        let buffer_bytes =
            (BUFFER_BYTES / in_files.count().max(1)).clamp(RUN_BUFFER_BYTES_MIN, RUN_BUFFER_BYTES_MAX);
        let mut cursors = Vec::new();
        let mut memory = Vec::new();
        for made in made {
            memory.push(made.memory);
            for run in made.runs {
                let source = match run {
                    Run::Short(entries) => Source::Short(entries, 0),
                    Run::Long(entries) => Source::Long(entries, 0),
                    Run::File(run) => Source::File(Box::new(RunReader::new(run, buffer_bytes))),
                };
                let mut cursor = Cursor { source, entry: Vec::new(), head: 0 };
                if cursor.step()? {
                    cursors.push(Reverse(cursor));
                }
            }
        }
        Ok(Merge { cursors: cursors.into(), _memory: memory })
    }

    /// Calls `take` with each entry, in order.
    ///
    /// # Errors
    /// Those of reading temporary files; those of `take`.
    pub(crate) fn for_each(mut self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        while let Some(mut first) = self.cursors.peek_mut() {
            take(&first.0.entry)?;
            if !first.0.step()? {
                PeekMut::pop(first);
            }
        }
        Ok(())
    }
}
