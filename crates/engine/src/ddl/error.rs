//! The statuses of DDL, as Firebird 4 sends them (recorded from a server) with the codes of Firebird 5.

use farbird_sql::ast::{Comment, CommentKind, CommentTarget, DdlStatement, DefineMode, DropKind};
use farbird_types::error::{StatusArgument, StatusItem};
use farbird_types::{Error, isc};

use crate::catalog::{Relation, RelationKind, SourceStart};

/// A code of the facility DYN that has no public name: only its number and its message are known to clients.
const fn dyn_code(message: u32) -> u32 {
    336_068_608 + message
}

/// "could not find UNIQUE or PRIMARY KEY constraint in table @1 with specified columns"
const REFERENCED_KEY_NOT_FOUND: u32 = dyn_code(18);
/// "Domain @1 is used in table @2 (local name @3) and cannot be dropped"
const DOMAIN_USED_IN_TABLE: u32 = dyn_code(43);
/// "field @1 from relation @2 is referenced in view @3"
const COLUMN_IN_VIEW: u32 = dyn_code(52);
/// "attempt to index BLOB column in INDEX @1"
const INDEX_ON_BLOB: u32 = dyn_code(116);
/// "attempt to index array column in index @1"
const INDEX_ON_ARRAY: u32 = dyn_code(117);
/// "Default value is not allowed for array type in field @1", "... in domain @1"
const DEFAULT_OF_ARRAY_FIELD: u32 = dyn_code(225);
const DEFAULT_OF_ARRAY_DOMAIN: u32 = dyn_code(226);
/// "Unknown columns in index @1"
const UNKNOWN_COLUMNS_IN_INDEX: u32 = dyn_code(120);
/// "Column: @1 not defined as NOT NULL - cannot be used in PRIMARY KEY constraint definition"
const PRIMARY_KEY_NULLABLE: u32 = dyn_code(123);
/// "CONSTRAINT @1 does not exist."
const CONSTRAINT_NOT_FOUND: u32 = dyn_code(130);
/// "Procedure @1 already exists"
const DUPLICATE_PROCEDURE: u32 = dyn_code(135);
/// "Only one constraint allowed for a domain"
const DOMAIN_HAS_CONSTRAINT: u32 = dyn_code(160);
/// "attempt to index COMPUTED BY column in INDEX @1"
const INDEX_ON_COMPUTED: u32 = dyn_code(179);
/// "attempt to index a view"
const INDEX_ON_VIEW: u32 = dyn_code(181);
/// "column @1 from table @2 is referenced in index @3"
const COLUMN_IN_INDEX: u32 = dyn_code(187);
/// "Local column @1 doesn't have a default"
const NO_DEFAULT: u32 = dyn_code(229);
/// "attempt to reference a view (@1) in a foreign key"
const REFERENCE_TO_VIEW: u32 = dyn_code(242);
/// "@1 is not grantor of @2 on @3 to @4."
const NOT_GRANTOR: u32 = dyn_code(246);
/// "Password must be specified when creating user"
const PASSWORD_MISSING: u32 = dyn_code(291);
/// "Domain @1 is used in procedure @2 (parameter name @3) and cannot be dropped"
const DOMAIN_USED_IN_PROCEDURE: u32 = dyn_code(239);
/// "Cannot delete system generator @1"
const SYSTEM_SEQUENCE: u32 = dyn_code(272);
/// "Identity column @1 of table @2 must be of exact number type with zero scale"
const IDENTITY_TYPE: u32 = dyn_code(273);
/// "Identity column @1 of table @2 cannot be changed to NULLable"
const IDENTITY_NULLABLE: u32 = dyn_code(274);
/// "Identity column @1 of table @2 cannot have default value"
const IDENTITY_DEFAULT: u32 = dyn_code(275);
/// "Cannot delete system SQL role @1"
const SYSTEM_ROLE: u32 = dyn_code(284);
/// "Column @1 is not an identity column"
const NOT_IDENTITY: u32 = dyn_code(285);

/// "A node name is not permitted in a table with external file definition"
const FILE_ON_ANOTHER_MACHINE: u32 = dyn_code(163);
/// "Function @1 already exists"
const DUPLICATE_FUNCTION: u32 = dyn_code(268);
/// "Field @1 listed more than once in index @2"
const COLUMN_TWICE_IN_INDEX: u32 = dyn_code(240);
/// "key size too big for index @1"
const INDEX_KEY_TOO_BIG: u32 = dyn_code(118);
/// "Exception @1 already exists"
const DUPLICATE_EXCEPTION: u32 = dyn_code(253);
/// "Sequence @1 already exists"
const DUPLICATE_SEQUENCE: u32 = dyn_code(254);
const SYSTEM_SEQUENCE_IS_KEPT: u32 = dyn_code(272);

