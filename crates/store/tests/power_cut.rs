//! Power cuts at every write and sync of random workloads: what was acknowledged is whole, the rest is absent, indexes,
//! counts and BLOBs agree, and the database opens; also if the power goes again while it opens.
//!
//! `FARBIRD_CRASH_POINTS` sets how many points are tried at least, `FARBIRD_SEED` the workload to begin with: a test that
//! fails says which one to give to see it fail again.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::workload::{Journal, Model, SEQUENCE, Worker, begin, contents, is_same, open, open_with_layouts};
use common::*;
use farbird_sim::{Image, Random, Recording, SimulatedDisk};
use farbird_store::log::{LoggedSubstrate, ROOM_BYTES_DEFAULT};
use farbird_store::substrate::{ALL_KEYS, Direction, Durability, Space, Substrate, WriteBatch};
use farbird_store::{Store, StoreError};
use farbird_types::Value;

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// What a power cut after `point` changes may have left of a workload.
#[derive(Clone, Copy)]
struct Crash<'a> {
    seed: u64,
    point: usize,
    journal: &'a Journal,
}

impl Crash<'_> {
    /// How to see it again.
    fn fail(&self, what: &str) -> ! {
        let Crash { seed, point, .. } = self;
        panic!(
            "{what}; FARBIRD_SEED={seed} FARBIRD_CRASH_POINTS=1 begins with this workload: after change {point}"
        )
    }

    fn opened(&self, disk: &SimulatedDisk) -> Store {
        open_with_layouts(disk).unwrap_or_else(|error| self.fail(&format!("does not open: {error}")))
    }

    fn found(&self, store: &Store) -> Model {
        contents(store).unwrap_or_else(|error| self.fail(&format!("cannot be read: {error}")))
    }

    /// What is there is one of the possible states; and sound.
    fn verify(&self, store: &Store) -> Model {
        let found = self.found(store);
        let possible = self.journal.possible(self.point);
        if !possible.iter().any(|model| is_same(&found, model)) {
            let kept = |model: &Arc<Model>| (model.schema, model.rows.len(), model.others.len());
            let possible: Vec<_> = possible.iter().map(kept).collect();
            let rows = found.rows.len();
            self.fail(&format!("holds {rows} rows, {:?}; possible were {possible:?}", found.schema));
        }
        self.check(store);
        found
    }

    /// Gives the number of BLOBs that nobody has.
    fn check(&self, store: &Store) -> u64 {
        let layouts = found_layouts(store);
        let report =
            store.check(&layouts, &farbird_store::AmpleRoom, &mut |_| (), &farbird_store::CancelFlag::new());
        let report = report.unwrap_or_else(|error| self.fail(&format!("cannot be checked: {error}")));
        if !report.findings.is_empty() {
            self.fail(&format!("is damaged: {:?}", report.findings));
        }
        report.orphan_blobs
    }

    /// It is used like any other database.
    fn verify_use(&self, store: &Store, found: &Model) {
        while store.sweep(10).unwrap_or_else(|error| self.fail(&format!("cannot be swept: {error}"))) > 0 {}
        if self.found(store) != *found {
            self.fail("the sweep changes what is seen");
        }
        let orphans = self.check(store);
        if orphans > 0 {
            self.fail(&format!("keeps {orphans} BLOBs that nobody has"));
        }
        let value = store.sequence_next(SEQUENCE, 1).expect("next");
        if value <= self.journal.greatest_value(self.point) {
            self.fail("the sequence gives a value again");
        }
        let transaction = begin(store).expect("begin");
        let mut row = vec![Value::integer(-1), Value::text("after"), Value::Null];
        row.extend(found.schema.has_extra.then_some(Value::Null));
        transaction.insert(&found.schema.table(), &mut row).expect("insert");
        transaction.commit().unwrap_or_else(|error| self.fail(&format!("does not commit: {error}")));
    }

    /// The power goes, and now and then again while the database is opened and used.
    fn play(&self, image: Image, random: &mut Random) {
        let disk = SimulatedDisk::holding(image);
        let goes_again = random.once_in(4);
        if goes_again {
            disk.record();
        }
        let store = self.opened(&disk);
        let found = self.verify(&store);
        if !goes_again {
            if random.once_in(8) {
                self.verify_use(&store, &found);
            }
            return;
        }
        // Whoever has read from it will find the same again, whether it was closed or not.
        let opened = disk.recorded();
        let closes = random.once_in(2);
        if closes {
            drop(store);
        } else {
            std::mem::forget(store);
        }
        let recording = disk.take_recording();
        let at_once = SimulatedDisk::holding(recording.after_power_cut(opened, random));
        if self.verify(&self.opened(&at_once)) != found {
            self.fail("what was read after a crash is gone after the next one");
        }
        let while_opening = random.below(recording.len() as u64 + 1) as usize;
        let disk = SimulatedDisk::holding(recording.after_power_cut(while_opening, random));
        self.verify(&self.opened(&disk));
    }
}

fn found_layouts(store: &Store) -> Vec<Arc<farbird_store::RelationLayout>> {
    common::workload::Schema::read(store).expect("catalog").layouts()
}

/// Runs a workload and cuts the power after each change of the disk; gives the number of points.
fn every_point_of(seed: u64) -> u64 {
    let disk = SimulatedDisk::default();
    let store = open_with_layouts(&disk).expect("create");
    common::workload::Schema::default().register(&store);
    disk.record();
    let mut worker = Worker::new(&disk, seed);
    worker.run(&store, 25).unwrap_or_else(|error| panic!("FARBIRD_SEED={seed}: {error}"));
    store.close().expect("close");
    drop(store);
    let recording: Recording = disk.take_recording();
    let mut random = Random::new(seed ^ 0xFA_B1_2D);
    for point in 0..=recording.len() {
        let image = recording.after_power_cut(point, &mut random);
        Crash { seed, point, journal: &worker.journal }.play(image, &mut random);
    }
    recording.len() as u64 + 1
}

