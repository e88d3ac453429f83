//! Foreign keys.

use std::sync::Arc;

use farbird_sql::ast::{Name, References, ReferentialAction as Written};
use farbird_store::{
    IndexId as StoreIndex, KeyPair, LockLevel, Projection, RelationScan, Result as StoreResult, RowBatch,
    RowId,
};
use farbird_types::{Error, ExactWidth, Result, SqlType, Value, isc};

use crate::bind::{Access, AccessPrivilege};
use crate::catalog::{
    Catalog, ConstraintKind, Index, IndexPurpose, ObjectKind, ReferentialAction, Relation, RelationKind,
    layout, privileges,
};
use crate::ddl::constraint_parts::{constraint_name, index_name, push, trigger_name};
use crate::ddl::editor::{Editor, key_text};
use crate::ddl::error;
use crate::ddl::index::{self, ROWS_PER_BATCH};
use crate::ddl::table_edit::TableEdit;

/// Adds a foreign key with the index that serves it.
pub(super) fn add(
    editor: &mut Editor<'_, '_>,
    edit: &mut TableEdit,
    name: Option<&Name>,
    columns: &[&str],
    references: &References,
) -> Result<()> {
    let catalog = editor.catalog();
    let table = references.table.as_str();
    let to_itself = table == edit.relation.name;
    let referenced: Arc<Relation> = if to_itself {
        Arc::new(edit.relation.clone())
    } else {
        let found = catalog.relation(table).ok_or_else(|| match references.columns.is_empty() {
            true => error::referenced_table_has_no_key(),
            false => error::relation_not_found(table),
        })?;
        if matches!(found.kind, RelationKind::View { .. }) && !references.columns.is_empty() {
            return Err(error::reference_to_view(table));
        }
        let (_, key) = referenced_key(found, &references.columns)?;
        check_scopes(&edit.relation, found)?;
        if edit.relation.is_external() {
            return Err(error::external_in_foreign_key(&edit.relation.name));
        }
        check_may_reference(editor, found, &key.columns)?;
        // Nobody may write the referenced table while keys are compared with it.
        editor.lock(found, LockLevel::ProtectedRead)?;
        Arc::clone(found)
    };
    let (constraint, key) = referenced_key(&referenced, &references.columns)?;
    if key.columns.len() != columns.len() {
        return Err(error::key_count_differs());
    }
    let index_name = index_name(editor, edit, name, &references.index, IndexPurpose::ForeignKey)?;
    index::check_columns(&edit.relation, &index_name, columns)?;
    check_types(&edit.relation, columns, &referenced, key)?;
    let name = constraint_name(editor, edit, name)?;
    let on_update = action(references.on_update);
    let on_delete = action(references.on_delete);
    let mut triggers = Vec::new();
    for kind in [on_update, on_delete] {
        if kind != ReferentialAction::Restrict {
            triggers.push(trigger_name(editor)?);
        }
    }
    edit.relation.indexes.push(Index {
        id: editor.counters().index_id()?,
        name: index_name.clone(),
        unique: false,
        descending: references.index.descending,
        inactive: false,
        columns: columns.iter().map(|&column| column.to_owned()).collect(),
        expression_source: None,
        condition_source: None,
        dialect: Index::default_dialect(),
        selectivity: Vec::new(),
        foreign_key: Some(key.name.clone()),
        description: None,
    });
    edit.new_indexes.push(index_name.clone());
    edit.new_foreign_keys.push(name.clone());
    let kind = ConstraintKind::ForeignKey {
        index: index_name,
        referenced_relation: referenced.name.clone(),
        referenced_constraint: constraint.to_owned(),
        on_update,
        on_delete,
    };
    push(edit, name, kind, triggers);
    Ok(())
}

/// Rows may only refer to rows that last at least as long as they do and that whoever sees them sees (Firebird 5 language reference,
/// section Global Temporary Tables).
fn check_scopes(relation: &Relation, referenced: &Relation) -> Result<()> {
    let may_refer = match (&relation.kind, &referenced.kind) {
        (RelationKind::TemporaryTransaction, _) => referenced.is_temporary(),
        (RelationKind::TemporarySession, other) => *other == RelationKind::TemporarySession,
        _ => !referenced.is_temporary(),
    };
    if may_refer { Ok(()) } else { Err(error::wrong_scope(relation, referenced)) }
}

