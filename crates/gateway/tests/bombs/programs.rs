//! Bombs of programs: wire compression, a thousand to one.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use farbird_types::Value;
use farbird_wire::auth::AuthPlugin;
use farbird_wire::auth::srp::ClientLogin;
use farbird_wire::counters::Counters;
use farbird_wire::layers::Outgoing;
use farbird_wire::message::MessageRun;
use farbird_wire::negotiation::{UserIdentification, WireCrypt, offers};
use farbird_wire::packet::{BatchCreate, BatchMessages, Connect, Request};
use farbird_wire::protocol::{Handle, ProtocolVersion};

use crate::common::{Client, Login};
use crate::site::{DATABASE, Site};
use crate::{BOMB_BYTES, Memory, PATIENCE, SWARM_BYTES};

/// How long a program that reads nothing tries to get rid of more.
const UNTAKEN: Duration = Duration::from_millis(500);
const PIECE_BYTES: usize = 1 << 20;

/// Plain bytes: a head, and a piece that is said again and again.
struct Bomb {
    name: &'static str,
    head: Vec<u8>,
    piece: Vec<u8>,
    bytes: usize,
}

impl Bomb {
    fn new(name: &'static str, head: &[u32], piece: &[u32]) -> Bomb {
        let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
        let piece = bytes(piece);
        // One packet that goes on, or many.
        let size = if head.is_empty() { SWARM_BYTES } else { BOMB_BYTES };
        Bomb { name, head: bytes(head), piece: piece.repeat(PIECE_BYTES / piece.len()), bytes: size }
    }

    /// What anybody can say.
    fn plain() -> Vec<Bomb> {
        vec![
            Bomb::new("nothing", &[], &[0]),
            Bomb::new("dummies", &[], &[71]),
            Bomb::new("pings", &[], &[93]),
            Bomb::new("handles", &[], &[62, 0]),
            // A statement's text of two gigabytes, and one that never ends of 60 MiB each.
            Bomb::new("long text", &[68, 0, 0, 3, 0x7FFF_FFF0], &[0x6161_6161]),
            Bomb::new("text", &[68, 0, 0, 3, 60 << 20], &[0x2020_2020]),
            // The answer to a question that nobody has asked, as a login's step.
            Bomb::new("proof", &[92, 0x7FFF_FFF0], &[0x6161_6161]),
            Bomb::new("questions", &[], &[40, 0, 0, 4, 0x2020_2020, 0x7FFF_FFFF]),
        ]
    }
}

/// The sending side of a hostile program.
trait Foe {
    fn stream(&mut self) -> &mut TcpStream;
    fn pack(&mut self, plain: &[u8]) -> Vec<u8>;

    /// Says it all, as far as anybody takes it, and reads nothing. Gives whether the connection was closed.
    fn throw(&mut self, bomb: &Bomb) -> bool {
        self.stream().set_write_timeout(Some(UNTAKEN)).unwrap();
        let head = self.pack(&bomb.head);
        let mut said = self.stream().write_all(&head);
        for _ in 0..bomb.bytes / bomb.piece.len() {
            if said.is_err() {
                break;
            }
            let packed = self.pack(&bomb.piece);
            said = self.stream().write_all(&packed);
        }
        said.is_err_and(|error| !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
    }
}

/// One that has not logged in, and need not.
struct Stranger {
    stream: TcpStream,
    outgoing: Outgoing,
}

impl Stranger {
    fn connect(address: SocketAddr) -> Stranger {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let plugin = AuthPlugin::ALL[0];
        let identification = UserIdentification {
            user: b"foe".to_vec(),
            host: b"foe".to_vec(),
            login: Some(b"sysdba".to_vec()),
            plugin: Some(plugin.name().into()),
            plugin_list: Some(plugin.name().into()),
            specific_data: Some(ClientLogin::new([0x5B; 32]).public_key().into_bytes()),
            wire_crypt: WireCrypt::Disabled,
            ..UserIdentification::default()
        };
        let connect = Request::Connect(Connect {
            operation: 0,
            version: 3,
            architecture: 1,
            file: DATABASE.into(),
            user_identification: identification.to_bytes(),
            offers: offers(ProtocolVersion::V13, ProtocolVersion::V19, true),
        });
        let mut packet = Vec::new();
        connect.encode(ProtocolVersion::V13, &mut packet);
        stream.write_all(&packet).unwrap();
        // It is accepted, and what follows is compressed.
        let mut accepted = [0; 16];
        stream.read_exact(&mut accepted).unwrap();
        assert!(matches!(accepted[3], 94 | 98), "neither op_accept_data nor op_cond_accept: {accepted:?}");
        assert_eq!(accepted[14..], [1, 5], "compressed");
        let mut outgoing = Outgoing::default();
        outgoing.compress();
        Stranger { stream, outgoing }
    }
}

impl Foe for Stranger {
    fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    fn pack(&mut self, plain: &[u8]) -> Vec<u8> {
        let mut packed = Vec::new();
        self.outgoing.send(plain, &mut Counters::default(), &mut packed).unwrap();
        packed
    }
}

impl Foe for Client {
    fn stream(&mut self) -> &mut TcpStream {
        self.socket()
    }

