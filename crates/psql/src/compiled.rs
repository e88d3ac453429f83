//! The routines of the catalog, compiled when they are first wanted.

use std::sync::Arc;

use farbird_catalog::triggers::{TriggerMoment, triggers_at};
use farbird_catalog::{Catalog, Relation, Routine, Trigger};
use farbird_sql::ast::TriggerAction;
use farbird_types::{Error, Result, isc};

use crate::cache::{Key, RoutineCache};
use crate::compile;
use crate::routine::CompiledRoutine;

pub(super) fn compiled_function(catalog: &Arc<Catalog>, function: &Routine) -> Result<Arc<CompiledRoutine>> {
    let key = Key::Function(function.id, function.is_system());
    first(catalog.made.get::<RoutineCache>().routines(catalog.version, key, || {
        Ok(vec![Arc::new(compile::compile_function(catalog, function)?)])
    })?)
}

fn first(routines: Arc<[Arc<CompiledRoutine>]>) -> Result<Arc<CompiledRoutine>> {
    routines.first().cloned().ok_or_else(|| Error::new(isc::WISH_LIST))
}

pub(super) fn compiled_procedure(
    catalog: &Arc<Catalog>,
    procedure: &Routine,
) -> Result<Arc<CompiledRoutine>> {
    let key = Key::Procedure(procedure.id, procedure.is_system());
    first(catalog.made.get::<RoutineCache>().routines(catalog.version, key, || {
        Ok(vec![Arc::new(compile::compile_procedure(catalog, procedure, true)?)])
    })?)
}

/// The triggers of a relation for a moment, compiled, in the order in which they fire.
pub(super) fn compiled_triggers(
    catalog: &Arc<Catalog>,
    relation: &Relation,
    moment: TriggerMoment,
    action: TriggerAction,
) -> Result<Arc<[Arc<CompiledRoutine>]>> {
    let number = moment as u8 * 3 + action as u8;
    catalog.made.get::<RoutineCache>().routines(catalog.version, Key::Triggers(relation.id, number), || {
        let fired = compile::Fired { is_before: moment == TriggerMoment::Before, action: Some(action) };
        in_order(triggers_at(catalog, &relation.name, moment, action))
            .into_iter()
            .map(|trigger| Ok(Arc::new(compile::compile_trigger(catalog, trigger, Some(relation), fired)?)))
            .collect()
    })
}

/// What needs to be allowed for calling a stored procedure, beside the right to call it.
///
/// # Errors
/// Those of compiling it.
pub(crate) fn procedure_needs(catalog: &Arc<Catalog>, procedure: &Routine) -> Result<Arc<CompiledRoutine>> {
    compiled_procedure(catalog, procedure)
}

/// As [`procedure_needs`], for a stored function.
///
/// # Errors
/// Those of compiling it.
pub(crate) fn function_needs(catalog: &Arc<Catalog>, function: &Routine) -> Result<Arc<CompiledRoutine>> {
    compiled_function(catalog, function)
}

/// As [`procedure_needs`], for the triggers that an action on a relation fires, in their order.
///
/// # Errors
/// Those of compiling them.
pub(crate) fn trigger_needs(
    catalog: &Arc<Catalog>,
    relation: &Relation,
    action: TriggerAction,
) -> Result<Vec<Arc<CompiledRoutine>>> {
    let mut needs = Vec::new();
    for moment in [TriggerMoment::Before, TriggerMoment::After] {
        needs.extend(compiled_triggers(catalog, relation, moment, action)?.iter().cloned());
    }
    Ok(needs)
}

pub(super) fn in_order<'c>(triggers: impl Iterator<Item = &'c Arc<Trigger>>) -> Vec<&'c Arc<Trigger>> {
    let mut triggers: Vec<&Arc<Trigger>> = triggers.collect();
    triggers.sort_by(|left, right| (left.position, &left.name).cmp(&(right.position, &right.name)));
    triggers
}
