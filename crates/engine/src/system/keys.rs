//! Rows about indexes and constraints.

use std::sync::Arc;

use farbird_store::RelationStatistics;

use crate::catalog::{ConstraintKind, Index, ReferentialAction, Relation};
use crate::system::program;
use crate::system::row_set::RowSet;
use crate::system::statistics;
use crate::system::tables::{is_system, relations_in_order};

pub(super) fn indices(rows: &mut RowSet<'_, '_, '_>) {
    for relation in relations_in_order(&Arc::clone(&rows.catalog)) {
        let known = figures(rows, &relation);
        for (position, index) in relation.indexes.iter().enumerate() {
            index_row(rows, &relation, index, i64::try_from(position + 1).unwrap_or(0), known.as_deref());
        }
    }
}

/// What is known of the keys of a table's indexes, if it is asked for.
fn figures(rows: &RowSet<'_, '_, '_>, relation: &Relation) -> Option<Arc<RelationStatistics>> {
    let is_asked = rows.wants("RDB$STATISTICS") && !relation.indexes.is_empty();
    if is_asked { statistics::known(rows, relation) } else { None }
}

fn index_row(
    rows: &mut RowSet<'_, '_, '_>,
    relation: &Relation,
    index: &Index,
    number: i64,
    known: Option<&RelationStatistics>,
) {
    let system = is_system(relation);
    let of_constraint =
        relation.constraints.iter().any(|constraint| constraint.index() == Some(index.name.as_str()));
    let catalog = Arc::clone(&rows.catalog);
    rows.row()
        .text("RDB$INDEX_NAME", &index.name)
        .text("RDB$RELATION_NAME", &relation.name)
        .flag("RDB$UNIQUE_FLAG", index.unique)
        .blob("RDB$DESCRIPTION", index.description.as_deref())
        .number("RDB$SEGMENT_COUNT", i64::try_from(index.columns.len()).unwrap_or(0))
        .flag("RDB$INDEX_INACTIVE", index.inactive)
        .optional_text("RDB$FOREIGN_KEY", index.foreign_key.as_deref())
        .flag("RDB$SYSTEM_FLAG", system)
        .blob("RDB$EXPRESSION_SOURCE", index.expression_source.as_deref())
        .program("RDB$EXPRESSION_BLR", index.expression_source.is_some(), || {
            program::of_computed(&catalog, relation, index.expression_source.as_deref()?)
        })
        .program("RDB$CONDITION_BLR", index.condition_source.is_some(), || {
            program::of_index_condition(&catalog, relation, index.condition()?)
        });
    if let (Some(source), Some(condition)) = (&index.condition_source, index.condition()) {
        let has_where = condition.len() < source.trim().len();
        let shown = if has_where { source.clone() } else { format!("WHERE {condition}") };
        rows.blob("RDB$CONDITION_SOURCE", Some(shown));
    }
    if !index.inactive {
        rows.number("RDB$INDEX_ID", number);
    }
    // Indexes of constraints and of the system leave it open unless they are descending.
    if index.descending || !(of_constraint || system) {
        rows.flag("RDB$INDEX_TYPE", index.descending);
    }
    if !system {
        let last = index.columns.len().max(1) - 1;
        rows.double("RDB$STATISTICS", statistics::selectivity(index, last, known));
    }
}

pub(super) fn index_segments(rows: &mut RowSet<'_, '_, '_>) {
    for relation in relations_in_order(&Arc::clone(&rows.catalog)) {
        let system = is_system(&relation);
        let known = figures(rows, &relation);
        for index in &relation.indexes {
            for (position, column) in index.columns.iter().enumerate() {
                rows.row()
                    .text("RDB$INDEX_NAME", &index.name)
                    .text("RDB$FIELD_NAME", column)
                    .number("RDB$FIELD_POSITION", i64::try_from(position).unwrap_or(0));
                if !system {
                    rows.double("RDB$STATISTICS", statistics::selectivity(index, position, known.as_deref()));
                }
            }
        }
    }
}

pub(super) fn relation_constraints(rows: &mut RowSet<'_, '_, '_>) {
    for relation in relations_in_order(&Arc::clone(&rows.catalog)) {
        for constraint in &relation.constraints {
            let kind = match constraint.kind {
                ConstraintKind::NotNull { .. } => "NOT NULL",
                ConstraintKind::Check { .. } => "CHECK",
                ConstraintKind::PrimaryKey { .. } => "PRIMARY KEY",
                ConstraintKind::Unique { .. } => "UNIQUE",
                ConstraintKind::ForeignKey { .. } => "FOREIGN KEY",
            };
            rows.row()
                .text("RDB$CONSTRAINT_NAME", &constraint.name)
                .text("RDB$CONSTRAINT_TYPE", kind)
                .text("RDB$RELATION_NAME", &relation.name)
                .text("RDB$DEFERRABLE", "NO")
                .text("RDB$INITIALLY_DEFERRED", "NO")
                .optional_text("RDB$INDEX_NAME", constraint.index());
        }
    }
}

fn rule(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::Restrict => "RESTRICT",
        ReferentialAction::Cascade => "CASCADE",
        ReferentialAction::SetNull => "SET NULL",
        ReferentialAction::SetDefault => "SET DEFAULT",
    }
}

pub(super) fn ref_constraints(rows: &mut RowSet<'_, '_, '_>) {
    for relation in relations_in_order(&Arc::clone(&rows.catalog)) {
        for constraint in &relation.constraints {
            if let ConstraintKind::ForeignKey { referenced_constraint, on_update, on_delete, .. } =
                &constraint.kind
            {
                rows.row()
                    .text("RDB$CONSTRAINT_NAME", &constraint.name)
                    .text("RDB$CONST_NAME_UQ", referenced_constraint)
                    .text("RDB$MATCH_OPTION", "FULL")
                    .text("RDB$UPDATE_RULE", rule(*on_update))
                    .text("RDB$DELETE_RULE", rule(*on_delete));
            }
        }
    }
}

pub(super) fn check_constraints(rows: &mut RowSet<'_, '_, '_>) {
    for relation in relations_in_order(&Arc::clone(&rows.catalog)) {
        for constraint in &relation.constraints {
            if let ConstraintKind::NotNull { column } = &constraint.kind {
                // The column stands where checks have their trigger.
                rows.row().text("RDB$CONSTRAINT_NAME", &constraint.name).text("RDB$TRIGGER_NAME", column);
            }
            for trigger in &constraint.triggers {
                rows.row().text("RDB$CONSTRAINT_NAME", &constraint.name).text("RDB$TRIGGER_NAME", trigger);
            }
        }
    }
}
