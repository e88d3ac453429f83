//! One direction of the link as pure arithmetic: when do the bytes that a sender hands over arrive at the other end?
//!
//! A [`Line`] is what all connections share: bits a second and a queue. A [`Sender`] is one connection's TCP at its end:
//! it cuts bytes into segments, lets as many be under way as its window allows, and hears of their arrival one way back
//! later. No clock, no thread and no socket: callers say what time it is, as time since the start of the link, and events
//! are computed for the moments at which they were due, however late the caller is.

use std::collections::VecDeque;
use std::time::Duration;

use super::chance::Chance;
use super::options::PathOptions;
use super::window::Window;

/// Payload of a full segment: an MTU of 1,500 bytes without the headers of IP and of TCP with timestamps.
pub(super) const SEGMENT_BYTES: usize = 1448;
/// The headers.
const HEADER_BYTES: usize = 52;
/// Most segments that leave as one: what a network card takes from the kernel at a time.
const UNIT_SEGMENTS: u32 = 44;
/// Line time of one unit: so precise is the arrival of bytes in the middle of a long transfer.
const UNIT_TIME: Duration = Duration::from_micros(500);
/// How long a receiver may wait before it acknowledges a single segment: a probe for a lost one allows for that.
const ACKNOWLEDGEMENT_DELAY_MAX: Duration = Duration::from_millis(200);
/// Most times that one segment is lost; the next attempt arrives.
const LOSSES_MAX: u32 = 6;

/// One direction of the link, shared by all its connections.
#[derive(Debug)]
pub(super) struct Line {
    options: PathOptions,
    /// When everything that it was given has left.
    free_at: Duration,
}

impl Line {
    pub(super) fn new(options: PathOptions) -> Line {
        Line { options, free_at: Duration::ZERO }
    }

    /// From when on its queue has room.
    fn has_room_at(&self) -> Duration {
        self.free_at.saturating_sub(self.options.line_time(self.options.queue))
    }

    /// Takes a packet; when has its last bit left?
    fn pass(&mut self, now: Duration, bytes: usize) -> Duration {
        self.free_at = self.free_at.max(now) + self.options.line_time(bytes);
        self.free_at
    }
}

/// Headers of IP and UDP.
const DATAGRAM_HEADER_BYTES: usize = 28;

impl Line {
    /// Takes a datagram, the `place`-th of its flow; when is it there? `None` if it is lost, or the queue has no room for it.
    pub(super) fn datagram(
        &mut self,
        now: Duration,
        place: u64,
        chance: &Chance,
        bytes: Vec<u8>,
    ) -> Option<Delivery> {
        if self.has_room_at() > now {
            return None;
        }
        let left = self.pass(now, bytes.len() + DATAGRAM_HEADER_BYTES);
        if chance.happens(place, 0, self.options.loss) {
            return None;
        }
        let arrives = left + self.options.delay + chance.late(place, self.options.jitter);
        Some(Delivery { left: now, arrives, segments: 1, lost: 0, bytes })
    }
}

/// Bytes that have left, and when they are there.
#[derive(Debug)]
pub(super) struct Delivery {
    pub(super) left: Duration,
    pub(super) arrives: Duration,
    pub(super) segments: u32,
    pub(super) lost: u32,
    pub(super) bytes: Vec<u8>,
}

/// What a sender will hear of.
#[derive(Debug)]
struct News {
    at: Duration,
    of: NewsOf,
}

#[derive(Debug)]
enum NewsOf {
    /// So many segments have arrived. They left at this time, or it is not known which time they arrived of several.
    Arrival { left: Option<Duration>, segments: u32 },
    /// Segments that left later have arrived, this one has not.
    Loss,
}

/// The sending end of one direction of one connection.
#[derive(Debug)]
pub(super) struct Sender {
    path: PathOptions,
    /// How long an acknowledgement takes.
    way_back: Duration,
    window: Window,
    chance: Chance,
    /// Nothing leaves before the connection is there.
    opens_at: Duration,
    waiting: VecDeque<Vec<u8>>,
    waiting_bytes: usize,
    /// By time.
    news: VecDeque<News>,
    /// Payload bytes that have left.
    position: u64,
    /// When the last bytes have come through the line, and when they are there with all that was before them.
    last_through: Duration,
    last_arrival: Duration,
    /// When there is something to compute next.
    next: Option<Duration>,
}

