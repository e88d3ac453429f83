//! Values and conditions.

use farbird_types::{Result, Value, isc};

use crate::code;
use crate::reader::Reader;
use crate::tree::{
    Binary, Comparison, Condition, Expression, Field, FieldName, Function, Length, Parameter, Statistic,
    TrimSide,
};

/// Numbers that blr_internal_info takes.
const INFO_CONNECTION: i64 = 1;
const INFO_TRANSACTION: i64 = 2;

impl Reader<'_> {
    /// A value.
    pub(crate) fn value(&mut self) -> Result<Expression> {
        self.nested(Reader::value_inside)
    }

    fn boxed(&mut self) -> Result<Box<Expression>> {
        self.value().map(Box::new)
    }

    fn value_inside(&mut self) -> Result<Expression> {
        let code = self.byte()?;
        Ok(match code {
            code::LITERAL => {
                let (item, value) = self.literal()?;
                Expression::Literal { item, value }
            }
            code::NULL => Expression::Null,
            code::FIELD => {
                let context = self.context()?;
                Expression::Field(Field { context, name: FieldName::Name(self.name()?) })
            }
            code::FIELD_ID => {
                let context = self.context()?;
                Expression::Field(Field { context, name: FieldName::Id(self.word()?) })
            }
            code::DB_KEY => Expression::Field(Field { context: self.context()?, name: FieldName::DbKey }),
            code::RECORD_VERSION => {
                Expression::Field(Field { context: self.context()?, name: FieldName::RecordVersion })
            }
            code::PARAMETER | code::PARAMETER2 | code::PARAMETER3 => {
                Expression::Parameter(self.parameter(code)?)
            }
            code::ADD => self.binary(Binary::Add)?,
            code::SUBTRACT => self.binary(Binary::Subtract)?,
            code::MULTIPLY => self.binary(Binary::Multiply)?,
            code::DIVIDE => self.binary(Binary::Divide)?,
            code::CONCATENATE => self.binary(Binary::Concatenate)?,
            code::NEGATE => Expression::Negate(self.boxed()?),
            code::CAST => Expression::Cast(self.data_type()?, self.boxed()?),
            code::VALUE_IF => {
                let condition = Box::new(self.condition()?);
                Expression::If(condition, self.boxed()?, self.boxed()?)
            }
            code::GENERATOR => Expression::Generator(self.name()?, self.boxed()?),
            code::FROM => Expression::From(Box::new(self.selection()?), self.boxed()?, None),
            code::VIA => Expression::From(Box::new(self.selection()?), self.boxed()?, Some(self.boxed()?)),
            code::COUNT => Expression::Statistic(Statistic::Count, Box::new(self.selection()?), None),
            code::AVERAGE => self.statistic(Statistic::Average)?,
            code::MAXIMUM => self.statistic(Statistic::Maximum)?,
            code::MINIMUM => self.statistic(Statistic::Minimum)?,
            code::TOTAL => self.statistic(Statistic::Total)?,
            code::AGGREGATE_COUNT => Expression::Aggregate(Statistic::Count, None),
            code::AGGREGATE_COUNT_VALUES => self.aggregate(Statistic::Count)?,
            code::AGGREGATE_AVERAGE => self.aggregate(Statistic::Average)?,
            code::AGGREGATE_MAXIMUM => self.aggregate(Statistic::Maximum)?,
            code::AGGREGATE_MINIMUM => self.aggregate(Statistic::Minimum)?,
            code::AGGREGATE_TOTAL => self.aggregate(Statistic::Total)?,
            code => self.call(code)?,
        })
    }

    fn call(&mut self, code: u8) -> Result<Expression> {
        let (function, count) = match code {
            code::USER_NAME => (Function::User, 0),
            code::CURRENT_ROLE => (Function::Role, 0),
            code::CURRENT_DATE => (Function::CurrentDate, 0),
            code::CURRENT_TIME => (Function::CurrentTime, 0),
            code::CURRENT_TIMESTAMP => (Function::CurrentTimestamp, 0),
            code::UPPER_CASE => (Function::Upper, 1),
            code::LOWER_CASE => (Function::Lower, 1),
            code::SUBSTRING => (Function::Substring, 3),
            code::EXTRACT => (Function::Extract(self.byte()?), 1),
            code::COALESCE => (Function::Coalesce, usize::from(self.byte()?)),
            code::SYSTEM_FUNCTION | code::FUNCTION => {
                (Function::Named(self.name()?), usize::from(self.byte()?))
            }
            code::STRING_LENGTH => {
                let length = match self.byte()? {
                    0 => Length::Bits,
                    1 => Length::Characters,
                    2 => Length::Bytes,
                    _ => return Err(self.unexpected("strlen")),
                };
                (Function::Length(length), 1)
            }
            code::TRIM => return self.trim(),
            code::INTERNAL_INFO => return self.internal_info(),
            _ => return Err(self.unsupported()),
        };
        let arguments = (0..count).map(|_| self.value()).collect::<Result<_>>()?;
        Ok(Expression::Call(function, arguments))
    }

    fn trim(&mut self) -> Result<Expression> {
        let side = match self.byte()? {
            0 => TrimSide::Both,
            1 => TrimSide::Leading,
            2 => TrimSide::Trailing,
            _ => return Err(self.unexpected("trim")),
        };
        let what = if self.byte()? == 1 { Some(self.value()?) } else { None };
        let text = self.value()?;
        Ok(Expression::Call(Function::Trim(side), std::iter::once(text).chain(what).collect()))
    }

    fn internal_info(&mut self) -> Result<Expression> {
        let which = match self.value()? {
            Expression::Literal { value: Value::Integer { unscaled, .. }, .. } => Some(unscaled),
            _ => None,
        };
        let function = match which {
            Some(INFO_CONNECTION) => Function::Connection,
            Some(INFO_TRANSACTION) => Function::Transaction,
            _ => return Err(self.unsupported()),
        };
        Ok(Expression::Call(function, Vec::new()))
    }

    /// A parameter, behind its code.
    pub(crate) fn parameter(&mut self, code: u8) -> Result<Parameter> {
        let (message, item) = (self.byte()?, self.word()?);
        let null_flag = if code == code::PARAMETER { None } else { Some(self.word()?) };
        if code == code::PARAMETER3 {
            // The item for the length of a text that did not fit: what does not fit is an error here.
            self.word()?;
        }
        let items = self.declared(message)?.items.len();
        if [Some(item), null_flag].into_iter().flatten().any(|item| usize::from(item) >= items) {
            return Err(self.invalid().and(isc::BADPARNUM));
        }
        Ok(Parameter { message, item, null_flag })
    }

    fn binary(&mut self, operator: Binary) -> Result<Expression> {
        Ok(Expression::Binary(operator, self.boxed()?, self.boxed()?))
    }

    fn statistic(&mut self, statistic: Statistic) -> Result<Expression> {
        let selection = Box::new(self.selection()?);
        Ok(Expression::Statistic(statistic, selection, Some(self.boxed()?)))
    }

    fn aggregate(&mut self, statistic: Statistic) -> Result<Expression> {
        Ok(Expression::Aggregate(statistic, Some(self.boxed()?)))
    }

    /// A condition.
    pub(crate) fn condition(&mut self) -> Result<Condition> {
        self.nested(Reader::condition_inside)
    }

    fn condition_inside(&mut self) -> Result<Condition> {
        let both = |reader: &mut Self| Ok((Box::new(reader.condition()?), Box::new(reader.condition()?)));
        Ok(match self.byte()? {
            code::EQUAL => self.compare(Comparison::Equal)?,
            code::EQUIVALENT => self.compare(Comparison::Equivalent)?,
            code::NOT_EQUAL => self.compare(Comparison::NotEqual)?,
            code::GREATER => self.compare(Comparison::Greater)?,
            code::GREATER_OR_EQUAL => self.compare(Comparison::GreaterOrEqual)?,
            code::LESS => self.compare(Comparison::Less)?,
            code::LESS_OR_EQUAL => self.compare(Comparison::LessOrEqual)?,
            code::CONTAINING => self.compare(Comparison::Containing)?,
            code::STARTING => self.compare(Comparison::Starting)?,
            code::BETWEEN => Condition::Between(self.boxed()?, self.boxed()?, self.boxed()?),
            code::LIKE => Condition::Like(self.boxed()?, self.boxed()?, None),
            code::ANSI_LIKE => Condition::Like(self.boxed()?, self.boxed()?, Some(self.boxed()?)),
            code::MATCHING => Condition::Matching(self.boxed()?, self.boxed()?, None),
            code::MATCHING_USING => Condition::Matching(self.boxed()?, self.boxed()?, Some(self.boxed()?)),
            code::IN_LIST => {
                let value = self.boxed()?;
                let count = usize::from(self.word()?);
                Condition::In(value, (0..count).map(|_| self.value()).collect::<Result<_>>()?)
            }
            code::MISSING => Condition::Missing(self.boxed()?),
            code::ANY | code::EXISTS => Condition::Any(Box::new(self.selection()?)),
            code::UNIQUE => Condition::Unique(Box::new(self.selection()?)),
            code::AND => {
                let (left, right) = both(self)?;
                Condition::And(left, right)
            }
            code::OR => {
                let (left, right) = both(self)?;
                Condition::Or(left, right)
            }
            code::NOT => Condition::Not(Box::new(self.condition()?)),
            _ => return Err(self.unsupported()),
        })
    }

    fn compare(&mut self, comparison: Comparison) -> Result<Condition> {
        Ok(Condition::Compare(comparison, self.boxed()?, self.boxed()?))
    }
}
