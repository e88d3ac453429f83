//! Joins: from a FROM clause with its conditions to nodes.
//!
//! Inner joins, and what only drops rows (EXISTS, IN), may be done in any order: [`crate::order`] says which. A table that
//! an index finds by the rows so far is read once for each of them where that is cheaper; else the smaller side is kept in
//! memory and looked up by hash.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use farbird_catalog::Relation;
use farbird_expression::{Expression, FrameSize};
use farbird_types::arithmetic::ArithmeticOperator;
use farbird_types::{Result, Value};

use crate::access::{AccessChoice, AccessPlanner};
use crate::bound::environment::Surroundings;
use crate::bound::source::{FromTree, JoinHint, Slot, Source, SourceKind};
use crate::cost;
use crate::estimate::{Estimator, constant};
use crate::node::{HashJoinKind, NestedLoopKind, Node, Sort, SortKey};
use crate::order::{Method, Step};
use crate::rewrite::joins::GroupedQuery;
use crate::subplan::planned;

/// A slot, or a position, that stands for none: a column of a plan that nobody uses. An expression that looks there all
/// the same fails with an internal error.
pub(super) const NO_SLOT: usize = usize::MAX;

/// A planned part of a FROM clause.
pub(crate) struct Planned {
    /// Its plan.
    pub(crate) node: Node,
    /// Which slot stands at each position of its rows.
    pub(crate) slots: Vec<usize>,
    /// Its sources.
    pub(crate) sources: BTreeSet<usize>,
    /// Whether its rows come in the order that was asked for.
    pub(crate) ordered: bool,
    /// How many rows that are, more or less.
    pub(crate) rows: f64,
    /// What it costs.
    pub(crate) cost: f64,
}

/// Plans the joins of one block.
pub(crate) struct JoinPlanner<'a> {
    pub(super) sources: &'a [Source],
    pub(super) slots: &'a [Slot],
    /// The slots that anything looks at.
    pub(super) needed: &'a BTreeSet<usize>,
    pub(super) surroundings: Surroundings<'a>,
    pub(super) frame: &'a mut FrameSize,
    pub(super) estimator: Estimator<'a>,
    /// Whether a whole index may be walked for nothing but its order.
    pub(super) walks_for_order: bool,
    /// Whether only the first value of an order is looked at.
    pub(super) extreme: bool,
    /// How many rows will be asked for, if not all.
    pub(super) first_rows: Option<f64>,
    /// Whether all rows are wanted, as OPTIMIZE FOR ALL ROWS says.
    pub(super) all_rows: bool,
    /// Whether a table may be put in order before others are joined to its first rows.
    pub(super) sorts_early: bool,
    /// In which order PLAN clauses have sources joined.
    pub(super) join_hints: &'a [JoinHint],
    /// The indexes of PLAN clauses that are not used, by source.
    pub(super) unused: HashMap<usize, Vec<String>>,
}

/// Conditions that are still to be put somewhere.
pub(super) struct Pending(pub(super) Vec<Option<(Expression, BTreeSet<usize>)>>);

impl Pending {
    /// Takes those that hold for these sources.
    pub(super) fn take(&mut self, mut wanted: impl FnMut(&BTreeSet<usize>) -> bool) -> Vec<Expression> {
        let mut taken = Vec::new();
        for place in &mut self.0 {
            if place.as_ref().is_some_and(|(_, sources)| wanted(sources)) {
                taken.extend(place.take().map(|(condition, _)| condition));
            }
        }
        taken
    }

    /// Those that hold for these sources, copied.
    pub(super) fn matching(&self, mut wanted: impl FnMut(&BTreeSet<usize>) -> bool) -> Vec<Expression> {
        self.0
            .iter()
            .flatten()
            .filter(|(_, sources)| wanted(sources))
            .map(|(condition, _)| condition.clone())
            .collect()
    }
}

/// A member of a group of inner joins.
pub(super) struct GroupMember<'t> {
    /// What it is; of EXISTS and its like, the query inside.
    pub(super) tree: &'t FromTree,
    pub(super) own: BTreeSet<usize>,
    /// Sources that must come before.
    pub(super) needs: BTreeSet<usize>,
    /// Of EXISTS and its like, and of what a LEFT JOIN adds.
    pub(super) beside: Option<Beside>,
    /// Its plan, if it is not read by index or in row order like a table.
    pub(super) planned: Option<Planned>,
}

