//! What a running statement has at hand, and what it asks of those above.
//!
//! Expressions run queries and stored functions; rows that change fire triggers; plans read procedures and system tables.
//! All of that is done by floors that stand above this one, so it is said here as traits ([`Above`]), which they implement.

use std::any::Any;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use farbird_budget::{Reservation, StatementBudget};
use farbird_catalog::database::Database;
use farbird_catalog::transaction::Transaction;
use farbird_catalog::triggers::TriggerMoment;
use farbird_catalog::{Relation, Routine};
use farbird_function::Context;
use farbird_session::{RecordCounts, Session, clock};
use farbird_sql::ast::{DdlStatement, TriggerAction};
use farbird_store::{ReadView, RowId, Savepoint};
use farbird_types::{CastContext, Error, Result, TimestampTz, Value};

use crate::affected_rows::AffectedRows;
use crate::compiled_pattern::CompiledPattern;
use crate::frame_size::FrameSize;
use crate::measurement::Measurements;
use crate::restart::Restart;
use crate::stack::StackSegment;
use crate::tree::Subquery;

/// What a running statement has at hand: where it runs, for whom, with which parameters. What of that single values are
/// computed with is a [`Context`] of the functions, whose fields can be named here as if they were its own.
///
/// Made anew for each call into the engine (execute, each fetch): nothing in it outlives the call, so a cursor stays a
/// value between two fetches. State that must live on (variables of a PSQL frame, positions of scans) belongs to the
/// cursor's own operators and frames, which swap it in for the time of a call.
pub struct ExecutionContext<'a> {
    /// What functions see.
    pub values: Context<'a>,
    /// Whom to ask for what is done above.
    pub above: &'static Above,
    /// What the statement sees: taken once when it starts; kept by its cursor.
    pub view: ReadView,
    /// What `Expression::Parameter` reads. For a client's statement its parameters, already converted to the described
    /// types; inside PSQL the variables of the running frame, which swaps them in while it runs.
    pub parameters: Vec<Value>,
    /// Rows touched so far by the statement itself.
    pub counts: RecordCounts,
    /// How many rows have been changed by what it has called.
    pub changed_by_others: u64,
    /// How deeply triggers, procedures and EXECUTE STATEMENT are nested; at most [`DEPTH_MAX`](crate::DEPTH_MAX).
    pub depth: u32,
    /// How many EXECUTE STATEMENT are running within each other.
    pub executed_texts: u32,
    /// The running plan's own state; swapped in by cursors and by DML.
    pub frame: Frame,
    /// What ROW_COUNT, GDSCODE, INSERTING ... read; swapped in by PSQL frames.
    pub routine: RoutineState,
    /// What long texts in the running routine's variables are charged to; swapped in by PSQL frames.
    pub variables: Option<Reservation>,
    /// Whether it may run again because of others' changes. [`Restart::Never`] unless whoever runs it says otherwise.
    pub restart: Restart,
    /// Room for short texts that are being computed.
    pub room: Vec<u8>,
    /// Where plans that are opened note what they do, if somebody wants to know.
    pub measurements: Option<Arc<Measurements>>,
}

/// What the context variables of PSQL read.
#[derive(Default)]
pub struct RoutineState {
    /// ROW_COUNT: rows touched by the latest statement of the frame.
    pub affected: AffectedRows,
    /// INSERTING, UPDATING, DELETING: what fired the running trigger.
    pub trigger_action: Option<TriggerAction>,
    /// GDSCODE, SQLCODE, SQLSTATE, RDB$ERROR: what the running handler handles.
    pub error: Option<Error>,
    /// RESETTING: whether ALTER SESSION RESET is running.
    pub resetting: bool,
    /// What runs and who called it: PSQL's own.
    pub call: Option<Box<dyn Any + Send>>,
    /// Where it stands: the number of the instruction that is being executed.
    pub instruction: usize,
    /// How much room there is to nest further.
    pub stack: Option<StackSegment>,
}

