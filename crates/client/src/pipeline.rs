//! Executing one statement many times without waiting for each answer.

use std::collections::VecDeque;

use farbird_types::{Error, Result, Value};

use crate::connection::Connection;
use crate::conversation::Ticket;
use crate::statement::Statement;
use crate::transaction::Transaction;

/// Most executions under way; then half of them are waited for.
const WINDOW: usize = 512;
/// Most failures of which the details are kept.
const FAILURES_MAX: usize = 64;

/// What became of the executions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// How many there were.
    pub executed: u64,
    /// How many failed.
    pub failed: u64,
    /// The first failures: position from 0, and why.
    pub failures: Vec<(u64, Error)>,
}

impl Outcome {
    /// The number of executions if all went well.
    ///
    /// # Errors
    /// The first failure.
    pub fn into_result(self) -> Result<u64> {
        match self.failures.into_iter().next() {
            Some((_, error)) => Err(error),
            None => Ok(self.executed),
        }
    }

    pub(crate) fn fail(&mut self, position: u64, error: Error) {
        self.failed += 1;
        if self.failures.len() < FAILURES_MAX {
            self.failures.push((position, error));
        }
    }
}

/// Executions of one statement, under way together. Answers are matched by their order.
///
/// An execution that fails does not keep the later ones from being executed: they may be under way already. Roll the
/// transaction back if that is not what you want.
#[derive(Debug)]
pub struct Pipeline<'c> {
    connection: &'c mut Connection,
    transaction: &'c Transaction,
    statement: &'c Statement,
    under_way: VecDeque<Ticket>,
    outcome: Outcome,
}

impl Connection {
    /// Begins to execute a statement many times: see [`Pipeline`].
    ///
    /// # Errors
    /// The connection has failed.
    pub fn pipeline<'c>(
        &'c mut self,
        transaction: &'c Transaction,
        statement: &'c Statement,
    ) -> Result<Pipeline<'c>> {
        self.send_releases()?;
        Ok(Pipeline {
            connection: self,
            transaction,
            statement,
            under_way: VecDeque::new(),
            outcome: Outcome::default(),
        })
    }
}

impl Pipeline<'_> {
    /// Queues one execution. Rows that it gives are passed over.
    ///
    /// # Round trips
    /// One for every 256 executions, at most.
    ///
    /// # Errors
    /// Parameters that do not suit the statement (the execution is then not queued), or a lost connection. What the
    /// server says of executions is in the [`Outcome`].
    pub fn execute(&mut self, parameters: &[Value]) -> Result<()> {
        let ticket = self.connection.send_execute(self.transaction.handle(), self.statement, parameters)?;
        self.under_way.push_back(ticket);
        if self.under_way.len() >= WINDOW {
            self.wait_until(WINDOW / 2)?;
        }
        Ok(())
    }

    /// Waits for the answers to all that was queued.
    ///
    /// # Errors
    /// The connection is lost.
    pub fn finish(mut self) -> Result<Outcome> {
        self.wait_until(0)?;
        Ok(std::mem::take(&mut self.outcome))
    }

    /// Waits until no more than so many are under way.
    fn wait_until(&mut self, most: usize) -> Result<()> {
        self.connection.link.flush()?;
        while self.under_way.len() > most
            && let Some(ticket) = self.under_way.pop_front()
        {
            let result = self.connection.executed(ticket, self.transaction.handle());
            let position = self.outcome.executed;
            self.outcome.executed += 1;
            if let Err(error) = result {
                // A lost connection repeats its failure, others are this execution's own.
                self.connection.link.conversation().check()?;
                self.outcome.fail(position, error);
            }
        }
        Ok(())
    }
}

impl Drop for Pipeline<'_> {
    fn drop(&mut self) {
        for ticket in self.under_way.drain(..) {
            self.connection.releases.abandon(ticket);
        }
    }
}
