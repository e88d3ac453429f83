//! `farbird restore` of backups that gbak made: what was in the Firebird database is in ours, and what cannot be is told.
//!
//! The backups and the scripts that made their databases: crates/gbak/tests/data.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use farbird_engine::StoreOptions;
use farbird_engine::backup::{CancelFlag, RestoreOptions};
use farbird_engine::engine::Engine;
use serde_json::Value;

const FARBIRD: &str = env!("CARGO_BIN_EXE_farbird");

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../gbak/tests/data").join(name)
}

fn farbird(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(FARBIRD);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).env_remove("ISC_USER");
    command.output().expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Restores files of gbak's to `name`; the report.
fn restore(folder: &Path, files: &[&str], name: &str) -> Value {
    let files: Vec<String> = files.iter().map(|file| data(file).display().to_string()).collect();
    let mut arguments = vec!["restore", "--format", "json"];
    arguments.extend(files.iter().map(String::as_str));
    arguments.push(name);
    let output = farbird(folder, &arguments);
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let is_different = !objects(&report).is_empty();
    assert_eq!(output.status.code(), Some(i32::from(is_different)), "{}", text(&output.stderr));
    report
}

/// Rows as lines of JSON.
fn rows(folder: &Path, database: &str, sql: &str) -> Vec<String> {
    let output = farbird(folder, &["sql", database, "--format", "json", "-c", sql]);
    assert!(output.status.success(), "{sql}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout).lines().map(str::to_owned).collect()
}

fn row(folder: &Path, database: &str, sql: &str) -> Value {
    let rows = rows(folder, database, sql);
    assert_eq!(rows.len(), 1, "{sql}: {rows:?}");
    serde_json::from_str(&rows[0]).expect("a row")
}

fn objects(report: &Value) -> Vec<String> {
    let list = report["differences"].as_array().expect("differences");
    list.iter().map(|it| it["object"].as_str().expect("an object").to_owned()).collect()
}

/// All rows of the tables, and what the catalog says of their definitions.
fn dump(folder: &Path, database: &str) -> Vec<String> {
    let mut statements = String::new();
    for table in ["T_ALL", "MASTER", "DETAIL", "T_COMP", "T_ARR", "V_ONE"] {
        statements.push_str(&format!("select '{table}' as FROM_, it.* from {table} it;\n"));
    }
    for table in ["RDB$INDICES", "RDB$RELATION_CONSTRAINTS", "RDB$REF_CONSTRAINTS", "RDB$USER_PRIVILEGES"] {
        let columns = match table {
            "RDB$INDICES" => {
                "RDB$INDEX_NAME, RDB$RELATION_NAME, RDB$UNIQUE_FLAG, RDB$INDEX_TYPE, RDB$INDEX_INACTIVE, \
                 RDB$EXPRESSION_SOURCE"
            }
            "RDB$USER_PRIVILEGES" => {
                "RDB$USER, RDB$PRIVILEGE, RDB$RELATION_NAME, RDB$FIELD_NAME, RDB$GRANTOR"
            }
            _ => "it.*",
        };
        statements.push_str(&format!("select {columns} from {table} it;\n"));
    }
    let mut lines = rows(folder, database, &statements);
    lines.sort();
    lines
}

#[test]
fn a_database_of_firebird_3_comes_over() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    let report = restore(folder, &["firebird3.fbk"], "app.fbd");
    assert_eq!(report["rows"], 11);
    assert_eq!(report["blobs"], 4);
    assert_eq!(objects(&report), Vec::<String>::new(), "{report}");

    // Values of all types, computed ones too.
    let all = row(
        folder,
        "app.fbd",
        "select s, n1, n3, ts, c, v, cu, bo, bt, bw, nm, mx, calc, calct from t_all where id = 1",
    );
    let expected = serde_json::json!({
        "S": 1, "N1": 1.25, "N3": "123456789012.123456", "TS": "1999-12-31 23:59:59.9999", "C": "abc    ", "V": "ä",
        "CU": "äöü€x", "BO": true, "BT": "Text äöü€", "BW": "Winä", "NM": "Name ä", "MX": "ä€   ", "CALC": 3,
        "CALCT": "ä-Name ä",
    });
    for (name, value) in expected.as_object().expect("an object") {
        let (is, should) = (all[name].to_string(), value.to_string());
        assert_eq!(is.trim_matches('"'), should.trim_matches('"'), "{name}");
    }
    assert_eq!(rows(folder, "app.fbd", "select id from t_all where nm = 'null''s' and s is null").len(), 1);

    // Routines call each other, views and procedures give rows, computed columns call functions.
    assert_eq!(row(folder, "app.fbd", "select fd from t_comp")["FD"], 42);
    assert_eq!(rows(folder, "app.fbd", "select * from p_list").len(), 3);
    assert_eq!(row(folder, "app.fbd", "execute procedure p_a(3)")["R"], 0);
    assert_eq!(row(folder, "app.fbd", "select pk_one.f(fd) as f from t_comp")["F"], 42);
    assert_eq!(row(folder, "app.fbd", "select count(*) as n from v_two")["N"], 3);

    // Sequences and identities go on where they were.
    assert_eq!(row(folder, "app.fbd", "select gen_id(g_one, 0) as g from rdb$database")["G"], 4711);
    let next = row(folder, "app.fbd", "insert into t_all (nm) values ('next') returning id");
    assert_eq!(next["ID"], 4);

    // Constraints hold, with their names and actions.
    for (sql, name) in [
        ("insert into master (k1, k2, txt) values (1, 'a', 'x')", "PK_MASTER"),
        ("insert into master (k1, k2, txt) values (9, 'a', 'one')", "UQ_TXT"),
        ("insert into detail (id, m1, m2) values (9, 77, 'x')", "FK_M"),
        ("insert into detail (id, a) values (9, 1001)", "CK_A"),
        ("insert into t_all (nm, po) values ('x', 0)", "PO"),
        ("insert into t_all (s) values (1)", "NM"),
    ] {
        let output = farbird(folder, &["sql", "app.fbd", "-c", sql]);
        let said = text(&output.stderr) + &text(&output.stdout);
        assert!(!output.status.success() && said.contains(name), "{sql}: {said}");
    }
    farbird(folder, &["sql", "app.fbd", "-c", "update master set k1 = 10 where k1 = 1; commit;"]);
    assert_eq!(rows(folder, "app.fbd", "select id from detail where m1 = 10").len(), 2);
    // The trigger calls a function.
    let filled = row(folder, "app.fbd", "insert into detail (id) values (50) returning a");
    assert_eq!(filled["A"], 4);

    // Comments and privileges.
    let said = row(
        folder,
        "app.fbd",
        "select rdb$description as d from rdb$relations where rdb$relation_name = 'MASTER'",
    );
    assert_eq!(said["D"], "The masters: ä");
    let granted = "select 1 from rdb$user_privileges where rdb$user = 'JOE' and rdb$relation_name = 'DETAIL' and \
                   rdb$field_name = 'A' and rdb$privilege = 'U' and rdb$grant_option = 1";
    assert_eq!(rows(folder, "app.fbd", granted).len(), 1);
    let names = rows(
        folder,
        "app.fbd",
        "select 1 from rdb$relation_constraints where rdb$constraint_name starting with 'GBAK$'",
    );
    assert_eq!(names.len(), 0);
    let check = farbird(folder, &["check", "app.fbd"]);
    assert!(check.status.success(), "{}", text(&check.stderr));
}

