//! Types and constants.

use farbird_types::decimal::Decimal;
use farbird_types::temporal::{Date, Time, Timestamp};
use farbird_types::{
    BlobId, CharacterSet, Collation, ExactSubtype, ExactWidth, Result, SqlType, Text, TextType, Value,
};

use crate::code;
use crate::reader::Reader;
use crate::tree::Item;

impl Reader<'_> {
    /// A type.
    pub(crate) fn data_type(&mut self) -> Result<Item> {
        let sql_type = match self.byte()? {
            code @ (code::TEXT | code::VARYING | code::CSTRING) => {
                return self.text(code != code::TEXT, false);
            }
            code @ (code::TEXT2 | code::VARYING2 | code::CSTRING2) => {
                return self.text(code != code::TEXT2, true);
            }
            code::SHORT => self.exact(ExactWidth::Short)?,
            code::LONG => self.exact(ExactWidth::Long)?,
            code::INT64 => self.exact(ExactWidth::Int64)?,
            code::INT128 => self.exact(ExactWidth::Int128)?,
            code::QUAD => {
                self.byte()?;
                SqlType::BLOB_BINARY
            }
            code::BLOB2 => {
                let subtype = self.word()?.cast_signed();
                let [character_set, _] = self.word()?.to_le_bytes();
                let (character_set, collation) = (CharacterSet(character_set), Collation(0));
                SqlType::Blob { subtype, character_set, collation }
            }
            code::FLOAT => SqlType::Float,
            code::DOUBLE | code::D_FLOAT => SqlType::Double,
            code::DEC64 => SqlType::DecFloat16,
            code::DEC128 => SqlType::DecFloat34,
            code::BOOL => SqlType::Boolean,
            code::SQL_DATE => SqlType::Date,
            code::SQL_TIME => SqlType::Time,
            code::TIMESTAMP => SqlType::Timestamp,
            code::SQL_TIME_TZ | code::EX_TIME_TZ => SqlType::TimeTz,
            code::TIMESTAMP_TZ | code::EX_TIMESTAMP_TZ => SqlType::TimestampTz,
            _ => return Err(self.unexpected("data type")),
        };
        Ok(Item { sql_type, of_attachment: false })
    }

    fn exact(&mut self, width: ExactWidth) -> Result<SqlType> {
        let scale = self.byte()?.cast_signed();
        let subtype = if scale == 0 { ExactSubtype::Integer } else { ExactSubtype::Numeric };
        Ok(SqlType::Exact { width, scale, subtype })
    }

    fn text(&mut self, varying: bool, has_charset: bool) -> Result<Item> {
        /// "The attachment's character set".
        const DYNAMIC: u8 = 127;
        let charset = if has_charset { self.word()?.to_le_bytes()[0] } else { DYNAMIC };
        let length = u32::from(self.word()?);
        let of_attachment = charset == DYNAMIC;
        let character_set = match of_attachment {
            true => CharacterSet::NONE,
            false => CharacterSet::by_id(charset).unwrap_or(CharacterSet::NONE),
        };
        let sql_type = SqlType::Text(TextType {
            varying,
            length_chars: length / u32::from(character_set.bytes_per_character()).max(1),
            character_set,
            collation: Collation(0),
        });
        Ok(Item { sql_type, of_attachment })
    }

    /// A constant, behind blr_literal.
    pub(crate) fn literal(&mut self) -> Result<(Item, Value)> {
        let is_counted = matches!(self.peek(), code::VARYING | code::VARYING2);
        let item = self.data_type()?;
        let value = match item.sql_type {
            SqlType::Text(text) => {
                let length = text.length_bytes() as usize;
                let length = if is_counted { usize::from(self.word()?) } else { length };
                Value::Text(Text::new(self.slice(length)?, text.character_set))
            }
            SqlType::Exact { width: ExactWidth::Short, scale, .. } => {
                Value::Integer { unscaled: i64::from(i16::from_le_bytes(self.array()?)), scale }
            }
            SqlType::Exact { width: ExactWidth::Long, scale, .. } => {
                Value::Integer { unscaled: i64::from(i32::from_le_bytes(self.array()?)), scale }
            }
            SqlType::Exact { width: ExactWidth::Int64, scale, .. } => {
                Value::Integer { unscaled: i64::from_le_bytes(self.array()?), scale }
            }
            SqlType::Boolean => Value::Boolean(self.byte()? != 0),
            SqlType::Date => Value::Date(Date(i32::from_le_bytes(self.array()?))),
            SqlType::Time => Value::Time(Time(u32::from_le_bytes(self.array()?))),
            SqlType::Timestamp => {
                let date = Date(i32::from_le_bytes(self.array()?));
                Value::Timestamp(Timestamp { date, time: Time(u32::from_le_bytes(self.array()?)) })
            }
            // As the text of the number.
            SqlType::Double | SqlType::Float => Value::Double(self.number()?),
            SqlType::DecFloat16 | SqlType::DecFloat34 => {
                let text = self.counted_text()?;
                Value::DecFloat(text.parse::<Decimal>().map_err(|_| self.invalid())?)
            }
            SqlType::Exact { width: ExactWidth::Int128, scale, .. } => {
                let unscaled = self.counted_text()?.parse().map_err(|_| self.invalid())?;
                Value::Int128 { unscaled, scale }
            }
            SqlType::Blob { .. } => Value::Blob(BlobId(u64::from_le_bytes(self.array()?))),
            _ => return Err(self.unexpected("literal")),
        };
        Ok((item, value))
    }

    fn number(&mut self) -> Result<f64> {
        self.counted_text()?
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
            .ok_or_else(|| self.invalid())
    }

    fn counted_text(&mut self) -> Result<&str> {
        let length = usize::from(self.word()?);
        let bytes = self.slice(length)?;
        std::str::from_utf8(bytes).map(str::trim).map_err(|_| self.invalid())
    }
}
