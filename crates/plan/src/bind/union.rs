//! UNION, and the recursive common tables that are made of it.

use std::sync::Arc;

use farbird_expression::Expression;
use farbird_sql::ast;
use farbird_types::{ColumnType, Error, Result, SqlType, Value, arithmetic, isc};

use crate::bind::binder::Binder;
use crate::bind::data_type::collation_of;
use crate::bind::derived::{references_to, refers_to};
use crate::bind::error::{dsql, sqlcode, unsupported};
use crate::bind::namespace::{CommonTable, CommonTableScope, WorkingTable};
use crate::bind::shared::only_reads;
use crate::bound::query::{AggregatesAllowed, BoundSelect, OutputColumn};
use crate::bound::source::{FromTree, SourceColumn, SourceKind};
use crate::node::Node;

impl Binder<'_> {
    /// Binds the members of a UNION, and what orders and limits them all.
    pub(super) fn bind_union(
        &mut self,
        body: &ast::QueryBody,
        order_by: &[ast::OrderItem],
        limit: Option<&ast::Limit>,
    ) -> Result<BoundSelect> {
        let mut members = Vec::new();
        union_members(body, &mut members);
        self.refuse_names_inside()?;
        let mut bound = Vec::with_capacity(members.len());
        // Aggregates over columns from outside leave the members as they leave any other query.
        self.block().aggregates_allowed = AggregatesAllowed::Yes;
        for member in &members {
            let mut select = self.bind_member(member)?;
            self.describe_items(&mut select.items)?;
            bound.push(select);
        }
        self.block().aggregates_allowed = AggregatesAllowed::No;
        let columns = union_columns(&bound)?;
        if members.len() > 1 {
            order_by.iter().try_for_each(|item| check_position(&item.value, columns.len()))?;
        }
        let all: Vec<bool> = members.iter().map(|member| member.all).collect();
        let (plan, captures) = self.plan_union(bound, &columns, &all)?;
        self.select_from_plan(plan, captures, &columns, order_by, limit)
    }

    fn bind_member(&mut self, member: &Member<'_>) -> Result<BoundSelect> {
        self.deeper(|binder| {
            binder.in_new_block(false, |binder| match member.body {
                MemberBody::Select(select) => binder.bind_select_body(select, &[], None),
                MemberBody::Query(query) => binder.bind_parts(query),
            })
        })
    }

    /// A query that reads the rows of a plan, orders and limits them.
    fn select_from_plan(
        &mut self,
        plan: Node,
        captures: Vec<(usize, Expression)>,
        columns: &[OutputColumn],
        order_by: &[ast::OrderItem],
        limit: Option<&ast::Limit>,
    ) -> Result<BoundSelect> {
        let types = columns.iter().map(|column| column.column_type.sql_type).collect();
        let source = self.add_source(SourceKind::Derived { plan, captures, types }, Vec::new())?;
        let items: Vec<OutputColumn> = columns
            .iter()
            .enumerate()
            .map(|(place, column)| OutputColumn {
                expression: Expression::Column(self.block().slot(source, SourceColumn::Field(place))),
                ..column.clone()
            })
            .collect();
        let order = self.bind_order(order_by, &items)?;
        let limits = self.bind_optional_rows(limit)?;
        Ok(BoundSelect {
            block: std::mem::take(self.block()),
            tree: FromTree::Source(source),
            keyed_sources: Vec::new(),
            conditions: Vec::new(),
            grouping: None,
            having: Vec::new(),
            items,
            distinct: false,
            order,
            limits,
            first_rows: None,
        })
    }

    /// Plans the members of a UNION. UNION without ALL drops repeated rows of everything to its left too.
    fn plan_union(
        &mut self,
        members: Vec<BoundSelect>,
        columns: &[OutputColumn],
        all: &[bool],
    ) -> Result<(Node, Vec<(usize, Expression)>)> {
        let collations: Vec<_> =
            columns.iter().map(|column| collation_of(&column.column_type.sql_type)).collect();
        let mut captures = Vec::new();
        let mut inputs: Vec<Node> = Vec::new();
        for (place, mut member) in members.into_iter().enumerate() {
            convert_items(&mut member, columns);
            let (node, more) = self.plan_select(member)?;
            captures.extend(more);
            inputs.push(node);
            if place > 0 && all.get(place) == Some(&false) {
                let input = union_of(std::mem::take(&mut inputs));
                inputs.push(Node::Distinct(Arc::new(crate::node::Distinct {
                    input,
                    collations: collations.clone(),
                    estimate: None,
                })));
            }
        }
        Ok((union_of(inputs), captures))
    }

    /// Binds a recursive common table, in a fresh block.
    pub(crate) fn bind_recursive(&mut self, table: &Arc<CommonTable>) -> Result<BoundSelect> {
        let definition = &table.definition;
        let mut members = Vec::new();
        union_members(&definition.query.body, &mut members);
        check_recursion(&members, &table.name)?;
        let (recursive, anchors): (Vec<_>, Vec<_>) =
            members.into_iter().partition(|member| member.refers_to(&table.name));
        if anchors.is_empty() {
            return Err(recursion_error(isc::DSQL_CTE_MISS_NONRECURSIVE, &table.name));
        }
        if recursive.iter().any(|member| !member.all) {
            return Err(recursion_error(isc::DSQL_CTE_UNION_ALL, &table.name));
        }
        let mut bound = Vec::with_capacity(anchors.len());
        for member in &anchors {
            bound.push(self.bind_member(member)?);
        }
        let mut columns = union_columns(&bound)?;
        for (column, name) in columns.iter_mut().zip(&definition.columns) {
            column.name = Some(name.as_str().to_owned());
        }
        let all: Vec<bool> = anchors.iter().map(|member| member.all).collect();
        let (anchor, mut captures) = self.plan_union(bound, &columns, &all)?;
        let place = self.frame.working_rows;
        self.frame.working_rows += 1;
        let named = columns
            .iter()
            .map(|column| (column.name.clone().unwrap_or_else(|| column.label.clone()), column.column_type));
        let working = Arc::new(CommonTable {
            name: table.name.clone(),
            definition: definition.clone(),
            recursive: true,
            busy: false,
            working: Some(WorkingTable { place, columns: named.collect() }),
        });
        self.common_tables.push(CommonTableScope { tables: vec![working] });
        let step = self.bind_steps(&recursive, &columns);
        self.common_tables.pop();
        let (step, more) = step?;
        captures.extend(more);
        let reads_ahead = only_reads(&anchor) && only_reads(&step);
        let plan = Node::Recursive(Arc::new(crate::node::Recursive { anchor, step, place, reads_ahead }));
        self.select_from_plan(
            plan,
            captures,
            &columns,
            &definition.query.order_by,
            definition.query.limit.as_ref(),
        )
    }

    fn bind_steps(
        &mut self,
        members: &[Member<'_>],
        columns: &[OutputColumn],
    ) -> Result<(Node, Vec<(usize, Expression)>)> {
        let mut bound = Vec::with_capacity(members.len());
        for member in members {
            let step = self.bind_member(member)?;
            if step.grouping.is_some() || !step.block.windows.is_empty() {
                return Err(dsql(sqlcode::SYNTAX).and(isc::DSQL_CTE_RECURSIVE_AGGREGATE));
            }
            if step.items.len() != columns.len() {
                return Err(dsql(sqlcode::SYNTAX).and(isc::DSQL_COUNT_MISMATCH));
            }
            bound.push(step);
        }
        let all = vec![true; bound.len()];
        self.plan_union(bound, columns, &all)
    }
}

