//! Rows and BLOBs that have no room in memory, put where there is more: in a file, whose keeper is somebody who may do I/O.
//!
//! [`Spill`] counts for a site and for a program what is in memory and what is not. What comes is kept in memory up to the limits
//! ([`super::Limits`]), then in the [`SpillStore`]; each piece gives its place back when it is dropped, wherever it was. If the store fails, what
//! has come stays in memory, since it was asked for; and for a while no more is asked for than has room there ([`Spill::room`]).

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A store that has failed is not counted on for so long.
const DISTRUSTED_FOR: Duration = Duration::from_secs(10);

/// Keeps bytes that have no room in memory.
pub trait SpillStore: fmt::Debug + Send + Sync {
    /// Keeps bytes.
    ///
    /// # Errors
    /// The disk is full, or fails.
    fn put(&self, bytes: &[u8]) -> io::Result<SpillPlace>;

    /// Reads bytes that are kept.
    ///
    /// # Errors
    /// The disk fails.
    fn get(&self, place: &SpillPlace) -> io::Result<Vec<u8>>;

    /// Keeps bytes no longer.
    fn free(&self, place: &SpillPlace);
}

/// Where a store keeps bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpillPlace {
    /// The blocks, in the store's own numbers and in the order of the bytes.
    pub blocks: Vec<Range<u32>>,
    /// How many bytes.
    pub length: usize,
}

/// What kind of thing takes a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Rows,
    Blob,
}

/// What a site keeps outside of memory, and what of its rows is inside.
#[derive(Debug, Default)]
pub(super) struct Spill {
    store: OnceLock<Arc<dyn SpillStore>>,
    /// Bytes of rows in memory, of all programs.
    rows_in_memory: Arc<AtomicUsize>,
    rows: Arc<AtomicUsize>,
    blobs: Arc<AtomicUsize>,
    /// All bytes that were ever put there.
    spilled: AtomicU64,
    failures: AtomicU64,
    /// Until when the store is not counted on, in microseconds of the edge's clock.
    distrusted_until: AtomicU64,
}

/// What is outside of memory, in bytes, and what was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spilled {
    /// Rows.
    pub rows: usize,
    /// BLOBs.
    pub blobs: usize,
    /// All that was put there since the site began.
    pub in_all: u64,
    /// Times that the store has failed.
    pub failures: u64,
}

/// A count that goes down again.
#[derive(Debug)]
pub(super) struct Counted {
    count: Arc<AtomicUsize>,
    bytes: usize,
}

impl Counted {
    fn new(count: &Arc<AtomicUsize>, bytes: usize) -> Counted {
        count.fetch_add(bytes, Ordering::Relaxed);
        Counted { count: Arc::clone(count), bytes }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.count.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Bytes that are outside of memory.
#[derive(Debug)]
pub(super) struct Outside {
    store: Arc<dyn SpillStore>,
    place: SpillPlace,
    _count: Counted,
}

impl Outside {
    pub(super) fn read(&self) -> io::Result<Vec<u8>> {
        self.store.get(&self.place)
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        self.store.free(&self.place);
    }
}

/// Rows that have come and are not taken.
#[derive(Debug)]
pub(super) enum HeldRows {
    Inside { packets: Vec<u8>, _counts: Option<[Counted; 2]> },
    Outside(Outside),
}

impl HeldRows {
    /// Rows that somebody else counts.
    pub(super) fn uncounted(packets: Vec<u8>) -> HeldRows {
        HeldRows::Inside { packets, _counts: None }
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, HeldRows::Inside { packets, .. } if packets.is_empty())
    }

    /// Brings them into memory, if they are not there.
    pub(super) fn bring(&mut self) -> io::Result<&[u8]> {
        if let HeldRows::Outside(outside) = self {
            *self = HeldRows::uncounted(outside.read()?);
        }
        match self {
            HeldRows::Inside { packets, .. } => Ok(packets),
            HeldRows::Outside(_) => Ok(&[]),
        }
    }
}

/// What holds rows of a program in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowBounds {
    pub(super) program: usize,
    pub(super) edge: usize,
    /// What the store may hold.
    pub(super) outside: usize,
}

impl Spill {
    /// From now on there is a store. Once set it stays.
    pub(super) fn set_store(&self, store: Arc<dyn SpillStore>) {
        drop(self.store.set(store));
    }

    /// How many bytes more than have room in memory may be asked for, if the store may hold so many.
    pub(super) fn room(&self, most: usize, now: Duration) -> usize {
        if self.store.get().is_none() || micros(now) < self.distrusted_until.load(Ordering::Relaxed) {
            return 0;
        }
        most.saturating_sub(self.blobs.load(Ordering::Relaxed))
    }

    /// Keeps rows that have come, in memory if they have room there.
    pub(super) fn hold_rows(
        &self,
        packets: Vec<u8>,
        of_program: &Arc<AtomicUsize>,
        bounds: RowBounds,
        now: Duration,
    ) -> HeldRows {
        let bytes = packets.len();
        let fits =
            |count: &AtomicUsize, most: usize| count.load(Ordering::Relaxed).saturating_add(bytes) <= most;
        let is_inside = fits(of_program, bounds.program) && fits(&self.rows_in_memory, bounds.edge);
        if !is_inside && let Some(outside) = self.put(&packets, What::Rows, bounds.outside, now) {
            return HeldRows::Outside(outside);
        }
        let counts = [of_program, &self.rows_in_memory].map(|count| Counted::new(count, bytes));
        HeldRows::Inside { packets, _counts: Some(counts) }
    }

    /// Puts bytes outside; `None` if there is no room, or none that can be used. `most`: what may be there, for rows all together, for BLOBs
    /// of BLOBs alone, since rows that are on their way have their room kept.
    pub(super) fn put(&self, bytes: &[u8], what: What, most: usize, now: Duration) -> Option<Outside> {
        let store = self.store.get()?;
        let blobs = self.blobs.load(Ordering::Relaxed);
        let held = match what {
            What::Rows => blobs + self.rows.load(Ordering::Relaxed),
            What::Blob => blobs,
        };
        if held.saturating_add(bytes.len()) > most {
            return None;
        }
        match store.put(bytes) {
            Ok(place) => {
                self.spilled.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                let count = match what {
                    What::Rows => &self.rows,
                    What::Blob => &self.blobs,
                };
                let count = Counted::new(count, bytes.len());
                Some(Outside { store: Arc::clone(store), place, _count: count })
            }
            Err(_) => {
                self.failures.fetch_add(1, Ordering::Relaxed);
                self.distrusted_until.store(micros(now + DISTRUSTED_FOR), Ordering::Relaxed);
                None
            }
        }
    }

    pub(super) fn spilled(&self) -> Spilled {
        Spilled {
            rows: self.rows.load(Ordering::Relaxed),
            blobs: self.blobs.load(Ordering::Relaxed),
            in_all: self.spilled.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
