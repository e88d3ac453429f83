//! A program, an edge's machine, an origin's machine and a server, played from any bytes: what the fuzz target `farlink_conversation` and the
//! tests beside it run.
//!
//! The first byte chooses what is hostile. With a lawful program and a lawful server, whoever does what first, every request is
//! answered in the end, by what can answer it, and nothing of what was kept is left. With a hostile end the connection is over at worst. In
//! both cases nothing panics, and what one end sends is bounded by what it was asked.
//!
//! Sans-IO: time and order are the input's. Uses the public faces of `farbird_farlink` and `farbird_wire`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use farbird_farlink::message::{Channel, Tell, ToEdge, ToOrigin};
use farbird_farlink::{edge, origin};
use farbird_types::{BlobId, Error, Value, isc};
use farbird_wire::decoder::{Limits as DecoderLimits, ReplyDecoder, RequestDecoder};
use farbird_wire::message::{Message, MessageForm, MessageFormat, MessageType};
use farbird_wire::negotiation::offers;
use farbird_wire::packet::{
    Accept, Attach, BufferLength, Connect, Execute, Fetch, FetchResponse, Information, OpenBlob, Output,
    Reply, Request, Response, Segment, StatementText,
};
use farbird_wire::protocol::{ARCHITECTURE_GENERIC, Handle, ProtocolVersion};

const CHANNEL: Channel = Channel(1);
/// Steps of an input; what is behind them is not looked at.
const STEPS_MAX: usize = 400;
/// What one end may send for an input: a few bytes of each step become a bounded number of packets.
const SENT_BYTES_MAX: usize = 64 << 20;

/// A statement that the program may prepare: its text, the kind that the server describes it as, and its columns.
struct Text {
    sql: &'static str,
    kind: u8,
    parameters: usize,
    columns: &'static [MessageType],
}

const LONG: MessageType = MessageType::Long { scale: 0 };
const TEXTS: [Text; 9] = [
    Text { sql: "select a from t", kind: 1, parameters: 0, columns: &[LONG] },
    Text { sql: "select b from u where a = ?", kind: 1, parameters: 1, columns: &[LONG] },
    Text { sql: "select c from v where b = ?", kind: 1, parameters: 1, columns: &[LONG] },
    Text {
        sql: "select a, d from w",
        kind: 1,
        parameters: 0,
        columns: &[LONG, MessageType::Blob { subtype: 0, charset: 0 }],
    },
    Text { sql: "insert into t values (?)", kind: 2, parameters: 1, columns: &[] },
    Text { sql: "select a from t for update", kind: 12, parameters: 0, columns: &[LONG] },
    Text { sql: "create table x (a int)", kind: 5, parameters: 0, columns: &[] },
    Text { sql: "rollback to a", kind: 15, parameters: 0, columns: &[] },
    Text { sql: "set role transaction_reader", kind: 9, parameters: 0, columns: &[] },
];

/// What a byte decides, one after the other; 0 when there are no more.
struct Input<'d>(&'d [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    fn below(&mut self, limit: u8) -> u8 {
        self.byte() % limit.max(1)
    }

    fn bytes(&mut self) -> Vec<u8> {
        let length = usize::from(self.byte()).min(self.0.len());
        let (bytes, rest) = self.0.split_at(length);
        self.0 = rest;
        bytes.to_vec()
    }
}

/// A statement at the server.
#[derive(Clone, Copy)]
struct AtServer {
    text: usize,
    /// Rows that are to come of its cursor.
    rows: Option<u16>,
}

/// A server that answers what it is asked, in its order, when it is told to.
struct Server {
    decoder: RequestDecoder,
    version: ProtocolVersion,
    owed: VecDeque<Request>,
    statements: Vec<Option<AtServer>>,
    made: u16,
    /// Handles of what is open: a server refuses to end what is of another kind.
    transactions: BTreeSet<u16>,
    /// With their transactions, at whose end they are closed.
    blobs: BTreeMap<u16, Handle>,
}

