//! Scrollable cursors.

use farbird_types::{Value, isc};
use farbird_wire::info::{InfoReader, cursor};
use farbird_wire::packet::{FetchScroll, Request};
use farbird_wire::protocol::{CURSOR_SCROLLABLE, Handle, scroll};

use crate::common::{Client, Prepared, TestServer};

/// A connection to a table of the numbers 1 to 10.
fn ten_numbers(server: &TestServer) -> Client {
    let mut client = server.create("t.fbd");
    client.run("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
    client.run(
        "EXECUTE BLOCK AS DECLARE I INTEGER = 0; BEGIN WHILE (I < 10) DO BEGIN I = I + 1; INSERT INTO T VALUES (:I); END END",
    );
    client
}

/// Opens a scrollable cursor.
fn open(client: &mut Client, transaction: Handle, statement: &Prepared) {
    let mut execute = client.execution(transaction, statement, &[]);
    execute.cursor_flags = CURSOR_SCROLLABLE;
    client.ask(Request::Execute(execute)).unwrap();
}

/// A cursor over the numbers 1 to 10.
fn scrollable(server: &TestServer) -> (Client, Handle, Prepared) {
    let mut client = ten_numbers(server);
    let transaction = client.start();
    let statement = client.prepare(transaction, "SELECT ID FROM T ORDER BY ID").unwrap();
    open(&mut client, transaction, &statement);
    (client, transaction, statement)
}

/// The row that a move leads to.
fn go(client: &mut Client, statement: &Prepared, operation: u16, position: i32) -> Option<i64> {
    go_far(client, statement, operation, position, 1).0.first().copied()
}

/// The numbers that a fetch of up to `count` rows gives, and whether it has come to an end.
fn go_far(
    client: &mut Client,
    statement: &Prepared,
    operation: u16,
    position: i32,
    count: u16,
) -> (Vec<i64>, bool) {
    let fetch = client.fetch_request(statement, count);
    client.send(&[Request::FetchScroll(FetchScroll { fetch, operation, position })]);
    let batch = client.batch().unwrap();
    let number = |row: &Vec<Value>| match row[0] {
        Value::Integer { unscaled, .. } => unscaled,
        ref other => panic!("{other:?}"),
    };
    (batch.rows.iter().map(number).collect(), batch.is_end)
}

/// What a cursor over 1 to `rows` does; `place` is 0 before the first row.
struct Model {
    rows: i64,
    place: i64,
}

impl Model {
    fn go(&mut self, operation: u16, position: i32, count: u16) -> (Vec<i64>, bool) {
        let position = i64::from(position);
        let (target, step, most) = match operation {
            scroll::NEXT => (self.place + 1, 1, count),
            scroll::PRIOR => (self.place - 1, -1, count),
            scroll::FIRST => (1, 0, 1),
            scroll::LAST => (self.rows, 0, 1),
            scroll::ABSOLUTE if position < 0 => (self.rows + 1 + position, 0, 1),
            scroll::ABSOLUTE => (position, 0, 1),
            _ => (self.place + position, 0, 1),
        };
        let mut given = Vec::new();
        self.place = target;
        while given.len() < usize::from(most) {
            self.place = self.place.clamp(0, self.rows + 1);
            if self.place == 0 || self.place == self.rows + 1 {
                return (given, true);
            }
            given.push(self.place);
            if given.len() < usize::from(most) {
                self.place += step;
            }
        }
        (given, false)
    }
}

/// Random moves of every kind and size, with and without time for the server to fetch ahead, tell the rows of a model.
#[test]
fn a_random_walk_is_that_of_a_model() {
    let server = TestServer::start();
    let mut client = ten_numbers(&server);
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    let mut below = |bound: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % bound
    };
    for rows in [0, 1, 2, 10] {
        let transaction = client.start();
        let query = format!("SELECT ID FROM T WHERE ID <= {rows} ORDER BY ID");
        let statement = client.prepare(transaction, &query).unwrap();
        open(&mut client, transaction, &statement);
        let mut model = Model { rows, place: 0 };
        let mut walk = Vec::new();
        for _ in 0..300 {
            let operation = [
                scroll::NEXT,
                scroll::PRIOR,
                scroll::NEXT,
                scroll::PRIOR,
                scroll::FIRST,
                scroll::LAST,
                scroll::ABSOLUTE,
                scroll::RELATIVE,
            ][below(8) as usize];
            let position = below(27) as i32 - 13;
            let count = [1, 1, 2, 3, 20][below(5) as usize];
            if below(2) == 0 {
                client.ask(Request::Ping).unwrap();
            }
            walk.push((operation, position, count));
            let given = go_far(&mut client, &statement, operation, position, count);
            let wanted = model.go(operation, position, count);
            assert_eq!(given, wanted, "{rows} rows, moves (operation, position, count): {walk:?}");
        }
        client.drop_statement(&statement);
        client.commit(transaction);
    }
}

