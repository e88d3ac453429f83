//! Cursors that move both ways, and cursors with names: the calls of [`crate::Connection`].

use farbird_types::Result;

use super::connection::Connection;
use super::driver::Runner;
use crate::scroll::Scroll;
use crate::statement::Statement;
use crate::transaction::Transaction;
use crate::typed::{Parameters, Row};

/// The rows of a query, in any order: see [`crate::ScrollCursor`].
#[derive(Debug)]
pub struct ScrollCursor {
    inner: crate::ScrollCursor,
    runner: Runner,
}

impl Connection {
    /// As [`crate::Connection::scroll`].
    ///
    /// # Round trips
    /// None; the first move costs one.
    ///
    /// # Errors
    /// `isc_wish_list` before protocol 18 (Firebird 5); `isc_dsql_sqlda_err` for values that are not as many as the
    /// parameters. What the server says comes with the first move.
    pub fn scroll(
        &self,
        transaction: &Transaction,
        statement: &Statement,
        parameters: impl Parameters,
    ) -> Result<ScrollCursor> {
        let inner = self.runner.run(self.inner.scroll(transaction, statement, parameters))?;
        Ok(ScrollCursor { inner, runner: self.runner.clone() })
    }

    /// As [`crate::Connection::name_cursor`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// `isc_dsql_decl_err` if another statement's cursor has this name, what else the server says.
    pub fn name_cursor(&self, statement: &Statement, name: &str) -> Result<()> {
        self.runner.run(self.inner.name_cursor(statement, name))
    }
}

impl ScrollCursor {
    /// The statement whose rows these are.
    pub fn statement(&self) -> &Statement {
        self.inner.statement()
    }

    /// As [`crate::ScrollCursor::fetch`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn fetch(&mut self, scroll: Scroll) -> Result<Option<Row>> {
        self.runner.run(self.inner.fetch(scroll))
    }

    /// As [`crate::ScrollCursor::fetch_many`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn fetch_many(&mut self, scroll: Scroll, count: u16) -> Result<Vec<Row>> {
        self.runner.run(self.inner.fetch_many(scroll, count))
    }

    /// As [`crate::ScrollCursor::count`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn count(&mut self) -> Result<u64> {
        self.runner.run(self.inner.count())
    }
}
