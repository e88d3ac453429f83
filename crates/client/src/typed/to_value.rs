//! What becomes an SQL value.

use std::borrow::Cow;
use std::sync::Arc;

use farbird_types::decimal::Decimal;
use farbird_types::temporal::{TimeTz, TimestampTz};
use farbird_types::{BlobId, CharacterSet, Date, Text, Time, Timestamp, Value};

/// A type whose values are parameters of statements.
///
/// A value need not be of its parameter's type: the server converts, and refuses what does not fit.
pub trait ToValue: Send + Sync {
    /// The value.
    fn to_value(&self) -> Value;
}

impl ToValue for Value {
    fn to_value(&self) -> Value {
        self.clone()
    }
}

impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> Value {
        (**self).to_value()
    }
}

/// `None` is NULL.
impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Null, ToValue::to_value)
    }
}

macro_rules! integers {
    ($($integer:ty)*) => {
        $(impl ToValue for $integer {
            #[inline]
            fn to_value(&self) -> Value {
                Value::integer(i64::from(*self))
            }
        })*
    };
}

integers!(i8 i16 i32 i64 u8 u16 u32);

macro_rules! wide_integers {
    ($($integer:ty)*) => {
        $(impl ToValue for $integer {
            /// BIGINT if the number fits, else INT128.
            fn to_value(&self) -> Value {
                match i64::try_from(*self) {
                    Ok(number) => Value::integer(number),
                    Err(_) => Value::Int128 { unscaled: *self as i128, scale: 0 },
                }
            }
        })*
    };
}

wide_integers!(u64 usize isize i128);

macro_rules! as_they_are {
    ($($variant:ident $type:ty;)*) => {
        $(impl ToValue for $type {
            fn to_value(&self) -> Value {
                Value::$variant(*self)
            }
        })*
    };
}

as_they_are! {
    Boolean bool;
    Float f32;
    Double f64;
    DecFloat Decimal;
    Date Date;
    Time Time;
    Timestamp Timestamp;
    TimeTz TimeTz;
    TimestampTz TimestampTz;
    Blob BlobId;
}

macro_rules! texts {
    ($($text:ty)*) => {
        $(impl ToValue for $text {
            fn to_value(&self) -> Value {
                Value::text(self)
            }
        })*
    };
}

texts!(str String Box<str> Arc<str> Cow<'_, str>);

impl ToValue for [u8] {
    fn to_value(&self) -> Value {
        Value::Text(Text::new(self, CharacterSet::OCTETS))
    }
}

impl<const N: usize> ToValue for [u8; N] {
    fn to_value(&self) -> Value {
        self.as_slice().to_value()
    }
}

impl ToValue for Vec<u8> {
    fn to_value(&self) -> Value {
        self.as_slice().to_value()
    }
}
