//! Compression of pieces of BLOB contents.
//!
//! # Layout
//! | bytes | item |
//! |---|---|
//! | 1 | method: 0: plain; 1: LZ4 (block format) |
//! | varint | LZ4 only: size of the contents |
//! | ... | the contents |

use std::borrow::Cow;

use crate::DecodeError;
use crate::bytes::{Reader, put_varint};

const METHOD_PLAIN: u8 = 0;
const METHOD_LZ4: u8 = 1;

/// Pieces shorter than this are not worth a try.
const COMPRESSED_BYTES_MIN: usize = 64;
/// So much of a piece is tried first: what is compressed already does not shrink here either.
const PROBE_BYTES: usize = 2_048;
/// Compression pays if it saves one part in so many.
const SAVED_PART_MIN: usize = 8;

/// Appends `contents`, compressed if that pays.
pub fn pack(contents: &[u8], out: &mut Vec<u8>) {
    match compressed(contents) {
        Some(compressed) => {
            out.push(METHOD_LZ4);
            put_varint(contents.len() as u64, out);
            out.extend_from_slice(&compressed);
        }
        None => {
            out.push(METHOD_PLAIN);
            out.extend_from_slice(contents);
        }
    }
}

fn compressed(contents: &[u8]) -> Option<Vec<u8>> {
    if contents.len() < COMPRESSED_BYTES_MIN {
        return None;
    }
    // The probe is taken from the middle: heads of archives and pictures are tables that would shrink.
    if contents.len() > 2 * PROBE_BYTES {
        let start = contents.len() / 2;
        let probe = contents.get(start..start + PROBE_BYTES)?;
        if !pays(probe.len(), lz4_flex::block::compress(probe).len()) {
            return None;
        }
    }
    let compressed = lz4_flex::block::compress(contents);
    pays(contents.len(), compressed.len()).then_some(compressed)
}

fn pays(plain: usize, compressed: usize) -> bool {
    compressed < plain - plain / SAVED_PART_MIN
}

/// The contents of a piece, which are at most `size_max` bytes long.
///
/// # Errors
/// If the bytes are damaged, or the contents longer than that: before any memory is taken for them.
pub fn unpack(packed: &[u8], size_max: usize) -> Result<Cow<'_, [u8]>, DecodeError> {
    let mut reader = Reader::new(packed);
    let invalid = |what| DecodeError::Invalid { what, offset: 0 };
    match reader.u8()? {
        METHOD_PLAIN if reader.rest().len() <= size_max => Ok(Cow::Borrowed(reader.rest())),
        METHOD_LZ4 => {
            let size = usize::try_from(reader.varint()?).ok().filter(|&size| size <= size_max);
            let mut contents = vec![0; size.ok_or(invalid("size of compressed contents"))?];
            match lz4_flex::block::decompress_into(reader.rest(), &mut contents) {
                Ok(written) if written == contents.len() => Ok(Cow::Owned(contents)),
                _ => Err(invalid("LZ4 block")),
            }
        }
        _ => Err(invalid("compression method")),
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
        for (contents, method) in
            [("to be or not to be, ".repeat(700).into_bytes(), METHOD_LZ4), (noise(14_000), METHOD_PLAIN)]
        {
            let mut packed = Vec::new();
            pack(&contents, &mut packed);
            assert_eq!(packed[0], method);
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
            let mut packed = Vec::new();
            pack(&contents, &mut packed);
            let unpacked = unpack(&packed, 10_000).map(Cow::into_owned);
            prop_assert_eq!(unpacked, Ok(contents));
            let place = place.index(packed.len());
            packed[place] = byte;
            let _ = unpack(&packed, 10_000);
            packed.truncate(place);
            let _ = unpack(&packed, 10_000);
        }
    }
}
