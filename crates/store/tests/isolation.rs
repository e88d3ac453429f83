//! What transactions see of each other, as scripted interleavings.

mod common;

use std::sync::Arc;

use common::*;
use farbird_store::{
    Access, AmpleRoom, Isolation, KeyRange, LockLevel, ScanDirection, StoreError, TransactionOptions,
};

fn store_with(names: &[&str]) -> (farbird_store::Store, Arc<farbird_store::RelationLayout>) {
    let store = memory_store();
    let layout = layout();
    let transaction = begin(&store, SNAPSHOT);
    for (id, name) in names.iter().enumerate() {
        insert(&transaction, &layout, id as i64 + 1, name);
    }
    transaction.commit().expect("commit");
    (store, layout)
}

#[test]
fn uncommitted_rows_are_seen_by_nobody_else() {
    let (store, layout) = store_with(&["a"]);
    let writer = begin(&store, SNAPSHOT);
    insert(&writer, &layout, 2, "b");
    rename(&writer, &layout, 1, "changed").expect("update");
    for options in [SNAPSHOT, READ_COMMITTED] {
        assert_eq!(names(&begin(&store, options), &layout), ["a"]);
    }
    assert_eq!(names(&writer, &layout), ["changed", "b"]);
    writer.rollback().expect("rollback");
    assert_eq!(names(&begin(&store, SNAPSHOT), &layout), ["a"]);
}

#[test]
fn a_snapshot_sees_the_same_rows_until_it_ends() {
    let (store, layout) = store_with(&["a", "b"]);
    let reader = begin(&store, SNAPSHOT);
    let committed = begin(&store, READ_COMMITTED);
    assert_eq!(names(&reader, &layout), ["a", "b"]);
    let writer = begin(&store, SNAPSHOT);
    insert(&writer, &layout, 3, "phantom");
    rename(&writer, &layout, 1, "changed").expect("update");
    delete(&writer, &layout, 2).expect("delete");
    writer.commit().expect("commit");
    assert_eq!(names(&reader, &layout), ["a", "b"]);
    assert_eq!(names(&committed, &layout), ["changed", "phantom"]);
}

#[test]
fn a_read_committed_view_stands_still_while_its_statement_runs() {
    let (store, layout) = store_with(&["a"]);
    let reader = begin(&store, READ_COMMITTED);
    let view = reader.view().expect("view");
    let writer = begin(&store, SNAPSHOT);
    rename(&writer, &layout, 1, "changed").expect("update");
    writer.commit().expect("commit");
    assert_eq!(rows_in(&reader, &layout, &view), [(1, "a".to_owned())]);
    assert_eq!(names(&reader, &layout), ["changed"]);
}

#[test]
fn a_statement_does_not_see_the_rows_that_it_writes() {
    let (store, layout) = store_with(&["a", "b"]);
    let transaction = begin(&store, SNAPSHOT);
    insert(&transaction, &layout, 3, "before");
    let view = transaction.view().expect("view");
    let seen = rows_in(&transaction, &layout, &view);
    for (id, name) in &seen {
        insert(&transaction, &layout, id + 10, name);
        let row = find(&transaction, &layout, &view, *id).expect("row");
        transaction.update(&layout, &view, row, &mut row_of(*id)).expect("update");
    }
    assert_eq!(seen.len(), 3);
    assert_eq!(rows_in(&transaction, &layout, &view), seen);
    assert_eq!(rows(&transaction, &layout).len(), 6);
}

fn row_of(id: i64) -> Vec<farbird_types::Value> {
    row(id, "renamed")
}

#[test]
fn a_lost_update_is_a_conflict() {
    let (store, layout) = store_with(&["a"]);
    let late = begin(&store, SNAPSHOT);
    let late_committed = begin(&store, READ_COMMITTED);
    let old_view = late_committed.view().expect("view");
    let first = begin(&store, SNAPSHOT);
    let first_id = first.id();
    rename(&first, &layout, 1, "first").expect("update");
    let refused = rename(&late, &layout, 1, "second").expect_err("locked");
    assert!(matches!(refused, StoreError::LockConflict { holder, relation: None } if holder == first_id));
    first.commit().expect("commit");
    let refused = rename(&late, &layout, 1, "second").expect_err("newer");
    assert!(matches!(refused, StoreError::UpdateConflict { newer, .. } if newer == first_id), "{refused}");
    let row_id = find(&late_committed, &layout, &old_view, 1).expect("row");
    let refused =
        late_committed.update(&layout, &old_view, row_id, &mut row(1, "second")).expect_err("newer");
    assert!(matches!(refused, StoreError::StatementRestart { .. }));
    let third =
        rename(&begin(&store, SNAPSHOT), &layout, 1, "third").expect_err("kept for the statement's next run");
    assert!(matches!(third, StoreError::LockConflict { .. }), "{third}");
    rename(&late_committed, &layout, 1, "second").expect("under a new view");
    late_committed.commit().expect("commit");
    assert_eq!(names(&begin(&store, SNAPSHOT), &layout), ["second"]);
}

