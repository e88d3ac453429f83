//! General compression of byte strings: whole blocks of row-wise codecs, single columns, and pieces of BLOB contents.
//!
//! # Layout of a packed piece
//! | bytes | item |
//! |---|---|
//! | 1 | method: 0: plain; 1: LZ4 (block format); 2: Zstandard (one frame) |
//! | varint | but for plain ones: size of the contents |
//! | ... | the contents |

use std::borrow::Cow;
use std::cell::RefCell;

use crate::DecodeError;
use crate::bytes::{Reader, put_varint};

/// How bytes are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// LZ4: fastest.
    Lz4,
    /// Zstandard: smallest.
    Zstandard,
}

impl Compression {
    /// All of them.
    pub const ALL: [Compression; 3] = [Compression::None, Compression::Lz4, Compression::Zstandard];

    /// Its name: `none`, `lz4`, `zstd`.
    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Lz4 => "lz4",
            Compression::Zstandard => "zstd",
        }
    }
}

const METHOD_PLAIN: u8 = 0;
const METHOD_LZ4: u8 = 1;
const METHOD_ZSTANDARD: u8 = 2;

/// Zstandard's own default: a third more speed than level 4 and nearly its sizes, on texts of 4 to 64 KiB.
const ZSTANDARD_LEVEL: i32 = 3;
/// Pieces shorter than this are not worth a try.
const COMPRESSED_BYTES_MIN: usize = 64;
/// So much of a large piece is tried first: what is compressed already does not shrink here either.
const PROBE_BYTES: usize = 2_048;

/// Which part of its size compression must save, for its costs when reading to pay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worth {
    /// An eighth: for contents that are read as bytes.
    Eighth,
    /// Half: for contents that are read much faster when they are not compressed.
    Half,
}

impl Worth {
    fn pays(self, plain: usize, compressed: usize) -> bool {
        let saved = match self {
            Worth::Eighth => plain / 8,
            Worth::Half => plain / 2,
        };
        compressed < plain - saved
    }
}

/// Appends `contents` as a packed piece, compressed by the method that contents of BLOBs and backups are compressed with, if
/// that pays.
pub fn pack(contents: &[u8], out: &mut Vec<u8>) {
    pack_with(Compression::Zstandard, Worth::Eighth, contents, out);
}

/// Appends `contents` as a packed piece, compressed if that pays.
pub fn pack_with(compression: Compression, worth: Worth, contents: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    if may_pay(worth, contents) {
        let method = match compression {
            Compression::None => METHOD_PLAIN,
            Compression::Lz4 => METHOD_LZ4,
            Compression::Zstandard => METHOD_ZSTANDARD,
        };
        out.push(method);
        put_varint(contents.len() as u64, out);
        let done = match compression {
            Compression::None => false,
            Compression::Lz4 => append_lz4(contents, out),
            Compression::Zstandard => append_zstandard(contents, out),
        };
        if done && worth.pays(contents.len(), out.len() - start) {
            return;
        }
        out.truncate(start);
    }
    out.push(METHOD_PLAIN);
    out.extend_from_slice(contents);
}

/// Whether contents look as if they could be compressed. LZ4 looks at a part of large ones: it is the fastest in seeing
/// that nothing repeats itself.
fn may_pay(worth: Worth, contents: &[u8]) -> bool {
    if contents.len() < COMPRESSED_BYTES_MIN {
        return false;
    }
    if contents.len() <= 2 * PROBE_BYTES {
        return true;
    }
    // The probe is taken from the middle: heads of archives and pictures are tables that would shrink.
    let start = contents.len() / 2;
    let probe = contents.get(start..start + PROBE_BYTES).unwrap_or_default();
    has_skewed_bytes(probe) || worth.pays(probe.len(), lz4_flex::block::compress(probe).len())
}

/// Whether some byte values are much more frequent than others, as in text, so that Zstandard finds them shorter codes even
/// if nothing repeats itself.
fn has_skewed_bytes(probe: &[u8]) -> bool {
    let mut counts = [0u16; 256];
    for byte in probe {
        counts[usize::from(*byte)] += 1;
    }
    // The sum of squares is len^2 / 256 for evenly spread bytes (plus len for chance), and len^2 if all are the same.
    let squares: usize = counts.iter().map(|count| usize::from(*count).pow(2)).sum();
    squares > 2 * probe.len() * (probe.len() / 256 + 1)
}

fn append_lz4(contents: &[u8], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    out.resize(start + lz4_flex::block::get_maximum_output_size(contents.len()), 0);
    match lz4_flex::block::compress_into(contents, out.get_mut(start..).unwrap_or_default()) {
        Ok(size) => {
            out.truncate(start + size);
            true
        }
        Err(_) => false,
    }
}

thread_local! {
    // A context is large, and most pieces are small: one per thread is set up once. Nothing of a piece stays in it.
    static ZSTANDARD: RefCell<Option<Zstandard>> = const { RefCell::new(None) };
}

