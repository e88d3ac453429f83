//! The sweep: nothing that anybody sees changes, and what nobody sees goes.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::*;
use farbird_record::RecordFormat;
use farbird_store::substrate::{ALL_KEYS, Direction, MemorySubstrate, Space, Substrate};
use farbird_store::{
    BlobOptions, CancelFlag, IndexId, KeyRange, Projection, RelationLayout, RelationScan, RowBatch,
    ScanDirection, Store, StoreError, StoreOptions, Transaction,
};
use farbird_types::character_set::CharacterSet;
use farbird_types::{BlobId, SqlType, Value};

struct Bench {
    substrate: Arc<MemorySubstrate>,
    store: Store,
    layout: Arc<RelationLayout>,
}

fn bench() -> Bench {
    bench_with(options())
}

fn bench_with(options: StoreOptions) -> Bench {
    let substrate = Arc::new(MemorySubstrate::new());
    let store = Store::on_substrate(Arc::clone(&substrate) as Arc<_>, options).expect("open");
    let layout = layout();
    store.register_layout(Arc::clone(&layout));
    Bench { substrate, store, layout }
}

impl Bench {
    fn begin(&self) -> Transaction {
        begin(&self.store, SNAPSHOT)
    }

    fn count(&self, space: Space) -> usize {
        let snapshot = self.substrate.snapshot().expect("snapshot");
        snapshot.scan(space, ALL_KEYS, Direction::Forward).expect("scan").count()
    }

    fn sweep_all(&self) {
        while self.store.sweep(10).expect("sweep") > 0 {}
    }

    /// Versions, blocks, entries of the name index, blob entries.
    fn sizes(&self) -> [usize; 4] {
        let relation = self.layout.id;
        [Space::Versions(relation), Space::Blocks(relation), Space::Index(NAME), Space::Blobs]
            .map(|space| self.count(space))
    }

    fn fill(&self, ids: std::ops::Range<i64>) {
        for id in ids {
            let transaction = self.begin();
            insert(&transaction, &self.layout, id, &format!("{id}"));
            transaction.commit().expect("commit");
        }
    }
}

#[test]
fn single_inserts_end_up_in_few_blocks() {
    let bench = bench();
    bench.fill(0..300);
    assert_eq!(bench.sizes(), [300, 0, 300, 0]);
    let before = rows(&bench.begin(), &bench.layout);
    bench.sweep_all();
    assert_eq!(bench.sizes(), [0, 1, 300, 0]);
    assert_eq!(rows(&bench.begin(), &bench.layout), before);
    bench.fill(300..400);
    bench.sweep_all();
    assert_eq!(bench.sizes(), [0, 1, 400, 0]);
    assert_eq!(rows(&bench.begin(), &bench.layout).len(), 400);
    assert_eq!(bench.store.sweep(10).expect("sweep"), 0);
}

#[test]
fn updates_and_deletes_leave_no_trace_once_nobody_needs_the_old_rows() {
    let bench = bench();
    let transaction = bench.begin();
    for id in 0..500 {
        insert(&transaction, &bench.layout, id, "bulk");
    }
    transaction.commit().expect("commit");
    assert_eq!(bench.sizes()[..2], [0, 1], "a bulk insert writes blocks at once");
    let reader = bench.begin();
    let before = rows(&reader, &bench.layout);
    for round in 0..5 {
        let transaction = bench.begin();
        for id in (0..500).step_by(7) {
            rename(&transaction, &bench.layout, id, &format!("{round}")).expect("update");
        }
        transaction.commit().expect("commit");
    }
    let transaction = bench.begin();
    for id in (0..500).step_by(10) {
        delete(&transaction, &bench.layout, id).expect("delete");
    }
    transaction.commit().expect("commit");
    let after = rows(&bench.begin(), &bench.layout);
    bench.sweep_all();
    assert_eq!(rows(&reader, &bench.layout), before);
    assert_eq!(rows(&bench.begin(), &bench.layout), after);
    drop(reader);
    bench.sweep_all();
    assert_eq!(rows(&bench.begin(), &bench.layout), after);
    assert_eq!(bench.sizes(), [0, 1, after.len(), 0]);
    let transaction = bench.begin();
    for (id, _) in &after {
        delete(&transaction, &bench.layout, *id).expect("delete");
    }
    transaction.commit().expect("commit");
    bench.sweep_all();
    assert_eq!(bench.sizes(), [0, 0, 0, 0]);
}

