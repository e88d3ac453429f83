//! BLOBs: written in segments that are not waited for, read with the next piece already on its way.

use std::collections::VecDeque;
use std::io::{Read, SeekFrom};

use farbird_types::{BlobId, Result};
use farbird_wire::clumplet::{ClumpletWriter, bpb};
use farbird_wire::packet::{BufferLength, Information, OpenBlob, Request, Response, Segment};
use farbird_wire::protocol::{Handle, segment_state};

use crate::connection::Connection;
use crate::core::{
    AskedBlob, Found, Kind, Object, ObjectRef, Opened, PIECE_BYTES, Question, Shared, TrailId, get_segment,
};
use crate::lent::Lent;
use crate::transaction::Transaction;

/// Bytes of one segment that we write.
const SEGMENT_BYTES: usize = 32_000;
/// As [`PIECE_BYTES`], of Firebird's client.
pub(crate) const FIREBIRD_PIECE_BYTES: u16 = 16_384;
/// Pieces under way, at least, when a BLOB is longer than those that came with its opening.
const PIECES_MIN: usize = 4;
/// What Firebird's client asks about a BLOB that it opens: numbers, longest and total length of segments, type, end.
const BLOB_ITEMS: [u8; 5] = [4, 5, 6, 7, 1];
pub(crate) const BLOB_INFORMATION_BYTES: BufferLength = BufferLength(128);

/// How a BLOB is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlobOptions {
    /// A stream, in which readers may seek, rather than segments.
    pub stream: bool,
}

impl BlobOptions {
    fn to_bpb(self) -> Vec<u8> {
        if !self.stream {
            return Vec::new();
        }
        let mut items = ClumpletWriter::bpb();
        items.bytes(bpb::TYPE, &[bpb::TYPE_STREAM]);
        items.into_bytes()
    }
}

/// Segments under way while a BLOB is written.
const PUTS_MAX: usize = 64;

impl Connection {
    /// Creates a BLOB to be written piece by piece; its id is given by [`BlobWriter::finish`].
    ///
    /// # Round trips
    /// None; finishing takes one. With [`Tuning::predict_handles`] off the first segment, or finishing, takes one more.
    ///
    /// [`Tuning::predict_handles`]: crate::Tuning::predict_handles
    ///
    /// # Errors
    /// The connection is lost; what the server says comes with [`BlobWriter::finish`].
    pub async fn create_blob(&self, transaction: &Transaction, options: BlobOptions) -> Result<BlobWriter> {
        let open = OpenBlob {
            bpb: options.to_bpb(),
            transaction: transaction.handle(&self.shared).await?,
            blob: BlobId::default(),
        };
        let within = Some(transaction.object());
        let (object, created) = self.shared.ask_for(Kind::NewBlob, within, &Request::CreateBlob2(open))?;
        let segments = Segments {
            shared: self.shared.clone(),
            object,
            created,
            pending: Vec::new(),
            puts: VecDeque::new(),
        };
        Ok(BlobWriter { segments: Lent::Here(segments) })
    }

    /// Writes a BLOB whole. Give the id to a parameter as [`farbird_types::Value::Blob`] in the same transaction.
    ///
    /// # Round trips
    /// One up to two megabytes, then one for about every two more.
    ///
    /// # Errors
    /// What the server says.
    pub async fn write_blob(&self, transaction: &Transaction, contents: &[u8]) -> Result<BlobId> {
        let mut writer = self.create_blob(transaction, BlobOptions::default()).await?;
        writer.put(contents).await?;
        writer.finish().await
    }

    /// Opens a BLOB to be read piece by piece.
    ///
    /// # Round trips
    /// None if it came with its row, or was asked for ahead because the BLOBs of rows before were read: see
    /// [`Tuning::blob_ahead`]; else one, which brings the first 128 KiB, and BLOBs of the next rows.
    ///
    /// [`Tuning::blob_ahead`]: crate::Tuning::blob_ahead
    ///
    /// # Errors
    /// What the server says.
    pub async fn open_blob(&self, transaction: &Transaction, id: BlobId) -> Result<BlobReader> {
        let handle = transaction.handle(&self.shared).await?;
        let asked = match self.shared.lock().take_blob(handle, id)? {
            Found::Whole(segments) => {
                let mut data = Vec::new();
                append_segments(&segments, &mut data);
                return Ok(BlobReader::of(Contents::new(data, None)));
            }
            Found::Ahead(Opened { object, opened, pieces }) => {
                Some(AskedBlob { object, opened, pieces: pieces.to_vec() })
            }
            Found::Nowhere => None,
        };
        let asked = match asked {
            Some(asked) => asked,
            None => self.ask_blob(transaction.object(), handle, id)?,
        };
        let transaction_object = ObjectRef::clone(transaction.object());
        let mut source = Source {
            origin: Origin { shared: self.shared.clone(), transaction: transaction_object, id },
            object: self.shared.object(asked.object),
            pieces: asked.pieces.into_iter().map(|ticket| self.shared.question(ticket)).collect(),
            window: 0,
            base: 0,
            received: 0,
            skip: 0,
        };
        let opened = self.shared.question(asked.opened);
        transaction.explain(opened.response().await)?;
        if source.pieces.is_empty() {
            source.ask(1).await?;
        }
        Ok(BlobReader::of(Contents::new(Vec::new(), Some(source))))
    }

