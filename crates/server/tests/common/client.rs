//! A client that speaks the wire protocol as drivers do, and lets a test do what drivers would not.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use farbird_types::{BlobId, Error, Result, Value};
use farbird_wire::auth::srp::ClientLogin;
use farbird_wire::auth::{AuthPlugin, legacy, normalize_user_name};
use farbird_wire::clumplet::{ClumpletWriter, dpb};
use farbird_wire::counters::Counters;
use farbird_wire::crypt::CryptPlugin;
use farbird_wire::crypt::keys::{Keys, SYMMETRIC};
use farbird_wire::decoder::{Answer, Limits, ReplyDecoder};
use farbird_wire::info::{StatementInformation, sql};
use farbird_wire::layers::{Incoming, Outgoing};
use farbird_wire::message::{Message, MessageForm, MessageFormat, MessageType};
use farbird_wire::negotiation::{UserIdentification, WireCrypt, offers};
use farbird_wire::packet::*;
use farbird_wire::protocol::{Handle, ProtocolVersion, free_statement, prepare_reply, segment_state};

use super::PASSWORD;

/// What prepare is asked, as drivers ask it.
pub const PREPARE_ITEMS: &[u8] = &[
    sql::STMT_TYPE,
    sql::STMT_FLAGS,
    sql::SELECT,
    sql::DESCRIBE_VARS,
    sql::SQLDA_SEQ,
    sql::TYPE,
    sql::SUB_TYPE,
    sql::SCALE,
    sql::LENGTH,
    sql::FIELD,
    sql::RELATION,
    sql::ALIAS,
    sql::DESCRIBE_END,
    sql::BIND,
    sql::DESCRIBE_VARS,
    sql::SQLDA_SEQ,
    sql::TYPE,
    sql::SUB_TYPE,
    sql::SCALE,
    sql::LENGTH,
    sql::DESCRIBE_END,
];

/// How long a test waits for a packet before it calls the server dead.
const PATIENCE: Duration = Duration::from_secs(60);

/// How to log in.
#[derive(Clone)]
pub struct Login {
    pub user: String,
    pub password: String,
    pub plugin: AuthPlugin,
    pub oldest: ProtocolVersion,
    pub newest: ProtocolVersion,
    pub compress: bool,
    pub wire_crypt: WireCrypt,
    /// The cipher to use if the server offers it.
    pub cipher: Option<CryptPlugin>,
}

impl Default for Login {
    fn default() -> Login {
        Login {
            user: "sysdba".to_owned(),
            password: PASSWORD.to_owned(),
            plugin: AuthPlugin::ALL[0],
            oldest: ProtocolVersion::V10,
            newest: ProtocolVersion::V20,
            compress: false,
            wire_crypt: WireCrypt::Enabled,
            cipher: None,
        }
    }
}

/// A statement as prepare described it.
#[derive(Clone)]
pub struct Prepared {
    pub handle: Handle,
    pub information: StatementInformation,
    pub input: Option<Arc<MessageFormat>>,
    pub output: Option<Arc<MessageFormat>>,
    /// The flags in the reply's object field.
    pub flags: u16,
}

impl Prepared {
    pub fn has_cursor(&self) -> bool {
        self.information.flags & 1 != 0
    }
}

/// What one op_fetch brought.
#[derive(Debug, Default)]
pub struct Batch {
    pub rows: Vec<Vec<Value>>,
    pub blobs: Vec<InlineBlob>,
    pub is_end: bool,
}

/// A connection.
pub struct Client {
    stream: TcpStream,
    incoming: Incoming,
    outgoing: Outgoing,
    pub counters: Counters,
    replies: ReplyDecoder,
    version: Option<ProtocolVersion>,
    login: Login,
    pub cipher: Option<CryptPlugin>,
    /// Largest BLOB asked for inline.
    pub inline_blob_bytes: u32,
}

impl Client {
    /// A connection on which nothing has been said.
    pub fn open(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client {
            stream,
            incoming: Incoming::default(),
            outgoing: Outgoing::default(),
            counters: Counters::default(),
            replies: ReplyDecoder::new(Limits::default()),
            version: None,
            login: Login::default(),
            cipher: None,
            inline_blob_bytes: 0,
        }
    }

    /// A connection, if somebody listens.
    pub fn try_open(address: SocketAddr) -> Option<Client> {
        TcpStream::connect(address).is_ok().then(|| Client::open(address))
    }

    /// Connects and logs in, as far as that is possible before an attach.
    pub fn log_in(address: SocketAddr, login: &Login) -> Result<Client> {
        let mut client = Client::open(address);
        client.login = login.clone();
        client.connect()?;
        Ok(client)
    }

