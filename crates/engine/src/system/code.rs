//! Rows about code and what it uses: triggers, packages, procedures, functions, exceptions, generators.

use std::sync::Arc;

use farbird_types::SqlType;

use crate::catalog::system_tables::table;
use crate::catalog::{
    Catalog, Constraint, ConstraintKind, LibraryFunction, ReferentialAction, Relation, Routine,
    RoutineParameter, SYSTEM_SEQUENCES,
};
use crate::system::program;
use crate::system::row_set::RowSet;
use crate::system::tables::{RoutineKind, parameter_domain, relations_in_order};
use crate::system::type_numbers::type_numbers;

/// RDB$ENGINE_NAME of routines that come with every database.
const SYSTEM_ENGINE: &str = "SYSTEM";
/// RDB$SYSTEM_FLAG of triggers that constraints make.
const CHECK_TRIGGER: i64 = 3;
const REFERENTIAL_TRIGGER: i64 = 4;
/// Of triggers that hold a view to its condition.
const VIEW_TRIGGER: i64 = 5;
/// RDB$SYSTEM_FLAG of an identity column's generator.
const IDENTITY_GENERATOR: i64 = 6;

/// RDB$TRIGGER_TYPE.
const BEFORE_INSERT: i64 = 1;
const BEFORE_UPDATE: i64 = 3;
const AFTER_UPDATE: i64 = 4;
const AFTER_DELETE: i64 = 6;

pub(super) fn triggers(rows: &mut RowSet<'_, '_, '_>) {
    for fields in table(include_str!("../../data/system-triggers.tsv")) {
        let [name, relation, kind, _] = fields.as_slice() else { continue };
        rows.row()
            .text("RDB$TRIGGER_NAME", name)
            .text("RDB$RELATION_NAME", relation)
            .number("RDB$TRIGGER_SEQUENCE", 0)
            .number("RDB$TRIGGER_TYPE", kind.parse::<i64>().unwrap_or(0))
            .number("RDB$SYSTEM_FLAG", 1)
            .number("RDB$FLAGS", 0);
    }
    let catalog = Arc::clone(&rows.catalog);
    for relation in relations_in_order(&catalog) {
        for constraint in &relation.constraints {
            constraint_triggers(rows, &relation, constraint);
        }
        if program::has_check_option(&relation) {
            check_option_triggers(rows, &catalog, &relation);
        }
    }
    for trigger in catalog.triggers.values() {
        rows.row()
            .text("RDB$TRIGGER_NAME", &trigger.name)
            .optional_text("RDB$RELATION_NAME", trigger.relation.as_deref())
            .number("RDB$TRIGGER_SEQUENCE", trigger.position)
            .number("RDB$TRIGGER_TYPE", i64::try_from(trigger.trigger_type).unwrap_or(i64::MAX))
            .blob("RDB$TRIGGER_SOURCE", Some(&trigger.source).filter(|_| !trigger.source_hidden))
            .program("RDB$TRIGGER_BLR", true, || program::of_trigger(&catalog, trigger))
            .blob("RDB$DESCRIPTION", trigger.description.as_deref())
            .flag("RDB$TRIGGER_INACTIVE", trigger.inactive)
            .number("RDB$SYSTEM_FLAG", 0)
            .number("RDB$FLAGS", 1)
            .number("RDB$VALID_BLR", 1)
            .boolean("RDB$SQL_SECURITY", trigger.sql_security_definer);
    }
}

/// What holds a view to its condition: triggers of the system's, which have no source.
fn check_option_triggers(rows: &mut RowSet<'_, '_, '_>, catalog: &Catalog, view: &Relation) {
    let programs = rows.wants("RDB$TRIGGER_BLR").then(|| program::of_check_option(catalog, view)).flatten();
    for (number, kind) in [BEFORE_UPDATE, BEFORE_INSERT].into_iter().enumerate() {
        rows.row()
            .text("RDB$TRIGGER_NAME", &format!("CHECK_V{}_{}", view.id.0, number + 1))
            .text("RDB$RELATION_NAME", &view.name)
            .number("RDB$TRIGGER_SEQUENCE", 0)
            .number("RDB$TRIGGER_TYPE", kind)
            .program("RDB$TRIGGER_BLR", true, || programs.as_ref()?.get(number).cloned())
            .number("RDB$TRIGGER_INACTIVE", 0)
            .number("RDB$SYSTEM_FLAG", VIEW_TRIGGER)
            .number("RDB$FLAGS", 1)
            .number("RDB$VALID_BLR", 1);
    }
}

