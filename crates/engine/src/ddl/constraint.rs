//! Constraints of tables: making, checking against rows that exist, dropping.

use std::sync::Arc;

use farbird_record::ColumnVector;
use farbird_sql::ast::{
    Check, ColumnConstraint, ColumnConstraintKind, ConstraintIndex, Name, References, TableConstraint,
    TableConstraintKind,
};
use farbird_store::{ColumnBatch, Projection, RelationScan};
use farbird_types::{Result, SqlType};

use crate::bind;
use crate::catalog::{Catalog, CatalogObject, ConstraintKind, Index, IndexPurpose, Relation, layout};
use crate::ddl::constraint_parts::{constraint_name, index_name, push, remove_index, trigger_name};
use crate::ddl::editor::Editor;
use crate::ddl::table_edit::TableEdit;
use crate::ddl::{error, index, reference};

/// Rows looked at between two checks for a cancel.
const ROWS_PER_STRETCH: usize = 8_192;

/// A constraint as it was written, on a column or on a table.
pub(super) struct NewConstraint<'a> {
    name: Option<&'a Name>,
    kind: NewConstraintKind<'a>,
    /// Behind a column's definition, where PRIMARY KEY implies NOT NULL.
    of_column: bool,
}

enum NewConstraintKind<'a> {
    NotNull(&'a str),
    PrimaryKey(Vec<&'a str>, &'a ConstraintIndex),
    Unique(Vec<&'a str>, &'a ConstraintIndex),
    ForeignKey(Vec<&'a str>, &'a References),
    Check(&'a Check),
}

impl<'a> NewConstraint<'a> {
    pub(super) fn of_column(column: &'a str, constraint: &'a ColumnConstraint) -> NewConstraint<'a> {
        let kind = match &constraint.kind {
            ColumnConstraintKind::NotNull => NewConstraintKind::NotNull(column),
            ColumnConstraintKind::PrimaryKey(index) => NewConstraintKind::PrimaryKey(vec![column], index),
            ColumnConstraintKind::Unique(index) => NewConstraintKind::Unique(vec![column], index),
            ColumnConstraintKind::References(references) => {
                NewConstraintKind::ForeignKey(vec![column], references)
            }
            ColumnConstraintKind::Check(check) => NewConstraintKind::Check(check),
        };
        NewConstraint { name: constraint.name.as_ref(), kind, of_column: true }
    }

    pub(super) fn of_table(constraint: &'a TableConstraint) -> NewConstraint<'a> {
        fn names(columns: &[Name]) -> Vec<&str> {
            columns.iter().map(Name::as_str).collect()
        }
        let kind = match &constraint.kind {
            TableConstraintKind::PrimaryKey { columns, index } => {
                NewConstraintKind::PrimaryKey(names(columns), index)
            }
            TableConstraintKind::Unique { columns, index } => {
                NewConstraintKind::Unique(names(columns), index)
            }
            TableConstraintKind::ForeignKey { columns, references } => {
                NewConstraintKind::ForeignKey(names(columns), references)
            }
            TableConstraintKind::Check(check) => NewConstraintKind::Check(check),
        };
        NewConstraint { name: constraint.name.as_ref(), kind, of_column: false }
    }
}

/// Adds a constraint with the index that holds it.
pub(super) fn add(
    editor: &mut Editor<'_, '_>,
    edit: &mut TableEdit,
    constraint: NewConstraint<'_>,
) -> Result<()> {
    match constraint.kind {
        NewConstraintKind::NotNull(column) => add_not_null(editor, edit, column, constraint.name),
        NewConstraintKind::PrimaryKey(columns, index) => {
            if edit.relation.primary_key().is_some() {
                return Err(error::primary_key_exists());
            }
            require_not_null(editor, edit, &columns, constraint.of_column)?;
            let (name, index) =
                add_key_index(editor, edit, constraint.name, &columns, index, IndexPurpose::PrimaryKey)?;
            push(edit, name, ConstraintKind::PrimaryKey { index }, Vec::new());
            Ok(())
        }
        NewConstraintKind::Unique(columns, index) => {
            let (name, index) =
                add_key_index(editor, edit, constraint.name, &columns, index, IndexPurpose::Unique)?;
            push(edit, name, ConstraintKind::Unique { index }, Vec::new());
            Ok(())
        }
        NewConstraintKind::ForeignKey(columns, references) => {
            reference::add(editor, edit, constraint.name, &columns, references)
        }
        NewConstraintKind::Check(check) => add_check(editor, edit, constraint.name, check),
    }
}

/// Adds NOT NULL to a column.
pub(super) fn add_not_null(
    editor: &mut Editor<'_, '_>,
    edit: &mut TableEdit,
    column: &str,
    name: Option<&Name>,
) -> Result<()> {
    let name = constraint_name(editor, edit, name)?;
    edit.column_mut(column)?.not_null = true;
    push(edit, name, ConstraintKind::NotNull { column: column.to_owned() }, Vec::new());
    Ok(())
}

fn add_check(
    editor: &mut Editor<'_, '_>,
    edit: &mut TableEdit,
    name: Option<&Name>,
    check: &Check,
) -> Result<()> {
    let table = edit.so_far();
    let mut environment = editor.environment();
    let bind = |environment: &bind::Environment| {
        bind::bind_row_expression(environment, &table, &check.condition, Some(&SqlType::Boolean))
    };
    if bind(&environment).is_err() {
        // It may look at the rows of its own table, which the catalog does not have yet.
        let mut catalog = Catalog::clone(&environment.catalog);
        catalog.insert(CatalogObject::Relation(Arc::clone(&table)));
        environment.catalog = Arc::new(catalog);
        bind(&environment)?;
    }
    let name = constraint_name(editor, edit, name)?;
    let triggers = vec![trigger_name(editor)?, trigger_name(editor)?];
    push(edit, name, ConstraintKind::Check { source: check.source.text.clone() }, triggers);
    Ok(())
}

/// Makes a unique index for a key; gives the names of constraint and index.
fn add_key_index(
    editor: &mut Editor<'_, '_>,
    edit: &mut TableEdit,
    name: Option<&Name>,
    columns: &[&str],
    written: &ConstraintIndex,
    purpose: IndexPurpose,
) -> Result<(String, String)> {
    let index_name = index_name(editor, edit, name, written, purpose)?;
    index::check_columns(&edit.relation, &index_name, columns)?;
    let name = constraint_name(editor, edit, name)?;
    let index = Index {
        id: editor.counters().index_id()?,
        name: index_name.clone(),
        unique: true,
        descending: written.descending,
        inactive: false,
        columns: columns.iter().map(|&column| column.to_owned()).collect(),
        expression_source: None,
        condition_source: None,
        dialect: Index::default_dialect(),
        selectivity: Vec::new(),
        foreign_key: None,
        description: None,
    };
    edit.relation.indexes.push(index);
    edit.new_indexes.push(index_name.clone());
    Ok((name, index_name))
}

/// Columns of a primary key are NOT NULL: by themselves in a new table, else they must be already, or their domains.
fn require_not_null(
    editor: &Editor<'_, '_>,
    edit: &mut TableEdit,
    columns: &[&str],
    of_column: bool,
) -> Result<()> {
    let is_new = edit.before.is_none() || of_column;
    let catalog = editor.catalog();
    for name in columns {
        let Some(column) = edit.relation.columns.iter_mut().find(|column| column.name == *name) else {
            continue;
        };
        if is_new {
            column.not_null = true;
        } else if !column.not_null
            && catalog.domains.get(&column.domain).is_none_or(|domain| !domain.not_null)
        {
            return Err(error::primary_key_nullable(name));
        }
    }
    Ok(())
}

/// Fails if a row has a NULL in one of the columns.
pub(super) fn check_no_nulls(editor: &Editor<'_, '_>, relation: &Relation, columns: &[String]) -> Result<()> {
    let checked: Vec<_> = columns.iter().filter_map(|name| relation.column(name)).collect();
    if checked.is_empty() {
        return Ok(());
    }
    let slots: Vec<u16> = checked.iter().map(|column| column.field_id).collect();
    let transaction = &editor.context.transaction.store;
    let mut scan = RelationScan::new(layout(relation), transaction.view()?, Projection::of(slots));
    let mut batch = ColumnBatch::new();
    while scan.next_columns(transaction, ROWS_PER_STRETCH, &mut batch)? {
        editor.context.check_interrupt()?;
        batch.load(0..checked.len())?;
        let first_null = |place: usize| {
            let nulls = batch.column(place).map(ColumnVector::nulls).filter(|nulls| nulls.count() > 0)?;
            (0..nulls.len()).find(|row| nulls.is_null(*row))
        };
        let columns = checked.iter().enumerate();
        let found = columns.filter_map(|(place, column)| Some((first_null(place)?, column)));
        if let Some((_, column)) = found.min_by_key(|(row, _)| *row) {
            return Err(error::cannot_make_not_null(&column.name, &relation.name));
        }
    }
    Ok(())
}

/// Drops a constraint of a table, with its index.
pub(super) fn drop_constraint(editor: &Editor<'_, '_>, edit: &mut TableEdit, name: &str) -> Result<()> {
    let Some(place) = edit.relation.constraints.iter().position(|constraint| constraint.name == name) else {
        return Err(error::constraint_not_found(name));
    };
    if let ConstraintKind::NotNull { column } = &edit.relation.constraints[place].kind {
        let column = column.clone();
        if is_in_primary_key(&edit.relation, &column) {
            return Err(error::key_column_not_null());
        }
        edit.column_mut(&column)?.not_null = false;
    }
    if reference::is_referenced(&editor.catalog(), &edit.relation.name, name, None) {
        return Err(error::key_is_referenced());
    }
    let constraint = edit.relation.constraints.remove(place);
    if let Some(index) = constraint.index() {
        remove_index(edit, index);
    }
    Ok(())
}

/// Whether a column is part of the primary key.
pub(super) fn is_in_primary_key(relation: &Relation, column: &str) -> bool {
    relation.primary_key().is_some_and(|index| index.columns.iter().any(|name| name == column))
}
