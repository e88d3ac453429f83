//! What is there after a reopen, and after a crash.

mod common;

use std::sync::Arc;

use common::*;
use farbird_store::substrate::MemorySubstrate;
use farbird_store::{BlobOptions, FileKind, SequenceId, Store, StoreError, identify};
use farbird_types::Value;

fn on_memory(substrate: &Arc<MemorySubstrate>) -> Store {
    Store::on_substrate(Arc::clone(substrate) as Arc<_>, options()).expect("open")
}

/// The database as a crash right now would leave it.
fn after_crash(substrate: &Arc<MemorySubstrate>) -> Store {
    on_memory(&Arc::new(substrate.after_crash()))
}

#[test]
fn a_closed_database_comes_back_whole() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("t.fbd");
    let layout = layout();
    let last_transaction = {
        let store = Store::create(&path, options()).expect("create");
        assert!(matches!(Store::create(&path, options()), Err(StoreError::Exists)));
        let transaction = begin(&store, SNAPSHOT);
        for id in 1..=100 {
            insert(&transaction, &layout, id, &format!("row {id}"));
        }
        transaction.catalog_put(b"table/T", b"definition").expect("put");
        transaction.commit().expect("commit");
        for _ in 0..5 {
            store.sequence_next(SequenceId(1), 1).expect("next");
        }
        let transaction = begin(&store, SNAPSHOT);
        rename(&transaction, &layout, 50, "renamed").expect("update");
        let id = transaction.commit().map(|_| store.statistics().next_transaction).expect("commit");
        store.close().expect("close");
        id
    };
    assert_eq!(identify(&path).expect("identify"), FileKind::Farbird);
    let store = Store::open(&path, options()).expect("open");
    let transaction = begin(&store, SNAPSHOT);
    assert!(transaction.id() >= last_transaction);
    let names = names(&transaction, &layout);
    assert_eq!((names.len(), names[49].as_str(), names[99].as_str()), (100, "renamed", "row 100"));
    assert_eq!(store.catalog_entries().expect("catalog"), [(b"table/T".to_vec(), b"definition".to_vec())]);
    assert_eq!(store.sequence_next(SequenceId(1), 1).expect("next"), 6);
    let refused = transaction.insert(&layout, &mut row(7, "again")).expect_err("duplicate");
    assert!(matches!(refused, StoreError::UniqueViolation { .. }));
    let new = insert(&transaction, &layout, 101, "new");
    assert!(new.0 > 100);
}

#[test]
fn a_database_in_use_and_files_of_other_kinds_are_refused_by_name() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("t.fbd");
    let _store = Store::create(&path, options()).expect("create");
    assert!(matches!(Store::open(&path, options()), Err(StoreError::InUse)));
    let mut firebird = vec![0u8; 4_096];
    firebird[0] = 1;
    firebird[16..18].copy_from_slice(&8_192u16.to_le_bytes());
    firebird[18..20].copy_from_slice(&0x800Cu16.to_le_bytes());
    for (contents, kind) in [
        (firebird.as_slice(), FileKind::Firebird { ods: 12 }),
        (b"SQLite format 3\0....", FileKind::Sqlite),
        (b"", FileKind::Empty),
        (b"\0\x02\x04\x0a\0\0\0", FileKind::FirebirdBackup),
        (b"just text", FileKind::Other),
    ] {
        let path = folder.path().join("other");
        std::fs::write(&path, contents).expect("write");
        assert_eq!(identify(&path).expect("identify"), kind);
        assert!(matches!(Store::open(&path, options()), Err(StoreError::WrongKind(found)) if found == kind));
    }
    assert!(matches!(Store::open(&folder.path().join("none"), options()), Err(StoreError::Io(_))));
}

