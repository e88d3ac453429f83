//! SET BIND shows types as a real Firebird shows them.
//!
//! tests/data/bindings.tsv was recorded from Firebird 5.0.4 by tests/record/bindings.py, which says what a line is.

mod ddl_support;
mod described_types;

use ddl_support::{Session, TestDatabase};
use described_types::{described, in_utf8, in_whole_characters, status};
use farbird_engine::api::ColumnDescription;
use farbird_types::Result;

/// The columns of the table as they are shown, each with its name.
fn shown(session: &mut Session) -> Result<Vec<(String, String)>> {
    let description = session.prepare("select * from t")?;
    let column = |column: &ColumnDescription| {
        let shown = session.shown_type(in_utf8(column.column_type));
        (column.field.to_lowercase(), described(&shown.column_type, shown.extended))
    };
    Ok(description.columns.iter().map(column).collect())
}

/// Rules that Farbird takes and Firebird does not: there TIME ZONE is a TIMESTAMP WITH TIME ZONE, converted to itself.
const TAKEN: &[&str] = &["time zone to extended timestamp with time zone"];

fn answer(session: &mut Session, rules: &str, native: &[(String, String)]) -> Result<String> {
    session.run("alter session reset")?;
    for rule in rules.split("; ") {
        match rule.starts_with("alter") {
            true => session.run(rule)?,
            false => session.run(&format!("set bind of {rule}"))?,
        };
    }
    let changed = shown(session)?.into_iter().zip(native).filter(|(new, old)| new != *old);
    let changed: Vec<String> =
        changed.map(|((name, new), _)| format!("{name}={}", new.replace(' ', "_"))).collect();
    Ok(changed.join(" "))
}

#[test]
fn types_are_shown_as_by_firebird() {
    let (_database, mut session) = TestDatabase::create();
    let mut differing = Vec::new();
    let mut native = Vec::new();
    for line in include_str!("data/bindings.tsv").lines() {
        if let Some(sql) = line.strip_prefix('=') {
            session.run(sql).expect("a definition");
            session.commit();
            native = shown(&mut session).expect("a table");
            continue;
        }
        let (rules, expected) = line.split_once('\t').expect("rules and what they do");
        let expected = in_whole_characters(expected);
        let found = answer(&mut session, rules, &native).unwrap_or_else(|error| status(&error));
        let same = match expected.starts_with('!') {
            true => described_types::codes(&expected).first() == described_types::codes(&found).first(),
            false => expected == found,
        };
        if !same && !TAKEN.contains(&rules) {
            differing.push(format!("{rules}\n  expected {expected}\n  found    {found}"));
        }
    }
    assert!(differing.is_empty(), "{} of the answers differ:\n{}", differing.len(), differing.join("\n"));
}
