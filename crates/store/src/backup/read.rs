//! From a stream to a database.

use std::collections::{HashMap, VecDeque};
use std::io::Read;
use std::sync::Arc;

use farbird_record::bytes::Reader;
use farbird_record::{ColumnSet, DecodeError, RecordFormat, codec};
use farbird_types::{BlobId, Value};

use super::error::{BackupError, BackupResult};
use super::frame::FrameReader;
use super::item::Item;
use super::write::PACKED_ROWS_MAX;
use super::{BackupProgress, BackupRelation, BackupStage, BackupSummary, ProgressObserver, ROWS_PER_STEP};
use crate::{
    BlobWriter, BuildRoom, CancelFlag, CodecId, Projection, RelationId, RelationLayout, RelationScan,
    RowBatch, SequenceId, Store, StoreError, Transaction, TransactionOptions,
};

/// Restored rows are committed when they have come to so many bytes: less than a transaction keeps in memory.
const BYTES_PER_COMMIT: u64 = 8 << 20;
/// And at the latest after so many rows: short ones take more memory than bytes.
const ROWS_PER_COMMIT: u64 = 100_000;

/// A backup that is being read, its catalog already known.
pub struct BackupReader<R> {
    items: Items<R>,
    commit: crate::CommitNumber,
    producer: String,
    catalog: Vec<(Vec<u8>, Vec<u8>)>,
    sequences: Vec<(SequenceId, i64)>,
}

impl<R: Read> BackupReader<R> {
    /// Reads a backup's beginning: its header, catalog entries and sequences.
    ///
    /// # Errors
    /// [`BackupError::NotABackup`], [`BackupError::TooNew`], and what damage gives.
    pub fn open(input: R) -> BackupResult<BackupReader<R>> {
        let mut items = Items::new(FrameReader::begin(input)?);
        let (commit, producer) = match items.next()? {
            OwnedItem::Database { commit, producer } => (commit, producer),
            _ => return Err(items.damaged("its first item")),
        };
        let (mut catalog, mut sequences) = (Vec::new(), Vec::new());
        loop {
            match items.next()? {
                OwnedItem::Catalog { key, value } if sequences.is_empty() => catalog.push((key, value)),
                OwnedItem::Sequence { sequence, value } => sequences.push((sequence, value)),
                OwnedItem::Catalog { .. } => return Err(items.damaged("the order of items")),
                next => {
                    items.put_back(next);
                    return Ok(BackupReader { items, commit, producer, catalog, sequences });
                }
            }
        }
    }

    /// The commit whose state it is, in the database that was backed up.
    pub fn commit_number(&self) -> crate::CommitNumber {
        self.commit
    }

    /// The program that made it.
    pub fn producer(&self) -> &str {
        &self.producer
    }

    /// The time of its snapshot: microseconds since 1970, UTC.
    pub fn time_us(&self) -> i64 {
        self.items.frame.time_us()
    }

    /// The catalog entries: the engine makes the relations of [`BackupReader::restore`] of them.
    pub fn catalog(&self) -> &[(Vec<u8>, Vec<u8>)] {
        &self.catalog
    }

    /// Fills an empty database: `catalog` (which need not be the backup's own), sequences, rows, BLOBs, and the indexes
    /// of `relations` that are active, for whose building there is `room`. Those of the backup that `relations` does not have are an error.
    ///
    /// # Durability
    /// Written in many transactions, the last of them durable when it returns; after an error the database is half full,
    /// and to be thrown away.
    ///
    /// # Errors
    /// [`BackupError::Index`] if a unique index meets two rows with one key; what damage gives; cancellation as
    /// [`StoreError::Cancelled`].
    pub fn restore(
        self,
        store: &Store,
        catalog: &[(Vec<u8>, Vec<u8>)],
        relations: &[BackupRelation],
        room: &dyn BuildRoom,
        cancel: &Arc<CancelFlag>,
        observer: &mut ProgressObserver<'_>,
    ) -> BackupResult<BackupSummary> {
        let rows = self.restore_rows(store, catalog, relations, cancel, observer)?;
        rows.build_indexes(store, relations, room, cancel, observer)
    }

