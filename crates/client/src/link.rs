//! A conversation on a blocking socket: writes what it queues, reads until the wanted answer is there.
//!
//! Answers that come before the wanted one are kept for those who ask for them later. While the server does not take
//! our bytes we take its, so neither side can block the other for ever.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use farbird_types::{Error, Result, isc};
use farbird_wire::packet::{Reply, Request, Response};

use crate::conversation::{Answer, Conversation, Ticket};
use crate::error;

/// Bytes of one read.
const READ_BYTES: usize = 128 * 1024;
/// Queued bytes that are sent without waiting for more.
const FLIGHT_BYTES: usize = 64 * 1024;
/// Most questions under way. Each answer is some tens of bytes, so all of them fit into the sockets' buffers.
const OUTSTANDING_MAX: usize = 1024;
/// How long a write waits before we look whether the server waits for us to read.
const WRITE_PATIENCE: Duration = Duration::from_millis(50);

/// What came for a question that is still to be asked for.
#[derive(Debug)]
struct Mailbox {
    ticket: Ticket,
    replies: VecDeque<Reply>,
    is_complete: bool,
}

/// A connection on which questions can be asked.
#[derive(Debug)]
pub(crate) struct Link {
    stream: TcpStream,
    /// The peer, for messages.
    peer: String,
    conversation: Conversation,
    /// Answers somebody will ask for, by rising ticket.
    mailboxes: VecDeque<Mailbox>,
    /// Bytes on their way to the socket.
    out: Vec<u8>,
    buffer: Vec<u8>,
    read_timeout: Option<Duration>,
}

impl Link {
    pub(crate) fn new(stream: TcpStream, peer: String, read_timeout: Option<Duration>) -> Result<Link> {
        let prepare = || {
            stream.set_nodelay(true)?;
            stream.set_write_timeout(Some(WRITE_PATIENCE))?;
            stream.set_read_timeout(read_timeout)
        };
        prepare().map_err(|error| error::network(&peer, isc::NET_CONNECT_ERR, &error))?;
        Ok(Link {
            stream,
            peer,
            conversation: Conversation::default(),
            mailboxes: VecDeque::new(),
            out: Vec::new(),
            buffer: vec![0; READ_BYTES],
            read_timeout,
        })
    }

    pub(crate) fn conversation(&mut self) -> &mut Conversation {
        &mut self.conversation
    }

    pub(crate) fn conversation_ref(&self) -> &Conversation {
        &self.conversation
    }

    /// Queues a request whose answer will be asked for with [`Link::next`].
    pub(crate) fn send(&mut self, request: &Request) -> Result<Ticket> {
        let ticket = self.conversation.send(request)?;
        self.expect(ticket);
        self.make_room()?;
        Ok(ticket)
    }

    /// Queues a request whose answer is of no interest.
    pub(crate) fn send_and_forget(&mut self, request: &Request) -> Result<()> {
        self.conversation.send(request)?;
        self.make_room()
    }

    /// The answer to this ticket will be asked for.
    pub(crate) fn expect(&mut self, ticket: Ticket) {
        self.mailboxes.push_back(Mailbox { ticket, replies: VecDeque::new(), is_complete: false });
    }

    /// The answer to this question is no longer of interest.
    pub(crate) fn abandon(&mut self, ticket: Ticket) {
        if let Ok(position) = self.position(ticket) {
            self.mailboxes.remove(position);
        }
    }

    fn position(&self, ticket: Ticket) -> std::result::Result<usize, usize> {
        // Answers are mostly asked for in the order of their questions.
        if self.mailboxes.front().is_some_and(|mailbox| mailbox.ticket == ticket) {
            return Ok(0);
        }
        self.mailboxes.binary_search_by_key(&ticket, |mailbox| mailbox.ticket)
    }

    /// Sends early what has become long, and takes answers when too many are under way.
    fn make_room(&mut self) -> Result<()> {
        if self.conversation.waiting_bytes() >= FLIGHT_BYTES {
            self.flush()?;
        }
        if self.conversation.outstanding() >= OUTSTANDING_MAX {
            self.flush()?;
            while self.conversation.outstanding() > OUTSTANDING_MAX / 2 {
                self.deliver_one()?;
            }
        }
        Ok(())
    }

