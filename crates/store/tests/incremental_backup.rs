//! Incremental backups: a chain of files is the backup that the last of them was, and nothing else is taken for one.

mod common;

use std::io::Cursor;
use std::sync::Arc;

use common::backups::*;
use common::*;
use farbird_store::backup::{
    BackupChain, BackupError, BackupReader, BackupSummary, IncrementHeader, KnownChunks, is_increment,
    verify_backup, write_increment,
};
use farbird_store::{AmpleRoom, BackupRecord, BuildMemory, CancelFlag, RelationLayout, Store, StoreOptions};
use proptest::prelude::*;

/// A file of a chain, as its database remembers it.
struct File {
    bytes: Vec<u8>,
    record: BackupRecord,
}

/// Backs up, leaving out what is in `earlier`, and notes it.
fn back_up_since(store: &Store, layout: &Arc<RelationLayout>, earlier: Option<&BackupRecord>) -> File {
    let level = earlier.map_or(0, |earlier| earlier.level + 1);
    let number = store.backup_history().expect("history").len() as u8;
    let header = IncrementHeader {
        level,
        guid: [number + 1; 16],
        parent: earlier.map_or([0; 16], |earlier| earlier.guid),
    };
    let known = earlier.map(|earlier| store.backup_contents(earlier).expect("read").expect("contents"));
    let mut known = KnownChunks::new(known.unwrap_or_default(), Box::new(AmpleRoom));
    let mut bytes = Vec::new();
    let transaction = begin(store, SNAPSHOT);
    let contents = contents(layout);
    let summary = write_increment(&transaction, &contents, &header, &mut known, &mut bytes, &mut |_| {});
    let summary = summary.expect("backup");
    assert_eq!(summary.bytes, bytes.len() as u64);
    let record = BackupRecord {
        id: 0,
        time_us: contents.time_us,
        level,
        is_since_guid: false,
        guid: header.guid,
        commit: summary.commit,
        chunks: 0,
        file: format!("file {number}"),
    };
    File { bytes, record: store.note_backup(record, &known.into_all()).expect("note") }
}

fn chain(files: &[&[u8]]) -> Result<BackupChain<Cursor<Vec<u8>>>, BackupError> {
    let files = files.iter().map(|file| Cursor::new(file.to_vec())).collect();
    BackupChain::open(files, Box::new(AmpleRoom), &CancelFlag::new())
}

fn verify(files: &[&[u8]]) -> Result<BackupSummary, BackupError> {
    verify_backup(chain(files)?, &CancelFlag::new(), &mut |_| {})
}

fn restore(layout: &Arc<RelationLayout>, files: &[&[u8]]) -> Store {
    let store = memory_store();
    let reader = BackupReader::open(chain(files).expect("chain")).expect("open");
    let catalog = reader.catalog().to_vec();
    let cancel = CancelFlag::new();
    reader.restore(&store, &catalog, &[relation(layout)], &AmpleRoom, &cancel, &mut |_| {}).expect("restore");
    store.register_layout(Arc::clone(layout));
    store
}

fn assert_same(restored: &Store, original: &Store, layout: &Arc<RelationLayout>) {
    assert_same_blobs(
        &full_rows(&begin(restored, SNAPSHOT), layout),
        &full_rows(&begin(original, SNAPSHOT), layout),
    );
}

fn change(store: &Store, layout: &Arc<RelationLayout>, first: i64) {
    let transaction = begin(store, SNAPSHOT);
    rename(&transaction, layout, first, "changed").expect("update");
    delete(&transaction, layout, first + 3).expect("delete");
    insert_with_blob(&transaction, layout, 300_000 + first, false, &[b"one", &noise(400_000)]);
    transaction.commit().expect("commit");
}

