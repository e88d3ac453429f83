//! ALTER TABLE.

use std::collections::BTreeSet;
use std::sync::Arc;

use farbird_sql::ast::{
    AlterTable, ColumnChange, ColumnDefinition, ColumnGeneration, Computed, DataType, DefaultValue,
    IdentityChange, Name, SqlSecurity, SqlSecurityChange, TableChange,
};
use farbird_types::{Error, Result, isc};

use crate::catalog::dependencies::{Dependency, dependencies};
use crate::catalog::privileges::{self, DdlAction};
use crate::catalog::{CatalogObject, Column, ConstraintKind, ObjectKind, Relation, Sequence, declared_type};
use crate::ddl::column::{self, NewColumn, check_default, computed_type, digits_of};
use crate::ddl::column_type::check_change;
use crate::ddl::constraint::{self, NewConstraint, is_in_primary_key};
use crate::ddl::editor::Editor;
use crate::ddl::following::{follow_in_views, rebuild_indexes};
use crate::ddl::table::{add_column_constraints, codec_name};
use crate::ddl::table_edit::TableEdit;
use crate::ddl::{constraint_parts, domain, error, reference, rights, sequence};

/// ALTER TABLE.
pub(super) fn alter(editor: &mut Editor<'_, '_>, ast: &AlterTable) -> Result<()> {
    let name = ast.name.as_str();
    rights::check_ddl(editor.context, ObjectKind::Relation, DdlAction::Alter, name)?;
    let catalog = editor.catalog();
    let relation =
        catalog.relation(name).filter(|it| it.is_table()).ok_or_else(|| error::table_not_found(name))?;
    let mut edit = TableEdit::of(relation);
    for change in &ast.changes {
        apply(editor, &mut edit, change)?;
    }
    if edit.relation.columns.iter().all(|column| column.computed_source.is_some()) {
        return Err(Error::new(isc::NO_META_UPDATE).and(isc::DEL_LAST_FIELD));
    }
    let retyped: Vec<Column> = edit
        .relation
        .columns
        .iter()
        .filter(|column| {
            relation.column(&column.name).is_some_and(|old| {
                old.sql_type != column.sql_type
                    || old.precision != column.precision
                    || old.segment_size != column.segment_size
                    || old.domain != column.domain
            })
        })
        .cloned()
        .collect();
    edit.finish(editor)?;
    follow_in_views(editor, name, &retyped)
}

fn apply(editor: &mut Editor<'_, '_>, edit: &mut TableEdit, change: &TableChange) -> Result<()> {
    match change {
        TableChange::AddColumn(definition) => add_column(editor, edit, definition),
        TableChange::AddConstraint(written) => {
            constraint::add(editor, edit, NewConstraint::of_table(written))
        }
        TableChange::DropColumn(name) => drop_column(editor, edit, name.as_str()),
        TableChange::DropConstraint(name) => constraint::drop_constraint(editor, edit, name.as_str()),
        TableChange::AlterColumn { name, change } => alter_column(editor, edit, name.as_str(), change),
        TableChange::SqlSecurity(change) => {
            edit.relation.sql_security_definer = match change {
                SqlSecurityChange::Set(security) => Some(*security == SqlSecurity::Definer),
                SqlSecurityChange::Drop => None,
            };
            Ok(())
        }
        // Publications are of replication: there is none, so every table is as published as any.
        TableChange::Publication(_) => Ok(()),
        TableChange::Storage(_) if edit.relation.is_external() => {
            Err(error::unsupported("STORAGE of an external table"))
        }
        TableChange::Storage(storage) => {
            edit.relation.codec = codec_name(storage)?;
            Ok(())
        }
    }
}

fn add_column(
    editor: &mut Editor<'_, '_>,
    edit: &mut TableEdit,
    definition: &ColumnDefinition,
) -> Result<()> {
    match &definition.generation {
        ColumnGeneration::Computed(_) => {
            let place = edit.relation.columns.len();
            column::reserve(editor, edit, definition)?;
            column::complete_computed(editor, edit, place, definition)?;
        }
        _ => column::add(editor, edit, definition, NewColumn::OfExistingTable)?,
    }
    add_column_constraints(editor, edit, definition)
}

