//! The machine with a played program and a played origin.

use std::sync::Arc;
use std::time::Duration;

use farbird_types::{BlobId, Error, Value, isc};
use farbird_wire::crypt::CryptPlugin;
use farbird_wire::crypt::keys::Keys;
use farbird_wire::decoder::{Limits as DecoderLimits, ReplyDecoder};
use farbird_wire::message::{MessageFormat, MessageType};
use farbird_wire::negotiation::{UserIdentification, offers};
use farbird_wire::packet::{
    Accept, AcceptWithData, Attach, BufferLength, Connect, ContinueAuthentication, Execute, Fetch,
    FetchResponse, Information, OpenBlob, Output, Reply, Request, Response, Segment, StatementText,
    encode_fetch_row,
};
use farbird_wire::protocol::{ARCHITECTURE_GENERIC, Handle, ProtocolVersion};
use proptest::prelude::*;

use super::{Limits, Program, Saved, Site};
use crate::message::{
    Ask, BlobFacts, Channel, CommitPoint, Cursor, End, Relation, RequestId, Tell, Ticket, ToEdge, ToOrigin,
};

mod again;
mod ahead;
mod attach_ahead;
mod deferred;
mod outcome;
mod spill;
mod waiting;
mod writes;

const NOW: Duration = Duration::ZERO;
const SQL: &str = "select a from t";
/// A description: a statement of this kind, nothing else.
const fn description(kind: u8) -> [u8; 8] {
    [21, 4, 0, kind, 0, 0, 0, 1]
}

/// A program and what it has not understood of its answers yet.
struct Played {
    machine: Program,
    version: ProtocolVersion,
    messages: Vec<ToOrigin>,
    output: Vec<u8>,
}

fn site(is_farbird: bool) -> Arc<Site> {
    let site = Site::new(Limits { speculates: false, ..Limits::default() });
    site.message(&ToEdge::Welcome { is_farbird, server: "played".to_owned() });
    site
}

fn connect(compress: bool) -> Request {
    let user = UserIdentification { login: Some(b"SYSDBA".to_vec()), ..UserIdentification::default() };
    Request::Connect(Connect {
        operation: 0,
        version: 3,
        architecture: 1,
        file: b"db".to_vec(),
        user_identification: user.to_bytes(),
        offers: offers(ProtocolVersion::V10, ProtocolVersion::V19, compress),
    })
}

fn accept(version: ProtocolVersion) -> Accept {
    Accept { version: version.to_wire(), architecture: ARCHITECTURE_GENERIC, connection_type: 5 }
}

fn attach() -> Request {
    Request::Attach(Attach { database: Handle(0), file: b"db".to_vec(), parameters: vec![1, 28, 1, b'U'] })
}

fn allocate() -> Request {
    Request::AllocateStatement(Handle(0))
}

fn begin() -> Request {
    Request::StartTransaction { database: Handle(0), tpb: vec![3, 2, 9, 6] }
}

fn prepare(transaction: u16, statement: u16, sql: &str) -> Request {
    Request::Prepare(StatementText {
        transaction: Handle(transaction),
        statement: Handle(statement),
        dialect: 3,
        sql: sql.as_bytes().to_vec(),
        items: vec![21],
        buffer_length: BufferLength(1024),
        flags: 0,
    })
}

