//! What arrives: pieces of messages on their lanes, put together and counted.
//!
//! Promises: memory grows only with bytes that have arrived, and no further than the windows that the other end was told.

use std::collections::VecDeque;

use super::settings::{LinkError, Settings};
use super::traffic::{Class, Message};
use crate::frame::LANES;
use crate::message::Channel;
use crate::quick_hash::QuickMap;

/// What came on a channel and counts against its window.
#[derive(Default)]
struct Inlet {
    received_bytes: u64,
    taken_bytes: u64,
    told_bytes: u64,
}

/// A message that has arrived whole.
pub(super) struct Arrived<M> {
    pub(super) message: M,
    /// Bytes to be given back by [`super::Link::taken`] when the channel is done with it; 0: none.
    pub(super) charge: u32,
    length: u64,
}

/// The receiving side of a session.
pub(super) struct Incoming<M> {
    lanes: [Vec<u8>; LANES],
    arrived: VecDeque<Arrived<M>>,
    inlets: QuickMap<Channel, Inlet>,
    /// Whole messages.
    pub(super) messages: u64,
    received_bytes: u64,
    pub(super) taken_bytes: u64,
    told: (u64, u64),
}

impl<M: Message> Incoming<M> {
    pub(super) fn new() -> Incoming<M> {
        Incoming {
            lanes: Default::default(),
            arrived: VecDeque::new(),
            inlets: QuickMap::default(),
            messages: 0,
            received_bytes: 0,
            taken_bytes: 0,
            told: (0, 0),
        }
    }

    pub(super) fn fragment(
        &mut self,
        lane: u8,
        is_last: bool,
        bytes: &[u8],
        settings: &Settings,
    ) -> Result<(), LinkError> {
        let message = self.lanes.get_mut(usize::from(lane)).ok_or(LinkError::Misbehaved("lane"))?;
        if message.len() + bytes.len() > settings.message_bytes as usize {
            return Err(LinkError::Misbehaved("length of a message"));
        }
        message.extend_from_slice(bytes);
        if is_last {
            let message = std::mem::take(message);
            self.whole(&message, lane, settings)?;
        }
        Ok(())
    }

    fn whole(&mut self, bytes: &[u8], lane: u8, settings: &Settings) -> Result<(), LinkError> {
        let message = M::decode(bytes).map_err(|_| LinkError::Misbehaved("message"))?;
        let class = message.class();
        if class.lane() != usize::from(lane) {
            return Err(LinkError::Misbehaved("lane of a message"));
        }
        let length = bytes.len() as u64;
        self.messages += 1;
        self.received_bytes += length;
        // A message may begin as long as less than the window is under way, so each lane goes beyond it by one at most.
        let beyond = |window: u32| u64::from(window) + LANES as u64 * u64::from(settings.message_bytes);
        if self.received_bytes - self.taken_bytes > beyond(settings.window) {
            return Err(LinkError::Misbehaved("credit of the link"));
        }
        let mut charge = 0;
        if let Some(channel) = message.channel().filter(|_| class != Class::First) {
            let inlet = self.inlets.entry(channel).or_default();
            inlet.received_bytes += length;
            if inlet.received_bytes - inlet.taken_bytes > beyond(settings.channel_window) {
                return Err(LinkError::Misbehaved("credit of a channel"));
            }
            charge = u32::try_from(length).unwrap_or(u32::MAX);
        }
        self.arrived.push_back(Arrived { message, charge, length });
        Ok(())
    }

    pub(super) fn pop(&mut self) -> Option<Arrived<M>> {
        let arrived = self.arrived.pop_front()?;
        self.taken_bytes += arrived.length;
        Some(arrived)
    }

    pub(super) fn taken(&mut self, channel: Channel, charge: u32) {
        if let Some(inlet) = self.inlets.get_mut(&channel) {
            inlet.taken_bytes = inlet.received_bytes.min(inlet.taken_bytes + u64::from(charge));
        }
    }

    pub(super) fn forget(&mut self, channel: Channel) {
        self.inlets.remove(&channel);
    }

    /// The connection is lost, and with it what had come in part. All credits are to be told again.
    pub(super) fn disconnected(&mut self) {
        for lane in &mut self.lanes {
            lane.clear();
        }
        self.told = (0, 0);
        for inlet in self.inlets.values_mut() {
            inlet.told_bytes = 0;
        }
    }

    /// What the other end does not know yet: whether that is anything, and whether it waits for it perhaps.
    pub(super) fn has_news(&self, settings: &Settings) -> (bool, bool) {
        let taken = self.taken_bytes - self.told.1;
        let news = self.messages > self.told.0 || taken > 0;
        let is_urgent =
            taken >= u64::from(settings.window) / 8 || self.urgent_inlets(settings).next().is_some();
        (news || is_urgent, is_urgent)
    }

    fn urgent_inlets(&self, settings: &Settings) -> impl Iterator<Item = (Channel, u64)> {
        let least = (u64::from(settings.channel_window) / 4).max(1);
        let due = move |inlet: &Inlet| inlet.taken_bytes - inlet.told_bytes >= least;
        self.inlets
            .iter()
            .filter(move |(_, inlet)| due(inlet))
            .map(|(channel, inlet)| (*channel, inlet.taken_bytes))
    }

    /// Messages and bytes to be acknowledged, which the other end now knows.
    pub(super) fn acknowledgement(&mut self) -> Option<(u64, u64)> {
        let now = (self.messages, self.taken_bytes);
        (std::mem::replace(&mut self.told, now) != now).then_some(now)
    }

    /// Credits that are due, which the other end now knows.
    pub(super) fn credits(&mut self, settings: &Settings) -> Vec<(Channel, u64)> {
        let due: Vec<(Channel, u64)> = self.urgent_inlets(settings).collect();
        for (channel, bytes) in &due {
            if let Some(inlet) = self.inlets.get_mut(channel) {
                inlet.told_bytes = *bytes;
            }
        }
        due
    }
}
