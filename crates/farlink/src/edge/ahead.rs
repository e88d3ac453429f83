//! Executions answered by what was run ahead.
//!
//! A query's execution comes here before it is asked for. Its answer may be here; or on its way: then the program's further requests
//! wait, since what they ask must come behind it; or it is asked for, with the statements that its rows will need.

use std::sync::Arc;

use farbird_wire::message::{MessageForm, MessageFormat};
use farbird_wire::packet::{Execute, Response};
use farbird_wire::protocol::Handle;

use super::Program;
use super::counters::Saved;
use super::cursors::Rows;
use super::effect::Effect;
use super::held::Held;
use super::objects::{CursorPlace, LocalExecution};
use super::program::Answer;
use super::spill::HeldRows;
use super::statement_cache::{Described, RunAs, Shape};
use crate::message::{Ask, AskAhead, Cursor, End, Execution, RequestId, Tell};
use crate::speculation::{self, Database, Facts, Speculator, StatementText, Verdict};

/// What speculation must know of an execution.
struct Known {
    statement: StatementText,
    facts: Facts,
    /// BLR of its parameters, given with it or before.
    blr: Vec<u8>,
}

impl Program {
    /// The speculator, if there is to be speculation: made when the protocol is agreed upon.
    pub(super) fn speculator(&mut self) -> Option<&mut Speculator> {
        if !self.site.limits().speculates {
            return None;
        }
        if self.speculator.is_none() {
            let form = MessageForm::of_sql(self.version());
            let limits = self.site.limits().speculation;
            self.speculator = Some(Box::new(Speculator::new(limits, form, self.asked)));
        }
        self.speculator.as_deref_mut()
    }

    /// A transaction has begun with the ask that was sent last.
    pub(super) fn speculate_begun(&mut self, transaction: u16, tpb: &[u8]) {
        if let Some(speculator) = self.speculator() {
            speculator.begun(transaction, tpb);
        }
    }

    /// Does something with the speculator and the rules of all programs.
    pub(super) fn speculate<T>(
        &mut self,
        work: impl FnOnce(&mut Speculator, &mut speculation::Rules) -> T,
    ) -> Option<T> {
        let site = Arc::clone(&self.site);
        let speculator = self.speculator.as_deref_mut()?;
        Some(work(speculator, &mut site.rules()))
    }

    /// Executes a query that is known to only read.
    pub(super) fn execute_query(&mut self, execute: Execute, described: &Arc<Described>) {
        let cursor = self.new_cursor();
        let known = self.known(&execute, described);
        let may_repeat = self.site.is_farbird() != Some(false) || described.looks_timeless;
        let (Some(known), Some(_), true) = (known, self.speculator(), may_repeat) else {
            let id = self.new_request();
            return self.open_cursor(execute, described, id, cursor, Vec::new());
        };
        self.heed_definitions();
        let site = Arc::clone(&self.site);
        let now = self.now;
        let (database_number, has_notices) = self.notices();
        let newest = |relation| site.newest_commit(database_number, relation);
        let age_max = site.limits().read_committed_age;
        let database = Database { has_notices, newest: &newest, age_max };
        let asked = known.execute(cursor, &execute);
        let Some((verdict, asks)) =
            self.speculate(|speculator, rules| speculator.execute(rules, &asked, &database, now))
        else {
            return;
        };
        match verdict {
            Verdict::Answer(answer) => self.answer_ahead(&execute, described, cursor, answer, None),
            Verdict::Await(awaited) => {
                let id = self.new_request();
                // Its place among the answers; its rows are fetched behind it.
                self.answers.push_back(Answer::Asked { id, effect: None, packets: None });
                let described = Arc::clone(described);
                let until = now + self.site.limits().ahead_wait;
                self.held = Some(Box::new(Held { execute, described, cursor, id, awaited, until }));
            }
            Verdict::Ask(ahead) => {
                let id = self.new_request();
                self.open_cursor(execute, described, id, cursor, ahead);
            }
        }
        asks.into_iter().for_each(|ask| self.ask(ask));
    }

