//! External tables: what their definitions may say.
//!
//! Where the file is, and whether it may be used, is asked when it is (observed on Firebird 5): a definition is taken anywhere.

use farbird_types::{Error, Result, SqlType, isc};

use crate::catalog::external::{RECORD_BYTES_MAX, columns_in_file, fixed_record};
use crate::catalog::{Relation, RelationKind};
use crate::ddl::error;

/// Longest name of a file, in bytes: that of RDB$EXTERNAL_FILE.
const FILE_NAME_BYTES_MAX: usize = 255;

/// The kind of a table in a file of this name.
///
/// # Errors
/// For a name that is too long, or one that names another machine.
pub(super) fn kind(file: &str) -> Result<RelationKind> {
    if file.len() > FILE_NAME_BYTES_MAX {
        return Err(Error::new(isc::DYN_NAME_LONGER));
    }
    if names_a_machine(file) {
        return Err(error::file_on_another_machine());
    }
    Ok(RelationKind::External { file: file.to_owned() })
}

/// Whether a name is that of a file elsewhere: `host:file`. One letter is a drive.
fn names_a_machine(file: &str) -> bool {
    file.split_once(':').is_some_and(|(host, _)| host.len() > 1 && !host.contains(['/', '\\']))
}

/// Checks that the columns of an external table can be in its file, and that it has nothing that needs rows of the database.
///
/// # Errors
/// `dsql_type_not_supp_ext_tab`, `extfile_uns_op`, `rec_size_err`.
pub(super) fn check(relation: &Relation) -> Result<()> {
    for column in relation.columns.iter().filter(|column| column.computed_source.is_none()) {
        let refused = match column.sql_type {
            SqlType::Blob { .. } => "BLOB",
            SqlType::Array => "ARRAY",
            _ => continue,
        };
        return Err(error::type_not_in_external_table(refused, &relation.name, &column.name));
    }
    if !relation.indexes.is_empty() {
        return Err(Error::new(isc::NO_META_UPDATE).and(isc::EXTFILE_UNS_OP).with(relation.name.clone()));
    }
    let has_columns = columns_in_file(relation).iter().any(Option::is_some);
    if has_columns && fixed_record(relation).is_none() {
        let most = i32::try_from(RECORD_BYTES_MAX).unwrap_or(i32::MAX);
        return Err(Error::new(isc::NO_META_UPDATE).and(isc::REC_SIZE_ERR).with(most + 1));
    }
    Ok(())
}
