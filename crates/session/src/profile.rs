//! What RDB$PROFILER collects of an attachment, until it is written to tables.
//!
//! Statements are told of by those who run them: each run is a [`Subject`], with who has called it. What lines of PSQL and record
//! sources take is added up for each run, or, unless a session is detailed, for all runs of a statement together.
//! While no session is on, all that is done is to look at one flag. Knows no plans and no tables: `psql::profiler` reads plans
//! ([`RecordSources`]), and writes what is collected.
//!
//! Source: Firebird 5's doc/sql.extensions/README.profiler.md.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use farbird_budget::{Account, Charge};
use farbird_types::{Result, TimestampTz};
use parking_lot::Mutex;

/// So many runs are charged for at a time.
const RUNS_CHARGED: usize = 64;
/// What is charged for a run, in bytes: the run, some lines, some record sources.
const RUN_BYTES: usize = 2 << 10;

/// How often something was done, and how long that took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// How often.
    pub count: u64,
    /// The shortest time.
    pub min: Duration,
    /// The longest time.
    pub max: Duration,
    /// All together.
    pub total: Duration,
}

impl Span {
    /// It was done once more.
    pub fn note(&mut self, elapsed: Duration) {
        self.note_many(1, elapsed);
    }

    /// It was done so many times, all together in that time.
    pub fn note_many(&mut self, times: usize, elapsed: Duration) {
        let each = u32::try_from(times).map_or(Duration::ZERO, |times| elapsed / times.max(1));
        let more = Span { count: times as u64, min: each, max: each, total: elapsed };
        self.add(&more);
    }

    /// What is told by another one as well.
    pub fn add(&mut self, more: &Span) {
        if more.count > 0 {
            self.min = if self.count == 0 { more.min } else { self.min.min(more.min) };
            self.max = self.max.max(more.max);
        }
        self.count += more.count;
        self.total += more.total;
    }
}

/// A statement or routine that runs.
pub struct Profiled {
    /// What tells it from others: its text or, of a routine, where it is.
    pub key: ProfileKey,
    /// BLOCK, PROCEDURE, FUNCTION or TRIGGER.
    pub kind: &'static str,
    /// The package of a routine.
    pub package: Option<String>,
    /// The name of a routine.
    pub routine: Option<String>,
    /// The text of a statement.
    pub text: Option<Arc<str>>,
    /// Of a local routine: the one that declares it.
    pub parent: Option<Arc<Profiled>>,
    /// What must stay where it is while its key is known.
    pub keeps: Option<Arc<dyn Any + Send + Sync>>,
}

/// See [`Profiled::key`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProfileKey {
    /// A statement's text.
    Text(Arc<str>),
    /// A routine's address.
    Routine(usize),
}

/// One run of a statement or routine.
pub struct Subject {
    /// Its number, which no other run has.
    pub run: u64,
    /// What runs.
    pub statement: Arc<Profiled>,
    /// Who has called it.
    pub caller: Option<Arc<Subject>>,
    /// When it began.
    pub started: TimestampTz,
    /// Its cursors and record sources.
    pub sources: Arc<dyn RecordSources>,
}

/// The record sources of a run.
pub trait RecordSources: Send + Sync {
    /// What they have done since this was asked last.
    fn take(&self) -> Vec<SourceFigures>;
}

/// What a record source is, and has done.
#[derive(Debug, Clone)]
pub struct SourceFigures {
    /// The cursor that it belongs to, from 1.
    pub cursor: u32,
    /// Its number in the cursor, from 1.
    pub source: u32,
    /// The record source that asks it for rows.
    pub parent: Option<u32>,
    /// How deep it stands below the cursor.
    pub level: u32,
    /// How it gets at its rows.
    pub path: String,
    /// The name of a declared cursor.
    pub cursor_name: Option<String>,
    /// Line and column of a cursor in a routine.
    pub position: Option<(u32, u32)>,
    /// How often it was opened.
    pub opened: Span,
    /// How often it was asked for a row.
    pub fetched: Span,
}

