//! What a server must survive: damaged packets, requests it does not know, clients that do not read.

use std::time::Duration;

use farbird_types::{Value, isc};
use farbird_wire::packet::{Request, Transact};
use farbird_wire::protocol::Handle;

use crate::common::{Client, Login, TestServer};

#[test]
fn a_malformed_packet_closes_its_connection_alone() {
    let server = TestServer::start();
    let mut healthy = server.create("t.fbd");
    let long_blr: [u32; 5] = [64, 0, 0, 3, 0x7FFF_FFFF]; // op_exec_immediate with a text of two gigabytes
    let cut_blr: [u32; 7] = [63, 1, 1, 4, 0x0502_0400, 0, 1]; // op_execute with BLR that ends too early
    let damaged: [&[u8]; 5] = [
        &[0, 0, 0, 250], // no such operation
        &[0xFF; 64],
        &long_blr.map(u32::to_be_bytes).concat(),
        &cut_blr.map(u32::to_be_bytes).concat(),
        b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
    ];
    for bytes in damaged {
        let mut client = server.attach("t.fbd");
        client.send_bytes(bytes);
        assert!(client.is_closed_by_server(), "{bytes:?}");
        assert_eq!(healthy.value("SELECT 1 FROM RDB$DATABASE"), Value::integer(1));
    }
}

#[test]
fn garbage_before_the_login_closes_the_connection() {
    let server = TestServer::start();
    let mut stranger = Client::open(server.address);
    stranger.send_bytes(b"SSH-2.0-OpenSSH_9.6\r\n");
    assert!(stranger.is_closed_by_server());
    let mut hasty = Client::open(server.address);
    hasty.send(&[Request::AllocateStatement(Handle::NONE)]);
    assert!(hasty.is_closed_by_server());
    Client::log_in(server.address, &Login::default()).unwrap();
}

#[test]
fn a_large_packet_before_the_login_is_refused_by_its_length_alone() {
    let server = TestServer::start();
    let mut stranger = Client::open(server.address);
    // op_connect, attach, version, architecture, and a file name of a megabyte, which is never sent.
    let words: [u32; 5] = [1, 19, 3, 1, 1 << 20];
    stranger.send_bytes(&words.map(u32::to_be_bytes).concat());
    assert!(stranger.is_closed_by_server());
}

#[test]
fn operations_that_are_not_built_leave_the_connection_usable() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    let transaction = client.start();
    // blr_version5, blr_begin, blr_end, blr_eoc
    let blr = vec![5, 2, 255, 76];
    let requests = [
        Request::Transact(Transact { database: Handle::NONE, transaction, blr, message: None }),
        Request::Ddl { database: Handle::NONE, transaction, dyn_string: vec![1, 255] },
        Request::UpdateAccountInfo { database: Handle::NONE, account: Vec::new() },
        Request::ReplicationData { database: Handle::NONE, data: Vec::new() },
    ];
    for request in requests {
        let name = format!("{:?}", request.operation());
        let error = client.ask(request).expect_err(&name);
        assert_eq!(error.gds_code(), isc::WISH_LIST, "{name}: {error}");
    }
    let rows = client.query_in(transaction, "SELECT 1 FROM RDB$DATABASE", &[]).unwrap();
    assert_eq!(rows, [[Value::integer(1)]]);
    client.commit(transaction);
}

/// Thousands of requests in one write: the server takes them as it can, and answers each.
#[test]
fn a_flood_of_requests_is_answered_in_order() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    let flood = vec![Request::Ping; 5000];
    client.send(&flood);
    for _ in 0..flood.len() {
        client.response().unwrap();
    }
}

