//! What no statement says: owners, comments, privileges, and the names that NOT NULL constraints had.

use std::collections::BTreeMap;
use std::sync::Arc;

use farbird_gbak::attribute::{
    charset, check, collation, constraint, database, exception, field, function, function_argument,
    generator, index, mapping, package, privilege, procedure, procedure_parameter, relation, role, trigger,
};
use farbird_gbak::{Record, RecordKind};
use farbird_types::{CharacterSet, Collation, Result};

use super::schema::{RoutineRecords, Schema, function_arguments, procedure_parameters};
use super::tables::NOT_NULL_PREFIX;
use crate::catalog::{
    Catalog, CatalogObject, ConstraintKind, Mapping, MappingSource, Privilege, Relation, Routine,
    RoutineParameter, collation_named,
};

/// Kinds of objects from here on have another number since Firebird 4.
const SHIFTED_KINDS: i64 = 19;

/// The objects of a catalog as the backup has them.
pub(super) struct Finish<'s> {
    schema: &'s Schema,
    format: i64,
    catalog: &'s Catalog,
    changed: Vec<CatalogObject>,
}

/// The objects that are to take the place of those in the catalog.
pub(super) fn objects(schema: &Schema, format: i64, catalog: &Catalog) -> Result<Vec<CatalogObject>> {
    let mut finish = Finish { schema, format, catalog, changed: Vec::new() };
    finish.relations();
    finish.routines();
    finish.packages();
    finish.rest();
    finish.privileges();
    Ok(finish.changed)
}

/// A mapping: no statement makes it, for its database may have said what no statement can. `None` if something is missing without
/// which nobody knows whom it maps.
pub(super) fn mapping(record: &Record) -> Option<Mapping> {
    if record.bytes(mapping::AUTO_ROLE).is_some() {
        return Some(Mapping::of_windows_administrators());
    }
    let using = record.name(mapping::USING)?.chars().next()?;
    Some(Mapping {
        name: record.name(mapping::NAME)?,
        using: MappingSource::of_letter(using)?,
        plugin: record.name(mapping::PLUGIN),
        database: record.name(mapping::DATABASE),
        from_type: record.name(mapping::FROM_TYPE)?,
        from: record.name(mapping::FROM).unwrap_or_default(),
        to_role: record.number(mapping::TO_TYPE)? != 0,
        to: record.name(mapping::TO),
        description: comment(record, mapping::DESCRIPTION, None),
    })
}

fn comment(record: &Record, attribute: u8, older: Option<u8>) -> Option<String> {
    record.source(attribute, older).filter(|text| !text.is_empty())
}

