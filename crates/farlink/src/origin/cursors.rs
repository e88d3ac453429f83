//! Cursors whose rows are pushed: op_fetch after op_fetch ahead, as far as the edge has given credit.
//!
//! Rows travel as they come: whatever one read of the server's line brought makes a message, and larger reads make several. BLOBs that
//! a row names stand before it. The end, or the error with which fetching ended, comes behind the rows before it.

use std::sync::Arc;

use farbird_wire::message::RowRun;
use farbird_wire::packet::{Fetch, Output, Reply, Request};
use farbird_wire::protocol::{FETCH_END_OF_CURSOR, free_statement};

use super::blob_reading::{BlobKey, BlobReading};
use super::conversation::Conversation;
use super::objects::{Named, Place, Role, unknown};
use super::pushed_cursor::{PendingQuestion, PushedCursor, Stage};
use super::requests::Hindrance;
use super::work::Purpose;
use crate::message::{Cursor, End, RequestId, Tell};

impl Conversation {
    /// BLR of a cursor's rows; empty if it is not known.
    pub(super) fn output_blr(&self, cursor: Cursor) -> Vec<u8> {
        let pushing = self.cursors.get(&cursor).and_then(|pushed| pushed.pushing.as_ref());
        pushing.map_or(Vec::new(), |pushing| pushing.push.blr.clone())
    }

    /// Sends the op_execute of a cursor.
    pub(super) fn open_cursor(&mut self, id: RequestId, cursor: Cursor, request: &mut Request, named: Named) {
        let is_certain =
            self.objects.get(named.statement).is_some_and(|object| object.cursor_transaction == 0);
        self.before(request, &named);
        let version = self.line.version();
        if let Some(pushed) = self.cursors.get_mut(&cursor) {
            pushed.stage = Stage::Opening { is_certain };
            if version.has_inline_blobs()
                && let Request::Execute(execute) = request
            {
                execute.inline_blob_bytes = pushed.inline_bytes_to_ask(self.limits.fetch_bytes);
                pushed.inline_bytes_asked = execute.inline_blob_bytes;
            }
        }
        self.transmit(request, named, Purpose::Open(id, cursor));
    }

    /// The op_execute of a cursor is answered.
    pub(super) fn cursor_opened(&mut self, cursor: Cursor, is_success: bool) {
        if !is_success {
            self.cursor_failed(cursor);
        } else if let Some(pushed) = self.cursors.get_mut(&cursor)
            && matches!(pushed.stage, Stage::Opening { .. })
        {
            pushed.stage = Stage::Open;
        }
    }

    /// A cursor was not opened. What was to be asked behind its rows is asked now: the server says what there is to say.
    pub(super) fn cursor_failed(&mut self, cursor: Cursor) {
        let question = self.cursors.remove(&cursor).and_then(|pushed| pushed.question);
        if let Some(question) = question {
            self.ask_about_rows(question);
        }
    }

    /// Forgets a cursor. What was to be asked behind its rows has no place any more, and a program may wait for it already: it fails.
    fn drop_cursor(&mut self, cursor: Cursor) -> Option<PushedCursor> {
        let mut pushed = self.cursors.remove(&cursor)?;
        if let Some(question) = pushed.question.take() {
            self.fail(question.request.operation(), question.id, unknown(Role::Statement));
        }
        Some(pushed)
    }

    /// Forgets the cursors that have been asked for and of which this is true.
    fn drop_cursors(&mut self, is_over: impl Fn(&PushedCursor) -> bool) {
        let over = |(cursor, pushed): (&Cursor, &PushedCursor)| {
            (pushed.stage != Stage::Waiting && is_over(pushed)).then_some(*cursor)
        };
        let over: Vec<Cursor> = self.cursors.iter().filter_map(over).collect();
        for cursor in over {
            self.drop_cursor(cursor);
        }
    }