#[test]
fn all_forms_of_a_backup_make_the_same_database() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    restore(folder, &["firebird3.fbk"], "a.fbd");
    let first = dump(folder, "a.fbd");
    assert!(first.len() > 30, "{first:?}");
    restore(folder, &["firebird3-native.fbk"], "b.fbd");
    assert_eq!(dump(folder, "b.fbd"), first);
    restore(folder, &["firebird3-part2.fbk", "firebird3-part1.fbk", "firebird3-part3.fbk"], "c.fbd");
    assert_eq!(dump(folder, "c.fbd"), first);
}

#[test]
fn types_of_firebird_4_come_over_packed_or_not() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    let sql = "select it.*, char_length(bin) as l from t_new it order by id";
    restore(folder, &["firebird4.fbk"], "a.fbd");
    let first = rows(folder, "a.fbd", sql);
    assert_eq!(first.len(), 3);
    for part in
        ["-123456789012345678901234567890.1234", "170141183460469231731687303715884105727", "Europe/Berlin"]
    {
        assert!(first[0].contains(part), "{part}: {}", first[0]);
    }
    for (place, file) in ["firebird4-zip.fbk", "firebird4-native-expanded.fbk"].into_iter().enumerate() {
        let name = format!("b{place}.fbd");
        restore(folder, &[file], &name);
        assert_eq!(rows(folder, &name, sql), first, "{file}");
    }
}

