//! Operating a server, as an administrator does it: `farbird admin`, the status page's requests, metrics, scheduled backups. The page itself
//! is looked at by tests/dashboard.
#![cfg(feature = "cli")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use farbird_client::blocking::Connection;
use farbird_client::{ConnectOptions, CreateOptions, Error, Isolation, TransactionOptions, isc};
use serde_json::{Value, json};

const FARBIRD: &str = env!("CARGO_BIN_EXE_farbird");
const PASSWORD: &str = "masterkey";
/// Longest time that anything here may take, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running server with a status page.
struct Server {
    process: Child,
    /// `127.0.0.1/PORT`.
    address: String,
    /// `127.0.0.1:PORT` of the status page.
    page: String,
}

impl Server {
    fn start(folder: &Path, settings: &str) -> Server {
        let config = folder.join("farbird.toml");
        fs::write(&config, settings).expect("written");
        let mut process = Command::new(FARBIRD)
            .args(["serve", "--listen", "127.0.0.1:0", "--status", "0", "--data"])
            .arg(folder.join("data"))
            .arg("--config")
            .arg(&config)
            .env("FARBIRD_SYSDBA_PASSWORD", PASSWORD)
            .env("FARBIRD_LOG", "error")
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut out = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut said = |before: &str| {
            let mut line = String::new();
            out.read_line(&mut line).expect("a line");
            let behind = line.split(before).nth(1).unwrap_or_else(|| panic!("{line}"));
            behind.split([',', '/', '\n']).next().unwrap_or_default().to_owned()
        };
        let address = said(" listens on ").replace(':', "/");
        let page = said("its status at http://");
        Server { process, address, page }
    }

    fn database(&self, name: &str) -> String {
        format!("{}:{name}", self.address)
    }

    fn create(&self, name: &str) -> Connection {
        let options = ConnectOptions::new("SYSDBA", PASSWORD);
        Connection::create(&self.database(name), &CreateOptions::default(), &options).expect("a database")
    }

    fn attach_as(&self, name: &str, user: &str, password: &str) -> Result<Connection, Error> {
        Connection::attach(&self.database(name), &ConnectOptions::new(user, password))
    }

    fn attach(&self, name: &str) -> Connection {
        self.attach_as(name, "SYSDBA", PASSWORD).expect("attached")
    }

    /// What `farbird admin` says and how it ends.
    fn admin(&self, arguments: &[&str]) -> Output {
        self.admin_as("SYSDBA", PASSWORD, arguments)
    }

    fn admin_as(&self, user: &str, password: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(FARBIRD);
        command.arg("admin").args(arguments).args(["--user", user]).env("ISC_PASSWORD", password);
        command.stdin(Stdio::null()).output().expect("runs")
    }

