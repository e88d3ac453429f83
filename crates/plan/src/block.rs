//! One SELECT: from its bound clauses to nodes.
//!
//! The steps, from the inside out: joins with WHERE; locks; groups with HAVING; window functions; ORDER BY; FIRST and
//! its like; the select list. With DISTINCT the select list comes before ordering, since it says which rows there are.

use std::collections::BTreeSet;
use std::sync::Arc;

use farbird_catalog::Relation;
use farbird_catalog::layout::collation_of;
use farbird_catalog::statistics::Statistics;
use farbird_expression::{Expression, FrameSize};
use farbird_types::key::{KeyPart, NullsPosition};
use farbird_types::{Result, Value};

use crate::bound::column::{NamedColumn, NamedValue};
use crate::bound::environment::Surroundings;
use crate::bound::query::{Block, BoundLimit, BoundSelect, BoundWindow, OutputColumn};
use crate::bound::source::{FromTree, Slot, Source, SourceColumn, SourceKind};
use crate::cost;
use crate::first_of_union;
use crate::group_estimate;
use crate::hint;
use crate::join::{JoinPlanner, NO_SLOT, Planned};
use crate::node::{
    AccessHint, Aggregate, AggregateCall, Count, Distinct, JoinKey, Limit, Lock, Node, Project,
    RowNumberColumn, Sort, SortKey, Window,
};
use crate::rewrite::joins::{GroupedQuery, Groups, Joins};
use crate::rewrite::{GroupedOutline, Replaced};

/// Rows that a limit asks for whose value is not known yet.
const ROWS_ASKED_FOR: f64 = 100.0;

/// Rows that OPTIMIZE FOR FIRST ROWS hurries to. Firebird's cost model looks at one.
const HURRIED_ROWS: f64 = 1.0;

/// WITH LOCK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LockWish {
    /// SKIP LOCKED.
    pub(crate) skip_locked: bool,
}

/// A query to be planned, with what is asked of its rows besides its columns.
pub(crate) struct Outline {
    select: BoundSelect,
    /// Rows carry the row numbers of their tables.
    pub(crate) row_numbers: bool,
    /// WITH LOCK.
    pub(crate) lock: Option<LockWish>,
}

/// A planned query.
pub(crate) struct PlannedQuery {
    /// Its plan.
    pub(crate) root: Node,
    /// Where rows carry row numbers.
    pub(crate) row_numbers: Vec<RowNumberColumn>,
    /// What its joins cost.
    pub(crate) cost: f64,
}

impl Outline {
    pub(crate) fn new(select: BoundSelect) -> Outline {
        Outline { select, row_numbers: false, lock: None }
    }
}