impl Sender {
    /// A sender whose connection is there at `opens_at`.
    pub(super) fn new(
        path: PathOptions,
        way_back: Duration,
        window_bytes: usize,
        chance: Chance,
        opens_at: Duration,
    ) -> Sender {
        let round_trip = path.delay + way_back;
        // With a bandwidth the window stops to grow when the line is full: Linux leaves slow start when it sees delays
        // rise or acknowledgements spread over half a round trip (HyStart), between one and two times what is needed.
        let line_bytes =
            path.rate.map_or(usize::MAX, |rate| 2 * rate.bytes_in(round_trip).max(SEGMENT_BYTES * 10));
        let limit = u32::try_from(window_bytes.min(line_bytes) / SEGMENT_BYTES).unwrap_or(u32::MAX);
        Sender {
            window: Window::new(round_trip, limit),
            path,
            way_back,
            chance,
            opens_at,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            news: VecDeque::new(),
            position: 0,
            last_through: Duration::ZERO,
            last_arrival: Duration::ZERO,
            next: None,
        }
    }

    /// Takes what the program wrote.
    pub(super) fn push(&mut self, now: Duration, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        self.waiting_bytes += bytes.len();
        self.waiting.push_back(bytes);
        if self.next.is_none() {
            while self.hear(now) {}
            self.window.resume(now);
            self.next = Some(now.max(self.opens_at));
        }
    }

    /// Whether everything has left.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// When [`Sender::advance`] must be called next.
    pub(super) fn next(&self) -> Option<Duration> {
        self.next
    }

    /// When the end of the connection, sent at this time, is seen at the other end.
    pub(super) fn end_arrives(&self, now: Duration) -> Duration {
        self.last_arrival.max(now.max(self.opens_at) + self.path.delay)
    }

    /// Computes what has left until now.
    pub(super) fn advance(&mut self, now: Duration, line: &mut Line, out: &mut VecDeque<Delivery>) {
        while let Some(at) = self.next.filter(|at| *at <= now) {
            self.next = self.step(at, line, out);
        }
    }

    /// Sends one unit or hears of one, or says when that is possible: acknowledgements are heard of one by one, since each
    /// lets something leave and is judged by what is under way then.
    fn step(&mut self, now: Duration, line: &mut Line, out: &mut VecDeque<Delivery>) -> Option<Duration> {
        if self.waiting.is_empty() {
            return None;
        }
        let room = self.window.room();
        let line_has_room = line.has_room_at();
        if room > 0 && line_has_room <= now {
            let delivery = self.send(now, room.min(self.unit_segments()), line);
            out.push_back(delivery);
            return Some(now);
        }
        if self.hear(now) {
            return Some(now);
        }
        let news = self.news.front().map(|news| news.at);
        let room = (room > 0).then_some(line_has_room);
        [news, room].into_iter().flatten().min()
    }

    /// How many segments leave as one.
    fn unit_segments(&self) -> u32 {
        if self.path.loss.get() > 0.0 {
            return 1;
        }
        let bytes = self.path.rate.map_or(usize::MAX, |rate| rate.bytes_in(UNIT_TIME));
        u32::try_from(bytes / SEGMENT_BYTES).unwrap_or(u32::MAX).clamp(1, UNIT_SEGMENTS)
    }

    fn send(&mut self, now: Duration, segments_max: u32, line: &mut Line) -> Delivery {
        let bytes = self.take(segments_max as usize * SEGMENT_BYTES);
        let segments = u32::try_from(bytes.len().div_ceil(SEGMENT_BYTES)).unwrap_or(u32::MAX);
        let left = line.pass(now, bytes.len() + segments as usize * HEADER_BYTES);
        let start = self.position;
        self.position += bytes.len() as u64;
        self.window.sent(now, segments);
        let lost = self.losses(start);
        let late = self.chance.late(start, self.path.jitter);
        self.last_through = self.last_through.max(left + self.path.delay + late);
        let mut there = self.last_through;
        let mut sent_once = Some(now);
        if lost > 0 {
            self.expect(News { at: there + self.way_back, of: NewsOf::Loss });
            there += self.cost_of(lost);
            sent_once = None;
        }
        // Selective acknowledgements: the sender hears of what has arrived behind a gap, and goes on.
        self.expect(News { at: there + self.way_back, of: NewsOf::Arrival { left: sent_once, segments } });
        self.last_arrival = self.last_arrival.max(there);
        Delivery { left: now, arrives: self.last_arrival, segments, lost, bytes }
    }

    fn expect(&mut self, news: News) {
        let place = self.news.partition_point(|known| known.at <= news.at);
        self.news.insert(place, news);
    }

