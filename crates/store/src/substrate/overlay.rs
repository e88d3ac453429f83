//! A storage that is read and never written: writes stay in memory, above it. For looking at a database without changing
//! it, and for reading one whose disk is full.

use std::collections::HashMap;
use std::io;
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::Mutex;
use redb::{BackendError, StorageBackend};

use super::pages::PAGE_BYTES;

/// The storage and what was written over it. Locking it shares the storage with others who only look at it.
#[derive(Debug)]
pub(crate) struct Overlay {
    file: Arc<dyn StorageBackend>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    size: u64,
    /// The file counts up to here; what was cut off stays cut off.
    file_size: u64,
    /// Pages that were written to, whole.
    pages: HashMap<u64, Box<[u8]>>,
}

impl Overlay {
    pub(crate) fn new(file: Arc<dyn StorageBackend>) -> io::Result<Overlay> {
        let size = file.len()?;
        Ok(Overlay { file, state: Mutex::new(State { size, file_size: size, pages: HashMap::new() }) })
    }

    fn file_page(&self, state: &State, page: u64) -> io::Result<Vec<u8>> {
        let start = page * PAGE_BYTES as u64;
        let count = state.file_size.saturating_sub(start).min(PAGE_BYTES as u64) as usize;
        let mut bytes = vec![0; PAGE_BYTES];
        if count > 0 {
            self.file.read(start, &mut bytes[..count])?;
        }
        Ok(bytes)
    }
}

/// Cuts a span of bytes at pages: page, place in the page, place in the span, length.
fn parts(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let within = (at % PAGE_BYTES as u64) as usize;
        let count = (length - done).min(PAGE_BYTES - within);
        let part = (at / PAGE_BYTES as u64, within, done, count);
        done += count;
        (count > 0).then_some(part)
    })
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state.lock().size)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state.lock();
        let end = offset.checked_add(out.len() as u64);
        if end.is_none_or(|end| end > state.size) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for (page, within, place, count) in parts(offset, out.len()) {
            let out = &mut out[place..place + count];
            match state.pages.get(&page) {
                Some(written) => out.copy_from_slice(&written[within..within + count]),
                None => out.copy_from_slice(&self.file_page(&state, page)?[within..within + count]),
            }
        }
        Ok(())
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        state.size = size;
        state.file_size = state.file_size.min(size);
        state.pages.retain(|page, _| page * (PAGE_BYTES as u64) < size);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state.lock();
        for (page, within, place, count) in parts(offset, bytes.len()) {
            let mut contents = match state.pages.remove(&page) {
                Some(contents) => contents,
                None => self.file_page(&state, page)?.into(),
            };
            contents[within..within + count].copy_from_slice(&bytes[place..place + count]);
            state.pages.insert(page, contents);
        }
        state.size = state.size.max(offset + bytes.len() as u64);
        Ok(())
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
}
