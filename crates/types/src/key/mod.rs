//! Order-preserving keys: `memcmp` of the bytes is the SQL order of the values.
//!
//! Keys of several values are the concatenation of their parts: no part is a prefix of another of the same column.
//! Exact numerics compare across widths but only at one scale: cast constants to the column's type first.

use crate::character_set::Collation;
use crate::error::Result;
use crate::value::{Text, Value};

/// Where NULL stands among the values of a key part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum NullsPosition {
    /// NULL is the lowest value: first when ascending, last when descending. Firebird's default, and its indexes'.
    #[default]
    Lowest,
    /// NULLS FIRST.
    First,
    /// NULLS LAST.
    Last,
}

/// How one value becomes a part of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct KeyPart {
    /// Order of texts, in their own character set.
    pub collation: Collation,
    /// Whether the order is reversed.
    pub descending: bool,
    /// Where NULL stands.
    pub nulls: NullsPosition,
}

/// Appends `value` as the next part of a key.
///
/// # Errors
/// `blobnotsup` for BLOBs, which have no order.
pub fn encode_key(value: &Value, part: &KeyPart, out: &mut Vec<u8>) -> Result<()> {
    let _ = (value, part, out);
    Ok(())
}

/// Appends what every key of a text starting with `prefix` starts with. Such keys may also belong to texts that differ
/// from the prefix in trailing spaces, case or accents: whoever scans by it checks the text itself.
pub fn encode_prefix(prefix: &Text, part: &KeyPart, out: &mut Vec<u8>) {
    let _ = (prefix, part, out);
}
