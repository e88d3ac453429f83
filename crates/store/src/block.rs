//! Row blocks: many rows of one format, visible to everyone who sees the block's stamp.
//!
//! # Layout
//! | bytes | item |
//! |---|---|
//! | 8 | checksum: XXH3-64 of the rest, seeded with the first row's number, little-endian |
//! | 1 | codec of the rows ([`farbird_record::CodecId`]) |
//! | 1 | flags: 1: the stamp is a transaction, not a commit; 2: a row map follows; 4: writers follow |
//! | varint | stamp: the commit number of its newest row, or the transaction that spilled it |
//! | varint | the transaction that wrote its rows; with flag 4 their writers follow, and it is 0 |
//! | varint | record format |
//! | varint | number of rows |
//! | varint | span: number of the last row less that of the first, plus one |
//! | ceil(span / 8) | with flag 2, row map: bit `i % 8` of byte `i / 8` is set if row first + i is in the block; else all are |
//! | varint, ... | with flag 4, length and bytes of the rows' writers ([`crate::writers`]) |
//! | ... | the rows, as the codec packs them |
//!
//! # Invariants
//! - The blocks of a relation do not overlap: no block's span contains another's first row.
//! - The first and the last row of the span are in the block.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use farbird_record::bytes::{Reader, put_varint};
use farbird_record::{
    BlockOutline, BlockReader, CodecId, ColumnSet, DecodeError, EncodedRows, RecordFormat, codec,
};
use farbird_types::Value;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::substrate::Slice;
use crate::writers::{self, Writers};
use crate::{CommitNumber, Result, RowId, StoreError, TransactionId};

/// A block is closed before its rows, packed, are larger than this, in bytes, as far as that can be told beforehand
/// ([`farbird_record::BlockFill`]); a single row may be larger. With the header the value stays a little under 16 KiB, since
/// redb keeps values in pages of powers of two.
pub(crate) const BLOCK_BYTES_MAX: usize = 15_600;
/// A block has at most so many rows.
pub(crate) const BLOCK_ROWS_MAX: usize = 8_192;
/// And its row numbers are spread over at most so many.
pub(crate) const BLOCK_SPAN_MAX: u64 = 8 * BLOCK_ROWS_MAX as u64;
/// Fewer rows are written as versions and left to the sweep.
pub(crate) const BLOCK_ROWS_MIN: usize = 32;

const CHECKSUM_BYTES: usize = 8;
/// A number takes so many bytes at most.
const VARINT_BYTES_MAX: usize = 10;
const FLAG_TRANSACTION: u8 = 1;
const FLAG_ROW_MAP: u8 = 2;
const FLAG_WRITERS: u8 = 4;

/// Who sees a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// Those who see this commit.
    Commit(CommitNumber),
    /// Those who see the commit of this transaction, and itself.
    Transaction(TransactionId),
}

/// What a new block says of itself.
#[derive(Debug, Clone)]
pub(crate) struct BlockLabel {
    pub(crate) codec: CodecId,
    pub(crate) writers: Writers,
    pub(crate) format: u16,
}

/// A block but for its stamp: all of the work, done before the number of its commit is known.
#[derive(Debug)]
pub(crate) struct PackedBlock {
    codec: CodecId,
    first_row: u64,
    has_row_map: bool,
    has_writers: bool,
    /// What follows the stamp.
    rest: Vec<u8>,
}

