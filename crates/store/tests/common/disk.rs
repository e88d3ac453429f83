//! A disk that a test owns: what was not synced when the power goes may survive, vanish or tear.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use redb::StorageBackend;

/// Writes are torn at multiples of this, in bytes.
const SECTOR_BYTES: usize = 512;

/// The disk; clones are the same one.
#[derive(Debug, Clone, Default)]
pub struct SimulatedDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    synced: Vec<u8>,
    current: Vec<u8>,
    pending: Vec<Change>,
    /// Writes, resizes and syncs until now.
    operations: u64,
    fails_at: Option<(u64, Failure)>,
    has_failed: bool,
}

/// What happens at a chosen operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// It fails, and everything after it.
    PowerCut,
    /// It fails for want of space, and every other write or resize after it.
    Full,
}

#[derive(Debug, Clone)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Resize(usize),
}

/// A generator that needs no crate.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

impl SimulatedDisk {
    pub fn operations(&self) -> u64 {
        self.state.lock().operations
    }

    /// Lets operation number `operation` fail.
    pub fn fail_at(&self, operation: u64, failure: Failure) {
        self.state.lock().fails_at = Some((operation, failure));
    }

    pub fn has_failed(&self) -> bool {
        self.state.lock().has_failed
    }

    /// A disk with what a power cut right now might leave.
    pub fn after_power_cut(&self, random: &mut Random) -> SimulatedDisk {
        let state = self.state.lock();
        let mut contents = state.synced.clone();
        // Now and then nothing of it, or all of it, has reached the disk.
        let fate = random.below(4);
        for change in &state.pending {
            match change {
                Change::Resize(size) if fate != 0 && random.below(4) != 0 => contents.resize(*size, 0),
                Change::Resize(_) => {}
                Change::Write { offset, bytes } => {
                    for (index, sector) in bytes.chunks(SECTOR_BYTES).enumerate() {
                        let survives = match fate {
                            0 => false,
                            1 => true,
                            _ => random.below(3) != 0,
                        };
                        let start = offset + index * SECTOR_BYTES;
                        if survives {
                            let end = start + sector.len();
                            contents.resize(contents.len().max(end), 0);
                            contents[start..end].copy_from_slice(sector);
                        }
                    }
                }
            }
        }
        let state = State { synced: contents.clone(), current: contents, ..State::default() };
        SimulatedDisk { state: Arc::new(Mutex::new(state)) }
    }

    fn operate(&self, change: Option<Change>) -> io::Result<()> {
        let mut state = self.state.lock();
        state.operations += 1;
        let is_sync = change.is_none();
        let failure = state.fails_at.filter(|(at, _)| state.operations >= *at).map(|(_, failure)| failure);
        if let Some(failure) = failure {
            let fails = failure == Failure::PowerCut || !is_sync;
            state.has_failed |= fails;
            if fails {
                // It may have reached the disk nevertheless.
                state.pending.extend(change);
                return Err(match failure {
                    Failure::PowerCut => io::Error::other("power cut"),
                    Failure::Full => io::Error::from(io::ErrorKind::StorageFull),
                });
            }
        }
        match change {
            None => {
                state.synced = state.current.clone();
                state.pending.clear();
            }
            Some(change) => {
                match &change {
                    Change::Resize(size) => state.current.resize(*size, 0),
                    Change::Write { offset, bytes } => {
                        let end = offset + bytes.len();
                        let size = state.current.len().max(end);
                        state.current.resize(size, 0);
                        state.current[*offset..end].copy_from_slice(bytes);
                    }
                }
                state.pending.push(change);
            }
        }
        Ok(())
    }
}

impl StorageBackend for SimulatedDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state.lock().current.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state.lock();
        let start = offset as usize;
        let bytes = state.current.get(start..start + out.len());
        out.copy_from_slice(bytes.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?);
        Ok(())
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        self.operate(Some(Change::Resize(size as usize)))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.operate(None)
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.operate(Some(Change::Write { offset: offset as usize, bytes: bytes.to_vec() }))
    }
}
