//! Catalogs made of catalogs: a transaction's changes, marks for its savepoints, publication with its commit.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use farbird_store::{CommitNumber, RelationId as StoreRelation};

use crate::cross_reference::parents;
use crate::database::Database;
use crate::stamps::Stamps;
use crate::transaction::TransactionCatalog;
use crate::{Catalog, CatalogChanges, CatalogObject, ObjectKind, OrderedMap, Relation, layout};

/// Versions are unique in the process: a cached statement of one catalog is never taken for one of another.
static NEXT_VERSION: AtomicU64 = AtomicU64::new(1);

/// A version that no catalog has had.
pub(crate) fn new_version() -> u64 {
    NEXT_VERSION.fetch_add(1, Ordering::Relaxed)
}

/// A transaction's catalog at a moment, to go back to.
#[derive(Debug, Clone)]
pub struct CatalogMark {
    current: Arc<Catalog>,
    changes: CatalogChanges,
}

impl Catalog {
    /// The committed catalog that these changes make of this one.
    pub fn apply(&self, changes: &CatalogChanges) -> Catalog {
        let mut next = self.clone();
        next.version = new_version();
        for ((kind, name), object) in changes.iter() {
            match object {
                Some(object) => next.insert(object.clone()),
                None => next.remove(*kind, name),
            }
        }
        next.base_version = next.version;
        next
    }

    /// The same with tables that have not been seen before: the store refuses rows in the layouts of the old ones, so that
    /// statements are bound again before they write.
    fn with_tables_renewed(mut self, tables: &BTreeSet<String>) -> Catalog {
        for name in tables {
            self.stamps.note(name, self.version);
            if let Some(relation) = self.relations.get_mut(name) {
                *relation = Arc::new(Relation::clone(relation));
            }
        }
        self
    }

    /// Those of these tables that have rows of their own.
    fn stored_tables(&self, names: &BTreeSet<String>) -> impl Iterator<Item = &Arc<Relation>> {
        names.iter().filter_map(|name| self.relations.get(name)).filter(|relation| relation.is_stored())
    }

    /// This catalog with one object more, or another one of its kind and name: to see what would compile then.
    pub fn with(&self, object: CatalogObject) -> Catalog {
        let mut next = self.clone();
        next.version = new_version();
        next.insert(object);
        next
    }

    /// Puts an object in its place; one of the same kind and name is replaced.
    pub fn insert(&mut self, object: CatalogObject) {
        let (kind, name) = object.identity();
        self.note_change(kind, &name);
        self.place(object);
        // What was there before and what is there now may concern different tables.
        self.note_change(kind, &name);
    }

    /// Nothing has been bound to an earlier catalog.
    pub(super) fn forget_changes(&mut self) {
        self.stamps = Stamps::default();
    }

    /// Remembers that what a name stands for changes, and which tables that concerns.
    fn note_change(&mut self, kind: ObjectKind, name: &str) {
        let version = self.version;
        match kind {
            ObjectKind::Database | ObjectKind::Role | ObjectKind::Privilege => {
                self.stamps.note_general(version);
                return;
            }
            ObjectKind::Relation => {
                for parent in self.relations.get(name).into_iter().flat_map(|relation| parents(relation)) {
                    self.stamps.note(parent, version);
                }
            }
            ObjectKind::Trigger => match self.triggers.get(name).map(|trigger| &trigger.relation) {
                Some(Some(relation)) => self.stamps.note(relation, version),
                Some(None) => self.stamps.note_general(version),
                None => {}
            },
            _ => {}
        }
        self.stamps.note(name, version);
    }

    fn place(&mut self, object: CatalogObject) {
        match object {
            CatalogObject::Database(database) => self.database = database,
            CatalogObject::Relation(it) => {
                if let Some(old) = self.relations.get(&it.name) {
                    self.cross.strike_relation(old);
                }
                self.cross.enter_relation(&it);
                replace(&mut self.relations, it.name.clone(), it);
            }
            CatalogObject::Domain(it) => replace(&mut self.domains, it.name.clone(), it),
            CatalogObject::Sequence(it) => replace(&mut self.sequences, it.name.clone(), it),
            CatalogObject::Exception(it) => replace(&mut self.exceptions, it.name.clone(), it),
            CatalogObject::Procedure(it) => replace(&mut self.procedures, it.name.clone(), it),
            CatalogObject::Function(it) => replace(&mut self.functions, it.name.clone(), it),
            CatalogObject::Package(it) => replace(&mut self.packages, it.name.clone(), it),
            CatalogObject::Trigger(it) => {
                if let Some(old) = self.triggers.get(&it.name) {
                    self.cross.strike_trigger(old);
                }
                self.cross.enter_trigger(&it);
                replace(&mut self.triggers, it.name.clone(), it);
            }
            CatalogObject::Role(it) => replace(&mut self.roles, it.name.clone(), it),
            CatalogObject::Privilege(it) => replace(&mut self.privileges, it.key(), it),
            CatalogObject::Collation(it) => replace(&mut self.collations, it.name.clone(), it),
            CatalogObject::Mapping(it) => replace(&mut self.mappings, it.name.clone(), it),
        }
    }

