//! External tables: what their files' records are like.

use farbird_record::FixedRecord;
use farbird_session::external_files::ExternalFolders;
use farbird_types::SqlType;

use crate::Relation;

/// The longest record, in bytes: Firebird's own limit.
pub const RECORD_BYTES_MAX: usize = 65_535;

/// The types of a table's columns in its file, by slot; none for what is not there.
pub fn columns_in_file(relation: &Relation) -> Vec<Option<SqlType>> {
    let mut slots = vec![None; relation.formats.last().map_or(0, |format| format.fields.len())];
    for column in relation.columns.iter().filter(|column| column.computed_source.is_none()) {
        if let Some(slot) = slots.get_mut(usize::from(column.field_id)) {
            *slot = Some(column.sql_type);
        }
    }
    slots
}

/// The records of an external table; none if its columns cannot be.
pub fn fixed_record(relation: &Relation) -> Option<FixedRecord> {
    FixedRecord::of(&columns_in_file(relation))
        .filter(|record| (1..=RECORD_BYTES_MAX).contains(&record.length()))
}

/// About how many rows an external table has, by the length of its file.
pub fn rows_by_length(relation: &Relation, folders: &ExternalFolders) -> Option<u64> {
    let record = u64::try_from(fixed_record(relation)?.length()).ok()?;
    folders.length(relation.external_file()?)?.checked_div(record)
}