    /// Opens a BLOB, with as much of it as may be asked for in the same flight.
    fn ask_blob(&self, transaction: &ObjectRef, handle: Handle, id: BlobId) -> Result<AskedBlob> {
        let tuning = self.shared.tuning();
        let mut core = self.shared.lock();
        if tuning.reads_blobs_ahead() {
            return core.ask_blob(handle, transaction.id(), id, &[PIECE_BYTES; 2]);
        }
        let mut asked = core.ask_blob(handle, transaction.id(), id, &[])?;
        if tuning.joins_blob_open() {
            // Firebird's client asks what nobody wants to know as well.
            core.send(&Request::BlobInformation(Information {
                object: Handle::LATEST,
                incarnation: 0,
                items: BLOB_ITEMS.to_vec(),
                buffer_length: BLOB_INFORMATION_BYTES,
            }))?;
            asked.pieces.push(core.ask(&get_segment(Handle::LATEST, FIREBIRD_PIECE_BYTES))?);
        }
        Ok(asked)
    }

    /// Reads several BLOBs to their ends, in this order: for programs that have collected ids first.
    ///
    /// # Round trips
    /// At most one for each 256 of them, or for as many as [`Tuning::blob_ahead_bytes`] hold; one more for each that is longer than
    /// 128 KiB, as [`Connection::read_blob`]. Without [`Tuning::blob_ahead`] those of each BLOB.
    ///
    /// [`Tuning::blob_ahead`]: crate::Tuning::blob_ahead
    /// [`Tuning::blob_ahead_bytes`]: crate::Tuning::blob_ahead_bytes
    ///
    /// # Errors
    /// What the server says of the first that it does not give.
    pub async fn read_blobs(&self, transaction: &Transaction, ids: &[BlobId]) -> Result<Vec<Vec<u8>>> {
        let handle = transaction.handle(&self.shared).await?;
        let list = self.shared.lock().begin_list(handle, transaction.object().id(), ids);
        let _list = List { shared: &self.shared, list };
        let mut contents = Vec::with_capacity(ids.len());
        for id in ids {
            contents.push(self.read_blob(transaction, *id).await?);
        }
        Ok(contents)
    }

    /// Reads a BLOB to its end.
    ///
    /// # Round trips
    /// As [`Connection::open_blob`]; beyond 128 KiB one for the next 256 KiB, and so on, twice as much each time.
    ///
    /// # Errors
    /// What the server says.
    pub async fn read_blob(&self, transaction: &Transaction, id: BlobId) -> Result<Vec<u8>> {
        let mut reader = self.open_blob(transaction, id).await?;
        let mut contents = Vec::new();
        reader.read_to_end(&mut contents).await?;
        Ok(contents)
    }
}

/// BLOBs that are asked for ahead as long as this lives.
struct List<'s> {
    shared: &'s Shared,
    list: Option<TrailId>,
}

impl Drop for List<'_> {
    fn drop(&mut self) {
        if let Some(list) = self.list {
            self.shared.lock().end_list(list);
        }
    }
}

/// A BLOB being written: piece by piece with [`BlobWriter::put`], or (feature `tokio`) as an `AsyncWrite` of tokio. Dropped
/// before [`BlobWriter::finish`] it is thrown away.
#[derive(Debug)]
pub struct BlobWriter {
    pub(crate) segments: Lent<Segments>,
}

impl BlobWriter {
    /// Adds bytes.
    ///
    /// # Round trips
    /// None for the first two megabytes, then one for about every two more.
    ///
    /// # Cancel safety
    /// None: when the future is dropped, a part of the bytes may have been added.
    ///
    /// # Errors
    /// What the server said of earlier ones.
    pub async fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.segments.back().await?.put(bytes).await
    }

    /// Completes the BLOB; gives its id.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub async fn finish(self) -> Result<BlobId> {
        self.segments.into_inner().await?.finish().await
    }
}

/// What is written of a BLOB.
#[derive(Debug)]
pub(crate) struct Segments {
    shared: Shared,
    object: Object,
    /// Its answer has the id.
    created: Question,
    /// Bytes that are no whole segment yet.
    pending: Vec<u8>,
    /// Segments that are not answered yet.
    puts: VecDeque<Question>,
}