fn command(code: u32) -> Error {
    Error::new(isc::SQLERR).with(-607).and(isc::DSQL_COMMAND_ERR).and(code)
}

/// A constraint on the catalog itself: `isc_integ_fail` with the code that Firebird's system trigger aborts with.
fn integrity(abort_code: i32, code: u32) -> Error {
    Error::new(isc::INTEG_FAIL).with(abort_code).and(code)
}

pub(super) fn table_exists(name: &str) -> Error {
    Error::new(isc::DYN_DUP_TABLE).with(name)
}

pub(super) fn procedure_exists(name: &str) -> Error {
    Error::new(DUPLICATE_PROCEDURE).with(name)
}

pub(super) fn function_exists(name: &str) -> Error {
    Error::new(DUPLICATE_FUNCTION).with(name)
}

pub(super) fn trigger_exists(name: &str) -> Error {
    system_key_exists("RDB$INDEX_8", "RDB$TRIGGERS", &[("RDB$TRIGGER_NAME", name)])
}

pub(super) fn column_twice_in_index(column: &str, index: &str) -> Error {
    Error::new(COLUMN_TWICE_IN_INDEX).with(column).with(index)
}

pub(super) fn index_key_too_big(index: &str) -> Error {
    Error::new(INDEX_KEY_TOO_BIG).with(index)
}

pub(super) fn table_not_found(name: &str) -> Error {
    command(isc::DSQL_TABLE_NOT_FOUND).with(name)
}

pub(super) fn view_not_found(name: &str) -> Error {
    command(isc::DSQL_VIEW_NOT_FOUND).with(name)
}

pub(super) fn relation_not_found(name: &str) -> Error {
    Error::new(isc::DYN_TABLE_NOT_FOUND).with(name)
}

pub(super) fn reference_to_view(name: &str) -> Error {
    Error::new(REFERENCE_TO_VIEW).with(name)
}

pub(super) fn not_grantor(grantor: &str, privilege: &str, object: &str, grantee: &str) -> Error {
    Error::new(NOT_GRANTOR).with(grantor).with(privilege).with(object).with(grantee)
}

pub(super) fn password_missing() -> Error {
    Error::new(PASSWORD_MISSING)
}

pub(super) fn column_not_found(column: &str, table: &str) -> Error {
    Error::new(isc::DYN_COLUMN_DOES_NOT_EXIST).with(column).with(table)
}

/// A second column of the same name meets the unique index of RDB$RELATION_FIELDS.
pub(super) fn column_exists(column: &str, table: &str) -> Error {
    system_key_exists(
        "RDB$INDEX_15",
        "RDB$RELATION_FIELDS",
        &[("RDB$FIELD_NAME", column), ("RDB$RELATION_NAME", table)],
    )
}

pub(super) fn domain_exists(name: &str) -> Error {
    system_key_exists("RDB$INDEX_2", "RDB$FIELDS", &[("RDB$FIELD_NAME", name)])
}

pub(super) fn collation_exists(name: &str) -> Error {
    system_key_exists("RDB$INDEX_20", "RDB$COLLATIONS", &[("RDB$COLLATION_NAME", name)])
}

pub(super) fn constraint_exists(name: &str) -> Error {
    system_key_exists("RDB$INDEX_12", "RDB$RELATION_CONSTRAINTS", &[("RDB$CONSTRAINT_NAME", name)])
}

pub(super) fn package_exists(name: &str) -> Error {
    system_key_exists("RDB$INDEX_47", "RDB$PACKAGES", &[("RDB$PACKAGE_NAME", name)])
}

fn system_key_exists(index: &str, table: &str, key: &[(&str, &str)]) -> Error {
    let key: Vec<String> = key.iter().map(|(column, value)| format!("\"{column}\" = '{value}'")).collect();
    Error::new(isc::UNIQUE_KEY_VIOLATION)
        .with(index)
        .with(table)
        .and(isc::IDX_KEY_VALUE)
        .with(format!("({})", key.join(", ")))
}

