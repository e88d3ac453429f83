//! Making programs for numbers of 64 bits ([`crate::whole`]).
//!
//! An expression has one if nothing but constants, variables, columns, `+ - * /`, MOD, CAST, comparisons, AND, OR and NOT stands in
//! it and no digits have to be moved between scales; of texts `||`, SUBSTRING, LEFT, UPPER, LOWER, CHAR_LENGTH, OCTET_LENGTH,
//! POSITION, and LIKE with a constant. Where a type shows only when it runs (that of a variable), the program asks
//! for the scale that would do, and gives nothing if the value has another one.

use std::sync::Arc;

use farbird_types::arithmetic::ArithmeticOperator;
use farbird_types::collation::is_insensitive;
use farbird_types::{CharacterSet, Collation, ExactWidth, SqlType, Value};

use memchr::memmem::Finder;

use crate::like::LikePattern;
use crate::tree::{Expression, PatternKind, PatternMatch};
use crate::whole::{Condition, Number, Operator, WORDS_SETS, WholeProgram, Words, WordsPosition};

/// The program of an expression, if it has one. What stands by itself (a constant, a variable) needs none.
pub(crate) fn program_of(expression: &Expression) -> Option<WholeProgram> {
    if let Some(condition) = condition_of(expression) {
        return Some(WholeProgram::Condition(condition));
    }
    if let Some(program) = text_program_of(expression) {
        return Some(program);
    }
    let (width, scale) = computed_type(expression)?;
    Some(WholeProgram::Number { number: number_of(expression, scale)?, width, scale })
}

