//! DDL triggers: which events a statement is to them, and when they fire.
//!
//! They fire as Firebird 5 (asked with each kind of statement) fires them: BEFORE when it is known that the user may do what the
//! statement says and that what it changes or drops is there, AFTER when it is done. RECREATE of what exists is DROP and then CREATE. What
//! fires are the triggers that are committed, as they are committed: a transaction that makes, alters or drops one notices only later. Their
//! errors are the statement's, which is undone whole. GRANT, REVOKE, COMMENT ON and statements about the database fire none.

use std::sync::Arc;

use farbird_session::WatchedDefinition;
use farbird_sql::ast::{
    DdlAction, DdlEvent, DdlEventObject, DdlStatement, DefineMode, DomainChange, DropKind, DropObject,
    TriggerEvent,
};
use farbird_types::Result;

use crate::catalog::privileges;
use crate::catalog::{Catalog, ObjectKind};
use crate::ddl::editor::Editor;
use crate::ddl::{error, mapping, rights, user};
use crate::psql;

/// What a statement is to DDL triggers.
struct Event {
    event: DdlEvent,
    name: String,
    /// Its name afterwards.
    new_name: Option<String>,
}

/// Runs a statement, and the triggers that watch it. `text` is how it was written.
///
/// # Errors
/// Those of the statement as `run` gives them, and those of the triggers, under the statement's heading.
pub(super) fn run(
    editor: &mut Editor<'_, '_>,
    statement: &DdlStatement,
    text: &Arc<str>,
    run: impl Fn(&mut Editor<'_, '_>, &DdlStatement) -> Result<()>,
) -> Result<()> {
    let options = &editor.context.session.options;
    let committed = editor.context.database.catalog();
    if options.no_database_triggers || !psql::has_ddl_triggers(&committed) {
        return run(editor, statement).map_err(|failure| error::describe(statement, failure));
    }
    if let Some(drop) = dropped_first(&editor.catalog(), statement) {
        run_one(editor, &drop, statement, text, &run)?;
    }
    run_one(editor, statement, statement, text, &run)
}

/// Runs one step of a statement `whole` that was written.
fn run_one(
    editor: &mut Editor<'_, '_>,
    step: &DdlStatement,
    whole: &DdlStatement,
    text: &Arc<str>,
    run: &impl Fn(&mut Editor<'_, '_>, &DdlStatement) -> Result<()>,
) -> Result<()> {
    let described = |failure| error::describe(whole, failure);
    let Some(event) = event_of(editor, step) else { return run(editor, step).map_err(described) };
    check_rights(editor, step, &event).map_err(described)?;
    fire(editor, &event, false, text).map_err(|failure| error::in_trigger(whole, failure))?;
    run(editor, step).map_err(described)?;
    fire(editor, &event, true, text).map_err(|failure| error::in_trigger(whole, failure))
}

fn fire(editor: &mut Editor<'_, '_>, event: &Event, after: bool, text: &Arc<str>) -> Result<()> {
    let renamed = event.new_name.as_ref().map(|new| (event.name.clone(), new.clone()));
    let object = event.new_name.as_ref().filter(|_| after).unwrap_or(&event.name).clone();
    let definition = WatchedDefinition { event: event.event, object, renamed, sql: Arc::clone(text) };
    let context = &mut *editor.context;
    context.view = context.transaction.store.view_again(&context.view)?;
    // Rows that triggers change are not the statement's.
    let counts = context.counts;
    context.session.watched_definitions.lock().push(Arc::new(definition));
    let fired = psql::fire_ddl_triggers(context, event.event, after);
    context.session.watched_definitions.lock().pop();
    context.counts = counts;
    fired
}

