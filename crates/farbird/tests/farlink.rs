//! `farbird pair`, `farbird edge` and `farbird serve --farlink` as an administrator uses them: pairing, revocation, transports, cut
//! links, shutdown. What a program sees is seen with our own driver, which is given the edge's address.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use farbird_client::blocking::Connection;
use farbird_client::{
    ConnectOptions, CreateOptions, Posted, Statement, Transaction, TransactionOptions, Value, WireCrypt,
};
use tempfile::TempDir;

/// No step of these tests takes as long on any machine; a test that would wait for ever fails instead.
const PATIENCE: Duration = Duration::from_secs(60);

fn farbird(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_farbird"));
    command.current_dir(folder).env("FARBIRD_SYSDBA_PASSWORD", "masterkey").env("FARBIRD_LOG", "info");
    command
}

/// A `farbird` process that listens.
struct Running {
    child: Child,
    /// Where, as it has said.
    address: SocketAddr,
    log: Arc<Mutex<String>>,
}

impl Running {
    /// `listens`: what stands before the address in what it says.
    fn start(mut command: Command, listens: &str) -> Running {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let (mut errors, kept) = (BufReader::new(child.stderr.take().unwrap()), log.clone());
        std::thread::spawn(move || {
            let mut line = String::new();
            while errors.read_line(&mut line).is_ok_and(|length| length > 0) {
                kept.lock().unwrap().push_str(&line);
                line.clear();
            }
        });
        let mut said = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        while !said.contains(listens) {
            let length = out.read_line(&mut said).unwrap();
            assert!(length > 0, "it ended: {said}{}", log.lock().unwrap());
        }
        std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
        let (_, behind) = said.split_once(listens).unwrap();
        let address = behind.trim_start().split([',', '\n']).next().unwrap().parse().unwrap();
        Running { child, address, log }
    }

