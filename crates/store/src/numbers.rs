//! Counters that never give a number twice, also over restarts: numbers are reserved in the file ahead of their use.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::store::Inner;
use crate::substrate::{Durability, Space, SubstrateState, WriteBatch};
use crate::{Result, StoreError};

/// A persistent counter, starting at 1.
#[derive(Debug)]
pub(crate) struct Counter {
    key: &'static [u8],
    /// How many numbers one write reserves.
    step: u64,
    state: Mutex<State>,
    /// As `State::reserved`, to be read without waiting for one who reserves.
    reserved: AtomicU64,
}

#[derive(Debug)]
struct State {
    next: u64,
    /// Numbers below this one may be given.
    reserved: u64,
}

impl Counter {
    /// Goes on after all numbers that may have been used.
    pub(crate) fn load(snapshot: &dyn SubstrateState, key: &'static [u8], step: u64) -> Result<Counter> {
        let reserved = read_number(snapshot, key)?.unwrap_or(1);
        let state = Mutex::new(State { next: reserved, reserved });
        Ok(Counter { key, step, state, reserved: AtomicU64::new(reserved) })
    }

    /// The next number.
    ///
    /// # Durability
    /// A reservation is durable with the next durable batch, thus before anything durable that names the number.
    pub(crate) fn next(&self, inner: &Inner) -> Result<u64> {
        self.take(inner, Err)
    }

    /// As [`Counter::next`], but numbers are also given while nothing can be written: the next write that succeeds
    /// reserves them before anything names them.
    pub(crate) fn next_anyway(&self, inner: &Inner) -> Result<u64> {
        self.take(inner, |_| Ok(()))
    }

    fn take(&self, inner: &Inner, unreserved: impl FnOnce(StoreError) -> Result<()>) -> Result<u64> {
        let mut state = self.state.lock();
        if state.next == state.reserved {
            let reserved = state.reserved + self.step;
            let mut batch = WriteBatch::new();
            batch.put(Space::Meta, self.key.to_vec(), reserved.to_le_bytes().to_vec());
            inner.write(batch, Durability::Relaxed).or_else(unreserved)?;
            state.reserved = reserved;
            self.reserved.store(reserved, Ordering::SeqCst);
        }
        let number = state.next;
        state.next += 1;
        Ok(number)
    }

    /// Reserves again all that was: a failed write may have taken it back.
    pub(crate) fn reserve_again(&self, batch: &mut WriteBatch) {
        let reserved = self.reserved.load(Ordering::SeqCst);
        batch.put(Space::Meta, self.key.to_vec(), reserved.to_le_bytes().to_vec());
    }

    /// The number that comes next.
    pub(crate) fn peek(&self) -> u64 {
        self.state.lock().next
    }

    /// Gives back what is reserved but unused, at the end.
    pub(crate) fn settle(&self, batch: &mut WriteBatch) {
        let mut state = self.state.lock();
        state.reserved = state.next;
        self.reserved.store(state.next, Ordering::SeqCst);
        batch.put(Space::Meta, self.key.to_vec(), state.next.to_le_bytes().to_vec());
    }
}

/// A number in the meta space.
pub(crate) fn read_number(snapshot: &dyn SubstrateState, key: &[u8]) -> Result<Option<u64>> {
    let Some(value) = snapshot.get(Space::Meta, key)? else { return Ok(None) };
    let bytes = (*value).try_into().map_err(|_| crate::StoreError::corrupt("a number of the meta space"))?;
    Ok(Some(u64::from_le_bytes(bytes)))
}
