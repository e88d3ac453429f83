//! Finding things in a catalog by name.

use std::sync::Arc;

use crate::catalog::{Catalog, Constraint, Index, Relation, RelationId};

impl Catalog {
    /// A table, view or system table.
    pub fn relation(&self, name: &str) -> Option<&Arc<Relation>> {
        self.relations.get(name)
    }

    /// A relation by number.
    pub fn relation_by_id(&self, id: RelationId) -> Option<&Arc<Relation>> {
        self.relations.values().find(|relation| relation.id == id)
    }

    /// An index, with its table; names of indexes are unique in the database.
    pub fn index(&self, name: &str) -> Option<(&Arc<Relation>, &Index)> {
        self.relations.values().find_map(|relation| Some((relation, relation.index(name)?)))
    }

    /// A constraint, with its table; names of constraints are unique in the database.
    pub fn constraint(&self, name: &str) -> Option<(&Arc<Relation>, &Constraint)> {
        self.relations.values().find_map(|relation| Some((relation, relation.constraint(name)?)))
    }

    /// The columns whose type is this domain.
    pub fn columns_of_domain<'a>(
        &'a self,
        domain: &'a str,
    ) -> impl Iterator<Item = (&'a Arc<Relation>, &'a crate::catalog::Column)> {
        self.relations.values().flat_map(move |relation| {
            relation
                .columns
                .iter()
                .filter(move |column| column.domain == domain)
                .map(move |column| (relation, column))
        })
    }

    /// Whether any role has system privileges: few databases have such roles.
    pub(crate) fn has_privileged_roles(&self) -> bool {
        self.roles.values().any(|role| role.system_privileges != 0)
    }

    /// Whether SQL SECURITY, as said of an object or by the database's default, is DEFINER.
    pub fn is_definer(&self, said: Option<bool>) -> bool {
        said.or(self.database.sql_security_definer).unwrap_or(false)
    }

    /// Whether a name is a generated constraint trigger's.
    pub(crate) fn has_constraint_trigger(&self, name: &str) -> bool {
        self.relations
            .values()
            .flat_map(|relation| &relation.constraints)
            .any(|constraint| constraint.triggers.iter().any(|trigger| trigger == name))
    }
}