impl<'a> ExecutionContext<'a> {
    /// A context for one call, with nothing done yet. `now` is in the session's time zone.
    #[expect(clippy::too_many_arguments, reason = "each is a thing of its own that a statement has at hand")]
    pub fn new(
        above: &'static Above,
        database: &'a Arc<Database>,
        session: &'a Session,
        transaction: &'a Transaction,
        view: ReadView,
        now: TimestampTz,
        parameters: Vec<Value>,
        budget: Arc<StatementBudget>,
    ) -> ExecutionContext<'a> {
        ExecutionContext {
            values: Context {
                database,
                session,
                transaction,
                now,
                texts: budget.reserve(),
                budget,
                cast: CastContext {
                    session_zone: now.zone,
                    now: clock::utc,
                    decimal: session.settings.lock().decimal,
                    month_names: false,
                },
                definer: None,
            },
            above,
            view,
            parameters,
            counts: RecordCounts::default(),
            changed_by_others: 0,
            depth: 0,
            executed_texts: 0,
            frame: Frame::default(),
            routine: RoutineState::default(),
            variables: None,
            restart: Restart::Never,
            room: Vec::new(),
            measurements: None,
        }
    }
}

impl<'a> ExecutionContext<'a> {
    /// The same for a statement of a dialect.
    #[must_use]
    pub fn in_dialect(mut self, dialect: u8) -> ExecutionContext<'a> {
        self.values.cast.month_names = dialect == 1;
        self
    }

    /// One for another thread that computes values for this statement: it sees the same, and shares nothing that changes.
    pub fn for_thread(&self) -> ExecutionContext<'a> {
        let (values, view, parameters) = (&self.values, self.view.clone(), self.parameters.clone());
        let mut context = ExecutionContext::new(
            self.above,
            values.database,
            values.session,
            values.transaction,
            view,
            values.now,
            parameters,
            Arc::clone(&values.budget),
        );
        context.values.cast = values.cast;
        context.values.definer.clone_from(&values.definer);
        context.depth = self.depth;
        context.executed_texts = self.executed_texts;
        context.frame = self.frame.descend();
        context
    }
}

impl ExecutionContext<'_> {
    /// Asks for a restart, if there can be one: for who has met a row that others have changed.
    pub fn want_restart(&mut self) {
        if self.restart == Restart::Possible {
            self.restart = Restart::Wanted;
        }
    }

    /// How many rows have been changed so far, by whomever: a number that grows with each change.
    pub fn changes(&self) -> u64 {
        let RecordCounts { inserted, updated, deleted, .. } = self.counts;
        inserted.wrapping_add(updated).wrapping_add(deleted).wrapping_add(self.changed_by_others)
    }

    /// Runs what is a statement of its own: the rows that it touches are not counted as those of the statement that calls it.
    pub fn uncounted<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let counts = std::mem::take(&mut self.counts);
        let result = run(self);
        let RecordCounts { inserted, updated, deleted, .. } = std::mem::replace(&mut self.counts, counts);
        let changed = inserted.wrapping_add(updated).wrapping_add(deleted);
        self.changed_by_others = self.changed_by_others.wrapping_add(changed);
        result
    }

    /// Whether the statement is going to run again.
    pub fn is_restarting(&self) -> bool {
        self.restart == Restart::Wanted
    }

    /// Undoes what failed. What is going to run again keeps its rows locked: they are those that it will want.
    ///
    /// # Errors
    /// Those of the store.
    pub fn undo_to(&self, savepoint: Savepoint) -> Result<()> {
        let store = &self.transaction.store;
        match self.is_restarting() {
            true => store.rollback_to_locked(savepoint)?,
            false => store.rollback_to(savepoint)?,
        }
        Ok(())
    }
}

impl<'a> Deref for ExecutionContext<'a> {
    type Target = Context<'a>;

    #[inline]
    fn deref(&self) -> &Context<'a> {
        &self.values
    }
}

impl<'a> DerefMut for ExecutionContext<'a> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Context<'a> {
        &mut self.values
    }
}

impl<'a> AsMut<Context<'a>> for ExecutionContext<'a> {
    #[inline]
    fn as_mut(&mut self) -> &mut Context<'a> {
        &mut self.values
    }
}

