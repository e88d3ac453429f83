//! What joins cost: the members of a group as [`crate::order`] knows them, and the order that it finds.

use std::collections::BTreeSet;
use std::sync::Arc;

use farbird_catalog::Relation;
use farbird_expression::Expression;
use farbird_sql::ast::ComparisonOperator;

use crate::access::{AccessChoice, access_expressions};
use crate::bound::source::{FromTree, SourceColumn, SourceKind};
use crate::classes::{Columns, Groups};
use crate::cost;
use crate::join::{Beside, GroupMember, JoinPlanner, Pending, Reading, Steps, cost_of};
use crate::node::{Access, HashJoinKind, Node, SortKey};
use crate::order::{GroupsOfMember, Link, Lookup, MEMBERS_MAX, Member, Method, Order, Step};

/// Part of the rows that a condition on several tables leaves, if it is no equality.
const ACROSS_FRACTION: f64 = 0.33;

/// By how much more rows of an order are kept than are expected to be asked for.
const KEPT_TIMES: f64 = 4.0;
/// Rows of an order that are kept at least: fewer cost as much.
const KEPT_LEAST: f64 = 1_000.0;
/// Rows of an order that are kept at most to join others to them.
const KEPT_MOST: f64 = 100_000.0;
/// What is expected of partners of the first rows is less certain than what is known of all rows.
const LOOKED_UP_TIMES: f64 = 4.0;

