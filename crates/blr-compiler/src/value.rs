//! Values.

use farbird_blr::{Code, code};
use farbird_sql::ast::{
    BinaryOperator, Case, ContextVariable, DatePart, ErrorItem, Expression, ExpressionKind, Literal, Name,
    Quantifier, Query, RecordKeyKind, TrimSide, Truth, UnaryOperator,
};
use farbird_types::arithmetic::{ArithmeticOperator, common_type, concatenated_type, result_type};
use farbird_types::{
    CastContext, CharacterSet, ExactSubtype, ExactWidth, SqlType, Text, Timestamp, Value, ZoneId, convert,
};

use crate::compiler::Compiler;
use crate::data_type::cast;
use crate::failure::{Made, Unsupported, placed, unsupported};
use crate::piece::Typed;

/// Numbers that blr_internal_info takes.
const INFO_CONNECTION: i32 = 1;
const INFO_TRANSACTION: i32 = 2;
const INFO_GDS_CODE: i32 = 3;
const INFO_SQL_CODE: i32 = 4;
pub(crate) const INFO_ROW_COUNT: i32 = 5;
pub(crate) const INFO_TRIGGER_ACTION: i32 = 6;
const INFO_SQL_STATE: i32 = 7;
const INFO_EXCEPTION: i32 = 8;
const INFO_MESSAGE: i32 = 9;
const INFO_RESETTING: i32 = 10;
/// The digits of a second's fraction that the codes without a number mean.
const TIME_DIGITS: u8 = 0;
const TIMESTAMP_DIGITS: u8 = 3;
/// The character set of texts that name none, as they are kept here.
const SOURCES: CharacterSet = CharacterSet::UTF8;

/// blr_internal_info.
pub(crate) fn info(number: i32) -> Code {
    let mut made = Code::of(&[code::INTERNAL_INFO]);
    made.piece(&Code::number(number));
    made
}

/// A code with operands behind it.
pub(crate) fn operation(operator: &[u8], operands: &[&Code]) -> Code {
    let mut made = Code::of(operator);
    for operand in operands {
        made.piece(operand);
    }
    made
}

