//! Two ends over a line of this test: bytes are cut anywhere, delayed and lost with their connection; the clock is a number.

use std::collections::VecDeque;
use std::time::Duration;

use super::*;
use crate::message::{Ask, Cursor, RequestId, Tell};

/// Small windows, so that they matter.
fn settings(compression: i32) -> Settings {
    Settings {
        window: 64 << 10,
        channel_window: 16 << 10,
        message_bytes: 100_000,
        compression,
        ..Settings::default()
    }
}

/// Numbers without a pattern, the same each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

struct World {
    edge: EdgeLink,
    origin: OriginLink,
    now: Duration,
    /// Bytes under way to the origin and to the edge; `None` while there is no connection.
    line: Option<[VecDeque<u8>; 2]>,
    /// What the origin has read of a greeting.
    unread: Option<Vec<u8>>,
}

const SESSION: SessionId = SessionId([7; 16]);

impl World {
    fn new(compression: i32) -> World {
        World {
            edge: Link::edge(settings(compression), "edge", SESSION, Duration::ZERO),
            origin: Link::origin(settings(compression), "origin", SESSION, Duration::ZERO),
            now: Duration::ZERO,
            line: None,
            unread: None,
        }
    }

    fn connect(&mut self) {
        self.edge.connected(self.now);
        self.line = Some(Default::default());
        self.unread = Some(Vec::new());
    }

    fn cut(&mut self) {
        self.line = None;
        self.edge.disconnected(self.now);
        self.origin.disconnected(self.now);
    }

    /// Both ends put what they may on the line, as far as it takes any.
    fn put(&mut self, line_bytes: usize) {
        let Some([up, down]) = &mut self.line else { return };
        while up.len() < line_bytes && self.edge.has_output() {
            up.extend(self.edge.take_output(4096));
        }
        while self.unread.is_none() && down.len() < line_bytes && self.origin.has_output() {
            down.extend(self.origin.take_output(4096));
        }
    }

    /// So many bytes arrive.
    fn carry(&mut self, to_origin: usize, to_edge: usize) -> Result<(), LinkError> {
        let Some([up, down]) = &mut self.line else { return Ok(()) };
        let up: Vec<u8> = up.drain(..to_origin.min(up.len())).collect();
        let down: Vec<u8> = down.drain(..to_edge.min(down.len())).collect();
        let mut up = up;
        if let Some(unread) = &mut self.unread {
            unread.extend(up);
            let Some((Greeting::Hello(hello), length)) = Greeting::decode(unread)? else { return Ok(()) };
            up = unread.split_off(length);
            self.unread = None;
            self.origin.accept(&hello, self.now)?;
        }
        self.origin.receive(&up, self.now)?;
        if !down.is_empty() {
            self.edge.receive(&down, self.now)?;
        }
        Ok(())
    }

    /// All that can be said is said and heard, acknowledgements included.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            self.put(usize::MAX);
            self.carry(usize::MAX, usize::MAX).unwrap();
            if !self.edge.has_output() && !self.origin.has_output() {
                let before = self.now;
                self.now += ACKNOWLEDGE_AFTER;
                self.edge.handle_timeout(self.now).unwrap();
                self.origin.handle_timeout(self.now).unwrap();
                if !self.edge.has_output() && !self.origin.has_output() {
                    self.now = before;
                    return;
                }
            }
        }
        panic!("the ends never come to rest");
    }
}

fn ask(channel: u32, number: u32, length: usize) -> ToOrigin {
    let ask = Ask::Relay { id: RequestId(number), object: 0, packet: vec![number as u8; length] };
    ToOrigin::On { channel: Channel(channel), ask }
}

fn reply(channel: u32, number: u32, length: usize) -> ToEdge {
    let tell = Tell::Reply { id: RequestId(number), packets: vec![number as u8; length] };
    ToEdge::On { channel: Channel(channel), tell }
}

fn rows(channel: u32, number: u32, length: usize) -> ToEdge {
    let tell = Tell::Rows { cursor: Cursor(number), packets: vec![number as u8; length], rows: 1, end: None };
    ToEdge::On { channel: Channel(channel), tell }
}

