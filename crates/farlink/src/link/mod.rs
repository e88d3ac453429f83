//! The link between an edge and its origin, without its socket: messages in and bytes out, bytes in and messages out.
//!
//! A [`Link`] is one end of a *session*, which may outlive its connections. The caller owns the connection: it says
//! [`Link::connected`], carries bytes between [`Link::take_output`] and [`Link::receive`], and says [`Link::disconnected`] when the
//! connection is lost or [`LinkError`] says so. Times are handed in, as durations since any moment of the caller's.
//!
//! # What it promises
//! - Messages arrive exactly once and in the order that [`Class`] says, also when connections are lost in between, as long as
//!   both ends meet again before [`Settings::resume`] is over. Otherwise the session ends, and both ends are told ([`Event`]).
//! - What takes turns ([`Class::Turn`], [`Class::Last`]) is sent as far as the channel's receiver has given credit, so a
//!   program that does not read holds up nobody else.
//! - What comes from the other end is bounded by [`Settings`], and never panics.
//!
//! # Place
//! `gateway` owns the sockets; [`crate::message`] says what is told; [`crate::frame`] how it is cut.

mod compression;
mod greeting;
mod incoming;
mod outgoing;
mod settings;
#[cfg(test)]
mod tests;
mod traffic;

use std::collections::VecDeque;
use std::time::Duration;

use compression::{Compressor, Decompressor, PIECE_BYTES};
pub use greeting::{BadGreeting, GREETING_BYTES_MAX, Greeting, Hello, MAGIC, SessionId, VERSION};
use incoming::Incoming;
use outgoing::Outgoing;
pub use settings::{LinkError, Settings};
pub use traffic::{Class, Message};

use crate::frame::{Frame, LANES, shortened};
use crate::message::{Channel, ToEdge, ToOrigin};

/// An edge's end.
pub type EdgeLink = Link<ToOrigin, ToEdge>;
/// An origin's end.
pub type OriginLink = Link<ToEdge, ToOrigin>;

/// How long an acknowledgement waits for something to travel with.
const ACKNOWLEDGE_AFTER: Duration = Duration::from_millis(40);
/// An end that answers so soon is a neighbour: what is sent to it is not compressed.
const NEAR: Duration = Duration::from_millis(1);
/// Pings with which a connection begins if its end may be a neighbour: the quickest answer counts.
const FIRST_PINGS: u32 = 4;
/// Who answers later than this is none, however busy the machines are.
const FAR: Duration = Duration::from_millis(20);
/// Longest name in a greeting, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// What has become of the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Both ends have met.
    Established {
        /// The other's name and software, as it gives them.
        peer: String,
        /// Whether a session goes on.
        is_resumed: bool,
    },
    /// A session is over: the other end has not come back in time, has left, or knows nothing of it. All channels that were open
    /// are over, and what waited on them is not sent; a new session begins with the next connection, or has begun.
    Over,
}

/// What can be said of a link's health.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Health {
    /// Whether both ends are in touch.
    pub is_established: bool,
    /// The last round trip measured by a ping; until the first one, by the greetings.
    pub round_trip: Option<Duration>,
    /// Bytes sent and received, as they travelled.
    pub wire_bytes: (u64, u64),
    /// The same before compression.
    pub plain_bytes: (u64, u64),
    /// Messages sent and received.
    pub messages: (u64, u64),
    /// How often a session has gone on after a lost connection.
    pub resumed: u64,
    /// Bytes of messages that may be under way to the other end, as it says.
    pub window_bytes: u64,
    /// Those that are.
    pub under_way_bytes: u64,
    /// Bytes of messages that wait to be sent.
    pub queued_bytes: usize,
}

/// What the connection is at.
enum State {
    /// There is none.
    Down { since: Duration },
    /// The other end's greeting has not come.
    Greeting { since: Duration, unread: Vec<u8> },
    /// In touch.
    Up(Box<Connection>),
    /// Given up for the reason that is repeated until the caller says [`Link::disconnected`].
    Failed(LinkError),
}

