//! Conversations with a played server.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use farbird_types::{BlobId, Error, Value, isc};
use farbird_wire::auth::srp::{ClientLogin, ProofHash, ServerLogin, Verifier};
use farbird_wire::clumplet::ClumpletReader;
use farbird_wire::decoder::{Limits as DecoderLimits, ReplyDecoder, RequestDecoder};
use farbird_wire::message::{MessageFormat, MessageType};
use farbird_wire::negotiation::{Choice, UserIdentification, offers};
use farbird_wire::packet::{
    AcceptWithData, Attach, BufferLength, Connect, ContinueAuthentication, Execute, FetchResponse,
    Information, InlineBlob, OpenBlob, Reply, Request, RequestCall, Response, StatementText,
    encode_fetch_row,
};
use farbird_wire::protocol::{Handle, ProtocolVersion, free_statement};
use farbird_wire::status::StatusVector;

use super::{AuxiliaryStep, Conversation, Credentials, Limits, RANDOM_BYTES};
use crate::message::{
    Ask, AskAhead, AskBehind, Channel, Cursor, Execution, Fingerprint, GivenParameters, Push, RequestId,
    Rule, Tell, ToEdge,
};
use crate::speculation::RunnerCounts;

mod definitions;
mod writes;

const VERSION: ProtocolVersion = ProtocolVersion::V13;

/// A conversation, and the server's end of it.
struct Played {
    conversation: Conversation,
    server: RequestDecoder,
    version: ProtocolVersion,
}

impl Played {
    /// Attached.
    fn new() -> Played {
        Played::at(VERSION)
    }

    /// Before a server whose catalogue is not asked.
    fn at(version: ProtocolVersion) -> Played {
        let mut played = Played::firebird(version);
        played.ask(Ask::BelieveTexts);
        played
    }

    /// Before a server that does not say what statements read.
    fn firebird(version: ProtocolVersion) -> Played {
        Played::at_kind(version, false)
    }

    fn at_kind(version: ProtocolVersion, is_farbird: bool) -> Played {
        let connect = Request::Connect(Connect {
            operation: 0,
            version: 3,
            architecture: 1,
            file: b"a".to_vec(),
            user_identification: Vec::new(),
            offers: offers(ProtocolVersion::V10, version, true),
        });
        let conversation =
            Conversation::new(Limits::default(), Channel(1), &packet_at(version, &connect), is_farbird);
        let mut played =
            Played { conversation, server: RequestDecoder::new(DecoderLimits::default()), version };
        let [Request::Connect(connect)] = &played.asked()[..] else { panic!("no op_connect") };
        assert!(connect.offers.iter().all(|offer| offer.type_max == 5), "compression is each hop's own");
        let choice = Choice { version, connection_type: 5, compress: false };
        played.answer(&Reply::Accept(choice.into()));
        played.server.set_version(version);
        let attach = Attach { database: Handle(0), file: b"a".to_vec(), parameters: Vec::new() };
        played.relay(1, 0, &Request::Attach(attach));
        assert_eq!(played.asked().len(), 1);
        played.answer(&Reply::Response(Response::success()));
        played.told();
        played
    }

    /// Attached, by a Farbird server that has been asked which database it is.
    fn farbird() -> Played {
        let mut played = Played::at_kind(VERSION, true);
        let [Request::DatabaseInformation(_)] = &played.asked()[..] else { panic!("no facts") };
        played
    }

    fn ask(&mut self, ask: Ask) {
        self.ask_at(0, ask);
    }

    fn ask_at(&mut self, seconds: u64, ask: Ask) {
        self.conversation.ask(ask, Duration::from_secs(seconds));
    }

    fn relay(&mut self, id: u32, object: u16, request: &Request) {
        self.ask(Ask::Relay { id: RequestId(id), object, packet: packet_at(self.version, request) });
    }

    fn quiet(&mut self, object: u16, request: &Request) {
        self.ask(Ask::Quiet { object, packet: packet_at(self.version, request) });
    }

    /// What the server is asked; it holds answers back like a real one, so pings are answered at once.
    fn asked(&mut self) -> Vec<Request> {
        self.server.feed(&self.conversation.take_output());
        let mut asked = Vec::new();
        while let Some(request) = self.server.next_request().unwrap() {
            asked.push(request);
        }
        asked
    }

    fn answer(&mut self, reply: &Reply) {
        self.answer_at(0, reply);
    }

    fn answer_at(&mut self, seconds: u64, reply: &Reply) {
        let mut bytes = Vec::new();
        reply.encode(self.version, &mut bytes);
        self.conversation.receive(&mut bytes, Duration::from_secs(seconds));
    }

    fn told(&mut self) -> Vec<Tell> {
        let tell = |message| match message {
            ToEdge::On { tell, .. } => tell,
            other => panic!("{other:?}"),
        };
        self.conversation.take_messages().into_iter().map(tell).collect()
    }

