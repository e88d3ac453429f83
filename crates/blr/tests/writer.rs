//! What the writer makes is what Firebird's own DDL stores: the bytes were read from RDB$ columns of Firebird 3, 4 and 5.

use farbird_blr::{
    Binary, Comparison, Condition, Expression, Field, FieldName, Function, Item, Reference, ReferringAction,
    check_program, condition_program, on_delete_program, on_update_program, value_program,
};
use farbird_types::{CharacterSet, SqlType, Text, Value};

fn literal(value: Value) -> Box<Expression> {
    Box::new(Expression::Literal { item: Item { sql_type: SqlType::Double, of_attachment: false }, value })
}

fn column(context: u8, name: &str) -> Box<Expression> {
    Box::new(Expression::Field(Field { context, name: FieldName::Name(name.to_owned()) }))
}

fn hexadecimal(bytes: Option<Vec<u8>>) -> String {
    bytes.expect("a program").iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn defaults_and_computed_columns() {
    assert_eq!(hexadecimal(value_program(&literal(Value::integer(1)))), "05150800010000004c");
    let text = Value::Text(Text::new(*b"x'y", CharacterSet::UTF8));
    assert_eq!(hexadecimal(value_program(&literal(text))), "05150f040003007827794c");
    let now = Expression::Call(Function::CurrentTimestamp, Vec::new());
    assert_eq!(hexadecimal(value_program(&now)), "05a14c");
    let sum = Expression::Binary(Binary::Add, column(0, "S"), column(0, "I"));
    assert_eq!(hexadecimal(value_program(&sum)), "052217000153170001494c");
}

#[test]
fn conditions_of_domains_and_tables() {
    let value = Box::new(Expression::Field(Field { context: 0, name: FieldName::Id(0) }));
    let positive = Condition::Compare(Comparison::Greater, value, literal(Value::integer(0)));
    assert_eq!(hexadecimal(condition_program(&positive)), "053118000000150800000000004c");
    let missing = Condition::Missing(column(1, "A"));
    let abort = "028000".to_owned() + "10636865636b5f636f6e73747261696e74" + "ffffff4c";
    assert_eq!(hexadecimal(check_program(&missing)), format!("0502083b3d17010141{abort}"));
}

#[test]
fn actions_of_foreign_keys() {
    let reference = Reference { table: "DETAIL", columns: vec![("M1", "K1"), ("M2", "K2")] };
    let rows = "0743014a0644455441494c02473a2f1702024d311700024b312f1702024d321700024b32ff";
    let set_null = format!("05{rows}0a020202012d1702024d31012d1702024d32ff4c");
    assert_eq!(hexadecimal(on_delete_program(&reference, ReferringAction::SetNull)), set_null);
    let changed = "0839301700024b311701024b31301700024b321701024b32";
    let assign = "0a020202011701024b311702024d31011701024b321702024d32ff";
    let cascade = format!("05{changed}0202{rows}{assign}ffffff4c");
    assert_eq!(hexadecimal(on_update_program(&reference, ReferringAction::Cascade)), cascade);
    let delete = format!("05{rows}05024c");
    assert_eq!(hexadecimal(on_delete_program(&reference, ReferringAction::Cascade)), delete);
}

#[test]
fn what_is_not_known_has_no_program() {
    let generator = Expression::Generator("G".to_owned(), literal(Value::integer(1)));
    assert_eq!(value_program(&generator), None);
    assert_eq!(value_program(&column(0, &"N".repeat(300))), None);
    assert_eq!(
        on_delete_program(&Reference { table: "T", columns: Vec::new() }, ReferringAction::Cascade),
        None
    );
}