    /// The first part of [`BackupReader::restore`]: all but the indexes.
    ///
    /// # Errors
    /// As [`BackupReader::restore`].
    pub fn restore_rows(
        mut self,
        store: &Store,
        catalog: &[(Vec<u8>, Vec<u8>)],
        relations: &[BackupRelation],
        cancel: &Arc<CancelFlag>,
        observer: &mut ProgressObserver<'_>,
    ) -> BackupResult<RestoredRows> {
        let transaction = store.begin(TransactionOptions::default(), Arc::clone(cancel))?;
        for (key, value) in catalog {
            transaction.catalog_put(key, value)?;
        }
        transaction.commit()?;
        for (sequence, value) in &self.sequences {
            store.sequence_set(*sequence, *value)?;
        }
        let mut restore = Restore {
            store,
            relations: relations.iter().map(|relation| (relation.layout.id, relation)).collect(),
            cancel,
            observer,
            read: BackupSummary::default(),
            summary: BackupSummary { commit: self.commit, ..BackupSummary::default() },
            rows_total: 0,
            shared: HashMap::new(),
            to_be_emptied: Vec::new(),
        };
        restore.contents(&mut self.items)?;
        let summary = BackupSummary { bytes: self.items.frame.bytes(), ..restore.summary };
        Ok(RestoredRows { summary, rows_total: restore.rows_total })
    }
}

/// The rows of a backup in a database, without their indexes.
#[derive(Debug)]
pub struct RestoredRows {
    summary: BackupSummary,
    rows_total: u64,
}

impl RestoredRows {
    /// Builds the active indexes of the relations, for which there is `room`.
    ///
    /// # Errors
    /// As [`BackupReader::restore`].
    pub fn build_indexes(
        mut self,
        store: &Store,
        relations: &[BackupRelation],
        room: &dyn BuildRoom,
        cancel: &Arc<CancelFlag>,
        observer: &mut ProgressObserver<'_>,
    ) -> BackupResult<BackupSummary> {
        let indexes_total = relations.iter().map(|it| active_indexes(&it.layout).count() as u64).sum();
        let rows_total = self.rows_total;
        let mut report = |stage, object: &str, summary: &BackupSummary| {
            observer(&BackupProgress {
                stage,
                object,
                rows: summary.rows,
                rows_total,
                indexes: summary.indexes,
                indexes_total,
                bytes: summary.bytes,
            });
        };
        for relation in relations {
            for (position, index) in active_indexes(&relation.layout) {
                cancel.check()?;
                let name = relation.index_names.get(position).cloned().unwrap_or_default();
                report(BackupStage::Indexes, &name, &self.summary);
                let transaction = store.begin(TransactionOptions::default(), Arc::clone(cancel))?;
                transaction.build_index(&relation.layout, index.id, room).map_err(|error| match error {
                    StoreError::Cancelled | StoreError::Full | StoreError::Io(_) | StoreError::Poisoned => {
                        error.into()
                    }
                    error => BackupError::Index { index: name, relation: relation.name.clone(), error },
                })?;
                transaction.commit()?;
                self.summary.indexes += 1;
            }
        }
        report(BackupStage::Finishing, "", &self.summary);
        Ok(self.summary)
    }
}

/// Reads a whole backup and checks all that can be checked without restoring it: checksums, the end mark, the order of
/// items, and the numbers of rows and BLOBs.
///
/// # Errors
/// What damage gives.
pub fn verify_backup<R: Read>(
    input: R,
    cancel: &CancelFlag,
    observer: &mut ProgressObserver<'_>,
) -> BackupResult<BackupSummary> {
    let BackupReader { mut items, commit, .. } = BackupReader::open(input)?;
    let mut summary = BackupSummary { commit, ..BackupSummary::default() };
    let (mut rows_total, mut relation_rows, mut name) = (0, 0, String::new());
    loop {
        cancel.check()?;
        match items.next()? {
            OwnedItem::Relation { name: begun, rows, .. } => {
                summary.relations += 1;
                rows_total = u64::saturating_add(rows_total, rows);
                (relation_rows, name) = (0, begun);
            }
            OwnedItem::Rows { rows, .. } => {
                relation_rows += rows as u64;
                summary.rows += rows as u64;
            }
            OwnedItem::RelationEnd { rows } if rows != relation_rows => {
                return Err(items.damaged("the number of rows"));
            }
            OwnedItem::Blob { bytes, .. } | OwnedItem::SharedBlob { bytes, .. } => {
                summary.blobs += 1;
                summary.blob_bytes = summary.blob_bytes.saturating_add(bytes);
            }
            OwnedItem::End(end) => {
                items.finish(end, summary)?;
                return Ok(BackupSummary { bytes: items.frame.bytes(), ..summary });
            }
            _ => {}
        }
        observer(&BackupProgress {
            stage: BackupStage::Rows,
            object: &name,
            rows: summary.rows,
            rows_total,
            indexes: 0,
            indexes_total: 0,
            bytes: items.frame.bytes(),
        });
    }
}

