//! Arrays: see [`crate::ArrayColumn`].

use std::ops::RangeInclusive;

use farbird_types::{BlobId, Result};

use super::Connection;
use crate::array::Array;
use crate::array_column::ArrayColumn;
use crate::transaction::Transaction;

impl Connection {
    /// As [`crate::Connection::array_column`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// `isc_dsql_field_err` if the table has no array column of this name.
    pub fn array_column(&self, transaction: &Transaction, relation: &str, name: &str) -> Result<ArrayColumn> {
        self.runner.run(self.inner.array_column(transaction, relation, name))
    }

    /// As [`crate::Connection::read_array`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn read_array(&self, transaction: &Transaction, column: &ArrayColumn, id: BlobId) -> Result<Array> {
        self.runner.run(self.inner.read_array(transaction, column, id))
    }

    /// As [`crate::Connection::read_array_slice`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// `isc_ss_out_of_bounds`, `isc_invalid_dimension`; what the server says.
    pub fn read_array_slice(
        &self,
        transaction: &Transaction,
        column: &ArrayColumn,
        id: BlobId,
        bounds: &[RangeInclusive<i32>],
    ) -> Result<Array> {
        self.runner.run(self.inner.read_array_slice(transaction, column, id, bounds))
    }

    /// As [`crate::Connection::read_arrays`].
    ///
    /// # Round trips
    /// One for all of them.
    ///
    /// # Errors
    /// What the server says of the first that it does not give.
    pub fn read_arrays(
        &self,
        transaction: &Transaction,
        column: &ArrayColumn,
        ids: &[BlobId],
    ) -> Result<Vec<Array>> {
        self.runner.run(self.inner.read_arrays(transaction, column, ids))
    }

    /// As [`crate::Connection::write_array`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// A value that is no value of the elements' type, a subscript out of bounds; what the server says.
    pub fn write_array(
        &self,
        transaction: &Transaction,
        column: &ArrayColumn,
        array: &Array,
    ) -> Result<BlobId> {
        self.runner.run(self.inner.write_array(transaction, column, array))
    }

    /// As [`crate::Connection::write_array_slice`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// As [`Connection::write_array`].
    pub fn write_array_slice(
        &self,
        transaction: &Transaction,
        column: &ArrayColumn,
        id: BlobId,
        array: &Array,
    ) -> Result<BlobId> {
        self.runner.run(self.inner.write_array_slice(transaction, column, id, array))
    }

    /// As [`crate::Connection::write_arrays`].
    ///
    /// # Round trips
    /// One for all of them.
    ///
    /// # Errors
    /// As [`Connection::write_array`], for the first that is refused.
    pub fn write_arrays(
        &self,
        transaction: &Transaction,
        column: &ArrayColumn,
        arrays: &[Array],
    ) -> Result<Vec<BlobId>> {
        self.runner.run(self.inner.write_arrays(transaction, column, arrays))
    }
}
