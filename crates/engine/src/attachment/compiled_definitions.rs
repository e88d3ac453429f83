//! Definitions that Firebird keeps compiled beside their text: what a backup made by gbak cannot take from here.

use crate::attachment::Attachment;
use crate::catalog::{Relation, RelationKind};

impl Attachment {
    /// The first definition of the database, if there is one, that Firebird keeps compiled too, as BLR. There is no BLR here, and
    /// a backup without it cannot be restored by Firebird.
    pub fn compiled_definition(&self) -> Option<String> {
        let catalog = self.database().catalog();
        let routine = catalog.triggers.keys().map(|name| ("trigger", name));
        let routine = routine
            .chain(catalog.procedures.keys().map(|name| ("procedure", name)))
            .chain(catalog.functions.keys().map(|name| ("function", name)))
            .chain(catalog.packages.keys().map(|name| ("package", name)))
            .next();
        if let Some((kind, name)) = routine {
            return Some(format!("{kind} {name}"));
        }
        let has_text =
            |default: &Option<String>, other: &Option<String>| default.is_some() || other.is_some();
        let domain =
            catalog.domains.values().find(|domain| has_text(&domain.default_source, &domain.check_source));
        if let Some(domain) = domain {
            return Some(format!("domain {}", domain.name));
        }
        catalog.relations.values().find_map(|relation| compiled_part(relation))
    }
}

/// What of a relation is kept compiled.
fn compiled_part(relation: &Relation) -> Option<String> {
    if relation.kind == RelationKind::System {
        return None;
    }
    if relation.is_view() {
        return Some(format!("view {}", relation.name));
    }
    let column = relation
        .columns
        .iter()
        .find(|column| column.default_source.is_some() || column.computed_source.is_some())
        .map(|column| format!("column {}.{}", relation.name, column.name));
    let constraint = || {
        let constraint = relation.constraints.iter().find(|constraint| !constraint.triggers.is_empty())?;
        Some(format!("constraint {}", constraint.name))
    };
    let index = || {
        let is_compiled = |index: &&crate::catalog::Index| {
            index.expression_source.is_some() || index.condition_source.is_some()
        };
        Some(format!("index {}", relation.indexes.iter().find(is_compiled)?.name))
    };
    column.or_else(constraint).or_else(index)
}
