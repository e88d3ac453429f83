//! A driver on a virtual clock: real operations against a real server over a link that exists on paper only.
//!
//! It tells exactly what a program costs over a distance, the same in each run and on any machine, without waiting for
//! it: round trips to assert in tests, and times for links of any length.
//!
//! ```no_run
//! use std::time::Duration;
//! use farbird_client::virtual_clock::{VirtualClock, VirtualLink};
//! use farbird_client::{ConnectOptions, TransactionOptions};
//!
//! # fn main() -> farbird_client::Result<()> {
//! let link = VirtualLink::of_round_trip(Duration::from_millis(200));
//! let options = ConnectOptions::new("SYSDBA", "masterkey");
//! let (mut clock, connection) = VirtualClock::attach("localhost:/tmp/app.fdb", &options, link)?;
//! let (transaction, cost) = clock.cost(connection.begin(&TransactionOptions::default()));
//! let (statement, more) = clock.cost(connection.prepare(&transaction?, "select 1 from rdb$database"));
//! assert_eq!((cost.round_trips, more.round_trips), (0, 1));
//! # statement.map(drop)
//! # }
//! ```
//!
//! # What is counted
//! The program takes no time (but [`VirtualClock::pass`]) and neither does the server. Requests leave together when the
//! driver lets them, at the time of the program; an answer is there one round trip after its request left, and later by
//! what the bandwidth adds for it and all before it. The time of the program moves to that when it waits for an answer,
//! and not otherwise: what was asked ahead and is here by then costs nothing. That is the arithmetic of flights; what TCP
//! adds (a round trip to connect, slow start) is left to emulated links.
//!
//! # Place
//! Beside the blocking driver, with feature `testing`: tests of this crate use it, and so may those of any program.

use std::collections::VecDeque;
use std::future::Future;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use farbird_types::{Result, isc};

use crate::connection::Connection;
use crate::core::conversation::Ticket;
use crate::core::{Driven, Shared};
use crate::error;
use crate::options::{ConnectOptions, Location};

/// Bytes of one read.
const READ_BYTES: usize = 128 * 1024;
/// How long a write waits before we look whether the server waits for us to read.
const WRITE_PATIENCE: Duration = Duration::from_millis(50);
/// How long a server may take for an answer before it is given up, in real time.
const ANSWER_PATIENCE: Duration = Duration::from_secs(120);

/// A link on paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VirtualLink {
    /// From a request's departure to the arrival of an answer of no length. Not zero.
    pub round_trip: Duration,
    /// Bits a second in each direction; `None` is without limit, and all times are then whole round trips.
    pub bits_per_second: Option<u64>,
}

impl VirtualLink {
    /// A link without limits.
    pub fn of_round_trip(round_trip: Duration) -> VirtualLink {
        VirtualLink { round_trip, bits_per_second: None }
    }

    fn line_time(self, bytes: usize) -> Duration {
        self.bits_per_second.map_or(Duration::ZERO, |rate| {
            let nanoseconds = bytes as u128 * 8 * 1_000_000_000 / u128::from(rate.max(1));
            Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
        })
    }
}

/// What an operation has cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Time on the virtual clock.
    pub time: Duration,
    /// The whole round trips in that: over a link without a limit there is nothing else, unless the program let time pass
    /// in between.
    pub round_trips: u64,
    /// How many flights left in the meantime, waited for or not.
    pub flights: u64,
}

/// Moves the bytes of one connection, and tells the time.
#[derive(Debug)]
pub struct VirtualClock {
    shared: Shared,
    driven: Driven,
    stream: TcpStream,
    /// The server, for messages.
    peer: String,
    link: VirtualLink,
    /// The program's time since the connection was there.
    now: Duration,
    /// When the lines there and back have carried all that was given to them.
    up_free: Duration,
    down_free: Duration,
    /// Flights with unanswered requests: the last request of each, and when it had left.
    flights: VecDeque<(Ticket, Duration)>,
    flights_left: u64,
    out: Vec<u8>,
    buffer: Vec<u8>,
}

impl VirtualClock {
    /// Connects to a database's server and attaches the database: `host/port:database`. The clock stands at zero when
    /// TCP's connection is there; attaching moves it.
    ///
    /// # Round trips
    /// Four, or two if the line is not encrypted; one more for each authentication plugin that the server does not know.
    ///
    /// # Errors
    /// As [`Connection::attach_over`]; `isc_network_error` if nobody answers.
    pub fn attach(
        database: &str,
        options: &ConnectOptions,
        link: VirtualLink,
    ) -> Result<(VirtualClock, Connection)> {
        let Location { host, port, database } = Location::parse(database)?;
        let mut clock = VirtualClock::connect(&host, port, options, link)?;
        let shared = clock.shared.clone();
        let connection = clock.run(Connection::attach_over(&shared, &database, options))?;
        Ok((clock, connection))
    }

    /// Connects to a server, for operations that begin with less than [`Connection::attach_over`].
    ///
    /// # Errors
    /// `isc_network_error` if nobody answers.
    pub fn connect(
        host: &str,
        port: u16,
        options: &ConnectOptions,
        link: VirtualLink,
    ) -> Result<VirtualClock> {
        let shared = Shared::new(options.tuning.clone());
        let open = || {
            let stream = TcpStream::connect((host, port))?;
            stream.set_nodelay(true)?;
            stream.set_write_timeout(Some(WRITE_PATIENCE))?;
            stream.set_read_timeout(Some(ANSWER_PATIENCE))?;
            Ok(stream)
        };
        let stream = open().map_err(|error| error::network(host, isc::NET_CONNECT_ERR, &error))?;
        Ok(VirtualClock {
            driven: shared.driven(),
            shared,
            stream,
            peer: host.to_owned(),
            link,
            now: Duration::ZERO,
            up_free: Duration::ZERO,
            down_free: Duration::ZERO,
            flights: VecDeque::new(),
            flights_left: 0,
            out: Vec::new(),
            buffer: vec![0; READ_BYTES],
        })
    }