    /// Takes what concerns statements run ahead.
    pub(super) fn told_ahead(&mut self, tell: Tell) {
        let now = self.now;
        if let Tell::Ahead { packets, .. } = &tell {
            self.recorder.received(packets.len(), false);
        }
        let credit = self.speculate(|speculator, rules| speculator.tell(rules, tell, now)).flatten();
        credit.into_iter().for_each(|ask| self.ask(ask));
        self.resume_held();
    }

    /// Whether the program's next requests wait for what is on its way.
    pub(super) fn is_holding(&self) -> bool {
        self.held.is_some()
    }

    /// Asks for an execution whose result has not come in time.
    pub(super) fn wait_no_longer(&mut self) {
        let now = self.now;
        let Some(held) = self.held.take_if(|held| held.until <= now) else { return };
        let known = self.known(&held.execute, &held.described);
        let ahead = known.and_then(|known| {
            let asked = known.execute(held.cursor, &held.execute);
            self.speculate(|speculator, rules| speculator.give_up(rules, &held.awaited, &asked))
        });
        self.open_held(*held, ahead.unwrap_or_default());
    }

    fn resume_held(&mut self) {
        let Some(held) = self.held.take() else { return };
        // Without speculation there is nothing to wait for: it is asked for, or the program would wait for ever.
        let (verdict, asks) = self.resumed(&held).unwrap_or_else(|| (Verdict::Ask(Vec::new()), Vec::new()));
        match verdict {
            Verdict::Answer(answer) => {
                self.answer_ahead(&held.execute, &held.described, held.cursor, answer, Some(held.id));
            }
            Verdict::Await(_) => self.held = Some(held),
            Verdict::Ask(ahead) => self.open_held(*held, ahead),
        }
        asks.into_iter().for_each(|ask| self.ask(ask));
    }

    /// What becomes of an execution that waits, after something was told; `None` without speculation.
    fn resumed(&mut self, held: &Held) -> Option<(Verdict, Vec<Ask>)> {
        let known = self.known(&held.execute, &held.described)?;
        self.heed_definitions();
        let site = Arc::clone(&self.site);
        let now = self.now;
        let (database_number, has_notices) = self.notices();
        let newest = |relation| site.newest_commit(database_number, relation);
        let age_max = site.limits().read_committed_age;
        let database = Database { has_notices, newest: &newest, age_max };
        let asked = known.execute(held.cursor, &held.execute);
        self.speculate(|speculator, rules| speculator.resume(rules, &held.awaited, &asked, &database, now))
    }

    /// Asks for an execution whose place among the answers is taken.
    fn open_held(&mut self, held: Held, ahead: Vec<AskAhead>) {
        let Held { execute, described, cursor, id, .. } = held;
        let statement = execute.statement.0;
        self.send_opening(execute, &described, id, cursor, ahead);
        self.count_trip();
        let place = self
            .answers
            .iter_mut()
            .find(|answer| matches!(answer, Answer::Asked { id: of, .. } if *of == id));
        if let Some(Answer::Asked { effect, .. }) = place {
            *effect = Some(Effect::Opened { statement, cursor });
        }
    }

    /// Answers an execution by what was run ahead; in the place among the answers that it has, if it has one.
    fn answer_ahead(
        &mut self,
        execute: &Execute,
        described: &Arc<Described>,
        cursor: Cursor,
        answer: speculation::Answer,
        place: Option<RequestId>,
    ) {
        let shape = described.shape();
        let transaction = execute.transaction;
        if let Some(shape) = &shape {
            self.speculate(|speculator, rules| {
                speculator.rows(rules, cursor, (&shape.blr, &shape.format), &answer.packets);
            });
        }
        let mut rows = Rows::new(cursor, transaction.0, shape);
        rows.is_local = true;
        rows.add(HeldRows::uncounted(answer.packets), Some(End::Complete));
        self.openings.insert(cursor, execute.statement.0);
        let requests = self.requests;
        if let Some(statement) = self.objects.statement(execute.statement.0) {
            statement.cursor = CursorPlace::Pushed(Box::new(rows));
            statement.executed_by = requests;
            statement.foreseen = None;
            statement.local = Some(Box::new(LocalExecution {
                execute: execute.clone(),
                answered: answer.answered,
                output: None,
                wanted_rows: 0,
                rows: answer.rows,
            }));
        }
        self.site.count_text(described, |text| {
            text.executions += 1;
            text.saved += 1;
        });
        self.recorder.ahead();
        let response = Response::object(Handle(transaction.0));
        // Not lazily: a driver waits for the answer to op_execute before it sends op_fetch.
        let Some(id) = place else { return self.answer(response, Some(Saved::Ahead)) };
        self.save(Saved::Ahead);
        let mut opened = Vec::new();
        farbird_wire::packet::Reply::Response(response).encode(self.version(), &mut opened);
        let place = self
            .answers
            .iter_mut()
            .find(|answer| matches!(answer, Answer::Asked { id: of, .. } if *of == id));
        if let Some(Answer::Asked { packets, .. }) = place {
            *packets = Some(opened);
        }
    }

