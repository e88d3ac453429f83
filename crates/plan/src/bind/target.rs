//! The table that a statement changes: its columns, defaults, constraints and references, bound once.

use std::sync::{Arc, OnceLock};

use farbird_catalog::layout::is_maintained;
use farbird_catalog::{
    Access, Column, ConstraintKind, Index, ReferentialAction, Relation, RelationKind, Trigger,
};
use farbird_expression::BoundExpression;
use farbird_types::{Error, Result, SqlType, isc};

use crate::bind::alone::{bind_alone, bind_domain_check, bind_row_expression};
use crate::bind::function::parse_default_source;
use crate::bind::namespace::is_not_null;
use crate::bind::prepared::NoVariables;
use crate::bound::environment::Environment;
use crate::modification::{
    CheckRule, ForeignKeyRule, ReferenceRule, Target, TargetColumn, TriggerPresence, UniqueName,
};

/// The table that a statement changes, with everything that holds for its rows.
///
/// # Errors
/// Those of binding its defaults and constraints.
pub fn table_target(environment: &Environment, relation: &Arc<Relation>) -> Result<Target> {
    let lost = |index: &&Index| !index.inactive && !is_maintained(relation, index);
    if let Some(index) = relation.indexes.iter().find(lost) {
        let said = format!("index {} cannot be kept up to date: drop it, or make it inactive", index.name);
        return Err(Error::new(isc::RANDOM).with(said));
    }
    let slots = slot_count(relation);
    let mut accesses = TargetAccesses::default();
    let mut columns: Vec<Option<TargetColumn>> = Vec::new();
    columns.resize_with(slots, || None);
    for column in &relation.columns {
        if let Some(place) = columns.get_mut(usize::from(column.field_id)) {
            *place = Some(target_column(environment, relation, column, &mut accesses)?);
        }
    }
    let checks = check_rules(environment, relation, &mut accesses)?;
    Ok(Target {
        layout: farbird_catalog::layout(relation),
        columns,
        checks,
        foreign_keys: foreign_keys(environment, relation),
        references: references(environment, relation),
        unique_names: unique_names(relation),
        triggers: trigger_presence(environment, relation),
        environment: environment.clone(),
        stored: !matches!(
            relation.kind,
            RelationKind::View { .. } | RelationKind::External { .. } | RelationKind::System
        ),
        relation: relation.clone(),
        insert_accesses: accesses.insert,
        update_accesses: accesses.update,
    })
}

/// What writing a row uses beside the table.
#[derive(Default)]
struct TargetAccesses {
    insert: Vec<Access>,
    update: Vec<Access>,
}

/// How many slots a row of a table has.
pub(crate) fn slot_count(relation: &Relation) -> usize {
    relation.formats.last().map_or(usize::from(relation.next_field_id), |format| format.fields.len())
}

fn target_column(
    environment: &Environment,
    relation: &Arc<Relation>,
    column: &Column,
    accesses: &mut TargetAccesses,
) -> Result<TargetColumn> {
    let domain = environment.catalog.domains.get(&column.domain);
    let default_source =
        column.default_source.as_ref().or_else(|| domain.and_then(|domain| domain.default_source.as_ref()));
    let default = match default_source {
        Some(source) => {
            let (default, used) = bind_default(environment, source, &column.sql_type)?;
            accesses.insert.extend(used);
            Some(default)
        }
        None => None,
    };
    let computed = match &column.computed_source {
        Some(source) => {
            let parsed = farbird_sql::parse_computed(source, &environment.parse_options())?;
            Some(bind_row_expression(environment, relation, &parsed.value, Some(&column.sql_type))?.0)
        }
        None => None,
    };
    let domain_check = match domain.and_then(|domain| domain.check_source.as_ref()) {
        Some(source) => {
            let parsed = farbird_sql::parse_check(source, &environment.parse_options())?;
            let (check, used) = bind_domain_check(environment, &column.sql_type, &parsed.condition)?;
            accesses.insert.extend(used.iter().cloned());
            accesses.update.extend(used);
            Some(check)
        }
        None => None,
    };
    let identity = column.identity.as_ref().and_then(|identity| {
        let sequence = environment.catalog.sequences.get(&identity.sequence)?;
        let id = farbird_store::SequenceId(sequence.id.0);
        Some((id, i64::from(sequence.increment), identity.always))
    });
    Ok(TargetColumn {
        name: column.name.clone(),
        sql_type: column.sql_type,
        not_null: is_not_null(environment, column),
        default,
        computed,
        identity,
        domain_check,
    })
}

