//! What happens by chance, the same in each run: whether a segment is lost and how late a burst is.
//!
//! Chance is a function of the seed, the connection's number, its direction and the place in its stream, not of the order
//! of calls: threads and timing have no influence on it.

use std::time::Duration;

use super::options::Share;
use crate::random::{fraction, mixed};

/// The chance of one direction of one connection.
#[derive(Debug, Clone)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64, connection: u64, direction: u64) -> Chance {
        Chance(mixed(mixed(mixed(seed) ^ connection) ^ direction))
    }

    /// Whether this attempt at this place fails.
    pub(super) fn happens(&self, place: u64, attempt: u32, share: Share) -> bool {
        self.fraction(place, u64::from(attempt)) < share.get()
    }

    /// How late what begins at this place is.
    pub(super) fn late(&self, place: u64, most: Duration) -> Duration {
        if most.is_zero() { Duration::ZERO } else { most.mul_f64(self.fraction(place, u64::MAX)) }
    }

    /// From 0 to less than 1.
    fn fraction(&self, place: u64, purpose: u64) -> f64 {
        fraction(mixed(mixed(self.0 ^ place) ^ purpose))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_fair_and_the_same_for_the_same_seed() {
        let share = Share::percent(10.0).unwrap();
        let losses = |seed| -> Vec<u64> {
            (0..10_000).filter(|place| Chance::new(seed, 3, 1).happens(*place, 0, share)).collect()
        };
        let lost = losses(1);
        assert!((900..1100).contains(&lost.len()), "{}", lost.len());
        assert_eq!(lost, losses(1));
        assert_ne!(lost, losses(2));
        let most = Duration::from_millis(10);
        let sum: Duration = (0..1000).map(|place| Chance::new(1, 1, 0).late(place, most)).sum();
        assert!((4500..5500).contains(&sum.as_millis()), "{sum:?}");
    }
}
