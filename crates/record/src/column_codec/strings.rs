//! Byte strings of a column: one after the other, or the different ones once and an index for each.

use xxhash_rust::xxh3::xxh3_64;

use super::{KIND_DICTIONARY, KIND_PLAIN};
use crate::DecodeError;
use crate::bytes::{Reader, put_varint};
use crate::packed::{self, Packed, PackedNumbers};

/// Appends byte strings in the smaller of the two ways; gives its kind.
pub(super) fn encode(strings: &[&[u8]], out: &mut Vec<u8>) -> u8 {
    let all_ends = ends(strings);
    if let Some(dictionary) = Dictionary::of(strings) {
        let different_ends = ends(&dictionary.different);
        let size = |ends: &[i64]| ends.last().map_or(0, |end| *end as usize) + packed::encoded_size(ends);
        let indexed = size(&different_ends) + packed::encoded_size(&dictionary.indexes);
        if indexed < size(&all_ends) {
            put_varint(dictionary.different.len() as u64, out);
            encode_plain(&dictionary.different, &different_ends, out);
            packed::encode(&dictionary.indexes, out);
            return KIND_DICTIONARY;
        }
    }
    encode_plain(strings, &all_ends, out);
    KIND_PLAIN
}

/// Where each string ends if they stand one after the other.
fn ends(strings: &[&[u8]]) -> Vec<i64> {
    let mut end = 0;
    let add = |string: &&[u8]| {
        end += string.len() as i64;
        end
    };
    strings.iter().map(add).collect()
}

fn encode_plain(strings: &[&[u8]], ends: &[i64], out: &mut Vec<u8>) {
    packed::encode(ends, out);
    for string in strings {
        out.extend_from_slice(string);
    }
}

/// The different ones of some strings, in the order in which they first came.
struct Dictionary<'s> {
    different: Vec<&'s [u8]>,
    /// By string.
    indexes: Vec<i64>,
}

/// After so many strings a dictionary that does not look worth it is given up.
const TRIED_STRINGS: usize = 256;

impl<'s> Dictionary<'s> {
    /// `None` if most strings are different.
    fn of(strings: &[&'s [u8]]) -> Option<Dictionary<'s>> {
        let mut dictionary = Dictionary { different: Vec::new(), indexes: Vec::with_capacity(strings.len()) };
        // Open addressing: places are indexes plus one, 0 is free. Never more than half full.
        let places = (strings.len() * 2).next_power_of_two();
        let mut table = vec![0u32; places];
        for (count, string) in strings.iter().enumerate() {
            if count % TRIED_STRINGS == 0 && dictionary.different.len() * 4 > count * 3 {
                return None;
            }
            let mut place = xxh3_64(string) as usize % places;
            let index = loop {
                match table[place] {
                    0 => {
                        dictionary.different.push(string);
                        table[place] = dictionary.different.len() as u32;
                        break dictionary.different.len() - 1;
                    }
                    taken if dictionary.different[taken as usize - 1] == *string => {
                        break taken as usize - 1;
                    }
                    _ => place = (place + 1) % places,
                }
            };
            dictionary.indexes.push(index as i64);
        }
        Some(dictionary)
    }
}

/// Byte strings to read from.
pub(super) type Strings<'a> = StringsIn<&'a [u8]>;

/// Byte strings in bytes, or at places of bytes that somebody else has.
#[derive(Debug, Clone, Copy)]
pub(super) struct StringsIn<B> {
    ends: Packed<B>,
    bytes: B,
}

impl<B> StringsIn<B> {
    /// The same strings with something else in the place of their bytes.
    #[inline]
    pub(super) fn map<C>(&self, change: &impl Fn(&B) -> C) -> StringsIn<C> {
        StringsIn { ends: self.ends.map(change), bytes: change(&self.bytes) }
    }
}

impl<'a> Strings<'a> {
    /// Takes `count` strings, to which all that is left belongs.
    pub(super) fn take_rest(count: usize, reader: &mut Reader<'a>) -> Result<Strings<'a>, DecodeError> {
        let ends = PackedNumbers::take(count, reader)?;
        Ok(Strings { ends, bytes: reader.rest() })
    }

    /// Takes `count` strings and no more.
    pub(super) fn take(count: usize, reader: &mut Reader<'a>) -> Result<Strings<'a>, DecodeError> {
        let offset = reader.offset();
        let ends = PackedNumbers::take(count, reader)?;
        let size = count.checked_sub(1).map_or(0, |last| ends.number(last));
        let size = usize::try_from(size).map_err(|_| DecodeError::Invalid { what: "dictionary", offset })?;
        Ok(Strings { ends, bytes: reader.take(size)? })
    }

    /// The string at `index`.
    pub(super) fn string(&self, index: usize) -> Result<&'a [u8], DecodeError> {
        let start = if index == 0 { 0 } else { self.ends.number(index - 1) };
        self.between(start, self.ends.number(index), index)
    }

    /// Hands the strings of a range to `sink`.
    pub(super) fn for_each(
        &self,
        range: std::ops::Range<usize>,
        mut sink: impl FnMut(&'a [u8]) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let mut ends = Vec::with_capacity(range.len() + 1);
        if range.start == 0 {
            ends.push(0);
        }
        self.ends.unpack(range.start.saturating_sub(1)..range.end, &mut ends);
        for (offset, pair) in ends.windows(2).enumerate() {
            sink(self.between(pair[0], pair[1], range.start + offset)?)?;
        }
        Ok(())
    }

    #[inline]
    fn between(&self, start: i64, end: i64, index: usize) -> Result<&'a [u8], DecodeError> {
        usize::try_from(start)
            .ok()
            .zip(usize::try_from(end).ok())
            .and_then(|(start, end)| self.bytes.get(start..end))
            .ok_or(DecodeError::Invalid { what: "string's place", offset: index })
    }
}
