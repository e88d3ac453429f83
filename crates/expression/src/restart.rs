//! Whether what a client asked for runs again because others were quicker to change a row that it wants: READ COMMITTED, which
//! is always READ CONSISTENCY.
//!
//! As in Firebird it is the whole of what the client asked for that runs again under a new view, however deep inside of it the
//! row was met: a routine that has read a balance and then takes something off it reads it again. What it did is undone, the
//! rows that it has locked stay locked, and no handler of a routine sees the conflict.

use farbird_store::Savepoint;
use farbird_types::Result;

use crate::context::ExecutionContext;

/// How often a statement runs again; then the conflict is an error. Firebird's number.
const RESTARTS_MAX: usize = 10;

/// What becomes of a statement that wants a row which others have changed since its view was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Restart {
    /// It gets the conflict: it is in an autonomous transaction, has given rows already, or has begun again too often.
    #[default]
    Never,
    /// It can run again.
    Possible,
    /// It is going to: all that runs ends with the conflict, which nobody handles.
    Wanted,
}

impl Restart {
    /// What a statement may do that has begun again so often.
    pub fn after(restarts: usize) -> Restart {
        if restarts < RESTARTS_MAX { Restart::Possible } else { Restart::Never }
    }
}

impl ExecutionContext<'_> {
    /// Asks for a restart, if there can be one: for who has met a row that others have changed.
    pub fn want_restart(&mut self) {
        if self.restart == Restart::Possible {
            self.restart = Restart::Wanted;
        }
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
