//! Any bytes as a block under a compression, row-wise and by columns.
#![no_main]

mod common;

use farbird_record::{CodecId, Compression};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((kind, rest)) = input.split_first() else { return };
    let alone = if kind & 1 == 0 { CodecId::VALUE } else { CodecId::COLUMN };
    let compression = if kind & 2 == 0 { Compression::Lz4 } else { Compression::Zstandard };
    common::block(alone.with(compression), rest);
});
