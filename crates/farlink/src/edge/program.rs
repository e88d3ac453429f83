//! One program's connection: requests in, answers out in their order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use farbird_types::{Error, isc};
use farbird_wire::counters::Counters as WireCounters;
use farbird_wire::decoder::{Limits as DecoderLimits, RequestDecoder};
use farbird_wire::layers::{Incoming, Outgoing};
use farbird_wire::packet::{Reply, Request, Response};
use farbird_wire::protocol::ProtocolVersion;
use farbird_wire::xdr::DecodeError;

use super::Site;
use super::attachment::{Attachment, Auxiliary, Login};
use super::bond::AttachingAgain;
use super::counters::Saved;
use super::effect::Effect;
use super::held::Held;
use super::objects::Objects;
use super::record::{Record, Recorder, Standing};
use super::waiting::{UNREAD_BYTES_MAX, Waiting};
use crate::message::{Ask, Channel, Cursor, RequestId, Tell, Ticket, ToOrigin};
use crate::quick_hash::QuickMap;
use crate::speculation::Speculator;

/// Bytes for the program that are made without a look at whether it takes any: compressed requests can be a thousand times longer than what
/// came.
const UNTAKEN_BYTES_MAX: usize = 256 << 10;
/// As long are most requests: longer ones grow.
const PACKET_BYTES: usize = 128;

/// One program's connection: Firebird's protocol on one side, messages on the other.
#[derive(Debug)]
pub struct Program {
    pub(super) site: Arc<Site>,
    pub(super) channel: Channel,
    pub(super) peer: String,

    pub(super) incoming: Incoming,
    pub(super) outgoing: Outgoing,
    pub(super) wire: WireCounters,
    pub(super) decoder: RequestDecoder,
    pub(super) login: Login,
    pub(super) attachment: Option<Attachment>,

    pub(super) objects: Objects,
    /// Whose rows or BLOB an opening is: the statement's or the BLOB's handle.
    pub(super) openings: QuickMap<Cursor, u16>,
    /// Answers that have not left, in the order of the requests.
    pub(super) answers: VecDeque<Answer>,
    /// Requests of the edge's own: what their replies change.
    pub(super) own: QuickMap<RequestId, Effect>,
    next_request: u32,
    next_cursor: u32,
    /// How many requests the program has made.
    pub(super) requests: u64,
    /// How many asks have been sent on this channel.
    pub(super) asked: u32,
    /// Bytes that were written quietly into BLOBs since a request was last waited for.
    pub(super) quiet_bytes: usize,
    /// Bytes of writes that were answered as done and are not.
    pub(super) unanswered_bytes: usize,
    /// Bytes of rows that the origin may send, of all cursors.
    pub(super) granted_rows: usize,
    /// Bytes of rows that have come and are in memory.
    pub(super) rows_in_memory: Arc<AtomicUsize>,
    /// Bytes of BLOBs that are kept.
    pub(super) blob_bytes: usize,
    /// BLOBs made in the transaction before.
    pub(super) blobs_before: usize,
    pub(super) now: Duration,
    /// Keeps what it did lately, for those who look on.
    pub(super) recorder: Recorder,
    /// What is run ahead for it, and what that gave.
    pub(super) speculator: Option<Box<Speculator>>,
    /// An execution whose result is on its way.
    pub(super) held: Option<Box<Held>>,
    /// Requests that have come before it was their turn.
    pub(super) waiting: Waiting,
    /// The second connection, on which events come.
    pub(super) auxiliary: Auxiliary,
    /// The site's count of changed definitions, when it was looked at last.
    pub(super) definitions: u64,

    pub(super) messages: Vec<ToOrigin>,
    /// Packets for the program, not yet through the layers.
    pub(super) plain: Vec<u8>,
    /// Whether something in `plain` must not wait for more.
    pub(super) is_urgent: bool,
    output: Vec<u8>,
    pub(super) is_open: bool,
    pub(super) is_lost: bool,
    /// How far attaching again is in another session; its requests wait.
    pub(super) attaching_again: Option<AttachingAgain>,
    /// Whether the session is over that it was in, and only the outcome of a commit is waited for.
    pub(super) is_over: bool,
    pub(super) ended: bool,
}

