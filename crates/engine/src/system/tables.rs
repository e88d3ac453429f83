//! Rows about tables, views and their columns: RDB$DATABASE, RDB$RELATIONS, RDB$RELATION_FIELDS, RDB$FIELDS ...

use std::collections::BTreeSet;
use std::sync::Arc;

use farbird_types::{ArrayShape, CharacterSet, SqlType, TimestampTz};

use crate::catalog::dependencies::dependencies;
use crate::catalog::system_tables::{SystemDomain, domains};
use crate::catalog::{Catalog, Column, Relation, RelationKind, Routine};
use crate::clock;
use crate::function::context_variable;
use crate::system::program;
use crate::system::row_set::RowSet;
use crate::system::type_numbers::type_numbers;

/// Monitoring tables begin with one of these; RDB$TIME_ZONES and the like are made up as they are.
const VIRTUAL_TABLES: [&str; 13] = [
    "RDB$TIME_ZONES",
    "RDB$CONFIG",
    "RDB$KEYWORDS",
    "FARBIRD$BACKUPS",
    "FARBIRD$FIGURES",
    "FARBIRD$LOCKS",
    "FARBIRD$LOCK_WAITS",
    "FARBIRD$SCANS",
    "FARBIRD$SERVER",
    "FARBIRD$STATISTICS",
    "FARBIRD$STORAGE",
    "FARBIRD$TEMPORARY_SPACE",
    "FARBIRD$TRANSACTIONS",
];

/// Relations in the order of their numbers. Our own system tables can be read, but are not listed among Firebird's: tools
/// compare those with what they know.
pub(super) fn relations_in_order(catalog: &Catalog) -> Vec<Arc<Relation>> {
    let is_listed = |relation: &&Arc<Relation>| !(is_system(relation) && is_our_own(&relation.name));
    let mut relations: Vec<_> = catalog.relations.values().filter(is_listed).cloned().collect();
    relations.sort_by_key(|relation| relation.id);
    relations
}

/// Whether a system object is Farbird's own.
pub(super) fn is_our_own(name: &str) -> bool {
    name.starts_with("FARBIRD$")
}

pub(super) fn is_system(relation: &Relation) -> bool {
    relation.kind == RelationKind::System
}

pub(super) fn database(rows: &mut RowSet<'_, '_, '_>) {
    let catalog = Arc::clone(&rows.catalog);
    let next = catalog.relations.values().map(|relation| relation.id.0).max().unwrap_or(0).max(127) + 1;
    rows.row()
        .blob("RDB$DESCRIPTION", catalog.database.description.as_deref())
        .number("RDB$RELATION_ID", next)
        .text("RDB$CHARACTER_SET_NAME", catalog.database.default_character_set.name())
        .optional_number("RDB$LINGER", catalog.database.linger_seconds)
        .boolean("RDB$SQL_SECURITY", catalog.database.sql_security_definer);
}

/// RDB$RELATION_TYPE.
fn relation_type(relation: &Relation) -> i64 {
    match relation.kind {
        RelationKind::Table => 0,
        RelationKind::View { .. } => 1,
        RelationKind::System => {
            let name = relation.name.as_str();
            let is_virtual =
                name.starts_with("MON$") || name.starts_with("SEC$") || VIRTUAL_TABLES.contains(&name);
            if is_virtual { 3 } else { 0 }
        }
        RelationKind::External { .. } => 2,
        RelationKind::TemporarySession => 4,
        RelationKind::TemporaryTransaction => 5,
    }
}

/// How new rows of tables are packed, and who says so. The row without a name is for tables that do not say.
pub(super) fn storage(rows: &mut RowSet<'_, '_, '_>) {
    let catalog = Arc::clone(&rows.catalog);
    let (codec, source) = match &catalog.database.codec {
        Some(codec) => (codec.clone(), "DATABASE"),
        None => (rows.context.database.store.options().codec.to_string(), "SERVER"),
    };
    rows.row().text("FARBIRD$CODEC", &codec).text("FARBIRD$SOURCE", source);
    for relation in relations_in_order(&catalog).iter().filter(|relation| relation.is_stored()) {
        let (codec, source) = match &relation.codec {
            Some(own) => (own, "TABLE"),
            None => (&codec, source),
        };
        rows.row()
            .text("FARBIRD$RELATION_NAME", &relation.name)
            .text("FARBIRD$CODEC", codec)
            .text("FARBIRD$SOURCE", source);
    }
}

