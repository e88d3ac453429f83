//! What a statement needs to be allowed, with everything that it calls and fires.
//!
//! Firebird asks before a statement runs: for what the statement names, and for whatever the routines use that it may
//! call and the triggers that it may fire, however deep, whether control gets there or not. For each use there is
//! - somebody in whose name it happens: whoever runs the statement; in a view the view's owner; in routines, triggers
//!   and tables of SQL SECURITY DEFINER their owner, and from there on downwards;
//! - a routine or trigger that does it: what was granted to that counts as well.
//!
//! Triggers need nothing to look at their own table.
//!
//! Source: Firebird 5's answers (`crates/farbird/tests/privileges`).

use std::collections::BTreeSet;
use std::sync::Arc;

use farbird_catalog::privileges::{Actor, Grantee, check};
use farbird_catalog::{Access, AccessPrivilege, Catalog, ObjectKind, Relation, Routine};
use farbird_sql::ast::TriggerAction;
use farbird_types::Result;

use crate::compiled;
use crate::routine::CompiledRoutine;

/// Checks everything that a statement needs.
///
/// `actor` is whoever runs it, `caller` the routine whose EXECUTE STATEMENT ... WITH CALLER PRIVILEGES it is.
///
/// # Errors
/// `isc_no_priv` for the first thing that is not allowed.
pub fn verify(
    catalog: &Arc<Catalog>,
    actor: &Actor,
    caller: Option<Grantee<'_>>,
    accesses: &[Access],
) -> Result<()> {
    let mut callees = BTreeSet::new();
    collect(catalog, accesses, None, &mut callees);
    for callee in &callees {
        verify_callee(catalog, actor, callee)?;
    }
    // CHECK constraints are triggers in Firebird: theirs come first.
    let (checks, own): (Vec<&Access>, Vec<&Access>) =
        accesses.iter().partition(|access| access.check.is_some());
    for access in in_order(catalog, checks.into_iter()).into_iter().chain(in_order(catalog, own.into_iter()))
    {
        check(catalog, &in_name_of(catalog, actor, access, None), caller, access)?;
    }
    Ok(())
}

/// A routine that is called, or the triggers that an action on a relation fires: in the order in which Firebird asks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Callee {
    kind: CalleeKind,
    /// RDB$PROCEDURE_ID, RDB$FUNCTION_ID or RDB$RELATION_ID.
    id: u32,
    /// The view through which rows are changed.
    view: Option<String>,
    /// In whose name it works, if not in that of whoever runs the statement.
    user: Option<String>,
    /// The package of a routine.
    package: Option<String>,
    name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CalleeKind {
    Procedure,
    Function,
    Insert,
    Update,
    Delete,
}

/// What an access calls or fires.
fn callee_of(catalog: &Catalog, access: &Access, user: Option<&str>) -> Option<Callee> {
    let routine = |kind, routine: &Arc<Routine>| Callee {
        kind,
        id: routine.id,
        view: None,
        package: routine.package.clone(),
        user: match catalog.is_definer(routine.sql_security_definer) {
            true => Some(routine.owner.clone()),
            false => user.map(str::to_owned),
        },
        name: routine.name.clone(),
    };
    let kind = match (access.kind, access.privilege) {
        (ObjectKind::Procedure, AccessPrivilege::Execute) => {
            return catalog.procedures.get(&access.object).map(|it| routine(CalleeKind::Procedure, it));
        }
        (ObjectKind::Function, AccessPrivilege::Execute) => {
            return catalog.functions.get(&access.object).map(|it| routine(CalleeKind::Function, it));
        }
        (ObjectKind::Package, AccessPrivilege::Execute) => {
            let (kind, name) = access.routine.as_ref()?;
            let package = Some(access.object.as_str());
            return match kind {
                ObjectKind::Procedure => {
                    catalog.procedure(package, name).map(|it| routine(CalleeKind::Procedure, it))
                }
                _ => catalog.function(package, name).map(|it| routine(CalleeKind::Function, it)),
            };
        }
        (ObjectKind::Relation, AccessPrivilege::Insert) => CalleeKind::Insert,
        (ObjectKind::Relation, AccessPrivilege::Update) if access.column.is_none() => CalleeKind::Update,
        (ObjectKind::Relation, AccessPrivilege::Delete) => CalleeKind::Delete,
        _ => return None,
    };
    let relation = catalog.relation(&access.object)?;
    let is_definer = catalog.is_definer(relation.sql_security_definer);
    Some(Callee {
        kind,
        id: relation.id.0,
        // The triggers of a view work in its owner's name.
        view: access.owner_of.clone().or_else(|| relation.is_view().then(|| relation.name.clone())),
        user: if is_definer { Some(relation.owner.clone()) } else { user.map(str::to_owned) },
        package: None,
        name: relation.name.clone(),
    })
}

