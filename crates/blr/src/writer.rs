//! Values and conditions as BLR, and the few programs that definitions are made of: defaults, conditions of domains, computed columns,
//! and the triggers of CHECK and of a foreign key's actions. The bytes are those that Firebird's own DDL stores.
//!
//! What is not known here gives `None`: whoever asks shows no BLR then, or says that there is none.

use farbird_types::Value;

use crate::code;
use crate::tree::{Binary, Comparison, Condition, Expression, Field, FieldName, Function};

/// Names that blr_abort takes: a message's symbol.
const GDS_CODE: u8 = 0;
const ABORT: u8 = 128;
/// What a CHECK that does not hold says.
const CHECK_CONSTRAINT: &str = "check_constraint";
/// Contexts of a trigger: the row as it was and as it will be; of a referring row as it is, and as it is to be.
const OLD: u8 = 0;
const NEW: u8 = 1;
const REFERRING: u8 = 2;

/// What becomes of the columns that refer to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferringAction {
    /// They follow the row, or go with it.
    Cascade,
    /// They become NULL.
    SetNull,
}

/// A foreign key as its triggers see it, which are those of the table that it refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference<'a> {
    /// The table that refers.
    pub table: &'a str,
    /// Its columns, each with the one that it refers to.
    pub columns: Vec<(&'a str, &'a str)>,
}

/// The program of a value: a default, a computed column, an index's expression.
pub fn value_program(value: &Expression) -> Option<Vec<u8>> {
    let mut program = Program::begin();
    program.value(value)?;
    Some(program.end())
}

/// The program of a condition: that of a domain, or of an index.
pub fn condition_program(condition: &Condition) -> Option<Vec<u8>> {
    let mut program = Program::begin();
    program.condition(condition)?;
    Some(program.end())
}

/// The trigger of a CHECK, whose columns are those of the context 1: unless the condition is false nothing happens.
pub fn check_program(condition: &Condition) -> Option<Vec<u8>> {
    let mut program = Program::begin();
    program.bytes(&[code::BEGIN, code::IF, code::NOT]);
    program.condition(condition)?;
    program.bytes(&[code::BEGIN, ABORT, GDS_CODE]);
    program.name(CHECK_CONSTRAINT)?;
    // Of the inner block, in the place of an else, of the outer block.
    program.bytes(&[code::END, code::END, code::END]);
    Some(program.end())
}

/// The trigger of ON DELETE.
pub fn on_delete_program(reference: &Reference<'_>, action: ReferringAction) -> Option<Vec<u8>> {
    let mut program = Program::begin();
    program.referring(reference)?;
    match action {
        ReferringAction::Cascade => program.bytes(&[code::ERASE, REFERRING]),
        ReferringAction::SetNull => program.modify(reference, action)?,
    }
    Some(program.end())
}

/// The trigger of ON UPDATE, which looks first whether the key is another one.
pub fn on_update_program(reference: &Reference<'_>, action: ReferringAction) -> Option<Vec<u8>> {
    let mut program = Program::begin();
    program.bytes(&[code::IF]);
    let more = reference.columns.len().checked_sub(1)?;
    program.bytes(&vec![code::OR; more]);
    for (_, column) in &reference.columns {
        program.bytes(&[code::NOT_EQUAL]);
        program.field(OLD, column)?;
        program.field(NEW, column)?;
    }
    program.bytes(&[code::BEGIN, code::BEGIN]);
    program.referring(reference)?;
    program.modify(reference, action)?;
    program.bytes(&[code::END, code::END, code::END]);
    Some(program.end())
}

struct Program(Vec<u8>);

impl Program {
    fn begin() -> Program {
        Program(vec![code::VERSION5])
    }

    fn end(mut self) -> Vec<u8> {
        self.0.push(code::END_OF_CODE);
        self.0
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn word(&mut self, number: u16) {
        self.bytes(&number.to_le_bytes());
    }

    fn name(&mut self, name: &str) -> Option<()> {
        self.bytes(&[u8::try_from(name.len()).ok()?]);
        self.bytes(name.as_bytes());
        Some(())
    }

    fn field(&mut self, context: u8, name: &str) -> Option<()> {
        self.bytes(&[code::FIELD, context]);
        self.name(name)
    }

    /// FOR the rows that refer to the old one.
    fn referring(&mut self, reference: &Reference<'_>) -> Option<()> {
        self.bytes(&[code::FOR, code::RSE, 1, code::RELATION]);
        self.name(reference.table)?;
        self.bytes(&[REFERRING, code::BOOLEAN]);
        self.bytes(&vec![code::AND; reference.columns.len().checked_sub(1)?]);
        for (own, referenced) in &reference.columns {
            self.bytes(&[code::EQUAL]);
            self.field(REFERRING, own)?;
            self.field(OLD, referenced)?;
        }
        self.bytes(&[code::END]);
        Some(())
    }

    fn modify(&mut self, reference: &Reference<'_>, action: ReferringAction) -> Option<()> {
        self.bytes(&[code::MODIFY, REFERRING, REFERRING, code::BEGIN]);
        for (own, referenced) in &reference.columns {
            self.bytes(&[code::ASSIGNMENT]);
            match action {
                ReferringAction::Cascade => self.field(NEW, referenced)?,
                ReferringAction::SetNull => self.bytes(&[code::NULL]),
            }
            self.field(REFERRING, own)?;
        }
        self.bytes(&[code::END]);
        Some(())
    }

    fn values<'e>(&mut self, values: impl IntoIterator<Item = &'e Expression>) -> Option<()> {
        values.into_iter().try_for_each(|value| self.value(value))
    }

