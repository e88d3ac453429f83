//! The services manager: information and users.

use farbird_types::{Error, Value, isc};
use farbird_wire::clumplet::{ClumpletWriter, spb};
use farbird_wire::info::{InfoReader, database};
use farbird_wire::packet::{Attach, BufferLength, Request};
use farbird_wire::protocol::Handle;

use crate::common::{Client, Login, TestServer};

/// A connection to the services manager.
pub(crate) fn manager(server: &TestServer, login: &Login) -> Client {
    manager_with(server, login, &[])
}

/// As [`manager`], in a role.
pub(crate) fn manager_in_role(server: &TestServer, login: &Login, role: &str) -> Client {
    manager_with(server, login, &[(spb::SQL_ROLE_NAME, role.as_bytes())])
}

/// As [`manager`], with further items.
pub(crate) fn manager_with(server: &TestServer, login: &Login, items: &[(u8, &[u8])]) -> Client {
    let mut client = Client::log_in(server.address, login).unwrap();
    let mut parameters = ClumpletWriter::spb_attach();
    parameters.text(spb::USER_NAME, &login.user);
    for (tag, value) in items {
        parameters.bytes(*tag, value);
    }
    let parameters = parameters.into_bytes();
    let attach = Attach { database: Handle::NONE, file: b"service_mgr".to_vec(), parameters };
    client.ask(Request::ServiceAttach(attach)).unwrap();
    client
}

/// What the services manager answers to some items.
pub(crate) fn ask(client: &mut Client, items: &[u8]) -> Result<Vec<u8>, Error> {
    ask_sending(client, &[], items)
}

/// As [`ask`], with items that are sent.
pub(crate) fn ask_sending(client: &mut Client, sent: &[u8], items: &[u8]) -> Result<Vec<u8>, Error> {
    let request = Request::ServiceInformation {
        service: Handle::NONE,
        incarnation: 0,
        send_items: sent.to_vec(),
        receive_items: items.to_vec(),
        buffer_length: BufferLength(16_000),
    };
    client.ask(request).map(|response| response.data)
}

/// A text item of 16-bit length at the start of an answer.
pub(crate) fn text(answer: &[u8], item: u8) -> String {
    assert_eq!(answer[0], item);
    let length = usize::from(u16::from_le_bytes([answer[1], answer[2]]));
    String::from_utf8(answer[3..3 + length].to_vec()).unwrap()
}

/// An action about a user, with texts as arguments.
fn act(client: &mut Client, action: u8, arguments: &[(u8, &str)]) -> Result<(), Error> {
    let mut block = vec![action];
    for (tag, text) in arguments {
        block.push(*tag);
        block.extend((text.len() as u16).to_le_bytes());
        block.extend(text.as_bytes());
    }
    client.ask(Request::ServiceStart { service: Handle::NONE, incarnation: 0, spb: block }).map(|_| ())
}

/// Asks the repair service for something about a transaction of a database.
pub(crate) fn ask_repair(server: &TestServer, database: &str, tag: u8, value: u32) -> Result<Client, Error> {
    let mut client = manager(server, &Login::default());
    let mut block = vec![spb::action::REPAIR, spb::DBNAME];
    block.extend((database.len() as u16).to_le_bytes());
    block.extend(database.as_bytes());
    block.push(tag);
    block.extend(value.to_le_bytes());
    client.ask(Request::ServiceStart { service: Handle::NONE, incarnation: 0, spb: block })?;
    Ok(client)
}

/// The items about transactions in limbo that the repair service lists, asked for by an item of information.
pub(crate) fn limbo_of_service(server: &TestServer, database: &str, item: u8) -> Result<Vec<u8>, Error> {
    let mut client = ask_repair(server, database, spb::OPTIONS, u32::from(spb::repair::LIST_LIMBO_TRANS))?;
    let answer = ask(&mut client, &[item])?;
    let length = usize::from(u16::from_le_bytes([answer[1], answer[2]]));
    Ok(answer[3..3 + length].to_vec())
}

pub(crate) fn login(user: &str, password: &str) -> Login {
    Login { user: user.to_owned(), password: password.to_owned(), ..Login::default() }
}

