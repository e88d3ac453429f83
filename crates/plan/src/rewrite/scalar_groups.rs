//! `(SELECT SUM(x) FROM t WHERE t.k = outer.k)`, which runs for each row, becomes one query that groups by `k`, and a LEFT JOIN with
//! its rows: where that is cheaper, and where it is exact.
//!
//! Exact it is for one aggregate query whose conditions lead to the outer row by equalities of alike values alone, and of which
//! nothing can fail that groups nobody asks for would fail with. Where there is no group the aggregates have the values that they
//! have of no rows.

use std::collections::HashMap;

use farbird_catalog::statistics::Statistics;
use farbird_expression::{Expression, SubqueryKind};
use farbird_sql::ast::ComparisonOperator;
use farbird_types::{Collation, ColumnType, SqlType, Value};

use crate::bound::query::{Block, BoundSelect, OutputColumn};
use crate::bound::source::{FromTree, Slot, Source, SourceColumn, SourceKind};
use crate::cost;
use crate::estimate::{Estimator, blocks_of_table};
use crate::join::may_fail;
use crate::node::{Access, AggregateCall, JoinKey, Node};
use crate::rewrite::dropping::are_alike;
use crate::rewrite::joins::{GroupedQuery, Groups, Joins, flatten};
use crate::subplan::planned;

/// What joining a row with its group costs, in the units of `cost`.
const JOINED_ROW: f64 = 0.75;

/// The grouping form of a query before it is planned.
pub(crate) struct GroupedOutline {
    pub(crate) select: BoundSelect,
    pub(crate) types: Vec<SqlType>,
    pub(crate) around: Vec<(Expression, Collation)>,
    pub(crate) item: Expression,
    pub(crate) counts: Vec<bool>,
}

/// The form of a query that groups, if it has one.
pub(crate) fn grouped(select: &BoundSelect) -> Option<GroupedOutline> {
    let block = &select.block;
    let [item] = select.items.as_slice() else { return None };
    let is_table = |source: &Source| matches!(source.kind, SourceKind::Table(_));
    let is_plain = select.grouping.as_ref().is_some_and(Vec::is_empty)
        && !block.captures.is_empty()
        && select.having.is_empty()
        && select.order.is_empty()
        && select.limits.is_empty()
        && !select.distinct
        && block.windows.is_empty()
        && !block.volatile
        && !block.captured_deeper
        && select.tree.is_inner()
        && block.sources.iter().all(is_table)
        && !item.expression.any(&|part| matches!(part, Expression::Subquery(_)))
        && !item.expression.is_volatile();
    if !is_plain {
        return None;
    }
    let mut joins = Joins {
        sources: block.sources.clone(),
        slots: block.slots.clone(),
        tree: FromTree::Group(Vec::new(), Vec::new()),
        conditions: Vec::new(),
        wanted: Default::default(),
        groups: Groups::Allowed,
        beyond_cost: 0.0,
    };
    let (mut items, mut conditions) = (Vec::new(), Vec::new());
    flatten(select.tree.clone(), &mut items, &mut conditions);
    conditions.extend(select.conditions.iter().cloned());
    joins.tree = FromTree::Group(items, Vec::new());
    let calls = &block.aggregates;
    if !calls.iter().all(|call| cannot_fail_of_any_rows(call, &joins)) {
        return None;
    }
    let (mut keys, mut types, mut around) = (Vec::new(), Vec::new(), Vec::new());
    for condition in conditions {
        if may_fail(&condition) || condition.is_volatile() {
            return None;
        }
        if !looks_around(&condition) {
            joins.conditions.push(condition);
            continue;
        }
        let (own, other, collation) = equality(condition)?;
        types.push(own.static_type(&|slot| joins.slot_type(slot))?);
        keys.push(JoinKey { value: own, collation });
        around.push((other, collation));
    }
    if keys.is_empty() {
        return None;
    }
    types.extend(calls.iter().map(|call| call.result.sql_type));
    let column = |(place, sql_type): (usize, &SqlType)| OutputColumn {
        name: None,
        label: String::new(),
        expression: Expression::Column(place),
        column_type: ColumnType { sql_type: *sql_type, nullable: true },
        origin: None,
        shape: None,
        sent_as_char: false,
    };
    let grouping = BoundSelect {
        items: types.iter().enumerate().map(column).collect(),
        block: Block {
            sources: joins.sources,
            slots: joins.slots,
            aggregates: calls.clone(),
            ..Block::default()
        },
        tree: joins.tree,
        keyed_sources: Vec::new(),
        conditions: joins.conditions,
        grouping: Some(keys),
        having: Vec::new(),
        distinct: false,
        order: Vec::new(),
        limits: Vec::new(),
        first_rows: None,
    };
    Some(GroupedOutline {
        select: grouping,
        types,
        around,
        item: item.expression.clone(),
        counts: calls.iter().map(|call| call.function.name == "COUNT").collect(),
    })
}

/// Whether an aggregate has a value of any rows whatever.
fn cannot_fail_of_any_rows(call: &AggregateCall, joins: &Joins) -> bool {
    let is_exact = |slot: usize| matches!(joins.slot_type(slot), Some(SqlType::Exact { .. }));
    let is_harmless = |argument: &Expression| match argument {
        Expression::Column(slot) => match call.function.name {
            "MIN" | "MAX" | "COUNT" => {
                !matches!(joins.slot_type(*slot), None | Some(SqlType::Blob { .. } | SqlType::Array))
            }
            _ => is_exact(*slot),
        },
        Expression::Cast { operand, to: SqlType::Double } => {
            matches!(operand.as_ref(), Expression::Column(slot) if is_exact(*slot))
        }
        _ => false,
    };
    matches!(call.function.name, "COUNT" | "SUM" | "AVG" | "MIN" | "MAX")
        && call.filter.is_none()
        && call.arguments.iter().all(is_harmless)
}