    pub fn version(&self) -> ProtocolVersion {
        self.version.unwrap_or(ProtocolVersion::NEWEST)
    }

    fn connect(&mut self) -> Result<()> {
        let login = self.login.clone();
        let srp = ClientLogin::new([0x5B; 32]);
        let data = match login.plugin {
            AuthPlugin::Srp(_) => srp.public_key().into_bytes(),
            AuthPlugin::Legacy => legacy::hash(&login.password).to_vec(),
        };
        let identification = UserIdentification {
            user: b"tester".to_vec(),
            host: b"test.local".to_vec(),
            login: Some(login.user.clone().into_bytes()),
            plugin: Some(login.plugin.name().into()),
            plugin_list: Some(login.plugin.name().into()),
            specific_data: Some(data),
            wire_crypt: login.wire_crypt,
            ..UserIdentification::default()
        };
        self.send(&[Request::Connect(Connect {
            operation: 0,
            version: 3,
            architecture: 1,
            file: b"test".to_vec(),
            user_identification: identification.to_bytes(),
            offers: offers(login.oldest, login.newest, login.compress),
        })]);
        let mut step = match self.reply() {
            Reply::Accept(accept) => return self.accepted(&accept),
            Reply::AcceptWithData(accept) if accept.authenticated => {
                self.accepted(&accept.accept)?;
                return self.encrypt(&accept.keys, None);
            }
            Reply::ConditionalAccept(accept) | Reply::AcceptWithData(accept) => {
                self.accepted(&accept.accept)?;
                accept.data
            }
            Reply::Response(response) => return check(response).map(|_| ()),
            other => panic!("op_connect was answered by {other:?}"),
        };
        let AuthPlugin::Srp(hash) = login.plugin else { panic!("Legacy_Auth has one step") };
        let user = normalize_user_name(&login.user)?;
        let proof = srp.respond(hash, &user, &login.password, &step).unwrap();
        step = proof.proof.into_bytes();
        if login.wire_crypt == WireCrypt::Disabled {
            // The proof travels with the attach.
            self.login.password = String::from_utf8(step).unwrap();
            return Ok(());
        }
        let response = self.ask(Request::ContinueAuthentication(ContinueAuthentication {
            data: step,
            plugin: login.plugin.name().into(),
            plugin_list: login.plugin.name().into(),
            keys: Vec::new(),
        }))?;
        self.encrypt(&response.data, Some(&proof.session_key))
    }

    fn accepted(&mut self, accept: &Accept) -> Result<()> {
        self.version = accept.protocol_version();
        if accept.is_compressed() {
            self.incoming.compress();
            self.outgoing.compress();
            assert!(self.replies.take_unread().is_empty(), "a server waits for what follows its accept");
        }
        Ok(())
    }

    fn encrypt(&mut self, keys: &[u8], session_key: Option<&[u8]>) -> Result<()> {
        let (Some(session_key), false) = (session_key, keys.is_empty()) else { return Ok(()) };
        let keys = Keys::parse(keys).unwrap();
        let wanted = self.login.cipher.into_iter().find(|cipher| keys.plugins.contains(cipher));
        let Some(cipher) = wanted else { return Ok(()) };
        let make = || cipher.cipher(session_key, keys.data_of(cipher)).unwrap();
        self.send(&[Request::Crypt { plugin: cipher.name().into(), key: SYMMETRIC.into() }]);
        self.incoming.encrypt(make());
        let Reply::Response(response) = self.reply() else { panic!("op_crypt was answered otherwise") };
        self.outgoing.encrypt(make());
        self.cipher = Some(cipher);
        check(response).map(|_| ())
    }

    /// Items of a DPB, with what the login still has to say in it.
    fn parameters(&self, items: &[(u8, &[u8])]) -> Vec<u8> {
        let mut writer = ClumpletWriter::dpb();
        writer.text(dpb::LC_CTYPE, "UTF8");
        writer.text(dpb::USER_NAME, &self.login.user);
        if !self.version().has_plugins() {
            writer.text(dpb::PASSWORD, &self.login.password);
        } else if self.login.wire_crypt == WireCrypt::Disabled {
            writer.text(dpb::AUTH_PLUGIN_NAME, self.login.plugin.name());
            writer.text(dpb::SPECIFIC_AUTH_DATA, &self.login.password);
        }
        for (tag, data) in items {
            writer.bytes(*tag, data);
        }
        writer.into_bytes()
    }