#[test]
fn versions_between_two_snapshots_go_even_while_an_old_one_is_read() {
    let bench = bench();
    bench.fill(0..1);
    let reader = bench.begin();
    for round in 0..50 {
        let transaction = bench.begin();
        rename(&transaction, &bench.layout, 0, &format!("{round}")).expect("update");
        transaction.commit().expect("commit");
    }
    bench.sweep_all();
    assert_eq!(bench.sizes()[0], 2, "the one that is read and the newest");
    assert_eq!(names(&reader, &bench.layout), ["0"]);
    assert_eq!(names(&bench.begin(), &bench.layout), ["49"]);
}

#[test]
fn what_becomes_unneeded_behind_a_round_that_found_nothing_goes_with_the_next() {
    let bench = bench();
    bench.fill(0..1);
    bench.sweep_all();
    let reader = bench.begin();
    let transaction = bench.begin();
    rename(&transaction, &bench.layout, 0, "new").expect("update");
    transaction.commit().expect("commit");
    assert_eq!(bench.store.sweep(1).expect("sweep"), 0, "the row, whose old image is still read");
    drop(reader);
    bench.sweep_all();
    assert_eq!(bench.sizes(), [0, 1, 1, 0]);
}

#[test]
fn rows_keep_their_writers_in_blocks() {
    let bench = bench();
    let transaction = bench.begin();
    for id in 0..100 {
        insert(&transaction, &bench.layout, id, "bulk");
    }
    let bulk = transaction.id();
    transaction.commit().expect("commit");
    let mut expected = vec![bulk; 100];
    let change = |id: usize, expected: &mut Vec<_>| {
        let transaction = bench.begin();
        rename(&transaction, &bench.layout, id as i64, "changed").expect("update");
        expected[id] = transaction.id();
        transaction.commit().expect("commit");
    };
    let writers = || {
        let reader = bench.begin();
        let view = reader.view().expect("view");
        let writer = |id| {
            let row = find(&reader, &bench.layout, &view, id).expect("row");
            reader.writer_of_row(bench.layout.id, &view, row).expect("read").expect("a row")
        };
        (0..100).map(writer).collect::<Vec<_>>()
    };
    for round in 0..3 {
        for id in [0, 7, 8, 50, 99] {
            change((id + round) % 100, &mut expected);
        }
        assert_eq!(writers(), expected);
        bench.sweep_all();
        assert_eq!(bench.sizes()[..2], [0, 1]);
        assert_eq!(writers(), expected, "round {round}");
    }
    let own = bench.begin();
    rename(&own, &bench.layout, 3, "own").expect("update");
    let view = own.view().expect("view");
    let row = find(&own, &bench.layout, &view, 3).expect("row");
    assert_eq!(own.writer_of_row(bench.layout.id, &view, row).expect("read"), Some(own.id()));
}

#[test]
fn blobs_go_with_their_last_version() {
    let bench = bench();
    let transaction = bench.begin();
    let mut ids = Vec::new();
    for id in 0..2 {
        let mut writer = transaction.create_blob(BlobOptions::default()).expect("create");
        writer.write_segment(&transaction, &vec![id as u8; 50_000]).expect("write");
        let blob = writer.close(&transaction).expect("close");
        let mut row = [Value::integer(id), Value::Null, Value::Blob(blob)];
        transaction.insert(&bench.layout, &mut row).expect("insert");
        ids.push(blob);
    }
    transaction.commit().expect("commit");
    let entries = bench.sizes()[3];
    let transaction = bench.begin();
    let view = transaction.view().expect("view");
    let row_id = find(&transaction, &bench.layout, &view, 0).expect("row");
    let mut row = [Value::integer(0), Value::text("keeps its blob"), Value::Blob(ids[0])];
    transaction.update(&bench.layout, &view, row_id, &mut row).expect("update");
    delete(&transaction, &bench.layout, 1).expect("delete");
    transaction.commit().expect("commit");
    drop(view);
    bench.sweep_all();
    assert_eq!(bench.sizes()[3], entries / 2);
    let reader = bench.begin();
    assert_eq!(reader.open_blob(ids[0]).expect("kept").properties().bytes, 50_000);
    assert!(matches!(reader.open_blob(ids[1]), Err(StoreError::NoSuchBlob)));
}

