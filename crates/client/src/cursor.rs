//! Cursors: rows of a query, read ahead while the reader works on those that are there.

use std::collections::VecDeque;

use farbird_types::{Result, Value};
use farbird_wire::packet::{Fetch, FetchResponse, Output, Reply, Request};
use farbird_wire::protocol::{FETCH_END_OF_CURSOR, Handle, ProtocolVersion, free_statement};

use crate::connection::Connection;
use crate::conversation::Ticket;
use crate::error;
use crate::inline_blobs::InlineBlobs;
use crate::link::{Link, checked};
use crate::releases::Releases;
use crate::statement::Statement;

/// An open cursor of one connection. Dropped, it is closed with the next flight.
#[derive(Debug)]
pub struct Cursor {
    transaction: Handle,
    statement: Handle,
    output: Output,
    /// Rows to ask for at a time.
    batch_rows: u16,
    /// Rows of the oldest batch under way that have been given out.
    given: u16,
    /// Batches under way, oldest first.
    batches: VecDeque<Ticket>,
    at_end: bool,
    is_open: bool,
    releases: Releases,
}

impl Cursor {
    pub(crate) fn new(
        transaction: Handle,
        statement: &Statement,
        version: ProtocolVersion,
        releases: &Releases,
    ) -> Cursor {
        Cursor {
            transaction,
            statement: statement.handle(),
            output: statement.output(),
            batch_rows: statement.fetch_count(version),
            given: 0,
            batches: VecDeque::new(),
            at_end: false,
            is_open: true,
            releases: releases.clone(),
        }
    }

    /// Queues a request for the next batch.
    pub(crate) fn ask(&mut self, link: &mut Link) -> Result<()> {
        let (output, count) = (self.output.clone(), self.batch_rows);
        let ticket = link.send(&Request::Fetch(Fetch { statement: self.statement, output, count }))?;
        self.batches.push_back(ticket);
        Ok(())
    }

    /// The execute failed: there is nothing to close.
    pub(crate) fn was_not_opened(mut self) {
        self.is_open = false;
    }

    pub(crate) fn next_row(
        &mut self,
        link: &mut Link,
        inline_blobs: &mut InlineBlobs,
    ) -> Result<Option<Vec<Value>>> {
        while !self.at_end {
            let Some(ticket) = self.batches.front().copied() else {
                self.ask(link)?;
                continue;
            };
            match link.next(ticket)? {
                Reply::InlineBlob(blob) => inline_blobs.keep(self.transaction, blob),
                Reply::FetchResponse(FetchResponse { message: Some(message), .. }) => {
                    self.given = self.given.saturating_add(1);
                    self.read_ahead(link)?;
                    return message.values().map(Some).map_err(|error| error::broken(&error));
                }
                Reply::FetchResponse(FetchResponse { status, message: None }) => {
                    self.batches.pop_front();
                    self.given = 0;
                    if status == FETCH_END_OF_CURSOR {
                        self.end();
                    }
                }
                Reply::Response(response) => {
                    self.batches.pop_front();
                    self.end();
                    return Err(match checked(response) {
                        Err(error) => error,
                        Ok(_) => error::unexpected("op_fetch"),
                    });
                }
                _ => return Err(error::unexpected("op_fetch")),
            }
        }
        Ok(None)
    }

    /// Asks for the next batch when half of this one has been given out, so that it arrives in time.
    fn read_ahead(&mut self, link: &mut Link) -> Result<()> {
        if self.given == self.batch_rows / 2 && self.batches.len() == 1 && self.batch_rows > 1 {
            self.ask(link)?;
            link.flush()?;
        }
        Ok(())
    }

    fn end(&mut self) {
        self.at_end = true;
        for ticket in self.batches.drain(..) {
            self.releases.abandon(ticket);
        }
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        self.end();
        if self.is_open {
            let option = free_statement::CLOSE;
            self.releases.add(Request::FreeStatement { statement: self.statement, option });
        }
    }
}

/// The rows of a query, one by one. After an error there are no more.
#[derive(Debug)]
pub struct Rows<'c> {
    pub(crate) connection: &'c mut Connection,
    pub(crate) cursor: Cursor,
}

impl Iterator for Rows<'_> {
    type Item = Result<Vec<Value>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.connection.fetch(&mut self.cursor).transpose()
    }
}
