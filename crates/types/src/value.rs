//! One SQL value at run time.
//!
//! A value knows enough of its own type to be shown, compared and converted: exact numerics carry their scale,
//! texts their character set. What it does not know is its declared length or column; that is [`crate::SqlType`].

use std::sync::Arc;

use crate::character_set::CharacterSet;
use crate::decimal::Decimal;
use crate::temporal::{Date, Time, TimeTz, Timestamp, TimestampTz};

/// One SQL value.
///
/// `PartialEq` is identity of representation (used by tests and the record codecs), not SQL equality, which knows
/// NULL, scales, collations and padding: see [`crate::compare`].
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// The absent value, of any type.
    #[default]
    Null,
    /// BOOLEAN.
    Boolean(bool),
    /// SMALLINT, INTEGER, BIGINT and the NUMERIC/DECIMAL stored in them.
    Integer {
        /// The number without its decimal point: 12.34 is 1234.
        unscaled: i64,
        /// Power of ten of the last digit, 0 to -18: 12.34 has -2. Firebird's sign.
        scale: i8,
    },
    /// INT128 and NUMERIC/DECIMAL of 19 to 38 digits.
    Int128 {
        /// The number without its decimal point.
        unscaled: i128,
        /// Power of ten of the last digit, 0 to -38.
        scale: i8,
    },
    /// FLOAT.
    Float(f32),
    /// DOUBLE PRECISION.
    Double(f64),
    /// DECFLOAT(16) and DECFLOAT(34): the type says which.
    DecFloat(Decimal),
    /// DATE.
    Date(Date),
    /// TIME WITHOUT TIME ZONE.
    Time(Time),
    /// TIMESTAMP WITHOUT TIME ZONE.
    Timestamp(Timestamp),
    /// TIME WITH TIME ZONE.
    TimeTz(TimeTz),
    /// TIMESTAMP WITH TIME ZONE.
    TimestampTz(TimestampTz),
    /// CHAR, VARCHAR, BINARY, VARBINARY. CHAR values are padded to their declared length.
    Text(Text),
    /// BLOB: the id under which its contents are found.
    Blob(BlobId),
}

impl Value {
    /// An integer of scale 0.
    pub const fn integer(value: i64) -> Value {
        Value::Integer { unscaled: value, scale: 0 }
    }

    /// A UTF8 text.
    pub fn text(text: &str) -> Value {
        Value::Text(Text::utf8(text))
    }

    /// Whether this is NULL.
    pub const fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}

/// Bytes with the character set they are written in.
///
/// Cheap to clone: rows travel between operators by reference count. The bytes are valid in their character set
/// (checked where they enter: literals, parameters, conversions), except for NONE and OCTETS where anything goes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Text {
    bytes: Arc<[u8]>,
    character_set: CharacterSet,
}

impl Text {
    /// Wraps bytes already valid in `character_set`.
    pub fn new(bytes: impl Into<Arc<[u8]>>, character_set: CharacterSet) -> Text {
        Text { bytes: bytes.into(), character_set }
    }

    /// A text in UTF8.
    pub fn utf8(text: &str) -> Text {
        Text::new(text.as_bytes(), CharacterSet::UTF8)
    }

    /// The bytes, in [`Text::character_set`].
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The character set of the bytes.
    pub fn character_set(&self) -> CharacterSet {
        self.character_set
    }
}

/// Names a BLOB within a database. Never 0 for a BLOB that exists; never reused while a database is open.
///
/// On the wire it is a quad: the high word first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct BlobId(pub u64);
