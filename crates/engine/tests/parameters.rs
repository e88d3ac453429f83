//! Parameters have the types that a real Firebird gives them.
//!
//! tests/data/parameters.tsv was recorded from Firebird 5.0.4 by tests/record/parameters.py, which says what a line is.

mod ddl_support;
mod described_types;

use ddl_support::{Session, TestDatabase};
use described_types::{codes, described, in_utf8, status};
use farbird_engine::api::ColumnDescription;
use farbird_types::{CastContext, Result, SqlType, Value, convert};

/// Parts of statements that Farbird answers otherwise, with the reason for it.
const DIFFERENCES: &[(&str, &str)] = &[
    ("order by ? at", "Firebird fails to sort by what it cannot describe"),
    ("select base64_decode(?)", "the type of the argument is missing: this is said first"),
    ("select base64_encode(?)", "the same"),
    ("select hex_decode(?)", "the same"),
    ("select hex_encode(?)", "the same"),
    ("make_dbkey('T', ?, id)", "there are no pages that a key could name"),
    ("make_dbkey('T', id, ?)", "the same"),
    ("make_dbkey('T', ?, ?)", "the same"),
    ("rdb$get_transaction_cn", "is not there yet"),
    ("rdb$record_version", "is not there yet"),
    ("between ? and -?", "a date cannot be negated: Firebird finds it when the statement runs"),
    ("d between ? and ? * 2", "the same by another code"),
    ("-? is null", "a number of any type is asked for NULL without harm"),
    ("? + 1 is null", "the same"),
    ("? + ? is null", "the same"),
    ("id + ? is null", "the same"),
    ("first (", "FIRST sees no row: Firebird finds it when the statement runs"),
    ("skip (", "the same"),
    ("where upper(?)", "a text is no condition"),
    ("rows 1 to lpad(?, 3)", "a text is no number of rows: this is said first"),
    ("select left(bl, ?)", "part of a BLOB that may be NULL may be NULL"),
    ("select lpad(a, ?", "the result may be twice as long as Firebird's"),
    ("select rpad(a, ?", "the same"),
];

/// How a value of the recording is handed to a statement: as the type that its parameter has.
fn given(text: &str, column: &ColumnDescription) -> Value {
    match (text, column.column_type.sql_type) {
        ("<null>", _) => Value::Null,
        ("TRUE", _) => Value::Boolean(true),
        (text, SqlType::Blob { .. }) => Value::text(text),
        (text, sql_type) => {
            let context = CastContext {
                session_zone: farbird_types::ZoneId(u16::MAX),
                now: farbird_types::Timestamp::default,
                ..CastContext::UTC
            };
            convert::cast(&Value::text(text), &sql_type.of_parameter_value(), &context)
                .expect("a value of the type")
        }
    }
}

fn message(columns: &[ColumnDescription]) -> String {
    columns.iter().map(|column| described(&in_utf8(column.column_type), false)).collect::<Vec<_>>().join(", ")
}

/// Whether an answer is Firebird's. Of a status only its first code that tells something counts: what a type error is
/// about is found in another layer there.
fn is_same(expected: &str, found: &str) -> bool {
    match (expected.starts_with('!'), found.starts_with('!')) {
        (true, true) => codes(expected).first() == codes(found).first(),
        (false, false) => expected == found,
        _ => false,
    }
}

/// A database with the recording's tables, and the lines that are no definitions.
fn recording() -> (TestDatabase, Session, impl Iterator<Item = &'static str>) {
    let (database, mut session) = TestDatabase::create();
    let lines = include_str!("data/parameters.tsv").lines();
    for sql in lines.clone().filter_map(|line| line.strip_prefix('=')) {
        session.run(sql).expect("a definition");
        session.commit();
    }
    (database, session, lines.filter(|line| !line.starts_with('=')))
}