/// The answer to a request.
#[derive(Debug)]
pub(super) enum Answer {
    /// Known.
    Ready { packets: Vec<u8>, is_lazy: bool },
    /// The server's.
    Asked { id: RequestId, effect: Option<Effect>, packets: Option<Vec<u8>> },
    /// Rows of a cursor.
    Fetch { statement: u16, cursor: Cursor, count: u16 },
    /// Something about a BLOB whose contents come: the request itself.
    Blob { request: Box<Request> },
    /// None: the program has said that it disconnects. When all before is answered its connection is closed.
    End,
}

impl Program {
    /// A program that has just connected from the address `peer`.
    pub fn new(site: Arc<Site>, channel: Channel, peer: String) -> Program {
        site.count(|counters| counters.programs += 1);
        Program {
            site,
            channel,
            peer,
            incoming: Incoming::default(),
            outgoing: Outgoing::default(),
            wire: WireCounters::default(),
            decoder: RequestDecoder::new(DecoderLimits::default()),
            login: Login::default(),
            attachment: None,
            objects: Objects::new(),
            openings: QuickMap::default(),
            answers: VecDeque::new(),
            own: QuickMap::default(),
            next_request: RequestId::CONNECT.0 + 1,
            next_cursor: 0,
            requests: 0,
            asked: 0,
            quiet_bytes: 0,
            unanswered_bytes: 0,
            granted_rows: 0,
            rows_in_memory: Arc::default(),
            blob_bytes: 0,
            blobs_before: 0,
            now: Duration::ZERO,
            recorder: Recorder::default(),
            speculator: None,
            held: None,
            waiting: Waiting::default(),
            auxiliary: Auxiliary::None,
            definitions: 0,
            messages: Vec::new(),
            plain: Vec::new(),
            is_urgent: false,
            output: Vec::new(),
            is_open: false,
            is_lost: false,
            attaching_again: None,
            is_over: false,
            ended: false,
        }
    }

    /// Bytes from the program, which may be changed. What is wrong with them ends the connection.
    pub fn receive(&mut self, bytes: &mut [u8], now: Duration) {
        self.now = now;
        self.site.set_now(now);
        if self.ended {
            return;
        }
        self.site.count(|counters| counters.received_bytes += bytes.len() as u64);
        let (incoming, wire) = (&mut self.incoming, &mut self.wire);
        let fed = self.decoder.feed_by(|plain| incoming.receive(bytes, wire, plain));
        if fed.is_err() {
            return self.end();
        }
        if self.attaching_again.is_some() && self.is_lost {
            return self.break_connection();
        }
        self.work();
    }

    /// When something is to be done by itself, if anything is: then [`Program::wake`] is to be called.
    pub fn wake_at(&self) -> Option<Duration> {
        let held = self.held.as_ref().map(|held| held.until);
        // One that is being taken is left or used when the answer comes.
        let ahead = self.login.ahead.as_ref().filter(|_| self.login.attaching.is_none());
        let ahead = ahead.map(|ahead| ahead.until);
        held.into_iter().chain(ahead).min()
    }

    /// Does what the time has come for.
    pub fn wake(&mut self, now: Duration) {
        self.now = now;
        if !self.ended {
            self.wait_no_longer();
            self.leave_old_ahead();
            self.resume();
        }
    }

    /// Answers what can be answered, and goes on with what the program has asked.
    pub(super) fn resume(&mut self) {
        self.advance();
        self.recorder.answered(self.answers.len(), self.now);
        self.work();
    }

    /// What the origin tells on the channel.
    pub fn tell(&mut self, tell: Tell, now: Duration) {
        self.now = now;
        if self.ended {
            return;
        }
        self.take(tell);
        self.resume();
    }

    /// The origin has ended the conversation.
    pub fn closed(&mut self, _reason: &str) {
        self.is_open = false;
        self.end();
    }

    /// The program has gone.
    pub fn disconnected(&mut self) {
        self.end();
    }