    /// The one reply that was told, which answers this request.
    fn reply(&mut self, id: u32, request: &Request) -> Response {
        let told = self.told();
        let packets = told.iter().find_map(|tell| match tell {
            Tell::Reply { id: of, packets } if *of == RequestId(id) => Some(packets),
            _ => None,
        });
        let mut decoder = ReplyDecoder::new(DecoderLimits::default());
        decoder.expect(request).unwrap();
        decoder.feed(packets.unwrap_or_else(|| panic!("{told:?}")));
        match decoder.next_reply().unwrap().unwrap().reply {
            Reply::Response(response) => response,
            other => panic!("{other:?}"),
        }
    }
}

fn packet(request: &Request) -> Vec<u8> {
    packet_at(VERSION, request)
}

fn packet_at(version: ProtocolVersion, request: &Request) -> Vec<u8> {
    let mut packet = Vec::new();
    request.encode(version, &mut packet);
    packet
}

fn failed(code: u32) -> Reply {
    let status = StatusVector::from_error(&Error::new(code));
    Reply::Response(Response { status, ..Response::success() })
}

fn begin() -> Request {
    Request::StartTransaction { database: Handle(0), tpb: vec![3] }
}

fn prepare(transaction: u16, statement: u16) -> Request {
    Request::Prepare(StatementText {
        transaction: Handle(transaction),
        statement: Handle(statement),
        dialect: 3,
        sql: b"select 1 from t".to_vec(),
        items: vec![21, 1],
        buffer_length: BufferLength(100),
        flags: 0,
    })
}

fn execute(statement: u16, transaction: u16) -> Request {
    Request::Execute(Execute {
        statement: Handle(statement),
        transaction: Handle(transaction),
        input_blr: Vec::new(),
        message_number: 0,
        message: None,
        timeout_ms: 0,
        cursor_flags: 0,
        inline_blob_bytes: 0,
    })
}

/// Answers what makes a statement that the edge has described, with this description; gives what was asked after it.
fn make_statement(played: &mut Played, description: &[u8]) -> Vec<Request> {
    let asked = played.asked();
    assert!(matches!(asked[0], Request::AllocateStatement(_)), "{asked:?}");
    assert!(matches!(asked[1], Request::Ping), "a server holds that answer back: {asked:?}");
    played.answer(&Reply::Response(Response::object(Handle(9))));
    played.answer(&Reply::Response(Response::success()));
    let [Request::Prepare(text)] = &played.asked()[..] else { panic!("no op_prepare_statement") };
    assert_eq!((text.transaction, text.statement), (Handle(8), Handle(9)), "handles of the server");
    played.answer(&Reply::Response(Response::data(Handle(4), description.to_vec())));
    played.asked()
}

/// A transaction with the edge's handle 1 and the server's 8, and a statement with the edge's handle 2 described from its cache.
fn described() -> Played {
    let mut played = Played::new();
    played.quiet(1, &begin());
    assert_eq!(played.asked(), [begin()]);
    played.answer(&Reply::Response(Response::object(Handle(8))));
    played.quiet(2, &Request::AllocateStatement(Handle(0)));
    played.ask(Ask::Prepared { packet: packet(&prepare(1, 2)), described: Fingerprint::of(b"one") });
    assert_eq!(played.asked(), [], "it is prepared when it is needed");
    played.relay(7, 0, &execute(2, 1));
    played
}

/// An edge that attaches again waits to hear which database it is.
#[test]
fn a_server_that_does_not_say_which_database_it_is_ends_the_conversation() {
    let silent = Response::data(Handle(0), vec![1]);
    for reply in [silent, Response::error(&Error::new(isc::SHUTDOWN))] {
        let mut played = Played::farbird();
        played.answer(&Reply::Response(reply));
        let messages = played.conversation.take_messages();
        let [ToEdge::Closed { reason, .. }] = &messages[..] else { panic!("{messages:?}") };
        assert!(reason.contains("which database"), "{reason}");
    }
}

#[test]
fn a_statement_is_made_when_it_is_needed() {
    let mut played = described();
    assert_eq!(make_statement(&mut played, b"one"), [execute(9, 8)]);
    played.answer(&Reply::Response(Response::object(Handle(8))));
    assert_eq!(played.reply(7, &execute(2, 1)), Response::object(Handle(1)), "a handle of the edge");
}

/// Firebird holds back the answer to op_batch_rls, and the one to op_execute behind which more has come, until it answers something
/// at once. What the program asks next the edge may answer by itself, and the program waits for the held answer first.
#[test]
fn answers_are_drawn_out_behind_which_only_the_edges_own_requests_go() {
    let release = |statement| Request::BatchRelease(Handle(statement));
    let dropped = || Request::FreeStatement { statement: Handle(9), option: free_statement::DROP };
    // What is relayed, whether it has been written when the statement is dropped, and what the server is asked.
    let lines = [
        (release(2), false, vec![release(9), dropped(), Request::Ping]),
        (release(2), true, vec![release(9), Request::Ping, dropped()]),
        (execute(2, 1), false, vec![execute(9, 8), dropped(), Request::Ping]),
        (execute(2, 1), true, vec![execute(9, 8), dropped(), Request::Ping]),
    ];
    for (relayed, is_written, expected) in lines {
        let mut played = described();
        make_statement(&mut played, b"one");
        played.answer(&Reply::Response(Response::object(Handle(8))));
        played.told();
        played.relay(8, 0, &relayed);
        let mut asked = if is_written { played.asked() } else { Vec::new() };
        played.quiet(0, &Request::FreeStatement { statement: Handle(2), option: free_statement::DROP });
        asked.extend(played.asked());
        assert_eq!(asked, expected);
        assert_eq!(played.asked(), [], "once");
        played.answer(&Reply::Response(Response::success()));
        assert!(played.reply(8, &relayed).status.is_success());
    }
}

