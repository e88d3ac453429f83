//! The disk itself, as redb sees it.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use redb::StorageBackend;

use crate::recording::apply;
use crate::{Image, Operation, Recording};

/// A disk; clones are the same one.
#[derive(Debug, Clone, Default)]
pub struct SimulatedDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    image: Image,
    recording: Option<Recording>,
    /// Calls until now, of all kinds.
    calls: u64,
    fault: Option<Fault>,
    has_failed: bool,
}

/// What can be asked of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Reading bytes, or the length.
    Read,
    /// Writing bytes.
    Write,
    /// Changing the length.
    Resize,
    /// Making everything durable.
    Sync,
}

/// Calls that fail.
#[derive(Debug, Clone)]
pub struct Fault {
    /// From this one on, counted from the creation of the disk, beginning with 1.
    pub from_call: u64,
    /// Only the first one, or all.
    pub once: bool,
    /// Which kinds of calls; a call of another kind passes.
    pub calls: Vec<Call>,
    /// With which error.
    pub error: io::ErrorKind,
}

impl SimulatedDisk {
    /// A disk that holds this.
    pub fn holding(image: Image) -> SimulatedDisk {
        SimulatedDisk { state: Arc::new(Mutex::new(State { image, ..State::default() })) }
    }

    /// What it holds now.
    pub fn image(&self) -> Image {
        self.state.lock().image.clone()
    }

    /// Changes bytes behind everybody's back.
    pub fn damage(&self, offset: usize, bytes: &[u8]) {
        self.state.lock().image.write(offset, bytes);
    }

    /// Begins to record; what it holds now counts as there for good.
    pub fn record(&self) {
        let mut state = self.state.lock();
        state.recording = Some(Recording::new(state.image.clone()));
    }

    /// Changes recorded until now.
    pub fn recorded(&self) -> usize {
        self.state.lock().recording.as_ref().map_or(0, Recording::len)
    }

    /// Ends the recording.
    pub fn take_recording(&self) -> Recording {
        self.state.lock().recording.take().unwrap_or_default()
    }

    /// Calls until now.
    pub fn calls(&self) -> u64 {
        self.state.lock().calls
    }

    /// Sets or ends a fault.
    pub fn set_fault(&self, fault: Option<Fault>) {
        let mut state = self.state.lock();
        state.fault = fault;
        state.has_failed = false;
    }

    /// Whether the fault has struck.
    pub fn has_failed(&self) -> bool {
        self.state.lock().has_failed
    }
}

impl State {
    fn call(&mut self, call: Call) -> io::Result<()> {
        self.calls += 1;
        match &self.fault {
            Some(fault)
                if self.calls >= fault.from_call
                    && fault.calls.contains(&call)
                    && !(fault.once && self.has_failed) =>
            {
                self.has_failed = true;
                Err(fault.error.into())
            }
            _ => Ok(()),
        }
    }

    fn change(&mut self, operation: Operation) {
        apply(&mut self.image, &operation);
        if let Some(recording) = &mut self.recording {
            recording.push(operation, &self.image);
        }
    }
}

impl StorageBackend for SimulatedDisk {
    fn len(&self) -> io::Result<u64> {
        let mut state = self.state.lock();
        state.call(Call::Read)?;
        Ok(state.image.size() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut state = self.state.lock();
        state.call(Call::Read)?;
        match state.image.read(offset as usize, out) {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        state.call(Call::Resize)?;
        state.change(Operation::Resize(size as usize));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        state.call(Call::Sync)?;
        state.change(Operation::Sync);
        Ok(())
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state.lock();
        let outcome = state.call(Call::Write);
        // A write that fails may have begun.
        let count = if outcome.is_ok() { bytes.len() } else { bytes.len() / 2 };
        state.change(Operation::Write { offset: offset as usize, bytes: bytes[..count].into() });
        outcome
    }
}
