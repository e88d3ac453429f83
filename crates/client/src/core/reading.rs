//! Cursors that are being read: which fetches are under way, and when to ask for more.
//!
//! # Invariants
//! - What a cursor has under way is bounded: by its window, and all windows together by `read_ahead_bytes` (each may have
//!   one small fetch more, so that everybody gets on).
//! - Behind the end of a cursor, or an error, nothing is of interest: whatever the server answers to fetches that were
//!   under way for it is passed over. (Firebird 5 answers them with an error.)

use std::collections::{BTreeMap, VecDeque};

use farbird_wire::packet::{Fetch, Output, Request};
use farbird_wire::protocol::Handle;

use super::blob_cache::TrailId;
use super::conversation::Ticket;
use super::pace::{Pace, Window};

/// What one fetch is to bring, in bytes. Servers end a batch after 16 buffers of 8 KiB, whatever was asked for.
const FETCH_BYTES: usize = 128 * 1024;
/// Rows of one fetch, at least.
const FETCH_ROWS_MIN: usize = 10;
/// A row may be so many times longer than it is taken to be before one was seen.
const ROW_BYTES_DOUBT: usize = 8;
/// Fetches of one flight, at most.
const FETCHES_MAX: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ReadingId(u64);

/// How rows are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fetching {
    /// So many when the last are used up: 1 for a cursor whose current row matters.
    OnDemand(u16),
    /// So many; the next when half of them have been given out (Firebird's client from 5.0.1 on).
    AtHalf(u16),
    /// By bytes: as many fetches as fill a window, each of up to so many rows.
    Windows(u16),
}

/// What a cursor reads.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) transaction: Handle,
    pub(crate) statement: Handle,
    pub(crate) output: Output,
    pub(crate) fetching: Fetching,
    /// What a row is taken to have, in bytes, before one was seen.
    pub(crate) row_bytes: usize,
    /// Columns whose BLOBs may be asked for ahead, with their trails.
    pub(crate) trails: Vec<(usize, TrailId)>,
}

#[derive(Debug)]
struct Batch {
    ticket: Ticket,
    /// Rows asked for.
    rows: usize,
    arrived: usize,
    /// Bytes that came, with the BLOBs in front of the rows.
    bytes: usize,
    is_complete: bool,
}

impl Batch {
    /// Rows that this batch is going to have, if servers end batches after so many.
    fn rows_expected(&self, rows_max: usize) -> usize {
        if self.is_complete { self.arrived } else { self.rows.min(rows_max).max(self.arrived) }
    }

    /// Those of them that are not here.
    fn rows_missing(&self, rows_max: usize) -> usize {
        self.rows_expected(rows_max) - self.arrived
    }
}

#[derive(Debug)]
struct Reading {
    source: Source,
    /// Oldest first.
    batches: VecDeque<Batch>,
    /// Rows of the oldest that have been given out.
    given: usize,
    window: Window,
    /// Of all that came: rows, and bytes with the BLOBs that came with them.
    seen: (u64, u64),
    /// What a batch may have, in bytes, before the server ends it: the most that was seen.
    batch_bytes: usize,
    /// Firebird's servers see a cancel only while no other packet waits to be read, and a query that takes long before its
    /// first rows is what programs cancel: until those are here one fetch is under way.
    may_be_cancelled: bool,
    has_completed_one: bool,
    has_ended: bool,
}

impl Reading {
    fn row_bytes(&self) -> usize {
        let (rows, bytes) = self.seen;
        let average = bytes.checked_div(rows).and_then(|bytes| usize::try_from(bytes).ok());
        average.unwrap_or(self.source.row_bytes).max(1)
    }

    /// Rows after which the server is taken to end a batch. Rows that bring their BLOBs are longer than anybody could know
    /// when they were asked for, by hundreds of times.
    fn batch_rows_max(&self) -> usize {
        match self.seen.0 {
            0 => usize::MAX,
            _ => (self.batch_bytes / self.row_bytes()).max(FETCH_ROWS_MIN),
        }
    }

    /// Rows asked for and not given out, as far as the end of their batches is not known.
    fn rows_asked(&self) -> usize {
        self.batches
            .iter()
            .map(|batch| batch.rows_expected(usize::MAX))
            .sum::<usize>()
            .saturating_sub(self.given)
    }

    /// As [`Reading::rows_asked`], as the server is expected to end batches.
    fn rows_under_way(&self) -> usize {
        let most = self.batch_rows_max();
        self.batches.iter().map(|batch| batch.rows_expected(most)).sum::<usize>().saturating_sub(self.given)
    }

    /// Bytes that are here and not given out, or on their way.
    fn under_way(&self) -> usize {
        self.rows_under_way().saturating_mul(self.row_bytes())
    }

    /// Bytes on their way.
    fn in_flight(&self) -> usize {
        let most = self.batch_rows_max();
        let rows: usize = self.batches.iter().map(|batch| batch.rows_missing(most)).sum();
        rows.saturating_mul(self.row_bytes())
    }

