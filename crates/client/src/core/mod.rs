//! The low-level face: one connection as a machine without I/O, for those who move its bytes themselves.
//!
//! The operations of this crate are futures over a [`Shared`]; the only things they ever wait for are answers in it.
//! A *driver* moves the bytes. The crate has two: the blocking one of [`crate::blocking`], and a task of tokio. Another
//! one (over a transport of one's own, or on a virtual clock) keeps this contract, through [`Driven::lock`]:
//!
//! 1. [`Core::set_now`], then [`Core::take_output`]: what wants to leave, as one [`Flight`]; write it, telling each write
//!    with [`Core::sent`]. Nothing leaves before somebody waits for its answer, [`FLIGHT_BYTES`] are queued, or an
//!    operation wants it so.
//! 2. While [`Core::wants_input`], read and hand over what came with [`Core::feed`]. While the server does not take our
//!    bytes its own must be taken, or both wait for ever. A driver that can reads while the core [`Core::is_idle`] as well,
//!    and so learns at once when the server ends the connection.
//! 3. [`Core::deliver_one`] until it gives `None`: each call takes one answer to whoever asked for it and wakes that task.
//!    It may be called one answer at a time, with a poll of the futures in between.
//! 4. An error of the socket, or its end, is told with [`Core::fail`]: it comes to everybody who waits or asks later.
//! 5. When [`Core::is_abandoned`], nobody is left to ask anything: send what is queued and close.
//!
//! A driver that does not poll the futures itself registers a waker with [`Core::register_driver`], which is woken when
//! there may be something to do.
//!
//! # Stability
//! This face follows the needs of the two others and of the tests; expect it to change with them.

mod accounts;
mod ahead;
mod blob_cache;
pub mod conversation;
mod handles;
mod lease;
mod mailboxes;
mod pace;
mod reading;
mod shared;
mod timeline;

use std::task::Waker;
use std::time::Duration;

use farbird_types::{CharacterSet, Error, Result};
use farbird_wire::counters::Counters;
use farbird_wire::crypt::CryptPlugin;
use farbird_wire::operation::Operation;
use farbird_wire::packet::{CryptKeyCallback, Reply, Request};
use farbird_wire::protocol::{Handle, ProtocolVersion};

use crate::character_set;
use crate::error;
use crate::key_callback::KeyCallback;
use crate::tuning::Tuning;
use accounts::Accounts;
pub use accounts::StatementCounters;
pub(crate) use ahead::{AskedBlob, PIECE_BYTES, RowSource, RowsAhead, get_segment};
use blob_cache::BlobCache;
pub(crate) use blob_cache::{Found, Opened, TrailId};
use conversation::{Answer, Conversation, Received, Ticket};
use handles::{Handles, Known};
pub(crate) use handles::{Kind, ObjectId};
use lease::Lease;
use mailboxes::Mailboxes;
use pace::Pace;
pub(crate) use reading::Fetching;
use reading::Readings;
pub use shared::{Driven, Shared, answered};
pub(crate) use shared::{Object, ObjectRef, Question, checked};
pub use timeline::FlightRecord;
use timeline::Timeline;

/// Queued bytes that leave without anybody waiting for an answer.
pub const FLIGHT_BYTES: usize = 64 * 1024;
/// Queued bytes from which on operations that queue much wait until some have left.
const QUEUED_BYTES_MAX: usize = 4 * FLIGHT_BYTES;
/// Questions under way from which on answers are taken although nobody waits: each is some tens of bytes, and all of them
/// together must fit into the sockets' buffers.
const OUTSTANDING_MAX: usize = 1024;

/// Requests that leave together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flight {
    /// The oldest request in it.
    pub first: Ticket,
    /// The newest.
    pub last: Ticket,
}

/// An answer that was taken to whoever asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered {
    /// The question.
    pub ticket: Ticket,
    /// Whether it is answered with this.
    pub is_last: bool,
    /// Whether somebody was waiting for it, and has been woken.
    pub has_woken: bool,
    /// Size of the packet before compression, in bytes.
    pub bytes: usize,
}

