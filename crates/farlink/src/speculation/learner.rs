//! Watches one program: which rows it was given, and which of them the parameters of its next executions come from.
//!
//! Drivers fetch rows by the hundred, so the row that a program works on is not known. It is found by its values: each explained
//! execution moves the program's place in the opening of a cursor, and the next one is looked for from there on, at most
//! [`Limits::look_ahead`] rows further. Openings are remembered after their end too: a list that was read whole drives loops.
//!
//! What is remembered of a program is bounded by [`Limits::openings`], [`Limits::rows`] and [`Limits::row_bytes`]. Rows are looked at only
//! when an execution with parameters comes. Uses [`super::rules`]. Sans-IO, no clock.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use farbird_types::Value;
use farbird_wire::message::{MessageForm, MessageFormat};

use super::limits::Limits;
use super::rows::walk;
use super::rules::{Facts, Given, Rules, StatementText};
use crate::message::{Ask, AskAhead, Cursor, Fingerprint, GivenParameters, Rule};
use crate::quick_hash::{QuickMap, QuickSet};

/// Rows of the newest openings that a first guess is made from.
const FIRST_ROWS: u64 = 4;
/// Openings that a first guess is made from.
const GUESSED_OPENINGS: usize = 4;
/// Executions of a statement without any rule after which guesses become rare: two of [`RARELY`].
const FRUITLESS_MAX: u32 = 64;
const RARELY: u32 = 32;
/// Statements whose last parameters are remembered.
const PREVIOUS_MAX: usize = 256;
/// The origin is told what was used when it is so many results, or after so long: what it has run counts as a wrong guess until then.
const CREDIT_RESULTS: u32 = 16;
const CREDIT_AFTER: Duration = Duration::from_secs(1);
/// Results of an opening that are remembered as told.
const TOLD_MAX: usize = 65_536;

/// A statement that is executed now.
#[derive(Debug, Clone, Copy)]
pub struct Executed<'e> {
    /// This opening of its cursor.
    pub cursor: Cursor,
    /// The statement.
    pub statement: &'e StatementText,
    /// The transaction: the edge's handle.
    pub transaction: u16,
    /// What it sees, by a number: that transaction, or 0 for what the origin runs in one of its own.
    pub view: u16,
    /// Whether anything may be asked ahead in it.
    pub may_ask: bool,
    /// What the origin must know of it.
    pub facts: &'e Facts,
    /// Its parameters.
    pub given: Option<&'e Given>,
    /// Whether what is nested below a statement may be run ahead too, though the program has not come to it yet.
    pub may_nest: bool,
}

/// What is to be done about an execution.
#[derive(Debug, Default, PartialEq)]
pub struct Seen {
    /// Its result is on its way, run ahead for the rows of this cursor.
    pub awaited: Option<Cursor>,
    /// What is to be asked ahead.
    pub asks: Vec<Ask>,
}

/// What a program did with an opening of a cursor for which statements were run ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Settled {
    pub(super) rule: Rule,
    pub(super) guessed: u64,
    pub(super) used: u64,
}

#[derive(Debug)]
struct Opening {
    cursor: Cursor,
    statement: StatementText,
    /// What it sees ([`Executed::view`]), until that ends.
    transaction: Option<u16>,
    described: Fingerprint,
    format: Option<Arc<MessageFormat>>,
    /// Rows that nobody has looked at yet, as packets.
    unread: Vec<u8>,
    rows: VecDeque<Vec<Value>>,
    /// Number of the first of them in the cursor.
    first: u64,
    row_bytes: usize,
    /// Rows came that were not kept: those behind them are not known.
    is_cut: bool,
    /// The row of another opening that its parameters came from.
    parent: Option<(Cursor, u64)>,
    /// Up to which row the program has come, as far as it can be told.
    place: u64,
    /// As `place`, if that was one row further each time.
    sure_place: u64,
    /// The last row that each rule explained.
    met: BTreeMap<Rule, u64>,
    /// Rules that were asked by, with the number of the row up to which; also those below them.
    asked: BTreeMap<Rule, u64>,
    /// The transaction in which.
    asked_in: Option<u16>,
    /// The transaction of the last execution that its rows explained.
    driven_in: Option<u16>,
    tally: BTreeMap<Rule, (u64, u64)>,
    /// Results that have been told, or will not be.
    told: QuickSet<u64>,
    /// Whether nothing is being run ahead for it now.
    is_resting: bool,
    /// Results used since the origin was told so.
    used: u32,
    /// Since when there is something to be told.
    unsaid_since: Option<Duration>,
    window: u32,
}

