//! BLOBs, written and read in pieces.

use std::fmt;
use std::io::{self, Read, Seek, Write};

use farbird_engine::api::{BlobHandle, BlobParameters, TransactionHandle};
use farbird_engine::attachment::Attachment;
use farbird_engine::{SeekFrom, SegmentRead};
use farbird_types::{BlobId, Text};

use super::connection::Shared;
use super::error::Result;
use super::from_value::contents_character_set;
use super::transaction::Transaction;

/// Bytes that go to the engine, or come from it, at a time: the longest segment.
const PIECE_BYTES: usize = u16::MAX as usize;

/// Names a BLOB: what a row holds. Its contents are read with [`Transaction::open_blob`], or by asking a row for them
/// as `String` or `Vec<u8>`.
///
/// One that no row has taken when its transaction ends is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Blob(pub(super) BlobId);

impl From<BlobId> for Blob {
    fn from(id: BlobId) -> Self {
        Blob(id)
    }
}

/// Writes a BLOB; made by [`Transaction::create_blob`]. Dropped without [`BlobWriter::finish`], there is no BLOB.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::io::{Read, Seek, SeekFrom, Write};
///
/// # let connection = farbird::Database::in_memory()?.connect()?;
/// connection.execute("create table files (name varchar(50), contents blob)", ())?;
/// let transaction = connection.transaction()?;
/// let mut writer = transaction.create_blob()?;
/// std::io::copy(&mut std::io::repeat(7).take(1_000_000), &mut writer)?;
/// let blob = writer.finish()?;
/// transaction.execute("insert into files values (?, ?)", ("sevens", blob))?;
/// transaction.commit()?;
///
/// let transaction = connection.transaction()?;
/// let blob = transaction.query_one("select contents from files", ())?;
/// let mut reader = transaction.open_blob(blob)?;
/// reader.seek(SeekFrom::End(-10))?;
/// let mut last = Vec::new();
/// reader.read_to_end(&mut last)?;
/// assert_eq!(last, [7; 10]);
/// # Ok(())
/// # }
/// ```
pub struct BlobWriter<'t> {
    transaction: &'t Transaction<'t>,
    handle: BlobHandle,
    id: BlobId,
    /// What has been written and not handed on.
    pending: Vec<u8>,
    open: bool,
}

impl<'t> BlobWriter<'t> {
    pub(super) fn new(transaction: &'t Transaction<'t>) -> Result<BlobWriter<'t>> {
        let parameters = BlobParameters { stream: true, ..BlobParameters::default() };
        let (handle, id) = transaction
            .shared()
            .with(|attachment| Ok(attachment.create_blob(transaction.handle(), parameters)?))?;
        Ok(BlobWriter { transaction, handle, id, pending: Vec::new(), open: true })
    }

    /// Ends the BLOB; a row can take it now.
    ///
    /// # Errors
    /// Of writing.
    pub fn finish(mut self) -> Result<Blob> {
        self.hand_on()?;
        self.open = false;
        self.transaction.shared().with(|attachment| Ok(attachment.close_blob(self.handle)?))?;
        Ok(Blob(self.id))
    }

    fn hand_on(&mut self) -> Result<()> {
        if !self.pending.is_empty() {
            self.put(&self.pending)?;
            self.pending.clear();
        }
        Ok(())
    }

    fn put(&self, bytes: &[u8]) -> Result<()> {
        self.transaction.shared().with(|attachment| Ok(attachment.put_segment(self.handle, bytes)?))
    }
}

impl Write for BlobWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.get(..PIECE_BYTES - self.pending.len()).unwrap_or(bytes);
        if self.pending.is_empty() && taken.len() == PIECE_BYTES {
            self.put(taken)?;
        } else {
            self.pending.extend_from_slice(taken);
            if self.pending.len() == PIECE_BYTES {
                self.hand_on()?;
            }
        }
        Ok(taken.len())
    }

    /// Hands what has been written to the database, in memory. It is permanent when the transaction commits.
    fn flush(&mut self) -> io::Result<()> {
        Ok(self.hand_on()?)
    }
}