impl Compiler<'_> {
    /// A value.
    pub(crate) fn value(&mut self, it: &Expression) -> Made<Typed> {
        self.nested(|compiler| {
            if let Some(key) = compiler.grouped_key(it)? {
                return Ok(key);
            }
            compiler.value_inside(it)
        })
    }

    /// The code of a value.
    pub(crate) fn code(&mut self, it: &Expression) -> Made<Code> {
        Ok(self.value(it)?.code)
    }

    pub(crate) fn codes(&mut self, list: &[Expression]) -> Made<Vec<Code>> {
        list.iter().map(|it| self.code(it)).collect()
    }

    fn value_inside(&mut self, it: &Expression) -> Made<Typed> {
        match &it.kind {
            ExpressionKind::Literal(literal) => constant(literal),
            ExpressionKind::Column { qualifier, name } => self.named(qualifier.as_ref(), name),
            ExpressionKind::Variable { qualifier, name } => match self.variable(qualifier.as_ref(), name) {
                Some(found) => Ok(found),
                None => self.named(qualifier.as_ref(), name),
            },
            ExpressionKind::RecordKey { qualifier, kind } => self.record_key(qualifier.as_ref(), *kind),
            ExpressionKind::ContextVariable(it) => context_variable(*it),
            ExpressionKind::ArrayElement { array, subscripts } => {
                let array = self.code(array)?;
                let mut made = operation(&[code::ELEMENT], &[&array]);
                placed(made.count(subscripts.len()))?;
                for subscript in subscripts {
                    made.piece(&self.code(subscript)?);
                }
                Ok(Typed::untyped(made))
            }
            ExpressionKind::ErrorContext(item) => Ok(Typed::untyped(info(match item {
                ErrorItem::GdsCode => INFO_GDS_CODE,
                ErrorItem::SqlCode => INFO_SQL_CODE,
                ErrorItem::SqlState => INFO_SQL_STATE,
                ErrorItem::Exception => INFO_EXCEPTION,
                ErrorItem::Message => INFO_MESSAGE,
            }))),
            ExpressionKind::DomainValue if self.has_value => Ok(Typed::untyped(Code::place(0, 0))),
            ExpressionKind::Unary { operator, operand } => self.unary(*operator, operand),
            ExpressionKind::Binary { left, operator, right } => self.binary(left, *operator, right),
            ExpressionKind::Case(case) => self.case(case),
            ExpressionKind::Cast { operand, target, format: None } => {
                let declared = self.declared(target, false, None)?;
                let operand = self.code(operand)?;
                let mut made = Code::of(&[code::CAST]);
                made.piece(&declared.code).piece(&operand);
                Ok(Typed::of(made, declared.sql_type))
            }
            ExpressionKind::Extract { part, operand } => {
                let operand = self.code(operand)?;
                Ok(Typed::untyped(operation(&[code::EXTRACT, extracted(*part)], &[&operand])))
            }
            ExpressionKind::Substring { operand, start, length } => {
                self.substring(operand, start, length.as_deref())
            }
            ExpressionKind::SubstringSimilar { operand, pattern, escape } => {
                let operand = self.value(operand)?;
                let (pattern, escape) = (self.code(pattern)?, self.code(escape)?);
                let made = operation(&[code::SUBSTRING_SIMILAR], &[&operand.code, &pattern, &escape]);
                Ok(Typed { code: made, sql_type: operand.sql_type })
            }
            ExpressionKind::Trim { side, what, operand } => self.trim(*side, what.as_deref(), operand),
            ExpressionKind::Sequence { name, step } => self.sequence(name, step.as_deref()),
            ExpressionKind::Subquery(query) => self.scalar(query),
            ExpressionKind::Collate { operand, collation } => self.collate(operand, collation),
            ExpressionKind::AtTimeZone { operand, zone } => {
                let operand = self.code(operand)?;
                Ok(Typed::untyped(match zone {
                    Some(zone) => {
                        let zone = self.code(zone)?;
                        let mut made = operation(&[code::AT], &[&operand]);
                        made.byte(code::AT_ZONE).piece(&zone);
                        made
                    }
                    None => {
                        let mut made = operation(&[code::AT], &[&operand]);
                        made.byte(code::AT_LOCAL);
                        made
                    }
                }))
            }
            ExpressionKind::Overlay { .. }
            | ExpressionKind::DateAdd { .. }
            | ExpressionKind::DateDiff { .. }
            | ExpressionKind::PeriodDay { .. }
            | ExpressionKind::Function(_)
            | ExpressionKind::KeywordFunction(_)
            | ExpressionKind::SystemPrivilege(_) => self.function(&it.kind),
            ExpressionKind::Aggregate(call) => {
                let value = self.at(crate::scope::Stage::Rows, |it| it.aggregate_code(call, None))?;
                self.scope()?.at_stage(value)
            }
            ExpressionKind::Window(call) => {
                let named = self.windows_clause();
                let named: Vec<_> = named.iter().map(|it| (it.name.as_str(), &it.specification)).collect();
                self.window_call(call, &named)
            }
            kind if is_condition(kind) => {
                let condition = self.condition(it)?;
                Ok(Typed::of(operation(&[code::CONDITION_AS_VALUE], &[&condition]), SqlType::Boolean))
            }
            _ => unsupported("an expression that has no BLR here"),
        }
    }

    /// A column, or a variable where no column has the name.
    fn named(&mut self, qualifier: Option<&Name>, name: &Name) -> Made<Typed> {
        if let Some(found) = self.column(qualifier, name.as_str())? {
            return Ok(found);
        }
        match self.variable(qualifier, name) {
            Some(found) => Ok(found),
            None => unsupported(format!("the name {name}")),
        }
    }

    fn record_key(&mut self, qualifier: Option<&Name>, kind: RecordKeyKind) -> Made<Typed> {
        let Some(context) = self.key_context(qualifier) else { return unsupported("a key of no table") };
        let code = match kind {
            RecordKeyKind::DbKey => code::DB_KEY,
            RecordKeyKind::RecordVersion => code::RECORD_VERSION,
        };
        let value = Typed::untyped(Code::of(&[code, context]));
        self.scope()?.at_stage(value)
    }

    fn unary(&mut self, operator: UnaryOperator, operand: &Expression) -> Made<Typed> {
        let value = self.value(operand)?;
        if operator == UnaryOperator::Plus {
            return Ok(value);
        }
        if let ExpressionKind::Literal(literal) = &operand.kind
            && let Some(negative) = negated(literal)
        {
            return Ok(Typed { code: placed(Code::constant(&negative))?, sql_type: value.sql_type });
        }
        Ok(Typed { code: operation(&[code::NEGATE], &[&value.code]), sql_type: value.sql_type })
    }

    fn binary(&mut self, left: &Expression, operator: BinaryOperator, right: &Expression) -> Made<Typed> {
        let (left, right) = (self.value(left)?, self.value(right)?);
        let (code, arithmetic) = match operator {
            BinaryOperator::Add => (code::ADD, Some(ArithmeticOperator::Add)),
            BinaryOperator::Subtract => (code::SUBTRACT, Some(ArithmeticOperator::Subtract)),
            BinaryOperator::Multiply => (code::MULTIPLY, Some(ArithmeticOperator::Multiply)),
            BinaryOperator::Divide => (code::DIVIDE, Some(ArithmeticOperator::Divide)),
            BinaryOperator::Concatenate => (code::CONCATENATE, None),
        };
        let sql_type = match (left.sql_type, right.sql_type, arithmetic) {
            (Some(left), Some(right), Some(operator)) => result_type(operator, &left, &right).ok(),
            (Some(left), Some(right), None) => concatenated_type(&left, &right).ok(),
            _ => None,
        };
        Ok(Typed { code: operation(&[code], &[&left.code, &right.code]), sql_type })
    }

    /// CASE: by value as blr_decode, by conditions as one choice in the other.
    fn case(&mut self, case: &Case) -> Made<Typed> {
        let otherwise = case.otherwise.as_ref().map(|it| self.value(it)).transpose()?;
        let results = case.branches.iter().map(|it| self.value(&it.then)).collect::<Made<Vec<_>>>()?;
        let sql_type = common(results.iter().chain(&otherwise));
        if let Some(operand) = &case.operand {
            let operand = self.code(operand)?;
            let mut made = operation(&[code::DECODE], &[&operand]);
            placed(made.count(case.branches.len()))?;
            for branch in &case.branches {
                made.piece(&self.code(&branch.when)?);
            }
            placed(made.count(results.len() + usize::from(otherwise.is_some())))?;
            for result in results.iter().chain(&otherwise) {
                made.piece(&result.code);
            }
            return Ok(Typed { code: made, sql_type });
        }
        let mut made = otherwise.map_or_else(|| Code::of(&[code::NULL]), |it| it.code);
        for (branch, result) in case.branches.iter().zip(&results).rev() {
            let condition = self.condition(&branch.when)?;
            made = choice(&condition, &result.code, &made, sql_type.as_ref())?;
        }
        Ok(Typed { code: made, sql_type })
    }

    fn substring(
        &mut self,
        operand: &Expression,
        start: &Expression,
        length: Option<&Expression>,
    ) -> Made<Typed> {
        let operand = self.value(operand)?;
        let start = self.code(start)?;
        // Places are counted from 0.
        let start = operation(&[code::SUBTRACT], &[&start, &Code::number(1)]);
        let length = match length {
            Some(length) => self.code(length)?,
            None => Code::number(i32::MAX),
        };
        let made = operation(&[code::SUBSTRING], &[&operand.code, &start, &length]);
        Ok(Typed { code: made, sql_type: operand.sql_type.map(as_varying) })
    }

    fn trim(&mut self, side: TrimSide, what: Option<&Expression>, operand: &Expression) -> Made<Typed> {
        let side = match side {
            TrimSide::Both => 0,
            TrimSide::Leading => 1,
            TrimSide::Trailing => 2,
        };
        let what = what.map(|it| self.code(it)).transpose()?;
        let operand = self.value(operand)?;
        let mut made = Code::of(&[code::TRIM, side, u8::from(what.is_some())]);
        if let Some(what) = &what {
            made.piece(what);
        }
        made.piece(&operand.code);
        Ok(Typed { code: made, sql_type: operand.sql_type.map(as_varying) })
    }

    fn sequence(&mut self, name: &Name, step: Option<&Expression>) -> Made<Typed> {
        let mut made = Code::of(&[if step.is_some() { code::GENERATOR } else { code::GENERATOR_NEXT }]);
        placed(made.name(name.as_str()))?;
        if let Some(step) = step {
            made.piece(&self.code(step)?);
        }
        Ok(Typed::of(made, SqlType::BIGINT))
    }

    /// A query of one row and one column.
    fn scalar(&mut self, query: &Query) -> Made<Typed> {
        let selected = self.apart(|it| it.query(query))?;
        let value = placed(selected.columns.first())?.value.clone();
        let mut made = Code::of(&[code::VIA, code::SINGULAR]);
        made.piece(&selected.records).piece(&value.code).byte(code::NULL);
        Ok(Typed { code: made, sql_type: value.sql_type })
    }

    fn collate(&mut self, operand: &Expression, collation: &Name) -> Made<Typed> {
        let operand = self.value(operand)?;
        let Some(SqlType::Text(mut text)) = operand.sql_type else {
            return unsupported("COLLATE of a text whose length is not known here");
        };
        let own = self.catalog.collations.get(collation.as_str()).map(|it| it.collation);
        text.collation = placed(own.or_else(|| text.character_set.collation_by_name(collation.as_str())))?;
        text.varying = true;
        let sql_type = SqlType::Text(text);
        Ok(Typed::of(cast(&sql_type, &operand.code)?, sql_type))
    }

    /// The key of the groups that an expression is as a whole.
    fn grouped_key(&mut self, it: &Expression) -> Made<Option<Typed>> {
        let is_simple = matches!(it.kind, ExpressionKind::Literal(_) | ExpressionKind::Column { .. });
        let groups = self
            .scopes
            .last()
            .is_some_and(|scope| scope.grouping.is_some() && scope.stage != crate::scope::Stage::Rows);
        if is_simple || !groups || has_aggregate(it) {
            return Ok(None);
        }
        let context = self.mark();
        let rows = self.at(crate::scope::Stage::Rows, |compiler| compiler.value_inside(it));
        self.back_to(context);
        match rows {
            Ok(value) => self.key_of_groups(value),
            Err(_) => Ok(None),
        }
    }
}

