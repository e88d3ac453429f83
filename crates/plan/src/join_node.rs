//! Joins as nodes: each member joined to what is planned so far, by the method that was chosen.

use std::collections::BTreeSet;
use std::sync::Arc;

use farbird_expression::Expression;
use farbird_sql::ast::ComparisonOperator;
use farbird_types::{Collation, Result, SqlType};

use crate::bound::source::{FromTree, SourceColumn};
use crate::cost;
use crate::join::{
    Beside, GroupMember, JoinPlanner, Joining, Pending, Planned, Reading, condition_at, cost_of_queries,
    may_fail, position, runs_query_for_row, sources_of_tree,
};
use crate::node::{HashJoin, HashJoinKind, JoinKey, NestedLoop, NestedLoopKind, Node, SortKey};
use crate::order::Method;

impl JoinPlanner<'_> {
    /// Joins one more member to what is joined already.
    pub(super) fn join_next(
        &mut self,
        left: Planned,
        member: GroupMember<'_>,
        method: Method,
        pending: &mut Pending,
    ) -> Result<Planned> {
        let GroupMember { tree, own, beside, planned, .. } = member;
        let (kind, local, across) = match beside {
            Some(Beside { on, kind }) => {
                let (local, across) =
                    on.into_iter().partition(|condition| self.sources_of(condition).is_subset(&own));
                (kind, local, across)
            }
            None => {
                let local = pending.take(|sources| !sources.is_empty() && sources.is_subset(&own));
                let across = pending.take(|sources| {
                    !sources.is_disjoint(&own)
                        && sources.iter().all(|source| own.contains(source) || left.sources.contains(source))
                });
                (HashJoinKind::Inner, local, across)
            }
        };
        let joining = Joining { kind, method, local, across };
        self.join(left, tree, planned, joining)
    }

    /// Joins an item, planned already if it is no source.
    pub(super) fn join(
        &mut self,
        left: Planned,
        item: &FromTree,
        planned: Option<Planned>,
        joining: Joining,
    ) -> Result<Planned> {
        let Joining { kind, method, local, across } = joining;
        let FromTree::Source(source) = item else {
            let right = match planned {
                Some(planned) => self.filtered(planned, local),
                None => self.tree(item, local, &[])?,
            };
            return Ok(self.hash_join(left, right, kind, method, across));
        };
        let runs_for_each = !self.dependencies(item).is_empty();
        if method == Method::Nested || runs_for_each {
            let mut all = local.clone();
            all.extend(across.iter().cloned());
            let (access, mut captures) = self.lookup_access(*source, &left.sources, &all);
            for (_, value) in &mut captures {
                *value = self.guarded(value.clone(), &across, &left.sources);
            }
            if !captures.is_empty() || runs_for_each {
                let (right, more) = self.leaf_with(*source, access, local);
                let captures = captures.into_iter().chain(more).collect();
                let kind = match kind {
                    HashJoinKind::Inner => NestedLoopKind::Inner,
                    HashJoinKind::Semi => NestedLoopKind::Semi,
                    HashJoinKind::Anti => NestedLoopKind::Anti,
                    _ => NestedLoopKind::Left,
                };
                return Ok(self.nested_loop(left, right, captures, kind, across));
            }
        }
        if method == Method::BuildJoinedByKeys {
            let conditions: Vec<Expression> = local.iter().chain(&across).cloned().collect();
            if let Some(keyed) = self.keyed(*source, &left.sources, &conditions) {
                let all = self.estimator.rows(*source);
                let (natural, _) = self.read_cost(*source, &local, all, all);
                let access = self.keyed_access(*source, keyed, left.rows, natural);
                let (right, _) = self.leaf_with(*source, Some(access), local);
                return Ok(self.hash_join(left, right, kind, Method::BuildJoined, across));
            }
        }
        let (right, _) = self.leaf(*source, local, &[]);
        Ok(self.hash_join(left, right, kind, method, across))
    }

    pub(super) fn left_join(
        &mut self,
        left: &FromTree,
        right: &FromTree,
        on: &[Expression],
        conditions: Vec<Expression>,
        order: &[SortKey],
    ) -> Result<Planned> {
        self.sorts_early = false;
        let left_sources = sources_of_tree(left);
        let right_sources = sources_of_tree(right);
        let mut pending = self.pending(conditions);
        let of_left = pending.take(|sources| sources.is_subset(&left_sources) && !sources.is_empty());
        let planned = self.tree(left, of_left, order)?;
        let mut on = self.pending(on.to_vec());
        let local = on.take(|sources| !sources.is_empty() && sources.is_subset(&right_sources));
        let across = on.take(|_| true);
        let joining = self.outer_joining(&planned, right, local, across);
        let joined = self.join(planned, right, None, joining)?;
        let rest = pending.take(|_| true);
        Ok(self.filtered(joined, rest))
    }

    /// How the right side of a LEFT JOIN is joined.
    fn outer_joining(
        &self,
        left: &Planned,
        right: &FromTree,
        local: Vec<Expression>,
        across: Vec<Expression>,
    ) -> Joining {
        let kind = HashJoinKind::Left;
        let FromTree::Source(source) = right else {
            return Joining { kind, method: Method::BuildMember, local, across };
        };
        let all = self.estimator.rows(*source);
        let rows = (all * self.estimator.selectivity(&local)).max(1.0);
        let (read, reading) = self.read_cost(*source, &local, all, rows);
        let own = BTreeSet::from([*source]);
        let hashable = across.iter().any(|condition| self.equality(condition, &left.sources, &own).is_some());
        let joined = left.rows.max(rows);
        let mut best = match hashable {
            true => (
                read + cost::hash_join(rows, left.rows, joined, left.node.is_by_columns()),
                Method::BuildMember,
            ),
            false if across.iter().any(|condition| self.is_range(condition)) => {
                (read + cost::range_join(rows, left.rows, joined), Method::BuildMember)
            }
            false => (read + cost::all_pairs(rows, left.rows, joined), Method::BuildMember),
        };
        let built_left = read + cost::hash_join(left.rows, rows, joined, reading != Reading::ByRows);
        // Without an order that is asked for: rows without a partner come last.
        if hashable && !left.ordered && built_left < best.0 && self.hint(*source).is_none() {
            best = (built_left, Method::BuildJoined);
        }
        let mut conditions = local.clone();
        conditions.extend(across.iter().cloned());
        let lookup = self.lookup(*source, &left.sources, &conditions);
        let is_told = self.hint(*source).is_some();
        if lookup.is_some_and(|lookup| is_told || cost::nested_loop(left.rows, lookup.cost, joined) < best.0)
        {
            best.1 = Method::Nested;
        }
        Joining { kind, method: best.1, local, across }
    }

    pub(super) fn full_join(
        &mut self,
        left: &FromTree,
        right: &FromTree,
        on: &[Expression],
        conditions: Vec<Expression>,
    ) -> Result<Planned> {
        self.sorts_early = false;
        let left = self.tree(left, Vec::new(), &[])?;
        let right = self.tree(right, Vec::new(), &[])?;
        let joined = self.hash_join(left, right, HashJoinKind::Full, Method::BuildMember, on.to_vec());
        Ok(self.filtered(joined, conditions))
    }

    pub(super) fn filtered(&self, mut planned: Planned, mut conditions: Vec<Expression>) -> Planned {
        planned.cost += planned.rows * conditions.iter().map(cost_of_queries).sum::<f64>();
        // What runs a query comes last, unless it matters how often the others are evaluated.
        if !conditions.iter().any(Expression::is_volatile) {
            conditions.sort_by_key(runs_query_for_row);
        }
        conditions
            .iter_mut()
            .for_each(|condition| condition.move_columns(&|slot| position(&planned.slots, slot)));
        if !conditions.is_empty() {
            planned.node = planned.node.filtered(conditions).expected(planned.rows, planned.cost);
        }
        planned
    }

    pub(super) fn nested_loop(
        &self,
        left: Planned,
        right: Planned,
        mut captures: Vec<(usize, Expression)>,
        kind: NestedLoopKind,
        across: Vec<Expression>,
    ) -> Planned {
        captures.iter_mut().for_each(|(_, value)| value.move_columns(&|slot| position(&left.slots, slot)));
        let pair: Vec<usize> = left.slots.iter().chain(&right.slots).copied().collect();
        let condition = condition_at(across, &pair);
        let node = Node::NestedLoop(Arc::new(NestedLoop {
            outer: left.node,
            inner: right.node,
            captures,
            kind,
            condition,
            estimate: None,
        }));
        let slots = if kind.drops_inner() { left.slots } else { pair };
        let mut sources = left.sources;
        sources.extend(right.sources);
        let rows = left.rows.max(right.rows);
        let cost = left.cost + right.cost;
        Planned { node: node.expected(rows, cost), slots, sources, ordered: left.ordered, rows, cost }
    }

    /// Joins by hash. `kind` says what becomes of the left side's rows, `method` which side is built.
    pub(super) fn hash_join(
        &self,
        left: Planned,
        right: Planned,
        kind: HashJoinKind,
        method: Method,
        across: Vec<Expression>,
    ) -> Planned {
        let turned = match (method, kind) {
            (Method::BuildJoined, HashJoinKind::Inner) => Some(HashJoinKind::Inner),
            (Method::BuildJoined, HashJoinKind::Left) => Some(HashJoinKind::Right),
            (Method::BuildJoined, HashJoinKind::Semi) => Some(HashJoinKind::InnerSemi),
            (Method::BuildJoined, HashJoinKind::Anti) => Some(HashJoinKind::InnerAnti),
            _ => None,
        };
        let (outer, inner, kind) = match turned {
            Some(kind) => (right, left, kind),
            None => (left, right, kind),
        };
        let mut outer_keys = Vec::new();
        let mut inner_keys = Vec::new();
        let mut rest = Vec::new();
        for condition in across.iter().cloned() {
            match self.equality(&condition, &outer.sources, &inner.sources) {
                Some((of_outer, of_inner, collation)) => {
                    let mut of_outer = self.guarded(of_outer, &across, &outer.sources);
                    let mut of_inner = self.guarded(of_inner, &across, &inner.sources);
                    of_outer.move_columns(&|slot| position(&outer.slots, slot));
                    of_inner.move_columns(&|slot| position(&inner.slots, slot));
                    outer_keys.push(JoinKey { value: of_outer, collation });
                    inner_keys.push(JoinKey { value: of_inner, collation });
                }
                None => rest.push(condition),
            }
        }
        let pair: Vec<usize> = outer.slots.iter().chain(&inner.slots).copied().collect();
        let by_range = match (outer_keys.is_empty(), kind) {
            (true, HashJoinKind::Inner) => Some(NestedLoopKind::Inner),
            (true, HashJoinKind::Left) => Some(NestedLoopKind::Left),
            (true, HashJoinKind::Semi) => Some(NestedLoopKind::Semi),
            (true, HashJoinKind::Anti) => Some(NestedLoopKind::Anti),
            _ => None,
        };
        if let Some(kind) = by_range
            && let Some(ranges) = self.ranges(&across, &outer.sources, &inner.sources)
        {
            return self.range_join(outer, inner, kind, ranges, &across);
        }
        let condition = condition_at(rest, &pair);
        let slots = match (kind.has_outer(), kind.has_inner()) {
            (true, true) => pair,
            (true, false) => outer.slots,
            _ => inner.slots,
        };
        let mut sources = outer.sources;
        sources.extend(inner.sources);
        let rows = outer.rows.max(inner.rows);
        let cost = outer.cost
            + inner.cost
            + cost::hash_join(inner.rows, outer.rows, rows, outer.node.is_by_columns());
        let node = Node::HashJoin(Arc::new(HashJoin {
            outer: outer.node,
            inner: inner.node,
            outer_keys,
            inner_keys,
            kind,
            condition,
            estimate: None,
        }));
        // Past its memory it joins partition by partition, which gives the outer side's order up.
        Planned { node: node.expected(rows, cost), slots, sources, ordered: false, rows, cost }
    }

    /// A value that is looked up or hashed before the other conditions of a join are evaluated. If it may fail, it is NULL,
    /// which has no partner, for rows that do not meet what is asked of their side alone.
    pub(super) fn guarded(
        &self,
        key: Expression,
        across: &[Expression],
        side: &BTreeSet<usize>,
    ) -> Expression {
        if !may_fail(&key) {
            return key;
        }
        // What is asked of one side alone comes first, also where it may fail itself.
        let is_guard = |condition: &&Expression| {
            let sources = self.sources_of(condition);
            !condition.is_volatile()
                && !runs_query_for_row(condition)
                && !sources.is_empty()
                && sources.is_subset(side)
        };
        let guards: Vec<Expression> = across.iter().filter(is_guard).cloned().collect();
        if guards.is_empty() {
            return key;
        }
        Expression::Case {
            branches: vec![(Expression::all(guards), key)],
            otherwise: Box::new(Expression::NULL),
        }
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
    pub(super) fn same_kind(&self, left: &Expression, right: &Expression) -> bool {
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

    /// Whether the values of two columns are numbers of one scale, or dates.
    pub(super) fn have_one_unit(&self, left: usize, right: usize) -> bool {
        match (self.slot_type(left), self.slot_type(right)) {
            (Some(SqlType::Exact { scale: left, .. }), Some(SqlType::Exact { scale: right, .. })) => {
                left == right
            }
            (Some(SqlType::Date), Some(SqlType::Date)) => true,
            _ => false,
        }
    }

    pub(super) fn slot_type(&self, slot: usize) -> Option<SqlType> {
        let slot = self.slots.get(slot)?;
        let SourceColumn::Field(place) = slot.column else { return Some(SqlType::BIGINT) };
        self.sources.get(slot.source)?.kind.column_type(place)
    }
}
