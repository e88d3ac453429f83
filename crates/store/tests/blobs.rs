//! BLOBs: segments, streams, ownership, and what happens to those that nobody takes.

mod common;

use common::*;
use farbird_store::{
    BlobOptions, BlobReader, SeekFrom, SegmentRead, Store, StoreError, StoreOptions, Transaction,
};
use farbird_types::{BlobId, Value};

/// Bytes that do not repeat in short periods.
fn bytes(count: usize) -> Vec<u8> {
    (0..count as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn write(transaction: &Transaction, options: BlobOptions, segments: &[&[u8]]) -> BlobId {
    let mut writer = transaction.create_blob(options).expect("create");
    for segment in segments {
        writer.write_segment(transaction, segment).expect("write");
    }
    writer.close(transaction).expect("close")
}

fn segments(transaction: &Transaction, id: BlobId) -> Vec<Vec<u8>> {
    let mut reader = transaction.open_blob(id).expect("open");
    let mut segments = Vec::new();
    let mut current = Vec::new();
    loop {
        match reader.read_segment(transaction, 1_000, &mut current).expect("read") {
            SegmentRead::Incomplete => {}
            SegmentRead::Complete => segments.push(std::mem::take(&mut current)),
            SegmentRead::End => return segments,
        }
    }
}

fn insert_blob(transaction: &Transaction, blob: BlobId) -> BlobId {
    let mut row = [Value::integer(1), Value::Null, Value::Blob(blob)];
    transaction.insert(&layout_with(Vec::new()), &mut row).expect("insert");
    match row[2] {
        Value::Blob(id) => id,
        _ => unreachable!("a blob stays a blob"),
    }
}

fn all(reader: &mut BlobReader, transaction: &Transaction) -> Vec<u8> {
    reader.read_all(transaction, 10 << 20).expect("read")
}

#[test]
fn contents_and_segments_come_back_whatever_their_size() {
    let store = memory_store();
    for size in [0, 1, 15_900, 15_901, 16_000, 60_000, 70_000, 5_000_000] {
        let contents = bytes(size);
        for step in [7_000, 32_000, 65_535] {
            let pieces: Vec<&[u8]> = contents.chunks(step).collect();
            let transaction = begin(&store, SNAPSHOT);
            let id = write(&transaction, BlobOptions::default(), &pieces);
            let check = |transaction: &Transaction| {
                assert_eq!(segments(transaction, id), pieces);
                let mut reader = transaction.open_blob(id).expect("open");
                assert_eq!(all(&mut reader, transaction), contents);
                let properties = reader.properties();
                assert_eq!(properties.bytes, size as u64);
                assert_eq!(properties.segments, pieces.len() as u64);
                assert_eq!(properties.segment_bytes_max, size.min(step) as u64);
            };
            check(&transaction);
            assert_eq!(insert_blob(&transaction, id), id);
            transaction.commit().expect("commit");
            check(&begin(&store, SNAPSHOT));
        }
    }
}

#[test]
fn segments_of_uneven_lengths_are_kept() {
    let store = memory_store();
    let transaction = begin(&store, SNAPSHOT);
    let contents = bytes(4_000_000);
    let mut pieces: Vec<&[u8]> = Vec::new();
    let mut rest = &contents[..];
    for length in (0..200).cycle() {
        let (piece, tail) = rest.split_at(rest.len().min(length));
        pieces.push(piece);
        rest = tail;
        if rest.is_empty() {
            break;
        }
    }
    let id = write(&transaction, BlobOptions::default(), &pieces);
    assert_eq!(segments(&transaction, id), pieces);
    let empty = write(&transaction, BlobOptions::default(), &[b"", b"", b"a", b""]);
    assert_eq!(segments(&transaction, empty), [&b""[..], b"", b"a", b""]);
}

#[test]
fn streams_can_be_sought_in_and_segmented_blobs_cannot() {
    let store = memory_store();
    let transaction = begin(&store, SNAPSHOT);
    let contents = bytes(100_000);
    let id = write(&transaction, BlobOptions { stream: true, ..BlobOptions::default() }, &[&contents]);
    let mut reader = transaction.open_blob(id).expect("open");
    let mut read = |from, offset, expected_place: usize| {
        assert_eq!(reader.seek(from, offset).expect("seek"), expected_place as u64);
        let mut out = Vec::new();
        reader.read_segment(&transaction, 50, &mut out).expect("read");
        let end = contents.len().min(expected_place + 50);
        assert_eq!(out, contents[expected_place..end]);
    };
    read(SeekFrom::Start, 31_990, 31_990);
    read(SeekFrom::Current, -100, 31_940);
    read(SeekFrom::End, -20, 99_980);
    read(SeekFrom::End, 5, 100_000);
    read(SeekFrom::Start, -5, 0);
    let segmented = write(&transaction, BlobOptions::default(), &[b"abc"]);
    let refused =
        transaction.open_blob(segmented).expect("open").seek(SeekFrom::Start, 0).expect_err("segmented");
    assert!(matches!(refused, StoreError::BlobMisuse(_)));
}

/// Words in an order that does not repeat itself: compresses like text.
fn words(count: usize) -> Vec<u8> {
    let words = ["the ", "house ", "by ", "a ", "river, ", "white ", "and ", "of ", "old ", "trees. "];
    let picked =
        (0u32..).flat_map(|i| words[(i.wrapping_mul(2_654_435_761) >> 20) as usize % words.len()].bytes());
    picked.take(count).collect()
}

#[test]
fn any_part_of_a_stream_can_be_read_whether_it_is_compressed_or_not() {
    let store = memory_store();
    let transaction = begin(&store, SNAPSHOT);
    for size in [100, 15_000, 16_000, 40_000, 63_999, 64_000, 64_001, 300_000] {
        // Text, noise, and text that becomes noise after the size of its chunks has been chosen.
        let mixed = [words(size / 2), bytes(size - size / 2)].concat();
        for contents in [words(size), bytes(size), mixed] {
            let options = BlobOptions { stream: true, ..BlobOptions::default() };
            let pieces: Vec<&[u8]> = contents.chunks(30_011).collect();
            let id = write(&transaction, options, &pieces);
            let mut reader = transaction.open_blob(id).expect("open");
            for start in [0, 1, size / 3, size / 2, size - 1] {
                let length = 20_000.min(size - start);
                let mut read = Vec::new();
                reader.seek(SeekFrom::Start, start as i64).expect("seek");
                while read.len() < length {
                    let missing = length - read.len();
                    reader.read_segment(&transaction, missing, &mut read).expect("read");
                }
                assert!(read == contents[start..start + length], "{length} bytes from {start} of {size}");
            }
        }
    }
}

#[test]
fn a_blob_of_one_row_is_copied_for_another() {
    let store = memory_store();
    let transaction = begin(&store, SNAPSHOT);
    for size in [10, 100_000] {
        let contents = bytes(size);
        let id = write(&transaction, BlobOptions::default(), &[&contents]);
        assert_eq!(insert_blob(&transaction, id), id);
        let copy = insert_blob(&transaction, id);
        assert_ne!(copy, id);
        assert_eq!(segments(&transaction, copy), [contents]);
    }
    transaction.commit().expect("commit");
    let transaction = begin(&store, SNAPSHOT);
    let view = transaction.view().expect("view");
    let layout = layout_with(Vec::new());
    let row = find(&transaction, &layout, &view, 1).expect("row");
    let all = farbird_store::Projection::all();
    let mut values = transaction.read_row(&layout, &view, row, &all).expect("read").expect("row");
    let before = values[2].clone();
    values[1] = Value::text("renamed");
    transaction.update(&layout, &view, row, &mut values).expect("update");
    assert_eq!(values[2], before, "a row that keeps its blob keeps its id");
    let Value::Blob(committed) = before else { panic!("no blob") };
    let copy = insert_blob(&transaction, committed);
    assert_ne!(copy, committed);
    assert_eq!(segments(&transaction, copy), segments(&transaction, committed));
}

#[test]
fn blobs_that_no_row_took_end_with_their_transaction() {
    let store = memory_store();
    for size in [10, 100_000, 6_000_000] {
        let transaction = begin(&store, SNAPSHOT);
        let dropped = write(&transaction, BlobOptions::default(), &[&bytes(size)]);
        let savepoint = transaction.savepoint();
        let undone = write(&transaction, BlobOptions::default(), &[&bytes(size)]);
        insert_blob(&transaction, undone);
        transaction.rollback_to(savepoint).expect("rollback");
        let cancelled = transaction.create_blob(BlobOptions::default()).expect("create");
        let cancelled_id = cancelled.id();
        cancelled.cancel(&transaction).expect("cancel");
        insert(&transaction, &layout_with(Vec::new()), 1, "something to commit");
        transaction.commit().expect("commit");
        let later = begin(&store, SNAPSHOT);
        for id in [dropped, undone, cancelled_id] {
            assert!(matches!(later.open_blob(id), Err(StoreError::NoSuchBlob)));
        }
    }
}

#[test]
fn a_row_that_is_refused_leaves_its_blob_to_nobody() {
    let store = memory_store();
    let table = layout_with(vec![column_index(PRIMARY, 0, true, false)]);
    let transaction = begin(&store, SNAPSHOT);
    insert(&transaction, &table, 1, "first");
    let own = write(&transaction, BlobOptions::default(), &[&bytes(1_000)]);
    let refused = transaction.insert(&table, &mut [Value::integer(1), Value::Null, Value::Blob(own)]);
    assert!(matches!(refused, Err(StoreError::UniqueViolation { .. })));
    assert!(transaction.open_blob(own).is_ok(), "until the transaction ends");
    transaction.commit().expect("commit");
    let reader = begin(&store, SNAPSHOT);
    assert!(matches!(reader.open_blob(own), Err(StoreError::NoSuchBlob)));
}

#[test]
fn an_unknown_or_unfinished_blob_is_refused() {
    let store = memory_store();
    let transaction = begin(&store, SNAPSHOT);
    let writer = transaction.create_blob(BlobOptions::default()).expect("create");
    for id in [BlobId(0), BlobId(4_711), writer.id()] {
        assert!(matches!(transaction.open_blob(id), Err(StoreError::NoSuchBlob)));
        let mut row = [Value::integer(1), Value::Null, Value::Blob(id)];
        let refused = transaction.insert(&layout_with(Vec::new()), &mut row).expect_err("no blob");
        assert!(matches!(refused, StoreError::NoSuchBlob));
    }
}

#[test]
fn blobs_that_no_row_takes_have_a_limit() {
    let small = StoreOptions { blob_bytes_max: 50_000, temporary_blob_bytes_max: 300_000, ..options() };
    let store = Store::in_memory(small).expect("store");
    let transaction = begin(&store, SNAPSHOT);
    // What cannot be compressed.
    let mut state = 1u64;
    let contents: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    })
    .take(20_000)
    .collect();
    // Those of rows count no more.
    for _ in 0..50 {
        let id = write(&transaction, BlobOptions::default(), &[&contents]);
        insert_blob(&transaction, id);
    }
    let mut written = 0;
    let refused = loop {
        let mut writer = transaction.create_blob(BlobOptions::default()).expect("create");
        match writer.write_segment(&transaction, &contents).and_then(|()| writer.close(&transaction)) {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 50);
    };
    assert!(matches!(refused, StoreError::TooManyTemporaryBlobs { .. }), "{refused}");
    assert!(written >= 10);
    drop(transaction);
    let next = begin(&store, SNAPSHOT);
    write(&next, BlobOptions::default(), &[&contents]);
}

#[test]
fn ids_are_not_used_again_after_a_reopen() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("t.fbd");
    let mut last = BlobId(0);
    for round in 0..3 {
        let store = if round == 0 { Store::create(&path, options()) } else { Store::open(&path, options()) };
        let store = store.expect("open");
        let transaction = begin(&store, SNAPSHOT);
        let id = write(&transaction, BlobOptions::default(), &[b"x"]);
        assert!(id > last);
        last = id;
        insert_blob(&transaction, id);
        transaction.commit().expect("commit");
    }
}
