//! Exceptions: CREATE, ALTER.

use std::sync::Arc;

use farbird_sql::ast::{DefineException, DefineMode};
use farbird_types::Result;

use crate::catalog::privileges::DdlAction;
use crate::catalog::{CatalogObject, ExceptionDefinition, ObjectKind};
use crate::ddl::editor::Editor;
use crate::ddl::{drop, error, rights};

/// CREATE | ALTER | CREATE OR ALTER | RECREATE EXCEPTION.
pub(super) fn define(editor: &mut Editor<'_, '_>, ast: &DefineException) -> Result<()> {
    let name = ast.name.as_str();
    let existing = editor.catalog().exceptions.get(name).cloned();
    match (ast.mode, existing) {
        (DefineMode::Alter, None) => return Err(error::exception_not_found()),
        (DefineMode::Create, Some(_)) => return Err(error::exception_exists(name)),
        (DefineMode::Alter | DefineMode::CreateOrAlter, Some(existing)) => {
            rights::check_ddl(editor.context, ObjectKind::Exception, DdlAction::Alter, name)?;
            let mut changed = ExceptionDefinition::clone(&existing);
            changed.message.clone_from(&ast.message);
            return editor.put(CatalogObject::Exception(Arc::new(changed)));
        }
        (DefineMode::Recreate, Some(_)) => drop::drop_exception(editor, name)?,
        (DefineMode::Create | DefineMode::CreateOrAlter | DefineMode::Recreate, None) => {}
    }
    rights::check_ddl(editor.context, ObjectKind::Exception, DdlAction::Create, name)?;
    editor.put(CatalogObject::Exception(Arc::new(ExceptionDefinition {
        number: editor.counters().exception_number()?,
        name: name.to_owned(),
        owner: editor.user().to_owned(),
        message: ast.message.clone(),
        description: None,
    })))
}
