//! Any bytes as a leaf of an index, read in both directions and changed.
#![no_main]

use libfuzzer_sys::fuzz_target;

/// The number of a row, at the end of each entry.
const ROW_BYTES: usize = 8;

fuzz_target!(|input: &[u8]| {
    let Some((lengths, rest)) = input.split_first() else { return };
    // The leaf's key, an entry that is put, and the leaf.
    let key = ROW_BYTES + usize::from(lengths & 15);
    let entry = ROW_BYTES + usize::from(lengths >> 4);
    let Some((key, rest)) = rest.split_at_checked(key) else { return };
    let Some((entry, value)) = rest.split_at_checked(entry) else { return };
    let _ = farbird_store::substrate::try_leaf(key, value, entry);
});