impl PackedBlock {
    /// Packs rows; `row_ids` are theirs, ascending.
    pub(crate) fn pack(
        label: BlockLabel,
        format: &RecordFormat,
        row_ids: &RowIds,
        rows: &EncodedRows,
    ) -> Result<PackedBlock> {
        let mut rest = Vec::with_capacity(rows.bytes().len() + rows.len() + 64);
        let single_writer = label.writers.single();
        put_varint(single_writer.map_or(0, |writer| writer.0), &mut rest);
        put_varint(u64::from(label.format), &mut rest);
        put_varint(rows.len() as u64, &mut rest);
        let span = row_ids.last() - row_ids.first() + 1;
        put_varint(span, &mut rest);
        if let RowIds::Listed(list) = row_ids {
            let map_start = rest.len();
            rest.resize(map_start + span.div_ceil(8) as usize, 0);
            for row in list {
                let bit = row - row_ids.first();
                rest[map_start + (bit / 8) as usize] |= 1 << (bit % 8);
            }
        }
        let has_writers = single_writer.is_none();
        if has_writers {
            let writers = label.writers.into_bytes();
            put_varint(writers.len() as u64, &mut rest);
            rest.extend_from_slice(&writers);
        }
        let codec = codec(label.codec).map_err(|error| StoreError::corrupt(error.to_string()))?;
        codec.encode_block(format, rows, &mut rest)?;
        let has_row_map = matches!(row_ids, RowIds::Listed(_));
        Ok(PackedBlock { codec: label.codec, first_row: row_ids.first(), has_row_map, has_writers, rest })
    }

    /// Number of its first row.
    pub(crate) fn first_row(&self) -> RowId {
        RowId(self.first_row)
    }

    /// The block's bytes.
    pub(crate) fn stamped(&self, stamp: Stamp) -> Vec<u8> {
        let mut flags = if self.has_row_map { FLAG_ROW_MAP } else { 0 };
        if self.has_writers {
            flags |= FLAG_WRITERS;
        }
        let stamp = match stamp {
            Stamp::Commit(commit) => commit.0,
            Stamp::Transaction(transaction) => {
                flags |= FLAG_TRANSACTION;
                transaction.0
            }
        };
        let mut out = Vec::with_capacity(CHECKSUM_BYTES + 2 + VARINT_BYTES_MAX + self.rest.len());
        out.resize(CHECKSUM_BYTES, 0);
        out.push(self.codec.0);
        out.push(flags);
        put_varint(stamp, &mut out);
        out.extend_from_slice(&self.rest);
        let checksum = xxh3_64_with_seed(&out[CHECKSUM_BYTES..], self.first_row);
        out[..CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
        out
    }
}

/// The numbers of a block's rows, ascending; never empty.
#[derive(Debug, Clone)]
pub(crate) enum RowIds {
    /// All of a range.
    Dense(Range<u64>),
    /// These.
    Listed(Vec<u64>),
}

impl RowIds {
    /// The shortest description of these numbers.
    pub(crate) fn of(list: Vec<u64>) -> RowIds {
        match (list.first(), list.last()) {
            (Some(&first), Some(&last)) if last - first + 1 == list.len() as u64 => {
                RowIds::Dense(first..last + 1)
            }
            _ => RowIds::Listed(list),
        }
    }

    pub(crate) fn first(&self) -> u64 {
        match self {
            RowIds::Dense(range) => range.start,
            RowIds::Listed(list) => list.first().copied().unwrap_or(0),
        }
    }

