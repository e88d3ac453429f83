//! Shutting a database down, bringing it online, and who may attach meanwhile.

use std::sync::Arc;
use std::time::Duration;

use farbird_types::{Error, Result, isc};

use super::maintenance::ClosedGate;
use crate::attachment::Attachment;
use crate::catalog::privileges::Actor;
use crate::catalog::{Denied, SystemPrivilege};
use crate::maintenance::{Shutdown, ShutdownMode, ShutdownWait};
use crate::session::{Session, StopReason};

/// How long is waited for sessions that were told to end: they look between two rows.
const END_TIMEOUT: Duration = Duration::from_secs(10);

impl Attachment {
    /// Refuses a session that may not be while the database is shut down.
    ///
    /// # Errors
    /// `isc_shutdown`; `isc_shutinprog` while somebody waits for others to leave.
    pub(super) fn check_available(&self) -> Result<()> {
        if self.has_shut_down {
            return Ok(());
        }
        let database = self.database();
        if !database.shutdown_gate.admits_attachments() {
            return Err(self.is_being_shut_down());
        }
        let catalog = database.catalog();
        let may = || Actor::of(&self.session).has(&catalog, SystemPrivilege::AccessShutdownDatabase);
        let is_admitted = match catalog.database.shutdown {
            ShutdownMode::Normal => true,
            ShutdownMode::Multi => may(),
            ShutdownMode::Single => may() && self.others().is_empty(),
            ShutdownMode::Full => false,
        };
        if is_admitted { Ok(()) } else { Err(Error::new(isc::SHUTDOWN).with(self.shown_path())) }
    }

    /// Refuses a transaction that may not begin while the database is being shut down.
    #[inline]
    pub(super) fn check_may_begin(&self) -> Result<()> {
        match self.database().shutdown_gate.admits_transactions() {
            true => Ok(()),
            false => Err(self.is_being_shut_down()),
        }
    }

    pub(super) fn is_being_shut_down(&self) -> Error {
        Error::new(isc::SHUTINPROG).with(self.shown_path())
    }

    /// The other sessions.
    pub(super) fn others(&self) -> Vec<Arc<Session>> {
        let attachments = self.database().attachments.lock();
        attachments.values().filter(|session| session.id != self.session.id).cloned().collect()
    }

    /// Shuts the database down: the others leave, or are ended. This session stays until it detaches.
    pub(super) fn shut_down(&mut self, wanted: &Shutdown) -> Result<()> {
        let database = Arc::clone(self.database());
        self.check_may_change_mode("shutdown")?;
        let Some(_only_one) = database.maintenance.try_lock() else { return Err(self.is_being_shut_down()) };
        if wanted.mode <= self.mode_to_change()? {
            return Err(self.bad_mode());
        }
        let gate = ClosedGate::close(
            &database,
            match wanted.wait {
                ShutdownWait::Force => Denied::Nothing,
                ShutdownWait::Attachments => Denied::Attachments,
                ShutdownWait::Transactions => Denied::Transactions,
            },
        );
        let waits_for_transactions = wanted.wait == ShutdownWait::Transactions;
        let have_left = self.wait_for(wanted.timeout, |attachment| {
            let others = attachment.others();
            match waits_for_transactions {
                true => others.iter().all(|session| session.activity.lock().transactions.is_empty()),
                false => others.is_empty(),
            }
        })?;
        if !have_left && wanted.wait != ShutdownWait::Force {
            return Err(Error::new(isc::SHUTFAIL));
        }
        gate.deny(Denied::Transactions);
        self.end_others()?;
        self.change_properties(|properties| properties.shutdown = wanted.mode)?;
        self.has_shut_down = true;
        tracing::info!(by = self.session.options.user, database = %database.path.display(), mode = ?wanted.mode, "shut down");
        Ok(())
    }

    /// Lets more users in.
    pub(super) fn bring_online(&mut self, mode: ShutdownMode) -> Result<()> {
        let database = Arc::clone(self.database());
        self.check_may_change_mode("bring online")?;
        let Some(_only_one) = database.maintenance.try_lock() else { return Err(self.is_being_shut_down()) };
        if mode >= self.mode_to_change()? {
            return Err(self.bad_mode());
        }
        self.change_properties(|properties| properties.shutdown = mode)?;
        tracing::info!(by = self.session.options.user, database = %database.path.display(), ?mode, "brought online");
        Ok(())
    }

    fn check_may_change_mode(&self, what: &str) -> Result<()> {
        match Actor::of(&self.session).has(&self.database().catalog(), SystemPrivilege::ChangeShutdownMode) {
            true => Ok(()),
            false => Err(Error::new(isc::NO_PRIV).with(what).with("database").with(self.shown_path())),
        }
    }

    /// How far the database is shut down.
    ///
    /// # Errors
    /// `isc_shutdown` if that is for somebody else to change, who is its only user.
    fn mode_to_change(&self) -> Result<ShutdownMode> {
        match self.database().catalog().database.shutdown {
            ShutdownMode::Single if !self.others().is_empty() => {
                Err(Error::new(isc::SHUTDOWN).with(self.shown_path()))
            }
            mode => Ok(mode),
        }
    }

    fn bad_mode(&self) -> Error {
        Error::new(isc::BAD_SHUTDOWN_MODE).with(self.shown_path())
    }

    /// Ends the other sessions, and waits until what they did is rolled back. A session of a program that embeds the engine
    /// stays until the program lets go of it; it can do nothing any more.
    fn end_others(&self) -> Result<()> {
        self.others().iter().for_each(|session| session.interrupt.raise(StopReason::DatabaseShutdown));
        self.wait_for(END_TIMEOUT, |attachment| attachment.others().is_empty()).map(|_| ())
    }
}