#[test]
fn the_manager_tells_what_drivers_ask_first() {
    use spb::info;
    let server = TestServer::start();
    let mut attached = server.create("t.fbd");
    let mut client = manager(&server, &Login::default());
    assert_eq!(ask(&mut client, &[info::VERSION]).unwrap(), [info::VERSION, 2, 0, 0, 0, 1]);
    let version = text(&ask(&mut client, &[info::SERVER_VERSION]).unwrap(), info::SERVER_VERSION);
    // What the manager says is what an attachment says, in the form that programs parse; who it really is says a variable.
    assert_eq!(version, "LI-V5.0.4.1812 Firebird 5.0");
    let context = |name: &str| format!("SELECT RDB$GET_CONTEXT('SYSTEM', '{name}') FROM RDB$DATABASE");
    let mut value = |query: &str| match attached.value(query) {
        Value::Text(text) => text.decode_lossy().into_owned(),
        other => panic!("{query}: {other:?}"),
    };
    assert_eq!(value(&context("ENGINE_VERSION")), "5.0.4");
    assert_eq!(value(&context("FARBIRD_VERSION")), env!("CARGO_PKG_VERSION"));
    assert_eq!(value("SELECT FARBIRD$VERSION FROM FARBIRD$SERVER"), env!("CARGO_PKG_VERSION"));
    assert_eq!(value("SELECT FARBIRD$FIREBIRD_VERSION FROM FARBIRD$SERVER"), "5.0.4");
    let information =
        attached.information(Handle::NONE, &[database::FIREBIRD_VERSION, database::ISC_VERSION]);
    let answer = attached.ask(Request::DatabaseInformation(information)).unwrap().data;
    let texts: Vec<_> = InfoReader::new(&answer).map(|item| item.unwrap().value.to_vec()).collect();
    let first = |list: &[u8]| String::from_utf8(list[2..2 + usize::from(list[1])].to_vec()).unwrap();
    assert_eq!((first(&texts[0]), texts[0][0]), (version, 2), "the engine's, and the remote layer's");
    assert_eq!((first(&texts[1]), texts[1][0]), ("LI-V6.3.4.1812 Firebird 5.0".to_owned(), 1));
    let implementation = text(&ask(&mut client, &[info::IMPLEMENTATION]).unwrap(), info::IMPLEMENTATION);
    assert!(implementation.starts_with("Firebird/Linux/"), "{implementation}");
    for item in
        [info::IMPLEMENTATION, info::GET_ENV, info::GET_ENV_LOCK, info::GET_ENV_MSG, info::USER_DBPATH]
    {
        assert!(!text(&ask(&mut client, &[item]).unwrap(), item).is_empty(), "{item}");
    }
    // Nothing is told of settings, and what else is asked for is.
    let answer = ask(&mut client, &[info::GET_CONFIG, info::VERSION]).unwrap();
    assert_eq!(answer, [info::VERSION, 2, 0, 0, 0, 1]);
    let answer = ask(&mut client, &[info::CAPABILITIES]).unwrap();
    assert_eq!((answer[0], answer.len()), (info::CAPABILITIES, 6));

    // One attachment, one database, its name.
    let answer = ask(&mut client, &[info::SVR_DB_INFO]).unwrap();
    assert_eq!(answer[..11], [info::SVR_DB_INFO, 5, 1, 0, 0, 0, 6, 1, 0, 0, 0]);
    assert!(text(&answer[11..], spb::DBNAME).ends_with("t.fbd"));
    client.ask(Request::ServiceDetach(Handle::NONE)).unwrap();
}