    fn wait_for_log(&self, words: &str) {
        let begun = Instant::now();
        while !self.log.lock().unwrap().contains(words) {
            assert!(begun.elapsed() < PATIENCE, "`{words}` is not in the log: {}", self.log.lock().unwrap());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    fn exit_code(&mut self) -> Option<i32> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end: {}", self.log.lock().unwrap());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What `farbird pair` prints.
fn pair(folder: &Path, keys: &str, arguments: &[&str]) -> String {
    let output = farbird(folder).args(["pair", "--keys", keys]).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A folder in which both ends know each other.
fn paired() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let edge = pair(folder.path(), "edge", &["--name", "london"]);
    let origin = pair(folder.path(), "origin", &["--name", "tokyo", edge.trim()]);
    pair(folder.path(), "edge", &[origin.trim()]);
    folder
}

fn serve(folder: &Path) -> Running {
    let mut command = farbird(folder);
    command.args([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--farlink",
        "127.0.0.1:0",
        "--farlink-keys",
        "origin",
    ]);
    Running::start(command, "its farlink listens on")
}

fn edge(folder: &Path, origin: SocketAddr, arguments: &[&str]) -> Running {
    let mut command = farbird(folder);
    command.args(["edge", "--listen", "127.0.0.1:0", "--keys", "edge", "--origin", &origin.to_string()]);
    Running::start(
        {
            command.args(arguments);
            command
        },
        "listens on",
    )
}

fn options() -> ConnectOptions {
    ConnectOptions::new("sysdba", "masterkey")
}

fn create(edge: &Running) -> Connection {
    let location = format!("127.0.0.1/{}:test.fdb", edge.address.port());
    let connection = Connection::create(&location, &CreateOptions::default(), &options()).unwrap();
    let transaction = connection.begin(&TransactionOptions::default()).unwrap();
    connection.run(&transaction, "create table t (id integer not null primary key)").unwrap();
    connection.commit(transaction).unwrap();
    connection
}

fn insert(connection: &Connection, id: i32) {
    let transaction = connection.begin(&TransactionOptions::default()).unwrap();
    connection.run(&transaction, &format!("insert into t values ({id})")).unwrap();
    connection.commit(transaction).unwrap();
}

fn count(connection: &Connection) -> Value {
    let transaction = connection.begin(&TransactionOptions::default()).unwrap();
    let count = connection.query_all(&transaction, "select count(*) from t").unwrap()[0][0].clone();
    connection.commit(transaction).unwrap();
    count
}

/// A network in between that lets TCP pass, and no UDP; it can be cut.
struct Network {
    address: SocketAddr,
    origin: Arc<Mutex<SocketAddr>>,
    passing: Arc<Mutex<Vec<TcpStream>>>,
    /// How many pieces of data still pass before it is cut for good; none if it is not to be cut.
    left: Arc<Mutex<Option<u32>>>,
}

impl Network {
    fn to(origin: SocketAddr) -> Network {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let origin = Arc::new(Mutex::new(origin));
        let network = Network { address, origin, passing: Arc::default(), left: Arc::default() };
        let (all, left, origin) = (network.passing.clone(), network.left.clone(), network.origin.clone());
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let near = near.unwrap();
                if *left.lock().unwrap() == Some(0) {
                    continue;
                }
                let origin = *origin.lock().unwrap();
                // It may have been killed.
                let Ok(far) = TcpStream::connect(origin) else { continue };
                all.lock().unwrap().extend([near.try_clone().unwrap(), far.try_clone().unwrap()]);
                for (from, to) in [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)] {
                    let left = left.clone();
                    std::thread::spawn(move || pass(from, to, &left));
                }
            }
        });
        network
    }

    fn cut(&self) {
        for stream in self.passing.lock().unwrap().drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Nothing passes any more when so many pieces of data have.
    fn cut_after(&self, pieces: u32) {
        *self.left.lock().unwrap() = Some(pieces);
        if pieces == 0 {
            self.cut();
        }
    }

    fn mend(&self) {
        *self.left.lock().unwrap() = None;
        self.cut();
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, left: &Mutex<Option<u32>>) {
    let mut buffer = [0; 4096];
    while let Ok(length) = from.read(&mut buffer)
        && length > 0
    {
        let mut left = left.lock().unwrap();
        match &mut *left {
            Some(0) => break,
            Some(pieces) => *pieces -= 1,
            None => {}
        }
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
    let _ = from.shutdown(std::net::Shutdown::Both);
}

#[test]
fn two_commands_set_up_a_site() {
    let folder = paired();
    let server = serve(folder.path());
    let edge = edge(folder.path(), server.address, &[]);
    let connection = create(&edge);
    insert(&connection, 1);
    assert_eq!(count(&connection), Value::Integer { unscaled: 1, scale: 0 });
    edge.wait_for_log("by QUIC");
    assert!(pair(folder.path(), "edge", &["--list"]).starts_with("tokyo\t"));
}

#[test]
fn who_is_revoked_is_out_at_once_and_for_good() {
    let folder = paired();
    let server = serve(folder.path());
    let edge = edge(folder.path(), server.address, &[]);
    let connection = create(&edge);
    pair(folder.path(), "origin", &["--revoke", "london"]);
    server.wait_for_log("the peer was revoked");
    let begun = Instant::now();
    let transaction = loop {
        let broken = connection.begin(&TransactionOptions::default()).and_then(|transaction| {
            connection.query_all(&transaction, "select count(*) from t").map(|_| ())?;
            connection.commit(transaction)
        });
        if broken.is_err() {
            break broken;
        }
        assert!(begun.elapsed() < PATIENCE, "the program still reaches the server");
    };
    assert!(transaction.is_err());
    edge.wait_for_log("cannot reach the origin");
    let line = pair(folder.path(), "edge", &[]);
    let again = farbird(folder.path()).args(["pair", "--keys", "origin", line.trim()]).output().unwrap();
    assert!(!again.status.success());
    assert!(String::from_utf8_lossy(&again.stderr).contains("revoked"));
}

/// The list of trusted ends is looked at when somebody comes: no end must be started anew for it, or have a link.
#[test]
fn who_is_paired_or_revoked_while_nobody_is_linked_counts_from_then_on() {
    let folder = paired();
    let server = serve(folder.path());
    pair(folder.path(), "origin", &["--revoke", "london"]);
    pair(folder.path(), "new", &["--name", "new", pair(folder.path(), "origin", &[]).trim()]);
    pair(folder.path(), "origin", &[pair(folder.path(), "new", &[]).trim()]);
    let revoked = edge(folder.path(), server.address, &[]);
    revoked.wait_for_log("not paired with each other");
    assert!(!revoked.log.lock().unwrap().contains("connected with"));
    let origin = server.address.to_string();
    let mut command = farbird(folder.path());
    command.args(["edge", "--listen", "127.0.0.1:0", "--origin", &origin, "--keys", "new"]);
    Running::start(command, "listens on").wait_for_log("linked with tokyo");
}

#[test]
fn strangers_get_nowhere() {
    let folder = paired();
    let server = serve(folder.path());
    let line = pair(folder.path(), "stranger", &["--name", "stranger"]);
    // It knows the origin, which does not know it.
    pair(folder.path(), "stranger", &[pair(folder.path(), "origin", &[]).trim()]);
    for transport in ["quic", "tcp"] {
        let arguments = ["--keys", "stranger", "--transport", transport];
        let mut command = farbird(folder.path());
        command
            .args(["edge", "--listen", "127.0.0.1:0", "--origin", &server.address.to_string()])
            .args(arguments);
        let edge = Running::start(command, "listens on");
        edge.wait_for_log("not paired with each other");
        assert!(!edge.log.lock().unwrap().contains("linked with"));
    }
    // An origin that the edge does not know is none either.
    pair(folder.path(), "origin", &[line.trim()]);
    pair(folder.path(), "stranger", &["--revoke", "tokyo"]);
    let other = pair(folder.path(), "other", &["--name", "other"]);
    pair(folder.path(), "stranger", &[other.trim()]);
    let mut command = farbird(folder.path());
    command.args([
        "edge",
        "--listen",
        "127.0.0.1:0",
        "--keys",
        "stranger",
        "--origin",
        &server.address.to_string(),
    ]);
    let edge = Running::start(command, "listens on");
    edge.wait_for_log("not paired with each other");
}

#[test]
fn ends_that_know_nobody_do_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let without_key = farbird(folder.path()).args(["edge", "--origin", "localhost"]).output().unwrap();
    assert_eq!(without_key.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&without_key.stderr).contains("farbird pair"));
    pair(folder.path(), "farbird-farlink", &[]);
    let unpaired = farbird(folder.path()).args(["edge", "--origin", "localhost"]).output().unwrap();
    assert_eq!(unpaired.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unpaired.stderr).contains("no other end is paired"));
    let nowhere = farbird(folder.path()).arg("edge").output().unwrap();
    assert!(String::from_utf8_lossy(&nowhere.stderr).contains("--origin HOST"));
}