#[test]
fn rows_leave_when_their_own_blobs_are_read() {
    let mut played = Played::new();
    played.quiet(1, &begin());
    played.asked();
    played.answer(&Reply::Response(Response::object(Handle(8))));
    played.quiet(2, &Request::AllocateStatement(Handle(0)));
    played.ask(Ask::Prepared { packet: packet(&prepare(1, 2)), described: Fingerprint::of(b"one") });
    let format = MessageFormat::from_columns([MessageType::Blob { subtype: 0, charset: 0 }]);
    let push = Push { blr: format.to_blr(), credit: 1 << 20, blob_bytes: 1_000 };
    let (id, cursor, packet) = (RequestId(7), Cursor(1), packet(&execute(2, 1)));
    played.ask(Ask::Open { id, cursor, packet, push: Some(push), question: None, ahead: Vec::new() });
    let mut asked = make_statement(&mut played, b"one");
    played.answer(&Reply::Response(Response::object(Handle(8))));
    asked.extend(played.asked());
    let mut bytes = Vec::new();
    let mut number = 0;
    for request in &asked {
        if matches!(request, Request::Fetch(_)) {
            // All rows answer the first one.
            while number < 20 {
                number += 1;
                encode_fetch_row(&format, VERSION, &[Value::Blob(BlobId(number))], &mut bytes).unwrap();
            }
            Reply::FetchResponse(FetchResponse::END_OF_CURSOR).encode(VERSION, &mut bytes);
        }
    }
    played.conversation.receive(&mut bytes, Duration::ZERO);
    let opened = played.asked().iter().filter(|request| matches!(request, Request::OpenBlob2(_))).count();
    assert_eq!(opened, 20, "{asked:?}");
    let mut rows = |answers: usize| {
        (0..answers).for_each(|_| played.answer(&failed(isc::BAD_SEGSTR_ID)));
        let told = played.told().into_iter();
        told.map(|tell| if let Tell::Rows { rows, .. } = tell { rows } else { 0 }).sum::<u32>()
    };
    let first = rows(10);
    assert!(first > 0 && first <= 10, "{first} rows after 10 BLOBs");
    assert_eq!(first + rows(10), 20);
}

/// Opens a cursor of rows of one BLOB, and lets the server answer what it is asked until it is asked nothing more: rows as long as
/// `blob_bytes` says of each. Gives the bytes of BLOBs that came; more than `bound` are too many.
fn stalled_cursor(version: ProtocolVersion, blob_bytes: impl Fn(u64) -> usize, bound: usize) -> usize {
    let mut played = Played::at(version);
    played.quiet(1, &begin());
    played.asked();
    played.answer(&Reply::Response(Response::object(Handle(8))));
    played.quiet(2, &Request::AllocateStatement(Handle(0)));
    played.relay(6, 0, &prepare(1, 2));
    let format = MessageFormat::from_columns([MessageType::Blob { subtype: 0, charset: 0 }]);
    let push = Push { blr: format.to_blr(), credit: 1 << 20, blob_bytes: 256 << 10 };
    let packet = packet_at(version, &execute(2, 1));
    let (id, cursor) = (RequestId(7), Cursor(1));
    played.ask(Ask::Open { id, cursor, packet, push: Some(push), question: None, ahead: Vec::new() });
    let (mut rows, mut came) = (0, 0);
    let mut open: u16 = 100;
    let mut contents = HashMap::new();
    let mut waiting = VecDeque::from(played.asked());
    while let Some(request) = waiting.pop_front() {
        let mut bytes = Vec::new();
        let reply = match &request {
            Request::AllocateStatement(_) => Response::object(Handle(9)),
            Request::Execute(_) => Response::object(Handle(8)),
            Request::Fetch(fetch) => {
                for _ in 0..fetch.count {
                    rows += 1;
                    let length = blob_bytes(rows);
                    if version.has_inline_blobs() {
                        came += length;
                        let blob = InlineBlob {
                            transaction: Handle(8),
                            blob: BlobId(rows),
                            information: Vec::new(),
                            data: vec![1; length],
                        };
                        Reply::InlineBlob(blob).encode(version, &mut bytes);
                    }
                    encode_fetch_row(&format, version, &[Value::Blob(BlobId(rows))], &mut bytes).unwrap();
                    assert!(came <= bound, "{came} bytes of BLOBs after {rows} rows");
                }
                Reply::FetchResponse(FetchResponse::END_OF_BATCH).encode(version, &mut bytes);
                played.conversation.receive(&mut bytes, Duration::ZERO);
                waiting.extend(played.asked());
                continue;
            }
            Request::OpenBlob2(blob) => {
                open += 1;
                contents.insert(open, blob_bytes(blob.blob.0));
                Response::object(Handle(open))
            }
            Request::BlobInformation(asked) => {
                let length = u32::try_from(contents[&asked.object.0]).unwrap().to_le_bytes();
                let mut data = Vec::new();
                for (item, number) in [(4, [1, 0, 0, 0]), (5, length), (6, length), (7, [0; 4])] {
                    data.extend([item, 4, 0]);
                    data.extend(number);
                }
                data.push(1);
                Response::data(Handle(0), data)
            }
            Request::GetSegment(segment) => {
                let left = contents.get_mut(&segment.blob.0).unwrap();
                let length = (*left).min(usize::from(segment.length) - 2);
                *left -= length;
                came += length;
                assert!(came <= bound, "{came} bytes of BLOBs after {rows} rows");
                let data = [&u16::try_from(length).unwrap().to_le_bytes()[..], &vec![1; length]].concat();
                Response::data(Handle(if *left == 0 { 2 } else { 1 }), data)
            }
            _ => Response::success(),
        };
        played.answer(&Reply::Response(reply));
        waiting.extend(played.asked());
        assert!(!played.conversation.is_ended(), "{request:?}: {:?}", played.conversation.take_messages());
    }
    came
}

