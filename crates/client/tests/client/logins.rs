//! Logging in, with and without encryption and compression, and being refused.

use farbird_client::blocking::Connection;
use farbird_client::{
    AuthPlugin, ConnectOptions, CreateOptions, CryptPlugin, ProtocolVersion, Tuning, Value, WireCrypt,
};
use farbird_types::isc;
use farbird_wire::auth::srp::ProofHash;

use crate::servers::{TestServer, all, begin, farbird, farbird_of, run, value};

fn work(place: &TestServer, options: &ConnectOptions) {
    let connection = place.create_with(options);
    let text = value(&connection, "select cast('grüße' as varchar(20)) from rdb$database");
    assert_eq!(text, Value::text("grüße"), "{options:?}");
    connection.drop_database().unwrap();
}

#[test]
fn every_cipher_and_compression_carry_a_day_of_work() {
    for place in all() {
        for compress in [false, true] {
            for cipher in CryptPlugin::ALL {
                // Servers before Firebird 5 have some of them only.
                let ciphers = vec![cipher, CryptPlugin::Arc4];
                work(&place, &ConnectOptions { compress, ciphers, ..place.options.clone() });
            }
        }
    }
    let place = farbird();
    for compress in [false, true] {
        work(&place, &ConnectOptions { compress, ciphers: Vec::new(), ..place.options.clone() });
    }
}

#[test]
fn srp_with_sha1_and_a_change_of_plugin_work() {
    let srp = AuthPlugin::from_name(b"Srp").unwrap();
    let srp256 = AuthPlugin::from_name(b"Srp256").unwrap();
    let srp512 = AuthPlugin::from_name(b"Srp512").unwrap();
    // A server may have a part of these only, and then names one of them.
    for plugins in [vec![srp512, srp256, srp], vec![srp512, srp, srp256]] {
        for place in all() {
            let options = ConnectOptions { plugins: plugins.clone(), ..place.options.clone() };
            place.create_with(&options).drop_database().unwrap();
        }
    }
}

#[test]
fn a_line_that_must_not_be_encrypted_logs_in_inside_the_attach() {
    let place = farbird();
    let options = ConnectOptions { wire_crypt: WireCrypt::Disabled, ..place.options.clone() };
    place.create_with(&options).drop_database().unwrap();
}

#[test]
fn every_protocol_since_firebird_3_works() {
    let place = farbird();
    for number in 13..=20 {
        let newest = ProtocolVersion::new(number).unwrap();
        let options = ConnectOptions { newest, ..place.options.clone() };
        let connection = place.create_with(&options);
        assert!(connection.version() <= newest);
        assert_eq!(value(&connection, "select 1 from rdb$database"), Value::integer(1));
        connection.drop_database().unwrap();
    }
}

#[test]
fn a_wrong_password_and_a_missing_database_are_told() {
    for place in all() {
        let location = place.location();
        let wrong = ConnectOptions { password: "wrong".to_owned(), ..place.options.clone() };
        let error = Connection::attach(&location, &wrong).unwrap_err();
        assert_eq!(error.gds_code(), isc::LOGIN, "{error}");
        let error = Connection::attach(&location, &place.options).unwrap_err();
        assert_eq!(error.gds_code(), isc::IO_ERROR, "{error}");
    }
}

#[test]
fn nobody_at_the_address_is_a_network_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let options = ConnectOptions::new("sysdba", "masterkey");
    let error = Connection::attach(&format!("127.0.0.1/{port}:x"), &options).unwrap_err();
    assert_eq!(error.gds_code(), isc::NETWORK_ERROR);
}

