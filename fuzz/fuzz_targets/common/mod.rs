//! Blocks of any format from any bytes.

use farbird_record::value_codec::{decode_row, encode_row};
use farbird_record::{CodecId, ColumnSet, ColumnVector, EncodedRows, RecordFormat, codec};
use farbird_types::character_set::{CharacterSet, Collation};
use farbird_types::{ExactSubtype, ExactWidth, SqlType, TextType, Value};

/// Rows of a block that is looked into, at most.
const ROWS_MAX: usize = 600;

/// A record format, told by the first byte (number of columns) and two bytes per column.
fn format(input: &[u8]) -> Option<(RecordFormat, &[u8])> {
    let (count, rest) = input.split_first()?;
    let (types, rest) = rest.split_at_checked(usize::from(count % 12) * 2)?;
    Some((RecordFormat::new(types.chunks_exact(2).map(|pair| sql_type(pair[0], pair[1])).collect()), rest))
}

fn sql_type(kind: u8, detail: u8) -> SqlType {
    let exact = |width| SqlType::Exact { width, scale: -((detail % 19) as i8), subtype: ExactSubtype::Numeric };
    let text = |varying| {
        let sets = [CharacterSet::UTF8, CharacterSet::OCTETS, CharacterSet::NONE, CharacterSet(53)];
        let character_set = sets[usize::from(detail % 4)];
        SqlType::Text(TextType {
            varying,
            length_chars: u32::from(detail / 4) * 5,
            character_set,
            collation: Collation(0),
        })
    };
    match kind % 16 {
        0 => SqlType::Null,
        1 => SqlType::Boolean,
        2 => exact(ExactWidth::Short),
        3 => exact(ExactWidth::Long),
        4 => exact(ExactWidth::Int64),
        5 => exact(ExactWidth::Int128),
        6 => SqlType::Float,
        7 => SqlType::Double,
        8 => SqlType::DecFloat34,
        9 => SqlType::Date,
        10 => SqlType::Time,
        11 => SqlType::Timestamp,
        12 => SqlType::TimestampTz,
        13 => text(true),
        14 => text(false),
        _ => SqlType::BLOB_BINARY,
    }
}

/// Looks into a block in every way; rows that come out whole must come back from the same codec.
pub fn block(id: CodecId, input: &[u8]) {
    let Some((format, rest)) = format(input) else { return };
    let Some((counts, bytes)) = rest.split_at_checked(2) else { return };
    let rows = usize::from(u16::from_le_bytes([counts[0], counts[1]])) % ROWS_MAX;
    let codec = codec(id).expect("known");
    let Ok(reader) = codec.open_block(&format, rows, bytes) else { return };
    let mut values = Vec::new();
    let whole = reader.decode_rows(0..rows, &ColumnSet::All, &mut values).is_ok();
    let _ = reader.decode_row(rows, &ColumnSet::All, &mut Vec::new());
    let _ = reader.decode_rows(rows / 2..rows, &ColumnSet::Slots(&[2, 0, 50]), &mut Vec::new());
    for slot in 0..format.len() as u16 {
        let mut vector = ColumnVector::default();
        if reader.decode_column(slot, rows / 3..rows, &mut vector).is_ok() {
            assert_eq!(vector.len(), rows - rows / 3);
        }
    }
    let _ = reader.encoded_row(0, &mut Vec::new());
    if whole && !format.is_empty() && rows > 0 {
        comes_back(id, &format, rows, &values);
    }
}

fn comes_back(id: CodecId, format: &RecordFormat, rows: usize, values: &[Value]) {
    let mut encoded = EncodedRows::new();
    for row in values.chunks(format.len()) {
        // A damaged block can hold values that their columns cannot.
        if encoded.push_with(|out| encode_row(format, row, out)).is_err() {
            return;
        }
    }
    let mut block = Vec::new();
    if codec(id).expect("known").encode_block(format, &encoded, &mut block).is_err() {
        return;
    }
    let reader = codec(id).expect("known").open_block(format, rows, &block).expect("opens");
    for (index, row) in encoded.iter().enumerate() {
        let mut again = Vec::new();
        reader.encoded_row(index, &mut again).expect("decodes");
        assert_eq!(again, row, "row {index} of {id}");
    }
}

/// A row in value encoding that decodes must decode the same way again after it was encoded.
pub fn row(input: &[u8]) {
    let Some((format, bytes)) = format(input) else { return };
    let mut values = Vec::new();
    let _ = decode_row(&format, bytes, &ColumnSet::Slots(&[3, 1]), &mut Vec::new());
    if decode_row(&format, bytes, &ColumnSet::All, &mut values).is_ok() {
        let mut once = Vec::new();
        if encode_row(&format, &values, &mut once).is_ok() {
            let mut again = Vec::new();
            decode_row(&format, &once, &ColumnSet::All, &mut again).expect("decodes");
            let mut twice = Vec::new();
            encode_row(&format, &again, &mut twice).expect("encodes");
            assert_eq!(once, twice);
        }
    }
}
