//! Cursors: rows of a query, read ahead while the reader works on those that are there.

use std::collections::VecDeque;
use std::sync::Arc;

use farbird_types::{Error, Result};
use farbird_wire::message::RowRun;
use farbird_wire::packet::{Fetch, FetchResponse, Output, Reply, Request};
use farbird_wire::protocol::{FETCH_END_OF_CURSOR, Handle, free_statement};

use crate::core::conversation::Received;
use crate::core::{ObjectRef, Question, Shared, checked};
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
    output: Output,
    /// The prepare, if it was not waited for, until its answer was seen.
    prepared: Option<Question>,
    /// The execute, until its answer was seen.
    executed: Option<Question>,
    /// Rows to ask for at a time.
    batch_rows: u16,
    /// Rows of the oldest batch under way that have been taken here.
    given: u16,
    /// Rows that are here.
    block: Option<Arc<RowBlock>>,
    /// How many of them have been given out.
    place: usize,
    /// Batches under way, oldest first.
    batches: VecDeque<Question>,
    at_end: bool,
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
    ) -> Result<Cursor> {
        let mut cursor = Cursor {
            shared: shared.clone(),
            transaction: ObjectRef::clone(transaction.object()),
            handle: statement.handle(shared).await?,
            output: statement.output(),
            batch_rows: statement.fetch_count(shared.version()),
            statement: statement.clone(),
            prepared,
            executed: Some(executed),
            given: 0,
            block: None,
            place: 0,
            batches: VecDeque::new(),
            at_end: false,
            is_open: true,
        };
        if shared.tuning().join_fetch {
            cursor.ask()?;
        }
        if !shared.tuning().lazy_queries {
            cursor.opened().await?;
        }
        Ok(cursor)
    }

    /// The statement whose rows these are.
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// Queues a request for the next batch.
    fn ask(&mut self) -> Result<()> {
        let (output, count) = (self.output.clone(), self.batch_rows);
        let request = Request::Fetch(Fetch { statement: self.handle, output, count });
        self.batches.push_back(self.shared.ask(&request)?);
        Ok(())
    }

    /// The next row; `None` at the end. After an error there are no more.
    ///
    /// # Round trips
    /// None while rows read ahead are there; one per batch (up to 1,000 rows) if the reader is faster than the line.
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
        if !self.at_end && self.batches.is_empty() {
            // Not asked for yet (`Tuning::join_fetch` is off): it shares the flight of an execute that nobody has waited for.
            self.ask()?;
        }
        self.opened().await?;
        while !self.at_end {
            let Some(batch) = self.batches.front_mut() else {
                self.ask()?;
                continue;
            };
            let run = match batch.next_received().await? {
                Received::Rows(run) => run,
                Received::Packet(Reply::FetchResponse(FetchResponse { message: Some(message), .. })) => {
                    RowRun::from(message)
                }
                Received::Packet(Reply::FetchResponse(FetchResponse { status, message: None })) => {
                    self.batches.pop_front();
                    self.given = 0;
                    if status == FETCH_END_OF_CURSOR {
                        self.end();
                    }
                    continue;
                }
                Received::Packet(Reply::Response(response)) => {
                    self.end();
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
            self.given = self.given.saturating_add(u16::try_from(run.len()).unwrap_or(u16::MAX));
            self.block = Some(RowBlock::new(run, self.statement.shared_columns()));
            self.place = 0;
            self.read_ahead()?;
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
        self.end();
        self.transaction.explain(error)
    }

    /// Asks for the next batch when half of this one has come, so that it arrives in time.
    fn read_ahead(&mut self) -> Result<()> {
        if !self.shared.tuning().fetch_ahead {
            return Ok(());
        }
        if self.given >= self.batch_rows / 2 && self.batches.len() == 1 && self.batch_rows > 1 {
            self.ask()?;
            self.shared.lock().flush();
        }
        Ok(())
    }

    /// There are no more rows: what is under way for them is passed over.
    fn end(&mut self) {
        self.at_end = true;
        self.batches.clear();
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        self.end();
        if self.is_open {
            let request = Request::FreeStatement { statement: self.handle, option: free_statement::CLOSE };
            self.shared.lock().tell_release(&request);
        }
    }
}