#[test]
fn damaged_backups_leave_no_file() {
    let folder = tempfile::tempdir().expect("folder");
    let target = folder.path().join("app.fbd");
    let engine = Engine::new(StoreOptions::default());
    let whole = std::fs::read(data("firebird3.fbk")).expect("the backup");
    let end = whole.iter().rposition(|byte| *byte != 0).expect("bytes");
    let cancel = Arc::new(CancelFlag::default());
    for cut in (0..end - 16).step_by(end / 9) {
        let restored = engine.restore_gbak(
            &whole[..cut],
            "cut.fbk",
            &target,
            &RestoreOptions::default(),
            &cancel,
            &mut |_| {},
        );
        let error = restored.expect_err("a backup that is cut off");
        assert!(error.to_string().contains("cut.fbk"), "{cut}: {error}");
        let left: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder").collect();
        assert!(left.is_empty(), "{cut}: {left:?}");
    }
}

#[test]
fn what_is_in_the_way_stays() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    restore(folder, &["firebird3.fbk"], "app.fbd");
    let file = data("firebird3.fbk").display().to_string();
    let again = farbird(folder, &["restore", &file, "app.fbd"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("--replace"), "{}", text(&again.stderr));
    let replaced = farbird(folder, &["restore", &file, "app.fbd", "--replace"]);
    assert!(replaced.status.success(), "{}", text(&replaced.stderr));
    let verified = farbird(folder, &["restore", "--verify", &file]);
    assert!(verified.status.success(), "{}", text(&verified.stderr));
}

#[test]
fn routines_whose_types_are_those_of_views_keep_their_bodies() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    let file = data("firebird3-views.fbk").display().to_string();
    let restored = farbird(folder, &["restore", &file, "app.fbd"]);
    assert_eq!(restored.status.code(), Some(0), "{}{}", text(&restored.stdout), text(&restored.stderr));
    assert_eq!(row(folder, "app.fbd", "execute procedure p_one('x')")["R"], "one: x");
    assert_eq!(row(folder, "app.fbd", "select f_one(a) as f from v")["F"], 2);
    // They call each other.
    assert_eq!(row(folder, "app.fbd", "execute procedure p_odd(4)")["R"], "odd");
    assert_eq!(row(folder, "app.fbd", "execute procedure p_odd(3)")["R"], "even");
}

