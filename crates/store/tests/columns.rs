//! Scans by column see what scans by row see: blocks, newer versions over them, deleted rows, a transaction's own changes,
//! rows of older formats.

mod common;

use std::sync::Arc;

use common::*;
use farbird_record::RecordFormat;
use farbird_store::{
    BlockColumns, ColumnBatch, Projection, ReadView, RelationId, RelationLayout, RelationScan, RowBatch,
    RowId, ScannedBlocks, Store, Transaction,
};
use farbird_types::{CharacterSet, ExactSubtype, ExactWidth, SqlType, Value};
use proptest::prelude::*;

const CENTS: SqlType = SqlType::Exact { width: ExactWidth::Int64, scale: -2, subtype: ExactSubtype::Numeric };

/// T (ID BIGINT, PRICE NUMERIC(18, 2), NAME VARCHAR(100), RATIO DOUBLE PRECISION).
fn first_layout() -> RelationLayout {
    let name = SqlType::varchar(100, CharacterSet::UTF8);
    RelationLayout {
        id: RelationId(128),
        formats: vec![RecordFormat::new(vec![SqlType::BIGINT, CENTS, name, SqlType::Double])],
        current: 0,
        added_defaults: Vec::new(),
        codec: None,
        temporary: None,
        indexes: Vec::new(),
    }
}

/// The same after PRICE became a DOUBLE, NAME was dropped, and STOCK INTEGER DEFAULT 7 added.
fn second_layout() -> RelationLayout {
    let mut layout = first_layout();
    layout.formats.push(RecordFormat::new(vec![
        SqlType::BIGINT,
        SqlType::Double,
        SqlType::Null,
        SqlType::Double,
        SqlType::INTEGER,
    ]));
    layout.current = 1;
    layout.added_defaults = vec![Value::Null, Value::Null, Value::Null, Value::Null, Value::integer(7)];
    layout
}

/// A row of any layout; every third value is NULL.
fn values(id: i64, layout: &RelationLayout) -> Vec<Value> {
    let types = layout.current_format().expect("a format").columns();
    let value = |(slot, sql_type): (usize, &SqlType)| match sql_type {
        _ if slot > 0 && (id + slot as i64) % 3 == 0 => Value::Null,
        SqlType::Exact { scale, .. } => Value::Integer { unscaled: id * 11 % 1_000, scale: *scale },
        SqlType::Double => Value::Double(id as f64 / 4.0),
        SqlType::Text(_) => Value::text(&format!("name {}", id % 7)),
        _ => Value::Null,
    };
    types.iter().enumerate().map(value).collect()
}

#[derive(Debug, Clone)]
enum Step {
    Insert(usize),
    Update {
        first: usize,
        every: usize,
    },
    Delete {
        first: usize,
        every: usize,
    },
    Commit,
    Sweep,
    NewFormat,
    /// Another snapshot to look at everything from then on.
    Look,
}

fn step() -> impl Strategy<Value = Step> {
    let spread = || (0usize..200, prop_oneof![Just(1usize), 2usize..40]);
    prop_oneof![
        3 => prop_oneof![1usize..5, 40usize..300].prop_map(Step::Insert),
        2 => spread().prop_map(|(first, every)| Step::Update { first, every }),
        2 => spread().prop_map(|(first, every)| Step::Delete { first, every }),
        2 => Just(Step::Commit),
        2 => Just(Step::Sweep),
        1 => Just(Step::NewFormat),
        1 => Just(Step::Look),
    ]
}

fn by_rows(
    transaction: &Transaction,
    layout: &Arc<RelationLayout>,
    view: &ReadView,
    columns: &Projection,
) -> Vec<(RowId, Vec<Value>)> {
    let mut scan = RelationScan::new(Arc::clone(layout), view.clone(), columns.clone());
    let (mut batch, mut rows) = (RowBatch::new(), Vec::new());
    while scan.next_batch(transaction, 50, &mut batch).expect("scan") {
        rows.extend((0..batch.len()).map(|index| (batch.row_id(index), batch.take_row(index))));
    }
    rows
}

