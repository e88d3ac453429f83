//! Rows of temporary relations: only their session, or transaction, sees them, and nothing is left of them behind its end.

mod common;

use std::sync::Arc;

use common::*;
use farbird_record::RecordFormat;
use farbird_store::substrate::MemorySubstrate;
use farbird_store::{
    Access, BlobOptions, CancelFlag, IndexId, KeyRange, LockLevel, Projection, RelationId, RelationLayout,
    RelationScan, RowBatch, ScanDirection, SessionRelations, Store, StoreError, StoreOptions, TemporaryRows,
    Transaction, TransactionOptions,
};
use farbird_types::{CharacterSet, SqlType, Value};

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
    let report =
        store.check(&[layout()], &farbird_store::AmpleRoom, &mut |_| (), &CancelFlag::new()).expect("check");
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
    // Beside a session that lasts nothing is amiss, and a sweep that has come to rest wakes when it ends.
    while store.sweep(100).expect("sweep") > 0 {}
    let report = store
        .check(&[common::layout()], &farbird_store::AmpleRoom, &mut |_| (), &CancelFlag::new())
        .expect("check");
    assert_eq!((report.orphan_blobs, report.unknown_bytes), (0, 0), "{report:?}");
    drop(mine);
    assert_eq!(names(&of_session(&store, &others), &layout), ["another's"]);
    drop(others);
    assert_nothing_left(&store);
}

