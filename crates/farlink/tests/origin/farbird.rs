//! What a Farbird server tells an origin in its process.

use farbird_client::Value;
use farbird_client::blocking::Connection;
use farbird_farlink::message::{Relation, Tell};
use farbird_server::config::WireEncryption;

use crate::relay::{Farbird, Kind};
use crate::servers::{OwnServer, location, options, run};

/// What the statement reads that was prepared last.
fn reads(farbird: &Farbird) -> Option<Vec<Relation>> {
    let told = farbird.told.lock().unwrap();
    let last = told.iter().rev().find_map(|tell| match tell {
        Tell::Statement { reads, .. } => Some(reads.clone()),
        _ => None,
    });
    last.expect("a statement")
}

fn attached(farbird: &Farbird) -> (u32, u64, bool) {
    let told = farbird.told.lock().unwrap();
    let last = told.iter().rev().find_map(|tell| match tell {
        Tell::Attached { database, commit, strict_transactions, .. } => {
            Some((*database, commit.0, *strict_transactions))
        }
        _ => None,
    });
    last.expect("an attachment")
}

#[test]
fn what_statements_read_is_told() {
    let server = OwnServer::start();
    let (relay, farbird) = server.introduced(Kind::Relaying, None);
    let connection = Connection::create(&location(relay, "a.fdb"), &Default::default(), &options()).unwrap();
    run(
        &connection,
        &[
            "create table t (id int primary key, twice computed by (id * 2))",
            "create table u (id int, at_all timestamp, late computed by (current_timestamp))",
            "create view v as select t.id from t where exists (select 1 from w_base where w_base.id = t.id)"
                .replace("w_base", "u")
                .as_str(),
            "create view now_view as select current_timestamp as n from t",
            "create sequence s",
            "create procedure p returns (id int) as begin id = 1; suspend; end",
            "create function f returns int as begin return 1; end",
        ],
    );
    let transaction = connection.begin(&Default::default()).unwrap();
    let read = |query: &str| {
        connection.prepare(&transaction, query).unwrap_or_else(|error| panic!("{query}: {error}"));
        connection.ping().unwrap();
        reads(&farbird)
    };
    let t = read("select twice from t where id = ?").expect("pure");
    assert_eq!(t.len(), 1);
    let both =
        read("select count(*) from t cross join t x where lower('A') = 'a' and user = current_user").unwrap();
    assert_eq!(both, t);
    for query in [
        "select n from now_view",
        "select late from u",
        "select * from v",
        "select * from p",
        "select f() from t",
        "select gen_id(s, 1) from t",
        "select next value for s from t",
        "select current_date from t",
        "select current_transaction from t",
        "select 1 from t where timestamp '2020-01-01' < 'now'",
        "select id from t for update",
        "select id from t with lock",
        "select rdb$get_context('SYSTEM', 'DB_NAME') from t",
        "select * from rdb$relations",
        "select * from mon$attachments",
        "update t set id = 1",
        "insert into t (id) values (1) returning id",
    ] {
        // (A view over U is not: one of U's columns says the time.)
        assert_eq!(read(query), None, "{query}");
    }
}

#[test]
fn commits_are_told_with_what_they_have_changed() {
    let server = OwnServer::start();
    let (relay, farbird) = server.introduced(Kind::Relaying, None);
    let news = server.farlink.commit_news().subscribe(Box::new(|| {}));
    let place = location(relay, "a.fdb");
    let connection = Connection::create(&place, &Default::default(), &options()).unwrap();
    run(&connection, &["create table t (id int)", "create table u (id int)"]);
    let (database, _, is_strict) = attached(&farbird);
    assert!(!is_strict);
    assert!(news.take()[&database].is_catalog_changed);
    let transaction = connection.begin(&Default::default()).unwrap();
    connection.prepare(&transaction, "select * from t").unwrap();
    connection.ping().unwrap();
    let t = reads(&farbird).unwrap()[0];
    connection.run(&transaction, "insert into t values (1)").unwrap();
    assert_eq!(news.take().len(), 0, "nothing is committed");
    connection.commit(transaction).unwrap();
    let told = news.take().remove(&database).unwrap();
    assert_eq!(told.relations.into_iter().map(Relation).collect::<Vec<_>>(), [t]);
    assert!(!told.is_catalog_changed);
    // Whoever attaches now is at that commit.
    let other = Connection::attach(&place, &options()).unwrap();
    other.ping().unwrap();
    assert_eq!(attached(&farbird), (database, told.commit, false));
    // What only reads is no news; privileges are.
    let transaction = connection.begin(&Default::default()).unwrap();
    connection.query_all(&transaction, "select * from t").unwrap();
    connection.commit(transaction).unwrap();
    assert_eq!(news.take().len(), 0);
    run(&connection, &["grant select on t to public"]);
    assert!(news.take()[&database].is_catalog_changed);
    run(&connection, &["create trigger begins on transaction start as begin end"]);
    let late = Connection::attach(&place, &options()).unwrap();
    late.ping().unwrap();
    assert!(attached(&farbird).2, "transactions do more than begin and end");
}