/// Firebird refuses such routines when they are made, from version 4 on, and goes on running those of older databases: its own example
/// database has some.
#[test]
fn procedures_that_suspend_without_outputs_come_over_and_run() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    let file = data("firebird3-suspend.fbk").display().to_string();
    let restored = farbird(folder, &["restore", &file, "app.fbd"]);
    assert_eq!(restored.status.code(), Some(0), "{}{}", text(&restored.stdout), text(&restored.stderr));
    for statement in ["execute procedure plain", "execute procedure raises(7)"] {
        let output = farbird(folder, &["sql", "app.fbd", "-c", statement]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let sum = "select sum(a) as s from t";
    assert_eq!(row(folder, "app.fbd", sum)["S"], 8);
}

/// Whether trailing spaces count is said by the collation; and a SUSPEND without outputs ends its procedure, for one that calls it too.
#[test]
fn collations_without_pad_come_over_and_what_suspends_returns_to_its_caller() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    let file = data("firebird3-collations.fbk").display().to_string();
    let restored = farbird(folder, &["restore", &file, "app.fbd"]);
    assert_eq!(restored.status.code(), Some(0), "{}{}", text(&restored.stdout), text(&restored.stderr));
    for statement in ["execute procedure p_suspends('direct')", "execute procedure p_calls"] {
        rows(folder, "app.fbd", statement);
    }
    let notes = rows(folder, "app.fbd", "select what from notes");
    assert_eq!(notes, [r#"{"WHAT":"direct"}"#, r#"{"WHAT":"called"}"#, r#"{"WHAT":"caller"}"#]);
    let sql = "select count(*) as n from names where bare = 'A' or padded = 'Á'";
    assert_eq!(row(folder, "app.fbd", sql)["N"], 1);
    assert_eq!(row(folder, "app.fbd", "select count(*) as n from names where bare = 'A'")["N"], 0);
}

#[test]
fn a_restore_can_be_stopped_at_each_step() {
    let folder = tempfile::tempdir().expect("folder");
    let target = folder.path().join("app.fbd");
    let engine = Engine::new(StoreOptions::default());
    let whole = std::fs::read(data("firebird3.fbk")).expect("the backup");
    let restore = |stop_at: usize| {
        let cancel = CancelFlag::new();
        let (mut steps, raised) = (0, Arc::clone(&cancel));
        let options = RestoreOptions::default();
        let restored =
            engine.restore_gbak(whole.as_slice(), "app.fbk", &target, &options, &cancel, &mut |_| {
                steps += 1;
                if steps == stop_at {
                    raised.cancel();
                }
            });
        (restored, steps)
    };
    let (restored, steps) = restore(usize::MAX);
    restored.expect("a database");
    std::fs::remove_file(&target).expect("it is there");
    assert!(steps > 10, "{steps}");
    for step in 1..=steps {
        let (restored, _) = restore(step);
        let error = restored.expect_err("it was stopped");
        assert!(error.has(farbird_types::isc::CANCELLED), "{step}: {error}");
        let left: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder").collect();
        assert!(left.is_empty(), "{step}: {left:?}");
    }
}

#[test]
fn inactive_indexes_come_over_without_being_built() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    let file = data("firebird3-inactive.fbk").display().to_string();
    let restored = farbird(folder, &["restore", &file, "app.fbd", "--format", "json"]);
    assert_eq!(restored.status.code(), Some(0), "{}{}", text(&restored.stdout), text(&restored.stderr));
    let report: Value = serde_json::from_slice(&restored.stdout).expect("a report");
    assert_eq!(report["indexes"], 1, "only the active one is built: {report}");
    let sql = "select trim(rdb$index_name) as n, rdb$index_inactive as off from rdb$indices \
               where rdb$relation_name = 'T' order by 1";
    let found = rows(folder, "app.fbd", sql).join(" ");
    for (name, off) in [("IX_ACTIVE", 0), ("IX_EXPRESSION", 1), ("IX_UNIQUE", 1)] {
        assert!(found.contains(&format!("\"N\":\"{name}\",\"OFF\":{off}")), "{name}: {found}");
    }
    // The rows are what keeps it from being active.
    let output = farbird(folder, &["sql", "app.fbd", "-c", "alter index ix_unique active"]);
    assert!(!output.status.success(), "{}", text(&output.stdout));
    let output = farbird(folder, &["sql", "app.fbd", "-c", "alter index ix_expression active"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn a_backup_for_gbak_has_the_rows_and_the_definitions() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    restore(folder, &["firebird3.fbk"], "a.fbd");
    let made = farbird(folder, &["backup", "a.fbd", "b.fbk", "--format", "gbak", "--format", "json"]);
    assert_eq!(made.status.code(), Some(0), "{}{}", text(&made.stdout), text(&made.stderr));
    let report: Value = serde_json::from_slice(&made.stdout).expect("a report");
    assert_eq!((&report["rows"], &report["blobs"]), (&Value::from(11), &Value::from(4)), "{report}");
    assert_eq!(objects(&report), Vec::<String>::new(), "{report}");
    assert!(!folder.join("b.fbk.sql").exists());

    let restored = farbird(folder, &["restore", "b.fbk", "b.fbd"]);
    assert_eq!(restored.status.code(), Some(0), "{}{}", text(&restored.stdout), text(&restored.stderr));
    let values = "select id, s, i, b, n1, n2, n3, f, d, dt, tm, ts, c, v, cu, oc, vn, bo, bl, bt, bw, nm, po, mo, mx \
                  from t_all order by id";
    assert_eq!(rows(folder, "b.fbd", values), rows(folder, "a.fbd", values));
    for sql in ["select * from master order by k1", "select * from detail order by id"] {
        assert_eq!(rows(folder, "b.fbd", sql), rows(folder, "a.fbd", sql));
    }
    assert_eq!(row(folder, "b.fbd", "select gen_id(g_one, 0) as g from rdb$database")["G"], 4711);
    // It is the whole database again.
    assert_eq!(dump(folder, "b.fbd"), dump(folder, "a.fbd"));
    // Nothing is overwritten, and the file is known for what it is.
    let again = farbird(folder, &["backup", "a.fbd", "b.fbk", "--format", "gbak"]);
    assert_eq!(again.status.code(), Some(2));
    let again = farbird(folder, &["backup", "a.fbd", "b.fbk", "--format", "gbak", "--replace"]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
}

/// Something of all that a script has to make: a function whose arguments have keywords has no BLR here, nor has a window's frame.
const PROGRAMS: &str = "
    create table t (a int, b int, c computed by (hash(cast(b as varchar(10)) using crc32)));
    comment on column t.c is 'computed''s';
    create view v_low as select a from t;
    create view v_high as select a from v_low;
    alter view v_low as select a, sum(b) over (order by a rows unbounded preceding exclude current row) as s from t where b > 0;
    comment on view v_low is 'low';
    comment on column v_low.a is 'column a';
    create index ix_late on t computed by (hash(cast(b as varchar(10)) using crc32));
    alter index ix_late inactive;
    comment on index ix_late is 'late';
    create index ix_part on t (a) where b > 5;
    alter character set utf8 set default collation unicode_ci;
    set term ^;
    create procedure p (x int) returns (y int) as begin
      select first 1 :x + count(*) over (order by a rows unbounded preceding exclude current row) from t into y;
      suspend;
    end^
    create function f (x int) returns int as begin return (select y from p(:x)); end^
    create package k as begin procedure q; end^
    create package body k as begin procedure q as declare i int; begin i = f(1); end end^
    set term ;^
    comment on parameter p.x is 'in';
    comment on parameter f.x is 'argument';
    comment on package k is 'a package';
    insert into t (a, b) values (1, 2);
    commit;";

fn create(folder: &Path, name: &str, statements: &str) {
    std::fs::write(folder.join("create.sql"), statements).expect("a script");
    let made = farbird(folder, &["sql", name, "--create", "-i", "create.sql"]);
    assert!(made.status.success(), "{}{}", text(&made.stdout), text(&made.stderr));
}

#[test]
fn the_script_makes_comments_and_inactive_indexes_in_an_order_of_need() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    // The view that is read is made again, and so behind the one that reads it.
    create(folder, "a.fbd", PROGRAMS);
    let made = farbird(folder, &["backup", "a.fbd", "b.fbk", "--format", "gbak", "--format", "json"]);
    assert_eq!(made.status.code(), Some(1), "{}", text(&made.stderr));
    let report: Value = serde_json::from_slice(&made.stdout).expect("a report");
    let left_out = objects(&report);
    let collation = "default collation UNICODE_CI of character set UTF8";
    assert!(left_out.iter().any(|it| it == collation), "{left_out:?}");
    let partial = report["differences"].as_array().expect("a list").iter();
    let partial = partial.filter(|it| it["object"] == "index IX_PART of table T").collect::<Vec<_>>();
    assert!(partial[0]["reason"].as_str().is_some_and(|it| it.contains("Firebird 5")), "{partial:?}");
    let script = std::fs::read_to_string(folder.join("b.fbk.sql")).expect("the script");
    let (low, high) = (script.find("VIEW \"V_LOW\""), script.find("VIEW \"V_HIGH\""));
    assert!(low.is_some() && low < high, "{script}");
    let restored = farbird(folder, &["restore", "b.fbk", "b.fbd"]);
    assert_eq!(restored.status.code(), Some(0), "{}{}", text(&restored.stdout), text(&restored.stderr));
    let ran = farbird(folder, &["sql", "b.fbd", "-i", "b.fbk.sql"]);
    assert!(ran.status.success(), "{}{}{script}", text(&ran.stdout), text(&ran.stderr));
    for (sql, count) in [
        ("select rdb$relation_name, rdb$description from rdb$relations where rdb$description is not null", 1),
        (
            "select rdb$relation_name, rdb$field_name, rdb$description from rdb$relation_fields \
             where rdb$description is not null order by 1, 2",
            2,
        ),
        (
            "select rdb$index_name, coalesce(rdb$index_inactive, 0) as i, rdb$description from rdb$indices \
             where rdb$relation_name = 'T' order by 1",
            2,
        ),
        ("select rdb$package_name, rdb$description from rdb$packages where rdb$system_flag = 0", 1),
        (
            "select rdb$parameter_name, rdb$description from rdb$procedure_parameters \
             where rdb$description is not null",
            1,
        ),
        (
            "select rdb$argument_name, rdb$description from rdb$function_arguments \
             where rdb$description is not null",
            1,
        ),
    ] {
        let (is, was) = (rows(folder, "b.fbd", sql), rows(folder, "a.fbd", sql));
        assert_eq!((is.len(), &is), (count, &was), "{sql}");
    }
}

#[test]
fn a_backup_for_gbak_and_its_script_stay_together() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    create(folder, "a.fbd", PROGRAMS);
    create(folder, "plain.fbd", "create table t (a int); commit;");
    let back_up = |database: &str, more: &[&str]| {
        farbird(folder, &[&["backup", database, "b.fbk", "--format", "gbak"], more].concat())
    };
    let script = folder.join("b.fbk.sql");
    // What is in the way stays, and so does what is no script.
    std::fs::write(&script, "mine").expect("a file");
    for more in [&[][..], &["--replace"]] {
        let made = back_up("a.fbd", more);
        assert_eq!(made.status.code(), Some(2), "{}", text(&made.stdout));
        assert_eq!(std::fs::read_to_string(&script).expect("the file"), "mine");
        assert!(!folder.join("b.fbk").exists() && !folder.join("b.fbk.incomplete").exists());
    }
    std::fs::remove_file(&script).expect("it is there");
    #[cfg(unix)]
    {
        let other = folder.join("other.txt");
        std::fs::write(&other, "/* What the backup has no BLR of.").expect("a file");
        std::os::unix::fs::symlink(&other, &script).expect("a link");
        let made = back_up("a.fbd", &["--replace"]);
        assert_eq!(made.status.code(), Some(2), "{}", text(&made.stdout));
        assert_eq!(std::fs::read_to_string(&other).expect("the file").len(), 33);
        std::fs::remove_file(&script).expect("it is there");
    }
    let made = back_up("a.fbd", &[]);
    assert_eq!(made.status.code(), Some(1), "{}", text(&made.stderr));
    assert!(script.exists());
    // One that needs none takes the script of the one before away.
    let made = back_up("plain.fbd", &["--replace"]);
    assert_eq!(made.status.code(), Some(0), "{}{}", text(&made.stdout), text(&made.stderr));
    assert!(!script.exists());
    // Standard output has the backup, the other one says what is not in it.
    let piped = farbird(folder, &["backup", "a.fbd", "-", "--format", "gbak", "--format", "json"]);
    assert_eq!(piped.status.code(), Some(1));
    let said = text(&piped.stderr);
    let report = said.lines().find(|it| it.starts_with('{')).expect("a report");
    let left_out = objects(&serde_json::from_str(report).expect("JSON"));
    assert!(left_out.iter().any(|it| it == "view V_LOW"), "{left_out:?}");
}

/// Of all arrays of a table, whatever they are of.
const ELEMENTS: &str = "select id, s[1] s, i[1, 1] i, i[2, 3] j, n[2] n, v[-1] v, '[' || v[1] || ']' w, c[1] c, f[2] f, \
     d[0] d, ts[1] ts, bo[2] bo, w[1] x, bi[2] bi, last_one from arrays order by id";

#[test]
fn arrays_go_into_a_backup_and_come_back() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    restore(folder, &["firebird3-arrays.fbk"], "a.fbd");
    let output = farbird(folder, &["backup", "a.fbd", "a.fbk", "--format", "gbak"]);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let output = farbird(folder, &["restore", "a.fbk", "b.fbd"]);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(rows(folder, "a.fbd", ELEMENTS), rows(folder, "b.fbd", ELEMENTS));
}

#[test]
fn arrays_come_over_with_their_elements() {
    for file in ["firebird3-arrays.fbk", "firebird3-arrays-native.fbk"] {
        let folder = tempfile::tempdir().expect("folder");
        let folder = folder.path();
        let file = data(file).display().to_string();
        let output = farbird(folder, &["restore", &file, "app.fbd"]);
        assert!(output.status.success(), "{file}: {}{}", text(&output.stdout), text(&output.stderr));
        let elements = rows(folder, "app.fbd", ELEMENTS);
        let elements: Vec<Value> =
            elements.iter().map(|row| serde_json::from_str(row).expect("a row")).collect();
        assert_eq!(
            elements[0],
            serde_json::json!({
                "ID": 1, "S": -1, "I": 1, "J": 6, "N": "-3.50", "V": "ä", "W": "[]", "C": "ab\0", "F": -2.25,
                "D": "2020-01-01", "TS": "2020-01-01 01:02:03.0000", "BO": false, "X": "ö€",
                "BI": -1_152_921_504_606_846_976_i64, "LAST_ONE": 7,
            }),
            "{file}"
        );
        // NULL, and an array beside NULLs.
        assert_eq!((&elements[1]["I"], &elements[1]["V"]), (&Value::Null, &Value::Null));
        assert_eq!(
            (&elements[2]["I"], &elements[2]["J"], &elements[2]["S"]),
            (&7.into(), &1.into(), &Value::Null)
        );
        let error = farbird(folder, &["sql", "app.fbd", "-c", "select i[3, 1] from arrays where id = 1"]);
        assert!(!error.status.success() && text(&error.stderr).contains("bounds"), "{}", text(&error.stderr));
    }
}

/// The definitions of external tables come over and go back; their files are no part of a backup.
#[test]
fn external_tables_come_over_and_go_back() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    let create = "create table t external 'it''s.txt' (a char(5), n integer default 3, check (n > 0))";
    let made = farbird(folder, &["sql", "a.fbd", "--create", "-c", create]);
    assert!(made.status.success(), "{}{}", text(&made.stdout), text(&made.stderr));
    let backup = farbird(folder, &["backup", "a.fbd", "a.fbk", "--format", "gbak"]);
    assert!(backup.status.success(), "{}{}", text(&backup.stdout), text(&backup.stderr));
    let path = folder.join("a.fbk").display().to_string();
    let restored = farbird(folder, &["restore", &path, "b.fbd"]);
    assert!(restored.status.success(), "{}{}", text(&restored.stdout), text(&restored.stderr));
    let sql = "select rdb$external_file as f, rdb$relation_type as k from rdb$relations where rdb$relation_name = 'T'";
    let found = row(folder, "b.fbd", sql);
    assert_eq!((&found["F"], &found["K"]), (&"it's.txt".into(), &2.into()), "{found}");
    let output = farbird(folder, &["sql", "b.fbd", "-c", "select * from t"]);
    assert!(
        !output.status.success() && text(&output.stderr).contains("it's.txt"),
        "{}",
        text(&output.stderr)
    );
}

