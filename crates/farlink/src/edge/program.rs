//! One program's connection.

use std::sync::Arc;
use std::time::Duration;

use super::Site;
use crate::message::{Channel, Tell, ToOrigin};

/// One program's connection: Firebird's protocol on one side, messages on the other.
#[derive(Debug)]
pub struct Program {
    messages: Vec<ToOrigin>,
    output: Vec<u8>,
    ended: bool,
}

impl Program {
    /// A program that has just connected from the address `peer`.
    pub fn new(_site: Arc<Site>, _channel: Channel, _peer: String) -> Program {
        Program { messages: Vec::new(), output: Vec::new(), ended: false }
    }

    /// Bytes from the program, which may be changed. What is wrong with them ends the connection.
    pub fn receive(&mut self, _bytes: &mut [u8], _now: Duration) {}

    /// What the origin tells on the channel.
    pub fn tell(&mut self, _tell: Tell, _now: Duration) {}

    /// The origin has ended the conversation.
    pub fn closed(&mut self, _reason: &str) {
        self.ended = true;
    }

    /// The program has gone.
    pub fn disconnected(&mut self) {
        self.ended = true;
    }

    /// The link is gone, and what was on its way with it.
    pub fn link_lost(&mut self) {}

    /// There is a link again.
    pub fn link_restored(&mut self) {}

    /// What is to be written to the program.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// What is to be sent to the origin, in this order.
    pub fn take_messages(&mut self) -> Vec<ToOrigin> {
        std::mem::take(&mut self.messages)
    }

    /// Whether the connection is over: its socket is to be closed when what was taken for it is written.
    pub fn is_ended(&self) -> bool {
        self.ended
    }
}