    fn remove(&mut self, kind: ObjectKind, name: &str) {
        self.note_change(kind, name);
        match kind {
            ObjectKind::Relation => {
                if let Some(old) = self.relations.remove(name) {
                    self.cross.strike_relation(&old);
                }
            }
            ObjectKind::Domain => drop(self.domains.remove(name)),
            ObjectKind::Sequence => drop(self.sequences.remove(name)),
            ObjectKind::Exception => drop(self.exceptions.remove(name)),
            ObjectKind::Procedure => drop(self.procedures.remove(name)),
            ObjectKind::Function => drop(self.functions.remove(name)),
            ObjectKind::Trigger => {
                if let Some(old) = self.triggers.remove(name) {
                    self.cross.strike_trigger(&old);
                }
            }
            ObjectKind::Role => drop(self.roles.remove(name)),
            ObjectKind::Privilege => drop(self.privileges.remove(name)),
            ObjectKind::Collation => drop(self.collations.remove(name)),
            ObjectKind::Package => drop(self.packages.remove(name)),
            ObjectKind::Mapping => drop(self.mappings.remove(name)),
            ObjectKind::Database => {}
        }
    }
}

/// Tables whose own definitions stay, but whose rows may no more be changed as before: those that foreign keys refer to
/// which come, go or belong to a table that changes, and those whose triggers change.
fn concerned_tables(before: &Catalog, changes: &CatalogChanges) -> BTreeSet<String> {
    let mut tables = BTreeSet::new();
    for ((kind, name), object) in changes.iter() {
        let (old, new) = match kind {
            ObjectKind::Relation => (
                before.relations.get(name).map(referenced_tables),
                match object {
                    Some(CatalogObject::Relation(relation)) => Some(referenced_tables(relation)),
                    _ => None,
                },
            ),
            ObjectKind::Trigger => (
                before.triggers.get(name).map(|it| it.relation.iter().cloned().collect()),
                match object {
                    Some(CatalogObject::Trigger(trigger)) => Some(trigger.relation.iter().cloned().collect()),
                    _ => None,
                },
            ),
            _ => continue,
        };
        tables.extend(old.into_iter().chain(new).flatten());
    }
    tables.retain(|name| !changes.contains_key(&(ObjectKind::Relation, name.clone())));
    tables
}

/// The tables that foreign keys of a table refer to.
fn referenced_tables(relation: &Arc<Relation>) -> Vec<String> {
    parents(relation).map(str::to_owned).collect()
}

fn replace<T>(map: &mut OrderedMap<String, Arc<T>>, name: String, object: Arc<T>) {
    map.insert(name, object);
}

impl TransactionCatalog {
    /// Creates or replaces an object, for this transaction. Storing it is the caller's (see `ddl`).
    pub fn put(&mut self, object: CatalogObject) {
        let catalog = self.own();
        catalog.insert(object.clone());
        self.changes.insert(object.identity(), Some(object));
    }

    /// Removes an object, for this transaction.
    pub fn remove(&mut self, kind: ObjectKind, name: &str) {
        self.own().remove(kind, name);
        self.changes.insert((kind, name.to_owned()), None);
    }

    /// Takes over what others have committed since, keeping the transaction's own changes.
    ///
    /// Firebird's DDL sees committed definitions whatever the isolation; so do statements of READ COMMITTED ones.
    pub fn refresh(&mut self, committed: &Arc<Catalog>) {
        if self.current.base_version == committed.version {
            return;
        }
        if self.changes.is_empty() {
            self.current = Arc::clone(committed);
        } else {
            let mut next = committed.apply(&self.changes);
            next.base_version = committed.version;
            self.current = Arc::new(next);
        }
    }

    /// Remembers this moment.
    pub fn mark(&self) -> CatalogMark {
        CatalogMark { current: Arc::clone(&self.current), changes: self.changes.clone() }
    }

    /// Goes back to a moment. Its savepoint in the store undoes what was stored.
    pub fn restore(&mut self, mark: &CatalogMark) {
        self.current = Arc::clone(&mark.current);
        self.changes = mark.changes.clone();
    }

