//! `elekt`: zeros, repeated bytes and literals, with the shortest headers that their lengths allow.
//!
//! | first byte | header | length - 1 |
//! |---|---|---|
//! | k k 0 n n n n n | 1 byte | the five bits: 1 to 32 bytes |
//! | k k 1 0 n n n n | 2 bytes | four bits, then the next byte: up to 4,096 |
//! | k k 1 1 n n n n | 3 bytes | four bits, then the next two bytes, high byte first: up to 1,048,576, the longest image |
//!
//! | k k | stands for | after the header |
//! |---|---|---|
//! | 0 | zeros | nothing |
//! | 1 | one byte, repeated | that byte |
//! | 2 | a literal | its bytes |
//! | 3 | not used | |
//!
//! Of all ways to cut an image into runs, the shortest is taken.

use std::collections::VecDeque;

use super::{Run, RunContent, equal_bytes};
use crate::DecodeError;
use crate::bytes::Reader;

#[derive(Debug, Clone, Copy)]
enum Kind {
    Zeros = 0,
    Repeat = 1,
    Literal = 2,
}

/// The longest run with a header of one, two and three bytes.
const LENGTHS_MAX: [usize; 3] = [1 << 5, 1 << 12, 1 << 20];

fn header_bytes(length: usize) -> usize {
    LENGTHS_MAX.iter().position(|max| length <= *max).map_or(LENGTHS_MAX.len(), |index| index + 1)
}

/// Appends an image (of at most [`crate::image::IMAGE_BYTES_MAX`] bytes) in compressed form.
pub(super) fn pack(image: &[u8], out: &mut Vec<u8>) {
    let mut written = 0;
    for run in shortest_cut(image) {
        put_literal(image.get(written..run.start).unwrap_or_default(), out);
        put_run(&run, out);
        written = run.end;
    }
    put_literal(image.get(written..).unwrap_or_default(), out);
}

fn put_run(run: &Run, out: &mut Vec<u8>) {
    let length = run.end - run.start;
    match run.byte {
        0 => put_header(Kind::Zeros, length, out),
        byte => {
            put_header(Kind::Repeat, length, out);
            out.push(byte);
        }
    }
}

fn put_literal(bytes: &[u8], out: &mut Vec<u8>) {
    if !bytes.is_empty() {
        put_header(Kind::Literal, bytes.len(), out);
        out.extend_from_slice(bytes);
    }
}

fn put_header(kind: Kind, length: usize, out: &mut Vec<u8>) {
    let top = (kind as u8) << 6;
    let rest = length - 1;
    match header_bytes(length) {
        1 => out.push(top | rest as u8),
        2 => out.extend_from_slice(&[top | 0x20 | (rest >> 8) as u8, rest as u8]),
        _ => out.extend_from_slice(&[top | 0x30 | (rest >> 16) as u8, (rest >> 8) as u8, rest as u8]),
    }
}

/// The runs of the shortest encoding; what is between them are literals.
///
/// A stretch of equal bytes is worth being a run as a whole or not at all: taking it in part saves a header byte at most,
/// and costs at least one. Whether it is worth it depends on the literals around it, whose headers grow with their
/// length. So the cost of everything before each stretch is worked out from left to right, as in a shortest path: the
/// literal before it begins where some earlier run ends, and of the ends that a header of one, two or three bytes can reach
/// back to, the cheapest is known.
fn shortest_cut(image: &[u8]) -> Vec<Run> {
    // A single zero, or two equal bytes, can save a literal's header where nothing else needs it. A single other byte
    // costs the same either way.
    let mut candidates = Vec::new();
    let mut from = 0;
    while let Some(run) = next_candidate(image, from) {
        from = run.end;
        candidates.push(run);
    }
    // By candidate: which run comes before it in the cheapest way to get there.
    let mut before: Vec<Option<usize>> = Vec::with_capacity(candidates.len());
    let mut ends = LiteralStarts::new();
    for (index, run) in candidates.iter().enumerate() {
        let (cost, previous) = ends.cheapest(run.start);
        before.push(previous);
        let length = run.end - run.start;
        let own = header_bytes(length) + usize::from(run.byte != 0);
        ends.add(run.end, cost + own, Some(index));
    }
    let mut next = ends.cheapest(image.len()).1;
    let mut runs = Vec::new();
    while let Some(index) = next {
        runs.extend(candidates.get(index).copied());
        next = before.get(index).copied().flatten();
    }
    runs.reverse();
    runs
}

/// The next zeros, or at least two equal bytes, from `from` on.
fn next_candidate(image: &[u8], from: usize) -> Option<Run> {
    let rest = image.get(from..)?;
    let is_candidate = |pair: &[u8]| pair[0] == 0 || pair[0] == pair[1];
    let begin = match rest.windows(2).position(is_candidate) {
        Some(begin) => begin,
        None => rest.len().checked_sub(1).filter(|last| rest.get(*last) == Some(&0))?,
    };
    let byte = *rest.get(begin)?;
    let start = from + begin;
    Some(Run { start, end: start + equal_bytes(rest.get(begin..)?, byte), byte })
}

