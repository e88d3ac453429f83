//! Indexes built over rows that exist are those that inserts would have made: of every kind of key, by one thread and by several,
//! with memory for all entries and with next to none.

mod common;

use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{READ_COMMITTED, SNAPSHOT, begin, memory_store};
use farbird_record::RecordFormat;
use farbird_store::{
    AmpleRoom, BuildFile, BuildMemory, BuildRoom, HelpingPlace, IndexDefinition, IndexId, IndexScan, KeyPart,
    KeyRange, KeySource, Projection, RelationId, RelationLayout, Result, RowBatch, RowId, ScanDirection,
    Store, StoreError, Transaction,
};
use farbird_types::character_set::{CharacterSet, Collation};
use farbird_types::temporal::{Date, Time, Timestamp};
use farbird_types::{SqlType, Value};

const ROWS: i64 = 40_000;

/// So many bytes for each thread, files, and threads that help.
struct NarrowRoom {
    bytes: usize,
    helpers: usize,
    files: AtomicUsize,
}

struct Memory {
    used: usize,
    most: usize,
}

struct File(std::fs::File, u64);

struct Place;

impl NarrowRoom {
    fn new(bytes: usize, helpers: usize) -> NarrowRoom {
        NarrowRoom { bytes, helpers, files: AtomicUsize::new(0) }
    }
}

impl BuildRoom for NarrowRoom {
    fn memory(&self) -> Box<dyn BuildMemory + '_> {
        Box::new(Memory { used: 0, most: self.bytes })
    }

    fn temporary_file(&self) -> Result<Box<dyn BuildFile>> {
        self.files.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(File(tempfile::tempfile()?, 0)))
    }

    fn helping_places(&self) -> Vec<Box<dyn HelpingPlace>> {
        (0..self.helpers).map(|_| Box::new(Place) as Box<dyn HelpingPlace>).collect()
    }
}

impl BuildMemory for Memory {
    fn try_grow(&mut self, bytes: usize) -> bool {
        let has_room = self.used + bytes <= self.most;
        if has_room {
            self.used += bytes;
        }
        has_room
    }

    fn shrink(&mut self, bytes: usize) {
        self.used = self.used.checked_sub(bytes).expect("no more than was taken");
    }
}

impl BuildFile for File {
    fn append(&mut self, bytes: &[u8]) -> Result<u64> {
        let place = self.0.seek(SeekFrom::End(0))?;
        self.0.write_all(bytes)?;
        self.1 += bytes.len() as u64;
        Ok(place)
    }

    fn read_at(&mut self, place: u64, out: &mut [u8]) -> Result<()> {
        self.0.seek(SeekFrom::Start(place))?;
        Ok(self.0.read_exact(out)?)
    }
}

impl HelpingPlace for Place {
    fn rests(&mut self) -> bool {
        false
    }
}

/// A relation with columns of every kind of key.
fn layout(indexes: Vec<IndexDefinition>) -> Arc<RelationLayout> {
    let format = RecordFormat::new(vec![
        SqlType::BIGINT,
        SqlType::varchar(60, CharacterSet::UTF8),
        SqlType::Double,
        SqlType::Timestamp,
        SqlType::Boolean,
        SqlType::Date,
    ]);
    Arc::new(RelationLayout {
        id: RelationId(128),
        formats: vec![format],
        current: 0,
        added_defaults: Vec::new(),
        codec: None,
        temporary: None,
        indexes,
    })
}

fn index(id: u64, slots: &[u16], descending: bool) -> IndexDefinition {
    let part = |slot: &u16| KeyPart { source: KeySource::Column(*slot), collation: Collation(0) };
    let parts = slots.iter().map(part).collect();
    IndexDefinition { id: IndexId(id as _), unique: false, descending, parts, condition: None, active: true }
}

/// Keys that come often and seldom, in order and not, NULLs, short and long texts.
fn row(number: i64) -> Vec<Value> {
    let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64) >> 8;
    let or_null = |value: Value| if mixed % 11 == 0 { Value::Null } else { value };
    let text =
        if mixed % 3 == 0 { format!("{}", mixed % 50) } else { format!("a text of some length, {mixed}") };
    vec![
        or_null(Value::integer(if number % 2 == 0 { mixed } else { mixed % 100 })),
        or_null(Value::text(&text)),
        or_null(Value::Double(mixed as f64 / 7.0)),
        or_null(Value::Timestamp(Timestamp {
            date: Date((mixed % 40_000) as i32),
            time: Time((number % 1_000) as u32),
        })),
        or_null(Value::Boolean(mixed % 2 == 0)),
        Value::Date(Date((number / 10) as i32)),
    ]
}