    /// The answer of `farbird admin` as JSON.
    fn asked(&self, what: &str, database: &str) -> Value {
        let output = self.admin(&[what, &self.database(database), "--format", "json"]);
        assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Asks until the answer is as it should be.
    fn wait(&self, what: &str, database: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let answer = self.asked(what, database);
            if holds(&answer) {
                return answer;
            }
            assert!(begun.elapsed() < PATIENCE, "{what}: {answer}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// A request to the status page: its status and its body.
    fn http(&self, head: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.page).expect("connects");
        let page = &self.page;
        let request = format!(
            "{head} HTTP/1.1\r\nHost: {page}\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, body.to_owned())
    }

    fn post(&self, path: &str, token: Option<&str>, body: &Value) -> (u16, Value) {
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let headers = format!("Content-Type: application/json\r\n{token}");
        let (status, answer) = self.http(&format!("POST {path}"), &headers, &body.to_string());
        (status, serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{path}: {answer}")))
    }

    fn metrics(&self) -> String {
        self.http("GET /metrics", "", "").1
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn run(connection: &Connection, sql: &str) {
    let transaction = connection.begin(&TransactionOptions::default()).expect("begun");
    connection.run(&transaction, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    connection.commit(transaction).expect("committed");
}

fn list<'v>(answer: &'v Value, part: &str) -> &'v Vec<Value> {
    answer[part].as_array().unwrap_or_else(|| panic!("{part} of {answer}"))
}

/// A value of a metric.
fn metric(metrics: &str, name: &str) -> Option<f64> {
    let line =
        metrics.lines().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')))?;
    line.rsplit_once(' ')?.1.parse().ok()
}

#[test]
fn who_waits_for_whom_is_told_and_the_holder_can_be_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), "");
    let holder = server.create("app.fbd");
    run(&holder, "create table t (id integer not null primary key, x integer)");
    run(&holder, "insert into t values (1, 1)");
    let holds = holder.begin(&TransactionOptions::default()).expect("begun");
    holder.run(&holds, "update t set x = 2 where id = 1").expect("updated");
    let waiter = server.attach("app.fbd");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let read_committed =
                TransactionOptions { isolation: Isolation::ReadCommitted, ..TransactionOptions::default() };
            let transaction = waiter.begin(&read_committed).expect("begun");
            waiter
                .run(&transaction, "update t set x = 3 where id = 1")
                .and_then(|()| waiter.commit(transaction))
        });
        let locks = server.wait("locks", "app.fbd", |answer| !list(answer, "lock_waits").is_empty());
        let wait = &list(&locks, "lock_waits")[0];
        assert_eq!((&wait["awaited"], &wait["table"]), (&json!("row"), &json!("T")), "{locks}");
        assert_eq!(wait["sql"], "update t set x = 3 where id = 1");
        let holding = wait["holding_attachment"].as_i64().expect("a number");
        assert_ne!(Some(holding), wait["waiting_attachment"].as_i64());
        let held = list(&locks, "locks").iter().find(|lock| lock["attachment"] == holding).expect("its lock");
        assert_eq!((&held["rows"], &held["level"]), (&json!(1), &json!("shared write")), "{locks}");
        // For people: a table with the same.
        let told = server.admin(&["locks", &server.database("app.fbd")]);
        let told = String::from_utf8(told.stdout).expect("text");
        assert!(told.contains("Who waits for whom") && told.contains("update t set x = 3"), "{told}");
        let overview = server.asked("overview", "app.fbd");
        assert_eq!(list(&overview, "database")[0]["lock_waits"], 1, "{overview}");
        assert_eq!(list(&overview, "statements")[0]["state"], "running");

        let killed = server.admin(&["kill", &server.database("app.fbd"), &holding.to_string()]);
        assert!(killed.status.success(), "{}", String::from_utf8_lossy(&killed.stderr));
        waiting.join().expect("no panic").expect("the waiter goes on");
    });
    let error = holder.commit(holds).expect_err("it was ended");
    assert!(error.is_disconnected(), "{error}");
    let again = server.admin(&["kill", &server.database("app.fbd"), "9999"]);
    assert_eq!(again.status.code(), Some(1), "{}", String::from_utf8_lossy(&again.stderr));
    let figures = server.asked("figures", "app.fbd");
    let waits = list(&figures, "figures").iter().find(|one| one["name"] == "lock_waits").expect("a figure");
    assert_eq!(waits["value"], 1);
}

#[test]
fn a_statement_is_cancelled_and_its_transaction_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), "");
    let busy = server.create("app.fbd");
    std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            let transaction = busy.begin(&TransactionOptions::default()).expect("begun");
            let endless = "execute block as begin while (1 = 1) do begin end end";
            let error = busy.run(&transaction, endless).expect_err("cancelled");
            (error, busy.commit(transaction))
        });
        let statements =
            server.wait("statements", "app.fbd", |answer| !list(answer, "statements").is_empty());
        let attachment = list(&statements, "statements")[0]["attachment"].as_i64().expect("a number");
        let database = server.database("app.fbd");
        let cancelled = server.admin(&["cancel", &database, &attachment.to_string(), "--format", "json"]);
        let told: Value = serde_json::from_slice(&cancelled.stdout).expect("JSON");
        assert_eq!((&told["done"], &told["outcome"]), (&json!(true), &json!("cancelled")));
        let (error, committed) = running.join().expect("no panic");
        assert!(error.has(isc::CANCELLED), "{error}");
        committed.expect("the transaction goes on");
        let nothing = server.admin(&["cancel", &database, &attachment.to_string()]);
        assert_eq!(nothing.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&nothing.stderr).contains("runs nothing"));
    });
}

