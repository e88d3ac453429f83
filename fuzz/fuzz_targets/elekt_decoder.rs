//! Any bytes as a block of record images compressed by elekt.
#![no_main]

mod common;

use farbird_record::CodecId;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    common::block(CodecId::ELEKT, input);
});