    /// The transaction's own copy of the catalog, under a version of its own.
    fn own(&mut self) -> &mut Catalog {
        let catalog = Arc::make_mut(&mut self.current);
        catalog.version = new_version();
        catalog
    }
}

/// What publishes a transaction's changes when its commit becomes visible: the new catalog, and to the store the
/// layouts of its tables. The changes themselves are already in the transaction's write set.
pub fn publication(
    database: &Arc<Database>,
    changes: &CatalogChanges,
) -> impl FnOnce(CommitNumber) + Send + 'static + use<> {
    let database = Arc::clone(database);
    let changes = changes.clone();
    move |_| {
        if changes.is_empty() {
            return;
        }
        let before = database.catalog();
        let concerned = concerned_tables(&before, &changes);
        database.publish_catalog(|catalog| catalog.apply(&changes).with_tables_renewed(&concerned));
        for table in database.catalog().stored_tables(&concerned) {
            database.store.register_layout(layout(table));
        }
        for ((kind, name), object) in changes.iter() {
            if *kind != ObjectKind::Relation {
                continue;
            }
            let relation = match object {
                Some(CatalogObject::Relation(relation)) => Some(relation),
                _ => None,
            };
            if let Some(old) = before.relations.get(name)
                && relation.is_none_or(|relation| relation.id != old.id)
            {
                database.store.unregister_layout(StoreRelation(old.id.0));
            }
            if let Some(relation) = relation.filter(|relation| relation.is_stored()) {
                database.store.register_layout(layout(relation));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A table with indexes named by numbers, each with a foreign key to a table.
    fn table(id: u32, keys: &[(u8, u8)]) -> Relation {
        let indexes = keys.iter().map(|(index, _)| {
            serde_json::json!({
                "id": index, "name": format!("I{index}"), "unique": false, "descending": false, "inactive": false,
                "columns": [], "expression_source": null, "condition_source": null, "selectivity": [],
                "foreign_key": null, "description": null,
            })
        });
        let constraints = keys.iter().map(|(index, parent)| {
            let kind = serde_json::json!({"ForeignKey": {
                "index": format!("I{index}"), "referenced_relation": format!("T{parent}"),
                "referenced_constraint": "KEY", "on_update": "Restrict", "on_delete": "Cascade",
            }});
            serde_json::json!({"name": format!("C{index}"), "kind": kind, "triggers": [format!("CHECK_{index}")]})
        });
        serde_json::from_value(serde_json::json!({
            "id": id, "name": format!("T{id}"), "owner": "SYSDBA", "kind": "Table", "columns": [], "formats": [],
            "next_field_id": 0, "indexes": indexes.collect::<Vec<_>>(),
            "constraints": constraints.collect::<Vec<_>>(), "description": null, "sql_security_definer": null,
        }))
        .unwrap()
    }

    /// What a transaction makes of one table: its keys, or nothing. Names of indexes are unique in what it leaves.
    fn transactions() -> impl Strategy<Value = Vec<Vec<(u32, Option<Vec<u8>>)>>> {
        let table = (0..8u32, prop::option::weighted(0.8, prop::collection::vec(0..30u8, 0..4)));
        prop::collection::vec(prop::collection::vec(table, 1..4), 1..20)
    }

    proptest! {
        #[test]
        fn parts_are_found_wherever_changes_brought_them(transactions in transactions()) {
            let mut catalog = Catalog::default();
            for transaction in transactions {
                let mut changes = CatalogChanges::default();
                let mut after = catalog.clone();
                for (id, indexes) in transaction {
                    let name = format!("T{id}");
                    let Some(indexes) = indexes else {
                        after.remove(ObjectKind::Relation, &name);
                        changes.insert((ObjectKind::Relation, name), None);
                        continue;
                    };
                    let free = |index: &u8| after.index(&format!("I{index}")).is_none_or(|(table, _)| table.name == name);
                    let keys: BTreeSet<u8> = indexes.into_iter().filter(free).collect();
                    let keys: Vec<(u8, u8)> = keys.into_iter().map(|index| (index, index % 8)).collect();
                    let relation = CatalogObject::Relation(Arc::new(table(id, &keys)));
                    after.insert(relation.clone());
                    changes.insert((ObjectKind::Relation, name), Some(relation));
                }
                catalog = catalog.apply(&changes);
                let mut anew = Catalog::default();
                for relation in catalog.relations.values() {
                    anew.insert(CatalogObject::Relation(Arc::clone(relation)));
                }
                prop_assert_eq!(&catalog.cross, &anew.cross);
                prop_assert_eq!(&after.cross, &anew.cross);
            }
        }
    }
}
