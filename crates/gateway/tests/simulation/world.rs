//! A world without time: programs, an edge, a link on paper, an origin, and a real server.
//!
//! Each program is a connection of `farbird-client` over a transport that ends in [`edge::Program`]. Whenever it waits for bytes, the world
//! goes on until there are some: messages arrive a one-way delay after they left (and later by what the bandwidth adds), the server
//! answers at once. So the time that passes is exact and the same in each run; divided by a round trip it is the number of trips.
//!
//! Behind each flight to the server goes an op_dummy: Farbird's server holds some answers back until it is asked something else, and
//! nobody could tell how long to wait for them.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use farbird_client::blocking::{Connection, Transport};
use farbird_client::{ConnectOptions, WireCrypt};
use farbird_farlink::message::{Channel, CommitPoint, Relation, Ticket, ToEdge, ToOrigin};
use farbird_farlink::{edge, origin};
use farbird_server::farlink::{Farlink, Introduction};

/// A server may take so long, in real time.
const PATIENCE: Duration = Duration::from_secs(60);
/// op_dummy.
const DUMMY: [u8; 4] = [0, 0, 0, 71];

/// The link between edge and origin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    pub(crate) one_way: Duration,
    /// Bits a second in each direction.
    pub(crate) rate: Option<u64>,
}

/// One direction of it.
#[derive(Debug, Default)]
struct Line {
    /// What is under way, and when it arrives.
    messages: VecDeque<(Duration, Vec<u8>)>,
    free: Duration,
}

impl Line {
    fn send(&mut self, now: Duration, link: Link, message: Vec<u8>) {
        let nanoseconds = link.rate.map_or(0, |rate| message.len() as u64 * 8_000_000_000 / rate);
        self.free = self.free.max(now) + Duration::from_nanos(nanoseconds);
        self.messages.push_back((self.free + link.one_way, message));
    }

    fn arrived(&mut self, now: Duration) -> Option<Vec<u8>> {
        let is_here = self.messages.front().is_some_and(|(at, _)| *at <= now);
        if is_here { self.messages.pop_front().map(|(_, message)| message) } else { None }
    }
}

/// What a Farbird server tells an origin in its process.
struct Told {
    farlink: Farlink,
    /// Commits since the last call.
    news: Box<dyn Fn() -> Vec<ToEdge> + Send>,
}

impl std::fmt::Debug for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Told")
    }
}

impl Told {
    fn new(farlink: Farlink) -> Told {
        let commits = farlink.commit_news().subscribe(Box::new(|| {}));
        let users = farlink.clone();
        let news = move || {
            let mut news = Vec::new();
            for (database, changes) in commits.take() {
                if users.holds_users(database) {
                    news.push(ToEdge::UsersChanged);
                    continue;
                }
                if changes.is_catalog_changed {
                    news.push(ToEdge::Invalidate { database });
                }
                let relations = changes.relations.into_iter().map(Relation).collect();
                news.push(ToEdge::Notice { database, commit: CommitPoint(changes.commit), relations });
            }
            news
        };
        Told { farlink, news: Box::new(news) }
    }
}

/// Everything but the programs themselves.
#[derive(Debug)]
struct Inner {
    now: Duration,
    link: Link,
    server: SocketAddr,
    /// `None` before a server that knows nothing of farlinks.
    told: Option<Told>,
    site: Arc<edge::Site>,
    programs: BTreeMap<u32, edge::Program>,
    conversations: BTreeMap<u32, Conversation>,
    up: Line,
    down: Line,
    channels: u32,
    /// Messages that went up.
    sent: u64,
}

/// Texts are believed.
fn believing() -> edge::Limits {
    edge::Limits { texts_show_purity: true, ..edge::Limits::default() }
}

/// A connection to the server.
#[derive(Debug)]
enum ServerStream {
    Inside(UnixStream),
    Network(TcpStream),
}

impl Read for ServerStream {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        match self {
            ServerStream::Inside(stream) => stream.read(buffer),
            ServerStream::Network(stream) => stream.read(buffer),
        }
    }
}