#[test]
fn others_see_and_end_only_what_is_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), "");
    let owner = server.create("app.fbd");
    run(&owner, "create user alice password 'wonder'");
    let database = server.database("app.fbd");
    let seen = server.admin_as("ALICE", "wonder", &["attachments", &database, "--format", "json"]);
    assert!(seen.status.success(), "{}", String::from_utf8_lossy(&seen.stderr));
    let seen: Value = serde_json::from_slice(&seen.stdout).expect("JSON");
    assert!(list(&seen, "attachments").is_empty(), "{seen}");
    let attachments = server.asked("attachments", "app.fbd");
    let id = list(&attachments, "attachments")[0]["attachment"].to_string();
    let refused = server.admin_as("ALICE", "wonder", &["kill", &database, &id]);
    assert_eq!(refused.status.code(), Some(1));
    run(&owner, "create table still_here (id integer)");
    let backups = server.admin_as("ALICE", "wonder", &["databases", &server.address]);
    assert_eq!(backups.status.code(), Some(2), "the list of databases is for administrators");
    let told = server.admin(&["databases", &server.address, "--format", "json"]);
    let told: Value = serde_json::from_slice(&told.stdout).expect("JSON");
    assert!(
        list(&told, "databases").iter().any(|name| name.as_str().is_some_and(|it| it.ends_with("app.fbd")))
    );
}

#[test]
fn an_old_snapshot_is_named_as_what_holds_the_sweep() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), "");
    let writer = server.create("app.fbd");
    run(&writer, "create table t (id integer)");
    let reader = server.attach("app.fbd");
    let snapshot = reader.begin(&TransactionOptions::default()).expect("begun");
    reader.query_all(&snapshot, "select count(*) from t").expect("read");
    for number in 0..3 {
        run(&writer, &format!("insert into t values ({number})"));
    }
    let transactions = server.asked("transactions", "app.fbd");
    let oldest = &list(&transactions, "transactions")[0];
    assert_eq!(
        (&oldest["isolation"], &oldest["holds_sweep"]),
        (&json!("snapshot"), &json!(true)),
        "{transactions}"
    );
    assert_eq!(oldest["commits_since"], 3);
    // By the clock of the machine, which somebody may set meanwhile.
    assert!(oldest["age_ms"].is_i64(), "{transactions}");
    let sweep = server.asked("sweep", "app.fbd");
    assert_eq!(list(&sweep, "held_by")[0]["transaction"], oldest["transaction"], "{sweep}");
    assert_eq!(list(&sweep, "sweep")[0]["behind_commits"], 3);
    reader.commit(snapshot).expect("committed");
    assert!(list(&server.asked("sweep", "app.fbd"), "held_by").is_empty());
}

#[test]
fn all_other_questions_have_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), "");
    let connection = server.create("app.fbd");
    run(&connection, "create table t (id integer not null primary key, x varchar(100))");
    run(&connection, "insert into t select row_number() over (), 'text' from rdb$fields");
    for (what, parts) in [
        ("sizes", &["database", "tables", "indexes"][..]),
        ("memory", &["memory", "cache"]),
        ("backups", &["backups"]),
    ] {
        let answer = server.asked(what, "app.fbd");
        parts.iter().for_each(|part| {
            list(&answer, part);
        });
    }
    server.wait("sizes", "app.fbd", |answer| {
        list(answer, "tables").iter().any(|table| table["table"] == "T" && table["rows"].as_i64() > Some(10))
    });
    let file = server.admin(&["sizes", "app.fbd"]);
    assert_eq!(file.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&file.stderr).contains("localhost:app.fbd"));
    let watched = Command::new(FARBIRD)
        .args(["admin", "figures", &server.database("app.fbd"), "--watch", "1", "--format", "json"])
        .env("ISC_PASSWORD", PASSWORD)
        .stdout(Stdio::piped())
        .spawn();
    let mut watched = watched.expect("starts");
    let lines: Vec<String> = BufReader::new(watched.stdout.take().expect("a pipe"))
        .lines()
        .take(2)
        .map(|line| line.expect("a line"))
        .collect();
    // Nobody reads on, as with `| head`: that is its end, and no failure.
    assert_eq!(watched.wait().expect("ended").code(), Some(0));
    for line in lines {
        let told: Value = serde_json::from_str(&line).expect("an object in each line");
        assert!(list(&told, "figures").len() > 20);
    }
}

