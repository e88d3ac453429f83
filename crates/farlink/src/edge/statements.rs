//! Prepare, execute, fetch, free.

use std::sync::Arc;

use farbird_types::isc;
use farbird_wire::info::common;
use farbird_wire::packet::{
    BufferLength, Execute, ExecuteImmediate2, Fetch, Information, Request, Response, StatementText,
};
use farbird_wire::protocol::{CURSOR_SCROLLABLE, Handle, free_statement};

use super::Program;
use super::counters::Saved;
use super::cursors::{Fetched, Rows};
use super::effect::Effect;
use super::objects::{CursorPlace, Object, Statement};
use super::program::Answer;
use super::statement_cache::{
    Described, Key, Kind, Shape, first_two_words, first_word, is_about_session, is_write_of_text,
    kind_of_text,
};
use super::text_shape::key_of_shape;
use crate::message::{Ask, AskAhead, AskBehind, Cursor, Push, RequestId};

/// Object field of the reply to op_free_statement when the statement is no more.
const GONE: Handle = Handle(0xFFFF);

impl Program {
    pub(super) fn allocate_statement(&mut self, request: &Request) {
        let Some(handle) = self.objects.insert(Object::Statement(Box::default())) else {
            return self.refuse(isc::TOO_MANY_HANDLES);
        };
        self.objects.set_latest(Some(handle));
        self.decoder.statement_allocated(Handle(handle));
        self.quietly(request, handle);
        self.answer_lazily(Response::object(Handle(handle)), Some(Saved::Prepare));
    }

    /// What a description depends on, if it is to be kept for all.
    fn key(&mut self, text: &StatementText) -> Option<Key> {
        if self.has_own_definitions() {
            return None;
        }
        let attachment = self.attachment.as_ref().filter(|attachment| attachment.is_plain)?;
        Some(Key::new(attachment.database?, Arc::clone(&attachment.context), text))
    }

    pub(super) fn prepare(&mut self, text: StatementText) {
        let handle = text.statement.0;
        self.close_cursor(handle);
        if let Some(statement) = self.objects.statement(handle) {
            *statement = Statement::default();
        }
        let is_known = self.objects.statement(handle).is_some();
        let has_transaction = self.objects.transaction(text.transaction.0).is_some();
        let key = if is_known && has_transaction { self.key(&text) } else { None };
        let mut found = key.as_ref().and_then(|key| self.site.find_statement(key));
        let mut shape = None;
        if found.is_none() && self.site.limits().deferred_prepare {
            shape = key.as_ref().and_then(key_of_shape);
            found = shape.as_ref().and_then(|shape| self.described_alike(shape, &text));
        }
        let request = Request::Prepare(text.clone());
        match found {
            Some(described) => {
                let packet = self.packet(&request);
                self.ask(Ask::Prepared { packet, described: described.fingerprint });
                self.answer(
                    Response::data(Handle(described.object), described.data.clone()),
                    Some(Saved::Prepare),
                );
                self.site.count_text(&described, |text| text.saved += 1);
                if let Some(statement) = self.objects.statement(handle) {
                    statement.described = Some(described);
                    statement.is_prepared_later = true;
                    statement.shape = shape.map(Box::new);
                }
            }
            None => {
                let effect = is_known.then(|| Effect::Prepared {
                    statement: handle,
                    text: Box::new(text),
                    key: key.map(Box::new),
                });
                self.relay(&request, 0, effect);
            }
        }
    }

    /// The description of a statement whose text the server has not seen, if it is known from others of its shape.
    fn described_alike(&self, shape: &Key, text: &StatementText) -> Option<Arc<Described>> {
        let alike = self.site.find_alike(shape)?;
        let response = Response::data(Handle(alike.object), alike.data.clone());
        let described = Described::new(text.clone(), &response);
        described.learn_from(&alike);
        Some(Arc::new(described))
    }

    /// The server has prepared a statement.
    pub(super) fn prepared(
        &mut self,
        handle: u16,
        text: StatementText,
        key: Option<Box<Key>>,
        response: &Response,
    ) {
        let described = Arc::new(Described::new(text, response));
        if let Some(statement) = self.objects.statement(handle) {
            if let Some((fingerprint, reads)) = statement.told.take()
                && fingerprint == described.fingerprint
            {
                described.set_reads(reads.as_deref());
            }
            statement.described = Some(Arc::clone(&described));
        }
        // Others have it from here on, with what it reads.
        if let Some(key) = key {
            let shape = if self.site.limits().deferred_prepare { key_of_shape(&key) } else { None };
            if let Some(shape) = shape {
                self.site.keep_statement(shape, Arc::clone(&described));
            }
            self.site.keep_statement(*key, described);
        }
    }