impl Server {
    fn new(version: ProtocolVersion) -> Server {
        let decoder = RequestDecoder::new(DecoderLimits::default());
        Server {
            decoder,
            version,
            owed: VecDeque::new(),
            statements: Vec::new(),
            made: 0,
            transactions: BTreeSet::new(),
            blobs: BTreeMap::new(),
        }
    }

    /// Takes what the origin sends; gives false if it cannot be read.
    fn take(&mut self, bytes: &[u8]) -> bool {
        self.decoder.feed(bytes);
        loop {
            match self.decoder.next_request() {
                Ok(Some(Request::Cancel { .. } | Request::Disconnect | Request::AbortAuxConnection)) => {}
                Ok(Some(request)) => {
                    if matches!(request, Request::AllocateStatement(_)) {
                        // Its handle is known before it is used: nothing of it comes before the answer.
                        self.decoder.statement_allocated(Handle(self.next_statement()));
                        self.statements.push(None);
                    }
                    self.owed.push_back(request);
                }
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    fn next_statement(&self) -> u16 {
        1_000 + u16::try_from(self.statements.len()).unwrap_or_default()
    }

    fn statement(&mut self, handle: Handle) -> Option<&mut AtServer> {
        self.statements.get_mut(usize::from(handle.0.wrapping_sub(1_000))).and_then(Option::as_mut)
    }

    fn make(&mut self) -> Handle {
        self.made = self.made % 900 + 1;
        Handle(self.made)
    }

    /// The answer to the request that has waited longest. `choice` decides how it goes: 0 is success.
    fn answer(&mut self, choice: u8) -> Vec<u8> {
        let Some(request) = self.owed.pop_front() else { return Vec::new() };
        let fails = choice % 8 == 7;
        let mut out = Vec::new();
        let reply = match &request {
            Request::Connect(_) => {
                self.decoder.set_version(self.version);
                let (version, connection_type) = (self.version.to_wire(), 5);
                Reply::Accept(Accept { version, architecture: ARCHITECTURE_GENERIC, connection_type })
            }
            Request::Attach(_) => Reply::Response(Response::success()),
            Request::AllocateStatement(_) => {
                // Counted when it came: answers come in the same order.
                Reply::Response(Response::object(Handle(self.allocated())))
            }
            // Who has begun to read a BLOB and cannot go on loses the connection.
            Request::BlobInformation(information) => {
                let mut data = Vec::new();
                for item in &information.items {
                    data.extend([*item, 4, 0, u8::from(*item != 7), 0, 0, 0]);
                }
                data.push(1);
                Reply::Response(Response::data(Handle(0), data))
            }
            Request::GetSegment(_) => Reply::Response(Response::data(Handle(2), vec![1, 0, b'x'])),
            _ if fails && !matches!(request, Request::Dummy) => {
                if let Request::Execute(execute) = &request
                    && let Some(statement) = self.statement(execute.statement)
                {
                    statement.rows = None;
                }
                Reply::Response(Response::error(&Error::new(isc::DEADLOCK)))
            }
            Request::StartTransaction { .. } => {
                let made = self.make();
                self.transactions.insert(made.0);
                Reply::Response(Response::object(made))
            }
            Request::OpenBlob2(open) => {
                let made = self.make();
                self.blobs.insert(made.0, open.transaction);
                Reply::Response(Response::object(made))
            }
            Request::CreateBlob2(open) => {
                let made = self.make();
                self.blobs.insert(made.0, open.transaction);
                Reply::Response(Response { blob: BlobId(u64::from(made.0)), ..Response::object(made) })
            }
            Request::Prepare(text) => {
                let found =
                    TEXTS.iter().position(|known| known.sql.as_bytes() == text.sql).unwrap_or_default();
                let place = usize::from(text.statement.0.wrapping_sub(1_000));
                if let Some(statement) = self.statements.get_mut(place) {
                    *statement = Some(AtServer { text: found, rows: None });
                }
                let data = vec![21, 4, 0, TEXTS[found].kind, 0, 0, 0, 1];
                Reply::Response(Response::data(Handle(0), data))
            }
            Request::Execute(execute) => {
                let given = execute.message.as_ref().and_then(|message| message.values().ok());
                let number = match given.as_deref() {
                    Some([Value::Integer { unscaled, .. }]) => unscaled.unsigned_abs(),
                    _ => 5,
                };
                if let Some(statement) = self.statement(execute.statement) {
                    let rows = u16::try_from(number % 7).unwrap_or_default();
                    statement.rows = (!TEXTS[statement.text].columns.is_empty()).then_some(rows);
                }
                Reply::Response(Response::object(execute.transaction))
            }
            Request::Fetch(fetch) => {
                self.rows(fetch, &mut out);
                return out;
            }
            Request::Commit(handle) | Request::Rollback(handle) if !self.transactions.remove(&handle.0) => {
                Reply::Response(Response::error(&Error::new(isc::BAD_TRANS_HANDLE)))
            }
            Request::Commit(handle) | Request::Rollback(handle) => {
                self.blobs.retain(|_, transaction| transaction != handle);
                Reply::Response(Response::success())
            }
            Request::CloseBlob(handle) if self.blobs.remove(&handle.0).is_none() => {
                Reply::Response(Response::error(&Error::new(isc::BAD_SEGSTR_HANDLE)))
            }
            Request::FreeStatement { statement, .. }
                if !(1_000..self.next_statement()).contains(&statement.0) =>
            {
                Reply::Response(Response::error(&Error::new(isc::BAD_STMT_HANDLE)))
            }
            Request::FreeStatement { statement, option } => {
                if let Some(statement) = self.statement(*statement) {
                    statement.rows = None;
                }
                Reply::Response(Response::object(if option & 2 != 0 { Handle(0xFFFF) } else { *statement }))
            }
            Request::DatabaseInformation(_)
            | Request::TransactionInformation(_)
            | Request::StatementInformation(_) => Reply::Response(Response::data(Handle(0), vec![1])),
            Request::ExecuteImmediate(text) => Reply::Response(Response::object(text.transaction)),
            Request::Dummy => Reply::Dummy,
            _ => Reply::Response(Response::success()),
        };
        reply.encode(self.version, &mut out);
        out
    }

    /// The handle of the statement whose op_allocate_statement is answered now.
    fn allocated(&self) -> u16 {
        let later =
            self.owed.iter().filter(|request| matches!(request, Request::AllocateStatement(_))).count();
        self.next_statement() - 1 - u16::try_from(later).unwrap_or_default()
    }

    fn rows(&mut self, fetch: &Fetch, out: &mut Vec<u8>) {
        let version = self.version;
        let (Some(format), Some(statement)) = (fetch.output.format.clone(), self.statement(fetch.statement))
        else {
            return Reply::Response(Response::error(&Error::new(isc::DSQL_CURSOR_ERR))).encode(version, out);
        };
        let Some(rows) = &mut statement.rows else {
            return Reply::Response(Response::error(&Error::new(isc::DSQL_CURSOR_ERR))).encode(version, out);
        };
        let given = (*rows).min(fetch.count);
        *rows -= given;
        let is_over = *rows == 0;
        for number in 0..given {
            let values: Vec<Value> = format
                .columns()
                .map(|column| match column {
                    MessageType::Blob { .. } => Value::Blob(BlobId(u64::from(number) + 1)),
                    _ => Value::integer(i64::from(number) + 100),
                })
                .collect();
            let Ok(message) = Message::new(Arc::clone(&format), MessageForm::of_sql(version), &values) else {
                continue;
            };
            Reply::FetchResponse(FetchResponse { status: 0, message: Some(message) }).encode(version, out);
        }
        let end = if is_over { FetchResponse::END_OF_CURSOR } else { FetchResponse::END_OF_BATCH };
        Reply::FetchResponse(end).encode(version, out);
    }
}

/// Everything between a program and its server.
struct Chain {
    site: Arc<edge::Site>,
    program: edge::Program,
    origin: Option<origin::Conversation>,
    server: Server,
    version: ProtocolVersion,
    /// Understands what the program gets, as a driver does.
    answers: ReplyDecoder,
    up: VecDeque<ToOrigin>,
    /// What is told, and what is pushed: that may be overtaken.
    told: VecDeque<ToEdge>,
    pushed: VecDeque<ToEdge>,
    /// What the program may name: the edge's handles.
    handles: BTreeSet<u16>,
    now: Duration,
    sent: usize,
    /// Whether all have kept to the rules so far.
    is_lawful: bool,
}

impl Chain {
    fn new(input: &mut Input<'_>) -> Chain {
        let choice = input.byte();
        let version =
            [ProtocolVersion::V10, ProtocolVersion::V11, ProtocolVersion::V13, ProtocolVersion::V19]
                [usize::from(choice % 4)];
        let limits = edge::Limits {
            texts_show_purity: choice & 4 != 0,
            strict_transactions: choice & 8 != 0,
            optimistic_writes: choice & 32 != 0,
            // Room for a few of them.
            optimistic_bytes: 1_024,
            speculates: choice & 16 != 0,
            ..edge::Limits::default()
        };
        let site = edge::Site::new(limits);
        site.message(&ToEdge::Welcome { is_farbird: false, server: "played".to_owned() });
        let program = edge::Program::new(Arc::clone(&site), CHANNEL, "there:1".to_owned());
        let mut answers = ReplyDecoder::new(DecoderLimits::default());
        answers.set_version(version);
        Chain {
            site,
            program,
            origin: None,
            server: Server::new(version),
            version,
            answers,
            up: VecDeque::new(),
            told: VecDeque::new(),
            pushed: VecDeque::new(),
            handles: BTreeSet::new(),
            now: Duration::ZERO,
            sent: 0,
            is_lawful: true,
        }
    }

    /// The program asks something.
    fn asks(&mut self, request: &Request) {
        if self.answers.expect(request).is_err() {
            return;
        }
        let mut bytes = Vec::new();
        request.encode(self.version, &mut bytes);
        self.program.receive(&mut bytes, self.now);
        self.collect();
    }

    /// Takes what the machines have made.
    fn collect(&mut self) {
        self.up.extend(self.program.take_messages());
        let output = self.program.take_output();
        self.sent += output.len();
        self.answers.feed(&output);
        loop {
            match self.answers.next_reply() {
                Ok(Some(answer)) => {
                    if let Reply::Response(response) = answer.reply
                        && response.status.is_success()
                    {
                        self.handles.insert(response.object.0);
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    assert!(!self.is_lawful, "the program gets what answers nothing: {error}");
                    break;
                }
            }
        }
        let Some(origin) = &mut self.origin else { return };
        let output = origin.take_output();
        self.sent += output.len();
        let is_understood = self.server.take(&output);
        assert!(is_understood || !self.is_lawful, "the server gets what cannot be read");
        for message in origin.take_messages() {
            match &message {
                ToEdge::On {
                    tell:
                        Tell::Rows { .. }
                        | Tell::Blob { .. }
                        | Tell::Ahead { .. }
                        | Tell::NotAhead { .. }
                        | Tell::AheadRests { .. },
                    ..
                } => self.pushed.push_back(message),
                _ => self.told.push_back(message),
            }
        }
        assert!(self.sent < SENT_BYTES_MAX, "one end sends without end");
    }

    /// A message gets to the origin.
    fn carry_up(&mut self) -> bool {
        let Some(message) = self.up.pop_front() else { return false };
        // As it travels.
        let message = ToOrigin::decode(&message.encode()).expect("what an edge sends can be read");
        match message {
            ToOrigin::Open { channel, connect, .. } => {
                let limits = origin::Limits::default();
                self.origin = Some(origin::Conversation::new(limits, channel, &connect, false));
            }
            ToOrigin::On { ask, .. } => {
                if let Some(origin) = &mut self.origin {
                    origin.ask(ask, self.now);
                }
            }
            ToOrigin::Close { .. } => self.origin = None,
            // The session never ends.
            ToOrigin::Outcome { .. } => {}
        }
        self.collect();
        true
    }

    /// A message gets to the edge.
    fn carry_down(&mut self, is_pushed: bool) -> bool {
        let queue = if is_pushed { &mut self.pushed } else { &mut self.told };
        let Some(message) = queue.pop_front() else { return false };
        let message = ToEdge::decode(&message.encode()).expect("what an origin sends can be read");
        self.site.message(&message);
        match message {
            ToEdge::On { tell, .. } => self.program.tell(tell, self.now),
            ToEdge::Closed { reason, .. } => {
                assert!(!self.is_lawful, "the origin gives up: {reason}");
                self.program.closed(&reason);
            }
            _ => {}
        }
        self.collect();
        true
    }

    /// The server answers one request.
    fn serve(&mut self, choice: u8) -> bool {
        if self.server.owed.is_empty() {
            return false;
        }
        let mut bytes = self.server.answer(choice);
        if let Some(origin) = &mut self.origin {
            // Cut anywhere.
            let place = usize::from(choice / 8).min(bytes.len());
            let (first, rest) = bytes.split_at_mut(place);
            origin.receive(first, self.now);
            origin.receive(rest, self.now);
        }
        self.collect();
        true
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        if self.program.wake_at().is_some_and(|at| at <= self.now) {
            self.program.wake(self.now);
            self.collect();
        }
    }

    /// All that is under way comes to its end.
    fn settle(&mut self) {
        loop {
            let has_moved =
                self.carry_up() || self.serve(0) || self.carry_down(false) || self.carry_down(true);
            if has_moved {
                continue;
            }
            match self.program.wake_at() {
                Some(at) => self.pass(at.saturating_sub(self.now)),
                None => return,
            }
        }
    }

    /// A handle that the program knows, or one that nobody has.
    fn handle(&self, input: &mut Input<'_>) -> u16 {
        let choice = usize::from(input.byte());
        match choice % 16 {
            15 => u16::try_from(choice).unwrap_or_default(),
            14 => 0xFFFF,
            _ => self.handles.iter().nth(choice % self.handles.len().max(1)).copied().unwrap_or_default(),
        }
    }

    /// A request of the program.
    fn request(&mut self, input: &mut Input<'_>) -> Request {
        match input.below(25) {
            0 | 1 => Request::StartTransaction {
                database: Handle(0),
                tpb: [&[3, 2, 9][..], &[3, 15, 17], &[3, 16]][usize::from(input.below(3))].to_vec(),
            },
            2 => Request::Commit(Handle(self.handle(input))),
            3 => Request::Rollback(Handle(self.handle(input))),
            4 => Request::CommitRetaining(Handle(self.handle(input))),
            5 => Request::AllocateStatement(Handle(0)),
            6 | 7 => Request::Prepare(self.text(input)),
            8..=11 => self.execute(input),
            12..=14 => {
                let statement = Handle(self.handle(input));
                let choice = input.byte();
                let text = &TEXTS[usize::from(choice) % TEXTS.len()];
                let format = Arc::new(MessageFormat::from_columns(text.columns.iter().copied()));
                Request::Fetch(Fetch {
                    statement,
                    output: Output::new(Some(format)),
                    count: u16::from(choice / 16) + 1,
                })
            }
            15 => {
                let statement = Handle(self.handle(input));
                Request::FreeStatement { statement, option: [1, 2, 4][usize::from(input.below(3))] }
            }
            16 => Request::StatementInformation(information(self.handle(input), 23)),
            17 => Request::TransactionInformation(information(self.handle(input), 4)),
            18 => Request::OpenBlob2(OpenBlob {
                bpb: Vec::new(),
                transaction: Handle(self.handle(input)),
                blob: BlobId(u64::from(input.below(8))),
            }),
            19 => Request::GetSegment(Segment {
                blob: Handle(self.handle(input)),
                length: 100,
                data: Vec::new(),
            }),
            20 => Request::CloseBlob(Handle(self.handle(input))),
            21 => Request::CreateBlob2(OpenBlob {
                bpb: Vec::new(),
                transaction: Handle(self.handle(input)),
                blob: BlobId(0),
            }),
            22 => Request::ExecuteImmediate(self.text(input)),
            23 => Request::RollbackRetaining(Handle(self.handle(input))),
            _ => Request::DatabaseInformation(information(0, 22)),
        }
    }

    fn text(&mut self, input: &mut Input<'_>) -> StatementText {
        StatementText {
            transaction: Handle(self.handle(input)),
            statement: Handle(self.handle(input)),
            dialect: 3,
            sql: TEXTS[usize::from(input.byte()) % TEXTS.len()].sql.as_bytes().to_vec(),
            items: vec![21],
            buffer_length: BufferLength(1_024),
            flags: 0,
        }
    }

    fn execute(&mut self, input: &mut Input<'_>) -> Request {
        let (statement, transaction) = (Handle(self.handle(input)), Handle(self.handle(input)));
        let choice = input.byte();
        let message = (TEXTS[usize::from(choice) % TEXTS.len()].parameters > 0).then(|| {
            let format = Arc::new(MessageFormat::from_columns([LONG]));
            let values = [Value::integer(i64::from(choice / 8) + 95)];
            Message::new(format, MessageForm::of_sql(self.version), &values).expect("a number")
        });
        Request::Execute(Execute {
            statement,
            transaction,
            input_blr: message.as_ref().map_or(Vec::new(), |message| message.format().to_blr()),
            message_number: 0,
            message,
            timeout_ms: 0,
            cursor_flags: 0,
            inline_blob_bytes: 0,
        })
    }

    /// The program connects and attaches.
    fn attach(&mut self) {
        self.asks(&Request::Connect(Connect {
            operation: 0,
            version: 3,
            architecture: 1,
            file: b"db".to_vec(),
            user_identification: Vec::new(),
            offers: offers(ProtocolVersion::V10, ProtocolVersion::V19, false),
        }));
        self.settle();
        let parameters = vec![1, 28, 1, b'U'];
        self.asks(&Request::Attach(Attach { database: Handle(0), file: b"db".to_vec(), parameters }));
        self.settle();
    }

    fn step(&mut self, input: &mut Input<'_>, is_hostile: bool) {
        match input.below(16) {
            0..=6 => {
                let request = self.request(input);
                self.asks(&request);
            }
            7 | 8 => drop(self.carry_up()),
            9 => drop(self.carry_down(false)),
            10 => drop(self.carry_down(true)),
            11 | 12 => drop(self.serve(input.byte())),
            13 => self.settle(),
            14 => self.pass(Duration::from_millis(u64::from(input.byte()) * 20)),
            _ if is_hostile => self.is_attacked(input),
            _ => {}
        }
    }

    /// One of the four says what it should not.
    fn is_attacked(&mut self, input: &mut Input<'_>) {
        self.is_lawful = false;
        let kind = input.below(4);
        let mut bytes = input.bytes();
        match kind {
            0 => self.program.receive(&mut bytes, self.now),
            1 => {
                if let Some(origin) = &mut self.origin {
                    origin.receive(&mut bytes, self.now);
                }
            }
            2 => self.up.extend(ToOrigin::decode(&bytes)),
            _ => self.told.extend(ToEdge::decode(&bytes)),
        }
        self.collect();
    }
}

fn information(object: u16, item: u8) -> Information {
    Information { object: Handle(object), incarnation: 0, items: vec![item], buffer_length: BufferLength(64) }
}

/// Plays an input.
pub(crate) fn play(data: &[u8]) {
    let mut input = Input(data);
    let is_hostile = input.byte() % 2 == 1;
    let mut chain = Chain::new(&mut input);
    chain.attach();
    for _ in 0..STEPS_MAX {
        if input.0.is_empty() || chain.program.is_ended() {
            break;
        }
        chain.step(&mut input, is_hostile);
    }
    chain.settle();
    // Answers that a client does not wait for leave with the next one.
    chain.asks(&Request::DatabaseInformation(information(0, 22)));
    chain.settle();
    if chain.is_lawful && !chain.program.is_ended() {
        if chain.program.waiting() > 0 {
            println!("{:?}\n{:?}", chain.program, chain.origin);
        }
        assert_eq!(chain.program.waiting(), 0, "somebody is never answered");
        assert_eq!(chain.answers.outstanding(), 0, "the program waits for ever");
    }
    chain.program.disconnected();
    chain.collect();
    let memory = chain.site.memory();
    assert_eq!(
        (memory.rows, memory.blobs, memory.writes),
        (0, 0, 0),
        "something is left of a program that is gone"
    );
}
