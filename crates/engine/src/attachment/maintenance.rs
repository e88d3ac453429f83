//! Maintenance as one attachment does it: checking, settings, sweeping. Shutting down is in [`super::shutdown`].

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use farbird_store::{Access, Isolation, TransactionOptions, Wait};
use farbird_types::{Error, Result, isc};

use crate::attachment::Attachment;
use crate::catalog::privileges::Actor;
use crate::catalog::{self, CatalogChanges, CatalogObject, DatabaseProperties, Denied, SystemPrivilege};
use crate::check::{CheckedTable, DatabaseReport, check_open_database, check_table, tables_to_check};
use crate::database::Database;
use crate::maintenance::Maintenance;
use crate::session::Interrupt;
use crate::transaction::TransactionCatalog;

/// How long is waited for others to leave who must, where the caller has not said: as Firebird does.
const OTHERS_TIMEOUT: Duration = Duration::from_secs(1);
/// How long is waited for somebody who changes the same settings.
const SETTINGS_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two looks at what is waited for.
pub(super) const POLL: Duration = Duration::from_millis(20);
/// Steps of the sweep between two looks whether it is to stop.
const SWEEP_STEPS: usize = 64;

impl Attachment {
    /// Does what is asked for, and begins the session.
    pub(crate) fn maintain(&mut self, wanted: &Maintenance) -> Result<()> {
        if let Some(shutdown) = &wanted.shutdown {
            self.shut_down(shutdown)?;
        }
        if let Some(mode) = wanted.online {
            self.bring_online(mode)?;
        }
        self.check_available()?;
        self.check_options()?;
        if wanted.verify {
            self.verify()?;
        }
        self.change_settings(wanted)?;
        if wanted.no_linger {
            self.database().no_linger.store(true, Ordering::Relaxed);
        }
        self.begin_session()?;
        if wanted.sweep {
            self.sweep()?;
        }
        Ok(())
    }

    /// What a check by this attachment has found, if it was asked for one.
    pub fn verification(&self) -> Option<&DatabaseReport> {
        self.verification.as_ref()
    }

    fn check_system_privilege(&self, privilege: SystemPrivilege, name: &str) -> Result<()> {
        match Actor::of(&self.session).has(&self.database().catalog(), privilege) {
            true => Ok(()),
            false => Err(Error::new(isc::ADM_TASK_DENIED).and(isc::MISS_PRVLG).with(name)),
        }
    }

    /// Checks all of the database. What is damaged is told in the log too, since Firebird's tools show no more than numbers.
    fn verify(&mut self) -> Result<()> {
        self.check_system_privilege(SystemPrivilege::UseGfixUtility, "USE_GFIX_UTILITY")?;
        let database = Arc::clone(self.database());
        let in_the_way = |_| Error::new(isc::BAD_DPB_CONTENT).and(isc::CANT_VALIDATE);
        let report = self.alone(in_the_way, |attachment| {
            // Nobody else gets in for as long as it takes: who may shut the database down need not wait for that.
            let interrupt = &attachment.session.interrupt;
            let _stoppable = Stoppable::new(&database, interrupt);
            check_open_database(&database, &interrupt.cancel)
        })?;
        for damage in &report.damages {
            tracing::error!(database = %database.path.display(), place = damage.place, damage.what, damage.advice, "damaged");
        }
        self.verification = Some(report);
        Ok(())
    }

    /// Sweeps until nothing is left to do; what others commit meanwhile is swept with it.
    ///
    /// # Errors
    /// `isc_adm_task_denied`; those of the store; `isc_cancelled`.
    pub fn sweep(&self) -> Result<()> {
        self.check_system_privilege(SystemPrivilege::UseGfixUtility, "USE_GFIX_UTILITY")?;
        let database = self.database();
        // There is nothing that could be swept away.
        if database.catalog().database.read_only {
            return Ok(());
        }
        while database.store.sweep(SWEEP_STEPS).map_err(|error| database.status(error))? > 0 {
            self.session.interrupt.check()?;
        }
        Ok(())
    }

    /// The tables that are stored, for [`Attachment::check_table`].
    ///
    /// # Errors
    /// `isc_adm_task_denied`.
    pub fn tables_to_check(&self) -> Result<Vec<CheckedTable>> {
        self.check_system_privilege(SystemPrivilege::UseGfixUtility, "USE_GFIX_UTILITY")?;
        Ok(tables_to_check(self.database()))
    }

    /// Checks the rows of a table, as of now, with their BLOBs and foreign keys, and those of its indexes that `table` names; others may
    /// go on working.
    ///
    /// # Errors
    /// If the check cannot go on, or the session is told to stop.
    pub fn check_table(&self, table: &CheckedTable) -> Result<DatabaseReport> {
        check_table(self.database(), table, &self.session.interrupt.cancel)
    }

