//! BLR of definitions, for the columns of the system tables that hold it.
//!
//! What has none here (`None`) is shown to tools as an empty program. Dialect 1 computes otherwise: there is no BLR of it.

use farbird_blr::{Reference, ReferringAction, ReferringColumn, on_delete_program, on_update_program};
use farbird_blr_compiler::View;

use crate::catalog::{
    Catalog, Constraint, ConstraintKind, ReferentialAction, Relation, RelationKind, Routine, Trigger,
};

/// A program, where there is one.
pub(crate) type Program = Option<Vec<u8>>;

fn has_programs(catalog: &Catalog) -> bool {
    catalog.database.dialect == 3
}

/// Of a default, as written.
pub(crate) fn of_default(catalog: &Catalog, source: &str) -> Program {
    if !has_programs(catalog) {
        return None;
    }
    farbird_blr_compiler::of_default(catalog, source).ok()
}

/// Of a domain's `CHECK (...)`.
pub(crate) fn of_domain_check(catalog: &Catalog, source: &str) -> Program {
    if !has_programs(catalog) {
        return None;
    }
    farbird_blr_compiler::of_domain_check(catalog, source).ok()
}

/// Of the expression of a computed column or of an index, with its parentheses.
pub(crate) fn of_computed(catalog: &Catalog, relation: &Relation, source: &str) -> Program {
    if !has_programs(catalog) {
        return None;
    }
    farbird_blr_compiler::of_computed(catalog, relation, source).ok()
}

/// Of the condition of an index.
pub(crate) fn of_index_condition(catalog: &Catalog, relation: &Relation, source: &str) -> Program {
    if !has_programs(catalog) {
        return None;
    }
    farbird_blr_compiler::of_index_condition(catalog, relation, source).ok()
}

/// Of a view, with its columns.
pub(crate) fn of_view(catalog: &Catalog, view: &Relation) -> Option<View> {
    if !has_programs(catalog) {
        return None;
    }
    farbird_blr_compiler::of_view(catalog, view).ok()
}

/// Of the triggers that hold a view to its condition: before UPDATE, before INSERT.
pub(crate) fn of_check_option(catalog: &Catalog, view: &Relation) -> Option<[Vec<u8>; 2]> {
    if !has_programs(catalog) {
        return None;
    }
    farbird_blr_compiler::of_check_option(catalog, view).ok()
}

/// Whether a view is held to its condition.
pub(crate) fn has_check_option(view: &Relation) -> bool {
    matches!(view.kind, RelationKind::View { check_option: true, .. })
}

/// Of a trigger.
pub(crate) fn of_trigger(catalog: &Catalog, trigger: &Trigger) -> Program {
    if !has_programs(catalog) {
        return None;
    }
    farbird_blr_compiler::of_trigger(catalog, trigger).ok()
}

/// Of a procedure.
pub(crate) fn of_procedure(catalog: &Catalog, procedure: &Routine) -> Program {
    if !has_programs(catalog) {
        return None;
    }
    farbird_blr_compiler::of_procedure(catalog, procedure).ok()
}

/// Of a function.
pub(crate) fn of_function(catalog: &Catalog, function: &Routine) -> Program {
    if !has_programs(catalog) {
        return None;
    }
    farbird_blr_compiler::of_function(catalog, function).ok()
}

/// Of the trigger of a constraint; `on_update` tells a foreign key's two apart.
pub(crate) fn of_constraint(
    catalog: &Catalog,
    relation: &Relation,
    constraint: &Constraint,
    on_update: bool,
) -> Program {
    if !has_programs(catalog) {
        return None;
    }
    match &constraint.kind {
        ConstraintKind::Check { source } => farbird_blr_compiler::of_check(catalog, relation, source).ok(),
        ConstraintKind::ForeignKey {
            index,
            referenced_relation,
            referenced_constraint,
            on_update: update,
            on_delete: delete,
        } => {
            let own = &relation.index(index)?.columns;
            let referenced = catalog.relation(referenced_relation)?;
            let key = referenced.constraint(referenced_constraint)?.index()?;
            let others = &referenced.index(key)?.columns;
            let columns: Option<Vec<ReferringColumn<'_>>> =
                own.iter().zip(others).map(|(own, other)| referring(catalog, relation, own, other)).collect();
            let reference = Reference { table: &relation.name, columns: columns? };
            match on_update {
                true => on_update_program(&reference, action(*update)?),
                false => on_delete_program(&reference, action(*delete)?),
            }
        }
        _ => None,
    }
}

fn action(action: ReferentialAction) -> Option<ReferringAction> {
    match action {
        ReferentialAction::Cascade => Some(ReferringAction::Cascade),
        ReferentialAction::SetNull => Some(ReferringAction::SetNull),
        ReferentialAction::SetDefault => Some(ReferringAction::SetDefault),
        ReferentialAction::Restrict => None,
    }
}

/// A column of a foreign key, with the default that it or its domain has.
fn referring<'r>(
    catalog: &Catalog,
    relation: &'r Relation,
    own: &'r str,
    referenced: &'r str,
) -> Option<ReferringColumn<'r>> {
    let column = relation.column(own)?;
    let of_domain = catalog.domains.get(&column.domain).and_then(|it| it.default_source.as_deref());
    let default = match column.default_source.as_deref().or(of_domain) {
        Some(source) => Some(farbird_blr_compiler::value_of_default(catalog, source).ok()?),
        None => None,
    };
    Some(ReferringColumn { own, referenced, default })
}