fn active_indexes(layout: &RelationLayout) -> impl Iterator<Item = (usize, &crate::IndexDefinition)> {
    layout.indexes.iter().enumerate().filter(|(_, index)| index.active)
}

/// An item that has left its chunk.
enum OwnedItem {
    Database { commit: crate::CommitNumber, producer: String },
    Catalog { key: Vec<u8>, value: Vec<u8> },
    Sequence { sequence: SequenceId, value: i64 },
    Relation { relation: RelationId, name: String, format: u16, columns: u64, rows: u64 },
    Blob { blob: u64, options: crate::BlobOptions, is_shared: bool, bytes: u64, segments: u64 },
    SharedBlob { blob: u64, contents_of: u64, bytes: u64 },
    BlobContents { goes_on: bool, pieces: Vec<u8> },
    Rows { codec: CodecId, rows: usize, packed: Vec<u8> },
    RelationEnd { rows: u64 },
    End(BackupSummary),
}

impl OwnedItem {
    fn of(item: Item<'_>) -> Result<OwnedItem, &'static str> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(match item {
            Item::Database { commit, producer } => OwnedItem::Database { commit, producer: text(producer) },
            Item::Catalog { key, value } => OwnedItem::Catalog { key: key.to_vec(), value: value.to_vec() },
            Item::Sequence { sequence, value } => OwnedItem::Sequence { sequence, value },
            Item::Relation { relation, name, format, columns, rows } => {
                OwnedItem::Relation { relation, name: text(name), format, columns, rows }
            }
            Item::Blob { blob, options, is_shared, bytes, segments } => {
                OwnedItem::Blob { blob, options, is_shared, bytes, segments }
            }
            Item::SharedBlob { blob, contents_of, bytes } => {
                OwnedItem::SharedBlob { blob, contents_of, bytes }
            }
            Item::BlobContents { goes_on, pieces } => {
                OwnedItem::BlobContents { goes_on, pieces: pieces.to_vec() }
            }
            Item::Rows { codec, rows, packed } => {
                let rows = usize::try_from(rows).ok().filter(|rows| (1..=PACKED_ROWS_MAX).contains(rows));
                OwnedItem::Rows { codec, rows: rows.ok_or("the number of rows")?, packed: packed.to_vec() }
            }
            Item::RelationEnd { rows } => OwnedItem::RelationEnd { rows },
            Item::End(summary) => OwnedItem::End(summary),
        })
    }
}

/// The items of a backup, one after the other.
struct Items<R> {
    frame: FrameReader<R>,
    chunk: Vec<u8>,
    offset: usize,
    put_back: VecDeque<OwnedItem>,
}

impl<R: Read> Items<R> {
    fn new(frame: FrameReader<R>) -> Items<R> {
        Items { frame, chunk: Vec::new(), offset: 0, put_back: VecDeque::new() }
    }

    fn damaged(&self, what: impl Into<String>) -> BackupError {
        self.frame.damaged(what)
    }

    fn put_back(&mut self, item: OwnedItem) {
        self.put_back.push_back(item);
    }

    /// The next item. The end mark before the end of the contents is damage.
    fn next(&mut self) -> BackupResult<OwnedItem> {
        if let Some(item) = self.put_back.pop_front() {
            return Ok(item);
        }
        while self.offset >= self.chunk.len() {
            self.offset = 0;
            if !self.frame.next_chunk(&mut self.chunk)? {
                return Err(self.damaged("an end mark before the end of the contents"));
            }
        }
        let mut reader = Reader::new(self.chunk.get(self.offset..).unwrap_or_default());
        let decoded = Item::decode(&mut reader).map_err(|error| error.to_string());
        let item = decoded.and_then(|item| OwnedItem::of(item).map_err(str::to_owned));
        match item {
            Ok(item) => {
                self.offset += reader.offset();
                Ok(item)
            }
            Err(what) => Err(self.damaged(format!("an item: {what}"))),
        }
    }

    /// Checks what the end of the contents says, and that nothing but the end mark follows.
    fn finish(&mut self, end: BackupSummary, found: BackupSummary) -> BackupResult<()> {
        let numbers = |of: BackupSummary| [of.relations, of.rows, of.blobs, of.blob_bytes];
        if numbers(end) != numbers(found) {
            return Err(self.damaged("the numbers of rows and blobs"));
        }
        if self.offset < self.chunk.len() || self.frame.next_chunk(&mut self.chunk)? {
            return Err(self.damaged("items behind the end of the contents"));
        }
        Ok(())
    }
}

