//! XDR as Firebird speaks it: big-endian 32-bit words, padded byte strings.
//!
//! Promises: [`Reader`] never panics, never allocates, and refuses a length above the limit its caller names before
//! it looks at the bytes. [`Writer`] appends to the caller's buffer and nothing else.
//! Uses nothing of ours. Source: wire-protocol.md, 1.2 and 1.3.

use thiserror::Error;

/// Why decoding stopped before the item was whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The buffer ends inside the item. Keep the bytes and try again with more.
    NeedMore,
    /// No further bytes can make this valid. Fatal for the connection.
    Bad(DecodeError),
}

impl From<DecodeError> for Stop {
    fn from(error: DecodeError) -> Stop {
        Stop::Bad(error)
    }
}

/// What is wrong with a peer's bytes. Offsets count from the start of the packet or block being decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// An operation that does not exist, or does not travel in this direction.
    #[error("unknown operation {code}")]
    UnknownOperation {
        /// The operation word.
        code: u32,
    },
    /// An operation that this protocol version or this moment of the conversation does not have.
    #[error("operation {code} is not possible here")]
    UnexpectedOperation {
        /// The operation word.
        code: u32,
    },
    /// A length above its limit.
    #[error("length {length} at offset {offset} exceeds the limit of {limit} bytes")]
    TooLong {
        /// Where the length stands.
        offset: usize,
        /// What the peer said.
        length: usize,
        /// What we allow.
        limit: usize,
    },
    /// More items than allowed.
    #[error("{count} items at offset {offset} exceed the limit of {limit}")]
    TooMany {
        /// Where the count stands.
        offset: usize,
        /// What the peer said.
        count: usize,
        /// What we allow.
        limit: usize,
    },
    /// A block that came whole (BLR, SDL, clumplets, an information reply) ends inside an item.
    #[error("block ends inside an item at offset {offset}")]
    Truncated {
        /// Where the item begins.
        offset: usize,
    },
    /// A byte or word outside the values that its place allows.
    #[error("value {value} at offset {offset} is not possible here")]
    BadValue {
        /// Where it stands.
        offset: usize,
        /// What it is.
        value: u32,
    },
    /// A message travels for which no format was ever described.
    #[error("no message format is known for object {object}")]
    NoFormat {
        /// Handle of the statement or request.
        object: u16,
    },
    /// A reply arrived that no request asked for.
    #[error("reply {code} answers no request")]
    Unasked {
        /// The operation word.
        code: u32,
    },
    /// A compressed stream is damaged.
    #[error("compressed stream is damaged")]
    Inflate,
}

/// Reads XDR items from the front of a slice.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
    /// See [`Reader::demand`].
    demanded: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, offset: 0, demanded: 0 }
    }

    /// How many bytes have been read.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// How many bytes are left.
    pub fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.offset)
    }

    /// The bytes read since `start`, an earlier [`Reader::offset`].
    pub fn since(&self, start: usize) -> &'a [u8] {
        self.bytes.get(start..self.offset).unwrap_or_default()
    }

    /// The bytes not read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.offset..).unwrap_or_default()
    }

    /// Asks for so many bytes behind what has been read, of which it takes none. A decoder need not try again before
    /// they are there.
    ///
    /// # Errors
    /// [`Stop::NeedMore`] if they are not.
    pub(crate) fn demand(&mut self, length: usize) -> Result<(), Stop> {
        if length <= self.remaining() {
            return Ok(());
        }
        self.demanded = self.offset.saturating_add(length);
        Err(Stop::NeedMore)
    }

    /// How many bytes there must be, from the start, for what was asked for in vain.
    pub(crate) fn demanded(&self) -> usize {
        self.demanded
    }

    /// Takes `length` bytes as they are, without padding.
    pub fn raw(&mut self, length: usize) -> Result<&'a [u8], Stop> {
        let end = self.offset.checked_add(length).ok_or(Stop::NeedMore)?;
        let taken = self.bytes.get(self.offset..end).ok_or(Stop::NeedMore)?;
        self.offset = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let (head, _) = self
            .bytes
            .get(self.offset..)
            .and_then(|rest| rest.split_first_chunk::<N>())
            .ok_or(Stop::NeedMore)?;
        self.offset = self.offset.saturating_add(N);
        Ok(*head)
    }

    /// One word.
    pub fn u32(&mut self) -> Result<u32, Stop> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// One signed word.
    pub fn i32(&mut self) -> Result<i32, Stop> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// A 16-bit value in a word. Peers differ in what they put into the high half (Firebird the sign, drivers
    /// zeros), so only the low half counts.
    pub fn u16(&mut self) -> Result<u16, Stop> {
        let [_, _, high, low] = self.array()?;
        Ok(u16::from_be_bytes([high, low]))
    }

    /// Two words, the high one first: a quad or a 64-bit integer.
    pub fn u64(&mut self) -> Result<u64, Stop> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    /// Sixteen bytes, big-endian.
    pub fn u128(&mut self) -> Result<u128, Stop> {
        Ok(u128::from_be_bytes(self.array()?))
    }

    /// A 32-bit length that used to be a 16-bit one: old peers sign-extend it, so 40 000 may arrive as
    /// 0xFFFF_9C40. Real lengths never use the high half that way.
    pub fn length(&mut self) -> Result<u32, Stop> {
        let word = self.u32()?;
        Ok(if word >> 16 == 0xFFFF { word & 0xFFFF } else { word })
    }

    /// `length` bytes padded to a multiple of 4; the length is known from elsewhere.
    pub fn opaque(&mut self, length: usize) -> Result<&'a [u8], Stop> {
        let padded = length.checked_next_multiple_of(4).ok_or(Stop::NeedMore)?;
        let taken = self.raw(padded)?;
        Ok(taken.get(..length).unwrap_or_default())
    }

    /// A counted string: length, bytes, padding to a multiple of 4.
    ///
    /// # Errors
    /// [`DecodeError::TooLong`] above `limit`, at once: the length is only the peer's word.
    pub fn counted(&mut self, limit: usize) -> Result<&'a [u8], Stop> {
        let offset = self.offset;
        let length = self.length()? as usize;
        if length > limit {
            return Err(DecodeError::TooLong { offset, length, limit }.into());
        }
        self.opaque(length)
    }
}

