//! Rules: which statement's parameters come from which other's rows. One set for all programs of an edge.
//!
//! A rule begins as a guess from one execution, with every source that each parameter may have had. Each further execution that
//! some of them explain strikes out the others; [`Limits::hits`] of them make the rule active: then it is asked ahead by it.
//! A rule that was asked by for nothing in two openings running is dropped, and needs twice as many hits to come back. So what a wrong rule
//! costs is bounded by its windows of two openings ([`Limits::window`], and a quarter of that).
//!
//! Statements are known by their texts. Rules can be saved and loaded ([`Rules::to_bytes`]).
//! Uses [`super::conversion`]. Sans-IO, no clock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use farbird_types::Value;
use farbird_wire::message::{MessageForm, MessageFormat, MessageType};
use farbird_wire::xdr::Reader;
use serde::{Deserialize, Serialize};

use super::conversion::{FITS, converted, of_single, same, single, successor, with_length_of};
use super::limits::{Limits, Tally};
use crate::message::{AskAhead, Execution, Fingerprint, Fit, Parameter, Question, Rule, Source};
use crate::quick_hash::QuickMap;

/// A statement's text with the database that it is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StatementText {
    database: Arc<[u8]>,
    text: Arc<[u8]>,
}

impl StatementText {
    /// The text of a statement of a database, as the program names both.
    pub fn new(database: &[u8], text: &[u8]) -> StatementText {
        StatementText { database: database.into(), text: text.into() }
    }

    /// The text, for people.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.text).into_owned()
    }

    pub(super) fn length(&self) -> usize {
        self.database.len() + self.text.len()
    }
}

/// What the origin must know of a statement to run it as the program would.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Its op_prepare_statement.
    pub prepare: Arc<[u8]>,
    /// What it was described as.
    pub described: Fingerprint,
    /// What its op_execute says beside the parameters.
    pub execution: Execution,
    /// What programs ask about its executions.
    pub question: Option<Question>,
    /// BLR of its rows, as its op_fetch gives it; empty if it was not fetched from yet.
    pub output_blr: Arc<[u8]>,
}

/// The parameters of one execution.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// BLR of the message.
    pub blr: Arc<[u8]>,
    /// The types.
    pub kinds: Vec<MessageType>,
    /// The values.
    pub values: Vec<Value>,
}

impl Given {
    /// Those of a message; `None` if BLR or message cannot be read.
    pub fn read(blr: &[u8], message: &[u8], form: MessageForm) -> Option<Given> {
        let format = MessageFormat::parse(blr).ok()??;
        let (mut reader, mut values) = (Reader::new(message), Vec::new());
        format.decode_row(form, &mut reader, &mut values).ok()?;
        (reader.remaining() == 0).then(|| Given {
            blr: blr.into(),
            kinds: format.columns().copied().collect(),
            values,
        })
    }
}

/// A row and those of the outer cursors that it stands in, the innermost first.
pub(super) type Rows<'r> = [&'r [Value]];

/// Where one parameter may come from, as far as has been seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Candidates {
    /// Columns: how far out, which, and how texts are fitted.
    columns: Vec<(u16, u16, Fit)>,
    /// The value, if it has been the same in all executions.
    constant: Option<Vec<u8>>,
    /// Whether it has been one higher each time.
    counts_up: bool,
    /// Whether its type's length was that of the value in all executions.
    may_own_length: bool,
    /// Whether its type was the same in all executions.
    may_be_fixed: bool,
}

/// Whether a rule is asked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Standing {
    Learning,
    Active,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The statement whose rows give the parameters; `None` if they only count up.
    outer: Option<StatementText>,
    inner: StatementText,
    facts: Facts,
    /// The last BLR of the parameters.
    blr: Arc<[u8]>,
    candidates: Vec<Candidates>,
    hits: u32,
    needed: u32,
    standing: Standing,
    window: u32,
    /// Openings running for which nothing that was asked by this rule was of use.
    failures: u32,
    /// When it was met last, by the rules' own count.
    met: u64,
}

