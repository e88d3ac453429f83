//! Events that databases post: what both faces do about them.
//!
//! A server tells of events on a second connection, each time once; then it has to be asked again. The first answer comes
//! at once and tells where the counts stand.
//! Source: wire-protocol 6.12 (op_connect_request, op_que_events, op_event).

use farbird_types::{Error, Result, isc};
use farbird_wire::decoder::{Limits, ReplyDecoder};
use farbird_wire::event::{EventCount, parse_events, write_events};
use farbird_wire::packet::{QueueEvents, Reply, Request};
use farbird_wire::protocol::Handle;

use crate::connection::Connection;
use crate::error;

/// Kind of a second connection: for events.
const FOR_EVENTS: u16 = 1;
/// Our number of the wait: there is one on a connection.
const WAIT: i32 = 1;
/// Bytes of the longest name.
const NAME_BYTES_MAX: usize = 255;

/// How often an event was posted since it was told of last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// Name of the event.
    pub name: String,
    /// How often; never 0.
    pub count: u32,
}

/// A wait for events, without the second connection's socket.
#[derive(Debug)]
pub(crate) struct Watch {
    connection: Connection,
    decoder: ReplyDecoder,
    /// The events with the counts that are known.
    known: Vec<EventCount>,
    /// Whether the counts are the server's.
    has_base: bool,
    /// Whether the server has been asked for the next ones.
    is_queued: bool,
    /// What has been told and not given out.
    told: Option<Vec<Posted>>,
}

impl Watch {
    pub(crate) fn new(connection: &Connection, names: &[&str]) -> Result<Watch> {
        if names.is_empty() || names.iter().any(|name| name.is_empty() || name.len() > NAME_BYTES_MAX) {
            return Err(Error::new(isc::RANDOM).with("events have names of 1 to 255 bytes"));
        }
        let known = names.iter().map(|name| EventCount { name: name.trim_end_matches(' ').into(), count: 0 });
        Ok(Watch {
            connection: connection.clone(),
            decoder: ReplyDecoder::new(Limits::default()),
            known: known.collect(),
            has_base: false,
            is_queued: false,
            told: None,
        })
    }

    /// Asks the server to listen for the second connection; gives the port.
    pub(crate) async fn port(&self) -> Result<u16> {
        let request = Request::ConnectRequest { kind: FOR_EVENTS, database: Handle::NONE, partner: 0 };
        let address = self.connection.response(&request).await?.data;
        // An address as sockets have it: the family, then the port.
        match address[..] {
            [_, _, high, low, ..] => Ok(u16::from_be_bytes([high, low])),
            _ => Err(error::unexpected("op_connect_request")),
        }
    }

    /// What there is to give out; `None` if more has to be read from the second connection. Asks the server for the next
    /// events if it has to be asked.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Posted>>> {
        if !self.is_queued {
            let request = Request::QueueEvents(QueueEvents {
                database: Handle::NONE,
                epb: write_events(&self.known),
                ast: 0,
                argument: 0,
                id: WAIT,
            });
            self.connection.response(&request).await?;
            self.is_queued = true;
        }
        Ok(self.told.take())
    }

    /// Whether the server has told where the counts stand: what is posted from now on is told.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_base && self.is_queued
    }

    /// Takes the bytes of one read from the second connection.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<()> {
        self.decoder.feed(bytes);
        while let Some(answer) = self.decoder.next_reply().map_err(|error| error::broken(&error))? {
            if let Reply::Event(events) = answer.reply {
                let counts = parse_events(&events.epb).map_err(|error| error::broken(&error))?;
                self.take(&counts);
            }
        }
        Ok(())
    }

    fn take(&mut self, counts: &[EventCount]) {
        let mut posted = Vec::new();
        for known in &mut self.known {
            let Some(new) = counts.iter().find(|new| new.name == known.name) else { continue };
            let count = new.count.wrapping_sub(known.count);
            known.count = new.count;
            if count > 0 {
                posted.push(Posted { name: String::from_utf8_lossy(&known.name).into_owned(), count });
            }
        }
        if self.has_base && !posted.is_empty() {
            self.told.get_or_insert_default().append(&mut posted);
        }
        self.has_base = true;
        self.is_queued = false;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // A connection that has failed listens to nothing.
        let _ = self.connection.shared.send(&Request::CancelEvents { database: Handle::NONE, id: WAIT });
    }
}