/// One connection without its socket: see the module.
#[derive(Debug)]
pub struct Core {
    conversation: Conversation,
    mailboxes: Mailboxes,
    handles: Handles,
    accounts: Accounts,
    blobs: BlobCache,
    readings: Readings,
    pace: Pace,
    lease: Lease,
    tuning: Tuning,
    /// Tasks that wait until a question is answered, whoever gets the answer.
    settlements: Vec<(Ticket, Waker)>,
    /// Tasks that wait until less is queued.
    waiting_for_room: Vec<Waker>,
    /// The newest question that somebody waits for.
    urgent: Ticket,
    /// The newest request that has left.
    departed: Ticket,
    /// Bytes of the newest request.
    request_bytes: usize,
    wants_flush: bool,
    /// The attach, while it is under way: if it fails, so has the connection.
    attach: Option<Ticket>,
    /// The newest release that the next request has to wait for.
    barrier: Option<Ticket>,
    now: Duration,
    driver: Option<Waker>,
    /// Where the driver is connected to.
    peer: String,
    is_abandoned: bool,
    timeline: Option<Timeline>,
    /// In which the server's messages are.
    character_set: CharacterSet,
    /// Who knows the keys of encrypted databases.
    key_callback: Option<KeyCallback>,
    /// Whether nobody can overhear the driver's connection.
    is_private: bool,
    /// Where further connections of the same database go, if not to the peer.
    further_host: Option<String>,
}

impl Core {
    /// A connection that has not begun.
    pub fn new(tuning: Tuning) -> Core {
        let timeline = Timeline::new(tuning.timeline_flights);
        Core {
            conversation: Conversation::default(),
            mailboxes: Mailboxes::default(),
            handles: Handles::new(tuning.predict_handles),
            accounts: Accounts::default(),
            blobs: BlobCache::new(ahead::limits(&tuning)),
            readings: Readings::default(),
            pace: Pace::default(),
            lease: Lease::default(),
            tuning,
            settlements: Vec::new(),
            waiting_for_room: Vec::new(),
            urgent: Ticket::default(),
            departed: Ticket::default(),
            request_bytes: 0,
            wants_flush: false,
            attach: None,
            barrier: None,
            now: Duration::ZERO,
            driver: None,
            peer: String::new(),
            is_abandoned: false,
            timeline,
            character_set: CharacterSet::UTF8,
            key_callback: None,
            is_private: false,
            further_host: None,
        }
    }
}

/// For drivers.
impl Core {
    /// The time since the connection's start, as the driver's clock has it.
    pub fn set_now(&mut self, now: Duration) {
        self.now = now;
    }

    /// Where the driver is connected to: name or address of the machine. Further connections of the same database go
    /// there, such as that for events.
    pub fn set_peer(&mut self, peer: &str) {
        peer.clone_into(&mut self.peer);
    }

    /// Further connections of the same database go to this machine instead of the peer's.
    pub fn set_further_host(&mut self, host: &str) {
        self.further_host = Some(host.to_owned());
    }

    /// To which machine further connections of the same database go.
    pub(crate) fn further_host(&self) -> &str {
        self.further_host.as_deref().unwrap_or(&self.peer)
    }

    /// Nobody can overhear the driver's connection: it does not leave the process, or is encrypted already. So it is not encrypted
    /// once more, whatever the options say.
    pub fn set_private(&mut self) {
        self.is_private = true;
    }

    pub(crate) fn is_private(&self) -> bool {
        self.is_private
    }

    /// What the driver told of it.
    pub fn peer(&self) -> &str {
        &self.peer
    }