/// The profiler of an attachment.
#[derive(Default)]
pub struct Profiler {
    /// Whether a session is on and not paused.
    active: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Option<Profile>,
    is_paused: bool,
    finished: Vec<Profile>,
    /// What runs, the innermost last.
    running: Vec<Arc<Subject>>,
    /// What has begun and not ended: what runs, and what rests between two rows.
    begun: BTreeMap<u64, Arc<Subject>>,
    interval: Option<Duration>,
    flushed: Option<Instant>,
}

/// What a session has collected.
pub struct Profile {
    /// PROFILE_ID.
    pub id: i64,
    /// What it was started with.
    pub description: Option<String>,
    /// Whether runs are told apart.
    pub is_detailed: bool,
    /// When it was started.
    pub started: TimestampTz,
    /// When it was finished.
    pub finished: Option<TimestampTz>,
    /// Whether the session itself is to be written.
    pub is_new: bool,
    /// Numbers of statements, which stay what they are as long as they are known here.
    numbers: BTreeMap<ProfileKey, (u64, Arc<Profiled>)>,
    /// Statements that are not written yet.
    pub statements: BTreeMap<u64, ProfiledStatement>,
    known_statements: BTreeSet<u64>,
    /// Cursors that are not written yet: name, line and column.
    pub cursors: BTreeMap<(u64, u32), ProfiledCursor>,
    /// Record sources that are not written yet.
    pub sources: BTreeMap<(u64, u32, u32), SourceFigures>,
    known_sources: BTreeSet<(u64, u32, u32)>,
    /// Runs, by their numbers; of statements, unless it is detailed.
    pub runs: BTreeMap<u64, ProfiledRun>,
    charges: Vec<Charge>,
    charged_runs: usize,
}

/// The name, and line and column, of a cursor.
pub type ProfiledCursor = (Option<String>, Option<(u32, u32)>);

/// A statement to be written.
pub struct ProfiledStatement {
    /// What it is.
    pub statement: Arc<Profiled>,
    /// The number of the one that declares it.
    pub parent: Option<u64>,
}

/// A run, or all runs of a statement.
#[derive(Default)]
pub struct ProfiledRun {
    /// REQUEST_ID: 0 for all runs together.
    pub number: u64,
    /// STATEMENT_ID.
    pub statement: u64,
    /// Statement and run that have called it.
    pub caller: Option<(u64, u64)>,
    /// When it began.
    pub started: Option<TimestampTz>,
    /// When it ended, and how long it ran.
    pub finished: Option<(TimestampTz, Duration)>,
    /// Whether it is to be written, beside what it has done.
    pub is_new: bool,
    /// What lines and columns took.
    pub lines: BTreeMap<(u32, u32), Span>,
    /// What record sources of cursors took, to be opened and to give rows.
    pub sources: BTreeMap<(u32, u32), (Span, Span)>,
}

impl Profile {
    /// A session that begins.
    pub fn new(id: i64, description: Option<String>, is_detailed: bool, started: TimestampTz) -> Profile {
        Profile {
            id,
            description,
            is_detailed,
            started,
            finished: None,
            is_new: true,
            numbers: BTreeMap::new(),
            statements: BTreeMap::new(),
            known_statements: BTreeSet::new(),
            cursors: BTreeMap::new(),
            sources: BTreeMap::new(),
            known_sources: BTreeSet::new(),
            runs: BTreeMap::new(),
            charges: Vec::new(),
            charged_runs: 0,
        }
    }

    /// The number of a statement, which is that of its first run.
    fn statement(&mut self, statement: &Arc<Profiled>, run: u64) -> u64 {
        let known = self.numbers.entry(statement.key.clone());
        let number = known.or_insert_with(|| (run, Arc::clone(statement))).0;
        if self.known_statements.insert(number) {
            // A declaring routine has begun before: it has a number of its own, unless it runs in no session.
            let parent = statement.parent.as_ref().and_then(|parent| self.numbers.get(&parent.key));
            let parent = parent.map(|(number, _)| *number);
            self.statements.insert(number, ProfiledStatement { statement: Arc::clone(statement), parent });
        }
        number
    }