#[test]
fn deleting_a_row_that_somebody_changed_is_a_conflict_too() {
    let (store, layout) = store_with(&["a", "b"]);
    let late = begin(&store, SNAPSHOT);
    let first = begin(&store, SNAPSHOT);
    delete(&first, &layout, 1).expect("delete");
    rename(&first, &layout, 2, "c").expect("update");
    first.commit().expect("commit");
    for id in [1, 2] {
        let refused = delete(&late, &layout, id).expect_err("newer");
        assert!(matches!(refused, StoreError::UpdateConflict { .. }));
    }
    let status: farbird_types::Error = delete(&late, &layout, 1).expect_err("newer").into();
    assert_eq!(status.gds_code(), farbird_types::isc::DEADLOCK);
    assert!(status.has(farbird_types::isc::UPDATE_CONFLICT));
}

#[test]
fn write_skew_is_possible_under_snapshot_and_not_under_table_stability() {
    let (store, layout) = store_with(&["on", "on"]);
    let (first, second) = (begin(&store, SNAPSHOT), begin(&store, SNAPSHOT));
    assert_eq!(names(&first, &layout), names(&second, &layout));
    rename(&first, &layout, 1, "off").expect("update");
    rename(&second, &layout, 2, "off").expect("update");
    first.commit().expect("commit");
    second.commit().expect("commit");
    assert_eq!(names(&begin(&store, SNAPSHOT), &layout), ["off", "off"]);

    let stable = TransactionOptions { isolation: Isolation::TableStability, ..SNAPSHOT };
    let (first, second) = (begin(&store, stable), begin(&store, stable));
    for transaction in [&first, &second] {
        transaction.lock_relation(layout.id, LockLevel::ProtectedRead).expect("both may read");
    }
    let refused = rename(&first, &layout, 1, "on").expect_err("the other reads");
    assert!(
        matches!(refused, StoreError::LockConflict { relation: Some(relation), .. } if relation == layout.id)
    );
    let status: farbird_types::Error = refused.into();
    assert_eq!(status.gds_code(), farbird_types::isc::LOCK_CONFLICT);
}

#[test]
fn a_read_only_transaction_does_not_write() {
    let (store, layout) = store_with(&["a"]);
    let reader = begin(&store, TransactionOptions { access: Access::ReadOnly, ..SNAPSHOT });
    assert!(matches!(reader.insert(&layout, &mut row(2, "b")), Err(StoreError::ReadOnly)));
    assert!(matches!(rename(&reader, &layout, 1, "b"), Err(StoreError::ReadOnly)));
    assert!(matches!(reader.catalog_put(b"k", b"v"), Err(StoreError::ReadOnly)));
}

#[test]
fn savepoints_undo_what_came_after_them() {
    let (store, layout) = store_with(&["a", "b"]);
    let transaction = begin(&store, SNAPSHOT);
    insert(&transaction, &layout, 3, "c");
    let outer = transaction.savepoint();
    rename(&transaction, &layout, 1, "x").expect("update");
    transaction.catalog_put(b"key", b"outer").expect("put");
    let inner = transaction.savepoint();
    rename(&transaction, &layout, 1, "y").expect("update");
    delete(&transaction, &layout, 2).expect("delete");
    insert(&transaction, &layout, 4, "d");
    transaction.catalog_put(b"key", b"inner").expect("put");
    assert_eq!(names(&transaction, &layout), ["y", "c", "d"]);
    transaction.rollback_to(inner).expect("rollback");
    assert_eq!(names(&transaction, &layout), ["x", "b", "c"]);
    assert_eq!(transaction.catalog_get(b"key").expect("get").as_deref(), Some(&b"outer"[..]));
    let again = transaction.savepoint();
    insert(&transaction, &layout, 4, "d");
    transaction.release(again);
    transaction.rollback_to(outer).expect("rollback");
    assert_eq!(names(&transaction, &layout), ["a", "b", "c"]);
    assert_eq!(transaction.catalog_get(b"key").expect("get"), None);
    // Keys of undone rows are free again, for this transaction and for others.
    insert(&transaction, &layout, 4, "again");
    transaction.commit().expect("commit");
    assert_eq!(names(&begin(&store, SNAPSHOT), &layout), ["a", "b", "c", "again"]);
}

