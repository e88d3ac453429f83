//! A gateway whose edge knows next to nothing: it gives out handles and asks the origin for everything. So what a program sees through it
//! is what the origin does.
//!
//! With [`Kind::Pushing`] it has the rows of cursors pushed, and answers op_fetch from them.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use farbird_farlink::message::{Ask, Channel, Cursor, End, Push, RequestId, Tell, ToEdge};
use farbird_farlink::origin::{Conversation, Limits};
use farbird_wire::decoder::{Limits as DecoderLimits, ReplyDecoder, RequestDecoder};
use farbird_wire::operation::Operation;
use farbird_wire::packet::{FetchResponse, Reply, Request};
use farbird_wire::protocol::{Handle, ProtocolVersion, free_statement, prepare_reply};

/// What the edge does by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing.
    Relaying,
    /// It has rows pushed.
    Pushing,
}

/// Makes connections to a Farbird server in this process, and hears what the origin tells.
pub(crate) struct Farbird {
    pub(crate) connect: Box<dyn Fn() -> UnixStream + Send + Sync>,
    pub(crate) told: Mutex<Vec<Tell>>,
}

/// Serves programs before a server, for as long as the process lives; gives where.
pub(crate) fn start(server: SocketAddr, kind: Kind, farbird: Option<Arc<Farbird>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for program in listener.incoming() {
            let Ok(program) = program else { continue };
            let farbird = farbird.clone();
            std::thread::spawn(move || serve(program, server, kind, farbird));
        }
    });
    address
}

/// A connection to the server.
enum ServerStream {
    Inside(UnixStream),
    Network(TcpStream),
}

impl ServerStream {
    fn reader(&self) -> Box<dyn Read + Send> {
        match self {
            ServerStream::Inside(stream) => Box::new(stream.try_clone().unwrap()),
            ServerStream::Network(stream) => Box::new(stream.try_clone().unwrap()),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            ServerStream::Inside(stream) => stream.write_all(bytes),
            ServerStream::Network(stream) => stream.write_all(bytes),
        }
    }

    fn shutdown(&self) {
        let _ = match self {
            ServerStream::Inside(stream) => stream.shutdown(Shutdown::Both),
            ServerStream::Network(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

enum Event {
    Program(Vec<u8>),
    Server(Vec<u8>),
    ProgramGone,
    ServerGone,
}

fn read_from(
    mut socket: impl Read + Send + 'static,
    events: Sender<Event>,
    came: fn(Vec<u8>) -> Event,
    gone: Event,
) {
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match socket.read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(read) => {
                    if events.send(came(buffer[..read].to_vec())).is_err() {
                        return;
                    }
                }
            }
        }
        let _ = events.send(gone);
    });
}

fn serve(mut program: TcpStream, server: SocketAddr, kind: Kind, farbird: Option<Arc<Farbird>>) {
    let mut server = match &farbird {
        Some(farbird) => ServerStream::Inside((farbird.connect)()),
        None => {
            let Ok(server) = TcpStream::connect(server) else { return };
            let _ = server.set_nodelay(true);
            ServerStream::Network(server)
        }
    };
    let _ = program.set_nodelay(true);
    let (sender, events): (_, Receiver<Event>) = channel();
    read_from(program.try_clone().unwrap(), sender.clone(), Event::Program, Event::ProgramGone);
    read_from(server.reader(), sender, Event::Server, Event::ServerGone);
    let mut edge = Edge::new(kind, farbird);
    let now = Duration::ZERO;
    loop {
        let event = match events.recv_timeout(PATIENCE) {
            Ok(event) => event,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                println!("nobody has said anything for {PATIENCE:?}: {:?}", edge.origin);
                println!("not answered: {:?}", edge.questions);
                break;
            }
        };
        match event {
            Event::Program(bytes) => edge.take_from_program(&bytes),
            Event::Server(mut bytes) => {
                if let Some(origin) = &mut edge.origin {
                    origin.receive(&mut bytes, now);
                }
            }
            Event::ProgramGone => break,
            Event::ServerGone => {
                if let Some(origin) = &mut edge.origin {
                    origin.server_lost("the server has closed the connection");
                }
            }
        }
        edge.take_messages();
        let is_ended = edge.is_over;
        if let Some(origin) = &mut edge.origin {
            let _ = server.write_all(&origin.take_output());
        }
        let _ = program.write_all(&std::mem::take(&mut edge.output));
        if is_ended {
            break;
        }
    }
    let _ = program.shutdown(Shutdown::Both);
    server.shutdown();
}

