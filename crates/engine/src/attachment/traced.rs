//! What trace sessions are told of an attachment: its session, transactions and statements.
//!
//! Each place asks first whether somebody wants to know ([`Tracer::wants`]); what is told is put together only then. Statements that BLR
//! requests are made of are not told of: nobody has written them. The order of what is told is Firebird's.

use std::time::{Duration, Instant};

use farbird_store::Counted;
use farbird_types::{Result, Value};

use super::Attachment;
use super::statement_slot::{Prepared, StatementSlot};
use super::traced_run::TracedRun;
use crate::api::{ExecuteOptions, Execution, StatementHandle, StatementKind, TransactionHandle};
use crate::session::trace::{
    Event, Outcome, TracedParameter, TracedStatement, TracedTransaction, Tracer, Work,
};

/// What a record says of a statement.
fn told<'p>(id: u64, prepared: &'p Prepared) -> TracedStatement<'p> {
    use StatementKind::{Delete, ExecuteProcedure, Insert, Select, SelectForUpdate, Update};
    let description = &prepared.description;
    let has_number =
        matches!(description.kind, Select | SelectForUpdate | Insert | Update | Delete | ExecuteProcedure);
    TracedStatement {
        id: has_number.then_some(id),
        sql: &prepared.sql,
        plan: &description.plan,
        explained_plan: &description.explained_plan,
    }
}

impl StatementSlot {
    /// What a record says of it; nothing before it is prepared, and of what nobody has written.
    fn told(&self) -> Option<TracedStatement<'_>> {
        self.prepared.as_ref().filter(|_| self.is_written).map(|prepared| told(self.id, prepared))
    }

    /// Tells that its run has ended, if that is to be told.
    fn tell_finished(&mut self, tracer: &Tracer, outcome: Outcome) {
        let Some(run) = self.traced.take() else { return };
        let told_counts = self.told_counts.take();
        let Some(statement) = self.told() else { return };
        let counted = self.prepared.as_ref().zip(told_counts.as_ref());
        let work = Work {
            elapsed: run.elapsed,
            rows: if run.has_ended || self.open.is_some() { self.counts.selected } else { 0 },
            tables: counted.map(|(prepared, counted)| prepared.table_work(counted)).unwrap_or_default(),
            pages: told_counts.as_ref().map(Counted::pages).unwrap_or_default(),
        };
        tracer.statement_finished(statement, run.within.as_ref(), &run.inputs, &work, outcome);
    }

    /// Tells that its cursor is closed, before it is.
    pub(super) fn tell_closed(&mut self, tracer: &Tracer) {
        self.tell_finished(tracer, Outcome::Done);
        if tracer.wants(Event::Free)
            && let Some(statement) = self.told()
        {
            tracer.freed("CLOSE_CURSOR", statement);
        }
    }

    /// Tells that what was prepared is forgotten, before it is.
    pub(super) fn tell_freed(&self, tracer: &Tracer) {
        if tracer.wants(Event::Free)
            && let Some(statement) = self.told()
        {
            tracer.freed("FREE_STATEMENT", statement);
        }
    }
}

impl Attachment {
    /// The attachment has created its database.
    pub(crate) fn note_created(&mut self) {
        self.has_created = true;
    }

    /// The session has begun.
    pub(super) fn tell_attached(&self) {
        if self.session.tracer.wants(Event::Connection) {
            let action = if self.has_created { "CREATE_DATABASE" } else { "ATTACH_DATABASE" };
            self.session.tracer.connection(action);
        }
    }

    /// The session has ended.
    pub(super) fn tell_detached(&self, was_connected: bool, has_dropped: bool) {
        let tracer = &self.session.tracer;
        if was_connected && tracer.wants(Event::Connection) {
            tracer.connection(if has_dropped { "DROP_DATABASE" } else { "DETACH_DATABASE" });
        }
        tracer.end();
    }

    /// Cursors and statements are let go of, and transactions rolled back.
    pub(super) fn tell_everything_ends(&mut self) {
        let tracer = &self.session.tracer;
        for slot in self.statements.values_mut() {
            if slot.open.is_some() {
                slot.tell_closed(tracer);
            }
            slot.tell_freed(tracer);
        }
        if tracer.wants(Event::Transaction) {
            for slot in self.transactions.values() {
                let transaction = slot.transaction.traced(&self.session);
                let action = "ROLLBACK_TRANSACTION";
                tracer.transaction_ended(action, &transaction, None, &Work::default(), Outcome::Done);
            }
        }
    }

