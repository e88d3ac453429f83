//! What waits to be sent: lanes, turns, credits, and what the other end has not acknowledged.
//!
//! Promises: fragments of at most [`FRAGMENT_BYTES_MAX`] bytes; first what was sent on a lost connection and may not have arrived,
//! then the lanes by their priority, none of which starves another; nothing that takes turns beyond its channel's credit.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Bound;

use super::traffic::Class;
use crate::frame::{FRAGMENT_BYTES_MAX, Frame, LANES};
use crate::message::Channel;
use crate::quick_hash::QuickMap;

/// After so many fragments of the first lane another lane has one.
const FIRST_TURNS: u32 = 8;
/// After so many fragments of channels that take turns the last lane has one.
const TURNS: u32 = 4;

/// A message as bytes.
struct Waiting {
    channel: Option<Channel>,
    class: Class,
    bytes: Vec<u8>,
}

impl Waiting {
    /// The channel against whose credit it counts.
    fn charged(&self) -> Option<Channel> {
        self.channel.filter(|_| self.class != Class::First)
    }
}

/// A message of which fragments are being sent.
struct InFlight {
    message: Waiting,
    sent: usize,
    /// It was sent on a lost connection already, and stays charged.
    is_again: bool,
}

/// What waits on a channel to have its turn.
#[derive(Default)]
struct Outlet {
    queue: VecDeque<Waiting>,
    queued_bytes: usize,
    sent_bytes: u64,
    taken_bytes: u64,
    is_in_flight: bool,
    is_forgotten: bool,
}

/// The sending side of a session.
pub(super) struct Outgoing {
    first: VecDeque<Waiting>,
    first_bytes: usize,
    outlets: QuickMap<Channel, Outlet>,
    /// Channels whose next message may be sent, for each lane.
    ready: [BTreeSet<Channel>; LANES],
    served: [Channel; LANES],
    lanes: [Option<InFlight>; LANES],
    first_turns: u32,
    turns: u32,
    /// What must be sent again before all else.
    again: VecDeque<Waiting>,
    /// Sent whole, oldest first; the first of them is message number `acknowledged`.
    unacknowledged: VecDeque<Waiting>,
    acknowledged: u64,
    sent_bytes: u64,
    taken_bytes: u64,
    window: u64,
    channel_window: u64,
}

/// An acknowledgement of what was never sent.
pub(super) struct NeverSent;

impl Outgoing {
    pub(super) fn new() -> Outgoing {
        Outgoing {
            first: VecDeque::new(),
            first_bytes: 0,
            outlets: QuickMap::default(),
            ready: Default::default(),
            served: [Channel(0); LANES],
            lanes: Default::default(),
            first_turns: 0,
            turns: 0,
            again: VecDeque::new(),
            unacknowledged: VecDeque::new(),
            acknowledged: 0,
            sent_bytes: 0,
            taken_bytes: 0,
            window: 0,
            channel_window: 0,
        }
    }

    pub(super) fn push(&mut self, channel: Option<Channel>, class: Class, bytes: Vec<u8>) {
        let message = Waiting { channel, class, bytes };
        match message.charged() {
            Some(channel) => {
                let outlet = self.outlets.entry(channel).or_default();
                outlet.queued_bytes += message.bytes.len();
                outlet.queue.push_back(message);
                self.refresh(channel);
            }
            None => {
                self.first_bytes += message.bytes.len();
                self.first.push_back(message);
            }
        }
    }

    /// Bytes that wait on a channel for their turn, and in front of it.
    pub(super) fn queued(&self, channel: Channel) -> usize {
        self.first_bytes + self.outlets.get(&channel).map_or(0, |outlet| outlet.queued_bytes)
    }

    /// Bytes of messages that are under way, and how many may be.
    pub(super) fn under_way(&self) -> (u64, u64) {
        (self.sent_bytes - self.taken_bytes, self.window)
    }