/// Writes a row with a BLOB, the given one or a new one of `length` bytes.
fn insert_note(bench: &Bench, id: i64, note: Option<BlobId>, length: usize) -> BlobId {
    let transaction = bench.begin();
    let note = note.unwrap_or_else(|| {
        let mut writer = transaction.create_blob(BlobOptions::default()).expect("create");
        writer.write_segment(&transaction, &vec![id as u8; length]).expect("write");
        writer.close(&transaction).expect("close")
    });
    let mut row = [Value::integer(id), Value::Null, Value::Blob(note)];
    transaction.insert(&bench.layout, &mut row).expect("insert");
    transaction.commit().expect("commit");
    let Value::Blob(taken) = row[2] else { panic!("no blob") };
    taken
}

fn delete_row(bench: &Bench, id: i64) {
    let transaction = bench.begin();
    delete(&transaction, &bench.layout, id).expect("delete");
    transaction.commit().expect("commit");
    bench.sweep_all();
}

#[test]
fn contents_live_as_long_as_one_of_the_blobs_that_have_them() {
    // Incompressible, so that each length takes another form in the file.
    let noise = |length: usize| {
        let mut random = Random(length as u64);
        (0..length).map(|_| random.below(256) as u8).collect::<Vec<u8>>()
    };
    for length in [10, 500, 5_000, 200_000] {
        for order in [[1, 2, 3], [3, 2, 1], [2, 3, 1], [2, 1, 3]] {
            let bench = bench();
            let transaction = bench.begin();
            let mut writer = transaction.create_blob(BlobOptions::default()).expect("create");
            writer.write_segment(&transaction, &noise(length)).expect("write");
            let blob = writer.close(&transaction).expect("close");
            transaction
                .insert(&bench.layout, &mut [Value::integer(1), Value::Null, Value::Blob(blob)])
                .expect("insert");
            transaction.commit().expect("commit");
            let before = bench.count(Space::Blobs) + bench.count(Space::BlobPages);
            let copy = insert_note(&bench, 2, Some(blob), 0);
            let blobs = [blob, copy, insert_note(&bench, 3, Some(copy), 0)];
            let after = bench.count(Space::Blobs) + bench.count(Space::BlobPages);
            assert_eq!(after, before + 2, "a header for each copy");
            for (deleted, id) in order.into_iter().enumerate() {
                delete_row(&bench, id);
                let reader = bench.begin();
                for id in &order[deleted + 1..] {
                    let mut left = reader.open_blob(blobs[*id as usize - 1]).expect("open");
                    assert!(left.read_all(&reader, 1 << 20).expect("read") == noise(length));
                }
            }
            assert_eq!(BLOB_SPACES.map(|space| bench.count(space)), [0, 0, 0], "{length} bytes, {order:?}");
        }
    }
}

#[test]
fn a_transaction_that_has_taken_a_blob_keeps_its_contents() {
    for commits in [true, false] {
        let bench = bench();
        let blob = insert_note(&bench, 1, None, 100_000);
        let taker = begin(&bench.store, READ_COMMITTED);
        let mut row = [Value::integer(2), Value::Null, Value::Blob(blob)];
        taker.insert(&bench.layout, &mut row).expect("insert");
        delete_row(&bench, 1);
        let late = bench.begin();
        let Value::Blob(taken) = row[2] else { panic!("no blob") };
        assert_eq!(
            taker.open_blob(taken).expect("open").read_all(&taker, 1 << 20).expect("read"),
            vec![1; 100_000]
        );
        if commits {
            taker.commit().expect("commit")
        } else {
            taker.rollback().map(|()| bench.store.last_commit()).expect("rollback")
        };
        bench.sweep_all();
        let reader = bench.begin();
        assert_eq!(reader.open_blob(taken).is_ok(), commits);
        drop(reader);
        if commits {
            delete_row(&bench, 2);
        }
        let refused = late.insert(&bench.layout, &mut [Value::integer(3), Value::Null, Value::Blob(blob)]);
        assert!(matches!(refused, Err(StoreError::NoSuchBlob)));
        drop(late);
        bench.sweep_all();
        assert_eq!(BLOB_SPACES.map(|space| bench.count(space)), [0, 0, 0]);
    }
}

