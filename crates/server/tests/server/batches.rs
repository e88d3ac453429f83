//! The batch API: many rows for one statement, with errors and BLOBs.

use std::sync::Arc;

use farbird_engine::budget::Limits;
use farbird_types::{BlobId, Value, isc};
use farbird_wire::blob_stream::{BlobStreamItem, BlobStreamPortion, HEADER_BYTES};
use farbird_wire::clumplet::{ClumpletWriter, batch};
use farbird_wire::info::{InfoReader, batch as item};
use farbird_wire::message::{MessageFormat, MessageRun, MessageType};
use farbird_wire::packet::{BatchBlobs, BatchCompletion, BatchCreate, BatchMessages, Reply, Request};
use farbird_wire::protocol::Handle;

use crate::common::{Client, Prepared, TestServer};

struct Fixture {
    _server: TestServer,
    client: Client,
    transaction: Handle,
    insert: Prepared,
}

/// A server, a table, and a prepared INSERT into it.
fn fixture() -> Fixture {
    fixture_on(TestServer::start())
}

fn fixture_on(server: TestServer) -> Fixture {
    let mut client = server.create("t.fbd");
    client.run("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, NAME VARCHAR(20), NOTE BLOB SUB_TYPE TEXT)");
    let transaction = client.start();
    let insert = client.prepare(transaction, "INSERT INTO T VALUES (?, ?, ?)").unwrap();
    Fixture { _server: server, client, transaction, insert }
}

impl Fixture {
    fn create(&self, items: &[(u8, i32)]) -> Request {
        let mut writer = ClumpletWriter::batch();
        for (tag, number) in items {
            writer.integer(*tag, *number);
        }
        let format = Arc::clone(self.insert.input.as_ref().unwrap());
        Request::BatchCreate(BatchCreate {
            statement: self.insert.handle,
            blr: format.to_blr(),
            message_length: format.length(),
            parameters: writer.into_bytes(),
            format,
        })
    }

    fn messages(&self, rows: &[[Value; 3]]) -> Request {
        let mut run = MessageRun::new(Arc::clone(self.insert.input.as_ref().unwrap()));
        rows.iter().for_each(|row| run.push(row).unwrap());
        Request::BatchMessages(BatchMessages { statement: self.insert.handle, rows: run })
    }

    fn execute(&self) -> Request {
        Request::BatchExecute { statement: self.insert.handle, transaction: self.transaction }
    }

    /// Sends requests whose answers wait, then the execute; gives what came of it.
    fn run(&mut self, mut requests: Vec<Request>) -> BatchCompletion {
        let deferred = requests.len();
        requests.push(self.execute());
        self.client.send(&requests);
        for _ in 0..deferred {
            self.client.response().unwrap();
        }
        match self.client.reply() {
            Reply::BatchCompletion(completion) => completion,
            other => panic!("op_batch_exec was answered by {other:?}"),
        }
    }

    fn count(&mut self) -> Value {
        let sql = "SELECT COUNT(*) FROM T";
        self.client.query_in(self.transaction, sql, &[]).unwrap().swap_remove(0).swap_remove(0)
    }
}

fn row(id: i64) -> [Value; 3] {
    [Value::integer(id), Value::text(&format!("row {id}")), Value::Null]
}

#[test]
fn rows_are_inserted_and_counted() {
    let mut fixture = fixture();
    let rows: Vec<_> = (1..=1000).map(row).collect();
    let requests = vec![
        fixture.create(&[(batch::RECORD_COUNTS, 1)]),
        fixture.messages(&rows[..600]),
        fixture.messages(&rows[600..]),
    ];
    let completion = fixture.run(requests);
    assert_eq!((completion.statement, completion.record_count), (fixture.insert.handle, 1000));
    assert_eq!(completion.update_counts, vec![1; 1000]);
    assert!(completion.errors.is_empty() && completion.errors_without_detail.is_empty());
    assert_eq!(fixture.count(), Value::integer(1000));
}

