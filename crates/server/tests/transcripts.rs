//! Recorded conversations of Firebird 5.0.4's own programs, served to our server: the client's side is sent again, and
//! what comes back must be what Firebird answered.
//!
//! The recorded login is replaced by one of our own. Handles and BLOB ids are numbers of the server's choice: they are
//! mapped as they appear, so a wrong one shows. Everything else is compared, except what [`ACCEPTED_INFORMATION`] names.

#![allow(dead_code, unreachable_pub, reason = "the player and the client are shared between test binaries")]

mod common;
#[path = "../../wire/tests/tape/mod.rs"]
mod tape;

use std::collections::{BTreeMap, HashMap};

use common::client::segments;
use common::{Client, Login, TestServer};
use farbird_types::{BlobId, Value};
use farbird_wire::clumplet::{ClumpletReader, ClumpletWriter, dpb};
use farbird_wire::decoder::{Limits, ReplyDecoder};
use farbird_wire::info::{InfoReader, StatementInformation, database};
use farbird_wire::message::Message;
use farbird_wire::packet::{Attach, FetchResponse, Reply, Request, Response};
use farbird_wire::protocol::Handle;
use tape::{Packet, Player, load};

/// What may differ from Firebird's answers, and why.
///
/// - The value of fb_info_firebird_version: we say who we are, and it names the client's machine.
/// - DECFLOAT values may be another member of their cohort (125E98, 1250E97): the number is the same.
const ACCEPTED_INFORMATION: [u8; 1] = [database::FIREBIRD_VERSION];

/// A request and what Firebird answered to it.
struct Exchange {
    request: Request,
    replies: Vec<Reply>,
}

/// What happened next in a conversation; numbers are those of exchanges.
enum Event {
    Sent(usize),
    Answered(usize),
}

/// A recorded conversation, taken apart.
struct Conversation {
    exchanges: Vec<Exchange>,
    events: Vec<Event>,
}

impl Conversation {
    fn load(name: &str) -> Conversation {
        let mut player = Player::new();
        for (way, piece) in load(name) {
            player.play(way, &piece).unwrap();
        }
        let mut decoder = ReplyDecoder::new(Limits::default());
        let (mut exchanges, mut events, mut next): (Vec<Exchange>, _, _) = (Vec::new(), Vec::new(), 0);
        for packet in player.packets {
            match packet {
                Packet::Request(request) => {
                    decoder.expect(&request).unwrap();
                    events.push(Event::Sent(exchanges.len()));
                    exchanges.push(Exchange { request, replies: Vec::new() });
                }
                Packet::Reply(reply) => {
                    let mut bytes = Vec::new();
                    reply.encode(player_version(), &mut bytes);
                    decoder.feed(&bytes);
                    let answer = decoder.next_reply().unwrap().unwrap();
                    while Some(exchanges[next].request.operation()) != answer.to {
                        next += 1;
                    }
                    exchanges[next].replies.push(answer.reply);
                    if answer.is_last {
                        events.push(Event::Answered(next));
                        next += 1;
                    }
                }
            }
        }
        Conversation { exchanges, events }
    }

    /// The DPB of its attach, without what belongs to the recorded login.
    fn parameters(&self) -> Vec<u8> {
        let attach = self.exchanges.iter().find_map(|exchange| match &exchange.request {
            Request::Attach(attach) => Some(attach),
            _ => None,
        });
        let mut writer = ClumpletWriter::dpb();
        for item in ClumpletReader::dpb(&attach.unwrap().parameters).unwrap().map(Result::unwrap) {
            let login = [dpb::AUTH_PLUGIN_NAME, dpb::AUTH_PLUGIN_LIST, dpb::SPECIFIC_AUTH_DATA];
            if !login.contains(&item.tag) {
                writer.bytes(item.tag, item.data);
            }
        }
        writer.into_bytes()
    }
}

fn player_version() -> farbird_wire::protocol::ProtocolVersion {
    farbird_wire::protocol::ProtocolVersion::V19
}

/// Plays a conversation's client to our server, and gathers what comes back otherwise than recorded.
struct Replay {
    client: Client,
    handles: HashMap<Handle, Handle>,
    blobs: HashMap<BlobId, BlobId>,
    differences: Vec<String>,
}

