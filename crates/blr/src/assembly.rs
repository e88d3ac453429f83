//! BLR in the making: codes, names, numbers, constants and types, one behind the other.
//!
//! What has no place in BLR (a name that is too long for its byte, a constant without a form) gives `None`.

use farbird_types::{CharacterSet, Collation, ExactWidth, SqlType, Text, TextType, Value};

use crate::code;

/// A piece of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Code(Vec<u8>);

impl Code {
    /// An empty piece.
    pub fn new() -> Code {
        Code::default()
    }

    /// A piece that begins with these bytes.
    pub fn of(bytes: &[u8]) -> Code {
        Code(bytes.to_vec())
    }

    /// A whole program.
    pub fn program(&self) -> Vec<u8> {
        [&[code::VERSION5], self.0.as_slice(), &[code::END_OF_CODE]].concat()
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Adds a byte.
    pub fn byte(&mut self, byte: u8) -> &mut Code {
        self.0.push(byte);
        self
    }

    /// Adds bytes.
    pub fn more(&mut self, bytes: &[u8]) -> &mut Code {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Adds another piece.
    pub fn piece(&mut self, piece: &Code) -> &mut Code {
        self.more(&piece.0)
    }

    /// Adds a number of two bytes.
    pub fn word(&mut self, number: u16) -> &mut Code {
        self.more(&number.to_le_bytes())
    }

    /// Adds a name behind the byte of its length.
    pub fn name(&mut self, name: &str) -> Option<&mut Code> {
        self.byte(u8::try_from(name.len()).ok()?);
        Some(self.more(name.as_bytes()))
    }

    /// Adds a count of one byte.
    pub fn count(&mut self, count: usize) -> Option<&mut Code> {
        Some(self.byte(u8::try_from(count).ok()?))
    }

    /// Adds a count of two bytes.
    pub fn long_count(&mut self, count: usize) -> Option<&mut Code> {
        Some(self.word(u16::try_from(count).ok()?))
    }

    /// A column of a context.
    pub fn field(context: u8, name: &str) -> Option<Code> {
        let mut made = Code::of(&[code::FIELD, context]);
        made.name(name)?;
        Some(made)
    }

    /// A place of a map.
    pub fn place(context: u8, place: u16) -> Code {
        let mut made = Code::of(&[code::FIELD_ID, context]);
        made.word(place);
        made
    }

    /// A whole number as a constant.
    pub fn number(number: i32) -> Code {
        let mut made = Code::of(&[code::LITERAL, code::LONG, 0]);
        made.more(&number.to_le_bytes());
        made
    }

    /// A constant.
    pub fn constant(value: &Value) -> Option<Code> {
        let mut made = Code::of(&[code::LITERAL]);
        match value {
            Value::Null => return Some(Code::of(&[code::NULL])),
            Value::Integer { unscaled, scale } => match i32::try_from(*unscaled) {
                Ok(number) => {
                    made.more(&[code::LONG, scale.cast_unsigned()]).more(&number.to_le_bytes());
                }
                Err(_) => {
                    made.more(&[code::INT64, scale.cast_unsigned()]).more(&unscaled.to_le_bytes());
                }
            },
            Value::Int128 { unscaled, scale } => {
                made.more(&[code::INT128, scale.cast_unsigned()]);
                made.digits(&unscaled.to_string())?;
            }
            Value::Double(number) => {
                made.byte(code::DOUBLE).digits(&format!("{number:e}"))?;
            }
            Value::DecFloat(number) => {
                made.byte(code::DEC128).digits(&number.to_string())?;
            }
            Value::Boolean(value) => drop(made.more(&[code::BOOL, u8::from(*value)])),
            Value::Date(date) => drop(made.byte(code::SQL_DATE).more(&date.0.to_le_bytes())),
            Value::Time(time) => drop(made.byte(code::SQL_TIME).more(&time.0.to_le_bytes())),
            Value::Timestamp(moment) => {
                made.byte(code::TIMESTAMP);
                made.more(&moment.date.0.to_le_bytes()).more(&moment.time.0.to_le_bytes());
            }
            Value::TimeTz(time) => {
                made.byte(code::SQL_TIME_TZ).more(&time.utc.0.to_le_bytes()).word(time.zone.0);
            }
            Value::TimestampTz(moment) => {
                let utc = moment.utc;
                made.byte(code::TIMESTAMP_TZ).more(&utc.date.0.to_le_bytes());
                made.more(&utc.time.0.to_le_bytes()).word(moment.zone.0);
            }
            Value::Text(text) => drop(made.text(text)?),
            _ => return None,
        }
        Some(made)
    }

    /// A number as its digits, which have two bytes for their length.
    fn digits(&mut self, digits: &str) -> Option<&mut Code> {
        Some(self.long_count(digits.len())?.more(digits.as_bytes()))
    }

    fn text(&mut self, text: &Text) -> Option<&mut Code> {
        self.byte(code::TEXT2).word(u16::from(text.character_set().0));
        Some(self.long_count(text.bytes().len())?.more(text.bytes()))
    }

    /// Adds a type.
    pub fn data_type(&mut self, sql_type: &SqlType) -> Option<&mut Code> {
        let simple = match sql_type {
            SqlType::Exact { width, scale, .. } => {
                let width = match width {
                    ExactWidth::Short => code::SHORT,
                    ExactWidth::Long => code::LONG,
                    ExactWidth::Int64 => code::INT64,
                    ExactWidth::Int128 => code::INT128,
                };
                return Some(self.more(&[width, scale.cast_unsigned()]));
            }
            SqlType::Text(text) => return self.text_type(text),
            SqlType::Blob { subtype, character_set, collation } => {
                self.byte(code::BLOB2).word(subtype.cast_unsigned());
                return Some(self.word(text_type_number(*character_set, *collation)));
            }
            SqlType::Float => code::FLOAT,
            SqlType::Double => code::DOUBLE,
            SqlType::Boolean => code::BOOL,
            SqlType::Date => code::SQL_DATE,
            SqlType::Time => code::SQL_TIME,
            SqlType::Timestamp => code::TIMESTAMP,
            SqlType::TimeTz => code::SQL_TIME_TZ,
            SqlType::TimestampTz => code::TIMESTAMP_TZ,
            SqlType::DecFloat16 => code::DEC64,
            SqlType::DecFloat34 => code::DEC128,
            SqlType::Null | SqlType::Array => return None,
        };
        Some(self.byte(simple))
    }

    fn text_type(&mut self, text: &TextType) -> Option<&mut Code> {
        self.byte(if text.varying { code::VARYING2 } else { code::TEXT2 });
        self.word(text_type_number(text.character_set, text.collation));
        Some(self.word(u16::try_from(text.length_bytes()).ok()?))
    }
}

/// The number of a character set with a collation.
fn text_type_number(character_set: CharacterSet, collation: Collation) -> u16 {
    u16::from_le_bytes([character_set.0, collation.number()])
}
