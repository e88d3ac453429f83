//! COMMENT ON.

use std::sync::Arc;

use farbird_sql::ast::{Comment, CommentKind, CommentTarget, Name, ObjectName, ParameterKind};
use farbird_types::{Error, Result, isc};

use crate::catalog::privileges::DdlAction;
use crate::catalog::{
    CatalogObject, CollationDefinition, DatabaseProperties, Domain, ExceptionDefinition, ObjectKind, Package,
    Relation, Role, Routine, Sequence, Trigger,
};
use crate::ddl::editor::Editor;
use crate::ddl::{error, mapping, rights, user};

/// COMMENT ON. An empty text is none.
pub(super) fn set(editor: &mut Editor<'_, '_>, ast: &Comment) -> Result<()> {
    let text = ast.text.clone().filter(|text| !text.is_empty());
    match &ast.target {
        CommentTarget::Database => {
            rights::check_ddl(editor.context, ObjectKind::Database, DdlAction::Alter, "")?;
            let mut database = DatabaseProperties::clone(&editor.catalog().database);
            database.description = text;
            editor.put(CatalogObject::Database(Arc::new(database)))
        }
        CommentTarget::Column { relation, column } => {
            on_column(editor, relation.as_str(), column.as_str(), text)
        }
        CommentTarget::Parameter { kind, routine, parameter } => {
            on_parameter(editor, *kind, routine, parameter.as_str(), text)
        }
        CommentTarget::Object { kind, name: ObjectName { package: Some(package), name }, .. } => {
            on_packaged(editor, *kind, package.as_str(), name.as_str(), text)
        }
        CommentTarget::Object { kind, name, .. } => on_object(editor, *kind, name.name.as_str(), text),
    }
}

fn on_object(editor: &mut Editor<'_, '_>, kind: CommentKind, name: &str, text: Option<String>) -> Result<()> {
    let catalog = editor.catalog();
    let not_found = |code: u32| Error::new(code).with(name);
    if let Some(kind) = object_kind(kind) {
        rights::check_ddl(editor.context, kind, DdlAction::Alter, name)?;
    }
    let object = match kind {
        CommentKind::Table | CommentKind::View => {
            let wants_view = kind == CommentKind::View;
            let relation = catalog
                .relation(name)
                .filter(|relation| relation.is_view() == wants_view)
                .ok_or_else(|| {
                    if wants_view {
                        not_found(isc::DYN_VIEW_NOT_FOUND)
                    } else {
                        error::relation_not_found(name)
                    }
                })?;
            CatalogObject::Relation(Arc::new(Relation { description: text, ..Relation::clone(relation) }))
        }
        CommentKind::Domain => {
            let domain = catalog.domains.get(name).ok_or_else(error::domain_not_found)?;
            CatalogObject::Domain(Arc::new(Domain { description: text, ..Domain::clone(domain) }))
        }
        CommentKind::Exception => {
            let exception = catalog.exceptions.get(name).ok_or_else(error::exception_not_found)?;
            CatalogObject::Exception(Arc::new(ExceptionDefinition {
                description: text,
                ..ExceptionDefinition::clone(exception)
            }))
        }
        CommentKind::Sequence => {
            let sequence = catalog.sequences.get(name).ok_or_else(|| error::sequence_not_found(name))?;
            CatalogObject::Sequence(Arc::new(Sequence { description: text, ..Sequence::clone(sequence) }))
        }
        CommentKind::Procedure => {
            let procedure = catalog.procedures.get(name).ok_or_else(|| not_found(isc::DYN_PROC_NOT_FOUND))?;
            CatalogObject::Procedure(Arc::new(Routine { description: text, ..Routine::clone(procedure) }))
        }
        CommentKind::Function => {
            let function = catalog.functions.get(name).ok_or_else(|| not_found(isc::DYN_FUNC_NOT_FOUND))?;
            CatalogObject::Function(Arc::new(Routine { description: text, ..Routine::clone(function) }))
        }
        CommentKind::Trigger => {
            let trigger = catalog.triggers.get(name).ok_or_else(|| not_found(isc::DYN_TRIG_NOT_FOUND))?;
            CatalogObject::Trigger(Arc::new(Trigger { description: text, ..Trigger::clone(trigger) }))
        }
        CommentKind::Role => {
            let role = catalog.roles.get(name).ok_or_else(|| not_found(isc::DYN_ROLE_NOT_FOUND))?;
            CatalogObject::Role(Arc::new(Role { description: text, ..Role::clone(role) }))
        }
        CommentKind::Collation => {
            let collation =
                catalog.collations.get(name).ok_or_else(|| not_found(isc::DYN_COLLATION_NOT_FOUND))?;
            CatalogObject::Collation(Arc::new(CollationDefinition {
                description: text,
                ..CollationDefinition::clone(collation)
            }))
        }
        CommentKind::Index => return on_index(editor, name, text),
        CommentKind::User => return user::comment(editor, name, text),
        CommentKind::Package => {
            let package = catalog.packages.get(name).ok_or_else(|| not_found(isc::DYN_PACKAGE_NOT_FOUND))?;
            CatalogObject::Package(Arc::new(Package { description: text, ..Package::clone(package) }))
        }
        CommentKind::Filter => return Err(not_found(isc::DYN_FILTER_NOT_FOUND)),
        CommentKind::Mapping => return mapping::comment(editor, name, text),
        CommentKind::GlobalMapping => return mapping::comment_global(editor, name, text),
        CommentKind::CharacterSet => return Err(error::unsupported("this COMMENT")),
    };
    editor.put(object)
}