#[test]
fn the_first_error_ends_a_batch_unless_it_may_go_on() {
    let mut fixture = fixture();
    let rows = [row(1), row(1), row(2), row(2), row(3)];
    let requests = vec![fixture.create(&[(batch::RECORD_COUNTS, 1)]), fixture.messages(&rows)];
    let completion = fixture.run(requests);
    assert_eq!((completion.record_count, completion.update_counts), (2, vec![1, -1]));
    assert_eq!(completion.errors[0].0, 1);
    assert!(completion.errors[0].1.error().unwrap().has(isc::UNIQUE_KEY_VIOLATION));
    assert_eq!(fixture.count(), Value::integer(1));
}

#[test]
fn errors_are_gathered_and_the_later_ones_without_detail() {
    let mut fixture = fixture();
    let rows = [row(1), row(1), row(2), row(2), row(3), row(3)];
    let parameters = [(batch::RECORD_COUNTS, 1), (batch::MULTIERROR, 1), (batch::DETAILED_ERRORS, 2)];
    let requests = vec![fixture.create(&parameters), fixture.messages(&rows)];
    let completion = fixture.run(requests);
    assert_eq!(completion.record_count, 6);
    assert_eq!(completion.update_counts, [1, -1, 1, -1, 1, -1]);
    let detailed: Vec<_> = completion.errors.iter().map(|(row, _)| *row).collect();
    assert_eq!((detailed, completion.errors_without_detail), (vec![1, 3], vec![5]));
    assert_eq!(fixture.count(), Value::integer(3));
}

#[test]
fn blobs_of_a_stream_and_existing_ones_belong_to_their_rows() {
    let mut fixture = fixture();
    let existing = fixture.client.write_blob(fixture.transaction, b"existing", 100);
    let text = b"from the stream";
    let header = BlobStreamItem::Header { id: BlobId(7), length: text.len() as u32, bpb_length: 0 };
    let portion = BlobStreamPortion {
        length: (HEADER_BYTES + text.len() as u32).next_multiple_of(4),
        items: vec![header, BlobStreamItem::Data(text.to_vec())],
    };
    let with_blob = |id, blob| [Value::integer(id), Value::Null, Value::Blob(BlobId(blob))];
    let statement = fixture.insert.handle;
    let requests = vec![
        fixture.create(&[(batch::BLOB_POLICY, i32::from(batch::BLOB_STREAM))]),
        Request::BatchBlobStream(BatchBlobs { statement, portion }),
        Request::BatchRegisterBlob { statement, existing, batch_id: BlobId(8) },
        fixture.messages(&[with_blob(1, 7), with_blob(2, 8), row(3)]),
    ];
    let completion = fixture.run(requests);
    assert!(completion.errors.is_empty(), "{completion:?}");
    let sql = "SELECT NOTE FROM T ORDER BY ID";
    let rows = fixture.client.query_in(fixture.transaction, sql, &[]).unwrap();
    for (row, wanted) in rows.iter().zip([Some(&text[..]), Some(b"existing"), None]) {
        let content = match &row[0] {
            Value::Blob(id) => Some(fixture.client.read_blob(fixture.transaction, *id).unwrap()),
            _ => None,
        };
        assert_eq!(content.as_deref(), wanted);
    }
}

#[test]
fn a_message_with_an_unknown_blob_ends_the_batch() {
    let mut fixture = fixture();
    let rows = [[Value::integer(1), Value::Null, Value::Blob(BlobId(99))], row(2)];
    let requests = [fixture.create(&[(batch::MULTIERROR, 1)]), fixture.messages(&rows), fixture.execute()];
    fixture.client.send(&requests);
    fixture.client.response().unwrap();
    fixture.client.response().unwrap();
    let error = fixture.client.response().unwrap_err();
    assert!(error.has(isc::BATCH_BLOB_ID), "{error}");
    assert_eq!(fixture.count(), Value::integer(0));
}