/// A rule, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// The database, as programs name it.
    pub database: String,
    /// The statement whose rows give the parameters; `None` if they only count up.
    pub outer: Option<String>,
    /// The statement that is executed for each of them.
    pub inner: String,
    /// Whether it is run ahead now.
    pub is_active: bool,
    /// How often it was met while it was learned.
    pub hits: u32,
    /// How often it must be met.
    pub needed: u32,
    /// Statements that may be run ahead of the program.
    pub window: u32,
    /// What has been done for the statement `inner`, by all rules that end in it.
    pub tally: Tally,
}

/// All rules.
#[derive(Debug)]
pub struct Rules {
    limits: Limits,
    entries: BTreeMap<u32, Entry>,
    by_inner: QuickMap<StatementText, Vec<u32>>,
    by_outer: QuickMap<StatementText, Vec<u32>>,
    /// How programs fetched rows: BLR, of a statement that is described so.
    shapes: QuickMap<StatementText, (Fingerprint, Arc<[u8]>)>,
    next: u32,
    met: u64,
    tallies: BTreeMap<StatementText, Tally>,
}

/// Why saved rules were not loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotLoaded {
    /// They are of another version of this program.
    #[error("saved rules are of another version")]
    OtherVersion,
    /// They are damaged.
    #[error("saved rules are damaged")]
    Damaged,
}

/// What saved rules are: rules, and how rows of their statements are fetched.
type Saved = (Vec<Entry>, Vec<(StatementText, (Fingerprint, Arc<[u8]>))>);

/// The first bytes of saved rules: the number at the end is the version.
const HEADER: &[u8; 8] = b"FBRULES\x02";
/// Most bytes of saved rules that are looked at.
const SAVED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Columns of a row that a parameter is compared with.
const COLUMNS_MAX: usize = 256;
/// Sources that a parameter is thought to have.
const SOURCES_MAX: usize = 64;

impl Rules {
    /// No rules yet.
    pub fn new(limits: Limits) -> Rules {
        Rules {
            limits,
            entries: BTreeMap::new(),
            by_inner: QuickMap::default(),
            by_outer: QuickMap::default(),
            shapes: QuickMap::default(),
            next: 0,
            met: 0,
            tallies: BTreeMap::new(),
        }
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// How many rules there are, those included that are still being learned.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many are asked by.
    pub fn active(&self) -> usize {
        self.entries.values().filter(|entry| entry.standing == Standing::Active).count()
    }

    /// What has been done, by statement.
    pub fn tallies(&self) -> impl Iterator<Item = (&StatementText, &Tally)> {
        self.tallies.iter()
    }

    /// The rules for people, with what has been done for the statements that they end in.
    pub fn loops(&self) -> Vec<Loop> {
        let shown = |entry: &Entry| Loop {
            database: String::from_utf8_lossy(&entry.inner.database).into_owned(),
            outer: entry.outer.as_ref().map(StatementText::shown),
            inner: entry.inner.shown(),
            is_active: entry.standing == Standing::Active,
            hits: entry.hits,
            needed: entry.needed,
            window: entry.window,
            tally: self.tallies.get(&entry.inner).copied().unwrap_or_default(),
        };
        self.entries.values().map(shown).collect()
    }

    /// What has been done in all.
    pub fn total(&self) -> Tally {
        self.tallies.values().fold(Tally::default(), |mut total, tally| {
            total.add(tally);
            total
        })
    }

    /// Counts for a statement.
    pub fn count(&mut self, statement: &StatementText, change: impl FnOnce(&mut Tally)) {
        if !self.tallies.contains_key(statement) && self.tallies.len() >= self.limits.rules {
            return;
        }
        change(self.tallies.entry(statement.clone()).or_default());
    }

    /// The rules that end in this statement, oldest first.
    pub(super) fn of_inner(&self, inner: &StatementText) -> Vec<Rule> {
        self.by_inner.get(inner).map(|ids| ids.iter().map(|id| Rule(*id)).collect()).unwrap_or_default()
    }

    pub(super) fn entry(&self, rule: Rule) -> Option<&Entry> {
        self.entries.get(&rule.0)
    }

    /// Whether a rule begins with the rows of this statement, or ends in it.
    pub fn concerns(&self, statement: &StatementText) -> bool {
        self.by_outer.contains_key(statement) || self.by_inner.contains_key(statement)
    }

    /// A new guess: `given` came from this row, or if there is no outer statement from the execution before. `None` if nothing
    /// speaks for that.
    pub(super) fn guess(
        &mut self,
        outer: Option<&StatementText>,
        inner: &StatementText,
        facts: &Facts,
        given: &Given,
        rows: &Rows<'_>,
        previous: Option<&[Value]>,
    ) -> Option<Rule> {
        let candidates = guessed(given, rows, previous)?;
        if inner.length() > self.limits.text_bytes || given.values.len() > self.limits.parameters {
            return None;
        }
        let known = self.by_inner.get(inner).map(Vec::as_slice).unwrap_or_default();
        if let Some(same) = known.iter().find(|id| {
            self.entries
                .get(id)
                .is_some_and(|entry| entry.outer.as_ref() == outer && entry.candidates == candidates)
        }) {
            return Some(Rule(*same));
        }
        if known.len() >= self.limits.rules_of_statement {
            // Of those still being learned the one not met for longest makes room; active ones stay.
            let least = known
                .iter()
                .filter_map(|id| self.entries.get(id).map(|entry| (entry, *id)))
                .filter(|(entry, _)| entry.standing == Standing::Learning)
                .min_by_key(|(entry, _)| entry.met)
                .map(|(_, id)| id)?;
            self.remove(least);
        }
        while self.entries.len() >= self.limits.rules.max(1) {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.met).map(|(id, _)| *id)?;
            self.remove(oldest);
        }
        let id = self.next;
        self.next = self.next.wrapping_add(1);
        self.met += 1;
        let entry = Entry {
            outer: outer.cloned(),
            inner: inner.clone(),
            facts: facts.clone(),
            blr: Arc::clone(&given.blr),
            candidates,
            hits: if outer.is_some() { 1 } else { 2 },
            needed: self.limits.hits,
            standing: Standing::Learning,
            window: self.limits.window,
            failures: 0,
            met: self.met,
        };
        self.insert(id, entry);
        Some(Rule(id))
    }

