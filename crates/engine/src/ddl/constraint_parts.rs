//! What constraints of all kinds are made of: their names, their indexes, their place in the table.

use farbird_sql::ast::{ConstraintIndex, Name};
use farbird_types::Result;

use crate::catalog::{Catalog, Constraint, ConstraintKind, IndexPurpose};
use crate::ddl::editor::Editor;
use crate::ddl::error;
use crate::ddl::table_edit::TableEdit;

/// A name for one of a constraint's triggers.
pub(super) fn trigger_name(editor: &Editor<'_, '_>) -> Result<String> {
    let catalog = editor.catalog();
    editor
        .counters()
        .trigger_name(|name| catalog.triggers.contains_key(name) || catalog.has_constraint_trigger(name))
}

pub(super) fn push(edit: &mut TableEdit, name: String, kind: ConstraintKind, triggers: Vec<String>) {
    edit.relation.constraints.push(Constraint { name, kind, triggers });
}

/// The constraint's name: the one written, if nobody has it, or a generated one.
pub(super) fn constraint_name(
    editor: &Editor<'_, '_>,
    edit: &TableEdit,
    name: Option<&Name>,
) -> Result<String> {
    let catalog = editor.catalog();
    let before = edit.before.as_ref().map(|relation| relation.name.as_str());
    let taken = |name: &str| {
        edit.relation.constraint(name).is_some()
            || catalog.constraint(name).is_some_and(|(relation, _)| before != Some(relation.name.as_str()))
    };
    match name {
        Some(name) if taken(name.as_str()) => Err(error::constraint_exists(name.as_str())),
        Some(name) => Ok(name.as_str().to_owned()),
        None => editor.counters().constraint_name(taken),
    }
}

/// The name of a constraint's index: that of USING INDEX, the constraint's own, or a generated one.
pub(super) fn index_name(
    editor: &Editor<'_, '_>,
    edit: &TableEdit,
    constraint: Option<&Name>,
    written: &ConstraintIndex,
    purpose: IndexPurpose,
) -> Result<String> {
    let catalog = editor.catalog();
    let taken = |name: &str| is_taken(&catalog, edit, name);
    match written.name.as_ref().or(constraint) {
        Some(name) if taken(name.as_str()) => Err(error::index_exists(name.as_str())),
        Some(name) => Ok(name.as_str().to_owned()),
        None => editor.counters().index_name(purpose, taken),
    }
}

/// Takes an index out of a table.
pub(super) fn remove_index(edit: &mut TableEdit, name: &str) {
    if let Some(place) = edit.relation.indexes.iter().position(|index| index.name == name) {
        let index = edit.relation.indexes.remove(place);
        if edit.new_indexes.contains(&index.name) {
            edit.new_indexes.retain(|new| *new != index.name);
        } else {
            edit.dropped_indexes.push(index);
        }
    }
}

/// Whether an index of this name exists, or is about to.
pub(super) fn is_taken(catalog: &Catalog, edit: &TableEdit, name: &str) -> bool {
    let before = edit.before.as_ref().map(|relation| relation.name.as_str());
    edit.relation.index(name).is_some()
        || catalog.index(name).is_some_and(|(relation, _)| before != Some(relation.name.as_str()))
}
