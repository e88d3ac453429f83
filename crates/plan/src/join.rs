//! Joins: from a FROM clause with its conditions to nodes.
//!
//! Inner joins, and what only drops rows (EXISTS, IN), may be done in any order: [`crate::order`] says which. A table that
//! an index finds by the rows so far is read once for each of them where that is cheaper; else the smaller side is kept in
//! memory and looked up by hash.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use farbird_catalog::Relation;
use farbird_expression::{Expression, FrameSize};
use farbird_sql::ast::ComparisonOperator;
use farbird_types::arithmetic::ArithmeticOperator;
use farbird_types::{Collation, Result, SqlType, Value};

use crate::access::{AccessChoice, AccessPlanner, access_expressions};
use crate::bound::environment::Surroundings;
use crate::bound::source::{FromTree, JoinHint, Slot, Source, SourceColumn, SourceKind};
use crate::classes::{Columns, Groups};
use crate::cost;
use crate::estimate::{Estimator, constant};
use crate::node::{Access, HashJoin, HashJoinKind, JoinKey, NestedLoop, NestedLoopKind, Node, Sort, SortKey};
use crate::order::{GroupsOfMember, Link, Lookup, MEMBERS_MAX, Member, Method, Order, Step};
use crate::rewrite::joins::GroupedQuery;
use crate::subplan::planned;

/// A slot, or a position, that stands for none: a column of a plan that nobody uses. An expression that looks there all
/// the same fails with an internal error.
pub(super) const NO_SLOT: usize = usize::MAX;

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
    sorts_early: bool,
    /// In which order PLAN clauses have sources joined.
    pub(super) join_hints: &'a [JoinHint],
    /// The indexes of PLAN clauses that are not used, by source.
    pub(super) unused: HashMap<usize, Vec<String>>,
}

/// Conditions that are still to be put somewhere.
pub(super) struct Pending(Vec<Option<(Expression, BTreeSet<usize>)>>);

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
    on: Vec<Expression>,
    /// Semi, anti or left: which rows of the others stay.
    kind: HashJoinKind,
}

impl Beside {
    /// Whether its columns are at hand behind it.
    fn adds(&self) -> bool {
        self.kind == HashJoinKind::Left
    }
}

impl GroupMember<'_> {
    /// Whether its columns are at hand behind it.
    fn adds(&self) -> bool {
        self.beside.as_ref().is_none_or(Beside::adds)
    }
}

/// How the rows of a member come when it is read by itself.
#[derive(Clone, Copy, PartialEq)]
enum Reading {
    /// By columns, by a scan that a join can tell which keys have a partner.
    Scanned,
    ByColumns,
    ByRows,
}

/// In which order members are joined.
struct Steps {
    steps: Vec<Step>,
    /// The first one is put in order before the others are joined to its first rows: of which so many are kept.
    sorted_first: Option<usize>,
}

/// How an item is joined to what is left of it.
struct Joining {
    kind: HashJoinKind,
    method: Method,
    /// Conditions on the item alone.
    local: Vec<Expression>,
    /// Conditions on both sides.
    across: Vec<Expression>,
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

    fn tree(&mut self, tree: &FromTree, conditions: Vec<Expression>, order: &[SortKey]) -> Result<Planned> {
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

    /// In which order the members of a group are joined, and how.
    fn steps(
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
    fn read_cost(&self, source: usize, local: &[Expression], all: f64, rows: f64) -> (f64, Reading) {
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
    fn join(
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

    fn left_join(
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

    fn full_join(
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

    fn nested_loop(
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

/// Puts rows in order, of which hardly more than the first ones will be asked for.
fn first_sorted(mut planned: Planned, keys: &[SortKey], first: usize) -> Planned {
    let mut keys = keys.to_vec();
    keys.iter_mut().for_each(|key| key.value.move_columns(&|slot| position(&planned.slots, slot)));
    planned.cost += cost::first_of_order(planned.rows, first as f64);
    planned.node = Node::Sort(Arc::new(Sort { input: planned.node, keys, first: Some(first) }));
    planned.ordered = true;
    planned
}

fn cost_of(steps: &[Step]) -> f64 {
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

/// What the queries of a condition cost for each row, as far as that is known.
fn cost_of_queries(condition: &Expression) -> f64 {
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
fn runs_query_for_row(condition: &Expression) -> bool {
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

fn sources_of_tree(tree: &FromTree) -> BTreeSet<usize> {
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
