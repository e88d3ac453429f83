//! Transactions larger than the memory they may use.

mod common;

use std::sync::Arc;

use common::*;
use farbird_store::substrate::{
    ALL_KEYS, Direction, Durability, MemorySubstrate, Space, Substrate, WriteBatch,
};
use farbird_store::{
    KeyRange, LaterChange, ReadView, RelationLayout, RowId, ScanDirection, Store, StoreError, StoreOptions,
    Transaction,
};
use farbird_types::Value;

struct Bench {
    substrate: Arc<MemorySubstrate>,
    store: Store,
    layout: Arc<RelationLayout>,
}

fn open(substrate: &Arc<MemorySubstrate>) -> Store {
    let small = StoreOptions { write_set_bytes_max: 20_000, ..options() };
    Store::on_substrate(Arc::clone(substrate) as Arc<_>, small).expect("open")
}

fn bench() -> Bench {
    let substrate = Arc::new(MemorySubstrate::new());
    let layout = layout_with(vec![column_index(PRIMARY, 0, true, false)]);
    let store = open(&substrate);
    store.register_layout(Arc::clone(&layout));
    Bench { substrate, store, layout }
}

impl Bench {
    fn count(&self, space: Space) -> usize {
        let snapshot = self.substrate.snapshot().expect("snapshot");
        snapshot.scan(space, ALL_KEYS, Direction::Forward).expect("scan").count()
    }

