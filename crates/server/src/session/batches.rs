//! Batches: many rows of parameters for one statement, sent ahead and executed in one go.
//!
//! Rows and BLOBs wait in memory, within the batch's own limit, until the client names a transaction and says go.
//! Source: wire-protocol.md, 6.11.

use std::collections::HashMap;
use std::sync::Arc;

use farbird_engine::api::{RecordCounts, StatementKind, TransactionHandle};
use farbird_engine::budget::{Reservation, heap_bytes};
use farbird_types::{BlobId, ColumnType, Error, Result, Value, isc};
use farbird_wire::blob_stream::{self, BlobStreamItem};
use farbird_wire::clumplet::{ClumpletReader, batch as tag};
use farbird_wire::info::{InfoWriter, batch as item, common};
use farbird_wire::message::{MessageFormat, MessageRun, MessageType};
use farbird_wire::packet::{BatchBlobs, BatchCompletion, BatchCreate, BatchMessages, Information, Response};
use farbird_wire::protocol::Handle;
use farbird_wire::status::StatusVector;

use super::Session;
use super::convert;
use super::statements::Statement;

/// Memory for the rows, and again for the BLOBs, of a batch that does not ask for another size.
const BUFFER_BYTES_DEFAULT: usize = 16 << 20;
/// Most memory that a batch may ask for.
const BUFFER_BYTES_MAX: usize = 256 << 20;
/// Errors that are reported in full if the client does not ask for another number.
const DETAILED_ERRORS_DEFAULT: usize = 64;
/// Most errors that are reported in full.
const DETAILED_ERRORS_MAX: usize = 256;
/// Count of a row that failed.
const FAILED: i32 = -1;
/// Parameters of BLOBs without any before op_batch_set_bpb: a stream (isc_bpb_version1, isc_bpb_type, one byte, stream).
const BPB_DEFAULT: &[u8] = &[1, 3, 1, 1];
/// What a BLOB and a segment cost besides their bytes.
const BLOB_OVERHEAD_BYTES: usize = size_of::<PendingBlob>() + size_of::<Vec<u8>>();
/// What an entry of the map of registered BLOBs takes, with room in the map.
const REGISTERED_BYTES: usize = 4 * size_of::<(BlobId, BlobId)>();
/// So many rows at most are executed together.
const ROWS_TOGETHER: usize = 512;
/// Or so many that their texts take this.
const BYTES_TOGETHER: usize = 1 << 20;
/// Largest segment that a BLOB of a batch is written in.
const SEGMENT_BYTES_MAX: usize = 65_535;

/// What a statement's batch has gathered.
pub(crate) struct Batch {
    format: Arc<MessageFormat>,
    options: Options,
    runs: Vec<MessageRun>,
    row_bytes: usize,
    blobs: Vec<PendingBlob>,
    blob_bytes: usize,
    /// Ids in messages of BLOBs that exist already.
    registered: HashMap<BlobId, BlobId>,
    default_bpb: Vec<u8>,
    /// What all that is charged to: the statement.
    memory: Reservation,
}

#[derive(Debug, Clone, Copy)]
struct Options {
    multi_error: bool,
    record_counts: bool,
    buffer_bytes: usize,
    detailed_errors: usize,
}

/// A BLOB that was sent with the batch: made when the transaction is known.
struct PendingBlob {
    id: BlobId,
    bpb: Vec<u8>,
    segments: Vec<Vec<u8>>,
}

impl Session {
    pub(super) fn batch_create(&mut self, create: &BatchCreate) -> Result<Response> {
        let statement = self.objects.statement(create.statement)?;
        if statement.batch.is_some() {
            return Err(Error::new(isc::BATCH_OPEN));
        }
        check_statement(statement)?;
        let expected = statement.prepared()?.parameters.len();
        if expected == 0 {
            return Err(refused(-901, isc::BATCH_PARAM));
        }
        if expected != create.format.column_count() {
            return Err(convert::wrong_count(expected, create.format.column_count()));
        }
        if create.message_length != create.format.length() {
            return Err(Error::new(isc::DSQL_ERROR).and(isc::SQLERR).with(-804).and(isc::DSQL_SQLDA_ERR));
        }
        let options = parse(&create.parameters)?;
        let engine = statement.engine;
        let memory = self.attachment()?.statement_budget(engine)?.reserve();
        let statement = self.objects.statement(create.statement)?;
        statement.batch = Some(Batch {
            format: Arc::clone(&create.format),
            options,
            runs: Vec::new(),
            row_bytes: 0,
            blobs: Vec::new(),
            blob_bytes: 0,
            registered: HashMap::new(),
            default_bpb: BPB_DEFAULT.to_vec(),
            memory,
        });
        Ok(Response::success())
    }