/// What makes a member one that drops rows of the others or adds to them, and cannot come first.
pub(super) struct Beside {
    /// What makes a row a partner.
    pub(super) on: Vec<Expression>,
    /// Semi, anti or left: which rows of the others stay.
    pub(super) kind: HashJoinKind,
}

impl Beside {
    /// Whether its columns are at hand behind it.
    pub(super) fn adds(&self) -> bool {
        self.kind == HashJoinKind::Left
    }
}

impl GroupMember<'_> {
    /// Whether its columns are at hand behind it.
    pub(super) fn adds(&self) -> bool {
        self.beside.as_ref().is_none_or(Beside::adds)
    }
}

/// How the rows of a member come when it is read by itself.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Reading {
    /// By columns, by a scan that a join can tell which keys have a partner.
    Scanned,
    ByColumns,
    ByRows,
}

/// In which order members are joined.
pub(super) struct Steps {
    pub(super) steps: Vec<Step>,
    /// The first one is put in order before the others are joined to its first rows: of which so many are kept.
    pub(super) sorted_first: Option<usize>,
}

/// How an item is joined to what is left of it.
pub(super) struct Joining {
    pub(super) kind: HashJoinKind,
    pub(super) method: Method,
    /// Conditions on the item alone.
    pub(super) local: Vec<Expression>,
    /// Conditions on both sides.
    pub(super) across: Vec<Expression>,
}

