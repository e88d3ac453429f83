//! Which files a client reaches: names, aliases, access rules, files of somebody else.

use std::path::PathBuf;

use farbird_engine::StoreOptions;
use farbird_engine::api::{AttachOptions, ClientDescription};
use farbird_engine::engine::Engine;
use farbird_engine::users::NoUsers;
use farbird_server::config::DatabaseAccess;
use farbird_types::{CharacterSet, Value, isc};
use farbird_wire::clumplet::dpb;
use farbird_wire::packet::Request;
use farbird_wire::protocol::Handle;

use crate::common::{Client, Login, TestServer};

fn client(server: &TestServer) -> Client {
    Client::log_in(server.address, &Login::default()).unwrap()
}

#[test]
fn nothing_outside_the_data_folder_is_reached_by_default() {
    let server = TestServer::start();
    let outside = server.outside().join("outside.fbd");
    std::os::unix::fs::symlink(server.outside(), server.data().join("link")).unwrap();
    std::os::unix::fs::symlink(&outside, server.data().join("dangling.fbd")).unwrap();
    let absolute = outside.to_str().unwrap();
    let mut client = client(&server);
    for name in
        ["../outside.fbd", "link/outside.fbd", "dangling.fbd", absolute, "security.fbd", "./security.fbd"]
    {
        for overwrite in [0, 1] {
            let error = client.create(name, &[(dpb::OVERWRITE, &[overwrite])]).expect_err(name);
            assert_eq!(error.gds_code(), isc::CONF_ACCESS_DENIED, "{name}: {error}");
        }
        let error = client.attach(name, &[]).expect_err(name);
        assert_eq!(error.gds_code(), isc::CONF_ACCESS_DENIED, "{name}: {error}");
    }
    assert!(!outside.exists());
    // The line is still of use.
    client.create("inside.fbd", &[]).unwrap();
    assert!(server.data().join("inside.fbd").exists());
}

#[test]
fn an_alias_leads_anywhere_and_full_access_takes_paths() {
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("app.fbd");
    let alias = file.clone();
    let server = TestServer::with(move |config| {
        config.aliases.insert("app".to_owned(), alias);
        config.database_access = DatabaseAccess::Full;
    });
    let mut first = client(&server);
    first.create("APP", &[]).unwrap();
    first.run("CREATE TABLE T (ID INTEGER)");
    assert!(file.exists());
    let mut second = client(&server);
    second.attach(file.to_str().unwrap(), &[]).unwrap();
    assert_eq!(second.value("SELECT COUNT(*) FROM T"), Value::integer(0));
}

#[test]
fn a_file_of_somebody_else_is_named_and_left_alone() {
    let server = TestServer::start();
    // The start of a header page of Firebird 3 (ODS 12): page type 1, page size 8192 at 16, ODS with the Firebird flag
    // at 18.
    let mut firebird = vec![0_u8; 8192];
    firebird[0] = 1;
    firebird[16..18].copy_from_slice(&8192_u16.to_le_bytes());
    firebird[18..20].copy_from_slice(&0x800C_u16.to_le_bytes());
    let files: [(&str, Vec<u8>, &str); 3] = [
        ("real.fdb", firebird, "Firebird"),
        ("notes.txt", b"Nothing of the kind, only some notes.".repeat(300), ""),
        ("empty.fbd", Vec::new(), ""),
    ];
    let mut client = client(&server);
    for (name, content, what) in files {
        let path = server.data().join(name);
        std::fs::write(&path, &content).unwrap();
        let error = client.attach(name, &[]).expect_err(name);
        assert_eq!(error.gds_code(), isc::BAD_DB_FORMAT, "{name}: {error}");
        assert!(error.message().contains(what), "{error}");
        let error = client.create(name, &[(dpb::OVERWRITE, &[1])]).expect_err(name);
        assert!(error.has(isc::IO_ERROR), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), content, "{name} is as it was");
    }
}

#[test]
fn a_file_that_another_process_has_open_is_refused() {
    let server = TestServer::start();
    drop(server.create("t.fbd"));
    let path: PathBuf = server.data().canonicalize().unwrap().join("t.fbd");
    // An engine of its own stands for the other process: it knows nothing of the server's.
    let other = Engine::new(StoreOptions::default());
    let options = || AttachOptions {
        user: "SYSDBA".to_owned(),
        role: None,
        character_set: CharacterSet::UTF8,
        dialect: 3,
        time_zone: None,
        no_database_triggers: true,
        client: ClientDescription::default(),
    };
    // The server lets go of the file soon after its last connection has gone.
    let attachment = loop {
        if let Ok(attachment) = other.attach(&path, options(), std::sync::Arc::new(NoUsers)) {
            break attachment;
        }
    };
    let error = client(&server).attach("t.fbd", &[]).unwrap_err();
    assert_eq!(error.gds_code(), isc::IO_ERROR);
    assert!(error.message().contains("another process"), "{error}");
    attachment.detach().unwrap();
}

#[test]
fn a_database_is_created_once_and_dropped() {
    let server = TestServer::start();
    let mut client = client(&server);
    let error = client.attach("t.fbd", &[]).unwrap_err();
    assert_eq!(error.gds_code(), isc::IO_ERROR);
    client.create("t.fbd", &[]).unwrap();
    let mut second = Client::log_in(server.address, &Login::default()).unwrap();
    let error = second.create("t.fbd", &[]).unwrap_err();
    assert!(error.has(isc::DB_OR_FILE_EXISTS), "{error}");
    second.attach("t.fbd", &[]).unwrap();
    let error = client.ask(Request::DropDatabase(Handle::NONE)).unwrap_err();
    assert!(error.has(isc::OBJ_IN_USE), "{error}");
    second.ask(Request::Detach(Handle::NONE)).unwrap();
    client.ask(Request::DropDatabase(Handle::NONE)).unwrap();
    assert!(!server.data().join("t.fbd").exists());
}

#[test]
fn a_client_attaches_right_after_the_last_one_has_gone() {
    let server = TestServer::start();
    let mut owner = server.create("t.fbd");
    owner.run("CREATE TABLE T (ID INTEGER)");
    drop(owner);
    for _ in 0..10 {
        let mut next = server.attach("t.fbd");
        assert_eq!(next.value("SELECT COUNT(*) FROM T"), Value::integer(0));
    }
}