/// What lives as long as a connection.
struct Connection {
    compressor: Option<Compressor>,
    decompressor: Option<Decompressor>,
    /// Decompressed bytes that are no whole frame yet.
    plain: Vec<u8>,
    heard: Duration,
    pinged: Option<(u32, Duration)>,
    /// Pings that are due without any silence: see [`FIRST_PINGS`].
    first_pings: u32,
    /// Whether the other end is a neighbour.
    is_near: bool,
    /// Pongs that are owed: the last ping.
    pong: Option<u32>,
    /// Since when there is something to be acknowledged.
    news_since: Option<Duration>,
}

/// One end of a session.
pub struct Link<Out, In> {
    settings: Settings,
    name: String,
    is_edge: bool,
    session: SessionId,
    /// Whether the other end knows the session.
    is_begun: bool,
    /// How often an edge has greeted.
    greetings: u64,
    /// Which of its greetings began the session.
    begun_by: Option<u64>,
    state: State,
    /// Bytes to be sent as they are.
    raw: Vec<u8>,
    outgoing: Outgoing,
    incoming: Incoming<In>,
    events: VecDeque<Event>,
    pings: u32,
    health: Health,
    messages_sent: std::marker::PhantomData<fn(Out)>,
}

impl<Out: Message, In: Message> Link<Out, In> {
    /// An edge's end. `session`: random bytes, used by no other link.
    pub fn edge(settings: Settings, name: &str, session: SessionId, now: Duration) -> Link<Out, In> {
        Link::new(settings, name, session, now, true)
    }

    /// An origin's end, for an edge that has said [`Hello`] with this session.
    pub fn origin(settings: Settings, name: &str, session: SessionId, now: Duration) -> Link<Out, In> {
        Link::new(settings, name, session, now, false)
    }

    fn new(
        settings: Settings,
        name: &str,
        session: SessionId,
        now: Duration,
        is_edge: bool,
    ) -> Link<Out, In> {
        Link {
            settings,
            name: shortened(name, NAME_BYTES_MAX).to_owned(),
            is_edge,
            session,
            is_begun: false,
            greetings: 0,
            begun_by: None,
            state: State::Down { since: now },
            raw: Vec::new(),
            outgoing: Outgoing::new(),
            incoming: Incoming::new(),
            events: VecDeque::new(),
            pings: 0,
            health: Health::default(),
            messages_sent: std::marker::PhantomData,
        }
    }

    /// The session that this end has.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// A connection is there. An edge greets; an origin hands the greeting that it has read to [`Link::accept`] instead.
    pub fn connected(&mut self, now: Duration) {
        self.disconnected(now);
        self.state = State::Greeting { since: now, unread: Vec::new() };
        self.greetings += 1;
        // The origin may have begun the session though its greeting was lost: it decides.
        self.raw = self.hello(true).encode();
    }

    /// A connection is there, and the edge behind it has said this. A former connection is lost thereby.
    ///
    /// # Errors
    /// [`LinkError`]: it is to be closed.
    pub fn accept(&mut self, hello: &Hello, now: Duration) -> Result<(), LinkError> {
        self.disconnected(now);
        // An edge that has not been answered yet knows of no beginning.
        let is_known = hello.begun_by.is_none() || hello.begun_by == self.begun_by;
        let is_resumed = hello.resumes && self.is_begun && hello.session == self.session && is_known;
        if !is_resumed {
            self.begin_again(hello.session);
            self.begun_by = Some(hello.greeting);
        }
        self.raw = self.hello(is_resumed).encode();
        self.establish(hello, is_resumed, now)
    }

    /// What an origin says instead of accepting.
    pub fn refusal(reason: &str) -> Vec<u8> {
        Greeting::Refused(shortened(reason, NAME_BYTES_MAX).to_owned()).encode()
    }

