//! Contents of a BLOB, and reading in them as a server reads.
//!
//! Source: wire-protocol.md, 6.7: a reply holds as many segments as fit, each behind its 16-bit length, as long as more than two bytes
//! are left; a segment that does not fit goes on with the next reply.

use std::collections::VecDeque;

use farbird_types::isc;
use farbird_wire::info::{InfoWriter, blob, common};
use farbird_wire::packet::BufferLength;
use farbird_wire::protocol::segment_state;

use crate::message::BlobFacts;

/// Bytes of a segment's length.
const HEAD_BYTES: usize = 2;

/// What is here of a BLOB.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) facts: Option<BlobFacts>,
    /// Bytes of segments one behind the other, from `start` on.
    bytes: Vec<u8>,
    /// Where the first of the bytes stands in the BLOB.
    start: usize,
    /// Lengths of the segments that end in the bytes, from the one that `first_segment` counts on. Of a stream they mean nothing.
    lengths: VecDeque<u16>,
    /// What came of a segment that is not whole.
    rest: Vec<u8>,
    /// Whether there is no more to come.
    pub(super) is_whole: bool,
}

/// Where a reader is.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Place {
    /// In bytes from the BLOB's start.
    position: usize,
    /// Segments that were begun, of those that are here.
    segment: usize,
    /// What is left of the one that was begun last.
    left: Option<usize>,
}

impl Contents {
    /// Adds segments, each behind its length; the last one may be cut anywhere.
    pub(super) fn append(&mut self, segments: &[u8], is_last: bool) {
        self.rest.extend_from_slice(segments);
        let rest = std::mem::take(&mut self.rest);
        let mut unread = rest.as_slice();
        while let Some((head, tail)) = unread.split_first_chunk::<HEAD_BYTES>() {
            let length = u16::from_le_bytes(*head);
            let Some((segment, behind)) = tail.split_at_checked(usize::from(length)) else { break };
            self.bytes.extend_from_slice(segment);
            self.lengths.push_back(length);
            unread = behind;
        }
        self.rest = unread.to_vec();
        self.is_whole = is_last;
    }

    /// All of a BLOB whose segments came so.
    pub(super) fn whole(facts: BlobFacts, segments: &[u8]) -> Contents {
        let mut contents = Contents { facts: Some(facts), ..Contents::default() };
        contents.append(segments, true);
        contents
    }

    /// The segments of a BLOB that is whole, each behind its length.
    pub(super) fn segments(&self) -> Vec<u8> {
        let mut segments = Vec::with_capacity(self.bytes.len() + HEAD_BYTES * self.lengths.len());
        let mut rest = self.bytes.as_slice();
        for length in &self.lengths {
            let (segment, behind) = rest.split_at_checked(usize::from(*length)).unwrap_or((rest, &[]));
            segments.extend_from_slice(&length.to_le_bytes());
            segments.extend_from_slice(segment);
            rest = behind;
        }
        segments
    }

    /// Memory that it takes.
    pub(super) fn memory(&self) -> usize {
        self.bytes.len() + self.rest.len() + 2 * self.lengths.len() + size_of::<Contents>()
    }

    fn is_stream(&self) -> bool {
        self.facts.is_some_and(|facts| facts.is_stream)
    }

    /// Whether it could not be read to its end.
    pub(super) fn is_broken(&self) -> bool {
        let came = self.start + self.bytes.len();
        self.is_whole && self.facts.is_none_or(|facts| came < facts.length as usize)
    }

    /// Whether the place is in what was forgotten.
    pub(super) fn is_gone(&self, place: &Place) -> bool {
        place.position < self.start
    }

    /// Begins again, with nothing here.
    pub(super) fn restart(&mut self) {
        *self = Contents { facts: self.facts, ..Contents::default() };
    }