/// Plans a query.
///
/// # Errors
/// Indexes of PLAN that do not exist; locks on what cannot be locked.
pub(crate) fn plan(
    mut outline: Outline,
    surroundings: Surroundings<'_>,
    frame: &mut FrameSize,
) -> Result<PlannedQuery> {
    let select = &mut outline.select;
    if let Some(root) = count_only(select) {
        return Ok(PlannedQuery { root, row_numbers: Vec::new(), cost: 0.0 });
    }
    let is_flat = select.grouping.is_none() && !select.distinct;
    let numbered = if outline.row_numbers && is_flat { numbered_tables(select) } else { Vec::new() };
    let lock = outline.lock.filter(|_| is_flat);
    let locked = match lock {
        Some(_) => numbered_tables(select),
        None => Vec::new(),
    };
    let extreme = extreme_only(select);
    let mut joins = Joins {
        sources: select.block.sources.clone(),
        slots: select.block.slots.clone(),
        tree: select.tree.clone(),
        conditions: std::mem::take(&mut select.conditions),
        wanted: BTreeSet::new(),
        groups: Groups::Allowed,
        beyond_cost: 0.0,
    };
    // Behind a limit few rows are left.
    let computes_all =
        select.grouping.is_some() || select.limits.is_empty() && select.block.windows.is_empty();
    if computes_all && !select.distinct {
        take_in_groups_of_items(select, &mut joins, &surroundings.catalog.statistics);
    }
    if is_flat {
        select.order.truncate(joins.deciding_keys(&select.order));
    }
    let select = &outline.select;
    let order_of_groups = order_of_groups(select);
    let wanted_order = match &extreme {
        Some(key) => std::slice::from_ref(key),
        None if !order_of_groups.is_empty() => order_of_groups.as_slice(),
        None if is_flat && select.block.windows.is_empty() => select.order.as_slice(),
        None => &[],
    };
    // Groups and distinct rows are all made before the first of them comes.
    let first_rows = is_flat && select.first_rows.unwrap_or(!select.limits.is_empty()) || extreme.is_some();
    joins.wanted = wanted_slots(select, wanted_order);
    let in_order = first_rows && is_of_one_source(wanted_order, &joins.slots);
    let as_bound = joins.clone();
    joins.rewrite(in_order, &surroundings.catalog.statistics);
    let is_told = !select.block.join_hints.is_empty()
        || select.block.sources.iter().any(|source| source.hint.is_some());
    let may_sort_early = select.block.windows.is_empty() && lock.is_none() && numbered.is_empty() && !is_told;
    let different = group_estimate::different_groups(select, &joins, &surroundings.catalog.statistics);
    let mut plan_joins = |joins: &mut Joins| {
        let needed = joins.needed();
        let mut planner = JoinPlanner::new(&joins.sources, &joins.slots, &needed, surroundings, frame);
        planner.join_as_told(&select.block.join_hints);
        if extreme.is_some() {
            planner.for_extreme();
        } else if first_rows {
            planner.for_first_rows(rows_asked_for(&select.limits).min(match select.first_rows {
                Some(_) => HURRIED_ROWS,
                None => f64::INFINITY,
            }));
        }
        if select.first_rows == Some(false) {
            planner.for_all_rows();
        }
        if first_rows && extreme.is_none() && !select.limits.is_empty() && may_sort_early {
            planner.sort_early();
        }
        if extreme.is_some() && !joins.conditions.is_empty() {
            // A walk of the whole index would look at row after row until one meets the conditions, which may be none.
            planner.order_in_ranges_only();
        }
        planner.plan(&joins.tree, std::mem::take(&mut joins.conditions), wanted_order)
    };
    let mut planned = plan_joins(&mut joins)?;
    if joins.groups == Groups::Taken {
        let mut for_each_row = as_bound;
        for_each_row.groups = Groups::Forbidden;
        for_each_row.rewrite(in_order, &surroundings.catalog.statistics);
        let other = plan_joins(&mut for_each_row)?;
        if other.cost < planned.cost + joins.beyond_cost {
            planned = other;
        }
    }
    let Planned { node, slots, ordered, rows, cost, .. } = planned;
    let position_of = |slot: usize| slots.iter().position(|known| *known == slot).unwrap_or(NO_SLOT);
    let mut node = match &extreme {
        Some(SortKey { value: Expression::Column(slot), .. }) if ordered => {
            first_value(node, position_of(*slot))
        }
        _ => node,
    };
    for (slot, wish) in locked.iter().zip(lock) {
        let layout = match &select.block.sources.get(slot.source).map(|source| &source.kind) {
            Some(SourceKind::Table(relation)) => farbird_catalog::layout(relation),
            _ => continue,
        };
        let row_number = position_of(slot.slot);
        node = Node::Lock(Arc::new(Lock { input: node, layout, row_number, skip_locked: wish.skip_locked }));
    }
    let numbered: Vec<(String, Expression)> = numbered
        .into_iter()
        .map(|table| (table.relation, Expression::Column(position_of(table.slot))))
        .collect();
    let groups = different.map(|different| {
        let groups = different.min(rows).max(1.0);
        let statistics = &surroundings.catalog.statistics;
        let part = group_estimate::part_by_having(&outline.select, &joins, statistics, rows, groups);
        ExpectedGroups { groups, left: groups * part }
    });
    move_to_positions(&mut outline.select, &position_of);
    if !ordered && is_flat && outline.select.block.windows.is_empty() && locked.is_empty() {
        node = first_of_union::asked_of_members(
            node,
            &outline.select.order,
            &outline.select.limits,
            surroundings,
            frame,
        );
    }
    let is_told_from_around = outline.select.block.is_told_from_around;
    let is_ordered = ordered && extreme.is_none() && order_of_groups.is_empty();
    let mut planned = finish(outline.select, node, is_ordered, numbered, groups);
    planned.cost = cost;
    // What is asked around a derived table may use the indexes yet that are named there.
    if !is_told_from_around {
        hint::refuse_unused(&planned.root)?;
    }
    Ok(planned)
}

