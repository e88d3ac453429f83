//! What a bulk load costs, and what the background does behind it: `cargo run --release -p farbird-store --example bulk_load --
//! FOLDER [ROWS] [ROUNDS]`. Seconds of the load itself, and of processor time of all threads until nothing happens any more.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use farbird_record::RecordFormat;
use farbird_store::{
    Access, CancelFlag, IndexDefinition, IndexId, Isolation, KeyPart, KeySource, RelationId, RelationLayout,
    Store, StoreOptions, TransactionOptions, Wait,
};
use farbird_types::character_set::{CharacterSet, Collation};
use farbird_types::{Date, SqlType, Value};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().expect("a folder"));
    let mut number = |usual: i64| arguments.next().map_or(usual, |text| text.parse().expect("a number"));
    let (rows, rounds) = (number(5_000_000), number(3));
    for indexed in [false, true] {
        for round in 0..rounds {
            let path = folder.join(format!("bulk-{}-{indexed}-{round}.fdb", std::process::id()));
            load(&path, rows, indexed);
            std::fs::remove_file(&path).expect("remove");
        }
    }
}

fn load(path: &std::path::Path, rows: i64, indexed: bool) {
    let store = Store::create(path, StoreOptions::default()).expect("create");
    let layout = layout(indexed);
    store.register_layout(Arc::clone(&layout));
    let options = TransactionOptions {
        isolation: Isolation::Snapshot,
        access: Access::ReadWrite,
        wait: Wait::No,
        snapshot_at: None,
        ignore_limbo: false,
    };
    let (began, used) = (Instant::now(), processor_time());
    let transaction = store.begin(options, CancelFlag::new()).expect("begin");
    for id in 0..rows {
        let scattered = (id as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        let mut row = [
            Value::integer(id),
            Value::integer((scattered % 100_000) as i64),
            Value::Date(Date((id / 2_000) as i32)),
            Value::text(["red", "green", "blue", "black"][(scattered % 4) as usize]),
        ];
        transaction.insert(&layout, &mut row).expect("insert");
    }
    transaction.commit().expect("commit");
    let (loaded, load_used) = (began.elapsed(), processor_time() - used);
    // Until the background has been idle for a second.
    let mut latest = (Instant::now(), processor_time());
    while latest.0.elapsed() < Duration::from_secs(1) {
        std::thread::sleep(Duration::from_millis(50));
        if processor_time() - latest.1 > Duration::from_millis(3) {
            latest = (Instant::now(), processor_time());
        }
    }
    println!(
        "{rows} rows, {} indexes: loaded in {:.3} s, processors {:.3} s; with what followed {:.3} s",
        layout.indexes.len(),
        loaded.as_secs_f64(),
        load_used.as_secs_f64(),
        (processor_time() - used).as_secs_f64()
    );
    store.close().expect("close");
}

fn layout(indexed: bool) -> Arc<RelationLayout> {
    let index = |id, slot| IndexDefinition {
        id: IndexId(id),
        unique: id == 1,
        descending: false,
        parts: vec![KeyPart { source: KeySource::Column(slot), collation: Collation(0) }],
        condition: None,
        active: true,
    };
    let columns =
        vec![SqlType::BIGINT, SqlType::INTEGER, SqlType::Date, SqlType::varchar(10, CharacterSet::UTF8)];
    Arc::new(RelationLayout {
        id: RelationId(128),
        formats: vec![RecordFormat::new(columns)],
        current: 0,
        added_defaults: Vec::new(),
        codec: None,
        temporary: None,
        indexes: if indexed { vec![index(1, 0)] } else { Vec::new() },
    })
}

fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
