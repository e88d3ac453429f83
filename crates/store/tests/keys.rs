//! Indexes: order, ranges, unique and foreign keys, also between transactions.

mod common;

use std::sync::Arc;

use common::*;
use farbird_store::{
    AmpleRoom, CancelFlag, IndexId, KeyBound, KeyRange, KeySource, ScanDirection, StoreError,
    TransactionOptions, Wait,
};
use farbird_types::{Text, Value};

use ScanDirection::{Ascending, Descending};

fn names_by(
    transaction: &farbird_store::Transaction,
    layout: &Arc<farbird_store::RelationLayout>,
    index: IndexId,
    range: KeyRange,
    direction: ScanDirection,
) -> Vec<String> {
    by_index(transaction, layout, index, range, direction).into_iter().map(|(_, name)| name).collect()
}

fn between(lower: KeyBound, upper: KeyBound) -> KeyRange {
    KeyRange { lower, upper, starting_with: None }
}

#[test]
fn ranges_come_in_order_both_ways_from_both_kinds_of_index() {
    let store = memory_store();
    let layout = layout();
    let writer = begin(&store, SNAPSHOT);
    for (id, name) in ["delta", "alpha", "charlie", "bravo", "alpine"].iter().enumerate() {
        insert(&writer, &layout, id as i64, name);
    }
    writer.insert(&layout, &mut [Value::integer(9)]).expect("NULL name");
    writer.commit().expect("commit");
    let reader = begin(&store, SNAPSHOT);
    // Some of the rows uncommitted, so that both sources are merged.
    insert(&reader, &layout, 10, "beta");
    let all = ["NULL", "alpha", "alpine", "beta", "bravo", "charlie", "delta"];
    let reversed: Vec<&str> = all.iter().rev().copied().collect();
    let text = |name: &str| vec![Value::text(name)];
    for index in [NAME, NAME_DESCENDING] {
        let by = |range, direction| names_by(&reader, &layout, index, range, direction);
        assert_eq!(by(KeyRange::all(), Ascending), all);
        assert_eq!(by(KeyRange::all(), Descending), reversed);
        assert_eq!(by(KeyRange::equal(text("beta")), Ascending), ["beta"]);
        assert_eq!(by(KeyRange::equal(text("bet")), Ascending), [""; 0]);
        assert_eq!(by(KeyRange::equal(vec![Value::Null]), Ascending), ["NULL"]);
        let range = between(KeyBound::Included(text("alpine")), KeyBound::Excluded(text("charlie")));
        assert_eq!(by(range.clone(), Ascending), ["alpine", "beta", "bravo"]);
        assert_eq!(by(range, Descending), ["bravo", "beta", "alpine"]);
        let range = between(KeyBound::Excluded(text("alpine")), KeyBound::Included(text("charlie")));
        assert_eq!(by(range, Ascending), ["beta", "bravo", "charlie"]);
        let range = between(KeyBound::Excluded(vec![Value::Null]), KeyBound::Included(text("alpine")));
        assert_eq!(by(range, Ascending), ["alpha", "alpine"]);
        let range = between(KeyBound::Included(text("zulu")), KeyBound::Included(text("alpha")));
        assert_eq!(by(range, Ascending), [""; 0]);
        let range = KeyRange::starting_with(Vec::new(), Text::utf8("al"));
        assert_eq!(by(range.clone(), Ascending), ["alpha", "alpine"]);
        assert_eq!(by(range, Descending), ["alpine", "alpha"]);
    }
}

#[test]
fn rows_are_inserted_together_up_to_the_first_that_others_have_to_do_with() {
    let store = memory_store();
    let layout = layout();
    let given = |ids: &[i64]| ids.iter().map(|id| row(*id, "together")).collect::<Vec<_>>();
    let before = begin(&store, SNAPSHOT);
    insert(&before, &layout, 5, "committed");
    insert(&before, &layout, 6, "deleted");
    before.commit().expect("commit");
    let other = begin(&store, SNAPSHOT);
    insert(&other, &layout, 20, "of another");
    let writer = begin(&store, SNAPSHOT);
    delete(&writer, &layout, 6).expect("delete");
    let mut savepoint = writer.savepoint();
    // Behind all, before all and in between; the fourth one is there already, was there, is another's, is its own.
    for last in [5, 6, 20, 30] {
        let inserted = writer.insert_rows(&layout, &given(&[30, -1, 4, last, 40])).expect("insert");
        assert_eq!(inserted.len(), 3, "{last}");
        let found = names_by(&writer, &layout, NAME, KeyRange::all(), Ascending);
        assert_eq!(found, ["committed", "together", "together", "together"], "{last}");
        // The keys of those that were not inserted are free for anybody.
        insert(&other, &layout, 100 + last, "of another");
        assert_eq!(writer.insert_rows(&layout, &given(&[40])).expect("insert").len(), 1);
        writer.rollback_to(savepoint).expect("rollback");
        savepoint = writer.savepoint();
        let rows = rows(&writer, &layout);
        assert_eq!(rows, [(5, "committed".to_owned())], "{last}");
    }
    assert_eq!(writer.insert_rows(&layout, &given(&[])).expect("insert"), []);
    let numbers = writer.insert_rows(&layout, &given(&[7, 8, 9])).expect("insert");
    assert!(numbers.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0), "{numbers:?}");
    writer.commit().expect("commit");
    let reader = begin(&store, SNAPSHOT);
    let ids: Vec<i64> = rows(&reader, &layout).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, [5, 7, 8, 9]);
}