    /// Forgets what is before the place; of a stream, where somebody may go back, only what is more than `kept_max`.
    pub(super) fn forget_before(&mut self, place: &mut Place, kept_max: usize) {
        let mut gone = (place.position.saturating_sub(self.start)).min(self.bytes.len());
        if self.is_stream() {
            self.lengths.clear();
            gone = gone.saturating_sub(kept_max);
            if gone < kept_max {
                return;
            }
        }
        self.bytes.drain(..gone);
        self.start += gone;
        if self.is_stream() {
            return;
        }
        let segments = place.segment.min(self.lengths.len());
        self.lengths.drain(..segments);
        place.segment -= segments;
    }

    /// What op_get_segment with this much room answers: state and data. `None` if that depends on what has not come.
    pub(super) fn read(&self, place: &mut Place, room: usize) -> Option<(u16, Vec<u8>)> {
        if !self.is_whole && !self.has(place, room) {
            return None;
        }
        let (mut data, mut state) = (Vec::new(), segment_state::COMPLETE);
        while data.len() + HEAD_BYTES < room && state == segment_state::COMPLETE {
            let bytes_max = (room - data.len() - HEAD_BYTES).min(usize::from(u16::MAX));
            let Some(left) = place.left.take().or_else(|| self.next_segment(place)) else {
                state = segment_state::END_OF_BLOB;
                break;
            };
            let count = left.min(bytes_max);
            let from = place.position.saturating_sub(self.start);
            let bytes = self.bytes.get(from..from + count)?;
            data.extend_from_slice(&u16::try_from(count).ok()?.to_le_bytes());
            data.extend_from_slice(bytes);
            place.position += count;
            if count < left && !self.is_stream() {
                place.left = Some(left - count);
                state = segment_state::INCOMPLETE;
            }
        }
        Some((state, data))
    }

    /// Whether all is here that a reply of this size could hold.
    fn has(&self, place: &Place, room: usize) -> bool {
        let bytes = (self.start + self.bytes.len()).saturating_sub(place.position);
        let heads = match self.is_stream() {
            true => 0,
            false => self.lengths.len().saturating_sub(place.segment) * HEAD_BYTES,
        };
        self.facts.is_some() && bytes + heads >= room
    }

    fn next_segment(&self, place: &mut Place) -> Option<usize> {
        if self.is_stream() {
            let rest = (self.start + self.bytes.len()).saturating_sub(place.position);
            return (rest > 0).then_some(rest);
        }
        let length = *self.lengths.get(place.segment)?;
        place.segment += 1;
        Some(usize::from(length))
    }

    /// Moves in a stream; gives the new position, or the code that says why not. `None` as for [`Contents::read`].
    pub(super) fn seek(&self, place: &mut Place, mode: u16, offset: i32) -> Option<Result<u64, u32>> {
        let facts = self.facts?;
        if !facts.is_stream || mode > 2 {
            return Some(Err(isc::BAD_SEGSTR_TYPE));
        }
        let length = i64::from(facts.length);
        let base = match mode {
            0 => 0,
            1 => i64::try_from(place.position).unwrap_or(length),
            _ => length,
        };
        let position = (base + i64::from(offset)).clamp(0, length);
        place.position = usize::try_from(position).unwrap_or_default();
        place.left = None;
        Some(Ok(position.cast_unsigned()))
    }

