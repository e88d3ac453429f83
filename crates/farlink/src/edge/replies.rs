//! What the origin tells: replies, rows, BLOBs, and what they change here.

use std::sync::Arc;

use farbird_wire::decoder::{Limits as DecoderLimits, ReplyDecoder};
use farbird_wire::packet::{AcceptWithData, Reply, Request, Response, StatementText};
use farbird_wire::protocol::{Handle, ProtocolVersion};

use super::Program;
use super::blob_contents::Contents;
use super::information;
use super::login::Greeting;
use super::objects::{Blob, BlobKind, CursorPlace, Object, Transaction};
use super::program::Answer;
use super::statement_cache::{Described, Key};
use crate::message::{Ask, BlobFacts, Cursor, End, Fingerprint, Relation, RequestId, Tell};

/// What a reply changes here, beside being the program's answer.
#[derive(Debug)]
pub(super) enum Effect {
    /// op_connect.
    Connect { greeting: Option<Greeting> },
    /// op_connect that was answered with a login prepared in advance.
    Greeted { expected: Box<AcceptWithData> },
    /// A step of the login, the attaching included.
    Login,
    /// A transaction was to begin.
    Begun { handle: u16, tpb: Vec<u8> },
    /// A transaction was to end.
    Ended { transaction: u16 },
    /// What a transaction has changed was to be committed or undone; it goes on.
    Retained { transaction: u16 },
    /// A statement was to be prepared.
    Prepared { statement: u16, text: Box<StatementText>, key: Option<Box<Key>> },
    /// Something was asked about a statement.
    StatementInformation { described: Arc<Described>, items: Vec<u8>, room: u32 },
    /// Something constant was asked about the database.
    Information { key: Box<information::Key> },
    /// A statement was to be executed: its transaction, the handle that a transaction which it begins has, whose cursor it opens.
    Executed { request: Box<Request>, transaction: u16, made: u16, cursor_of: Option<u16> },
    /// A cursor was to be opened whose rows are pushed.
    Opened { statement: u16, cursor: Cursor },
    /// A BLOB was to be opened whose contents come.
    BlobOpened { handle: u16, cursor: Cursor },
    /// A BLOB was to be opened at the server, or to be made.
    BlobMade { handle: u16, transaction: u16, kind: MadeBlob },
    /// A BLOB was to be made that nobody has asked for.
    Spare { handle: u16, transaction: u16 },
    /// Something was asked about an execution before the program asks it.
    Foreseen { statement: u16 },
    /// A BLR request was to be compiled.
    Compiled { handle: u16, blr: Vec<u8> },
    /// The database was to be detached.
    Detached,
}

/// How a BLOB is to be worked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MadeBlob {
    Opened,
    Written,
}

/// The packets of a reply that needs no memory to be understood.
fn decoded(packets: &[u8], request: &Request, version: ProtocolVersion) -> Option<Vec<Reply>> {
    let mut decoder = ReplyDecoder::new(DecoderLimits::default());
    decoder.set_version(version);
    decoder.expect(request).ok()?;
    decoder.feed(packets);
    let mut replies = Vec::new();
    while !decoder.unread().is_empty() {
        let answer = decoder.next_reply().ok()??;
        replies.push(answer.reply);
    }
    Some(replies)
}

/// The op_response that a reply is.
fn response(packets: &[u8], version: ProtocolVersion) -> Option<Response> {
    match decoded(packets, &Request::Ping, version)?.pop()? {
        Reply::Response(response) => Some(response),
        _ => None,
    }
}

