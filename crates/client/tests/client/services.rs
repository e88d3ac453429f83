//! The services manager: any action, users, statistics.

use std::time::Duration;

use farbird_client::blocking::{Connection, Services};
use farbird_client::{
    BackupOptions, OnlineMode, Polled, Property, Repair, RestoreOptions, ServiceAction, Shutdown, Statistics,
    User, Validation, Value,
};
use farbird_types::{Error, Result, isc};

use crate::servers::{TestServer, all, begin, run, value};

/// The services manager of the server of this database, and the database's name there.
fn services_of<'l>(place: &TestServer, location: &'l str) -> (Services, &'l str) {
    let (server, file) = location.split_once(':').unwrap();
    let (host, port) = server.split_once('/').unwrap();
    (Services::attach(host, port.parse().unwrap(), &place.options).unwrap(), file)
}

/// Farbird does not have all of them yet, and says so.
fn unless_missing<T>(place: &TestServer, result: Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) if place.is_own() => {
            assert_eq!(error.gds_code(), isc::WISH_LIST, "{error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn properties_are_set_and_databases_shut_down() {
    for place in all() {
        let location = place.location();
        place.create_at(&location).close().unwrap();
        let (services, file) = services_of(&place, &location);
        services.set_property(file, Property::SweepInterval(4321)).unwrap();
        services.set_property(file, Property::NoLinger).unwrap();
        for property in
            [Property::PageBuffers(300), Property::ForcedWrites(false), Property::ReserveSpace(false)]
        {
            unless_missing(&place, services.set_property(file, property));
        }
        services.set_property(file, Property::ReadOnly(true)).unwrap();
        let connection = Connection::attach(&location, &place.options).unwrap();
        let told = "select mon$sweep_interval || ' ' || mon$forced_writes || ' ' || mon$reserve_space || ' ' || \
                    mon$read_only from mon$database";
        let wanted = if place.is_own() { "4321 1 1 1" } else { "4321 0 0 1" };
        assert_eq!(value(&connection, told).to_string(), wanted);
        // How many pages there are now is the server's affair; what is wanted is in the header.
        let header = services.statistics(file, Statistics::Header).unwrap();
        let told = header.iter().find(|line| line.contains("Page buffers")).unwrap();
        assert!(told.ends_with(if place.is_own() { "0" } else { "300" }), "{told}");
        // Who uses it is cut off.
        let how = Shutdown::Force(Duration::ZERO);
        services.shut_down(file, OnlineMode::Full, how).unwrap();
        let error = connection.ping().unwrap_err();
        assert!(error.is_disconnected(), "{error}");
        let error = Connection::attach(&location, &place.options).unwrap_err();
        assert!(error.has(isc::SHUTDOWN), "{error}");
        services.bring_online(file, OnlineMode::Normal).unwrap();
        services.set_property(file, Property::ReadOnly(false)).unwrap();
        services.close().unwrap();
        place.drop_at(&location);
    }
}

#[test]
fn databases_are_kept_in_order() {
    for place in all() {
        let location = place.location();
        let connection = place.create_at(&location);
        run(&connection, &["create table t (n integer)", "insert into t values (1)", "delete from t"]);
        let (services, file) = services_of(&place, &location);
        services.sweep(file).unwrap();
        let tables = Validation { tables: "T".to_owned(), ..Validation::default() };
        let said = services.validate(file, &tables).unwrap();
        assert!(said.iter().any(|line| line.contains("finished") || line.contains('T')), "{said:?}");
        // A transaction that was prepared and left alone.
        let other = Connection::attach(&location, &place.options).unwrap();
        let transaction = begin(&other);
        other.run(&transaction, "insert into t values (1)").unwrap();
        if other.prepare_transaction(&transaction, b"").is_ok() {
            other.canceller().abort();
            drop((transaction, other));
            let mut left = Vec::new();
            for _ in 0..100 {
                left = services.limbo_transactions(file).unwrap();
                if !left.is_empty() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            let [transaction] = &left[..] else { panic!("{left:?}") };
            services.end_limbo(file, transaction.id, true).unwrap();
            assert_eq!(services.limbo_transactions(file).unwrap(), []);
            assert_eq!(value(&connection, "select count(*) from t").to_string(), "1");
        } else {
            drop(transaction);
            other.close().unwrap();
        }
        connection.close().unwrap();
        let how = Repair { read_only: true, full: true, ..Repair::default() };
        assert_eq!(services.repair(file, how).unwrap(), Vec::<String>::new(), "there is nothing to repair");
        match services.server_log() {
            // Not every server keeps one.
            Err(error) if error.has(isc::SYS_REQUEST) => {}
            told => drop(unless_missing(&place, told)),
        }
        services.close().unwrap();
        place.drop_when_alone(&location);
    }
}

#[test]
fn backups_hold_and_restores_make_what_is_asked_for() {
    for place in all() {
        let location = place.location();
        let connection = place.create_at(&location);
        run(&connection, &["create table t (n integer)", "insert into t values (1)"]);
        connection.close().unwrap();
        let (services, file) = services_of(&place, &location);
        let mut backup = Vec::new();
        let options = BackupOptions { metadata_only: true, ..BackupOptions::default() };
        let take = |bytes: &[u8]| {
            backup.extend_from_slice(bytes);
            Ok(())
        };
        services.back_up_with::<Error>(file, &options, take).unwrap();
        // A service that has failed has done with its connection, so each gets one of its own.
        let restore = |replace| {
            let (services, file) = services_of(&place, &location);
            let options = RestoreOptions {
                replace,
                page_size: Some(16_384),
                read_only: Some(true),
                ..RestoreOptions::default()
            };
            let mut rest = &backup[..];
            let read = |room: &mut [u8]| Ok(std::io::Read::read(&mut rest, room).unwrap());
            services.restore_with::<Error>(file, &options, read, |_| Ok(()))
        };
        assert!(restore(false).is_err(), "there is one");
        restore(true).unwrap();
        let connection = Connection::attach(&location, &place.options).unwrap();
        assert_eq!(value(&connection, "select count(*) from t"), Value::integer(0));
        if !place.is_own() {
            let told = "select mon$page_size || ' ' || mon$read_only from mon$database";
            assert_eq!(value(&connection, told).to_string(), "16384 1");
        }
        connection.close().unwrap();
        let (services, file) = services_of(&place, &location);
        services.set_property(file, Property::ReadOnly(false)).unwrap();
        place.drop_at(&location);
    }
}

#[test]
fn trace_sessions_are_started_listed_suspended_and_stopped() {
    for place in all() {
        let location = place.location();
        let connection = place.create_at(&location);
        let (tracing, file) = services_of(&place, &location);
        let (services, _) = services_of(&place, &location);
        let name = file.rsplit('/').next().unwrap();
        let configuration = format!(
            "database = %{name} {{\n enabled = true\n log_statement_finish = true\n time_threshold = 0\n}}\n"
        );
        let label = format!("farbird {name}");
        if let Some(id) = unless_missing(&place, tracing.start_trace(&label, &configuration)) {
            let session = || {
                let sessions = services.trace_sessions().unwrap();
                sessions.into_iter().find(|session| session.id == id)
            };
            let listed = session().unwrap();
            assert_eq!((listed.name.as_str(), listed.user.as_str()), (label.as_str(), "SYSDBA"));
            assert!(listed.flags.contains("active"), "{listed:?}");
            services.suspend_trace(id).unwrap();
            assert!(session().unwrap().flags.contains("suspend"));
            services.resume_trace(id).unwrap();
            assert!(session().unwrap().flags.contains("active"));
            let again = Connection::attach(&location, &place.options).unwrap();
            assert_eq!(value(&again, "select 4711 from rdb$database").to_string(), "4711");
            again.close().unwrap();
            let mut said = String::new();
            for _ in 0..100 {
                match tracing.poll_for(Duration::from_secs(1)).unwrap() {
                    Polled::Said(bytes) => said.push_str(&String::from_utf8_lossy(&bytes)),
                    Polled::Nothing => {}
                    Polled::Ended => panic!("it has ended: {said}"),
                }
                if said.contains("select 4711") {
                    break;
                }
            }
            assert!(said.contains("select 4711"), "{said}");
            services.stop_trace(id).unwrap();
            assert_eq!(session(), None);
            while tracing.poll_for(Duration::from_secs(1)).unwrap() != Polled::Ended {}
        }
        services.close().unwrap();
        tracing.close().unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn users_are_managed_and_statistics_told() {
    for place in all() {
        let location = place.location();
        let connection = place.create_at(&location);
        let (server, file) = location.split_once(':').unwrap();
        let (host, port) = server.split_once('/').unwrap();
        let services = Services::attach(host, port.parse().unwrap(), &place.options).unwrap();
        let version = services.server_version().unwrap();
        assert!(version.contains("Firebird") || version.contains("Farbird"), "{version}");

        let name = format!("CLIENT_{}", std::process::id());
        let user = User { name: name.clone(), first_name: "Ada".to_owned(), ..User::default() };
        services.add_user(&user, "secret").unwrap();
        assert!(services.users(None).unwrap().iter().any(|known| known.name == name));
        let changed = User { last_name: "L".to_owned(), ..user };
        services.modify_user(&changed, None).unwrap();
        let [known] = &services.users(Some(&name)).unwrap()[..] else { panic!("one user") };
        assert_eq!((known.first_name.as_str(), known.last_name.as_str()), ("Ada", "L"));
        services.delete_user(&name).unwrap();
        assert!(services.users(None).unwrap().iter().all(|known| known.name != name));

        let lines = services.statistics(file, Statistics::Header).unwrap();
        assert!(lines.iter().any(|line| line.contains("Page size")), "{lines:?}");
        let unknown = ServiceAction::new(200);
        assert!(services.run(&unknown).is_err());
        services.close().unwrap();
        connection.drop_database().unwrap();
    }
}