pub(super) fn rename_exists(from: &str, to: &str, table: &str) -> Error {
    Error::new(isc::DYN_FIELD_NAME_EXISTS).with(from).with(to).with(table)
}

pub(super) fn constraint_not_found(name: &str) -> Error {
    Error::new(CONSTRAINT_NOT_FOUND).with(name)
}

pub(super) fn unknown_columns_in_index(index: &str) -> Error {
    Error::new(UNKNOWN_COLUMNS_IN_INDEX).with(index)
}

pub(super) fn index_on_blob(index: &str) -> Error {
    Error::new(INDEX_ON_BLOB).with(index)
}

pub(super) fn index_on_array(index: &str) -> Error {
    Error::new(INDEX_ON_ARRAY).with(index)
}

pub(super) fn default_of_array_field(column: &str) -> Error {
    Error::new(DEFAULT_OF_ARRAY_FIELD).with(column)
}

pub(super) fn default_of_array_domain(domain: &str) -> Error {
    Error::new(DEFAULT_OF_ARRAY_DOMAIN).with(domain)
}

/// Firebird takes such indexes, and their entries are wrong as soon as a function or another row changes.
pub(super) fn index_of_more_than_the_row() -> Error {
    unsupported(
        "an index over more than the values of its row (a stored function, a subquery, a context variable, the contents \
         of a BLOB)",
    )
}

pub(super) fn index_on_computed(index: &str) -> Error {
    Error::new(INDEX_ON_COMPUTED).with(index)
}

pub(super) fn index_on_view() -> Error {
    Error::new(INDEX_ON_VIEW)
}

pub(super) fn index_exists(name: &str) -> Error {
    Error::new(isc::DYN_DUP_INDEX).with(name)
}

pub(super) fn index_not_found() -> Error {
    Error::new(isc::DYN_INDEX_NOT_FOUND)
}

pub(super) fn column_in_view(column: &str, table: &str, view: &str) -> Error {
    // The name is as long there as it is in Firebird's system tables.
    Error::new(COLUMN_IN_VIEW).with(column).with(table).with(format!("{view:<63}"))
}

pub(super) fn column_in_index(column: &str, table: &str, index: &str) -> Error {
    Error::new(COLUMN_IN_INDEX).with(column).with(table).with(index)
}

pub(super) fn primary_key_nullable(column: &str) -> Error {
    Error::new(PRIMARY_KEY_NULLABLE).with(column)
}

pub(super) fn primary_key_exists() -> Error {
    integrity(3, isc::PRIMARY_KEY_EXISTS)
}

pub(super) fn key_is_referenced() -> Error {
    integrity(1, isc::PRIMARY_KEY_REF)
}

pub(super) fn key_column_not_null() -> Error {
    integrity(2, isc::PRIMARY_KEY_NOTNULL)
}

pub(super) fn column_in_constraint() -> Error {
    integrity(1, isc::CNSTRNT_FLD_DEL)
}

pub(super) fn constraint_column_changed() -> Error {
    integrity(1, isc::INTEG_INDEX_SEG_MOD)
}

pub(super) fn index_of_constraint() -> Error {
    integrity(1, isc::INTEG_INDEX_DEL)
}

pub(super) fn index_of_key_deactivated(foreign: bool) -> Error {
    if foreign {
        integrity(2, isc::INTEG_INDEX_DEACTIVATE)
    } else {
        integrity(3, isc::INTEG_DEACTIVATE_PRIMARY)
    }
}

pub(super) fn referenced_key_not_found(table: &str) -> Error {
    Error::new(REFERENCED_KEY_NOT_FOUND).with(table)
}

pub(super) fn referenced_table_has_no_key() -> Error {
    command(isc::REFTABLE_REQUIRES_PK)
}

pub(super) fn key_count_differs() -> Error {
    command(isc::KEY_FIELD_COUNT_ERR)
}

pub(super) fn key_types_differ(part: usize) -> Error {
    Error::new(isc::NO_META_UPDATE)
        .and(isc::PARTNER_IDX_INCOMPAT_TYPE)
        .with(i32::try_from(part).unwrap_or(i32::MAX))
}

pub(super) fn cannot_make_not_null(column: &str, table: &str) -> Error {
    Error::new(isc::NO_META_UPDATE).and(isc::CANNOT_MAKE_NOT_NULL).with(column).with(table)
}

pub(super) fn no_default(column: &str) -> Error {
    Error::new(NO_DEFAULT).with(column)
}

