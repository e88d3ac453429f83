//! When the triggers of a database fire: on connecting and disconnecting, and at the ends of transactions.
//!
//! Source: Firebird 5 language reference, "Database triggers". What happens to an exception:
//!
//! | event | runs in | an exception |
//! |---|---|---|
//! | CONNECT | a transaction of its own | refuses the connection |
//! | DISCONNECT | a transaction of its own | is noted in the log |
//! | TRANSACTION START | the new transaction | ends it: there is none |
//! | TRANSACTION COMMIT | the transaction, as its last statement | is that statement's: the transaction goes on |
//! | TRANSACTION ROLLBACK | the transaction, before it is undone | is noted in the log |
//!
//! The transactions of CONNECT and DISCONNECT fire nothing themselves, nor do those that a disconnect rolls back.

use std::sync::Arc;

use farbird_sql::ast::DatabaseEvent;
use farbird_types::{Error, Result, isc};

use crate::above::ABOVE;
use crate::api::TransactionParameters;
use crate::attachment::Attachment;
use crate::catalog::SystemPrivilege;
use crate::catalog::privileges::Actor;
use crate::clock;
use crate::expression::{ExecutionContext, Restart};
use crate::psql;
use crate::session::Tool;
use crate::transaction::Transaction;

impl Attachment {
    /// The last step of attaching: fires ON CONNECT. Without it the attachment ends as quietly as it came.
    ///
    /// # Errors
    /// `isc_shutdown` if the database is shut down; those of the triggers; `isc_adm_task_denied` for those who ask for none to fire, or maintain the database, and may not.
    pub(crate) fn begin_session(&mut self) -> Result<()> {
        self.check_available()?;
        self.bring_collation_data_up_to_date()?;
        self.check_options()?;
        self.fire_in_own_transaction(DatabaseEvent::Connect)?;
        self.connected = true;
        self.tell_attached();
        Ok(())
    }

    /// The last step of attaching for a program that has not asked for it yet; false if triggers would notice that.
    ///
    /// # Errors
    /// As [`Attachment::begin_session`].
    pub(crate) fn begin_session_ahead(&mut self) -> Result<bool> {
        self.check_available()?;
        self.bring_collation_data_up_to_date()?;
        self.check_options()?;
        let catalog = self.database().catalog();
        let is_noticed = [DatabaseEvent::Connect, DatabaseEvent::Disconnect]
            .into_iter()
            .any(|event| psql::has_database_triggers(&catalog, event));
        Ok(!is_noticed || self.session.options.no_database_triggers)
    }

    /// A program attaches by what was attached ahead: it is the process `process_id`.
    pub fn begin_taken(&mut self, process_id: Option<i32>) {
        self.session.settings.lock().process_id = process_id;
        self.connected = true;
        self.tell_attached();
    }

    /// Refuses what the user may not ask of an attachment. Firebird 5.0.4 was asked with gfix.
    pub(super) fn check_options(&self) -> Result<()> {
        let options = &self.session.options;
        let (catalog, actor) = (self.database().catalog(), Actor::of(&self.session));
        let of_tool = options.client.tool.map(|tool| match tool {
            Tool::Gbak => (SystemPrivilege::UseGbakUtility, "USE_GBAK_UTILITY"),
            Tool::Gfix => (SystemPrivilege::UseGfixUtility, "USE_GFIX_UTILITY"),
            Tool::Nbackup => (SystemPrivilege::UseNbackupUtility, "USE_NBACKUP_UTILITY"),
        });
        let without_triggers = (SystemPrivilege::IgnoreDbTriggers, "IGNORE_DB_TRIGGERS");
        let without_triggers = options.no_database_triggers.then_some(without_triggers);
        let missing = of_tool
            .into_iter()
            .chain(without_triggers)
            .find(|(privilege, _)| !actor.has(&catalog, *privilege));
        match missing {
            Some((_, name)) => Err(Error::new(isc::ADM_TASK_DENIED).and(isc::MISS_PRVLG).with(name)),
            None => Ok(()),
        }
    }

    /// Fires ON DISCONNECT, if ON CONNECT has been.
    pub(super) fn end_session(&mut self) {
        if std::mem::take(&mut self.connected)
            && let Err(error) = self.fire_in_own_transaction(DatabaseEvent::Disconnect)
        {
            tracing::warn!(attachment = self.session.id, %error, "ON DISCONNECT failed");
        }
    }

    fn fire_in_own_transaction(&mut self, event: DatabaseEvent) -> Result<()> {
        let fires = !self.session.options.no_database_triggers
            && psql::has_database_triggers(&self.database().catalog(), event);
        if !fires {
            return Ok(());
        }
        let handle = self.begin_transaction(TransactionParameters::default())?;
        let fired = self.fire(event, self.transaction(handle)?);
        fired.and_then(|()| self.commit_quietly(handle)).or_else(|error| {
            self.rollback_quietly(handle)?;
            Err(error)
        })
    }

    /// Fires the triggers of an event as one statement of a transaction: it is undone whole if one of them fails.
    ///
    /// # Errors
    /// Those of the triggers.
    pub(super) fn fire(&self, event: DatabaseEvent, transaction: &Transaction) -> Result<()> {
        if self.session.options.no_database_triggers {
            return Ok(());
        }
        let catalog = {
            let mut own = transaction.catalog.lock();
            own.refresh(&self.database().catalog());
            Arc::clone(&own.current)
        };
        if !psql::has_database_triggers(&catalog, event) {
            return Ok(());
        }
        let now = clock::now(self.session.settings.lock().time_zone);
        let view = transaction.store.view()?;
        let (given, budget) = (Vec::new(), self.session.budget.statement());
        let mut context = ExecutionContext::new(
            &ABOVE,
            self.database(),
            &self.session,
            transaction,
            view,
            now,
            given,
            budget,
        );
        let mut restarts = 0;
        let fired = loop {
            context.restart = Restart::after(restarts);
            let savepoint = transaction.store.savepoint();
            let mark = transaction.catalog.lock().mark();
            let fired = psql::fire_database_triggers(&mut context, event);
            match &fired {
                Ok(()) => transaction.store.release(savepoint),
                Err(_) => {
                    context.undo_to(savepoint)?;
                    transaction.catalog.lock().restore(&mark);
                }
            }
            if fired.is_ok() || !context.is_restarting() {
                break fired;
            }
            restarts += 1;
            context.view = transaction.store.view()?;
        };
        fired.map_err(|error| self.database().status(error))
    }

    /// As [`Attachment::fire`], where an exception changes nothing.
    pub(super) fn fire_regardless(&self, event: DatabaseEvent, transaction: &Transaction) {
        if let Err(error) = self.fire(event, transaction) {
            tracing::warn!(attachment = self.session.id, %error, "a trigger ON TRANSACTION ROLLBACK failed");
        }
    }
}
