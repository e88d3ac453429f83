//! The second connection of a program, on which events come.
//!
//! A server tells of events on a connection that the client makes to a port which the server names. The origin makes that connection, and
//! the program makes its own to a port of the edge, where the machine's owner listens for it. What the server says travels as it stands.
//!
//! Promises: of events that the program does not take no more than [`WAITING_BYTES_MAX`] are kept; then its second connection ends.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use farbird_types::{Error, isc};
use farbird_wire::packet::{Reply, Response};

use super::Program;
use super::attachment::Auxiliary;
use super::program::Answer;
use crate::message::Ask;

/// Events that wait for the program's second connection, in bytes.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// Families of addresses as Linux, and so most servers, number them.
const FAMILY_V4: u16 = 2;
const FAMILY_V6: u16 = 10;

impl Program {
    /// Whether the program is to make a second connection: call [`Program::auxiliary_at`].
    pub fn wants_auxiliary(&self) -> bool {
        matches!(self.auxiliary, Auxiliary::Wanted { .. })
    }

    /// Says where the program can make its second connection; `None` if it cannot.
    pub fn auxiliary_at(&mut self, address: Option<SocketAddr>, now: Duration) {
        self.now = now;
        let Auxiliary::Wanted { id, response } = std::mem::take(&mut self.auxiliary) else { return };
        let response = match address {
            Some(address) => {
                self.auxiliary = Auxiliary::Open { waiting: Vec::new() };
                Response { data: socket_address(address), ..*response }
            }
            None => {
                self.ask(Ask::CloseAuxiliary);
                let error = Error::new(isc::NETWORK_ERROR).with("farlink").and(isc::NET_EVENT_LISTEN_ERR);
                Response::error(&error)
            }
        };
        let mut told = Vec::new();
        Reply::Response(response).encode(self.version(), &mut told);
        let place = self
            .answers
            .iter_mut()
            .find(|answer| matches!(answer, Answer::Asked { id: of, .. } if *of == id));
        if let Some(Answer::Asked { packets, .. }) = place {
            *packets = Some(told);
        }
        self.resume();
    }

    /// Whether the second connection goes on.
    pub fn has_auxiliary(&self) -> bool {
        !self.ended && matches!(self.auxiliary, Auxiliary::Open { .. })
    }

    /// What is to be written to the program's second connection.
    pub fn take_auxiliary(&mut self) -> Vec<u8> {
        match &mut self.auxiliary {
            Auxiliary::Open { waiting } => std::mem::take(waiting),
            _ => Vec::new(),
        }
    }

    /// The program has closed its second connection, or has not made it in time.
    pub fn auxiliary_gone(&mut self) {
        if matches!(std::mem::take(&mut self.auxiliary), Auxiliary::Open { .. }) && !self.ended {
            self.ask(Ask::CloseAuxiliary);
        }
    }

    pub(super) fn auxiliary_came(&mut self, bytes: &[u8], is_over: bool) {
        let Auxiliary::Open { waiting } = &mut self.auxiliary else { return };
        if is_over {
            self.auxiliary = Auxiliary::None;
        } else if waiting.len() + bytes.len() > WAITING_BYTES_MAX {
            self.auxiliary_gone();
        } else {
            waiting.extend_from_slice(bytes);
        }
    }
}

/// An address as a server gives it in the reply to op_connect_request: as sockets have it.
fn socket_address(address: SocketAddr) -> Vec<u8> {
    let port = address.port().to_be_bytes();
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => [&FAMILY_V4.to_le_bytes()[..], &port, &ip.octets(), &[0; 8]].concat(),
        IpAddr::V6(ip) => [&FAMILY_V6.to_le_bytes()[..], &port, &[0; 4], &ip.octets(), &[0; 4]].concat(),
    }
}