/// The state of one running plan that its expressions share.
///
/// Plans and expressions are immutable and shared; what changes while they run stands here: the values that inner
/// parts of a plan take from the rows of outer ones, the operators of subqueries, compiled patterns. A frame belongs
/// to one cursor (or one running statement) and is swapped into the context while that runs.
#[derive(Default)]
pub struct Frame {
    /// Values taken from outer rows: written by joins and subqueries before their inner side runs.
    pub registers: Vec<Option<Value>>,
    /// Subqueries by number; taken out while they run.
    pub subqueries: Vec<Option<Box<dyn RunningSubquery>>>,
    /// The pattern last compiled at each place, with the text it came from.
    pub patterns: Vec<Option<(Value, Arc<CompiledPattern>)>>,
    /// The row of each recursive common table that its recursive member looks at.
    pub working_rows: Vec<Vec<Value>>,
    /// The rows that are computed once for several places, as the operators keep them: one list for all frames of a run, however
    /// deep, as nothing that differs between those is looked at.
    pub shared_rows: Arc<[OnceLock<Arc<dyn Any + Send + Sync>>]>,
}

impl Frame {
    /// A frame for a plan.
    pub fn new(size: FrameSize) -> Frame {
        let mut frame = Frame::default();
        frame.registers.resize(size.registers, None);
        frame.subqueries.resize_with(size.subqueries, || None);
        frame.patterns.resize(size.patterns, None);
        frame.working_rows.resize(size.working_rows, Vec::new());
        frame.shared_rows = (0..size.shared_rows).map(|_| OnceLock::new()).collect();
        frame
    }

    /// A register's value; `None` for one that nobody has written: the plan is wrong.
    pub fn register(&self, number: usize) -> Option<&Value> {
        self.registers.get(number)?.as_ref()
    }

    /// Writes a register.
    pub fn set_register(&mut self, number: usize, value: Value) {
        if let Some(register) = self.registers.get_mut(number) {
            *register = Some(value);
        }
    }

    /// A frame of the same plan for a deeper level of recursion: the same outer values and shared rows, fresh
    /// subqueries.
    pub fn descend(&self) -> Frame {
        let mut frame = Frame { registers: self.registers.clone(), ..Frame::default() };
        frame.subqueries.resize_with(self.subqueries.len(), || None);
        frame.shared_rows = Arc::clone(&self.shared_rows);
        frame.patterns.clone_from(&self.patterns);
        frame.working_rows.clone_from(&self.working_rows);
        frame
    }

    /// Makes a frame that [`Frame::descend`] has given what it would give now. Compiled patterns stay.
    pub fn descend_again(&mut self, from: &Frame) {
        self.registers.clone_from(&from.registers);
        self.subqueries.iter_mut().for_each(|running| *running = None);
        self.working_rows.clone_from(&from.working_rows);
    }
}

/// What a running statement asks of the floors above. Made once, by the one on top.
pub struct Above {
    /// Runs the queries inside expressions.
    pub subqueries: &'static dyn Subqueries,
    /// Runs stored functions, selectable procedures and triggers.
    pub routines: &'static dyn Routines,
    /// Knows the rows of system tables.
    pub system_tables: &'static dyn SystemTables,
    /// Executes definitions.
    pub definitions: &'static dyn Definitions,
}

