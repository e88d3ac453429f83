//! Rust's values as parameters of statements.

use farbird_engine::api::ColumnDescription;
use farbird_types::convert::{CastContext, cast};
use farbird_types::{
    CharacterSet, Date, ExactWidth, SqlType, Text, Time, TimeTz, Timestamp, TimestampTz, Value,
};

use super::blob::Blob;
use super::error::{Fault, Result};
use crate::Decimal;

/// A Rust value that can stand for a `?` in a statement.
///
/// It becomes a value of the parameter's type as an assignment would have it: an `i32` fits a NUMERIC column, a `&str`
/// a DATE or a BLOB. What does not fit is an error of the call.
pub trait ToValue {
    /// The value.
    fn to_value(&self) -> Value;
}

impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> Value {
        (**self).to_value()
    }
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_value)
    }
}

impl ToValue for Value {
    fn to_value(&self) -> Value {
        self.clone()
    }
}

macro_rules! small_integers {
    ($($integer:ident)*) => {$(
        impl ToValue for $integer {
            fn to_value(&self) -> Value {
                Value::integer(i64::from(*self))
            }
        }
    )*};
}

small_integers!(i8 i16 i32 i64 u8 u16 u32);

impl ToValue for i128 {
    fn to_value(&self) -> Value {
        i64::try_from(*self).map_or(Value::Int128 { unscaled: *self, scale: 0 }, Value::integer)
    }
}

impl ToValue for u64 {
    fn to_value(&self) -> Value {
        i128::from(*self).to_value()
    }
}

impl ToValue for usize {
    fn to_value(&self) -> Value {
        // No machine has more than 64 bits to address with.
        (*self as u64).to_value()
    }
}

impl ToValue for isize {
    fn to_value(&self) -> Value {
        Value::integer(*self as i64)
    }
}

impl ToValue for str {
    fn to_value(&self) -> Value {
        Value::text(self)
    }
}

impl ToValue for String {
    fn to_value(&self) -> Value {
        Value::text(self)
    }
}

impl ToValue for [u8] {
    fn to_value(&self) -> Value {
        Value::Text(Text::new(self, CharacterSet::OCTETS))
    }
}

impl ToValue for Vec<u8> {
    fn to_value(&self) -> Value {
        self.as_slice().to_value()
    }
}

impl<const N: usize> ToValue for [u8; N] {
    fn to_value(&self) -> Value {
        self.as_slice().to_value()
    }
}

impl ToValue for Blob {
    fn to_value(&self) -> Value {
        Value::Blob(self.0)
    }
}

impl ToValue for Decimal {
    fn to_value(&self) -> Value {
        Value::DecFloat(*self)
    }
}

macro_rules! same {
    ($($rust:ident $variant:ident)*) => {$(
        impl ToValue for $rust {
            fn to_value(&self) -> Value {
                Value::$variant(*self)
            }
        }
    )*};
}

same!(bool Boolean f32 Float f64 Double);
same!(Date Date Time Time Timestamp Timestamp TimeTz TimeTz TimestampTz TimestampTz);

/// The parameters of one call: `()` for none, a tuple of values of different types, an array, a slice or a `Vec` of
/// values of one type, where `&dyn ToValue` and [`Value`] are types too.
///
/// ```
/// # fn main() -> farbird::Result<()> {
/// use farbird::ToValue;
///
/// # let connection = farbird::Database::in_memory()?.connect()?;
/// connection.execute("create table t (a int, b varchar(10), c boolean)", ())?;
/// let insert = "insert into t values (?, ?, ?)";
/// connection.execute(insert, (1, "one", true))?;
/// connection.execute(insert, (2, None::<&str>, false))?;
/// let mut parameters: Vec<&dyn ToValue> = vec![&3, &"three"];
/// parameters.push(&true);
/// connection.execute(insert, parameters)?;
/// # assert_eq!(connection.query_one::<i64>("select count(*) from t where a in (?, ?, ?)", [1, 2, 3])?, 3);
/// # Ok(())
/// # }
/// ```
pub trait Parameters {
    /// Appends the values, in order.
    fn append_to(&self, values: &mut Vec<Value>);
}