    fn hello(&self, resumes: bool) -> Greeting {
        Greeting::Hello(Hello {
            name: self.name.clone(),
            software: format!("farbird {}", env!("CARGO_PKG_VERSION")),
            session: self.session,
            resumes,
            greeting: self.greetings,
            begun_by: self.begun_by,
            received: self.incoming.messages,
            window: self.settings.window,
            channel_window: self.settings.channel_window,
            message_bytes: self.settings.message_bytes,
            is_compressed: self.settings.compression != 0,
        })
    }

    /// What the other end knows of no longer is over.
    fn begin_again(&mut self, mut session: SessionId) {
        if self.is_edge {
            // Not to be taken for the one before.
            let number = u128::from_le_bytes(session.0).wrapping_add(1);
            session = SessionId(number.to_le_bytes());
        }
        self.session = session;
        self.begun_by = None;
        if std::mem::take(&mut self.is_begun) {
            self.outgoing = Outgoing::new();
            self.incoming = Incoming::new();
            self.events.push_back(Event::Over);
        }
    }

    fn establish(&mut self, hello: &Hello, is_resumed: bool, now: Duration) -> Result<(), LinkError> {
        self.outgoing.set_windows(hello.window, hello.channel_window);
        if is_resumed {
            self.outgoing.resume(hello.received).map_err(|_| LinkError::Misbehaved("resumption"))?;
            self.health.resumed += 1;
        }
        self.is_begun = true;
        let compressor = match self.settings.compression {
            0 => None,
            level => Some(Compressor::new(level).ok_or(LinkError::Misbehaved("compression"))?),
        };
        let decompressor = match hello.is_compressed {
            true => Some(Decompressor::new().ok_or(LinkError::Misbehaved("compression"))?),
            false => None,
        };
        self.state = State::Up(Box::new(Connection {
            compressor,
            decompressor,
            plain: Vec::new(),
            heard: now,
            pinged: None,
            first_pings: FIRST_PINGS,
            is_near: false,
            pong: None,
            news_since: None,
        }));
        let shorten = |text: &str| shortened(text, NAME_BYTES_MAX).to_owned();
        let peer = format!("{} ({})", shorten(&hello.name), shorten(&hello.software));
        self.events.push_back(Event::Established { peer, is_resumed });
        self.health.is_established = true;
        Ok(())
    }

    /// The connection is lost, or was closed after a [`LinkError`].
    pub fn disconnected(&mut self, now: Duration) {
        self.health.is_established = false;
        if !matches!(self.state, State::Down { .. }) {
            self.state = State::Down { since: now };
            self.raw.clear();
            self.outgoing.disconnected();
            self.incoming.disconnected();
        }
    }

    /// Sends a message when its turn comes; while there is no connection, on the next one.
    pub fn send(&mut self, message: &Out) {
        self.health.messages.0 += 1;
        self.outgoing.push(message.channel(), message.class(), message.encode());
    }

    /// Bytes of messages that wait in front of the next one of this channel: a caller stops making more at a bound of its own.
    pub fn queued(&self, channel: Channel) -> usize {
        self.outgoing.queued(channel)
    }

    /// Bytes of messages that wait on all channels.
    pub fn queued_in_all(&self) -> usize {
        self.outgoing.queued_in_all()
    }

    /// The next message that has arrived, and what is to be given back to [`Link::taken`] when its channel is done with it.
    pub fn take_message(&mut self) -> Option<(In, u32)> {
        let arrived = self.incoming.pop()?;
        self.health.messages.1 += 1;
        Some((arrived.message, arrived.charge))
    }

    /// A channel is done with a message that it got: its sender may send so much more.
    pub fn taken(&mut self, channel: Channel, charge: u32) {
        self.incoming.taken(channel, charge);
    }

    /// Nothing more is to be said or heard on a channel. With `is_over`, what waits on it is not sent either.
    pub fn forget(&mut self, channel: Channel, is_over: bool) {
        self.incoming.forget(channel);
        self.outgoing.forget(channel, is_over);
    }

