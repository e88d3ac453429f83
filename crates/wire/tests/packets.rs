//! Every packet in every protocol version: what is encoded decodes to the same, and a packet cut short waits for the
//! rest instead of failing.

use std::sync::Arc;

use farbird_types::{BlobId, Error, Value, isc};
use farbird_wire::blob_stream::{BlobStreamItem, BlobStreamPortion};
use farbird_wire::decoder::{Limits, ReplyDecoder, RequestDecoder};
use farbird_wire::message::{Message, MessageForm, MessageFormat, MessageRun, MessageType};
use farbird_wire::negotiation::offers;
use farbird_wire::packet::*;
use farbird_wire::protocol::{Handle, ProtocolVersion, free_statement};
use farbird_wire::slice::SliceElements;
use farbird_wire::status::StatusVector;
use farbird_wire::xdr::DecodeError;

const STATEMENT: Handle = Handle(3);
const TRANSACTION: Handle = Handle(2);
const REQUEST: Handle = Handle(5);
const DATABASE: Handle = Handle::NONE;

fn versions() -> impl Iterator<Item = ProtocolVersion> {
    (10..=20).filter_map(ProtocolVersion::new)
}

fn format() -> Arc<MessageFormat> {
    Arc::new(MessageFormat::from_columns([
        MessageType::Long { scale: 0 },
        MessageType::Varying { length: 20, charset: Some(4) },
        MessageType::Boolean,
    ]))
}

fn row() -> Vec<Value> {
    vec![Value::Null, Value::text("café"), Value::Boolean(true)]
}

fn message(version: ProtocolVersion) -> Message {
    Message::new(format(), MessageForm::of_sql(version), &row()).unwrap()
}

/// BLR of a request with message 0 in [`format`]'s layout and message 1 of one double.
fn request_blr() -> Vec<u8> {
    let clause = |format: &MessageFormat| format.to_blr()[2..format.to_blr().len() - 2].to_vec();
    [&[5, 2][..], &clause(&format()), &clause(&output_format()), &[255, 76]].concat()
}

fn output_format() -> MessageFormat {
    MessageFormat::from_types(1, vec![MessageType::Double])
}

fn call() -> RequestCall {
    RequestCall { request: REQUEST, incarnation: 0, transaction: TRANSACTION, message_number: 0, messages: 1 }
}

fn send() -> RequestMessage {
    RequestMessage { call: call(), message: Message::new(format(), MessageForm::Unpacked, &row()).unwrap() }
}

fn information() -> Information {
    Information {
        object: Handle::LATEST,
        incarnation: 0,
        items: vec![4, 5, 1],
        buffer_length: BufferLength(128),
    }
}

fn text(version: ProtocolVersion) -> StatementText {
    StatementText {
        transaction: TRANSACTION,
        statement: Handle::LATEST,
        dialect: 3,
        sql: b"select 1 from rdb$database".to_vec(),
        items: vec![21, 1],
        buffer_length: BufferLength(64_384),
        flags: if version >= ProtocolVersion::V20 { 0x82 } else { 0 },
    }
}

fn execute(version: ProtocolVersion, message: Option<Message>, input_blr: Vec<u8>) -> Execute {
    let since = |first, value| if version >= first { value } else { 0 };
    Execute {
        statement: STATEMENT,
        transaction: TRANSACTION,
        input_blr,
        message_number: 0,
        message,
        timeout_ms: since(ProtocolVersion::V16, 5000),
        cursor_flags: since(ProtocolVersion::V18, 1),
        inline_blob_bytes: since(ProtocolVersion::V19, 65_535),
    }
}

fn segment() -> Segment {
    Segment { blob: Handle(4), length: 40_000, data: vec![1, 2, 3, 4, 5] }
}

fn attach() -> Attach {
    Attach { database: DATABASE, file: b"employee".to_vec(), parameters: vec![1, 28, 1, b'A'] }
}

fn slice() -> Slice {
    let element = MessageType::Long { scale: 0 };
    Slice {
        transaction: TRANSACTION,
        array: BlobId(9),
        length: 8,
        sdl: vec![1, 6, 1, 8, 0, 2, 1, b'T', 4, 1, b'A', 35, 0, 9, 2, 36, 1, 8, 0, 1, 7, 0, 255],
        parameters: vec![1, 2],
        elements: SliceElements::new(element, &[Value::integer(1), Value::integer(-1)]).unwrap(),
    }
}