    /// Whether executing the statement is known to change nothing.
    fn is_pure(&self, described: &Described) -> bool {
        let is_believed = self.site.is_farbird() == Some(false) && self.site.limits().texts_show_purity;
        described.reads().is_some() || is_believed && described.looks_pure
    }

    pub(super) fn execute(&mut self, execute: Execute) {
        let (handle, transaction) = (execute.statement.0, execute.transaction.0);
        if let Some(statement) = self.objects.statement(handle) {
            statement.failure = None;
            statement.is_again = false;
        }
        let described = self.objects.statement(handle).and_then(|statement| statement.described.clone());
        let is_free = matches!(
            self.objects.statement(handle),
            Some(Statement { cursor: CursorPlace::None, is_named: false, .. })
        );
        let has_transaction = self.objects.transaction(transaction).is_some();
        if let Some(Statement { cursor: CursorPlace::Pushed(rows), .. }) = self.objects.statement(handle)
            && rows.is_local
        {
            // The server has no such cursor, and would not know.
            let open = farbird_types::Error::new(isc::SQLERR).with(-502).and(isc::DSQL_CURSOR_OPEN_ERR);
            return self.answer(Response::error(&open), None);
        }
        match described {
            Some(described)
                if is_free
                    && has_transaction
                    && described.is_pushable()
                    && execute.cursor_flags & CURSOR_SCROLLABLE == 0 =>
            {
                if self.is_pure(&described) {
                    if let Some(transaction) = self.objects.transaction(transaction) {
                        transaction.ran_pure = true;
                    }
                    self.execute_query(execute, &described);
                } else {
                    self.wrote(transaction);
                    self.tie_by(Kind::Query, Some(&described));
                    let (id, cursor) = (self.new_request(), self.new_cursor());
                    self.open_cursor(execute, &described, id, cursor, Vec::new());
                }
            }
            described => {
                let request = Request::Execute(execute);
                self.execute_at_server(request, handle, transaction, described.as_ref());
            }
        }
    }

    pub(super) fn execute_at_server(
        &mut self,
        request: Request,
        statement: u16,
        transaction: u16,
        described: Option<&Arc<Described>>,
    ) {
        let kind = described.map_or(Kind::Other, |described| described.kind);
        if !described.is_some_and(|described| self.is_pure(described)) {
            self.tie_by(kind, described);
            self.changes(kind, transaction, described.map(|described| described.shown()).as_deref());
        }
        let may_open =
            matches!(request, Request::Execute(_)) && described.is_none_or(|described| described.has_cursor);
        if may_open
            && let Some(statement) = self.objects.statement(statement)
            && matches!(statement.cursor, CursorPlace::None)
        {
            statement.cursor = CursorPlace::Server { transaction };
        }
        if let Some(described) = described {
            self.site.count_text(described, |text| text.executions += 1);
        }
        let is_write =
            matches!(request, Request::Execute(_)) && described.is_some_and(|described| described.is_write);
        if !(is_write && self.write(&request, transaction)) {
            let undoes = kind == Kind::Other
                && described.is_some_and(|described| first_word(&described.shown()) == "rollback");
            self.execute_relayed(request, transaction, may_open.then_some(statement), undoes);
        }
        if let Some(described) = described
            && let Some(AskBehind { id, packet, .. }) = self.foresee(statement, described, None)
        {
            self.ask(Ask::Relay { id, object: 0, packet });
        }
    }

    /// `undoes`: whether it may undo what its transaction has written, which goes on.
    fn execute_relayed(&mut self, request: Request, transaction: u16, cursor_of: Option<u16>, undoes: bool) {
        // SET TRANSACTION begins one.
        let made = match transaction {
            0 => self.objects.insert(Object::Other).unwrap_or_default(),
            _ => 0,
        };
        let id = self.new_request();
        let packet = self.packet(&request);
        if undoes && self.undoes_writes(transaction) {
            self.ask(Ask::Undo { id, packet });
        } else {
            self.ask(Ask::Relay { id, object: made, packet });
        }
        let effect = Effect::Executed { request: Box::new(request), transaction, made, cursor_of };
        self.wait_for(id, Some(effect));
    }

