//! What is outside of a server's databases: EXECUTE STATEMENT in another database and as somebody else, and the files of external tables, with
//! servers as people run them.
#![cfg(feature = "cli")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use farbird_client::blocking::Connection;
use farbird_client::{ConnectOptions, CreateOptions, Error, Result, TransactionOptions, Value, isc};

const FARBIRD: &str = env!("CARGO_BIN_EXE_farbird");
const PASSWORD: &str = "masterkey";

/// A running server.
struct Server {
    process: Child,
    /// `127.0.0.1/PORT`.
    address: String,
}

impl Server {
    /// Serves a new folder, with these settings.
    fn start(folder: &Path, name: &str, settings: &str) -> Server {
        let config = folder.join(format!("{name}.toml"));
        fs::write(&config, settings).expect("written");
        let mut process = Command::new(FARBIRD)
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(folder.join(name))
            .arg("--config")
            .arg(&config)
            .env("FARBIRD_SYSDBA_PASSWORD", PASSWORD)
            .env("FARBIRD_LOG", "error")
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let address = line.split(" listens on ").nth(1).and_then(|rest| rest.split(',').next());
        let address = address.expect("an address").replace(':', "/");
        Server { process, address }
    }

    fn database(&self, name: &str) -> String {
        format!("{}:{name}", self.address)
    }

    /// A new database.
    fn create(&self, name: &str) -> Connection {
        let options = ConnectOptions::new("SYSDBA", PASSWORD);
        Connection::create(&self.database(name), &CreateOptions::default(), &options).expect("a database")
    }

