//! Constants.

use crate::ast::name::Name;
use farbird_types::ExactWidth;

/// A constant.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// NULL.
    Null,
    /// TRUE or FALSE.
    Boolean(bool),
    /// UNKNOWN: NULL by another name.
    Unknown,
    /// A whole number, decimal or hexadecimal (`0x`).
    Integer {
        /// The value; negative only for hexadecimal numbers and for the smallest BIGINT and INT128.
        value: i128,
        /// The type: the narrowest that holds a decimal number (from INTEGER up); for hexadecimal ones the number of
        /// digits decides (8, 16, 32).
        width: ExactWidth,
    },
    /// A number with a decimal point: `unscaled` times ten to the power of `scale`.
    Exact {
        /// The digits without the point.
        unscaled: i128,
        /// 0 down to -128, Firebird's sign: `1.25` is 125 with scale -2.
        scale: i8,
        /// BIGINT or INT128, as the digits need.
        width: ExactWidth,
    },
    /// A number with an exponent: DOUBLE PRECISION. Always finite.
    Double(f64),
    /// A number too large or too precise for the others: DECFLOAT(34), as written.
    DecFloat(String),
    /// `'...'`, `q'{...}'`, `_charset '...'`.
    String {
        /// The text without quotes, doubled quotes made single.
        value: String,
        /// The introducer.
        character_set: Option<Name>,
    },
    /// `x'...'`, optionally with an introducer: bytes.
    Binary {
        /// The bytes.
        value: Vec<u8>,
        /// The introducer; without one the constant is of OCTETS.
        character_set: Option<Name>,
    },
    /// `DATE '...'`: the text between the quotes.
    Date(String),
    /// `TIME '...'`, with or without a time zone in the text.
    Time(String),
    /// `TIMESTAMP '...'`, with or without a time zone in the text.
    Timestamp(String),
}
