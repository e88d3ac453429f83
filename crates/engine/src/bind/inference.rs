//! Types of parameters: what stands around a `?` tells its type.
//!
//! The rules are Firebird 5's, where each node of an expression passes the type that it is told on to some of its parts
//! and keeps it from others, in the order in which nodes are bound. A value with parameters whose types are not known when
//! it is bound has a [`Shape`] beside its expression, from which its own type can be described as far as it is known and by
//! which types reach the parameters inside of it. When anything was built of such a parameter, the statement is bound a
//! second time with the types that were found ([`inferred`]): expressions keep the types of their parts.
//!
//! Parameters that are told types more than once have the one that can hold them all; a parameter that is told nothing, or
//! nothing but "unknown", is an error at the end of binding.
//!
//! Source: what Firebird 5.0.4 describes (`tests/data/parameters.tsv`), and its setParameterType and make functions.

use farbird_sql::ast;
use farbird_types::arithmetic::{self, ArithmeticOperator};
use farbird_types::{
    CharacterSet, Collation, ColumnType, Error, ExactSubtype, ExactWidth, Result, SqlType, TextType, Value,
    isc,
};

use crate::api::ColumnDescription;
use crate::bind::binder::{Binder, Bound, unknown_type};
use crate::bind::query::OutputColumn;
use crate::bind::{Environment, VariableScope};
use crate::expression::{Expression, FunctionReference};
use crate::function::{Argument, ScalarFunction};

/// Length of a parameter that is a pattern for something that is no text.
const PATTERN_CHARS: u32 = 30;

/// Longest name of a time zone.
const ZONE_CHARS: u32 = 32;

/// What is known of a parameter.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ParameterType {
    /// Its type; none if it is not known yet.
    known: Option<ColumnType>,
    /// Whether it has been told one, be it "unknown".
    told: bool,
}

/// How a value is made of parameters whose types are not known.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    part: Part,
    /// The value's type as it was described first: it stays so, whatever parameters are told later.
    described: Option<ColumnType>,
}

