//! What a function has at hand while it is computed.

use std::sync::Arc;

use farbird_budget::{Reservation, StatementBudget};
use farbird_catalog::database::Database;
use farbird_catalog::privileges::Actor;
use farbird_catalog::transaction::Transaction;
use farbird_session::Session;
use farbird_types::{CastContext, Result, TimestampTz};

/// Where a value is computed, for whom, and what that is charged to. What runs statements has one of these in its own
/// context.
pub struct Context<'a> {
    /// The database.
    pub database: &'a Arc<Database>,
    /// The attachment.
    pub session: &'a Session,
    /// The transaction.
    pub transaction: &'a Transaction,
    /// CURRENT_TIMESTAMP of the statement: the same for all its rows.
    pub now: TimestampTz,
    /// What memory and temporary space are charged to: the client's statement, also for all that it calls.
    pub budget: Arc<StatementBudget>,
    /// What long texts in expressions are charged to, as long as they are worked with: see [`crate::blob`].
    pub texts: Reservation,
    /// What conversions need: the session's time zone and the statement's time.
    pub cast: CastContext,
    /// In whose name it is computed, if not in the session's user's: SQL SECURITY DEFINER.
    pub definer: Option<Arc<str>>,
}

impl Context<'_> {
    /// In whose name a statement runs now: whoever is attached, or the owner of the running routine.
    pub fn actor(&self) -> Actor {
        let actor = Actor::of(self.session);
        match &self.definer {
            Some(definer) => actor.in_name_of(definer),
            None => actor,
        }
    }

    /// Fails if the statement must stop: cancelled, out of time, server going down. A plain load: loops over rows call it
    /// for each.
    ///
    /// # Errors
    /// Why it must stop.
    #[inline]
    pub fn check_interrupt(&self) -> Result<()> {
        self.session.interrupt.check()
    }
}

impl<'a> AsMut<Context<'a>> for Context<'a> {
    fn as_mut(&mut self) -> &mut Context<'a> {
        self
    }
}