#[test]
fn every_power_cut_leaves_what_was_acknowledged() {
    let wanted = variable("FARBIRD_CRASH_POINTS", 10_000);
    let next_seed = AtomicU64::new(variable("FARBIRD_SEED", 1));
    let points = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while points.load(Ordering::SeqCst) < wanted {
                    let seed = next_seed.fetch_add(1, Ordering::SeqCst);
                    points.fetch_add(every_point_of(seed), Ordering::SeqCst);
                }
            });
        }
    });
    println!("{} power cuts", points.into_inner());
}

/// Commits of several threads, which share their writes to the disk.
#[test]
fn power_cuts_amid_commits_that_share_a_write_keep_each_of_them_whole() {
    const THREADS: i64 = 3;
    let layout = layout();
    let disk = SimulatedDisk::default();
    let store = open(&disk).expect("create");
    store.register_layout(Arc::clone(&layout));
    disk.record();
    // By thread: when its commits were begun and acknowledged. Commit n inserts the rows n x 10 to n x 10 + 4.
    let times: Vec<Vec<(usize, usize)>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (store, layout, disk) = (&store, &layout, &disk);
                scope.spawn(move || {
                    let commit = |number: i64| {
                        let transaction = begin(store).expect("begin");
                        for row in 0..5 {
                            insert(&transaction, layout, thread * 100_000 + number * 10 + row, "row");
                        }
                        let begun = disk.recorded();
                        transaction.commit().expect("commit");
                        (begun, disk.recorded())
                    };
                    (0..40).map(commit).collect()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("thread")).collect()
    });
    drop(store);
    let recording = disk.take_recording();
    let mut random = Random::new(variable("FARBIRD_SEED", 1));
    for point in 0..=recording.len() {
        let disk = SimulatedDisk::holding(recording.after_power_cut(point, &mut random));
        let store = open(&disk).expect("open");
        let ids: Vec<i64> =
            rows(&begin(&store).expect("begin"), &layout).into_iter().map(|row| row.0).collect();
        for (thread, times) in (0..THREADS).zip(&times) {
            let count = ids.iter().filter(|id| *id / 100_000 == thread).count();
            let acknowledged = times.iter().filter(|(_, acknowledged)| *acknowledged <= point).count();
            let begun = times.iter().filter(|(begun, _)| *begun < point).count();
            assert_eq!(count % 5, 0, "half a commit after change {point}");
            assert!((acknowledged..=begun.max(acknowledged)).contains(&(count / 5)), "after change {point}");
        }
    }
}

/// Batches that fill a good part of the log: some are records of it, some are checkpoints.
#[test]
fn power_cuts_amid_large_batches_keep_each_of_them_whole() {
    const PARTS: u8 = 40;
    let disk = SimulatedDisk::default();
    let open = |disk: &SimulatedDisk| {
        LoggedSubstrate::on_backend(disk.clone(), 1 << 20, ROOM_BYTES_DEFAULT).expect("open")
    };
    let substrate = open(&disk);
    disk.record();
    // By batch: when it was begun and acknowledged.
    let times: Vec<(usize, usize)> = (1..=5u8)
        .map(|number| {
            let mut batch = WriteBatch::new();
            for part in 0..PARTS {
                batch.put(Space::Catalog, vec![part], vec![number; 35_000]);
            }
            let begun = disk.recorded();
            substrate.write(batch, Durability::Durable).expect("write");
            (begun, disk.recorded())
        })
        .collect();
    std::mem::forget(substrate);
    let recording = disk.take_recording();
    let mut random = Random::new(variable("FARBIRD_SEED", 1));
    for point in 0..=recording.len() {
        let disk = SimulatedDisk::holding(recording.after_power_cut(point, &mut random));
        let opened = open(&disk);
        let snapshot = opened.snapshot().expect("snapshot");
        let entries = snapshot.scan(Space::Catalog, ALL_KEYS, Direction::Forward).expect("scan");
        let found: Vec<u8> = entries.map(|entry| entry.expect("entry").1[0]).collect();
        let number = found.first().copied().unwrap_or(0);
        assert!(found.iter().all(|other| *other == number), "half a batch after change {point}: {found:?}");
        assert_eq!(found.len(), if number == 0 { 0 } else { usize::from(PARTS) }, "after change {point}");
        let acknowledged = times.iter().filter(|(_, acknowledged)| *acknowledged <= point).count();
        let begun = times.iter().filter(|(begun, _)| *begun < point).count();
        let possible = acknowledged..=begun.max(acknowledged);
        assert!(possible.contains(&usize::from(number)), "{number} of {possible:?} after change {point}");
    }
}

/// The creation of a database was not acknowledged either: it is there and empty, or it says what to do.
#[test]
fn power_cuts_while_a_database_is_created_leave_nothing_that_misleads() {
    let disk = SimulatedDisk::default();
    disk.record();
    drop(open(&disk).expect("create"));
    let recording = disk.take_recording();
    let mut random = Random::new(5);
    for point in (0..=recording.len()).flat_map(|point| [point; 8]) {
        let disk = SimulatedDisk::holding(recording.after_power_cut(point, &mut random));
        match open(&disk) {
            Ok(store) => assert!(rows(&begin(&store).expect("begin"), &layout()).is_empty()),
            Err(StoreError::Corrupt { what }) => assert!(what.contains("creation"), "{what}"),
            Err(error) => panic!("{error}"),
        }
    }
}
