//! BLOBs as texts and texts as BLOBs: what conversions, comparisons and functions need of them.

use farbird_store::BlobOptions;
use farbird_types::{BlobId, CharacterSet, Error, Result, SqlType, Text, Value, convert, isc};

use crate::execute::context::ExecutionContext;

/// Most bytes of a BLOB that an expression reads into memory.
pub const BLOB_EXPRESSION_BYTES_MAX: u64 = 256 << 20;

/// Bytes of each segment of BLOBs made from texts: Firebird's own for conversions.
const SEGMENT_BYTES: usize = 32_767;

/// The contents of a BLOB, as a text in its character set (OCTETS for a binary one).
///
/// # Errors
/// `bad_segstr_id` if there is no such BLOB; `imp_exc` with `blobtoobig` past [`BLOB_EXPRESSION_BYTES_MAX`].
pub fn blob_text(context: &mut ExecutionContext<'_>, id: BlobId) -> Result<Text> {
    let store = &context.transaction.store;
    let mut reader = store.open_blob(id)?;
    let properties = reader.properties();
    if properties.bytes > BLOB_EXPRESSION_BYTES_MAX {
        return Err(Error::new(isc::IMP_EXC).and(isc::BLOBTOOBIG));
    }
    let bytes = reader.read_all(store, BLOB_EXPRESSION_BYTES_MAX)?;
    let character_set = match properties.options.subtype {
        1 => properties.options.character_set,
        _ => CharacterSet::OCTETS,
    };
    Ok(Text::new(bytes, character_set))
}

/// Makes a BLOB of a text, converted to the BLOB's character set if it is of text.
///
/// # Errors
/// Those of the conversion and of the store.
pub fn text_blob(
    context: &mut ExecutionContext<'_>,
    text: &Text,
    subtype: i16,
    character_set: CharacterSet,
) -> Result<BlobId> {
    let text = if subtype == 1 { text.transliterate(character_set)? } else { text.clone() };
    let store = &context.transaction.store;
    let mut writer = store.create_blob(BlobOptions { stream: false, subtype, character_set })?;
    for segment in text.bytes().chunks(SEGMENT_BYTES) {
        writer.write_segment(store, segment)?;
    }
    Ok(writer.close(store)?)
}

/// Any value as a text: BLOBs by their contents, everything else as CAST to VARCHAR shows it.
///
/// # Errors
/// As [`blob_text`].
pub fn text_of(value: &Value, context: &mut ExecutionContext<'_>) -> Result<Text> {
    match value {
        Value::Text(text) => Ok(text.clone()),
        Value::Blob(id) => blob_text(context, *id),
        other => Ok(Text::new(convert::to_display_text(other).into_bytes(), CharacterSet::ASCII)),
    }
}

/// Converts a value to a type as CAST and assignments do, BLOBs included.
///
/// # Errors
/// Those of [`convert::cast`], and of reading or writing the BLOB.
pub fn cast_value(value: Value, to: &SqlType, context: &mut ExecutionContext<'_>) -> Result<Value> {
    match (value, to) {
        (Value::Null, _) => Ok(Value::Null),
        (Value::Blob(id), SqlType::Blob { subtype, character_set, .. }) => {
            blob_in_character_set(id, *subtype, *character_set, context).map(Value::Blob)
        }
        (Value::Blob(id), SqlType::Text(text_type)) => {
            let text = blob_text(context, id)?;
            // A binary BLOB's bytes are the text's bytes, to be checked against its character set only.
            let text = match text.character_set() {
                CharacterSet::OCTETS => Text::new(text.bytes(), CharacterSet::NONE),
                _ => text,
            };
            convert::cast(&Value::Text(text), &SqlType::Text(*text_type), &context.cast)
        }
        (Value::Blob(id), to) => {
            let text = blob_text(context, id)?;
            convert::cast(&Value::Text(text), to, &context.cast)
        }
        (value, SqlType::Blob { subtype, character_set, .. }) => {
            let text = text_of(&value, context)?;
            text_blob(context, &text, *subtype, *character_set).map(Value::Blob)
        }
        (value, to) => convert::cast(&value, to, &context.cast),
    }
}

/// A BLOB fit for a column of this subtype and character set: the same one unless its text must be rewritten.
fn blob_in_character_set(
    id: BlobId,
    subtype: i16,
    character_set: CharacterSet,
    context: &mut ExecutionContext<'_>,
) -> Result<BlobId> {
    if subtype != 1 || character_set.is_bytes() {
        return Ok(id);
    }
    let options = context.transaction.store.open_blob(id)?.properties().options;
    if options.subtype != 1 || options.character_set == character_set || options.character_set.is_bytes() {
        return Ok(id);
    }
    let text = blob_text(context, id)?;
    text_blob(context, &text, subtype, character_set)
}