impl Write for ServerStream {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self {
            ServerStream::Inside(stream) => stream.write(bytes),
            ServerStream::Network(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct Conversation {
    machine: origin::Conversation,
    stream: ServerStream,
}

/// The world.
#[derive(Debug, Clone)]
pub(crate) struct World(Arc<Mutex<Inner>>);

impl World {
    /// Before a server that knows nothing of farlinks; texts are believed.
    pub(crate) fn new(server: SocketAddr, link: Link) -> World {
        World::before(server, link, None, believing())
    }

    /// Before a server that knows nothing of farlinks; what queries name is looked up in its catalogue.
    pub(crate) fn looking_up(server: SocketAddr, link: Link) -> World {
        World::before(server, link, None, edge::Limits::default())
    }

    /// Before a Farbird server that is its own origin.
    pub(crate) fn of_farbird(server: SocketAddr, farlink: Farlink, link: Link) -> World {
        World::with(server, farlink, link, believing())
    }

    /// The same with other limits of the edge.
    pub(crate) fn with(server: SocketAddr, farlink: Farlink, link: Link, limits: edge::Limits) -> World {
        World::before(server, link, Some(Told::new(farlink)), limits)
    }

    fn before(server: SocketAddr, link: Link, told: Option<Told>, limits: edge::Limits) -> World {
        let site = edge::Site::new(limits);
        let is_farbird = told.is_some();
        let mut inner = Inner {
            now: Duration::ZERO,
            link,
            server,
            told,
            site,
            programs: BTreeMap::new(),
            conversations: BTreeMap::new(),
            up: Line::default(),
            down: Line::default(),
            channels: 0,
            sent: 0,
        };
        let welcome = ToEdge::Welcome { is_farbird, server: "a server".to_owned() };
        inner.down.send(Duration::ZERO, Link { one_way: Duration::ZERO, rate: None }, welcome.encode());
        World(Arc::new(Mutex::new(inner)))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What all programs of the edge share.
    pub(crate) fn site(&self) -> Arc<edge::Site> {
        Arc::clone(&self.lock().site)
    }

    /// The time.
    pub(crate) fn now(&self) -> Duration {
        self.lock().now
    }

    /// Lets time pass while nobody asks anything.
    pub(crate) fn pass(&self, time: Duration) {
        let mut inner = self.lock();
        let until = inner.now + time;
        loop {
            inner.settle();
            match inner.next_arrival().filter(|arrival| *arrival <= until) {
                Some(arrival) => inner.now = inner.now.max(arrival),
                None => break,
            }
        }
        inner.now = until;
    }

    /// How many round trips something takes, and what it gives.
    pub(crate) fn trips<T>(&self, work: impl FnOnce() -> T) -> (T, f64) {
        let start = self.now();
        let result = work();
        let round_trip = 2 * self.lock().link.one_way;
        (result, (self.now() - start).as_secs_f64() / round_trip.as_secs_f64())
    }

    /// A program attaches a database through the edge.
    pub(crate) fn attach(
        &self,
        database: &str,
        options: &ConnectOptions,
    ) -> farbird_client::Result<Connection> {
        let options = ConnectOptions { wire_crypt: WireCrypt::Disabled, ..options.clone() };
        self.attach_as_said(database, &options)
    }

    /// The same, with encryption as the options say.
    pub(crate) fn attach_as_said(
        &self,
        database: &str,
        options: &ConnectOptions,
    ) -> farbird_client::Result<Connection> {
        Connection::attach_over(self.transport(), "edge", database, options)
    }

    fn transport(&self) -> Wire {
        let mut inner = self.lock();
        inner.channels += 1;
        let channel = inner.channels;
        let program = edge::Program::new(Arc::clone(&inner.site), Channel(channel), "127.0.0.1".to_owned());
        inner.programs.insert(channel, program);
        Wire { world: self.clone(), channel, unread: VecDeque::new() }
    }
}

impl Inner {
    /// Does everything that happens at this moment.
    fn settle(&mut self) {
        loop {
            let mut has_moved = false;
            for program in self.programs.values_mut() {
                for message in program.take_messages() {
                    self.up.send(self.now, self.link, message.encode());
                    self.sent += 1;
                    has_moved = true;
                }
            }
            while let Some(message) = self.up.arrived(self.now) {
                self.at_origin(ToOrigin::decode(&message).unwrap());
                has_moved = true;
            }
            let channels: Vec<u32> = self.conversations.keys().copied().collect();
            for channel in channels {
                has_moved |= self.serve(channel);
            }
            for message in self.told.as_ref().map(|told| (told.news)()).unwrap_or_default() {
                self.down.send(self.now, self.link, message.encode());
                has_moved = true;
            }
            while let Some(message) = self.down.arrived(self.now) {
                self.at_edge(ToEdge::decode(&message).unwrap());
                has_moved = true;
            }
            if !has_moved {
                return;
            }
        }
    }

    fn next_arrival(&self) -> Option<Duration> {
        let first = |line: &Line| line.messages.front().map(|(at, _)| *at);
        [first(&self.up), first(&self.down)].into_iter().flatten().min()
    }

    fn at_origin(&mut self, message: ToOrigin) {
        match message {
            ToOrigin::Open { channel, connect, ticket, peer, pass } => {
                let stream = if let Some(told) = &self.told {
                    let introduction = Introduction {
                        peer,
                        edge: "edge".to_owned(),
                        ticket: ticket.map(|ticket| ticket.0),
                        pass: pass.map(|pass| pass.0),
                    };
                    let user = origin::user_of(&connect).unwrap_or_default();
                    for _ in 0..if ticket.is_some() { 1 } else { 2 } {
                        let Some((number, data)) = told.farlink.issue_ticket(&user) else { break };
                        let ticket = ToEdge::Ticket { ticket: Ticket(number), user: user.clone(), data };
                        self.down.send(self.now, self.link, ticket.encode());
                    }
                    let stream = told.farlink.connect(introduction, None).unwrap();
                    stream.set_read_timeout(Some(PATIENCE)).unwrap();
                    ServerStream::Inside(stream)
                } else {
                    let stream = TcpStream::connect(self.server).unwrap();
                    stream.set_read_timeout(Some(PATIENCE)).unwrap();
                    stream.set_nodelay(true).unwrap();
                    ServerStream::Network(stream)
                };
                let is_farbird = self.told.is_some();
                let machine =
                    origin::Conversation::new(origin::Limits::default(), channel, &connect, is_farbird);
                self.conversations.insert(channel.0, Conversation { machine, stream });
            }
            ToOrigin::On { channel, ask } => {
                if let Some(conversation) = self.conversations.get_mut(&channel.0) {
                    conversation.machine.ask(ask, self.now);
                }
                // What came first is done first, whoever asked it.
                self.serve(channel.0);
            }
            // The session never ends.
            ToOrigin::Outcome { .. } => {}
            ToOrigin::Close { channel } => {
                self.conversations.remove(&channel.0);
            }
        }
    }

    /// Lets a conversation have all that the server owes.
    fn serve(&mut self, channel: u32) -> bool {
        let Some(Conversation { machine, stream }) = self.conversations.get_mut(&channel) else {
            return false;
        };
        let mut has_moved = false;
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let mut output = machine.take_output();
            if !output.is_empty() {
                has_moved = true;
                output.extend_from_slice(&DUMMY);
                if stream.write_all(&output).is_err() {
                    machine.server_lost("the server has gone");
                }
            }
            if !machine.is_waiting() || machine.is_ended() {
                break;
            }
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => machine.server_lost("the server has gone"),
                Ok(count) => machine.receive(&mut buffer[..count], self.now),
            }
            has_moved = true;
        }
        // What the server tells stands before the answers that came after it.
        let news = self.told.as_ref().map(|told| (told.news)()).unwrap_or_default();
        for message in news.into_iter().chain(machine.take_messages()) {
            self.down.send(self.now, self.link, message.encode());
            has_moved = true;
        }
        if machine.is_ended() {
            self.conversations.remove(&channel);
        }
        has_moved
    }

    fn at_edge(&mut self, message: ToEdge) {
        self.site.message(&message);
        match message {
            ToEdge::On { channel, tell } => {
                if let Some(program) = self.programs.get_mut(&channel.0) {
                    program.tell(tell, self.now);
                }
            }
            ToEdge::Closed { channel, reason } => {
                println!("channel {} was closed: {reason}", channel.0);
                if let Some(program) = self.programs.get_mut(&channel.0) {
                    program.closed(&reason);
                }
            }
            _ => {}
        }
    }
}

/// A program's connection to the edge.
#[derive(Debug)]
struct Wire {
    world: World,
    channel: u32,
    unread: VecDeque<u8>,
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut inner = self.world.lock();
        let now = inner.now;
        let program = inner.programs.get_mut(&self.channel).ok_or(ErrorKind::BrokenPipe)?;
        program.receive(&mut bytes.to_vec(), now);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut inner = self.world.lock();
        while self.unread.is_empty() {
            let program = inner.programs.get_mut(&self.channel).ok_or(ErrorKind::BrokenPipe)?;
            self.unread.extend(program.take_output());
            if !self.unread.is_empty() {
                break;
            }
            if program.is_ended() {
                return Ok(0);
            }
            inner.settle();
            let Some(program) = inner.programs.get_mut(&self.channel) else { continue };
            self.unread.extend(program.take_output());
            if self.unread.is_empty() && !program.is_ended() {
                let Some(arrival) = inner.next_arrival() else {
                    for conversation in inner.conversations.values() {
                        println!("{:?}", conversation.machine);
                    }
                    for program in inner.programs.values() {
                        println!("{program:?}");
                    }
                    return Err(Error::new(ErrorKind::TimedOut, "nobody will ever answer"));
                };
                inner.now = inner.now.max(arrival);
            }
        }
        let count = self.unread.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(self.unread.drain(..count)) {
            *to = from;
        }
        Ok(count)
    }
}

impl Transport for Wire {
    fn set_read_timeout(&mut self, _: Option<Duration>) -> Result<()> {
        Ok(())
    }

    fn set_write_timeout(&mut self, _: Option<Duration>) -> Result<()> {
        Ok(())
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        let mut inner = self.world.lock();
        if let Some(mut program) = inner.programs.remove(&self.channel) {
            program.disconnected();
            for message in program.take_messages() {
                let (now, link) = (inner.now, inner.link);
                inner.up.send(now, link, message.encode());
            }
        }
    }
}
