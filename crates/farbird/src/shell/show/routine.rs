//! Procedures, functions, triggers and packages, with their sources.

use farbird_sql::ast::DdlEvents;
use farbird_types::{Error, Value};

use super::type_name::{TYPE_COLUMN_COUNT, TYPE_COLUMNS, type_joins, type_name};
use super::{CatalogRow, Section, cell, rows};
use crate::session::Session;

/// A procedure: its parameters and source.
pub(super) fn procedure(session: &mut dyn Session, name: &str) -> Result<Vec<Section>, Error> {
    let head = "select rdb$procedure_source from rdb$procedures
        where rdb$procedure_name = ? and rdb$package_name is null";
    let Some(found) = rows(session, head, &[name])?.into_iter().next() else { return Ok(Vec::new()) };
    let sql = format!(
        "select {TYPE_COLUMNS}, p.rdb$parameter_name, p.rdb$parameter_type
        from rdb$procedure_parameters p join rdb$fields f on f.rdb$field_name = p.rdb$field_source {}
        where p.rdb$procedure_name = ? and p.rdb$package_name is null
        order by p.rdb$parameter_type, p.rdb$parameter_number",
        type_joins("coalesce(p.rdb$collation_id, f.rdb$collation_id)")
    );
    let shown = |row: &CatalogRow| {
        let direction = if row.number(TYPE_COLUMN_COUNT + 1) == 0 { "in" } else { "out" };
        vec![cell(row.text(TYPE_COLUMN_COUNT)), cell(direction), cell(type_name(row))]
    };
    let parameters: Vec<Vec<Value>> = rows(session, &sql, &[name])?.iter().map(shown).collect();
    Ok(routine("Procedure", name, parameters, &found.text(0)))
}

/// A function: its arguments and source.
pub(super) fn function(session: &mut dyn Session, name: &str) -> Result<Vec<Section>, Error> {
    let head =
        "select rdb$function_source, rdb$return_argument, rdb$module_name, rdb$entrypoint from rdb$functions
        where rdb$function_name = ? and rdb$package_name is null";
    let Some(found) = rows(session, head, &[name])?.into_iter().next() else { return Ok(Vec::new()) };
    if !found.text(2).is_empty() {
        return external_function(session, name, &found);
    }
    let sql = format!(
        "select {TYPE_COLUMNS}, a.rdb$argument_name, a.rdb$argument_position
        from rdb$function_arguments a join rdb$fields f on f.rdb$field_name = a.rdb$field_source {}
        where a.rdb$function_name = ? and a.rdb$package_name is null order by a.rdb$argument_position",
        type_joins("coalesce(a.rdb$collation_id, f.rdb$collation_id)")
    );
    let returned = found.number(1);
    let shown = |row: &CatalogRow| {
        let direction = if row.number(TYPE_COLUMN_COUNT + 1) == returned { "returned" } else { "in" };
        vec![cell(row.text(TYPE_COLUMN_COUNT)), cell(direction), cell(type_name(row))]
    };
    let arguments: Vec<Vec<Value>> = rows(session, &sql, &[name])?.iter().map(shown).collect();
    Ok(routine("Function", name, arguments, &found.text(0)))
}

/// An external function, of `head`: its arguments have types, but no names.
fn external_function(
    session: &mut dyn Session,
    name: &str,
    head: &CatalogRow,
) -> Result<Vec<Section>, Error> {
    let sql = format!(
        "select {TYPE_COLUMNS}, f.rdb$argument_position
        from (select rdb$argument_position, rdb$field_type, rdb$field_sub_type, rdb$field_scale, rdb$field_length,
            rdb$character_length, rdb$field_precision, rdb$character_set_id, rdb$collation_id,
            cast(null as smallint) as rdb$segment_length
            from rdb$function_arguments where rdb$function_name = ? and rdb$package_name is null) f {}
        order by f.rdb$argument_position",
        type_joins("f.rdb$collation_id")
    );
    let returned = head.number(1);
    let shown = |row: &CatalogRow| {
        let direction = if row.number(TYPE_COLUMN_COUNT) == returned { "returned" } else { "in" };
        vec![cell(direction), cell(type_name(row))]
    };
    let arguments: Vec<Vec<Value>> = rows(session, &sql, &[name])?.iter().map(shown).collect();
    Ok(vec![
        Section::Title(format!("External function {name}")),
        Section::Table { heads: &["DIRECTION", "TYPE"], rows: arguments },
        Section::Text(format!("Entry point {} of {}", head.text(3), head.text(2))),
    ])
}

fn routine(kind: &str, name: &str, parameters: Vec<Vec<Value>>, source: &str) -> Vec<Section> {
    let mut shown = vec![Section::Title(format!("{kind} {name}"))];
    if !parameters.is_empty() {
        shown.push(Section::Table { heads: &["PARAMETER", "DIRECTION", "TYPE"], rows: parameters });
    }
    shown.push(Section::Title("Source".to_owned()));
    shown.push(Section::Text(source.to_owned()));
    shown
}

