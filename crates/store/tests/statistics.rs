//! What the store tells of relations for those who plan statements: near the truth after loads, deletes, rollbacks, spills and
//! another opening of the file, and of a transaction's own work.

mod common;

use std::sync::Arc;

use common::*;
use farbird_record::RecordFormat;
use farbird_store::{
    CancelFlag, IndexDefinition, IndexId, KeyPart, KeySource, RelationId, RelationLayout, RelationStatistics,
    Store, StoreOptions, Transaction,
};
use farbird_types::character_set::{CharacterSet, Collation};
use farbird_types::{Date, SqlType, Value};
use proptest::prelude::*;

const SALES: RelationId = RelationId(200);
const BY_ID: IndexId = IndexId(11);
const BY_SHOP_AND_DAY: IndexId = IndexId(12);

/// SALES (ID BIGINT, SHOP VARCHAR(20), SOLD DATE, REMARK VARCHAR(50)), with indexes on ID and on (SHOP, SOLD).
fn sales() -> Arc<RelationLayout> {
    let part = |slot| KeyPart { source: KeySource::Column(slot), collation: Collation(0) };
    let both = IndexDefinition {
        id: BY_SHOP_AND_DAY,
        unique: false,
        descending: false,
        parts: vec![part(1), part(2)],
        condition: None,
        active: true,
    };
    Arc::new(RelationLayout {
        id: SALES,
        formats: vec![RecordFormat::new(vec![
            SqlType::BIGINT,
            SqlType::varchar(20, CharacterSet::UTF8),
            SqlType::Date,
            SqlType::varchar(50, CharacterSet::UTF8),
        ])],
        current: 0,
        added_defaults: Vec::new(),
        codec: None,
        temporary: None,
        indexes: vec![column_index(BY_ID, 0, true, false), both],
    })
}

