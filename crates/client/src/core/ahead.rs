//! Asking ahead: the rows and BLOBs that a program is going to want go with the flights that leave.
//!
//! A flight leaves because somebody waits, or because half of what was asked ahead has been used. Whatever it leaves for,
//! everything else that has been used by a quarter is asked for along with it: flights are few.

use farbird_types::{BlobId, Result, Value};
use farbird_wire::message::RowRun;
use farbird_wire::packet::{InlineBlob, OpenBlob, Output, Reply, Request, Segment};
use farbird_wire::protocol::{FETCH_END_OF_CURSOR, Handle};

use super::blob_cache::{Found, Limits, Occasion, Opened, TrailId};
use super::conversation::{Received, Ticket};
use super::reading::{Fetching, Progress, ReadingId, Source};
use super::{Core, Kind, ObjectId, ObjectRef, Shared, answered};
use crate::error;
use crate::tuning::Tuning;

/// Bytes asked for at a time, of segments with their lengths.
pub(crate) const PIECE_BYTES: u16 = 65_535;

/// How much is kept of BLOBs that nobody has read yet.
pub(super) fn limits(tuning: &Tuning) -> Limits {
    let ahead = if tuning.reads_blobs_ahead() { tuning.blob_ahead_bytes } else { 0 };
    Limits { inline: tuning.blob_ahead_bytes, ahead }
}

/// The request for the next piece of a BLOB.
pub(crate) fn get_segment(blob: Handle, length: u16) -> Request {
    Request::GetSegment(Segment { blob, length, data: Vec::new() })
}

impl Core {
    /// A flight leaves: what has been used is asked for along with it.
    pub(super) fn fill_flight(&mut self) -> Result<()> {
        self.ask_rows_ahead(true, None)?;
        self.ask_blobs_ahead(Occasion::Leaving).map(|_| ())
    }

    /// Somebody has what it takes to cancel: queries begin so that a cancel finds them.
    pub(crate) fn expect_cancels(&mut self) {
        self.readings.expect_cancels();
    }

    fn ask_rows_ahead(&mut self, is_leaving: bool, only: Option<ReadingId>) -> Result<bool> {
        let most = self.tuning.read_ahead_bytes;
        let blobs = &self.blobs;
        let wanted = self.readings.wanted(&self.pace, most, is_leaving, only, |trail| blobs.is_read(trail));
        for fetch in &wanted {
            let ticket = self.ask(&fetch.request)?;
            self.readings.asked(fetch.reading, ticket, fetch.rows);
        }
        Ok(!wanted.is_empty())
    }

    fn ask_blobs_ahead(&mut self, occasion: Occasion) -> Result<bool> {
        let wanted = self.blobs.wanted(&self.pace, occasion);
        for blob in &wanted {
            let opened = self.ask_blob(blob.transaction, blob.within, blob.id, &[PIECE_BYTES; 2])?;
            if let [first, second] = opened.pieces[..] {
                let (object, opened) = (opened.object, opened.opened);
                self.blobs.opened(*blob, Opened { object, opened, pieces: [first, second] });
            }
        }
        Ok(!wanted.is_empty())
    }

    /// Opens a BLOB and asks for its first pieces.
    pub(crate) fn ask_blob(
        &mut self,
        transaction: Handle,
        within: ObjectId,
        id: BlobId,
        pieces: &[u16],
    ) -> Result<AskedBlob> {
        // Nothing may come between them: the others name what the first opened.
        let open = OpenBlob { bpb: Vec::new(), transaction, blob: id };
        let opened = self.ask(&Request::OpenBlob2(open))?;
        let object = self.allocate(Kind::OpenBlob, Some(within), opened);
        if let Some(statement) = self.blobs.statement_of(transaction, id) {
            self.accounts.reads(object, statement, opened, self.request_bytes);
        }
        let pieces = pieces.iter().map(|length| self.ask(&get_segment(Handle::LATEST, *length)));
        Ok(AskedBlob { object, opened, pieces: pieces.collect::<Result<_>>()? })
    }

