//! Where the network cuts a stream must not show in what comes out, and damage must end in an error, never in a panic.

#![allow(dead_code, unreachable_pub, reason = "the player is shared between test binaries")]

mod tape;

use proptest::prelude::*;
use tape::{NAMES, Packet, Player, Way, load};

fn packets(pieces: impl IntoIterator<Item = (Way, Vec<u8>)>) -> Vec<Packet> {
    let mut player = Player::new();
    for (way, piece) in pieces {
        player.play(way, &piece).unwrap();
    }
    assert_eq!(player.unread(), 0);
    player.packets
}

#[test]
fn byte_by_byte_gives_the_same_packets() {
    for name in ["isql5-session", "isql5-wrong-password", "services5-info", "services5-stats"] {
        let pieces = load(name);
        let bytes = pieces.iter().flat_map(|(way, piece)| piece.iter().map(|byte| (*way, vec![*byte])));
        assert!(packets(bytes) == packets(pieces.clone()), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cuts_are_invisible(name in prop::sample::select(&NAMES[..]), sizes in prop::collection::vec(1_usize..9000, 1..40)) {
        let pieces = load(name);
        let mut sizes = sizes.iter().copied().cycle();
        let mut cut = Vec::new();
        for (way, piece) in &pieces {
            let mut rest = &piece[..];
            while !rest.is_empty() {
                let (head, tail) = rest.split_at(sizes.next().unwrap().min(rest.len()));
                cut.push((*way, head.to_vec()));
                rest = tail;
            }
        }
        prop_assert!(packets(cut) == packets(pieces), "{}", name);
    }
}

/// A small generator of reproducible numbers (an LCG; quality does not matter here).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }
}

fn damage(piece: &mut Vec<u8>, numbers: &mut Numbers) {
    let position = numbers.below(piece.len());
    match numbers.below(5) {
        0 => piece.truncate(position),
        1 => piece.insert(position, numbers.below(256) as u8),
        2 => piece[position] = [0, 1, 0x7F, 0x80, 0xFF][numbers.below(5)],
        3 => piece[position] ^= 1 << numbers.below(8),
        _ => {
            let end = (position + 4).min(piece.len());
            piece[position..end].fill(0xFF);
        }
    }
}

#[test]
fn damaged_conversations_never_panic() {
    const BYTES_PLAYED: usize = 12_000_000;
    let mut numbers = Numbers(2026);
    let (mut failed, mut survived) = (0, 0);
    for name in NAMES {
        let pieces = load(name);
        let size: usize = pieces.iter().map(|(_, piece)| piece.len()).sum();
        for _ in 0..(BYTES_PLAYED / NAMES.len() / size).clamp(3, 400) {
            let victim = numbers.below(pieces.len());
            let mut player = Player::new();
            let outcome = pieces.iter().enumerate().try_for_each(|(index, (way, piece))| {
                let mut piece = piece.clone();
                if index == victim {
                    damage(&mut piece, &mut numbers);
                }
                player.play(*way, &piece)
            });
            match outcome {
                Ok(()) => survived += 1,
                Err(_) => failed += 1,
            }
        }
    }
    assert!(failed > 50 && survived > 50, "{failed} failed, {survived} survived");
}
