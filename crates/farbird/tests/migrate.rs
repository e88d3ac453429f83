//! `farbird migrate` as a user runs it: a server's database becomes a file, and both are compared.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;

use farbird_engine::StoreOptions;
use farbird_engine::api::{AttachOptions, ClientDescription, CreateDatabaseOptions};
use farbird_engine::engine::Engine;
use farbird_engine::users::NoUsers;
use farbird_types::CharacterSet;
use serde_json::Value;

const FARBIRD: &str = env!("CARGO_BIN_EXE_farbird");
const PASSWORD: &str = "migrate-1";

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(FARBIRD);
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.env("ISC_PASSWORD", PASSWORD).env_remove("ISC_USER");
    command
}

fn farbird(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A running server, which ends with the test.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(folder: &Path) -> Server {
        let mut process = command(folder, &["serve", "--listen", "127.0.0.1:0", "--data", "data"])
            .env("FARBIRD_SYSDBA_PASSWORD", PASSWORD)
            .env("FARBIRD_LOG", "error")
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let address = line.split(" listens on ").nth(1).and_then(|rest| rest.split(',').next());
        Server { process, address: address.expect("an address").replace(':', "/") }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
    }
}

fn rows(folder: &Path, database: &str, sql: &str) -> Vec<String> {
    let output = farbird(folder, &["sql", database, "--format", "json", "-c", sql]);
    assert!(output.status.success(), "{sql}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout).lines().map(str::to_owned).collect()
}

/// An empty database of dialect 1.
fn create_dialect_1(path: &Path) {
    let options = AttachOptions {
        user: "SYSDBA".to_owned(),
        role: None,
        character_set: CharacterSet::UTF8,
        dialect: 1,
        time_zone: None,
        no_database_triggers: true,
        client: ClientDescription::default(),
    };
    let create = CreateDatabaseOptions {
        default_character_set: CharacterSet::UTF8,
        page_size: 8192,
        overwrite: false,
        dialect: 1,
    };
    let engine = Engine::new(StoreOptions::default());
    drop(engine.create_database(path, &create, options, Arc::new(NoUsers)).expect("a database"));
}

#[test]
fn dialect_1_comes_over_and_nothing_runs_in_the_source() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    fs::create_dir(folder.join("data")).expect("folder");
    create_dialect_1(&folder.join("data/old.fbd"));
    let made = farbird(
        folder,
        &[
            "sql",
            "data/old.fbd",
            "-c",
            "create sequence g; create table t (a int, b varchar(9)); create table logins (who varchar(60));
             insert into t values (1, 'x'); select gen_id(g, 5) from rdb$database; commit;",
        ],
    );
    assert!(made.status.success(), "{}{}", text(&made.stdout), text(&made.stderr));
    let trigger = folder.join("trigger.sql");
    fs::write(
        &trigger,
        "set term ^; create trigger seen on connect as begin insert into logins values (current_user); end^ set term ;^",
    )
    .expect("a script");
    let made = farbird(folder, &["sql", "data/old.fbd", "-i", "trigger.sql"]);
    assert!(made.status.success(), "{}{}", text(&made.stdout), text(&made.stderr));
    let server = Server::start(folder);
    let source = format!("{}:old.fbd", server.address);
    let counted = "select count(*) as n from logins";
    let before = rows(folder, &source, counted);

    let moved = farbird(folder, &["migrate", &source, "copy.fbd"]);
    assert_eq!(moved.status.code(), Some(0), "{}{}", text(&moved.stdout), text(&moved.stderr));
    assert_eq!(rows(folder, "copy.fbd", "select gen_id(g, 0) as g from rdb$database"), ["{\"G\":5}"]);
    let backed_up = farbird(folder, &["backup", &source, "old.fbk", "--format", "gbak"]);
    assert_eq!(backed_up.status.code(), Some(1), "{}", text(&backed_up.stderr));
    // Each look at it is one login, those of the commands are none.
    let number = |rows: &[String]| -> i64 {
        let row: Value = serde_json::from_str(&rows[0]).expect("a row");
        row["N"].as_i64().expect("a number")
    };
    assert_eq!(number(&rows(folder, &source, counted)), number(&before) + 1);
}

