//! Roles with the system privileges of tools: what the services and attachments of tools do for users who administer nothing.

use farbird_types::{Error, isc};
use farbird_wire::clumplet::spb::{action, backup, properties, repair};
use farbird_wire::clumplet::{dpb, spb};
use farbird_wire::packet::Request;
use farbird_wire::protocol::Handle;

use crate::common::{Client, Login, TestServer};
use crate::services::{ask_sending, login, manager_in_role, manager_with};
use crate::traces::said_until;

/// Roles by the privileges that they have.
const ROLES: [(&str, &str); 9] = [
    ("BACKS_UP", "USE_GBAK_UTILITY"),
    ("BACKS_UP_AND_READS", "USE_GBAK_UTILITY, SELECT_ANY_OBJECT_IN_DATABASE"),
    ("BACKS_UP_LEVELS", "USE_NBACKUP_UTILITY"),
    ("REPAIRS", "USE_GFIX_UTILITY"),
    ("REPAIRS_QUIETLY", "USE_GFIX_UTILITY, IGNORE_DB_TRIGGERS"),
    ("CHANGES", "USE_GFIX_UTILITY, IGNORE_DB_TRIGGERS, CHANGE_HEADER_SETTINGS"),
    ("SHUTS", "USE_GFIX_UTILITY, IGNORE_DB_TRIGGERS, CHANGE_SHUTDOWN_MODE, ACCESS_SHUTDOWN_DATABASE"),
    ("COUNTS", "USE_GSTAT_UTILITY"),
    ("TRACES", "TRACE_ANY_ATTACHMENT"),
];

fn server_with_roles() -> TestServer {
    let server = TestServer::start();
    let mut owner = server.create("t.fbd");
    owner.run("CREATE USER ANA PASSWORD 'first'");
    owner.run("CREATE TABLE T (A INTEGER)");
    for (role, privileges) in ROLES {
        owner.run(&format!("CREATE ROLE {role} SET SYSTEM PRIVILEGES TO {privileges}"));
        owner.run(&format!("GRANT {role} TO ANA"));
    }
    owner.ask(Request::Detach(Handle::NONE)).unwrap();
    server
}

/// A block about the database, with further items.
fn block(action: u8, further: &[&[u8]]) -> Vec<u8> {
    [&[&[action, spb::DBNAME, 5, 0][..], b"t.fbd"], further].concat().concat()
}

fn file(tag: u8, name: &str) -> Vec<u8> {
    [&[tag][..], &(name.len() as u16).to_le_bytes(), name.as_bytes()].concat()
}

fn options(bits: u8) -> [u8; 5] {
    [spb::OPTIONS, bits, 0, 0, 0]
}

/// Runs a service as ANA in a role, to its end.
fn run(server: &TestServer, role: &str, spb: Vec<u8>) -> Result<(), Error> {
    let mut client = manager_in_role(server, &login("ANA", "first"), role);
    client.ask(Request::ServiceStart { service: Handle::NONE, incarnation: 0, spb })?;
    while ask_sending(&mut client, &[2], &[spb::info::LINE])? != [spb::info::LINE, 0, 0, 1] {}
    Ok(())
}

fn assert_missing(outcome: Result<(), Error>, privilege: &str) {
    let error = outcome.expect_err(privilege);
    assert!(error.has(isc::ADM_TASK_DENIED) && error.has(isc::MISS_PRVLG), "{error}");
    assert!(error.to_string().contains(privilege), "{privilege}: {error}");
}