#[test]
fn an_index_gives_each_row_once_under_its_present_key() {
    let store = memory_store();
    let layout = layout();
    let writer = begin(&store, SNAPSHOT);
    insert(&writer, &layout, 1, "a");
    insert(&writer, &layout, 2, "b");
    writer.commit().expect("commit");
    let before = begin(&store, SNAPSHOT);
    let writer = begin(&store, SNAPSHOT);
    rename(&writer, &layout, 1, "z").expect("update");
    rename(&writer, &layout, 1, "c").expect("update");
    delete(&writer, &layout, 2).expect("delete");
    assert_eq!(names_by(&writer, &layout, NAME, KeyRange::all(), Ascending), ["c"]);
    writer.commit().expect("commit");
    assert_eq!(names_by(&begin(&store, SNAPSHOT), &layout, NAME, KeyRange::all(), Ascending), ["c"]);
    assert_eq!(names_by(&before, &layout, NAME, KeyRange::all(), Ascending), ["a", "b"]);
    assert_eq!(names_by(&before, &layout, NAME, KeyRange::equal(vec![Value::text("c")]), Ascending), [""; 0]);
}

#[test]
fn unique_keys_collide_with_committed_rows_seen_or_not() {
    let store = memory_store();
    let layout = layout();
    let late = begin(&store, SNAPSHOT);
    let writer = begin(&store, SNAPSHOT);
    insert(&writer, &layout, 1, "a");
    let refused = writer.insert(&layout, &mut row(1, "b")).expect_err("own duplicate");
    assert!(
        matches!(&refused, StoreError::UniqueViolation { index, values } if *index == PRIMARY && *values == [Value::integer(1)])
    );
    writer.commit().expect("commit");
    let refused = late.insert(&layout, &mut row(1, "b")).expect_err("duplicate of an unseen row");
    assert!(matches!(refused, StoreError::UniqueViolation { .. }));
    // The refused row left nothing behind.
    insert(&late, &layout, 2, "b");
    assert_eq!(names(&late, &layout), ["b"]);
    let refused = rename_id(&late, &layout, 2, 1).expect_err("duplicate by update");
    assert!(matches!(refused, StoreError::UniqueViolation { .. }));
    late.commit().expect("commit");
    assert_eq!(names(&begin(&store, SNAPSHOT), &layout), ["a", "b"]);
}

fn rename_id(
    transaction: &farbird_store::Transaction,
    layout: &Arc<farbird_store::RelationLayout>,
    id: i64,
    new: i64,
) -> farbird_store::Result<()> {
    let view = transaction.view()?;
    let row_id = find(transaction, layout, &view, id).expect("row");
    transaction.update(layout, &view, row_id, &mut row(new, "b"))
}

#[test]
fn a_freed_key_can_be_used_again() {
    let store = memory_store();
    let layout = layout();
    let writer = begin(&store, SNAPSHOT);
    insert(&writer, &layout, 1, "a");
    writer.commit().expect("commit");
    let writer = begin(&store, SNAPSHOT);
    delete(&writer, &layout, 1).expect("delete");
    insert(&writer, &layout, 1, "b");
    rename_id(&writer, &layout, 1, 2).expect("update");
    insert(&writer, &layout, 1, "c");
    writer.commit().expect("commit");
    let reader = begin(&store, SNAPSHOT);
    assert_eq!(
        by_index(&reader, &layout, PRIMARY, KeyRange::all(), Ascending),
        [(1, "c".to_owned()), (2, "b".to_owned())]
    );
}

