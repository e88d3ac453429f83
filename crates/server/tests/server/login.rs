//! Logging in: plugins, passwords, ciphers, compression.

use farbird_types::{Value, isc};
use farbird_wire::auth::AuthPlugin;
use farbird_wire::clumplet::dpb;
use farbird_wire::crypt::CryptPlugin;
use farbird_wire::info::{InfoReader, database};
use farbird_wire::negotiation::WireCrypt;
use farbird_wire::packet::Request;
use farbird_wire::protocol::{Handle, ProtocolVersion};

use farbird_server::config::WireEncryption;

use crate::common::{Client, Login, TestServer};

/// The plugins that yield a key.
fn srp_plugins() -> Vec<AuthPlugin> {
    AuthPlugin::ALL.into_iter().filter(|plugin| *plugin != AuthPlugin::Legacy).collect()
}

/// A server that takes Legacy_Auth too.
fn with_legacy() -> TestServer {
    TestServer::with(|config| config.authentication = AuthPlugin::ALL.to_vec())
}

#[test]
fn every_variant_of_srp_lets_in_who_knows_the_password() {
    let server = TestServer::start();
    for plugin in srp_plugins() {
        for wire_crypt in [WireCrypt::Enabled, WireCrypt::Disabled] {
            let login = Login { plugin, wire_crypt, ..Login::default() };
            let mut client = Client::log_in(server.address, &login).unwrap();
            let name = format!("{}_{}.fbd", plugin.name(), wire_crypt as i32);
            client.create(&name, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(client.value("SELECT CURRENT_USER FROM RDB$DATABASE"), Value::text("SYSDBA"));
        }
    }
}

#[test]
fn a_wrong_password_is_refused_and_so_is_an_unknown_user() {
    let server = TestServer::start();
    for (plugin, user) in srp_plugins().into_iter().zip(["sysdba", "nobody", "sysdba", "\"x\"", "nobody"]) {
        let login = Login { plugin, user: user.to_owned(), password: "wrong".to_owned(), ..Login::default() };
        // The answers to a user's first failures are not delayed; a success in between forgets the user's own.
        let error = Client::log_in(server.address, &login).err();
        assert_eq!(error.map(|error| error.gds_code()), Some(isc::LOGIN), "{}", plugin.name());
        Client::log_in(server.address, &Login::default()).unwrap();
    }
}

#[test]
fn a_wrong_password_in_the_attach_is_refused() {
    let server = TestServer::start();
    let login = Login { wire_crypt: WireCrypt::Disabled, password: "wrong".to_owned(), ..Login::default() };
    let mut client = Client::log_in(server.address, &login).unwrap();
    assert_eq!(client.create("a.fbd", &[]).unwrap_err().gds_code(), isc::LOGIN);
    assert!(client.is_closed_by_server());
}

#[test]
fn legacy_authentication_is_refused_unless_configured() {
    let server = TestServer::start();
    let login = Login { plugin: AuthPlugin::Legacy, ..Login::default() };
    let error = Client::log_in(server.address, &login).err().expect("Legacy_Auth is off by default");
    assert!(error.has(isc::LOGIN) || error.has(isc::LOGIN_ERROR), "{error}");
    let old = Login { newest: ProtocolVersion::V12, ..Login::default() };
    let mut client = Client::log_in(server.address, &old).unwrap();
    assert_eq!(client.create("a.fbd", &[]).unwrap_err().gds_code(), isc::LOGIN);
}

#[test]
fn legacy_authentication_works_where_it_is_configured() {
    let server = with_legacy();
    let login = Login { plugin: AuthPlugin::Legacy, ..Login::default() };
    let mut client = Client::log_in(server.address, &login).unwrap();
    client.create("a.fbd", &[]).unwrap();
    let wrong = Login { password: "wrong".to_owned(), ..login };
    let error = Client::log_in(server.address, &wrong).err().expect("the password is wrong");
    assert_eq!(error.gds_code(), isc::LOGIN);
}

#[test]
fn every_cipher_encrypts_with_and_without_compression() {
    let server = TestServer::start();
    let _owner = server.create("a.fbd");
    for cipher in CryptPlugin::ALL {
        for compress in [false, true] {
            let login = Login { cipher: Some(cipher), compress, ..Login::default() };
            let mut client = Client::log_in(server.address, &login).unwrap();
            client.attach("a.fbd", &[]).unwrap();
            assert_eq!(client.cipher, Some(cipher));
            let information = client.information(Handle::NONE, &[database::WIRE_CRYPT, database::CONN_FLAGS]);
            let response = client.ask(Request::DatabaseInformation(information)).unwrap();
            let items: Vec<_> = InfoReader::new(&response.data).map(Result::unwrap).collect();
            assert_eq!(items[0].value, cipher.name().as_bytes());
            assert_eq!(items[1].integer(), Some(i64::from(compress) + 2));
            let sql = "SELECT RPAD('x', 5000, 'abc') FROM RDB$TYPES";
            let rows = client.query(sql);
            assert!(rows.len() > 50, "{} rows", rows.len());
        }
    }
}

#[test]
fn compression_shortens_what_travels() {
    let server = TestServer::start();
    let _owner = server.create("a.fbd");
    let mut bytes = Vec::new();
    for compress in [false, true] {
        let mut client = Client::log_in(server.address, &Login { compress, ..Login::default() }).unwrap();
        client.attach("a.fbd", &[]).unwrap();
        client.query("SELECT RPAD('x', 5000, 'abc') FROM RDB$TYPES");
        assert_eq!(compress, client.counters.receive_bytes < client.counters.in_bytes);
        bytes.push(client.counters.receive_bytes);
    }
    assert!(bytes[1] < bytes[0] / 5, "{bytes:?}");
}

#[test]
fn required_encryption_refuses_who_cannot() {
    let server = TestServer::with(|config| {
        config.wire_encryption = WireEncryption::Required;
        config.authentication = AuthPlugin::ALL.to_vec();
    });
    let can = Login { cipher: Some(CryptPlugin::ChaCha64), ..Login::default() };
    let mut client = Client::log_in(server.address, &can).unwrap();
    client.create("a.fbd", &[]).unwrap();

    let will_not = Login { wire_crypt: WireCrypt::Disabled, ..Login::default() };
    let error = Client::log_in(server.address, &will_not).err().expect("encryption is required");
    assert_eq!(error.gds_code(), isc::WIRECRYPT_INCOMPATIBLE);

    // Logs in, and attaches without having encrypted.
    let mut does_not = Client::log_in(server.address, &Login::default()).unwrap();
    assert_eq!(does_not.attach("a.fbd", &[]).unwrap_err().gds_code(), isc::MISS_WIRECRYPT);
}

#[test]
fn disabled_encryption_offers_no_keys() {
    let server = TestServer::with(|config| config.wire_encryption = WireEncryption::Disabled);
    let required = Login { wire_crypt: WireCrypt::Required, ..Login::default() };
    let error = Client::log_in(server.address, &required).err().expect("encryption is off");
    assert_eq!(error.gds_code(), isc::WIRECRYPT_INCOMPATIBLE);
}

#[test]
fn an_attach_as_somebody_else_is_refused() {
    let server = TestServer::start();
    let _owner = server.create("a.fbd");
    let mut client = Client::log_in(server.address, &Login::default()).unwrap();
    let error = client.attach("a.fbd", &[(dpb::USER_NAME, b"other")]).unwrap_err();
    assert!(error.has(isc::LOGIN), "{error}");
}

/// A user's first failures from an address are answered at once, the fifth is held back. Others do not wait for it.
#[test]
fn logins_go_on_while_the_answer_to_a_failed_one_is_held_back() {
    let server = TestServer::start();
    let wrong = Login { user: "nobody".to_owned(), password: "wrong".to_owned(), ..Login::default() };
    for _ in 0..4 {
        Client::log_in(server.address, &wrong).err().expect("the password is wrong");
    }
    let address = server.address;
    let held_back = std::thread::spawn(move || Client::log_in(address, &wrong).err());
    while !held_back.is_finished() {
        Client::log_in(address, &Login::default()).unwrap();
    }
    assert_eq!(held_back.join().unwrap().map(|error| error.gds_code()), Some(isc::LOGIN));
}

/// Connections at one time make no more guesses than one: when too many wait for their turn, not even the right password is
/// looked at, and the answer is that to a wrong one.
#[test]
fn parallel_connections_make_no_more_guesses() {
    let server = TestServer::start();
    let address = server.address;
    let (answered, answers) = std::sync::mpsc::channel();
    for n in 0..30 {
        let login = Login { password: format!("guess {n}"), ..Login::default() };
        let answered = answered.clone();
        // Those that wait for their turn are left behind when the server ends.
        std::thread::spawn(move || answered.send(Client::log_in(address, &login).is_ok()));
    }
    // The first few are answered at once, and those for which there is no turn.
    for _ in 0..20 {
        assert!(!answers.recv().unwrap());
    }
    let error = Client::log_in(address, &Login::default()).err().expect("no turn is left");
    assert_eq!(error.gds_code(), isc::LOGIN);
}