#[test]
fn a_batch_is_asked_cancelled_synchronised_and_released() {
    let mut fixture = fixture();
    let requests = [fixture.create(&[]), fixture.messages(&[row(1), row(2)]), Request::BatchSync];
    fixture.client.send(&requests);
    for _ in 0..3 {
        fixture.client.response().unwrap();
    }
    let handle = fixture.insert.handle;
    let asked = [item::BUFFER_BYTES_SIZE, item::DATA_BYTES_SIZE, item::BLOB_ALIGNMENT, item::BLOB_HEADER];
    let information = fixture.client.information(handle, &asked);
    let response = fixture.client.ask(Request::BatchInformation(information.clone())).unwrap();
    let numbers: Vec<_> =
        InfoReader::new(&response.data).map(|item| item.unwrap().integer().unwrap()).collect();
    assert_eq!((numbers[0], numbers[2], numbers[3]), (16 << 20, 4, 16));
    assert!(numbers[1] > 0);

    fixture.client.ask(Request::BatchCancel(handle)).unwrap();
    assert_eq!(fixture.run(Vec::new()).record_count, 0);

    let again = fixture.create(&[]);
    fixture.client.send(&[again, Request::Ping]);
    assert_eq!(fixture.client.response().unwrap_err().gds_code(), isc::BATCH_OPEN);
    fixture.client.response().unwrap();
    fixture.client.send(&[Request::BatchRelease(handle), Request::Ping]);
    fixture.client.response().unwrap();
    fixture.client.response().unwrap();
    let error = fixture.client.ask(Request::BatchInformation(information)).unwrap_err();
    assert_eq!(error.gds_code(), isc::BAD_BATCH_HANDLE);
}

/// What comes for a batch that has been released is refused, and the line goes on.
#[test]
fn a_released_batch_is_no_batch() {
    let mut fixture = fixture();
    let [create, rows] = [fixture.create(&[]), fixture.messages(&[row(1)])];
    let release = Request::BatchRelease(fixture.insert.handle);
    fixture.client.send(&[create.clone(), release, rows, Request::Ping]);
    fixture.client.response().unwrap();
    fixture.client.response().unwrap();
    assert_eq!(fixture.client.response().unwrap_err().gds_code(), isc::BAD_BATCH_HANDLE);
    fixture.client.response().unwrap();
    // Closing the statement's cursor closes its batch, too; until then it can neither run nor have another batch.
    fixture.client.send(&[create.clone(), create, Request::Ping]);
    fixture.client.response().unwrap();
    assert_eq!(fixture.client.response().unwrap_err().gds_code(), isc::BATCH_OPEN);
    fixture.client.response().unwrap();
    let execute = fixture.client.execution(fixture.transaction, &fixture.insert, &row(2));
    assert!(fixture.client.ask(Request::Execute(execute)).unwrap_err().has(isc::DSQL_CURSOR_OPEN_ERR));
    fixture.client.close_cursor(&fixture.insert).unwrap();
    let error = fixture.client.close_cursor(&fixture.insert).unwrap_err();
    assert_eq!(error.gds_code(), isc::DSQL_CURSOR_CLOSE_ERR);
    assert_eq!(fixture.count(), Value::integer(0));
}

/// The ids of BLOBs in a batch are the batch's own, whatever its policy: one that exists must be registered.
#[test]
fn a_blob_that_exists_must_be_registered_and_serves_once() {
    let mut fixture = fixture();
    let id = fixture.client.write_blob(fixture.transaction, b"a note", 100);
    let with_note = |number, id| [Value::integer(number), Value::Null, Value::Blob(id)];
    for policy in [None, Some(0), Some(3)] {
        let items: Vec<_> = policy.map(|policy| (batch::BLOB_POLICY, policy)).into_iter().collect();
        let requests = [fixture.create(&items), fixture.messages(&[with_note(1, id)]), fixture.execute()];
        fixture.client.send(&requests);
        fixture.client.response().unwrap();
        fixture.client.response().unwrap();
        let error = fixture.client.response().unwrap_err();
        assert_eq!((error.gds_code(), error.has(isc::BATCH_BLOB_ID)), (isc::DSQL_ERROR, true), "{error}");
        fixture.client.close_cursor(&fixture.insert).unwrap();
    }
    let statement = fixture.insert.handle;
    let register = Request::BatchRegisterBlob { statement, existing: id, batch_id: BlobId(7) };
    let requests = vec![fixture.create(&[]), register.clone(), fixture.messages(&[with_note(1, BlobId(7))])];
    let completion = fixture.run(requests);
    assert_eq!((completion.record_count, completion.errors.len()), (1, 0));
    let requests = [register.clone(), register, Request::Ping];
    fixture.client.send(&requests);
    fixture.client.response().unwrap();
    assert!(fixture.client.response().unwrap_err().has(isc::BATCH_RPT_BLOB));
    fixture.client.response().unwrap();
}