fn object_kind(kind: CommentKind) -> Option<ObjectKind> {
    Some(match kind {
        CommentKind::Table | CommentKind::View => ObjectKind::Relation,
        CommentKind::Domain => ObjectKind::Domain,
        CommentKind::Exception => ObjectKind::Exception,
        CommentKind::Sequence => ObjectKind::Sequence,
        CommentKind::Procedure => ObjectKind::Procedure,
        CommentKind::Function => ObjectKind::Function,
        CommentKind::Trigger => ObjectKind::Trigger,
        CommentKind::Package => ObjectKind::Package,
        CommentKind::Role => ObjectKind::Role,
        CommentKind::Collation => ObjectKind::Collation,
        _ => return None,
    })
}

fn on_index(editor: &mut Editor<'_, '_>, name: &str, text: Option<String>) -> Result<()> {
    let catalog = editor.catalog();
    let (relation, _) = catalog.index(name).ok_or_else(error::index_not_found)?;
    rights::check_ddl(editor.context, ObjectKind::Relation, DdlAction::Alter, &relation.name)?;
    let mut changed = Relation::clone(relation);
    for index in changed.indexes.iter_mut().filter(|index| index.name == name) {
        index.description.clone_from(&text);
    }
    editor.put_relation(changed)?;
    Ok(())
}

fn on_column(editor: &mut Editor<'_, '_>, table: &str, column: &str, text: Option<String>) -> Result<()> {
    let catalog = editor.catalog();
    let relation = catalog.relation(table).ok_or_else(|| error::relation_not_found(table))?;
    rights::check_ddl(editor.context, ObjectKind::Relation, DdlAction::Alter, table)?;
    let mut changed = Relation::clone(relation);
    let found = changed.columns.iter_mut().find(|it| it.name == column);
    found.ok_or_else(|| error::column_not_found(column, table))?.description = text;
    editor.put_relation(changed)?;
    Ok(())
}

/// A procedure or function of a package.
fn on_packaged(
    editor: &mut Editor<'_, '_>,
    kind: CommentKind,
    package: &str,
    name: &str,
    text: Option<String>,
) -> Result<()> {
    let is_function = kind == CommentKind::Function;
    let catalog = editor.catalog();
    rights::check_ddl(editor.context, ObjectKind::Package, DdlAction::Alter, package)?;
    let (found, code) = match is_function {
        true => (catalog.function(Some(package), name), isc::DYN_FUNC_NOT_FOUND),
        false => (catalog.procedure(Some(package), name), isc::DYN_PROC_NOT_FOUND),
    };
    let routine = found.ok_or_else(|| Error::new(code).with(format!("{package}.{name}")))?;
    let changed = Routine { description: text, ..Routine::clone(routine) };
    put_routine(editor, changed, is_function)
}

/// Puts a changed routine in its place, which for those of packages is in the package.
fn put_routine(editor: &mut Editor<'_, '_>, changed: Routine, is_function: bool) -> Result<()> {
    let catalog = editor.catalog();
    let package = changed.package.as_ref().and_then(|name| catalog.packages.get(name));
    let changed = Arc::new(changed);
    let Some(package) = package else {
        return editor.put(match is_function {
            true => CatalogObject::Function(changed),
            false => CatalogObject::Procedure(changed),
        });
    };
    let mut package = Package::clone(package);
    let routines = if is_function { &mut package.functions } else { &mut package.procedures };
    for routine in routines.iter_mut().filter(|routine| routine.name == changed.name) {
        routine.clone_from(&changed);
    }
    editor.put(CatalogObject::Package(Arc::new(package)))
}

fn on_parameter(
    editor: &mut Editor<'_, '_>,
    kind: Option<ParameterKind>,
    routine: &ObjectName,
    parameter: &str,
    text: Option<String>,
) -> Result<()> {
    let catalog = editor.catalog();
    let package = routine.package.as_ref().map(Name::as_str);
    let (name, shown) = (routine.name.as_str(), routine.to_string());
    let routine = shown.as_str();
    let has = |routine: &Arc<Routine>| {
        routine.inputs.iter().chain(&routine.outputs).any(|candidate| candidate.name == parameter)
    };
    let procedure = catalog.procedure(package, name).filter(|it| has(it));
    let function = catalog.function(package, name).filter(|it| has(it));
    let (found, is_function) = match (kind, procedure, function) {
        (None, Some(_), Some(_)) => {
            return Err(Error::new(isc::DYN_ROUTINE_PARAM_AMBIGUOUS).with(parameter).with(routine));
        }
        (None | Some(ParameterKind::Procedure), Some(procedure), _) => (procedure, false),
        (None | Some(ParameterKind::Function), _, Some(function)) => (function, true),
        (None, None, None) => {
            return Err(Error::new(isc::DYN_ROUTINE_PARAM_NOT_FOUND).with(parameter).with(routine));
        }
        (Some(ParameterKind::Procedure), None, _) => {
            return Err(Error::new(isc::DYN_PROC_PARAM_NOT_FOUND).with(parameter).with(routine));
        }
        (Some(ParameterKind::Function), _, None) => {
            return Err(Error::new(isc::DYN_FUNC_PARAM_NOT_FOUND).with(parameter).with(routine));
        }
    };
    let (kind, changed) = match package {
        Some(package) => (ObjectKind::Package, package),
        None if is_function => (ObjectKind::Function, name),
        None => (ObjectKind::Procedure, name),
    };
    rights::check_ddl(editor.context, kind, DdlAction::Alter, changed)?;
    let mut changed = Routine::clone(found);
    for candidate in changed.inputs.iter_mut().chain(&mut changed.outputs) {
        if candidate.name == parameter {
            candidate.description.clone_from(&text);
        }
    }
    put_routine(editor, changed, is_function)
}
