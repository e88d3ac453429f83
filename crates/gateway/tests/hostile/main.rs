//! Hostile programs, edges and origins at the sockets of an edge and an origin that run: whatever they send, nothing panics, they are turned
//! away, and others go on.
//!
//! Before the keys are proved anybody may come; behind that a peer is known and still not believed. `fuzz/fuzz_targets/farlink.rs` looks
//! inside of the bytes; here it is the tasks and their queues that are looked at. `FARBIRD_SEED` chooses other bytes.

mod servers;
mod slow;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use farbird_client::blocking::Connection;
use farbird_client::{ConnectOptions, CreateOptions, TransactionOptions, Value};
use farbird_farlink::edge::Limits;
use farbird_farlink::frame::Frame;
use farbird_farlink::link::{Greeting, Hello, SessionId, Settings};
use farbird_farlink::message::{
    Ask, Channel, CommitPoint, Cursor, NamedCommit, Relation, RequestId, Rule, Tell, ToEdge, ToOrigin,
};
use farbird_farlink::origin::Limits as ConversationLimits;
use farbird_gateway::edge::{Edge, EdgeOptions};
use farbird_gateway::origin::{Origin, OriginOptions};
use farbird_gateway::pairing::Keys;
use farbird_gateway::transport::{Acceptor, Dialer, Transport};
use farbird_server::Server;
use farbird_server::config::{Config, Overrides};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Runtime;
use tokio::time::timeout;

const PASSWORD: &str = "masterkey";
/// No step takes as long on any machine; one that would wait for ever fails instead.
const PATIENCE: Duration = Duration::from_secs(60);
const ANYWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// SplitMix64.
struct Random(u64);

impl Random {
    fn new(number: u64) -> Random {
        let seed = std::env::var("FARBIRD_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0_u64);
        println!("FARBIRD_SEED={seed}");
        Random(seed.wrapping_mul(1_000).wrapping_add(number))
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        let length = self.below(most);
        (0..length).map(|_| u8::try_from(self.below(256)).unwrap()).collect()
    }
}

/// Most memory that this process may ever have taken, honest programs and all.
const MEMORY_KIB_MAX: u64 = 1 << 20;

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// A panic in a task ends that task alone, and nobody would notice: here it is counted.
fn watch_panics() {
    static WATCHING: Once = Once::new();
    WATCHING.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANICS.fetch_add(1, Ordering::Relaxed);
            usual(panic);
        }));
    });
}

/// Nothing has panicked, and memory is bounded (where the system says how much it was at most).
fn is_whole() {
    assert_eq!(PANICS.load(Ordering::Relaxed), 0, "something panicked");
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    if let Some(kib) = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<u64>().ok()) {
        assert!(kib < MEMORY_KIB_MAX, "{kib} KiB were taken");
    }
}

/// Edge, origin and server in this process, and a third end that the origin trusts and that is not what it should be.
struct Site {
    runtime: Runtime,
    edge: Edge,
    origin: Origin,
    server: Server,
    keys: TempDir,
}