#[test]
fn roles_with_a_tools_privilege_may_use_it_by_the_services() {
    let server = server_with_roles();
    let back_up = |name| block(action::BACKUP, &[&file(backup::FILE, name)]);
    assert_missing(run(&server, "", back_up("a.fbb")), "USE_GBAK_UTILITY");
    assert_missing(run(&server, "REPAIRS", back_up("a.fbb")), "USE_GBAK_UTILITY");
    // As with gbak, who backs up must be allowed to read.
    let error = run(&server, "BACKS_UP", back_up("a.fbb")).unwrap_err();
    assert!(error.has(isc::NO_PRIV), "{error}");
    run(&server, "BACKS_UP_AND_READS", back_up("a.fbb")).unwrap();
    assert!(server.data().join("a.fbb").exists());
    // gbak -se says its role with its other arguments.
    let words = ["-b", "-role", "BACKS_UP_AND_READS", "t.fbd", "b.fbb"];
    let words: Vec<Vec<u8>> = words.iter().map(|word| [&[0xFF], word.as_bytes(), &[0xFF]].concat()).collect();
    let mut gbak = manager_with(&server, &login("ANA", "first"), &[(spb::COMMAND_LINE, &words.join(&b' '))]);
    let start = Request::ServiceStart { service: Handle::NONE, incarnation: 0, spb: vec![action::BACKUP] };
    gbak.ask(start).unwrap();
    while ask_sending(&mut gbak, &[2], &[spb::info::LINE]).unwrap() != [spb::info::LINE, 0, 0, 1] {}
    assert!(server.data().join("b.fbb").exists());

    let level = |name| block(action::NBAK, &[&file(spb::nbackup::FILE, name)]);
    assert_missing(run(&server, "BACKS_UP", level("a.fbn")), "USE_NBACKUP_UTILITY");
    run(&server, "BACKS_UP_LEVELS", level("a.fbn")).unwrap();
    assert!(run(&server, "BACKS_UP_LEVELS", level("stdout")).unwrap_err().has(isc::NO_PRIV));

    let sweep = || block(action::REPAIR, &[&options(repair::SWEEP_DB)]);
    assert_missing(run(&server, "", sweep()), "USE_GFIX_UTILITY");
    assert_missing(run(&server, "REPAIRS", sweep()), "IGNORE_DB_TRIGGERS");
    run(&server, "REPAIRS_QUIETLY", sweep()).unwrap();

    let interval = [properties::SWEEP_INTERVAL, 7, 0, 0, 0];
    let change = || block(action::PROPERTIES, &[&interval]);
    assert_missing(run(&server, "REPAIRS_QUIETLY", change()), "CHANGE_HEADER_SETTINGS");
    run(&server, "CHANGES", change()).unwrap();

    assert_missing(run(&server, "REPAIRS", block(action::DB_STATS, &[])), "USE_GSTAT_UTILITY");
    run(&server, "COUNTS", block(action::DB_STATS, &[])).unwrap();

    let multi = [properties::SHUTDOWN_MODE, properties::SM_MULTI, properties::FORCE_SHUTDOWN, 0, 0, 0, 0];
    let error = run(&server, "CHANGES", block(action::PROPERTIES, &[&multi])).unwrap_err();
    assert!(error.has(isc::NO_PRIV), "{error}");
    run(&server, "SHUTS", block(action::PROPERTIES, &[&multi])).unwrap();
    let normal = [properties::ONLINE_MODE, properties::SM_NORMAL];
    run(&server, "SHUTS", block(action::PROPERTIES, &[&normal])).unwrap();
}

#[test]
fn attachments_of_tools_take_their_privilege() {
    let server = server_with_roles();
    let attach = |role: &str, items: &[(u8, &[u8])]| {
        let mut client = Client::log_in(server.address, &login("ANA", "first")).unwrap();
        client.attach("t.fbd", &[&[(dpb::SQL_ROLE_NAME, role.as_bytes())], items].concat())
    };
    let gbak: [(u8, &[u8]); 1] = [(dpb::GBAK_ATTACH, b"LI-V5.0.4.1812")];
    assert_missing(attach("REPAIRS", &gbak), "USE_GBAK_UTILITY");
    attach("BACKS_UP", &gbak).unwrap();
    let quiet: [(u8, &[u8]); 1] = [(dpb::NO_DB_TRIGGERS, &[1])];
    assert_missing(attach("REPAIRS", &quiet), "IGNORE_DB_TRIGGERS");
    attach("REPAIRS_QUIETLY", &quiet).unwrap();
    let gfix: [(u8, &[u8]); 1] = [(dpb::GFIX_ATTACH, &[1])];
    assert_missing(attach("REPAIRS", &gfix), "IGNORE_DB_TRIGGERS");
    attach("REPAIRS_QUIETLY", &gfix).unwrap();
}

