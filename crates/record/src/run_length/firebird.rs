//! The compression of records in Firebird's data pages, old and new.
//!
//! # `classic`: Firebird 2.5 to 4
//! | count byte, signed | then | stands for |
//! |---|---|---|
//! | 0 | | nothing (padding) |
//! | n = 1 to 127 | n bytes | these bytes |
//! | -n = -1 to -128 | 1 byte | this byte n times |
//!
//! Stretches of three and more equal bytes become runs of up to 128; what is left of a longer one, if it is one or two bytes,
//! begins the literal after it.
//!
//! # `long-run`: Firebird 5
//! As `classic`, but two counts have another meaning:
//!
//! | count byte, signed | then | stands for |
//! |---|---|---|
//! | -1 | 2 bytes, little-endian: n; 1 byte | this byte n times (129 to 65,535) |
//! | -2 | 4 bytes, little-endian: n; 1 byte | this byte n times (65,536 and more) |
//!
//! Stretches of less than eight equal bytes are left among the literals.
//!
//! # Source
//! FirebirdSQL/firebird `src/jrd/sqz.cpp`, before and since version 5. The packed bytes are the same as its own.

use super::{RunContent, next_run};
use crate::DecodeError;
use crate::bytes::Reader;

const LITERAL_MAX: usize = 127;
const SHORT_RUN_MAX: usize = 128;
/// The shortest stretch that is a run, of each format.
const CLASSIC_RUN_MIN: usize = 3;
const LONG_RUN_MIN: usize = 8;
/// -1: a count of two bytes follows.
const COUNT_16: u8 = 0xFF;
/// -2: a count of four bytes follows.
const COUNT_32: u8 = 0xFE;

pub(super) fn pack_classic(image: &[u8], out: &mut Vec<u8>) {
    let mut written = 0;
    let mut from = 0;
    while let Some(run) = next_run(image, from, CLASSIC_RUN_MIN) {
        put_literals(image.get(written..run.start).unwrap_or_default(), out);
        written = run.start;
        while run.end - written >= CLASSIC_RUN_MIN {
            let part = (run.end - written).min(SHORT_RUN_MAX);
            put_short_run(part, run.byte, out);
            written += part;
        }
        from = run.end;
    }
    put_literals(image.get(written..).unwrap_or_default(), out);
}

pub(super) fn pack_long_run(image: &[u8], out: &mut Vec<u8>) {
    let mut written = 0;
    while let Some(run) = next_run(image, written, LONG_RUN_MIN) {
        put_literals(image.get(written..run.start).unwrap_or_default(), out);
        let length = run.end - run.start;
        if length <= SHORT_RUN_MAX {
            put_short_run(length, run.byte, out);
        } else if let Ok(length) = u16::try_from(length) {
            out.push(COUNT_16);
            out.extend_from_slice(&length.to_le_bytes());
            out.push(run.byte);
        } else {
            out.push(COUNT_32);
            out.extend_from_slice(&(length as u32).to_le_bytes());
            out.push(run.byte);
        }
        written = run.end;
    }
    put_literals(image.get(written..).unwrap_or_default(), out);
}

fn put_literals(bytes: &[u8], out: &mut Vec<u8>) {
    for part in bytes.chunks(LITERAL_MAX) {
        out.push(part.len() as u8);
        out.extend_from_slice(part);
    }
}

fn put_short_run(length: usize, byte: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[(length as u8).wrapping_neg(), byte]);
}

pub(super) fn next_classic(reader: &mut Reader<'_>) -> Result<(usize, RunContent), DecodeError> {
    let count = reader.u8()?;
    short(count, reader)
}

pub(super) fn next_long_run(reader: &mut Reader<'_>) -> Result<(usize, RunContent), DecodeError> {
    let length = match reader.u8()? {
        COUNT_16 => usize::from(u16::from_le_bytes(reader.array()?)),
        COUNT_32 => u32::from_le_bytes(reader.array()?) as usize,
        count => return short(count, reader),
    };
    Ok((length, RunContent::Repeat(reader.u8()?)))
}