    /// Sends what is queued.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.conversation.poll_output(&mut self.out)?;
        let mut written = 0;
        while let Some(rest) = self.out.get(written..).filter(|rest| !rest.is_empty()) {
            match self.stream.write(rest) {
                Ok(count) => {
                    self.conversation.sent(count);
                    written += count;
                }
                Err(error) if is_timeout(&error) => self.receive_if_any()?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.lost(isc::NET_WRITE_ERR, &error)),
            }
        }
        self.out.clear();
        Ok(())
    }

    /// The next packet that answers a question, sending what is queued if it is not here yet.
    ///
    /// A ticket whose last packet was given out must not be asked for again.
    pub(crate) fn next(&mut self, ticket: Ticket) -> Result<Reply> {
        if let Ok(position) = self.position(ticket)
            && let Some(mailbox) = self.mailboxes.get_mut(position)
            && let Some(reply) = mailbox.replies.pop_front()
        {
            if mailbox.is_complete && mailbox.replies.is_empty() {
                self.mailboxes.remove(position);
            }
            return Ok(reply);
        }
        loop {
            let answer = self.next_answer()?;
            if answer.ticket != ticket {
                self.deliver(answer);
                continue;
            }
            if answer.is_last {
                self.abandon(ticket);
            }
            return Ok(answer.reply);
        }
    }

    /// Takes one answer to its mailbox, waiting for it if need be.
    fn deliver_one(&mut self) -> Result<()> {
        let answer = self.next_answer()?;
        self.deliver(answer);
        Ok(())
    }

    fn deliver(&mut self, answer: Answer) {
        if let Ok(position) = self.position(answer.ticket)
            && let Some(mailbox) = self.mailboxes.get_mut(position)
        {
            mailbox.replies.push_back(answer.reply);
            mailbox.is_complete = answer.is_last;
        }
    }

    /// The next answer, whatever it answers, sending what is queued if it is not here yet.
    fn next_answer(&mut self) -> Result<Answer> {
        loop {
            if let Some(answer) = self.conversation.poll_answer()? {
                return Ok(answer);
            }
            self.flush()?;
            self.receive()?;
        }
    }

    /// One read from the socket.
    fn receive(&mut self) -> Result<()> {
        match self.stream.read(&mut self.buffer) {
            Ok(0) => Err(self.conversation.fail(error::closed(&self.peer))),
            Ok(count) => self.conversation.handle_input(self.buffer.get_mut(..count).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(self.lost(isc::NET_READ_ERR, &error)),
        }
    }

    /// One read from the socket if the server has sent something by now or does so shortly.
    fn receive_if_any(&mut self) -> Result<()> {
        let patience = |timeout| self.stream.set_read_timeout(timeout);
        patience(Some(WRITE_PATIENCE)).map_err(|error| self.lost(isc::NET_READ_ERR, &error))?;
        let read = self.stream.read(&mut self.buffer);
        self.stream
            .set_read_timeout(self.read_timeout)
            .map_err(|error| self.lost(isc::NET_READ_ERR, &error))?;
        match read {
            Ok(0) => Err(self.conversation.fail(error::closed(&self.peer))),
            Ok(count) => self.conversation.handle_input(self.buffer.get_mut(..count).unwrap_or_default()),
            Err(error) if is_timeout(&error) || error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(self.lost(isc::NET_READ_ERR, &error)),
        }
    }

    fn lost(&mut self, what: u32, error: &std::io::Error) -> Error {
        let error = error::network(&self.peer, what, error);
        self.conversation.fail(error)
    }

    /// The response to a question, as a result.
    pub(crate) fn response(&mut self, ticket: Ticket) -> Result<Response> {
        match self.next(ticket)? {
            Reply::Response(response) => checked(response),
            _ => Err(self.conversation.fail(error::unexpected("a request"))),
        }
    }

    /// Asks and waits for the response: one round trip.
    pub(crate) fn ask(&mut self, request: &Request) -> Result<Response> {
        let ticket = self.send(request)?;
        self.response(ticket)
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// The response, or the error that it carries.
pub(crate) fn checked(response: Response) -> Result<Response> {
    match response.status.error() {
        Some(error) => Err(error),
        None => Ok(response),
    }
}