    /// What is known of a run, and of those that have called it.
    fn run(&mut self, subject: &Subject) -> &mut ProfiledRun {
        let caller = subject.caller.as_ref().map(|caller| {
            let known = self.run(caller);
            (known.statement, known.number)
        });
        let statement = self.statement(&subject.statement, subject.run);
        let key = if self.is_detailed { subject.run } else { statement };
        let is_detailed = self.is_detailed;
        self.runs.entry(key).or_insert_with(|| ProfiledRun {
            number: if is_detailed { subject.run } else { 0 },
            statement,
            caller: caller.filter(|_| is_detailed),
            started: Some(subject.started),
            is_new: true,
            ..ProfiledRun::default()
        })
    }

    /// Adds what the record sources of a run have done.
    fn absorb(&mut self, subject: &Subject) {
        for figures in subject.sources.take() {
            let run = self.run(subject);
            let statement = run.statement;
            let (opened, fetched) = run.sources.entry((figures.cursor, figures.source)).or_default();
            opened.add(&figures.opened);
            fetched.add(&figures.fetched);
            let place = (statement, figures.cursor, figures.source);
            if self.known_sources.insert(place) {
                let cursor = (figures.cursor_name.clone(), figures.position);
                self.cursors.insert((statement, figures.cursor), cursor);
                self.sources.insert(place, figures);
            }
        }
    }

    /// Charges for one more run.
    fn charge(&mut self, account: &Arc<Account>) -> Result<()> {
        if self.charged_runs.is_multiple_of(RUNS_CHARGED) {
            self.charges.push(account.charge(RUNS_CHARGED * RUN_BYTES)?);
        }
        self.charged_runs += 1;
        Ok(())
    }

    /// What is to be written, leaving what must be known of what goes on.
    fn take(&mut self) -> Profile {
        let mut taken = Profile::new(self.id, self.description.clone(), self.is_detailed, self.started);
        taken.finished = self.finished;
        taken.is_new = std::mem::take(&mut self.is_new);
        taken.statements = std::mem::take(&mut self.statements);
        taken.cursors = std::mem::take(&mut self.cursors);
        taken.sources = std::mem::take(&mut self.sources);
        for (key, run) in &mut self.runs {
            let written = ProfiledRun {
                number: run.number,
                statement: run.statement,
                caller: run.caller,
                started: run.started,
                finished: run.finished,
                is_new: std::mem::take(&mut run.is_new),
                lines: std::mem::take(&mut run.lines),
                sources: std::mem::take(&mut run.sources),
            };
            taken.runs.insert(*key, written);
        }
        self.runs.retain(|_, run| run.finished.is_none());
        self.charges.clear();
        self.charged_runs = 0;
        taken
    }
}

impl State {
    fn absorb_all(&mut self) {
        if let Some(profile) = &mut self.current {
            self.begun.values().for_each(|subject| profile.absorb(subject));
        }
    }

    fn finish(&mut self, now: TimestampTz) {
        self.absorb_all();
        if let Some(mut profile) = self.current.take() {
            (profile.finished, profile.is_new) = (Some(now), true);
            self.finished.push(profile);
        }
        self.is_paused = false;
    }
}