    /// Something has come: keeps account of what is under way.
    ///
    /// # Errors
    /// The connection has failed.
    pub(super) fn note_arrival(&mut self, ticket: Ticket, received: &Received, bytes: usize) -> Result<()> {
        self.pace.arrived(ticket, bytes, self.now);
        match received {
            Received::Rows(run) => {
                let trails = self.readings.arrived(ticket, run.len(), bytes).to_vec();
                self.note_blobs(&trails, run);
            }
            Received::Packet(Reply::FetchResponse(end)) => {
                let progress = self.readings.completed(ticket, end.status == FETCH_END_OF_CURSOR);
                self.pass_over(&progress);
                self.keep_line_busy()?;
            }
            Received::Packet(Reply::Response(_)) => {
                let progress = self.readings.completed(ticket, true);
                self.pass_over(&progress);
                if let Some(opened) = self.blobs.answered(ticket, bytes) {
                    self.drop_blob(opened);
                }
            }
            Received::Packet(_) => {}
        }
        Ok(())
    }

    /// A batch of rows is here. If somebody waits, it may be for a BLOB whose answer comes behind all rows under way: those
    /// of the other rows that are here by now, and more rows, must be asked for before that answer, or the line idles.
    fn keep_line_busy(&mut self) -> Result<()> {
        if self.blobs.has_readers() && self.somebody_waits() {
            let in_flight = self.readings.in_flight();
            if self.ask_blobs_ahead(Occasion::Arrival { in_flight })? {
                self.ask_rows_ahead(true, None)?;
                self.flush();
            }
        }
        Ok(())
    }

    /// Notes the ids of the rows' BLOBs.
    fn note_blobs(&mut self, trails: &[(usize, TrailId)], run: &RowRun) {
        if !trails.is_empty() {
            for row in run.rows() {
                for (column, trail) in trails {
                    let id = match row.value(*column).map(|value| value.to_value()) {
                        Some(Value::Blob(id)) => Some(id),
                        _ => None,
                    };
                    if let Some(stale) = self.blobs.row(*trail, id) {
                        self.drop_blob(stale);
                    }
                }
                // What came in front of the rows is the first one's.
                self.blobs.row_ends();
            }
        }
        self.blobs.row_ends();
    }

    pub(super) fn keep_blob(&mut self, ticket: Ticket, blob: InlineBlob, bytes: usize) {
        self.readings.arrived(ticket, 0, bytes);
        if let Some(stale) = self.blobs.keep(blob.transaction, blob.blob, blob.data) {
            self.drop_blob(stale);
        }
    }

    fn pass_over(&mut self, progress: &Progress) {
        for ticket in &progress.idle {
            self.mailboxes.close(*ticket);
        }
        for (_, trail) in &progress.trails {
            self.blobs.end_trail(*trail);
        }
    }

    /// Nobody is going to read this BLOB: its answers are passed over, and it is closed with the next flight.
    fn drop_blob(&mut self, blob: Opened) {
        for ticket in [blob.opened, blob.pieces[0], blob.pieces[1]] {
            self.mailboxes.close(ticket);
        }
        self.release(blob.object);
    }

    /// Takes a BLOB that somebody wants out of those that are here or on their way.
    pub(crate) fn take_blob(&mut self, transaction: Handle, id: BlobId) -> Result<Found> {
        let found = self.blobs.take(transaction, id);
        for passed in self.blobs.take_passed() {
            self.drop_blob(passed);
        }
        if matches!(found, Found::Ahead(_)) && self.ask_blobs_ahead(Occasion::Taken)? {
            self.flush();
        }
        Ok(found)
    }

    /// Whether the answer to this question is not the open BLOB's next piece, because a BLOB that could not be opened has
    /// come between: it has to be opened again.
    pub(crate) fn is_disturbed(&self, blob: ObjectId, piece: Ticket) -> bool {
        self.handles.disturbed(blob).is_some_and(|disturbed| disturbed < piece)
    }

    /// All these BLOBs are going to be read, in this order.
    pub(crate) fn begin_list(
        &mut self,
        transaction: Handle,
        within: ObjectId,
        ids: &[BlobId],
    ) -> Option<TrailId> {
        self.blobs.begin_list(transaction, within, ids)
    }