/// The order of the groups, if a PLAN clause has a table read in the order of an index.
fn order_of_groups(select: &BoundSelect) -> Vec<SortKey> {
    let is_followed = |source: &Source| source.hint.as_ref().is_some_and(|hint| hint.order().is_some());
    let keys = select.grouping.iter().flatten();
    let keys = keys.filter(|_| select.block.sources.iter().any(is_followed)).map(|key| SortKey {
        value: key.value.clone(),
        part: KeyPart { collation: key.collation, descending: false, nulls: NullsPosition::Lowest },
    });
    keys.collect()
}

/// Makes members of the join of queries for each row in the select list and in ORDER BY, or in aggregates.
fn take_in_groups_of_items(select: &mut BoundSelect, joins: &mut Joins, statistics: &Statistics) {
    let mut values: Vec<&mut Expression> = Vec::new();
    if select.grouping.is_some() {
        let calls = select.block.aggregates.iter_mut();
        values.extend(calls.flat_map(|call| call.arguments.iter_mut().chain(&mut call.filter)));
    } else {
        values.extend(select.items.iter_mut().map(|item| &mut item.expression));
        values.extend(select.order.iter_mut().map(|key| &mut key.value));
    }
    if values.iter().any(|value| value.is_volatile()) {
        return;
    }
    let mut replaced = Replaced::default();
    values.into_iter().for_each(|value| joins.take_in_groups(value, statistics, &mut replaced));
}

/// The columns that are looked at behind the joins, by slot.
fn wanted_slots(select: &BoundSelect, order: &[SortKey]) -> BTreeSet<usize> {
    let mut wanted = BTreeSet::new();
    let mut note = |expression: &Expression| {
        expression.for_each_column(&mut |slot| {
            wanted.insert(slot);
        })
    };
    order.iter().for_each(|key| note(&key.value));
    match &select.grouping {
        Some(keys) => {
            keys.iter().for_each(|key| note(&key.value));
            let calls = select.block.aggregates.iter();
            calls.flat_map(|call| call.arguments.iter().chain(&call.filter)).for_each(note);
        }
        // Behind a grouping these look at groups.
        None => {
            select.items.iter().for_each(|item| note(&item.expression));
            select.order.iter().for_each(|key| note(&key.value));
            let mut windows = select.block.windows.clone();
            windows.iter_mut().for_each(|window| window.for_each_mut(&mut |value| note(value)));
        }
    }
    let numbers = select.block.slots.iter().enumerate();
    wanted.extend(numbers.filter(|(_, slot)| slot.column == SourceColumn::RowNumber).map(|(slot, _)| slot));
    wanted
}

