//! Times changes of many keys that the substrate makes in their order: what commits of many rows put, and what the sweep removes.
//!
//! `cargo run --release -p farbird-store --example changes_in_order` prints nanoseconds for each change, of the thread's processor time
//! where Linux tells it, in three rounds.

use std::time::Instant;

use farbird_store::RelationId;
use farbird_store::substrate::{Durability, RedbSubstrate, Space, Substrate, WriteBatch};

/// Rows that are changed in a round.
const ROWS: u64 = 20_000;
/// As a short row takes.
const VALUE_BYTES: usize = 45;
const SPACE: Space = Space::Versions(RelationId(1));

/// A row's key as of a commit: later ones come first.
fn key(row: u64, commit: u64) -> Vec<u8> {
    [row.to_be_bytes(), (!commit).to_be_bytes()].concat()
}

/// Nanoseconds that this thread has had a processor.
fn processor_time() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    told.split(' ').next()?.parse().ok()
}

fn main() -> farbird_store::Result<()> {
    let substrate = RedbSubstrate::in_memory(64 << 20)?;
    for round in 0..3 {
        let rows = || (0..ROWS).map(move |row| round * 10 * ROWS + row);
        let put =
            |batch: &mut WriteBatch, row, commit| batch.put(SPACE, key(row, commit), vec![7; VALUE_BYTES]);
        let [mut new, mut beside, mut half, mut most, mut rest]: [WriteBatch; 5] = Default::default();
        for row in rows() {
            put(&mut new, row, 1);
            put(&mut beside, row, 2);
            half.delete(SPACE, key(row, 1));
            let left = if row % 40 == 0 { &mut rest } else { &mut most };
            left.delete(SPACE, key(row, 2));
        }
        let batches = [
            ("new keys", new),
            ("new keys beside others", beside),
            ("every second key removed", half),
            ("39 of 40 keys removed", most),
        ];
        for (name, batch) in batches {
            let (begun, start) = (Instant::now(), processor_time());
            substrate.write(batch, Durability::Relaxed)?;
            let elapsed = begun.elapsed().as_nanos() as u64;
            let taken = processor_time().zip(start).map_or(elapsed, |(end, start)| end - start);
            println!("{name:30} {:>6} ns each", taken / ROWS);
        }
        substrate.write(rest, Durability::Relaxed)?;
    }
    Ok(())
}