    /// The link has been gone for longer than transactions are to wait. A program that has something under way gets what Firebird's
    /// clients get when their connection breaks; one that has not goes on when the link is there again with the same session, as if
    /// nothing had been. One that waits for the end of a transaction goes on waiting: what became of it is told when the link is back, and
    /// nobody can tell before.
    pub fn link_lost(&mut self) {
        self.is_lost = true;
        let has_asked = !self.waiting.is_empty() || !self.decoder.unread().is_empty();
        let asks_in_vain = self.attaching_again.is_some() && has_asked;
        let has_work = !self.answers.is_empty() || asks_in_vain || self.has_transactions();
        if !self.ended && !self.awaits_outcome() && has_work {
            self.break_connection();
        }
    }

    /// Whether the program waits to hear how a transaction has ended.
    fn awaits_outcome(&self) -> bool {
        self.answers.iter().any(|answer| {
            matches!(
                answer,
                Answer::Asked {
                    effect: Some(Effect::Ended { .. } | Effect::Retained { .. }),
                    packets: None,
                    ..
                }
            )
        })
    }

    /// There is a link again, with the session that it had: nothing on the way was lost.
    pub fn link_restored(&mut self) {
        self.is_lost = false;
    }

    /// Ends the connection as a broken one ends.
    pub(super) fn break_connection(&mut self) {
        self.site.count(|counters| counters.lost += 1);
        let is_waiting = !self.answers.is_empty();
        if is_waiting && self.login.is_agreed() {
            self.answers.clear();
            let lost = Error::new(isc::NETWORK_ERROR).with("farlink").and(isc::NET_READ_ERR);
            self.put(&Reply::Response(Response::error(&lost)));
            self.is_urgent = true;
        }
        self.end();
    }

    /// Whether it waits for nothing and has no transaction: should the session with the origin be over, which is known when there is a link
    /// again, it may go on in the next if it asks for nothing before.
    pub fn is_at_rest(&mut self) -> bool {
        let is_quiet = self.answers.is_empty() && !self.login.is_waiting && !self.is_over;
        is_quiet && self.attachment.is_some() && !self.has_transactions()
    }

    /// What is to be written to the program. Requests that have waited for room go on: what they give is taken by the next call.
    pub fn take_output(&mut self) -> Vec<u8> {
        let was_full = self.has_much_output();
        if self.is_urgent || was_full {
            self.pass_output();
        }
        let output = std::mem::take(&mut self.output);
        if was_full && !self.ended {
            self.resume();
        }
        if !output.is_empty() {
            self.site.count(|counters| counters.sent_bytes += output.len() as u64);
        }
        output
    }

    /// What is to be sent to the origin, in this order.
    pub fn take_messages(&mut self) -> Vec<ToOrigin> {
        std::mem::take(&mut self.messages)
    }

    /// Whether the connection is over: its socket is to be closed when what was taken for it is written.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Whether so much waits to be answered that the program is not to be read from.
    pub fn is_full(&self) -> bool {
        let unread = self.decoder.unread().len() + self.waiting.bytes();
        (self.is_paused() || !self.waiting.is_empty()) && unread > UNREAD_BYTES_MAX
    }

    /// The database that it is attached to, if it is.
    pub fn database(&self) -> Option<&str> {
        self.attachment.as_ref().map(|attachment| attachment.file.as_str())
    }

    /// Its address.
    pub fn peer(&self) -> &str {
        &self.peer
    }

    /// How many of its requests are not answered.
    pub fn waiting(&self) -> usize {
        self.answers.len()
    }

    /// What it did lately.
    pub fn record(&self) -> Arc<Record> {
        self.recorder.record()
    }

    /// What it has open, and who it is.
    pub fn standing(&self) -> Standing {
        let mut standing = self.objects.standing();
        if let Some(attachment) = &self.attachment {
            standing.database.clone_from(&attachment.file);
            standing.process.clone_from(&attachment.process);
        }
        standing.user = String::from_utf8_lossy(&self.login.user).into_owned();
        standing.waiting = self.answers.len();
        (standing.row_bytes, standing.blob_bytes) = (self.granted_rows, self.blob_bytes);
        standing
    }

    pub(super) fn version(&self) -> ProtocolVersion {
        self.decoder.version()
    }

    fn has_much_output(&self) -> bool {
        self.plain.len() + self.output.len() >= UNTAKEN_BYTES_MAX
    }

