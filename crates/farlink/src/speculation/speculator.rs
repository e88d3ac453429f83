//! What a program's connection at the edge asks of speculation: one face for learner, rules and results.
//!
//! The caller tells what it sends and what comes; it gets, for each execution of a query, the answer, the word that one is on its way, or
//! nothing. It must tell of each ask ([`Speculator::count_ask`]) when it is sent, of a transaction's beginning behind the ask that carries
//! it, and of writes before theirs.

use std::sync::Arc;
use std::time::Duration;

use farbird_wire::message::{MessageForm, MessageFormat};

use super::learner::{Executed, Learner};
use super::limits::Limits;
use super::results::{Answer, Found, Gone, Isolation, Key, Results, Sight, View};
use super::rules::{Facts, Given, Rules, StatementText};
use crate::message::{Ask, AskAhead, CommitPoint, Cursor, Relation, Rule, Tell};
use crate::quick_hash::{QuickMap, QuickSet};

/// The transaction of results that the origin ran in a transaction of its own: READ COMMITTED, which sees the same as any other of that
/// kind that has written nothing.
const SHARED: u16 = 0;
/// Statements of one transaction that are remembered as executed in it.
const EXECUTED_MAX: usize = 1_024;

/// What is known of the database of an attachment.
#[derive(Clone, Copy)]
pub struct Database<'d> {
    /// Whether the server tells of commits.
    pub has_notices: bool,
    /// The newest commit that is known to have changed a relation.
    pub newest: &'d dyn Fn(Relation) -> CommitPoint,
    /// How old a result may be in READ COMMITTED if it does not; `None`: there are none then.
    pub age_max: Option<Duration>,
}

impl std::fmt::Debug for Database<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("has_notices", &self.has_notices).finish_non_exhaustive()
    }
}

/// An op_execute of a query.
#[derive(Debug, Clone, Copy)]
pub struct Execute<'e> {
    /// The number that its cursor gets.
    pub cursor: Cursor,
    /// The statement.
    pub statement: &'e StatementText,
    /// The transaction: the edge's handle.
    pub transaction: u16,
    /// What the origin must know of it. Of a cursor that was never fetched from the BLR of rows is empty.
    pub facts: &'e Facts,
    /// BLR and message of its parameters.
    pub parameters: Option<(&'e [u8], &'e [u8])>,
}

/// What becomes of an execution.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// This is its result.
    Answer(Answer),
    /// Its result is on its way: call [`Speculator::resume`] when something was told.
    Await(Awaited),
    /// It is to be asked for, with these statements to be run ahead for its rows.
    Ask(Vec<AskAhead>),
}

/// A result that is on its way.
#[derive(Debug, Clone, PartialEq)]
pub struct Awaited {
    key: Key,
    outer: Cursor,
    cursor: Cursor,
    rules: Vec<Rule>,
}

#[derive(Debug)]
struct Transaction {
    isolation: Option<Isolation>,
    begun: u32,
    written: u32,
    /// Statements executed in it. SNAPSHOT TABLE STABILITY locks what is read: nothing is read that was not read before.
    executed: QuickSet<StatementText>,
}

/// Speculation for one program.
#[derive(Debug)]
pub struct Speculator {
    form: MessageForm,
    learner: Learner,
    results: Results,
    transactions: QuickMap<u16, Transaction>,
    /// What was asked by each rule, as it was asked.
    asked_by: QuickMap<Rule, (StatementText, Facts)>,
    asked: u32,
    redefined: u32,
    rules_max: usize,
}

impl Speculator {
    /// For a program whose messages have this form, and on whose channel so much was asked before.
    pub fn new(limits: Limits, form: MessageForm, asked: u32) -> Speculator {
        Speculator {
            form,
            learner: Learner::new(limits, form),
            results: Results::new(limits.result_bytes),
            transactions: QuickMap::default(),
            asked_by: QuickMap::default(),
            asked,
            redefined: 0,
            rules_max: limits.rules,
        }
    }

    /// An ask of any kind leaves on the channel.
    pub fn count_ask(&mut self) {
        self.asked = self.asked.saturating_add(1);
    }