#[test]
fn where_udp_does_not_pass_tcp_does() {
    let folder = paired();
    let server = serve(folder.path());
    let network = Network::to(server.address);
    let edge = edge(folder.path(), network.address, &[]);
    let connection = create(&edge);
    insert(&connection, 1);
    assert_eq!(count(&connection), Value::Integer { unscaled: 1, scale: 0 });
    edge.wait_for_log("by TCP");
}

#[test]
fn a_cut_cable_is_not_noticed() {
    let folder = paired();
    let server = serve(folder.path());
    let network = Network::to(server.address);
    let edge = edge(folder.path(), network.address, &["--transport", "tcp"]);
    let connection = create(&edge);
    // An idle program, one in a transaction, and one that asks while there is no link.
    for id in 0..5 {
        let transaction = connection.begin(&TransactionOptions::default()).unwrap();
        connection.run(&transaction, &format!("insert into t values ({id})")).unwrap();
        network.cut();
        connection.run(&transaction, &format!("insert into t values ({})", id + 100)).unwrap();
        network.cut();
        connection.commit(transaction).unwrap();
        network.cut();
    }
    assert_eq!(count(&connection), Value::Integer { unscaled: 10, scale: 0 });
    edge.wait_for_log("nothing is lost");
}

#[test]
fn an_edge_that_is_told_to_stop_lets_programs_finish() {
    let folder = paired();
    let server = serve(folder.path());
    let mut edge = edge(folder.path(), server.address, &[]);
    let connection = create(&edge);
    let transaction = connection.begin(&TransactionOptions::default()).unwrap();
    connection.run(&transaction, "insert into t values (1)").unwrap();
    edge.signal("-HUP");
    edge.wait_for_log("read settings");
    edge.signal("-TERM");
    edge.wait_for_log("shuts down");
    connection.run(&transaction, "insert into t values (2)").unwrap();
    connection.commit(transaction).unwrap();
    connection.close().unwrap();
    assert_eq!(edge.exit_code(), Some(0));
    server.wait_for_log("the session with london is over");
}

/// A server that knows nothing of the farlink, and `farbird origin` before it.
fn origin_before(folder: &Path, settings: &str, arguments: &[&str]) -> (Running, Running) {
    std::fs::write(folder.join("server.toml"), settings).unwrap();
    let mut command = farbird(folder);
    command.args(["serve", "--listen", "127.0.0.1:0", "--config", "server.toml"]);
    let server = Running::start(command, "listens on");
    let mut command = farbird(folder);
    command.args(["origin", "--listen", "127.0.0.1:0", "--keys", "origin"]);
    command.args(["--server", &server.address.to_string()]).args(arguments);
    let origin = Running::start(command, "listens on");
    (server, origin)
}