    /// The connection whose bytes are moved.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The program's time.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// The program does something else for so long.
    pub fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    /// Runs an operation of this connection to its end, and tells what it cost.
    pub fn cost<T>(&mut self, operation: impl Future<Output = T>) -> (T, Cost) {
        let (start, flights) = (self.now, self.flights_left);
        let result = self.run(operation);
        let time = self.now - start;
        let trips = time.as_nanos() / self.link.round_trip.as_nanos().max(1);
        let round_trips = u64::try_from(trips).unwrap_or(u64::MAX);
        (result, Cost { time, round_trips, flights: self.flights_left - flights })
    }

    /// Runs an operation of this connection to its end.
    pub fn run<T>(&mut self, operation: impl Future<Output = T>) -> T {
        let mut operation = pin!(operation);
        let mut context = Context::from_waker(Waker::noop());
        loop {
            self.driven.lock().set_now(self.now);
            let state = operation.as_mut().poll(&mut context);
            // What is asked leaves at the time of the asking, before any answer moves the clock.
            let moved = self.depart().and_then(|()| match state {
                Poll::Ready(_) => self.make_room(),
                Poll::Pending => self.arrive(),
            });
            if let Err(error) = moved {
                self.driven.lock().fail(error);
            }
            if let Poll::Ready(result) = state {
                return result;
            }
        }
    }

    /// As other drivers do between operations: takes answers when too many are under way.
    fn make_room(&mut self) -> Result<()> {
        while self.driven.lock().is_crowded() {
            self.driven.lock().relieve();
            self.depart()?;
            self.wait_for_answer()?;
        }
        Ok(())
    }

    /// The next answer, if somebody waits for one: the operation may go on without, when there was no room for requests.
    fn arrive(&mut self) -> Result<()> {
        if self.driven.lock().somebody_waits() { self.wait_for_answer() } else { Ok(()) }
    }

    fn wait_for_answer(&mut self) -> Result<()> {
        while !self.deliver()? {
            let count = match self.stream.read(&mut self.buffer) {
                Ok(0) => return Err(error::closed(&self.peer)),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error::network(&self.peer, isc::NET_READ_ERR, &error)),
            };
            self.feed(count)?;
        }
        Ok(())
    }

    /// Delivers the next answer at the time at which it is there; false if the server's bytes are not here yet.
    fn deliver(&mut self) -> Result<bool> {
        let mut core = self.driven.lock();
        let Some(ticket) = core.oldest_question() else { return Ok(false) };
        while self.flights.front().is_some_and(|(last, _)| *last < ticket) {
            self.flights.pop_front();
        }
        let left = self.flights.front().map_or(self.now, |(_, left)| *left);
        let starts = self.down_free.max(left + self.link.round_trip);
        core.set_now(self.now.max(starts));
        let Some(delivered) = core.deliver_one()? else { return Ok(false) };
        self.down_free = starts + self.link.line_time(delivered.bytes);
        self.now = self.now.max(self.down_free);
        core.set_now(self.now);
        Ok(true)
    }

    /// What wants to leave does.
    fn depart(&mut self) -> Result<()> {
        let mut core = self.driven.lock();
        core.set_now(self.now);
        let Some(flight) = core.take_output(&mut self.out)? else { return Ok(()) };
        drop(core);
        self.up_free = self.up_free.max(self.now) + self.link.line_time(self.out.len());
        self.flights.push_back((flight.last, self.up_free));
        self.flights_left += 1;
        let mut written = 0;
        while let Some(rest) = self.out.get(written..).filter(|rest| !rest.is_empty()) {
            match self.stream.write(rest) {
                Ok(0) => return Err(error::closed(&self.peer)),
                Ok(count) => {
                    self.driven.lock().sent(count);
                    written += count;
                }
                // Neither side may block the other: while the server does not take our bytes we take its.
                Err(error) if is_timeout(&error) => self.read_if_any()?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error::network(&self.peer, isc::NET_WRITE_ERR, &error)),
            }
        }
        self.out.clear();
        Ok(())
    }

    fn read_if_any(&mut self) -> Result<()> {
        let lost = |peer: &str, error: &std::io::Error| error::network(peer, isc::NET_READ_ERR, error);
        self.stream.set_read_timeout(Some(WRITE_PATIENCE)).map_err(|error| lost(&self.peer, &error))?;
        let read = self.stream.read(&mut self.buffer);
        self.stream.set_read_timeout(Some(ANSWER_PATIENCE)).map_err(|error| lost(&self.peer, &error))?;
        match read {
            Ok(0) => Err(error::closed(&self.peer)),
            Ok(count) => self.feed(count),
            Err(error) if is_timeout(&error) || error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(lost(&self.peer, &error)),
        }
    }

    fn feed(&mut self, count: usize) -> Result<()> {
        self.driven.lock().feed(self.buffer.get_mut(..count).unwrap_or_default())
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