/// One sale in two is of shop 0, the others are of shops 1 to 49; days come in order, a hundred sales each; one remark in four
/// is there.
fn sale(id: i64) -> Vec<Value> {
    let scattered = (id as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
    let shop = if scattered.is_multiple_of(2) { 0 } else { 1 + scattered / 2 % 49 };
    let remark = if id % 4 == 0 { Value::text("sold out of season") } else { Value::Null };
    vec![
        Value::integer(id),
        Value::text(&format!("shop {shop}")),
        Value::Date(Date((id / 100) as i32)),
        remark,
    ]
}

fn sell(transaction: &Transaction, layout: &RelationLayout, ids: std::ops::Range<i64>) {
    for id in ids {
        transaction.insert(layout, &mut sale(id)).expect("insert");
    }
}

fn store_with(count: i64) -> (Store, Arc<RelationLayout>) {
    let store = memory_store();
    let layout = sales();
    store.register_layout(Arc::clone(&layout));
    let transaction = begin(&store, SNAPSHOT);
    sell(&transaction, &layout, 0..count);
    transaction.commit().expect("commit");
    (store, layout)
}

fn assert_near(what: &str, estimate: f64, truth: f64, tolerance: f64) {
    assert!((estimate - truth).abs() <= truth * tolerance, "{what}: {estimate}, in truth {truth}");
}

fn assert_tells_sales(known: &RelationStatistics, count: f64, tolerance: f64) {
    assert_near("rows", known.rows as f64, count, 0.01);
    let column = |slot| known.column(slot).expect("a column");
    assert_near("ids", column(0).distinct, count, tolerance);
    assert_near("shops", column(1).distinct, 50.0, tolerance);
    assert_near("days", column(2).distinct, count / 100.0, tolerance);
    assert_near("remarks", column(3).distinct, 1.0, 0.0);
    assert_near("missing remarks", column(3).null_fraction, 0.75, 0.05);
    assert_near("missing ids", column(0).null_fraction, 0.0, 0.0);
    assert_eq!(column(0).least, Some(Value::integer(0)));
    assert_eq!(column(0).greatest, Some(Value::integer(count as i64 - 1)));
    let (shop, share) = column(1).common.first().expect("a common shop");
    assert_eq!(shop, &Value::text("shop 0"));
    assert_near("share of shop 0", *share, 0.5, 0.1);
    assert!(column(0).correlation > 0.99 && column(1).correlation.abs() < 0.9, "{known:?}");
    // A hundred sales a day stand together: no day is common for that.
    assert!(column(2).common.iter().all(|(_, share)| *share <= 100.0 / count), "{:?}", column(2).common);
    let ids: Vec<i64> = column(0).histogram.iter().map(integer).collect();
    assert!(ids.len() > 10 && ids.is_sorted(), "{ids:?}");
    assert_near("the middle of the ids", ids[ids.len() / 2] as f64, count / 2.0, 0.1);
    let by_id = known.index(BY_ID).expect("an index");
    assert_near("entries", by_id.entries as f64, count, 0.01);
    assert_near("keys", by_id.distinct[0], count, tolerance);
    let both = known.index(BY_SHOP_AND_DAY).expect("an index");
    assert_near("first parts", both.distinct[0], 50.0, tolerance);
    // Of a hundred sales of a day half are of one shop.
    assert!(both.distinct[1] > 20.0 * count / 100.0 && both.distinct[1] < 51.0 * count / 100.0, "{both:?}");
}

#[test]
fn a_load_is_known_at_once_and_without_a_command() {
    let (store, _) = store_with(3_000);
    let known = store.relation_statistics(SALES);
    assert!(known.is_exact);
    assert_tells_sales(&known, 3_000.0, 0.001);
    // Who asks again gets the same.
    assert!(Arc::ptr_eq(&known, &store.relation_statistics(SALES)));
}

#[test]
fn a_large_load_is_known_by_a_sample_by_the_background_and_exactly() {
    let (store, _) = store_with(120_000);
    let quick = store.relation_statistics(SALES);
    assert!(!quick.is_exact);
    assert_tells_sales(&quick, 120_000.0, 0.25);
    while store.sweep(100).expect("sweep") > 0 {}
    let usual = store.relation_statistics(SALES);
    assert!(usual.version > quick.version);
    assert_tells_sales(&usual, 120_000.0, 0.15);
    let exact = store.analyze(SALES, &CancelFlag::new()).expect("read").expect("a relation");
    assert!(exact.is_exact && exact.version > usual.version);
    assert_eq!(exact.rows, 120_000);
    assert_tells_sales(&exact, 120_000.0, 0.03);
    assert!(Arc::ptr_eq(&exact, &store.relation_statistics(SALES)));
    assert!(exact.bytes > 100_000 && exact.blocks > 10 && exact.row_bytes > 10.0, "{exact:?}");
}

#[test]
fn an_index_of_rows_in_order_takes_few_bytes_an_entry() {
    let (store, _) = store_with(20_000);
    let bytes = store.index_bytes(BY_ID).expect("bytes");
    assert!((20_000..20_000 * 5).contains(&bytes), "{bytes}");
    assert_eq!(store.index_bytes(IndexId(99)).expect("bytes"), 0);
}

#[test]
fn deleted_rows_are_gone_for_all_while_somebody_still_sees_them() {
    let (store, layout) = store_with(50_000);
    let before = store.relation_statistics(SALES);
    let reader = begin(&store, SNAPSHOT);
    let writer = begin(&store, SNAPSHOT);
    let view = writer.view().expect("view");
    let mut scan = farbird_store::RelationScan::new(
        Arc::clone(&layout),
        view.clone(),
        farbird_store::Projection::of([0]),
    );
    let mut batch = farbird_store::RowBatch::new();
    while scan.next_batch(&writer, 1_000, &mut batch).expect("scan") {
        for index in (0..batch.len()).filter(|index| integer(&batch.value(*index, 0)) >= 5_000) {
            writer.delete(&layout, &view, batch.row_id(index)).expect("delete");
        }
    }
    // Whoever has deleted them plans with what is left, the others do not.
    assert_near("own rows", writer.relation_statistics(SALES).rows as f64, 5_000.0, 0.01);
    assert_eq!(store.relation_statistics(SALES).rows, before.rows);
    writer.commit().expect("commit");
    let after = store.relation_statistics(SALES);
    assert!(after.version > before.version);
    assert_near("rows", after.rows as f64, 5_000.0, 0.01);
    // The sweep cannot take them away; it can look at what is left.
    while store.sweep(100).expect("sweep") > 0 {}
    let known = store.relation_statistics(SALES);
    assert_near("rows", known.rows as f64, 5_000.0, 0.01);
    assert_near("ids", known.column(0).expect("a column").distinct, 5_000.0, 0.2);
    assert!(known.column(0).expect("a column").greatest.as_ref().is_some_and(|id| integer(id) < 5_000));
    assert_eq!(reader.count_rows(&layout, &reader.view().expect("view")).expect("count"), 50_000);
}

#[test]
fn a_long_transaction_plans_with_its_own_rows() {
    let (store, layout) = store_with(100);
    let transaction = begin(&store, SNAPSHOT);
    sell(&transaction, &layout, 100..30_000);
    assert_eq!(store.relation_statistics(SALES).rows, 100);
    assert_eq!(transaction.relation_statistics(SALES).rows, 30_000);
    transaction.rollback().expect("rollback");
    assert_eq!(store.relation_statistics(SALES).rows, 100);
}

#[test]
fn figures_outlive_the_closing_and_not_a_crash() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sales.fdb");
    let layout = sales();
    let open = || {
        let store = Store::open(&path, options()).expect("open");
        store.register_layout(Arc::clone(&layout));
        store
    };
    {
        let store = Store::create(&path, options()).expect("create");
        store.register_layout(Arc::clone(&layout));
        let transaction = begin(&store, SNAPSHOT);
        sell(&transaction, &layout, 0..20_000);
        transaction.commit().expect("commit");
        store.analyze(SALES, &CancelFlag::new()).expect("read");
        store.close().expect("close");
    }
    {
        let store = open();
        // A look so quick would not be exact.
        let known = store.relation_statistics(SALES);
        assert!(known.is_exact);
        assert_tells_sales(&known, 20_000.0, 0.03);
        // Not closed.
        let transaction = begin(&store, SNAPSHOT);
        sell(&transaction, &layout, 20_000..60_000);
        transaction.commit().expect("commit");
    }
    let store = open();
    let known = store.relation_statistics(SALES);
    assert!(!known.is_exact);
    assert_near("rows", known.rows as f64, 60_000.0, 0.1);
    store.close().expect("close");
    drop((known, store));
    // Changes of a database that asks for nothing are counted on.
    {
        let store = open();
        let transaction = begin(&store, SNAPSHOT);
        sell(&transaction, &layout, 60_000..90_000);
        transaction.commit().expect("commit");
        store.close().expect("close");
    }
    assert_near("rows", open().relation_statistics(SALES).rows as f64, 90_000.0, 0.1);
}

