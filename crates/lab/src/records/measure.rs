//! The measuring: rows into blocks as the store fills them, and back in each of the ways in which the store reads.

use std::hint::black_box;
use std::time::{Duration, Instant};

use farbird_record::{BlockFill, CodecId, ColumnSet, ColumnVector, EncodedRows, RecordFormat, codec};

use super::inputs::Input;
use crate::random::Random;

/// What is measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The kinds of rows.
    pub inputs: Vec<Input>,
    /// The codecs, each with its compression.
    pub codecs: Vec<CodecId>,
    /// Rows of each input; fewer of those whose images are so wide that it would take long.
    pub rows: usize,
    /// How often each figure is measured; the fastest time counts.
    pub passes: usize,
    /// Blocks are filled up to so many bytes.
    pub block_bytes: usize,
}

/// Wide images make long measurements: of these inputs fewer rows are taken.
const IMAGES_BYTES_MAX: usize = 96 << 20;
/// Rows in a block, at most: as in the store.
const BLOCK_ROWS_MAX: usize = 8_192;
/// Single rows read per pass.
const SINGLE_ROWS: usize = 500;

/// What one codec makes of one input.
#[derive(Debug, Clone, Copy)]
pub struct Figures {
    /// Bytes of all blocks.
    pub bytes: usize,
    /// Blocks.
    pub blocks: usize,
    /// Rows to blocks.
    pub encode: Duration,
    /// Blocks to all values of all rows.
    pub decode: Duration,
    /// Blocks to one column of all rows.
    pub one_column: Duration,
    /// One row, with all its columns, of a block not looked into before.
    pub one_row: Duration,
}

/// One input under one codec.
#[derive(Debug, Clone, Copy)]
pub struct Measurement {
    /// The kind of rows.
    pub input: Input,
    /// The codec.
    pub codec: CodecId,
    /// How many rows.
    pub rows: usize,
    /// Size of each row's record image in bytes.
    pub image_bytes: usize,
    /// What was measured; `None` if the codec cannot take these rows.
    pub figures: Option<Figures>,
}

/// Measures everything of a plan, in its order. `progress` is called after each measurement.
pub fn measure(plan: &Plan, mut progress: impl FnMut(&Measurement)) -> Vec<Measurement> {
    let mut measurements = Vec::new();
    for input in &plan.inputs {
        let format = input.format();
        let image_bytes = format.image_bytes();
        let count = plan.rows.min(IMAGES_BYTES_MAX / image_bytes.max(1)).max(1);
        let Ok(rows) = input.rows(count) else { continue };
        for codec in &plan.codecs {
            let figures = figures(plan, *input, *codec, &format, &rows);
            let measurement = Measurement { input: *input, codec: *codec, rows: count, image_bytes, figures };
            progress(&measurement);
            measurements.push(measurement);
        }
    }
    measurements
}

/// Rows of one block.
struct Filled {
    rows: EncodedRows,
    packed: Vec<u8>,
}

fn figures(
    plan: &Plan,
    input: Input,
    id: CodecId,
    format: &RecordFormat,
    rows: &EncodedRows,
) -> Option<Figures> {
    let codec = codec(id).ok()?;
    let mut blocks = fill(plan, id, format, rows);
    let encode = fastest(plan.passes, || {
        for block in &mut blocks {
            block.packed.clear();
            codec.encode_block(format, &block.rows, &mut block.packed).ok()?;
        }
        Some(())
    })?;
    let mut values = Vec::new();
    let decode = fastest(plan.passes, || {
        for block in &blocks {
            values.clear();
            let reader = codec.open_block(format, block.rows.len(), &block.packed).ok()?;
            reader.decode_rows(0..block.rows.len(), &ColumnSet::All, &mut values).ok()?;
            black_box(&values);
        }
        Some(())
    })?;
    let mut vector = ColumnVector::default();
    let one_column = fastest(plan.passes, || {
        for block in &blocks {
            vector.clear();
            let reader = codec.open_block(format, block.rows.len(), &block.packed).ok()?;
            reader.decode_column(input.projected_column(), 0..block.rows.len(), &mut vector).ok()?;
            black_box(&vector);
        }
        Some(())
    })?;
    let one_row = fastest(plan.passes, || {
        let mut random = Random(0);
        for _ in 0..SINGLE_ROWS {
            let block = blocks.get(random.below(blocks.len() as u64) as usize)?;
            let row = random.below(block.rows.len() as u64) as usize;
            values.clear();
            let reader = codec.open_block(format, block.rows.len(), &block.packed).ok()?;
            reader.decode_row(row, &ColumnSet::All, &mut values).ok()?;
            black_box(&values);
        }
        Some(())
    })?;
    Some(Figures {
        bytes: blocks.iter().map(|block| block.packed.len()).sum(),
        blocks: blocks.len(),
        encode,
        decode,
        one_column,
        one_row: one_row / SINGLE_ROWS as u32,
    })
}

/// Cuts rows into as many as a block takes.
fn fill(plan: &Plan, id: CodecId, format: &RecordFormat, rows: &EncodedRows) -> Vec<Filled> {
    let mut fill = BlockFill::new(id, plan.block_bytes);
    let mut blocks = Vec::new();
    let mut gathered = EncodedRows::new();
    for row in rows.iter() {
        if !gathered.is_empty() && (gathered.len() >= BLOCK_ROWS_MAX || fill.is_full(format, &gathered)) {
            blocks.push(Filled { rows: std::mem::take(&mut gathered), packed: Vec::new() });
        }
        gathered.push(row);
    }
    if !gathered.is_empty() {
        blocks.push(Filled { rows: gathered, packed: Vec::new() });
    }
    blocks
}

fn fastest(passes: usize, mut work: impl FnMut() -> Option<()>) -> Option<Duration> {
    let mut fastest = Duration::MAX;
    for _ in 0..passes.max(1) {
        let start = Instant::now();
        work()?;
        fastest = fastest.min(start.elapsed());
    }
    Some(fastest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_asked_for_is_measured() {
        let plan = Plan {
            inputs: Input::ALL.to_vec(),
            codecs: CodecId::all().collect(),
            rows: 30,
            passes: 1,
            block_bytes: 15_600,
        };
        let mut seen = 0;
        let measurements = measure(&plan, |_| seen += 1);
        assert_eq!((measurements.len(), seen), (7 * 15, 7 * 15));
        for measurement in measurements {
            let figures = measurement.figures.expect("every codec takes every input");
            assert!(figures.blocks >= 1 && figures.bytes > 0, "{measurement:?}");
        }
    }
}
