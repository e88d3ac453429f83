//! Two-phase commit over the wire: prepared transactions, those that are taken over, and what tools ask of them.

use farbird_types::{Error, Value, isc};
use farbird_wire::clumplet::{dpb, spb};
use farbird_wire::info::{InfoReader, database};
use farbird_wire::packet::Request;
use farbird_wire::protocol::Handle;

use crate::common::{Client, Login, TestServer};
use crate::services::{ask_repair, limbo_of_service, said_by_backup};

/// Prepares a transaction that has inserted a row.
fn prepare(client: &mut Client, row: i32, note: &[u8]) -> Handle {
    let transaction = client.start();
    client.run_in(transaction, &format!("INSERT INTO T VALUES ({row})")).unwrap();
    let message = note.to_vec();
    client.ask(Request::PrepareTransaction2 { transaction, message }).unwrap();
    transaction
}

/// isc_info_limbo.
fn limbo(client: &mut Client) -> Vec<i64> {
    let information = client.information(Handle::NONE, &[database::LIMBO]);
    let answer = client.ask(Request::DatabaseInformation(information)).unwrap().data;
    InfoReader::new(&answer).filter_map(|item| item.unwrap().integer()).collect()
}

fn reconnect(client: &mut Client, id: i64) -> Result<Handle, Error> {
    let transaction_id = id.to_le_bytes().to_vec();
    client.ask(Request::Reconnect { database: Handle::NONE, transaction_id }).map(|response| response.object)
}

fn code<T>(outcome: Result<T, Error>) -> u32 {
    outcome.err().expect("must fail").gds_code()
}

fn count(client: &mut Client) -> Value {
    client.value("SELECT COUNT(*) FROM T")
}

#[test]
fn a_prepared_transaction_only_waits_for_its_end() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    client.run("CREATE TABLE T (ID INTEGER)");
    for commits in [true, false] {
        let transaction = prepare(&mut client, 1, b"");
        assert_eq!(code(client.run_in(transaction, "INSERT INTO T VALUES (2)")), isc::REQ_NO_TRANS);
        client.ask(Request::PrepareTransaction(transaction)).expect("once more does nothing");
        assert_eq!(limbo(&mut client).len(), 1);
        match commits {
            true => client.commit(transaction),
            false => client.rollback(transaction),
        }
        assert_eq!(code(client.ask(Request::Commit(transaction))), isc::BAD_TRANS_HANDLE);
        assert_eq!((limbo(&mut client), count(&mut client)), (vec![], Value::integer(1)));
    }
}

#[test]
fn what_a_lost_session_has_prepared_is_in_limbo_until_another_one_ends_it() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    client.run("CREATE TABLE T (ID INTEGER)");
    for commits in [true, false] {
        let mut lost = server.attach("t.fbd");
        prepare(&mut lost, 1, b"\x01a note");
        // A prepared transaction does not keep its session from ending.
        lost.ask(Request::Detach(Handle::NONE)).unwrap();
        let [id] = limbo(&mut client)[..] else { panic!("one") };
        let transaction = client.start();
        assert_eq!(code(client.query_in(transaction, "SELECT COUNT(*) FROM T", &[])), isc::REC_IN_LIMBO);
        client.rollback(transaction);
        let kept = "SELECT RDB$TRANSACTION_ID, RDB$TRANSACTION_STATE, OCTET_LENGTH(RDB$TRANSACTION_DESCRIPTION) FROM RDB$TRANSACTIONS";
        assert_eq!(client.query(kept), [[Value::integer(id), Value::integer(1), Value::integer(7)]]);
        let transaction = reconnect(&mut client, id).unwrap();
        match commits {
            true => client.commit(transaction),
            false => client.rollback(transaction),
        }
        assert_eq!((limbo(&mut client), count(&mut client)), (vec![], Value::integer(1)));
        assert_eq!(code(reconnect(&mut client, id)), isc::NO_RECON);
    }
    assert_eq!(code(reconnect(&mut client, 1 << 40)), isc::NO_RECON);
    // IGNORE LIMBO takes it for a running one.
    let mut lost = server.attach("t.fbd");
    prepare(&mut lost, 1, b"");
    lost.ask(Request::Detach(Handle::NONE)).unwrap();
    let ignoring = client.start_with(&[3, 2, 7, 14]);
    assert_eq!(client.query_in(ignoring, "SELECT COUNT(*) FROM T", &[]).unwrap(), [[Value::integer(1)]]);
    client.rollback(ignoring);
}

