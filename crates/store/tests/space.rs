//! Space in the file: what is deleted is used again, and the file shrinks to its contents.

mod common;

use std::path::Path;
use std::sync::Arc;

use common::*;
use farbird_store::{
    Projection, RelationLayout, RelationScan, RowBatch, RowId, Store, StoreError, Transaction,
};
use farbird_types::Value;

struct Bench {
    folder: tempfile::TempDir,
    store: Store,
    layout: Arc<RelationLayout>,
}

fn bench() -> Bench {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::create(&folder.path().join("t.fbd"), options()).expect("create");
    let layout = layout();
    store.register_layout(Arc::clone(&layout));
    Bench { folder, store, layout }
}

impl Bench {
    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("t.fbd")
    }

    /// Size of the file, with all that was written in it.
    fn file_bytes(&self) -> u64 {
        begin(&self.store, SNAPSHOT).commit().expect("commit");
        std::fs::metadata(self.path()).expect("a file").len()
    }

    fn fill(&self, rows: i64) {
        let transaction = begin(&self.store, SNAPSHOT);
        for id in 0..rows {
            insert(&transaction, &self.layout, id, &format!("row {id} of many"));
        }
        transaction.commit().expect("commit");
    }

    fn row_ids(&self, transaction: &Transaction) -> Vec<RowId> {
        let view = transaction.view().expect("view");
        let mut scan = RelationScan::new(Arc::clone(&self.layout), view, Projection::of([]));
        let mut batch = RowBatch::new();
        let mut row_ids = Vec::new();
        while scan.next_batch(transaction, 1_000, &mut batch).expect("scan") {
            row_ids.extend((0..batch.len()).map(|index| batch.row_id(index)));
        }
        row_ids
    }

    fn empty(&self) {
        let transaction = begin(&self.store, SNAPSHOT);
        let view = transaction.view().expect("view");
        for row_id in self.row_ids(&transaction) {
            transaction.delete(&self.layout, &view, row_id).expect("delete");
        }
        transaction.commit().expect("commit");
    }

    fn sweep(&self) {
        while self.store.sweep(100).expect("sweep") > 0 {}
    }

    /// Updates of all rows in turn, 100 in a transaction, swept as they go.
    fn update(&self, row_ids: &[RowId], updates: std::ops::Range<usize>) {
        let mut transaction = begin(&self.store, SNAPSHOT);
        for update in updates {
            let place = update % row_ids.len();
            let view = transaction.view().expect("view");
            let mut row =
                [Value::integer(place as i64), Value::text(&format!("update {update}")), Value::Null];
            transaction.update(&self.layout, &view, row_ids[place], &mut row).expect("update");
            if update % 100 == 99 {
                transaction.commit().expect("commit");
                self.store.sweep(4).expect("sweep");
                transaction = begin(&self.store, SNAPSHOT);
            }
        }
        transaction.commit().expect("commit");
    }
}

#[test]
fn deleted_space_is_used_again() {
    let bench = bench();
    // redb takes pages at both ends of what it has asked for; after a few rounds it knows them all.
    for _ in 0..3 {
        bench.fill(8_000);
        bench.empty();
        bench.sweep();
    }
    let before = bench.file_bytes();
    for _ in 0..4 {
        bench.fill(8_000);
        bench.empty();
        bench.sweep();
    }
    let after = bench.file_bytes();
    assert!(after <= before * 3 / 2, "from {before} to {after} bytes");
}

/// `FARBIRD_UPDATES=1000000` for the whole of it.
#[test]
fn updating_the_same_rows_for_long_takes_no_more_space() {
    let updates: usize =
        std::env::var("FARBIRD_UPDATES").ok().and_then(|updates| updates.parse().ok()).unwrap_or(8_000);
    let bench = bench();
    bench.fill(1_000);
    bench.sweep();
    let row_ids = bench.row_ids(&begin(&bench.store, SNAPSHOT));
    // The file grows in steps; what it takes for a while of ordinary use is what it has to do with.
    bench.update(&row_ids, 0..1_000);
    bench.sweep();
    let before = bench.file_bytes();
    bench.update(&row_ids, 0..updates / 4);
    let reader = begin(&bench.store, SNAPSHOT);
    let seen = rows(&reader, &bench.layout);
    bench.update(&row_ids, updates / 4..updates * 3 / 4);
    assert_eq!(rows(&reader, &bench.layout), seen);
    drop(reader);
    bench.update(&row_ids, updates * 3 / 4..updates);
    bench.sweep();
    let after = bench.file_bytes();
    println!("{updates} updates: from {before} to {after} bytes");
    assert!(after <= 2 * before, "from {before} to {after} bytes");
    assert_eq!(rows(&begin(&bench.store, SNAPSHOT), &bench.layout).len(), 1_000);
}

#[test]
fn a_shrunk_file_has_all_its_contents_and_little_else() {
    let bench = bench();
    bench.fill(20_000);
    let transaction = begin(&bench.store, SNAPSHOT);
    let view = transaction.view().expect("view");
    for (place, row_id) in bench.row_ids(&transaction).into_iter().enumerate() {
        if place % 50 != 0 {
            transaction.delete(&bench.layout, &view, row_id).expect("delete");
        }
    }
    transaction.commit().expect("commit");
    drop(view);
    bench.sweep();
    let left = rows(&begin(&bench.store, SNAPSHOT), &bench.layout);
    let path = bench.path();
    let refused = farbird_store::shrink(&path, 1 << 20).expect_err("it is open");
    assert!(matches!(refused, StoreError::InUse), "{refused}");
    let Bench { folder: _folder, store, layout } = bench;
    store.close().expect("close");
    drop(store);
    let shrunk = farbird_store::shrink(&path, 1 << 20).expect("shrinks");
    // The room of the commit log stays.
    let contents = |bytes: u64| bytes - farbird_store::log::ROOM_BYTES_DEFAULT;
    assert!(contents(shrunk.after) < contents(shrunk.before) / 2, "{shrunk:?}");
    assert_eq!(size(&path), shrunk.after);
    let store = Store::open(&path, options()).expect("open");
    assert_eq!(rows(&begin(&store, SNAPSHOT), &layout), left);
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).expect("a file").len()
}
