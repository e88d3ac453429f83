//! Text BLOBs between a column's character set and the connection's.
//!
//! A client sees texts in its connection's character set, BLOBs included. A BLOB in another one is not converted when
//! its row is fetched, but when it is opened, if it ever is: until then its id carries the character set in its
//! highest bits, which the store's counter never reaches.

use farbird_store::{BlobOptions, BlobReader};
use farbird_types::{BlobId, CharacterSet, Error, Result, SqlType, Text, Value, isc};

use crate::api::ColumnDescription;
use crate::function::array::is_array;
use crate::transaction::Transaction;

/// Where in an id the character set stands.
const CHARACTER_SET_SHIFT: u32 = 56;
/// A bit of an id that the store's counter never reaches either: see [`for_old_programs`].
const HIGH_WORD: u64 = 1 << (CHARACTER_SET_SHIFT - 1);
/// Longest text that is converted, in bytes: it is held in memory for that.
pub(super) const CONVERTED_BYTES_MAX: u64 = 256 << 20;

/// What converts texts of some columns: nothing, for most connections.
pub(super) struct BlobTexts {
    columns: Vec<(usize, CharacterSet)>,
}

impl BlobTexts {
    /// The columns whose BLOBs are not in the connection's character set.
    pub(super) fn of(columns: &[ColumnDescription], connection: CharacterSet) -> BlobTexts {
        let foreign = |column: &ColumnDescription| match column.column_type.sql_type {
            SqlType::Blob { subtype: 1, character_set, .. } => {
                needs_conversion(character_set, connection).then_some(character_set)
            }
            _ => None,
        };
        BlobTexts {
            columns: columns.iter().enumerate().filter_map(|(i, c)| Some((i, foreign(c)?))).collect(),
        }
    }

    /// Marks the BLOBs of a row that is handed to the client.
    pub(super) fn mark(&self, row: &mut [Value]) {
        for (index, character_set) in &self.columns {
            if let Some(Value::Blob(id)) = row.get_mut(*index)
                && *id != BlobId(0)
            {
                *id = marked(*id, *character_set);
            }
        }
    }
}

/// Whether text of one character set must be changed to be text of the other.
pub(super) fn needs_conversion(from: CharacterSet, to: CharacterSet) -> bool {
    let is_raw = |set| matches!(set, CharacterSet::NONE | CharacterSet::OCTETS);
    from != to && !is_raw(from) && !is_raw(to)
}

fn marked(id: BlobId, character_set: CharacterSet) -> BlobId {
    BlobId(id.0 | u64::from(character_set.0) << CHARACTER_SET_SHIFT)
}

/// An id whose high word is not 0. Those of stored BLOBs never are in Firebird, and its tools take an id with such a word for
/// no BLOB.
pub(super) fn for_old_programs(id: BlobId) -> BlobId {
    if id == BlobId(0) { id } else { BlobId(id.0 | HIGH_WORD) }
}

/// The id as the store knows it, and the character set it was marked with.
pub(super) fn unmarked(id: BlobId) -> (BlobId, Option<CharacterSet>) {
    let character_set = (id.0 >> CHARACTER_SET_SHIFT) as u8;
    let own = BlobId(id.0 & (HIGH_WORD - 1));
    (own, (character_set != 0).then_some(CharacterSet(character_set)))
}

/// All of a BLOB, from one character set to another.
///
/// # Errors
/// `isc_imp_exc` if it is longer than [`CONVERTED_BYTES_MAX`], those of transliteration.
pub(super) fn read_converted(
    reader: &mut BlobReader,
    transaction: &Transaction,
    from: CharacterSet,
    to: CharacterSet,
) -> Result<Vec<u8>> {
    if reader.properties().bytes > CONVERTED_BYTES_MAX {
        return Err(Error::new(isc::IMP_EXC));
    }
    let bytes = reader.read_all(&transaction.store, CONVERTED_BYTES_MAX)?;
    Ok(Text::new(bytes, from).transliterate(to)?.bytes().to_vec())
}

/// What a parameter of a BLOB column becomes: a text becomes a BLOB, the id 0 an empty one, and a BLOB in another
/// character set than the column's one in the column's.
pub(super) fn parameter(
    value: &mut Value,
    column: &SqlType,
    connection: CharacterSet,
    transaction: &Transaction,
) -> Result<()> {
    if *column == SqlType::Array {
        return array_parameter(value, transaction);
    }
    let SqlType::Blob { subtype, character_set, .. } = *column else { return Ok(()) };
    let options = BlobOptions { stream: false, subtype, character_set };
    match value {
        Value::Text(text) => {
            let text = if subtype == 1 { text.transliterate(character_set)? } else { text.clone() };
            *value = create(transaction, options, text.bytes())?;
        }
        Value::Blob(BlobId(0)) => *value = create(transaction, options, &[])?,
        Value::Blob(id) => {
            let (own, marked) = unmarked(*id);
            *id = own;
            let mut reader = transaction.store.open_blob(own)?;
            let written = reader.properties().options.character_set;
            let from = marked.unwrap_or(if written == CharacterSet::NONE { connection } else { written });
            if subtype == 1 && needs_conversion(from, character_set) {
                let bytes = read_converted(&mut reader, transaction, from, character_set)?;
                *value = create(transaction, options, &bytes)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// What a parameter of an array column becomes: the id 0 is NULL.
///
/// # Errors
/// `isc_array_convert_error` for other values, `isc_invalid_array_id` for the id of a BLOB that is no array.
fn array_parameter(value: &mut Value, transaction: &Transaction) -> Result<()> {
    match value {
        Value::Null => {}
        Value::Blob(BlobId(0)) => *value = Value::Null,
        Value::Blob(id) => {
            let (own, _) = unmarked(*id);
            if !is_array(&transaction.store, own)? {
                return Err(Error::new(isc::INVALID_ARRAY_ID));
            }
            *id = own;
        }
        _ => return Err(Error::new(isc::ARRAY_CONVERT_ERROR)),
    }
    Ok(())
}

fn create(transaction: &Transaction, options: BlobOptions, bytes: &[u8]) -> Result<Value> {
    let mut writer = transaction.store.create_blob(options)?;
    for segment in bytes.chunks(usize::from(u16::MAX)) {
        writer.write_segment(&transaction.store, segment)?;
    }
    Ok(Value::Blob(writer.close(&transaction.store)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_comes_off_as_it_went_on() {
        let win1252 = CharacterSet::by_name("WIN1252").unwrap();
        assert_eq!(unmarked(marked(BlobId(77), win1252)), (BlobId(77), Some(win1252)));
        assert_eq!(unmarked(BlobId(77)), (BlobId(77), None));
        let told = for_old_programs(marked(BlobId(77), win1252));
        assert_eq!(unmarked(told), (BlobId(77), Some(win1252)));
        assert!(for_old_programs(BlobId(77)).0 >> 32 != 0 && for_old_programs(BlobId(0)) == BlobId(0));
    }
}
