//! The programs: plain ones, that do one thing after the other, as a driver of their generation lets them.

use std::time::{Duration, Instant};

use farbird_client::{Isolation, Statement, TransactionOptions, Value};

use super::super::session::Session;
use super::super::{FlightRecord, Observer, Preset, Server, Settings, blobs::BlobQuery, go_on};
use super::tables::fetch_plan;
use super::{Asked, Sizes, Work};
use crate::link::LinkOptions;
use crate::{Failure, Result};

/// What a program has done.
#[derive(Debug, Clone)]
pub struct Done {
    /// How long it took: see [`Work`] for what that covers.
    pub elapsed: Duration,
    /// Which part of its work it did in that time: 1, unless patience ended it.
    pub share: f64,
    /// How often it waited for an answer.
    pub waits: u64,
    /// Rows read or written.
    pub rows: u64,
    /// Bytes of BLOBs read.
    pub content_bytes: u64,
    /// What it asked.
    pub asked: Vec<Asked>,
}

/// Runs a program at `server`: the server itself, one end of a link, or an edge. `started` is called when its time begins. A loop
/// that takes longer than `patience` is left.
///
/// # Errors
/// What the server says; [`Failure::Interrupted`].
pub fn run(
    server: &Server,
    work: Work,
    preset: Preset,
    sizes: &Sizes,
    patience: Duration,
    observer: &mut dyn Observer,
    started: &mut dyn FnMut(),
) -> Result<Done> {
    let settings = Settings { compress: work.is_compressed(), ..Settings::new(preset) };
    let connects = matches!(work, Work::Nested | Work::Connect);
    if connects {
        started();
    }
    let connecting = Instant::now();
    let mut session = Session::attach(server, &LinkOptions::default(), &settings)?;
    session.attached()?;
    let before = session.counters();
    let mut program = Program {
        session,
        sizes,
        observer,
        deadline: connecting + patience,
        share: 1.0,
        rows: 0,
        content_bytes: 0,
    };
    let begin = if connects {
        connecting
    } else {
        program.prologue(work)?;
        started();
        let begin = Instant::now();
        program.deadline = begin + patience;
        begin
    };
    match work {
        Work::Blobs => program.blobs()?,
        Work::Nested => program.nested()?,
        Work::Connect => program.first_row()?,
        Work::Customers => program.customers()?,
        Work::Commits => program.commits()?,
        Work::Prepares => program.prepares()?,
        Work::Texts => program.texts()?,
        Work::Transactions => program.transactions()?,
        Work::Points => program.points()?,
        Work::Fetch => program.fetch()?,
    }
    let elapsed = begin.elapsed();
    let Program { session, share, rows, content_bytes, .. } = program;
    let counters = session.counters();
    let waits = counters.round_trips - if connects { 0 } else { before.round_trips };
    let asked = asked_since(session.close_and_tell()?, begin - connecting);
    // Taking leave is part of that program.
    let elapsed = if work == Work::Nested { begin.elapsed() } else { elapsed };
    Ok(Done { elapsed, share, waits, rows, content_bytes, asked })
}

/// What left since then, by the time from there on.
fn asked_since(flights: Vec<FlightRecord>, begin: Duration) -> Vec<Asked> {
    let since = flights.into_iter().filter_map(|flight| {
        let requests = flight.requests.into_iter().map(|(name, count)| (name, u64::from(count)));
        Some(Asked { at: flight.departure.checked_sub(begin)?, requests: requests.collect() })
    });
    since.collect()
}

struct Program<'p> {
    session: Session,
    sizes: &'p Sizes,
    observer: &'p mut dyn Observer,
    /// When patience ends.
    deadline: Instant,
    share: f64,
    rows: u64,
    content_bytes: u64,
}

