//! How fast the line is, and how much to have under way on it.
//!
//! # What is measured
//! By the driver's clock: the delay is the shortest time from a flight's departure to its first answer; the bandwidth is
//! what arrived over the time in which it did. Bytes are those of packets as they are decoded: compression counts as a
//! faster line, which makes the window a number of bytes of rows and BLOBs, and of memory.
//!
//! # Promises
//! A clock that stands still (loopback, a virtual one between two answers) divides nothing by zero, and a program that
//! pauses makes the line look slower only for a while.

use std::collections::VecDeque;
use std::time::Duration;

use super::conversation::Ticket;

/// What is asked for at first, in bytes.
pub(super) const WINDOW_BYTES_FIRST: usize = 512 * 1024;
/// Bytes over which a bandwidth is measured, at least.
const SAMPLE_BYTES: u64 = 64 * 1024;
/// Which part of the delay that takes, at least.
const SAMPLE_SHARE: u32 = 4;
/// Flights whose first answer is waited for, of which the departure is remembered.
const DEPARTURES_MAX: usize = 64;
/// No line is believed to be faster, in bytes a second: what a clock of microseconds can tell.
const BANDWIDTH_MAX: u64 = 16 * 1024 * 1024 * 1024;

/// The line's delay and bandwidth, as far as they are known.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// The first request of each flight that is not answered, and when it left.
    departures: VecDeque<(Ticket, Duration)>,
    delay: Option<Duration>,
    /// Bytes a second.
    bandwidth: Option<u64>,
    /// Since when the line has been bringing bytes, and how many.
    burst: Option<(Duration, u64)>,
}

impl Pace {
    /// A flight leaves.
    pub(super) fn departed(&mut self, first: Ticket, now: Duration) {
        if self.departures.len() < DEPARTURES_MAX {
            self.departures.push_back((first, now));
        }
    }

    /// A packet has come: so many bytes of the answer to this question.
    pub(super) fn arrived(&mut self, ticket: Ticket, bytes: usize, now: Duration) {
        let mut begins = self.burst.is_none();
        while let Some((first, left)) = self.departures.front().copied() {
            if first > ticket {
                break;
            }
            self.departures.pop_front();
            let delay = now.saturating_sub(left);
            self.delay = Some(self.delay.map_or(delay, |shortest| shortest.min(delay)));
            begins = true;
        }
        match &mut self.burst {
            Some((since, count)) if !begins => {
                *count += bytes as u64;
                let (since, count) = (*since, *count);
                self.sample(now.saturating_sub(since), count, now);
            }
            // The line has brought these before the clock ran: only what comes behind them can be measured.
            _ => self.burst = Some((now, 0)),
        }
    }

    fn sample(&mut self, time: Duration, bytes: u64, now: Duration) {
        // What had waited for us in buffers came faster than any line: only a time that counts beside the delay tells.
        let least = self.delay.unwrap_or_default() / SAMPLE_SHARE;
        if bytes < SAMPLE_BYTES || time.is_zero() || time < least {
            return;
        }
        let rate = u128::from(bytes) * 1_000_000_000 / time.as_nanos();
        let rate = u64::try_from(rate).unwrap_or(u64::MAX).min(BANDWIDTH_MAX);
        // What was seen once is possible; a program that paused pulls it down slowly.
        self.bandwidth = Some(self.bandwidth.map_or(rate, |known| rate.max(known - known / 8)));
        self.burst = Some((now, 0));
    }

    /// What keeps the line busy while the next request travels: delay times bandwidth, twice.
    pub(super) fn window(&self) -> usize {
        let (Some(delay), Some(bandwidth)) = (self.delay, self.bandwidth) else { return 0 };
        let bytes = delay.as_nanos() * u128::from(bandwidth) * 2 / 1_000_000_000;
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }
}

/// How much of one thing is asked for ahead. It doubles with each flight, so that the number of flights grows with the
/// logarithm of what is read, and is at least what the line needs.
#[derive(Debug, Clone, Default)]
pub(super) struct Window {
    bytes: usize,
}

impl Window {
    /// A window that is as large as it may be from the start: all of it is certainly wanted.
    pub(super) fn full() -> Window {
        Window { bytes: usize::MAX / 4 }
    }

