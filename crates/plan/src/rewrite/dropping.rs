//! EXISTS, NOT EXISTS, IN and NOT IN as joins: a row stays if (or unless) it has a partner among the rows of the query.
//!
//! That is exact for conditions of WHERE and of inner joins: rows stay only if the condition is TRUE, and an EXISTS that is not
//! TRUE is FALSE. A NULL on either side makes NOT IN UNKNOWN: where there may be one a row that might be equal counts as a
//! partner, if other values lead to it; else NOT IN stays a condition.

use std::collections::BTreeSet;

use farbird_catalog::statistics::Statistics;
use farbird_expression::{Expression, Subquery, SubqueryKind};
use farbird_sql::ast::{ComparisonOperator, Quantifier, Truth};
use farbird_types::SqlType;

use crate::bound::query::BoundSelect;
use crate::bound::source::{FromTree, Slot, Source, SourceColumn, SourceKind};
use crate::node::Node;
use crate::rewrite::joins::{Groups, Joins, UnnestedQuery};
use crate::subplan::planned;

/// The query, if it does nothing but join and select by conditions that may be evaluated in any order and any number of
/// times, and takes what it needs from the query just around it itself.
pub(crate) fn unnested(select: &BoundSelect) -> Option<UnnestedQuery> {
    let block = &select.block;
    let item = select.items.first()?;
    let is_plain = |source: &Source| match &source.kind {
        SourceKind::Table(_) => true,
        SourceKind::Derived { captures, .. } => captures.is_empty(),
        SourceKind::Procedure(..) | SourceKind::Working(..) => false,
    };
    let mut conditions = select.conditions.clone();
    let mut tree = select.tree.clone();
    tree.for_each_condition_mut(&mut |condition| conditions.push(condition.clone()));
    let is_simple = select.grouping.is_none()
        && select.limits.is_empty()
        && block.windows.is_empty()
        && block.aggregates.is_empty()
        && !block.volatile
        && !block.captured_deeper
        && !item.expression.is_volatile()
        && select.tree.is_inner()
        && block.sources.iter().all(is_plain)
        && !conditions.iter().any(Expression::is_volatile);
    is_simple.then(|| UnnestedQuery {
        joins: Joins {
            sources: block.sources.clone(),
            slots: block.slots.clone(),
            tree: select.tree.clone(),
            conditions: select.conditions.clone(),
            wanted: slots_of(&item.expression),
            groups: Groups::Allowed,
            beyond_cost: 0.0,
        },
        item: item.expression.clone(),
        item_type: item.column_type.sql_type,
    })
}

/// A planned query that takes nothing from around it, as a source of its own.
pub(crate) fn derived(plan: Node, types: Vec<SqlType>) -> Option<UnnestedQuery> {
    let item_type = *types.first()?;
    let kind = SourceKind::Derived { plan, captures: Vec::new(), types };
    let joins = Joins {
        sources: vec![Source::new(kind, Vec::new())],
        slots: vec![Slot { source: 0, column: SourceColumn::Field(0) }],
        tree: FromTree::Source(0),
        conditions: Vec::new(),
        wanted: BTreeSet::from([0]),
        groups: Groups::Allowed,
        beyond_cost: 0.0,
    };
    Some(UnnestedQuery { joins, item: Expression::Column(0), item_type })
}

/// Makes joins of the conditions that can be. None beside something volatile, which is evaluated for the rows that the
/// conditions before it leave.
pub(super) fn apply(joins: &mut Joins, statistics: &Statistics) {
    let is_volatile = |condition: &Expression| {
        condition.is_volatile() && query_of(condition).is_none_or(|(query, _)| unnested_form(query).is_none())
    };
    if joins.conditions.iter().any(is_volatile) {
        return;
    }
    let conditions = std::mem::take(&mut joins.conditions);
    let mut dropping = Vec::new();
    for condition in conditions {
        match taken_in(&condition, joins, statistics) {
            Some(item) => dropping.push(item),
            None => joins.conditions.push(condition),
        }
    }
    if dropping.is_empty() {
        return;
    }
    let tree = std::mem::replace(&mut joins.tree, FromTree::Group(Vec::new(), Vec::new()));
    let mut items = match tree {
        FromTree::Group(items, own) if own.is_empty() => items,
        other => vec![other],
    };
    items.extend(dropping);
    joins.tree = FromTree::Group(items, Vec::new());
}

/// The columns that an expression looks at, by slot.
fn slots_of(expression: &Expression) -> BTreeSet<usize> {
    let mut slots = BTreeSet::new();
    expression.for_each_column(&mut |slot| {
        slots.insert(slot);
    });
    slots
}