/// The row that WHERE CURRENT OF means is the one that the client was given last, wherever the cursor has scrolled.
#[test]
fn the_current_row_is_the_clients() {
    let server = TestServer::start();
    let mut client = ten_numbers(&server);
    let transaction = client.start();
    let statement = client.prepare(transaction, "SELECT ID FROM T ORDER BY ID FOR UPDATE").unwrap();
    let name = Request::SetCursor { statement: statement.handle, name: b"here\0".to_vec(), kind: 0 };
    client.ask(name).unwrap();
    open(&mut client, transaction, &statement);
    assert_eq!(
        go_far(&mut client, &statement, scroll::NEXT, 0, 5),
        (vec![1], false),
        "FOR UPDATE is row by row"
    );
    assert_eq!(go(&mut client, &statement, scroll::ABSOLUTE, 7), Some(7));
    assert_eq!(go(&mut client, &statement, scroll::PRIOR, 0), Some(6));
    client.run_in(transaction, "DELETE FROM T WHERE CURRENT OF HERE").unwrap();
    client.drop_statement(&statement);
    client.commit(transaction);
    let left = client.query("SELECT ID FROM T ORDER BY ID");
    assert_eq!(left.len(), 9);
    assert!(!left.contains(&vec![Value::integer(6)]), "{left:?}");
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
    assert_eq!(go(&mut client, &statement, scroll::NEXT, 0), Some(1), "to be asked moves no cursor");
}

#[test]
fn a_cursor_that_was_not_opened_for_it_does_not_scroll() {
    let server = TestServer::start();
    let (mut client, transaction, statement) = scrollable(&server);
    client.close_cursor(&statement).unwrap();
    client.execute(transaction, &statement, &[]).unwrap();
    for operation in [scroll::PRIOR, scroll::FIRST, scroll::LAST, scroll::ABSOLUTE, scroll::RELATIVE, 6] {
        let fetch = client.fetch_request(&statement, 1);
        client.send(&[Request::FetchScroll(FetchScroll { fetch, operation, position: 0 })]);
        let error = client.batch().unwrap_err();
        assert!(error.has(isc::INVALID_FETCH_OPTION), "{error}");
    }
    assert_eq!(go_far(&mut client, &statement, scroll::NEXT, 0, 2), (vec![1, 2], false));
    // How many rows it has nobody knows; another item is unknown.
    let mut ask = |items: &[u8]| {
        let information = client.information(statement.handle, items);
        client.ask(Request::CursorInformation(information)).unwrap().data
    };
    assert_eq!(ask(&[cursor::RECORD_COUNT]), [cursor::RECORD_COUNT, 4, 0, 255, 255, 255, 255, 1]);
    let [a, b, c, d] = isc::INFUNK.to_le_bytes();
    assert_eq!(ask(&[cursor::RECORD_COUNT, 77]), [3, 4, 0, a, b, c, d, 1]);
    client.close_cursor(&statement).unwrap();
    let information = client.information(statement.handle, &[cursor::RECORD_COUNT]);
    let error = client.ask(Request::CursorInformation(information)).unwrap_err();
    assert!(error.has(isc::DSQL_CURSOR_ERR), "{error}");
}
