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

use farbird_expression::{Expression, FunctionReference};
use farbird_function::{Argument, ScalarFunction};
use farbird_session::ColumnDescription;
use farbird_sql::ast;
use farbird_types::arithmetic::ArithmeticOperator;
use farbird_types::{ColumnType, Error, Result, SqlType, Value, isc};

use crate::bind::binder::{Binder, Bound, unknown_type};
use crate::bind::prepared::VariableScope;
use crate::bound::environment::Environment;
use crate::bound::query::OutputColumn;
use crate::bound::shape::{
    Decode, ParameterType, Parameters, Part, Shape, from_list, is_transparent, zone_name,
};

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
pub fn parameters_of_argument(
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
        let in_dialect_1 = self.is_in_dialect_1();
        self.shaped(&[left, right], |shapes| {
            pair(shapes, |parts| Part::Arithmetic { operator, parts, in_dialect_1 })
        })
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
        let mut described: Vec<ColumnDescription> = types
            .into_iter()
            .map(|column_type| ColumnDescription {
                column_type,
                field: String::new(),
                relation: String::new(),
                relation_alias: String::new(),
                owner: String::new(),
                alias: String::new(),
            })
            .collect();
        for (number, column) in &self.array_parameters {
            let place = usize::try_from(*number).ok().and_then(|number| described.get_mut(number));
            if let Some(parameter) = place {
                parameter.field.clone_from(&column.field);
                parameter.relation.clone_from(&column.relation);
                parameter.owner.clone_from(&column.owner);
            }
        }
        Ok(described)
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