fn blob(channel: u32, number: u32, length: usize) -> ToEdge {
    let tell = Tell::Blob {
        cursor: Cursor(1),
        blob: u64::from(number),
        information: None,
        offset: 0,
        segments: vec![number as u8; length],
        is_last: true,
    };
    ToEdge::On { channel: Channel(channel), tell }
}

/// The number that the functions above put in, and whether the message keeps the order of what is pushed.
fn number(message: &ToEdge) -> (u32, u32, bool) {
    match message {
        ToEdge::On { channel, tell: Tell::Reply { id, .. } } => (channel.0, id.0, false),
        ToEdge::On { channel, tell: Tell::Rows { cursor, .. } } => (channel.0, cursor.0, true),
        ToEdge::On { channel, tell: Tell::Blob { blob, .. } } => {
            (channel.0, u32::try_from(*blob).unwrap(), true)
        }
        other => panic!("{other:?} was not sent"),
    }
}

fn take_all(edge: &mut EdgeLink) -> Vec<(u32, u32, bool)> {
    let mut all = Vec::new();
    while let Some((message, charge)) = edge.take_message() {
        let seen = number(&message);
        edge.taken(Channel(seen.0), charge);
        all.push(seen);
    }
    all
}

#[test]
fn messages_arrive_once_and_in_order_whatever_is_cut() {
    for seed in 0..60 {
        let mut numbers = Numbers(seed);
        let mut world = World::new((seed % 2) as i32);
        let (mut sent_up, mut sent_down) = (Vec::new(), Vec::new());
        let (mut got_up, mut got_down) = (Vec::new(), Vec::new());
        for step in 0..600_u32 {
            world.now += Duration::from_millis(numbers.next(60) as u64);
            match numbers.next(12) {
                0 if world.line.is_some() => world.cut(),
                0..=2 if world.line.is_none() => world.connect(),
                3 | 4 => {
                    let message = ask(numbers.next(4) as u32, step, numbers.next(9000));
                    world.edge.send(&message);
                    sent_up.push(message);
                }
                5..=7 => {
                    let (channel, length) = (numbers.next(4) as u32, numbers.next(40_000));
                    let message = match numbers.next(3) {
                        0 => reply(channel, step, length),
                        1 => rows(channel, step, length),
                        _ => blob(channel, step, length),
                    };
                    world.origin.send(&message);
                    sent_down.push(number(&message));
                }
                _ => {
                    world.put(numbers.next(50_000));
                    world.carry(numbers.next(20_000), numbers.next(60_000)).unwrap();
                }
            }
            if world.line.is_some() {
                world.edge.handle_timeout(world.now).unwrap();
                world.origin.handle_timeout(world.now).unwrap();
            }
            if numbers.next(3) == 0 {
                got_down.extend(take_all(&mut world.edge));
                while let Some((message, charge)) = world.origin.take_message() {
                    world.origin.taken(message.channel().unwrap(), charge);
                    got_up.push(message);
                }
            }
        }
        if world.line.is_none() {
            world.connect();
        }
        for _ in 0..200 {
            if got_up.len() == sent_up.len() && got_down.len() == sent_down.len() {
                break;
            }
            world.settle();
            got_down.extend(take_all(&mut world.edge));
            while let Some((message, charge)) = world.origin.take_message() {
                world.origin.taken(message.channel().unwrap(), charge);
                got_up.push(message);
            }
        }
        for channel in 0..4 {
            let of = |all: &[ToOrigin]| -> Vec<ToOrigin> {
                all.iter().filter(|one| one.channel() == Some(Channel(channel))).cloned().collect()
            };
            assert_eq!(of(&got_up), of(&sent_up), "seed {seed}");
            for is_pushed in [false, true] {
                let of = |all: &[(u32, u32, bool)]| -> Vec<(u32, u32, bool)> {
                    all.iter().filter(|one| one.0 == channel && one.2 == is_pushed).copied().collect()
                };
                assert_eq!(
                    of(&got_down),
                    of(&sent_down),
                    "seed {seed}, channel {channel}, pushed {is_pushed}"
                );
            }
        }
        assert_eq!(got_down.len(), sent_down.len());
        while let Some(event) = world.edge.take_event() {
            assert_ne!(event, Event::Over);
        }
    }
}

