//! What a statement's meaning depends on: the names that it could find in a catalog, and what those objects depend on in
//! turn. A statement that was bound to one catalog is bound to another one as well where none of these names has changed
//! between them: DDL on other tables leaves prepared statements alone.
//!
//! Names count, whatever they name: a word of a statement that happens to be a column's name and that of a changed table
//! costs binding again, no more.

use std::collections::BTreeSet;

use crate::cross_reference::parents;
use crate::dependencies::identifiers;
use crate::{Catalog, ConstraintKind, Relation, RelationKind};

/// Most names of a footprint: who depends on more is bound again whenever anything changes.
const NAMES_MAX: usize = 2_000;

/// Names of which a statement depends; none where they are too many.
#[derive(Debug)]
pub struct Footprint {
    names: Option<Box<[String]>>,
}

impl Footprint {
    /// That of a statement that is bound again whatever changes.
    pub fn of_everything() -> Footprint {
        Footprint { names: None }
    }

    /// What a statement depends on that was bound to a catalog.
    pub fn of(catalog: &Catalog, sql: &str) -> Footprint {
        let mut walk = Walk { catalog, names: BTreeSet::new(), pending: Vec::new() };
        walk.source(sql);
        while let Some(name) = walk.pending.pop() {
            if walk.names.len() > NAMES_MAX {
                return Footprint::of_everything();
            }
            walk.follow(&name);
        }
        Footprint { names: Some(walk.names.into_iter().collect()) }
    }

    /// Whether the statement means the same in both catalogs.
    pub fn is_same_in(&self, old: &Catalog, new: &Catalog) -> bool {
        let (old, new) = (&old.stamps, &new.stamps);
        old.general() == new.general()
            && self.names.as_ref().is_some_and(|names| names.iter().all(|name| old.of(name) == new.of(name)))
    }
}

struct Walk<'c> {
    catalog: &'c Catalog,
    names: BTreeSet<String>,
    /// Names whose objects are to be looked at.
    pending: Vec<String>,
}

impl Walk<'_> {
    fn source(&mut self, text: &str) {
        for name in identifiers(text) {
            self.name(&name);
        }
    }

    fn name(&mut self, name: &str) {
        if self.names.insert(name.to_owned()) {
            self.pending.push(name.to_owned());
        }
    }

    /// Adds what the objects of a name depend on.
    fn follow(&mut self, name: &str) {
        let catalog = self.catalog;
        if let Some(relation) =
            catalog.relation(name).filter(|relation| relation.kind != RelationKind::System)
        {
            self.relation(relation);
        }
        let routines = catalog.procedures.get(name).into_iter().chain(catalog.functions.get(name));
        for routine in routines {
            self.source(&routine.source);
            for parameter in routine.inputs.iter().chain(&routine.outputs) {
                if let Some(domain) = &parameter.domain {
                    self.name(domain);
                }
                self.optional_source(parameter.default_source.as_deref());
            }
        }
        if let Some(package) = catalog.packages.get(name) {
            self.source(&package.header_source);
            self.optional_source(package.body_source.as_deref());
        }
        if let Some(trigger) = catalog.triggers.get(name) {
            self.source(&trigger.source);
        }
        if let Some(domain) = catalog.domains.get(name) {
            self.optional_source(domain.default_source.as_deref());
            self.optional_source(domain.check_source.as_deref());
        }
    }

    fn relation(&mut self, relation: &Relation) {
        if let RelationKind::View { source, .. } = &relation.kind {
            self.source(source);
        }
        for column in &relation.columns {
            self.name(&column.domain);
            self.optional_source(column.default_source.as_deref());
            self.optional_source(column.computed_source.as_deref());
        }
        for index in &relation.indexes {
            self.optional_source(index.expression_source.as_deref());
            self.optional_source(index.condition_source.as_deref());
        }
        for constraint in &relation.constraints {
            if let ConstraintKind::Check { source } = &constraint.kind {
                self.source(source);
            }
        }
        // A row that is written is looked for in its parents, as they are: what they depend on does not matter.
        self.names.extend(parents(relation).map(str::to_owned));
        // Changes of a key go on to its children, to theirs, and to the triggers of them all.
        for child in self.catalog.children_of(&relation.name) {
            self.name(&child.name);
        }
        for trigger in self.catalog.triggers_of(Some(&relation.name)) {
            self.name(&trigger.name);
        }
    }

    fn optional_source(&mut self, source: Option<&str>) {
        if let Some(source) = source {
            self.source(source);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{CatalogChanges, CatalogObject, Sequence, SequenceId};

    fn with_sequence(catalog: &Catalog, name: &str) -> Catalog {
        let sequence = CatalogObject::Sequence(Arc::new(Sequence {
            id: SequenceId(12),
            name: name.to_owned(),
            owner: String::from("SYSDBA"),
            initial_value: 1,
            increment: 1,
            system: false,
            description: None,
        }));
        let mut changes = CatalogChanges::default();
        changes.insert(sequence.identity(), Some(sequence));
        catalog.apply(&changes)
    }

    #[test]
    fn only_changes_of_what_is_named_count() {
        let before = with_sequence(&Catalog::default(), "A");
        let footprint = Footprint::of(&before, "select next value for a from rdb$database");
        let others = with_sequence(&before, "B");
        assert!(footprint.is_same_in(&before, &others));
        let changed = with_sequence(&others, "A");
        assert!(!footprint.is_same_in(&before, &changed));
        assert!(!footprint.is_same_in(&others, &changed));
        // As after a rollback.
        assert!(!footprint.is_same_in(&changed, &before));
    }
}
