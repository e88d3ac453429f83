//! Plans as Firebird writes them: the short and the explained form of statements for which both choose the same plan.
//!
//! tests/data/plan-texts.txt was recorded from Firebird 5.0 over the empty tables of plan-texts.sql, without the lengths of records
//! and keys; data/record_plan_texts.py records it again. It is the forms that count: tools read them.

mod ddl_support;

use ddl_support::TestDatabase;

const DEFINITIONS: &str = include_str!("data/plan-texts.sql");
const RECORDED: &str = include_str!("data/plan-texts.txt");

#[test]
fn plans_are_written_as_firebird_writes_them() {
    let (_database, mut session) = TestDatabase::create();
    for definition in DEFINITIONS.split("\n\n") {
        session.execute(definition);
        session.commit();
    }
    let mut differing = Vec::new();
    let mut count = 0;
    for entry in RECORDED.trim_start_matches("> ").split("\n> ") {
        let (sql, recorded) = entry.split_once('\n').expect("a statement and its plans");
        let description = session.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let found = format!("{}\n{}", description.plan.trim(), description.explained_plan.trim());
        if found != recorded.trim() {
            differing.push(format!("{sql}\n-- recorded\n{}\n-- found\n{found}", recorded.trim()));
        }
        count += 1;
    }
    assert!(count > 80, "{count} statements");
    assert!(differing.is_empty(), "{} of {count} differ:\n{}", differing.len(), differing.join("\n\n"));
}
