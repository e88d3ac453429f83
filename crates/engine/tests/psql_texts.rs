//! Texts in PSQL: what a block computes with variables is what a query computes with columns of the same types.
//!
//! Assignments and conditions of a block go by programs for short texts of ASCII where they can
//! (`crates/expression/src/whole.rs`); the columns of a derived table never do.

mod psql_support;

use std::cell::RefCell;

use farbird_types::{Error, isc};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use psql_support::Session;

/// Name, type and collation.
const VARIABLES: [(&str, &str, &str); 7] = [
    ("t", "varchar(20) character set utf8", ""),
    ("u", "varchar(12) character set win1252", ""),
    ("v", "varchar(30) character set none", ""),
    ("c", "char(5) character set utf8", ""),
    ("w", "varchar(20) character set utf8", " collate unicode_ci"),
    ("n", "integer", ""),
    ("m", "bigint", ""),
];

const TEXTS: [&str; 12] = [
    "null",
    "''",
    "'a'",
    "'item 7'",
    "'abcABC'",
    "'  pad  '",
    "'Straße'",
    "'%_%'",
    "'99'",
    "'x99y'",
    "'12'",
    "'-3'",
];

const NUMBERS: [&str; 8] = ["null", "0", "1", "-1", "3", "7", "-2147483648", "2147483647"];

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::sample::select(vec!["n", "m", "0", "1", "2", "4", "-2", "n + 1", "m * 3", "2.5", "null"])
            .prop_map(str::to_owned),
    ]
}

fn text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        6 => prop::sample::select(VARIABLES.map(|(name, ..)| name).to_vec()).prop_map(str::to_owned),
        2 => prop::sample::select(TEXTS.to_vec()).prop_map(str::to_owned),
        1 => number().prop_map(|number| format!("({number})")),
    ];
    leaf.prop_recursive(3, 12, 2, |inner| {
        prop_oneof![
            4 => (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("({left} || {right})")),
            2 => (inner.clone(), number(), number())
                .prop_map(|(text, start, length)| format!("substring({text} from {start} for {length})")),
            1 => (inner.clone(), number()).prop_map(|(text, start)| format!("substring({text} from {start})")),
            1 => (inner.clone(), number()).prop_map(|(text, length)| format!("left({text}, {length})")),
            1 => inner.clone().prop_map(|text| format!("upper({text})")),
            1 => inner.clone().prop_map(|text| format!("lower({text})")),
            1 => (inner, prop::sample::select(vec!["varchar(3)", "varchar(40)", "char(8)"]))
                .prop_map(|(text, to)| format!("cast({text} as {to})")),
        ]
    })
}

fn measured() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => text().prop_map(|text| format!("char_length({text})")),
        1 => text().prop_map(|text| format!("octet_length({text})")),
        2 => (text(), text()).prop_map(|(part, text)| format!("position({part} in {text})")),
        1 => text().prop_map(|text| format!("position('a' in {text})")),
        1 => (text(), number()).prop_map(|(text, number)| format!("(char_length({text}) * 3 - {number})")),
    ]
}

fn condition() -> impl Strategy<Value = String> {
    let patterns = vec!["'%a%'", "'_b%'", "'%9%9'", "'item %'", "''", "'%'", "'abcABC'", "'%ß%'"];
    let leaf = prop_oneof![
        (text(), prop::sample::select(patterns)).prop_map(|(text, pattern)| format!("{text} like {pattern}")),
        (measured(), number()).prop_map(|(left, right)| format!("{left} > {right}")),
    ];
    leaf.prop_recursive(2, 4, 2, |inner| {
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
fn held<'v>(name: &str, texts: &[&'v str], numbers: &[&'v str], number: usize) -> &'v str {
    match name {
        "n" | "m" => numbers[number % numbers.len()],
        "c" if texts[number % texts.len()].chars().count() > 7 => "null",
        _ => texts[number % texts.len()],
    }
}

/// A block that computes, and a query that computes the same.
fn both(compute: &str, queried: &str, target: &str, texts: &[&str], numbers: &[&str]) -> (String, String) {
    let values: Vec<&str> =
        VARIABLES.iter().enumerate().map(|(at, (name, ..))| held(name, texts, numbers, at)).collect();
    let declared: String =
        VARIABLES.iter().map(|(name, to, collation)| format!("declare {name} {to}{collation};\n")).collect();
    let assigned: String =
        VARIABLES.iter().zip(&values).map(|((name, ..), value)| format!("{name} = {value};\n")).collect();
    let columns: Vec<String> = VARIABLES
        .iter()
        .zip(&values)
        .map(|((name, to, collation), value)| match collation.is_empty() {
            true => format!("cast({value} as {to}) {name}"),
            false => format!("(cast({value} as {to})){collation} {name}"),
        })
        .collect();
    (
        format!("execute block returns (r {target}) as\n{declared}begin\n{assigned}{compute}\nsuspend;\nend"),
        format!(
            "select cast({queried} as {target}) from (select first 1 {} from rdb$database)",
            columns.join(", ")
        ),
    )
}

#[test]
fn a_block_makes_the_texts_that_a_query_makes() {
    let session = RefCell::new(Session::new());
    let texts = prop::collection::vec(prop::sample::select(TEXTS.to_vec()), VARIABLES.len());
    let numbers = prop::collection::vec(prop::sample::select(NUMBERS.to_vec()), VARIABLES.len());
    let target = prop::sample::select(vec![
        "varchar(200) character set utf8",
        "varchar(10) character set utf8",
        "varchar(100) character set win1252",
        "varchar(60) character set none",
        "char(30) character set utf8",
    ]);
    let config =
        ProptestConfig { cases: 400, failure_persistence: None, max_shrink_iters: 200, ..Default::default() };
    let mut runner = TestRunner::new(config);
    let computed = RefCell::new(0);
    let strategy = (text(), measured(), condition(), target, texts, numbers);
    let ran = runner.run(&strategy, |(text, measured, condition, target, texts, numbers)| {
        let decided = format!("if ({condition}) then r = 1; else r = 0;");
        let chosen = format!("case when {condition} then 1 else 0 end");
        let works = [
            (format!("r = {text};"), text, target),
            (format!("r = {measured};"), measured, "bigint"),
            (decided, chosen, "integer"),
        ];
        for (compute, queried, target) in &works {
            let (block, query) = both(compute, queried, target, &texts, &numbers);
            let run = |sql: &str| session.borrow_mut().run(sql).map_err(|error| essence(&error));
            let (by_block, by_query) = (run(&block), run(&query));
            *computed.borrow_mut() += usize::from(by_block.is_ok());
            prop_assert_eq!(format!("{by_block:?}"), format!("{by_query:?}"), "{}\n{}", block, query);
        }
        Ok(())
    });
    ran.unwrap_or_else(|error| panic!("{error}"));
    assert!(computed.into_inner() > 300, "most of them fail");
}