fn write_private(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// A program's second connection goes to a port of the edge, and what the server says on the origin's comes there: in the same process as the
/// server, and before one that knows nothing of it.
#[test]
fn events_come_through_the_edge() {
    for is_one_process in [true, false] {
        let folder = paired();
        let _servers;
        let origin = if is_one_process {
            let server = serve(folder.path());
            let address = server.address;
            _servers = vec![server];
            address
        } else {
            let (server, origin) = origin_before(folder.path(), "wire-encryption = \"enabled\"\n", &[]);
            let address = origin.address;
            _servers = vec![server, origin];
            address
        };
        let edge = edge(folder.path(), origin, &[]);
        let poster = create(&edge);
        let place = format!("127.0.0.1/{}:test.fdb", edge.address.port());
        let listener = Connection::attach(&place, &options()).unwrap();
        let mut events = listener.events(&["ORDER"]).unwrap();
        let post = || {
            let transaction = poster.begin(&TransactionOptions::default()).unwrap();
            poster.run(&transaction, "execute block as begin post_event 'ORDER'; end").unwrap();
            poster.commit(transaction).unwrap();
        };
        for _ in 0..2 {
            post();
            let told = events.next(Some(PATIENCE)).unwrap().expect("events in time");
            assert_eq!(told, [Posted { name: "ORDER".to_owned(), count: 1 }]);
        }
        drop(events);
        // Both connections go on, and listen again.
        let mut events = listener.events(&["ORDER", "other"]).unwrap();
        post();
        let told = events.next(Some(PATIENCE)).unwrap().expect("events in time");
        assert_eq!(told, [Posted { name: "ORDER".to_owned(), count: 1 }]);
    }
}

/// The origin in a server makes its connections inside the process: the server still knows whose they are, and when they are over.
#[test]
fn sessions_in_one_process_carry_the_programs_address_and_end_with_the_program() {
    let folder = paired();
    let server = serve(folder.path());
    let edge = edge(folder.path(), server.address, &[]);
    let watcher = create(&edge);
    let line = Network::to(edge.address);
    let place = format!("127.0.0.1/{}:test.fdb", line.address.port());
    let attach = || {
        let program = Connection::attach(&place, &options()).unwrap();
        let address = line.passing.lock().unwrap().last().unwrap().local_addr().unwrap();
        (program, address.to_string())
    };
    let answer = |statement: &str| {
        let transaction = watcher.begin(&TransactionOptions::default()).unwrap();
        let rows = watcher.query_all(&transaction, statement).unwrap();
        watcher.commit(transaction).unwrap();
        rows[0][0].clone()
    };
    let wait_until_gone = |address: &str| {
        let begun = Instant::now();
        let of_address =
            format!("select count(*) from mon$attachments where mon$remote_address = '{address}'");
        while answer(&of_address) != (Value::Integer { unscaled: 0, scale: 0 }) {
            assert!(begun.elapsed() < PATIENCE, "the session of {address} does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    };

    // The program's stream ends: what it had locked is free.
    let (program, address) = attach();
    let transaction = program.begin(&TransactionOptions::default()).unwrap();
    program.run(&transaction, "insert into t values (1)").unwrap();
    let query = "select mon$remote_address from mon$attachments where mon$attachment_id = current_connection";
    let rows = program.query_all(&transaction, query).unwrap();
    let Value::Text(shown) = &rows[0][0] else { panic!("{rows:?}") };
    assert_eq!(String::from_utf8_lossy(shown.bytes()), address);
    server.wait_for_log(&format!("peer={address}"));
    line.cut();
    wait_until_gone(&address);
    insert(&watcher, 1);

    // The server ends the session: the program hears of it.
    let (program, address) = attach();
    let transaction = watcher.begin(&TransactionOptions::default()).unwrap();
    let end = format!("delete from mon$attachments where mon$remote_address = '{address}'");
    watcher.run(&transaction, &end).unwrap();
    watcher.commit(transaction).unwrap();
    wait_until_gone(&address);
    let transaction = program.begin(&TransactionOptions::default());
    assert!(transaction.and_then(|of| program.run(&of, "insert into t values (2)")).is_err());
}

/// As Firebird 3 and later do unless they are told otherwise.
#[test]
fn a_server_that_demands_encryption_is_reached_with_credentials() {
    let folder = paired();
    let file = folder.path().join("credentials");
    write_private(&file, "[users]\nsysdba = \"masterkey\"\nghost = \"boo\"\n");
    let demands = "wire-encryption = \"required\"\n";
    let (server, origin) = origin_before(folder.path(), demands, &["--credentials", "credentials"]);
    let edge = edge(folder.path(), origin.address, &[]);
    let place = format!("127.0.0.1/{}:test.fdb", edge.address.port());
    let connect = |user: &str, password: &str, wire_crypt| {
        Connection::attach(&place, &ConnectOptions { wire_crypt, ..ConnectOptions::new(user, password) })
    };
    let connection = create(&edge);
    insert(&connection, 1);
    // Programs encrypt as they like: what they have agreed upon is between them and the edge.
    for wire_crypt in [WireCrypt::Required, WireCrypt::Enabled, WireCrypt::Disabled] {
        let connection = connect("sysdba", "masterkey", wire_crypt).unwrap();
        assert_eq!(count(&connection), Value::Integer { unscaled: 1, scale: 0 });
    }
    // The program must know the password; so must the server.
    let direct = format!("127.0.0.1/{}:test.fdb", server.address.port());
    let refused = Connection::attach(&direct, &ConnectOptions::new("sysdba", "wrong")).unwrap_err();
    for (user, password) in [("sysdba", "wrong"), ("ghost", "boo"), ("ghost", "wrong")] {
        let error = connect(user, password, WireCrypt::Enabled).unwrap_err();
        assert_eq!(error.to_string(), refused.to_string(), "{user}");
    }
    // Whoever is not in the file logs in as ever, and hears from the server what it thinks of that.
    write_private(&file, "[users]\nghost = \"boo\"\n");
    origin.signal("-HUP");
    origin.wait_for_log("read settings and trusted ends again");
    let error = connect("sysdba", "masterkey", WireCrypt::Enabled).unwrap_err();
    assert!(error.to_string().contains("encrypt"), "{error}");
    // Those who are attached stay so.
    insert(&connection, 2);

    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    origin.signal("-HUP");
    origin.wait_for_log("chmod 600");
}

/// A server that does not encrypt wants the login inside the attach.
#[test]
fn a_server_that_does_not_encrypt_is_reached_with_credentials() {
    let folder = paired();
    write_private(&folder.path().join("credentials"), "[users]\nSYSDBA = \"masterkey\"\n");
    let never = "wire-encryption = \"disabled\"\n";
    let (_server, origin) = origin_before(folder.path(), never, &["--credentials", "credentials"]);
    let edge = edge(folder.path(), origin.address, &[]);
    let connection = create(&edge);
    insert(&connection, 1);
    assert_eq!(count(&connection), Value::Integer { unscaled: 1, scale: 0 });
}

#[test]
fn settings_are_read_again() {
    let folder = paired();
    let server = serve(folder.path());
    let settings = |text: &str| std::fs::write(folder.path().join("edge.toml"), text).unwrap();
    settings("programs-max = 5\n");
    let edge = edge(folder.path(), server.address, &["--config", "edge.toml"]);
    let connection = create(&edge);
    let place = format!("127.0.0.1/{}:test.fdb", edge.address.port());
    settings("programs-max = 1\nstrict-transactions = true\nstatus = \"127.0.0.1:1\"\n");
    edge.signal("-HUP");
    edge.wait_for_log("`status` is another one now: that takes a new start");
    edge.wait_for_log("read settings");
    assert!(Connection::attach(&place, &options()).is_err(), "there is room for one program only");
    insert(&connection, 1);
    settings("programs-max = 5\nahead-wait-ms = -1\n");
    edge.signal("-HUP");
    edge.wait_for_log("goes on with the settings that it has");
    settings("programs-max = 5\n");
    edge.signal("-HUP");
    let begun = Instant::now();
    while Connection::attach(&place, &options()).is_err() {
        assert!(begun.elapsed() < PATIENCE, "there is room for no further program");
    }
}

/// The same of a server that is its own origin.
#[test]
fn settings_of_a_server_are_read_again() {
    let folder = paired();
    let settings = |text: &str| std::fs::write(folder.path().join("origin.toml"), text).unwrap();
    settings("programs-max = 5\n");
    let mut command = farbird(folder.path());
    command.args(["serve", "--listen", "127.0.0.1:0", "--farlink", "127.0.0.1:0"]);
    command.args(["--farlink-keys", "origin", "--farlink-config", "origin.toml"]);
    let server = Running::start(command, "its farlink listens on");
    let edge = edge(folder.path(), server.address, &[]);
    let connection = create(&edge);
    let place = format!("127.0.0.1/{}:test.fdb", edge.address.port());
    settings("programs-max = 1\n");
    server.signal("-HUP");
    server.wait_for_log("read the farlink's settings");
    assert!(Connection::attach(&place, &options()).is_err(), "there is room for one program only");
    insert(&connection, 1);
    settings("programs-max = 5\nno-such-setting = 1\n");
    server.signal("-HUP");
    server.wait_for_log("goes on with the settings that it has");
    assert!(Connection::attach(&place, &options()).is_err(), "the settings are as they were");
    settings("programs-max = 5\n");
    server.signal("-HUP");
    let begun = Instant::now();
    while Connection::attach(&place, &options()).is_err() {
        assert!(begun.elapsed() < PATIENCE, "there is room for no further program");
    }
    // Who is trusted is read again, too.
    pair(folder.path(), "origin", &["--revoke", "london"]);
    server.signal("-HUP");
    edge.wait_for_log("the link is lost");
}

/// Nothing tells an edge that is linked by QUIC that a server was killed, but the one that comes in its place.
#[test]
fn a_server_that_comes_back_says_that_connections_are_gone() {
    let folder = paired();
    std::fs::write(folder.path().join("patient.toml"), "[link]\nping-seconds = 1\nsilence-seconds = 3600\n")
        .unwrap();
    let mut server = serve(folder.path());
    let origin = server.address;
    let edge = edge(folder.path(), origin, &["--transport", "quic", "--config", "patient.toml"]);
    let connection = create(&edge);
    server.signal("-KILL");
    server.child.wait().unwrap();
    let mut command = farbird(folder.path());
    command.args(["serve", "--listen", "127.0.0.1:0", "--farlink", &origin.to_string()]);
    command.args(["--farlink-keys", "origin"]);
    let _server = Running::start(command, "its farlink listens on");
    edge.wait_for_log("the link is lost");
    drop(connection);
    let place = format!("127.0.0.1/{}:test.fdb", edge.address.port());
    let begun = Instant::now();
    while Connection::attach(&place, &options()).is_err() {
        assert!(begun.elapsed() < PATIENCE, "the edge does not come back");
    }
}

/// The cable is cut at each step of a commit, for longer than transactions are waited for.
#[test]
fn a_commit_is_never_reported_wrongly() {
    let folder = paired();
    std::fs::write(folder.path().join("short.toml"), "transaction-grace-seconds = 1\n").unwrap();
    let mut command = farbird(folder.path());
    command.args(["serve", "--listen", "127.0.0.1:0", "--farlink", "127.0.0.1:0"]);
    command.args(["--farlink-keys", "origin", "--farlink-config", "short.toml"]);
    let server = Running::start(command, "its farlink listens on");
    let network = Network::to(server.address);
    let edge = edge(folder.path(), network.address, &["--transport", "tcp", "--config", "short.toml"]);
    drop(create(&edge));
    let place = format!("127.0.0.1/{}:test.fdb", edge.address.port());
    let (mut done, mut lost) = (0, 0);
    for step in 0..8 {
        let begun = Instant::now();
        let connection = loop {
            match Connection::attach(&place, &options()) {
                Ok(connection) => break connection,
                Err(error) => assert!(begun.elapsed() < PATIENCE, "{error}"),
            }
        };
        let transaction = connection.begin(&TransactionOptions::default()).unwrap();
        connection.run(&transaction, &format!("insert into t values ({step})")).unwrap();
        network.cut_after(step);
        let mending = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(2_500));
                network.mend();
            });
            connection.commit(transaction)
        });
        let begun = Instant::now();
        let is_there = loop {
            let seen = Connection::attach(&place, &options()).and_then(|connection| {
                let transaction = connection.begin(&TransactionOptions::default())?;
                let rows =
                    connection.query_all(&transaction, &format!("select id from t where id = {step}"))?;
                connection.commit(transaction)?;
                Ok(!rows.is_empty())
            });
            match seen {
                Ok(is_there) => break is_there,
                Err(error) => assert!(begun.elapsed() < PATIENCE, "{error}"),
            }
        };
        match mending {
            Ok(()) => {
                assert!(is_there, "step {step}: it was reported as done");
                done += 1;
            }
            Err(error) => {
                assert!(error.to_string().contains("connection"), "step {step}: {error}");
                assert!(
                    step > 0 || !is_there,
                    "it had not left the edge when the transaction was rolled back"
                );
                lost += 1;
            }
        }
    }
    assert!(done > 0 && lost > 0, "{done} done, {lost} lost");
}