fn action(written: Option<Written>) -> ReferentialAction {
    match written {
        None | Some(Written::NoAction | Written::Restrict) => ReferentialAction::Restrict,
        Some(Written::Cascade) => ReferentialAction::Cascade,
        Some(Written::SetNull) => ReferentialAction::SetNull,
        Some(Written::SetDefault) => ReferentialAction::SetDefault,
    }
}

/// Checks that a key may be referenced: REFERENCES (or SELECT) on the table, or on each of its columns.
fn check_may_reference(editor: &Editor<'_, '_>, relation: &Relation, columns: &[String]) -> Result<()> {
    let catalog = editor.catalog();
    let actor = editor.context.actor();
    let whole = Access::of(ObjectKind::Relation, &relation.name, AccessPrivilege::References);
    let refused = match privileges::check(&catalog, &actor, None, &whole) {
        Ok(()) => return Ok(()),
        Err(refused) => refused,
    };
    if !privileges::has_column_privilege(&catalog, &actor, &relation.name, AccessPrivilege::References) {
        return Err(refused);
    }
    columns.iter().try_for_each(|column| {
        let access = Access { column: Some(column.clone()), ..whole.clone() };
        privileges::check(&catalog, &actor, None, &access)
    })
}

/// The referenced key: the primary one if no columns were written, else the one of exactly these columns.
fn referenced_key<'a>(relation: &'a Relation, columns: &[Name]) -> Result<(&'a str, &'a Index)> {
    let keys = relation.constraints.iter().filter_map(|constraint| match &constraint.kind {
        ConstraintKind::PrimaryKey { index } => Some((constraint, relation.index(index)?, true)),
        ConstraintKind::Unique { index } => Some((constraint, relation.index(index)?, false)),
        _ => None,
    });
    if columns.is_empty() {
        return keys
            .into_iter()
            .find(|(_, _, primary)| *primary)
            .map(|(constraint, index, _)| (constraint.name.as_str(), index))
            .ok_or_else(error::referenced_table_has_no_key);
    }
    let mut found = None;
    let mut of_other_length = false;
    for (constraint, index, primary) in keys {
        if index.columns.len() != columns.len() {
            of_other_length |= primary;
        } else if index.columns.iter().zip(columns).all(|(key, column)| key == column.as_str())
            && (found.is_none() || primary)
        {
            found = Some((constraint.name.as_str(), index));
        }
    }
    found.ok_or_else(|| {
        // Nothing of this many columns at all is counted, not searched for.
        let counted =
            of_other_length && columns.iter().all(|column| relation.column(column.as_str()).is_some());
        if counted && columns.len() > 1 {
            error::key_count_differs()
        } else {
            error::referenced_key_not_found(&relation.name)
        }
    })
}

/// Keys are compared as bytes: their columns must be of the same kind.
fn check_types(relation: &Relation, columns: &[&str], referenced: &Relation, key: &Index) -> Result<()> {
    for (part, (column, other)) in columns.iter().zip(&key.columns).enumerate() {
        let (Some(column), Some(other)) = (relation.column(column), referenced.column(other)) else {
            continue;
        };
        if !are_comparable(&column.sql_type, &other.sql_type) {
            return Err(error::key_types_differ(part + 1));
        }
    }
    Ok(())
}

fn are_comparable(left: &SqlType, right: &SqlType) -> bool {
    match (left, right) {
        (
            SqlType::Exact { width: left_width, scale: left_scale, .. },
            SqlType::Exact { width: right_width, scale: right_scale, .. },
        ) => left_scale == right_scale && key_kind(*left_width) == key_kind(*right_width),
        (SqlType::Text(left), SqlType::Text(right)) => {
            left.character_set == right.character_set && left.collation == right.collation
        }
        (SqlType::Float | SqlType::Double, SqlType::Float | SqlType::Double) => true,
        (left, right) => std::mem::discriminant(left) == std::mem::discriminant(right),
    }
}

/// Firebird's index keys of INTEGER and BIGINT differ: it refuses to compare them, and so do we.
fn key_kind(width: ExactWidth) -> u8 {
    match width {
        ExactWidth::Short | ExactWidth::Long => 0,
        ExactWidth::Int64 => 1,
        ExactWidth::Int128 => 2,
    }
}