    /// An execution that the rule may explain by this row: if it does, sources that do not are struck out.
    pub(super) fn meet(
        &mut self,
        rule: Rule,
        facts: &Facts,
        given: &Given,
        rows: &Rows<'_>,
        previous: Option<&[Value]>,
    ) -> bool {
        let Some(entry) = self.entries.get_mut(&rule.0) else { return false };
        let Some(narrowed) = entry.narrowed(given, rows, previous) else { return false };
        self.met += 1;
        entry.met = self.met;
        entry.candidates = narrowed;
        let output_blr = match facts.output_blr.is_empty() {
            true => Arc::clone(&entry.facts.output_blr),
            false => Arc::clone(&facts.output_blr),
        };
        // A program anew does not know yet what it will ask.
        let question = facts.question.clone().or_else(|| entry.facts.question.clone());
        entry.facts = Facts { output_blr, question, ..facts.clone() };
        entry.blr = Arc::clone(&given.blr);
        entry.hits = entry.hits.saturating_add(1);
        if entry.hits >= entry.needed && entry.standing == Standing::Learning {
            entry.standing = Standing::Active;
            entry.failures = 0;
        }
        true
    }

    /// Programs fetch the rows of a statement, which is described so, by this BLR.
    pub(super) fn note_shape(&mut self, statement: &StatementText, described: Fingerprint, blr: &[u8]) {
        match self.shapes.get_mut(statement) {
            Some((of, known)) if *of == described && **known == *blr => {}
            Some(known) => *known = (described, blr.into()),
            None if statement.length() > self.limits.text_bytes => {}
            None => {
                if self.shapes.len() >= self.limits.rules {
                    let (by_inner, by_outer) = (&self.by_inner, &self.by_outer);
                    self.shapes.retain(|text, _| by_inner.contains_key(text) || by_outer.contains_key(text));
                }
                if self.shapes.len() < 2 * self.limits.rules {
                    self.shapes.insert(statement.clone(), (described, blr.into()));
                }
            }
        }
    }

    /// How programs fetched the rows of a statement that is described so.
    pub fn shape(&self, statement: &StatementText, described: Fingerprint) -> Option<Arc<[u8]>> {
        let (of, blr) = self.shapes.get(statement)?;
        (*of == described).then(|| Arc::clone(blr))
    }

    /// What is to be asked ahead with a cursor of this statement.
    pub fn ahead(&self, outer: &StatementText) -> Vec<AskAhead> {
        let mut room = self.limits.statements_ahead;
        self.below(outer, self.limits.depth, &mut room, &|_| true)
    }

