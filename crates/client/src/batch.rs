//! The batch API of Firebird 4 and later: rows of one statement in large packets, executed by the server together.

use std::collections::VecDeque;
use std::sync::Arc;

use farbird_types::{BlobId, Error, Result, Value, isc};
use farbird_wire::blob_stream::{ALIGNMENT, BlobStreamItem, BlobStreamPortion, HEADER_BYTES};
use farbird_wire::clumplet::{ClumpletReader, bpb};
use farbird_wire::message::{MessageFormat, MessageRun};
use farbird_wire::packet::{BatchBlobs, BatchCreate, BatchMessages, Reply, Request};
use farbird_wire::protocol::Handle;

use crate::batch_options::{BatchInformation, BatchOptions};
use crate::connection::{Connection, information};
use crate::core::{ObjectRef, Question, Shared, checked};
use crate::error;
use crate::pipeline::Outcome;
use crate::statement::Statement;
use crate::transaction::Transaction;
use crate::typed::Parameters;

/// Bytes of one packet of rows, or of BLOBs.
const PACKET_BYTES: usize = 256 * 1024;
/// Bytes, as the server counts them, after which it is told to execute what it has: a quarter of its default limit, so
/// that it works while the next rows travel.
const EXECUTE_BYTES: usize = 4 * 1024 * 1024;
/// Parameter block of the BLOBs that travel: streams, which have no segments to keep apart.
const STREAM_BPB: [u8; 4] = [bpb::VERSION1, bpb::TYPE, 1, bpb::TYPE_STREAM];

/// Rows for one statement, sent and executed together.
///
/// After a row that fails, the others are executed all the same.
#[derive(Debug)]
pub struct Batch {
    shared: Shared,
    transaction: ObjectRef,
    statement: Statement,
    handle: Handle,
    rows: MessageRun,
    /// Bytes that the server holds, rows and BLOBs.
    held_rows: usize,
    held_blobs: usize,
    row_bytes: usize,
    blobs: u64,
    /// Rows sent and not executed.
    waiting: u64,
    /// Executions under way, each with the position of its first row.
    under_way: VecDeque<(Question, u64)>,
    sent: u64,
    /// Packets whose answers tell only of failures.
    packets: VecDeque<Question>,
    outcome: Outcome,
    stop_at_error: bool,
    /// Bytes, as the server counts them, after which it is told to execute.
    execute_bytes: usize,
    /// Parameter block that travels with each BLOB; empty if the batch has one for all.
    blob_bpb: Vec<u8>,
}

impl Connection {
    /// Begins a batch of a statement with parameters and without rows of its own.
    ///
    /// # Round trips
    /// None yet. All of a batch is one flight for every 4 MiB of rows.
    ///
    /// # Errors
    /// `isc_wish_list` if the server's protocol has no batches (before Firebird 4), or the statement no parameters.
    pub async fn batch(&self, transaction: &Transaction, statement: &Statement) -> Result<Batch> {
        self.batch_with(transaction, statement, &BatchOptions::default()).await
    }

    /// As [`Connection::batch`], with options.
    ///
    /// # Round trips
    /// As [`Connection::batch`].
    ///
    /// # Errors
    /// As [`Connection::batch`].
    pub async fn batch_with(
        &self,
        transaction: &Transaction,
        statement: &Statement,
        options: &BatchOptions,
    ) -> Result<Batch> {
        self.describe(statement).await?;
        let format = statement.input_format().filter(|_| self.version().has_statement_timeout());
        let Some(format) = format.map(Arc::clone) else {
            return Err(Error::new(isc::WISH_LIST).and(isc::RANDOM).with(
                "batches need protocol 16 (Firebird 4) and a statement with parameters; use a pipeline",
            ));
        };
        transaction.handle(&self.shared).await?;
        let handle = statement.handle(&self.shared).await?;
        let packets = VecDeque::from([self.shared.ask(&create(handle, &format, *options))?]);
        Ok(Batch {
            shared: self.shared.clone(),
            transaction: ObjectRef::clone(transaction.object()),
            statement: statement.clone(),
            handle,
            row_bytes: format.aligned_length() as usize,
            rows: MessageRun::new(format),
            held_rows: 0,
            held_blobs: 0,
            blobs: 0,
            waiting: 0,
            under_way: VecDeque::new(),
            sent: 0,
            packets,
            outcome: Outcome::default(),
            stop_at_error: options.stop_at_error,
            execute_bytes: execute_bytes(options.buffer_bytes),
            blob_bpb: STREAM_BPB.to_vec(),
        })
    }
}

/// When the server is told to execute what it holds: at a quarter of its limit.
fn execute_bytes(buffer_bytes: Option<u32>) -> usize {
    let limit = buffer_bytes.filter(|bytes| *bytes > 0).map_or(EXECUTE_BYTES, |bytes| bytes as usize / 4);
    limit.clamp(1, EXECUTE_BYTES)
}

