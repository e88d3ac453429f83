//! What one program did lately, for those who look on: the waterfall of a status page.
//!
//! An [`Entry`] is what people would call one thing: a login, a query with all its fetches, a commit. Things alike that crossed nothing
//! are one entry with a count, so that a loop which is answered at the edge takes two lines and one that is not shows each of its trips.
//!
//! Promises: at most [`ENTRIES_MAX`] entries of a program, each of bounded size; what is recorded changes nothing about what is answered.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use farbird_wire::packet::{ExecuteImmediate2, Request};
use farbird_wire::protocol::free_statement;

use crate::quick_hash::QuickMap;
use serde::Serialize;

/// Entries kept of a program; the oldest goes first.
pub const ENTRIES_MAX: usize = 256;
/// Longest text of a statement that is kept, in characters.
const TEXT_CHARACTERS_MAX: usize = 400;
/// Statements of a program whose texts are known here.
const TEXTS_MAX: usize = 512;
/// Times of waiting that are kept apart in an entry; the last one takes in what follows.
const WAITS_MAX: usize = 16;
/// How far back a thing of the same kind is looked for: a loop has a few statements.
const ALIKE_WITHIN: usize = 6;

/// What a program does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Connecting and logging in, up to the attachment.
    Connect,
    /// Beginning a transaction.
    Begin,
    /// Preparing a statement, and asking what it is like.
    Prepare,
    /// Executing a statement, with the fetches of its rows.
    Execute,
    /// Executing for many rows of parameters.
    Batch,
    /// Reading BLOBs.
    Read,
    /// Writing BLOBs.
    Write,
    /// Asking about the database or a transaction.
    Ask,
    /// Committing.
    Commit,
    /// Rolling back.
    Rollback,
    /// Detaching.
    Detach,
    /// Stopping what runs.
    Cancel,
    /// Anything else.
    Other,
}

impl Verb {
    /// Its name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Verb::Connect => "connect",
            Verb::Begin => "begin",
            Verb::Prepare => "prepare",
            Verb::Execute => "execute",
            Verb::Batch => "batch",
            Verb::Read => "read BLOB",
            Verb::Write => "write BLOB",
            Verb::Ask => "ask",
            Verb::Commit => "commit",
            Verb::Rollback => "roll back",
            Verb::Detach => "detach",
            Verb::Cancel => "cancel",
            Verb::Other => "other",
        }
    }
}

/// From where the answer came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AnsweredBy {
    /// The edge knew it.
    Edge,
    /// It had been run ahead.
    Ahead,
    /// The program waited for the origin.
    Origin,
}

impl AnsweredBy {
    /// The same after waiting: what had been run ahead may be asked about further.
    fn waited(self) -> AnsweredBy {
        match self {
            AnsweredBy::Ahead => AnsweredBy::Ahead,
            AnsweredBy::Edge | AnsweredBy::Origin => AnsweredBy::Origin,
        }
    }
}

/// One thing that a program did, or several alike that crossed nothing. Times are those that the edge is handed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Counts up, for each program from 0.
    pub number: u64,
    /// What.
    pub verb: Verb,
    /// The statement's text, shortened.
    pub text: Option<Arc<str>>,
    /// How often.
    pub count: u64,
    /// Requests of the program for it.
    pub requests: u64,
    /// When its first request came.
    #[serde(serialize_with = "microseconds")]
    pub begun: Duration,
    /// When its last answer left, or its last rows came.
    #[serde(serialize_with = "microseconds")]
    pub ended: Duration,
    /// Requests that are not answered.
    pub open: u32,
    /// From where its answers came.
    pub by: AnsweredBy,
    /// Round trips that the program waited for.
    pub trips: u64,
    /// When it waited: from and to.
    #[serde(serialize_with = "spans")]
    pub waits: Vec<(Duration, Duration)>,
    /// When what was pushed for it came: from and to.
    #[serde(serialize_with = "span")]
    pub pushed: Option<(Duration, Duration)>,
    /// Bytes that came for it.
    pub bytes: u64,
    /// Rows given to the program.
    pub rows: u64,
}