#[test]
fn users_are_added_changed_shown_and_deleted() {
    use spb::{action, user};
    let server = TestServer::start();
    let mut owner = server.create("t.fbd");
    let mut client = manager(&server, &Login::default());
    let ana = [(user::USERNAME, "ana"), (user::PASSWORD, "first"), (user::FIRSTNAME, "Ana")];
    act(&mut client, action::ADD_USER, &ana).unwrap();
    Client::log_in(server.address, &login("ana", "first")).unwrap().attach("t.fbd", &[]).unwrap();
    act(&mut client, action::MODIFY_USER, &[(user::USERNAME, "ANA"), (user::PASSWORD, "second")]).unwrap();
    assert!(Client::log_in(server.address, &login("ana", "first")).is_err());
    Client::log_in(server.address, &login("Ana", "second")).unwrap();

    // Numbers of the system are tags, which SQL shows and changes, too.
    let numbers = [&[action::MODIFY_USER, user::USERNAME, 3, 0][..], b"ana", &[5, 7, 0, 0, 0, 6, 8, 0, 0, 0]];
    let start = |block: Vec<u8>| Request::ServiceStart { service: Handle::NONE, incarnation: 0, spb: block };
    client.ask(start(numbers.concat())).unwrap();
    let shown = |client: &mut Client| {
        act(client, action::DISPLAY_USER, &[(user::USERNAME, "ana")]).unwrap();
        ask(client, &[spb::info::GET_USERS]).unwrap()
    };
    let answer = shown(&mut client);
    let end = [5, 7, 0, 0, 0, 6, 8, 0, 0, 0, 1];
    assert!(answer.ends_with(&end), "{answer:?}");
    owner.run("ALTER USER ANA SET TAGS (UID = '9', DROP GID)");
    assert!(shown(&mut client).ends_with(&[5, 9, 0, 0, 0, 6, 0, 0, 0, 0, 1]));
    owner.run("ALTER USER ANA SET TAGS (DROP UID)");

    act(&mut client, action::DISPLAY_USER, &[]).unwrap();
    let answer = ask(&mut client, &[spb::info::GET_USERS]).unwrap();
    let list = text(&answer, spb::info::GET_USERS);
    assert!(list.contains("ANA") && list.contains("Ana") && list.contains("SYSDBA"), "{list:?}");
    // Who administers is told only to those who ask for that: old clients do not know the item.
    for (shown, admin) in
        [(action::DISPLAY_USER, &[][..]), (action::DISPLAY_USER_ADM, &[user::ADMIN, 0, 0, 0, 0])]
    {
        act(&mut client, shown, &[(user::USERNAME, "ana")]).unwrap();
        let answer = ask(&mut client, &[spb::info::GET_USERS]).unwrap();
        let expected = [
            &[user::USERNAME, 3, 0][..],
            b"ANA",
            &[user::FIRSTNAME, 3, 0],
            b"Ana",
            &[
                user::MIDDLENAME,
                0,
                0,
                user::LASTNAME,
                0,
                0,
                user::USERID,
                0,
                0,
                0,
                0,
                user::GROUPID,
                0,
                0,
                0,
                0,
            ],
            admin,
        ]
        .concat();
        assert_eq!(answer[3..answer.len() - 1], expected, "{shown}");
    }

    act(&mut client, action::DELETE_USER, &[(user::USERNAME, "ana")]).unwrap();
    assert!(Client::log_in(server.address, &login("ana", "second")).is_err());
    // Services say these as programs know them from before there were statements for users.
    let error = act(&mut client, action::DELETE_USER, &[(user::USERNAME, "ana")]).unwrap_err();
    assert_eq!((error.gds_code(), error.sql_state()), (isc::USRNAME_NOT_FOUND, "28000"), "{error}");
    let error = act(&mut client, action::MODIFY_USER, &[(user::USERNAME, "ana")]).unwrap_err();
    assert_eq!(error.gds_code(), isc::USRNAME_NOT_FOUND, "{error}");
    let taken = [(user::USERNAME, "SYSDBA"), (user::PASSWORD, "x")];
    let error = act(&mut client, action::ADD_USER, &taken).unwrap_err();
    assert_eq!(
        (error.gds_code(), error.has(isc::UNIQUE_KEY_VIOLATION)),
        (isc::ERROR_ADDING_SEC_RECORD, true)
    );
}

#[test]
fn only_administrators_change_others() {
    use spb::{action, user};
    let server = TestServer::start();
    let mut owner = server.create("t.fbd");
    owner.run("CREATE USER bob PASSWORD 'secret'");
    let mut client = manager(&server, &login("bob", "secret"));
    let error =
        act(&mut client, action::ADD_USER, &[(user::USERNAME, "eve"), (user::PASSWORD, "x")]).unwrap_err();
    assert_eq!(error.gds_code(), isc::ADM_TASK_DENIED);
    act(&mut client, action::MODIFY_USER, &[(user::USERNAME, "bob"), (user::PASSWORD, "own")]).unwrap();
    Client::log_in(server.address, &login("bob", "own")).unwrap();
    // He sees himself alone.
    act(&mut client, action::DISPLAY_USER, &[]).unwrap();
    let list = text(&ask(&mut client, &[spb::info::GET_USERS]).unwrap(), spb::info::GET_USERS);
    assert!(list.contains("BOB") && !list.contains("SYSDBA"), "{list:?}");
}