    fn is_paused(&self) -> bool {
        self.ended
            || self.has_much_output()
            || self.is_over
            || self.attaching_again.is_some()
            || self.login.is_waiting
            || self.is_holding()
            || matches!(self.answers.back(), Some(Answer::End))
            || self.answers.len() >= self.site.limits().requests_waiting
    }

    /// Understands and answers what is here of the program's requests.
    fn work(&mut self) {
        loop {
            while !self.is_paused() {
                match self.next_request() {
                    Ok(Some(request)) => {
                        self.count_request();
                        self.request(request);
                        self.recorder.taken(self.answers.len(), self.now);
                        self.advance();
                        self.recorder.answered(self.answers.len(), self.now);
                    }
                    Ok(None) => break,
                    Err(_) => return self.end(),
                }
            }
            if self.is_paused() || !self.waiting.is_empty() {
                return self.take_cancels();
            }
            if !self.incoming.has_more() {
                return;
            }
            let (incoming, wire) = (&mut self.incoming, &mut self.wire);
            if self.decoder.feed_by(|plain| incoming.receive_more(wire, plain)).is_err() {
                return self.end();
            }
        }
    }

    /// The next request whose turn it is, if there is one.
    fn next_request(&mut self) -> Result<Option<Request>, DecodeError> {
        if self.waiting.is_empty() {
            let before = self.decoder.unread().len();
            let Some(request) = self.decoder.next_request()? else { return Ok(None) };
            if !self.must_wait(&request) {
                return Ok(Some(request));
            }
            self.waiting.push(request, before - self.decoder.unread().len());
            return Ok(None);
        }
        let is_its_turn = self.waiting.front().is_some_and(|request| !self.must_wait(request));
        Ok(if is_its_turn { self.waiting.pop() } else { None })
    }

    pub(super) fn count_request(&mut self) {
        self.site.count(|counters| counters.requests += 1);
        self.requests += 1;
    }

    /// Sends answers as far as they are known, in their order.
    pub(super) fn advance(&mut self) {
        while !self.ended
            && let Some(answer) = self.answers.pop_front()
        {
            match answer {
                Answer::Ready { packets, is_lazy } => self.send(&packets, is_lazy),
                Answer::Asked { id, packets: Some(packets), .. } => {
                    self.send(&packets, false);
                    if id == RequestId::CONNECT {
                        self.begin_compression();
                    }
                }
                Answer::Fetch { statement, cursor, count } => {
                    if !self.answer_fetch(statement, cursor, count) {
                        self.answers.push_front(Answer::Fetch { statement, cursor, count });
                        return;
                    }
                }
                Answer::Blob { request } => {
                    if !self.answer_blob(&request) {
                        self.answers.push_front(Answer::Blob { request });
                        return;
                    }
                }
                Answer::End => return self.end(),
                asked @ Answer::Asked { .. } => {
                    self.answers.push_front(asked);
                    return;
                }
            }
        }
    }

    fn send(&mut self, packets: &[u8], is_lazy: bool) {
        self.plain.extend_from_slice(packets);
        self.is_urgent |= !(is_lazy && self.login.is_lazy());
    }

    /// Adds a packet behind those that have left already.
    pub(super) fn put(&mut self, reply: &Reply) {
        let version = self.version();
        reply.encode(version, &mut self.plain);
    }

    /// Takes packets through the layers.
    pub(super) fn pass_output(&mut self) {
        self.is_urgent = false;
        let plain = std::mem::take(&mut self.plain);
        if !plain.is_empty() && self.outgoing.send(&plain, &mut self.wire, &mut self.output).is_err() {
            self.end();
        }
    }

    /// The connection is over.
    pub(super) fn end(&mut self) {
        if self.ended {
            return;
        }
        self.ended = true;
        self.recorder.ended(self.now);
        self.held = None;
        self.waiting.clear();
        self.speculate(|speculator, rules| speculator.finish(rules));
        self.speculator = None;
        self.release_memory();
        if std::mem::take(&mut self.is_open) {
            self.messages.push(ToOrigin::Close { channel: self.channel });
        }
    }

