//! A running frame.

use std::sync::Arc;
use std::time::Instant;

use farbird_budget::{Reservation, heap_bytes};
use farbird_execute::{Cursor, KeptSource, Modified, RepeatedQuery, modify_again};
use farbird_expression::{
    AffectedRows, BoundExpression, DEPTH_MAX, ExecutionContext, ProcedureRows, RoutineState, StackSegment,
    on_new_stack,
};
use farbird_function::blob;
use farbird_plan::SelectPlan;
use farbird_plan::modification::ModifyPlan;
use farbird_sql::ast::TriggerAction;
use farbird_store::Savepoint;
use farbird_types::{Error, Result, SqlType, Value, isc};

use crate::compile::CompiledStatement;
use crate::condition;
use crate::cursor::OpenCursor;
use crate::routine::{
    CompiledRoutine, CursorDefinition, CursorSource, Instruction, ProcedureCall, RoutineKind, Scroll, Store,
};
use crate::session_settings;
use crate::trace::{CallFrame, has_stack, with_entry_stack, with_stack};
use crate::watch::{self, Watch};

/// Up to so many levels of routines are charged for nothing but long texts in their variables.
const DEPTH_UNCHARGED: u32 = 8;
/// A variable's text that takes no more is not charged, in bytes.
const TEXT_BYTES_UNCHARGED: usize = 256;
/// What a level takes beside its variables.
const FRAME_BYTES: usize = 2 << 10;

/// A running routine: a value that holds no thread and no lock between two rows.
pub struct Execution {
    routine: Arc<CompiledRoutine>,
    /// The routine whose local routines it can call.
    declaring: Arc<CompiledRoutine>,
    /// Values by slot; in the context's parameters while it runs.
    variables: Vec<Value>,
    /// What long texts in them are charged to; in the context while it runs.
    texts: Option<Reservation>,
    cursors: Vec<Option<OpenCursor>>,
    /// Cursors of the loops that it is inside of, outermost first.
    loops: Vec<usize>,
    /// Savepoints of the blocks that are undone by themselves, outermost first.
    blocks: Vec<Savepoint>,
    /// Blocks with handlers that it is inside of, outermost first.
    waiting: Vec<Waiting>,
    /// What was being handled outside each handler that it is inside of.
    handled: Vec<Option<Error>>,
    program_counter: usize,
    affected: AffectedRows,
    trigger_action: Option<TriggerAction>,
    error: Option<Error>,
    /// How many rows had been changed when the view was taken; `None` before its first read, and where it goes on with its
    /// caller's view.
    seen_changes: Option<u64>,
    ended: bool,
    /// What instructions keep for when they are executed again, by their numbers; empty before the first that does.
    kept: Vec<Kept>,
    /// Of what the profiler is told of.
    watch: Option<Box<Watch>>,
}

/// What an instruction keeps for when it is executed again.
#[derive(Default)]
enum Kept {
    #[default]
    Nothing,
    Query(Box<RepeatedQuery>),
    Source(KeptSource),
}

/// A block with handlers, while control is inside of it.
struct Waiting {
    table: usize,
    loops: usize,
    blocks: usize,
    handled: usize,
}

/// Why a frame stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    Suspended,
    Ended,
    /// At the end of IN AUTONOMOUS TRANSACTION.
    AutonomousEnded,
}

impl Execution {
    /// Begins EXECUTE BLOCK or EXECUTE PROCEDURE; the context's parameters are its inputs. Nothing runs before
    /// [`Execution::resume`] or [`Execution::finish`].
    ///
    /// # Errors
    /// `not_valid_for_var` for an input that its domain does not admit.
    pub fn start(compiled: &CompiledStatement, context: &mut ExecutionContext<'_>) -> Result<Execution> {
        let mut inputs = std::mem::take(&mut context.parameters);
        if compiled.routine.kind == RoutineKind::Block {
            // The parameters are variables of the block, where a CHAR has spaces up to its length.
            for (value, parameter) in inputs.iter_mut().zip(&compiled.description.parameters) {
                let sql_type = &parameter.column_type.sql_type;
                if matches!(sql_type, SqlType::Text(text) if !text.varying) {
                    *value = blob::cast_value(std::mem::replace(value, Value::Null), sql_type, context)?;
                }
            }
        }
        Execution::of(&compiled.routine, inputs, context)
    }

