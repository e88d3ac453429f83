//! Mappings: as whom somebody works who has logged in. What is expected is what Firebird 5.0.4 answered.

use farbird_types::{Error, Value, isc};
use farbird_wire::auth::AuthPlugin;
use farbird_wire::clumplet::{dpb, spb};
use farbird_wire::packet::Request;
use farbird_wire::protocol::Handle;

use super::services::manager;
use crate::common::{Client, Login, TestServer};

const WHO: &str = "SELECT TRIM(CURRENT_USER) || ' ' || TRIM(CURRENT_ROLE) || ' ' || TRIM(MON$AUTH_METHOD)
    FROM MON$ATTACHMENTS WHERE MON$ATTACHMENT_ID = CURRENT_CONNECTION";

fn bob() -> Login {
    Login { user: "bob".to_owned(), password: "secret".to_owned(), ..Login::default() }
}

/// The name of the plugin that logins of tests go by.
fn plugin() -> &'static str {
    Login::default().plugin.name()
}

/// A server with the user BOB and a database.
fn world() -> (TestServer, Client) {
    let server = TestServer::start();
    let mut owner = server.create("t.fbd");
    owner.run("CREATE USER bob PASSWORD 'secret'");
    owner.run("CREATE ROLE r1");
    owner.run("CREATE ROLE r2");
    owner.run("GRANT r2 TO bob");
    owner.run("CREATE TABLE t (a INTEGER)");
    owner.run("GRANT SELECT ON t TO ROLE r1");
    (server, owner)
}

/// BOB's attachment.
fn attach(server: &TestServer, role: Option<&str>) -> Result<Client, Error> {
    let mut client = Client::log_in(server.address, &bob())?;
    let role = role.map(|role| (dpb::SQL_ROLE_NAME, role.as_bytes()));
    client.attach("t.fbd", &role.into_iter().collect::<Vec<_>>())?;
    Ok(client)
}

/// Who BOB is: user, role and how he has logged in.
#[track_caller]
fn check(server: &TestServer, role: Option<&str>, expected: &str) {
    let mut client = attach(server, role).unwrap();
    let expected = expected.replace("Srp", plugin());
    assert_eq!(client.value(WHO), Value::text(&expected));
}

#[test]
fn a_login_works_as_whom_the_mappings_say() {
    let (server, mut owner) = world();
    check(&server, None, "BOB NONE Srp");
    owner.run(&format!("CREATE MAPPING a USING PLUGIN {} FROM USER bob TO USER ann", plugin()));
    check(&server, None, "ANN NONE Mapped from Srp");
    owner.run("ALTER MAPPING a USING ANY PLUGIN FROM ANY USER TO USER");
    check(&server, None, "BOB NONE Mapped from Srp");
    owner.run("ALTER MAPPING a USING PLUGIN other FROM USER bob TO USER ann");
    check(&server, None, "BOB NONE Srp");
    owner.run("CREATE OR ALTER MAPPING a USING * FROM USER bob TO USER \"low er\"");
    check(&server, None, "low er NONE Mapped from Srp");
    owner.run("DROP MAPPING a");
    check(&server, None, "BOB NONE Srp");
}

#[test]
fn a_role_of_a_mapping_is_trusted() {
    let (server, mut owner) = world();
    owner.run("CREATE MAPPING a USING ANY PLUGIN FROM USER bob TO ROLE r1");
    check(&server, None, "BOB R1 Srp");
    check(&server, Some("NOWHERE"), "BOB R1 Srp");
    check(&server, Some("R2"), "BOB R2 Srp");
    let mut client = attach(&server, None).unwrap();
    assert_eq!(client.value("SELECT COUNT(*) FROM t"), Value::integer(0));
    client.run("SET ROLE r2");
    assert_eq!(client.try_run("SELECT COUNT(*) FROM t").unwrap_err().gds_code(), isc::NO_PRIV);
    assert_eq!(client.try_run("SET ROLE r1").unwrap_err().gds_code(), isc::SET_INVALID_ROLE);
    client.run("SET TRUSTED ROLE");
    assert_eq!(client.value("SELECT COUNT(*) FROM t"), Value::integer(0));
    // RDB$ADMIN administers the database, as the role of who is its owner's equal, but nothing of the server.
    owner.run("ALTER MAPPING a USING ANY PLUGIN FROM USER bob TO ROLE RDB$ADMIN");
    let mut client = attach(&server, None).unwrap();
    client.run("CREATE TABLE made_by_bob (a INTEGER)");
    client.try_run("CREATE USER eve PASSWORD 'x'").unwrap_err();
}

