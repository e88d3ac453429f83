//! Statements run ahead for the rows of cursors, when nothing of the program waits to be sent.
//!
//! [`Runner`] says which; here they become requests. Each is prepared under a handle that the edge knows nothing of, and must be described
//! as the edge says; a Farbird server must say that it only reads. One run is one flight: where the commits are, op_execute, one
//! op_fetch, op_free_statement. So the commit point is never later than what the statement has seen.
//!
//! In READ COMMITTED at a Farbird server statements run in a transaction of the origin's own, which outlives those of the program: such a
//! transaction sees the same as any other that has written nothing. Rows with BLOBs are left to the program's transaction, since BLOBs
//! may belong to the one that made them.
//!
//! When there is nothing more to run, the statements are dropped and that transaction is ended: neither may hinder definitions, nor a
//! detach. Errors are never told: what fails is told as not run.

use std::sync::Arc;
use std::time::Duration;

use farbird_wire::clumplet::tpb;
use farbird_wire::decoder::{Limits as DecoderLimits, RequestDecoder};
use farbird_wire::info::InfoReader;
use farbird_wire::message::{Message, MessageForm, MessageFormat, RowRun};
use farbird_wire::operation::Operation;
use farbird_wire::packet::{Execute, Fetch, Output, Reply, Request, StatementText};
use farbird_wire::protocol::{FETCH_END_OF_CURSOR, Handle, free_statement};

use super::ahead_state::{AheadStep, Own, Running, Statement};
use super::conversation::Conversation;
use super::definitions::Asker;
use super::objects::{Named, Place};
use super::private;
use super::work::{Purpose, Sent, information};
use crate::message::{Answered, Ask, AskAhead, CommitPoint, Cursor, Fingerprint, Relation};
use crate::speculation::{self, Given, Isolation, Ran, Runner, RunnerCounts, RunnerLimits};

/// Statements under way at a time: as long as they take, a request of the program may wait.
const AT_ONCE: usize = 4;
/// Statements prepared for running ahead at a time.
const STATEMENTS_MAX: usize = 64;
/// Most rows of a result.
const ROWS_MAX: usize = 1_000;
/// READ COMMITTED, read only, without waiting.
const OWN_TPB: [u8; 5] = [tpb::VERSION3, tpb::READ_COMMITTED, tpb::REC_VERSION, tpb::READ, tpb::NOWAIT];

/// Whether a run can be sent.
enum Readiness {
    Ready { statement: Handle, transaction: Handle, reads: Vec<Relation> },
    Wait,
    Never,
}

impl Conversation {
    /// The server has said something: until now it was at what it was sent first, or the line was, if that is slower.
    pub(super) fn note_time(&mut self, now: Duration) {
        let taken = now.saturating_sub(self.ahead.busy_since);
        self.ahead.busy_since = now;
        let at_work = self.sent.iter().find(|sent| takes_time(sent)).map(|sent| &sent.purpose);
        let step = match at_work {
            Some(Purpose::Ahead(step)) => Some(*step),
            _ => None,
        };
        let outer = step.and_then(|step| self.ahead.outer(step));
        if let Some(runner) = &mut self.ahead.runner {
            runner.pass(now);
            if step.is_some() {
                runner.took(outer, taken);
            }
        }
    }

    /// Whether the server has been sent what takes it time and is not answered.
    pub(super) fn is_server_busy(&self) -> bool {
        self.sent.iter().any(takes_time)
    }

    /// The server is listened to again, after it was not for a while: that is not its time.
    pub fn listens_again(&mut self, now: Duration) {
        self.ahead.busy_since = now;
    }

    /// What was run ahead since the last call.
    pub fn take_ahead_counts(&mut self) -> RunnerCounts {
        self.ahead.runner.as_mut().map(Runner::take_counts).unwrap_or_default()
    }