#[test]
fn a_blob_that_only_its_copy_needs_is_committed_with_it() {
    for spill in [4 << 20, 100] {
        let bench = bench_with(StoreOptions { blob_bytes_max: spill, ..options() });
        let transaction = bench.begin();
        let mut writer = transaction.create_blob(BlobOptions::default()).expect("create");
        writer.write_segment(&transaction, &[5; 100_000]).expect("write");
        let blob = writer.close(&transaction).expect("close");
        for id in 0..2 {
            transaction
                .insert(&bench.layout, &mut [Value::integer(id), Value::Null, Value::Blob(blob)])
                .expect("insert");
        }
        delete(&transaction, &bench.layout, 0).expect("delete");
        transaction.commit().expect("commit");
        bench.sweep_all();
        let reader = bench.begin();
        let Value::Blob(copy) = note(&reader, &bench.layout, 1) else { panic!("no blob") };
        assert_ne!(copy, blob);
        assert_eq!(
            reader.open_blob(copy).expect("open").read_all(&reader, 1 << 20).expect("read"),
            [5; 100_000]
        );
        drop(reader);
        delete_row(&bench, 1);
        assert_eq!(BLOB_SPACES.map(|space| bench.count(space)), [0, 0, 0]);
    }
}

#[test]
fn rows_of_running_transactions_never_get_between_the_rows_of_a_block() {
    let bench = bench();
    let slow: Vec<Transaction> = (0..3)
        .map(|round| {
            bench.fill(round * 100..round * 100 + 50);
            let slow = bench.begin();
            for id in 0..40 {
                insert(&slow, &bench.layout, 1_000 + round * 100 + id, "slow");
            }
            slow
        })
        .collect();
    bench.fill(900..950);
    bench.sweep_all();
    let mut expected = rows(&bench.begin(), &bench.layout).len();
    for slow in slow {
        slow.commit().expect("commit");
        expected += 40;
        assert_eq!(rows(&bench.begin(), &bench.layout).len(), expected);
        bench.sweep_all();
        assert_eq!(rows(&bench.begin(), &bench.layout).len(), expected);
    }
    let by_key = by_index(&bench.begin(), &bench.layout, PRIMARY, KeyRange::all(), ScanDirection::Ascending);
    assert_eq!(by_key.len(), expected);
}

#[test]
fn rows_of_older_formats_get_the_defaults_of_new_columns_before_and_after_the_sweep() {
    let bench = bench();
    bench.fill(0..40);
    bench.sweep_all();
    bench.fill(40..45);
    let mut columns = bench.layout.formats[0].columns().to_vec();
    columns.push(SqlType::varchar(10, CharacterSet::UTF8));
    columns[2] = SqlType::Null;
    let mut altered = RelationLayout::clone(&bench.layout);
    altered.formats.push(RecordFormat::new(columns));
    altered.current = 1;
    altered.added_defaults = vec![Value::Null, Value::Null, Value::Null, Value::text("new")];
    let altered = Arc::new(altered);
    bench.store.register_layout(Arc::clone(&altered));
    let transaction = bench.begin();
    let mut row = [Value::integer(100), Value::text("x"), Value::Null, Value::text("given")];
    transaction.insert(&altered, &mut row).expect("insert");
    transaction.commit().expect("commit");
    for swept in [false, true] {
        let reader = bench.begin();
        let view = reader.view().expect("view");
        for (id, expected) in [(3, "new"), (42, "new"), (100, "given")] {
            let row_id = find(&reader, &altered, &view, id).expect("row");
            let row = reader.read_row(&altered, &view, row_id, &Projection::of([3, 2, 0])).expect("read");
            assert_eq!(
                row.expect("row"),
                [Value::text(expected), Value::Null, Value::integer(id)],
                "{swept}"
            );
        }
        drop((view, reader));
        bench.sweep_all();
    }
    assert_eq!(bench.sizes()[..2], [0, 1]);
}