fn execute(transaction: u16, statement: u16) -> Request {
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

fn execute_immediately(transaction: u16, sql: &str) -> Request {
    match prepare(transaction, 0, sql) {
        Request::Prepare(text) => Request::ExecuteImmediate(text),
        other => other,
    }
}

fn format() -> Arc<MessageFormat> {
    Arc::new(MessageFormat::from_columns([MessageType::Long { scale: 0 }]))
}

fn fetch(statement: u16, count: u16) -> Request {
    Request::Fetch(Fetch { statement: Handle(statement), output: Output::new(Some(format())), count })
}

fn free(statement: u16, option: u16) -> Request {
    Request::FreeStatement { statement: Handle(statement), option }
}

fn counts(statement: u16) -> Request {
    Request::StatementInformation(Information {
        object: Handle(statement),
        incarnation: 0,
        items: vec![23],
        buffer_length: BufferLength(64),
    })
}

fn open_blob(transaction: u16, blob: u64) -> Request {
    Request::OpenBlob2(OpenBlob { bpb: Vec::new(), transaction: Handle(transaction), blob: BlobId(blob) })
}

fn create_blob(transaction: u16) -> Request {
    Request::CreateBlob2(OpenBlob { bpb: Vec::new(), transaction: Handle(transaction), blob: BlobId(0) })
}

fn segment(blob: u16, length: u16, data: &[u8]) -> Segment {
    Segment { blob: Handle(blob), length, data: data.to_vec() }
}

fn done() -> Reply {
    Reply::Response(Response::success())
}

fn made(handle: u16) -> Reply {
    Reply::Response(Response::object(Handle(handle)))
}

impl Played {
    fn new(site: &Arc<Site>, channel: u32, version: ProtocolVersion) -> Played {
        let machine = Program::new(Arc::clone(site), Channel(channel), "there:1".to_owned());
        Played { machine, version, messages: Vec::new(), output: Vec::new() }
    }

    /// A program that has attached a database, and a server that tells which.
    fn attached(site: &Arc<Site>, channel: u32) -> Played {
        let mut played = Played::new(site, channel, ProtocolVersion::V13);
        played.says(&connect(false));
        played.replies(RequestId::CONNECT, &[Reply::Accept(accept(played.version))]);
        played.says(&attach());
        let id = played.relayed();
        let commit = CommitPoint(1);
        played.tell(Tell::Attached { database: 7, commit, strict_transactions: false, guid: String::new() });
        played.replies(id, &[done()]);
        played.answers(2);
        played.asked();
        played
    }

    /// The program sends a request.
    fn says(&mut self, request: &Request) {
        let mut bytes = Vec::new();
        request.encode(self.version, &mut bytes);
        self.sends(&mut bytes);
    }

    fn sends(&mut self, bytes: &mut [u8]) {
        // Cut anywhere.
        for piece in bytes.chunks_mut(7) {
            self.machine.receive(piece, NOW);
        }
        self.collect();
    }

    fn tell(&mut self, tell: Tell) {
        self.machine.tell(tell, NOW);
        self.collect();
    }

    fn collect(&mut self) {
        self.messages.extend(self.machine.take_messages());
        self.output.extend(self.machine.take_output());
    }

    fn replies(&mut self, id: RequestId, replies: &[Reply]) {
        let mut packets = Vec::new();
        replies.iter().for_each(|reply| reply.encode(self.version, &mut packets));
        self.tell(Tell::Reply { id, packets });
    }

    /// What was asked of the origin since the last look.
    fn asked(&mut self) -> Vec<Ask> {
        let asked = std::mem::take(&mut self.messages).into_iter();
        let on_channel = asked.filter_map(|message| match message {
            ToOrigin::On { ask, .. } => Some(ask),
            _ => None,
        });
        on_channel.collect()
    }

    /// The only request that the origin has to answer since the last look.
    fn relayed(&mut self) -> RequestId {
        let asked = self.asked();
        let ids: Vec<_> = asked
            .iter()
            .filter_map(|ask| match ask {
                Ask::Relay { id, .. } | Ask::Open { id, .. } | Ask::OpenBlob { id, .. } => Some(*id),
                _ => None,
            })
            .collect();
        assert_eq!(ids.len(), 1, "{asked:?}");
        ids[0]
    }

    /// So many answers, and no more, are what the program has got.
    fn answers(&mut self, count: usize) -> Vec<Reply> {
        let mut decoder = ReplyDecoder::new(DecoderLimits::default());
        decoder.set_version(self.version);
        decoder.feed(&std::mem::take(&mut self.output));
        let mut replies = Vec::new();
        for number in 0..count {
            decoder.expect(&Request::Ping).unwrap();
            let answer = decoder.next_reply().unwrap();
            replies.push(answer.unwrap_or_else(|| panic!("answer {number} is missing")).reply);
        }
        assert_eq!(decoder.unread(), b"", "more answers than expected");
        replies
    }

    fn response(&mut self) -> Response {
        match self.answers(1).pop() {
            Some(Reply::Response(response)) => response,
            other => panic!("{other:?}"),
        }
    }

    /// A statement is allocated, and prepared by the server.
    fn prepares(&mut self, transaction: u16, statement: u16, sql: &str, kind: u8) {
        self.output.clear();
        self.messages.clear();
        self.says(&allocate());
        self.says(&prepare(transaction, statement, sql));
        let id = self.relayed();
        let response = Response::data(Handle(0), description(kind).to_vec());
        self.replies(id, &[Reply::Response(response)]);
        self.answers(2);
    }

    /// The answer to a fetch: numbers, and what ends them.
    fn rows(&mut self) -> (Vec<i64>, Reply) {
        let mut decoder = ReplyDecoder::new(DecoderLimits::default());
        decoder.set_version(self.version);
        decoder.expect(&fetch(1, 1)).unwrap();
        decoder.feed(&std::mem::take(&mut self.output));
        let mut numbers = Vec::new();
        loop {
            let answer = decoder.next_reply().unwrap().expect("the rows end");
            match answer.reply {
                Reply::FetchResponse(fetched) if fetched.message.is_some() => {
                    let row = fetched.message.unwrap().values().unwrap();
                    match row[0] {
                        Value::Integer { unscaled, .. } => numbers.push(unscaled),
                        ref other => panic!("{other:?}"),
                    }
                }
                end => return (numbers, end),
            }
        }
    }
}

fn packets_of(numbers: &[i64], version: ProtocolVersion) -> Vec<u8> {
    let mut packets = Vec::new();
    for number in numbers {
        encode_fetch_row(&format(), version, &[Value::integer(*number)], &mut packets).unwrap();
    }
    packets
}

#[test]
fn what_is_known_is_answered_without_asking() {
    let site = site(true);
    let mut first = Played::attached(&site, 1);
    first.says(&begin());
    assert_eq!(first.response().object, Handle(1));
    first.prepares(1, 2, SQL, 1);

    let mut second = Played::attached(&site, 2);
    second.says(&begin());
    second.says(&allocate());
    second.says(&prepare(1, 0xFFFF, SQL));
    let replies = second.answers(3);
    assert_eq!(replies[2], Reply::Response(Response::data(Handle(0), description(1).to_vec())));
    let asked = second.asked();
    assert!(
        matches!(
            &asked[..],
            [Ask::Quiet { object: 1, .. }, Ask::Quiet { object: 2, .. }, Ask::Prepared { .. }]
        ),
        "{asked:?}"
    );
    let Ask::Prepared { packet, .. } = &asked[2] else { unreachable!() };
    let mut expected = Vec::new();
    prepare(1, 2, SQL).encode(second.version, &mut expected);
    assert_eq!(*packet, expected, "the origin gets handles, not \"the latest\"");
    assert_eq!((site.counters().statement_hits, site.counters().saved(Saved::Begin)), (1, 2));

    // Definitions change.
    site.message(&ToEdge::Invalidate { database: 7 });
    second.says(&prepare(1, 2, SQL));
    second.relayed();
    assert_eq!(second.output, b"");
}

#[test]
fn a_transaction_ends_here_if_it_is_known_to_have_changed_nothing() {
    let site = site(true);
    let mut played = Played::attached(&site, 1);
    let commit = Request::Commit(Handle(1));
    for reads in [None, Some(vec![Relation(1)])] {
        played.says(&begin());
        played.prepares(1, 2, SQL, 1);
        let described = crate::message::Fingerprint::of(&description(1));
        let is_known = reads.is_some();
        played.tell(Tell::Statement { statement: 2, described, reads });
        played.output.clear();
        played.says(&execute(1, 2));
        let id = played.relayed();
        played.replies(id, &[made(1)]);
        played.answers(1);
        played.says(&commit);
        if is_known {
            assert!(played.response().status.is_success());
            assert!(matches!(&played.asked()[..], [Ask::Quiet { .. }]));
        } else {
            let id = played.relayed();
            assert_eq!(played.output, b"");
            played.replies(id, &[done()]);
            assert!(played.response().status.is_success());
        }
        played.says(&free(2, 2));
        site.message(&ToEdge::Invalidate { database: 7 });
        played.output.clear();
        played.asked();
    }
    // Nothing at all was done in it.
    played.says(&begin());
    played.says(&Request::Rollback(Handle(1)));
    // With the answer to op_free_statement, which nobody waits for.
    played.answers(3);
    // A transaction that reserves tables begins at the server, and ends there.
    played.asked();
    played.says(&Request::StartTransaction { database: Handle(0), tpb: vec![3, 10, 1, b'T', 3] });
    let id = played.relayed();
    played.replies(id, &[made(1)]);
    played.says(&commit);
    played.relayed();
    played.answers(1);
}

/// `p` may be a procedure that writes: no Firebird server says which it is.
#[test]
fn before_a_firebird_server_texts_are_believed_only_if_somebody_said_so() {
    for texts_show_purity in [false, true] {
        let site = Site::new(Limits { texts_show_purity, ..Limits::default() });
        site.message(&ToEdge::Welcome { is_farbird: false, server: "played".to_owned() });
        let mut played = Played::attached(&site, 1);
        for is_executed in [true, false] {
            played.says(&begin());
            played.prepares(1, 2, "select * from p", 1);
            if is_executed {
                played.says(&execute(1, 2));
                let id = played.relayed();
                played.replies(id, &[made(1)]);
                played.answers(1);
            }
            played.asked();
            played.says(&Request::Commit(Handle(1)));
            if texts_show_purity {
                assert!(matches!(&played.asked()[..], [Ask::Quiet { .. }]));
            } else {
                let id = played.relayed();
                assert_eq!(played.output, b"", "a trigger on commits may refuse it");
                played.replies(id, &[done()]);
            }
            assert!(played.response().status.is_success());
            played.says(&free(2, 2));
            played.output.clear();
            site.message(&ToEdge::Invalidate { database: 7 });
            played.asked();
        }
    }
}

#[test]
fn before_a_firebird_server_a_commit_ends_here_behind_what_the_origin_has_looked_up() {
    for reads in [Some(Vec::new()), None] {
        let site = site(false);
        let mut played = Played::attached(&site, 1);
        played.says(&begin());
        played.prepares(1, 2, SQL, 1);
        let described = crate::message::Fingerprint::of(&description(1));
        played.tell(Tell::Statement { statement: 2, described, reads: reads.clone() });
        played.says(&execute(1, 2));
        let id = played.relayed();
        played.replies(id, &[made(1)]);
        played.answers(1);
        played.says(&Request::Commit(Handle(1)));
        let asked = played.asked();
        assert_eq!(matches!(&asked[..], [Ask::Quiet { .. }]), reads.is_some(), "{asked:?}");
    }
}

#[test]
fn rows_are_pushed_as_they_were_fetched_last_time() {
    let site = site(true);
    let mut played = Played::attached(&site, 1);
    played.says(&begin());
    played.prepares(1, 2, SQL, 1);
    played.output.clear();
    played.asked();
    for is_first in [true, false] {
        played.says(&execute(1, 2));
        let asked = played.asked();
        let [Ask::Open { id, cursor, push, .. }] = &asked[..] else { panic!("{asked:?}") };
        assert_eq!(push.is_none(), is_first);
        let (id, cursor) = (*id, *cursor);
        // The program does not wait for the first answer before it asks the next thing.
        played.says(&fetch(2, 2));
        let asked = played.asked();
        assert_eq!(matches!(&asked[..], [Ask::Push { .. }]), is_first, "{asked:?}");
        let packets = packets_of(&[1, 2, 3], played.version);
        played.tell(Tell::Rows { cursor, packets, rows: 3, end: None });
        assert_eq!(played.output, b"", "op_execute is answered first");
        let mut opened = Vec::new();
        made(1).encode(played.version, &mut opened);
        played.replies(id, &[made(1)]);
        assert!(played.output.starts_with(&opened));
        played.output.drain(..opened.len());
        let (numbers, end) = played.rows();
        assert_eq!(numbers, [1, 2]);
        assert!(matches!(end, Reply::FetchResponse(end) if end.status == 0));
        let failed = Response::error(&Error::new(isc::ARITH_EXCEPT));
        let mut status = Vec::new();
        Reply::Response(failed.clone()).encode(played.version, &mut status);
        let end = Some(End::Failed(status));
        played.tell(Tell::Rows { cursor, packets: packets_of(&[4], played.version), rows: 1, end });
        played.says(&fetch(2, 10));
        assert_eq!(played.rows(), (vec![3, 4], Reply::Response(failed)));
        played.says(&free(2, 1));
        played.says(&Request::Ping);
        let asked = played.asked();
        let [Ask::CloseCursor { cursor: closed }, Ask::Relay { id, .. }] = asked[..] else {
            panic!("{asked:?}")
        };
        assert_eq!(closed, cursor);
        // What was on its way is for nobody.
        played.tell(Tell::Rows { cursor, packets: vec![1, 2, 3], rows: 1, end: None });
        assert_eq!(played.output, b"", "nobody waits for a statement to be closed");
        played.replies(id, &[done()]);
        played.answers(2);
    }
    assert_eq!(site.memory().rows, 0, "what was granted is given back");
}

#[test]
fn what_ends_a_cursor_waits_for_the_rows_that_were_asked_for_before() {
    let transaction = Handle(1);
    for ends in [
        free(2, 1),
        free(2, 2),
        Request::Commit(transaction),
        Request::Rollback(transaction),
        Request::RollbackRetaining(transaction),
        Request::PrepareTransaction(transaction),
        Request::PrepareTransaction2 { transaction, message: b"for the coordinator".to_vec() },
        execute_immediately(1, "/* the end */ Commit"),
        Request::Detach(Handle(0)),
    ] {
        let site = site(true);
        let mut played = Played::attached(&site, 1);
        played.says(&begin());
        played.prepares(1, 2, SQL, 1);
        let described = description(1).to_vec();
        let reads = Tell::Statement {
            statement: 2,
            described: crate::message::Fingerprint::of(&described),
            reads: Some(vec![Relation(1)]),
        };
        played.tell(reads);
        // A program that waits for nothing: what it sends is there at once.
        played.says(&execute(1, 2));
        let asked = played.asked();
        let [Ask::Open { id, cursor, .. }] = &asked[..] else { panic!("{asked:?}") };
        let (id, cursor) = (*id, *cursor);
        played.says(&fetch(2, 2));
        played.says(&fetch(2, 2));
        played.asked();
        played.says(&ends);
        assert_eq!(played.asked(), [], "{ends:?} overtook the rows");
        let mut opened = Vec::new();
        made(1).encode(played.version, &mut opened);
        played.replies(id, &[made(1)]);
        let packets = packets_of(&[1, 2], played.version);
        played.tell(Tell::Rows { cursor, packets, rows: 2, end: None });
        assert_eq!(played.asked(), [], "{ends:?} overtook the second fetch");
        let packets = packets_of(&[3], played.version);
        played.tell(Tell::Rows { cursor, packets, rows: 1, end: Some(End::Complete) });
        let asked = played.asked();
        assert!(!asked.is_empty(), "{ends:?} was forgotten");
        if let Some(Ask::Relay { id, .. }) = asked.last() {
            played.replies(*id, &[done()]);
        }
        played.output.drain(..opened.len());
        let answers = std::mem::take(&mut played.output);
        let [mut first, mut second] = [Vec::new(), Vec::new()];
        let (end_of_batch, end) = (FetchResponse::END_OF_BATCH, FetchResponse::END_OF_CURSOR);
        for (out, numbers, end) in [(&mut first, &[1, 2][..], end_of_batch), (&mut second, &[3][..], end)] {
            out.extend(packets_of(numbers, played.version));
            Reply::FetchResponse(end).encode(played.version, out);
        }
        assert!(answers.starts_with(&[first.clone(), second.clone()].concat()), "{ends:?}: {answers:?}");
        played.output = answers[first.len() + second.len()..].to_vec();
        assert!(played.response().status.is_success(), "{ends:?}");
    }
}

#[test]
fn credit_is_bounded_by_what_all_cursors_have() {
    let limits = Limits {
        cursor_bytes: 1_000,
        cursor_bytes_least: 10,
        program_row_bytes: 1_500,
        speculates: false,
        ..Limits::default()
    };
    let site = Site::new(limits);
    site.message(&ToEdge::Welcome { is_farbird: true, server: String::new() });
    let mut played = Played::attached(&site, 1);
    played.says(&begin());
    played.answers(1);
    let mut credits = Vec::new();
    for statement in 2..6 {
        played.prepares(1, statement, &format!("{SQL} where a = {statement}"), 1);
        played.says(&execute(1, statement));
        let id = played.relayed();
        played.replies(id, &[made(1)]);
        played.says(&fetch(statement, 1));
        let asked = played.asked();
        let [Ask::Push { push, .. }] = &asked[..] else { panic!("{asked:?}") };
        credits.push(push.credit);
        // The next statement's answers come behind this one's.
        let cursor = Cursor(u32::from(statement) - 1);
        played.tell(Tell::Rows { cursor, packets: Vec::new(), rows: 0, end: Some(End::Complete) });
        played.output.clear();
    }
    assert_eq!(credits, [1_000, 500, 10, 10]);
    assert_eq!(site.memory().rows, 1_520);
    played.machine.disconnected();
    assert_eq!(site.memory().rows, 0);
}

#[test]
fn blobs_that_came_with_rows_are_read_here_and_others_as_they_come() {
    let site = site(true);
    let mut played = Played::attached(&site, 1);
    played.says(&begin());
    played.prepares(1, 2, SQL, 1);
    played.says(&execute(1, 2));
    let id = played.relayed();
    played.replies(id, &[made(1)]);
    played.output.clear();
    let facts = BlobFacts { segments: 2, longest_segment: 3, length: 5, is_stream: false };
    let contents = |cursor, blob| Tell::Blob {
        cursor,
        blob,
        information: Some(facts),
        offset: 0,
        segments: b"\x03\0abc\x02\0de".to_vec(),
        is_last: true,
    };
    played.tell(contents(Cursor(1), 9));
    assert!(site.memory().blobs > 0);

    for blob in [9, 10] {
        played.says(&open_blob(1, blob));
        if blob == 10 {
            let asked = played.asked();
            let [Ask::OpenBlob { id, cursor, .. }] = asked[..] else { panic!("{asked:?}") };
            played.says(&Request::GetSegment(segment(3, 6, &[])));
            played.replies(id, &[made(77)]);
            assert_eq!(played.response().object, Handle(3), "a handle of the edge's");
            played.tell(contents(cursor, blob));
        } else {
            assert_eq!(played.response().object, Handle(3));
            played.says(&Request::GetSegment(segment(3, 6, &[])));
        }
        assert_eq!(played.response(), Response::data(Handle(0), b"\x03\0abc".to_vec()));
        played.says(&Request::GetSegment(segment(3, 100, &[])));
        assert_eq!(played.response(), Response::data(Handle(2), b"\x02\0de".to_vec()));
        played.says(&Request::CloseBlob(Handle(3)));
        played.answers(1);
        let asked = played.asked();
        assert_eq!(asked.len(), usize::from(blob == 10), "{asked:?}");
    }
    // Contents in another form are the server's affair.
    let converted = OpenBlob { bpb: vec![1, 1, 1, 1, 2, 1, 0], transaction: Handle(1), blob: BlobId(9) };
    played.says(&Request::OpenBlob2(converted));
    assert!(matches!(&played.asked()[..], [Ask::Relay { object: 3, .. }]));
}

#[test]
fn many_blobs_are_made_ahead_and_written_without_waiting() {
    let site = site(true);
    let mut played = Played::attached(&site, 1);
    played.says(&begin());
    played.answers(1);
    played.asked();
    let mut waits = 0;
    let mut ids = Vec::new();
    for number in 0..10_u64 {
        played.says(&create_blob(1));
        let asked = played.asked();
        waits += usize::from(played.output.is_empty());
        for ask in &asked {
            let Ask::Relay { id, object, .. } = ask else { panic!("{ask:?}") };
            let response = Response {
                object: Handle(*object),
                blob: BlobId(number * 100_000 + u64::from(*object)),
                ..Response::success()
            };
            played.replies(*id, &[Reply::Response(response)]);
        }
        let response = played.response();
        assert_eq!(response.object, Handle(2), "the lowest that is free, as at a server");
        ids.push(response.blob);
        let handle = response.object.0;
        played.says(&Request::PutSegment(segment(handle, 3, b"abc")));
        played.says(&Request::CloseBlob(Handle(handle)));
        played.answers(2);
        let asked = played.asked();
        let [Ask::Quiet { packet: put, .. }, Ask::Quiet { packet: close, .. }] = &asked[..] else {
            panic!("{asked:?}")
        };
        for packet in [put, close] {
            // The origin knows it by the handle that it was made under.
            let made = u16::try_from(response.blob.0 % 100_000).unwrap();
            assert_eq!(packet[6..8], made.to_be_bytes(), "{number}");
        }
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 10, "each has an id of its own");
    assert!(waits <= 4, "{waits}");
    // It has changed something.
    played.says(&Request::Commit(Handle(1)));
    played.relayed();
}

/// As clients do that foretell handles: the next BLOB gets the handle of one that was closed before anybody knew it to be open.
#[test]
fn a_blob_that_is_closed_before_it_is_known_to_be_open_frees_its_handle() {
    let site = site(true);
    let mut played = Played::attached(&site, 1);
    played.says(&begin());
    played.answers(1);
    played.asked();
    for number in 1..4_u64 {
        played.says(&create_blob(1));
        let asked = played.asked();
        played.says(&Request::PutSegment(segment(2, 3, b"abc")));
        played.says(&Request::CloseBlob(Handle(2)));
        let later = played.asked();
        for ask in asked.iter().chain(&later) {
            if let Ask::Relay { id, object, .. } = ask {
                let response =
                    Response { object: Handle(*object), blob: BlobId(number), ..Response::success() };
                played.replies(*id, &[Reply::Response(response)]);
            }
        }
        let Reply::Response(response) = &played.answers(3)[0] else { panic!() };
        assert_eq!(response.object, Handle(2), "{number}");
    }
}

#[test]
fn how_many_rows_changed_is_asked_with_the_execution_once_the_program_has_asked_it() {
    let site = site(true);
    let mut played = Played::attached(&site, 1);
    played.says(&begin());
    played.prepares(1, 2, "insert into t values (1)", 2);
    let answer = || Reply::Response(Response::data(Handle(2), vec![23, 0, 0, 1]));
    for is_first in [true, false] {
        played.output.clear();
        played.asked();
        played.says(&execute(1, 2));
        let asked = played.asked();
        assert_eq!(asked.len(), if is_first { 1 } else { 2 });
        let Ask::Relay { id, .. } = asked[0] else { panic!("{asked:?}") };
        played.replies(id, &[made(1)]);
        if let Some(Ask::Relay { id, .. }) = asked.get(1) {
            played.replies(*id, &[answer()]);
        }
        played.answers(1);
        played.says(&counts(2));
        if is_first {
            let id = played.relayed();
            played.replies(id, &[answer()]);
        }
        assert_eq!(played.answers(1), [answer()]);
        assert!(played.asked().is_empty());
    }
    // What comes between may change the answer.
    played.says(&execute(1, 2));
    let asked = played.asked();
    let (Ask::Relay { id: executed, .. }, Ask::Relay { id: counted, .. }) = (&asked[0], &asked[1]) else {
        panic!("{asked:?}")
    };
    let (executed, counted) = (*executed, *counted);
    played.replies(executed, &[made(1)]);
    played.replies(counted, &[answer()]);
    played.says(&Request::CommitRetaining(Handle(1)));
    let id = played.relayed();
    played.replies(id, &[done()]);
    played.says(&counts(2));
    played.relayed();
    played.answers(2);
}

#[test]
fn answers_come_in_the_order_of_the_requests() {
    let site = site(true);
    let mut played = Played::attached(&site, 1);
    played.says(&Request::Ping);
    let id = played.relayed();
    played.says(&begin());
    played.says(&Request::Dummy);
    assert_eq!(played.output, b"");
    played.replies(id, &[done()]);
    assert_eq!(played.answers(3), [done(), made(1), Reply::Dummy]);
}

#[test]
fn a_key_of_the_server_encrypts_between_program_and_edge_and_without_one_nothing_is_announced() {
    let keys = Keys::announce(&[(CryptPlugin::ChaCha64, vec![5; 8])], ProtocolVersion::V16).to_bytes();
    for key in [None, Some(vec![7; 20])] {
        let mut played = Played::new(&site(true), 1, ProtocolVersion::V16);
        played.says(&connect(false));
        let accepted = AcceptWithData {
            accept: accept(played.version),
            data: b"salt and key".to_vec(),
            plugin: b"Srp256".to_vec(),
            authenticated: false,
            keys: Vec::new(),
        };
        played.replies(RequestId::CONNECT, &[Reply::ConditionalAccept(accepted.clone())]);
        assert_eq!(played.answers(1), [Reply::ConditionalAccept(accepted)]);
        let proof = ContinueAuthentication {
            data: b"proof".to_vec(),
            plugin: b"Srp256".to_vec(),
            plugin_list: Vec::new(),
            keys: Vec::new(),
        };
        played.asked();
        played.says(&Request::ContinueAuthentication(proof));
        let id = played.relayed();
        if let Some(key) = key.clone() {
            played.tell(Tell::Key { key });
        }
        played.replies(id, &[Reply::Response(Response::data(Handle(0), keys.clone()))]);
        let announced = if key.is_some() { keys.clone() } else { Vec::new() };
        assert_eq!(played.response().data, announced);
        let crypt = Request::Crypt { plugin: b"ChaCha64".to_vec(), key: b"Symmetric".to_vec() };
        played.says(&crypt);
        assert!(played.asked().is_empty(), "encryption is each hop's own");
        let Some(key) = key else {
            // An answer could not be read by a program that decrypts already: it would wait for ever.
            assert!(played.output.is_empty() && played.machine.is_ended());
            continue;
        };
        let cipher = || CryptPlugin::ChaCha64.cipher(&key, &[5; 8]).unwrap();
        let (mut out, mut back) = (cipher(), cipher());
        back.apply(&mut played.output).unwrap();
        assert!(played.response().status.is_success());
        let mut ping = Vec::new();
        Request::Ping.encode(played.version, &mut ping);
        out.apply(&mut ping).unwrap();
        played.sends(&mut ping);
        let id = played.relayed();
        played.replies(id, &[done()]);
        back.apply(&mut played.output).unwrap();
        assert!(played.response().status.is_success());
    }
}

#[test]
fn compression_is_between_program_and_edge() {
    let mut played = Played::new(&site(true), 1, ProtocolVersion::V13);
    played.says(&connect(true));
    let ToOrigin::Open { connect: packet, .. } = &played.messages[0] else { panic!() };
    let mut uncompressed = Vec::new();
    connect(false).encode(played.version, &mut uncompressed);
    assert_eq!(*packet, uncompressed);
    played.replies(RequestId::CONNECT, &[Reply::Accept(accept(played.version))]);
    let compressed = Accept { connection_type: 0x105, ..accept(played.version) };
    assert_eq!(played.answers(1), [Reply::Accept(compressed)]);
    played.asked();
    let mut deflater = farbird_wire::compress::Deflater::default();
    let (mut plain, mut bytes) = (Vec::new(), Vec::new());
    attach().encode(played.version, &mut plain);
    deflater.flush(&plain, &mut bytes);
    played.sends(&mut bytes);
    let id = played.relayed();
    played.replies(id, &[done()]);
    let mut inflated = Vec::new();
    let mut inflater = farbird_wire::compress::Inflater::default();
    inflater.inflate(&std::mem::take(&mut played.output), &mut inflated, 1_000).unwrap();
    played.output = inflated;
    assert!(played.response().status.is_success());
}

#[test]
fn who_has_nothing_under_way_survives_a_lost_link() {
    let site = site(true);
    let mut idle = Played::attached(&site, 1);
    let mut busy = Played::attached(&site, 2);
    busy.says(&begin());
    busy.answers(1);
    let mut waiting = Played::attached(&site, 3);
    waiting.says(&Request::Ping);
    for played in [&mut idle, &mut busy, &mut waiting] {
        played.asked();
        played.machine.link_lost();
        played.collect();
    }
    assert!(busy.machine.is_ended() && waiting.machine.is_ended() && !idle.machine.is_ended());
    let error = waiting.response().status.error().unwrap();
    assert!(error.has(isc::NETWORK_ERROR) && error.has(isc::NET_READ_ERR));
    assert_eq!(busy.messages, [ToOrigin::Close { channel: Channel(2) }], "the origin rolls back");
    idle.machine.link_restored();
    idle.says(&Request::Ping);
    let id = idle.relayed();
    idle.replies(id, &[done()]);
    assert!(idle.response().status.is_success());
    idle.machine.link_lost();
    idle.says(&Request::Ping);
    assert!(idle.machine.is_ended(), "without a link there is no answer");
}

#[test]
fn a_program_that_leaves_is_detached_and_forgotten() {
    // A service's connection is closed by the server together with its answer.
    for leave in [Request::Detach(Handle(0)), Request::ServiceDetach(Handle(0))] {
        let mut played = Played::attached(&site(true), 1);
        played.says(&leave);
        assert!(played.response().status.is_success());
        assert!(matches!(&played.asked()[..], [Ask::Quiet { .. }]));
    }
    let site = site(true);
    let mut played = Played::attached(&site, 1);
    played.says(&begin());
    played.answers(1);
    played.says(&Request::Detach(Handle(0)));
    assert!(played.response().status.is_success());
    assert!(matches!(&played.asked()[..], [Ask::Quiet { .. }, Ask::Quiet { .. }]));
    played.says(&Request::Ping);
    let id = played.relayed();
    played.says(&Request::Disconnect);
    // A program may wait until its connection is closed for it; it is, behind all answers.
    assert!(!played.machine.is_ended());
    played.replies(id, &[done()]);
    assert!(played.response().status.is_success());
    assert!(played.machine.is_ended());
    assert_eq!(played.messages, [ToOrigin::Close { channel: Channel(1) }]);
}

fn hostile_tell() -> impl Strategy<Value = Tell> {
    let bytes = || proptest::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        (0..8_u32, bytes()).prop_map(|(id, packets)| Tell::Reply { id: RequestId(id), packets }),
        (0..4_u32, bytes(), any::<bool>()).prop_map(|(cursor, packets, ends)| Tell::Rows {
            cursor: Cursor(cursor),
            packets,
            rows: 1,
            end: ends.then_some(End::Complete),
        }),
        (0..4_u32, bytes(), any::<bool>(), any::<u32>(), any::<bool>()).prop_map(
            |(cursor, segments, is_last, length, is_stream)| Tell::Blob {
                cursor: Cursor(cursor),
                blob: 9,
                information: Some(BlobFacts { segments: 1, longest_segment: 1, length, is_stream }),
                offset: 0,
                segments,
                is_last,
            }
        ),
        bytes().prop_map(|key| Tell::Key { key }),
    ]
}

