//! How much TCP lets be under way: the congestion window as Linux keeps it with CUBIC, in segments.
//!
//! Slow start: 10 segments first, one more for each that is acknowledged, so twice as many in each round trip, as long as
//! the sender makes use of them. After a pause the window halves for each retransmission timeout that has passed. After a
//! loss it shrinks to 0.7 of itself and grows by CUBIC's curve. Source: RFC 5681, RFC 6928, RFC 2861, RFC 9438, and what
//! the kernel's TCP is seen to do (docs/lab.md).

use std::time::Duration;

use super::timeout::Timeout;

/// The window of a new connection (RFC 6928).
pub(super) const INITIAL_SEGMENTS: u32 = 10;
/// What CUBIC leaves of a window after a loss.
const CUBIC_BETA: f64 = 0.7;
/// How steep CUBIC's curve is, in segments and seconds.
const CUBIC_STEEPNESS: f64 = 0.4;

/// The window of one direction of one connection.
#[derive(Debug)]
pub(super) struct Window {
    /// How many segments may be under way.
    segments: u32,
    /// It grows no further: buffers are full, or the line is.
    limit: u32,
    /// Below it the window grows by slow start.
    threshold: u32,
    round_trip: Duration,
    in_flight: u32,
    /// Segments sent and acknowledged since the start.
    sent: u64,
    acknowledged: u64,
    usage: Usage,
    last_sent: Duration,
    timeout: Timeout,
    cubic: Option<Cubic>,
}

/// How far the sender makes use of its window (RFC 7661's question, Linux's answer).
#[derive(Debug, Default)]
struct Usage {
    /// Most segments under way within the round trip that ends when the segment `round_ends` is acknowledged.
    most: u32,
    round_ends: u64,
    /// The window was full then.
    was_full: bool,
    /// Most segments under way since the window was last made use of, and when that was.
    used: u32,
    since: Duration,
}

/// The curve on which a window grows back after a loss.
#[derive(Debug)]
struct Cubic {
    /// The window at the loss.
    peak: f64,
    started: Duration,
    /// Another loss of what was sent before this segment is the same loss.
    recovers_until: u64,
}

impl Window {
    /// A new window over a path with this round trip, of at most `limit` segments.
    pub(super) fn new(round_trip: Duration, limit: u32) -> Window {
        Window {
            segments: INITIAL_SEGMENTS.min(limit.max(1)),
            limit: limit.max(1),
            threshold: u32::MAX,
            round_trip,
            in_flight: 0,
            sent: 0,
            acknowledged: 0,
            usage: Usage::default(),
            last_sent: Duration::ZERO,
            timeout: Timeout::new(round_trip),
            cubic: None,
        }
    }

    /// How many segments may leave.
    pub(super) fn room(&self) -> u32 {
        self.segments.saturating_sub(self.in_flight)
    }

    /// How long an acknowledgement is waited for.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout.get()
    }

    /// How many segments are under way.
    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// The sender has something to send again: a pause costs it its window.
    pub(super) fn resume(&mut self, now: Duration) {
        if self.in_flight > 0 {
            return;
        }
        let mut pause = now.saturating_sub(self.last_sent);
        if self.sent == 0 || pause <= self.timeout() {
            return;
        }
        self.keep_threshold();
        let least = INITIAL_SEGMENTS.min(self.segments);
        while pause > self.timeout() && self.segments > least {
            pause -= self.timeout();
            self.segments /= 2;
        }
        self.segments = self.segments.max(least);
        self.usage.used = 0;
        self.usage.since = now;
    }

    /// So many segments have left.
    pub(super) fn sent(&mut self, now: Duration, segments: u32) {
        self.in_flight += segments;
        self.sent += u64::from(segments);
        self.last_sent = now;
        let is_full = self.in_flight >= self.segments;
        let usage = &mut self.usage;
        let is_more = !usage.was_full && self.in_flight > usage.most;
        if self.acknowledged >= usage.round_ends || is_full || is_more {
            usage.was_full = is_full;
            usage.most = self.in_flight;
            usage.round_ends = self.sent;
        }
        if self.is_made_use_of() {
            self.usage.used = 0;
            self.usage.since = now;
            return;
        }
        self.usage.used = self.usage.used.max(self.in_flight);
        if now.saturating_sub(self.usage.since) >= self.timeout() {
            self.shrink_to_use(now);
        }
    }

    /// So many segments have been acknowledged. They had left at `left`; without that they tell nothing of round trips.
    pub(super) fn acknowledged(&mut self, left: Option<Duration>, now: Duration, segments: u32) {
        self.in_flight = self.in_flight.saturating_sub(segments);
        self.acknowledged += u64::from(segments);
        if let Some(left) = left {
            self.timeout.saw(now.saturating_sub(left), self.acknowledged, self.sent);
        }
        if !self.is_made_use_of() {
            return;
        }
        if self.segments < self.threshold {
            self.segments = self.segments.saturating_add(segments).min(self.threshold);
        } else if let Some(cubic) = &self.cubic {
            self.segments = self.segments.max(cubic.window(now, self.round_trip));
        }
        self.segments = self.segments.min(self.limit);
    }

    /// A segment is found to be lost.
    pub(super) fn lost(&mut self, now: Duration) {
        if self.cubic.as_ref().is_some_and(|cubic| self.acknowledged < cubic.recovers_until) {
            return;
        }
        self.cubic = Some(Cubic {
            peak: f64::from(self.segments),
            started: now + self.round_trip,
            recovers_until: self.sent,
        });
        self.segments = ((f64::from(self.segments) * CUBIC_BETA) as u32).max(2);
        self.threshold = self.segments;
    }

    fn is_made_use_of(&self) -> bool {
        let in_slow_start = self.segments < self.threshold;
        self.usage.was_full || (in_slow_start && self.segments < self.usage.most.saturating_mul(2))
    }

    /// A sender that has not filled its window for a timeout keeps half of what it did not use.
    fn shrink_to_use(&mut self, now: Duration) {
        let used = self.usage.used.max(INITIAL_SEGMENTS);
        if used < self.segments {
            self.keep_threshold();
            self.segments = u32::midpoint(self.segments, used);
        }
        self.usage.used = 0;
        self.usage.since = now;
    }

    /// Slow start may go back to where the window was.
    fn keep_threshold(&mut self) {
        self.threshold = self.threshold.max(self.segments / 4 * 3);
    }
}

