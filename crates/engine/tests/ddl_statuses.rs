//! The same statements as a real Firebird was given, with the same answers.
//!
//! tests/data/ddl-statuses.tsv was recorded from Firebird 4.0: a statement per line, each committed (or rolled back, if it
//! failed) before the next, and what came of it: OK, the rows, or the status as `symbol(arguments) symbol ...`.

mod ddl_support;

use ddl_support::{Session, TestDatabase, described};
use farbird_types::{Value, convert};

/// Lines on which Farbird answers otherwise, with its answer and the reason for it.
const DIFFERENCES: &[(&str, &str)] = &[];

/// Rows as the recording shows them.
fn shown(rows: &[Vec<Value>]) -> Vec<String> {
    let value = |value: &Value| match value {
        Value::Null => "<null>".to_owned(),
        other => convert::to_display_text(other).trim_end().to_owned(),
    };
    rows.iter().map(|row| row.iter().map(value).collect::<Vec<_>>().join("|")).collect()
}

fn answer(session: &mut Session, sql: &str) -> String {
    let answer = match session.run(sql) {
        Ok(rows) if rows.is_empty() => "OK".to_owned(),
        Ok(rows) => shown(&rows).join(" ; "),
        Err(error) => described(&error),
    };
    session.commit();
    answer
}

#[test]
fn statements_are_answered_as_by_firebird() {
    let (_database, mut session) = TestDatabase::create();
    let mut differing = Vec::new();
    for line in include_str!("data/ddl-statuses.tsv").lines() {
        let (sql, expected) = line.split_once('\t').expect("a statement and its answer");
        let expected =
            DIFFERENCES.iter().find(|(known, _)| *known == sql).map_or(expected, |(_, ours)| *ours);
        let found = answer(&mut session, sql);
        if found != expected {
            differing.push(format!("{sql}\n  expected {expected}\n  found    {found}"));
        }
    }
    assert!(differing.is_empty(), "{} of the answers differ:\n{}", differing.len(), differing.join("\n"));
}