#[test]
fn parameters_are_typed_as_by_firebird() {
    let (_database, mut session, lines) = recording();
    let mut differing = Vec::new();
    for line in lines.filter(|line| !line.starts_with('>')) {
        let (sql, expected) = line.split_once('\t').expect("a statement and its answer");
        let found = match session.prepare(sql) {
            Ok(description) => {
                format!("({}) ({})", message(&description.parameters), message(&description.columns))
            }
            Err(error) => status(&error),
        };
        let is_known = DIFFERENCES.iter().any(|(part, _)| sql.contains(part));
        if !is_known && !is_same(expected, &found) {
            differing.push(format!("{sql}\n  expected {expected}\n  found    {found}"));
        }
    }
    assert!(differing.is_empty(), "{} of the answers differ:\n{}", differing.len(), differing.join("\n"));
}

/// The rows of a statement, or what it has changed.
fn rows_of(session: &mut Session, sql: &str, values: &str) -> Result<String> {
    let description = session.prepare(sql)?;
    let values = values.split('|').zip(&description.parameters).map(|(text, column)| given(text, column));
    let mut rows = session.run_with(sql, values.collect())?;
    if description.columns.is_empty() {
        rows = session.run("select id, a, n, x from t order by id")?;
    }
    let mut shown = |value: &Value| match value {
        Value::Null => "<null>".to_owned(),
        value => session.shown(value),
    };
    let rows = rows.iter().map(|row| row.iter().map(&mut shown).collect::<Vec<_>>().join("|"));
    Ok(rows.collect::<Vec<_>>().join(" ; "))
}

#[test]
fn statements_with_parameters_give_the_rows_that_firebird_gives() {
    let (_database, mut session, lines) = recording();
    let mut differing = Vec::new();
    for line in lines.filter_map(|line| line.strip_prefix('>')) {
        let parts: Vec<&str> = line.split('\t').collect();
        let [sql, values, expected] = parts.as_slice() else {
            panic!("a statement, values and rows: {line}")
        };
        let found = rows_of(&mut session, sql, values).unwrap_or_else(|error| status(&error));
        session.rollback();
        let same = match expected.strip_prefix('!') {
            Some(_) => is_same(expected, &found),
            None => *expected == found,
        };
        if !same {
            differing.push(format!("{sql}\n  expected {expected}\n  found    {found}"));
        }
    }
    assert!(differing.is_empty(), "{} of the answers differ:\n{}", differing.len(), differing.join("\n"));
}

#[test]
fn texts_of_simple_case_are_described_as_char_and_computed_with_as_they_are() {
    let (_database, mut session) = TestDatabase::create();
    for definition in [
        "create table t (a int, c3 char(3), c1 char(1), v varchar(2))",
        "create view shown as select decode(a, 1, c3, c1) d from t",
    ] {
        session.run(definition).expect(definition);
        session.commit();
    }
    for (sql, expected) in [
        ("select decode(a, 1, c3, c1) from t", "CHAR(3)"),
        ("select case a when 1 then c3 end, case a when 1 then c3 else v end from t", "CHAR(3), VARCHAR(3)"),
        (
            "select decode(a, 1, decode(a, 2, c3, c1), 'five5'), decode(a, 1, c3, c1) || '' from t",
            "CHAR(5), VARCHAR(3)",
        ),
        ("select d, d || '' from (select decode(a, 1, c3, c1) d from t) q", "CHAR(3), VARCHAR(3)"),
        ("with q as (select distinct decode(a, 1, c3, c1) d from t) select d from q order by d", "CHAR(3)"),
        ("select d from shown", "CHAR(3)"),
        ("select (select decode(a, 1, c3, c1) from t) from t", "CHAR(3)"),
        ("select decode(a, 1, c3, c1) from t union select 'five5' from t", "CHAR(5)"),
        ("select decode(a, 1, c3, c1) from t union select v from t", "VARCHAR(3)"),
        ("select decode(a, 1, c3, c1), count(*) from t group by 1", "CHAR(3), other"),
        ("delete from t returning decode(a, 1, c3, c1)", "CHAR(3)"),
    ] {
        let description = session.prepare(sql).expect(sql);
        let types = description.columns.iter().map(|column| match column.column_type.sql_type {
            SqlType::Text(text) if text.varying => format!("VARCHAR({})", text.length_chars),
            SqlType::Text(text) => format!("CHAR({})", text.length_chars),
            _ => "other".to_owned(),
        });
        let types: Vec<String> = types.collect();
        assert_eq!(types.join(", "), expected, "{sql}");
    }
}
