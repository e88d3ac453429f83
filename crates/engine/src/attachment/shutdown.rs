//! Shutting a database down, bringing it online, and who may attach meanwhile.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use farbird_types::{Error, Result, isc};
use parking_lot::MutexGuard;

use super::maintenance::{ClosedGate, POLL, Stoppable};
use crate::attachment::Attachment;
use crate::catalog::privileges::Actor;
use crate::catalog::{Denied, SystemPrivilege};
use crate::database::Database;
use crate::maintenance::{Shutdown, ShutdownMode, ShutdownWait};
use crate::session::{Session, StopReason};

/// How long is waited for sessions that were told to end: they look between two rows.
const END_TIMEOUT: Duration = Duration::from_secs(10);

impl Attachment {
    /// Refuses a session that may not be while the database is shut down. One that may counts among the others from here on.
    ///
    /// # Errors
    /// `isc_shutdown`; `isc_shutinprog` while somebody waits for others to leave.
    pub(super) fn check_available(&self) -> Result<()> {
        if self.has_shut_down {
            return Ok(());
        }
        let database = self.database();
        // Looked at and counted in one: whoever closes the gate sees all who came through it.
        let attachments = database.attachments.lock();
        if !database.shutdown_gate.admits_attachments() {
            return Err(self.is_being_shut_down());
        }
        let catalog = database.catalog();
        let may = || Actor::of(&self.session).has(&catalog, SystemPrivilege::AccessShutdownDatabase);
        let is_admitted = match catalog.database.shutdown {
            ShutdownMode::Normal => true,
            ShutdownMode::Multi => may(),
            ShutdownMode::Single => may() && !attachments.values().any(|session| self.is_other(session)),
            ShutdownMode::Full => false,
        };
        if !is_admitted {
            return Err(Error::new(isc::SHUTDOWN).with(self.shown_path()));
        }
        self.session.is_admitted.store(true, Ordering::Release);
        Ok(())
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

    /// The other sessions; those left out that may be refused yet.
    pub(super) fn others(&self) -> Vec<Arc<Session>> {
        let attachments = self.database().attachments.lock();
        attachments.values().filter(|session| self.is_other(session)).cloned().collect()
    }

    fn is_other(&self, session: &Session) -> bool {
        session.id != self.session.id && session.is_admitted.load(Ordering::Acquire)
    }

    /// Shuts the database down: the others leave, or are ended. This session stays until it detaches.
    pub(super) fn shut_down(&mut self, wanted: &Shutdown) -> Result<()> {
        let database = Arc::clone(self.database());
        self.check_may_change_mode("shutdown")?;
        let _only_one = match wanted.wait {
            ShutdownWait::Force => self.take_over(&database)?,
            _ => database.maintenance.try_lock().ok_or_else(|| self.is_being_shut_down())?,
        };
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
        let have_left = self.wait_for_others(wanted).map_err(|error| match error.has(isc::CANCELLED) {
            true => Error::new(isc::SHUTFAIL).and(isc::CANCELLED),
            false => error,
        })?;
        if !have_left && wanted.wait != ShutdownWait::Force {
            return Err(Error::new(isc::SHUTFAIL));
        }
        gate.deny(Denied::Transactions);
        self.end_others()?;
        self.change_properties(|properties| properties.shutdown = wanted.mode)?;
        self.has_shut_down = true;
        self.session.is_admitted.store(true, Ordering::Release);
        tracing::info!(by = self.session.options.user, database = %database.path.display(), mode = ?wanted.mode, "shut down");
        Ok(())
    }

    /// Waits for what the shutdown waits for; gives whether that is so. Others may stop it meanwhile.
    fn wait_for_others(&self, wanted: &Shutdown) -> Result<bool> {
        let stoppable = Stoppable::new(self.database(), &self.session.interrupt);
        let waits_for_transactions = wanted.wait == ShutdownWait::Transactions;
        let have_left = self.wait_for(wanted.timeout, |attachment| {
            let others = attachment.others();
            match waits_for_transactions {
                true => others.iter().all(|session| session.activity.lock().transactions.is_empty()),
                false => others.is_empty(),
            }
        })?;
        drop(stoppable);
        // Whoever was stopped as the wait ended does not go on.
        self.session.interrupt.check()?;
        Ok(have_left)
    }

    /// Lets more users in. A shutdown that waits is stopped first, whether or not the mode can change then: as in Firebird 5.0.4.
    pub(super) fn bring_online(&mut self, mode: ShutdownMode) -> Result<()> {
        let database = Arc::clone(self.database());
        self.check_may_change_mode("bring online")?;
        let _only_one = self.take_over(&database)?;
        if mode >= self.mode_to_change()? {
            return Err(self.bad_mode());
        }
        self.change_properties(|properties| properties.shutdown = mode)?;
        tracing::info!(by = self.session.options.user, database = %database.path.display(), ?mode, "brought online");
        Ok(())
    }

    /// Has the maintenance of the database to itself, for somebody who may change its mode. A shutdown that waits for others is stopped for
    /// that, and so is a check.
    ///
    /// # Errors
    /// `isc_shutinprog` if the other cannot be stopped, and goes on for long.
    fn take_over<'d>(&self, database: &'d Database) -> Result<MutexGuard<'d, ()>> {
        let deadline = Instant::now() + END_TIMEOUT;
        loop {
            if let Some(only_one) = database.maintenance.try_lock_for(POLL) {
                return Ok(only_one);
            }
            if Instant::now() >= deadline {
                return Err(self.is_being_shut_down());
            }
            self.session.interrupt.check()?;
            if let Some(maintainer) = &*database.maintainer.lock() {
                maintainer.raise(StopReason::Cancelled);
            }
        }
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
    ///
    /// # Errors
    /// `isc_shutfail` if others are still there that leave when they are told to.
    fn end_others(&self) -> Result<()> {
        self.others().iter().for_each(|session| session.interrupt.raise(StopReason::DatabaseShutdown));
        self.wait_for(END_TIMEOUT, |attachment| attachment.others().is_empty())?;
        match self.others().iter().any(|session| session.options.client.leaves_when_told) {
            true => Err(Error::new(isc::SHUTFAIL)),
            false => Ok(()),
        }
    }
}
