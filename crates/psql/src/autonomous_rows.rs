//! FOR EXECUTE STATEMENT ... WITH AUTONOMOUS TRANSACTION: the rows of a text that runs in a transaction of its own.
//!
//! The transaction lives as long as the loop reads. It is committed at the last row, and where the loop is left, by an error in its
//! body too: as in Firebird that is the end of the text, not a failure of it. What fails in the text itself rolls it back.

use std::sync::Arc;

use farbird_catalog::database::Database;
use farbird_catalog::transaction::Transaction;
use farbird_expression::ExecutionContext;
use farbird_types::{Result, Value};

use crate::autonomous;
use crate::dynamic_rows::{DynamicRows, RowsApart};

/// Rows that come out of another transaction.
pub(super) struct AutonomousRows {
    /// None at the end.
    running: Option<Running>,
    database: Arc<Database>,
}

struct Running {
    // The rows stand before the transaction that they are read in: they go first.
    rows: DynamicRows,
    transaction: Transaction,
}

impl AutonomousRows {
    /// Executes a text in a transaction of its own.
    ///
    /// # Errors
    /// Those of the text, which is undone.
    pub(super) fn start(
        transaction: Transaction,
        context: &mut ExecutionContext<'_>,
        open: impl FnOnce(&mut ExecutionContext<'_>) -> Result<DynamicRows>,
    ) -> Result<AutonomousRows> {
        let database = Arc::clone(context.database);
        let opened = autonomous::inside(&transaction, context, |inner| {
            match autonomous::start(inner).and_then(|()| open(inner)) {
                Ok(rows) => Ok(rows),
                Err(error) => autonomous::ending(Err(error), inner),
            }
        })?;
        match opened {
            Ok(rows) => Ok(AutonomousRows { running: Some(Running { rows, transaction }), database }),
            Err(error) => autonomous::end(transaction, &database, Err(error)),
        }
    }

    fn end<T>(&mut self, result: Result<T>) -> Result<T> {
        match self.running.take() {
            Some(Running { rows, transaction }) => {
                drop(rows);
                autonomous::end(transaction, &self.database, result)
            }
            None => result,
        }
    }
}

impl RowsApart for AutonomousRows {
    fn next(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>> {
        let Some(Running { rows, transaction }) = &mut self.running else { return Ok(None) };
        let row = autonomous::inside(transaction, context, |inner| match rows.next(inner) {
            Ok(Some(row)) => Ok(Some(row)),
            end => autonomous::ending(end, inner),
        })?;
        if let Ok(Some(_)) = row {
            return row;
        }
        self.end(row)
    }

    fn leave(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let Some(Running { transaction, .. }) = &self.running else { return Ok(()) };
        let result = autonomous::inside(transaction, context, |inner| autonomous::ending(Ok(()), inner))?;
        self.end(result)
    }
}

impl Drop for AutonomousRows {
    /// Nobody asks for more rows of the routine: there is no statement any more in which triggers could fire.
    fn drop(&mut self) {
        if let Err(error) = self.end(Ok(())) {
            tracing::warn!(%error, "the autonomous transaction of a loop is lost");
        }
    }
}