impl Replay {
    fn new(server: &TestServer, database: &str, conversation: &Conversation) -> Replay {
        let login = Login { newest: player_version(), ..Login::default() };
        let mut client = Client::log_in(server.address, &login).unwrap();
        let parameters = conversation.parameters();
        let attach = Attach { database: Handle::NONE, file: database.into(), parameters };
        client.ask(Request::Attach(attach)).unwrap();
        Replay { client, handles: HashMap::new(), blobs: HashMap::new(), differences: Vec::new() }
    }

    fn run(&mut self, conversation: &Conversation) {
        let mut waiting = Vec::new();
        for event in &conversation.events {
            match event {
                Event::Sent(number) => {
                    let request = &conversation.exchanges[*number].request;
                    if !matches!(request, Request::Connect(_) | Request::Attach(_)) {
                        waiting.push(request);
                    }
                }
                Event::Answered(number) => {
                    let exchange = &conversation.exchanges[*number];
                    if matches!(exchange.request, Request::Connect(_) | Request::Attach(_)) {
                        continue;
                    }
                    let requests: Vec<_> =
                        waiting.drain(..).map(|request| self.mapped(request.clone())).collect();
                    if !requests.is_empty() {
                        self.client.send(&requests);
                    }
                    let replies = self.replies();
                    self.compare(*number, exchange, &replies);
                }
            }
        }
    }

    /// Our server's replies to the oldest request that waits for them.
    fn replies(&mut self) -> Vec<Reply> {
        let mut replies = Vec::new();
        loop {
            let answer = self.client.next_answer().expect("the server closed the connection");
            replies.push(answer.reply);
            if answer.is_last {
                return replies;
            }
        }
    }

    /// The request with our server's handles and BLOB ids.
    fn mapped(&self, mut request: Request) -> Request {
        let handle = |handle: &mut Handle| *handle = self.handles.get(handle).copied().unwrap_or(*handle);
        match &mut request {
            Request::ExecuteImmediate(text) | Request::Prepare(text) => {
                handle(&mut text.transaction);
                handle(&mut text.statement);
            }
            Request::Execute(execute) => {
                handle(&mut execute.transaction);
                handle(&mut execute.statement);
            }
            Request::Fetch(fetch) => handle(&mut fetch.statement),
            Request::FreeStatement { statement, .. } => handle(statement),
            Request::Commit(object) | Request::Rollback(object) | Request::CloseBlob(object) => {
                handle(object)
            }
            Request::OpenBlob2(open) => {
                handle(&mut open.transaction);
                open.blob = self.blobs.get(&open.blob).copied().unwrap_or(open.blob);
            }
            Request::BlobInformation(information) => handle(&mut information.object),
            Request::GetSegment(segment) => handle(&mut segment.blob),
            Request::Detach(_)
            | Request::Cancel { .. }
            | Request::Disconnect
            | Request::AllocateStatement(_)
            | Request::StartTransaction { .. }
            | Request::DatabaseInformation(_) => {}
            other => panic!("a request that the recordings did not have: {other:?}"),
        }
        request
    }

    fn compare(&mut self, number: usize, exchange: &Exchange, ours: &[Reply]) {
        let theirs = &exchange.replies;
        let before = self.differences.len();
        if ours.len() != theirs.len() {
            let kinds = |replies: &[Reply]| format!("{:?}", replies.iter().map(kind).collect::<Vec<_>>());
            self.differences.push(format!("replies: {} and not {}", kinds(ours), kinds(theirs)));
        }
        for (ours, theirs) in ours.iter().zip(theirs) {
            self.compare_reply(&exchange.request, ours, theirs);
        }
        for difference in &mut self.differences[before..] {
            *difference = format!("packet {number}, {}: {difference}", summary(&exchange.request));
        }
    }

    fn compare_reply(&mut self, request: &Request, ours: &Reply, theirs: &Reply) {
        match (ours, theirs) {
            (Reply::Response(ours), Reply::Response(theirs)) => self.compare_response(request, ours, theirs),
            (Reply::FetchResponse(ours), Reply::FetchResponse(theirs)) => self.compare_row(ours, theirs),
            (Reply::InlineBlob(ours), Reply::InlineBlob(theirs)) => {
                self.same("information", &ours.information, &theirs.information);
                self.same("contents", &ours.data, &theirs.data);
                self.same_handle(ours.transaction, theirs.transaction);
                self.blobs.insert(theirs.blob, ours.blob);
            }
            _ => self.same("packet", &kind(ours), &kind(theirs)),
        }
    }