/// What RECREATE drops before it creates.
fn dropped_first(catalog: &Catalog, statement: &DdlStatement) -> Option<DdlStatement> {
    let is_view = |name: &str| catalog.relation(name).is_some_and(|relation| relation.is_view());
    let (mode, kind, name, exists) = match statement {
        DdlStatement::CreateTable(it) => {
            let name = it.name.as_str();
            (it.mode, DropKind::Table, &it.name, catalog.relation(name).is_some() && !is_view(name))
        }
        DdlStatement::DefineView(it) => (it.mode, DropKind::View, &it.name, is_view(it.name.as_str())),
        DdlStatement::DefineSequence(it) => {
            (it.mode, DropKind::Sequence, &it.name, catalog.sequences.contains_key(it.name.as_str()))
        }
        DdlStatement::DefineException(it) => {
            (it.mode, DropKind::Exception, &it.name, catalog.exceptions.contains_key(it.name.as_str()))
        }
        DdlStatement::DefineProcedure(it) => {
            let name = &it.signature.name;
            (it.mode, DropKind::Procedure, name, catalog.procedures.contains_key(name.as_str()))
        }
        DdlStatement::DefineFunction(it) => {
            let name = &it.signature.name;
            (it.mode, DropKind::Function, name, catalog.functions.contains_key(name.as_str()))
        }
        DdlStatement::DefineTrigger(it) => {
            (it.mode, DropKind::Trigger, &it.name, catalog.triggers.contains_key(it.name.as_str()))
        }
        DdlStatement::DefinePackage(it) => {
            (it.mode, DropKind::Package, &it.name, catalog.packages.contains_key(it.name.as_str()))
        }
        DdlStatement::DefinePackageBody(it) => {
            let package = catalog.packages.get(it.name.as_str());
            let has_body = package.is_some_and(|package| package.body_source.is_some());
            (it.mode, DropKind::PackageBody, &it.name, has_body)
        }
        _ => return None,
    };
    let drops = mode == DefineMode::Recreate && exists;
    drops.then(|| {
        let name = name.clone();
        DdlStatement::Drop(DropObject { kind, name, plugin: None, preserve_file: None })
    })
}