    /// As [`Rules::ahead`], of those rules only that `wanted` names.
    pub fn ahead_if(&self, outer: &StatementText, wanted: &impl Fn(&StatementText) -> bool) -> Vec<AskAhead> {
        let mut room = self.limits.statements_ahead;
        self.below(outer, self.limits.depth, &mut room, wanted)
    }

    fn below(
        &self,
        outer: &StatementText,
        depth: usize,
        room: &mut usize,
        wanted: &impl Fn(&StatementText) -> bool,
    ) -> Vec<AskAhead> {
        let mut asks = Vec::new();
        if depth == 0 {
            return asks;
        }
        for id in self.by_outer.get(outer).map(Vec::as_slice).unwrap_or_default() {
            let Some(entry) = self.entries.get(id) else { continue };
            if *room == 0
                || !entry.is_ready()
                || !wanted(&entry.inner)
                || entry.deepest() > self.limits.depth - depth
            {
                continue;
            }
            *room -= 1;
            if let Some(mut ask) = entry.ask(Rule(*id)) {
                if entry.inner != *outer {
                    ask.ahead = self.below(&entry.inner, depth - 1, room, wanted);
                }
                asks.push(ask);
            }
        }
        asks
    }

    /// One rule as it is asked by, with those below it.
    pub(super) fn ask(&self, rule: Rule) -> Option<AskAhead> {
        let entry = self.entries.get(&rule.0).filter(|entry| entry.is_ready())?;
        let mut ask = entry.ask(rule)?;
        let mut room = self.limits.statements_ahead.saturating_sub(1);
        if entry.outer.is_some() && entry.outer.as_ref() != Some(&entry.inner) {
            ask.ahead = self.below(&entry.inner, self.limits.depth.saturating_sub(1), &mut room, &|_| true);
        }
        Some(ask)
    }

    /// How an opening went for which was asked by a rule: of so many results so many were used.
    pub fn settle(&mut self, rule: Rule, guessed: u64, used: u64) {
        let limits = self.limits;
        let Some(entry) = self.entries.get_mut(&rule.0) else { return };
        if guessed == 0 {
            return;
        }
        if used == 0 {
            entry.failures += 1;
            entry.window = (entry.window / 4).max(limits.window_min);
            if entry.failures >= 2 {
                entry.standing = Standing::Learning;
                entry.hits = 0;
                entry.needed = entry.needed.saturating_mul(2).min(limits.hits_max);
            }
            return;
        }
        entry.failures = 0;
        entry.window = if used.saturating_mul(4) >= guessed.saturating_mul(3) {
            entry.window.saturating_mul(2).min(limits.window_max)
        } else {
            let wanted = used.saturating_mul(2).next_power_of_two();
            u32::try_from(wanted).unwrap_or(u32::MAX).clamp(limits.window_min, limits.window_max)
        };
    }

    fn insert(&mut self, id: u32, entry: Entry) {
        self.by_inner.entry(entry.inner.clone()).or_default().push(id);
        if let Some(outer) = &entry.outer {
            self.by_outer.entry(outer.clone()).or_default().push(id);
        }
        self.entries.insert(id, entry);
    }

    fn remove(&mut self, id: u32) {
        let Some(entry) = self.entries.remove(&id) else { return };
        forget(&mut self.by_inner, &entry.inner, id);
        if let Some(outer) = &entry.outer {
            forget(&mut self.by_outer, outer, id);
        }
    }

    /// The rules that are asked by, to be kept on disk.
    pub fn to_bytes(&self) -> Vec<u8> {
        let kept: Vec<&Entry> =
            self.entries.values().filter(|entry| entry.standing == Standing::Active).collect();
        let texts: BTreeSet<&StatementText> =
            kept.iter().flat_map(|entry| [Some(&entry.inner), entry.outer.as_ref()]).flatten().collect();
        let shapes: Vec<_> = texts.iter().filter_map(|text| Some((*text, self.shapes.get(*text)?))).collect();
        // Into memory, of plain data: there is nothing that could fail.
        let body = postcard::to_allocvec(&(kept, shapes)).unwrap_or_default();
        [HEADER.as_slice(), &checksum(&body).to_be_bytes(), &body].concat()
    }