fn drop_column(editor: &mut Editor<'_, '_>, edit: &mut TableEdit, name: &str) -> Result<()> {
    let table = edit.relation.name.clone();
    if edit.relation.column(name).is_none() {
        return Err(error::column_not_found(name, &table));
    }
    let catalog = editor.catalog();
    let shows =
        |column: &Column| column.view_origin.as_ref().is_some_and(|(of, base)| *of == table && base == name);
    if let Some(view) = catalog.relations.values().find(|relation| relation.columns.iter().any(shows)) {
        return Err(error::column_in_view(name, &table, &view.name));
    }
    drop_own_constraints(editor, edit, name)?;
    if let Some(index) = edit.relation.indexes.iter().find(|index| index.columns.iter().any(|it| it == name))
    {
        let is_constraint = edit
            .relation
            .constraints
            .iter()
            .any(|constraint| constraint.index() == Some(index.name.as_str()));
        return Err(if is_constraint {
            error::column_in_constraint()
        } else {
            error::column_in_index(name, &table, &index.name)
        });
    }
    check_unused(editor, edit, name)?;
    let Some(place) = edit.relation.columns.iter().position(|column| column.name == name) else {
        return Ok(());
    };
    let column = edit.relation.columns.remove(place);
    if let Some(identity) = column.identity {
        match edit.sequences.iter().position(|sequence| sequence.name == identity.sequence) {
            Some(new) => drop(edit.sequences.remove(new)),
            None => edit.dropped_sequences.push(identity.sequence),
        }
    }
    edit.made_not_null.retain(|column| column != name);
    forget_column_privileges(editor, &table, name)
}

/// The CHECKs that look at no other column of the table.
///
/// # Errors
/// If one looks at this column and at others.
fn checks_of_column(edit: &TableEdit, column: &str) -> Result<Vec<String>> {
    let uses = dependencies_of(&edit.relation);
    let mut checks = Vec::new();
    for constraint in &edit.relation.constraints {
        if !matches!(constraint.kind, ConstraintKind::Check { .. }) {
            continue;
        }
        let own = uses
            .iter()
            .filter(|it| it.used == edit.relation.name && constraint.triggers.contains(&it.dependent));
        let columns: BTreeSet<&str> = own.filter_map(|it| it.column.as_deref()).collect();
        match columns.len() {
            1 if columns.contains(column) => checks.push(constraint.name.clone()),
            _ if columns.contains(column) => return Err(error::column_in_constraint()),
            _ => {}
        }
    }
    Ok(checks)
}

/// What a table itself makes of its columns.
fn dependencies_of(relation: &Relation) -> BTreeSet<Dependency> {
    let mut alone = crate::catalog::Catalog::default();
    alone.insert(CatalogObject::Relation(Arc::new(relation.clone())));
    dependencies(&alone)
}

/// Constraints on the column alone go with it.
fn drop_own_constraints(editor: &Editor<'_, '_>, edit: &mut TableEdit, column: &str) -> Result<()> {
    let checks = checks_of_column(edit, column)?;
    let own: Vec<String> = edit
        .relation
        .constraints
        .iter()
        .filter(|constraint| match &constraint.kind {
            ConstraintKind::NotNull { column: of } => of == column,
            ConstraintKind::Check { .. } => checks.contains(&constraint.name),
            _ => constraint
                .index()
                .and_then(|index| edit.relation.index(index))
                .is_some_and(|index| index.columns == [column]),
        })
        .map(|constraint| constraint.name.clone())
        .collect();
    let catalog = editor.catalog();
    for name in own {
        if reference::is_referenced(&catalog, &edit.relation.name, &name, None) {
            return Err(error::key_is_referenced());
        }
        let Some(place) = edit.relation.constraints.iter().position(|it| it.name == name) else { continue };
        let constraint = edit.relation.constraints.remove(place);
        if let Some(index) = constraint.index() {
            constraint_parts::remove_index(edit, index);
        }
    }
    Ok(())
}

/// Fails if something uses the column.
fn check_unused(editor: &Editor<'_, '_>, edit: &TableEdit, column: &str) -> Result<()> {
    let table = &edit.relation.name;
    let catalog = editor.catalog();
    let dependents = users_of_column(editor, table, column)
        .into_iter()
        .filter(|(user, owner)| owner.as_ref() != Some(table) || catalog.triggers.contains_key(user))
        .count();
    // What the table itself makes of the column is looked at as it is now, changes of this statement included.
    let own = dependencies_of(&edit.relation)
        .into_iter()
        .filter(|it| it.used == *table && it.column.as_deref() == Some(column))
        .count();
    if dependents + own > 0 {
        return Err(error::in_use(isc::FIELD_NAME, &format!("{table}.{column}"), dependents + own));
    }
    Ok(())
}

