//! The elements of an array, or of a slice of one, as a program has them.
//!
//! How they come and go is in [`crate::array_column`].

use std::any::type_name;
use std::ops::RangeInclusive;
use std::sync::Arc;

use farbird_types::{Error, Result, Value, isc};
use farbird_wire::message::{Message, MessageForm, MessageFormat, MessageType, RowRun};

use crate::statement::{Column, natural};
use crate::typed::{FromValue, ToValue};

/// The elements of an array, or of a slice of one: values in the order of their subscripts, the last of which moves
/// fastest.
///
/// ```
/// use farbird_client::{Array, Value};
///
/// // Two rows of three.
/// let array = Array::new([0..=1, 1..=3], (1..=6).map(Value::integer))?;
/// assert_eq!(array.get(&[1, 1]), Some(&Value::integer(4)));
/// // One dimension, from 1.
/// let weekdays = Array::from(vec!["Mon", "Tue", "Wed"]);
/// assert_eq!(weekdays.bounds(), [1..=3]);
/// assert_eq!(weekdays.convert::<String>()?[2], "Wed");
/// # Ok::<(), farbird_client::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    bounds: Vec<RangeInclusive<i32>>,
    elements: Vec<Value>,
}

impl Array {
    /// The elements between these bounds, lowest and highest subscript of each dimension.
    ///
    /// # Errors
    /// `isc_out_of_bounds` if there are not as many elements as the bounds have room for.
    pub fn new(
        bounds: impl IntoIterator<Item = RangeInclusive<i32>>,
        elements: impl IntoIterator<Item = Value>,
    ) -> Result<Array> {
        let bounds: Vec<_> = bounds.into_iter().collect();
        let elements: Vec<_> = elements.into_iter().collect();
        match count(&bounds) {
            Some(expected) if expected == elements.len() => Ok(Array { bounds, elements }),
            expected => {
                let expected = expected.map_or_else(|| "too many".to_owned(), |count| count.to_string());
                let given = elements.len();
                Err(Error::new(isc::OUT_OF_BOUNDS)
                    .and(isc::RANDOM)
                    .with(format!("{given} elements were given for an array of {expected}")))
            }
        }
    }

    /// Elements whose number is known to be right.
    pub(crate) fn of(bounds: Vec<RangeInclusive<i32>>, elements: Vec<Value>) -> Array {
        Array { bounds, elements }
    }

    /// Lowest and highest subscript of each dimension.
    pub fn bounds(&self) -> &[RangeInclusive<i32>] {
        &self.bounds
    }

    /// All elements, the last subscript moving fastest.
    pub fn elements(&self) -> &[Value] {
        &self.elements
    }

    /// The element with these subscripts, one for each dimension; `None` if there is none.
    pub fn get(&self, subscripts: &[i32]) -> Option<&Value> {
        if subscripts.len() != self.bounds.len() {
            return None;
        }
        let mut position = 0;
        for (bounds, subscript) in self.bounds.iter().zip(subscripts) {
            if !bounds.contains(subscript) {
                return None;
            }
            let offset = usize::try_from(i64::from(*subscript) - i64::from(*bounds.start())).ok()?;
            position = position * length(bounds)? + offset;
        }
        self.elements.get(position)
    }

    /// All elements in a type of the program's.
    ///
    /// # Errors
    /// As [`Row::get`](crate::Row::get), for the first that does not become what is wanted.
    pub fn convert<T: for<'r> FromValue<'r>>(&self) -> Result<Vec<T>> {
        self.elements.iter().map(converted).collect()
    }
}

impl From<Array> for Vec<Value> {
    fn from(array: Array) -> Vec<Value> {
        array.elements
    }
}

/// An array of one dimension whose subscripts begin with 1.
impl<T: ToValue> From<Vec<T>> for Array {
    fn from(values: Vec<T>) -> Array {
        let bounds = vec![1..=i32::try_from(values.len()).unwrap_or(i32::MAX)];
        Array { bounds, elements: values.iter().map(ToValue::to_value).collect() }
    }
}

/// A value goes by its form on the wire, as that of a column does.
fn converted<T: for<'r> FromValue<'r>>(value: &Value) -> Result<T> {
    let kind = natural(value, MessageType::Varying { length: 1, charset: None });
    let format = Arc::new(MessageFormat::from_columns([kind]));
    let run = RowRun::from(Message::new(format, MessageForm::Packed, std::slice::from_ref(value))?);
    let value = run.row(0).and_then(|row| row.value(0));
    let value = value.ok_or_else(|| Error::internal("an element of an array was lost"))?;
    T::from_value(value).map_err(|mismatch| mismatch.error(&Column::unnamed(kind), kind, type_name::<T>()))
}

/// How many subscripts there are between bounds; none for bounds the wrong way round.
fn length(bounds: &RangeInclusive<i32>) -> Option<usize> {
    usize::try_from(i64::from(*bounds.end()) - i64::from(*bounds.start()) + 1).ok()
}

/// How many elements there are between bounds; `None` for none and for more than can be counted.
pub(crate) fn count(bounds: &[RangeInclusive<i32>]) -> Option<usize> {
    let lengths = bounds.iter().map(|bounds| length(bounds).filter(|length| *length > 0));
    let count = lengths.into_iter().try_fold(1_usize, |product, length| product.checked_mul(length?));
    count.filter(|_| !bounds.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_by_their_subscripts() {
        let array = Array::new([-1..=0, 2..=4], (0..6).map(Value::integer)).unwrap();
        let found = |subscripts: &[i32]| array.get(subscripts).cloned();
        assert_eq!(found(&[-1, 2]), Some(Value::integer(0)));
        assert_eq!(found(&[0, 3]), Some(Value::integer(4)));
        for beside in [&[0][..], &[1, 2], &[0, 5], &[0, 2, 1]] {
            assert_eq!(found(beside), None, "{beside:?}");
        }
        let wide = Array::new([i32::MIN..=i32::MIN], [Value::Null]).unwrap();
        assert_eq!(wide.get(&[i32::MIN]), Some(&Value::Null));
    }

    #[test]
    fn as_many_elements_as_bounds_have_room_for() {
        assert!(Array::new([1..=2], [Value::Null]).is_err());
        assert!(Array::new([], [Value::Null]).is_err());
        assert!(Array::new([RangeInclusive::new(2, 1)], []).is_err());
        let all = i32::MIN..=i32::MAX;
        assert_eq!(count(&[all.clone(), all.clone(), all]), None);
    }

    #[test]
    fn elements_become_what_a_program_wants() {
        let array = Array::from(vec![Some(1), None]);
        assert_eq!(array.convert::<Option<i64>>().unwrap(), [Some(1), None]);
        assert!(array.convert::<i64>().unwrap_err().has(isc::CONVERT_ERROR));
        assert_eq!(Array::from(vec!["a", "ü"]).convert::<String>().unwrap(), ["a", "ü"]);
    }
}