fn keys(folder: &Path, name: &str) -> Keys {
    Keys::open_or_create(&folder.join(name), Some(name)).unwrap()
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn edge_options(origin: SocketAddr, keys: Keys, folder: &Path) -> EdgeOptions {
    EdgeOptions {
        listen: ANYWHERE,
        origin: origin.to_string(),
        transport: Transport::Tcp,
        keys,
        programs_max: 1_000,
        threads: 1,
        transaction_grace: Duration::from_millis(500),
        shutdown_grace: Duration::ZERO,
        status: None,
        status_names: Vec::new(),
        rules: folder.join("rules"),
        rules_saved_every: Duration::from_secs(600),
        link: Settings::default(),
        limits: Limits::default(),
        spill_folder: Some(folder.to_owned()),
    }
}

impl Site {
    fn start() -> Site {
        watch_panics();
        let folder = tempfile::tempdir().unwrap();
        let [near, far, foe] = ["near", "far", "foe"].map(|name| keys(folder.path(), name));
        for (one, other) in [(&near, &far), (&far, &near), (&foe, &far), (&far, &foe)] {
            one.trust(&other.line(), None).unwrap();
        }
        let runtime = runtime();
        let overrides = Overrides {
            listen: Some(ANYWHERE),
            data: Some(folder.path().join("data")),
            ..Overrides::default()
        };
        let config = Config::load(None, overrides).unwrap();
        let (server, _) = runtime.block_on(Server::start(config, Some(PASSWORD.to_owned()))).unwrap();
        let origin = runtime
            .block_on(Origin::start(OriginOptions {
                listen: ANYWHERE,
                server: server.local_address().to_string(),
                keys: far,
                sessions_max: 10,
                programs_max: 1_000,
                threads: 1,
                transaction_grace: Duration::from_millis(500),
                shutdown_grace: Duration::ZERO,
                link: Settings::default(),
                limits: ConversationLimits::default(),
                knowledge: None,
                credentials: Arc::default(),
                status: None,
                status_names: Vec::new(),
            }))
            .unwrap();
        let edge =
            runtime.block_on(Edge::start(edge_options(origin.address(), near, folder.path()))).unwrap();
        Site { runtime, edge, origin, server, keys: folder }
    }

    fn options() -> ConnectOptions {
        ConnectOptions::new("sysdba", PASSWORD)
    }

    /// A database, made and attached through the edge.
    fn create(&self) -> Connection {
        let location = format!("127.0.0.1/{}:hostile.fdb", self.edge.address().port());
        let connection = Connection::create(&location, &CreateOptions::default(), &Site::options()).unwrap();
        let transaction = connection.begin(&TransactionOptions::default()).unwrap();
        connection.run(&transaction, "create table t (id integer)").unwrap();
        connection.commit(transaction).unwrap();
        connection
    }

    /// An honest program works as ever, and so does a new one.
    fn works(&self, connection: &Connection) {
        let transaction = connection.begin(&TransactionOptions::default()).unwrap();
        connection.run(&transaction, "insert into t values (1)").unwrap();
        let rows = connection.query_all(&transaction, "select max(id) from t").unwrap();
        assert_eq!(rows, [[Value::integer(1)]]);
        connection.commit(transaction).unwrap();
        let location = format!("127.0.0.1/{}:hostile.fdb", self.edge.address().port());
        Connection::attach(&location, &Site::options()).unwrap().close().unwrap();
    }

    fn stop(self) {
        let Site { runtime, edge, origin, server, keys } = self;
        runtime.block_on(async {
            edge.shutdown().await;
            origin.shutdown().await;
            server.shutdown().await;
        });
        drop(keys);
        is_whole();
    }
}

/// What a program may begin with: an op_connect, so that what follows is looked at.
fn op_connect() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut word = |value: u32| bytes.extend_from_slice(&value.to_be_bytes());
    word(1);
    word(19);
    word(3);
    word(1);
    word(4);
    word(u32::from_be_bytes(*b"file"));
    word(1);
    word(0);
    for value in [0x800d, 1, 0, 5, 2] {
        word(value);
    }
    bytes
}

/// Waits until the other end has closed a connection, or has had its time; gives how many bytes it said.
fn drain(stream: &mut TcpStream, time: Duration) -> usize {
    stream.set_read_timeout(Some(time)).unwrap();
    let (mut buffer, mut said) = ([0; 4096], 0);
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        said += length;
    }
    said
}

