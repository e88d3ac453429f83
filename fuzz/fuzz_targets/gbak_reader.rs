//! Any bytes as a backup made by gbak.
#![no_main]

use farbird_gbak::{BackupReader, verify};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Ok(mut reader) = BackupReader::open(Box::new(input))
        && let Ok(contents) = verify(&mut reader)
    {
        // A row has a length of its own: bytes that are not there cannot have made it.
        assert!(contents.rows <= reader.offset());
    }
});