/// A program, a server, or this relay waits for what never comes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A question of the program, in the order in which they are to be answered.
#[derive(Debug)]
enum Question {
    /// The origin answers it.
    Asked { id: RequestId, request: Box<Request>, made: u16, answer: Option<Vec<u8>> },
    /// From the rows of a cursor.
    Fetch { statement: u16, count: u16 },
}

#[derive(Default)]
struct PushedRows {
    cursor: Option<Cursor>,
    decoder: Option<ReplyDecoder>,
    rows: VecDeque<Vec<u8>>,
    end: Option<End>,
}

struct Edge {
    kind: Kind,
    farbird: Option<Arc<Farbird>>,
    origin: Option<Conversation>,
    requests: RequestDecoder,
    version: ProtocolVersion,
    handles: BTreeSet<u16>,
    latest: u16,
    next: u32,
    questions: VecDeque<Question>,
    output: Vec<u8>,
    is_over: bool,
    /// Statements that open cursors.
    queries: BTreeSet<u16>,
    rows: HashMap<u16, PushedRows>,
    statement_of: BTreeMap<Cursor, u16>,
    /// BLOBs and their transactions: they end with them.
    transaction_of: BTreeMap<u16, u16>,
    /// BLOBs that were pushed.
    blobs: HashMap<u64, Vec<u8>>,
}

impl Edge {
    fn new(kind: Kind, farbird: Option<Arc<Farbird>>) -> Edge {
        Edge {
            kind,
            farbird,
            origin: None,
            requests: RequestDecoder::new(DecoderLimits::default()),
            version: ProtocolVersion::NEWEST,
            handles: BTreeSet::new(),
            latest: 0,
            next: 0,
            questions: VecDeque::new(),
            output: Vec::new(),
            is_over: false,
            queries: BTreeSet::new(),
            rows: HashMap::new(),
            statement_of: BTreeMap::new(),
            transaction_of: BTreeMap::new(),
            blobs: HashMap::new(),
        }
    }

    fn take_from_program(&mut self, bytes: &[u8]) {
        self.requests.feed(bytes);
        loop {
            match self.requests.next_request() {
                Ok(Some(request)) => self.request(request),
                Ok(None) => return,
                Err(_) => {
                    self.is_over = true;
                    return;
                }
            }
            // The protocol must be known before what follows can be read.
            self.take_messages();
        }
    }

    fn request(&mut self, mut request: Request) {
        match &request {
            Request::Connect(_) => {
                let mut packet = Vec::new();
                request.encode(ProtocolVersion::NEWEST, &mut packet);
                self.origin =
                    Some(Conversation::new(Limits::default(), Channel(1), &packet, self.farbird.is_some()));
                let id = RequestId::CONNECT;
                self.questions.push_back(Question::Asked {
                    id,
                    request: Box::new(request),
                    made: 0,
                    answer: None,
                });
                return;
            }
            Request::Disconnect => {
                self.is_over = true;
                return;
            }
            Request::Cancel { kind } => return self.ask(Ask::Cancel { kind: *kind }),
            _ => {}
        }
        self.resolve_latest(&mut request);
        let made = if makes(&request) { self.free_handle() } else { 0 };
        match &request {
            Request::OpenBlob { transaction, .. } | Request::CreateBlob { transaction, .. } => {
                self.transaction_of.insert(made, transaction.0);
            }
            Request::OpenBlob2(open) | Request::CreateBlob2(open) => {
                self.transaction_of.insert(made, open.transaction.0);
            }
            Request::AllocateStatement(_) => self.requests.statement_allocated(Handle(made)),
            Request::Compile { blr, .. } => self.requests.request_compiled(Handle(made), blr).unwrap(),
            _ => {}
        }
        if made != 0 && !runs(&request) {
            self.latest = made;
        }
        if self.kind == Kind::Pushing && self.pushing(&request) {
            return;
        }
        let mut packet = Vec::new();
        request.encode(self.version, &mut packet);
        self.next += 1;
        let id = RequestId(self.next);
        let is_answered = !matches!(request, Request::AbortAuxConnection | Request::Dummy);
        self.ask(Ask::Relay { id, object: made, packet });
        if is_answered {
            self.questions.push_back(Question::Asked { id, request: Box::new(request), made, answer: None });
        }
    }