#[test]
fn answers_overtake_rows_and_rows_overtake_blobs() {
    let mut world = World::new(0);
    world.connect();
    world.settle();
    world.origin.send(&blob(1, 1, 15_000));
    world.origin.send(&rows(2, 2, 15_000));
    world.origin.send(&reply(3, 3, 100));
    world.settle();
    let order: Vec<u32> = take_all(&mut world.edge).into_iter().map(|seen| seen.1).collect();
    assert_eq!(order, [3, 2, 1]);
}

#[test]
fn nothing_starves() {
    let mut world = World::new(0);
    world.connect();
    world.settle();
    for number in 0..30 {
        world.origin.send(&reply(1, number, 1000));
    }
    for number in 100..110 {
        world.origin.send(&rows(2, number, 1000));
    }
    world.origin.send(&blob(3, 200, 1000));
    world.settle();
    let order: Vec<u32> = take_all(&mut world.edge).into_iter().map(|seen| seen.1).collect();
    let place = |number: u32| order.iter().position(|one| *one == number).unwrap();
    assert!(place(100) < place(29), "rows have a turn among answers: {order:?}");
    assert!(place(200) < place(109), "so have blobs among rows: {order:?}");
}

#[test]
fn a_program_that_does_not_read_holds_up_nobody_else() {
    let mut world = World::new(1);
    world.connect();
    world.settle();
    for number in 0..50 {
        world.origin.send(&rows(1, number, 4000));
        world.origin.send(&rows(2, 1000 + number, 4000));
    }
    let (mut idle, mut busy) = (0, 0);
    for _ in 0..100 {
        world.settle();
        while let Some((message, charge)) = world.edge.take_message() {
            match number(&message) {
                (1, ..) => idle += 1,
                (channel, ..) => {
                    world.edge.taken(Channel(channel), charge);
                    busy += 1;
                }
            }
        }
    }
    assert_eq!(busy, 50);
    assert!(idle <= 6, "{idle} messages of 4,000 bytes within 16 KiB");
    assert!(world.origin.queued(Channel(1)) > 100_000 && world.origin.queued(Channel(2)) == 0);
    world.origin.forget(Channel(1), true);
    assert_eq!(world.origin.queued(Channel(1)), 0);
}

#[test]
fn silence_is_noticed_and_the_session_is_over_when_nobody_comes_back() {
    let mut world = World::new(1);
    world.connect();
    world.settle();
    let mut failure = None;
    for _ in 0..60 {
        world.now += Duration::from_secs(1);
        if let Err(error) = world.edge.handle_timeout(world.now) {
            failure = Some(error);
            break;
        }
        world.edge.take_output(4096);
    }
    assert_eq!(failure, Some(LinkError::Silent(Duration::from_secs(15))));
    world.cut();
    world.edge.send(&ask(1, 1, 10));
    while world.edge.take_event().is_some() {}
    world.now += Settings::default().resume;
    assert!(world.edge.poll_timeout().unwrap() <= world.now);
    world.edge.handle_timeout(world.now).unwrap();
    assert_eq!(world.edge.take_event(), Some(Event::Over));
    assert_eq!(world.edge.queued_in_all(), 0);
}

#[test]
fn an_origin_that_has_forgotten_the_session_ends_it() {
    let mut world = World::new(1);
    world.connect();
    world.edge.send(&ask(1, 1, 10));
    world.settle();
    assert!(world.origin.take_message().is_some());
    world.cut();
    world.origin = Link::origin(settings(1), "origin", SESSION, world.now);
    world.edge.send(&ask(1, 2, 10));
    while world.edge.take_event().is_some() {}
    world.connect();
    world.settle();
    assert_eq!(world.edge.take_event(), Some(Event::Over));
    assert!(matches!(world.edge.take_event(), Some(Event::Established { is_resumed: false, .. })));
    assert!(world.origin.take_message().is_none(), "what was asked in the old session");
    world.edge.send(&ask(2, 3, 10));
    world.settle();
    assert_eq!(world.origin.take_message().unwrap().0, ask(2, 3, 10));
}