    /// Adds the rules that were saved.
    ///
    /// # Errors
    /// [`NotLoaded`]; then nothing was added.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), NotLoaded> {
        let (header, rest) = bytes.split_first_chunk::<8>().ok_or(NotLoaded::Damaged)?;
        if header != HEADER {
            let ours = header.starts_with(b"FBRULES");
            return Err(if ours { NotLoaded::OtherVersion } else { NotLoaded::Damaged });
        }
        let (sum, body) = rest.split_first_chunk::<8>().ok_or(NotLoaded::Damaged)?;
        if body.len() > SAVED_BYTES_MAX || u64::from_be_bytes(*sum) != checksum(body) {
            return Err(NotLoaded::Damaged);
        }
        let (entries, shapes) = match postcard::take_from_bytes::<Saved>(body) {
            Ok((saved, [])) => saved,
            _ => return Err(NotLoaded::Damaged),
        };
        for (statement, (described, blr)) in shapes.into_iter().take(2 * self.limits.rules) {
            self.note_shape(&statement, described, &blr);
        }
        for mut entry in entries.into_iter().take(self.limits.rules.saturating_sub(self.entries.len())) {
            entry.window = entry.window.clamp(self.limits.window_min, self.limits.window_max);
            entry.met = 0;
            let fits = entry.inner.length() <= self.limits.text_bytes
                && entry.candidates.len() <= self.limits.parameters
                && entry.facts.question.as_ref().is_none_or(Question::is_ordinary)
                && self.of_inner(&entry.inner).len() < self.limits.rules_of_statement;
            if fits && entry.kinds().is_some_and(|kinds| kinds.len() == entry.candidates.len()) {
                let id = self.next;
                self.next = self.next.wrapping_add(1);
                self.insert(id, entry);
            }
        }
        Ok(())
    }
}

fn forget(index: &mut QuickMap<StatementText, Vec<u32>>, text: &StatementText, id: u32) {
    if let Some(ids) = index.get_mut(text) {
        ids.retain(|other| *other != id);
        if ids.is_empty() {
            index.remove(text);
        }
    }
}

/// FNV-1a: finds damage, not malice.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

impl Entry {
    pub(super) fn outer(&self) -> Option<&StatementText> {
        self.outer.as_ref()
    }

    pub(super) fn inner(&self) -> &StatementText {
        &self.inner
    }

    pub(super) fn facts(&self) -> &Facts {
        &self.facts
    }

    pub(super) fn window(&self) -> u32 {
        self.window
    }

    /// Whether it is asked by, and everything is known for that.
    pub(super) fn is_ready(&self) -> bool {
        self.standing == Standing::Active && !self.facts.output_blr.is_empty()
    }

    fn kinds(&self) -> Option<Vec<MessageType>> {
        kinds_of(&self.blr)
    }

    /// How far out its sources reach: 0 is the row of the statement above.
    fn deepest(&self) -> usize {
        let nearest = |candidates: &Candidates| candidates.columns.first().map_or(0, |(depth, ..)| *depth);
        usize::from(self.candidates.iter().map(nearest).max().unwrap_or(0))
    }

    /// The candidates that also explain this execution; `None` if some parameter has none left.
    fn narrowed(
        &self,
        given: &Given,
        rows: &Rows<'_>,
        previous: Option<&[Value]>,
    ) -> Option<Vec<Candidates>> {
        if given.values.len() != self.candidates.len() {
            return None;
        }
        let kinds = self.kinds()?;
        let mut narrowed = Vec::with_capacity(self.candidates.len());
        let mut is_linked = false;
        for (index, ((value, kind), (old, old_kind))) in
            given.values.iter().zip(&given.kinds).zip(self.candidates.iter().zip(&kinds)).enumerate()
        {
            if std::mem::discriminant(kind) != std::mem::discriminant(old_kind) {
                return None;
            }
            let columns: Vec<_> = old
                .columns
                .iter()
                .filter(|(depth, column, fit)| comes_from(value, kind, rows, *depth, *column, *fit))
                .copied()
                .collect();
            let constant = old.constant.clone().filter(|constant| {
                of_single(constant, *old_kind).is_some_and(|constant| same(value, &constant, kind))
            });
            let counts_up = old.counts_up && counts_up(value, previous, index);
            is_linked |= columns.first().is_some_and(is_nearest) || counts_up;
            let may_own_length = old.may_own_length && owns_length(value, *kind);
            let may_be_fixed = old.may_be_fixed && kind == old_kind;
            let has_source = !columns.is_empty() || constant.is_some() || counts_up;
            if !has_source || !(may_own_length || may_be_fixed) {
                return None;
            }
            narrowed.push(Candidates { columns, constant, counts_up, may_own_length, may_be_fixed });
        }
        is_linked.then_some(narrowed)
    }