    /// Takes an ask about statements to be run ahead.
    pub(super) fn ask_ahead(&mut self, ask: Ask) {
        let form = MessageForm::of_sql(self.line.version());
        let runner = self.ahead.runner(form);
        match ask {
            Ask::Ahead { outer, transaction, statements, parameters } => {
                runner.given(outer, transaction, statements, parameters);
            }
            Ask::AheadCredit { outer, statements } => runner.credit(outer, statements),
            Ask::AheadStop { outer } => runner.stop(outer),
            _ => {}
        }
    }

    /// A cursor is opened for whose rows statements are to be run ahead.
    pub(super) fn run_for(&mut self, cursor: Cursor, transaction: u16, blr: &[u8], ahead: Vec<AskAhead>) {
        if !ahead.is_empty() {
            let form = MessageForm::of_sql(self.line.version());
            self.ahead.runner(form).opened(cursor, transaction, blr, ahead);
        }
    }

    /// Rows of a cursor came: op_fetch_response packets.
    pub(super) fn run_for_rows(&mut self, cursor: Cursor, packets: &[u8]) {
        if let Some(runner) = &mut self.ahead.runner {
            runner.rows(cursor, packets);
        }
    }

    /// A cursor has no more rows.
    pub(super) fn run_for_end(&mut self, cursor: Cursor) {
        if let Some(runner) = &mut self.ahead.runner {
            runner.ended(cursor);
        }
    }

    /// Notes what a request that is sent means for statements run ahead.
    pub(super) fn note_ahead(&mut self, request: &Request, named: &Named) {
        match request {
            Request::StartTransaction { tpb, .. } => match Isolation::of_tpb(tpb) {
                Some(isolation) => {
                    self.ahead.isolations.insert(named.made, isolation);
                }
                None => {
                    self.ahead.isolations.remove(&named.made);
                }
            },
            Request::Commit(_) | Request::Rollback(_) => {
                // What the origin runs in its own transaction goes on.
                let isolation = self.ahead.isolations.get(&named.transaction).copied();
                if self.is_farbird && isolation.is_some_and(is_read_committed) {
                    return;
                }
                self.ahead.isolations.remove(&named.transaction);
                if let Some(runner) = &mut self.ahead.runner {
                    runner.transaction_ended(named.transaction);
                }
            }
            Request::CommitRetaining(_) | Request::RollbackRetaining(_) => {
                // What the program has read stays locked no longer, and what it has not read since is not to be locked.
                let isolation = self.ahead.isolations.get(&named.transaction);
                if isolation == Some(&Isolation::TableStability)
                    && let Some(runner) = &mut self.ahead.runner
                {
                    runner.transaction_ended(named.transaction);
                }
            }
            _ => {}
        }
    }

    /// Ends what runs ahead; gives whether nothing of it is under way.
    pub(super) fn rest_ahead(&mut self) -> bool {
        if let Some(runner) = &mut self.ahead.runner {
            runner.clear();
        }
        self.ahead.pending = None;
        self.tell_ahead();
        if self.ahead.under_way > 0 {
            return false;
        }
        self.drop_ahead();
        // Nothing depends on the answers, but that they come before what is sent next.
        true
    }

    /// Runs what there is to run, if the program waits for nothing to be sent.
    pub(super) fn run_ahead(&mut self) {
        let Some(runner) = &mut self.ahead.runner else { return };
        runner.keep_open(|cursor| self.cursors.contains_key(&cursor));
        while self.ahead.running.len() < AT_ONCE {
            let pending = self.ahead.pending.take();
            let next = pending.or_else(|| self.ahead.runner.as_mut().and_then(Runner::next_work));
            let Some(work) = next else { break };
            match self.readiness(&work) {
                Readiness::Ready { statement, transaction, reads } => {
                    self.send_run(work, statement, transaction, reads);
                }
                Readiness::Wait => {
                    self.ahead.pending = Some(work);
                    break;
                }
                Readiness::Never => self.run_done(work, Ran::Nothing),
            }
        }
        self.tell_ahead();
        let is_over = self.ahead.pending.is_none()
            && self.ahead.under_way == 0
            && self.ahead.runner.as_ref().is_some_and(Runner::is_resting);
        if is_over {
            self.drop_ahead();
        }
    }

