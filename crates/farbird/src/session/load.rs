//! Many rows for one statement.

use farbird_types::{Error, Value};

use super::Failure;

/// A row on its way into a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LoadRow {
    /// A value for each parameter, of the parameter's own type; NULL in the places of BLOBs.
    pub(crate) values: Vec<Value>,
    /// Contents of the BLOBs, with their places among the values, in order.
    pub(crate) blobs: Vec<(usize, Vec<u8>)>,
}

/// Where the rows of a load come from, and who wants to know what became of them. Rows are numbered from 0, in the order
/// in which they come.
pub(crate) trait Load {
    /// Fills in the next row; false if there is none.
    ///
    /// # Errors
    /// Ends the load; what was not committed is undone.
    fn next_row(&mut self, row: &mut LoadRow) -> Result<bool, Failure>;

    /// The database refuses a row.
    ///
    /// # Errors
    /// Ends the load; what was not committed is undone.
    fn refused(&mut self, number: u64, error: Error) -> Result<(), Failure>;

    /// What becomes of the first `rows` rows is known, up to the commit.
    fn settled(&mut self, rows: u64);

    /// The first `rows` rows are permanent, but for those that were refused.
    fn committed(&mut self, rows: u64);
}