    /// What op_info_blob answers. `None` as for [`Contents::read`].
    pub(super) fn information(&self, items: &[u8], room: BufferLength) -> Option<Vec<u8>> {
        let facts = self.facts?;
        let mut writer = InfoWriter::new(room);
        for item in items.iter().take_while(|item| **item != common::END) {
            match *item {
                blob::NUM_SEGMENTS => writer.integer(*item, i64::from(facts.segments)),
                blob::MAX_SEGMENT => writer.integer(*item, i64::from(facts.longest_segment)),
                blob::TOTAL_LENGTH => writer.integer(*item, i64::from(facts.length)),
                blob::TYPE => writer.bytes(*item, &[u8::from(facts.is_stream)]),
                unknown => writer.unknown(unknown),
            }
        }
        Some(writer.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(segments: &[&[u8]], is_stream: bool) -> Contents {
        let length = segments.iter().map(|segment| segment.len()).sum::<usize>();
        let longest = segments.iter().map(|segment| segment.len()).max().unwrap_or_default();
        let facts = BlobFacts {
            segments: u32::try_from(segments.len()).unwrap(),
            longest_segment: u32::try_from(longest).unwrap(),
            length: u32::try_from(length).unwrap(),
            is_stream,
        };
        let mut contents = Contents { facts: Some(facts), ..Contents::default() };
        let packed: Vec<u8> = segments
            .iter()
            .flat_map(|segment| [&u16::try_from(segment.len()).unwrap().to_le_bytes()[..], segment].concat())
            .collect();
        // Cut anywhere.
        for piece in packed.chunks(3) {
            contents.append(piece, false);
        }
        contents.append(&[], true);
        contents
    }

    #[test]
    fn segments_are_packed_while_they_fit_and_cut_where_they_do_not() {
        let contents = contents(&[b"abc", b"", b"defghij"], false);
        let mut place = Place::default();
        let read = |place: &mut Place, room| contents.read(place, room).unwrap();
        assert_eq!(read(&mut place, 12), (1, b"\x03\0abc\0\0\x03\0def".to_vec()));
        assert_eq!(read(&mut place, 5), (1, b"\x03\0ghi".to_vec()));
        assert_eq!(read(&mut place, 2), (0, Vec::new()), "no room for a byte is no end");
        assert_eq!(read(&mut place, 3), (0, b"\x01\0j".to_vec()));
        assert_eq!(read(&mut place, 100), (2, Vec::new()));
        assert_eq!(read(&mut Place::default(), 100), (2, b"\x03\0abc\0\0\x07\0defghij".to_vec()));
        assert_eq!(contents.seek(&mut place, 0, 1), Some(Err(isc::BAD_SEGSTR_TYPE)));
    }

    #[test]
    fn a_stream_has_no_segments_and_can_be_sought_in() {
        let contents = contents(&[b"abc", b"defghij"], true);
        let mut place = Place::default();
        assert_eq!(contents.read(&mut place, 7), Some((0, b"\x05\0abcde".to_vec())));
        assert_eq!(contents.seek(&mut place, 2, -3), Some(Ok(7)));
        assert_eq!(contents.read(&mut place, 100), Some((2, b"\x03\0hij".to_vec())));
        assert_eq!(contents.seek(&mut place, 1, -100), Some(Ok(0)));
        assert_eq!(contents.seek(&mut place, 0, 100), Some(Ok(10)));
        assert_eq!(
            contents.information(&[6, 7, 1], BufferLength(100)),
            Some(vec![6, 4, 0, 10, 0, 0, 0, 7, 1, 0, 1, 1])
        );
    }

    #[test]
    fn of_a_stream_so_much_is_kept_for_going_back() {
        let mut contents = contents(&[&[b'x'; 100], &[b'y'; 100]], true);
        let mut place = Place::default();
        contents.read(&mut place, 152);
        contents.forget_before(&mut place, 50);
        assert_eq!(contents.seek(&mut place, 0, 100), Some(Ok(100)));
        assert!(!contents.is_gone(&place));
        assert_eq!(contents.read(&mut place, 4), Some((0, b"\x02\0yy".to_vec())));
        contents.seek(&mut place, 0, 99);
        assert!(contents.is_gone(&place));
        assert!(!contents.is_broken());
        contents.restart();
        contents.append(b"\x01\0x", true);
        assert!(contents.is_broken(), "two hundred bytes were promised");
    }

    #[test]
    fn what_depends_on_what_has_not_come_waits() {
        let mut contents = Contents::default();
        contents.append(b"\x03\0abc\x04\0d", false);
        let mut place = Place::default();
        assert_eq!(contents.read(&mut place, 5), None, "whether it is a stream is not known");
        contents.facts = Some(BlobFacts { segments: 2, longest_segment: 4, length: 7, is_stream: false });
        assert_eq!(contents.read(&mut place, 5), Some((0, b"\x03\0abc".to_vec())));
        contents.forget_before(&mut place, 0);
        assert_eq!(contents.read(&mut place, 9), None);
        contents.append(b"efg", true);
        assert_eq!(contents.read(&mut place, 9), Some((2, b"\x04\0defg".to_vec())));
    }
}