/// What is open, and who it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// The database, as the program names it.
    pub database: String,
    /// The user, as the program gives it.
    pub user: String,
    /// The program's own name and process number, if it tells them.
    pub process: String,
    /// Open transactions.
    pub transactions: usize,
    /// Those of them that may have changed something.
    pub changing: usize,
    /// Prepared statements.
    pub statements: usize,
    /// Open cursors.
    pub cursors: usize,
    /// Open BLOBs.
    pub blobs: usize,
    /// Requests that wait for an answer.
    pub waiting: usize,
    /// Bytes of rows that may be on their way to it.
    pub row_bytes: usize,
    /// Bytes of BLOBs that are kept for it.
    pub blob_bytes: usize,
}

/// Sums of one program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Sums {
    /// Its requests.
    pub requests: u64,
    /// Times that it waited for the origin.
    pub trips: u64,
    /// Trips that it did not make.
    pub saved: u64,
    /// Rows that it was given.
    pub rows: u64,
    /// Bytes that came for it over the link, before compression.
    pub bytes: u64,
}

/// The record of one program. Its lock is its own, and held only for moments.
#[derive(Debug, Default)]
pub struct Record(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    entries: VecDeque<Entry>,
    next: u64,
    sums: Sums,
}

impl Record {
    /// The entries, oldest first.
    pub fn entries(&self) -> Vec<Entry> {
        self.kept().entries.iter().cloned().collect()
    }

    /// The newest entry.
    pub fn latest(&self) -> Option<Entry> {
        self.kept().entries.back().cloned()
    }

    /// Its sums.
    pub fn sums(&self) -> Sums {
        self.kept().sums
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn entry(&mut self, number: u64) -> Option<&mut Entry> {
        let first = self.entries.front()?.number;
        self.entries.get_mut(usize::try_from(number.checked_sub(first)?).ok()?)
    }

    fn push(&mut self, verb: Verb, text: Option<Arc<str>>, now: Duration) -> u64 {
        if self.entries.len() >= ENTRIES_MAX {
            self.entries.pop_front();
        }
        let number = self.next;
        self.next += 1;
        self.entries.push_back(Entry {
            number,
            verb,
            text,
            count: 1,
            requests: 0,
            begun: now,
            ended: now,
            open: 0,
            by: AnsweredBy::Edge,
            trips: 0,
            waits: Vec::new(),
            pushed: None,
            bytes: 0,
            rows: 0,
        });
        number
    }

    /// The entry of something that begins: a new one, or one like it.
    fn begin(&mut self, verb: Verb, text: Option<Arc<str>>, now: Duration, counts: bool) -> Current {
        let alike = self.alike(verb, text.as_ref());
        let entry = alike.unwrap_or_else(|| self.push(verb, text, now));
        let is_counted = alike.is_some() && counts;
        if is_counted && let Some(entry) = self.entry(entry) {
            entry.count += 1;
        }
        Current { entry, began: now, is_counted, statement: None }
    }

    /// A thing of the same kind that crossed nothing and is over; a login is one thing with all its steps.
    fn alike(&self, verb: Verb, text: Option<&Arc<str>>) -> Option<u64> {
        if verb == Verb::Connect {
            let last = self.entries.back()?;
            return (last.verb == verb).then_some(last.number);
        }
        let is_alike = |entry: &&Entry| {
            entry.verb == verb && entry.text.as_ref() == text && entry.waits.is_empty() && entry.open == 0
        };
        self.entries.iter().rev().take(ALIKE_WITHIN).find(is_alike).map(|entry| entry.number)
    }

    /// The last of those that an entry counts is given one of its own.
    fn split(&mut self, number: u64, began: Duration) -> Option<u64> {
        let entry = self.entry(number)?;
        entry.count = entry.count.saturating_sub(1);
        entry.requests = entry.requests.saturating_sub(1);
        let (verb, text) = (entry.verb, entry.text.clone());
        let number = self.push(verb, text, began);
        self.entry(number)?.requests = 1;
        Some(number)
    }
}

/// The entry of a request that is none's: making a handle, closing a cursor.
const NO_ENTRY: u64 = u64::MAX;

/// The request that came last.
#[derive(Debug, Default)]
struct Current {
    entry: u64,
    began: Duration,
    /// Whether it is one more of those that its entry counts.
    is_counted: bool,
    statement: Option<u16>,
}

/// A request whose answer has not left.
#[derive(Debug)]
struct Pending {
    entry: u64,
    came: Duration,
}

/// Writes the record of one program.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    record: Arc<Record>,
    /// Requests that wait for their answers, in their order.
    pending: VecDeque<Pending>,
    /// The request that came last.
    current: Current,
    /// Texts of statements, and the newest entry of each, by handle.
    statements: QuickMap<u16, (Arc<str>, Option<u64>)>,
}