fn any_request() -> impl Strategy<Value = Request> {
    prop_oneof![
        Just(begin()),
        Just(allocate()),
        (0..5_u16, 0..5_u16).prop_map(|(transaction, statement)| prepare(transaction, statement, SQL)),
        (0..5_u16, 0..5_u16).prop_map(|(transaction, statement)| execute(transaction, statement)),
        (0..5_u16, 0..9_u16).prop_map(|(statement, count)| fetch(statement, count)),
        (0..5_u16, 0..8_u16).prop_map(|(statement, option)| free(statement, option)),
        (0..5_u16).prop_map(|transaction| open_blob(transaction, 9)),
        (0..5_u16).prop_map(create_blob),
        (0..9_u16, any::<u16>()).prop_map(|(blob, room)| Request::GetSegment(segment(blob, room, &[]))),
        (0..9_u16, 0..4_u16, any::<i32>()).prop_map(|(blob, mode, offset)| Request::SeekBlob {
            blob: Handle(blob),
            mode,
            offset
        }),
        (0..9_u16).prop_map(|blob| Request::PutSegment(segment(blob, 1, b"x"))),
        (0..9_u16).prop_map(|blob| Request::CloseBlob(Handle(blob))),
        (0..9_u16).prop_map(|transaction| Request::Commit(Handle(transaction))),
        (0..9_u16).prop_map(counts),
        Just(Request::Detach(Handle(0))),
    ]
}

