//! SELECT, UNION, WITH: from the syntax tree to what is planned.

use std::sync::Arc;

use farbird_catalog::RelationKind;
use farbird_expression::Expression;
use farbird_session::{ColumnDescription, StatementKind};
use farbird_sql::ast;
use farbird_types::key::{KeyPart, NullsPosition};
use farbird_types::{Collation, ColumnType, Error, Result, SqlType, TextType, isc};

use crate::bind::alone::surroundings;
use crate::bind::array::check_sortable;
use crate::bind::binder::{Binder, Bound};
use crate::bind::data_type::{self, collation_of};
use crate::bind::error::{ambiguous_item, at, dsql, sqlcode};
use crate::bind::inference::inferred;
use crate::bind::label::label_of;
use crate::bind::namespace::NamedTable;
use crate::bind::prepared::{Action, Prepared, QueryDescription, QueryOptions, VariableScope};
use crate::block::{LockWish, Outline};
use crate::bound::environment::Environment;
use crate::bound::opaque::{ColumnPlace, OpaqueColumns};
use crate::bound::query::{AggregatesAllowed, BoundLimit, BoundSelect, OutputColumn};
use crate::bound::shape::Shape;
use crate::bound::source::{Source, SourceColumn, SourceKind};
use crate::node::{Node, RowNumberColumn, SelectPlan, SortKey};
use crate::rewrite::joins::{GroupedQuery, UnnestedQuery};

/// What stands at a place of a select list.
pub(super) enum ItemPlace<'q> {
    /// A column that `*` stands for.
    Expanded(Box<Bound>),
    /// An expression.
    Written(&'q ast::Expression),
}

pub(crate) fn bind_select(
    environment: &Environment,
    select: &ast::SelectStatement,
    variables: &dyn VariableScope,
    options: QueryOptions,
) -> Result<Prepared> {
    inferred(environment, variables, |binder| bind_select_once(binder, select, options))
}

/// Binds a query of one table as one of the row alone whose number is in a slot, whatever it asks for; nothing if its columns do
/// not come from that row alone.
///
/// # Errors
/// Those of binding the query.
pub(crate) fn bind_row_of_select(
    environment: &Environment,
    select: &ast::SelectStatement,
    variables: &dyn VariableScope,
    row_number: usize,
) -> Result<Option<Prepared>> {
    let mut binder = Binder::new(environment, variables);
    let mut bound = binder.bind_parts(&select.query)?;
    binder.describe_items(&mut bound.items)?;
    let is_flat = bound.grouping.is_none() && !bound.distinct && bound.block.windows.is_empty();
    let [Source { kind: SourceKind::Table(_), .. }] = bound.block.sources.as_slice() else {
        return Ok(None);
    };
    if !is_flat {
        return Ok(None);
    }
    let number = bound.block.slot(0, SourceColumn::RowNumber);
    bound.conditions = vec![Expression::Comparison {
        operator: ast::ComparisonOperator::Equal,
        left: Box::new(Expression::Column(number)),
        right: Box::new(Expression::Parameter(row_number)),
        collation: Collation::default(),
    }];
    bound.order.clear();
    bound.limits.clear();
    prepared_select(&mut binder, bound, select, QueryOptions::default(), None).map(Some)
}

fn bind_select_once(
    binder: &mut Binder<'_>,
    select: &ast::SelectStatement,
    options: QueryOptions,
) -> Result<Prepared> {
    let environment = binder.environment;
    let mut bound = binder.bind_parts(&select.query)?;
    binder.describe_items(&mut bound.items)?;
    let lock = select.with_lock.map(|lock| LockWish { skip_locked: lock.skip_locked });
    if lock.is_some() {
        let table = check_lockable(environment, &select.query, &bound)?;
        binder.access(
            farbird_catalog::ObjectKind::Relation,
            table,
            None,
            farbird_catalog::AccessPrivilege::Lock,
        );
    }
    let told = select.optimize_for.map(|mode| mode == ast::OptimizeFor::FirstRows);
    bound.first_rows = told.or(environment.first_rows.then_some(true));
    prepared_select(binder, bound, select, options, lock)
}

