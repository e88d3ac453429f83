//! Hostile texts end in a status, on a small stack.

use farbird_sql::limits::DEPTH_MAX;
use farbird_sql::{ParseOptions, parse_statement};
use farbird_types::isc;

/// The stack that threads have unless somebody asks for more.
const STACK_BYTES: usize = 2 * 1024 * 1024;

/// Parses on a small stack: whether the text was accepted, or refused for its depth.
fn accepts(text: String) -> bool {
    std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || match parse_statement(&text, &ParseOptions::default()) {
            Ok(statement) => {
                assert_eq!(statement, statement.clone());
                true
            }
            Err(error) => {
                assert!(error.has(isc::IMP_EXC), "{error:?}");
                false
            }
        })
        .unwrap()
        .join()
        .unwrap()
}

/// A text with so many levels of something around a core.
fn nested(before: &str, core: &str, after: &str, levels: usize) -> String {
    format!("{}{core}{}", before.repeat(levels), after.repeat(levels))
}

/// Ways to nest: what surrounds the whole, what opens and closes a level, what is in the middle.
const NESTS: &[(&str, &str, &str, &str, &str)] = &[
    ("select ", "(", "1", ")", " from t"),
    ("select ", "- ", "1", "", " from t"),
    ("select 1 from t where ", "not ", "a = b", "", ""),
    ("select ", "f(", "1", ")", " from t"),
    ("select ", "case when a then ", "1", " end", " from t"),
    ("select ", "cast(", "1", " as integer)", " from t"),
    ("select ", "(select ", "1", " from t)", " from t"),
    ("select 1 from ", "(select 1 from ", "t", ")", ""),
    ("select 1 from ", "(t join ", "t", " on 1 = 1)", ""),
    ("select 1 from t where ", "exists (select 1 from t where ", "a = b", ")", ""),
    ("select 1 from t where ", "a in (", "b", ")", ""),
    ("select 1 from t where a in ", "(", "select 1 from t", ")", ""),
    ("select 1 from ", "t join ", "t", " on a = b", ""),
    ("", "(", "select 1 from t", ")", ""),
    ("with a as ", "(with a as ", "(select 1 from t)", " select 1 from a)", " select 1 from a"),
    ("execute block as begin ", "begin ", "exit;", " end", " end"),
    ("execute block as begin ", "if (a) then ", "exit;", "", " end"),
    ("execute block as begin ", "if (a) then exit; else ", "exit;", "", " end"),
    ("execute block as begin ", "while (a) do ", "exit;", "", " end"),
    ("execute block as ", "declare procedure p as ", "begin end", " begin end", ""),
    ("select 1 from t plan ", "(", "t natural", ")", ""),
    ("select 1 ", "+ 1 ", "", "", " from t"),
    ("select 1 ", "|| 1 ", "", "", " from t"),
    ("select 1 from t where a ", "is null ", "", "", ""),
    ("select 1 from t where a ", "= b ", "", "", ""),
    ("select 1 from t ", "union all select 1 from t ", "", "", ""),
    ("select 1 from t ", "cross join t ", "", "", ""),
];

#[test]
fn nesting_beyond_the_limit_is_refused() {
    for (start, before, core, after, end) in NESTS {
        for levels in [1_000, 100_000] {
            let text = format!("{start}{}{end}", nested(before, core, after, levels));
            assert!(!accepts(text), "{levels} levels of {before}");
        }
    }
}

#[test]
fn moderate_nesting_is_accepted() {
    let levels = DEPTH_MAX as usize / 8;
    for (start, before, core, after, end) in NESTS {
        let text = format!("{start}{}{end}", nested(before, core, after, levels));
        assert!(accepts(text), "{levels} levels of {before}");
    }
}

#[test]
fn the_deepest_accepted_trees_fit_the_stack() {
    for (start, before, core, after, end) in NESTS {
        let deepest = (1..=DEPTH_MAX as usize)
            .rev()
            .find(|levels| accepts(format!("{start}{}{end}", nested(before, core, after, *levels))));
        assert!(deepest.is_some(), "{before}");
    }
}

#[test]
fn long_lists_are_no_depth() {
    let conditions = vec!["a = 1"; 20_000].join(" or ");
    assert!(accepts(format!("select 1 from t where {conditions}")));
    let values = vec!["1"; 20_000].join(", ");
    assert!(accepts(format!("select 1 from t where a in ({values})")));
    assert!(accepts(format!("execute block as begin {} end", "a = 1;".repeat(20_000))));
}

#[test]
fn parameters_are_counted_and_limited() {
    let parse = |count: usize| {
        let marks = vec!["?"; count].join(", ");
        parse_statement(&format!("insert into t values ({marks})"), &ParseOptions::default())
    };
    assert_eq!(parse(5).unwrap().parameter_count, 5);
    assert!(parse(40_000).unwrap_err().has(isc::IMP_EXC));
}