/// How many rows limits ask for at most, as far as that is known before they are evaluated.
fn rows_asked_for(limits: &[BoundLimit]) -> f64 {
    limits.iter().fold(f64::INFINITY, |least, limit| {
        let number = |value: &Option<Expression>| match value {
            Some(Expression::Constant(value)) => crate::estimate::number(value),
            _ => None,
        };
        let skipped = if limit.ordinals { 0.0 } else { number(&limit.skip).unwrap_or(0.0) };
        // Without an end all that is behind what is skipped is asked for.
        match &limit.first {
            None => least,
            first => least.min(number(first).unwrap_or(ROWS_ASKED_FOR) + skipped),
        }
    })
}

/// Whether all keys of an order are columns of one source: it may come in that order by itself.
fn is_of_one_source(order: &[SortKey], slots: &[Slot]) -> bool {
    let source = |key: &SortKey| match &key.value {
        Expression::Column(slot) => slots.get(*slot).map(|slot| slot.source),
        _ => None,
    };
    let first = order.first().and_then(source);
    first.is_some() && order.iter().all(|key| source(key) == first)
}

/// Groups, or different rows, that are expected.
#[derive(Clone, Copy)]
struct ExpectedGroups {
    groups: f64,
    /// How many of them HAVING leaves.
    left: f64,
}

/// Everything after the joins.
fn finish(
    select: BoundSelect,
    mut node: Node,
    ordered: bool,
    numbered: Vec<(String, Expression)>,
    groups: Option<ExpectedGroups>,
) -> PlannedQuery {
    let BoundSelect { mut block, grouping, having, mut items, distinct, mut order, limits, .. } = select;
    if let Some(keys) = grouping {
        let input = node.estimate();
        node = Node::Aggregate(Arc::new(Aggregate {
            input: node,
            keys,
            calls: std::mem::take(&mut block.aggregates),
            estimate: None,
        }));
        let (groups, left) = groups.map_or((input.rows, input.rows), |groups| (groups.groups, groups.left));
        let cost = input.cost + cost::group(input.rows, groups);
        node = node.expected(groups, cost);
        if !having.is_empty() {
            node = node.filtered(having).expected(left, cost);
        }
    }
    node = add_windows(node, std::mem::take(&mut block.windows), &mut items, &mut order);
    let width = items.len();
    let mut values: Vec<Expression> = items.iter().map(|item| item.expression.clone()).collect();
    let row_numbers = numbered
        .iter()
        .enumerate()
        .map(|(place, (relation, _))| RowNumberColumn { relation: relation.clone(), position: width + place })
        .collect();
    values.extend(numbered.into_iter().map(|(_, value)| value));
    if distinct {
        let keys = order_of_projection(order, &mut values);
        node = Node::Project(Arc::new(Project { input: node, items: values }));
        let collations = items.iter().map(|item| collation_of(&item.column_type.sql_type)).collect();
        let input = node.estimate();
        node = Node::Distinct(Arc::new(Distinct { input: node, collations, estimate: None }));
        let rows = groups.map_or(input.rows, |groups| groups.groups).min(input.rows);
        node = sorted(node.expected(rows, input.cost + cost::sort(input.rows)), keys);
        return PlannedQuery { root: limited(node, limits), row_numbers, cost: 0.0 };
    }
    if !ordered {
        node = sorted(node, order);
    }
    node = limited(node, limits);
    if !is_identity(&values, node.width()) {
        node = Node::Project(Arc::new(Project { input: node, items: values }));
    }
    PlannedQuery { root: node, row_numbers, cost: 0.0 }
}

/// Whether a projection would hand on its rows as they are.
fn is_identity(values: &[Expression], width: usize) -> bool {
    values.len() == width
        && values.iter().enumerate().all(|(place, value)| *value == Expression::Column(place))
}

fn sorted(input: Node, keys: Vec<SortKey>) -> Node {
    if keys.is_empty() { input } else { Node::Sort(Arc::new(Sort { input, keys, first: None })) }
}

fn limited(mut node: Node, limits: Vec<BoundLimit>) -> Node {
    for BoundLimit { skip, first, ordinals } in limits {
        node = Node::Limit(Arc::new(Limit { input: node, skip, first, ordinals }));
    }
    node
}

