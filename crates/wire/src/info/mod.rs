//! Information requests and replies: lists of items with little-endian lengths.
//!
//! Promises: [`InfoWriter`] never writes more than the asker has room for; [`InfoReader`] never panics and ends.
//! Uses [`crate::xdr::DecodeError`]. Source: wire-protocol.md, 1.5 and 6.6.

mod statement;
mod tags;

pub use statement::{Continuation, RecordCounts, Section, StatementInformation, Variable};
pub use tags::{batch, blob, common, cursor, database, farlink, request, sql, statement_type, transaction};

use farbird_types::isc;

use crate::clumplet::integer;
use crate::packet::BufferLength;
use crate::xdr::DecodeError;

/// Bytes of an item's tag and length.
const ITEM_HEAD_BYTES: usize = 3;

/// Writes an information reply into the asker's room. When an item does not fit, the reply ends there with
/// isc_info_truncated, and whatever else is written is dropped.
#[derive(Debug)]
pub struct InfoWriter {
    out: Vec<u8>,
    room: usize,
    truncated: bool,
}

/// Behind a text that has been cut.
const CUT: &[u8] = b" ...";

impl InfoWriter {
    /// A reply of at most `room` bytes.
    pub fn new(room: BufferLength) -> InfoWriter {
        InfoWriter { out: Vec::new(), room: room.0 as usize, truncated: false }
    }

    /// Whether `length` more bytes leave room for the closing byte.
    fn fits(&mut self, length: usize) -> bool {
        self.truncated = self.truncated || self.out.len().saturating_add(length) >= self.room;
        !self.truncated
    }

    /// An item with a value.
    pub fn bytes(&mut self, item: u8, value: &[u8]) {
        let Ok(length) = u16::try_from(value.len()) else {
            self.truncated = true;
            return;
        };
        if self.fits(ITEM_HEAD_BYTES + value.len()) {
            self.out.push(item);
            self.out.extend_from_slice(&length.to_le_bytes());
            self.out.extend_from_slice(value);
        }
    }

    /// An item with a number: four bytes if it fits, else eight.
    pub fn integer(&mut self, item: u8, value: i64) {
        match i32::try_from(value) {
            Ok(small) => self.bytes(item, &small.to_le_bytes()),
            Err(_) => self.bytes(item, &value.to_le_bytes()),
        }
    }

    /// An item with a text for people. Where there is no room for the whole it is cut at a space and marked, and the reply is
    /// truncated behind it, as Firebird does with plans.
    pub fn text(&mut self, item: u8, text: &[u8]) {
        // The closing byte has its place, too.
        let room = self.room.saturating_sub(self.out.len() + ITEM_HEAD_BYTES + 1).min(usize::from(u16::MAX));
        if text.len() <= room || self.truncated {
            return self.bytes(item, text);
        }
        let longest = room.saturating_sub(CUT.len());
        if let Some(end) =
            text.iter().take(longest + 1).rposition(|byte| *byte == b' ').filter(|_| room >= CUT.len())
        {
            self.bytes(item, &[&text[..end], CUT].concat());
        }
        self.truncated = true;
    }

    /// An item that is only its tag.
    pub fn bare(&mut self, item: u8) {
        if self.fits(1) {
            self.out.push(item);
        }
    }

    /// The answer to an item that is not known: isc_infunk, or another code.
    pub fn unknown(&mut self, item: u8) {
        self.failed(item, isc::INFUNK);
    }

    /// The answer to an item that cannot be answered, with the code that says why.
    pub fn failed(&mut self, item: u8, code: u32) {
        self.bytes(common::ERROR, &[&[item], &code.to_le_bytes()[..]].concat());
    }

    /// Whether something did not fit.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// The reply, closed by isc_info_end or isc_info_truncated.
    pub fn finish(mut self) -> Vec<u8> {
        if self.room > 0 {
            self.out.push(if self.truncated { common::TRUNCATED } else { common::END });
        }
        self.out
    }
}

/// One item of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InfoItem<'a> {
    /// Which.
    pub item: u8,
    /// Its value; empty for items that are only their tag.
    pub value: &'a [u8],
}

impl InfoItem<'_> {
    /// The value as a number.
    pub fn integer(&self) -> Option<i64> {
        integer(self.value)
    }
}

/// Reads the items of a reply, up to its end. isc_info_truncated comes out as an item.
#[derive(Debug, Clone)]
pub struct InfoReader<'a> {
    bytes: &'a [u8],
    offset: usize,
    is_sql: bool,
}

impl<'a> InfoReader<'a> {
    /// A reply about anything but a statement.
    pub fn new(bytes: &'a [u8]) -> InfoReader<'a> {
        InfoReader { bytes, offset: 0, is_sql: false }
    }

    /// A reply about a statement, where the marks of sections have no length.
    pub fn sql(bytes: &'a [u8]) -> InfoReader<'a> {
        InfoReader { bytes, offset: 0, is_sql: true }
    }

    fn read(&mut self) -> Option<InfoItem<'a>> {
        let item = *self.bytes.get(self.offset)?;
        let mark = self.is_sql && matches!(item, sql::SELECT | sql::BIND | sql::DESCRIBE_END);
        if mark || matches!(item, common::TRUNCATED | common::FLAG_END) {
            self.offset += 1;
            return Some(InfoItem { item, value: &[] });
        }
        let (length, rest) = self.bytes.get(self.offset + 1..)?.split_first_chunk()?;
        let length = usize::from(u16::from_le_bytes(*length));
        let value = rest.get(..length)?;
        self.offset += ITEM_HEAD_BYTES + length;
        Some(InfoItem { item, value })
    }
}

impl<'a> Iterator for InfoReader<'a> {
    type Item = Result<InfoItem<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.bytes.get(self.offset) {
            None | Some(&common::END) => None,
            Some(_) => Some(self.read().ok_or_else(|| {
                let offset = self.offset;
                self.offset = self.bytes.len();
                DecodeError::Truncated { offset }
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_never_exceed_their_room() {
        let write = |room| {
            let mut writer = InfoWriter::new(BufferLength(room));
            writer.integer(database::PAGE_SIZE, 8192);
            writer.integer(database::READS, 1 << 40);
            writer.unknown(200);
            writer.finish()
        };
        let whole = write(1000);
        assert_eq!(whole.len(), 7 + 11 + 8 + 1);
        for room in 0..30 {
            let reply = write(room);
            assert!(reply.len() <= room as usize, "{room}");
            assert_eq!(reply.last() == Some(&common::END), room as usize >= whole.len());
        }
        let items: Vec<_> = InfoReader::new(&whole).map(Result::unwrap).collect();
        assert_eq!(items.len(), 3);
        assert_eq!(items[1].integer(), Some(1 << 40));
        assert_eq!(items[2].item, common::ERROR);
    }
}
