//! A cursor whose rows are pushed: what has come of it, and whether more is to be asked for.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use farbird_types::Value;
use farbird_wire::message::{MessageFormat, RowRun};
use farbird_wire::packet::{InlineBlob, Reply, Request};
use farbird_wire::protocol::Handle;

use super::blob_reading;
use super::limits::Limits;
use super::objects::Named;
use crate::message::{Cursor, End, Push, Question, RequestId, Tell};

/// Fewest rows that are asked for at a time, unless they may be too long.
const ROWS_MIN: usize = 10;
/// Largest BLOB that a server sends inline.
const INLINE_BYTES_MAX: u32 = 65_535;
/// Batches of one cursor that wait at the origin for their BLOBs or for credit, before no more rows are asked for.
const HELD_MAX: usize = 4;

/// How far a cursor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its op_execute has not been sent.
    Waiting,
    /// Its op_execute has been sent. Rows may be asked for already if no other cursor of the statement can be open: else they might
    /// be that one's.
    Opening { is_certain: bool },
    /// It is open.
    Open,
    /// Its transaction is being ended.
    Paused,
}

/// A cursor that the edge has opened.
#[derive(Debug)]
pub(super) struct PushedCursor {
    pub(super) statement: u16,
    pub(super) transaction: u16,
    pub(super) stage: Stage,
    /// How its rows are pushed; if it is not said, the program's own fetches are relayed.
    pub(super) pushing: Option<Pushing>,
    /// Largest BLOB that the program wants inline.
    pub(super) inline_bytes: u32,
    /// Largest BLOB that the server sends inline: known when op_execute is sent.
    pub(super) inline_bytes_asked: u32,
    /// What is to be asked behind the first op_fetch.
    pub(super) question: Option<PendingQuestion>,
}

/// A question about an execution, to be asked behind an op_fetch for so many rows.
#[derive(Debug)]
pub(super) struct PendingQuestion {
    pub(super) id: RequestId,
    pub(super) rows: u16,
    pub(super) request: Box<Request>,
    pub(super) named: Named,
}

#[derive(Debug)]
pub(super) struct Pushing {
    pub(super) push: Push,
    pub(super) format: Arc<MessageFormat>,
    pub(super) blob_columns: Vec<usize>,
    /// BLOBs that a row has, whether they are pushed or not.
    blobs_per_row: usize,
    pub(super) credit: i64,
    /// Whether the server has been told the format.
    pub(super) has_format: bool,
    /// op_fetch packets under way: how many rows each may still bring.
    pub(super) fetches: VecDeque<usize>,
    pub(super) is_ended: bool,
    /// What comes.
    pub(super) batch: Batch,
    before_row: BeforeRow,
    /// What waits for its BLOBs or for credit.
    pub(super) held: VecDeque<Batch>,
    pub(super) held_bytes: usize,
    rows_seen: u64,
    /// Of those rows, with their BLOBs that came inline.
    bytes_seen: u64,
    /// Numbers the BLOBs that are read for rows.
    pub(super) blobs: u32,
}

/// BLOBs that came inline, before their row. The server's bytes may be cut between both, and what waits for its row does not go
/// without it: the edge gives programs whole rows.
#[derive(Debug, Default)]
struct BeforeRow {
    packets: Vec<u8>,
    blobs: BTreeSet<u64>,
}

/// Rows that travel in one message.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) packets: Vec<u8>,
    pub(super) rows: u32,
    pub(super) end: Option<End>,
    /// BLOBs that came with the rows, to be told before them.
    pub(super) blobs: Vec<Tell>,
    pub(super) blob_bytes: usize,
    /// BLOBs that came inline.
    pub(super) inline: BTreeSet<u64>,
    /// BLOBs to be read.
    pub(super) wanted: Vec<u64>,
    /// BLOBs being read.
    pub(super) reading: BTreeSet<u32>,
}

