//! BLOBs as texts and texts as BLOBs: what conversions, comparisons and functions need of them.
//!
//! Contents of BLOBs in memory are charged to the statement ([`Context::texts`]) until [`releasing`] ends, which stands
//! around whatever works with them.

use farbird_store::{ARRAY_SUBTYPE, BlobOptions, SegmentRead};
use farbird_types::{BlobId, CharacterSet, Error, Result, SqlType, Text, Value, convert, isc};

use crate::BlobUtil;
use crate::array::is_array;
use crate::context::Context;
use farbird_budget::room;

/// Most bytes of a BLOB that an expression reads into memory.
pub const BLOB_EXPRESSION_BYTES_MAX: u64 = 256 << 20;

/// Texts that are no longer are not charged: those of columns are not either while a row is worked with.
const BYTES_UNCHARGED: usize = 64 << 10;

/// How often a text is in memory while something is made of it: as it was read, and as what becomes of it.
const COPIES: usize = 2;

/// Bytes of each segment of BLOBs made from texts: Firebird's own for conversions.
const SEGMENT_BYTES: usize = 32_767;

/// Runs something that works with the contents of BLOBs and keeps none of them: what they were charged is given back.
///
/// # Errors
/// Those of `run`.
pub fn releasing<'a, C: AsMut<Context<'a>>, T>(
    context: &mut C,
    run: impl FnOnce(&mut C) -> Result<T>,
) -> Result<T> {
    let before = context.as_mut().texts.bytes();
    let result = run(context);
    let texts = &mut context.as_mut().texts;
    let after = texts.bytes();
    if after > before {
        texts.shrink(after - before);
    }
    result
}

/// Makes room for so many more bytes of a text that is being made: charged if it becomes long.
///
/// # Errors
/// `virmemexh` past the statement's budget; `imp_exc` with `blobtoobig` past [`BLOB_EXPRESSION_BYTES_MAX`].
pub fn make_room(context: &mut Context<'_>, bytes: &mut Vec<u8>, more: usize) -> Result<()> {
    if (bytes.len() + more) as u64 > BLOB_EXPRESSION_BYTES_MAX {
        return Err(Error::new(isc::IMP_EXC).and(isc::BLOBTOOBIG));
    }
    let added = room(bytes, more);
    if added > 0 {
        if bytes.capacity() + added > BYTES_UNCHARGED {
            context.texts.grow(added)?;
        }
        bytes.reserve_exact(bytes.capacity() - bytes.len() + added);
    }
    Ok(())
}

/// The contents of a BLOB, as a text in its character set (OCTETS for a binary one).
///
/// # Errors
/// `bad_segstr_id` if there is no such BLOB; `convert_error` if it holds an array; `imp_exc` with `blobtoobig` past [`BLOB_EXPRESSION_BYTES_MAX`]; `virmemexh` past
/// the statement's budget.
pub fn blob_text(context: &mut Context<'_>, id: BlobId) -> Result<Text> {
    BlobUtil::of(context.transaction).check(id)?;
    let mut reader = context.transaction.store.open_blob(id)?;
    let properties = reader.properties();
    if properties.options.subtype == ARRAY_SUBTYPE {
        return Err(Error::new(isc::CONVERT_ERROR).with("ARRAY"));
    }
    if properties.bytes > BLOB_EXPRESSION_BYTES_MAX {
        return Err(Error::new(isc::IMP_EXC).and(isc::BLOBTOOBIG));
    }
    let length = usize::try_from(properties.bytes).unwrap_or(usize::MAX);
    let is_long = length > BYTES_UNCHARGED;
    if is_long {
        context.texts.grow(length.saturating_mul(COPIES))?;
    }
    let store = &context.transaction.store;
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
    context: &mut Context<'_>,
    text: &Text,
    subtype: i16,
    character_set: CharacterSet,
) -> Result<BlobId> {
    let text = if subtype == 1 { text.transliterate(character_set)? } else { text.clone() };
    bytes_blob(context, text.bytes(), subtype, character_set)
}

