//! What a running statement has at hand.

use farbird_store::ReadView;
use farbird_types::{Result, TimestampTz, Value};

use crate::api::RecordCounts;
use crate::database::Database;
use crate::session::Session;
use crate::transaction::Transaction;

/// What a running statement has at hand: where it runs, for whom, with which parameters.
///
/// Made anew for each call into the engine (execute, each fetch): nothing in it outlives the call, so a cursor stays a
/// value between two fetches. State that must live on (variables of a PSQL frame, positions of scans) belongs to the
/// cursor's own operators and frames.
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
    /// Values of the statement's parameters, already converted to the described types.
    pub parameters: &'a [Value],
    /// Rows touched so far.
    pub counts: RecordCounts,
    /// How deeply triggers, procedures and EXECUTE STATEMENT are nested; see `psql::DEPTH_MAX`.
    pub depth: u32,
}

impl ExecutionContext<'_> {
    /// Fails if the statement must stop: cancelled, out of time, server going down.
    pub fn check_interrupt(&self) -> Result<()> {
        self.session.interrupt.check()
    }
}