fn constraint_triggers(rows: &mut RowSet<'_, '_, '_>, relation: &Relation, constraint: &Constraint) {
    let catalog = Arc::clone(&rows.catalog);
    let mut row = |name: &str, on: &str, kind: i64, flag: i64, flags: i64, source: Option<&str>| {
        let make = || program::of_constraint(&catalog, relation, constraint, kind == AFTER_UPDATE);
        rows.row()
            .text("RDB$TRIGGER_NAME", name)
            .text("RDB$RELATION_NAME", on)
            .number("RDB$TRIGGER_SEQUENCE", 0)
            .number("RDB$TRIGGER_TYPE", kind)
            .blob("RDB$TRIGGER_SOURCE", source)
            .program("RDB$TRIGGER_BLR", true, make)
            .number("RDB$TRIGGER_INACTIVE", 0)
            .number("RDB$SYSTEM_FLAG", flag)
            .number("RDB$FLAGS", flags)
            .number("RDB$VALID_BLR", 1);
    };
    match &constraint.kind {
        ConstraintKind::Check { source } => {
            for (name, kind) in constraint.triggers.iter().zip([BEFORE_INSERT, BEFORE_UPDATE]) {
                row(name, &relation.name, kind, CHECK_TRIGGER, 1, Some(source));
            }
        }
        ConstraintKind::ForeignKey { referenced_relation, on_update, on_delete, .. } => {
            let moments = [(on_update, AFTER_UPDATE), (on_delete, AFTER_DELETE)]
                .into_iter()
                .filter(|(action, _)| **action != ReferentialAction::Restrict);
            for (name, (_, kind)) in constraint.triggers.iter().zip(moments) {
                row(name, referenced_relation, kind, REFERENTIAL_TRIGGER, 3, None);
            }
        }
        _ => {}
    }
}

pub(super) fn procedures(rows: &mut RowSet<'_, '_, '_>) {
    let catalog = Arc::clone(&rows.catalog);
    for procedure in all_procedures(&catalog) {
        rows.row()
            .text("RDB$PROCEDURE_NAME", &procedure.name)
            .number("RDB$PROCEDURE_ID", procedure.id)
            .number("RDB$PROCEDURE_INPUTS", i64::try_from(procedure.inputs.len()).unwrap_or(0))
            .number("RDB$PROCEDURE_OUTPUTS", i64::try_from(procedure.outputs.len()).unwrap_or(0))
            .blob("RDB$DESCRIPTION", procedure.description.as_deref())
            .blob("RDB$PROCEDURE_SOURCE", own_source(procedure))
            .program("RDB$PROCEDURE_BLR", procedure.has_body() && !procedure.is_system(), || {
                program::of_procedure(&catalog, procedure)
            })
            .text("RDB$OWNER_NAME", &procedure.owner)
            .flag("RDB$SYSTEM_FLAG", procedure.is_system());
        if procedure.has_body() {
            rows.number("RDB$PROCEDURE_TYPE", if procedure.selectable { 1 } else { 2 })
                .number("RDB$VALID_BLR", 1);
        }
        package_columns(rows, procedure);
    }
}

/// Standalone ones, then those of packages.
fn all_procedures(catalog: &Catalog) -> impl Iterator<Item = &Arc<Routine>> {
    catalog.procedures.values().chain(catalog.packages.values().flat_map(|package| &package.procedures))
}

/// As [`all_procedures`].
fn all_functions(catalog: &Catalog) -> impl Iterator<Item = &Arc<Routine>> {
    catalog.functions.values().chain(catalog.packages.values().flat_map(|package| &package.functions))
}

/// The text of a routine; that of one in a package is the package's.
fn own_source(routine: &Routine) -> Option<&str> {
    let own = routine.package.is_none().then_some(routine.source.as_str());
    own.filter(|source| !source.is_empty() && !routine.source_hidden)
}

/// What tells of the package that a routine is in. SQL SECURITY is the package's too.
fn package_columns(rows: &mut RowSet<'_, '_, '_>, routine: &Routine) {
    if routine.is_system() {
        rows.text("RDB$ENGINE_NAME", SYSTEM_ENGINE);
    }
    match &routine.package {
        Some(package) => {
            rows.text("RDB$PACKAGE_NAME", package).flag("RDB$PRIVATE_FLAG", routine.private);
        }
        None => {
            rows.boolean("RDB$SQL_SECURITY", routine.sql_security_definer);
        }
    }
}

