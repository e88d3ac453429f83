//! Small BLOBs that are written together stand together: they take little, come back as they were, and go one by one.

mod common;

use std::sync::Arc;

use common::*;
use farbird_store::substrate::{
    ALL_KEYS, Direction, Durability, MemorySubstrate, Space, Substrate, WriteBatch,
};
use farbird_store::{
    AmpleRoom, BlobOptions, CancelFlag, RelationLayout, SegmentRead, Store, StoreError, StoreOptions,
    Transaction,
};
use farbird_types::{BlobId, Value};

/// The part under which packs stand (docs/store.md, BLOBs).
const PACK: u8 = 3;

struct Bench {
    substrate: Arc<MemorySubstrate>,
    store: Store,
    layout: Arc<RelationLayout>,
}

impl Bench {
    fn new(options: StoreOptions) -> Bench {
        Bench::on(Arc::new(MemorySubstrate::new()), options)
    }

    fn on(substrate: Arc<MemorySubstrate>, options: StoreOptions) -> Bench {
        let store = Store::on_substrate(Arc::clone(&substrate) as Arc<_>, options).expect("open");
        let layout = layout_with(vec![column_index(PRIMARY, 0, true, false)]);
        store.register_layout(Arc::clone(&layout));
        Bench { substrate, store, layout }
    }

    fn begin(&self) -> Transaction {
        begin(&self.store, SNAPSHOT)
    }

    /// A row with a BLOB of its own.
    fn insert(&self, transaction: &Transaction, id: i64) -> BlobId {
        let blob = write(transaction, &note(id));
        let mut row = [Value::integer(id), Value::Null, Value::Blob(blob)];
        transaction.insert(&self.layout, &mut row).expect("insert");
        blob
    }

    fn delete(&self, ids: impl Iterator<Item = i64>) {
        let transaction = self.begin();
        ids.for_each(|id| delete(&transaction, &self.layout, id).expect("delete"));
        transaction.commit().expect("commit");
        while self.store.sweep(10).expect("sweep") > 0 {}
    }

    /// Entries of BLOBs, and their bytes.
    fn entries(&self) -> (usize, usize) {
        let snapshot = self.substrate.snapshot().expect("snapshot");
        let entries = [Space::Blobs, Space::BlobPages]
            .into_iter()
            .flat_map(|space| snapshot.scan(space, ALL_KEYS, Direction::Forward).expect("scan"));
        entries
            .map(|entry| entry.expect("entry"))
            .fold((0, 0), |(count, bytes), (key, value)| (count + 1, bytes + key.len() + value.len()))
    }

    /// The check finds nothing, and nothing that is nobody's.
    fn assert_sound(&self) {
        let layouts = [Arc::clone(&self.layout)];
        let report = self.store.check(&layouts, &AmpleRoom, &mut |_| (), &CancelFlag::new()).expect("check");
        assert!(report.is_sound(), "{:?}", report.findings);
        assert_eq!(report.orphan_blobs, 0);
    }
}

/// What a customer might have written, of some hundred bytes.
fn note(id: i64) -> Vec<Vec<u8>> {
    let text = format!(
        "Customer {id} rang on the {}th and asked where order {} is; told them that it leaves with van {}",
        id % 28 + 1,
        id * 7_919 % 100_000,
        id % 13
    );
    let longer = "and again, ".repeat((id % 5) as usize * 20);
    vec![text.into_bytes(), longer.into_bytes()]
}

fn write(transaction: &Transaction, segments: &[Vec<u8>]) -> BlobId {
    let mut writer = transaction.create_blob(BlobOptions::default()).expect("create");
    for segment in segments {
        writer.write_segment(transaction, segment).expect("write");
    }
    writer.close(transaction).expect("close")
}

fn read(transaction: &Transaction, blob: BlobId) -> Vec<Vec<u8>> {
    let mut reader = transaction.open_blob(blob).expect("open");
    let mut segments = Vec::new();
    let mut current = Vec::new();
    while reader.read_segment(transaction, usize::MAX, &mut current).expect("read") != SegmentRead::End {
        segments.push(std::mem::take(&mut current));
    }
    segments
}

fn is_gone(transaction: &Transaction, blob: BlobId) -> bool {
    matches!(transaction.open_blob(blob), Err(StoreError::NoSuchBlob))
}

