//! The origin's side of speculation: which statements to run next for the rows of which cursor.
//!
//! A [`Runner`] belongs to one conversation. It is told of cursors that are opened with statements to be run ahead, of their rows as the
//! server sends them, and of lists of parameters; whenever the conversation has nothing of the program's to do, it takes one [`Work`],
//! has it run, and tells how that went. Works come in the order in which the program will need them: for each row its
//! statements, and below each of its rows first what is nested there.
//!
//! Limits: [`RunnerLimits`], and the windows of the edge, which has to use results before more of them are made. What they take of the
//! server's time and of the line before they are used has budgets ([`super::stake`]); where one is used up, nothing more is run until
//! results are used. Statements that have run for an opening are not run again for it with the same parameters. Uses
//! [`super::rules::bound`]. Sans-IO; times are handed in.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use farbird_types::Value;
use farbird_wire::message::{MessageForm, MessageFormat};

use super::rows::walk;
use super::rules::bound;
use super::stake::{Account, Budget, RunnerCounts, Stake};
use crate::message::{
    Answered, AskAhead, CommitPoint, Cursor, Execution, Fingerprint, GivenParameters, Question, Relation,
    Rule, Tell,
};
use crate::quick_hash::QuickSet;

/// What running ahead may take of one conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunnerLimits {
    /// Cursors for whose rows statements are run ahead at a time. The oldest is given up for a newer one.
    pub openings: usize,
    /// Bytes of rows that wait for their statements to be run, of one cursor. Statements of later rows are not run.
    pub queued_bytes: usize,
    /// Bytes of a result. A larger one is given up: it is streamed when the program asks for it.
    pub result_bytes: usize,
    /// Milliseconds that a statement may run, where the protocol has timeouts: what the program asks for meanwhile waits for it.
    pub statement_ms: u32,
    /// Results remembered as run, of one cursor.
    pub seen: usize,
    /// Most statements without credit, whatever the edge says.
    pub window_max: u32,
    /// The server's time that statements may take for one cursor before their results are used.
    pub cursor_time: Duration,
    /// The same for all of a program's cursors, with what those that are over have left unused ([`super::stake`]).
    pub program_time: Duration,
    /// Bytes of a program's results that are not used: an edge keeps no more than [`super::Limits::result_bytes`] of them.
    pub program_bytes: usize,
}

impl Default for RunnerLimits {
    fn default() -> RunnerLimits {
        RunnerLimits {
            openings: 16,
            queued_bytes: 4 << 20,
            result_bytes: 256 << 10,
            statement_ms: 1_000,
            seen: 65_536,
            window_max: 8_192,
            cursor_time: Duration::from_secs(10),
            program_time: Duration::from_secs(30),
            program_bytes: 12 << 20,
        }
    }
}

/// A statement to be run now.
#[derive(Debug, Clone)]
pub struct Work {
    /// For the rows of which cursor.
    pub outer: Cursor,
    /// The transaction of the program that it is for: the edge's handle.
    pub transaction: u16,
    /// BLR of its parameters, empty without any.
    pub blr: Vec<u8>,
    /// Its parameters.
    pub message: Vec<u8>,
    node: Arc<Node>,
    rows: Vec<Arc<Vec<Value>>>,
}

impl Work {
    /// The rule that asks for it.
    pub fn rule(&self) -> Rule {
        self.node.ask.rule
    }

    /// Its op_prepare_statement.
    pub fn prepare(&self) -> &[u8] {
        &self.node.ask.prepare
    }

    /// What it must be described as.
    pub fn described(&self) -> Fingerprint {
        self.node.ask.described
    }

    /// What else its op_execute says.
    pub fn execution(&self) -> Execution {
        self.node.ask.execution
    }

    /// BLR of its rows.
    pub fn output_blr(&self) -> &[u8] {
        &self.node.ask.output_blr
    }

    /// What programs ask about its executions.
    pub fn question(&self) -> Option<&Question> {
        self.node.ask.question.as_ref()
    }
}

/// How a statement went that was run ahead.
#[derive(Debug, Clone, PartialEq)]
pub enum Ran {
    /// It gave this result.
    Result(Ahead),
    /// It failed, or its result is too large, or it may do more than read.
    Nothing,
}

