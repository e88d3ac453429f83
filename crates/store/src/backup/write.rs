//! From a database to a stream.

use std::collections::HashMap;
use std::io::Write;

use farbird_record::bytes::put_bytes;
use farbird_record::value_codec::encode_row;
use farbird_record::{CodecId, EncodedRows, RecordFormat, codec};
use farbird_types::{BlobId, Value};

use super::error::BackupResult;
use super::frame::{CHUNK_BYTES, FrameWriter, ITEM_BYTES_MAX};
use super::increment::{IncrementHeader, KnownChunks};
use super::item::Item;
use super::{
    BackupContents, BackupProgress, BackupRelation, BackupStage, BackupSummary, ProgressObserver,
    ROWS_PER_STEP,
};
use crate::{Projection, ReadView, RelationScan, RowBatch, RowId, SegmentRead, StoreError, Transaction};

/// How rows are packed: the smallest in all that was measured (docs/store.md, "Record codecs").
const CODEC: CodecId = CodecId::COLUMN;
/// Rows are packed together until they have so many bytes in value encoding.
const PACKED_ROWS_BYTES: usize = 256 << 10;
/// And at most so many of them.
pub(super) const PACKED_ROWS_MAX: usize = 8_192;
/// BLOB contents of one item, in bytes.
const BLOB_ITEM_BYTES: usize = 64 << 10;
/// Where a chunk of an incremental backup begins: at a row whose number has so many zeros at its end, if so many bytes were gathered before it.
/// What changes in some rows then moves the beginnings of few chunks behind it: at the latest a row of 12 zeros begins one again.
const CHUNK_BEGINS: [(usize, u32); 3] = [(64 << 10, 12), (128 << 10, 9), (192 << 10, 6)];

/// Writes what a transaction sees of its database: the rows of `contents.relations`, their BLOBs, all sequences, and the
/// catalog entries given.
///
/// `transaction` must be a SNAPSHOT, begun at the moment to which `contents` belong ([`crate::Store::begin_with`]). Its
/// cancel flag ends the backup. Sequences are not part of transactions: they have the values of a moment after the
/// snapshot, so no row of the backup has a value that a restored sequence would give again.
///
/// # Errors
/// [`super::BackupError::Write`] from `out`, [`super::BackupError::Database`] from the database. What was written before has no end mark,
/// so no restore takes it for whole.
pub fn write_backup<W: Write>(
    transaction: &Transaction,
    contents: &BackupContents,
    out: W,
    observer: &mut ProgressObserver<'_>,
) -> BackupResult<BackupSummary> {
    write_contents(transaction, contents, FrameWriter::begin(out, contents.time_us)?, observer)
}

/// Writes a file of a chain of incremental backups: of what [`write_backup`] would write, the chunks that `known` does not have. All that
/// belong to it are in `known` afterwards ([`KnownChunks::into_all`]).
///
/// # Errors
/// As [`write_backup`], and [`super::BackupError::TooManyChunks`].
pub fn write_increment<W: Write>(
    transaction: &Transaction,
    contents: &BackupContents,
    increment: &IncrementHeader,
    known: &mut KnownChunks,
    out: W,
    observer: &mut ProgressObserver<'_>,
) -> BackupResult<BackupSummary> {
    let frame = FrameWriter::begin_increment(out, contents.time_us, &increment.encode(), known)?;
    write_contents(transaction, contents, frame, observer)
}

fn write_contents<W: Write>(
    transaction: &Transaction,
    contents: &BackupContents,
    mut frame: FrameWriter<'_, W>,
    observer: &mut ProgressObserver<'_>,
) -> BackupResult<BackupSummary> {
    let view = transaction.view()?;
    let commit = view.commit_number();
    put(&mut frame, &Item::Database { commit, producer: contents.producer.as_bytes() })?;
    frame.cut()?;
    for (key, value) in &contents.catalog {
        put(&mut frame, &Item::Catalog { key, value })?;
    }
    frame.cut()?;
    for (sequence, value) in transaction.store().sequence_values() {
        let value = if contents.reset_sequences.contains(&sequence) { 0 } else { value };
        put(&mut frame, &Item::Sequence { sequence, value })?;
    }
    let mut row_counts = Vec::with_capacity(contents.relations.len());
    for relation in &contents.relations {
        transaction.cancel_flag().check()?;
        row_counts.push(transaction.count_rows(&relation.layout, &view)?);
    }
    let mut writer = Writer {
        transaction,
        view,
        frame,
        observer,
        summary: BackupSummary { commit, ..BackupSummary::default() },
        rows_total: row_counts.iter().sum(),
        shared: HashMap::new(),
    };
    for (relation, rows) in contents.relations.iter().zip(row_counts) {
        writer.relation(relation, rows)?;
    }
    writer.finish()
}

fn put<W: Write>(frame: &mut FrameWriter<'_, W>, item: &Item<'_>) -> BackupResult<()> {
    let mut encoded = Vec::new();
    item.encode(&mut encoded);
    if encoded.len() > ITEM_BYTES_MAX {
        return Err(StoreError::corrupt("an object or a row is too large to be backed up").into());
    }
    frame.item(|chunk| chunk.extend_from_slice(&encoded))
}

struct Writer<'a, 'k, 'o, W> {
    transaction: &'a Transaction,
    view: ReadView,
    frame: FrameWriter<'k, W>,
    observer: &'a mut ProgressObserver<'o>,
    summary: BackupSummary,
    rows_total: u64,
    /// Of contents that several BLOBs have: by whose they are, the BLOB under which they were written.
    shared: HashMap<BlobId, u64>,
}

