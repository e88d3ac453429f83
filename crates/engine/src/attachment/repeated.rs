//! A prepared statement executed for many rows of parameters: the batches of clients.
//!
//! # Promises
//! - It looks as if the statement were executed for one row after the other: the same rows, the same errors at the same rows.
//! - INSERTs whose rows are simple are done together ([`ModifyPlan::is_repeatable`](crate::plan::modification::ModifyPlan::is_repeatable)): such
//!   executions share their view, their savepoint and their moment (CURRENT_TIMESTAMP). Whatever goes wrong with
//!   them is undone and found again by executing the statement for single rows.

use std::collections::VecDeque;
use std::sync::Arc;

use farbird_types::{Result, Value};

use super::Attachment;
use super::execution::{count_run, timeout};
use super::statement_slot::{Body, Prepared, bad_handle, bad_transaction};
use crate::above::ABOVE;
use crate::api::{ExecuteOptions, RecordCounts, RowsWanted, StatementHandle, TransactionHandle};
use crate::bind::Action;
use crate::clock;
use crate::execute::{Pace, insert_together};
use crate::expression::ExecutionContext;
use crate::plan::modification::ModifyPlan;
use crate::session::trace::Event;

impl Attachment {
    /// Executes a prepared statement for each of these rows of parameters, in their order, and tells `outcome` what each execution
    /// has changed. Behind a row at which `outcome` says false nothing is executed any more.
    pub fn execute_for_each(
        &mut self,
        handle: StatementHandle,
        transaction: TransactionHandle,
        rows: Vec<Vec<Value>>,
        mut outcome: impl FnMut(Result<RecordCounts>) -> bool,
    ) {
        let mut pace = Pace::new(rows.len());
        let mut rows = VecDeque::from(rows);
        // What there is to wait for, the table's lock for instance, the first row waits for by itself, and after an error the next one.
        let mut alone = 1;
        while let Some(row) = rows.pop_front() {
            if alone > 0 {
                let executed = self.execute_once(handle, transaction, row);
                alone = if executed.is_ok() { alone - 1 } else { alone };
                if !outcome(executed) {
                    return;
                }
                continue;
            }
            rows.push_front(row);
            let asked = pace.asked(rows.len());
            let first = rows.make_contiguous().get_mut(..asked).unwrap_or_default();
            match self.insert_simple_rows(handle, transaction, first) {
                Ok(inserted) => {
                    let inserted = inserted.min(asked);
                    alone = pace.alone_behind(asked, inserted);
                    for _ in rows.drain(..inserted) {
                        if !outcome(Ok(RecordCounts { inserted: 1, ..RecordCounts::default() })) {
                            return;
                        }
                    }
                }
                Err(stopped) => {
                    rows.pop_front();
                    alone = 1;
                    if !outcome(Err(stopped)) {
                        return;
                    }
                }
            }
        }
    }

    fn execute_once(
        &mut self,
        handle: StatementHandle,
        transaction: TransactionHandle,
        row: Vec<Value>,
    ) -> Result<RecordCounts> {
        let options = ExecuteOptions { rows: RowsWanted::AtMostOne, ..ExecuteOptions::default() };
        self.execute(handle, Some(transaction), row, options)?;
        self.record_counts(handle)
    }

    /// Executes an INSERT for some of these rows together, from the first one on; gives for how many.
    ///
    /// # Errors
    /// What has stopped the first row that was not inserted: a cancel, a shutdown. Other errors are left to the executions of single
    /// rows.
    fn insert_simple_rows(
        &mut self,
        handle: StatementHandle,
        transaction_handle: TransactionHandle,
        rows: &mut [Vec<Value>],
    ) -> Result<usize> {
        let Ok(()) = self.check_open().and_then(|()| self.bind_again_if_stale(handle, transaction_handle))
        else {
            return Ok(0);
        };
        let zone = {
            let settings = self.session.settings.lock();
            // Time runs for each execution by itself.
            if timeout(&settings, None).is_some() {
                return Ok(0);
            }
            settings.time_zone
        };
        let database = Arc::clone(self.database());
        let slot = self.statements.get_mut(&handle).ok_or_else(bad_handle)?;
        let transaction = self.transactions.get(&transaction_handle).ok_or_else(bad_transaction)?;
        let transaction = &*transaction.transaction;
        let tracer = &self.session.tracer;
        let is_told = tracer.wants(Event::StatementStart) || tracer.wants(Event::StatementFinish);
        let prepared = slot.prepared.as_ref().filter(|_| slot.open.is_none() && !is_told);
        let Some(prepared) = prepared.filter(|_| !transaction.parameters.auto_commit) else { return Ok(0) };
        let Some(plan) = prepared.repeatable_insert() else { return Ok(0) };
        let width = prepared.description.parameters.len();
        if rows.iter().any(|row| row.len() != width) {
            return Ok(0);
        }
        let Ok((view, savepoint)) = transaction.store.begin_statement() else { return Ok(0) };
        transaction.store.begin_run();
        self.session.interrupt.begin(None);
        let now = clock::now(zone);
        if let Some(activity) = &slot.activity {
            activity.set_timeout(None);
            activity.begin(view.transaction().0, now, None);
        }
        let budget = Arc::clone(&slot.budget);
        let (session, given) = (&self.session, Vec::new());
        let mut context =
            ExecutionContext::new(&ABOVE, &database, session, transaction, view, now, given, budget)
                .in_dialect(prepared.dialect);
        // A cancel that came too late for these rows would be forgotten with them, and the next ones go on.
        let inserted = insert_together(plan, rows, &mut context)
            .and_then(|inserted| session.interrupt.check().map(|()| inserted));
        let ended = match inserted {
            Ok(inserted) => {
                transaction.store.release(savepoint);
                Ok(inserted)
            }
            Err(_) => context.undo_to(savepoint).and_then(|()| session.interrupt.check()).map(|()| 0),
        };
        transaction.store.end_run(|run| count_run(run, slot.activity.as_deref(), &mut slot.told_counts));
        let inserted = ended.as_ref().is_ok_and(|inserted| *inserted > 0);
        slot.counts = RecordCounts { inserted: u64::from(inserted), ..RecordCounts::default() };
        if let Some(activity) = &slot.activity {
            activity.end();
        }
        self.session.interrupt.end();
        ended.map_err(|error| database.status(error))
    }
}

impl Prepared {
    /// Its plan, if it is an INSERT that can be executed for many rows together.
    fn repeatable_insert(&self) -> Option<&ModifyPlan> {
        match &self.body {
            Body::Plan(bound) => match &bound.action {
                Action::Modify(plan) if plan.is_repeatable => Some(plan),
                _ => None,
            },
            _ => None,
        }
    }
}
