//! Queries by their text, into types of the program, with everything in one flight: prepare, execute and the first rows.
//!
//! The rows are asked for in the types that the program's row type expects ([`crate::typed::Expected`]). The description, which
//! comes with them, shows whether the query has such columns; if not, it is executed again, with its own.

use farbird_types::{Result, Value};

use crate::connection::Connection;
use crate::cursor::Cursor;
use crate::deferred::Deferred;
use crate::prepare::Preparing;
use crate::statement::Statement;
use crate::transaction::Transaction;
use crate::typed::{Expected, FromRow, Parameters};
use farbird_types::query_text::is_pure_query;

impl Connection {
    /// All rows of a query, in a type of the program's: tuples, or structs with `#[derive(FromRow)]`. The statement is kept as
    /// [`Connection::prepare_cached`] does.
    ///
    /// ```no_run
    /// # use farbird_client::{FromRow, Result, TransactionOptions};
    /// #[derive(FromRow)]
    /// struct Customer {
    ///     id: i64,
    ///     name: String,
    /// }
    ///
    /// # async fn example(connection: &farbird_client::Connection) -> Result<()> {
    /// let transaction = connection.begin(&TransactionOptions::default()).await?;
    /// let text = "select id, name from customer where city = ?";
    /// let customers: Vec<Customer> = connection.query_all_as(&transaction, text, ("Ulm",)).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Round trips
    /// One for few rows, as [`Cursor::next`] tells, if the statement is kept. One the first time, too, with the start of the
    /// transaction, and with the attach if this is a [`Connector`], if
    /// - the types of the columns are known beforehand: every field's type has a [`ColumnType`];
    /// - the text is a SELECT that calls no functions and procedures but those of SQL that change nothing;
    /// - the query has these columns, for a struct in the order of its fields; otherwise it is executed once more, in a second
    ///   round trip. (So give a query that changes something by a procedure or function without parameters,
    ///   perhaps in a view, to [`Connection::prepare`].)
    ///
    /// Else two. With [`Tuning::predict_handles`] off one more if the transaction has just begun.
    ///
    /// [`ColumnType`]: crate::ColumnType
    /// [`Connector`]: crate::Connector
    /// [`Tuning::predict_handles`]: crate::Tuning::predict_handles
    ///
    /// # Errors
    /// What the server says; a row that does not become what is wanted.
    pub async fn query_all_as<T: for<'r> FromRow<'r>>(
        &self,
        transaction: &Transaction,
        text: &str,
        parameters: impl Parameters,
    ) -> Result<Vec<T>> {
        let kept = self.statements().take(text);
        let expected = Expected::of::<T>().filter(|_| kept.is_none() && is_pure_query(text));
        let mut cursor = match (kept, expected) {
            (Some(statement), _) => self.query(transaction, &statement, parameters).await?,
            (None, Some(expected)) => {
                self.query_unseen(transaction, text, &parameters.values(), &expected).await?
            }
            (None, None) => {
                let statement = self.prepare_cached(transaction, text).await?;
                self.query(transaction, &statement, parameters).await?
            }
        };
        let mut rows = Vec::new();
        while let Some(row) = cursor.next().await? {
            rows.push(row.convert()?);
        }
        Ok(rows)
    }

    /// Prepares, executes and asks for rows in expected types, in one flight; if the query turns out to have others, once more
    /// in its own.
    async fn query_unseen(
        &self,
        transaction: &Transaction,
        text: &str,
        parameters: &[Value],
        expected: &Expected,
    ) -> Result<Cursor> {
        let handle = transaction.handle(&self.shared).await?;
        let Preparing { object, prepared } = self.start_to_prepare(handle, text).await?;
        let deferred = Deferred::new(transaction, text, prepared);
        let set = self.character_set();
        let statement = Statement::expected(object, &expected.message_types(set), deferred, set);
        let executed = self.send_execute(transaction, &statement, parameters).await?;
        let cursor = Cursor::open(&self.shared, transaction, &statement, executed, None, None).await;
        if let Err(error) = self.describe(&statement).await {
            // There is no cursor to close, which its execute tells.
            if let Ok(mut cursor) = cursor {
                cursor.opened().await.err();
            }
            return Err(error);
        }
        let put_out = self.statements().keep(text, &statement);
        // Outside of the lock: dropping it takes the lock of the core.
        drop(put_out);
        if expected.suits(statement.columns(), set) {
            return cursor;
        }
        drop(cursor);
        self.query(transaction, &statement, parameters).await
    }
}