impl BeforeRow {
    fn bytes(&self) -> usize {
        self.packets.len()
    }
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.end.is_none() && self.blobs.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        self.packets.len() + self.blob_bytes
    }
}

impl PushedCursor {
    /// A cursor that an op_execute opens; `None` if the request is none, or the rows have no format.
    pub(super) fn new(named: &Named, request: &Request, push: Option<Push>) -> Option<PushedCursor> {
        let execute = match request {
            Request::Execute(execute) => execute,
            Request::Execute2(execute) => &execute.execute,
            _ => return None,
        };
        let mut pushed = PushedCursor {
            statement: named.statement,
            transaction: named.transaction,
            stage: Stage::Waiting,
            pushing: None,
            inline_bytes: execute.inline_blob_bytes,
            inline_bytes_asked: 0,
            question: None,
        };
        match push {
            Some(push) => pushed.push(push).then_some(pushed),
            None => Some(pushed),
        }
    }

    /// Says how the rows are to be pushed; gives false if they have no format.
    pub(super) fn push(&mut self, push: Push) -> bool {
        let Ok(Some(format)) = MessageFormat::parse(&push.blr) else { return false };
        let is_blob =
            |(column, kind): (usize, &farbird_wire::message::MessageType)| kind.is_blob().then_some(column);
        let mut blob_columns: Vec<usize> = format.columns().enumerate().filter_map(is_blob).collect();
        let blobs_per_row = blob_columns.len();
        if push.blob_bytes == 0 {
            blob_columns = Vec::new();
        }
        self.pushing = Some(Pushing {
            credit: i64::from(push.credit),
            push,
            format: Arc::new(format),
            blob_columns,
            blobs_per_row,
            has_format: false,
            fetches: VecDeque::new(),
            is_ended: false,
            batch: Batch::default(),
            before_row: BeforeRow::default(),
            held: VecDeque::new(),
            held_bytes: 0,
            rows_seen: 0,
            bytes_seen: 0,
            blobs: 0,
        });
        true
    }

    /// The largest BLOB that the server is to send inline: what the program wants and what is pushed to the edge, as far as there is
    /// room for it in one op_fetch.
    pub(super) fn inline_bytes_to_ask(&self, fetch_bytes: usize) -> u32 {
        let Some(pushing) = &self.pushing else { return self.inline_bytes };
        let pushed = if pushing.blob_columns.is_empty() { 0 } else { pushing.push.blob_bytes };
        let wanted = self.inline_bytes.max(pushed.min(INLINE_BYTES_MAX));
        let rows = self.question.as_ref().map_or(1, |question| question.rows);
        pushing.inline_bytes_for(rows, wanted, fetch_bytes)
    }

    pub(super) fn credit(&mut self, bytes: u32) {
        if let Some(pushing) = &mut self.pushing {
            pushing.credit = pushing.credit.saturating_add(i64::from(bytes));
        }
    }

    /// Whether something may be asked behind an op_fetch for so many rows.
    pub(super) fn may_be_asked_behind(&self, rows: u16) -> bool {
        let format = self.pushing.as_ref().map(|pushing| &pushing.format);
        rows == 0 || format.is_some_and(|format| Question::allows_rows(rows, format.length()))
    }

    /// Whether BLOBs go with its rows.
    pub(super) fn has_blobs(&self) -> bool {
        self.pushing.as_ref().is_some_and(|pushing| !pushing.blob_columns.is_empty())
    }

    pub(super) fn may_fetch(&self) -> bool {
        matches!(self.stage, Stage::Open | Stage::Opening { is_certain: true })
    }
}

impl Pushing {
    /// Bytes that a row takes, as far as one knows. BLOBs up to `inline_bytes` come with it.
    fn row_bytes(&self, inline_bytes: usize) -> usize {
        match self.bytes_seen.checked_div(self.rows_seen) {
            Some(bytes) => usize::try_from(bytes).unwrap_or(usize::MAX).max(1),
            None => (self.format.length() as usize / 2).max(16).saturating_add(self.inline_row(inline_bytes)),
        }
    }

