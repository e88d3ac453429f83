//! A hostile conversation: any records of both directions, in the form of the recorded conversations, which serve as
//! seeds: `cargo +nightly fuzz run packet_decoder fuzz/corpus/packet_decoder crates/wire/tests/transcripts`.
//!
//! Beyond not panicking: what was accepted survives our own encoder.
#![no_main]

#[allow(dead_code, unreachable_pub)]
#[path = "../../crates/wire/tests/tape/mod.rs"]
mod tape;

use libfuzzer_sys::fuzz_target;
use tape::{Player, Way};

/// Reads records as far as they go; a length beyond the end takes the rest.
fn records(mut rest: &[u8]) -> Vec<(Way, &[u8])> {
    let mut records = Vec::new();
    while let [way, a, b, c, d, after @ ..] = rest {
        let length = (u32::from_be_bytes([*a, *b, *c, *d]) as usize).min(after.len());
        let (piece, after) = after.split_at(length);
        records.push((if *way == b'<' { Way::ToClient } else { Way::ToServer }, piece));
        rest = after;
    }
    records
}

fuzz_target!(|data: &[u8]| {
    let mut first = Player::new();
    // What our encoder makes of each record, for a second pair of decoders.
    let mut again = Vec::new();
    for (way, piece) in records(data) {
        let before = first.encoded[way as usize].len();
        let outcome = first.play(way, piece);
        again.push((way, first.encoded[way as usize][before..].to_vec()));
        if outcome.is_err() {
            break;
        }
    }
    if first.is_compressed() {
        return;
    }
    let mut second = Player::new();
    for (way, piece) in again {
        if second.play(way, &piece).is_err() {
            break;
        }
    }
    let common = first.packets.len().min(second.packets.len());
    assert!(first.packets.len() <= common + 1, "a packet that was accepted is refused after encoding");
    for (left, right) in first.packets.iter().zip(&second.packets) {
        assert_eq!(left, right);
    }
});