#[test]
fn hostile_programs_are_turned_away() {
    let site = Site::start();
    let honest = site.create();
    let mut random = Random::new(1);
    let mut slow = Vec::new();
    for round in 0..120 {
        let mut stream = TcpStream::connect(site.edge.address()).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        let mut bytes = match round % 3 {
            0 => Vec::new(),
            _ => op_connect(),
        };
        match round % 6 {
            // Anything at all, and packets that begin well.
            0 | 1 => bytes.extend(random.bytes(3_000)),
            2 => {
                for _ in 0..random.below(40) {
                    let operation = u32::try_from(random.below(120)).unwrap();
                    bytes.extend_from_slice(&operation.to_be_bytes());
                    bytes.extend(random.bytes(60));
                }
            }
            // Lengths beyond everything.
            3 => {
                for _ in 0..8 {
                    bytes.extend_from_slice(&19_u32.to_be_bytes());
                    bytes.extend_from_slice(&0x7FFF_FFFF_u32.to_be_bytes());
                }
            }
            // Cut off in the middle.
            4 => bytes.truncate(usize::try_from(random.below(bytes.len() as u64 + 1)).unwrap()),
            // A drop at a time, and then nothing.
            _ => {
                for byte in bytes.drain(..).take(20) {
                    let _ = stream.write_all(&[byte]);
                }
                slow.push(stream);
                continue;
            }
        }
        let _ = stream.write_all(&bytes);
        if round % 2 == 0 {
            drain(&mut stream, Duration::from_millis(5));
        }
    }
    site.works(&honest);
    // Endless: more than anybody keeps, until it is turned away or nobody takes any more.
    let mut endless = TcpStream::connect(site.edge.address()).unwrap();
    endless.set_write_timeout(Some(Duration::from_secs(2))).unwrap();
    endless.write_all(&op_connect()).unwrap();
    let chunk = vec![0x41; 1 << 20];
    let taken = (0..600).take_while(|_| endless.write_all(&chunk).is_ok()).count();
    assert!(taken < 300, "{taken} MiB of nothing were taken");
    site.works(&honest);
    let end = Instant::now() + PATIENCE;
    while site.edge.status().programs >= 100 {
        assert!(Instant::now() < end, "programs that are gone are kept");
        std::thread::sleep(Duration::from_millis(10));
    }
    drop((slow, endless));
    honest.close().unwrap();
    site.stop();
}

/// Anybody at the origin's socket, before keys are proved.
#[test]
fn strangers_at_the_origin_are_turned_away() {
    let site = Site::start();
    let honest = site.create();
    let mut random = Random::new(2);
    let mut silent = Vec::new();
    for round in 0..90 {
        let mut stream = TcpStream::connect(site.origin.address()).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        match round % 3 {
            0 => drop(stream.write_all(&random.bytes(5_000))),
            // The head of a TLS record, and what does not belong there.
            1 => {
                let _ = stream.write_all(&[22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc]);
                let _ = stream.write_all(&random.bytes(20_000));
            }
            _ => silent.push(stream),
        }
    }
    let strange = keys(site.keys.path(), "stranger");
    strange.trust(&keys(site.keys.path(), "far").line(), None).unwrap();
    let dialer = Dialer::new(&site.origin.address().to_string(), Transport::Tcp, &strange).unwrap();
    site.runtime.block_on(async {
        // In TLS 1.3 the dialer may hear of it only when it reads.
        if let Ok(mut connection) = dialer.connect().await {
            let mut buffer = [0; 16];
            let heard = timeout(PATIENCE, connection.reader.read(&mut buffer)).await.unwrap();
            assert!(matches!(heard, Ok(0) | Err(_)), "a stranger was heard: {heard:?}");
        }
    });
    site.works(&honest);
    drop(silent);
    honest.close().unwrap();
    site.stop();
}

fn hello(random: &mut Random) -> Hello {
    Hello {
        name: "foe".to_owned(),
        software: "hostile".to_owned(),
        session: SessionId(std::array::from_fn(|_| u8::try_from(random.below(256)).unwrap())),
        resumes: random.below(2) == 0,
        greeting: 1,
        begun_by: None,
        received: random.below(3),
        window: u32::try_from(random.below(1 << 20)).unwrap(),
        channel_window: u32::try_from(random.below(1 << 20)).unwrap(),
        message_bytes: 1 << 20,
        is_compressed: random.below(4) == 0,
    }
}

/// A message in its fragments.
fn fragments(lane: u8, message: &[u8], out: &mut Vec<u8>) {
    let mut pieces = message.chunks(8_000).peekable();
    while let Some(bytes) = pieces.next() {
        Frame::Fragment { lane, is_last: pieces.peek().is_none(), bytes }.encode(out);
    }
}