    pub(crate) fn last(&self) -> u64 {
        match self {
            RowIds::Dense(range) => range.end - 1,
            RowIds::Listed(list) => list.last().copied().unwrap_or(0),
        }
    }
}

/// A block read from the substrate, its header checked.
#[derive(Debug)]
pub(crate) struct Block {
    bytes: Slice,
    codec: CodecId,
    pub(crate) stamp: Stamp,
    /// Of all its rows, unless they have a list of their own.
    writer: TransactionId,
    writers: Option<Range<usize>>,
    pub(crate) format: u16,
    /// Number of rows.
    pub(crate) rows: usize,
    /// Number of its first row.
    pub(crate) first: u64,
    /// Number of its last row.
    pub(crate) last: u64,
    row_map: Option<Range<usize>>,
    payload: usize,
    /// Where more may be kept of it than its bytes; `None`: nowhere.
    room: Option<Arc<UnpackedRoom>>,
    /// Whether a single row was read already.
    was_read: AtomicBool,
    unpacked: OnceLock<Arc<UnpackedRows>>,
    /// Of its rows without their compression.
    outline: OnceLock<KeptOutline>,
}

/// How much memory blocks take beside their bytes, for single rows that are read of them: rows without their compression, outlines.
#[derive(Debug, Default)]
pub(crate) struct UnpackedRoom {
    bytes: AtomicUsize,
}

impl UnpackedRoom {
    /// The bytes taken.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// Some of that memory, until it is dropped.
#[derive(Debug)]
struct Taken {
    bytes: usize,
    room: Arc<UnpackedRoom>,
}

impl Taken {
    fn new(bytes: usize, room: &Arc<UnpackedRoom>) -> Taken {
        room.bytes.fetch_add(bytes, Ordering::Relaxed);
        Taken { bytes, room: Arc::clone(room) }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.room.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A block's rows without their compression.
#[derive(Debug)]
struct UnpackedRows {
    payload: Vec<u8>,
    _taken: Taken,
}

/// What is known of a block's rows beside their bytes, if its codec knows such things.
#[derive(Debug)]
struct KeptOutline {
    outline: Option<BlockOutline>,
    _taken: Taken,
}

impl Block {
    /// Checks and parses an entry of a block space.
    pub(crate) fn open(key: &[u8], bytes: Slice) -> Result<Block> {
        let first = crate::keyspace::number(key).ok_or_else(|| StoreError::corrupt("key of a row block"))?;
        Block::parse(first, bytes).ok_or_else(|| StoreError::corrupt(format!("row block at row {first}")))
    }

    fn parse(first: u64, bytes: Slice) -> Option<Block> {
        let (sum, rest) = bytes.split_at_checked(CHECKSUM_BYTES)?;
        if sum != xxh3_64_with_seed(rest, first).to_le_bytes() {
            return None;
        }
        let mut reader = Reader::new(rest);
        let codec = CodecId(reader.u8().ok()?);
        let flags = reader.u8().ok()?;
        if flags & !(FLAG_TRANSACTION | FLAG_ROW_MAP | FLAG_WRITERS) != 0 {
            return None;
        }
        let stamp = reader.varint().ok()?;
        let stamp = match flags & FLAG_TRANSACTION {
            0 => Stamp::Commit(CommitNumber(stamp)),
            _ => Stamp::Transaction(TransactionId(stamp)),
        };
        let writer = TransactionId(reader.varint().ok()?);
        let format = u16::try_from(reader.varint().ok()?).ok()?;
        let rows =
            usize::try_from(reader.varint().ok()?).ok().filter(|rows| (1..=BLOCK_ROWS_MAX).contains(rows))?;
        let span = reader.varint().ok().filter(|span| (1..=BLOCK_SPAN_MAX).contains(span))?;
        let last = first.checked_add(span - 1)?;
        let row_map = match flags & FLAG_ROW_MAP {
            0 if span != rows as u64 => return None,
            0 => None,
            _ => {
                let start = CHECKSUM_BYTES + reader.offset();
                let map = reader.take(span.div_ceil(8) as usize).ok()?;
                let set: usize = map.iter().map(|byte| byte.count_ones() as usize).sum();
                if set != rows {
                    return None;
                }
                Some(start..start + map.len())
            }
        };
        let writers = match flags & FLAG_WRITERS {
            0 => None,
            _ => {
                let length = usize::try_from(reader.varint().ok()?).ok()?;
                let start = CHECKSUM_BYTES + reader.offset();
                reader.take(length).ok()?;
                Some(start..start + length)
            }
        };
        let payload = CHECKSUM_BYTES + reader.offset();
        Some(Block {
            codec,
            stamp,
            writer,
            writers,
            format,
            rows,
            first,
            last,
            row_map,
            payload,
            bytes,
            room: None,
            was_read: AtomicBool::new(false),
            unpacked: OnceLock::new(),
            outline: OnceLock::new(),
        })
    }

    fn map(&self) -> Option<&[u8]> {
        self.row_map.clone().and_then(|range| self.bytes.get(range))
    }

    /// Place of a row in the block, if it is there.
    pub(crate) fn index_of(&self, row: u64) -> Option<usize> {
        if row < self.first || row > self.last {
            return None;
        }
        let bit = (row - self.first) as usize;
        match self.map() {
            None => Some(bit),
            Some(map) => (map.get(bit / 8)? & (1 << (bit % 8)) != 0).then(|| count_ones_before(map, bit)),
        }
    }

    /// Place of the first row whose number is at least `row`; the number of rows if there is none.
    pub(crate) fn index_from(&self, row: u64) -> usize {
        if row <= self.first {
            return 0;
        }
        if row > self.last {
            return self.rows;
        }
        let bit = (row - self.first) as usize;
        match self.map() {
            None => bit,
            Some(map) => count_ones_before(map, bit),
        }
    }

    /// The transaction that wrote the row at a place; 0 of rows that were swept when that was not kept.
    pub(crate) fn writer_of(&self, index: usize) -> TransactionId {
        match self.writers.clone().and_then(|range| self.bytes.get(range)) {
            None => self.writer,
            Some(list) => writers::each(list).nth(index).unwrap_or(TransactionId(0)),
        }
    }

    /// The transactions that wrote its rows, one for each.
    pub(crate) fn writers(&self) -> impl Iterator<Item = TransactionId> + '_ {
        let list = self.writers.clone().and_then(|range| self.bytes.get(range));
        let listed = list.map(writers::each).into_iter().flatten();
        let single = list.is_none().then(|| std::iter::repeat(self.writer)).into_iter().flatten();
        listed.chain(single).chain(std::iter::repeat(TransactionId(0))).take(self.rows)
    }

    /// Whether rows are missing between the first and the last.
    pub(crate) fn has_gaps(&self) -> bool {
        self.row_map.is_some()
    }

    /// The number of the row at each place from `index` on.
    pub(crate) fn row_ids_from(&self, index: usize) -> Box<dyn Iterator<Item = u64> + '_> {
        match self.map() {
            None => Box::new(self.first + index as u64..=self.last),
            Some(map) => Box::new(
                (0..map.len() * 8)
                    .filter(move |bit| map.get(bit / 8).is_some_and(|byte| byte & (1 << (bit % 8)) != 0))
                    .map(|bit| self.first + bit as u64)
                    .skip(index),
            ),
        }
    }