    /// How often the segment that begins in this unit is lost. Of the stream's bytes, not of its packets: which bytes are
    /// lost does not depend on how they were written.
    fn losses(&mut self, start: u64) -> u32 {
        let segment = SEGMENT_BYTES as u64;
        if self.path.loss.get() == 0.0 || start.div_ceil(segment) * segment >= self.position {
            return 0;
        }
        let index = start.div_ceil(segment);
        let is_lost = |attempt| self.chance.happens(index, attempt, self.path.loss);
        (0..LOSSES_MAX).take_while(|attempt| is_lost(*attempt)).count() as u32
    }

    /// What it costs that a segment was lost so often.
    ///
    /// With others behind it the receiver tells of the gap, and it is sent again after one round trip. The last one is
    /// missed by nobody: it is sent again after two (tail loss probe), if it was the only one plus 200 ms, but no later
    /// than after the retransmission timeout. Each further loss of it costs a timeout, twice as long each time.
    fn cost_of(&self, lost: u32) -> Duration {
        let round_trip = self.path.delay + self.way_back;
        let first = if !self.waiting.is_empty() {
            round_trip
        } else {
            let alone = self.window.in_flight() <= 1;
            let probe = round_trip * 2 + if alone { ACKNOWLEDGEMENT_DELAY_MAX } else { Duration::ZERO };
            probe.min(self.window.timeout())
        };
        (1..lost).fold(first, |cost, attempt| cost + self.window.timeout() * (1 << (attempt - 1).min(8)))
    }

    fn take(&mut self, most: usize) -> Vec<u8> {
        let bytes = match self.waiting.pop_front() {
            Some(mut first) if first.len() > most => {
                let rest = first.split_off(most);
                self.waiting.push_front(rest);
                first
            }
            Some(mut first) => {
                while first.len() < most
                    && let Some(mut next) = self.waiting.pop_front()
                {
                    let room = most - first.len();
                    if next.len() > room {
                        self.waiting.push_front(next.split_off(room));
                    }
                    first.append(&mut next);
                }
                first
            }
            None => Vec::new(),
        };
        self.waiting_bytes -= bytes.len();
        bytes
    }