fn events() -> QueueEvents {
    QueueEvents { database: DATABASE, epb: vec![1, 1, b'E', 0, 0, 0, 0], ast: 0, argument: 0, id: 7 }
}

fn authentication() -> ContinueAuthentication {
    ContinueAuthentication {
        data: b"AB12".to_vec(),
        plugin: b"Srp256".to_vec(),
        plugin_list: b"Srp256,Srp".to_vec(),
        keys: Vec::new(),
    }
}

fn callback(version: ProtocolVersion) -> CryptKeyCallback {
    let reply_length = if version >= ProtocolVersion::V14 { 40_000 } else { 0 };
    CryptKeyCallback { data: vec![1], reply_length }
}

/// All requests, in an order in which formats are described before they are used.
fn requests(version: ProtocolVersion) -> Vec<Request> {
    let blr = format().to_blr();
    let mut rows = MessageRun::new(format());
    rows.push(&row()).unwrap();
    rows.push(&[Value::Null, Value::Null, Value::Null]).unwrap();
    let output = || Output::new(Some(format()));
    let fetch = |output| Fetch { statement: STATEMENT, output, count: 400 };
    let statement_text = text(version);
    let mut requests = vec![
        Request::Connect(Connect {
            operation: 19,
            version: 3,
            architecture: 36,
            file: b"service_mgr".to_vec(),
            user_identification: vec![9, 1, b'A'],
            offers: offers(ProtocolVersion::V10, ProtocolVersion::V20, true),
        }),
        Request::Attach(attach()),
        Request::Create(attach()),
        Request::ServiceAttach(attach()),
        Request::ServiceInformation {
            service: DATABASE,
            incarnation: 0,
            send_items: vec![],
            receive_items: vec![62],
            buffer_length: BufferLength(1024),
        },
        Request::ServiceStart { service: DATABASE, incarnation: 0, spb: vec![12] },
        Request::ServiceDetach(DATABASE),
        Request::Compile { database: DATABASE, blr: request_blr() },
        Request::Start(call()),
        Request::StartAndSend(send()),
        Request::StartAndReceive(call()),
        Request::StartSendAndReceive(send()),
        Request::Send(send()),
        Request::Receive(call()),
        Request::Unwind(REQUEST),
        Request::Release(REQUEST),
        Request::Transact(Transact {
            database: DATABASE,
            transaction: TRANSACTION,
            blr: request_blr(),
            message: Some(send().message),
        }),
        Request::Ddl { database: DATABASE, transaction: TRANSACTION, dyn_string: vec![1, 2, 3] },
        Request::StartTransaction { database: DATABASE, tpb: vec![3, 2, 6, 9] },
        Request::Reconnect { database: DATABASE, transaction_id: vec![1, 0, 0, 0] },
        Request::Commit(TRANSACTION),
        Request::Rollback(TRANSACTION),
        Request::CommitRetaining(TRANSACTION),
        Request::RollbackRetaining(TRANSACTION),
        Request::PrepareTransaction(TRANSACTION),
        Request::PrepareTransaction2 { transaction: TRANSACTION, message: vec![9; 7] },
        Request::CreateBlob { transaction: TRANSACTION, blob: BlobId(0) },
        Request::CreateBlob2(OpenBlob { bpb: vec![1, 3, 1, 1], transaction: TRANSACTION, blob: BlobId(0) }),
        Request::OpenBlob { transaction: TRANSACTION, blob: BlobId(u64::MAX - 1) },
        Request::OpenBlob2(OpenBlob { bpb: vec![], transaction: TRANSACTION, blob: BlobId(8) }),
        Request::GetSegment(segment()),
        Request::PutSegment(segment()),
        Request::BatchSegments(segment()),
        Request::SeekBlob { blob: Handle(4), mode: 2, offset: -5 },
        Request::CloseBlob(Handle(4)),
        Request::CancelBlob(Handle::LATEST),
        Request::DatabaseInformation(information()),
        Request::RequestInformation(information()),
        Request::TransactionInformation(information()),
        Request::BlobInformation(information()),
        Request::StatementInformation(information()),
        Request::BatchInformation(information()),
        Request::CursorInformation(information()),
        Request::AllocateStatement(DATABASE),
        Request::Prepare(statement_text.clone()),
        Request::Execute(execute(version, None, vec![])),
        Request::Execute(execute(version, Some(message(version)), blr.clone())),
        Request::Execute(execute(version, Some(message(version)), vec![])),
        Request::Execute2(Execute2 {
            execute: execute(version, Some(message(version)), vec![]),
            output: output(),
        }),
        Request::ExecuteImmediate(statement_text.clone()),
        Request::ExecuteImmediate2(ExecuteImmediate2 {
            input_blr: blr.clone(),
            message_number: 0,
            message: Some(message(version)),
            output: output(),
            inline_blob_bytes: if version >= ProtocolVersion::V19 { 65_535 } else { 0 },
            text: statement_text,
        }),
        Request::Fetch(fetch(output())),
        Request::Fetch(fetch(Output::new(None))),
        Request::FetchScroll(FetchScroll { fetch: fetch(Output::new(None)), operation: 5, position: -3 }),
        Request::SetCursor { statement: STATEMENT, name: b"C\0".to_vec(), kind: 0 },
        Request::BatchCreate(BatchCreate {
            statement: STATEMENT,
            message_length: format().length(),
            blr,
            parameters: vec![1],
            format: format(),
        }),
        Request::BatchSetBpb { statement: STATEMENT, bpb: vec![1] },
        Request::BatchBlobStream(BatchBlobs {
            statement: STATEMENT,
            portion: BlobStreamPortion {
                length: 24,
                items: vec![
                    BlobStreamItem::Header { id: BlobId(1), length: 7, bpb_length: 0 },
                    BlobStreamItem::Segment(5),
                    BlobStreamItem::Data(b"abcde".to_vec()),
                ],
            },
        }),
        Request::BatchRegisterBlob { statement: STATEMENT, existing: BlobId(1), batch_id: BlobId(2) },
        Request::BatchMessages(BatchMessages { statement: STATEMENT, rows }),
        Request::BatchExecute { statement: STATEMENT, transaction: TRANSACTION },
        Request::BatchSync,
        Request::BatchCancel(STATEMENT),
        Request::BatchRelease(STATEMENT),
        Request::FreeStatement { statement: STATEMENT, option: free_statement::DROP },
        Request::GetSlice(Slice { elements: SliceElements::empty(), ..slice() }),
        Request::PutSlice(slice()),
        Request::QueueEvents(events()),
        Request::CancelEvents { database: DATABASE, id: -7 },
        Request::ConnectRequest { kind: 1, database: DATABASE, partner: 0 },
        Request::AuxConnect { kind: 1, database: DATABASE, partner: 0 },
        Request::AbortAuxConnection,
        Request::ContinueAuthentication(authentication()),
        Request::TrustedAuthentication(vec![1, 2]),
        Request::Crypt { plugin: b"Arc4".to_vec(), key: b"Symmetric".to_vec() },
        Request::CryptKeyCallback(callback(version)),
        Request::UpdateAccountInfo { database: DATABASE, account: vec![1] },
        Request::AuthenticateUser { database: DATABASE, dpb: vec![1], items: vec![], buffer_length: 5 },
        Request::Cancel { kind: 3 },
        Request::Ping,
        Request::Dummy,
        Request::ReplicationData { database: DATABASE, data: vec![1; 9] },
        Request::Detach(DATABASE),
        Request::DropDatabase(DATABASE),
        Request::Disconnect,
    ];
    if !version.has_packed_messages() {
        // Batches exist with packed messages only.
        requests.retain(|request| !matches!(request, Request::BatchMessages(_)));
    }
    requests
}

