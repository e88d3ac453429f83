//! Whatever goes through many rows, entries or bytes looks at the cancel flag; what ends a transaction does not.

mod common;

use common::*;
use farbird_store::{
    AmpleRoom, BlobOptions, CancelFlag, ColumnBatch, IndexScan, KeyRange, Projection, RelationScan, Result,
    RowBatch, ScanDirection, StoreError, Transaction,
};
use farbird_types::Value;

/// A transaction with rows of its own, committed ones, deleted ones, and a BLOB; its flag.
fn transaction() -> (Transaction, std::sync::Arc<CancelFlag>, farbird_types::BlobId) {
    let store = memory_store();
    let layout = layout();
    let writer = begin(&store, SNAPSHOT);
    for (id, name) in ["alpha", "bravo", "charlie", "delta"].iter().enumerate() {
        insert(&writer, &layout, id as i64, name);
    }
    writer.commit().expect("commit");
    let flag = CancelFlag::new();
    let transaction = store.begin(SNAPSHOT, flag.clone()).expect("begin");
    insert(&transaction, &layout, 10, "echo");
    let mut writer = transaction.create_blob(BlobOptions::default()).expect("a BLOB");
    writer.write_segment(&transaction, b"contents").expect("a segment");
    let blob = writer.close(&transaction).expect("close");
    (transaction, flag, blob)
}

type Loop = (&'static str, fn(&Transaction, farbird_types::BlobId) -> Result<()>);

const LOOPS: &[Loop] = &[
    ("counting rows", |transaction, _| transaction.count_rows(&layout(), &transaction.view()?).map(|_| ())),
    ("scanning rows", |transaction, _| {
        let mut scan = RelationScan::new(layout(), transaction.view()?, Projection::all());
        scan.next_batch(transaction, 10, &mut RowBatch::new()).map(|_| ())
    }),
    ("scanning columns", |transaction, _| {
        let mut scan = RelationScan::new(layout(), transaction.view()?, Projection::all());
        scan.next_columns(transaction, 10, &mut ColumnBatch::new()).map(|_| ())
    }),
    ("scanning an index", |transaction, _| {
        let direction = ScanDirection::Ascending;
        let mut scan = IndexScan::new(
            layout(),
            NAME,
            KeyRange::all(),
            direction,
            transaction.view()?,
            Projection::all(),
        )?;
        scan.next_batch(transaction, 10, &mut RowBatch::new()).map(|_| ())
    }),
    ("looking for a key", |transaction, _| {
        transaction.key_exists(&layout(), NAME, &[Value::text("alpha")], None).map(|_| ())
    }),
    ("building an index", |transaction, _| transaction.build_index(&layout(), NAME, &AmpleRoom)),
    ("dropping a relation", |transaction, _| transaction.drop_relation(&layout())),
    ("reading a BLOB", |transaction, blob| {
        transaction.open_blob(blob)?.read_all(transaction, 1000).map(|_| ())
    }),
];

#[test]
fn every_loop_stops_when_it_is_cancelled() {
    for (name, run) in LOOPS {
        let (transaction, flag, blob) = transaction();
        flag.cancel();
        assert!(matches!(run(&transaction, blob), Err(StoreError::Cancelled)), "{name}");
        flag.reset();
        run(&transaction, blob).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(rows_of(&transaction).len(), 5, "{name}");
    }
}

/// The rows that a transaction sees.
fn rows_of(transaction: &Transaction) -> Vec<(i64, String)> {
    by_index(transaction, &layout(), NAME, KeyRange::all(), ScanDirection::Ascending)
}

#[test]
fn what_ends_a_transaction_is_not_cancelled() {
    let (transaction, flag, _) = transaction();
    let savepoint = transaction.savepoint();
    flag.cancel();
    transaction.rollback_to(savepoint).expect("an undo");
    transaction.commit().expect("a commit");
    let (transaction, flag, _) = self::transaction();
    flag.cancel();
    transaction.rollback().expect("a rollback");
}
