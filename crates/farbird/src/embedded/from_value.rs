//! SQL values as Rust's types.

use farbird_types::decimal::Rounding;
use farbird_types::{CharacterSet, Date, Text, Time, TimeTz, Timestamp, TimestampTz, Value};

use super::blob::Blob;
use crate::Decimal;

/// The value is not of the type asked for, whose name this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotOfType(pub &'static str);

/// A Rust type that a column's value can be read as.
///
/// | SQL | Rust |
/// |---|---|
/// | SMALLINT, INTEGER, BIGINT, INT128 | any integer type that holds the value; `f64`; [`Decimal`] |
/// | NUMERIC, DECIMAL, DECFLOAT | [`Decimal`]; `f64`, rounded; an integer type if there are no decimals |
/// | FLOAT, DOUBLE PRECISION | `f64`; FLOAT also `f32` |
/// | BOOLEAN | `bool` |
/// | CHAR, VARCHAR | `String`, `&str` (if stored as UTF-8); CHAR comes with its padding |
/// | BINARY, VARBINARY | `Vec<u8>`, `&[u8]` (also for texts: their bytes) |
/// | DATE, TIME, TIMESTAMP | [`Date`], [`Time`], [`Timestamp`] |
/// | TIME and TIMESTAMP WITH TIME ZONE | [`TimeTz`], [`TimestampTz`] |
/// | BLOB | [`Blob`]; its contents as `String` or `Vec<u8>` |
/// | anything that may be NULL | `Option` of the above |
/// | anything | [`Value`] |
///
/// Nothing is lost silently, but for the rounding of decimals to `f64`.
pub trait FromValue<'v>: Sized {
    /// Whether it wants the contents of a BLOB rather than its id.
    const TAKES_CONTENTS: bool = false;

    /// Reads a value.
    ///
    /// # Errors
    /// [`NotOfType`].
    fn from_value(value: &'v Value) -> Result<Self, NotOfType>;

    /// Reads the contents of a BLOB; called if [`FromValue::TAKES_CONTENTS`].
    ///
    /// # Errors
    /// [`NotOfType`].
    fn from_contents(contents: Text) -> Result<Self, NotOfType> {
        let _ = contents;
        Err(NotOfType("BLOB's contents"))
    }
}

impl<'v> FromValue<'v> for Value {
    fn from_value(value: &'v Value) -> Result<Self, NotOfType> {
        Ok(value.clone())
    }
}

impl<'v> FromValue<'v> for &'v Value {
    fn from_value(value: &'v Value) -> Result<Self, NotOfType> {
        Ok(value)
    }
}

impl<'v, T: FromValue<'v>> FromValue<'v> for Option<T> {
    const TAKES_CONTENTS: bool = T::TAKES_CONTENTS;

    fn from_value(value: &'v Value) -> Result<Self, NotOfType> {
        if value.is_null() { Ok(None) } else { T::from_value(value).map(Some) }
    }

    fn from_contents(contents: Text) -> Result<Self, NotOfType> {
        T::from_contents(contents).map(Some)
    }
}

/// The whole number that a value is, if it is one.
fn whole_number(value: &Value) -> Option<i128> {
    let (unscaled, scale) = match value {
        Value::Integer { unscaled, scale } => (i128::from(*unscaled), *scale),
        Value::Int128 { unscaled, scale } => (*unscaled, *scale),
        _ => return None,
    };
    if scale == 0 {
        return Some(unscaled);
    }
    let unit = 10i128.checked_pow(scale.unsigned_abs().into())?;
    (unscaled % unit == 0).then(|| unscaled / unit)
}

