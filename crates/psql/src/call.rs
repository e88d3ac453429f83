//! Procedures, functions and triggers as the rest of the engine calls them.

use std::sync::Arc;

use farbird_catalog::triggers::TriggerMoment;
use farbird_catalog::{Catalog, Relation, Routine, RoutineEngine};
use farbird_expression::{ExecutionContext, FiredRows, ProcedureRows, Routines};
use farbird_sql::ast::{DatabaseEvent, DdlEvent, DdlEvents, TriggerAction};
use farbird_store::RowId;
use farbird_types::{Error, Result, Value, isc};

use crate::cache::{Key, RoutineCache};
use crate::compile;
use crate::compiled::{compiled_function, compiled_procedure, compiled_triggers, in_order};
use crate::execution::Execution;
use crate::library_function;
use crate::procedure_call::{call_local, open_local};
use crate::trace::{CallFrame, with_system_trigger};
use crate::traced;

/// PSQL as those below ask for it.
pub struct Psql;

impl Routines for Psql {
    fn call_function(
        &self,
        function: &Arc<Routine>,
        arguments: Vec<Value>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Value> {
        call_function(context, function, arguments)
    }

    fn call_local_function(
        &self,
        number: usize,
        arguments: Vec<Value>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Value> {
        call_local_function(context, number, arguments)
    }

    fn open_procedure(
        &self,
        procedure: &Arc<Routine>,
        inputs: Vec<Value>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Box<dyn ProcedureRows>> {
        if let RoutineEngine::Local(number) = procedure.engine {
            return open_local(number, inputs, context);
        }
        let catalog = context.transaction.current_catalog();
        let compiled = compiled_procedure(&catalog, procedure)?;
        traced::selectable(procedure, inputs, context, |inputs, context| {
            Ok(Box::new(Execution::of(&compiled, inputs, context)?))
        })
    }

    fn fire_triggers(
        &self,
        relation: &Relation,
        moment: TriggerMoment,
        action: TriggerAction,
        rows: FiredRows<'_>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        fire_triggers(context, relation, moment, action, rows)
    }

    fn with_system_trigger(&self, name: &str, error: Error, context: &ExecutionContext<'_>) -> Error {
        with_system_trigger(name, error, context)
    }
}

// ---- Functions ----

/// Calls a stored function with converted arguments; missing ones get their defaults.
///
/// # Errors
/// Those of compiling and running it.
fn call_function(
    context: &mut ExecutionContext<'_>,
    function: &Arc<Routine>,
    arguments: Vec<Value>,
) -> Result<Value> {
    if let RoutineEngine::Library(library) = &function.engine {
        return library_function::call(context, function, library, arguments);
    }
    let catalog = context.transaction.current_catalog();
    let compiled = compiled_function(&catalog, function)?;
    traced::function(function, arguments, context, |arguments, context| {
        let mut execution = Execution::of(&compiled, arguments, context)?;
        single(execution.finish(context)?)
    })
}

/// Calls a function declared in the running routine, which `context` knows.
///
/// # Errors
/// Those of running it.
fn call_local_function(
    context: &mut ExecutionContext<'_>,
    number: usize,
    arguments: Vec<Value>,
) -> Result<Value> {
    let Some(frame) = CallFrame::running(context) else {
        return Err(Error::new(isc::WISH_LIST).and(isc::RANDOM).with("local function outside its routine"));
    };
    let declaring = Arc::clone(&frame.declaring);
    let row = call_local(&declaring, number, arguments, context)?;
    single(row)
}

fn single(row: Vec<Value>) -> Result<Value> {
    row.into_iter().next().ok_or_else(|| Error::internal("a function without a result"))
}

// ---- Triggers ----

/// Fires the triggers of a relation, in order of position and name. Rows are by field id; BEFORE triggers may change
/// `new`.
///
/// # Errors
/// Those of compiling and running them; the statement undoes what they did.
fn fire_triggers(
    context: &mut ExecutionContext<'_>,
    relation: &Relation,
    moment: TriggerMoment,
    action: TriggerAction,
    FiredRows { old, old_number, mut new, new_number }: FiredRows<'_>,
) -> Result<()> {
    let catalog = context.transaction.current_catalog();
    let triggers = compiled_triggers(&catalog, relation, moment, action)?;
    let width = usize::from(relation.next_field_id);
    let value = |row: RowId| Value::integer(i64::try_from(row.0).unwrap_or(i64::MAX));
    let numbers = [old_number, new_number].map(|number| number.map_or(Value::Null, value));
    for trigger in triggers.iter() {
        let slots = by_field(old, width).chain(by_field(new.as_deref().map(Vec::as_slice), width));
        let slots = slots.chain(numbers.clone());
        let mut execution = Execution::of_trigger(trigger, slots, Some(action));
        let moment_text = || format!("{} {}", moment_word(moment), action_word(action));
        traced::trigger(&trigger.name, Some(&relation.name), moment_text, context, |context| {
            execution.finish(context).map(drop)
        })?;
        if let (Some(new), TriggerMoment::Before) = (new.as_deref_mut(), moment) {
            let changed = execution.into_variables().into_iter().skip(width).take(width);
            new.clear();
            new.extend(changed);
        }
    }
    Ok(())
}

/// The moment, as records of trace sessions write it.
fn moment_word(moment: TriggerMoment) -> &'static str {
    match moment {
        TriggerMoment::Before => "BEFORE",
        TriggerMoment::After => "AFTER",
    }
}

fn action_word(action: TriggerAction) -> &'static str {
    match action {
        TriggerAction::Insert => "INSERT",
        TriggerAction::Update => "UPDATE",
        TriggerAction::Delete => "DELETE",
    }
}

fn event_words(event: DatabaseEvent) -> &'static str {
    match event {
        DatabaseEvent::Connect => "ON CONNECT",
        DatabaseEvent::Disconnect => "ON DISCONNECT",
        DatabaseEvent::TransactionStart => "ON TRANSACTION_START",
        DatabaseEvent::TransactionCommit => "ON TRANSACTION_COMMIT",
        DatabaseEvent::TransactionRollback => "ON TRANSACTION_ROLLBACK",
    }
}

