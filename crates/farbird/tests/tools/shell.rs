//! `farbird sql`.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use crate::harness::{FARBIRD, places, serve, text};

const SCHEMA: &str = "create table people (id int not null primary key, name varchar(40) not null, pay numeric(9, 2) default 0);
create index people_name on people (name);
create table pets (id int primary key, owner_id int references people (id) on delete cascade);
create view names as select name from people;
create sequence numbers;
create domain yes_no as char(1) check (value in ('y', 'n'));
set term ^ ;
create procedure twice (a int) returns (b int) as begin b = a * 2; suspend; end^
create trigger people_bi for people before insert or update position 3 as begin new.name = trim(new.name); end^
set term ; ^
insert into people values (1, 'Ana', 12.5);
insert into people values (2, 'Bob', null);
";

#[test]
fn scripts_run_the_same_on_files_and_servers() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("schema.sql"), SCHEMA).unwrap();
    for place in places(folder) {
        let database = place.database("app.fdb");
        place.succeeds(folder, &["sql", &database, "--create", "-i", "schema.sql"]);
        let printed = |statements: &str| place.sql(folder, "app.fdb", "table", statements);
        assert_eq!(
            printed("select * from people order by id; select b from twice(21);"),
            "ID  NAME     PAY\n--  ----  ------\n 1  Ana    12.50\n 2  Bob   <null>\n B\n--\n42\n"
        );
        let tables = printed("show tables; show views; \\d people\n\\d names\nshow sequences; show domains;");
        for expected in [
            "PEOPLE      table",
            "NAMES      ",
            "ID           INTEGER        NOT NULL",
            "NAME         VARCHAR(40)    NOT NULL",
            "PAY          NUMERIC(9, 2)            default 0",
            "PRIMARY KEY (ID)",
            "PEOPLE_NAME   ascending         NAME     active",
            "PEOPLE_BI     PEOPLE  BEFORE INSERT OR UPDATE         3  active",
            "select name from people",
            "NUMBERS               0",
            "YES_NO       CHAR(1)            check (value in ('y', 'n'))",
        ] {
            assert!(tables.contains(expected), "{database}: {expected:?} in\n{tables}");
        }
        let procedures =
            printed("show procedure twice; show trigger people_bi; show table pets; show grants;");
        for expected in
            ["A          in         INTEGER", "b = a * 2", "REFERENCES PEOPLE (ID) ON DELETE CASCADE"]
        {
            assert!(procedures.contains(expected), "{database}: {expected:?} in\n{procedures}");
        }
        assert!(printed("show database; show version; show sql dialect; show users;").contains("SYSDBA"));
        let plan = printed("explain select * from people where id = 1;");
        assert!(plan.contains("    Table \"PEOPLE\" Access By ID: Index "), "{database}:\n{plan}");
        let analyzed = printed("explain analyze select count(*) from people where id > 0;");
        let heads = ["expected rows", "loops", "own ms"];
        assert!(heads.iter().all(|head| analyzed.contains(head)), "{database}:\n{analyzed}");
        assert!(analyzed.starts_with(' ') && analyzed.contains("\n  Aggregate"), "{database}:\n{analyzed}");
    }
}

