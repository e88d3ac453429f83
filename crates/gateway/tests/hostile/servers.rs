//! A hostile server behind an origin: at each step of a conversation it says what no server says, too much, or nothing. The program's
//! connection ends at worst, what the origin keeps is bounded, and other programs go on.
//!
//! Which malice a program meets its database names: the same server is lawful to others.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use farbird_farlink::link::Settings;
use farbird_farlink::origin::Limits as ConversationLimits;
use farbird_gateway::edge::Edge;
use farbird_gateway::origin::{Origin, OriginOptions};
use farbird_types::Value;
use farbird_wire::decoder::{Limits as DecoderLimits, RequestDecoder};
use farbird_wire::message::{Message, MessageForm, MessageFormat, MessageType};
use farbird_wire::negotiation::offers;
use farbird_wire::operation::Operation;
use farbird_wire::packet::{
    Accept, Attach, BufferLength, Connect, Execute, Fetch, FetchResponse, Output, Reply, Request, Response,
    StatementText,
};
use farbird_wire::protocol::{ARCHITECTURE_GENERIC, Handle, ProtocolVersion};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{ANYWHERE, PATIENCE, edge_options, is_whole, keys, runtime, watch_panics};

const VERSION: ProtocolVersion = ProtocolVersion::V13;
/// What a server may get rid of for a program that does not read: one reply (`Limits::reply_bytes`), and sockets.
const UNREAD_BYTES_MAX: u64 = 192 << 20;
/// The same of rows that are pushed: more than were asked for are none.
const UNREAD_ROW_BYTES_MAX: u64 = 32 << 20;
/// How long a program waits for a server that may be silent.
const SHORT: Duration = Duration::from_millis(300);

/// What it does when it is asked for something.
const MALICES: [&str; 9] =
    ["garbage", "length", "status", "wrong", "unasked", "rows", "silence", "closes", "count"];
/// When it begins.
const STEPS: [Operation; 6] = [
    Operation::Connect,
    Operation::Attach,
    Operation::Transaction,
    Operation::PrepareStatement,
    Operation::Execute,
    Operation::Fetch,
];

/// The database of a lawful conversation.
const LAWFUL: &str = "lawful";

fn word(value: u32) -> [u8; 4] {
    value.to_be_bytes()
}

fn encoded(reply: &Reply) -> Vec<u8> {
    let mut out = Vec::new();
    reply.encode(VERSION, &mut out);
    out
}

/// What a lawful server answers. It has one table, and nothing to say of it in its catalogue.
#[derive(Default)]
struct Lawful {
    statements: u16,
    /// Statements by which an origin asks the catalogue.
    of_catalogue: HashSet<Handle>,
}

impl Lawful {
    fn answer(&mut self, request: &Request, decoder: &mut RequestDecoder) -> Vec<u8> {
        let reply = match request {
            Request::Connect(_) => {
                decoder.set_version(VERSION);
                let version = VERSION.to_wire();
                Reply::Accept(Accept { version, architecture: ARCHITECTURE_GENERIC, connection_type: 5 })
            }
            Request::StartTransaction { .. } => Reply::Response(Response::object(Handle(7))),
            Request::AllocateStatement(_) => {
                let statement = Handle(8 + self.statements);
                self.statements += 1;
                decoder.statement_allocated(statement);
                Reply::Response(Response::object(statement))
            }
            Request::Prepare(text) => {
                if String::from_utf8_lossy(&text.sql).contains("rdb$") {
                    self.of_catalogue.insert(text.statement);
                }
                Reply::Response(Response::data(Handle(0), vec![21, 4, 0, 1, 0, 0, 0, 1]))
            }
            Request::Execute(_) => Reply::Response(Response::object(Handle(7))),
            Request::Fetch(fetch) if !self.of_catalogue.contains(&fetch.statement) => {
                return [row(), encoded(&Reply::FetchResponse(FetchResponse::END_OF_CURSOR))].concat();
            }
            Request::Fetch(_) => Reply::FetchResponse(FetchResponse::END_OF_CURSOR),
            _ => Reply::Response(Response::success()),
        };
        encoded(&reply)
    }
}

fn format() -> Arc<MessageFormat> {
    Arc::new(MessageFormat::from_columns([MessageType::Long { scale: 0 }]))
}

fn row() -> Vec<u8> {
    let message = Message::new(format(), MessageForm::of_sql(VERSION), &[Value::integer(1)]).unwrap();
    encoded(&Reply::FetchResponse(FetchResponse { status: 0, message: Some(message) }))
}