/// A program that stops fetching in the middle of rows with BLOBs: the origin holds little more than the edge has allowed it to send,
/// whatever the first rows have said about the length of the next.
#[test]
fn a_cursor_whose_program_stops_fetching_holds_little() {
    let bound = 20 << 20;
    for version in [VERSION, ProtocolVersion::V19] {
        let of_one_length = stalled_cursor(version, |_| 60_000, bound);
        assert!(of_one_length > 1 << 20, "rows come as long as there is credit");
        let longer_later = stalled_cursor(version, |row| if row < 500 { 10 } else { 60_000 }, bound);
        assert!(longer_later > 1 << 20, "rows come as long as there is credit");
    }
    assert!(stalled_cursor(VERSION, |_| 200_000, bound) > 1 << 20, "BLOBs that do not come inline");
}

/// The edge gives a handle again as soon as it has answered the end of a transaction, which may not have left here.
#[test]
fn a_blob_is_read_though_a_transaction_with_the_same_handle_ends_before() {
    for end in [Request::Rollback(Handle(1)), Request::Commit(Handle(1))] {
        let mut played = Played::new();
        played.quiet(1, &begin());
        played.quiet(0, &end);
        played.quiet(1, &begin());
        let open = OpenBlob { bpb: Vec::new(), transaction: Handle(1), blob: BlobId(7) };
        let packet = packet(&Request::OpenBlob2(open));
        played.ask(Ask::OpenBlob { id: RequestId(2), cursor: Cursor(1), packet, credit: 1_000_000 });
        assert_eq!(played.asked().len(), 1, "all the others wait for the handle of the first");
        for handle in [10, 0, 11, 20] {
            played.answer(&Reply::Response(Response::object(Handle(handle))));
        }
        let asked = played.asked();
        let is_read =
            matches!(asked.last(), Some(Request::GetSegment(segment)) if segment.blob == Handle(20));
        assert!(is_read, "{asked:?}");
    }
}

#[test]
fn a_statement_that_has_become_another_is_not_run() {
    let mut played = described();
    assert_eq!(make_statement(&mut played, b"two"), []);
    let code = |response: Response| response.status.error().unwrap().gds_code();
    assert_eq!(code(played.reply(7, &execute(2, 1))), isc::OBSOLETE_METADATA);
    played.relay(8, 0, &execute(2, 1));
    assert_eq!(code(played.reply(8, &execute(2, 1))), isc::OBSOLETE_METADATA);
    // Prepared anew it is what it is.
    played.relay(9, 0, &prepare(1, 2));
    assert_eq!(played.asked().len(), 1);
    played.answer(&Reply::Response(Response::data(Handle(4), b"two".to_vec())));
    played.relay(10, 0, &execute(2, 1));
    assert_eq!(played.asked(), [execute(9, 8)]);
}

#[test]
fn what_depends_on_something_that_failed_fails_with_it() {
    let mut played = Played::new();
    played.quiet(1, &begin());
    let immediate = |transaction| match prepare(transaction, 0) {
        Request::Prepare(text) => Request::ExecuteImmediate(text),
        other => other,
    };
    played.relay(7, 0, &immediate(1));
    assert_eq!(played.asked(), [begin()], "the statement waits for its transaction");
    played.answer(&failed(isc::BAD_TPB_FORM));
    assert_eq!(played.asked(), []);
    let response = played.reply(7, &immediate(1));
    assert_eq!(response.status.error().unwrap().gds_code(), isc::BAD_TPB_FORM);
    // There is nothing to be rolled back.
    let rollback = Request::Rollback(Handle(1));
    played.relay(8, 0, &rollback);
    assert_eq!(played.asked(), []);
    assert!(played.reply(8, &rollback).status.is_success());
}

#[test]
fn what_cannot_be_read_ends_the_conversation() {
    let mut played = Played::new();
    played.ask(Ask::Relay { id: RequestId(7), object: 0, packet: vec![0, 0, 0, 255] });
    assert!(played.conversation.is_ended());
    assert!(matches!(played.conversation.take_messages()[..], [ToEdge::Closed { .. }]));
    let mut played = Played::new();
    played.answer(&Reply::Response(Response::success()));
    assert!(played.conversation.is_ended(), "nobody has asked");
}