/// FARBIRD$SERVER: who answers, and whose language it speaks.
pub(super) fn server(rows: &mut RowSet<'_, '_, '_>) {
    rows.row()
        .text("FARBIRD$VERSION", context_variable::FARBIRD_VERSION)
        .text("FARBIRD$FIREBIRD_VERSION", context_variable::ENGINE_VERSION);
}

pub(super) fn relations(rows: &mut RowSet<'_, '_, '_>) {
    for relation in relations_in_order(&Arc::clone(&rows.catalog)) {
        let system = is_system(&relation);
        let format = if system { 0 } else { i64::try_from(relation.formats.len()).unwrap_or(0).max(1) };
        rows.row()
            .blob("RDB$DESCRIPTION", relation.description.as_deref())
            .number("RDB$RELATION_ID", relation.id.0)
            .flag("RDB$SYSTEM_FLAG", system)
            .number("RDB$DBKEY_LENGTH", 8 * i64::try_from(relation.view_contexts.len().max(1)).unwrap_or(1))
            .number("RDB$FORMAT", format)
            .number("RDB$FIELD_ID", relation.next_field_id)
            .text("RDB$RELATION_NAME", &relation.name)
            .text("RDB$OWNER_NAME", &relation.owner)
            .text("RDB$SECURITY_CLASS", &format!("SQL${}", relation.id.0 + 1))
            .text("RDB$DEFAULT_CLASS", &format!("SQL$DEFAULT{}", relation.id.0 + 1))
            .number("RDB$RELATION_TYPE", relation_type(&relation))
            .boolean("RDB$SQL_SECURITY", relation.sql_security_definer);
        if !system {
            rows.number("RDB$FLAGS", 1);
        }
        if let RelationKind::External { file, .. } = &relation.kind {
            rows.text("RDB$EXTERNAL_FILE", file);
        }
        if let RelationKind::View { source, .. } = &relation.kind {
            let catalog = Arc::clone(&rows.catalog);
            rows.blob("RDB$VIEW_SOURCE", Some(source).filter(|_| !relation.source_hidden)).program(
                "RDB$VIEW_BLR",
                true,
                || program::of_view(&catalog, &relation).map(|it| it.records),
            );
        }
    }
}

pub(super) fn relation_fields(rows: &mut RowSet<'_, '_, '_>) {
    for relation in relations_in_order(&Arc::clone(&rows.catalog)) {
        for (position, column) in relation.columns.iter().enumerate() {
            relation_field(rows, &relation, column, i64::try_from(position).unwrap_or(0));
        }
    }
}

fn relation_field(rows: &mut RowSet<'_, '_, '_>, relation: &Relation, column: &Column, position: i64) {
    let system = is_system(relation);
    let computed = column.computed_source.is_some();
    let read_only = relation.is_view() && !writes_through(&rows.catalog, relation, column);
    rows.row()
        .text("RDB$FIELD_NAME", &column.name)
        .text("RDB$RELATION_NAME", &relation.name)
        .text("RDB$FIELD_SOURCE", &column.domain)
        .number("RDB$FIELD_POSITION", position)
        .flag("RDB$UPDATE_FLAG", !computed && !read_only)
        .number("RDB$FIELD_ID", column.field_id)
        .blob("RDB$DESCRIPTION", column.description.as_deref())
        .flag("RDB$SYSTEM_FLAG", system)
        .optional_text("RDB$BASE_FIELD", base_column(column));
    rows.optional_number("RDB$VIEW_CONTEXT", column.view_context);
    // Of system columns their domains say it.
    if column.not_null && !system {
        rows.number("RDB$NULL_FLAG", 1);
    }
    let catalog = Arc::clone(&rows.catalog);
    rows.blob("RDB$DEFAULT_SOURCE", column.default_source.as_deref()).program(
        "RDB$DEFAULT_VALUE",
        column.default_source.is_some(),
        || program::of_default(&catalog, column.default_source.as_deref()?),
    );
    if let Some(identity) = &column.identity {
        rows.text("RDB$GENERATOR_NAME", &identity.sequence).flag("RDB$IDENTITY_TYPE", !identity.always);
    }
    // Only a collation that was written for the column counts here; its domain has one anyway.
    let collation = crate::catalog::layout::collation_of(&column.sql_type);
    if !system && collation.0 != 0 {
        rows.number("RDB$COLLATION_ID", collation.number());
    }
}

