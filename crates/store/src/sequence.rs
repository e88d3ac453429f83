//! Sequences (generators): outside of transactions, and never giving a value twice, not even over a crash.
//!
//! Values are reserved in the file before they are given, in batches that double while a sequence is in demand. After
//! a crash a sequence goes on behind its reservation; a close writes the exact value.
//!
//! Each sequence has a lock of its own, held while a reservation is written: whoever wants a value of that very sequence
//! could not go on without it. The others are not held up.

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use crate::identifiers::IdMap;
use crate::store::{Inner, Store};
use crate::substrate::{ALL_KEYS, Direction, Durability, Space, SubstrateState, WriteBatch};
use crate::{Result, SequenceId, StoreError};

/// Calls that the first reservation covers.
const RESERVED_CALLS_MIN: u64 = 32;
/// Calls that a reservation covers at most.
const RESERVED_CALLS_MAX: u64 = 1 << 17;

/// All sequences that have a value.
#[derive(Debug, Default)]
pub(crate) struct Sequences {
    states: RwLock<IdMap<SequenceId, Arc<Mutex<State>>>>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    value: i64,
    /// Values of this many more calls with `step` are reserved in the file.
    calls_left: u64,
    step: i64,
    /// Size of the next reservation in calls.
    demand: u64,
}

impl State {
    fn at(value: i64) -> State {
        State { value, calls_left: 0, step: 0, demand: RESERVED_CALLS_MIN }
    }

    /// The value as far as it is reserved.
    fn reserved(&self) -> i64 {
        self.value.wrapping_add(self.step.wrapping_mul(self.calls_left as i64))
    }
}

fn put(batch: &mut WriteBatch, sequence: SequenceId, value: i64) {
    batch.put(Space::Sequences, sequence.0.to_be_bytes().to_vec(), value.to_le_bytes().to_vec());
}

impl Sequences {
    pub(crate) fn load(snapshot: &dyn SubstrateState) -> Result<Sequences> {
        let mut states = IdMap::default();
        for entry in snapshot.scan(Space::Sequences, ALL_KEYS, Direction::Forward)? {
            let (key, value) = entry?;
            match ((*key).try_into(), (*value).try_into()) {
                (Ok(key), Ok(value)) => {
                    let value = i64::from_le_bytes(value);
                    let state = Arc::new(Mutex::new(State::at(value)));
                    states.insert(SequenceId(u32::from_be_bytes(key)), state);
                }
                _ => return Err(StoreError::corrupt("a sequence")),
            }
        }
        Ok(Sequences { states: RwLock::new(states) })
    }

    /// The state of a sequence; made if there is none.
    fn state(&self, sequence: SequenceId) -> Arc<Mutex<State>> {
        if let Some(known) = self.states.read().get(&sequence) {
            return Arc::clone(known);
        }
        Arc::clone(self.states.write().entry(sequence).or_insert_with(|| Arc::new(Mutex::new(State::at(0)))))
    }

    fn next(&self, inner: &Inner, sequence: SequenceId, step: i64) -> Result<i64> {
        let state = self.state(sequence);
        let mut state = state.lock();
        if step == 0 {
            return Ok(state.value);
        }
        if state.calls_left == 0 || state.step != step {
            let reserved = State { step, calls_left: state.demand, ..*state };
            let mut batch = WriteBatch::new();
            put(&mut batch, sequence, reserved.reserved());
            inner.write(batch, Durability::Durable)?;
            *state = State { demand: (state.demand * 2).min(RESERVED_CALLS_MAX), ..reserved };
        }
        state.value = state.value.wrapping_add(step);
        state.calls_left -= 1;
        Ok(state.value)
    }

    /// Writes exact values, at the end.
    pub(crate) fn settle(&self, batch: &mut WriteBatch) {
        for (sequence, state) in &*self.states.read() {
            let mut state = state.lock();
            if state.calls_left > 0 {
                put(batch, *sequence, state.value);
                state.calls_left = 0;
            }
        }
    }
}

impl Store {
    /// Advances a sequence by `step` and gives its new value; wraps around as Firebird's do.
    /// Not part of any transaction. A value is never given twice, not even over a crash.
    ///
    /// # Durability
    /// Values are reserved durably in growing batches; most calls touch memory only. A crash leaves a gap.
    pub fn sequence_next(&self, sequence: SequenceId, step: i64) -> Result<i64> {
        self.inner.sequences.next(&self.inner, sequence, step)
    }

    /// The current value: the one that the latest `sequence_next` gave; 0 if there never was one.
    pub fn sequence_value(&self, sequence: SequenceId) -> Result<i64> {
        let states = self.inner.sequences.states.read();
        Ok(states.get(&sequence).map_or(0, |state| state.lock().value))
    }

    /// Sets the current value. Durable when it returns.
    pub fn sequence_set(&self, sequence: SequenceId, value: i64) -> Result<()> {
        let state = self.inner.sequences.state(sequence);
        let mut state = state.lock();
        let mut batch = WriteBatch::new();
        put(&mut batch, sequence, value);
        self.inner.write(batch, Durability::Durable)?;
        *state = State::at(value);
        Ok(())
    }

    /// The current values of all sequences that have one, by number.
    pub(crate) fn sequence_values(&self) -> Vec<(SequenceId, i64)> {
        let states = self.inner.sequences.states.read();
        let mut values: Vec<_> =
            states.iter().map(|(sequence, state)| (*sequence, state.lock().value)).collect();
        values.sort_unstable_by_key(|(sequence, _)| *sequence);
        values
    }

    /// Forgets a dropped sequence.
    pub fn sequence_drop(&self, sequence: SequenceId) -> Result<()> {
        let state = self.inner.sequences.state(sequence);
        let _state = state.lock();
        let mut batch = WriteBatch::new();
        batch.delete(Space::Sequences, sequence.0.to_be_bytes().to_vec());
        self.inner.write(batch, Durability::Durable)?;
        self.inner.sequences.states.write().remove(&sequence);
        Ok(())
    }
}
