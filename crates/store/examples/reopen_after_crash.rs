//! How long an open takes after a crash: fills a file, leaves it as a crash would, and opens it again.
//!
//! `cargo run --release -p farbird-store --example reopen_after_crash -- 1000` for a file of about 1,000 MB.

use std::sync::Arc;
use std::time::Instant;

use farbird_store::log::LoggedSubstrate;
use farbird_store::substrate::{Durability, Space, Substrate, WriteBatch};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let megabytes: u64 = std::env::args().nth(1).map_or(Ok(100), |size| size.parse())?;
    let folder = std::env::temp_dir().join("farbird-reopen");
    std::fs::create_dir_all(&folder)?;
    let (path, left) = (folder.join("filled"), folder.join("left"));
    for path in [&path, &left] {
        let _ = std::fs::remove_file(path);
    }
    let substrate = Arc::new(LoggedSubstrate::create(&path, 64 << 20)?);
    for megabyte in 0..megabytes {
        let mut batch = WriteBatch::new();
        for value in 0..65u64 {
            batch.put(
                Space::Blobs,
                (megabyte * 65 + value).to_be_bytes().to_vec(),
                vec![value as u8; 15_900],
            );
        }
        substrate.write(batch, Durability::Durable)?;
    }
    std::fs::copy(&path, &left)?;
    std::fs::File::open(&left)?.sync_all()?;
    drop(substrate);
    let begun = Instant::now();
    drop(LoggedSubstrate::open(&path, 64 << 20)?);
    println!("closed: {:?} to open and close", begun.elapsed());
    let begun = Instant::now();
    let opened = LoggedSubstrate::open(&left, 64 << 20)?;
    println!("crashed: {:?} to open {} MB", begun.elapsed(), std::fs::metadata(&left)?.len() / 1_000_000);
    drop(opened);
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
