//! Rows that come in value encoding, as a restore has them, with the BLOBs that were made for them.

mod common;

use common::*;
use farbird_record::EncodedRows;
use farbird_record::value_codec::encode_row;
use farbird_store::{AmpleRoom, BlobOptions, CancelFlag, RelationLayout, StoreError, Transaction};
use farbird_types::character_set::CharacterSet;
use farbird_types::{BlobId, Value};

const NOTES: BlobOptions = BlobOptions { stream: false, subtype: 1, character_set: CharacterSet::UTF8 };

fn encoded(layout: &RelationLayout, rows: &[Vec<Value>]) -> EncodedRows {
    let format = layout.current_format().expect("format");
    let mut encoded = EncodedRows::new();
    for row in rows {
        encoded.push_with(|out| encode_row(format, row, out)).expect("encode");
    }
    encoded
}

fn note(transaction: &Transaction, contents: &str) -> BlobId {
    let mut writer = transaction.create_blob(NOTES).expect("create");
    writer.write_segment(transaction, contents.as_bytes()).expect("write");
    writer.close(transaction).expect("close")
}

#[test]
fn they_are_rows_like_others() {
    let store = memory_store();
    let bare = layout_with(Vec::new());
    let transaction = begin(&store, SNAPSHOT);
    let mut expected = Vec::new();
    for first in [0, 1_000, 2_000] {
        let blobs = [note(&transaction, "a short one"), note(&transaction, &"a long one ".repeat(9_000))];
        let of = |id: i64| match id % 1_000 {
            0 => Value::Blob(blobs[0]),
            1 => Value::Blob(blobs[1]),
            _ => Value::Null,
        };
        let rows: Vec<Vec<Value>> = (first..first + 1_000)
            .map(|id| vec![Value::integer(id), Value::text(&format!("row {id}")), of(id)])
            .collect();
        transaction.insert_encoded(&bare, &encoded(&bare, &rows), &blobs).expect("insert");
        expected.extend((first..first + 1_000).map(|id| (id, format!("row {id}"))));
    }
    assert_eq!(rows(&transaction, &bare), expected);
    transaction.commit().expect("commit");

    let layout = layout();
    let transaction = begin(&store, SNAPSHOT);
    for index in &layout.indexes {
        transaction.build_index(&layout, index.id, &AmpleRoom).expect("build");
    }
    transaction.commit().expect("commit");
    assert_eq!(rows(&begin(&store, SNAPSHOT), &layout), expected);
    let report = store.check(&[layout], &AmpleRoom, &mut |_| (), &CancelFlag::new()).expect("check");
    assert!(report.is_sound(), "{:?}", report.findings);
    assert_eq!((report.blobs, report.orphan_blobs, report.entries), (6, 0, 9_000));
}

#[test]
fn a_blob_has_one_row_and_keys_are_for_values() {
    let store = memory_store();
    let bare = layout_with(Vec::new());
    let transaction = begin(&store, SNAPSHOT);
    let blob = note(&transaction, "whose?");
    let rows = encoded(&bare, &[vec![Value::integer(1), Value::Null, Value::Blob(blob)]]);
    transaction.insert_encoded(&bare, &rows, &[blob]).expect("insert");
    let again = transaction.insert_encoded(&bare, &rows, &[blob]);
    assert!(matches!(again, Err(StoreError::NoSuchBlob)), "{again:?}");
    let open = transaction.create_blob(NOTES).expect("create");
    let unfinished = transaction.insert_encoded(&bare, &rows, &[open.id()]);
    assert!(matches!(unfinished, Err(StoreError::NoSuchBlob)), "{unfinished:?}");
    let keyed = transaction.insert_encoded(&layout(), &rows, &[]);
    assert!(matches!(keyed, Err(StoreError::BadLayout { .. })), "{keyed:?}");
}
