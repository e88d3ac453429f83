//! The run-length codecs: rows as compressed record images ([`crate::image`]), each by itself in a list
//! ([`crate::row_list`]).
//!
//! They exist to be measured against and to hold their promise; all of them work on the image, so a wide VARCHAR costs what
//! its zeros cost.
//!
//! # `classic`: Firebird 2.5 to 4
//! A signed count byte: n from 1 to 127: n bytes follow as they are; -n from 1 to 128: the next byte n times. Runs of three
//! and more bytes are worth their two.
//!
//! # `long-run`: Firebird 5
//! As `classic`, but -1: the next two bytes, little-endian, are the count; -2: the next four; the byte to repeat follows.
//! Single-byte counts are -3 to -128. Runs of less than eight bytes are left among the literals.
//!
//! # `elekt`
//! Three kinds of run, in the top two bits of the first header byte: 0: zeros; 1: one byte, which follows, repeated; 2:
//! bytes as they are. The length, less one, takes what is left of the header, the shortest that can hold it: after a 0 bit 5
//! bits; after 1 0, 4 bits and one byte; after 1 1, 4 bits and two bytes, high bits first: up to 1 MiB, the longest image.
//!
//! # Source
//! FirebirdSQL/firebird `src/jrd/sqz.cpp` for the first two formats.

use farbird_types::Value;

use crate::bytes::Reader;
use crate::codec::{BlockReader, CodecId, ColumnSet, EncodedRows, RowCodec};
use crate::image::{IMAGE_BYTES_MAX, ImageLayout};
use crate::row_list::{self, RowList};
use crate::value_codec::{decode_row, encode_row};
use crate::{DecodeError, EncodeError, RecordFormat};

/// A run-length codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunLengthCodec {
    /// Firebird 2.5 to 4.
    Classic,
    /// Firebird 5.
    LongRun,
    /// Zeros, repeated bytes and literals with headers of one to three bytes.
    Elekt,
}

impl RowCodec for RunLengthCodec {
    fn id(&self) -> CodecId {
        match self {
            RunLengthCodec::Classic => CodecId::CLASSIC,
            RunLengthCodec::LongRun => CodecId::LONG_RUN,
            RunLengthCodec::Elekt => CodecId::ELEKT,
        }
    }

    fn encode_block(
        &self,
        format: &RecordFormat,
        rows: &EncodedRows,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let layout = ImageLayout::new(format);
        let mut packed = EncodedRows::new();
        let (mut values, mut image) = (Vec::new(), Vec::new());
        for row in rows.iter() {
            values.clear();
            decode_row(format, row, &ColumnSet::All, &mut values).map_err(|_| EncodeError::NotEncoded)?;
            layout.encode(&values, &mut image)?;
            packed.push_with(|out| {
                self.pack(&image, out);
                Ok::<(), EncodeError>(())
            })?;
        }
        row_list::encode(&packed, out)
    }

    fn open_block<'a>(
        &self,
        format: &'a RecordFormat,
        rows: usize,
        bytes: &'a [u8],
    ) -> Result<Box<dyn BlockReader + 'a>, DecodeError> {
        let layout = ImageLayout::new(format);
        Ok(Box::new(RunLengthBlock { codec: *self, format, layout, rows: RowList::open(rows, bytes)? }))
    }
}

struct RunLengthBlock<'a> {
    codec: RunLengthCodec,
    format: &'a RecordFormat,
    layout: ImageLayout<'a>,
    rows: RowList<'a>,
}

impl BlockReader for RunLengthBlock<'_> {
    fn format(&self) -> &RecordFormat {
        self.format
    }

    fn decode_row(
        &self,
        index: usize,
        columns: &ColumnSet<'_>,
        out: &mut Vec<Value>,
    ) -> Result<(), DecodeError> {
        let image = self.codec.unpack(self.rows.row(index)?, self.layout.size())?;
        self.layout.decode(&image, columns, out)
    }

    fn encoded_row(&self, index: usize, out: &mut Vec<u8>) -> Result<(), DecodeError> {
        let mut values = Vec::new();
        self.decode_row(index, &ColumnSet::All, &mut values)?;
        // An image can hold values that their columns cannot, if it is damaged.
        encode_row(self.format, &values, out)
            .map_err(|_| DecodeError::Invalid { what: "row image", offset: index })
    }
}