#[test]
fn every_request_in_every_version() {
    for version in versions() {
        let mut decoder = RequestDecoder::new(Limits::default());
        decoder.set_version(version);
        for request in requests(version) {
            let mut bytes = Vec::new();
            request.encode(version, &mut bytes);
            // Bytes come one by one: nothing may come out, or fail, before the last.
            for (position, byte) in bytes.iter().enumerate() {
                assert_eq!(decoder.next_request(), Ok(None), "{version:?} {request:?} at {position}");
                decoder.feed(&[*byte]);
            }
            assert_eq!(decoder.next_request().as_ref(), Ok(&Some(request.clone())), "{version:?}");
            assert!(decoder.unread().is_empty());
            if let Request::Compile { blr, .. } = &request {
                decoder.request_compiled(REQUEST, blr).unwrap();
            }
        }
    }
}

/// Conversations: a request and the replies that answer it.
fn conversations(version: ProtocolVersion) -> Vec<(Request, Vec<Reply>)> {
    let success = || Reply::Response(Response::success());
    let failure = || Reply::Response(Response::error(&Error::new(isc::DSQL_CURSOR_OPEN_ERR)));
    let find = |wanted: &dyn Fn(&Request) -> bool| requests(version).into_iter().find(|r| wanted(r)).unwrap();
    let sql_row = || Reply::SqlResponse(SqlResponse { message: Some(message(version)) });
    let fetched = || Reply::FetchResponse(FetchResponse { status: 0, message: Some(message(version)) });
    let received = |messages| {
        let format = Arc::new(output_format());
        let message = Message::from_descriptor_values(format, &[Value::Double(1.5)]).unwrap();
        Reply::Send(RequestMessage { call: RequestCall { messages, message_number: 1, ..call() }, message })
    };
    let accept = Accept { version: version.to_wire(), architecture: 1, connection_type: 5 };
    let accept_with_data = AcceptWithData {
        accept,
        data: vec![1; 5],
        plugin: b"Srp".to_vec(),
        authenticated: true,
        keys: vec![0, 1, 2],
    };
    let inline = Reply::InlineBlob(InlineBlob {
        transaction: TRANSACTION,
        blob: BlobId(7),
        information: vec![4, 4, 0, 1, 0, 0, 0, 1],
        data: vec![1, 0, b'x'],
    });
    let piggyback = Reply::ResponsePiggyback(Response::object(Handle(1)));
    let connect = || find(&|r| matches!(r, Request::Connect(_)));
    let fetch = || find(&|r| matches!(r, Request::Fetch(_)));
    let mut conversations = vec![
        (connect(), vec![Reply::Accept(accept)]),
        (
            connect(),
            vec![Reply::CryptKeyCallback(callback(version)), Reply::AcceptWithData(accept_with_data.clone())],
        ),
        (connect(), vec![Reply::ConditionalAccept(accept_with_data)]),
        (connect(), vec![Reply::Reject]),
        (Request::Attach(attach()), vec![Reply::ContinueAuthentication(authentication())]),
        (Request::ContinueAuthentication(authentication()), vec![Reply::TrustedAuthentication(vec![1])]),
        (Request::Ping, vec![Reply::Dummy, success()]),
        (
            Request::Compile { database: DATABASE, blr: request_blr() },
            vec![Reply::Response(Response::object(REQUEST))],
        ),
        (Request::StartAndReceive(call()), vec![piggyback.clone(), received(1), received(0)]),
        (Request::StartSendAndReceive(send()), vec![piggyback, received(0)]),
        (Request::Receive(call()), vec![received(1), failure()]),
        (find(&|r| matches!(r, Request::Execute2(_))), vec![inline.clone(), sql_row(), success()]),
        (
            find(&|r| matches!(r, Request::ExecuteImmediate2(_))),
            vec![Reply::SqlResponse(SqlResponse { message: None }), failure()],
        ),
        (fetch(), vec![fetched(), inline, fetched(), Reply::FetchResponse(FetchResponse::END_OF_BATCH)]),
        (fetch(), vec![fetched(), failure()]),
        (fetch(), vec![Reply::FetchResponse(FetchResponse::END_OF_CURSOR)]),
        (
            find(&|r| matches!(r, Request::Transact(_))),
            vec![Reply::TransactResponse(TransactResponse {
                message: Some(
                    Message::from_descriptor_values(Arc::new(output_format()), &[Value::Double(0.5)])
                        .unwrap(),
                ),
            })],
        ),
        (
            find(&|r| matches!(r, Request::GetSlice(_))),
            vec![Reply::Slice(SliceResponse { length: 8, elements: slice().elements })],
        ),
        (
            Request::BatchExecute { statement: STATEMENT, transaction: TRANSACTION },
            vec![Reply::BatchCompletion(BatchCompletion {
                statement: STATEMENT,
                record_count: 3,
                update_counts: vec![1, -1, -2],
                errors: vec![(1, StatusVector::from_error(&Error::new(isc::NO_DUP).with("I")))],
                errors_without_detail: vec![2],
            })],
        ),
        (Request::QueueEvents(events()), vec![success(), Reply::Event(events())]),
        (Request::Commit(TRANSACTION), vec![failure()]),
    ];
    // Requests without a reply do not disturb the order.
    conversations.push((Request::Cancel { kind: 3 }, vec![]));
    conversations.push((Request::Detach(DATABASE), vec![success()]));
    conversations
}