/// The server is killed at each step of a commit, and is another process when the cable is mended: it tells by the commit's name what
/// became of it.
#[test]
fn a_commit_is_told_by_the_next_server() {
    let folder = paired();
    let mut server = serve(folder.path());
    let network = Network::to(server.address);
    let edge = edge(folder.path(), network.address, &["--transport", "tcp"]);
    drop(create(&edge));
    let place = format!("127.0.0.1/{}:test.fdb", edge.address.port());
    let attach = || {
        let begun = Instant::now();
        loop {
            match Connection::attach(&place, &options()) {
                Ok(connection) => return connection,
                Err(error) => assert!(begun.elapsed() < PATIENCE, "{error}"),
            }
        }
    };
    let (mut committed, mut rolled_back) = (0, 0);
    for step in 0..8 {
        let connection = attach();
        let transaction = connection.begin(&TransactionOptions::default()).unwrap();
        connection.run(&transaction, &format!("insert into t values ({step})")).unwrap();
        network.cut_after(step);
        let told = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(300));
                server.signal("-KILL");
                server.child.wait().unwrap();
                server = serve(folder.path());
                *network.origin.lock().unwrap() = server.address;
                network.mend();
            });
            connection.commit(transaction)
        });
        let connection = attach();
        let transaction = connection.begin(&TransactionOptions::default()).unwrap();
        let is_there = !connection
            .query_all(&transaction, &format!("select id from t where id = {step}"))
            .unwrap()
            .is_empty();
        match told {
            Ok(()) => {
                assert!(is_there, "step {step}: it was told as done");
                committed += 1;
            }
            Err(error) => {
                assert!(error.to_string().contains("rolled back"), "step {step}: nobody could tell: {error}");
                assert!(!is_there, "step {step}: it was told as rolled back");
                rolled_back += 1;
            }
        }
    }
    assert!(committed > 0 && rolled_back > 0, "{committed} committed, {rolled_back} rolled back");
}