/// A place where a run ends and a literal can begin.
#[derive(Debug, Clone, Copy)]
struct LiteralStart {
    place: usize,
    /// Bytes of the encoding up to there.
    cost: usize,
    /// The run that ends there; none at the image's beginning.
    run: Option<usize>,
}

/// For each size of a literal's header, the starts that it can reach back to, the cheapest in front: a start that a later
/// one undercuts will never be the cheapest again, and is dropped.
struct LiteralStarts {
    by_header: [VecDeque<LiteralStart>; 3],
    last: LiteralStart,
}

impl LiteralStarts {
    fn new() -> LiteralStarts {
        let last = LiteralStart { place: 0, cost: 0, run: None };
        LiteralStarts { by_header: std::array::from_fn(|_| VecDeque::from([last])), last }
    }

    fn add(&mut self, place: usize, cost: usize, run: Option<usize>) {
        let start = LiteralStart { place, cost, run };
        self.last = start;
        for starts in &mut self.by_header {
            // Costs are compared as for literals that end at the same place.
            while starts.back().is_some_and(|other| other.cost + place > cost + other.place) {
                starts.pop_back();
            }
            starts.push_back(start);
        }
    }

    /// The lowest cost of all before `end`, and the last run there.
    fn cheapest(&mut self, end: usize) -> (usize, Option<usize>) {
        let mut best = match self.last.place == end {
            true => (self.last.cost, self.last.run),
            false => (usize::MAX, None),
        };
        for (header, (starts, max)) in self.by_header.iter_mut().zip(LENGTHS_MAX).enumerate() {
            while starts.front().is_some_and(|start| end - start.place > max) {
                starts.pop_front();
            }
            if let Some(start) = starts.front().filter(|start| start.place < end) {
                let cost = start.cost + header + 1 + end - start.place;
                if cost < best.0 {
                    best = (cost, start.run);
                }
            }
        }
        best
    }
}

pub(super) fn next(reader: &mut Reader<'_>) -> Result<(usize, RunContent), DecodeError> {
    let offset = reader.offset();
    let first = reader.u8()?;
    let rest = match first & 0x30 {
        0x00 | 0x10 => usize::from(first & 0x1F),
        0x20 => usize::from(first & 0x0F) << 8 | usize::from(reader.u8()?),
        _ => usize::from(first & 0x0F) << 16 | usize::from(u16::from_be_bytes(reader.array()?)),
    };
    let content = match first >> 6 {
        0 => RunContent::Repeat(0),
        1 => RunContent::Repeat(reader.u8()?),
        2 => RunContent::Literal,
        _ => return Err(DecodeError::Invalid { what: "kind of run", offset }),
    };
    Ok((rest + 1, content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn packed(image: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        pack(image, &mut out);
        out
    }

    #[test]
    fn known_images_give_the_bytes_of_the_format() {
        let image = [b"ab".as_slice(), &[0; 300], b"xxxxx"].concat();
        assert_eq!(packed(&image), [0x81, b'a', b'b', 0x21, 0x2B, 0x44, b'x']);
        assert_eq!(packed(&[0]), [0x00]);
        assert_eq!(packed(&[5]), [0x80, 5]);
        assert_eq!(packed(&[0; 32]), [0x1F]);
        assert_eq!(packed(&[0; 33]), [0x20, 0x20]);
        assert_eq!(packed(&[0; 4_096]), [0x2F, 0xFF]);
        assert_eq!(packed(&[0; 4_097]), [0x30, 0x10, 0x00]);
        assert_eq!(packed(&vec![0; 1 << 20]), [0x3F, 0xFF, 0xFF]);
        assert_eq!(packed(&vec![9; 1 << 20]), [0x7F, 0xFF, 0xFF, 9]);
        // Two zeros inside a literal save nothing, at its end they do.
        assert_eq!(packed(&[1, 2, 0, 0, 3, 4]), [0x85, 1, 2, 0, 0, 3, 4]);
        assert_eq!(packed(&[1, 2, 3, 0, 0]), [0x82, 1, 2, 3, 0x01]);
    }

    /// The length of the shortest encoding, by trying everything.
    fn shortest_length(image: &[u8]) -> usize {
        let mut best = vec![usize::MAX; image.len() + 1];
        best[0] = 0;
        for end in 1..=image.len() {
            for start in 0..end {
                let piece = &image[start..end];
                let header = header_bytes(piece.len());
                let cost = match piece.iter().all(|byte| *byte == piece[0]) {
                    true => header + usize::from(piece[0] != 0),
                    false => header + piece.len(),
                };
                best[end] = best[end].min(best[start] + cost.min(header + piece.len()));
            }
        }
        best[image.len()]
    }

    proptest! {
        #[test]
        fn no_encoding_is_shorter(runs in vec((0u8..3, 1usize..6), 0..60)) {
            let image: Vec<u8> = runs.into_iter().flat_map(|(byte, length)| vec![byte; length]).collect();
            prop_assert_eq!(packed(&image).len(), shortest_length(&image));
        }
    }
}