impl<'a> JoinPlanner<'a> {
    /// In which order the members of a group are joined, and how.
    pub(super) fn steps(
        &self,
        members: &[GroupMember<'_>],
        pending: &Pending,
        order: &[SortKey],
        may_sort_early: bool,
    ) -> Steps {
        let as_written = |number: usize| Step {
            member: number,
            method: if number == 0 { Method::BuildMember } else { Method::Nested },
            rows: 1.0,
            cost: 0.0,
            flowing: 0,
            by_columns: false,
        };
        if members.len() > MEMBERS_MAX {
            return Steps { steps: (0..members.len()).map(as_written).collect(), sorted_first: None };
        }
        let sets = |sources: &BTreeSet<usize>| -> u64 {
            let places = members.iter().enumerate().filter(|(_, member)| !member.own.is_disjoint(sources));
            places.fold(0, |set, (number, _)| set | 1 << number)
        };
        let mut links = Vec::new();
        let mut described = Vec::with_capacity(members.len());
        for member in members {
            let (local, on) = self.conditions_of(member, pending);
            let leaves = member.beside.as_ref().map(|beside| match beside.kind {
                HashJoinKind::Left => self.partners_added(member, &local, &on),
                kind => self.part_left(member, &local, &on, kind == HashJoinKind::Anti),
            });
            if member.beside.is_some() {
                links.extend(
                    on.iter().map(|condition| self.link(condition, sets(&self.sources_of(condition)))),
                );
            }
            let own = sets(&member.own);
            described.push(self.describe(member, &local, sets(&member.needs) & !own, leaves));
        }
        for (condition, sources) in pending.0.iter().flatten() {
            let set = sets(sources);
            let is_added =
                |member: &GroupMember<'_>| member.beside.is_some() && !member.own.is_disjoint(sources);
            if set.count_ones() > 1 && !members.iter().any(is_added) {
                links.push(self.link(condition, set));
            }
        }
        // Columns that are equal to one value each leave no fewer rows by being equal to each other.
        let given: BTreeSet<usize> =
            pending.0.iter().flatten().filter_map(|(one, _)| given_column(one)).collect();
        for link in &mut links {
            if link.equal.is_some_and(|(left, right)| given.contains(&left) && given.contains(&right)) {
                (link.equal, link.fraction) = (None, 1.0);
            }
        }
        let columns = self.compared_columns(&links);
        let mut lookup = |number: usize, before: u64| -> Option<Lookup> {
            let member = members.get(number)?;
            let FromTree::Source(source) = member.tree else { return None };
            let available: BTreeSet<usize> = members
                .iter()
                .enumerate()
                .filter(|(place, member)| before & (1 << place) != 0 && member.adds())
                .flat_map(|(_, member)| member.own.iter().copied())
                .collect();
            let mut conditions = match &member.beside {
                Some(beside) => beside.on.clone(),
                None => pending.matching(|sources| {
                    sources.iter().all(|source| member.own.contains(source) || available.contains(source))
                }),
            };
            conditions.retain(|condition| !condition.is_volatile());
            let choice = self.lookup(*source, &available, &conditions)?;
            let keyed = self.keyed(*source, &available, &conditions).map(|keyed| keyed.reading);
            Some(match member.adds() {
                false => {
                    let of_member = choice
                        .left_over(&conditions)
                        .filter(|condition| self.sources_of(condition).is_subset(&member.own));
                    let cost = choice.cost.min(cost::first_by_index(
                        choice.rows,
                        self.estimator.selectivity(of_member),
                        0.0,
                        self.estimator.blocks(*source),
                    ));
                    Lookup { cost, partners_cost: 0.0, keyed }
                }
                true => Lookup { cost: choice.cost, partners_cost: choice.rows_cost, keyed },
            })
        };
        let mut orders = Order::new(&described, &links, &columns, &mut lookup);
        let best = orders.best();
        // Rows that come one by one, in the order that is asked for, need not all be made.
        let streaming = self.first_rows.and_then(|_| {
            let starts = (0..members.len()).filter(|number| {
                members.get(*number).is_some_and(|member| self.comes_in_order(member, pending, order))
            });
            let streams: Vec<Vec<Step>> = starts.filter_map(|start| orders.streaming(start)).collect();
            streams.into_iter().min_by(|left, right| cost_of(left).total_cmp(&cost_of(right)))
        });
        let sorted_first: Vec<(Vec<Step>, usize)> = match (self.first_rows, may_sort_early) {
            (Some(asked), true) if members.len() > 1 => (0..members.len())
                .filter(|number| {
                    members.get(*number).is_some_and(|member| self.may_sort_first(member, pending, order))
                })
                .filter_map(|start| orders.streaming(start))
                .filter_map(|steps| rows_to_keep(&steps, asked).map(|kept| (steps, kept)))
                .collect(),
            _ => Vec::new(),
        };
        let share = |steps: &Vec<Step>| self.share_read(steps.last().map_or(1.0, |step| step.rows));
        let of_sorted = |(steps, kept): &(Vec<Step>, usize)| cost_of_sorted_first(steps, *kept, share(steps));
        let sorted_first =
            sorted_first.into_iter().min_by(|left, right| of_sorted(left).total_cmp(&of_sorted(right)));
        let (steps, cost) = match (best, streaming) {
            (Some(best), Some(stream)) if cost_of(&stream) * share(&stream) < cost_of(&best) => {
                let cost = cost_of(&stream) * share(&stream);
                (stream, cost)
            }
            (Some(best), _) => {
                let cost = cost_of(&best) + self.cost_of_order(&best, members, pending, order);
                (best, cost)
            }
            (None, _) => ((0..members.len()).map(as_written).collect(), f64::INFINITY),
        };
        match sorted_first {
            Some(sorted) if of_sorted(&sorted) < cost => {
                Steps { steps: sorted.0, sorted_first: Some(sorted.1) }
            }
            _ => Steps { steps, sorted_first: None },
        }
    }

    /// What putting the rows of a join in order costs, if they do not come so.
    fn cost_of_order(
        &self,
        steps: &[Step],
        members: &[GroupMember<'_>],
        pending: &Pending,
        order: &[SortKey],
    ) -> f64 {
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return 0.0 };
        let comes_in_order = steps.iter().skip(1).all(|step| step.method == Method::Nested)
            && members.get(first.member).is_some_and(|member| self.comes_in_order(member, pending, order));
        if order.is_empty() || comes_in_order {
            return 0.0;
        }
        cost::first_of_order(last.rows, self.first_rows.unwrap_or(last.rows))
    }

    /// Whether a member is a table that has all columns of an order, and gives the same rows whenever it is read.
    fn may_sort_first(&self, member: &GroupMember<'_>, pending: &Pending, order: &[SortKey]) -> bool {
        let FromTree::Source(source) = member.tree else { return false };
        let is_fixed = |value: &Expression| !value.is_volatile() && !value.runs_code();
        let is_of_member = |key: &SortKey| {
            let sources = self.sources_of(&key.value);
            !sources.is_empty() && sources.is_subset(&member.own) && is_fixed(&key.value)
        };
        member.beside.is_none()
            && member.needs.is_empty()
            && self.stored_table(*source).is_some()
            && !order.is_empty()
            && order.iter().all(is_of_member)
            && pending.0.iter().flatten().all(|(condition, _)| is_fixed(condition))
    }

    /// Whether a member by itself gives its rows in an order, or none is asked for.
    fn comes_in_order(&self, member: &GroupMember<'_>, pending: &Pending, order: &[SortKey]) -> bool {
        let FromTree::Source(source) = member.tree else { return false };
        let (local, _) = self.conditions_of(member, pending);
        member.beside.is_none()
            && (order.is_empty() || self.read(*source, &local, order).is_some_and(|(_, ordered)| ordered))
    }

    /// The conditions on a member alone, and on it and others.
    fn conditions_of(
        &self,
        member: &GroupMember<'_>,
        pending: &Pending,
    ) -> (Vec<Expression>, Vec<Expression>) {
        match &member.beside {
            Some(Beside { on, .. }) => {
                on.iter().cloned().partition(|condition| self.sources_of(condition).is_subset(&member.own))
            }
            None => (pending.matching(|sources| sources.is_subset(&member.own)), Vec::new()),
        }
    }

    fn describe(
        &self,
        member: &GroupMember<'_>,
        local: &[Expression],
        needs: u64,
        leaves: Option<f64>,
    ) -> Member {
        let (rows, all_rows, (read_cost, access)) = match (&member.planned, member.tree) {
            (Some(planned), _) => {
                let access = if planned.node.is_by_columns() { Reading::ByColumns } else { Reading::ByRows };
                (planned.rows, planned.rows, (planned.cost, access))
            }
            (None, FromTree::Source(source)) => {
                let all = self.estimator.rows(*source);
                let rows = (all * self.estimator.selectivity(local)).max(1.0);
                (rows, all, self.read_cost(*source, local, all, rows))
            }
            _ => (1.0, 1.0, (1.0, Reading::ByRows)),
        };
        let runs_for_each = member.beside.is_none() && !member.needs.is_empty();
        let keeps_lonely = member.beside.as_ref().is_some_and(|beside| beside.kind != HashJoinKind::Semi);
        let composites = match member.tree {
            FromTree::Source(source) if member.planned.is_none() => self
                .stored_table(*source)
                .map_or_else(Vec::new, |relation| self.estimator.composites(*source, relation)),
            _ => Vec::new(),
        };
        Member {
            rows,
            all_rows,
            read_cost,
            needs,
            runs_for_each,
            leaves,
            keeps_lonely,
            scanned: access == Reading::Scanned,
            by_columns: access != Reading::ByRows,
            composites,
            groups: match member.tree {
                FromTree::Source(source) if !keeps_lonely => self.groups_of(*source),
                _ => None,
            },
        }
    }

    /// The groups that a derived table makes; nothing if a join cannot tell it which are wanted.
    fn groups_of(&self, source: usize) -> Option<GroupsOfMember> {
        let Some(SourceKind::Derived { plan, .. }) = self.sources.get(source).map(|source| &source.kind)
        else {
            return None;
        };
        let Node::Aggregate(aggregate) = plan else { return None };
        if !aggregate.input.is_by_columns() {
            return None;
        }
        let is_plain = |place: usize| {
            aggregate.keys.get(place).is_some_and(|key| matches!(key.value, Expression::Column(_)))
        };
        let slots = self.slots.iter().enumerate();
        let keys = slots.filter(|(_, slot)| {
            slot.source == source && matches!(slot.column, SourceColumn::Field(place) if is_plain(place))
        });
        let keys = keys.map(|(slot, _)| slot).collect();
        let cost = (plan.estimate().cost - aggregate.input.estimate().cost).max(0.0);
        Some(GroupsOfMember { cost, keys })
    }

    /// What reading a source by itself costs, and how its rows come.
    pub(super) fn read_cost(
        &self,
        source: usize,
        local: &[Expression],
        all: f64,
        rows: f64,
    ) -> (f64, Reading) {
        match self.stored_table(source) {
            Some(relation) => {
                let choice = self.choose(source, relation, &BTreeSet::new(), local);
                let reading = match choice.access {
                    Access::Natural => Reading::Scanned,
                    Access::Rows(_) => Reading::ByColumns,
                    _ => Reading::ByRows,
                };
                (choice.cost, reading)
            }
            None => (self.cost_of_plan(source) + cost::scan(all, rows), Reading::ByRows),
        }
    }

    /// What the plan of a derived table costs.
    fn cost_of_plan(&self, source: usize) -> f64 {
        match self.sources.get(source).map(|source| &source.kind) {
            Some(SourceKind::Derived { plan, .. }) => plan.estimate().cost,
            _ => 0.0,
        }
    }

    /// The best way to find a table's rows by an index that looks at what is left of it.
    pub(super) fn lookup(
        &self,
        source: usize,
        available: &BTreeSet<usize>,
        conditions: &[Expression],
    ) -> Option<AccessChoice> {
        let relation = self.stored_table(source)?;
        let is_available = |source: usize| available.contains(&source);
        let planner = self.access_planner(source, relation, &is_available);
        planner
            .candidates(conditions)
            .into_iter()
            .filter(|choice| {
                access_expressions(&choice.access)
                    .iter()
                    .any(|expression| !self.sources_of(expression).is_disjoint(available))
            })
            .min_by(|left, right| left.cost.total_cmp(&right.cost))
    }

    /// The table that a source is, if indexes can read it.
    pub(super) fn stored_table(&self, source: usize) -> Option<&'a Arc<Relation>> {
        match self.sources.get(source).map(|source| &source.kind) {
            Some(SourceKind::Table(relation)) if relation.is_stored() => Some(relation),
            _ => None,
        }
    }