    /// The same block under a commit's number.
    pub(crate) fn with_commit(&self, commit: CommitNumber) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes.len() + 8);
        out.resize(CHECKSUM_BYTES, 0);
        let mut header = Reader::new(self.bytes.get(CHECKSUM_BYTES..).unwrap_or_default());
        let (codec, flags) = (header.u8().unwrap_or_default(), header.u8().unwrap_or_default());
        // The old stamp, which is left out.
        let _ = header.varint();
        out.extend([codec, flags & !FLAG_TRANSACTION]);
        put_varint(commit.0, &mut out);
        out.extend_from_slice(self.bytes.get(CHECKSUM_BYTES + header.offset()..).unwrap_or_default());
        let checksum = xxh3_64_with_seed(&out[CHECKSUM_BYTES..], self.first);
        out[..CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
        out
    }

    /// Size of its rows as they are packed.
    pub(crate) fn packed_bytes(&self) -> usize {
        self.bytes.len().saturating_sub(self.payload)
    }

    fn payload(&self) -> &[u8] {
        self.bytes.get(self.payload..).unwrap_or_default()
    }

    /// Opens the rows.
    pub(crate) fn reader<'a>(&'a self, format: &'a RecordFormat) -> Result<Box<dyn BlockReader + 'a>> {
        codec(self.codec)
            .and_then(|codec| codec.open_block(format, self.rows, self.payload()))
            .map_err(|error| self.damaged(&error))
    }

    /// Appends the projected values of the row at a place.
    pub(crate) fn decode_row(
        &self,
        format: &RecordFormat,
        index: usize,
        columns: &ColumnSet<'_>,
        out: &mut Vec<Value>,
    ) -> Result<()> {
        self.decode_row_of(format, index, columns, out).map_err(|error| self.damaged(&error))
    }