impl Finish<'_> {
    fn relations(&mut self) {
        let not_null = self.not_null_names();
        for records in &self.schema.relations {
            let Some(made) = self.catalog.relation(&records.name) else { continue };
            let mut relation = Relation::clone(made);
            if let Some(owner) = records.record.name(relation::OWNER_NAME).filter(|it| !it.is_empty()) {
                relation.owner = owner;
            }
            relation.description =
                comment(&records.record, relation::DESCRIPTION2, Some(relation::DESCRIPTION));
            for column in &mut relation.columns {
                let record =
                    records.fields.iter().find(|it| it.name(field::NAME).as_deref() == Some(&column.name));
                column.description =
                    record.and_then(|it| comment(it, field::DESCRIPTION2, Some(field::DESCRIPTION)));
            }
            for index in &mut relation.indexes {
                let record =
                    records.indexes.iter().find(|it| it.name(index::NAME).as_deref() == Some(&index.name));
                index.description =
                    record.and_then(|it| comment(it, index::DESCRIPTION2, Some(index::DESCRIPTION)));
            }
            self.name_not_null(&mut relation, &not_null);
            relation.layout = Default::default();
            if relation != **made {
                self.changed.push(CatalogObject::Relation(Arc::new(relation)));
            }
        }
    }

    /// The names of NOT NULL constraints by table and column.
    fn not_null_names(&self) -> BTreeMap<(String, String), String> {
        let checks: BTreeMap<String, String> = self
            .schema
            .all(RecordKind::Check)
            .iter()
            .filter_map(|it| it.name(check::CONSTRAINT_NAME).zip(it.name(check::TRIGGER_NAME)))
            .collect();
        let constraints = self.schema.all(RecordKind::Constraint).iter();
        constraints
            .filter(|it| it.name(constraint::TYPE).as_deref() == Some("NOT NULL"))
            .filter_map(|it| {
                let name = it.name(constraint::NAME)?;
                let column = checks.get(&name)?.clone();
                Some(((it.name(constraint::REL_NAME)?, column), name))
            })
            .collect()
    }

    /// Names the constraints that were made with a name of our own; those that had none get a usual one.
    fn name_not_null(&self, relation: &mut Relation, names: &BTreeMap<(String, String), String>) {
        for constraint in &mut relation.constraints {
            let ConstraintKind::NotNull { column } = &constraint.kind else { continue };
            if let Some(name) = names.get(&(relation.name.clone(), column.clone())) {
                constraint.name.clone_from(name);
            } else if let Some(rest) = constraint.name.strip_prefix(NOT_NULL_PREFIX) {
                constraint.name = format!("INTEG_N{rest}");
            }
        }
    }

    fn routines(&mut self) {
        for records in self.schema.procedures.iter().filter(|it| it.package.is_none()) {
            let Some(made) = self.catalog.procedures.get(&records.name) else { continue };
            let mut routine = Routine::clone(made);
            own(&mut routine.owner, &records.record, procedure::OWNER_NAME);
            describe_procedure(&mut routine, records);
            self.changed.push(CatalogObject::Procedure(Arc::new(routine)));
        }
        for records in self.schema.functions.iter().filter(|it| it.package.is_none()) {
            let Some(made) = self.catalog.functions.get(&records.name) else { continue };
            let mut routine = Routine::clone(made);
            own(&mut routine.owner, &records.record, function::OWNER_NAME);
            describe_function(&mut routine, records);
            self.changed.push(CatalogObject::Function(Arc::new(routine)));
        }
    }

    /// A body that had no effect, or could not be made, is there as text, as it was.
    fn packages(&mut self) {
        for record in self.schema.all(RecordKind::Package) {
            let made = record.name(package::NAME).and_then(|it| self.catalog.packages.get(&it));
            let Some(made) = made else { continue };
            let mut package = (**made).clone();
            own(&mut package.owner, record, package::OWNER_NAME);
            package.description = comment(record, package::DESCRIPTION, None);
            if let (None, Some(source)) = (&package.body_source, record.source(package::BODY_SOURCE, None)) {
                package.body_source = Some(source);
                package.body_is_valid = Some(false);
            }
            for routine in package.procedures.iter_mut().chain(&mut package.functions) {
                Arc::make_mut(routine).owner.clone_from(&package.owner);
            }
            let is_in = |it: &&RoutineRecords| it.package.as_ref() == Some(&made.name);
            for records in self.schema.procedures.iter().filter(is_in) {
                let routine = package.procedures.iter_mut().find(|it| it.name == records.name);
                let Some(routine) = routine.map(Arc::make_mut) else { continue };
                describe_procedure(routine, records);
            }
            for records in self.schema.functions.iter().filter(is_in) {
                let routine = package.functions.iter_mut().find(|it| it.name == records.name);
                let Some(routine) = routine.map(Arc::make_mut) else { continue };
                describe_function(routine, records);
            }
            self.changed.push(CatalogObject::Package(Arc::new(package)));
        }
    }

    /// Everything that is one record.
    fn rest(&mut self) {
        for (name, record) in &self.schema.domains {
            let Some(made) = self.catalog.domains.get(name) else { continue };
            let mut domain = (**made).clone();
            own(&mut domain.owner, record, field::OWNER_NAME);
            domain.description = comment(record, field::DESCRIPTION2, Some(field::DESCRIPTION));
            self.changed.push(CatalogObject::Domain(Arc::new(domain)));
        }
        for record in self.schema.sequences() {
            let made = record.name(generator::GENERATOR).and_then(|it| self.catalog.sequences.get(&it));
            let Some(made) = made else { continue };
            let mut sequence = (**made).clone();
            own(&mut sequence.owner, record, generator::OWNER_NAME);
            sequence.description = comment(record, generator::DESCRIPTION, None);
            self.changed.push(CatalogObject::Sequence(Arc::new(sequence)));
        }
        for record in self.schema.all(RecordKind::Exception) {
            let made = record.name(exception::NAME).and_then(|it| self.catalog.exceptions.get(&it));
            let Some(made) = made else { continue };
            let mut exception = (**made).clone();
            own(&mut exception.owner, record, exception::OWNER_NAME);
            exception.description = comment(record, exception::DESCRIPTION2, Some(exception::DESCRIPTION));
            self.changed.push(CatalogObject::Exception(Arc::new(exception)));
        }
        for record in self.schema.all(RecordKind::Role) {
            let made = record.name(role::NAME).and_then(|it| self.catalog.roles.get(&it));
            let Some(made) = made.filter(|it| !it.system) else { continue };
            let mut role = (**made).clone();
            own(&mut role.owner, record, role::OWNER_NAME);
            role.description = comment(record, role::DESCRIPTION, None);
            role.system_privileges = record.number(role::SYS_PRIVILEGES).unwrap_or_default().cast_unsigned();
            self.changed.push(CatalogObject::Role(Arc::new(role)));
        }
        let mappings = self.schema.all(RecordKind::Mapping).iter().filter_map(mapping);
        self.changed.extend(mappings.map(|it| CatalogObject::Mapping(Arc::new(it))));
        for record in self.schema.all(RecordKind::Trigger) {
            let made = record.name(trigger::NAME).and_then(|it| self.catalog.triggers.get(&it));
            let Some(made) = made else { continue };
            let mut trigger = (**made).clone();
            trigger.description = comment(record, trigger::DESCRIPTION2, Some(trigger::DESCRIPTION));
            self.changed.push(CatalogObject::Trigger(Arc::new(trigger)));
        }
        for record in self.schema.all(RecordKind::Collation) {
            let made = record.name(collation::NAME).and_then(|it| self.catalog.collations.get(&it));
            let Some(made) = made else { continue };
            let mut collation = (**made).clone();
            own(&mut collation.owner, record, collation::OWNER_NAME);
            collation.description = comment(record, collation::DESCRIPTION, None);
            self.changed.push(CatalogObject::Collation(Arc::new(collation)));
        }
        if let Some(record) = self.schema.all(RecordKind::Database).first() {
            let mut properties = (*self.catalog.database).clone();
            properties.description = comment(record, database::DESCRIPTION2, Some(database::DESCRIPTION));
            let linger = record.number(database::LINGER).and_then(|it| u32::try_from(it).ok());
            properties.linger_seconds = linger.filter(|it| *it > 0);
            properties.sql_security_definer = record
                .flag(database::SQL_SECURITY)
                .or_else(|| record.flag(database::SQL_SECURITY_DEPRECATED));
            properties.default_collations = self.default_collations();
            self.changed.push(CatalogObject::Database(Arc::new(properties)));
        }
    }

    /// What ALTER CHARACTER SET had made the default collations.
    fn default_collations(&self) -> BTreeMap<String, String> {
        let sets = self.schema.all(RecordKind::CharacterSet).iter();
        sets.filter_map(|record| {
            let (name, default) = (record.name(charset::NAME)?, record.name(charset::COLL)?);
            let set = CharacterSet::by_name(&name)?;
            let collation = collation_named(self.catalog, set, &default)?;
            (collation != Collation::default()).then_some((name, default))
        })
        .collect()
    }

    fn privileges(&mut self) {
        let known = |record: &Record, attribute| record.name(attribute).unwrap_or_default();
        for record in self.schema.all(RecordKind::UserPrivilege) {
            let object = known(record, privilege::OBJECT_NAME);
            let object_type = record.number(privilege::OBJ_TYPE).unwrap_or_default();
            let shift = i64::from(self.format < 11 && object_type > SHIFTED_KINDS);
            let grantor = known(record, privilege::GRANTOR);
            // Those without a grantor are the system's own.
            if grantor.is_empty() || !self.has_object(object_type, &object) {
                continue;
            }
            let number = |value: i64| i16::try_from(value).unwrap_or_default();
            let said = Privilege {
                user: known(record, privilege::USER),
                user_type: number(record.number(privilege::USER_TYPE).unwrap_or(8)),
                grantor,
                privilege: known(record, privilege::PRIVILEGE).chars().next().unwrap_or(' '),
                grant_option: number(record.number(privilege::GRANT_OPTION).unwrap_or_default()),
                object,
                object_type: number(object_type + shift),
                column: record.name(privilege::FIELD_NAME).filter(|it| !it.is_empty()),
            };
            self.changed.push(CatalogObject::Privilege(Arc::new(said)));
        }
    }

    /// Whether what a privilege is on has been made. Of kinds as a whole (tables, views ...) it always is.
    fn has_object(&self, kind: i64, name: &str) -> bool {
        let catalog = self.catalog;
        match kind {
            0 | 1 => self.schema.relation(name).is_some() && catalog.relation(name).is_some(),
            5 => catalog.procedures.get(name).is_some(),
            7 => catalog.exceptions.get(name).is_some(),
            9 => self.schema.domains.contains_key(name) && catalog.domains.get(name).is_some(),
            13 => catalog.roles.get(name).is_some(),
            14 => catalog.sequences.get(name).is_some_and(|it| !it.system),
            15 => catalog.functions.get(name).is_some(),
            17 => catalog.collations.get(name).is_some(),
            18 => catalog.packages.get(name).is_some(),
            11 | 19 => false,
            _ => true,
        }
    }
}