    /// What an edge does that has rows pushed; gives false if the request is to be relayed.
    fn pushing(&mut self, request: &Request) -> bool {
        match request {
            Request::Execute(execute)
                if self.queries.contains(&execute.statement.0) && execute.cursor_flags == 0 =>
            {
                self.next += 1;
                let (id, cursor) = (RequestId(self.next), Cursor(self.next));
                let mut packet = Vec::new();
                request.encode(self.version, &mut packet);
                self.ask(Ask::Open { id, cursor, packet, push: None, question: None, ahead: Vec::new() });
                let rows = PushedRows { cursor: Some(cursor), ..PushedRows::default() };
                self.rows.insert(execute.statement.0, rows);
                self.statement_of.insert(cursor, execute.statement.0);
                let request = Box::new(request.clone());
                self.questions.push_back(Question::Asked { id, request, made: 0, answer: None });
                true
            }
            Request::Fetch(fetch) if self.rows.contains_key(&fetch.statement.0) => {
                let statement = fetch.statement.0;
                let rows = self.rows.get_mut(&statement).unwrap();
                if rows.decoder.is_none() && !fetch.output.blr.is_empty() {
                    let mut decoder = ReplyDecoder::new(DecoderLimits::default());
                    decoder_at(&mut decoder, self.version);
                    rows.decoder = Some(decoder);
                    let cursor = rows.cursor.unwrap();
                    let push = Push { blr: fetch.output.blr.clone(), credit: 100_000, blob_bytes: 200_000 };
                    self.ask(Ask::Push { cursor, push });
                }
                let rows = self.rows.get_mut(&statement).unwrap();
                rows.decoder.as_mut().unwrap().expect(&Request::Fetch(fetch.clone())).unwrap();
                self.questions.push_back(Question::Fetch { statement, count: fetch.count });
                self.answer();
                true
            }
            Request::FreeStatement { statement, option } => {
                if let Some(rows) = self.rows.remove(&statement.0)
                    && let Some(cursor) = rows.cursor
                {
                    self.ask(Ask::CloseCursor { cursor });
                    if *option == free_statement::CLOSE {
                        let mut packet = Vec::new();
                        let response = farbird_wire::packet::Response::object(*statement);
                        Reply::Response(response).encode(self.version, &mut packet);
                        self.next += 1;
                        let id = RequestId(self.next);
                        let request = Box::new(request.clone());
                        self.questions.push_back(Question::Asked {
                            id,
                            request,
                            made: 0,
                            answer: Some(packet),
                        });
                        self.answer();
                        return true;
                    }
                }
                false
            }
            _ => false,
        }
    }

    fn ask(&mut self, ask: Ask) {
        if let Some(origin) = &mut self.origin {
            origin.ask(ask, Duration::ZERO);
        }
    }

    fn free_handle(&mut self) -> u16 {
        let handle = (1..).find(|handle| !self.handles.contains(handle)).unwrap();
        self.handles.insert(handle);
        handle
    }

    fn resolve_latest(&mut self, request: &mut Request) {
        let latest = Handle(self.latest);
        let place = match request {
            Request::Prepare(text) => &mut text.statement,
            Request::GetSegment(segment) => &mut segment.blob,
            Request::BlobInformation(information) | Request::StatementInformation(information) => {
                &mut information.object
            }
            Request::CloseBlob(blob) => blob,
            Request::FreeStatement { statement, .. } | Request::SetCursor { statement, .. } => statement,
            _ => return,
        };
        if *place == Handle::LATEST {
            *place = latest;
        }
    }