    /// A statement that is not known to be pure is executed.
    fn changes(&mut self, kind: Kind, transaction: u16, text: Option<&str>) {
        match kind {
            _ if is_about_session(text.unwrap_or_default()) => {
                self.session_changes();
                self.redefined(transaction);
            }
            Kind::Definition => self.redefined(transaction),
            Kind::Other => {
                self.redefined(transaction);
                let word = first_word(text.unwrap_or_default());
                let is_about_transaction =
                    matches!(word.as_str(), "commit" | "rollback" | "savepoint" | "release");
                if !is_about_transaction {
                    self.session_changes();
                }
            }
            Kind::Query | Kind::Change | Kind::ForUpdate => self.wrote(transaction),
        }
    }

    /// SET ROLE, SET BIND, SET TIME ZONE, ALTER SESSION RESET ...: from here descriptions and rows may be others, and privileges.
    fn session_changes(&mut self) {
        // What the program has prepared before is prepared before: the role that counts is the one that it had.
        let later: Vec<u16> = self
            .objects
            .iter_mut()
            .filter_map(|(handle, object)| match object {
                Object::Statement(statement) => {
                    std::mem::take(&mut statement.is_prepared_later).then_some(handle)
                }
                _ => None,
            })
            .collect();
        for handle in later {
            let information = Information {
                object: Handle(handle),
                incarnation: 0,
                items: vec![common::END],
                buffer_length: BufferLength(16),
            };
            self.quietly(&Request::StatementInformation(information), 0);
        }
        if let Some(attachment) = &mut self.attachment {
            attachment.is_plain = false;
        }
        self.speculate(|speculator, rules| speculator.redefined(rules));
    }

    /// op_exec_immediate, op_exec_immediate2.
    pub(super) fn execute_immediately(&mut self, request: Request) {
        let (transaction, sql) = match &request {
            Request::ExecuteImmediate(text) | Request::ExecuteImmediate2(ExecuteImmediate2 { text, .. }) => {
                (text.transaction.0, &text.sql)
            }
            _ => return,
        };
        let text = String::from_utf8_lossy(sql).into_owned();
        let words = first_two_words(&text);
        let [word, _] = &words;
        if words != ["set", "transaction"] {
            self.tie();
            self.changes(kind_of_text(word), transaction, Some(&text));
        }
        let is_write = matches!(request, Request::ExecuteImmediate(_)) && is_write_of_text(word);
        if !(is_write && self.write(&request, transaction)) {
            self.execute_relayed(request, transaction, None, word == "rollback");
        }
    }

    /// A statement was executed at the server.
    pub(super) fn executed(
        &mut self,
        transaction: u16,
        made: u16,
        cursor_of: Option<u16>,
        response: Option<&Response>,
    ) {
        let succeeded = response.filter(|response| response.status.is_success());
        if succeeded.is_none()
            && let Some(statement) = cursor_of.and_then(|handle| self.objects.statement(handle))
            && matches!(statement.cursor, CursorPlace::Server { .. })
        {
            statement.cursor = CursorPlace::None;
        }
        match succeeded {
            Some(response) if made != 0 && response.object == Handle(made) => {
                let begun = super::objects::Transaction { is_opaque: true, ..Default::default() };
                self.objects.set(made, Object::Transaction(Box::new(begun)));
                self.objects.set_latest(Some(made));
                return;
            }
            // COMMIT or ROLLBACK as a statement.
            Some(response) if response.object == Handle(0) && transaction != 0 => {
                self.end_transaction(transaction);
            }
            _ => {}
        }
        if made != 0 {
            self.objects.remove(made);
        }
    }

    /// How the rows of a statement are to be pushed.
    fn push(&self, shape: &Shape, granted: usize) -> Push {
        Push {
            blr: shape.blr.clone(),
            credit: u32::try_from(granted).unwrap_or(u32::MAX),
            blob_bytes: u32::try_from(self.site.limits().blob_bytes).unwrap_or(u32::MAX),
        }
    }

    /// Allows rows to be sent.
    fn grant(&mut self) -> usize {
        let limits = self.site.limits();
        let most = limits.program_row_bytes.saturating_add(self.site.program_spill_room(self.now));
        let left = most.saturating_sub(self.granted_rows);
        let wanted = limits.cursor_bytes.min(left).max(limits.cursor_bytes_least);
        let granted = self.site.grant_rows(wanted, self.now);
        self.granted_rows += granted;
        granted
    }