impl Recorder {
    pub(super) fn record(&self) -> Arc<Record> {
        self.record.clone()
    }

    /// A request has come, with its handles resolved.
    pub(super) fn came(&mut self, request: &Request, now: Duration) {
        let (subject, statement) = subject(request);
        if let Request::Prepare(text) = request {
            self.learn_text(text.statement.0, &text.sql);
        }
        let text = match request {
            Request::ExecuteImmediate(text) | Request::ExecuteImmediate2(ExecuteImmediate2 { text, .. }) => {
                Some(shortened(&text.sql))
            }
            _ => statement.and_then(|handle| self.statements.get(&handle)).map(|(text, _)| text.clone()),
        };
        let known = statement.and_then(|handle| self.last_entry(handle));
        let record = self.record.clone();
        let mut kept = record.kept();
        kept.sums.requests += 1;
        self.current = match subject {
            Subject::Begins(verb) => kept.begin(verb, text, now, counts(request)),
            Subject::GoesOn => {
                Current { entry: known.unwrap_or(NO_ENTRY), began: now, is_counted: false, statement }
            }
        };
        self.current.statement = statement;
        if let Some(entry) = kept.entry(self.current.entry) {
            entry.requests += 1;
        }
        drop(kept);
        match request {
            Request::FreeStatement { statement, option } if *option & free_statement::DROP != 0 => {
                self.statements.remove(&statement.0);
            }
            _ => self.note_entry(),
        }
    }

    /// The statement's newest entry is the current one.
    fn note_entry(&mut self) {
        let Current { entry, statement: Some(handle), .. } = self.current else { return };
        if let Some((_, last)) = self.statements.get_mut(&handle)
            && entry != NO_ENTRY
        {
            *last = Some(entry);
        }
    }

    /// The request that came last has been taken: so many wait for their answers now.
    pub(super) fn taken(&mut self, waiting: usize, now: Duration) {
        let mut kept = self.record.kept();
        while self.pending.len() < waiting {
            self.pending.push_back(Pending { entry: self.current.entry, came: now });
            if let Some(entry) = kept.entry(self.current.entry) {
                entry.open += 1;
            }
        }
        if let Some(entry) = kept.entry(self.current.entry) {
            entry.ended = entry.ended.max(now);
        }
    }

    /// Answers have left: so many requests still wait.
    pub(super) fn answered(&mut self, waiting: usize, now: Duration) {
        if self.pending.len() <= waiting {
            return;
        }
        let mut kept = self.record.kept();
        while self.pending.len() > waiting
            && let Some(Pending { entry, came }) = self.pending.pop_front()
        {
            let Some(entry) = kept.entry(entry) else { continue };
            entry.open = entry.open.saturating_sub(1);
            entry.ended = entry.ended.max(now);
            if now > came {
                entry.by = entry.by.waited();
                entry.waited(came, now);
            }
        }
    }