    fn inline_row(&self, inline_bytes: usize) -> usize {
        self.blobs_per_row.saturating_mul(inline_bytes)
    }

    /// How many rows are asked for next: about twice `push_bytes`, and never more than may bring `fetch_bytes`, since what has come says
    /// nothing about how long the next rows are.
    pub(super) fn rows_per_fetch(&self, limits: &Limits, inline_bytes: usize) -> u16 {
        let wanted = (2 * limits.push_bytes / self.row_bytes(inline_bytes)).max(ROWS_MIN);
        let longest = (self.format.length() as usize).saturating_add(self.inline_row(inline_bytes)).max(1);
        let rows = wanted.min(limits.fetch_bytes / longest).max(1);
        u16::try_from(rows).unwrap_or(limits.fetch_rows).min(limits.fetch_rows)
    }

    /// The largest BLOB that may come inline with so many rows, if `wanted` is the largest that is of use.
    pub(super) fn inline_bytes_for(&self, rows: u16, wanted: u32, fetch_bytes: usize) -> u32 {
        let blobs = usize::from(rows.max(1)).saturating_mul(self.blobs_per_row).max(1);
        u32::try_from(fetch_bytes / blobs).unwrap_or(u32::MAX).min(wanted)
    }

    /// Whether credit is left for rows that have not been asked for. Most queries have few rows: a second op_fetch goes when rows of the
    /// first have come, or each of those would be answered twice.
    pub(super) fn wants_rows(&self, limits: &Limits, inline_bytes: usize) -> bool {
        let ahead = if self.rows_seen == 0 { limits.fetches_ahead.min(1) } else { limits.fetches_ahead };
        let row_bytes = self.row_bytes(inline_bytes);
        let may_bring = |left: &usize| left.saturating_mul(row_bytes).max(2 * limits.push_bytes);
        let asked_for = self.fetches.iter().map(may_bring).fold(0, usize::saturating_add);
        let here = self.held_bytes.saturating_add(self.batch.bytes()).saturating_add(self.before_row.bytes());
        let promised = i64::try_from(here.saturating_add(asked_for));
        !self.is_ended
            && self.fetches.len() < ahead
            && self.held.len() < HELD_MAX
            && self.credit > promised.unwrap_or(i64::MAX)
    }

    /// Whether BLOBs of this batch are to be read: those of the first always, since nothing goes before it does; of the others while the
    /// edge takes what is here.
    pub(super) fn may_read_blobs(&self, batch: usize) -> bool {
        batch == 0 || usize::try_from(self.credit).is_ok_and(|credit| credit > self.held_bytes)
    }

    pub(super) fn seal(&mut self) {
        if !self.batch.is_empty() {
            let batch = std::mem::take(&mut self.batch);
            self.held_bytes += batch.bytes();
            self.held.push_back(batch);
        }
    }

    /// A row comes: what came before it belongs to its batch.
    pub(super) fn begin_row(&mut self) {
        let BeforeRow { packets, mut blobs } = std::mem::take(&mut self.before_row);
        self.batch.packets.extend_from_slice(&packets);
        self.batch.inline.append(&mut blobs);
    }

    /// So many rows have come: gives false if they are more than were asked for.
    pub(super) fn count_rows(&mut self, rows: usize) -> bool {
        let Some(left) = self.fetches.front_mut() else { return false };
        let rest = left.checked_sub(rows);
        *left = rest.unwrap_or(*left);
        rest.is_some()
    }

