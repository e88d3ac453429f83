//! EXECUTE STATEMENT: text that is parsed, bound and run while the routine runs.

use std::sync::Arc;

use farbird_budget::{Reservation, prepared_bytes};
use farbird_execute::{Cursor, modify};
use farbird_expression::ExecutionContext;
use farbird_function::blob::{self, releasing};
use farbird_plan::bind::{self, Access, Action, Environment, NoVariables, Prepared};
use farbird_session::{ColumnDescription, clock};
use farbird_sql::ast::{self, StatementKind, StatementTransaction};
use farbird_types::{Error, Result, Value, isc};

use crate::autonomous_rows::AutonomousRows;
use crate::compile::{CompiledStatement, compile_statement};
use crate::dynamic_rows::{DynamicRows, RowSource, apart, at, check_columns};
use crate::execution::Execution;
use crate::routine::DynamicStatement;
use crate::trace::CallFrame;
use crate::watch::{Watch, WatchedBody, WatchedPlans, within};
use crate::{authority, autonomous, external, named_parameters, session_settings};

/// A text ready to run.
struct Parsed {
    /// What its trees and plans are charged to.
    _memory: Reservation,
    statement: ast::Statement,
    text: Arc<str>,
    environment: Environment,
}

/// Runs EXECUTE STATEMENT without a loop; gives the one row of what has columns.
fn execute(statement: &DynamicStatement, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>> {
    if let Some(target) = external::target(statement, context)? {
        let (sql, inputs) = text_and_inputs(statement, context)?;
        return external::singleton(statement, target, sql, inputs, context);
    }
    let (mut parsed, inputs) = prepare(statement, context)?;
    if statement.transaction == Some(StatementTransaction::Autonomous) {
        let transaction = autonomous::begin(context)?;
        parsed.environment.catalog = transaction.current_catalog();
        return apart(context, |context| {
            autonomous::within(transaction, context, |inner| singleton(statement, &parsed, inputs, inner))
        });
    }
    // Its own savepoint: what it did is undone also if the routine handles its error.
    let transaction = context.transaction;
    let savepoint = transaction.store.savepoint();
    let mark = transaction.catalog.lock().mark();
    let result = singleton(statement, &parsed, inputs, context);
    match result {
        Ok(_) => transaction.store.release(savepoint),
        Err(_) => {
            context.undo_to(savepoint)?;
            transaction.catalog.lock().restore(&mark);
        }
    }
    result
}

fn singleton(
    statement: &DynamicStatement,
    parsed: &Parsed,
    inputs: Vec<Value>,
    context: &mut ExecutionContext<'_>,
) -> Result<Option<Vec<Value>>> {
    let mut rows = run(statement, parsed, inputs, context)?;
    let row = rows.next(context)?;
    if row.is_some() && rows.next(context)?.is_some() {
        return Err(Error::new(isc::SING_SELECT_ERR));
    }
    Ok(row)
}

/// Opens FOR EXECUTE STATEMENT.
fn open(statement: &DynamicStatement, context: &mut ExecutionContext<'_>) -> Result<DynamicRows> {
    if let Some(target) = external::target(statement, context)? {
        let (sql, inputs) = text_and_inputs(statement, context)?;
        let rows = external::open(statement, target, sql, inputs, context)?;
        let source = RowSource::External(Box::new(rows));
        return Ok(DynamicRows {
            source,
            targets: statement.targets.len(),
            started: context.now,
            watch: None,
        });
    }
    let (mut parsed, inputs) = prepare(statement, context)?;
    if statement.transaction != Some(StatementTransaction::Autonomous) {
        return Ok(run(statement, &parsed, inputs, context)?.for_loop());
    }
    let transaction = autonomous::begin(context)?;
    parsed.environment.catalog = transaction.current_catalog();
    let rows = apart(context, |context| {
        AutonomousRows::start(transaction, context, |inner| {
            Ok(run(statement, &parsed, inputs, inner)?.for_loop())
        })
    })?;
    let source = RowSource::Apart(Box::new(rows));
    Ok(DynamicRows { source, targets: statement.targets.len(), started: context.now, watch: None })
}

/// Evaluates text and inputs; gives the inputs in the order of the text's parameters.
fn text_and_inputs(
    statement: &DynamicStatement,
    context: &mut ExecutionContext<'_>,
) -> Result<(String, Vec<Value>)> {
    let sql = match statement.sql.evaluate(context)? {
        Value::Null => String::new(),
        text => releasing(context, |context| Ok(blob::text_of(&text, context)?.decode_lossy().into_owned()))?,
    };
    // Without named inputs a name with a colon is one that nobody knows.
    let has_names = statement.parameters.iter().any(|parameter| parameter.name.is_some());
    let (sql, named) = if has_names { named_parameters::replaced(&sql) } else { (sql, Vec::new()) };
    let inputs = inputs(statement, &named, context)?;
    Ok((sql, inputs))
}

/// Evaluates text and inputs and parses the text.
fn prepare(statement: &DynamicStatement, context: &mut ExecutionContext<'_>) -> Result<(Parsed, Vec<Value>)> {
    let (sql, inputs) = text_and_inputs(statement, context)?;
    let catalog = context.transaction.current_catalog();
    let dialect = catalog.database.dialect;
    let options = farbird_sql::ParseOptions::of(farbird_sql::Dialect::numbered(dialect));
    let mut memory = context.budget.reserve();
    memory.grow(prepared_bytes(&sql))?;
    let parsed = farbird_sql::parse_statement(&sql, &options)?;
    let environment = Environment {
        catalog,
        character_set: context.session.options.character_set,
        dialect,
        first_rows: context.session.settings.lock().hurries_to_first_rows(),
        package: None,
    };
    Ok((Parsed { _memory: memory, statement: parsed, text: sql.into(), environment }, inputs))
}

/// The values of the inputs in the order in which the text asks for them.
fn inputs(
    statement: &DynamicStatement,
    named: &[String],
    context: &mut ExecutionContext<'_>,
) -> Result<Vec<Value>> {
    let mut values = Vec::with_capacity(statement.parameters.len());
    for parameter in &statement.parameters {
        let value = parameter.value.evaluate(context)?;
        let used = parameter.name.as_ref().is_none_or(|name| parameter.excess || named.contains(name));
        if let (false, Some(name)) = (used, &parameter.name) {
            return Err(Error::new(isc::EDS_INPUT_PRM_NOT_USED).with(name.clone()));
        }
        values.push(value);
    }
    if named.is_empty() {
        return Ok(values);
    }
    named
        .iter()
        .map(|name| {
            let place =
                statement.parameters.iter().position(|parameter| parameter.name.as_ref() == Some(name));
            place
                .and_then(|place| values.get(place).cloned())
                .ok_or_else(|| Error::new(isc::EDS_INPUT_PRM_NOT_SET).with(name.clone()))
        })
        .collect()
}

/// Runs a text; rows that it gives must fit the targets. Its CURRENT_TIMESTAMP is its own, as of any statement.
fn run(
    statement: &DynamicStatement,
    parsed: &Parsed,
    inputs: Vec<Value>,
    context: &mut ExecutionContext<'_>,
) -> Result<DynamicRows> {
    let started = clock::now(context.now.zone);
    let mut watch = Watch::of_text(&parsed.text, context)?;
    let known = watch.as_ref().map(Watch::plans);
    let source = at(started, context, |context| {
        within(&mut watch, context, |context| run_text(statement, parsed, inputs, known, context))
    })?;
    Ok(DynamicRows { source, targets: statement.targets.len(), started, watch })
}

fn run_text(
    statement: &DynamicStatement,
    parsed: &Parsed,
    inputs: Vec<Value>,
    watched: Option<WatchedPlans>,
    context: &mut ExecutionContext<'_>,
) -> Result<RowSource> {
    let expected = statement.targets.len();
    let nothing = || RowSource::Rows(Vec::new().into());
    match &parsed.statement.kind {
        StatementKind::Ddl(definition) => {
            check_columns(0, expected)?;
            apart(context, |context| context.above.definitions.execute(definition, &parsed.text, context))?;
            Ok(nothing())
        }
        StatementKind::Transaction(_) => Err(Error::new(isc::EDS_EXPL_TRAN_CTRL)),
        StatementKind::Session(statement) => {
            check_columns(0, expected)?;
            session_settings::change_within(context, statement)?;
            Ok(nothing())
        }
        StatementKind::ExecuteBlock(_) | StatementKind::ExecuteProcedure(_) => {
            let compiled = compile_statement(&parsed.environment, &parsed.statement)?;
            check_accesses(statement, parsed, compiled.accesses(), context)?;
            if let Some(watched) = watched {
                watched.are_of(WatchedBody::Routine(&compiled));
            }
            let source = run_routine(&compiled, inputs, context)?;
            check_gives_columns(compiled.description.columns.len(), expected)?;
            Ok(source)
        }
        _ => {
            let prepared = bind::bind_statement(&parsed.environment, &parsed.statement, &NoVariables)?;
            check_accesses(statement, parsed, &prepared.accesses, context)?;
            if let Some(watched) = watched {
                watched.are_of(WatchedBody::Plan(&prepared.action));
            }
            let source = run_plan(&prepared, inputs, context)?;
            check_gives_columns(prepared.columns.len(), expected)?;
            Ok(source)
        }
    }
}

/// A text runs with the privileges of whoever the routine runs for; WITH CALLER PRIVILEGES those granted to the routine
/// count as well.
fn check_accesses(
    statement: &DynamicStatement,
    parsed: &Parsed,
    accesses: &[Access],
    context: &ExecutionContext<'_>,
) -> Result<()> {
    let caller = CallFrame::running(context).filter(|_| statement.caller_privileges);
    let grantee = caller.and_then(|frame| frame.grantee());
    authority::verify(&parsed.environment.catalog, &context.actor(), grantee, accesses)
}

/// Refuses targets for what gives no rows at all.
fn check_gives_columns(columns: usize, expected: usize) -> Result<()> {
    if columns == 0 { check_columns(0, expected) } else { Ok(()) }
}

fn run_routine(
    compiled: &CompiledStatement,
    inputs: Vec<Value>,
    context: &mut ExecutionContext<'_>,
) -> Result<RowSource> {
    let description = &compiled.description;
    let converted = positional(inputs, &description.parameters, context)?;
    let mut execution = with_parameters(converted, context, |context| Execution::start(compiled, context))?;
    if description.has_cursor {
        return Ok(RowSource::Routine(Box::new(execution)));
    }
    let row = apart(context, |context| execution.finish(context))?;
    let rows = if description.columns.is_empty() { Vec::new() } else { vec![row] };
    Ok(RowSource::Single(rows.into()))
}

/// Runs a bound statement with inputs by position.
///
/// # Errors
/// Those of the statement, and of inputs that it does not take.
pub(super) fn run_plan(
    prepared: &Prepared,
    inputs: Vec<Value>,
    context: &mut ExecutionContext<'_>,
) -> Result<RowSource> {
    let values = positional(inputs, &prepared.parameters, context)?;
    context.view = context.transaction.store.view_again(&context.view)?;
    match &prepared.action {
        Action::Select(plan) => {
            let cursor = with_parameters(values, context, |context| Cursor::open(plan, context))?;
            Ok(RowSource::Query(Box::new(cursor), prepared.columns.len()))
        }
        Action::Modify(plan) => {
            let modified = with_parameters(values, context, |context| modify(plan, context))?;
            Ok(match prepared.has_cursor {
                true => RowSource::Rows(modified.returned),
                false => RowSource::Single(modified.returned),
            })
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
    let result = apart(context, run);
    context.parameters = variables;
    result
}

/// Inputs converted to the types of the parameters.
fn positional(
    values: Vec<Value>,
    parameters: &[ColumnDescription],
    context: &mut ExecutionContext<'_>,
) -> Result<Vec<Value>> {
    if values.len() != parameters.len() {
        return Err(Error::new(isc::EDS_INPUT_PRM_MISMATCH));
    }
    values
        .into_iter()
        .zip(parameters)
        .map(|(value, parameter)| {
            blob::cast_value(value, &parameter.column_type.sql_type.of_parameter_value(), context)
        })
        .collect()
}

impl Execution {
    /// EXECUTE STATEMENT without a loop; gives the one row of what has columns.
    pub(super) fn execute_statement(
        statement: &DynamicStatement,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Option<Vec<Value>>> {
        execute(statement, context)
    }

    /// FOR EXECUTE STATEMENT.
    pub(super) fn open_statement(
        statement: &DynamicStatement,
        context: &mut ExecutionContext<'_>,
    ) -> Result<DynamicRows> {
        open(statement, context)
    }
}