/// A package: its header and body.
pub(super) fn package(session: &mut dyn Session, name: &str) -> Result<Vec<Section>, Error> {
    let sql = "select rdb$package_header_source, rdb$package_body_source from rdb$packages
        where rdb$package_name = ?";
    let Some(found) = rows(session, sql, &[name])?.into_iter().next() else { return Ok(Vec::new()) };
    Ok(vec![
        Section::Title(format!("Package {name}")),
        Section::Text(found.text(0)),
        Section::Title("Body".to_owned()),
        Section::Text(found.text(1)),
    ])
}

const TRIGGER_COLUMNS: &str = "select rdb$trigger_name, rdb$relation_name, rdb$trigger_type,
    coalesce(rdb$trigger_sequence, 0), coalesce(rdb$trigger_inactive, 0)";

/// Triggers, of one table or of all and of the database.
pub(super) fn triggers(session: &mut dyn Session, table: Option<&str>) -> Result<Vec<Section>, Error> {
    let condition = if table.is_some() { "and rdb$relation_name = ?" } else { "" };
    let sql = format!(
        "{TRIGGER_COLUMNS} from rdb$triggers where coalesce(rdb$system_flag, 0) = 0 {condition} order by 2, 3, 4, 1"
    );
    let names: Vec<&str> = table.into_iter().collect();
    let found: Vec<Vec<Value>> = rows(session, &sql, &names)?.iter().map(trigger_row).collect();
    let heads = &["TRIGGER_NAME", "ON", "WHEN", "POSITION", "STATE"];
    Ok(if found.is_empty() { Vec::new() } else { vec![Section::Table { heads, rows: found }] })
}

fn trigger_row(row: &CatalogRow) -> Vec<Value> {
    vec![
        cell(row.text(0)),
        cell(if row.is_null(1) { "database".to_owned() } else { row.text(1) }),
        cell(trigger_event(row.number(2))),
        Value::integer(row.number(3)),
        cell(if row.number(4) == 0 { "active" } else { "inactive" }),
    ]
}

/// A trigger with its source.
pub(super) fn trigger(session: &mut dyn Session, name: &str) -> Result<Vec<Section>, Error> {
    let sql = format!("{TRIGGER_COLUMNS}, rdb$trigger_source from rdb$triggers where rdb$trigger_name = ?");
    let found = rows(session, &sql, &[name])?;
    if found.is_empty() {
        // The name may be a table's.
        return triggers(session, Some(name));
    }
    let source = found.first().map(|row| row.text(5)).unwrap_or_default();
    Ok(vec![
        Section::Table {
            heads: &["TRIGGER_NAME", "ON", "WHEN", "POSITION", "STATE"],
            rows: found.iter().map(trigger_row).collect(),
        },
        Section::Title("Source".to_owned()),
        Section::Text(source),
    ])
}

/// When a trigger of a type fires. Source: Firebird's language reference, RDB$TRIGGERS.
fn trigger_event(number: i64) -> String {
    match number {
        8192 => return "ON CONNECT".to_owned(),
        8193 => return "ON DISCONNECT".to_owned(),
        8194 => return "ON TRANSACTION START".to_owned(),
        8195 => return "ON TRANSACTION COMMIT".to_owned(),
        8196 => return "ON TRANSACTION ROLLBACK".to_owned(),
        _ => {}
    }
    if let Some((after, events)) = u64::try_from(number).ok().and_then(DdlEvents::of_trigger_type) {
        return format!("{} {events}", if after { "AFTER" } else { "BEFORE" });
    }
    // One more than the type is two bits for each event above one bit for the phase.
    let code = number + 1;
    let phase = if code & 1 == 0 { "BEFORE" } else { "AFTER" };
    let events: Vec<&str> = [1, 3, 5]
        .iter()
        .filter_map(|shift| match (code >> shift) & 3 {
            1 => Some("INSERT"),
            2 => Some("UPDATE"),
            3 => Some("DELETE"),
            _ => None,
        })
        .collect();
    format!("{phase} {}", events.join(" OR "))
}

#[cfg(test)]
mod tests {
    use super::trigger_event;

    #[test]
    fn events_are_told_by_the_numbers_of_their_types() {
        for (number, event) in [
            (1, "BEFORE INSERT"),
            (2, "AFTER INSERT"),
            (3, "BEFORE UPDATE"),
            (6, "AFTER DELETE"),
            (17, "BEFORE INSERT OR UPDATE"),
            (114, "AFTER INSERT OR UPDATE OR DELETE"),
            (8194, "ON TRANSACTION START"),
            (16_394, "BEFORE CREATE TABLE OR DROP TABLE"),
            (i64::MAX - 0x2000, "AFTER ANY DDL STATEMENT"),
        ] {
            assert_eq!(trigger_event(number), event, "{number}");
        }
    }
}