#[test]
fn a_database_of_dialect_1_answers_the_same_questions() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), "");
    let mut options = ConnectOptions::new("SYSDBA", PASSWORD);
    options.attach.dialect = Some(1);
    let create = CreateOptions::default();
    let connection =
        Connection::create(&server.database("old.fbd"), &create, &options).expect("a database of dialect 1");
    run(&connection, "create table t (id integer not null primary key)");
    run(&connection, "insert into t select rdb$relation_id from rdb$relations");
    let open = connection.begin(&TransactionOptions::default()).expect("begun");
    connection.run(&open, "delete from t").expect("deleted");
    let answer = server.asked("transactions", "old.fbd");
    let locked = list(&answer, "transactions").iter().filter_map(|told| told["locked_rows"].as_i64());
    assert!(locked.max() > Some(10), "{answer}");
    server.wait("sizes", "old.fbd", |answer| {
        list(answer, "tables")
            .iter()
            .any(|table| table["table"] == "T" && table["index_bytes"].as_i64() > Some(0))
    });
    for what in ["attachments", "statements", "locks", "memory", "sweep", "figures"] {
        server.asked(what, "old.fbd");
    }
    connection.rollback(open).expect("rolled back");
}

#[test]
fn the_page_asks_and_acts_only_for_who_has_logged_in_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), "");
    let victim = server.create("app.fbd");
    let (status, page) = server.http("GET /", "", "");
    assert!(status == 200 && page.contains("id=\"login-form\""));
    assert_eq!(server.http("GET /health", "", ""), (200, "ok\n".to_owned()));
    for (page, code) in [(server.page.as_str(), 0), ("127.0.0.1:1", 1)] {
        let output = Command::new(FARBIRD).args(["admin", "health", page]).output().expect("runs");
        assert_eq!(output.status.code(), Some(code), "{page}");
    }
    // Without a login, with a wrong one, and from another site's page.
    let question = json!({ "database": "app.fbd" });
    assert_eq!(server.post("/state", None, &question).0, 401);
    assert_eq!(server.post("/state", Some("00"), &question).0, 401);
    assert_eq!(server.post("/kill", None, &json!({ "database": "app.fbd", "attachment": 1 })).0, 401);
    let (status, wrong) = server.post("/login", None, &json!({ "user": "SYSDBA", "password": "wrong" }));
    assert!(status == 401 && wrong["token"].is_null(), "{wrong}");
    let login = json!({ "user": "sysdba", "password": PASSWORD });
    let foreign = "Content-Type: application/json\r\nOrigin: http://evil.example.com\r\n";
    assert_eq!(server.http("POST /login", foreign, &login.to_string()).0, 403);
    let form = "Content-Type: text/plain\r\n";
    assert_eq!(server.http("POST /login", form, &login.to_string()).0, 403);
    assert_eq!(server.http("GET /state", "", "").0, 404, "nothing is told to a GET");

    let (status, answer) = server.post("/login", None, &login);
    assert_eq!((status, &answer["databases"]), (200, &json!(["app.fbd"])), "{answer}");
    let token = answer["token"].as_str().expect("a token");
    let (status, state) = server.post("/state", Some(token), &question);
    assert_eq!(status, 200, "{state}");
    let attachments = list(&state, "attachments");
    assert_eq!(attachments.len(), 1, "the page's own is left out: {state}");
    let id = attachments[0]["attachment"].clone();
    let (status, sizes) = server.post("/sizes", Some(token), &question);
    assert!(status == 200 && sizes["tables"].is_array(), "{sizes}");
    assert_eq!(server.post("/state", Some(token), &json!({ "database": "no such.fbd" })).0, 422);
    assert_eq!(server.post("/state", Some(token), &json!({ "x": 1 })).0, 400);
    let (status, told) =
        server.post("/kill", Some(token), &json!({ "database": "app.fbd", "attachment": id }));
    assert_eq!((status, &told["done"]), (200, &json!(true)), "{told}");
    let begun = victim.begin(&TransactionOptions::default());
    assert!(begun.and_then(|it| victim.run(&it, "select 1 from rdb$database")).is_err(), "it was ended");
    assert_eq!(server.post("/logout", Some(token), &json!({})).0, 200);
    assert_eq!(server.post("/state", Some(token), &question).0, 401);
}

