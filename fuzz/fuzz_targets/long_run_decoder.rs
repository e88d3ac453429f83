//! Any bytes as a block of record images compressed as Firebird 5 does.
#![no_main]

mod common;

use farbird_record::CodecId;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    common::block(CodecId::LONG_RUN, input);
});
