//! Definitions that Firebird keeps compiled beside their text, and of which there is no BLR here: what a backup made by gbak cannot
//! take.

use crate::attachment::Attachment;
use crate::catalog::{
    Catalog, Constraint, ConstraintKind, ReferentialAction, Relation, RelationKind, Routine,
};
use crate::system::program::{self, Program};

impl Attachment {
    /// The first definition of the database, if there is one, that Firebird keeps compiled too, as BLR, and that has none here: a
    /// backup without it cannot be restored by Firebird.
    pub fn compiled_definition(&self) -> Option<String> {
        let catalog = self.database().catalog();
        routine_without(&catalog)
            .or_else(|| domain_without(&catalog))
            .or_else(|| catalog.relations.values().find_map(|relation| part_without(&catalog, relation)))
    }
}

/// A trigger or routine without BLR.
fn routine_without(catalog: &Catalog) -> Option<String> {
    let lacks = |routine: &Routine, make: fn(&Catalog, &Routine) -> Program| {
        let is_own = routine.has_body() && !routine.is_system() && routine.library().is_none();
        (is_own && make(catalog, routine).is_none()) || lacks_defaults(catalog, routine)
    };
    let trigger = catalog.triggers.values().find(|it| program::of_trigger(catalog, it).is_none());
    let named = |kind: &str, name: &str| Some(format!("{kind} {name}"));
    if let Some(trigger) = trigger {
        return named("trigger", &trigger.name);
    }
    if let Some(it) = catalog.procedures.values().find(|it| lacks(it, program::of_procedure)) {
        return named("procedure", &it.name);
    }
    if let Some(it) = catalog.functions.values().find(|it| lacks(it, program::of_function)) {
        return named("function", &it.name);
    }
    let package = catalog.packages.values().filter(|it| !it.is_system()).find(|package| {
        package.procedures.iter().any(|it| lacks(it, program::of_procedure))
            || package.functions.iter().any(|it| lacks(it, program::of_function))
    });
    named("package", &package?.name)
}

fn lacks_defaults(catalog: &Catalog, routine: &Routine) -> bool {
    let defaults = routine.inputs.iter().filter_map(|it| it.default_source.as_deref());
    defaults.into_iter().any(|it| !routine.is_system() && program::of_default(catalog, it).is_none())
}

fn domain_without(catalog: &Catalog) -> Option<String> {
    let domain = catalog.domains.values().find(|domain| {
        domain.default_source.as_deref().is_some_and(|it| program::of_default(catalog, it).is_none())
            || domain
                .check_source
                .as_deref()
                .is_some_and(|it| program::of_domain_check(catalog, it).is_none())
    });
    Some(format!("domain {}", domain?.name))
}

/// What of a relation is kept compiled, and has no BLR.
fn part_without(catalog: &Catalog, relation: &Relation) -> Option<String> {
    if relation.kind == RelationKind::System {
        return None;
    }
    if relation.is_view() {
        let is_held =
            !program::has_check_option(relation) || program::of_check_option(catalog, relation).is_some();
        let is_made = program::of_view(catalog, relation).is_some() && is_held;
        return (!is_made).then(|| format!("view {}", relation.name));
    }
    let column = relation
        .columns
        .iter()
        .find(|column| {
            let default = column.default_source.as_deref();
            let computed = column.computed_source.as_deref();
            default.is_some_and(|it| program::of_default(catalog, it).is_none())
                || computed.is_some_and(|it| program::of_computed(catalog, relation, it).is_none())
        })
        .map(|column| format!("column {}.{}", relation.name, column.name));
    let constraint = || {
        let constraint = relation.constraints.iter().find(|it| !has_programs(catalog, relation, it))?;
        Some(format!("constraint {}", constraint.name))
    };
    let index = || {
        let lacks = |index: &&crate::catalog::Index| {
            let expression = index.expression_source.as_deref();
            expression.is_some_and(|it| program::of_computed(catalog, relation, it).is_none())
                || index
                    .condition()
                    .is_some_and(|it| program::of_index_condition(catalog, relation, it).is_none())
        };
        Some(format!("index {}", relation.indexes.iter().find(lacks)?.name))
    };
    column.or_else(constraint).or_else(index)
}

/// Whether each trigger of a constraint has BLR.
fn has_programs(catalog: &Catalog, relation: &Relation, constraint: &Constraint) -> bool {
    let made = |on_update| program::of_constraint(catalog, relation, constraint, on_update).is_some();
    match &constraint.kind {
        ConstraintKind::Check { .. } => made(false),
        ConstraintKind::ForeignKey { on_update, on_delete, .. } => {
            (*on_update == ReferentialAction::Restrict || made(true))
                && (*on_delete == ReferentialAction::Restrict || made(false))
        }
        _ => true,
    }
}
