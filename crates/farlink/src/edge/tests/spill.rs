//! Rows and BLOBs beyond what has room in memory.

use std::collections::HashMap;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::{SpillPlace, SpillStore};
use super::*;

/// A disk that may fail.
#[derive(Debug, Default)]
struct Disk {
    kept: Mutex<HashMap<u32, Vec<u8>>>,
    is_full: AtomicBool,
    is_unreadable: AtomicBool,
}

impl Disk {
    fn pieces(&self) -> usize {
        self.kept.lock().unwrap().len()
    }
}

impl SpillStore for Disk {
    fn put(&self, bytes: &[u8]) -> io::Result<SpillPlace> {
        if self.is_full.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let mut kept = self.kept.lock().unwrap();
        let number = (0..).find(|number| !kept.contains_key(number)).unwrap();
        kept.insert(number, bytes.to_vec());
        Ok(SpillPlace { blocks: std::iter::once(number..number + 1).collect(), length: bytes.len() })
    }

    fn get(&self, place: &SpillPlace) -> io::Result<Vec<u8>> {
        if self.is_unreadable.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Other.into());
        }
        Ok(self.kept.lock().unwrap()[&place.blocks[0].start].clone())
    }

    fn free(&self, place: &SpillPlace) {
        self.kept.lock().unwrap().remove(&place.blocks[0].start).expect("it is freed once");
    }
}

/// Room for the rows of two messages in memory, and for those of twenty elsewhere.
const LIMITS: fn() -> Limits = || Limits {
    cursor_bytes: 1_000,
    cursor_bytes_least: 10,
    program_row_bytes: 500,
    edge_row_bytes: 500,
    spill_bytes: 4_000,
    program_spill_bytes: 4_000,
    speculates: false,
    ..Limits::default()
};
/// Rows in a message: 200 bytes.
const IN_MESSAGE: i64 = 10;

fn spilling(limits: Limits) -> (Arc<Site>, Arc<Disk>, Played) {
    let site = Site::new(limits);
    site.message(&ToEdge::Welcome { is_farbird: true, server: String::new() });
    let disk = Arc::new(Disk::default());
    site.spill_to(disk.clone());
    let mut played = Played::attached(&site, 1);
    played.says(&begin());
    played.answers(1);
    (site, disk, played)
}

/// Opens a cursor from which one row is wanted; gives it, and what may be sent.
fn opened(played: &mut Played, statement: u16) -> (Cursor, u32) {
    played.prepares(1, statement, &format!("{SQL} where a = {statement}"), 1);
    played.says(&execute(1, statement));
    let asked = played.asked();
    let [Ask::Open { id, cursor, .. }] = &asked[..] else { panic!("{asked:?}") };
    let (id, cursor) = (*id, *cursor);
    played.replies(id, &[made(1)]);
    played.answers(1);
    played.says(&fetch(statement, 1));
    let asked = played.asked();
    let [Ask::Push { push, .. }] = &asked[..] else { panic!("{asked:?}") };
    (cursor, push.credit)
}

/// Rows come: those of a message, from this number on.
fn come(played: &mut Played, cursor: Cursor, from: i64, end: Option<End>) {
    let numbers: Vec<i64> = (from..from + IN_MESSAGE).collect();
    let packets = packets_of(&numbers, played.version);
    played.tell(Tell::Rows { cursor, packets, rows: 10, end });
}

/// What the program has got of a fetch.
fn numbers(played: &mut Played) -> Vec<i64> {
    played.rows().0
}

#[test]
fn rows_without_room_in_memory_come_from_elsewhere_in_their_order() {
    let (site, disk, mut played) = spilling(LIMITS());
    let (cursor, credit) = opened(&mut played, 2);
    assert_eq!(credit, 1_000);
    for message in 0..5 {
        let end = (message == 4).then_some(End::Complete);
        come(&mut played, cursor, message * IN_MESSAGE, end);
    }
    assert_eq!(numbers(&mut played), [0]);
    assert_eq!(disk.pieces(), 3, "of five messages two have room");
    assert_eq!(site.memory().spilled.rows, 600);
    let mut seen = vec![0];
    for count in [3, 17, 1, 100] {
        played.says(&fetch(2, count));
        seen.extend(numbers(&mut played));
    }
    assert_eq!(seen, (0..50).collect::<Vec<_>>());
    assert_eq!((disk.pieces(), site.memory().spilled.rows), (0, 0));
    assert_eq!(site.memory().spilled.in_all, 600);
}

#[test]
fn cursors_do_not_mix() {
    let (_, disk, mut played) = spilling(LIMITS());
    let first = opened(&mut played, 2).0;
    come(&mut played, first, 0, None);
    assert_eq!(numbers(&mut played), [0]);
    let second = opened(&mut played, 3).0;
    for message in 0..4 {
        come(&mut played, second, 1_000 + message * IN_MESSAGE, None);
        come(&mut played, first, 10 + message * IN_MESSAGE, None);
    }
    assert_eq!(numbers(&mut played), [1_000]);
    assert!(disk.pieces() >= 6, "{}", disk.pieces());
    for turn in 0..4 {
        for (statement, from) in [(2, 1), (3, 1_001)] {
            played.says(&fetch(statement, 9));
            let from = from + turn * 9;
            assert_eq!(numbers(&mut played), (from..from + 9).collect::<Vec<_>>());
        }
    }
    played.says(&free(2, 1));
    played.says(&free(3, 1));
    assert_eq!(disk.pieces(), 0, "closed cursors keep nothing");
}