impl Segments {
    async fn put(&mut self, mut bytes: &[u8]) -> Result<()> {
        loop {
            let taken = self.take(bytes);
            bytes = bytes.get(taken..).unwrap_or_default();
            if !self.is_full() {
                return Ok(());
            }
            self.send_segment().await?;
        }
    }

    /// Takes as many of the bytes as the segment that is being filled has room for; gives their number.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(SEGMENT_BYTES - self.pending.len());
        self.pending.extend_from_slice(bytes.get(..taken).unwrap_or_default());
        taken
    }

    /// Whether the segment has to leave before more can be taken.
    pub(crate) fn is_full(&self) -> bool {
        self.pending.len() >= SEGMENT_BYTES
    }

    pub(crate) async fn send_segment(&mut self) -> Result<()> {
        let blob = self.object.handle().await?;
        let data = std::mem::take(&mut self.pending);
        let length = u16::try_from(data.len()).unwrap_or(u16::MAX);
        let request = Request::PutSegment(Segment { blob, length, data });
        self.puts.push_back(self.shared.ask(&request)?);
        self.shared.room().await?;
        self.wait_until(PUTS_MAX).await
    }

    async fn wait_until(&mut self, most: usize) -> Result<()> {
        if self.puts.len() > most {
            // While the oldest answer is waited for, the newest requests are on their way as well.
            self.shared.lock().flush();
        }
        while self.puts.len() > most
            && let Some(put) = self.puts.pop_front()
        {
            put.response().await.map_err(|error| self.object.explain(error))?;
        }
        Ok(())
    }

    async fn finish(mut self) -> Result<BlobId> {
        if !self.pending.is_empty() {
            self.send_segment().await?;
        }
        let close = Request::CloseBlob(self.object.handle().await?);
        let closed = self.object.ask_to_end(&close)?;
        self.wait_until(0).await?;
        closed.response().await.map_err(|error| self.object.explain(error))?;
        Ok(self.created.response().await?.blob)
    }
}

/// A BLOB being read: with [`BlobReader::read`] and [`BlobReader::seek`], or (feature `tokio`) as an `AsyncRead` of tokio.
#[derive(Debug)]
pub struct BlobReader {
    pub(crate) contents: Lent<Contents>,
}

/// What is read of a BLOB.
#[derive(Debug)]
pub(crate) struct Contents {
    /// Where `data` begins in the BLOB.
    pub(crate) start: u64,
    pub(crate) data: Vec<u8>,
    /// Bytes of `data` already given out.
    pub(crate) taken: usize,
    /// Where more comes from; none at the end, or for a BLOB that came with its row.
    pub(crate) source: Option<Source>,
    /// What it takes to open it again; none for one that came with its row.
    pub(crate) origin: Option<Origin>,
}

/// A BLOB that the server has.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    pub(crate) shared: Shared,
    pub(crate) transaction: ObjectRef,
    pub(crate) id: BlobId,
}

/// An open BLOB on the server.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) origin: Origin,
    pub(crate) object: Object,
    /// Pieces under way.
    pub(crate) pieces: VecDeque<Question>,
    /// How many are asked for at a time; 0 before more than the first ones were needed.
    pub(crate) window: usize,
    /// Where in the BLOB it is read from since it was opened.
    pub(crate) base: usize,
    /// Bytes of contents that have come since it was opened.
    pub(crate) received: usize,
    /// How many of those to come are not wanted: they have come before, or stand before what is wanted.
    pub(crate) skip: usize,
}

impl Source {
    /// Sees to it that pieces are on their way: at first those that came with the opening, then twice as many with each
    /// flight.
    async fn read_ahead(&mut self) -> Result<()> {
        let is_ahead = self.origin.shared.tuning().reads_blobs_ahead();
        let least = if is_ahead { self.window / 2 } else { 0 };
        if self.pieces.len() > least {
            return Ok(());
        }
        let most = self.origin.shared.tuning().blob_ahead_bytes / usize::from(PIECE_BYTES);
        self.window = if is_ahead { (self.window * 2).min(most).max(PIECES_MIN) } else { 1 };
        let is_waiting = self.pieces.is_empty();
        self.ask(self.window - self.pieces.len().min(self.window)).await?;
        if !is_waiting {
            self.origin.shared.lock().flush();
        }
        Ok(())
    }

    /// Opens it again, to go on behind what has come.
    async fn open_again(&mut self) -> Result<()> {
        let transaction = self.origin.transaction.handle().await?;
        self.pieces.clear();
        (self.window, self.skip) = (0, self.base + self.skip + self.received);
        (self.base, self.received) = (0, 0);
        let asked = self.origin.shared.lock().ask_blob(
            transaction,
            self.origin.transaction.id(),
            self.origin.id,
            &[],
        )?;
        self.object = self.origin.shared.object(asked.object);
        self.origin.shared.question(asked.opened).response().await?;
        self.read_ahead().await
    }