    fn change_settings(&mut self, wanted: &Maintenance) -> Result<()> {
        let Maintenance { dialect, sweep_interval, read_only, .. } = *wanted;
        if dialect.is_none() && sweep_interval.is_none() && read_only.is_none() {
            return Ok(());
        }
        self.check_system_privilege(SystemPrivilege::ChangeHeaderSettings, "CHANGE_HEADER_SETTINGS")?;
        if let Some(number) = dialect.filter(|number| !matches!(number, 1 | 3)) {
            return Err(Error::new(isc::INV_DIALECT_SPECIFIED)
                .with(i32::from(number))
                .and(isc::VALID_DB_DIALECTS)
                .with("1 and 3")
                .and(isc::DIALECT_NOT_CHANGED));
        }
        let change = |properties: &mut DatabaseProperties| {
            properties.dialect = dialect.unwrap_or(properties.dialect);
            properties.sweep_interval = sweep_interval.unwrap_or(properties.sweep_interval);
            properties.read_only = read_only.unwrap_or(properties.read_only);
        };
        match read_only {
            // Nobody may be at work with what was true before.
            Some(_) => self.alone(|in_use| in_use, |attachment| attachment.change_properties(change)),
            None => self.change_properties(change),
        }
    }

    /// Runs while nobody else is attached, nor can be.
    ///
    /// # Errors
    /// `isc_shutinprog` while somebody else does such a thing; what `in_the_way` makes of `isc_obj_in_use` if others stay; those of `run`.
    fn alone<T>(
        &self,
        in_the_way: impl FnOnce(Error) -> Error,
        run: impl FnOnce(&Attachment) -> Result<T>,
    ) -> Result<T> {
        let database = Arc::clone(self.database());
        let Some(_only_one) = database.maintenance.try_lock() else { return Err(self.is_being_shut_down()) };
        let _closed = ClosedGate::close(&database, Denied::Attachments);
        if !self.wait_for(OTHERS_TIMEOUT, |attachment| attachment.others().is_empty())? {
            let in_use = Error::new(isc::OBJ_IN_USE).with("DATABASE").with(self.shown_path());
            return Err(in_the_way(in_use));
        }
        run(self)
    }

    /// Changes the properties of the database in a transaction of its own, whether it is read only or not.
    ///
    /// # Durability
    /// They are on the disk when this returns.
    pub(super) fn change_properties(&self, change: impl FnOnce(&mut DatabaseProperties)) -> Result<()> {
        let database = Arc::clone(self.database());
        let failed = |error| database.status(error);
        let options = TransactionOptions {
            isolation: Isolation::ReadCommitted,
            access: Access::ReadWrite,
            wait: Wait::Timeout(SETTINGS_TIMEOUT),
            ..TransactionOptions::default()
        };
        let cancel = Arc::clone(&self.session.interrupt.cancel);
        let transaction = database.store.begin(options, cancel).map_err(failed)?;
        // Nobody else changes them from here on: what is read next is what is replaced.
        let current = CatalogObject::Database(Arc::clone(&database.catalog().database));
        let (kind, name) = current.identity();
        transaction.catalog_put(&kind.key(&name), &current.encode()?).map_err(failed)?;
        let mut properties = DatabaseProperties::clone(&database.catalog().database);
        change(&mut properties);
        let changed = CatalogObject::Database(Arc::new(properties));
        transaction.catalog_put(&kind.key(&name), &changed.encode()?).map_err(failed)?;
        let mut own = TransactionCatalog { current: database.catalog(), changes: CatalogChanges::default() };
        own.put(changed);
        transaction.commit_with(catalog::publication(&database, &own.changes)).map(|_| ()).map_err(failed)
    }

    /// Waits until it is so, for so long at most; gives whether it is.
    pub(super) fn wait_for(&self, timeout: Duration, is_so: impl Fn(&Attachment) -> bool) -> Result<bool> {
        // What no clock can tell is for ever.
        let deadline = Instant::now().checked_add(timeout);
        loop {
            if is_so(self) {
                return Ok(true);
            }
            let left = deadline.map_or(POLL, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(false);
            }
            self.session.interrupt.check()?;
            sleep(POLL.min(left));
        }
    }
}

/// Keeps others from beginning something, until it is dropped.
pub(super) struct ClosedGate<'d>(&'d Database);

impl<'d> ClosedGate<'d> {
    pub(super) fn close(database: &'d Database, denied: Denied) -> ClosedGate<'d> {
        let gate = ClosedGate(database);
        gate.deny(denied);
        gate
    }

    /// Keeps others from more. All who attach after it are refused, and those who were not refused are among the others.
    pub(super) fn deny(&self, denied: Denied) {
        let _attachments = self.0.attachments.lock();
        self.0.shutdown_gate.deny(denied);
    }
}

impl Drop for ClosedGate<'_> {
    fn drop(&mut self) {
        self.0.shutdown_gate.deny(Denied::Nothing);
    }
}

/// Lets others stop who holds the maintenance of a database (a forced shutdown, or bringing it online), until it is dropped.
pub(super) struct Stoppable<'d>(&'d Database);

impl<'d> Stoppable<'d> {
    pub(super) fn new(database: &'d Database, interrupt: &Arc<Interrupt>) -> Stoppable<'d> {
        *database.maintainer.lock() = Some(Arc::clone(interrupt));
        Stoppable(database)
    }
}

impl Drop for Stoppable<'_> {
    fn drop(&mut self) {
        *self.0.maintainer.lock() = None;
    }
}