    /// Whether the first fetch is to be the only one under way.
    fn is_first_alone(&self) -> bool {
        self.may_be_cancelled && !self.has_completed_one
    }

    /// Whether enough has been used to ask for more.
    fn is_hungry(&self, is_leaving: bool) -> bool {
        let half = |rows: u16| self.rows_asked() <= usize::from(rows) / 2;
        match self.source.fetching {
            _ if self.has_ended => false,
            _ if self.is_first_alone() && !self.batches.is_empty() => false,
            Fetching::OnDemand(_) => self.batches.is_empty(),
            Fetching::AtHalf(rows) => !is_leaving && half(rows),
            Fetching::Windows(_) if is_leaving => self.batches.len() <= FETCHES_MAX * 3 / 4,
            Fetching::Windows(_) => {
                self.batches.len() <= FETCHES_MAX / 2 && self.window.is_half_used(self.under_way())
            }
        }
    }

    /// Rows to ask for now, fetch by fetch. `is_held_up`: the reader waits for BLOBs of rows that it has, and the line is to
    /// be kept busy meanwhile, however much is here already.
    fn wanted(&mut self, pace: &Pace, most: usize, is_leaving: bool, is_held_up: bool) -> Vec<u16> {
        if !self.is_hungry(is_leaving) {
            return Vec::new();
        }
        match self.source.fetching {
            Fetching::OnDemand(rows) | Fetching::AtHalf(rows) => vec![rows],
            Fetching::Windows(rows_max) => {
                let under_way = self.under_way();
                // Where answers are longer than they were taken to be, windows double from what has come.
                self.window.grow(usize::try_from(self.seen.1 / 2).unwrap_or(usize::MAX).min(most));
                let mut room = self.window.room(under_way, pace, most, is_leaving);
                let (line, in_flight) = (pace.window(), self.in_flight());
                if is_held_up && in_flight < line / 2 {
                    room = room.max((line - in_flight).min(most.saturating_sub(under_way)));
                }
                let mut fetches = self.divide(room, usize::from(rows_max));
                if self.is_first_alone() {
                    fetches.truncate(1);
                }
                fetches
            }
        }
    }

    /// Fetches for so many bytes.
    fn divide(&self, bytes: usize, rows_max: usize) -> Vec<u16> {
        if bytes == 0 {
            return Vec::new();
        }
        let row_bytes = self.row_bytes();
        let rows = bytes.div_ceil(row_bytes);
        let per_fetch = (FETCH_BYTES / row_bytes).min(rows).min(rows_max).max(FETCH_ROWS_MIN);
        let fetches = rows.div_ceil(per_fetch).min(FETCHES_MAX - self.batches.len().min(FETCHES_MAX - 1));
        vec![u16::try_from(per_fetch).unwrap_or(u16::MAX); fetches]
    }
}

/// The cursors of one connection.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    readings: BTreeMap<ReadingId, Reading>,
    named: u64,
    /// What is going to be answered, in order.
    expected: VecDeque<(Ticket, ReadingId)>,
    may_be_cancelled: bool,
}

/// A fetch to be sent.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) reading: ReadingId,
    pub(super) rows: u16,
    pub(super) request: Request,
}

/// What came of an answer to a fetch.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The columns whose BLOBs may be asked for ahead.
    pub(super) trails: Vec<(usize, TrailId)>,
    /// Fetches whose answers are no longer of interest.
    pub(super) idle: Vec<Ticket>,
}

impl Readings {
    pub(super) fn begin(&mut self, source: Source) -> ReadingId {
        self.named += 1;
        let id = ReadingId(self.named);
        let (batches, window) = (VecDeque::new(), Window::default());
        let reading = Reading {
            source,
            batches,
            given: 0,
            window,
            seen: (0, 0),
            batch_bytes: FETCH_BYTES,
            may_be_cancelled: self.may_be_cancelled,
            has_completed_one: false,
            has_ended: false,
        };
        self.readings.insert(id, reading);
        id
    }

    /// From now on cursors begin so that a cancel finds them.
    pub(super) fn expect_cancels(&mut self) {
        self.may_be_cancelled = true;
    }

    /// From now on cursors begin as if nobody cancelled.
    pub(super) fn forget_cancels(&mut self) {
        self.may_be_cancelled = false;
    }

    /// Nobody reads it any more. Gives the fetches under way for it, and its trails.
    pub(super) fn end(&mut self, id: ReadingId) -> Progress {
        let Some(reading) = self.readings.remove(&id) else { return Progress::default() };
        let idle = reading.batches.iter().map(|batch| batch.ticket).collect();
        Progress { trails: reading.source.trails, idle }
    }

    /// The oldest fetch whose rows have not all been given out.
    pub(super) fn front(&self, id: ReadingId) -> Option<Ticket> {
        self.readings.get(&id)?.batches.front().map(|batch| batch.ticket)
    }

    /// So many rows have been given out. Whether it may be time to ask for more.
    pub(super) fn given(&mut self, id: ReadingId, rows: usize) -> bool {
        let Some(reading) = self.readings.get_mut(&id) else { return false };
        reading.given += rows;
        !matches!(reading.source.fetching, Fetching::OnDemand(_)) && reading.is_hungry(false)
    }

