//! Times what programs do with single rows by key, a step below SQL: look-ups, updates with their commit, deletes of ranges with theirs.
//!
//! `cargo run --release -p farbird-store --example keyed_rows -- FOLDER` makes a database in FOLDER, which should be on the disk that is
//! meant, and prints nanoseconds for each row, of the thread's processor time where Linux tells it, and of the clock.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use farbird_record::RecordFormat;
use farbird_store::{
    Access, CancelFlag, IndexDefinition, IndexId, IndexScan, Isolation, KeyBound, KeyLookup, KeyPart,
    KeyRange, KeySource, Projection, RelationId, RelationLayout, RowBatch, RowId, RowUpdate, ScanDirection,
    Store, StoreOptions, Transaction, TransactionOptions, Wait,
};
use farbird_types::character_set::{CharacterSet, Collation};
use farbird_types::{SqlType, Value};

const ROWS: i64 = 100_000;
const LOOK_UPS: i64 = 1_000_000;
/// Rows of an update's transaction, and of a delete's.
const UPDATED: i64 = 20_000;
const DELETED: i64 = 2_000;
/// Rows that a statement finds before it changes them.
const BATCH: usize = 256;
const KEY: IndexId = IndexId(1);

fn layout() -> Arc<RelationLayout> {
    let parts = vec![KeyPart { source: KeySource::Column(0), collation: Collation(0) }];
    let key =
        IndexDefinition { id: KEY, unique: true, descending: false, parts, condition: None, active: true };
    let columns = vec![SqlType::BIGINT, SqlType::BIGINT, SqlType::varchar(40, CharacterSet::UTF8)];
    Arc::new(RelationLayout {
        id: RelationId(128),
        formats: vec![RecordFormat::new(columns)],
        current: 0,
        added_defaults: Vec::new(),
        codec: None,
        temporary: None,
        indexes: vec![key],
    })
}

fn begin(store: &Store) -> farbird_store::Result<Transaction> {
    let (isolation, access, wait) = (Isolation::Snapshot, Access::ReadWrite, Wait::No);
    let options = TransactionOptions { isolation, access, wait, ..TransactionOptions::default() };
    store.begin(options, CancelFlag::new())
}

/// Nanoseconds that this thread has had a processor.
fn processor_time() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    told.split(' ').next()?.parse().ok()
}

/// Prints what each of so many rows has taken.
fn timed<T>(
    name: &str,
    rows: i64,
    work: impl FnOnce() -> farbird_store::Result<T>,
) -> farbird_store::Result<T> {
    let (begun, start) = (Instant::now(), processor_time());
    let done = work()?;
    let elapsed = begun.elapsed().as_nanos() as u64;
    let taken = processor_time().zip(start).map_or(elapsed, |(end, start)| end - start);
    println!("{name:34} {:>6} ns of the processor, {:>6} ns", taken / rows as u64, elapsed / rows as u64);
    Ok(done)
}

fn main() -> farbird_store::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let path = Path::new(&folder).join("keyed-rows.fbd");
    let store = Store::create(&path, StoreOptions { background_sweep: false, ..StoreOptions::default() })?;
    let layout = layout();
    store.register_layout(Arc::clone(&layout));
    let transaction = begin(&store)?;
    for id in 0..ROWS {
        let note = format!("item number {id}");
        let mut row = [Value::integer(id), Value::integer(id % 1_000), Value::text(&note)];
        transaction.insert(&layout, &mut row)?;
    }
    transaction.commit()?;
    for round in 0..3 {
        look_up(&store, &layout, "look-up, keys in order", |number| number % ROWS)?;
        look_up(&store, &layout, "look-up, scattered keys", |number| number * 7_919 % ROWS)?;
        update(&store, &layout, round * UPDATED)?;
        delete(&store, &layout, ROWS - (round + 1) * DELETED)?;
        timed("sweep of those", UPDATED + DELETED, || {
            while store.sweep(1_000)? > 0 {}
            Ok(())
        })?;
    }
    store.close()?;
    std::fs::remove_file(path)?;
    Ok(())
}

fn look_up(
    store: &Store,
    layout: &Arc<RelationLayout>,
    name: &str,
    key_of: impl Fn(i64) -> i64,
) -> farbird_store::Result<()> {
    let transaction = begin(store)?;
    let view = transaction.view()?;
    let mut lookup = KeyLookup::new(Arc::clone(layout), KEY, Projection::of([1]))?;
    let mut values = Vec::new();
    timed(name, LOOK_UPS, || {
        for number in 0..LOOK_UPS {
            values.clear();
            lookup.find(&transaction, &view, &[Value::integer(key_of(number))], &mut values)?;
        }
        Ok(())
    })
}

fn update(store: &Store, layout: &Arc<RelationLayout>, from: i64) -> farbird_store::Result<()> {
    let transaction = begin(store)?;
    let mut view = transaction.view()?;
    let mut lookup = KeyLookup::new(Arc::clone(layout), KEY, Projection::all())?;
    timed("update, found by its key", UPDATED, || {
        for id in from..from + UPDATED {
            let mut old = Vec::new();
            let Some(row) = lookup.find(&transaction, &view, &[Value::integer(id)], &mut old)? else {
                continue;
            };
            let new = vec![old[0].clone(), Value::integer(id + 1), old[2].clone()];
            transaction.update_rows(layout, &view, &[RowUpdate { row, old, new }])?;
            view = transaction.view_again(&view)?;
        }
        Ok(())
    })?;
    drop(view);
    timed("... its commit", UPDATED, || transaction.commit().map(drop))
}

fn delete(store: &Store, layout: &Arc<RelationLayout>, from: i64) -> farbird_store::Result<()> {
    let transaction = begin(store)?;
    let view = transaction.view()?;
    let range = KeyRange {
        lower: KeyBound::Included(vec![Value::integer(from)]),
        upper: KeyBound::Excluded(vec![Value::integer(from + DELETED)]),
        starting_with: None,
    };
    timed("delete by a range of keys", DELETED, || {
        let columns = Projection::of([0]);
        let (layout, view) = (Arc::clone(layout), view.clone());
        let mut scan =
            IndexScan::new(Arc::clone(&layout), KEY, range, ScanDirection::Ascending, view.clone(), columns)?;
        let mut batch = RowBatch::new();
        while scan.next_batch(&transaction, BATCH, &mut batch)? {
            let rows: Vec<RowId> = (0..batch.len()).map(|place| batch.row_id(place)).collect();
            transaction.delete_rows(&layout, &view, &rows)?;
        }
        Ok(())
    })?;
    drop(view);
    timed("... its commit", DELETED, || transaction.commit().map(drop))
}