#[test]
fn every_reply_in_every_version() {
    for version in versions() {
        for (request, replies) in conversations(version) {
            let mut decoder = ReplyDecoder::new(Limits::default());
            // The version is learnt from an accept; a compiled request from its reply.
            let compile = Request::Compile { database: DATABASE, blr: request_blr() };
            let prologue = [
                (
                    conversations(version).remove(0).0,
                    Reply::Accept(Accept { version: version.to_wire(), architecture: 1, connection_type: 5 }),
                ),
                (compile, Reply::Response(Response::object(REQUEST))),
            ];
            for (request, reply) in prologue {
                decoder.expect(&request).unwrap();
                let mut bytes = Vec::new();
                reply.encode(version, &mut bytes);
                decoder.feed(&bytes);
                assert!(decoder.next_reply().unwrap().unwrap().is_last);
            }
            decoder.expect(&request).unwrap();
            let count = replies.len();
            for (number, reply) in replies.into_iter().enumerate() {
                let mut bytes = Vec::new();
                reply.encode(version, &mut bytes);
                for byte in bytes {
                    assert_eq!(decoder.next_reply(), Ok(None), "{version:?} {reply:?}");
                    decoder.feed(&[byte]);
                }
                let answer = decoder.next_reply().unwrap().unwrap();
                assert_eq!(answer.reply, reply, "{version:?}");
                let unasked = matches!(reply, Reply::Event(_) | Reply::Dummy);
                assert_eq!(answer.to, (!unasked).then_some(request.operation()));
                let last = number + 1 == count || matches!(request, Request::QueueEvents(_)) && number == 0;
                assert_eq!(answer.is_last, last && !unasked, "{version:?} {request:?} {number}");
            }
            assert_eq!(decoder.outstanding(), 0, "{version:?} {request:?}");
        }
    }
}