#[test]
fn contradictions_refuse_the_login_and_leave_the_database_usable() {
    let (server, mut owner) = world();
    owner.run("CREATE MAPPING a USING ANY PLUGIN FROM ANY USER TO USER ann");
    owner.run("CREATE MAPPING b USING ANY PLUGIN FROM USER bob TO USER joe");
    let another = server.create("other.fbd");
    drop(owner);
    let refused = |server| attach(server, None).err().map(|error| error.gds_code());
    assert_eq!(refused(&server), Some(isc::MAP_MULTI));
    assert_eq!(refused(&server), Some(isc::MAP_MULTI));
    drop(another);
    // SYSDBA is ANN by the first of them, who may not drop it: the database needs its owner.
    let mut client = Client::log_in(server.address, &Login::default()).unwrap();
    client.attach("t.fbd", &[]).unwrap();
    assert_eq!(client.value("SELECT TRIM(CURRENT_USER) FROM RDB$DATABASE"), Value::text("ANN"));
}

#[test]
fn global_mappings_hold_everywhere_and_those_of_the_database_go_before_them() {
    let (server, mut owner) = world();
    owner.run("CREATE GLOBAL MAPPING a USING ANY PLUGIN FROM USER bob TO USER ann");
    check(&server, None, "ANN NONE Mapped from Srp");
    owner.run("CREATE MAPPING b USING ANY PLUGIN FROM USER bob TO ROLE r1");
    check(&server, None, "ANN R1 Mapped from Srp");
    owner.run("ALTER MAPPING b USING ANY PLUGIN FROM USER bob TO USER joe");
    check(&server, None, "JOE NONE Mapped from Srp");
    owner.run(&format!(
        "ALTER GLOBAL MAPPING a USING PLUGIN {} IN \"security.db\" FROM USER bob TO USER ann",
        plugin()
    ));
    check(&server, None, "ANN NONE Mapped from Srp");
    owner.run("COMMENT ON GLOBAL MAPPING a IS 'a comment'");
    let seen = "SELECT TRIM(SEC$MAP_NAME) || TRIM(SEC$MAP_DB) || CAST(SEC$DESCRIPTION AS VARCHAR(20))
        FROM SEC$GLOBAL_AUTH_MAPPING";
    assert_eq!(owner.value(seen), Value::text("Asecurity.dba comment"));
    owner.run("DROP GLOBAL MAPPING a");
    assert_eq!(owner.query(seen), Vec::<Vec<Value>>::new());
    check(&server, None, "JOE NONE Mapped from Srp");
}

#[test]
fn a_global_mapping_belongs_to_its_transaction() {
    let (server, mut owner) = world();
    let transaction = owner.start();
    owner.run_in(transaction, "CREATE GLOBAL MAPPING a USING ANY PLUGIN FROM USER bob TO USER ann").unwrap();
    let again = owner.run_in(transaction, "CREATE GLOBAL MAPPING a USING ANY PLUGIN FROM USER bob TO USER x");
    let codes: Vec<u32> = again.unwrap_err().items().iter().map(|item| item.gds_code).collect();
    let expected =
        [isc::NO_META_UPDATE, isc::DSQL_MAPPING_FAILED, isc::DSQL_MAPPING_FAILED, isc::MAP_ALREADY_EXISTS];
    assert_eq!(codes, expected);
    check(&server, None, "BOB NONE Srp");
    owner.rollback(transaction);
    check(&server, None, "BOB NONE Srp");
    let error = owner.try_run("DROP GLOBAL MAPPING a").unwrap_err();
    assert!(error.has(isc::MAP_NOT_EXISTS), "{error}");
    let transaction = owner.start();
    owner.run_in(transaction, "CREATE GLOBAL MAPPING a USING ANY PLUGIN FROM USER bob TO USER ann").unwrap();
    owner.commit(transaction);
    check(&server, None, "ANN NONE Mapped from Srp");
}