impl RunLengthCodec {
    /// Appends an image in compressed form.
    pub fn pack(self, image: &[u8], out: &mut Vec<u8>) {
        let shortest_run = match self {
            RunLengthCodec::Classic => 3,
            RunLengthCodec::LongRun => 8,
            RunLengthCodec::Elekt => 3,
        };
        let mut literals = 0;
        let mut at = 0;
        while at < image.len() {
            let run = run_at(&image[at..]);
            // A zero needs no byte of its own with elekt, so two of them pay already.
            let pays = run >= shortest_run || (self == RunLengthCodec::Elekt && image[at] == 0 && run >= 2);
            if pays {
                self.put_literals(&image[literals..at], out);
                self.put_run(image[at], run, out);
                literals = at + run;
            }
            at += run;
        }
        self.put_literals(&image[literals..], out);
    }

    fn put_literals(self, mut bytes: &[u8], out: &mut Vec<u8>) {
        let longest = match self {
            RunLengthCodec::Classic | RunLengthCodec::LongRun => 127,
            RunLengthCodec::Elekt => ELEKT_LENGTH_MAX,
        };
        while !bytes.is_empty() {
            let (head, tail) = bytes.split_at(bytes.len().min(longest));
            match self {
                RunLengthCodec::Classic | RunLengthCodec::LongRun => out.push(head.len() as u8),
                RunLengthCodec::Elekt => put_elekt(ElektKind::Literal, head.len(), out),
            }
            out.extend_from_slice(head);
            bytes = tail;
        }
    }

    fn put_run(self, byte: u8, mut length: usize, out: &mut Vec<u8>) {
        match self {
            RunLengthCodec::Classic => {
                while length > 0 {
                    let part = length.min(128);
                    out.extend_from_slice(&[(part as u8).wrapping_neg(), byte]);
                    length -= part;
                }
            }
            RunLengthCodec::LongRun => match (u16::try_from(length), u32::try_from(length)) {
                _ if length <= 128 => out.extend_from_slice(&[(length as u8).wrapping_neg(), byte]),
                (Ok(length), _) => {
                    out.push(LONG_RUN_16);
                    out.extend_from_slice(&length.to_le_bytes());
                    out.push(byte);
                }
                (_, length) => {
                    out.push(LONG_RUN_32);
                    out.extend_from_slice(&length.unwrap_or(u32::MAX).to_le_bytes());
                    out.push(byte);
                }
            },
            RunLengthCodec::Elekt => {
                while length > 0 {
                    let part = length.min(ELEKT_LENGTH_MAX);
                    if byte == 0 {
                        put_elekt(ElektKind::Zeros, part, out);
                    } else {
                        put_elekt(ElektKind::Repeat, part, out);
                        out.push(byte);
                    }
                    length -= part;
                }
            }
        }
    }

    /// The image of `size` bytes in compressed form.
    ///
    /// # Errors
    /// If the bytes are damaged, or of another size.
    pub fn unpack(self, packed: &[u8], size: usize) -> Result<Vec<u8>, DecodeError> {
        if size > IMAGE_BYTES_MAX {
            return Err(DecodeError::Invalid { what: "image size", offset: 0 });
        }
        let mut image = Vec::with_capacity(size);
        let mut reader = Reader::new(packed);
        while !reader.is_at_end() {
            let offset = reader.offset();
            let (length, content) = self.next_run(&mut reader)?;
            if length > size - image.len() {
                return Err(DecodeError::Invalid { what: "run length", offset });
            }
            match content {
                RunContent::Literal => image.extend_from_slice(reader.take(length)?),
                RunContent::Repeat(byte) => image.resize(image.len() + length, byte),
            }
        }
        match image.len() == size {
            true => Ok(image),
            false => Err(DecodeError::Truncated { offset: packed.len() }),
        }
    }