#[test]
fn formats_are_chosen_and_results_go_to_files() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("schema.sql"), SCHEMA).unwrap();
    fs::write(folder.join("inner.sql"), "select 3 as three from rdb$database;\n").unwrap();
    let place = serve(folder);
    place.succeeds(folder, &["sql", &place.database("app.fdb"), "--create", "-i", "schema.sql"]);
    let printed = |statements: &str| place.sql(folder, "app.fdb", "table", statements);
    let one = "select id, name from people where id = 1;";
    assert_eq!(printed(&format!("\\f csv\n{one}")), "ID,NAME\n1,Ana\n");
    assert_eq!(printed(&format!("set format json; {one}")), "{\"ID\":1,\"NAME\":\"Ana\"}\n");
    assert_eq!(printed(&format!("\\x\n{one}")), "-- row 1 ----\nID   | 1\nNAME | Ana\n");
    assert_eq!(printed(&format!("\\f markdown\n{one}")), "| ID | NAME |\n| ---: | --- |\n| 1 | Ana |\n");
    assert_eq!(printed(&format!("set heading off; {one}")), "1  Ana\n");
    assert_eq!(printed("set null '-'; select pay from people where id = 2;"), "PAY\n---\n  -\n");
    assert_eq!(printed("set maxrows 1; select id from people order by id;"), "ID\n--\n 1\n");
    assert_eq!(printed("in 'inner.sql'; \\i inner.sql"), "THREE\n-----\n    3\nTHREE\n-----\n    3\n");
    assert_eq!(
        printed(&format!("out out.txt; {one} output; select 1 from rdb$database;")),
        "CONSTANT\n--------\n       1\n"
    );
    assert_eq!(fs::read_to_string(folder.join("out.txt")).unwrap(), "ID  NAME\n--  ----\n 1  Ana\n");
    assert_eq!(printed(&format!("set echo on; {one}")), format!("{one}\nID  NAME\n--  ----\n 1  Ana\n"));
    let plan = printed("set planonly on; select * from people where id = 1;");
    assert!(plan.contains("PEOPLE INDEX") && !plan.contains("Ana"), "{plan}");
}

#[test]
fn transactions_end_as_the_words_say() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for place in places(folder) {
        let count = || place.sql(folder, "end.fdb", "csv", "select count(*) from t;");
        place.sql(folder, "end.fdb", "csv", "create table t (a int);");
        place.sql(folder, "end.fdb", "csv", "insert into t values (1); quit; insert into t values (2);");
        assert_eq!(count(), "COUNT\n0\n");
        place.sql(folder, "end.fdb", "csv", "insert into t values (1); exit; insert into t values (2);");
        assert_eq!(count(), "COUNT\n1\n");
        place.sql(
            folder,
            "end.fdb",
            "csv",
            "insert into t values (2); rollback; set transaction read committed; insert into t values (3);
            commit retain; insert into t values (4); savepoint s; insert into t values (5);
            rollback to savepoint s; commit;",
        );
        assert_eq!(place.sql(folder, "end.fdb", "csv", "select sum(a) from t;"), "SUM\n8\n");
        // A statement that fails ends the script, and what was not committed is undone; or it goes on.
        let script = "insert into t values (100); select * from nowhere; insert into t values (200);";
        let database = place.database("end.fdb");
        let told = place.ends(folder, &["sql", &database, "-c", script], 1);
        assert!(told.contains("SQLSTATE = 42S02") && told.contains("At line 1"), "{told}");
        assert_eq!(count(), "COUNT\n3\n");
        place.ends(folder, &["sql", &database, "--continue", "-c", script], 1);
        assert_eq!(count(), "COUNT\n5\n");
        let refused =
            place.ends(folder, &["sql", &database, "-c", "set transaction read only; delete from t;"], 1);
        assert!(refused.contains("read-only") || refused.contains("read only"), "{refused}");
        let reserving = "set transaction no wait read committed reserving t for protected write;
            delete from t where a = 200; commit;";
        place.succeeds(folder, &["sql", &database, "-c", reserving]);
        assert_eq!(count(), "COUNT\n4\n");
        place.ends(
            folder,
            &["sql", &database, "-c", "set transaction reserving nowhere for protected write;"],
            1,
        );
    }
}

