//! A flipped byte anywhere in the file of a closed database is found, or it is where nothing is: it is never returned as
//! data, and no row vanishes by it.
//!
//! `FARBIRD_SEED` chooses the workload that fills the database.

mod common;

use common::workload::{Worker, contents, is_same, open_with_layouts};
use farbird_sim::{Image, Random, SimulatedDisk};
use farbird_store::check::{Location, check_pages_of};
use farbird_store::{CancelFlag, StoreError};

const PAGE_BYTES: usize = 4_096;

/// What became of a flipped byte.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// The file is not opened.
    Refused,
    /// The check of the pages names it.
    Named,
    /// Everything is as it was.
    Harmless,
}

fn filled(seed: u64) -> (Image, common::workload::Model) {
    let disk = SimulatedDisk::default();
    let store = open_with_layouts(&disk).expect("create");
    common::workload::Schema::default().register(&store);
    let mut worker = Worker::new(&disk, seed);
    worker.run(&store, 40).expect("work");
    store.close().expect("close");
    drop(store);
    (disk.image(), worker.model)
}

fn flip(image: &Image, expected: &common::workload::Model, at: usize, bits: u8) -> Outcome {
    let mut byte = [0];
    assert!(image.read(at, &mut byte));
    let mut damaged = image.clone();
    damaged.write(at, &[byte[0] ^ bits]);
    let context = format!("byte {at} ^ {bits:#x}");
    let report = check_pages_of(SimulatedDisk::holding(damaged.clone()), 1 << 20);
    let report = report.unwrap_or_else(|error| panic!("{context}: {error}"));
    assert!(report.findings.iter().all(|finding| finding.place == Location::File), "{context}");
    let store = match open_with_layouts(&SimulatedDisk::holding(damaged)) {
        Ok(store) => store,
        Err(StoreError::Corrupt { .. }) => {
            assert!(!report.is_sound(), "{context}: does not open, but is called sound");
            return Outcome::Refused;
        }
        Err(error) => panic!("{context}: {error}"),
    };
    match contents(&store) {
        Ok(found) => assert!(is_same(&found, expected), "{context}: other rows"),
        Err(StoreError::Corrupt { .. }) => {
            assert!(!report.is_sound(), "{context}: unreadable, but called sound")
        }
        Err(error) => panic!("{context}: {error}"),
    }
    let full = store
        .check(&expected.schema.layouts(), &farbird_store::AmpleRoom, &mut |_| (), &CancelFlag::new())
        .expect("check");
    assert!(full.is_sound() || !report.is_sound(), "{context}: {:?}", full.findings);
    if report.is_sound() { Outcome::Harmless } else { Outcome::Named }
}

fn seed() -> u64 {
    let seed = std::env::var("FARBIRD_SEED").ok().and_then(|value| value.parse().ok()).unwrap_or(1);
    println!("FARBIRD_SEED={seed}");
    seed
}

/// What is flipped in a byte: one bit, or more.
fn bits_at(at: usize) -> u8 {
    [1, 0x80, 0xFF, 0x10][at % 4]
}

/// How often `outcome` gives 0, 1 and 2 for the places.
fn on_all_processors(places: &[usize], outcome: impl Fn(usize) -> usize + Sync) -> [usize; 3] {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let outcome = &outcome;
    let counts: Vec<[usize; 3]> = std::thread::scope(|scope| {
        let parts = places.chunks(places.len().div_ceil(threads)).map(|places| {
            scope.spawn(move || {
                let mut counts = [0; 3];
                places.iter().for_each(|&at| counts[outcome(at)] += 1);
                counts
            })
        });
        let parts: Vec<_> = parts.collect();
        parts.into_iter().map(|part| part.join().expect("thread")).collect()
    });
    [0, 1, 2].map(|kind| counts.iter().map(|counts| counts[kind]).sum())
}

#[test]
fn a_flipped_byte_is_found_or_is_where_nothing_is() {
    let seed = seed();
    let (image, expected) = filled(seed);
    let mut random = Random::new(seed);
    // All that the two head sectors say, some bytes of every page, and as many anywhere.
    let mut places: Vec<usize> = (0..700).step_by(3).collect();
    for page in 0..image.size() / PAGE_BYTES {
        places.extend([0, 1, 2, 9, 30].map(|within| page * PAGE_BYTES + within));
        places.push(page * PAGE_BYTES + random.below(PAGE_BYTES as u64) as usize);
        places.push(random.below(image.size() as u64) as usize);
    }
    let counts = on_all_processors(&places, |at| flip(&image, &expected, at, bits_at(at)) as usize);
    let [refused, named, harmless] = counts;
    println!("{refused} refused, {named} named, {harmless} harmless");
    assert!(refused + named > places.len() / 10, "the file is nearly empty");
}

