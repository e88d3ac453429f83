//! Trips and bytes on a link during a piece of work.
//!
//! How many trips a program waited for cannot be seen from what left, since a farlink's ends send without being asked. It is seen
//! from the other side: while anybody waits for an answer, nothing arrives. So trips are the time in which nothing arrived at the
//! near end, in round trips; a stream of rows adds none but its first. What slow start holds up counts as well.

use std::time::Duration;

use serde::Serialize;

use crate::link::{Burst, Direction, Link, Traffic};

/// What a link has carried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LineFigure {
    /// Time in which nothing arrived at the near end, in round trips.
    pub trips: f64,
    /// Bytes that left the near end.
    pub sent_bytes: u64,
    /// Bytes for the near end.
    pub received_bytes: u64,
    /// Connections that were made.
    pub connections: u64,
}

/// A link that is watched during a piece of work.
#[derive(Debug)]
pub struct Line<'l> {
    link: &'l Link,
    before: Traffic,
    start: Duration,
}

impl<'l> Line<'l> {
    /// Begins to watch.
    pub fn watch(link: &'l Link) -> Line<'l> {
        link.take_timeline();
        Line { link, before: link.traffic(), start: link.now() }
    }

    /// What has passed since, for work that took so long; and when, counted from its beginning.
    pub fn figure(self, elapsed: Duration) -> (LineFigure, Vec<Burst>) {
        let passed = self.link.traffic() - self.before;
        let end = self.start + elapsed;
        let bursts: Vec<Burst> = self
            .link
            .take_timeline()
            .into_iter()
            .filter(|burst| burst.sent_from < end)
            .map(|burst| since(burst, self.start))
            .collect();
        let figure = LineFigure {
            trips: silence(&bursts, elapsed).as_secs_f64() / self.link.options().round_trip().as_secs_f64(),
            sent_bytes: passed.up.bytes,
            received_bytes: passed.down.bytes,
            connections: passed.connections,
        };
        (figure, bursts)
    }
}

fn since(burst: Burst, start: Duration) -> Burst {
    Burst {
        sent_from: burst.sent_from.saturating_sub(start),
        sent_until: burst.sent_until.saturating_sub(start),
        received_from: burst.received_from.saturating_sub(start),
        received_until: burst.received_until.saturating_sub(start),
        ..burst
    }
}

/// The part of the time in which nothing arrived at the near end.
fn silence(bursts: &[Burst], elapsed: Duration) -> Duration {
    let mut arrivals: Vec<(Duration, Duration)> = bursts
        .iter()
        .filter(|burst| burst.direction == Direction::Down)
        .map(|burst| (burst.received_from, burst.received_until.min(elapsed)))
        .collect();
    arrivals.sort_unstable();
    let (mut silent, mut until) = (Duration::ZERO, Duration::ZERO);
    for (from, to) in arrivals {
        silent += from.min(elapsed).saturating_sub(until);
        until = until.max(to);
    }
    silent + elapsed.saturating_sub(until)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burst(direction: Direction, from: u64, until: u64) -> Burst {
        let milliseconds = Duration::from_millis;
        Burst {
            connection: 1,
            direction,
            sent_from: milliseconds(from),
            sent_until: milliseconds(until),
            received_from: milliseconds(from + 100),
            received_until: milliseconds(until + 100),
            bytes: 1,
        }
    }

    #[test]
    fn an_answer_that_is_waited_for_is_silence_and_a_stream_is_not() {
        let asked = [burst(Direction::Up, 0, 0), burst(Direction::Down, 100, 100)];
        assert_eq!(silence(&asked, Duration::from_millis(200)), Duration::from_millis(200));
        let streamed = [
            burst(Direction::Up, 0, 0),
            burst(Direction::Down, 100, 900),
            burst(Direction::Up, 300, 300),
            burst(Direction::Down, 500, 950),
        ];
        assert_eq!(silence(&streamed, Duration::from_millis(1_050)), Duration::from_millis(200));
        assert_eq!(silence(&[], Duration::from_millis(7)), Duration::from_millis(7));
    }

    #[test]
    fn what_came_before_the_work_began_counts_for_nothing() {
        let late = since(burst(Direction::Down, 0, 300), Duration::from_millis(350));
        assert_eq!(silence(&[late], Duration::from_millis(150)), Duration::from_millis(100));
    }
}