/// What a statement is to triggers: nothing if what it would change or drop is not there, and it fails.
fn event_of(editor: &Editor<'_, '_>, statement: &DdlStatement) -> Option<Event> {
    use DdlEventObject as Object;
    let catalog = editor.catalog();
    let (object, action, name) = match statement {
        DdlStatement::CreateTable(it) => (Object::Table, DdlAction::Create, it.name.as_str()),
        DdlStatement::AlterTable(it) => {
            let name = it.name.as_str();
            catalog.relation(name).filter(|relation| !relation.is_view())?;
            (Object::Table, DdlAction::Alter, name)
        }
        DdlStatement::DefineView(it) => {
            let name = it.name.as_str();
            let exists = catalog.relation(name).is_some_and(|relation| relation.is_view());
            (Object::View, defined(it.mode, exists)?, name)
        }
        DdlStatement::CreateIndex(it) => (Object::Index, DdlAction::Create, it.name.as_str()),
        DdlStatement::AlterIndex { name, .. } | DdlStatement::SetStatistics(name) => {
            catalog.index(name.as_str())?;
            (Object::Index, DdlAction::Alter, name.as_str())
        }
        DdlStatement::CreateDomain(it) => (Object::Domain, DdlAction::Create, it.name.as_str()),
        DdlStatement::AlterDomain(it) => {
            catalog.domains.get(it.name.as_str())?;
            let new_name = it.changes.iter().find_map(|change| match change {
                DomainChange::Rename(name) => Some(name.as_str().to_owned()),
                _ => None,
            });
            let event = DdlEvent { action: DdlAction::Alter, object: Object::Domain };
            return Some(Event { event, name: it.name.as_str().to_owned(), new_name });
        }
        DdlStatement::DefineSequence(it) => {
            let name = it.name.as_str();
            (Object::Sequence, defined(it.mode, catalog.sequences.contains_key(name))?, name)
        }
        DdlStatement::DefineException(it) => {
            let name = it.name.as_str();
            (Object::Exception, defined(it.mode, catalog.exceptions.contains_key(name))?, name)
        }
        DdlStatement::DefineProcedure(it) => {
            let name = it.signature.name.as_str();
            (Object::Procedure, defined(it.mode, catalog.procedures.contains_key(name))?, name)
        }
        DdlStatement::DefineFunction(it) => {
            let name = it.signature.name.as_str();
            (Object::Function, defined(it.mode, catalog.functions.contains_key(name))?, name)
        }
        DdlStatement::AlterRoutineOptions(it) => {
            let name = it.name.as_str();
            let (object, routines) = match it.function {
                true => (Object::Function, &catalog.functions),
                false => (Object::Procedure, &catalog.procedures),
            };
            routines.get(name)?;
            (object, DdlAction::Alter, name)
        }
        DdlStatement::DeclareExternalFunction(it) => (Object::Function, DdlAction::Create, it.name.as_str()),
        DdlStatement::AlterExternalFunction { name, .. } => {
            catalog.functions.get(name.as_str())?;
            (Object::Function, DdlAction::Alter, name.as_str())
        }
        DdlStatement::DefineTrigger(it) => {
            let name = it.name.as_str();
            (Object::Trigger, defined(it.mode, catalog.triggers.contains_key(name))?, name)
        }
        DdlStatement::DefinePackage(it) => {
            let name = it.name.as_str();
            (Object::Package, defined(it.mode, catalog.packages.contains_key(name))?, name)
        }
        DdlStatement::DefinePackageBody(it) => {
            let name = it.name.as_str();
            catalog.packages.get(name)?;
            (Object::PackageBody, DdlAction::Create, name)
        }
        DdlStatement::CreateCollation(it) => (Object::Collation, DdlAction::Create, it.name.as_str()),
        DdlStatement::AlterCharacterSet { name, .. } => {
            (Object::CharacterSet, DdlAction::Alter, name.as_str())
        }
        DdlStatement::DefineRole(it) => {
            let name = it.name.as_str();
            (Object::Role, defined(it.mode, catalog.roles.contains_key(name))?, name)
        }
        DdlStatement::DefineUser(it) => {
            let own = &editor.context.session.server.user;
            let name = it.name.as_ref().map_or(own.as_str(), |name| name.as_str());
            // Users are not of the database: whether there is one is not asked here.
            (Object::User, defined(it.mode, true)?, name)
        }
        DdlStatement::DefineMapping(it) if !it.global => {
            let name = it.name.as_str();
            (Object::Mapping, defined(it.mode, catalog.mappings.contains_key(name))?, name)
        }
        DdlStatement::Drop(it) => {
            let object = dropped(&catalog, it)?;
            (object, DdlAction::Drop, it.name.as_str())
        }
        _ => return None,
    };
    Some(Event { event: DdlEvent { action, object }, name: name.to_owned(), new_name: None })
}

/// Whether a definition creates or alters; `None` for ALTER of what is not there.
fn defined(mode: DefineMode, exists: bool) -> Option<DdlAction> {
    match mode {
        DefineMode::Create | DefineMode::Recreate => Some(DdlAction::Create),
        DefineMode::CreateOrAlter if !exists => Some(DdlAction::Create),
        DefineMode::Alter | DefineMode::CreateOrAlter => exists.then_some(DdlAction::Alter),
    }
}

/// What DROP drops, if it is there.
fn dropped(catalog: &Catalog, ast: &DropObject) -> Option<DdlEventObject> {
    let name = ast.name.as_str();
    let relation = || catalog.relation(name);
    let (object, exists) = match ast.kind {
        DropKind::Table => (DdlEventObject::Table, relation().is_some_and(|it| !it.is_view())),
        DropKind::View => (DdlEventObject::View, relation().is_some_and(|it| it.is_view())),
        DropKind::Index => (DdlEventObject::Index, catalog.index(name).is_some()),
        DropKind::Domain => (DdlEventObject::Domain, catalog.domains.contains_key(name)),
        DropKind::Sequence => (DdlEventObject::Sequence, catalog.sequences.contains_key(name)),
        DropKind::Exception => (DdlEventObject::Exception, catalog.exceptions.contains_key(name)),
        DropKind::Procedure => (DdlEventObject::Procedure, catalog.procedures.contains_key(name)),
        DropKind::Function | DropKind::ExternalFunction => {
            (DdlEventObject::Function, catalog.functions.contains_key(name))
        }
        DropKind::Trigger => (DdlEventObject::Trigger, catalog.triggers.contains_key(name)),
        DropKind::Package => (DdlEventObject::Package, catalog.packages.contains_key(name)),
        DropKind::PackageBody => (DdlEventObject::PackageBody, catalog.packages.contains_key(name)),
        DropKind::Collation => (DdlEventObject::Collation, catalog.collations.contains_key(name)),
        DropKind::Role => (DdlEventObject::Role, catalog.roles.contains_key(name)),
        DropKind::User => (DdlEventObject::User, true),
        DropKind::Mapping => (DdlEventObject::Mapping, catalog.mappings.contains_key(name)),
        // Those are of no database.
        DropKind::Filter | DropKind::GlobalMapping | DropKind::Shadow => return None,
    };
    exists.then_some(object)
}