#[test]
fn a_crash_keeps_every_commit_and_nothing_else() {
    let substrate = Arc::new(MemorySubstrate::new());
    let layout = layout();
    let store = on_memory(&substrate);
    let mut expected = Vec::new();
    for round in 0..20 {
        let transaction = begin(&store, SNAPSHOT);
        let id = round + 1;
        insert(&transaction, &layout, id, &format!("{round}"));
        if round % 3 == 0 {
            for bulk in 0..50 {
                insert(&transaction, &layout, 1_000 * id + bulk, "bulk");
            }
        }
        if round > 2 {
            rename(&transaction, &layout, 1, "renamed").expect("update");
        }
        // Spilled, but not committed.
        let mut blob = transaction.create_blob(BlobOptions::default()).expect("create");
        blob.write_segment(&transaction, &vec![7; 5 << 20]).expect("write");
        let blob = blob.close(&transaction).expect("close");
        if round % 2 == 0 {
            let mut values = [Value::integer(-id), Value::text("blob"), Value::Blob(blob)];
            transaction.insert(&layout, &mut values).expect("insert");
        }
        let crashed = after_crash(&substrate);
        assert_eq!(rows(&begin(&crashed, SNAPSHOT), &layout), expected);
        if round % 4 == 3 {
            drop(transaction);
            continue;
        }
        let seen = rows(&transaction, &layout);
        transaction.commit().expect("commit");
        expected = seen;
        let crashed = after_crash(&substrate);
        let reader = begin(&crashed, SNAPSHOT);
        assert_eq!(rows(&reader, &layout), expected);
        if round % 2 == 0 {
            let mut contents = reader.open_blob(blob).expect("committed blob");
            assert_eq!(contents.read_all(&reader, 6 << 20).expect("read").len(), 5 << 20);
        } else {
            assert!(matches!(reader.open_blob(blob), Err(StoreError::NoSuchBlob)));
        }
    }
}

#[test]
fn sequences_never_repeat_over_a_crash() {
    let substrate = Arc::new(MemorySubstrate::new());
    let mut store = on_memory(&substrate);
    let sequence = SequenceId(4);
    let mut last = 0;
    let mut substrate = substrate;
    for round in 0..10 {
        for _ in 0..round * 37 {
            let next = store.sequence_next(sequence, 2).expect("next");
            assert!(next > last && next % 2 == 0);
            last = next;
        }
        assert_eq!(
            store.sequence_value(sequence).expect("value").max(last),
            store.sequence_value(sequence).expect("value")
        );
        substrate = Arc::new(substrate.after_crash());
        store = on_memory(&substrate);
    }
    store.sequence_set(sequence, -5).expect("set");
    store = after_crash(&substrate);
    assert_eq!(store.sequence_next(sequence, -1).expect("next"), -6);
    assert_eq!(store.sequence_next(sequence, 0).expect("next"), -6);
    store.sequence_set(sequence, i64::MAX).expect("set");
    assert_eq!(store.sequence_next(sequence, 1).expect("wraps around"), i64::MIN);
    store.sequence_drop(sequence).expect("drop");
    assert_eq!(store.sequence_value(sequence).expect("value"), 0);
}

#[test]
fn commits_of_many_threads_all_arrive() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("t.fbd");
    let layout = layout();
    let store = Store::create(&path, options()).expect("create");
    let numbers: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                let (store, layout) = (&store, &layout);
                scope.spawn(move || {
                    let mut numbers = Vec::new();
                    for round in 0..25 {
                        let transaction = begin(store, SNAPSHOT);
                        insert(&transaction, layout, thread * 1_000 + round, "x");
                        let number = transaction.commit().expect("commit");
                        assert!(store.last_commit() >= number);
                        numbers.push(number.0);
                    }
                    numbers
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("thread")).collect()
    });
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, Vec::from_iter(1..=200));
    store.close().expect("close");
    drop(store);
    let store = Store::open(&path, options()).expect("open");
    assert_eq!(rows(&begin(&store, SNAPSHOT), &layout).len(), 200);
}

#[test]
fn the_catalog_changes_hands_with_the_commit_number() {
    let store = memory_store();
    let published = Arc::new(parking_lot::Mutex::new(Vec::new()));
    for name in [b"a", b"b"] {
        let transaction = begin(&store, SNAPSHOT);
        transaction.catalog_put(name, b"x").expect("put");
        let refused = begin(&store, SNAPSHOT).catalog_delete(name).expect_err("locked");
        assert!(matches!(refused, StoreError::LockConflict { .. }));
        let catalog = Arc::clone(&published);
        let number = transaction.commit_with(move |number| catalog.lock().push(number)).expect("commit");
        let (_, (snapshot, seen)) = store
            .begin_with(SNAPSHOT, farbird_store::CancelFlag::new(), |number| {
                (number, published.lock().clone())
            })
            .expect("begin");
        assert_eq!((snapshot, seen.last()), (number, Some(&number)));
    }
}