/// The same by columns: whole columns, and every `every`th row alone.
fn by_columns(
    transaction: &Transaction,
    layout: &Arc<RelationLayout>,
    view: &ReadView,
    columns: &Projection,
    (rows_max, every): (usize, usize),
) -> Vec<(RowId, Vec<Value>)> {
    let format = layout.current_format().expect("a format").columns();
    let slots = columns.slots().expect("slots");
    let types: Vec<SqlType> =
        slots.iter().map(|slot| format.get(usize::from(*slot)).copied().unwrap_or(SqlType::Null)).collect();
    let mut scan = RelationScan::new(Arc::clone(layout), view.clone(), columns.clone());
    let (mut batch, mut rows) = (ColumnBatch::new(), Vec::new());
    while scan.next_columns(transaction, rows_max, &mut batch).expect("scan") {
        assert!(batch.len() <= rows_max && !batch.is_empty());
        let some: Vec<u32> = (0..batch.len() as u32).step_by(every).collect();
        let mut before = Vec::new();
        batch.read_rows(&some, &mut before).expect("read");
        batch.load(0..batch.width()).expect("load");
        let ids = batch.row_ids();
        assert_eq!(ids.len(), batch.len());
        let start = rows.len();
        for (index, id) in ids.into_iter().enumerate() {
            let value = |(position, sql_type)| {
                let repeated = batch.texts(position).map(|texts| texts.value(index).expect("a row").clone());
                let value =
                    batch.column(position).expect("loaded").value(index, sql_type).expect("of its type");
                assert!(repeated.is_none_or(|repeated| repeated == value));
                value
            };
            rows.push((id, types.iter().enumerate().map(value).collect()));
        }
        for (row, values) in some.iter().zip(before.chunks(batch.width().max(1))) {
            assert_eq!(rows[start + *row as usize].1, values);
        }
    }
    rows
}

/// The same by stretches, as threads take them: the second of two that are taken is read first. The sweep runs in between.
fn by_stretches(
    store: &Store,
    transaction: &Transaction,
    layout: &Arc<RelationLayout>,
    view: &ReadView,
    numbers: u64,
) -> Vec<RowId> {
    let mut rest = RelationScan::new(Arc::clone(layout), view.clone(), Projection::of([]));
    let mut batch = ColumnBatch::new();
    let mut read = |mut scan: RelationScan| {
        let mut rows = Vec::new();
        while scan.next_columns(transaction, 100, &mut batch).expect("scan") {
            rows.extend(batch.row_ids());
        }
        assert!(scan.is_finished());
        store.sweep(1).expect("sweep");
        (rows, scan.next_row())
    };
    let mut rows = Vec::new();
    while !rest.is_finished() {
        let first = rest.split_off(transaction, numbers).expect("split");
        let second = rest.split_off(transaction, numbers).expect("split");
        let (behind, next_behind) = read(second);
        let (before, next) = read(first);
        rows.extend(before.into_iter().chain(behind));
        rest.pass(next);
        rest.pass(next_behind);
    }
    rows
}

/// The rows whose number in a column is in a range: of a scan that passes over blocks which cannot have one.
fn between(
    transaction: &Transaction,
    layout: &Arc<RelationLayout>,
    view: &ReadView,
    position: usize,
    range: &std::ops::RangeInclusive<i64>,
) -> (Vec<RowId>, ScannedBlocks) {
    let mut scan = RelationScan::new(Arc::clone(layout), view.clone(), Projection::of([0, 1, 4]));
    let (mut batch, mut rows) = (ColumnBatch::new(), Vec::new());
    let mut skip = |columns: &BlockColumns<'_>| {
        let bounds = columns.bounds(position);
        bounds.is_some_and(|bounds| {
            bounds.numbers.is_none_or(|(least, greatest)| greatest < *range.start() || least > *range.end())
        })
    };
    while scan.next_columns_unless(transaction, 100, &mut batch, &mut skip).expect("scan") {
        batch.load([position]).expect("load");
        let ids = batch.row_ids();
        rows.extend((0..batch.len()).filter_map(|row| {
            let value = batch.value(row, position).expect("loaded");
            is_between(&value, range).then(|| ids[row])
        }));
    }
    (rows, scan.blocks())
}

fn is_between(value: &Value, range: &std::ops::RangeInclusive<i64>) -> bool {
    matches!(value, Value::Integer { unscaled, .. } if range.contains(unscaled))
}