    fn parameter(candidates: &Candidates) -> Option<Parameter> {
        let source = match (candidates.columns.first(), &candidates.constant) {
            (Some((0, column, fit)), _) => Source::Column(*column, *fit),
            (Some((depth, column, fit)), _) => Source::Outer(*depth, *column, *fit),
            (None, Some(constant)) => Source::Constant(constant.clone()),
            (None, None) => return None,
        };
        Some(Parameter { source, has_own_length: candidates.may_own_length })
    }

    fn ask(&self, rule: Rule) -> Option<AskAhead> {
        // One that counts up is only asked by with parameters that the edge has made.
        let parameters = match self.outer {
            Some(_) => self.candidates.iter().map(Entry::parameter).collect::<Option<Vec<_>>>()?,
            None => Vec::new(),
        };
        Some(AskAhead {
            rule,
            prepare: self.facts.prepare.to_vec(),
            described: self.facts.described,
            input_blr: self.blr.to_vec(),
            parameters,
            execution: self.facts.execution,
            question: self.facts.question.clone(),
            output_blr: self.facts.output_blr.to_vec(),
            window: self.window,
            ahead: Vec::new(),
        })
    }

    /// Where a statement whose parameters count up has come to, as a number that counts up with it.
    pub(super) fn count(&self, values: &[Value]) -> Option<u64> {
        let counting = self.candidates.iter().zip(values).find(|(candidates, _)| candidates.counts_up);
        match counting?.1 {
            Value::Integer { unscaled, .. } => Some(unscaled.cast_unsigned() ^ (1 << 63)),
            Value::Int128 { unscaled, .. } => {
                i64::try_from(*unscaled).ok().map(|number| number.cast_unsigned() ^ (1 << 63))
            }
            _ => None,
        }
    }

    /// The parameters that this rule makes of a row, or of the execution before: BLR and message.
    pub(super) fn predicted(
        &self,
        form: MessageForm,
        rows: &Rows<'_>,
        previous: Option<&[Value]>,
    ) -> Option<(Vec<u8>, Vec<u8>)> {
        if self.outer.is_some() {
            let parameters = self.candidates.iter().map(Entry::parameter).collect::<Option<Vec<_>>>()?;
            return bound(&self.blr, &parameters, form, rows);
        }
        let kinds = self.kinds()?;
        let values = self.candidates.iter().zip(previous?).map(|(candidates, previous)| {
            if candidates.counts_up { successor(previous) } else { Some(previous.clone()) }
        });
        let values = values.collect::<Option<Vec<_>>>()?;
        let own = self.candidates.iter().map(|candidates| candidates.may_own_length);
        message(&self.blr, kinds, &values, own, form)
    }
}

/// The parameters of a statement to be asked ahead, made of a row and those that it stands in: BLR and message. `None` if they
/// cannot be made of these values.
pub fn bound(
    blr: &[u8],
    parameters: &[Parameter],
    form: MessageForm,
    rows: &[&[Value]],
) -> Option<(Vec<u8>, Vec<u8>)> {
    if blr.is_empty() && parameters.is_empty() {
        return Some((Vec::new(), Vec::new()));
    }
    let kinds = kinds_of(blr)?;
    if kinds.len() != parameters.len() {
        return None;
    }
    let values = kinds.iter().zip(parameters).map(|(kind, parameter)| match &parameter.source {
        Source::Column(column, fit) => {
            value_of(rows, 0, *column).and_then(|value| converted(value, *fit, kind))
        }
        Source::Outer(depth, column, fit) => {
            value_of(rows, *depth, *column).and_then(|value| converted(value, *fit, kind))
        }
        Source::Constant(constant) => of_single(constant, *kind),
    });
    let values = values.collect::<Option<Vec<_>>>()?;
    let own = parameters.iter().map(|parameter| parameter.has_own_length);
    message(blr, kinds, &values, own, form)
}