    /// Rows of a cursor came.
    pub(super) fn learn_rows(&mut self, cursor: Cursor, packets: &[u8]) {
        let statement = self.openings.get(&cursor).copied().unwrap_or_default();
        if let Some(statement) = self.objects.statement(statement)
            && let CursorPlace::Pushed(rows) = &statement.cursor
            && let Some(shape) = rows.shape.clone()
        {
            self.speculate(|speculator, rules| {
                speculator.rows(rules, cursor, (&shape.blr, &shape.format), packets);
            });
        }
    }

    /// A cursor is closed; `is_early` if the program has not come to its end.
    pub(super) fn learn_closed(&mut self, cursor: Cursor, is_early: bool) {
        let ask = match &mut self.speculator {
            Some(speculator) if is_early => speculator.closed_early(cursor),
            _ => None,
        };
        if let Some(ask) = ask {
            self.ask(ask);
        }
    }

    fn known(&self, execute: &Execute, described: &Described) -> Option<Known> {
        let attachment = self.attachment.as_ref()?;
        let RunAs { statement, prepare, .. } =
            described.run_as(attachment.file.as_bytes(), self.version(), |text| {
                self.packet(&farbird_wire::packet::Request::Prepare(text.clone()))
            });
        if described.shape().is_none()
            && let Some(blr) = self.site.rules().shape(&statement, described.fingerprint)
            && let Ok(Some(format)) = MessageFormat::parse(&blr)
        {
            // Another program, or this one before the edge was started anew, has fetched them so.
            described.set_shape(Arc::new(Shape { blr: blr.to_vec(), format: Arc::new(format) }));
        }
        let facts = Facts {
            prepare,
            described: described.fingerprint,
            execution: Execution {
                timeout_ms: execute.timeout_ms,
                inline_blob_bytes: execute.inline_blob_bytes,
            },
            question: described.question(),
            output_blr: described.shape().map_or([].into(), |shape| shape.blr.as_slice().into()),
        };
        let blr = match &execute.message {
            Some(_) => execute.input_blr.clone(),
            None => Vec::new(),
        };
        Some(Known { statement, facts, blr })
    }

    /// The number of the database, and whether the server tells of its commits.
    fn notices(&self) -> (u32, bool) {
        let attached = self.attachment.as_ref();
        let number = attached.and_then(|attached| attached.database);
        let has_notices = self.site.is_farbird() == Some(true)
            && number.is_some()
            && attached.is_some_and(|attached| !attached.strict_transactions);
        (number.unwrap_or_default(), has_notices)
    }

    /// Results from before definitions were told to have changed are dropped.
    fn heed_definitions(&mut self) {
        let generation = self.site.generation();
        if self.definitions != generation {
            self.definitions = generation;
            self.speculate(|speculator, rules| speculator.redefined(rules));
        }
    }
}

impl Known {
    fn execute<'k>(&'k self, cursor: Cursor, execute: &'k Execute) -> speculation::Execute<'k> {
        speculation::Execute {
            cursor,
            statement: &self.statement,
            transaction: execute.transaction.0,
            facts: &self.facts,
            parameters: execute.message.as_ref().map(|message| (self.blr.as_slice(), message.wire())),
        }
    }
}
