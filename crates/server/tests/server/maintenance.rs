//! What gfix does by attaching, and the services manager by its actions: shutting down, settings, checks, sweeps, statistics.
//!
//! What is expected here Firebird 5.0.4 answered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use farbird_types::{Error, Value, isc};
use farbird_wire::clumplet::dpb;
use farbird_wire::clumplet::spb::{self, action, info, properties};
use farbird_wire::info::{InfoReader, database};
use farbird_wire::packet::Request;
use farbird_wire::protocol::Handle;

use crate::common::{Client, Login, TestServer};
use crate::services::{ask, login, manager, text};

/// isc_dpb_shut_*: modes, and what is waited for.
const MULTI: u8 = 0x20;
const SINGLE: u8 = 0x30;
const FULL: u8 = 0x40;
const FORCE: u8 = 0x08;
const ATTACHMENTS: u8 = 0x02;
const TRANSACTIONS: u8 = 0x04;

/// A server with a database, and a user who is nobody there.
fn server_with_user() -> TestServer {
    let server = TestServer::start();
    let mut owner = server.create("t.fbd");
    owner.run("CREATE USER ANA PASSWORD 'first'");
    owner.run("CREATE TABLE T (A INTEGER PRIMARY KEY, B VARCHAR(10))");
    owner.run("CREATE INDEX T_B ON T (B)");
    owner.run("INSERT INTO T VALUES (1, 'x')");
    owner.run("INSERT INTO T VALUES (2, 'x')");
    server
}

/// Attaches as gfix does.
fn gfix(server: &TestServer, login: &Login, items: &[(u8, &[u8])]) -> Result<Client, Error> {
    let mut client = Client::log_in(server.address, login)?;
    client.attach("t.fbd", &[&[(dpb::GFIX_ATTACH, &[1][..])], items].concat())?;
    Ok(client)
}

fn shut(server: &TestServer, bits: u8, seconds: u8) -> Result<Client, Error> {
    gfix(server, &Login::default(), &[(dpb::SHUTDOWN, &[bits]), (dpb::SHUTDOWN_DELAY, &[seconds])])
}

fn online(server: &TestServer, mode: u8) -> Result<Client, Error> {
    gfix(server, &Login::default(), &[(dpb::ONLINE, &[mode])])
}

fn attach(server: &TestServer, login: &Login) -> Result<Client, Error> {
    let mut client = Client::log_in(server.address, login)?;
    client.attach("t.fbd", &[])?;
    Ok(client)
}

/// Detaches: what comes next does not meet this attachment, as it may after a line that only broke.
fn leave(mut client: Client) {
    client.ask(Request::Detach(Handle::NONE)).unwrap();
}

fn mode(client: &mut Client) -> Value {
    client.value("SELECT CAST(MON$SHUTDOWN_MODE AS INTEGER) FROM MON$DATABASE")
}

/// Begins a transaction.
fn begin(client: &mut Client) -> Result<(), Error> {
    client.ask(Request::StartTransaction { database: Handle::NONE, tpb: Vec::new() }).map(|_| ())
}

fn is(error: Option<Error>, code: u32) -> bool {
    error.is_some_and(|error| error.has(code))
}

/// Starts a service about the database with further items.
fn start(client: &mut Client, action: u8, further: &[u8]) -> Result<(), Error> {
    let block = [&[action, spb::DBNAME, 5, 0][..], b"t.fbd", further].concat();
    client.ask(Request::ServiceStart { service: Handle::NONE, incarnation: 0, spb: block }).map(|_| ())
}

/// Everything that a service says, by lines as fbsvcmgr asks for them.
fn lines(client: &mut Client) -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    loop {
        let line = text(&ask(client, &[info::LINE])?, info::LINE);
        if line.is_empty() {
            return Ok(lines);
        }
        lines.push(line.trim_end().to_owned());
    }
}

fn service(server: &TestServer, action: u8, further: &[u8]) -> Result<Vec<String>, Error> {
    let mut client = manager(server, &Login::default());
    start(&mut client, action, further)?;
    lines(&mut client)
}