    /// What has happened.
    pub fn take_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// After so long a silence the connection is given up. That of a connection which takes nothing any more is for the caller to see:
    /// while it does not, nothing that is due can be sent.
    pub fn silence(&self) -> Duration {
        self.settings.silence
    }

    /// Whether the other end is a neighbour: it answers within a millisecond.
    pub fn is_near(&self) -> bool {
        matches!(&self.state, State::Up(connection) if connection.is_near)
    }

    /// How the link is.
    pub fn health(&self) -> Health {
        let (under_way_bytes, window_bytes) = self.outgoing.under_way();
        Health { under_way_bytes, window_bytes, queued_bytes: self.queued_in_all(), ..self.health }
    }

    /// Whether [`Link::take_output`] would give anything.
    pub fn has_output(&self) -> bool {
        !self.raw.is_empty()
            || match &self.state {
                State::Up(connection) => {
                    connection.pong.is_some()
                        || self.outgoing.has_work()
                        || self.incoming.has_news(&self.settings).1
                }
                _ => false,
            }
    }

    /// The next bytes for the connection, made of at most about `bytes_max` bytes of messages. To be called when the connection can
    /// take them, not before: what is not in the connection can still be overtaken.
    pub fn take_output(&mut self, bytes_max: usize) -> Vec<u8> {
        let mut out = std::mem::take(&mut self.raw);
        let State::Up(connection) = &mut self.state else {
            self.health.wire_bytes.0 += out.len() as u64;
            return out;
        };
        let mut plain = Vec::new();
        if let Some(number) = connection.pong.take() {
            Frame::Pong(number).encode(&mut plain);
        }
        self.outgoing.fill(bytes_max, &mut plain);
        if !plain.is_empty() || self.incoming.has_news(&self.settings).1 {
            connection.news_since = None;
            encode_news(&mut self.incoming, &self.settings, &mut plain);
        }
        self.push_plain(&plain, &mut out);
        self.health.wire_bytes.0 += out.len() as u64;
        out
    }

    fn push_plain(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        let State::Up(connection) = &mut self.state else { return };
        if plain.is_empty() {
            return;
        }
        self.health.plain_bytes.0 += plain.len() as u64;
        match &mut connection.compressor {
            None => out.extend_from_slice(plain),
            Some(compressor) => {
                let passed = match connection.is_near {
                    true => compressor.store(plain, out),
                    false => compressor.compress(plain, out),
                };
                if passed.is_err() {
                    self.state = State::Failed(LinkError::Misbehaved("compression"));
                }
            }
        }
    }

    /// Says goodbye: the other end ends all channels at once. Its bytes are in [`Link::take_output`] next.
    pub fn leave(&mut self, reason: &str) {
        let mut plain = Vec::new();
        Frame::Goodbye(shortened(reason, NAME_BYTES_MAX)).encode(&mut plain);
        let mut raw = std::mem::take(&mut self.raw);
        self.push_plain(&plain, &mut raw);
        self.raw = raw;
    }

    /// Takes what has come on the connection, cut anywhere.
    ///
    /// # Errors
    /// [`LinkError`]: the connection is to be closed, then [`Link::disconnected`] called. Repeated until then.
    pub fn receive(&mut self, bytes: &[u8], now: Duration) -> Result<(), LinkError> {
        self.health.wire_bytes.1 += bytes.len() as u64;
        let result = match &mut self.state {
            State::Down { .. } => Err(LinkError::Misbehaved("bytes without a connection")),
            State::Failed(error) => Err(error.clone()),
            State::Greeting { unread, .. } => {
                unread.extend_from_slice(bytes);
                let unread = std::mem::take(unread);
                self.greeted(unread, now)
            }
            State::Up(_) => self.receive_frames(bytes, now),
        };
        if let Err(error) = &result
            && !matches!(self.state, State::Down { .. })
        {
            if matches!(error, LinkError::Misbehaved(_)) {
                // What is sent again would be as bad again.
                self.begin_again(self.session);
            }
            self.state = State::Failed(error.clone());
        }
        result
    }

