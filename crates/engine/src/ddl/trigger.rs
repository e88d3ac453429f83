//! Triggers: when they fire, and their texts.

use std::sync::Arc;

use farbird_sql::ast::{DatabaseEvent, DefineMode, DefineTrigger, TriggerAction, TriggerEvent};
use farbird_types::{Error, Result, isc};

use crate::catalog::privileges::DdlAction;
use crate::catalog::{CatalogObject, ObjectKind, RelationKind, Trigger};
use crate::ddl::editor::Editor;
use crate::ddl::signature::{body_of, definer_after, start_of};
use crate::ddl::{error, rights};
use crate::psql;

/// RDB$TRIGGER_TYPE of the database's triggers is counted from here.
const DATABASE_TRIGGER: u64 = 1 << 13;

/// CREATE | ALTER | CREATE OR ALTER | RECREATE TRIGGER.
pub(super) fn define(editor: &mut Editor<'_, '_>, ast: &DefineTrigger) -> Result<()> {
    let name = ast.name.as_str();
    let catalog = editor.catalog();
    if catalog.has_constraint_trigger(name) {
        return Err(Error::new(isc::DYN_CANT_MODIFY_AUTO_TRIG));
    }
    let existing = catalog.triggers.get(name);
    match (ast.mode, existing) {
        (DefineMode::Alter, None) => Err(Error::new(isc::DYN_TRIG_NOT_FOUND).with(name)),
        (DefineMode::Create, Some(_)) => Err(error::trigger_exists(name)),
        (DefineMode::Alter, Some(existing)) => alter(editor, ast, existing),
        (DefineMode::CreateOrAlter | DefineMode::Recreate, Some(existing)) => {
            rights::check_ddl(editor.context, ObjectKind::Trigger, DdlAction::Alter, name)?;
            let mut trigger = new_trigger(editor, ast)?;
            if ast.mode == DefineMode::CreateOrAlter && existing.relation.is_none() {
                check_type_stays(existing, trigger.trigger_type)?;
            }
            if ast.mode == DefineMode::CreateOrAlter {
                trigger.description.clone_from(&existing.description);
            }
            store(editor, trigger)
        }
        (_, None) => {
            let trigger = new_trigger(editor, ast)?;
            store(editor, trigger)
        }
    }
}

fn new_trigger(editor: &Editor<'_, '_>, ast: &DefineTrigger) -> Result<Trigger> {
    let event =
        ast.event.as_ref().ok_or_else(|| Error::new(isc::DYN_INVALID_DDL_TRIG).with(ast.name.as_str()))?;
    let relation = match event {
        TriggerEvent::Relation { relation, .. } => relation.as_ref().map(|name| name.as_str().to_owned()),
        _ => None,
    };
    match &relation {
        Some(relation) => check_relation(editor, relation)?,
        None => rights::check_triggers_of(editor.context, None)?,
    }
    if let Some(definition) = &ast.definition {
        body_of(definition)?;
    }
    Ok(Trigger {
        name: ast.name.as_str().to_owned(),
        relation,
        trigger_type: trigger_type(event),
        position: ast.order.unwrap_or(0),
        inactive: ast.active == Some(false),
        source: ast.source.text.clone(),
        source_start: start_of(&ast.source),
        source_hidden: false,
        sql_security_definer: ast.sql_security.and_then(definer_after),
        description: None,
    })
}

/// The table or view must be there, be the user's, and no system table.
fn check_relation(editor: &Editor<'_, '_>, name: &str) -> Result<()> {
    match editor.catalog().relation(name) {
        None => Err(Error::new(isc::DSQL_ERROR)
            .and(isc::SQLERR)
            .with(-204)
            .and(isc::DSQL_RELATION_ERR)
            .and(isc::RANDOM)
            .with(name)
            // A place without a place: Firebird's.
            .and(isc::DSQL_LINE_COL_ERROR)
            .with(0)
            .with(0)),
        Some(relation) if relation.kind == RelationKind::System => {
            Err(Error::new(isc::NO_PRIV).with("ALTER").with("TABLE").with(name))
        }
        Some(_) => rights::check_triggers_of(editor.context, Some(name)),
    }
}