/// The result of a statement that was run ahead: see [`Tell::Ahead`].
#[derive(Debug, Clone, PartialEq)]
pub struct Ahead {
    /// The transaction in which it ran: the edge's handle, or 0 for one of the origin's own.
    pub transaction: u16,
    /// How many asks had gone to the server before it.
    pub asked: u32,
    /// The commits that it has seen.
    pub commit: CommitPoint,
    /// What it read.
    pub reads: Vec<Relation>,
    /// The replies to op_execute.
    pub opened: Vec<u8>,
    /// All of its rows.
    pub packets: Vec<u8>,
    /// How many.
    pub rows: u32,
    /// What the server says about the execution, if that was to be asked.
    pub answered: Option<Answered>,
}

impl Ahead {
    /// What of it travels, about.
    pub fn bytes(&self) -> usize {
        let answered = self.answered.as_ref().map_or(0, |told| told.opened.len() + told.ended.len());
        self.packets.len() + self.opened.len() + answered
    }
}

#[derive(Debug)]
struct Node {
    /// What is asked, without what is nested in it.
    ask: AskAhead,
    below: Vec<Arc<Node>>,
}

impl Node {
    fn of(mut ask: AskAhead) -> Arc<Node> {
        let below = std::mem::take(&mut ask.ahead).into_iter().map(Node::of).collect();
        Arc::new(Node { ask, below })
    }

    /// The rules nested in it.
    fn nested(&self) -> impl Iterator<Item = Rule> {
        self.below.iter().map(|below| below.ask.rule)
    }
}

#[derive(Debug)]
struct Task {
    node: Arc<Node>,
    /// The row that it is for and those that this stands in, the innermost first.
    rows: Vec<Arc<Vec<Value>>>,
    /// Its parameters, if the edge has made them.
    given: Option<(Vec<u8>, Vec<u8>)>,
    bytes: usize,
}

#[derive(Debug)]
struct Opening {
    cursor: Cursor,
    transaction: u16,
    format: Option<MessageFormat>,
    top: Vec<Arc<Node>>,
    /// What waits, by depth; the deepest comes first.
    waiting: Vec<VecDeque<Task>>,
    waiting_bytes: usize,
    window: u32,
    has_more_rows: bool,
    seen: QuickSet<u64>,
    /// Statements that were taken and are not done.
    running: u32,
    is_resting: bool,
    stake: Stake,
}

/// Runs statements ahead for one conversation.
#[derive(Debug)]
pub struct Runner {
    limits: RunnerLimits,
    form: MessageForm,
    /// The newest last.
    openings: Vec<Opening>,
    account: Account,
    counts: RunnerCounts,
    tells: Vec<Tell>,
}

/// What a task takes beside its rows and parameters, about.
const TASK_BYTES: usize = 64;
/// What a result takes at the edge beside its bytes, about.
const RESULT_BYTES: usize = 512;

impl Runner {
    /// A runner of a conversation whose messages have this form.
    pub fn new(limits: RunnerLimits, form: MessageForm) -> Runner {
        Runner {
            limits,
            form,
            openings: Vec::new(),
            account: Account::default(),
            counts: RunnerCounts::default(),
            tells: Vec::new(),
        }
    }

    /// The limits.
    pub fn limits(&self) -> &RunnerLimits {
        &self.limits
    }

    /// A cursor is being opened, for whose rows, of this BLR, statements are to be run ahead.
    pub fn opened(&mut self, cursor: Cursor, transaction: u16, output_blr: &[u8], ahead: Vec<AskAhead>) {
        let format = MessageFormat::parse(output_blr).ok().flatten();
        let has_more_rows = format.is_some();
        let opening = self.opening(cursor, transaction);
        opening.format = format;
        opening.has_more_rows = has_more_rows;
        let top: Vec<_> = ahead.into_iter().map(Node::of).collect();
        opening.admit(&top);
        opening.top = top;
        self.bound();
    }