/// A new origin has heard of the session, and the edge not of it: what the edge has from the origin before is not taken for the new one's.
#[test]
fn an_origin_whose_first_answer_is_lost_is_not_taken_for_the_one_before() {
    for messages in [0, 1, 3] {
        let mut world = World::new(1);
        world.connect();
        for number in 0..messages {
            world.edge.send(&ask(1, number, 10));
        }
        world.settle();
        world.cut();
        world.origin = Link::origin(settings(1), "origin", SESSION, world.now);
        while world.edge.take_event().is_some() {}
        for _ in 0..3 {
            world.connect();
            world.put(usize::MAX);
            world.carry(usize::MAX, 0).unwrap();
            world.cut();
        }
        world.connect();
        world.settle();
        assert_eq!(world.edge.take_event(), Some(Event::Over), "after {messages} messages");
        assert!(matches!(world.edge.take_event(), Some(Event::Established { is_resumed: false, .. })));
        while world.origin.take_event().is_some() {}
        world.edge.send(&ask(2, 9, 10));
        world.settle();
        assert_eq!(world.origin.take_message().unwrap().0, ask(2, 9, 10));
        // From here on it is the edge's.
        world.cut();
        world.edge.send(&ask(2, 10, 10));
        world.connect();
        world.settle();
        assert!(matches!(world.edge.take_event(), Some(Event::Established { is_resumed: true, .. })));
        assert_eq!(world.origin.take_message().unwrap().0, ask(2, 10, 10));
    }
}

#[test]
fn who_leaves_ends_the_session_at_once() {
    let mut world = World::new(1);
    world.connect();
    world.settle();
    world.edge.leave("shut down");
    world.put(usize::MAX);
    assert_eq!(world.carry(usize::MAX, 0), Err(LinkError::Left("shut down".to_owned())));
    let events: Vec<Event> = std::iter::from_fn(|| world.origin.take_event()).collect();
    assert_eq!(events.last(), Some(&Event::Over));
}

#[test]
fn a_peer_that_ignores_credits_is_shown_the_door() {
    let mut world = World::new(1);
    world.connect();
    world.settle();
    let mut sender = Compressor::new(1).unwrap();
    let mut state = None;
    // A new connection of a hostile edge: a lawful greeting, then more than anybody asked for.
    world.cut();
    world.connect();
    world.put(usize::MAX);
    world.carry(usize::MAX, 0).unwrap();
    let message = ask(1, 1, 90_000).encode();
    for _ in 0..20 {
        let (mut plain, mut wire) = (Vec::new(), Vec::new());
        for (index, piece) in message.chunks(16_000).enumerate() {
            let is_last = (index + 1) * 16_000 >= message.len();
            Frame::Fragment { lane: 1, is_last, bytes: piece }.encode(&mut plain);
        }
        sender.compress(&plain, &mut wire).unwrap();
        if let Err(error) = world.origin.receive(&wire, world.now) {
            state = Some(error);
            break;
        }
    }
    assert_eq!(state, Some(LinkError::Misbehaved("credit of a channel")));
    let mut world = World::new(1);
    world.connect();
    world.settle();
    assert!(world.origin.receive(&[0xAB; 100], world.now).is_err());
    assert!(world.origin.receive(&[], world.now).is_err(), "it stays so");
}

#[test]
fn refusals_say_why() {
    let mut world = World::new(1);
    world.connect();
    world.edge.take_output(4096);
    let refusal = OriginLink::refusal("revoked");
    assert_eq!(world.edge.receive(&refusal, world.now), Err(LinkError::Refused("revoked".to_owned())));
}
