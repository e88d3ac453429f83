//! Shutting a database down while a session is in the way that ought to leave and does not.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use farbird_engine::StoreOptions;
use farbird_engine::api::{AttachOptions, ClientDescription, CreateDatabaseOptions};
use farbird_engine::attachment::Attachment;
use farbird_engine::engine::Engine;
use farbird_engine::maintenance::{Maintenance, Shutdown, ShutdownMode, ShutdownWait};
use farbird_engine::users::NoUsers;
use farbird_types::{CharacterSet, Result, isc};

/// SYSDBA, attached as by a server or by a program that embeds the engine.
fn options(leaves_when_told: bool) -> AttachOptions {
    AttachOptions {
        user: "SYSDBA".to_owned(),
        role: None,
        character_set: CharacterSet::UTF8,
        dialect: 3,
        time_zone: None,
        no_database_triggers: false,
        client: ClientDescription { leaves_when_told, ..ClientDescription::default() },
    }
}

fn shut(engine: &Arc<Engine>, path: &Path) -> Result<Attachment> {
    let shutdown = Shutdown { mode: ShutdownMode::Full, wait: ShutdownWait::Force, timeout: Duration::ZERO };
    let wanted = Maintenance { shutdown: Some(shutdown), ..Maintenance::default() };
    engine.attach_to_maintain(path, options(true), Arc::new(NoUsers), &wanted, &mut |_| {})
}

#[test]
fn a_database_is_not_said_to_be_shut_down_while_a_session_of_the_server_is_still_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.fbd");
    let engine = Engine::new(StoreOptions::default());
    let create = CreateDatabaseOptions {
        default_character_set: CharacterSet::UTF8,
        page_size: 8192,
        overwrite: false,
        dialect: 3,
    };
    let owner = engine.create_database(&path, &create, options(true), Arc::new(NoUsers)).unwrap();
    let error = shut(&engine, &path).err().unwrap();
    assert!(error.has(isc::SHUTFAIL), "{error}");
    // It is as before, but for the session.
    drop(owner);
    drop(engine.attach(&path, options(true), Arc::new(NoUsers)).unwrap());
    drop(shut(&engine, &path).unwrap());
    assert!(engine.attach(&path, options(true), Arc::new(NoUsers)).err().unwrap().has(isc::SHUTDOWN));
}