#[test]
fn services_that_are_not_built_leave_the_connection_usable() {
    let server = TestServer::start();
    let mut client = manager(&server, &Login::default());
    let refused = [spb::action::NFIX, 99];
    for action in refused.into_iter().chain([
        spb::action::BACKUP,
        spb::action::VALIDATE,
        spb::action::NREST,
        spb::action::NBAK,
    ]) {
        let error = act(&mut client, action, &[]).unwrap_err();
        assert!(error.has(isc::WISH_LIST) || error.has(isc::BAD_SPB_FORM), "{action}: {error}");
    }
    // Requests of a database are not for the manager.
    let error = client.ask(Request::AllocateStatement(Handle::NONE)).unwrap_err();
    assert_eq!(error.gds_code(), isc::WISH_LIST);
    assert!(ask(&mut client, &[spb::info::SERVER_VERSION]).is_ok());
}

/// Starts a service about two files, with further arguments as they are sent.
fn start(client: &mut Client, action: u8, database: &str, file: &str, further: &[u8]) -> Result<(), Error> {
    let mut block = vec![action];
    for (tag, text) in [(spb::DBNAME, database), (spb::backup::FILE, file)] {
        block.push(tag);
        block.extend((text.len() as u16).to_le_bytes());
        block.extend(text.as_bytes());
    }
    block.extend(further);
    client.ask(Request::ServiceStart { service: Handle::NONE, incarnation: 0, spb: block }).map(|_| ())
}

/// What the backup service says, line by line.
pub(crate) fn said_by_backup(server: &TestServer, database: &str, file: &str) -> Vec<String> {
    let mut client = manager(server, &Login::default());
    start(&mut client, spb::action::BACKUP, database, file, &[]).unwrap();
    let mut said = Vec::new();
    loop {
        match text(&ask(&mut client, &[spb::info::LINE]).unwrap(), spb::info::LINE) {
            end if end.is_empty() => return said,
            line => said.push(line),
        }
    }
}

/// Whoever is no administrator is told neither where databases lie nor what files there are.
#[test]
fn services_tell_nothing_of_files_to_whoever_may_not_read_them() {
    use spb::{action, info, user};
    let server = TestServer::start();
    let _owner = server.create("t.fbd");
    std::fs::write(server.data().join("other.fbd"), b"no database at all").unwrap();
    let mut administrator = manager(&server, &Login::default());
    let eve = [(user::USERNAME, "eve"), (user::PASSWORD, "eve")];
    act(&mut administrator, action::ADD_USER, &eve).unwrap();
    start(&mut administrator, action::BACKUP, "t.fbd", "t.fbb", &[]).unwrap();
    finish(&mut administrator);

    let mut eve = manager(&server, &login("eve", "eve"));
    for item in [info::GET_ENV, info::GET_ENV_LOCK, info::GET_ENV_MSG, info::USER_DBPATH, info::SVR_DB_INFO] {
        let error = ask(&mut eve, &[item]).unwrap_err();
        assert_eq!(error.gds_code(), isc::INSUFFICIENT_SVC_PRIVILEGES, "{item}");
    }
    let refusals: Vec<Error> =
        ["t.fbd", "other.fbd", "nowhere.fbd", "t.fbb", "security.fbd", "../outside.fbd"]
            .into_iter()
            .map(|name| start(&mut eve, action::BACKUP, name, "stdout", &[]).unwrap_err())
            .collect();
    assert!(refusals.iter().all(|refusal| *refusal == refusals[0]), "{refusals:?}");
    assert_eq!(refusals[0].gds_code(), isc::ADM_TASK_DENIED);
    assert!(refusals[0].has(isc::MISS_PRVLG));

    // Attached, she sees the file's name and no folder, in answers and in errors.
    let mut client = Client::log_in(server.address, &login("eve", "eve")).unwrap();
    client.attach("t.fbd", &[]).unwrap();
    for query in [
        "SELECT MON$DATABASE_NAME FROM MON$DATABASE",
        "SELECT MON$ATTACHMENT_NAME FROM MON$ATTACHMENTS",
        "SELECT RDB$GET_CONTEXT('SYSTEM', 'DB_NAME') FROM RDB$DATABASE",
    ] {
        match client.value(query) {
            Value::Text(text) => assert_eq!(text.decode_lossy().trim_end(), "t.fbd", "{query}"),
            other => panic!("{query}: {other:?}"),
        }
    }
    let mut client = Client::log_in(server.address, &login("eve", "eve")).unwrap();
    let folder = server.data().display().to_string();
    for name in ["nowhere.fbd", "other.fbd"] {
        let error = client.attach(name, &[]).unwrap_err();
        assert!(!error.to_string().contains(&folder), "{error}");
    }
    assert!(client.create("new.fbd", &[]).unwrap_err().has(isc::NO_PRIV));
}

