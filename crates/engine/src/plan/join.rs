//! The order of joins, and how each is done.
//!
//! Inner joins may be done in any order: each start is tried, and what is joined next is what leaves the fewest rows.
//! A table that an index finds by the rows so far is read once for each of them; anything else is kept in memory and
//! looked up by hash.

use std::collections::BTreeSet;
use std::sync::Arc;

use farbird_sql::ast::ComparisonOperator;
use farbird_types::{Collation, Result, SqlType};

use crate::bind::Environment;
use crate::bind::source::{FromTree, Slot, Source, SourceColumn, SourceKind};
use crate::catalog::Relation;
use crate::execute::frame::FrameSize;
use crate::expression::Expression;
use crate::plan::access::{AccessChoice, AccessPlanner, ROWS_ASSUMED};
use crate::plan::leaf::access_expressions;
use crate::plan::{HashJoin, HashJoinKind, JoinKey, NestedLoop, Node, SortKey};

/// Most items of one group of inner joins for which each start is tried.
const STARTS_TRIED_MAX: usize = 8;

/// Part of the pairs of rows that an equality between two tables leaves.
const JOIN_FRACTION: f64 = 0.001;

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
}

/// Plans the joins of one block.
pub(crate) struct JoinPlanner<'a> {
    pub(super) sources: &'a [Source],
    pub(super) slots: &'a [Slot],
    environment: &'a Environment,
    pub(super) frame: &'a mut FrameSize,
    /// Whether a whole index may be walked for nothing but its order.
    pub(super) walks_for_order: bool,
    /// Whether only the first value of an order is looked at.
    pub(super) extreme: bool,
}

/// Conditions that are still to be put somewhere.
struct Pending(Vec<Option<(Expression, BTreeSet<usize>)>>);

impl Pending {
    /// Takes those that hold for these sources.
    fn take(&mut self, mut wanted: impl FnMut(&BTreeSet<usize>) -> bool) -> Vec<Expression> {
        let mut taken = Vec::new();
        for place in &mut self.0 {
            if place.as_ref().is_some_and(|(_, sources)| wanted(sources)) {
                taken.extend(place.take().map(|(condition, _)| condition));
            }
        }
        taken
    }

    /// Those that hold for these sources, copied.
    fn matching(&self, mut wanted: impl FnMut(&BTreeSet<usize>) -> bool) -> Vec<Expression> {
        self.0
            .iter()
            .flatten()
            .filter(|(_, sources)| wanted(sources))
            .map(|(condition, _)| condition.clone())
            .collect()
    }
}

