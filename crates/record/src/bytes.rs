//! Reading and writing the small items of which records, blocks and store headers are made.
//!
//! Variable-length integers are LEB128: seven bits a byte, lowest first, the high bit set on all bytes but the last.
//! Signed ones are zigzag-mapped first (0, -1, 1, -2 ... become 0, 1, 2, 3 ...).

use crate::DecodeError;

/// The longest varint of 64 bits, in bytes.
const VARINT_BYTES_MAX: u32 = 10;
/// The longest varint of 128 bits, in bytes.
const WIDE_VARINT_BYTES_MAX: u32 = 19;

/// Appends an unsigned varint.
pub fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed varint.
pub fn put_signed(value: i64, out: &mut Vec<u8>) {
    put_varint(zigzag(value), out);
}

/// Appends an unsigned varint of up to 128 bits.
pub fn put_wide_varint(mut value: u128, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a length and the bytes.
pub fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Maps signed to unsigned so that small magnitudes stay small.
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Undoes [`zigzag`].
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// As [`zigzag`], 128 bits wide.
pub fn zigzag_wide(value: i128) -> u128 {
    ((value << 1) ^ (value >> 127)) as u128
}

/// Undoes [`zigzag_wide`].
pub fn unzigzag_wide(value: u128) -> i128 {
    (value >> 1) as i128 ^ -((value & 1) as i128)
}

/// Takes items off a slice, from its beginning.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// A reader of all of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, offset: 0 }
    }

    /// How many bytes have been taken.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// What has not been taken.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.offset..).unwrap_or_default()
    }

    /// Whether everything has been taken.
    pub fn is_at_end(&self) -> bool {
        self.offset >= self.bytes.len()
    }

    /// Takes `count` bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let end = self.offset.checked_add(count).filter(|&end| end <= self.bytes.len());
        match end.and_then(|end| self.bytes.get(self.offset..end).map(|taken| (end, taken))) {
            Some((end, taken)) => {
                self.offset = end;
                Ok(taken)
            }
            None => Err(DecodeError::Truncated { offset: self.offset }),
        }
    }

    /// Takes `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let offset = self.offset;
        self.take(N)?.try_into().map_err(|_| DecodeError::Truncated { offset })
    }

    /// Takes one byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        match self.bytes.get(self.offset) {
            Some(&byte) => {
                self.offset += 1;
                Ok(byte)
            }
            None => Err(DecodeError::Truncated { offset: self.offset }),
        }
    }

    /// Takes an unsigned varint.
    #[inline]
    pub fn varint(&mut self) -> Result<u64, DecodeError> {
        let start = self.offset;
        let first = self.u8()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        let mut value = u64::from(first & 0x7F);
        for position in 1..VARINT_BYTES_MAX {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7F);
            if position == VARINT_BYTES_MAX - 1 && bits > 1 {
                break;
            }
            value |= bits << (7 * position);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(DecodeError::Invalid { what: "varint", offset: start })
    }

    /// Takes a signed varint.
    #[inline]
    pub fn signed(&mut self) -> Result<i64, DecodeError> {
        Ok(unzigzag(self.varint()?))
    }

    /// Takes an unsigned varint of up to 128 bits.
    pub fn wide_varint(&mut self) -> Result<u128, DecodeError> {
        let start = self.offset;
        let mut value = 0u128;
        for position in 0..WIDE_VARINT_BYTES_MAX {
            let byte = self.u8()?;
            let bits = u128::from(byte & 0x7F);
            if position == WIDE_VARINT_BYTES_MAX - 1 && bits > 3 {
                break;
            }
            value |= bits << (7 * position);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(DecodeError::Invalid { what: "varint", offset: start })
    }

    /// Takes a length (a varint) that can be no longer than what is left.
    #[inline]
    pub fn length(&mut self) -> Result<usize, DecodeError> {
        let start = self.offset;
        let length = self.varint()?;
        usize::try_from(length)
            .ok()
            .filter(|&length| length <= self.bytes.len() - self.offset)
            .ok_or(DecodeError::Truncated { offset: start })
    }

    /// Takes a length and that many bytes.
    #[inline]
    pub fn length_and_bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.length()?;
        self.take(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_of_all_lengths_come_back() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1u64 << shift) - 1, u64::MAX >> shift] {
                let mut out = Vec::new();
                put_varint(value, &mut out);
                put_signed(value as i64, &mut out);
                put_wide_varint(zigzag_wide(i128::from(value) << 63), &mut out);
                let mut reader = Reader::new(&out);
                assert_eq!(reader.varint(), Ok(value));
                assert_eq!(reader.signed(), Ok(value as i64));
                assert_eq!(reader.wide_varint().map(unzigzag_wide), Ok(i128::from(value) << 63));
                assert!(reader.is_at_end());
            }
        }
        let mut out = Vec::new();
        put_wide_varint(zigzag_wide(i128::MIN), &mut out);
        assert_eq!(Reader::new(&out).wide_varint().map(unzigzag_wide), Ok(i128::MIN));
    }

    #[test]
    fn endless_varints_are_refused() {
        assert!(Reader::new(&[0xFF; 40]).varint().is_err());
        assert!(Reader::new(&[0xFF; 40]).wide_varint().is_err());
        assert!(Reader::new(&[0x80]).varint().is_err());
        assert!(Reader::new(&[0xFF, 0xFF, 0xFF, 0x0F]).length().is_err());
    }
}
