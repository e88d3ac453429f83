//! What makes a cipher of blocks one of texts.

use farbird_session::Interrupt;
use farbird_types::{Error, Result, isc};

use super::block_cipher::BlockCipher;
use super::value::{failed, fault};

/// Bytes between two looks at the interrupt; a multiple of every block.
const PIECE_BYTES: usize = 1 << 16;

/// A mode of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Ecb,
    Cbc,
    Ctr,
    Cfb,
    Ofb,
}

/// Which bytes of the counter of CTR are counted in, and in which order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counter {
    pub(super) little_endian: bool,
    /// How many; 0: all of the block's.
    pub(super) bytes: usize,
}

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Encrypt,
    Decrypt,
}

/// How a cipher is used.
#[derive(Debug, Clone, Copy)]
pub(super) struct Use {
    pub(super) mode: Mode,
    pub(super) direction: Direction,
    /// Of CTR only.
    pub(super) counter: Counter,
}

impl Mode {
    pub(super) fn by_name(name: &str) -> Option<Mode> {
        Some(match name {
            "ECB" => Mode::Ecb,
            "CBC" => Mode::Cbc,
            "CTR" => Mode::Ctr,
            "CFB" => Mode::Cfb,
            "OFB" => Mode::Ofb,
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Mode::Ecb => "ECB",
            Mode::Cbc => "CBC",
            Mode::Ctr => "CTR",
            Mode::Cfb => "CFB",
            Mode::Ofb => "OFB",
        }
    }
}

/// Encrypts or decrypts a text in its place. `vector` has a block's length, or is empty for ECB.
///
/// # Errors
/// ECB and CBC of a text that is not all blocks; a counter that is longer than a block.
pub(super) fn apply(
    Use { mode, direction, counter }: Use,
    cipher: &BlockCipher,
    block_bytes: usize,
    mut vector: Vec<u8>,
    text: &mut [u8],
    interrupt: &Interrupt,
) -> Result<()> {
    if matches!(mode, Mode::Ecb | Mode::Cbc) && !text.len().is_multiple_of(block_bytes) {
        let doing = match direction {
            Direction::Encrypt => isc::TOM_CRYPT_MODE,
            Direction::Decrypt => isc::TOM_DECRYPT_MODE,
        };
        return Err(failed(fault::ARGUMENT, doing).with(mode.name()));
    }
    if counter.bytes > block_bytes {
        return Err(failed(fault::ARGUMENT, isc::TOM_INIT_MODE).with(mode.name()));
    }
    for piece in text.chunks_mut(PIECE_BYTES) {
        interrupt.check()?;
        for block in piece.chunks_mut(block_bytes) {
            match (mode, direction) {
                (Mode::Ecb, Direction::Encrypt) => cipher.encrypt(block),
                (Mode::Ecb, Direction::Decrypt) => cipher.decrypt(block),
                (Mode::Cbc, Direction::Encrypt) => {
                    add(block, &vector);
                    cipher.encrypt(block);
                    vector.copy_from_slice(block);
                }
                (Mode::Cbc, Direction::Decrypt) => {
                    let before = std::mem::replace(&mut vector, block.to_vec());
                    cipher.decrypt(block);
                    add(block, &before);
                }
                (Mode::Cfb, direction) => {
                    cipher.encrypt(&mut vector);
                    let given = block.to_vec();
                    add(block, &vector);
                    let kept = if direction == Direction::Encrypt { &*block } else { &given };
                    vector.iter_mut().zip(kept).for_each(|(own, kept)| *own = *kept);
                }
                (Mode::Ofb, _) => {
                    cipher.encrypt(&mut vector);
                    add(block, &vector);
                }
                (Mode::Ctr, _) => {
                    let mut stream = vector.clone();
                    cipher.encrypt(&mut stream);
                    add(block, &stream);
                    count(&mut vector, counter);
                }
            }
        }
    }
    Ok(())
}

/// Adds bytes to others, bit by bit.
fn add(block: &mut [u8], others: &[u8]) {
    block.iter_mut().zip(others).for_each(|(byte, other)| *byte ^= other);
}

/// Counts one on.
fn count(block: &mut [u8], counter: Counter) {
    let length = if counter.bytes == 0 { block.len() } else { counter.bytes };
    match counter.little_endian {
        true => carry(block.iter_mut().take(length)),
        false => carry(block.iter_mut().rev().take(length)),
    }
}

/// Adds one to the first byte, and to the next one while there is something to carry.
fn carry<'b>(bytes: impl Iterator<Item = &'b mut u8>) {
    for byte in bytes {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            return;
        }
    }
}

/// The clause says no mode that there is.
pub(super) fn unknown() -> Error {
    Error::new(isc::TOM_MODE_BAD)
}
