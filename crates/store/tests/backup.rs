//! Backups: what is restored is what one commit saw, whatever happened meanwhile; damage is found.

mod common;

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::backups::*;
use common::*;
use farbird_sim::Random;
use farbird_store::backup::{
    BackupContents, BackupError, BackupReader, BackupStage, BackupSummary, verify_backup, write_backup,
};
use farbird_store::{
    AmpleRoom, CancelFlag, CommitNumber, FileKind, KeyRange, Projection, RelationLayout, RowBatch,
    ScanDirection, SequenceId, Store, StoreError, StoreOptions, Transaction, TransactionOptions, Wait,
};
use farbird_types::Value;
use proptest::prelude::*;

fn back_up_to(
    store: &Store,
    layout: &Arc<RelationLayout>,
    out: impl Write,
) -> Result<BackupSummary, BackupError> {
    write_backup(&begin(store, SNAPSHOT), &contents(layout), out, &mut |_| {})
}

fn back_up(store: &Store, layout: &Arc<RelationLayout>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let summary = back_up_to(store, layout, &mut bytes).expect("backup");
    assert_eq!(summary.bytes, bytes.len() as u64);
    bytes
}

fn restore_into(
    store: &Store,
    layout: &Arc<RelationLayout>,
    input: impl Read,
) -> Result<BackupSummary, BackupError> {
    let reader = BackupReader::open(input)?;
    let catalog = reader.catalog().to_vec();
    reader.restore(store, &catalog, &[relation(layout)], &AmpleRoom, &CancelFlag::new(), &mut |_| {})
}

fn restore(layout: &Arc<RelationLayout>, bytes: &[u8]) -> Store {
    let store = memory_store();
    let summary = restore_into(&store, layout, bytes).expect("restore");
    let verified = verify_backup(bytes, &CancelFlag::new(), &mut |_| {}).expect("verify");
    assert_eq!(BackupSummary { indexes: 0, ..summary }, verified);
    store.register_layout(Arc::clone(layout));
    store
}

#[test]
fn everything_comes_back() {
    let layout = layout();
    let store = varied_store(&layout);
    let bytes = back_up(&store, &layout);
    let restored = restore(&layout, &bytes);
    let (before, after) = (begin(&store, SNAPSHOT), begin(&restored, SNAPSHOT));
    assert_same_blobs(&full_rows(&after, &layout), &full_rows(&before, &layout));
    for (index, direction) in [(NAME, ScanDirection::Ascending), (NAME_DESCENDING, ScanDirection::Descending)]
    {
        let by = |transaction| by_index(transaction, &layout, index, KeyRange::all(), direction);
        let (mut restored, mut original) = (by(&after), by(&before));
        // Rows of one key stand in the order of their numbers, which a restore gives anew.
        restored.sort();
        original.sort();
        assert_eq!(restored, original);
    }
    assert_eq!(restored.sequence_value(COUNTER).expect("value"), -4);
    assert_eq!(restored.sequence_next(COUNTER, 1).expect("next"), -3);
    assert_eq!(restored.sequence_value(SequenceId(u32::MAX)).expect("value"), i64::MIN);
    assert_eq!(restored.catalog_entries().expect("catalog"), contents(&layout).catalog);
    // New rows and BLOBs get on with the restored ones, and keys are still unique.
    let transaction = begin(&restored, SNAPSHOT);
    assert!(matches!(
        transaction.insert(&layout, &mut row(5, "again")),
        Err(StoreError::UniqueViolation { .. })
    ));
    insert_with_blob(&transaction, &layout, 200_000, false, &[b"new"]);
    transaction.commit().expect("commit");
    // A backup of the restored one holds the same.
    let again = restore(&layout, &back_up(&restored, &layout));
    assert_same_blobs(
        &full_rows(&begin(&again, SNAPSHOT), &layout),
        &full_rows(&begin(&restored, SNAPSHOT), &layout),
    );
}

