//! BLOBs: written in segments that are not waited for, read with the next piece already on its way.

use std::collections::VecDeque;
use std::io::Read;

use farbird_types::{BlobId, Result};
use farbird_wire::clumplet::{ClumpletWriter, bpb};
use farbird_wire::packet::{OpenBlob, Request, Response, Segment};
use farbird_wire::protocol::{Handle, segment_state};

use crate::connection::Connection;
use crate::core::{Kind, Object, Question, Shared};
use crate::transaction::Transaction;

/// Bytes of one segment that we write.
const SEGMENT_BYTES: usize = 32_000;
/// Bytes asked for at a time, of segments with their lengths.
const PIECE_BYTES: u16 = 65_535;
/// Pieces under way while a BLOB is read.
const PIECES_AHEAD: usize = 4;

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
        Ok(BlobWriter {
            shared: self.shared.clone(),
            object,
            created,
            pending: Vec::new(),
            puts: VecDeque::new(),
        })
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
    /// None if it came with its row; else one, which brings the first pieces.
    ///
    /// # Errors
    /// What the server says.
    pub async fn open_blob(&self, transaction: &Transaction, id: BlobId) -> Result<BlobReader> {
        let handle = transaction.handle(&self.shared).await?;
        let kept = self.shared.lock().take_blob(handle, id);
        if let Some(segments) = kept {
            let mut data = Vec::new();
            append_segments(&segments, &mut data);
            return Ok(BlobReader { data, taken: 0, source: None });
        }
        let open = OpenBlob { bpb: Vec::new(), transaction: handle, blob: id };
        if !self.shared.tuning().joins_blob_open() {
            let request = Request::OpenBlob2(open);
            let (object, opened) =
                self.shared.ask_for(Kind::OpenBlob, Some(transaction.object()), &request)?;
            transaction.explain(opened.response().await)?;
            let first = self.shared.ask(&get_segment(object.handle().await?))?;
            let source = Source { shared: self.shared.clone(), object, pieces: VecDeque::from([first]) };
            return Ok(BlobReader { data: Vec::new(), taken: 0, source: Some(source) });
        }
        let (object, opened, first) = {
            // Nothing may come between the two: the second names what the first opened.
            let mut core = self.shared.lock();
            let opened = core.ask(&Request::OpenBlob2(open))?;
            let id = core.allocate(Kind::OpenBlob, Some(transaction.object().id()), opened);
            let first = core.ask(&get_segment(Handle::LATEST));
            drop(core);
            (self.shared.object(id), self.shared.question(opened), self.shared.question(first?))
        };
        transaction.explain(opened.response().await)?;
        let source = Source { shared: self.shared.clone(), object, pieces: VecDeque::from([first]) };
        Ok(BlobReader { data: Vec::new(), taken: 0, source: Some(source) })
    }

    /// Reads a BLOB to its end.
    ///
    /// # Round trips
    /// As [`Connection::open_blob`], and one for about every four pieces of 64 KiB.
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

fn get_segment(blob: Handle) -> Request {
    Request::GetSegment(Segment { blob, length: PIECE_BYTES, data: Vec::new() })
}

/// A BLOB being written. Dropped before [`BlobWriter::finish`] it is thrown away.
#[derive(Debug)]
pub struct BlobWriter {
    shared: Shared,
    object: Object,
    /// Its answer has the id.
    created: Question,
    /// Bytes that are no whole segment yet.
    pending: Vec<u8>,
    /// Segments that are not answered yet.
    puts: VecDeque<Question>,
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
    pub async fn put(&mut self, mut bytes: &[u8]) -> Result<()> {
        while self.pending.len() + bytes.len() >= SEGMENT_BYTES {
            let (head, rest) = bytes.split_at(SEGMENT_BYTES - self.pending.len());
            self.pending.extend_from_slice(head);
            self.send_segment().await?;
            bytes = rest;
        }
        self.pending.extend_from_slice(bytes);
        Ok(())
    }

    async fn send_segment(&mut self) -> Result<()> {
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

    /// Completes the BLOB; gives its id.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub async fn finish(mut self) -> Result<BlobId> {
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

/// A BLOB being read.
#[derive(Debug)]
pub struct BlobReader {
    data: Vec<u8>,
    /// Bytes of `data` already given out.
    taken: usize,
    /// Where more comes from; none at the end, or for a BLOB that came with its row.
    source: Option<Source>,
}

/// An open BLOB on the server.
#[derive(Debug)]
struct Source {
    shared: Shared,
    object: Object,
    /// Pieces under way.
    pieces: VecDeque<Question>,
}

impl Source {
    /// Sees to it that pieces are on their way.
    async fn read_ahead(&mut self) -> Result<()> {
        if self.pieces.len() > PIECES_AHEAD / 2 {
            return Ok(());
        }
        let handle = self.object.handle().await?;
        while self.pieces.len() < PIECES_AHEAD {
            self.pieces.push_back(self.shared.ask(&get_segment(handle))?);
        }
        self.shared.lock().flush();
        Ok(())
    }
}

impl BlobReader {
    fn unread(&self) -> &[u8] {
        self.data.get(self.taken..).unwrap_or_default()
    }

    /// Sees to it that there are unread bytes; false at the end.
    async fn fill(&mut self) -> Result<bool> {
        while self.unread().is_empty() {
            let Some(source) = &mut self.source else { return Ok(false) };
            let Some(piece) = source.pieces.front_mut() else { return Ok(false) };
            let reply = piece.next().await?;
            source.pieces.pop_front();
            let Response { object, data, .. } = source.shared.response_of(reply)?;
            self.data.clear();
            self.taken = 0;
            append_segments(&data, &mut self.data);
            if object.0 == segment_state::END_OF_BLOB {
                // What is under way behind the end is passed over, and the BLOB is closed with the next flight.
                self.source = None;
            } else {
                source.read_ahead().await?;
            }
        }
        Ok(true)
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
        if !self.fill().await? {
            return Ok(0);
        }
        let count = self.unread().read(out).unwrap_or_default();
        self.taken += count;
        Ok(count)
    }

    /// Appends everything up to the end to `out`.
    ///
    /// # Round trips
    /// As [`BlobReader::read`].
    ///
    /// # Errors
    /// What the server says.
    pub async fn read_to_end(&mut self, out: &mut Vec<u8>) -> Result<()> {
        while self.fill().await? {
            out.extend_from_slice(self.unread());
            self.taken = self.data.len();
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