/// Makes a BLOB of bytes that are in the BLOB's character set already.
///
/// # Errors
/// Those of the store.
pub fn bytes_blob(
    context: &mut Context<'_>,
    bytes: &[u8],
    subtype: i16,
    character_set: CharacterSet,
) -> Result<BlobId> {
    let store = &context.transaction.store;
    let mut writer = store.create_blob(BlobOptions { stream: false, subtype, character_set })?;
    for segment in bytes.chunks(SEGMENT_BYTES) {
        context.check_interrupt()?;
        writer.write_segment(store, segment)?;
    }
    Ok(writer.close(store)?)
}

/// One value after the other, as a BLOB. BLOBs that are in its character set go from one to the other in pieces.
///
/// # Errors
/// Those of conversions and of the store; `imp_exc` with `blobtoobig` past [`BLOB_EXPRESSION_BYTES_MAX`].
pub fn joined_blob(
    context: &mut Context<'_>,
    values: &[&Value],
    subtype: i16,
    character_set: CharacterSet,
) -> Result<BlobId> {
    let mut writer =
        context.transaction.store.create_blob(BlobOptions { stream: false, subtype, character_set })?;
    let mut segment = Vec::new();
    let mut total = 0;
    for value in values {
        let source = match value {
            Value::Blob(id) => Some(context.transaction.store.open_blob(*id)?),
            _ => None,
        };
        let same = source.filter(|source| is_in(source.properties().options, subtype, character_set));
        total += match &same {
            Some(source) => source.properties().bytes,
            None => 0,
        };
        if total > BLOB_EXPRESSION_BYTES_MAX {
            return Err(Error::new(isc::IMP_EXC).and(isc::BLOBTOOBIG));
        }
        match same {
            Some(source) => {
                let mut source = source.as_stream();
                let store = &context.transaction.store;
                loop {
                    context.check_interrupt()?;
                    segment.clear();
                    if source.read_segment(store, SEGMENT_BYTES, &mut segment)? == SegmentRead::End {
                        break;
                    }
                    writer.write_segment(store, &segment)?;
                }
            }
            None => {
                let text = text_of(value, context)?;
                let text = if subtype == 1 { text.transliterate(character_set)? } else { text };
                total += text.bytes().len() as u64;
                for segment in text.bytes().chunks(SEGMENT_BYTES) {
                    writer.write_segment(&context.transaction.store, segment)?;
                }
            }
        }
    }
    Ok(writer.close(&context.transaction.store)?)
}

/// Whether a BLOB's bytes are right for a BLOB of this subtype and character set.
fn is_in(source: BlobOptions, subtype: i16, character_set: CharacterSet) -> bool {
    subtype != 1 || character_set.is_bytes() || source.subtype == 1 && source.character_set == character_set
}

/// Any value as a text: BLOBs by their contents, everything else as CAST to VARCHAR shows it.
///
/// # Errors
/// As [`blob_text`].
#[inline]
pub fn text_of(value: &Value, context: &mut Context<'_>) -> Result<Text> {
    match value {
        Value::Text(text) => Ok(text.clone()),
        Value::Blob(id) => blob_text(context, *id),
        other => Ok(Text::new(convert::text_in(other, &context.cast).into_bytes(), CharacterSet::ASCII)),
    }
}

/// Converts a value to a type as CAST and assignments do, BLOBs included.
///
/// # Errors
/// Those of [`convert::cast`], and of reading or writing the BLOB.
#[inline]
pub fn cast_value(value: Value, to: &SqlType, context: &mut Context<'_>) -> Result<Value> {
    match value {
        Value::Blob(_) => releasing(context, |context| cast(value, to, context)),
        value => cast(value, to, context),
    }
}

fn cast(value: Value, to: &SqlType, context: &mut Context<'_>) -> Result<Value> {
    match (value, to) {
        (Value::Null, _) => Ok(Value::Null),
        (Value::Blob(id), SqlType::Array) if is_array(&context.transaction.store, id)? => Ok(Value::Blob(id)),
        (_, SqlType::Array) => Err(Error::new(isc::ARRAY_CONVERT_ERROR)),
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
    context: &mut Context<'_>,
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