/// ORDER BY after the select list: keys that are no item are computed beside the items.
fn order_of_projection(order: Vec<SortKey>, values: &mut Vec<Expression>) -> Vec<SortKey> {
    order
        .into_iter()
        .map(|key| {
            let place = values.iter().position(|value| *value == key.value).unwrap_or_else(|| {
                values.push(key.value);
                values.len() - 1
            });
            SortKey { value: Expression::Column(place), part: key.part }
        })
        .collect()
}

/// Window functions: one step for each ordering of the rows. Their results follow the row.
fn add_windows(
    mut node: Node,
    windows: Vec<BoundWindow>,
    items: &mut [OutputColumn],
    order: &mut [SortKey],
) -> Node {
    if windows.is_empty() {
        return node;
    }
    let mut positions = vec![0; windows.len()];
    let mut left: Vec<(usize, BoundWindow)> = windows.into_iter().enumerate().collect();
    while let Some((_, first)) = left.first().cloned() {
        let (together, others): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|(_, window)| window.same_order(&first));
        left = others;
        let width = node.width();
        let mut calls = Vec::with_capacity(together.len());
        for (place, (number, window)) in together.into_iter().enumerate() {
            if let Some(position) = positions.get_mut(number) {
                *position = width + place;
            }
            calls.push(window.call);
        }
        node = Node::Window(Arc::new(Window {
            input: node,
            partition: first.partition,
            order: first.order,
            calls,
        }));
    }
    let mut replace = |part: &Expression| match part {
        Expression::Window(number) => positions.get(*number).map(|position| Expression::Column(*position)),
        _ => None,
    };
    items.iter_mut().for_each(|item| item.expression.rewrite(&mut replace));
    order.iter_mut().for_each(|key| key.value.rewrite(&mut replace));
    node
}

/// Gives the columns of everything that looks at the joined rows their positions there.
fn move_to_positions(select: &mut BoundSelect, position_of: &dyn Fn(usize) -> usize) {
    let grouped = select.grouping.is_some();
    if let Some(keys) = &mut select.grouping {
        keys.iter_mut().for_each(|JoinKey { value, .. }| value.move_columns(position_of));
        for AggregateCall { arguments, filter, .. } in select.block.aggregates.iter_mut() {
            arguments.iter_mut().chain(filter.as_mut()).for_each(|value| value.move_columns(position_of));
        }
    }
    // Behind a grouping everything looks at groups already.
    if !grouped {
        select.items.iter_mut().for_each(|item| item.expression.move_columns(position_of));
        select.order.iter_mut().for_each(|key| key.value.move_columns(position_of));
        select.block.windows.iter_mut().for_each(|window| window.move_columns(position_of));
    }
}

/// A table whose row numbers are wanted.
struct NumberedTable {
    relation: String,
    source: usize,
    slot: usize,
}

fn numbered_tables(select: &mut BoundSelect) -> Vec<NumberedTable> {
    let tables: Vec<(usize, String)> = select
        .block
        .sources
        .iter()
        .enumerate()
        .filter_map(|(number, source)| match &source.kind {
            SourceKind::Table(relation) => Some((number, relation.name.clone())),
            _ => None,
        })
        .collect();
    tables
        .into_iter()
        .map(|(source, relation)| NumberedTable {
            relation,
            source,
            slot: select.block.slot(source, SourceColumn::RowNumber),
        })
        .collect()
}