/// The kinds of nodes, by what they do with types.
#[derive(Debug, Clone)]
enum Part {
    /// A parameter.
    Parameter(usize),
    /// Something that passes no type on. Its own one, if that is known.
    Opaque(Option<ColumnType>),
    /// `+ - * /`
    Arithmetic(ArithmeticOperator, Box<[Shape; 2]>),
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
struct Decode {
    /// What is compared, then what it is compared with.
    compared: Vec<Shape>,
    /// The results.
    values: Vec<Shape>,
    /// What it is called in errors.
    label: &'static str,
}

impl Shape {
    fn new(part: Part) -> Shape {
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

    fn is_parameter(&self) -> bool {
        matches!(self.part, Part::Parameter(_))
    }

    /// Whether what the value is told reaches a parameter.
    fn listens(&self) -> bool {
        match &self.part {
            Part::Parameter(_) => true,
            Part::Opaque(_) => false,
            Part::Arithmetic(_, parts) | Part::Concatenate(parts) | Part::Choice(parts) => {
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
    fn tell(
        &mut self,
        parameters: &mut Parameters<'_>,
        wanted: Option<ColumnType>,
        as_text: bool,
    ) -> Result<()> {
        match &mut self.part {
            Part::Parameter(number) => parameters.tell(*number, wanted, as_text),
            Part::Opaque(_) => Ok(()),
            Part::Arithmetic(_, parts) | Part::Concatenate(parts) | Part::Choice(parts) => {
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
    fn describe(&mut self, parameters: &Parameters<'_>) -> Result<Option<ColumnType>> {
        if self.described.is_none() {
            self.described = self.part.describe(parameters)?;
        }
        Ok(self.described)
    }
}

impl Part {
    fn describe(&mut self, parameters: &Parameters<'_>) -> Result<Option<ColumnType>> {
        Ok(match self {
            Part::Parameter(number) => parameters.known(*number),
            Part::Opaque(known) => *known,
            Part::Arithmetic(operator, parts) => {
                let [left, right] = parts.as_mut();
                arithmetic_type(*operator, left.describe(parameters)?, right.describe(parameters)?)?
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
    fn tell(&mut self, parameters: &mut Parameters<'_>, wanted: Option<ColumnType>) -> Result<()> {
        if self.compared.iter().any(Shape::is_parameter) {
            let common = from_list(&described(&mut self.compared, parameters)?, self.label)?;
            if common.is_some() {
                self.compared.iter_mut().try_for_each(|part| part.tell(parameters, common, false))?;
            }
        }
        self.values.iter_mut().try_for_each(|value| value.tell(parameters, wanted, false))
    }
}

fn described(parts: &mut [Shape], parameters: &Parameters<'_>) -> Result<Vec<Option<ColumnType>>> {
    parts.iter_mut().map(|part| part.describe(parameters)).collect()
}

/// The parameters of a statement, with what telling one a type needs.
struct Parameters<'a> {
    types: &'a mut Vec<ParameterType>,
    /// The attachment's: that of texts about which nothing else is known.
    character_set: CharacterSet,
}

impl Parameters<'_> {
    fn known(&self, number: usize) -> Option<ColumnType> {
        self.types.get(number).and_then(|parameter| parameter.known)
    }

    fn tell(&mut self, number: usize, wanted: Option<ColumnType>, as_text: bool) -> Result<()> {
        let wanted = if as_text { Some(self.as_text(wanted)) } else { wanted };
        let Some(parameter) = self.types.get_mut(number) else { return Ok(()) };
        parameter.known = if parameter.told { from_list(&[parameter.known, wanted], "")? } else { wanted };
        parameter.told = true;
        Ok(())
    }

    fn as_text(&self, wanted: Option<ColumnType>) -> ColumnType {
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

/// Binds a statement; a second time if parameters stand inside of expressions that they gave their types to.
///
/// # Errors
/// Those of binding; `dsql_datatype_err` for a parameter whose type nothing tells.
pub(crate) fn inferred<'a, T>(
    environment: &'a Environment,
    variables: &'a dyn VariableScope,
    bind: impl Fn(&mut Binder<'a>) -> Result<T>,
) -> Result<T> {
    let mut first = Binder::new(environment, variables);
    let bound = bind(&mut first)?;
    if !first.has_shapes {
        return Ok(bound);
    }
    let mut second = Binder::new(environment, variables);
    second.given = first.parameters;
    bind(&mut second)
}

/// Finds the types of the parameters in an argument of EXECUTE PROCEDURE.
///
/// # Errors
/// Those of binding.
pub(crate) fn parameters_of_argument(
    environment: &Environment,
    argument: &ast::Expression,
    variables: &dyn VariableScope,
    target: ColumnType,
) -> Result<Vec<Option<ColumnType>>> {
    let mut binder = Binder::new(environment, variables);
    let mut bound = binder.bind_value(argument)?;
    binder.tell(&mut bound, Some(target))?;
    Ok(binder.parameters.iter().map(|parameter| parameter.known).collect())
}

impl Binder<'_> {
    /// A parameter of the statement.
    pub(crate) fn parameter(&mut self, number: u32) -> Bound {
        let number = number as usize;
        if self.parameters.len() <= number {
            self.parameters.resize(number + 1, ParameterType::default());
        }
        let given = self.given.get(number).and_then(|parameter| parameter.known);
        let given = given.or_else(|| self.variables.parameter_type(number));
        let expression = Expression::Parameter(number);
        if let (Some(given), Some(parameter)) = (given, self.parameters.get_mut(number)) {
            *parameter = ParameterType { known: Some(given), told: true };
            return Bound::new(expression, given.sql_type, given.nullable);
        }
        Bound {
            shape: Some(Box::new(Shape::parameter(number))),
            ..Bound::new(expression, SqlType::Null, true)
        }
    }

    /// Tells a value the type that it is to have, for the parameters in it whose types are not known.
    ///
    /// # Errors
    /// Types that do not go together, if it was told another one before.
    pub(crate) fn tell(&mut self, bound: &mut Bound, wanted: Option<ColumnType>) -> Result<()> {
        self.tell_value(bound, wanted, false)
    }

    fn tell_value(&mut self, bound: &mut Bound, wanted: Option<ColumnType>, as_text: bool) -> Result<()> {
        let Some(shape) = &mut bound.shape else { return Ok(()) };
        let mut parameters =
            Parameters { types: &mut self.parameters, character_set: self.environment.character_set };
        shape.tell(&mut parameters, wanted, as_text)?;
        if let Part::Parameter(number) = shape.part
            && let Some(known) = parameters.known(number)
        {
            bound.column_type = known;
        }
        Ok(())
    }

    /// Tells a value the type of another one.
    ///
    /// # Errors
    /// As [`Binder::tell`] and [`Binder::describe`].
    pub(crate) fn tell_type_of(&mut self, bound: &mut Bound, other: &mut Bound) -> Result<()> {
        self.tell_as(bound, other, false)
    }

    /// As [`Binder::tell_type_of`], where only texts can stand.
    ///
    /// # Errors
    /// As [`Binder::tell_type_of`].
    pub(crate) fn tell_text_of(&mut self, bound: &mut Bound, other: &mut Bound) -> Result<()> {
        self.tell_as(bound, other, true)
    }

    fn tell_as(&mut self, bound: &mut Bound, other: &mut Bound, as_text: bool) -> Result<()> {
        // A value without parameters to be told does not ask for the type: what is wrong with that one does not matter.
        let listens = bound.shape.as_deref().is_some_and(Shape::listens);
        let wanted = if listens { self.describe(other)? } else { None };
        self.tell_value(bound, wanted, as_text)
    }

    /// A value's type as far as it is known.
    ///
    /// # Errors
    /// Those of its operators.
    pub(crate) fn describe(&mut self, bound: &mut Bound) -> Result<Option<ColumnType>> {
        match &mut bound.shape {
            None => Ok(Some(bound.column_type)),
            Some(shape) => {
                let character_set = self.environment.character_set;
                shape.describe(&Parameters { types: &mut self.parameters, character_set })
            }
        }
    }

    /// Gives the columns of a query that nothing can tell anything any more the types that are known by now.
    ///
    /// # Errors
    /// As [`Binder::describe`].
    pub(crate) fn describe_items(&mut self, items: &mut [OutputColumn]) -> Result<()> {
        let character_set = self.environment.character_set;
        for item in items {
            let Some(shape) = &mut item.shape else { continue };
            if let Some(known) = shape.describe(&Parameters { types: &mut self.parameters, character_set })? {
                item.column_type = known;
            }
        }
        Ok(())
    }

    /// Gives a value that parameters are part of the type that is known by now.
    pub(crate) fn settle(&self, bound: &mut Bound) {
        let Some(shape) = &bound.shape else { return };
        // Of a copy: what the value is called now must not stick to it.
        let mut shape = shape.clone();
        let types = &mut self.parameters.clone();
        let parameters = Parameters { types, character_set: self.environment.character_set };
        if let Ok(Some(known)) = shape.describe(&parameters) {
            bound.column_type = known;
        }
    }

    /// Notes how a value is made of others, if one of them has a shape.
    fn shaped(&mut self, parts: &[&Bound], make: impl FnOnce(Vec<Shape>) -> Part) -> Option<Box<Shape>> {
        if parts.iter().all(|part| part.shape.is_none()) {
            return None;
        }
        self.has_shapes = true;
        let shapes = parts.iter().map(|part| shape_of(part)).collect();
        Some(Box::new(Shape::new(make(shapes))))
    }

    /// The shape of `left operator right`.
    pub(crate) fn arithmetic_shape(
        &mut self,
        operator: ArithmeticOperator,
        left: &Bound,
        right: &Bound,
    ) -> Option<Box<Shape>> {
        self.shaped(&[left, right], |shapes| pair(shapes, |pair| Part::Arithmetic(operator, pair)))
    }

    /// The shape of `-operand`.
    pub(crate) fn negation_shape(&mut self, operand: &Bound) -> Option<Box<Shape>> {
        self.shaped(&[operand], |mut shapes| match shapes.pop() {
            Some(operand) => Part::Negate(Box::new(operand)),
            None => Part::Opaque(None),
        })
    }

    /// The shape of `left || right`.
    pub(crate) fn concatenation_shape(&mut self, left: &Bound, right: &Bound) -> Option<Box<Shape>> {
        self.shaped(&[left, right], |shapes| pair(shapes, Part::Concatenate))
    }

    /// The shape of a GEN_ID by this step.
    pub(crate) fn sequence_shape(&mut self, step: &Bound, column_type: ColumnType) -> Option<Box<Shape>> {
        self.shaped(&[step], |mut shapes| match shapes.pop() {
            Some(step) => Part::Sequence(Box::new(step), column_type),
            None => Part::Opaque(None),
        })
    }

    /// Tells the parts of `operand AT TIME ZONE zone` their types; the shape of the whole.
    ///
    /// # Errors
    /// As [`Binder::tell`].
    pub(crate) fn at_time_zone_shape(
        &mut self,
        operand: &mut Bound,
        zone: Option<&mut Bound>,
    ) -> Result<Option<Box<Shape>>> {
        let null = ColumnType { sql_type: SqlType::Null, nullable: true };
        self.tell(operand, Some(null))?;
        Ok(match zone {
            Some(zone) => {
                self.tell(zone, Some(zone_name()))?;
                self.shaped(&[operand, zone], Part::AtTimeZone)
            }
            None => self.shaped(&[operand], Part::AtTimeZone),
        })
    }

    /// Tells operand, pattern and escape of a pattern predicate their types.
    ///
    /// # Errors
    /// As [`Binder::tell_type_of`].
    pub(crate) fn tell_pattern(
        &mut self,
        operand: &mut Bound,
        pattern: &mut Bound,
        escape: Option<&mut Bound>,
    ) -> Result<()> {
        self.tell_text_of(operand, pattern)?;
        self.tell_text_of(pattern, operand)?;
        match escape {
            Some(escape) => self.tell_text_of(escape, pattern),
            None => Ok(()),
        }
    }

    /// The shape of SUBSTRING ... SIMILAR.
    pub(crate) fn substring_similar_shape(
        &mut self,
        operand: &Bound,
        pattern: &Bound,
        escape: &Bound,
    ) -> Option<Box<Shape>> {
        self.shaped(&[operand, pattern, escape], |shapes| match <[Shape; 3]>::try_from(shapes) {
            Ok(parts) => Part::SubstringSimilar(Box::new(parts)),
            Err(_) => Part::Opaque(None),
        })
    }

    /// Tells the results of a searched CASE each other's types, from the last branch to the first; the shape of the whole.
    ///
    /// # Errors
    /// As [`Binder::tell_type_of`].
    pub(crate) fn choice_shape(&mut self, values: &mut [Bound]) -> Result<Option<Box<Shape>>> {
        if values.iter().all(|value| value.shape.is_none()) {
            return Ok(None);
        }
        self.has_shapes = true;
        let Some((last, before)) = values.split_last_mut() else { return Ok(None) };
        let mut rest = shape_of(last);
        for value in before.iter_mut().rev() {
            let mut then = shape_of(value);
            let character_set = self.environment.character_set;
            let mut parameters = Parameters { types: &mut self.parameters, character_set };
            if then.listens() {
                let wanted = rest.describe(&parameters)?;
                then.tell(&mut parameters, wanted, false)?;
            }
            if rest.listens() {
                let wanted = then.describe(&parameters)?;
                rest.tell(&mut parameters, wanted, false)?;
            }
            rest = Shape::new(Part::Choice(Box::new([then, rest])));
        }
        Ok(Some(Box::new(rest)))
    }

    /// Tells the parts of a simple CASE or DECODE their types; the shape of the whole.
    ///
    /// # Errors
    /// Results without a common type.
    pub(crate) fn decode_shape(
        &mut self,
        operand: &Bound,
        whens: &[Bound],
        values: &[Bound],
        label: &'static str,
    ) -> Result<Option<Box<Shape>>> {
        if [operand].into_iter().chain(whens).chain(values).all(|part| part.shape.is_none()) {
            return Ok(None);
        }
        self.has_shapes = true;
        let decode = Decode {
            compared: [operand].into_iter().chain(whens).map(shape_of).collect(),
            values: values.iter().map(shape_of).collect(),
            label,
        };
        let mut shape = Shape::new(Part::Decode(Box::new(decode)));
        let character_set = self.environment.character_set;
        let mut parameters = Parameters { types: &mut self.parameters, character_set };
        let own = shape.describe(&parameters)?;
        shape.tell(&mut parameters, own, false)?;
        Ok(Some(Box::new(shape)))
    }

    /// Tells the arguments of COALESCE their common type, which nothing outside can change; the shape of the whole.
    ///
    /// # Errors
    /// Arguments without a common type.
    pub(crate) fn coalesce_shape(&mut self, values: &mut [Bound]) -> Result<Option<Box<Shape>>> {
        if values.iter().all(|value| value.shape.is_none()) {
            return Ok(None);
        }
        self.has_shapes = true;
        let types = values.iter_mut().map(|value| self.describe(value)).collect::<Result<Vec<_>>>()?;
        let common = from_list(&types, "COALESCE")?;
        for value in values {
            self.tell(value, common)?;
        }
        Ok(Some(Box::new(Shape::new(Part::Opaque(common)))))
    }

    /// Tells the arguments of a built-in function their types; the shape of the call.
    ///
    /// # Errors
    /// Those of the arguments' operators.
    pub(crate) fn call_shape(
        &mut self,
        function: &'static ScalarFunction,
        arguments: &mut [Bound],
    ) -> Result<Option<Box<Shape>>> {
        if arguments.iter().all(|argument| argument.shape.is_none()) {
            return Ok(None);
        }
        self.has_shapes = true;
        if is_transparent(function) {
            if function.name == "EXTRACT"
                && let [_, operand] = &mut *arguments
                && self.describe(operand)?.is_none()
            {
                let error = Error::new(isc::DSQL_ERROR).and(isc::SQLERR).with(-105);
                return Err(error.and(isc::EXTRACT_INPUT_MISMATCH));
            }
            if function.name == "TRIM"
                && let [_, text, what] = &mut *arguments
            {
                self.tell_type_of(what, text)?;
            }
            let constants = arguments.iter().map(constant_of).collect();
            let shapes = arguments.iter().map(shape_of).collect();
            return Ok(Some(Box::new(Shape::new(Part::Transparent(
                FunctionReference(function),
                shapes,
                constants,
            )))));
        }
        let mut types = arguments
            .iter_mut()
            .map(|argument| self.describe(argument))
            .collect::<Result<Vec<Option<ColumnType>>>>()?;
        let constants: Vec<Option<Value>> = arguments.iter().map(constant_of).collect();
        for place in 0..types.len() {
            if types.get(place).is_some_and(Option::is_none) {
                let wanted = (function.parameter_type)(place, &as_arguments(&types, &constants));
                if let Some(known) = types.get_mut(place) {
                    *known = wanted;
                }
            }
        }
        // Each argument is told its own type: `1 + ?` is a BIGINT, and so is its parameter then.
        if !matches!(function.name, "CHAR_LENGTH" | "CHARACTER_LENGTH" | "OCTET_LENGTH" | "BIT_LENGTH") {
            for (argument, known) in arguments.iter_mut().zip(&types) {
                self.tell(argument, *known)?;
            }
        }
        let result = (function.result)(function.name, &as_arguments(&types, &constants)).ok();
        Ok(Some(Box::new(Shape::new(Part::Opaque(result)))))
    }

    /// Tells a parameter that is cast the type that it is cast to, whatever it was told before.
    pub(crate) fn tell_cast(&mut self, bound: &mut Bound, target: ColumnType) {
        let Some(shape) = &bound.shape else { return };
        if let Part::Parameter(number) = shape.part
            && let Some(parameter) = self.parameters.get_mut(number)
        {
            *parameter = ParameterType { known: Some(target), told: true };
            bound.column_type = target;
            bound.shape = None;
        }
    }

    /// The types of the first `count` parameters.
    ///
    /// # Errors
    /// `dsql_datatype_err` for one whose type nothing tells.
    pub(crate) fn parameter_types(&self, count: usize) -> Result<Vec<ColumnType>> {
        (0..count)
            .map(|number| {
                self.parameters.get(number).and_then(|parameter| parameter.known).ok_or_else(unknown_type)
            })
            .collect()
    }

    /// The statement's parameters as prepare describes them. `count` is how many the text has.
    ///
    /// # Errors
    /// As [`Binder::parameter_types`].
    pub(crate) fn described_parameters(&self, count: usize) -> Result<Vec<ColumnDescription>> {
        let types = self.parameter_types(count)?;
        let described = types.into_iter().map(|column_type| ColumnDescription {
            column_type,
            field: String::new(),
            relation: String::new(),
            relation_alias: String::new(),
            owner: String::new(),
            alias: String::new(),
        });
        Ok(described.collect())
    }
}

fn shape_of(bound: &Bound) -> Shape {
    match &bound.shape {
        Some(shape) => (**shape).clone(),
        None => Shape::new(Part::Opaque(Some(bound.column_type))),
    }
}

fn constant_of(bound: &Bound) -> Option<Value> {
    match &bound.expression {
        Expression::Constant(value) => Some(value.clone()),
        _ => None,
    }
}

/// What a function's rules look at; a type that is not known as that of NULL.
fn as_arguments<'a>(types: &[Option<ColumnType>], constants: &'a [Option<Value>]) -> Vec<Argument<'a>> {
    let unknown = ColumnType { sql_type: SqlType::Null, nullable: true };
    types
        .iter()
        .zip(constants)
        .map(|(known, constant)| Argument {
            column_type: known.unwrap_or(unknown),
            constant: constant.as_ref(),
        })
        .collect()
}

fn pair(shapes: Vec<Shape>, make: impl FnOnce(Box<[Shape; 2]>) -> Part) -> Part {
    match <[Shape; 2]>::try_from(shapes) {
        Ok(pair) => make(Box::new(pair)),
        Err(_) => Part::Opaque(None),
    }
}

/// The common type of several values; unknown ones and NULLs only make it nullable.
fn from_list(types: &[Option<ColumnType>], expression: &str) -> Result<Option<ColumnType>> {
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

fn arithmetic_type(
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

/// The type of an arithmetic expression that has an unknown type on one side.
fn beside_unknown(operator: ArithmeticOperator, known: &SqlType) -> Result<SqlType> {
    use ArithmeticOperator::{Add, Divide, Multiply, Subtract};
    match known {
        SqlType::Text(_) => Err(refused(match operator {
            Add | Subtract => isc::DSQL_NOSTRING_ADDSUB_DIAL3,
            Multiply => isc::DSQL_NOSTRING_MULTIP_DIAL3,
            Divide => isc::DSQL_NOSTRING_DIV_DIAL3,
        })),
        SqlType::Blob { .. } => {
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

fn exact_subtype(sql_type: &SqlType) -> ExactSubtype {
    match sql_type {
        SqlType::Exact { subtype, .. } => *subtype,
        _ => ExactSubtype::Integer,
    }
}

fn invalid_type(operator: ArithmeticOperator) -> u32 {
    match operator {
        ArithmeticOperator::Add | ArithmeticOperator::Subtract => isc::DSQL_INVALID_TYPE_ADDSUB_DIAL3,
        ArithmeticOperator::Multiply => isc::DSQL_INVALID_TYPE_MULTIP_DIAL3,
        ArithmeticOperator::Divide => isc::DSQL_INVALID_TYPE_DIV_DIAL3,
    }
}

/// The error of an operator that does not take a type.
fn refused(rule: u32) -> Error {
    Error::new(isc::DSQL_ERROR).and(isc::EXPRESSION_EVAL_ERR).and(rule)
}

/// An unknown side of `||` counts as an empty text without a character set.
fn concatenation_type(left: Option<ColumnType>, right: Option<ColumnType>) -> Result<Option<ColumnType>> {
    let [left, right] = [left, right].map(|known| known.unwrap_or(empty_text(CharacterSet::NONE)));
    let sql_type = arithmetic::concatenated_type(&left.sql_type, &right.sql_type)?;
    Ok(Some(ColumnType { sql_type, nullable: left.nullable || right.nullable }))
}

fn empty_text(character_set: CharacterSet) -> ColumnType {
    ColumnType { sql_type: SqlType::varchar(0, character_set), nullable: false }
}

/// Whether what a call is told reaches all of its arguments.
fn is_transparent(function: &ScalarFunction) -> bool {
    matches!(function.name, "UPPER" | "LOWER" | "TRIM" | "SUBSTRING" | "EXTRACT")
}

/// UPPER and LOWER of something unknown are unknown; TRIM and SUBSTRING of it are empty texts.
fn transparent_type(
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

fn at_time_zone_type(types: &[Option<ColumnType>]) -> Result<Option<ColumnType>> {
    let nullable = types.iter().flatten().any(|known| known.nullable);
    let sql_type = match types.first().copied().flatten().map(|operand| operand.sql_type) {
        Some(SqlType::Time | SqlType::TimeTz) => SqlType::TimeTz,
        Some(SqlType::Timestamp | SqlType::TimestampTz) => SqlType::TimestampTz,
        _ => return Err(Error::new(isc::DSQL_ERROR).and(isc::EXPRESSION_EVAL_ERR)),
    };
    Ok(Some(ColumnType { sql_type, nullable }))
}

/// What a parameter that names a time zone is.
fn zone_name() -> ColumnType {
    let text = TextType {
        varying: false,
        length_chars: ZONE_CHARS,
        character_set: CharacterSet::ASCII,
        collation: Collation(0),
    };
    ColumnType { sql_type: SqlType::Text(text), nullable: true }
}
