//! Every call of the disk fails once, or from then on: errors are reported as what they are, nothing acknowledged is lost,
//! nothing that failed is there, reads go on where they can, and once the disk is well again so is the database, without
//! being closed.
//!
//! `FARBIRD_SEED` chooses the workload.

mod common;

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::workload::{Model, Schema, Worker, contents, is_same, open_with_layouts};
use farbird_sim::{Call, Fault, Random, SimulatedDisk};
use farbird_store::{CancelFlag, Result, Store, StoreError};

fn seed() -> u64 {
    std::env::var("FARBIRD_SEED").ok().and_then(|value| value.parse().ok()).unwrap_or(1)
}

/// Opens a new database and does the beginning of a workload.
fn begin(disk: &SimulatedDisk, seed: u64) -> (Store, Worker<'_>) {
    let store = open_with_layouts(disk).expect("create");
    Schema::default().register(&store);
    let mut worker = Worker::new(disk, seed);
    worker.run(&store, 4).expect("well");
    (store, worker)
}

/// The errors that a failing disk may lead to.
fn is_clear(error: &StoreError) -> bool {
    match error {
        StoreError::Full | StoreError::Poisoned | StoreError::Reopened => true,
        StoreError::Io(error) => {
            error.kind() == ErrorKind::BrokenPipe || error.kind() == ErrorKind::StorageFull
        }
        _ => false,
    }
}

fn check(store: &Store, layouts: &[Arc<farbird_store::RelationLayout>], at: &str) {
    let report =
        store.check(layouts, &farbird_store::AmpleRoom, &mut |_| (), &CancelFlag::new()).expect("check");
    assert!(report.is_sound(), "{at}: {:?}", report.findings);
}

/// The store holds what was acknowledged, nothing else.
fn verify(store: &Store, expected: &Model, at: &str) {
    let found = contents(store).unwrap_or_else(|error| panic!("{at}: {error}"));
    assert!(is_same(&found, expected), "{at}: {} rows instead of {}", found.rows.len(), expected.rows.len());
    check(store, &expected.schema.layouts(), at);
}

/// Works until something fails, or long enough.
fn work(worker: &mut Worker<'_>, store: &Store) -> Result<()> {
    worker.run(store, 5)?;
    worker.run(store, 1)
}

fn play(seed: u64, from_call: u64, fault: &Fault, at: &str) {
    let disk = SimulatedDisk::default();
    let (store, mut worker) = begin(&disk, seed);
    let expected_calls = fault.calls.clone();
    disk.set_fault(Some(Fault { from_call: disk.calls() + from_call, ..fault.clone() }));
    let mut failed = 0;
    for _ in 0..3 {
        if let Err(error) = work(&mut worker, &store) {
            failed += 1;
            assert!(disk.has_failed() && is_clear(&error), "{at}: {error}");
            let acknowledged = Model::clone(&worker.journal.latest());
            // Whoever reads sees what was acknowledged, or the error of a read.
            match contents(&store) {
                Ok(found) => assert!(is_same(&found, &acknowledged), "{at}: wrong rows behind {error}"),
                Err(error) => {
                    assert!(expected_calls.contains(&Call::Read) && is_clear(&error), "{at}: {error}");
                }
            }
            acknowledged.schema.register(&store);
            worker.resume(acknowledged);
        }
    }
    // The disk is well again, and after a while, in which attempts cost no more than they may, so is the database.
    disk.set_fault(None);
    let acknowledged = Model::clone(&worker.journal.latest());
    let mut attempts = 0;
    while let Err(error) = store.sequence_set(common::workload::SEQUENCE, 1_000_000) {
        attempts += 1;
        assert!(attempts < 1_000_000, "{at}: {error}");
        std::thread::yield_now();
    }
    verify(&store, &acknowledged, at);
    worker.resume(acknowledged);
    worker.run(&store, 4).unwrap_or_else(|error| panic!("{at}: {error}, with a sound disk"));
    verify(&store, &worker.model, at);
    drop(store);
    let store = open_with_layouts(&disk).unwrap_or_else(|error| panic!("{at}: {error}"));
    verify(&store, &worker.model, at);
    let _ = failed;
}