/// SELECT COUNT(*) FROM T and nothing else: the store knows.
fn count_only(select: &BoundSelect) -> Option<Node> {
    let keys = select.grouping.as_ref()?;
    let [call] = select.block.aggregates.as_slice() else { return None };
    let is_plain = keys.is_empty()
        && call.function.name == "COUNT"
        && call.arguments.is_empty()
        && call.filter.is_none()
        && select.conditions.is_empty()
        && select.having.is_empty()
        && select.order.is_empty()
        && select.limits.is_empty()
        && !select.distinct
        && select.block.windows.is_empty();
    let [item] = select.items.as_slice() else { return None };
    let FromTree::Source(0) = select.tree else { return None };
    let [source] = select.block.sources.as_slice() else { return None };
    let SourceKind::Table(relation) = &source.kind else { return None };
    // No index counts all rows: one that a PLAN clause names is refused where a scan is planned.
    if !is_plain
        || source.hint.as_ref().is_some_and(|hint| **hint != AccessHint::Natural)
        || item.expression != Expression::Column(0)
        || !relation.is_stored()
    {
        return None;
    }
    Some(Node::Count(Arc::new(Count {
        relation: relation.clone(),
        layout: farbird_catalog::layout(relation),
        path: source.path.clone(),
    })))
}

/// SELECT MIN(column) or MAX(column) of one table and nothing else: the order in which it comes first, if an index has
/// it.
fn extreme_only(select: &BoundSelect) -> Option<SortKey> {
    let keys = select.grouping.as_ref()?;
    let [call] = select.block.aggregates.as_slice() else { return None };
    let descending = match call.function.name {
        "MIN" => false,
        "MAX" => true,
        _ => return None,
    };
    let ([Expression::Column(slot)], [column]) = (call.arguments.as_slice(), call.argument_types.as_slice())
    else {
        return None;
    };
    let is_plain = keys.is_empty()
        && call.filter.is_none()
        && select.block.windows.is_empty()
        && matches!(select.tree, FromTree::Source(_));
    let part =
        KeyPart { collation: collation_of(&column.sql_type), descending, nulls: NullsPosition::Lowest };
    is_plain.then(|| SortKey { value: Expression::Column(*slot), part })
}

/// The first row of the input that has a value there.
fn first_value(input: Node, position: usize) -> Node {
    let is_null = Expression::IsNull(Box::new(Expression::Column(position)));
    let input = input.filtered(vec![Expression::Not(Box::new(is_null))]);
    let first = Some(Expression::Constant(Value::integer(1)));
    Node::Limit(Arc::new(Limit { input, skip: None, first, ordinals: false }))
}

/// The rows that a statement changes, to be planned.
pub(crate) struct RowsOutline<'a> {
    /// How they are found.
    pub(crate) tree: &'a FromTree,
    /// WHERE.
    pub(crate) conditions: Vec<Expression>,
    /// ORDER BY.
    pub(crate) order: Vec<SortKey>,
    /// ROWS.
    pub(crate) limits: Vec<BoundLimit>,
    /// What the rows begin with.
    pub(crate) row: RowOutline<'a>,
}

/// The changed row that planned rows begin with, by slot (field id).
#[derive(Clone, Copy)]
pub(crate) enum RowOutline<'a> {
    /// That of a table: a source of the block.
    Table {
        /// The source.
        source: usize,
        /// The table.
        relation: &'a Relation,
        /// Slots of its rows.
        fields: usize,
    },
    /// That of a view whose triggers do all.
    View {
        /// Its columns, over the block.
        columns: &'a [NamedColumn],
        /// The view.
        relation: &'a Relation,
        /// Slots of its rows.
        fields: usize,
    },
}

/// Planned rows of a statement.
pub(crate) struct PlannedRows {
    /// The plan.
    pub(crate) node: Node,
    /// By slot of the block: the position in its rows.
    pub(crate) positions: Vec<usize>,
}