impl<'a> JoinPlanner<'a> {
    pub(crate) fn new(
        sources: &'a [Source],
        slots: &'a [Slot],
        needed: &'a BTreeSet<usize>,
        surroundings: Surroundings<'a>,
        frame: &'a mut FrameSize,
    ) -> JoinPlanner<'a> {
        JoinPlanner {
            sources,
            slots,
            needed,
            surroundings,
            frame,
            estimator: Estimator::new(sources, slots, &surroundings.catalog.statistics),
            walks_for_order: true,
            extreme: false,
            first_rows: None,
            all_rows: false,
            sorts_early: false,
            join_hints: &[],
            unused: HashMap::new(),
        }
    }

    /// Sources are to be joined as PLAN clauses say.
    pub(crate) fn join_as_told(&mut self, hints: &'a [JoinHint]) {
        self.join_hints = hints;
    }

    /// The order is asked for the first value only: equal ones may come in any order.
    pub(crate) fn for_extreme(&mut self) {
        self.extreme = true;
        self.first_rows = Some(1.0);
    }

    /// No more rows than this will be asked for.
    pub(crate) fn for_first_rows(&mut self, rows: f64) {
        self.first_rows = Some(rows);
    }

    /// All rows are wanted: an index is walked for its order only if that is cheaper than to sort.
    pub(crate) fn for_all_rows(&mut self) {
        self.all_rows = true;
    }

    /// A table may be put in order before others are joined to it.
    pub(crate) fn sort_early(&mut self) {
        self.sorts_early = true;
    }

    /// The part of so many rows that will be asked for.
    pub(super) fn share_read(&self, rows: f64) -> f64 {
        self.first_rows.map_or(1.0, |first| (first / rows.max(1.0)).min(1.0))
    }

    /// Follows an order only in ranges of indexes that the conditions give.
    pub(crate) fn order_in_ranges_only(&mut self) {
        self.walks_for_order = false;
    }

    /// Plans a FROM clause with the conditions on its rows.
    ///
    /// # Errors
    /// None so far.
    pub(crate) fn plan(
        &mut self,
        tree: &FromTree,
        conditions: Vec<Expression>,
        order: &[SortKey],
    ) -> Result<Planned> {
        self.tree(tree, conditions, order)
    }

    pub(super) fn tree(
        &mut self,
        tree: &FromTree,
        conditions: Vec<Expression>,
        order: &[SortKey],
    ) -> Result<Planned> {
        match tree {
            FromTree::Left(left, right, on) => self.left_join(left, right, on, conditions, order),
            FromTree::Full(left, right, on) => self.full_join(left, right, on, conditions),
            FromTree::Source(_)
            | FromTree::Group(..)
            | FromTree::Dropping { .. }
            | FromTree::Optional { .. } => {
                let (mut items, mut all) = (Vec::new(), Vec::new());
                flatten(tree, &mut items, &mut all);
                all.extend(conditions);
                self.group(&items, all, order)
            }
        }
    }

    /// Inner joins.
    fn group(
        &mut self,
        items: &[&FromTree],
        conditions: Vec<Expression>,
        order: &[SortKey],
    ) -> Result<Planned> {
        // Nothing inside of it: what stands around may want all rows.
        let sorts_early = std::mem::take(&mut self.sorts_early);
        // What runs a query for each row comes where there are the fewest.
        let is_alone = items.len() < 2;
        let (late, conditions): (Vec<_>, Vec<_>) =
            conditions.into_iter().partition(|condition| !is_alone && runs_query_for_row(condition));
        let of_queries_alone = conditions.iter().map(cost_of_queries).sum::<f64>();
        let mut pending = self.pending(conditions);
        let late = self.pending(late);
        let members = self.members(items, &mut pending, order)?;
        let members = self.joined_as_told(members, &mut pending, order)?;
        let may_sort_early = sorts_early && late.0.is_empty();
        let Steps { steps, sorted_first } = self.steps(&members, &pending, order, may_sort_early);
        // Hash joins give an order up.
        let keeps_order = steps.iter().skip(1).all(|step| step.method == Method::Nested);
        let keys = order;
        let order = if keeps_order && sorted_first.is_none() { order } else { &[] };
        let late_places = places_of(&late, &steps, &members);
        let mut current: Option<Planned> = None;
        // What queries for each row cost, beside the joins.
        let mut of_queries = 0.0;
        let mut members: Vec<Option<GroupMember<'_>>> = members.into_iter().map(Some).collect();
        for (place, step) in steps.iter().enumerate() {
            let Some(member) = members.get_mut(step.member).and_then(Option::take) else { continue };
            let mut joined = match current.take() {
                None => self.first(member, &mut pending, order)?,
                Some(current) => self.join_next(current, member, step.method, &mut pending)?,
            };
            joined.rows = step.rows;
            joined.cost = step.cost + if is_alone { step.rows * of_queries_alone } else { 0.0 };
            joined.node = joined.node.expected(joined.rows, joined.cost);
            let mut ready = pending.take(|sources| sources.is_subset(&joined.sources));
            let here = late.0.iter().flatten().zip(&late_places).filter(|(_, late)| **late == place);
            ready.extend(here.map(|((condition, _), _)| condition.clone()));
            joined.cost += of_queries;
            let filtered = self.filtered(joined, ready);
            of_queries = filtered.cost - step.cost;
            current = Some(match sorted_first.filter(|_| place == 0) {
                Some(first) => first_sorted(filtered, keys, first),
                None => filtered,
            });
        }
        Ok(current.unwrap_or_else(Planned::single))
    }

    /// The members of a group. What is more than a table is planned right away.
    fn members<'t>(
        &mut self,
        items: &[&'t FromTree],
        pending: &mut Pending,
        order: &[SortKey],
    ) -> Result<Vec<GroupMember<'t>>> {
        let mut members = Vec::with_capacity(items.len());
        for item in items {
            let mut beside = None;
            let mut needs = self.dependencies(item);
            let tree: &'t FromTree = match *item {
                FromTree::Dropping { query, on, anti } => {
                    let kind = if *anti { HashJoinKind::Anti } else { HashJoinKind::Semi };
                    beside = Some(Beside { on: on.clone(), kind });
                    query
                }
                FromTree::Optional { query, on } => {
                    beside = Some(Beside { on: on.clone(), kind: HashJoinKind::Left });
                    query
                }
                tree => tree,
            };
            let own = sources_of_tree(tree);
            for condition in beside.iter().flat_map(|beside| &beside.on) {
                needs.extend(self.sources_of(condition).difference(&own));
            }
            let mut planned = None;
            if !matches!(tree, FromTree::Source(_)) {
                let (local, order) = match &mut beside {
                    Some(Beside { on, .. }) => {
                        let (local, across) =
                            on.drain(..).partition(|condition| self.sources_of(condition).is_subset(&own));
                        *on = across;
                        (local, &[][..])
                    }
                    None => {
                        let local =
                            |sources: &BTreeSet<usize>| !sources.is_empty() && sources.is_subset(&own);
                        (pending.take(local), order)
                    }
                };
                planned = Some(self.tree(tree, local, order)?);
            }
            members.push(GroupMember { tree, own, needs, beside, planned });
        }
        Ok(members)
    }

    pub(super) fn pending(&self, conditions: Vec<Expression>) -> Pending {
        Pending(
            conditions
                .into_iter()
                .map(|condition| {
                    let sources = self.sources_of(&condition);
                    Some((condition, sources))
                })
                .collect(),
        )
    }

    pub(super) fn sources_of(&self, expression: &Expression) -> BTreeSet<usize> {
        let mut sources = BTreeSet::new();
        expression.for_each_column(&mut |slot| {
            sources.extend(self.slots.get(slot).map(|slot| slot.source));
        });
        sources
    }

    /// Sources that must come before: LATERAL, and inputs of procedures.
    pub(super) fn dependencies(&self, item: &FromTree) -> BTreeSet<usize> {
        let own = sources_of_tree(item);
        let mut needed = BTreeSet::new();
        for source in &own {
            match self.sources.get(*source).map(|source| &source.kind) {
                Some(SourceKind::Procedure(_, arguments)) => {
                    arguments.iter().for_each(|argument| needed.extend(self.sources_of(argument)));
                }
                Some(SourceKind::Derived { captures, .. }) => {
                    captures.iter().for_each(|(_, value)| needed.extend(self.sources_of(value)));
                }
                _ => {}
            }
        }
        needed.difference(&own).copied().collect()
    }

    pub(super) fn choose(
        &self,
        source: usize,
        relation: &Arc<Relation>,
        available: &BTreeSet<usize>,
        conditions: &[Expression],
    ) -> AccessChoice {
        let is_available = |source: usize| available.contains(&source);
        self.access_planner(source, relation, &is_available).choose(conditions)
    }

    pub(super) fn access_planner<'s>(
        &'s self,
        source: usize,
        relation: &'s Arc<Relation>,
        available: &'s dyn Fn(usize) -> bool,
    ) -> AccessPlanner<'s> {
        AccessPlanner {
            source,
            relation,
            surroundings: self.surroundings,
            estimator: &self.estimator,
            slots: self.slots,
            available,
            hint: self.hint(source),
            reads_all: self.first_rows.is_none(),
        }
    }

    /// The member that a group begins with.
    pub(super) fn first(
        &mut self,
        member: GroupMember<'_>,
        pending: &mut Pending,
        order: &[SortKey],
    ) -> Result<Planned> {
        let conditions = pending.take(|sources| sources.is_subset(&member.own));
        let FromTree::Source(source) = member.tree else {
            let planned = member.planned.map_or_else(|| self.tree(member.tree, Vec::new(), order), Ok)?;
            return Ok(self.filtered(planned, conditions));
        };
        let (leaf, captures) = self.leaf(*source, conditions, order);
        // Without anything to the left, values taken from there are constants: they are computed by a join with
        // a row of nothing.
        if captures.is_empty() {
            return Ok(leaf);
        }
        Ok(self.nested_loop(Planned::single(), leaf, captures, NestedLoopKind::Inner, Vec::new()))
    }
}

