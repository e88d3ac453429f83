//! Trees of any shape survive printing and parsing; texts of any kind survive the parser.

use farbird_sql::ast::{
    BinaryOperator, Case, CaseBranch, ComparisonOperator, Expression, ExpressionKind, FunctionCall, Literal,
    Name, Position, Truth, UnaryOperator,
};
use farbird_sql::{ParseOptions, parse_expression, parse_statement, split_script};
use farbird_types::{ExactWidth, isc};
use proptest::prelude::*;

fn at_nowhere(kind: ExpressionKind) -> Expression {
    Expression::new(kind, Position::default())
}

/// Names that need quotes and such that do not.
fn name() -> impl Strategy<Value = Name> {
    prop_oneof![
        "[A-Z][A-Z0-9_$]{0,5}",
        Just("FIRST".to_owned()),
        Just("SELECT".to_owned()),
        "[a-z \"é.]{0,5}[a-z]",
    ]
    .prop_map(Name::new)
}

fn literal() -> impl Strategy<Value = Literal> {
    prop_oneof![
        Just(Literal::Null),
        Just(Literal::Unknown),
        any::<bool>().prop_map(Literal::Boolean),
        any::<i32>().prop_map(|value| Literal::Integer { value: value.into(), width: ExactWidth::Long }),
        any::<i64>().prop_map(|value| Literal::Integer { value: value.into(), width: ExactWidth::Int64 }),
        any::<i128>().prop_map(|value| Literal::Integer { value, width: ExactWidth::Int128 }),
        (0..=i64::MAX, -20i8..=0).prop_map(|(unscaled, scale)| Literal::Exact {
            unscaled: unscaled.into(),
            scale,
            width: ExactWidth::Int64
        }),
        prop::num::f64::POSITIVE.prop_filter("finite", |value| value.is_finite()).prop_map(Literal::Double),
        "\\PC{0,8}".prop_map(|value| Literal::String { value, character_set: None }),
        "[a-z'\n]{0,8}".prop_map(|value| Literal::String { value, character_set: Some(Name::new("UTF8")) }),
        prop::collection::vec(any::<u8>(), 0..8)
            .prop_map(|value| Literal::Binary { value, character_set: None }),
        "[0-9:. -]{0,10}".prop_map(Literal::Timestamp),
    ]
}

fn operator() -> impl Strategy<Value = BinaryOperator> {
    prop::sample::select(vec![
        BinaryOperator::Add,
        BinaryOperator::Subtract,
        BinaryOperator::Multiply,
        BinaryOperator::Divide,
        BinaryOperator::Concatenate,
    ])
}

fn comparison() -> impl Strategy<Value = ComparisonOperator> {
    prop::sample::select(vec![
        ComparisonOperator::Equal,
        ComparisonOperator::NotEqual,
        ComparisonOperator::Less,
        ComparisonOperator::GreaterOrEqual,
    ])
}

fn leaf() -> impl Strategy<Value = Expression> {
    prop_oneof![
        literal().prop_map(ExpressionKind::Literal),
        (prop::option::of(name()), name())
            .prop_map(|(qualifier, name)| ExpressionKind::Column { qualifier, name }),
        name().prop_map(|name| ExpressionKind::Variable { qualifier: None, name }),
    ]
    .prop_map(at_nowhere)
}

