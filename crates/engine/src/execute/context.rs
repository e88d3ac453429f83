//! What a running statement has at hand.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use farbird_function::Context;
use farbird_sql::ast::TriggerAction;
use farbird_store::ReadView;
use farbird_types::{CastContext, Error, TimestampTz, Value};

use crate::api::RecordCounts;
use crate::budget::{Reservation, StatementBudget};
use crate::clock;
use crate::database::Database;
use crate::execute::frame::Frame;
use crate::session::Session;
use crate::transaction::Transaction;

/// What a running statement has at hand: where it runs, for whom, with which parameters. What of that single values are
/// computed with is a [`Context`] of the functions, whose fields can be named here as if they were its own.
///
/// Made anew for each call into the engine (execute, each fetch): nothing in it outlives the call, so a cursor stays a
/// value between two fetches. State that must live on (variables of a PSQL frame, positions of scans) belongs to the
/// cursor's own operators and frames, which swap it in for the time of a call.
pub struct ExecutionContext<'a> {
    /// What functions see.
    pub values: Context<'a>,
    /// What the statement sees: taken once when it starts; kept by its cursor.
    pub view: ReadView,
    /// What `Expression::Parameter` reads. For a client's statement its parameters, already converted to the described
    /// types; inside PSQL the variables of the running frame, which swaps them in while it runs.
    pub parameters: Vec<Value>,
    /// Rows touched so far.
    pub counts: RecordCounts,
    /// How deeply triggers, procedures and EXECUTE STATEMENT are nested; see `psql::DEPTH_MAX`.
    pub depth: u32,
    /// The running plan's own state; swapped in by cursors and by DML.
    pub frame: Frame,
    /// What ROW_COUNT, GDSCODE, INSERTING ... read; swapped in by PSQL frames.
    pub routine: RoutineState,
    /// What long texts in the running routine's variables are charged to; swapped in by PSQL frames.
    pub variables: Option<Reservation>,
}

/// What the context variables of PSQL read.
#[derive(Debug, Clone, Default)]
pub struct RoutineState {
    /// ROW_COUNT: rows touched by the latest statement of the frame.
    pub row_count: i64,
    /// INSERTING, UPDATING, DELETING: what fired the running trigger.
    pub trigger_action: Option<TriggerAction>,
    /// GDSCODE, SQLCODE, SQLSTATE, RDB$ERROR: what the running handler handles.
    pub error: Option<Error>,
    /// RESETTING: whether ALTER SESSION RESET is running.
    pub resetting: bool,
    /// What runs, where it stands and who called it: PSQL's own.
    pub call: Option<Box<crate::psql::CallFrame>>,
    /// How much room there is to nest further: PSQL's own.
    pub stack: Option<crate::psql::StackSegment>,
}

impl<'a> ExecutionContext<'a> {
    /// A context for one call, with nothing done yet. `now` is in the session's time zone.
    pub fn new(
        database: &'a Database,
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
                cast: CastContext { session_zone: now.zone, now: clock::utc },
                definer: None,
            },
            view,
            parameters,
            counts: RecordCounts::default(),
            depth: 0,
            frame: Frame::default(),
            routine: RoutineState::default(),
            variables: None,
        }
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