/// One program's learner.
#[derive(Debug)]
pub struct Learner {
    limits: Limits,
    form: MessageForm,
    /// Newest first.
    openings: VecDeque<Opening>,
    previous: QuickMap<StatementText, (Vec<Value>, u32)>,
    settled: Vec<Settled>,
}

impl Learner {
    /// A learner of a program whose messages have this form.
    pub fn new(limits: Limits, form: MessageForm) -> Learner {
        Learner {
            limits,
            form,
            openings: VecDeque::new(),
            previous: QuickMap::default(),
            settled: Vec::new(),
        }
    }

    /// A statement is executed: what explains its parameters, and what follows from that.
    pub fn execute(&mut self, rules: &mut Rules, executed: &Executed<'_>) -> Seen {
        let mut seen = Seen::default();
        let mut parent = None;
        if let Some(given) = executed.given.filter(|given| self.is_learned(executed.statement, given)) {
            let explained = self.explain(rules, executed, given);
            if let Some((rule, at)) = explained {
                self.consequences(rules, executed, given, rule, at, &mut seen);
                parent = at;
            }
            self.remember(executed.statement, given, explained.is_some());
        }
        self.open(executed, parent);
        seen
    }

    fn is_learned(&self, statement: &StatementText, given: &Given) -> bool {
        statement.length() <= self.limits.text_bytes
            && !given.values.is_empty()
            && given.values.len() <= self.limits.parameters
    }

    /// Rules are asked by with the opening of this cursor from the start.
    pub fn asked_with_opening(&mut self, cursor: Cursor, asks: &[AskAhead]) {
        let Some(opening) = self.opening_mut(cursor).filter(|_| !asks.is_empty()) else { return };
        opening.note_asked(asks, u64::MAX);
        opening.asked_in = opening.transaction;
    }

    /// Rows of a cursor came: op_fetch_response packets, of this BLR and so this format.
    pub fn rows(
        &mut self,
        rules: &mut Rules,
        cursor: Cursor,
        (blr, format): (&[u8], &Arc<MessageFormat>),
        packets: &[u8],
    ) {
        let limits = self.limits;
        let form = self.form;
        let Some(opening) = self.opening_mut(cursor) else { return };
        if opening.is_cut {
            return;
        }
        if opening.format.is_none() {
            opening.format = Some(Arc::clone(format));
            rules.note_shape(&opening.statement, opening.described, blr);
        }
        let room = limits.row_bytes.saturating_sub(opening.row_bytes + opening.unread.len());
        if packets.len() > room {
            opening.read(form);
            opening.forget_passed();
        }
        let room = limits.row_bytes.saturating_sub(opening.row_bytes + opening.unread.len());
        opening.is_cut |= packets.len() > room;
        opening.unread.extend_from_slice(packets.get(..packets.len().min(room)).unwrap_or_default());
    }

    /// A result that was run ahead has come, or will not come.
    pub(super) fn told(&mut self, outer: Cursor, rule: Rule, blr: &[u8], message: &[u8], has_come: bool) {
        let Some(opening) = self.opening_mut(outer) else { return };
        if has_come {
            opening.tally.entry(rule).or_default().0 += 1;
        }
        if opening.told.len() < TOLD_MAX {
            opening.told.insert(hash(rule, blr, message));
        } else {
            // Nobody waits any more for what may have come already.
            opening.is_resting = true;
        }
    }