#[test]
fn a_role_that_traces_sees_all_attachments_of_its_database() {
    use spb::trace;
    let server = server_with_roles();
    let configuration =
        "database\n{\nenabled = true\nlog_connections = true\nlog_statement_start = true\n}\n";
    let begin = |role: &str| {
        let mut client = manager_in_role(&server, &login("ANA", "first"), role);
        let spb = [&[action::TRACE_START][..], &file(trace::CFG, configuration)].concat();
        client.ask(Request::ServiceStart { service: Handle::NONE, incarnation: 0, spb }).unwrap();
        client
    };
    let (mut plain, mut privileged) = (begin(""), begin("TRACES"));
    for client in [&mut plain, &mut privileged] {
        said_until(client, "started");
    }
    let run = |login: &Login, sql: &str| {
        let mut client = Client::log_in(server.address, login).unwrap();
        client.attach("t.fbd", &[]).unwrap();
        client.query(sql);
        client.ask(Request::Detach(Handle::NONE)).unwrap();
    };
    run(&Login::default(), "SELECT 'of another' FROM RDB$DATABASE");
    run(&login("ANA", "first"), "SELECT 'of herself' FROM RDB$DATABASE");
    let seen = said_until(&mut privileged, "of herself");
    assert!(seen.contains("of another"), "{seen}");
    assert!(seen.contains("\tt.fbd (ATT_"), "where a database lies is for administrators: {seen}");
    assert!(!said_until(&mut plain, "of herself").contains("of another"));
}

#[test]
fn who_was_granted_it_may_create_databases_and_replace_none() {
    let server = server_with_roles();
    let ana = login("ANA", "first");
    let create = |name: &str, items: &[(u8, &[u8])]| {
        let mut client = Client::log_in(server.address, &ana).unwrap();
        client.create(name, items).map(|_| client)
    };
    let refused = create("own.fbd", &[]).err().unwrap();
    assert!(refused.has(isc::NO_PRIV), "{refused}");
    let mut of_ana = Client::log_in(server.address, &ana).unwrap();
    of_ana.attach("t.fbd", &[]).unwrap();
    let error = of_ana.try_run("GRANT CREATE DATABASE TO USER ANA").unwrap_err();
    assert!(error.has(isc::NO_PRIV), "{error}");
    let mut administrator = server.attach("t.fbd");
    for unsupported in [
        "GRANT CREATE DATABASE TO ANA",
        "GRANT CREATE DATABASE TO PROCEDURE P",
        // Roles of one database say nothing of others.
        "GRANT CREATE DATABASE TO ROLE BACKS_UP_AND_READS",
        "GRANT CREATE, ALTER DATABASE TO USER ANA",
        "GRANT CREATE DATABASE TO USER ANA WITH GRANT OPTION",
    ] {
        let error = administrator.try_run(unsupported).unwrap_err();
        assert!(error.has(isc::WISH_LIST) || error.has(isc::DYN_PROC_NOT_EXIST), "{unsupported}: {error}");
    }
    administrator.run("GRANT CREATE DATABASE TO USER ANA");
    let creators = "SELECT TRIM(SEC$USER) || SEC$USER_TYPE FROM SEC$DB_CREATORS";
    for client in [&mut administrator, &mut of_ana] {
        match client.value(creators) {
            farbird_types::Value::Text(text) => assert_eq!(text.decode_lossy().trim_end(), "ANA8"),
            other => panic!("{other:?}"),
        }
    }
    let mut made = create("own.fbd", &[]).unwrap();
    made.run("CREATE TABLE T (A INTEGER)");
    made.ask(Request::Detach(Handle::NONE)).unwrap();
    let replaces: [(u8, &[u8]); 1] = [(dpb::OVERWRITE, &[1])];
    let refused = create("t.fbd", &replaces).err().unwrap();
    assert!(refused.has(isc::NO_PRIV), "{refused}");

    let back_up = block(action::BACKUP, &[&file(backup::FILE, "a.fbb")]);
    run(&server, "BACKS_UP_AND_READS", back_up).unwrap();
    let restore = |options: u32| {
        let mut spb = vec![action::RESTORE];
        spb.extend(file(backup::FILE, "a.fbb"));
        spb.extend(file(spb::DBNAME, "restored.fbd"));
        spb.push(spb::OPTIONS);
        spb.extend(options.to_le_bytes());
        spb
    };
    run(&server, "", restore(spb::restore::CREATE)).unwrap();
    let refused = run(&server, "", restore(spb::restore::REPLACE)).unwrap_err();
    assert!(refused.has(isc::NO_PRIV), "{refused}");

    administrator.run("REVOKE CREATE DATABASE FROM USER ANA");
    assert!(create("more.fbd", &[]).err().unwrap().has(isc::NO_PRIV));
}