proptest! {
    /// A hostile program and a hostile origin end the connection at worst, and leave nothing behind.
    #[test]
    fn nothing_panics(
        steps in proptest::collection::vec((any_request(), hostile_tell(), proptest::collection::vec(any::<u8>(), 0..9)), 0..40),
        is_raw in proptest::num::u8::ANY,
    ) {
        let site = site(true);
        let mut played = Played::attached(&site, 1);
        for (number, (request, tell, mut bytes)) in steps.into_iter().enumerate() {
            played.says(&request);
            played.tell(tell);
            if number == usize::from(is_raw) {
                played.sends(&mut bytes);
            }
        }
        played.machine.disconnected();
        prop_assert!(played.machine.is_ended());
        prop_assert_eq!((site.memory().rows, site.memory().blobs), (0, 0));
    }
}

fn srp_connect() -> Request {
    let Request::Connect(mut connect) = connect(false) else { unreachable!() };
    let user = UserIdentification {
        login: Some(b"SYSDBA".to_vec()),
        plugin: Some(b"Srp256".to_vec()),
        plugin_list: Some(b"Srp256,Srp".to_vec()),
        specific_data: Some(b"A".to_vec()),
        ..UserIdentification::default()
    };
    connect.user_identification = user.to_bytes();
    Request::Connect(connect)
}