fn alter(editor: &mut Editor<'_, '_>, ast: &DefineTrigger, existing: &Arc<Trigger>) -> Result<()> {
    rights::check_ddl(editor.context, ObjectKind::Trigger, DdlAction::Alter, &existing.name)?;
    let mut trigger = Trigger::clone(existing);
    if let Some(event) = &ast.event {
        if trigger.relation.is_none() {
            check_type_stays(existing, trigger_type(event))?;
        }
        trigger.trigger_type = trigger_type(event);
    }
    if let Some(active) = ast.active {
        trigger.inactive = !active;
    }
    if let Some(position) = ast.order {
        trigger.position = position;
    }
    if let Some(change) = ast.sql_security {
        trigger.sql_security_definer = definer_after(change);
    }
    if let Some(definition) = &ast.definition {
        body_of(definition)?;
        trigger.source.clone_from(&ast.source.text);
        trigger.source_start = start_of(&ast.source);
        trigger.source_hidden = false;
    }
    store(editor, trigger)
}

/// The triggers of the database and of definitions keep what they watch.
fn check_type_stays(existing: &Trigger, trigger_type: u64) -> Result<()> {
    match existing.trigger_type == trigger_type {
        true => Ok(()),
        false => Err(Error::new(isc::DSQL_COMMAND_ERR).and(isc::DSQL_DB_TRIGGER_TYPE_CANT_CHANGE)),
    }
}

fn store(editor: &mut Editor<'_, '_>, trigger: Trigger) -> Result<()> {
    let trigger = Arc::new(trigger);
    editor.put(CatalogObject::Trigger(Arc::clone(&trigger)))?;
    psql::check_trigger(&editor.catalog(), &trigger)
        .map_err(|failure| error::in_statement(failure, trigger.source_start))
}

/// RDB$TRIGGER_TYPE: the moment in the lowest bit, then two bits for each action in the order of the text; less one.
fn trigger_type(event: &TriggerEvent) -> u64 {
    match event {
        TriggerEvent::Relation { after, actions, .. } => {
            let coded = actions.iter().enumerate().fold(u64::from(*after), |coded, (place, action)| {
                let action: u64 = match action {
                    TriggerAction::Insert => 1,
                    TriggerAction::Update => 2,
                    TriggerAction::Delete => 3,
                };
                coded | action << (1 + 2 * place)
            });
            coded.saturating_sub(1)
        }
        TriggerEvent::Database(event) => {
            DATABASE_TRIGGER
                + match event {
                    DatabaseEvent::Connect => 0,
                    DatabaseEvent::Disconnect => 1,
                    DatabaseEvent::TransactionStart => 2,
                    DatabaseEvent::TransactionCommit => 3,
                    DatabaseEvent::TransactionRollback => 4,
                }
        }
        TriggerEvent::Ddl { after, events } => events.trigger_type(*after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trigger_types_are_firebirds() {
        let of = |after, actions: &[TriggerAction]| {
            trigger_type(&TriggerEvent::Relation { after, actions: actions.to_vec(), relation: None })
        };
        assert_eq!(of(false, &[TriggerAction::Insert]), 1);
        assert_eq!(of(true, &[TriggerAction::Insert]), 2);
        assert_eq!(of(false, &[TriggerAction::Update]), 3);
        assert_eq!(of(true, &[TriggerAction::Delete]), 6);
        assert_eq!(of(false, &[TriggerAction::Insert, TriggerAction::Update]), 17);
        let all = [TriggerAction::Insert, TriggerAction::Update, TriggerAction::Delete];
        assert_eq!(of(true, &all), 114);
    }
}