    /// The rows of the oldest fetch have all been given out.
    pub(super) fn next_batch(&mut self, id: ReadingId) {
        if let Some(reading) = self.readings.get_mut(&id) {
            reading.batches.pop_front();
            reading.given = 0;
        }
    }

    /// The fetches to be sent now. `only` is a cursor that somebody waits for: it is asked for more in any case if nothing
    /// is under way for it, the others are left alone. `is_read` tells whether the BLOBs of a column are being read.
    pub(super) fn wanted(
        &mut self,
        pace: &Pace,
        read_ahead_bytes: usize,
        is_leaving: bool,
        only: Option<ReadingId>,
        is_read: impl Fn(TrailId) -> bool,
    ) -> Vec<Wanted> {
        let mut under_way: usize = self.readings.values().map(Reading::under_way).sum();
        let mut wanted = Vec::new();
        for (id, reading) in &mut self.readings {
            let is_begun = !reading.batches.is_empty();
            if only.map_or(!is_begun, |only| only != *id) {
                continue;
            }
            let own = reading.under_way();
            let doubt = if reading.seen.0 == 0 { ROW_BYTES_DOUBT } else { 1 };
            let most = read_ahead_bytes.saturating_sub(under_way - own) / doubt;
            let is_held_up = is_leaving && reading.source.trails.iter().any(|(_, trail)| is_read(*trail));
            let mut fetches = reading.wanted(pace, most, is_leaving, is_held_up);
            if fetches.is_empty() && only.is_some() && !is_begun && !reading.has_ended {
                fetches = reading.divide(1, FETCH_ROWS_MIN);
            }
            for rows in fetches {
                // The first describes the rows; those behind it are of the same.
                let blr = std::mem::take(&mut reading.source.output.blr);
                let output = Output { blr, ..reading.source.output.clone() };
                under_way = under_way.saturating_add(usize::from(rows).saturating_mul(reading.row_bytes()));
                let fetch = Fetch { statement: reading.source.statement, output, count: rows };
                wanted.push(Wanted { reading: *id, rows, request: Request::Fetch(fetch) });
            }
        }
        wanted
    }

    /// Bytes of rows on their way, of all cursors.
    pub(super) fn in_flight(&self) -> usize {
        self.readings.values().map(Reading::in_flight).sum()
    }

    /// The transaction is going to end, and its cursors with it: nothing more is asked ahead.
    pub(super) fn stop(&mut self, transaction: Handle) {
        for reading in self.readings.values_mut().filter(|reading| reading.source.transaction == transaction)
        {
            if let Fetching::AtHalf(rows) | Fetching::Windows(rows) = reading.source.fetching {
                reading.source.fetching = Fetching::OnDemand(rows);
            }
        }
    }

    /// A fetch was sent.
    pub(super) fn asked(&mut self, id: ReadingId, ticket: Ticket, rows: u16) {
        if let Some(reading) = self.readings.get_mut(&id) {
            reading.batches.push_back(Batch {
                ticket,
                rows: usize::from(rows),
                arrived: 0,
                bytes: 0,
                is_complete: false,
            });
            self.expected.push_back((ticket, id));
        }
    }

    fn of(&mut self, ticket: Ticket) -> Option<&mut Reading> {
        while self.expected.front().is_some_and(|(expected, _)| *expected < ticket) {
            self.expected.pop_front();
        }
        let (_, id) = self.expected.front().filter(|(expected, _)| *expected == ticket)?;
        self.readings.get_mut(id)
    }

    /// So many rows have come, or a BLOB in front of one. Gives the trails that the rows go on with.
    pub(super) fn arrived(&mut self, ticket: Ticket, rows: usize, bytes: usize) -> &[(usize, TrailId)] {
        let Some(reading) = self.of(ticket) else { return &[] };
        reading.seen.0 += rows as u64;
        reading.seen.1 += bytes as u64;
        if let Some(batch) = reading.batches.iter_mut().find(|batch| batch.ticket == ticket) {
            batch.arrived += rows;
            batch.bytes += bytes;
        }
        &reading.source.trails
    }

    /// A batch has come to its end; with it, if `is_over`, the cursor.
    pub(super) fn completed(&mut self, ticket: Ticket, is_over: bool) -> Progress {
        let Some(reading) = self.of(ticket) else { return Progress::default() };
        reading.has_completed_one = true;
        if let Some(batch) = reading.batches.iter_mut().find(|batch| batch.ticket == ticket) {
            batch.is_complete = true;
            reading.batch_bytes = reading.batch_bytes.max(batch.bytes);
        }
        if !is_over || reading.has_ended {
            return Progress::default();
        }
        reading.has_ended = true;
        let behind = reading.batches.iter().skip_while(|batch| batch.ticket <= ticket);
        let idle: Vec<_> = behind.map(|batch| batch.ticket).collect();
        reading.batches.truncate(reading.batches.len() - idle.len());
        Progress { trails: reading.source.trails.clone(), idle }
    }
}