/// What the scans of a plan cost beyond what is counted.
fn beyond_scans(node: &Node, statistics: &Statistics) -> f64 {
    match node {
        Node::Filter(filter) => beyond_scans(&filter.input, statistics),
        Node::HashJoin(join) => beyond_scans(&join.outer, statistics) + beyond_scans(&join.inner, statistics),
        Node::Table(scan) if matches!(scan.access, Access::Natural) => {
            let blocks = blocks_of_table(statistics, &scan.relation);
            cost::beyond_scan(node.estimate().cost, blocks)
        }
        _ => 0.0,
    }
}

fn looks_around(expression: &Expression) -> bool {
    expression.any(&|part| matches!(part, Expression::Register(_)))
}

/// The two sides of an equality: what the query's rows have, and what the row around it has.
fn equality(condition: Expression) -> Option<(Expression, Expression, Collation)> {
    let Expression::Comparison { operator: ComparisonOperator::Equal, left, right, collation } = condition
    else {
        return None;
    };
    let is_own = |side: &Expression| !looks_around(side) && !side.is_row_independent();
    match (is_own(&left), is_own(&right)) {
        (true, false) if right.is_row_independent() => Some((*left, *right, collation)),
        (false, true) if left.is_row_independent() => Some((*right, *left, collation)),
        _ => None,
    }
}

/// Values of queries that have become members of the join, by the queries' places.
#[derive(Default)]
pub(crate) struct Replaced(HashMap<usize, Expression>);

impl Replaced {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Joins {
    /// Makes members of the join of queries for each row in a condition or an item, where that is cheaper if they run for all
    /// rows of the sources that they look at.
    pub(crate) fn take_in_groups(
        &mut self,
        expression: &mut Expression,
        statistics: &Statistics,
        replaced: &mut Replaced,
    ) {
        expression.rewrite(&mut |part| {
            let Expression::Subquery(subquery) = part else { return None };
            if let Some(known) = replaced.0.get(&subquery.place) {
                return Some(known.clone());
            }
            if subquery.kind != SubqueryKind::Scalar || !subquery.repeatable {
                return None;
            }
            let query = planned(subquery)?.grouped.as_ref()?;
            let value = self.taken_in(query, &subquery.captures, statistics)?;
            replaced.0.insert(subquery.place, value.clone());
            Some(value)
        });
    }

    fn taken_in(
        &mut self,
        query: &GroupedQuery,
        captures: &[(usize, Expression)],
        statistics: &Statistics,
    ) -> Option<Expression> {
        let outer_rows = self.rows_around(captures, statistics)?;
        if outer_rows * query.cost_for_row <= query.cost + outer_rows * JOINED_ROW {
            return None;
        }
        let by_capture = |expression: &mut Expression| {
            expression.rewrite(&mut |part| match part {
                Expression::Register(number) => {
                    captures.iter().find(|(register, _)| register == number).map(|(_, value)| value.clone())
                }
                _ => None,
            });
        };
        let mut around = query.around.clone();
        around.iter_mut().for_each(|(value, _)| by_capture(value));
        // Registers of blocks further out are not this query's.
        let alike = around.iter().zip(&query.types).all(|((value, _), key_type)| {
            value.static_type(&|slot| self.slot_type(slot)).is_some_and(|found| are_alike(found, *key_type))
        });
        if !alike {
            return None;
        }
        if let Node::Aggregate(aggregate) = &query.plan {
            self.beyond_cost += beyond_scans(&aggregate.input, statistics);
        }
        let (source, first_slot) = (self.sources.len(), self.slots.len());
        let kind = SourceKind::Derived {
            plan: query.plan.clone(),
            captures: Vec::new(),
            types: query.types.clone(),
        };
        self.sources.push(Source::new(kind, Vec::new()));
        let fields = (0..query.types.len()).map(SourceColumn::Field);
        self.slots.extend(fields.map(|column| Slot { source, column }));
        let keys = around.len();
        let on = around.into_iter().enumerate().map(|(place, (value, collation))| Expression::Comparison {
            operator: ComparisonOperator::Equal,
            left: Box::new(value),
            right: Box::new(Expression::Column(first_slot + place)),
            collation,
        });
        let on = on.collect();
        let tree = std::mem::replace(&mut self.tree, FromTree::Group(Vec::new(), Vec::new()));
        self.tree = FromTree::Left(Box::new(tree), Box::new(FromTree::Source(source)), on);
        let mut value = query.item.clone();
        value.rewrite(&mut |part| match part {
            Expression::Column(place) => {
                let column = Expression::Column(first_slot + keys + place);
                Some(match query.counts.get(*place) {
                    Some(true) => Expression::Coalesce(vec![column, Expression::Constant(Value::integer(0))]),
                    _ => column,
                })
            }
            Expression::Register(number) => {
                captures.iter().find(|(register, _)| register == number).map(|(_, value)| value.clone())
            }
            _ => None,
        });
        Some(value)
    }

    /// How many rows there are at most for which a query runs that takes these values from them; none if it takes none.
    fn rows_around(&self, captures: &[(usize, Expression)], statistics: &Statistics) -> Option<f64> {
        let estimator = Estimator::new(&self.sources, &self.slots, statistics);
        let rows = captures.iter().flat_map(|(_, value)| self.sources_of(value)).map(|source| {
            let own = self.conditions.iter().filter(|condition| {
                let sources = self.sources_of(condition);
                sources.len() == 1 && sources.contains(&source)
            });
            estimator.rows(source) * estimator.selectivity(own)
        });
        rows.max_by(f64::total_cmp)
    }
}