    /// Attaches a database; `items` are further items of the DPB.
    pub fn attach(&mut self, database: &str, items: &[(u8, &[u8])]) -> Result<()> {
        let parameters = self.parameters(items);
        let attach = Attach { database: Handle::NONE, file: database.into(), parameters };
        self.ask(Request::Attach(attach)).map(|_| ())
    }

    /// Creates a database and attaches it.
    pub fn create(&mut self, database: &str, items: &[(u8, &[u8])]) -> Result<()> {
        let parameters = self.parameters(&[&[(dpb::SET_DB_CHARSET, &b"UTF8"[..])], items].concat());
        let attach = Attach { database: Handle::NONE, file: database.into(), parameters };
        self.ask(Request::Create(attach)).map(|_| ())
    }

    /// Sends requests in one write.
    pub fn send(&mut self, requests: &[Request]) {
        let mut plain = Vec::new();
        for request in requests {
            self.counters.packet_out();
            request.encode(self.version(), &mut plain);
            self.replies.expect(request).unwrap();
        }
        self.send_bytes(&plain);
    }

    /// Sends a request in two writes.
    pub fn send_in_pieces(&mut self, request: &Request, first_bytes: usize, pause: Duration) {
        let mut plain = Vec::new();
        self.counters.packet_out();
        request.encode(self.version(), &mut plain);
        self.replies.expect(request).unwrap();
        let (first, second) = plain.split_at(first_bytes);
        self.send_bytes(first);
        std::thread::sleep(pause);
        self.send_bytes(second);
    }

    /// Sends bytes that need not be packets.
    pub fn send_bytes(&mut self, plain: &[u8]) {
        let mut wire = Vec::new();
        self.outgoing.send(plain, &mut self.counters, &mut wire).unwrap();
        self.stream.write_all(&wire).unwrap();
        self.counters.sent(wire.len());
    }

    /// Bytes that need not be packets, as they would be sent.
    pub fn packed(&mut self, plain: &[u8]) -> Vec<u8> {
        let mut wire = Vec::new();
        self.outgoing.send(plain, &mut self.counters, &mut wire).unwrap();
        wire
    }

    /// Its socket.
    pub fn socket(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// The next packet and what it answers; `None` when the server has closed the connection.
    pub fn next_answer(&mut self) -> Option<Answer> {
        loop {
            if let Some(answer) = self.replies.next_reply().unwrap() {
                self.counters.packet_in();
                return Some(answer);
            }
            if !self.receive() {
                return None;
            }
        }
    }

    /// The next packet; `None` when the server has closed the connection.
    pub fn next_reply(&mut self) -> Option<Reply> {
        self.next_answer().map(|answer| answer.reply)
    }

    /// One read from the socket; false at its end.
    pub fn receive(&mut self) -> bool {
        let mut buffer = [0; 65536];
        let count = match self.stream.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => 0,
            Err(error) => panic!("nothing came from the server: {error}"),
        };
        let mut plain = Vec::new();
        self.incoming.receive(&mut buffer[..count], &mut self.counters, &mut plain).unwrap();
        while self.incoming.has_more() {
            self.incoming.receive_more(&mut self.counters, &mut plain).unwrap();
        }
        self.replies.feed(&plain);
        count > 0
    }

    /// The next packet.
    pub fn reply(&mut self) -> Reply {
        self.next_reply().expect("the server closed the connection")
    }

    /// Whether the server closes the connection without another word.
    pub fn is_closed_by_server(&mut self) -> bool {
        self.next_reply().is_none()
    }

    /// The next packet, which must be a response.
    pub fn response(&mut self) -> Result<Response> {
        match self.reply() {
            Reply::Response(response) => check(response),
            other => panic!("a response was expected, not {other:?}"),
        }
    }

    /// Asks, and waits for the response.
    pub fn ask(&mut self, request: Request) -> Result<Response> {
        self.send(&[request]);
        self.response()
    }

    /// Presses Ctrl+C until the answer comes.
    pub fn cancel_until_answered(&mut self) -> Reply {
        self.stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let mut byte = [0; 1];
        while self.stream.peek(&mut byte).is_err() {
            self.send(&[Request::Cancel { kind: farbird_wire::protocol::cancel::RAISE }]);
        }
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        self.reply()
    }

    /// Starts a transaction with Firebird's default parameters.
    pub fn start(&mut self) -> Handle {
        self.start_with(&[])
    }

    pub fn start_with(&mut self, tpb: &[u8]) -> Handle {
        self.ask(Request::StartTransaction { database: Handle::NONE, tpb: tpb.to_vec() }).unwrap().object
    }

    pub fn commit(&mut self, transaction: Handle) {
        self.ask(Request::Commit(transaction)).unwrap();
    }

