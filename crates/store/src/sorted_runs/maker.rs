//! One thread's entries become sorted runs.

use std::mem::size_of;
use std::sync::Arc;

use parking_lot::Mutex;

use super::file::{FileRun, RunWriter, SharedFile};
use super::{packed, unpack};
use crate::keyspace::ROW_BYTES;
use crate::{BuildMemory, BuildRoom, CancelFlag, Result};

/// Most entries of a run of short keys. They are sorted at once, in some hundredths of a second.
const SHORT_RUN_ENTRIES: usize = 1 << 20;
/// Short keys that room is made for first.
const FIRST_ENTRIES: usize = 16 << 10;
/// Most bytes of a run of long keys.
const LONG_RUN_BYTES: usize = 16 << 20;
/// Bytes of long keys that room is made for first.
const FIRST_BYTES: usize = 256 << 10;

/// Entries in order.
pub(super) enum Run {
    /// As [`packed`].
    Short(Vec<u128>),
    Long(LongRun),
    File(FileRun),
}

/// Entries whose keys are long, or whose rows are far away.
#[derive(Default)]
pub(super) struct LongRun {
    bytes: Vec<u8>,
    entries: Vec<LongEntry>,
}

#[derive(Clone, Copy)]
struct LongEntry {
    /// The entry's first bytes; entries have eight at least.
    prefix: u64,
    start: u32,
    length: u32,
}

impl LongRun {
    fn push(&mut self, key: &[u8], row: u64) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(&row.to_be_bytes());
        let entry = self.bytes.get(start..).unwrap_or_default();
        let prefix = entry.first_chunk().map_or(0, |first| u64::from_be_bytes(*first));
        // Runs are smaller than 4 GiB.
        let (start, length) = (start as u32, entry.len() as u32);
        self.entries.push(LongEntry { prefix, start, length });
    }

    /// What has room for one more entry takes so many bytes more; 0 if there is room.
    fn needed(&self, entry_bytes: usize) -> usize {
        let is_full = self.bytes.capacity() - self.bytes.len() < entry_bytes
            || self.entries.len() == self.entries.capacity();
        if is_full { self.capacity().clamp(FIRST_BYTES, LONG_RUN_BYTES).max(2 * entry_bytes) } else { 0 }
    }

    /// Makes room by so many bytes, for one entry of such a size at least.
    fn grow(&mut self, bytes: usize, entry_bytes: usize) {
        let each = entry_bytes + size_of::<LongEntry>();
        let entries = (bytes / each).max(1);
        if self.entries.len() + entries > self.entries.capacity() {
            self.entries.reserve_exact(entries);
        }
        if self.bytes.len() + entries * entry_bytes > self.bytes.capacity() {
            self.bytes.reserve_exact(entries * entry_bytes);
        }
    }

    fn capacity(&self) -> usize {
        self.bytes.capacity() + self.entries.capacity() * size_of::<LongEntry>()
    }

    fn entry(&self, entry: &LongEntry) -> &[u8] {
        let start = entry.start as usize;
        self.bytes.get(start..start + entry.length as usize).unwrap_or_default()
    }

    /// The entry at a place, in order once they are sorted.
    pub(super) fn get(&self, place: usize) -> Option<&[u8]> {
        self.entries.get(place).map(|entry| self.entry(entry))
    }

    fn sort(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_unstable_by(|left, right| {
            left.prefix.cmp(&right.prefix).then_with(|| self.entry(left).cmp(self.entry(right)))
        });
        self.entries = entries;
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }
}

/// What one thread has made, with the memory that it takes.
pub(crate) struct SortedRuns<'r> {
    pub(super) runs: Vec<Run>,
    pub(super) entries: u64,
    /// Given back when the runs are merged.
    pub(super) memory: Box<dyn BuildMemory + 'r>,
}

impl SortedRuns<'_> {
    /// How many entries there are.
    pub(crate) fn len(&self) -> u64 {
        self.entries
    }
}

/// Takes entries as they come and makes sorted runs of them.
pub(crate) struct RunMaker<'r> {
    room: &'r dyn BuildRoom,
    cancel: &'r CancelFlag,
    memory: Box<dyn BuildMemory + 'r>,
    /// What was asked for and not given back.
    charged: usize,
    short: Vec<u128>,
    long: LongRun,
    /// Full ones; those in memory go to the file as soon as memory is short.
    runs: Vec<Run>,
    file: Option<SharedFile>,
    entries: u64,
}