impl Program {
    /// Takes what the origin tells. What is for nobody any more is forgotten.
    pub(super) fn take(&mut self, tell: Tell) {
        match tell {
            Tell::Reply { id, packets } => self.reply(id, packets),
            Tell::Key { key } => self.set_key(key),
            Tell::Attached { database, strict_transactions, .. } => {
                self.attached(database, strict_transactions);
            }
            Tell::Statement { statement, described, reads } => self.told_of(statement, described, reads),
            Tell::Rows { cursor, packets, end, .. } => self.rows(cursor, packets, end),
            Tell::Blob { cursor, blob, information, segments, is_last, offset } => {
                self.blob_contents(cursor, blob, information, offset, &segments, is_last);
            }
            Tell::Ahead { .. } | Tell::NotAhead { .. } | Tell::AheadRests { .. } => self.told_ahead(tell),
        }
    }

    fn reply(&mut self, id: RequestId, mut packets: Vec<u8>) {
        if let Some(Effect::Foreseen { statement }) = self.own.get(&id) {
            let statement = *statement;
            self.own.remove(&id);
            if let Some(statement) = self.objects.statement(statement)
                && let Some(foreseen) = statement.foreseen.as_mut().filter(|foreseen| foreseen.id == id)
            {
                foreseen.packets = Some(packets);
            }
            return;
        }
        if let Some(effect) = self.own.remove(&id) {
            self.apply(effect, &mut packets);
            return;
        }
        let place = self
            .answers
            .iter()
            .position(|answer| matches!(answer, Answer::Asked { id: of, packets: None, .. } if *of == id));
        let Some(Answer::Asked { effect, .. }) = place.and_then(|place| self.answers.get_mut(place)) else {
            return;
        };
        let effect = effect.take();
        if let Some(effect) = effect {
            self.apply(effect, &mut packets);
        }
        if let Some(Answer::Asked { packets: arrived, .. }) =
            place.and_then(|place| self.answers.get_mut(place))
        {
            *arrived = Some(packets);
        }
    }

    /// Does what a reply changes here, and changes the reply where the program is to see something else.
    fn apply(&mut self, effect: Effect, packets: &mut Vec<u8>) {
        let version = self.version();
        match effect {
            Effect::Connect { greeting } => {
                let Some(replies) = decoded(packets, &Request::Ping, version) else { return self.end() };
                let replies = self.connected(greeting, replies);
                self.encode(&replies, packets);
            }
            Effect::Greeted { expected } => {
                let replies = decoded(packets, &Request::Ping, version).unwrap_or_default();
                self.greeted(&expected, &replies);
            }
            Effect::Login => {
                let Some(replies) = decoded(packets, &Request::Ping, version) else { return self.end() };
                let replies = self.logged_in(replies);
                self.encode(&replies, packets);
            }
            Effect::Executed { request, transaction, made, cursor_of } => {
                let replies = decoded(packets, &request, version).unwrap_or_default();
                let response = replies.into_iter().rev().find_map(|reply| match reply {
                    Reply::Response(response) => Some(response),
                    _ => None,
                });
                self.executed(transaction, made, cursor_of, response.as_ref());
            }
            effect => {
                let mut response = response(packets, version);
                if let (Effect::BlobOpened { handle, .. }, Some(response)) = (&effect, &mut response)
                    && response.status.is_success()
                {
                    // The origin has opened it under a handle of its own.
                    response.object = Handle(*handle);
                    self.encode(&[Reply::Response(response.clone())], packets);
                }
                let succeeded = response.filter(|response| response.status.is_success());
                if let (Effect::Opened { statement, .. }, None, true) =
                    (&effect, &succeeded, self.login.is_lazy())
                    && let Some(statement) = self.objects.statement(*statement)
                {
                    statement.failure = Some(packets.clone());
                }
                self.apply_response(effect, succeeded);
            }
        }
    }

    fn encode(&self, replies: &[Reply], packets: &mut Vec<u8>) {
        packets.clear();
        for reply in replies {
            reply.encode(self.version(), packets);
        }
    }

