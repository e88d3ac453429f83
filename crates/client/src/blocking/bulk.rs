//! Many executions: pipelines and batches.

use farbird_types::{BlobId, Result, Value};

use super::connection::Connection;
use super::driver::Runner;
use crate::batch_options::{BatchInformation, BatchOptions};
use crate::pipeline::Outcome;
use crate::statement::Statement;
use crate::transaction::Transaction;

impl Connection {
    /// As [`crate::Connection::batch_with`].
    ///
    /// # Round trips
    /// None yet. All of a batch is one flight for every 4 MiB of rows.
    ///
    /// # Errors
    /// `isc_wish_list` if the server's protocol has no batches (before Firebird 4), or the statement no parameters.
    pub fn batch_with(
        &self,
        transaction: &Transaction,
        statement: &Statement,
        options: &BatchOptions,
    ) -> Result<Batch> {
        let inner = self.runner.run(self.inner.batch_with(transaction, statement, options))?;
        Ok(Batch { inner, runner: self.runner.clone() })
    }

    /// As [`crate::Connection::bulk`].
    ///
    /// # Round trips
    /// None yet.
    ///
    /// # Errors
    /// The connection is lost; what the server said of the transaction or the statement.
    pub fn bulk(&self, transaction: &Transaction, statement: &Statement) -> Result<Bulk> {
        let inner = self.runner.run(self.inner.bulk(transaction, statement))?;
        Ok(Bulk { inner, runner: self.runner.clone() })
    }
}

/// Many rows for one statement: see [`crate::Bulk`].
#[derive(Debug)]
pub struct Bulk {
    inner: crate::Bulk,
    runner: Runner,
}

impl Bulk {
    /// As [`crate::Bulk::add`].
    ///
    /// # Round trips
    /// One for every 4 MiB of rows in a batch, or 256 rows in a pipeline, at most.
    ///
    /// # Errors
    /// A value that does not suit its parameter (the row is then not added), or a lost connection.
    pub fn add(&mut self, values: impl crate::typed::Parameters) -> Result<()> {
        self.runner.run(self.inner.add(values))
    }

    /// As [`crate::Bulk::finish`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says of a batch as a whole; a lost connection. What it says of single rows is in the [`Outcome`].
    pub fn finish(self) -> Result<Outcome> {
        self.runner.run(self.inner.finish())
    }
}

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
    pub fn add(&mut self, values: impl crate::typed::Parameters) -> Result<()> {
        self.runner.run(self.inner.add(values))
    }

    /// As [`crate::Batch::set_blob_parameters`].
    ///
    /// # Round trips
    /// None.
    ///
    /// # Errors
    /// As [`crate::Batch::set_blob_parameters`].
    pub fn set_blob_parameters(&mut self, parameters: &[u8]) -> Result<()> {
        self.runner.run(self.inner.set_blob_parameters(parameters))
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

    /// As [`crate::Batch::register_blob`].
    ///
    /// # Round trips
    /// None.
    ///
    /// # Errors
    /// A lost connection; what the server says comes with the execution.
    pub fn register_blob(&mut self, existing: BlobId) -> Result<Value> {
        self.runner.run(self.inner.register_blob(existing))
    }

    /// As [`crate::Batch::cancel`].
    ///
    /// # Round trips
    /// None.
    ///
    /// # Errors
    /// A lost connection.
    pub fn cancel(&mut self) -> Result<()> {
        self.runner.run(self.inner.cancel())
    }

    /// As [`crate::Batch::sync`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says of the rows.
    pub fn sync(&mut self) -> Result<()> {
        self.runner.run(self.inner.sync())
    }

    /// As [`crate::Batch::information`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// `isc_wish_list` before protocol 17; what the server says.
    pub fn information(&mut self) -> Result<BatchInformation> {
        self.runner.run(self.inner.information())
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