impl<'r> RunMaker<'r> {
    pub(crate) fn new(room: &'r dyn BuildRoom, cancel: &'r CancelFlag) -> RunMaker<'r> {
        RunMaker {
            room,
            cancel,
            memory: room.memory(),
            charged: 0,
            short: Vec::new(),
            long: LongRun::default(),
            runs: Vec::new(),
            file: None,
            entries: 0,
        }
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// Those of temporary files; `Cancelled`.
    pub(crate) fn push(&mut self, key: &[u8], row: u64) -> Result<()> {
        self.entries += 1;
        match packed(key, row) {
            Some(entry) => {
                if self.short.len() == self.short.capacity() {
                    self.make_room_for_short()?;
                }
                self.short.push(entry);
            }
            None => {
                let entry_bytes = key.len() + ROW_BYTES;
                if self.long.needed(entry_bytes) > 0 {
                    self.make_room_for_long(entry_bytes)?;
                }
                self.long.push(key, row);
            }
        }
        Ok(())
    }

    /// All runs.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(crate) fn finish(mut self) -> Result<SortedRuns<'r>> {
        self.seal_short()?;
        self.seal_long()?;
        Ok(SortedRuns { runs: self.runs, entries: self.entries, memory: self.memory })
    }

    fn make_room_for_short(&mut self) -> Result<()> {
        if self.short.len() >= SHORT_RUN_ENTRIES {
            self.seal_short()?;
        }
        let more = self.short.capacity().clamp(FIRST_ENTRIES, SHORT_RUN_ENTRIES);
        if !self.take(more * size_of::<u128>()) {
            self.spill()?;
            if self.short.capacity() > 0 {
                return Ok(());
            }
        }
        self.short.reserve_exact(more);
        Ok(())
    }

    fn make_room_for_long(&mut self, entry_bytes: usize) -> Result<()> {
        if self.long.capacity() >= LONG_RUN_BYTES {
            self.seal_long()?;
        }
        let more = self.long.needed(entry_bytes);
        if !self.take(more) {
            self.spill()?;
            if self.long.needed(entry_bytes) == 0 {
                return Ok(());
            }
        }
        self.long.grow(more, entry_bytes);
        Ok(())
    }

    fn take(&mut self, bytes: usize) -> bool {
        let is_taken = self.memory.try_grow(bytes);
        if is_taken {
            self.charged += bytes;
        }
        is_taken
    }

    fn seal_short(&mut self) -> Result<()> {
        self.cancel.check()?;
        if !self.short.is_empty() {
            let mut run = std::mem::take(&mut self.short);
            run.sort_unstable();
            self.runs.push(Run::Short(run));
        }
        Ok(())
    }

    fn seal_long(&mut self) -> Result<()> {
        self.cancel.check()?;
        if !self.long.entries.is_empty() {
            let mut run = std::mem::take(&mut self.long);
            run.sort();
            self.runs.push(Run::Long(run));
        }
        Ok(())
    }

    /// Moves all that is in memory to the file. The room of what is begun stays.
    fn spill(&mut self) -> Result<()> {
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => {
                let file: SharedFile = Arc::new(Mutex::new(self.room.temporary_file()?));
                Arc::clone(self.file.insert(file))
            }
        };
        for run in &mut self.runs {
            self.cancel.check()?;
            let written = match &*run {
                Run::Short(entries) => write_short(entries, &file)?,
                Run::Long(entries) => write_long(entries, &file)?,
                Run::File(_) => continue,
            };
            *run = Run::File(written);
        }
        if !self.short.is_empty() {
            self.short.sort_unstable();
            self.runs.push(Run::File(write_short(&self.short, &file)?));
            self.short.clear();
        }
        if !self.long.entries.is_empty() {
            self.long.sort();
            self.runs.push(Run::File(write_long(&self.long, &file)?));
            self.long.clear();
        }
        let kept = self.short.capacity() * size_of::<u128>() + self.long.capacity();
        let surplus = self.charged.saturating_sub(kept);
        self.memory.shrink(surplus);
        self.charged -= surplus;
        Ok(())
    }
}

fn write_short(entries: &[u128], file: &SharedFile) -> Result<FileRun> {
    let mut writer = RunWriter::new(file);
    let mut entry = Vec::new();
    for packed in entries {
        unpack(*packed, &mut entry);
        writer.push(&entry)?;
    }
    writer.finish()
}

fn write_long(run: &LongRun, file: &SharedFile) -> Result<FileRun> {
    let mut writer = RunWriter::new(file);
    for entry in &run.entries {
        writer.push(run.entry(entry))?;
    }
    writer.finish()
}