    /// Statements are to be run with these parameters.
    pub fn given(
        &mut self,
        cursor: Cursor,
        transaction: u16,
        statements: Vec<AskAhead>,
        parameters: Vec<GivenParameters>,
    ) {
        let limit = self.limits.queued_bytes;
        let opening = self.opening(cursor, transaction);
        let nodes: Vec<_> = statements.into_iter().map(Node::of).collect();
        opening.admit(&nodes);
        opening.drop_superseded(&nodes);
        for GivenParameters { statement, blr, message } in parameters {
            let Some(node) = nodes.get(usize::from(statement)) else { continue };
            let blr = if blr.is_empty() { node.ask.input_blr.clone() } else { blr };
            let bytes = TASK_BYTES + blr.len() + message.len();
            let task = Task { node: Arc::clone(node), rows: Vec::new(), given: Some((blr, message)), bytes };
            opening.wait(task, 0, limit);
        }
        self.bound();
    }

    /// Rows of a cursor came from the server: op_fetch_response packets.
    pub fn rows(&mut self, cursor: Cursor, packets: &[u8]) {
        let (form, limit) = (self.form, self.limits.queued_bytes);
        let Some(opening) = self.openings.iter_mut().find(|opening| opening.cursor == cursor) else { return };
        if !opening.has_more_rows {
            return;
        }
        let Some(format) = opening.format.take() else { return };
        walk(packets, &format, form, |row| {
            opening.wait_for_row(&opening.top.clone(), vec![Arc::new(row)], 0, limit);
            opening.has_more_rows
        });
        opening.format = Some(format);
    }

    /// A cursor has no more rows.
    pub fn ended(&mut self, cursor: Cursor) {
        if let Some(opening) = self.openings.iter_mut().find(|opening| opening.cursor == cursor) {
            opening.has_more_rows = false;
        }
    }

    /// Cursors that are open no longer have no more rows.
    pub fn keep_open(&mut self, is_open: impl Fn(Cursor) -> bool) {
        for opening in self.openings.iter_mut().filter(|opening| opening.has_more_rows) {
            opening.has_more_rows = is_open(opening.cursor);
        }
    }

    /// The edge has used results.
    pub fn credit(&mut self, cursor: Cursor, statements: u32) {
        let most = self.limits.window_max;
        match self.openings.iter_mut().find(|opening| opening.cursor == cursor) {
            Some(opening) => {
                opening.window = opening.window.saturating_add(statements).min(most);
                opening.is_resting = false;
                self.account.used(opening.stake.used(statements));
            }
            // Given up meanwhile: nobody is to wait for more.
            None => self.tells.push(Tell::AheadRests { outer: cursor }),
        }
    }

    /// Nothing more is to be run for a cursor.
    pub fn stop(&mut self, cursor: Cursor) {
        self.stop_if(|opening| opening.cursor == cursor);
    }

    /// A transaction ends, or does something that makes its results worthless: nothing more is run in it.
    pub fn transaction_ended(&mut self, transaction: u16) {
        self.stop_if(|opening| opening.transaction == transaction);
    }

    fn stop_if(&mut self, is_over: impl Fn(&Opening) -> bool) {
        let (over, rest) = std::mem::take(&mut self.openings).into_iter().partition(is_over);
        self.openings = rest;
        self.leave(over);
    }

    /// Nothing more is run for these cursors.
    fn leave(&mut self, over: Vec<Opening>) {
        for opening in over {
            self.lost(opening.stake.time());
            if !opening.is_resting {
                self.tells.push(Tell::AheadRests { outer: opening.cursor });
            }
        }
    }

    fn lost(&mut self, time: Duration) {
        self.account.lost(time);
        self.counts.unused = self.counts.unused.saturating_add(time);
    }

    /// The server was busy for so long with what is run ahead, for this cursor if for one.
    pub fn took(&mut self, outer: Option<Cursor>, time: Duration) {
        self.counts.time = self.counts.time.saturating_add(time);
        match self.openings.iter_mut().find(|opening| Some(opening.cursor) == outer) {
            Some(opening) => opening.stake.took(time),
            None => self.lost(time),
        }
    }

    /// Time passes.
    pub fn pass(&mut self, now: Duration) {
        self.account.pass(now);
    }

    /// What was done since the last call.
    pub fn take_counts(&mut self) -> RunnerCounts {
        std::mem::take(&mut self.counts)
    }

