//! INSERT into external tables: rows appended to their files, at once and for good.
//!
//! What is appended stays, whatever becomes of the transaction, as in Firebird. A row is written whole, and rows of several writers come
//! one after the other; the end of a row that a crash has left in the file is cut off before the next one.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

use farbird_catalog::external::fixed_record;
use farbird_catalog::{Relation, RelationId};
use farbird_expression::ExecutionContext;
use farbird_record::FixedRecord;
use farbird_session::external_files::ExternalFolders;
use farbird_types::{Error, Result, Value, isc};
use parking_lot::Mutex;

/// The files to which a transaction has appended: they stay open as long as it lasts.
#[derive(Default)]
struct OpenFiles(Mutex<HashMap<RelationId, Arc<OpenFile>>>);

/// A file to which rows of a table are appended.
struct OpenFile {
    /// The table's definition: another one may name another file.
    relation: Arc<Relation>,
    name: String,
    file: File,
    record: FixedRecord,
}

/// Appends a row, by slot.
///
/// # Errors
/// `read_only_trans` and `read_only_database`; those of opening and writing the file.
pub(crate) fn append(relation: &Arc<Relation>, row: &[Value], context: &ExecutionContext<'_>) -> Result<()> {
    if context.database.catalog().database.read_only {
        return Err(Error::new(isc::READ_ONLY_DATABASE));
    }
    if context.transaction.parameters.read_only {
        return Err(Error::new(isc::READ_ONLY_TRANS));
    }
    let folders = context.database.external_folders();
    let open = open(relation, &folders, context)?;
    let mut bytes = Vec::with_capacity(open.record.length());
    open.record.encode(row, &mut bytes)?;
    let length = u64::try_from(open.record.length()).unwrap_or(u64::MAX);
    folders.append(&open.name, &open.file, &bytes, |_, end| Ok((end - end % length.max(1), &[])))
}

fn open(
    relation: &Arc<Relation>,
    folders: &ExternalFolders,
    context: &ExecutionContext<'_>,
) -> Result<Arc<OpenFile>> {
    let mut files = context.transaction.kept.get::<OpenFiles>().0.lock();
    if let Some(known) = files.get(&relation.id).filter(|known| Arc::ptr_eq(&known.relation, relation)) {
        return Ok(Arc::clone(known));
    }
    let name = relation.external_file().unwrap_or_default();
    let record = fixed_record(relation)
        .ok_or_else(|| Error::internal("an external table whose columns cannot be in a file"))?;
    let file = folders.open_to_append(name)?;
    let open = Arc::new(OpenFile { relation: Arc::clone(relation), name: name.to_owned(), file, record });
    files.insert(relation.id, Arc::clone(&open));
    Ok(open)
}