fn create(statement: Handle, format: &Arc<MessageFormat>, options: BatchOptions) -> Request {
    Request::BatchCreate(BatchCreate {
        statement,
        blr: format.to_blr(),
        message_length: format.length(),
        parameters: options.to_bytes(),
        format: Arc::clone(format),
    })
}

impl Batch {
    /// Adds a row. Its values must be of the parameters' own types: nothing is converted.
    ///
    /// # Round trips
    /// None, until so many rows are under way that those before have to be answered first: one for every 4 MiB of them.
    ///
    /// # Errors
    /// A value that does not suit its parameter (the row is then not added), or a lost connection.
    pub async fn add(&mut self, values: impl Parameters) -> Result<()> {
        if self.stop_at_error
            && let Some((_, error)) = self.outcome.failures.first()
        {
            return Err(error.clone());
        }
        self.rows.push(&self.statement.batch_values(&values.values())?)?;
        let rows_bytes = self.held_rows + self.rows.count() as usize * self.row_bytes;
        if rows_bytes >= self.execute_bytes || self.held_blobs >= self.execute_bytes {
            self.execute().await?;
        } else if self.rows.wire().len() >= PACKET_BYTES {
            self.send_rows().await?;
        }
        Ok(())
    }

    /// Sets the parameter block of the BLOBs that are sent with the batch, such as the character set in which their texts
    /// are. To be called before the first row and BLOB.
    ///
    /// # Round trips
    /// None.
    ///
    /// # Errors
    /// `isc_bpb_version`, `isc_wish_list` for a block that does not say that the BLOBs are streams
    /// (`isc_bpb_type_stream`): what [`Batch::add_blob`] sends has no segments. A lost connection; what the server says
    /// comes with the execution.
    pub async fn set_blob_parameters(&mut self, parameters: &[u8]) -> Result<()> {
        let items = ClumpletReader::bpb(parameters).map_err(|_| Error::new(isc::BPB_VERSION))?;
        let mut is_stream = false;
        for item in items {
            let item = item.map_err(|_| Error::new(isc::BPB_VERSION))?;
            is_stream |= item.tag == bpb::TYPE && item.data == [bpb::TYPE_STREAM];
        }
        if !is_stream {
            return Err(Error::new(isc::WISH_LIST).and(isc::RANDOM).with("BLOBs of a batch are streams"));
        }
        self.blob_bpb.clear();
        self.send(&Request::BatchSetBpb { statement: self.handle, bpb: parameters.to_vec() })
    }

    /// Sends a BLOB for a row to be added after it; gives the value by which that row names it.
    ///
    /// # Round trips
    /// As [`Batch::add`].
    ///
    /// # Errors
    /// A BLOB of more than 4 GiB, or a lost connection.
    pub async fn add_blob(&mut self, contents: &[u8]) -> Result<Value> {
        let too_long = || Error::new(isc::IMP_EXC).and(isc::BLOBTOOBIG);
        let length = u32::try_from(contents.len() + self.blob_bpb.len()).map_err(|_| too_long())?;
        self.blobs += 1;
        let id = BlobId(self.blobs);
        let bpb_length = u32::try_from(self.blob_bpb.len()).unwrap_or_default();
        let mut items = vec![BlobStreamItem::Header { id, length, bpb_length }];
        if bpb_length > 0 {
            items.push(BlobStreamItem::Bpb(self.blob_bpb.clone()));
        }
        let mut head_bytes = HEADER_BYTES + bpb_length;
        let mut pieces = contents.chunks(PACKET_BYTES).peekable();
        loop {
            let piece = pieces.next().unwrap_or_default();
            if !piece.is_empty() {
                items.push(BlobStreamItem::Data(piece.to_vec()));
            }
            let bytes = head_bytes + u32::try_from(piece.len()).unwrap_or_default();
            let portion = BlobStreamPortion {
                length: bytes.next_multiple_of(ALIGNMENT),
                items: std::mem::take(&mut items),
            };
            self.held_blobs += portion.length as usize;
            self.send(&Request::BatchBlobStream(BatchBlobs { statement: self.handle, portion }))?;
            self.shared.room().await?;
            head_bytes = 0;
            if pieces.peek().is_none() {
                return Ok(Value::Blob(id));
            }
        }
    }

    /// Lets rows added after it name an existing BLOB; gives the value by which they do.
    ///
    /// # Round trips
    /// None.
    ///
    /// # Errors
    /// A lost connection; what the server says comes with the execution.
    pub async fn register_blob(&mut self, existing: BlobId) -> Result<Value> {
        self.blobs += 1;
        let batch_id = BlobId(self.blobs);
        self.send(&Request::BatchRegisterBlob { statement: self.handle, existing, batch_id })?;
        self.shared.room().await?;
        Ok(Value::Blob(batch_id))
    }