/// Plans a bound query and describes it.
fn prepared_select(
    binder: &mut Binder<'_>,
    bound: BoundSelect,
    select: &ast::SelectStatement,
    options: QueryOptions,
    lock: Option<LockWish>,
) -> Result<Prepared> {
    let columns: Vec<ColumnDescription> = bound.items.iter().map(describe_column).collect();
    let (root, row_numbers) = binder.plan_top(bound, options, lock)?;
    binder.count_shared(&root, &[]);
    let plan = crate::text::short(&root, &[]);
    let explained_plan = crate::text::explained(&root, &[]);
    let plan_of_query = SelectPlan {
        root,
        columns: columns.clone(),
        frame: binder.frame,
        row_numbers,
        calls_local_routines: binder.calls_local_routines,
    };
    Ok(Prepared {
        kind: if select.for_update.is_some() {
            StatementKind::SelectForUpdate
        } else {
            StatementKind::Select
        },
        action: Action::Select(Arc::new(plan_of_query)),
        parameters: binder.described_parameters(binder.parameter_count())?,
        columns,
        has_cursor: true,
        plan,
        explained_plan,
        accesses: std::mem::take(&mut binder.accesses).into_iter().collect(),
        warnings: unused_tables_warning(&binder.unused_common_tables),
    })
}

/// What the client is told of common tables that are not read.
pub(super) fn unused_tables_warning(unused: &[String]) -> Option<Error> {
    if unused.is_empty() {
        return None;
    }
    let start = Error::new(isc::SQLWARN).with(sqlcode::SYNTAX);
    Some(unused.iter().fold(start, |warning, name| warning.and(isc::DSQL_CTE_NOT_USED).with(name.as_str())))
}

/// WITH LOCK is for rows of one table; gives its name.
fn check_lockable<'q>(
    environment: &Environment,
    query: &'q ast::Query,
    bound: &BoundSelect,
) -> Result<&'q str> {
    let refused = |code: u32| dsql(sqlcode::SYNTAX).and(code);
    let select = match &query.body {
        ast::QueryBody::Select(select) => select,
        ast::QueryBody::Union(_) => return Err(refused(isc::DSQL_WLOCK_CONFLICT).with("UNION")),
        ast::QueryBody::Nested(_) => return Err(refused(isc::DSQL_WLOCK_SIMPLE)),
    };
    let [ast::TableReference::Named(table)] = select.from.as_slice() else {
        return Err(refused(isc::DSQL_WLOCK_SIMPLE));
    };
    let name = table.name.name.as_str();
    let is_common =
        query.with.as_ref().is_some_and(|with| with.tables.iter().any(|other| other.name == table.name.name));
    match environment.catalog.relations.get(name).map(|relation| &relation.kind) {
        _ if is_common => return Err(refused(isc::DSQL_WLOCK_SIMPLE)),
        None | Some(RelationKind::View { .. } | RelationKind::External { .. }) => {
            return Err(refused(isc::DSQL_WLOCK_SIMPLE));
        }
        Some(RelationKind::TemporaryTransaction | RelationKind::TemporarySession) => {
            return Err(Error::new(isc::FORUPDATE_TEMPTBL).with(name));
        }
        Some(RelationKind::System) => return Err(Error::new(isc::FORUPDATE_SYSTBL).with(name)),
        Some(_) => {}
    }
    if bound.distinct {
        return Err(refused(isc::DSQL_WLOCK_CONFLICT).with("DISTINCT"));
    }
    if bound.grouping.is_some() {
        return Err(refused(isc::DSQL_WLOCK_AGGREGATES));
    }
    Ok(name)
}

pub(crate) fn describe(environment: &Environment, query: &ast::Query) -> Result<QueryDescription> {
    let mut binder = Binder::new(environment, &super::NoVariables);
    let bound = binder.bind_parts(query)?;
    Ok(QueryDescription {
        columns: bound.items.iter().map(describe_column).collect(),
        accesses: binder.accesses.into_iter().collect(),
    })
}