#[test]
fn a_shut_down_database_lets_in_whom_its_mode_says_and_ends_the_sessions_of_the_others() {
    let mut server = server_with_user();
    let ana = login("ana", "first");
    let (mut owner, mut other) =
        (attach(&server, &Login::default()).unwrap(), attach(&server, &ana).unwrap());
    owner.start();
    leave(shut(&server, MULTI | FORCE, 0).unwrap());
    for ended in [&mut owner, &mut other] {
        let error = begin(ended).unwrap_err();
        assert!(error.has(isc::ATT_SHUTDOWN) && error.has(isc::ATT_SHUT_DB_DOWN), "{error}");
    }
    assert!(is(attach(&server, &ana).err(), isc::SHUTDOWN));
    let mut owner = attach(&server, &Login::default()).unwrap();
    assert_eq!(mode(&mut owner), Value::integer(1));
    leave(owner);

    // It is so after a restart, too.
    server.shut_down();
    server.start_again();
    assert!(is(attach(&server, &ana).err(), isc::SHUTDOWN));
    assert!(is(shut(&server, MULTI | FORCE, 0).err(), isc::BAD_SHUTDOWN_MODE));

    leave(shut(&server, SINGLE | FORCE, 0).unwrap());
    let mut first = attach(&server, &Login::default()).unwrap();
    assert_eq!(mode(&mut first), Value::integer(2));
    assert!(is(attach(&server, &Login::default()).err(), isc::SHUTDOWN));
    assert!(is(online(&server, MULTI).err(), isc::SHUTDOWN), "the only user is somebody else");
    leave(first);

    leave(shut(&server, FULL | FORCE, 0).unwrap());
    for refused in [
        attach(&server, &Login::default()).err(),
        gfix(&server, &Login::default(), &[(dpb::SWEEP_INTERVAL, &[5])]).err(),
    ] {
        assert!(is(refused, isc::SHUTDOWN));
    }
    for wrong in [shut(&server, MULTI | FORCE, 0), shut(&server, FULL | FORCE, 0), online(&server, FULL)] {
        assert!(is(wrong.err(), isc::BAD_SHUTDOWN_MODE));
    }
    leave(online(&server, SINGLE).unwrap());
    assert!(is(online(&server, SINGLE).err(), isc::BAD_SHUTDOWN_MODE));
    leave(online(&server, 0).unwrap());
    let mut other = attach(&server, &ana).unwrap();
    assert_eq!(mode(&mut other), Value::integer(0));
    assert!(is(online(&server, 0).err(), isc::BAD_SHUTDOWN_MODE));
}

#[test]
fn a_shutdown_that_waits_fails_if_others_stay_and_lets_nobody_begin_meanwhile() {
    let server = server_with_user();
    let mut owner = attach(&server, &Login::default()).unwrap();
    let transaction = owner.start();
    assert!(is(shut(&server, MULTI | ATTACHMENTS, 1).err(), isc::SHUTFAIL));
    assert!(is(shut(&server, MULTI | TRANSACTIONS, 1).err(), isc::SHUTFAIL));
    // It is as before.
    owner.run_in(transaction, "UPDATE T SET B = 'y' WHERE A = 1").unwrap();
    owner.commit(transaction);
    assert_eq!(mode(&mut owner), Value::integer(0));

    let transaction = owner.start();
    let waiting = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| shut(&server, MULTI | TRANSACTIONS, 60).map(|_| ()));
        let begun = Instant::now();
        while !is(attach(&server, &Login::default()).err(), isc::SHUTINPROG) {
            assert!(begun.elapsed() < Duration::from_secs(30), "nobody shuts it down");
        }
        assert!(is(shut(&server, FULL | ATTACHMENTS, 0).err(), isc::SHUTINPROG), "somebody else does it");
        owner.commit(transaction);
        waiting.join().unwrap()
    });
    waiting.unwrap();
    assert!(begin(&mut owner).unwrap_err().has(isc::ATT_SHUTDOWN));
}

/// Asks the services manager for a shutdown that waits for longer than anybody lives with; gives its client when it waits.
fn shut_for_ever(server: &TestServer) -> Client {
    let mut client = manager(server, &Login::default());
    let spb = [
        &[action::PROPERTIES, spb::DBNAME, 5, 0][..],
        b"t.fbd",
        &[properties::SHUTDOWN_MODE, properties::SM_FULL],
        &[properties::ATTACHMENTS_SHUTDOWN, 0xA0, 0x86, 1, 0],
    ]
    .concat();
    client.send(&[Request::ServiceStart { service: Handle::NONE, incarnation: 0, spb }]);
    eventually("nobody shuts it down", || is(attach(server, &Login::default()).err(), isc::SHUTINPROG));
    client
}

