//! What programs ask about statements: op_info_sql.
//!
//! What cannot change is kept with the description. What programs ask right after an execution or behind its first op_fetch, how many rows
//! it has changed, is asked together with the execution from the second time on, at the same place; of an execution that was run ahead
//! the origin asks it beside it.

use farbird_wire::packet::{BufferLength, Fetch, Information, Request};
use farbird_wire::protocol::{Handle, free_statement};

use super::Program;
use super::counters::Saved;
use super::effect::Effect;
use super::objects::{Foreseen, LocalExecution};
use super::program::Answer;
use super::replies::response;
use super::statement_cache::{Described, Shape, is_stable_information};
use crate::message::{Answered, Ask, AskBehind, Question};

impl Program {
    /// op_info_sql.
    pub(super) fn statement_information(&mut self, information: Information) {
        let room = information.buffer_length.0;
        let is_stable = is_stable_information(&information.items);
        let asked_of = self.objects.statement(information.object.0);
        if !is_stable && asked_of.is_some_and(|statement| statement.is_again) {
            // About an execution of which the server knows nothing.
            return self.break_connection();
        }
        if self.answer_foreseen(&information) {
            return;
        }
        if !is_stable && self.answer_local(&information) {
            return;
        }
        let described = self
            .objects
            .statement(information.object.0)
            .and_then(|statement| statement.described.clone().filter(|_| is_stable));
        let known = described.as_ref().and_then(|described| described.information(&information.items, room));
        if let Some(mut response) = known {
            if response.object != Handle(0) {
                response.object = information.object;
            }
            return self.answer(response, Some(Saved::Prepare));
        }
        let effect = described.map(|described| Effect::StatementInformation {
            described,
            items: information.items.clone(),
            room,
        });
        self.relay(&Request::StatementInformation(information), 0, effect);
    }

    /// Answers a question about the last execution that was asked with it; gives whether it was.
    fn answer_foreseen(&mut self, information: &Information) -> bool {
        let Some(statement) = self.objects.statement(information.object.0) else { return false };
        // Nothing has come between that could change the answer, but the first op_fetch.
        let (executed, (fetched, count)) = (statement.executed_by, statement.fetched_by);
        let rows = match self.requests {
            _ if executed == 0 => None,
            now if now == executed + 1 => Some(0),
            now if now == fetched + 1 && fetched == executed + 1 => Some(count),
            _ => None,
        };
        let question = rows.map(|rows| question(information, rows));
        match (statement.foreseen.take(), question) {
            (Some(foreseen), Some(question)) if foreseen.question == question => {
                self.save(Saved::Information);
                match foreseen.packets {
                    Some(packets) => self.answers.push_back(Answer::Ready { packets, is_lazy: false }),
                    None => {
                        self.own.remove(&foreseen.id);
                        let (id, effect, packets) = (foreseen.id, None, None);
                        self.answers.push_back(Answer::Asked { id, effect, packets });
                    }
                }
                true
            }
            (_, Some(question)) => {
                if !is_stable_information(&information.items)
                    && question.is_ordinary()
                    && let Some(described) = &statement.described
                {
                    described.set_question(question);
                }
                false
            }
            (_, None) => false,
        }
    }

    /// Answers a question about an execution that the server has not seen; gives false if there is none.
    fn answer_local(&mut self, information: &Information) -> bool {
        let version = self.version();
        let Some(statement) = self.objects.statement(information.object.0) else { return false };
        let Some(local) = &statement.local else { return false };
        let asked = question(information, 0);
        let told = local.answered.as_ref().filter(|Answered { question, .. }| {
            (&question.items, question.room) == (&asked.items, asked.room)
        });
        let told = told.and_then(|answered| match local.wanted_rows {
            0 => Some(&answered.opened),
            wanted if u32::from(wanted) >= local.rows => Some(&answered.ended),
            _ => None,
        });
        if let Some(mut response) = told.and_then(|packets| response(packets, version)) {
            if response.object != Handle(0) {
                response.object = information.object;
            }
            self.answer(response, Some(Saved::Information));
            return true;
        }
        let local = statement.local.take();
        if let Some(local) = local {
            self.execute_again(*local);
        }
        false
    }

    /// Lets the server see an execution that was answered here, so that it can be asked about it. The program has its rows.
    fn execute_again(&mut self, local: LocalExecution) {
        let LocalExecution { execute, output, wanted_rows, .. } = local;
        let statement = execute.statement;
        if self.objects.transaction(execute.transaction.0).is_none() {
            return;
        }
        let mut requests = vec![Request::Execute(execute)];
        if let Some(output) = output.filter(|_| wanted_rows > 0) {
            requests.push(Request::Fetch(Fetch { statement, output, count: wanted_rows }));
        }
        for request in requests {
            // Nobody waits for the reply: what fails here is not what the program has asked for.
            let (id, packet) = (self.new_request(), self.packet(&request));
            self.ask(Ask::Relay { id, object: 0, packet });
        }
        let close = Request::FreeStatement { statement, option: free_statement::CLOSE };
        let (id, packet) = (self.new_request(), self.packet(&close));
        self.ask(Ask::Relay { id, object: 0, packet });
    }

    /// A statement is executed at the server: gives the question that programs ask about that, to be asked with it. Without the
    /// `shape` of rows that are pushed, only one that is asked before any row.
    pub(super) fn foresee(
        &mut self,
        handle: u16,
        described: &Described,
        shape: Option<&Shape>,
    ) -> Option<AskBehind> {
        let requests = self.requests;
        let statement = self.objects.statement(handle)?;
        statement.executed_by = requests;
        statement.foreseen = None;
        statement.local = None;
        let has_place = |rows: u16| {
            rows == 0 || shape.is_some_and(|shape| Question::allows_rows(rows, shape.format.length()))
        };
        let question = described.question().filter(|question| has_place(question.rows))?;
        let rows = question.rows;
        let id = self.new_request();
        let information = Information {
            object: Handle(handle),
            incarnation: 0,
            items: question.items.clone(),
            buffer_length: BufferLength(question.room),
        };
        let packet = self.packet(&Request::StatementInformation(information));
        self.own.insert(id, Effect::Foreseen { statement: handle });
        if let Some(statement) = self.objects.statement(handle) {
            statement.foreseen = Some(Foreseen { id, question, packets: None });
        }
        Some(AskBehind { id, rows, packet })
    }
}

fn question(information: &Information, rows: u16) -> Question {
    Question { items: information.items.clone(), room: information.buffer_length.0, rows }
}