#[test]
fn a_commit_is_told_before_anybody_sees_it() {
    let server = OwnServer::start();
    let (relay, farbird) = server.introduced(Kind::Relaying, None);
    let place = location(relay, "a.fdb");
    let connection = Connection::create(&place, &Default::default(), &options()).unwrap();
    run(&connection, &["create table t (id int)", "insert into t values (0)"]);
    let news = server.farlink.commit_news().subscribe(Box::new(|| {}));
    let reader = Connection::attach(&place, &options()).unwrap();
    reader.ping().unwrap();
    let (database, before, _) = attached(&farbird);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 1..=200 {
                run(&connection, &[&format!("update t set id = {n}")]);
            }
        });
        let (mut seen, mut newest) = (0, before);
        while seen < 200 {
            let transaction = reader.begin(&Default::default()).unwrap();
            let rows = reader.query_all(&transaction, "select id from t").unwrap();
            reader.commit(transaction).unwrap();
            let Value::Integer { unscaled, .. } = rows[0][0] else { panic!("{rows:?}") };
            seen = u64::try_from(unscaled).unwrap();
            if let Some(told) = news.take().get(&database) {
                newest = told.commit;
            }
            assert!(newest >= before + seen, "commit {seen} is seen, and {} are told", newest - before);
        }
    });
}

#[test]
fn an_introduced_connection_is_the_programs() {
    let server = OwnServer::start_with(|config| config.wire_encryption = WireEncryption::Required);
    let (relay, farbird) = server.introduced(Kind::Relaying, None);
    let place = location(relay, "a.fdb");
    // (The edge of these tests has no keys for the program, which must do without.)
    let connection = Connection::create(&place, &Default::default(), &options()).unwrap();
    let transaction = connection.begin(&Default::default()).unwrap();
    let query = "select mon$remote_address from mon$attachments where mon$attachment_id = current_connection";
    let rows = connection.query_all(&transaction, query).unwrap();
    let Value::Text(address) = &rows[0][0] else { panic!("{rows:?}") };
    assert_eq!(address.bytes(), b"192.0.2.7:4711");
    assert!(
        farbird.told.lock().unwrap().iter().any(|tell| matches!(tell, Tell::Key { key } if key.len() == 20))
    );
    // Whoever comes without an introduction must encrypt.
    let plain = crate::relay::start(server.address, Kind::Relaying, None);
    assert!(Connection::attach(&location(plain, "a.fdb"), &options()).is_err());
}

#[test]
fn a_prepared_login_serves_once() {
    let server = OwnServer::start();
    let (ticket, data) = server.farlink.issue_ticket("sysdba").unwrap();
    assert!(server.farlink.issue_ticket("nobody").is_none());
    let (relay, farbird) = server.introduced(Kind::Relaying, Some(ticket));
    let place = location(relay, "a.fdb");
    let challenges = || {
        let told = farbird.told.lock().unwrap();
        let has = |tell: &Tell| match tell {
            Tell::Reply { packets, .. } => packets.windows(data.len()).any(|part| part == data),
            _ => false,
        };
        told.iter().filter(|tell| has(tell)).count()
    };
    drop(Connection::create(&place, &Default::default(), &options()).unwrap());
    assert_eq!(challenges(), 1, "the login went on with what was prepared");
    drop(Connection::attach(&place, &options()).unwrap());
    assert_eq!(challenges(), 1, "it was used up");
    // A guess uses it up too, and is refused.
    let (ticket, _) = server.farlink.issue_ticket("sysdba").unwrap();
    let (relay, _) = server.introduced(Kind::Relaying, Some(ticket));
    let wrong = farbird_client::ConnectOptions::new("sysdba", "no");
    assert!(Connection::attach(&location(relay, "a.fdb"), &wrong).is_err());
}

/// Descriptions that an edge has kept hold as long as the database's number: it stays while nobody is attached.
#[test]
fn a_database_keeps_its_number_while_nobody_is_attached() {
    let server = OwnServer::start();
    let (relay, farbird) = server.introduced(Kind::Relaying, None);
    let place = location(relay, "a.fdb");
    let connection = Connection::create(&place, &Default::default(), &options()).unwrap();
    run(&connection, &["create table t (id int)"]);
    let (number, ..) = attached(&farbird);
    let again = |connection: Connection| {
        connection.close().unwrap();
        let connection = Connection::attach(&place, &options()).unwrap();
        connection.ping().unwrap();
        (attached(&farbird).0, connection)
    };
    let (second, connection) = again(connection);
    run(&connection, &["insert into t values (1)"]);
    let (third, connection) = again(connection);
    assert_eq!((second, third), (number, number));
    // Somebody else may have been at the file meanwhile.
    connection.close().unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(server.file("a.fdb")).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    drop(file);
    let connection = Connection::attach(&place, &options()).unwrap();
    connection.ping().unwrap();
    assert_ne!(attached(&farbird).0, number);
}
