//! `nested`: a query with two inner queries for each of its rows, on system tables that every database has.
//!
//! The program is that of the article: it prepares three statements, and for each row of the first it opens the other two,
//! one after the other, and reads them. With a client that waits for every answer that is six trips a row; what a client
//! can put off or ask together takes them away. The one difference: this project's client is asked to prepare all three at
//! once, while its attach is on its way, which the older ones have no call for.

use std::time::{Duration, Instant};

use farbird_client::Value;
use serde::Serialize;

use super::session::Session;
use super::{FlightRecord, Observer, Preset, Server, Settings, WireFigure, go_on, milliseconds};
use crate::Result;
use crate::link::LinkOptions;

const OUTER: &str =
    "select rdb$relation_name from rdb$relations where rdb$system_flag = 1 order by rdb$relation_name";
const FIELDS: &str =
    "select rdb$field_name from rdb$relation_fields where rdb$relation_name = ? order by rdb$field_position";
const TRIGGERS: &str =
    "select rdb$trigger_name from rdb$triggers where rdb$relation_name = ? order by rdb$trigger_sequence";

/// A total that the article published, for 200 ms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PublishedTotal {
    /// Of which client.
    pub client: &'static str,
    /// Seconds.
    pub seconds: f64,
}

/// What the article published: Firebird 2.5's development version in 2009, 200 ms a round trip.
pub const PUBLISHED: [PublishedTotal; 3] = [
    PublishedTotal { client: "2.0 client", seconds: 55.5 },
    PublishedTotal { client: "2.5 client", seconds: 18.5 },
    PublishedTotal { client: "2.5 client without the second query's trips", seconds: 10.1 },
];

/// What came of a run. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NestedFigure {
    /// The server.
    pub server: String,
    /// The client generation.
    pub preset: Preset,
    /// Time of a round trip of the emulated link.
    pub round_trip_ms: f64,
    /// From nothing to an attached database.
    pub connecting_ms: f64,
    /// Starting the transaction.
    pub starting_ms: f64,
    /// Preparing the three statements.
    pub preparing_ms: f64,
    /// Executing them: the outer one once, the inner ones for each of its rows.
    pub executing_ms: f64,
    /// Fetching all rows of all cursors.
    pub fetching_ms: f64,
    /// Committing and taking leave.
    pub leaving_ms: f64,
    /// All of it but the leave, as the article counts.
    pub total_ms: f64,
    /// Rows of the outer query.
    pub outer_rows: u64,
    /// Rows of the inner queries.
    pub inner_rows: u64,
    /// What went over the wire, from the first byte to the last row.
    pub wire: WireFigure,
    /// The first flights, from connecting on.
    #[serde(skip)]
    pub flights: Vec<FlightRecord>,
}

/// Runs the program once.
///
/// # Errors
/// What the server says; [`crate::Failure::Interrupted`].
pub fn measure(
    server: &Server,
    link: &LinkOptions,
    settings: &Settings,
    observer: &mut dyn Observer,
) -> Result<NestedFigure> {
    let start = Instant::now();
    let mut clock = Clock { last: start };
    let mut session = Session::attach(server, link, settings)?;
    let connecting = clock.lap();
    observer.say(&step("connecting", connecting));
    session.begin()?;
    let starting = clock.lap();
    observer.say(&step("starting the transaction", starting));
    let prepared = prepare(&session, settings.preset, &mut clock, observer)?;
    session.attached()?;
    let preparing = prepared.time + clock.lap();
    let mut times = Times::default();
    let mut counts = (0, 0);
    if let [outer, fields, triggers] = prepared.statements.as_slice() {
        let outer_rows = session.open(outer, &[])?;
        times.executing += clock.lap();
        observer.say(&step("executing statement 1", times.executing));
        for row in outer_rows {
            let row = row?.to_values();
            times.fetching += clock.lap();
            go_on(observer)?;
            counts.0 += 1;
            let name = row.into_iter().next().unwrap_or(Value::Null);
            counts.1 += inner(&session, [fields, triggers], &name, &mut times, &mut clock)?;
            observer.advance(1);
        }
        times.fetching += clock.lap();
        observer.say(&step("executing in all", times.executing));
        observer.say(&step("fetching in all", times.fetching));
    }
    let total = start.elapsed();
    observer.say(&step("total", total));
    let wire = WireFigure::between(&Default::default(), &session.counters());
    let flights = session.flights();
    drop(prepared);
    session.close()?;
    Ok(NestedFigure {
        server: server.name.clone(),
        preset: settings.preset,
        round_trip_ms: milliseconds(link.round_trip()),
        connecting_ms: milliseconds(connecting),
        starting_ms: milliseconds(starting),
        preparing_ms: milliseconds(preparing),
        executing_ms: milliseconds(times.executing),
        fetching_ms: milliseconds(times.fetching),
        leaving_ms: milliseconds(clock.lap()),
        total_ms: milliseconds(total),
        outer_rows: counts.0,
        inner_rows: counts.1,
        wire,
        flights,
    })
}

struct Prepared {
    statements: Vec<farbird_client::Statement>,
    time: Duration,
}

/// Prepares the three statements: one after the other, or all at once by a client that can.
fn prepare(
    session: &Session,
    preset: Preset,
    clock: &mut Clock,
    observer: &mut dyn Observer,
) -> Result<Prepared> {
    let texts = [OUTER, FIELDS, TRIGGERS];
    if preset == Preset::Farbird {
        let statements = session.prepare_all(&texts)?;
        let time = clock.lap();
        observer.say(&step("preparing all statements", time));
        return Ok(Prepared { statements, time });
    }
    let mut prepared = Prepared { statements: Vec::with_capacity(texts.len()), time: Duration::ZERO };
    for (number, sql) in texts.into_iter().enumerate() {
        prepared.statements.push(session.prepare(sql)?);
        let lap = clock.lap();
        observer.say(&step(&format!("preparing statement {}", number + 1), lap));
        prepared.time += lap;
    }
    Ok(prepared)
}

/// Opens both inner queries for a name, reads them, and gives the number of their rows.
fn inner(
    session: &Session,
    statements: [&farbird_client::Statement; 2],
    name: &Value,
    times: &mut Times,
    clock: &mut Clock,
) -> Result<u64> {
    let mut rows = 0;
    let mut cursors = Vec::with_capacity(2);
    for statement in statements {
        cursors.push(session.open(statement, std::slice::from_ref(name))?);
    }
    times.executing += clock.lap();
    for cursor in cursors {
        for row in cursor {
            row?;
            rows += 1;
        }
    }
    times.fetching += clock.lap();
    Ok(rows)
}

#[derive(Debug, Default)]
struct Times {
    executing: Duration,
    fetching: Duration,
}

/// Time since the last look.
struct Clock {
    last: Instant,
}

impl Clock {
    fn lap(&mut self) -> Duration {
        let now = Instant::now();
        now - std::mem::replace(&mut self.last, now)
    }
}

fn step(what: &str, time: Duration) -> String {
    format!("  {what:<28} {:>10.1} ms", milliseconds(time))
}