    /// Forgets the rows and BLOBs that have not been executed. Rows are executed when there are 4 MiB of them, and by
    /// [`Batch::finish`].
    ///
    /// # Round trips
    /// None.
    ///
    /// # Errors
    /// A lost connection.
    pub async fn cancel(&mut self) -> Result<()> {
        self.rows = MessageRun::new(Arc::clone(self.rows.format()));
        (self.waiting, self.held_rows, self.held_blobs) = (0, 0, 0);
        self.send(&Request::BatchCancel(self.handle))
    }

    /// Sends the rows added so far and waits until the server has them. They are not executed.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says of them.
    pub async fn sync(&mut self) -> Result<()> {
        self.send_rows().await?;
        let is_known = self.shared.version().has_batch_sync();
        let question = self.shared.ask(if is_known { &Request::BatchSync } else { &Request::Ping })?;
        self.wait_for_packets(&question).await?;
        question.response().await.map(|_| ())
    }

    /// Asks about the batch. Rows that have not left yet are not counted: see [`Batch::sync`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// `isc_wish_list` before protocol 17; what the server says.
    pub async fn information(&mut self) -> Result<BatchInformation> {
        if !self.shared.version().has_batch_sync() {
            return Err(Error::new(isc::WISH_LIST).and(isc::RANDOM).with("this needs protocol 17"));
        }
        let items = information(self.handle, BatchInformation::ITEMS.to_vec());
        let question = self.shared.ask(&Request::BatchInformation(items))?;
        self.wait_for_packets(&question).await?;
        BatchInformation::parse(&question.response().await?.data)
    }

    fn send(&mut self, request: &Request) -> Result<()> {
        self.packets.push_back(self.shared.ask(request)?);
        Ok(())
    }

    async fn send_rows(&mut self) -> Result<()> {
        if self.rows.count() == 0 {
            return Ok(());
        }
        let next = MessageRun::new(Arc::clone(self.rows.format()));
        let rows = std::mem::replace(&mut self.rows, next);
        self.held_rows += rows.count() as usize * self.row_bytes;
        self.waiting += u64::from(rows.count());
        self.send(&Request::BatchMessages(BatchMessages { statement: self.handle, rows }))?;
        self.shared.room().await
    }

    /// Has the server execute what it holds; takes the answers of earlier times.
    async fn execute(&mut self) -> Result<()> {
        self.send_rows().await?;
        if self.waiting == 0 {
            return Ok(());
        }
        let request =
            Request::BatchExecute { statement: self.handle, transaction: self.transaction.handle().await? };
        let question = self.shared.ask(&request)?;
        self.shared.lock().flush();
        self.under_way.push_back((question, self.sent));
        self.sent += self.waiting;
        (self.waiting, self.held_rows, self.held_blobs) = (0, 0, 0);
        self.wait_until(usize::from(!self.stop_at_error)).await
    }

    async fn wait_until(&mut self, most: usize) -> Result<()> {
        while self.under_way.len() > most
            && let Some((mut question, first)) = self.under_way.pop_front()
        {
            self.wait_for_packets(&question).await?;
            match question.next().await? {
                Reply::BatchCompletion(completion) => {
                    self.outcome.executed += u64::from(completion.record_count);
                    let told = completion.update_counts.iter();
                    // -1 for rows that failed, -2 for those of which the server does not know.
                    self.outcome.changed.extend(told.map(|count| u32::try_from(*count).ok()));
                    for (row, status) in completion.errors {
                        let error = status.error().unwrap_or_else(|| Error::new(isc::RANDOM));
                        self.outcome.fail(first + u64::from(row), error);
                    }
                    for row in completion.errors_without_detail {
                        self.outcome.fail_without_detail(first + u64::from(row));
                    }
                }
                Reply::Response(response) => {
                    return Err(match checked(response) {
                        Err(error) => self.transaction.explain(error),
                        Ok(_) => self.shared.lock().fail(error::unexpected("op_batch_exec")),
                    });
                }
                _ => return Err(self.shared.lock().fail(error::unexpected("op_batch_exec"))),
            }
        }
        Ok(())
    }

    /// Takes the answers to the packets before an execution.
    async fn wait_for_packets(&mut self, before: &Question) -> Result<()> {
        while self.packets.front().is_some_and(|packet| packet.is_before(before))
            && let Some(packet) = self.packets.pop_front()
        {
            packet.response().await?;
        }
        Ok(())
    }

    /// How many rows are known to have been executed, failures included.
    pub fn executed(&self) -> u64 {
        self.outcome.executed
    }

    /// What has become of rows so far; each failure is told once, here or by [`Batch::finish`].
    pub fn take_outcome(&mut self) -> Outcome {
        self.outcome.take()
    }

    /// Executes what is left and waits for everything.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says of the batch as a whole. What it says of single rows is in the [`Outcome`].
    pub async fn finish(mut self) -> Result<Outcome> {
        self.execute().await?;
        self.wait_until(0).await?;
        Ok(std::mem::take(&mut self.outcome))
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // A connection that has failed has no batch to release.
        let _ = self.shared.send(&Request::BatchRelease(self.handle));
    }
}