pub(super) fn identity_type(column: &str, table: &str) -> Error {
    Error::new(IDENTITY_TYPE).with(column).with(table)
}

pub(super) fn identity_nullable(column: &str, table: &str) -> Error {
    Error::new(IDENTITY_NULLABLE).with(column).with(table)
}

pub(super) fn identity_default(column: &str, table: &str) -> Error {
    Error::new(IDENTITY_DEFAULT).with(column).with(table)
}

pub(super) fn not_identity(column: &str) -> Error {
    Error::new(NOT_IDENTITY).with(column)
}

pub(super) fn identity_zero_increment(column: &str, table: &str) -> Error {
    Error::new(isc::DYN_CANT_USE_ZERO_INC_IDENT).with(column).with(table)
}

pub(super) fn computed_stays_computed(column: &str) -> Error {
    Error::new(isc::DYN_CANNOT_ADDREM_COMPUTED).with(column)
}

pub(super) fn domain_not_found() -> Error {
    Error::new(isc::DYN_DOMAIN_NOT_FOUND)
}

pub(super) fn domain_rename_exists(from: &str, to: &str) -> Error {
    Error::new(isc::DYN_DOMAIN_NAME_EXISTS).with(from).with(to)
}

pub(super) fn domain_has_constraint() -> Error {
    Error::new(DOMAIN_HAS_CONSTRAINT)
}

pub(super) fn domain_used_in_table(domain: &str, table: &str, column: &str) -> Error {
    Error::new(DOMAIN_USED_IN_TABLE).with(domain).with(table).with(column)
}

pub(super) fn domain_used_in_procedure(domain: &str, procedure: &str, parameter: &str) -> Error {
    Error::new(DOMAIN_USED_IN_PROCEDURE).with(domain).with(procedure).with(parameter)
}

pub(super) fn domain_used_in_function(domain: &str, function: &str, parameter: &str) -> Error {
    Error::new(isc::DYN_DOMAIN_USED_FUNCTION).with(domain).with(function).with(parameter)
}

pub(super) fn sequence_not_found(name: &str) -> Error {
    Error::new(isc::DYN_GEN_NOT_FOUND).with(name)
}

pub(super) fn sequence_exists(name: &str) -> Error {
    Error::new(DUPLICATE_SEQUENCE).with(name)
}

pub(super) fn cannot_drop_system_sequence(name: &str) -> Error {
    Error::new(SYSTEM_SEQUENCE_IS_KEPT).with(name)
}

pub(super) fn cannot_change_system_sequence(name: &str) -> Error {
    Error::new(isc::DYN_CANT_MODIFY_SYSOBJ).with("generator").with(name)
}

pub(super) fn zero_increment(name: &str) -> Error {
    Error::new(isc::DYN_CANT_USE_ZERO_INCREMENT).with(name)
}

pub(super) fn system_sequence(name: &str) -> Error {
    Error::new(SYSTEM_SEQUENCE).with(name)
}

pub(super) fn system_role(name: &str) -> Error {
    Error::new(SYSTEM_ROLE).with(name)
}

pub(super) fn exception_exists(name: &str) -> Error {
    Error::new(DUPLICATE_EXCEPTION).with(name)
}

pub(super) fn exception_not_found() -> Error {
    Error::new(isc::DYN_EXCEPTION_NOT_FOUND)
}

pub(super) fn role_exists(name: &str) -> Error {
    Error::new(isc::DYN_DUP_SQL_ROLE).with(name)
}

pub(super) fn unsupported(what: &str) -> Error {
    Error::new(isc::WISH_LIST).and(isc::RANDOM).with(format!("{what} is not supported yet"))
}

/// A codec that there is not; says which there are.
pub(super) fn unknown_codec(name: &str, error: farbird_store::UnknownCodecName) -> Error {
    Error::new(isc::NO_META_UPDATE).and(isc::RANDOM).with(format!("{name}: {error}"))
}

/// Something uses what is to go: `no_delete`, what it is, and how many use it.
pub(super) fn in_use(kind: u32, name: &str, dependents: usize) -> Error {
    Error::new(isc::NO_META_UPDATE)
        .and(isc::NO_DELETE)
        .and(kind)
        .with(name)
        .and(isc::DEPENDENCY)
        .with(i32::try_from(dependents).unwrap_or(i32::MAX))
}

/// Another transaction is using the table.
pub(super) fn table_in_use(name: &str, conflict: Error) -> Error {
    conflict.and(isc::NO_META_UPDATE).and(isc::OBJ_IN_USE).with(format!("TABLE \"{name}\""))
}

