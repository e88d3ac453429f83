//! One source of a FROM clause, read by itself: its access, its columns, its order.

use std::collections::BTreeSet;
use std::sync::Arc;

use farbird_catalog::layout::is_maintained;
use farbird_catalog::{Relation, RelationKind};
use farbird_expression::Expression;
use farbird_store::{Projection, ScanDirection};
use farbird_types::key::NullsPosition;
use farbird_types::{SqlType, collation};

use crate::access::{AccessChoice, AccessPlanner, access_expressions_mut, empty_range};
use crate::bound::source::{Slot, Source, SourceColumn, SourceKind};
use crate::join::{JoinPlanner, NO_SLOT, Planned};
use crate::node::{
    Access, AccessHint, ExternalScan, Node, ProcedureScan, SortKey, SystemScan, TableScan, WorkingRow,
};
use crate::rewrite::infallible::cannot_fail;
use crate::{cost, push};

/// Fewer rows of an index are looked at whatever that costs: a table may grow after its plan is made.
const FAR_TO_FIRST_LEAST: f64 = 20_000.0;

impl JoinPlanner<'_> {
    /// How the rows of a table are found by an index that looks at the sources to its left, and what it takes from them.
    pub(super) fn lookup_access(
        &mut self,
        source: usize,
        available: &BTreeSet<usize>,
        conditions: &[Expression],
    ) -> (Option<AccessChoice>, Vec<(usize, Expression)>) {
        let Some(mut choice) = self.lookup(source, available, conditions) else { return (None, Vec::new()) };
        self.note_unused(source, &choice.access, available, conditions);
        let mut captures = Vec::new();
        for expression in access_expressions_mut(&mut choice.access) {
            self.by_register(expression, &mut captures);
        }
        (Some(choice), captures)
    }

    /// Replaces a value that looks at rows by a register that gets it.
    fn by_register(&mut self, expression: &mut Expression, captures: &mut Vec<(usize, Expression)>) {
        if expression.is_row_independent() {
            return;
        }
        let register = self.frame.registers;
        self.frame.registers += 1;
        captures.push((register, std::mem::replace(expression, Expression::Register(register))));
    }

    /// A source by itself, read in the best way; and what it takes from sources to its left.
    pub(super) fn leaf(
        &mut self,
        source: usize,
        conditions: Vec<Expression>,
        order: &[SortKey],
    ) -> (Planned, Vec<(usize, Expression)>) {
        let choice = self.read(source, &conditions, order);
        let (choice, ordered) = choice.map_or((None, false), |(choice, ordered)| (Some(choice), ordered));
        let cost = choice.as_ref().map_or(0.0, |choice| choice.cost);
        let access = choice.as_ref().map_or(&Access::Natural, |choice| &choice.access);
        self.note_unused(source, access, &BTreeSet::new(), &conditions);
        let (mut planned, captures) = self.leaf_with(source, choice, conditions);
        planned.ordered = ordered;
        planned.cost += cost;
        (planned, captures)
    }

    /// The best way to read a table by itself, and whether its rows come in the order that is asked for.
    pub(super) fn read(
        &self,
        source: usize,
        conditions: &[Expression],
        order: &[SortKey],
    ) -> Option<(AccessChoice, bool)> {
        let relation = self.stored_table(source)?;
        let planner = self.access_planner(source, relation, &|_| false);
        let best = planner.choose(conditions);
        if let Some(told) = self.hint(source).and_then(AccessHint::order) {
            let followed = self.followed_as_told(source, relation, &planner, conditions, order, told);
            return Some(followed.map_or((best, false), |choice| (choice, true)));
        }
        if order.is_empty() {
            return Some((best, false));
        }
        let rows = best.rows * self.estimator.selectivity(conditions);
        let sorted_cost = best.cost + cost::sort(rows);
        // Whoever asks for the first rows of an order has them from an index without reading the others.
        let share = self.share_read(rows);
        let mut ordered: Option<AccessChoice> = None;
        for mut choice in planner.candidates(conditions) {
            if self.follow_order(source, &mut choice.access, order)
                && choice.cost * share < sorted_cost
                && ordered.as_ref().is_none_or(|known| choice.cost < known.cost)
            {
                ordered = Some(choice);
            }
        }
        if let Some(choice) = ordered {
            return Some((choice, true));
        }
        let mut walked = best.clone();
        let is_ordered = self.follow_order(source, &mut walked.access, order);
        if is_ordered && self.all_rows && self.is_dearer(source, &walked, sorted_cost)
            || is_ordered
                && matches!(best.access, Access::Natural)
                && self.is_far_to_first(source, conditions, sorted_cost)
        {
            return Some((best, false));
        }
        Some((walked, is_ordered))
    }

    /// Whether the first rows that meet conditions are so far from each other in an index that reading and ordering all rows
    /// costs less.
    fn is_far_to_first(&self, source: usize, conditions: &[Expression], sorted_cost: f64) -> bool {
        let Some(asked) = self.first_rows else { return false };
        let part = self.estimator.selectivity(conditions);
        let looked_at = (asked / part.max(f64::MIN_POSITIVE)).min(self.estimator.rows(source));
        if self.hint(source).is_some() || self.extreme || looked_at < FAR_TO_FIRST_LEAST {
            return false;
        }
        cost::index(1.0, looked_at, 0.0, self.estimator.blocks(source)) > sorted_cost
    }

    pub(super) fn leaf_with(
        &mut self,
        number: usize,
        access: Option<AccessChoice>,
        conditions: Vec<Expression>,
    ) -> (Planned, Vec<(usize, Expression)>) {
        let mut captures = Vec::new();
        let access_is_known = access.is_some();
        let read = access.as_ref().map(|choice| (choice.rows, choice.cost));
        let (node, slots) = match self.sources.get(number) {
            None => (Node::Single, Vec::new()),
            Some(source) => match &source.kind {
                SourceKind::Table(relation) => {
                    self.table(number, source, relation, access.map(|choice| choice.access))
                }
                SourceKind::Procedure(procedure, arguments) => {
                    let slots = self.slots_of(number);
                    let mut arguments = arguments.clone();
                    for argument in &mut arguments {
                        self.by_register(argument, &mut captures);
                    }
                    let scan = ProcedureScan {
                        procedure: procedure.clone(),
                        arguments,
                        columns: slots.iter().map(|(_, place)| *place).collect(),
                        path: source.path.clone(),
                    };
                    (Node::Procedure(Arc::new(scan)), slots.into_iter().map(|(slot, _)| slot).collect())
                }
                SourceKind::Derived { plan, captures: own, .. } => {
                    captures.extend(own.iter().cloned());
                    let mut slots = vec![NO_SLOT; plan.width()];
                    for (slot, place) in self.slots_of(number) {
                        if let Some(position) = slots.get_mut(place) {
                            *position = slot;
                        }
                    }
                    (plan.clone(), slots)
                }
                SourceKind::Working(place, _) => {
                    let slots = self.slots_of(number);
                    let row = WorkingRow {
                        place: *place,
                        columns: slots.iter().map(|(_, place)| *place).collect(),
                    };
                    (Node::WorkingRow(Arc::new(row)), slots.into_iter().map(|(slot, _)| slot).collect())
                }
            },
        };
        let rows = self.estimator.rows(number);
        let selectivity = self.estimator.selectivity(&conditions);
        let found = (rows * selectivity).max(1.0);
        let cost = if access_is_known { 0.0 } else { cost::scan(rows, found) };
        let (read_rows, read_cost) = read.unwrap_or((rows, cost));
        let node = node.expected(read_rows, read_cost);
        let is_derived =
            self.sources.get(number).is_some_and(|source| matches!(source.kind, SourceKind::Derived { .. }));
        if is_derived {
            let mut conditions = conditions;
            let position = |slot: usize| slots.iter().position(|known| *known == slot).unwrap_or(NO_SLOT);
            conditions.iter_mut().for_each(|condition| condition.move_columns(&position));
            let node = push::filtered(node, conditions, self.surroundings);
            let sources = BTreeSet::from([number]);
            return (Planned { node, slots, sources, ordered: false, rows: found, cost }, captures);
        }
        let leaf =
            Planned { node, slots, sources: BTreeSet::from([number]), ordered: false, rows: found, cost };
        let is_filtered = !conditions.is_empty();
        let mut leaf = self.filtered(leaf, self.indexed_first(number, conditions));
        if is_filtered {
            // An index that looks at other tables has found fewer.
            let left = if read_rows < found { read_rows * selectivity } else { found };
            leaf.node = leaf.node.expected(left, read_cost);
        }
        (leaf, captures)
    }

    /// The conditions of a table, first those that an index could answer and that cannot fail: Firebird reads by such an index, so what
    /// would fail for the rows that it leaves out is not evaluated for these, here not in a scan of all rows either.
    fn indexed_first(&self, number: usize, mut conditions: Vec<Expression>) -> Vec<Expression> {
        let Some(relation) = self.stored_table(number) else { return conditions };
        if conditions.iter().any(Expression::is_volatile) {
            return conditions;
        }
        let leads_index = |place: usize| {
            let name = relation.columns.get(place).map(|column| &column.name);
            name.is_some() && relation.indexes.iter().any(|index| index.columns.first() == name)
        };
        let is_indexed = |slot: usize| match self.slots.get(slot) {
            Some(Slot { column: SourceColumn::Field(place), .. }) => leads_index(*place),
            _ => false,
        };
        let comes_first = |condition: &Expression| {
            let mut indexed = true;
            condition.for_each_column(&mut |slot| indexed &= is_indexed(slot));
            indexed && cannot_fail(condition, &|slot| self.slot_type(slot))
        };
        conditions.sort_by_key(|condition| !comes_first(condition));
        conditions
    }

    /// The used columns of a source: slot, and place in the source.
    pub(super) fn slots_of(&self, source: usize) -> Vec<(usize, usize)> {
        self.slots
            .iter()
            .enumerate()
            .filter(|(number, slot)| slot.source == source && self.needed.contains(number))
            .filter_map(|(number, slot)| match slot.column {
                SourceColumn::Field(place) => Some((number, place)),
                SourceColumn::RowNumber => None,
            })
            .collect()
    }

    fn table(
        &self,
        number: usize,
        source: &Source,
        relation: &Arc<Relation>,
        access: Option<Access>,
    ) -> (Node, Vec<usize>) {
        let fields = self.slots_of(number);
        let wanted = Slot { source: number, column: SourceColumn::RowNumber };
        let row_number =
            self.slots.iter().position(|slot| *slot == wanted).filter(|slot| self.needed.contains(slot));
        let slots = fields.iter().map(|(slot, _)| *slot).chain(row_number).collect();
        if relation.kind == RelationKind::System {
            let scan = SystemScan {
                relation: relation.clone(),
                columns: fields.iter().map(|(_, place)| *place).collect(),
                row_number: row_number.is_some(),
                path: source.path.clone(),
            };
            return (Node::System(Arc::new(scan)), slots);
        }
        let field_ids: Vec<u16> = fields
            .iter()
            .filter_map(|(_, place)| relation.columns.get(*place))
            .map(|column| column.field_id)
            .collect();
        if relation.is_external() {
            let scan = ExternalScan {
                relation: relation.clone(),
                columns: field_ids,
                row_number: row_number.is_some(),
                estimate: None,
                path: source.path.clone(),
            };
            return (Node::External(Arc::new(scan)), slots);
        }
        let scan = TableScan {
            relation: relation.clone(),
            layout: farbird_catalog::layout(relation),
            width: field_ids.len(),
            columns: Projection::of(field_ids),
            row_number: row_number.is_some(),
            access: access.unwrap_or(Access::Natural),
            estimate: None,
            path: source.path.clone(),
            told: self.told(number),
        };
        (Node::Table(Arc::new(scan)), slots)
    }

    /// Reads a table in the order that is asked for, if an index gives it for free.
    fn follow_order(&self, source: usize, access: &mut Access, order: &[SortKey]) -> bool {
        let Some(SourceKind::Table(relation)) = self.sources.get(source).map(|source| &source.kind) else {
            return false;
        };
        let Some((columns, descending)) = self.order_columns(source, relation, order) else { return false };
        let direction = if descending { ScanDirection::Descending } else { ScanDirection::Ascending };
        match access {
            Access::Natural if !self.walks_for_order || self.hint(source).is_some() => false,
            Access::Natural => {
                let index = relation.indexes.iter().find(|index| {
                    is_maintained(relation, index)
                        && index.expression_source.is_none()
                        && index.condition_source.is_none()
                        && starts_with(&index.columns, &columns)
                });
                let Some(index) = index else { return false };
                *access = Access::Index { ranges: vec![empty_range(index)], ordered: Some(direction) };
                true
            }
            Access::Index { ranges, ordered } => {
                let [range] = ranges.as_slice() else { return false };
                let Some(index) = relation.index(&range.name) else { return false };
                // Parts that are given by equality are the same in all rows.
                let after_equal = index.columns.get(range.equal.len()..).unwrap_or_default();
                if !starts_with(after_equal, &columns) && !starts_with(&index.columns, &columns) {
                    return false;
                }
                *ordered = Some(direction);
                true
            }
            Access::RowKeys(_) | Access::RowNumber(_) | Access::Rows(_) => false,
        }
    }

    /// Whether walking a whole index costs more than something else.
    fn is_dearer(&self, source: usize, walked: &AccessChoice, other: f64) -> bool {
        let (Access::Index { ranges, .. }, Some(relation)) = (&walked.access, self.stored_table(source))
        else {
            return false;
        };
        let index = ranges.first().and_then(|range| relation.index(&range.name));
        let order = index.map_or(0.0, |index| self.estimator.order(source, relation, index));
        cost::index(1.0, self.estimator.rows(source), order, self.estimator.blocks(source)) > other
    }

    /// Reading a table in the order of the index that a PLAN clause names, if that is the order asked for.
    fn followed_as_told(
        &self,
        source: usize,
        relation: &Relation,
        planner: &AccessPlanner<'_>,
        conditions: &[Expression],
        order: &[SortKey],
        told: &str,
    ) -> Option<AccessChoice> {
        let index = relation.index(told).filter(|index| {
            is_maintained(relation, index) && index.condition_source.is_none() && !order.is_empty()
        })?;
        let mut ranges: Vec<AccessChoice> = planner.by_index(index, conditions).into_iter().collect();
        let rows = self.estimator.rows(source);
        let access = Access::Index { ranges: vec![empty_range(index)], ordered: None };
        let cost = cost::index(1.0, rows, 0.0, self.estimator.blocks(source));
        ranges.push(AccessChoice::of_all(access, rows, cost));
        let descending = order.first().is_some_and(|key| key.part.descending);
        ranges.into_iter().find_map(|mut choice| {
            let follows =
                index.descending == descending && self.follow_order(source, &mut choice.access, order);
            follows.then_some(choice)
        })
    }

    /// The columns of ORDER BY, if they are all of one table and go one way, with NULL as the lowest value.
    fn order_columns<'r>(
        &self,
        source: usize,
        relation: &'r Relation,
        order: &[SortKey],
    ) -> Option<(Vec<&'r str>, bool)> {
        let descending = order.first()?.part.descending;
        let mut columns = Vec::with_capacity(order.len());
        for key in order {
            let Expression::Column(slot) = key.value else { return None };
            let slot = self.slots.get(slot).filter(|slot| slot.source == source)?;
            let SourceColumn::Field(place) = slot.column else { return None };
            let column = relation.columns.get(place)?;
            let own_order = farbird_catalog::layout::collation_of(&column.sql_type);
            if key.part.descending != descending
                || key.part.nulls != NullsPosition::Lowest
                || key.part.collation != own_order
                || !self.extreme && orders_equal_texts(&column.sql_type)
            {
                return None;
            }
            columns.push(column.name.as_str());
        }
        Some((columns, descending))
    }
}

/// Whether ORDER BY tells texts of this type apart that are equal, and so have one key in an index.
fn orders_equal_texts(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::Text(text) => collation::orders_equal_texts(text.character_set, text.collation),
        _ => false,
    }
}

fn starts_with(index: &[String], columns: &[&str]) -> bool {
    index.len() >= columns.len() && index.iter().zip(columns).all(|(part, column)| part == column)
}
