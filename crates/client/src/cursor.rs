//! Cursors: rows of a query, read ahead while the reader works on those that are there.

use std::sync::Arc;

use farbird_types::{Error, Result};
use farbird_wire::message::RowRun;
use farbird_wire::packet::{FetchResponse, Reply, Request};
use farbird_wire::protocol::{FETCH_END_OF_CURSOR, Handle, free_statement};

use crate::core::conversation::Received;
use crate::core::{Fetching, ObjectRef, Question, RowSource, RowsAhead, Shared, checked};
use crate::error;
use crate::statement::Statement;
use crate::transaction::Transaction;
use crate::typed::{Row, RowBlock};

/// The rows of a query. Dropped, it is closed with the next flight.
#[derive(Debug)]
pub struct Cursor {
    shared: Shared,
    transaction: ObjectRef,
    /// Keeps the statement prepared.
    statement: Statement,
    handle: Handle,
    /// The prepare, if it was not waited for, until its answer was seen.
    prepared: Option<Question>,
    /// The execute, until its answer was seen.
    executed: Option<Question>,
    /// Rows on their way; none at the end.
    rows: Option<RowsAhead>,
    /// Rows that are here.
    block: Option<Arc<RowBlock>>,
    /// How many of them have been given out.
    place: usize,
    /// Whether the server has a cursor to close.
    is_open: bool,
}

impl Cursor {
    /// The cursor that an execute opens; asks for the first rows.
    pub(crate) async fn open(
        shared: &Shared,
        transaction: &Transaction,
        statement: &Statement,
        executed: Question,
        prepared: Option<Question>,
        fetching: Option<Fetching>,
    ) -> Result<Cursor> {
        let handle = statement.handle(shared).await?;
        let tuned = statement.fetching(shared.version(), shared.tuning());
        let source = RowSource {
            transaction: transaction.object(),
            transaction_handle: transaction.handle(shared).await?,
            statement: handle,
            output: statement.output(),
            fetching: fetching.unwrap_or(tuned),
            row_bytes: statement.row_bytes(),
            blob_columns: statement.blob_columns(),
        };
        let rows = RowsAhead::new(shared, source);
        if shared.tuning().join_fetch {
            rows.ask()?;
        }
        let mut cursor = Cursor {
            shared: shared.clone(),
            transaction: ObjectRef::clone(transaction.object()),
            handle,
            statement: statement.clone(),
            prepared,
            executed: Some(executed),
            rows: Some(rows),
            block: None,
            place: 0,
            is_open: true,
        };
        if !shared.tuning().lazy_queries {
            cursor.opened().await?;
        }
        Ok(cursor)
    }

    /// The statement whose rows these are.
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// The next row; `None` at the end. After an error there are no more.
    ///
    /// # Round trips
    /// None while rows read ahead are there. What is asked for ahead doubles with each flight, up to
    /// [`Tuning::read_ahead_bytes`]: of a megabyte of rows two flights are waited for at most, of a hundred about ten.
    ///
    /// [`Tuning::read_ahead_bytes`]: crate::Tuning::read_ahead_bytes
    ///
    /// # Cancel safety
    /// A future that is dropped loses no row.
    ///
    /// # Errors
    /// What the server says; rows before the failure have been given.
    pub async fn next(&mut self) -> Result<Option<Row>> {
        if let Some(row) = self.next_here() {
            return Ok(Some(row));
        }
        // With `Tuning::join_fetch` off it shares the flight of an execute that nobody has waited for.
        self.ask_if_idle().await?;
        self.opened().await?;
        while let Some(rows) = &self.rows {
            self.ask_if_idle().await?;
            let run = match rows.next().await? {
                Received::Rows(run) => run,
                Received::Packet(Reply::FetchResponse(FetchResponse { message: Some(message), .. })) => {
                    RowRun::from(message)
                }
                Received::Packet(Reply::FetchResponse(FetchResponse { status, message: None })) => {
                    rows.next_batch();
                    if status == FETCH_END_OF_CURSOR {
                        self.rows = None;
                    }
                    continue;
                }
                Received::Packet(Reply::Response(response)) => {
                    self.rows = None;
                    return Err(match checked(response) {
                        Err(error) => error,
                        Ok(_) => self.shared.lock().fail(error::unexpected("op_fetch")),
                    });
                }
                Received::Packet(_) => {
                    return Err(self.shared.lock().fail(error::unexpected("op_fetch")));
                }
            };
            // Rows that came together count as given together: between them nothing is to be asked.
            rows.given(run.len())?;
            self.block = Some(RowBlock::new(run, self.statement.shared_columns()));
            self.place = 0;
            if let Some(row) = self.next_here() {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// The next of the rows that are here: nobody is asked or waited for.
    #[inline]
    pub(crate) fn next_here(&mut self) -> Option<Row> {
        let block = self.block.as_ref()?;
        let place = self.place;
        self.place += 1;
        if self.place < block.len() {
            return Some(block.row(place));
        }
        self.block.take().map(|block| block.into_row(place))
    }

    /// Sees to it that rows are under way.
    async fn ask_if_idle(&self) -> Result<()> {
        let Some(rows) = self.rows.as_ref().filter(|rows| rows.is_idle()) else { return Ok(()) };
        // Where closing waits for its answer, that comes first.
        self.statement.handle(&self.shared).await?;
        rows.ask()
    }

    /// Waits until the server has executed the query, without taking a row. Calling it is never necessary: it is for those
    /// who want to know of an error before they read.
    ///
    /// # Round trips
    /// One, which brings the first rows as well; none after a row was read.
    ///
    /// # Cancel safety
    /// A future that is dropped changes nothing.
    ///
    /// # Errors
    /// What the server says.
    pub async fn opened(&mut self) -> Result<()> {
        if let Some(prepared) = &mut self.prepared {
            let response = prepared.next().await.and_then(|reply| self.shared.response_of(reply));
            self.prepared = None;
            if let Err(error) = response {
                return Err(self.refused(error));
            }
        }
        let Some(executed) = &mut self.executed else { return Ok(()) };
        let response = match executed.next().await? {
            Reply::Response(response) => checked(response),
            _ => Err(self.shared.lock().fail(error::unexpected("op_execute"))),
        };
        self.executed = None;
        response.map(|_| ()).map_err(|error| self.refused(error))
    }

    /// There is no cursor on the server.
    fn refused(&mut self, error: Error) -> Error {
        self.executed = None;
        self.is_open = false;
        self.rows = None;
        self.transaction.explain(error)
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        self.rows = None;
        if self.is_open {
            let request = Request::FreeStatement { statement: self.handle, option: free_statement::CLOSE };
            self.shared.lock().tell_release(&request);
        }
    }
}