    pub(super) fn batch_messages(&mut self, messages: &BatchMessages) -> Result<Response> {
        let batch = self.batch(messages.statement)?;
        let bytes = messages.rows.wire().len();
        if batch.row_bytes.saturating_add(bytes) > batch.options.buffer_bytes {
            return Err(Error::new(isc::BATCH_TOO_BIG));
        }
        batch.memory.grow(bytes)?;
        batch.row_bytes += bytes;
        batch.runs.push(messages.rows.clone());
        Ok(Response::success())
    }

    pub(super) fn batch_register_blob(
        &mut self,
        statement: Handle,
        existing: BlobId,
        batch_id: BlobId,
    ) -> Result<Response> {
        let batch = self.batch(statement)?;
        // Each row can hold one BLOB per column and each takes bytes in a message: rows bound this map, nearly.
        if batch.registered.len().saturating_mul(size_of::<(BlobId, BlobId)>()) > batch.options.buffer_bytes {
            return Err(Error::new(isc::BATCH_TOO_BIG));
        }
        batch.memory.grow(REGISTERED_BYTES)?;
        match batch.registered.insert(batch_id, existing) {
            None => Ok(Response::success()),
            Some(_) => Err(refused(-104, isc::BATCH_RPT_BLOB).with(shown(batch_id))),
        }
    }

    pub(super) fn batch_set_bpb(&mut self, statement: Handle, bpb: &[u8]) -> Result<Response> {
        let batch = self.batch(statement)?;
        if !batch.blobs.is_empty() {
            return Err(Error::new(isc::BATCH_DEFBPB));
        }
        batch.default_bpb = bpb.to_vec();
        Ok(Response::success())
    }

    pub(super) fn batch_blobs(&mut self, stream: &BatchBlobs) -> Result<Response> {
        let batch = self.batch(stream.statement)?;
        let damaged = || Error::new(isc::BATCH_BLOB_APPEND);
        for item in &stream.portion.items {
            let cost = match item {
                BlobStreamItem::Header { .. } | BlobStreamItem::Segment(_) => BLOB_OVERHEAD_BYTES,
                BlobStreamItem::Bpb(bytes) | BlobStreamItem::Data(bytes) => bytes.len(),
            };
            batch.blob_bytes = batch.blob_bytes.saturating_add(cost);
            if batch.blob_bytes > batch.options.buffer_bytes {
                return Err(Error::new(isc::BATCH_TOO_BIG));
            }
            batch.memory.grow(cost)?;
            match item {
                BlobStreamItem::Header { id, bpb_length, .. } => {
                    let bpb = if *bpb_length == 0 { batch.default_bpb.clone() } else { Vec::new() };
                    batch.blobs.push(PendingBlob { id: *id, bpb, segments: Vec::new() });
                }
                BlobStreamItem::Bpb(bytes) => {
                    batch.blobs.last_mut().ok_or_else(damaged)?.bpb.extend_from_slice(bytes);
                }
                BlobStreamItem::Segment(_) => {
                    batch.blobs.last_mut().ok_or_else(damaged)?.segments.push(Vec::new());
                }
                BlobStreamItem::Data(bytes) => {
                    let blob = batch.blobs.last_mut().ok_or_else(damaged)?;
                    match blob.segments.last_mut() {
                        Some(segment) => segment.extend_from_slice(bytes),
                        None => blob.segments.push(bytes.clone()),
                    }
                }
            }
        }
        Ok(Response::success())
    }

    pub(super) fn batch_execute(
        &mut self,
        statement_handle: Handle,
        transaction: Handle,
    ) -> Result<BatchCompletion> {
        let transaction = self.objects.transaction(transaction)?;
        let character_set = self.character_set;
        let context = self.attachment()?.cast_context();
        let (runs, format, options) = {
            let batch = self.batch(statement_handle)?;
            batch.row_bytes = 0;
            (std::mem::take(&mut batch.runs), Arc::clone(&batch.format), batch.options)
        };
        let mut blobs = self.make_blobs(statement_handle, transaction)?;
        let statement = self.objects.statement(statement_handle)?;
        let engine = statement.engine;
        let described: Vec<ColumnType> =
            statement.prepared.as_ref().map(|prepared| prepared.parameters.clone()).unwrap_or_default();
        let mut completion = BatchCompletion {
            statement: self.objects.resolve(statement_handle),
            record_count: 0,
            update_counts: Vec::new(),
            errors: Vec::new(),
            errors_without_detail: Vec::new(),
        };
        for run in &runs {
            let mut rows = run.rows();
            loop {
                let mut together = Together::default();
                let behind = together.fill(|| {
                    let mut values = Vec::new();
                    if !rows.next_row(&mut values).map_err(super::undecodable)? {
                        return Ok(None);
                    }
                    // An unknown BLOB is no error of its row: it ends the batch, as in Firebird.
                    let row = with_blobs(values, &format, &mut blobs)?;
                    Ok(Some(convert::parameters(row, Some(&format), &described, character_set, || context)))
                });
                let mut goes_on = true;
                self.attachment()?.execute_for_each(engine, transaction, together.rows, |outcome| {
                    goes_on = note(&mut completion, options, outcome);
                    goes_on
                });
                match behind {
                    _ if !goes_on => return Ok(completion),
                    Behind::More => {}
                    Behind::Refused(error) => {
                        if !note(&mut completion, options, Err(error)) {
                            return Ok(completion);
                        }
                    }
                    Behind::Nothing => break,
                    Behind::Damage(error) => return Err(error),
                }
            }
        }
        Ok(completion)
    }