#[test]
fn an_old_transaction_meets_rows_of_a_format_that_it_does_not_know() {
    let bench = bench();
    bench.fill(0..2);
    let old = bench.begin();
    insert(&old, &bench.layout, 9, "old");
    let mut altered = RelationLayout::clone(&bench.layout);
    let mut columns = altered.formats[0].columns().to_vec();
    columns.push(SqlType::BIGINT);
    altered.formats.push(RecordFormat::new(columns));
    altered.current = 1;
    let altered = Arc::new(altered);
    bench.store.register_layout(Arc::clone(&altered));
    let writer = bench.begin();
    for id in 2..4 {
        insert(&writer, &altered, id, "new");
    }
    rename(&writer, &altered, 1, "renamed").expect("update");
    writer.commit().expect("commit");
    bench.sweep_all();
    let refused = old.insert(&bench.layout, &mut row(2, "x")).expect_err("duplicate");
    assert!(matches!(refused, StoreError::UniqueViolation { .. }));
    assert!(old.key_exists(&bench.layout, PRIMARY, &[Value::integer(1)], None).expect("known"));
    assert_eq!(names(&old, &bench.layout), ["0", "1", "old"]);
}

#[test]
fn dropped_relations_and_indexes_go_when_their_last_reader_is_gone() {
    let bench = bench();
    let transaction = bench.begin();
    let mut writer = transaction.create_blob(BlobOptions::default()).expect("create");
    writer.write_segment(&transaction, b"contents").expect("write");
    let blob = writer.close(&transaction).expect("close");
    transaction
        .insert(&bench.layout, &mut [Value::integer(1), Value::text("a"), Value::Blob(blob)])
        .expect("insert");
    transaction.commit().expect("commit");
    let reader = bench.begin();
    let transaction = bench.begin();
    transaction.drop_relation(&bench.layout).expect("drop");
    for index in [PRIMARY, NAME, NAME_DESCENDING, IndexId(77)] {
        transaction.drop_index(index).expect("drop");
    }
    let (store, relation) = (bench.store.clone(), bench.layout.id);
    transaction.commit_with(move |_| store.unregister_layout(relation)).expect("commit");
    bench.sweep_all();
    assert_eq!(names(&reader, &bench.layout), ["a"]);
    assert_eq!(by_index(&reader, &bench.layout, NAME, KeyRange::all(), ScanDirection::Ascending).len(), 1);
    drop(reader);
    bench.sweep_all();
    assert_eq!(bench.sizes(), [0, 0, 0, 0]);
}

/// A few words of a generator that needs no crate: the tests print the seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

type Model = BTreeMap<i64, String>;

/// Contents of a BLOB by its number: tiny, small, or in chunks.
fn contents(number: i64) -> Vec<u8> {
    let length = [20, 700, 5_000, 17_000][number as usize % 4];
    let mut random = Random(number as u64);
    format!("{number} ").into_bytes().into_iter().chain((0..length).map(|_| random.below(60) as u8)).collect()
}

/// The name of a row, and the BLOB that goes with it: none, a new one, or that of another row. The name says which.
fn named(
    transaction: &Transaction,
    layout: &Arc<RelationLayout>,
    random: &mut Random,
    step: i64,
) -> (String, Value) {
    let none = (format!("{step}"), Value::Null);
    match random.below(8) {
        0 | 1 => {
            let mut writer = transaction.create_blob(BlobOptions::default()).expect("create");
            writer.write_segment(transaction, &contents(step)).expect("write");
            (format!("{step}/{step}"), Value::Blob(writer.close(transaction).expect("close")))
        }
        2..=4 => {
            let known: Vec<_> =
                rows(transaction, layout).into_iter().filter(|(_, name)| name.contains('/')).collect();
            if known.is_empty() {
                return none;
            }
            let (id, name) = &known[random.below(known.len() as u64) as usize];
            let number = name.split_once('/').expect("a row with a BLOB").1;
            (format!("{step}/{number}"), note(transaction, layout, *id))
        }
        _ => none,
    }
}

/// The BLOB of a row.
fn note(transaction: &Transaction, layout: &Arc<RelationLayout>, id: i64) -> Value {
    let view = transaction.view().expect("view");
    let row_id = find(transaction, layout, &view, id).expect("a row of this id");
    let read = transaction.read_row(layout, &view, row_id, &Projection::of([2]));
    read.expect("read").expect("a row").remove(0)
}

/// BLOBs, with everything that there is of them.
const BLOB_SPACES: [Space; 3] = [Space::Blobs, Space::BlobPages, Space::BlobReferences];

#[test]
fn random_transactions_agree_with_a_model() {
    run_random_transactions(&options());
}

