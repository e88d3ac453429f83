//! ALTER DATABASE, and the second half of CREATE DATABASE.

use std::sync::Arc;

use farbird_sql::ast::{CreateDatabase, DatabaseChange, SqlSecurity};
use farbird_types::{CharacterSet, Error, Result, isc};

use crate::catalog::privileges::DdlAction;
use crate::catalog::{CatalogObject, DatabaseProperties, ObjectKind};
use crate::ddl::editor::Editor;
use crate::ddl::table::codec_name;
use crate::ddl::{error, rights};

/// CREATE DATABASE inside of the database that it has made: Firebird's client library creates the file by itself and then
/// sends the statement for what it did not understand of it.
pub(super) fn complete(editor: &mut Editor<'_, '_>, ast: &CreateDatabase) -> Result<()> {
    match &ast.character_set {
        Some(name) => alter(editor, &[DatabaseChange::SetDefaultCharacterSet(name.clone())]),
        None => Ok(()),
    }
}

/// ALTER DATABASE.
pub(super) fn alter(editor: &mut Editor<'_, '_>, changes: &[DatabaseChange]) -> Result<()> {
    rights::check_ddl(editor.context, ObjectKind::Database, DdlAction::Alter, "")?;
    let mut database = DatabaseProperties::clone(&editor.catalog().database);
    for change in changes {
        match change {
            DatabaseChange::SetDefaultCharacterSet(name) => {
                database.default_character_set = CharacterSet::by_name(name.as_str())
                    .ok_or_else(|| Error::new(isc::CHARSET_NOT_FOUND).with(name.as_str()))?;
            }
            DatabaseChange::SetLinger(seconds) => database.linger_seconds = Some(*seconds),
            DatabaseChange::DropLinger => database.linger_seconds = None,
            DatabaseChange::SetDefaultSqlSecurity(security) => {
                database.sql_security_definer = Some(*security == SqlSecurity::Definer);
            }
            DatabaseChange::Storage(storage) => database.codec = codec_name(storage)?,
            // There is no replication: nothing changes.
            DatabaseChange::Publication(_)
            | DatabaseChange::IncludeInPublication(_)
            | DatabaseChange::ExcludeFromPublication(_) => {}
            DatabaseChange::AddFile(_) => return Err(error::unsupported("a database of several files")),
            DatabaseChange::AddDifferenceFile(_)
            | DatabaseChange::DropDifferenceFile
            | DatabaseChange::BeginBackup
            | DatabaseChange::EndBackup => {
                let what = "copying the database's file while it is used (gbak -b -se and farbird backup make backups)";
                return Err(error::unsupported(what));
            }
            DatabaseChange::Encrypt { .. } | DatabaseChange::Decrypt => {
                return Err(error::unsupported("database encryption"));
            }
        }
    }
    editor.put(CatalogObject::Database(Arc::new(database)))
}
