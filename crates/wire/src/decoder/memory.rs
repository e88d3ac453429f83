//! What a decoder must remember to find the ends of packets: formats by statement and request, batches.
//!
//! Promises: what is remembered is bounded by [`DESCRIPTORS_MAX`].
//! Source: wire-protocol.md, 7.5.

use std::collections::HashMap;
use std::sync::Arc;

use crate::blob_stream::{BlobStreamState, PortionProgress};
use crate::message::{MessageFormat, MessageType};
use crate::packet::{Execute, Request};
use crate::protocol::{Handle, free_statement};
use crate::xdr::{DecodeError, Reader, Stop};

/// Most message descriptors remembered by one decoder, over all statements and requests: about 60 MB.
pub const DESCRIPTORS_MAX: usize = 4 * 1024 * 1024;

#[derive(Debug, Default)]
struct StatementMemory {
    input: Option<Input>,
    output: Option<Arc<MessageFormat>>,
    batch: Option<Batch>,
}

#[derive(Debug)]
struct Input {
    blr: Vec<u8>,
    format: Arc<MessageFormat>,
}

#[derive(Debug)]
struct Batch {
    format: Arc<MessageFormat>,
    stream: BlobStreamState,
}

/// Formats described so far. A batch's outlives its release: what is sent to it then is refused, and must be understood for
/// that., and how far a long packet has been read.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    statements: HashMap<Handle, StatementMemory>,
    requests: HashMap<Handle, Vec<Arc<MessageFormat>>>,
    descriptors: usize,
    /// The last BLR of rows that was understood: clients send the same again and again.
    rows_blr: Option<Input>,
    batch_progress: Option<BatchProgress>,
    pub(crate) stream_progress: Option<PortionProgress>,
    /// Format of the rows that answer the oldest request, for replies.
    pub(super) row: Option<Arc<MessageFormat>>,
    /// Element type of the slice that answers the oldest request, for replies.
    pub(super) element: Option<MessageType>,
}

/// How much of an op_batch_msg has been walked.
#[derive(Debug)]
struct BatchProgress {
    rows: u32,
    bytes: usize,
}

impl StatementMemory {
    fn descriptors(&self) -> usize {
        let count = |format: &Arc<MessageFormat>| format.types().len();
        self.input.as_ref().map_or(0, |input| count(&input.format))
            + self.output.as_ref().map_or(0, count)
            + self.batch.as_ref().map_or(0, |batch| count(&batch.format))
    }
}

/// Whether so many descriptors may be remembered.
fn check(count: usize) -> Result<(), DecodeError> {
    let limit = DESCRIPTORS_MAX;
    if count > limit { Err(DecodeError::TooMany { offset: 0, count, limit }) } else { Ok(()) }
}

impl Memory {
    /// The format of a statement's parameters: of this BLR, or if it is empty, of the last one.
    pub(crate) fn input_format(
        &self,
        statement: Handle,
        blr: &[u8],
    ) -> Result<Arc<MessageFormat>, DecodeError> {
        let known = self.statements.get(&statement).and_then(|memory| memory.input.as_ref());
        match known {
            Some(input) if blr.is_empty() || input.blr == blr => Ok(Arc::clone(&input.format)),
            _ => match MessageFormat::parse(blr)? {
                Some(format) => Ok(Arc::new(format)),
                None => Err(DecodeError::NoFormat { object: statement.0 }),
            },
        }
    }

    /// The format that this BLR of rows describes; none if it is empty.
    pub(crate) fn row_format(&mut self, blr: &[u8]) -> Result<Option<Arc<MessageFormat>>, DecodeError> {
        match &self.rows_blr {
            Some(known) if known.blr == blr => Ok(Some(Arc::clone(&known.format))),
            _ => {
                let format = MessageFormat::parse(blr)?.map(Arc::new);
                if let Some(format) = &format {
                    self.rows_blr = Some(Input { blr: blr.to_vec(), format: Arc::clone(format) });
                }
                Ok(format)
            }
        }
    }

    /// The format of a message of a compiled request.
    pub(crate) fn request_format(
        &self,
        request: Handle,
        message_number: u16,
    ) -> Result<Arc<MessageFormat>, DecodeError> {
        let formats = self.requests.get(&request).map(Vec::as_slice).unwrap_or_default();
        let format = formats.iter().find(|format| u16::from(format.number()) == message_number);
        format.cloned().ok_or(DecodeError::NoFormat { object: request.0 })
    }

    /// The format of a batch's rows.
    pub(crate) fn batch_format(&self, statement: Handle) -> Result<Arc<MessageFormat>, DecodeError> {
        self.batch(statement).map(|batch| Arc::clone(&batch.format))
    }

    /// Where a batch's blob stream stands.
    pub(crate) fn blob_stream(&self, statement: Handle) -> Result<BlobStreamState, DecodeError> {
        self.batch(statement).map(|batch| batch.stream.clone())
    }

    pub(crate) fn set_blob_stream(&mut self, statement: Handle, stream: BlobStreamState) {
        if let Some(batch) = self.statements.get_mut(&statement).and_then(|memory| memory.batch.as_mut()) {
            batch.stream = stream;
        }
    }