/// Anything that an edge could ask.
fn any_ask(random: &mut Random) -> ToOrigin {
    let channel = Channel(u32::try_from(random.below(4)).unwrap());
    let id = RequestId(u32::try_from(random.below(5)).unwrap());
    let object = u16::try_from(random.below(8)).unwrap();
    let cursor = Cursor(u32::try_from(random.below(4)).unwrap());
    let packet = match random.below(3) {
        0 => random.bytes(100),
        _ => {
            let operation = u32::try_from(random.below(110)).unwrap();
            [&operation.to_be_bytes()[..], &vec![0; 4 * usize::try_from(random.below(12)).unwrap()]].concat()
        }
    };
    let ask = match random.below(12) {
        0 => {
            let connect = if random.below(3) == 0 { random.bytes(200) } else { op_connect() };
            return ToOrigin::Open { channel, connect, peer: "nowhere".to_owned(), ticket: None, pass: None };
        }
        1 if random.below(2) == 0 => {
            let commit = NamedCommit { name: [7; 16], since: CommitPoint(random.below(9)) };
            let (file, guid) = (random.bytes(20), "{}".to_owned());
            return ToOrigin::Outcome { channel, file, guid, commit };
        }
        1 => return ToOrigin::Close { channel },
        2 => Ask::Quiet { object, packet },
        3 => Ask::Credit { cursor, bytes: u32::MAX },
        4 => Ask::CloseCursor { cursor },
        5 => Ask::AheadCredit { outer: cursor, statements: u32::MAX },
        6 => Ask::OpenBlob { id, cursor, packet, credit: u32::MAX },
        7 => Ask::Cancel { kind: object },
        8 => Ask::Write { id, packet },
        9 => Ask::Undo { id, packet },
        _ => Ask::Relay { id, object, packet },
    };
    ToOrigin::On { channel, ask }
}

/// An end that the origin trusts, and that says anything.
#[test]
fn hostile_edges_end_their_own_sessions() {
    let site = Site::start();
    let honest = site.create();
    let foe = keys(site.keys.path(), "foe");
    let dialer = Dialer::new(&site.origin.address().to_string(), Transport::Tcp, &foe).unwrap();
    let mut random = Random::new(3);
    for round in 0..60 {
        let mut bytes = match round % 10 {
            0 => random.bytes(2_000),
            _ => Greeting::Hello(hello(&mut random)).encode(),
        };
        match round % 5 {
            0 => bytes.extend(random.bytes(20_000)),
            1 | 2 => {
                for _ in 0..random.below(60) {
                    let message = any_ask(&mut random);
                    let is_first = matches!(message, ToOrigin::On { ask: Ask::Cancel { .. }, .. });
                    fragments(u8::from(!is_first), &message.encode(), &mut bytes);
                }
            }
            // Acknowledged was what was never sent; a message that never ends.
            3 => {
                Frame::Acknowledge { messages: u64::MAX, bytes: u64::MAX }.encode(&mut bytes);
                Frame::Credit { channel: Channel(1), bytes: u64::MAX }.encode(&mut bytes);
            }
            _ => {
                for _ in 0..2_000 {
                    Frame::Fragment { lane: 1, is_last: false, bytes: &[7; 8_000] }.encode(&mut bytes);
                }
            }
        }
        site.runtime.block_on(async {
            let mut connection = dialer.connect().await.unwrap();
            let talk = async {
                if connection.writer.write_all(&bytes).await.is_err() {
                    return;
                }
                let _ = connection.writer.flush().await;
                let mut buffer = vec![0; 4_096];
                let _ = timeout(Duration::from_millis(20), connection.reader.read(&mut buffer)).await;
            };
            timeout(PATIENCE, talk).await.expect("the origin does not read any more");
        });
        if round % 20 == 19 {
            site.works(&honest);
        }
    }
    site.works(&honest);
    honest.close().unwrap();
    site.stop();
}

