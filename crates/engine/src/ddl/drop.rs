//! DROP of anything but packages.

use std::sync::Arc;

use farbird_sql::ast::{DropKind, DropObject};
use farbird_store::LockLevel;
use farbird_types::{Error, Result, isc};

use crate::catalog::dependencies::{Dependency, dependencies};
use crate::catalog::privileges::{DdlAction, object_type};
use crate::catalog::{
    ConstraintKind, ObjectKind, Relation, Routine, RoutineParameter, Sequence, layout, system_sequence,
};
use crate::ddl::editor::Editor;
use crate::ddl::{collation, error, index, mapping, reference, rights, user};

/// DROP.
pub(super) fn drop(editor: &mut Editor<'_, '_>, ast: &DropObject) -> Result<()> {
    let name = ast.name.as_str();
    let catalog = editor.catalog();
    match ast.kind {
        DropKind::Table => {
            rights::check_ddl(editor.context, ObjectKind::Relation, DdlAction::Drop, name)?;
            match catalog.relation(name).filter(|relation| relation.is_table()) {
                Some(relation) => drop_table(editor, relation),
                None => Err(error::table_not_found(name)),
            }
        }
        DropKind::View => match catalog.relation(name).filter(|relation| relation.is_view()) {
            Some(relation) => drop_view(editor, relation),
            None => Err(error::view_not_found(name)),
        },
        DropKind::Index => index::drop_index(editor, name),
        DropKind::Sequence => match catalog.sequences.get(name) {
            Some(sequence) => drop_sequence(editor, sequence),
            None if system_sequence(name).is_some() => Err(error::cannot_drop_system_sequence(name)),
            None => Err(Error::new(isc::GENNOTDEF).with(name)),
        },
        DropKind::Domain => drop_domain(editor, name),
        DropKind::Exception => match catalog.exceptions.get(name) {
            Some(_) => drop_used(editor, Used::EXCEPTION, name),
            None => Err(error::exception_not_found()),
        },
        DropKind::Procedure => match catalog.procedures.get(name) {
            Some(_) => drop_used(editor, Used::PROCEDURE, name),
            None => Err(Error::new(isc::DYN_PROC_NOT_FOUND).with(name)),
        },
        DropKind::Function | DropKind::ExternalFunction => match catalog.functions.get(name) {
            Some(_) => drop_used(editor, Used::FUNCTION, name),
            None => Err(Error::new(isc::DYN_FUNC_NOT_FOUND).with(name)),
        },
        DropKind::Trigger => drop_trigger(editor, name),
        DropKind::Role => drop_role(editor, name),
        DropKind::Collation => collation::drop_collation(editor, name),
        DropKind::User => user::drop(editor, name),
        DropKind::Package | DropKind::PackageBody => Err(Error::internal("packages drop themselves")),
        DropKind::Filter => Err(Error::new(isc::DYN_FILTER_NOT_FOUND).with(name)),
        DropKind::Mapping | DropKind::GlobalMapping => mapping::drop_mapping(editor, ast),
        DropKind::Shadow => Err(error::unsupported("this DROP")),
    }
}

/// Drops a table with all that belongs to it: rows, indexes, constraints, triggers, sequences, privileges.
pub(super) fn drop_table(editor: &mut Editor<'_, '_>, relation: &Arc<Relation>) -> Result<()> {
    let name = relation.name.as_str();
    rights::check_ddl(editor.context, ObjectKind::Relation, DdlAction::Drop, name)?;
    check_keys_are_free(editor, relation)?;
    check_relation_is_free(editor, relation, isc::TABLE_NAME)?;
    editor.lock(relation, LockLevel::Exclusive)?;
    editor.check_rows_are_free(relation, false)?;
    drop_parts(editor, relation)?;
    for column in &relation.columns {
        if let Some(identity) = &column.identity {
            editor.remove(ObjectKind::Sequence, &identity.sequence)?;
        }
    }
    for index in &relation.indexes {
        editor.drop_index(index)?;
    }
    // The file of an external table stays: it is not the database's.
    if relation.is_stored() {
        editor.context.transaction.store.drop_relation(&layout(relation))?;
    }
    editor.remove(ObjectKind::Relation, name)
}