#[test]
fn a_login_prepared_in_advance_answers_op_connect_and_is_checked() {
    let site = site(true);
    let answer = |data: &[u8]| {
        Reply::ConditionalAccept(AcceptWithData {
            accept: accept(ProtocolVersion::V13),
            data: data.to_vec(),
            plugin: b"Srp256".to_vec(),
            authenticated: false,
            keys: Vec::new(),
        })
    };
    let played = |channel| Played::new(&site, channel, ProtocolVersion::V13);
    let ticket = |number| ToEdge::Ticket {
        ticket: Ticket(number),
        user: "SYSDBA".to_owned(),
        data: format!("salt and key {number}").into_bytes(),
    };
    site.message(&ticket(1));
    // How the server answers such a program is not known yet.
    let mut first = played(1);
    first.says(&srp_connect());
    assert_eq!(first.output, b"");
    first.replies(RequestId::CONNECT, &[answer(b"salt and another")]);
    assert_eq!(first.answers(1), [answer(b"salt and another")]);

    site.message(&ticket(2));
    for (number, told) in
        [(1, &b"salt and key 1"[..]), (2, b"salt and another, since the password has changed")]
    {
        let mut second = played(2);
        second.says(&srp_connect());
        let expected = format!("salt and key {number}");
        assert_eq!(second.answers(1), [answer(expected.as_bytes())]);
        assert!(
            matches!(&second.messages[..], [ToOrigin::Open { ticket: Some(Ticket(of)), .. }] if *of == number)
        );
        second.replies(RequestId::CONNECT, &[answer(told)]);
        assert_eq!(second.output, b"");
        // A proof of what has changed is refused as any wrong one.
        second.asked();
        second.says(&Request::ContinueAuthentication(ContinueAuthentication {
            data: b"proof".to_vec(),
            plugin: b"Srp256".to_vec(),
            plugin_list: Vec::new(),
            keys: Vec::new(),
        }));
        let id = second.relayed();
        second.replies(id, &[Reply::Response(Response::error(&Error::new(isc::LOGIN)))]);
        assert!(!second.response().status.is_success());
    }
    assert_eq!(site.counters().saved(Saved::Login), 2);
    let mut third = played(3);
    third.says(&srp_connect());
    assert_eq!(third.output, b"", "each is used once");
}

