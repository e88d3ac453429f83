//! `farbird check` as a user runs it.

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Output};

use farbird::Database;

fn check(database: &Path, more: &[&str]) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_farbird")).arg("check").arg(database).args(more).output();
    command.expect("farbird check")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn filled(path: &Path) -> Database {
    let database = Database::create(path).expect("create");
    let connection = database.connect().expect("connect");
    let script = [
        "create table customers (id int not null primary key, name varchar(60), note blob sub_type text)",
        "create index by_name on customers (name)",
        "execute block as declare n int = 0; begin while (n < 3000) do begin
            insert into customers values (:n, 'customer ' || :n, 'a note on customer ' || :n);
            n = n + 1; end end",
    ];
    for statement in script {
        connection.execute(statement, ()).expect(statement);
    }
    database
}

#[test]
fn a_sound_database_is_called_sound_and_a_damaged_one_is_not() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("app.fbd");
    drop(filled(&path));
    let sound = check(&path, &[]);
    assert!(said(&sound).contains("is sound") && said(&sound).contains("3000 rows"), "{}", said(&sound));
    assert_eq!(sound.status.code(), Some(0));
    let json = said(&check(&path, &["--format", "json"]));
    assert!(json.contains("\"sound\":true") && json.contains("\"blobs\":3000"), "{json}");

    // Every second page behind the log is damaged.
    let size = std::fs::metadata(&path).expect("size").len();
    let mut file = std::fs::OpenOptions::new().write(true).open(&path).expect("open");
    for place in (4_300_000..size).step_by(2 * 4_096) {
        file.seek(SeekFrom::Start(place)).expect("seek");
        file.write_all(b"damage").expect("write");
    }
    drop(file);
    let damaged = check(&path, &[]);
    assert_eq!(damaged.status.code(), Some(1), "{}", said(&damaged));
    assert!(said(&damaged).contains("does not fit its checksum"), "{}", said(&damaged));
}

#[test]
fn an_answer_that_nobody_reads_is_no_failure() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("app.fbd");
    drop(Database::create(&path).expect("create"));
    for format in ["text", "json"] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_farbird"));
        let command = command.arg("check").arg(&path).args(["--format", format]).stdout(writer);
        let ended = command.output().expect("farbird check");
        assert_eq!((ended.status.code(), said(&ended).as_str()), (Some(0), ""), "{format}");
    }
}

#[test]
fn a_database_in_use_or_none_at_all_cannot_be_checked() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("app.fbd");
    let database = filled(&path);
    let refused = check(&path, &[]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(said(&refused).contains("another process has the database open"), "{}", said(&refused));
    drop(database);
    let missing = check(&folder.path().join("none.fbd"), &[]);
    assert_eq!(missing.status.code(), Some(2));
}
