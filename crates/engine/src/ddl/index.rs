//! Indexes: CREATE, ALTER, SET STATISTICS.

use std::sync::Arc;

use farbird_sql::ast::{CreateIndex, IndexKey};
use farbird_store::{
    IndexId as StoreIndex, IndexScan, KeyRange, Projection, RelationId as StoreRelation, RowBatch,
    ScanDirection,
};
use farbird_types::{Collation, Result, SqlType, Value, compare, isc};

use crate::bind;
use crate::catalog::dependencies::{Dependency, dependencies};
use crate::catalog::layout;
use crate::catalog::layout::{can_be_maintained, collation_of};
use crate::catalog::privileges::{DdlAction, object_type};
use crate::catalog::{ConstraintKind, Index, ObjectKind, Relation};
use crate::ddl::constraint_parts::{self, is_taken};
use crate::ddl::editor::Editor;
use crate::ddl::table_edit::TableEdit;
use crate::ddl::{error, rights};

/// Rows looked at between two checks for a cancel.
pub(super) const ROWS_PER_BATCH: usize = 1024;

/// CREATE INDEX.
pub(super) fn create(editor: &mut Editor<'_, '_>, ast: &CreateIndex) -> Result<()> {
    let name = ast.name.as_str();
    let catalog = editor.catalog();
    let Some(relation) = catalog.relation(ast.table.as_str()) else {
        return Err(error::unknown_columns_in_index(name));
    };
    rights::check_ddl(editor.context, ObjectKind::Relation, DdlAction::Alter, &relation.name)?;
    if relation.is_view() {
        return Err(error::index_on_view());
    }
    let mut edit = TableEdit::of(relation);
    if is_taken(&catalog, &edit, name) {
        return Err(error::index_exists(name));
    }
    let (columns, expression_source) = match &ast.key {
        IndexKey::Columns(columns) => {
            let columns: Vec<&str> = columns.iter().map(farbird_sql::ast::Name::as_str).collect();
            check_columns(relation, name, &columns)?;
            (columns.into_iter().map(str::to_owned).collect(), None)
        }
        IndexKey::Computed(computed) => {
            let bound = bind::bind_row_expression(&editor.environment(), relation, &computed.value, None)?;
            match bound.column_type.sql_type {
                SqlType::Blob { .. } => return Err(error::index_on_blob(name)),
                SqlType::Array => return Err(error::index_on_array(name)),
                _ => {}
            }
            (Vec::new(), Some(computed.source.text.clone()))
        }
    };
    let condition_source = match &ast.condition {
        None => None,
        Some(condition) => {
            bind::bind_row_expression(
                &editor.environment(),
                relation,
                &condition.condition,
                Some(&SqlType::Boolean),
            )?;
            Some(condition.source.text.trim().to_owned())
        }
    };
    let index = Index {
        id: editor.counters().index_id()?,
        name: name.to_owned(),
        unique: ast.unique,
        descending: ast.descending,
        inactive: ast.inactive,
        columns,
        expression_source,
        condition_source,
        dialect: editor.environment().dialect,
        selectivity: Vec::new(),
        foreign_key: None,
        description: None,
    };
    if !can_be_maintained(&edit.relation, &index) {
        return Err(error::index_of_more_than_the_row());
    }
    edit.relation.indexes.push(index);
    if !ast.inactive {
        edit.new_indexes.push(name.to_owned());
    }
    edit.finish(editor)?;
    Ok(())
}

/// Checks that columns can be indexed.
pub(super) fn check_columns(relation: &Relation, index: &str, columns: &[&str]) -> Result<()> {
    let mut key_bytes: u64 = 0;
    for (place, name) in columns.iter().enumerate() {
        if columns.iter().take(place).any(|earlier| earlier == name) {
            return Err(error::column_twice_in_index(name, index));
        }
        let column = relation.column(name).ok_or_else(|| error::unknown_columns_in_index(index))?;
        if column.computed_source.is_some() {
            return Err(error::index_on_computed(index));
        }
        match &column.sql_type {
            SqlType::Blob { .. } => return Err(error::index_on_blob(index)),
            SqlType::Array => return Err(error::index_on_array(index)),
            SqlType::Text(text) => key_bytes += u64::from(text.length_bytes()),
            _ => key_bytes += 16,
        }
    }
    if key_bytes > KEY_BYTES_MAX {
        return Err(error::index_key_too_big(index));
    }
    Ok(())
}

/// The longest key of an index, as declared. Firebird's limit is a quarter of the page, 8 KiB at most; ours is what
/// the store takes, with room for escaping.
const KEY_BYTES_MAX: u64 = 8 << 10;