/// Reads what a service says to its end, as clients do that put a version in front of nothing.
fn finish(client: &mut Client) {
    while ask_sending(client, &[2], &[spb::info::LINE]).unwrap() != [spb::info::LINE, 0, 0, 1] {}
}

/// A database with more in it than a service keeps for a client that does not ask.
fn large_database(server: &TestServer) -> Client {
    let mut owner = server.create("t.fbd");
    owner.run("CREATE TABLE T (ID INTEGER PRIMARY KEY, B CHAR(64) CHARACTER SET OCTETS)");
    owner.run(
        "EXECUTE BLOCK AS DECLARE I INTEGER = 0; BEGIN WHILE (I < 10000) DO BEGIN \
         INSERT INTO T VALUES (:I, GEN_UUID() || GEN_UUID() || GEN_UUID() || GEN_UUID()); I = I + 1; END END",
    );
    owner
}

/// How a service ends whose output is taken.
fn end_of(client: &mut Client) -> Error {
    loop {
        match ask(client, &[spb::info::TO_EOF]) {
            Ok(answer) => assert_ne!(answer, [spb::info::TO_EOF, 0, 0, 1], "it came to its end"),
            Err(error) => return error,
        }
    }
}

#[test]
fn deleting_its_row_of_mon_attachments_stops_a_backup() {
    use spb::action;
    let server = TestServer::start();
    let mut owner = large_database(&server);
    let mut client = manager(&server, &Login::default());
    start(&mut client, action::BACKUP, "t.fbd", "stdout", &[]).unwrap();
    assert_eq!(owner.value("SELECT COUNT(*) FROM MON$ATTACHMENTS"), Value::integer(2));
    owner.run("DELETE FROM MON$ATTACHMENTS");
    // Nobody takes its output, and yet it lets go of the database.
    while owner.value("SELECT COUNT(*) FROM MON$ATTACHMENTS") != Value::integer(1) {}
    let error = end_of(&mut client);
    assert!(error.has(isc::ATT_SHUTDOWN) && error.has(isc::ATT_SHUT_KILLED), "{error}");

    // One to a file leaves none behind; should it have been quicker, the file is whole.
    start(&mut client, action::BACKUP, "t.fbd", "t.fbk", &[spb::VERBOSE]).unwrap();
    owner.run("DELETE FROM MON$ATTACHMENTS");
    while owner.value("SELECT COUNT(*) FROM MON$ATTACHMENTS") != Value::integer(1) {}
    let ended = loop {
        match ask_sending(&mut client, &[2], &[spb::info::LINE]) {
            Ok(answer) if answer == [spb::info::LINE, 0, 0, 1] => break Ok(()),
            Ok(_) => {}
            Err(error) => break Err(error),
        }
    };
    assert_eq!(server.data().join("t.fbk").exists(), ended.is_ok(), "{ended:?}");
    assert_eq!(incomplete_files(&server), [""; 0]);

    start(&mut client, action::BACKUP, "t.fbd", "t.fbk", &[spb::VERBOSE]).unwrap();
    finish(&mut client);
}

fn incomplete_files(server: &TestServer) -> Vec<String> {
    let entries = std::fs::read_dir(server.data()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".incomplete")).collect()
}