/// Writes XDR items to the end of a buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    /// A writer that appends to `out`.
    pub fn new(out: &'a mut Vec<u8>) -> Writer<'a> {
        Writer { out }
    }

    /// Bytes as they are, without padding.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// One word.
    pub fn u32(&mut self, word: u32) {
        self.raw(&word.to_be_bytes());
    }

    /// One signed word.
    pub fn i32(&mut self, word: i32) {
        self.raw(&word.to_be_bytes());
    }

    /// A 16-bit value in a word, sign-extended as Firebird does it (0x800D goes out as FFFF800D).
    pub fn short(&mut self, value: u16) {
        self.i32(i32::from(value.cast_signed()));
    }

    /// A 16-bit value in a word, zero-extended: the few fields that Firebird declares unsigned.
    pub fn unsigned_short(&mut self, value: u16) {
        self.u32(u32::from(value));
    }

    /// Two words, the high one first.
    pub fn u64(&mut self, value: u64) {
        self.raw(&value.to_be_bytes());
    }

    /// Sixteen bytes, big-endian.
    pub fn u128(&mut self, value: u128) {
        self.raw(&value.to_be_bytes());
    }

    /// Bytes padded with zeros to a multiple of 4, without their length.
    pub fn opaque(&mut self, bytes: &[u8]) {
        self.raw(bytes);
        self.pad(bytes.len());
    }

    /// The zero bytes that follow `length` bytes of an opaque item.
    pub fn pad(&mut self, length: usize) {
        const PADDING: [u8; 3] = [0; 3];
        let missing = length.wrapping_neg() % 4;
        self.raw(PADDING.get(..missing).unwrap_or_default());
    }

    /// A counted string. Strings of 4 GiB and more do not exist here: our own buffers are far smaller.
    pub fn counted(&mut self, bytes: &[u8]) {
        self.u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.opaque(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shorts_keep_the_low_half_whatever_the_high_half_says() {
        for bytes in [[0xFF, 0xFF, 0x80, 0x0D], [0, 0, 0x80, 0x0D], [0x12, 0x34, 0x80, 0x0D]] {
            assert_eq!(Reader::new(&bytes).u16(), Ok(0x800D));
        }
    }

    #[test]
    fn shorts_are_sign_extended_on_the_way_out() {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out);
        writer.short(0x800D);
        writer.short(13);
        writer.unsigned_short(0x800D);
        assert_eq!(out, [0xFF, 0xFF, 0x80, 0x0D, 0, 0, 0, 13, 0, 0, 0x80, 0x0D]);
    }

    #[test]
    fn sign_extended_lengths_are_repaired() {
        let mut bytes = vec![0xFF, 0xFF, 0x9C, 0x40];
        bytes.resize(4 + 40_000, 7);
        assert_eq!(Reader::new(&bytes).counted(65_535).map(<[u8]>::len), Ok(40_000));
    }

    #[test]
    fn strings_are_refused_by_their_length_alone_and_never_end_early() {
        let bytes = [0, 0, 0, 5, b'a', b'b', b'c', b'd', b'e', 0, 0, 0];
        assert_eq!(
            Reader::new(&bytes).counted(4),
            Err(Stop::Bad(DecodeError::TooLong { offset: 0, length: 5, limit: 4 }))
        );
        for cut in 0..bytes.len() {
            assert_eq!(Reader::new(&bytes[..cut]).counted(5), Err(Stop::NeedMore));
        }
        assert_eq!(Reader::new(&bytes).counted(5), Ok(&b"abcde"[..]));
    }
}