    /// The program waits for the origin because of the request that came last: which is shown for itself.
    pub(super) fn trip(&mut self) {
        let record = self.record.clone();
        let mut kept = record.kept();
        kept.sums.trips += 1;
        if self.current.is_counted {
            let number = kept.split(self.current.entry, self.current.began);
            self.current.entry = number.unwrap_or(self.current.entry);
            self.current.is_counted = false;
        }
        if let Some(entry) = kept.entry(self.current.entry) {
            entry.trips += 1;
            entry.by = entry.by.waited();
        }
        drop(kept);
        self.note_entry();
    }

    /// The program is spared a trip.
    pub(super) fn saved(&mut self) {
        self.record.kept().sums.saved += 1;
    }

    /// The execution that came last is answered by what was run ahead.
    pub(super) fn ahead(&mut self) {
        if let Some(entry) = self.record.kept().entry(self.current.entry) {
            entry.by = AnsweredBy::Ahead;
        }
    }

    /// Rows of a statement are given to the program.
    pub(super) fn rows(&mut self, statement: u16, rows: usize) {
        let number = self.last_entry(statement);
        let mut kept = self.record.kept();
        kept.sums.rows += rows as u64;
        if let Some(entry) = number.and_then(|number| kept.entry(number)) {
            entry.rows += rows as u64;
        }
    }

    /// Something was pushed for a statement's cursor.
    pub(super) fn pushed(&mut self, statement: u16, bytes: usize, now: Duration) {
        let number = self.last_entry(statement);
        let mut kept = self.record.kept();
        kept.sums.bytes += bytes as u64;
        if let Some(entry) = number.and_then(|number| kept.entry(number)) {
            entry.bytes += bytes as u64;
            entry.ended = entry.ended.max(now);
            entry.pushed = Some((entry.pushed.map_or(now, |(from, _)| from), now));
        }
    }

    /// A reply or a result that was run ahead has come.
    pub(super) fn received(&mut self, bytes: usize, is_reply: bool) {
        let number = self.pending.front().map(|pending| pending.entry).filter(|_| is_reply);
        let mut kept = self.record.kept();
        kept.sums.bytes += bytes as u64;
        if let Some(entry) = number.and_then(|number| kept.entry(number)) {
            entry.bytes += bytes as u64;
        }
    }

    /// What waits gets no answer any more.
    pub(super) fn ended(&mut self, now: Duration) {
        self.answered(0, now);
    }

    fn last_entry(&self, statement: u16) -> Option<u64> {
        self.statements.get(&statement).and_then(|(_, last)| *last)
    }

    fn learn_text(&mut self, handle: u16, sql: &[u8]) {
        if self.statements.contains_key(&handle) || self.statements.len() < TEXTS_MAX {
            self.statements.insert(handle, (shortened(sql), None));
        } else {
            self.statements.remove(&handle);
        }
    }
}

impl Entry {
    fn waited(&mut self, from: Duration, to: Duration) {
        let room = self.waits.len() < WAITS_MAX;
        match self.waits.last_mut() {
            Some(last) if from <= last.1 || !room => last.1 = last.1.max(to),
            _ => self.waits.push((from, to)),
        }
    }
}

/// Whether a request begins another thing of its kind, when it is put to one that was there.
fn counts(request: &Request) -> bool {
    !matches!(
        request,
        Request::Connect(_)
            | Request::ContinueAuthentication(_)
            | Request::TrustedAuthentication(_)
            | Request::CryptKeyCallback(_)
            | Request::Crypt { .. }
            | Request::Attach(_)
            | Request::Create(_)
            | Request::ServiceAttach(_)
            | Request::GetSegment(_)
            | Request::PutSegment(_)
            | Request::BatchSegments(_)
            | Request::SeekBlob { .. }
            | Request::BlobInformation(_)
            | Request::CloseBlob(_)
            | Request::CancelBlob(_)
            | Request::BatchMessages(_)
    )
}

