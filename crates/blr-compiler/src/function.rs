//! Functions: those with codes of their own, those that are called by name, stored ones, and aggregates.

use farbird_blr::{Code, code};
use farbird_catalog::SystemPrivilege;
use farbird_sql::ast::{
    AggregateArguments, AggregateCall, DatePart, Expression, ExpressionKind, FunctionCall,
};
use farbird_types::{SqlType, Text, Value};

use crate::compiler::Compiler;
use crate::failure::{Made, placed, unsupported};
use crate::piece::Typed;
use crate::value::{choice, common, operation};

/// What LIST puts between values.
const LIST_SEPARATOR: &str = ",";
/// Aggregates that are called by name.
const NAMED_AGGREGATES: [&str; 16] = [
    "STDDEV_SAMP",
    "STDDEV_POP",
    "VAR_SAMP",
    "VAR_POP",
    "COVAR_SAMP",
    "COVAR_POP",
    "CORR",
    "REGR_AVGX",
    "REGR_AVGY",
    "REGR_COUNT",
    "REGR_INTERCEPT",
    "REGR_R2",
    "REGR_SLOPE",
    "REGR_SXX",
    "REGR_SXY",
    "REGR_SYY",
];
/// Functions of windows, called by name: those that Firebird 3 has.
const WINDOW_FUNCTIONS: [&str; 11] = [
    "ROW_NUMBER",
    "RANK",
    "DENSE_RANK",
    "PERCENT_RANK",
    "CUME_DIST",
    "NTILE",
    "FIRST_VALUE",
    "LAST_VALUE",
    "NTH_VALUE",
    "LAG",
    "LEAD",
];