    fn attach(&self, name: &str) -> Connection {
        let options = ConnectOptions::new("SYSDBA", PASSWORD);
        Connection::attach(&self.database(name), &options).expect("attached")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A test that fails leaves no process behind.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs statements, each committed.
fn run(connection: &Connection, statements: &[&str]) {
    for text in statements {
        let transaction = connection.begin(&TransactionOptions::default()).expect("begins");
        connection.run(&transaction, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        connection.commit(transaction).expect("commits");
    }
}

/// The rows of a query, as texts; committed if it succeeds.
fn rows(connection: &Connection, text: &str) -> Result<Vec<String>> {
    let transaction = connection.begin(&TransactionOptions::default())?;
    let rows = connection.query_all(&transaction, text)?;
    connection.commit(transaction)?;
    let shown = |value: &Value| match value {
        Value::Null => "null".to_owned(),
        other => farbird_types::convert::to_display_text(other).trim_end().to_owned(),
    };
    Ok(rows.iter().map(|row| row.iter().map(shown).collect::<Vec<_>>().join("|")).collect())
}

/// The error of a query.
fn refused(connection: &Connection, text: &str) -> Error {
    rows(connection, text).expect_err(text)
}

/// A block that runs a text elsewhere and gives its only column.
fn block(sql: &str, clauses: &str) -> String {
    let sql = sql.replace('\'', "''");
    format!(
        "execute block returns (x varchar(60)) as begin
           for execute statement '{sql}' {clauses} into x do suspend;
         end"
    )
}

/// Two servers, the first of which may connect to the second; with a database each.
fn two_servers(folder: &Path, settings: &str) -> (Server, Server, String) {
    let far = Server::start(folder, "far", "");
    let near =
        Server::start(folder, "near", &format!("external-data-sources = [\"{}\"]\n{settings}", far.address));
    let there = far.create("there.fbd");
    run(
        &there,
        &[
            "create table t (id int not null primary key, a varchar(10), n numeric(9,2), b blob sub_type text)",
            "insert into t values (1, 'one', 1.25, 'first')",
            "insert into t values (2, 'zw\u{f6}lf', 2.5, 'second')",
        ],
    );
    near.create("here.fbd");
    let on = format!("on external '{}' as user 'SYSDBA' password '{PASSWORD}'", far.database("there.fbd"));
    (far, near, on)
}

#[test]
fn a_text_runs_in_another_database_with_parameters_and_blobs() {
    let folder = tempfile::tempdir().expect("a folder");
    let (far, near, on) = two_servers(folder.path(), "");
    let here = near.attach("here.fbd");
    assert_eq!(rows(&here, &block("select a from t order by id", &on)).expect("rows"), ["one", "zw\u{f6}lf"]);
    let with_provider = on.replace("external '", "external data source 'Firebird::");
    assert_eq!(rows(&here, &block("select n from t where id = 2", &with_provider)).expect("rows"), ["2.50"]);
    let of_all_kinds = format!(
        "execute block returns (a varchar(10), n numeric(9,2), b blob sub_type text, c varchar(20)) as
           declare k int = 1;
         begin
           execute statement ('select a, n, b from t where id = ?') (k) {on} into a, n, b;
           c = b; suspend;
           for execute statement ('select a, n, b from t where id > :k and id < :m and id > :k') (k := k, m := 9) {on}
             into a, n, b do begin c = b; suspend; end
         end"
    );
    let there = rows(
        &here,
        &of_all_kinds
            .replace("b blob sub_type text, ", "")
            .replace("n, b;", "n, c;")
            .replace("n, b do", "n, c do")
            .replace("c = b; ", ""),
    )
    .expect("rows");
    assert_eq!(there, ["one|1.25|first", "zw\u{f6}lf|2.50|second"]);
    let put = format!(
        "execute block as declare b blob sub_type text = 'of a BLOB'; begin
           execute statement ('insert into t values (:i, null, :n, :b)') (i := 3, n := '7.5', b := b) {on};
         end"
    );
    run(&here, &[&put]);
    let kept = rows(&far.attach("there.fbd"), "select n, cast(b as varchar(20)) from t where id = 3");
    assert_eq!(kept.expect("rows"), ["7.50|of a BLOB"]);
}

#[test]
fn a_transaction_elsewhere_ends_as_the_callers_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let (far, near, on) = two_servers(folder.path(), "");
    let (here, there) = (near.attach("here.fbd"), far.attach("there.fbd"));
    let change = |id: i32, more: &str| {
        format!(
            "execute block as begin execute statement 'update t set a = ''new'' where id = {id}' {on} {more}; end"
        )
    };
    let count = "select count(*) from t where a = 'new'";
    let transaction = here.begin(&TransactionOptions::default()).expect("begins");
    here.run(&transaction, &change(1, "")).expect("runs");
    assert_eq!(rows(&there, count).expect("rows"), ["0"], "nobody sees it yet");
    here.rollback(transaction).expect("rolls back");
    assert_eq!(rows(&there, count).expect("rows"), ["0"]);
    let transaction = here.begin(&TransactionOptions::default()).expect("begins");
    here.run(&transaction, &change(1, "")).expect("runs");
    here.commit(transaction).expect("commits");
    assert_eq!(rows(&there, count).expect("rows"), ["1"]);
    let transaction = here.begin(&TransactionOptions::default()).expect("begins");
    here.run(&transaction, &change(2, "with autonomous transaction")).expect("runs");
    assert_eq!(rows(&there, count).expect("rows"), ["2"]);
    here.rollback(transaction).expect("rolls back");
    assert_eq!(rows(&there, count).expect("rows"), ["2"]);
}

#[test]
fn what_fails_elsewhere_is_told_as_firebird_tells_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (far, near, on) = two_servers(folder.path(), "");
    let here = near.attach("here.fbd");
    let unknown = refused(&here, &block("select a from nope", &on));
    assert_eq!(unknown.gds_code(), isc::EDS_STATEMENT, "{unknown}");
    let text = unknown.to_string();
    for part in ["isc_dsql_prepare", "335544580", "NOPE", "select a from nope", &far.database("there.fbd")] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
    assert_eq!(
        refused(&here, &block("select 1 / (id - 2) from t order by id", &on)).gds_code(),
        isc::EDS_STATEMENT
    );
    let several = format!(
        "execute block returns (x int) as begin execute statement 'select id from t' {on} into x; suspend; end"
    );
    assert!(refused(&here, &several).to_string().contains("335544652"));
    assert_eq!(refused(&here, &block("select id, a from t", &on)).gds_code(), isc::EDS_OUTPUT_PRM_MISMATCH);
    let wrong = on.replace(PASSWORD, "secret-2");
    let login = refused(&here, &block("select a from t", &wrong));
    assert_eq!(login.gds_code(), isc::EDS_CONNECTION, "{login}");
    assert!(login.to_string().contains("335544472") && !login.to_string().contains("secret-2"), "{login}");
    let control = refused(&here, &format!("execute block as begin execute statement 'commit' {on}; end"));
    assert!(control.to_string().contains("335544986"), "{control}");
    let provider = on.replace("external '", "external 'Oracle::");
    assert_eq!(refused(&here, &block("select a from t", &provider)).gds_code(), isc::EDS_PROVIDER_NOT_FOUND);
    let handled = format!(
        "execute block returns (x int) as begin
           execute statement 'select id from nope' {on} into x; suspend;
           when any do begin x = gdscode; suspend; end
         end"
    );
    assert_eq!(rows(&here, &handled).expect("rows"), [isc::EDS_STATEMENT.to_string()]);
}

#[test]
fn only_places_that_the_administrator_names_are_connected_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let far = Server::start(folder.path(), "far", "");
    far.create("there.fbd");
    let near = Server::start(folder.path(), "near", "");
    let here = near.create("here.fbd");
    let on = format!("on external '{}' as user 'SYSDBA' password '{PASSWORD}'", far.database("there.fbd"));
    let error = refused(&here, &block("select 1 from rdb$database", &on));
    assert_eq!(error.gds_code(), isc::EDS_CONNECTION);
    assert!(error.to_string().contains("external-data-sources"), "{error}");
}