fn bind_default(
    environment: &Environment,
    source: &str,
    sql_type: &SqlType,
) -> Result<(BoundExpression, Vec<Access>)> {
    let value = parse_default_source(source, &environment.parse_options())?;
    bind_alone(environment, &value, &NoVariables, Some(sql_type))
}

fn check_rules(
    environment: &Environment,
    relation: &Arc<Relation>,
    accesses: &mut TargetAccesses,
) -> Result<Vec<CheckRule>> {
    let definer = environment.catalog.is_definer(relation.sql_security_definer);
    let mut rules = Vec::new();
    for constraint in &relation.constraints {
        let ConstraintKind::Check { source } = &constraint.kind else { continue };
        let check = farbird_sql::parse_check(source, &environment.parse_options())?;
        let (condition, used) = bind_row_expression(environment, relation, &check.condition, None)?;
        // As a trigger of the table it needs nothing to look at the table itself.
        for access in used.into_iter().filter(|access| access.object != relation.name) {
            let by = |trigger: usize| Access {
                owner_of: access.owner_of.clone().or_else(|| definer.then(|| relation.name.clone())),
                check: constraint.triggers.get(trigger).cloned(),
                ..access.clone()
            };
            accesses.insert.push(by(0));
            accesses.update.push(by(1));
        }
        let trigger = |place: usize| match constraint.triggers.get(place) {
            Some(known) => known.clone(),
            None => check_trigger_name(environment, relation, &constraint.name),
        };
        rules.push(CheckRule {
            name: constraint.name.clone(),
            relation: relation.name.clone(),
            triggers: [trigger(0), trigger(1)],
            condition,
        });
    }
    Ok(rules)
}

/// The name of the system trigger by which Firebird's catalog holds a CHECK constraint: errors name it.
fn check_trigger_name(environment: &Environment, relation: &Relation, constraint: &str) -> String {
    // Firebird numbers these triggers over the whole database, two for each constraint (before INSERT and UPDATE).
    let mut number = 1;
    for other in environment.catalog.relations.values() {
        for known in &other.constraints {
            if matches!(known.kind, ConstraintKind::Check { .. }) {
                if other.name == relation.name && known.name == constraint {
                    return format!("CHECK_{number}");
                }
                number += 2;
            }
        }
    }
    format!("CHECK_{number}")
}

fn slots_of(relation: &Relation, names: &[String]) -> Vec<usize> {
    names.iter().filter_map(|name| relation.column(name)).map(|column| usize::from(column.field_id)).collect()
}

fn foreign_keys(environment: &Environment, relation: &Relation) -> Vec<ForeignKeyRule> {
    let mut rules = Vec::new();
    for constraint in &relation.constraints {
        let ConstraintKind::ForeignKey {
            index,
            referenced_relation,
            referenced_constraint,
            on_update,
            on_delete,
        } = &constraint.kind
        else {
            continue;
        };
        let Some(own) = relation.index(index) else { continue };
        let Some(parent) = environment.catalog.relations.get(referenced_relation) else { continue };
        let Some(key) = constraint_index(parent, referenced_constraint) else { continue };
        rules.push(ForeignKeyRule {
            name: constraint.name.clone(),
            slots: slots_of(relation, &own.columns),
            parent_layout: farbird_catalog::layout(parent),
            parent_index: farbird_store::IndexId(key.id.0),
            parent_types: key
                .columns
                .iter()
                .filter_map(|name| parent.column(name))
                .map(|column| column.sql_type)
                .collect(),
            parent: parent.clone(),
            may_cascade: parent.name == relation.name
                || [on_update, on_delete].into_iter().any(|action| *action != ReferentialAction::Restrict),
        });
    }
    rules
}

