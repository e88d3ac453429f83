//! `farbird backup` and `farbird restore` as a user runs them: everything comes back, from files and servers, and whoever
//! stops them at any moment finds the old files as they were.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const FARBIRD: &str = env!("CARGO_BIN_EXE_farbird");
const PASSWORD: &str = "a secret of the tests";

/// Runs the program; its output, whatever came of it.
fn farbird(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().expect("the program runs")
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(FARBIRD);
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.env("ISC_PASSWORD", PASSWORD).env_remove("ISC_USER");
    command
}

/// Runs the program, which must succeed; what it says on standard output.
fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    let output = farbird(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Runs the program, which must fail with this exit code; what it says on standard error.
fn fails(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = farbird(folder, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stderr)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn sql(folder: &Path, database: &str, statements: &str) -> String {
    succeeds(folder, &["sql", database, "--create", "--format", "json", "-c", statements])
}

fn schema() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/backup/schema.sql"))
}

/// A folder with `app.fbd`, which has something of everything.
fn folder_with_database() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("folder");
    let script = schema();
    succeeds(folder.path(), &["sql", "app.fbd", "--create", "-i", script.to_str().expect("a path")]);
    folder
}

/// Everything that can be read of a database: all rows of all tables, those of the catalog included, and the sequences.
fn dump(folder: &Path, database: &str) -> Vec<String> {
    let names = sql(
        folder,
        database,
        "select trim(rdb$relation_name) as name from rdb$relations where rdb$relation_name not starting with 'MON$' \
         and rdb$relation_name not starting with 'SEC$'",
    );
    let mut statements = String::new();
    for line in names.lines() {
        let name = line.trim_start_matches("{\"NAME\":\"").trim_end_matches("\"}");
        // Its security class and the like are the same; nothing in it is a file's own.
        statements.push_str(&format!("select '{name}' as from_, it.* from \"{name}\" it;\n"));
    }
    statements.push_str("select gen_id(s_plain, 0), gen_id(s_start, 0) from rdb$database;");
    let mut lines: Vec<String> = sql(folder, database, &statements).lines().map(without_statistics).collect();
    lines.sort();
    assert!(lines.len() > 1_000, "{} lines", lines.len());
    lines
}

/// A line without the selectivity of indexes, which is that of the moment: in one database somebody has looked at the rows
/// already.
fn without_statistics(line: &str) -> String {
    let name = "\"RDB$STATISTICS\":";
    let Some((before, value)) = line.split_once(name) else { return line.to_owned() };
    let end = value.find([',', '}']).expect("the end of a value");
    format!("{before}{name}{}", &value[end..])
}

fn assert_same(folder: &Path, restored: &str, original: &[String]) {
    let restored = dump(folder, restored);
    for (restored, original) in restored.iter().zip(original) {
        assert_eq!(restored, original);
    }
    assert_eq!(restored.len(), original.len());
}

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn everything_comes_back() {
    let folder = folder_with_database();
    let folder = folder.path();
    let original = dump(folder, "app.fbd");
    let says = succeeds(folder, &["backup", "app.fbd", "app.fbb"]);
    assert!(says.starts_with("backed up app.fbd to app.fbb: 7 tables, "), "{says}");
    let says = succeeds(folder, &["restore", "app.fbb", "copy.fbd", "--format", "json"]);
    assert!(says.contains("\"tables\":7") && says.contains("\"indexes\":8"), "{says}");
    assert_same(folder, "copy.fbd", &original);
    assert_eq!(files(folder), ["app.fbb", "app.fbd", "copy.fbd"]);
    assert!(succeeds(folder, &["check", "copy.fbd"]).contains("copy.fbd is sound"));
    // What was restored works: keys, checks, triggers, computed columns, numbers that go on where they were.
    let refused = |statement: &str| {
        let output = farbird(folder, &["sql", "copy.fbd", "-c", statement]);
        assert!(!output.status.success(), "{statement}");
        text(&output.stderr)
    };
    assert!(refused("insert into customer (name, nick) values ('x', 'apples')").contains("UQ_NICK"));
    assert!(refused("insert into account values (5, 99, 1, 'EUR')").contains("FK_OWNER"));
    assert!(refused("insert into customer (name) values ('')").contains("does not take the value"));
    let rows = sql(
        folder,
        "copy.fbd",
        "insert into customer (name) values ('new') returning id, initial; update account set balance = 7 where number_ = 1; \
         select count(*) as logged from log; select total from p_total(1); select f_twice(21) as twice from rdb$database;",
    );
    for part in ["\"ID\":6", "\"INITIAL\":\"n\"", "\"LOGGED\":5", "\"TOTAL\":\"14.00\"", "\"TWICE\":42"] {
        assert!(rows.contains(part), "{part} is not in {rows}");
    }
}

