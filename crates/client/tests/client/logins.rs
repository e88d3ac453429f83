//! Logging in, with and without encryption and compression, and being refused.

use farbird_client::blocking::Connection;
use farbird_client::{AuthPlugin, ConnectOptions, CryptPlugin, ProtocolVersion, Value, WireCrypt};
use farbird_types::isc;

use crate::servers::{TestServer, all, farbird, value};

fn work(place: &TestServer, options: &ConnectOptions) {
    let mut connection = place.create_with(options);
    let text = value(&mut connection, "select cast('grüße' as varchar(20)) from rdb$database");
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
        let mut connection = place.create_with(&options);
        assert!(connection.version() <= newest);
        assert_eq!(value(&mut connection, "select 1 from rdb$database"), Value::integer(1));
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
