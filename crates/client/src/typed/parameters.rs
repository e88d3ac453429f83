//! What becomes the parameters of a statement.

use std::borrow::Cow;

use farbird_types::Value;

use super::to_value::ToValue;

/// The parameters of a statement, in their order: a tuple of up to 16 values, `()` or `&[]` for none, values as
/// `&[Value]`, or any number of any types as `&[&dyn ToValue]`.
///
/// ```no_run
/// # use farbird_client::blocking::Connection;
/// # use farbird_client::{Result, Statement, ToValue, Transaction, Value};
/// # fn example(connection: &Connection, transaction: &Transaction, statement: &Statement) -> Result<()> {
/// connection.execute(transaction, statement, (7, "seven", None::<f64>))?;
/// connection.execute(transaction, statement, &[Value::integer(7), Value::text("seven"), Value::Null])?;
/// let parameters: &[&dyn ToValue] = &[&7, &"seven", &None::<f64>];
/// connection.execute(transaction, statement, parameters)?;
/// # Ok(())
/// # }
/// ```
pub trait Parameters: Send + Sync {
    /// The values.
    fn values(&self) -> Cow<'_, [Value]>;
}

impl Parameters for () {
    fn values(&self) -> Cow<'_, [Value]> {
        Cow::Borrowed(&[])
    }
}

impl Parameters for &[Value] {
    fn values(&self) -> Cow<'_, [Value]> {
        Cow::Borrowed(self)
    }
}

impl<const N: usize> Parameters for &[Value; N] {
    fn values(&self) -> Cow<'_, [Value]> {
        Cow::Borrowed(*self)
    }
}

impl Parameters for &Vec<Value> {
    fn values(&self) -> Cow<'_, [Value]> {
        Cow::Borrowed(self)
    }
}

impl Parameters for Vec<Value> {
    fn values(&self) -> Cow<'_, [Value]> {
        Cow::Borrowed(self)
    }
}

impl Parameters for &[&dyn ToValue] {
    fn values(&self) -> Cow<'_, [Value]> {
        self.iter().map(|value| value.to_value()).collect()
    }
}

macro_rules! tuples {
    ($(($($name:ident $index:tt),*),)*) => {
        $(impl<$($name: ToValue),*> Parameters for ($($name,)*) {
            fn values(&self) -> Cow<'_, [Value]> {
                Cow::Owned(vec![$(self.$index.to_value(),)*])
            }
        })*
    };
}

tuples! {
    (A 0),
    (A 0, B 1),
    (A 0, B 1, C 2),
    (A 0, B 1, C 2, D 3),
    (A 0, B 1, C 2, D 3, E 4),
    (A 0, B 1, C 2, D 3, E 4, F 5),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15),
}