    fn tell_ahead(&mut self) {
        let tells = self.ahead.runner.as_mut().map(Runner::take_tells).unwrap_or_default();
        for tell in tells {
            self.tell(tell);
        }
    }

    fn run_done(&mut self, work: speculation::Work, ran: Ran) {
        if let Some(runner) = &mut self.ahead.runner {
            runner.done(work, ran);
        }
        self.tell_ahead();
    }

    /// Drops the statements and ends the transaction.
    fn drop_ahead(&mut self) {
        self.ahead.numbers.clear();
        for (_, statement) in std::mem::take(&mut self.ahead.statements) {
            let (Statement::Coming { at, .. } | Statement::Ready { at, .. } | Statement::Useless { at }) =
                statement;
            if at != Handle::NONE {
                let free = Request::FreeStatement { statement: at, option: free_statement::DROP };
                self.transmit(&free, Named::default(), Purpose::Ignored);
            }
        }
        if let Own::At(own) = std::mem::replace(&mut self.ahead.own, Own::None) {
            self.transmit(&Request::Commit(own), Named::default(), Purpose::Ignored);
        }
    }

    fn transmit_ahead(&mut self, request: &Request, named: Named, step: AheadStep) {
        self.ahead.under_way += 1;
        self.transmit(request, named, Purpose::Ahead(step));
    }

    /// Whether a run can be sent; sends what must come before.
    fn readiness(&mut self, work: &speculation::Work) -> Readiness {
        let Some(isolation) = self.ahead.isolations.get(&work.transaction).copied() else {
            return Readiness::Never;
        };
        if self.is_shared(isolation, work) {
            return self.ready_in_own(work);
        }
        match self.objects.get(work.transaction) {
            Some(object) if object.failure.is_none() && object.failed_write.is_none() => match object.place {
                Place::At(transaction) => self.ready_statement(work, transaction),
                Place::Coming => Readiness::Wait,
                _ => Readiness::Never,
            },
            _ => Readiness::Never,
        }
    }

    fn is_shared(&self, isolation: Isolation, work: &speculation::Work) -> bool {
        self.is_farbird && isolation.may_be_shared(work.output_blr())
    }

    fn ready_in_own(&mut self, work: &speculation::Work) -> Readiness {
        match self.ahead.own {
            Own::At(transaction) => self.ready_statement(work, transaction),
            Own::Coming => Readiness::Wait,
            Own::Failed => Readiness::Never,
            Own::None => {
                self.ahead.own = Own::Coming;
                let begin = Request::StartTransaction { database: Handle::NONE, tpb: OWN_TPB.to_vec() };
                self.transmit_ahead(&begin, Named::default(), AheadStep::Begin);
                Readiness::Wait
            }
        }
    }

    fn ready_statement(&mut self, work: &speculation::Work, transaction: Handle) -> Readiness {
        if let Some(number) = self.ahead.numbers.get(work.prepare()) {
            return match self.ahead.statements.get(number) {
                Some(Statement::Ready { at, reads }) => {
                    Readiness::Ready { statement: *at, transaction, reads: reads.clone() }
                }
                Some(Statement::Coming { .. }) => Readiness::Wait,
                Some(Statement::Useless { .. }) | None => Readiness::Never,
            };
        }
        if self.ahead.statements.len() >= STATEMENTS_MAX {
            return Readiness::Never;
        }
        let Some(mut text) = self.text_of(work.prepare()) else { return Readiness::Never };
        text.transaction = transaction;
        let number = self.ahead.next_number;
        self.ahead.next_number = number.wrapping_add(1);
        self.ahead.numbers.insert(work.prepare().to_vec(), number);
        let coming = Statement::Coming { text, described: work.described(), at: Handle::NONE };
        self.ahead.statements.insert(number, coming);
        let allocate = Request::AllocateStatement(Handle::NONE);
        self.transmit_ahead(&allocate, Named::default(), AheadStep::Allocate(number));
        self.draw_out();
        Readiness::Wait
    }