    pub fn rollback(&mut self, transaction: Handle) {
        self.ask(Request::Rollback(transaction)).unwrap();
    }

    pub fn text(&self, transaction: Handle, statement: Handle, sql: &str) -> StatementText {
        StatementText {
            transaction,
            statement,
            dialect: 3,
            sql: sql.as_bytes().to_vec(),
            items: PREPARE_ITEMS.to_vec(),
            buffer_length: BufferLength(65_000),
            flags: 0,
        }
    }

    pub fn prepare(&mut self, transaction: Handle, sql: &str) -> Result<Prepared> {
        let text = self.text(transaction, Handle::LATEST, sql);
        self.send(&[Request::AllocateStatement(Handle::NONE), Request::Prepare(text)]);
        let handle = self.response()?.object;
        let response = self.response()?;
        Ok(self.prepared(handle, &response))
    }

    /// What the response to a prepare says.
    pub fn prepared(&self, handle: Handle, response: &Response) -> Prepared {
        let mut information = StatementInformation::default();
        assert_eq!(information.read(&response.data), Ok(None), "the description was truncated");
        let format = |variables: &[farbird_wire::info::Variable]| {
            let types = variables.iter().map(|variable| {
                MessageType::described(&variable.description, self.version()).expect("a known type")
            });
            (!variables.is_empty()).then(|| Arc::new(MessageFormat::from_columns(types)))
        };
        let (input, output) = (format(&information.inputs), format(&information.outputs));
        assert_eq!(response.object.0 & !(prepare_reply::NO_BATCH | prepare_reply::DEFER_EXECUTE), 0);
        Prepared { handle, input, output, information, flags: response.object.0 }
    }

    /// An op_execute with all words at their defaults.
    pub fn execution(&self, transaction: Handle, statement: &Prepared, values: &[Value]) -> Execute {
        let message = statement.input.as_ref().map(|format| {
            Message::new(Arc::clone(format), MessageForm::of_sql(self.version()), values).unwrap()
        });
        Execute {
            statement: statement.handle,
            transaction,
            input_blr: statement.input.as_ref().map(|format| format.to_blr()).unwrap_or_default(),
            message_number: 0,
            message,
            timeout_ms: 0,
            cursor_flags: 0,
            inline_blob_bytes: self.inline_blob_bytes,
        }
    }

    pub fn execute(
        &mut self,
        transaction: Handle,
        statement: &Prepared,
        values: &[Value],
    ) -> Result<Response> {
        let execute = self.execution(transaction, statement, values);
        self.ask(Request::Execute(execute))
    }

    /// Executes a statement that gives one row.
    pub fn execute2(
        &mut self,
        transaction: Handle,
        statement: &Prepared,
        values: &[Value],
    ) -> Result<Option<Vec<Value>>> {
        let execute = self.execution(transaction, statement, values);
        let output = Output::new(statement.output.clone());
        self.send(&[Request::Execute2(Execute2 { execute, output })]);
        let mut reply = self.reply();
        while matches!(reply, Reply::InlineBlob(_)) {
            reply = self.reply();
        }
        let Reply::SqlResponse(row) = reply else { panic!("op_execute2 was answered by {reply:?}") };
        self.response()?;
        Ok(row.message.map(|message| message.values().unwrap()))
    }

    pub fn fetch_request(&self, statement: &Prepared, count: u16) -> Fetch {
        Fetch { statement: statement.handle, output: Output::new(statement.output.clone()), count }
    }

    pub fn fetch(&mut self, statement: &Prepared, count: u16) -> Result<Batch> {
        let fetch = self.fetch_request(statement, count);
        self.send(&[Request::Fetch(fetch)]);
        self.batch()
    }

    /// What answers a fetch.
    pub fn batch(&mut self) -> Result<Batch> {
        let mut batch = Batch::default();
        loop {
            match self.reply() {
                Reply::InlineBlob(blob) => batch.blobs.push(blob),
                Reply::FetchResponse(FetchResponse { message: Some(message), .. }) => {
                    batch.rows.push(message.values().unwrap());
                }
                Reply::FetchResponse(FetchResponse { status, message: None }) => {
                    batch.is_end = status != 0;
                    return Ok(batch);
                }
                Reply::Response(response) => {
                    return Err(check(response).expect_err("a fetch ends with a marker or an error"));
                }
                other => panic!("op_fetch was answered by {other:?}"),
            }
        }
    }