/// The origin makes the second connection, to the port that the server names.
#[test]
fn events_are_told_as_they_stand() {
    let mut played = Played::new();
    played.relay(2, 0, &Request::ConnectRequest { kind: 1, database: Handle(0), partner: 0 });
    assert_eq!(played.asked().len(), 1);
    let data = [&[2, 0, 0x12, 0x34][..], &[0; 12]].concat();
    played.answer(&Reply::Response(Response::data(Handle(0), data)));
    assert_eq!(played.conversation.take_auxiliary(), Some(AuxiliaryStep::Connect(0x1234)));
    assert_eq!(played.conversation.take_auxiliary(), None);
    played.told();
    played.conversation.auxiliary_came(&[1, 2, 3]);
    played.conversation.auxiliary_over();
    let told = played.told();
    assert!(matches!(&told[0], Tell::Auxiliary { bytes, is_over: false } if *bytes == [1, 2, 3]), "{told:?}");
    assert!(matches!(&told[1], Tell::Auxiliary { is_over: true, .. }), "{told:?}");
    played.ask(Ask::CloseAuxiliary);
    assert_eq!(played.conversation.take_auxiliary(), Some(AuxiliaryStep::Close));
}

/// The origin logs in itself; the played server announces ciphers as Firebird 4 does to older clients: without their nonces.
#[test]
fn a_login_of_the_origin_s_own_encrypts_by_what_can_be_used() {
    let connect = |client: &ClientLogin| {
        let user = UserIdentification {
            login: Some(b"alice".to_vec()),
            plugin: Some(b"Srp256".to_vec()),
            specific_data: Some(client.public_key().into_bytes()),
            ..UserIdentification::default()
        };
        packet(&Request::Connect(Connect {
            operation: 0,
            version: 3,
            architecture: 1,
            file: b"a".to_vec(),
            user_identification: user.to_bytes(),
            offers: offers(VERSION, VERSION, false),
        }))
    };
    for is_right in [true, false] {
        let program = ClientLogin::new([7; 32]);
        let credentials = Credentials::new("alice", "secret").unwrap();
        let random = &[9; RANDOM_BYTES];
        let conversation =
            Conversation::with_login(Limits::default(), Channel(1), &connect(&program), credentials, random);
        let server = RequestDecoder::new(DecoderLimits::default());
        let mut played = Played { conversation, server, version: VERSION };
        let [Request::Connect(own)] = &played.asked()[..] else { panic!("no op_connect") };
        let own = UserIdentification::parse(&own.user_identification).unwrap();
        assert_eq!(own.login.as_deref(), Some(&b"ALICE"[..]));
        let verifier = Verifier::create("ALICE", "secret", [3; 32]);
        let server =
            ServerLogin::new(ProofHash::Sha256, "ALICE", verifier, &own.specific_data.unwrap(), [5; 32])
                .unwrap();
        let choice = Choice { version: VERSION, connection_type: 5, compress: false };
        played.server.set_version(VERSION);
        played.answer(&Reply::ConditionalAccept(AcceptWithData {
            accept: choice.into(),
            data: server.challenge(),
            plugin: b"Srp256".to_vec(),
            authenticated: false,
            keys: Vec::new(),
        }));
        // The program is answered with another salt and key than the origin was.
        let told = played.told();
        let [Tell::Reply { id: RequestId::CONNECT, packets }] = &told[..] else { panic!("{told:?}") };
        let mut decoder = ReplyDecoder::new(DecoderLimits::default());
        decoder.expect(&Request::Ping).unwrap();
        decoder.feed(packets);
        let Some(Reply::ConditionalAccept(accept)) = decoder.next_reply().unwrap().map(|answer| answer.reply)
        else {
            panic!("no op_cond_accept")
        };
        assert_ne!(accept.data, server.challenge());
        assert_eq!(played.asked(), [], "nothing is proved yet");
        let password = if is_right { "secret" } else { "Secret" };
        let proof = program.respond(ProofHash::Sha256, "ALICE", password, &accept.data).unwrap();
        let step = |proof: &str| {
            Request::ContinueAuthentication(ContinueAuthentication {
                data: proof.as_bytes().to_vec(),
                plugin: b"Srp256".to_vec(),
                plugin_list: Vec::new(),
                keys: Vec::new(),
            })
        };
        played.relay(1, 0, &step(&proof.proof));
        if !is_right {
            assert!(played.conversation.is_ended());
            assert_eq!(played.asked(), []);
            continue;
        }
        let asked = played.asked();
        let [Request::ContinueAuthentication(own)] = &asked[..] else { panic!("{asked:?}") };
        server.verify(&own.data).expect("the origin knows the password");
        let keys = [&[0, 9][..], b"Symmetric", &[1, 20], b"ChaCha64 ChaCha Arc4"].concat();
        played.answer(&Reply::Response(Response::data(Handle(0), keys)));
        let asked = played.asked();
        assert!(matches!(&asked[..], [Request::Crypt { plugin, .. }] if plugin == b"Arc4"), "{asked:?}");
        let told = played.told();
        assert!(matches!(&told[0], Tell::Key { key } if *key == proof.session_key), "{told:?}");
    }
}