/// The functions of Firebird's own libraries are built in; others come over and cannot be called.
#[test]
fn external_functions_come_over_and_go_back() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    let report = restore(folder, &["external-functions.fbk"], "a.fbd");
    assert_eq!(objects(&report), Vec::<String>::new(), "{report}");
    assert_eq!(row(folder, "a.fbd", "select small from t")["SMALL"], "abc");
    let backup = farbird(folder, &["backup", "a.fbd", "back.fbk", "--format", "gbak"]);
    assert_eq!(backup.status.code(), Some(0), "{}", text(&backup.stderr));
    let back = folder.join("back.fbk").display().to_string();
    let restored = farbird(folder, &["restore", &back, "b.fbd"]);
    assert!(restored.status.success(), "{}{}", text(&restored.stdout), text(&restored.stderr));
    for database in ["a.fbd", "b.fbd"] {
        let call = "select u_lower(name) as small, u_mod(id, 2) as rest, u_round(id + 0.5) as r from t";
        let computed = row(folder, database, call);
        assert_eq!((&computed["SMALL"], &computed["REST"]), (&"abc".into(), &1.0.into()), "{computed}");
        assert_eq!(computed["R"].to_string().trim_matches('"'), "8.0000", "{computed}");
        let output = farbird(folder, &["sql", database, "-c", "select u_own(1, 'x') from t"]);
        let said = text(&output.stderr) + &text(&output.stdout);
        assert!(!output.status.success() && said.contains("U_OWN"), "{said}");
    }
    let declared = "select rdb$function_name, rdb$argument_position, rdb$mechanism, rdb$field_type, rdb$field_length, \
         rdb$field_scale, rdb$character_set_id from rdb$function_arguments where rdb$system_flag = 0 order by 1, 2";
    let functions = "select rdb$function_name, rdb$module_name, rdb$entrypoint, rdb$return_argument, rdb$description \
         from rdb$functions where rdb$system_flag = 0 order by 1";
    for (sql, count) in [(declared, 12), (functions, 5)] {
        let (is, was) = (rows(folder, "b.fbd", sql), rows(folder, "a.fbd", sql));
        assert_eq!((is.len(), &is), (count, &was), "{sql}");
    }
}