    /// What a record says of a transaction.
    pub(super) fn traced_transaction(&self, handle: TransactionHandle) -> Option<TracedTransaction> {
        let slot = self.transactions.get(&handle)?;
        Some(slot.transaction.traced(&self.session))
    }

    /// A transaction has begun.
    pub(super) fn tell_begun(&self, handle: TransactionHandle) {
        if self.session.tracer.wants(Event::Transaction)
            && let Some(transaction) = self.traced_transaction(handle)
        {
            self.session.tracer.transaction_started(&transaction);
        }
    }

    /// Ends a transaction, or retains it, and tells of that.
    pub(super) fn end_and_tell(
        &mut self,
        action: &str,
        handle: TransactionHandle,
        end: impl FnOnce(&mut Attachment) -> Result<()>,
    ) -> Result<()> {
        let wants = self.session.tracer.wants(Event::Transaction);
        let Some(transaction) = self.traced_transaction(handle).filter(|_| wants) else {
            let ended = end(self);
            self.session.tally.take_pages();
            return ended;
        };
        let begun = Instant::now();
        let ended = end(self);
        let work =
            Work { elapsed: begun.elapsed(), pages: self.session.tally.take_pages(), ..Work::default() };
        let goes_on_as = self.traced_transaction(handle).map(|transaction| transaction.id);
        let goes_on_as = goes_on_as.filter(|_| ended.is_ok());
        let tracer = &self.session.tracer;
        tracer.transaction_ended(action, &transaction, goes_on_as, &work, Outcome::of(&ended));
        ended
    }

    /// A statement was prepared, or could not be.
    pub(super) fn tell_prepared(
        &self,
        handle: StatementHandle,
        transaction: Option<TransactionHandle>,
        sql: &str,
        elapsed: Duration,
        outcome: Outcome,
    ) {
        let slot = self.statements.get(&handle);
        let prepared = slot.filter(|_| outcome == Outcome::Done).and_then(StatementSlot::told);
        let unprepared = TracedStatement { id: None, sql, plan: "", explained_plan: "" };
        let within = transaction.and_then(|transaction| self.traced_transaction(transaction));
        let statement = prepared.unwrap_or(unprepared);
        self.session.tracer.prepared(statement, within.as_ref(), elapsed, outcome);
    }

    /// Executes a statement, and tells of it.
    pub(super) fn execute_and_tell(
        &mut self,
        handle: StatementHandle,
        transaction: Option<TransactionHandle>,
        parameters: Vec<Value>,
        options: ExecuteOptions,
    ) -> Result<Execution> {
        let within = transaction.and_then(|transaction| self.traced_transaction(transaction));
        let told = self.statements.get(&handle).filter(|slot| slot.open.is_none());
        let Some((statement, prepared)) = told.and_then(|slot| slot.told().zip(slot.prepared.as_ref()))
        else {
            return self.execute_prepared(handle, transaction, parameters, options);
        };
        let described = prepared.description.parameters.iter().zip(&parameters);
        let inputs: Vec<TracedParameter> = described
            .map(|(described, value)| TracedParameter {
                sql_type: described.column_type.sql_type,
                value: value.clone(),
            })
            .collect();
        self.session.tracer.statement_started(statement, within.as_ref(), &inputs);
        if let Some(slot) = self.statements.get_mut(&handle) {
            slot.told_counts = Some(Counted::default());
        }
        let begun = Instant::now();
        let execution = self.execute_prepared(handle, transaction, parameters, options);
        let elapsed = begun.elapsed();
        let within = match &execution {
            Ok(Execution::TransactionStarted(started)) => self.traced_transaction(*started),
            _ => within,
        };
        if let Some(slot) = self.statements.get_mut(&handle) {
            slot.traced = Some(TracedRun { inputs, within, elapsed, has_ended: false });
            if !matches!(execution, Ok(Execution::CursorOpened)) {
                slot.tell_finished(&self.session.tracer, Outcome::of(&execution));
            }
        }
        execution
    }

    /// Rows of a statement's cursor were fetched in this time.
    pub(super) fn tell_fetched(&mut self, handle: StatementHandle, elapsed: Duration, outcome: Outcome) {
        let Some(slot) = self.statements.get_mut(&handle) else { return };
        let Some(run) = &mut slot.traced else { return };
        run.elapsed += elapsed;
        if run.has_ended || outcome == Outcome::Failed {
            slot.tell_finished(&self.session.tracer, outcome);
        }
    }
}