#[test]
fn backups_go_through_pipes() {
    let folder = folder_with_database();
    let folder = folder.path();
    let made = farbird(folder, &["backup", "app.fbd", "-"]);
    assert!(made.status.success() && text(&made.stderr).contains("backed up"));
    let mut restore = command(folder, &["restore", "-", "copy.fbd"]);
    let mut restore = restore.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("starts");
    restore.stdin.take().expect("a pipe").write_all(&made.stdout).expect("writes");
    assert!(restore.wait().expect("ends").success());
    assert_same(folder, "copy.fbd", &dump(folder, "app.fbd"));
}

#[test]
fn levels_of_incremental_backups_come_back() {
    let folder = folder_with_database();
    let folder = folder.path();
    // A restored database has no history of backups.
    let dump = |database| -> Vec<String> {
        dump(folder, database)
            .into_iter()
            .filter(|line| !line.contains("\"RDB$BACKUP_HISTORY\",\"RDB$BACKUP_ID\":"))
            .collect()
    };
    let said = succeeds(folder, &["backup", "app.fbd", "sunday.fbn", "--level", "0"]);
    assert!(said.contains("backed up level 0 of app.fbd to sunday.fbn"), "{said}");
    sql(folder, "app.fbd", "create table later (id integer, t blob sub_type text)");
    sql(folder, "app.fbd", "insert into later values (1, 'a text')");
    succeeds(folder, &["backup", "app.fbd", "monday.fbn", "--level", "1"]);
    let size = |name: &str| fs::metadata(folder.join(name)).expect("file").len();
    assert!(size("monday.fbn") < size("sunday.fbn"), "{} {}", size("monday.fbn"), size("sunday.fbn"));
    let history = sql(folder, "app.fbd", "select rdb$backup_level, rdb$file_name from rdb$backup_history");
    assert_eq!(history.lines().count(), 2, "{history}");

    succeeds(folder, &["restore", "--verify", "sunday.fbn", "monday.fbn"]);
    succeeds(folder, &["restore", "sunday.fbn", "monday.fbn", "new.fbd"]);
    let original = dump("app.fbd");
    let restored = dump("new.fbd");
    let missing: Vec<_> = original.iter().filter(|line| !restored.contains(line)).take(5).collect();
    assert_eq!(restored.len(), original.len(), "{missing:?}");
    assert_eq!(sql(folder, "new.fbd", "select t from later"), sql(folder, "app.fbd", "select t from later"));
    succeeds(folder, &["check", "new.fbd"]);

    let error = fails(folder, &["backup", "app.fbd", "x.fbn", "--level", "3"], 2);
    assert!(error.contains("level"), "{error}");
    assert!(!folder.join("x.fbn").exists());
    fails(folder, &["backup", "app.fbd", "monday.fbn", "--level", "1"], 2);
    let error = fails(folder, &["restore", "monday.fbn", "y.fbd"], 2);
    assert!(error.contains("monday.fbn"), "{error}");
    fails(folder, &["restore", "--verify", "monday.fbn", "sunday.fbn"], 1);
    assert!(!folder.join("y.fbd").exists());
}

#[test]
fn nothing_is_overwritten_without_being_asked() {
    let folder = folder_with_database();
    let folder = folder.path();
    succeeds(folder, &["backup", "app.fbd", "app.fbb"]);
    fs::write(folder.join("notes.txt"), "my notes").expect("written");
    assert!(fails(folder, &["backup", "app.fbd", "app.fbb"], 2).contains("exists"));
    assert!(fails(folder, &["restore", "app.fbb", "app.fbd"], 2).contains("exists"));
    // Only a backup is replaced by a backup, and a database by a database.
    for command in [
        ["backup", "app.fbd", "app.fbd", "--replace"],
        ["backup", "app.fbd", "notes.txt", "--replace"],
        ["restore", "app.fbb", "app.fbb", "--replace"],
        ["restore", "app.fbb", "notes.txt", "--replace"],
    ] {
        assert!(fails(folder, &command, 2).contains("not overwritten"), "{command:?}");
    }
    assert_eq!(fs::read(folder.join("notes.txt")).expect("read"), b"my notes");
    sql(folder, "app.fbd", "insert into narrow (a) values (1)");
    succeeds(folder, &["backup", "app.fbd", "app.fbb", "--replace"]);
    sql(folder, "app.fbd", "insert into narrow (a) values (2)");
    succeeds(folder, &["restore", "app.fbb", "app.fbd", "--replace"]);
    assert_eq!(sql(folder, "app.fbd", "select a from narrow").trim(), "{\"A\":1}");
}