fn eventually(otherwise: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{otherwise}");
    }
}

#[test]
fn a_shutdown_that_waits_ends_with_its_client() {
    let server = server_with_user();
    let mut owner = attach(&server, &Login::default()).unwrap();
    drop(shut_for_ever(&server));
    eventually("it goes on without its client", || attach(&server, &Login::default()).is_ok());
    assert_eq!(mode(&mut owner), Value::integer(0));
}

#[test]
fn a_shutdown_that_waits_gives_way_to_one_that_does_not_and_to_online() {
    let server = server_with_user();
    let mut owner = attach(&server, &Login::default()).unwrap();
    let ana = login("ana", "first");
    let mut waiting = shut_for_ever(&server);
    assert!(is(gfix(&server, &ana, &[(dpb::ONLINE, &[0])]).err(), isc::NO_PRIV));
    assert!(is(online(&server, 0).err(), isc::BAD_SHUTDOWN_MODE), "it is online");
    assert!(waiting.response().unwrap_err().has(isc::SHUTFAIL));
    leave(attach(&server, &ana).unwrap());
    assert_eq!(mode(&mut owner), Value::integer(0));

    let mut waiting = shut_for_ever(&server);
    leave(shut(&server, FULL | FORCE, 0).unwrap());
    assert!(waiting.response().unwrap_err().has(isc::SHUTFAIL));
    assert!(begin(&mut owner).unwrap_err().has(isc::ATT_SHUTDOWN));
    assert!(is(attach(&server, &Login::default()).err(), isc::SHUTDOWN));
}

#[test]
fn a_shutdown_does_not_wait_for_longer_than_numbers_go() {
    let server = server_with_user();
    let _owner = attach(&server, &Login::default()).unwrap();
    let way = [(dpb::SHUTDOWN, &[MULTI | ATTACHMENTS][..]), (dpb::SHUTDOWN_DELAY, &i64::MAX.to_le_bytes())];
    assert!(is(gfix(&server, &Login::default(), &way).err(), isc::BAD_DPB_CONTENT));
    assert!(attach(&server, &Login::default()).is_ok());
}

#[test]
fn who_is_refused_is_in_nobodys_way() {
    let server = server_with_user();
    let ana = login("ana", "first");
    leave(shut(&server, MULTI | FORCE, 0).unwrap());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                assert!(attach(&server, &ana).is_err());
            }
        });
        let all = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..20 {
                leave(shut(&server, SINGLE | ATTACHMENTS, 0).unwrap());
                leave(attach(&server, &Login::default()).unwrap());
                leave(online(&server, MULTI).unwrap());
            }
        }));
        is_over.store(true, Ordering::Relaxed);
        all.unwrap();
    });
}

#[test]
fn who_may_not_is_told_so() {
    let server = server_with_user();
    let ana = login("ana", "first");
    let way = [(dpb::SHUTDOWN, &[MULTI | FORCE][..])];
    assert!(is(gfix(&server, &ana, &way).err(), isc::NO_PRIV));
    assert!(is(gfix(&server, &ana, &[(dpb::ONLINE, &[0])]).err(), isc::NO_PRIV));
    for items in [(dpb::SWEEP_INTERVAL, &[5][..]), (dpb::VERIFY, &[1]), (dpb::SWEEP, &[1])] {
        assert!(is(gfix(&server, &ana, &[items]).err(), isc::ADM_TASK_DENIED), "{items:?}");
        // Nor does somebody who says not to be gfix.
        let mut client = Client::log_in(server.address, &ana).unwrap();
        assert!(is(client.attach("t.fbd", &[items]).err(), isc::ADM_TASK_DENIED), "{items:?}");
    }
    for action in [action::PROPERTIES, action::REPAIR, action::DB_STATS, action::VALIDATE] {
        let further: &[u8] = match action {
            action::PROPERTIES => &[properties::SWEEP_INTERVAL, 7, 0, 0, 0],
            action::REPAIR => &[spb::OPTIONS, 1, 0, 0, 0],
            _ => &[],
        };
        let mut client = manager(&server, &ana);
        let error = start(&mut client, action, further).and_then(|()| lines(&mut client)).unwrap_err();
        assert!(error.has(isc::ADM_TASK_DENIED), "{action}: {error}");
        let text = error.to_string();
        assert!(!text.contains(server.data().to_str().unwrap()), "{text}");
    }
}