#[test]
fn rows_go_out_without_a_packet_value_to_the_same_bytes() {
    for version in versions() {
        let (mut short, mut long) = (Vec::new(), Vec::new());
        encode_fetch_row(&format(), version, &row(), &mut short).unwrap();
        encode_sql_row(&format(), version, &row(), &mut short).unwrap();
        let row = || Some(message(version));
        Reply::FetchResponse(FetchResponse { status: 0, message: row() }).encode(version, &mut long);
        Reply::SqlResponse(SqlResponse { message: row() }).encode(version, &mut long);
        assert_eq!(short, long);
        assert!(encode_fetch_row(&format(), version, &[], &mut short).is_err());
        assert_eq!(short, long);
    }
}

#[test]
fn strangers_may_not_send_much() {
    let mut decoder = RequestDecoder::new(Limits::default());
    let mut huge = attach();
    huge.parameters = vec![1; 100_000];
    let mut bytes = Vec::new();
    Request::Attach(huge).encode(ProtocolVersion::NEWEST, &mut bytes);
    decoder.feed(&bytes[..100]);
    let refused = decoder.next_request();
    assert!(
        matches!(refused, Err(DecodeError::TooLong { length: 100_000, limit: 65_536, .. })),
        "{refused:?}"
    );
    decoder.feed(&bytes[100..]);
    assert_eq!(decoder.next_request(), refused);

    let mut decoder = RequestDecoder::new(Limits::default());
    decoder.authenticated();
    decoder.feed(&bytes);
    assert!(decoder.next_request().unwrap().is_some());
}

