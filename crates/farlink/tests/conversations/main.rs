//! Whole conversations from any bytes: seeds that found something, and new ones.

mod player;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const CASES: u32 = 1_000;

/// The same inputs each time: new ones are the fuzz target's affair.
fn config() -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(1);
    ProptestConfig { cases: CASES, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

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
const SEEDS: [&[u8]; 2] = [
    // A BLOB that cannot be read any further, and requests behind it.
    &[
        0, 0, 48, 168, 0, 221, 171, 0, 128, 90, 19, 0, 167, 47, 30, 0, 30, 0, 39, 75, 0, 215, 91, 24, 0, 12,
        0, 0, 126, 0, 43, 103,
    ],
    // A BLOB of a transaction whose handle was another's, the end of which is still to be sent.
    &[
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 99, 0, 0, 0, 0, 0, 0, 0, 0, 210, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        47, 0, 0, 0, 0, 210, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 47, 0, 99, 193, 0, 0, 0, 0, 99, 99, 0, 99, 210,
        0, 0, 0, 47, 0, 210, 53, 0, 0, 211, 211,
    ],
];

#[test]
fn what_was_found_stays_mended() {
    SEEDS.into_iter().for_each(player::play);
}
