//! Transactions of restored rows: rows become what the store keeps of them, without values in between where that can be, and
//! their BLOBs are written before them.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use farbird_record::EncodedRows;
use farbird_store::{BlobWriter, CancelFlag, Store, StoreError, Transaction, TransactionOptions};
use farbird_types::BlobId;

use super::batch::{Batch, Item};
use super::columns::{Malformed, RowMaker, Table};
use super::failure::{GbakError, GbakResult};
use super::stage::Committer;

/// Rows are committed when they have come to so many bytes, or to so many.
const BYTES_PER_COMMIT: usize = 8 << 20;
const ROWS_PER_COMMIT: usize = 100_000;
/// Rows that are inserted at once.
const ROWS_AT_ONCE: usize = 1_024;
/// How many segments of a BLOB are written before a wish to stop is heard.
const SEGMENTS_PER_LOOK: u64 = 1_024;

/// Puts the rows of batches into transactions.
pub(super) struct Filler {
    store: Store,
    cancel: Arc<CancelFlag>,
    committer: Option<Committer>,
    transaction: Option<Transaction>,
    /// What was put into it.
    bytes: usize,
    rows: usize,
    /// The latest row, whose BLOBs may still come.
    latest: Vec<u8>,
    /// Where it ends in the backup; `None`: there is none.
    latest_at: Option<u64>,
    /// Its BLOBs, by the slots of their columns.
    latest_blobs: Vec<(usize, BlobId)>,
    /// The one that is being written.
    writer: Option<(usize, BlobWriter)>,
    /// Rows to be inserted, and their BLOBs.
    encoded: EncodedRows,
    blobs: Vec<BlobId>,
    maker: RowMaker,
}

impl Filler {
    pub(super) fn new(store: &Store, cancel: &Arc<CancelFlag>) -> Filler {
        Filler {
            store: store.clone(),
            cancel: Arc::clone(cancel),
            committer: None,
            transaction: None,
            bytes: 0,
            rows: 0,
            latest: Vec::new(),
            latest_at: None,
            latest_blobs: Vec::new(),
            writer: None,
            encoded: EncodedRows::new(),
            blobs: Vec::new(),
            maker: RowMaker::default(),
        }
    }

    /// Takes batches until there are no more, and commits all that is in them.
    pub(super) fn run(mut self, batches: Receiver<Batch>) -> GbakResult<Malformed> {
        for batch in batches {
            self.take(batch)?;
        }
        if let Some(committer) = self.committer.take() {
            committer.finish()?;
        }
        if let Some(last) = self.transaction.take() {
            last.commit()?;
        }
        Ok(self.maker.into_malformed())
    }

    fn take(&mut self, batch: Batch) -> GbakResult<()> {
        self.cancel.check()?;
        let Batch { table, bytes, items, ends_table, .. } = batch;
        let mut start = 0;
        for item in items {
            match item {
                Item::Row { end, at } => {
                    self.end_row(&table)?;
                    self.latest.clear();
                    self.latest.extend_from_slice(bytes.get(start..end).unwrap_or_default());
                    self.latest_at = Some(at);
                    start = end;
                }
                Item::Blob { slot, options } => {
                    let writer = self.transaction()?.create_blob(options)?;
                    self.writer = Some((slot, writer));
                }
                Item::Segment { end } => {
                    self.segment(bytes.get(start..end).unwrap_or_default())?;
                    start = end;
                }
                Item::BlobEnd => self.end_blob()?,
                Item::Array { slot, contents } => {
                    let stored = contents.store(self.transaction()?);
                    let id = stored.map_err(|error| GbakError::Words(format!("an array: {error}")))?;
                    self.latest_blobs.push((slot, id));
                }
            }
        }
        if ends_table {
            self.end_row(&table)?;
            self.insert(&table)?;
        }
        Ok(())
    }

    /// The transaction that takes the next row.
    fn transaction(&mut self) -> GbakResult<&Transaction> {
        let next = match self.transaction.take() {
            Some(current) => current,
            None => self.store.begin(TransactionOptions::default(), Arc::clone(&self.cancel))?,
        };
        Ok(self.transaction.insert(next))
    }

    fn segment(&mut self, bytes: &[u8]) -> GbakResult<()> {
        let (Some((_, writer)), Some(transaction)) = (&mut self.writer, &self.transaction) else {
            return Ok(());
        };
        if writer.properties().segments.is_multiple_of(SEGMENTS_PER_LOOK) {
            self.cancel.check()?;
        }
        writer.write_segment(transaction, bytes)?;
        self.bytes = self.bytes.saturating_add(bytes.len());
        Ok(())
    }

    fn end_blob(&mut self) -> GbakResult<()> {
        if let (Some((slot, writer)), Some(transaction)) = (self.writer.take(), &self.transaction) {
            self.latest_blobs.push((slot, writer.close(transaction)?));
        }
        Ok(())
    }

    /// Makes a row of the latest one and its BLOBs.
    fn end_row(&mut self, table: &Table) -> GbakResult<()> {
        let Some(at) = self.latest_at.take() else { return Ok(()) };
        let Filler { maker, latest, latest_blobs, encoded, .. } = self;
        encoded.push_with(|out| maker.encode(table, (latest, at), latest_blobs, out))?;
        self.blobs.extend(self.latest_blobs.drain(..).map(|(_, id)| id));
        self.bytes = self.bytes.saturating_add(self.latest.len());
        self.rows += 1;
        if self.encoded.len() >= ROWS_AT_ONCE || self.is_full() { self.insert(table) } else { Ok(()) }
    }

    fn is_full(&self) -> bool {
        self.rows >= ROWS_PER_COMMIT || self.bytes >= BYTES_PER_COMMIT
    }

    /// Inserts the rows that are made, and hands the transaction on if it is full.
    fn insert(&mut self, table: &Table) -> GbakResult<()> {
        let (rows, blobs) = (std::mem::take(&mut self.encoded), std::mem::take(&mut self.blobs));
        self.transaction()?.insert_encoded(&table.layout, &rows, &blobs)?;
        // Their room is for the next ones.
        (self.encoded, self.blobs) = (rows, blobs);
        self.encoded.truncate(0);
        self.blobs.clear();
        match self.transaction.take_if(|_| self.rows >= ROWS_PER_COMMIT || self.bytes >= BYTES_PER_COMMIT) {
            Some(full) => self.commit_beside(full),
            None => Ok(()),
        }
    }

    fn commit_beside(&mut self, full: Transaction) -> GbakResult<()> {
        (self.bytes, self.rows) = (0, 0);
        let committer = match self.committer.take() {
            Some(committer) => committer,
            None => Committer::committing()?,
        };
        match committer.give(full) {
            Ok(committer) => {
                self.committer = Some(committer);
                Ok(())
            }
            Err(ended) => ended.and(Err(StoreError::Poisoned.into())),
        }
    }
}
