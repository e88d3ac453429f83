//! How rows become bytes: record formats and the codecs that pack rows of one format.
//!
//! Promises: pure functions over slices, no I/O, no clock, no threads. Damaged bytes give a [`DecodeError`]; they
//! never panic, never make a decoder read past its slice and never make it allocate by an unchecked length.
//! Uses `types` only; used by `store`. The byte layouts are described in docs/store.md.
#![forbid(unsafe_code)]

pub mod array;
mod bit_packing;
pub mod block_fill;
pub mod bytes;
pub mod codec;
pub mod column_codec;
mod column_vector;
pub mod compression;
mod error;
pub mod fixed;
mod format;
pub mod image;
mod packed;
mod row_list;
pub mod run_length;
mod text_codes;
pub mod value_codec;

pub use block_fill::BlockFill;
pub use codec::{
    BlockReader, CodecId, ColumnBounds, ColumnSet, EncodedRows, RowCodec, UnknownCodecName, codec,
};
pub use column_codec::BlockOutline;
pub use column_vector::{ColumnValues, ColumnVector, NullBits, number_of_value, value_of_number};
pub use compression::Compression;
pub use error::{DecodeError, EncodeError};
pub use fixed::FixedRecord;
pub use format::RecordFormat;
pub use text_codes::TextCodes;