#[test]
fn a_servers_database_comes_over_and_is_compared() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    fs::create_dir(folder.join("data")).expect("folder");
    let backup: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gbak/tests/data/firebird4.fbk");
    let made = farbird(folder, &["restore", &backup.display().to_string(), "data/app.fbd"]);
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    let server = Server::start(folder);
    let source = format!("{}:app.fbd", server.address);

    let moved = farbird(folder, &["migrate", &source, "copy.fbd", "--format", "json"]);
    assert_eq!(moved.status.code(), Some(0), "{}{}", text(&moved.stdout), text(&moved.stderr));
    let report: Value = serde_json::from_slice(&moved.stdout).expect("a report");
    assert_eq!(report["differences"].as_array().map(Vec::len), Some(0), "{report}");
    for sql in [
        "select it.*, char_length(bin) as l from t_new it order by id",
        "select * from t_all order by id",
        "select * from v_one order by 1, 2, 3",
        "select * from p_list",
        "select gen_id(g_one, 0) as g from rdb$database",
        "select trim(rdb$trigger_name) as n, rdb$trigger_inactive as i from rdb$triggers where rdb$system_flag = 0 order by 1",
        "select trim(rdb$constraint_name) as n, rdb$constraint_type as t from rdb$relation_constraints order by 1",
        "select trim(rdb$index_name) as n, rdb$index_inactive as i from rdb$indices where rdb$system_flag = 0 order by 1",
        "select trim(rdb$user) as u, rdb$privilege as p, trim(rdb$relation_name) as r, rdb$grant_option as o \
         from rdb$user_privileges where rdb$relation_name not starting with 'RDB$' order by 1, 2, 3, 4",
    ] {
        assert_eq!(rows(folder, "copy.fbd", sql), rows(folder, &source, sql), "{sql}");
    }

    // What is there stays, unless it is to be replaced.
    let again = farbird(folder, &["migrate", &source, "copy.fbd"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("--replace"), "{}", text(&again.stderr));
    let again = farbird(folder, &["migrate", &source, "copy.fbd", "--replace"]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    // Nothing is left of one that fails.
    let none = farbird(folder, &["migrate", &format!("{}:none.fbd", server.address), "new.fbd"]);
    assert_eq!(none.status.code(), Some(2));
    let file = farbird(folder, &["migrate", "copy.fbd", "new.fbd"]);
    assert!(text(&file.stderr).contains("is a file"), "{}", text(&file.stderr));
    assert!(!folder.join("new.fbd").exists() && !folder.join("new.fbd.incomplete").exists());
}

#[test]
fn users_come_over_as_a_script_on_request() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    let server = Server::start(folder);
    let source = format!("{}:app.fbd", server.address);
    let created = "create table t (a int); create user ann password 'x' firstname 'D''Arcy' tags (city = 'Oslo'); \
                   create user \"b ob\" password 'y' inactive grant admin role";
    let output = farbird(folder, &["sql", &source, "--create", "-c", created]);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let migrate = ["migrate", &source, "app.fbd", "--users", "users.sql"];
    let output = farbird(folder, &migrate);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("wrote 2 users"), "{}", text(&output.stderr));
    let again = farbird(folder, &migrate);
    assert_eq!(again.status.code(), Some(2), "{}", text(&again.stderr));
    // Another server gets them; the first one shows that they are who they were.
    let users = "select sec$user_name, sec$first_name, sec$active, sec$admin from sec$users order by 1";
    let tags = "select sec$user_name, sec$key, sec$value from sec$user_attributes";
    let expected = [rows(folder, &source, users), rows(folder, &source, tags)];
    for name in ["ann", "\"b ob\""] {
        let output = farbird(folder, &["sql", &source, "-c", &format!("drop user {name}")]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let output = farbird(folder, &["sql", &source, "-i", "users.sql"]);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!([rows(folder, &source, users), rows(folder, &source, tags)], expected);
    let script = fs::read_to_string(folder.join("users.sql")).expect("a script");
    let password =
        script.split("CREATE USER \"ANN\" PASSWORD '").nth(1).and_then(|rest| rest.split('\'').next());
    let login = ["sql", &source, "--user", "ann", "-c", "select current_user from rdb$database"];
    let output =
        command(folder, &login).env("ISC_PASSWORD", password.expect("a password")).output().expect("runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
}