/// Comments on a procedure and its parameters.
fn describe_procedure(routine: &mut Routine, records: &RoutineRecords) {
    let comments = |list: &mut Vec<RoutineParameter>, output| {
        for (parameter, record) in list.iter_mut().zip(procedure_parameters(records, output)) {
            let older = Some(procedure_parameter::DESCRIPTION);
            parameter.description = comment(record, procedure_parameter::DESCRIPTION2, older);
        }
    };
    comments(&mut routine.inputs, false);
    comments(&mut routine.outputs, true);
    routine.description = comment(&records.record, procedure::DESCRIPTION2, Some(procedure::DESCRIPTION));
}

/// As [`describe_procedure`], a function.
fn describe_function(routine: &mut Routine, records: &RoutineRecords) {
    let (arguments, result) = function_arguments(records);
    let parameters = routine.inputs.iter_mut().zip(arguments);
    for (parameter, record) in parameters.chain(routine.outputs.iter_mut().zip(result)) {
        parameter.description = comment(record, function_argument::DESCRIPTION, None);
    }
    routine.description = comment(&records.record, function::DESCRIPTION2, Some(function::DESCRIPTION));
}

fn own(owner: &mut String, record: &Record, attribute: u8) {
    if let Some(name) = record.name(attribute).filter(|name| !name.is_empty()) {
        *owner = name;
    }
}