#[test]
fn a_text_runs_as_somebody_else_who_must_log_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let near = Server::start(folder.path(), "near", "");
    let here = near.create("here.fbd");
    run(&here, &["create user ann password 'secret-1'", "create role reader", "grant reader to ann"]);
    let who = "select current_user || ' ' || current_role from rdb$database";
    let as_ann = "as user 'ANN' password 'secret-1'";
    assert_eq!(rows(&here, &block(who, as_ann)).expect("rows"), ["ANN NONE"]);
    assert_eq!(rows(&here, &block(who, &format!("{as_ann} role 'READER'"))).expect("rows"), ["ANN READER"]);
    let by_name = "on external 'here.fbd' as user 'ANN' password 'secret-1'";
    assert_eq!(rows(&here, &block(who, by_name)).expect("rows"), ["ANN NONE"]);
    assert_eq!(rows(&here, &block(who, "as user 'SYSDBA'")).expect("rows"), ["SYSDBA NONE"]);
    assert_eq!(refused(&here, &block(who, "as user 'ANN' password 'wrong'")).gds_code(), isc::LOGIN);
    assert_eq!(refused(&here, &block(who, "as user 'ANN'")).gds_code(), isc::LOGIN);
}

#[test]
fn a_role_alone_attaches_once_more_without_a_password() {
    let folder = tempfile::tempdir().expect("a folder");
    let near = Server::start(folder.path(), "near", "");
    let here = near.create("here.fbd");
    run(
        &here,
        &[
            "create user ann password 'secret-1'",
            "create role reader",
            "grant reader to ann",
            "create role other",
            "create table t (a int)",
            "grant select on t to role reader",
            "insert into t values (7)",
        ],
    );
    let ann = attach_as(&near, "ANN", "secret-1");
    let who = "select current_user || ' ' || current_role from rdb$database";
    assert_eq!(rows(&ann, &block(who, "role 'READER'")).expect("rows"), ["ANN READER"]);
    assert_eq!(rows(&ann, &block("select a from t", "role 'READER'")).expect("rows"), ["7"]);
    assert!(refused(&ann, "select a from t").has(isc::NO_PRIV));
    // As at any attach, a role that is not hers is none.
    assert_eq!(rows(&ann, &block(who, "role 'OTHER'")).expect("rows"), ["ANN NONE"]);
    let connection = "select cast(current_connection as varchar(20)) from rdb$database";
    let own = rows(&ann, connection).expect("rows");
    assert_ne!(rows(&ann, &block(connection, "role 'READER'")).expect("rows"), own);
    // Who names a user logs in, be it the own name.
    assert_eq!(refused(&ann, &block(who, "as user 'ANN' role 'READER'")).gds_code(), isc::LOGIN);
    let autonomous = "with autonomous transaction role 'READER'";
    assert_eq!(rows(&ann, &block(who, autonomous)).expect("rows"), ["ANN READER"]);
}