impl Planned {
    /// One row without columns.
    fn single() -> Planned {
        Planned {
            node: Node::Single,
            slots: Vec::new(),
            sources: BTreeSet::new(),
            ordered: false,
            rows: 1.0,
            cost: 0.0,
        }
    }
}

/// Puts rows in order, of which hardly more than the first ones will be asked for.
fn first_sorted(mut planned: Planned, keys: &[SortKey], first: usize) -> Planned {
    let mut keys = keys.to_vec();
    keys.iter_mut().for_each(|key| key.value.move_columns(&|slot| position(&planned.slots, slot)));
    planned.cost += cost::first_of_order(planned.rows, first as f64);
    planned.node = Node::Sort(Arc::new(Sort { input: planned.node, keys, first: Some(first) }));
    planned.ordered = true;
    planned
}

pub(super) fn cost_of(steps: &[Step]) -> f64 {
    steps.last().map_or(0.0, |step| step.cost)
}

/// Behind which step each of the conditions comes that run queries: where there are the fewest rows.
fn places_of(late: &Pending, steps: &[Step], members: &[GroupMember<'_>]) -> Vec<usize> {
    let places = late.0.iter().flatten().map(|(_, sources)| {
        let mut left = sources.clone();
        let mut best: Option<(f64, usize)> = None;
        for (place, step) in steps.iter().enumerate() {
            if let Some(member) = members.get(step.member) {
                left.retain(|source| !member.own.contains(source));
            }
            if left.is_empty() && best.is_none_or(|(rows, _)| step.rows < rows) {
                best = Some((step.rows, place));
            }
        }
        best.map_or(steps.len().saturating_sub(1), |(_, place)| place)
    });
    places.collect()
}

/// Whether evaluating it on a row that another condition would have dropped may fail.
pub(super) fn may_fail(expression: &Expression) -> bool {
    expression.any(&|part| {
        let is_fallible = matches!(
            part,
            Expression::Arithmetic { operator: ArithmeticOperator::Divide, .. }
                | Expression::Cast { .. }
                | Expression::Constrained { .. }
                | Expression::Function { .. }
                | Expression::Routine { .. }
                | Expression::LocalRoutine { .. }
                | Expression::Subquery(_)
        );
        is_fallible && !is_known(part)
    })
}

/// Whether an expression is computed of constants alone, and gives a value whatever the session's settings are.
fn is_known(expression: &Expression) -> bool {
    constant(expression).is_some_and(|value| {
        // A session says which computations of DECFLOAT are errors, and what its time zone is.
        !matches!(value, Value::DecFloat(_) | Value::TimeTz(_) | Value::TimestampTz(_))
    })
}

/// What the queries of a condition cost for each row, as far as that is known.
pub(super) fn cost_of_queries(condition: &Expression) -> f64 {
    let mut cost = match condition {
        Expression::Subquery(subquery) if !subquery.invariant => {
            planned(subquery).and_then(|query| query.grouped.as_ref()).map_or(0.0, GroupedQuery::cost_for_row)
        }
        _ => 0.0,
    };
    condition.for_each_child(&mut |part| cost += cost_of_queries(part));
    cost
}

/// Whether a condition runs a query anew for each row.
pub(super) fn runs_query_for_row(condition: &Expression) -> bool {
    condition.any(&|part| match part {
        Expression::Subquery(subquery) => {
            !subquery.invariant && subquery.captures.iter().any(|(_, value)| !value.is_row_independent())
        }
        _ => false,
    })
}

fn flatten<'t>(tree: &'t FromTree, items: &mut Vec<&'t FromTree>, conditions: &mut Vec<Expression>) {
    match tree {
        FromTree::Group(parts, own) => {
            parts.iter().for_each(|part| flatten(part, items, conditions));
            conditions.extend(own.iter().cloned());
        }
        other => items.push(other),
    }
}