#[test]
fn they_take_a_part_of_their_bytes_and_come_back() {
    let bench = Bench::new(options());
    let transaction = bench.begin();
    let blobs: Vec<BlobId> = (0..1_000).map(|id| bench.insert(&transaction, id)).collect();
    transaction.commit().expect("commit");
    let (count, bytes) = bench.entries();
    let written: usize = (0..1_000).map(|id| note(id).concat().len()).sum();
    assert!(count < 250 && bytes * 4 < written, "{count} entries of {bytes} bytes for {written}");
    let transaction = bench.begin();
    for (id, blob) in (0..1_000_i32).zip(&blobs).rev() {
        assert_eq!(read(&transaction, *blob), note(i64::from(id)));
    }
    assert!(is_gone(&transaction, BlobId(blobs[0].0 - 1)) && is_gone(&transaction, BlobId(blobs[999].0 + 1)));
    bench.assert_sound();
}

#[test]
fn the_sweep_packs_those_that_were_committed_one_by_one() {
    let bench = Bench::new(options());
    let blobs: Vec<BlobId> = (0..400)
        .map(|id| {
            let transaction = bench.begin();
            let blob = bench.insert(&transaction, id);
            transaction.commit().expect("commit");
            blob
        })
        .collect();
    let reader = bench.begin();
    let (count, bytes) = bench.entries();
    assert!(count >= 400);
    while bench.store.sweep(10).expect("sweep") > 0 {}
    let (packed_count, packed_bytes) = bench.entries();
    assert!(
        packed_count * 3 < count && packed_bytes * 2 < bytes,
        "{packed_count} entries of {packed_bytes} bytes"
    );
    for transaction in [reader, bench.begin()] {
        for (id, blob) in (0..).zip(&blobs) {
            assert_eq!(read(&transaction, *blob), note(id));
        }
    }
    bench.assert_sound();
    bench.delete(0..400);
    assert_eq!(bench.entries(), (0, 0));
}

#[test]
fn they_go_one_by_one_and_leave_nothing() {
    let bench = Bench::new(options());
    let transaction = bench.begin();
    let blobs: Vec<BlobId> = (0..500).map(|id| bench.insert(&transaction, id)).collect();
    transaction.commit().expect("commit");
    let (_, all_bytes) = bench.entries();
    for part in 0..5 {
        bench.delete((0..500).filter(|id| id % 5 == part));
        let transaction = bench.begin();
        for (id, blob) in (0..).zip(&blobs) {
            if id % 5 <= part {
                assert!(is_gone(&transaction, *blob), "{id} after {part}");
            } else {
                assert_eq!(read(&transaction, *blob), note(id));
            }
        }
        bench.assert_sound();
        if part == 3 {
            assert!(
                bench.entries().1 < all_bytes / 2,
                "a pack that has lost most of its members is written anew"
            );
        }
    }
    assert_eq!(bench.entries(), (0, 0));
    let snapshot = bench.substrate.snapshot().expect("snapshot");
    for prefix in ["blob pack/", "pack with gaps/"] {
        let mut meta = snapshot.scan(Space::Meta, ALL_KEYS, Direction::Forward).expect("scan");
        assert!(!meta.any(|entry| entry.expect("entry").0.starts_with(prefix.as_bytes())), "{prefix}");
    }
}

#[test]
fn those_of_transactions_at_the_same_time_are_told_apart() {
    let bench = Bench::new(options());
    let transactions = [(); 3].map(|()| bench.begin());
    let blobs: Vec<BlobId> = (0..3_000).map(|id| bench.insert(&transactions[id as usize % 3], id)).collect();
    let [first, second, third] = transactions;
    first.commit().expect("commit");
    third.commit().expect("commit");
    assert_eq!(read(&second, blobs[1]), note(1), "its own");
    second.rollback().expect("rollback");
    let transaction = bench.begin();
    for (id, blob) in (0..).zip(&blobs) {
        if id % 3 == 1 {
            assert!(is_gone(&transaction, *blob), "{id}");
        } else {
            assert_eq!(read(&transaction, *blob), note(id));
        }
    }
    bench.assert_sound();
}

#[test]
fn what_was_written_before_the_end_goes_with_the_transaction_or_a_crash() {
    let small = StoreOptions { blob_bytes_max: 5_000, ..options() };
    let mut bench = Bench::new(small.clone());
    for crash in [false, true] {
        let transaction = bench.begin();
        let kept: Vec<BlobId> = (0..200).map(|id| bench.insert(&transaction, id)).collect();
        transaction.commit().expect("commit");
        let transaction = bench.begin();
        let lost: Vec<BlobId> = (200..400).map(|id| bench.insert(&transaction, id)).collect();
        assert_eq!(read(&transaction, lost[3]), note(203));
        if crash {
            let after = Arc::new(bench.substrate.after_crash());
            drop(transaction);
            bench = Bench::on(after, small.clone());
        } else {
            transaction.rollback().expect("rollback");
        }
        let transaction = bench.begin();
        assert!(lost.iter().all(|blob| is_gone(&transaction, *blob)));
        assert!((0..).zip(&kept).all(|(id, blob)| read(&transaction, *blob) == note(id)));
        drop(transaction);
        bench.assert_sound();
        bench.delete(0..200);
        assert_eq!(bench.entries(), (0, 0));
    }
}

