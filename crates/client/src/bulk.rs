//! Many rows for one statement, by whatever the server has for that.

use farbird_types::Result;

use crate::batch::Batch;
use crate::batch_options::BatchOptions;
use crate::connection::Connection;
use crate::pipeline::{Outcome, Pipeline};
use crate::statement::Statement;
use crate::transaction::Transaction;
use crate::typed::Parameters;

/// Many rows for one statement: a [`Batch`], or a [`Pipeline`] where the server has none or the statement gives rows.
#[derive(Debug)]
pub enum Bulk {
    /// Protocol 16 (Firebird 4) and later.
    Batch(Box<Batch>),
    /// Before that.
    Pipeline(Pipeline),
}

impl Connection {
    /// Begins to execute a statement for many rows. Rows that fail do not keep the others from being executed.
    ///
    /// # Round trips
    /// None yet.
    ///
    /// # Errors
    /// The connection is lost; what the server said of the transaction or the statement.
    pub async fn bulk(&self, transaction: &Transaction, statement: &Statement) -> Result<Bulk> {
        self.describe(statement).await?;
        let has_batches = self.version().has_statement_timeout() && statement.input_format().is_some();
        if has_batches && statement.columns().is_empty() {
            let batch = self.batch_with(transaction, statement, &BatchOptions::default()).await?;
            return Ok(Bulk::Batch(Box::new(batch)));
        }
        Ok(Bulk::Pipeline(self.pipeline(transaction, statement)))
    }
}

impl Bulk {
    /// Adds a row. Give values of the parameters' own types: a batch converts nothing.
    ///
    /// # Round trips
    /// One for every 4 MiB of rows in a batch, or 256 rows in a pipeline, at most.
    ///
    /// # Errors
    /// A value that does not suit its parameter (the row is then not added), or a lost connection.
    pub async fn add(&mut self, values: impl Parameters) -> Result<()> {
        match self {
            Bulk::Batch(batch) => batch.add(values).await,
            Bulk::Pipeline(pipeline) => pipeline.execute(values).await,
        }
    }

    /// Executes what is left and waits for everything.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says of a batch as a whole; a lost connection. What it says of single rows is in the [`Outcome`].
    pub async fn finish(self) -> Result<Outcome> {
        match self {
            Bulk::Batch(batch) => batch.finish().await,
            Bulk::Pipeline(pipeline) => pipeline.finish().await,
        }
    }
}
