//! Constants and types.

use super::Printer;
use crate::ast::{ArrayBounds, BlobSubtype, DataType, DataTypeKind, Literal, Name};
use farbird_types::ExactWidth;

/// Smallest exponent that still makes a DOUBLE PRECISION constant.
const EXPONENT_MIN: i32 = -308;

impl Printer {
    pub(super) fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::Null => self.word("NULL"),
            Literal::Unknown => self.word("UNKNOWN"),
            Literal::Boolean(true) => self.word("TRUE"),
            Literal::Boolean(false) => self.word("FALSE"),
            Literal::Integer { value, width } => self.word(&integer(*value, *width)),
            Literal::Exact { unscaled, scale, .. } => self.word(&exact(*unscaled, *scale)),
            Literal::Double(value) => self.word(&double(*value)),
            Literal::DecFloat(text) => self.word(text),
            Literal::String { value, character_set } => {
                self.introducer(character_set.as_ref());
                self.quoted(value)
            }
            Literal::Binary { value, character_set } => {
                self.introducer(character_set.as_ref());
                let digits: String = value.iter().map(|byte| format!("{byte:02X}")).collect();
                self.word(&format!("x'{digits}'"))
            }
            Literal::Date(text) => self.word("DATE").quoted(text),
            Literal::Time(text) => self.word("TIME").quoted(text),
            Literal::Timestamp(text) => self.word("TIMESTAMP").quoted(text),
        };
    }

    fn introducer(&mut self, character_set: Option<&Name>) {
        if let Some(name) = character_set {
            self.word(&format!("_{}", name.text));
        }
    }

    pub(super) fn data_type(&mut self, data_type: &DataType) {
        if data_type.array.is_empty() {
            self.data_type_kind(&data_type.kind);
        } else {
            let mut kind = data_type.kind.clone();
            let character_set = match &mut kind {
                DataTypeKind::Char { character_set, .. } | DataTypeKind::Varchar { character_set, .. } => {
                    character_set.take()
                }
                _ => None,
            };
            self.data_type_kind(&kind);
            self.tight("[").list(&data_type.array, |printer, ArrayBounds { lower, upper }| {
                if *lower == 1 && *upper > 1 {
                    printer.number(upper);
                } else {
                    printer.word(&format!("{lower}:{upper}"));
                }
            });
            self.tight("]");
            self.name_after("CHARACTER SET", character_set.as_ref());
        }
    }

    fn data_type_kind(&mut self, kind: &DataTypeKind) {
        match kind {
            DataTypeKind::Smallint => self.word("SMALLINT"),
            DataTypeKind::Integer => self.word("INTEGER"),
            DataTypeKind::Bigint => self.word("BIGINT"),
            DataTypeKind::Int128 => self.word("INT128"),
            DataTypeKind::Numeric { precision, scale } => {
                self.word(&format!("NUMERIC({precision}, {scale})"))
            }
            DataTypeKind::Decimal { precision, scale } => {
                self.word(&format!("DECIMAL({precision}, {scale})"))
            }
            DataTypeKind::Float => self.word("FLOAT"),
            DataTypeKind::Double => self.word("DOUBLE PRECISION"),
            DataTypeKind::DecFloat16 => self.word("DECFLOAT(16)"),
            DataTypeKind::DecFloat34 => self.word("DECFLOAT(34)"),
            DataTypeKind::Boolean => self.word("BOOLEAN"),
            DataTypeKind::Date => self.word("DATE"),
            DataTypeKind::Time => self.word("TIME"),
            DataTypeKind::TimeTz => self.word("TIME WITH TIME ZONE"),
            DataTypeKind::Timestamp => self.word("TIMESTAMP"),
            DataTypeKind::TimestampTz => self.word("TIMESTAMP WITH TIME ZONE"),
            DataTypeKind::Char { length, character_set } => {
                self.word(&format!("CHAR({length})")).name_after("CHARACTER SET", character_set.as_ref())
            }
            DataTypeKind::Varchar { length, character_set } => {
                self.word(&format!("VARCHAR({length})")).name_after("CHARACTER SET", character_set.as_ref())
            }
            DataTypeKind::Binary { length } => self.word(&format!("BINARY({length})")),
            DataTypeKind::Varbinary { length } => self.word(&format!("VARBINARY({length})")),
            DataTypeKind::CString { length, character_set } => {
                self.word(&format!("CSTRING({length})")).name_after("CHARACTER SET", character_set.as_ref())
            }
            DataTypeKind::Blob { subtype, segment_size, character_set } => {
                self.word("BLOB");
                if let Some(subtype) = subtype {
                    self.word("SUB_TYPE").blob_subtype(subtype);
                }
                self.number_after("SEGMENT SIZE", *segment_size);
                self.name_after("CHARACTER SET", character_set.as_ref())
            }
            DataTypeKind::Domain(name) => self.name(name),
            DataTypeKind::TypeOfDomain(name) => self.word("TYPE OF").name(name),
            DataTypeKind::TypeOfColumn { relation, column } => {
                self.word("TYPE OF COLUMN").object_name(relation).tight(".").name(column)
            }
        };
    }

    pub(super) fn blob_subtype(&mut self, subtype: &BlobSubtype) -> &mut Self {
        match subtype {
            BlobSubtype::Number(number) => self.number(number),
            BlobSubtype::Name(name) => self.name(name),
        }
    }
}

/// A whole number, hexadecimal if its type is not the one that its decimal digits would have.
fn integer(value: i128, width: ExactWidth) -> String {
    let natural = if i32::try_from(value).is_ok() {
        ExactWidth::Long
    } else if i64::try_from(value).is_ok() {
        ExactWidth::Int64
    } else {
        ExactWidth::Int128
    };
    let smallest_bigint = value == i128::from(i64::MIN) && width == ExactWidth::Int64;
    if smallest_bigint || value >= 0 && width == natural {
        return value.to_string();
    }
    match width {
        ExactWidth::Short | ExactWidth::Long => {
            format!("0x{:08X}", i32::try_from(value).unwrap_or_default())
        }
        ExactWidth::Int64 => format!("0x{:016X}", i64::try_from(value).unwrap_or_default()),
        ExactWidth::Int128 => format!("0x{value:032X}"),
    }
}

/// A number with a decimal point.
fn exact(unscaled: i128, scale: i8) -> String {
    let decimals = usize::from(scale.unsigned_abs());
    let digits = format!("{:0>1$}", unscaled.unsigned_abs(), decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    let sign = if unscaled < 0 { "-" } else { "" };
    format!("{sign}{whole}.{fraction}")
}

/// A number with an exponent.
fn double(value: f64) -> String {
    let text = format!("{value:e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if exponent >= EXPONENT_MIN {
        return text;
    }
    // A smaller exponent would make a DECFLOAT: leading zeros take its place.
    let zeros = "0".repeat(usize::try_from(EXPONENT_MIN - exponent - 1).unwrap_or_default());
    let (sign, digits) = mantissa.strip_prefix('-').map_or(("", mantissa), |digits| ("-", digits));
    format!("{sign}0.{zeros}{}e{EXPONENT_MIN}", digits.replace('.', ""))
}