    /// Nothing is run ahead any more for a cursor until there is more credit. Gives what is left of that, if the program has used all.
    pub(super) fn rests(&mut self, outer: Cursor) -> Option<Ask> {
        let opening = self.opening_mut(outer)?;
        opening.is_resting = true;
        opening.last_credit()
    }

    /// A result was used for the first time: credit for the origin when some has gathered.
    pub(super) fn used(&mut self, outer: Cursor, rule: Rule, now: Duration) -> Option<Ask> {
        let opening = self.opening_mut(outer)?;
        opening.tally.entry(rule).or_default().1 += 1;
        opening.used = opening.used.saturating_add(1);
        let since = *opening.unsaid_since.get_or_insert(now);
        let is_due = opening.used >= (opening.window / 4).clamp(1, CREDIT_RESULTS)
            || now.saturating_sub(since) >= CREDIT_AFTER;
        if is_due { opening.credit() } else { opening.last_credit() }
    }

    /// Nothing is to be run ahead any more for a cursor.
    pub(super) fn stopped(&mut self, outer: Cursor) {
        if let Some(opening) = self.opening_mut(outer) {
            opening.is_resting = true;
        }
    }

    /// Whether a result that is awaited for the rows of this cursor may still come.
    pub(super) fn may_come(&self, outer: Cursor, rule: Rule, blr: &[u8], message: &[u8]) -> bool {
        self.opening(outer)
            .is_some_and(|opening| !opening.is_resting && !opening.told.contains(&hash(rule, blr, message)))
    }

    /// Rules asked by for the rows of this cursor.
    pub(super) fn is_asked_for(&self, cursor: Cursor) -> bool {
        self.opening(cursor).is_some_and(|opening| !opening.asked.is_empty())
    }

    /// Openings for which something ran in a transaction that has ended are settled. Their rows are remembered: a list outlives its
    /// transaction.
    pub(super) fn transaction_ended(&mut self, transaction: u16) {
        let settled = &mut self.settled;
        let transaction = Some(transaction);
        for opening in &mut self.openings {
            if opening.asked_in == transaction {
                opening.settle(settled);
            }
            for ended in [&mut opening.transaction, &mut opening.driven_in] {
                ended.take_if(|ended| Some(*ended) == transaction);
            }
        }
    }

    /// The link was lost: nothing comes any more for anybody.
    pub(super) fn link_lost(&mut self) {
        for opening in &mut self.openings {
            opening.is_resting = true;
        }
    }

    /// How openings went that were settled since the last call.
    pub(super) fn take_settled(&mut self) -> Vec<Settled> {
        std::mem::take(&mut self.settled)
    }

    /// All openings are settled: the program is gone.
    pub(super) fn finish(&mut self) {
        for opening in &mut self.openings {
            opening.settle(&mut self.settled);
        }
        self.openings.clear();
    }

    fn opening(&self, cursor: Cursor) -> Option<&Opening> {
        self.openings.iter().find(|opening| opening.cursor == cursor)
    }

    fn opening_mut(&mut self, cursor: Cursor) -> Option<&mut Opening> {
        self.openings.iter_mut().find(|opening| opening.cursor == cursor)
    }

    fn open(&mut self, executed: &Executed<'_>, parent: Option<(Cursor, u64)>) {
        self.openings.push_front(Opening::new(executed, parent));
        while self.openings.len() > self.limits.openings.max(1) {
            // The oldest that is no other's parent and has nothing run ahead: an outer loop is older than its inner ones.
            let parents: Vec<Cursor> =
                self.openings.iter().filter_map(|opening| opening.parent.map(|(cursor, _)| cursor)).collect();
            let is_idle = |opening: &Opening| opening.asked.is_empty() && !parents.contains(&opening.cursor);
            let oldest = self.openings.iter().skip(1).rposition(is_idle).map(|index| index + 1);
            let Some(mut gone) = self.openings.remove(oldest.unwrap_or(self.openings.len() - 1)) else {
                break;
            };
            gone.settle(&mut self.settled);
        }
    }