/// RDB$TRIGGER_TYPE of ON CONNECT; the other events of a database follow.
const DATABASE_TRIGGER_TYPE: u64 = 0x2000;

/// RDB$TRIGGER_TYPE of an event of the database.
fn database_trigger_type(event: DatabaseEvent) -> u64 {
    let number = match event {
        DatabaseEvent::Connect => 0,
        DatabaseEvent::Disconnect => 1,
        DatabaseEvent::TransactionStart => 2,
        DatabaseEvent::TransactionCommit => 3,
        DatabaseEvent::TransactionRollback => 4,
    };
    DATABASE_TRIGGER_TYPE + number
}

/// Whether any triggers of this event of the database fire.
pub fn has_database_triggers(catalog: &Catalog, event: DatabaseEvent) -> bool {
    let wanted = database_trigger_type(event);
    catalog.triggers_of(None).any(|trigger| trigger.trigger_type == wanted && !trigger.inactive)
}

/// Fires the triggers of an event of the database, in order of position and name.
///
/// # Errors
/// Those of compiling and running them: the connection, or the transaction's end, does not happen then.
pub fn fire_database_triggers(context: &mut ExecutionContext<'_>, event: DatabaseEvent) -> Result<()> {
    let trigger_type = database_trigger_type(event);
    let catalog = context.transaction.current_catalog();
    let committed = context.database.catalog();
    let key = Key::DatabaseTriggers(trigger_type);
    let triggers = catalog.made.get::<RoutineCache>().routines(catalog.version, key, || {
        let fired = compile::Fired { is_before: false, action: None };
        let wanted = catalog
            .triggers_of(None)
            .filter(|trigger| trigger.trigger_type == trigger_type && !trigger.inactive);
        in_order(wanted)
            .into_iter()
            .map(|trigger| Ok(Arc::new(compile::compile_trigger(&catalog, trigger, None, fired)?)))
            .collect()
    })?;
    // A transaction that creates such a trigger does not fire it yet.
    for trigger in triggers.iter().filter(|trigger| committed.triggers.contains_key(&trigger.name)) {
        let moment = || event_words(event).to_owned();
        traced::trigger(&trigger.name, None, moment, context, |context| {
            Execution::of_trigger(trigger, std::iter::empty(), None).finish(context).map(drop)
        })?;
    }
    Ok(())
}

/// Whether there are active triggers of definitions.
pub fn has_ddl_triggers(catalog: &Catalog) -> bool {
    let watches = |trigger_type| DdlEvents::of_trigger_type(trigger_type).is_some();
    catalog.triggers_of(None).any(|trigger| !trigger.inactive && watches(trigger.trigger_type))
}

/// Fires the triggers of a definition, in order of position and name: those that are committed, as they are committed.
///
/// # Errors
/// Those of compiling and running them: the definition is undone then.
pub fn fire_ddl_triggers(context: &mut ExecutionContext<'_>, event: DdlEvent, after: bool) -> Result<()> {
    let catalog = context.transaction.current_catalog();
    let committed = context.database.catalog();
    let key = Key::DdlTriggers(event, after);
    let triggers = catalog.made.get::<RoutineCache>().routines(catalog.version, key, || {
        let fired = compile::Fired { is_before: !after, action: None };
        let wanted = committed
            .triggers_of(None)
            .filter(|trigger| !trigger.inactive && event.fires(trigger.trigger_type, after));
        in_order(wanted)
            .into_iter()
            .map(|trigger| Ok(Arc::new(compile::compile_trigger(&catalog, trigger, None, fired)?)))
            .collect()
    })?;
    for trigger in triggers.iter() {
        let moment = || "ON DDL".to_owned();
        traced::trigger(&trigger.name, None, moment, context, |context| {
            Execution::of_trigger(trigger, std::iter::empty(), None).finish(context).map(drop)
        })?;
    }
    Ok(())
}

/// The values of a row, filled up with NULL.
fn by_field(row: Option<&[Value]>, width: usize) -> impl Iterator<Item = Value> {
    let row = row.unwrap_or_default();
    (0..width).map(move |field| row.get(field).cloned().unwrap_or_default())
}