/// A server with a farlink at this address, or at any port.
fn serve_at(folder: &Path, listen: &str) -> Running {
    let mut command = farbird(folder);
    command.args(["serve", "--listen", "127.0.0.1:0", "--farlink", listen, "--farlink-keys", "origin"]);
    Running::start(command, "its farlink listens on")
}

/// A connection that has read, with its prepared query.
fn reader(edge: &Running, user: &ConnectOptions) -> (Connection, Statement) {
    let place = format!("127.0.0.1/{}:test.fdb", edge.address.port());
    let connection = Connection::attach(&place, user).unwrap();
    let transaction = connection.begin(&TransactionOptions::default()).unwrap();
    let statement = connection.prepare(&transaction, "select * from t where id > ? order by id").unwrap();
    assert_eq!(read(&connection, &transaction, &statement).unwrap(), [1, 2]);
    connection.commit(transaction).unwrap();
    (connection, statement)
}

fn read(
    connection: &Connection,
    transaction: &Transaction,
    statement: &Statement,
) -> farbird_client::Result<Vec<i32>> {
    let mut found = Vec::new();
    for row in connection.query(transaction, statement, (0,))? {
        let (id,): (i32,) = row?.convert()?;
        found.push(id);
    }
    Ok(found)
}

/// What a prepared query gives in a transaction of its own.
fn read_again(connection: &Connection, statement: &Statement) -> farbird_client::Result<Vec<i32>> {
    let transaction = connection.begin(&TransactionOptions::default())?;
    let found = read(connection, &transaction, statement)?;
    connection.commit(transaction)?;
    Ok(found)
}