struct Restore<'a, 'o> {
    store: &'a Store,
    relations: HashMap<RelationId, &'a BackupRelation>,
    cancel: &'a Arc<CancelFlag>,
    observer: &'a mut ProgressObserver<'o>,
    /// What was read, with what is passed over.
    read: BackupSummary,
    /// What is in the database.
    summary: BackupSummary,
    rows_total: u64,
    /// BLOBs whose contents others have too: their new numbers and bytes by the old numbers.
    shared: HashMap<u64, (BlobId, u64)>,
    /// Relations that are passed over, with rows for the sake of their BLOBs.
    to_be_emptied: Vec<RelationLayout>,
}

/// A relation whose rows are being restored.
struct Filling<'a> {
    name: &'a str,
    /// Its layout without indexes: they are built when the rows are there.
    layout: RelationLayout,
    format: RecordFormat,
    transaction: Transaction,
    /// BLOBs that no row has taken yet: their new numbers by the old ones.
    blobs: HashMap<u64, BlobId>,
    rows: u64,
    bytes_since_commit: u64,
    rows_since_commit: u64,
    /// Its rows stay away: only those are there, until all of the backup is read, whose BLOBs others share.
    is_passed_over: bool,
}

impl<'a> Restore<'a, '_> {
    /// Rows and BLOBs of all relations, up to the end of the contents.
    fn contents<R: Read>(&mut self, items: &mut Items<R>) -> BackupResult<()> {
        loop {
            match items.next()? {
                OwnedItem::Relation { relation, name, format, columns, rows } => {
                    let known = self.relations.get(&relation).copied().filter(|known| {
                        let current = known.layout.current_format();
                        known.layout.current == format
                            && current.is_some_and(|current| current.len() as u64 == columns)
                    });
                    let Some(known) = known else {
                        return Err(items.damaged(format!("table {name}: its catalog entry does not fit")));
                    };
                    // A second stretch of rows would be a second table of one number.
                    self.relations.remove(&relation);
                    self.rows_total = self.rows_total.saturating_add(rows);
                    self.relation(items, known, rows)?;
                }
                OwnedItem::End(end) => {
                    items.finish(end, self.read)?;
                    return self.empty_passed_over();
                }
                _ => return Err(items.damaged("the order of items")),
            }
        }
    }

    fn relation<R: Read>(
        &mut self,
        items: &mut Items<R>,
        relation: &'a BackupRelation,
        rows: u64,
    ) -> BackupResult<()> {
        let mut filling = Filling {
            name: &relation.name,
            layout: RelationLayout { indexes: Vec::new(), ..RelationLayout::clone(&relation.layout) },
            format: relation.layout.current_format().cloned().unwrap_or_default(),
            transaction: self.begin()?,
            blobs: HashMap::new(),
            rows: 0,
            bytes_since_commit: 0,
            rows_since_commit: 0,
            is_passed_over: relation.is_passed_over,
        };
        self.report(BackupStage::Rows, filling.name, items.frame.bytes());
        loop {
            self.cancel.check()?;
            match items.next()? {
                OwnedItem::Blob { bytes, segments, options, is_shared: false, .. }
                    if filling.is_passed_over =>
                {
                    pass_over_blob(items, options.stream, (bytes, segments), self.cancel)?;
                    self.count_blob(bytes, false);
                }
                OwnedItem::SharedBlob { bytes, .. } if filling.is_passed_over => {
                    self.count_blob(bytes, false);
                }
                OwnedItem::Blob { blob, options, is_shared, bytes, segments } => {
                    let writer = filling.transaction.create_blob(options)?;
                    let new = fill_blob(items, &filling.transaction, writer, bytes, segments)?;
                    if is_shared {
                        self.shared.insert(blob, (new, bytes));
                    }
                    filling.bytes_since_commit += bytes;
                    self.blob(items, &mut filling, blob, new, bytes)?;
                }
                OwnedItem::SharedBlob { blob, contents_of, bytes } => {
                    let known = self.shared.get(&contents_of).filter(|(_, known)| *known == bytes);
                    let Some((other, _)) = known else {
                        return Err(items.damaged(format!("blob {blob}: its contents")));
                    };
                    let new = filling.transaction.share_blob(*other)?;
                    self.blob(items, &mut filling, blob, new, bytes)?;
                }
                OwnedItem::Rows { codec, rows, packed } => {
                    self.rows(items, &mut filling, codec, rows, &packed)?;
                    self.commit_if_large(&mut filling)?;
                    self.report(BackupStage::Rows, filling.name, items.frame.bytes());
                }
                OwnedItem::RelationEnd { rows: written } => {
                    if written != filling.rows || rows != filling.rows || !filling.blobs.is_empty() {
                        return Err(items.damaged(format!("table {}: its number of rows", filling.name)));
                    }
                    break;
                }
                _ => return Err(items.damaged("the order of items")),
            }
        }
        filling.transaction.commit()?;
        self.read.relations += 1;
        self.summary.relations += u64::from(!relation.is_passed_over);
        Ok(())
    }

    /// Notes a BLOB that was read, and whether it is in the database.
    fn count_blob(&mut self, bytes: u64, is_restored: bool) {
        for summary in [Some(&mut self.read), Some(&mut self.summary).filter(|_| is_restored)] {
            let Some(summary) = summary else { continue };
            summary.blobs += 1;
            summary.blob_bytes = summary.blob_bytes.saturating_add(bytes);
        }
    }

    /// Removes the rows that were there only for their BLOBs.
    fn empty_passed_over(&mut self) -> BackupResult<()> {
        for layout in std::mem::take(&mut self.to_be_emptied) {
            let mut transaction = self.begin()?;
            let view = transaction.view()?;
            let mut scan = RelationScan::new(Arc::new(layout.clone()), view.clone(), Projection::of([]));
            let mut batch = RowBatch::new();
            let mut rows = 0;
            while scan.next_batch(&transaction, ROWS_PER_STEP, &mut batch)? {
                self.cancel.check()?;
                for index in 0..batch.len() {
                    transaction.delete(&layout, &view, batch.row_id(index))?;
                }
                rows += batch.len() as u64;
                if rows >= ROWS_PER_COMMIT {
                    std::mem::replace(&mut transaction, self.begin()?).commit()?;
                    rows = 0;
                }
            }
            transaction.commit()?;
        }
        Ok(())
    }

    /// Notes a BLOB that was restored.
    fn blob<R: Read>(
        &mut self,
        items: &Items<R>,
        filling: &mut Filling<'_>,
        blob: u64,
        new: BlobId,
        bytes: u64,
    ) -> BackupResult<()> {
        if filling.blobs.insert(blob, new).is_some() {
            return Err(items.damaged(format!("blob {blob}: it is there twice")));
        }
        self.count_blob(bytes, !filling.is_passed_over);
        Ok(())
    }

    fn rows<R: Read>(
        &mut self,
        items: &Items<R>,
        filling: &mut Filling<'_>,
        codec_id: CodecId,
        rows: usize,
        packed: &[u8],
    ) -> BackupResult<()> {
        filling.rows += rows as u64;
        self.read.rows += rows as u64;
        filling.rows_since_commit += rows as u64;
        filling.bytes_since_commit += packed.len() as u64;
        if filling.is_passed_over && filling.blobs.is_empty() {
            return Ok(());
        }
        let name = filling.name;
        let damaged = |error: DecodeError| items.damaged(format!("rows of {name}: {error}"));
        let reader = codec(codec_id)
            .and_then(|codec| codec.open_block(&filling.format, rows, packed))
            .map_err(damaged)?;
        let width = filling.format.len();
        let mut values = Vec::new();
        for start in (0..rows).step_by(ROWS_PER_STEP) {
            self.cancel.check()?;
            values.clear();
            let end = rows.min(start + ROWS_PER_STEP);
            reader.decode_rows(start..end, &ColumnSet::All, &mut values).map_err(damaged)?;
            for index in 0..end - start {
                let row = values.get_mut(index * width..(index + 1) * width).unwrap_or_default();
                if filling.is_passed_over {
                    let (blobs, transaction) = (&mut filling.blobs, &filling.transaction);
                    self.keep_for_blobs(blobs, (transaction, &filling.layout), row)?;
                    continue;
                }
                for value in row.iter_mut() {
                    if let Value::Blob(blob) = value {
                        let new = filling.blobs.remove(&blob.0);
                        *blob = new.ok_or_else(|| items.damaged(format!("blob {} is missing", blob.0)))?;
                    }
                }
                filling.transaction.insert(&filling.layout, row)?;
            }
        }
        self.summary.rows += if filling.is_passed_over { 0 } else { rows as u64 };
        Ok(())
    }

    /// Inserts a row that is passed over if others share a BLOB of its: without an owner its contents would be gone.
    fn keep_for_blobs(
        &mut self,
        blobs: &mut HashMap<u64, BlobId>,
        (transaction, layout): (&Transaction, &RelationLayout),
        row: &mut [Value],
    ) -> BackupResult<()> {
        let mut owns = false;
        for value in row.iter_mut() {
            let kept = match value {
                Value::Blob(blob) => blobs.remove(&blob.0),
                _ => None,
            };
            owns |= kept.is_some();
            *value = kept.map_or(Value::Null, Value::Blob);
        }
        if !owns {
            return Ok(());
        }
        transaction.insert(layout, row)?;
        if self.to_be_emptied.last().is_none_or(|last| last.id != layout.id) {
            self.to_be_emptied.push(layout.clone());
        }
        Ok(())
    }

    fn commit_if_large(&self, filling: &mut Filling<'_>) -> BackupResult<()> {
        let large =
            filling.bytes_since_commit >= BYTES_PER_COMMIT || filling.rows_since_commit >= ROWS_PER_COMMIT;
        // BLOBs whose rows are still to come would be gone with the commit.
        if large && filling.blobs.is_empty() {
            let full = std::mem::replace(&mut filling.transaction, self.begin()?);
            full.commit()?;
            (filling.bytes_since_commit, filling.rows_since_commit) = (0, 0);
        }
        Ok(())
    }

    fn begin(&self) -> BackupResult<Transaction> {
        Ok(self.store.begin(TransactionOptions::default(), Arc::clone(self.cancel))?)
    }

    fn report(&mut self, stage: BackupStage, object: &str, bytes: u64) {
        (self.observer)(&BackupProgress {
            stage,
            object,
            rows: self.summary.rows,
            rows_total: self.rows_total,
            indexes: 0,
            indexes_total: 0,
            bytes,
        });
    }
}

