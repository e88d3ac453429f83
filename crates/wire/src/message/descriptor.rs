//! One item of a message format: its BLR, its size in memory and on the wire, and how SQL names its type.
//!
//! Uses `farbird_types`. Source: wire-protocol.md, 7.1, 7.6 and 11.7.

use farbird_types::{CharacterSet, Collation, ColumnType, ExactSubtype, ExactWidth, SqlType, TextType};

use crate::protocol::ProtocolVersion;

/// SQL type numbers of the API (SQL_*), as prepare reports them. One more means "may be NULL".
pub mod sql_type {
    #![allow(missing_docs)]
    pub const VARYING: u16 = 448;
    pub const TEXT: u16 = 452;
    pub const DOUBLE: u16 = 480;
    pub const FLOAT: u16 = 482;
    pub const LONG: u16 = 496;
    pub const SHORT: u16 = 500;
    pub const TIMESTAMP: u16 = 510;
    pub const BLOB: u16 = 520;
    pub const D_FLOAT: u16 = 530;
    pub const ARRAY: u16 = 540;
    pub const QUAD: u16 = 550;
    pub const TIME: u16 = 560;
    pub const DATE: u16 = 570;
    pub const INT64: u16 = 580;
    pub const TIMESTAMP_TZ_EX: u16 = 32748;
    pub const TIME_TZ_EX: u16 = 32750;
    pub const INT128: u16 = 32752;
    pub const TIMESTAMP_TZ: u16 = 32754;
    pub const TIME_TZ: u16 = 32756;
    pub const DEC16: u16 = 32760;
    pub const DEC34: u16 = 32762;
    pub const BOOLEAN: u16 = 32764;
    pub const NULL: u16 = 32766;
}

/// "The connection's character set": what a text item without one means.
pub const DYNAMIC_CHARACTER_SET: u8 = 127;

/// The type of one item of a message.
///
/// `charset` is the word of blr_text2 and its relatives: the character set in the low byte, the collation in the
/// high one; `None` is the older form without it (the connection's character set). Lengths are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the fields are described above, once")]
pub enum MessageType {
    /// blr_text, blr_text2: exactly so many bytes.
    Text { length: u16, charset: Option<u16> },
    /// blr_varying, blr_varying2: up to so many bytes.
    Varying { length: u16, charset: Option<u16> },
    /// blr_cstring, blr_cstring2: up to so many bytes.
    Cstring { length: u16, charset: Option<u16> },
    /// blr_short
    Short { scale: i8 },
    /// blr_long
    Long { scale: i8 },
    /// blr_int64
    Int64 { scale: i8 },
    /// blr_int128
    Int128 { scale: i8 },
    /// blr_quad: a blob or array id.
    Quad { scale: i8 },
    /// blr_float
    Float,
    /// blr_double
    Double,
    /// blr_d_float
    DFloat,
    /// blr_sql_date
    Date,
    /// blr_sql_time
    Time,
    /// blr_timestamp
    Timestamp,
    /// blr_blob2
    Blob { subtype: i16, charset: u16 },
    /// blr_bool
    Boolean,
    /// blr_dec64
    DecFloat16,
    /// blr_dec128
    DecFloat34,
    /// blr_sql_time_tz
    TimeTz,
    /// blr_timestamp_tz
    TimestampTz,
    /// blr_ex_time_tz: with the effective offset.
    ExtendedTimeTz,
    /// blr_ex_timestamp_tz: with the effective offset.
    ExtendedTimestampTz,
}

pub(crate) mod blr {
    //! BLR codes that message formats are made of.
    pub(crate) const VERSION4: u8 = 4;
    pub(crate) const VERSION5: u8 = 5;
    pub(crate) const BEGIN: u8 = 2;
    pub(crate) const MESSAGE: u8 = 4;
    pub(crate) const END: u8 = 255;
    pub(crate) const END_OF_CODE: u8 = 76;

