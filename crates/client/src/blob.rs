//! BLOBs: written in segments that are not waited for, read with the next piece already on its way.

use std::collections::VecDeque;
use std::io::{Read, Write};

use farbird_types::{BlobId, Error, Result};
use farbird_wire::clumplet::{ClumpletWriter, bpb};
use farbird_wire::packet::{OpenBlob, Request, Response, Segment};
use farbird_wire::protocol::{Handle, segment_state};

use crate::connection::Connection;
use crate::conversation::Ticket;
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

impl Connection {
    /// Creates a BLOB to be written through [`std::io::Write`]; its id is given by [`BlobWriter::finish`].
    ///
    /// # Round trips
    /// One; writing waits for nothing, and finishing takes one.
    ///
    /// # Errors
    /// What the server says.
    pub fn create_blob(&mut self, transaction: &Transaction, options: BlobOptions) -> Result<BlobWriter<'_>> {
        let open =
            OpenBlob { bpb: options.to_bpb(), transaction: transaction.handle(), blob: BlobId::default() };
        let response = self.ask(&Request::CreateBlob2(open))?;
        Ok(BlobWriter {
            connection: self,
            handle: response.object,
            id: response.blob,
            pending: Vec::new(),
            puts: VecDeque::new(),
            is_open: true,
        })
    }

    /// Writes a BLOB whole. Give the id to a parameter as [`farbird_types::Value::Blob`] in the same transaction.
    ///
    /// # Round trips
    /// Two.
    ///
    /// # Errors
    /// What the server says.
    pub fn write_blob(&mut self, transaction: &Transaction, contents: &[u8]) -> Result<BlobId> {
        let mut writer = self.create_blob(transaction, BlobOptions::default())?;
        writer.put(contents)?;
        writer.finish()
    }

    /// Opens a BLOB to be read through [`std::io::Read`].
    ///
    /// # Round trips
    /// None if it came with its row; else one, which brings the first pieces.
    ///
    /// # Errors
    /// What the server says.
    pub fn open_blob(&mut self, transaction: &Transaction, id: BlobId) -> Result<BlobReader<'_>> {
        let mut reader = BlobReader {
            handle: Handle::NONE,
            pieces: VecDeque::new(),
            data: Vec::new(),
            taken: 0,
            at_end: true,
            connection: self,
        };
        if let Some(segments) = reader.connection.inline_blobs.take(transaction.handle(), id) {
            append_segments(&segments, &mut reader.data);
            return Ok(reader);
        }
        let connection = &mut *reader.connection;
        connection.send_releases()?;
        let open = OpenBlob { bpb: Vec::new(), transaction: transaction.handle(), blob: id };
        let open = connection.link.send(&Request::OpenBlob2(open))?;
        let first = connection.link.send(&get_segment(Handle::LATEST))?;
        match connection.link.response(open) {
            Ok(response) => reader.handle = response.object,
            Err(error) => {
                connection.link.abandon(first);
                return Err(error);
            }
        }
        reader.pieces.push_back(first);
        reader.at_end = false;
        Ok(reader)
    }

    /// Reads a BLOB to its end.
    ///
    /// # Round trips
    /// As [`Connection::open_blob`], and one for about every four pieces of 64 KiB.
    ///
    /// # Errors
    /// What the server says.
    pub fn read_blob(&mut self, transaction: &Transaction, id: BlobId) -> Result<Vec<u8>> {
        let mut reader = self.open_blob(transaction, id)?;
        let mut contents = Vec::new();
        while reader.fill()? {
            contents.extend_from_slice(reader.unread());
            reader.taken = reader.data.len();
        }
        Ok(contents)
    }
}

fn get_segment(blob: Handle) -> Request {
    Request::GetSegment(Segment { blob, length: PIECE_BYTES, data: Vec::new() })
}

/// A BLOB being written. Dropped before [`BlobWriter::finish`] it is thrown away.
#[derive(Debug)]
pub struct BlobWriter<'c> {
    connection: &'c mut Connection,
    handle: Handle,
    id: BlobId,
    /// Bytes that are no whole segment yet.
    pending: Vec<u8>,
    /// Segments that are not answered yet.
    puts: VecDeque<Ticket>,
    is_open: bool,
}

/// Segments under way while a BLOB is written.
const PUTS_MAX: usize = 64;

