//! A server whose disk is full, played by a limit of the size of its files: writers are told, readers go on, and once there is room
//! the server writes again, without a restart.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use farbird::Value;
use farbird_client::blocking::Connection;
use farbird_client::{ConnectOptions, CreateOptions, Transaction};
use farbird_types::error::StatusArgument;
use farbird_types::{Error, isc};

const FARBIRD: &str = env!("CARGO_BIN_EXE_farbird");
const PASSWORD: &str = "a secret of the tests";
/// More than enough to fill what the limit leaves.
const ROWS_MAX: i32 = 5_000;

/// A running server, which ignores the signal that tells of the limit, so that its writes fail.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(folder: &Path) -> Server {
        let mut process = Command::new("sh")
            .args(["-c", "trap '' XFSZ; exec \"$0\" serve --listen 127.0.0.1:0 --data data", FARBIRD])
            .current_dir(folder)
            .env("FARBIRD_SYSDBA_PASSWORD", PASSWORD)
            .env("FARBIRD_LOG", "off")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let address = line.split(" listens on ").nth(1).and_then(|rest| rest.split(',').next());
        let address = address.expect("an address").replace(':', "/");
        Server { process, address }
    }

    fn database(&self) -> String {
        format!("{}:full.fbd", self.address)
    }

    /// Sets how long its files may become, in bytes.
    fn limit_files(&self, limit: &str) {
        let status = Command::new("prlimit")
            .arg(format!("--pid={}", self.process.id()))
            .arg(format!("--fsize={limit}:"))
            .status();
        assert!(status.expect("prlimit (util-linux) runs").success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn login() -> ConnectOptions {
    ConnectOptions::new("SYSDBA", PASSWORD)
}

fn begin(client: &mut Connection) -> Transaction {
    client.begin(&Default::default()).expect("a transaction")
}

fn count(client: &mut Connection) -> i32 {
    let transaction = begin(client);
    let rows = client.query_all(&transaction, "select count(*) from t").expect("reads go on");
    client.rollback(transaction).expect("rollback");
    (0..=ROWS_MAX).find(|count| rows == [[Value::integer(i64::from(*count))]]).expect("a count")
}

/// Text that does not become shorter by packing it.
fn text(seed: i32) -> String {
    let mut state = u64::from(seed.unsigned_abs()).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let letter = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'!' + 7 + (state % 80) as u8)
    };
    (0..4_000).map(letter).collect()
}

/// Inserts a row and commits it: by a statement, or retaining.
fn add_row(client: &mut Connection, number: i32) -> Result<(), Error> {
    let transaction = begin(client);
    let insert = format!("insert into t values ({number}, '{}')", text(number));
    let done = client.run(&transaction, &insert).and_then(|()| match number % 2 {
        0 => client.run(&transaction, "commit"),
        _ => client.commit_retaining(&transaction),
    });
    if done.is_err() || number % 2 != 0 {
        // As in Firebird, the transaction is still there.
        client.rollback(transaction).expect("rollback");
    }
    done
}

/// Runs a statement in a transaction of its own.
fn run(client: &mut Connection, sql: &str) -> Result<(), Error> {
    let transaction = begin(client);
    let done = client.run(&transaction, sql).and_then(|()| client.commit_retaining(&transaction));
    client.rollback(transaction).expect("rollback");
    done
}

/// The program, as a client of the server.
fn farbird(arguments: &[&str]) -> Command {
    let mut command = Command::new(FARBIRD);
    command.args(arguments).env("ISC_USER", "SYSDBA").env("ISC_PASSWORD", PASSWORD);
    command
}

fn assert_names_the_file(error: &Error) {
    let item = error.items().iter().find(|item| item.gds_code == isc::IO_ERROR);
    let item = item.unwrap_or_else(|| panic!("no isc_io_error: {error}"));
    let file = match item.arguments.get(1) {
        Some(StatusArgument::Text(file)) => file.as_str(),
        other => panic!("{other:?}"),
    };
    assert!(file.ends_with("full.fbd"), "{error}");
}

#[test]
fn a_full_disk_stops_writers_only_and_only_for_as_long_as_it_is_full() {
    let folder = tempfile::tempdir().expect("folder");
    let server = Server::start(folder.path());
    let mut client =
        Connection::create(&server.database(), &CreateOptions::default(), &login()).expect("create");
    let transaction = begin(&mut client);
    client.run(&transaction, "create table t (a integer primary key, b varchar(8000))").expect("create");
    client.commit(transaction).expect("commit");
    for number in 0..10 {
        add_row(&mut client, number).expect("there is room");
    }

    let path = folder.path().join("data/full.fbd");
    let size = std::fs::metadata(&path).expect("the file").len();
    server.limit_files(&(size + 100_000).to_string());
    let mut acknowledged = 10;
    let mut failures = 0;
    while failures < 4 {
        assert!(acknowledged < ROWS_MAX, "the disk does not get full");
        match add_row(&mut client, acknowledged) {
            Ok(()) => acknowledged += 1,
            Err(error) => {
                assert_names_the_file(&error);
                assert_eq!(count(&mut client), acknowledged);
                failures += 1;
            }
        }
    }
    let mut another = Connection::attach(&server.database(), &login()).expect("who only reads comes in");
    assert_eq!(count(&mut another), acknowledged);

    // docs/store.md, "When the disk is full": no room is made by what takes some itself, and a backup goes elsewhere.
    for sql in ["delete from t where a = 1", "drop table t"] {
        let error = run(&mut client, sql).expect_err(sql);
        assert_names_the_file(&error);
    }
    let backup = folder.path().join("elsewhere.fbb");
    let made = farbird(&["backup", &server.database()]).arg(&backup).output().expect("runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let restored = folder.path().join("elsewhere.fbd");
    let made = farbird(&["restore"]).args([&backup, &restored]).output().expect("runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let copy = farbird::Database::open(&restored).expect("opens").connect().expect("connects");
    let rows: i32 = copy.query_one("select count(*) from t", ()).expect("a count");
    assert_eq!(rows, acknowledged);

    server.limit_files("unlimited");
    let mut attempts = 0;
    while let Err(error) = add_row(&mut client, acknowledged) {
        assert_names_the_file(&error);
        attempts += 1;
        assert!(attempts < 1_000, "{error}");
    }
    acknowledged += 1;
    run(&mut client, "delete from t where a = 1").expect("there is room again");
    acknowledged -= 1;
    assert_eq!(count(&mut another), acknowledged);
    drop(server);

    // A file that nobody has open is backed up without growing.
    let size = std::fs::metadata(&path).expect("the file").len();
    let made = Command::new("prlimit")
        .args([&format!("--fsize={size}:"), "sh", "-c", "trap '' XFSZ; exec \"$0\" backup \"$1\" -", FARBIRD])
        .arg(&path)
        .output()
        .expect("runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert!(!made.stdout.is_empty());

    let server = Server::start(folder.path());
    let mut client = Connection::attach(&server.database(), &login()).expect("attach");
    assert_eq!(count(&mut client), acknowledged);
    drop(server);
    let check = Command::new(FARBIRD).arg("check").arg(&path).output().expect("runs");
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
}