    fn insert(&self, transaction: &Transaction, ids: std::ops::Range<i64>) {
        for id in ids {
            // No two alike, so that blocks are soon full.
            let scattered = (id as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            insert(
                transaction,
                &self.layout,
                id,
                &format!("{scattered:016x}{:016x}", scattered.reverse_bits()),
            );
        }
    }

    fn sweep(&self) {
        while self.store.sweep(10).expect("sweep") > 0 {}
    }

    fn ids(&self, transaction: &Transaction) -> Vec<i64> {
        let ids: Vec<i64> = rows(transaction, &self.layout).into_iter().map(|(id, _)| id).collect();
        let by_key = by_index(transaction, &self.layout, PRIMARY, KeyRange::all(), ScanDirection::Ascending);
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        assert!(by_key.into_iter().map(|(id, _)| id).eq(sorted));
        ids
    }
}

#[test]
fn a_large_transaction_is_seen_by_itself_at_once_and_by_others_when_it_commits() {
    let bench = bench();
    let large = begin(&bench.store, SNAPSHOT);
    bench.insert(&large, 0..1_000);
    let view = large.view().expect("view");
    bench.insert(&large, 1_000..5_000);
    assert!(bench.count(Space::Blocks(bench.layout.id)) > 1, "it has spilled");
    assert_eq!(rows_in(&large, &bench.layout, &view).len(), 1_000);
    assert_eq!(bench.ids(&large), Vec::from_iter(0..5_000));
    let reader = begin(&bench.store, SNAPSHOT);
    assert_eq!(bench.ids(&reader), []);
    rename(&large, &bench.layout, 17, "changed").expect("update of a spilled row");
    delete(&large, &bench.layout, 18).expect("delete of a spilled row");
    let own = large.insert(&bench.layout, &mut row(19, "x")).expect_err("own duplicate");
    assert!(matches!(own, StoreError::UniqueViolation { .. }));
    let other = reader.insert(&bench.layout, &mut row(20, "x")).expect_err("uncommitted duplicate");
    assert!(matches!(other, StoreError::UniqueViolation { .. }));
    let exists = reader.key_exists(&bench.layout, PRIMARY, &[Value::integer(20)], None);
    assert!(matches!(exists, Err(StoreError::LockConflict { holder, .. }) if holder == large.id()));
    large.commit().expect("commit");
    assert_eq!(bench.ids(&reader), []);
    let committed = reader.insert(&bench.layout, &mut row(20, "x")).expect_err("duplicate");
    assert!(matches!(committed, StoreError::UniqueViolation { .. }));
    drop((reader, view));
    for swept in [false, true] {
        let store = if swept { bench.store.clone() } else { open(&Arc::new(bench.substrate.after_crash())) };
        let seen = rows(&begin(&store, SNAPSHOT), &bench.layout);
        assert_eq!((seen.len(), seen[17].1.as_str(), seen[18].0), (4_999, "changed", 19));
        while bench.store.sweep(10).expect("sweep") > 0 {}
    }
    assert_eq!(bench.count(Space::Versions(bench.layout.id)), 0);
}

#[test]
fn a_rolled_back_large_transaction_leaves_nothing() {
    let bench = bench();
    let large = begin(&bench.store, SNAPSHOT);
    bench.insert(&large, 0..3_000);
    large.rollback().expect("rollback");
    assert_eq!(bench.ids(&begin(&bench.store, SNAPSHOT)), []);
    bench.sweep();
    for space in [Space::Blocks(bench.layout.id), Space::Versions(bench.layout.id), Space::Index(PRIMARY)] {
        assert_eq!(bench.count(space), 0, "{space:?}");
    }
    let next = begin(&bench.store, SNAPSHOT);
    bench.insert(&next, 0..10);
    next.commit().expect("commit");
}

#[test]
fn rows_are_inserted_together_where_only_rows_that_are_gone_had_their_keys() {
    let bench = bench();
    let given = |ids: std::ops::Range<i64>| ids.map(|id| row(id, "together")).collect::<Vec<_>>();
    let insert_all = |ids: std::ops::Range<i64>| {
        let writer = begin(&bench.store, SNAPSHOT);
        let inserted = writer.insert_rows(&bench.layout, &given(ids)).expect("insert").len();
        (writer, inserted)
    };
    let large = begin(&bench.store, SNAPSHOT);
    bench.insert(&large, 0..3_000);
    assert!(bench.count(Space::Index(PRIMARY)) > 1_000, "it has spilled");
    assert_eq!(insert_all(10..20).1, 0, "keys of a transaction that may still commit");
    large.rollback().expect("rollback");
    assert!(bench.count(Space::Index(PRIMARY)) > 1_000, "its entries are still there");
    // Twice, so that more than one row that is gone has had each key.
    for _ in 0..2 {
        let (writer, inserted) = insert_all(0..3_000);
        assert_eq!(inserted, 3_000, "behind a rollback");
        assert_eq!(bench.ids(&writer), Vec::from_iter(0..3_000));
        writer.rollback().expect("rollback");
    }
    let (writer, inserted) = insert_all(0..3_000);
    assert_eq!(inserted, 3_000);
    writer.commit().expect("commit");
    assert_eq!(insert_all(5..9).1, 0, "keys of committed rows");
    let deleter = begin(&bench.store, SNAPSHOT);
    for id in 100..200 {
        delete(&deleter, &bench.layout, id).expect("delete");
    }
    assert_eq!(insert_all(100..200).1, 0, "a rollback may bring them back");
    deleter.commit().expect("commit");
    let (writer, inserted) = insert_all(99..200);
    assert_eq!(inserted, 0, "the first one is there");
    drop(writer);
    let (writer, inserted) = insert_all(100..201);
    assert_eq!(inserted, 100, "all that were deleted");
    writer.commit().expect("commit");
    for _ in 0..2 {
        let reader = begin(&bench.store, SNAPSHOT);
        let mut ids = bench.ids(&reader);
        ids.sort_unstable();
        assert_eq!(ids, Vec::from_iter(0..3_000));
        drop(reader);
        bench.sweep();
    }
    assert_eq!(bench.count(Space::Index(PRIMARY)), 3_000);
}

#[test]
fn a_crash_during_a_large_transaction_leaves_no_row_of_it() {
    let bench = bench();
    let small = begin(&bench.store, SNAPSHOT);
    bench.insert(&small, 0..3);
    small.commit().expect("commit");
    let large = begin(&bench.store, SNAPSHOT);
    bench.insert(&large, 10..3_000);
    // Somebody else's commit makes durable what was spilled.
    let mut batch = WriteBatch::new();
    batch.put(Space::Catalog, b"x".to_vec(), Vec::new());
    bench.substrate.write(batch, Durability::Durable).expect("write");
    let survivor = Arc::new(bench.substrate.after_crash());
    let after = Bench { store: open(&survivor), substrate: survivor, layout: Arc::clone(&bench.layout) };
    after.store.register_layout(Arc::clone(&after.layout));
    assert_eq!(after.ids(&begin(&after.store, SNAPSHOT)), [0, 1, 2]);
    after.sweep();
    for space in [Space::Blocks(bench.layout.id), Space::Index(PRIMARY)] {
        assert_eq!(after.count(space), if space == Space::Index(PRIMARY) { 3 } else { 1 }, "{space:?}");
    }
    let transaction = begin(&after.store, SNAPSHOT);
    assert_eq!(after.ids(&transaction), [0, 1, 2]);
    after.insert(&transaction, 10..20);
    transaction.commit().expect("commit");
}

#[test]
fn savepoints_reach_into_spilled_blocks() {
    let bench = bench();
    let large = begin(&bench.store, SNAPSHOT);
    bench.insert(&large, 0..700);
    let savepoint = large.savepoint();
    for from in (700..4_000).step_by(10) {
        let statement = large.savepoint();
        bench.insert(&large, from..from + 10);
        if from % 70 == 0 {
            large.rollback_to(statement).expect("rollback");
            bench.insert(&large, from..from + 10);
        } else {
            large.release(statement);
        }
    }
    assert_eq!(bench.ids(&large).len(), 4_000);
    large.rollback_to(savepoint).expect("rollback");
    assert_eq!(bench.ids(&large), Vec::from_iter(0..700));
    bench.insert(&large, 700..2_000);
    let refused = large.insert(&bench.layout, &mut [Value::integer(699)]).expect_err("duplicate");
    assert!(matches!(refused, StoreError::UniqueViolation { .. }));
    large.commit().expect("commit");
    assert_eq!(bench.ids(&begin(&bench.store, SNAPSHOT)), Vec::from_iter(0..2_000));
}

#[test]
fn committed_transactions_are_forgotten_once_their_rows_are_settled() {
    let bench = bench();
    for round in 0..3 {
        let large = begin(&bench.store, SNAPSHOT);
        bench.insert(&large, round * 1_000..(round + 1) * 1_000);
        large.commit().expect("commit");
    }
    let changed = begin(&bench.store, SNAPSHOT);
    for id in 0..1_000 {
        rename(&changed, &bench.layout, id, "somebody else by the same number").expect("update");
    }
    changed.commit().expect("commit");
    let marks = || {
        let snapshot = bench.substrate.snapshot().expect("snapshot");
        let entries = snapshot.scan(Space::Meta, ALL_KEYS, Direction::Forward).expect("scan");
        let keys = entries.map(|entry| entry.expect("entry").0.to_vec());
        keys.filter(|key| key.starts_with(b"spilled/") || key.starts_with(b"unsettled/")).count()
    };
    assert!(marks() > 0, "nothing was spilled");
    let before = begin(&bench.store, SNAPSHOT);
    bench.sweep();
    assert_eq!(marks(), 0);
    assert_eq!(bench.ids(&before), Vec::from_iter(0..3_000));
    let survivor = Arc::new(bench.substrate.after_crash());
    let after = Bench { store: open(&survivor), substrate: survivor, layout: Arc::clone(&bench.layout) };
    assert_eq!(after.ids(&begin(&after.store, SNAPSHOT)), Vec::from_iter(0..3_000));
}

#[test]
fn an_index_of_the_transaction_itself_keeps_no_entries_of_rows_taken_back() {
    let substrate = Arc::new(MemorySubstrate::new());
    let bench = Bench {
        store: open(&substrate),
        substrate,
        layout: layout_with(vec![column_index(PRIMARY, 0, true, false)]),
    };
    let large = begin(&bench.store, SNAPSHOT);
    bench.insert(&large, 0..1_000);
    let savepoint = large.savepoint();
    bench.insert(&large, 1_000..5_000);
    large.rollback_to(savepoint).expect("rollback");
    bench.insert(&large, 7_000..8_000);
    large.commit().expect("commit");
    bench.store.register_layout(Arc::clone(&bench.layout));
    bench.sweep();
    assert_eq!(bench.ids(&begin(&bench.store, SNAPSHOT)).len(), 2_000);
    assert_eq!(bench.count(Space::Index(PRIMARY)), 2_000);
}

/// A statement asks what its own triggers and cascades have made of a row since it began, wherever that stands now.
#[test]
fn later_changes_are_found_in_memory_and_in_the_file() {
    let bench = bench();
    let small = begin(&bench.store, SNAPSHOT);
    let numbers: Vec<RowId> = (0..1_000).map(|id| insert(&small, &bench.layout, id, "first")).collect();
    small.commit().expect("commit");
    let large = begin(&bench.store, SNAPSHOT);
    let change = |id: i64, name: &str| rename(&large, &bench.layout, id, name).expect("update");
    (0..300).for_each(|id| change(id, "changed before the view was taken"));
    let view = large.view().expect("view");
    (300..600).for_each(|id| change(id, "changed after the view was taken"));
    (600..650).for_each(|id| delete(&large, &bench.layout, id).expect("delete"));
    let savepoint = large.savepoint();
    (650..950).for_each(|id| change(id, "changed after the view, and undone"));
    large.rollback_to(savepoint).expect("rollback");
    assert!(bench.count(Space::Changes(bench.layout.id)) > 0, "nothing was spilled");
    change(999, "still in memory");
    let later =
        |view: &ReadView, id: usize| large.changed_since(&bench.layout, view, numbers[id]).expect("a look");
    for id in 0..1_000 {
        let found = later(&view, id);
        match id {
            300..600 | 999 => {
                let Some(LaterChange::Row(row)) = found else { panic!("{id}: {found:?}") };
                assert_eq!(row[0], Value::integer(id as i64));
            }
            600..650 => assert_eq!(found, Some(LaterChange::Deleted), "{id}"),
            _ => assert_eq!(found, None, "{id}"),
        }
    }
    let now = large.view().expect("view");
    assert!((0..1_000).all(|id| later(&now, id).is_none()));
}

/// A rollback to a savepoint gives a row a key back: nobody else may have got it meanwhile.
#[test]
fn a_key_that_a_savepoint_may_bring_back_is_not_free() {
    // All that can be is spilled.
    let substrate = Arc::new(MemorySubstrate::new());
    let small = StoreOptions { write_set_bytes_max: 0, ..options() };
    let store = Store::on_substrate(substrate, small).expect("open");
    let layout = layout_with(vec![column_index(PRIMARY, 0, true, false)]);
    store.register_layout(Arc::clone(&layout));
    let first = begin(&store, SNAPSHOT);
    let changed = insert(&first, &layout, 1, "a");
    first.commit().expect("commit");
    for deletes in [false, true] {
        let writer = begin(&store, SNAPSHOT);
        let view = writer.view().expect("view");
        writer.update(&layout, &view, changed, &mut row(36, "a")).expect("update");
        let savepoint = writer.savepoint();
        let view = writer.view().expect("view");
        match deletes {
            true => writer.delete(&layout, &view, changed).expect("delete"),
            false => writer.update(&layout, &view, changed, &mut row(3, "a")).expect("update"),
        }
        let other = begin(&store, SNAPSHOT);
        let refused = other.insert(&layout, &mut row(36, "b"));
        assert!(matches!(refused, Err(StoreError::UniqueViolation { .. })), "{refused:?}");
        writer.rollback_to(savepoint).expect("rollback");
        writer.update(&layout, &writer.view().expect("view"), changed, &mut row(36, "c")).expect("update");
        writer.rollback().expect("rollback");
        other.insert(&layout, &mut row(36, "b")).expect("insert");
        other.rollback().expect("rollback");
    }
}
