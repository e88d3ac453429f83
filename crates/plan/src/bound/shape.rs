//! How values are made of parameters whose types are not known yet: see `bind::inference`.

use farbird_expression::FunctionReference;
use farbird_function::{Argument, ScalarFunction};
use farbird_types::arithmetic::{self, ArithmeticOperator};
use farbird_types::{
    CharacterSet, Collation, ColumnType, Error, ExactSubtype, ExactWidth, Result, SqlType, TextType, Value,
    isc,
};

/// Length of a parameter that is a pattern for something that is no text.
pub(crate) const PATTERN_CHARS: u32 = 30;

/// Longest name of a time zone.
pub(crate) const ZONE_CHARS: u32 = 32;

/// What is known of a parameter.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ParameterType {
    /// Its type; none if it is not known yet.
    pub(crate) known: Option<ColumnType>,
    /// Whether it has been told one, be it "unknown".
    pub(crate) told: bool,
}

/// How a value is made of parameters whose types are not known.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) part: Part,
    /// The value's type as it was described first: it stays so, whatever parameters are told later.
    pub(crate) described: Option<ColumnType>,
}

/// The kinds of nodes, by what they do with types.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    /// A parameter.
    Parameter(usize),
    /// Something that passes no type on. Its own one, if that is known.
    Opaque(Option<ColumnType>),
    /// `+ - * /`
    Arithmetic {
        /// The operator.
        operator: ArithmeticOperator,
        /// Both sides.
        parts: Box<[Shape; 2]>,
        /// Whether dialect 1 says of which type it is.
        in_dialect_1: bool,
    },
    /// `-x`
    Negate(Box<Shape>),
    /// `||`
    Concatenate(Box<[Shape; 2]>),
    /// A function that passes its type on to all arguments: UPPER, LOWER, TRIM, SUBSTRING, EXTRACT.
    Transparent(FunctionReference, Vec<Shape>, Vec<Option<Value>>),
    /// SUBSTRING ... SIMILAR: operand, pattern, escape.
    SubstringSimilar(Box<[Shape; 3]>),
    /// AT TIME ZONE: the operand and, unless it is AT LOCAL, the zone.
    AtTimeZone(Vec<Shape>),
    /// GEN_ID by a step; its type is known.
    Sequence(Box<Shape>, ColumnType),
    /// The two values of a searched CASE with one branch.
    Choice(Box<[Shape; 2]>),
    /// Simple CASE and DECODE.
    Decode(Box<Decode>),
}

#[derive(Debug, Clone)]
pub(crate) struct Decode {
    /// What is compared, then what it is compared with.
    pub(crate) compared: Vec<Shape>,
    /// The results.
    pub(crate) values: Vec<Shape>,
    /// What it is called in errors.
    pub(crate) label: &'static str,
}

impl Shape {
    pub(crate) fn new(part: Part) -> Shape {
        Shape { part, described: None }
    }

    /// The shape of a parameter.
    pub(crate) fn parameter(number: usize) -> Shape {
        Shape::new(Part::Parameter(number))
    }

    /// The shape of something whose type is not known and that nothing can be told.
    pub(crate) fn unknown() -> Shape {
        Shape::new(Part::Opaque(None))
    }

    pub(crate) fn is_parameter(&self) -> bool {
        matches!(self.part, Part::Parameter(_))
    }

    /// Whether what the value is told reaches a parameter.
    pub(crate) fn listens(&self) -> bool {
        match &self.part {
            Part::Parameter(_) => true,
            Part::Opaque(_) => false,
            Part::Arithmetic { parts, .. } | Part::Concatenate(parts) | Part::Choice(parts) => {
                parts.iter().any(Shape::listens)
            }
            Part::SubstringSimilar(parts) => parts.iter().any(Shape::listens),
            Part::Transparent(_, parts, _) => parts.iter().any(Shape::listens),
            Part::Negate(operand) | Part::Sequence(operand, _) => operand.listens(),
            Part::AtTimeZone(parts) => parts.first().is_some_and(Shape::listens),
            Part::Decode(decode) => decode.values.iter().any(Shape::listens),
        }
    }