/// An expression as a number of this scale.
fn number_of(expression: &Expression, scale: i8) -> Option<Number> {
    match expression {
        Expression::Constant(Value::Integer { unscaled, scale: found }) if *found == scale => {
            Some(Number::Constant(*unscaled))
        }
        Expression::Parameter(place) => Some(Number::Parameter { place: *place, scale }),
        Expression::Column(place) => Some(Number::Column { place: *place, scale }),
        Expression::Negate(operand) => Some(Number::Negated(Box::new(number_of(operand, scale)?))),
        Expression::Cast { operand, to: SqlType::Exact { width, scale: to, .. } } if *to == scale => {
            let operand = number_of(operand, scale)?;
            let (lowest, highest) = width.range();
            Some(match (i64::try_from(lowest), i64::try_from(highest)) {
                (Ok(lowest), Ok(highest)) if *width != ExactWidth::Int64 => {
                    Number::Within { lowest, highest, operand: Box::new(operand) }
                }
                _ => operand,
            })
        }
        Expression::Arithmetic { operator, left, right, .. } if computed_type(expression)?.1 == scale => {
            let (operator, left_scale, right_scale) = match operator {
                ArithmeticOperator::Add => (Operator::Add, scale, scale),
                ArithmeticOperator::Subtract => (Operator::Subtract, scale, scale),
                ArithmeticOperator::Multiply => {
                    let left = known_scale(left).or_else(|| scale.checked_sub(known_scale(right)?));
                    let left = left.or((scale == 0).then_some(0))?;
                    (Operator::Multiply, left, scale.checked_sub(left)?)
                }
                // A divisor with decimal places takes digits of the dividend.
                ArithmeticOperator::Divide if scale == 0 => (Operator::Divide, 0, 0),
                ArithmeticOperator::Divide => return None,
            };
            let operands = (number_of(left, left_scale)?, number_of(right, right_scale)?);
            Some(Number::Computed { operator, operands: Box::new(operands) })
        }
        Expression::Function { function, arguments, .. } if function.0.name == "MOD" && scale == 0 => {
            let [left, right] = arguments.as_slice() else { return None };
            let operands = Box::new((number_of(left, 0)?, number_of(right, 0)?));
            Some(Number::Computed { operator: Operator::Modulo, operands })
        }
        Expression::Function { function, arguments, signature } if scale == 0 => {
            match (function.0.name, arguments.as_slice()) {
                ("CHAR_LENGTH" | "CHARACTER_LENGTH" | "OCTET_LENGTH", [text]) => {
                    Some(Number::Length(Box::new(words_of(text)?)))
                }
                ("POSITION", [part, text]) => {
                    let SqlType::Text(searched) = &signature.arguments.get(1)?.sql_type else { return None };
                    if searched.character_set == CharacterSet::OCTETS || !is_exact(searched.collation) {
                        return None;
                    }
                    let (part, text) = (words_of(part)?, words_of(text)?);
                    let finder = match &part {
                        Words::Constant(part) if part.is_empty() => return None,
                        Words::Constant(part) => Some(Finder::new(part).into_owned()),
                        _ => None,
                    };
                    Some(Number::Position(Box::new(WordsPosition { part, finder, text })))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// A condition whose parts all have programs.
fn condition_of(expression: &Expression) -> Option<Condition> {
    let all = |parts: &[Expression]| parts.iter().map(condition_of).collect::<Option<Vec<_>>>();
    match expression {
        Expression::Comparison { operator, left, right, .. } => {
            let scale = known_scale(left).or_else(|| known_scale(right)).unwrap_or(0);
            let operands = (number_of(left, scale)?, number_of(right, scale)?);
            Some(Condition::Compare { operator: *operator, operands: Box::new(operands) })
        }
        Expression::And(parts) => all(parts).map(Condition::All),
        Expression::Or(parts) => all(parts).map(Condition::Any),
        Expression::Not(operand) => Some(Condition::Not(Box::new(condition_of(operand)?))),
        Expression::Pattern(pattern) => like_of(pattern),
        _ => None,
    }
}

/// LIKE with a constant pattern.
fn like_of(pattern: &PatternMatch) -> Option<Condition> {
    let PatternMatch { kind: PatternKind::Like, operand, pattern, escape: None, collation, .. } = pattern
    else {
        return None;
    };
    let (words, Words::Constant(pattern)) = (words_of(operand)?, words_of(pattern)?) else { return None };
    let pattern = LikePattern::compile(&pattern, None, CharacterSet::ASCII).ok()?;
    is_exact(*collation).then(|| Condition::Like { words, pattern: Arc::new(pattern) })
}

/// The program of an expression that makes a new text; one that stands somewhere is not made again.
fn text_program_of(expression: &Expression) -> Option<WholeProgram> {
    let set = match expression {
        Expression::Cast { operand, .. }
            if matches!(words_of(operand)?, Words::Constant(_) | Words::Parameter(_) | Words::Column(_)) =>
        {
            return None;
        }
        Expression::Cast { to: SqlType::Text(to), .. } => Some(to.character_set),
        Expression::Concatenate { result: SqlType::Text(result), .. } => Some(result.character_set),
        Expression::Function { .. } => None,
        _ => return None,
    };
    Some(WholeProgram::Words { words: words_of(expression)?, set })
}

/// An expression as a short text.
fn words_of(expression: &Expression) -> Option<Words> {
    if let Some((_, 0)) = computed_type(expression) {
        return Some(Words::Printed(Box::new(number_of(expression, 0)?)));
    }
    match expression {
        Expression::Constant(Value::Text(text)) => {
            let is_let_in = WORDS_SETS.contains(&text.character_set()) && text.bytes().is_ascii();
            is_let_in.then(|| Words::Constant(text.bytes().into()))
        }
        Expression::Parameter(place) => Some(Words::Parameter(*place)),
        Expression::Column(place) => Some(Words::Column(*place)),
        Expression::Cast { operand, to: SqlType::Text(to) }
            if to.varying && to.character_set != CharacterSet::OCTETS =>
        {
            let longest = usize::try_from(to.length_chars).ok()?;
            Some(Words::Within { longest, operand: Box::new(words_of(operand)?) })
        }
        Expression::Concatenate { left, right, result: SqlType::Text(result) }
            if result.character_set != CharacterSet::OCTETS =>
        {
            Some(Words::Joined(Box::new((words_of(left)?, words_of(right)?))))
        }
        Expression::Function { function, arguments, signature } => {
            let SqlType::Text(result) = &signature.result.sql_type else { return None };
            let maps_ascii = [CharacterSet::NONE, CharacterSet::ASCII, CharacterSet::UTF8];
            match (function.0.name, arguments.as_slice()) {
                _ if !result.varying || result.character_set == CharacterSet::OCTETS => None,
                ("SUBSTRING", [whole, start]) => part_of(whole, number_of(start, 0)?, None),
                ("SUBSTRING", [whole, start, length]) => part_of(whole, number_of(start, 0)?, Some(length)),
                ("LEFT", [whole, length]) => part_of(whole, Number::Constant(1), Some(length)),
                // The case of single-byte sets is a matter of their collations.
                ("UPPER" | "LOWER", _) if !maps_ascii.contains(&result.character_set) => None,
                ("UPPER", [operand]) => Some(Words::Capitals(Box::new(words_of(operand)?))),
                ("LOWER", [operand]) => Some(Words::SmallLetters(Box::new(words_of(operand)?))),
                _ => None,
            }
        }
        _ => None,
    }
}

fn part_of(whole: &Expression, start: Number, length: Option<&Expression>) -> Option<Words> {
    let length = match length {
        None => None,
        Some(length) => Some(Box::new(number_of(length, 0)?)),
    };
    Some(Words::Part { whole: Box::new(words_of(whole)?), start: Box::new(start), length })
}

/// Whether a collation sees each character of the sets that are let in as it is.
fn is_exact(collation: Collation) -> bool {
    WORDS_SETS.iter().all(|set| !is_insensitive(*set, collation))
}

/// Width and scale of the value of an expression that computes an exact number.
fn computed_type(expression: &Expression) -> Option<(ExactWidth, i8)> {
    let sql_type = match expression {
        Expression::Arithmetic { result, .. } => result,
        Expression::Cast { to, .. } => to,
        Expression::Function { signature, .. } => &signature.result.sql_type,
        _ => return None,
    };
    match sql_type {
        SqlType::Exact { width, scale, .. } => Some((*width, *scale)),
        _ => None,
    }
}

/// The scale of an expression's values, where it shows.
fn known_scale(expression: &Expression) -> Option<i8> {
    match expression {
        Expression::Constant(Value::Integer { scale, .. }) => Some(*scale),
        Expression::Negate(operand) => known_scale(operand),
        other => computed_type(other).map(|(_, scale)| scale),
    }
}