/// A server that wants the login inside the attach gets it there, in the block of a database or of a service.
#[test]
fn a_login_of_the_origin_s_own_goes_on_inside_the_attach() {
    for is_service in [false, true] {
        let program = ClientLogin::new([7; 32]);
        let user = UserIdentification {
            login: Some(b"alice".to_vec()),
            plugin: Some(b"Srp256".to_vec()),
            specific_data: Some(program.public_key().into_bytes()),
            ..UserIdentification::default()
        };
        let connect = packet(&Request::Connect(Connect {
            operation: 0,
            version: 3,
            architecture: 1,
            file: b"a".to_vec(),
            user_identification: user.to_bytes(),
            offers: offers(VERSION, VERSION, false),
        }));
        let credentials = Credentials::new("alice", "secret").unwrap();
        let random = &[9; RANDOM_BYTES];
        let conversation =
            Conversation::with_login(Limits::default(), Channel(1), &connect, credentials, random);
        let server = RequestDecoder::new(DecoderLimits::default());
        let mut played = Played { conversation, server, version: VERSION };
        let [Request::Connect(own)] = &played.asked()[..] else { panic!("no op_connect") };
        let own = UserIdentification::parse(&own.user_identification).unwrap();
        let verifier = Verifier::create("ALICE", "secret", [3; 32]);
        let server =
            ServerLogin::new(ProofHash::Sha256, "ALICE", verifier, &own.specific_data.unwrap(), [5; 32])
                .unwrap();
        let choice = Choice { version: VERSION, connection_type: 5, compress: false };
        played.server.set_version(VERSION);
        played.answer(&Reply::AcceptWithData(AcceptWithData {
            accept: choice.into(),
            data: server.challenge(),
            plugin: b"Srp256".to_vec(),
            authenticated: false,
            keys: Vec::new(),
        }));
        let told = played.told();
        let [Tell::Reply { id: RequestId::CONNECT, packets }] = &told[..] else { panic!("{told:?}") };
        let mut decoder = ReplyDecoder::new(DecoderLimits::default());
        decoder.expect(&Request::Ping).unwrap();
        decoder.feed(packets);
        let Some(Reply::ConditionalAccept(accept)) = decoder.next_reply().unwrap().map(|answer| answer.reply)
        else {
            panic!("no op_cond_accept")
        };
        let proof = program.respond(ProofHash::Sha256, "ALICE", "secret", &accept.data).unwrap();
        let step = ContinueAuthentication {
            data: proof.proof.into_bytes(),
            plugin: b"Srp256".to_vec(),
            plugin_list: Vec::new(),
            keys: Vec::new(),
        };
        played.relay(1, 0, &Request::ContinueAuthentication(step));
        // isc_dpb_process_name and isc_spb_process_name, which must go on, and a password of the program's, which must not.
        let (version, process) = if is_service { (&[2, 2][..], 112) } else { (&[1][..], 74) };
        let parameters = [version, &[process, 1, b'p', 29, 1, b'x']].concat();
        let attach = Attach { database: Handle(0), file: b"a".to_vec(), parameters };
        let attach = if is_service { Request::ServiceAttach(attach) } else { Request::Attach(attach) };
        played.relay(2, 0, &attach);
        let asked = played.asked();
        let [Request::Attach(attach) | Request::ServiceAttach(attach)] = &asked[..] else {
            panic!("{asked:?}")
        };
        let (items, data_tag) = match is_service {
            true => (ClumpletReader::spb_attach(&attach.parameters).unwrap(), 111),
            false => (ClumpletReader::dpb(&attach.parameters).unwrap(), 84),
        };
        let items: Vec<_> = items.map(|item| item.unwrap()).map(|item| (item.tag, item.data)).collect();
        let of = |tag: u8| items.iter().find(|(of, _)| *of == tag).map(|(_, data)| *data);
        assert_eq!((of(process), of(29)), (Some(&b"p"[..]), None), "{items:?}");
        server.verify(of(data_tag).expect("the login")).expect("the origin knows the password");
    }
}

/// A question that is to be asked behind the first op_fetch.
fn open_with_question(played: &mut Played, column: MessageType, rows: u16, credit: u32) {
    let format = MessageFormat::from_columns([column]);
    let question = Request::StatementInformation(Information {
        object: Handle(2),
        incarnation: 0,
        items: vec![23],
        buffer_length: BufferLength(64),
    });
    played.ask(Ask::Open {
        id: RequestId(7),
        cursor: Cursor(1),
        packet: packet(&execute(2, 1)),
        push: Some(Push { blr: format.to_blr(), credit, blob_bytes: 0 }),
        question: Some(AskBehind { id: RequestId(8), rows, packet: packet(&question) }),
        ahead: Vec::new(),
    });
}

/// A transaction 1 and a statement 2 of the edge, 8 and 9 at the server.
fn prepared() -> Played {
    let mut played = Played::new();
    played.quiet(1, &begin());
    played.asked();
    played.answer(&Reply::Response(Response::object(Handle(8))));
    played.quiet(2, &Request::AllocateStatement(Handle(0)));
    played.relay(6, 0, &prepare(1, 2));
    played.asked();
    played.answer(&Reply::Response(Response::object(Handle(9))));
    played.answer(&Reply::Response(Response::success()));
    played.asked();
    played.answer(&Reply::Response(Response::data(Handle(0), b"one".to_vec())));
    played.told();
    played
}