/// Events come on a second connection: the program's goes to the edge, the origin's to the server.
#[test]
fn a_second_connection_is_made_to_the_edge() {
    let site = site(false);
    let mut played = Played::attached(&site, 1);
    let request = Request::ConnectRequest { kind: 1, database: Handle(0), partner: 0 };
    let address = |ip: [u8; 4], port: [u8; 2]| [&[2, 0], &port[..], &ip, &[0; 8]].concat();
    // The server refuses, and is believed.
    played.says(&request);
    let id = played.relayed();
    played.replies(id, &[Reply::Response(Response::error(&Error::new(isc::WISH_LIST)))]);
    assert!(!played.response().status.is_success() && !played.machine.wants_auxiliary());

    played.says(&request);
    let id = played.relayed();
    let data = address([10, 0, 0, 9], [0x12, 0x34]);
    played.replies(id, &[Reply::Response(Response::data(Handle(0), data))]);
    assert!(played.machine.wants_auxiliary());
    assert_eq!(played.output, b"", "the edge's address is not known");
    // What is asked behind it keeps its place.
    played.says(&Request::Ping);
    let ping = played.relayed();
    played.replies(ping, &[done()]);
    assert_eq!(played.output, b"");
    played.machine.auxiliary_at(Some("127.0.0.1:43981".parse().unwrap()), NOW);
    played.collect();
    let answers = played.answers(2);
    let Reply::Response(response) = &answers[0] else { panic!("{answers:?}") };
    assert_eq!(response.data, address([127, 0, 0, 1], [0xAB, 0xCD]));
    let entries = played.machine.record().entries();
    assert!(entries.iter().all(|entry| entry.open == 0), "nothing is shown as waiting: {entries:?}");

    played.tell(Tell::Auxiliary { bytes: vec![1, 2], is_over: false });
    played.tell(Tell::Auxiliary { bytes: vec![3], is_over: false });
    assert_eq!(played.machine.take_auxiliary(), [1, 2, 3]);
    assert!(played.machine.has_auxiliary());
    // The program closes it; or does not take what comes.
    played.machine.auxiliary_gone();
    played.collect();
    assert!(matches!(&played.asked()[..], [Ask::CloseAuxiliary]));
    played.says(&request);
    let id = played.relayed();
    played.replies(id, &[Reply::Response(Response::data(Handle(0), address([10, 0, 0, 9], [1, 1])))]);
    played.machine.auxiliary_at(Some("[::1]:258".parse().unwrap()), NOW);
    played.collect();
    assert_eq!(played.response().data.len(), 28);
    for _ in 0..100 {
        played.tell(Tell::Auxiliary { bytes: vec![0; 100_000], is_over: false });
    }
    assert!(!played.machine.has_auxiliary());
    assert!(matches!(&played.asked()[..], [Ask::CloseAuxiliary]));

    // It asks for another one before anybody has noticed that it has closed the first.
    for _ in 0..2 {
        played.says(&request);
        let id = played.relayed();
        played.machine.auxiliary_gone();
        played.tell(Tell::Auxiliary { bytes: Vec::new(), is_over: true });
        assert!(played.asked().is_empty(), "the server would take it for the new one");
        played.replies(id, &[Reply::Response(Response::data(Handle(0), address([10, 0, 0, 9], [1, 1])))]);
        played.machine.auxiliary_at(Some("127.0.0.1:258".parse().unwrap()), NOW);
        assert!(played.machine.has_auxiliary());
    }
}