    pub(crate) const TEXT: u8 = 14;
    pub(crate) const TEXT2: u8 = 15;
    pub(crate) const VARYING: u8 = 37;
    pub(crate) const VARYING2: u8 = 38;
    pub(crate) const CSTRING: u8 = 40;
    pub(crate) const CSTRING2: u8 = 41;
    pub(crate) const SHORT: u8 = 7;
    pub(crate) const LONG: u8 = 8;
    pub(crate) const QUAD: u8 = 9;
    pub(crate) const FLOAT: u8 = 10;
    pub(crate) const D_FLOAT: u8 = 11;
    pub(crate) const SQL_DATE: u8 = 12;
    pub(crate) const SQL_TIME: u8 = 13;
    pub(crate) const INT64: u8 = 16;
    pub(crate) const BLOB2: u8 = 17;
    pub(crate) const BOOL: u8 = 23;
    pub(crate) const DEC64: u8 = 24;
    pub(crate) const DEC128: u8 = 25;
    pub(crate) const INT128: u8 = 26;
    pub(crate) const DOUBLE: u8 = 27;
    pub(crate) const SQL_TIME_TZ: u8 = 28;
    pub(crate) const TIMESTAMP_TZ: u8 = 29;
    pub(crate) const EX_TIME_TZ: u8 = 30;
    pub(crate) const EX_TIMESTAMP_TZ: u8 = 31;
    pub(crate) const TIMESTAMP: u8 = 35;
}

/// What prepare tells about one column or parameter (information items 11 to 14).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqlDescription {
    /// SQL type number, plus one if NULL is possible.
    pub sql_type: u16,
    /// Exact numerics: 0, 1 NUMERIC, 2 DECIMAL. Texts: character set and collation. BLOBs: their subtype.
    pub sub_type: i32,
    /// Numerics: power of ten. BLOBs: character set.
    pub scale: i32,
    /// Bytes, without the length prefix of a VARCHAR.
    pub length: u32,
}

impl SqlDescription {
    /// How prepare describes a column.
    pub fn of(column: &ColumnType) -> SqlDescription {
        let (sql_type, sub_type, scale, length) = match column.sql_type {
            SqlType::Null => (sql_type::NULL, 0, 0, 0),
            SqlType::Boolean => (sql_type::BOOLEAN, 0, 0, 1),
            SqlType::Exact { width, scale, subtype } => {
                let (number, length) = match width {
                    ExactWidth::Short => (sql_type::SHORT, 2),
                    ExactWidth::Long => (sql_type::LONG, 4),
                    ExactWidth::Int64 => (sql_type::INT64, 8),
                    ExactWidth::Int128 => (sql_type::INT128, 16),
                };
                (number, subtype as i32, i32::from(scale), length)
            }
            SqlType::Float => (sql_type::FLOAT, 0, 0, 4),
            SqlType::Double => (sql_type::DOUBLE, 0, 0, 8),
            SqlType::DecFloat16 => (sql_type::DEC16, 0, 0, 8),
            SqlType::DecFloat34 => (sql_type::DEC34, 0, 0, 16),
            SqlType::Date => (sql_type::DATE, 0, 0, 4),
            SqlType::Time => (sql_type::TIME, 0, 0, 4),
            SqlType::Timestamp => (sql_type::TIMESTAMP, 0, 0, 8),
            SqlType::TimeTz => (sql_type::TIME_TZ, 0, 0, 8),
            SqlType::TimestampTz => (sql_type::TIMESTAMP_TZ, 0, 0, 12),
            SqlType::Text(text) => {
                let number = if text.varying { sql_type::VARYING } else { sql_type::TEXT };
                let charset = charset_word(text.character_set.0, text.collation.number());
                (number, i32::from(charset), 0, text.length_bytes())
            }
            SqlType::Blob { subtype, character_set, .. } => {
                (sql_type::BLOB, i32::from(subtype), i32::from(character_set.0), 8)
            }
            SqlType::Array => (sql_type::ARRAY, 0, 0, 8),
        };
        SqlDescription { sql_type: sql_type + u16::from(column.nullable), sub_type, scale, length }
    }
}

fn charset_word(character_set: u8, collation: u8) -> u16 {
    u16::from_le_bytes([character_set, collation])
}

