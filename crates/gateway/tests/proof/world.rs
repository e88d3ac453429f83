//! A world without time: programs, an edge, a way with its weather, an origin, and a Farbird server in this process.
//!
//! Each program is a connection of `farbird-client` over a transport that ends in [`edge::Program`]. Between edge and origin are both ends
//! of a real [`Link`] over a [`Network`] that can be slow, lossy and cut. Whenever a program waits for bytes, the world goes on
//! until there are some; the server answers at once. What the tasks of `farbird-gateway` decide by their timers - when a lost link is
//! given up at each end - is done here as they do it, by [`Graces`].
//!
//! Behind each flight to the server goes an op_dummy: Farbird's server holds some answers back until it is asked something else, and
//! nobody could tell how long to wait for them.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use farbird_client::blocking::{Connection, Transport};
use farbird_client::{ConnectOptions, WireCrypt};
use farbird_farlink::link::{EdgeLink, Event, Greeting, Link, OriginLink, SessionId, Settings};
use farbird_farlink::message::{Channel, CommitPoint, Relation, Ticket, ToEdge, ToOrigin};
use farbird_farlink::{edge, origin};
use farbird_server::farlink::{Farlink, Introduction};

use crate::network::{Conditions, Direction, Network};
use crate::server::TestServer;

/// A server may take so long, in real time.
const PATIENCE: Duration = Duration::from_secs(60);
/// A program waits so long in the world's time.
const PROGRAM_PATIENCE: Duration = Duration::from_secs(7_200);
/// op_dummy.
const DUMMY: [u8; 4] = [0, 0, 0, 71];
/// Bytes that leave together.
const CHUNK_BYTES: usize = 64 << 10;

/// How long each end waits for a lost link before it gives up what is under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Graces {
    pub(crate) edge: Duration,
    pub(crate) origin: Duration,
}

/// Everything but the programs themselves.
struct Inner {
    now: Duration,
    network: Network,
    graces: Graces,
    farlink: Farlink,
    news: Box<dyn FnMut() -> Vec<ToEdge> + Send>,
    site: Arc<edge::Site>,
    edge: EdgeLink,
    origin: Option<OriginLink>,
    /// What an edge has said before its greeting was whole.
    greeting: Option<Vec<u8>>,
    lost_since: Option<Duration>,
    is_edge_told: bool,
    is_origin_told: bool,
    programs: BTreeMap<u32, edge::Program>,
    conversations: BTreeMap<u32, Conversation>,
    channels: u32,
}

struct Conversation {
    machine: origin::Conversation,
    stream: UnixStream,
}

/// The world.
#[derive(Clone)]
pub(crate) struct World(Arc<Mutex<Inner>>);

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("World").field(&self.lock().now).finish()
    }
}

impl World {
    pub(crate) fn new(server: &TestServer, conditions: Conditions) -> World {
        World::with(server, conditions, 1, edge::Limits::default(), Settings::default())
    }