#[test]
fn scripts_connect_and_create_databases() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (number, place) in places(folder).iter().enumerate() {
        let database = |name: &str| place.database(&format!("{name}{number}.fdb"));
        let (one, other) = (database("one"), database("other"));
        let inner =
            format!("connect '{one}';\nselect 'inner' as place, a from t;\nexit;\nselect 'never' from t;\n");
        fs::write(folder.join("inner.sql"), inner).unwrap();
        let script = format!(
            "create database '{one}' page_size 8192 default character set win1250;
            create table t (a int);
            insert into t values (1);
            create database '{other}';
            create table t (a int);
            insert into t values (2);
            select 'other' as place, a from t;
            input 'inner.sql';
            select 'behind' as place, a from t;
            set term ^;
            connect '{other}'^
            select 'other again' as place, a from t^
            show database^"
        );
        fs::write(folder.join("outer.sql"), script).unwrap();
        let output = place.command(folder, &["sql", "--format", "csv", "-i", "outer.sql"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let printed = text(&output.stdout);
        let rows: Vec<&str> =
            printed.lines().filter(|line| line.ends_with([',', '1', '2'])).take(4).collect();
        assert_eq!(rows, ["other,2", "inner,1", "behind,1", "other again,2"], "{printed}");
        assert!(printed.contains("Character set,UTF8") && !printed.contains("never"), "{printed}");
        let set = place.sql(folder, &format!("one{number}.fdb"), "csv", "show database;");
        assert!(set.contains("Character set,WIN1250"), "{set}");

        // What cannot be connected to is told with the statement's line, and ends the script where it stands.
        let script =
            "select 1 from rdb$database;\nconnect 'localhost/1:nowhere';\nselect 2 from rdb$database;";
        let told = place.ends(folder, &["sql", &one, "-c", script], 1);
        assert!(told.contains("cannot open localhost/1:nowhere") && told.contains("At line 2"), "{told}");
        let output =
            place.command(folder, &["sql", &one, "--continue", "--format", "csv", "-c", script]).output();
        let output = output.unwrap();
        assert_eq!(
            (output.status.code(), text(&output.stdout).as_str()),
            (Some(1), "CONSTANT\n1\nCONSTANT\n2\n")
        );
        // Lines are those of the script, behind a CONNECT too.
        let script = format!("\nconnect '{other}';\n\nselect * from nowhere;");
        let told = place.ends(folder, &["sql", &one, "-c", &script], 1);
        assert!(told.contains("At line 4"), "{told}");
        place.ends(folder, &["sql", "-c", &format!("create database '{one}';")], 1);
    }
    let place = serve(folder);
    let told = place.ends(folder, &["sql", "-c", "select 1 from rdb$database;"], 1);
    assert!(told.contains("there is no database: CONNECT"), "{told}");
    let database = place.database("gone.fdb");
    let script = format!("create database '{database}'; create table t (a int); drop database;");
    place.succeeds(folder, &["sql", "-c", &script]);
    place.ends(folder, &["sql", &database, "-c", "select 1 from rdb$database;"], 2);
}

#[test]
fn statements_and_new_databases_are_of_the_dialect_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for place in places(folder) {
        let (one, other) = (place.database("one"), place.database("other"));
        let printed = |arguments: &[&str]| {
            let output = place.command(folder, arguments).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
            text(&output.stdout)
        };
        let query = "select \"a text\" t, 7 / 2 n from rdb$database; show sql dialect;";
        let arguments = ["sql", &one, "--create", "--dialect", "1", "--format", "csv", "-c", query];
        assert_eq!(printed(&arguments), "T,N\na text,3.500000000000000\nDIALECT\n1\n");
        // The database stays of dialect 1, statements are of dialect 3 unless something else is asked for.
        let division = "select 7 / 2 n from rdb$database;";
        let query = format!("{division} set sql dialect 1; {division} set sql dialect 3; {division}");
        let arguments = ["sql", &one, "--format", "csv", "-c", &query];
        assert_eq!(printed(&arguments), "N\n3\nN\n3.500000000000000\nN\n3\n");
        // What is made behind SET SQL DIALECT is of that dialect.
        let script = format!("set sql dialect 1; create database '{other}'; show sql dialect; {division}");
        assert_eq!(printed(&["sql", "--format", "csv", "-c", &script]), "DIALECT\n1\nN\n3.500000000000000\n");
        place.ends(folder, &["sql", &one, "--dialect", "4", "-c", division], 2);
    }
}

#[test]
fn a_file_is_dropped_as_a_database_of_a_server_is() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let file = folder.join("gone.fbd");
    let place = &places(folder)[0];
    let script = "create table t (a int); drop database; select 1 from rdb$database;";
    let told = place.ends(folder, &["sql", "gone.fbd", "--create", "-c", script], 1);
    assert!(told.contains("there is no database: CONNECT"), "{told}");
    assert!(!file.exists());
}