pub(super) fn packages(rows: &mut RowSet<'_, '_, '_>) {
    for package in Arc::clone(&rows.catalog).packages.values() {
        let is_system = package.is_system();
        rows.row()
            .text("RDB$PACKAGE_NAME", &package.name)
            .blob(
                "RDB$PACKAGE_HEADER_SOURCE",
                Some(&package.header_source).filter(|_| !is_system && !package.header_hidden),
            )
            .blob("RDB$PACKAGE_BODY_SOURCE", package.body_source.as_deref().filter(|_| !package.body_hidden))
            .text("RDB$OWNER_NAME", &package.owner)
            .flag("RDB$SYSTEM_FLAG", is_system)
            .blob("RDB$DESCRIPTION", package.description.as_deref())
            .boolean("RDB$SQL_SECURITY", package.sql_security_definer.filter(|_| !is_system));
        if let Some(is_valid) = package.body_is_valid {
            rows.flag("RDB$VALID_BODY_FLAG", is_valid);
        }
    }
}

pub(super) fn procedure_parameters(rows: &mut RowSet<'_, '_, '_>) {
    let catalog = Arc::clone(&rows.catalog);
    for procedure in all_procedures(&catalog) {
        let inputs = procedure.inputs.iter().enumerate().map(|(number, it)| (number, number, 0, it));
        let first = procedure.inputs.len();
        let outputs =
            procedure.outputs.iter().enumerate().map(|(number, it)| (number, first + number, 1, it));
        for (number, place, kind, parameter) in inputs.chain(outputs) {
            rows.row()
                .text("RDB$PARAMETER_NAME", &parameter.name)
                .text("RDB$PROCEDURE_NAME", &procedure.name)
                .number("RDB$PARAMETER_NUMBER", i64::try_from(number).unwrap_or(0))
                .number("RDB$PARAMETER_TYPE", kind);
            parameter_columns(rows, RoutineKind::Procedure, procedure, place, parameter);
            rows.optional_text("RDB$PACKAGE_NAME", procedure.package.as_deref());
            rows.number("RDB$PARAMETER_MECHANISM", mechanism(parameter));
        }
    }
}

/// 1: TYPE OF a domain or a column.
fn mechanism(parameter: &RoutineParameter) -> i64 {
    i64::from(parameter.type_of_domain.is_some() || parameter.type_of_column.is_some())
}

/// What parameters of procedures and arguments of functions have in common.
fn parameter_columns(
    rows: &mut RowSet<'_, '_, '_>,
    kind: RoutineKind,
    routine: &Routine,
    place: usize,
    parameter: &RoutineParameter,
) {
    let of_column = parameter.type_of_column.as_ref().and_then(|(table, column)| {
        let column = rows.catalog.relation(table)?.column(column)?;
        Some(column.domain.clone())
    });
    let named = parameter.domain_of_type().map(str::to_owned).or(of_column);
    let domain = named.unwrap_or_else(|| parameter_domain(kind, routine, place));
    rows.text("RDB$FIELD_SOURCE", &domain)
        .blob("RDB$DESCRIPTION", parameter.description.as_deref())
        .flag("RDB$SYSTEM_FLAG", routine.is_system());
    let catalog = Arc::clone(&rows.catalog);
    rows.blob("RDB$DEFAULT_SOURCE", parameter.default_source.as_deref()).program(
        "RDB$DEFAULT_VALUE",
        parameter.default_source.is_some(),
        || program::of_default(&catalog, parameter.default_source.as_deref()?),
    );
    if let Some((table, column)) = &parameter.type_of_column {
        rows.text("RDB$RELATION_NAME", table).text("RDB$FIELD_NAME", column);
    }
    if parameter.not_null || routine.is_system() {
        rows.flag("RDB$NULL_FLAG", parameter.not_null);
    }
}

pub(super) fn functions(rows: &mut RowSet<'_, '_, '_>) {
    let catalog = Arc::clone(&rows.catalog);
    for function in all_functions(&catalog) {
        let library = function.library();
        rows.row()
            .text("RDB$FUNCTION_NAME", &function.name)
            .blob("RDB$DESCRIPTION", function.description.as_deref())
            .number("RDB$RETURN_ARGUMENT", library.map_or(0, |it| it.returned))
            .optional_text("RDB$MODULE_NAME", library.map(|it| &it.module))
            .optional_text("RDB$ENTRYPOINT", library.map(|it| &it.entry_point).filter(|it| !it.is_empty()))
            .flag("RDB$SYSTEM_FLAG", function.is_system())
            .blob("RDB$FUNCTION_SOURCE", own_source(function))
            .program("RDB$FUNCTION_BLR", function.has_body() && !function.is_system(), || {
                program::of_function(&catalog, function)
            })
            .number("RDB$FUNCTION_ID", function.id)
            .text("RDB$OWNER_NAME", &function.owner);
        if !function.is_system() {
            rows.flag("RDB$LEGACY_FLAG", library.is_some())
                .flag("RDB$DETERMINISTIC_FLAG", function.deterministic);
        }
        if function.has_body() {
            rows.number("RDB$VALID_BLR", 1);
        }
        package_columns(rows, function);
    }
}