#[test]
fn more_cursors_have_room_at_a_time_than_in_memory() {
    let (site, _, mut played) = spilling(LIMITS());
    let mut credits = Vec::new();
    for statement in 2..8 {
        let (cursor, credit) = opened(&mut played, statement);
        credits.push(credit);
        played.tell(Tell::Rows { cursor, packets: Vec::new(), rows: 0, end: Some(End::Complete) });
        played.output.clear();
    }
    assert_eq!(credits, [1_000, 1_000, 1_000, 1_000, 500, 10]);
    assert_eq!(site.memory().rows, 4_510);
}

#[test]
fn rows_that_a_full_disk_refuses_stay_in_memory_and_fewer_are_asked_for() {
    let (site, disk, mut played) = spilling(LIMITS());
    let cursor = opened(&mut played, 2).0;
    disk.is_full.store(true, Ordering::Relaxed);
    for message in 0..5 {
        come(&mut played, cursor, message * IN_MESSAGE, None);
    }
    assert_eq!(numbers(&mut played), [0]);
    assert_eq!((disk.pieces(), site.memory().spilled.failures), (0, 3));
    played.says(&fetch(2, 49));
    assert_eq!(numbers(&mut played), (1..50).collect::<Vec<_>>());
    assert_eq!(opened(&mut played, 3).1, 10, "no more than has room in memory");
}

#[test]
fn beyond_the_limit_rows_stay_in_memory() {
    let (site, disk, mut played) = spilling(Limits { spill_bytes: 450, ..LIMITS() });
    let cursor = opened(&mut played, 2).0;
    for message in 0..5 {
        come(&mut played, cursor, message * IN_MESSAGE, None);
    }
    assert_eq!((disk.pieces(), site.memory().spilled.rows), (2, 400));
    assert_eq!(numbers(&mut played), [0]);
    played.says(&fetch(2, 49));
    assert_eq!(numbers(&mut played), (1..50).collect::<Vec<_>>());
}

#[test]
fn rows_that_cannot_be_read_again_end_the_connection() {
    let (_, disk, mut played) = spilling(LIMITS());
    let cursor = opened(&mut played, 2).0;
    for message in 0..5 {
        come(&mut played, cursor, message * IN_MESSAGE, None);
    }
    assert_eq!(numbers(&mut played), [0]);
    disk.is_unreadable.store(true, Ordering::Relaxed);
    played.says(&fetch(2, 49));
    assert!(played.machine.is_ended());
    drop(played);
    assert_eq!(disk.pieces(), 0);
}

#[test]
fn nothing_is_kept_of_a_program_that_is_gone() {
    for is_lost in [true, false] {
        let (site, disk, mut played) = spilling(LIMITS());
        let cursor = opened(&mut played, 2).0;
        for message in 0..5 {
            come(&mut played, cursor, message * IN_MESSAGE, None);
        }
        assert_eq!(disk.pieces(), 3);
        if is_lost {
            played.machine.closed("the link was lost");
        } else {
            played.machine.disconnected();
        }
        drop(played);
        assert_eq!((disk.pieces(), site.memory().spilled.rows, site.memory().rows), (0, 0, 0));
    }
}

#[test]
fn the_oldest_blobs_make_room_and_are_read_from_elsewhere() {
    // Room for one in memory.
    let limits = Limits { cursor_bytes: 400, program_blob_bytes: 250, spill_bytes: 150, ..LIMITS() };
    let (site, disk, mut played) = spilling(limits);
    let cursor = opened(&mut played, 2).0;
    let facts = BlobFacts { segments: 2, longest_segment: 50, length: 51, is_stream: false };
    let segments = |of: u8| [&[50, 0][..], &[of; 50], &[1, 0, b'.']].concat();
    for blob in 1..=4_u8 {
        played.tell(Tell::Blob {
            cursor,
            blob: u64::from(blob),
            information: Some(facts),
            offset: 0,
            segments: segments(blob),
            is_last: true,
        });
    }
    assert_eq!((disk.pieces(), site.memory().spilled.blobs), (2, 110), "a third has no room there");
    assert_eq!(site.counters().blobs_evicted, 1);
    played.tell(Tell::Rows { cursor, packets: Vec::new(), rows: 0, end: Some(End::Complete) });
    played.output.clear();
    let mut is_here = Vec::new();
    for blob in 1..=4_u8 {
        played.says(&open_blob(1, u64::from(blob)));
        let asked = played.asked();
        is_here.push(asked.is_empty());
        if let [Ask::OpenBlob { id, .. }] = asked[..] {
            played.replies(id, &[made(77)]);
            played.output.clear();
            continue;
        }
        let handle = played.response().object;
        played.says(&Request::GetSegment(segment(handle.0, 100, &[])));
        let response = played.response();
        assert_eq!((response.object, response.data), (Handle(2), segments(blob)), "all of BLOB {blob}");
    }
    assert_eq!(is_here.iter().filter(|is_here| **is_here).count(), 3, "{is_here:?}");
    assert!(is_here[3], "the newest is in memory");
    // The server has those still that cannot be read again.
    disk.is_unreadable.store(true, Ordering::Relaxed);
    for blob in (1..=3_u64).filter(|blob| is_here[usize::try_from(*blob).unwrap() - 1]) {
        played.says(&open_blob(1, blob));
        assert!(matches!(&played.asked()[..], [Ask::OpenBlob { .. }]));
    }
    assert_eq!(disk.pieces(), 0);
    played.says(&Request::Commit(Handle(1)));
    played.machine.disconnected();
    drop(played);
    assert_eq!((site.memory().spilled.blobs, site.memory().blobs), (0, 0));
}
