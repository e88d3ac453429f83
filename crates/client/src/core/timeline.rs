//! A timeline of a connection: which requests left together, when, and when their answers came.
//!
//! Kept when [`crate::Tuning::timeline_flights`] asks for it; what a waterfall of round trips is drawn from. Times are the
//! driver's ([`super::Core::set_now`]), since the start of the connection.

use std::time::Duration;

use farbird_wire::operation::Operation;

use super::conversation::Ticket;

/// Requests that left together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlightRecord {
    /// Their operations in order, such as `op_fetch`, and how many of each stood one behind the other.
    pub requests: Vec<(String, u32)>,
    /// When they left.
    pub departure: Duration,
    /// When the first bytes came that answer them; `None` if none has come by now.
    pub first_answer: Option<Duration>,
    /// When the last came.
    pub last_answer: Option<Duration>,
    /// Bytes handed to the socket.
    pub sent_bytes: u64,
    /// Bytes read from the socket while these were the oldest requests without an answer.
    pub received_bytes: u64,
    /// The newest of the requests.
    last: Ticket,
}

/// The flights of a connection, oldest first.
#[derive(Debug)]
pub(super) struct Timeline {
    /// How many are kept; later ones are not.
    flights_max: usize,
    flights: Vec<FlightRecord>,
    /// Operations queued since the last flight left.
    queued: Vec<(Operation, u32)>,
    /// Flights answered to their end.
    settled: usize,
}

impl Timeline {
    /// `None` for no flights.
    pub(super) fn new(flights_max: usize) -> Option<Timeline> {
        let timeline = Timeline { flights_max, flights: Vec::new(), queued: Vec::new(), settled: 0 };
        (flights_max > 0).then_some(timeline)
    }

    pub(super) fn queued(&mut self, operation: Operation) {
        match self.queued.last_mut() {
            Some((last, count)) if *last == operation => *count += 1,
            _ => self.queued.push((operation, 1)),
        }
    }

    /// What was queued leaves, with this request as its last.
    pub(super) fn left(&mut self, last: Ticket, bytes: usize, now: Duration) {
        let queued = std::mem::take(&mut self.queued);
        if self.flights.len() >= self.flights_max {
            return;
        }
        self.flights.push(FlightRecord {
            requests: queued.into_iter().map(|(operation, count)| (name(operation), count)).collect(),
            departure: now,
            first_answer: None,
            last_answer: None,
            sent_bytes: bytes as u64,
            received_bytes: 0,
            last,
        });
    }

    /// Bytes came.
    pub(super) fn received(&mut self, bytes: usize, now: Duration) {
        if let Some(flight) = self.flights.get_mut(self.settled) {
            flight.first_answer.get_or_insert(now);
            flight.received_bytes += bytes as u64;
        }
    }

    /// A packet was taken out of what came; `is_last` of its question.
    pub(super) fn answered(&mut self, ticket: Ticket, is_last: bool, now: Duration) {
        while let Some(flight) = self.flights.get_mut(self.settled) {
            let is_behind = flight.last < ticket;
            if !is_behind {
                flight.first_answer.get_or_insert(now);
                flight.last_answer = Some(now);
            }
            // A flight also ends when a later one is answered: its last request may be one that servers do not answer.
            let has_ended = is_behind || (is_last && flight.last == ticket);
            if !has_ended {
                return;
            }
            self.settled += 1;
            if !is_behind {
                return;
            }
        }
    }

    pub(super) fn flights(&self) -> &[FlightRecord] {
        &self.flights
    }
}

/// The wire's name of an operation: `op_open_blob2` of `OpenBlob2`.
fn name(operation: Operation) -> String {
    let mut name = String::from("op");
    for character in format!("{operation:?}").chars() {
        if character.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(character.to_ascii_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn flights_are_told_apart_and_answers_find_theirs() {
        let mut timeline = Timeline::new(2).expect("a timeline");
        let [first, second, third, fourth] = Ticket::numbered(1..5)[..] else { panic!() };
        timeline.queued(Operation::Execute);
        timeline.queued(Operation::Fetch);
        timeline.queued(Operation::Fetch);
        timeline.left(third, 80, ms(1));
        timeline.queued(Operation::OpenBlob2);
        timeline.left(fourth, 20, ms(5));
        timeline.received(100, ms(201));
        timeline.answered(first, true, ms(201));
        timeline.answered(second, true, ms(202));
        timeline.answered(third, false, ms(210));
        timeline.answered(third, true, ms(215));
        timeline.received(50, ms(220));
        timeline.answered(fourth, true, ms(220));
        timeline.queued(Operation::Commit);
        timeline.left(fourth, 8, ms(230));
        let [fetches, blob] = timeline.flights() else { panic!("{timeline:?}") };
        assert_eq!(fetches.requests, [("op_execute".to_owned(), 1), ("op_fetch".to_owned(), 2)]);
        assert_eq!((fetches.departure, fetches.first_answer), (ms(1), Some(ms(201))));
        assert_eq!((fetches.last_answer, fetches.received_bytes), (Some(ms(215)), 100));
        assert_eq!(blob.requests, [("op_open_blob2".to_owned(), 1)]);
        assert_eq!((blob.first_answer, blob.received_bytes), (Some(ms(220)), 50));
    }
}