impl Profiler {
    /// Whether what runs is to be told of.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock();
        let result = change(&mut state);
        self.active.store(state.current.is_some() && !state.is_paused, Ordering::Relaxed);
        result
    }

    /// A session begins; one that is on ends.
    pub fn start(&self, profile: Profile) {
        self.change(|state| {
            state.finish(profile.started);
            // What runs has done before what it has done: nobody is told of that.
            state.begun.values().for_each(|subject| drop(subject.sources.take()));
            state.current = Some(profile);
            state.flushed = Some(Instant::now());
        });
    }

    /// What runs is not told of until the session is resumed.
    pub fn pause(&self) {
        self.change(|state| {
            state.absorb_all();
            state.is_paused = state.current.is_some();
        });
    }

    /// What runs is told of again.
    pub fn resume(&self) {
        self.change(|state| {
            if state.is_paused {
                state.begun.values().for_each(|subject| drop(subject.sources.take()));
            }
            state.is_paused = false;
        });
    }

    /// The session ends; what it has collected waits to be written.
    pub fn finish(&self, now: TimestampTz) {
        self.change(|state| state.finish(now));
    }

    /// The session ends, and what it has collected is forgotten.
    pub fn cancel(&self) {
        self.change(|state| state.current = None);
    }

    /// As [`Profiler::cancel`], with all that waits to be written.
    pub fn discard(&self) {
        self.change(|state| {
            state.current = None;
            state.finished.clear();
        });
    }

    /// What is collected is to be written each time that so much time has passed; `None`: when it is asked for only.
    pub fn set_interval(&self, interval: Option<Duration>) {
        let mut state = self.state.lock();
        state.interval = interval;
        state.flushed = Some(Instant::now());
    }

    /// Whether it is time to write what was collected.
    pub fn is_due(&self) -> bool {
        if !self.is_active() {
            return false;
        }
        let state = self.state.lock();
        let since = state.flushed.map(|flushed| flushed.elapsed());
        state.interval.is_some_and(|interval| since.is_none_or(|since| since >= interval))
    }

    /// What is to be written. Finished sessions are forgotten.
    pub fn take(&self) -> Vec<Profile> {
        self.change(|state| {
            state.absorb_all();
            state.flushed = Some(Instant::now());
            let mut taken = std::mem::take(&mut state.finished);
            taken.extend(state.current.as_mut().map(Profile::take));
            taken
        })
    }

    /// Runs without being heard: what writes a profile is no part of it.
    pub fn unheard<T>(&self, run: impl FnOnce() -> T) -> T {
        self.active.store(false, Ordering::Relaxed);
        let result = run();
        self.change(|_| ());
        result
    }

    /// Something begins to run, or is to be called again for its next row, within what runs.
    pub fn enter(&self, subject: &Arc<Subject>) {
        self.state.lock().running.push(Arc::clone(subject));
    }

    /// It runs no more for now.
    pub fn leave(&self) {
        self.state.lock().running.pop();
    }

    /// What runs.
    pub fn running(&self) -> Option<Arc<Subject>> {
        self.state.lock().running.last().cloned()
    }

    /// A run begins.
    ///
    /// # Errors
    /// If there is no memory for what it will do.
    pub fn begin(&self, subject: &Arc<Subject>, account: &Arc<Account>) -> Result<()> {
        let mut state = self.state.lock();
        if let Some(profile) = &mut state.current {
            profile.charge(account)?;
        }
        state.begun.insert(subject.run, Arc::clone(subject));
        Ok(())
    }

    /// A run has ended, which took so long.
    pub fn end(&self, subject: &Subject, now: TimestampTz, elapsed: Duration) {
        let mut state = self.state.lock();
        state.begun.remove(&subject.run);
        if !self.is_active() {
            return;
        }
        let Some(profile) = &mut state.current else { return };
        profile.absorb(subject);
        if profile.is_detailed
            && let Some(run) = profile.runs.get_mut(&subject.run)
        {
            (run.finished, run.is_new) = (Some((now, elapsed)), true);
        }
    }

    /// A statement of a routine was executed.
    pub fn line(&self, subject: &Subject, place: (u32, u32), elapsed: Duration) {
        let mut state = self.state.lock();
        if let Some(profile) = &mut state.current {
            profile.run(subject).lines.entry(place).or_default().note(elapsed);
        }
    }

    /// A statement of a routine has gone on: it is not counted again.
    pub fn line_again(&self, subject: &Subject, place: (u32, u32), elapsed: Duration) {
        let mut state = self.state.lock();
        if let Some(profile) = &mut state.current {
            profile.run(subject).lines.entry(place).or_default().total += elapsed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_know_the_shortest_and_the_longest_time() {
        let mut span = Span::default();
        span.note(Duration::from_nanos(30));
        span.note_many(4, Duration::from_nanos(40));
        span.note_many(0, Duration::from_nanos(5));
        let nanos = Duration::from_nanos;
        assert_eq!(span, Span { count: 5, min: nanos(10), max: nanos(30), total: nanos(75) });
    }
}
