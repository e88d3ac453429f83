//! Calls of functions and procedures.

use std::sync::Arc;

use farbird_catalog::{LibraryFunction, Mechanism, ObjectKind, Routine, RoutineEngine, SystemPrivilege};
use farbird_expression::{Expression, FunctionReference};
use farbird_function::call::{CallArgument, keyword_call};
use farbird_function::library::lookup as lookup_library;
use farbird_function::{Argument, ScalarFunction, Signature, lookup_scalar};
use farbird_sql::ast::{self, ExpressionKind};
use farbird_types::{ColumnType, Error, Result, SqlType, Value, isc};

use crate::bind::array::unless_array;
use crate::bind::binder::{Binder, Bound};
use crate::bind::error::{dsql, invalid_blr, sqlcode, unsupported};
use crate::bind::prepared::LocalFunction;
use crate::bind::unifying::{null_value, unified};

/// Most arguments of a built-in function.
const ARGUMENTS_MAX: usize = 255;

impl Binder<'_> {
    /// Binds a call with plain arguments.
    pub(crate) fn bind_function_call(&mut self, call: &ast::FunctionCall) -> Result<Bound> {
        let name = call.name.name.as_str();
        if call.name.package.is_none() {
            match name {
                "COALESCE" => return self.bind_coalesce(&call.arguments),
                "IIF" => return self.bind_iif(&call.arguments),
                "DECODE" => return self.bind_decode(&call.arguments),
                "NULLIF" => return self.bind_nullif(&call.arguments),
                _ => {}
            }
            if !self.inside_definition
                && let Some(local) = self.variables.local_function(name)
            {
                return self.bind_local_function(&local, name, &call.arguments);
            }
        }
        let package = call.name.package.as_ref().map(ast::Name::as_str);
        let catalog = Arc::clone(&self.environment.catalog);
        if package.is_none()
            && let Some(function) = self.function_of_system_package(name)
        {
            let arguments = self.bind_all(&call.arguments)?;
            return self.scalar_call(function, arguments);
        }
        let found = catalog.function_named(package, name, self.package())?;
        // Of an external function and a built-in one of the same name the latter is called.
        let is_hidden = |function: &Routine| {
            matches!(function.engine, RoutineEngine::Library(_)) && lookup_scalar(name).is_some()
        };
        if let Some(function) = found.filter(|function| !is_hidden(function)) {
            self.call_access(ObjectKind::Function, function);
            return self.bind_stored_function(function, &call.arguments);
        }
        if call.name.package.is_none()
            && let Some(function) = lookup_scalar(name)
        {
            let arguments = self.bind_all(&call.arguments)?;
            return self.scalar_call(function, arguments);
        }
        Err(dsql(sqlcode::VALUES).and(isc::DSQL_FUNCTION_ERR).and(isc::RANDOM).with(call.name.to_string()))
    }

    /// What a system package is made of, by its name in the package: only its own routines can call that.
    fn function_of_system_package(&self, name: &str) -> Option<&'static ScalarFunction> {
        let own = self.package()?;
        self.environment.catalog.packages.get(own).filter(|package| package.is_system())?;
        lookup_scalar(&format!("{own}.{name}"))
    }

    /// RDB$SYSTEM_PRIVILEGE: its argument is a word.
    pub(crate) fn bind_system_privilege(&mut self, name: &ast::Name) -> Result<Bound> {
        if SystemPrivilege::named(name.as_str()).is_none() {
            return Err(Error::new(isc::WRONG_PRVLG).with(name.as_str()));
        }
        let Some(function) = lookup_scalar("RDB$SYSTEM_PRIVILEGE") else {
            return Err(unsupported("the function"));
        };
        let name = farbird_types::Value::text(name.as_str());
        let sql_type = constant_type(&name);
        self.scalar_call(function, vec![Bound::new(Expression::Constant(name), sql_type, false)])
    }

    /// Binds a call with keywords.
    pub(crate) fn bind_keyword_call(&mut self, kind: &ExpressionKind) -> Result<Bound> {
        let Some((function, arguments)) = keyword_call(kind) else { return Err(unsupported("the function")) };
        let arguments = arguments
            .into_iter()
            .map(|argument| match argument {
                CallArgument::Constant(value) => {
                    let sql_type = constant_type(&value);
                    Ok(Bound::new(Expression::Constant(value), sql_type, false))
                }
                CallArgument::Expression(value) => self.bind_value(value),
            })
            .collect::<Result<Vec<_>>>()?;
        self.scalar_call(function, arguments)
    }

    /// A call of a built-in function.
    fn scalar_call(&mut self, function: &'static ScalarFunction, arguments: Vec<Bound>) -> Result<Bound> {
        if arguments.len() > ARGUMENTS_MAX {
            let most = i32::try_from(ARGUMENTS_MAX).unwrap_or(i32::MAX);
            return Err(Error::new(isc::MAX_ARGS_EXCEEDED).with(most).with(function.name));
        }
        let mut arguments: Vec<Bound> = arguments.into_iter().map(unless_array).collect();
        let shape = self.call_shape(function, &mut arguments)?;
        let signature = match function.bind(&describe(&arguments)) {
            Ok(signature) => signature,
            // For want of a parameter's type: the next binding knows it.
            Err(_) if shape.is_some() => Signature {
                arguments: arguments.iter().map(|argument| argument.column_type).collect(),
                result: ColumnType { sql_type: SqlType::Null, nullable: true },
            },
            Err(error) => return Err(error),
        };
        let column_type = signature.result;
        if !function.deterministic {
            self.block().volatile = true;
        }
        let expression = Expression::Function {
            function: FunctionReference(function),
            arguments: arguments.into_iter().map(|argument| argument.expression).collect(),
            signature: Box::new(signature),
        };
        Ok(Bound { shape, ..Bound::new(expression, column_type.sql_type, column_type.nullable) })
    }

    fn bind_all(&mut self, arguments: &[ast::Expression]) -> Result<Vec<Bound>> {
        arguments.iter().map(|argument| self.bind_value(argument)).collect()
    }

    fn bind_coalesce(&mut self, arguments: &[ast::Expression]) -> Result<Bound> {
        if arguments.len() < 2 {
            return Err(Error::new(isc::FUNMISMAT).with("COALESCE"));
        }
        let mut arguments = self.bind_all(arguments)?;
        let shape = self.coalesce_shape(&mut arguments)?;
        let (values, column_type) = unified(arguments, &shape, "COALESCE")?;
        let expression = Expression::Coalesce(values);
        Ok(Bound { shape, ..Bound::new(expression, column_type.sql_type, column_type.nullable) })
    }

    fn bind_iif(&mut self, arguments: &[ast::Expression]) -> Result<Bound> {
        let [condition, then, otherwise] = arguments else {
            return Err(Error::new(isc::FUNMISMAT).with("IIF"));
        };
        let condition = Bound::new(self.bind_condition(condition)?, SqlType::Boolean, true);
        let values = vec![self.bind_value(then)?, self.bind_value(otherwise)?];
        self.searched_case(vec![condition], values)
    }

    fn bind_decode(&mut self, arguments: &[ast::Expression]) -> Result<Bound> {
        let Some((operand, pairs)) = arguments.split_first() else {
            return Err(Error::new(isc::FUNMISMAT).with("DECODE"));
        };
        if pairs.len() < 2 {
            return Err(Error::new(isc::FUNMISMAT).with("DECODE"));
        }
        let operand = self.bind_value(operand)?;
        let mut whens = Vec::new();
        let mut thens = Vec::new();
        let mut otherwise = null_value();
        for pair in pairs.chunks(2) {
            match pair {
                [when, then] => {
                    whens.push(self.bind_value(when)?);
                    thens.push(self.bind_value(then)?);
                }
                [last] => otherwise = self.bind_value(last)?,
                _ => {}
            }
        }
        thens.push(otherwise);
        self.simple_case(operand, whens, thens, "DECODE")
    }

    fn bind_nullif(&mut self, arguments: &[ast::Expression]) -> Result<Bound> {
        let [value, other] = arguments else { return Err(Error::new(isc::FUNMISMAT).with("NULLIF")) };
        let value = self.bind_value(value)?;
        let other = self.bind_value(other)?;
        let condition = self.compare(ast::ComparisonOperator::Equal, value.clone(), other)?;
        let mut bound = self
            .searched_case(vec![Bound::new(condition, SqlType::Boolean, true)], vec![null_value(), value])?;
        bound.column_type.nullable = true;
        Ok(bound)
    }

    fn bind_stored_function(
        &mut self,
        function: &Arc<Routine>,
        arguments: &[ast::Expression],
    ) -> Result<Bound> {
        let mismatch = || Error::new(isc::DSQL_ERROR).and(isc::FUN_PARAM_MISMATCH).with(function.full_name());
        let required = function.inputs.iter().take_while(|input| input.default_source.is_none()).count();
        if arguments.len() < required || arguments.len() > function.inputs.len() {
            return Err(mismatch());
        }
        let arguments = match &function.engine {
            RoutineEngine::Library(library) => self.bind_library_arguments(function, library, arguments)?,
            _ => self.bind_routine_arguments(function, arguments, false)?,
        };
        let result = function.outputs.first().ok_or_else(mismatch)?;
        if !function.deterministic {
            self.block().volatile = true;
        }
        let expression = Expression::Routine { routine: function.clone(), arguments };
        // Described so by Firebird whatever its type: NOT NULL is looked at when it returns.
        Ok(Bound::new(expression, result.sql_type, true))
    }

    /// Arguments of an external function, as they are written: whoever calls it passes them as declared.
    fn bind_library_arguments(
        &mut self,
        function: &Routine,
        library: &LibraryFunction,
        arguments: &[ast::Expression],
    ) -> Result<Vec<Expression>> {
        let entry = lookup_library(&library.module, &library.entry_point);
        if entry.is_none_or(|entry| entry.arguments != arguments.len()) {
            let error = invalid_blr().and(isc::FUNNOTDEF).with(function.name.as_str());
            return Err(error.and(isc::MODNOTFOUND));
        }
        let mut bound = Vec::with_capacity(arguments.len());
        for (argument, input) in arguments.iter().zip(library.inputs()) {
            let nullable = matches!(input.mechanism, Mechanism::Descriptor | Mechanism::ReferenceWithNull);
            let mut value = self.bind_value(argument)?;
            self.tell(&mut value, Some(ColumnType { sql_type: input.sql_type, nullable }))?;
            bound.push(unless_array(value).expression);
        }
        Ok(bound)
    }

    fn bind_local_function(
        &mut self,
        function: &LocalFunction,
        name: &str,
        arguments: &[ast::Expression],
    ) -> Result<Bound> {
        if arguments.len() < function.required || arguments.len() > function.parameters.len() {
            return Err(Error::new(isc::DSQL_ERROR).and(isc::FUN_PARAM_MISMATCH).with(name));
        }
        let arguments = arguments
            .iter()
            .zip(&function.parameters)
            .map(|(argument, parameter)| {
                self.bind_value_for(argument, ColumnType { sql_type: *parameter, nullable: false })
            })
            .collect::<Result<Vec<_>>>()?;
        self.block().volatile = true;
        self.calls_local_routines = true;
        let expression = Expression::LocalRoutine { number: function.number, arguments };
        Ok(Bound::new(expression, function.result.sql_type, function.result.nullable))
    }

    /// Inputs of a stored routine, converted to the types of its parameters; defaults for those that are missing.
    /// `nullable`: what parameters of the statement are told of NULL.
    pub(crate) fn bind_routine_arguments(
        &mut self,
        routine: &Arc<Routine>,
        arguments: &[ast::Expression],
        nullable: bool,
    ) -> Result<Vec<Expression>> {
        let mismatch = || Error::new(isc::DSQL_ERROR).and(isc::PRCMISMAT).with(routine.full_name());
        if arguments.len() > routine.inputs.len() {
            return Err(mismatch());
        }
        let mut bound = Vec::with_capacity(routine.inputs.len());
        for (place, input) in routine.inputs.iter().enumerate() {
            let target = ColumnType { sql_type: input.sql_type, nullable };
            let value = match (arguments.get(place), &input.default_source) {
                (Some(argument), _) => self.bind_value_for(argument, target)?,
                (None, Some(source)) => {
                    let default = parse_default_source(source, &self.parse_options())?;
                    let inside = std::mem::replace(&mut self.inside_definition, true);
                    let value = self.bind_value_for(&default, target);
                    self.inside_definition = inside;
                    value?
                }
                (None, None) => return Err(mismatch()),
            };
            bound.push(value);
        }
        Ok(bound)
    }

    /// The arguments that a call gives to a local routine.
    pub(crate) fn bind_given_arguments(
        &mut self,
        routine: &Arc<Routine>,
        arguments: &[ast::Expression],
    ) -> Result<Vec<Expression>> {
        let required = routine.inputs.iter().filter(|input| input.default_source.is_none()).count();
        if arguments.len() > routine.inputs.len() || arguments.len() < required {
            return Err(Error::new(isc::DSQL_ERROR).and(isc::PRCMISMAT).with(routine.name.as_str()));
        }
        let inputs = arguments.iter().zip(&routine.inputs);
        inputs
            .map(|(argument, input)| {
                let target = ColumnType { sql_type: input.sql_type, nullable: true };
                self.bind_value_for(argument, target)
            })
            .collect()
    }
}

/// A default as the catalog keeps it: with or without the word DEFAULT.
pub(crate) fn parse_default_source(
    source: &str,
    options: &farbird_sql::ParseOptions,
) -> Result<ast::Expression> {
    match farbird_sql::parse_expression(source, options) {
        Ok(expression) => Ok(expression),
        Err(_) => Ok(farbird_sql::parse_default(source, options)?.value),
    }
}

fn describe(arguments: &[Bound]) -> Vec<Argument<'_>> {
    arguments
        .iter()
        .map(|argument| Argument {
            column_type: argument.column_type,
            constant: match &argument.expression {
                Expression::Constant(value) => Some(value),
                _ => None,
            },
        })
        .collect()
}

/// The type of a constant that stands for a keyword.
fn constant_type(value: &Value) -> SqlType {
    match value {
        Value::Integer { .. } => SqlType::INTEGER,
        Value::Boolean(_) => SqlType::Boolean,
        Value::Text(text) => {
            let length = u32::try_from(text.char_length()).unwrap_or(u32::MAX);
            SqlType::varchar(length, text.character_set())
        }
        _ => SqlType::Null,
    }
}