#[test]
fn settings_change_for_all_and_stay() {
    let mut server = server_with_user();
    let settings = "SELECT MON$SWEEP_INTERVAL, CAST(MON$SQL_DIALECT AS INTEGER), CAST(MON$READ_ONLY AS INTEGER) FROM MON$DATABASE";
    leave(gfix(&server, &Login::default(), &[(dpb::SWEEP_INTERVAL, &[0xD2, 4])]).unwrap());
    service(&server, action::PROPERTIES, &[properties::SET_SQL_DIALECT, 1, 0, 0, 0]).unwrap();
    service(&server, action::PROPERTIES, &[properties::ACCESS_MODE, properties::AM_READONLY]).unwrap();
    server.shut_down();
    server.start_again();
    let mut client = attach(&server, &Login::default()).unwrap();
    assert_eq!(client.query(settings), [[Value::integer(1234), Value::integer(1), Value::integer(1)]]);
    assert!(client.try_run("INSERT INTO T VALUES (3, 'z')").unwrap_err().has(isc::READ_ONLY_DATABASE));
    // Somebody is attached.
    let writable = [properties::ACCESS_MODE, properties::AM_READWRITE];
    assert!(is(service(&server, action::PROPERTIES, &writable).err(), isc::OBJ_IN_USE));
    leave(client);
    service(&server, action::PROPERTIES, &writable).unwrap();
    service(&server, action::PROPERTIES, &[properties::SET_SQL_DIALECT, 3, 0, 0, 0]).unwrap();
    let error = service(&server, action::PROPERTIES, &[properties::SET_SQL_DIALECT, 2, 0, 0, 0]).unwrap_err();
    assert!(error.has(isc::INV_DIALECT_SPECIFIED) && error.has(isc::DIALECT_NOT_CHANGED), "{error}");
    let mut client = attach(&server, &Login::default()).unwrap();
    client.run("INSERT INTO T VALUES (3, 'z')");
    assert_eq!(client.query(settings), [[Value::integer(1234), Value::integer(3), Value::integer(0)]]);
}

#[test]
fn a_sound_database_is_checked_and_swept() {
    let server = server_with_user();
    let items = [(dpb::VERIFY, &[3][..])];
    let mut client = gfix(&server, &Login::default(), &items).unwrap();
    let wanted = [database::PAGE_ERRORS, database::RECORD_ERRORS, database::IPAGE_ERRORS];
    let information = client.information(Handle::NONE, &wanted);
    let answer = client.ask(Request::DatabaseInformation(information)).unwrap().data;
    let counts: Vec<_> = InfoReader::new(&answer).map(|item| item.unwrap().integer()).collect();
    assert_eq!(counts, [Some(0); 3]);
    assert!(is(gfix(&server, &Login::default(), &items).err(), isc::CANT_VALIDATE), "it is not alone");
    leave(client);
    let nothing: [String; 0] = [];
    assert_eq!(service(&server, action::REPAIR, &[spb::OPTIONS, 129, 0, 0, 0]).unwrap(), nothing);
    assert_eq!(service(&server, action::REPAIR, &[spb::OPTIONS, 2, 0, 0, 0]).unwrap(), nothing);
}

#[test]
fn nobody_gets_in_while_a_check_has_the_database_to_itself() {
    let server = server_with_user();
    let owner = attach(&server, &Login::default()).unwrap();
    // Keeps others out while it waits for those who are in, and gives up after a while.
    let is_checked = || match service(&server, action::REPAIR, &[spb::OPTIONS, 1, 0, 0, 0]) {
        Err(error) if error.has(isc::CANT_VALIDATE) => false,
        result => result.map(|_| true).unwrap(),
    };
    std::thread::scope(|scope| {
        let checks = scope.spawn(|| eventually("it is never alone", is_checked));
        eventually("others get in", || match attach(&server, &Login::default()) {
            Ok(client) => {
                leave(client);
                false
            }
            refused => is(refused.err(), isc::SHUTINPROG),
        });
        assert!(!checks.is_finished(), "it did not wait for who was in");
        leave(owner);
        checks.join().unwrap();
    });
}

