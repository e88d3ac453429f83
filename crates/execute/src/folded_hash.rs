//! The hash of tables in memory.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A quick hash with a seed of its own for each table, so that nobody can prepare keys that collide.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoldedState {
    seed: u64,
}

impl FoldedState {
    /// With a new seed.
    pub(crate) fn new() -> FoldedState {
        FoldedState { seed: RandomState::new().hash_one(0u8) | 1 }
    }
}

impl BuildHasher for FoldedState {
    type Hasher = FoldedHasher;

    fn build_hasher(&self) -> FoldedHasher {
        FoldedHasher { seed: self.seed, state: self.seed }
    }
}

/// Multiplies to 128 bits and folds both halves together.
pub(crate) struct FoldedHasher {
    seed: u64,
    state: u64,
}

impl FoldedHasher {
    fn fold(&mut self, word: u64) {
        /// Any odd number with bits all over.
        const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
        let product = u128::from(self.state ^ word) * u128::from(self.seed.wrapping_mul(FACTOR) | 1);
        self.state = (product as u64) ^ ((product >> 64) as u64);
    }
}

impl Hasher for FoldedHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word.iter_mut().zip(chunk).for_each(|(place, byte)| *place = *byte);
            self.fold(u64::from_le_bytes(word));
        }
    }

    fn write_i64(&mut self, number: i64) {
        self.fold(number as u64);
    }

    fn write_usize(&mut self, number: usize) {
        self.fold(number as u64);
    }

    fn finish(&self) -> u64 {
        self.state
    }
}