    pub(super) fn open_cursor(
        &mut self,
        execute: Execute,
        described: &Arc<Described>,
        id: RequestId,
        cursor: Cursor,
        ahead: Vec<AskAhead>,
    ) {
        let statement = execute.statement.0;
        self.send_opening(execute, described, id, cursor, ahead);
        self.wait_for(id, Some(Effect::Opened { statement, cursor }));
    }

    /// Asks for a cursor. Its place among the answers is the caller's affair.
    pub(super) fn send_opening(
        &mut self,
        execute: Execute,
        described: &Arc<Described>,
        id: RequestId,
        cursor: Cursor,
        ahead: Vec<AskAhead>,
    ) {
        let (handle, transaction) = (execute.statement.0, execute.transaction.0);
        let shape = described.shape();
        let mut rows = Rows::new(cursor, transaction, shape.clone());
        let push = shape.as_ref().map(|shape| {
            rows.granted = self.grant();
            self.push(shape, rows.granted)
        });
        let packet = self.packet(&Request::Execute(execute));
        // Behind rows that the program asks for there is no place before one knows how it does.
        let question = self.foresee(handle, described, shape.as_deref());
        self.ask(Ask::Open { id, cursor, packet, push, question, ahead });
        self.openings.insert(cursor, handle);
        if let Some(statement) = self.objects.statement(handle) {
            statement.cursor = CursorPlace::Pushed(Box::new(rows));
        }
        self.site.count_text(described, |text| text.executions += 1);
    }

    pub(super) fn fetch(&mut self, fetch: Fetch) {
        let handle = fetch.statement.0;
        let requests = self.requests;
        let Some(statement) = self.objects.statement(handle) else {
            return self.relay(&Request::Fetch(fetch), 0, None);
        };
        if let Some(packets) = statement.failure.take() {
            return self.answers.push_back(Answer::Ready { packets, is_lazy: false });
        }
        let described = statement.described.clone();
        let CursorPlace::Pushed(rows) = &mut statement.cursor else {
            return self.relay(&Request::Fetch(fetch), 0, None);
        };
        if rows.has_failed() {
            return self.relay(&Request::Fetch(fetch), 0, None);
        }
        if statement.executed_by + 1 == requests {
            statement.fetched_by = (requests, fetch.count);
        }
        if let Some(local) = &mut statement.local {
            local.wanted_rows = local.wanted_rows.saturating_add(fetch.count);
            if fetch.output.format.is_some() || local.output.is_none() {
                local.output = Some(fetch.output.clone());
            }
        }
        let cursor = rows.cursor;
        let given = fetch
            .output
            .format
            .as_ref()
            .map(|format| Arc::new(Shape { blr: fetch.output.blr.clone(), format: Arc::clone(format) }));
        let is_first = rows.shape.is_none();
        match (&rows.shape, given) {
            (None, Some(given)) => {
                rows.shape = Some(Arc::clone(&given));
                if let Some(described) = &described {
                    described.set_shape(given);
                }
            }
            (Some(shape), Some(given)) if shape.blr != given.blr => {
                rows.wanted = Some(Arc::clone(&given.format));
                if let Some(described) = &described {
                    described.set_shape(given);
                }
            }
            (Some(_), Some(_)) => rows.wanted = None,
            (Some(_), None) => {}
            (None, None) => return self.relay(&Request::Fetch(fetch), 0, None),
        }
        if is_first && let Some(shape) = rows.shape.clone() {
            let granted = self.grant();
            let push = self.push(&shape, granted);
            self.ask(Ask::Push { cursor, push });
            if let Some(Statement { cursor: CursorPlace::Pushed(rows), .. }) = self.objects.statement(handle)
            {
                rows.granted = granted;
            }
            if !self.is_waiting() {
                self.count_trip();
            }
        } else {
            self.save(Saved::Fetch);
            if let Some(described) = &described {
                self.site.count_text(described, |text| text.saved += 1);
            }
        }
        self.answers.push_back(Answer::Fetch { statement: handle, cursor, count: fetch.count });
    }