#[test]
fn another_users_page_shows_and_ends_nothing_of_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), "");
    let owner = server.create("app.fbd");
    run(&owner, "create user alice password 'wonder'");
    let (status, answer) = server.post("/login", None, &json!({ "user": "alice", "password": "wonder" }));
    assert_eq!(
        (status, &answer["databases"]),
        (200, &json!([])),
        "where databases are is for administrators"
    );
    let token = answer["token"].as_str().expect("a token");
    let (status, state) = server.post("/state", Some(token), &json!({ "database": "app.fbd" }));
    assert_eq!(status, 200, "{state}");
    assert!(list(&state, "attachments").is_empty() && list(&state, "backups").is_empty(), "{state}");
    for attachment in 1..4 {
        let ending = json!({ "database": "app.fbd", "attachment": attachment });
        let (_, told) = server.post("/kill", Some(token), &ending);
        assert_ne!(told["done"], json!(true), "{told}");
    }
    run(&owner, "create table still_here (id integer)");
}

#[test]
fn metrics_are_valid_documented_and_count() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = "[backups.often]\ndatabases = [\"*\"]\nfolder = \"kept\"\nevery-minutes = 60\n";
    let server = Server::start(folder.path(), settings);
    let connection = server.create("app.fbd");
    run(&connection, "create table t (id integer not null primary key)");
    run(&connection, "insert into t values (1)");
    let transaction = connection.begin(&TransactionOptions::default()).expect("begun");
    connection.run(&transaction, "insert into t values (1)").expect_err("a duplicate");
    assert!(server.attach_as("app.fbd", "SYSDBA", "wrong").is_err());
    let begun = Instant::now();
    let metrics = loop {
        let metrics = server.metrics();
        if metric(&metrics, "farbird_backups_total{database=\"app.fbd\",schedule=\"often\"}") == Some(1.0) {
            break metrics;
        }
        assert!(begun.elapsed() < PATIENCE, "{metrics}");
        std::thread::sleep(Duration::from_millis(100));
    };
    let families = farbird_status::testing::checked(&metrics);
    let page = include_str!("../../../docs/monitoring.md");
    assert_eq!(
        families,
        farbird_status::testing::documented(page, "farbird"),
        "left: /metrics, right: docs/monitoring.md"
    );
    let value = |name: &str| metric(&metrics, name).unwrap_or_else(|| panic!("{name}: {metrics}"));
    assert_eq!(value("farbird_logins_refused_total"), 1.0);
    assert_eq!(value("farbird_errors_total{kind=\"constraint\"}"), 1.0);
    assert!(value("farbird_statements_total") >= 3.0);
    assert!(value("farbird_database_commits_total{database=\"app.fbd\"}") >= 2.0);
    assert!(value("farbird_database_log_sync_seconds_count{database=\"app.fbd\"}") >= 1.0);
    assert!(value("farbird_database_log_bytes_total{database=\"app.fbd\"}") > 0.0);
    assert!(value("farbird_database_attachments{database=\"app.fbd\"}") >= 1.0);
    assert!(value("farbird_backup_last_timestamp_seconds{database=\"app.fbd\",schedule=\"often\"}") > 1.7e9);
    assert!(!metrics.contains("security"), "the server's own database is left out");
}

/// The backups in a folder.
fn backups_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|it| it == "fbb")).collect();
    files.sort();
    files
}