impl MessageType {
    /// The descriptor in which a value of this type travels unconverted, as fbclient would ask for it.
    pub fn natural(sql_type: &SqlType) -> MessageType {
        match *sql_type {
            SqlType::Null => MessageType::Text { length: 0, charset: None },
            SqlType::Boolean => MessageType::Boolean,
            SqlType::Exact { width, scale, .. } => match width {
                ExactWidth::Short => MessageType::Short { scale },
                ExactWidth::Long => MessageType::Long { scale },
                ExactWidth::Int64 => MessageType::Int64 { scale },
                ExactWidth::Int128 => MessageType::Int128 { scale },
            },
            SqlType::Float => MessageType::Float,
            SqlType::Double => MessageType::Double,
            SqlType::DecFloat16 => MessageType::DecFloat16,
            SqlType::DecFloat34 => MessageType::DecFloat34,
            SqlType::Date => MessageType::Date,
            SqlType::Time => MessageType::Time,
            SqlType::Timestamp => MessageType::Timestamp,
            SqlType::TimeTz => MessageType::TimeTz,
            SqlType::TimestampTz => MessageType::TimestampTz,
            SqlType::Text(text) => {
                let length = u16::try_from(text.length_bytes()).unwrap_or(u16::MAX);
                let charset = Some(charset_word(text.character_set.0, text.collation.number()));
                if text.varying {
                    MessageType::Varying { length, charset }
                } else {
                    MessageType::Text { length, charset }
                }
            }
            SqlType::Blob { subtype, character_set, collation } => {
                MessageType::Blob { subtype, charset: charset_word(character_set.0, collation.number()) }
            }
            SqlType::Array => MessageType::Quad { scale: 0 },
        }
    }

    /// The type whose values travel in this descriptor: the reverse of [`MessageType::natural`], but that NUMERIC and
    /// DECIMAL are known by their scale only.
    pub fn sql_type(&self) -> SqlType {
        let exact = |width, scale: i8| {
            let subtype = if scale == 0 { ExactSubtype::Integer } else { ExactSubtype::Numeric };
            SqlType::Exact { width, scale, subtype }
        };
        let character_set = |charset: Option<u16>| {
            let [low, ..] = charset.unwrap_or_default().to_le_bytes();
            CharacterSet::by_id(low).unwrap_or(CharacterSet::NONE)
        };
        let text = |varying, length: u16, charset| {
            let character_set = character_set(charset);
            SqlType::Text(TextType {
                varying,
                length_chars: u32::from(length) / u32::from(character_set.bytes_per_character()).max(1),
                character_set,
                collation: Collation(0),
            })
        };
        match *self {
            MessageType::Text { length, charset } => text(false, length, charset),
            MessageType::Varying { length, charset } | MessageType::Cstring { length, charset } => {
                text(true, length, charset)
            }
            MessageType::Short { scale } => exact(ExactWidth::Short, scale),
            MessageType::Long { scale } => exact(ExactWidth::Long, scale),
            MessageType::Int64 { scale } => exact(ExactWidth::Int64, scale),
            MessageType::Int128 { scale } => exact(ExactWidth::Int128, scale),
            MessageType::Quad { .. } => SqlType::BLOB_BINARY,
            MessageType::Float => SqlType::Float,
            MessageType::Double | MessageType::DFloat => SqlType::Double,
            MessageType::Date => SqlType::Date,
            MessageType::Time => SqlType::Time,
            MessageType::Timestamp => SqlType::Timestamp,
            MessageType::Blob { subtype, charset } => SqlType::Blob {
                subtype,
                character_set: character_set(Some(charset)),
                collation: Collation(0),
            },
            MessageType::Boolean => SqlType::Boolean,
            MessageType::DecFloat16 => SqlType::DecFloat16,
            MessageType::DecFloat34 => SqlType::DecFloat34,
            MessageType::TimeTz | MessageType::ExtendedTimeTz => SqlType::TimeTz,
            MessageType::TimestampTz | MessageType::ExtendedTimestampTz => SqlType::TimestampTz,
        }
    }

