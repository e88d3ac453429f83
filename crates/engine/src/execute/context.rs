//! What a running statement has at hand.

use std::sync::Arc;

use farbird_sql::ast::TriggerAction;
use farbird_store::ReadView;
use farbird_types::{CastContext, Error, Result, TimestampTz, Value};

use crate::api::RecordCounts;
use crate::budget::{Reservation, StatementBudget};
use crate::catalog::privileges::Actor;
use crate::clock;
use crate::database::Database;
use crate::execute::frame::Frame;
use crate::session::Session;
use crate::transaction::Transaction;

/// What a running statement has at hand: where it runs, for whom, with which parameters.
///
/// Made anew for each call into the engine (execute, each fetch): nothing in it outlives the call, so a cursor stays a
/// value between two fetches. State that must live on (variables of a PSQL frame, positions of scans) belongs to the
/// cursor's own operators and frames, which swap it in for the time of a call.
pub struct ExecutionContext<'a> {
    /// The database.
    pub database: &'a Database,
    /// The attachment.
    pub session: &'a Session,
    /// The transaction.
    pub transaction: &'a Transaction,
    /// What the statement sees: taken once when it starts; kept by its cursor.
    pub view: ReadView,
    /// CURRENT_TIMESTAMP of the statement: the same for all its rows.
    pub now: TimestampTz,
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
    /// What memory and temporary space are charged to: the client's statement, also for all that it calls.
    pub budget: Arc<StatementBudget>,
    /// What long texts in the running routine's variables are charged to; swapped in by PSQL frames.
    pub variables: Option<Reservation>,
    /// What long texts in expressions are charged to, as long as they are worked with: see `expression::blob`.
    pub texts: Reservation,
    /// What conversions need: the session's time zone and the statement's time.
    pub cast: CastContext,
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
    /// In whose name it runs, if not in the session's user's: SQL SECURITY DEFINER.
    pub definer: Option<std::sync::Arc<str>>,
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
            database,
            session,
            transaction,
            view,
            now,
            parameters,
            counts: RecordCounts::default(),
            depth: 0,
            frame: Frame::default(),
            routine: RoutineState::default(),
            variables: None,
            texts: budget.reserve(),
            budget,
            cast: CastContext { session_zone: now.zone, now: clock::utc },
        }
    }

    /// In whose name a statement runs now: whoever is attached, or the owner of the running routine.
    pub fn actor(&self) -> Actor {
        let actor = Actor::of(self.session);
        match &self.routine.definer {
            Some(definer) => actor.in_name_of(definer),
            None => actor,
        }
    }

    /// Fails if the statement must stop: cancelled, out of time, server going down. A plain load: loops over rows call it
    /// for each.
    #[inline]
    pub fn check_interrupt(&self) -> Result<()> {
        self.session.interrupt.check()
    }
}
