//! The columns that a row type expects: what lets a query be executed before the server has described it.
//!
//! Promises: what comes in an expected type, of a column that [`Expected::suits`], becomes the same value as what comes in the
//! column's own type.

use farbird_types::CharacterSet;
use farbird_wire::message::MessageType;

use super::from_row::FromRow;
use crate::statement::Column;

/// The longest text that is expected, in bytes: VARCHAR(1024) in UTF8. Servers send no more than there is, but the
/// fetches are sized by it.
const TEXT_BYTES: u16 = 4096;

/// A kind of columns whose values all become values of one Rust type, and nothing of which is lost on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnType {
    /// SMALLINT, INTEGER, BIGINT.
    Integer,
    /// FLOAT.
    Float,
    /// FLOAT, DOUBLE PRECISION.
    Double,
    /// BOOLEAN.
    Boolean,
    /// VARCHAR of up to 1,024 characters (4,096 bytes in the connection's character set), but not in OCTETS, nor in NONE on a
    /// connection in UTF8.
    Text,
    /// VARCHAR of up to 4,096 bytes in OCTETS.
    Bytes,
    /// DATE.
    Date,
    /// TIME.
    Time,
    /// TIMESTAMP.
    Timestamp,
    /// TIME WITH TIME ZONE.
    TimeTz,
    /// TIMESTAMP WITH TIME ZONE.
    TimestampTz,
}

impl ColumnType {
    /// How it is asked for on a connection of this character set.
    fn message_type(self, connection: CharacterSet) -> MessageType {
        let text =
            |set: CharacterSet| MessageType::Varying { length: TEXT_BYTES, charset: Some(set.0.into()) };
        match self {
            ColumnType::Integer => MessageType::Int64 { scale: 0 },
            ColumnType::Float => MessageType::Float,
            ColumnType::Double => MessageType::Double,
            ColumnType::Boolean => MessageType::Boolean,
            ColumnType::Text => text(connection),
            ColumnType::Bytes => text(CharacterSet::OCTETS),
            ColumnType::Date => MessageType::Date,
            ColumnType::Time => MessageType::Time,
            ColumnType::Timestamp => MessageType::Timestamp,
            ColumnType::TimeTz => MessageType::TimeTz,
            ColumnType::TimestampTz => MessageType::TimestampTz,
        }
    }

    /// Whether the server's conversion of a column of this type changes nothing.
    fn suits(self, described: MessageType, connection: CharacterSet) -> bool {
        match (self, described) {
            (
                ColumnType::Integer,
                MessageType::Short { scale } | MessageType::Long { scale } | MessageType::Int64 { scale },
            ) => scale == 0,
            (ColumnType::Double, MessageType::Float) => true,
            (
                ColumnType::Text | ColumnType::Bytes,
                MessageType::Varying { length, charset: Some(charset) },
            ) => {
                let [set, _] = charset.to_le_bytes();
                let wanted = if self == ColumnType::Text { connection } else { CharacterSet::OCTETS };
                set == wanted.0 && length <= TEXT_BYTES
            }
            (ColumnType::Text | ColumnType::Bytes, _) => false,
            (_, described) => described == self.message_type(connection),
        }
    }
}

/// A column that a row type expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpectedColumn {
    /// Its label, if the type goes by names.
    pub name: Option<&'static str>,
    /// What it holds.
    pub column_type: ColumnType,
}

impl ExpectedColumn {
    /// A column that is taken by its place.
    pub fn at_its_place(column_type: ColumnType) -> ExpectedColumn {
        ExpectedColumn { name: None, column_type }
    }

    /// A column that is taken by its label, whatever the case.
    pub fn named(name: &'static str, column_type: ColumnType) -> ExpectedColumn {
        ExpectedColumn { name: Some(name), column_type }
    }
}

/// The columns of a row type.
#[derive(Debug)]
pub(crate) struct Expected(Vec<ExpectedColumn>);

impl Expected {
    /// Those of a type, if it knows them.
    pub(crate) fn of<T: for<'r> FromRow<'r>>() -> Option<Expected> {
        T::expected_columns().filter(|columns| !columns.is_empty()).map(Expected)
    }

    /// How their values are asked for on a connection of this character set.
    pub(crate) fn message_types(&self, connection: CharacterSet) -> Vec<MessageType> {
        self.0.iter().map(|column| column.column_type.message_type(connection)).collect()
    }

    /// Whether the query has these columns, or such that become the same.
    pub(crate) fn suits(&self, described: &[Column], connection: CharacterSet) -> bool {
        let is_suited = |(expected, found): (&ExpectedColumn, &Column)| {
            expected.name.is_none_or(|name| found.label.eq_ignore_ascii_case(name))
                && expected.column_type.suits(found.message_type, connection)
        };
        self.0.len() == described.len() && self.0.iter().zip(described).all(is_suited)
    }
}