#[test]
fn servers_are_connected_to_in_other_character_sets() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for place in &places(folder)[1..] {
        let database = place.database("names.fdb");
        let attached =
            "select mon$character_set_id from mon$attachments where mon$attachment_id = current_connection;";
        let script = format!(
            "create table t (a varchar(10) character set utf8);
            set names win1250; connect '{database}';
            insert into t values ('žluť'); select a from t; {attached}"
        );
        let arguments = ["sql", &database, "--create", "--format", "csv"];
        let printed = |more: &[&str]| {
            let output = place.command(folder, &[&arguments[..], more].concat()).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
            text(&output.stdout)
        };
        assert_eq!(printed(&["-c", &script]), "A\nžluť\nMON$CHARACTER_SET_ID\n51\n");
        let script = format!("select a, char_length(a) from t; {attached}");
        let wanted = "A,CHAR_LENGTH\nžluť,4\nMON$CHARACTER_SET_ID\n";
        assert_eq!(printed(&["-c", &script]), format!("{wanted}4\n"));
        assert_eq!(printed(&["--charset", "win1250", "-c", &script]), format!("{wanted}51\n"));
        place.ends(folder, &["sql", &database, "--charset", "nonsense", "-c", "select 1 from t"], 2);
    }
}

#[test]
fn parameters_are_bound_for_the_next_statement() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for place in places(folder) {
        let printed = |statements: &str| place.sql(folder, "bind.fdb", "csv", statements);
        printed("create table t (a int, b varchar(10), c date, d blob sub_type text, e numeric(9, 2));");
        printed("\\bind 1 'it''s' 2025-02-03 'a text' 1.50\ninsert into t values (?, ?, ?, ?, ?);");
        printed("\\bind 2 null null null null\ninsert into t values (?, ?, ?, ?, ?);");
        assert_eq!(
            printed("\\bind 1\nselect * from t where a = ?;\n\\bind 2\nselect a, b from t where a = ?;"),
            "A,B,C,D,E\n1,it's,2025-02-03,a text,1.50\nA,B\n2,\n"
        );
        let database = place.database("bind.fdb");
        for (script, told) in [
            ("select a from t where a = ?;", "1 parameter"),
            ("\\bind 1 2\nselect a from t where a = ?;", "1 parameter, \\bind gave 2"),
            ("\\bind x\nselect a from t where a = ?;", "parameter 1: "),
            ("\\bind 1\nselect a from t;", "0 parameters"),
        ] {
            let all = place.ends(folder, &["sql", &database, "-c", script], 1);
            assert!(all.contains(told), "{told}: {all}");
        }
        let described = printed("\\gdesc select a as x, b from t where e = ?");
        for expected in ["1,X,INTEGER,", "2,B,VARCHAR(10)", "\"NUMERIC(9, 2)\""] {
            assert!(described.contains(expected), "{expected}: {described}");
        }
        assert!(printed("\\echo hello\n\\! echo from the system").contains("hello\n"));
    }
}

#[test]
fn what_is_done_with_tables_is_told_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let place = serve(folder.path());
    let database = place.database("tables.fdb");
    let script = "create table t (id int primary key); insert into t values (1); insert into t values (2); \
                  set per_table_stats on; select id from t; update t set id = 3 where id = 2;";
    for database in [database.as_str(), "x.fbd"] {
        let told = place.ends(folder.path(), &["sql", database, "--create", "-c", script], 0);
        assert!(told.contains("Per table statistics:\n----"), "{told}");
        let natural = format!("{:32}|{:>9}|{:9}|{:9}|{:9}|", "T", 2, "", "", "");
        let changed = format!("{:32}|{:9}|{:>9}|{:9}|{:>9}|", "T", "", 1, "", 1);
        assert!(told.contains(&natural) && told.contains(&changed), "{told}");
    }
}