#[test]
fn a_damaged_backup_is_named_and_nothing_is_made_of_it() {
    let folder = folder_with_database();
    let folder = folder.path();
    succeeds(folder, &["backup", "app.fbd", "app.fbb"]);
    let whole = fs::read(folder.join("app.fbb")).expect("read");
    fs::write(folder.join("cut.fbb"), &whole[..whole.len() - 5]).expect("written");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    fs::write(folder.join("flipped.fbb"), &flipped).expect("written");
    fs::write(folder.join("gbak.fbk"), b"\x00\x02\x04\x0a\x00\x00\x00and so on").expect("written");
    assert!(succeeds(folder, &["restore", "--verify", "app.fbb"]).contains("is whole"));
    for (backup, word) in [("cut.fbb", "incomplete"), ("flipped.fbb", "damaged"), ("gbak.fbk", "gbak")] {
        assert!(fails(folder, &["restore", "--verify", backup], 1).contains(word));
        assert!(fails(folder, &["restore", backup, "copy.fbd"], 2).contains(word));
        assert!(fails(folder, &["restore", backup, "app.fbd", "--replace"], 2).contains(word));
    }
    assert!(fails(folder, &["restore", "nothing.fbb", "copy.fbd"], 2).contains("nothing.fbb"));
    assert!(fails(folder, &["restore", "app.fbb", "no/folder/copy.fbd"], 2).contains("No such file"));
    assert_eq!(files(folder), ["app.fbb", "app.fbd", "cut.fbb", "flipped.fbb", "gbak.fbk"]);
    assert_eq!(fs::read(folder.join("app.fbb")).expect("read"), whole);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named() {
    let folder = folder_with_database();
    let full = File::options().write(true).open("/dev/full").expect("/dev/full");
    let mut backup = command(folder.path(), &["backup", "app.fbd", "-"]);
    let output = backup.stdout(full).output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no space left"), "{}", text(&output.stderr));
}

/// A database that takes a while, whose backup `app.fbb` and restored copy `copy.fbd` are there already.
fn folder_with_large_database() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("folder");
    let fill = "create table t (id int primary key, name varchar(60), number double precision);
        set term ^;
        execute block as declare i int = 0; begin
            while (i < 30000) do begin
                insert into t values (:i, uuid_to_char(gen_uuid()), rand()); i = i + 1;
            end
        end^
        set term ;^
        commit;";
    fs::write(folder.path().join("fill.sql"), fill).expect("written");
    succeeds(folder.path(), &["sql", "app.fbd", "--create", "-i", "fill.sql"]);
    succeeds(folder.path(), &["backup", "app.fbd", "app.fbb"]);
    succeeds(folder.path(), &["restore", "app.fbb", "copy.fbd"]);
    folder
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

#[test]
fn whoever_kills_it_finds_the_old_files_as_they_were() {
    let folder = folder_with_large_database();
    let folder = folder.path();
    let count = |database: &str| sql(folder, database, "select count(*) as n from t");
    for commands in [
        [&["backup", "app.fbd", "app.fbb", "--replace"][..], &["backup", "app.fbd", "new.fbb"]],
        [&["restore", "app.fbb", "copy.fbd", "--replace"], &["restore", "app.fbb", "new.fbd"]],
    ] {
        let mut killed = 0;
        for delay in (0..400).step_by(25) {
            for arguments in commands {
                let mut child = command(folder, arguments).stdout(Stdio::null()).spawn().expect("starts");
                std::thread::sleep(Duration::from_millis(delay));
                if child.try_wait().expect("state").is_none() {
                    signal(&child, "KILL");
                    killed += 1;
                }
                child.wait().expect("ends");
                for new in ["new.fbb", "new.fbd"].map(|name| folder.join(name)) {
                    if new.exists() {
                        // It was done before the signal came, or is whole all the same.
                        let name = new.file_name().and_then(|name| name.to_str()).expect("a name");
                        match name {
                            "new.fbb" => {
                                assert!(succeeds(folder, &["restore", "--verify", name]).contains("whole"))
                            }
                            _ => assert!(count(name).contains("30000")),
                        }
                        fs::remove_file(&new).expect("removed");
                    }
                }
            }
        }
        assert!(killed > 0, "nothing was killed in time");
        succeeds(folder, &["restore", "--verify", "app.fbb"]);
        assert!(count("copy.fbd").contains("30000"));
        assert!(count("app.fbd").contains("30000"));
        // What was left behind does not stand in the way of the next attempt, which takes it away.
        commands.iter().for_each(|arguments| drop(succeeds(folder, arguments)));
        for new in ["new.fbb", "new.fbd"] {
            let _ = fs::remove_file(folder.join(new));
        }
        assert_eq!(files(folder), ["app.fbb", "app.fbd", "copy.fbd", "fill.sql"]);
    }
}

#[test]
fn ctrl_c_during_a_backup_leaves_nothing_behind() {
    let folder = folder_with_large_database();
    let folder = folder.path();
    for delay in (40..300).step_by(20) {
        let mut backup = command(folder, &["backup", "app.fbd", "new.fbb"]);
        let child = backup.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("starts");
        std::thread::sleep(Duration::from_millis(delay));
        signal(&child, "INT");
        let output = child.wait_with_output().expect("ends");
        // It may have been done before, or not yet have been ready to be interrupted in order.
        if text(&output.stderr).contains("interrupted") {
            assert_eq!(output.status.code(), Some(2));
            assert_eq!(files(folder), ["app.fbb", "app.fbd", "copy.fbd", "fill.sql"]);
        }
        let _ = fs::remove_file(folder.join("new.fbb"));
    }
}

#[test]
fn ctrl_c_during_a_restore_leaves_nothing_behind() {
    let folder = folder_with_large_database();
    let folder = folder.path();
    let backup = fs::read(folder.join("app.fbb")).expect("read");
    let (begun, rest) = backup.split_at(backup.len() / 2);
    let mut restore = command(folder, &["restore", "-", "copy.fbd", "--replace"]);
    let restore = restore.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = restore.spawn().expect("starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(begun).expect("written");
    while !folder.join("copy.fbd.incomplete").exists() {
        assert!(child.try_wait().expect("state").is_none(), "it has ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(&child, "INT");
    for piece in rest.chunks(rest.len() / 100 + 1) {
        // A write fails once it has ended, and that is what it is to do.
        if input.write_all(piece).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(input);
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("interrupted; no database was made"), "{}", text(&output.stderr));
    assert_eq!(files(folder), ["app.fbb", "app.fbd", "copy.fbd", "fill.sql"]);
    assert!(sql(folder, "copy.fbd", "select count(*) as n from t").contains("30000"));
}

/// A running server.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    /// Serves the databases in the folder's `data`.
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
        let address = address.expect("an address").replace(':', "/");
        Server { process, address }
    }

    fn database(&self, name: &str) -> String {
        format!("{}:{name}", self.address)
    }

    fn stop(mut self) {
        signal(&self.process, "TERM");
        assert!(self.process.wait().expect("ends").success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A test that fails leaves no process behind; one that has stopped is none any more.
        let _ = self.process.kill();
    }
}

/// A folder whose `data` holds `app.fbd`.
fn folder_with_data() -> tempfile::TempDir {
    let folder = folder_with_database();
    fs::create_dir(folder.path().join("data")).expect("folder");
    fs::rename(folder.path().join("app.fbd"), folder.path().join("data/app.fbd")).expect("moved");
    folder
}

#[test]
fn levels_of_a_servers_database_come_over_the_wire() {
    let folder = folder_with_data();
    let folder = folder.path();
    let server = Server::start(folder);
    let source = server.database("app.fbd");
    let says = succeeds(folder, &["backup", &source, "sunday.fbn", "--level", "0"]);
    assert!(says.contains("backed up level 0"), "{says}");
    sql(folder, &source, "create table later (id integer)");
    sql(folder, &source, "insert into later values (17)");
    succeeds(folder, &["backup", &source, "monday.fbn", "--level", "1"]);
    assert!(fails(folder, &["backup", &source, "monday.fbn", "--level", "1"], 2).contains("exists"));
    fails(folder, &["backup", &source, "x.fbn", "--level", "3"], 2);
    assert!(!folder.join("x.fbn").exists() && !folder.join("x.fbn.incomplete").exists());
    let history = sql(folder, &source, "select rdb$backup_level, rdb$file_name from rdb$backup_history");
    assert_eq!(history.lines().count(), 2, "{history}");
    server.stop();
    succeeds(folder, &["restore", "sunday.fbn", "monday.fbn", "new.fbd"]);
    assert!(sql(folder, "new.fbd", "select id from later").contains("17"));
    succeeds(folder, &["check", "new.fbd"]);
}

#[test]
fn a_servers_database_is_backed_up_and_restored_over_the_wire() {
    let folder = folder_with_data();
    let folder = folder.path();
    let original = dump(folder, "data/app.fbd");
    let server = Server::start(folder);
    let source = server.database("app.fbd");
    let says = succeeds(folder, &["backup", &source, "app.fbb"]);
    assert!(says.contains("7 tables"), "{says}");
    assert!(fails(folder, &["backup", &source, "app.fbb"], 2).contains("exists"));
    let target = server.database("copy.fbd");
    succeeds(folder, &["restore", "app.fbb", &target]);
    assert!(fails(folder, &["restore", "app.fbb", &target], 2).contains("exists"));
    succeeds(folder, &["restore", "app.fbb", &target, "--replace"]);
    fs::write(folder.join("password"), "wrong\n").expect("written");
    let refused = ["backup", &source, "new.fbb", "--password-file", "password"];
    assert!(fails(folder, &refused, 2).contains("password is wrong"));
    assert!(fails(folder, &["backup", &server.database("none.fbd"), "new.fbb"], 2).contains("none.fbd"));
    assert!(
        fails(folder, &["backup", &server.database("../x.fbd"), "new.fbb"], 2).contains("forbids access")
    );
    // A file that the server has open is not for others.
    assert!(!folder.join("new.fbb").exists() && !folder.join("new.fbb.incomplete").exists());
    server.stop();
    assert_same(folder, "data/copy.fbd", &original);
    assert_eq!(files(&folder.join("data")), ["app.fbd", "copy.fbd", "security.fbd"]);
}

/// Runs one of Firebird's own tools; `None` if it is not installed.
fn tool(folder: &Path, name: &str, arguments: &[&str], input: Option<&Path>) -> Option<Output> {
    let mut command = Command::new(name);
    command.args(arguments).current_dir(folder).env("ISC_USER", "SYSDBA").env("ISC_PASSWORD", PASSWORD);
    match input {
        Some(input) => command.stdin(File::open(input).expect("open")),
        None => command.stdin(Stdio::null()),
    };
    match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("{name} is not installed: not tested");
            None
        }
        output => Some(output.expect("runs")),
    }
}

#[test]
fn firebirds_own_tools_back_up_and_restore() {
    let folder = folder_with_data();
    let folder = folder.path();
    let original = dump(folder, "data/app.fbd");
    let server = Server::start(folder);
    let manager = server.database("service_mgr");
    let run = |name: &str, arguments: &[&str], input: Option<&Path>| {
        let output = tool(folder, name, arguments, input)?;
        assert!(output.status.success(), "{name} {arguments:?}: {}", text(&output.stderr));
        Some(output)
    };
    // Files of the server.
    let Some(output) = run("gbak", &["-b", "-v", "-se", &manager, "app.fbd", "app.fbb"], None) else {
        return;
    };
    assert!(text(&output.stdout).contains("CUSTOMER") || text(&output.stderr).contains("CUSTOMER"));
    run("gbak", &["-c", "-se", &manager, "app.fbb", "one.fbd"], None);
    run("gbak", &["-rep", "-se", &manager, "app.fbb", "one.fbd"], None);
    // Files of the client.
    let arguments = [&manager, "action_backup", "dbname", "app.fbd", "bkp_file", "stdout"];
    let Some(output) = run("fbsvcmgr", &arguments, None) else { return };
    let here = folder.join("here.fbb");
    fs::write(&here, &output.stdout).expect("written");
    let arguments = [&manager, "action_restore", "bkp_file", "stdin", "dbname", "two.fbd", "res_create"];
    run("fbsvcmgr", &arguments, Some(&here));
    let refused = |file: &str| {
        let arguments = [&manager, "action_backup", "dbname", "app.fbd", "bkp_file", file];
        let output = tool(folder, "fbsvcmgr", &arguments, None).expect("installed");
        assert!(!output.status.success());
        format!("{}{}", text(&output.stdout), text(&output.stderr))
    };
    let outside = here.with_file_name("outside.fbb");
    assert!(refused(outside.to_str().expect("a path")).contains("not allowed"));
    assert!(refused("one.fbd").contains("not overwritten"));
    server.stop();
    for restored in ["data/one.fbd", "data/two.fbd"] {
        assert_same(folder, restored, &original);
    }
    assert!(!outside.exists());
}