/// A client that does not read holds back its own session and nobody else's.
/// Within a moment of the last answer the same thread goes on; later the connection has come to rest.
#[test]
fn requests_may_come_with_pauses_and_in_pieces() {
    let server = TestServer::start();
    for compress in [false, true] {
        let mut client = Client::log_in(server.address, &Login { compress, ..Login::default() }).unwrap();
        client.create(&format!("pauses-{compress}.fbd"), &[]).unwrap();
        for pause_ms in [0, 1, 15, 20, 25, 60] {
            let pause = Duration::from_millis(pause_ms);
            client.send_in_pieces(&Request::Ping, 3, pause);
            client.response().unwrap();
            std::thread::sleep(pause);
            assert_eq!(client.value("SELECT 1 FROM RDB$DATABASE"), Value::integer(1));
        }
    }
}

/// A commit and the start of the next transaction are asked for together.
#[test]
fn a_reply_that_waits_for_the_next_one_is_not_forgotten() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    client.run("CREATE TABLE T (N INTEGER)");
    let mut transaction = client.start();
    for _ in 0..10 {
        let text = client.text(transaction, Handle::NONE, "INSERT INTO T VALUES (1)");
        let start = Request::StartTransaction { database: Handle::NONE, tpb: vec![3, 9, 2] };
        client.send(&[Request::ExecuteImmediate(text), Request::Commit(transaction), start, Request::Ping]);
        client.response().unwrap();
        client.response().unwrap();
        transaction = client.response().unwrap().object;
        client.response().unwrap();
    }
    assert_eq!(
        client.query_in(transaction, "SELECT COUNT(*) FROM T", &[]).unwrap()[0][0],
        Value::integer(10)
    );
}

#[test]
fn a_client_that_does_not_read_holds_nobody_up() {
    let server = TestServer::start();
    let mut sleepy = server.create("t.fbd");
    let transaction = sleepy.start();
    let sql = "SELECT RPAD('x', 8000, 'abc') FROM RDB$TYPES A, RDB$TYPES B";
    let statement = sleepy.prepare(transaction, sql).unwrap();
    sleepy.execute(transaction, &statement, &[]).unwrap();
    let fetch = sleepy.fetch_request(&statement, 1000);
    // Far more than sockets buffer.
    sleepy.send(&vec![Request::Fetch(fetch); 100]);
    let mut other = server.attach("t.fbd");
    for _ in 0..20 {
        assert_eq!(other.value("SELECT 1 FROM RDB$DATABASE"), Value::integer(1));
    }
    drop(sleepy);
}

#[test]
fn more_connections_than_allowed_are_refused() {
    let server = TestServer::with(|config| config.connections_max = 2);
    let _first = Client::log_in(server.address, &Login::default()).unwrap();
    let _second = Client::log_in(server.address, &Login::default()).unwrap();
    let mut third = Client::open(server.address);
    assert!(third.is_closed_by_server());
}

#[test]
fn who_does_not_log_in_in_time_is_let_go() {
    let server = TestServer::with(|config| config.login_timeout = std::time::Duration::from_millis(50));
    let mut silent = Client::open(server.address);
    assert!(silent.is_closed_by_server());
}

#[test]
fn requests_that_are_refused_leave_no_handle_behind() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    let compile = |message: &[u8]| {
        // blr_version5, blr_begin, a message, blr_end, blr_eoc
        let blr = [&[5, 2], message, &[255, 76]].concat();
        Request::Compile { database: Handle::NONE, blr }
    };
    // 17 texts of 65,535 bytes.
    let long = [&[4, 0, 17, 0], [14, 255, 255].repeat(17).as_slice()].concat();
    let error = client.ask(compile(&long)).expect_err("too long");
    assert!(error.has(isc::BLKTOOBIG), "{error}");
    // Handles are counted upwards.
    let first = client.ask(compile(&[4, 0, 1, 0, 8, 0])).unwrap().object;
    client.ask(compile(&long)).expect_err("too long");
    let second = client.ask(compile(&[4, 0, 1, 0, 8, 0])).unwrap().object;
    assert_eq!(second.0, first.0 + 1);
}