/// Who uses a column: names, with the tables they are parts of.
fn users_of_column(editor: &Editor<'_, '_>, table: &str, column: &str) -> Vec<(String, Option<String>)> {
    dependencies(&editor.catalog())
        .into_iter()
        .filter(|it| it.used == table && it.column.as_deref() == Some(column))
        .map(|it| (it.dependent, it.owner))
        .collect()
}

fn forget_column_privileges(editor: &mut Editor<'_, '_>, table: &str, column: &str) -> Result<()> {
    let catalog = editor.catalog();
    for (key, privilege) in catalog.privileges_on(&[privileges::object_type::RELATION], table) {
        if privilege.column.as_deref() == Some(column) {
            editor.remove(ObjectKind::Privilege, key)?;
        }
    }
    Ok(())
}

fn alter_column(
    editor: &mut Editor<'_, '_>,
    edit: &mut TableEdit,
    name: &str,
    change: &ColumnChange,
) -> Result<()> {
    edit.column_mut(name)?;
    match change {
        ColumnChange::Rename(to) => rename(editor, edit, name, to.as_str()),
        ColumnChange::Position(position) => {
            move_to(edit, name, usize::from(*position));
            Ok(())
        }
        ColumnChange::Type { data_type, collation } => {
            change_type(editor, edit, name, data_type, collation.as_ref())
        }
        ColumnChange::Computed { data_type, computed } => {
            change_computed(editor, edit, name, data_type.as_ref(), computed)
        }
        ColumnChange::SetDefault(default) => set_default(editor, edit, name, default),
        ColumnChange::DropDefault => {
            let column = edit.column_mut(name)?;
            if column.default_source.take().is_none() {
                return Err(error::no_default(name));
            }
            Ok(())
        }
        ColumnChange::SetNotNull => {
            if edit.column_mut(name)?.not_null {
                return Ok(());
            }
            edit.made_not_null.push(name.to_owned());
            constraint::add_not_null(editor, edit, name, None)
        }
        ColumnChange::DropNotNull => drop_not_null(edit, name),
        ColumnChange::Identity(change) => change_identity(editor, edit, name, change),
        ColumnChange::DropIdentity => {
            let column = edit.column_mut(name)?;
            let identity = column.identity.take().ok_or_else(|| error::not_identity(name))?;
            edit.dropped_sequences.push(identity.sequence);
            Ok(())
        }
    }
}

fn rename(editor: &Editor<'_, '_>, edit: &mut TableEdit, from: &str, to: &str) -> Result<()> {
    if edit.relation.column(to).is_some() {
        return Err(error::rename_exists(from, to, &edit.relation.name));
    }
    let table = edit.relation.name.clone();
    if let Some((user, _)) = users_of_column(editor, &table, from).first() {
        return Err(Error::new(isc::DYN_DEPENDENCY_EXISTS).with(from).with(table).with(user.as_str()));
    }
    check_is_in_no_key(edit, from)?;
    edit.column_mut(from)?.name = to.to_owned();
    for index in &mut edit.relation.indexes {
        for column in index.columns.iter_mut().filter(|column| *column == from) {
            to.clone_into(column);
        }
    }
    for constraint in &mut edit.relation.constraints {
        if let ConstraintKind::NotNull { column } = &mut constraint.kind
            && column == from
        {
            to.clone_into(column);
        }
    }
    Ok(())
}

/// Puts a column at a place, counted from 1.
fn move_to(edit: &mut TableEdit, name: &str, position: usize) {
    let columns = &mut edit.relation.columns;
    if let Some(from) = columns.iter().position(|column| column.name == name) {
        let column = columns.remove(from);
        let to = position.saturating_sub(1).min(columns.len());
        columns.insert(to, column);
    }
}

