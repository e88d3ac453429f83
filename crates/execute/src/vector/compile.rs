//! From bound expressions to what is computed on columns.
//!
//! Types are known: those of columns from the table's layout, those of constants from their values. Whatever the row
//! does not take part in is computed once, here: a program is compiled anew when its operator opens.

use std::cmp::Ordering;

use farbird_expression::{ExecutionContext, Expression, PatternMatch};
use farbird_sql::ast::{ComparisonOperator, Truth as TruthTest};
use farbird_types::arithmetic::ArithmeticOperator;
use farbird_types::convert::number::number_of_text;
use farbird_types::{Collation, Date, ExactWidth, SqlType, Value, convert};
use farbird_vector::{Column, DAY, Failed, Unit, truth};

use super::Rows;
use super::bounds::{AnyNumbers, Bounds, Possible};
use super::column_kind::ColumnKind;
use super::expression::{Condition, Doubles, Numbers, RowWise};

/// An expression compiled for columns of known types.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    output: Typed,
    columns: Vec<usize>,
}

/// An expression by the kind of its values.
#[derive(Debug, Clone)]
enum Typed {
    Numbers(Numbers, Unit),
    Doubles(Doubles),
    /// FLOAT.
    Floats(Doubles),
    Condition(Condition),
    RowWise(RowWise),
}

impl Program {
    /// Compiles an expression for its values. `None` if it is volatile, or looks at columns that are not there.
    pub(crate) fn value(
        expression: &Expression,
        kinds: &[ColumnKind],
        context: &mut ExecutionContext<'_>,
    ) -> Option<Program> {
        let columns = columns_of(expression, kinds)?;
        let mut compiler = Compiler { kinds, context };
        let output = match compiler.typed(expression) {
            Some(typed) => typed,
            None => Typed::RowWise(row_wise(expression)),
        };
        Some(Program { output, columns })
    }

    /// Compiles an expression for its truth. `None` as for [`Program::value`].
    pub(crate) fn condition(
        expression: &Expression,
        kinds: &[ColumnKind],
        context: &mut ExecutionContext<'_>,
    ) -> Option<Program> {
        let columns = columns_of(expression, kinds)?;
        let output = Typed::Condition(Compiler { kinds, context }.condition(expression));
        Some(Program { output, columns })
    }

    /// What its truth can be on rows within bounds; only for [`Program::condition`].
    pub(crate) fn possible(&self, bounds: &dyn Bounds) -> Possible {
        match &self.output {
            Typed::Condition(condition) => condition.possible(bounds),
            _ => Possible::ANYTHING,
        }
    }

    /// Whether its truth can be computed on any row; only for [`Program::condition`].
    pub(crate) fn cannot_fail(&self) -> bool {
        !self.possible(&AnyNumbers).fails
    }

    /// The columns that it looks at, each once: they are loaded before it runs.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Its values on some rows.
    ///
    /// # Errors
    /// [`Failed`] if computing one of them may fail.
    pub(crate) fn run<'a>(
        &self,
        rows: &Rows<'a>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Column<'a>, Failed> {
        Ok(match &self.output {
            Typed::Numbers(numbers, unit) => Column::Numbers(rows.numbers(numbers, context)?, *unit),
            Typed::Doubles(doubles) => Column::Doubles(rows.doubles(doubles, context)?),
            Typed::Floats(floats) => Column::Floats(rows.doubles(floats, context)?),
            Typed::Condition(condition) => Column::Truths(rows.truths(condition, context)?),
            Typed::RowWise(part) => Column::Values(rows.values(part, context)?),
        })
    }

    /// Its truth on some rows, as in [`farbird_vector::truth`]; only for [`Program::condition`].
    ///
    /// # Errors
    /// As [`Program::run`].
    pub(crate) fn truths(
        &self,
        rows: &Rows<'_>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Vec<u8>, Failed> {
        match &self.output {
            Typed::Condition(condition) => rows.truths(condition, context),
            _ => Err(Failed),
        }
    }
}

/// The columns that an expression looks at, if it can be compiled.
fn columns_of(expression: &Expression, kinds: &[ColumnKind]) -> Option<Vec<usize>> {
    let columns = row_wise_columns(expression);
    let can_be = !expression.is_volatile() && columns.last().is_none_or(|last| *last < kinds.len());
    can_be.then_some(columns)
}