    /// The op_prepare_statement of the edge, read apart from what the edge sends: it says nothing of the program's statements.
    fn text_of(&self, packet: &[u8]) -> Option<Box<StatementText>> {
        let packet_bytes = self.limits.packet_bytes;
        let mut decoder = RequestDecoder::new(DecoderLimits { packet_bytes, ..DecoderLimits::default() });
        decoder.set_version(self.line.version());
        decoder.authenticated();
        decoder.feed(packet);
        match decoder.next_request() {
            Ok(Some(Request::Prepare(text))) if decoder.unread().is_empty() => Some(Box::new(text)),
            _ => None,
        }
    }

    fn send_run(
        &mut self,
        work: speculation::Work,
        statement: Handle,
        transaction: Handle,
        reads: Vec<Relation>,
    ) {
        let version = self.line.version();
        let form = MessageForm::of_sql(version);
        let Some(requests) = run_requests(&work, statement, transaction, form, self.ahead.limits) else {
            return self.run_done(work, Ran::Nothing);
        };
        let isolation = self.ahead.isolations.get(&work.transaction).copied();
        let is_shared = isolation.is_some_and(|isolation| self.is_shared(isolation, &work));
        let ran_in = if is_shared { 0 } else { work.transaction };
        let named = Named { transaction: ran_in, ..Named::default() };
        if self.is_farbird {
            let commits = information(Handle::NONE, vec![private::COMMIT_POINT], 64);
            self.transmit_ahead(&Request::DatabaseInformation(commits), named, AheadStep::Commit);
        }
        let [execute, fetch, close] = &requests;
        let question = work.question().map(|question| {
            let asked = information(statement, question.items.clone(), question.room);
            Request::StatementInformation(asked)
        });
        self.transmit_ahead(execute, named, AheadStep::Execute);
        if let Some(question) = &question {
            self.transmit_ahead(question, named, AheadStep::Opened);
        }
        self.transmit_ahead(fetch, named, AheadStep::Fetch);
        if let Some(question) = &question {
            self.transmit_ahead(question, named, AheadStep::Ended);
        }
        // Its answer, which the server may hold back, says nothing.
        self.transmit(close, named, Purpose::Ignored);
        let result = speculation::Ahead {
            transaction: ran_in,
            asked: self.ahead.asked,
            commit: CommitPoint(0),
            reads,
            opened: Vec::new(),
            packets: Vec::new(),
            rows: 0,
            answered: work.question().cloned().map(|question| Answered {
                question,
                opened: Vec::new(),
                ended: Vec::new(),
            }),
        };
        self.ahead.running.push_back(Running { work, result, is_whole: false, has_failed: false });
    }

    /// Rows of the oldest run came.
    pub(super) fn ahead_rows(&mut self, run: &RowRun) {
        let limit = self.ahead.limits.result_bytes;
        let Some(running) = self.ahead.running.front_mut() else { return };
        if running.result.packets.len() + run.wire().len() > limit {
            running.has_failed = true;
            running.result.packets = Vec::new();
        }
        if !running.has_failed {
            running.result.rows += u32::try_from(run.len()).unwrap_or(u32::MAX);
            running.result.packets.extend_from_slice(run.wire());
        }
    }