#[test]
fn the_services_list_what_is_in_limbo_and_end_it() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    client.run("CREATE TABLE T (ID INTEGER)");
    for (tag, rows) in [(spb::repair::COMMIT_TRANS, 1), (spb::repair::ROLLBACK_TRANS, 1)] {
        let mut lost = server.attach("t.fbd");
        prepare(&mut lost, 1, b"");
        lost.ask(Request::Detach(Handle::NONE)).unwrap();
        let id = limbo(&mut client)[0];
        // Clients read the list as such, or as all that the service says.
        for item in [spb::info::LIMBO_TRANS, spb::info::TO_EOF] {
            let listed = limbo_of_service(&server, "t.fbd", item).unwrap();
            assert_eq!(listed, [&[19], &(id as u32).to_le_bytes()[..]].concat());
        }
        // A backup names what it is without.
        let said = said_by_backup(&server, "t.fbd", "t.fbb");
        assert_eq!(said, [format!("transactions in limbo are not in the backup: {id} ")]);
        ask_repair(&server, "t.fbd", tag, id as u32).unwrap();
        assert_eq!(code(ask_repair(&server, "t.fbd", tag, id as u32)), isc::NO_RECON);
        assert!(limbo_of_service(&server, "t.fbd", spb::info::LIMBO_TRANS).unwrap().is_empty());
        assert_eq!(count(&mut client), Value::integer(rows));
    }
}

#[test]
fn what_cannot_be_part_of_two_phases_is_refused_and_goes_on() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    client.run("CREATE TABLE T (ID INTEGER)");
    client.run("CREATE GLOBAL TEMPORARY TABLE G (ID INTEGER) ON COMMIT PRESERVE ROWS");
    for statement in ["CREATE TABLE U (ID INTEGER)", "INSERT INTO G VALUES (1)"] {
        let transaction = client.start();
        client.run_in(transaction, statement).unwrap();
        client.run_in(transaction, "SAVEPOINT S").unwrap();
        assert_eq!(code(client.ask(Request::PrepareTransaction(transaction))), isc::WISH_LIST, "{statement}");
        client.run_in(transaction, "ROLLBACK TO SAVEPOINT S").expect("nothing of it is lost");
        client.commit(transaction);
    }
    assert_eq!(client.value("SELECT COUNT(*) FROM G"), Value::integer(1));
    assert_eq!(client.value("SELECT COUNT(*) FROM U"), Value::integer(0));
}

#[test]
fn descriptions_have_a_limit_and_numbers_are_told_as_they_are() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    let transaction = client.start();
    let too_long = Request::PrepareTransaction2 { transaction, message: vec![1; (32 << 10) + 1] };
    assert_eq!(code(client.ask(too_long)), isc::IMP_EXC);
    client.commit(transaction);
    let error = reconnect(&mut client, 1 << 40).unwrap_err();
    assert!(format!("{error:?}").contains("1099511627776"), "{error:?}");
    let nothing = Request::Reconnect { database: Handle::NONE, transaction_id: Vec::new() };
    let error = client.ask(nothing).unwrap_err();
    assert!(error.has(isc::NO_RECON) && !error.has(isc::TRA_STATE), "{error:?}");
}

#[test]
fn gfix_is_for_administrators_and_owners() {
    let server = TestServer::start();
    let mut owner = server.create("t.fbd");
    owner.run("CREATE USER EVE PASSWORD 'eve'");
    server.attach("t.fbd");
    for (user, password, expected) in [("eve", "eve", isc::ADM_TASK_DENIED), ("SYSDBA", "masterkey", 0)] {
        let login = Login { user: user.to_owned(), password: password.to_owned(), ..Login::default() };
        let mut client = Client::log_in(server.address, &login).unwrap();
        let attached = client.attach("t.fbd", &[(dpb::GFIX_ATTACH, &[1])]);
        assert_eq!(attached.map_or_else(|error| error.gds_code(), |()| 0), expected, "{user}");
    }
}