#[test]
fn scheduled_backups_are_made_listed_and_restorable_and_survive_a_new_start() {
    let folder = tempfile::tempdir().expect("a folder");
    // Each year: the next one does not fall into this test, as that of each night may.
    let settings = "[backups.yearly]\ndatabases = [\"*\"]\nusers = true\nfolder = \"../kept\"\nevery-minutes = 525600\nkeep = 3\n";
    let mut server = Server::start(folder.path(), settings);
    let connection = server.create("app.fbd");
    run(&connection, "create table t (id integer)");
    run(&connection, "insert into t values (42)");
    let kept = |answer: &Value| list(answer, "backups").iter().filter(|one| one["state"] == "kept").count();
    let answer = server.wait("backups", "app.fbd", |answer| kept(answer) > 0);
    let made = list(&answer, "backups").iter().find(|one| one["state"] == "kept").expect("one");
    assert_eq!(made["schedule"], "yearly");
    assert!(list(&answer, "backups").iter().any(|one| one["state"] == "due"), "the next one: {answer}");
    let shelf = folder.path().join("kept");
    let begun = Instant::now();
    while backups_in(&shelf).len() < 2 {
        assert!(begun.elapsed() < PATIENCE, "the users' database is backed up, too");
        std::thread::sleep(Duration::from_millis(100));
    }
    let files = backups_in(&shelf);
    let names: Vec<_> =
        files.iter().map(|path| path.file_name().expect("a name").to_string_lossy()).collect();
    for (name, begins) in names.iter().zip(["app.fbd.", "security.fbd."]) {
        assert!(name.starts_with(begins) && name.contains(".yearly.20"), "{names:?}");
    }
    // Metrics are read without a login: no folder of the server is in them.
    let users = "farbird_backups_total{database=\"security.fbd\",schedule=\"yearly\"}";
    let begun = Instant::now();
    while metric(&server.metrics(), users) != Some(1.0) {
        assert!(begun.elapsed() < PATIENCE, "{}", server.metrics());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(!server.metrics().contains(&folder.path().display().to_string()));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            fs::metadata(&shelf).expect("there").permissions().mode() & 0o077,
            0,
            "for the server's user alone"
        );
    }
    // A new start finds what is there, and makes no other one.
    drop(connection);
    server.process.kill().expect("ended");
    server.process.wait().expect("ended");
    let server = Server::start(folder.path(), settings);
    let found = server.wait("backups", "app.fbd", |answer| !list(answer, "backups").is_empty());
    assert_eq!(kept(&found), 1, "{found}");
    assert_eq!(backups_in(&shelf), files);
    let restored = folder.path().join("restored.fbd");
    let output = Command::new(FARBIRD).arg("restore").arg(&files[0]).arg(&restored).output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let check = Command::new(FARBIRD).arg("check").arg(&restored).output().expect("runs");
    assert!(check.status.success());
    // One that somebody moves away is told as missing, and is not made again before its time.
    fs::rename(&files[0], folder.path().join("moved.fbb")).expect("moved");
    server.wait("backups", "app.fbd", |answer| {
        list(answer, "backups").iter().any(|one| one["state"] == "missing")
    });
    assert_eq!(backups_in(&shelf), files[1..]);
}

#[test]
fn a_nightly_backup_is_due_at_its_time_of_day() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = "[backups.nightly]\ndatabases = [\"app.fbd\"]\nfolder = \"../kept\"\nat = \"02:30\"\n";
    let server = Server::start(folder.path(), settings);
    let _connection = server.create("app.fbd");
    let is_due =
        |one: &Value| one["state"] == "due" && one["at"].as_str().is_some_and(|at| at.contains("02:30:00"));
    server.wait("backups", "app.fbd", |answer| list(answer, "backups").iter().any(is_due));
}

#[test]
fn a_backup_that_cannot_be_made_is_told_and_deletes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let shelf = folder.path().join("kept");
    fs::create_dir(&shelf).expect("made");
    let server = Server::start(folder.path(), "");
    let connection = server.create("app.fbd");
    let transaction = connection.begin(&TransactionOptions::default()).expect("begun");
    let guid = "select lower(substring(mon$guid from 2 for 8)) from mon$database";
    let rows = connection.query_all(&transaction, guid).expect("read");
    let farbird_client::Value::Text(id) = &rows[0][0] else { panic!("{rows:?}") };
    let id = String::from_utf8_lossy(id.bytes()).trim_end().to_owned();
    drop((connection, server));
    fs::write(shelf.join(format!("app.fbd.{id}.nightly.backups")), "not a list\n").expect("written");
    fs::write(shelf.join(format!("app.fbd.{id}.nightly.20200101T000000Z.fbb")), "not ours").expect("written");
    let settings =
        "[backups.nightly]\ndatabases = [\"app.fbd\"]\nfolder = \"../kept\"\nevery-minutes = 1\nkeep = 1\n";
    let server = Server::start(folder.path(), settings);
    let _connection = server.attach("app.fbd");
    let answer = server.wait("backups", "app.fbd", |answer| {
        list(answer, "backups").iter().any(|one| one["state"] == "failed")
    });
    let failed = list(&answer, "backups").iter().find(|one| one["state"] == "failed").expect("one");
    assert!(failed["message"].as_str().is_some_and(|why| why.contains("no list of backups")), "{answer}");
    let metrics = server.metrics();
    let failures =
        metric(&metrics, "farbird_backups_failed_total{database=\"app.fbd\",schedule=\"nightly\"}");
    assert!(failures >= Some(1.0), "{metrics}");
    assert_eq!(backups_in(&shelf).len(), 1);
}