pub(super) fn function_arguments(rows: &mut RowSet<'_, '_, '_>) {
    let catalog = Arc::clone(&rows.catalog);
    for function in all_functions(&catalog) {
        if let Some(library) = function.library() {
            library_arguments(rows, function, library);
            continue;
        }
        let result = function.outputs.iter().map(|it| (0, function.inputs.len(), it));
        let inputs = function.inputs.iter().enumerate().map(|(number, it)| (number + 1, number, it));
        for (position, place, parameter) in result.chain(inputs) {
            rows.row()
                .text("RDB$FUNCTION_NAME", &function.name)
                .number("RDB$ARGUMENT_POSITION", i64::try_from(position).unwrap_or(0));
            if !parameter.name.is_empty() {
                rows.text("RDB$ARGUMENT_NAME", &parameter.name);
            }
            parameter_columns(rows, RoutineKind::Function, function, place, parameter);
            rows.optional_text("RDB$PACKAGE_NAME", function.package.as_deref());
            if !function.is_system() {
                rows.number("RDB$ARGUMENT_MECHANISM", mechanism(parameter));
            }
        }
    }
}

/// Arguments of an external function have types of their own, not domains.
fn library_arguments(rows: &mut RowSet<'_, '_, '_>, function: &Routine, library: &LibraryFunction) {
    const CSTRING: i16 = 40;
    for argument in &library.arguments {
        let numbers = type_numbers(&argument.sql_type, argument.precision);
        let is_blob = matches!(argument.sql_type, SqlType::Blob { .. });
        rows.row()
            .text("RDB$FUNCTION_NAME", &function.name)
            .number("RDB$ARGUMENT_POSITION", argument.position)
            .number("RDB$MECHANISM", argument.mechanism_number())
            .number("RDB$FIELD_TYPE", if argument.is_cstring { CSTRING } else { numbers.field_type })
            .number("RDB$FIELD_SCALE", numbers.scale)
            .number("RDB$FIELD_LENGTH", numbers.length)
            .optional_number("RDB$FIELD_SUB_TYPE", numbers.subtype)
            .optional_number("RDB$CHARACTER_SET_ID", numbers.character_set)
            .optional_number("RDB$FIELD_PRECISION", numbers.precision)
            .optional_number("RDB$CHARACTER_LENGTH", numbers.char_length)
            .optional_number("RDB$COLLATION_ID", numbers.collation.filter(|_| !is_blob))
            .number("RDB$SYSTEM_FLAG", 0);
    }
}

pub(super) fn exceptions(rows: &mut RowSet<'_, '_, '_>) {
    for exception in Arc::clone(&rows.catalog).exceptions.values() {
        rows.row()
            .text("RDB$EXCEPTION_NAME", &exception.name)
            .number("RDB$EXCEPTION_NUMBER", exception.number)
            .text("RDB$MESSAGE", &exception.message)
            .blob("RDB$DESCRIPTION", exception.description.as_deref())
            .number("RDB$SYSTEM_FLAG", 0)
            .text("RDB$OWNER_NAME", &exception.owner);
    }
}

pub(super) fn generators(rows: &mut RowSet<'_, '_, '_>) {
    for (name, id) in SYSTEM_SEQUENCES {
        rows.row()
            .text("RDB$GENERATOR_NAME", name)
            .number("RDB$GENERATOR_ID", id.0)
            .number("RDB$SYSTEM_FLAG", 1)
            .text("RDB$OWNER_NAME", "SYSDBA")
            .number("RDB$INITIAL_VALUE", 0)
            .number("RDB$GENERATOR_INCREMENT", 0);
    }
    let catalog = Arc::clone(&rows.catalog);
    let mut sequences: Vec<_> = catalog.sequences.values().collect();
    sequences.sort_by_key(|sequence| sequence.id);
    for sequence in sequences {
        rows.row()
            .text("RDB$GENERATOR_NAME", &sequence.name)
            .number("RDB$GENERATOR_ID", sequence.id.0)
            .number("RDB$SYSTEM_FLAG", if sequence.system { IDENTITY_GENERATOR } else { 0 })
            .blob("RDB$DESCRIPTION", sequence.description.as_deref())
            .text("RDB$OWNER_NAME", &sequence.owner)
            .number("RDB$INITIAL_VALUE", sequence.initial_value)
            .number("RDB$GENERATOR_INCREMENT", sequence.increment);
    }
}
