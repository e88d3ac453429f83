//! The run-length codecs: rows as compressed record images ([`crate::image`]), each by itself in a list
//! ([`crate::row_list`]).
//!
//! They exist to be measured against and to hold their promise; all of them work on the image, so a wide VARCHAR costs what
//! its zeros cost.

mod elekt;
mod firebird;

use farbird_types::Value;

use crate::bytes::Reader;
use crate::codec::{BlockReader, CodecId, ColumnSet, EncodedRows, RowCodec};
use crate::compression::Compression;
use crate::image::{IMAGE_BYTES_MAX, ImageLayout};
use crate::row_list::{self, RowList};
use crate::value_codec::{decode_row, encode_row};
use crate::{DecodeError, EncodeError, RecordFormat};

/// A codec of blocks of run-length compressed record images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLengthCodec {
    /// How each image is compressed.
    pub run_length: RunLength,
    /// On top of it.
    pub compression: Compression,
}

/// A run-length compression of record images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunLength {
    /// Firebird 2.5 to 4.
    Classic,
    /// Firebird 5.
    LongRun,
    /// Zeros, repeated bytes and literals with headers of one to three bytes.
    Elekt,
}

impl RowCodec for RunLengthCodec {
    fn id(&self) -> CodecId {
        let alone = match self.run_length {
            RunLength::Classic => CodecId::CLASSIC,
            RunLength::LongRun => CodecId::LONG_RUN,
            RunLength::Elekt => CodecId::ELEKT,
        };
        alone.with(self.compression)
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
                self.run_length.pack(&image, out);
                Ok::<(), EncodeError>(())
            })?;
        }
        row_list::encode(&packed, self.compression, out)
    }

    fn open_block<'a>(
        &self,
        format: &'a RecordFormat,
        rows: usize,
        bytes: &'a [u8],
    ) -> Result<Box<dyn BlockReader + 'a>, DecodeError> {
        let layout = ImageLayout::new(format);
        let rows = RowList::open(rows, self.compression, bytes)?;
        Ok(Box::new(RunLengthBlock { run_length: self.run_length, format, layout, rows }))
    }

    fn unpack_block(&self, _format: &RecordFormat, bytes: &[u8]) -> Result<Option<Vec<u8>>, DecodeError> {
        row_list::unpack(self.compression, bytes)
    }
}

struct RunLengthBlock<'a> {
    run_length: RunLength,
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
        let image = self.run_length.unpack(self.rows.row(index)?, self.layout.size())?;
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

impl RunLength {
    /// Appends an image in compressed form.
    pub fn pack(self, image: &[u8], out: &mut Vec<u8>) {
        match self {
            RunLength::Classic => firebird::pack_classic(image, out),
            RunLength::LongRun => firebird::pack_long_run(image, out),
            RunLength::Elekt => elekt::pack(image, out),
        }
    }

    /// The image of `size` bytes in compressed form.
    ///
    /// # Errors
    /// If the bytes are damaged, or make another size: found out before memory is taken for them.
    pub fn unpack(self, packed: &[u8], size: usize) -> Result<Vec<u8>, DecodeError> {
        if size > IMAGE_BYTES_MAX {
            return Err(DecodeError::Invalid { what: "image size", offset: 0 });
        }
        let mut image = Vec::with_capacity(size);
        let mut reader = Reader::new(packed);
        while !reader.is_at_end() {
            let offset = reader.offset();
            let (length, content) = match self {
                RunLength::Classic => firebird::next_classic(&mut reader)?,
                RunLength::LongRun => firebird::next_long_run(&mut reader)?,
                RunLength::Elekt => elekt::next(&mut reader)?,
            };
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
}

/// What a run stands for.
enum RunContent {
    /// So many bytes that follow.
    Literal,
    /// This byte so many times.
    Repeat(u8),
}

/// A stretch of equal bytes of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    start: usize,
    end: usize,
    byte: u8,
}

/// The next stretch of at least `shortest` (two or more) equal bytes that begins at `from` or later.
fn next_run(image: &[u8], from: usize, shortest: usize) -> Option<Run> {
    let mut start = from;
    loop {
        let rest = image.get(start..)?;
        let begin = rest.windows(2).position(|pair| pair[0] == pair[1])?;
        let byte = *rest.get(begin)?;
        let length = equal_bytes(rest.get(begin..).unwrap_or_default(), byte);
        start += begin;
        if length >= shortest {
            return Some(Run { start, end: start + length, byte });
        }
        start += length;
    }
}

/// With how many bytes of this value a slice begins.
fn equal_bytes(bytes: &[u8], byte: u8) -> usize {
    let word = [byte; 16];
    let whole = bytes.chunks_exact(16).take_while(|chunk| *chunk == word).count() * 16;
    let rest = bytes.get(whole..).unwrap_or_default();
    whole + rest.iter().take_while(|other| **other == byte).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const ALL: [RunLength; 3] = [RunLength::Classic, RunLength::LongRun, RunLength::Elekt];

    #[test]
    fn runs_of_all_lengths_come_back() {
        for run_length in ALL {
            for length in
                [1, 2, 3, 7, 8, 31, 32, 33, 127, 128, 129, 4_095, 4_096, 4_097, 65_535, 65_536, 1 << 20]
            {
                for byte in [0, 7] {
                    let mut image = vec![byte; length];
                    if length > 20 && length < 1 << 20 {
                        image.extend_from_slice(b"abcaabbccc");
                    }
                    let mut packed = Vec::new();
                    run_length.pack(&image, &mut packed);
                    assert_eq!(run_length.unpack(&packed, image.len()), Ok(image), "{run_length:?} {length}");
                }
            }
        }
    }

    #[test]
    fn images_of_wrong_sizes_are_refused() {
        for run_length in ALL {
            let mut packed = Vec::new();
            run_length.pack(b"aaaaaaaaaaaaaaaab", &mut packed);
            assert!(run_length.unpack(&packed, 16).is_err());
            assert!(run_length.unpack(&packed, 18).is_err());
            assert!(run_length.unpack(&packed, IMAGE_BYTES_MAX + 1).is_err());
        }
    }

    proptest! {
        #[test]
        fn images_come_back_and_noise_never_panics(
            runs in vec((prop_oneof![Just(0u8), 1u8..4], 1usize..300), 0..60),
            noise in vec(any::<u8>(), 0..60),
        ) {
            let image: Vec<u8> = runs.into_iter().flat_map(|(byte, length)| vec![byte; length / 8 + 1]).collect();
            for run_length in ALL {
                let mut packed = Vec::new();
                run_length.pack(&image, &mut packed);
                let unpacked = run_length.unpack(&packed, image.len());
                prop_assert_eq!(unpacked.as_ref(), Ok(&image));
                if let Ok(image) = run_length.unpack(&noise, 1_000) {
                    prop_assert_eq!(image.len(), 1_000);
                }
            }
        }
    }
}