#[test]
fn a_folder_that_is_lost_and_a_name_that_leads_nowhere_are_failures() {
    let folder = tempfile::tempdir().expect("a folder");
    let shelf = folder.path().join("kept");
    let settings = "[aliases]\naway = \"not-mounted/away.fbd\"\n\
         [backups.yearly]\ndatabases = [\"app.fbd\", \"away\"]\nfolder = \"../kept\"\nevery-minutes = 525600\n";
    let server = Server::start(folder.path(), "");
    drop(server.create("app.fbd"));
    drop(server);
    let mut server = Server::start(folder.path(), settings);
    let has = |answer: &Value, state: &str| list(answer, "backups").iter().any(|one| one["state"] == state);
    server.wait("backups", "app.fbd", |answer| has(answer, "kept"));
    let nowhere = "farbird_backups_failed_total{database=\"away\",schedule=\"yearly\"}";
    let begun = Instant::now();
    while metric(&server.metrics(), nowhere).is_none_or(|failed| failed < 1.0) {
        assert!(begun.elapsed() < PATIENCE, "{}", server.metrics());
        std::thread::sleep(Duration::from_millis(100));
    }
    // Something else is in the folder's place: nobody knows how the backups are, and when the last one was made is not forgotten.
    fs::rename(&shelf, folder.path().join("lost")).expect("moved");
    fs::write(&shelf, "a file").expect("written");
    let answer = server.wait("backups", "app.fbd", |answer| has(answer, "unreadable"));
    assert!(!has(&answer, "kept") && has(&answer, "due"), "{answer}");
    let labels = "{database=\"app.fbd\",schedule=\"yearly\"}";
    let metrics = server.metrics();
    assert_eq!(metric(&metrics, &format!("farbird_backups_kept{labels}")), Some(0.0), "{metrics}");
    let latest = metric(&metrics, &format!("farbird_backup_last_timestamp_seconds{labels}"));
    assert!(latest > Some(1.7e9), "{metrics}");
    // A server that finds it so at its start has a backup to make, and cannot.
    server.process.kill().expect("ended");
    server.process.wait().expect("ended");
    let server = Server::start(folder.path(), settings);
    let answer = server.wait("backups", "app.fbd", |answer| has(answer, "failed"));
    let failed = list(&answer, "backups").iter().find(|one| one["state"] == "failed").expect("one");
    assert!(failed["message"].as_str().is_some_and(|why| why.contains("cannot be used")), "{answer}");
    let metrics = server.metrics();
    assert_eq!(metric(&metrics, &format!("farbird_backups_failed_total{labels}")), Some(1.0), "{metrics}");
}

#[test]
fn settings_that_cannot_be_obeyed_are_refused_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    for (settings, why) in [
        ("[backups.nightly]\ndatabases = [\"a\"]\nfolder = \"b\"\nat = \"25:00\"\n", "time of day"),
        ("[backups.nightly]\ndatabases = [\"a\"]\nfolder = \"b\"\nevery-minutes = 0\n", "every-minutes"),
        ("[backups.nightly]\ndatabases = [\"a\"]\nat = \"02:30\"\n", "folder is missing"),
        ("status = \"nowhere\"\n", "ADDRESS:PORT"),
    ] {
        let config = folder.path().join("wrong.toml");
        fs::write(&config, settings).expect("written");
        let output = Command::new(FARBIRD)
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(folder.path().join("data"))
            .arg("--config")
            .arg(&config)
            .output()
            .expect("runs");
        assert_eq!(output.status.code(), Some(2), "{settings}");
        assert!(
            String::from_utf8_lossy(&output.stderr).contains(why),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