/// blr_value_if, in the type that holds both.
pub(crate) fn choice(
    condition: &Code,
    then: &Code,
    otherwise: &Code,
    sql_type: Option<&SqlType>,
) -> Made<Code> {
    let made = operation(&[code::VALUE_IF], &[condition, then, otherwise]);
    match sql_type {
        Some(SqlType::Null | SqlType::Blob { .. } | SqlType::Array) | None => Ok(made),
        Some(sql_type) => cast(sql_type, &made),
    }
}

/// The type that holds all values, if it is known.
pub(crate) fn common<'v>(values: impl Iterator<Item = &'v Typed>) -> Option<SqlType> {
    let types: Option<Vec<SqlType>> = values.map(|it| it.sql_type).collect();
    common_type(&types?).ok()
}

fn as_varying(sql_type: SqlType) -> SqlType {
    match sql_type {
        SqlType::Text(mut text) => {
            text.varying = true;
            SqlType::Text(text)
        }
        other => other,
    }
}

/// Whether an aggregate stands in an expression, its own queries aside.
pub(crate) fn has_aggregate(it: &Expression) -> bool {
    crate::search::any(it, &|it| matches!(it.kind, ExpressionKind::Aggregate(_) | ExpressionKind::Window(_)))
}

/// blr_extract_*.
fn extracted(part: DatePart) -> u8 {
    match part {
        DatePart::Year => 0,
        DatePart::Month => 1,
        DatePart::Day => 2,
        DatePart::Hour => 3,
        DatePart::Minute => 4,
        DatePart::Second => 5,
        DatePart::Weekday => 6,
        DatePart::Yearday => 7,
        DatePart::Millisecond => 8,
        DatePart::Week => 9,
        DatePart::TimezoneHour => 10,
        DatePart::TimezoneMinute => 11,
        DatePart::TimezoneName => 12,
        DatePart::Quarter => 13,
    }
}

