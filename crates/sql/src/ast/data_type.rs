//! Data types as they are written in declarations and casts.

use crate::ast::name::{Name, ObjectName, Position};

/// A type with its array bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct DataType {
    /// The element type.
    pub kind: DataTypeKind,
    /// Bounds of each dimension; empty for anything but arrays.
    pub array: Vec<ArrayBounds>,
    /// Where the type begins.
    pub position: Position,
}

/// One dimension of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrayBounds {
    /// First subscript, 1 if only the upper bound was written.
    pub lower: i32,
    /// Last subscript.
    pub upper: i32,
}

/// The kinds of types.
#[derive(Debug, Clone, PartialEq)]
pub enum DataTypeKind {
    /// SMALLINT.
    Smallint,
    /// INTEGER, INT, LONG.
    Integer,
    /// BIGINT.
    Bigint,
    /// INT128.
    Int128,
    /// NUMERIC(precision, scale); 9 and 0 when nothing was written.
    Numeric {
        /// Digits, 1 to 38.
        precision: u8,
        /// Digits after the point, 0 to precision.
        scale: u8,
    },
    /// DECIMAL or DEC(precision, scale); 9 and 0 when nothing was written.
    Decimal {
        /// Digits, 1 to 38.
        precision: u8,
        /// Digits after the point, 0 to precision.
        scale: u8,
    },
    /// FLOAT, REAL, FLOAT(1 to 24).
    Float,
    /// DOUBLE PRECISION, LONG FLOAT, FLOAT(25 to 53).
    Double,
    /// DECFLOAT(16).
    DecFloat16,
    /// DECFLOAT(34), DECFLOAT.
    DecFloat34,
    /// BOOLEAN.
    Boolean,
    /// DATE.
    Date,
    /// TIME \[WITHOUT TIME ZONE\].
    Time,
    /// TIME WITH TIME ZONE.
    TimeTz,
    /// TIMESTAMP \[WITHOUT TIME ZONE\]; dialect 1's DATE.
    Timestamp,
    /// TIMESTAMP WITH TIME ZONE.
    TimestampTz,
    /// CHAR, NCHAR (which is ISO8859_1), CHARACTER.
    Char {
        /// Length in characters, 1 when nothing was written.
        length: u32,
        /// CHARACTER SET.
        character_set: Option<Name>,
    },
    /// VARCHAR, CHARACTER VARYING, CHAR VARYING, NATIONAL CHARACTER VARYING.
    Varchar {
        /// Length in characters.
        length: u32,
        /// CHARACTER SET.
        character_set: Option<Name>,
    },
    /// BINARY(length): CHAR(length) CHARACTER SET OCTETS.
    Binary {
        /// Length in bytes, 1 when nothing was written.
        length: u32,
    },
    /// VARBINARY(length), BINARY VARYING(length).
    Varbinary {
        /// Length in bytes.
        length: u32,
    },
    /// CSTRING(length): only in declarations of external functions.
    CString {
        /// Length in characters, without the final zero.
        length: u32,
        /// CHARACTER SET.
        character_set: Option<Name>,
    },
    /// BLOB.
    Blob {
        /// SUB_TYPE.
        subtype: Option<BlobSubtype>,
        /// SEGMENT SIZE.
        segment_size: Option<u16>,
        /// CHARACTER SET.
        character_set: Option<Name>,
    },
    /// The name of a domain: its type with its constraints.
    Domain(Name),
    /// TYPE OF domain: its type alone.
    TypeOfDomain(Name),
    /// TYPE OF COLUMN relation.column.
    TypeOfColumn {
        /// The table or view.
        relation: ObjectName,
        /// The column.
        column: Name,
    },
}

/// SUB_TYPE of a BLOB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlobSubtype {
    /// A number; negative: the user's.
    Number(i16),
    /// BINARY, TEXT, BLR and other names of RDB$TYPES.
    Name(Name),
}
