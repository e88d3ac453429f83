//! Many threads at once, with the sweep among them.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::*;
use farbird_sim::Random;
use farbird_store::{
    IndexScan, KeyRange, Projection, RelationLayout, Result, RowBatch, ScanDirection, Store, StoreError,
    StoreOptions, Transaction, TransactionOptions, Wait,
};
use farbird_types::Value;

const ACCOUNTS: i64 = 12;
const BALANCE: i64 = 1_000;

/// The row of an account, found by its key, and its balance, which is kept as the name.
fn balance(
    transaction: &Transaction,
    layout: &Arc<RelationLayout>,
    id: i64,
) -> Result<(farbird_store::RowId, i64)> {
    let range = KeyRange::equal(vec![Value::integer(id)]);
    let columns = Projection::of([1]);
    let view = transaction.view()?;
    let mut scan =
        IndexScan::new(Arc::clone(layout), PRIMARY, range, ScanDirection::Ascending, view, columns)?;
    let mut batch = RowBatch::new();
    assert!(scan.next_batch(transaction, 2, &mut batch)?, "account {id} is gone");
    assert_eq!(batch.len(), 1, "account {id} comes twice");
    Ok((batch.row_id(0), text(&batch.value(0, 0)).parse().expect("a number")))
}

/// Moves some money; a conflict undoes all of it.
fn transfer(store: &Store, layout: &Arc<RelationLayout>, random: &mut Random) -> Result<()> {
    let isolated = if random.below(2) == 0 { SNAPSHOT } else { READ_COMMITTED };
    let transaction = begin(store, TransactionOptions { wait: Wait::Forever, ..isolated });
    let from = random.below(ACCOUNTS as u64) as i64;
    let to = (from + 1 + random.below(ACCOUNTS as u64 - 1) as i64) % ACCOUNTS;
    let amount = random.below(50) as i64;
    for (id, change) in [(from, -amount), (to, amount)] {
        let view = transaction.view()?;
        let (row_id, before) = balance(&transaction, layout, id)?;
        transaction.update(layout, &view, row_id, &mut row(id, &(before + change).to_string()))?;
    }
    transaction.commit().map(|_| ())
}

fn total(transaction: &Transaction, layout: &Arc<RelationLayout>) -> i64 {
    names(transaction, layout).iter().map(|name| name.parse::<i64>().expect("a number")).sum()
}

#[test]
fn money_is_neither_made_nor_lost() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("bank.fbd");
    let store = Store::create(&path, StoreOptions { background_sweep: true, ..options() }).expect("create");
    let layout = layout();
    store.register_layout(Arc::clone(&layout));
    let setup = begin(&store, SNAPSHOT);
    for id in 0..ACCOUNTS {
        insert(&setup, &layout, id, &BALANCE.to_string());
    }
    setup.commit().expect("commit");
    let is_over = AtomicBool::new(false);
    let (transfers, conflicts) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|thread| {
                let (store, layout, transfers, conflicts) = (&store, &layout, &transfers, &conflicts);
                scope.spawn(move || {
                    let mut random = Random::new(thread);
                    for _ in 0..60 {
                        match transfer(store, layout, &mut random) {
                            Ok(()) => transfers.fetch_add(1, Ordering::Relaxed),
                            Err(
                                StoreError::UpdateConflict { .. }
                                | StoreError::StatementRestart { .. }
                                | StoreError::Deadlock { .. },
                            ) => conflicts.fetch_add(1, Ordering::Relaxed),
                            Err(error) => panic!("{error}"),
                        };
                    }
                })
            })
            .collect();
        for options in [SNAPSHOT, READ_COMMITTED] {
            let (store, layout, is_over) = (&store, &layout, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let reader = begin(store, options);
                    for _ in 0..3 {
                        assert_eq!(total(&reader, layout), ACCOUNTS * BALANCE);
                    }
                }
            });
        }
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                store.sweep(2).expect("sweep");
            }
        });
        let outcomes: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        is_over.store(true, Ordering::Relaxed);
        for outcome in outcomes {
            outcome.expect("a writer");
        }
    });
    assert_eq!(transfers.into_inner() + conflicts.into_inner(), 240);
    store.close().expect("close");
    drop(store);
    let store = Store::open(&path, options()).expect("open");
    store.register_layout(Arc::clone(&layout));
    while store.sweep(10).expect("sweep") > 0 {}
    let reader = begin(&store, SNAPSHOT);
    assert_eq!(total(&reader, &layout), ACCOUNTS * BALANCE);
    let by_name = by_index(&reader, &layout, NAME, KeyRange::all(), ScanDirection::Ascending);
    assert_eq!(by_name.len(), ACCOUNTS as usize);
}