fn context_variable(it: ContextVariable) -> Made<Typed> {
    let simple = |byte: u8, sql_type| Ok(Typed::of(Code::of(&[byte]), sql_type));
    let with_digits = |plain: u8, counted: u8, digits: u8, usual: u8, sql_type| {
        let code = if digits == usual { Code::of(&[plain]) } else { Code::of(&[counted, digits]) };
        Typed::of(code, sql_type)
    };
    let time = |digits| {
        let (plain, counted) = (code::CURRENT_TIME, code::CURRENT_TIME_PRECISION);
        with_digits(plain, counted, digits, TIME_DIGITS, SqlType::TimeTz)
    };
    let timestamp = |digits| {
        let (plain, counted) = (code::CURRENT_TIMESTAMP, code::CURRENT_TIMESTAMP_PRECISION);
        with_digits(plain, counted, digits, TIMESTAMP_DIGITS, SqlType::TimestampTz)
    };
    let name = SqlType::varchar(63, CharacterSet::UTF8);
    match it {
        ContextVariable::CurrentUser => simple(code::USER_NAME, name),
        ContextVariable::CurrentRole => simple(code::CURRENT_ROLE, name),
        ContextVariable::CurrentConnection => Ok(Typed::of(info(INFO_CONNECTION), SqlType::BIGINT)),
        ContextVariable::CurrentTransaction => Ok(Typed::of(info(INFO_TRANSACTION), SqlType::BIGINT)),
        ContextVariable::CurrentDate => simple(code::CURRENT_DATE, SqlType::Date),
        ContextVariable::CurrentTime { precision } => Ok(time(precision)),
        ContextVariable::CurrentTimestamp { precision } => Ok(timestamp(precision)),
        // Codes of their own came with Firebird 4; a cast says the same to all.
        ContextVariable::LocalTime { precision } => {
            Ok(Typed::of(cast(&SqlType::Time, &time(precision).code)?, SqlType::Time))
        }
        ContextVariable::LocalTimestamp { precision } => {
            Ok(Typed::of(cast(&SqlType::Timestamp, &timestamp(precision).code)?, SqlType::Timestamp))
        }
        ContextVariable::RowCount => Ok(Typed::of(info(INFO_ROW_COUNT), SqlType::INTEGER)),
        ContextVariable::GdsCode => Ok(Typed::of(info(INFO_GDS_CODE), SqlType::INTEGER)),
        ContextVariable::SqlCode => Ok(Typed::of(info(INFO_SQL_CODE), SqlType::INTEGER)),
        ContextVariable::SqlState => Ok(Typed::untyped(info(INFO_SQL_STATE))),
        ContextVariable::Inserting
        | ContextVariable::Updating
        | ContextVariable::Deleting
        | ContextVariable::Resetting => {
            let condition = trigger_action(it);
            Ok(Typed::of(operation(&[code::CONDITION_AS_VALUE], &[&condition]), SqlType::Boolean))
        }
    }
}

