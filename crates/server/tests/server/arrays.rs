//! Slices of arrays with descriptions that no driver writes, and who may read an array. What drivers do is in the client's tests.

use farbird_engine::budget::Limits;
use farbird_types::{BlobId, Error, Value, isc};
use farbird_wire::message::MessageType;
use farbird_wire::packet::{Reply, Request, Slice};
use farbird_wire::protocol::Handle;
use farbird_wire::slice::{SliceDescription, SliceElements};

use crate::common::{Client, Login, TestServer};

fn fixture(server: &TestServer) -> Client {
    let mut client = server.create("t.fbd");
    client.run("CREATE TABLE T (ID INTEGER, A INTEGER[1:2, 0:3], B BLOB)");
    client
}

fn description(element: MessageType, bounds: &[(i32, i32)]) -> SliceDescription {
    SliceDescription {
        element,
        relation: b"T".to_vec(),
        field: b"A".to_vec(),
        relation_id: None,
        field_id: None,
        bounds: bounds.to_vec(),
    }
}

const LONG: MessageType = MessageType::Long { scale: 0 };

fn request(transaction: Handle, array: BlobId, sdl: Vec<u8>, length: u32, values: &[Value]) -> Slice {
    let elements = match values {
        [] => SliceElements::empty(),
        values => SliceElements::new(LONG, values).unwrap(),
    };
    Slice { transaction, array, length, sdl, parameters: Vec::new(), elements }
}

fn read(client: &mut Client, slice: Slice) -> Result<Vec<Value>, Error> {
    client.send(&[Request::GetSlice(slice)]);
    match client.reply() {
        Reply::Slice(slice) => Ok(slice.elements.values().unwrap()),
        Reply::Response(response) => Err(crate::common::client::check(response).unwrap_err()),
        other => panic!("{other:?}"),
    }
}

/// An array of 0 to 7 in a row; its id as the row has it.
fn stored(client: &mut Client, transaction: Handle) -> BlobId {
    let values: Vec<Value> = (0..8).map(Value::integer).collect();
    let sdl = description(LONG, &[(1, 2), (0, 3)]).to_bytes().unwrap();
    let made = client.ask(Request::PutSlice(request(transaction, BlobId(0), sdl, 32, &values))).unwrap();
    let insert = client.prepare(transaction, "INSERT INTO T (ID, A) VALUES (1, ?)").unwrap();
    client.execute(transaction, &insert, &[Value::Blob(made.blob)]).unwrap();
    let rows = client.query_in(transaction, "SELECT A FROM T", &[]).unwrap();
    let Value::Blob(id) = rows[0][0] else { panic!("{rows:?}") };
    id
}

#[test]
fn copies_of_a_large_array_are_charged_to_who_asks_for_them() {
    let limits = Limits { statement_memory: 1_000_000, ..Limits::default() };
    let server = TestServer::with(|config| config.limits = limits);
    let mut client = server.create("t.fbd");
    client.run("CREATE TABLE T (ID INTEGER, A INTEGER[1:100000])");
    client.run("CREATE TABLE L (ID INTEGER, A VARCHAR(1000)[1:10000])");
    let transaction = client.start();
    let put = |relation: &[u8], element, bounds: &[(i32, i32)], values: &[Value]| {
        let description = SliceDescription { relation: relation.to_vec(), ..description(element, bounds) };
        Request::PutSlice(request(transaction, BlobId(0), description.to_bytes().unwrap(), 0, values))
    };
    // One element set makes all of them.
    let error = client.ask(put(b"L", LONG, &[(1, 1)], &[Value::integer(1)])).unwrap_err();
    assert_eq!(error.gds_code(), isc::VIRMEMEXH);
    let made = client.ask(put(b"T", LONG, &[(1, 1)], &[Value::integer(7)])).unwrap();
    let insert = client.prepare(transaction, "INSERT INTO T (ID, A) VALUES (1, ?)").unwrap();
    client.execute(transaction, &insert, &[Value::Blob(made.blob)]).unwrap();
    let rows = client.query_in(transaction, "SELECT A FROM T", &[]).unwrap();
    let Value::Blob(id) = rows[0][0] else { panic!("{rows:?}") };
    let mut ask = |upper: i32| {
        let sdl = description(LONG, &[(1, upper)]).to_bytes().unwrap();
        read(&mut client, request(transaction, id, sdl, u32::MAX, &[]))
    };
    assert_eq!(ask(100_000).unwrap_err().gds_code(), isc::VIRMEMEXH);
    // What was refused is not held.
    for _ in 0..20 {
        assert_eq!(ask(1_000).unwrap().len(), 1_000);
    }
    let values: Vec<Value> = (0..100_000).map(Value::integer).collect();
    let error = client.ask(put(b"T", LONG, &[(1, 100_000)], &values)).unwrap_err();
    assert_eq!(error.gds_code(), isc::VIRMEMEXH);
    client.commit(transaction);
    assert_eq!(client.value("SELECT A[1] FROM T"), Value::integer(7));
}