#[test]
fn mappings_go_into_a_backup_and_come_back() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    let statements = "create mapping a using plugin srp in \"security.db\" from user 'a b' to role r;\n\
        create mapping b using any plugin serverwide from any \"Group\" to user;\n\
        create mapping c using mapping in x from role y to user z;\n\
        comment on mapping a is 'ä comment';\n\
        alter role rdb$admin set auto admin mapping;";
    create(folder, "app.fbd", statements);
    let seen = "select m.*, cast(m.rdb$description as varchar(20)) as d from rdb$auth_mapping m order by 1";
    let all = |database: &str| {
        let rows = rows(folder, database, seen);
        let without_blob = |row: &String| {
            let mut row: serde_json::Map<String, Value> = serde_json::from_str(row).expect("a row");
            row.remove("RDB$DESCRIPTION");
            row
        };
        rows.iter().map(without_blob).collect::<Vec<_>>()
    };
    let before = all("app.fbd");
    assert_eq!(before.len(), 4);
    let backup = farbird(folder, &["backup", "app.fbd", "app.fbk", "--format", "gbak"]);
    assert!(backup.status.success(), "{}", text(&backup.stderr));
    let restored = farbird(folder, &["restore", "app.fbk", "again.fbd"]);
    assert!(restored.status.success(), "{}", text(&restored.stderr));
    assert_eq!(all("again.fbd"), before);
    // One that is too long for gbak is told, and hinders nothing.
    let long = format!("create mapping longest using any plugin from user '{}' to user", "ä".repeat(200));
    rows(folder, "again.fbd", &long);
    let backup = farbird(folder, &["backup", "again.fbd", "long.fbk", "--format", "gbak"]);
    assert_eq!(backup.status.code(), Some(1));
    let said = text(&backup.stdout) + &text(&backup.stderr);
    assert!(said.contains("mapping LONGEST"), "{said}");
    // Our own backup has them too.
    for arguments in [["backup", "app.fbd", "app.fbb"], ["restore", "app.fbb", "own.fbd"]] {
        let output = farbird(folder, &arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    assert_eq!(all("own.fbd"), before);
}