/// Whether a request begins something or goes on with it.
#[derive(Clone, Copy)]
enum Subject {
    Begins(Verb),
    /// It belongs to what its statement did last.
    GoesOn,
}

/// What a request is about, and with which statement.
fn subject(request: &Request) -> (Subject, Option<u16>) {
    use Subject::{Begins, GoesOn};
    match request {
        Request::Connect(_)
        | Request::ContinueAuthentication(_)
        | Request::TrustedAuthentication(_)
        | Request::CryptKeyCallback(_)
        | Request::Crypt { .. }
        | Request::Attach(_)
        | Request::Create(_)
        | Request::ServiceAttach(_) => (Begins(Verb::Connect), None),
        Request::StartTransaction { .. } | Request::Reconnect { .. } => (Begins(Verb::Begin), None),
        Request::Commit(_) | Request::CommitRetaining(_) => (Begins(Verb::Commit), None),
        Request::Rollback(_) | Request::RollbackRetaining(_) => (Begins(Verb::Rollback), None),
        Request::AllocateStatement(_) => (GoesOn, None),
        Request::Prepare(text) => (Begins(Verb::Prepare), Some(text.statement.0)),
        Request::StatementInformation(information) => (GoesOn, Some(information.object.0)),
        Request::Execute(execute) => (Begins(Verb::Execute), Some(execute.statement.0)),
        Request::Execute2(execute) => (Begins(Verb::Execute), Some(execute.execute.statement.0)),
        Request::ExecuteImmediate(_) | Request::ExecuteImmediate2(_) => (Begins(Verb::Execute), None),
        Request::Fetch(fetch) => (GoesOn, Some(fetch.statement.0)),
        Request::FetchScroll(scroll) => (GoesOn, Some(scroll.fetch.statement.0)),
        Request::SetCursor { statement, .. } | Request::FreeStatement { statement, .. } => {
            (GoesOn, Some(statement.0))
        }
        Request::BatchCreate(batch) => (Begins(Verb::Batch), Some(batch.statement.0)),
        Request::BatchMessages(batch) => (Begins(Verb::Batch), Some(batch.statement.0)),
        Request::BatchExecute { statement, .. } => (Begins(Verb::Batch), Some(statement.0)),
        Request::OpenBlob { .. }
        | Request::OpenBlob2(_)
        | Request::GetSegment(_)
        | Request::SeekBlob { .. }
        | Request::BlobInformation(_)
        | Request::CloseBlob(_)
        | Request::CancelBlob(_) => (Begins(Verb::Read), None),
        Request::CreateBlob { .. }
        | Request::CreateBlob2(_)
        | Request::PutSegment(_)
        | Request::BatchSegments(_) => (Begins(Verb::Write), None),
        Request::DatabaseInformation(_) | Request::TransactionInformation(_) => (Begins(Verb::Ask), None),
        Request::Detach(_) | Request::Disconnect => (Begins(Verb::Detach), None),
        Request::Cancel { .. } => (Begins(Verb::Cancel), None),
        _ => (Begins(Verb::Other), None),
    }
}

fn shortened(sql: &[u8]) -> Arc<str> {
    // Four bytes are the most that a character takes.
    let sql = sql.get(..sql.len().min(TEXT_CHARACTERS_MAX * 4)).unwrap_or_default();
    let text = String::from_utf8_lossy(sql);
    text.trim().chars().take(TEXT_CHARACTERS_MAX).collect::<String>().into()
}

fn whole(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn microseconds<S: serde::Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(whole(*time))
}