    /// A reply to one of the runner's requests.
    pub(super) fn ahead_replied(&mut self, step: AheadStep, reply: Reply, is_last: bool) {
        if is_last {
            self.ahead.under_way = self.ahead.under_way.saturating_sub(1);
        }
        match step {
            AheadStep::Begin => {
                self.ahead.own = match reply {
                    Reply::Response(response) if response.status.is_success() => Own::At(response.object),
                    _ => Own::Failed,
                };
            }
            AheadStep::Allocate(number) => self.ahead_allocated(number, &reply),
            AheadStep::Prepare(number) => self.ahead_prepared(number, &reply),
            AheadStep::Reads(number) => self.ahead_reads(number, &reply),
            AheadStep::Commit
            | AheadStep::Execute
            | AheadStep::Opened
            | AheadStep::Fetch
            | AheadStep::Ended => {
                self.ahead_ran(step, reply);
                let is_asked = self.ahead.running.front().is_some_and(|run| run.result.answered.is_some());
                let last_step = if is_asked { AheadStep::Ended } else { AheadStep::Fetch };
                if step == last_step && is_last {
                    self.ahead_over();
                }
            }
        }
    }

    /// The oldest run is over.
    fn ahead_over(&mut self) {
        let Some(Running { work, result, is_whole, has_failed }) = self.ahead.running.pop_front() else {
            return;
        };
        let ran = match is_whole && !has_failed {
            true => Ran::Result(result),
            false => Ran::Nothing,
        };
        self.run_done(work, ran);
    }

    fn ahead_allocated(&mut self, number: u32, reply: &Reply) {
        let Some(Statement::Coming { text, at, .. }) = self.ahead.statements.get_mut(&number) else { return };
        match reply {
            Reply::Response(response) if response.status.is_success() => {
                *at = response.object;
                text.statement = response.object;
                let server = response.object;
                let prepare = Request::Prepare((**text).clone());
                self.transmit_ahead(&prepare, Named::default(), AheadStep::Prepare(number));
                if self.is_farbird {
                    let reads = information(server, vec![private::STATEMENT_READS], 65_535);
                    let reads = Request::StatementInformation(reads);
                    self.transmit_ahead(&reads, Named::default(), AheadStep::Reads(number));
                }
            }
            _ => {
                self.ahead.statements.insert(number, Statement::Useless { at: Handle::NONE });
            }
        }
    }

    fn ahead_prepared(&mut self, number: u32, reply: &Reply) {
        let Some(Statement::Coming { described, at, text }) = self.ahead.statements.get(&number) else {
            return;
        };
        let (described, at) = (*described, *at);
        let query = self.definitions.query(text);
        let is_as_described = match reply {
            Reply::Response(response) => {
                response.status.is_success() && Fingerprint::of(&response.data) == described
            }
            _ => false,
        };
        if !is_as_described {
            self.ahead.statements.insert(number, Statement::Useless { at });
        } else if !self.is_farbird {
            match query {
                // The edge has learned long ago, perhaps, that it only reads: its views may be others now.
                Some(query) => self.look_up(query, Asker::Ahead(number)),
                None => {
                    let is_plain = self.definitions.believes();
                    self.ahead_looked_up(number, is_plain);
                }
            }
        }
    }

    /// Whether a statement that is to be run ahead only reads, before a server that does not say so itself.
    pub(super) fn ahead_looked_up(&mut self, number: u32, is_plain: bool) {
        let Some(Statement::Coming { at, .. }) = self.ahead.statements.get(&number) else { return };
        let at = *at;
        let statement = match is_plain {
            true => Statement::Ready { at, reads: Vec::new() },
            false => Statement::Useless { at },
        };
        self.ahead.statements.insert(number, statement);
    }

    fn ahead_reads(&mut self, number: u32, reply: &Reply) {
        let Some(Statement::Coming { at, .. }) = self.ahead.statements.get(&number) else { return };
        let at = *at;
        let reads = match reply {
            Reply::Response(response) if response.status.is_success() => {
                private::statement_reads(&response.data)
            }
            _ => None,
        };
        let statement = match reads {
            Some(reads) => Statement::Ready { at, reads },
            None => Statement::Useless { at },
        };
        self.ahead.statements.insert(number, statement);
    }