    fn take_messages(&mut self) {
        // What is told may be answered by credit, and that at once by more.
        loop {
            let messages = self.origin.as_mut().map(Conversation::take_messages).unwrap_or_default();
            if messages.is_empty() {
                break;
            }
            for message in messages {
                match message {
                    ToEdge::On { tell, .. } => self.told(tell),
                    ToEdge::Closed { reason, .. } => {
                        if std::env::var_os("RELAY_LOG").is_some() {
                            eprintln!("closed: {reason}");
                        }
                        self.is_over = true;
                    }
                    _ => {}
                }
            }
        }
        self.answer();
    }

    fn told(&mut self, tell: Tell) {
        if let Some(farbird) = &self.farbird {
            farbird.told.lock().unwrap().push(tell.clone());
        }
        match tell {
            Tell::Reply { id, packets } => {
                let asked = self.questions.iter_mut().find_map(|question| match question {
                    Question::Asked { id: of, answer, .. } if *of == id => Some(answer),
                    _ => None,
                });
                *asked.expect("an answer to what was asked") = Some(packets);
            }
            Tell::Rows { cursor, packets, rows: count, end } => {
                let Some(rows) = self.statement_of.get(&cursor).and_then(|of| self.rows.get_mut(of)) else {
                    return;
                };
                if rows.cursor != Some(cursor) {
                    return;
                }
                let decoder = rows.decoder.as_mut().unwrap();
                decoder.feed(&packets);
                let before = rows.rows.len();
                let mut row = Vec::new();
                while let Some(answer) = decoder.next_reply().unwrap() {
                    answer.reply.encode(self.version, &mut row);
                    if matches!(answer.reply, Reply::FetchResponse(_)) {
                        rows.rows.push_back(std::mem::take(&mut row));
                    }
                }
                assert_eq!(rows.rows.len() - before, count as usize);
                rows.end = end;
                let bytes = u32::try_from(packets.len()).unwrap();
                self.ask(Ask::Credit { cursor, bytes });
            }
            Tell::Blob { cursor, blob, segments, .. } => {
                let bytes = u32::try_from(segments.len()).unwrap();
                self.ask(Ask::Credit { cursor, bytes });
                self.blobs.insert(blob, segments);
            }
            _ => {}
        }
    }

    /// Answers the program as far as the answers are there.
    fn answer(&mut self) {
        while let Some(question) = self.questions.front_mut() {
            match question {
                Question::Asked { answer: None, .. } => return,
                Question::Asked { request, made, answer: Some(packets), .. } => {
                    let (request, made, packets) = (request.clone(), *made, std::mem::take(packets));
                    self.questions.pop_front();
                    self.replied(&request, made, &packets);
                }
                Question::Fetch { statement, count } => {
                    let (statement, count) = (*statement, usize::from(*count));
                    let Some(rows) = self.rows.get_mut(&statement) else {
                        // The program has closed it since.
                        Reply::FetchResponse(FetchResponse::END_OF_BATCH)
                            .encode(self.version, &mut self.output);
                        self.questions.pop_front();
                        continue;
                    };
                    if rows.rows.len() < count && rows.end.is_none() {
                        return;
                    }
                    for row in rows.rows.drain(..count.min(rows.rows.len())) {
                        self.output.extend(row);
                    }
                    match &rows.end {
                        Some(End::Failed(packet)) if rows.rows.is_empty() => self.output.extend(packet),
                        Some(End::Complete) if rows.rows.is_empty() => {
                            Reply::FetchResponse(FetchResponse::END_OF_CURSOR)
                                .encode(self.version, &mut self.output);
                        }
                        _ => Reply::FetchResponse(FetchResponse::END_OF_BATCH)
                            .encode(self.version, &mut self.output),
                    }
                    self.questions.pop_front();
                }
            }
        }
    }

