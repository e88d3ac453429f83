//! How many different values there are: counted in a sample and scaled up, or sketched over all rows.

use crate::identifiers::IdMap;

/// What is known of a value of a sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// How often it came.
    pub(super) count: u32,
    /// In how many of the sample's stretches it came, but for those that begin with it.
    stretches: u32,
    last_stretch: u32,
}

/// Counts the different values of a sample of stretches of rows, by their hashes.
#[derive(Debug, Default)]
pub(super) struct DistinctSample {
    seen: IdMap<u64, Seen>,
    /// The latest stretch, and the value that it begins with.
    begun: Option<(u32, u64)>,
}

impl DistinctSample {
    /// Adds a value; gives how often it came by now.
    pub(super) fn add(&mut self, hash: u64, stretch: u32) -> u32 {
        let seen = self.seen.entry(hash).or_insert(Seen { count: 0, stretches: 0, last_stretch: u32::MAX });
        seen.count += 1;
        let first = match self.begun {
            Some((latest, first)) if latest == stretch => first,
            _ => self.begun.insert((stretch, hash)).1,
        };
        // Where equal values stand together the first ones may go on from before the stretch: they are of another one then.
        if seen.last_stretch != stretch && hash != first {
            seen.last_stretch = stretch;
            seen.stretches += 1;
        }
        seen.count
    }

    /// How often a value came, if it came in several stretches: in one alone many of a kind may stand together by chance.
    pub(super) fn count_of_spread(&self, hash: u64) -> Option<u32> {
        self.seen.get(&hash).filter(|seen| seen.stretches > 1).map(|seen| seen.count)
    }

    /// How often a value came.
    pub(super) fn count(&self, hash: u64) -> u32 {
        self.seen.get(&hash).map_or(0, |seen| seen.count)
    }

    /// How many different values there are in all, if the sample is this share of all rows (0 to 1).
    ///
    /// Rows that stand together are alike, so it is not the values that came once that tell how many were missed, but those that
    /// came in one stretch only: the "Duj1" estimator of Haas and Stokes (1998), with stretches in the place of rows.
    pub(super) fn estimate(&self, share: f64) -> f64 {
        let seen = self.seen.len() as f64;
        let (mut different, mut meetings, mut alone) = (0.0, 0.0, 0.0);
        for value in self.seen.values().filter(|value| value.stretches > 0) {
            different += 1.0;
            meetings += f64::from(value.stretches);
            alone += if value.stretches == 1 { 1.0 } else { 0.0 };
        }
        if share >= 1.0 || meetings == 0.0 {
            return seen;
        }
        seen.max(different * meetings / (meetings - alone * (1.0 - share)))
    }
}

/// Registers of a sketch: its error is 1.04 / sqrt(registers), 0.8 %.
const REGISTER_BITS: u32 = 14;

/// A HyperLogLog sketch of the different values of any number of rows (Flajolet and others, 2007; small numbers by linear
/// counting).
#[derive(Debug, Clone)]
pub(super) struct Sketch {
    registers: Box<[u8]>,
}

impl Default for Sketch {
    fn default() -> Sketch {
        Sketch { registers: vec![0; 1 << REGISTER_BITS].into_boxed_slice() }
    }
}

impl Sketch {
    /// Adds a value by its hash.
    #[inline]
    pub(super) fn add(&mut self, hash: u64) {
        let rank = ((hash << REGISTER_BITS) | 1 << (REGISTER_BITS - 1)).leading_zeros() as u8 + 1;
        if let Some(register) = self.registers.get_mut((hash >> (u64::BITS - REGISTER_BITS)) as usize) {
            *register = (*register).max(rank);
        }
    }

    /// How many different values were added, about.
    pub(super) fn estimate(&self) -> f64 {
        let count = self.registers.len() as f64;
        let sum: f64 = self.registers.iter().map(|rank| (-f64::from(*rank)).exp2()).sum();
        let raw = 0.7213 / (1.0 + 1.079 / count) * count * count / sum;
        let empty = self.registers.iter().filter(|rank| **rank == 0).count() as f64;
        let small = raw <= 2.5 * count && empty > 0.0;
        if small { (count * (count / empty).ln()).round() } else { raw.round() }
    }
}

/// Spreads the bits of a number (the finalizer of SplitMix64).
#[inline]
pub(super) fn mix(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(estimate: f64, truth: f64, tolerance: f64) -> bool {
        (estimate / truth - 1.0).abs() < tolerance
    }

    #[test]
    fn a_sketch_tells_few_and_many_values() {
        for truth in [0u64, 1, 100, 10_000, 60_000, 1_000_000] {
            let mut sketch = Sketch::default();
            for number in 0..truth {
                sketch.add(mix(number));
                sketch.add(mix(number));
            }
            let estimate = sketch.estimate();
            assert!((estimate - truth as f64).abs() <= 0.03 * truth as f64, "{truth}: {estimate}");
        }
    }

    /// Takes 100 stretches of 500 rows out of 5,000,000, whose values `of` gives.
    fn estimate_of(of: impl Fn(u64) -> u64) -> f64 {
        let mut sample = DistinctSample::default();
        for stretch in 0..100 {
            let first = u64::from(stretch) * 50_000;
            for row in first..first + 500 {
                sample.add(mix(of(row)), stretch);
            }
        }
        sample.estimate(0.01)
    }

    #[test]
    fn a_sample_tells_all_values_of_serial_clustered_and_scattered_columns() {
        assert!(is_near(estimate_of(|row| row), 5_000_000.0, 0.01));
        assert!(is_near(estimate_of(|row| row / 4), 1_250_000.0, 0.02));
        assert!(is_near(estimate_of(|row| (row + 77) / 300), 16_667.0, 0.1));
        assert!(is_near(estimate_of(|row| row / 100_000), 50.0, 0.1));
        assert!(is_near(estimate_of(|row| row % 7), 7.0, 0.001));
        assert!(is_near(estimate_of(|row| mix(row) % 1_000), 1_000.0, 0.01));
        assert!(is_near(estimate_of(|row| mix(row) % 200_000), 200_000.0, 0.1));
        assert!(is_near(estimate_of(|_| 5), 1.0, 0.001));
    }
}
