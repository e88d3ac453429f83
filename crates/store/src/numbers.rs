//! Counters that never give a number twice, also over restarts: numbers are reserved in the file ahead of their use.

use parking_lot::Mutex;

use crate::Result;
use crate::store::Inner;
use crate::substrate::{Durability, Snapshot, Space, WriteBatch};

/// A persistent counter, starting at 1.
#[derive(Debug)]
pub(crate) struct Counter {
    key: &'static [u8],
    /// How many numbers one write reserves.
    step: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    next: u64,
    reserved: u64,
    /// How many writes had failed when they were reserved: a failure may have taken the reservation back.
    failures: u64,
}

impl Counter {
    /// Goes on after all numbers that may have been used.
    pub(crate) fn load(snapshot: &dyn Snapshot, key: &'static [u8], step: u64) -> Result<Counter> {
        let reserved = read_number(snapshot, key)?.unwrap_or(1);
        Ok(Counter { key, step, state: Mutex::new(State { next: reserved, reserved, failures: 0 }) })
    }

    /// The next number.
    ///
    /// # Durability
    /// A reservation is durable with the next durable batch, thus before anything durable that names the number.
    pub(crate) fn next(&self, inner: &Inner) -> Result<u64> {
        let mut state = self.state.lock();
        if state.next == state.reserved || state.failures != inner.failures() {
            let failures = inner.failures();
            let reserved = state.reserved + self.step;
            let mut batch = WriteBatch::new();
            batch.put(Space::Meta, self.key.to_vec(), reserved.to_le_bytes().to_vec());
            inner.write(batch, Durability::Relaxed)?;
            (state.reserved, state.failures) = (reserved, failures);
        }
        let number = state.next;
        state.next += 1;
        Ok(number)
    }

    /// The number that comes next.
    pub(crate) fn peek(&self) -> u64 {
        self.state.lock().next
    }

    /// Gives back what is reserved but unused, at the end.
    pub(crate) fn settle(&self, batch: &mut WriteBatch) {
        let mut state = self.state.lock();
        state.reserved = state.next;
        batch.put(Space::Meta, self.key.to_vec(), state.next.to_le_bytes().to_vec());
    }
}

/// A number in the meta space.
pub(crate) fn read_number(snapshot: &dyn Snapshot, key: &[u8]) -> Result<Option<u64>> {
    let Some(value) = snapshot.get(Space::Meta, key)? else { return Ok(None) };
    let bytes = (*value).try_into().map_err(|_| crate::StoreError::corrupt("a number of the meta space"))?;
    Ok(Some(u64::from_le_bytes(bytes)))
}