    /// The time that the driver told last.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// Appends what wants to leave to `out`; `None` if nothing does.
    ///
    /// # Errors
    /// The connection has failed.
    pub fn take_output(&mut self, out: &mut Vec<u8>) -> Result<Option<Flight>> {
        if !self.has_output() {
            return Ok(None);
        }
        self.fill_flight()?;
        self.wants_flush = false;
        let newest = self.conversation.newest();
        let flight = Flight { first: self.departed.next(), last: newest };
        self.departed = newest;
        self.accounts.departed(self.conversation.counters().round_trips);
        self.pace.departed(flight.first, self.now);
        let queued = out.len();
        self.conversation.poll_output(out)?;
        if let Some(timeline) = &mut self.timeline {
            timeline.left(newest, out.len() - queued, self.now);
        }
        self.waiting_for_room.drain(..).for_each(Waker::wake);
        Ok(Some(flight))
    }

    /// Whether [`Core::take_output`] would give something.
    pub fn has_output(&self) -> bool {
        let waiting = self.conversation.waiting_bytes();
        let is_wanted = self.wants_flush || self.urgent > self.departed || self.is_abandoned;
        waiting >= FLIGHT_BYTES || (waiting > 0 && is_wanted)
    }

    /// One write to the socket took so many bytes.
    pub fn sent(&mut self, bytes: usize) {
        self.conversation.sent(bytes);
    }

    /// Takes the bytes of one read from the socket; they are changed.
    ///
    /// # Errors
    /// Damage in compressed or encrypted bytes: the connection has failed.
    pub fn feed(&mut self, bytes: &mut [u8]) -> Result<()> {
        if let Some(timeline) = &mut self.timeline {
            timeline.received(bytes.len(), self.now);
        }
        self.conversation.handle_input(bytes).inspect_err(|_| self.wake_all())
    }

    /// The question whose answer comes next: the oldest that is not answered.
    pub fn oldest_question(&self) -> Option<Ticket> {
        self.conversation.oldest_outstanding()
    }

    /// Takes one answer to whoever asked for it; `None` if none is here.
    ///
    /// # Errors
    /// The server broke the protocol: the connection has failed.
    pub fn deliver_one(&mut self) -> Result<Option<Delivered>> {
        let packets = self.conversation.counters().in_packets;
        let mut answer = match self.conversation.poll_answer() {
            Ok(Some(answer)) => answer,
            Ok(None) => return Ok(None),
            Err(error) => return Err(self.fail(error)),
        };
        self.translate(&mut answer.received);
        let (ticket, is_last, bytes) = (answer.ticket, answer.is_last, answer.bytes);
        let packets = self.conversation.counters().in_packets - packets;
        self.accounts.answered(ticket, packets, bytes, is_last);
        if let Some(timeline) = &mut self.timeline {
            timeline.answered(ticket, is_last, self.now);
        }
        let mut has_woken = false;
        if let (true, Received::Packet(reply)) = (is_last, &answer.received) {
            self.settle(ticket, reply)?;
            has_woken = self.wake_settled(ticket);
        }
        self.note_arrival(ticket, &answer.received, bytes)?;
        match answer.received {
            Received::Packet(Reply::InlineBlob(blob)) => self.keep_blob(ticket, blob, bytes),
            Received::Packet(Reply::CryptKeyCallback(question)) => self.answer_key_question(&question)?,
            _ => {
                let refusal = self.refused_attach(&answer);
                has_woken |= self.mailboxes.deliver(answer);
                if let Some(error) = refusal {
                    self.fail(error);
                }
            }
        }
        Ok(Some(Delivered { ticket, is_last, has_woken, bytes }))
    }

    /// Whether the driver should read: somebody waits, or there is room for what is read ahead.
    pub fn wants_input(&self) -> bool {
        if self.conversation.outstanding() == 0 || self.conversation.check().is_err() {
            return false;
        }
        self.somebody_waits() || self.mailboxes.held_bytes() < self.tuning.read_ahead_bytes
    }

    /// Whether nothing is under way. What comes then is the end of the connection, or nothing that anybody asked for.
    pub fn is_idle(&self) -> bool {
        self.conversation.outstanding() == 0 && self.conversation.check().is_ok()
    }