impl Compiler<'_> {
    /// A call.
    pub(crate) fn function(&mut self, kind: &ExpressionKind) -> Made<Typed> {
        match kind {
            ExpressionKind::Overlay { operand, replacement, start, length } => {
                let mut arguments = vec![self.code(operand)?, self.code(replacement)?, self.code(start)?];
                if let Some(length) = length {
                    arguments.push(self.code(length)?);
                }
                system("OVERLAY", &arguments)
            }
            ExpressionKind::DateAdd { part, amount, operand } => {
                let amount = self.code(amount)?;
                let operand = self.value(operand)?;
                let made = system("DATEADD", &[amount, unit(*part), operand.code])?;
                Ok(Typed { code: made.code, sql_type: operand.sql_type })
            }
            ExpressionKind::DateDiff { part, from, to } => {
                let arguments = [unit(*part), self.code(from)?, self.code(to)?];
                Ok(Typed::of(system("DATEDIFF", &arguments)?.code, SqlType::BIGINT))
            }
            ExpressionKind::PeriodDay { last, part, operand } => {
                let arguments = [unit(*part), self.code(operand)?];
                system(if *last { "LAST_DAY" } else { "FIRST_DAY" }, &arguments)
            }
            ExpressionKind::Function(call) => self.call(call),
            ExpressionKind::KeywordFunction(call) => self.keyword_function(call),
            ExpressionKind::SystemPrivilege(name) => {
                let privilege = placed(SystemPrivilege::named(name.as_str()))?;
                let mut number = Code::of(&[code::LITERAL, code::SHORT, 0]);
                number.word(u16::from(privilege as u8));
                system("RDB$SYSTEM_PRIVILEGE", &[number])
            }
            _ => unsupported("a function that has no BLR here"),
        }
    }

    fn call(&mut self, call: &FunctionCall) -> Made<Typed> {
        if let Some(stored) = self.stored_function(call)? {
            return Ok(stored);
        }
        let arguments = &call.arguments;
        match (call.name.name.as_str(), arguments.as_slice()) {
            ("UPPER", [operand]) => self.same_type(&[code::UPPER_CASE], operand),
            ("LOWER", [operand]) => self.same_type(&[code::LOWER_CASE], operand),
            ("BIT_LENGTH", [operand]) => self.length(0, operand),
            ("CHAR_LENGTH" | "CHARACTER_LENGTH", [operand]) => self.length(1, operand),
            ("OCTET_LENGTH", [operand]) => self.length(2, operand),
            ("COALESCE", list) => {
                let values = list.iter().map(|it| self.value(it)).collect::<Made<Vec<_>>>()?;
                let mut made = Code::of(&[code::COALESCE]);
                placed(made.count(values.len()))?;
                for value in &values {
                    made.piece(&value.code);
                }
                Ok(Typed { code: made, sql_type: common(values.iter()) })
            }
            ("IIF", [condition, then, otherwise]) => {
                let (then, otherwise) = (self.value(then)?, self.value(otherwise)?);
                let condition = self.condition(condition)?;
                let sql_type = common([&then, &otherwise].into_iter());
                let code = choice(&condition, &then.code, &otherwise.code, sql_type.as_ref())?;
                Ok(Typed { code, sql_type })
            }
            ("NULLIF", [left, right]) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                let equal = operation(&[code::EQUAL], &[&left.code, &right.code]);
                let null = Code::of(&[code::NULL]);
                let code = choice(&equal, &null, &left.code, left.sql_type.as_ref())?;
                Ok(Typed { code, sql_type: left.sql_type })
            }
            ("DECODE", [operand, pairs @ ..]) => self.decode(operand, pairs),
            (name, list) => {
                let arguments = self.codes(list)?;
                system(name, &arguments)
            }
        }
    }

    fn same_type(&mut self, operator: &[u8], operand: &Expression) -> Made<Typed> {
        let operand = self.value(operand)?;
        Ok(Typed { code: operation(operator, &[&operand.code]), sql_type: operand.sql_type })
    }

    fn length(&mut self, kind: u8, operand: &Expression) -> Made<Typed> {
        let operand = self.code(operand)?;
        Ok(Typed::of(operation(&[code::STRING_LENGTH, kind], &[&operand]), SqlType::INTEGER))
    }

    /// DECODE: pairs of a value and a result, and perhaps what else is the result.
    fn decode(&mut self, operand: &Expression, pairs: &[Expression]) -> Made<Typed> {
        let operand = self.code(operand)?;
        let (mut values, mut results) = (Vec::new(), Vec::new());
        for pair in pairs.chunks(2) {
            match pair {
                [value, result] => {
                    values.push(self.code(value)?);
                    results.push(self.value(result)?);
                }
                rest => results.extend(rest.iter().map(|it| self.value(it)).collect::<Made<Vec<_>>>()?),
            }
        }
        let mut made = operation(&[code::DECODE], &[&operand]);
        placed(made.count(values.len()))?;
        for value in &values {
            made.piece(value);
        }
        placed(made.count(results.len()))?;
        for result in &results {
            made.piece(&result.code);
        }
        Ok(Typed { code: made, sql_type: common(results.iter()) })
    }

    /// A function of the routine's own, of a package, or stored.
    fn stored_function(&mut self, call: &FunctionCall) -> Made<Option<Typed>> {
        let name = call.name.name.as_str();
        let package = call.name.package.as_ref().map(|it| it.as_str());
        if package.is_none() && self.frame.as_ref().is_some_and(|it| it.has_function(name)) {
            let mut made = Code::of(&[code::SUBFUNCTION]);
            placed(made.name(name))?;
            self.arguments_of_function(&mut made, &call.arguments)?;
            return Ok(Some(Typed::untyped(made)));
        }
        let Ok(found) = self.catalog.function_named(package, name, self.package) else {
            return unsupported(format!("the function {name}"));
        };
        let Some(found) = found else {
            return if package.is_some() { unsupported(format!("the function {name}")) } else { Ok(None) };
        };
        let sql_type = found.outputs.first().map(|it| it.sql_type);
        let mut made = match &found.package {
            Some(package) => {
                let mut made = Code::of(&[code::PACKAGED_FUNCTION]);
                placed(made.name(package))?;
                made
            }
            None => Code::of(&[code::FUNCTION]),
        };
        placed(made.name(name))?;
        self.arguments_of_function(&mut made, &call.arguments)?;
        Ok(Some(Typed { code: made, sql_type }))
    }

    fn arguments_of_function(&mut self, made: &mut Code, arguments: &[Expression]) -> Made<()> {
        placed(made.count(arguments.len()))?;
        for argument in arguments {
            made.piece(&self.code(argument)?);
        }
        Ok(())
    }

    /// An aggregate over what the stage has, or a window's function, which is told whether it counts from the last row.
    pub(crate) fn aggregate_code(&mut self, call: &AggregateCall, window: Option<bool>) -> Made<Typed> {
        if !call.within_group.is_empty() {
            return unsupported("WITHIN GROUP");
        }
        let name = call.function.as_str();
        let arguments: &[Expression] = match &call.arguments {
            AggregateArguments::Star => &[],
            AggregateArguments::List(list) => list,
        };
        let filter = call.filter.as_ref().map(|it| self.condition(it)).transpose()?;
        let mut values = arguments.iter().map(|it| self.value(it)).collect::<Made<Vec<_>>>()?;
        let null = Code::of(&[code::NULL]);
        if let Some(filter) = &filter {
            // What is filtered out is NULL to the aggregate.
            match values.first_mut() {
                Some(value) => value.code = operation(&[code::VALUE_IF], &[filter, &value.code, &null]),
                None => {
                    let counted = operation(&[code::VALUE_IF], &[filter, &Code::number(1), &null]);
                    values.push(Typed::of(counted, SqlType::INTEGER));
                }
            }
        }
        let distinct = |plain: u8, distinct: u8| if call.distinct { distinct } else { plain };
        let code = match (name, values.len()) {
            ("COUNT", 0) => code::AGGREGATE_COUNT,
            ("COUNT", 1) => distinct(code::AGGREGATE_COUNT_VALUES, code::AGGREGATE_COUNT_DISTINCT),
            ("SUM", 1) => distinct(code::AGGREGATE_TOTAL, code::AGGREGATE_TOTAL_DISTINCT),
            ("AVG", 1) => distinct(code::AGGREGATE_AVERAGE, code::AGGREGATE_AVERAGE_DISTINCT),
            ("MIN", 1) => code::AGGREGATE_MINIMUM,
            ("MAX", 1) => code::AGGREGATE_MAXIMUM,
            ("LIST", 1 | 2) => {
                if values.len() == 1 {
                    let separator = placed(Code::constant(&Value::Text(Text::utf8(LIST_SEPARATOR))))?;
                    values.push(Typed::untyped(separator));
                }
                distinct(code::AGGREGATE_LIST, code::AGGREGATE_LIST_DISTINCT)
            }
            (name, _) if NAMED_AGGREGATES.contains(&name) => code::AGGREGATE_FUNCTION,
            (name, _) if window.is_some() && WINDOW_FUNCTIONS.contains(&name) => {
                if name == "NTH_VALUE" {
                    values.push(Typed::untyped(Code::number(i32::from(window == Some(true)))));
                }
                if matches!(name, "LAG" | "LEAD") {
                    if values.len() == 1 {
                        values.push(Typed::untyped(Code::number(1)));
                    }
                    if values.len() == 2 {
                        values.push(Typed::untyped(null));
                    }
                }
                code::AGGREGATE_FUNCTION
            }
            _ => return unsupported(format!("the aggregate {name}")),
        };
        let mut made = Code::of(&[code]);
        if code == code::AGGREGATE_FUNCTION {
            placed(made.name(name))?;
            placed(made.count(values.len()))?;
        }
        for value in &values {
            made.piece(&value.code);
        }
        let sql_type = match name {
            "COUNT" => Some(SqlType::BIGINT),
            "MIN" | "MAX" | "LAG" | "LEAD" | "FIRST_VALUE" | "LAST_VALUE" | "NTH_VALUE" => {
                values.first().and_then(|it| it.sql_type)
            }
            "ROW_NUMBER" | "RANK" | "DENSE_RANK" | "NTILE" => Some(SqlType::BIGINT),
            _ => None,
        };
        Ok(Typed { code: made, sql_type })
    }
}

/// A function that comes with every server, called by name.
pub(crate) fn system(name: &str, arguments: &[Code]) -> Made<Typed> {
    let mut made = Code::of(&[code::SYSTEM_FUNCTION]);
    placed(made.name(name))?;
    placed(made.count(arguments.len()))?;
    for argument in arguments {
        made.piece(argument);
    }
    Ok(Typed::untyped(made))
}

/// A unit of date arithmetic, as functions take it: a number.
fn unit(part: DatePart) -> Code {
    Code::number(match part {
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
    })
}