    /// Reads what answers a question, for what the edge must know of it, and hands it on.
    fn replied(&mut self, request: &Request, made: u16, packets: &[u8]) {
        let mut decoder = ReplyDecoder::new(DecoderLimits::default());
        decoder_at(&mut decoder, self.version);
        // What has rows of a statement is handed on as it is.
        let is_plain = !matches!(
            request,
            Request::Fetch(_)
                | Request::FetchScroll(_)
                | Request::Receive(_)
                | Request::StartAndReceive(_)
                | Request::StartSendAndReceive(_)
        );
        let mut out = packets.to_vec();
        if is_plain && decoder.expect(request).is_ok() {
            decoder.feed(packets);
            out.clear();
            while let Some(answer) = decoder.next_reply().expect("replies that can be read") {
                let mut reply = answer.reply;
                self.note(request, made, &mut reply);
                reply.encode(self.version, &mut out);
            }
            assert!(decoder.unread().is_empty());
        }
        self.output.extend(out);
    }

    fn note(&mut self, request: &Request, made: u16, reply: &mut Reply) {
        match reply {
            Reply::Accept(accept) => self.agreed(accept.protocol_version()),
            Reply::AcceptWithData(accept) | Reply::ConditionalAccept(accept) => {
                accept.keys.clear();
                self.agreed(accept.accept.protocol_version());
            }
            Reply::ContinueAuthentication(step) => step.keys.clear(),
            Reply::Response(response) => {
                let is_success = response.status.is_success();
                if matches!(
                    request.operation(),
                    Operation::ContinueAuthentication
                        | Operation::Attach
                        | Operation::Create
                        | Operation::ServiceAttach
                ) {
                    response.data.clear();
                    if is_success {
                        self.requests.authenticated();
                    }
                }
                if made != 0 && !is_success {
                    self.handles.remove(&made);
                }
                match request {
                    Request::Execute(_) | Request::Execute2(_) | Request::ExecuteImmediate(_)
                        if made != 0 && response.object.0 == 0 =>
                    {
                        self.handles.remove(&made);
                    }
                    Request::Prepare(text) if response.object.0 & prepare_reply::DEFER_EXECUTE != 0 => {
                        self.queries.insert(text.statement.0);
                    }
                    Request::Prepare(text) => {
                        self.queries.remove(&text.statement.0);
                    }
                    Request::Commit(handle)
                    | Request::Rollback(handle)
                    | Request::CloseBlob(handle)
                    | Request::CancelBlob(handle)
                    | Request::Release(handle)
                        if is_success =>
                    {
                        self.handles.remove(&handle.0);
                        let handles = &mut self.handles;
                        self.transaction_of.retain(|blob, transaction| {
                            let is_over = *transaction == handle.0;
                            if is_over {
                                handles.remove(blob);
                            }
                            !is_over && *blob != handle.0
                        });
                    }
                    Request::FreeStatement { statement, option } if option & free_statement::DROP != 0 => {
                        self.handles.remove(&statement.0);
                        self.rows.remove(&statement.0);
                        self.queries.remove(&statement.0);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn agreed(&mut self, version: Option<ProtocolVersion>) {
        let Some(version) = version else { return };
        self.version = version;
        self.requests.set_version(version);
    }
}

/// A decoder that reads replies of this version.
fn decoder_at(decoder: &mut ReplyDecoder, version: ProtocolVersion) {
    let connect = Request::Ping;
    let _ = (decoder.expect(&connect), version);
    let mut accept = Vec::new();
    let choice = farbird_wire::negotiation::Choice { version, connection_type: 5, compress: false };
    Reply::Accept(choice.into()).encode(version, &mut accept);
    decoder.feed(&accept);
    decoder.next_reply().unwrap();
}

/// Whether the edge must give a handle.
fn makes(request: &Request) -> bool {
    matches!(
        request,
        Request::StartTransaction { .. }
            | Request::Reconnect { .. }
            | Request::AllocateStatement(_)
            | Request::Compile { .. }
            | Request::CreateBlob { .. }
            | Request::CreateBlob2(_)
            | Request::OpenBlob { .. }
            | Request::OpenBlob2(_)
    ) || runs(request)
}

/// Whether it may begin a transaction.
fn runs(request: &Request) -> bool {
    match request {
        Request::Execute(execute) => execute.transaction.0 == 0,
        Request::Execute2(execute) => execute.execute.transaction.0 == 0,
        Request::ExecuteImmediate(text) => text.transaction.0 == 0,
        Request::ExecuteImmediate2(execute) => execute.text.transaction.0 == 0,
        _ => false,
    }
}