#[test]
fn the_server_says_who_it_is() {
    for place in all() {
        let connection = place.create();
        let version = connection.server_version().unwrap();
        assert!(version.contains("Firebird") || version.contains("Farbird"), "{version}");
        connection.ping().unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn protocols_without_plugins_log_in_by_the_attach() {
    let farbird = farbird_of(&[AuthPlugin::Srp(ProofHash::Sha256), AuthPlugin::Legacy]);
    old_protocols_work(&farbird);
    for place in all() {
        // Most servers do not admit the old login.
        let options = ConnectOptions { plugins: vec![AuthPlugin::Legacy], ..place.options.clone() };
        match Connection::create(&place.location(), &CreateOptions::default(), &options) {
            Ok(connection) => {
                connection.drop_database().unwrap();
                old_protocols_work(&place);
            }
            Err(error) => assert!([isc::LOGIN, isc::LOGIN_ERROR].contains(&error.gds_code()), "{error}"),
        }
    }
}

fn old_protocols_work(place: &TestServer) {
    for number in 10..=12 {
        let version = ProtocolVersion::new(number).unwrap();
        let options = ConnectOptions {
            oldest: version,
            newest: version,
            plugins: vec![AuthPlugin::Legacy],
            tuning: if number == 10 { Tuning::preset("2.0").unwrap() } else { Tuning::default() },
            ..place.options.clone()
        };
        work(place, &options);
        let connection = place.create_with(&options);
        assert_eq!(connection.version(), version);
        connection.ping().unwrap();
        run(&connection, &["create table t (id integer, name varchar(20), b blob)"]);
        let transaction = begin(&connection);
        let insert = connection.prepare(&transaction, "insert into t values (?, ?, ?)").unwrap();
        let blob = connection.write_blob(&transaction, b"contents").unwrap();
        connection
            .execute(&transaction, &insert, &[Value::integer(1), Value::Null, Value::Blob(blob)])
            .unwrap();
        let rows = connection.query_all(&transaction, "select id, name, b from t").unwrap();
        let [Value::Integer { unscaled: 1, .. }, Value::Null, Value::Blob(blob)] = &rows[0][..] else {
            panic!("{rows:?}")
        };
        assert_eq!(connection.read_blob(&transaction, *blob).unwrap(), b"contents");
        // Texts are as long as 16 bits count, and not a byte longer.
        let select = "select 1 from rdb$database";
        let text = |bytes: usize| format!("{select}{}", " ".repeat(bytes - select.len()));
        assert_eq!(connection.query_all(&transaction, &text(65_535)).unwrap(), [[Value::integer(1)]]);
        let error = connection.prepare(&transaction, &text(65_536)).unwrap_err();
        assert!(error.has(isc::IMP_EXC) && error.to_string().contains("65536"), "{error}");
        drop(insert);
        connection.rollback(transaction).unwrap();
        connection.drop_database().unwrap();

        let srp = ConnectOptions { plugins: place.options.plugins.clone(), ..options.clone() };
        let error = Connection::attach(&place.location(), &srp).unwrap_err();
        assert_eq!(error.gds_code(), isc::LOGIN, "{error}");
        let encrypted = ConnectOptions { wire_crypt: WireCrypt::Required, ..options };
        let error = Connection::attach(&place.location(), &encrypted).unwrap_err();
        // Firebird 3 refuses by itself what we would.
        let refusals = [isc::WIRECRYPT_INCOMPATIBLE, isc::CONNECT_REJECT];
        assert!(refusals.contains(&error.gds_code()), "{error}");
    }
}

#[test]
fn servers_show_who_runs_the_program_and_where() {
    for place in all() {
        let connection = place.create();
        let told = |column: &str| {
            let text =
                format!("select {column} from mon$attachments where mon$attachment_id = current_connection");
            value(&connection, &text).to_string()
        };
        if let Ok(user) = std::env::var("USER") {
            assert_eq!(told("mon$remote_os_user"), user);
        }
        if let Ok(host) = std::fs::read_to_string("/proc/sys/kernel/hostname") {
            let known = std::env::var("HOSTNAME").unwrap_or_else(|_| host.trim().to_owned());
            assert_eq!(told("mon$remote_host"), known);
        }
        connection.drop_database().unwrap();
    }
}