    /// Makes the BLOBs that came with the batch; gives what the ids in its messages stand for.
    fn make_blobs(
        &mut self,
        statement: Handle,
        transaction: TransactionHandle,
    ) -> Result<HashMap<BlobId, BlobId>> {
        let batch = self.batch(statement)?;
        let pending = std::mem::take(&mut batch.blobs);
        let mut ids = std::mem::take(&mut batch.registered);
        batch.blob_bytes = 0;
        // What has been taken out is soon rows and BLOBs of the transaction.
        batch.memory.clear();
        let attachment = self.attachment()?;
        for blob in pending {
            let mut parameters = super::blobs::parameters(&blob.bpb)?;
            parameters.stream = !blob_stream::is_segmented(&blob.bpb).map_err(super::undecodable)?;
            let (handle, id) = attachment.create_blob(transaction, parameters)?;
            for segment in blob.segments {
                for piece in segment.chunks(SEGMENT_BYTES_MAX) {
                    attachment.put_segment(handle, piece)?;
                }
            }
            attachment.close_blob(handle)?;
            if ids.insert(blob.id, id).is_some() {
                return Err(refused(-104, isc::BATCH_RPT_BLOB).with(shown(blob.id)));
            }
        }
        Ok(ids)
    }

    pub(super) fn batch_release(&mut self, statement: Handle) -> Result<Response> {
        self.batch(statement)?;
        self.objects.statement(statement)?.batch = None;
        Ok(Response::success())
    }

    /// Drops what was gathered; the batch stays.
    pub(super) fn batch_cancel(&mut self, statement: Handle) -> Result<Response> {
        let batch = self.batch(statement)?;
        batch.runs.clear();
        batch.blobs.clear();
        batch.registered.clear();
        (batch.row_bytes, batch.blob_bytes) = (0, 0);
        batch.memory.clear();
        Ok(Response::success())
    }

    pub(super) fn batch_information(&mut self, information: &Information) -> Result<Response> {
        let batch = self.batch(information.object)?;
        let number = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
        let mut writer = InfoWriter::new(information.buffer_length);
        for asked in &information.items {
            match *asked {
                common::END => break,
                item::BUFFER_BYTES_SIZE => writer.integer(*asked, number(batch.options.buffer_bytes)),
                item::DATA_BYTES_SIZE => writer.integer(*asked, number(batch.row_bytes)),
                item::BLOBS_BYTES_SIZE => writer.integer(*asked, number(batch.blob_bytes)),
                item::BLOB_ALIGNMENT => writer.integer(*asked, i64::from(blob_stream::ALIGNMENT)),
                item::BLOB_HEADER => writer.integer(*asked, i64::from(blob_stream::HEADER_BYTES)),
                other => writer.unknown(other),
            }
        }
        Ok(Response::data(information.object, writer.finish()))
    }

    fn batch(&mut self, statement: Handle) -> Result<&mut Batch> {
        self.objects.statement(statement)?.batch.as_mut().ok_or_else(|| Error::new(isc::BAD_BATCH_HANDLE))
    }
}

/// Rows that are executed together.
#[derive(Default)]
struct Together {
    rows: Vec<Vec<Value>>,
    bytes: usize,
}

/// What stands behind rows that are executed together.
enum Behind {
    /// More rows, or nothing.
    More,
    /// A row that has not the statement's parameters.
    Refused(Error),
    Nothing,
    /// What ends the batch.
    Damage(Error),
}

impl Together {
    /// Takes rows of what `next` gives: the next row, or why it is refused; nothing at the end.
    fn fill(&mut self, mut next: impl FnMut() -> Result<Option<Result<Vec<Value>>>>) -> Behind {
        while self.rows.len() < ROWS_TOGETHER && self.bytes < BYTES_TOGETHER {
            match next() {
                Ok(Some(Ok(row))) => {
                    self.bytes += row.iter().map(heap_bytes).sum::<usize>();
                    self.rows.push(row);
                }
                Ok(Some(Err(error))) => return Behind::Refused(error),
                Ok(None) => return Behind::Nothing,
                Err(error) => return Behind::Damage(error),
            }
        }
        Behind::More
    }
}