/// The query of EXISTS, IN and their like, and whether it is NOT EXISTS or NOT IN.
fn query_of(condition: &Expression) -> Option<(&Subquery, bool)> {
    match condition {
        Expression::Subquery(subquery) => Some((subquery.as_ref(), false)),
        Expression::Not(inner) => match inner.as_ref() {
            Expression::Subquery(subquery) => match subquery.kind {
                SubqueryKind::Exists
                | SubqueryKind::Quantified {
                    operator: ComparisonOperator::Equal,
                    quantifier: Quantifier::Any,
                    ..
                } => Some((subquery.as_ref(), true)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// The form of a subquery that can become part of the FROM clause around it.
fn unnested_form(subquery: &Subquery) -> Option<&UnnestedQuery> {
    planned(subquery)?.unnested.as_ref()
}

/// The join that a condition becomes; its sources are added.
fn taken_in(condition: &Expression, joins: &mut Joins, statistics: &Statistics) -> Option<FromTree> {
    let (subquery, anti) = query_of(condition)?;
    let UnnestedQuery { joins: mut query, mut item, item_type } = unnested_form(subquery).cloned()?;
    let operand = match &subquery.kind {
        // Without captures it is evaluated once.
        SubqueryKind::Exists if captures_rows(subquery) => None,
        SubqueryKind::Quantified {
            operand,
            operator: ComparisonOperator::Equal,
            quantifier: Quantifier::Any,
            collation,
            column: None,
        } if !operand.is_volatile() && !operand.is_row_independent() => Some((operand, *collation)),
        _ => return None,
    };
    if let Some((operand, _)) = operand
        && !are_alike(operand.static_type(&|slot| joins.slot_type(slot))?, item_type)
    {
        return None;
    }
    // A NULL on either side of NOT IN.
    let may_be_unknown = anti
        && operand.is_some_and(|(operand, _)| !joins.is_never_null(operand) || !query.is_never_null(&item));
    if may_be_unknown && !query.conditions.iter().any(|condition| leads_to_rows(subquery, condition)) {
        return None;
    }
    query.groups = joins.groups;
    query.rewrite(false, statistics);
    joins.groups = query.groups;
    joins.beyond_cost += query.beyond_cost;
    let (sources, slots) = (joins.sources.len(), joins.slots.len());
    joins.sources.append(&mut query.sources);
    joins.slots.extend(query.slots.iter().map(|slot| Slot { source: slot.source + sources, ..*slot }));
    let adapt = |expression: &mut Expression| {
        expression.move_columns(&|slot| slot + slots);
        expression.rewrite(&mut |part| match part {
            Expression::Register(number) => subquery
                .captures
                .iter()
                .find(|(register, _)| register == number)
                .map(|(_, value)| value.clone()),
            _ => None,
        });
    };
    query.tree.move_sources(sources);
    query.tree.for_each_condition_mut(&mut |condition| adapt(condition));
    let mut on = query.conditions;
    on.iter_mut().for_each(&adapt);
    adapt(&mut item);
    if let Some((operand, collation)) = operand {
        let equal = Expression::Comparison {
            operator: ComparisonOperator::Equal,
            left: operand.clone(),
            right: Box::new(item),
            collation,
        };
        on.push(match may_be_unknown {
            true => not_false(equal),
            false => equal,
        });
    }
    Some(FromTree::Dropping { query: Box::new(query.tree), on, anti })
}

/// Whether a condition is TRUE or UNKNOWN.
fn not_false(condition: Expression) -> Expression {
    let is_false = Expression::IsTruth { operand: Box::new(condition), truth: Truth::False };
    Expression::Not(Box::new(is_false))
}

/// Whether a condition of a query says that one of its columns equals a value of the row around it.
fn leads_to_rows(subquery: &Subquery, condition: &Expression) -> bool {
    let Expression::Comparison { operator: ComparisonOperator::Equal, left, right, .. } = condition else {
        return false;
    };
    let is_around = |value: &Expression| match value {
        Expression::Register(number) => subquery.captures.iter().any(|(register, _)| register == number),
        _ => false,
    };
    [(left, right), (right, left)]
        .into_iter()
        .any(|(column, value)| matches!(**column, Expression::Column(_)) && is_around(value))
}

/// Whether a query looks at the rows around it.
fn captures_rows(subquery: &Subquery) -> bool {
    subquery.captures.iter().any(|(_, value)| !value.is_row_independent())
}

/// Whether values of these types are compared without converting either.
pub(super) fn are_alike(left: SqlType, right: SqlType) -> bool {
    match (left, right) {
        (SqlType::Exact { .. }, SqlType::Exact { .. }) => true,
        (SqlType::Text(left), SqlType::Text(right)) => {
            left.character_set == right.character_set && left.collation == right.collation
        }
        (left, right) => left == right && !matches!(left, SqlType::Blob { .. } | SqlType::Array),
    }
}

impl Joins {
    /// The type of a column that is used.
    pub(super) fn slot_type(&self, slot: usize) -> Option<SqlType> {
        let slot = self.slots.get(slot)?;
        let SourceColumn::Field(place) = slot.column else { return Some(SqlType::BIGINT) };
        self.sources.get(slot.source)?.kind.column_type(place)
    }

    /// The sources that an expression looks at.
    pub(crate) fn sources_of(&self, expression: &Expression) -> BTreeSet<usize> {
        let mut sources = BTreeSet::new();
        expression.for_each_column(&mut |slot| sources.extend(self.slots.get(slot).map(|slot| slot.source)));
        sources
    }
}