#[test]
fn figures_come_in_the_form_of_gstat() {
    let server = server_with_user();
    let header = service(&server, action::DB_STATS, &[spb::OPTIONS, 4, 0, 0, 0]).unwrap();
    assert!(header[1].starts_with("Database \"") && header[1].ends_with("t.fbd\""), "{header:?}");
    for wanted in ["\tPage size\t\t8192", "\tDatabase dialect\t3", "\tAttributes\t\tforce write"] {
        assert!(header.iter().any(|line| line == wanted), "{wanted}: {header:?}");
    }
    assert!(!header.iter().any(|line| line.contains("T (")));
    let all = service(&server, action::DB_STATS, &[spb::OPTIONS, 41, 0, 0, 0]).unwrap();
    let is_there = |wanted: &str| all.iter().any(|line| line.contains(wanted));
    for wanted in ["T (", "total records: 2", "Index T_B (1)", "Nodes: 2, total dup: 1"] {
        assert!(is_there(wanted), "{wanted}: {all:?}");
    }
    let one = service(&server, action::DB_STATS, &[64, 1, 0, b'T']).unwrap();
    assert!(one.iter().any(|line| line.starts_with("T (")), "{one:?}");
    assert!(service(&server, action::DB_STATS, &[64, 1, 0, b'U']).unwrap_err().to_string().contains("\"U\""));
    leave(shut(&server, FULL | FORCE, 0).unwrap());
    assert!(is(service(&server, action::DB_STATS, &[]).err(), isc::SHUTDOWN));
}

#[test]
fn tables_are_checked_among_their_users() {
    let server = server_with_user();
    let mut user = attach(&server, &Login::default()).unwrap();
    user.run("CREATE TABLE U (A INTEGER)");
    let transaction = user.start();
    user.run_in(transaction, "UPDATE T SET B = 'y' WHERE A = 1").unwrap();
    let without_times = |lines: Vec<String>| -> Vec<String> {
        lines.iter().map(|line| line.get(12..).unwrap_or_default().to_owned()).collect()
    };
    let found = without_times(service(&server, action::VALIDATE, &[]).unwrap());
    let relation = found.iter().find(|line| line.ends_with("(T)")).unwrap();
    assert_eq!(found[0], "Validation started");
    assert!(found.contains(&format!("{relation} is ok")), "{found:?}");
    assert!(found.contains(&"Index 2 (T_B)".to_owned()) && found.iter().any(|line| line.ends_with("(U)")));
    assert_eq!(found.last().unwrap(), "Validation finished");
    // Only T, without the index T_B.
    let some = without_times(service(&server, action::VALIDATE, b"\x01\x03\0T|V\x04\x03\0%_B").unwrap());
    assert!(some.iter().any(|line| line.ends_with("(T)")) && !some.iter().any(|line| line.ends_with("(U)")));
    assert!(!some.contains(&"Index 2 (T_B)".to_owned()), "{some:?}");
    assert!(service(&server, action::VALIDATE, b"\x01\x02\0((").is_err());
}

#[test]
fn a_database_lingers_as_long_as_it_says_unless_somebody_says_otherwise() {
    let mut server = server_with_user();
    // Attachments are counted from when the database was opened.
    let number = |server: &TestServer| {
        let mut client = attach(server, &Login::default()).unwrap();
        let number = client.value("SELECT CURRENT_CONNECTION FROM RDB$DATABASE");
        leave(client);
        number
    };
    assert_eq!((number(&server), number(&server)), (Value::integer(1), Value::integer(1)));
    let mut client = attach(&server, &Login::default()).unwrap();
    client.run("ALTER DATABASE SET LINGER TO 60");
    leave(client);
    assert_eq!(
        (number(&server), number(&server)),
        (Value::integer(2), Value::integer(3)),
        "it is still open"
    );
    leave(gfix(&server, &Login::default(), &[(dpb::NOLINGER, &[1])]).unwrap());
    assert_eq!((number(&server), number(&server)), (Value::integer(1), Value::integer(2)));
    // Nobody is in the way of what needs the file alone.
    let mut restored = manager(&server, &Login::default());
    let file = [&[spb::backup::FILE, 5, 0][..], b"t.fbb"].concat();
    start(&mut restored, action::BACKUP, &file).unwrap();
    lines(&mut restored).unwrap();
    start(&mut restored, action::RESTORE, &[&file[..], &[spb::OPTIONS, 0, 16, 0, 0]].concat()).unwrap();
    lines(&mut restored).unwrap();
    assert_eq!(number(&server), Value::integer(1));
    server.shut_down();
    server.start_again();
    assert_eq!(number(&server), Value::integer(1));
}
