//! A relation or two for tests of the store, and short words for what tests do with them.
#![allow(dead_code, unreachable_pub, missing_docs)]

pub mod history;
pub mod workload;

pub mod backups;

use std::sync::Arc;

use farbird_record::RecordFormat;
use farbird_store::{
    CancelFlag, IndexDefinition, IndexId, IndexScan, Isolation, KeyPart, KeyRange, KeySource, Projection,
    ReadView, RelationId, RelationLayout, RelationScan, RowBatch, RowId, ScanDirection, Store, StoreOptions,
    Transaction, TransactionOptions, Wait,
};
use farbird_types::character_set::{CharacterSet, Collation};
use farbird_types::{SqlType, Value};

pub const PRIMARY: IndexId = IndexId(1);
pub const NAME: IndexId = IndexId(2);
pub const NAME_DESCENDING: IndexId = IndexId(3);

pub const SNAPSHOT: TransactionOptions = TransactionOptions {
    isolation: Isolation::Snapshot,
    access: farbird_store::Access::ReadWrite,
    wait: Wait::No,
    snapshot_at: None,
    ignore_limbo: false,
};
pub const READ_COMMITTED: TransactionOptions =
    TransactionOptions { isolation: Isolation::ReadCommitted, ..SNAPSHOT };

pub fn options() -> StoreOptions {
    StoreOptions { background_sweep: false, ..StoreOptions::default() }
}

pub fn memory_store() -> Store {
    Store::in_memory(options()).expect("open")
}

/// T (ID BIGINT, NAME VARCHAR(100), NOTE BLOB), with a primary key, and two indexes on NAME.
pub fn layout() -> Arc<RelationLayout> {
    layout_with(vec![
        column_index(PRIMARY, 0, true, false),
        column_index(NAME, 1, false, false),
        column_index(NAME_DESCENDING, 1, false, true),
    ])
}

pub fn layout_with(indexes: Vec<IndexDefinition>) -> Arc<RelationLayout> {
    let format = RecordFormat::new(vec![
        SqlType::BIGINT,
        SqlType::varchar(100, CharacterSet::UTF8),
        SqlType::blob_text(CharacterSet::UTF8),
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

pub fn column_index(id: IndexId, slot: u16, unique: bool, descending: bool) -> IndexDefinition {
    let parts = vec![KeyPart { source: KeySource::Column(slot), collation: Collation(0) }];
    IndexDefinition { id, unique, descending, parts, condition: None, active: true }
}

pub fn begin(store: &Store, options: TransactionOptions) -> Transaction {
    store.begin(options, CancelFlag::new()).expect("begin")
}

pub fn row(id: i64, name: &str) -> Vec<Value> {
    vec![Value::integer(id), Value::text(name), Value::Null]
}

pub fn insert(transaction: &Transaction, layout: &RelationLayout, id: i64, name: &str) -> RowId {
    transaction.insert(layout, &mut row(id, name)).expect("insert")
}

/// Changes the name of the row with this id under a view of now.
pub fn rename(
    transaction: &Transaction,
    layout: &Arc<RelationLayout>,
    id: i64,
    name: &str,
) -> farbird_store::Result<()> {
    let view = transaction.view()?;
    let row_id = find(transaction, layout, &view, id).expect("a row of this id");
    transaction.update(layout, &view, row_id, &mut row(id, name))
}

pub fn delete(transaction: &Transaction, layout: &Arc<RelationLayout>, id: i64) -> farbird_store::Result<()> {
    let view = transaction.view()?;
    let row_id = find(transaction, layout, &view, id).expect("a row of this id");
    transaction.delete(layout, &view, row_id)
}

pub fn find(
    transaction: &Transaction,
    layout: &Arc<RelationLayout>,
    view: &ReadView,
    id: i64,
) -> Option<RowId> {
    let mut scan = RelationScan::new(Arc::clone(layout), view.clone(), Projection::of([0]));
    let mut batch = RowBatch::new();
    while scan.next_batch(transaction, 100, &mut batch).expect("scan") {
        for index in 0..batch.len() {
            if batch.value(index, 0) == Value::integer(id) {
                return Some(batch.row_id(index));
            }
        }
    }
    None
}

pub fn integer(value: &Value) -> i64 {
    match value {
        Value::Integer { unscaled, .. } => *unscaled,
        other => panic!("{other:?} is no integer"),
    }
}

pub fn text(value: &Value) -> String {
    match value {
        Value::Text(text) => String::from_utf8(text.bytes().to_vec()).expect("UTF-8"),
        Value::Null => "NULL".to_owned(),
        other => panic!("{other:?} is no text"),
    }
}

/// The rows seen, as (id, name), in row order.
pub fn rows_in(
    transaction: &Transaction,
    layout: &Arc<RelationLayout>,
    view: &ReadView,
) -> Vec<(i64, String)> {
    let mut scan = RelationScan::new(Arc::clone(layout), view.clone(), Projection::of([0, 1]));
    let mut batch = RowBatch::new();
    let mut rows = Vec::new();
    while scan.next_batch(transaction, 7, &mut batch).expect("scan") {
        assert!(batch.len() <= 7 && !batch.is_empty());
        for index in 0..batch.len() {
            rows.push((integer(&batch.value(index, 0)), text(&batch.value(index, 1))));
        }
    }
    assert_eq!(transaction.count_rows(layout, view).expect("count"), rows.len() as u64);
    rows
}

/// The rows that a new view sees.
pub fn rows(transaction: &Transaction, layout: &Arc<RelationLayout>) -> Vec<(i64, String)> {
    rows_in(transaction, layout, &transaction.view().expect("view"))
}

pub fn names(transaction: &Transaction, layout: &Arc<RelationLayout>) -> Vec<String> {
    rows(transaction, layout).into_iter().map(|(_, name)| name).collect()
}

/// The rows that an index scan gives, as (id, name).
pub fn by_index(
    transaction: &Transaction,
    layout: &Arc<RelationLayout>,
    index: IndexId,
    range: KeyRange,
    direction: ScanDirection,
) -> Vec<(i64, String)> {
    let view = transaction.view().expect("view");
    let mut scan = IndexScan::new(Arc::clone(layout), index, range, direction, view, Projection::of([0, 1]))
        .expect("scan");
    let mut batch = RowBatch::new();
    let mut rows = Vec::new();
    while scan.next_batch(transaction, 3, &mut batch).expect("scan") {
        for index in 0..batch.len() {
            rows.push((integer(&batch.value(index, 0)), text(&batch.value(index, 1))));
        }
    }
    rows
}