/// What a callee uses. A routine that cannot be compiled uses nothing: it does not run either.
fn needs(catalog: &Arc<Catalog>, callee: &Callee) -> Vec<Arc<CompiledRoutine>> {
    let triggers = |action| match catalog.relation(&callee.name) {
        Some(relation) => compiled::trigger_needs(catalog, relation, action),
        None => Ok(Vec::new()),
    };
    let needs = match callee.kind {
        CalleeKind::Procedure => catalog
            .procedure(callee.package.as_deref(), &callee.name)
            .map_or(Ok(Vec::new()), |it| compiled::procedure_needs(catalog, it).map(|it| vec![it])),
        CalleeKind::Function => catalog
            .function(callee.package.as_deref(), &callee.name)
            .map_or(Ok(Vec::new()), |it| compiled::function_needs(catalog, it).map(|it| vec![it])),
        CalleeKind::Insert => triggers(TriggerAction::Insert),
        CalleeKind::Update => triggers(TriggerAction::Update),
        CalleeKind::Delete => triggers(TriggerAction::Delete),
    };
    needs.unwrap_or_default()
}

/// Gathers everything that is called and fired, each once for everybody in whose name it works.
fn collect(catalog: &Arc<Catalog>, accesses: &[Access], user: Option<&str>, callees: &mut BTreeSet<Callee>) {
    for callee in accesses.iter().filter_map(|access| callee_of(catalog, access, user)) {
        if !callees.insert(callee.clone()) {
            continue;
        }
        for needed in needs(catalog, &callee) {
            let trigger = match callee.kind {
                CalleeKind::Procedure | CalleeKind::Function => None,
                _ => catalog.triggers.get(needed.name()).and_then(|trigger| catalog.definer_of(trigger)),
            };
            collect(catalog, needed.accesses(), trigger.or(callee.user.as_deref()), callees);
        }
    }
}

fn verify_callee(catalog: &Arc<Catalog>, actor: &Actor, callee: &Callee) -> Result<()> {
    let view = callee.view.as_deref().and_then(|view| catalog.relation(view));
    for needed in needs(catalog, callee) {
        let grantee = needed.grantee();
        let is_trigger = !matches!(callee.kind, CalleeKind::Procedure | CalleeKind::Function);
        let definer = match is_trigger {
            true => catalog.triggers.get(needed.name()).and_then(|trigger| catalog.definer_of(trigger)),
            false => None,
        };
        let user = definer.or_else(|| view.map(|view| view.owner.as_str())).or(callee.user.as_deref());
        let own = |access: &&Access| {
            is_trigger && access.kind == ObjectKind::Relation && access.object == callee.name
        };
        for access in in_order(catalog, needed.accesses().iter().filter(|access| !own(access))) {
            check(catalog, &in_name_of(catalog, actor, access, user), grantee, access)?;
        }
    }
    Ok(())
}

/// In whose name a use happens: that of a view's owner, of `user`, or of whoever runs the statement.
fn in_name_of(catalog: &Catalog, actor: &Actor, access: &Access, user: Option<&str>) -> Actor {
    let owner = access.owner_of.as_deref().and_then(|relation| catalog.relation(relation));
    match owner.map(|relation| relation.owner.as_str()).or(user) {
        Some(user) => actor.in_name_of(user),
        None => actor.clone(),
    }
}

/// Uses in the order in which Firebird asks for them: as objects were made, as far as that can be told.
fn in_order<'a>(catalog: &Catalog, accesses: impl Iterator<Item = &'a Access>) -> Vec<&'a Access> {
    let number = |access: &Access| match access.kind {
        ObjectKind::Relation => catalog.relation(&access.object).map_or(0, |it: &Arc<Relation>| it.id.0),
        _ => 0,
    };
    let mut ordered: Vec<&Access> = accesses.collect();
    ordered.sort_by_key(|access| {
        (access.kind, number(access), access.column.is_some(), access.privilege, access.object.as_str())
    });
    ordered.dedup();
    ordered
}
