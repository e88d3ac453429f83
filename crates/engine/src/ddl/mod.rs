//! Statements that change the catalog.
//!
//! DDL is transactional: it changes the transaction's own catalog and writes the changed objects into its write set;
//! the commit publishes both. A statement that fails leaves nothing.
//!
//! As in Firebird, definitions that others have committed are seen whatever the isolation level; changing one that is
//! newer than the transaction's snapshot is an update conflict, and a table in use by others can be locked against.
//!
//! | file | subject |
//! |---|---|
//! | `editor` | what a statement has at hand to change the catalog |
//! | `table`, `alter_table`, `column`, `column_type`, `constraint`, `reference` | tables |
//! | `index`, `domain`, `sequence`, `exception`, `view`, `collation`, `character_set`, `role` | the other objects |
//! | `routine`, `trigger`, `signature` | procedures, functions and triggers: their texts, and what they are declared with |
//! | `package` | packages: header and body, with the routines in them |
//! | `privilege` | GRANT and REVOKE |
//! | `user` | users, which the server keeps |
//! | `mapping` | mappings of users |
//! | `external_function` | functions of libraries |
//! | `external_table` | what the definitions of external tables may say |
//! | `external_pool` | the pool of connections to other databases |
//! | `comment` | COMMENT ON |
//! | `hidden_source` | sources that are no longer shown |
//! | `drop` | DROP of anything but packages |
//! | `watched` | DDL triggers |
//! | `error` | the statuses |

mod alter_table;
mod character_set;
mod collation;
pub(crate) mod collation_data;
mod column;
mod column_type;
mod comment;
mod constraint;
mod constraint_parts;
mod database;
mod domain;
mod drop;
mod editor;
mod error;
mod exception;
mod external_function;
mod external_pool;
mod external_table;
mod following;
pub(crate) mod hidden_source;
mod index;
mod mapping;
mod package;
mod privilege;
mod reference;
mod rights;
mod role;
mod routine;
mod security_database;
mod sequence;
mod signature;
mod table;
mod table_edit;
mod table_finish;
mod trigger;
mod user;
mod view;
mod watched;

use std::sync::Arc;

use editor::Editor;
use farbird_sql::ast::{DdlStatement, DropKind};
use farbird_types::Result;

use crate::expression::ExecutionContext;

/// Runs a DDL statement; `text` is how it was written.
///
/// Users and global mappings are not of the catalog: what is asked to be done to them is added to the transaction's `user_changes`.
///
/// # Errors
/// As Firebird 4 gives them, under `isc_no_meta_update` and the statement's own heading ("CREATE TABLE T failed").
/// Everything the statement did is undone then.
pub(crate) fn execute(
    context: &mut ExecutionContext<'_>,
    statement: &DdlStatement,
    text: &Arc<str>,
) -> Result<()> {
    let of_role = mapping::of_role(statement)?;
    let statement = of_role.as_ref().unwrap_or(statement);
    let transaction = context.transaction;
    let savepoint = transaction.store.savepoint();
    let mark = {
        let committed = context.database.catalog();
        let mut catalog = transaction.catalog.lock();
        catalog.refresh(&committed);
        catalog.mark()
    };
    let user_changes = transaction.user_changes.lock().len();
    let mut editor = Editor::new(context);
    let done = package::check_items(statement)
        .and_then(|()| signature::check_signature(&editor, statement))
        .map_err(|failure| error::under_heading(statement, failure))
        .and_then(|()| watched::run(&mut editor, statement, text, run));
    match done {
        Ok(()) => {
            transaction.store.release(savepoint);
            Ok(())
        }
        Err(failure) => {
            transaction.catalog.lock().restore(&mark);
            transaction.user_changes.lock().truncate(user_changes);
            transaction.store.rollback_to(savepoint)?;
            Err(failure)
        }
    }
}

fn run(editor: &mut Editor<'_, '_>, statement: &DdlStatement) -> Result<()> {
    match statement {
        DdlStatement::CreateTable(it) => table::create(editor, it),
        DdlStatement::AlterTable(it) => alter_table::alter(editor, it),
        DdlStatement::DefineView(it) => view::define(editor, it),
        DdlStatement::CreateIndex(it) => index::create(editor, it),
        DdlStatement::AlterIndex { name, active } => index::set_active(editor, name.as_str(), *active),
        DdlStatement::SetStatistics(name) => index::set_statistics(editor, name.as_str()),
        DdlStatement::CreateDomain(it) => domain::create(editor, it),
        DdlStatement::AlterDomain(it) => domain::alter(editor, it),
        DdlStatement::DefineSequence(it) => sequence::define(editor, it),
        DdlStatement::DefineException(it) => exception::define(editor, it),
        DdlStatement::DefineProcedure(it) => routine::define_procedure(editor, it),
        DdlStatement::DefineFunction(it) => routine::define_function(editor, it),
        DdlStatement::AlterRoutineOptions(it) => routine::alter_options(editor, it),
        DdlStatement::DefineTrigger(it) => trigger::define(editor, it),
        DdlStatement::CreateCollation(it) => collation::create(editor, it),
        DdlStatement::DefineRole(it) => role::define(editor, it),
        DdlStatement::DefineUser(it) => user::define(editor, it),
        DdlStatement::Grant(it) => privilege::change(editor, it),
        DdlStatement::Comment(it) => comment::set(editor, it),
        DdlStatement::AlterDatabase(changes) => database::alter(editor, changes),
        DdlStatement::Drop(it) => match it.kind {
            DropKind::Package => package::drop_package(editor, it.name.as_str()),
            DropKind::PackageBody => package::drop_body(editor, it.name.as_str()),
            _ => drop::drop(editor, it),
        },
        DdlStatement::CreateDatabase(it) => database::complete(editor, it),
        DdlStatement::DropDatabase => Err(error::unsupported("DROP DATABASE as a statement")),
        DdlStatement::DefinePackage(it) => package::define_header(editor, it),
        DdlStatement::DefinePackageBody(it) => package::define_body(editor, it),
        DdlStatement::DeclareExternalFunction(it) => external_function::declare(editor, it),
        DdlStatement::AlterExternalFunction { name, entry_point, module_name } => {
            let (entry_point, module) = (entry_point.as_deref(), module_name.as_deref());
            external_function::alter(editor, name.as_str(), entry_point, module)
        }
        DdlStatement::DeclareFilter(_) => Err(error::unsupported("a BLOB filter")),
        DdlStatement::AlterCharacterSet { name, collation } => character_set::alter(editor, name, collation),
        DdlStatement::CreateShadow(_) => Err(error::unsupported("a shadow")),
        DdlStatement::DefineMapping(it) => mapping::define(editor, it),
        DdlStatement::AlterConnectionsPool(change) => external_pool::alter(editor, change),
    }
}
