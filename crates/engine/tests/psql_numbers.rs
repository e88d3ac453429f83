//! Numbers in PSQL: what a block computes with variables is what a query computes with columns of the same types.
//!
//! Assignments and conditions of a block go by programs for numbers of 64 bits where they can
//! (`crates/expression/src/whole.rs`); the columns of a derived table never do.

mod psql_support;

use std::cell::RefCell;

use farbird_types::{Error, isc};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use psql_support::Session;

const VARIABLES: [(&str, &str); 7] = [
    ("a", "smallint"),
    ("b", "integer"),
    ("c", "bigint"),
    ("d", "numeric(9, 2)"),
    ("e", "numeric(18, 4)"),
    ("f", "int128"),
    ("g", "double precision"),
];

const VALUES: [&str; 11] = [
    "null",
    "0",
    "1",
    "-1",
    "7",
    "-12",
    "12.25",
    "32767",
    "-2147483648",
    "9223372036854775807",
    "(-9223372036854775807 - 1)",
];

fn number() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        6 => prop::sample::select(VARIABLES.map(|(name, _)| name).to_vec()).prop_map(str::to_owned),
        2 => prop::sample::select(vec!["0", "1", "31", "-5", "2.50", "0.0001", "4294967296", "null"]).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 16, 2, |inner| {
        prop_oneof![
            5 => (inner.clone(), prop::sample::select(vec!["+", "-", "*", "/"]), inner.clone())
                .prop_map(|(left, operator, right)| format!("({left} {operator} {right})")),
            2 => (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("mod({left}, {right})")),
            1 => inner.clone().prop_map(|operand| format!("(- {operand})")),
            1 => (inner, prop::sample::select(VARIABLES.map(|(_, to)| to).to_vec()))
                .prop_map(|(operand, to)| format!("cast({operand} as {to})")),
        ]
    })
}

fn condition() -> impl Strategy<Value = String> {
    let operator = prop::sample::select(vec!["=", "<>", "<", "<=", ">", ">="]);
    let leaf = (number(), operator, number())
        .prop_map(|(left, operator, right)| format!("{left} {operator} {right}"));
    leaf.prop_recursive(3, 6, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("({left} and {right})")),
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("({left} or {right})")),
            inner.prop_map(|operand| format!("not ({operand})")),
        ]
    })
}

/// The codes and arguments of an error, without where in the block it happened.
fn essence(error: &Error) -> String {
    let items = error.items().iter().filter(|item| item.gds_code != isc::STACK_TRACE);
    items.map(|item| format!("{} {:?}; ", item.gds_code, item.arguments)).collect()
}

/// The value that a variable begins with: NULL where its type does not hold it.
fn held<'v>(sql_type: &str, value: &'v str) -> &'v str {
    let holds = match sql_type {
        "smallint" => value.len() < 6,
        "integer" => value.len() < 12,
        "numeric(9, 2)" => value.len() < 7,
        "numeric(18, 4)" => value.len() < 12,
        _ => true,
    };
    if holds { value } else { "null" }
}

/// A block that computes, and a query that computes the same.
fn both(compute: &str, queried: &str, target: &str, values: &[&str]) -> (String, String) {
    let held = VARIABLES.iter().zip(values).map(|((name, to), value)| (name, to, held(to, value)));
    let declared: String = VARIABLES.iter().map(|(name, to)| format!("declare {name} {to};\n")).collect();
    let assigned: String = held.clone().map(|(name, _, value)| format!("{name} = {value};\n")).collect();
    let columns: Vec<String> =
        held.map(|(name, to, value)| format!("cast({value} as {to}) {name}")).collect();
    (
        format!("execute block returns (r {target}) as\n{declared}begin\n{assigned}{compute}\nsuspend;\nend"),
        format!(
            "select cast({queried} as {target}) from (select first 1 {} from rdb$database)",
            columns.join(", ")
        ),
    )
}

#[test]
fn a_block_computes_what_a_query_does() {
    let session = RefCell::new(Session::new());
    let values = prop::collection::vec(prop::sample::select(VALUES.to_vec()), VARIABLES.len());
    let target = prop::sample::select(VARIABLES.map(|(_, to)| to).to_vec());
    let config =
        ProptestConfig { cases: 400, failure_persistence: None, max_shrink_iters: 200, ..Default::default() };
    let mut runner = TestRunner::new(config);
    let computed = RefCell::new(0);
    let ran = runner.run(&(number(), condition(), target, values), |(number, condition, target, values)| {
        let decided = format!("if ({condition}) then r = 1; else r = 0;");
        let chosen = format!("case when {condition} then 1 else 0 end");
        for (compute, queried) in [(&format!("r = {number};"), &number), (&decided, &chosen)] {
            let (block, query) = both(compute, queried, target, &values);
            let run = |sql: &str| session.borrow_mut().run(sql).map_err(|error| essence(&error));
            let (by_block, by_query) = (run(&block), run(&query));
            *computed.borrow_mut() += usize::from(by_block.is_ok());
            prop_assert_eq!(format!("{by_block:?}"), format!("{by_query:?}"), "{}\n{}", block, query);
        }
        Ok(())
    });
    ran.unwrap_or_else(|error| panic!("{error}"));
    assert!(computed.into_inner() > 200, "most of them fail");
}