    /// The budget of the program that is used up, if one is.
    fn spent(&self) -> Option<Budget> {
        let (mut time, mut bytes) = (self.account.unused(), 0_usize);
        for Opening { stake, .. } in &self.openings {
            time = time.saturating_add(stake.time());
            bytes = bytes.saturating_add(stake.bytes());
        }
        if time >= self.limits.program_time {
            return Some(Budget::ProgramTime);
        }
        (bytes >= self.limits.program_bytes).then_some(Budget::ProgramBytes)
    }

    /// Nothing more is to be run for any cursor.
    pub fn clear(&mut self) {
        self.stop_if(|_| true);
    }

    /// Whether there is nothing to be run, nor anything awaited that would have to be.
    pub fn is_resting(&self) -> bool {
        self.openings.iter().all(|opening| opening.is_resting)
    }

    /// The next statement to be run. Of several cursors the newest comes first: its program works on that.
    pub fn next_work(&mut self) -> Option<Work> {
        let RunnerLimits { seen: seen_max, cursor_time, .. } = self.limits;
        let (form, spent) = (self.form, self.spent());
        for opening in self.openings.iter_mut().rev() {
            let spent = spent.or_else(|| (opening.stake.time() >= cursor_time).then_some(Budget::CursorTime));
            let work = if spent.is_none() { opening.next_work(form, seen_max) } else { None };
            if work.is_some() {
                return work;
            }
            let has_window = opening.window > 0 && spent.is_none();
            let has_all = opening.running == 0 && !(has_window && opening.has_more_rows);
            if has_all && !opening.is_resting {
                opening.is_resting = true;
                if let Some(budget) = spent.filter(|_| opening.would_run()) {
                    self.counts.count_spent(budget);
                }
                self.tells.push(Tell::AheadRests { outer: opening.cursor });
            }
        }
        None
    }

    /// How a work went. Its rows are looked at for what is nested below it.
    pub fn done(&mut self, work: Work, ran: Ran) {
        let (outer, rule) = (work.outer, work.rule());
        if let Some(opening) = self.openings.iter_mut().find(|opening| opening.cursor == outer) {
            opening.running = opening.running.saturating_sub(1);
        }
        let Ran::Result(result) = ran else {
            self.counts.failed += 1;
            let Work { blr, message, .. } = work;
            self.tells.push(Tell::NotAhead { outer, rule, blr, parameters: message });
            return;
        };
        self.counts.ran += 1;
        if let Some(opening) = self.openings.iter_mut().find(|opening| opening.cursor == outer) {
            opening.stake.sent(RESULT_BYTES + work.message.len() + result.bytes());
        }
        let (form, limit) = (self.form, self.limits.queued_bytes);
        if !work.node.below.is_empty()
            && let Some(opening) = self.openings.iter_mut().find(|opening| opening.cursor == outer)
            && let Some(format) = MessageFormat::parse(work.output_blr()).ok().flatten()
        {
            let depth = opening.waiting.len();
            walk(&result.packets, &format, form, |row| {
                let rows = std::iter::once(Arc::new(row)).chain(work.rows.iter().cloned()).collect();
                opening.wait_for_row(&work.node.below, rows, depth, limit)
            });
        }
        let Ahead { transaction, asked, commit, reads, opened, packets, rows, answered } = result;
        let Work { blr, message, .. } = work;
        self.tells.push(Tell::Ahead {
            outer,
            rule,
            blr,
            parameters: message,
            transaction,
            asked,
            commit,
            reads,
            opened,
            packets,
            rows,
            answered,
        });
    }

    /// What is to be told the edge.
    pub fn take_tells(&mut self) -> Vec<Tell> {
        std::mem::take(&mut self.tells)
    }

    /// The opening of this cursor, made if there is none. One of an earlier transaction is begun anew.
    fn opening(&mut self, cursor: Cursor, transaction: u16) -> &mut Opening {
        let found = self.openings.iter().position(|opening| opening.cursor == cursor);
        let opening = match found {
            Some(index) => self.openings.remove(index),
            None => Opening::new(cursor, transaction),
        };
        let is_same = opening.transaction == transaction;
        let anew = || Opening { stake: opening.stake, ..Opening::new(cursor, transaction) };
        let opening = if is_same { opening } else { anew() };
        self.openings.push(opening);
        let last = self.openings.len() - 1;
        &mut self.openings[last]
    }