    fn ahead_ran(&mut self, step: AheadStep, reply: Reply) {
        let version = self.line.version();
        let limit = self.ahead.limits.result_bytes;
        let Some(running) = self.ahead.running.front_mut() else { return };
        let transaction = Handle(running.result.transaction);
        match (step, reply) {
            (AheadStep::Commit, Reply::Response(response)) => match commit_point(&response.data) {
                Some(commit) => running.result.commit = commit,
                None => running.has_failed = true,
            },
            (AheadStep::Execute, Reply::Response(mut response)) => {
                running.has_failed |= !response.status.is_success();
                response.object = transaction;
                Reply::Response(response).encode(version, &mut running.result.opened);
            }
            (AheadStep::Opened | AheadStep::Ended, Reply::Response(response)) => {
                running.has_failed |= !response.status.is_success();
                if let Some(answered) = &mut running.result.answered {
                    let packets =
                        if step == AheadStep::Opened { &mut answered.opened } else { &mut answered.ended };
                    Reply::Response(response).encode(version, packets);
                }
            }
            (_, Reply::InlineBlob(mut blob)) => {
                blob.transaction = transaction;
                Reply::InlineBlob(blob).encode(version, &mut running.result.packets);
            }
            (AheadStep::Fetch, Reply::FetchResponse(fetch)) if fetch.message.is_some() => {
                running.result.rows += 1;
                Reply::FetchResponse(fetch).encode(version, &mut running.result.packets);
            }
            (AheadStep::Fetch, Reply::FetchResponse(fetch)) => {
                running.is_whole |= fetch.status == FETCH_END_OF_CURSOR;
            }
            _ => running.has_failed = true,
        }
        let result = &mut running.result;
        let answered = result.answered.as_ref().map_or(0, |told| told.opened.len() + told.ended.len());
        if result.packets.len() + result.opened.len() + answered > limit {
            running.has_failed = true;
            (result.packets, result.opened, result.answered) = (Vec::new(), Vec::new(), None);
        }
    }
}

/// Whether a request takes the server time: not one that is done at once, and whose answer it may hold back until it is asked something else.
fn takes_time(sent: &Sent) -> bool {
    sent.operation != Operation::FreeStatement
}

fn is_read_committed(isolation: Isolation) -> bool {
    matches!(isolation, Isolation::ReadCommitted | Isolation::ReadCommittedWaiting)
}

fn commit_point(data: &[u8]) -> Option<CommitPoint> {
    let item = InfoReader::new(data).map_while(Result::ok).find(|item| item.item == private::COMMIT_POINT)?;
    item.integer().map(|point| CommitPoint(point.cast_unsigned()))
}

/// op_execute, op_fetch and op_free_statement of one run; `None` if the edge sent what cannot be one.
fn run_requests(
    work: &speculation::Work,
    statement: Handle,
    transaction: Handle,
    form: MessageForm,
    limits: RunnerLimits,
) -> Option<[Request; 3]> {
    let message = match work.blr.is_empty() {
        true => None,
        false => {
            let given = Given::read(&work.blr, &work.message, form)?;
            let format = Arc::new(MessageFormat::parse(&work.blr).ok()??);
            Some(Message::new(format, form, &given.values).ok()?)
        }
    };
    let format = Arc::new(MessageFormat::parse(work.output_blr()).ok()??);
    let rows = (limits.result_bytes / (format.length() as usize).max(1)).clamp(10, ROWS_MAX);
    let execution = work.execution();
    let execute = Execute {
        statement,
        transaction,
        input_blr: work.blr.clone(),
        message_number: 0,
        message,
        timeout_ms: match execution.timeout_ms {
            0 => limits.statement_ms,
            wanted => wanted.min(limits.statement_ms),
        },
        cursor_flags: 0,
        inline_blob_bytes: execution.inline_blob_bytes,
    };
    let output = Output { blr: work.output_blr().to_vec(), message_number: 0, format: Some(format) };
    let fetch = Fetch { statement, output, count: u16::try_from(rows).unwrap_or(u16::MAX) };
    Some([
        Request::Execute(execute),
        Request::Fetch(fetch),
        Request::FreeStatement { statement, option: free_statement::CLOSE },
    ])
}
