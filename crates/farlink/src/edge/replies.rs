//! What the origin tells: replies, rows, BLOBs, and what they change here.

use farbird_wire::decoder::{Limits as DecoderLimits, ReplyDecoder};
use farbird_wire::packet::{Reply, Request, Response};
use farbird_wire::protocol::{Handle, ProtocolVersion};

use super::Program;
use super::attachment::{Auxiliary, Facts};
use super::effect::Effect;
use super::objects::{Blob, BlobKind, CursorPlace, Object, Transaction};
use super::program::Answer;
use crate::message::{Ask, BlobFacts, Cursor, End, Fingerprint, Relation, RequestId, Tell};

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
pub(super) fn response(packets: &[u8], version: ProtocolVersion) -> Option<Response> {
    match decoded(packets, &Request::Ping, version)?.pop()? {
        Reply::Response(response) => Some(response),
        _ => None,
    }
}

impl Program {
    /// Takes what the origin tells. What is for nobody any more is forgotten.
    pub(super) fn take(&mut self, tell: Tell) {
        match tell {
            Tell::Reply { id, packets } => {
                self.recorder.received(packets.len(), true);
                self.reply(id, packets);
            }
            Tell::Key { key } => self.set_key(key),
            Tell::Pass { pass } => self.login.pass = Some(pass),
            Tell::Attached { database, strict_transactions, commit, guid } => {
                self.attached(&Facts { database, commit, strict_transactions, guid });
            }
            Tell::AttachedAhead { id, attached } => self.attached_ahead(id, attached),
            Tell::Statement { statement, described, reads } => self.told_of(statement, described, reads),
            Tell::Rows { cursor, packets, end, .. } => self.rows(cursor, packets, end),
            Tell::Blob { cursor, blob, information, segments, is_last, offset } => {
                self.blob_contents(cursor, blob, information, offset, &segments, is_last);
            }
            Tell::Auxiliary { bytes, is_over } => self.auxiliary_came(&bytes, is_over),
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
        if matches!(effect, Some(Effect::Auxiliary))
            && let Some(response) = response(&packets, self.version())
            && response.status.is_success()
        {
            // Its address is the server's; the program is to have one of the edge.
            self.auxiliary = Auxiliary::Wanted { id, response: Box::new(response) };
            return;
        }
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
            Effect::ConnectedAgain => {
                let replies = decoded(packets, &Request::Ping, version).unwrap_or_default();
                self.connected_again(&replies);
            }
            Effect::AttachedAgain => {
                let response = response(packets, version);
                let succeeded = response.filter(|response| response.status.is_success());
                self.attach_again_answered(succeeded.as_ref());
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
            Effect::Written(unanswered) => {
                let response = response(packets, version);
                self.written(unanswered, response.as_ref());
            }
            effect => {
                let mut response = response(packets, version);
                if let (
                    Effect::BlobOpened { handle, .. } | Effect::BlobMade { handle, reserved: Some(_), .. },
                    Some(response),
                ) = (&effect, &mut response)
                    && response.status.is_success()
                {
                    // The origin knows it by another handle.
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

    pub(super) fn encode(&self, replies: &[Reply], packets: &mut Vec<u8>) {
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
                | Effect::Reconnected { handle }
                | Effect::Compiled { handle, .. },
                None,
            ) => {
                self.objects.remove(handle);
            }
            (Effect::Reconnected { handle }, Some(_)) => {
                let transaction =
                    Transaction { is_opaque: true, is_prepared: true, ..Transaction::default() };
                self.objects.set(handle, Object::Transaction(Box::new(transaction)));
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
            (Effect::Ended { transaction, .. }, Some(_)) => self.end_transaction(transaction),
            (Effect::Retained { transaction, .. }, Some(_)) => self.retained(transaction),
            (Effect::Prepared { statement, text, key }, Some(response)) => {
                self.prepared(statement, *text, key, &response);
            }
            (Effect::StatementInformation { described, items, room }, Some(response)) => {
                described.keep_information(items, room, response);
            }
            (Effect::Kept { transaction, asked, by }, Some(response)) if by == self.requests => {
                // The program has waited for it: its handle means what it meant.
                let kept = match transaction {
                    0 => self.attachment.as_mut().map(|attachment| &mut attachment.information),
                    handle => {
                        self.objects.transaction(handle).map(|transaction| &mut transaction.information)
                    }
                };
                if let Some(kept) = kept {
                    kept.keep(*asked, response);
                }
            }
            (Effect::Information { key }, Some(response)) => self.site.keep_information(*key, response),
            (Effect::Opened { statement, cursor }, None) => self.forget_cursor(statement, cursor),
            (Effect::BlobOpened { handle, cursor }, None) => {
                self.openings.remove(&cursor);
                self.objects.remove(handle);
            }
            (Effect::BlobMade { id, handle, kind, .. }, succeeded) => {
                self.blob_made(id, handle, kind, succeeded.is_some());
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
            Some(described) if described.fingerprint == fingerprint => {
                described.set_reads(reads.as_deref());
                // It was executed as a query that only reads, before the server has seen that it is none any more.
                let was_executed = statement.executed_by != 0;
                if was_executed && reads.is_none() {
                    self.tie();
                }
            }
            _ => {
                statement.told = Some((fingerprint, reads));
                // It is not what its text seemed to say.
                if let Some(shape) = statement.shape.take() {
                    self.site.forget_alike(&shape);
                }
            }
        }
    }

    fn rows(&mut self, cursor: Cursor, packets: Vec<u8>, end: Option<End>) {
        self.learn_rows(cursor, &packets);
        let statement = self.openings.get(&cursor).copied().unwrap_or_default();
        self.recorder.pushed(statement, packets.len(), self.now);
        let Some(statement) = self.objects.statement(statement) else { return };
        if let CursorPlace::Pushed(rows) = &mut statement.cursor
            && rows.cursor == cursor
        {
            rows.add(self.site.hold_rows(packets, &self.rows_in_memory, self.now), end);
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
            return self.recorder.received(segments.len(), true);
        }
        self.recorder.pushed(handle, segments.len(), self.now);
        let Some(statement) = self.objects.statement(handle) else { return };
        let CursorPlace::Pushed(rows) = &mut statement.cursor else { return };
        rows.add_blob(segments.len());
        let transaction = rows.transaction;
        // With rows BLOBs come whole.
        if offset == 0
            && is_last
            && let Some(facts) = facts
        {
            self.keep_blob(transaction, blob, facts, segments);
        }
    }

    /// Gives credit for what the program has taken.
    pub(super) fn give_credit(&mut self, cursor: Cursor, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.ask(Ask::Credit { cursor, bytes });
    }
}