/// A result column as prepare describes it. A bare NULL is a CHAR(1) to clients, as Firebird has it; of
/// [`OutputColumn::sent_as_char`] only the type is another one, blanks are the message's.
pub(crate) fn describe_column(item: &OutputColumn) -> ColumnDescription {
    let origin = item.origin.clone().unwrap_or_default();
    let field = if item.origin.is_some() { origin.field } else { item.label.clone() };
    let column_type = match item.column_type.sql_type {
        SqlType::Null => {
            ColumnType { sql_type: SqlType::char(1, farbird_types::CharacterSet::NONE), nullable: true }
        }
        SqlType::Text(text) if item.sent_as_char => {
            ColumnType { sql_type: SqlType::Text(TextType { varying: false, ..text }), ..item.column_type }
        }
        _ => item.column_type,
    };
    ColumnDescription {
        column_type,
        alias: item.name.clone().unwrap_or_else(|| item.label.clone()),
        field,
        relation: origin.relation,
        relation_alias: origin.alias,
        owner: origin.owner,
    }
}

impl Binder<'_> {
    /// How many parameters have been seen.
    pub(crate) fn parameter_count(&self) -> usize {
        if self.variables.is_psql() { 0 } else { self.parameters.len() }
    }

    /// Binds a query in the current block, which must be fresh.
    pub(crate) fn bind_parts(&mut self, query: &ast::Query) -> Result<BoundSelect> {
        let defined = self.common_tables.len();
        if let Some(with) = &query.with {
            self.define_common_tables(with)?;
        }
        let mut result = self.bind_body(&query.body, &query.order_by, query.limit.as_ref());
        if query.with.is_some() {
            result = result.and_then(|select| self.check_unused_common_tables(defined).map(|()| select));
        }
        self.common_tables.truncate(defined);
        result
    }

    /// A query's body with what orders and limits it. Parentheses around a query that has neither change nothing.
    fn bind_body(
        &mut self,
        body: &ast::QueryBody,
        order_by: &[ast::OrderItem],
        limit: Option<&ast::Limit>,
    ) -> Result<BoundSelect> {
        match body {
            ast::QueryBody::Select(select) => self.bind_select_body(select, order_by, limit),
            ast::QueryBody::Union(_) => self.bind_union(body, order_by, limit),
            ast::QueryBody::Nested(nested) if order_by.is_empty() && limit.is_none() => {
                self.deeper(|binder| binder.bind_parts(nested))
            }
            ast::QueryBody::Nested(nested)
                if nested.with.is_none() && nested.order_by.is_empty() && nested.limit.is_none() =>
            {
                self.deeper(|binder| binder.bind_body(&nested.body, order_by, limit))
            }
            ast::QueryBody::Nested(_) => self.bind_union(body, order_by, limit),
        }
    }

    pub(super) fn bind_select_body(
        &mut self,
        select: &ast::Select,
        order_by: &[ast::OrderItem],
        limit: Option<&ast::Limit>,
    ) -> Result<BoundSelect> {
        let mut limits = Vec::new();
        if limit.is_some() && (select.first.is_some() || select.skip.is_some()) {
            return Err(dsql(sqlcode::SYNTAX).and(isc::DSQL_FIRSTSKIP_ROWS));
        }
        if select.first.is_some() || select.skip.is_some() {
            limits.push(BoundLimit {
                skip: self.bind_limit(select.skip.as_ref())?,
                first: self.bind_limit(select.first.as_ref())?,
                ordinals: false,
            });
        }
        for (place, window) in select.windows.iter().enumerate() {
            if select.windows.iter().take(place).any(|earlier| earlier.name == window.name) {
                return Err(dsql(sqlcode::UNKNOWN_TABLE)
                    .and(isc::DSQL_WINDOW_DUPLICATE)
                    .with(window.name.as_str()));
            }
        }
        self.block().named_windows = select.windows.clone();
        self.note_plan(select.plan.as_ref());
        let tree = self.bind_from(&select.from)?;
        let keyed_sources = self.namespace().keyed_sources();
        let mut conditions = Vec::new();
        self.block().aggregates_allowed = AggregatesAllowed::Where;
        if let Some(condition) = &select.condition {
            self.bind_condition(condition)?.into_conjuncts(&mut conditions);
        }
        self.block().aggregates_allowed = AggregatesAllowed::GroupBy;
        let namespace = self.namespace();
        let has_expressions =
            !namespace.merged.is_empty() || namespace.tables.iter().any(NamedTable::has_expressions);
        if has_expressions && (!select.group_by.is_empty() || select.having.is_some()) {
            self.block().opaque = Some(OpaqueColumns::default());
        }
        let keys = self.bind_group_by(&select.group_by, &select.items)?;
        keys.iter().try_for_each(|key| check_sortable(key.sql_type()))?;
        self.block().aggregates_allowed = AggregatesAllowed::Yes;
        let captured = (self.block().captures.len(), self.block().captured_deeper);
        let mut items = self.bind_items(&select.items)?;
        if has_expressions && self.block().opaque.is_none() && !self.block().aggregates.is_empty() {
            // Only now it is known to group: once more.
            let block = self.block();
            block.opaque = Some(OpaqueColumns::default());
            block.aggregates.clear();
            block.windows.clear();
            block.captures.truncate(captured.0);
            block.captured_deeper = captured.1;
            items = self.bind_items(&select.items)?;
        }
        if select.distinct {
            items.iter().try_for_each(|item| check_sortable(&item.column_type.sql_type))?;
        }
        let mut having = Vec::new();
        if let Some(condition) = &select.having {
            self.bind_condition(condition)?.into_conjuncts(&mut having);
            if having.iter().any(|condition| condition.any(&|part| matches!(part, Expression::Window(_)))) {
                return Err(dsql(sqlcode::SYNTAX).and(isc::DSQL_AGG_WHERE_ERR));
            }
        }
        let mut order = self.bind_order(order_by, &items)?;
        self.block().aggregates_allowed = AggregatesAllowed::No;
        let grouped =
            !select.group_by.is_empty() || select.having.is_some() || !self.block().aggregates.is_empty();
        let grouping = match grouped {
            true => Some(self.finish_grouping(keys, &mut items, &mut having, &mut order)?),
            false => None,
        };
        self.block().opaque = None;
        self.resolve_plan(select.plan.as_ref(), grouped || select.distinct)?;
        if let Some(limit) = limit {
            limits.push(self.bind_rows(limit)?);
        }
        Ok(BoundSelect {
            block: std::mem::take(self.block()),
            tree,
            keyed_sources,
            conditions,
            grouping,
            having,
            items,
            distinct: select.distinct,
            order,
            limits,
            first_rows: None,
        })
    }

    fn bind_limit(&mut self, limit: Option<&ast::Expression>) -> Result<Option<Expression>> {
        let Some(limit) = limit else { return Ok(None) };
        let mut bound = self.bind_value(limit)?;
        self.tell(&mut bound, Some(ColumnType { sql_type: SqlType::BIGINT, nullable: false }))?;
        Ok(Some(bound.expression))
    }

    /// The ordinal at which ROWS ends: Firebird computes with it, and does not do so with texts.
    fn bind_last_row(&mut self, last: &ast::Expression) -> Result<Expression> {
        let mut bound = self.bind_value(last)?;
        self.tell(&mut bound, Some(ColumnType { sql_type: SqlType::BIGINT, nullable: false }))?;
        match bound.sql_type() {
            SqlType::Text(_) => Err(Error::new(isc::EXPRESSION_EVAL_ERR)),
            _ => Ok(bound.expression),
        }
    }

    fn bind_rows(&mut self, limit: &ast::Limit) -> Result<BoundLimit> {
        match limit {
            ast::Limit::Rows { from: None, to } => {
                Ok(BoundLimit { skip: None, first: self.bind_limit(Some(to))?, ordinals: false })
            }
            ast::Limit::Rows { from, to } => Ok(BoundLimit {
                skip: self.bind_limit(from.as_deref())?,
                first: Some(self.bind_last_row(to)?),
                ordinals: true,
            }),
            ast::Limit::OffsetFetch { offset, fetch } => Ok(BoundLimit {
                skip: self.bind_limit(offset.as_deref())?,
                first: self.bind_limit(fetch.as_deref())?,
                ordinals: false,
            }),
        }
    }

    /// Binds ROWS of UPDATE and DELETE.
    pub(crate) fn bind_optional_rows(&mut self, limit: Option<&ast::Limit>) -> Result<Vec<BoundLimit>> {
        limit.map(|limit| self.bind_rows(limit)).transpose().map(|limit| limit.into_iter().collect())
    }

    /// The items of a select list one by one: the columns of `*`, bound, or the expression that stands there.
    pub(super) fn item_places<'q>(&mut self, items: &'q [ast::SelectItem]) -> Result<Vec<ItemPlace<'q>>> {
        let mut places = Vec::with_capacity(items.len());
        for item in items {
            let mut columns = Vec::new();
            match item {
                ast::SelectItem::Star(_) => self.expand_star(&mut columns)?,
                ast::SelectItem::QualifiedStar(qualifier) => self.expand_table(qualifier, &mut columns)?,
                ast::SelectItem::Expression { value, .. } => places.push(ItemPlace::Written(value)),
            }
            places.extend(columns.into_iter().map(|column| {
                ItemPlace::Expanded(Box::new(Bound {
                    expression: column.expression,
                    column_type: column.column_type,
                    origin: column.origin,
                    shape: None,
                    computed_as: None,
                    sent_as_char: column.sent_as_char,
                }))
            }));
        }
        Ok(places)
    }

    pub(crate) fn bind_items(&mut self, items: &[ast::SelectItem]) -> Result<Vec<OutputColumn>> {
        let mut columns = Vec::with_capacity(items.len());
        for item in items {
            match item {
                ast::SelectItem::Star(position) => {
                    let before = columns.len();
                    self.expand_star(&mut columns)?;
                    if columns.len() == before {
                        let error = dsql(sqlcode::SYNTAX).and(isc::COMMAND_END_ERR);
                        return Err(at(error, *position));
                    }
                }
                ast::SelectItem::QualifiedStar(qualifier) => self.expand_table(qualifier, &mut columns)?,
                ast::SelectItem::Expression { value, alias } => {
                    let mut bound = self.bind_value(value)?;
                    self.settle(&mut bound);
                    let own_name = match &value.kind {
                        ast::ExpressionKind::Column { name, .. }
                        | ast::ExpressionKind::Variable { name, .. } => Some(name.as_str().to_owned()),
                        ast::ExpressionKind::RecordKey { .. } => {
                            bound.origin.as_ref().map(|origin| origin.field.clone())
                        }
                        // Called as its column is called, which `*` does not tell.
                        ast::ExpressionKind::Subquery(_) => Some(label_of(value))
                            .filter(|label| !label.is_empty())
                            .or_else(|| bound.origin.as_ref().map(|origin| origin.field.clone())),
                        _ => None,
                    };
                    columns.push(OutputColumn {
                        name: alias.as_ref().map(|alias| alias.as_str().to_owned()).or(own_name),
                        label: label_of(value),
                        expression: bound.expression,
                        column_type: bound.column_type,
                        origin: bound.origin,
                        shape: bound.shape,
                        sent_as_char: bound.sent_as_char,
                    });
                }
            }
        }
        Ok(columns)
    }

    fn expand_star(&mut self, columns: &mut Vec<OutputColumn>) -> Result<()> {
        let namespace = self.namespace();
        let mut shown = Vec::new();
        for (number, table) in namespace.tables.iter().enumerate() {
            shown.extend((0..table.columns.len()).filter_map(|column| {
                let place = match namespace.merged_with((number, column)) {
                    Some(_) => ColumnPlace::Merged(number, column),
                    None => ColumnPlace::Own(number, column),
                };
                Some((namespace.unqualified(number, column)?.clone(), place))
            }));
        }
        shown.iter().try_for_each(|(column, place)| self.push_named(column, *place, columns))
    }

    fn expand_table(&mut self, qualifier: &ast::Name, columns: &mut Vec<OutputColumn>) -> Result<()> {
        let tables = &self.namespace().tables;
        let found = tables.iter().enumerate().find(|(_, table)| table.name == qualifier.as_str());
        let Some((number, table)) = found.map(|(number, table)| (number, table.clone())) else {
            let error = dsql(sqlcode::UNKNOWN_COLUMN)
                .and(isc::DSQL_FIELD_ERR)
                .and(isc::RANDOM)
                .with(format!("{qualifier}.*"));
            return Err(at(error, qualifier.position));
        };
        let mut places = table.columns.iter().enumerate();
        places
            .try_for_each(|(place, column)| self.push_named(column, ColumnPlace::Own(number, place), columns))
    }

    fn push_named(
        &mut self,
        column: &crate::bound::column::NamedColumn,
        place: ColumnPlace,
        columns: &mut Vec<OutputColumn>,
    ) -> Result<()> {
        let block = self.namespace().block;
        let bound = self.column_value(block, column, place)?;
        self.column_is_read(&column.origin);
        columns.push(OutputColumn {
            name: Some(column.name.clone()),
            label: column.name.clone(),
            expression: bound.expression,
            column_type: bound.column_type,
            origin: bound.origin,
            shape: None,
            sent_as_char: bound.sent_as_char,
        });
        Ok(())
    }

    /// Binds ORDER BY: ordinals and aliases of the select list, or values.
    pub(crate) fn bind_order(
        &mut self,
        order_by: &[ast::OrderItem],
        items: &[OutputColumn],
    ) -> Result<Vec<SortKey>> {
        order_by
            .iter()
            .map(|item| {
                let (reference, collation) = match &item.value.kind {
                    ast::ExpressionKind::Collate { operand, collation } => (&**operand, Some(collation)),
                    _ => (&item.value, None),
                };
                let (value, column_type) = match (self.item_reference(reference, items)?, collation) {
                    (Some(found), None) => (found.expression.clone(), found.column_type),
                    (Some(found), Some(collation)) => {
                        let own = found.column_type.sql_type;
                        let sql_type = data_type::collated(self.environment, &own, collation)?;
                        let nullable = found.column_type.nullable;
                        (
                            found.expression.clone().converted(&own, &sql_type),
                            ColumnType { sql_type, nullable },
                        )
                    }
                    (None, _) => {
                        let bound = self.bind_value(&item.value)?;
                        (bound.expression, bound.column_type)
                    }
                };
                check_sortable(&column_type.sql_type)?;
                Ok(SortKey { value, part: key_part(item, &column_type) })
            })
            .collect()
    }

    /// The item of the select list that an ordinal or alias in ORDER BY or GROUP BY names.
    pub(crate) fn item_reference<'i>(
        &self,
        value: &ast::Expression,
        items: &'i [OutputColumn],
    ) -> Result<Option<&'i OutputColumn>> {
        match &value.kind {
            ast::ExpressionKind::Literal(ast::Literal::Integer { value: ordinal, .. }) => {
                let item =
                    usize::try_from(*ordinal).ok().and_then(|ordinal| items.get(ordinal.checked_sub(1)?));
                item.map(Some)
                    .ok_or_else(|| dsql(sqlcode::SYNTAX).and(isc::DSQL_COLUMN_POS_ERR).with("ORDER BY"))
            }
            ast::ExpressionKind::Column { qualifier: None, name } => {
                let mut named = items.iter().filter(|item| item.name.as_deref() == Some(name.as_str()));
                match (named.next(), named.next()) {
                    (Some(first), Some(second)) => {
                        Err(ambiguous_item(name, item_kind(first), item_kind(second)))
                    }
                    (found, _) => Ok(found),
                }
            }
            _ => Ok(None),
        }
    }

    /// Plans a bound query: its plan, and what it takes from the block around it.
    pub(crate) fn plan_select(&mut self, select: BoundSelect) -> Result<(Node, Vec<(usize, Expression)>)> {
        let captures = select.block.captures.clone();
        let outline = Outline::new(select);
        let planned = crate::block::plan(outline, surroundings(self.environment), &mut self.frame)?;
        Ok((planned.root, captures))
    }

    /// Plans a statement's query, with row numbers and locks as asked for.
    fn plan_top(
        &mut self,
        select: BoundSelect,
        options: QueryOptions,
        lock: Option<LockWish>,
    ) -> Result<(Node, Vec<RowNumberColumn>)> {
        let mut outline = Outline::new(select);
        outline.row_numbers = options.row_numbers;
        outline.lock = lock;
        let planned = crate::block::plan(outline, surroundings(self.environment), &mut self.frame)?;
        Ok((planned.root, planned.row_numbers))
    }

    /// Binds a query of one column as part of an expression, which looks at the rows that `asked` says.
    pub(crate) fn bind_subquery(&mut self, query: &ast::Query, asked: RowsAsked) -> Result<BoundSubquery> {
        self.deeper(|binder| {
            let own_block = binder.blocks.len();
            let variables_used = binder.variables_used;
            let before = std::mem::replace(&mut binder.outermost_reference, usize::MAX);
            let mut select = binder.in_new_block(false, |binder| binder.bind_parts(query))?;
            // What it takes from further out comes by registers that others write: captures alone do not tell.
            let outermost = binder.outermost_reference;
            let correlated = outermost < own_block;
            binder.outermost_reference = binder.outermost_reference.min(before);
            let volatile =
                select.block.volatile || select.items.iter().any(|item| item.expression.is_volatile());
            let columns = select.items.clone();
            // What a PLAN clause says of the query holds for it alone.
            let may_move = !volatile && !select.block.is_told;
            let unnested = crate::rewrite::unnested(&select).filter(|_| may_move);
            // Registers of blocks further out are written by others: captures do not tell of them.
            let takes_all_itself = outermost.saturating_add(1) >= own_block;
            let grouped =
                Some(&select).filter(|_| takes_all_itself && may_move).and_then(crate::rewrite::grouped);
            let captures = select.block.captures.clone();
            // In another form it is asked for more.
            select.first_rows = (asked == RowsAsked::First).then_some(true);
            let outline = Outline::new(select);
            let around = surroundings(binder.environment);
            let planned = crate::block::plan(outline, around, &mut binder.frame)?;
            let grouped = grouped
                .map(|outline| outline.planned(around, &mut binder.frame, planned.cost))
                .transpose()?;
            let plan = planned.root;
            let unnested = unnested.or_else(|| {
                let types = columns.iter().map(|column| column.column_type.sql_type).collect();
                let stands_alone = may_move && !correlated && captures.is_empty();
                stands_alone.then(|| crate::rewrite::derived(plan.clone(), types)).flatten()
            });
            let repeatable = !volatile && takes_all_itself && binder.variables_used == variables_used;
            Ok(BoundSubquery { plan, captures, columns, volatile, correlated, repeatable, unnested, grouped })
        })
    }
}