#[test]
fn connections_wait_in_the_pool_for_those_who_know_their_password() {
    let folder = tempfile::tempdir().expect("a folder");
    let (far, near, on) = two_servers(folder.path(), "external-pool-size = 5\n");
    // As long as it is there the numbers of attachments go on.
    let (here, _there) = (near.attach("here.fbd"), far.attach("there.fbd"));
    let which = block("select current_connection from rdb$database", &on);
    let first = rows(&here, &which).expect("rows");
    assert_eq!(rows(&here, &which).expect("rows"), first, "the same connection again");
    let state = "select rdb$get_context('SYSTEM', 'EXT_CONN_POOL_SIZE') || ' '
                     || rdb$get_context('SYSTEM', 'EXT_CONN_POOL_IDLE_COUNT') || ' '
                     || rdb$get_context('SYSTEM', 'EXT_CONN_POOL_ACTIVE_COUNT') || ' '
                     || rdb$get_context('SYSTEM', 'EXT_CONN_POOL_LIFETIME') from rdb$database";
    assert_eq!(rows(&here, state).expect("rows"), ["5 1 0 7200"]);
    let wrong = on.replace(PASSWORD, "wrong");
    assert_eq!(refused(&here, &block("select 1 from t", &wrong)).gds_code(), isc::EDS_CONNECTION);
    run(&here, &["alter external connections pool clear all"]);
    assert_eq!(rows(&here, state).expect("rows"), ["5 0 0 7200"]);
    assert_ne!(rows(&here, &which).expect("rows"), first);
    run(
        &here,
        &[
            "alter external connections pool set size 0",
            "alter external connections pool set lifetime 2 minute",
        ],
    );
    assert_eq!(rows(&here, state).expect("rows"), ["0 0 0 120"]);
    let transaction = here.begin(&TransactionOptions::default()).expect("begins");
    let error =
        here.run(&transaction, "alter external connections pool set size 1001").expect_err("too many");
    assert!(error.to_string().contains("1001"), "{error}");
}

#[test]
fn a_cancel_stops_what_runs_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let (far, near, on) = two_servers(folder.path(), "");
    let here = near.attach("here.fbd");
    let endless = "select count(*) from rdb$types a, rdb$types b, rdb$types c, rdb$types d, rdb$types e";
    let canceller = here.canceller();
    let start = Instant::now();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        canceller.cancel().expect("cancels");
    });
    let error = refused(&here, &block(endless, &on));
    stopper.join().expect("no panic");
    assert!(error.is_cancelled(), "{error}");
    assert!(start.elapsed() < Duration::from_secs(30), "it would have run for hours");
    // Nothing runs there any more, and the caller goes on.
    assert_eq!(rows(&here, &block("select a from t where id = 1", &on)).expect("rows"), ["one"]);
    let busy =
        "select count(*) from mon$statements where mon$state = 1 and mon$sql_text containing 'rdb$types a'
                and mon$sql_text not containing 'mon$state'";
    let deadline = Instant::now() + Duration::from_secs(20);
    let there = far.attach("there.fbd");
    while rows(&there, busy).expect("rows") != ["0"] {
        assert!(Instant::now() < deadline, "it runs on");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A connection to a database of the server as an ordinary user.
fn attach_as(server: &Server, user: &str, password: &str) -> Connection {
    Connection::attach(&server.database("here.fbd"), &ConnectOptions::new(user, password)).expect(user)
}

#[test]
fn sessions_are_not_made_out_of_each_other_without_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let near = Server::start(folder.path(), "near", "");
    let here = near.create("here.fbd");
    run(
        &here,
        &[
            "create user ann password 'secret-1'",
            "create procedure p as begin
               execute statement 'execute procedure p' as user 'ANN' password 'secret-1';
             end",
            "grant execute on procedure p to ann",
        ],
    );
    let ann = attach_as(&near, "ANN", "secret-1");
    let error = refused(&ann, "execute procedure p");
    assert!(error.to_string().contains("335544830"), "{error}");
    let mut deep = ConnectOptions::new("ANN", "secret-1");
    deep.attach.raw.push((78, vec![49, 0, 0, 0]));
    let deep = Connection::attach(&near.database("here.fbd"), &deep).expect("as deep as can be");
    let as_sysdba = block("select 1 from rdb$database", &format!("as user 'SYSDBA' password '{PASSWORD}'"));
    assert_eq!(refused(&deep, &as_sysdba).gds_code(), isc::EXEC_SQL_MAX_CALL_EXCEEDED);
    assert_eq!(rows(&ann, &as_sysdba).expect("rows"), ["1"]);
}