#[test]
fn unique_keys_wait_for_uncommitted_rows() {
    let store = memory_store();
    let layout = layout();
    let first = begin(&store, SNAPSHOT);
    insert(&first, &layout, 1, "a");
    let second = begin(&store, SNAPSHOT);
    let refused = second.insert(&layout, &mut row(1, "b")).expect_err("uncommitted duplicate");
    assert!(
        matches!(refused, StoreError::UniqueViolation { .. }),
        "NO WAIT does not wait for the other's fate"
    );
    first.rollback().expect("rollback");
    insert(&second, &layout, 1, "b");
    second.commit().expect("commit");
    // The same about a key that an uncommitted delete would free.
    let deleter = begin(&store, SNAPSHOT);
    delete(&deleter, &layout, 1).expect("delete");
    let inserter = begin(&store, SNAPSHOT);
    assert!(matches!(inserter.insert(&layout, &mut row(1, "c")), Err(StoreError::UniqueViolation { .. })));
    deleter.commit().expect("commit");
    insert(&inserter, &layout, 1, "c");
    // A change that leaves the key alone frees nothing.
    inserter.commit().expect("commit");
    let updater = begin(&store, SNAPSHOT);
    rename(&updater, &layout, 1, "d").expect("update");
    let inserter = begin(&store, SNAPSHOT);
    assert!(matches!(inserter.insert(&layout, &mut row(1, "e")), Err(StoreError::UniqueViolation { .. })));
}

#[test]
fn a_waiting_insert_goes_on_when_the_other_rolls_back_and_fails_when_it_commits() {
    for commits in [false, true] {
        let store = memory_store();
        let layout = layout();
        let first = begin(&store, SNAPSHOT);
        insert(&first, &layout, 1, "a");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let second = begin(&store, TransactionOptions { wait: Wait::Forever, ..SNAPSHOT });
                second.insert(&layout, &mut row(1, "b")).and_then(|_| second.commit())
            });
            if commits {
                first.commit().expect("commit");
                let refused = waiting.join().expect("thread").expect_err("duplicate");
                assert!(matches!(refused, StoreError::UniqueViolation { .. }));
            } else {
                first.rollback().expect("rollback");
                waiting.join().expect("thread").expect("key is free");
            }
        });
    }
}

#[test]
fn all_null_keys_never_collide_partly_null_ones_do() {
    let store = memory_store();
    let mut index = column_index(IndexId(7), 0, true, false);
    index.parts.extend(column_index(IndexId(7), 1, true, false).parts);
    let layout = layout_with(vec![index]);
    let writer = begin(&store, SNAPSHOT);
    for _ in 0..2 {
        writer.insert(&layout, &mut [Value::Null, Value::Null]).expect("all NULL");
    }
    writer.insert(&layout, &mut [Value::Null, Value::text("a")]).expect("first");
    let refused = writer.insert(&layout, &mut [Value::Null, Value::text("a")]).expect_err("same again");
    assert!(matches!(refused, StoreError::UniqueViolation { .. }));
}

#[test]
fn keys_exist_for_foreign_keys_as_soon_as_their_fate_is_known() {
    let store = memory_store();
    let layout = layout();
    let exists = |transaction: &farbird_store::Transaction, id: i64| {
        transaction.key_exists(&layout, PRIMARY, &[Value::integer(id)], None)
    };
    let old = begin(&store, SNAPSHOT);
    let writer = begin(&store, SNAPSHOT);
    let row_id = insert(&writer, &layout, 1, "a");
    assert!(exists(&writer, 1).expect("own row"));
    assert!(!writer.key_exists(&layout, PRIMARY, &[Value::integer(1)], Some(row_id)).expect("except itself"));
    assert!(matches!(exists(&old, 1), Err(StoreError::LockConflict { .. })));
    writer.commit().expect("commit");
    assert!(exists(&old, 1).expect("committed, though not seen"));
    assert!(!exists(&old, 2).expect("absent"));
    let deleter = begin(&store, SNAPSHOT);
    let savepoint = deleter.savepoint();
    delete(&deleter, &layout, 1).expect("delete");
    assert!(!exists(&deleter, 1).expect("own delete"));
    assert!(matches!(exists(&old, 1), Err(StoreError::LockConflict { .. })));
    deleter.rollback_to(savepoint).expect("rollback");
    deleter.rollback().expect("rollback");
    assert!(exists(&old, 1).expect("still there"));
    let renamer = begin(&store, SNAPSHOT);
    rename(&renamer, &layout, 1, "other").expect("update");
    assert!(exists(&old, 1).expect("a change that leaves the key alone is no obstacle"));
}

#[test]
fn deadlocks_are_found_and_one_of_the_two_goes_on() {
    let store = memory_store();
    let layout = layout();
    let writer = begin(&store, SNAPSHOT);
    insert(&writer, &layout, 1, "a");
    insert(&writer, &layout, 2, "b");
    writer.commit().expect("commit");
    let waiting = TransactionOptions { wait: Wait::Forever, ..READ_COMMITTED };
    let barrier = std::sync::Barrier::new(2);
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = [(1, 2), (2, 1)]
            .map(|(mine, other)| {
                let (store, layout, barrier) = (&store, &layout, &barrier);
                scope.spawn(move || {
                    let transaction = begin(store, waiting);
                    rename(&transaction, layout, mine, "x").expect("first");
                    barrier.wait();
                    let outcome = rename(&transaction, layout, other, "y");
                    match outcome {
                        Err(StoreError::Deadlock { .. }) => transaction.rollback().map(|()| "deadlock"),
                        Err(StoreError::StatementRestart { .. }) | Ok(()) => {
                            transaction.commit().map(|_| "went on")
                        }
                        Err(error) => Err(error),
                    }
                    .expect("end")
                })
            })
            .into_iter()
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("thread")).collect()
    });
    let mut outcomes = outcomes;
    outcomes.sort_unstable();
    assert_eq!(outcomes, ["deadlock", "went on"]);
}

