//! BLR of views, triggers, routines, defaults and checks, as the system tables show it: byte for byte what Firebird 3 keeps for the
//! same statements, where names and numbers of contexts can be the same. `data/blr/*.tsv` were read from its RDB$ columns, `later.tsv`
//! from those of Firebird 5.0.4: what came after Firebird 3.

mod ddl_support;

use std::collections::BTreeMap;

use ddl_support::{Session, TestDatabase};
use farbird_types::Value;

/// Definitions, and programs recorded of them.
const QUERIES: (&str, &str) = (include_str!("data/blr/queries.sql"), include_str!("data/blr/queries.tsv"));
const ROUTINES: (&str, &str) = (include_str!("data/blr/routines.sql"), include_str!("data/blr/routines.tsv"));

const LATER: (&str, &str) = (include_str!("data/blr/later.sql"), include_str!("data/blr/later.tsv"));

/// Kinds of definitions, and the query for their names and programs.
const SHOWN: [(&str, &str); 9] = [
    ("view", "select rdb$relation_name, '', rdb$view_blr from rdb$relations where rdb$view_blr is not null"),
    (
        "column",
        "select rf.rdb$relation_name, rf.rdb$field_name, f.rdb$computed_blr from rdb$relation_fields rf \
         join rdb$fields f on f.rdb$field_name = rf.rdb$field_source \
         where f.rdb$computed_blr is not null and rf.rdb$base_field is null",
    ),
    (
        "procedure",
        "select rdb$procedure_name, coalesce(rdb$package_name, ''), rdb$procedure_blr from rdb$procedures \
         where rdb$system_flag = 0",
    ),
    (
        "function",
        "select rdb$function_name, coalesce(rdb$package_name, ''), rdb$function_blr from rdb$functions \
         where rdb$system_flag = 0",
    ),
    ("trigger", "select rdb$trigger_name, '', rdb$trigger_blr from rdb$triggers where rdb$system_flag = 0"),
    (
        "check",
        "select rdb$relation_name, rdb$trigger_type, rdb$trigger_blr from rdb$triggers \
         where rdb$system_flag in (3, 4, 5)",
    ),
    (
        "index",
        "select rdb$index_name, '', rdb$expression_blr from rdb$indices where rdb$expression_blr is not null",
    ),
    (
        "domain",
        "select rdb$field_name, '', rdb$validation_blr from rdb$fields \
         where rdb$validation_blr is not null and rdb$system_flag = 0",
    ),
    (
        "default",
        "select rdb$relation_name, rdb$field_name, rdb$default_value from rdb$relation_fields \
         where rdb$default_value is not null and rdb$system_flag = 0",
    ),
];

/// All programs by kind and names.
fn programs(session: &mut Session) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (kind, sql) in SHOWN {
        let (columns, rest) = sql.split_once(" from ").expect("FROM");
        let (names, program) = columns.rsplit_once(", ").expect("a program");
        let sql =
            format!("{names}, hex_encode(cast({program} as varchar(8000) character set octets)) from {rest}");
        for row in session.run(&sql).expect(kind) {
            let text = |value: &Value| match value {
                Value::Text(text) => text.decode_lossy().trim_end().to_owned(),
                Value::Integer { unscaled, .. } => unscaled.to_string(),
                other => panic!("{other:?}"),
            };
            let [first, second, program] = row.as_slice() else { panic!("three columns") };
            found.insert(format!("{kind} {}.{}", text(first), text(second)), text(program).to_lowercase());
        }
    }
    found
}

fn compare((definitions, recorded): (&str, &str)) {
    let (_database, mut session) = TestDatabase::create();
    for statement in farbird_sql::split_script(definitions) {
        match statement.text.trim().to_lowercase().as_str() {
            "commit" => session.commit(),
            _ => session.execute(statement.text),
        }
    }
    session.commit();
    let found = programs(&mut session);
    let recorded: Vec<(&str, &str)> = recorded.lines().filter_map(|line| line.split_once('\t')).collect();
    assert!(recorded.len() > 50, "{}", recorded.len());
    for (name, program) in recorded {
        assert_eq!(found.get(name).map(String::as_str), Some(program), "{name}");
    }
    // Whatever it is, nothing is without a program: that would be its version and its end.
    for (name, program) in &found {
        assert_ne!(program, "054c", "{name}");
    }
}

#[test]
fn programs_are_those_of_firebird() {
    compare(QUERIES);
    compare(ROUTINES);
    compare(LATER);
}

/// What is not told in BLR is an empty program, of which gbak is told before it reads anything.
#[test]
fn what_has_no_program_is_named() {
    let (_database, mut session) = TestDatabase::create();
    session.execute("create table t (a int, b int)");
    session.execute("create view fine as select a, sum(b) over (order by a) as s from t");
    session.commit();
    assert_eq!(session.attachment().compiled_definition(), None);
    session.execute(
        "create view framed as select a, sum(b) over (order by a rows between unbounded preceding and current row \
         exclude ties) as s from t",
    );
    session.commit();
    assert_eq!(session.attachment().compiled_definition().as_deref(), Some("view FRAMED"));
    let shown = programs(&mut session);
    assert_eq!(shown.get("view FRAMED.").map(String::as_str), Some("054c"));
}