/// What the members of a recursive common table may be, as far as their FROM tells.
fn check_recursion(members: &[Member<'_>], name: &str) -> Result<()> {
    if members.len() < 2 {
        return Err(recursion_error(isc::DSQL_CTE_NOT_A_UNION, name));
    }
    let first = members.iter().position(|member| member.refers_to(name)).unwrap_or(members.len());
    for member in members.get(first..).unwrap_or_default() {
        if !member.refers_to(name) {
            return Err(recursion_error(isc::DSQL_CTE_NONRECURS_AFTER_RECURS, name));
        }
        let MemberBody::Select(select) = member.body else { continue };
        if select.distinct {
            return Err(recursion_error(isc::DSQL_CTE_WRONG_CLAUSE, name).with("DISTINCT"));
        }
        match references_to(&select.from, name) {
            (_, true) => return Err(dsql(sqlcode::SYNTAX).and(isc::DSQL_CTE_OUTER_JOIN)),
            (2.., _) => return Err(dsql(sqlcode::SYNTAX).and(isc::DSQL_CTE_MULT_REFERENCES)),
            _ => {}
        }
    }
    Ok(())
}

/// A member of a UNION.
struct Member<'a> {
    body: MemberBody<'a>,
    /// Whether it follows UNION ALL; the first member's does not matter.
    all: bool,
}

#[derive(Clone, Copy)]
enum MemberBody<'a> {
    Select(&'a ast::Select),
    Query(&'a ast::Query),
}

impl Member<'_> {
    fn refers_to(&self, name: &str) -> bool {
        match self.body {
            MemberBody::Select(select) => refers_to(&ast::QueryBody::Select(Box::new(select.clone())), name),
            MemberBody::Query(query) => refers_to(&query.body, name),
        }
    }
}