    /// A transaction begins with the ask that was counted last.
    pub fn begun(&mut self, transaction: u16, tpb: &[u8]) {
        let begun = Transaction {
            isolation: Isolation::of_tpb(tpb),
            begun: self.asked,
            written: 0,
            executed: QuickSet::default(),
        };
        self.transactions.insert(transaction, begun);
    }

    /// The next ask may change what a transaction sees. Everything is such a change but a query that is known to only read.
    pub fn wrote(&mut self, rules: &mut Rules, transaction: u16) {
        let Some(state) = self.transactions.get_mut(&transaction) else { return };
        state.written = self.asked.saturating_add(1);
        let gone = self.results.drop_transaction(transaction);
        self.count_gone(rules, &gone);
    }

    /// The next ask commits or rolls back a transaction that goes on.
    pub fn retained(&mut self, rules: &mut Rules, transaction: u16) {
        let gone = self.results.drop_transaction(transaction);
        self.count_gone(rules, &gone);
        if let Some(state) = self.transactions.get_mut(&transaction) {
            state.begun = self.asked.saturating_add(1);
            state.written = 0;
            // The locks of what was read are given back.
            state.executed.clear();
        }
    }

    /// A transaction ends.
    pub fn ended(&mut self, rules: &mut Rules, transaction: u16) {
        self.transactions.remove(&transaction);
        let gone = self.results.drop_transaction(transaction);
        self.count_gone(rules, &gone);
        self.learner.transaction_ended(transaction);
        self.settle(rules);
    }

    /// Definitions of the database have changed.
    pub fn redefined(&mut self, rules: &mut Rules) {
        self.redefined = self.asked.saturating_add(1);
        let gone = self.results.clear();
        self.count_gone(rules, &gone);
        self.learner.link_lost();
    }

    /// The link is gone, with all that was to come.
    pub fn link_lost(&mut self, rules: &mut Rules) {
        let gone = self.results.clear();
        self.count_gone(rules, &gone);
        self.learner.link_lost();
    }

    /// The program is gone.
    pub fn finish(&mut self, rules: &mut Rules) {
        let gone = self.results.clear();
        self.count_gone(rules, &gone);
        self.learner.finish();
        self.settle(rules);
    }

    /// A query is executed. Gives what becomes of it, and what is to be asked ahead beside it (behind it, if it is asked for itself).
    pub fn execute(
        &mut self,
        rules: &mut Rules,
        execute: &Execute<'_>,
        database: &Database<'_>,
        now: Duration,
    ) -> (Verdict, Vec<Ask>) {
        let given = match execute.parameters {
            Some((blr, message)) => Given::read(blr, message, self.form),
            None => None,
        };
        let isolation = self.transactions.get(&execute.transaction).and_then(|state| state.isolation);
        let view = self.view(execute, database);
        let can_answer = match isolation {
            Some(Isolation::Snapshot | Isolation::TableStability) => true,
            Some(Isolation::ReadCommitted) => database.has_notices || database.age_max.is_some(),
            Some(Isolation::ReadCommittedWaiting) => database.has_notices,
            None => false,
        };
        let executed = Executed {
            view,
            may_ask: can_answer,
            may_nest: isolation != Some(Isolation::TableStability),
            cursor: execute.cursor,
            statement: execute.statement,
            transaction: execute.transaction,
            facts: execute.facts,
            given: given.as_ref(),
        };
        let has_rules = rules.concerns(execute.statement);
        let seen = self.learner.execute(rules, &executed);
        let Some(isolation) = self.transactions.get(&execute.transaction).and_then(|state| state.isolation)
        else {
            return (Verdict::Ask(Vec::new()), Vec::new());
        };
        let asks = seen.asks;
        for ask in &asks {
            if let Ask::Ahead { statements, .. } = ask {
                self.note_asked(rules, statements);
            }
        }
        let has_results = !self.results.is_empty();
        let key = (has_results || seen.awaited.is_some()).then(|| self.key(execute, database));
        if has_results
            && let Some(key) = &key
            && let Some((answer, credit)) = self.find(rules, key, database, now, execute.transaction)
        {
            return (Verdict::Answer(answer), asks.into_iter().chain(credit).collect());
        }
        let ahead = match can_answer {
            true => self.ahead(rules, execute, isolation),
            false => Vec::new(),
        };
        if let (Some(outer), Some(key), true) = (seen.awaited, key, can_answer && has_rules) {
            let by: Vec<Rule> = rules.of_inner(execute.statement);
            let awaited = Awaited { key, outer, cursor: execute.cursor, rules: by };
            return (Verdict::Await(awaited), asks);
        }
        if has_rules && !rules.of_inner(execute.statement).is_empty() {
            rules.count(execute.statement, |tally| tally.missed += 1);
        }
        self.learner.asked_with_opening(execute.cursor, &ahead);
        (Verdict::Ask(ahead), asks)
    }