    /// Bytes that wait, on all channels.
    pub(super) fn queued_in_all(&self) -> usize {
        self.first_bytes + self.outlets.values().map(|outlet| outlet.queued_bytes).sum::<usize>()
    }

    /// Nothing more will be sent on the channel. With `is_over`, what waits on it is wanted no longer.
    pub(super) fn forget(&mut self, channel: Channel, is_over: bool) {
        if let Some(outlet) = self.outlets.get_mut(&channel) {
            outlet.is_forgotten = true;
            if is_over {
                outlet.queue.clear();
                outlet.queued_bytes = 0;
            }
            self.refresh(channel);
        }
    }

    pub(super) fn set_windows(&mut self, window: u32, channel_window: u32) {
        (self.window, self.channel_window) = (u64::from(window), u64::from(channel_window));
        let channels: Vec<Channel> = self.outlets.keys().copied().collect();
        for channel in channels {
            self.refresh(channel);
        }
    }

    pub(super) fn acknowledge(&mut self, messages: u64, taken_bytes: u64) -> Result<(), NeverSent> {
        self.drop_received(messages)?;
        if taken_bytes > self.sent_bytes {
            return Err(NeverSent);
        }
        self.taken_bytes = self.taken_bytes.max(taken_bytes);
        Ok(())
    }

    fn drop_received(&mut self, messages: u64) -> Result<(), NeverSent> {
        while self.acknowledged < messages {
            self.unacknowledged.pop_front().ok_or(NeverSent)?;
            self.acknowledged += 1;
        }
        Ok(())
    }

    pub(super) fn credit(&mut self, channel: Channel, taken_bytes: u64) -> Result<(), NeverSent> {
        if let Some(outlet) = self.outlets.get_mut(&channel) {
            if taken_bytes > outlet.sent_bytes {
                return Err(NeverSent);
            }
            outlet.taken_bytes = outlet.taken_bytes.max(taken_bytes);
            self.refresh(channel);
        }
        Ok(())
    }

    /// The connection is lost: what was being sent begins again later.
    pub(super) fn disconnected(&mut self) {
        for lane in 0..LANES {
            let Some(InFlight { message, is_again, .. }) = self.lanes[lane].take() else { continue };
            if is_again {
                // It is older than all that was not begun, and is put before it when the session goes on.
                self.again.push_front(message);
                continue;
            }
            self.sent_bytes -= message.bytes.len() as u64;
            match message.charged() {
                Some(channel) => {
                    let outlet = self.outlets.entry(channel).or_default();
                    outlet.sent_bytes -= message.bytes.len() as u64;
                    outlet.is_in_flight = false;
                    outlet.queued_bytes += message.bytes.len();
                    outlet.queue.push_front(message);
                    self.refresh(channel);
                }
                None => {
                    self.first_bytes += message.bytes.len();
                    self.first.push_front(message);
                }
            }
        }
    }

    /// The session goes on: the other end has got so many whole messages.
    pub(super) fn resume(&mut self, received: u64) -> Result<(), NeverSent> {
        self.drop_received(received)?;
        // What was about to be sent again when the connection was lost once more is newer than what it was sent after.
        let mut again = std::mem::take(&mut self.unacknowledged);
        again.append(&mut self.again);
        self.again = again;
        Ok(())
    }

    /// Appends fragments until `out` has `bytes_max` or nothing more may be sent.
    pub(super) fn fill(&mut self, bytes_max: usize, out: &mut Vec<u8>) {
        while out.len() < bytes_max {
            let Some(lane) = self.choose() else { return };
            let Some(flight) = &mut self.lanes[lane] else { return };
            let rest = &flight.message.bytes[flight.sent..];
            let piece = &rest[..rest.len().min(FRAGMENT_BYTES_MAX)];
            let is_last = piece.len() == rest.len();
            let lane_number = u8::try_from(lane).unwrap_or(0);
            Frame::Fragment { lane: lane_number, is_last, bytes: piece }.encode(out);
            flight.sent += piece.len();
            if is_last {
                self.sent_whole(lane);
            }
        }
    }