/// A column of a type that no file has.
pub(super) fn type_not_in_external_table(type_name: &str, table: &str, column: &str) -> Error {
    command(isc::DSQL_TYPE_NOT_SUPP_EXT_TAB).with(type_name).with(table).with(column)
}

/// A foreign key of an external table, or to one.
pub(super) fn external_in_foreign_key(table: &str) -> Error {
    Error::new(isc::DYN_CANT_USE_IN_FOREIGNKEY).with(format!("external table \"{table}\""))
}

/// The file of an external table on another machine.
pub(super) fn file_on_another_machine() -> Error {
    Error::new(FILE_ON_ANOTHER_MACHINE)
}

/// A foreign key between tables whose rows do not last equally long.
pub(super) fn wrong_scope(relation: &Relation, referenced: &Relation) -> Error {
    let described = |relation: &Relation| match relation.kind {
        RelationKind::TemporaryTransaction => {
            format!("global temporary table \"{}\" of type ON COMMIT DELETE ROWS", relation.name)
        }
        RelationKind::TemporarySession => {
            format!("global temporary table \"{}\" of type ON COMMIT PRESERVE ROWS", relation.name)
        }
        _ => format!("persistent table \"{}\"", relation.name),
    };
    Error::new(isc::DYN_WRONG_GTT_SCOPE).with(described(relation)).with(described(referenced))
}

/// A table of which somebody keeps rows.
pub(super) fn temporary_table_in_use(name: &str) -> Error {
    Error::new(isc::NO_META_UPDATE).and(isc::OBJ_IN_USE).with(format!("TABLE \"{name}\""))
}

/// An error in a body, told by its place in the whole statement rather than in the body.
pub(super) fn in_statement(error: Error, start: SourceStart) -> Error {
    let mut shifted: Option<Error> = None;
    for item in error.items() {
        let mut next = match shifted {
            None => Error::new(item.gds_code),
            Some(outer) => outer.and(item.gds_code),
        };
        let place = match (item.gds_code, item.arguments.as_slice()) {
            (isc::DSQL_LINE_COL_ERROR, [StatusArgument::Number(line), StatusArgument::Number(column)]) => {
                Some((*line, *column))
            }
            _ => None,
        };
        if let Some((line, column)) = place {
            let first = |number: u32| i32::try_from(number).unwrap_or(1).saturating_sub(1);
            let column = if line == 1 { column.saturating_add(first(start.column)) } else { column };
            next = next.with(line.saturating_add(first(start.line))).with(column);
        } else {
            for argument in &item.arguments {
                next = next.with(argument.clone());
            }
        }
        shifted = Some(next);
    }
    shifted.unwrap_or(error)
}

/// Puts an error under the heading of its statement alone: for what Firebird finds while it reads the statement.
pub(super) fn under_heading(statement: &DdlStatement, error: Error) -> Error {
    match heading(statement) {
        None => error,
        Some((code, names)) => names.into_iter().fold(Error::new(code), Error::with).and_all(error),
    }
}

/// An error of a definition that another one has made, to be put under the headings of that: the first of them is said once.
pub(super) fn below_heading(error: Error) -> Error {
    let mut items = error.items().iter().skip_while(|item| item.gds_code == isc::NO_META_UPDATE);
    let Some(first) = items.next() else { return error };
    let with = |outer: Error, item: &StatusItem| item.arguments.iter().cloned().fold(outer, Error::with);
    items.fold(with(Error::new(first.gds_code), first), |outer, item| with(outer.and(item.gds_code), item))
}

/// Puts an error of a DDL trigger under the headings of the statement that fired it. What stops a statement stays what it is.
pub(super) fn in_trigger(statement: &DdlStatement, error: Error) -> Error {
    let stops = [isc::CANCELLED, isc::ATT_SHUTDOWN, isc::OBSOLETE_METADATA];
    if stops.contains(&error.gds_code()) {
        return error;
    }
    let Some((code, names)) = heading(statement) else { return error };
    let mut outer = names.into_iter().fold(Error::new(isc::NO_META_UPDATE).and(code), Error::with);
    // A definition that a trigger makes has such headings itself: the first is said once.
    for item in error.items().iter().skip_while(|item| item.gds_code == isc::NO_META_UPDATE) {
        outer = outer.and(item.gds_code);
        for argument in &item.arguments {
            outer = outer.with(argument.clone());
        }
    }
    outer
}