fn expression() -> impl Strategy<Value = Expression> {
    leaf().prop_recursive(6, 48, 4, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let pair = (boxed.clone(), boxed.clone());
        let several = prop::collection::vec(inner.clone(), 2..4);
        prop_oneof![
            (pair.clone(), operator()).prop_map(|((left, right), operator)| ExpressionKind::Binary {
                left,
                operator,
                right
            }),
            (pair.clone(), comparison()).prop_map(|((left, right), operator)| {
                ExpressionKind::Comparison { left, operator, right }
            }),
            (boxed.clone(), any::<bool>()).prop_map(|(operand, minus)| ExpressionKind::Unary {
                operator: if minus { UnaryOperator::Minus } else { UnaryOperator::Plus },
                operand
            }),
            boxed.clone().prop_map(ExpressionKind::Not),
            several.clone().prop_map(ExpressionKind::And),
            several.clone().prop_map(ExpressionKind::Or),
            (boxed.clone(), any::<bool>())
                .prop_map(|(operand, negated)| ExpressionKind::IsNull { operand, negated }),
            (boxed.clone(), any::<bool>()).prop_map(|(operand, negated)| ExpressionKind::IsTruth {
                operand,
                truth: Truth::Unknown,
                negated
            }),
            (pair.clone(), any::<bool>()).prop_map(|((left, right), negated)| ExpressionKind::Distinct {
                left,
                right,
                negated
            }),
            (boxed.clone(), pair.clone(), any::<bool>()).prop_map(|(operand, (low, high), negated)| {
                ExpressionKind::Between { operand, low, high, negated }
            }),
            (boxed.clone(), pair.clone(), any::<bool>()).prop_map(|(operand, (pattern, escape), negated)| {
                ExpressionKind::Like { operand, pattern, escape: Some(escape), negated }
            }),
            (pair.clone(), any::<bool>()).prop_map(|((operand, part), negated)| ExpressionKind::Containing {
                operand,
                part,
                negated
            }),
            (boxed.clone(), several.clone(), any::<bool>())
                .prop_map(|(operand, list, negated)| ExpressionKind::InList { operand, list, negated }),
            (boxed.clone(), name())
                .prop_map(|(operand, collation)| ExpressionKind::Collate { operand, collation }),
            (boxed.clone(), prop::option::of(boxed.clone()))
                .prop_map(|(operand, zone)| ExpressionKind::AtTimeZone { operand, zone }),
            (name(), prop::collection::vec(inner.clone(), 0..3)).prop_map(|(mut name, arguments)| {
                name.quoted = true;
                ExpressionKind::Function(Box::new(FunctionCall { name: name.into(), arguments }))
            }),
            (prop::option::of(inner.clone()), inner.clone(), inner.clone(), prop::option::of(inner))
                .prop_map(|(operand, when, then, otherwise)| {
                    ExpressionKind::Case(Box::new(Case {
                        operand,
                        branches: vec![CaseBranch { when, then }],
                        otherwise,
                    }))
                }),
            (pair, prop::option::of(boxed)).prop_map(|((operand, start), length)| {
                ExpressionKind::Substring { operand, start, length }
            }),
        ]
        .prop_map(at_nowhere)
    })
}

/// Words and signs of the language, to be thrown together.
fn soup() -> impl Strategy<Value = String> {
    const WORDS: &str = "select from where a t 1 'x' ( ) , . ; : = + - * / || < ? and or not null is in as by order \
        group having first skip table create alter drop begin end into values set on join left cross natural cursor \
        do then else if while for declare int varchar update or insert delete merge using when matched exists case \
        union all distinct with recursive over partition rows between \"q\" x'00' 1.5 1e5 default check primary key";
    let words: Vec<&'static str> = WORDS.split_whitespace().collect();
    prop::collection::vec(prop::sample::select(words), 0..40).prop_map(|words| words.join(" "))
}

/// What was accepted prints and parses again to an equal tree.
fn survives(text: &str) -> Result<(), TestCaseError> {
    let options = ParseOptions::default();
    let Ok(statement) = parse_statement(text, &options) else { return Ok(()) };
    let printed = statement.to_string();
    match parse_statement(&printed, &options) {
        Ok(again) => prop_assert_eq!(again, statement, "{}", printed),
        // Parentheses that the original could do without may pass the limit of depth.
        Err(error) => prop_assert!(error.has(isc::IMP_EXC), "{:?}\n{}", error, printed),
    }
    Ok(())
}

proptest! {
    #[test]
    fn expressions_survive_printing(expression in expression()) {
        let printed = expression.to_string();
        let again = parse_expression(&printed, &ParseOptions::default());
        prop_assert!(again.is_ok(), "{:?}\n{}", again, printed);
        prop_assert_eq!(again.unwrap(), expression, "{}", printed);
    }

    #[test]
    fn any_text_is_taken_or_refused(text in "\\PC{0,60}") {
        survives(&text)?;
        for statement in split_script(&text) {
            prop_assert!(!statement.text.is_empty());
        }
    }

    #[test]
    fn any_words_are_taken_or_refused(text in soup(), start in prop::sample::select(vec!["", "select ", "select 1 from t ", "execute block as begin "])) {
        survives(&format!("{start}{text}"))?;
    }
}