    fn bound(&mut self) {
        let most = self.limits.openings.max(1);
        let oldest = self.openings.drain(..self.openings.len().saturating_sub(most)).collect();
        self.leave(oldest);
        let most = self.limits.window_max;
        for opening in &mut self.openings {
            opening.window = opening.window.min(most);
        }
    }
}

impl Opening {
    fn new(cursor: Cursor, transaction: u16) -> Opening {
        Opening {
            cursor,
            transaction,
            format: None,
            top: Vec::new(),
            waiting: Vec::new(),
            waiting_bytes: 0,
            window: 0,
            has_more_rows: false,
            seen: QuickSet::default(),
            running: 0,
            is_resting: false,
            stake: Stake::default(),
        }
    }

    /// Whether there is, or may be, something that may be run.
    fn would_run(&self) -> bool {
        self.window > 0 && (self.waiting_bytes > 0 || self.has_more_rows)
    }

    fn admit(&mut self, nodes: &[Arc<Node>]) {
        self.is_resting = false;
        for node in nodes {
            self.window = self.window.saturating_add(node.ask.window);
        }
    }

    /// What waits by a rule that is asked by again, with something else nested in it by now, is asked for anew.
    fn drop_superseded(&mut self, nodes: &[Arc<Node>]) {
        let is_superseded = |task: &Task| {
            nodes
                .iter()
                .any(|node| node.ask.rule == task.node.ask.rule && !node.nested().eq(task.node.nested()))
        };
        for waiting in &mut self.waiting {
            waiting.retain(|task| !is_superseded(task));
        }
        self.waiting_bytes = self.waiting.iter().flatten().map(|task| task.bytes).sum();
    }

    /// What is to be run for a row waits. Gives whether there was room.
    fn wait_for_row(
        &mut self,
        nodes: &[Arc<Node>],
        rows: Vec<Arc<Vec<Value>>>,
        depth: usize,
        limit: usize,
    ) -> bool {
        let bytes = rows.first().map_or(0, |row| row.iter().map(value_bytes).sum());
        nodes.iter().all(|node| {
            let node = Arc::clone(node);
            self.wait(Task { node, rows: rows.clone(), given: None, bytes: bytes + TASK_BYTES }, depth, limit)
        })
    }

    fn wait(&mut self, task: Task, depth: usize, limit: usize) -> bool {
        if self.waiting_bytes + task.bytes > limit {
            self.has_more_rows = false;
            return false;
        }
        self.waiting_bytes += task.bytes;
        while self.waiting.len() <= depth {
            self.waiting.push(VecDeque::new());
        }
        if let Some(waiting) = self.waiting.get_mut(depth) {
            waiting.push_back(task);
        }
        true
    }

    fn next_work(&mut self, form: MessageForm, seen_max: usize) -> Option<Work> {
        if self.window == 0 {
            return None;
        }
        loop {
            let deepest = self.waiting.last_mut()?;
            let Some(task) = deepest.pop_front() else {
                self.waiting.pop();
                continue;
            };
            self.waiting_bytes -= task.bytes;
            let Task { node, rows, given, .. } = task;
            let parameters = match given {
                Some(given) => Some(given),
                None => {
                    let rows: Vec<&[Value]> = rows.iter().map(|row| row.as_slice()).collect();
                    bound(&node.ask.input_blr, &node.ask.parameters, form, &rows)
                }
            };
            let Some((blr, message)) = parameters else { continue };
            if self.seen.len() < seen_max && !self.seen.insert(identity(&node, &blr, &message)) {
                continue;
            }
            self.window -= 1;
            self.running += 1;
            return Some(Work {
                outer: self.cursor,
                transaction: self.transaction,
                blr,
                message,
                node,
                rows,
            });
        }
    }
}

/// What is the same for a statement with the same parameters and the same nested in it.
fn identity(node: &Node, blr: &[u8], message: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    node.ask.rule.hash(&mut hasher);
    node.nested().for_each(|rule| rule.hash(&mut hasher));
    (blr, message).hash(&mut hasher);
    hasher.finish()
}

fn value_bytes(value: &Value) -> usize {
    let content = match value {
        Value::Text(text) => text.bytes().len(),
        _ => 0,
    };
    size_of::<Value>() + content
}
