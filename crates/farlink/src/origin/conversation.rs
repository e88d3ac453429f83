//! One program's conversation with the server: what the edge asks goes to the server in its order, what the server answers goes back.
//!
//! A request leaves once everything that it names is there. It does not wait for the answers to those before it, once the login is
//! done. What the origin asks for by itself - rows of open cursors, contents of BLOBs - is asked for when nothing of the program waits.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use farbird_wire::decoder::{Limits as DecoderLimits, RequestDecoder};
use farbird_wire::negotiation::UserIdentification;
use farbird_wire::operation::Operation;
use farbird_wire::packet::Request;

use super::ahead_state::AheadState;
use super::blob_reading::{BlobKey, BlobReading};
use super::connect;
use super::definitions::Definitions;
use super::limits::Limits;
use super::line::Line;
use super::objects::{Named, Objects};
use super::own_login::{Credentials, LoggingIn, OwnLogin, RANDOM_BYTES};
use super::pushed_cursor::PushedCursor;
use super::work::{AttachingAhead, AuxiliaryStep, Purpose, Sent, Work, ask_bytes};
use crate::message::{Ask, Channel, Cursor, Fingerprint, RequestId, Tell, ToEdge};

/// One program's conversation with the server. See the module's text.
#[derive(Debug)]
pub struct Conversation {
    pub(super) limits: Limits,
    channel: Channel,
    /// Whether the server is one of ours, which tells more.
    pub(super) is_farbird: bool,
    pub(super) stage: Stage,
    /// What was attached before the program asked for it.
    pub(super) ahead_attachment: AttachingAhead,
    pub(super) line: Line,
    /// Understands the edge's packets.
    pub(super) requests: RequestDecoder,
    pub(super) objects: Objects,
    /// Asks that came before the protocol was agreed upon.
    pub(super) early: VecDeque<Ask>,
    pub(super) waiting: VecDeque<(Work, usize)>,
    pub(super) waiting_bytes: usize,
    pub(super) sent: VecDeque<Sent>,
    pub(super) cursors: BTreeMap<Cursor, PushedCursor>,
    pub(super) blobs: BTreeMap<BlobKey, BlobReading>,
    /// How the statement was described whose op_prepare_statement was answered last; none if it failed.
    pub(super) described: Option<Fingerprint>,
    /// The reply to an op_prepare_statement of the program, until it is known what the statement reads.
    pub(super) prepared: Option<(RequestId, Vec<u8>)>,
    pub(super) ahead: AheadState,
    /// What is being looked up, before a server that does not say what statements read.
    pub(super) definitions: Definitions,
    /// Whether the edge has been gone for long.
    is_edge_lost: bool,
    /// What is to be done about the second connection.
    pub(super) auxiliary: Option<AuxiliaryStep>,
    /// A login that the origin performs itself.
    pub(super) logging_in: Option<Box<LoggingIn>>,
    messages: Vec<ToEdge>,
}

/// How far the conversation has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// op_connect is not answered.
    Connecting,
    /// One request at a time: each may change what the next one means.
    LoggingIn,
    /// A database or the services manager is attached.
    Attached,
    Ended,
}

impl Conversation {
    /// A conversation that begins with the program's op_connect. With `is_farbird` the server is a Farbird server to which this
    /// conversation's connection has been announced: it is asked what only such a server knows.
    pub fn new(limits: Limits, channel: Channel, connect: &[u8], is_farbird: bool) -> Conversation {
        let mut conversation = Conversation::empty(limits, channel, is_farbird);
        match connect::for_server(connect) {
            Some(connect) => {
                let named = Named::default();
                conversation.transmit(&Request::Connect(connect), named, Purpose::Relay(RequestId::CONNECT));
            }
            None => conversation.end("the edge sent something else than op_connect"),
        }
        conversation
    }

    /// As [`Conversation::new`], before a server that may be any. The origin logs in itself, as the user whom the program's op_connect
    /// names, if the server has SRP; and the program must prove the same password to the origin.
    pub fn with_login(
        limits: Limits,
        channel: Channel,
        connect: &[u8],
        credentials: Credentials,
        random: &[u8; RANDOM_BYTES],
    ) -> Conversation {
        let mut conversation = Conversation::empty(limits, channel, false);
        let understood = connect::for_server(connect).and_then(|connect| {
            let user = UserIdentification::parse(&connect.user_identification).ok()?;
            Some((connect, user))
        });
        let Some((connect, user)) = understood else {
            conversation.end("the edge sent something else than op_connect");
            return conversation;
        };
        let login = OwnLogin::new(credentials, random);
        let request = Request::Connect(login.connect(&connect, &user));
        let first = (user.plugin.unwrap_or_default(), user.specific_data.unwrap_or_default());
        conversation.logging_in = Some(Box::new(LoggingIn {
            login,
            first,
            challenge: None,
            server: None,
            program: None,
            is_program_in: false,
            attach_step: None,
        }));
        conversation.transmit(&request, Named::default(), Purpose::OwnLogin);
        conversation
    }