#[test]
fn an_empty_database_and_a_relation_of_no_rows_come_back() {
    let layout = layout();
    let restored = restore(&layout, &back_up(&memory_store(), &layout));
    assert!(rows(&begin(&restored, SNAPSHOT), &layout).is_empty());
    let mut bytes = Vec::new();
    let nothing = BackupContents::default();
    write_backup(&begin(&memory_store(), SNAPSHOT), &nothing, &mut bytes, &mut |_| {}).expect("backup");
    let reader = BackupReader::open(&bytes[..]).expect("open");
    reader.restore(&memory_store(), &[], &[], &AmpleRoom, &CancelFlag::new(), &mut |_| {}).expect("restore");
}

/// A place to write to where something happens between the writes.
struct Meanwhile<'a> {
    bytes: Vec<u8>,
    happens: &'a mut dyn FnMut(),
}

impl Write for Meanwhile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.happens)();
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const ACCOUNTS: i64 = 2_000;
const BALANCE: i64 = 1_000;

/// Moves money between two accounts: long names make a large backup.
fn transfer(store: &Store, layout: &Arc<RelationLayout>, random: &mut Random) -> farbird_store::Result<()> {
    let transaction = begin(store, TransactionOptions { wait: Wait::Forever, ..READ_COMMITTED });
    let from = random.below(ACCOUNTS as u64) as i64;
    let to = (from + 1 + random.below(ACCOUNTS as u64 - 1) as i64) % ACCOUNTS;
    let amount = random.below(50) as i64;
    for (id, change) in [(from, -amount), (to, amount)] {
        let view = transaction.view()?;
        let mut scan = farbird_store::IndexScan::new(
            Arc::clone(layout),
            PRIMARY,
            KeyRange::equal(vec![Value::integer(id)]),
            ScanDirection::Ascending,
            view.clone(),
            Projection::of([1]),
        )?;
        let mut batch = RowBatch::new();
        assert!(scan.next_batch(&transaction, 2, &mut batch)?, "account {id} is gone");
        let before: i64 = text(&batch.value(0, 0)).trim().parse().expect("a number");
        let after = format!("{:>90}", before + change);
        transaction.update(layout, &view, batch.row_id(0), &mut row(id, &after))?;
    }
    transaction.commit().map(|_| ())
}

/// The rows as (id, name), by id.
fn sorted_rows(transaction: &Transaction, layout: &Arc<RelationLayout>) -> Vec<(i64, String)> {
    let rows = full_rows(transaction, layout);
    let mut rows: Vec<_> = rows.iter().map(|(row, _)| (integer(&row[0]), text(&row[1]))).collect();
    rows.sort();
    rows
}

fn total(transaction: &Transaction, layout: &Arc<RelationLayout>) -> i64 {
    let rows = sorted_rows(transaction, layout);
    rows.iter().map(|(_, name)| name.trim().parse::<i64>().expect("a number")).sum()
}

fn bank(layout: &Arc<RelationLayout>, options: StoreOptions) -> Store {
    let store = Store::in_memory(options).expect("open");
    store.register_layout(Arc::clone(layout));
    let transaction = begin(&store, SNAPSHOT);
    for id in 0..ACCOUNTS {
        insert(&transaction, layout, id, &format!("{BALANCE:>90}"));
    }
    transaction.commit().expect("commit");
    store
}