/// Drivers that call BLOBs blr_quad in their messages put ids there of BLOBs that they have written.
#[test]
fn ids_in_columns_of_blr_quad_are_those_of_blobs_that_exist() {
    let mut fixture = fixture();
    let id = fixture.client.write_blob(fixture.transaction, b"a note", 100);
    let types = fixture.insert.input.as_ref().unwrap().columns().map(|column| match column {
        MessageType::Blob { .. } => MessageType::Quad { scale: 0 },
        other => *other,
    });
    fixture.insert.input = Some(Arc::new(MessageFormat::from_columns(types.collect::<Vec<_>>())));
    let rows = [[Value::integer(1), Value::Null, Value::Blob(id)], row(2)];
    let requests = vec![fixture.create(&[]), fixture.messages(&rows)];
    let completion = fixture.run(requests);
    assert_eq!((completion.record_count, completion.errors.len()), (2, 0));
    let sql = "SELECT NOTE FROM T WHERE ID = 1";
    let rows = fixture.client.query_in(fixture.transaction, sql, &[]).unwrap();
    let Value::Blob(note) = rows[0][0] else { panic!("{rows:?}") };
    assert_eq!(fixture.client.read_blob(fixture.transaction, note).unwrap(), b"a note");
}

#[test]
fn only_statements_that_change_rows_run_in_batches() {
    let mut fixture = fixture();
    for (sql, code) in [
        ("SELECT ID FROM T WHERE ID = ?", isc::BATCH_TYPE),
        ("UPDATE T SET ID = ? RETURNING ID", isc::BATCH_TYPE),
        ("CREATE TABLE U (ID INTEGER)", isc::UNPREPARED_STMT),
        ("INSERT INTO T (ID) VALUES (1)", isc::BATCH_PARAM),
        ("EXECUTE BLOCK (N INTEGER = ?) AS BEGIN END", 0),
    ] {
        let statement = fixture.client.prepare(fixture.transaction, sql).unwrap();
        let input =
            statement.input.clone().unwrap_or_else(|| Arc::clone(fixture.insert.input.as_ref().unwrap()));
        let insert = std::mem::replace(&mut fixture.insert, Prepared { input: Some(input), ..statement });
        let create = fixture.create(&[]);
        fixture.client.send(&[create, Request::Ping]);
        let created = fixture.client.response();
        fixture.client.response().unwrap();
        assert!(created.as_ref().map_or_else(|error| error.has(code), |_| code == 0), "{sql}: {created:?}");
        fixture.insert = insert;
    }
}

#[test]
fn what_a_batch_gathers_is_charged_to_its_statement() {
    let limits = Limits { statement_memory: 100_000, ..Limits::default() };
    let mut fixture = fixture_on(TestServer::with(|config| config.limits = limits));
    let rows: Vec<_> = (0..500).map(row).collect();
    fixture.client.send(&[fixture.create(&[]), fixture.messages(&rows), Request::Ping]);
    for _ in 0..3 {
        fixture.client.response().unwrap();
    }
    let more: Vec<_> = (500..20_000).map(row).collect();
    fixture.client.send(&[fixture.messages(&more), Request::Ping]);
    assert_eq!(fixture.client.response().unwrap_err().gds_code(), isc::VIRMEMEXH);
    fixture.client.response().unwrap();
    // What was there before stays; executed, it makes room for more.
    assert_eq!(fixture.run(Vec::new()).record_count, 500);
    let more: Vec<_> = (500..1_000).map(row).collect();
    let request = fixture.messages(&more);
    assert_eq!(fixture.run(vec![request]).record_count, 500);
}
