//! Executing statements.

use farbird_types::{Result, Value, isc};
use farbird_wire::message::{Message, MessageType};
use farbird_wire::packet::{Execute2, Reply, Request};
use farbird_wire::protocol::{Handle, free_statement};

use crate::connection::Connection;
use crate::core::{Fetching, Question, Shared, checked};
use crate::cursor::Cursor;
use crate::error;
use crate::prepare::Preparing;
use crate::statement::Statement;
use crate::transaction::Transaction;
use crate::transaction_options::{Isolation, TransactionOptions};
use crate::typed::{FromRow, Parameters, Row};

impl Connection {
    /// Runs a statement without parameters and without rows, such as DDL.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub async fn run(&self, transaction: &Transaction, text: &str) -> Result<()> {
        let handle = transaction.handle(&self.shared).await?;
        let text = self.statement_text(handle, Handle::NONE, text, &[])?;
        let question = {
            let mut core = self.shared.lock();
            let ticket = core.ask(&Request::ExecuteImmediate(text))?;
            core.may_end(transaction.object().id(), ticket);
            ticket
        };
        transaction.explain(self.shared.question(question).response().await).map(|_| ())
    }

    /// Executes a prepared statement to its end. Gives the row of statements that give one (EXECUTE PROCEDURE,
    /// RETURNING); of a query the first one.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says; `isc_dsql_sqlda_err` for values that are not as many as the parameters.
    pub async fn execute(
        &self,
        transaction: &Transaction,
        statement: &Statement,
        parameters: impl Parameters,
    ) -> Result<Option<Row>> {
        self.describe_unless_plain(statement).await?;
        if statement.has_cursor() {
            // One row is wanted: what is behind it stays on the server.
            let rows = Some(Fetching::OnDemand(1));
            return self.open_cursor(transaction, statement, &parameters.values(), rows).await?.next().await;
        }
        let executed = self.send_execute(transaction, statement, &parameters.values()).await?;
        self.describe(statement).await?;
        transaction.explain(self.executed_row(executed, statement).await)
    }

    /// Queues op_execute, or op_execute2 if there is a row to come.
    pub(crate) async fn send_execute(
        &self,
        transaction: &Transaction,
        statement: &Statement,
        parameters: &[Value],
    ) -> Result<Question> {
        let handle = transaction.handle(&self.shared).await?;
        let question = self.ask_execute(handle, statement, parameters).await?;
        if statement.ends_transactions() {
            transaction.object().may_be_ended_by(&question);
        }
        Ok(question)
    }

    /// op_execute, or op_execute2 of what gives one row without a cursor.
    pub(crate) async fn ask_execute(
        &self,
        transaction: Handle,
        statement: &Statement,
        parameters: &[Value],
    ) -> Result<Question> {
        let gives_row = !statement.columns().is_empty() && !statement.has_cursor();
        self.ask_execute_for(gives_row, transaction, statement, parameters).await
    }

    /// op_execute2 if a row shall come with the answer (of a query too, which then opens no cursor), else op_execute.
    async fn ask_execute_for(
        &self,
        gives_row: bool,
        transaction: Handle,
        statement: &Statement,
        parameters: &[Value],
    ) -> Result<Question> {
        let handle = statement.handle(&self.shared).await?;
        let (version, inline) = (self.version(), self.session.inline_blob_bytes);
        // Statement and server agree about the parameters' format by the order of the executions, so making a request and
        // queueing it is one step.
        let mut core = self.shared.lock();
        let execute = statement.execute(handle, transaction, parameters, version, inline)?;
        let ticket = if gives_row {
            core.ask(&Request::Execute2(Execute2 { execute, output: statement.output() }))
        } else {
            core.ask(&Request::Execute(execute))
        };
        drop(core);
        Ok(self.shared.question(ticket?))
    }

    /// Waits for the end of an execute; gives its row.
    async fn executed_row(&self, question: Question, statement: &Statement) -> Result<Option<Row>> {
        let message = self.executed(question).await?;
        Ok(message.map(|message| Row::of_message(message, statement.shared_columns())))
    }

    /// Waits for the end of an execute; gives its row as it came.
    pub(crate) async fn executed(&self, mut question: Question) -> Result<Option<Message>> {
        let mut row = None;
        loop {
            match question.next().await? {
                Reply::SqlResponse(response) => row = response.message,
                Reply::Response(response) => return checked(response).map(|_| row),
                _ => return Err(self.shared.lock().fail(error::unexpected("op_execute"))),
            }
        }
    }

    /// Executes a statement in a transaction of its own and commits it. That transaction is READ COMMITTED. Gives the row of
    /// statements that give one, and of a query, which must not find two.
    ///
    /// # Round trips
    /// One: start, execute and commit travel together. With [`Tuning::predict_handles`] off two.
    ///
    /// [`Tuning::predict_handles`]: crate::Tuning::predict_handles
    ///
    /// # Errors
    /// What the server says, of the statement (nothing is then changed) or of the commit; `isc_sing_select_err` for a query
    /// of more than one row.
    pub async fn execute_and_commit(
        &self,
        statement: &Statement,
        parameters: impl Parameters,
    ) -> Result<Option<Row>> {
        let options =
            TransactionOptions { isolation: Isolation::ReadCommitted, ..TransactionOptions::default() };
        self.describe_unless_plain(statement).await?;
        let transaction = self.begin(&options).await?;
        let executed = if statement.has_cursor() {
            let handle = transaction.handle(&self.shared).await?;
            self.ask_execute_for(true, handle, statement, &parameters.values()).await?
        } else {
            self.send_execute(&transaction, statement, &parameters.values()).await?
        };
        let commit = Request::Commit(transaction.handle(&self.shared).await?);
        let committed = transaction.object().ask_to_end(&commit)?;
        self.describe(statement).await?;
        let row = match self.executed_row(executed, statement).await {
            // That is how servers say that a query which is to give one row finds none.
            Err(error) if statement.has_cursor() && error.gds_code() == isc::STREAM_EOF => Ok(None),
            other => other,
        };
        let committed = committed.response().await;
        let row = transaction.explain(row)?;
        transaction.explain(committed).map(|_| row)
    }

    /// Executes a query and asks for its first rows, without waiting: the cursor that is given back waits when its first
    /// row is asked for. Any number of cursors may be open, and are read in any order.
    ///
    /// # Round trips
    /// None; the first row costs one, shared by all that was asked for in the meantime. Of a statement that is not described
    /// yet ([`Connection::prepare_deferred`]) one.
    ///
    /// # Errors
    /// `isc_dsql_sqlda_err` for values that are not as many as the parameters. What the server says comes with the first
    /// row.
    pub async fn query(
        &self,
        transaction: &Transaction,
        statement: &Statement,
        parameters: impl Parameters,
    ) -> Result<Cursor> {
        self.open_cursor(transaction, statement, &parameters.values(), None).await
    }

    /// As [`Connection::query`]; `fetching` says how rows are asked for, if not as the connection is tuned.
    async fn open_cursor(
        &self,
        transaction: &Transaction,
        statement: &Statement,
        parameters: &[Value],
        fetching: Option<Fetching>,
    ) -> Result<Cursor> {
        self.describe_unless_plain(statement).await?;
        let executed = self.send_execute(transaction, statement, parameters).await?;
        if !statement.is_described() {
            let handle = statement.handle(&self.shared).await?;
            let unread = Unread { shared: &self.shared, statement: handle };
            self.describe(statement).await?;
            // The cursor closes it from now on.
            std::mem::forget(unread);
        }
        Cursor::open(&self.shared, transaction, statement, executed, None, fetching).await
    }

    /// Prepares and executes a query whose columns are known, and asks for its first rows in the given types, all without
    /// waiting: the server's description of the query is not needed. The server converts what has another type.
    /// Parameters travel in their own types.
    ///
    /// # Round trips
    /// None; the first row costs one, shared by all that was asked for in the meantime: the start of the transaction, and
    /// the attach if the connection is a [`Connector`](crate::Connector). With [`Tuning::predict_handles`] off one here.
    ///
    /// [`Tuning::predict_handles`]: crate::Tuning::predict_handles
    ///
    /// # Errors
    /// The connection is lost. What the server says of the text, or of another number of columns than it has,
    /// comes with the first row.
    pub async fn query_typed(
        &self,
        transaction: &Transaction,
        text: &str,
        parameters: impl Parameters,
        columns: &[MessageType],
    ) -> Result<Cursor> {
        let handle = transaction.handle(&self.shared).await?;
        let Preparing { object, prepared } = self.start_to_prepare(handle, text).await?;
        let statement = Statement::assumed(object, columns, self.session.character_set);
        let executed = self.send_execute(transaction, &statement, &parameters.values()).await?;
        Cursor::open(&self.shared, transaction, &statement, executed, Some(prepared), None).await
    }

    /// Executes a statement and gives its rows in a type of the program's: tuples, or structs with `#[derive(FromRow)]`.
    ///
    /// # Round trips
    /// One for few rows; see [`Cursor::next`].
    ///
    /// # Errors
    /// What the server says; as [`Row::get`] for a row that does not become what is wanted.
    pub async fn query_as<T: for<'r> FromRow<'r>>(
        &self,
        transaction: &Transaction,
        statement: &Statement,
        parameters: impl Parameters,
    ) -> Result<Vec<T>> {
        let mut cursor = self.query(transaction, statement, parameters).await?;
        let mut found = Vec::new();
        while let Some(row) = cursor.next().await? {
            found.push(row.convert()?);
        }
        Ok(found)
    }

    /// Prepares a query without parameters and gives all its rows.
    ///
    /// # Round trips
    /// Two for few rows.
    ///
    /// # Errors
    /// What the server says.
    pub async fn query_all(&self, transaction: &Transaction, text: &str) -> Result<Vec<Vec<Value>>> {
        let statement = self.prepare(transaction, text).await?;
        let mut cursor = self.query(transaction, &statement, &[]).await?;
        let mut rows = Vec::new();
        while let Some(row) = cursor.next().await? {
            rows.push(row.to_values());
        }
        Ok(rows)
    }
}

/// A cursor that is open on the server before there is a [`Cursor`] to close it.
struct Unread<'s> {
    shared: &'s Shared,
    statement: Handle,
}

impl Drop for Unread<'_> {
    fn drop(&mut self) {
        let request = Request::FreeStatement { statement: self.statement, option: free_statement::CLOSE };
        self.shared.lock().tell_release(&request);
    }
}
