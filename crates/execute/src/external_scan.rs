//! Reading external tables: their files from the beginning to where they ended when the scan began.
//!
//! So a statement that appends to the table that it reads ends. Whole records are read, in blocks of a few; what the file has of another one
//! at its end is passed over, and so is what it has lost meanwhile.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::sync::Arc;

use farbird_budget::Reservation;
use farbird_catalog::external::fixed_record;
use farbird_expression::ExecutionContext;
use farbird_plan::ExternalScan;
use farbird_record::FixedRecord;
use farbird_session::external_files::read_error;
use farbird_types::{Error, Result, Value};

use crate::batch::Batch;
use crate::operator::Operator;

/// Bytes read at a time, if a record is not longer.
const BLOCK_BYTES: usize = 64 << 10;

/// Reads an external table.
pub(crate) struct ExternalScanOperator {
    scan: Arc<ExternalScan>,
    /// From the first opening on, if there is such a file.
    reader: Option<RecordReader>,
    is_open: bool,
    /// Rows handed out since the last opening.
    rows: i64,
}

impl ExternalScanOperator {
    pub(crate) fn new(scan: &Arc<ExternalScan>) -> ExternalScanOperator {
        ExternalScanOperator { scan: scan.clone(), reader: None, is_open: false, rows: 0 }
    }

    fn file_name(&self) -> &str {
        self.scan.relation.external_file().unwrap_or_default()
    }

    fn open_file(&self, context: &ExecutionContext<'_>) -> Result<Option<RecordReader>> {
        let file = self.file_name();
        let record = fixed_record(&self.scan.relation)
            .ok_or_else(|| Error::internal("an external table whose columns cannot be in a file"))?;
        let Some(found) = context.database.external_folders().open(file)? else { return Ok(None) };
        let length = found.metadata().map_err(|error| read_error(file, error))?.len();
        let mut memory = context.budget.reserve();
        let block = record.length() * (BLOCK_BYTES / record.length()).max(1);
        memory.resize(block)?;
        Ok(Some(RecordReader {
            file: found,
            record,
            length,
            left: length,
            block: vec![0; block],
            filled: 0,
            next: 0,
            _memory: memory,
        }))
    }
}

impl Operator for ExternalScanOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        if self.is_open {
            if let Some(reader) = &mut self.reader {
                reader.rewind().map_err(|error| read_error(self.file_name(), error))?;
            }
        } else {
            self.reader = self.open_file(context)?;
            self.is_open = true;
        }
        self.rows = 0;
        Ok(())
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        context.check_interrupt()?;
        batch.reset(self.scan.columns.len() + usize::from(self.scan.row_number));
        while !batch.is_full() {
            let Some(reader) = &mut self.reader else { break };
            let found = reader.advance();
            let Some(reader) = &self.reader else { break };
            if !found.map_err(|error| read_error(self.file_name(), error))? {
                break;
            }
            self.rows += 1;
            let number = self.scan.row_number.then(|| Ok(Value::integer(self.rows)));
            let values = self.scan.columns.iter().map(|slot| reader.value(usize::from(*slot)));
            batch.try_push(values.chain(number))?;
        }
        Ok(!batch.is_empty())
    }
}

/// Reads the records of a file.
struct RecordReader {
    file: File,
    record: FixedRecord,
    /// How long the file was when it was opened.
    length: u64,
    /// Bytes of that which have not been read.
    left: u64,
    /// Room for some records.
    block: Vec<u8>,
    /// Bytes of it that are read, and where the next record begins.
    filled: usize,
    next: usize,
    _memory: Reservation,
}

impl RecordReader {
    /// Goes on to the next whole record; false at the end.
    fn advance(&mut self) -> std::io::Result<bool> {
        let length = self.record.length();
        if self.next + length > self.filled {
            self.fill()?;
        }
        let is_there = self.next + length <= self.filled;
        if is_there {
            self.next += length;
        }
        Ok(is_there)
    }

    /// A value of the record that it has come to.
    fn value(&self, slot: usize) -> Result<Value> {
        let start = self.next.saturating_sub(self.record.length());
        self.record.value(self.block.get(start..self.next).unwrap_or_default(), slot)
    }

    /// Reads the next block, of which nothing is left over.
    fn fill(&mut self) -> std::io::Result<()> {
        (self.filled, self.next) = (0, 0);
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(self.block.len());
        while self.filled < wanted {
            let room = self.block.get_mut(self.filled..wanted).unwrap_or_default();
            match self.file.read(room) {
                // The file has become shorter.
                Ok(0) => break,
                Ok(read) => self.filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.left -= u64::try_from(self.filled).unwrap_or(u64::MAX).min(self.left);
        Ok(())
    }

    fn rewind(&mut self) -> std::io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        (self.left, self.filled, self.next) = (self.length, 0, 0);
        Ok(())
    }
}
