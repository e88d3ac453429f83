//! Any bytes as a BLR request: refused or understood, never more.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(request) = farbird_blr::parse(data) {
        let items: usize = request.messages.iter().map(|message| message.items.len()).sum();
        assert!(items <= data.len());
    }
});
