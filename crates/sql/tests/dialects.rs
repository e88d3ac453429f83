//! Where dialect 1 differs from dialect 3.

use farbird_sql::ast::{DataTypeKind, ExpressionKind, Literal, SelectItem, StatementKind};
use farbird_sql::{Dialect, ParseOptions, parse_data_type, parse_expression, parse_statement};

const ONE: ParseOptions = ParseOptions { dialect: Dialect::One };
const THREE: ParseOptions = ParseOptions { dialect: Dialect::Three };

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
