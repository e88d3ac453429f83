//! How messages share a link: to which channel each belongs and what it may overtake.

use crate::message::{Ask, Channel, Tell, ToEdge, ToOrigin, Unreadable};

/// What a message may overtake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Goes first; all of these keep their order among each other, across channels.
    First,
    /// Takes turns with other channels, as far as its channel has credit; keeps its order in its channel with [`Class::Last`].
    Turn,
    /// The same, but behind what takes turns on other channels.
    Last,
}

impl Class {
    pub(super) fn lane(self) -> usize {
        match self {
            Class::First => 0,
            Class::Turn => 1,
            Class::Last => 2,
        }
    }
}

/// A message of one direction.
pub trait Message: Sized {
    /// As bytes.
    fn encode(&self) -> Vec<u8>;
    /// From bytes.
    ///
    /// # Errors
    /// [`Unreadable`].
    fn decode(bytes: &[u8]) -> Result<Self, Unreadable>;
    /// Whose it is; `None` if it concerns all.
    fn channel(&self) -> Option<Channel>;
    /// What it may overtake. Messages without a channel are [`Class::First`].
    fn class(&self) -> Class;
}

impl Message for ToOrigin {
    fn encode(&self) -> Vec<u8> {
        self.encode()
    }

    fn decode(bytes: &[u8]) -> Result<ToOrigin, Unreadable> {
        ToOrigin::decode(bytes)
    }

    fn channel(&self) -> Option<Channel> {
        match self {
            ToOrigin::Open { channel, .. } | ToOrigin::On { channel, .. } | ToOrigin::Close { channel } => {
                Some(*channel)
            }
            // That channel was of another session.
            ToOrigin::Outcome { .. } => None,
        }
    }

    /// Channels have nothing to do with each other here, so each has its turn; a program that wants a statement stopped cannot wait.
    fn class(&self) -> Class {
        match self {
            ToOrigin::On { ask: Ask::Cancel { .. }, .. } | ToOrigin::Outcome { .. } => Class::First,
            _ => Class::Turn,
        }
    }
}

impl Message for ToEdge {
    fn encode(&self) -> Vec<u8> {
        self.encode()
    }

    fn decode(bytes: &[u8]) -> Result<ToEdge, Unreadable> {
        ToEdge::decode(bytes)
    }

    fn channel(&self) -> Option<Channel> {
        match self {
            ToEdge::On { channel, .. } | ToEdge::Closed { channel, .. } => Some(*channel),
            ToEdge::Welcome { .. }
            | ToEdge::Notice { .. }
            | ToEdge::Invalidate { .. }
            | ToEdge::UsersChanged
            | ToEdge::Outcome { .. }
            | ToEdge::Ticket { .. } => None,
        }
    }

    fn class(&self) -> Class {
        match self {
            ToEdge::On { tell, .. } => match tell {
                // What is pushed stays in the order in which it will be needed.
                Tell::Rows { .. } | Tell::Ahead { .. } | Tell::NotAhead { .. } | Tell::AheadRests { .. } => {
                    Class::Turn
                }
                Tell::Blob { .. } => Class::Last,
                _ => Class::First,
            },
            _ => Class::First,
        }
    }
}