    /// The descriptor for what prepare described, as a client of this protocol version asks for it.
    /// `None` for a type number that does not exist.
    pub fn described(description: &SqlDescription, version: ProtocolVersion) -> Option<MessageType> {
        let scale = i8::try_from(description.scale).unwrap_or(0);
        let length = u16::try_from(description.length).unwrap_or(u16::MAX);
        let [sub_low, sub_high, ..] = description.sub_type.to_le_bytes();
        let sub_type = u16::from_le_bytes([sub_low, sub_high]);
        Some(match description.sql_type & !1 {
            sql_type::VARYING => MessageType::Varying { length, charset: Some(sub_type) },
            sql_type::TEXT => MessageType::Text { length, charset: Some(sub_type) },
            sql_type::DOUBLE => MessageType::Double,
            sql_type::FLOAT => MessageType::Float,
            sql_type::D_FLOAT => MessageType::DFloat,
            sql_type::SHORT => MessageType::Short { scale },
            sql_type::LONG => MessageType::Long { scale },
            sql_type::INT64 => MessageType::Int64 { scale },
            sql_type::INT128 => MessageType::Int128 { scale },
            sql_type::TIMESTAMP => MessageType::Timestamp,
            sql_type::TIME => MessageType::Time,
            sql_type::DATE => MessageType::Date,
            sql_type::TIME_TZ => MessageType::TimeTz,
            sql_type::TIMESTAMP_TZ => MessageType::TimestampTz,
            sql_type::TIME_TZ_EX => MessageType::ExtendedTimeTz,
            sql_type::TIMESTAMP_TZ_EX => MessageType::ExtendedTimestampTz,
            sql_type::BLOB if version.has_cancel() => MessageType::Blob {
                subtype: sub_type.cast_signed(),
                charset: u16::try_from(description.scale).unwrap_or(0),
            },
            sql_type::BLOB | sql_type::ARRAY | sql_type::QUAD => MessageType::Quad { scale: 0 },
            sql_type::DEC16 => MessageType::DecFloat16,
            sql_type::DEC34 => MessageType::DecFloat34,
            sql_type::BOOLEAN => MessageType::Boolean,
            sql_type::NULL => MessageType::Text { length: 0, charset: None },
            _ => return None,
        })
    }

    /// Bytes that an item of this type takes in a client's or server's memory.
    pub fn memory_length(&self) -> u32 {
        match *self {
            MessageType::Text { length, .. } => u32::from(length),
            MessageType::Varying { length, .. } => u32::from(length.saturating_add(2)),
            MessageType::Cstring { length, .. } => u32::from(length.max(1)),
            MessageType::Boolean => 1,
            MessageType::Short { .. } => 2,
            MessageType::Long { .. } | MessageType::Float | MessageType::Date | MessageType::Time => 4,
            MessageType::Int64 { .. }
            | MessageType::Quad { .. }
            | MessageType::Double
            | MessageType::DFloat
            | MessageType::Timestamp
            | MessageType::Blob { .. }
            | MessageType::DecFloat16
            | MessageType::TimeTz
            | MessageType::ExtendedTimeTz => 8,
            MessageType::TimestampTz | MessageType::ExtendedTimestampTz => 12,
            MessageType::Int128 { .. } | MessageType::DecFloat34 => 16,
        }
    }

    /// What the address of an item of this type is a multiple of.
    pub fn alignment(&self) -> u32 {
        match self {
            MessageType::Text { .. } | MessageType::Cstring { .. } | MessageType::Boolean => 1,
            MessageType::Varying { .. } | MessageType::Short { .. } => 2,
            MessageType::Long { .. }
            | MessageType::Quad { .. }
            | MessageType::Float
            | MessageType::Date
            | MessageType::Time
            | MessageType::Timestamp
            | MessageType::Blob { .. }
            | MessageType::TimeTz
            | MessageType::TimestampTz
            | MessageType::ExtendedTimeTz
            | MessageType::ExtendedTimestampTz => 4,
            MessageType::Int64 { .. }
            | MessageType::Int128 { .. }
            | MessageType::Double
            | MessageType::DFloat
            | MessageType::DecFloat16
            | MessageType::DecFloat34 => 8,
        }
    }

