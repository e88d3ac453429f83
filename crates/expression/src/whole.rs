//! Programs for what loops of PSQL do most: arithmetic and comparisons of exact numbers that fit 64 bits, and short texts of ASCII
//! that are cut, joined, measured and searched.
//!
//! A program computes in plain registers and one buffer, where the ordinary evaluation makes a [`Value`] at each step.
//! `whole_compile` makes it.
//!
//! # Promises
//! - A program gives what the ordinary evaluation gives, or nothing: for NULL, values of other types and scales, overflows,
//!   divisions by zero, texts that are long, not of ASCII or do not fit. Then the expression is evaluated in the ordinary way, from its
//!   beginning, which has no effect but its value.
//! - So errors are made in one place only, and not here.
//! - ASCII is the same bytes in every character set that is let in, a character each, and has no case or order of a
//!   collation's own. So what texts are of which set matters for results alone.

use std::sync::Arc;

use farbird_sql::ast::ComparisonOperator;
use farbird_types::{CharacterSet, ExactWidth, Text, Value};
use memchr::memmem::{self, Finder};

use crate::comparison::operator_holds;
use crate::like::LikePattern;

/// A compiled expression.
#[derive(Debug, Clone)]
pub(crate) enum WholeProgram {
    /// A number of this width and scale.
    Number { number: Number, width: ExactWidth, scale: i8 },
    /// TRUE or FALSE.
    Condition(Condition),
    /// A text of this character set; `None`: of that of the text that it is made of.
    Words { words: Words, set: Option<CharacterSet> },
}

/// A number without its decimal point. Its scale is known where it stands.
#[derive(Debug, Clone)]
pub(crate) enum Number {
    Constant(i64),
    /// A parameter or variable that must have this scale.
    Parameter {
        place: usize,
        scale: i8,
    },
    /// A column of the row that must have this scale.
    Column {
        place: usize,
        scale: i8,
    },
    Negated(Box<Number>),
    Computed {
        operator: Operator,
        operands: Box<(Number, Number)>,
    },
    /// What fits a narrower type.
    Within {
        lowest: i64,
        highest: i64,
        operand: Box<Number>,
    },
    /// The characters of a text, or its bytes.
    Length(Box<Words>),
    /// Where a text is in another one, from 1 on; 0: nowhere.
    Position(Box<WordsPosition>),
}

#[derive(Debug, Clone)]
pub(crate) struct WordsPosition {
    pub(crate) part: Words,
    /// Looks for the part, if that is known.
    pub(crate) finder: Option<Finder<'static>>,
    pub(crate) text: Words,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// A condition that is neither UNKNOWN nor an error.
#[derive(Debug, Clone)]
pub(crate) enum Condition {
    Compare { operator: ComparisonOperator, operands: Box<(Number, Number)> },
    Like { words: Words, pattern: Arc<LikePattern> },
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
}

/// A short text of ASCII.
#[derive(Debug, Clone)]
pub(crate) enum Words {
    Constant(Box<[u8]>),
    /// A parameter or variable: a text, or a number without decimal places.
    Parameter(usize),
    /// A column of the row, as a parameter.
    Column(usize),
    /// A number without decimal places, printed.
    Printed(Box<Number>),
    /// SUBSTRING, LEFT: so many characters from a place on; all without a length.
    Part {
        whole: Box<Words>,
        start: Box<Number>,
        length: Option<Box<Number>>,
    },
    Capitals(Box<Words>),
    SmallLetters(Box<Words>),
    Joined(Box<(Words, Words)>),
    /// What has no more characters.
    Within {
        longest: usize,
        operand: Box<Words>,
    },
}

/// What programs look at: values, and room for texts.
pub(crate) struct Input<'a> {
    pub(crate) row: &'a [Value],
    pub(crate) parameters: &'a [Value],
    /// Texts that are being computed, one behind the other; each takes away what it has put here, but for the result.
    pub(crate) room: &'a mut Vec<u8>,
}

/// Longer texts are not computed here, in bytes: they are charged, and looked through with an eye on the interrupt.
const WORDS_BYTES_MAX: usize = 4 << 10;

/// The character sets of texts that are let in.
pub(crate) const WORDS_SETS: [CharacterSet; 5] = [
    CharacterSet::NONE,
    CharacterSet::ASCII,
    CharacterSet::UTF8,
    CharacterSet::ISO8859_1,
    CharacterSet::WIN1252,
];

