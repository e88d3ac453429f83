//! Cursors that move both ways, and cursors with names.
//!
//! Source: wire-protocol 8.5 (op_fetch_scroll), 6.5 (op_set_cursor).

use farbird_types::{Error, Result, isc};
use farbird_wire::info::{InfoReader, cursor};
use farbird_wire::message::RowRun;
use farbird_wire::packet::{Fetch, FetchResponse, FetchScroll, Reply, Request};
use farbird_wire::protocol::{Handle, free_statement, scroll};

use crate::character_set;
use crate::connection::{Connection, information};
use crate::core::conversation::Received;
use crate::core::{ObjectRef, Question, Shared, checked};
use crate::error;
use crate::statement::Statement;
use crate::transaction::Transaction;
use crate::typed::{Parameters, Row, RowBlock};

/// Flag of an execute: the cursor moves both ways.
const SCROLLABLE: u32 = 1;

/// A move of a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scroll {
    /// To the next row.
    Next,
    /// To the row before.
    Prior,
    /// To the first row.
    First,
    /// To the last row.
    Last,
    /// To the row at this position, from 1; from -1, the last, for negative ones.
    Absolute(i32),
    /// By so many rows.
    Relative(i32),
}

impl Scroll {
    /// The operation's number, and how far.
    fn operation(self) -> (u16, i32) {
        match self {
            Scroll::Next => (scroll::NEXT, 0),
            Scroll::Prior => (scroll::PRIOR, 0),
            Scroll::First => (scroll::FIRST, 0),
            Scroll::Last => (scroll::LAST, 0),
            Scroll::Absolute(position) => (scroll::ABSOLUTE, position),
            Scroll::Relative(distance) => (scroll::RELATIVE, distance),
        }
    }
}

/// The rows of a query, in any order. Dropped, it is closed with the next flight.
#[derive(Debug)]
pub struct ScrollCursor {
    shared: Shared,
    transaction: ObjectRef,
    /// Keeps the statement prepared.
    statement: Statement,
    handle: Handle,
    /// The execute, until its answer was seen.
    executed: Option<Question>,
    /// Whether the server has a cursor to close.
    is_open: bool,
}

impl Connection {
    /// Executes a query whose rows can be read in any order. The server keeps them until the cursor is closed.
    ///
    /// # Round trips
    /// None; the first move costs one.
    ///
    /// # Errors
    /// `isc_wish_list` before protocol 18 (Firebird 5); `isc_dsql_sqlda_err` for values that are not as many as the
    /// parameters. What the server says comes with the first move.
    pub async fn scroll(
        &self,
        transaction: &Transaction,
        statement: &Statement,
        parameters: impl Parameters,
    ) -> Result<ScrollCursor> {
        let version = self.version();
        if !version.has_scrollable_cursors() {
            return Err(Error::new(isc::WISH_LIST)
                .and(isc::RANDOM)
                .with("scrollable cursors need protocol 18 (Firebird 5)"));
        }
        self.describe(statement).await?;
        let owner = transaction.handle(&self.shared).await?;
        let handle = statement.handle(&self.shared).await?;
        let ticket = {
            // As for any execute: making the request and queueing it is one step.
            let mut core = self.shared.lock();
            let inline = self.session.inline_blob_bytes;
            let mut execute = statement.execute(handle, owner, &parameters.values(), version, inline)?;
            execute.cursor_flags = SCROLLABLE;
            core.ask(&Request::Execute(execute))?
        };
        Ok(ScrollCursor {
            shared: self.shared.clone(),
            transaction: ObjectRef::clone(transaction.object()),
            statement: statement.clone(),
            handle,
            executed: Some(self.shared.question(ticket)),
            is_open: true,
        })
    }

    /// Names the cursor that the next execution of a query opens, so that `WHERE CURRENT OF` can refer to its row. The
    /// query has to end with FOR UPDATE: rows of others are fetched ahead, and the current row is then not the one that
    /// was read last.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// `isc_dsql_decl_err` if another statement's cursor has this name, what else the server says.
    pub async fn name_cursor(&self, statement: &Statement, name: &str) -> Result<()> {
        let handle = statement.handle(&self.shared).await?;
        // Servers expect the closing NUL of C.
        let name = [&character_set::encode(self.session.character_set, name)?[..], &[0]].concat();
        self.response(&Request::SetCursor { statement: handle, name, kind: 0 }).await.map(|_| ())
    }
}

impl ScrollCursor {
    /// The statement whose rows these are.
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// Moves and gives the row there; `None` before the first and behind the last.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub async fn fetch(&mut self, scroll: Scroll) -> Result<Option<Row>> {
        Ok(self.fetch_many(scroll, 1).await?.pop())
    }

    /// Moves [`Scroll::Next`] or [`Scroll::Prior`] so many times and gives the rows in the order of the moves; fewer where
    /// the rows end. Other moves are made once.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub async fn fetch_many(&mut self, scroll: Scroll, count: u16) -> Result<Vec<Row>> {
        let (operation, position) = scroll.operation();
        let count = if matches!(scroll, Scroll::Next | Scroll::Prior) { count } else { 1 };
        let fetch = Fetch { statement: self.handle, output: self.statement.output(), count };
        let request = Request::FetchScroll(FetchScroll { fetch, operation, position });
        let mut fetched = self.shared.ask(&request)?;
        self.opened().await?;
        let mut rows = Vec::new();
        loop {
            let reply = match fetched.next_received().await? {
                Received::Rows(run) => {
                    self.give(run, &mut rows);
                    continue;
                }
                Received::Packet(reply) => reply,
            };
            match reply {
                Reply::FetchResponse(FetchResponse { message: Some(message), .. }) => {
                    self.give(RowRun::from(message), &mut rows);
                }
                Reply::FetchResponse(FetchResponse { message: None, .. }) => return Ok(rows),
                Reply::Response(response) => match checked(response) {
                    Err(error) => return Err(self.transaction.explain(error)),
                    Ok(_) => return Err(self.shared.lock().fail(error::unexpected("op_fetch_scroll"))),
                },
                _ => return Err(self.shared.lock().fail(error::unexpected("op_fetch_scroll"))),
            }
        }
    }

    fn give(&self, run: RowRun, rows: &mut Vec<Row>) {
        let block = RowBlock::new(run, self.statement.shared_columns());
        rows.extend((0..block.len()).map(|index| block.row(index)));
    }

    /// How many rows there are.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub async fn count(&mut self) -> Result<u64> {
        let request = information(self.handle, vec![cursor::RECORD_COUNT]);
        let asked = self.shared.ask(&Request::CursorInformation(request))?;
        self.opened().await?;
        let reply = asked.response().await?.data;
        let mut items = InfoReader::new(&reply).filter_map(std::result::Result::ok);
        let count = items.find(|item| item.item == cursor::RECORD_COUNT);
        let count = count.and_then(|item| u64::try_from(item.integer()?).ok());
        count.ok_or_else(|| error::unexpected("op_info_cursor"))
    }

    /// Sees the answer to the execute.
    async fn opened(&mut self) -> Result<()> {
        let Some(executed) = &mut self.executed else { return Ok(()) };
        let reply = executed.next().await?;
        self.executed = None;
        let opened = self.shared.response_of(reply);
        self.is_open = opened.is_ok();
        opened.map(|_| ()).map_err(|error| self.transaction.explain(error))
    }
}

impl Drop for ScrollCursor {
    fn drop(&mut self) {
        if self.is_open {
            let request = Request::FreeStatement { statement: self.handle, option: free_statement::CLOSE };
            self.shared.lock().tell_release(&request);
        }
    }
}