#[test]
fn a_row_changed_many_times_keeps_what_views_and_savepoints_need() {
    let (store, layout) = store_with(&["0"]);
    let transaction = begin(&store, SNAPSHOT);
    let mut views = Vec::new();
    let savepoint = transaction.savepoint();
    for round in 1..=20 {
        let statement = transaction.savepoint();
        rename(&transaction, &layout, 1, &round.to_string()).expect("update");
        transaction.release(statement);
        if round % 5 == 0 {
            views.push((round, transaction.view().expect("view")));
        }
    }
    for (round, view) in &views {
        assert_eq!(rows_in(&transaction, &layout, view), [(1, round.to_string())]);
    }
    transaction.rollback_to(savepoint).expect("rollback");
    assert_eq!(names(&transaction, &layout), ["0"]);
}

#[test]
fn retaining_keeps_the_snapshot_and_ones_own_changes() {
    let (store, layout) = store_with(&["a"]);
    let transaction = begin(&store, SNAPSHOT);
    let before = transaction.id();
    insert(&transaction, &layout, 2, "mine");
    let other = begin(&store, SNAPSHOT);
    insert(&other, &layout, 3, "theirs");
    other.commit().expect("commit");
    transaction.commit_retaining().expect("commit");
    assert!(transaction.id() > before);
    assert_eq!(names(&transaction, &layout), ["a", "mine"]);
    rename(&transaction, &layout, 2, "mine again").expect("own commits are no conflict");
    transaction.rollback_retaining().expect("rollback");
    assert_eq!(names(&transaction, &layout), ["a", "mine"]);
    rename(&transaction, &layout, 2, "last").expect("update");
    transaction.commit().expect("commit");
    assert_eq!(names(&begin(&store, SNAPSHOT), &layout), ["a", "last", "theirs"]);
}

#[test]
fn a_snapshot_can_be_shared() {
    let (store, layout) = store_with(&["a"]);
    let first = begin(&store, SNAPSHOT);
    let writer = begin(&store, SNAPSHOT);
    insert(&writer, &layout, 2, "b");
    writer.commit().expect("commit");
    let shared = TransactionOptions { snapshot_at: Some(first.snapshot()), ..SNAPSHOT };
    assert_eq!(names(&begin(&store, shared), &layout), ["a"]);
    let unknown = TransactionOptions { snapshot_at: Some(farbird_store::CommitNumber(1_000)), ..SNAPSHOT };
    let refused = store.begin(unknown, farbird_store::CancelFlag::new()).expect_err("future");
    assert!(matches!(refused, StoreError::NoSuchSnapshot { .. }));
}

#[test]
fn rows_in_a_layout_that_others_have_changed_are_refused() {
    let store = memory_store();
    let before = layout_with(vec![column_index(PRIMARY, 0, true, false)]);
    let after = layout();
    store.register_layout(Arc::clone(&before));
    let first = begin(&store, SNAPSHOT);
    insert(&first, &before, 1, "a");
    first.commit().expect("commit");

    let writer = begin(&store, SNAPSHOT);
    let definer = begin(&store, SNAPSHOT);
    for index in [NAME, NAME_DESCENDING] {
        definer.build_index(&after, index, &AmpleRoom).expect("an index");
    }
    // Its own rows are in its own layout.
    definer.note_own_layout(after.id).expect("noted");
    insert(&definer, &after, 2, "b");
    let publish = (store.clone(), Arc::clone(&after));
    definer.commit_with(move |_| publish.0.register_layout(publish.1)).expect("commit");

    for _ in 0..2 {
        let refused = writer.insert(&before, &mut row(3, "c")).expect_err("an old layout");
        assert!(matches!(refused, StoreError::LayoutChanged { relation } if relation == before.id));
    }
    let refused = rename(&writer, &before, 1, "x").expect_err("an old layout");
    assert!(matches!(refused, StoreError::LayoutChanged { .. }));
    insert(&writer, &after, 3, "c");
    rename(&writer, &after, 1, "x").expect("update");
    writer.commit().expect("commit");
    let reader = begin(&store, SNAPSHOT);
    let by_name = by_index(&reader, &after, NAME, KeyRange::all(), ScanDirection::Ascending);
    assert_eq!(by_name.into_iter().map(|(id, _)| id).collect::<Vec<_>>(), [2, 3, 1]);

    let late = begin(&store, SNAPSHOT);
    store.unregister_layout(after.id);
    let refused = late.insert(&after, &mut row(4, "d")).expect_err("a dropped relation");
    assert!(matches!(refused, StoreError::LayoutChanged { .. }));
}