    fn release_memory(&mut self) {
        self.site.give_back_rows(std::mem::take(&mut self.granted_rows));
        self.site.give_back_blob(std::mem::take(&mut self.blob_bytes));
        self.site.give_back_writes(std::mem::take(&mut self.unanswered_bytes));
        self.answers.clear();
        self.openings.clear();
        self.objects = Objects::new();
    }

    /// The conversation at the origin begins.
    pub(super) fn open(&mut self, connect: Vec<u8>, ticket: Option<Ticket>) {
        self.is_open = true;
        let (channel, peer) = (self.channel, self.peer.clone());
        self.messages.push(ToOrigin::Open { channel, connect, peer, ticket, pass: None });
    }

    pub(super) fn ask(&mut self, ask: Ask) {
        self.asked = self.asked.wrapping_add(1);
        if let Some(speculator) = &mut self.speculator {
            speculator.count_ask();
        }
        self.messages.push(ToOrigin::On { channel: self.channel, ask });
    }

    pub(super) fn new_request(&mut self) -> RequestId {
        let id = RequestId(self.next_request);
        self.next_request = self.next_request.wrapping_add(1).max(1);
        id
    }

    pub(super) fn new_cursor(&mut self) -> Cursor {
        self.next_cursor = self.next_cursor.wrapping_add(1);
        Cursor(self.next_cursor)
    }

    pub(super) fn packet(&self, request: &Request) -> Vec<u8> {
        let mut packet = Vec::with_capacity(PACKET_BYTES);
        request.encode(self.version(), &mut packet);
        packet
    }

    /// Hands a request on to the server, whose replies answer it.
    pub(super) fn relay(&mut self, request: &Request, object: u16, effect: Option<Effect>) {
        let id = self.new_request();
        let packet = self.packet(request);
        self.ask(Ask::Relay { id, object, packet });
        self.wait_for(id, effect);
    }

    /// The next answer is the reply to this request.
    pub(super) fn wait_for(&mut self, id: RequestId, effect: Option<Effect>) {
        self.quiet_bytes = 0;
        if !self.is_waiting() {
            self.count_trip();
        }
        let goes_on_waiting = self.awaits_outcome();
        self.answers.push_back(Answer::Asked { id, effect, packets: None });
        if self.is_lost && !goes_on_waiting {
            self.break_connection();
        }
    }

    /// The next answer is the reply to this request, which was sent with an earlier one.
    pub(super) fn wait_along(&mut self, id: RequestId) {
        self.answers.push_back(Answer::Asked { id, effect: None, packets: None });
        if self.is_lost {
            self.break_connection();
        }
    }

    /// Whether an answer of the server is waited for already: what is asked now travels beside it.
    pub(super) fn is_waiting(&self) -> bool {
        self.answers.iter().any(|answer| matches!(answer, Answer::Asked { .. }))
    }

    /// The program waits for the origin because of its last request.
    pub(super) fn count_trip(&mut self) {
        self.site.count(|counters| counters.trips += 1);
        self.recorder.trip();
    }

    /// The program is spared a trip.
    pub(super) fn save(&mut self, kind: Saved) {
        self.site.save(kind);
        self.recorder.saved();
    }

    /// Hands a request on that is answered here.
    pub(super) fn quietly(&mut self, request: &Request, object: u16) {
        let packet = self.packet(request);
        self.ask(Ask::Quiet { object, packet });
    }

    /// Answers a request.
    pub(super) fn answer(&mut self, response: Response, saved: Option<Saved>) {
        self.push_answer(&Reply::Response(response), saved, false);
    }

    /// Answers a request; a client that does not wait for the answer gets it with the next one.
    pub(super) fn answer_lazily(&mut self, response: Response, saved: Option<Saved>) {
        self.push_answer(&Reply::Response(response), saved, true);
    }

    /// Refuses a request.
    pub(super) fn refuse(&mut self, code: u32) {
        self.answer(Response::error(&Error::new(code)), None);
    }

    pub(super) fn push_answer(&mut self, reply: &Reply, saved: Option<Saved>, is_lazy: bool) {
        if let Some(saved) = saved {
            self.save(saved);
        }
        let mut packets = Vec::new();
        reply.encode(self.version(), &mut packets);
        self.answers.push_back(Answer::Ready { packets, is_lazy });
    }
}