/// Says what it says until nobody takes it any more; `None` if it goes on as a lawful server.
fn malice(kind: &str, stream: &mut TcpStream, said: &AtomicU64) {
    let endless = |stream: &mut TcpStream, piece: &[u8]| {
        let many = piece.repeat((64 << 10) / piece.len() + 1);
        while stream.write_all(&many).is_ok() {
            said.fetch_add(many.len() as u64, Ordering::Relaxed);
        }
    };
    let head = [word(9), word(0), word(0), word(0)].concat();
    match kind {
        "garbage" => {
            drop(stream.write_all(&(0..4_000_u32).flat_map(|n| word(n * 77_777)).collect::<Vec<_>>()))
        }
        // Data of two gigabytes, some of which come.
        "length" => {
            let _ = stream.write_all(&[&head[..], &word(0x7FFF_FFFF)].concat());
            endless(stream, b"data");
        }
        // A status vector without an end.
        "status" => {
            let _ = stream.write_all(&[&head[..], &word(0), &word(1), &word(335_544_344)].concat());
            endless(stream, &[word(4), word(1)].concat());
        }
        "wrong" => drop(stream.write_all(&[word(66), word(0), word(1), word(5), word(5)].concat())),
        "unasked" => endless(stream, &encoded(&Reply::Response(Response::success()))),
        "rows" => endless(stream, &row()),
        "count" => endless(stream, &[word(66), word(0), word(0x7FFF_FFFF)].concat()),
        "silence" => {
            // Until the origin gives up.
            let mut buffer = [0; 1024];
            while let Ok(1..) = stream.read(&mut buffer) {}
        }
        _ => {}
    }
    let _ = stream.shutdown(std::net::Shutdown::Both);
}

fn serve(mut stream: TcpStream, said: &AtomicU64) {
    let mut decoder = RequestDecoder::new(DecoderLimits::default());
    let mut buffer = [0; 16 << 10];
    let mut file = String::new();
    let mut lawful = Lawful::default();
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        decoder.feed(&buffer[..length]);
        while let Ok(Some(request)) = decoder.next_request() {
            if let Request::Connect(connect) = &request {
                file = String::from_utf8_lossy(&connect.file).into_owned();
            }
            if let Request::Attach(_) = &request {
                decoder.authenticated();
            }
            if let Some((kind, step)) = file.split_once('@')
                && step == format!("{:?}", request.operation())
            {
                return malice(kind, &mut stream, said);
            }
            if stream.write_all(&lawful.answer(&request, &mut decoder)).is_err() {
                return;
            }
        }
    }
}

/// Edge and origin before such a server.
struct Site {
    runtime: Runtime,
    edge: Edge,
    origin: Origin,
    said: Arc<AtomicU64>,
    _keys: TempDir,
}

impl Site {
    fn start() -> Site {
        watch_panics();
        let listener = TcpListener::bind(ANYWHERE).unwrap();
        let server = listener.local_addr().unwrap();
        let said = Arc::new(AtomicU64::new(0));
        let counted = said.clone();
        // Ends with the process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let said = counted.clone();
                std::thread::spawn(move || serve(stream, &said));
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let [near, far] = ["near", "far"].map(|name| keys(folder.path(), name));
        near.trust(&far.line(), None).unwrap();
        far.trust(&near.line(), None).unwrap();
        let runtime = runtime();
        let options = OriginOptions {
            listen: ANYWHERE,
            server: server.to_string(),
            keys: far,
            sessions_max: 10,
            programs_max: 1_000,
            threads: 1,
            transaction_grace: Duration::from_secs(30),
            shutdown_grace: Duration::ZERO,
            link: Settings::default(),
            limits: ConversationLimits::default(),
            knowledge: None,
            credentials: Arc::default(),
            status: None,
            status_names: Vec::new(),
        };
        let origin = runtime.block_on(Origin::start(options)).unwrap();
        let options = edge_options(origin.address(), near, folder.path());
        let edge = runtime.block_on(Edge::start(options)).unwrap();
        Site { runtime, edge, origin, said, _keys: folder }
    }

    fn program(&self, file: &str) -> Program {
        Program::connect(self.edge.address(), file)
    }

    /// A lawful conversation gets its row.
    fn works(&self) {
        let mut program = self.program(LAWFUL);
        program.runs(PATIENCE);
        let expected = [row(), encoded(&Reply::FetchResponse(FetchResponse::END_OF_CURSOR))].concat();
        let end = Instant::now() + PATIENCE;
        while !program.heard.ends_with(&expected) {
            assert!(program.listen() && Instant::now() < end, "{:?}", program.heard);
        }
    }