macro_rules! integers {
    ($($integer:ident)*) => {$(
        impl<'v> FromValue<'v> for $integer {
            fn from_value(value: &'v Value) -> Result<Self, NotOfType> {
                // The usual case without arithmetic of 128 bits.
                if let Value::Integer { unscaled, scale: 0 } = value
                    && let Ok(number) = $integer::try_from(*unscaled)
                {
                    return Ok(number);
                }
                whole_number(value)
                    .and_then(|number| $integer::try_from(number).ok())
                    .ok_or(NotOfType(stringify!($integer)))
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

impl<'v> FromValue<'v> for f64 {
    fn from_value(value: &'v Value) -> Result<Self, NotOfType> {
        match value {
            Value::Double(number) => Ok(*number),
            Value::Float(number) => Ok(f64::from(*number)),
            _ => decimal(value).and_then(|decimal| decimal.to_f64().ok()).ok_or(NotOfType("f64")),
        }
    }
}

impl<'v> FromValue<'v> for f32 {
    fn from_value(value: &'v Value) -> Result<Self, NotOfType> {
        match value {
            Value::Float(number) => Ok(*number),
            _ => Err(NotOfType("f32")),
        }
    }
}

/// The exact decimal that a value is.
fn decimal(value: &Value) -> Option<Decimal> {
    let (unscaled, scale) = match value {
        Value::Integer { unscaled, scale } => (i128::from(*unscaled), *scale),
        Value::Int128 { unscaled, scale } => (*unscaled, *scale),
        Value::DecFloat(decimal) => return Some(*decimal),
        _ => return None,
    };
    let decimal = Decimal::from_unscaled(unscaled, scale);
    // More than 34 digits: the type has fewer.
    (decimal.to_unscaled(scale, Rounding::HalfUp).ok() == Some(unscaled)).then_some(decimal)
}

impl<'v> FromValue<'v> for Decimal {
    fn from_value(value: &'v Value) -> Result<Self, NotOfType> {
        decimal(value).ok_or(NotOfType("Decimal"))
    }
}

impl<'v> FromValue<'v> for &'v str {
    fn from_value(value: &'v Value) -> Result<Self, NotOfType> {
        match value {
            Value::Text(text) => match text.decode() {
                Ok(std::borrow::Cow::Borrowed(text)) => Ok(text),
                _ => Err(NotOfType("&str, which must be stored as UTF-8; ask for a String")),
            },
            _ => Err(NotOfType("&str")),
        }
    }
}

impl<'v> FromValue<'v> for String {
    const TAKES_CONTENTS: bool = true;

    fn from_value(value: &'v Value) -> Result<Self, NotOfType> {
        match value {
            Value::Text(text) => {
                Ok(text.decode().map_err(|_| NotOfType("String: its bytes are no characters"))?.into_owned())
            }
            _ => Err(NotOfType("String")),
        }
    }

    fn from_contents(contents: Text) -> Result<Self, NotOfType> {
        Ok(contents.decode().map_err(|_| NotOfType("String: its bytes are no characters"))?.into_owned())
    }
}

impl<'v> FromValue<'v> for &'v [u8] {
    fn from_value(value: &'v Value) -> Result<Self, NotOfType> {
        match value {
            Value::Text(text) => Ok(text.bytes()),
            _ => Err(NotOfType("&[u8]")),
        }
    }
}

impl<'v> FromValue<'v> for Vec<u8> {
    const TAKES_CONTENTS: bool = true;

    fn from_value(value: &'v Value) -> Result<Self, NotOfType> {
        match value {
            Value::Text(text) => Ok(text.bytes().to_vec()),
            _ => Err(NotOfType("Vec<u8>")),
        }
    }

    fn from_contents(contents: Text) -> Result<Self, NotOfType> {
        Ok(contents.bytes().to_vec())
    }
}

macro_rules! same {
    ($($rust:ident $variant:ident)*) => {$(
        impl<'v> FromValue<'v> for $rust {
            fn from_value(value: &'v Value) -> Result<Self, NotOfType> {
                match value {
                    Value::$variant(value) => Ok((*value).into()),
                    _ => Err(NotOfType(stringify!($rust))),
                }
            }
        }
    )*};
}

same!(bool Boolean Date Date Time Time Timestamp Timestamp TimeTz TimeTz TimestampTz TimestampTz Blob Blob);

/// The character set in which contents of BLOBs are handed over.
pub(super) fn contents_character_set(is_text: bool) -> CharacterSet {
    if is_text { CharacterSet::UTF8 } else { CharacterSet::OCTETS }
}