impl<'a> JoinPlanner<'a> {
    pub(crate) fn new(
        sources: &'a [Source],
        slots: &'a [Slot],
        environment: &'a Environment,
        frame: &'a mut FrameSize,
    ) -> JoinPlanner<'a> {
        JoinPlanner { sources, slots, environment, frame, walks_for_order: true, extreme: false }
    }

    /// The order is asked for the first value only: equal ones may come in any order.
    pub(crate) fn for_extreme(&mut self) {
        self.extreme = true;
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

    fn tree(&mut self, tree: &FromTree, conditions: Vec<Expression>, order: &[SortKey]) -> Result<Planned> {
        match tree {
            FromTree::Left(left, right, on) => self.left_join(left, right, on, conditions, order),
            FromTree::Full(left, right, on) => self.full_join(left, right, on, conditions),
            FromTree::Source(_) | FromTree::Group(..) => {
                let mut items = Vec::new();
                let mut all = conditions;
                flatten(tree, &mut items, &mut all);
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
        let mut pending = self.pending(conditions);
        let sequence = self.sequence(items, &pending);
        let mut current: Option<Planned> = None;
        for place in sequence {
            let Some(item) = items.get(place) else { continue };
            current = Some(match current {
                None => self.first(item, &mut pending, order)?,
                Some(current) => self.join_next(current, item, &mut pending)?,
            });
            if let Some(joined) = current.take() {
                let ready = pending.take(|sources| sources.is_subset(&joined.sources));
                current = Some(self.filtered(joined, ready));
            }
        }
        Ok(current.unwrap_or(Planned {
            node: Node::Single,
            slots: Vec::new(),
            sources: BTreeSet::new(),
            ordered: false,
        }))
    }

    fn pending(&self, conditions: Vec<Expression>) -> Pending {
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

    /// The order in which the items of a group are joined.
    fn sequence(&self, items: &[&FromTree], pending: &Pending) -> Vec<usize> {
        if items.len() < 2 {
            return (0..items.len()).collect();
        }
        let item_sources: Vec<BTreeSet<usize>> = items.iter().map(|item| sources_of_tree(item)).collect();
        let starts = if items.len() > STARTS_TRIED_MAX { 1 } else { items.len() };
        let mut best: Option<(f64, Vec<usize>)> = None;
        for start in 0..starts {
            let Some((cost, sequence)) = self.sequence_from(start, items, &item_sources, pending) else {
                continue;
            };
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, sequence));
            }
        }
        best.map_or_else(|| (0..items.len()).collect(), |(_, sequence)| sequence)
    }

    fn sequence_from(
        &self,
        start: usize,
        items: &[&FromTree],
        item_sources: &[BTreeSet<usize>],
        pending: &Pending,
    ) -> Option<(f64, Vec<usize>)> {
        let mut joined: BTreeSet<usize> = BTreeSet::new();
        let mut sequence = Vec::new();
        let mut left: Vec<usize> = (0..items.len()).collect();
        let mut rows = 1.0_f64;
        let mut cost = 0.0_f64;
        while !left.is_empty() {
            let candidates: Vec<usize> = if sequence.is_empty() { vec![start] } else { left.clone() };
            let mut next: Option<(f64, f64, usize)> = None;
            for place in candidates {
                let (Some(item), Some(own)) = (items.get(place), item_sources.get(place)) else { continue };
                if !self.dependencies(item).is_subset(&joined) {
                    continue;
                }
                let step = self.estimate(item, own, &joined, pending);
                let joins = !joined.is_empty()
                    && pending.0.iter().flatten().any(|(_, sources)| {
                        !sources.is_disjoint(own)
                            && !sources.is_disjoint(&joined)
                            && sources.iter().all(|source| own.contains(source) || joined.contains(source))
                    });
                let (rows_after, step_cost) = match step {
                    Estimate::Looked(found) => (rows * found, rows * (1.0 + found)),
                    Estimate::Read(found) if joined.is_empty() => (found, found),
                    Estimate::Read(found) if joins => ((rows * found * JOIN_FRACTION).max(1.0), rows + found),
                    Estimate::Read(found) => (rows * found, rows * found),
                };
                if next.is_none_or(|(least, ..)| step_cost < least) {
                    next = Some((step_cost, rows_after, place));
                }
            }
            let (step_cost, rows_after, place) = next?;
            cost += step_cost;
            rows = rows_after.max(1.0);
            left.retain(|other| *other != place);
            joined.extend(item_sources.get(place).into_iter().flatten());
            sequence.push(place);
        }
        Some((cost, sequence))
    }

    /// Sources that must come before: LATERAL, and inputs of procedures.
    fn dependencies(&self, item: &FromTree) -> BTreeSet<usize> {
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

    fn estimate(
        &self,
        item: &FromTree,
        own: &BTreeSet<usize>,
        joined: &BTreeSet<usize>,
        pending: &Pending,
    ) -> Estimate {
        let FromTree::Source(source) = item else { return Estimate::Read(ROWS_ASSUMED) };
        let Some(SourceKind::Table(relation)) = self.sources.get(*source).map(|source| &source.kind) else {
            return Estimate::Read(ROWS_ASSUMED / 10.0);
        };
        let conditions = pending
            .matching(|sources| sources.iter().all(|source| own.contains(source) || joined.contains(source)));
        let choice = self.choose(*source, relation, joined, &conditions);
        let looks_left = access_expressions(&choice.access)
            .iter()
            .any(|expression| !self.sources_of(expression).is_disjoint(joined));
        if looks_left { Estimate::Looked(choice.rows) } else { Estimate::Read(choice.rows) }
    }

    pub(super) fn choose(
        &self,
        source: usize,
        relation: &Arc<Relation>,
        available: &BTreeSet<usize>,
        conditions: &[Expression],
    ) -> AccessChoice {
        let is_available = |source: usize| available.contains(&source);
        let planner = AccessPlanner {
            source,
            relation,
            environment: self.environment,
            slots: self.slots,
            available: &is_available,
        };
        planner.choose(conditions)
    }

    /// The item that a group begins with.
    fn first(&mut self, item: &FromTree, pending: &mut Pending, order: &[SortKey]) -> Result<Planned> {
        let own = sources_of_tree(item);
        let conditions = pending.take(|sources| sources.is_subset(&own));
        let FromTree::Source(source) = item else { return self.tree(item, conditions, order) };
        let (leaf, captures) = self.leaf(*source, &BTreeSet::new(), conditions, order);
        // Without anything to the left, values taken from there are constants: they are computed by a join with
        // a row of nothing.
        if captures.is_empty() {
            return Ok(leaf);
        }
        let single =
            Planned { node: Node::Single, slots: Vec::new(), sources: BTreeSet::new(), ordered: false };
        Ok(self.nested_loop(single, leaf, captures, false, Vec::new()))
    }

    /// Joins one more item to what is joined already.
    fn join_next(&mut self, left: Planned, item: &FromTree, pending: &mut Pending) -> Result<Planned> {
        let own = sources_of_tree(item);
        let local = pending.take(|sources| !sources.is_empty() && sources.is_subset(&own));
        let across = pending.take(|sources| {
            !sources.is_disjoint(&own)
                && sources.iter().all(|source| own.contains(source) || left.sources.contains(source))
        });
        self.join(left, item, local, across, false)
    }

    /// Joins an item: `local` are conditions on it alone, `across` on both sides.
    fn join(
        &mut self,
        left: Planned,
        item: &FromTree,
        local: Vec<Expression>,
        across: Vec<Expression>,
        outer_join: bool,
    ) -> Result<Planned> {
        let kind = if outer_join { HashJoinKind::Left } else { HashJoinKind::Inner };
        let FromTree::Source(source) = item else {
            let right = self.tree(item, local, &[])?;
            return Ok(self.hash_join(left, right, kind, across));
        };
        let mut all = local.clone();
        all.extend(across.iter().cloned());
        let (access, captures) = self.access(*source, &left.sources, &all);
        if captures.is_empty() && self.dependencies(item).is_empty() {
            let (right, _) = self.leaf(*source, &BTreeSet::new(), local, &[]);
            return Ok(self.hash_join(left, right, kind, across));
        }
        let (right, more) = self.leaf_with(*source, access, local);
        let captures = captures.into_iter().chain(more).collect();
        Ok(self.nested_loop(left, right, captures, outer_join, across))
    }

    fn left_join(
        &mut self,
        left: &FromTree,
        right: &FromTree,
        on: &[Expression],
        conditions: Vec<Expression>,
        order: &[SortKey],
    ) -> Result<Planned> {
        let left_sources = sources_of_tree(left);
        let right_sources = sources_of_tree(right);
        let mut pending = self.pending(conditions);
        let of_left = pending.take(|sources| sources.is_subset(&left_sources) && !sources.is_empty());
        let planned = self.tree(left, of_left, order)?;
        let mut on = self.pending(on.to_vec());
        let local = on.take(|sources| !sources.is_empty() && sources.is_subset(&right_sources));
        let across = on.take(|_| true);
        let joined = self.join(planned, right, local, across, true)?;
        let rest = pending.take(|_| true);
        Ok(self.filtered(joined, rest))
    }

    fn full_join(
        &mut self,
        left: &FromTree,
        right: &FromTree,
        on: &[Expression],
        conditions: Vec<Expression>,
    ) -> Result<Planned> {
        let left = self.tree(left, Vec::new(), &[])?;
        let right = self.tree(right, Vec::new(), &[])?;
        let joined = self.hash_join(left, right, HashJoinKind::Full, on.to_vec());
        Ok(self.filtered(joined, conditions))
    }

    pub(super) fn filtered(&self, planned: Planned, mut conditions: Vec<Expression>) -> Planned {
        let Planned { node, slots, sources, ordered } = planned;
        conditions.iter_mut().for_each(|condition| condition.move_columns(&|slot| position(&slots, slot)));
        Planned { node: node.filtered(conditions), slots, sources, ordered }
    }

    fn nested_loop(
        &self,
        left: Planned,
        right: Planned,
        mut captures: Vec<(usize, Expression)>,
        outer_join: bool,
        across: Vec<Expression>,
    ) -> Planned {
        captures.iter_mut().for_each(|(_, value)| value.move_columns(&|slot| position(&left.slots, slot)));
        let mut slots = left.slots;
        slots.extend(right.slots);
        let condition = condition_at(across, &slots);
        let mut sources = left.sources;
        sources.extend(right.sources);
        let node = Node::NestedLoop(Arc::new(NestedLoop {
            outer: left.node,
            inner: right.node,
            captures,
            outer_join,
            condition,
        }));
        Planned { node, slots, sources, ordered: left.ordered }
    }

    fn hash_join(
        &self,
        left: Planned,
        right: Planned,
        kind: HashJoinKind,
        across: Vec<Expression>,
    ) -> Planned {
        let mut outer_keys = Vec::new();
        let mut inner_keys = Vec::new();
        let mut rest = Vec::new();
        for condition in across {
            match self.equality(&condition, &left.sources, &right.sources) {
                Some((mut outer, mut inner, collation)) => {
                    outer.move_columns(&|slot| position(&left.slots, slot));
                    inner.move_columns(&|slot| position(&right.slots, slot));
                    outer_keys.push(JoinKey { value: outer, collation });
                    inner_keys.push(JoinKey { value: inner, collation });
                }
                None => rest.push(condition),
            }
        }
        let mut slots = left.slots;
        slots.extend(right.slots);
        let condition = condition_at(rest, &slots);
        let mut sources = left.sources;
        sources.extend(right.sources);
        let node = Node::HashJoin(Arc::new(HashJoin {
            outer: left.node,
            inner: right.node,
            outer_keys,
            inner_keys,
            kind,
            condition,
        }));
        // Past its memory it joins partition by partition, which gives the outer side's order up.
        Planned { node, slots, sources, ordered: false }
    }

    /// The two sides of an equality between the left and the right.
    fn equality(
        &self,
        condition: &Expression,
        left_sources: &BTreeSet<usize>,
        right_sources: &BTreeSet<usize>,
    ) -> Option<(Expression, Expression, Collation)> {
        let Expression::Comparison { operator: ComparisonOperator::Equal, left, right, collation } =
            condition
        else {
            return None;
        };
        if condition.is_volatile() || !self.same_kind(left, right) {
            return None;
        }
        let first = self.sources_of(left);
        let second = self.sources_of(right);
        if first.is_empty() || second.is_empty() {
            return None;
        }
        if first.is_subset(left_sources) && second.is_subset(right_sources) {
            return Some(((**left).clone(), (**right).clone(), *collation));
        }
        if second.is_subset(left_sources) && first.is_subset(right_sources) {
            return Some(((**right).clone(), (**left).clone(), *collation));
        }
        None
    }

    /// Whether equal values have equal keys: points in time of different types do not, nor BLOBs, nor texts beside
    /// anything else.
    fn same_kind(&self, left: &Expression, right: &Expression) -> bool {
        let kind = |expression: &Expression| {
            let sql_type = expression.static_type(&|slot| self.slot_type(slot))?;
            Some(match sql_type {
                SqlType::Exact { .. }
                | SqlType::Float
                | SqlType::Double
                | SqlType::DecFloat16
                | SqlType::DecFloat34 => 0,
                SqlType::Date => 1,
                SqlType::Time => 2,
                SqlType::Timestamp => 3,
                SqlType::TimeTz => 4,
                SqlType::TimestampTz => 5,
                SqlType::Boolean => 6,
                // Of different character sets only ASCII's letters have the same bytes.
                SqlType::Text(text) => 7 + i32::from(text.character_set.0),
                _ => return None,
            })
        };
        match (kind(left), kind(right)) {
            (Some(left), Some(right)) => left == right,
            _ => false,
        }
    }

    fn slot_type(&self, slot: usize) -> Option<SqlType> {
        let slot = self.slots.get(slot)?;
        let SourceColumn::Field(place) = slot.column else { return Some(SqlType::BIGINT) };
        match &self.sources.get(slot.source)?.kind {
            SourceKind::Table(relation) => relation.columns.get(place).map(|column| column.sql_type),
            SourceKind::Procedure(procedure, _) => procedure.outputs.get(place).map(|output| output.sql_type),
            SourceKind::Derived { types, .. } | SourceKind::Working(_, types) => types.get(place).copied(),
        }
    }
}

/// How many rows an item gives.
enum Estimate {
    /// Read by itself.
    Read(f64),
    /// Looked up by an index, for each row so far.
    Looked(f64),
}

fn flatten<'t>(tree: &'t FromTree, items: &mut Vec<&'t FromTree>, conditions: &mut Vec<Expression>) {
    match tree {
        FromTree::Group(parts, own) => {
            conditions.extend(own.iter().cloned());
            parts.iter().for_each(|part| flatten(part, items, conditions));
        }
        other => items.push(other),
    }
}

fn sources_of_tree(tree: &FromTree) -> BTreeSet<usize> {
    let mut sources = Vec::new();
    tree.sources(&mut sources);
    sources.into_iter().collect()
}

fn position(slots: &[usize], slot: usize) -> usize {
    slots.iter().position(|known| *known == slot).unwrap_or(NO_SLOT)
}

fn condition_at(mut conditions: Vec<Expression>, slots: &[usize]) -> Option<Expression> {
    conditions.iter_mut().for_each(|condition| condition.move_columns(&|slot| position(slots, slot)));
    if conditions.is_empty() { None } else { Some(Expression::all(conditions)) }
}
