//! Carries the rows of a file to the database: one thread reads and converts while the other sends.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use farbird_types::{CharacterSet, Error};
use indicatif::ProgressBar;

use super::convert::{self, Target};
use super::record::{Record, RecordReader};
use crate::session::{Failure, Load, LoadRow};

/// Rows that are handed from thread to thread at a time, and how many such lots may wait.
const LOT_ROWS: usize = 1_024;
const LOTS_WAITING: usize = 8;
/// Refusals that are told one by one.
const REFUSALS_TOLD: u64 = 20;

/// A row on its way, or why there is none.
struct Read {
    line: u64,
    row: Result<LoadRow, String>,
    /// The record as it was written, if refused ones are kept.
    raw: Vec<u8>,
}

/// What comes from the reading thread.
type Lot = Result<Vec<Read>, anyhow::Error>;

/// How records become rows.
pub(super) struct Reading {
    pub(super) reader: Box<dyn RecordReader>,
    pub(super) targets: Vec<Target>,
    /// How many fields a record must have; any number if none.
    pub(super) fields: Option<usize>,
    pub(super) encoding: CharacterSet,
    /// Records to pass over.
    pub(super) skip: u64,
    pub(super) keeps_raw: bool,
}

impl Reading {
    /// Reads in a thread of its own.
    fn start(self) -> Receiver<Lot> {
        let (sender, receiver) = sync_channel(LOTS_WAITING);
        std::thread::spawn(move || {
            let failed = sender.clone();
            if let Err(error) = self.read(&sender) {
                // If nobody listens any more the import has ended already.
                drop(failed.send(Err(error)));
            }
        });
        receiver
    }

    fn read(mut self, sender: &SyncSender<Lot>) -> anyhow::Result<()> {
        let mut record = Record { keeps_raw: self.keeps_raw, ..Record::default() };
        for _ in 0..self.skip {
            if !self.reader.next_record(&mut record)? {
                return Ok(());
            }
        }
        let mut lot = Vec::with_capacity(LOT_ROWS);
        loop {
            let read = self.reader.next_record(&mut record);
            if let Ok(true) = read {
                let row = convert::row(&record, &self.targets, self.fields, self.encoding);
                let raw = if self.keeps_raw { record.raw.clone() } else { Vec::new() };
                lot.push(Read { line: record.line, row, raw });
            }
            if lot.len() == LOT_ROWS || !matches!(read, Ok(true)) {
                let full = std::mem::replace(&mut lot, Vec::with_capacity(LOT_ROWS));
                if sender.send(Ok(full)).is_err() {
                    return Ok(());
                }
            }
            if !read? {
                return Ok(());
            }
        }
    }
}

/// What becomes of refused rows.
pub(super) enum OnError {
    /// The first one ends the import.
    Stop,
    /// They are left out, and written to a file if there is one.
    Skip(Option<Box<dyn Write>>),
}

/// A row that was handed to the database and of which nothing is known yet.
struct Pending {
    line: u64,
    /// Its place among the records, from 1.
    record: u64,
    raw: Vec<u8>,
}

/// The rows of a file as a source for the database.
pub(super) struct Feed {
    lots: Receiver<Lot>,
    lot: std::vec::IntoIter<Read>,
    on_error: OnError,
    bar: ProgressBar,
    /// Rows handed over of which nothing is known yet, and the number of the first of them.
    pending: VecDeque<Pending>,
    first_pending: u64,
    /// Records taken so far, those passed over at the beginning included.
    records: u64,
    /// What the summary tells.
    pub(super) refused: u64,
    /// Rows that are permanent.
    pub(super) committed: u64,
    /// Records up to the one that was committed last.
    pub(super) committed_records: u64,
    /// The same of the one of which something is known.
    settled_records: u64,
    refused_by_database: u64,
    /// Why the import ended, if a row did it.
    pub(super) stopped: Option<String>,
}

impl Feed {
    pub(super) fn new(reading: Reading, on_error: OnError, bar: ProgressBar) -> Feed {
        let records = reading.skip;
        Feed {
            lots: reading.start(),
            lot: Vec::new().into_iter(),
            on_error,
            bar,
            pending: VecDeque::new(),
            first_pending: 0,
            records,
            refused: 0,
            committed: 0,
            committed_records: records,
            settled_records: records,
            refused_by_database: 0,
            stopped: None,
        }
    }

    fn next(&mut self) -> Result<Option<Read>, Failure> {
        loop {
            if let Some(read) = self.lot.next() {
                self.records += 1;
                return Ok(Some(read));
            }
            match self.lots.recv() {
                Ok(Ok(lot)) => {
                    self.bar.set_message(format!("{} rows", self.records));
                    self.lot = lot.into_iter();
                }
                Ok(Err(error)) => {
                    self.stopped = Some(format!("{error:#}"));
                    return Err(Failure::Enough);
                }
                // The reader has come to the end.
                Err(_) => return Ok(None),
            }
        }
    }

    /// A row that is not to be had: ends the import, or is left out.
    fn refuse(&mut self, line: u64, raw: &[u8], words: &str) -> Result<(), Failure> {
        let told = format!("line {line}: {words}");
        match &mut self.on_error {
            OnError::Stop => {
                self.stopped = Some(told);
                Err(Failure::Enough)
            }
            OnError::Skip(file) => {
                self.refused += 1;
                if self.refused <= REFUSALS_TOLD {
                    self.bar.suspend(|| eprintln!("{told}"));
                } else if self.refused == REFUSALS_TOLD + 1 {
                    self.bar.suspend(|| eprintln!("... further refusals are only counted"));
                }
                if let Some(file) = file {
                    file.write_all(raw)?;
                    file.write_all(b"\n")?;
                }
                Ok(())
            }
        }
    }

    /// Ends the file of refused rows.
    pub(super) fn flush(&mut self) -> std::io::Result<()> {
        match &mut self.on_error {
            OnError::Skip(Some(file)) => file.flush(),
            _ => Ok(()),
        }
    }
}

impl Load for Feed {
    fn next_row(&mut self, row: &mut LoadRow) -> Result<bool, Failure> {
        while let Some(read) = self.next()? {
            match read.row {
                Ok(next) => {
                    *row = next;
                    self.pending.push_back(Pending { line: read.line, record: self.records, raw: read.raw });
                    return Ok(true);
                }
                Err(words) => self.refuse(read.line, &read.raw, &words)?,
            }
        }
        Ok(false)
    }

    fn refused(&mut self, number: u64, error: Error) -> Result<(), Failure> {
        let index = usize::try_from(number - self.first_pending).unwrap_or(usize::MAX);
        let words = error.message().replace("\n-", ": ");
        let (line, raw) = match self.pending.get_mut(index) {
            Some(pending) => (pending.line, std::mem::take(&mut pending.raw)),
            None => (0, Vec::new()),
        };
        self.refused_by_database += 1;
        self.refuse(line, &raw, &words)
    }

    fn settled(&mut self, rows: u64) {
        while self.first_pending < rows
            && let Some(pending) = self.pending.pop_front()
        {
            self.first_pending += 1;
            self.settled_records = pending.record;
        }
    }

    fn committed(&mut self, rows: u64) {
        self.settled(rows);
        self.committed = rows - self.refused_by_database;
        self.committed_records = self.settled_records;
    }
}