    fn remember(&mut self, statement: &StatementText, given: &Given, is_explained: bool) {
        if !self.previous.contains_key(statement) && self.previous.len() >= PREVIOUS_MAX {
            self.previous.clear();
        }
        let (values, fruitless) = self.previous.entry(statement.clone()).or_default();
        values.clone_from(&given.values);
        *fruitless = if is_explained { 0 } else { fruitless.saturating_add(1) };
    }

    /// Finds the rule that explains an execution, and the row; makes a guess if there is none.
    fn explain(
        &mut self,
        rules: &mut Rules,
        executed: &Executed<'_>,
        given: &Given,
    ) -> Option<(Rule, Option<(Cursor, u64)>)> {
        for opening in &mut self.openings {
            opening.read(self.form);
        }
        let known = rules.of_inner(executed.statement);
        let previous = self.previous.get(executed.statement).map(|(values, _)| values.clone());
        for rule in &known {
            let counts_up = rules.entry(*rule).is_some_and(|entry| entry.outer().is_none());
            if counts_up && rules.meet(*rule, executed.facts, given, &[], previous.as_deref()) {
                return Some((*rule, None));
            }
        }
        let near = |opening: &Opening| vec![opening.place, opening.place + 1];
        if let Some(found) = self.meet(rules, executed, given, &known, near) {
            return Some(found);
        }
        let guess = self.guess(rules, executed, given, previous.as_deref());
        let ahead = self.limits.look_ahead as u64;
        let far = move |opening: &Opening| {
            let from_place = opening.place + 2..opening.place.saturating_add(ahead);
            let from_sure_place =
                opening.sure_place..opening.place.min(opening.sure_place.saturating_add(ahead));
            from_place.chain(from_sure_place).collect()
        };
        self.meet(rules, executed, given, &known, far).or(guess)
    }

    /// Tries rules at those rows of each opening.
    fn meet(
        &mut self,
        rules: &mut Rules,
        executed: &Executed<'_>,
        given: &Given,
        known: &[Rule],
        numbers: impl Fn(&Opening) -> Vec<u64>,
    ) -> Option<(Rule, Option<(Cursor, u64)>)> {
        for index in 0..self.openings.len() {
            let opening = self.openings.get(index)?;
            let fitting: Vec<Rule> = known
                .iter()
                .filter(|rule| {
                    rules.entry(**rule).is_some_and(|entry| entry.outer() == Some(&opening.statement))
                })
                .copied()
                .collect();
            if fitting.is_empty() {
                continue;
            }
            let cursor = opening.cursor;
            for number in numbers(opening) {
                for rule in &fitting {
                    if self.openings.get(index)?.met.get(rule) == Some(&number) {
                        continue;
                    }
                    let is_met = self.with_rows(index, number, |rows| {
                        rules.meet(*rule, executed.facts, given, rows, None)
                    });
                    if is_met == Some(true) {
                        self.openings.get_mut(index)?.came_to(number, *rule);
                        return Some((*rule, Some((cursor, number))));
                    }
                }
            }
        }
        None
    }

    /// Makes guesses from the rows that the program may be at.
    fn guess(
        &mut self,
        rules: &mut Rules,
        executed: &Executed<'_>,
        given: &Given,
        previous: Option<&[Value]>,
    ) -> Option<(Rule, Option<(Cursor, u64)>)> {
        let fruitless = self.previous.get(executed.statement).map_or(0, |(_, fruitless)| *fruitless);
        if fruitless > FRUITLESS_MAX && fruitless % RARELY > 1 {
            return None;
        }
        let mut first = None;
        for index in 0..self.openings.len().min(GUESSED_OPENINGS) {
            let opening = self.openings.get(index)?;
            let (cursor, outer) = (opening.cursor, opening.statement.clone());
            let rows = match opening.met.is_empty() {
                true => opening.first..opening.first + FIRST_ROWS,
                false => opening.place..opening.place + 2,
            };
            for number in rows {
                let guessed = self.with_rows(index, number, |rows| {
                    rules.guess(Some(&outer), executed.statement, executed.facts, given, rows, None)
                });
                if let Some(Some(rule)) = guessed {
                    self.openings.get_mut(index)?.came_to(number, rule);
                    first = first.or(Some((rule, Some((cursor, number)))));
                    break;
                }
            }
        }
        if first.is_none() && previous.is_some() {
            let rule = rules.guess(None, executed.statement, executed.facts, given, &[], previous)?;
            return Some((rule, None));
        }
        first
    }