    /// `succeeded` is the reply, unless it was an error.
    fn apply_response(&mut self, effect: Effect, succeeded: Option<Response>) {
        match (effect, succeeded) {
            (
                Effect::Begun { handle, .. }
                | Effect::BlobMade { handle, .. }
                | Effect::Compiled { handle, .. },
                None,
            ) => {
                self.objects.remove(handle);
            }
            (Effect::Begun { handle, tpb }, Some(_)) => {
                self.speculate_begun(handle, &tpb);
                let transaction = Transaction { is_opaque: true, ..Transaction::default() };
                self.objects.set(handle, Object::Transaction(Box::new(transaction)));
            }
            (Effect::Compiled { handle, blr }, Some(_)) => {
                let understood = self.decoder.request_compiled(Handle(handle), &blr);
                if understood.is_err() {
                    self.end();
                }
            }
            (Effect::Ended { transaction }, Some(_)) => self.end_transaction(transaction),
            (Effect::Retained { transaction }, Some(_)) => self.retained(transaction),
            (Effect::Prepared { statement, text, key }, Some(response)) => {
                self.prepared(statement, *text, key, &response);
            }
            (Effect::StatementInformation { described, items, room }, Some(response)) => {
                described.keep_information(items, room, response);
            }
            (Effect::Information { key }, Some(response)) => self.site.keep_information(*key, response),
            (Effect::Opened { statement, cursor }, None) => self.forget_cursor(statement, cursor),
            (Effect::BlobOpened { handle, cursor }, None) => {
                self.openings.remove(&cursor);
                self.objects.remove(handle);
            }
            (Effect::BlobMade { handle, transaction, kind }, Some(_)) => {
                let kind = match kind {
                    MadeBlob::Opened => BlobKind::Server,
                    MadeBlob::Written => BlobKind::Written,
                };
                self.objects.set(handle, Object::Blob(Box::new(Blob { transaction, kind })));
            }
            (Effect::Spare { handle, transaction }, succeeded) => {
                self.spare_made(handle, transaction, succeeded.map(|response| response.blob));
            }
            (Effect::Detached, Some(_)) => self.attachment = None,
            _ => {}
        }
    }

    fn told_of(&mut self, handle: u16, fingerprint: Fingerprint, reads: Option<Vec<Relation>>) {
        let Some(statement) = self.objects.statement(handle) else { return };
        match &statement.described {
            Some(described) if described.fingerprint == fingerprint => described.set_reads(reads.as_deref()),
            _ => statement.told = Some((fingerprint, reads)),
        }
    }

    fn rows(&mut self, cursor: Cursor, packets: Vec<u8>, end: Option<End>) {
        self.learn_rows(cursor, &packets);
        let statement = self.openings.get(&cursor).copied().unwrap_or_default();
        let Some(statement) = self.objects.statement(statement) else { return };
        if let CursorPlace::Pushed(rows) = &mut statement.cursor
            && rows.cursor == cursor
        {
            rows.add(packets, end);
        }
    }

    fn blob_contents(
        &mut self,
        cursor: Cursor,
        blob: u64,
        facts: Option<BlobFacts>,
        offset: u32,
        segments: &[u8],
        is_last: bool,
    ) {
        let Some(handle) = self.openings.get(&cursor).copied() else { return };
        if let Some(Blob { kind: BlobKind::Coming(coming), .. }) = self.objects.blob(handle) {
            coming.contents.facts = coming.contents.facts.or(facts);
            coming.contents.append(segments, is_last);
            coming.came += segments.len();
            return;
        }
        let Some(statement) = self.objects.statement(handle) else { return };
        let CursorPlace::Pushed(rows) = &mut statement.cursor else { return };
        rows.add_blob(segments.len());
        let transaction = rows.transaction;
        // With rows BLOBs come whole.
        if offset == 0 && is_last && facts.is_some() {
            let mut contents = Contents::default();
            contents.facts = facts;
            contents.append(segments, true);
            self.keep_blob(transaction, blob, contents);
        }
    }

    /// Gives credit for what the program has taken.
    pub(super) fn give_credit(&mut self, cursor: Cursor, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.ask(Ask::Credit { cursor, bytes });
    }
}
