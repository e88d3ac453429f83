//! What trace sessions are told of routines: procedures, functions and triggers that begin and end.
//!
//! Only stored routines are told of, as by Firebird; local ones belong to those around them. What is told is put together only where
//! somebody wants to know. Uses `session::trace` and what calls routines.

use std::time::{Duration, Instant};

use farbird_catalog::{Routine, RoutineParameter};
use farbird_expression::{ExecutionContext, ProcedureRows};
use farbird_session::trace::{Event, Outcome, TracedParameter, TracedTransaction, TracedTrigger, Work};
use farbird_store::Counted;
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

/// What the transaction has done with rows so far.
fn counted(context: &ExecutionContext<'_>) -> Counted {
    let store = &context.transaction.store;
    store.hand_over_counts();
    store.tally().counted()
}

/// What has come of a call that took so long and has done this.
fn work(elapsed: Duration, rows: u64, done: &Counted, context: &ExecutionContext<'_>) -> Work {
    let tables = context.transaction.current_catalog().table_work(done);
    Work { elapsed, rows, pages: done.pages(), tables }
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
    let (before, begun) = (counted(context), Instant::now());
    let result = call(inputs, context);
    let elapsed = begun.elapsed();
    let given = result.as_ref().ok().zip(routine.outputs.first());
    let given = given.map(|(value, described)| parameter(described, value));
    let work = work(elapsed, 0, &counted(context).since(&before), context);
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
    let (before, begun) = (counted(context), Instant::now());
    let row = call(inputs, context);
    let elapsed = begun.elapsed();
    let done = counted(context).since(&before);
    let (work, outcome) = (work(elapsed, 0, &done, context), Outcome::of(&row));
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
    let (before, begun) = (counted(context), Instant::now());
    let source = open(inputs, context)?;
    let elapsed = begun.elapsed();
    let done = counted(context).since(&before);
    Ok(Box::new(TracedRows { source, call: Some(told), elapsed, done, rows: 0 }))
}

/// The rows of a selectable procedure that is told of.
struct TracedRows {
    source: Box<dyn ProcedureRows>,
    /// Taken when it is told of.
    call: Option<Call>,
    elapsed: Duration,
    done: Counted,
    rows: u64,
}

impl ProcedureRows for TracedRows {
    fn next(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>> {
        let (before, begun) = (counted(context), Instant::now());
        let row = self.source.next(context);
        self.elapsed += begun.elapsed();
        self.done.add_all(&counted(context).since(&before));
        match &row {
            Ok(Some(_)) => self.rows += 1,
            Ok(None) | Err(_) => {
                if let Some(told) = self.call.take() {
                    let (work, outcome) =
                        (work(self.elapsed, self.rows, &self.done, context), Outcome::of(&row));
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
    let (before, begun) = (counted(context), Instant::now());
    let fired = fire(context);
    let elapsed = begun.elapsed();
    let done = counted(context).since(&before);
    let (work, outcome) = (work(elapsed, 0, &done, context), Outcome::of(&fired));
    context.session.tracer.trigger_finished(trigger, &within, &work, outcome);
    fired
}
