//! Triggers of foreign keys are what Firebird's own DDL stores: the bytes were read from RDB$ columns of Firebird 3, 4 and 5.

use farbird_blr::{Code, Reference, ReferringAction, ReferringColumn, on_delete_program, on_update_program};
use farbird_types::{CharacterSet, Text, Value};

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn column<'a>(own: &'a str, referenced: &'a str) -> ReferringColumn<'a> {
    ReferringColumn { own, referenced, default: None }
}

#[test]
fn actions_of_foreign_keys() {
    let reference = Reference { table: "DETAIL", columns: vec![column("M1", "K1"), column("M2", "K2")] };
    let deleted = |action| hexadecimal(&on_delete_program(&reference, action).expect("a program"));
    let rows = "0743014a0644455441494c02473a2f1702024d311700024b312f1702024d321700024b32ff";
    let set_null = format!("05{rows}0a020202012d1702024d31012d1702024d32ff4c");
    assert_eq!(deleted(ReferringAction::SetNull), set_null);
    let changed = "0839301700024b311701024b31301700024b321701024b32";
    let assign = "0a020202011701024b311702024d31011701024b321702024d32ff";
    let cascade = format!("05{changed}0202{rows}{assign}ffffff4c");
    let updated = on_update_program(&reference, ReferringAction::Cascade).expect("a program");
    assert_eq!(hexadecimal(&updated), cascade);
    assert_eq!(deleted(ReferringAction::Cascade), format!("05{rows}05024c"));
}

#[test]
fn columns_without_a_default_become_null() {
    let mut own = column("M1", "K1");
    let rows = "0743014a0644455441494c022f1702024d311700024b31ff".replace("022f", "02472f");
    for (default, assigned) in [(Some(Code::number(7)), "15080007000000"), (None, "2d")] {
        own.default = default;
        let reference = Reference { table: "DETAIL", columns: vec![own.clone()] };
        let made = on_delete_program(&reference, ReferringAction::SetDefault).expect("a program");
        assert_eq!(hexadecimal(&made), format!("05{rows}0a02020201{assigned}1702024d31ff4c"));
    }
}

#[test]
fn constants_and_what_has_no_room() {
    let constant = |value: Value| hexadecimal(&Code::constant(&value).expect("a constant").program());
    assert_eq!(constant(Value::integer(1)), "05150800010000004c");
    assert_eq!(constant(Value::Text(Text::new(*b"x'y", CharacterSet::UTF8))), "05150f040003007827794c");
    assert_eq!(constant(Value::Null), "052d4c");
    assert_eq!(Code::field(0, &"N".repeat(300)), None);
    let reference = Reference { table: "T", columns: Vec::new() };
    assert_eq!(on_delete_program(&reference, ReferringAction::Cascade), None);
}
