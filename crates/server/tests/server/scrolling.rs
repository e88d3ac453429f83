//! Scrollable cursors.

use farbird_types::{Value, isc};
use farbird_wire::info::{InfoReader, cursor};
use farbird_wire::packet::{FetchScroll, Request};
use farbird_wire::protocol::{CURSOR_SCROLLABLE, Handle, scroll};

use crate::common::{Client, Prepared, TestServer};

/// A cursor over the numbers 1 to 10.
fn scrollable(server: &TestServer) -> (Client, Handle, Prepared) {
    let mut client = server.create("t.fbd");
    client.run("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
    client.run(
        "EXECUTE BLOCK AS DECLARE I INTEGER = 0; BEGIN WHILE (I < 10) DO BEGIN I = I + 1; INSERT INTO T VALUES (:I); END END",
    );
    let transaction = client.start();
    let statement = client.prepare(transaction, "SELECT ID FROM T ORDER BY ID").unwrap();
    let mut execute = client.execution(transaction, &statement, &[]);
    execute.cursor_flags = CURSOR_SCROLLABLE;
    client.ask(Request::Execute(execute)).unwrap();
    (client, transaction, statement)
}

/// The row that a move leads to.
fn go(client: &mut Client, statement: &Prepared, operation: u16, position: i32) -> Option<i64> {
    let fetch = client.fetch_request(statement, 1);
    client.send(&[Request::FetchScroll(FetchScroll { fetch, operation, position })]);
    let batch = client.batch().unwrap();
    match batch.rows.first().map(|row| row[0].clone()) {
        Some(Value::Integer { unscaled, .. }) => Some(unscaled),
        None => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_cursor_goes_wherever_it_is_told() {
    let server = TestServer::start();
    let (mut client, _, statement) = scrollable(&server);
    let moves = [
        (scroll::FIRST, 0, Some(1)),
        (scroll::NEXT, 0, Some(2)),
        (scroll::LAST, 0, Some(10)),
        (scroll::NEXT, 0, None),
        (scroll::PRIOR, 0, Some(10)),
        (scroll::ABSOLUTE, 4, Some(4)),
        (scroll::RELATIVE, 3, Some(7)),
        (scroll::RELATIVE, -5, Some(2)),
        (scroll::PRIOR, 0, Some(1)),
        (scroll::PRIOR, 0, None),
        (scroll::NEXT, 0, Some(1)),
        (scroll::ABSOLUTE, -1, Some(10)),
        (scroll::ABSOLUTE, 11, None),
        (scroll::ABSOLUTE, 0, None),
    ];
    for (number, (operation, position, wanted)) in moves.into_iter().enumerate() {
        assert_eq!(go(&mut client, &statement, operation, position), wanted, "move {number}");
    }
}

/// Rows that the server has fetched ahead must not be skipped by a move relative to the client's place.
#[test]
fn moves_count_from_the_clients_place() {
    let server = TestServer::start();
    let (mut client, _, statement) = scrollable(&server);
    let rows = client.fetch(&statement, 3).unwrap().rows;
    assert_eq!(rows.len(), 3);
    client.ask(Request::Ping).unwrap();
    assert_eq!(go(&mut client, &statement, scroll::PRIOR, 0), Some(2));
    assert_eq!(go(&mut client, &statement, scroll::RELATIVE, 2), Some(4));
    assert_eq!(client.fetch(&statement, 3).unwrap().rows[0], [Value::integer(5)]);
}

#[test]
fn a_scrollable_cursor_knows_its_size() {
    let server = TestServer::start();
    let (mut client, _, statement) = scrollable(&server);
    let information = client.information(statement.handle, &[cursor::RECORD_COUNT]);
    let response = client.ask(Request::CursorInformation(information)).unwrap();
    let count = InfoReader::new(&response.data).next().unwrap().unwrap().integer();
    assert_eq!(count, Some(10));
}

#[test]
fn a_cursor_that_was_not_opened_for_it_does_not_scroll() {
    let server = TestServer::start();
    let (mut client, transaction, statement) = scrollable(&server);
    client.close_cursor(&statement).unwrap();
    client.execute(transaction, &statement, &[]).unwrap();
    let fetch = client.fetch_request(&statement, 1);
    client.send(&[Request::FetchScroll(FetchScroll { fetch, operation: scroll::LAST, position: 0 })]);
    let error = client.batch().unwrap_err();
    assert!(error.has(isc::INVALID_FETCH_OPTION), "{error}");
}