    /// Calls `look` with a row of an opening and those that it stands in.
    fn with_rows<T>(&self, index: usize, number: u64, look: impl FnOnce(&[&[Value]]) -> T) -> Option<T> {
        let mut opening = self.openings.get(index)?;
        let mut rows = vec![opening.row(number)?];
        while let Some((parent, number)) = opening.parent.filter(|_| rows.len() < self.limits.depth) {
            let Some(outer) = self.opening(parent) else { break };
            let Some(row) = outer.row(number) else { break };
            rows.push(row);
            opening = outer;
        }
        Some(look(&rows))
    }

    /// What follows from an execution's being explained: whether its result is on its way, and what else to ask ahead.
    fn consequences(
        &mut self,
        rules: &Rules,
        executed: &Executed<'_>,
        given: &Given,
        rule: Rule,
        at: Option<(Cursor, u64)>,
        seen: &mut Seen,
    ) {
        if !executed.may_ask || !rules.entry(rule).is_some_and(|entry| entry.is_ready()) {
            return;
        }
        let Some((cursor, number)) = at else {
            self.count_on(rules, executed, given, rule, seen);
            return;
        };
        let Some(index) = self.openings.iter().position(|opening| opening.cursor == cursor) else { return };
        if let Some(asked) = self.asked_by(index, rule, number) {
            let message = message_of(given, self.form).unwrap_or_default();
            let predicted =
                self.with_rows(index, number, |rows| rules.entry(rule)?.predicted(self.form, rows, None));
            let is_predicted = predicted
                .flatten()
                .is_some_and(|predicted| predicted == (given.blr.to_vec(), message.clone()));
            let may_come = is_predicted && self.may_come(asked, rule, &given.blr, &message);
            seen.awaited = may_come.then_some(asked);
        }
        // The rule holds since a moment ago, and what is run ahead for the rows above this one does not know of it yet.
        let (index, number, rule) = match self.asked_above(index, rule) {
            Some(above) if executed.may_nest => above,
            _ => (index, number, rule),
        };
        seen.asks.extend(self.ask_rows(rules, executed, index, number, rule));
    }

    /// The opening in which an opening stands for whose rows it was run ahead, without this rule below it: its index, the row, and
    /// the rule that it was run by.
    fn asked_above(&self, index: usize, rule: Rule) -> Option<(usize, u64, Rule)> {
        let opening = self.openings.get(index)?;
        let (parent, number) = opening.parent?;
        let above = self.openings.iter().position(|opening| opening.cursor == parent)?;
        let parent = self.openings.get(above)?;
        let by = parent.met.iter().find(|(by, met)| **met == number && parent.asked.contains_key(by))?;
        (!parent.asked.contains_key(&rule)).then_some((above, number, *by.0))
    }