#[test]
fn a_backup_is_the_state_of_one_commit_while_money_moves() {
    let layout = layout();
    let store = bank(&layout, StoreOptions { background_sweep: true, ..options() });
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for seed in 0..3 {
            let (store, layout, stop) = (&store, &layout, &stop);
            scope.spawn(move || {
                let mut random = Random::new(seed);
                while !stop.load(Ordering::Relaxed) {
                    // Conflicts are undone whole; the transfer did not happen.
                    let _ = transfer(store, layout, &mut random);
                }
            });
        }
        for round in 0..2 {
            let reader = begin(&store, SNAPSHOT);
            let mut moved = 0;
            let mut random = Random::new(1_000 + round);
            let mut happens = || {
                moved += usize::from(transfer(&store, &layout, &mut random).is_ok());
                store.sweep(100).expect("sweep");
            };
            let mut out = Meanwhile { bytes: Vec::new(), happens: &mut happens };
            let summary = write_backup(&reader, &contents(&layout), &mut out, &mut |_| {}).expect("backup");
            let bytes = out.bytes;
            assert!(moved > 0, "nothing happened during the backup");
            assert!(summary.commit < store.last_commit());
            let restored = restore(&layout, &bytes);
            let after = begin(&restored, SNAPSHOT);
            assert_eq!(total(&after, &layout), ACCOUNTS * BALANCE);
            assert_eq!(sorted_rows(&after, &layout), sorted_rows(&reader, &layout));
            assert_eq!(summary.commit, reader.snapshot());
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_relation_dropped_meanwhile_is_backed_up_whole() {
    let layout = layout();
    let store = bank(&layout, options());
    let reader = begin(&store, SNAPSHOT);
    let mut dropped = false;
    let mut happens = || {
        if !dropped {
            let transaction = begin(&store, SNAPSHOT);
            for index in &layout.indexes {
                transaction.drop_index(index.id).expect("drop");
            }
            transaction.drop_relation(&layout).expect("drop");
            transaction.commit().expect("commit");
            store.unregister_layout(layout.id);
            dropped = true;
        }
        while store.sweep(10_000).expect("sweep") > 0 {}
    };
    let mut out = Meanwhile { bytes: Vec::new(), happens: &mut happens };
    write_backup(&reader, &contents(&layout), &mut out, &mut |_| {}).expect("backup");
    let bytes = out.bytes;
    assert!(dropped);
    assert_eq!(total(&begin(&restore(&layout, &bytes), SNAPSHOT), &layout), ACCOUNTS * BALANCE);
}

#[test]
fn progress_is_told_and_a_raised_flag_ends_both_ways() {
    let layout = layout();
    let store = varied_store(&layout);
    let transaction = begin(&store, SNAPSHOT);
    let mut bytes = Vec::new();
    let mut seen = Vec::new();
    let summary = write_backup(&transaction, &contents(&layout), &mut bytes, &mut |progress| {
        assert!(progress.rows <= progress.rows_total);
        seen.push((progress.rows, progress.rows_total));
    })
    .expect("backup");
    assert!(seen.len() > 20);
    assert_eq!(seen.last(), Some(&(summary.rows, summary.rows)));

    let cancel = CancelFlag::new();
    let transaction = store.begin(SNAPSHOT, Arc::clone(&cancel)).expect("begin");
    let mut cut_off = Vec::new();
    let failed = write_backup(&transaction, &contents(&layout), &mut cut_off, &mut |progress| {
        if progress.rows > 10_000 {
            cancel.cancel();
        }
    });
    assert!(matches!(failed, Err(BackupError::Database(StoreError::Cancelled))), "{failed:?}");
    assert!(matches!(
        restore_into(&memory_store(), &layout, &cut_off[..]),
        Err(BackupError::Truncated { .. })
    ));

    for stage in [BackupStage::Rows, BackupStage::Indexes] {
        let cancel = CancelFlag::new();
        let reader = BackupReader::open(&bytes[..]).expect("open");
        let failed = reader.restore(
            &memory_store(),
            &[],
            &[relation(&layout)],
            &AmpleRoom,
            &cancel,
            &mut |progress| {
                if progress.stage == stage {
                    cancel.cancel();
                }
            },
        );
        assert!(matches!(failed, Err(BackupError::Database(StoreError::Cancelled))), "{failed:?}");
    }
}

/// A disk that is full after some bytes.
struct FullAfter(usize);

impl Write for FullAfter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.min(bytes.len()) {
            0 => Err(io::ErrorKind::StorageFull.into()),
            room => {
                self.0 -= room;
                Ok(room)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_named_and_harms_nothing() {
    let layout = layout();
    let store = varied_store(&layout);
    let size = back_up(&store, &layout).len();
    for room in [0, 20, 1_000, size / 2, size - 1] {
        match back_up_to(&store, &layout, FullAfter(room)) {
            Err(BackupError::Write(error)) => assert_eq!(error.kind(), io::ErrorKind::StorageFull),
            other => panic!("{other:?}"),
        }
    }
    back_up_to(&store, &layout, FullAfter(size)).expect("room enough");
    assert_eq!(rows(&begin(&store, SNAPSHOT), &layout).len(), 19_996);
}

#[test]
fn two_rows_of_one_key_are_reported_with_the_name_of_the_index() {
    let without = layout_with(Vec::new());
    let store = memory_store();
    let transaction = begin(&store, SNAPSHOT);
    for id in [1, 2, 2] {
        insert(&transaction, &without, id, "twice");
    }
    transaction.commit().expect("commit");
    let bytes = back_up(&store, &without);
    match restore_into(&memory_store(), &layout(), &bytes[..]) {
        Err(BackupError::Index { index, relation, error: StoreError::UniqueViolation { values, .. } }) => {
            assert_eq!((index.as_str(), relation.as_str()), ("INDEX_1", "T"));
            assert_eq!(values, [Value::integer(2)]);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn other_files_are_told_for_what_they_are() {
    let open = |bytes: &[u8]| match BackupReader::open(bytes) {
        Ok(_) => panic!("opened"),
        Err(error) => error,
    };
    assert!(matches!(open(b""), BackupError::NotABackup(FileKind::Empty)));
    assert!(matches!(
        open(b"\x00\x02\x04\x0a\x00\x00\x00"),
        BackupError::NotABackup(FileKind::FirebirdBackup)
    ));
    assert!(matches!(open(b"create table t (a int);"), BackupError::NotABackup(FileKind::Other)));
    assert!(matches!(open(b"\x89FBB"), BackupError::Truncated { bytes: 4 }));
    let layout = layout();
    let mut bytes = back_up(&memory_store(), &layout);
    // A text transfer has changed the line end.
    bytes.remove(6);
    assert!(matches!(open(&bytes), BackupError::NotABackup(_)));
}

#[test]
fn a_relation_that_does_not_fit_its_catalog_entry_is_refused() {
    let layout = layout();
    let store = memory_store();
    let bytes = back_up(&store, &layout);
    let mut other = RelationLayout::clone(&layout);
    other.formats.push(other.formats[0].clone());
    other.current = 1;
    let failed = restore_into(&memory_store(), &Arc::new(other), &bytes[..]);
    assert!(matches!(failed, Err(BackupError::Damaged { .. })), "{failed:?}");
}

/// A small backup with all kinds of items.
fn small_backup() -> (Arc<RelationLayout>, Vec<u8>) {
    let layout = layout();
    let store = memory_store();
    let transaction = begin(&store, SNAPSHOT);
    for id in 0..50 {
        insert(&transaction, &layout, id, &format!("{id}"));
    }
    insert_with_blob(&transaction, &layout, 50, false, &[b"one", b"two", &noise(100_000)]);
    transaction.commit().expect("commit");
    store.sequence_set(COUNTER, 7).expect("set");
    let contents = BackupContents { catalog: vec![(b"k".to_vec(), b"v".to_vec())], ..contents(&layout) };
    let mut bytes = Vec::new();
    write_backup(&begin(&store, SNAPSHOT), &contents, &mut bytes, &mut |_| {}).expect("backup");
    (layout, bytes)
}

#[test]
fn bytes_behind_the_end_are_refused() {
    let (layout, mut bytes) = small_backup();
    bytes.push(0);
    let failed = restore_into(&memory_store(), &layout, &bytes[..]);
    assert!(matches!(failed, Err(BackupError::Damaged { .. })), "{failed:?}");
}

#[test]
fn every_truncation_is_found() {
    let (layout, bytes) = small_backup();
    for length in (0..bytes.len()).step_by(bytes.len() / 200).chain(bytes.len() - 25..bytes.len()) {
        let failed = verify_backup(&bytes[..length], &CancelFlag::new(), &mut |_| {});
        match failed {
            Err(BackupError::Truncated { bytes }) => assert!(bytes <= length as u64),
            Err(BackupError::NotABackup(FileKind::Empty)) if length == 0 => {}
            other => panic!("{length}: {other:?}"),
        }
    }
    drop(layout);
}

/// The chunk of a backup of one chunk, unpacked, and its header: to be damaged under valid checksums.
fn take_apart(bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (header, rest) = bytes.split_at(26);
    let length = u32::from_le_bytes(rest[..4].try_into().expect("4 bytes")) as usize;
    let chunk = farbird_record::compression::unpack(&rest[12..12 + length], 20 << 20).expect("unpack");
    (header.to_vec(), chunk.into_owned())
}

fn put_together(header: &[u8], chunk: &[u8]) -> Vec<u8> {
    use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};
    let mut packed = Vec::new();
    farbird_record::compression::pack(chunk, &mut packed);
    let mut bytes = header.to_vec();
    bytes.extend_from_slice(&(packed.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&xxh3_64_with_seed(&packed, 0).to_le_bytes());
    bytes.extend_from_slice(&packed);
    bytes.extend_from_slice(&0u32.to_le_bytes());
    bytes.extend_from_slice(&1u64.to_le_bytes());
    let checksum = xxh3_64(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

#[test]
fn a_backup_taken_apart_and_put_together_is_the_same() {
    let (layout, bytes) = small_backup();
    let (header, chunk) = take_apart(&bytes);
    let again = put_together(&header, &chunk);
    assert_eq!(again, bytes);
    restore(&layout, &again);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// A flipped bit anywhere is found by the checksums.
    #[test]
    fn every_flipped_bit_is_found(place in any::<prop::sample::Index>(), bit in 0..8u8) {
        let (layout, mut bytes) = small_backup();
        let place = place.index(bytes.len());
        bytes[place] ^= 1 << bit;
        let verified = verify_backup(&bytes[..], &CancelFlag::new(), &mut |_| {});
        prop_assert!(verified.is_err());
        prop_assert!(restore_into(&memory_store(), &layout, &bytes[..]).is_err());
    }

    /// Whoever makes the checksums right may still write nonsense: an error, or a database, but never a panic.
    #[test]
    fn hostile_items_never_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 1..6),
    ) {
        let (layout, bytes) = small_backup();
        let (header, mut chunk) = take_apart(&bytes);
        for (place, byte, edit) in edits {
            // Mostly near the beginning and the end, where the items are that say what follows.
            let place = match place.index(4) {
                0 => place.index(chunk.len()),
                1 | 2 => place.index(chunk.len().min(400)),
                _ => chunk.len() - 1 - place.index(chunk.len().min(400)),
            };
            match edit {
                0 => chunk[place] = byte,
                1 => { chunk.remove(place); }
                _ => chunk.insert(place, byte),
            }
        }
        let bytes = put_together(&header, &chunk);
        let _ = verify_backup(&bytes[..], &CancelFlag::new(), &mut |_| {});
        let _ = restore_into(&memory_store(), &layout, &bytes[..]);
    }
}

#[test]
fn a_backup_of_an_older_commit_shares_its_snapshot() {
    let layout = layout();
    let store = bank(&layout, options());
    let held = begin(&store, SNAPSHOT);
    let at = held.snapshot();
    let mut random = Random::new(7);
    for _ in 0..20 {
        transfer(&store, &layout, &mut random).expect("transfer");
    }
    let same = begin(&store, TransactionOptions { snapshot_at: Some(CommitNumber(at.0)), ..SNAPSHOT });
    let mut bytes = Vec::new();
    let summary = write_backup(&same, &contents(&layout), &mut bytes, &mut |_| {}).expect("backup");
    assert_eq!(summary.commit, at);
    assert_eq!(
        sorted_rows(&begin(&restore(&layout, &bytes), SNAPSHOT), &layout),
        sorted_rows(&held, &layout)
    );
}