/// Puts an error under the headings of its statement: `no_meta_update`, "CREATE TABLE T failed".
///
/// Errors that Firebird finds at the commit, when its deferred work runs, come without a heading of the statement.
pub(super) fn describe(statement: &DdlStatement, error: Error) -> Error {
    let first = error.gds_code();
    let complete = [
        isc::NO_META_UPDATE,
        isc::LOCK_CONFLICT,
        isc::LOCK_TIMEOUT,
        isc::DEADLOCK,
        isc::CANCELLED,
        isc::READ_ONLY_TRANS,
        isc::NO_DUP,
        isc::FOREIGN_KEY,
    ];
    let on_user_data = first == isc::UNIQUE_KEY_VIOLATION && !names_system_index(&error);
    if complete.contains(&first) || on_user_data || is_found_at_commit(statement, &error) {
        return error;
    }
    if is_found_in_blr(&error) {
        return beside_routine(statement, error);
    }
    if is_found_while_reading(statement, &error) {
        return under_heading(statement, error);
    }
    match heading(statement) {
        None => error,
        Some((code, names)) => {
            let outer = Error::new(isc::NO_META_UPDATE).and(code);
            names.into_iter().fold(outer, Error::with).and_all(error)
        }
    }
}

/// Whether Firebird's deferred work meets the error: defaults are computed for the first time then, triggers compiled, and
/// the manager of users asks for rights.
fn is_found_at_commit(statement: &DdlStatement, error: &Error) -> bool {
    match statement {
        DdlStatement::CreateTable(_) | DdlStatement::AlterTable(_) => {
            matches!(error.gds_code(), isc::CONVERT_ERROR | isc::ARITH_EXCEPT)
        }
        DdlStatement::DefineTrigger(_) => error.gds_code() == isc::READ_ONLY_FIELD,
        DdlStatement::DefineUser(_) => error.gds_code() == isc::MISS_PRVLG,
        _ => false,
    }
}

/// Whether Firebird meets the error when it reads the BLR of a definition: names that only its engine knows, and plans.
fn is_found_in_blr(error: &Error) -> bool {
    let of_plans =
        [isc::INDEX_UNUSED, isc::NO_STREAM_PLAN, isc::STREAM_TWICE, isc::STREAM_NOT_FOUND, isc::VIEW_ALIAS];
    error.gds_code() == isc::INVALID_BLR || of_plans.contains(&error.gds_code())
}

/// Adds, as Firebird 5 does, whose BLR it was: of triggers and views it does not say.
fn beside_routine(statement: &DdlStatement, error: Error) -> Error {
    match statement {
        DdlStatement::DefineProcedure(it) => error.and(isc::BAD_PROC_BLR).with(it.signature.name.to_string()),
        DdlStatement::DefineFunction(it) => error.and(isc::BAD_FUN_BLR).with(it.signature.name.to_string()),
        _ => error,
    }
}

/// Whether Firebird meets the error before it begins to change the catalog.
fn is_found_while_reading(statement: &DdlStatement, error: &Error) -> bool {
    match statement {
        DdlStatement::DefineProcedure(_) => error.has(isc::DSQL_DUPLICATE_SPEC),
        DdlStatement::CreateCollation(_) => {
            error.has(isc::CHARSET_NOT_FOUND) || error.has(isc::COLLATION_NOT_FOUND)
        }
        _ => false,
    }
}

fn names_system_index(error: &Error) -> bool {
    error.items().first().and_then(|item| item.arguments.first()).is_some_and(
        |argument| matches!(argument, StatusArgument::Text(name) if name.starts_with("RDB$INDEX_")),
    )
}

fn by_mode(mode: DefineMode, codes: [u32; 4]) -> u32 {
    match mode {
        DefineMode::Create => codes[0],
        DefineMode::Alter => codes[1],
        DefineMode::CreateOrAlter => codes[2],
        DefineMode::Recreate => codes[3],
    }
}

