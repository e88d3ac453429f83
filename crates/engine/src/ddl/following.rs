//! What follows a changed column or domain: views that show it, indexes that hold it.

use farbird_types::Result;

use crate::catalog::{Column, Relation};
use crate::ddl::editor::Editor;
use crate::ddl::table_edit::TableEdit;

/// Columns of views take their types from the columns they show: those follow.
pub(super) fn follow_in_views(editor: &mut Editor<'_, '_>, table: &str, changed: &[Column]) -> Result<()> {
    if changed.is_empty() {
        return Ok(());
    }
    let catalog = editor.catalog();
    for view in catalog.relations.values().filter(|relation| relation.is_view()) {
        let mut new = Relation::clone(view);
        let mut followed = Vec::new();
        for column in &mut new.columns {
            let origin = column.view_origin.as_ref().filter(|(of, _)| of == table);
            let Some(base) = origin.and_then(|(_, base)| changed.iter().find(|it| it.name == *base)) else {
                continue;
            };
            column.sql_type = base.sql_type;
            column.precision = base.precision;
            column.segment_size = base.segment_size;
            column.array.clone_from(&base.array);
            // Of a group, a union or a derived table a view's column has a domain of its own.
            if column.view_context.is_some() {
                column.domain.clone_from(&base.domain);
            }
            followed.push(column.clone());
        }
        if !followed.is_empty() {
            editor.put_relation(new)?;
            // A view cannot show itself: this ends with the views that nobody looks at.
            follow_in_views(editor, &view.name, &followed)?;
        }
    }
    Ok(())
}

/// Keys of another type, or of another expression, are other keys: the column's indexes, and those that may compute with it,
/// are made anew, in a space of their own.
pub(super) fn rebuild_indexes(editor: &Editor<'_, '_>, edit: &mut TableEdit, column: &str) -> Result<()> {
    let mut rebuilt = Vec::new();
    for index in &mut edit.relation.indexes {
        let computes = index.expression_source.is_some() || index.condition_source.is_some();
        let holds = computes || index.columns.iter().any(|it| it == column);
        if holds && !edit.new_indexes.contains(&index.name) {
            let old = index.clone();
            index.id = editor.counters().index_id()?;
            rebuilt.push(old);
        }
    }
    for old in rebuilt {
        edit.new_indexes.push(old.name.clone());
        edit.dropped_indexes.push(old);
    }
    Ok(())
}
