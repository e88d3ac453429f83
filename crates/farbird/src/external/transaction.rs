//! A transaction in another database, and the statements in it.

use std::io::Read;
use std::sync::Arc;

use farbird_client::blocking::{Connection, Cursor};
use farbird_client::{BlobId, Error, Result, Statement, Transaction, TransactionOptions, Value, isc};
use farbird_engine::session::external::{ExternalStatement, ExternalTransaction};
use farbird_types::SqlType;

use super::pool::Lent;

/// `isc_info_sql_stmt_` of SET TRANSACTION, COMMIT and ROLLBACK: transactions are begun and ended by their owner.
const ENDS_TRANSACTIONS: [u32; 3] = [9, 10, 11];

/// A transaction on a connection of its own.
pub(super) struct OpenTransaction {
    /// Above the connection: it is rolled back first when both are dropped.
    transaction: Arc<Transaction>,
    lent: Lent,
}

impl OpenTransaction {
    /// Begins one.
    ///
    /// # Errors
    /// The connection is lost. What the server says comes with the first statement.
    pub(super) fn begin(lent: Lent, options: &TransactionOptions) -> Result<OpenTransaction> {
        Ok(OpenTransaction { transaction: Arc::new(lent.connection.begin(options)?), lent })
    }

    /// The transaction, if no statement in it is open any more.
    fn alone(self) -> Result<(Transaction, Lent)> {
        let in_use = |_| Error::new(isc::OBJ_IN_USE).with("EXTERNAL TRANSACTION");
        Ok((Arc::try_unwrap(self.transaction).map_err(in_use)?, self.lent))
    }
}

impl ExternalTransaction for OpenTransaction {
    fn prepare(&mut self, sql: &str) -> Result<Box<dyn ExternalStatement>> {
        let connection = self.lent.connection.clone();
        let statement = connection.prepare(&self.transaction, sql)?;
        if ENDS_TRANSACTIONS.contains(&statement.kind()) {
            return Err(Error::new(isc::EDS_EXPL_TRAN_CTRL));
        }
        Ok(Box::new(OpenStatement {
            cursor: None,
            statement,
            transaction: Arc::clone(&self.transaction),
            connection,
        }))
    }

    fn commit(self: Box<Self>) -> Result<()> {
        let (transaction, lent) = self.alone()?;
        lent.connection.commit(transaction)?;
        lent.give_back();
        Ok(())
    }

    fn rollback(self: Box<Self>) -> Result<()> {
        let (transaction, lent) = self.alone()?;
        lent.connection.rollback(transaction)?;
        lent.give_back();
        Ok(())
    }
}

/// A prepared statement.
struct OpenStatement {
    cursor: Option<Cursor>,
    statement: Statement,
    transaction: Arc<Transaction>,
    connection: Connection,
}

impl ExternalStatement for OpenStatement {
    fn parameters(&self) -> Vec<SqlType> {
        self.statement.parameters().iter().map(farbird_client::Column::sql_type).collect()
    }

    fn columns(&self) -> Vec<SqlType> {
        self.statement.columns().iter().map(farbird_client::Column::sql_type).collect()
    }

    fn has_cursor(&self) -> bool {
        self.statement.has_cursor()
    }

    fn execute(&mut self, parameters: Vec<Value>) -> Result<Option<Vec<Value>>> {
        if self.statement.has_cursor() {
            let mut cursor = self.connection.query(&self.transaction, &self.statement, parameters)?;
            cursor.opened()?;
            self.cursor = Some(cursor);
            return Ok(None);
        }
        let row = self.connection.execute(&self.transaction, &self.statement, parameters)?;
        Ok(row.map(|row| row.to_values()))
    }

    fn next(&mut self) -> Result<Option<Vec<Value>>> {
        let row = self.cursor.as_mut().and_then(Iterator::next).transpose()?;
        Ok(row.map(|row| row.to_values()))
    }

    fn write_blob(&mut self, contents: &[u8]) -> Result<BlobId> {
        self.connection.write_blob(&self.transaction, contents)
    }

    fn open_blob(&mut self, id: BlobId) -> Result<Box<dyn Read + Send>> {
        Ok(Box::new(self.connection.open_blob(&self.transaction, id)?))
    }
}