/// INSERTING and its siblings as a condition.
pub(crate) fn trigger_action(it: ContextVariable) -> Code {
    let (asked, number) = match it {
        ContextVariable::Inserting => (INFO_TRIGGER_ACTION, 1),
        ContextVariable::Updating => (INFO_TRIGGER_ACTION, 2),
        ContextVariable::Resetting => (INFO_RESETTING, 1),
        _ => (INFO_TRIGGER_ACTION, 3),
    };
    operation(&[code::EQUAL], &[&info(asked), &Code::number(number)])
}

/// Whether an expression is a predicate, which BLR has apart from values.
pub(crate) fn is_condition(kind: &ExpressionKind) -> bool {
    matches!(
        kind,
        ExpressionKind::Comparison { .. }
            | ExpressionKind::Quantified { .. }
            | ExpressionKind::Distinct { .. }
            | ExpressionKind::Between { .. }
            | ExpressionKind::Like { .. }
            | ExpressionKind::SimilarTo { .. }
            | ExpressionKind::StartingWith { .. }
            | ExpressionKind::Containing { .. }
            | ExpressionKind::InList { .. }
            | ExpressionKind::InQuery { .. }
            | ExpressionKind::Exists(_)
            | ExpressionKind::Singular(_)
            | ExpressionKind::IsNull { .. }
            | ExpressionKind::IsTruth { .. }
            | ExpressionKind::Not(_)
            | ExpressionKind::And(_)
            | ExpressionKind::Or(_)
    )
}