#[test]
fn descriptions_that_do_not_fit_are_refused_and_the_connection_goes_on() {
    let server = TestServer::start();
    let mut client = fixture(&server);
    let transaction = client.start();
    let id = stored(&mut client, transaction);
    let mut ask = |element, bounds: &[(i32, i32)], length| {
        let sdl = description(element, bounds).to_bytes().unwrap();
        read(&mut client, request(transaction, id, sdl, length, &[]))
    };
    let whole = &[(1, 2), (0, 3)][..];
    assert_eq!(ask(LONG, whole, 32).unwrap(), (0..8).map(Value::integer).collect::<Vec<_>>());
    assert_eq!(ask(LONG, &[(2, 2), (1, 2)], 8).unwrap(), [Value::integer(5), Value::integer(6)]);
    let varying = MessageType::Varying { length: 11, charset: None };
    let texts = ask(varying, &[(1, 1), (3, 3)], 13).unwrap();
    assert!(matches!(&texts[..], [Value::Text(text)] if text.bytes() == b"3"), "{texts:?}");
    for (element, bounds, length, code) in [
        (LONG, whole, 31, isc::OUT_OF_BOUNDS),
        (LONG, &[(1, 2)][..], 32, isc::INVALID_DIMENSION),
        (LONG, &[(1, 2), (0, 4)], 64, isc::SS_OUT_OF_BOUNDS),
        (LONG, &[(2, 1), (0, 3)], 64, isc::OUT_OF_BOUNDS),
        (LONG, &[(i32::MIN, i32::MAX), (i32::MIN, i32::MAX)], u32::MAX, isc::OUT_OF_BOUNDS),
        (
            MessageType::Text { length: u16::MAX, charset: None },
            &[(1, 2000), (0, 3)],
            u32::MAX,
            isc::OUT_OF_BOUNDS,
        ),
    ] {
        let error = ask(element, bounds, length).unwrap_err();
        assert_eq!(error.gds_code(), code, "{bounds:?} {length}: {error}");
    }
    let sdl = description(LONG, whole).to_bytes().unwrap();
    // Without the type of its elements no side could tell where a slice ends.
    for cut in 5..sdl.len() {
        let slice = request(transaction, id, sdl[..cut].to_vec(), 32, &[]);
        let error = read(&mut client, slice).unwrap_err();
        assert_eq!(error.gds_code(), isc::INVALID_SDL, "{cut}: {error}");
    }
    let values: Vec<Value> = (0..3).map(Value::integer).collect();
    let put = |field: &[u8], bounds: &[(i32, i32)]| {
        let sdl = SliceDescription { field: field.to_vec(), ..description(LONG, bounds) }.to_bytes().unwrap();
        Request::PutSlice(request(transaction, BlobId(0), sdl, 12, &values))
    };
    for (request, code) in [
        (put(b"A", whole), isc::OUT_OF_BOUNDS),
        (put(b"ID", whole), isc::INVALID_DIMENSION),
        (put(b"NOTHING", whole), isc::INVALID_DIMENSION),
    ] {
        assert_eq!(client.ask(request).unwrap_err().gds_code(), code);
    }
    client.commit(transaction);
    assert_eq!(client.value("SELECT A[2, 3] FROM T"), Value::integer(7));
}

