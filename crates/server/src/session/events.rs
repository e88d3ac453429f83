//! Events: the second connection, waits, and what is told of them.
//!
//! Source: wire-protocol.md, 6.12.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use farbird_engine::session::events::{EventCount, Listener};
use farbird_types::{Error, Result, isc};
use farbird_wire::event::{parse_events, write_events};
use farbird_wire::packet::{QueueEvents, Reply, Response};

use super::Session;
use crate::auxiliary::Auxiliary;

/// AF_INET, everywhere, and AF_INET6 on Linux: clients know those of other systems too.
const FAMILY_IPV4: u16 = 2;
const FAMILY_IPV6: u16 = 10;

/// What a session with a second connection has. The listener goes first: what it is told nobody would send.
pub(super) struct Events {
    listener: Listener,
    auxiliary: Auxiliary,
}

impl Session {
    /// Makes ready for the client's second connection. Gives its address as sockets have it, behind the attachment's
    /// handle. What the client waits for on one that it had before ends.
    ///
    /// # Errors
    /// `isc_net_event_listen_err` if no port can be had, or the client has gone.
    pub(super) fn connect_request(&mut self) -> Result<Response> {
        let listener = self.attachment()?.listen();
        self.events = None;
        // An origin in this process makes its second connection as programs on this machine do.
        let near = self.events_port.near();
        let addresses = self.output.addresses().map_err(|_| Error::new(isc::NET_EVENT_LISTEN_ERR))?;
        let (local, peer) = addresses.unwrap_or((near, near));
        let (auxiliary, address) = Auxiliary::offer(&self.events_port, local, peer.ip())?;
        self.events = Some(Events { listener, auxiliary });
        Ok(Response { data: socket_address(address, self.line.is_macos), ..Response::success() })
    }

    /// Waits for events; told of once.
    ///
    /// # Errors
    /// `isc_net_event_connect_err` without a second connection; `isc_bad_epb_form`; `isc_too_many_handles`.
    pub(super) fn queue_events(&mut self, wait: &QueueEvents) -> Result<Response> {
        self.attachment()?;
        let (id, database, version) = (wait.id, wait.database, self.output.version());
        let mut named = parse_events(&wait.epb).map_err(|_| Error::new(isc::BAD_EPB_FORM))?;
        let mut awaited = Vec::with_capacity(named.len());
        for event in &mut named {
            let length = event.name.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
            event.name.truncate(length);
            // Firebird knows names in UTF-8 only, and compares bytes; drivers say them in their own character sets.
            let name = match std::str::from_utf8(&event.name) {
                Ok(name) => Arc::from(name),
                Err(_) => Arc::from(self.decode_text(&event.name)?),
            };
            awaited.push(EventCount { name, count: event.count });
        }
        let events = self.events.as_ref().filter(|events| !events.auxiliary.is_over());
        let events = events.ok_or_else(|| Error::new(isc::NET_EVENT_CONNECT_ERR))?;
        let packets = events.auxiliary.packets();
        let tell = move |counts: Vec<EventCount>| {
            // Names as the client has said them, whatever its character set.
            for (event, now) in named.iter_mut().zip(counts) {
                event.count = now.count;
            }
            let told = QueueEvents { database, epb: write_events(&named), ast: 0, argument: 0, id };
            let mut packet = Vec::new();
            Reply::Event(told).encode(version, &mut packet);
            packets.send(packet);
        };
        events.listener.wait(id, awaited, Box::new(tell))?;
        Ok(Response::success())
    }

    /// Waits no longer.
    pub(super) fn cancel_events(&mut self, id: i32) -> Result<Response> {
        self.attachment()?;
        if let Some(events) = &self.events {
            events.listener.cancel(id);
        }
        Ok(Response::success())
    }
}

/// An address as sockets have it: `sockaddr_in` or `sockaddr_in6`. macOS keeps the length in front of a shorter family.
fn socket_address(address: SocketAddr, is_macos: bool) -> Vec<u8> {
    let mut bytes = match address.ip().to_canonical() {
        IpAddr::V4(ip) => {
            let mut bytes = FAMILY_IPV4.to_le_bytes().to_vec();
            bytes.extend(address.port().to_be_bytes());
            bytes.extend(ip.octets());
            bytes.extend([0; 8]);
            bytes
        }
        IpAddr::V6(ip) => {
            let mut bytes = FAMILY_IPV6.to_le_bytes().to_vec();
            bytes.extend(address.port().to_be_bytes());
            bytes.extend([0; 4]);
            bytes.extend(ip.octets());
            bytes.extend([0; 4]);
            bytes
        }
    };
    let length = u8::try_from(bytes.len()).unwrap_or(u8::MAX);
    if is_macos && let [first, second, ..] = &mut bytes[..] {
        (*first, *second) = (length, *first);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_sockets() {
        let v4 = "1.2.3.4:258".parse().unwrap();
        assert_eq!(socket_address(v4, false), [2, 0, 1, 2, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(socket_address(v4, true)[..4], [16, 2, 1, 2]);
        let v6 = socket_address("[::1]:258".parse().unwrap(), false);
        assert_eq!((v6.len(), &v6[..4], v6[23]), (28, &[10, 0, 1, 2][..], 1));
        assert_eq!(socket_address("[::ffff:1.2.3.4]:258".parse().unwrap(), false), socket_address(v4, false));
    }
}