/// The opposite of a number.
fn negated(literal: &Literal) -> Option<Value> {
    match literal {
        Literal::Integer { value, width } if *width != ExactWidth::Int128 => {
            Some(Value::integer(i64::try_from(value.checked_neg()?).ok()?))
        }
        Literal::Exact { unscaled, scale, width } if *width != ExactWidth::Int128 => {
            Some(Value::Integer { unscaled: i64::try_from(unscaled.checked_neg()?).ok()?, scale: *scale })
        }
        Literal::Double(number) => Some(Value::Double(-number)),
        _ => None,
    }
}

/// A constant.
pub(crate) fn constant(literal: &Literal) -> Made<Typed> {
    let exact = |width: ExactWidth, scale: i8| {
        let subtype = if scale == 0 { ExactSubtype::Integer } else { ExactSubtype::Numeric };
        SqlType::Exact { width, scale, subtype }
    };
    let narrow = |value: i128, scale: i8| match i64::try_from(value) {
        Ok(unscaled) => Value::Integer { unscaled, scale },
        Err(_) => Value::Int128 { unscaled: value, scale },
    };
    let (value, sql_type) = match literal {
        Literal::Null | Literal::Unknown => {
            return Ok(Typed::of(Code::of(&[code::NULL]), SqlType::Null));
        }
        Literal::Boolean(value) => (Value::Boolean(*value), SqlType::Boolean),
        Literal::Integer { value, width } => (narrow(*value, 0), exact(*width, 0)),
        Literal::Exact { unscaled, scale, width } => (narrow(*unscaled, *scale), exact(*width, *scale)),
        Literal::Double(number) => (Value::Double(*number), SqlType::Double),
        Literal::DecFloat(text) => (point(text, &SqlType::DecFloat34)?, SqlType::DecFloat34),
        Literal::String { value, character_set } => {
            let set = introduced(character_set.as_ref(), SOURCES)?;
            text(Text::encode(value, set).map_err(|error| Unsupported(error.to_string()))?)
        }
        Literal::Binary { value, character_set } => {
            let set = introduced(character_set.as_ref(), CharacterSet::OCTETS)?;
            text(Text::new(value.as_slice(), set))
        }
        Literal::Date(text) => (point(text, &SqlType::Date)?, SqlType::Date),
        Literal::Time(text) => zoned(text, SqlType::Time, SqlType::TimeTz)?,
        Literal::Timestamp(text) => zoned(text, SqlType::Timestamp, SqlType::TimestampTz)?,
    };
    Ok(Typed::of(placed(Code::constant(&value))?, sql_type))
}

fn introduced(name: Option<&Name>, usual: CharacterSet) -> Made<CharacterSet> {
    match name {
        Some(name) => placed(CharacterSet::by_name(name.as_str())),
        None => Ok(usual),
    }
}

fn text(text: Text) -> (Value, SqlType) {
    let length = u32::try_from(text.char_length()).unwrap_or(u32::MAX);
    let sql_type = SqlType::char(length, text.character_set());
    (Value::Text(text), sql_type)
}

/// A constant that is written as a text.
fn point(text: &str, sql_type: &SqlType) -> Made<Value> {
    let zone = ZoneId(u16::MAX);
    let context = CastContext { session_zone: zone, now: Timestamp::default, ..CastContext::UTC };
    convert::cast(&Value::text(text), sql_type, &context).map_err(|error| Unsupported(error.to_string()))
}

/// A time or timestamp, whose type tells whether it names a zone.
fn zoned(text: &str, without: SqlType, with: SqlType) -> Made<(Value, SqlType)> {
    let names_zone = text
        .split_once(':')
        .is_some_and(|(_, rest)| rest.chars().any(|it| it == '+' || it == '-' || it.is_alphabetic()));
    let sql_type = if names_zone { with } else { without };
    Ok((point(text, &sql_type)?, sql_type))
}

/// The truth that IS compares with; none for UNKNOWN.
pub(crate) fn truth(truth: Truth) -> Option<Code> {
    match truth {
        Truth::True => Some(Code::of(&[code::LITERAL, code::BOOL, 1])),
        Truth::False => Some(Code::of(&[code::LITERAL, code::BOOL, 0])),
        Truth::Unknown => None,
    }
}

/// blr_ansi_any or blr_ansi_all.
pub(crate) fn quantified(quantifier: Quantifier) -> u8 {
    match quantifier {
        Quantifier::Any => code::ANSI_ANY,
        Quantifier::All => code::ANSI_ALL,
    }
}