    /// An execution that waits for its result: asks again, after something was told.
    pub fn resume(
        &mut self,
        rules: &mut Rules,
        awaited: &Awaited,
        execute: &Execute<'_>,
        database: &Database<'_>,
        now: Duration,
    ) -> (Verdict, Vec<Ask>) {
        if let Some((answer, credit)) = self.find(rules, &awaited.key, database, now, execute.transaction) {
            return (Verdict::Answer(answer), credit.into_iter().collect());
        }
        let key = &awaited.key;
        let may_come = awaited
            .rules
            .iter()
            .all(|rule| self.learner.may_come(awaited.outer, *rule, &key.blr, &key.message));
        if may_come && self.transactions.contains_key(&execute.transaction) {
            return (Verdict::Await(awaited.clone()), Vec::new());
        }
        (Verdict::Ask(self.give_up(rules, awaited, execute)), Vec::new())
    }

    /// An execution waits for its result no longer: gives what is to be run ahead for its rows.
    pub fn give_up(&mut self, rules: &mut Rules, awaited: &Awaited, execute: &Execute<'_>) -> Vec<AskAhead> {
        rules.count(execute.statement, |tally| tally.missed += 1);
        let isolation = self.transactions.get(&execute.transaction).and_then(|state| state.isolation);
        let ahead = isolation.map_or(Vec::new(), |isolation| self.ahead(rules, execute, isolation));
        self.learner.asked_with_opening(awaited.cursor, &ahead);
        ahead
    }

    /// Rows of a cursor came: op_fetch_response packets, their BLR, and the format that it says.
    pub fn rows(
        &mut self,
        rules: &mut Rules,
        cursor: Cursor,
        shape: (&[u8], &Arc<MessageFormat>),
        packets: &[u8],
    ) {
        self.learner.rows(rules, cursor, shape, packets);
    }

    /// A cursor was closed before its end.
    pub fn closed_early(&mut self, cursor: Cursor) -> Option<Ask> {
        let is_asked_for = self.learner.is_asked_for(cursor);
        self.learner.stopped(cursor);
        is_asked_for.then_some(Ask::AheadStop { outer: cursor })
    }

    /// Takes what concerns speculation; gives credit for the origin.
    pub fn tell(&mut self, rules: &mut Rules, tell: Tell, now: Duration) -> Option<Ask> {
        match tell {
            Tell::Ahead {
                outer,
                rule,
                blr,
                parameters,
                transaction,
                asked,
                commit,
                reads,
                opened,
                packets,
                rows,
                answered,
            } => {
                self.learner.told(outer, rule, &blr, &parameters, true);
                if let Some((statement, facts)) = self.asked_by.get(&rule) {
                    rules.count(statement, |tally| tally.guessed += 1);
                    let key = Key {
                        transaction,
                        statement: statement.clone(),
                        blr,
                        message: parameters,
                        execution: facts.execution,
                        output_blr: facts.output_blr.to_vec(),
                        described: facts.described,
                    };
                    let sight = Sight { asked, commit, reads, came: now };
                    let answer = Answer { opened, packets, rows, rule, outer, answered };
                    let gone = self.results.store(key, answer, sight);
                    self.count_gone(rules, &gone);
                }
                None
            }
            Tell::NotAhead { outer, rule, blr, parameters } => {
                self.learner.told(outer, rule, &blr, &parameters, false);
                None
            }
            Tell::AheadRests { outer } => self.learner.rests(outer),
            _ => None,
        }
    }

