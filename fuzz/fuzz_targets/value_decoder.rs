//! Any bytes as a row and as a block in value encoding.
#![no_main]

mod common;

use farbird_record::CodecId;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    common::row(input);
    common::block(CodecId::VALUE, input);
});
