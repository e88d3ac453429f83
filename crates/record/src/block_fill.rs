//! How many rows go into a block.
//!
//! A block should come close to a given size once it is packed, and how far rows shrink depends on them. Whoever gathers
//! rows asks [`BlockFill::is_full`] before each one; it packs what is there when that might be enough, and remembers how
//! well the rows of this kind shrink, so that it soon tries once or twice per block.

use crate::codec::codec;
use crate::{CodecId, EncodedRows, RecordFormat};

/// Rows are never gathered beyond this, in bytes of value encoding: a single row of a block can be asked for, and a
/// compressed block is decompressed for it.
pub const GATHERED_BYTES_MAX: usize = 256 << 10;

/// A block this full is not worth trying to fill further, in parts of its size.
const FULL_ENOUGH: f64 = 0.9;
/// Where the next try is aimed at, in parts of the block's size: rows differ, and one byte too many costs the page another
/// as large.
const AIM: f64 = 0.95;
/// From less than this part of a block, the other way up, the aim is lower: the next look will know better.
const FAR: f64 = 1.6;
const AIM_FROM_FAR: f64 = 0.75;
/// A try finds the rows this many times as many at most: the first ones may not be like the others.
const GROWTH_MAX: f64 = 8.0;

/// After a block was found full, so many are taken to be as large without a look: packing rows twice costs time.
const TRUSTED_BLOCKS: u8 = 7;

/// Says when a block of rows of one format, packed by one codec, is full.
#[derive(Debug, Clone)]
pub struct BlockFill {
    codec: CodecId,
    block_bytes_max: usize,
    /// So many bytes of rows probably make a block.
    expected: usize,
    /// So many must be there before the next look.
    next_look: usize,
    /// Blocks that may still be taken to be full at the expected size.
    trusted: u8,
}

impl BlockFill {
    /// For blocks of at most so many bytes.
    pub fn new(codec: CodecId, block_bytes_max: usize) -> BlockFill {
        // Even rows that do not shrink at all are looked at in time.
        let first_look = block_bytes_max - block_bytes_max / 8;
        BlockFill { codec, block_bytes_max, expected: first_look, next_look: first_look, trusted: 0 }
    }

    /// As [`BlockFill::new`], for rows like those of a block that was packed: these rows became so many bytes.
    pub fn like(
        codec: CodecId,
        block_bytes_max: usize,
        rows: &EncodedRows,
        packed_bytes: usize,
    ) -> BlockFill {
        let mut fill = BlockFill::new(codec, block_bytes_max);
        let wanted = AIM * block_bytes_max as f64 / packed_bytes.max(1) as f64;
        fill.expected = ((gathered(rows) as f64 * wanted) as usize).clamp(fill.expected, GATHERED_BYTES_MAX);
        fill.next_look = fill.expected;
        fill
    }

    /// Whether these rows make a block as they are: with more it would probably be too large. Costs nothing but when it
    /// has to look, which packs the rows.
    ///
    /// After `true` the next call is about the rows of a new block. Rows that cannot be packed are always enough.
    pub fn is_full(&mut self, format: &RecordFormat, rows: &EncodedRows) -> bool {
        let gathered = gathered(rows);
        if gathered < self.next_look {
            return false;
        }
        if self.trusted > 0 {
            self.trusted -= 1;
            return true;
        }
        let packed = self.packed_size(format, rows);
        let wanted = self.block_bytes_max as f64 / packed.max(1) as f64;
        let aim = if wanted > FAR { AIM_FROM_FAR } else { AIM };
        let growth = (aim * wanted).clamp(0.1, GROWTH_MAX);
        self.expected = ((gathered as f64 * growth) as usize).clamp(1, GATHERED_BYTES_MAX);
        if gathered >= GATHERED_BYTES_MAX || wanted * FULL_ENOUGH <= 1.0 {
            // The next block is looked at a little earlier, in case its rows shrink less.
            self.next_look = self.expected;
            self.trusted = TRUSTED_BLOCKS;
            return true;
        }
        // At least a little more than is there, so that looks stay few.
        self.next_look = self.expected.max(gathered + gathered / 32 + 1);
        false
    }

    fn packed_size(&self, format: &RecordFormat, rows: &EncodedRows) -> usize {
        let mut packed = Vec::new();
        match codec(self.codec).map(|codec| codec.encode_block(format, rows, &mut packed)) {
            Ok(Ok(())) => packed.len(),
            _ => usize::MAX,
        }
    }
}

/// Bytes of rows, with what finding each in a list may take.
fn gathered(rows: &EncodedRows) -> usize {
    rows.bytes().len() + 2 * rows.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value_codec::encode_row;
    use farbird_types::{SqlType, Value};

    fn blocks_of(
        id: CodecId,
        column: SqlType,
        value: impl Fn(u64) -> Value,
        rows: u64,
    ) -> (Vec<usize>, usize) {
        let format = RecordFormat::new(vec![column]);
        let mut fill = BlockFill::new(id, 15_600);
        let (mut gathered, mut sizes) = (EncodedRows::new(), Vec::new());
        for row in 0..rows {
            if fill.is_full(&format, &gathered) {
                sizes.push(fill.packed_size(&format, &gathered));
                gathered = EncodedRows::new();
            }
            gathered.push_with(|out| encode_row(&format, &[value(row)], out)).expect("a row");
        }
        (sizes, gathered.len())
    }

    fn scattered(row: u64) -> u64 {
        row.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    #[test]
    fn blocks_come_close_to_their_size_and_rarely_pass_it() {
        let text =
            |row: u64| Value::text(&format!("{:x} and {row} of {}", scattered(row), "them ".repeat(5)));
        let number = |row: u64| Value::integer((scattered(row) >> 40) as i64);
        for id in [CodecId::VALUE, CodecId::COLUMN, CodecId::COLUMN.with(crate::Compression::Zstandard)] {
            for (sizes, _) in [
                blocks_of(id, SqlType::varchar(200, farbird_types::CharacterSet::UTF8), text, 40_000),
                blocks_of(id, SqlType::INTEGER, number, 100_000),
            ] {
                assert!(sizes.len() > 3, "{id}");
                assert!(sizes.iter().all(|size| *size <= 15_600), "{id}: {sizes:?}");
                let mean = sizes.iter().sum::<usize>() / sizes.len();
                assert!(mean > 12_500, "{id}: {mean}");
            }
        }
    }

    #[test]
    fn rows_that_take_nothing_are_not_gathered_for_ever() {
        let (sizes, left) =
            blocks_of(CodecId::COLUMN, SqlType::BIGINT, |_| Value::integer(i64::MAX), 100_000);
        assert!(sizes.len() >= 3 && left < 30_000, "{sizes:?} {left}");
    }
}