/// ALTER INDEX name ACTIVE | INACTIVE. ACTIVE makes the entries anew.
pub(super) fn set_active(editor: &mut Editor<'_, '_>, name: &str, active: bool) -> Result<()> {
    let catalog = editor.catalog();
    let (relation, index) = catalog.index(name).ok_or_else(error::index_not_found)?;
    rights::check_ddl(editor.context, ObjectKind::Relation, DdlAction::Alter, &relation.name)?;
    let constraint = relation.constraints.iter().find(|constraint| constraint.index() == Some(name));
    if let Some(constraint) = constraint.filter(|_| !active) {
        let foreign = matches!(constraint.kind, ConstraintKind::ForeignKey { .. });
        return Err(error::index_of_key_deactivated(foreign));
    }
    let mut edit = TableEdit::of(relation);
    let old = index.clone();
    let Some(changed) = edit.relation.indexes.iter_mut().find(|index| index.name == name) else {
        return Ok(());
    };
    changed.inactive = !active;
    if active && !can_be_maintained(relation, changed) {
        return Err(error::index_of_more_than_the_row());
    }
    if active {
        // Entries are made in a space of their own, so that others can go on reading the old ones until the commit.
        changed.id = editor.counters().index_id()?;
        edit.new_indexes.push(name.to_owned());
        edit.dropped_indexes.push(old);
    } else if old.inactive {
        return Ok(());
    }
    edit.finish(editor)?;
    Ok(())
}

/// SET STATISTICS INDEX.
pub(super) fn set_statistics(editor: &mut Editor<'_, '_>, name: &str) -> Result<()> {
    let catalog = editor.catalog();
    let (relation, index) = catalog.index(name).ok_or_else(error::index_not_found)?;
    rights::check_ddl(editor.context, ObjectKind::Relation, DdlAction::Alter, &relation.name)?;
    if !relation.is_stored() || index.inactive {
        return Ok(());
    }
    let selectivity = selectivity(editor, relation, index)?;
    // What plans are made by becomes exact with it.
    let transaction = &editor.context.transaction.store;
    transaction.store().analyze(StoreRelation(relation.id.0), transaction.cancel_flag())?;
    let mut changed = Relation::clone(relation);
    if let Some(index) = changed.indexes.iter_mut().find(|index| index.name == name) {
        index.selectivity = selectivity;
    }
    editor.put_relation(changed)?;
    Ok(())
}

/// One over the number of different keys, for each number of leading parts.
fn selectivity(editor: &Editor<'_, '_>, relation: &Arc<Relation>, index: &Index) -> Result<Vec<f64>> {
    let columns: Vec<_> = index.columns.iter().filter_map(|name| relation.column(name)).collect();
    if columns.is_empty() {
        return Ok(Vec::new());
    }
    let collations: Vec<Collation> = columns.iter().map(|column| collation_of(&column.sql_type)).collect();
    let slots: Vec<u16> = columns.iter().map(|column| column.field_id).collect();
    let transaction = &editor.context.transaction.store;
    let mut scan = IndexScan::new(
        layout(relation),
        StoreIndex(index.id.0),
        KeyRange::all(),
        ScanDirection::Ascending,
        transaction.view()?,
        Projection::of(slots),
    )?;
    let mut distinct = vec![0_u64; columns.len()];
    let mut previous: Option<Vec<Value>> = None;
    let mut batch = RowBatch::new();
    while scan.next_batch(transaction, ROWS_PER_BATCH, &mut batch)? {
        editor.context.check_interrupt()?;
        for row in 0..batch.len() {
            let key = batch.take_row(row);
            let same = previous.as_ref().map_or(0, |previous| common_parts(previous, &key, &collations));
            for count in distinct.iter_mut().skip(same) {
                *count += 1;
            }
            previous = Some(key);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    Ok(distinct.into_iter().map(|count| if count == 0 { 0.0 } else { 1.0 / count as f64 }).collect())
}

/// How many leading parts two keys have in common.
fn common_parts(left: &[Value], right: &[Value], collations: &[Collation]) -> usize {
    left.iter()
        .zip(right)
        .zip(collations)
        .take_while(|((left, right), collation)| match (left.is_null(), right.is_null()) {
            (true, true) => true,
            (false, false) => compare::compare(left, right, **collation).is_ok_and(std::cmp::Ordering::is_eq),
            _ => false,
        })
        .count()
}

/// DROP INDEX.
pub(super) fn drop_index(editor: &mut Editor<'_, '_>, name: &str) -> Result<()> {
    let catalog = editor.catalog();
    let (relation, _) = catalog.index(name).ok_or_else(error::index_not_found)?;
    rights::check_ddl(editor.context, ObjectKind::Relation, DdlAction::Alter, &relation.name)?;
    if relation.constraints.iter().any(|constraint| constraint.index() == Some(name)) {
        return Err(error::index_of_constraint());
    }
    let is_named = |it: &&Dependency| it.used == name && it.used_type == object_type::INDEX;
    let users = dependencies(&catalog).iter().filter(is_named).count();
    if users > 0 {
        return Err(error::in_use(isc::INDEX_NAME, name, users));
    }
    let mut edit = TableEdit::of(relation);
    constraint_parts::remove_index(&mut edit, name);
    edit.finish(editor)?;
    Ok(())
}
