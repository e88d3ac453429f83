//! Rows of temporary relations: only their session, or transaction, sees them, and nothing is left of them behind its end.

mod common;

use std::sync::Arc;

use common::*;
use farbird_store::substrate::MemorySubstrate;
use farbird_store::{
    Access, BlobOptions, CancelFlag, KeyRange, RelationLayout, ScanDirection, SessionRelations, Store,
    StoreError, StoreOptions, TemporaryRows, Transaction, TransactionOptions,
};
use farbird_types::Value;

fn temporary(rows: TemporaryRows) -> Arc<RelationLayout> {
    Arc::new(RelationLayout { temporary: Some(rows), ..RelationLayout::clone(&layout()) })
}

fn of_session(store: &Store, session: &Arc<SessionRelations>) -> Transaction {
    begin(store, SNAPSHOT).of_session(Arc::clone(session))
}

fn insert_with_blob(transaction: &Transaction, layout: &RelationLayout, id: i64) {
    let mut writer = transaction.create_blob(BlobOptions::default()).expect("a BLOB");
    writer.write_segment(transaction, &[7; 5_000]).expect("a segment");
    let blob = writer.close(transaction).expect("a BLOB");
    let mut row = vec![Value::integer(id), Value::text("with a BLOB"), Value::Blob(blob)];
    transaction.insert(layout, &mut row).expect("insert");
}

/// Nothing is in the file that no relation of the catalog has; there is one without rows.
fn assert_nothing_left(store: &Store) {
    while store.sweep(100).expect("sweep") > 0 {}
    let report = store.check(&[layout()], &mut |_| (), &CancelFlag::new()).expect("check");
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(
        (report.rows, report.entries, report.blobs, report.orphan_blobs, report.unknown_bytes),
        (0, 0, 0, 0, 0),
        "{report:?}"
    );
}

#[test]
fn rows_of_a_session_are_its_own_and_last_as_long_as_it() {
    let store = memory_store();
    store.register_layout(layout());
    let layout = temporary(TemporaryRows::UntilSessionEnds);
    let (mine, others) = (Arc::new(SessionRelations::new(&store)), Arc::new(SessionRelations::new(&store)));
    let writer = of_session(&store, &mine);
    insert(&writer, &layout, 1, "mine");
    insert_with_blob(&writer, &layout, 2);
    assert_eq!(names(&writer, &layout), ["mine", "with a BLOB"]);
    let other = of_session(&store, &others);
    assert!(names(&other, &layout).is_empty());
    // The same key: nobody waits, nothing collides.
    insert(&other, &layout, 1, "another's");
    assert!(writer.is_kept_by_others(layout.id) && writer.keeps(layout.id));
    writer.commit().expect("commit");
    other.commit().expect("commit");

    let again = of_session(&store, &mine);
    let refused = again.insert(&layout, &mut row(1, "twice")).expect_err("a key that is there");
    assert!(matches!(refused, StoreError::UniqueViolation { index: PRIMARY, .. }), "{refused:?}");
    rename(&again, &layout, 1, "renamed").expect("update");
    delete(&again, &layout, 2).expect("delete");
    assert_eq!(names(&again, &layout), ["renamed"]);
    let found = by_index(&again, &layout, NAME, KeyRange::all(), ScanDirection::Ascending);
    assert_eq!(found, [(1, "renamed".to_owned())]);
    again.rollback().expect("rollback");
    assert_eq!(names(&of_session(&store, &mine), &layout), ["mine", "with a BLOB"]);
    drop(mine);
    assert_eq!(names(&of_session(&store, &others), &layout), ["another's"]);
    drop(others);
    assert_nothing_left(&store);
}

#[test]
fn rows_of_a_transaction_go_with_it_and_are_never_written() {
    let store = memory_store();
    store.register_layout(layout());
    let layout = temporary(TemporaryRows::UntilTransactionEnds);
    let session = Arc::new(SessionRelations::new(&store));
    let before = store.last_commit();
    let transaction = of_session(&store, &session);
    insert(&transaction, &layout, 1, "one");
    let savepoint = transaction.savepoint();
    insert_with_blob(&transaction, &layout, 2);
    rename(&transaction, &layout, 1, "changed").expect("update");
    transaction.rollback_to(savepoint).expect("rollback");
    insert_with_blob(&transaction, &layout, 3);
    // Another one of the same session has rows of its own, with the same keys.
    let beside = of_session(&store, &session);
    insert(&beside, &layout, 1, "beside");
    assert_eq!(names(&transaction, &layout), ["one", "with a BLOB"]);
    assert_eq!(names(&beside, &layout), ["beside"]);
    transaction.commit().expect("commit");
    assert_eq!(store.last_commit(), before, "nothing to write");
    assert_eq!(names(&beside, &layout), ["beside"]);
    beside.rollback().expect("rollback");
    assert!(names(&of_session(&store, &session), &layout).is_empty());
    assert_nothing_left(&store);
}