#[test]
fn blocks_without_a_row_of_a_range_are_passed_over() {
    let store = memory_store();
    let layout = Arc::new(first_layout());
    store.register_layout(Arc::clone(&layout));
    let transaction = begin(&store, SNAPSHOT);
    for id in 0..50_000i64 {
        // Ascending in uneven steps, scattered within a thousand, and NULL for a long time.
        let scattered = (id as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54;
        let price = if id < 30_000 { Value::Null } else { Value::Integer { unscaled: id, scale: -2 } };
        let number = if id % 3 == 0 { id } else { id / 1_000 * 1_000 + scattered as i64 % 1_000 };
        let mut row = vec![Value::integer(number), price, Value::text("x"), Value::Double(0.5)];
        transaction.insert(&layout, &mut row).expect("insert");
    }
    transaction.commit().expect("commit");
    let transaction = begin(&store, SNAPSHOT);
    let view = transaction.view().expect("view");
    for (position, range) in
        [(0, 7_000..=7_500), (0, -10..=-1), (0, 0..=90_000), (1, 1..=20_000), (1, 40_000..=40_010)]
    {
        let all = by_rows(&transaction, &layout, &view, &Projection::of([position as u16]));
        let expected: Vec<RowId> =
            all.iter().filter(|(_, row)| is_between(&row[0], &range)).map(|(id, _)| *id).collect();
        let (found, blocks) = between(&transaction, &layout, &view, position, &range);
        assert_eq!(found, expected, "{range:?}");
        let total = blocks.read + blocks.skipped;
        match expected.len() {
            0 => assert!(blocks.read == 0 && blocks.skipped > 3, "{range:?}: {blocks:?}"),
            50_000 => assert!(blocks.skipped == 0, "{range:?}: {blocks:?}"),
            _ => assert!(blocks.read <= 2 && total > 6, "{range:?}: {blocks:?}"),
        }
    }
}

struct World {
    store: Store,
    layout: Arc<RelationLayout>,
    transaction: Transaction,
    looking: Transaction,
    next_id: i64,
}

impl World {
    fn take(&mut self, step: Step) {
        match step {
            Step::Insert(count) => {
                for _ in 0..count {
                    let mut row = values(self.next_id, &self.layout);
                    self.transaction.insert(&self.layout, &mut row).expect("insert");
                    self.next_id += 1;
                }
            }
            Step::Update { first, every } => {
                for (view, row) in self.some_rows(first, every) {
                    let mut row_values = values(self.next_id, &self.layout);
                    self.transaction.update(&self.layout, &view, row, &mut row_values).expect("update");
                    self.next_id += 1;
                }
            }
            Step::Delete { first, every } => {
                for (view, row) in self.some_rows(first, every) {
                    self.transaction.delete(&self.layout, &view, row).expect("delete");
                }
            }
            Step::Commit => {
                let next = begin(&self.store, READ_COMMITTED);
                std::mem::replace(&mut self.transaction, next).commit().expect("commit");
            }
            Step::Sweep => while self.store.sweep(50).expect("sweep") > 0 {},
            Step::Look => self.looking = begin(&self.store, SNAPSHOT),
            Step::NewFormat => {
                self.take(Step::Commit);
                self.layout = Arc::new(second_layout());
                self.store.register_layout(Arc::clone(&self.layout));
            }
        }
    }

    fn some_rows(&self, first: usize, every: usize) -> Vec<(ReadView, RowId)> {
        let view = self.transaction.view().expect("view");
        let rows = by_rows(&self.transaction, &self.layout, &view, &Projection::of([]));
        rows.into_iter().skip(first).step_by(every).take(60).map(|(row, _)| (view.clone(), row)).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn columns_hold_what_rows_hold(
        steps in prop::collection::vec(step(), 1..14),
        rows_max in prop_oneof![1usize..20, 64usize..9_000],
        every in prop_oneof![1usize..3, 33usize..70],
        range in (-10i64..1_010, 0i64..300).prop_map(|(first, length)| first..=first + length),
        numbers in prop_oneof![1u64..40, 100u64..3_000],
    ) {
        let store = memory_store();
        let layout = Arc::new(first_layout());
        store.register_layout(Arc::clone(&layout));
        let transaction = begin(&store, READ_COMMITTED);
        let looking = begin(&store, SNAPSHOT);
        let mut world = World { store, layout, transaction, looking, next_id: 1 };
        for step in steps {
            world.take(step);
            for transaction in [&world.transaction, &world.looking] {
                let view = transaction.view().expect("view");
                for columns in [Projection::of([0, 1, 2, 3, 4]), Projection::of([3, 1]), Projection::of([])] {
                    let expected = by_rows(transaction, &world.layout, &view, &columns);
                    let found = by_columns(transaction, &world.layout, &view, &columns, (rows_max, every));
                    prop_assert_eq!(found, expected);
                }
                let all = by_rows(transaction, &world.layout, &view, &Projection::of([]));
                let expected: Vec<RowId> = all.into_iter().map(|(id, _)| id).collect();
                prop_assert_eq!(by_stretches(&world.store, transaction, &world.layout, &view, numbers), expected);
                for (position, slot) in [(0, 0), (1, 1), (2, 4)] {
                    let all = by_rows(transaction, &world.layout, &view, &Projection::of([slot]));
                    let of_range = |row: &[Value]| row.first().is_some_and(|value| is_between(value, &range));
                    let expected: Vec<RowId> =
                        all.iter().filter(|(_, row)| of_range(row)).map(|(id, _)| *id).collect();
                    prop_assert_eq!(between(transaction, &world.layout, &view, position, &range).0, expected);
                }
            }
        }
    }
}