fn change_type(
    editor: &mut Editor<'_, '_>,
    edit: &mut TableEdit,
    name: &str,
    data_type: &DataType,
    collation: Option<&Name>,
) -> Result<()> {
    let declared = declared_type(&editor.catalog(), data_type, collation)?;
    let table = edit.relation.name.clone();
    let domain = declared.domain.as_ref().map(|domain| domain.name.clone());
    let old = edit.column_mut(name)?.clone();
    if old.computed_source.is_some() {
        return Err(error::computed_stays_computed(name));
    }
    if old.identity.is_some() {
        column::check_identity_type(&declared.sql_type, name, &table)?;
    }
    if old.sql_type != declared.sql_type {
        check_is_in_no_key(edit, name)?;
    }
    check_change(name, (&old.sql_type, old.precision), (&declared.sql_type, declared.precision))?;
    let own_domain = match domain {
        Some(domain) => domain,
        None if domain::is_implicit(&old.domain) => old.domain.clone(),
        None => editor.counters().domain_name()?,
    };
    if declared.not_null && !old.not_null {
        edit.made_not_null.push(name.to_owned());
    }
    let column = edit.column_mut(name)?;
    column.sql_type = declared.sql_type;
    column.precision = declared.precision;
    column.segment_size = declared.segment_size;
    column.array = declared.array;
    column.domain = own_domain;
    rebuild_indexes(editor, edit, name)
}

/// Columns of constraints' indexes keep their names and types: keys of the other side are compared with theirs.
fn check_is_in_no_key(edit: &TableEdit, column: &str) -> Result<()> {
    let held = edit.relation.constraints.iter().any(|constraint| {
        constraint
            .index()
            .and_then(|index| edit.relation.index(index))
            .is_some_and(|index| index.columns.iter().any(|it| it == column))
    });
    if held { Err(error::constraint_column_changed()) } else { Ok(()) }
}

fn change_computed(
    editor: &Editor<'_, '_>,
    edit: &mut TableEdit,
    name: &str,
    data_type: Option<&DataType>,
    computed: &Computed,
) -> Result<()> {
    if edit.column_mut(name)?.computed_source.is_none() {
        return Err(error::computed_stays_computed(name));
    }
    let declared = match data_type {
        Some(data_type) => Some(declared_type(&editor.catalog(), data_type, None)?),
        None => None,
    };
    let sql_type = computed_type(editor, edit, name, computed, declared.as_ref())?;
    let column = edit.column_mut(name)?;
    column.sql_type = sql_type;
    column.precision = declared.as_ref().map_or_else(|| digits_of(&sql_type), |it| it.precision);
    column.array = declared.as_ref().and_then(|it| it.array.clone());
    column.segment_size = declared.and_then(|it| it.segment_size);
    column.computed_source = Some(computed.source.text.clone());
    rebuild_indexes(editor, edit, name)
}

fn set_default(
    editor: &Editor<'_, '_>,
    edit: &mut TableEdit,
    name: &str,
    default: &DefaultValue,
) -> Result<()> {
    let table = edit.relation.name.clone();
    let column = edit.column_mut(name)?;
    if column.identity.is_some() {
        return Err(error::identity_default(name, &table));
    }
    if column.computed_source.is_some() {
        return Err(error::computed_stays_computed(name));
    }
    if column.array.is_some() {
        return Err(error::default_of_array_field(name));
    }
    column.default_source = Some(check_default(editor, default, &column.sql_type)?);
    Ok(())
}

fn drop_not_null(edit: &mut TableEdit, name: &str) -> Result<()> {
    let table = edit.relation.name.clone();
    if is_in_primary_key(&edit.relation, name) {
        return Err(error::key_column_not_null());
    }
    let column = edit.column_mut(name)?;
    if column.identity.is_some() {
        return Err(error::identity_nullable(name, &table));
    }
    column.not_null = false;
    edit.made_not_null.retain(|column| column != name);
    edit.relation.constraints.retain(
        |constraint| !matches!(&constraint.kind, ConstraintKind::NotNull { column } if column == name),
    );
    Ok(())
}

fn change_identity(
    editor: &mut Editor<'_, '_>,
    edit: &mut TableEdit,
    name: &str,
    change: &IdentityChange,
) -> Result<()> {
    let table = edit.relation.name.clone();
    let column = edit.column_mut(name)?;
    let identity = column.identity.as_mut().ok_or_else(|| error::not_identity(name))?;
    if let Some(always) = change.always {
        identity.always = always;
    }
    let catalog = editor.catalog();
    let Some(existing) = catalog.sequences.get(&identity.sequence) else { return Ok(()) };
    let mut changed = Sequence::clone(existing);
    if let Some(increment) = change.increment {
        if increment == 0 {
            return Err(error::identity_zero_increment(name, &table));
        }
        changed.increment = increment;
    }
    sequence::restart(editor, &changed, change.restart, false)?;
    if changed != **existing {
        editor.put(CatalogObject::Sequence(Arc::new(changed)))?;
    }
    Ok(())
}