/// Takes note of a row's outcome; whether the batch goes on behind it.
fn note(completion: &mut BatchCompletion, options: Options, outcome: Result<RecordCounts>) -> bool {
    let index = completion.record_count;
    completion.record_count += 1;
    if options.record_counts {
        let changed = |counts: &RecordCounts| {
            i32::try_from(counts.inserted + counts.updated + counts.deleted).unwrap_or(i32::MAX)
        };
        completion.update_counts.push(outcome.as_ref().map_or(FAILED, changed));
    }
    let Err(error) = outcome else { return true };
    if completion.errors.len() < options.detailed_errors {
        completion.errors.push((index, StatusVector::from_error(&error)));
    } else {
        completion.errors_without_detail.push(index);
    }
    options.multi_error
}

/// Puts real BLOB ids in the place of those that the client made up or has registered, each of which serves once.
///
/// As in Firebird that holds for columns that the message calls BLOBs: the ids of those that it calls blr_quad, as some drivers write
/// BLOBs, are ids of BLOBs that exist.
fn with_blobs(
    mut row: Vec<Value>,
    format: &MessageFormat,
    blobs: &mut HashMap<BlobId, BlobId>,
) -> Result<Vec<Value>> {
    for (value, column) in row.iter_mut().zip(format.columns()) {
        if let Value::Blob(id) = value
            && !matches!(column, MessageType::Quad { .. })
            && *id != BlobId(0)
        {
            *id = blobs.remove(id).ok_or_else(|| refused(-104, isc::BATCH_BLOB_ID).with(shown(*id)))?;
        }
    }
    Ok(row)
}

/// A BLOB's id in messages: its two halves.
fn shown(id: BlobId) -> String {
    format!("{:x}:{:x}", id.0 >> 32, id.0 & u64::from(u32::MAX))
}

fn refused(sql_code: i32, code: u32) -> Error {
    Error::new(isc::DSQL_ERROR).and(isc::SQLERR).with(sql_code).and(code)
}

/// Which statements may run in batches (Firebird's DsqlBatch::open).
fn check_statement(statement: &Statement) -> Result<()> {
    use StatementKind::{Delete, ExecuteProcedure, Insert, Select, SelectForUpdate, Update};
    let prepared = statement.prepared()?;
    if statement.cursor.is_some() {
        return Err(refused(-502, isc::DSQL_CURSOR_OPEN_ERR));
    }
    match prepared.kind {
        Insert | Update | Delete | ExecuteProcedure => Ok(()),
        Select | SelectForUpdate => Err(refused(-901, isc::BATCH_TYPE)),
        _ => Err(Error::new(isc::SQLERR).with(-504).and(isc::UNPREPARED_STMT)),
    }
}

/// Understands a batch parameter block.
fn parse(bytes: &[u8]) -> Result<Options> {
    let mut options = Options {
        multi_error: false,
        record_counts: false,
        buffer_bytes: BUFFER_BYTES_DEFAULT,
        detailed_errors: DETAILED_ERRORS_DEFAULT,
    };
    for item in ClumpletReader::batch(bytes).map_err(|_| Error::new(isc::BATCH_PARAM_VERSION))? {
        let item = item.map_err(|_| Error::new(isc::BAD_DPB_FORM))?;
        let number = usize::try_from(item.integer().unwrap_or_default().max(0)).unwrap_or(usize::MAX);
        match item.tag {
            tag::MULTIERROR => options.multi_error = number != 0,
            tag::RECORD_COUNTS => options.record_counts = number != 0,
            tag::BUFFER_BYTES_SIZE if number == 0 => options.buffer_bytes = BUFFER_BYTES_MAX,
            tag::BUFFER_BYTES_SIZE => options.buffer_bytes = number.min(BUFFER_BYTES_MAX),
            tag::DETAILED_ERRORS => options.detailed_errors = number.min(DETAILED_ERRORS_MAX),
            _ => {}
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use farbird_wire::clumplet::ClumpletWriter;

    use super::*;

    #[test]
    fn sizes_are_bounded_and_zero_means_the_most() {
        assert_eq!(parse(&[]).unwrap().buffer_bytes, BUFFER_BYTES_DEFAULT);
        let mut writer = ClumpletWriter::batch();
        writer
            .integer(tag::BUFFER_BYTES_SIZE, 0)
            .integer(tag::MULTIERROR, 1)
            .integer(tag::DETAILED_ERRORS, 9999);
        let options = parse(&writer.into_bytes()).unwrap();
        assert_eq!((options.buffer_bytes, options.detailed_errors), (BUFFER_BYTES_MAX, DETAILED_ERRORS_MAX));
        assert!(options.multi_error && !options.record_counts);
    }
}