    /// Begins a routine with converted inputs; missing ones get their defaults.
    pub(super) fn of(
        routine: &Arc<CompiledRoutine>,
        inputs: Vec<Value>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Execution> {
        let mut execution = Execution::blank(routine, routine);
        execution.fill_inputs(inputs, context)?;
        Ok(execution)
    }

    /// Begins a local routine, which shares the variables of the routine around it: those in the context's parameters.
    pub(super) fn of_local(
        routine: &Arc<CompiledRoutine>,
        declaring: &Arc<CompiledRoutine>,
        inputs: Vec<Value>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Execution> {
        let mut execution = Execution::blank(routine, declaring);
        execution.take_shared(context);
        execution.fill_inputs(inputs, context)?;
        Ok(execution)
    }

    /// Takes over the variables around a local routine: the context's parameters.
    pub(super) fn take_shared(&mut self, context: &ExecutionContext<'_>) {
        let shared = self.variables.iter_mut().zip(&context.parameters).take(self.routine.shared_slots);
        shared.for_each(|(own, outer)| own.clone_from(outer));
    }

    /// Gives the variables around a local routine back.
    pub(super) fn give_shared(&self, context: &mut ExecutionContext<'_>) {
        let shared = context.parameters.iter_mut().zip(&self.variables).take(self.routine.shared_slots);
        shared.for_each(|(outer, own)| outer.clone_from(own));
    }

    /// Begins a trigger with OLD and NEW in its first slots.
    pub(super) fn of_trigger(
        routine: &Arc<CompiledRoutine>,
        rows: impl Iterator<Item = Value>,
        action: Option<TriggerAction>,
    ) -> Execution {
        let mut execution = Execution::blank(routine, routine);
        for (slot, value) in execution.variables.iter_mut().zip(rows) {
            *slot = value;
        }
        execution.trigger_action = action;
        execution
    }

    fn blank(routine: &Arc<CompiledRoutine>, declaring: &Arc<CompiledRoutine>) -> Execution {
        let mut cursors = Vec::new();
        cursors.resize_with(routine.cursors.len(), || None);
        Execution {
            routine: Arc::clone(routine),
            declaring: Arc::clone(declaring),
            variables: vec![Value::Null; routine.slots],
            texts: None,
            cursors,
            loops: Vec::new(),
            blocks: Vec::new(),
            waiting: Vec::new(),
            handled: Vec::new(),
            program_counter: 0,
            affected: AffectedRows::default(),
            trigger_action: None,
            error: None,
            seen_changes: None,
            ended: false,
            kept: Vec::new(),
            watch: None,
        }
    }

    fn fill_inputs(&mut self, inputs: Vec<Value>, context: &mut ExecutionContext<'_>) -> Result<()> {
        let routine = Arc::clone(&self.routine);
        let mut given = inputs.into_iter();
        for (number, declared) in routine.inputs.iter().enumerate() {
            let value = match (given.next(), &declared.default) {
                (Some(value), _) => value,
                (None, Some(default)) => default.evaluate(context)?,
                (None, None) => Value::Null,
            };
            if let Some(constraint) = declared.constraint.and_then(|number| routine.constraints.get(number)) {
                constraint
                    .verify(&value, context)
                    .map_err(|error| with_entry_stack(error, &routine, context))?;
            }
            if let Some(slot) = self.variables.get_mut(routine.first_input + number) {
                *slot = value;
            }
        }
        Ok(())
    }

    /// Runs to the next SUSPEND and gives the row; `None` at the end.
    ///
    /// # Errors
    /// Those of the routine, with `isc_stack_trace`. What it did since the row before is undone; it is at its end.
    pub fn resume(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>> {
        if self.ended {
            return Ok(None);
        }
        match self.guarded(context)? {
            Stop::Suspended => Ok(Some(self.outputs())),
            Stop::Ended | Stop::AutonomousEnded => Ok(None),
        }
    }

    /// Runs to the end, or to the first SUSPEND, and gives the outputs.
    ///
    /// # Errors
    /// As [`Execution::resume`].
    pub fn finish(&mut self, context: &mut ExecutionContext<'_>) -> Result<Vec<Value>> {
        if !self.ended {
            self.guarded(context)?;
            self.ended = true;
        }
        Ok(self.outputs())
    }

    /// The values of the slots, once it has ended.
    pub(super) fn into_variables(self) -> Vec<Value> {
        self.variables
    }

    fn outputs(&self) -> Vec<Value> {
        self.routine
            .outputs
            .iter()
            .map(|slot| self.variables.get(*slot).cloned().unwrap_or_default())
            .collect()
    }

    /// Runs, undoing everything if it fails.
    fn guarded(&mut self, context: &mut ExecutionContext<'_>) -> Result<Stop> {
        // What a trigger does belongs to the statement that fired it, which undoes it.
        let guards = self.routine.changes && self.routine.kind != RoutineKind::Trigger;
        let savepoint = guards.then(|| context.transaction.store.savepoint());
        let mark = (guards && self.routine.executes_texts).then(|| context.transaction.catalog.lock().mark());
        // Those of before the latest row ended with the savepoint of that run.
        for block in &mut self.blocks {
            *block = context.transaction.store.savepoint();
        }
        let mut result = self.inside(context, Execution::run_whole);
        self.ended = !matches!(result, Ok(Stop::Suspended));
        if self.ended {
            let closed = self.close_all(context);
            result = result.and_then(|stop| closed.map(|()| stop));
        }
        if let Some(savepoint) = savepoint {
            match result {
                Ok(_) => context.transaction.store.release(savepoint),
                Err(_) => {
                    context.undo_to(savepoint)?;
                    if let Some(mark) = &mark {
                        context.transaction.catalog.lock().restore(mark);
                    }
                }
            }
        }
        result
    }

    /// Charges the long texts that the routine was called with, once.
    fn charge_inputs(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        let bytes = context.parameters.iter().map(charged_bytes).sum();
        if self.texts.is_none() && bytes > 0 {
            self.texts.insert(context.budget.reserve()).grow(bytes)?;
        }
        Ok(())
    }

    /// Runs with the frame's variables and state in the context.
    fn inside<T>(
        &mut self,
        context: &mut ExecutionContext<'_>,
        run: impl FnOnce(&mut Execution, &mut ExecutionContext<'_>) -> Result<T> + Send,
    ) -> Result<T>
    where
        T: Send,
    {
        // Routines that call each other need no loop to go on for ever.
        context.check_interrupt()?;
        if context.depth >= DEPTH_MAX {
            return Err(with_stack(Error::new(isc::REQ_MAX_CLONES_EXCEEDED), context));
        }
        context.depth += 1;
        let view = context.view.clone();
        // It begins with its caller's view, also behind a SUSPEND: what it has changed itself is not in there.
        self.seen_changes = None;
        std::mem::swap(&mut self.variables, &mut context.parameters);
        // The caller's variables wait here.
        let mut memory = context.budget.reserve();
        let charged = match context.depth > DEPTH_UNCHARGED {
            true => memory.grow(FRAME_BYTES + size_of_val(self.variables.as_slice())),
            false => Ok(()),
        };
        if let Err(error) = charged.and_then(|()| self.charge_inputs(context)) {
            std::mem::swap(&mut self.variables, &mut context.parameters);
            context.depth -= 1;
            return Err(with_stack(error, context));
        }
        let outer_texts = std::mem::replace(&mut context.variables, self.texts.take());
        let frame = CallFrame {
            routine: Arc::clone(&self.routine),
            declaring: Arc::clone(&self.declaring),
            instruction: self.program_counter,
            caller: CallFrame::take(context),
        };
        let own = RoutineState {
            affected: self.affected,
            trigger_action: self.trigger_action.or(context.routine.trigger_action),
            error: self.error.take(),
            resetting: context.routine.resetting,
            call: Some(Box::new(frame)),
            instruction: self.program_counter,
            stack: Some(context.routine.stack.unwrap_or_else(StackSegment::foreign)),
        };
        let outer = std::mem::replace(&mut context.routine, own);
        let outer_definer = context.definer.clone();
        if let Some(definer) = &self.routine.definer {
            context.definer = Some(Arc::clone(definer));
        }
        let is_used_up = context.routine.stack.is_some_and(StackSegment::is_used_up);
        let is_the_statement = matches!(self.routine.kind, RoutineKind::Block | RoutineKind::Statement);
        let run = |context: &mut ExecutionContext<'_>| match is_used_up {
            true => on_new_stack(|segment| {
                context.routine.stack = Some(segment);
                run(self, context)
            }),
            false => run(self, context),
        };
        let result = if is_the_statement { run(context) } else { context.uncounted(run) };
        self.texts = std::mem::replace(&mut context.variables, outer_texts);
        context.definer = outer_definer;
        let own = std::mem::replace(&mut context.routine, outer);
        self.affected = own.affected;
        self.error = own.error;
        context.routine.call = CallFrame::caller(own.call);
        std::mem::swap(&mut self.variables, &mut context.parameters);
        context.view = view;
        context.depth -= 1;
        result
    }

    /// Runs to where it stops, and lets the profiler know, if that listens.
    fn run_whole(&mut self, context: &mut ExecutionContext<'_>) -> Result<Stop> {
        if !self.is_watched(context) {
            return self.run(context, 0);
        }
        let watch = match self.watch.take() {
            Some(watch) => Some(watch),
            None => Watch::of_routine(&self.routine, &self.declaring, context)?.map(Box::new),
        };
        let Some(mut watch) = watch else { return self.run(context, 0) };
        let result = watch.within(context, |context| self.run(context, 0));
        // It has ended with the routine.
        self.watch = matches!(result, Ok(Stop::Suspended)).then_some(watch);
        result
    }

    /// Whether the profiler listens, or may begin to while it runs.
    fn is_watched(&self, context: &ExecutionContext<'_>) -> bool {
        (context.session.profiler.is_active() || self.routine.calls_profiler) && !self.routine.is_system
    }

    /// Executes one instruction, and tells the profiler of it.
    fn advance_watched(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Stop>> {
        let instruction = self.program_counter;
        let listens = context.session.profiler.is_active();
        let begun = Instant::now();
        let advanced = self.advance::<true>(context)?;
        // The line that starts a session is no part of it, the one that pauses it is.
        if listens {
            watch::note_line(&self.routine, instruction, begun.elapsed(), context);
        }
        Ok(advanced)
    }

    /// Runs until something stops it; errors go to handlers, but not to those below `base`, which belong to the code
    /// around an autonomous transaction.
    pub(super) fn run(&mut self, context: &mut ExecutionContext<'_>, base: usize) -> Result<Stop> {
        let is_watched = self.is_watched(context);
        loop {
            let advanced =
                if is_watched { self.advance_watched(context) } else { self.advance::<false>(context) };
            match advanced {
                Ok(Some(stop)) => return Ok(stop),
                Ok(None) => {}
                Err(error) => self.recover(error, context, base)?,
            }
        }
    }

    /// How many blocks with handlers control is inside of.
    pub(super) fn handler_depth(&self) -> usize {
        self.waiting.len()
    }

    /// Executes instructions until the frame stops or one fails; with `ONE` no more than one.
    fn advance<const ONE: bool>(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Stop>> {
        let routine = Arc::clone(&self.routine);
        loop {
            let current = self.program_counter;
            let Some(instruction) = routine.instructions.get(current) else { return Ok(Some(Stop::Ended)) };
            context.routine.instruction = current;
            self.program_counter = current + 1;
            match instruction {
                Instruction::Assign { value, slot } => {
                    let value = self.evaluate(value, context)?;
                    assign(context, *slot, value)?;
                }
                Instruction::AssignChecked { value, slot, constraint } => {
                    let value = self.evaluate(value, context)?;
                    if let Some(constraint) = routine.constraints.get(*constraint) {
                        constraint.verify(&value, context)?;
                    }
                    assign(context, *slot, value)?;
                }
                Instruction::Jump(target) => {
                    if *target <= current {
                        context.check_interrupt()?;
                    }
                    self.program_counter = *target;
                }
                Instruction::JumpUnless { condition, target } => {
                    self.see_changes_for(condition, context)?;
                    if condition.truth(context)? != Some(true) {
                        self.program_counter = *target;
                    }
                }
                Instruction::OpenLoop { cursor } => {
                    self.open_cursor(&routine, *cursor, context)?;
                    self.loops.push(*cursor);
                    if !is_of_text(&routine, *cursor) {
                        context.routine.affected = AffectedRows::default();
                    }
                }
                Instruction::NextRow { cursor, targets, end } => {
                    if !self.next_row(&routine, *cursor, &Scroll::Next, targets, context)? {
                        self.program_counter = *end;
                    } else if !is_of_text(&routine, *cursor) {
                        context.routine.affected.add_read();
                    }
                }
                Instruction::CloseLoop { cursor } => {
                    self.loops.pop();
                    self.close(*cursor, context)?;
                }
                Instruction::OpenCursor { cursor } => self.open_cursor(&routine, *cursor, context)?,
                Instruction::Fetch { cursor, scroll, targets } => {
                    let found = self.next_row(&routine, *cursor, scroll, targets, context)?;
                    context.routine.affected = AffectedRows::of_read(i64::from(found));
                }
                Instruction::CloseCursor { cursor } => self.close(*cursor, context)?,
                Instruction::CheckCursor { cursor } => self.check_cursor(&routine, *cursor)?,
                Instruction::SelectInto { plan, targets } => {
                    self.select_into(&routine, plan, targets, context)?;
                }
                Instruction::Modify { plan, targets, reads, positioned } => {
                    if *reads {
                        self.see_changes(context)?;
                    }
                    let mut source = match self.take_kept(current) {
                        Kept::Source(source) => source,
                        _ => KeptSource::default(),
                    };
                    match positioned {
                        None => modify_rows(&routine, plan, &mut source, targets, context)?,
                        Some(row) => {
                            self.modify_current(&routine, *row, plan, &mut source, targets, context)?;
                        }
                    }
                    self.keep(current, Kept::Source(source));
                }
                Instruction::CallProcedure(procedure_call) => {
                    self.call_procedure(&routine, procedure_call, context)?;
                }
                Instruction::ExecuteStatement(statement) => {
                    if let Some(row) = Execution::execute_statement(statement, context)? {
                        store(&routine, &row, &statement.targets, context)?;
                    }
                    self.seen_changes = None;
                }
                Instruction::Suspend => return Ok(Some(Stop::Suspended)),
                Instruction::EnterBlock => self.blocks.push(context.transaction.store.savepoint()),
                Instruction::LeaveBlock => {
                    if let Some(savepoint) = self.blocks.pop() {
                        context.transaction.store.release(savepoint);
                    }
                }
                Instruction::EnterHandlers(table) => self.waiting.push(Waiting {
                    table: *table,
                    loops: self.loops.len(),
                    blocks: self.blocks.len(),
                    handled: self.handled.len(),
                }),
                Instruction::LeaveHandlers => {
                    self.waiting.pop();
                }
                Instruction::EndHandler => {
                    context.routine.error = self.handled.pop().flatten();
                }
                Instruction::Raise(raise) => return Err(condition::raised(raise, context)?),
                Instruction::RaiseAgain => {
                    if let Some(error) = &context.routine.error {
                        return Err(error.clone());
                    }
                }
                Instruction::Autonomous => {
                    self.autonomous(context)?;
                    self.seen_changes = None;
                }
                Instruction::EndAutonomous => return Ok(Some(Stop::AutonomousEnded)),
                Instruction::ChangeSession(statement) => session_settings::change_within(context, statement)?,
                Instruction::PostEvent(name) => {
                    let name = self.evaluate(name, context)?;
                    post_event(&name, context)?;
                }
                Instruction::Profiler(command) => {
                    let inputs = context.parameters.iter().skip(routine.first_input);
                    let inputs: Vec<Value> = inputs.take(routine.inputs.len()).cloned().collect();
                    let result = Execution::profiler_command(*command, &inputs, context)?;
                    if let Some(slot) = routine.outputs.first() {
                        assign(context, *slot, result)?;
                    }
                }
                Instruction::End => return Ok(Some(Stop::Ended)),
            }
            if ONE {
                return Ok(None);
            }
        }
    }

    fn evaluate(&mut self, value: &BoundExpression, context: &mut ExecutionContext<'_>) -> Result<Value> {
        self.see_changes_for(value, context)?;
        value.evaluate(context)
    }

    fn see_changes_for(&mut self, value: &BoundExpression, context: &mut ExecutionContext<'_>) -> Result<()> {
        if value.frame.subqueries > 0 { self.see_changes(context) } else { Ok(()) }
    }

    /// Takes a new view if rows were changed since the last one: a statement sees what those before it did.
    pub(super) fn see_changes(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let changes = context.changes();
        if self.seen_changes != Some(changes) {
            context.view = context.transaction.store.view_again(&context.view)?;
            self.seen_changes = Some(changes);
        }
        Ok(())
    }

    /// Finds the handler of an error and goes there.
    ///
    /// # Errors
    /// The error itself, with the stack, if nobody handles it.
    fn recover(&mut self, error: Error, context: &mut ExecutionContext<'_>, base: usize) -> Result<()> {
        let failed = context.routine.instruction;
        // An error raised again, or out of another request (EXECUTE STATEMENT), gets a stack of its own.
        let again = match self.routine.instructions.get(failed) {
            Some(Instruction::RaiseAgain | Instruction::ExecuteStatement(_)) => true,
            Some(Instruction::OpenLoop { cursor } | Instruction::NextRow { cursor, .. }) => {
                is_of_text(&self.routine, *cursor)
            }
            _ => false,
        };
        let error = if again || !has_stack(&error) { with_stack(error, context) } else { error };
        // With obsolete metadata, or a row that others have changed, the whole statement runs again.
        let stops = [isc::CANCELLED, isc::ATT_SHUTDOWN, isc::OBSOLETE_METADATA];
        let handleable = !context.is_restarting() && !stops.into_iter().any(|code| error.has(code));
        let routine = Arc::clone(&self.routine);
        while self.waiting.len() > base {
            let Some(waiting) = self.waiting.pop() else { break };
            while self.loops.len() > waiting.loops {
                if let Some(cursor) = self.loops.pop() {
                    self.close(cursor, context)?;
                }
            }
            while self.handled.len() > waiting.handled {
                context.routine.error = self.handled.pop().flatten();
            }
            self.undo_blocks(waiting.blocks, context)?;
            let table = routine.handlers.get(waiting.table);
            let handler = table.and_then(|table| {
                table.handlers.iter().find(|handler| handleable && condition::catches(handler, &error))
            });
            if let Some(handler) = handler {
                self.handled.push(context.routine.error.replace(error));
                self.program_counter = handler.target;
                return Ok(());
            }
        }
        Err(error)
    }

    /// Undoes the blocks inside the one that is at `depth`.
    fn undo_blocks(&mut self, depth: usize, context: &ExecutionContext<'_>) -> Result<()> {
        if let Some(outermost) = self.blocks.get(depth) {
            // Ends those inside it, too.
            context.undo_to(*outermost)?;
            self.blocks.truncate(depth);
        }
        Ok(())
    }

    /// How many blocks it is inside of that are undone by themselves.
    pub(super) fn block_depth(&self) -> usize {
        self.blocks.len()
    }

    /// Forgets blocks whose transaction has ended.
    pub(super) fn forget_blocks(&mut self, depth: usize) {
        self.blocks.truncate(depth);
    }

    // ---- Cursors ----

    fn close(&mut self, cursor: usize, context: &mut ExecutionContext<'_>) -> Result<()> {
        match self.cursors.get_mut(cursor).and_then(Option::take) {
            Some(mut open) => open.leave(context),
            None => Ok(()),
        }
    }

    /// Closes all cursors at the end, and tells of the first that could not be closed well.
    fn close_all(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let mut closed = Ok(());
        for mut cursor in self.cursors.iter_mut().filter_map(Option::take) {
            let left = cursor.leave(context);
            closed = closed.and(left);
        }
        closed
    }

    fn open_cursor(
        &mut self,
        routine: &CompiledRoutine,
        number: usize,
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        let Some(definition) = routine.cursors.get(number) else { return Ok(()) };
        let opened = match &definition.source {
            CursorSource::Query(plan) => {
                self.see_changes(context)?;
                OpenCursor::query(opened(plan, context)?, definition.scroll, context)
            }
            CursorSource::Dynamic(statement) => {
                self.seen_changes = None;
                OpenCursor::dynamic(Execution::open_statement(statement, context)?)
            }
        };
        if let Some(place) = self.cursors.get_mut(number) {
            *place = Some(opened);
        }
        Ok(())
    }

    /// Fails unless a cursor stands on a row.
    fn check_cursor(&self, routine: &CompiledRoutine, number: usize) -> Result<()> {
        match self.cursors.get(number) {
            Some(Some(cursor)) if cursor.is_on_row() => Ok(()),
            Some(Some(_)) => {
                let name = routine.cursors.get(number).and_then(|definition| definition.name.clone());
                Err(Error::new(isc::CURSOR_NOT_POSITIONED).with(name.unwrap_or_default()))
            }
            _ => Err(Error::new(isc::CURSOR_NOT_OPEN)),
        }
    }

    /// Moves a cursor and stores its row; false if there is none.
    fn next_row(
        &mut self,
        routine: &CompiledRoutine,
        number: usize,
        scroll: &Scroll,
        targets: &[Store],
        context: &mut ExecutionContext<'_>,
    ) -> Result<bool> {
        let Some(definition) = routine.cursors.get(number) else { return Ok(false) };
        if let (false, Some(option)) = (definition.scroll, scroll.option_name()) {
            return Err(Error::new(isc::INVALID_FETCH_OPTION).with(option));
        }
        let Some(Some(cursor)) = self.cursors.get_mut(number) else {
            return Err(Error::new(isc::CURSOR_NOT_OPEN));
        };
        match cursor.fetch(scroll, context)? {
            Some(row) => {
                store(routine, row, targets, context)?;
                store(routine, row, &definition.fields, context)?;
                Ok(true)
            }
            None => {
                forget_row(definition, context)?;
                Ok(false)
            }
        }
    }

    fn select_into(
        &mut self,
        routine: &CompiledRoutine,
        plan: &Arc<SelectPlan>,
        targets: &[Store],
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        self.see_changes(context)?;
        let instruction = context.routine.instruction;
        let kept = match self.take_kept(instruction) {
            Kept::Query(query) => Some(query),
            _ => RepeatedQuery::of(plan).map(Box::new),
        };
        if let Some(mut query) = kept.filter(|_| context.measurements.is_none()) {
            let found = query.first(context)?;
            context.routine.affected = AffectedRows::of_read(i64::from(found));
            if found {
                if query.is_another(context)? {
                    return Err(Error::new(isc::SING_SELECT_ERR));
                }
                store(routine, query.row(), targets, context)?;
            }
            self.keep(instruction, Kept::Query(query));
            return Ok(());
        }
        let mut cursor = opened(plan, context)?;
        let row = cursor.next_row(context)?;
        context.routine.affected = AffectedRows::of_read(i64::from(row.is_some()));
        let Some(row) = row else { return Ok(()) };
        if cursor.next(context)?.is_some() {
            return Err(Error::new(isc::SING_SELECT_ERR));
        }
        store(routine, &row, targets, context)
    }

    fn take_kept(&mut self, instruction: usize) -> Kept {
        self.kept.get_mut(instruction).map(std::mem::take).unwrap_or_default()
    }

    fn keep(&mut self, instruction: usize, kept: Kept) {
        if self.kept.is_empty() {
            self.kept.resize_with(self.routine.instructions.len(), Kept::default);
        }
        if let Some(place) = self.kept.get_mut(instruction) {
            *place = kept;
        }
    }

    // ---- Calls ----

    fn call_procedure(
        &mut self,
        routine: &CompiledRoutine,
        procedure_call: &ProcedureCall,
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        let mut inputs = Vec::with_capacity(procedure_call.arguments.len());
        for argument in &procedure_call.arguments {
            inputs.push(self.evaluate(argument, context)?);
        }
        let row =
            Execution::call_procedure_with(&self.declaring, &procedure_call.procedure, inputs, context)?;
        self.seen_changes = None;
        store(routine, &row, &procedure_call.targets, context)
    }
}

/// Opens a query. Where it calls local routines, which may change what it reads, its rows are computed one by one.
fn opened(plan: &Arc<SelectPlan>, context: &mut ExecutionContext<'_>) -> Result<Cursor> {
    match plan.calls_local_routines {
        true => Cursor::open_live(plan, context),
        false => Cursor::open(plan, context),
    }
}

/// What a variable's text is charged with: shorter ones cost little more than their slot.
fn charged_bytes(value: &Value) -> usize {
    let bytes = heap_bytes(value);
    if bytes > TEXT_BYTES_UNCHARGED { bytes } else { 0 }
}

/// Sets a variable of the running frame.
///
/// # Errors
/// `virmemexh` past the statement's memory.
pub(super) fn assign(context: &mut ExecutionContext<'_>, slot: usize, value: Value) -> Result<()> {
    let Some(variable) = context.parameters.get_mut(slot) else { return Ok(()) };
    if !matches!((&*variable, &value), (Value::Text(_), _) | (_, Value::Text(_))) {
        *variable = value;
        return Ok(());
    }
    let (before, after) = (charged_bytes(variable), charged_bytes(&value));
    match (&mut context.variables, after.checked_sub(before)) {
        (_, Some(0)) | (None, None) => {}
        (texts, Some(more)) => texts.get_or_insert_with(|| context.values.budget.reserve()).grow(more)?,
        (Some(texts), None) => texts.shrink(before - after),
    }
    *variable = value;
    Ok(())
}

/// Stores the values of a row.
///
/// # Errors
/// Those of conversions and constraints.
pub(super) fn store(
    routine: &CompiledRoutine,
    row: &[Value],
    targets: &[Store],
    context: &mut ExecutionContext<'_>,
) -> Result<()> {
    for target in targets {
        let value = row.get(target.column).cloned();
        let value = value.ok_or_else(|| Error::internal("a row without a column for a variable"))?;
        let value = match &target.cast {
            Some(to) => converted(value, to, context)?,
            None => value,
        };
        if let Some(constraint) = target.constraint.and_then(|number| routine.constraints.get(number)) {
            constraint.verify(&value, context)?;
        }
        assign(context, target.slot, value)?;
    }
    Ok(())
}

fn converted(value: Value, to: &SqlType, context: &mut ExecutionContext<'_>) -> Result<Value> {
    if value.is_null() { Ok(value) } else { blob::cast_value(value, to, context) }
}

/// A cursor's own fields are NULL where it has no row.
pub(super) fn forget_row(definition: &CursorDefinition, context: &mut ExecutionContext<'_>) -> Result<()> {
    definition.fields.iter().try_for_each(|field| assign(context, field.slot, Value::Null))
}

/// Whether a loop is FOR EXECUTE STATEMENT: its rows are not counted.
fn is_of_text(routine: &CompiledRoutine, cursor: usize) -> bool {
    let definition = routine.cursors.get(cursor);
    definition.is_some_and(|definition| matches!(definition.source, CursorSource::Dynamic(_)))
}

fn modify_rows(
    routine: &CompiledRoutine,
    plan: &ModifyPlan,
    source: &mut KeptSource,
    targets: &[Store],
    context: &mut ExecutionContext<'_>,
) -> Result<()> {
    context.routine.affected = AffectedRows::of_changed(0);
    let modified = modify_again(plan, source, context)?;
    context.routine.affected = AffectedRows::of_changed(modified.rows);
    store_returned(routine, modified, targets, context)
}

/// Stores the row of RETURNING, if there is one.
pub(super) fn store_returned(
    routine: &CompiledRoutine,
    mut modified: Modified,
    targets: &[Store],
    context: &mut ExecutionContext<'_>,
) -> Result<()> {
    if targets.is_empty() {
        return Ok(());
    }
    let Some(row) = modified.returned.next_row()? else { return Ok(()) };
    match modified.returned.next_row()? {
        None => store(routine, &row, targets, context),
        Some(_) => Err(Error::new(isc::SING_SELECT_ERR)),
    }
}

/// POST_EVENT: the transaction tells of it when it commits. A NULL is the name without characters, and spaces at the end are
/// no part of a name.
fn post_event(name: &Value, context: &mut ExecutionContext<'_>) -> Result<()> {
    let name = match name {
        Value::Null => String::new(),
        Value::Blob(_) => return Err(Error::new(isc::CONVERT_ERROR).with("BLOB")),
        name => condition::text_of(name, context)?,
    };
    match context.transaction.store.post_event(name.trim_end_matches(' '))? {
        true => Ok(()),
        false => Err(Error::new(isc::IMP_EXC)
            .and(isc::RANDOM)
            .with("one transaction can post 65,536 events of different names")),
    }
}

/// A selectable procedure gives row after row.
impl ProcedureRows for Execution {
    fn next(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>> {
        self.resume(context)
    }
}