    pub(super) fn link(&self, condition: &Expression, members: u64) -> Link {
        let Expression::Comparison { operator: ComparisonOperator::Equal, left, right, .. } = condition
        else {
            let fraction = match condition {
                Expression::Between { operand, low, high, .. } => {
                    self.estimator.between_fraction(operand, low, high)
                }
                _ => None,
            };
            let is_range = self.is_range(condition);
            let fraction = fraction.unwrap_or(ACROSS_FRACTION);
            return Link { members, fraction, hashable: false, is_range, filters: false, equal: None };
        };
        let (of_left, of_right) = (self.sources_of(left), self.sources_of(right));
        let hashable = !condition.is_volatile()
            && self.same_kind(left, right)
            && !of_left.is_empty()
            && !of_right.is_empty()
            && of_left.is_disjoint(&of_right);
        let equal = match (left.as_ref(), right.as_ref()) {
            (Expression::Column(left), Expression::Column(right)) => Some((*left, *right)),
            _ => None,
        };
        let filters = hashable && equal.is_some_and(|(left, right)| self.have_one_unit(left, right));
        let fraction = self.estimator.equal_fraction(left, right);
        Link { members, fraction, hashable, is_range: false, filters, equal }
    }

    /// How the values of the columns are spread that links say are equal.
    fn compared_columns(&self, links: &[Link]) -> Columns {
        let mut classes = Groups::default();
        for (link, (left, right)) in links.iter().filter_map(|link| Some((link, link.equal?))) {
            classes.join(left, right, link.members);
        }
        let mut columns = Columns::default();
        for class in classes.iter() {
            let shares = self.estimator.value_shares(&class.columns);
            class.columns.iter().zip(shares).for_each(|(slot, shares)| columns.add(*slot, shares));
        }
        columns
    }