/// Plans the rows that a statement changes: first the changed row by slot (field id), then its number, then
/// everything else that is used.
///
/// # Errors
/// As [`plan`].
pub(crate) fn plan_rows(
    outline: RowsOutline<'_>,
    block: &Block,
    surroundings: Surroundings<'_>,
    frame: &mut FrameSize,
) -> Result<PlannedRows> {
    let RowsOutline { tree, conditions, mut order, limits, row } = outline;
    let mut joins = Joins {
        sources: block.sources.clone(),
        slots: block.slots.clone(),
        tree: tree.clone(),
        conditions,
        wanted: (0..block.slots.len()).collect(),
        groups: Groups::Forbidden,
        beyond_cost: 0.0,
    };
    let in_order = !limits.is_empty() && is_of_one_source(&order, &joins.slots);
    joins.rewrite(in_order, &surroundings.catalog.statistics);
    let needed = joins.needed();
    let mut planner = JoinPlanner::new(&joins.sources, &joins.slots, &needed, surroundings, frame);
    planner.join_as_told(&block.join_hints);
    if !limits.is_empty() {
        planner.for_first_rows(rows_asked_for(&limits));
    }
    let Planned { node, slots, ordered, .. } =
        planner.plan(&joins.tree, std::mem::take(&mut joins.conditions), &order)?;
    let found = |slot: usize| slots.iter().position(|known| *known == slot).unwrap_or(NO_SLOT);
    order.iter_mut().for_each(|key| key.value.move_columns(&found));
    let node = if ordered { node } else { sorted(node, order) };
    let node = limited(node, limits);
    let mut items = first_items(row, block, &found);
    let fields = items.len().saturating_sub(1);
    let mut positions = Vec::with_capacity(block.slots.len());
    for (number, slot) in block.slots.iter().enumerate() {
        let own = match row {
            RowOutline::Table { source, relation, .. } if slot.source == source => match slot.column {
                SourceColumn::Field(place) => {
                    relation.columns.get(place).map(|column| usize::from(column.field_id))
                }
                SourceColumn::RowNumber => Some(fields),
            },
            _ => None,
        };
        let place = own.unwrap_or_else(|| {
            items.push(Expression::NULL);
            items.len() - 1
        });
        if let Some(item) = items.get_mut(place) {
            *item = Expression::Column(found(number));
        }
        positions.push(place);
    }
    let node = match is_identity(&items, node.width()) {
        true => node,
        false => Node::Project(Arc::new(Project { input: node, items })),
    };
    hint::refuse_unused(&node)?;
    Ok(PlannedRows { node, positions })
}

/// The changed row and its number. A view's rows have no number, but they are there.
fn first_items(row: RowOutline<'_>, block: &Block, found: &dyn Fn(usize) -> usize) -> Vec<Expression> {
    match row {
        RowOutline::Table { fields, .. } => vec![Expression::NULL; fields + 1],
        RowOutline::View { columns, relation, fields } => {
            let mut items = vec![Expression::NULL; fields];
            for (column, definition) in columns.iter().zip(&relation.columns) {
                let mut value = match &column.value {
                    NamedValue::Expression(value) => value.clone(),
                    NamedValue::Source(source, place) => {
                        let wanted = Slot { source: *source, column: *place };
                        let slot = block.slots.iter().position(|slot| *slot == wanted);
                        Expression::Column(slot.unwrap_or(NO_SLOT))
                    }
                    NamedValue::Computed { .. } => Expression::Column(NO_SLOT),
                };
                value.move_columns(found);
                if let Some(item) = items.get_mut(usize::from(definition.field_id)) {
                    *item = value;
                }
            }
            items.push(Expression::Constant(Value::integer(1)));
            items
        }
    }
}

impl GroupedOutline {
    /// Plans it. `cost_for_row` is what the query costs for each row.
    ///
    /// # Errors
    /// As [`plan`].
    pub(crate) fn planned(
        self,
        surroundings: Surroundings<'_>,
        frame: &mut FrameSize,
        cost_for_row: f64,
    ) -> Result<GroupedQuery> {
        let GroupedOutline { select, types, around, item, counts } = self;
        let PlannedQuery { root, cost, .. } = plan(Outline::new(select), surroundings, frame)?;
        Ok(GroupedQuery { plan: root, types, around, item, counts, cost, cost_for_row })
    }
}