    /// Asks for more rows of all cursors that have credit.
    pub(super) fn fetch_ahead(&mut self) {
        let limits = self.limits;
        let mut fetches = Vec::new();
        for (cursor, pushed) in &mut self.cursors {
            if !pushed.may_fetch() {
                continue;
            }
            let Some(server) = self.objects.at_server(pushed.statement) else { continue };
            let (statement, transaction) = (pushed.statement, pushed.transaction);
            let inline_bytes = pushed.inline_bytes_asked as usize;
            let Some(pushing) = &mut pushed.pushing else { continue };
            while pushing.wants_rows(&limits, inline_bytes) {
                let question = pushed.question.take();
                let has_format = std::mem::replace(&mut pushing.has_format, true);
                // The answer depends on how many rows were asked for.
                let count = match &question {
                    Some(question) => question.rows,
                    None => pushing.rows_per_fetch(&limits, inline_bytes),
                };
                pushing.fetches.push_back(usize::from(count));
                let blr = if has_format { Vec::new() } else { pushing.push.blr.clone() };
                let format = (!has_format).then(|| Arc::clone(&pushing.format));
                let fetch =
                    Fetch { statement: server, output: Output { blr, message_number: 0, format }, count };
                let named = Named { statement, transaction, ..Named::default() };
                fetches.push((*cursor, fetch, named, question));
            }
        }
        for (cursor, fetch, named, question) in fetches {
            self.transmit(&Request::Fetch(fetch), named, Purpose::Fetch(cursor));
            if let Some(question) = question {
                self.ask_about_rows(question);
            }
        }
    }

    /// Asks what the program is expected to ask behind its first op_fetch.
    fn ask_about_rows(&mut self, question: PendingQuestion) {
        let PendingQuestion { id, mut request, named, .. } = question;
        match self.at_server(&mut request, &named) {
            Ok(()) => self.transmit(&request, named, Purpose::Relay(id)),
            // Its cursor is being fetched from: there is nothing that it would have to wait for.
            Err(Hindrance::Fail(status)) => self.fail(request.operation(), id, status),
            Err(_) => self.fail(request.operation(), id, unknown(Role::Statement)),
        }
    }

    /// Rows of a cursor have come.
    pub(super) fn rows_came(&mut self, cursor: Cursor, run: &RowRun) {
        let push_bytes = self.limits.push_bytes;
        let Some(pushed) = self.cursors.get_mut(&cursor) else { return };
        let Some(pushing) = &mut pushed.pushing else { return };
        if !pushing.count_rows(run.len()) {
            return self.end("the server sent more rows than it was asked for");
        }
        pushing.take_rows(run);
        // Rows wait for the BLOBs of all rows that travel with them: few are quicker there.
        let is_whole = pushing.batch.bytes() >= push_bytes || !pushing.batch.wanted.is_empty();
        if is_whole {
            pushing.seal();
        }
        self.run_for_rows(cursor, run.wire());
    }

    /// What an op_fetch brings beside rows.
    pub(super) fn fetch_replied(&mut self, cursor: Cursor, reply: Reply, is_last: bool) {
        let version = self.line.version();
        let Some(pushed) = self.cursors.get_mut(&cursor) else { return };
        let (transaction, inline_bytes) = (pushed.transaction, pushed.inline_bytes);
        let Some(pushing) = &mut pushed.pushing else { return };
        let is_row = matches!(&reply, Reply::FetchResponse(fetch) if fetch.message.is_some());
        if is_row && !pushing.count_rows(1) {
            return self.end("the server sent more rows than it was asked for");
        }
        if is_last {
            pushing.fetches.pop_front();
        }
        if pushing.is_ended {
            return;
        }
        match reply {
            Reply::InlineBlob(blob) => {
                pushing.inline_blob(blob, cursor, transaction, inline_bytes, version);
                if pushing.waiting_bytes() > self.limits.reply_bytes {
                    self.end("the server sends BLOBs without their row");
                }
            }
            Reply::FetchResponse(fetch) if fetch.message.is_some() => {
                pushing.begin_row();
                pushing.batch.rows += 1;
                let mut packet = Vec::new();
                Reply::FetchResponse(fetch).encode(version, &mut packet);
                pushing.batch.packets.extend_from_slice(&packet);
                self.run_for_rows(cursor, &packet);
            }
            Reply::FetchResponse(fetch) if fetch.status == FETCH_END_OF_CURSOR => {
                pushing.is_ended = true;
                pushing.batch.end = Some(End::Complete);
                pushing.seal();
                self.run_for_end(cursor);
            }
            reply @ Reply::Response(_) => {
                let mut packet = Vec::new();
                reply.encode(version, &mut packet);
                pushing.is_ended = true;
                pushing.batch.end = Some(End::Failed(packet));
                pushing.seal();
                self.run_for_end(cursor);
            }
            _ => {}
        }
    }

    /// What has come of all cursors is ready to go, once its BLOBs are there.
    pub(super) fn seal_rows(&mut self) {
        for pushed in self.cursors.values_mut() {
            if let Some(pushing) = &mut pushed.pushing {
                pushing.seal();
            }
        }
    }