/// Whoever has a database can map in it whomever they like to SYSDBA: that makes them nobody to the server.
#[test]
fn mappings_of_a_database_give_no_rights_in_the_server() {
    let (server, mut owner) = world();
    owner.run("CREATE USER ann PASSWORD 'hers'");
    owner.run("CREATE MAPPING a USING ANY PLUGIN FROM USER bob TO USER sysdba");
    let mut client = attach(&server, None).unwrap();
    client.run("CREATE TABLE made_by_bob (a INTEGER)");
    client.try_run("CREATE USER eve PASSWORD 'x'").unwrap_err();
    client.try_run("ALTER USER ann SET PASSWORD 'x'").unwrap_err();
    client.try_run("ALTER USER sysdba SET PASSWORD 'x'").unwrap_err();
    let error =
        client.try_run("CREATE GLOBAL MAPPING g USING ANY PLUGIN FROM USER bob TO USER sysdba").unwrap_err();
    assert!(error.has(isc::ADM_TASK_DENIED), "{error}");
    assert_eq!(client.value("SELECT TRIM(MAX(SEC$USER_NAME)) FROM SEC$USERS"), Value::text("BOB"));
    // His own password stays his own to change.
    client.run("ALTER CURRENT USER SET FIRSTNAME 'Bob'");
    assert_eq!(
        owner.value("SELECT TRIM(SEC$FIRST_NAME) FROM SEC$USERS WHERE SEC$USER_NAME = 'BOB'"),
        Value::text("Bob")
    );
    // Global ones are the server's own.
    owner.run("CREATE GLOBAL MAPPING g USING ANY PLUGIN FROM USER bob TO ROLE RDB$ADMIN");
    attach(&server, None).unwrap().run("CREATE USER eve PASSWORD 'x'");
}

#[test]
fn defining_them_takes_a_privilege() {
    let (server, mut owner) = world();
    let mut client = attach(&server, None).unwrap();
    for sql in [
        "CREATE MAPPING m USING ANY PLUGIN FROM USER x TO USER y",
        "CREATE GLOBAL MAPPING m USING ANY PLUGIN FROM USER x TO USER y",
        "ALTER ROLE RDB$ADMIN SET AUTO ADMIN MAPPING",
        "DROP MAPPING nowhere",
        "COMMENT ON MAPPING nowhere IS 'x'",
    ] {
        let error = client.try_run(sql).unwrap_err();
        let codes: Vec<u32> = error.items().iter().map(|item| item.gds_code).collect();
        let expected = [isc::NO_META_UPDATE, isc::DSQL_MAPPING_FAILED, isc::ADM_TASK_DENIED, isc::MISS_PRVLG];
        assert_eq!(codes, expected, "{sql}");
    }
    owner.run("CREATE ROLE mapper SET SYSTEM PRIVILEGES TO CHANGE_MAPPING_RULES");
    owner.run("GRANT DEFAULT mapper TO bob");
    let mut client = attach(&server, None).unwrap();
    client.run("CREATE MAPPING m USING ANY PLUGIN FROM USER x TO USER y");
    client.run("COMMENT ON MAPPING m IS 'x'");
    client.try_run("CREATE GLOBAL MAPPING m USING ANY PLUGIN FROM USER x TO USER y").unwrap_err();
}

#[test]
fn the_manager_maps_administrators_of_windows() {
    let (server, mut owner) = world();
    let seen = "SELECT COUNT(*) FROM SEC$GLOBAL_AUTH_MAPPING
        WHERE SEC$MAP_PLUGIN = 'Win_Sspi' AND SEC$MAP_TO = 'RDB$ADMIN' AND SEC$MAP_TO_TYPE = 1";
    let act = |client: &mut Client, action: u8| {
        let spb = vec![action];
        client.ask(Request::ServiceStart { service: Handle::NONE, incarnation: 0, spb }).map(|_| ())
    };
    let error = act(&mut manager(&server, &bob()), spb::action::SET_MAPPING).unwrap_err();
    assert_eq!(error.gds_code(), isc::ADM_TASK_DENIED);
    let mut client = manager(&server, &Login::default());
    act(&mut client, spb::action::SET_MAPPING).unwrap();
    assert_eq!(owner.value(seen), Value::integer(1));
    act(&mut client, spb::action::DROP_MAPPING).unwrap();
    assert_eq!(owner.value(seen), Value::integer(0));
    let error = act(&mut client, spb::action::DROP_MAPPING).unwrap_err();
    assert!(error.has(isc::MAP_NOT_EXISTS), "{error}");
}

#[test]
fn legacy_logins_are_mapped_too() {
    let server = TestServer::with(|config| config.authentication = AuthPlugin::ALL.to_vec());
    let mut owner = server.create("t.fbd");
    owner.run("CREATE USER bob PASSWORD 'secret'");
    owner.run("CREATE MAPPING a USING PLUGIN Legacy_Auth FROM USER bob TO USER ann");
    let mut client = Client::log_in(server.address, &Login { plugin: AuthPlugin::Legacy, ..bob() }).unwrap();
    client.attach("t.fbd", &[]).unwrap();
    assert_eq!(client.value(WHO), Value::text("ANN NONE Mapped from Legacy_Auth"));
}