/// A query by key costs the server one op_fetch; longer ones are fetched ahead from their first rows on.
#[test]
fn a_second_fetch_goes_when_rows_of_the_first_have_come() {
    let mut played = prepared();
    let format = MessageFormat::from_columns([MessageType::Long { scale: 0 }]);
    played.ask(Ask::Open {
        id: RequestId(7),
        cursor: Cursor(1),
        packet: packet(&execute(2, 1)),
        push: Some(Push { blr: format.to_blr(), credit: 1 << 20, blob_bytes: 0 }),
        question: None,
        ahead: Vec::new(),
    });
    assert!(matches!(&played.asked()[..], [Request::Execute(_), Request::Fetch(_)]));
    played.answer(&Reply::Response(Response::object(Handle(8))));
    assert_eq!(played.asked(), []);
    let mut bytes = Vec::new();
    encode_fetch_row(&format, VERSION, &[Value::integer(1)], &mut bytes).unwrap();
    played.conversation.receive(&mut bytes, Duration::ZERO);
    assert!(matches!(&played.asked()[..], [Request::Fetch(_)]));
}

/// A program that does not wait between op_execute, op_fetch and op_info_sql gets all three answers.
#[test]
fn what_was_to_be_asked_behind_rows_is_answered_without_them() {
    let mut played = prepared();
    open_with_question(&mut played, MessageType::Long { scale: 0 }, 10, 1_000);
    let asked = played.asked();
    let [Request::Execute(_), Request::Fetch(fetch), Request::StatementInformation(asked)] = &asked[..]
    else {
        panic!("{asked:?}")
    };
    assert_eq!((fetch.count, asked.object), (10, Handle(9)));

    // No cursor is opened: the server is asked nevertheless, and its answer is told.
    let mut played = prepared();
    open_with_question(&mut played, MessageType::Long { scale: 0 }, 10, 0);
    assert_eq!(played.asked().len(), 1);
    played.answer(&failed(isc::DEADLOCK));
    assert!(matches!(&played.asked()[..], [Request::StatementInformation(_)]));
    let answer = Response::data(Handle(9), vec![5]);
    played.answer(&Reply::Response(answer.clone()));
    assert_eq!(played.reply(8, &Request::Ping).data, answer.data);

    // The cursor is closed, or its transaction ended, before the first op_fetch.
    let close = Request::FreeStatement { statement: Handle(2), option: free_statement::CLOSE };
    let ends = [
        Ask::CloseCursor { cursor: Cursor(1) },
        Ask::Quiet { object: 0, packet: packet(&close) },
        Ask::Quiet { object: 0, packet: packet(&Request::Rollback(Handle(1))) },
    ];
    for end in ends {
        let mut played = prepared();
        open_with_question(&mut played, MessageType::Long { scale: 0 }, 10, 0);
        played.asked();
        played.answer(&Reply::Response(Response::object(Handle(8))));
        played.told();
        played.ask(end.clone());
        played.asked();
        played.answer(&Reply::Response(Response::success()));
        let told = played.told();
        let is_answered = |tell: &Tell| matches!(tell, Tell::Reply { id: RequestId(8), .. });
        assert!(told.iter().any(is_answered), "{end:?}: {told:?}");
    }
}

/// An edge cannot make the server send more rows at a time than the origin may keep.
#[test]
fn what_is_to_be_asked_behind_too_many_rows_ends_the_conversation() {
    let long = MessageType::Varying { length: 30_000, charset: Some(0) };
    for (rows, column, is_allowed) in
        [(30, long, true), (60_000, MessageType::Long { scale: 0 }, true), (60_000, long, false)]
    {
        let mut played = prepared();
        open_with_question(&mut played, column, rows, 1_000);
        assert_eq!(played.conversation.is_ended(), !is_allowed, "{rows} rows of {column:?}");
    }
}

/// Without an edge no transaction stays open; what is being ended ends first, and its end is told.
#[test]
fn transactions_end_when_the_edge_is_gone_for_long() {
    let begun = |played: &mut Played, handle: u16| {
        played.relay(
            10 + u32::from(handle),
            handle,
            &Request::StartTransaction { database: Handle(0), tpb: vec![3] },
        );
        played.asked();
        played.answer(&Reply::Response(Response::object(Handle(30 + handle))));
        played.told();
    };
    let mut idle = Played::new();
    idle.conversation.edge_lost();
    assert!(!idle.conversation.is_ended(), "nothing is open");
    idle.conversation.edge_back();
    begun(&mut idle, 1);
    assert!(!idle.conversation.is_ended());
    idle.conversation.edge_lost();
    assert!(idle.conversation.is_ended());

    for others in [0, 1] {
        let mut played = Played::new();
        (1..=1 + others).for_each(|handle| begun(&mut played, handle));
        played.relay(20, 0, &Request::Commit(Handle(1)));
        assert_eq!(played.asked().len(), 1);
        played.conversation.edge_lost();
        assert!(!played.conversation.is_ended(), "it is being committed");
        played.answer(&Reply::Response(Response::success()));
        let told = played.conversation.take_messages();
        let end = |message: &ToEdge| {
            matches!(message, ToEdge::On { tell: Tell::Reply { id: RequestId(20), .. }, .. })
        };
        assert!(told.first().is_some_and(end), "{told:?}");
        assert_eq!(played.conversation.is_ended(), others > 0);
    }
}