    /// Bytes of results kept.
    pub fn bytes(&self) -> usize {
        self.results.bytes()
    }

    /// The transaction that results for this execution have seen: its own, or one of the origin's.
    fn view(&self, execute: &Execute<'_>, database: &Database<'_>) -> u16 {
        let isolation = self.transactions.get(&execute.transaction).and_then(|state| state.isolation);
        let is_shared = database.has_notices
            && isolation.is_some_and(|isolation| isolation.may_be_shared(&execute.facts.output_blr));
        if is_shared { SHARED } else { execute.transaction }
    }

    fn key(&self, execute: &Execute<'_>, database: &Database<'_>) -> Key {
        let (blr, message) = execute.parameters.unwrap_or_default();
        Key {
            transaction: self.view(execute, database),
            statement: execute.statement.clone(),
            blr: blr.to_vec(),
            message: message.to_vec(),
            execution: execute.facts.execution,
            output_blr: execute.facts.output_blr.to_vec(),
            described: execute.facts.described,
        }
    }

    /// The answer, and credit for the origin.
    fn find(
        &mut self,
        rules: &mut Rules,
        key: &Key,
        database: &Database<'_>,
        now: Duration,
        transaction: u16,
    ) -> Option<(Answer, Option<Ask>)> {
        let state = self.transactions.get(&transaction)?;
        let isolation = state.isolation?;
        let view = View {
            isolation,
            begun: if key.transaction == SHARED { 0 } else { state.begun },
            // What a transaction of the origin's own has seen lacks this one's writes, whenever it ran.
            written: match (key.transaction, state.written) {
                (SHARED, 1..) => u32::MAX,
                (_, written) => written,
            },
            redefined: self.redefined,
            has_notices: database.has_notices,
            newest: database.newest,
            age_max: database.age_max,
            now,
        };
        match self.results.find(key, &view) {
            Found::Nothing => None,
            Found::Outdated(gone) => {
                self.count_gone(rules, &[gone]);
                None
            }
            Found::Answer(answer, is_first) => {
                rules.count(&key.statement, |tally| {
                    tally.used += u64::from(is_first);
                    tally.trips_saved += 1;
                });
                let credit = if is_first { self.learner.used(answer.outer, answer.rule, now) } else { None };
                Some((answer, credit))
            }
        }
    }

    /// What is asked with an execution that is asked for itself.
    fn ahead(&mut self, rules: &Rules, execute: &Execute<'_>, isolation: Isolation) -> Vec<AskAhead> {
        let Some(state) = self.transactions.get_mut(&execute.transaction) else { return Vec::new() };
        let ahead = match isolation {
            Isolation::TableStability => {
                rules.ahead_if(execute.statement, &|statement| state.executed.contains(statement))
            }
            _ => rules.ahead(execute.statement),
        };
        if isolation == Isolation::TableStability && state.executed.len() < EXECUTED_MAX {
            state.executed.insert(execute.statement.clone());
        }
        self.note_asked(rules, &ahead);
        ahead
    }

    fn note_asked(&mut self, rules: &Rules, asks: &[AskAhead]) {
        for ask in asks {
            if let Some(entry) = rules.entry(ask.rule) {
                if self.asked_by.len() > self.rules_max {
                    self.asked_by.clear();
                }
                self.asked_by.insert(ask.rule, (entry.inner().clone(), entry.facts().clone()));
            }
            self.note_asked(rules, &ask.ahead);
        }
    }

    fn count_gone(&self, rules: &mut Rules, gone: &[Gone]) {
        for gone in gone.iter().filter(|gone| !gone.was_used) {
            if let Some((statement, _)) = self.asked_by.get(&gone.rule) {
                rules.count(statement, |tally| tally.wasted += 1);
            }
        }
    }

    fn settle(&mut self, rules: &mut Rules) {
        for settled in self.learner.take_settled() {
            rules.settle(settled.rule, settled.guessed, settled.used);
        }
    }
}
