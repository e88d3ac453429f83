//! Promises of all codecs: what is encoded comes back, and damaged bytes are an error at worst.

mod common;

use farbird_record::value_codec::{decode_row, encode_row};
use farbird_record::{
    CodecId, ColumnBounds, ColumnSet, ColumnValues, ColumnVector, EncodedRows, RecordFormat, codec,
};
use farbird_types::{SqlType, Value};
use proptest::collection::vec;
use proptest::prelude::*;

fn encoded(format: &RecordFormat, rows: &[Vec<Value>]) -> EncodedRows {
    let mut encoded = EncodedRows::new();
    for row in rows {
        encoded.push_with(|out| encode_row(format, row, out)).expect("rows of the format");
    }
    encoded
}

/// Decodes whatever can be decoded, whether or not it makes sense.
fn decode_all(id: CodecId, format: &RecordFormat, rows: usize, bytes: &[u8]) {
    let codec = codec(id).expect("known");
    let mut out = Vec::new();
    for index in 0..rows + 1 {
        let _ = codec.decode_row(format, rows, bytes, index, &ColumnSet::All, &mut out);
    }
    if let Ok(Some(outline)) = codec.outline(format, bytes) {
        for index in 0..rows + 1 {
            let _ = outline.decode_row(format, rows, bytes, index, &ColumnSet::All, &mut out);
        }
    }
    let _ = codec.unpack_block(format, bytes);
    let Ok(reader) = codec.open_block(format, rows, bytes) else { return };
    for index in 0..rows + 1 {
        let _ = reader.decode_row(index, &ColumnSet::All, &mut out);
        let _ = reader.encoded_row(index, &mut Vec::new());
    }
    let _ = reader.decode_rows(0..rows, &ColumnSet::Slots(&[1, 0]), &mut out);
    let _ = reader.encoded_rows(0..rows, &mut EncodedRows::new());
    for slot in 0..format.len() as u16 {
        let _ = reader.decode_column(slot, rows.min(1)..rows, &mut ColumnVector::default());
        let _ = reader.column_bounds(slot);
    }
}

/// Whether bounds hold for all values.
fn within(vector: &ColumnVector, bounds: ColumnBounds) -> bool {
    let ColumnValues::Numbers(numbers) = vector.values() else { return false };
    numbers.iter().enumerate().all(|(index, number)| match vector.nulls().is_null(index) {
        true => bounds.has_nulls,
        false => bounds.numbers.is_some_and(|(least, greatest)| (least..=greatest).contains(number)),
    })
}

#[test]
fn large_columns_of_numbers_tell_their_exact_bounds() {
    let format = RecordFormat::new(vec![SqlType::BIGINT]);
    let scattered = |row: i64| (row as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) as i64;
    let columns: [(&str, &dyn Fn(i64) -> i64); 6] = [
        ("scattered in a range", &|row| 7_000 + (scattered(row) & 0xFFFF) % 1_500),
        ("all numbers", &scattered),
        ("ascending", &|row| row * 5),
        ("descending", &|row| -row * 5),
        ("mostly ascending", &|row| row * 100 + (scattered(row) & 0xFF)),
        ("few different", &|row| [i64::MIN, -5, 1 << 40, i64::MAX - 1][(scattered(row) & 3) as usize]),
    ];
    for (what, number) in &columns {
        for null_every in [2_000, 3] {
            let value = |row| if row % null_every == 1 { Value::Null } else { Value::integer(number(row)) };
            let rows: Vec<Vec<Value>> = (0..1_000).map(|row| vec![value(row)]).collect();
            let present = || (0..1_000).filter(|row| row % null_every != 1).map(number);
            let mut block = Vec::new();
            let codec = codec(CodecId::COLUMN).expect("known");
            codec.encode_block(&format, &encoded(&format, &rows), &mut block).expect("encodes");
            let reader = codec.open_block(&format, rows.len(), &block).expect("opens");
            let bounds = reader.column_bounds(0).expect("bounds");
            assert_eq!(bounds.numbers, present().min().zip(present().max()), "{what}");
            let mut vector = ColumnVector::default();
            reader.decode_column(0, 0..rows.len(), &mut vector).expect("decodes");
            assert!(within(&vector, bounds) && bounds.has_nulls, "{what}");
        }
    }
}