#[test]
fn each_level_is_restored_with_those_below_it() {
    let layout = layout();
    let store = varied_store(&layout);
    let full = back_up_since(&store, &layout, None);
    assert_same(&restore(&layout, &[&full.bytes]), &store, &layout);
    change(&store, &layout, 6_000);
    let week = back_up_since(&store, &layout, Some(&full.record));
    assert_same(&restore(&layout, &[&full.bytes, &week.bytes]), &store, &layout);
    change(&store, &layout, 12_000);
    while store.sweep(1_000).expect("sweep") > 0 {}
    let day = back_up_since(&store, &layout, Some(&week.record));
    let restored = restore(&layout, &[&full.bytes, &week.bytes, &day.bytes]);
    assert_same(&restored, &store, &layout);
    assert_eq!(restored.sequence_value(COUNTER).expect("value"), -4);
    // Another one of the same level holds what both have changed.
    let other_day = back_up_since(&store, &layout, Some(&full.record));
    assert_same(&restore(&layout, &[&full.bytes, &other_day.bytes]), &store, &layout);
}

#[test]
fn a_level_has_what_has_changed_and_little_else() {
    let layout = layout();
    let store = varied_store(&layout);
    let full = back_up_since(&store, &layout, None);
    let nothing = back_up_since(&store, &layout, Some(&full.record));
    // Of each chunk its digest is left, and the numbers of the commit.
    assert!(nothing.bytes.len() * 20 < full.bytes.len(), "{} {}", nothing.bytes.len(), full.bytes.len());
    change(&store, &layout, 6_000);
    let some = back_up_since(&store, &layout, Some(&full.record));
    assert!(some.bytes.len() * 4 < full.bytes.len(), "{} {}", some.bytes.len(), full.bytes.len());
    assert!(some.bytes.len() > nothing.bytes.len());
    let again = back_up_since(&store, &layout, Some(&some.record));
    assert!(again.bytes.len() * 20 < full.bytes.len());
}

#[test]
fn files_that_do_not_follow_each_other_are_refused() {
    let layout = layout();
    let store = varied_store(&layout);
    let first = back_up_since(&store, &layout, None);
    let second = back_up_since(&store, &layout, Some(&first.record));
    let third = back_up_since(&store, &layout, Some(&second.record));
    let other = back_up_since(&store, &layout, None);
    let (first, second, third, other) =
        (&first.bytes[..], &second.bytes[..], &third.bytes[..], &other.bytes[..]);
    assert!(verify(&[first, second, third]).is_ok());
    let refused = |files: &[&[u8]]| verify(files).expect_err("refused");
    assert!(matches!(refused(&[second]), BackupError::ChainLevel { position: 0, level: 1 }));
    assert!(matches!(refused(&[first, third]), BackupError::ChainLevel { position: 1, level: 2 }));
    assert!(matches!(refused(&[first, second, second]), BackupError::ChainLevel { position: 2, level: 1 }));
    assert!(matches!(refused(&[other, second]), BackupError::ChainOrder { position: 1 }));
    let mut whole = Vec::new();
    let transaction = begin(&store, SNAPSHOT);
    farbird_store::backup::write_backup(&transaction, &contents(&layout), &mut whole, &mut |_| {})
        .expect("whole");
    assert!(matches!(refused(&[&whole]), BackupError::NotAnIncrement { position: 0 }));
    assert!(is_increment(&mut Cursor::new(first)).expect("read"));
    assert!(!is_increment(&mut Cursor::new(&whole)).expect("read"));
    assert!(!is_increment(&mut Cursor::new(b"\x89FBBAK")).expect("read"));
    // As a backup that is whole by itself it is refused, too, and said to be what it is.
    assert!(matches!(BackupReader::open(first).err(), Some(BackupError::Increment)));
}

fn small_chain() -> (Vec<u8>, Vec<u8>) {
    let layout = layout();
    let store = memory_store();
    store.register_layout(Arc::clone(&layout));
    let transaction = begin(&store, SNAPSHOT);
    for id in 0..300 {
        insert(&transaction, &layout, id, "a name");
    }
    insert_with_blob(&transaction, &layout, 1_000, false, &[b"first", b"second"]);
    transaction.commit().expect("commit");
    let first = back_up_since(&store, &layout, None);
    let transaction = begin(&store, SNAPSHOT);
    rename(&transaction, &layout, 7, "another").expect("update");
    transaction.commit().expect("commit");
    let second = back_up_since(&store, &layout, Some(&first.record));
    (first.bytes, second.bytes)
}