    /// Nothing is left of a program that is gone.
    fn is_left(&self) {
        let end = Instant::now() + PATIENCE;
        while self.origin.status().programs > 0 || self.edge.status().programs > 0 {
            assert!(Instant::now() < end, "a conversation is left: {:?}", self.origin.status());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A program that asks everything without waiting, but for its login.
struct Program {
    stream: TcpStream,
    heard: Vec<u8>,
}

impl Program {
    fn connect(edge: SocketAddr, file: &str) -> Program {
        let stream = TcpStream::connect(edge).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        let mut program = Program { stream, heard: Vec::new() };
        program.says(&[Request::Connect(Connect {
            operation: 0,
            version: 3,
            architecture: 1,
            file: file.as_bytes().to_vec(),
            user_identification: Vec::new(),
            offers: offers(ProtocolVersion::V10, VERSION, false),
        })]);
        program
    }

    fn says(&mut self, requests: &[Request]) {
        let mut bytes = Vec::new();
        requests.iter().for_each(|request| request.encode(VERSION, &mut bytes));
        // It may be closed already.
        let _ = self.stream.write_all(&bytes);
    }

    /// Hears more; gives false if the connection is closed.
    fn listen(&mut self) -> bool {
        self.stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let mut buffer = [0; 4096];
        match self.stream.read(&mut buffer) {
            Ok(0) => false,
            Ok(length) => {
                self.heard.extend_from_slice(&buffer[..length]);
                true
            }
            Err(error) => {
                matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
            }
        }
    }

    /// Waits until so many bytes have come; gives false if the server does not let them come.
    fn hears(&mut self, bytes: usize, patience: Duration) -> bool {
        let end = Instant::now() + patience;
        while self.heard.len() < bytes {
            if !self.listen() || Instant::now() > end {
                return false;
            }
        }
        true
    }

    /// Goes through all of it as far as it is let.
    fn runs(&mut self, patience: Duration) {
        // op_accept, and the op_response to op_attach.
        if !self.hears(16, patience) {
            return;
        }
        let file = b"db".to_vec();
        self.says(&[Request::Attach(Attach { database: Handle(0), file, parameters: vec![1, 28, 1, b'U'] })]);
        if !self.hears(16 + 32, patience) {
            return;
        }
        let (transaction, statement) = (Handle(1), Handle(2));
        self.says(&[
            Request::StartTransaction { database: Handle(0), tpb: vec![3, 2, 9] },
            Request::AllocateStatement(Handle(0)),
            Request::Prepare(StatementText {
                transaction,
                statement,
                dialect: 3,
                sql: b"select a from t".to_vec(),
                items: vec![21],
                buffer_length: BufferLength(1_024),
                flags: 0,
            }),
        ]);
        // Three more, the last with a description. Who executes what is not described yet has its rows relayed.
        if !self.hears(16 + 4 * 32 + 8, patience) {
            return;
        }
        self.says(&[
            Request::Execute(Execute {
                statement,
                transaction,
                input_blr: Vec::new(),
                message_number: 0,
                message: None,
                timeout_ms: 0,
                cursor_flags: 0,
                inline_blob_bytes: 0,
            }),
            Request::Fetch(Fetch { statement, output: Output::new(Some(format())), count: 10 }),
        ]);
    }
}

#[test]
fn hostile_servers_end_the_conversation_at_worst() {
    let site = Site::start();
    site.works();
    for kind in MALICES {
        for step in STEPS {
            let before = site.said.load(Ordering::Relaxed);
            let mut program = site.program(&format!("{kind}@{step:?}"));
            program.runs(SHORT);
            // Some time for it to do its worst, while the program reads nothing.
            std::thread::sleep(Duration::from_millis(30));
            drop(program);
            site.is_left();
            let said = site.said.load(Ordering::Relaxed) - before;
            assert!(said < UNREAD_BYTES_MAX, "{kind} at {step:?}: {said} bytes were taken");
        }
        site.works();
    }
    let Site { runtime, edge, origin, .. } = site;
    runtime.block_on(async {
        edge.shutdown().await;
        origin.shutdown().await;
    });
    is_whole();
}

/// Rows without an end fill what there is for them, and no more.
#[test]
fn endless_rows_stop_where_nobody_takes_them() {
    let site = Site::start();
    let mut program = site.program("rows@Fetch");
    program.runs(PATIENCE);
    let end = Instant::now() + PATIENCE;
    let mut before = u64::MAX;
    loop {
        std::thread::sleep(Duration::from_millis(500));
        let said = site.said.load(Ordering::Relaxed);
        assert!(said < UNREAD_ROW_BYTES_MAX, "{said} bytes were taken");
        if said == before || Instant::now() > end {
            break;
        }
        before = said;
    }
    site.works();
    drop(program);
    site.is_left();
    let Site { runtime, edge, origin, .. } = site;
    runtime.block_on(async {
        edge.shutdown().await;
        origin.shutdown().await;
    });
    is_whole();
}
