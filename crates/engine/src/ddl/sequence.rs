//! Sequences: CREATE, ALTER, SET GENERATOR. Their values are outside of transactions, as Firebird's are.

use std::sync::Arc;

use farbird_sql::ast::{DefineMode, DefineSequence, Restart};
use farbird_store::SequenceId as StoreSequence;
use farbird_types::Result;

use crate::catalog::privileges::DdlAction;
use crate::catalog::{CatalogObject, ObjectKind, Sequence, system_sequence};
use crate::ddl::editor::Editor;
use crate::ddl::{drop, error, rights};

/// CREATE | ALTER | CREATE OR ALTER | RECREATE SEQUENCE, SET GENERATOR.
pub(super) fn define(editor: &mut Editor<'_, '_>, ast: &DefineSequence) -> Result<()> {
    let name = ast.name.as_str();
    if system_sequence(name).is_some() {
        return Err(match ast.mode {
            DefineMode::Create => error::sequence_exists(name),
            DefineMode::Recreate => error::cannot_drop_system_sequence(name),
            DefineMode::Alter | DefineMode::CreateOrAlter => error::cannot_change_system_sequence(name),
        });
    }
    let existing = editor.catalog().sequences.get(name).cloned();
    match (ast.mode, existing) {
        (DefineMode::Alter, None) => Err(error::sequence_not_found(name)),
        (DefineMode::Alter | DefineMode::CreateOrAlter, Some(existing)) => alter(editor, ast, &existing),
        (DefineMode::Create, Some(_)) => Err(error::sequence_exists(name)),
        (DefineMode::Recreate, Some(existing)) => {
            drop::drop_sequence(editor, &existing)?;
            create(editor, ast)
        }
        (DefineMode::Create | DefineMode::CreateOrAlter | DefineMode::Recreate, None) => create(editor, ast),
    }
}

fn create(editor: &mut Editor<'_, '_>, ast: &DefineSequence) -> Result<()> {
    let name = ast.name.as_str();
    rights::check_ddl(editor.context, ObjectKind::Sequence, DdlAction::Create, name)?;
    let increment = ast.increment.unwrap_or(1);
    if increment == 0 {
        return Err(error::zero_increment(name));
    }
    let sequence = Sequence {
        id: editor.counters().sequence_id()?,
        name: name.to_owned(),
        owner: editor.user().to_owned(),
        initial_value: ast.start.unwrap_or(1),
        increment,
        system: false,
        description: None,
    };
    set_next_value(editor, &sequence, sequence.initial_value)?;
    editor.put(CatalogObject::Sequence(Arc::new(sequence)))
}

fn alter(editor: &mut Editor<'_, '_>, ast: &DefineSequence, existing: &Arc<Sequence>) -> Result<()> {
    let name = existing.name.as_str();
    rights::check_ddl(editor.context, ObjectKind::Sequence, DdlAction::Alter, name)?;
    let mut sequence = Sequence::clone(existing);
    if let Some(increment) = ast.increment {
        if increment == 0 {
            return Err(error::zero_increment(name));
        }
        sequence.increment = increment;
    }
    if let Some(start) = ast.start {
        sequence.initial_value = start;
    }
    // CREATE OR ALTER ... START WITH begins anew there; what only changes the increment goes on from where it is.
    let begun_anew = ast.start.filter(|_| ast.restart.is_none()).map(Restart::With);
    restart(editor, &sequence, ast.restart.or(begun_anew), ast.set_generator)?;
    if sequence != **existing {
        editor.put(CatalogObject::Sequence(Arc::new(sequence)))?;
    }
    Ok(())
}

/// RESTART [WITH n] says what comes next; SET GENERATOR what came last.
pub(super) fn restart(
    editor: &Editor<'_, '_>,
    sequence: &Sequence,
    restart: Option<Restart>,
    is_current_value: bool,
) -> Result<()> {
    match restart {
        None => Ok(()),
        Some(Restart::With(value)) if is_current_value => set_value(editor, sequence, value),
        Some(Restart::With(value)) => set_next_value(editor, sequence, value),
        Some(Restart::Initial) => set_next_value(editor, sequence, sequence.initial_value),
    }
}

/// Makes `value` the one that NEXT VALUE FOR gives next.
pub(super) fn set_next_value(editor: &Editor<'_, '_>, sequence: &Sequence, value: i64) -> Result<()> {
    set_value(editor, sequence, value.wrapping_sub(i64::from(sequence.increment)))
}

fn set_value(editor: &Editor<'_, '_>, sequence: &Sequence, value: i64) -> Result<()> {
    Ok(editor.context.database.store.sequence_set(StoreSequence(sequence.id.0), value)?)
}