#[test]
fn rows_of_a_transaction_go_with_it_and_are_never_written() {
    let store = memory_store();
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

/// A BLOB that a refused or undone row was to have is nobody's again, whoever takes it then.
#[test]
fn a_row_keeps_the_blob_that_a_temporary_row_did_not_get() {
    for kind in [TemporaryRows::UntilTransactionEnds, TemporaryRows::UntilSessionEnds] {
        for is_refused in [true, false] {
            let store = memory_store();
            let lasting =
                Arc::new(RelationLayout { id: RelationId(129), ..RelationLayout::clone(&layout()) });
            let lasting = Arc::new(RelationLayout { indexes: Vec::new(), ..RelationLayout::clone(&lasting) });
            store.register_layout(Arc::clone(&lasting));
            let layout = temporary(kind);
            let session = Arc::new(SessionRelations::new(&store));
            let transaction = of_session(&store, &session);
            insert(&transaction, &layout, 1, "there");
            let mut writer = transaction.create_blob(BlobOptions::default()).expect("a BLOB");
            writer.write_segment(&transaction, b"kept").expect("a segment");
            let blob = writer.close(&transaction).expect("a BLOB");
            let row = |id| vec![Value::integer(id), Value::text("x"), Value::Blob(blob)];
            if is_refused {
                transaction.insert(&layout, &mut row(1)).expect_err("a key that is there");
            } else {
                let savepoint = transaction.savepoint();
                transaction.insert(&layout, &mut row(2)).expect("insert");
                transaction.rollback_to(savepoint).expect("rollback");
            }
            transaction.insert(&lasting, &mut row(1)).expect("insert");
            transaction.commit().expect("commit");
            drop(session);
            while store.sweep(100).expect("sweep") > 0 {}
            let report = store
                .check(&[lasting], &farbird_store::AmpleRoom, &mut |_| (), &CancelFlag::new())
                .expect("check");
            assert!(report.is_sound(), "{report:?}");
            assert_eq!((report.blobs, report.orphan_blobs, report.unknown_bytes), (1, 0, 0), "{report:?}");
            let reader = begin(&store, SNAPSHOT);
            let mut contents = Vec::new();
            reader.open_blob(blob).expect("open").read_segment(&reader, 10, &mut contents).expect("read");
            assert_eq!(contents, b"kept");
        }
    }
}

/// Larger than memory, and ended in each way that a transaction ends.
#[test]
fn spilled_rows_go_too() {
    let small = StoreOptions { write_set_bytes_max: 20_000, ..options() };
    for kind in [TemporaryRows::UntilTransactionEnds, TemporaryRows::UntilSessionEnds] {
        for is_committed in [true, false] {
            let store = Store::in_memory(small.clone()).expect("open");
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
        Store::on_substrate(Arc::clone(substrate) as Arc<_>, small).expect("open")
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

/// Definitions that some transactions see and others do not, and that are taken back.
#[test]
fn an_instance_follows_the_definition_that_each_transaction_sees() {
    let store = memory_store();
    let session = Arc::new(SessionRelations::new(&store));
    let first = temporary(TemporaryRows::UntilSessionEnds);
    let without = |layout: &RelationLayout, gone: IndexId| {
        let indexes = layout.indexes.iter().filter(|index| index.id != gone).cloned().collect();
        Arc::new(RelationLayout { indexes, ..layout.clone() })
    };
    let wider = |column: SqlType, default: Value| {
        let mut columns = first.formats[0].columns().to_vec();
        columns.push(column);
        Arc::new(RelationLayout {
            formats: vec![first.formats[0].clone(), RecordFormat::new(columns)],
            current: 1,
            added_defaults: vec![Value::Null, Value::Null, Value::Null, default],
            ..RelationLayout::clone(&first)
        })
    };
    let transaction = of_session(&store, &session);
    insert(&transaction, &without(&first, NAME), 1, "one");
    // An index that the instance was not begun with.
    assert!(matches!(
        transaction.insert(&first, &mut row(2, "two")),
        Err(StoreError::LayoutChanged { relation }) if relation == first.id
    ));
    // An index dropped, and not after all.
    insert(&transaction, &without(&without(&first, NAME), NAME_DESCENDING), 2, "two");
    insert(&transaction, &without(&first, NAME), 3, "three");
    assert_eq!(names(&transaction, &without(&first, NAME)), ["one", "two", "three"]);
    transaction.commit().expect("commit");
    // A column added and taken back, then another one: rows have what the definition of the moment says.
    let first = without(&first, NAME);
    let read = |layout: &Arc<RelationLayout>| {
        let transaction = of_session(&store, &session);
        let view = transaction.view().expect("view");
        let mut scan = RelationScan::new(Arc::clone(layout), view, Projection::all());
        let mut batch = RowBatch::new();
        assert!(scan.next_batch(&transaction, 1, &mut batch).expect("scan"));
        batch.take_row(0)
    };
    let number = without(&wider(SqlType::BIGINT, Value::integer(7)), NAME);
    let text = without(&wider(SqlType::varchar(5, CharacterSet::UTF8), Value::text("x")), NAME);
    assert_eq!(read(&number).last(), Some(&Value::integer(7)));
    assert_eq!(read(&first).len(), 3);
    assert_eq!(read(&text).last(), Some(&Value::text("x")));
    drop(session);
    assert_nothing_left(&store);
}

#[test]
fn nobody_begins_an_instance_while_an_index_is_added() {
    let store = memory_store();
    let layout = temporary(TemporaryRows::UntilSessionEnds);
    store.register_layout(Arc::clone(&layout));
    let changing = begin(&store, SNAPSHOT);
    changing.lock_relation(layout.id, LockLevel::ProtectedWrite).expect("lock");
    let session = Arc::new(SessionRelations::new(&store));
    let writer = of_session(&store, &session);
    assert!(matches!(writer.insert(&layout, &mut row(1, "one")), Err(StoreError::LockConflict { .. })));
    changing.rollback().expect("rollback");
    insert(&writer, &layout, 1, "one");
    drop((writer, session));
    assert_nothing_left(&store);
}

#[test]
fn a_transaction_knows_how_many_rows_it_and_its_session_keep() {
    let store = memory_store();
    let layout = temporary(TemporaryRows::UntilSessionEnds);
    let session = Arc::new(SessionRelations::new(&store));
    let writer = of_session(&store, &session);
    assert_eq!(writer.relation_statistics(layout.id).rows, 0);
    for id in 0..50 {
        insert(&writer, &layout, id, "mine");
    }
    assert_eq!(writer.relation_statistics(layout.id).rows, 50);
    assert_eq!(store.relation_statistics(layout.id).rows, 0);
    writer.commit().expect("commit");
    let known = of_session(&store, &session).relation_statistics(layout.id);
    assert_eq!(known.rows, 50);
    // By the catalog's numbers of the indexes.
    assert!(known.index(PRIMARY).is_some(), "{known:?}");
    let others = Arc::new(SessionRelations::new(&store));
    assert_eq!(of_session(&store, &others).relation_statistics(layout.id).rows, 0);
}