/// The link is gone for longer than programs are kept waiting, but one that waits for its commit: nobody knows yet what became of it.
#[test]
fn what_became_of_a_commit_is_waited_for() {
    for (end, is_told) in [(true, true), (true, false), (false, false)] {
        let site = site(true);
        let mut played = Played::attached(&site, 1);
        played.says(&begin());
        played.prepares(1, 2, "insert into t values (1)", 2);
        played.says(&execute(1, 2));
        let id = played.relayed();
        if end {
            played.replies(id, &[made(1)]);
            played.answers(1);
            played.says(&Request::Commit(Handle(1)));
        }
        let id = if end { Some(played.relayed()) } else { None };
        played.machine.link_lost();
        played.collect();
        assert_eq!(played.machine.is_ended(), !end, "only an end is waited for");
        if is_told {
            // What it asks behind its commit waits with it.
            played.says(&Request::Ping);
            let ping = played.relayed();
            played.machine.link_restored();
            played.replies(id.unwrap(), &[done()]);
            assert!(played.response().status.is_success());
            played.replies(ping, &[done()]);
            assert!(played.response().status.is_success());
        } else if end {
            // The origin has ended the conversation: it may be committed or not.
            played.machine.closed("the link was lost for too long");
            played.collect();
            assert_eq!(played.output, b"", "nothing is said about it");
        }
    }
}