    fn next_run(self, reader: &mut Reader<'_>) -> Result<(usize, RunContent), DecodeError> {
        if self == RunLengthCodec::Elekt {
            return next_elekt(reader);
        }
        let offset = reader.offset();
        let control = reader.u8()?;
        let length = match control {
            0 => return Err(DecodeError::Invalid { what: "run length", offset }),
            1..=127 => return Ok((usize::from(control), RunContent::Literal)),
            LONG_RUN_16 if self == RunLengthCodec::LongRun => {
                usize::from(u16::from_le_bytes(reader.array()?))
            }
            LONG_RUN_32 if self == RunLengthCodec::LongRun => u32::from_le_bytes(reader.array()?) as usize,
            _ => usize::from(control.wrapping_neg()),
        };
        Ok((length, RunContent::Repeat(reader.u8()?)))
    }
}

enum RunContent {
    Literal,
    Repeat(u8),
}

/// -1: a count of two bytes follows.
const LONG_RUN_16: u8 = 0xFF;
/// -2: a count of four bytes follows.
const LONG_RUN_32: u8 = 0xFE;

/// How many equal bytes a slice begins with.
fn run_at(bytes: &[u8]) -> usize {
    let Some(first) = bytes.first() else { return 0 };
    bytes.iter().position(|byte| byte != first).unwrap_or(bytes.len())
}

#[derive(Clone, Copy)]
enum ElektKind {
    Zeros = 0,
    Repeat = 1,
    Literal = 2,
}

/// The longest run of a header.
const ELEKT_LENGTH_MAX: usize = 1 << 20;

fn put_elekt(kind: ElektKind, length: usize, out: &mut Vec<u8>) {
    let top = (kind as u8) << 6;
    let rest = length - 1;
    match rest {
        0..=0x1F => out.push(top | rest as u8),
        0x20..=0xFFF => out.extend_from_slice(&[top | 0x20 | (rest >> 8) as u8, rest as u8]),
        _ => out.extend_from_slice(&[top | 0x30 | (rest >> 16) as u8, (rest >> 8) as u8, rest as u8]),
    }
}

fn next_elekt(reader: &mut Reader<'_>) -> Result<(usize, RunContent), DecodeError> {
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

    const ALL: [RunLengthCodec; 3] =
        [RunLengthCodec::Classic, RunLengthCodec::LongRun, RunLengthCodec::Elekt];

    #[test]
    fn runs_of_all_lengths_come_back() {
        for codec in ALL {
            for length in
                [1, 2, 3, 7, 8, 31, 32, 33, 127, 128, 129, 4_095, 4_096, 4_097, 65_535, 65_536, 1 << 20]
            {
                for byte in [0, 7] {
                    let mut image = vec![byte; length];
                    if length > 20 && length < 1 << 20 {
                        image.extend_from_slice(b"abcaabbccc");
                    }
                    let mut packed = Vec::new();
                    codec.pack(&image, &mut packed);
                    assert_eq!(codec.unpack(&packed, image.len()), Ok(image), "{codec:?} {length}");
                }
            }
        }
    }

    /// The bytes that the layouts promise.
    #[test]
    fn the_formats_are_what_they_say() {
        let pack = |codec: RunLengthCodec, image: &[u8]| {
            let mut out = Vec::new();
            codec.pack(image, &mut out);
            out
        };
        let image = [b"ab".as_slice(), &[0; 300], b"xxxxx"].concat();
        assert_eq!(
            pack(RunLengthCodec::Classic, &image),
            [2, b'a', b'b', 0x80, 0, 0x80, 0, 0xD4, 0, 0xFB, b'x']
        );
        assert_eq!(
            pack(RunLengthCodec::LongRun, &image),
            [2, b'a', b'b', 0xFF, 0x2C, 0x01, 0, 5, b'x', b'x', b'x', b'x', b'x']
        );
        assert_eq!(pack(RunLengthCodec::Elekt, &image), [0x81, b'a', b'b', 0x21, 0x2B, 0x44, b'x']);
    }
}