/// The column of a table that a view's column shows as it is.
fn base_column(column: &Column) -> Option<&String> {
    column.view_context.and(column.view_origin.as_ref()).map(|(_, base)| base)
}

/// Whether what is written to a view's column comes to a column of a table: through views of one table only, each of
/// which shows its table's column as it is.
fn writes_through(catalog: &Catalog, view: &Relation, column: &Column) -> bool {
    let Some((table, base)) = column.view_context.and(column.view_origin.as_ref()) else { return false };
    // A view cannot show itself: this ends with a table.
    view.view_contexts.len() == 1
        && match catalog.relation(table) {
            Some(below) if below.is_view() => {
                below.column(base).is_some_and(|column| writes_through(catalog, below, column))
            }
            _ => true,
        }
}

/// RDB$FIELDS: the system's domains, the users', and the one behind each column, parameter and result.
pub(super) fn fields(rows: &mut RowSet<'_, '_, '_>) {
    let catalog = Arc::clone(&rows.catalog);
    for domain in domains().values().filter(|domain| !is_our_own(domain.name)) {
        field_row(rows, domain.name, &domain.sql_type, Declared::default(), true, "SYSDBA");
        rows.flag("RDB$NULL_FLAG", domain.not_null);
        as_system(rows, domain);
    }
    for domain in catalog.domains.values() {
        let declared = Declared {
            precision: domain.precision,
            segment_size: domain.segment_size,
            array: domain.array.as_deref(),
        };
        field_row(rows, &domain.name, &domain.sql_type, declared, false, &domain.owner);
        rows.blob("RDB$DESCRIPTION", domain.description.as_deref())
            .blob("RDB$VALIDATION_SOURCE", domain.check_source.as_deref())
            .program("RDB$VALIDATION_BLR", domain.check_source.is_some(), || {
                program::of_domain_check(&catalog, domain.check_source.as_deref()?)
            })
            .program("RDB$DEFAULT_VALUE", domain.default_source.is_some(), || {
                program::of_default(&catalog, domain.default_source.as_deref()?)
            });
        rows.blob("RDB$DEFAULT_SOURCE", domain.default_source.as_deref());
        if domain.not_null || domain.null_allowed {
            rows.flag("RDB$NULL_FLAG", domain.not_null);
        }
    }
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for relation in relations_in_order(&catalog).iter().filter(|relation| !is_system(relation)) {
        let is_asked = relation.is_view() && rows.wants("RDB$COMPUTED_BLR");
        let view = if is_asked { program::of_view(&catalog, relation) } else { None };
        for (place, column) in relation.columns.iter().enumerate() {
            let own = !catalog.domains.contains_key(&column.domain) && base_column(column).is_none();
            if own && seen.insert(column.domain.clone()) {
                let declared = Declared {
                    precision: column.precision,
                    segment_size: column.segment_size,
                    array: column.array.as_deref(),
                };
                field_row(rows, &column.domain, &column.sql_type, declared, false, &relation.owner);
                rows.blob("RDB$COMPUTED_SOURCE", column.computed_source.as_deref()).program(
                    "RDB$COMPUTED_BLR",
                    relation.is_view() || column.computed_source.is_some(),
                    || match &view {
                        Some(view) => view.columns.get(place).cloned(),
                        None => program::of_computed(&catalog, relation, column.computed_source.as_deref()?),
                    },
                );
            }
        }
    }
    for (kind, routines) in
        [(RoutineKind::Procedure, &catalog.procedures), (RoutineKind::Function, &catalog.functions)]
    {
        for routine in routines.values() {
            parameter_fields(rows, kind, routine);
        }
    }
    for package in catalog.packages.values() {
        for (kind, routines) in
            [(RoutineKind::Procedure, &package.procedures), (RoutineKind::Function, &package.functions)]
        {
            routines.iter().for_each(|routine| parameter_fields(rows, kind, routine));
        }
    }
}

