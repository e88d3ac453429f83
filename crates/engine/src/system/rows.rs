//! Which rows a system table has.

use farbird_types::{Result, Value};

use crate::catalog::Relation;
use crate::expression::ExecutionContext;
use crate::system::row_set::RowSet;
use crate::system::{access, code, constants, counters, keys, monitor, statistics, tables, watch};

/// The rows of a system table as the transaction sees it: values by the position of the column.
///
/// Columns that `wanted` does not ask for (by position; those past its end are not) stay NULL and cost nothing: sources are
/// BLOBs, which are made for whoever asks. Tables of what this server does not have are empty.
///
/// # Errors
/// From making BLOBs, and from the user directory.
pub(crate) fn rows(
    context: &mut ExecutionContext<'_>,
    relation: &Relation,
    wanted: &[bool],
) -> Result<Vec<Vec<Value>>> {
    let mut rows = RowSet::new(context, relation, |position| wanted.get(position).copied().unwrap_or(false));
    match relation.name.as_str() {
        "RDB$DATABASE" => tables::database(&mut rows),
        "RDB$RELATIONS" => tables::relations(&mut rows),
        "RDB$RELATION_FIELDS" => tables::relation_fields(&mut rows),
        "RDB$FIELDS" => tables::fields(&mut rows),
        "RDB$FIELD_DIMENSIONS" => tables::field_dimensions(&mut rows),
        "FARBIRD$SCANS" => statistics::scans(&mut rows),
        "FARBIRD$STATISTICS" => statistics::statistics(&mut rows),
        "FARBIRD$STORAGE" => tables::storage(&mut rows),
        "RDB$VIEW_RELATIONS" => tables::view_relations(&mut rows),
        "RDB$FORMATS" => tables::formats(&mut rows),
        "RDB$DEPENDENCIES" => tables::all_dependencies(&mut rows),
        "RDB$INDICES" => keys::indices(&mut rows),
        "RDB$INDEX_SEGMENTS" => keys::index_segments(&mut rows),
        "RDB$RELATION_CONSTRAINTS" => keys::relation_constraints(&mut rows),
        "RDB$REF_CONSTRAINTS" => keys::ref_constraints(&mut rows),
        "RDB$CHECK_CONSTRAINTS" => keys::check_constraints(&mut rows),
        "RDB$TRIGGERS" => code::triggers(&mut rows),
        "RDB$PACKAGES" => code::packages(&mut rows),
        "RDB$PROCEDURES" => code::procedures(&mut rows),
        "RDB$PROCEDURE_PARAMETERS" => code::procedure_parameters(&mut rows),
        "RDB$FUNCTIONS" => code::functions(&mut rows),
        "RDB$FUNCTION_ARGUMENTS" => code::function_arguments(&mut rows),
        "RDB$EXCEPTIONS" => code::exceptions(&mut rows),
        "RDB$GENERATORS" => code::generators(&mut rows),
        "RDB$CHARACTER_SETS" => constants::character_sets(&mut rows),
        "RDB$COLLATIONS" => constants::collations(&mut rows),
        "RDB$TYPES" => constants::types(&mut rows),
        "RDB$KEYWORDS" => constants::keywords(&mut rows),
        "RDB$TIME_ZONES" => constants::time_zones(&mut rows),
        "RDB$PUBLICATIONS" => constants::publications(&mut rows),
        "RDB$TRANSACTIONS" => tables::transactions(&mut rows),
        "RDB$BACKUP_HISTORY" => watch::backup_history(&mut rows)?,
        "RDB$ROLES" => access::roles(&mut rows),
        "RDB$USER_PRIVILEGES" => access::user_privileges(&mut rows),
        "RDB$AUTH_MAPPING" => access::mappings(&mut rows),
        "SEC$GLOBAL_AUTH_MAPPING" => access::global_mappings(&mut rows)?,
        "SEC$DB_CREATORS" => access::database_creators(&mut rows)?,
        "SEC$USERS" => access::users(&mut rows)?,
        "SEC$USER_ATTRIBUTES" => access::user_attributes(&mut rows)?,
        "MON$DATABASE" => monitor::database(&mut rows),
        "MON$ATTACHMENTS" => monitor::attachments(&mut rows),
        "MON$TRANSACTIONS" => monitor::transactions(&mut rows),
        "MON$STATEMENTS" => monitor::statements(&mut rows),
        "MON$COMPILED_STATEMENTS" => monitor::compiled_statements(&mut rows),
        "MON$CONTEXT_VARIABLES" => monitor::context_variables(&mut rows),
        "MON$MEMORY_USAGE" => monitor::memory_usage(&mut rows),
        "FARBIRD$BACKUPS" => watch::backups(&mut rows),
        "FARBIRD$FIGURES" => watch::figures(&mut rows),
        "FARBIRD$LOCKS" => watch::locks(&mut rows),
        "FARBIRD$LOCK_WAITS" => watch::lock_waits(&mut rows),
        "FARBIRD$SERVER" => tables::server(&mut rows),
        "FARBIRD$TRANSACTIONS" => watch::transactions(&mut rows),
        "FARBIRD$TEMPORARY_SPACE" => monitor::temporary_space(&mut rows),
        "MON$IO_STATS" => counters::pages(&mut rows),
        "MON$RECORD_STATS" => counters::records(&mut rows),
        "MON$TABLE_STATS" => counters::tables(&mut rows),
        _ => {}
    }
    rows.finish()
}