#[test]
fn one_that_another_row_has_too_outlives_its_own_row() {
    let bench = Bench::new(options());
    let transaction = bench.begin();
    let blobs: Vec<BlobId> = (0..100).map(|id| bench.insert(&transaction, id)).collect();
    // Those of all lengths, before and behind the commit that packs them.
    let mut taken = Vec::new();
    let mut take = |transaction: &Transaction, id: i64| {
        let mut row = [Value::integer(1_000 + id), Value::Null, Value::Blob(blobs[id as usize])];
        transaction.insert(&bench.layout, &mut row).expect("insert");
        let Value::Blob(own) = row[2] else { panic!("no blob") };
        assert_ne!(own, blobs[id as usize]);
        taken.push((id, own));
    };
    (0..50).for_each(|id| take(&transaction, id));
    transaction.commit().expect("commit");
    let transaction = bench.begin();
    (50..100).for_each(|id| take(&transaction, id));
    transaction.commit().expect("commit");
    bench.delete(0..100);
    let transaction = bench.begin();
    for (id, blob) in &taken {
        assert_eq!(read(&transaction, *blob), note(*id));
    }
    drop(transaction);
    bench.assert_sound();
    bench.delete(1_000..1_100);
    assert_eq!(bench.entries(), (0, 0));
    bench.assert_sound();
}

#[test]
fn a_damaged_pack_is_found_and_spares_the_others() {
    let bench = Bench::new(options());
    let transaction = bench.begin();
    let blobs: Vec<BlobId> = (0..500).map(|id| bench.insert(&transaction, id)).collect();
    transaction.commit().expect("commit");
    let snapshot = bench.substrate.snapshot().expect("snapshot");
    let (key, value) = snapshot
        .scan(Space::Blobs, ALL_KEYS, Direction::Forward)
        .expect("scan")
        .map(|entry| entry.expect("entry"))
        .find(|(key, _)| key[8] == PACK)
        .expect("a pack");
    let mut value = value.to_vec();
    value[100] ^= 1;
    let mut batch = WriteBatch::new();
    batch.put(Space::Blobs, key.to_vec(), value);
    bench.substrate.write(batch, Durability::Durable).expect("write");
    let bench = Bench::on(bench.substrate, options());
    let transaction = bench.begin();
    assert!(matches!(transaction.open_blob(blobs[0]), Err(StoreError::Corrupt { .. })));
    assert_eq!(read(&transaction, blobs[499]), note(499));
    let layouts = [Arc::clone(&bench.layout)];
    let report = bench.store.check(&layouts, &AmpleRoom, &mut |_| (), &CancelFlag::new()).expect("check");
    assert!(!report.is_sound());
    drop(transaction);
    // Rows with such BLOBs can be deleted all the same.
    let transaction = bench.begin();
    delete(&transaction, &bench.layout, 499).expect("delete");
    transaction.commit().expect("commit");
    while bench.store.sweep(10).expect("sweep") > 0 {}
}

#[test]
fn a_database_of_the_format_without_packs_is_opened_and_goes_on_with_them() {
    let bench = Bench::new(options());
    let singles: Vec<BlobId> = (0..20)
        .map(|id| {
            let transaction = bench.begin();
            let blob = bench.insert(&transaction, id);
            transaction.commit().expect("commit");
            blob
        })
        .collect();
    let mut batch = WriteBatch::new();
    batch.put(Space::Meta, b"format".to_vec(), 3_u64.to_le_bytes().to_vec());
    bench.substrate.write(batch, Durability::Durable).expect("write");
    let bench = Bench::on(Arc::new(bench.substrate.after_crash()), options());
    let transaction = bench.begin();
    let packed: Vec<BlobId> = (20..120).map(|id| bench.insert(&transaction, id)).collect();
    transaction.commit().expect("commit");
    let transaction = bench.begin();
    for (id, blob) in (0..).zip(singles.iter().chain(&packed)) {
        assert_eq!(read(&transaction, *blob), note(id));
    }
    let format = bench.substrate.snapshot().expect("snapshot").get(Space::Meta, b"format").expect("get");
    assert_eq!(format.as_deref(), Some(&4_u64.to_le_bytes()[..]), "older programs must refuse it");
    bench.assert_sound();
}