/// Where the records of the commit log stand: behind the head of the file and that of the log.
const LOG_START: usize = 4_096 + 512;
const SECTOR_BYTES: usize = 512;
/// How long the log is in these databases.
const ROOM_BYTES: usize = 24 << 10;

#[test]
fn a_flipped_byte_in_the_log_of_a_database_that_was_not_closed_is_found_or_harmless() {
    let disk = SimulatedDisk::default();
    let store = open_with_layouts(&disk).expect("create");
    common::workload::Schema::default().register(&store);
    let mut worker = Worker::new(&disk, 1);
    worker.run(&store, 12).expect("work");
    while store.sweep(10).expect("sweep") > 0 {}
    // The sweep may have left an empty log, or one that takes nothing before the next commit.
    let (table, ids) = (worker.model.schema.table(), worker.model.rows.keys().copied());
    for id in ids.take(3).collect::<Vec<i64>>() {
        let transaction = common::begin(&store, common::SNAPSHOT);
        common::delete(&transaction, &table, id).expect("delete");
        transaction.commit().expect("commit");
        worker.model.rows.remove(&id);
    }
    // Until nothing is left to do; then the latest record is noted.
    while store.sweep(10).expect("sweep") > 0 {}
    let image = disk.image();
    let mut found = 0;
    for sector in 0..image.size().saturating_sub(LOG_START).min(ROOM_BYTES) / SECTOR_BYTES {
        let at = LOG_START + sector * SECTOR_BYTES + 40;
        let mut byte = [0];
        assert!(image.read(at, &mut byte));
        let mut damaged = image.clone();
        damaged.write(at, &[byte[0] ^ 0x10]);
        match open_with_layouts(&SimulatedDisk::holding(damaged)) {
            Err(StoreError::Corrupt { .. }) => found += 1,
            Err(error) => panic!("sector {sector}: {error}"),
            Ok(store) => {
                let contents = contents(&store).expect("readable");
                assert!(is_same(&contents, &worker.model), "sector {sector}: other rows");
            }
        }
    }
    assert!(found > 0, "nothing was in the log");
}

/// A database that was not closed, with a log: as after a crash.
fn not_closed(seed: u64) -> (Image, common::workload::Model) {
    let disk = SimulatedDisk::default();
    let store = open_with_layouts(&disk).expect("create");
    common::workload::Schema::default().register(&store);
    let mut worker = Worker::new(&disk, seed);
    worker.run(&store, 40).expect("work");
    (disk.image(), worker.model)
}

/// redb has two commits in the file. The one before the latest is no answer to a damaged page: it lacks what was
/// acknowledged since, and the log has only what came behind the latest.
#[test]
fn a_flipped_byte_in_the_tree_of_a_database_that_was_not_closed_does_not_bring_back_an_older_one() {
    let seed = seed();
    let (image, expected) = not_closed(seed);
    let mut random = Random::new(seed);
    let mut places: Vec<usize> = (0..700).step_by(9).collect();
    for page in (LOG_START + ROOM_BYTES) / PAGE_BYTES..image.size() / PAGE_BYTES {
        places.extend([0; 12].map(|_| page * PAGE_BYTES + random.below(PAGE_BYTES as u64) as usize));
    }
    let [refused, unreadable, harmless] = on_all_processors(&places, |at| {
        let mut damaged = image.clone();
        let mut byte = [0];
        if damaged.read(at, &mut byte) {
            damaged.write(at, &[byte[0] ^ bits_at(at)]);
        }
        match open_with_layouts(&SimulatedDisk::holding(damaged)).map(|store| contents(&store)) {
            Err(StoreError::Corrupt { .. }) => 0,
            Ok(Err(StoreError::Corrupt { .. })) => 1,
            Ok(Ok(found)) => {
                assert!(is_same(&found, &expected), "byte {at}: other rows");
                2
            }
            Err(error) | Ok(Err(error)) => panic!("byte {at}: {error}"),
        }
    });
    println!("{refused} refused, {unreadable} unreadable, {harmless} harmless");
    assert!(refused > places.len() / 50, "the file is nearly empty");
}

#[test]
fn a_tree_that_is_older_than_its_log_is_refused() {
    let disk = SimulatedDisk::default();
    let store = open_with_layouts(&disk).expect("create");
    common::workload::Schema::default().register(&store);
    let mut worker = Worker::new(&disk, 3);
    worker.run(&store, 10).expect("work");
    let mut mixed = disk.image();
    worker.run(&store, 30).expect("work");
    let later = disk.image();
    assert!(open_with_layouts(&SimulatedDisk::holding(mixed.clone())).is_ok());
    let mut log = vec![0; ROOM_BYTES];
    assert!(later.read(LOG_START, &mut log));
    mixed.write(LOG_START, &log);
    let opened = open_with_layouts(&SimulatedDisk::holding(mixed));
    assert!(matches!(opened, Err(StoreError::Corrupt { .. })), "{:?}", opened.err());
}
