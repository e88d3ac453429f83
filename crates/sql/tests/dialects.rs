//! Where dialect 1 differs from dialect 3.

use farbird_sql::ast::{DataTypeKind, ExpressionKind, Literal, SelectItem, StatementKind};
use farbird_sql::{Dialect, ParseOptions, limits, parse_data_type, parse_expression, parse_statement};
use farbird_types::isc;

const ONE: ParseOptions = ParseOptions::of(Dialect::One);
const THREE: ParseOptions = ParseOptions::of(Dialect::Three);

#[test]
fn double_quotes_make_strings_in_dialect_1_and_names_in_dialect_3() {
    let text = "\"it\"\"s\"";
    let string = Literal::String { value: "it\"s".to_owned(), character_set: None };
    assert_eq!(parse_expression(text, &ONE).unwrap().kind, ExpressionKind::Literal(string));
    match parse_expression(text, &THREE).unwrap().kind {
        ExpressionKind::Column { qualifier: None, name } => {
            assert_eq!(name, "it\"s");
            assert!(name.quoted);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn numbers_with_a_point_are_doubles_in_dialect_1() {
    let kind = |text: &str| parse_expression(text, &ONE).unwrap().kind;
    assert_eq!(kind("1.5"), ExpressionKind::Literal(Literal::Double(1.5)));
    assert_eq!(kind("3000000000"), ExpressionKind::Literal(Literal::Double(3e9)));
    assert!(matches!(kind("5"), ExpressionKind::Literal(Literal::Integer { .. })));
}

#[test]
fn a_date_has_a_time_in_dialect_1() {
    assert_eq!(parse_data_type("date", &ONE).unwrap().kind, DataTypeKind::Timestamp);
    assert_eq!(parse_data_type("date", &THREE).unwrap().kind, DataTypeKind::Date);
}

#[test]
fn types_of_dialect_3_are_refused_in_dialect_1_and_in_its_databases() {
    let client_3 = ParseOptions { database: Dialect::One, ..THREE };
    for text in [
        "select cast(1 as bigint) from t",
        "select cast(1 as time) from t",
        "select date '2020-01-01' from t",
        "select time '10:00' from t",
        "select current_date from t",
        "select localtime from t",
        "create table t (b bigint)",
        "create domain d as time with time zone",
    ] {
        let code =
            |options| parse_statement(text, &options).map(|_| ()).map_err(|error| error.items()[2].gds_code);
        assert_eq!(code(ONE), Err(isc::SQL_DIALECT_DATATYPE_UNSUPPORT), "{text}");
        assert_eq!(code(client_3), Err(isc::SQL_DB_DIALECT_DTYPE_UNSUPPORT), "{text}");
        assert_eq!(code(THREE), Ok(()), "{text}");
        let restored = ParseOptions { any_type: true, ..ONE };
        assert_eq!(code(restored), Ok(()), "{text}");
    }
}

#[test]
fn definitions_are_refused_that_another_dialect_understands_otherwise() {
    for (text, refused) in [
        ("create table t (d date)", true),
        ("create table \"t\" (i integer)", true),
        ("create table t (n numeric(15, 2))", true),
        ("create table t (n numeric(9, 2), k numeric(20, 2))", false),
        ("select cast(1 as decimal(10)) from t", true),
        ("select cast(1 as date) from \"t\"", false),
    ] {
        let client_3 = ParseOptions { database: Dialect::One, ..THREE };
        let error = parse_statement(text, &client_3).err();
        let is_refused = error.is_some_and(|error| error.has(isc::DDL_NOT_ALLOWED_BY_DB_SQL_DIAL));
        assert_eq!(is_refused, refused, "{text}");
        assert!(parse_statement(text, &THREE).is_ok(), "{text}");
    }
}

#[test]
fn dialect_2_refuses_or_warns_of_what_is_otherwise_in_dialect_1() {
    let two = ParseOptions { dialect: Dialect::Two, database: Dialect::Three, any_type: false };
    let code = |text| parse_statement(text, &two).unwrap_err().items()[2].gds_code;
    assert_eq!(code("select \"a\" from t"), isc::INVALID_STRING_CONSTANT);
    assert_eq!(code("select cast(a as date) from t"), isc::TRANSITIONAL_DATE);
    let warnings = |text, options| parse_statement(text, &options).unwrap().warnings;
    let codes = |text| {
        let warnings = warnings(text, two).unwrap();
        warnings.items().iter().map(|item| item.gds_code).collect::<Vec<_>>()
    };
    let number = [isc::DSQL_WARNING_NUMBER_AMBIGUOUS, isc::DSQL_WARNING_NUMBER_AMBIGUOUS1];
    assert_eq!(codes("select 1.5, 2 from t"), number);
    assert_eq!(codes("select 1.5, 3000000000 from t"), [number, number].concat());
    assert_eq!(codes("create table t (n numeric(15, 2))")[0], isc::DSQL_WARN_PRECISION_AMBIGUOUS);
    let renamed = warnings("create table t (d date)", ONE).unwrap();
    assert!(renamed.has(isc::DTYPE_RENAMED));
    assert_eq!(warnings("select 1.5, 3000000000 from t", THREE), None);
    // Not more than a status can tell.
    let many = format!("select {} from t", vec!["1.5"; 1000].join(", "));
    assert!(codes(many.as_str()).len() <= limits::WARNING_CODES_MAX);
}

#[test]
fn names_are_folded_unless_quoted_and_know_their_place() {
    let statement = parse_statement("select a,\n  t.\"b\" as Ccc from t", &THREE).unwrap();
    let StatementKind::Select(select) = statement.kind else { panic!() };
    let farbird_sql::ast::QueryBody::Select(select) = select.query.body else { panic!() };
    let [
        SelectItem::Expression { value: first, .. },
        SelectItem::Expression { value: second, alias: Some(alias) },
    ] = select.items.as_slice()
    else {
        panic!()
    };
    assert_eq!(first.to_string(), "A");
    assert_eq!(second.to_string(), "T.\"b\"");
    assert_eq!((second.position.line, second.position.column, second.position.offset), (2, 3, 12));
    assert_eq!(alias.text, "CCC");
    assert_eq!((alias.position.line, alias.position.column), (2, 12));
}