/// Fails for whoever may not do what the statement says: triggers do not fire for them. What this lets pass the statement itself asks
/// for again.
fn check_rights(editor: &Editor<'_, '_>, statement: &DdlStatement, event: &Event) -> Result<()> {
    let context = &*editor.context;
    let action = match event.event.action {
        DdlAction::Create => privileges::DdlAction::Create,
        DdlAction::Alter => privileges::DdlAction::Alter,
        DdlAction::Drop => privileges::DdlAction::Drop,
    };
    let kind = match event.event.object {
        DdlEventObject::View if event.event.action == DdlAction::Create => {
            return rights::check_create_view(context, &event.name);
        }
        DdlEventObject::CharacterSet => return rights::check_alter_character_set(context, &event.name),
        DdlEventObject::Trigger => return check_trigger(editor, statement, event),
        DdlEventObject::Index => return check_index(editor, statement, event),
        // What triggers see of such a statement has a password.
        DdlEventObject::User => return check_user(editor, statement),
        DdlEventObject::Mapping => return mapping::check_may_define(editor),
        DdlEventObject::Table | DdlEventObject::View => ObjectKind::Relation,
        DdlEventObject::Procedure => ObjectKind::Procedure,
        DdlEventObject::Function => ObjectKind::Function,
        DdlEventObject::Exception => ObjectKind::Exception,
        DdlEventObject::Domain => ObjectKind::Domain,
        DdlEventObject::Role => ObjectKind::Role,
        DdlEventObject::Sequence => ObjectKind::Sequence,
        DdlEventObject::Collation => ObjectKind::Collation,
        DdlEventObject::Package | DdlEventObject::PackageBody => ObjectKind::Package,
    };
    rights::check_ddl(context, kind, action, &event.name)
}

/// Who manages users may, and everybody for themselves.
fn check_user(editor: &Editor<'_, '_>, statement: &DdlStatement) -> Result<()> {
    match statement {
        DdlStatement::DefineUser(it) => user::check_may_define(editor, it),
        _ => user::check_administrator(editor),
    }
}

/// Who may alter a table, a view or the database may define its triggers.
fn check_trigger(editor: &Editor<'_, '_>, statement: &DdlStatement, event: &Event) -> Result<()> {
    let catalog = editor.catalog();
    let relation = match statement {
        DdlStatement::DefineTrigger(it) if event.event.action == DdlAction::Create => match &it.event {
            Some(TriggerEvent::Relation { relation, .. }) => relation.as_ref().map(|it| it.as_str()),
            _ => None,
        },
        _ => catalog.triggers.get(&event.name).and_then(|trigger| trigger.relation.as_deref()),
    };
    rights::check_triggers_of(editor.context, relation)
}

/// Who may alter a table may define its indexes.
fn check_index(editor: &Editor<'_, '_>, statement: &DdlStatement, event: &Event) -> Result<()> {
    let catalog = editor.catalog();
    let table = match statement {
        DdlStatement::CreateIndex(it) => Some(it.table.as_str()),
        _ => catalog.index(&event.name).map(|(relation, _)| relation.name.as_str()),
    };
    match table {
        Some(table) => {
            let action = privileges::DdlAction::Alter;
            rights::check_ddl(editor.context, ObjectKind::Relation, action, table)
        }
        None => Ok(()),
    }
}
