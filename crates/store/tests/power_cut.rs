//! Power cuts and full disks at every write and sync of a random workload: what was acknowledged is whole, the rest is
//! absent, indexes and counts agree, and the database opens.
//!
//! `FARBIRD_CRASH_POINTS` sets how many points are tried, `FARBIRD_SEED` which workload.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::disk::{Failure, Random, SimulatedDisk};
use common::*;
use farbird_store::log::LoggedSubstrate;
use farbird_store::{
    BlobOptions, KeyRange, Projection, RelationLayout, Result, ScanDirection, Store, StoreError,
    StoreOptions, Transaction,
};
use farbird_types::Value;

/// Rows by id: name and the length of the blob.
type Model = BTreeMap<i64, (String, u64)>;

fn open(disk: &SimulatedDisk) -> Result<Store> {
    // A little memory only, so that transactions spill.
    let options = StoreOptions { cache_bytes: 1 << 20, write_set_bytes_max: 4_000, ..options() };
    Store::on_substrate(Arc::new(LoggedSubstrate::on_backend(disk.clone(), 1 << 20, 16 << 10)?), options)
}

/// What a workload has reached when its disk failed.
#[derive(Default)]
struct Progress {
    acknowledged: Model,
    /// The state that the commit under way would have led to.
    attempted: Option<Model>,
}

/// Runs transactions until the disk fails or there have been enough.
fn work(
    store: &Store,
    layout: &Arc<RelationLayout>,
    random: &mut Random,
    progress: &mut Progress,
) -> Result<()> {
    for round in 0..12 {
        let transaction = store.begin(SNAPSHOT, farbird_store::CancelFlag::new())?;
        let mut model = progress.acknowledged.clone();
        for step in 0..1 + random.below(4) {
            change(&transaction, layout, random, &mut model, round * 10 + step as i64)?;
        }
        if random.below(4) == 0 {
            transaction.rollback()?;
        } else {
            progress.attempted = Some(model.clone());
            transaction.commit()?;
            progress.acknowledged = model;
            progress.attempted = None;
        }
        if random.below(3) == 0 {
            store.sweep(3)?;
        }
    }
    store.close()
}

fn change(
    transaction: &Transaction,
    layout: &Arc<RelationLayout>,
    random: &mut Random,
    model: &mut Model,
    step: i64,
) -> Result<()> {
    let existing = model.keys().copied().nth(random.below(model.len().max(1) as u64) as usize);
    match (random.below(5), existing) {
        (0, Some(id)) => {
            delete(transaction, layout, id)?;
            model.remove(&id);
        }
        (1, Some(id)) => {
            let view = transaction.view()?;
            let row_id = find(transaction, layout, &view, id).expect("a row of the model");
            let mut row = transaction.read_row(layout, &view, row_id, &Projection::all())?.expect("row");
            row[1] = Value::text(&format!("renamed {step}"));
            transaction.update(layout, &view, row_id, &mut row)?;
            model.entry(id).and_modify(|(name, _)| *name = format!("renamed {step}"));
        }
        (2, _) => {
            for id in 0..150 {
                let id = 1_000 * (step + 1) + id;
                transaction.insert(layout, &mut row(id, "one of many"))?;
                model.insert(id, ("one of many".to_owned(), 0));
            }
        }
        _ => {
            let length = random.below(60_000);
            let mut writer = transaction.create_blob(BlobOptions::default())?;
            writer.write_segment(transaction, &vec![step as u8; length as usize])?;
            let blob = writer.close(transaction)?;
            let id = -step - 1;
            if model.contains_key(&id) {
                return Ok(());
            }
            transaction.insert(layout, &mut [Value::integer(id), Value::text("blob"), Value::Blob(blob)])?;
            model.insert(id, ("blob".to_owned(), length));
        }
    }
    Ok(())
}

