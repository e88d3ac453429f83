//! What a program does all day is the same through an origin as without one.

use farbird_client::Value;
use farbird_client::blocking::Connection;

use crate::relay::{self, Kind};
use crate::servers::{OwnServer, location, options, run};

/// Contents of the BLOB of a row: small, larger than what travels inline, larger than what is pushed with rows.
fn contents(id: usize) -> Vec<u8> {
    let length = match id % 50 {
        0 => 300_000,
        1 => 90_000,
        2 => 0,
        _ => id % 700,
    };
    (0..length).map(|byte| (byte * 7 + id) as u8).collect()
}

fn fill(connection: &Connection) {
    run(
        connection,
        &[
            "create table item (id int primary key, name varchar(300), picture blob)",
            "create table other (id int)",
        ],
    );
    let transaction = connection.begin(&Default::default()).unwrap();
    let insert = connection.prepare(&transaction, "insert into item values (?, ?, ?)").unwrap();
    for id in 0..400 {
        let blob = connection.write_blob(&transaction, &contents(id)).unwrap();
        let name = "x".repeat(id % 300);
        connection.execute(&transaction, &insert, (id as i32, name, Value::Blob(blob))).unwrap();
    }
    connection.commit(transaction).unwrap();
}

fn check(connection: &Connection) {
    let transaction = connection.begin(&Default::default()).unwrap();
    // All rows and what their BLOBs hold.
    let rows = connection.query_all(&transaction, "select id, name, picture from item order by id").unwrap();
    assert_eq!(rows.len(), 400);
    for (id, row) in rows.iter().enumerate() {
        assert_eq!(row[0], Value::integer(id as i64));
        let Value::Blob(blob) = row[2] else { panic!("{row:?}") };
        assert!(connection.read_blob(&transaction, blob).unwrap() == contents(id), "the BLOB of row {id}");
    }
    // Several cursors at a time, each left half-way.
    let wide = "select a.id, b.name from item a cross join item b";
    let statement = connection.prepare(&transaction, wide).unwrap();
    let other = connection.prepare(&transaction, "select id from item order by id desc").unwrap();
    let mut cursor = connection.query(&transaction, &statement, ()).unwrap();
    let mut second = connection.query(&transaction, &other, ()).unwrap();
    for n in 0..390_i64 {
        assert!(cursor.next().unwrap().is_ok());
        assert_eq!(second.next().unwrap().unwrap().value(0).unwrap(), Value::integer(399 - n));
    }
    drop((cursor, second));
    // The same statement again: its rows from the beginning.
    let mut again = connection.query(&transaction, &other, ()).unwrap();
    assert_eq!(again.next().unwrap().unwrap().value(0).unwrap(), Value::integer(399));
    drop(again);
    // An error behind rows comes behind the rows.
    let divides = connection.prepare(&transaction, "select 100 / (id - 150) from item order by id").unwrap();
    let mut cursor = connection.query(&transaction, &divides, ()).unwrap();
    let mut before = 0;
    let error = loop {
        match cursor.next() {
            Some(Ok(_)) => before += 1,
            None => panic!("no error"),
            Some(Err(error)) => break error,
        }
    };
    assert_eq!(before, 150);
    assert_eq!(error.sql_state(), "22012");
    drop(cursor);
    connection.rollback(transaction).unwrap();
    // A commit in the midst of rows.
    let transaction = connection.begin(&Default::default()).unwrap();
    let statement = connection.prepare(&transaction, wide).unwrap();
    let mut cursor = connection.query(&transaction, &statement, ()).unwrap();
    assert!(cursor.next().unwrap().is_ok());
    drop(cursor);
    connection.commit(transaction).unwrap();
    let transaction = connection.begin(&Default::default()).unwrap();
    let error = connection.run(&transaction, "insert into item values (1, 'again', null)").unwrap_err();
    assert_eq!(error.sql_state(), "23000");
    assert_eq!(
        connection.query_all(&transaction, "select count(*) from other").unwrap()[0][0],
        Value::integer(0)
    );
    connection.commit(transaction).unwrap();
}

#[test]
fn through_an_origin_everything_is_as_without() {
    let server = OwnServer::start();
    for (number, kind) in [Kind::Relaying, Kind::Pushing].into_iter().enumerate() {
        let relay = relay::start(server.address, kind, None);
        let place = location(relay, &format!("day{number}.fdb"));
        let connection = Connection::create(&place, &Default::default(), &options()).unwrap();
        fill(&connection);
        check(&connection);
        connection.close().unwrap();
        // And for one who comes later.
        check(&Connection::attach(&place, &options()).unwrap());
    }
}

#[test]
fn through_an_origin_the_wrong_password_is_refused() {
    let server = OwnServer::start();
    let relay = relay::start(server.address, Kind::Relaying, None);
    let wrong = farbird_client::ConnectOptions::new("sysdba", "no");
    let error = Connection::create(&location(relay, "x.fdb"), &Default::default(), &wrong).unwrap_err();
    assert_eq!(error.sql_state(), "28000");
}