/// Whoever runs the queries inside expressions.
pub trait Subqueries: Sync {
    /// Makes the operators of a subquery's plan, for this context. Nothing runs yet.
    ///
    /// # Errors
    /// The plan is none of the planner's: a mistake of ours.
    fn start(&self, query: &Subquery, context: &ExecutionContext<'_>) -> Result<Box<dyn RunningSubquery>>;
}

/// A subquery of a running plan.
pub trait RunningSubquery: Send {
    /// Its value, given what it takes from the enclosing row (registers and values) and, if it is a quantified one, its left
    /// operand.
    ///
    /// # Errors
    /// `sing_select_err` if a scalar subquery gives several rows; those of its expressions.
    fn value(
        &mut self,
        query: &Subquery,
        captured: Vec<(usize, Value)>,
        operand: &Value,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Value>;
}

/// Whoever runs PSQL.
pub trait Routines: Sync {
    /// Calls a stored function with converted arguments; missing ones get their defaults.
    ///
    /// # Errors
    /// Those of compiling and running it.
    fn call_function(
        &self,
        function: &Arc<Routine>,
        arguments: Vec<Value>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Value>;

    /// Calls a function declared in the running routine, by its number there.
    ///
    /// # Errors
    /// Those of running it.
    fn call_local_function(
        &self,
        number: usize,
        arguments: Vec<Value>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Value>;

    /// Begins a selectable procedure with converted inputs; missing ones get their defaults.
    ///
    /// # Errors
    /// Those of compiling it, and of its inputs' constraints.
    fn open_procedure(
        &self,
        procedure: &Arc<Routine>,
        inputs: Vec<Value>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Box<dyn ProcedureRows>>;

    /// Fires the triggers of a relation, in order of position and name.
    ///
    /// # Errors
    /// Those of compiling and running them; the statement undoes what they did.
    fn fire_triggers(
        &self,
        relation: &Relation,
        moment: TriggerMoment,
        action: TriggerAction,
        rows: FiredRows<'_>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<()>;

    /// The error with the stack of the running routines, whose innermost line is a system trigger: that of a foreign key.
    fn with_system_trigger(&self, name: &str, error: Error, context: &ExecutionContext<'_>) -> Error;
}

/// The rows that triggers are fired for, by field id, as far as there are such.
#[derive(Debug, Default)]
pub struct FiredRows<'r> {
    /// OLD.
    pub old: Option<&'r [Value]>,
    /// The number of OLD's row, if it is one of a stored table.
    pub old_number: Option<RowId>,
    /// NEW, which BEFORE triggers may change.
    pub new: Option<&'r mut Vec<Value>>,
    /// The number of NEW's row: none before a row is inserted.
    pub new_number: Option<RowId>,
}

/// A selectable procedure that is running: FROM procedure(...).
pub trait ProcedureRows: Send {
    /// Its next row, all outputs; `None` at the end.
    ///
    /// # Errors
    /// Those of the procedure.
    fn next(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>>;
}

/// Whoever knows the rows of system tables.
pub trait SystemTables: Sync {
    /// The rows of a system table: values by the position of the column. Columns that `wanted` does not ask for stay NULL.
    ///
    /// # Errors
    /// From making BLOBs, and from the user directory.
    fn rows(
        &self,
        relation: &Relation,
        wanted: &[bool],
        context: &mut ExecutionContext<'_>,
    ) -> Result<Vec<Vec<Value>>>;

    /// DELETE of a row about the live server: what it shows is stopped.
    ///
    /// # Errors
    /// `read_only` for tables that show nothing to be stopped.
    fn stop(&self, relation: &Relation, row: &[Value], context: &ExecutionContext<'_>) -> Result<()>;

    /// UPDATE of a row: sources of definitions are hidden by NULL.
    ///
    /// # Errors
    /// `read_only` for tables about the live server, `protect_sys_tab` for whatever else is changed.
    fn change(
        &self,
        relation: &Relation,
        old: &[Value],
        new: &[Value],
        context: &mut ExecutionContext<'_>,
    ) -> Result<()>;
}

/// Whoever executes definitions.
pub trait Definitions: Sync {
    /// Executes a definition in the context's transaction, whole or not at all. `text` is how it was written.
    ///
    /// # Errors
    /// Those of the definition.
    fn execute(
        &self,
        statement: &DdlStatement,
        text: &Arc<str>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Frame;
    use crate::frame_size::FrameSize;

    #[test]
    fn rows_that_a_deeper_level_has_computed_are_there_for_all() {
        let frame = Frame::new(FrameSize { shared_rows: 2, ..FrameSize::default() });
        let deeper = frame.descend();
        deeper.descend().shared_rows[1].set(Arc::new(7)).expect("nothing there");
        for frame in [&frame, &deeper, &frame.descend()] {
            let known = frame.shared_rows[1].get().and_then(|known| known.downcast_ref());
            assert_eq!(known, Some(&7));
            assert!(frame.shared_rows[0].get().is_none());
        }
        assert!(
            Frame::new(FrameSize { shared_rows: 2, ..FrameSize::default() }).shared_rows[1].get().is_none()
        );
    }
}