/// A server that says it has ended what has a handle of another kind is not believed in anything any more.
#[test]
fn a_server_that_ends_what_is_of_another_kind_ends_the_conversation() {
    let (transaction, statement) = (Handle(1), Handle(2));
    let drop = |statement| Request::FreeStatement { statement, option: free_statement::DROP };
    let done = Response::success();
    let gone = Response::object(Handle::LATEST);
    for (request, answer, is_right) in [
        (Request::CloseBlob(statement), &done, false),
        (Request::CancelBlob(transaction), &done, false),
        (Request::Release(statement), &done, false),
        (Request::Commit(statement), &done, false),
        (Request::Rollback(statement), &done, false),
        (drop(transaction), &gone, false),
        (execute(2, 2), &done, false),
        (drop(statement), &gone, true),
        (Request::Commit(transaction), &done, true),
        (execute(2, 1), &done, true),
    ] {
        let mut refused = prepared();
        refused.relay(9, 0, &request);
        refused.asked();
        refused.answer(&failed(isc::BAD_SEGSTR_HANDLE));
        assert!(!refused.conversation.is_ended(), "{request:?} is refused");
        let mut played = prepared();
        played.relay(9, 0, &request);
        played.asked();
        played.answer(&Reply::Response(answer.clone()));
        assert_eq!(played.conversation.is_ended(), !is_right, "{request:?}");
    }
}

/// What is to be run ahead in a transaction whose handle an earlier one had, which is still being ended, is run in the later one.
#[test]
fn what_is_run_ahead_waits_for_its_transaction() {
    let mut played = Played::new();
    played.quiet(1, &begin());
    played.quiet(0, &Request::Commit(Handle(1)));
    played.quiet(1, &begin());
    played.ask(one_ahead(1));
    assert_eq!(played.asked(), [begin()], "the rest waits for the handle");
    played.answer(&Reply::Response(Response::object(Handle(8))));
    assert_eq!(played.asked(), [Request::Commit(Handle(8)), begin()]);
    played.answer(&Reply::Response(Response::success()));
    played.answer(&Reply::Response(Response::object(Handle(10))));
    assert_eq!(played.told(), [], "nothing is given up");
    let asked = played.asked();
    assert!(matches!(asked[..], [Request::AllocateStatement(_), Request::Ping]), "{asked:?}");
    played.answer(&Reply::Response(Response::object(Handle(9))));
    played.answer(&Reply::Response(Response::success()));
    let [Request::Prepare(text)] = &played.asked()[..] else { panic!("no op_prepare_statement") };
    assert_eq!(text.transaction, Handle(10));
}

/// The server's time for what is run ahead: not that in which it is at something else, at nothing, or not listened to.
#[test]
fn the_servers_time_is_measured() {
    let mut played = Played::new();
    played.quiet(1, &begin());
    played.asked();
    played.answer(&Reply::Response(Response::object(Handle(8))));
    played.ask_at(100, one_ahead(1));
    played.asked();
    played.answer_at(101, &Reply::Response(Response::object(Handle(9))));
    played.answer_at(101, &Reply::Response(Response::success()));
    let [Request::Prepare(_)] = &played.asked()[..] else { panic!("no op_prepare_statement") };
    played.answer_at(103, &Reply::Response(Response::data(Handle(4), b"one".to_vec())));
    let run = |played: &mut Played, done_at: [u64; 2]| {
        let asked = played.asked();
        let [Request::Execute(_), Request::Fetch(_), Request::FreeStatement { .. }] = &asked[..] else {
            panic!("{asked:?}");
        };
        played.answer_at(done_at[0], &Reply::Response(Response::success()));
        played.answer_at(done_at[1], &Reply::FetchResponse(FetchResponse::END_OF_CURSOR));
    };
    run(&mut played, [104, 107]);
    let counts = played.conversation.take_ahead_counts();
    assert_eq!((counts.ran, counts.time), (1, Duration::from_secs(7)));
    assert_eq!(played.conversation.take_ahead_counts(), RunnerCounts::default(), "each is told once");
}

/// A query to be run ahead once, in a transaction.
fn one_ahead(transaction: u16) -> Ask {
    let format = MessageFormat::from_columns([MessageType::Long { scale: 0 }]);
    let statement = AskAhead {
        rule: Rule(1),
        prepare: packet(&prepare(1, 2)),
        described: Fingerprint::of(b"one"),
        input_blr: Vec::new(),
        parameters: Vec::new(),
        execution: Execution::default(),
        question: None,
        output_blr: format.to_blr(),
        window: 4,
        ahead: Vec::new(),
    };
    let given = GivenParameters { statement: 0, blr: Vec::new(), message: Vec::new() };
    let (statements, parameters) = (vec![statement], vec![given]);
    Ask::Ahead { outer: Cursor(1), transaction, statements, parameters }
}