    /// Answers a fetch whose turn it is with what is here; false if further rows must come.
    pub(super) fn answer_fetch(&mut self, handle: u16, cursor: Cursor, count: u16) -> bool {
        let version = self.version();
        let window = self.site.limits().cursor_bytes;
        let Some(Statement { cursor: CursorPlace::Pushed(rows), described, .. }) =
            self.objects.statement(handle)
        else {
            return self.refuse_fetch(handle);
        };
        if rows.cursor != cursor {
            return self.refuse_fetch(handle);
        }
        let Ok(Fetched { rows: given, is_done }) = rows.fetch(usize::from(count), version, &mut self.plain)
        else {
            self.end();
            return true;
        };
        self.is_urgent |= given > 0 || is_done;
        let credit = rows.take_credit(window.min(rows.granted.max(1)));
        if let Some(described) = described.clone() {
            self.site.count_text(&described, |text| text.rows += given as u64);
        }
        self.site.count(|counters| counters.rows += given as u64);
        self.recorder.rows(handle, given);
        if let Some(credit) = credit {
            self.give_credit(cursor, credit);
        }
        is_done
    }

    /// The cursor has not been opened, or is closed.
    fn refuse_fetch(&mut self, handle: u16) -> bool {
        let failure = self.objects.statement(handle).and_then(|statement| statement.failure.take());
        if let Some(failure) = failure {
            self.plain.extend_from_slice(&failure);
            self.is_urgent = true;
            return true;
        }
        let error = farbird_types::Error::new(isc::DSQL_CURSOR_ERR).and(isc::CURSOR_NOT_OPEN);
        self.put(&farbird_wire::packet::Reply::Response(Response::error(&error)));
        self.is_urgent = true;
        true
    }

    /// The cursor was not opened.
    pub(super) fn forget_cursor(&mut self, handle: u16, cursor: Cursor) {
        self.openings.remove(&cursor);
        let Some(statement) = self.objects.statement(handle) else { return };
        // Asked behind rows that do not come.
        if let Some(foreseen) = statement.foreseen.take_if(|foreseen| foreseen.packets.is_none()) {
            self.own.remove(&foreseen.id);
        }
        if let CursorPlace::Pushed(rows) = &statement.cursor
            && rows.cursor == cursor
        {
            let granted = rows.granted;
            statement.cursor = CursorPlace::None;
            self.granted_rows = self.granted_rows.saturating_sub(granted);
            self.site.give_back_rows(granted);
        }
    }

    /// Closes a cursor whose rows are pushed, without a word to the program. Gives whether there was one.
    fn close_cursor(&mut self, handle: u16) -> bool {
        let Some(Statement { cursor: CursorPlace::Pushed(rows), .. }) = self.objects.statement(handle) else {
            return false;
        };
        let (cursor, is_local, is_early) = (rows.cursor, rows.is_local, !rows.is_over());
        self.forget_cursor(handle, cursor);
        self.learn_closed(cursor, is_early);
        if !is_local {
            self.ask(Ask::CloseCursor { cursor });
        }
        true
    }

    pub(super) fn set_cursor(&mut self, request: &Request, handle: u16) {
        if let Some(statement) = self.objects.statement(handle) {
            statement.is_named = true;
        }
        self.relay(request, 0, None);
    }

    /// op_free_statement: nobody waits for it.
    pub(super) fn free_statement(&mut self, request: &Request, handle: Handle, option: u16) {
        let Some(statement) = self.objects.statement(handle.0) else {
            return self.relay(request, 0, None);
        };
        let is_at_server = matches!(statement.cursor, CursorPlace::Server { .. });
        if option & (free_statement::DROP | free_statement::UNPREPARE) == 0 {
            if option & free_statement::CLOSE == 0 {
                return self.relay(request, 0, None);
            }
            if is_at_server {
                statement.cursor = CursorPlace::None;
                self.quietly(request, 0);
            } else if !self.close_cursor(handle.0) {
                let error = farbird_types::Error::new(isc::DSQL_CURSOR_CLOSE_ERR);
                return self.answer_lazily(Response::error(&error), None);
            }
            return self.answer_lazily(Response::object(handle), Some(Saved::Free));
        }
        self.close_cursor(handle.0);
        self.quietly(request, 0);
        if option & free_statement::DROP != 0 {
            self.objects.remove(handle.0);
            return self.answer_lazily(Response::object(GONE), Some(Saved::Free));
        }
        if let Some(statement) = self.objects.statement(handle.0) {
            *statement = Statement::default();
        }
        self.answer_lazily(Response::object(handle), Some(Saved::Free));
    }
}