    /// Whether an item of this type is the id of a blob or array.
    pub fn is_blob(&self) -> bool {
        matches!(self, MessageType::Blob { .. } | MessageType::Quad { .. })
    }

    /// Most bytes of a text; 0 for other types.
    pub(crate) fn declared_length(&self) -> u16 {
        match *self {
            MessageType::Text { length, .. }
            | MessageType::Varying { length, .. }
            | MessageType::Cstring { length, .. } => length,
            _ => 0,
        }
    }

    /// Bytes on the wire, padding included; `None` if each value has its own length.
    pub(crate) fn wire_length(&self) -> Option<usize> {
        Some(match *self {
            MessageType::Varying { .. } | MessageType::Cstring { .. } => return None,
            MessageType::Text { length, .. } => usize::from(length).next_multiple_of(4),
            MessageType::Boolean
            | MessageType::Short { .. }
            | MessageType::Long { .. }
            | MessageType::Float
            | MessageType::Date
            | MessageType::Time => 4,
            MessageType::Int64 { .. }
            | MessageType::Quad { .. }
            | MessageType::Double
            | MessageType::DFloat
            | MessageType::Timestamp
            | MessageType::Blob { .. }
            | MessageType::DecFloat16
            | MessageType::TimeTz => 8,
            MessageType::TimestampTz | MessageType::ExtendedTimeTz => 12,
            MessageType::Int128 { .. } | MessageType::DecFloat34 | MessageType::ExtendedTimestampTz => 16,
        })
    }

    /// Appends the BLR of this type.
    pub(crate) fn write_blr(&self, out: &mut Vec<u8>) {
        let mut sized = |plain: u8, with_charset: u8, length: u16, charset: Option<u16>| {
            out.push(if charset.is_some() { with_charset } else { plain });
            if let Some(charset) = charset {
                out.extend_from_slice(&charset.to_le_bytes());
            }
            out.extend_from_slice(&length.to_le_bytes());
        };
        match *self {
            MessageType::Text { length, charset } => sized(blr::TEXT, blr::TEXT2, length, charset),
            MessageType::Varying { length, charset } => sized(blr::VARYING, blr::VARYING2, length, charset),
            MessageType::Cstring { length, charset } => sized(blr::CSTRING, blr::CSTRING2, length, charset),
            MessageType::Short { scale } => out.extend([blr::SHORT, scale.cast_unsigned()]),
            MessageType::Long { scale } => out.extend([blr::LONG, scale.cast_unsigned()]),
            MessageType::Int64 { scale } => out.extend([blr::INT64, scale.cast_unsigned()]),
            MessageType::Int128 { scale } => out.extend([blr::INT128, scale.cast_unsigned()]),
            MessageType::Quad { scale } => out.extend([blr::QUAD, scale.cast_unsigned()]),
            MessageType::Float => out.push(blr::FLOAT),
            MessageType::Double => out.push(blr::DOUBLE),
            MessageType::DFloat => out.push(blr::D_FLOAT),
            MessageType::Date => out.push(blr::SQL_DATE),
            MessageType::Time => out.push(blr::SQL_TIME),
            MessageType::Timestamp => out.push(blr::TIMESTAMP),
            MessageType::Blob { subtype, charset } => {
                out.push(blr::BLOB2);
                out.extend_from_slice(&subtype.to_le_bytes());
                out.extend_from_slice(&charset.to_le_bytes());
            }
            MessageType::Boolean => out.push(blr::BOOL),
            MessageType::DecFloat16 => out.push(blr::DEC64),
            MessageType::DecFloat34 => out.push(blr::DEC128),
            MessageType::TimeTz => out.push(blr::SQL_TIME_TZ),
            MessageType::TimestampTz => out.push(blr::TIMESTAMP_TZ),
            MessageType::ExtendedTimeTz => out.push(blr::EX_TIME_TZ),
            MessageType::ExtendedTimestampTz => out.push(blr::EX_TIMESTAMP_TZ),
        }
    }
}