/// Which rows of a query an expression looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowsAsked {
    /// The first one or two.
    First,
    All,
}

/// A query as part of an expression.
pub(crate) struct BoundSubquery {
    /// Its plan.
    pub(crate) plan: Node,
    /// What it takes from the row around it.
    pub(crate) captures: Vec<(usize, Expression)>,
    /// Its columns.
    pub(crate) columns: Vec<OutputColumn>,
    /// Whether it has side effects or gives something else each time.
    pub(crate) volatile: bool,
    /// Whether it looks at rows of any block around it.
    pub(crate) correlated: bool,
    /// Whether its rows depend on nothing but `captures`.
    pub(crate) repeatable: bool,
    /// The query in a form that can become part of the FROM clause around it.
    pub(crate) unnested: Option<UnnestedQuery>,
    /// The query in a form that groups, and is joined.
    pub(crate) grouped: Option<GroupedQuery>,
}

impl BoundSubquery {
    /// Its only column, as a value.
    ///
    /// # Errors
    /// `dsql_count_mismatch` if there are several.
    pub(crate) fn only_column(&self) -> Result<Bound> {
        match self.columns.as_slice() {
            [column] => Ok(Bound {
                expression: column.expression.clone(),
                column_type: ColumnType { nullable: true, ..column.column_type },
                origin: column.origin.clone(),
                // Nothing outside of the query reaches its parameters.
                shape: column.shape.as_ref().map(|_| Box::new(Shape::unknown())),
                computed_as: None,
                sent_as_char: column.sent_as_char,
            }),
            _ => Err(dsql(sqlcode::SYNTAX).and(isc::DSQL_COMMAND_ERR).and(isc::DSQL_COUNT_MISMATCH)),
        }
    }
}

/// How an item of ORDER BY becomes a part of a sort key. NULLs come first in either direction unless told otherwise:
/// Firebird's rule is that NULL is the lowest value.
pub(crate) fn key_part(item: &ast::OrderItem, column_type: &ColumnType) -> KeyPart {
    KeyPart {
        collation: collation_of(&column_type.sql_type),
        descending: item.descending,
        nulls: match item.nulls {
            None => NullsPosition::Lowest,
            Some(ast::NullsOrder::First) => NullsPosition::First,
            Some(ast::NullsOrder::Last) => NullsPosition::Last,
        },
    }
}

/// What errors call an item of the select list.
fn item_kind(item: &OutputColumn) -> &'static str {
    let is_field = item.origin.as_ref().is_some_and(|origin| item.name.as_ref() == Some(&origin.field));
    if is_field { "a field" } else { "an alias" }
}
