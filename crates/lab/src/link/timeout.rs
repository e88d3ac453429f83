//! How long TCP waits for an acknowledgement: RFC 6298 as Linux computes it, from the round trips that it sees.
//!
//! Of interest here is not the timeout itself, but that pauses longer than it cost a connection its window.

use std::time::Duration;

/// Least variance that is added to the round trip, in microseconds.
const VARIANCE_MIN: i64 = 200_000;
/// Longest timeout, in microseconds.
const TIMEOUT_MAX: i64 = 120_000_000;

/// The estimate of one direction of one connection. In microseconds.
#[derive(Debug)]
pub(super) struct Timeout {
    smoothed: i64,
    /// Four times the mean deviation, the most of it within this round trip, and what is added to the round trip.
    deviation: i64,
    most_deviation: i64,
    variance: i64,
    /// The round trip ends when this segment is acknowledged.
    round_ends: u64,
}

impl Timeout {
    /// After the first round trip, which made the connection.
    pub(super) fn new(round_trip: Duration) -> Timeout {
        let smoothed = microseconds(round_trip);
        let variance = (smoothed * 2).max(VARIANCE_MIN);
        Timeout { smoothed, deviation: smoothed * 2, most_deviation: variance, variance, round_ends: 0 }
    }

    /// A round trip took so long; so many segments had been acknowledged and sent.
    pub(super) fn saw(&mut self, round_trip: Duration, acknowledged: u64, sent: u64) {
        let difference = microseconds(round_trip) - self.smoothed;
        self.smoothed += difference / 8;
        let change = difference.abs() - self.deviation / 4;
        // A round trip that becomes shorter makes the estimate less certain, but slowly.
        self.deviation += if difference < 0 && change > 0 { change / 8 } else { change };
        self.most_deviation = self.most_deviation.max(self.deviation);
        self.variance = self.variance.max(self.most_deviation);
        if acknowledged > self.round_ends {
            self.variance -= (self.variance - self.most_deviation).max(0) / 4;
            self.round_ends = sent;
            self.most_deviation = VARIANCE_MIN;
        }
    }

    pub(super) fn get(&self) -> Duration {
        let timeout = (self.smoothed + self.variance).clamp(0, TIMEOUT_MAX);
        Duration::from_micros(timeout.unsigned_abs())
    }
}

fn microseconds(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX).min(TIMEOUT_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_starts_wide_and_comes_close_to_the_round_trip() {
        let trip = Duration::from_millis(200);
        let mut timeout = Timeout::new(trip);
        assert_eq!(timeout.get(), trip * 3);
        for round in 1..100 {
            timeout.saw(trip, round, round);
        }
        let close = timeout.get() - trip;
        assert!(close >= Duration::from_millis(200) && close < Duration::from_millis(201), "{close:?}");
        // A queue makes it wide again.
        timeout.saw(trip * 2, 100, 100);
        timeout.saw(trip * 3, 101, 101);
        assert!(timeout.get() > trip * 2 + Duration::from_millis(100), "{:?}", timeout.get());
    }
}
