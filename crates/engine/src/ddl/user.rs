//! Users: the server keeps them; what is asked for is collected in the transaction.

use std::collections::BTreeMap;

use farbird_sql::ast::{DefineMode, DefineUser};
use farbird_types::{Error, Result, isc};

use crate::catalog::privileges;
use crate::ddl::editor::Editor;
use crate::ddl::error;
use crate::users::{UserChange, UserSettings};

/// CREATE | ALTER | CREATE OR ALTER | RECREATE USER, ALTER CURRENT USER.
pub(super) fn define(editor: &mut Editor<'_, '_>, ast: &DefineUser) -> Result<()> {
    let settings = UserSettings {
        name: ast.name.as_ref().map_or(own_name(editor), |name| name.as_str()).to_owned(),
        password: ast.password.clone(),
        first_name: ast.first_name.clone(),
        middle_name: ast.middle_name.clone(),
        last_name: ast.last_name.clone(),
        active: ast.active,
        admin: ast.admin_role,
        description: None,
        tags: ast
            .tags
            .iter()
            .map(|tag| (tag.name.as_str().to_owned(), tag.value.clone()))
            .collect::<BTreeMap<_, _>>(),
    };
    let says_something = ast.password.is_some()
        || ast.first_name.is_some()
        || ast.middle_name.is_some()
        || ast.last_name.is_some()
        || ast.active.is_some()
        || ast.admin_role.is_some()
        || !ast.tags.is_empty();
    let is_new = matches!(ast.mode, DefineMode::Create | DefineMode::Recreate);
    if !is_new && !says_something {
        return Err(Error::new(isc::DYN_ALTER_USER_NO_CLAUSE));
    }
    if is_new && ast.password.is_none() {
        return Err(error::password_missing());
    }
    if ast.password.as_ref().is_some_and(String::is_empty) {
        return Err(Error::new(isc::DYN_NO_EMPTY_PW));
    }
    check_may_define(editor, ast)?;
    let change = match ast.mode {
        DefineMode::Create => UserChange::Create(settings),
        DefineMode::Alter => UserChange::Alter(settings),
        DefineMode::CreateOrAlter | DefineMode::Recreate => UserChange::CreateOrAlter(settings),
    };
    editor.context.transaction.user_changes.lock().push(change);
    Ok(())
}

/// Everybody may change their own password and names.
///
/// # Errors
/// `miss_prvlg` for everything else by who does not manage users.
pub(super) fn check_may_define(editor: &Editor<'_, '_>, ast: &DefineUser) -> Result<()> {
    let own = ast.mode == DefineMode::Alter
        && ast.name.as_ref().is_none_or(|name| name.as_str() == own_name(editor))
        && ast.active.is_none()
        && ast.admin_role.is_none();
    if own { Ok(()) } else { check_administrator(editor) }
}

/// Whoever is attached, whatever routine runs, as the server knows them: the database's mappings make nobody another user.
fn own_name<'a>(editor: &'a Editor<'_, '_>) -> &'a str {
    &editor.context.session.server.user
}

/// DROP USER.
pub(super) fn drop(editor: &mut Editor<'_, '_>, name: &str) -> Result<()> {
    check_administrator(editor)?;
    editor.context.transaction.user_changes.lock().push(UserChange::Drop(name.to_owned()));
    Ok(())
}

/// COMMENT ON USER.
pub(super) fn comment(editor: &mut Editor<'_, '_>, name: &str, text: Option<String>) -> Result<()> {
    if name != own_name(editor) {
        check_administrator(editor)?;
    }
    let settings = UserSettings {
        name: name.to_owned(),
        description: Some(text.unwrap_or_default()),
        ..UserSettings::default()
    };
    editor.context.transaction.user_changes.lock().push(UserChange::Alter(settings));
    Ok(())
}

/// Users belong to the server: owning one database is not enough, nor is a routine of SYSDBA's.
pub(super) fn check_administrator(editor: &Editor<'_, '_>) -> Result<()> {
    if privileges::manages_users(&editor.catalog(), editor.context.session, &*editor.context.database.users)?
    {
        return Ok(());
    }
    Err(Error::new(isc::MISS_PRVLG).with("CREATE_USER"))
}