    fn compare_response(&mut self, request: &Request, ours: &Response, theirs: &Response) {
        self.same("status", &ours.status.error(), &theirs.status.error());
        if !ours.status.is_success() || !theirs.status.is_success() {
            return;
        }
        match request {
            Request::AllocateStatement(_) | Request::StartTransaction { .. } | Request::OpenBlob2(_) => {
                self.handles.insert(theirs.object, ours.object);
            }
            // SET TRANSACTION as SQL answers with a new handle.
            Request::ExecuteImmediate(text) if text.transaction == Handle::NONE => {
                self.handles.insert(theirs.object, ours.object);
            }
            Request::Prepare(_) => {
                self.same("flags", &ours.object, &theirs.object);
                let (ours, theirs) = (described(&ours.data), described(&theirs.data));
                self.same("description", &ours, &theirs);
            }
            Request::DatabaseInformation(_) => {
                self.same("information", &information(&ours.data), &information(&theirs.data));
            }
            Request::GetSegment(_) => {
                self.same("end of segment or BLOB", &ours.object, &theirs.object);
                self.same("segments", &ours.data, &theirs.data);
            }
            _ => {
                self.same_handle(ours.object, theirs.object);
                self.same("data", &ours.data, &theirs.data);
            }
        }
    }

    fn compare_row(&mut self, ours: &FetchResponse, theirs: &FetchResponse) {
        self.same("end marker", &ours.status, &theirs.status);
        let values = |message: &Option<Message>| message.as_ref().map(|message| message.values().unwrap());
        let (ours, theirs) = (values(&ours.message), values(&theirs.message));
        let (Some(ours), Some(theirs)) = (&ours, &theirs) else {
            return self.same("row", &ours, &theirs);
        };
        self.same("columns", &ours.len(), &theirs.len());
        for (column, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
            match (ours, theirs) {
                // A BLOB that came inline must be the one that the row names.
                (Value::Blob(our_id), Value::Blob(their_id)) => {
                    let known = *self.blobs.entry(*their_id).or_insert(*our_id);
                    self.same(&format!("BLOB of column {column}"), our_id, &known);
                }
                (Value::DecFloat(ours), Value::DecFloat(theirs)) if ours.compare(*theirs).is_eq() => {}
                _ => self.same(&format!("column {column}"), ours, theirs),
            }
        }
    }

    fn same_handle(&mut self, ours: Handle, theirs: Handle) {
        let wanted = self.handles.get(&theirs).copied().unwrap_or(theirs);
        self.same("object", &ours, &wanted);
    }

    fn same<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, ours: &T, theirs: &T) {
        if ours != theirs {
            let short = |value: &T| format!("{value:?}").chars().take(400).collect::<String>();
            self.differences.push(format!(
                "{what}\n    ours:   {}\n    theirs: {}",
                short(ours),
                short(theirs)
            ));
        }
    }
}

/// What prepare told; plans are not asked for.
fn described(data: &[u8]) -> StatementInformation {
    let mut information = StatementInformation::default();
    assert_eq!(information.read(data), Ok(None));
    information
}

/// Items of database information, without the values that may differ.
fn information(data: &[u8]) -> Vec<(u8, Vec<u8>)> {
    InfoReader::new(data)
        .map(Result::unwrap)
        .map(|item| {
            let differs = ACCEPTED_INFORMATION.contains(&item.item);
            (item.item, if differs { Vec::new() } else { item.value.to_vec() })
        })
        .collect()
}

fn kind(reply: &Reply) -> String {
    match reply {
        Reply::FetchResponse(fetch) if fetch.message.is_none() => format!("End({})", fetch.status),
        other => format!("{:?}", other.operation()),
    }
}

fn summary(request: &Request) -> String {
    match request {
        Request::Prepare(text) | Request::ExecuteImmediate(text) => {
            format!("{:?} of {}", request.operation(), String::from_utf8_lossy(&text.sql).trim())
        }
        _ => format!("{:?}", request.operation()),
    }
}