#[test]
fn the_wire_is_told_of_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let place = serve(folder.path());
    let database = place.database("wire.fdb");
    let told = place.ends(
        folder.path(),
        &["sql", &database, "--create", "-c", "\\wire\nset stats on; select 1 from rdb$database;"],
        0,
    );
    assert!(told.contains("Wire: 2 round trips, sent ") && told.contains("Time: "), "{told}");
    let file = place.ends(folder.path(), &["sql", "x.fbd", "--create", "-c", "\\wire"], 1);
    assert!(file.contains("there is no wire"), "{file}");
}

#[test]
fn passwords_come_from_files_and_are_warned_of_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let place = serve(folder);
    let database = place.database("pass.fdb");
    let arguments = ["sql", &database, "--create", "-c", "select 1 from rdb$database"];
    let with = |more: &[&str]| {
        let mut command = place.command(folder, &[&arguments[..], more].concat());
        let output = command.env_remove("ISC_PASSWORD").output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    fs::write(folder.join("secret"), "a secret of the tests\n").unwrap();
    assert_eq!(with(&["--password-file", "secret"]).0, Some(0));
    let (code, told) = with(&["--password", "a secret of the tests", "-u", "sysdba"]);
    assert!(code == Some(0) && told.contains("can be read by every user"), "{told}");
    let (code, told) = with(&["--password", "wrong"]);
    assert!(code == Some(2) && told.contains("cannot open"), "{told}");
    assert_eq!(with(&[]).0, Some(2));
    assert_eq!(with(&["--password-file", "secret", "--wire-crypt", "required", "--compress"]).0, Some(0));
}

#[test]
fn standard_input_is_a_script_and_a_closed_pipe_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let place = serve(folder.path());
    let database = place.database("pipe.fdb");
    let mut child = place
        .command(folder.path(), &["sql", &database, "--create", "--format", "csv"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"select 7 as n from rdb$database;\nquit;\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), "N\n7\n"));

    let long = "select a.rdb$field_name from rdb$fields a cross join rdb$fields b cross join rdb$fields c";
    let mut child = place
        .command(folder.path(), &["sql", &database, "-c", long])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
}

#[test]
fn a_result_without_end_is_stopped_in_the_middle() {
    let folder = tempfile::tempdir().unwrap();
    let endless =
        "select a.rdb$field_name from rdb$fields a, rdb$fields b, rdb$fields c, rdb$fields d, rdb$fields e";
    for place in places(folder.path()) {
        let database = place.database("endless.fdb");
        place.succeeds(folder.path(), &["sql", &database, "--create", "-c", "select 1 from rdb$database"]);
        let mut shell = place
            .command(folder.path(), &["sql", &database, "--format", "csv", "-c", endless])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut rows = shell.stdout.take().unwrap();
        rows.by_ref().take(4_000_000).read_to_end(&mut Vec::new()).unwrap();
        let interrupted = Command::new("kill").args(["-INT", &shell.id().to_string()]).status().unwrap();
        assert!(interrupted.success());
        std::io::copy(&mut rows, &mut std::io::sink()).unwrap();
        let output = shell.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{database}");
        assert!(text(&output.stderr).contains("HY008"), "{database}: {}", text(&output.stderr));
    }
}

/// The conversation with a person: what needs a terminal is in interactive.py, which makes one.
#[test]
fn a_person_edits_completes_cancels_and_finds_earlier_statements() {
    let Ok(version) = Command::new("python3").arg("--version").output() else {
        eprintln!("skipped: it needs python3, whose module pty makes a terminal");
        return;
    };
    assert!(version.status.success());
    let folder = tempfile::tempdir().unwrap();
    // Files and a server of our own: who has a Firebird may have its users too.
    for place in &places(folder.path())[..2] {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools/interactive.py");
        let mut command = place.command(folder.path(), &[]);
        let environment: Vec<_> =
            command.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
        command = Command::new("python3");
        command.arg(script).arg(FARBIRD).arg(place.database("talk.fdb")).current_dir(folder.path());
        for (name, value) in environment {
            command.env(name, value.unwrap_or_default());
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
    }
}