/// A message of these values. Types with lengths of their own are changed in the BLR.
fn message(
    blr: &[u8],
    mut kinds: Vec<MessageType>,
    values: &[Value],
    own: impl Iterator<Item = bool>,
    form: MessageForm,
) -> Option<(Vec<u8>, Vec<u8>)> {
    for ((kind, value), own) in kinds.iter_mut().zip(values).zip(own) {
        if own {
            *kind = with_length_of(value, *kind)?;
        }
    }
    let format = MessageFormat::from_columns(kinds);
    let mut bytes = Vec::new();
    format.encode_row(form, values, &mut bytes).ok()?;
    Some((like(blr, &format), bytes))
}

/// The BLR of a format, in the version of another BLR.
fn like(blr: &[u8], format: &MessageFormat) -> Vec<u8> {
    let mut printed = format.to_blr();
    if let (Some(to), Some(version)) = (printed.first_mut(), blr.first()) {
        *to = *version;
    }
    printed
}

/// The types of the parameters of this BLR; `None` if it is none, or is not printed as it was.
fn kinds_of(blr: &[u8]) -> Option<Vec<MessageType>> {
    let format = MessageFormat::parse(blr).ok()??;
    (like(blr, &format) == blr).then(|| format.columns().copied().collect())
}

fn value_of<'r>(rows: &Rows<'r>, depth: u16, column: u16) -> Option<&'r Value> {
    rows.get(usize::from(depth))?.get(usize::from(column))
}

fn comes_from(value: &Value, kind: &MessageType, rows: &Rows<'_>, depth: u16, column: u16, fit: Fit) -> bool {
    value_of(rows, depth, column)
        .and_then(|source| converted(source, fit, kind))
        .is_some_and(|source| same(value, &source, kind))
}

fn counts_up(value: &Value, previous: Option<&[Value]>, index: usize) -> bool {
    let before = previous.and_then(|previous| previous.get(index));
    before.and_then(successor).is_some_and(|next| next == *value)
}

fn owns_length(value: &Value, kind: MessageType) -> bool {
    let is_text =
        matches!(kind, MessageType::Text { .. } | MessageType::Varying { .. } | MessageType::Cstring { .. });
    is_text && with_length_of(value, kind) == Some(kind)
}

/// A rule stands on the rows of its own outer statement: what only looks further out is a rule of the loop that is there.
fn is_nearest((depth, ..): &(u16, u16, Fit)) -> bool {
    *depth == 0
}

/// All sources that each parameter may have had; `None` if none has one in the row itself.
fn guessed(given: &Given, rows: &Rows<'_>, previous: Option<&[Value]>) -> Option<Vec<Candidates>> {
    if kinds_of(&given.blr)? != given.kinds || given.values.len() != given.kinds.len() {
        return None;
    }
    let mut is_linked = false;
    let mut all = Vec::with_capacity(given.values.len());
    for (index, (value, kind)) in given.values.iter().zip(&given.kinds).enumerate() {
        if kind.is_blob() {
            return None;
        }
        let mut columns = Vec::new();
        // NULL comes from anywhere and links nothing.
        if !value.is_null() {
            for (depth, row) in rows.iter().enumerate() {
                for column in 0..row.len().min(COLUMNS_MAX) {
                    let (Ok(depth), Ok(column)) = (u16::try_from(depth), u16::try_from(column)) else {
                        continue;
                    };
                    let fit =
                        FITS.into_iter().filter(|fit| comes_from(value, kind, rows, depth, column, *fit));
                    columns.extend(fit.map(|fit| (depth, column, fit)));
                }
            }
        }
        columns.truncate(SOURCES_MAX);
        let counts_up = rows.is_empty() && counts_up(value, previous, index);
        is_linked |= columns.first().is_some_and(is_nearest) || counts_up;
        let before = previous.and_then(|previous| previous.get(index));
        let is_constant = !rows.is_empty() || before.is_some_and(|before| same(value, before, kind));
        all.push(Candidates {
            columns,
            constant: if is_constant { single(value, *kind) } else { None },
            counts_up,
            may_own_length: owns_length(value, *kind),
            may_be_fixed: true,
        });
    }
    is_linked.then_some(all)
}
