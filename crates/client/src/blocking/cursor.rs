//! The rows of a query, as an iterator.

use farbird_types::Result;

use super::driver::Runner;
use crate::statement::Statement;
use crate::typed::Row;

/// The rows of a query: see [`crate::Cursor`]. Dropped, it is closed with the next flight. After an error there are no
/// more rows.
#[derive(Debug)]
pub struct Cursor {
    pub(super) inner: crate::Cursor,
    pub(super) runner: Runner,
}

impl Cursor {
    /// The statement whose rows these are.
    pub fn statement(&self) -> &Statement {
        self.inner.statement()
    }

    /// As [`crate::Cursor::opened`].
    ///
    /// # Round trips
    /// One, which brings the first rows as well; none after a row was read.
    ///
    /// # Errors
    /// What the server says.
    pub fn opened(&mut self) -> Result<()> {
        self.runner.run(self.inner.opened())
    }
}

impl Iterator for Cursor {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Self::Item> {
        // The driver is not bothered for rows that are here.
        match self.inner.next_here() {
            Some(row) => Some(Ok(row)),
            None => self.runner.run(self.inner.next()).transpose(),
        }
    }
}