#[test]
fn behind_a_failed_commit_the_transaction_is_there_to_be_rolled_back() {
    use common::*;
    let disk = SimulatedDisk::default();
    let store = workload::open(&disk).expect("create");
    let layout = layout();
    store.register_layout(Arc::clone(&layout));
    let transaction = begin(&store, SNAPSHOT);
    insert(&transaction, &layout, 1, "committed");
    transaction.commit().expect("commit");
    for retains in [false, true] {
        let transaction = begin(&store, SNAPSHOT);
        let id = transaction.id();
        let row = insert(&transaction, &layout, 2, "not committed");
        let view = transaction.view().expect("view");
        let calls = vec![Call::Write, Call::Resize, Call::Sync];
        let error = ErrorKind::StorageFull;
        disk.set_fault(Some(Fault { from_call: disk.calls(), once: false, calls, error }));
        let outcome = if retains { transaction.commit_retaining() } else { transaction.commit_with(|_| ()) };
        assert!(matches!(outcome, Err(StoreError::Full)), "{outcome:?}");
        // It is as it was, for others, and nothing can be done in it.
        assert!(transaction.is_lost() && transaction.id() == id);
        assert!(matches!(transaction.view(), Err(StoreError::Reopened)));
        assert!(matches!(transaction.delete(&layout, &view, row), Err(StoreError::Reopened)));
        assert!(matches!(transaction.commit_with(|_| ()), Err(StoreError::Reopened)));
        assert_eq!(store.statistics().active.len(), 1);
        assert_eq!(rows(&begin(&store, SNAPSHOT), &layout).len(), 1);
        disk.set_fault(None);
        transaction.rollback().expect("rollback");
        assert!(store.statistics().active.is_empty());
        // What it had taken is free.
        let mut attempts = 0;
        while store.sequence_set(farbird_store::SequenceId(1), 1).is_err() {
            attempts += 1;
            assert!(attempts < 1_000_000);
        }
        let next = begin(&store, SNAPSHOT);
        insert(&next, &layout, 2, "another");
        next.rollback_retaining().expect("rollback");
        insert(&next, &layout, 2, "another");
        next.rollback().expect("rollback");
    }
}

/// Plays a fault at every call of a workload, on all processors.
fn at_every_call(faults: &[Fault]) {
    let seed = seed();
    let disk = SimulatedDisk::default();
    let (store, mut worker) = begin(&disk, seed);
    let before = disk.calls();
    work(&mut worker, &store).expect("well");
    let calls = disk.calls() - before;
    let next = AtomicU64::new(1);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let call = next.fetch_add(1, Ordering::SeqCst);
                    if call > calls {
                        break;
                    }
                    let fault = &faults[Random::new(call).below(faults.len() as u64) as usize];
                    play(seed, call, fault, &format!("FARBIRD_SEED={seed}, call {call}, {fault:?}"));
                }
            });
        }
    });
}

#[test]
fn a_full_disk_is_reported_and_nothing_acknowledged_is_lost() {
    let fault = Fault {
        from_call: 0,
        once: false,
        calls: vec![Call::Write, Call::Resize],
        error: ErrorKind::StorageFull,
    };
    at_every_call(&[Fault { once: true, ..fault.clone() }, fault]);
}

#[test]
fn errors_of_any_call_are_reported_and_nothing_acknowledged_is_lost() {
    let all = [Call::Read, Call::Write, Call::Resize, Call::Sync];
    let fault = |calls: &[Call], once| Fault {
        from_call: 0,
        once,
        calls: calls.to_vec(),
        error: ErrorKind::BrokenPipe,
    };
    at_every_call(&[
        fault(&all, true),
        fault(&all, false),
        fault(&[Call::Sync], true),
        fault(&[Call::Sync], false),
        fault(&[Call::Read], true),
        fault(&[Call::Read], false),
    ]);
}
