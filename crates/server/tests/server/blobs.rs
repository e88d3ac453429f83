//! BLOBs by handle: segments, seeking, throwing away, information, lifetime.

use farbird_types::{BlobId, Value, isc};
use farbird_wire::clumplet::{ClumpletWriter, bpb};
use farbird_wire::info::{InfoReader, blob};
use farbird_wire::packet::{OpenBlob, Request, Segment};
use farbird_wire::protocol::{Handle, segment_state};

use crate::common::client::segments;
use crate::common::{Client, TestServer};

fn fixture(server: &TestServer) -> Client {
    let mut client = server.create("t.fbd");
    client.run("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, B BLOB)");
    client
}

/// Bytes in which no two neighbourhoods are alike.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index / 251 + index % 251) as u8).collect()
}

#[test]
fn blobs_of_all_sizes_come_back_as_they_went() {
    let server = TestServer::start();
    let mut client = fixture(&server);
    let contents = [0, 1, 60_000, 70_000, 5_000_000].map(pattern);
    let transaction = client.start();
    let insert = client.prepare(transaction, "INSERT INTO T VALUES (?, ?)").unwrap();
    for (id, content) in (1..).zip(&contents) {
        let blob = Value::Blob(client.write_blob(transaction, content, 65_535));
        client.execute(transaction, &insert, &[Value::integer(id), blob]).unwrap();
    }
    client.commit(transaction);
    drop(client);
    let mut other = server.attach("t.fbd");
    let transaction = other.start();
    let rows = other.query_in(transaction, "SELECT B FROM T ORDER BY ID", &[]).unwrap();
    for (row, content) in rows.iter().zip(&contents) {
        let Value::Blob(id) = row[0] else { panic!("{row:?}") };
        assert!(other.read_blob(transaction, id).unwrap() == *content, "{} bytes", content.len());
    }
}

#[test]
fn segments_are_kept_and_may_be_read_in_parts() {
    let server = TestServer::start();
    let mut client = fixture(&server);
    let transaction = client.start();
    let open = OpenBlob { bpb: Vec::new(), transaction, blob: BlobId(0) };
    let created = client.ask(Request::CreateBlob2(open)).unwrap();
    // Two segments in one packet: three bytes, then two.
    let data = vec![3, 0, b'a', b'b', b'c', 2, 0, b'd', b'e'];
    let batch = Segment { blob: created.object, length: data.len() as u16, data };
    client.ask(Request::BatchSegments(batch)).unwrap();
    client.ask(Request::CloseBlob(created.object)).unwrap();

    let open = OpenBlob { bpb: Vec::new(), transaction, blob: created.blob };
    let blob_handle = client.ask(Request::OpenBlob2(open)).unwrap().object;
    let asked = [blob::NUM_SEGMENTS, blob::MAX_SEGMENT, blob::TOTAL_LENGTH, blob::TYPE];
    let information = client.information(blob_handle, &asked);
    let response = client.ask(Request::BlobInformation(information)).unwrap();
    let facts: Vec<_> =
        InfoReader::new(&response.data).map(|item| item.unwrap().integer().unwrap()).collect();
    assert_eq!(facts, [2, 3, 5, 0]);
    // Room for two bytes of the first segment only.
    let mut read = |length| {
        let segment = Segment { blob: blob_handle, length, data: Vec::new() };
        let response = client.ask(Request::GetSegment(segment)).unwrap();
        (response.object.0, response.data)
    };
    assert_eq!(read(4), (segment_state::INCOMPLETE, vec![2, 0, b'a', b'b']));
    assert_eq!(read(100), (segment_state::END_OF_BLOB, vec![1, 0, b'c', 2, 0, b'd', b'e']));
}

#[test]
fn a_stream_is_sought() {
    let server = TestServer::start();
    let mut client = fixture(&server);
    let transaction = client.start();
    let mut parameters = ClumpletWriter::bpb();
    parameters.bytes(bpb::TYPE, &[bpb::TYPE_STREAM]);
    let open = OpenBlob { bpb: parameters.into_bytes(), transaction, blob: BlobId(0) };
    let created = client.ask(Request::CreateBlob2(open)).unwrap();
    let data = pattern(100_000);
    for piece in data.chunks(30_000) {
        let segment = Segment { blob: created.object, length: piece.len() as u16, data: piece.to_vec() };
        client.ask(Request::PutSegment(segment)).unwrap();
    }
    client.ask(Request::CloseBlob(created.object)).unwrap();
    let open = OpenBlob { bpb: Vec::new(), transaction, blob: created.blob };
    let handle = client.ask(Request::OpenBlob2(open)).unwrap().object;
    for (mode, offset, place) in [(0, 70_000, 70_000), (1, -40_000, 30_010), (2, -10, 99_990)] {
        let response = client.ask(Request::SeekBlob { blob: handle, mode, offset }).unwrap();
        assert_eq!(response.blob, BlobId(place as u64), "mode {mode}");
        let segment = Segment { blob: handle, length: 12, data: Vec::new() };
        let response = client.ask(Request::GetSegment(segment)).unwrap();
        assert_eq!(segments(&response.data), data[place..place + 10], "mode {mode}");
    }
}

#[test]
fn what_is_thrown_away_or_rolled_back_is_gone() {
    let server = TestServer::start();
    let mut client = fixture(&server);
    let transaction = client.start();
    let open = OpenBlob { bpb: Vec::new(), transaction, blob: BlobId(0) };
    let created = client.ask(Request::CreateBlob2(open)).unwrap();
    client.ask(Request::CancelBlob(created.object)).unwrap();
    let error = client.ask(Request::CloseBlob(created.object)).unwrap_err();
    assert_eq!(error.gds_code(), isc::BAD_SEGSTR_HANDLE);
    assert!(client.read_blob(transaction, created.blob).is_err());
    let kept = client.write_blob(transaction, b"kept?", 10);
    client.rollback(transaction);
    let transaction = client.start();
    assert!(client.read_blob(transaction, kept).is_err(), "its transaction was rolled back");
    assert!(client.read_blob(transaction, BlobId(0xFFFF_FFFF_FFFF)).is_err());
    let error = client.read_blob(Handle(99), kept).unwrap_err();
    assert_eq!(error.gds_code(), isc::BAD_TRANS_HANDLE);
}
