//! Faulty texts give the statuses that Firebird gives, recorded from Firebird 3.0.11 and 4.0.

use farbird_sql::{ParseOptions, parse_statement};
use farbird_types::error::{StatusArgument, StatusItem};
use farbird_types::isc;

/// isc_dsql_line_col_error.
const LINE_COLUMN: u32 = 336_397_208;

fn items(text: &str) -> Vec<StatusItem> {
    match parse_statement(text, &ParseOptions::default()) {
        Ok(statement) => panic!("accepted: {text}\n{statement}"),
        Err(error) => error.items().to_vec(),
    }
}

fn item(gds_code: u32, arguments: Vec<StatusArgument>) -> StatusItem {
    StatusItem { gds_code, arguments }
}

/// Dynamic SQL Error, SQL error code.
fn head(sql_code: i32) -> Vec<StatusItem> {
    vec![item(isc::DSQL_ERROR, vec![]), item(isc::SQLERR, vec![sql_code.into()])]
}

fn assert_token_unknown(text: &str, line: i32, column: i32, token: &str) {
    let mut expected = head(-104);
    expected.push(item(isc::DSQL_TOKEN_UNK_ERR, vec![line.into(), column.into()]));
    expected.push(item(isc::RANDOM, vec![token.into()]));
    assert_eq!(items(text), expected, "{text}");
}

fn assert_unexpected_end(text: &str, line: i32, column: i32) {
    let mut expected = head(-104);
    expected.push(item(isc::COMMAND_END_ERR2, vec![line.into(), column.into()]));
    assert_eq!(items(text), expected, "{text}");
}

#[test]
fn the_first_token_that_cannot_stand_is_named() {
    assert_token_unknown("selec", 1, 1, "selec");
    assert_token_unknown("select 1\n  frm rdb$database", 2, 7, "rdb$database");
    assert_token_unknown("execute block as begin x = ; end", 1, 28, ";");
    assert_token_unknown("select 1 a b from rdb$database;", 1, 12, "b");
    assert_token_unknown("select 1 from rdb$database; select", 1, 29, "select");
    assert_token_unknown("select * , 1 from rdb$database", 1, 10, ",");
    assert_token_unknown("select 1 from rdb$database where (1,2)=(1,2)", 1, 36, ",");
    assert_token_unknown("select 1 from rdb$database order by 1 fetch first 1+1 rows only", 1, 52, "+");
    assert_token_unknown("select # from rdb$database", 1, 8, "#");
    assert_token_unknown("select 1e from rdb$database", 1, 8, "1");
    assert_token_unknown("select 1.2.3 from rdb$database", 1, 8, "1");
    assert_token_unknown("select 1 from t where a in ()", 1, 29, ")");
    assert_token_unknown("begin end", 1, 1, "begin");
    assert_token_unknown("select 'x' \n , /* a\n comment */ from t", 3, 13, "from");
}

#[test]
fn a_clause_of_several_words_fails_at_the_word_that_differs() {
    assert_token_unknown("create package pkg sql x", 1, 24, "x");
    assert_token_unknown("select a from t for where", 1, 21, "where");
    assert_token_unknown("create table t (a int) enable or", 1, 31, "or");
    assert_token_unknown("set bind of timestamp with zone to legacy", 1, 28, "zone");
    assert_token_unknown("alter sequence s by increment 2", 1, 18, "by");
    assert_unexpected_end("create package pkg sql", 1, 20);
    assert_token_unknown("alter package body pkg as begin end", 1, 20, "pkg");
    assert_token_unknown("create or alter package body pkg as begin end", 1, 30, "pkg");
    assert_token_unknown("alter package pkg drop sql security", 1, 19, "drop");
    assert_unexpected_end("alter package pkg sql security definer", 1, 32);
}

#[test]
fn an_end_too_early_is_placed_at_the_last_token() {
    assert_unexpected_end("", 1, 1);
    assert_unexpected_end(";", 1, 1);
    assert_unexpected_end("-- nothing", 1, 1);
    assert_unexpected_end("select", 1, 1);
    assert_unexpected_end("select 1", 1, 8);
    assert_unexpected_end("select 1 from\n\n", 1, 10);
    assert_unexpected_end("select * from rdb$database where a =   ", 1, 36);
    assert_unexpected_end("create sequence ;", 1, 8);
    assert_unexpected_end("execute block as begin", 1, 18);
    assert_unexpected_end("alter sequence s", 1, 17);
}

#[test]
fn names_have_limits() {
    let long = "a".repeat(64);
    for (text, code) in [
        (format!("select {long} from t"), isc::DYN_NAME_LONGER),
        (format!("select \"{long}\" from t"), isc::DYN_NAME_LONGER),
        ("select \"\" from t".to_owned(), isc::DYN_ZERO_LEN_ID),
    ] {
        let mut expected = head(-104);
        expected.push(item(code, vec![]));
        expected.push(item(LINE_COLUMN, vec![1.into(), 8.into()]));
        assert_eq!(items(&text), expected, "{text}");
    }
    let fits = format!("select {} from t", "a".repeat(63));
    assert!(parse_statement(&fits, &ParseOptions::default()).is_ok());
}

#[test]
fn numbers_of_types_have_limits() {
    let mut expected = head(-842);
    expected.push(item(isc::SCALE_NOGT, vec![]));
    expected.push(item(LINE_COLUMN, vec![1.into(), 31.into()]));
    assert_eq!(items("create domain d as numeric(1, 5)"), expected);
    assert!(items("create domain d as numeric(39)").iter().any(|item| item.gds_code == isc::PRECISION_ERR2));
    assert!(
        items("create domain d as decfloat(20)").iter().any(|item| item.gds_code == isc::DECPRECISION_ERR)
    );
    assert!(items("create domain d as char(0)").iter().any(|item| item.gds_code == isc::EXPEC_POSITIVE));
}

#[test]
fn a_clause_written_twice_is_named() {
    let expected =
        [item(isc::SQLERR, vec![(-637).into()]), item(isc::DSQL_DUPLICATE_SPEC, vec!["[NO] WAIT".into()])];
    assert_eq!(items("set transaction wait no wait"), expected);
}
