//! A server that is killed at each step of a two-phase commit: what was prepared is there after each start, and whole however it is decided.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use farbird::Value;
use farbird_client::blocking::Connection;
use farbird_client::{ConnectOptions, CreateOptions, Transaction};
use farbird_types::isc;

const FARBIRD: &str = env!("CARGO_BIN_EXE_farbird");
const PASSWORD: &str = "a secret of the tests";

/// A running server.
struct Server {
    process: Child,
    location: String,
}

impl Server {
    fn start(folder: &Path) -> Server {
        let mut process = Command::new(FARBIRD)
            .args(["serve", "--listen", "127.0.0.1:0", "--data", "data"])
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
        let location = format!("{}:two.fbd", address.expect("an address").replace(':', "/"));
        Server { process, location }
    }

    fn attach(&self) -> Connection {
        Connection::attach(&self.location, &login()).expect("attaches")
    }

    /// SIGKILL, and another one on the same files.
    fn kill(self, folder: &Path) -> Server {
        drop(self);
        Server::start(folder)
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

fn begin(client: &Connection) -> Transaction {
    client.begin(&Default::default()).expect("a transaction")
}

fn run(client: &Connection, sql: &str) {
    let transaction = begin(client);
    client.run(&transaction, sql).expect(sql);
    client.commit(transaction).expect("commit");
}

fn rows(client: &Connection) -> Vec<i64> {
    let transaction = begin(client);
    let rows = client.query_all(&transaction, "select n from t order by n").expect("reads");
    client.rollback(transaction).expect("rollback");
    let known = |row: &Vec<Value>| (0..1_000).find(|number| *row == [Value::integer(*number)]);
    rows.iter().filter_map(known).collect()
}

#[test]
fn what_was_prepared_survives_kills_and_is_decided_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = Server::start(folder.path());
    let creator = Connection::create(&server.location, &CreateOptions::default(), &login()).expect("creates");
    run(&creator, "create table t (n integer not null primary key, b blob)");
    run(&creator, "insert into t (n) values (1)");
    drop(creator);
    for (commits, kept) in [(true, vec![2, 3]), (false, vec![2, 3]), (true, vec![3, 4])] {
        let client = server.attach();
        // Killed before it is prepared: nothing has happened.
        let before = rows(&client);
        let transaction = begin(&client);
        client.run(&transaction, "insert into t (n) values (900)").expect("inserts");
        server = server.kill(folder.path());
        drop((transaction, client));

        let client = server.attach();
        assert_eq!((rows(&client), client.limbo().expect("limbo")), (before.clone(), vec![]));
        let transaction = begin(&client);
        client.run(&transaction, "insert into t (n, b) select max(n) + 1, 'a BLOB' from t").expect("inserts");
        client.run(&transaction, "insert into t (n, b) values (500, lpad('', 30000, 'x'))").expect("inserts");
        client.run(&transaction, "delete from t where n = 500").expect("deletes");
        if before.len() == 1 {
            client.run(&transaction, "insert into t (n) select max(n) + 1 from t").expect("inserts");
        }
        client.run(&transaction, "delete from t where n = (select min(n) from t)").expect("deletes");
        client.prepare_transaction(&transaction, b"a note").expect("prepares");
        for _ in 0..2 {
            server = server.kill(folder.path());
        }
        drop((transaction, client));

        let client = server.attach();
        let [id] = client.limbo().expect("limbo")[..] else { panic!("one is in limbo") };
        let other = begin(&client);
        let met = client.query_all(&other, "select count(*) from t").expect_err("in limbo");
        assert_eq!(met.gds_code(), isc::REC_IN_LIMBO);
        client.rollback(other).expect("rollback");
        let mut backup = Command::new(FARBIRD);
        let backup = backup
            .args(["backup", &server.location, "-"])
            .env("ISC_PASSWORD", PASSWORD)
            .output()
            .expect("runs");
        let says = String::from_utf8_lossy(&backup.stderr);
        assert!(says.contains(&format!("leaves out 1 prepared transaction ({id})")), "{says}");
        let taken = client.take_over(id).expect("taken over");
        match commits {
            true => client.commit(taken).expect("commit"),
            false => client.rollback(taken).expect("rollback"),
        }
        server = server.kill(folder.path());
        drop(client);

        let client = server.attach();
        assert_eq!((rows(&client), client.limbo().expect("limbo")), (kept, vec![]));
        assert_eq!(client.take_over(id).expect_err("decided").gds_code(), isc::NO_RECON);
    }
}