/// With a try from the first element for each piece this would take thousands of millions of steps.
#[test]
fn a_long_array_may_arrive_in_small_pieces() {
    let version = ProtocolVersion::NEWEST;
    let texts: Vec<Value> = (0..100_000).map(|number| Value::text(&"x".repeat(number % 14))).collect();
    let numbers: Vec<Value> = (0..200_000).map(Value::integer).collect();
    let varying = farbird_wire::slice::element_type(&[1, 6, 1, 38, 4, 0, 15, 0, 255]).unwrap();
    for (element, sdl, values) in [
        (varying, vec![1, 6, 1, 38, 4, 0, 15, 0, 255], texts),
        (MessageType::Long { scale: 0 }, vec![1, 6, 1, 8, 0, 255], numbers),
    ] {
        let elements = SliceElements::new(element, &values).unwrap();
        let request = Request::PutSlice(Slice { sdl, elements, ..slice() });
        let mut bytes = Vec::new();
        request.encode(version, &mut bytes);
        Request::Ping.encode(version, &mut bytes);
        let mut decoder = RequestDecoder::new(Limits::default());
        decoder.authenticated();
        let mut found = Vec::new();
        for piece in bytes.chunks(7) {
            decoder.feed(piece);
            while let Some(request) = decoder.next_request().unwrap() {
                found.push(request);
            }
        }
        assert!(found == [request, Request::Ping]);
        assert!(decoder.unread().is_empty());
    }
}

#[test]
fn a_slice_has_a_description_of_reasonable_length() {
    let sdl = Slice { sdl: vec![1; 65_537], ..slice() };
    let parameters = Slice { parameters: vec![1; 16_385], ..slice() };
    for request in [sdl, parameters] {
        let mut bytes = Vec::new();
        Request::PutSlice(request).encode(ProtocolVersion::NEWEST, &mut bytes);
        let mut decoder = RequestDecoder::new(Limits::default());
        decoder.authenticated();
        decoder.feed(&bytes[..100]);
        let refused = decoder.next_request();
        assert!(matches!(refused, Err(DecodeError::TooLong { limit: 65_536, .. })), "{refused:?}");
    }
}

#[test]
fn many_strings_within_the_limit_do_not_add_up_to_an_endless_packet() {
    let mut decoder = RequestDecoder::new(Limits { packet_bytes_before_login: 100, packet_bytes: 100 });
    let mut bytes = Vec::new();
    Request::ContinueAuthentication(ContinueAuthentication {
        data: vec![1; 90],
        plugin: vec![1; 90],
        plugin_list: vec![1; 90],
        keys: vec![1; 90],
    })
    .encode(ProtocolVersion::NEWEST, &mut bytes);
    decoder.feed(&bytes[..150]);
    assert!(matches!(decoder.next_request(), Err(DecodeError::TooLong { length: 150, .. })));
}

#[test]
fn what_a_dropped_statement_described_is_forgotten() {
    let version = ProtocolVersion::V19;
    let mut decoder = RequestDecoder::new(Limits::default());
    decoder.set_version(version);
    let mut feed = |request: Request| {
        let mut bytes = Vec::new();
        request.encode(version, &mut bytes);
        decoder.feed(&bytes);
        decoder.next_request().map(|request| request.is_some())
    };
    let remembered = || Request::Execute(execute(version, Some(message(version)), vec![]));
    let described = Request::Execute(execute(version, Some(message(version)), format().to_blr()));
    assert_eq!(feed(described), Ok(true));
    assert_eq!(feed(remembered()), Ok(true));
    let drop = Request::FreeStatement { statement: STATEMENT, option: free_statement::DROP };
    assert_eq!(feed(drop), Ok(true));
    assert_eq!(feed(remembered()), Err(DecodeError::NoFormat { object: STATEMENT.0 }));
}

#[test]
fn replies_that_nobody_asked_for_end_the_connection() {
    let mut decoder = ReplyDecoder::new(Limits::default());
    let mut bytes = Vec::new();
    Reply::Response(Response::success()).encode(ProtocolVersion::V19, &mut bytes);
    decoder.feed(&bytes);
    assert_eq!(decoder.next_reply(), Err(DecodeError::Unasked { code: 9 }));
}