/// RDB$FIELD_DIMENSIONS: the bounds of the arrays among RDB$FIELDS.
pub(super) fn field_dimensions(rows: &mut RowSet<'_, '_, '_>) {
    let catalog = Arc::clone(&rows.catalog);
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let domains = catalog.domains.values().map(|domain| (&domain.name, &domain.array));
    let relations = catalog.relations.values();
    let columns =
        relations.flat_map(|relation| &relation.columns).map(|column| (&column.domain, &column.array));
    for (name, array) in domains.chain(columns) {
        let Some(array) = array.as_ref().filter(|_| seen.insert(name)) else { continue };
        for (dimension, (lower, upper)) in array.bounds.iter().enumerate() {
            rows.row()
                .text("RDB$FIELD_NAME", name)
                .number("RDB$DIMENSION", i64::try_from(dimension).unwrap_or(i64::MAX))
                .number("RDB$LOWER_BOUND", *lower)
                .number("RDB$UPPER_BOUND", *upper);
        }
    }
}

/// Firebird leaves open for its own domains some of what it says about those of users.
fn as_system(rows: &mut RowSet<'_, '_, '_>, domain: &SystemDomain) {
    match domain.sql_type {
        SqlType::Blob { .. } => {
            rows.unset("RDB$COLLATION_ID");
            return;
        }
        SqlType::Text(text) if text.character_set != CharacterSet::UTF8 => {
            rows.unset("RDB$CHARACTER_LENGTH");
        }
        _ => {}
    }
    rows.unset("RDB$FIELD_SUB_TYPE").unset("RDB$FIELD_PRECISION");
    rows.optional_number("RDB$FIELD_SUB_TYPE", domain.subtype);
}

fn parameter_fields(rows: &mut RowSet<'_, '_, '_>, kind: RoutineKind, routine: &Routine) {
    for (number, parameter) in routine.inputs.iter().chain(&routine.outputs).enumerate() {
        if parameter.domain_of_type().is_none() && routine.library().is_none() {
            let name = parameter_domain(kind, routine, number);
            let declared = Declared {
                precision: parameter.precision,
                segment_size: parameter.segment_size,
                array: None,
            };
            field_row(rows, &name, &parameter.sql_type, declared, false, &routine.owner);
        }
    }
}

/// What a parameter belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RoutineKind {
    Procedure,
    Function,
}

/// The name of a parameter's own domain: `RDB$` and digits, as tools take for unnamed; far from those of columns, and no larger than the
/// INTEGER as which gbak reads them.
pub(super) fn parameter_domain(kind: RoutineKind, routine: &Routine, number: usize) -> String {
    /// The first number, how many a kind has, and how many a routine.
    const FIRST: u64 = 1 << 30;
    const OF_KIND: u64 = 1 << 29;
    const OF_ROUTINE: u64 = 1 << 11;
    let kind = match kind {
        RoutineKind::Procedure => 0,
        RoutineKind::Function => 1,
    };
    let place = u64::from(routine.id) * OF_ROUTINE + u64::try_from(number).unwrap_or(0);
    format!("RDB${}", FIRST + kind * OF_KIND + place)
}

/// What was declared beside a type and that its values do not show.
#[derive(Debug, Clone, Copy, Default)]
struct Declared<'a> {
    precision: Option<u8>,
    segment_size: Option<u16>,
    array: Option<&'a ArrayShape>,
}

