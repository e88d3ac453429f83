//! Arrays: which columns are, and one as gbak writes it behind its row.

use farbird_types::Value;

use super::row::encode_value;
use crate::attribute::{array, blob, field, xdr};
use crate::record::Record;
use crate::{FieldKind, RowField};

/// A column that is an array.
pub(super) struct ArrayOf {
    pub(super) name: String,
    /// First and last subscript of each dimension.
    pub(super) bounds: Vec<(i32, i32)>,
    /// How its elements are written.
    element: FieldKind,
}

impl ArrayOf {
    /// The array that a column is; `None` for other columns.
    pub(super) fn of(name: &str, column: &Record, domain: Option<&Record>) -> Option<ArrayOf> {
        if column.number(field::DIMENSIONS).is_none_or(|it| it <= 0) {
            return None;
        }
        let bound = |bytes: &[u8]| i32::from_le_bytes(<[u8; 4]>::try_from(bytes).unwrap_or_default());
        let lower = column.all(field::RANGE_LOW).map(bound);
        let bounds = lower.zip(column.all(field::RANGE_HIGH).map(bound)).collect();
        // A text of variable length ends with a zero there, and takes the room that its length would.
        let element = match RowField::element_of(column, domain)? {
            FieldKind::Varying { length, character_set } => {
                FieldKind::CString { length: length.checked_add(2)?, character_set }
            }
            element => element,
        };
        Some(ArrayOf { name: name.to_owned(), bounds, element })
    }

    /// Appends an array with its record's head. `None` for elements that are not of its type.
    pub(super) fn encode(&self, number: i64, elements: &[Value], out: &mut Vec<u8>) -> Option<()> {
        let mut put = |attribute: u8, number: i32| {
            out.extend_from_slice(&[attribute, 4]);
            out.extend_from_slice(&number.to_le_bytes());
        };
        let mut head = vec![(blob::FIELD_NUMBER, i32::try_from(number).ok()?)];
        head.push((array::DIMENSIONS, i32::try_from(self.bounds.len()).ok()?));
        for (lower, upper) in &self.bounds {
            head.extend([(array::RANGE_LOW, *lower), (array::RANGE_HIGH, *upper)]);
        }
        head.into_iter().for_each(|(attribute, number)| put(attribute, number));
        let (_, width) = self.element.native();
        let native = u32::try_from(width.checked_mul(elements.len())?).ok()?;
        let mut encoded = native.to_be_bytes().to_vec();
        for element in elements {
            encode_value(self.element, &self.in_its_character_set(element)?, &mut encoded)?;
        }
        out.push(blob::DATA);
        out.extend_from_slice(&native.to_le_bytes());
        out.push(xdr::ARRAY);
        out.extend_from_slice(&u32::try_from(encoded.len()).ok()?.to_le_bytes());
        out.extend_from_slice(&encoded);
        Some(())
    }

    fn in_its_character_set(&self, element: &Value) -> Option<Value> {
        match (self.element, element) {
            (
                FieldKind::Text { character_set, .. } | FieldKind::CString { character_set, .. },
                Value::Text(text),
            ) if !character_set.is_bytes() && text.character_set() != character_set => {
                text.transliterate(character_set).ok().map(Value::Text)
            }
            _ => Some(element.clone()),
        }
    }
}
