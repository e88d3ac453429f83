//! Single rows, by number and by key: the same under every codec, read once, again and after changes.

mod common;

use std::sync::Arc;

use common::*;
use farbird_record::CodecId;
use farbird_store::{
    IndexScan, KeyLookup, KeyRange, Projection, RelationLayout, RowBatch, ScanDirection, Transaction,
};
use farbird_types::Value;

const ROWS: i64 = 3_000;

fn name(id: i64, generation: i64) -> String {
    format!("the row with the number {id}, {}, {generation}", "as it was before, ".repeat((id % 5) as usize))
}

/// The columns asked for of the row with this key.
fn by_key(
    transaction: &Transaction,
    layout: &Arc<RelationLayout>,
    id: i64,
    columns: Projection,
) -> Vec<Vec<Value>> {
    let scan_columns = columns.clone();
    let view = transaction.view().expect("view");
    let (range, direction) = (KeyRange::equal(vec![Value::integer(id)]), ScanDirection::Ascending);
    let mut scan =
        IndexScan::new(Arc::clone(layout), PRIMARY, range, direction, view, columns).expect("a scan");
    let (mut batch, mut rows) = (RowBatch::new(), Vec::new());
    while scan.next_batch(transaction, 10, &mut batch).expect("scan") {
        rows.extend((0..batch.len()).map(|index| batch.take_row(index)));
    }
    assert!(scan.is_finished());
    assert_eq!(looked_up(transaction, layout, id, scan_columns), rows);
    rows
}

/// The same by a look-up, which was used for another row before.
fn looked_up(
    transaction: &Transaction,
    layout: &Arc<RelationLayout>,
    id: i64,
    columns: Projection,
) -> Vec<Vec<Value>> {
    let view = transaction.view().expect("view");
    let mut lookup = KeyLookup::new(Arc::clone(layout), PRIMARY, columns).expect("a look-up");
    let mut values = Vec::new();
    lookup.find(transaction, &view, &[Value::integer(id / 2)], &mut values).expect("find");
    values.clear();
    let found = lookup.find(transaction, &view, &[Value::integer(id)], &mut values).expect("find");
    assert_eq!(found.is_some(), !values.is_empty());
    found.map(|_| values).into_iter().collect()
}

#[test]
fn single_rows_are_the_same_under_every_codec() {
    let layout = layout();
    for codec in CodecId::all() {
        let store = memory_store();
        store.set_codec(Some(codec));
        store.register_layout(Arc::clone(&layout));
        let transaction = begin(&store, SNAPSHOT);
        let numbers: Vec<_> = (0..ROWS).map(|id| insert(&transaction, &layout, id, &name(id, 1))).collect();
        transaction.commit().expect("commit");
        let writer = begin(&store, SNAPSHOT);
        for id in (0..ROWS).step_by(97) {
            rename(&writer, &layout, id, &name(id, 2)).expect("update");
        }
        writer.commit().expect("commit");

        let reader = begin(&store, SNAPSHOT);
        let view = reader.view().expect("view");
        for step in [7, 1_009] {
            for place in 0..ROWS {
                let id = place * step % ROWS;
                let generation = if id % 97 == 0 { 2 } else { 1 };
                let expected = row(id, &name(id, generation));
                let number = numbers[usize::try_from(id).expect("a place")];
                let read = reader.read_row(&layout, &view, number, &Projection::all()).expect("read");
                assert_eq!(read.as_ref(), Some(&expected), "{codec}");
                if place % 30 == 0 {
                    assert_eq!(
                        by_key(&reader, &layout, id, Projection::all()),
                        std::slice::from_ref(&expected)
                    );
                    assert_eq!(by_key(&reader, &layout, id, Projection::of([1])), [[expected[1].clone()]]);
                    assert_eq!(
                        by_key(&reader, &layout, id, Projection::of([1, 0])),
                        [[expected[1].clone(), expected[0].clone()]]
                    );
                }
            }
        }
        assert!(by_key(&reader, &layout, ROWS, Projection::all()).is_empty());
    }
}