    /// Tells the edge what is ready and within its credit.
    pub(super) fn deliver(&mut self) {
        let mut told = Vec::new();
        for (cursor, pushed) in &mut self.cursors {
            let Some(pushing) = &mut pushed.pushing else { continue };
            while let Some(batch) = pushing.held.front() {
                if !batch.wanted.is_empty() || !batch.reading.is_empty() {
                    break;
                }
                // What ends a cursor costs nothing: its program may wait for it.
                if pushing.credit <= 0 && batch.rows > 0 {
                    break;
                }
                let Some(batch) = pushing.held.pop_front() else { break };
                pushing.held_bytes = pushing.held_bytes.saturating_sub(batch.bytes());
                pushing.credit =
                    pushing.credit.saturating_sub(i64::try_from(batch.bytes()).unwrap_or(i64::MAX));
                told.extend(batch.blobs);
                told.push(Tell::Rows {
                    cursor: *cursor,
                    packets: batch.packets,
                    rows: batch.rows,
                    end: batch.end,
                });
            }
        }
        for tell in told {
            self.tell(tell);
        }
    }

    /// Begins to read the BLOBs that rows name.
    pub(super) fn read_blobs(&mut self) {
        let mut room = self.limits.blobs_at_once.saturating_sub(self.blobs_of_rows());
        let mut begun = Vec::new();
        for (cursor, pushed) in &mut self.cursors {
            let transaction = pushed.transaction;
            let Some(pushing) = &mut pushed.pushing else { continue };
            for at in 0..pushing.held.len() {
                if !pushing.may_read_blobs(at) {
                    break;
                }
                let Some(batch) = pushing.held.get_mut(at) else { break };
                while room > 0 && !batch.wanted.is_empty() {
                    let blob = batch.wanted.remove(0);
                    pushing.blobs = pushing.blobs.wrapping_add(1).max(1);
                    batch.reading.insert(pushing.blobs);
                    let key = BlobKey { cursor: *cursor, number: pushing.blobs };
                    begun.push((key, BlobReading::of_row(transaction, blob, pushing.push.blob_bytes)));
                    room -= 1;
                }
            }
        }
        for (key, reading) in begun {
            self.read_blob(key, reading);
        }
        self.go_on_reading();
    }

    /// A BLOB of a row has been read; `None` if it is not to be pushed.
    pub(super) fn blob_of_row(&mut self, key: BlobKey, contents: Option<(Tell, usize)>) {
        let Some(pushing) = self.cursors.get_mut(&key.cursor).and_then(|pushed| pushed.pushing.as_mut())
        else {
            return;
        };
        let mut batches = pushing.held.iter_mut();
        let Some(batch) = batches.find(|batch| batch.reading.contains(&key.number)) else { return };
        batch.reading.remove(&key.number);
        if let Some((tell, bytes)) = contents {
            batch.blobs.push(tell);
            batch.blob_bytes += bytes;
            pushing.held_bytes += bytes;
        }
    }

    /// The edge wants no more of a cursor: it is closed at the server.
    pub(super) fn close_cursor(&mut self, cursor: Cursor) {
        let Some(pushed) = self.drop_cursor(cursor) else { return };
        if pushed.stage == Stage::Waiting {
            return;
        }
        let Some(object) = self.objects.get_mut(pushed.statement) else { return };
        let is_open = std::mem::take(&mut object.cursor_transaction) != 0;
        if let (true, Place::At(statement)) = (is_open, &object.place) {
            let close = Request::FreeStatement { statement: *statement, option: free_statement::CLOSE };
            self.transmit(&close, Named::default(), Purpose::Ignored);
        }
    }

    /// The cursor of a statement is closed, or the statement is no more.
    pub(super) fn stop_statement(&mut self, statement: u16) {
        self.drop_cursors(|pushed| pushed.statement == statement);
    }

    /// A transaction is being ended: nothing more is asked for in it until one knows whether it is.
    pub(super) fn pause_pushing(&mut self, transaction: u16) {
        for pushed in self.cursors.values_mut() {
            if pushed.transaction == transaction && pushed.stage == Stage::Open {
                pushed.stage = Stage::Paused;
            }
        }
        self.pause_blobs(transaction);
    }

    /// A transaction could not be ended.
    pub(super) fn resume_pushing(&mut self, transaction: u16) {
        for pushed in self.cursors.values_mut() {
            if pushed.transaction == transaction && pushed.stage == Stage::Paused {
                pushed.stage = Stage::Open;
            }
        }
        self.resume_blobs(transaction);
    }

    /// A transaction has ended, and with it its cursors and BLOBs.
    pub(super) fn stop_pushing(&mut self, transaction: u16) {
        self.drop_cursors(|pushed| pushed.transaction == transaction);
        self.drop_blobs(transaction);
    }
}