fn spans<S: serde::Serializer>(spans: &[(Duration, Duration)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(spans.iter().map(|(from, until)| (whole(*from), whole(*until))))
}

fn span<S: serde::Serializer>(span: &Option<(Duration, Duration)>, to: S) -> Result<S::Ok, S::Error> {
    span.map(|(from, until)| (whole(from), whole(until))).serialize(to)
}

#[cfg(test)]
mod tests {
    use farbird_wire::packet::{BufferLength, Execute, StatementText};
    use farbird_wire::protocol::Handle;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn prepare(statement: u16, sql: &str) -> Request {
        Request::Prepare(StatementText {
            transaction: Handle(1),
            statement: Handle(statement),
            dialect: 3,
            flags: 0,
            sql: sql.into(),
            items: Vec::new(),
            buffer_length: BufferLength(0),
        })
    }

    fn commit() -> Request {
        Request::Commit(Handle(1))
    }

    /// A request that is answered so much later.
    fn ask(recorder: &mut Recorder, request: &Request, at: Duration, wait: Duration) {
        recorder.came(request, at);
        if !wait.is_zero() {
            recorder.trip();
        }
        recorder.taken(1, at);
        recorder.answered(0, at + wait);
    }

    #[test]
    fn what_waits_is_shown_each_time_and_what_does_not_is_counted() {
        let mut recorder = Recorder::default();
        for round in 0..10 {
            ask(&mut recorder, &commit(), round * 10 * MS, Duration::ZERO);
        }
        for round in 10..13 {
            ask(&mut recorder, &commit(), round * 10 * MS, 5 * MS);
        }
        let entries = recorder.record().entries();
        let facts: Vec<_> =
            entries.iter().map(|entry| (entry.count, entry.trips, entry.waits.len())).collect();
        assert_eq!(facts, [(10, 0, 0), (1, 1, 1), (1, 1, 1), (1, 1, 1)], "{entries:?}");
        assert_eq!(entries[1].waits, [(100 * MS, 105 * MS)]);
        assert_eq!((entries[0].by, entries[3].by), (AnsweredBy::Edge, AnsweredBy::Origin));
        assert_eq!(recorder.record().sums().trips, 3);
    }

    #[test]
    fn entries_and_texts_are_bounded() {
        let mut recorder = Recorder::default();
        let long = "x".repeat(100_000);
        for statement in 0..2_000 {
            ask(&mut recorder, &prepare(statement, &long), MS, 2 * MS);
            recorder.pushed(statement, 10, MS);
        }
        let entries = recorder.record().entries();
        assert_eq!(entries.len(), ENTRIES_MAX);
        assert_eq!(entries.last().unwrap().number, 1_999);
        let is_short = |entry: &Entry| {
            entry.text.as_ref().is_none_or(|text| text.len() <= TEXT_CHARACTERS_MAX) && entry.waits.len() == 1
        };
        assert!(entries.iter().all(is_short) && recorder.statements.len() <= TEXTS_MAX);
        assert_eq!(recorder.record().sums().bytes, 20_000);
    }

    #[test]
    fn what_goes_on_with_an_execution_belongs_to_it() {
        let mut recorder = Recorder::default();
        let execute = Request::Execute(Execute {
            statement: Handle(2),
            transaction: Handle(1),
            input_blr: Vec::new(),
            message_number: 0,
            message: None,
            timeout_ms: 0,
            cursor_flags: 0,
            inline_blob_bytes: 0,
        });
        let close = Request::FreeStatement { statement: Handle(2), option: free_statement::CLOSE };
        ask(&mut recorder, &prepare(2, "select 1 from t"), Duration::ZERO, Duration::ZERO);
        ask(&mut recorder, &execute, MS, 10 * MS);
        ask(&mut recorder, &close, 12 * MS, Duration::ZERO);
        recorder.pushed(2, 500, 13 * MS);
        recorder.rows(2, 7);
        let entries = recorder.record().entries();
        assert_eq!(entries.len(), 2, "{entries:?}");
        let execution = &entries[1];
        assert_eq!((execution.verb, execution.requests, execution.rows), (Verb::Execute, 2, 7));
        assert_eq!((execution.bytes, execution.pushed), (500, Some((13 * MS, 13 * MS))));
        assert_eq!(execution.text.as_deref(), Some("select 1 from t"));
    }
}