/// The members of UNIONs, which associate to the left.
fn union_members<'a>(body: &'a ast::QueryBody, out: &mut Vec<Member<'a>>) {
    let mut rights = Vec::new();
    let mut body = body;
    while let ast::QueryBody::Union(union) = body {
        rights.push((&union.right, union.all));
        body = &union.left;
    }
    out.push(Member { body: member_body(body), all: true });
    out.extend(rights.into_iter().rev().map(|(right, all)| Member { body: member_body(right), all }));
}

fn member_body(body: &ast::QueryBody) -> MemberBody<'_> {
    match body {
        ast::QueryBody::Select(select) => MemberBody::Select(select),
        ast::QueryBody::Nested(query) => MemberBody::Query(query),
        // The parser puts a UNION on the right into parentheses only.
        ast::QueryBody::Union(union) => member_body(&union.left),
    }
}

/// The columns of a UNION: names of the first member, types that hold the values of all. Of columns without a name only
/// aggregates are called something.
fn union_columns(members: &[BoundSelect]) -> Result<Vec<OutputColumn>> {
    let Some(first) = members.first() else { return Err(unsupported("an empty UNION")) };
    if members.iter().any(|member| member.items.len() != first.items.len()) {
        return Err(dsql(sqlcode::SYNTAX).and(isc::DSQL_COMMAND_ERR).and(isc::DSQL_COUNT_MISMATCH));
    }
    let mut columns = Vec::with_capacity(first.items.len());
    for (place, item) in first.items.iter().enumerate() {
        let types: Vec<SqlType> = members
            .iter()
            .filter_map(|member| member.items.get(place))
            .map(|item| item.column_type.sql_type)
            .collect();
        let nullable = members
            .iter()
            .any(|member| member.items.get(place).is_some_and(|item| item.column_type.nullable));
        let sql_type = arithmetic::common_type_in(&types, "UNION")?;
        // Aggregates stand here as columns of the grouping.
        let label = match &item.expression {
            Expression::Column(_) => item.label.clone(),
            // Behind a conversion it is a constant no more.
            Expression::Constant(value)
                if item.name.is_none()
                    && item.column_type.sql_type == sql_type
                    && is_written_as_it_is(value) =>
            {
                item.label.clone()
            }
            _ => item.name.clone().unwrap_or_default(),
        };
        // What has been converted is no longer a table's column.
        let origin = item.origin.clone().filter(|_| item.column_type.sql_type == sql_type);
        let column_type = ColumnType { sql_type, nullable };
        let sent_as_char =
            is_sent_as_char(&sql_type, members.iter().filter_map(|member| member.items.get(place)));
        columns.push(OutputColumn { label, column_type, origin, sent_as_char, ..item.clone() });
    }
    Ok(columns)
}

/// Rows of a UNION are ordered by the positions of their columns, whose names are those of one member only.
fn check_position(value: &ast::Expression, columns: usize) -> Result<()> {
    let position = match &value.kind {
        ast::ExpressionKind::Collate { operand, .. } => operand,
        _ => value,
    };
    match &position.kind {
        ast::ExpressionKind::Literal(ast::Literal::Integer { value, .. })
            if usize::try_from(*value).is_ok_and(|place| (1..=columns).contains(&place)) =>
        {
            Ok(())
        }
        _ => Err(dsql(sqlcode::SYNTAX).and(isc::DSQL_COMMAND_ERR).and(isc::ORDER_BY_ERR)),
    }
}

/// Whether a constant can stand in a text as it is: NULL is a word, and before a negative number stands an operator.
fn is_written_as_it_is(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Integer { unscaled, .. } => *unscaled >= 0,
        Value::Int128 { unscaled, .. } => *unscaled >= 0,
        Value::Double(number) => *number >= 0.0,
        _ => true,
    }
}

/// Whether values of several queries, none of them a VARCHAR to clients, have become one.
fn is_sent_as_char<'q>(sql_type: &SqlType, mut items: impl Iterator<Item = &'q OutputColumn>) -> bool {
    matches!(sql_type, SqlType::Text(text) if text.varying)
        && items.all(|item| match item.column_type.sql_type {
            SqlType::Text(own) => item.sent_as_char || !own.varying,
            other => other == SqlType::Null,
        })
}

/// Converts a member's values to the UNION's types.
fn convert_items(member: &mut BoundSelect, columns: &[OutputColumn]) {
    for (item, column) in member.items.iter_mut().zip(columns) {
        let from = item.column_type.sql_type;
        let to = column.column_type.sql_type;
        let value = std::mem::replace(&mut item.expression, Expression::NULL);
        item.expression = value.converted(&from, &to);
        item.column_type.sql_type = to;
    }
}

fn union_of(mut inputs: Vec<Node>) -> Node {
    match inputs.len() {
        1 => inputs.swap_remove(0),
        _ => Node::Union(Arc::new(crate::node::Union { inputs })),
    }
}

fn recursion_error(code: u32, table: &str) -> Error {
    dsql(sqlcode::SYNTAX).and(code).with(table)
}