    fn batch(&self, statement: Handle) -> Result<&Batch, DecodeError> {
        let batch = self.statements.get(&statement).and_then(|memory| memory.batch.as_ref());
        batch.ok_or(DecodeError::NoFormat { object: statement.0 })
    }

    /// Moves the reader behind the rows that an earlier attempt at this packet found whole.
    pub(crate) fn take_batch_progress(&mut self, reader: &mut Reader<'_>) -> Result<u32, Stop> {
        match self.batch_progress.take() {
            None => Ok(0),
            Some(progress) => {
                reader.raw(progress.bytes)?;
                Ok(progress.rows)
            }
        }
    }

    pub(crate) fn keep_batch_progress(&mut self, rows: u32, bytes: usize) {
        self.batch_progress = Some(BatchProgress { rows, bytes });
    }

    pub(crate) fn expected_row(&self) -> Result<Arc<MessageFormat>, DecodeError> {
        self.row.clone().ok_or(DecodeError::NoFormat { object: 0 })
    }

    pub(crate) fn expected_element(&self) -> Result<MessageType, DecodeError> {
        self.element.ok_or(DecodeError::NoFormat { object: 0 })
    }

    /// The format of the rows that an op_fetch brings.
    pub(super) fn output_format(&self, statement: Handle) -> Option<Arc<MessageFormat>> {
        self.statements.get(&statement).and_then(|memory| memory.output.clone())
    }

    pub(super) fn forget_statement(&mut self, statement: Handle) {
        if let Some(memory) = self.statements.remove(&statement) {
            self.descriptors -= memory.descriptors();
        }
    }

    pub(super) fn set_request(
        &mut self,
        request: Handle,
        formats: Vec<Arc<MessageFormat>>,
    ) -> Result<(), DecodeError> {
        self.forget_request(request);
        let descriptors = formats.iter().map(|format| format.types().len()).sum::<usize>();
        check(self.descriptors + descriptors)?;
        self.descriptors += descriptors;
        self.requests.insert(request, formats);
        Ok(())
    }

    fn forget_request(&mut self, request: Handle) {
        if let Some(formats) = self.requests.remove(&request) {
            self.descriptors -= formats.iter().map(|format| format.types().len()).sum::<usize>();
        }
    }

    fn update(
        &mut self,
        statement: Handle,
        change: impl FnOnce(&mut StatementMemory),
    ) -> Result<(), DecodeError> {
        let memory = self.statements.entry(statement).or_default();
        let before = memory.descriptors();
        change(memory);
        self.descriptors = self.descriptors - before + memory.descriptors();
        check(self.descriptors)
    }

    /// Whether the statement's parameters are remembered in this very form already.
    fn is_known(&self, execute: &Execute) -> bool {
        let known = || self.statements.get(&execute.statement).and_then(|memory| memory.input.as_ref());
        execute.input_blr.is_empty() || known().is_some_and(|input| input.blr == execute.input_blr)
    }

    fn note_execute(
        &mut self,
        execute: &Execute,
        output: Option<&Arc<MessageFormat>>,
    ) -> Result<(), DecodeError> {
        let input = match &execute.message {
            Some(message) if !self.is_known(execute) => {
                Some(Input { blr: execute.input_blr.clone(), format: Arc::clone(message.format()) })
            }
            _ => None,
        };
        if input.is_none() && output.is_none() {
            return Ok(());
        }
        self.update(execute.statement, |memory| {
            if let Some(input) = input {
                memory.input = Some(input);
            }
            if let Some(output) = output {
                memory.output = Some(Arc::clone(output));
            }
        })
    }

    /// Remembers what a request described and forgets what it frees.
    pub(super) fn note(&mut self, request: &Request) -> Result<(), DecodeError> {
        match request {
            Request::Execute(execute) => self.note_execute(execute, None),
            Request::Execute2(execute2) => {
                self.note_execute(&execute2.execute, execute2.output.format.as_ref())
            }
            Request::Fetch(fetch) => self.note_output(fetch.statement, fetch.output.format.as_ref()),
            Request::FetchScroll(scroll) => {
                self.note_output(scroll.fetch.statement, scroll.fetch.output.format.as_ref())
            }
            Request::BatchCreate(batch) => {
                let (format, stream) = (Arc::clone(&batch.format), BlobStreamState::default());
                self.update(batch.statement, |memory| memory.batch = Some(Batch { format, stream }))
            }
            Request::BatchSetBpb { statement, bpb } => {
                match self.statements.get_mut(statement).and_then(|memory| memory.batch.as_mut()) {
                    Some(batch) => batch.stream.set_default(bpb),
                    None => Ok(()),
                }
            }
            Request::Prepare(text) => {
                self.forget_statement(text.statement);
                Ok(())
            }
            Request::FreeStatement { statement, option } => {
                if option & free_statement::DROP != 0 {
                    self.forget_statement(*statement);
                }
                Ok(())
            }
            Request::Release(request) => {
                self.forget_request(*request);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn note_output(
        &mut self,
        statement: Handle,
        output: Option<&Arc<MessageFormat>>,
    ) -> Result<(), DecodeError> {
        match output {
            None => Ok(()),
            Some(format) => {
                let format = Arc::clone(format);
                self.update(statement, |memory| memory.output = Some(format))
            }
        }
    }
}