/// Drops a view with its triggers and privileges.
pub(super) fn drop_view(editor: &mut Editor<'_, '_>, relation: &Arc<Relation>) -> Result<()> {
    rights::check_ddl(editor.context, ObjectKind::Relation, DdlAction::Drop, &relation.name)?;
    check_relation_is_free(editor, relation, isc::VIEW_NAME)?;
    drop_parts(editor, relation)?;
    editor.remove(ObjectKind::Relation, &relation.name)
}

/// What goes with a table or view.
fn drop_parts(editor: &mut Editor<'_, '_>, relation: &Relation) -> Result<()> {
    let catalog = editor.catalog();
    for trigger in catalog.triggers_of(Some(&relation.name)) {
        editor.remove(ObjectKind::Trigger, &trigger.name)?;
    }
    editor.forget_privileges(&relation.name, &[object_type::RELATION, object_type::VIEW])
}

/// Fails if a foreign key of another table refers to one of the table's keys.
fn check_keys_are_free(editor: &Editor<'_, '_>, relation: &Relation) -> Result<()> {
    let catalog = editor.catalog();
    let referenced = relation
        .constraints
        .iter()
        .filter(|it| matches!(it.kind, ConstraintKind::PrimaryKey { .. } | ConstraintKind::Unique { .. }))
        .any(|it| reference::is_referenced(&catalog, &relation.name, &it.name, Some(&relation.name)));
    if referenced { Err(error::key_is_referenced()) } else { Ok(()) }
}

/// Fails if something other than its own parts uses a table or view.
fn check_relation_is_free(editor: &Editor<'_, '_>, relation: &Relation, kind: u32) -> Result<()> {
    let name = &relation.name;
    let catalog = editor.catalog();
    let uses: Vec<Dependency> = dependencies(&catalog)
        .into_iter()
        .filter(|it| {
            it.used == *name
                && matches!(it.used_type, object_type::RELATION | object_type::VIEW)
                && it.owner.as_ref() != Some(name)
        })
        .collect();
    let Some(first) = uses.iter().min_by_key(|it| it.column.is_none()) else { return Ok(()) };
    let same = uses.iter().filter(|it| it.column == first.column).count();
    Err(match &first.column {
        Some(column) => error::in_use(isc::FIELD_NAME, &format!("{name}.{column}"), same),
        None => error::in_use(kind, name, same),
    })
}

pub(super) fn drop_sequence(editor: &mut Editor<'_, '_>, sequence: &Sequence) -> Result<()> {
    if sequence.system {
        return Err(error::system_sequence(&sequence.name));
    }
    drop_used(editor, Used::SEQUENCE, &sequence.name)
}

/// A kind of object that others may use by its name.
struct Used {
    object: ObjectKind,
    object_type: i16,
    heading: u32,
}

impl Used {
    const EXCEPTION: Used = Used {
        object: ObjectKind::Exception,
        object_type: object_type::EXCEPTION,
        heading: isc::EXCEPTION_NAME,
    };
    const PROCEDURE: Used =
        Used { object: ObjectKind::Procedure, object_type: object_type::PROCEDURE, heading: isc::PROC_NAME };
    const FUNCTION: Used =
        Used { object: ObjectKind::Function, object_type: object_type::FUNCTION, heading: isc::UDF_NAME };
    const SEQUENCE: Used = Used {
        object: ObjectKind::Sequence,
        object_type: object_type::SEQUENCE,
        heading: isc::GENERATOR_NAME,
    };
}

fn drop_used(editor: &mut Editor<'_, '_>, kind: Used, name: &str) -> Result<()> {
    rights::check_ddl(editor.context, kind.object, DdlAction::Drop, name)?;
    let users = dependencies(&editor.catalog())
        .into_iter()
        .filter(|it| it.used == name && it.used_type == kind.object_type && it.used_package.is_none())
        .count();
    if users > 0 {
        return Err(error::in_use(kind.heading, name, users));
    }
    editor.forget_privileges(name, &[kind.object_type])?;
    editor.remove(kind.object, name)
}