    /// Takes the contents out of a piece.
    fn take(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        append_segments(piece, out);
        self.received += out.len();
        let again = self.skip.min(out.len());
        out.drain(..again);
        self.skip -= again;
    }

    async fn ask(&mut self, pieces: usize) -> Result<()> {
        let handle = self.object.handle().await?;
        let is_ahead = self.origin.shared.tuning().reads_blobs_ahead();
        let length = if is_ahead { PIECE_BYTES } else { FIREBIRD_PIECE_BYTES };
        for _ in 0..pieces {
            self.pieces.push_back(self.origin.shared.ask(&get_segment(handle, length))?);
        }
        Ok(())
    }
}

impl Contents {
    fn new(data: Vec<u8>, source: Option<Source>) -> Contents {
        let origin = source.as_ref().map(|source| source.origin.clone());
        Contents { start: 0, data, taken: 0, source, origin }
    }

    /// Bytes that are here.
    fn unread(&self) -> &[u8] {
        self.data.get(self.taken..).unwrap_or_default()
    }

    /// Whether it takes nobody to give the next bytes, or to know that there are none.
    #[cfg(feature = "tokio")]
    pub(crate) fn is_ready(&self) -> bool {
        !self.unread().is_empty() || self.source.is_none()
    }

    /// Gives out bytes that are here; their number.
    pub(crate) fn give(&mut self, out: &mut [u8]) -> usize {
        let count = self.unread().read(out).unwrap_or_default();
        self.taken += count;
        count
    }

    /// Sees to it that there are unread bytes; false at the end.
    pub(crate) async fn fill(&mut self) -> Result<bool> {
        while self.unread().is_empty() {
            let Some(source) = &mut self.source else { return Ok(false) };
            if source.pieces.is_empty() {
                source.read_ahead().await?;
            }
            let Some(piece) = source.pieces.front_mut() else { return Ok(false) };
            let reply = piece.next().await?;
            let ticket = piece.ticket();
            source.pieces.pop_front();
            let is_disturbed = source.origin.shared.lock().is_disturbed(source.object.id(), ticket);
            if is_disturbed {
                source.open_again().await?;
                continue;
            }
            let Response { object, data, .. } = source.origin.shared.response_of(reply)?;
            self.start += self.data.len() as u64;
            self.data.clear();
            self.taken = 0;
            source.take(&data, &mut self.data);
            if object.0 == segment_state::END_OF_BLOB {
                // What was to be passed over and is not there: the place is the end.
                self.start -= source.skip as u64;
                // What is under way behind the end is passed over, and the BLOB is closed with the next flight.
                self.source = None;
            } else if !source.pieces.is_empty() {
                source.read_ahead().await?;
            }
        }
        Ok(true)
    }
}

impl BlobReader {
    fn of(contents: Contents) -> BlobReader {
        BlobReader { contents: Lent::Here(contents) }
    }

    /// Reads into `out`; gives the number of bytes, 0 at the end.
    ///
    /// # Round trips
    /// None while pieces read ahead are there; one for about every four pieces of 64 KiB.
    ///
    /// # Cancel safety
    /// A future that is dropped loses nothing.
    ///
    /// # Errors
    /// What the server says.
    pub async fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        let contents = self.contents.back().await?;
        contents.fill().await?;
        Ok(contents.give(out))
    }

    /// Goes to another place of the BLOB, from which is read on; gives the place, in bytes from the start. What lies beyond the
    /// end is the end.
    ///
    /// # Round trips
    /// None within what is here or under way, and for BLOBs that came whole. Else one, which brings what is there; in a
    /// BLOB of segments (see [`BlobOptions::stream`]) servers cannot go to a place, and it is read from its beginning. One more
    /// to go by the end of a BLOB that is not here.
    ///
    /// # Cancel safety
    /// When the future is dropped, it may have gone or not.
    ///
    /// # Errors
    /// A place before the start; what the server says.
    pub async fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        self.contents.back().await?.seek(to).await
    }

    /// Appends everything up to the end to `out`.
    ///
    /// # Round trips
    /// As [`BlobReader::read`].
    ///
    /// # Errors
    /// What the server says.
    pub async fn read_to_end(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let contents = self.contents.back().await?;
        while contents.fill().await? {
            out.extend_from_slice(contents.unread());
            contents.taken = contents.data.len();
        }
        Ok(())
    }
}

/// Appends what segments behind their lengths hold together. A segment that is cut short ends the data.
fn append_segments(mut data: &[u8], out: &mut Vec<u8>) {
    while let [low, high, rest @ ..] = data {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (segment, rest) = rest.split_at(length);
        out.extend_from_slice(segment);
        data = rest;
    }
}
