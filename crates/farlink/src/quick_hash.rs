//! Tables whose keys are found by a quick hash: a query by key looks some eighty times into one.
//!
//! The hash has a random seed of its own for each process, so nobody can prepare keys that collide. It is for tables in memory only.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// A table of values by key.
pub type QuickMap<K, V> = HashMap<K, V, QuickState>;
/// A set.
pub type QuickSet<K> = HashSet<K, QuickState>;

/// The process's seed.
#[derive(Debug, Clone, Copy)]
pub struct QuickState {
    seed: u64,
}

impl Default for QuickState {
    fn default() -> QuickState {
        static SEED: OnceLock<u64> = OnceLock::new();
        QuickState { seed: *SEED.get_or_init(|| RandomState::new().hash_one(0_u8) | 1) }
    }
}

impl BuildHasher for QuickState {
    type Hasher = QuickHasher;

    fn build_hasher(&self) -> QuickHasher {
        QuickHasher { seed: self.seed, state: self.seed }
    }
}

/// Multiplies to 128 bits and folds both halves together.
#[derive(Debug)]
pub struct QuickHasher {
    seed: u64,
    state: u64,
}

impl QuickHasher {
    fn fold(&mut self, word: u64) {
        /// Any odd number with bits all over.
        const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
        let product = u128::from(self.state ^ word) * u128::from(self.seed.wrapping_mul(FACTOR) | 1);
        self.state = (product as u64) ^ ((product >> 64) as u64);
    }
}

impl Hasher for QuickHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.fold(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word.iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte);
            // Its length, or zeros at the end would count for nothing.
            self.fold(u64::from_le_bytes(word) ^ ((rest.len() as u64) << 56));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.fold(u64::from(number));
    }

    fn write_u16(&mut self, number: u16) {
        self.fold(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.fold(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.fold(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.fold(number as u64);
    }

    fn finish(&self) -> u64 {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_look_alike_are_told_apart() {
        let state = QuickState::default();
        let mut seen = HashSet::new();
        for number in 0..10_000_u32 {
            assert!(seen.insert(state.hash_one(number)), "{number}");
        }
        for length in 0..40 {
            for last in 0..8_u8 {
                let mut key = vec![0_u8; length];
                key.push(last);
                assert!(seen.insert(state.hash_one(&key)), "{key:?}");
            }
        }
        // The lowest bits say where a key stands, the highest which it is.
        let low = (0..4_096_u32).map(|number| state.hash_one(number) & 1_023).collect::<HashSet<_>>();
        assert!(low.len() > 900, "{} places of 1,024", low.len());
    }
}