impl Program<'_> {
    /// What is done before the time begins.
    fn prologue(&mut self, work: Work) -> Result<()> {
        match work {
            // The rows of an earlier run are in the way.
            Work::Commits | Work::Texts => {
                self.session.begin()?;
                let delete = self.session.prepare("delete from far_written")?;
                self.session.execute(&delete, &[])?;
                drop(delete);
                self.session.commit()
            }
            _ => Ok(()),
        }
    }

    fn blobs(&mut self) -> Result<()> {
        self.session.begin()?;
        let query = self.session.prepare(&BlobQuery::AllBlobs.sql(self.sizes.blobs))?;
        for row in self.session.open(&query, &[])? {
            self.rows += 1;
            for value in row?.to_values() {
                if let Value::Blob(id) = value {
                    self.content_bytes += self.session.read_blob(id)?;
                }
            }
            if self.has_enough(self.rows, self.sizes.blobs)? {
                return Ok(());
            }
        }
        self.check(self.sizes.blobs)
    }

    fn nested(&mut self) -> Result<()> {
        self.session.begin()?;
        let most = self.sizes.outer;
        let outer = self
            .session
            .prepare(&format!("select id, name from far_outer where id <= {most} order by id"))?;
        let one = self.session.prepare("select amount from far_one where outer_id = ?")?;
        let two = self.session.prepare("select amount from far_two where outer_id = ?")?;
        for row in self.session.open(&outer, &[])? {
            let key = row?.to_values().into_iter().next().unwrap_or(Value::Null);
            for inner in [&one, &two] {
                self.read(inner, std::slice::from_ref(&key))?;
            }
            // Three rows for each outer one.
            if self.has_enough(self.rows / 3, most)? {
                return Ok(());
            }
        }
        self.check(3 * most)?;
        drop((outer, one, two));
        self.session.commit()
    }

    fn first_row(&mut self) -> Result<()> {
        self.session.begin()?;
        let query = self.session.prepare("select rdb$relation_id from rdb$database")?;
        self.read(&query, &[])?;
        self.check(1)
    }

    fn customers(&mut self) -> Result<()> {
        self.session.begin()?;
        let sql = fetch_plan(&[], self.sizes).sql(super::super::fetch::FetchTable::Full);
        let query = self.session.prepare(&sql)?;
        self.read(&query, &[])?;
        self.check(self.sizes.customers)
    }

    fn commits(&mut self) -> Result<()> {
        let mut insert = None;
        for key in 1..=self.sizes.loops {
            self.session.begin()?;
            let insert = match &insert {
                Some(insert) => insert,
                None => insert.insert(self.session.prepare("insert into far_written values (?, 'written')")?),
            };
            self.session.execute(insert, &[number(key)])?;
            self.session.commit()?;
            self.rows += 1;
            if self.has_enough(key, self.sizes.loops)? {
                break;
            }
        }
        Ok(())
    }

    fn prepares(&mut self) -> Result<()> {
        self.session.begin()?;
        for key in 1..=self.sizes.loops {
            let query = self.session.prepare("select name from far_outer where id = ?")?;
            self.read(&query, &[number(key)])?;
            if self.has_enough(key, self.sizes.loops)? {
                return Ok(());
            }
        }
        self.check(self.sizes.loops)
    }

    fn texts(&mut self) -> Result<()> {
        self.session.begin()?;
        for key in 1..=self.sizes.loops {
            let insert =
                self.session.prepare(&format!("insert into far_written values ({key}, 'written')"))?;
            self.session.execute(&insert, &[])?;
            let query = self.session.prepare(&format!("select name from far_outer where id = {key}"))?;
            self.read(&query, &[])?;
            if self.has_enough(key, self.sizes.loops)? {
                return self.session.commit();
            }
        }
        self.check(self.sizes.loops)?;
        self.session.commit()
    }

    fn transactions(&mut self) -> Result<()> {
        // As drivers begin them that commit by themselves.
        let options =
            TransactionOptions { isolation: Isolation::ReadCommitted, ..TransactionOptions::default() };
        let mut query = None;
        for key in 1..=self.sizes.loops {
            self.session.begin_with(&options)?;
            let query = match &query {
                Some(query) => query,
                None => query.insert(self.session.prepare("select name from far_outer where id = ?")?),
            };
            self.read(query, &[number(key)])?;
            self.session.commit()?;
            if self.has_enough(key, self.sizes.loops)? {
                return Ok(());
            }
        }
        self.check(self.sizes.loops)
    }

    fn points(&mut self) -> Result<()> {
        self.session.begin()?;
        let query = self.session.prepare("select name from far_outer where id = ?")?;
        let keys = self.sizes.points;
        for index in 0..keys {
            // Not one after the other, which an edge would foresee.
            self.read(&query, &[number(1 + index * 7_919 % keys)])?;
            go_on(self.observer)?;
        }
        self.check(keys)
    }

    fn fetch(&mut self) -> Result<()> {
        self.session.begin()?;
        let sql = fetch_plan(&[], self.sizes).sql(super::super::fetch::FetchTable::Narrow);
        let query = self.session.prepare(&sql)?;
        self.read(&query, &[])?;
        self.check(self.sizes.rows)
    }

    /// Reads all rows.
    fn read(&mut self, statement: &Statement, parameters: &[Value]) -> Result<()> {
        for row in self.session.open(statement, parameters)? {
            row?;
            self.rows += 1;
        }
        Ok(())
    }

    /// Whether the loop is to be left, after so many of its iterations.
    fn has_enough(&mut self, done: u64, of: u64) -> Result<bool> {
        go_on(self.observer)?;
        if done >= of || Instant::now() < self.deadline {
            return Ok(false);
        }
        self.share = done as f64 / of as f64;
        Ok(true)
    }

    fn check(&self, rows: u64) -> Result<()> {
        match self.rows == rows {
            true => Ok(()),
            false => Err(Failure::Other(format!("{} rows came instead of {rows}", self.rows))),
        }
    }
}

fn number(key: u64) -> Value {
    Value::integer(i64::try_from(key).unwrap_or(i64::MAX))
}