impl Cubic {
    /// The window at this time: CUBIC's curve, at least what half a segment for each round trip would give.
    fn window(&self, now: Duration, round_trip: Duration) -> u32 {
        let elapsed = now.saturating_sub(self.started).as_secs_f64();
        let back_at_peak = (self.peak * (1.0 - CUBIC_BETA) / CUBIC_STEEPNESS).cbrt();
        let curve = CUBIC_STEEPNESS * (elapsed - back_at_peak).powi(3) + self.peak;
        let trips = elapsed / round_trip.as_secs_f64().max(1e-6);
        let steady = self.peak * CUBIC_BETA + 0.53 * trips;
        curve.max(steady).clamp(2.0, f64::from(u32::MAX)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIP: Duration = Duration::from_millis(100);

    /// Sends what the window allows, then hears of all of it.
    fn full_round(window: &mut Window, now: Duration) -> u32 {
        let segments = window.room();
        window.sent(now, segments);
        for _ in 0..segments {
            window.acknowledged(Some(now), now + TRIP, 1);
        }
        segments
    }

    #[test]
    fn a_window_doubles_in_each_round_trip_up_to_its_limit() {
        let mut window = Window::new(TRIP, 100);
        let rounds: Vec<u32> = (0..6).map(|round| full_round(&mut window, TRIP * round)).collect();
        assert_eq!(rounds, [10, 20, 40, 80, 100, 100]);
    }

    #[test]
    fn a_window_that_is_not_made_use_of_does_not_grow() {
        let mut window = Window::new(TRIP, 100);
        for round in 0..20 {
            window.sent(TRIP * round, 2);
            window.acknowledged(Some(TRIP * round), TRIP * (round + 1), 2);
        }
        assert_eq!(window.room(), 10);
    }

    #[test]
    fn a_pause_halves_the_window_for_each_timeout() {
        let mut window = Window::new(TRIP, 1000);
        for round in 0..5 {
            full_round(&mut window, TRIP * round);
        }
        assert_eq!(window.room(), 320);
        let last = TRIP * 4;
        window.resume(last + window.timeout());
        assert_eq!(window.room(), 320, "no longer than a timeout");
        window.resume(last + window.timeout() * 2 + Duration::from_millis(1));
        assert_eq!(window.room(), 80);
        window.resume(last + window.timeout() * 50);
        assert_eq!(window.room(), INITIAL_SEGMENTS);
    }

    #[test]
    fn a_loss_costs_three_tenths_once_and_grows_back() {
        let mut window = Window::new(TRIP, 1000);
        for round in 0..4 {
            full_round(&mut window, TRIP * round);
        }
        assert_eq!(window.room(), 160);
        let mut now = TRIP * 4;
        window.sent(now, 160);
        window.lost(now);
        window.lost(now);
        window.acknowledged(Some(now), now + TRIP, 160);
        assert_eq!(window.room(), 112);
        for _ in 0..200 {
            now += TRIP;
            full_round(&mut window, now);
        }
        assert!(window.room() > 160);
    }
}
