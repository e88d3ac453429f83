//! Work in a transaction that is done again when another transaction was in the way.

use std::num::NonZeroU32;
use std::sync::Arc;

use farbird_types::Result;

use crate::connection::Connection;
use crate::transaction::Transaction;
use crate::transaction_options::TransactionOptions;

impl Connection {
    /// Runs `work` in a transaction and commits. If another transaction was in the way ([`Error::is_conflict`]), in the work
    /// or at the commit, everything is rolled back and done again in a new transaction, at most `attempts` times in all.
    /// Any other failure rolls back and is given back.
    ///
    /// Between attempts there is no pause: let the transactions wait for each other
    /// ([`Wait::Forever`](crate::Wait::Forever), [`Wait::Timeout`](crate::Wait::Timeout)) rather than fail at once. What
    /// `work` does beside the database is done with each attempt. It gets the transaction by reference count, so that its
    /// future can go to other threads; what it keeps of it has ended afterwards.
    ///
    /// [`Error::is_conflict`]: farbird_types::Error::is_conflict
    ///
    /// ```no_run
    /// # use std::num::NonZeroU32;
    /// # use farbird_client::{Connection, Result, TransactionOptions};
    /// # async fn example(connection: &Connection) -> Result<()> {
    /// let attempts = NonZeroU32::new(5).unwrap_or(NonZeroU32::MIN);
    /// let text = "update account set balance = balance + 1";
    /// connection
    ///     .in_transaction(&TransactionOptions::default(), attempts, |transaction| async move {
    ///         let update = connection.prepare_cached(&transaction, text).await?;
    ///         connection.execute(&transaction, &update, ()).await
    ///     })
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Round trips
    /// One, the commit's, beside those of the work; the transaction's start and a rollback travel with what comes next.
    ///
    /// # Cancel safety
    /// A future that is dropped rolls back, unless the commit was on its way: then it may have been done.
    ///
    /// # Errors
    /// Those of `work` and of the commit; after `attempts` conflicts the last of them.
    pub async fn in_transaction<T, F: Future<Output = Result<T>>>(
        &self,
        options: &TransactionOptions,
        attempts: NonZeroU32,
        mut work: impl FnMut(Arc<Transaction>) -> F,
    ) -> Result<T> {
        let mut left = attempts.get();
        loop {
            left -= 1;
            let transaction = Arc::new(self.begin(options).await?);
            // A transaction that is dropped is rolled back.
            let outcome = match work(Arc::clone(&transaction)).await {
                Ok(value) => self.commit_held(&transaction).await.map(|()| value),
                Err(error) => Err(error),
            };
            match outcome {
                Err(error) if error.is_conflict() && left > 0 => {}
                outcome => return outcome,
            }
        }
    }
}
