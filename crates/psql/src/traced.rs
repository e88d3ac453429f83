//! What trace sessions are told of routines: procedures, functions and triggers that begin and end.
//!
//! Only stored routines are told of, as by Firebird; local ones belong to those around them. What is told is put together only where
//! somebody wants to know. Uses `session::trace` and what calls routines.

use std::time::{Duration, Instant};

use farbird_catalog::{Routine, RoutineParameter};
use farbird_expression::{ExecutionContext, ProcedureRows};
use farbird_session::trace::{Event, Outcome, TracedParameter, TracedTransaction, TracedTrigger, Work};
use farbird_types::{Result, Value};

/// A call that is told of.
struct Call {
    name: String,
    inputs: Vec<TracedParameter>,
    within: TracedTransaction,
}

impl Call {
    fn of(routine: &Routine, inputs: &[Value], context: &ExecutionContext<'_>) -> Call {
        let described = routine.inputs.iter().zip(inputs);
        Call {
            name: routine.full_name(),
            inputs: described.map(|(described, value)| parameter(described, value)).collect(),
            within: context.transaction.traced(context.session),
        }
    }
}

fn parameter(described: &RoutineParameter, value: &Value) -> TracedParameter {
    TracedParameter { sql_type: described.sql_type, value: value.clone() }
}

fn work(elapsed: Duration, rows: u64) -> Work {
    Work { elapsed, rows, changed: None }
}

/// Calls a stored function, and tells of it.
pub(super) fn function(
    routine: &Routine,
    inputs: Vec<Value>,
    context: &mut ExecutionContext<'_>,
    call: impl FnOnce(Vec<Value>, &mut ExecutionContext<'_>) -> Result<Value>,
) -> Result<Value> {
    let tracer = &context.session.tracer;
    if !(tracer.wants(Event::FunctionStart) || tracer.wants(Event::FunctionFinish)) {
        return call(inputs, context);
    }
    let told = Call::of(routine, &inputs, context);
    tracer.function_started(&told.name, &told.within, &told.inputs);
    let begun = Instant::now();
    let result = call(inputs, context);
    let given = result.as_ref().ok().zip(routine.outputs.first());
    let given = given.map(|(value, described)| parameter(described, value));
    let work = work(begun.elapsed(), 0);
    let tracer = &context.session.tracer;
    tracer.function_finished(&told.name, &told.within, &told.inputs, given.as_ref(), &work);
    result
}

/// Executes a stored procedure to its first row or its end, and tells of it.
pub(super) fn procedure(
    routine: &Routine,
    inputs: Vec<Value>,
    context: &mut ExecutionContext<'_>,
    call: impl FnOnce(Vec<Value>, &mut ExecutionContext<'_>) -> Result<Vec<Value>>,
) -> Result<Vec<Value>> {
    let tracer = &context.session.tracer;
    if !(tracer.wants(Event::ProcedureStart) || tracer.wants(Event::ProcedureFinish)) {
        return call(inputs, context);
    }
    let told = Call::of(routine, &inputs, context);
    tracer.procedure_started(&told.name, &told.within, &told.inputs);
    let begun = Instant::now();
    let row = call(inputs, context);
    let (work, outcome) = (work(begun.elapsed(), 0), Outcome::of(&row));
    let tracer = &context.session.tracer;
    tracer.procedure_finished(&told.name, &told.within, &told.inputs, &work, outcome);
    row
}

/// Opens a selectable procedure, whose rows are told of when the last one was fetched.
pub(super) fn selectable(
    routine: &Routine,
    inputs: Vec<Value>,
    context: &mut ExecutionContext<'_>,
    open: impl FnOnce(Vec<Value>, &mut ExecutionContext<'_>) -> Result<Box<dyn ProcedureRows>>,
) -> Result<Box<dyn ProcedureRows>> {
    let tracer = &context.session.tracer;
    if !(tracer.wants(Event::ProcedureStart) || tracer.wants(Event::ProcedureFinish)) {
        return open(inputs, context);
    }
    let told = Call::of(routine, &inputs, context);
    tracer.procedure_started(&told.name, &told.within, &told.inputs);
    let begun = Instant::now();
    let source = open(inputs, context)?;
    Ok(Box::new(TracedRows { source, call: Some(told), elapsed: begun.elapsed(), rows: 0 }))
}

/// The rows of a selectable procedure that is told of.
struct TracedRows {
    source: Box<dyn ProcedureRows>,
    /// Taken when it is told of.
    call: Option<Call>,
    elapsed: Duration,
    rows: u64,
}

impl ProcedureRows for TracedRows {
    fn next(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>> {
        let begun = Instant::now();
        let row = self.source.next(context);
        self.elapsed += begun.elapsed();
        match &row {
            Ok(Some(_)) => self.rows += 1,
            Ok(None) | Err(_) => {
                if let Some(told) = self.call.take() {
                    let (work, outcome) = (work(self.elapsed, self.rows), Outcome::of(&row));
                    let tracer = &context.session.tracer;
                    tracer.procedure_finished(&told.name, &told.within, &told.inputs, &work, outcome);
                }
            }
        }
        row
    }
}

/// Fires a trigger, and tells of it. `moment` is `BEFORE INSERT`, `ON CONNECT`.
pub(super) fn trigger(
    name: &str,
    relation: Option<&str>,
    moment: impl FnOnce() -> String,
    context: &mut ExecutionContext<'_>,
    fire: impl FnOnce(&mut ExecutionContext<'_>) -> Result<()>,
) -> Result<()> {
    let tracer = &context.session.tracer;
    if !(tracer.wants(Event::TriggerStart) || tracer.wants(Event::TriggerFinish)) {
        return fire(context);
    }
    let moment = moment();
    let trigger = TracedTrigger { name, relation, moment: &moment };
    let within = context.transaction.traced(context.session);
    tracer.trigger_started(trigger, &within);
    let begun = Instant::now();
    let fired = fire(context);
    let (work, outcome) = (work(begun.elapsed(), 0), Outcome::of(&fired));
    context.session.tracer.trigger_finished(trigger, &within, &work, outcome);
    fired
}