#[test]
fn arrays_and_blobs_are_not_taken_for_each_other() {
    let server = TestServer::start();
    let mut client = fixture(&server);
    let transaction = client.start();
    let array = stored(&mut client, transaction);
    let blob = client.write_blob(transaction, b"no array", 100);
    let sdl = description(LONG, &[(1, 2), (0, 3)]).to_bytes().unwrap();
    let error = read(&mut client, request(transaction, blob, sdl, 32, &[])).unwrap_err();
    assert_eq!(error.gds_code(), isc::INVALID_ARRAY_ID, "{error}");
    let update = client.prepare(transaction, "UPDATE T SET A = ?").unwrap();
    let error = client.execute(transaction, &update, &[Value::Blob(blob)]).unwrap_err();
    assert_eq!(error.gds_code(), isc::INVALID_ARRAY_ID, "{error}");
    for (sql, code) in [
        ("SELECT A || 'x' FROM T", isc::CONVERT_ERROR),
        ("SELECT CAST(A AS BLOB) FROM T", isc::CONVERT_ERROR),
        ("SELECT CHAR_LENGTH(A) FROM T", isc::CONVERT_ERROR),
        ("SELECT MAX(A) FROM T", isc::CONVERT_ERROR),
        ("SELECT LIST(A) FROM T", isc::CONVERT_ERROR),
        ("SELECT 1 FROM T WHERE A = A", isc::WISH_LIST),
        ("SELECT 1 FROM T WHERE A IS DISTINCT FROM 1", isc::WISH_LIST),
    ] {
        let error = client.query_in(transaction, sql, &[]).unwrap_err();
        assert_eq!(error.gds_code(), code, "{sql}: {error}");
    }
    // The id 0 is NULL, and another row that takes the array has one of its own.
    client.execute(transaction, &update, &[Value::Blob(array)]).unwrap();
    client.run_in(transaction, "INSERT INTO T (ID, A) SELECT 2, A FROM T").unwrap();
    client.run_in(transaction, "DELETE FROM T WHERE ID = 1").unwrap();
    client.commit(transaction);
    assert_eq!(client.value("SELECT A[2, 3] FROM T"), Value::integer(7));
    let transaction = client.start();
    client.execute(transaction, &update, &[Value::Blob(BlobId(0))]).unwrap();
    client.commit(transaction);
    assert_eq!(client.value("SELECT A FROM T"), Value::Null);
}

#[test]
fn a_guessed_array_is_nobodys_to_read() {
    let server = TestServer::start();
    let mut client = fixture(&server);
    let transaction = client.start();
    let id = stored(&mut client, transaction);
    client.commit(transaction);
    client.run("CREATE USER GUESSER PASSWORD 'guesser'");
    let login = Login { user: "GUESSER".to_owned(), password: "guesser".to_owned(), ..Login::default() };
    let mut other = Client::log_in(server.address, &login).unwrap();
    other.attach("t.fbd", &[]).unwrap();
    let transaction = other.start();
    let sdl = description(LONG, &[(1, 2), (0, 3)]).to_bytes().unwrap();
    let error = read(&mut other, request(transaction, id, sdl.clone(), 32, &[])).unwrap_err();
    assert_eq!(error.gds_code(), isc::BAD_SEGSTR_ID, "{error}");
    // Nor to be copied by way of a slice of it.
    let slice = request(transaction, id, sdl, 32, &(0..8).map(Value::integer).collect::<Vec<_>>());
    assert_eq!(other.ask(Request::PutSlice(slice)).unwrap_err().gds_code(), isc::BAD_SEGSTR_ID);
}