/// Whether a foreign key refers to a constraint, other than one of the table `except`.
pub(super) fn is_referenced(catalog: &Catalog, table: &str, constraint: &str, except: Option<&str>) -> bool {
    catalog
        .children_of(table)
        .filter(|relation| except != Some(relation.name.as_str()))
        .flat_map(|relation| &relation.constraints)
        .any(|candidate| {
            matches!(
                &candidate.kind,
                ConstraintKind::ForeignKey { referenced_relation, referenced_constraint, .. }
                    if referenced_relation == table && referenced_constraint == constraint
            )
        })
}

/// Fails if a row of the table refers to nothing.
pub(super) fn check_rows(editor: &Editor<'_, '_>, relation: &Relation, name: &str) -> Result<()> {
    let catalog = editor.catalog();
    let Some(ConstraintKind::ForeignKey { index, referenced_relation, referenced_constraint, .. }) =
        relation.constraint(name).map(|constraint| &constraint.kind)
    else {
        return Ok(());
    };
    let (Some(index), Some(referenced)) = (relation.index(index), catalog.relation(referenced_relation))
    else {
        return Ok(());
    };
    let Some(key) = referenced
        .constraint(referenced_constraint)
        .and_then(|constraint| constraint.index())
        .and_then(|name| referenced.index(name))
    else {
        return Ok(());
    };
    let check = RowCheck { editor, relation, name, referenced, index, key };
    let transaction = &editor.context.transaction.store;
    let (referring, referenced_layout) = (layout(relation), layout(referenced));
    let pair = KeyPair {
        referring: (&referring, StoreIndex(index.id.0)),
        referenced: (&referenced_layout, StoreIndex(key.id.0)),
    };
    let mut refused = None;
    let mut look = |row: RowId| -> StoreResult<bool> {
        let view = transaction.view()?;
        let values = transaction.read_row(&referring, &view, row, &Projection::of(check.slots()))?;
        refused = values.map(|values| check.row(&values)).and_then(Result::err);
        Ok(refused.is_none())
    };
    // An index that is not built has no keys.
    let is_told = !index.inactive && transaction.find_missing_keys(&pair, &editor.build_room(), &mut look)?;
    match refused {
        Some(error) => Err(error),
        None if is_told => Ok(()),
        None => check.all_rows(),
    }
}

/// The rows of a table that is getting a foreign key.
struct RowCheck<'c, 'e, 's> {
    editor: &'c Editor<'e, 's>,
    relation: &'c Relation,
    name: &'c str,
    referenced: &'c Relation,
    /// Of the foreign key, and of the key that it refers to.
    index: &'c Index,
    key: &'c Index,
}

impl RowCheck<'_, '_, '_> {
    fn slots(&self) -> Vec<u16> {
        let columns = self.index.columns.iter().filter_map(|column| self.relation.column(column));
        columns.map(|column| column.field_id).collect()
    }

    /// Looks for the key of each row by itself.
    fn all_rows(&self) -> Result<()> {
        let transaction = &self.editor.context.transaction.store;
        let mut scan =
            RelationScan::new(layout(self.relation), transaction.view()?, Projection::of(self.slots()));
        let mut batch = RowBatch::new();
        while scan.next_batch(transaction, ROWS_PER_BATCH, &mut batch)? {
            self.editor.context.check_interrupt()?;
            for row in 0..batch.len() {
                let values: Vec<Value> = (0..batch.width()).map(|column| batch.value(row, column)).collect();
                self.row(&values)?;
            }
        }
        Ok(())
    }

    /// Fails if there is nothing that a row refers to.
    fn row(&self, values: &[Value]) -> Result<()> {
        // A key with a NULL in it refers to nothing and needs nothing.
        if values.iter().any(Value::is_null) {
            return Ok(());
        }
        let transaction = &self.editor.context.transaction.store;
        match transaction.key_exists(&layout(self.referenced), StoreIndex(self.key.id.0), values, None)? {
            true => Ok(()),
            false => Err(Error::new(isc::FOREIGN_KEY)
                .with(self.name)
                .with(self.relation.name.as_str())
                .and(isc::FOREIGN_KEY_TARGET_DOESNT_EXIST)
                .and(isc::IDX_KEY_VALUE)
                .with(key_text(&self.index.columns, values))),
        }
    }
}