    /// How many bytes more to ask for, if so many are under way and no more than `most` may be; 0 as long as that is not
    /// worth a flight. A flight that leaves anyway is filled sooner.
    pub(super) fn room(&mut self, under_way: usize, pace: &Pace, most: usize, is_leaving: bool) -> usize {
        let is_hungry =
            if is_leaving { under_way / 3 <= self.bytes / 4 } else { self.is_half_used(under_way) };
        if !is_hungry {
            return 0;
        }
        // A first window is asked for whatever else is under way.
        let least = if self.bytes == 0 { WINDOW_BYTES_FIRST / 4 } else { 0 };
        let next = self.bytes.saturating_mul(2).max(WINDOW_BYTES_FIRST).max(pace.window());
        let next = next.min(most).max(least);
        let room = next.saturating_sub(under_way);
        if room > 0 {
            self.bytes = next;
        }
        room
    }

    /// More than this has come already; a window that was asked for is at least as large from now on.
    pub(super) fn grow(&mut self, bytes: usize) {
        if self.bytes > 0 {
            self.bytes = self.bytes.max(bytes);
        }
    }

    /// Whether half of it has been used, so that it is time to ask for more.
    pub(super) fn is_half_used(&self, under_way: usize) -> bool {
        under_way <= self.bytes / 2
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What was asked for ahead was not wanted: less next time.
    pub(super) fn shrink(&mut self) {
        self.bytes = (self.bytes / 4).min(WINDOW_BYTES_FIRST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn delay_and_bandwidth_come_from_departures_and_arrivals() {
        let mut pace = Pace::default();
        assert_eq!(pace.window(), 0);
        let tickets = Ticket::numbered(1..3);
        pace.departed(tickets[0], 5 * MS);
        pace.arrived(tickets[0], 100, 25 * MS);
        // 1,000 bytes in each millisecond.
        for step in 1..200 {
            pace.arrived(tickets[0], 1_000, (25 + step) * MS);
        }
        assert_eq!(pace.window(), 40_000);
        // A slower answer changes nothing, a pause little.
        pace.departed(tickets[1], 300 * MS);
        pace.arrived(tickets[1], 100, 400 * MS);
        pace.arrived(tickets[1], 100_000, 10_000 * MS);
        assert_eq!(pace.window(), 35_000);
    }

    #[test]
    fn a_clock_that_stands_still_measures_nothing() {
        let mut pace = Pace::default();
        let ticket = Ticket::numbered(1..2)[0];
        pace.departed(ticket, MS);
        for _ in 0..100 {
            pace.arrived(ticket, 100_000, MS);
        }
        assert_eq!(pace.window(), 0);
        pace.arrived(ticket, 1, MS + Duration::from_nanos(1));
        assert_eq!(pace.window(), 0, "no delay, no window");
    }

    #[test]
    fn windows_double_and_are_topped_up_at_half() {
        let (mut window, pace, most) = (Window::default(), Pace::default(), 4 << 20);
        let kib = |count: usize| count << 10;
        assert_eq!(window.room(0, &pace, most, false), kib(512));
        assert_eq!(window.room(kib(300), &pace, most, false), 0);
        // A flight that leaves anyway takes more along.
        assert_eq!(window.room(kib(300), &pace, most, true), kib(1024 - 300));
        assert_eq!(window.room(kib(512), &pace, most, false), kib(2048 - 512));
        assert_eq!(window.room(kib(1024), &pace, most, false), kib(4096 - 1024));
        assert_eq!(window.room(kib(2048), &pace, most, false), kib(2048), "bounded");
        window.grow(kib(100));
        assert_eq!(window.bytes(), most, "it is larger");
        window.shrink();
        assert_eq!(window.room(0, &pace, most, false), kib(1024));
        window.grow(kib(1500));
        assert_eq!(window.room(0, &pace, most, false), kib(3000), "as much again as has come");
        // Where others have taken all there is, a little is asked for nevertheless, so that everybody gets on.
        assert_eq!(Window::default().room(0, &pace, 0, false), kib(128));
        assert_eq!(Window::full().room(0, &pace, most, false), most);
    }
}