    /// Whether there is anything that may be sent now.
    pub(super) fn has_work(&self) -> bool {
        self.lanes.iter().any(Option::is_some)
            || !self.again.is_empty()
            || self.may_begin(self.window) && !self.first.is_empty()
            || self.may_begin(self.turn_window()) && self.ready.iter().any(|ready| !ready.is_empty())
    }

    fn sent_whole(&mut self, lane: usize) {
        let Some(flight) = self.lanes[lane].take() else { return };
        if let Some(channel) = flight.message.charged() {
            if let Some(outlet) = self.outlets.get_mut(&channel) {
                outlet.is_in_flight = false;
            }
            self.refresh(channel);
        }
        self.unacknowledged.push_back(flight.message);
    }

    /// The lane that has the next fragment, with a message in it.
    fn choose(&mut self) -> Option<usize> {
        if let Some(lane) =
            self.lanes.iter().position(|lane| lane.as_ref().is_some_and(|flight| flight.is_again))
        {
            return Some(lane);
        }
        if let Some(message) = self.again.pop_front() {
            let lane = message.class.lane();
            self.lanes[lane] = Some(InFlight { message, sent: 0, is_again: true });
            return Some(lane);
        }
        let [first, turn, last] = [0, 1, 2].map(|lane| self.is_ready(lane));
        let lane = if first && (self.first_turns < FIRST_TURNS || !(turn || last)) {
            0
        } else if turn && (self.turns < TURNS || !last) {
            1
        } else if last {
            2
        } else {
            return None;
        };
        match lane {
            0 => self.first_turns = self.first_turns.saturating_add(1),
            1 => (self.first_turns, self.turns) = (0, self.turns.saturating_add(1)),
            _ => (self.first_turns, self.turns) = (0, 0),
        }
        if self.lanes[lane].is_none() {
            self.begin(lane)?;
        }
        Some(lane)
    }

    fn is_ready(&self, lane: usize) -> bool {
        if self.lanes[lane].is_some() {
            return true;
        }
        match lane {
            0 => !self.first.is_empty() && self.may_begin(self.window),
            _ => !self.ready[lane].is_empty() && self.may_begin(self.turn_window()),
        }
    }

    /// What goes first finds some of the window left over.
    fn turn_window(&self) -> u64 {
        self.window - self.window / 4
    }

    fn may_begin(&self, window: u64) -> bool {
        self.sent_bytes - self.taken_bytes < window
    }

    fn begin(&mut self, lane: usize) -> Option<()> {
        let message = if lane == Class::First.lane() {
            let message = self.first.pop_front()?;
            self.first_bytes -= message.bytes.len();
            message
        } else {
            let after = (Bound::Excluded(self.served[lane]), Bound::Unbounded);
            let channel = *self.ready[lane].range(after).next().or_else(|| self.ready[lane].first())?;
            self.served[lane] = channel;
            let outlet = self.outlets.get_mut(&channel)?;
            let message = outlet.queue.pop_front()?;
            outlet.queued_bytes -= message.bytes.len();
            outlet.sent_bytes += message.bytes.len() as u64;
            outlet.is_in_flight = true;
            self.refresh(channel);
            message
        };
        self.sent_bytes += message.bytes.len() as u64;
        self.lanes[lane] = Some(InFlight { message, sent: 0, is_again: false });
        Some(())
    }

    /// Brings `ready` up to date for a channel, and lets go of one that has nothing left to say.
    fn refresh(&mut self, channel: Channel) {
        for ready in &mut self.ready {
            ready.remove(&channel);
        }
        let Some(outlet) = self.outlets.get(&channel) else { return };
        match outlet.queue.front() {
            Some(next)
                if !outlet.is_in_flight && outlet.sent_bytes - outlet.taken_bytes < self.channel_window =>
            {
                self.ready[next.class.lane()].insert(channel);
            }
            None if outlet.is_forgotten && !outlet.is_in_flight => {
                self.outlets.remove(&channel);
            }
            _ => {}
        }
    }
}
