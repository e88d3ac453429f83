//! Executing one statement many times without waiting for each answer.

use std::collections::VecDeque;

use farbird_types::{Error, Result};

use crate::connection::Connection;
use crate::core::{ObjectRef, Question};
use crate::statement::Statement;
use crate::transaction::Transaction;
use crate::typed::Parameters;

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
    /// The positions of further failures.
    pub further: Vec<u64>,
    /// How many records each row changed, where a batch was asked to tell: [`BatchOptions::record_counts`]. `None` for rows
    /// that failed.
    ///
    /// [`BatchOptions::record_counts`]: crate::BatchOptions::record_counts
    pub changed: Vec<Option<u32>>,
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
        } else {
            self.further.push(position);
        }
    }

    /// One of which nothing more is known.
    pub(crate) fn fail_without_detail(&mut self, position: u64) {
        self.failed += 1;
        self.further.push(position);
    }

    /// Hands out what is known, but for the number of executions, which goes on.
    pub(crate) fn take(&mut self) -> Outcome {
        let executed = self.executed;
        std::mem::replace(self, Outcome { executed, ..Outcome::default() })
    }
}

/// Executions of one statement, under way together. Answers are matched by their order.
///
/// An execution that fails does not keep the later ones from being executed: they may be under way already. Roll the
/// transaction back if that is not what you want.
#[derive(Debug)]
pub struct Pipeline {
    connection: Connection,
    transaction: ObjectRef,
    statement: Statement,
    under_way: VecDeque<Question>,
    outcome: Outcome,
}

impl Connection {
    /// Begins to execute a statement many times: see [`Pipeline`].
    ///
    /// # Round trips
    /// None.
    pub fn pipeline(&self, transaction: &Transaction, statement: &Statement) -> Pipeline {
        Pipeline {
            connection: self.clone(),
            transaction: ObjectRef::clone(transaction.object()),
            statement: statement.clone(),
            under_way: VecDeque::new(),
            outcome: Outcome::default(),
        }
    }
}

impl Pipeline {
    /// Queues one execution. Rows that it gives are passed over.
    ///
    /// # Round trips
    /// One for every 256 executions, at most.
    ///
    /// # Errors
    /// Parameters that do not suit the statement (the execution is then not queued), or a lost connection. What the
    /// server says of executions is in the [`Outcome`].
    pub async fn execute(&mut self, parameters: impl Parameters) -> Result<()> {
        self.connection.describe(&self.statement).await?;
        let transaction = self.transaction.handle().await?;
        let question =
            self.connection.ask_execute(transaction, &self.statement, &parameters.values()).await?;
        self.under_way.push_back(question);
        self.connection.shared.room().await?;
        if self.under_way.len() >= WINDOW {
            self.wait_until(WINDOW / 2).await?;
        }
        Ok(())
    }

    /// How many executions are known to have happened, failures included.
    pub fn executed(&self) -> u64 {
        self.outcome.executed
    }

    /// What has become of executions so far; each failure is told once, here or by [`Pipeline::finish`].
    pub fn take_outcome(&mut self) -> Outcome {
        self.outcome.take()
    }

    /// Waits for the answers to all that was queued.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// The connection is lost.
    pub async fn finish(mut self) -> Result<Outcome> {
        self.wait_until(0).await?;
        Ok(std::mem::take(&mut self.outcome))
    }

    /// Waits until no more than so many are under way.
    async fn wait_until(&mut self, most: usize) -> Result<()> {
        self.connection.shared.lock().flush();
        while self.under_way.len() > most
            && let Some(question) = self.under_way.pop_front()
        {
            let result = self.connection.executed(question).await;
            let position = self.outcome.executed;
            self.outcome.executed += 1;
            if let Err(error) = result {
                // A lost connection repeats its failure, others are this execution's own.
                if let Some(lost) = self.connection.shared.lock().failure() {
                    return Err(lost);
                }
                self.outcome.fail(position, self.transaction.explain(error));
            }
        }
        Ok(())
    }
}
