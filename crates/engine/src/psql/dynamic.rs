//! EXECUTE STATEMENT: text that is parsed, bound and run while the routine runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use farbird_sql::ast::{self, StatementKind, StatementTransaction};
use farbird_types::{ColumnType, Error, Result, SqlType, Value, isc};

use crate::bind::{self, Action, Environment, Variable, VariableScope};
use crate::ddl;
use crate::execute::context::ExecutionContext;
use crate::execute::{Cursor, modify};
use crate::expression::blob;
use crate::psql::autonomous;
use crate::psql::compile::{CompiledStatement, compile_statement};
use crate::psql::execution::Execution;
use crate::psql::instruction::DynamicStatement;

/// The rows of an executed text.
pub(super) enum DynamicRows {
    Query(Box<Cursor>, usize),
    Routine(Box<Execution>),
    Rows(std::vec::IntoIter<Vec<Value>>),
}

impl DynamicRows {
    /// The next row's columns.
    pub(super) fn next(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>> {
        match self {
            DynamicRows::Query(cursor, width) => {
                let Some(mut row) = cursor.next_row(context)? else { return Ok(None) };
                row.truncate(*width);
                Ok(Some(row))
            }
            DynamicRows::Routine(execution) => execution.resume(context),
            DynamicRows::Rows(rows) => Ok(rows.next()),
        }
    }
}

/// The inputs that a text names by `:name`.
struct NamedInputs {
    names: BTreeMap<String, Variable>,
}

impl VariableScope for NamedInputs {
    fn variable(&self, qualifier: Option<&str>, name: &str) -> Option<Variable> {
        match qualifier {
            None => self.names.get(name).copied(),
            Some(_) => None,
        }
    }