    /// Whether a task cannot go on without an answer.
    pub fn somebody_waits(&self) -> bool {
        self.mailboxes.waiting() > 0 || !self.settlements.is_empty()
    }

    /// Whether so many questions are under way that answers must be taken before more are asked.
    pub fn is_crowded(&self) -> bool {
        self.conversation.outstanding() > OUTSTANDING_MAX
    }

    /// A driver that takes answers because it [is crowded](Core::is_crowded) makes sure that some come: if all of the
    /// questions are still queued, they leave.
    pub fn relieve(&mut self) {
        if self.conversation.oldest_outstanding().is_some_and(|oldest| oldest > self.departed) {
            self.flush();
        }
    }

    /// The connection is lost: everybody who waits or asks gets this error. An earlier failure stays, and is given back.
    pub fn fail(&mut self, error: Error) -> Error {
        let error = self.conversation.fail(error);
        self.wake_all();
        error
    }

    /// The failure by which the connection was lost.
    pub fn failure(&self) -> Option<Error> {
        self.conversation.check().err()
    }

    /// Whether nobody is left who could ask for anything.
    pub fn is_abandoned(&self) -> bool {
        self.is_abandoned
    }

    /// This waker is woken when there may be something to do for the driver.
    pub fn register_driver(&mut self, waker: &Waker) {
        match &mut self.driver {
            Some(known) => known.clone_from(waker),
            None => self.driver = Some(waker.clone()),
        }
    }

    /// The version that the server chose; the newest before it did.
    pub fn version(&self) -> ProtocolVersion {
        self.conversation.version()
    }

    /// Packets, bytes and round trips so far.
    pub fn counters(&self) -> &Counters {
        self.conversation.counters()
    }

    /// The flights so far, as many as [`Tuning::timeline_flights`] keeps.
    pub fn flights(&self) -> &[FlightRecord] {
        self.timeline.as_ref().map(Timeline::flights).unwrap_or_default()
    }

    /// How many questions are not answered.
    pub fn outstanding(&self) -> usize {
        self.conversation.outstanding()
    }

    /// Bytes of answers that are here and that nobody has taken. A driver that keeps the contract lets them become no more
    /// than [`Tuning::read_ahead_bytes`], one read, and what had been asked before an answer that somebody waits for.
    pub fn held_bytes(&self) -> usize {
        self.mailboxes.held_bytes() + self.conversation.unread_bytes()
    }
}

/// For operations.
impl Core {
    /// Queues a request whose answer will be asked for.
    pub(crate) fn ask(&mut self, request: &Request) -> Result<Ticket> {
        let ticket = self.queue(request, true)?;
        self.lease.asked = ticket;
        self.mailboxes.open(ticket);
        self.queued();
        Ok(ticket)
    }

    /// Queues a request whose answer is of no interest.
    pub(crate) fn send(&mut self, request: &Request) -> Result<Ticket> {
        let ticket = self.queue(request, false)?;
        self.queued();
        Ok(ticket)
    }

    /// As [`Conversation::send_crypt`]; the answer will be asked for.
    pub(crate) fn ask_crypt(&mut self, plugin: CryptPlugin, key: &[u8], data: &[u8]) -> Result<Ticket> {
        if let Some(timeline) = &mut self.timeline {
            timeline.queued(Operation::Crypt);
        }
        let ticket = self.conversation.send_crypt(plugin, key, data)?;
        self.mailboxes.open(ticket);
        Ok(ticket)
    }

    fn queue(&mut self, request: &Request, is_question: bool) -> Result<Ticket> {
        let before = self.conversation.waiting_bytes();
        let ticket = self.conversation.send(request)?;
        self.request_bytes = self.conversation.waiting_bytes() - before;
        self.accounts.queued(request, ticket, self.request_bytes, is_question);
        if let Some(timeline) = &mut self.timeline {
            timeline.queued(request.operation());
        }
        Ok(ticket)
    }

