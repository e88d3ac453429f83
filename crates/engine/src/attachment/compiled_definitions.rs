//! Definitions that Firebird keeps compiled beside their text, and of which there is no BLR here: what a backup made by gbak cannot
//! take.

use crate::attachment::Attachment;
use crate::catalog::{Catalog, Constraint, ConstraintKind, ReferentialAction, Relation, RelationKind};
use crate::system::program;

impl Attachment {
    /// The first definition of the database, if there is one, that Firebird keeps compiled too, as BLR, and that has none here: a
    /// backup without it cannot be restored by Firebird.
    pub fn compiled_definition(&self) -> Option<String> {
        let catalog = self.database().catalog();
        let routine = catalog.triggers.keys().map(|name| ("trigger", name));
        let routine = routine
            .chain(catalog.procedures.keys().map(|name| ("procedure", name)))
            .chain(
                catalog
                    .functions
                    .values()
                    .filter(|it| it.library().is_none())
                    .map(|it| ("function", &it.name)),
            )
            .chain(catalog.packages.values().filter(|it| !it.is_system()).map(|it| ("package", &it.name)))
            .next();
        if let Some((kind, name)) = routine {
            return Some(format!("{kind} {name}"));
        }
        // Dialect 1 has no BLR here at all.
        let is_made = |program: Option<Vec<u8>>| program.is_some() && catalog.database.dialect == 3;
        let domain = catalog.domains.values().find(|domain| {
            domain.default_source.as_deref().is_some_and(|it| !is_made(program::of_default(it)))
                || domain.check_source.as_deref().is_some_and(|it| !is_made(program::of_domain_check(it)))
        });
        if let Some(domain) = domain {
            return Some(format!("domain {}", domain.name));
        }
        catalog.relations.values().find_map(|relation| compiled_part(&catalog, relation))
    }
}

/// What of a relation is kept compiled, and has no BLR.
fn compiled_part(catalog: &Catalog, relation: &Relation) -> Option<String> {
    let is_made = |program: Option<Vec<u8>>| program.is_some() && catalog.database.dialect == 3;
    if relation.kind == RelationKind::System {
        return None;
    }
    if relation.is_view() {
        return Some(format!("view {}", relation.name));
    }
    let column = relation
        .columns
        .iter()
        .find(|column| {
            let default = column.default_source.as_deref();
            let computed = column.computed_source.as_deref();
            default.is_some_and(|it| !is_made(program::of_default(it)))
                || computed.is_some_and(|it| !is_made(program::of_computed(relation, it)))
        })
        .map(|column| format!("column {}.{}", relation.name, column.name));
    let constraint = || {
        let constraint =
            relation.constraints.iter().find(|it| !has_programs(catalog, relation, it, is_made))?;
        Some(format!("constraint {}", constraint.name))
    };
    let index = || {
        let is_compiled = |index: &&crate::catalog::Index| {
            let expression = index.expression_source.as_deref();
            expression.is_some_and(|it| !is_made(program::of_computed(relation, it)))
                || index.condition_source.is_some()
        };
        Some(format!("index {}", relation.indexes.iter().find(is_compiled)?.name))
    };
    column.or_else(constraint).or_else(index)
}

/// Whether each trigger of a constraint has BLR.
fn has_programs(
    catalog: &Catalog,
    relation: &Relation,
    constraint: &Constraint,
    is_made: impl Fn(Option<Vec<u8>>) -> bool,
) -> bool {
    let made =
        |referenced, on_update| is_made(program::of_constraint(relation, constraint, referenced, on_update));
    match &constraint.kind {
        ConstraintKind::Check { .. } => made(None, false),
        ConstraintKind::ForeignKey { referenced_relation, on_update, on_delete, .. } => {
            let referenced = catalog.relation(referenced_relation).map(AsRef::as_ref);
            (*on_update == ReferentialAction::Restrict || made(referenced, true))
                && (*on_delete == ReferentialAction::Restrict || made(referenced, false))
        }
        _ => true,
    }
}
