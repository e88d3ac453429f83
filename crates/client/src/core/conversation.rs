//! One connection without its socket: requests in, bytes out; bytes in, answers out.
//!
//! Answers carry no mark of their question and come in the order of the questions. So each question gets a [`Ticket`]
//! and each answer comes out with the ticket of its question: any number of questions may be under way at once.
//!
//! Promises: no I/O, no clock. Where the network cuts the bytes does not show. After a failure the connection is lost
//! and every call repeats that failure. Uses `farbird_wire`.

use std::collections::VecDeque;

use farbird_types::{Error, Result};
use farbird_wire::counters::Counters;
use farbird_wire::crypt::keys::SYMMETRIC;
use farbird_wire::crypt::{Cipher, CryptPlugin};
use farbird_wire::decoder::{Limits, ReplyDecoder};
use farbird_wire::layers::{Incoming, LayerError, Outgoing};
use farbird_wire::message::{RowRun, RunLimits};
use farbird_wire::packet::{Reply, Request};
use farbird_wire::protocol::ProtocolVersion;

use crate::error;

/// Names a question; later ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ticket(u64);

impl Ticket {
    /// The ticket of the request after this one.
    pub(crate) fn next(self) -> Ticket {
        Ticket(self.0 + 1)
    }
}

#[cfg(test)]
impl Ticket {
    /// Tickets of these numbers, for tests.
    pub(crate) fn numbered(numbers: std::ops::Range<u64>) -> Vec<Ticket> {
        numbers.map(Ticket).collect()
    }
}

/// What came from the server.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The question it answers.
    pub ticket: Ticket,
    /// What came.
    pub received: Received,
    /// Whether the question is answered with this.
    pub is_last: bool,
    /// Bytes of it, before compression.
    pub bytes: usize,
}

/// A packet, or many at a time.
#[derive(Debug, Clone, PartialEq)]
pub enum Received {
    /// A packet.
    Packet(Reply),
    /// Rows, each of which was a packet.
    Rows(RowRun),
}

/// The client's side of one connection.
#[derive(Debug)]
pub struct Conversation {
    incoming: Incoming,
    outgoing: Outgoing,
    counters: Counters,
    replies: ReplyDecoder,
    /// Packets that have not passed the layers yet.
    plain: Vec<u8>,
    /// Questions not answered yet, oldest first.
    outstanding: VecDeque<Ticket>,
    asked: u64,
    /// What encrypts the way out once the op_crypt of this ticket is answered.
    encryption: Option<(Ticket, Cipher)>,
    failure: Option<Error>,
}

impl Default for Conversation {
    fn default() -> Self {
        Conversation {
            incoming: Incoming::default(),
            outgoing: Outgoing::default(),
            counters: Counters::default(),
            replies: ReplyDecoder::new(Limits::default()),
            plain: Vec::new(),
            outstanding: VecDeque::new(),
            asked: 0,
            encryption: None,
            failure: None,
        }
    }
}

impl Conversation {
    /// The version that the server chose; the newest before it did.
    pub fn version(&self) -> ProtocolVersion {
        self.replies.version()
    }

    /// Packets, bytes and round trips so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How many questions are not answered.
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// The oldest question that is not answered.
    pub fn oldest_outstanding(&self) -> Option<Ticket> {
        self.outstanding.front().copied()
    }

    /// The request queued last.
    pub fn newest(&self) -> Ticket {
        Ticket(self.asked)
    }

    /// Bytes that wait for [`Conversation::poll_output`].
    pub fn waiting_bytes(&self) -> usize {
        self.plain.len()
    }

    /// Bytes that came and are not answers yet.
    pub fn unread_bytes(&self) -> usize {
        self.replies.unread().len()
    }

    /// Queues a request. Requests queued before the next [`Conversation::poll_output`] leave together.
    ///
    /// The ticket of a request that servers do not answer (op_disconnect, op_cancel) never comes back.
    ///
    /// # Errors
    /// The connection has failed, or the request describes more columns than a connection may know.
    pub fn send(&mut self, request: &Request) -> Result<Ticket> {
        self.check()?;
        let expected = self.replies.outstanding();
        self.replies.expect(request).map_err(|error| error::too_many_formats(&error))?;
        request.encode(self.version(), &mut self.plain);
        self.counters.packet_out();
        self.asked += 1;
        let ticket = Ticket(self.asked);
        if self.replies.outstanding() > expected {
            self.outstanding.push_back(ticket);
        }
        Ok(ticket)
    }

