//! The columns that a reader of an index asks for, together with those of which its keys are made.
//!
//! An entry may be of another version of its row than the one seen, so the key is computed of each row that is read.

use farbird_record::RecordFormat;
use farbird_types::Value;

use crate::layout::{IndexDefinition, column_slots, slot_of};
use crate::{Projection, RelationLayout, Result, StoreError};

/// The columns asked for together with those of the key.
#[derive(Debug, Clone)]
pub(crate) struct KeyedProjection {
    asked: Projection,
    /// What is decoded: the columns asked for, then those of the key that are not among them; all if the key needs the
    /// whole row.
    pub(crate) decoded: Projection,
    /// Where the columns of the key stand among those; `None` if the key is not made of columns alone.
    key_places: Option<Box<[usize]>>,
}

impl KeyedProjection {
    pub(crate) fn new(index: &IndexDefinition, asked: Projection) -> KeyedProjection {
        let decoded = match (asked.slots(), column_slots(index)) {
            (Some(slots), Some(key)) => {
                let missing: Vec<u16> = key.filter(|slot| !slots.contains(slot)).collect();
                match missing.is_empty() {
                    true => asked.clone(),
                    false => Projection::of([slots, &missing].concat()),
                }
            }
            _ => Projection::all(),
        };
        let place = |slot: u16| match decoded.slots() {
            Some(slots) => slots.iter().position(|other| *other == slot),
            None => Some(usize::from(slot)),
        };
        let key_places = column_slots(index).and_then(|key| key.map(place).collect());
        KeyedProjection { asked, decoded, key_places }
    }

    /// Values per row handed out.
    pub(crate) fn width(&self, layout: &RelationLayout) -> usize {
        match self.asked.slots() {
            None => layout.current_format().map_or(0, RecordFormat::len),
            Some(slots) => slots.len(),
        }
    }

    /// Replaces the values of a decoded row, which start at `start`, by those asked for, if they are integers and of the key that is
    /// looked for; else nothing has happened. Rows by whole keys are mostly so, and need no key computed.
    pub(crate) fn take_wanted(&self, wanted: &[Value], values: &mut Vec<Value>, start: usize) -> bool {
        let Some(places) = &self.key_places else { return false };
        let decoded = values.get(start..).unwrap_or_default();
        let is_wanted = |(place, wanted): (&usize, &Value)| match (decoded.get(*place), wanted) {
            (
                Some(Value::Integer { unscaled, scale }),
                Value::Integer { unscaled: wanted, scale: wanted_scale },
            ) => unscaled == wanted && scale == wanted_scale,
            _ => false,
        };
        if places.len() != wanted.len() || !places.iter().zip(wanted).all(is_wanted) {
            return false;
        }
        if let Some(asked) = self.asked.slots() {
            values.truncate(start + asked.len());
        }
        true
    }

    /// Replaces the values of a decoded row, which start at `start`, by those asked for. Whether the row's key is `key`;
    /// `own` is room for it.
    pub(crate) fn take_keyed(
        &self,
        index: &IndexDefinition,
        key: &[u8],
        values: &mut Vec<Value>,
        start: usize,
        own: &mut Vec<u8>,
    ) -> Result<bool> {
        own.clear();
        let decoded = values.get(start..).unwrap_or_default();
        match (&self.key_places, self.asked.slots()) {
            (Some(places), asked) => {
                if places.iter().any(|place| *place >= decoded.len()) {
                    return Err(narrow_row(index));
                }
                index.encode_into(places.iter().filter_map(|place| decoded.get(*place)), own)?;
                if let Some(asked) = asked {
                    values.truncate(start + asked.len());
                }
            }
            (None, asked) => {
                let has = |slot: u16| usize::from(slot) < decoded.len();
                if !index
                    .parts
                    .iter()
                    .filter_map(slot_of)
                    .chain(asked.into_iter().flatten().copied())
                    .all(has)
                {
                    return Err(narrow_row(index));
                }
                let Some(key_values) = index.key_values(decoded)? else { return Ok(false) };
                index.encode_into(key_values.iter(), own)?;
                if let Some(asked) = asked {
                    let column = |slot: &u16| decoded.get(usize::from(*slot)).cloned();
                    let picked: Vec<Value> = asked.iter().filter_map(column).collect();
                    values.truncate(start);
                    values.extend(picked);
                }
            }
        }
        Ok(own == key)
    }
}

/// A decoded row without a column that the index, or the reader, asks for: a column is never taken for NULL.
fn narrow_row(index: &IndexDefinition) -> StoreError {
    StoreError::corrupt(format!("a row without a column of index {}", index.id.0))
}