impl Drop for BlobWriter<'_> {
    fn drop(&mut self) {
        if self.open {
            self.transaction.shared().with_if_open(|attachment| {
                if let Err(error) = attachment.cancel_blob(self.handle) {
                    tracing::debug!(%error, "a BLOB was gone before it was cancelled");
                }
            });
        }
    }
}

impl fmt::Debug for BlobWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlobWriter").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Reads a BLOB; made by [`Transaction::open_blob`] or [`crate::Row::open_blob`]. Seeking reads nothing: the next read begins at the new place.
pub struct BlobReader<'t> {
    shared: &'t Shared,
    handle: BlobHandle,
    length: u64,
    /// The place of the next byte that is handed out.
    position: u64,
    /// A piece that was read, and how much of it was handed out.
    piece: Vec<u8>,
    taken: usize,
}

impl<'t> BlobReader<'t> {
    pub(super) fn new(
        shared: &'t Shared,
        transaction: TransactionHandle,
        blob: Blob,
    ) -> Result<BlobReader<'t>> {
        let (handle, length) = shared.with(|attachment| {
            let handle = attachment.open_blob_as_stream(transaction, blob.0)?;
            Ok((handle, attachment.blob_facts(handle)?.total_bytes))
        })?;
        Ok(BlobReader { shared, handle, length, position: 0, piece: Vec::new(), taken: 0 })
    }

    /// Its length in bytes.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    fn left(&self) -> &[u8] {
        self.piece.get(self.taken..).unwrap_or_default()
    }
}

impl Read for BlobReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.left().is_empty() {
            self.taken = 0;
            self.piece.clear();
            let piece = &mut self.piece;
            self.shared.with(|attachment| Ok(attachment.get_segment(self.handle, PIECE_BYTES, piece)?))?;
        }
        let count = out.len().min(self.left().len());
        out[..count].copy_from_slice(&self.piece[self.taken..self.taken + count]);
        self.taken += count;
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for BlobReader<'_> {
    /// Places behind the end become the end; a place before the beginning is an error.
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        let place = match to {
            io::SeekFrom::Start(place) => Some(place),
            io::SeekFrom::End(offset) => self.length.checked_add_signed(offset),
            io::SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        let before = || io::Error::new(io::ErrorKind::InvalidInput, "seek to before the BLOB's beginning");
        let place = place.ok_or_else(before)?.min(self.length);
        let offset = i64::try_from(place).unwrap_or(i64::MAX);
        self.shared.with(|attachment| Ok(attachment.seek_blob(self.handle, SeekFrom::Start, offset)?))?;
        self.position = place;
        self.piece.clear();
        self.taken = 0;
        Ok(place)
    }
}

impl Drop for BlobReader<'_> {
    fn drop(&mut self) {
        self.shared.with_if_open(|attachment| close(attachment, self.handle));
    }
}

impl fmt::Debug for BlobReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlobReader").field("length", &self.length).finish_non_exhaustive()
    }
}

/// All of a BLOB that a row names. If the row's transaction has ended it is read in another.
pub(super) fn contents(
    shared: &Shared,
    transaction: TransactionHandle,
    blob: Blob,
    is_text: bool,
) -> Result<Text> {
    let bytes = shared.with(|attachment| {
        if attachment.has_transaction(transaction) {
            return read_all(attachment, transaction, blob);
        }
        let transaction = attachment.start_transaction(Default::default())?;
        let bytes = read_all(attachment, transaction, blob);
        attachment.rollback(transaction)?;
        bytes
    })?;
    Ok(Text::new(bytes, contents_character_set(is_text)))
}

fn read_all(attachment: &mut Attachment, transaction: TransactionHandle, blob: Blob) -> Result<Vec<u8>> {
    let handle = attachment.open_blob_as_stream(transaction, blob.0)?;
    let mut bytes = Vec::new();
    let read = loop {
        match attachment.get_segment(handle, usize::MAX, &mut bytes) {
            Ok(SegmentRead::End) => break Ok(()),
            Ok(_) => {}
            Err(error) => break Err(error),
        }
    };
    close(attachment, handle);
    read?;
    Ok(bytes)
}

fn close(attachment: &mut Attachment, handle: BlobHandle) {
    if let Err(error) = attachment.close_blob(handle) {
        tracing::debug!(%error, "a BLOB was gone before it was closed");
    }
}