impl<W: Write> Writer<'_, '_, '_, W> {
    fn relation(&mut self, relation: &BackupRelation, rows: u64) -> BackupResult<()> {
        let layout = &relation.layout;
        let format = layout
            .current_format()
            .ok_or(StoreError::BadLayout { relation: layout.id, what: "current format" })?;
        let begin = Item::Relation {
            relation: layout.id,
            name: relation.name.as_bytes(),
            format: layout.current,
            columns: format.len() as u64,
            rows,
        };
        self.frame.cut()?;
        put(&mut self.frame, &begin)?;
        self.frame.cut()?;
        let written = self.rows(relation, format)?;
        if written != rows {
            return Err(StoreError::corrupt(format!(
                "table {} has {written} rows, but its row blocks say {rows}",
                relation.name
            ))
            .into());
        }
        self.summary.relations += 1;
        put(&mut self.frame, &Item::RelationEnd { rows: written })
    }

    /// Writes the rows; gives their number.
    fn rows(&mut self, relation: &BackupRelation, format: &RecordFormat) -> BackupResult<u64> {
        let mut scan = RelationScan::new(relation.layout.clone(), self.view.clone(), Projection::all());
        let mut batch = RowBatch::new();
        let mut rows = EncodedRows::new();
        let mut written = 0;
        self.report(BackupStage::Rows, &relation.name);
        while scan.next_batch(self.transaction, ROWS_PER_STEP, &mut batch)? {
            self.transaction.cancel_flag().check()?;
            for index in 0..batch.len() {
                if self.begins_chunk(batch.row_id(index), rows.bytes().len()) {
                    self.packed_rows(format, &mut rows)?;
                    self.frame.cut()?;
                }
                let row = batch.take_row(index);
                for value in &row {
                    if let Value::Blob(blob) = value {
                        self.blob(*blob)?;
                    }
                }
                rows.push_with(|out| encode_row(format, &row, out)).map_err(StoreError::from)?;
                if rows.len() >= PACKED_ROWS_MAX || rows.bytes().len() >= PACKED_ROWS_BYTES {
                    self.packed_rows(format, &mut rows)?;
                }
            }
            written += batch.len() as u64;
            self.summary.rows += batch.len() as u64;
            self.report(BackupStage::Rows, &relation.name);
        }
        self.packed_rows(format, &mut rows)?;
        Ok(written)
    }

    /// Whether a chunk of an incremental backup begins with this row, before which so many bytes of rows were gathered.
    fn begins_chunk(&self, row: RowId, bytes: usize) -> bool {
        let gathered = bytes + self.frame.gathered();
        let zeros = row.0.trailing_zeros();
        self.frame.is_increment()
            && CHUNK_BEGINS.iter().any(|(enough, aligned)| gathered >= *enough && zeros >= *aligned)
    }

    fn packed_rows(&mut self, format: &RecordFormat, rows: &mut EncodedRows) -> BackupResult<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let codec = codec(CODEC).map_err(|error| StoreError::corrupt(error.to_string()))?;
        let mut packed = Vec::new();
        codec.encode_block(format, rows, &mut packed).map_err(StoreError::from)?;
        let item = Item::Rows { codec: CODEC, rows: rows.len() as u64, packed: &packed };
        *rows = EncodedRows::new();
        put(&mut self.frame, &item)
    }

    fn blob(&mut self, id: BlobId) -> BackupResult<()> {
        let mut reader = self.transaction.open_blob(id)?;
        let properties = reader.properties();
        let owner = reader.contents_owner();
        self.summary.blobs += 1;
        self.summary.blob_bytes += properties.bytes;
        if let Some(contents_of) = self.shared.get(&owner) {
            let item = Item::SharedBlob { blob: id.0, contents_of: *contents_of, bytes: properties.bytes };
            return put(&mut self.frame, &item);
        }
        if properties.bytes >= CHUNK_BYTES as u64 {
            // Its chunks are then the same whatever stands before it.
            self.frame.cut()?;
        }
        let is_shared = self.transaction.is_shared_blob(id, &reader)?;
        if is_shared {
            self.shared.insert(owner, id.0);
        }
        let begin = Item::Blob {
            blob: id.0,
            options: properties.options,
            is_shared,
            bytes: properties.bytes,
            segments: properties.segments,
        };
        put(&mut self.frame, &begin)?;
        let mut pieces = Vec::new();
        let mut piece = Vec::new();
        loop {
            piece.clear();
            let read = reader.read_segment(self.transaction, BLOB_ITEM_BYTES, &mut piece)?;
            if read == SegmentRead::End {
                break;
            }
            put_bytes(&piece, &mut pieces);
            let goes_on = read == SegmentRead::Incomplete;
            if goes_on || pieces.len() >= BLOB_ITEM_BYTES {
                put(&mut self.frame, &Item::BlobContents { goes_on, pieces: &pieces })?;
                pieces.clear();
                self.transaction.cancel_flag().check()?;
            }
        }
        if !pieces.is_empty() {
            put(&mut self.frame, &Item::BlobContents { goes_on: false, pieces: &pieces })?;
        }
        Ok(())
    }

    fn finish(mut self) -> BackupResult<BackupSummary> {
        put(&mut self.frame, &Item::End(self.summary))?;
        self.report(BackupStage::Finishing, "");
        let bytes = self.frame.end()?;
        Ok(BackupSummary { bytes, ..self.summary })
    }

    fn report(&mut self, stage: BackupStage, object: &str) {
        (self.observer)(&BackupProgress {
            stage,
            object,
            rows: self.summary.rows,
            rows_total: self.rows_total,
            indexes: 0,
            indexes_total: 0,
            bytes: self.frame.bytes(),
        });
    }
}
