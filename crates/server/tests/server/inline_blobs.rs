//! Small BLOBs that travel in front of their rows.

use farbird_types::{BlobId, Value};
use farbird_wire::clumplet::dpb;
use farbird_wire::info::{InfoReader, blob, database};
use farbird_wire::packet::Request;
use farbird_wire::protocol::{Handle, ProtocolVersion};

use crate::common::client::{Batch, segments};
use crate::common::{Client, Login, TestServer};

const SMALL: &[u8] = b"small";

/// A table of BLOBs: NULL, empty, small, of 1000 bytes, of 70,000 bytes in two segments.
fn fill(client: &mut Client) {
    client.run("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, B BLOB)");
    let transaction = client.start();
    let insert = client.prepare(transaction, "INSERT INTO T VALUES (?, ?)").unwrap();
    let contents = [None, Some(Vec::new()), Some(SMALL.to_vec()), Some(vec![1; 1000]), Some(vec![2; 70_000])];
    for (id, content) in (1..).zip(contents) {
        let value = match content {
            None => Value::Null,
            Some(bytes) => Value::Blob(client.write_blob(transaction, &bytes, 35_000)),
        };
        client.execute(transaction, &insert, &[Value::integer(id), value]).unwrap();
    }
    client.commit(transaction);
}

/// The rows, and the BLOBs that came with them.
fn select(client: &mut Client, inline: u32) -> Batch {
    client.inline_blob_bytes = inline;
    let transaction = client.start();
    let statement = client.prepare(transaction, "SELECT ID, B FROM T ORDER BY ID").unwrap();
    client.execute(transaction, &statement, &[]).unwrap();
    let batch = client.fetch(&statement, 100).unwrap();
    assert!(batch.blobs.iter().all(|blob| blob.transaction == transaction));
    client.drop_statement(&statement);
    client.rollback(transaction);
    batch
}

fn sizes(batch: &Batch) -> Vec<usize> {
    batch.blobs.iter().map(|blob| segments(&blob.data).len()).collect()
}

#[test]
fn blobs_within_the_limit_travel_and_others_do_not() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    fill(&mut client);
    let batch = select(&mut client, 65_535);
    assert_eq!(sizes(&batch), [0, 5, 1000]);
    assert_eq!(batch.rows.len(), 5);
    assert_eq!(batch.rows[0][1], Value::Null);
    let small = &batch.blobs[1];
    assert_eq!(Value::Blob(small.blob), batch.rows[2][1], "the row names it by the same id");
    assert_eq!(segments(&small.data), SMALL);
    let facts: Vec<_> = InfoReader::new(&small.information)
        .map(|item| item.map(|item| (item.item, item.integer().unwrap())).unwrap())
        .collect();
    let wanted = [(blob::NUM_SEGMENTS, 1), (blob::MAX_SEGMENT, 5), (blob::TOTAL_LENGTH, 5), (blob::TYPE, 0)];
    assert_eq!(facts, wanted);
    assert_eq!(sizes(&select(&mut client, 100)), [0, 5]);
}

#[test]
fn size_zero_turns_them_off() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    fill(&mut client);
    assert!(select(&mut client, 0).blobs.is_empty());
}

#[test]
fn the_attachment_may_set_a_lower_limit() {
    let server = TestServer::start();
    let mut owner = server.create("t.fbd");
    fill(&mut owner);
    for (limit, wanted) in [(0_u32, &[][..]), (100, &[0, 5])] {
        let mut client = Client::log_in(server.address, &Login::default()).unwrap();
        client.attach("t.fbd", &[(dpb::MAX_INLINE_BLOB_SIZE, &limit.to_le_bytes())]).unwrap();
        assert_eq!(sizes(&select(&mut client, 65_535)), wanted);
        let information = client.information(Handle::NONE, &[database::MAX_INLINE_BLOB_SIZE]);
        let response = client.ask(Request::DatabaseInformation(information)).unwrap();
        let told = InfoReader::new(&response.data).next().unwrap().unwrap().integer();
        assert_eq!(told, Some(i64::from(limit)));
    }
}

#[test]
fn older_protocols_have_none() {
    let server = TestServer::start();
    let mut owner = server.create("t.fbd");
    fill(&mut owner);
    let login = Login { newest: ProtocolVersion::V18, ..Login::default() };
    let mut client = Client::log_in(server.address, &login).unwrap();
    client.attach("t.fbd", &[]).unwrap();
    assert!(select(&mut client, 65_535).blobs.is_empty());
}

#[test]
fn a_single_row_has_its_blob_too() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    fill(&mut client);
    client.inline_blob_bytes = 65_535;
    let transaction = client.start();
    let statement = client.prepare(transaction, "UPDATE T SET ID = 30 WHERE ID = 3 RETURNING B").unwrap();
    let row = client.execute2(transaction, &statement, &[]).unwrap().unwrap();
    let Value::Blob(id) = row[0] else { panic!("{row:?}") };
    assert_ne!(id, BlobId(0));
    assert_eq!(client.read_blob(transaction, id).unwrap(), SMALL);
}