/// The server is killed, and another process is there: who has nothing in the session goes on, everybody else is told that the connection
/// is lost.
#[test]
fn idle_programs_go_on_when_their_server_is_started_anew() {
    let folder = paired();
    let mut server = serve_at(folder.path(), "127.0.0.1:0");
    let origin = server.address;
    let edge = edge(folder.path(), origin, &["--transport", "tcp"]);
    let writer = create(&edge);
    insert(&writer, 1);
    insert(&writer, 2);
    let run = |text: &str| {
        let transaction = writer.begin(&TransactionOptions::default()).unwrap();
        writer.run(&transaction, text).unwrap();
        writer.commit(transaction).unwrap();
    };
    run("create user alice password 'first'");
    run("create user bob password 'first'");
    run("grant select on t to public");
    let options = options();
    let (idle, known) = reader(&edge, &options);
    let (stranger, strange) = reader(&edge, &ConnectOptions::new("alice", "first"));
    let (friend, familiar) = reader(&edge, &ConnectOptions::new("bob", "first"));
    let place = format!("127.0.0.1/{}:test.fdb", edge.address.port());
    let unused = Connection::attach(&place, &options).unwrap();
    let (busy, _) = reader(&edge, &options);
    let open = busy.begin(&TransactionOptions::default()).unwrap();
    assert_eq!(busy.query_all(&open, "select id from t").unwrap().len(), 2);

    server.signal("-KILL");
    server.child.wait().unwrap();
    // Meanwhile one user gets another password, and the table another row.
    let mut command = farbird(folder.path());
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    let mut between = Running::start(command, "listens on");
    let direct = format!("127.0.0.1/{}:test.fdb", between.address.port());
    let admin = Connection::attach(&direct, &options).unwrap();
    for text in ["alter user alice password 'second'", "insert into t values (3)"] {
        let transaction = admin.begin(&TransactionOptions::default()).unwrap();
        admin.run(&transaction, text).unwrap();
        admin.commit(transaction).unwrap();
    }
    admin.close().unwrap();
    between.signal("-TERM");
    between.exit_code();
    let _server = serve_at(folder.path(), &origin.to_string());

    assert_eq!(read_again(&idle, &known).unwrap(), [1, 2, 3], "it has not noticed");
    assert_eq!(read_again(&friend, &familiar).unwrap(), [1, 2, 3]);
    assert_eq!(count(&unused), Value::Integer { unscaled: 3, scale: 0 });
    let lost = [
        ("another password", read_again(&stranger, &strange).map(drop)),
        ("an open transaction", busy.query_all(&open, "select id from t").map(drop)),
        (
            "it has written",
            writer.begin(&TransactionOptions::default()).and_then(|transaction| writer.commit(transaction)),
        ),
    ];
    for (name, outcome) in lost {
        let error = outcome.expect_err(name).to_string();
        assert!(error.contains("connection"), "{name}: {error}");
    }
    // It goes on as it was: with its user's privileges, and a table that has become another is not read as the old one.
    insert(&unused, 4);
    assert_eq!(read_again(&friend, &familiar).unwrap(), [1, 2, 3, 4]);
    assert!(Connection::attach(&place, &ConnectOptions::new("alice", "first")).is_err());
}