/// The index that holds a PRIMARY KEY or UNIQUE constraint.
fn constraint_index<'r>(relation: &'r Relation, constraint: &str) -> Option<&'r farbird_catalog::Index> {
    relation.constraints.iter().find(|known| known.name == constraint).and_then(|known| match &known.kind {
        ConstraintKind::PrimaryKey { index } | ConstraintKind::Unique { index } => relation.index(index),
        _ => None,
    })
}

fn references(environment: &Environment, relation: &Relation) -> Vec<ReferenceRule> {
    let mut rules = Vec::new();
    for child in environment.catalog.children_of(&relation.name) {
        for constraint in &child.constraints {
            let ConstraintKind::ForeignKey {
                index,
                referenced_relation,
                referenced_constraint,
                on_update,
                on_delete,
            } = &constraint.kind
            else {
                continue;
            };
            if *referenced_relation != relation.name {
                continue;
            }
            let Some(child_index) = child.index(index) else { continue };
            let Some(key) = constraint_index(relation, referenced_constraint) else { continue };
            let mut triggers = constraint.triggers.iter().cloned();
            let mut trigger_of =
                |action| if action == ReferentialAction::Restrict { None } else { triggers.next() };
            let (update_trigger, delete_trigger) = (trigger_of(*on_update), trigger_of(*on_delete));
            rules.push(ReferenceRule {
                name: constraint.name.clone(),
                slots: slots_of(relation, &key.columns),
                columns: key.columns.clone(),
                child: child.clone(),
                child_index: farbird_store::IndexId(child_index.id.0),
                child_slots: slots_of(child, &child_index.columns),
                on_update: *on_update,
                on_delete: *on_delete,
                update_trigger,
                delete_trigger,
                child_target: OnceLock::new(),
            });
        }
    }
    rules
}

fn unique_names(relation: &Relation) -> Vec<UniqueName> {
    relation
        .indexes
        .iter()
        .filter(|index| index.unique)
        .map(|index| UniqueName {
            index: farbird_store::IndexId(index.id.0),
            index_name: index.name.clone(),
            constraint: relation.constraints.iter().find_map(|constraint| match &constraint.kind {
                ConstraintKind::PrimaryKey { index: held } | ConstraintKind::Unique { index: held }
                    if *held == index.name =>
                {
                    Some(constraint.name.clone())
                }
                _ => None,
            }),
            columns: index.columns.clone(),
        })
        .collect()
}

fn trigger_presence(environment: &Environment, relation: &Relation) -> TriggerPresence {
    let mut presence = TriggerPresence::default();
    for trigger in environment.catalog.triggers_of(Some(&relation.name)) {
        if trigger.inactive {
            continue;
        }
        let after = is_after(trigger);
        for action in actions(trigger) {
            let place = match (action, after) {
                (1, false) => &mut presence.before_insert,
                (1, true) => &mut presence.after_insert,
                (2, false) => &mut presence.before_update,
                (2, true) => &mut presence.after_update,
                (_, false) => &mut presence.before_delete,
                (_, true) => &mut presence.after_delete,
            };
            *place = true;
        }
    }
    presence
}

/// RDB$TRIGGER_TYPE of relation triggers: one more than it, the lowest bit tells AFTER, and each two bits from the second on
/// an action: 1 INSERT, 2 UPDATE, 3 DELETE.
fn is_after(trigger: &Trigger) -> bool {
    trigger.trigger_type.wrapping_add(1) & 1 == 1
}

fn actions(trigger: &Trigger) -> impl Iterator<Item = u64> {
    let bits = trigger.trigger_type.wrapping_add(1) >> 1;
    (0..3).map(move |place| (bits >> (place * 2)) & 3).filter(|action| *action != 0)
}
