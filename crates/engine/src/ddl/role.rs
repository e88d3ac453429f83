//! Roles: CREATE, ALTER.

use std::sync::Arc;

use farbird_sql::ast::{DefineMode, DefineRole};
use farbird_types::{Error, Result, isc};

use crate::catalog::privileges::{self, DdlAction};
use crate::catalog::{CatalogObject, ObjectKind, Role};
use crate::ddl::editor::Editor;
use crate::ddl::error;

/// Names that a role cannot have.
const RESERVED: [&str; 2] = ["NONE", "PUBLIC"];

/// CREATE ROLE; ALTER ROLE with nothing that this server keeps.
pub(super) fn define(editor: &mut Editor<'_, '_>, ast: &DefineRole) -> Result<()> {
    let name = ast.name.as_str();
    let catalog = editor.catalog();
    if ast.mode == DefineMode::Alter {
        if !catalog.roles.contains_key(name) {
            return Err(Error::new(isc::DYN_ROLE_NOT_FOUND).with(name));
        }
        // Administrators of the operating system are none here: there is nobody to map.
        return match (&ast.system_privileges, ast.auto_admin_mapping) {
            (None, Some(_)) => Ok(()),
            (Some(privileges), None) if privileges.is_empty() => Ok(()),
            _ => Err(error::unsupported("a role with system privileges")),
        };
    }
    if RESERVED.contains(&name) {
        return Err(Error::new(isc::DYN_KYWD_SPEC_FOR_ROLE).with(name));
    }
    if name == editor.user() {
        return Err(Error::new(isc::DYN_INV_SQL_ROLE_NAME).with(name));
    }
    if catalog.roles.contains_key(name) {
        return Err(error::role_exists(name));
    }
    privileges::check_ddl(editor.context, ObjectKind::Role, DdlAction::Create, name)?;
    if ast.system_privileges.as_ref().is_some_and(|privileges| !privileges.is_empty()) {
        return Err(error::unsupported("a role with system privileges"));
    }
    editor.put(CatalogObject::Role(Arc::new(Role {
        name: name.to_owned(),
        owner: editor.user().to_owned(),
        description: None,
        system: false,
    })))
}
