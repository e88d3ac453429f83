//! Finding things in a catalog by name.

use std::sync::Arc;

use farbird_session::trace::TableWork;
use farbird_store::Counted;
use farbird_types::{Error, Result, isc};

use crate::privileges::object_type;
use crate::{Catalog, Column, Constraint, Index, Privilege, Relation, RelationId, Routine, Trigger};

impl Catalog {
    /// A table, view or system table.
    pub fn relation(&self, name: &str) -> Option<&Arc<Relation>> {
        self.relations.get(name)
    }

    /// What was done with the rows of tables that are there, by name: for trace sessions.
    pub fn table_work(&self, counted: &Counted) -> Vec<TableWork> {
        let named = counted.relations().into_iter().filter_map(|(id, counters)| {
            let name = self.relation_by_id(RelationId(id.0))?.name.clone();
            Some(TableWork { name, counters })
        });
        named.collect()
    }

    /// A relation by number.
    pub fn relation_by_id(&self, id: RelationId) -> Option<&Arc<Relation>> {
        self.relations.get(self.cross.relation(id)?)
    }

    /// An index, with its table; names of indexes are unique in the database.
    pub fn index(&self, name: &str) -> Option<(&Arc<Relation>, &Index)> {
        let relation = self.relations.get(self.cross.table_of_index(name)?)?;
        Some((relation, relation.index(name)?))
    }

    /// A constraint, with its table; names of constraints are unique in the database.
    pub fn constraint(&self, name: &str) -> Option<(&Arc<Relation>, &Constraint)> {
        let relation = self.relations.get(self.cross.table_of_constraint(name)?)?;
        Some((relation, relation.constraint(name)?))
    }

    /// The columns whose type is this domain.
    pub fn columns_of_domain<'a>(
        &'a self,
        domain: &'a str,
    ) -> impl Iterator<Item = (&'a Arc<Relation>, &'a Column)> {
        self.relations.values().flat_map(move |relation| {
            relation
                .columns
                .iter()
                .filter(move |column| column.domain == domain)
                .map(move |column| (relation, column))
        })
    }

    /// The privileges on an object of one of these types, with their keys.
    pub fn privileges_on<'c>(
        &'c self,
        types: &'c [i16],
        object: &'c str,
    ) -> impl Iterator<Item = (&'c String, &'c Arc<Privilege>)> {
        types.iter().flat_map(move |number| self.privileges.beginning(Privilege::key_start(*number, object)))
    }

    /// Who is a member of which role.
    pub fn memberships(&self) -> impl Iterator<Item = &Arc<Privilege>> {
        let all = self.privileges.beginning(Privilege::key_start_of_type(object_type::ROLE));
        all.map(|(_, privilege)| privilege).filter(|it| it.privilege == 'M')
    }

    /// A procedure, private or not: of a package where one is given, else a standalone one.
    pub fn procedure(&self, package: Option<&str>, name: &str) -> Option<&Arc<Routine>> {
        match package {
            Some(package) => self.packages.get(package)?.procedure(name),
            None => self.procedures.get(name),
        }
    }

    /// As [`Catalog::procedure`], a function.
    pub fn function(&self, package: Option<&str>, name: &str) -> Option<&Arc<Routine>> {
        match package {
            Some(package) => self.packages.get(package)?.function(name),
            None => self.functions.get(name),
        }
    }

    /// The procedure that a name means where it is written: in a routine of the package `within`, or in none. A package's own
    /// routines hide others of the same name.
    ///
    /// # Errors
    /// `private_procedure` for another package's private one.
    pub fn procedure_named(
        &self,
        package: Option<&str>,
        name: &str,
        within: Option<&str>,
    ) -> Result<Option<&Arc<Routine>>> {
        let own = within.filter(|_| package.is_none()).and_then(|own| self.procedure(Some(own), name));
        let found = own.or_else(|| self.procedure(package, name));
        visible(found, within, isc::PRIVATE_PROCEDURE)
    }

    /// As [`Catalog::procedure_named`], a function.
    ///
    /// # Errors
    /// `private_function` for another package's private one.
    pub fn function_named(
        &self,
        package: Option<&str>,
        name: &str,
        within: Option<&str>,
    ) -> Result<Option<&Arc<Routine>>> {
        let own = within.filter(|_| package.is_none()).and_then(|own| self.function(Some(own), name));
        let found = own.or_else(|| self.function(package, name));
        visible(found, within, isc::PRIVATE_FUNCTION)
    }

    /// Whether any role has system privileges: few databases have such roles.
    pub fn has_privileged_roles(&self) -> bool {
        self.roles.values().any(|role| role.system_privileges != 0)
    }

    /// Whether SQL SECURITY, as said of an object or by the database's default, is DEFINER.
    pub fn is_definer(&self, said: Option<bool>) -> bool {
        said.or(self.database.sql_security_definer).unwrap_or(false)
    }

    /// The owner in whose name a trigger works, if it is one of SQL SECURITY DEFINER.
    pub fn definer_of(&self, trigger: &Trigger) -> Option<&str> {
        match &trigger.relation {
            Some(name) => {
                let relation = self.relation(name)?;
                let said = trigger.sql_security_definer.or(relation.sql_security_definer);
                self.is_definer(said).then_some(relation.owner.as_str())
            }
            None => self.is_definer(trigger.sql_security_definer).then_some(self.database.owner.as_str()),
        }
    }

    /// Whether a name is a generated constraint trigger's.
    pub fn has_constraint_trigger(&self, name: &str) -> bool {
        self.cross.has_constraint_trigger(name)
    }

    /// The tables whose foreign keys refer to a table.
    pub fn children_of(&self, table: &str) -> impl Iterator<Item = &Arc<Relation>> {
        self.cross.children_of(table).filter_map(|name| self.relations.get(name))
    }

    /// The triggers of a table or view, active or not; of the database without one.
    pub fn triggers_of(&self, relation: Option<&str>) -> impl Iterator<Item = &Arc<Trigger>> {
        self.cross.triggers_of(relation).filter_map(|name| self.triggers.get(name))
    }
}

fn visible<'c>(
    found: Option<&'c Arc<Routine>>,
    within: Option<&str>,
    code: u32,
) -> Result<Option<&'c Arc<Routine>>> {
    match found {
        Some(routine) if routine.private && routine.package.as_deref() != within => {
            let package = routine.package.as_deref().unwrap_or_default();
            Err(Error::new(code).with(routine.name.as_str()).with(package))
        }
        found => Ok(found),
    }
}