#[test]
fn an_index_on_an_expression_is_known() {
    #[derive(Debug)]
    struct Modulo;
    impl farbird_store::KeyExpression for Modulo {
        fn evaluate(&self, row: &[Value]) -> farbird_types::Result<Value> {
            Ok(Value::integer(row.first().map_or(0, integer) % 9))
        }
    }
    #[derive(Debug)]
    struct HasRemark;
    impl farbird_store::RowPredicate for HasRemark {
        fn holds(&self, row: &[Value]) -> farbird_types::Result<bool> {
            Ok(row.get(3).is_some_and(|remark| !remark.is_null()))
        }
    }
    let mut layout = RelationLayout::clone(&sales());
    let source = KeySource::Expression(Arc::new(Modulo));
    layout.indexes = vec![IndexDefinition {
        id: IndexId(13),
        unique: false,
        descending: false,
        parts: vec![KeyPart { source, collation: Collation(0) }],
        condition: Some(Arc::new(HasRemark)),
        active: true,
    }];
    let layout = Arc::new(layout);
    for count in [1_000, 100_000] {
        let store = memory_store();
        store.register_layout(Arc::clone(&layout));
        let transaction = begin(&store, SNAPSHOT);
        sell(&transaction, &layout, 0..count);
        transaction.commit().expect("commit");
        let known = store.relation_statistics(SALES);
        let index = known.index(IndexId(13)).expect("an index");
        assert_near("entries", index.entries as f64, count as f64 / 4.0, 0.1);
        assert_near("keys", index.distinct[0], 9.0, 0.01);
    }
}