    /// Asks by a rule for the rows of an opening behind this one, as far as they are known and its window goes.
    fn ask_rows(
        &mut self,
        rules: &Rules,
        executed: &Executed<'_>,
        index: usize,
        number: u64,
        rule: Rule,
    ) -> Option<Ask> {
        let transaction = executed.transaction;
        let entry = rules.entry(rule)?;
        let mut ask = rules.ask(rule)?;
        if !executed.may_nest {
            ask.ahead.clear();
        }
        let opening = self.openings.get_mut(index)?;
        // Of a list that was read in another transaction it is not known that the next execution will be in this one, but by the last.
        let is_here = [opening.transaction, opening.driven_in].contains(&Some(executed.view));
        opening.driven_in = Some(executed.view);
        let is_new_below = !ask.ahead.iter().all(|below| opening.asked.contains_key(&below.rule));
        let until = match self.asked_until(index, rule) {
            Some(_) if is_new_below => number,
            // Asked from the start, or half of what was asked for is still to come.
            Some(until) if until == u64::MAX || until > number + u64::from(entry.window() / 2) => {
                return None;
            }
            Some(until) => until.max(number),
            None => number,
        };
        let last = number.saturating_add(u64::from(entry.window()));
        let (mut parameters, mut asked) = (Vec::new(), until);
        for number in until + 1..=last {
            let predicted = self.with_rows(index, number, |rows| entry.predicted(self.form, rows, None));
            let Some(predicted) = predicted else { break };
            asked = number;
            if let Some((blr, message)) = predicted {
                parameters.push(GivenParameters { statement: 0, blr, message });
            }
        }
        let opening = self.openings.get_mut(index).filter(|_| is_here && !parameters.is_empty())?;
        opening.note_asked(std::slice::from_ref(&ask), asked);
        opening.asked_in = Some(executed.view);
        Some(Ask::Ahead { outer: opening.cursor, transaction, statements: vec![ask], parameters })
    }

    /// As for rows, of a statement whose parameters count up: what is run ahead is told for the opening of it that asked first.
    fn count_on(
        &mut self,
        rules: &Rules,
        executed: &Executed<'_>,
        given: &Given,
        rule: Rule,
        seen: &mut Seen,
    ) {
        let Some(entry) = rules.entry(rule) else { return };
        let Some(number) = entry.count(&given.values) else { return };
        let of_statement = |opening: &&Opening| {
            opening.statement == *executed.statement && opening.transaction == Some(executed.view)
        };
        let asked = self
            .openings
            .iter()
            .filter(of_statement)
            .find_map(|opening| opening.asked.get(&rule).map(|until| (opening.cursor, *until)));
        if let Some((outer, until)) = asked {
            let message = message_of(given, self.form).unwrap_or_default();
            let may_come = until >= number && self.may_come(outer, rule, &given.blr, &message);
            seen.awaited = may_come.then_some(outer);
            if until > number + u64::from(entry.window() / 2) {
                return;
            }
        }
        let from = asked.map_or(number, |(_, until)| until.max(number));
        let (mut values, mut at, mut parameters) = (given.values.clone(), number, Vec::new());
        for _ in 0..entry.window().saturating_mul(2) {
            let next = entry.predicted(self.form, &[], Some(&values));
            let Some((blr, message)) = next else { break };
            let Some(next) = Given::read(&blr, &message, self.form) else { break };
            values = next.values;
            at += 1;
            if at > from {
                parameters.push(GivenParameters { statement: 0, blr, message });
            }
            if parameters.len() >= entry.window() as usize {
                break;
            }
        }
        let outer = match asked {
            Some((outer, _)) => Some(outer),
            None => self.openings.iter().find(of_statement).map(|opening| opening.cursor),
        };
        let (Some(ask), Some(opening)) = (rules.ask(rule), outer.and_then(|outer| self.opening_mut(outer)))
        else {
            return;
        };
        if parameters.is_empty() {
            return;
        }
        opening.note_asked(std::slice::from_ref(&ask), at);
        opening.asked_in = Some(executed.view);
        let (outer, transaction) = (opening.cursor, executed.transaction);
        seen.asks.push(Ask::Ahead { outer, transaction, statements: vec![ask], parameters });
    }

    /// The opening for which this rule was asked by: the one itself, or one that it stands in.
    fn asked_by(&self, index: usize, rule: Rule, number: u64) -> Option<Cursor> {
        let mut opening = self.openings.get(index)?;
        if opening.asked.get(&rule).is_some_and(|until| *until >= number) {
            return Some(opening.cursor);
        }
        for _ in 0..self.limits.depth {
            let (parent, _) = opening.parent?;
            opening = self.opening(parent)?;
            if opening.asked.contains_key(&rule) {
                return Some(opening.cursor);
            }
        }
        None
    }