impl WholeProgram {
    /// The value, if it is a number or a text.
    #[inline]
    pub(crate) fn value(&self, mut input: Input<'_>) -> Option<Value> {
        match self {
            WholeProgram::Number { number, width: ExactWidth::Int64, scale } => {
                let unscaled = number.compute(&mut input)?;
                Some(Value::Integer { unscaled, scale: *scale })
            }
            WholeProgram::Number { number, width, scale } => {
                width.value(i128::from(number.compute(&mut input)?), *scale)
            }
            WholeProgram::Words { words, set } => {
                let set = set.or_else(|| words.set(&input))?;
                words.with(&mut input, |bytes| Some(Value::Text(Text::new(bytes, set))))
            }
            WholeProgram::Condition(_) => None,
        }
    }

    /// The truth, if it is a condition.
    #[inline]
    pub(crate) fn truth(&self, mut input: Input<'_>) -> Option<bool> {
        match self {
            WholeProgram::Condition(condition) => condition.holds(&mut input),
            WholeProgram::Number { .. } | WholeProgram::Words { .. } => None,
        }
    }
}

impl Number {
    fn compute(&self, input: &mut Input<'_>) -> Option<i64> {
        match self {
            Number::Constant(number) => Some(*number),
            Number::Parameter { place, scale } => read(input.parameters.get(*place)?, *scale),
            Number::Column { place, scale } => read(input.row.get(*place)?, *scale),
            Number::Negated(operand) => operand.compute(input)?.checked_neg(),
            Number::Computed { operator, operands } => {
                let (left, right) = (operands.0.compute(input)?, operands.1.compute(input)?);
                match operator {
                    Operator::Add => left.checked_add(right),
                    Operator::Subtract => left.checked_sub(right),
                    Operator::Multiply => left.checked_mul(right),
                    Operator::Divide => left.checked_div(right),
                    Operator::Modulo => left.checked_rem(right),
                }
            }
            Number::Within { lowest, highest, operand } => {
                let number = operand.compute(input)?;
                (*lowest..=*highest).contains(&number).then_some(number)
            }
            Number::Length(words) => words.with(input, |bytes| i64::try_from(bytes.len()).ok()),
            Number::Position(position) => position.compute(input),
        }
    }
}

impl WordsPosition {
    fn compute(&self, input: &mut Input<'_>) -> Option<i64> {
        let number = |found: Option<usize>| found.map_or(Some(0), |place| i64::try_from(place + 1).ok());
        if let Some(finder) = &self.finder {
            return self.text.with(input, |text| number(finder.find(text)));
        }
        let start = input.room.len();
        self.part.append(input)?;
        let middle = input.room.len();
        self.text.append(input)?;
        let (part, text) = input.room.get(start..)?.split_at_checked(middle - start)?;
        // An empty part is wherever the text has a place for it.
        let found = if part.is_empty() { None } else { Some(number(memmem::find(text, part))) };
        input.room.truncate(start);
        found.flatten()
    }
}

impl Condition {
    fn holds(&self, input: &mut Input<'_>) -> Option<bool> {
        match self {
            Condition::Compare { operator, operands } => {
                let left = operands.0.compute(input)?;
                let right = operands.1.compute(input)?;
                Some(operator_holds(*operator, left.cmp(&right)))
            }
            Condition::Like { words, pattern } => {
                words.with(input, |bytes| pattern.matches(bytes, || Ok(())).ok())
            }
            Condition::All(parts) => {
                for part in parts {
                    if !part.holds(input)? {
                        return Some(false);
                    }
                }
                Some(true)
            }
            Condition::Any(parts) => {
                for part in parts {
                    if part.holds(input)? {
                        return Some(true);
                    }
                }
                Some(false)
            }
            Condition::Not(operand) => operand.holds(input).map(|holds| !holds),
        }
    }
}

impl Words {
    /// Hands its bytes to `look`.
    fn with<T>(&self, input: &mut Input<'_>, look: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
        if let Some(bytes) = self.view(input) {
            return look(bytes);
        }
        let start = input.room.len();
        self.append(input)?;
        let found = look(input.room.get(start..)?);
        input.room.truncate(start);
        found
    }

