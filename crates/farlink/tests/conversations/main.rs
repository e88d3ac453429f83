//! Whole conversations from any bytes: seeds that found something, and new ones.

mod player;

use proptest::prelude::*;

const CASES: u32 = 1_000;

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_request_of_a_lawful_program_is_answered(data in proptest::collection::vec(any::<u8>(), 0..600)) {
        player::play(&[&[0][..], &data].concat());
    }

    #[test]
    fn a_hostile_end_ends_the_connection_at_worst(data in proptest::collection::vec(any::<u8>(), 0..600)) {
        player::play(&[&[1][..], &data].concat());
    }
}

/// Inputs that have found something.
const SEEDS: [&[u8]; 1] = [
    // A BLOB that cannot be read any further, and requests behind it.
    &[
        0, 0, 48, 168, 0, 221, 171, 0, 128, 90, 19, 0, 167, 47, 30, 0, 30, 0, 39, 75, 0, 215, 91, 24, 0, 12,
        0, 0, 126, 0, 43, 103,
    ],
];

#[test]
fn what_was_found_stays_mended() {
    SEEDS.into_iter().for_each(player::play);
}