    /// Tells the parameters inside the type that the value is to have, `None` for an unknown one. `as_text`: the place
    /// takes texts only.
    pub(crate) fn tell(
        &mut self,
        parameters: &mut Parameters<'_>,
        wanted: Option<ColumnType>,
        as_text: bool,
    ) -> Result<()> {
        match &mut self.part {
            Part::Parameter(number) => parameters.tell(*number, wanted, as_text),
            Part::Opaque(_) => Ok(()),
            Part::Arithmetic { parts, .. } | Part::Concatenate(parts) | Part::Choice(parts) => {
                parts.iter_mut().try_for_each(|part| part.tell(parameters, wanted, as_text))
            }
            Part::SubstringSimilar(parts) => {
                parts.iter_mut().try_for_each(|part| part.tell(parameters, wanted, as_text))
            }
            Part::Transparent(_, parts, _) => {
                parts.iter_mut().try_for_each(|part| part.tell(parameters, wanted, as_text))
            }
            Part::Negate(operand) | Part::Sequence(operand, _) => operand.tell(parameters, wanted, as_text),
            Part::AtTimeZone(parts) => {
                let (operand, zone) = parts.split_at_mut(1);
                operand.iter_mut().try_for_each(|part| part.tell(parameters, wanted, as_text))?;
                zone.iter_mut().try_for_each(|part| part.tell(parameters, Some(zone_name()), as_text))
            }
            Part::Decode(decode) => decode.tell(parameters, wanted),
        }
    }

    /// The value's type as far as it is known.
    ///
    /// # Errors
    /// Those of its operators, for types that they do not take; some do not take an unknown one.
    pub(crate) fn describe(&mut self, parameters: &Parameters<'_>) -> Result<Option<ColumnType>> {
        if self.described.is_none() {
            self.described = self.part.describe(parameters)?;
        }
        Ok(self.described)
    }
}

impl Part {
    pub(crate) fn describe(&mut self, parameters: &Parameters<'_>) -> Result<Option<ColumnType>> {
        Ok(match self {
            Part::Parameter(number) => parameters.known(*number),
            Part::Opaque(known) => *known,
            Part::Arithmetic { operator, parts, in_dialect_1 } => {
                let [left, right] = parts.as_mut();
                let (left, right) = (left.describe(parameters)?, right.describe(parameters)?);
                match in_dialect_1 {
                    true => arithmetic_type_in_dialect_1(*operator, left, right)?,
                    false => arithmetic_type(*operator, left, right)?,
                }
            }
            Part::Negate(operand) => match operand.describe(parameters)? {
                Some(known) => {
                    Some(ColumnType { sql_type: arithmetic::negated_type(&known.sql_type)?, ..known })
                }
                None => return Err(refused(isc::DSQL_INVALID_TYPE_NEG)),
            },
            Part::Concatenate(parts) => {
                let [left, right] = parts.as_mut();
                concatenation_type(left.describe(parameters)?, right.describe(parameters)?)?
            }
            Part::Transparent(function, parts, constants) => {
                transparent_type(function.0, &described(parts, parameters)?, constants)?
            }
            Part::SubstringSimilar(parts) => {
                let [operand, ..] = parts.as_mut();
                let known = operand.describe(parameters)?.unwrap_or(empty_text(CharacterSet::ASCII));
                Some(ColumnType { nullable: true, ..known })
            }
            Part::AtTimeZone(parts) => at_time_zone_type(&described(parts, parameters)?)?,
            Part::Sequence(_, known) => Some(*known),
            Part::Choice(parts) => from_list(&described(parts.as_mut_slice(), parameters)?, "CASE")?,
            Part::Decode(decode) => from_list(&described(&mut decode.values, parameters)?, decode.label)?
                .map(|known| ColumnType { nullable: true, ..known }),
        })
    }
}

impl Decode {
    pub(crate) fn tell(&mut self, parameters: &mut Parameters<'_>, wanted: Option<ColumnType>) -> Result<()> {
        if self.compared.iter().any(Shape::is_parameter) {
            let common = from_list(&described(&mut self.compared, parameters)?, self.label)?;
            if common.is_some() {
                self.compared.iter_mut().try_for_each(|part| part.tell(parameters, common, false))?;
            }
        }
        self.values.iter_mut().try_for_each(|value| value.tell(parameters, wanted, false))
    }
}

pub(crate) fn described(parts: &mut [Shape], parameters: &Parameters<'_>) -> Result<Vec<Option<ColumnType>>> {
    parts.iter_mut().map(|part| part.describe(parameters)).collect()
}

/// The parameters of a statement, with what telling one a type needs.
pub(crate) struct Parameters<'a> {
    pub(crate) types: &'a mut Vec<ParameterType>,
    /// The attachment's: that of texts about which nothing else is known.
    pub(crate) character_set: CharacterSet,
}