    fn greeted(&mut self, unread: Vec<u8>, now: Duration) -> Result<(), LinkError> {
        let said = match &self.state {
            State::Greeting { since, .. } => *since,
            _ => now,
        };
        let Some((greeting, length)) = Greeting::decode(&unread)? else {
            if let State::Greeting { unread: kept, .. } = &mut self.state {
                *kept = unread;
            }
            return Ok(());
        };
        match greeting {
            Greeting::Refused(reason) => Err(LinkError::Refused(reason)),
            Greeting::Hello(hello) => {
                if hello.session != self.session {
                    return Err(LinkError::Misbehaved("session"));
                }
                if self.is_begun && !hello.resumes {
                    // The origin has forgotten the session, and begins it anew under the same name.
                    self.begin_again(self.session);
                    self.session = hello.session;
                }
                self.begun_by = hello.begun_by;
                self.establish(&hello, hello.resumes, now)?;
                self.health.round_trip.get_or_insert(now.saturating_sub(said));
                self.receive_frames(unread.get(length..).unwrap_or_default(), now)
            }
        }
    }

    fn receive_frames(&mut self, mut bytes: &[u8], now: Duration) -> Result<(), LinkError> {
        let State::Up(connection) = &mut self.state else { return Ok(()) };
        if bytes.is_empty() {
            return Ok(());
        }
        connection.heard = now;
        let mut plain = std::mem::take(&mut connection.plain);
        // No lawful peer has more under way than the windows allow: neither may compressed bytes that claim more.
        let mut budget = 2
            * (u64::from(self.settings.window) + LANES as u64 * u64::from(self.settings.message_bytes))
            + (1 << 20);
        loop {
            let State::Up(connection) = &mut self.state else { return Ok(()) };
            let before = plain.len();
            let more = match &mut connection.decompressor {
                None => {
                    let piece = &bytes[..bytes.len().min(PIECE_BYTES)];
                    plain.extend_from_slice(piece);
                    bytes = &bytes[piece.len()..];
                    !bytes.is_empty()
                }
                Some(decompressor) => decompressor
                    .decompress(&mut bytes, &mut plain)
                    .map_err(|_| LinkError::Misbehaved("compression"))?,
            };
            let made = (plain.len() - before) as u64;
            self.health.plain_bytes.1 += made;
            budget = budget.checked_sub(made).ok_or(LinkError::Misbehaved("compression"))?;
            let taken = self.handle_frames(&plain, now)?;
            plain.drain(..taken);
            if !more {
                break;
            }
        }
        if let State::Up(connection) = &mut self.state {
            connection.plain = plain;
            if connection.news_since.is_none() && self.incoming.has_news(&self.settings).0 {
                connection.news_since = Some(now);
            }
        }
        Ok(())
    }

    /// Handles the whole frames of `plain`; returns how many bytes they were.
    fn handle_frames(&mut self, plain: &[u8], now: Duration) -> Result<usize, LinkError> {
        let mut taken = 0;
        while let Some((frame, length)) =
            Frame::decode(&plain[taken..]).map_err(|_| LinkError::Misbehaved("frame"))?
        {
            taken += length;
            self.handle_frame(frame, now)?;
        }
        Ok(taken)
    }

    fn handle_frame(&mut self, frame: Frame<'_>, now: Duration) -> Result<(), LinkError> {
        match frame {
            Frame::Fragment { lane, is_last, bytes } => {
                self.incoming.fragment(lane, is_last, bytes, &self.settings)
            }
            Frame::Acknowledge { messages, bytes } => self
                .outgoing
                .acknowledge(messages, bytes)
                .map_err(|_| LinkError::Misbehaved("acknowledgement")),
            Frame::Credit { channel, bytes } => {
                self.outgoing.credit(channel, bytes).map_err(|_| LinkError::Misbehaved("credit"))
            }
            Frame::Ping(number) => {
                if let State::Up(connection) = &mut self.state {
                    connection.pong = Some(number);
                }
                Ok(())
            }
            Frame::Pong(number) => {
                if let State::Up(connection) = &mut self.state
                    && let Some((pinged, at)) = connection.pinged
                    && pinged == number
                {
                    connection.pinged = None;
                    let round_trip = now.saturating_sub(at);
                    self.health.round_trip = Some(round_trip);
                    connection.is_near |= round_trip <= NEAR;
                    connection.first_pings = match connection.is_near || round_trip > FAR {
                        true => 0,
                        false => connection.first_pings.saturating_sub(1),
                    };
                }
                Ok(())
            }
            Frame::Goodbye(reason) => {
                self.begin_again(self.session);
                Err(LinkError::Left(shortened(reason, NAME_BYTES_MAX).to_owned()))
            }
        }
    }

