//! Any bytes as a stored chunk of a BLOB's contents.
#![no_main]

use farbird_record::compression::{pack, unpack};
use libfuzzer_sys::fuzz_target;

/// More than any chunk has.
const CHUNK_BYTES_MAX: usize = 1 << 20;

fuzz_target!(|input: &[u8]| {
    if let Ok(contents) = unpack(input, CHUNK_BYTES_MAX) {
        assert!(contents.len() <= CHUNK_BYTES_MAX);
        let mut packed = Vec::new();
        pack(&contents, &mut packed);
        assert_eq!(unpack(&packed, CHUNK_BYTES_MAX).expect("comes back"), contents);
    }
});