    /// Asks for encryption. Nothing else may be queued until the answer has come: the server changes over in between.
    ///
    /// # Errors
    /// [`LayerError::Crypt`] if the announced data does not suit the cipher; the connection has failed.
    pub fn send_crypt(&mut self, plugin: CryptPlugin, session_key: &[u8], data: &[u8]) -> Result<Ticket> {
        let cipher =
            || plugin.cipher(session_key, data).map_err(|error| error::layer(&LayerError::Crypt(error)));
        let (incoming, outgoing) = (cipher()?, cipher()?);
        let ticket = self.send(&Request::Crypt { plugin: plugin.name().into(), key: SYMMETRIC.into() })?;
        self.incoming.encrypt(incoming);
        self.encryption = Some((ticket, outgoing));
        Ok(ticket)
    }

    /// Appends the bytes to be written to the socket. Tell each write with [`Conversation::sent`].
    ///
    /// # Errors
    /// The key stream is used up.
    pub fn poll_output(&mut self, out: &mut Vec<u8>) -> Result<()> {
        self.check()?;
        if self.plain.is_empty() {
            return Ok(());
        }
        let passed = self.outgoing.send(&self.plain, &mut self.counters, out);
        self.plain.clear();
        passed.map_err(|error| self.fail(error::layer(&error)))
    }

    /// So many bytes were written.
    pub fn sent(&mut self, bytes: usize) {
        self.counters.sent(bytes);
    }

    /// Takes the bytes of one read, which are changed.
    ///
    /// # Errors
    /// Damage in compressed or encrypted bytes.
    pub fn handle_input(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.check()?;
        let (incoming, counters) = (&mut self.incoming, &mut self.counters);
        let passed = self.replies.feed_by(|plain| incoming.receive(bytes, counters, plain));
        passed.map_err(|error| self.fail(error::layer(&error)))
    }

    /// The next answer; `None` until more bytes come. What comes unasked is passed over.
    ///
    /// # Errors
    /// The server broke the protocol.
    pub fn poll_answer(&mut self) -> Result<Option<Answer>> {
        self.check()?;
        loop {
            if let (Some(run), Some(ticket)) = (self.poll_rows()?, self.outstanding.front().copied()) {
                let bytes = run.wire().len();
                return Ok(Some(Answer { ticket, received: Received::Rows(run), is_last: false, bytes }));
            }
            let unread = self.replies.unread().len();
            let answer = match self.replies.next_reply() {
                Ok(Some(answer)) => answer,
                Ok(None) if self.incoming.has_more() => {
                    let (incoming, counters) = (&mut self.incoming, &mut self.counters);
                    let passed = self.replies.feed_by(|plain| incoming.receive_more(counters, plain));
                    passed.map_err(|error| self.fail(error::layer(&error)))?;
                    continue;
                }
                Ok(None) => return Ok(None),
                Err(error) => return Err(self.fail(error::broken(&error))),
            };
            self.counters.packet_in();
            let (Some(_), Some(ticket)) = (answer.to, self.outstanding.front().copied()) else { continue };
            if answer.is_last {
                self.outstanding.pop_front();
            }
            let bytes = unread - self.replies.unread().len();
            self.change_layers(ticket, &answer.reply)?;
            let received = Received::Packet(answer.reply);
            return Ok(Some(Answer { ticket, received, is_last: answer.is_last, bytes }));
        }
    }

    /// The rows that are here, if rows come next.
    fn poll_rows(&mut self) -> Result<Option<RowRun>> {
        match self.replies.next_run(RunLimits::default()) {
            Ok(run) => {
                self.counters.packets_in(run.as_ref().map_or(0, |run| run.len() as u64));
                Ok(run)
            }
            Err(error) => Err(self.fail(error::broken(&error))),
        }
    }

    /// Switches on what the server agreed to with this packet.
    fn change_layers(&mut self, ticket: Ticket, reply: &Reply) -> Result<()> {
        let accept = match reply {
            Reply::Accept(accept) => Some(accept),
            Reply::AcceptWithData(accept) | Reply::ConditionalAccept(accept) => Some(&accept.accept),
            _ => None,
        };
        if accept.is_some_and(|accept| accept.is_compressed()) {
            self.incoming.compress();
            self.outgoing.compress();
            let (mut early, mut plain) = (self.replies.take_unread(), Vec::new());
            self.incoming
                .pass(&mut early, &mut self.counters, &mut plain)
                .map_err(|error| self.fail(error::layer(&error)))?;
            self.replies.feed(&plain);
        }
        match (reply, self.encryption.take()) {
            (Reply::Response(response), Some((asked, cipher))) if asked == ticket => {
                if response.status.is_success() {
                    self.outgoing.encrypt(cipher);
                }
            }
            (_, encryption) => self.encryption = encryption,
        }
        Ok(())
    }

    /// The connection is lost for this reason, which every later call repeats.
    pub fn fail(&mut self, error: Error) -> Error {
        self.failure.get_or_insert(error).clone()
    }

    /// Whether the connection still works.
    ///
    /// # Errors
    /// The failure by which it was lost.
    pub fn check(&self) -> Result<()> {
        match &self.failure {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }
}
