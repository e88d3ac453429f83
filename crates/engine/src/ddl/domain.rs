//! Domains: CREATE, ALTER. What a domain says holds for every column declared by it.

use std::sync::Arc;

use farbird_sql::ast::{AlterDomain, CreateDomain, DomainChange};
use farbird_types::{Error, Result, SqlType, isc};

use crate::bind;
use crate::catalog::dependencies::{Dependency, dependencies};
use crate::catalog::privileges::DdlAction;
use crate::catalog::privileges::object_type;
use crate::catalog::{
    Catalog, CatalogObject, Column, Domain, ObjectKind, Package, Relation, Routine, declared_type,
};
use crate::ddl::column::{check_default, check_identity_type};
use crate::ddl::column_type::check_change;
use crate::ddl::constraint::is_in_primary_key;
use crate::ddl::editor::Editor;
use crate::ddl::following::{follow_in_views, rebuild_indexes};
use crate::ddl::table_edit::TableEdit;
use crate::ddl::{error, rights};

/// Whether a domain's name is a column's own (`RDB$n`): users cannot make such.
pub(super) fn is_implicit(name: &str) -> bool {
    name.strip_prefix("RDB$")
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn check_name(name: &str) -> Result<()> {
    if is_implicit(name) {
        return Err(Error::new(isc::SQLERR).with(-637).and(isc::DSQL_IMPLICIT_DOMAIN_NAME).with(name));
    }
    Ok(())
}

/// CREATE DOMAIN.
pub(super) fn create(editor: &mut Editor<'_, '_>, ast: &CreateDomain) -> Result<()> {
    let name = ast.name.as_str();
    check_name(name)?;
    rights::check_ddl(editor.context, ObjectKind::Domain, DdlAction::Create, name)?;
    let catalog = editor.catalog();
    if catalog.domains.contains_key(name) || crate::catalog::system_tables::domains().contains_key(name) {
        return Err(error::domain_exists(name));
    }
    let declared = declared_type(&catalog, &ast.data_type, ast.collation.as_ref())?;
    let default_source = match &ast.default {
        None => None,
        Some(_) if declared.array.is_some() => return Err(error::default_of_array_domain(name)),
        Some(default) => Some(check_default(editor, default, &declared.sql_type)?),
    };
    if let Some(check) = &ast.check {
        bind::bind_domain_check(&editor.environment(), &declared.sql_type, &check.condition)?;
    }
    editor.put(CatalogObject::Domain(Arc::new(Domain {
        name: name.to_owned(),
        owner: editor.user().to_owned(),
        sql_type: declared.sql_type,
        precision: declared.precision,
        segment_size: declared.segment_size,
        array: declared.array,
        not_null: ast.not_null,
        null_allowed: false,
        default_source,
        check_source: ast.check.as_ref().map(|check| check.source.text.clone()),
        description: None,
    })))
}

/// ALTER DOMAIN.
pub(super) fn alter(editor: &mut Editor<'_, '_>, ast: &AlterDomain) -> Result<()> {
    let name = ast.name.as_str();
    let catalog = editor.catalog();
    if crate::catalog::system_tables::domains().contains_key(name) {
        return Err(Error::new(isc::DYN_CANT_MODIFY_SYSOBJ).with("domain").with(name));
    }
    let before = catalog.domains.get(name).ok_or_else(error::domain_not_found)?;
    rights::check_ddl(editor.context, ObjectKind::Domain, DdlAction::Alter, name)?;
    let mut domain = Domain::clone(before);
    // Dropping the constraint comes first, so that one statement can replace it.
    if ast.changes.iter().any(|change| matches!(change, DomainChange::DropConstraint)) {
        domain.check_source = None;
    }
    for change in &ast.changes {
        apply(editor, &mut domain, change)?;
    }
    if domain.name != before.name {
        check_no_dependents(&catalog, &before.name)?;
        editor.remove(ObjectKind::Domain, &before.name)?;
    }
    let domain = Arc::new(domain);
    editor.put(CatalogObject::Domain(Arc::clone(&domain)))?;
    follow_in_tables(editor, before, &domain)?;
    follow_in_routines(editor, &domain)
}

fn apply(editor: &Editor<'_, '_>, domain: &mut Domain, change: &DomainChange) -> Result<()> {
    match change {
        DomainChange::Rename(to) => {
            check_name(to.as_str())?;
            if editor.catalog().domains.contains_key(to.as_str()) {
                return Err(error::domain_rename_exists(&domain.name, to.as_str()));
            }
            domain.name = to.as_str().to_owned();
        }
        DomainChange::Type(data_type) => {
            let declared = declared_type(&editor.catalog(), data_type, None)?;
            check_change(
                &domain.name,
                (&domain.sql_type, domain.precision),
                (&declared.sql_type, declared.precision),
            )?;
            domain.sql_type = declared.sql_type;
            domain.precision = declared.precision;
            domain.segment_size = declared.segment_size;
            domain.array = declared.array;
        }
        DomainChange::SetDefault(_) if domain.array.is_some() => {
            return Err(error::default_of_array_domain(&domain.name));
        }
        DomainChange::SetDefault(default) => {
            domain.default_source = Some(check_default(editor, default, &domain.sql_type)?);
        }
        DomainChange::DropDefault => domain.default_source = None,
        DomainChange::SetNotNull => domain.not_null = true,
        DomainChange::DropNotNull => {
            check_no_primary_key(&editor.catalog(), &domain.name)?;
            domain.not_null = false;
            domain.null_allowed = true;
        }
        DomainChange::AddCheck(check) => {
            if domain.check_source.is_some() {
                return Err(error::domain_has_constraint());
            }
            bind::bind_domain_check(&editor.environment(), &domain.sql_type, &check.condition)?;
            domain.check_source = Some(check.source.text.clone());
        }
        DomainChange::DropConstraint => {}
    }
    Ok(())
}

/// Refuses to take NOT NULL from columns of a primary key that have it from their domain alone.
fn check_no_primary_key(catalog: &Catalog, domain: &str) -> Result<()> {
    let depends = |relation: &Relation| {
        relation.columns.iter().any(|column| {
            column.domain == domain && !column.not_null && is_in_primary_key(relation, &column.name)
        })
    };
    match catalog.relations.values().find(|relation| depends(relation)) {
        Some(relation) => Err(Error::new(isc::DOMAIN_PRIMARY_KEY_NOTNULL).with(relation.name.as_str())),
        None => Ok(()),
    }
}

/// Refuses another name for a domain that routines are declared by.
fn check_no_dependents(catalog: &Catalog, name: &str) -> Result<()> {
    let uses = |it: &Dependency| it.used_type == object_type::DOMAIN && it.used == name;
    match dependencies(catalog).iter().filter(|it| uses(it)).count() {
        0 => Ok(()),
        count => Err(error::in_use(isc::DOMAIN_NAME, name, count)),
    }
}

/// Gives parameters that are declared by a domain its type.
fn follow_in_routines(editor: &mut Editor<'_, '_>, domain: &Domain) -> Result<()> {
    let catalog = editor.catalog();
    for procedure in catalog.procedures.values() {
        if let Some(changed) = followed(procedure, domain) {
            editor.put(CatalogObject::Procedure(Arc::new(changed)))?;
        }
    }
    for function in catalog.functions.values() {
        if let Some(changed) = followed(function, domain) {
            editor.put(CatalogObject::Function(Arc::new(changed)))?;
        }
    }
    for package in catalog.packages.values() {
        let mut changed = Package::clone(package);
        let mut follows = false;
        for routine in changed.procedures.iter_mut().chain(&mut changed.functions) {
            if let Some(routine_changed) = followed(routine, domain) {
                *routine = Arc::new(routine_changed);
                follows = true;
            }
        }
        if follows {
            editor.put(CatalogObject::Package(Arc::new(changed)))?;
        }
    }
    Ok(())
}

/// A routine with the domain's type, if a parameter has another one yet.
fn followed(routine: &Routine, domain: &Domain) -> Option<Routine> {
    let mut changed = routine.clone();
    let mut follows = false;
    for parameter in changed.inputs.iter_mut().chain(&mut changed.outputs) {
        if parameter.domain_of_type() == Some(domain.name.as_str()) && parameter.sql_type != domain.sql_type {
            parameter.sql_type = domain.sql_type;
            parameter.precision = domain.precision;
            parameter.segment_size = domain.segment_size;
            follows = true;
        }
    }
    follows.then_some(changed)
}

/// Changes the columns of a domain with it: their types and indexes, and NULLs that are there if there must not be any.
fn follow_in_tables(editor: &mut Editor<'_, '_>, before: &Domain, after: &Domain) -> Result<()> {
    let retyped = before.sql_type != after.sql_type
        || before.precision != after.precision
        || before.segment_size != after.segment_size;
    let made_not_null = after.not_null && !before.not_null;
    if before.name == after.name && !retyped && !made_not_null {
        return Ok(());
    }
    let catalog = editor.catalog();
    for relation in catalog.relations.values().filter(|relation| relation.is_table()) {
        let columns: Vec<String> = relation
            .columns
            .iter()
            .filter(|column| column.domain == before.name)
            .map(|column| column.name.clone())
            .collect();
        if columns.is_empty() {
            continue;
        }
        let mut edit = TableEdit::of(relation);
        for name in &columns {
            follow(editor, &mut edit, name, after, retyped)?;
        }
        if made_not_null {
            edit.made_not_null.extend(columns.iter().cloned());
        }
        let changed: Vec<Column> =
            edit.relation.columns.iter().filter(|column| columns.contains(&column.name)).cloned().collect();
        let Relation { name, .. } = &edit.relation;
        let name = name.clone();
        edit.finish(editor)?;
        follow_in_views(editor, &name, &changed)?;
    }
    Ok(())
}

fn follow(
    editor: &Editor<'_, '_>,
    edit: &mut TableEdit,
    name: &str,
    domain: &Domain,
    retyped: bool,
) -> Result<()> {
    let table = edit.relation.name.clone();
    let column = edit.column_mut(name)?;
    column.domain.clone_from(&domain.name);
    if !retyped {
        return Ok(());
    }
    if column.identity.is_some() {
        check_identity_type(&domain.sql_type, name, &table)?;
    }
    column.sql_type = match (domain.sql_type, column.sql_type) {
        // A COLLATE of the column's own stays.
        (SqlType::Text(new), SqlType::Text(old)) if new.character_set == old.character_set => {
            SqlType::Text(farbird_types::TextType { collation: old.collation, ..new })
        }
        (new, _) => new,
    };
    column.precision = domain.precision;
    column.segment_size = domain.segment_size;
    column.array.clone_from(&domain.array);
    rebuild_indexes(editor, edit, name)
}