pub(super) fn sources_of_tree(tree: &FromTree) -> BTreeSet<usize> {
    let mut sources = Vec::new();
    tree.sources(&mut sources);
    sources.into_iter().collect()
}

pub(super) fn position(slots: &[usize], slot: usize) -> usize {
    slots.iter().position(|known| *known == slot).unwrap_or(NO_SLOT)
}

pub(super) fn condition_at(mut conditions: Vec<Expression>, slots: &[usize]) -> Option<Expression> {
    conditions.iter_mut().for_each(|condition| condition.move_columns(&|slot| position(slots, slot)));
    if conditions.is_empty() { None } else { Some(Expression::all(conditions)) }
}

#[cfg(test)]
mod tests {
    use farbird_types::SqlType;

    use super::*;

    #[test]
    fn what_is_computed_of_constants_is_known_not_to_fail() {
        let text = |text: &str| Expression::Constant(Value::text(text));
        let cast = |operand: Expression, to: SqlType| Expression::Cast { operand: Box::new(operand), to };
        assert!(!may_fail(&cast(text("2026-11-23"), SqlType::Date)));
        assert!(may_fail(&cast(text("the day after"), SqlType::Date)));
        assert!(may_fail(&cast(Expression::Column(0), SqlType::Date)));
        // Whether a rounded DECFLOAT is an error is for the session to say.
        assert!(may_fail(&cast(text("1.5"), SqlType::DecFloat16)));
    }
}