/// Plays the conversation; fails with everything that came back otherwise.
fn play(server: &TestServer, database: &str, conversation: &Conversation) {
    let mut replay = Replay::new(server, database, conversation);
    replay.run(conversation);
    assert!(replay.differences.is_empty(), "\n{}\n", replay.differences.join("\n"));
}

#[test]
fn isql_finds_what_it_found_in_firebird() {
    let server = TestServer::start();
    let _owner = server.create("people.fbd");
    play(&server, "people.fbd", &Conversation::load("isql5-session"));
}

/// The contents of BLOB_TEST that the recording shows: by ID, and whether they are short.
fn recorded_contents(conversation: &Conversation) -> BTreeMap<i64, (Vec<u8>, bool)> {
    let mut blobs: HashMap<BlobId, Vec<u8>> = HashMap::new();
    let mut open = None;
    let mut rows = Vec::new();
    let mut only_short = false;
    for exchange in &conversation.exchanges {
        match &exchange.request {
            Request::Prepare(text) => only_short = text.sql.windows(10).any(|part| part == b"SHORT_BLOB"),
            Request::OpenBlob2(blob) => {
                open = Some(blob.blob);
                blobs.insert(blob.blob, Vec::new());
            }
            Request::GetSegment(_) => {
                if let (Some(id), Some(Reply::Response(response))) = (open, exchange.replies.last()) {
                    blobs.entry(id).or_default().extend(segments(&response.data));
                }
            }
            Request::CloseBlob(_) => open = None,
            _ => {}
        }
        for reply in &exchange.replies {
            match reply {
                Reply::InlineBlob(blob) => {
                    blobs.insert(blob.blob, segments(&blob.data));
                }
                Reply::FetchResponse(FetchResponse { message: Some(message), .. }) => {
                    if let [Value::Integer { unscaled: id, .. }, Value::Blob(blob)] =
                        message.values().unwrap()[..]
                    {
                        rows.push((id, blob, only_short));
                    }
                }
                _ => {}
            }
        }
    }
    let mut contents = BTreeMap::new();
    for (id, blob, short) in rows {
        // The last query asks for ids alone: what is not there has been read by an earlier one.
        if let Some(bytes) = blobs.get(&blob) {
            contents.entry(id).or_insert((bytes.clone(), false)).1 |= short;
        }
    }
    contents
}

/// The recorded BLOBs were copied by PSQL, which writes segments of this size.
const SEGMENT_BYTES: usize = 32_000;

fn fill_blob_test(client: &mut Client, contents: &BTreeMap<i64, (Vec<u8>, bool)>) {
    client.run(
        "CREATE TABLE BLOB_TEST (ID BIGINT GENERATED BY DEFAULT AS IDENTITY,
         SHORT_CONTENT VARCHAR(8191) CHARACTER SET UTF8, CONTENT BLOB SUB_TYPE TEXT CHARACTER SET UTF8,
         SHORT_BLOB BOOLEAN DEFAULT FALSE NOT NULL, CONSTRAINT PK_BLOB_TEST PRIMARY KEY (ID))",
    );
    let transaction = client.start();
    let sql = "INSERT INTO BLOB_TEST (ID, SHORT_CONTENT, CONTENT, SHORT_BLOB) VALUES (?, ?, ?, ?)";
    let insert = client.prepare(transaction, sql).unwrap();
    for (id, (bytes, short)) in contents {
        let blob = client.write_blob(transaction, bytes, SEGMENT_BYTES);
        let text = if *short { Value::text(std::str::from_utf8(bytes).unwrap()) } else { Value::Null };
        let values = [Value::integer(*id), text, Value::Blob(blob), Value::Boolean(*short)];
        client.execute(transaction, &insert, &values).unwrap();
    }
    client.commit(transaction);
}

#[test]
fn the_blob_test_reads_what_it_read_from_firebird() {
    let conversation = Conversation::load("blobs5-inline");
    let contents = recorded_contents(&conversation);
    assert_eq!(contents.keys().filter(|id| **id <= 12).count(), 12, "the first rows were read whole");
    let server = TestServer::start();
    let mut owner = server.create("blobs.fbd");
    fill_blob_test(&mut owner, &contents);
    play(&server, "blobs.fbd", &conversation);
}