/// What SIGTERM does, past its time of grace.
#[test]
fn the_servers_end_stops_services() {
    use spb::action;
    let mut server = TestServer::with(|config| config.shutdown_grace = std::time::Duration::ZERO);
    drop(large_database(&server));
    let mut to_file = manager(&server, &Login::default());
    let mut to_client = manager(&server, &Login::default());
    let mut from_client = manager(&server, &Login::default());
    start(&mut to_client, action::BACKUP, "t.fbd", "stdout", &[]).unwrap();
    start(&mut from_client, action::RESTORE, "r.fbd", "stdin", &[]).unwrap();
    start(&mut to_file, action::BACKUP, "t.fbd", "t.fbk", &[]).unwrap();
    // A backup to a file needs no client.
    drop(to_file);
    server.shut_down();
    assert_eq!(incomplete_files(&server), [""; 0]);
    assert!(!server.data().join("r.fbd").exists());

    server.start_again();
    assert_eq!(server.attach("t.fbd").value("SELECT COUNT(*) FROM T"), Value::integer(10_000));
}

#[test]
fn a_restore_does_what_it_is_told_or_says_that_it_cannot() {
    use spb::{action, backup, restore};
    let server = TestServer::start();
    let mut owner = server.create("t.fbd");
    owner.run("CREATE TABLE T (ID INTEGER)");
    owner.run("CREATE SEQUENCE S");
    owner.run("INSERT INTO T VALUES (1)");
    let mut client = manager(&server, &Login::default());
    start(&mut client, action::BACKUP, "t.fbd", "t.fbk", &[spb::VERBOSE]).unwrap();
    finish(&mut client);

    let further =
        [&[restore::ACCESS_MODE, restore::AM_READONLY, restore::PAGE_SIZE][..], &16384_i32.to_le_bytes()];
    start(&mut client, action::RESTORE, "r.fbd", "t.fbk", &further.concat()).unwrap();
    finish(&mut client);
    let mut reader = server.attach("r.fbd");
    let properties = reader.query("SELECT MON$READ_ONLY, MON$PAGE_SIZE FROM MON$DATABASE").swap_remove(0);
    assert_eq!(properties, [Value::integer(1), Value::integer(16384)]);
    assert_eq!(reader.value("SELECT ID FROM T"), Value::integer(1));
    for refused in [
        "INSERT INTO T VALUES (2)",
        "DELETE FROM T",
        "CREATE TABLE U (ID INTEGER)",
        "EXECUTE BLOCK AS BEGIN UPDATE T SET ID = 3; END",
        "EXECUTE BLOCK AS DECLARE I BIGINT; BEGIN I = NEXT VALUE FOR S; END",
    ] {
        let error = reader.try_run(refused).expect_err(refused);
        assert!(error.has(isc::READ_ONLY_DATABASE), "{refused}: {error}");
    }
    start(&mut client, action::RESTORE, "w.fbd", "t.fbk", &[restore::ACCESS_MODE, restore::AM_READWRITE])
        .unwrap();
    finish(&mut client);
    let mut writer = server.attach("w.fbd");
    writer.run("INSERT INTO T VALUES (2)");
    writer.ask(Request::Detach(Handle::NONE)).unwrap();

    // What is there is replaced only if that is asked for; gbak's own message says so.
    start(&mut client, action::RESTORE, "w.fbd", "t.fbk", &[]).unwrap();
    let error = (0..100).find_map(|_| ask_sending(&mut client, &[2], &[spb::info::LINE]).err());
    let error = error.expect("a failure");
    assert_eq!((error.gds_code(), error.has(isc::DB_OR_FILE_EXISTS)), (336_330_766, true), "{error}");

    let second_file = [&[backup::FILE, 2, 0][..], b"f2"].concat();
    let length = [&[backup::LENGTH][..], &1_000_i32.to_le_bytes()].concat();
    for (action, further) in [
        (action::BACKUP, second_file.clone()),
        (action::BACKUP, length),
        (action::RESTORE, second_file),
        (action::RESTORE, vec![restore::REPLICA_MODE, restore::RM_READONLY]),
    ] {
        let error = start(&mut client, action, "x.fbd", "t.fbk", &further).unwrap_err();
        assert!(error.has(isc::WISH_LIST), "{further:?}: {error}");
    }
    let error =
        start(&mut client, action::RESTORE, "x.fbd", "t.fbk", &[restore::ACCESS_MODE, 7]).unwrap_err();
    assert!(error.has(isc::BAD_SPB_FORM), "{error}");
}

/// The lines that a service says.
fn said(client: &mut Client) -> Vec<String> {
    let mut said = Vec::new();
    loop {
        let answer = ask_sending(client, &[2], &[spb::info::LINE]).unwrap();
        match text(&answer, spb::info::LINE) {
            end if end.is_empty() => return said,
            line => said.push(line),
        }
    }
}