    fn pack(&mut self, plain: &[u8]) -> Vec<u8> {
        self.packed(plain)
    }
}

#[test]
fn programs_that_have_not_logged_in() {
    let site = Site::start();
    let mut memory = Memory::watch();
    for bomb in Bomb::plain() {
        for (way, address) in site.ways() {
            let mut foe = Stranger::connect(address);
            foe.throw(&bomb);
            // Who is not logged in gets rid of next to nothing.
            let _ = foe.stream.set_read_timeout(Some(UNTAKEN));
            drop(foe);
            site.is_left();
            memory.is_bounded(&format!("{} of a stranger at the {way}", bomb.name));
        }
        site.works();
    }
    site.stop();
}

#[test]
fn programs_that_have_logged_in() {
    let site = Site::start();
    let mut memory = Memory::watch();
    for (way, address) in site.ways() {
        for number in 0.. {
            let login = Login { compress: true, ..Login::default() };
            let mut foe = Client::log_in(address, &login).unwrap();
            foe.attach(DATABASE, &[]).unwrap();
            let bombs: Vec<Bomb> = Bomb::plain().into_iter().chain(batches(&mut foe)).collect();
            let Some(bomb) = bombs.get(number) else { break };
            foe.throw(bomb);
            drop(foe);
            site.is_left();
            memory.is_bounded(&format!("{} of a program at the {way}", bomb.name));
            site.works();
        }
    }
    site.stop();
}

/// Rows for a statement: more than anybody counts, and as many as there may be.
fn batches(foe: &mut Client) -> [Bomb; 2] {
    let transaction = foe.start();
    let statement = foe.prepare(transaction, "insert into t values (?, ?)").unwrap();
    let format = statement.input.clone().unwrap();
    let create = Request::BatchCreate(BatchCreate {
        statement: statement.handle,
        blr: format.to_blr(),
        message_length: format.length(),
        parameters: vec![1],
        format: format.clone(),
    });
    let mut head = Vec::new();
    create.encode(foe.version(), &mut head);
    let mut rows = MessageRun::new(format);
    for _ in 0..4_000 {
        rows.push(&[Value::integer(1), Value::text(&" ".repeat(200))]).unwrap();
    }
    let mut piece = Vec::new();
    Request::BatchMessages(BatchMessages { statement: statement.handle, rows })
        .encode(foe.version(), &mut piece);
    let Handle(handle) = statement.handle;
    let endless: Vec<u8> =
        [100, u32::from(handle), 0x7FFF_FFFF].iter().flat_map(|word: &u32| word.to_be_bytes()).collect();
    [
        Bomb {
            name: "endless batch",
            head: [head.as_slice(), &endless].concat(),
            piece: vec![0; PIECE_BYTES],
            bytes: BOMB_BYTES,
        },
        Bomb { name: "batches", head, piece, bytes: BOMB_BYTES / 8 },
    ]
}