#[test]
fn guesses_of_a_user_inside_lock_nobody_else_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let near = Server::start(folder.path(), "near", "");
    run(&near.create("here.fbd"), &["create user eve password 'secret-1'"]);
    let guess = block("select 1 from rdb$database", "as user 'SYSDBA' password 'a guess'");
    // One after the other they would have to wait.
    let (answered, answers) = std::sync::mpsc::channel();
    for _ in 0..16 {
        let (eve, guess, answered) = (attach_as(&near, "EVE", "secret-1"), guess.clone(), answered.clone());
        // Those that wait for their answer get none: the server ends before.
        std::thread::spawn(move || answered.send(rows(&eve, &guess).expect_err("a guess").gds_code()));
    }
    for _ in 0..10 {
        assert_eq!(answers.recv().expect("an answer"), isc::LOGIN);
    }
    assert_eq!(rows(&near.attach("here.fbd"), "select 1 from rdb$database").expect("rows"), ["1"]);
}

#[test]
fn an_autonomous_text_that_fails_behind_its_first_row_is_undone() {
    let folder = tempfile::tempdir().expect("a folder");
    let (far, near, on) = two_servers(folder.path(), "");
    let there = far.attach("there.fbd");
    run(
        &there,
        &["create procedure p (n int) returns (x int) as begin
             insert into t (id) values (10 + n); x = 1; suspend; x = 1 / n; suspend;
           end"],
    );
    let here = near.attach("here.fbd");
    let singleton = |n: i32| {
        format!(
            "execute block returns (x int) as begin
               execute statement 'select x from p({n})' {on} with autonomous transaction into x; suspend;
             end"
        )
    };
    // A division by zero, and a second row.
    for n in [0, 1] {
        assert_eq!(refused(&here, &singleton(n)).gds_code(), isc::EDS_STATEMENT);
    }
    let blob = format!(
        "execute block returns (x int) as begin
           execute statement 'insert into t (id) values (20) returning id / 0' {on} with autonomous transaction into x;
         end"
    );
    assert_eq!(refused(&here, &blob).gds_code(), isc::EDS_STATEMENT);
    assert_eq!(rows(&there, "select id from t order by id").expect("rows"), ["1", "2"]);
}

#[test]
fn a_commit_that_failed_elsewhere_leaves_only_a_rollback() {
    let folder = tempfile::tempdir().expect("a folder");
    let (far, near, on) = two_servers(folder.path(), "");
    let (here, there) = (near.attach("here.fbd"), far.attach("there.fbd"));
    run(&here, &["create table mine (id int)"]);
    let change = format!(
        "execute block as begin
           insert into mine values (1);
           execute statement 'update t set a = ''new''' {on};
         end"
    );
    let transaction = here.begin(&TransactionOptions::default()).expect("begins");
    here.run(&transaction, &change).expect("runs");
    run(&there, &["delete from mon$attachments where mon$attachment_id <> current_connection"]);
    for _ in 0..2 {
        let error = here.commit_retaining(&transaction).expect_err("a lost connection");
        assert_eq!(error.gds_code(), isc::EDS_CONNECTION, "{error}");
    }
    let again = here.run(&transaction, &change).expect_err("a lost transaction");
    assert_eq!(again.gds_code(), isc::EDS_CONNECTION, "{again}");
    here.rollback_retaining(&transaction).expect("rolls back");
    here.run(&transaction, &change).expect("runs");
    here.commit(transaction).expect("commits");
    assert_eq!(rows(&here, "select count(*) from mine").expect("rows"), ["1"]);
    assert_eq!(rows(&there, "select count(*) from t where a = 'new'").expect("rows"), ["2"]);
}

#[test]
fn a_trigger_that_works_elsewhere_cannot_be_prepared() {
    let folder = tempfile::tempdir().expect("a folder");
    let (far, near, on) = two_servers(folder.path(), "");
    let here = near.attach("here.fbd");
    let trigger = format!(
        "create trigger late on transaction commit as begin
           if (rdb$get_context('USER_TRANSACTION', 'LATE') is not null) then
             execute statement 'update t set a = ''new''' {on};
         end"
    );
    run(&here, &[&trigger]);
    let transaction = here.begin(&TransactionOptions::default()).expect("begins");
    here.run(&transaction, "execute block as begin rdb$set_context('USER_TRANSACTION', 'LATE', '1'); end")
        .expect("runs");
    let error = here.prepare_transaction(&transaction, b"").expect_err("work elsewhere");
    assert_eq!(error.gds_code(), isc::WISH_LIST, "{error}");
    here.commit(transaction).expect("commits");
    let new = rows(&far.attach("there.fbd"), "select count(*) from t where a = 'new'");
    assert_eq!(new.expect("rows"), ["2"]);
}

#[test]
fn a_role_of_none_is_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let near = Server::start(folder.path(), "near", "");
    let here = near.create("here.fbd");
    run(&here, &["create user ann password 'secret-1'"]);
    let who = "select current_user || ' ' || current_role from rdb$database";
    assert_eq!(rows(&here, &block(who, "role 'NONE'")).expect("rows"), ["SYSDBA NONE"]);
    let as_ann = "as user 'ANN' password 'secret-1' role 'NONE'";
    assert_eq!(rows(&here, &block(who, as_ann)).expect("rows"), ["ANN NONE"]);
}