    /// When [`Link::handle_timeout`] is to be called; `None`: never, as things stand.
    pub fn poll_timeout(&self) -> Option<Duration> {
        match &self.state {
            State::Down { since } => self.is_begun.then(|| *since + self.settings.resume),
            State::Greeting { since, .. } => Some(*since + self.settings.silence),
            State::Failed(_) => None,
            State::Up(connection) => {
                let ping = match connection.pinged {
                    Some(_) => connection.heard + self.settings.silence,
                    None if connection.first_pings > 0 => connection.heard,
                    None => connection.heard + self.settings.ping,
                };
                let acknowledge = connection.news_since.map(|since| since + ACKNOWLEDGE_AFTER);
                Some(acknowledge.map_or(ping, |acknowledge| acknowledge.min(ping)))
            }
        }
    }

    /// Does what is due.
    ///
    /// # Errors
    /// As [`Link::receive`].
    pub fn handle_timeout(&mut self, now: Duration) -> Result<(), LinkError> {
        match &mut self.state {
            State::Down { since } => {
                if self.is_begun && now >= *since + self.settings.resume {
                    self.begin_again(self.session);
                }
                return Ok(());
            }
            State::Greeting { since, .. } => {
                if now >= *since + self.settings.silence {
                    return self.fail(LinkError::Silent(self.settings.silence));
                }
                return Ok(());
            }
            State::Failed(error) => return Err(error.clone()),
            State::Up(connection) => {
                if now >= connection.heard + self.settings.silence && connection.pinged.is_some() {
                    return self.fail(LinkError::Silent(self.settings.silence));
                }
            }
        }
        self.say_what_is_due(now);
        Ok(())
    }

    fn fail(&mut self, error: LinkError) -> Result<(), LinkError> {
        self.state = State::Failed(error.clone());
        Err(error)
    }

    fn say_what_is_due(&mut self, now: Duration) {
        let State::Up(connection) = &mut self.state else { return };
        let mut plain = Vec::new();
        let is_due = connection.first_pings > 0 || now >= connection.heard + self.settings.ping;
        if connection.pinged.is_none() && is_due {
            self.pings = self.pings.wrapping_add(1);
            connection.pinged = Some((self.pings, now));
            Frame::Ping(self.pings).encode(&mut plain);
        }
        if connection.news_since.is_some_and(|since| now >= since + ACKNOWLEDGE_AFTER) {
            connection.news_since = None;
            encode_news(&mut self.incoming, &self.settings, &mut plain);
        }
        let mut raw = std::mem::take(&mut self.raw);
        self.push_plain(&plain, &mut raw);
        self.raw = raw;
    }
}

/// Appends what the other end should know of what this end has got.
fn encode_news<In: Message>(incoming: &mut Incoming<In>, settings: &Settings, out: &mut Vec<u8>) {
    if let Some((messages, bytes)) = incoming.acknowledgement() {
        Frame::Acknowledge { messages, bytes }.encode(out);
    }
    for (channel, bytes) in incoming.credits(settings) {
        Frame::Credit { channel, bytes }.encode(out);
    }
}

impl<Out, In> std::fmt::Debug for Link<Out, In> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link")
            .field("name", &self.name)
            .field("is_edge", &self.is_edge)
            .finish_non_exhaustive()
    }
}