/// As soon as the link is back after it was given up, programs that have waited go on.
#[test]
fn idle_programs_go_on_as_soon_as_a_lost_link_is_back() {
    let folder = paired();
    std::fs::write(folder.path().join("edge.toml"), "transaction-grace-seconds = 1\n").unwrap();
    let mut server = serve_at(folder.path(), "127.0.0.1:0");
    let origin = server.address;
    let edge = edge(folder.path(), origin, &["--transport", "tcp", "--config", "edge.toml"]);
    edge.wait_for_log("linked with");
    let writer = create(&edge);
    insert(&writer, 1);
    insert(&writer, 2);
    let (idle, known) = reader(&edge, &options());
    server.signal("-KILL");
    server.child.wait().unwrap();
    // Long enough for the link to be given up; if it is not, this is an ordinary outage.
    std::thread::sleep(Duration::from_secs(2));
    let _server = serve_at(folder.path(), &origin.to_string());
    edge.wait_for_log("the session with the origin is over");
    assert_eq!(read_again(&idle, &known).unwrap(), [1, 2]);
}

/// The cable is cut at each step of attaching again: what the program reads then is right, or its connection is lost.
#[test]
fn attaching_again_is_cut_at_each_step() {
    let folder = paired();
    let mut server = serve(folder.path());
    let network = Network::to(server.address);
    let edge = edge(folder.path(), network.address, &["--transport", "tcp"]);
    let writer = create(&edge);
    insert(&writer, 1);
    insert(&writer, 2);
    drop(writer);
    let options = options();
    let mut gone_on = 0;
    for step in 0..10 {
        let begun = Instant::now();
        let place = format!("127.0.0.1/{}:test.fdb", edge.address.port());
        while let Err(error) = Connection::attach(&place, &options) {
            assert!(
                begun.elapsed() < PATIENCE,
                "step {step}: {error}: {}\n--- server {}",
                edge.log.lock().unwrap(),
                server.log.lock().unwrap()
            );
        }
        let (idle, known) = reader(&edge, &options);
        // Nothing passes until the next server is there; then so many pieces of data.
        network.cut_after(0);
        server.signal("-KILL");
        server.child.wait().unwrap();
        server = serve(folder.path());
        *network.origin.lock().unwrap() = server.address;
        network.cut_after(step);
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(500));
                network.mend();
            });
            read_again(&idle, &known)
        });
        match outcome {
            Ok(found) => {
                assert_eq!(found, [1, 2], "step {step}");
                assert_eq!(read_again(&idle, &known).unwrap(), [1, 2]);
                gone_on += 1;
            }
            Err(error) => assert!(error.to_string().contains("connection"), "step {step}: {error}"),
        }
    }
    assert!(gone_on > 0);
}