    /// The first row read alone is decoded with nothing made for it; from the second one on what is found out of the block is kept.
    fn decode_row_of(
        &self,
        format: &RecordFormat,
        index: usize,
        columns: &ColumnSet<'_>,
        out: &mut Vec<Value>,
    ) -> std::result::Result<(), DecodeError> {
        let was_read = self.was_read.load(Ordering::Relaxed) || self.was_read.swap(true, Ordering::Relaxed);
        let Some(room) = self.room.as_ref().filter(|_| was_read) else {
            return codec(self.codec)?.decode_row(format, self.rows, self.payload(), index, columns, out);
        };
        let payload = self.unpacked(format, room)?;
        let kept = match self.outline.get() {
            Some(kept) => kept,
            None => {
                let outline = codec(self.codec.alone())?.outline(format, payload)?;
                let bytes = outline.as_ref().map_or(0, BlockOutline::bytes);
                self.outline.get_or_init(|| KeptOutline { outline, _taken: Taken::new(bytes, room) })
            }
        };
        match &kept.outline {
            Some(outline) => outline.decode_row(format, self.rows, payload, index, columns, out),
            None => codec(self.codec.alone())?.decode_row(format, self.rows, payload, index, columns, out),
        }
    }

    /// From here on more is kept of it once a second single row is read: its rows without their compression, and what was found out
    /// of them.
    pub(crate) fn keep_more_in(&mut self, room: &Arc<UnpackedRoom>) {
        self.room = Some(Arc::clone(room));
    }

    /// Whether it takes more than its bytes.
    pub(crate) fn takes_more(&self) -> bool {
        self.unpacked.get().is_some() || self.outline.get().is_some()
    }

    /// Whether its rows are kept without their compression.
    pub(crate) fn is_unpacked(&self) -> bool {
        self.unpacked.get().is_some()
    }

    /// The same block, with bytes of its own if it has the substrate's: those may be used for something else once the block is
    /// not the latest state's any more, or stand beside something else.
    pub(crate) fn detached(self: &Arc<Block>) -> Arc<Block> {
        let Some(bytes) = self.bytes.detached() else { return Arc::clone(self) };
        Arc::new(Block {
            bytes,
            writers: self.writers.clone(),
            row_map: self.row_map.clone(),
            room: self.room.clone(),
            was_read: AtomicBool::new(self.was_read.load(Ordering::Relaxed)),
            unpacked: self.unpacked.clone(),
            outline: OnceLock::new(),
            ..**self
        })
    }

    /// The rows without their compression. The first read does not pay for that: under random reads of a large table there is no second one.
    fn unpacked(
        &self,
        format: &RecordFormat,
        room: &Arc<UnpackedRoom>,
    ) -> std::result::Result<&[u8], DecodeError> {
        if self.codec == self.codec.alone() {
            return Ok(self.payload());
        }
        if let Some(unpacked) = self.unpacked.get() {
            return Ok(&unpacked.payload);
        }
        let payload = codec(self.codec)?.unpack_block(format, self.payload())?;
        let payload = payload.ok_or(DecodeError::UnknownCodec { codec: self.codec.0 })?;
        let taken = Taken::new(payload.len(), room);
        Ok(&self.unpacked.get_or_init(|| Arc::new(UnpackedRows { payload, _taken: taken })).payload)
    }

    /// The error for rows that cannot be decoded.
    pub(crate) fn damaged(&self, error: &DecodeError) -> StoreError {
        StoreError::corrupt(format!("row block at row {}: {error}", self.first))
    }
}

fn count_ones_before(map: &[u8], bit: usize) -> usize {
    let whole: usize = map.iter().take(bit / 8).map(|byte| byte.count_ones() as usize).sum();
    let partial = map.get(bit / 8).map_or(0, |byte| byte & ((1u16 << (bit % 8)) - 1) as u8);
    whole + partial.count_ones() as usize
}