/// All that a database holds; indexes and counts must agree with it.
fn contents(store: &Store, layout: &Arc<RelationLayout>) -> Model {
    let transaction = begin(store, SNAPSHOT);
    let rows = rows(&transaction, layout);
    for index in [PRIMARY, NAME] {
        let mut by_index = by_index(&transaction, layout, index, KeyRange::all(), ScanDirection::Ascending);
        by_index.sort();
        let mut sorted = rows.clone();
        sorted.sort();
        assert_eq!(by_index, sorted);
    }
    let view = transaction.view().expect("view");
    rows.into_iter()
        .map(|(id, name)| {
            let row_id = find(&transaction, layout, &view, id).expect("row");
            let row = transaction
                .read_row(layout, &view, row_id, &Projection::of([2]))
                .expect("read")
                .expect("row");
            let length = match row[0] {
                Value::Blob(blob) => {
                    let mut reader = transaction.open_blob(blob).expect("open");
                    reader.read_all(&transaction, 1 << 20).expect("read").len() as u64
                }
                _ => 0,
            };
            (id, (name, length))
        })
        .collect()
}

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
fn every_power_cut_leaves_what_was_acknowledged() {
    let layout = layout();
    let seed = variable("FARBIRD_SEED", 7);
    println!("FARBIRD_SEED={seed}");
    let mut random = Random(seed);
    let points = variable("FARBIRD_CRASH_POINTS", 40);
    let mut cut = 0;
    for point in 0..points {
        let workload = random.below(1 << 20);
        let disk = SimulatedDisk::default();
        let store = open(&disk).expect("a new database");
        store.register_layout(Arc::clone(&layout));
        disk.fail_at(disk.operations() + 1 + random.below(200), Failure::PowerCut);
        let mut progress = Progress::default();
        let outcome = work(&store, &layout, &mut Random(workload), &mut progress);
        assert!(outcome.is_ok() || disk.has_failed(), "point {point}: {outcome:?}");
        cut += u64::from(disk.has_failed());
        drop(store);
        let survivor = disk.after_power_cut(&mut random);
        let store = open(&survivor).unwrap_or_else(|error| panic!("point {point}: {error}"));
        store.register_layout(Arc::clone(&layout));
        let found = contents(&store, &layout);
        let is_attempted = progress.attempted.as_ref() == Some(&found);
        assert!(found == progress.acknowledged || is_attempted, "point {point}");
        // And it goes on from there.
        while store.sweep(10).expect("sweep") > 0 {}
        assert_eq!(contents(&store, &layout), found, "point {point}");
        let transaction = begin(&store, SNAPSHOT);
        insert(&transaction, &layout, 999_999, "after");
        transaction.commit().expect("commit");
    }
    assert!(cut > points / 3, "too few of the cuts came before the end of the workload");
}

#[test]
fn a_full_disk_is_reported_and_nothing_acknowledged_is_lost() {
    let layout = layout();
    let mut random = Random(variable("FARBIRD_SEED", 11));
    for point in 0..12 {
        let workload = random.below(1 << 20);
        let disk = SimulatedDisk::default();
        let store = open(&disk).expect("a new database");
        store.register_layout(Arc::clone(&layout));
        disk.fail_at(disk.operations() + 1 + random.below(300), Failure::Full);
        let mut progress = Progress::default();
        match work(&store, &layout, &mut Random(workload), &mut progress) {
            Ok(()) => {}
            Err(StoreError::Full | StoreError::Poisoned) => {
                let transaction = store.begin(SNAPSHOT, farbird_store::CancelFlag::new());
                let refused = transaction.and_then(|transaction| {
                    transaction.insert(&layout, &mut row(1, "more"))?;
                    transaction.commit()
                });
                assert!(matches!(refused, Err(StoreError::Poisoned)), "point {point}: {refused:?}");
            }
            Err(error) => panic!("point {point}: {error}"),
        }
        drop(store);
        let store = open(&disk.after_power_cut(&mut random)).expect("opens");
        let found = contents(&store, &layout);
        let is_attempted = progress.attempted.as_ref() == Some(&found);
        assert!(found == progress.acknowledged || is_attempted, "point {point}");
    }
}
