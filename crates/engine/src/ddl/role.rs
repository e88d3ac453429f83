//! Roles: CREATE, ALTER.

use std::sync::Arc;

use farbird_sql::ast::{DefineMode, DefineRole, Name};
use farbird_types::{Error, Result, isc};

use crate::catalog::privileges::DdlAction;
use crate::catalog::{CatalogObject, ObjectKind, Role, SystemPrivilege};
use crate::ddl::editor::Editor;
use crate::ddl::{error, rights};

/// Names that a role cannot have.
const RESERVED: [&str; 2] = ["NONE", "PUBLIC"];

/// CREATE ROLE; ALTER ROLE, of which AUTO ADMIN MAPPING is a mapping's definition.
pub(super) fn define(editor: &mut Editor<'_, '_>, ast: &DefineRole) -> Result<()> {
    let name = ast.name.as_str();
    let catalog = editor.catalog();
    let system_privileges = ast.system_privileges.as_deref().map(bits_of).transpose()?;
    if ast.mode == DefineMode::Alter {
        let Some(existing) = catalog.roles.get(name) else {
            return Err(Error::new(isc::DYN_ROLE_NOT_FOUND).with(name));
        };
        let Some(system_privileges) = system_privileges else { return Ok(()) };
        check_may_privilege(editor)?;
        return editor.put(CatalogObject::Role(Arc::new(Role { system_privileges, ..(**existing).clone() })));
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
    rights::check_ddl(editor.context, ObjectKind::Role, DdlAction::Create, name)?;
    let system_privileges = system_privileges.unwrap_or(0);
    if system_privileges != 0 {
        check_may_privilege(editor)?;
    }
    editor.put(CatalogObject::Role(Arc::new(Role {
        name: name.to_owned(),
        owner: editor.user().to_owned(),
        description: None,
        system: false,
        system_privileges,
    })))
}

/// The bits of RDB$SYSTEM_PRIVILEGES for privileges by name.
fn bits_of(names: &[Name]) -> Result<u64> {
    names.iter().try_fold(0, |bits, name| match SystemPrivilege::named(name.as_str()) {
        Some(privilege) => Ok(bits | privilege.bit()),
        None => Err(Error::new(isc::WRONG_PRVLG).with(name.as_str())),
    })
}

fn check_may_privilege(editor: &Editor<'_, '_>) -> Result<()> {
    let actor = editor.context.actor();
    match actor.has(&editor.catalog(), SystemPrivilege::CreatePrivilegedRoles) {
        true => Ok(()),
        false => Err(Error::new(isc::MISS_PRVLG).with("CREATE_PRIVILEGED_ROLES")),
    }
}
