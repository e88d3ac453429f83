//! Any bytes as a block of columns.
#![no_main]

mod common;

use farbird_record::CodecId;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    common::block(CodecId::COLUMN, input);
});