impl Parameters<'_> {
    pub(crate) fn known(&self, number: usize) -> Option<ColumnType> {
        self.types.get(number).and_then(|parameter| parameter.known)
    }

    pub(crate) fn tell(&mut self, number: usize, wanted: Option<ColumnType>, as_text: bool) -> Result<()> {
        let wanted = if as_text { Some(self.as_text(wanted)) } else { wanted };
        let Some(parameter) = self.types.get_mut(number) else { return Ok(()) };
        parameter.known = if parameter.told { from_list(&[parameter.known, wanted], "")? } else { wanted };
        parameter.told = true;
        Ok(())
    }

    pub(crate) fn as_text(&self, wanted: Option<ColumnType>) -> ColumnType {
        match wanted {
            Some(ColumnType { sql_type: SqlType::Text(text), nullable }) => {
                ColumnType { sql_type: SqlType::Text(TextType { varying: true, ..text }), nullable }
            }
            Some(known @ ColumnType { sql_type: SqlType::Blob { .. }, .. }) => known,
            other => ColumnType {
                sql_type: SqlType::varchar(PATTERN_CHARS, self.character_set),
                nullable: other.is_some_and(|known| known.nullable),
            },
        }
    }
}

/// The common type of several values; unknown ones and NULLs only make it nullable.
pub(crate) fn from_list(types: &[Option<ColumnType>], expression: &str) -> Result<Option<ColumnType>> {
    let nullable =
        types.iter().any(|known| known.is_none_or(|known| known.nullable || known.sql_type == SqlType::Null));
    let known: Vec<SqlType> = types.iter().flatten().map(|known| known.sql_type).collect();
    let sql_type = arithmetic::common_type_in(&known, expression)?;
    // Of NULLs alone it is NULL; beside an unknown value they tell nothing.
    if sql_type == SqlType::Null && known.len() < types.len() {
        return Ok(None);
    }
    Ok(Some(ColumnType { sql_type, nullable }))
}

pub(crate) fn arithmetic_type(
    operator: ArithmeticOperator,
    left: Option<ColumnType>,
    right: Option<ColumnType>,
) -> Result<Option<ColumnType>> {
    let (sql_type, nullable) = match (left, right) {
        (Some(left), Some(right)) => (
            arithmetic::result_type(operator, &left.sql_type, &right.sql_type)?,
            left.nullable || right.nullable,
        ),
        (Some(known), None) | (None, Some(known)) => {
            (beside_unknown(operator, &known.sql_type)?, known.nullable)
        }
        (None, None) => return Err(refused(invalid_type(operator))),
    };
    Ok(Some(ColumnType { sql_type, nullable }))
}

/// As [`arithmetic_type`], in dialect 1: beside an unknown type a value keeps its own, and nothing is multiplied by one.
pub(crate) fn arithmetic_type_in_dialect_1(
    operator: ArithmeticOperator,
    left: Option<ColumnType>,
    right: Option<ColumnType>,
) -> Result<Option<ColumnType>> {
    if operator == ArithmeticOperator::Multiply && (left.is_none() || right.is_none()) {
        return Err(refused(isc::DSQL_INVALID_TYPE_MULTIP_DIAL1));
    }
    if left.is_none() && right.is_none() {
        return Err(refused(invalid_type(operator)));
    }
    let unknown = ColumnType { sql_type: SqlType::Null, nullable: false };
    let (left, right) = (left.unwrap_or(unknown), right.unwrap_or(unknown));
    let sql_type = arithmetic::result_type_in_dialect_1(operator, &left.sql_type, &right.sql_type)?;
    Ok(Some(ColumnType { sql_type, nullable: left.nullable || right.nullable }))
}

/// The type of an arithmetic expression that has an unknown type on one side.
pub(crate) fn beside_unknown(operator: ArithmeticOperator, known: &SqlType) -> Result<SqlType> {
    use ArithmeticOperator::{Add, Divide, Multiply, Subtract};
    match known {
        SqlType::Text(_) => Err(refused(match operator {
            Add | Subtract => isc::DSQL_NOSTRING_ADDSUB_DIAL3,
            Multiply => isc::DSQL_NOSTRING_MULTIP_DIAL3,
            Divide => isc::DSQL_NOSTRING_DIV_DIAL3,
        })),
        SqlType::Blob { .. } | SqlType::Array => {
            Err(Error::new(isc::DSQL_ERROR).and(isc::SQLERR).with(-607).and(isc::DSQL_NO_BLOB_ARRAY))
        }
        _ if matches!(operator, Multiply | Divide) => Err(refused(invalid_type(operator))),
        SqlType::Date | SqlType::Time | SqlType::Timestamp | SqlType::TimeTz | SqlType::TimestampTz => {
            Err(refused(match operator {
                Subtract => isc::DSQL_INVALID_DATETIME_SUBTRACT,
                _ => isc::DSQL_INVALID_DATEORTIME_ADD,
            }))
        }
        SqlType::Exact { width: ExactWidth::Short | ExactWidth::Long, scale, .. } => {
            // An unknown type has no digits behind the point.
            Ok(SqlType::Exact {
                width: ExactWidth::Int64,
                scale: (*scale).min(0),
                subtype: exact_subtype(known),
            })
        }
        SqlType::Exact { width: ExactWidth::Int64, .. } | SqlType::Float | SqlType::Double => {
            Ok(SqlType::Double)
        }
        SqlType::Exact { width: ExactWidth::Int128, .. } | SqlType::DecFloat16 | SqlType::DecFloat34 => {
            Ok(SqlType::DecFloat34)
        }
        SqlType::Null | SqlType::Boolean => Err(refused(invalid_type(operator))),
    }
}

