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
    BlobWriter, BuildRoom, CancelFlag, CodecId, RelationId, RelationLayout, SequenceId, Store, StoreError,
    Transaction, TransactionOptions,
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
        mut self,
        store: &Store,
        catalog: &[(Vec<u8>, Vec<u8>)],
        relations: &[BackupRelation],
        room: &dyn BuildRoom,
        cancel: &Arc<CancelFlag>,
        observer: &mut ProgressObserver<'_>,
    ) -> BackupResult<BackupSummary> {
        let transaction = store.begin(TransactionOptions::default(), Arc::clone(cancel))?;
        for (key, value) in catalog {
            transaction.catalog_put(key, value)?;
        }
        transaction.commit()?;
        for (sequence, value) in &self.sequences {
            store.sequence_set(*sequence, *value)?;
        }
        let indexes_total = relations.iter().map(|it| active_indexes(&it.layout).count() as u64).sum();
        let mut restore = Restore {
            store,
            relations: relations.iter().map(|relation| (relation.layout.id, relation)).collect(),
            room,
            cancel,
            observer,
            summary: BackupSummary { commit: self.commit, ..BackupSummary::default() },
            rows_total: 0,
            indexes_total,
            shared: HashMap::new(),
        };
        restore.contents(&mut self.items)?;
        for relation in relations {
            restore.indexes(relation, self.items.frame.bytes())?;
        }
        restore.report(BackupStage::Finishing, "", self.items.frame.bytes());
        Ok(BackupSummary { bytes: self.items.frame.bytes(), ..restore.summary })
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
    /// For building indexes.
    room: &'a dyn BuildRoom,
    cancel: &'a Arc<CancelFlag>,
    observer: &'a mut ProgressObserver<'o>,
    summary: BackupSummary,
    rows_total: u64,
    indexes_total: u64,
    /// BLOBs whose contents others have too: their new numbers and bytes by the old numbers.
    shared: HashMap<u64, (BlobId, u64)>,
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
                OwnedItem::End(end) => return items.finish(end, self.summary),
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
        };
        self.report(BackupStage::Rows, filling.name, items.frame.bytes());
        loop {
            self.cancel.check()?;
            match items.next()? {
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
        self.summary.relations += 1;
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
        self.summary.blobs += 1;
        self.summary.blob_bytes = self.summary.blob_bytes.saturating_add(bytes);
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
        let damaged = |error: DecodeError| items.damaged(format!("rows of {}: {error}", filling.name));
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
                for value in row.iter_mut() {
                    if let Value::Blob(blob) = value {
                        let new = filling.blobs.remove(&blob.0);
                        *blob = new.ok_or_else(|| items.damaged(format!("blob {} is missing", blob.0)))?;
                    }
                }
                filling.transaction.insert(&filling.layout, row)?;
            }
        }
        filling.rows += rows as u64;
        self.summary.rows += rows as u64;
        filling.rows_since_commit += rows as u64;
        filling.bytes_since_commit += packed.len() as u64;
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

    /// Builds the active indexes of a relation.
    fn indexes(&mut self, relation: &BackupRelation, bytes: u64) -> BackupResult<()> {
        for (position, index) in active_indexes(&relation.layout) {
            self.cancel.check()?;
            let name = relation.index_names.get(position).cloned().unwrap_or_default();
            self.report(BackupStage::Indexes, &name, bytes);
            let transaction = self.begin()?;
            transaction.build_index(&relation.layout, index.id, self.room).map_err(|error| match error {
                StoreError::Cancelled | StoreError::Full | StoreError::Io(_) | StoreError::Poisoned => {
                    error.into()
                }
                error => BackupError::Index { index: name, relation: relation.name.clone(), error },
            })?;
            transaction.commit()?;
            self.summary.indexes += 1;
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
            indexes: self.summary.indexes,
            indexes_total: self.indexes_total,
            bytes,
        });
    }
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