    fn empty(limits: Limits, channel: Channel, is_farbird: bool) -> Conversation {
        let packet_bytes = limits.packet_bytes;
        Conversation {
            limits,
            channel,
            is_farbird,
            stage: Stage::Connecting,
            ahead_attachment: AttachingAhead::default(),
            line: Line::new(packet_bytes),
            requests: RequestDecoder::new(DecoderLimits { packet_bytes, ..DecoderLimits::default() }),
            objects: Objects::default(),
            early: VecDeque::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            sent: VecDeque::new(),
            cursors: BTreeMap::new(),
            blobs: BTreeMap::new(),
            described: None,
            prepared: None,
            ahead: AheadState::new(limits.ahead),
            definitions: Definitions::default(),
            is_edge_lost: false,
            auxiliary: None,
            logging_in: None,
            messages: Vec::new(),
        }
    }

    /// Takes what the edge asks.
    pub fn ask(&mut self, ask: Ask, now: Duration) {
        self.ahead.count_ask();
        if !self.is_server_busy() {
            self.ahead.busy_since = now;
        }
        match self.stage {
            Stage::Ended => {}
            _ if matches!(ask, Ask::Cancel { .. }) => self.take(ask),
            Stage::Connecting => {
                self.waiting_bytes += ask_bytes(&ask);
                self.early.push_back(ask);
                self.check_waiting();
            }
            Stage::LoggingIn | Stage::Attached => {
                self.take(ask);
                self.advance();
            }
        }
    }

    /// Takes bytes of the server.
    pub fn receive(&mut self, bytes: &mut [u8], now: Duration) {
        if self.stage == Stage::Ended {
            return;
        }
        self.note_time(now);
        let mut more = self.line.receive(bytes);
        loop {
            if let Err(error) = more {
                return self.end(&format!("the server's bytes cannot be read: {error}"));
            }
            self.read_replies();
            if self.stage == Stage::Ended {
                return;
            }
            match self.line.receive_more() {
                Ok(false) => break,
                Ok(true) => more = Ok(()),
                Err(error) => more = Err(error),
            }
        }
        self.seal_rows();
        self.advance();
        self.end_without_edge();
    }

    /// The connection to the server is gone.
    pub fn server_lost(&mut self, reason: &str) {
        self.end(reason);
    }

    /// The edge has been gone for so long that no transaction may stay open: what it has asked for ends, but for a transaction that
    /// is being ended. What becomes of that is waited for, since its program does, and told.
    pub fn edge_lost(&mut self) {
        self.is_edge_lost = true;
        self.end_without_edge();
    }

    /// The edge is back.
    pub fn edge_back(&mut self) {
        self.is_edge_lost = false;
    }

    fn end_without_edge(&mut self) {
        let ends = |request: &Request| {
            matches!(
                request,
                Request::Commit(_)
                    | Request::CommitRetaining(_)
                    | Request::Rollback(_)
                    | Request::RollbackRetaining(_)
            )
        };
        let is_ending = self.waiting.iter().any(|(work, _)| match work {
            Work::Relay { request, .. } => ends(request),
            _ => false,
        }) || self.sent.iter().any(|sent| {
            matches!(sent.purpose, Purpose::Relay(_))
                && matches!(
                    sent.operation,
                    Operation::Commit
                        | Operation::CommitRetaining
                        | Operation::Rollback
                        | Operation::RollbackRetaining
                )
        });
        if self.is_edge_lost && !is_ending && self.has_transaction() {
            self.end("the link was lost for too long: the transaction is rolled back");
        }
    }

    /// Whether a transaction is open at the server, as far as the conversation knows.
    fn has_transaction(&self) -> bool {
        self.objects.has_transaction()
    }

    /// What is to be written to the server.
    pub fn take_output(&mut self) -> Vec<u8> {
        if self.stage == Stage::Attached && self.is_held_for_program() {
            self.draw_out();
        }
        match self.line.take_output() {
            Ok(output) => output,
            Err(error) => {
                self.end(&format!("the server's line is used up: {error}"));
                Vec::new()
            }
        }
    }

    /// Whether anybody but the edge is to be told something: the server, the second connection, or whoever keeps the conversation that it is
    /// over.
    pub fn has_more(&self) -> bool {
        let asks = self.line.has_output() || self.stage == Stage::Attached && self.is_held_for_program();
        asks || self.auxiliary.is_some() || self.is_ended()
    }

    /// What is to be told to the edge.
    pub fn take_messages(&mut self) -> Vec<ToEdge> {
        std::mem::take(&mut self.messages)
    }

    /// Whether the server owes answers, those included that it may hold back until it is asked something else.
    pub fn is_waiting(&self) -> bool {
        !self.sent.is_empty()
    }

    /// Whether the connection to the server is to be closed, once what is to be written is written.
    pub fn is_ended(&self) -> bool {
        self.stage == Stage::Ended
    }

    pub(super) fn tell(&mut self, tell: Tell) {
        self.messages.push(ToEdge::On { channel: self.channel, tell });
    }

    pub(super) fn end(&mut self, reason: &str) {
        if self.stage != Stage::Ended {
            self.stage = Stage::Ended;
            self.messages.push(ToEdge::Closed { channel: self.channel, reason: reason.to_owned() });
        }
    }
}