fn short(count: u8, reader: &mut Reader<'_>) -> Result<(usize, RunContent), DecodeError> {
    match count {
        0..=127 => Ok((usize::from(count), RunContent::Literal)),
        _ => Ok((usize::from(count.wrapping_neg()), RunContent::Repeat(reader.u8()?))),
    }
}

#[cfg(test)]
mod tests {
    use crate::run_length::RunLength;

    /// Images with what Firebird's own algorithm makes of them, worked out by hand from its source.
    #[test]
    fn known_images_give_the_bytes_that_firebird_writes() {
        let zeros = |count: usize| vec![0u8; count];
        type Case = (Vec<u8>, Vec<u8>, Vec<u8>);
        let cases: Vec<Case> = vec![
            (vec![], vec![], vec![]),
            (vec![7], vec![1, 7], vec![1, 7]),
            (vec![7, 7], vec![2, 7, 7], vec![2, 7, 7]),
            // Three are a run for the old one; the new one begins at eight.
            (vec![7; 3], vec![0xFD, 7], vec![3, 7, 7, 7]),
            (vec![7; 7], vec![0xF9, 7], vec![7, 7, 7, 7, 7, 7, 7, 7]),
            (vec![7; 8], vec![0xF8, 7], vec![0xF8, 7]),
            (zeros(128), vec![0x80, 0], vec![0x80, 0]),
            // One byte more than a run can have is a literal, which goes on with what follows.
            (zeros(129), vec![0x80, 0, 1, 0], vec![0xFF, 129, 0, 0]),
            (
                [zeros(130), b"ab".to_vec()].concat(),
                vec![0x80, 0, 4, 0, 0, b'a', b'b'],
                vec![0xFF, 130, 0, 0, 2, b'a', b'b'],
            ),
            (zeros(131), vec![0x80, 0, 0xFD, 0], vec![0xFF, 131, 0, 0]),
            (
                [b"ab".to_vec(), zeros(300), b"xxxxx".to_vec()].concat(),
                vec![2, b'a', b'b', 0x80, 0, 0x80, 0, 0xD4, 0, 0xFB, b'x'],
                vec![2, b'a', b'b', 0xFF, 0x2C, 0x01, 0, 5, b'x', b'x', b'x', b'x', b'x'],
            ),
            // Short stretches do not end a literal of the new one.
            (
                b"abccccde".to_vec(),
                vec![2, b'a', b'b', 0xFC, b'c', 2, b'd', b'e'],
                vec![8, b'a', b'b', b'c', b'c', b'c', b'c', b'd', b'e'],
            ),
        ];
        for (image, classic, long_run) in cases {
            let mut packed = Vec::new();
            RunLength::Classic.pack(&image, &mut packed);
            assert_eq!(packed, classic, "{image:?}");
            packed.clear();
            RunLength::LongRun.pack(&image, &mut packed);
            assert_eq!(packed, long_run, "{image:?}");
        }
    }

    #[test]
    fn literals_are_cut_at_127_and_long_counts_at_64_kib() {
        let mut packed = Vec::new();
        let image: Vec<u8> = (0..200).collect();
        RunLength::LongRun.pack(&image, &mut packed);
        assert_eq!((packed.len(), packed[0], packed[128]), (202, 127, 73));
        for (length, expected) in [(65_535, vec![0xFF, 0xFF, 0xFF, 0]), (65_536, vec![0xFE, 0, 0, 1, 0, 0])] {
            packed.clear();
            RunLength::LongRun.pack(&vec![0; length], &mut packed);
            assert_eq!(packed, expected);
        }
    }

    #[test]
    fn padding_between_runs_is_passed_over() {
        for run_length in [RunLength::Classic, RunLength::LongRun] {
            assert_eq!(run_length.unpack(&[0, 1, b'a', 0, 0xF8, b'b', 0], 9), Ok(b"abbbbbbbb".to_vec()));
        }
    }
}