    /// All rows of a query in a transaction.
    pub fn query_in(&mut self, transaction: Handle, sql: &str, values: &[Value]) -> Result<Vec<Vec<Value>>> {
        let statement = self.prepare(transaction, sql)?;
        self.execute(transaction, &statement, values)?;
        let mut rows = Vec::new();
        loop {
            let batch = self.fetch(&statement, 500)?;
            rows.extend(batch.rows);
            if batch.is_end {
                break;
            }
        }
        self.drop_statement(&statement);
        Ok(rows)
    }

    /// All rows of a query, in a transaction of its own.
    pub fn query(&mut self, sql: &str) -> Vec<Vec<Value>> {
        let transaction = self.start();
        let rows = self.query_in(transaction, sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
        self.commit(transaction);
        rows
    }

    /// The one value of a query.
    pub fn value(&mut self, sql: &str) -> Value {
        self.query(sql).swap_remove(0).swap_remove(0)
    }

    /// Runs a statement in a transaction.
    pub fn run_in(&mut self, transaction: Handle, sql: &str) -> Result<Response> {
        let text = self.text(transaction, Handle::NONE, sql);
        self.ask(Request::ExecuteImmediate(StatementText { items: Vec::new(), ..text }))
    }

    /// Runs a statement in a transaction of its own.
    pub fn run(&mut self, sql: &str) {
        self.try_run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    pub fn try_run(&mut self, sql: &str) -> Result<()> {
        let transaction = self.start();
        let result = self.run_in(transaction, sql);
        match &result {
            Ok(_) => self.ask(Request::Commit(transaction))?,
            Err(_) => self.ask(Request::Rollback(transaction))?,
        };
        result.map(|_| ())
    }

    pub fn drop_statement(&mut self, statement: &Prepared) {
        let request = Request::FreeStatement { statement: statement.handle, option: free_statement::DROP };
        // Its answer may wait for another one: ask for both.
        if self.version().has_plugins() {
            self.send(&[request, Request::Ping]);
            self.response().unwrap();
        } else {
            self.send(&[request]);
            let information = self.information(Handle::NONE, &[farbird_wire::info::database::ODS_VERSION]);
            self.send(&[Request::DatabaseInformation(information)]);
            self.response().unwrap();
        }
        self.response().unwrap();
    }

    /// Closes a cursor; the statement stays prepared.
    pub fn close_cursor(&mut self, statement: &Prepared) -> Result<()> {
        let request = Request::FreeStatement { statement: statement.handle, option: free_statement::CLOSE };
        self.send(&[request, Request::Ping]);
        let result = self.response();
        self.response().unwrap();
        result.map(|_| ())
    }

    pub fn information(&self, object: Handle, items: &[u8]) -> Information {
        Information { object, incarnation: 0, items: items.to_vec(), buffer_length: BufferLength(32_000) }
    }

    /// Writes a BLOB in segments of at most `segment` bytes; gives its id.
    pub fn write_blob(&mut self, transaction: Handle, bytes: &[u8], segment: usize) -> BlobId {
        let open = OpenBlob { bpb: Vec::new(), transaction, blob: BlobId(0) };
        let response = self.ask(Request::CreateBlob2(open)).unwrap();
        for piece in bytes.chunks(segment) {
            let length = u16::try_from(piece.len()).unwrap();
            let segment = Segment { blob: response.object, length, data: piece.to_vec() };
            self.ask(Request::PutSegment(segment)).unwrap();
        }
        self.ask(Request::CloseBlob(response.object)).unwrap();
        response.blob
    }

    /// Reads a BLOB to its end.
    pub fn read_blob(&mut self, transaction: Handle, id: BlobId) -> Result<Vec<u8>> {
        let open = OpenBlob { bpb: Vec::new(), transaction, blob: id };
        let blob = self.ask(Request::OpenBlob2(open))?.object;
        let mut bytes = Vec::new();
        loop {
            let segment = Segment { blob, length: u16::MAX, data: Vec::new() };
            let response = self.ask(Request::GetSegment(segment))?;
            bytes.extend(segments(&response.data));
            if response.object.0 == segment_state::END_OF_BLOB {
                break;
            }
        }
        self.ask(Request::CloseBlob(blob))?;
        Ok(bytes)
    }
}

/// What segments behind their lengths hold together.
pub fn segments(mut data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let [low, high, rest @ ..] = data {
        let (segment, rest) = rest.split_at(usize::from(u16::from_le_bytes([*low, *high])));
        bytes.extend_from_slice(segment);
        data = rest;
    }
    bytes
}

/// The response, or the error that it carries.
pub fn check(response: Response) -> Result<Response> {
    match response.status.error() {
        Some(error) => Err::<Response, Error>(error),
        None => Ok(response),
    }
}
