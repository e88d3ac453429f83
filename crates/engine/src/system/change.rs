//! UPDATE of system tables: nothing can be changed but sources of definitions, which NULL hides from everybody. What they define
//! goes on as it was; ALTER brings a source that shows.
//!
//! Uses `ddl`, which changes the definitions. Source: Firebird 5.0.4, src/jrd/vio.cpp (`check_nullify_source`), and its answers.

use farbird_types::{Error, Result, Value, isc};

use crate::catalog::Relation;
use crate::catalog::system_tables::{is_live, refuse_change, source_columns};
use crate::ddl::hidden_source::{self, Hidden};
use crate::expression::ExecutionContext;

/// Changes the row of a system table.
///
/// # Errors
/// `read_only` for tables about the live server; `protect_sys_tab` unless an administrator sets a source to NULL, and nothing else.
pub(crate) fn change(
    context: &mut ExecutionContext<'_>,
    relation: &Relation,
    old: &[Value],
    new: &[Value],
) -> Result<()> {
    if is_live(relation) {
        return Err(Error::new(isc::READ_ONLY));
    }
    let refused = || refuse_change("UPDATE", &relation.name);
    let sources = source_columns(relation);
    let mut hidden = Vec::new();
    for column in &relation.columns {
        let slot = usize::from(column.field_id);
        let (before, after) = (old.get(slot), new.get(slot));
        if before == after {
            continue;
        }
        match after {
            Some(Value::Null) if sources.contains(&column.name.as_str()) => hidden.push(column.name.as_str()),
            _ => return Err(refused()),
        }
    }
    let is_administrator = context.actor().is_administrator(&context.transaction.current_catalog());
    if hidden.is_empty() || !is_administrator {
        return Err(refused());
    }
    let text = |column: &str| match relation.column(column).and_then(|it| old.get(usize::from(it.field_id))) {
        Some(Value::Text(text)) => text.decode_lossy().trim_end().to_owned(),
        _ => String::new(),
    };
    let object = match relation.name.as_str() {
        "RDB$RELATIONS" => Hidden::View(text("RDB$RELATION_NAME")),
        "RDB$TRIGGERS" => Hidden::Trigger(text("RDB$TRIGGER_NAME")),
        "RDB$PROCEDURES" => Hidden::Procedure(text("RDB$PROCEDURE_NAME")),
        "RDB$FUNCTIONS" => Hidden::Function(text("RDB$FUNCTION_NAME")),
        _ => Hidden::Package {
            name: text("RDB$PACKAGE_NAME"),
            header: hidden.contains(&"RDB$PACKAGE_HEADER_SOURCE"),
            body: hidden.contains(&"RDB$PACKAGE_BODY_SOURCE"),
        },
    };
    match hidden_source::hide(context, object)? {
        true => Ok(()),
        false => Err(refused()),
    }
}