#[test]
fn no_connection_waits_in_a_database_of_this_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let near = Server::start(folder.path(), "near", "external-pool-size = 5\n");
    let here = near.create("here.fbd");
    let as_sysdba = format!("as user 'SYSDBA' password '{PASSWORD}'");
    assert_eq!(rows(&here, &block("select 1 from rdb$database", &as_sysdba)).expect("rows"), ["1"]);
    let idle = "select rdb$get_context('SYSTEM', 'EXT_CONN_POOL_IDLE_COUNT') from rdb$database";
    assert_eq!(rows(&here, idle).expect("rows"), ["0"]);
    // It has been told to go; the server may be at that still.
    let others = "select count(*) from mon$attachments where mon$attachment_id <> current_connection and mon$system_flag = 0";
    let gone = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        rows(&here, others).expect("rows") == ["0"]
    });
    assert!(gone, "a connection stays");
    here.drop_database().expect("nobody else has it");
}

/// A server that may use the files of a folder of this name.
fn server_with_files(folder: &Path, name: &str) -> Server {
    let files = folder.join(name);
    fs::create_dir(&files).expect("a folder");
    Server::start(folder, "server", &format!("external-file-folders = ['{}']", files.display()))
}

#[test]
fn external_tables_read_and_append_to_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_with_files(folder.path(), "files");
    let here = server.create("a.fbd");
    run(
        &here,
        &[
            "create table people external file 'people.txt' (name char(5) character set ascii, born integer,
               line_end char(1) character set ascii)",
            "create table counted external 'below/counted.dat' (n integer default 7 not null, twice computed by (n * 2),
               check (n < 100))",
            "create table own (name varchar(5) primary key)",
            "insert into own values ('ada')",
        ],
    );
    let kinds = "select rdb$relation_name, rdb$relation_type, rdb$external_file from rdb$relations
                 where rdb$external_file is not null order by 1";
    assert_eq!(rows(&here, kinds).expect("rows"), ["COUNTED|2|below/counted.dat", "PEOPLE|2|people.txt"]);
    // There is no such file yet.
    assert_eq!(rows(&here, "select count(*) from people").expect("rows"), ["0"]);
    let file = folder.path().join("files/people.txt");
    let record = |name: &str, born: i32| [name.as_bytes(), &born.to_le_bytes()[..], b"\n"].concat();
    // Behind five letters the number is at the next multiple of its length, counted from where the row is in memory.
    let padded = |name: &str, born: i32| record(&format!("{name:5}\0\0\0"), born);
    let lines = [padded("ada", 1815), padded("alan", 1912), padded("grace", 1906)].concat();
    fs::write(&file, [&lines[..], b"cut"].concat()).expect("written");
    let read = "select name, born from people order by born";
    assert_eq!(rows(&here, read).expect("rows"), ["ada|1815", "grace|1906", "alan|1912"]);
    let joined = "select count(*), max(p.born) from people p join own o on o.name = p.name";
    assert_eq!(rows(&here, joined).expect("rows"), ["1|1815"]);
    assert_eq!(
        rows(&here, "select born from people where born > 1850 order by 1 rows 1").expect("rows"),
        ["1906"]
    );

    // What is appended stays, whatever becomes of the transaction; the beginning of a record that nobody finished goes.
    let transaction = here.begin(&TransactionOptions::default()).expect("begins");
    here.run(&transaction, "insert into people select name, 1, line_end from people where born = 1815")
        .expect("inserted");
    here.rollback(transaction).expect("rolled back");
    assert_eq!(fs::read(&file).expect("a file"), [lines, padded("ada", 1)].concat());
    run(&here, &["insert into people select * from people"]);
    assert_eq!(rows(&here, "select count(*) from people").expect("rows"), ["8"]);

    // Defaults, CHECKs and computed columns are those of any table; NULL is written as zeros.
    run(&here, &["insert into counted default values", "insert into people (name) values ('null')"]);
    assert_eq!(rows(&here, "select * from counted").expect("rows"), ["7|14"]);
    assert_eq!(fs::read(folder.path().join("files/below/counted.dat")).expect("a file"), 7_i32.to_le_bytes());
    assert_eq!(rows(&here, "select born from people where name = 'null'").expect("rows"), ["0"]);
    for (text, code) in [
        ("insert into counted values (100)", isc::CHECK_CONSTRAINT),
        ("insert into counted values (null)", isc::NOT_VALID),
        ("update people set born = 1", isc::EXT_FILE_MODIFY),
        ("delete from people", isc::EXT_FILE_DELETE),
        ("update or insert into people (name, born) values ('ada', 2) matching (name)", isc::EXT_FILE_MODIFY),
        ("select * from people with lock", isc::DSQL_ERROR),
        ("create index i on people (born)", isc::NO_META_UPDATE),
        ("alter table people add primary key (born)", isc::NO_META_UPDATE),
        ("alter table people add foreign key (name) references own", isc::NO_META_UPDATE),
        ("create table b external 'b' (b blob)", isc::NO_META_UPDATE),
        ("create table b external 'b' (b integer [2])", isc::NO_META_UPDATE),
        ("create table b external 'b' (b integer unique)", isc::NO_META_UPDATE),
        ("create table b external 'there:b' (b integer)", isc::NO_META_UPDATE),
        ("create table b external 'b' (a char(8000), b char(8000), c char(8000))", isc::NO_META_UPDATE),
        ("create table b external 'b' (b integer) storage codec 'column'", isc::NO_META_UPDATE),
        ("alter table people set storage default", isc::NO_META_UPDATE),
    ] {
        assert_eq!(refused(&here, text).gds_code(), code, "{text}");
    }

    // A file that has become shorter has fewer rows; the table goes without it.
    fs::write(&file, b"short").expect("written");
    assert_eq!(rows(&here, "select count(*) from people").expect("rows"), ["0"]);
    run(&here, &["drop table people"]);
    assert!(file.exists());
}