    /// Its bytes, where they stand somewhere.
    fn view<'i>(&'i self, input: &'i Input<'_>) -> Option<&'i [u8]> {
        match self {
            Words::Constant(bytes) => Some(bytes),
            Words::Parameter(place) => ascii(input.parameters.get(*place)?),
            Words::Column(place) => ascii(input.row.get(*place)?),
            Words::Within { longest, operand } => operand.view(input).filter(|bytes| bytes.len() <= *longest),
            _ => None,
        }
    }

    /// Appends its bytes to the room. What it has appended when there is nothing to give is of no use to anybody.
    fn append(&self, input: &mut Input<'_>) -> Option<()> {
        let start = input.room.len();
        match self {
            Words::Constant(bytes) => input.room.extend_from_slice(bytes),
            Words::Parameter(place) => append_value(input.parameters.get(*place)?, input.room)?,
            Words::Column(place) => append_value(input.row.get(*place)?, input.room)?,
            Words::Printed(number) => {
                let number = number.compute(input)?;
                append_number(number, input.room);
            }
            Words::Part { whole, start: first, length } => {
                // As SUBSTRING: places before the first character count, and hold nothing.
                let first = i64::from(i32::try_from(first.compute(input)?).ok()?).saturating_sub(1);
                let length = match length {
                    None => None,
                    Some(length) => Some(u32::try_from(i32::try_from(length.compute(input)?).ok()?).ok()?),
                };
                whole.append(input)?;
                let skipped = usize::try_from(first).unwrap_or(0).min(input.room.len() - start);
                if let Some(length) = length {
                    let before = usize::try_from(first.saturating_neg()).unwrap_or(0);
                    let kept = (length as usize).saturating_sub(before);
                    input.room.truncate((start + skipped).saturating_add(kept).min(input.room.len()));
                }
                input.room.drain(start..start + skipped);
            }
            Words::Capitals(operand) => {
                operand.append(input)?;
                input.room.get_mut(start..)?.make_ascii_uppercase();
            }
            Words::SmallLetters(operand) => {
                operand.append(input)?;
                input.room.get_mut(start..)?.make_ascii_lowercase();
            }
            Words::Joined(operands) => {
                operands.0.append(input)?;
                operands.1.append(input)?;
            }
            Words::Within { longest, operand } => {
                operand.append(input)?;
                if input.room.len() - start > *longest {
                    return None;
                }
            }
        }
        (input.room.len() - start <= WORDS_BYTES_MAX).then_some(())
    }

    /// The character set of the text that it is made of.
    fn set(&self, input: &Input<'_>) -> Option<CharacterSet> {
        let set = |value: Option<&Value>| match value? {
            Value::Text(text) => Some(text.character_set()),
            _ => None,
        };
        match self {
            Words::Parameter(place) => set(input.parameters.get(*place)),
            Words::Column(place) => set(input.row.get(*place)),
            Words::Part { whole: operand, .. }
            | Words::Capitals(operand)
            | Words::SmallLetters(operand)
            | Words::Within { operand, .. } => operand.set(input),
            Words::Constant(_) | Words::Printed(_) | Words::Joined(_) => None,
        }
    }
}

/// A text's bytes, if it is short and of ASCII.
fn ascii(value: &Value) -> Option<&[u8]> {
    let Value::Text(text) = value else { return None };
    let bytes = text.bytes();
    let is_let_in = WORDS_SETS.contains(&text.character_set());
    (is_let_in && bytes.len() <= WORDS_BYTES_MAX && bytes.is_ascii()).then_some(bytes)
}

fn append_value(value: &Value, room: &mut Vec<u8>) -> Option<()> {
    match value {
        Value::Integer { unscaled, scale: 0 } => append_number(*unscaled, room),
        other => room.extend_from_slice(ascii(other)?),
    }
    Some(())
}

fn append_number(number: i64, room: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut left = number.unsigned_abs();
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    if number < 0 {
        room.push(b'-');
    }
    room.extend_from_slice(&digits[first..]);
}

#[inline]
fn read(value: &Value, wanted: i8) -> Option<i64> {
    match value {
        Value::Integer { unscaled, scale } if *scale == wanted => Some(*unscaled),
        Value::Int128 { unscaled, scale } if *scale == wanted => i64::try_from(*unscaled).ok(),
        _ => None,
    }
}