pub(crate) fn exact_subtype(sql_type: &SqlType) -> ExactSubtype {
    match sql_type {
        SqlType::Exact { subtype, .. } => *subtype,
        _ => ExactSubtype::Integer,
    }
}

pub(crate) fn invalid_type(operator: ArithmeticOperator) -> u32 {
    match operator {
        ArithmeticOperator::Add | ArithmeticOperator::Subtract => isc::DSQL_INVALID_TYPE_ADDSUB_DIAL3,
        ArithmeticOperator::Multiply => isc::DSQL_INVALID_TYPE_MULTIP_DIAL3,
        ArithmeticOperator::Divide => isc::DSQL_INVALID_TYPE_DIV_DIAL3,
    }
}

/// The error of an operator that does not take a type.
pub(crate) fn refused(rule: u32) -> Error {
    Error::new(isc::DSQL_ERROR).and(isc::EXPRESSION_EVAL_ERR).and(rule)
}

/// An unknown side of `||` counts as an empty text without a character set.
pub(crate) fn concatenation_type(
    left: Option<ColumnType>,
    right: Option<ColumnType>,
) -> Result<Option<ColumnType>> {
    let [left, right] = [left, right].map(|known| known.unwrap_or(empty_text(CharacterSet::NONE)));
    let sql_type = arithmetic::concatenated_type(&left.sql_type, &right.sql_type)?;
    Ok(Some(ColumnType { sql_type, nullable: left.nullable || right.nullable }))
}

pub(crate) fn empty_text(character_set: CharacterSet) -> ColumnType {
    ColumnType { sql_type: SqlType::varchar(0, character_set), nullable: false }
}

/// Whether what a call is told reaches all of its arguments.
pub(crate) fn is_transparent(function: &ScalarFunction) -> bool {
    matches!(function.name, "UPPER" | "LOWER" | "TRIM" | "SUBSTRING" | "EXTRACT")
}

/// UPPER and LOWER of something unknown are unknown; TRIM and SUBSTRING of it are empty texts.
pub(crate) fn transparent_type(
    function: &'static ScalarFunction,
    types: &[Option<ColumnType>],
    constants: &[Option<Value>],
) -> Result<Option<ColumnType>> {
    let place = usize::from(matches!(function.name, "TRIM" | "EXTRACT"));
    let unknown_text = match function.name {
        "TRIM" => empty_text(CharacterSet::NONE),
        "SUBSTRING" => empty_text(CharacterSet::ASCII),
        "EXTRACT" => ColumnType { sql_type: SqlType::Null, nullable: true },
        _ if types.get(place).is_some_and(Option::is_none) => return Ok(None),
        _ => empty_text(CharacterSet::NONE),
    };
    let integer = ColumnType { sql_type: SqlType::INTEGER, nullable: false };
    let arguments: Vec<Argument<'_>> = types
        .iter()
        .zip(constants)
        .enumerate()
        .map(|(other, (known, constant))| Argument {
            column_type: known.unwrap_or(if other == place { unknown_text } else { integer }),
            constant: constant.as_ref(),
        })
        .collect();
    (function.result)(function.name, &arguments).map(Some)
}

pub(crate) fn at_time_zone_type(types: &[Option<ColumnType>]) -> Result<Option<ColumnType>> {
    let nullable = types.iter().flatten().any(|known| known.nullable);
    let sql_type = match types.first().copied().flatten().map(|operand| operand.sql_type) {
        Some(SqlType::Time | SqlType::TimeTz) => SqlType::TimeTz,
        Some(SqlType::Timestamp | SqlType::TimestampTz) => SqlType::TimestampTz,
        _ => return Err(Error::new(isc::DSQL_ERROR).and(isc::EXPRESSION_EVAL_ERR)),
    };
    Ok(Some(ColumnType { sql_type, nullable }))
}

/// What a parameter that names a time zone is.
pub(crate) fn zone_name() -> ColumnType {
    let text = TextType {
        varying: false,
        length_chars: ZONE_CHARS,
        character_set: CharacterSet::ASCII,
        collation: Collation(0),
    };
    ColumnType { sql_type: SqlType::Text(text), nullable: true }
}