    /// Hears the next news; false if there are none yet.
    fn hear(&mut self, now: Duration) -> bool {
        if self.news.front().is_none_or(|news| news.at > now) {
            return false;
        }
        let Some(news) = self.news.pop_front() else { return false };
        match news.of {
            NewsOf::Arrival { left, segments } => self.window.acknowledged(left, news.at, segments),
            NewsOf::Loss => self.window.lost(news.at),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::{Rate, Share};
    use super::*;

    const WAY: Duration = Duration::from_millis(100);

    struct End {
        sender: Sender,
        line: Line,
        out: VecDeque<Delivery>,
    }

    fn end(path: PathOptions) -> End {
        let window = 4 * 1024 * 1024;
        let sender = Sender::new(path.clone(), WAY, window, Chance::new(1, 1, 0), Duration::ZERO);
        End { sender, line: Line::new(path), out: VecDeque::new() }
    }

    fn plain() -> PathOptions {
        PathOptions { delay: WAY, ..PathOptions::default() }
    }

    impl End {
        /// Hands bytes over at this time; when has the last of them arrived?
        fn arrival(&mut self, now: Duration, bytes: usize) -> Duration {
            self.sender.push(now, vec![0; bytes]);
            while let Some(next) = self.sender.next() {
                self.sender.advance(next, &mut self.line, &mut self.out);
            }
            self.out.back().unwrap().arrives
        }
    }

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn few_bytes_take_one_way() {
        assert_eq!(end(plain()).arrival(ms(5), 100), ms(105));
    }

    #[test]
    fn many_bytes_take_a_round_trip_for_each_doubling() {
        let window = 10 * SEGMENT_BYTES;
        assert_eq!(end(plain()).arrival(ms(0), window), ms(100));
        assert_eq!(end(plain()).arrival(ms(0), window + 1), ms(300));
        assert_eq!(end(plain()).arrival(ms(0), window * 3), ms(300));
        assert_eq!(end(plain()).arrival(ms(0), window * 3 + 1), ms(500));
        assert_eq!(end(plain()).arrival(ms(0), window * 7), ms(500));
    }

    #[test]
    fn the_line_takes_its_time() {
        // 1,500 bytes for each segment at 12 Mbit/s: a millisecond.
        let path = PathOptions { rate: Some(Rate::mbit(12)), ..plain() };
        assert_eq!(end(path.clone()).arrival(ms(0), SEGMENT_BYTES * 7), ms(107));
        // Once the window is as large as the line is long nothing else counts.
        let mut end = end(path);
        let first = end.arrival(ms(0), SEGMENT_BYTES * 1000);
        let second = end.arrival(first, SEGMENT_BYTES * 1000) - first;
        assert!(second >= ms(1100) && second < ms(1110), "{second:?}");
    }

    #[test]
    fn two_connections_share_the_line() {
        let path = PathOptions { rate: Some(Rate::mbit(12)), ..plain() };
        let (mut one, mut other) = (end(path.clone()), end(path));
        one.sender.push(ms(0), vec![0; SEGMENT_BYTES * 5]);
        other.sender.push(ms(0), vec![0; SEGMENT_BYTES * 5]);
        one.sender.advance(ms(0), &mut one.line, &mut one.out);
        other.sender.advance(ms(0), &mut one.line, &mut other.out);
        assert_eq!(one.out.back().unwrap().arrives, ms(105));
        assert_eq!(other.out.back().unwrap().arrives, ms(110));
    }

    #[test]
    fn a_full_queue_holds_the_sender_back() {
        let path = PathOptions { rate: Some(Rate::mbit(12)), queue: 15_000, ..plain() };
        let mut end = end(path);
        end.sender.push(ms(0), vec![0; SEGMENT_BYTES * 100]);
        end.sender.advance(ms(0), &mut end.line, &mut end.out);
        assert!(end.line.free_at <= ms(12), "{:?}", end.line.free_at);
    }

    #[test]
    fn bytes_arrive_in_order_and_complete_whatever_happens_to_them() {
        let path = PathOptions {
            jitter: ms(30),
            loss: Share::percent(5.0).unwrap(),
            rate: Some(Rate::mbit(50)),
            ..plain()
        };
        let mut end = end(path);
        let mut sent = Vec::new();
        for turn in 0..200_u32 {
            let bytes: Vec<u8> = (0..turn * 37).map(|byte| (byte % 251) as u8).collect();
            sent.extend_from_slice(&bytes);
            end.sender.push(ms(u64::from(turn)), bytes);
        }
        while let Some(next) = end.sender.next() {
            end.sender.advance(next, &mut end.line, &mut end.out);
        }
        assert!(end.out.iter().zip(end.out.iter().skip(1)).all(|(one, next)| one.arrives <= next.arrives));
        assert!(end.out.iter().map(|unit| unit.lost).sum::<u32>() > 5);
        let received: Vec<u8> = end.out.into_iter().flat_map(|unit| unit.bytes).collect();
        assert_eq!(received, sent);
    }

    #[test]
    fn a_lost_segment_costs_a_round_trip_the_last_one_more() {
        let path = PathOptions { loss: Share::percent(1.0).unwrap(), ..plain() };
        let lost = |attempt| Chance::new(1, 1, 0).happens(attempt, 0, path.loss);
        let first = (0..).find(|segment| lost(*segment)).unwrap();
        assert!(first < 1000, "one of a hundred is lost");
        let mut end = end(path.clone());
        end.sender.window = Window::new(WAY * 2, 10_000);
        // One at a time, so that the lost one is the last: it is sent again after the timeout, 400 ms.
        for segment in 0..=first {
            let now = ms(1000) * u32::try_from(segment).unwrap();
            let took = end.arrival(now, SEGMENT_BYTES) - now;
            assert_eq!(took.as_millis(), if segment == first { 500 } else { 100 });
        }
    }

    #[test]
    fn behind_a_lost_segment_bytes_wait_but_the_sender_goes_on() {
        let path = PathOptions { loss: Share::percent(2.0).unwrap(), ..plain() };
        let mut end = end(path);
        end.arrival(ms(0), SEGMENT_BYTES * 300);
        let units: Vec<&Delivery> = end.out.iter().collect();
        let lost = units.iter().position(|unit| unit.lost > 0).unwrap();
        let (gap, behind) = (units[lost], &units[lost + 1..]);
        assert_eq!(gap.arrives, gap.left + WAY * 3, "a round trip later");
        let (held, later): (Vec<&Delivery>, Vec<&Delivery>) =
            behind.iter().partition(|unit| unit.left < gap.arrives);
        assert!(held.iter().all(|unit| unit.arrives >= gap.arrives) && !later.is_empty());
        assert!(held.iter().any(|unit| unit.left > gap.left + WAY), "sent on what was heard of others");
    }
}