fn field_row(
    rows: &mut RowSet<'_, '_, '_>,
    name: &str,
    sql_type: &SqlType,
    declared: Declared<'_>,
    system: bool,
    owner: &str,
) {
    let element = declared.array.map_or(sql_type, |array| &array.element);
    let numbers = type_numbers(element, declared.precision);
    let dimensions = declared.array.and_then(|array| i64::try_from(array.bounds.len()).ok());
    let segment_length = numbers.segment_length.map(|length| declared.segment_size.unwrap_or(length));
    rows.row()
        .text("RDB$FIELD_NAME", name)
        .number("RDB$FIELD_LENGTH", numbers.length)
        .number("RDB$FIELD_SCALE", numbers.scale)
        .number("RDB$FIELD_TYPE", numbers.field_type)
        .optional_number("RDB$FIELD_SUB_TYPE", numbers.subtype)
        .flag("RDB$SYSTEM_FLAG", system)
        .optional_number("RDB$SEGMENT_LENGTH", segment_length)
        .optional_number("RDB$CHARACTER_LENGTH", numbers.char_length)
        .optional_number("RDB$COLLATION_ID", numbers.collation)
        .optional_number("RDB$CHARACTER_SET_ID", numbers.character_set)
        .optional_number("RDB$FIELD_PRECISION", numbers.precision)
        .optional_number("RDB$DIMENSIONS", dimensions)
        .text("RDB$OWNER_NAME", owner);
}

pub(super) fn view_relations(rows: &mut RowSet<'_, '_, '_>) {
    for relation in relations_in_order(&Arc::clone(&rows.catalog)) {
        for context in &relation.view_contexts {
            rows.row()
                .text("RDB$VIEW_NAME", &relation.name)
                .text("RDB$RELATION_NAME", &context.relation)
                .number("RDB$VIEW_CONTEXT", context.number)
                .text("RDB$CONTEXT_NAME", &context.alias)
                .number("RDB$CONTEXT_TYPE", context.kind);
        }
    }
}

pub(super) fn formats(rows: &mut RowSet<'_, '_, '_>) {
    for relation in relations_in_order(&Arc::clone(&rows.catalog)).iter().filter(|it| !is_system(it)) {
        for number in 1..=i64::try_from(relation.formats.len().max(1)).unwrap_or(1) {
            rows.row().number("RDB$RELATION_ID", relation.id.0).number("RDB$FORMAT", number);
        }
    }
}

pub(super) fn all_dependencies(rows: &mut RowSet<'_, '_, '_>) {
    for dependency in dependencies(&Arc::clone(&rows.catalog)) {
        rows.row()
            .text("RDB$DEPENDENT_NAME", &dependency.dependent)
            .text("RDB$DEPENDED_ON_NAME", &dependency.used)
            .optional_text("RDB$FIELD_NAME", dependency.column.as_deref())
            .number("RDB$DEPENDENT_TYPE", dependency.dependent_type)
            .number("RDB$DEPENDED_ON_TYPE", dependency.used_type)
            .optional_text("RDB$PACKAGE_NAME", dependency.used_package.as_deref());
    }
}

/// RDB$TRANSACTION_STATE of one that is prepared (isc_info's LIMBO).
const LIMBO: i64 = 1;

/// RDB$TRANSACTIONS: those that are prepared. Of ended ones nothing is kept.
pub(super) fn transactions(rows: &mut RowSet<'_, '_, '_>) {
    let zone = rows.context.session.settings.lock().time_zone;
    for prepared in rows.context.database.store.prepared() {
        let at = i64::try_from(prepared.at).unwrap_or(i64::MAX);
        rows.row()
            .number("RDB$TRANSACTION_ID", i64::try_from(prepared.id.0).unwrap_or(i64::MAX))
            .number("RDB$TRANSACTION_STATE", LIMBO)
            .timestamp("RDB$TIMESTAMP", TimestampTz { utc: clock::timestamp_of_us(at), zone });
        if !prepared.description.is_empty() {
            rows.binary("RDB$TRANSACTION_DESCRIPTION", &prepared.description);
        }
    }
}