/// The heading of a statement's errors, with the object's name where the heading shows one, and what was to be done.
fn heading(statement: &DdlStatement) -> Option<(u32, Vec<String>)> {
    let of_mapping = |name: &dyn std::fmt::Display, verb: &str| {
        Some((isc::DSQL_MAPPING_FAILED, vec![name.to_string(), verb.to_owned()]))
    };
    let named = |code: u32, name: &dyn std::fmt::Display| Some((code, vec![name.to_string()]));
    match statement {
        DdlStatement::CreateTable(it) => named(
            match it.mode {
                DefineMode::Recreate => isc::DSQL_RECREATE_TABLE_FAILED,
                _ => isc::DSQL_CREATE_TABLE_FAILED,
            },
            &it.name,
        ),
        DdlStatement::AlterTable(it) => named(isc::DSQL_ALTER_TABLE_FAILED, &it.name),
        DdlStatement::DefineView(it) => named(
            by_mode(
                it.mode,
                [
                    isc::DSQL_CREATE_VIEW_FAILED,
                    isc::DSQL_ALTER_VIEW_FAILED,
                    isc::DSQL_CREATE_ALTER_VIEW_FAILED,
                    isc::DSQL_RECREATE_VIEW_FAILED,
                ],
            ),
            &it.name,
        ),
        DdlStatement::CreateIndex(it) => named(isc::DSQL_CREATE_INDEX_FAILED, &it.name),
        DdlStatement::AlterIndex { name, .. } | DdlStatement::SetStatistics(name) => {
            named(isc::DSQL_ALTER_INDEX_FAILED, name)
        }
        DdlStatement::CreateDomain(it) => named(isc::DSQL_CREATE_DOMAIN_FAILED, &it.name),
        DdlStatement::AlterDomain(it) => named(isc::DSQL_ALTER_DOMAIN_FAILED, &it.name),
        DdlStatement::DefineSequence(it) if it.set_generator => {
            named(isc::DSQL_SET_GENERATOR_FAILED, &it.name)
        }
        DdlStatement::DefineSequence(it) => named(
            by_mode(
                it.mode,
                [
                    isc::DSQL_CREATE_SEQUENCE_FAILED,
                    isc::DSQL_ALTER_SEQUENCE_FAILED,
                    isc::DSQL_ALTER_SEQUENCE_FAILED,
                    isc::DSQL_RECREATE_SEQUENCE_FAILED,
                ],
            ),
            &it.name,
        ),
        DdlStatement::DefineException(it) => named(
            by_mode(
                it.mode,
                [
                    isc::DSQL_CREATE_EXCEPT_FAILED,
                    isc::DSQL_ALTER_EXCEPT_FAILED,
                    isc::DSQL_CREATE_ALTER_EXCEPT_FAILED,
                    isc::DSQL_RECREATE_EXCEPT_FAILED,
                ],
            ),
            &it.name,
        ),
        DdlStatement::DefineProcedure(it) => named(
            by_mode(
                it.mode,
                [
                    isc::DSQL_CREATE_PROC_FAILED,
                    isc::DSQL_ALTER_PROC_FAILED,
                    isc::DSQL_CREATE_ALTER_PROC_FAILED,
                    isc::DSQL_RECREATE_PROC_FAILED,
                ],
            ),
            &it.signature.name,
        ),
        DdlStatement::DefineFunction(it) => named(
            by_mode(
                it.mode,
                [
                    isc::DSQL_CREATE_FUNC_FAILED,
                    isc::DSQL_ALTER_FUNC_FAILED,
                    isc::DSQL_CREATE_ALTER_FUNC_FAILED,
                    isc::DSQL_RECREATE_FUNC_FAILED,
                ],
            ),
            &it.signature.name,
        ),
        DdlStatement::DeclareExternalFunction(it) => named(isc::DSQL_CREATE_FUNC_FAILED, &it.name),
        DdlStatement::AlterExternalFunction { name, .. } => named(isc::DSQL_ALTER_FUNC_FAILED, name),
        DdlStatement::DefineTrigger(it) => named(
            by_mode(
                it.mode,
                [
                    isc::DSQL_CREATE_TRIGGER_FAILED,
                    isc::DSQL_ALTER_TRIGGER_FAILED,
                    isc::DSQL_CREATE_ALTER_TRIGGER_FAILED,
                    isc::DSQL_RECREATE_TRIGGER_FAILED,
                ],
            ),
            &it.name,
        ),
        DdlStatement::DefineUser(it) => named(
            by_mode(
                it.mode,
                [
                    isc::DSQL_CREATE_USER_FAILED,
                    isc::DSQL_ALTER_USER_FAILED,
                    isc::DSQL_ALTER_USER_FAILED,
                    isc::DSQL_RECREATE_USER_FAILED,
                ],
            ),
            &it.name.as_ref().map_or("", |name| name.as_str()),
        ),
        DdlStatement::DefinePackage(it) => named(
            by_mode(
                it.mode,
                [
                    isc::DSQL_CREATE_PACK_FAILED,
                    isc::DSQL_ALTER_PACK_FAILED,
                    isc::DSQL_CREATE_ALTER_PACK_FAILED,
                    isc::DSQL_RECREATE_PACK_FAILED,
                ],
            ),
            &it.name,
        ),
        DdlStatement::DefinePackageBody(it) => named(
            match it.mode {
                DefineMode::Recreate => isc::DSQL_RECREATE_PACK_BODY_FAILED,
                _ => isc::DSQL_CREATE_PACK_BODY_FAILED,
            },
            &it.name,
        ),
        DdlStatement::CreateCollation(it) => named(isc::DSQL_CREATE_COLLATION_FAILED, &it.name),
        DdlStatement::AlterCharacterSet { name, .. } => named(isc::DSQL_ALTER_CHARSET_FAILED, name),
        DdlStatement::DefineRole(it) => named(
            match it.mode {
                DefineMode::Alter => isc::DSQL_ALTER_ROLE_FAILED,
                _ => isc::DSQL_CREATE_ROLE_FAILED,
            },
            &it.name,
        ),
        DdlStatement::Grant(it) => Some((
            match it {
                farbird_sql::ast::GrantStatement::Grant { .. }
                | farbird_sql::ast::GrantStatement::GrantRoles { .. } => isc::DSQL_GRANT_FAILED,
                _ => isc::DSQL_REVOKE_FAILED,
            },
            Vec::new(),
        )),
        DdlStatement::DefineMapping(it) => {
            let verb = match it.mode {
                DefineMode::Create | DefineMode::Recreate => "CREATE",
                DefineMode::Alter => "ALTER",
                DefineMode::CreateOrAlter => "CREATE OR ALTER",
            };
            of_mapping(&it.name, verb)
        }
        DdlStatement::Drop(it) if matches!(it.kind, DropKind::Mapping | DropKind::GlobalMapping) => {
            of_mapping(&it.name, "DROP")
        }
        DdlStatement::Comment(Comment {
            target:
                CommentTarget::Object { kind: CommentKind::Mapping | CommentKind::GlobalMapping, name, .. },
            ..
        }) => of_mapping(name, "COMMENT ON"),
        DdlStatement::Comment(it) => named(isc::DSQL_COMMENT_ON_FAILED, &target_name(&it.target)),
        DdlStatement::AlterDatabase(_) => Some((isc::DSQL_ALTER_DATABASE_FAILED, Vec::new())),
        DdlStatement::Drop(it) => drop_heading(it.kind).and_then(|code| named(code, &it.name)),
        _ => None,
    }
}