#[test]
fn random_transactions_that_spill_all_they_write_agree_with_a_model() {
    run_random_transactions(&StoreOptions { write_set_bytes_max: 200, ..options() });
}

/// Random transactions over a few rows, swept, crashed and reopened at random, against a model.
fn run_random_transactions(options: &StoreOptions) {
    let seed = std::env::var("FARBIRD_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_251_120);
    println!("FARBIRD_SEED={seed}");
    let mut random = Random(seed);
    let mut bench = bench_with(options.clone());
    let mut committed = Model::new();
    let mut open: Vec<(Transaction, Model)> = Vec::new();
    for step in 0..3_000 {
        match random.below(20) {
            0 | 1 if open.len() < 5 => open.push((bench.begin(), committed.clone())),
            2 if !open.is_empty() => {
                let (transaction, model) = open.swap_remove(random.below(open.len() as u64) as usize);
                // Others may have committed meanwhile; conflicts have been refused, so the changes can be told apart.
                let start = transaction.view().expect("view").commit_number();
                let base = rows_at(&bench, &transaction, start);
                transaction.commit().expect("commit");
                for id in base.keys().chain(model.keys()) {
                    match (base.get(id), model.get(id)) {
                        (before, after) if before == after => {}
                        (_, Some(name)) => drop(committed.insert(*id, name.clone())),
                        (_, None) => drop(committed.remove(id)),
                    }
                }
            }
            3 if !open.is_empty() => drop(open.swap_remove(random.below(open.len() as u64) as usize)),
            4 => drop(bench.store.sweep(1 + random.below(3) as usize).expect("sweep")),
            5 if random.below(20) == 0 => {
                open.clear();
                let substrate = Arc::new(bench.substrate.after_crash());
                let store =
                    Store::on_substrate(Arc::clone(&substrate) as Arc<_>, options.clone()).expect("open");
                store.register_layout(Arc::clone(&bench.layout));
                bench = Bench { substrate, store, layout: bench.layout };
            }
            _ if open.is_empty() => {}
            action => {
                let place = random.below(open.len() as u64) as usize;
                let (transaction, model) = &mut open[place];
                let id = random.below(60) as i64;
                let name = format!("{step}");
                let exists = model.contains_key(&id);
                if random.below(4) == 0 {
                    // Done and undone.
                    let savepoint = transaction.savepoint();
                    for _ in 0..random.below(4) {
                        let id = random.below(60) as i64;
                        let (name, note) = named(transaction, &bench.layout, &mut random, step);
                        let mut row = [Value::integer(id), Value::text(&name), note];
                        let _conflicts_are_not_the_point = match model.contains_key(&id) {
                            true if random.below(3) == 0 => try_delete(transaction, &bench.layout, id),
                            true => try_update(transaction, &bench.layout, id, &mut row),
                            false => transaction.insert(&bench.layout, &mut row).map(|_| ()),
                        };
                    }
                    transaction.rollback_to(savepoint).expect("rollback");
                }
                let (blob_name, note) = named(transaction, &bench.layout, &mut random, step);
                let mut row = [Value::integer(id), Value::text(&blob_name), note];
                // As a statement: what it has done until it fails is undone.
                let statement = transaction.savepoint();
                let outcome = match action {
                    6 if !exists => {
                        // Enough for a block of its own.
                        let savepoint = transaction.savepoint();
                        let from = 1_000 * step;
                        for extra in 0..40 {
                            insert(transaction, &bench.layout, from + extra, &name);
                        }
                        if random.below(2) == 0 {
                            transaction.rollback_to(savepoint).expect("rollback");
                        } else {
                            transaction.release(savepoint);
                            model.extend((0..40).map(|extra| (from + extra, name.clone())));
                        }
                        continue;
                    }
                    7 if exists => delete(transaction, &bench.layout, id),
                    _ if exists => try_update(transaction, &bench.layout, id, &mut row),
                    _ => transaction.insert(&bench.layout, &mut row).map(|_| ()),
                };
                match outcome {
                    Ok(()) if action == 7 && exists => drop(model.remove(&id)),
                    Ok(()) => drop(model.insert(id, blob_name)),
                    Err(
                        StoreError::LockConflict { .. }
                        | StoreError::UpdateConflict { .. }
                        | StoreError::UniqueViolation { .. },
                    ) => transaction.rollback_to(statement).expect("rollback"),
                    Err(error) => panic!("step {step}: {error}"),
                }
            }
        }
        if step % 10 == 0 {
            for (transaction, model) in &open {
                check(&bench, transaction, model, step);
            }
            check(&bench, &bench.begin(), &committed, step);
        }
    }
    open.clear();
    bench.sweep_all();
    check(&bench, &bench.begin(), &committed, 0);
    assert_eq!(bench.sizes()[0], 0);
    assert_eq!(bench.count(Space::Changes(bench.layout.id)), 0);
    for index in [PRIMARY, NAME, NAME_DESCENDING] {
        assert_eq!(bench.count(Space::Index(index)), committed.len(), "{index:?}");
    }
    let layouts = [Arc::clone(&bench.layout)];
    let report = bench
        .store
        .check(&layouts, &farbird_store::AmpleRoom, &mut |_| (), &CancelFlag::new())
        .expect("check");
    assert!(report.is_sound(), "{:?}", report.findings);
    assert_eq!(report.orphan_blobs, 0);
    let transaction = bench.begin();
    for id in committed.keys() {
        delete(&transaction, &bench.layout, *id).expect("delete");
    }
    transaction.commit().expect("commit");
    bench.sweep_all();
    assert_eq!(BLOB_SPACES.map(|space| bench.count(space)), [0, 0, 0]);
}

/// As [`delete`], of a row that may be gone.
fn try_delete(transaction: &Transaction, layout: &Arc<RelationLayout>, id: i64) -> farbird_store::Result<()> {
    let view = transaction.view()?;
    find(transaction, layout, &view, id).map_or(Ok(()), |row_id| transaction.delete(layout, &view, row_id))
}

/// Replaces a row that may be gone.
fn try_update(
    transaction: &Transaction,
    layout: &Arc<RelationLayout>,
    id: i64,
    row: &mut [Value],
) -> farbird_store::Result<()> {
    let view = transaction.view()?;
    find(transaction, layout, &view, id)
        .map_or(Ok(()), |row_id| transaction.update(layout, &view, row_id, row))
}

/// What a transaction saw when it began.
fn rows_at(bench: &Bench, transaction: &Transaction, snapshot: farbird_store::CommitNumber) -> Model {
    let options = farbird_store::TransactionOptions { snapshot_at: Some(snapshot), ..SNAPSHOT };
    assert_eq!(transaction.snapshot(), snapshot);
    rows(&begin(&bench.store, options), &bench.layout).into_iter().collect()
}

fn check(bench: &Bench, transaction: &Transaction, model: &Model, step: i64) {
    let seen = rows(transaction, &bench.layout);
    assert_eq!(seen.len(), model.len(), "step {step}");
    assert_eq!(seen.into_iter().collect::<Model>(), *model, "step {step}");
    check_blobs(bench, transaction, step);
    let by_key = by_index(transaction, &bench.layout, PRIMARY, KeyRange::all(), ScanDirection::Descending);
    assert!(by_key.iter().rev().map(|(id, name)| (id, name)).eq(model.iter()), "step {step}");
    let mut names: Vec<_> = model.values().cloned().collect();
    names.sort();
    let by_name = by_index(transaction, &bench.layout, NAME, KeyRange::all(), ScanDirection::Ascending);
    assert!(by_name.into_iter().map(|(_, name)| name).eq(names), "step {step}");
}

/// Every row has the BLOB that its name tells of.
fn check_blobs(bench: &Bench, transaction: &Transaction, step: i64) {
    let view = transaction.view().expect("view");
    let mut scan = RelationScan::new(Arc::clone(&bench.layout), view, Projection::of([1, 2]));
    let mut batch = RowBatch::new();
    while scan.next_batch(transaction, 100, &mut batch).expect("scan") {
        for index in 0..batch.len() {
            let name = text(&batch.value(index, 0));
            let number = name.split_once('/').map(|(_, number)| number.parse().expect("number"));
            let found = match batch.value(index, 1) {
                Value::Blob(blob) => {
                    let mut reader = transaction.open_blob(blob).expect("open");
                    Some(reader.read_all(transaction, 1 << 20).expect("read"))
                }
                _ => None,
            };
            assert!(found == number.map(contents), "step {step}: the BLOB of row {name}");
        }
    }
}