#[test]
fn appended_rows_of_several_attachments_stay_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_with_files(folder.path(), "files");
    let here = server.create("a.fbd");
    run(
        &here,
        &["create table lines external 'lines.txt' (letters char(4000) character set none,
           line_end char(1) character set none)"],
    );
    std::thread::scope(|scope| {
        for letter in ["a", "b", "c"] {
            let mine = server.attach("a.fbd");
            let insert = format!(
                "execute block as declare n integer = 0; begin
                   while (n < 50) do begin insert into lines values (rpad('', 4000, '{letter}'), ascii_char(10)); n = n + 1; end
                 end"
            );
            scope.spawn(move || run(&mine, &[&insert]));
        }
    });
    let text = fs::read_to_string(folder.path().join("files/lines.txt")).expect("a file");
    let whole =
        |line: &str| line.len() == 4_000 && line.bytes().all(|it| Some(&it) == line.as_bytes().first());
    assert_eq!((text.lines().count(), text.lines().all(whole)), (150, true));
}

#[test]
fn external_tables_open_no_file_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_with_files(folder.path(), "files");
    let here = server.create("a.fbd");
    let files = folder.path().join("files");
    fs::write(folder.path().join("secret.txt"), "secret").expect("written");
    let database = fs::read(folder.path().join("server/a.fbd")).expect("a file");
    fs::write(files.join("copy.fbd"), &database[..8_192.min(database.len())]).expect("written");
    fs::create_dir(files.join("folder")).expect("a folder");
    #[cfg(unix)]
    for (link, target) in [("link.txt", "secret.txt"), ("nowhere.txt", "new.txt"), ("up", "")] {
        std::os::unix::fs::symlink(folder.path().join(target), files.join(link)).expect("a link");
    }
    let secret = folder.path().join("secret.txt").display().to_string();
    let dots = files.join("../secret.txt").display().to_string();
    let beside = format!("{}-2/x.txt", files.display());
    let mut names =
        vec!["", "..", "../secret.txt", "folder/../../secret.txt", &secret, &dots, &beside, "copy.fbd"];
    if cfg!(unix) {
        names.extend(["link.txt", "nowhere.txt", "up/secret.txt", "up/server/security.fbd", "up/new.txt"]);
    }
    for name in names {
        run(&here, &[&format!("recreate table t external '{name}' (c char(6))")]);
        for text in ["select * from t", "insert into t values ('x')"] {
            assert_eq!(refused(&here, text).gds_code(), isc::CONF_ACCESS_DENIED, "{name}: {text}");
        }
    }
    run(&here, &["recreate table t external 'folder' (c char(6))"]);
    assert_eq!(refused(&here, "select * from t").gds_code(), isc::IO_ERROR);
    assert!(!folder.path().join("new.txt").exists() && !folder.path().join("files-2").exists());
    assert_eq!(fs::read_to_string(folder.path().join("secret.txt")).expect("a file"), "secret");

    // Nothing is allowed that nobody has named, nor the server's own folder.
    let other = Server::start(folder.path(), "other", "");
    let there = other.create("b.fbd");
    run(&there, &[&format!("create table t external '{}' (c char(6))", files.join("x").display())]);
    assert_eq!(refused(&there, "select * from t").gds_code(), isc::CONF_ACCESS_DENIED);
    for refused in [folder.path().to_owned(), folder.path().join("other"), folder.path().join("missing")] {
        let config = folder.path().join("bad.toml");
        fs::write(&config, format!("external-file-folders = ['{}']", refused.display())).expect("written");
        let output = Command::new(FARBIRD)
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(folder.path().join("other"))
            .arg("--config")
            .arg(&config)
            .output()
            .expect("runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("external-file-folders"), "{said}");
    }
}