fn filled(layout: &Arc<RelationLayout>) -> Store {
    let store = memory_store();
    for stretch in 0..4 {
        let writer = begin(&store, SNAPSHOT);
        for number in (0..ROWS).skip(stretch * 10_000).take(10_000) {
            writer.insert(layout, &mut row(number)).expect("insert");
        }
        writer.commit().expect("commit");
    }
    // Some rows stand as versions over their blocks, some have gone.
    let writer = begin(&store, READ_COMMITTED);
    let view = writer.view().expect("view");
    for row_id in rows_by(&writer, layout, layout.indexes[0].id).into_iter().step_by(97) {
        match row_id.0 % 2 {
            0 => writer.delete(layout, &view, row_id).expect("delete"),
            _ => writer.update(layout, &view, row_id, &mut row(row_id.0 as i64 * 3)).expect("update"),
        }
    }
    writer.commit().expect("commit");
    store
}

/// The rows that the entries of an index are of, without a look at them.
fn entries_of(transaction: &Transaction, layout: &Arc<RelationLayout>, index: IndexId) -> Vec<RowId> {
    let view = transaction.view().expect("view");
    let all = KeyRange::all();
    let mut scan =
        IndexScan::new(Arc::clone(layout), index, all, ScanDirection::Ascending, view, Projection::of([0]))
            .expect("scan");
    let mut rows = Vec::new();
    while scan.next_candidates(transaction, 10_000, &mut rows).expect("entries") {}
    rows
}

fn rows_by(transaction: &Transaction, layout: &Arc<RelationLayout>, index: IndexId) -> Vec<RowId> {
    let view = transaction.view().expect("view");
    let mut scan = IndexScan::new(
        Arc::clone(layout),
        index,
        KeyRange::all(),
        ScanDirection::Ascending,
        view,
        Projection::of([0]),
    )
    .expect("scan");
    let (mut rows, mut batch) = (Vec::new(), RowBatch::new());
    while scan.next_batch(transaction, 1_000, &mut batch).expect("batch") {
        rows.extend((0..batch.len()).map(|place| batch.row_id(place)));
    }
    rows
}

#[test]
fn built_indexes_are_those_that_inserts_make() {
    let kinds: [(&[u16], bool); 8] = [
        (&[0], false),
        (&[0], true),
        (&[1], false),
        (&[1, 0], true),
        (&[2], false),
        (&[3, 4], false),
        (&[5, 0, 5], false),
        (&[4], true),
    ];
    let kept: Vec<IndexDefinition> =
        (1..).zip(kinds).map(|(id, (slots, descending))| index(id, slots, descending)).collect();
    let store = filled(&layout(kept.clone()));
    let ample = NarrowRoom::new(usize::MAX, 1);
    let narrow = NarrowRoom::new(300_000, 2);
    let none = NarrowRoom::new(0, 0);
    let rooms: [&dyn BuildRoom; 4] = [&AmpleRoom, &ample, &narrow, &none];
    let reader = begin(&store, READ_COMMITTED);
    let layout_of_kept = layout(kept.clone());
    let expected: Vec<Vec<RowId>> =
        kept.iter().map(|index| rows_by(&reader, &layout_of_kept, index.id)).collect();
    drop(reader);
    for (number, room) in rooms.into_iter().enumerate() {
        for (place, (slots, descending)) in kinds.into_iter().enumerate() {
            let built = index(100 * (number as u64 + 1) + place as u64, slots, descending);
            let both = layout(vec![kept[place].clone(), built.clone()]);
            let builder = begin(&store, READ_COMMITTED);
            builder.build_index(&both, built.id, room).expect("build");
            builder.commit().expect("commit");
            let reader = begin(&store, READ_COMMITTED);
            let rows = entries_of(&reader, &both, built.id);
            assert!(rows.len() > 35_000, "{} rows", rows.len());
            assert!(rows == expected[place], "of {slots:?} in room {number}");
        }
    }
    assert_eq!(ample.files.load(Ordering::Relaxed), 0);
    assert!(narrow.files.load(Ordering::Relaxed) > 0 && none.files.load(Ordering::Relaxed) > 0);
}

#[test]
fn equal_keys_of_a_unique_index_are_found_wherever_they_were_sorted() {
    let kept = layout(vec![index(1, &[0], false)]);
    let store = filled(&kept);
    for (number, room) in [NarrowRoom::new(usize::MAX, 1), NarrowRoom::new(300_000, 1)].iter().enumerate() {
        let mut unique = index(7 + number as u64, &[5], false);
        unique.unique = true;
        let layout = layout(vec![unique.clone()]);
        let builder = begin(&store, READ_COMMITTED);
        match builder.build_index(&layout, unique.id, room) {
            Err(StoreError::UniqueViolation { index, values }) => {
                assert_eq!((index, values.len()), (unique.id, 1));
            }
            other => panic!("{other:?}"),
        }
        // The index is as if it had not been begun, and the transaction goes on.
        assert_eq!(rows_by(&builder, &layout, unique.id), []);
        builder.commit().expect("commit");
    }
}