    fn asked_until(&self, index: usize, rule: Rule) -> Option<u64> {
        let opening = self.openings.get(index)?;
        match opening.asked.get(&rule) {
            Some(until) => Some(*until),
            None => {
                let (parent, _) = opening.parent?;
                let parent = self.openings.iter().position(|opening| opening.cursor == parent)?;
                self.asked_by(parent, rule, 0).map(|_| u64::MAX)
            }
        }
    }
}

impl Opening {
    fn new(executed: &Executed<'_>, parent: Option<(Cursor, u64)>) -> Opening {
        Opening {
            cursor: executed.cursor,
            statement: executed.statement.clone(),
            transaction: Some(executed.view),
            described: executed.facts.described,
            format: None,
            unread: Vec::new(),
            rows: VecDeque::new(),
            first: 0,
            row_bytes: 0,
            is_cut: false,
            parent,
            place: 0,
            sure_place: 0,
            met: BTreeMap::new(),
            asked: BTreeMap::new(),
            asked_in: None,
            driven_in: None,
            tally: BTreeMap::new(),
            told: QuickSet::default(),
            is_resting: false,
            used: 0,
            unsaid_since: None,
            window: 0,
        }
    }

    fn row(&self, number: u64) -> Option<&[Value]> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.rows.get(index).map(Vec::as_slice)
    }

    /// Makes values of the packets that came.
    fn read(&mut self, form: MessageForm) {
        if self.unread.is_empty() {
            return;
        }
        let packets = std::mem::take(&mut self.unread);
        if let Some(format) = &self.format {
            let rows = &mut self.rows;
            walk(&packets, format, form, |row| {
                rows.push_back(row);
                true
            });
        }
        self.row_bytes += packets.len();
    }

    /// Forgets rows that the program has passed: it does not come back to them.
    fn forget_passed(&mut self) {
        let passed = self.sure_place.min(self.place).saturating_sub(self.first);
        let count = usize::try_from(passed).unwrap_or(usize::MAX).min(self.rows.len());
        if count == 0 {
            return;
        }
        self.row_bytes -= self.row_bytes / self.rows.len() * count;
        self.rows.drain(..count);
        self.first += count as u64;
    }

    fn came_to(&mut self, number: u64, rule: Rule) {
        if number <= self.place.saturating_add(1) {
            self.sure_place = number;
        }
        self.place = number;
        self.met.insert(rule, number);
    }

    fn note_asked(&mut self, asks: &[AskAhead], until: u64) {
        for ask in asks {
            self.window = self.window.saturating_add(ask.window);
            self.is_resting = false;
            self.asked.insert(ask.rule, until);
            self.note_below(&ask.ahead);
        }
    }

    fn credit(&mut self) -> Option<Ask> {
        self.unsaid_since = None;
        let statements = std::mem::take(&mut self.used);
        if statements == 0 {
            return None;
        }
        // The origin goes on, or says that there is nothing more.
        self.is_resting = false;
        Some(Ask::AheadCredit { outer: self.cursor, statements })
    }

    /// Credit when nothing more comes and the program has used all that came: no more would gather.
    fn last_credit(&mut self) -> Option<Ask> {
        let has_used_all = self.tally.values().all(|(came, used)| came == used);
        if self.is_resting && has_used_all { self.credit() } else { None }
    }

    fn note_below(&mut self, asks: &[AskAhead]) {
        for ask in asks {
            self.asked.insert(ask.rule, u64::MAX);
            self.note_below(&ask.ahead);
        }
    }

    fn settle(&mut self, settled: &mut Vec<Settled>) {
        self.asked_in = None;
        self.driven_in = None;
        for (rule, (guessed, used)) in std::mem::take(&mut self.tally) {
            settled.push(Settled { rule, guessed, used });
        }
        self.asked.clear();
        self.is_resting = true;
    }
}

/// The message of these values.
pub(super) fn message_of(given: &Given, form: MessageForm) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let format = MessageFormat::from_columns(given.kinds.iter().copied());
    format.encode_row(form, &given.values, &mut bytes).ok()?;
    Some(bytes)
}

fn hash(rule: Rule, blr: &[u8], message: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (rule, blr, message).hash(&mut hasher);
    hasher.finish()
}