#[test]
fn commit_retain_keeps_a_transactions_rows_and_rollback_retain_goes_back_to_it() {
    let store = memory_store();
    store.register_layout(layout());
    let layout = temporary(TemporaryRows::UntilTransactionEnds);
    let transaction = begin(&store, SNAPSHOT);
    insert_with_blob(&transaction, &layout, 1);
    transaction.commit_retaining().expect("commit");
    insert(&transaction, &layout, 2, "later");
    assert_eq!(names(&transaction, &layout), ["with a BLOB", "later"]);
    transaction.rollback_retaining().expect("rollback");
    assert_eq!(names(&transaction, &layout), ["with a BLOB"]);
    transaction.commit().expect("commit");
    assert!(names(&begin(&store, SNAPSHOT), &layout).is_empty());
    assert_nothing_left(&store);
}

#[test]
fn who_may_only_read_may_write_temporary_rows() {
    let store = memory_store();
    store.register_layout(layout());
    let options = TransactionOptions { access: Access::ReadOnly, ..SNAPSHOT };
    for kind in [TemporaryRows::UntilTransactionEnds, TemporaryRows::UntilSessionEnds] {
        let layout = temporary(kind);
        let session = Arc::new(SessionRelations::new(&store));
        let reader = begin(&store, options).of_session(Arc::clone(&session));
        insert(&reader, &layout, 1, "one");
        assert_eq!(names(&reader, &layout), ["one"]);
        reader.commit().expect("commit");
        let kept = names(&of_session(&store, &session), &layout).len();
        assert_eq!(kept, usize::from(kind == TemporaryRows::UntilSessionEnds));
    }
    assert_nothing_left(&store);
}

/// Larger than memory, and ended in each way that a transaction ends.
#[test]
fn spilled_rows_go_too() {
    let small = StoreOptions { write_set_bytes_max: 20_000, ..options() };
    for kind in [TemporaryRows::UntilTransactionEnds, TemporaryRows::UntilSessionEnds] {
        for is_committed in [true, false] {
            let store = Store::in_memory(small.clone()).expect("open");
            store.register_layout(layout());
            let layout = temporary(kind);
            let session = Arc::new(SessionRelations::new(&store));
            let transaction = of_session(&store, &session);
            for id in 0..3_000 {
                insert(&transaction, &layout, id, "a name that takes some room");
            }
            delete(&transaction, &layout, 17).expect("delete");
            assert_eq!(names(&transaction, &layout).len(), 2_999);
            if is_committed {
                transaction.commit().expect("commit");
            } else {
                transaction.rollback().expect("rollback");
            }
            let is_kept = is_committed && kind == TemporaryRows::UntilSessionEnds;
            let kept = names(&of_session(&store, &session), &layout).len();
            assert_eq!(kept, if is_kept { 2_999 } else { 0 });
            drop(session);
            assert_nothing_left(&store);
        }
    }
}

#[test]
fn a_crash_leaves_nothing() {
    let substrate = Arc::new(MemorySubstrate::new());
    let on = |substrate: &Arc<MemorySubstrate>| {
        let small = StoreOptions { write_set_bytes_max: 20_000, ..options() };
        let store = Store::on_substrate(Arc::clone(substrate) as Arc<_>, small).expect("open");
        store.register_layout(layout());
        store
    };
    let store = on(&substrate);
    let session = Arc::new(SessionRelations::new(&store));
    let (kept, short) =
        (temporary(TemporaryRows::UntilSessionEnds), temporary(TemporaryRows::UntilTransactionEnds));
    let transaction = of_session(&store, &session);
    insert_with_blob(&transaction, &kept, 1);
    transaction.commit().expect("commit");
    let transaction = of_session(&store, &session);
    insert_with_blob(&transaction, &short, 1);
    transaction.commit_retaining().expect("commit");
    for id in 2..1_000 {
        insert(&transaction, &short, id, "a name that takes some room");
    }
    let crashed = Arc::new(substrate.after_crash());
    let store = on(&crashed);
    let session = Arc::new(SessionRelations::new(&store));
    let transaction = of_session(&store, &session);
    assert!(names(&transaction, &kept).is_empty());
    // Its instance has another number than those that the sweep has yet to remove.
    insert(&transaction, &kept, 1, "new");
    transaction.commit().expect("commit");
    while store.sweep(100).expect("sweep") > 0 {}
    assert_eq!(names(&of_session(&store, &session), &kept), ["new"]);
    drop(session);
    assert_nothing_left(&store);
}

#[test]
fn an_instance_follows_new_columns_and_refuses_an_index_that_it_lacks() {
    let store = memory_store();
    store.register_layout(layout());
    let session = Arc::new(SessionRelations::new(&store));
    let first = temporary(TemporaryRows::UntilSessionEnds);
    let without = RelationLayout {
        indexes: first.indexes.iter().filter(|index| index.id != NAME).cloned().collect(),
        ..RelationLayout::clone(&first)
    };
    let transaction = of_session(&store, &session);
    insert(&transaction, &without, 1, "one");
    assert!(matches!(
        transaction.insert(&first, &mut row(2, "two")),
        Err(StoreError::LayoutChanged { relation }) if relation == first.id
    ));
    let without = Arc::new(RelationLayout {
        indexes: without.indexes.iter().filter(|index| index.id == PRIMARY).cloned().collect(),
        ..without
    });
    insert(&transaction, &without, 2, "two");
    assert_eq!(names(&transaction, &without), ["one", "two"]);
}
