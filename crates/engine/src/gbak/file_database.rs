//! A database as a backup in gbak's format reads it: by statements, in one snapshot. A file that nobody has open, or what an
//! attachment sees.

use std::cell::RefCell;
use std::ops::DerefMut;
use std::path::Path;
use std::sync::Arc;

use farbird_gbak::write::{ArrayColumn, BlobShape, BlobSink, Database, RowVisitor};
use farbird_store::{SegmentRead, StoreOptions};
use farbird_types::{BlobId, CharacterSet, Error, Value};

use super::runner::stop_with;
use crate::api::{
    AttachOptions, BlobParameters, ClientDescription, ExecuteOptions, FetchEnd, Rows, TransactionHandle,
    TransactionParameters,
};
use crate::attachment::Attachment;
use crate::backup::CancelFlag;
use crate::engine::Engine;
use crate::users::NoUsers;

/// As whom the file is read: its files are open to whoever runs the program.
const READER: &str = "SYSDBA";
/// Rows fetched at a time.
const ROWS_PER_FETCH: usize = 256;
/// Longest segment of a backup.
const SEGMENT_BYTES_MAX: usize = u16::MAX as usize;

/// Why a database cannot be read, or what is read cannot be written.
#[derive(Debug)]
pub enum CopyError {
    /// What the database says.
    Status(Error),
    /// What the output says.
    Io(std::io::Error),
}

impl std::fmt::Display for CopyError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CopyError::Status(error) => error.fmt(out),
            CopyError::Io(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for CopyError {}

impl From<Error> for CopyError {
    fn from(error: Error) -> Self {
        CopyError::Status(error)
    }
}

impl From<std::io::Error> for CopyError {
    fn from(error: std::io::Error) -> Self {
        CopyError::Io(error)
    }
}

/// A database file that nobody has open, attached for reading; or, behind a reference, a database that somebody is attached to.
pub struct FileDatabase<A = Box<Attachment>> {
    attachment: RefCell<A>,
    transaction: TransactionHandle,
}

impl FileDatabase {
    /// Attaches a file. When `cancel` is raised what runs is stopped, and nothing runs any more.
    ///
    /// # Errors
    /// As [`Engine::attach`].
    pub fn open(path: &Path, cancel: &Arc<CancelFlag>) -> Result<FileDatabase, Error> {
        let options = AttachOptions {
            user: READER.to_owned(),
            // Texts come as they are stored.
            character_set: CharacterSet::NONE,
            dialect: 3,
            role: None,
            time_zone: None,
            no_database_triggers: true,
            client: ClientDescription::default(),
        };
        let store = StoreOptions { background_sweep: false, ..StoreOptions::default() };
        let mut attachment = Engine::new(store).attach(path, options, Arc::new(NoUsers))?;
        stop_with(&attachment.interrupt(), cancel);
        let transaction = attachment.start_transaction(TransactionParameters {
            read_only: true,
            ..TransactionParameters::default()
        })?;
        Ok(FileDatabase { attachment: RefCell::new(Box::new(attachment)), transaction })
    }
}

impl<'a> FileDatabase<&'a mut Attachment> {
    /// What an attachment sees in a transaction.
    pub(super) fn attached(attachment: &'a mut Attachment, transaction: TransactionHandle) -> Self {
        FileDatabase { attachment: RefCell::new(attachment), transaction }
    }
}

impl<A: DerefMut<Target = Attachment>> Database for FileDatabase<A> {
    type Error = CopyError;

    fn query(&self, sql: &str, row: &mut RowVisitor<'_, CopyError>) -> Result<(), CopyError> {
        let statement = {
            let mut attachment = self.attachment.borrow_mut();
            let dialect = attachment.database().catalog().database.dialect;
            let statement = attachment.allocate_statement()?;
            attachment.prepare(statement, Some(self.transaction), sql, dialect)?;
            attachment.execute(statement, Some(self.transaction), Vec::new(), ExecuteOptions::default())?;
            statement
        };
        let mut rows = Rows::default();
        loop {
            let width = self.attachment.borrow().describe(statement)?.columns.len();
            rows.reset(width);
            let end = self.attachment.borrow_mut().fetch(statement, ROWS_PER_FETCH, &mut rows)?;
            for values in rows.iter() {
                row(values)?;
            }
            if end == FetchEnd::EndOfCursor {
                break;
            }
        }
        Ok(self.attachment.borrow_mut().drop_statement(statement)?)
    }

    fn blob(&self, id: BlobId, _bytes: u64, sink: &mut dyn BlobSink<CopyError>) -> Result<(), CopyError> {
        let mut attachment = self.attachment.borrow_mut();
        let blob = attachment.open_blob(self.transaction, id, BlobParameters::default())?;
        let facts = attachment.blob_facts(blob)?;
        let whole = facts.longest_segment as usize <= SEGMENT_BYTES_MAX && !facts.stream;
        let longest = if whole { facts.longest_segment as usize } else { SEGMENT_BYTES_MAX };
        let segments = match whole {
            true => facts.segments,
            false => facts.total_bytes.div_ceil(SEGMENT_BYTES_MAX as u64),
        };
        let longest = u16::try_from(longest).unwrap_or(u16::MAX);
        sink.begin(BlobShape { stream: facts.stream, segments, longest })?;
        let blob = match whole {
            true => blob,
            false => {
                attachment.close_blob(blob)?;
                attachment.open_blob_as_stream(self.transaction, id)?
            }
        };
        let mut segment = Vec::new();
        loop {
            let read = attachment.get_segment(blob, SEGMENT_BYTES_MAX - segment.len(), &mut segment)?;
            let is_end = read == SegmentRead::End;
            let is_segment = if whole { !is_end } else { segment.len() == SEGMENT_BYTES_MAX || is_end };
            if is_segment && !(is_end && segment.is_empty()) {
                sink.segment(&segment)?;
                segment.clear();
            }
            if is_end {
                break;
            }
        }
        Ok(attachment.close_blob(blob)?)
    }

    fn array(&self, id: BlobId, column: ArrayColumn<'_>) -> Result<Vec<Value>, CopyError> {
        let attachment = self.attachment.borrow();
        let mut memory = attachment.working_memory();
        Ok(attachment.array_slice(self.transaction, id, column.bounds, &mut memory)?)
    }
}