#[test]
fn waits_end_by_timeout_and_by_cancel() {
    let store = memory_store();
    let layout = layout();
    let holder = begin(&store, SNAPSHOT);
    insert(&holder, &layout, 1, "a");
    let patient =
        TransactionOptions { wait: Wait::Timeout(std::time::Duration::from_millis(20)), ..SNAPSHOT };
    let refused = begin(&store, patient).insert(&layout, &mut row(1, "b")).expect_err("timeout");
    assert!(matches!(refused, StoreError::UniqueViolation { .. }));
    let refused = begin(&store, patient).key_exists(&layout, PRIMARY, &[Value::integer(1)], None);
    assert!(matches!(refused, Err(StoreError::LockTimeout { relation: None, .. })));
    let flag = CancelFlag::new();
    let waiting = TransactionOptions { wait: Wait::Forever, ..SNAPSHOT };
    std::thread::scope(|scope| {
        let transaction = store.begin(waiting, Arc::clone(&flag)).expect("begin");
        let layout = &layout;
        let waiter = scope.spawn(move || transaction.insert(layout, &mut row(1, "b")));
        flag.cancel();
        assert!(matches!(waiter.join().expect("thread"), Err(StoreError::Cancelled)));
    });
}

#[derive(Debug)]
struct Doubled;

impl farbird_store::KeyExpression for Doubled {
    fn evaluate(&self, row: &[Value]) -> farbird_types::Result<Value> {
        Ok(Value::integer(integer(&row[0]) * 2))
    }
}

#[derive(Debug)]
struct Even;

impl farbird_store::RowPredicate for Even {
    fn holds(&self, row: &[Value]) -> farbird_types::Result<bool> {
        Ok(integer(&row[0]) % 2 == 0)
    }
}

#[test]
fn indexes_on_expressions_and_partial_ones_can_be_built_later() {
    let store = memory_store();
    let plain = layout_with(Vec::new());
    let writer = begin(&store, SNAPSHOT);
    for id in [3, 1, 4, 2] {
        insert(&writer, &plain, id, "x");
    }
    writer.commit().expect("commit");
    let mut expression = column_index(IndexId(8), 0, true, true);
    expression.parts[0].source = KeySource::Expression(Arc::new(Doubled));
    let mut partial = column_index(IndexId(9), 0, false, false);
    partial.condition = Some(Arc::new(Even));
    let layout = layout_with(vec![expression, partial]);
    let builder = begin(&store, SNAPSHOT);
    insert(&builder, &plain, 6, "uncommitted");
    for index in [IndexId(8), IndexId(9)] {
        builder.build_index(&layout, index, &AmpleRoom).expect("build");
    }
    builder.commit().expect("commit");
    let reader = begin(&store, SNAPSHOT);
    insert(&reader, &layout, 5, "x");
    insert(&reader, &layout, 8, "x");
    let ids = |index, range| -> Vec<i64> {
        by_index(&reader, &layout, index, range, Ascending).into_iter().map(|(id, _)| id).collect()
    };
    assert_eq!(ids(IndexId(8), KeyRange::all()), [1, 2, 3, 4, 5, 6, 8]);
    assert_eq!(ids(IndexId(8), KeyRange::equal(vec![Value::integer(8)])), [4]);
    assert_eq!(ids(IndexId(9), KeyRange::all()), [2, 4, 6, 8]);
}

#[test]
fn building_a_unique_index_over_duplicates_fails_and_leaves_nothing() {
    let store = memory_store();
    let layout = layout_with(vec![]);
    let writer = begin(&store, SNAPSHOT);
    for name in ["a", "b", "a"] {
        insert(&writer, &layout, 1, name);
    }
    writer.commit().expect("commit");
    let layout = layout_with(vec![column_index(IndexId(8), 1, true, false)]);
    let builder = begin(&store, SNAPSHOT);
    let refused = builder.build_index(&layout, IndexId(8), &AmpleRoom).expect_err("duplicates");
    assert!(matches!(refused, StoreError::UniqueViolation { values, .. } if values == [Value::text("a")]));
    assert_eq!(by_index(&builder, &layout, IndexId(8), KeyRange::all(), Ascending), []);
}