    pub(crate) fn with(
        server: &TestServer,
        conditions: Conditions,
        seed: u64,
        limits: edge::Limits,
        settings: Settings,
    ) -> World {
        let subscription = server.farlink().commit_news().subscribe(Box::new(|| {}));
        let users = server.farlink();
        let news = move || {
            let mut news = Vec::new();
            for (database, changes) in subscription.take() {
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
        let session = SessionId(u128::from(seed).to_le_bytes());
        World(Arc::new(Mutex::new(Inner {
            now: Duration::ZERO,
            network: Network::new(conditions, seed),
            graces: Graces { edge: Duration::from_secs(30), origin: Duration::from_secs(30) },
            farlink: server.farlink(),
            news: Box::new(news),
            site: edge::Site::new(limits),
            edge: Link::edge(settings, "edge", session, Duration::ZERO),
            origin: None,
            greeting: None,
            lost_since: None,
            is_edge_told: false,
            is_origin_told: false,
            programs: BTreeMap::new(),
            conversations: BTreeMap::new(),
            channels: 0,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What all programs of the edge share.
    pub(crate) fn site(&self) -> Arc<edge::Site> {
        Arc::clone(&self.lock().site)
    }

    pub(crate) fn set_graces(&self, graces: Graces) {
        self.lock().graces = graces;
    }

    /// Does something with the way between.
    pub(crate) fn network<T>(&self, act: impl FnOnce(&mut Network) -> T) -> T {
        act(&mut self.lock().network)
    }

    /// Lets time pass while nobody asks anything.
    pub(crate) fn pass(&self, time: Duration) {
        let mut inner = self.lock();
        let until = inner.now + time;
        loop {
            inner.settle();
            match inner.next_event().filter(|next| *next <= until) {
                Some(next) => inner.now = inner.now.max(next),
                None => break,
            }
        }
        inner.now = until;
    }

    /// How many conversations the origin has.
    pub(crate) fn conversations(&self) -> usize {
        self.lock().conversations.len()
    }

    /// A program attaches a database through the edge.
    pub(crate) fn attach(
        &self,
        database: &str,
        options: &ConnectOptions,
    ) -> farbird_client::Result<Connection> {
        let options = ConnectOptions { wire_crypt: WireCrypt::Disabled, ..options.clone() };
        Connection::attach_over(self.transport(), "edge", database, &options)
    }

    fn transport(&self) -> Wire {
        let mut inner = self.lock();
        inner.channels += 1;
        let channel = inner.channels;
        let mut program =
            edge::Program::new(Arc::clone(&inner.site), Channel(channel), "127.0.0.1".to_owned());
        if inner.is_edge_told {
            program.link_lost();
        }
        inner.programs.insert(channel, program);
        Wire { world: self.clone(), channel, unread: VecDeque::new() }
    }
}

impl Inner {
    /// Does everything that happens at this moment.
    fn settle(&mut self) {
        loop {
            self.watch();
            let mut has_moved = self.programs_speak();
            has_moved |= self.carry_to_origin();
            let channels: Vec<u32> = self.conversations.keys().copied().collect();
            for channel in channels {
                has_moved |= self.serve(channel);
            }
            let news = (self.news)();
            has_moved |= !news.is_empty();
            self.say(news);
            has_moved |= self.carry_to_edge();
            if !has_moved {
                return;
            }
        }
    }

    /// What is due by the clock.
    fn watch(&mut self) {
        if self.network.down_until().is_some_and(|until| until <= self.now) {
            self.network.connect();
            self.edge.connected(self.now);
            self.greeting = Some(Vec::new());
        }
        // Neither end can be wrong about time here; an error is a silence, and breaks the connection.
        let is_broken = self.edge.handle_timeout(self.now).is_err()
            || self.origin.as_mut().is_some_and(|origin| origin.handle_timeout(self.now).is_err());
        if is_broken {
            self.network.cut(self.now, Duration::ZERO);
            self.connection_lost();
        }
        self.events();
        let lost_for = self.lost_since.map(|since| self.now.saturating_sub(since));
        if lost_for.is_some_and(|lost| lost >= self.graces.edge) && !self.is_edge_told {
            self.is_edge_told = true;
            self.programs.values_mut().for_each(edge::Program::link_lost);
        }
        if lost_for.is_some_and(|lost| lost >= self.graces.origin) && !self.is_origin_told {
            self.is_origin_told = true;
            self.conversations.values_mut().for_each(|conversation| conversation.machine.edge_lost());
        }
    }

    fn events(&mut self) {
        while let Some(event) = self.edge.take_event() {
            match event {
                Event::Established { .. } => {
                    self.lost_since = None;
                    if std::mem::take(&mut self.is_origin_told) {
                        self.conversations
                            .values_mut()
                            .for_each(|conversation| conversation.machine.edge_back());
                    }
                    if std::mem::take(&mut self.is_edge_told) {
                        self.programs.values_mut().for_each(edge::Program::link_restored);
                    }
                }
                Event::Over => self.programs.values_mut().for_each(|program| program.closed("over")),
            }
        }
        while let Some(event) = self.origin.as_mut().and_then(Link::take_event) {
            if event == Event::Over {
                self.conversations.clear();
                self.say_welcome();
            }
        }
    }

    fn say_welcome(&mut self) {
        self.say(vec![ToEdge::Welcome { is_farbird: true, server: "Farbird".to_owned() }]);
    }

    fn connection_lost(&mut self) {
        self.edge.disconnected(self.now);
        if let Some(origin) = &mut self.origin {
            origin.disconnected(self.now);
        }
        self.greeting = None;
        self.lost_since.get_or_insert(self.now);
    }

    /// What programs ask goes to the link, and as far as it can on its way.
    fn programs_speak(&mut self) -> bool {
        let mut has_moved = false;
        for program in self.programs.values_mut() {
            for message in program.take_messages() {
                self.edge.send(&message);
                has_moved = true;
            }
        }
        while self.edge.has_output() && self.network.has_room(Direction::ToOrigin, self.now) {
            let bytes = self.edge.take_output(CHUNK_BYTES);
            has_moved = true;
            if !self.network.send(Direction::ToOrigin, self.now, bytes) {
                self.connection_lost();
            }
        }
        has_moved
    }

    fn carry_to_origin(&mut self) -> bool {
        let mut has_moved = false;
        while let Some(bytes) = self.network.arrived(Direction::ToOrigin, self.now) {
            has_moved = true;
            self.origin_received(&bytes);
            self.events();
            while let Some((message, charge)) = self.origin.as_mut().and_then(Link::take_message) {
                self.at_origin(message, charge);
            }
        }
        has_moved
    }

    fn origin_received(&mut self, bytes: &[u8]) {
        let mut unread = bytes.to_vec();
        if let Some(mut said) = self.greeting.take() {
            said.extend_from_slice(bytes);
            let Some((Greeting::Hello(hello), length)) = Greeting::decode(&said).unwrap() else {
                self.greeting = Some(said);
                return;
            };
            unread = said.split_off(length);
            if self.origin.is_none() {
                let link = Link::origin(Settings::default(), "origin", hello.session, self.now);
                self.origin = Some(link);
                self.say_welcome();
            }
            self.origin.as_mut().unwrap().accept(&hello, self.now).unwrap();
        }
        self.origin.as_mut().unwrap().receive(&unread, self.now).unwrap();
    }

    fn at_origin(&mut self, message: ToOrigin, charge: u32) {
        match message {
            ToOrigin::Open { channel, connect, peer, ticket, pass } => {
                let introduction = Introduction {
                    peer,
                    edge: "edge".to_owned(),
                    ticket: ticket.map(|ticket| ticket.0),
                    pass: pass.map(|pass| pass.0),
                };
                let stream = self.farlink.connect(introduction, None).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                self.prepare_logins(&connect, ticket.is_some());
                let machine = origin::Conversation::new(origin::Limits::default(), channel, &connect, true);
                self.conversations.insert(channel.0, Conversation { machine, stream });
                self.taken(channel, charge);
            }
            ToOrigin::On { channel, ask } => {
                if let Some(conversation) = self.conversations.get_mut(&channel.0) {
                    conversation.machine.ask(ask, self.now);
                }
                self.taken(channel, charge);
                // What came first is done first, whoever asked it.
                self.serve(channel.0);
            }
            // The session never ends.
            ToOrigin::Outcome { .. } => {}
            ToOrigin::Close { channel } => {
                self.conversations.remove(&channel.0);
                if let Some(origin) = &mut self.origin {
                    origin.forget(channel, true);
                }
            }
        }
    }

    fn taken(&mut self, channel: Channel, charge: u32) {
        if let Some(origin) = &mut self.origin {
            origin.taken(channel, charge);
        }
    }

    fn prepare_logins(&mut self, connect: &[u8], is_prepared: bool) {
        let Some(user) = origin::user_of(connect) else { return };
        for _ in 0..if is_prepared { 1 } else { 2 } {
            let Some((number, data)) = self.farlink.issue_ticket(&user) else { return };
            self.say(vec![ToEdge::Ticket { ticket: Ticket(number), user: user.clone(), data }]);
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
        let messages = machine.take_messages();
        let is_ended = machine.is_ended();
        has_moved |= !messages.is_empty();
        self.say(messages);
        if is_ended {
            self.conversations.remove(&channel);
            if let Some(origin) = &mut self.origin {
                origin.forget(Channel(channel), false);
            }
        }
        has_moved
    }

    /// The origin tells the edge something, and before it the commits that may show in it.
    fn say(&mut self, messages: Vec<ToEdge>) {
        let Some(origin) = &mut self.origin else { return };
        if messages.is_empty() {
            return;
        }
        for message in (self.news)().iter().chain(&messages) {
            origin.send(message);
        }
    }

    fn carry_to_edge(&mut self) -> bool {
        let mut has_moved = false;
        while let Some(origin) = &mut self.origin
            && origin.has_output()
            && self.network.has_room(Direction::ToEdge, self.now)
        {
            let bytes = origin.take_output(CHUNK_BYTES);
            has_moved = true;
            if !self.network.send(Direction::ToEdge, self.now, bytes) {
                self.connection_lost();
            }
        }
        while let Some(bytes) = self.network.arrived(Direction::ToEdge, self.now) {
            has_moved = true;
            self.edge.receive(&bytes, self.now).unwrap();
            self.events();
            while let Some((message, charge)) = self.edge.take_message() {
                self.at_edge(message, charge);
            }
        }
        has_moved
    }

    fn at_edge(&mut self, message: ToEdge, charge: u32) {
        self.site.message(&message);
        match message {
            ToEdge::On { channel, tell } => {
                if let Some(program) = self.programs.get_mut(&channel.0) {
                    program.tell(tell, self.now);
                }
                self.edge.taken(channel, charge);
            }
            ToEdge::Closed { channel, reason } => {
                if let Some(program) = self.programs.get_mut(&channel.0) {
                    program.closed(&reason);
                }
            }
            _ => {}
        }
    }

    /// When the next thing happens by itself.
    fn next_event(&self) -> Option<Duration> {
        let given_up =
            |grace: Duration, is_told: bool| self.lost_since.filter(|_| !is_told).map(|since| since + grace);
        let room = |direction: Direction, waits: bool| {
            Some(self.network.free(direction)).filter(|at| waits && self.network.is_up() && *at > self.now)
        };
        [
            self.network.next_arrival(),
            self.network.down_until(),
            self.edge.poll_timeout(),
            self.origin.as_ref().and_then(Link::poll_timeout),
            given_up(self.graces.edge, self.is_edge_told),
            given_up(self.graces.origin, self.is_origin_told),
            room(Direction::ToOrigin, self.edge.has_output()),
            room(Direction::ToEdge, self.origin.as_ref().is_some_and(Link::has_output)),
        ]
        .into_iter()
        .flatten()
        .min()
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
        // What a program says first leaves first, whoever says it.
        inner.programs_speak();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut inner = self.world.lock();
        let deadline = inner.now + PROGRAM_PATIENCE;
        while self.unread.is_empty() {
            inner.settle();
            let program = inner.programs.get_mut(&self.channel).ok_or(ErrorKind::BrokenPipe)?;
            self.unread.extend(program.take_output());
            if !self.unread.is_empty() {
                break;
            }
            if program.is_ended() {
                return Ok(0);
            }
            match inner.next_event().filter(|next| *next <= deadline) {
                Some(next) => inner.now = inner.now.max(next),
                None => {
                    for conversation in inner.conversations.values() {
                        println!("{:?}", conversation.machine);
                    }
                    for program in inner.programs.values() {
                        println!("{program:?}");
                    }
                    return Err(Error::new(ErrorKind::TimedOut, "nobody will ever answer"));
                }
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
                inner.edge.send(&message);
            }
            inner.programs_speak();
        }
        inner.edge.forget(Channel(self.channel), false);
    }
}