#[test]
fn every_truncation_of_the_last_file_is_found() {
    let (first, second) = small_chain();
    for length in 0..second.len() {
        assert!(verify(&[&first, &second[..length]]).is_err(), "{length} of {}", second.len());
    }
    let longer = [&second[..], b"x"].concat();
    assert!(verify(&[&first, &longer]).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Flipped bits of an earlier file matter where the last one takes something from it: then they are found, and else the backup is
    /// what it was.
    #[test]
    fn flipped_bits_never_give_another_backup(of_first: bool, place in any::<prop::sample::Index>(), bit in 0..8u8) {
        let (first, second) = small_chain();
        let right = verify(&[&first, &second]).expect("whole");
        let (mut first, mut second) = (first, second);
        let file = if of_first { &mut first } else { &mut second };
        let place = place.index(file.len());
        file[place] ^= 1 << bit;
        if let Ok(summary) = verify(&[&first, &second]) {
            prop_assert!(of_first, "a bit of the last file");
            prop_assert_eq!(summary, right);
        }
    }

    #[test]
    fn hostile_files_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let (first, _) = small_chain();
        let hostile = [&first[..67], &bytes[..]].concat();
        prop_assert!(verify(&[&hostile]).is_err());
        prop_assert!(verify(&[&bytes]).is_err());
    }
}

/// Memory that is never to be had.
struct NoMemory;

impl BuildMemory for NoMemory {
    fn try_grow(&mut self, _bytes: usize) -> bool {
        false
    }

    fn shrink(&mut self, _bytes: usize) {}
}

#[test]
fn lists_that_have_no_room_are_refused() {
    let (first, second) = small_chain();
    let files = vec![Cursor::new(first), Cursor::new(second)];
    let opened = BackupChain::open(files, Box::new(NoMemory), &CancelFlag::new());
    assert!(matches!(opened.err(), Some(BackupError::TooManyChunks { .. })));
    let (layout, mut known) = (layout(), KnownChunks::new(Vec::new(), Box::new(NoMemory)));
    let header = IncrementHeader { level: 0, guid: [1; 16], parent: [0; 16] };
    let (store, mut out) = (memory_store(), Vec::new());
    let written = write_increment(
        &begin(&store, SNAPSHOT),
        &contents(&layout),
        &header,
        &mut known,
        &mut out,
        &mut |_| {},
    );
    assert!(matches!(written, Err(BackupError::TooManyChunks { .. })));
}

#[test]
fn the_history_is_kept_and_contents_of_the_latest_backups() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("history");
    let layout = layout();
    let store = Store::create(&path, StoreOptions::default()).expect("create");
    store.register_layout(Arc::clone(&layout));
    assert!(store.backup_history().expect("history").is_empty());
    let transaction = begin(&store, SNAPSHOT);
    insert(&transaction, &layout, 1, "one");
    transaction.commit().expect("commit");
    let full = back_up_since(&store, &layout, None).record;
    let levels: Vec<BackupRecord> =
        (0..10).map(|_| back_up_since(&store, &layout, Some(&full)).record).collect();
    store.close().expect("close");
    drop(store);
    let store = Store::open(&path, StoreOptions::default()).expect("open");
    let history = store.backup_history().expect("history");
    assert_eq!(history.len(), 11);
    assert_eq!(history[0], full);
    assert_eq!(history[1..], levels);
    assert_eq!(history.iter().map(|backup| backup.id).collect::<Vec<_>>(), (1..=11).collect::<Vec<_>>());
    let has_contents = |backup| store.backup_contents(backup).expect("read").is_some();
    assert!(has_contents(&full));
    assert_eq!(
        levels.iter().map(has_contents).collect::<Vec<_>>(),
        [[false; 2].as_slice(), &[true; 8]].concat()
    );
    assert_eq!(store.forget_backups(|backup| backup.id < 5).expect("forget"), 4);
    assert_eq!(store.backup_history().expect("history").first().map(|backup| backup.id), Some(5));
    assert!(!has_contents(&full));
    assert_eq!(store.forget_backups(|_| true).expect("forget"), 7);
    assert!(store.backup_history().expect("history").is_empty());
    let transaction = begin(&store, SNAPSHOT);
    assert_eq!(rows(&transaction, &layout), [(1, "one".to_owned())]);
}