/// A transaction keeps its number until it ends, an attachment as long as it is there.
#[test]
fn what_stays_is_asked_once() {
    let site = site(true);
    let mut played = Played::attached(&site, 1);
    let information = |object: u16, item: u8| Information {
        object: Handle(object),
        incarnation: 0,
        items: vec![item],
        buffer_length: BufferLength(64),
    };
    let number = |handle: u16| Request::TransactionInformation(information(handle, 4));
    let attachment = Request::DatabaseInformation(information(0, 22));
    let told = |data: u8| [Reply::Response(Response::data(Handle(0), vec![data]))];
    played.says(&begin());
    played.answers(1);
    for (request, data) in [(number(1), 7), (attachment.clone(), 8)] {
        played.asked();
        played.says(&request);
        let id = played.relayed();
        played.replies(id, &told(data));
        assert_eq!(played.response().data, [data]);
        played.says(&request);
        assert_eq!(played.response().data, [data]);
        assert_eq!(played.asked(), []);
    }
    // Going on it has another number; and so has the next transaction of its handle.
    played.says(&Request::CommitRetaining(Handle(1)));
    played.answers(1);
    played.asked();
    played.says(&number(1));
    let id = played.relayed();
    played.replies(id, &told(9));
    played.answers(1);
    played.says(&Request::Rollback(Handle(1)));
    played.says(&begin());
    played.answers(2);
    played.asked();
    played.says(&number(1));
    played.relayed();
    // What changes is asked each time.
    played.says(&Request::TransactionInformation(information(1, 7)));
    played.relayed();
}

/// A transaction can go on with another number without op_commit_retaining: by a statement, or by the server's own doing.
#[test]
fn what_changes_its_number_is_asked_for_it() {
    let site = site(true);
    let mut played = Played::attached(&site, 1);
    let number = Request::TransactionInformation(Information {
        object: Handle(1),
        incarnation: 0,
        items: vec![4],
        buffer_length: BufferLength(64),
    });
    let told = |data: u8| [Reply::Response(Response::data(Handle(0), vec![data]))];
    let ask = |played: &mut Played, data: u8| {
        played.asked();
        played.says(&number);
        let id = played.relayed();
        played.replies(id, &told(data));
        assert_eq!(played.response().data, [data]);
    };
    played.says(&begin());
    played.answers(1);
    ask(&mut played, 7);
    played.says(&execute_immediately(1, "commit retain"));
    let id = played.relayed();
    played.replies(id, &[made(1)]);
    played.answers(1);
    ask(&mut played, 8);
    played.says(&Request::Rollback(Handle(1)));
    let id = played.relayed();
    played.replies(id, &[done()]);
    // isc_tpb_autocommit: each statement ends with a commit.
    played.says(&Request::StartTransaction { database: Handle(0), tpb: vec![3, 16] });
    let id = played.relayed();
    played.replies(id, &[made(1)]);
    played.answers(2);
    for data in [9, 10] {
        ask(&mut played, data);
    }
}

/// What the second word of a SET is decides, not whether the word stands anywhere in it.
#[test]
fn a_role_whose_name_begins_as_set_transaction_goes_on_is_another_role() {
    for (text, is_session) in [
        ("set role transaction_reader", true),
        ("/* transaction */ set /* transaction */ role r", true),
        ("alter /* the */ session reset", true),
        ("set /* a */ transaction read only", false),
    ] {
        let site = site(true);
        let mut played = Played::attached(&site, 1);
        played.says(&begin());
        played.prepares(1, 2, SQL, 1);
        played.says(&execute_immediately(1, text));
        let id = played.relayed();
        played.replies(id, &[made(1)]);
        played.answers(1);
        played.says(&prepare(1, 2, SQL));
        let asked = played.asked();
        let is_relayed = asked.iter().any(|ask| matches!(ask, Ask::Relay { .. }));
        assert_eq!(is_relayed, is_session, "{text}: {asked:?}");
    }
}

/// What both ends keep of a question is bounded, and so are the rows that come with the op_fetch before it.
#[test]
fn a_question_that_is_too_long_is_not_asked_ahead() {
    use crate::message::{QUESTION_ITEMS_MAX, QUESTION_ROOM_MAX};
    for (items, room, is_learned) in [
        (QUESTION_ITEMS_MAX, QUESTION_ROOM_MAX, true),
        (QUESTION_ITEMS_MAX + 1, 64, false),
        (1, QUESTION_ROOM_MAX + 1, false),
    ] {
        let site = site(true);
        let mut played = Played::attached(&site, 1);
        played.says(&begin());
        played.prepares(1, 2, "insert into t values (1)", 2);
        for is_first in [true, false] {
            played.asked();
            played.says(&execute(1, 2));
            let asked = played.asked();
            assert_eq!(asked.len(), if is_learned && !is_first { 2 } else { 1 }, "{items} {room}");
            let Ask::Relay { id, .. } = asked[0] else { panic!("{asked:?}") };
            played.replies(id, &[made(1)]);
            played.answers(1);
            if is_first {
                played.says(&Request::StatementInformation(Information {
                    object: Handle(2),
                    incarnation: 0,
                    items: vec![23; items],
                    buffer_length: BufferLength(room),
                }));
                let id = played.relayed();
                played.replies(id, &[done()]);
                played.answers(1);
            }
        }
    }
}
