//! Many executions: pipelines and batches.

use farbird_types::{Result, Value};

use super::driver::Runner;
use crate::pipeline::Outcome;

/// Executions of one statement, under way together: see [`crate::Pipeline`].
#[derive(Debug)]
pub struct Pipeline {
    pub(super) inner: crate::Pipeline,
    pub(super) runner: Runner,
}

impl Pipeline {
    /// As [`crate::Pipeline::executed`].
    pub fn executed(&self) -> u64 {
        self.inner.executed()
    }

    /// As [`crate::Pipeline::take_outcome`].
    pub fn take_outcome(&mut self) -> Outcome {
        self.inner.take_outcome()
    }

    /// As [`crate::Pipeline::execute`].
    ///
    /// # Round trips
    /// One for every 256 executions, at most.
    ///
    /// # Errors
    /// Parameters that do not suit the statement (the execution is then not queued), or a lost connection. What the
    /// server says of executions is in the [`Outcome`].
    pub fn execute(&mut self, parameters: impl crate::typed::Parameters) -> Result<()> {
        self.runner.run(self.inner.execute(parameters))
    }

    /// Waits for the answers to all that was queued.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// The connection is lost.
    pub fn finish(self) -> Result<Outcome> {
        self.runner.run(self.inner.finish())
    }
}

/// Rows for one statement, sent and executed together: see [`crate::Batch`].
#[derive(Debug)]
pub struct Batch {
    pub(super) inner: crate::Batch,
    pub(super) runner: Runner,
}

impl Batch {
    /// As [`crate::Batch::executed`].
    pub fn executed(&self) -> u64 {
        self.inner.executed()
    }

    /// As [`crate::Batch::take_outcome`].
    pub fn take_outcome(&mut self) -> Outcome {
        self.inner.take_outcome()
    }

    /// As [`crate::Batch::add`].
    ///
    /// # Round trips
    /// One for every 4 MiB of rows.
    ///
    /// # Errors
    /// A value that does not suit its parameter (the row is then not added), or a lost connection.
    pub fn add(&mut self, values: &[Value]) -> Result<()> {
        self.runner.run(self.inner.add(values))
    }

    /// As [`crate::Batch::add_blob`].
    ///
    /// # Round trips
    /// None.
    ///
    /// # Errors
    /// A BLOB of more than 4 GiB, or a lost connection.
    pub fn add_blob(&mut self, contents: &[u8]) -> Result<Value> {
        self.runner.run(self.inner.add_blob(contents))
    }

    /// Executes what is left and waits for everything.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says of the batch as a whole. What it says of single rows is in the [`Outcome`].
    pub fn finish(self) -> Result<Outcome> {
        self.runner.run(self.inner.finish())
    }
}