    fn queued(&mut self) {
        if self.has_output() {
            self.wake_driver();
        }
    }

    /// What is queued leaves although nobody waits yet.
    pub(crate) fn flush(&mut self) {
        self.wants_flush = true;
        self.wake_driver();
    }

    /// What came next in answer to a question.
    pub(crate) fn take(&mut self, ticket: Ticket) -> Option<(Received, bool)> {
        let had_room = self.mailboxes.held_bytes() < self.tuning.read_ahead_bytes;
        let taken = self.mailboxes.take(ticket);
        if !had_room {
            self.wake_driver();
        }
        taken
    }

    /// Somebody waits for the next packet of this answer.
    pub(crate) fn wait(&mut self, ticket: Ticket, waker: &Waker) {
        self.mailboxes.wait(ticket, waker);
        self.urge(ticket);
    }

    pub(crate) fn stop_waiting(&mut self, ticket: Ticket) {
        self.mailboxes.stop_waiting(ticket);
    }

    /// Whether this question has been answered to its end.
    pub(crate) fn is_settled(&self, ticket: Ticket) -> bool {
        self.conversation.oldest_outstanding().is_none_or(|oldest| oldest > ticket)
    }

    /// Somebody waits for the end of this answer, without being interested in it.
    pub(crate) fn wait_settled(&mut self, ticket: Ticket, waker: &Waker) {
        self.settlements.push((ticket, waker.clone()));
        self.urge(ticket);
    }

    /// Whether more may be queued.
    pub(crate) fn has_room(&self) -> bool {
        self.conversation.waiting_bytes() < QUEUED_BYTES_MAX
    }

    /// Wakes this task when there is room again.
    pub(crate) fn wait_for_room(&mut self, waker: &Waker) {
        self.waiting_for_room.push(waker.clone());
        self.flush();
    }

    fn urge(&mut self, ticket: Ticket) {
        self.urgent = self.urgent.max(ticket);
        self.wake_driver();
    }

    /// The answer to this question is no longer of interest.
    pub(crate) fn abandon(&mut self, ticket: Ticket) {
        self.mailboxes.close(ticket);
    }

    /// The question asks for an object.
    pub(crate) fn allocate(&mut self, kind: Kind, within: Option<ObjectId>, ticket: Ticket) -> ObjectId {
        let id = self.handles.allocate(kind, within, ticket);
        match kind {
            Kind::Statement => self.accounts.open(id, ticket, self.request_bytes),
            _ => self.accounts.allocated(id),
        }
        id
    }

    /// What the statement has cost so far.
    pub(crate) fn statement_counters(&self, id: ObjectId) -> StatementCounters {
        self.accounts.of(id)
    }

    /// The number by which a request may name an object now, or the question whose answer tells.
    pub(crate) fn handle(&mut self, id: ObjectId) -> Result<std::result::Result<Handle, Ticket>> {
        Ok(match self.handles.handle(id)? {
            Known::Handle(handle) => {
                self.accounts.named(handle, id);
                Ok(handle)
            }
            Known::After(ticket) => Err(ticket),
        })
    }

    /// Why an object does not exist, if the server refused it.
    pub(crate) fn refusal(&self, id: ObjectId) -> Option<Error> {
        self.handles.failure(id)
    }

    /// The object ends if this question is answered with success.
    pub(crate) fn ends(&mut self, id: ObjectId, ticket: Ticket) {
        self.stop_ahead(id);
        self.handles.ends(id, ticket);
    }

    /// This statement may end the transaction in which it is executed.
    pub(crate) fn may_end(&mut self, id: ObjectId, ticket: Ticket) {
        self.stop_ahead(id);
        self.handles.may_end(id, ticket);
    }

    /// Nobody holds the object any more: the server is told with the next flight.
    pub(crate) fn release(&mut self, id: ObjectId) {
        if let Some(request) = self.handles.release(id) {
            self.tell_release(&request);
        }
        self.accounts.close(id);
    }