    fn value(&mut self, value: &Expression) -> Option<()> {
        match value {
            Expression::Literal { value, .. } => self.literal(value),
            Expression::Null => {
                self.bytes(&[code::NULL]);
                Some(())
            }
            Expression::Field(Field { context, name: FieldName::Name(name) }) => self.field(*context, name),
            Expression::Field(Field { context, name: FieldName::Id(number) }) => {
                self.bytes(&[code::FIELD_ID, *context]);
                self.word(*number);
                Some(())
            }
            Expression::Binary(operator, left, right) => {
                self.bytes(&[match operator {
                    Binary::Add => code::ADD,
                    Binary::Subtract => code::SUBTRACT,
                    Binary::Multiply => code::MULTIPLY,
                    Binary::Divide => code::DIVIDE,
                    Binary::Concatenate => code::CONCATENATE,
                }]);
                self.values([&**left, &**right])
            }
            Expression::Negate(operand) => {
                self.bytes(&[code::NEGATE]);
                self.value(operand)
            }
            Expression::Call(function, arguments) => self.call(function, arguments),
            _ => None,
        }
    }

    fn call(&mut self, function: &Function, arguments: &[Expression]) -> Option<()> {
        /// What blr_internal_info is asked for.
        const INFO: [(Function, u8); 2] = [(Function::Connection, 1), (Function::Transaction, 2)];
        let simple = match function {
            Function::User => code::USER_NAME,
            Function::Role => code::CURRENT_ROLE,
            Function::CurrentDate => code::CURRENT_DATE,
            Function::CurrentTime => code::CURRENT_TIME,
            Function::CurrentTimestamp => code::CURRENT_TIMESTAMP,
            Function::Upper => code::UPPER_CASE,
            Function::Lower => code::LOWER_CASE,
            Function::Coalesce => {
                self.bytes(&[code::COALESCE, u8::try_from(arguments.len()).ok()?]);
                return self.values(arguments);
            }
            other => {
                let (_, number) = INFO.iter().find(|(known, _)| known == other)?;
                self.bytes(&[code::INTERNAL_INFO]);
                return self.literal(&Value::integer(i64::from(*number)));
            }
        };
        self.bytes(&[simple]);
        self.values(arguments)
    }

    fn literal(&mut self, value: &Value) -> Option<()> {
        self.bytes(&[code::LITERAL]);
        match value {
            Value::Integer { unscaled, scale } => match i32::try_from(*unscaled) {
                Ok(number) => {
                    self.bytes(&[code::LONG, scale.cast_unsigned()]);
                    self.bytes(&number.to_le_bytes());
                }
                Err(_) => {
                    self.bytes(&[code::INT64, scale.cast_unsigned()]);
                    self.bytes(&unscaled.to_le_bytes());
                }
            },
            Value::Double(number) => {
                let text = format!("{number:e}");
                self.bytes(&[code::DOUBLE]);
                self.word(u16::try_from(text.len()).ok()?);
                self.bytes(text.as_bytes());
            }
            Value::Boolean(value) => self.bytes(&[code::BOOL, u8::from(*value)]),
            Value::Text(text) => {
                self.bytes(&[code::TEXT2]);
                self.word(u16::from(text.character_set().0));
                self.word(u16::try_from(text.bytes().len()).ok()?);
                self.bytes(text.bytes());
            }
            _ => return None,
        }
        Some(())
    }

    fn condition(&mut self, condition: &Condition) -> Option<()> {
        match condition {
            Condition::Compare(comparison, left, right) => {
                self.bytes(&[match comparison {
                    Comparison::Equal => code::EQUAL,
                    Comparison::Equivalent => code::EQUIVALENT,
                    Comparison::NotEqual => code::NOT_EQUAL,
                    Comparison::Greater => code::GREATER,
                    Comparison::GreaterOrEqual => code::GREATER_OR_EQUAL,
                    Comparison::Less => code::LESS,
                    Comparison::LessOrEqual => code::LESS_OR_EQUAL,
                    Comparison::Containing => code::CONTAINING,
                    Comparison::Starting => code::STARTING,
                }]);
                self.values([&**left, &**right])
            }
            Condition::Between(value, low, high) => {
                self.bytes(&[code::BETWEEN]);
                self.values([&**value, &**low, &**high])
            }
            Condition::Like(value, pattern, escape) => {
                self.bytes(&[if escape.is_some() { code::ANSI_LIKE } else { code::LIKE }]);
                self.values([&**value, &**pattern].into_iter().chain(escape.as_deref()))
            }
            // As alternatives: Firebird 3 and 4 have no list.
            Condition::In(value, list) => {
                self.bytes(&vec![code::OR; list.len().checked_sub(1)?]);
                for item in list {
                    self.bytes(&[code::EQUAL]);
                    self.values([&**value, item])?;
                }
                Some(())
            }
            Condition::Missing(value) => {
                self.bytes(&[code::MISSING]);
                self.value(value)
            }
            Condition::And(left, right) => self.both(code::AND, left, right),
            Condition::Or(left, right) => self.both(code::OR, left, right),
            Condition::Not(inner) => {
                self.bytes(&[code::NOT]);
                self.condition(inner)
            }
            _ => None,
        }
    }

    fn both(&mut self, code: u8, left: &Condition, right: &Condition) -> Option<()> {
        self.bytes(&[code]);
        self.condition(left)?;
        self.condition(right)
    }
}