    /// Part of the rows that EXISTS or its like leaves.
    fn part_left(
        &self,
        member: &GroupMember<'_>,
        local: &[Expression],
        across: &[Expression],
        anti: bool,
    ) -> f64 {
        let inner_rows = match (&member.planned, member.tree) {
            (Some(planned), _) => planned.rows,
            (None, FromTree::Source(source)) => {
                self.estimator.rows(*source) * self.estimator.selectivity(local)
            }
            _ => 1.0,
        };
        let mut part: f64 = 1.0;
        for condition in across {
            let Expression::Comparison { operator: ComparisonOperator::Equal, left, right, .. } = condition
            else {
                continue;
            };
            let own_is_left = self.sources_of(left).is_subset(&member.own);
            let (own, other) = if own_is_left { (left, right) } else { (right, left) };
            let there = self.estimator.distinct(own).min(inner_rows);
            part = part.min(there / self.estimator.distinct(other).max(1.0));
        }
        let part = part.min(1.0);
        if anti { (1.0 - part).max(0.05) } else { part.max(0.001) }
    }

    /// How many rows a LEFT JOIN makes of each of the others.
    fn partners_added(&self, member: &GroupMember<'_>, local: &[Expression], across: &[Expression]) -> f64 {
        let rows = match (&member.planned, member.tree) {
            (Some(planned), _) => planned.rows,
            (None, FromTree::Source(source)) => {
                self.estimator.rows(*source) * self.estimator.selectivity(local)
            }
            _ => 1.0,
        };
        let fractions = across.iter().map(|condition| self.link(condition, 0).fraction);
        fractions.fold(rows, |rows, fraction| rows * fraction).max(1.0)
    }
}

/// How many rows of the first member are worth keeping in order if so many rows of the join are asked for; none if that may be
/// too many.
fn rows_to_keep(steps: &[Step], asked: f64) -> Option<usize> {
    let (first, last) = (steps.first()?, steps.last()?);
    // Those that come first may have fewer partners than the others.
    let kept = (asked * (first.rows / last.rows).max(1.0) * KEPT_TIMES).max(KEPT_LEAST);
    (kept <= KEPT_MOST).then_some(kept as usize)
}

/// What it costs to order the first member's rows and to join the others to those that are asked for.
fn cost_of_sorted_first(steps: &[Step], kept: usize, share: f64) -> f64 {
    let Some(first) = steps.first() else { return f64::INFINITY };
    let joined = (cost_of(steps) - first.cost) * share * LOOKED_UP_TIMES;
    first.cost + cost::first_of_order(first.rows, kept as f64) + joined
}

/// The column, by slot, that a condition says has one value.
fn given_column(condition: &Expression) -> Option<usize> {
    let Expression::Comparison { operator: ComparisonOperator::Equal, left, right, .. } = condition else {
        return None;
    };
    match (left.as_ref(), right.as_ref()) {
        (Expression::Column(slot), value) | (value, Expression::Column(slot))
            if value.is_row_independent() =>
        {
            Some(*slot)
        }
        _ => None,
    }
}