    /// Nobody reads the list any more.
    pub(crate) fn end_list(&mut self, list: TrailId) {
        for blob in self.blobs.end_list(list) {
            self.drop_blob(blob);
        }
    }

    /// The transaction is going to end: nothing more is asked ahead in it.
    pub(super) fn stop_ahead(&mut self, transaction: ObjectId) {
        if let Ok(Ok(handle)) = self.handle(transaction) {
            self.readings.stop(handle);
            self.blobs.stop(handle);
        }
    }

    /// The transaction is no more.
    pub(super) fn forget_blobs(&mut self, transaction: Handle) {
        for blob in self.blobs.forget(transaction) {
            self.drop_blob(blob);
        }
    }
}

/// A BLOB that is being opened.
#[derive(Debug)]
pub(crate) struct AskedBlob {
    pub(crate) object: ObjectId,
    pub(crate) opened: Ticket,
    pub(crate) pieces: Vec<Ticket>,
}

/// The rows of a cursor, as they come. Dropped, those under way are passed over.
#[derive(Debug)]
pub(crate) struct RowsAhead {
    shared: Shared,
    id: ReadingId,
}

/// What a cursor is going to read.
#[derive(Debug)]
pub(crate) struct RowSource<'a> {
    pub(crate) transaction: &'a ObjectRef,
    pub(crate) transaction_handle: Handle,
    pub(crate) statement: Handle,
    pub(crate) output: Output,
    pub(crate) fetching: Fetching,
    /// What a row is taken to have, in bytes, before one was seen.
    pub(crate) row_bytes: usize,
    /// Columns with BLOBs.
    pub(crate) blob_columns: Vec<usize>,
}

impl RowsAhead {
    /// Nothing is asked for yet.
    pub(crate) fn new(shared: &Shared, rows: RowSource<'_>) -> RowsAhead {
        let mut core = shared.lock();
        let (transaction, within) = (rows.transaction_handle, rows.transaction.id());
        let trails = rows.blob_columns.into_iter();
        let statement = core.accounts.object_of(rows.statement);
        let trails = trails
            .filter_map(|column| Some((column, core.blobs.begin_trail(transaction, within, statement)?)))
            .collect();
        let id = core.readings.begin(Source {
            transaction,
            statement: rows.statement,
            output: rows.output,
            fetching: rows.fetching,
            row_bytes: rows.row_bytes,
            trails,
        });
        drop(core);
        RowsAhead { shared: shared.clone(), id }
    }

    /// Queues the request for the next rows.
    pub(crate) fn ask(&self) -> Result<()> {
        self.shared.lock().ask_rows_ahead(false, Some(self.id)).map(|_| ())
    }

    /// Whether nothing is under way: then [`RowsAhead::ask`] comes before [`RowsAhead::next`].
    pub(crate) fn is_idle(&self) -> bool {
        self.shared.lock().readings.front(self.id).is_none()
    }

    /// What comes next: rows, the end of a batch ([`RowsAhead::next_batch`] goes on behind it) or an error.
    ///
    /// # Cancel safety
    /// A future that is dropped takes no packet with it.
    pub(crate) async fn next(&self) -> Result<Received> {
        let front = self.shared.lock().readings.front(self.id);
        // Behind the end there is nothing to wait for.
        let ticket = front.ok_or_else(|| error::unexpected("op_fetch"))?;
        answered(&self.shared, ticket).await
    }

    /// So many rows have been given out.
    pub(crate) fn given(&self, rows: usize) -> Result<()> {
        let mut core = self.shared.lock();
        if core.readings.given(self.id, rows) && core.ask_rows_ahead(false, Some(self.id))? {
            core.flush();
        }
        Ok(())
    }

    /// All rows of the oldest batch have been given out.
    pub(crate) fn next_batch(&self) {
        self.shared.lock().readings.next_batch(self.id);
    }
}

impl Drop for RowsAhead {
    fn drop(&mut self) {
        let mut core = self.shared.lock();
        let progress = core.readings.end(self.id);
        core.pass_over(&progress);
    }
}