fn drop_heading(kind: DropKind) -> Option<u32> {
    Some(match kind {
        DropKind::Table => isc::DSQL_DROP_TABLE_FAILED,
        DropKind::View => isc::DSQL_DROP_VIEW_FAILED,
        DropKind::Index => isc::DSQL_DROP_INDEX_FAILED,
        DropKind::Domain => isc::DSQL_DROP_DOMAIN_FAILED,
        DropKind::Sequence => isc::DSQL_DROP_SEQUENCE_FAILED,
        DropKind::Exception => isc::DSQL_DROP_EXCEPT_FAILED,
        DropKind::Procedure => isc::DSQL_DROP_PROC_FAILED,
        DropKind::Function | DropKind::ExternalFunction => isc::DSQL_DROP_FUNC_FAILED,
        DropKind::Trigger => isc::DSQL_DROP_TRIGGER_FAILED,
        DropKind::Collation => isc::DSQL_DROP_COLLATION_FAILED,
        DropKind::Role => isc::DSQL_DROP_ROLE_FAILED,
        DropKind::Package => isc::DSQL_DROP_PACK_FAILED,
        DropKind::PackageBody => isc::DSQL_DROP_PACK_BODY_FAILED,
        _ => return None,
    })
}

/// The name under which errors about the comment are reported.
pub(super) fn target_name(target: &CommentTarget) -> String {
    match target {
        CommentTarget::Database => String::new(),
        CommentTarget::Object { name, .. } => name.to_string(),
        CommentTarget::Column { relation, column } => format!("{relation}.{column}"),
        CommentTarget::Parameter { routine, parameter, .. } => format!("{routine}.{parameter}"),
    }
}
