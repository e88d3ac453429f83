//! Statements whose effect is where the users are: global mappings, and who may create databases.

use farbird_sql::ast::{DdlStatement, StatementKind};
use farbird_types::{Error, Result};

use crate::catalog::privileges;
use crate::ddl::editor::Editor;
use crate::ddl::error;
use crate::users::UserChange;

/// Has a statement run there when the transaction commits.
///
/// # Errors
/// `denied` for who does not administer the server; those that the statement would have if it ran now.
pub(super) fn run(editor: &Editor<'_, '_>, statement: DdlStatement, denied: Error) -> Result<()> {
    let context = &editor.context;
    let users = &*context.database.users;
    // As in Firebird what happens there is said under a heading of its own.
    if !privileges::manages_users(&editor.catalog(), context.session, users)? {
        return Err(error::under_heading(&statement, denied));
    }
    let change = UserChange::Statement(StatementKind::Ddl(Box::new(statement)).to_string());
    let mut changes = context.transaction.user_changes.lock();
    let is_statement = |change: &&UserChange| matches!(change, UserChange::Statement(_));
    let mut tried: Vec<UserChange> = changes.iter().filter(is_statement).cloned().collect();
    tried.push(change.clone());
    // Tried and undone: what cannot be done is to be said here, not by the commit.
    drop(users.prepare(&tried).map_err(error::below_heading)?);
    changes.push(change);
    Ok(())
}