/// Anything that an origin could tell.
fn any_tell(random: &mut Random) -> (u8, ToEdge) {
    let channel = Channel(u32::try_from(random.below(4)).unwrap());
    let cursor = Cursor(u32::try_from(random.below(4)).unwrap());
    let packets = random.bytes(200);
    match random.below(9) {
        0 => (0, ToEdge::Closed { channel, reason: "\u{7}".repeat(1_000) }),
        1 => (0, ToEdge::Invalidate { database: 0 }),
        2 => {
            let relations =
                (0..random.below(500)).map(|number| Relation(u32::try_from(number).unwrap())).collect();
            (0, ToEdge::Notice { database: 1, commit: CommitPoint(u64::MAX), relations })
        }
        3 => (0, ToEdge::Welcome { is_farbird: random.below(2) == 0, server: "x".repeat(10_000) }),
        4 => (1, ToEdge::On { channel, tell: Tell::Rows { cursor, packets, rows: u32::MAX, end: None } }),
        5 => {
            let tell =
                Tell::NotAhead { outer: cursor, rule: Rule(9), blr: packets.clone(), parameters: packets };
            (1, ToEdge::On { channel, tell })
        }
        6 => (0, ToEdge::On { channel, tell: Tell::Key { key: packets } }),
        _ => {
            let id = RequestId(u32::try_from(random.below(4)).unwrap());
            (0, ToEdge::On { channel, tell: Tell::Reply { id, packets } })
        }
    }
}

/// An origin that the edge trusts, and that says anything: programs are turned away, the edge dials again, and goes on with an honest
/// one at the same place.
#[test]
fn hostile_origins_are_left() {
    watch_panics();
    let folder = tempfile::tempdir().unwrap();
    let [near, far] = ["near", "far"].map(|name| keys(folder.path(), name));
    near.trust(&far.line(), None).unwrap();
    far.trust(&near.line(), None).unwrap();
    let runtime = runtime();
    let mut random = Random::new(4);
    runtime.block_on(async {
        let mut acceptor = Acceptor::new(ANYWHERE, &far).await.unwrap();
        let edge = Edge::start(edge_options(acceptor.address(), near, folder.path())).await.unwrap();
        for round in 0..12 {
            let mut program = tokio::net::TcpStream::connect(edge.address()).await.unwrap();
            program.write_all(&op_connect()).await.unwrap();
            let begun = Instant::now();
            let mut connection =
                timeout(PATIENCE, acceptor.accept()).await.expect("the edge does not dial again").unwrap();
            let mut said = vec![0; 8_192];
            let mut length = 0;
            let edges = loop {
                length +=
                    timeout(PATIENCE, connection.reader.read(&mut said[length..])).await.unwrap().unwrap();
                match Greeting::decode(&said[..length]).unwrap() {
                    Some((Greeting::Hello(hello), _)) => break hello,
                    Some(other) => panic!("{other:?}"),
                    None => {}
                }
            };
            let session = if round % 6 == 5 { SessionId([0; 16]) } else { edges.session };
            let mut bytes = Greeting::Hello(Hello {
                session,
                is_compressed: false,
                resumes: false,
                greeting: 1,
                begun_by: None,
                received: 0,
                ..hello(&mut random)
            })
            .encode();
            match round % 4 {
                0 => bytes.extend(random.bytes(10_000)),
                1 => bytes = random.bytes(5_000),
                _ => {
                    for _ in 0..300 {
                        let (lane, message) = any_tell(&mut random);
                        fragments(lane, &message.encode(), &mut bytes);
                    }
                }
            }
            let _ = connection.writer.write_all(&bytes).await;
            let _ = connection.writer.flush().await;
            // A program is told, or turned away; it does not wait for ever.
            let mut heard = Vec::new();
            let _ = timeout(Duration::from_millis(300), program.read_to_end(&mut heard)).await;
            drop(connection);
            assert!(begun.elapsed() < 2 * PATIENCE);
        }
        // It is still there for programs.
        assert!(tokio::net::TcpStream::connect(edge.address()).await.is_ok());
        edge.shutdown().await;
    });
    is_whole();
}
