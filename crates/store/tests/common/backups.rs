//! What tests of backups share: a database with rows of all kinds, and all that there is in one.

use std::sync::Arc;

use farbird_store::backup::{BackupContents, BackupRelation};
use farbird_store::{
    BlobOptions, Projection, RelationLayout, RelationScan, RowBatch, SegmentRead, SequenceId, Store,
    Transaction,
};
use farbird_types::character_set::CharacterSet;
use farbird_types::{BlobId, Value};

use super::*;

pub const COUNTER: SequenceId = SequenceId(12);

pub fn relation(layout: &Arc<RelationLayout>) -> BackupRelation {
    let index_names = layout.indexes.iter().map(|index| format!("INDEX_{}", index.id.0)).collect();
    BackupRelation { name: "T".to_owned(), layout: Arc::clone(layout), index_names, is_passed_over: false }
}

pub fn contents(layout: &Arc<RelationLayout>) -> BackupContents {
    BackupContents {
        producer: "a test".to_owned(),
        time_us: 1_234_567,
        catalog: vec![(b"relation/T".to_vec(), b"{}".to_vec()), (b"role/R".to_vec(), vec![7; 300_000])],
        relations: vec![relation(layout)],
        reset_sequences: Vec::new(),
    }
}

/// A row with its BLOB's segments.
pub type FullRow = (Vec<Value>, Option<(BlobOptions, Vec<Vec<u8>>)>);

pub fn segments(transaction: &Transaction, id: BlobId) -> (BlobOptions, Vec<Vec<u8>>) {
    let mut reader = transaction.open_blob(id).expect("open");
    let options = reader.properties().options;
    let (mut segments, mut current) = (Vec::new(), Vec::new());
    loop {
        match reader.read_segment(transaction, usize::MAX, &mut current).expect("read") {
            SegmentRead::Incomplete => {}
            SegmentRead::Complete => segments.push(std::mem::take(&mut current)),
            SegmentRead::End => return (options, segments),
        }
    }
}

/// All that a new transaction sees of the relation, in row order.
pub fn full_rows(transaction: &Transaction, layout: &Arc<RelationLayout>) -> Vec<FullRow> {
    let view = transaction.view().expect("view");
    let mut scan = RelationScan::new(Arc::clone(layout), view, Projection::all());
    let (mut batch, mut rows) = (RowBatch::new(), Vec::new());
    while scan.next_batch(transaction, 1_000, &mut batch).expect("scan") {
        for index in 0..batch.len() {
            let mut row = batch.take_row(index);
            let blob = match row[2] {
                Value::Blob(id) => Some(segments(transaction, id)),
                _ => None,
            };
            row[2] = Value::Null;
            rows.push((row, blob));
        }
    }
    rows
}

pub fn insert_with_blob(
    transaction: &Transaction,
    layout: &RelationLayout,
    id: i64,
    stream: bool,
    segments: &[&[u8]],
) {
    let options = BlobOptions { stream, subtype: 1, character_set: CharacterSet::UTF8 };
    let mut writer = transaction.create_blob(options).expect("create");
    for segment in segments {
        writer.write_segment(transaction, segment).expect("write");
    }
    let blob = writer.close(transaction).expect("close");
    let mut row = [Value::integer(id), Value::text("with blob"), Value::Blob(blob)];
    transaction.insert(layout, &mut row).expect("insert");
}

pub fn noise(count: usize) -> Vec<u8> {
    (0..count as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// Rows of all kinds: in blocks, in versions, changed and deleted ones, with BLOBs of many sizes and shapes.
pub fn varied_store(layout: &Arc<RelationLayout>) -> Store {
    let store = memory_store();
    store.register_layout(Arc::clone(layout));
    let transaction = begin(&store, SNAPSHOT);
    for id in 0..20_000 {
        insert(&transaction, layout, id, &format!("name {id}"));
    }
    transaction.commit().expect("commit");
    let transaction = begin(&store, SNAPSHOT);
    for id in (0..60).step_by(3) {
        rename(&transaction, layout, id, "renamed").expect("update");
    }
    for id in (1..60).step_by(3) {
        delete(&transaction, layout, id).expect("delete");
    }
    let large = noise(3_000_000);
    let text = "a paragraph of text, ".repeat(9_000).into_bytes();
    let unequal: Vec<&[u8]> = (0..200).map(|i| &large[i * 100..i * 101]).collect();
    let pieces: Vec<&[u8]> = text.chunks(1_000).collect();
    let mut id = 100_000;
    for stream in [false, true] {
        let few: [Vec<&[u8]>; 4] = [vec![], vec![b""], vec![b"", b"x", b""], vec![b"short"]];
        let many = [unequal.clone(), pieces.clone(), vec![&text[..]], vec![&large[..]]];
        for segments in few.iter().chain(&many) {
            insert_with_blob(&transaction, layout, id, stream, segments);
            id += 1;
        }
    }
    transaction.commit().expect("commit");
    store.sequence_set(COUNTER, -5).expect("set");
    store.sequence_next(COUNTER, 1).expect("next");
    store.sequence_set(SequenceId(u32::MAX), i64::MIN).expect("set");
    store
}

pub fn assert_same_blobs(restored: &[FullRow], original: &[FullRow]) {
    assert_eq!(restored.len(), original.len());
    for (restored, original) in restored.iter().zip(original) {
        assert_eq!(restored.0, original.0);
        match (&restored.1, &original.1) {
            // Of a stream only the bytes are kept, not how they were cut.
            (Some((options, restored)), Some((expected, original))) if expected.stream => {
                assert_eq!((options, restored.concat()), (expected, original.concat()));
            }
            (restored, original) => assert_eq!(restored, original),
        }
    }
}
