//! What BLOBs take on the disk: texts of a folder, cut into pieces of 1 to 29 KB, put into rows.
//!
//! `cargo run --release -p farbird-store --example blob_space -- DATABASE FOLDER [ROWS]` writes as many distinct texts (the
//! first line of each says which it is) and prints the bytes of the texts, of the file, and how much of the latter is given
//! out by the file system.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use farbird_record::RecordFormat;
use farbird_store::{
    BlobOptions, CancelFlag, Projection, RelationId, RelationLayout, RelationScan, RowBatch, Store,
    StoreOptions, Transaction, TransactionOptions,
};
use farbird_types::character_set::CharacterSet;
use farbird_types::{SqlType, Value};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [database, folder, rest @ ..] = &arguments[..] else {
        return Err("blob_space DATABASE FOLDER [ROWS]".into());
    };
    let rows = rest.first().map_or(Ok(10_000), |rows| rows.parse())?;
    let mut text = Vec::new();
    collect(Path::new(folder), &mut text)?;
    let store = Store::create(Path::new(database), StoreOptions::default())?;
    let bytes = fill(&store, &text, rows)?;
    read(&store, bytes)?;
    store.close()?;
    drop(store);
    report(Path::new(database), bytes)
}

/// All UTF-8 files below a folder, in the order of their names.
fn collect(folder: &Path, text: &mut Vec<u8>) -> Outcome<()> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Outcome<_>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() && !path.ends_with("target") && !path.ends_with(".git") {
            collect(&path, text)?;
        } else if let Ok(contents) = std::fs::read_to_string(&path) {
            text.extend_from_slice(contents.as_bytes());
        }
    }
    Ok(())
}

fn layout() -> RelationLayout {
    let columns = vec![SqlType::BIGINT, SqlType::blob_text(CharacterSet::UTF8)];
    RelationLayout {
        id: RelationId(128),
        formats: vec![RecordFormat::new(columns)],
        current: 0,
        added_defaults: Vec::new(),
        codec: None,
        temporary: None,
        indexes: Vec::new(),
    }
}

fn begin(store: &Store) -> Outcome<Transaction> {
    Ok(store.begin(TransactionOptions::default(), CancelFlag::new())?)
}

/// Gives the bytes of all texts.
fn fill(store: &Store, text: &[u8], rows: usize) -> Outcome<usize> {
    let layout = layout();
    let transaction = begin(store)?;
    let (mut place, mut bytes) = (0, 0);
    for row in 0..rows {
        // 1,200 to 29,000, in no order.
        let length = 1_200 + row.wrapping_mul(2_654_435_761) % 27_800;
        if place + length > text.len() {
            place = (place + length) % 1_000;
        }
        let piece = text.get(place..place + length).ok_or("the folder has too little text")?;
        place += length;
        let mut writer = transaction.create_blob(BlobOptions { subtype: 1, ..BlobOptions::default() })?;
        writer.write_segment(&transaction, format!("text {row}\n").as_bytes())?;
        writer.write_segment(&transaction, piece)?;
        bytes += usize::try_from(writer.properties().bytes)?;
        let blob = writer.close(&transaction)?;
        transaction.insert(&layout, &mut [Value::integer(i64::try_from(row)?), Value::Blob(blob)])?;
    }
    transaction.commit()?;
    Ok(bytes)
}

/// Reads all texts.
fn read(store: &Store, bytes: usize) -> Outcome<()> {
    let transaction = begin(store)?;
    let begun = std::time::Instant::now();
    let mut scan = RelationScan::new(Arc::new(layout()), transaction.view()?, Projection::of([1]));
    let mut batch = RowBatch::new();
    let mut found = 0;
    while scan.next_batch(&transaction, 1_000, &mut batch)? {
        for index in 0..batch.len() {
            if let Value::Blob(blob) = batch.value(index, 0) {
                found += transaction.open_blob(blob)?.read_all(&transaction, 1 << 20)?.len();
            }
        }
    }
    println!("read {found} of {bytes} bytes in {:.2?}", begun.elapsed());
    Ok(())
}

fn report(database: &Path, bytes: usize) -> Outcome<()> {
    let metadata = std::fs::metadata(database)?;
    println!("{bytes} bytes of text; the file has {} bytes", metadata.len());
    #[cfg(unix)]
    println!("{} bytes on the disk", std::os::unix::fs::MetadataExt::blocks(&metadata) * 512);
    Ok(())
}
