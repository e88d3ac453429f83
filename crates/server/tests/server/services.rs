//! The services manager: information and users.

use farbird_types::{Error, Value, isc};
use farbird_wire::clumplet::{ClumpletWriter, spb};
use farbird_wire::packet::{Attach, BufferLength, Request};
use farbird_wire::protocol::Handle;

use crate::common::{Client, Login, TestServer};

/// A connection to the services manager.
fn manager(server: &TestServer, login: &Login) -> Client {
    let mut client = Client::log_in(server.address, login).unwrap();
    let mut parameters = ClumpletWriter::spb_attach();
    parameters.text(spb::USER_NAME, &login.user);
    let parameters = parameters.into_bytes();
    let attach = Attach { database: Handle::NONE, file: b"service_mgr".to_vec(), parameters };
    client.ask(Request::ServiceAttach(attach)).unwrap();
    client
}

/// What the services manager answers to some items.
fn ask(client: &mut Client, items: &[u8]) -> Result<Vec<u8>, Error> {
    let request = Request::ServiceInformation {
        service: Handle::NONE,
        incarnation: 0,
        send_items: Vec::new(),
        receive_items: items.to_vec(),
        buffer_length: BufferLength(16_000),
    };
    client.ask(request).map(|response| response.data)
}

/// A text item of 16-bit length at the start of an answer.
fn text(answer: &[u8], item: u8) -> String {
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

fn login(user: &str, password: &str) -> Login {
    Login { user: user.to_owned(), password: password.to_owned(), ..Login::default() }
}

#[test]
fn the_manager_tells_what_drivers_ask_first() {
    use spb::info;
    let server = TestServer::start();
    let _attached = server.create("t.fbd");
    let mut client = manager(&server, &Login::default());
    assert_eq!(ask(&mut client, &[info::VERSION]).unwrap(), [info::VERSION, 2, 0, 0, 0, 1]);
    let version = text(&ask(&mut client, &[info::SERVER_VERSION]).unwrap(), info::SERVER_VERSION);
    assert!(version.starts_with("LI-V5.0.") && version.contains("Farbird"), "{version}");
    for item in
        [info::IMPLEMENTATION, info::GET_ENV, info::GET_ENV_LOCK, info::GET_ENV_MSG, info::USER_DBPATH]
    {
        assert!(!text(&ask(&mut client, &[item]).unwrap(), item).is_empty(), "{item}");
    }
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
    let _owner = server.create("t.fbd");
    let mut client = manager(&server, &Login::default());
    let ana = [(user::USERNAME, "ana"), (user::PASSWORD, "first"), (user::FIRSTNAME, "Ana")];
    act(&mut client, action::ADD_USER, &ana).unwrap();
    Client::log_in(server.address, &login("ana", "first")).unwrap().attach("t.fbd", &[]).unwrap();
    act(&mut client, action::MODIFY_USER, &[(user::USERNAME, "ANA"), (user::PASSWORD, "second")]).unwrap();
    assert!(Client::log_in(server.address, &login("ana", "first")).is_err());
    Client::log_in(server.address, &login("Ana", "second")).unwrap();

    act(&mut client, action::DISPLAY_USER, &[]).unwrap();
    let answer = ask(&mut client, &[spb::info::GET_USERS]).unwrap();
    let list = text(&answer, spb::info::GET_USERS);
    assert!(list.contains("ANA") && list.contains("Ana") && list.contains("SYSDBA"), "{list:?}");

    act(&mut client, action::DELETE_USER, &[(user::USERNAME, "ana")]).unwrap();
    assert!(Client::log_in(server.address, &login("ana", "second")).is_err());
    let error = act(&mut client, action::DELETE_USER, &[(user::USERNAME, "ana")]).unwrap_err();
    assert!(error.has(isc::GSEC_ERR_REC_NOT_FOUND), "{error}");
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
    for action in [spb::action::BACKUP, spb::action::VALIDATE, spb::action::TRACE_LIST, 99] {
        let error = act(&mut client, action, &[]).unwrap_err();
        assert!(error.has(isc::WISH_LIST) || error.has(isc::BAD_SPB_FORM), "{action}: {error}");
    }
    // Requests of a database are not for the manager.
    let error = client.ask(Request::AllocateStatement(Handle::NONE)).unwrap_err();
    assert_eq!(error.gds_code(), isc::WISH_LIST);
    assert!(ask(&mut client, &[spb::info::SERVER_VERSION]).is_ok());
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
