//! Ciphers that add a stream of bytes to a text: encrypting and decrypting are the same.

use farbird_session::Interrupt;
use farbird_types::Result;

/// Bytes between two looks at the interrupt.
const PIECE_BYTES: usize = 1 << 16;
/// Bytes of a block of ChaCha.
const CHACHA_BLOCK_BYTES: usize = 64;

/// RC4: weak, and kept because texts are encrypted with it.
pub(super) fn rc4(key: &[u8], text: &mut [u8], interrupt: &Interrupt) -> Result<()> {
    let mut permutation: [u8; 256] = std::array::from_fn(|index| index as u8);
    let mut j = 0_u8;
    for (i, key_byte) in (0..=255_u8).zip(key.iter().cycle()) {
        j = j.wrapping_add(permutation[usize::from(i)]).wrapping_add(*key_byte);
        permutation.swap(usize::from(i), usize::from(j));
    }
    let (mut i, mut j) = (0_u8, 0_u8);
    for piece in text.chunks_mut(PIECE_BYTES) {
        interrupt.check()?;
        for byte in piece {
            i = i.wrapping_add(1);
            j = j.wrapping_add(permutation[usize::from(i)]);
            permutation.swap(usize::from(i), usize::from(j));
            let sum = permutation[usize::from(i)].wrapping_add(permutation[usize::from(j)]);
            *byte ^= permutation[usize::from(sum)];
        }
    }
    Ok(())
}

/// ChaCha20 with a key of 16 or 32 bytes and a nonce of 8 or 12: with 8 the counter has 64 bits, with 12 it has 32.
pub(super) fn chacha20(
    key: &[u8],
    nonce: &[u8],
    counter: u64,
    text: &mut [u8],
    interrupt: &Interrupt,
) -> Result<()> {
    let constant: &[u8; 16] = if key.len() == 16 { b"expand 16-byte k" } else { b"expand 32-byte k" };
    let mut bytes = constant.to_vec();
    // A short key stands there twice.
    bytes.extend(key.iter().cycle().take(32));
    bytes.extend(counter.to_le_bytes().into_iter().take(16 - nonce.len().min(16)));
    bytes.extend(nonce);
    let (words, _) = bytes.as_chunks::<4>();
    let mut state: [u32; 16] =
        std::array::from_fn(|place| words.get(place).map_or(0, |word| u32::from_le_bytes(*word)));
    for piece in text.chunks_mut(PIECE_BYTES) {
        interrupt.check()?;
        for block in piece.chunks_mut(CHACHA_BLOCK_BYTES) {
            let stream = chacha_block(&state).into_iter().flat_map(u32::to_le_bytes);
            block.iter_mut().zip(stream).for_each(|(byte, other)| *byte ^= other);
            state[12] = state[12].wrapping_add(1);
            if state[12] == 0 && nonce.len() == 8 {
                state[13] = state[13].wrapping_add(1);
            }
        }
    }
    Ok(())
}

fn chacha_block(state: &[u32; 16]) -> [u32; 16] {
    const COLUMNS: [[usize; 4]; 4] = [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]];
    const DIAGONALS: [[usize; 4]; 4] = [[0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]];
    let mut words = *state;
    for _ in 0..10 {
        for places in COLUMNS.iter().chain(&DIAGONALS) {
            quarter_round(&mut words, places);
        }
    }
    std::array::from_fn(|place| words[place].wrapping_add(state[place]))
}

fn quarter_round(words: &mut [u32; 16], &[a, b, c, d]: &[usize; 4]) {
    for (first, second) in [(16, 12), (8, 7)] {
        words[a] = words[a].wrapping_add(words[b]);
        words[d] = (words[d] ^ words[a]).rotate_left(first);
        words[c] = words[c].wrapping_add(words[d]);
        words[b] = (words[b] ^ words[c]).rotate_left(second);
    }
}