#[derive(Debug, Clone)]
enum Step {
    Insert(usize),
    Update(usize),
    Delete(usize),
    Savepoint,
    Undo,
    Commit,
    Rollback,
    Sweep,
    Ask,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop_oneof![1usize..5, 40usize..400].prop_map(Step::Insert),
        2 => (0usize..200).prop_map(Step::Update),
        3 => (0usize..200).prop_map(Step::Delete),
        1 => Just(Step::Savepoint),
        1 => Just(Step::Undo),
        3 => Just(Step::Commit),
        1 => Just(Step::Rollback),
        2 => Just(Step::Sweep),
        3 => Just(Step::Ask),
    ]
}

/// Plays steps; after each the rows told are those that are committed, and within the transaction those that it sees.
fn play(options: StoreOptions, steps: &[Step]) {
    let store = Store::in_memory(options).expect("open");
    let layout = sales();
    store.register_layout(Arc::clone(&layout));
    let mut transaction = begin(&store, READ_COMMITTED);
    let (mut next, mut savepoint, mut asked) = (0, None, false);
    for step in steps {
        let view = transaction.view().expect("view");
        let rows = || {
            let mut scan = farbird_store::RelationScan::new(
                Arc::clone(&layout),
                view.clone(),
                farbird_store::Projection::of([0]),
            );
            let (mut batch, mut rows) = (farbird_store::RowBatch::new(), Vec::new());
            while scan.next_batch(&transaction, 500, &mut batch).expect("scan") {
                rows.extend(
                    (0..batch.len()).map(|index| (batch.row_id(index), integer(&batch.value(index, 0)))),
                );
            }
            rows
        };
        match step {
            Step::Insert(count) => {
                sell(&transaction, &layout, next..next + *count as i64);
                next += *count as i64;
            }
            Step::Update(every) => {
                for (row, id) in rows().into_iter().step_by(every + 1) {
                    transaction.update(&layout, &view, row, &mut sale(id)).expect("update");
                }
            }
            Step::Delete(every) => {
                for (row, _) in rows().into_iter().step_by(every + 1) {
                    transaction.delete(&layout, &view, row).expect("delete");
                }
            }
            Step::Savepoint => savepoint = Some(savepoint.unwrap_or_else(|| transaction.savepoint())),
            Step::Undo => {
                if let Some(savepoint) = savepoint.take() {
                    transaction.rollback_to(savepoint).expect("undo");
                }
            }
            Step::Commit | Step::Rollback => {
                drop(view);
                let ended = std::mem::replace(&mut transaction, begin(&store, READ_COMMITTED));
                match step {
                    Step::Commit => drop(ended.commit().expect("commit")),
                    _ => ended.rollback().expect("rollback"),
                }
                savepoint = None;
                continue;
            }
            Step::Sweep => drop(store.sweep(50).expect("sweep")),
            Step::Ask => asked = true,
        }
        if asked {
            let fresh = begin(&store, READ_COMMITTED);
            let truth = fresh.count_rows(&layout, &fresh.view().expect("view")).expect("count") as f64;
            assert_near("rows", store.relation_statistics(SALES).rows as f64, truth, 0.02);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 24 } else { 400 }))]

    #[test]
    fn rows_are_counted_whatever_happens(steps in prop::collection::vec(step(), 1..40)) {
        play(options(), &steps);
    }

    /// What was spilled and undone afterwards may be counted wrongly until somebody looks: rows are told all the same.
    #[test]
    fn rows_of_large_transactions_are_counted(steps in prop::collection::vec(step(), 1..25)) {
        let without_undo: Vec<Step> =
            steps.into_iter().filter(|step| !matches!(step, Step::Savepoint | Step::Undo)).collect();
        play(StoreOptions { write_set_bytes_max: 1, ..options() }, &without_undo);
    }
}