impl Parameters for () {
    fn append_to(&self, _values: &mut Vec<Value>) {}
}

impl<T: ToValue> Parameters for [T] {
    fn append_to(&self, values: &mut Vec<Value>) {
        values.extend(self.iter().map(T::to_value));
    }
}

impl<T: ToValue> Parameters for Vec<T> {
    fn append_to(&self, values: &mut Vec<Value>) {
        self.as_slice().append_to(values);
    }
}

impl<T: ToValue, const N: usize> Parameters for [T; N] {
    fn append_to(&self, values: &mut Vec<Value>) {
        self.as_slice().append_to(values);
    }
}

impl<P: Parameters + ?Sized> Parameters for &P {
    fn append_to(&self, values: &mut Vec<Value>) {
        (**self).append_to(values);
    }
}

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: ToValue),*> Parameters for ($($name,)*) {
            fn append_to(&self, values: &mut Vec<Value>) {
                #[allow(non_snake_case, reason = "the type parameters' names serve as the variables'")]
                let ($($name,)*) = self;
                values.extend([$($name.to_value()),*]);
            }
        }
    };
}

tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
tuples!(A B C D E F G H I);
tuples!(A B C D E F G H I J);
tuples!(A B C D E F G H I J K);
tuples!(A B C D E F G H I J K L);
tuples!(A B C D E F G H I J K L M);
tuples!(A B C D E F G H I J K L M N);
tuples!(A B C D E F G H I J K L M N O);
tuples!(A B C D E F G H I J K L M N O P);

/// The values of a call's parameters, of the types that the statement describes.
///
/// # Errors
/// That there are too many or too few; what CAST gives for a value that does not fit.
pub(super) fn values(
    parameters: &dyn Parameters,
    described: &[ColumnDescription],
    context: impl Fn() -> CastContext,
) -> Result<Vec<Value>> {
    let mut values = Vec::with_capacity(described.len());
    parameters.append_to(&mut values);
    if values.len() != described.len() {
        return Err(Fault::ParameterCount { expected: described.len(), given: values.len() }.into());
    }
    for (value, parameter) in values.iter_mut().zip(described) {
        let sql_type = parameter.column_type.sql_type.of_parameter_value();
        if !is_of_type(value, &sql_type) {
            *value = cast(value, &sql_type, &context())?;
        }
    }
    Ok(values)
}

/// Whether a value is of a type as it is. False also where only a closer look could tell.
fn is_of_type(value: &Value, sql_type: &SqlType) -> bool {
    match (value, sql_type) {
        (Value::Null, _) | (_, SqlType::Null) => true,
        (Value::Integer { unscaled, scale }, SqlType::Exact { width, scale: declared, .. }) => {
            scale == declared
                && match width {
                    ExactWidth::Short => i16::try_from(*unscaled).is_ok(),
                    ExactWidth::Long => i32::try_from(*unscaled).is_ok(),
                    ExactWidth::Int64 => true,
                    ExactWidth::Int128 => false,
                }
        }
        // Not the padded types; and no text has more characters than bytes.
        (Value::Text(text), SqlType::Text(declared)) => {
            declared.varying
                && text.character_set() == declared.character_set
                && text.bytes().len() <= declared.length_chars as usize
        }
        // The engine makes BLOBs of texts.
        (Value::Text(_) | Value::Blob(_), SqlType::Blob { .. }) => true,
        (Value::Boolean(_), SqlType::Boolean)
        | (Value::Float(_), SqlType::Float)
        | (Value::Double(_), SqlType::Double)
        | (Value::Date(_), SqlType::Date)
        | (Value::Time(_), SqlType::Time)
        | (Value::Timestamp(_), SqlType::Timestamp)
        | (Value::TimeTz(_), SqlType::TimeTz)
        | (Value::TimestampTz(_), SqlType::TimestampTz) => true,
        _ => false,
    }
}
