//! Attaching, detaching and dropping: what Firebird 5.0.4 answers when something is not as it should be.

use farbird_types::{Error, Result, Value, isc};
use farbird_wire::clumplet::{ClumpletWriter, dpb};
use farbird_wire::packet::{Attach, Reply, Request, Response};
use farbird_wire::protocol::{Handle, free_statement};

use crate::common::{Client, Login, TestServer};

/// Attaches with further items of the DPB; gives the connection and the response.
fn attach_with(server: &TestServer, items: &[(u8, &[u8])]) -> (Client, Response) {
    let mut client = Client::log_in(server.address, &Login::default()).unwrap();
    let mut parameters = ClumpletWriter::dpb();
    for (tag, data) in items {
        parameters.bytes(*tag, data);
    }
    let parameters = parameters.into_bytes();
    client.send(&[Request::Attach(Attach { database: Handle::NONE, file: b"t.fbd".to_vec(), parameters })]);
    match client.reply() {
        Reply::Response(response) => (client, response),
        other => panic!("{other:?}"),
    }
}

fn text(client: &mut Client, sql: &str) -> String {
    match client.value(sql) {
        Value::Text(text) => text.decode_lossy().trim_end().to_owned(),
        other => panic!("{sql}: {other:?}"),
    }
}

fn codes(error: &Error) -> Vec<u32> {
    error.items().iter().map(|item| item.gds_code).collect()
}

fn code(result: Result<Response>) -> u32 {
    result.map_or_else(|error| error.gds_code(), |_| 0)
}

#[test]
fn a_detach_with_open_transactions_is_refused_once() {
    let server = TestServer::start();
    let mut owner = server.create("t.fbd");
    owner.run("CREATE TABLE T (ID INTEGER)");
    let mut client = server.attach("t.fbd");
    let transaction = client.start();
    let _other = client.start();
    client.run_in(transaction, "INSERT INTO T VALUES (1)").unwrap();
    let statement = client.prepare(transaction, "SELECT ID FROM T").unwrap();
    let error = client.ask(Request::Detach(Handle::NONE)).unwrap_err();
    assert_eq!(error, Error::new(isc::OPEN_TRANS).with(2));
    // The attachment is of no use any more, but the line is, and another detach ends it.
    let drop_statement = Request::FreeStatement { statement: statement.handle, option: free_statement::DROP };
    let begin = Request::StartTransaction { database: Handle::NONE, tpb: Vec::new() };
    for request in [
        Request::Commit(transaction),
        Request::Rollback(transaction),
        Request::CommitRetaining(transaction),
        begin.clone(),
        Request::Ping,
        drop_statement,
        Request::DropDatabase(Handle::NONE),
    ] {
        let shown = format!("{request:?}");
        assert_eq!(code(client.ask(request)), isc::ATT_SHUTDOWN, "{shown}");
    }
    client.ask(Request::Detach(Handle::NONE)).unwrap();
    for request in [Request::Detach(Handle::NONE), Request::Ping, begin, Request::DropDatabase(Handle::NONE)]
    {
        let shown = format!("{request:?}");
        assert_eq!(code(client.ask(request)), isc::BAD_DB_HANDLE, "{shown}");
    }
    assert_eq!(owner.value("SELECT COUNT(*) FROM T"), Value::integer(0), "what was open is rolled back");
    owner.run("DROP TABLE T");
}

/// A pool that gives up at the refusal hangs up: that rolls back as well.
#[test]
fn hanging_up_after_a_refused_detach_frees_everything() {
    let server = TestServer::start();
    let mut owner = server.create("t.fbd");
    owner.run("CREATE TABLE T (ID INTEGER)");
    let mut client = server.attach("t.fbd");
    let transaction = client.start();
    client.run_in(transaction, "INSERT INTO T VALUES (1)").unwrap();
    assert_eq!(code(client.ask(Request::Detach(Handle::NONE))), isc::OPEN_TRANS);
    client.send(&[Request::Disconnect]);
    assert!(client.is_closed_by_server());
    // It waits for the table until the other transaction has gone.
    owner.run("DROP TABLE T");
}

#[test]
fn a_database_in_use_is_not_dropped_and_nothing_is_lost() {
    let server = TestServer::start();
    let mut owner = server.create("t.fbd");
    owner.run("CREATE TABLE T (ID INTEGER)");
    let other = server.attach("t.fbd");
    let transaction = owner.start();
    owner.run_in(transaction, "INSERT INTO T VALUES (1)").unwrap();
    let error = owner.ask(Request::DropDatabase(Handle::NONE)).unwrap_err();
    assert_eq!(codes(&error), [isc::LOCK_TIMEOUT, isc::OBJ_IN_USE]);
    owner.commit(transaction);
    assert_eq!(owner.value("SELECT COUNT(*) FROM T"), Value::integer(1));
    drop(other);
    // Its own transactions do not keep it from being dropped; the other's end is noticed a moment later.
    let _open = owner.start();
    while let Err(error) = owner.ask(Request::DropDatabase(Handle::NONE)) {
        assert!(error.has(isc::OBJ_IN_USE), "{error}");
    }
    assert!(!server.data().join("t.fbd").exists());
    assert_eq!(code(owner.ask(Request::Detach(Handle::NONE))), isc::BAD_DB_HANDLE);
}

