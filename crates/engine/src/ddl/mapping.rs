//! Mappings of users: CREATE, ALTER, DROP, COMMENT ON; those of the database are in its catalog, global ones where the users are.

use std::sync::Arc;

use farbird_sql::ast::{
    Comment, CommentKind, CommentTarget, DdlStatement, DefineMapping, DefineMode, DropKind, DropObject,
    MappingName, MappingUsing, Name,
};
use farbird_types::{Error, Result, isc};

use crate::catalog::privileges::ADMIN_ROLE;
use crate::catalog::{CatalogObject, Mapping, MappingSource, ObjectKind, SystemPrivilege};
use crate::ddl::editor::Editor;
use crate::ddl::security_database;
use crate::session::mapping::ANY;

/// The longest name that is mapped, in characters.
const FROM_LENGTH_MAX: usize = 255;

/// The definition of a mapping that ALTER ROLE ... SET or DROP AUTO ADMIN MAPPING is.
///
/// # Errors
/// `isc_alter_role` for another role than RDB$ADMIN.
pub(super) fn of_role(statement: &DdlStatement) -> Result<Option<DdlStatement>> {
    let DdlStatement::DefineRole(role) = statement else { return Ok(None) };
    let Some(set) = role.auto_admin_mapping else { return Ok(None) };
    if role.name != ADMIN_ROLE {
        return Err(Error::new(isc::ALTER_ROLE));
    }
    let mapping = Mapping::of_windows_administrators();
    let name = quoted(mapping.name);
    Ok(Some(match set {
        false => DdlStatement::Drop(DropObject {
            kind: DropKind::Mapping,
            name,
            plugin: None,
            preserve_file: None,
        }),
        true => DdlStatement::DefineMapping(DefineMapping {
            mode: DefineMode::CreateOrAlter,
            global: false,
            name,
            using: match mapping.plugin {
                Some(plugin) => MappingUsing::Plugin { name: quoted(plugin), database: None },
                None => MappingUsing::AnyPlugin { database: None, server_wide: false },
            },
            from_type: quoted(mapping.from_type),
            from: Some(MappingName::Text(mapping.from)),
            to_role: mapping.to_role,
            to: mapping.to.map(quoted),
        }),
    }))
}

/// CREATE | ALTER | CREATE OR ALTER \[GLOBAL\] MAPPING.
pub(super) fn define(editor: &mut Editor<'_, '_>, ast: &DefineMapping) -> Result<()> {
    check_may_define(editor)?;
    if ast.global {
        let own = DefineMapping { global: false, ..ast.clone() };
        return security_database::run(editor, DdlStatement::DefineMapping(own), denied());
    }
    check_length(ast)?;
    let catalog = editor.catalog();
    let name = ast.name.as_str();
    let existing = catalog.mappings.get(name);
    match (ast.mode, existing) {
        (DefineMode::Create, Some(_)) => return Err(Error::new(isc::MAP_ALREADY_EXISTS).with(name)),
        (DefineMode::Alter, None) => return Err(not_found(name)),
        _ => {}
    }
    let description = existing.and_then(|existing| existing.description.clone());
    editor.put(CatalogObject::Mapping(Arc::new(made(ast, description))))
}

/// DROP \[GLOBAL\] MAPPING.
pub(super) fn drop_mapping(editor: &mut Editor<'_, '_>, ast: &DropObject) -> Result<()> {
    check_may_define(editor)?;
    if ast.kind == DropKind::GlobalMapping {
        let own = DropObject { kind: DropKind::Mapping, ..ast.clone() };
        return security_database::run(editor, DdlStatement::Drop(own), denied());
    }
    let name = ast.name.as_str();
    if !editor.catalog().mappings.contains_key(name) {
        return Err(not_found(name));
    }
    editor.remove(ObjectKind::Mapping, name)
}

/// COMMENT ON MAPPING.
pub(super) fn comment(editor: &mut Editor<'_, '_>, name: &str, text: Option<String>) -> Result<()> {
    check_may_define(editor)?;
    let catalog = editor.catalog();
    let mapping = catalog.mappings.get(name).ok_or_else(|| not_found(name))?;
    editor.put(CatalogObject::Mapping(Arc::new(Mapping { description: text, ..Mapping::clone(mapping) })))
}

/// COMMENT ON GLOBAL MAPPING.
pub(super) fn comment_global(editor: &Editor<'_, '_>, name: &str, text: Option<String>) -> Result<()> {
    check_may_define(editor)?;
    let target =
        CommentTarget::Object { kind: CommentKind::Mapping, name: quoted(name).into(), plugin: None };
    security_database::run(editor, DdlStatement::Comment(Comment { target, text }), denied())
}

/// Whoever administers the database may, and who has the privilege for it.
///
/// # Errors
/// `isc_adm_task_denied`.
pub(super) fn check_may_define(editor: &Editor<'_, '_>) -> Result<()> {
    let actor = editor.context.actor();
    match actor.has(&editor.catalog(), SystemPrivilege::ChangeMappingRules) {
        true => Ok(()),
        false => Err(denied()),
    }
}

/// Names that are mapped may be as long as RDB$MAP_FROM is.
///
/// # Errors
/// `isc_trunc_limits`.
fn check_length(ast: &DefineMapping) -> Result<()> {
    let length = match &ast.from {
        Some(MappingName::Text(text)) => text.chars().count(),
        _ => 0,
    };
    if length <= FROM_LENGTH_MAX {
        return Ok(());
    }
    let number = |length: usize| i32::try_from(length).unwrap_or(i32::MAX);
    Err(Error::new(isc::ARITH_EXCEPT)
        .and(isc::STRING_TRUNCATION)
        .and(isc::TRUNC_LIMITS)
        .with(number(FROM_LENGTH_MAX))
        .with(number(length)))
}

/// The mapping of a definition.
fn made(ast: &DefineMapping, description: Option<String>) -> Mapping {
    let (using, plugin, database) = match &ast.using {
        MappingUsing::Plugin { name, database } => (MappingSource::Plugin, Some(name), database),
        MappingUsing::AnyPlugin { database, server_wide: false } => (MappingSource::Plugin, None, database),
        MappingUsing::AnyPlugin { database, server_wide: true } => {
            (MappingSource::ServerWide, None, database)
        }
        MappingUsing::Mapping { database } => (MappingSource::Mapping, None, database),
        MappingUsing::Any { database } => (MappingSource::Any, None, database),
    };
    let text = |name: &Name| name.as_str().to_owned();
    Mapping {
        name: text(&ast.name),
        using,
        plugin: plugin.map(text),
        database: database.as_ref().map(text),
        from_type: text(&ast.from_type),
        from: match &ast.from {
            None => ANY.to_owned(),
            Some(MappingName::Name(name)) => text(name),
            Some(MappingName::Text(text)) => text.clone(),
        },
        to_role: ast.to_role,
        to: ast.to.as_ref().map(text),
        description,
    }
}

fn quoted(text: impl Into<String>) -> Name {
    Name { quoted: true, ..Name::new(text) }
}

fn not_found(name: &str) -> Error {
    Error::new(isc::MAP_NOT_EXISTS).with(name)
}

fn denied() -> Error {
    Error::new(isc::ADM_TASK_DENIED).and(isc::MISS_PRVLG).with("CHANGE_MAPPING_RULES")
}
