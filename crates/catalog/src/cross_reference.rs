//! What belongs to which table, kept with the catalog: finding an index, the children of a key or the triggers of a table
//! looks at what is found and not at every table that there is.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::ordered_map::OrderedMap;
use crate::{ConstraintKind, Relation, RelationId, Trigger};

/// Names of one kind that belong to a name.
type Members = OrderedMap<String, Arc<BTreeSet<String>>>;

/// The ways from a part to its table and back. Changed by [`Catalog::insert`](crate::Catalog::insert) and its
/// opposite only.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CrossReferences {
    /// Relations by number.
    relations: OrderedMap<RelationId, Arc<str>>,
    /// The tables of indexes.
    indexes: OrderedMap<String, Arc<str>>,
    /// The tables of constraints.
    constraints: OrderedMap<String, Arc<str>>,
    /// The tables of the triggers that Firebird would have made for constraints.
    constraint_triggers: OrderedMap<String, Arc<str>>,
    /// The tables whose foreign keys refer to a table.
    children: Members,
    /// The triggers of a table or view; those of the database under the empty name.
    triggers: Members,
}

impl CrossReferences {
    /// The name of a relation with this number.
    pub(crate) fn relation(&self, id: RelationId) -> Option<&str> {
        self.relations.get(&id).map(AsRef::as_ref)
    }

    /// The name of an index's table.
    pub(crate) fn table_of_index(&self, index: &str) -> Option<&str> {
        self.indexes.get(index).map(AsRef::as_ref)
    }

    /// The name of a constraint's table.
    pub(crate) fn table_of_constraint(&self, constraint: &str) -> Option<&str> {
        self.constraints.get(constraint).map(AsRef::as_ref)
    }

    /// Whether a constraint's trigger has this name.
    pub(crate) fn has_constraint_trigger(&self, trigger: &str) -> bool {
        self.constraint_triggers.contains_key(trigger)
    }

    /// The names of the tables whose foreign keys refer to a table.
    pub(crate) fn children_of(&self, table: &str) -> impl Iterator<Item = &String> {
        self.children.get(table).into_iter().flat_map(|names| names.iter())
    }

    /// The names of a relation's triggers; of the database's without one.
    pub(crate) fn triggers_of(&self, relation: Option<&str>) -> impl Iterator<Item = &String> {
        self.triggers.get(relation.unwrap_or_default()).into_iter().flat_map(|names| names.iter())
    }

    /// A relation comes.
    pub(crate) fn enter_relation(&mut self, relation: &Relation) {
        let name: Arc<str> = Arc::from(relation.name.as_str());
        self.relations.insert(relation.id, Arc::clone(&name));
        for index in &relation.indexes {
            self.indexes.insert(index.name.clone(), Arc::clone(&name));
        }
        for constraint in &relation.constraints {
            self.constraints.insert(constraint.name.clone(), Arc::clone(&name));
            for trigger in &constraint.triggers {
                self.constraint_triggers.insert(trigger.clone(), Arc::clone(&name));
            }
        }
        for parent in parents(relation) {
            enter(&mut self.children, parent, &relation.name);
        }
    }

    /// A relation goes, or is replaced by the next that comes.
    pub(crate) fn strike_relation(&mut self, relation: &Relation) {
        let name = relation.name.as_str();
        remove_if_of(&mut self.relations, &relation.id, name);
        for index in &relation.indexes {
            remove_if_of(&mut self.indexes, &index.name, name);
        }
        for constraint in &relation.constraints {
            remove_if_of(&mut self.constraints, &constraint.name, name);
            for trigger in &constraint.triggers {
                remove_if_of(&mut self.constraint_triggers, trigger, name);
            }
        }
        for parent in parents(relation) {
            strike(&mut self.children, parent, &relation.name);
        }
    }

    /// A trigger comes.
    pub(crate) fn enter_trigger(&mut self, trigger: &Trigger) {
        enter(&mut self.triggers, trigger.relation.as_deref().unwrap_or_default(), &trigger.name);
    }

    /// A trigger goes, or is replaced by the next that comes.
    pub(crate) fn strike_trigger(&mut self, trigger: &Trigger) {
        strike(&mut self.triggers, trigger.relation.as_deref().unwrap_or_default(), &trigger.name);
    }
}

/// The tables that foreign keys of a table refer to; one may come several times.
pub(crate) fn parents(relation: &Relation) -> impl Iterator<Item = &str> {
    relation.constraints.iter().filter_map(|constraint| match &constraint.kind {
        ConstraintKind::ForeignKey { referenced_relation, .. } => Some(referenced_relation.as_str()),
        _ => None,
    })
}

/// Takes a part out unless it is another table's by now, whose change came first.
fn remove_if_of<K: Ord + Clone>(parts: &mut OrderedMap<K, Arc<str>>, part: &K, table: &str) {
    if parts.get(part).is_some_and(|owner| **owner == *table) {
        parts.remove(part);
    }
}

fn enter(members: &mut Members, owner: &str, name: &str) {
    match members.get_mut(owner) {
        Some(names) => drop(Arc::make_mut(names).insert(name.to_owned())),
        None => drop(members.insert(owner.to_owned(), Arc::new(BTreeSet::from([name.to_owned()])))),
    }
}

fn strike(members: &mut Members, owner: &str, name: &str) {
    let Some(names) = members.get_mut(owner) else { return };
    let left = Arc::make_mut(names);
    left.remove(name);
    if left.is_empty() {
        members.remove(owner);
    }
}