proptest! {
    // Each case goes through fifteen codecs.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_come_back_whole_and_projected((format, rows) in common::rows(3), slots in vec(0u16..24, 0..6)) {
        for row in &rows {
            let mut bytes = Vec::new();
            encode_row(&format, row, &mut bytes).expect("a row of the format");
            let mut all = Vec::new();
            decode_row(&format, &bytes, &ColumnSet::All, &mut all).expect("decodes");
            prop_assert_eq!(&all, row);
            let mut some = Vec::new();
            decode_row(&format, &bytes, &ColumnSet::Slots(&slots), &mut some).expect("decodes");
            let expected: Vec<Value> =
                slots.iter().map(|slot| row.get(usize::from(*slot)).cloned().unwrap_or_default()).collect();
            prop_assert_eq!(some, expected);
        }
    }

    #[test]
    fn blocks_come_back_by_row_and_by_column((format, rows) in common::rows(70), slots in vec(0u16..24, 0..6)) {
        let encoded = encoded(&format, &rows);
        for id in CodecId::all() {
            let mut block = Vec::new();
            codec(id).expect("known").encode_block(&format, &encoded, &mut block).expect("encodes");
            let reader = codec(id).expect("known").open_block(&format, rows.len(), &block).expect("opens");
            for (index, row) in rows.iter().enumerate() {
                let mut values = Vec::new();
                reader.decode_row(index, &ColumnSet::All, &mut values).expect("decodes");
                prop_assert_eq!(&values, row);
                let mut bytes = Vec::new();
                reader.encoded_row(index, &mut bytes).expect("decodes");
                prop_assert_eq!(Some(bytes.as_slice()), encoded.row(index));
            }
            let mut again = EncodedRows::new();
            reader.encoded_rows(0..rows.len(), &mut again).expect("decodes");
            prop_assert_eq!((again.len(), again.bytes()), (encoded.len(), encoded.bytes()));
            let mut values = Vec::new();
            reader.decode_rows(1..rows.len(), &ColumnSet::Slots(&slots), &mut values).expect("decodes");
            let expected: Vec<Value> = rows[1..]
                .iter()
                .flat_map(|row| slots.iter().map(|slot| row.get(usize::from(*slot)).cloned().unwrap_or_default()))
                .collect();
            prop_assert_eq!(values, expected);
            for (slot, sql_type) in format.columns().iter().enumerate() {
                let mut vector = ColumnVector::default();
                reader.decode_column(slot as u16, 0..1, &mut vector).expect("decodes");
                reader.decode_column(slot as u16, 1..rows.len(), &mut vector).expect("decodes");
                prop_assert_eq!(vector.len(), rows.len());
                for (index, row) in rows.iter().enumerate() {
                    prop_assert_eq!(vector.value(index, sql_type), row.get(slot).cloned());
                }
                if let Some(bounds) = reader.column_bounds(slot as u16) {
                    prop_assert!(within(&vector, bounds), "{:?} of {:?}", bounds, vector);
                }
            }
            let mut vector = ColumnVector::default();
            reader.decode_column(u16::MAX, 0..rows.len(), &mut vector).expect("decodes");
            prop_assert_eq!((vector.len(), vector.nulls().count()), (rows.len(), rows.len()));
            prop_assert!(reader.decode_row(rows.len(), &ColumnSet::All, &mut Vec::new()).is_err());
        }
    }

    #[test]
    fn single_rows_come_back_packed_and_unpacked((format, rows) in common::rows(70), slots in vec(0u16..24, 0..6)) {
        let encoded = encoded(&format, &rows);
        for id in CodecId::all() {
            let mut block = Vec::new();
            codec(id).expect("known").encode_block(&format, &encoded, &mut block).expect("encodes");
            let unpacked = codec(id).expect("known").unpack_block(&format, &block).expect("unpacks");
            prop_assert_eq!(unpacked.is_some(), id != id.alone());
            let unpacked = unpacked.map(|unpacked| (id.alone(), unpacked));
            for (id, block) in [(id, block)].into_iter().chain(unpacked) {
                let codec = codec(id).expect("known");
                let outline = codec.outline(&format, &block).expect("sound");
                prop_assert_eq!(outline.is_some(), id == CodecId::COLUMN);
                for (index, row) in rows.iter().enumerate() {
                    let mut values = Vec::new();
                    let some = ColumnSet::Slots(&slots);
                    codec.decode_row(&format, rows.len(), &block, index, &ColumnSet::All, &mut values).expect("decodes");
                    codec.decode_row(&format, rows.len(), &block, index, &some, &mut values).expect("decodes");
                    if let Some(outline) = &outline {
                        let mut again = Vec::new();
                        for columns in [&ColumnSet::All, &some] {
                            outline.decode_row(&format, rows.len(), &block, index, columns, &mut again).expect("decodes");
                        }
                        prop_assert_eq!(&again, &values);
                    }
                    let picked = slots.iter().map(|slot| row.get(usize::from(*slot)).cloned().unwrap_or_default());
                    prop_assert_eq!(values, row.iter().cloned().chain(picked).collect::<Vec<Value>>());
                }
                let past = codec.decode_row(&format, rows.len(), &block, rows.len(), &ColumnSet::All, &mut Vec::new());
                prop_assert!(past.is_err());
                if let Some(outline) = outline {
                    let past = outline.decode_row(&format, rows.len(), &block, rows.len(), &ColumnSet::All, &mut Vec::new());
                    prop_assert!(past.is_err());
                }
            }
        }
    }

    #[test]
    fn damage_never_panics(
        (format, rows) in common::rows(40),
        damages in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let encoded = encoded(&format, &rows);
        for id in CodecId::all() {
            let mut block = Vec::new();
            codec(id).expect("known").encode_block(&format, &encoded, &mut block).expect("encodes");
            // A row of no columns takes nothing.
            if block.is_empty() {
                continue;
            }
            for (place, byte) in &damages {
                let place = place.index(block.len());
                block[place] = *byte;
            }
            decode_all(id, &format, rows.len(), &block);
            block.truncate(cut.index(block.len()));
            decode_all(id, &format, rows.len(), &block);
        }
    }

    #[test]
    fn noise_never_panics((format, _) in common::rows(1), noise in vec(any::<u8>(), 0..200), rows in 0usize..100) {
        let _ = decode_row(&format, &noise, &ColumnSet::All, &mut Vec::new());
        for id in CodecId::all() {
            decode_all(id, &format, rows, &noise);
        }
    }
}

#[test]
fn values_of_other_types_are_refused() {
    use farbird_types::SqlType;
    let format = RecordFormat::new(vec![SqlType::SMALLINT]);
    for value in [Value::integer(40_000), Value::text("7"), Value::Integer { unscaled: 1, scale: -2 }] {
        assert!(encode_row(&format, &[value], &mut Vec::new()).is_err());
    }
    assert!(encode_row(&format, &[Value::Null, Value::Null], &mut Vec::new()).is_err());
    let mut out = Vec::new();
    encode_row(&format, &[], &mut out).expect("missing values are NULL");
    assert_eq!(out, [1]);
}