/// Passes over the contents of a BLOB, which follow it.
fn pass_over_blob<R: Read>(
    items: &mut Items<R>,
    stream: bool,
    (bytes, segments): (u64, u64),
    cancel: &CancelFlag,
) -> BackupResult<()> {
    let (mut bytes_left, mut segments_left) = (bytes, if stream { 0 } else { segments });
    while bytes_left > 0 || segments_left > 0 {
        cancel.check()?;
        let OwnedItem::BlobContents { goes_on, pieces } = items.next()? else {
            return Err(items.damaged("a blob: its contents end early"));
        };
        let mut reader = Reader::new(&pieces);
        while !reader.is_at_end() {
            let piece =
                reader.length_and_bytes().map_err(|error| items.damaged(format!("a blob: {error}")))?;
            let left = bytes_left.checked_sub(piece.len() as u64);
            bytes_left = left.ok_or_else(|| items.damaged("a blob: its length"))?;
            if !(goes_on && reader.is_at_end()) {
                segments_left = segments_left.saturating_sub(1);
            }
        }
    }
    Ok(())
}

/// Writes the contents of a BLOB, which follow it.
fn fill_blob<R: Read>(
    items: &mut Items<R>,
    transaction: &Transaction,
    mut writer: BlobWriter,
    bytes: u64,
    segments: u64,
) -> BackupResult<BlobId> {
    let stream = writer.properties().options.stream;
    let is_whole = |written: &BlobWriter| {
        let properties = written.properties();
        properties.bytes >= bytes && (stream || properties.segments >= segments)
    };
    // Bytes of a segment that goes on from item to item.
    let mut begun = 0u64;
    while !is_whole(&writer) {
        let OwnedItem::BlobContents { goes_on, pieces } = items.next()? else {
            return Err(items.damaged("a blob: its contents end early"));
        };
        let mut reader = Reader::new(&pieces);
        while !reader.is_at_end() {
            let piece =
                reader.length_and_bytes().map_err(|error| items.damaged(format!("a blob: {error}")))?;
            begun += piece.len() as u64;
            if begun > bytes {
                return Err(items.damaged("a blob: its length"));
            }
            writer.begin_segment(transaction, piece)?;
            if !(goes_on && reader.is_at_end()) {
                writer.end_segment(transaction, begun)?;
                begun = 0;
            }
        }
    }
    let written = writer.properties();
    if written.bytes != bytes || !(stream || written.segments == segments) {
        return Err(items.damaged("a blob: its length"));
    }
    Ok(writer.close(transaction)?)
}