#[test]
fn a_prepare_that_fails_leaves_its_transaction_open() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    client.run("CREATE TABLE T (ID INTEGER)");
    let transaction = client.start();
    client.run_in(transaction, "INSERT INTO T VALUES (1)").unwrap();
    assert_eq!(code(client.ask(Request::PrepareTransaction(Handle(77)))), isc::BAD_TRANS_HANDLE);
    client.run_in(transaction, "CREATE TABLE U (ID INTEGER)").unwrap();
    assert_eq!(code(client.ask(Request::PrepareTransaction(transaction))), isc::WISH_LIST);
    client.commit(transaction);
    assert_eq!(code(client.ask(Request::Commit(transaction))), isc::BAD_TRANS_HANDLE);
    assert_eq!(client.value("SELECT COUNT(*) FROM T"), Value::integer(1));
}

#[test]
fn what_an_attach_asks_for_and_cannot_have_is_said() {
    let server = TestServer::start();
    let _owner = server.create("t.fbd");
    let refused = |items: &[(u8, &[u8])]| attach_with(&server, items).1.status.error();
    for number in [4, 9] {
        let error = Error::new(isc::INV_CLIENT_DIALECT_SPECIFIED)
            .with(i32::from(number))
            .and(isc::VALID_CLIENT_DIALECTS)
            .with("1, 2 or 3");
        assert_eq!(refused(&[(dpb::SQL_DIALECT, &[number])]), Some(error));
    }
    for number in 0..=3 {
        assert_eq!(refused(&[(dpb::SQL_DIALECT, &[number])]), None);
    }
    for (zone, code) in
        [("Nowhere/Land", isc::INVALID_TIMEZONE_REGION), ("+25:00", isc::INVALID_TIMEZONE_OFFSET)]
    {
        assert_eq!(refused(&[(dpb::SESSION_TIME_ZONE, zone.as_bytes())]), Some(Error::new(code).with(zone)));
    }
    let (mut client, response) = attach_with(&server, &[(dpb::SESSION_TIME_ZONE, b"Europe/Berlin")]);
    assert!(response.status.is_success());
    let zone = text(&mut client, "SELECT RDB$GET_CONTEXT('SYSTEM', 'SESSION_TIMEZONE') FROM RDB$DATABASE");
    assert_eq!(zone, "Europe/Berlin");

    // More parallel workers than there may be are a warning: the attachment is there.
    let most = std::thread::available_parallelism().map_or(1, |most| i32::try_from(most.get()).unwrap());
    for (asked, warned) in [(0, false), (1, false), (most, false), (most + 1, true), (1000, true), (-1, true)]
    {
        let (mut client, response) =
            attach_with(&server, &[(dpb::PARALLEL_WORKERS, &i32::to_le_bytes(asked))]);
        let warning = warned.then(|| Error::new(isc::BAD_PAR_WORKERS).with(asked).with(most));
        assert_eq!((response.status.error(), response.status.warnings()), (None, warning), "{asked}");
        let used = if asked == 0 { 1 } else { asked.unsigned_abs().min(most.unsigned_abs()) };
        let used = if asked < 0 { 1 } else { i64::from(used) };
        let shown =
            "SELECT MON$PARALLEL_WORKERS FROM MON$ATTACHMENTS WHERE MON$ATTACHMENT_ID = CURRENT_CONNECTION";
        assert_eq!(client.value(shown), Value::integer(used), "{asked}");
    }
}

#[test]
fn what_a_new_database_cannot_be_is_said() {
    let server = TestServer::start();
    let create = |items: &[(u8, &[u8])]| {
        let mut client = Client::log_in(server.address, &Login::default()).unwrap();
        client.create("n.fbd", items).map(|()| client)
    };
    let error = create(&[(dpb::SQL_DIALECT, &[2])]).err().expect("no database has dialect 2");
    assert_eq!(
        codes(&error),
        [isc::DATABASE_CREATE_FAILED, isc::INV_DIALECT_SPECIFIED, isc::VALID_DB_DIALECTS]
    );
    let error = create(&[(dpb::SET_DB_CHARSET, b"NOSUCH")]).err().expect("an unknown character set");
    assert_eq!(error, Error::new(isc::CHARSET_NOT_INSTALLED).with("NOSUCH"));
    for (asked, reported) in [(1, 4096), (5_000, 4096), (16_384, 16_384), (99_999, 32_768)] {
        let mut client = create(&[(dpb::PAGE_SIZE, &i32::to_le_bytes(asked))]).unwrap();
        let size = client.value("SELECT MON$PAGE_SIZE FROM MON$DATABASE");
        assert_eq!(size, Value::integer(reported), "{asked}");
        client.ask(Request::DropDatabase(Handle::NONE)).unwrap();
    }
}

#[test]
fn transactions_show_how_they_were_started() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    let shown = "SELECT MON$AUTO_UNDO, MON$AUTO_COMMIT FROM MON$TRANSACTIONS WHERE MON$TRANSACTION_ID = CURRENT_TRANSACTION";
    for (block, undo, commit) in [(&[3, 2][..], 1, 0), (&[3, 2, 20], 0, 0), (&[3, 2, 16], 1, 1)] {
        let transaction = client.start_with(block);
        let row = client.query_in(transaction, shown, &[]).unwrap().swap_remove(0);
        assert_eq!(row, [Value::integer(undo), Value::integer(commit)], "{block:?}");
        client.rollback(transaction);
    }
    let set = client.run_in(Handle::NONE, "SET TRANSACTION NO AUTO UNDO").unwrap().object;
    let row = client.query_in(set, shown, &[]).unwrap().swap_remove(0);
    assert_eq!(row[0], Value::integer(0));
    client.rollback(set);
    let error = client
        .ask(Request::StartTransaction { database: Handle::NONE, tpb: vec![3, 2, 10, 1, b'Q'] })
        .unwrap_err();
    let expected =
        Error::new(isc::BAD_TPB_CONTENT).and(isc::TPB_RESERV_RELNOTFOUND).with("Q").with("isc_tpb_lock_read");
    assert_eq!(error, expected);
}