/// Backups that gbak of Firebird made, whole and split.
#[test]
fn backups_of_gbak_are_restored_as_the_servers_own_are() {
    use spb::{action, backup};
    let server = TestServer::start();
    let given = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../gbak/tests/data");
    for name in [
        "firebird3.fbk",
        "firebird4-zip.fbk",
        "firebird3-part1.fbk",
        "firebird3-part2.fbk",
        "firebird3-part3.fbk",
    ] {
        std::fs::copy(given.join(name), server.data().join(name)).unwrap();
    }
    let rows = "SELECT COUNT(*) FROM RDB$RELATIONS WHERE RDB$SYSTEM_FLAG = 0 AND RDB$VIEW_BLR IS NULL";
    let mut client = manager(&server, &Login::default());
    for (database, file, tables) in [("three.fbd", "firebird3.fbk", 6), ("four.fbd", "firebird4-zip.fbk", 8)]
    {
        start(&mut client, action::RESTORE, database, file, &[spb::VERBOSE]).unwrap();
        let lines = said(&mut client);
        assert!(lines.iter().any(|line| line.starts_with("restoring table ")), "{lines:?}");
        assert_eq!(server.attach(database).value(rows), Value::integer(tables));
    }
    // In any order, as gbak takes them.
    let more = |names: &[&str]| -> Vec<u8> {
        let item = |name: &&str| [&[backup::FILE, name.len() as u8, 0][..], name.as_bytes()].concat();
        names.iter().flat_map(item).collect()
    };
    let parts = more(&["firebird3-part1.fbk", "firebird3-part2.fbk"]);
    start(&mut client, action::RESTORE, "parts.fbd", "firebird3-part3.fbk", &parts).unwrap();
    finish(&mut client);
    assert_eq!(server.attach("parts.fbd").value(rows), Value::integer(6));

    start(&mut client, action::RESTORE, "x.fbd", "firebird3-part3.fbk", &more(&["firebird3-part1.fbk"]))
        .unwrap();
    let error = end_of(&mut client);
    assert!(error.to_string().contains("part 2 of 3 is missing"), "{error}");
    start(&mut client, action::RESTORE, "three.fbd", "firebird3.fbk", &[]).unwrap();
    let error = end_of(&mut client);
    assert_eq!((error.gds_code(), error.has(isc::DB_OR_FILE_EXISTS)), (336_330_766, true), "{error}");
    assert!(!server.data().join("x.fbd").exists() && incomplete_files(&server).is_empty());
}

#[test]
fn users_are_managed_by_sql() {
    let server = TestServer::start();
    let mut owner = server.create("t.fbd");
    owner.run("CREATE USER carl PASSWORD 'one'");
    let mut carl = Client::log_in(server.address, &login("carl", "one")).unwrap();
    carl.attach("t.fbd", &[]).unwrap();
    assert_eq!(carl.value("SELECT CURRENT_USER FROM RDB$DATABASE"), Value::text("CARL"));
    assert!(carl.try_run("CREATE USER eve PASSWORD 'x'").is_err(), "he is no administrator");

    owner.run("ALTER USER carl SET PASSWORD 'two'");
    assert!(Client::log_in(server.address, &login("carl", "one")).is_err());
    Client::log_in(server.address, &login("carl", "two")).unwrap();
    owner.run("ALTER USER carl INACTIVE");
    assert!(Client::log_in(server.address, &login("carl", "two")).is_err());

    owner.run("CREATE USER \"Mixed\" PASSWORD 'three'");
    Client::log_in(server.address, &login("\"Mixed\"", "three")).unwrap();
    assert!(Client::log_in(server.address, &login("mixed", "three")).is_err());

    // Rolled back, it has not happened.
    let transaction = owner.start();
    owner.run_in(transaction, "CREATE USER ghost PASSWORD 'x'").unwrap();
    owner.rollback(transaction);
    assert!(Client::log_in(server.address, &login("ghost", "x")).is_err());

    owner.run("DROP USER carl");
    let error = owner.try_run("DROP USER carl").unwrap_err();
    assert!(error.has(isc::GSEC_ERR_REC_NOT_FOUND), "{error}");
}