pub(super) fn drop_exception(editor: &mut Editor<'_, '_>, name: &str) -> Result<()> {
    drop_used(editor, Used::EXCEPTION, name)
}

pub(super) fn drop_procedure(editor: &mut Editor<'_, '_>, name: &str) -> Result<()> {
    drop_used(editor, Used::PROCEDURE, name)
}

pub(super) fn drop_function(editor: &mut Editor<'_, '_>, name: &str) -> Result<()> {
    drop_used(editor, Used::FUNCTION, name)
}

fn drop_domain(editor: &mut Editor<'_, '_>, name: &str) -> Result<()> {
    let catalog = editor.catalog();
    if !catalog.domains.contains_key(name) {
        return Err(error::domain_not_found());
    }
    rights::check_ddl(editor.context, ObjectKind::Domain, DdlAction::Drop, name)?;
    if let Some((relation, column)) = catalog.columns_of_domain(name).next() {
        return Err(error::domain_used_in_table(name, &relation.name, &column.name));
    }
    let uses = |routine: &&Arc<Routine>| parameter_of_domain(routine, name).is_some();
    let shown = |routine: &Routine| {
        let parameter = parameter_of_domain(routine, name).map_or("", |parameter| &parameter.name);
        (routine.full_name(), parameter.to_owned())
    };
    let packages = || catalog.packages.values();
    let mut procedures = catalog.procedures.values().chain(packages().flat_map(|it| &it.procedures));
    if let Some((routine, parameter)) = procedures.find(uses).map(|it| shown(it)) {
        return Err(error::domain_used_in_procedure(name, &routine, &parameter));
    }
    let mut functions = catalog.functions.values().chain(packages().flat_map(|it| &it.functions));
    if let Some((routine, parameter)) = functions.find(uses).map(|it| shown(it)) {
        return Err(error::domain_used_in_function(name, &routine, &parameter));
    }
    editor.remove(ObjectKind::Domain, name)
}

/// The first parameter of a routine that is of a domain.
fn parameter_of_domain<'r>(routine: &'r Routine, domain: &str) -> Option<&'r RoutineParameter> {
    let mut parameters = routine.inputs.iter().chain(&routine.outputs);
    parameters.find(|parameter| parameter.domain_of_type() == Some(domain))
}

fn drop_trigger(editor: &mut Editor<'_, '_>, name: &str) -> Result<()> {
    let catalog = editor.catalog();
    if catalog.has_constraint_trigger(name) {
        return Err(Error::new(isc::DYN_CANT_MODIFY_AUTO_TRIG));
    }
    if !catalog.triggers.contains_key(name) {
        return Err(Error::new(isc::DYN_TRIG_NOT_FOUND).with(name));
    }
    rights::check_ddl(editor.context, ObjectKind::Trigger, DdlAction::Alter, name)?;
    editor.remove(ObjectKind::Trigger, name)
}

fn drop_role(editor: &mut Editor<'_, '_>, name: &str) -> Result<()> {
    let catalog = editor.catalog();
    let role = catalog.roles.get(name).ok_or_else(|| Error::new(isc::DYN_ROLE_NOT_FOUND).with(name))?;
    if role.system {
        return Err(error::system_role(name));
    }
    rights::check_ddl(editor.context, ObjectKind::Role, DdlAction::Drop, name)?;
    for (key, privilege) in catalog.privileges.iter() {
        let granted_to_it = privilege.user == name && privilege.user_type == object_type::ROLE;
        let membership = privilege.object == name && privilege.object_type == object_type::ROLE;
        if granted_to_it || membership {
            editor.remove(ObjectKind::Privilege, key)?;
        }
    }
    editor.remove(ObjectKind::Role, name)
}