    /// Tells the server with the next flight what is no longer needed.
    pub(crate) fn tell_release(&mut self, request: &Request) {
        if let Request::Rollback(transaction) = request {
            self.forget_blobs(*transaction);
        }
        // A connection that has failed holds nothing on the server.
        if let Ok(ticket) = self.send(request)
            && !self.tuning.deferred_packets
        {
            self.barrier = Some(ticket);
        }
        if self.tuning.rollback_at_once && matches!(request, Request::Rollback(_)) {
            self.flush();
        }
    }

    /// The release that has to be answered before anything else is asked, if releases are not deferred.
    pub(crate) fn barrier(&mut self) -> Option<Ticket> {
        self.barrier.take()
    }

    /// From now on the server speaks in this character set.
    pub(crate) fn set_character_set(&mut self, character_set: CharacterSet) {
        self.character_set = character_set;
    }

    /// Brings what the server says of failures into UTF-8.
    fn translate(&self, received: &mut Received) {
        if self.character_set == CharacterSet::UTF8 {
            return;
        }
        let translated = |text: &[u8]| character_set::decode(self.character_set, text).into_bytes();
        match received {
            Received::Packet(Reply::Response(response)) => response.status.change_texts(translated),
            Received::Packet(Reply::BatchCompletion(completion)) => {
                completion.errors.iter_mut().for_each(|(_, status)| status.change_texts(translated));
            }
            _ => {}
        }
    }

    /// The question is the attach: what is queued behind it fails as it does.
    pub(crate) fn attaches(&mut self, ticket: Ticket) {
        self.attach = Some(ticket);
    }

    /// Why the attach failed, if this is its answer.
    fn refused_attach(&mut self, answer: &Answer) -> Option<Error> {
        self.attach.take_if(|attach| *attach == answer.ticket && answer.is_last)?;
        match &answer.received {
            Received::Packet(Reply::Response(response)) => response.status.error(),
            _ => Some(error::unexpected("an attach")),
        }
    }

    /// Asked for keys, this answers.
    pub(crate) fn set_key_callback(&mut self, key_callback: Option<KeyCallback>) {
        self.key_callback = key_callback;
    }

    /// A server that opens an encrypted database may ask for its key. Who has none says so.
    fn answer_key_question(&mut self, question: &CryptKeyCallback) -> Result<()> {
        let answer = match &self.key_callback {
            Some(key_callback) => key_callback.answer(question, self.version().has_callback_size()),
            None => Ok(CryptKeyCallback { data: Vec::new(), reply_length: question.reply_length }),
        };
        let answer = answer.map_err(|error| self.fail(error))?;
        self.send(&Request::CryptKeyCallback(answer))?;
        self.flush();
        Ok(())
    }

    fn settle(&mut self, ticket: Ticket, reply: &Reply) -> Result<()> {
        let settled = match self.handles.settle(ticket, reply) {
            Ok(settled) => settled,
            Err(error) => return Err(self.fail(error)),
        };
        if let Some(transaction) = settled.ended {
            self.forget_blobs(transaction);
        }
        if let Some(request) = settled.release {
            self.tell_release(&request);
        }
        Ok(())
    }

    fn wake_settled(&mut self, ticket: Ticket) -> bool {
        let mut has_woken = false;
        self.settlements.retain(|(until, waker)| {
            let waits = *until > ticket;
            if !waits {
                has_woken = true;
                waker.wake_by_ref();
            }
            waits
        });
        has_woken
    }

    fn wake_all(&mut self) {
        self.mailboxes.wake_all();
        self.settlements.drain(..).for_each(|(_, waker)| waker.wake());
        self.waiting_for_room.drain(..).for_each(Waker::wake);
        self.wake_driver();
    }

    fn wake_driver(&mut self) {
        if let Some(waker) = &self.driver {
            waker.wake_by_ref();
        }
    }

    fn abandon_all(&mut self) {
        self.is_abandoned = true;
        self.wake_driver();
    }
}