    /// Bytes of what came before its row.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.before_row.bytes() + self.batch.blob_bytes
    }

    pub(super) fn take_rows(&mut self, run: &RowRun) {
        self.begin_row();
        self.rows_seen += run.len() as u64;
        self.bytes_seen += run.wire().len() as u64;
        self.batch.packets.extend_from_slice(run.wire());
        self.batch.rows = self.batch.rows.saturating_add(u32::try_from(run.len()).unwrap_or(u32::MAX));
        if self.blob_columns.is_empty() {
            return;
        }
        for row in run.rows() {
            for column in &self.blob_columns {
                let Some(Value::Blob(blob)) = row.value(*column).map(|value| value.to_value()) else {
                    continue;
                };
                if blob.0 != 0 && !self.batch.inline.contains(&blob.0) && !self.batch.wanted.contains(&blob.0)
                {
                    self.batch.wanted.push(blob.0);
                }
            }
        }
    }

    /// A BLOB that came before its row: to the program if it asked for such, else to the edge.
    pub(super) fn inline_blob(
        &mut self,
        mut blob: InlineBlob,
        cursor: Cursor,
        transaction: u16,
        program_bytes: u32,
        version: farbird_wire::protocol::ProtocolVersion,
    ) {
        self.bytes_seen += blob.data.len() as u64;
        self.before_row.blobs.insert(blob.blob.0);
        // Zero asks for none at all, not for empty ones: a driver that never asked does not look for one between two rows.
        if program_bytes > 0 && blob.data.len() <= program_bytes as usize {
            blob.transaction = Handle(transaction);
            Reply::InlineBlob(blob).encode(version, &mut self.before_row.packets);
            return;
        }
        self.batch.blob_bytes += blob.data.len();
        self.batch.blobs.push(Tell::Blob {
            cursor,
            blob: blob.blob.0,
            information: blob_reading::facts(&blob.information),
            offset: 0,
            segments: blob.data,
            is_last: true,
        });
    }
}

#[cfg(test)]
mod tests {
    use farbird_types::BlobId;
    use farbird_wire::message::MessageType;
    use farbird_wire::packet::Execute;
    use farbird_wire::protocol::ProtocolVersion;

    use super::*;

    fn opened(inline_blob_bytes: u32) -> PushedCursor {
        let execute = Execute {
            statement: Handle(2),
            transaction: Handle(1),
            input_blr: Vec::new(),
            message_number: 0,
            message: None,
            timeout_ms: 0,
            cursor_flags: 0,
            inline_blob_bytes,
        };
        let format = MessageFormat::from_columns([MessageType::Blob { subtype: 0, charset: 0 }]);
        let push = Push { blr: format.to_blr(), credit: 1000, blob_bytes: 1000 };
        let named = Named { statement: 2, transaction: 1, ..Named::default() };
        PushedCursor::new(&named, &Request::Execute(execute), Some(push)).unwrap()
    }

    fn blob(bytes: usize) -> InlineBlob {
        InlineBlob { transaction: Handle(9), blob: BlobId(7), information: Vec::new(), data: vec![1; bytes] }
    }

    #[test]
    fn inline_blobs_wait_for_their_row_wherever_the_bytes_are_cut() {
        let mut pushed = opened(100);
        let pushing = pushed.pushing.as_mut().unwrap();
        pushing.inline_blob(blob(50), Cursor(1), 1, 100, ProtocolVersion::NEWEST);
        pushing.seal();
        assert!(pushing.held.is_empty(), "nothing goes without its row");
        pushing.begin_row();
        assert!(pushing.batch.packets.len() > 50 && pushing.batch.inline.contains(&7));
        pushing.seal();
        assert_eq!(pushing.held.len(), 1);
    }

    #[test]
    fn a_program_that_asks_for_no_inline_blobs_gets_not_even_empty_ones() {
        let mut pushed = opened(0);
        let pushing = pushed.pushing.as_mut().unwrap();
        pushing.inline_blob(blob(0), Cursor(1), 1, 0, ProtocolVersion::NEWEST);
        pushing.begin_row();
        assert!(pushing.batch.packets.is_empty());
        assert_eq!(pushing.batch.blobs.len(), 1, "the edge has it for when the program opens it");
    }
}
