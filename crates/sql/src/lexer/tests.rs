use super::*;
use crate::ast::Literal;
use farbird_types::ExactWidth;

fn kinds(text: &str) -> Vec<TokenKind> {
    let mut lexer = Lexer::new(text, Dialect::Three);
    let mut kinds = Vec::new();
    loop {
        let token = lexer.next_token();
        if matches!(token.kind, TokenKind::End) {
            return kinds;
        }
        kinds.push(token.kind);
    }
}

fn number(text: &str) -> Literal {
    match kinds(text).as_slice() {
        [TokenKind::Number(literal)] => literal.clone(),
        other => panic!("{text} is not one number: {other:?}"),
    }
}

#[test]
fn the_way_a_number_is_written_decides_its_type() {
    let long = |value| Literal::Integer { value, width: ExactWidth::Long };
    let int64 = |value| Literal::Integer { value, width: ExactWidth::Int64 };
    assert_eq!(number("2147483647"), long(2_147_483_647));
    assert_eq!(number("2147483648"), int64(2_147_483_648));
    assert_eq!(
        number("9223372036854775809"),
        Literal::Integer { value: 9_223_372_036_854_775_809, width: ExactWidth::Int128 }
    );
    assert_eq!(number("1.50"), Literal::Exact { unscaled: 150, scale: -2, width: ExactWidth::Int64 });
    assert_eq!(number(".5"), Literal::Exact { unscaled: 5, scale: -1, width: ExactWidth::Int64 });
    assert_eq!(number("1e2"), Literal::Double(100.0));
    assert_eq!(number("1e400"), Literal::DecFloat("1e400".to_owned()));
    assert_eq!(number("0xFFFFFFFF"), long(-1));
    assert_eq!(number("0x0FFFFFFFF"), int64(4_294_967_295));
    assert_eq!(number("0x00000000000000001"), Literal::Integer { value: 1, width: ExactWidth::Int128 });
    assert!(matches!(kinds("9223372036854775808").as_slice(), [TokenKind::NumberBeyondBigint(0)]));
}

#[test]
fn strings_join_over_spaces_and_keep_their_quotes() {
    assert!(
        matches!(kinds("'it''s'  -- one\n ' two'").as_slice(), [TokenKind::Text(text)] if text == "it's two")
    );
    assert!(matches!(kinds("q'{it's}' Q'!a!'").as_slice(),
        [TokenKind::Text(one), TokenKind::Text(two)] if one == "it's" && two == "a"));
    assert!(
        matches!(kinds("x'0a 0B' '0c'").as_slice(), [TokenKind::Binary(bytes)] if bytes == &[10, 11, 12])
    );
    assert!(matches!(kinds("x'0'").as_slice(), [TokenKind::Word(_), TokenKind::Text(_)]));
}

#[test]
fn positions_count_lines_and_characters() {
    let mut lexer = Lexer::new("a\r\n  'é' b\n\nc", Dialect::Three);
    let mut positions = Vec::new();
    for _ in 0..5 {
        let position = lexer.next_token().position;
        positions.push((position.line, position.column));
    }
    assert_eq!(positions, [(1, 1), (2, 3), (2, 7), (4, 1), (4, 1)]);
}

#[test]
fn what_cannot_be_read_is_a_token_at_its_place() {
    assert!(matches!(kinds("a 'b").as_slice(), [_, TokenKind::Invalid(_)]));
    assert!(matches!(kinds("a /* b").as_slice(), [_, TokenKind::Invalid(_)]));
    assert!(matches!(kinds("\"\"").as_slice(), [TokenKind::Invalid(_)]));
    assert!(matches!(kinds("# é").as_slice(), [TokenKind::Unknown, TokenKind::Unknown]));
}

#[test]
fn a_comment_is_a_statement_only_at_its_beginning() {
    assert!(matches!(kinds("comment").as_slice(), [TokenKind::Keyword { reserved: true, .. }]));
    assert!(matches!(kinds("a comment").as_slice(), [_, TokenKind::Word(_)]));
}

/// As in Firebird 5, whose RDB$KEYWORDS calls it reserved all the same; jOOQ has a column of that name.
#[test]
fn schema_is_a_name_like_any_other() {
    assert!(
        crate::parse_statement("select a.schema from (select 1 as schema from t) a", &Default::default())
            .is_ok()
    );
    assert!(crate::parse_statement("create table schema (schema integer)", &Default::default()).is_ok());
}
