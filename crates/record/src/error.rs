//! What can be wrong with rows and bytes given to a codec.

/// Why a row cannot be encoded. Always a mistake of the caller: values are converted to their columns' types before
/// they reach the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The row has more values than its format has columns.
    #[error("a row of {values} values for a format of {columns} columns")]
    TooManyValues {
        /// Values in the row.
        values: usize,
        /// Columns in the format.
        columns: usize,
    },
    /// A value's kind does not fit its column's type.
    #[error("the value of column {column} does not fit its type")]
    WrongType {
        /// Index of the column.
        column: usize,
    },
    /// The row given to a block is not in value encoding.
    #[error("a row that is not in value encoding")]
    NotEncoded,
    /// The row is larger than a record may be.
    #[error("a record of {size} bytes is too large")]
    TooLarge {
        /// Its size in bytes.
        size: usize,
    },
}

/// Why bytes are not what the format says: they are damaged, or of another format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end inside an item.
    #[error("bytes end at offset {offset}, inside an item")]
    Truncated {
        /// Where the item began.
        offset: usize,
    },
    /// A number or a length is out of its range.
    #[error("bad {what} at offset {offset}")]
    Invalid {
        /// Which item.
        what: &'static str,
        /// Where it began.
        offset: usize,
    },
    /// A block names a codec that this program does not have.
    #[error("unknown codec {codec}")]
    UnknownCodec {
        /// The codec's byte.
        codec: u8,
    },
}