impl BlobWriter<'_> {
    /// Adds bytes.
    ///
    /// # Errors
    /// What the server said of earlier ones.
    pub fn put(&mut self, mut bytes: &[u8]) -> Result<()> {
        while self.pending.len() + bytes.len() >= SEGMENT_BYTES {
            let (head, rest) = bytes.split_at(SEGMENT_BYTES - self.pending.len());
            self.pending.extend_from_slice(head);
            self.send_segment()?;
            bytes = rest;
        }
        self.pending.extend_from_slice(bytes);
        Ok(())
    }

    fn send_segment(&mut self) -> Result<()> {
        let data = std::mem::take(&mut self.pending);
        let length = u16::try_from(data.len()).unwrap_or(u16::MAX);
        let request = Request::PutSegment(Segment { blob: self.handle, length, data });
        let ticket = self.connection.link.send(&request)?;
        self.puts.push_back(ticket);
        self.wait_until(PUTS_MAX)
    }

    fn wait_until(&mut self, most: usize) -> Result<()> {
        while self.puts.len() > most
            && let Some(ticket) = self.puts.pop_front()
        {
            self.connection.link.response(ticket)?;
        }
        Ok(())
    }

    /// Completes the BLOB; gives its id.
    ///
    /// # Errors
    /// What the server says.
    pub fn finish(mut self) -> Result<BlobId> {
        if !self.pending.is_empty() {
            self.send_segment()?;
        }
        let close = self.connection.link.send(&Request::CloseBlob(self.handle))?;
        self.wait_until(0)?;
        self.connection.link.response(close)?;
        self.is_open = false;
        Ok(self.id)
    }
}

impl Write for BlobWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.put(bytes).map_err(io_error)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.connection.link.flush().map_err(io_error)
    }
}

impl Drop for BlobWriter<'_> {
    fn drop(&mut self) {
        for ticket in self.puts.drain(..) {
            self.connection.releases.abandon(ticket);
        }
        if self.is_open {
            self.connection.releases.add(Request::CancelBlob(self.handle));
        }
    }
}

/// A BLOB being read.
#[derive(Debug)]
pub struct BlobReader<'c> {
    connection: &'c mut Connection,
    /// Zero for a BLOB that came with its row.
    handle: Handle,
    /// Pieces under way.
    pieces: VecDeque<Ticket>,
    data: Vec<u8>,
    /// Bytes of `data` already given out.
    taken: usize,
    at_end: bool,
}

impl BlobReader<'_> {
    fn unread(&self) -> &[u8] {
        self.data.get(self.taken..).unwrap_or_default()
    }

    /// Sees to it that there are unread bytes; false at the end.
    fn fill(&mut self) -> Result<bool> {
        while self.unread().is_empty() {
            if self.at_end {
                return Ok(false);
            }
            let Some(ticket) = self.pieces.pop_front() else { return Ok(false) };
            let Response { object, data, .. } = self.connection.link.response(ticket)?;
            self.data.clear();
            self.taken = 0;
            append_segments(&data, &mut self.data);
            self.at_end = object.0 == segment_state::END_OF_BLOB;
            self.read_ahead()?;
        }
        Ok(true)
    }

    /// Sees to it that pieces are on their way. Short BLOBs have ended by now and ask for none.
    fn read_ahead(&mut self) -> Result<()> {
        if self.at_end || self.pieces.len() > PIECES_AHEAD / 2 {
            return Ok(());
        }
        while self.pieces.len() < PIECES_AHEAD {
            let ticket = self.connection.link.send(&get_segment(self.handle))?;
            self.pieces.push_back(ticket);
        }
        self.connection.link.flush()
    }
}

impl Read for BlobReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if !self.fill().map_err(io_error)? {
            return Ok(0);
        }
        let count = self.unread().read(out)?;
        self.taken += count;
        Ok(count)
    }
}

impl Drop for BlobReader<'_> {
    fn drop(&mut self) {
        for ticket in self.pieces.drain(..) {
            self.connection.releases.abandon(ticket);
        }
        if self.handle != Handle::NONE {
            self.connection.releases.add(Request::CloseBlob(self.handle));
        }
    }
}

fn io_error(error: Error) -> std::io::Error {
    std::io::Error::other(error)
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