struct Zstandard {
    compressor: zstd::bulk::Compressor<'static>,
    decompressor: zstd::bulk::Decompressor<'static>,
}

/// Runs `work` with this thread's contexts; `None` if there is no memory for them.
fn with_zstandard<T>(work: impl FnOnce(&mut Zstandard) -> Option<T>) -> Option<T> {
    ZSTANDARD.with_borrow_mut(|contexts| {
        if contexts.is_none() {
            *contexts = Some(Zstandard {
                compressor: zstd::bulk::Compressor::new(ZSTANDARD_LEVEL).ok()?,
                decompressor: zstd::bulk::Decompressor::new().ok()?,
            });
        }
        contexts.as_mut().and_then(work)
    })
}

fn append_zstandard(contents: &[u8], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    out.resize(start + zstd::zstd_safe::compress_bound(contents.len()), 0);
    let place = out.get_mut(start..).unwrap_or_default();
    match with_zstandard(|contexts| contexts.compressor.compress_to_buffer(contents, place).ok()) {
        Some(size) => {
            out.truncate(start + size);
            true
        }
        None => false,
    }
}

/// The contents of a packed piece, which are at most `size_max` bytes long.
///
/// # Errors
/// If the bytes are damaged, or the contents longer than that: before any memory is taken for them.
pub fn unpack(packed: &[u8], size_max: usize) -> Result<Cow<'_, [u8]>, DecodeError> {
    let mut reader = Reader::new(packed);
    let invalid = |what| DecodeError::Invalid { what, offset: 0 };
    let method = reader.u8()?;
    if method == METHOD_PLAIN {
        let contents = reader.rest();
        return match contents.len() <= size_max {
            true => Ok(Cow::Borrowed(contents)),
            false => Err(invalid("size of contents")),
        };
    }
    let size = usize::try_from(reader.varint()?).ok().filter(|&size| size <= size_max);
    let size = size.ok_or(invalid("size of compressed contents"))?;
    let written = match method {
        METHOD_LZ4 => {
            let mut contents = vec![0; size];
            lz4_flex::block::decompress_into(reader.rest(), &mut contents)
                .ok()
                .map(|written| (written, contents))
        }
        METHOD_ZSTANDARD => {
            let mut contents = vec![0; size];
            with_zstandard(|contexts| {
                contexts.decompressor.decompress_to_buffer(reader.rest(), &mut contents[..]).ok()
            })
            .map(|written| (written, contents))
        }
        _ => return Err(invalid("compression method")),
    };
    match written {
        Some((written, contents)) if written == size => Ok(Cow::Owned(contents)),
        _ => Err(invalid("compressed contents")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn noise(count: usize) -> Vec<u8> {
        let mut state = 1u64;
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            Some((state >> 56) as u8)
        };
        std::iter::from_fn(next).take(count).collect()
    }

    #[test]
    fn text_shrinks_and_noise_is_left_alone() {
        let text = "to be or not to be, ".repeat(700).into_bytes();
        for (compression, contents, method) in [
            (Compression::None, text.clone(), METHOD_PLAIN),
            (Compression::Lz4, text.clone(), METHOD_LZ4),
            (Compression::Zstandard, text, METHOD_ZSTANDARD),
            (Compression::Lz4, noise(14_000), METHOD_PLAIN),
            (Compression::Zstandard, noise(14_000), METHOD_PLAIN),
            // Nothing repeats itself, but half of the bits say nothing.
            (
                Compression::Zstandard,
                noise(14_000).iter().map(|byte| byte & 0x55).collect(),
                METHOD_ZSTANDARD,
            ),
        ] {
            let mut packed = Vec::new();
            pack_with(compression, Worth::Eighth, &contents, &mut packed);
            assert_eq!(packed[0], method, "{compression:?}");
            assert_eq!(unpack(&packed, 16_000).as_deref(), Ok(contents.as_slice()));
            assert!(unpack(&packed, contents.len() - 1).is_err());
        }
    }

    proptest! {
        #[test]
        fn anything_comes_back_and_damage_never_panics(
            words in vec(prop_oneof![Just(b"some text ".to_vec()), vec(any::<u8>(), 0..20)], 0..300),
            place in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let contents = words.concat();
            for compression in Compression::ALL {
                for worth in [Worth::Eighth, Worth::Half] {
                    let mut packed = Vec::new();
                    pack_with(compression, worth, &contents, &mut packed);
                    let unpacked = unpack(&packed, 10_000).map(Cow::into_owned);
                    prop_assert_eq!(unpacked.as_ref(), Ok(&contents));
                    let place = place.index(packed.len());
                    packed[place] = byte;
                    let _ = unpack(&packed, 10_000);
                    packed.truncate(place);
                    let _ = unpack(&packed, 10_000);
                }
            }
        }
    }
}