    fn is_psql(&self) -> bool {
        false
    }
}

/// A text ready to run.
struct Parsed {
    sql: String,
    statement: ast::Statement,
    environment: Environment,
}

/// Runs EXECUTE STATEMENT without a loop; gives the one row of what has columns.
pub(super) fn execute(
    statement: &DynamicStatement,
    context: &mut ExecutionContext<'_>,
) -> Result<Option<Vec<Value>>> {
    let (parsed, inputs) = prepare(statement, context)?;
    if statement.transaction == Some(StatementTransaction::Autonomous) {
        let transaction = autonomous::begin(context)?;
        return autonomous::within(transaction, context, |inner| {
            singleton(statement, &parsed, inputs, inner)
        });
    }
    // Its own savepoint: what it did is undone also if the routine handles its error.
    let savepoint = context.transaction.store.savepoint();
    let result = singleton(statement, &parsed, inputs, context);
    match result {
        Ok(_) => context.transaction.store.release(savepoint),
        Err(_) => context.transaction.store.rollback_to(savepoint)?,
    }
    result
}

fn singleton(
    statement: &DynamicStatement,
    parsed: &Parsed,
    inputs: Inputs,
    context: &mut ExecutionContext<'_>,
) -> Result<Option<Vec<Value>>> {
    let (mut rows, columns) = run(parsed, inputs, context)?;
    if columns != statement.targets.len() && !statement.targets.is_empty() {
        return Err(Error::new(isc::EDS_OUTPUT_PRM_MISMATCH));
    }
    let row = rows.next(context)?;
    if row.is_some() && rows.next(context)?.is_some() {
        return Err(Error::new(isc::SING_SELECT_ERR));
    }
    Ok(row)
}

/// Opens FOR EXECUTE STATEMENT.
pub(super) fn open(statement: &DynamicStatement, context: &mut ExecutionContext<'_>) -> Result<DynamicRows> {
    let (parsed, inputs) = prepare(statement, context)?;
    let (rows, columns) = run(&parsed, inputs, context)?;
    if columns != statement.targets.len() {
        return Err(Error::new(isc::EDS_OUTPUT_PRM_MISMATCH));
    }
    Ok(rows)
}

/// The values of the inputs, by position or by name.
struct Inputs {
    values: Vec<Value>,
    names: Vec<Option<String>>,
    excess: Vec<bool>,
}

fn prepare(statement: &DynamicStatement, context: &mut ExecutionContext<'_>) -> Result<(Parsed, Inputs)> {
    if let Some(source) = &statement.data_source {
        let source = source.evaluate(context)?;
        if !source.is_null() && !blob::text_of(&source, context)?.bytes().is_empty() {
            return Err(Error::new(isc::WISH_LIST).and(isc::RANDOM).with("EXECUTE STATEMENT ON EXTERNAL"));
        }
    }
    let sql = match statement.sql.evaluate(context)? {
        Value::Null => return Err(Error::new(isc::EXEC_SQL_INVALID_ARG)),
        text => blob::text_of(&text, context)?.decode_lossy().into_owned(),
    };
    let mut inputs = Inputs { values: Vec::new(), names: Vec::new(), excess: Vec::new() };
    for parameter in &statement.parameters {
        inputs.values.push(parameter.value.evaluate(context)?);
        inputs.names.push(parameter.name.clone());
        inputs.excess.push(parameter.excess);
    }
    let catalog = context.transaction.current_catalog();
    let dialect = context.session.options.dialect;
    let options = farbird_sql::ParseOptions {
        dialect: if dialect == 1 { farbird_sql::Dialect::One } else { farbird_sql::Dialect::Three },
    };
    let parsed = farbird_sql::parse_statement(&sql, &options)?;
    let environment = Environment { catalog, character_set: context.session.options.character_set, dialect };
    Ok((Parsed { sql, statement: parsed, environment }, inputs))
}

/// Runs a text; gives its rows and how many columns they have.
fn run(parsed: &Parsed, inputs: Inputs, context: &mut ExecutionContext<'_>) -> Result<(DynamicRows, usize)> {
    let nothing = || DynamicRows::Rows(Vec::new().into_iter());
    match &parsed.statement.kind {
        StatementKind::Ddl(statement) => {
            ddl::execute(context, statement)?;
            Ok((nothing(), 0))
        }
        StatementKind::Transaction(_) | StatementKind::Session(_) => {
            Err(Error::new(isc::EXEC_SQL_INVALID_REQ).with(parsed.sql.clone()))
        }
        StatementKind::ExecuteBlock(_) | StatementKind::ExecuteProcedure(_) => {
            let compiled = compile_statement(&parsed.environment, &parsed.statement)?;
            run_routine(&compiled, inputs, context)
        }
        _ => run_plan(parsed, inputs, context),
    }
}

fn run_routine(
    compiled: &CompiledStatement,
    inputs: Inputs,
    context: &mut ExecutionContext<'_>,
) -> Result<(DynamicRows, usize)> {
    let description = &compiled.description;
    let types: Vec<ColumnType> =
        description.parameters.iter().map(|parameter| parameter.column_type).collect();
    let converted = positional(inputs.values, &types, context)?;
    let columns = description.columns.len();
    let mut execution = with_parameters(converted, context, |context| Execution::start(compiled, context))?;
    if description.has_cursor {
        return Ok((DynamicRows::Routine(Box::new(execution)), columns));
    }
    let row = execution.finish(context)?;
    let rows = if columns == 0 { Vec::new() } else { vec![row] };
    Ok((DynamicRows::Rows(rows.into_iter()), columns))
}

fn run_plan(
    parsed: &Parsed,
    inputs: Inputs,
    context: &mut ExecutionContext<'_>,
) -> Result<(DynamicRows, usize)> {
    let mut scope = NamedInputs { names: BTreeMap::new() };
    let named = inputs.names.iter().any(Option::is_some);
    for (slot, (name, value)) in inputs.names.iter().zip(&inputs.values).enumerate() {
        if let Some(name) = name {
            let column_type = ColumnType { sql_type: type_of(value), nullable: true };
            scope.names.insert(name.clone(), Variable { slot, column_type });
        }
    }
    let prepared = bind::bind_statement(&parsed.environment, &parsed.statement, &scope)?;
    let values = if named {
        inputs.values
    } else {
        let types: Vec<ColumnType> =
            prepared.parameters.iter().map(|parameter| parameter.column_type).collect();
        positional(inputs.values, &types, context)?
    };
    let columns = prepared.columns.len();
    match &prepared.action {
        Action::Select(plan) => {
            let cursor = with_parameters(values, context, |context| {
                context.view = context.transaction.store.view_again(&context.view)?;
                Cursor::open(&Arc::clone(plan), context)
            })?;
            Ok((DynamicRows::Query(Box::new(cursor), columns), columns))
        }
        Action::Modify(plan) => {
            let modified = with_parameters(values, context, |context| {
                context.view = context.transaction.store.view_again(&context.view)?;
                modify(plan, context)
            })?;
            context.routine.row_count = i64::try_from(modified.rows).unwrap_or(i64::MAX);
            Ok((DynamicRows::Rows(modified.returned.into_iter()), columns))
        }
    }
}

/// Runs with other parameters in the context than the routine's variables.
fn with_parameters<T>(
    values: Vec<Value>,
    context: &mut ExecutionContext<'_>,
    run: impl FnOnce(&mut ExecutionContext<'_>) -> Result<T>,
) -> Result<T> {
    let variables = std::mem::replace(&mut context.parameters, values);
    let result = run(context);
    context.parameters = variables;
    result
}

/// Inputs by position, converted to the types of the parameters.
fn positional(
    values: Vec<Value>,
    types: &[ColumnType],
    context: &mut ExecutionContext<'_>,
) -> Result<Vec<Value>> {
    if values.len() != types.len() {
        return Err(Error::new(isc::EDS_INPUT_PRM_MISMATCH));
    }
    values
        .into_iter()
        .zip(types)
        .map(|(value, column_type)| blob::cast_value(value, &column_type.sql_type, context))
        .collect()
}

/// A type that holds the value.
fn type_of(value: &Value) -> SqlType {
    match value {
        Value::Null => SqlType::Null,
        Value::Boolean(_) => SqlType::Boolean,
        Value::Integer { scale, .. } => SqlType::Exact {
            width: farbird_types::ExactWidth::Int64,
            scale: *scale,
            subtype: farbird_types::ExactSubtype::Integer,
        },
        Value::Int128 { scale, .. } => SqlType::Exact {
            width: farbird_types::ExactWidth::Int128,
            scale: *scale,
            subtype: farbird_types::ExactSubtype::Integer,
        },
        Value::Float(_) => SqlType::Float,
        Value::Double(_) => SqlType::Double,
        Value::DecFloat(_) => SqlType::DecFloat34,
        Value::Date(_) => SqlType::Date,
        Value::Time(_) => SqlType::Time,
        Value::Timestamp(_) => SqlType::Timestamp,
        Value::TimeTz(_) => SqlType::TimeTz,
        Value::TimestampTz(_) => SqlType::TimestampTz,
        Value::Text(text) => {
            let length = u32::try_from(text.char_length()).unwrap_or(u32::MAX).max(1);
            SqlType::varchar(length, text.character_set())
        }
        Value::Blob(_) => SqlType::BLOB_BINARY,
    }
}