/// Ascending, each once.
fn row_wise_columns(expression: &Expression) -> Vec<usize> {
    let mut columns = Vec::new();
    expression.for_each_column(&mut |position| columns.push(position));
    columns.sort_unstable();
    columns.dedup();
    columns
}

fn row_wise(expression: &Expression) -> RowWise {
    RowWise { expression: expression.clone(), columns: row_wise_columns(expression), cannot_fail: false }
}

struct Compiler<'t, 'c, 'x> {
    kinds: &'t [ColumnKind],
    context: &'c mut ExecutionContext<'x>,
}

impl Compiler<'_, '_, '_> {
    /// The value of an expression that looks at no row; `None` if it does, or if it fails: rows are to meet the error.
    fn constant(&mut self, expression: &Expression) -> Option<Value> {
        match expression {
            Expression::Constant(value) => Some(value.clone()),
            other if other.is_row_independent() => other.evaluate(&[], self.context).ok(),
            _ => None,
        }
    }

    /// An expression by the kind of its values; `None` if that has to be computed row by row.
    fn typed(&mut self, expression: &Expression) -> Option<Typed> {
        if let Some(value) = self.constant(expression) {
            return typed_constant(&value);
        }
        match expression {
            Expression::Column(position) => self.column(*position),
            Expression::Cast { operand, to } => {
                let operand = self.typed(operand)?;
                cast(operand, to)
            }
            Expression::Arithmetic { operator, left, right, result } => {
                let (left, right) = (self.typed(left)?, self.typed(right)?);
                arithmetic(*operator, left, right, result)
            }
            Expression::Negate(operand) => match self.typed(operand)? {
                Typed::Numbers(numbers, unit @ (Unit::Exact(_) | Unit::Wide(_))) => {
                    Some(Typed::Numbers(Numbers::Negated(Box::new(numbers)), unit))
                }
                Typed::Doubles(doubles) => Some(Typed::Doubles(Doubles::Negated(Box::new(doubles)))),
                _ => None,
            },
            Expression::Case { branches, otherwise } => {
                let whens = branches.iter().map(|(when, _)| self.condition(when)).collect();
                let thens: Vec<&Expression> = branches.iter().map(|(_, then)| then).collect();
                self.case(whens, &thens, otherwise)
            }
            Expression::SimpleCase { operand, branches, otherwise, collation } => {
                let mut whens = Vec::with_capacity(branches.len());
                for (when, _) in branches {
                    whens.push(self.comparison(ComparisonOperator::Equal, operand, when, *collation)?);
                }
                let thens: Vec<&Expression> = branches.iter().map(|(_, then)| then).collect();
                self.case(whens, &thens, otherwise)
            }
            Expression::Coalesce(parts) => {
                let parts: Vec<&Expression> = parts.iter().collect();
                match self.alike(&parts)? {
                    Alike::Numbers(numbers, unit) => Some(Typed::Numbers(Numbers::Coalesce(numbers), unit)),
                    Alike::Doubles(doubles) => Some(Typed::Doubles(Doubles::Coalesce(doubles))),
                }
            }
            Expression::Function { function, arguments, signature } => {
                self.function(function.0.name, arguments, &signature.result.sql_type)
            }
            Expression::Comparison { .. }
            | Expression::Distinct { .. }
            | Expression::Between { .. }
            | Expression::InList { .. }
            | Expression::IsNull(_)
            | Expression::IsTruth { .. }
            | Expression::Not(_)
            | Expression::And(_)
            | Expression::Or(_) => Some(Typed::Condition(self.condition(expression))),
            _ => None,
        }
    }

    fn column(&self, position: usize) -> Option<Typed> {
        match self.kinds.get(position)? {
            ColumnKind::Numbers(unit) => Some(Typed::Numbers(Numbers::Column(position), *unit)),
            ColumnKind::Doubles => Some(Typed::Doubles(Doubles::Column(position))),
            ColumnKind::Floats => Some(Typed::Floats(Doubles::Column(position))),
            ColumnKind::Truths => Some(Typed::Condition(Condition::Column(position))),
            ColumnKind::Values(_) => None,
        }
    }

    fn function(&mut self, name: &str, arguments: &[Expression], result: &SqlType) -> Option<Typed> {
        let SqlType::Exact { width: ExactWidth::Short | ExactWidth::Long | ExactWidth::Int64, .. } = result
        else {
            return match (name, arguments) {
                ("ABS", [operand]) if *result == SqlType::Double => match self.typed(operand)? {
                    Typed::Doubles(doubles) => Some(Typed::Doubles(Doubles::Absolute(Box::new(doubles)))),
                    _ => None,
                },
                _ => None,
            };
        };
        match (name, arguments) {
            ("MOD", [left, right]) => {
                let left = whole(self.typed(left)?)?;
                let right = whole(self.typed(right)?)?;
                let rest = Numbers::Remainder(Box::new(left), Box::new(right));
                Some(Typed::Numbers(rest, Unit::Exact(0)))
            }
            ("ABS", [operand]) => match self.typed(operand)? {
                Typed::Numbers(numbers, unit @ Unit::Exact(_)) => {
                    Some(Typed::Numbers(Numbers::Absolute(Box::new(numbers)), unit))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn case(
        &mut self,
        whens: Vec<Condition>,
        thens: &[&Expression],
        otherwise: &Expression,
    ) -> Option<Typed> {
        let results: Vec<&Expression> = thens.iter().copied().chain([otherwise]).collect();
        match self.alike(&results)? {
            Alike::Numbers(mut numbers, unit) => {
                let otherwise = Box::new(numbers.pop()?);
                Some(Typed::Numbers(Numbers::Case(whens.into_iter().zip(numbers).collect(), otherwise), unit))
            }
            Alike::Doubles(mut doubles) => {
                let otherwise = Box::new(doubles.pop()?);
                Some(Typed::Doubles(Doubles::Case(whens.into_iter().zip(doubles).collect(), otherwise)))
            }
        }
    }

    /// Expressions of one kind; NULL is of any.
    fn alike(&mut self, expressions: &[&Expression]) -> Option<Alike> {
        let mut typed = Vec::with_capacity(expressions.len());
        for expression in expressions {
            typed.push(match self.constant(expression) {
                Some(Value::Null) => None,
                _ => Some(self.typed(expression)?),
            });
        }
        match typed.iter().flatten().next()? {
            Typed::Numbers(_, unit) => {
                let unit = *unit;
                let number = |typed| match typed {
                    None => Some(Numbers::Constant(None)),
                    Some(Typed::Numbers(numbers, other)) if other == unit => Some(numbers),
                    Some(_) => None,
                };
                Some(Alike::Numbers(typed.into_iter().map(number).collect::<Option<_>>()?, unit))
            }
            Typed::Doubles(_) => {
                let double = |typed| match typed {
                    None => Some(Doubles::Constant(None)),
                    Some(Typed::Doubles(doubles)) => Some(doubles),
                    Some(_) => None,
                };
                Some(Alike::Doubles(typed.into_iter().map(double).collect::<Option<_>>()?))
            }
            Typed::Floats(_) | Typed::Condition(_) | Typed::RowWise(_) => None,
        }
    }

    /// An expression for its truth.
    fn condition(&mut self, expression: &Expression) -> Condition {
        self.plain_condition(expression).unwrap_or_else(|| {
            let cannot_fail = self.is_list_of_texts(expression);
            Condition::RowWise(RowWise { cannot_fail, ..row_wise(expression) })
        })
    }

    /// Whether an expression looks for a column of texts among constants of its character set.
    fn is_list_of_texts(&self, expression: &Expression) -> bool {
        let Expression::InList { operand, list, .. } = expression else { return false };
        let Expression::Column(position) = **operand else { return false };
        let Some(ColumnKind::Values(SqlType::Text(column))) = self.kinds.get(position) else { return false };
        list.iter().all(|item| match item {
            Expression::Constant(Value::Text(text)) => text.character_set() == column.character_set,
            _ => false,
        })
    }

    /// As [`Compiler::condition`]; `None` if that has to be computed row by row.
    fn plain_condition(&mut self, expression: &Expression) -> Option<Condition> {
        match expression {
            Expression::Comparison { operator, left, right, collation } => {
                self.comparison(*operator, left, right, *collation)
            }
            Expression::Between { operand, low, high, collation } => Some(Condition::And(vec![
                self.comparison(ComparisonOperator::GreaterOrEqual, operand, low, *collation)?,
                self.comparison(ComparisonOperator::LessOrEqual, operand, high, *collation)?,
            ])),
            Expression::Distinct { left, right, .. } => match (self.typed(left)?, self.typed(right)?) {
                (Typed::Numbers(left, unit), Typed::Numbers(right, other)) if unit == other => {
                    Some(Condition::Distinct(Box::new(left), Box::new(right)))
                }
                _ => None,
            },
            Expression::InList { operand, list, .. } => self.in_list(operand, list),
            Expression::IsNull(operand) => match &**operand {
                Expression::Column(position) => Some(Condition::IsNull(*position)),
                operand => Some(match self.typed(operand)? {
                    Typed::Numbers(numbers, _) => Condition::NumbersAreNull(Box::new(numbers)),
                    Typed::Doubles(doubles) | Typed::Floats(doubles) => {
                        Condition::DoublesAreNull(Box::new(doubles))
                    }
                    Typed::Condition(condition) => {
                        Condition::IsTruth(Box::new(condition), TruthTest::Unknown)
                    }
                    Typed::RowWise(_) => return None,
                }),
            },
            Expression::IsTruth { operand, truth } => {
                Some(Condition::IsTruth(Box::new(self.condition(operand)), *truth))
            }
            Expression::Not(operand) => Some(Condition::Not(Box::new(self.condition(operand)))),
            Expression::And(parts) => {
                Some(Condition::And(parts.iter().map(|part| self.condition(part)).collect()))
            }
            Expression::Or(parts) => {
                Some(Condition::Or(parts.iter().map(|part| self.condition(part)).collect()))
            }
            Expression::Pattern(pattern) => self.pattern(pattern),
            other => match self.typed(other)? {
                Typed::Condition(condition) => Some(condition),
                _ => None,
            },
        }
    }

    fn comparison(
        &mut self,
        operator: ComparisonOperator,
        left: &Expression,
        right: &Expression,
        collation: Collation,
    ) -> Option<Condition> {
        if let Some(condition) = self.comparison_of_values(operator, left, right, collation) {
            return Some(condition);
        }
        match (self.comparable(left, right)?, self.comparable(right, left)?) {
            (Typed::Numbers(left, unit), Typed::Numbers(right, other)) => {
                compare_numbers(operator, (left, unit), (right, other))
            }
            (Typed::Condition(left), Typed::Condition(right)) => {
                Some(Condition::Truths(operator, Box::new(left), Box::new(right)))
            }
            (left, right) => {
                let (left, right) = (as_doubles(left)?, as_doubles(right)?);
                Some(Condition::Doubles(operator, Box::new(left), Box::new(right)))
            }
        }
    }

    /// A column of texts and a pattern that is the same for all rows.
    fn pattern(&mut self, pattern: &PatternMatch) -> Option<Condition> {
        let Expression::Column(position) = pattern.operand else { return None };
        let ColumnKind::Values(SqlType::Text(column)) = self.kinds.get(position)? else { return None };
        let character_set = column.character_set;
        let value = self.constant(&pattern.pattern)?;
        let escape = match &pattern.escape {
            Some(escape) => Some(self.constant(escape)?),
            None => None,
        };
        let known = pattern.known(&value, escape.as_ref(), character_set, self.context)?;
        Some(Condition::Matches(position, known))
    }

    /// A column of texts and the like, compared with a constant of its kind: that never fails. Of another kind, a text that is no
    /// number among them, it is for single rows.
    fn comparison_of_values(
        &mut self,
        operator: ComparisonOperator,
        left: &Expression,
        right: &Expression,
        collation: Collation,
    ) -> Option<Condition> {
        let (operator, position, constant) = match (left, right) {
            (Expression::Column(position), other) => (operator, *position, self.constant(other)?),
            (other, Expression::Column(position)) => (mirrored(operator), *position, self.constant(other)?),
            _ => return None,
        };
        let ColumnKind::Values(column) = self.kinds.get(position)? else { return None };
        let constant = match constant {
            Value::Text(_) if matches!(column, SqlType::TimeTz | SqlType::TimestampTz) => {
                convert::cast(&constant, column, &self.context.cast).ok()?
            }
            other => other,
        };
        let is_of_its_kind = match (column, &constant) {
            // Between different character sets it may matter which side is the left one.
            (SqlType::Text(column), Value::Text(text)) => text.character_set() == column.character_set,
            (
                SqlType::Exact { width: ExactWidth::Int128, .. } | SqlType::DecFloat16 | SqlType::DecFloat34,
                constant,
            ) => matches!(
                constant,
                Value::Integer { .. }
                    | Value::Int128 { .. }
                    | Value::Float(_)
                    | Value::Double(_)
                    | Value::DecFloat(_)
            ),
            (SqlType::TimeTz, Value::TimeTz(_)) | (SqlType::TimestampTz, Value::TimestampTz(_)) => true,
            _ => false,
        };
        is_of_its_kind.then_some(Condition::Values(operator, position, constant, collation))
    }

    /// An operand of a comparison: a constant takes the kind of the other side where comparisons do that.
    fn comparable(&mut self, operand: &Expression, other: &Expression) -> Option<Typed> {
        match self.constant(operand) {
            Some(Value::Text(text)) => {
                let converted = match self.typed(other)? {
                    Typed::Numbers(_, Unit::Exact(_) | Unit::Wide(_))
                    | Typed::Doubles(_)
                    | Typed::Floats(_) => number_of_text(&text).ok()?,
                    Typed::Numbers(_, unit) => {
                        let to = match unit {
                            Unit::Date => SqlType::Date,
                            Unit::Time => SqlType::Time,
                            _ => SqlType::Timestamp,
                        };
                        convert::cast(&Value::Text(text), &to, &self.context.cast).ok()?
                    }
                    Typed::Condition(_) | Typed::RowWise(_) => return None,
                };
                typed_constant(&narrowed(converted))
            }
            Some(value) => typed_constant(&narrowed(value)),
            None => self.typed(operand),
        }
    }

    fn in_list(&mut self, operand: &Expression, list: &[Expression]) -> Option<Condition> {
        let Typed::Numbers(numbers, unit) = self.typed(operand)? else { return None };
        let unit = unit.narrowed();
        let mut values = Vec::with_capacity(list.len());
        let mut has_null = false;
        for item in list {
            match self.constant(item)? {
                Value::Null => has_null = true,
                _ => match (self.comparable(item, operand)?, unit) {
                    (Typed::Numbers(Numbers::Constant(Some(value)), from), to) if from == to => {
                        values.push(value);
                    }
                    (Typed::Numbers(Numbers::Constant(Some(value)), Unit::Exact(from)), Unit::Exact(to)) => {
                        // A number that the scale cannot say is none of the column's.
                        values.extend(exactly_rescaled(value, from, to));
                    }
                    _ => return None,
                },
            }
        }
        values.sort_unstable();
        values.dedup();
        Some(Condition::InList(Box::new(numbers), values, has_null))
    }
}

/// Expressions of one kind.
enum Alike {
    Numbers(Vec<Numbers>, Unit),
    Doubles(Vec<Doubles>),
}

fn typed_constant(value: &Value) -> Option<Typed> {
    let number = |number: i64, unit| Some(Typed::Numbers(Numbers::Constant(Some(number)), unit));
    match value {
        Value::Integer { unscaled, scale } => number(*unscaled, Unit::Exact(*scale)),
        Value::Int128 { unscaled, scale } => number(i64::try_from(*unscaled).ok()?, Unit::Wide(*scale)),
        Value::Date(date) => number(i64::from(date.0), Unit::Date),
        Value::Time(time) => number(i64::from(time.0), Unit::Time),
        Value::Timestamp(timestamp) => number(timestamp.ticks(), Unit::Timestamp),
        Value::Double(double) => Some(Typed::Doubles(Doubles::Constant(Some(*double)))),
        Value::Float(float) => Some(Typed::Floats(Doubles::Constant(Some(f64::from(*float))))),
        Value::Boolean(flag) => Some(Typed::Condition(Condition::Constant(truth::of(*flag)))),
        _ => None,
    }
}

/// An INT128 as a BIGINT, if it is one: for comparisons, where widths do not count.
fn narrowed(value: Value) -> Value {
    match value {
        Value::Int128 { unscaled, scale } => match i64::try_from(unscaled) {
            Ok(unscaled) => Value::Integer { unscaled, scale },
            Err(_) => Value::Int128 { unscaled, scale },
        },
        other => other,
    }
}

/// Ten to the number of digits between two scales.
fn power(digits: i32) -> Option<i64> {
    10i64.checked_pow(u32::try_from(digits).ok()?)
}

/// A number brought to another scale, if that can say it.
fn exactly_rescaled(value: i64, from: i8, to: i8) -> Option<i64> {
    let digits = i32::from(from) - i32::from(to);
    if digits >= 0 {
        return value.checked_mul(power(digits)?);
    }
    let power = power(-digits)?;
    (value % power == 0).then_some(value / power)
}

/// Numbers with at least the digits that they have, and as many as `to` asks for.
fn finer(numbers: Numbers, from: i8, to: i8) -> Option<Numbers> {
    match power(i32::from(from) - i32::from(to))? {
        1 => Some(numbers),
        power => Some(Numbers::Multiplied(Box::new(numbers), power)),
    }
}

/// Exact numbers rounded to whole ones.
fn whole(typed: Typed) -> Option<Numbers> {
    match typed {
        Typed::Numbers(numbers, Unit::Exact(scale)) => rescaled(numbers, scale, 0),
        _ => None,
    }
}

fn rescaled(numbers: Numbers, from: i8, to: i8) -> Option<Numbers> {
    match from.cmp(&to) {
        Ordering::Equal | Ordering::Greater => finer(numbers, from, to),
        Ordering::Less => Some(Numbers::Rounded(Box::new(numbers), power(i32::from(to) - i32::from(from))?)),
    }
}

fn cast(operand: Typed, to: &SqlType) -> Option<Typed> {
    match (operand, to) {
        (
            Typed::Numbers(numbers, Unit::Exact(from) | Unit::Wide(from)),
            SqlType::Exact { width, scale, .. },
        ) => {
            let numbers = rescaled(numbers, from, *scale)?;
            let within = |numbers, lowest, highest| {
                Typed::Numbers(Numbers::Within(Box::new(numbers), lowest, highest), Unit::Exact(*scale))
            };
            Some(match width {
                ExactWidth::Short => within(numbers, i64::from(i16::MIN), i64::from(i16::MAX)),
                ExactWidth::Long => within(numbers, i64::from(i32::MIN), i64::from(i32::MAX)),
                ExactWidth::Int64 => Typed::Numbers(numbers, Unit::Exact(*scale)),
                ExactWidth::Int128 => Typed::Numbers(numbers, Unit::Wide(*scale)),
            })
        }
        (operand, SqlType::Double) => as_doubles(operand).map(Typed::Doubles),
        _ => None,
    }
}

/// Numbers of any kind as doubles.
fn as_doubles(typed: Typed) -> Option<Doubles> {
    match typed {
        Typed::Doubles(doubles) | Typed::Floats(doubles) => Some(doubles),
        Typed::Numbers(numbers, Unit::Exact(scale) | Unit::Wide(scale)) => {
            Some(Doubles::OfNumbers(Box::new(numbers), scale))
        }
        _ => None,
    }
}

fn arithmetic(operator: ArithmeticOperator, left: Typed, right: Typed, result: &SqlType) -> Option<Typed> {
    use ArithmeticOperator::{Add, Divide, Multiply, Subtract};
    match (left, right) {
        (
            Typed::Numbers(left, Unit::Exact(left_scale) | Unit::Wide(left_scale)),
            Typed::Numbers(right, Unit::Exact(right_scale) | Unit::Wide(right_scale)),
        ) => {
            // Results of 128 bits are computed in 64 as long as they fit; the others make the batch fail.
            let (unit, scale): (fn(i8) -> Unit, i8) = match *result {
                SqlType::Exact { width: ExactWidth::Int64, scale, .. } => (Unit::Exact, scale),
                SqlType::Exact { width: ExactWidth::Int128, scale, .. } => (Unit::Wide, scale),
                _ => return None,
            };
            let of_product = left_scale.checked_add(right_scale) == Some(scale);
            let numbers = match operator {
                Add | Subtract => {
                    let left = Box::new(finer(left, left_scale, scale)?);
                    let right = Box::new(finer(right, right_scale, scale)?);
                    if operator == Add { Numbers::Sum(left, right) } else { Numbers::Difference(left, right) }
                }
                Multiply if of_product => Numbers::Product(Box::new(left), Box::new(right)),
                // A divisor with decimal places makes the dividend longer first: see `farbird_types::arithmetic`.
                Divide if of_product && right_scale == 0 => {
                    Numbers::Quotient(Box::new(left), Box::new(right))
                }
                Multiply | Divide => return None,
            };
            Some(Typed::Numbers(numbers, unit(scale)))
        }
        (Typed::Numbers(left, Unit::Date), Typed::Numbers(right, Unit::Date)) => match operator {
            Subtract => {
                Some(Typed::Numbers(Numbers::Difference(Box::new(left), Box::new(right)), Unit::Exact(0)))
            }
            _ => None,
        },
        (Typed::Numbers(date, Unit::Date), Typed::Numbers(days, Unit::Exact(0))) => match operator {
            Add => Some(moved_date(Numbers::Sum(Box::new(date), Box::new(days)))),
            Subtract => Some(moved_date(Numbers::Difference(Box::new(date), Box::new(days)))),
            _ => None,
        },
        (Typed::Numbers(days, Unit::Exact(0)), Typed::Numbers(date, Unit::Date)) => match operator {
            Add => Some(moved_date(Numbers::Sum(Box::new(days), Box::new(date)))),
            _ => None,
        },
        (left, right) if *result == SqlType::Double => {
            let (left, right) = (as_doubles(left)?, as_doubles(right)?);
            Some(Typed::Doubles(Doubles::Arithmetic(operator, Box::new(left), Box::new(right))))
        }
        _ => None,
    }
}

fn moved_date(days: Numbers) -> Typed {
    let (first, last) = (i64::from(Date::MIN.0), i64::from(Date::MAX.0));
    Typed::Numbers(Numbers::Within(Box::new(days), first, last), Unit::Date)
}

fn compare_numbers(
    operator: ComparisonOperator,
    (left, left_unit): (Numbers, Unit),
    (right, right_unit): (Numbers, Unit),
) -> Option<Condition> {
    let (left_unit, right_unit) = (left_unit.narrowed(), right_unit.narrowed());
    let compare = |left, right| Some(Condition::Numbers(operator, Box::new(left), Box::new(right)));
    // A day is its first moment.
    let midnight = |days| Numbers::Multiplied(Box::new(days), DAY);
    match (left_unit, right_unit) {
        (left_unit, right_unit) if left_unit == right_unit => compare(left, right),
        (Unit::Date, Unit::Timestamp) => compare(midnight(left), right),
        (Unit::Timestamp, Unit::Date) => compare(left, midnight(right)),
        (Unit::Exact(left_scale), Unit::Exact(right_scale)) => {
            if let Numbers::Constant(Some(value)) = right
                && let Some(value) = exactly_rescaled(value, right_scale, left_scale)
            {
                return compare(left, Numbers::Constant(Some(value)));
            }
            if let Numbers::Constant(Some(value)) = left
                && let Some(value) = exactly_rescaled(value, left_scale, right_scale)
            {
                return compare(Numbers::Constant(Some(value)), right);
            }
            let finest = left_scale.min(right_scale);
            let left_power = power(i32::from(left_scale) - i32::from(finest))?;
            let right_power = power(i32::from(right_scale) - i32::from(finest))?;
            Some(Condition::Scaled(operator, (Box::new(left), left_power), (Box::new(right), right_power)))
        }
        _ => None,
    }
}

/// The operator for exchanged sides.
fn mirrored(operator: ComparisonOperator) -> ComparisonOperator {
    match operator {
        ComparisonOperator::Less => ComparisonOperator::Greater,
        ComparisonOperator::LessOrEqual => ComparisonOperator::GreaterOrEqual,
        ComparisonOperator::Greater => ComparisonOperator::Less,
        ComparisonOperator::GreaterOrEqual => ComparisonOperator::LessOrEqual,
        same => same,
    }
}
