//! Aggregates, GROUP BY and window functions.

use farbird_expression::Expression;
use farbird_function::result_type::text_kind;
use farbird_function::{AggregateFunction, lookup_aggregate};
use farbird_sql::ast;
use farbird_types::key::KeyPart;
use farbird_types::{CharacterSet, ColumnType, Error, Result, SqlType, Value, isc};

use crate::bind::array::{check_sortable, unless_array};
use crate::bind::binder::{Binder, Bound};
use crate::bind::data_type::collation_of;
use crate::bind::dialect_one::{aggregate_in_dialect_1, narrowed, product_in_dialect_1};
use crate::bind::error::{ambiguous_item, dsql, sqlcode, unsupported};
use crate::bind::query::{ItemPlace, key_part};
use crate::bound::query::{AggregatesAllowed, BoundWindow, OutputColumn};
use crate::node::{AggregateCall, FrameBound, JoinKey, SortKey, WindowCall, WindowFrame, WindowFunction};

/// A call of an aggregate, and the type that its value is said to have.
struct DescribedAggregate {
    call: AggregateCall,
    described: SqlType,
}

impl Binder<'_> {
    /// Binds GROUP BY: ordinals and aliases of the select list, or values.
    pub(crate) fn bind_group_by(
        &mut self,
        group_by: &[ast::Expression],
        items: &[ast::SelectItem],
    ) -> Result<Vec<Bound>> {
        let is_ordinal = |value: &ast::Expression| {
            matches!(value.kind, ast::ExpressionKind::Literal(ast::Literal::Integer { .. }))
        };
        let places = match group_by.iter().any(is_ordinal) {
            true => self.item_places(items)?,
            false => Vec::new(),
        };
        group_by
            .iter()
            .map(|value| {
                let item = match &value.kind {
                    ast::ExpressionKind::Literal(ast::Literal::Integer { value: ordinal, .. }) => {
                        let place = usize::try_from(*ordinal)
                            .ok()
                            .and_then(|ordinal| places.get(ordinal.checked_sub(1)?));
                        match place {
                            Some(ItemPlace::Written(value)) => Some(*value),
                            Some(ItemPlace::Expanded(bound)) => return Ok(Bound::clone(bound)),
                            None => return Err(position_error("GROUP BY")),
                        }
                    }
                    ast::ExpressionKind::Column { qualifier: None, name } => named_item(name, items)?,
                    _ => None,
                };
                match item {
                    Some(item) => self.bind_value(item),
                    None => {
                        let value = self.as_starred(value, items);
                        self.bind_value(&value)
                    }
                }
            })
            .collect()
    }

    /// A name in GROUP BY that `T.*` of the select list shows is that column of `T`, also where USING has merged it.
    fn as_starred(&mut self, value: &ast::Expression, items: &[ast::SelectItem]) -> ast::Expression {
        let mut value = value.clone();
        let ast::ExpressionKind::Column { qualifier: qualifier @ None, name } = &mut value.kind else {
            return value;
        };
        let tables = &self.namespace().tables;
        let mut shown = items.iter().filter_map(|item| match item {
            ast::SelectItem::QualifiedStar(table) => {
                let named = tables.iter().find(|named| named.name == table.as_str())?;
                named.find(name.as_str()).map(|_| table)
            }
            _ => None,
        });
        if let (Some(table), None) = (shown.next(), shown.next()) {
            *qualifier = Some(table.clone());
        }
        value
    }

    /// Rewrites everything after grouping in terms of groups: keys first, then aggregates.
    ///
    /// # Errors
    /// `dsql_agg_column_err` and its like for columns that are neither.
    pub(crate) fn finish_grouping(
        &mut self,
        keys: Vec<Bound>,
        items: &mut [OutputColumn],
        having: &mut [Expression],
        order: &mut [SortKey],
    ) -> Result<Vec<JoinKey>> {
        let opaque = self.block().opaque.take().unwrap_or_default();
        let in_dialect_1 = self.is_in_dialect_1();
        let is_key = |key: &Expression, part: &Expression| {
            opaque.are_same(key, part)
                || in_dialect_1
                    && product_in_dialect_1(key).is_some_and(|product| opaque.are_same(product, part))
        };
        let in_groups = |expression: &mut Expression, keys: &[Expression], error: &dyn Fn() -> Error| {
            in_groups(expression, keys, &is_key, error)
        };
        let values: Vec<Expression> = keys.iter().map(|key| key.expression.clone()).collect();
        for item in items.iter_mut() {
            in_groups(&mut item.expression, &values, &|| {
                agg_error(isc::DSQL_AGG_COLUMN_ERR).with("select list")
            })?;
        }
        for condition in having.iter_mut() {
            in_groups(condition, &values, &|| agg_error(isc::DSQL_AGG_HAVING_ERR).with("HAVING clause"))?;
        }
        for key in order.iter_mut() {
            in_groups(&mut key.value, &values, &|| {
                agg_error(isc::DSQL_AGG_COLUMN_ERR).with("ORDER BY clause")
            })?;
        }
        let mut failed = Ok(());
        for window in &mut self.block().windows {
            window.for_each_mut(&mut |expression| {
                let result = in_groups(expression, &values, &|| {
                    agg_error(isc::DSQL_AGG_COLUMN_ERR).with("select list")
                });
                if failed.is_ok() {
                    failed = result;
                }
            });
        }
        failed?;
        for call in &mut self.block().aggregates {
            call.arguments.iter_mut().chain(&mut call.filter).for_each(|value| opaque.resolve(value));
        }
        Ok(keys
            .into_iter()
            .map(|mut key| {
                opaque.resolve(&mut key.expression);
                JoinKey { collation: collation_of(key.sql_type()), value: key.expression }
            })
            .collect())
    }

    /// Binds an aggregate. One over nothing but columns from outside belongs to the query whose columns they are, the
    /// innermost of them: there it is computed once for each group.
    pub(crate) fn bind_aggregate(&mut self, call: &ast::AggregateCall) -> Result<Bound> {
        let own = self.blocks.len().saturating_sub(1);
        let captured: Vec<(usize, bool)> =
            self.blocks.iter().map(|block| (block.captures.len(), block.captured_deeper)).collect();
        let noted = self.aggregated.len();
        self.aggregate_depth += 1;
        let bound = self.bind_aggregate_call(call);
        self.aggregate_depth -= 1;
        let owner = self.aggregate_owner(own, noted);
        if self.aggregate_depth == 0 {
            self.aggregated.clear();
        }
        let bound = bound?;
        if owner == own {
            return self.place_aggregate_as_described(bound);
        }
        // Bound once more, where it belongs. What it took from there row by row is not needed.
        for (block, (captures, captured_deeper)) in self.blocks.iter_mut().zip(captured) {
            block.captures.truncate(captures);
            block.captured_deeper = captured_deeper;
        }
        let inner_blocks = self.blocks.split_off(owner + 1);
        let inside = self.namespaces.iter().position(|namespace| namespace.block > owner);
        let inner_namespaces = self.namespaces.split_off(inside.unwrap_or(self.namespaces.len()));
        let bound = self.bind_aggregate_call(call).and_then(|bound| self.place_aggregate_as_described(bound));
        self.blocks.extend(inner_blocks);
        self.namespaces.extend(inner_namespaces);
        let mut bound = bound?;
        bound.expression = self.bring_in(owner, bound.expression);
        Ok(bound)
    }

    /// The block that an aggregate in the block `own` belongs to: `noted` is where its columns begin.
    fn aggregate_owner(&self, own: usize, noted: usize) -> usize {
        let columns = self.aggregated.get(noted..).unwrap_or_default();
        let outside = columns.iter().filter(|column| column.block <= own);
        let innermost = outside.clone().map(|column| column.block).max();
        let direct = outside.filter(|column| column.seen_from == own).map(|column| column.block).max();
        // Columns that only queries inside of the aggregate look at do not move it.
        let Some(owner) = direct.filter(|_| direct == innermost) else { return own };
        let is_query = |block: usize| {
            self.blocks.get(block).is_some_and(|block| block.aggregates_allowed != AggregatesAllowed::No)
        };
        // A derived table's aggregates stay in it.
        if (owner..own).all(is_query) { owner } else { own }
    }

    /// Refuses aggregates and window functions where there are none.
    fn check_aggregates_allowed(&mut self) -> Result<()> {
        match self.block().aggregates_allowed {
            AggregatesAllowed::Yes => Ok(()),
            AggregatesAllowed::Inside => Err(agg_error(isc::DSQL_AGG_NESTED_ERR)),
            AggregatesAllowed::No | AggregatesAllowed::Where => Err(agg_error(isc::DSQL_AGG_WHERE_ERR)),
            AggregatesAllowed::GroupBy => Err(agg_error(isc::DSQL_AGG_GROUP_ERR)),
        }
    }

    /// A place among the block's aggregates.
    fn place_aggregate(&mut self, bound: AggregateCall) -> Result<Bound> {
        self.check_aggregates_allowed()?;
        let result = bound.result;
        let known = self.block().aggregates.iter().position(|known| same_call(known, &bound));
        let place = match known {
            Some(place) => place,
            None => {
                self.block().aggregates.push(bound);
                self.block().aggregates.len() - 1
            }
        };
        Ok(Bound::new(Expression::Aggregate(place), result.sql_type, result.nullable))
    }

    fn place_aggregate_as_described(&mut self, bound: DescribedAggregate) -> Result<Bound> {
        let placed = self.place_aggregate(bound.call)?;
        Ok(narrowed(placed, bound.described))
    }

    fn bind_aggregate_call(&mut self, call: &ast::AggregateCall) -> Result<DescribedAggregate> {
        let name = call.function.as_str();
        let function = lookup_aggregate(name).ok_or_else(|| unsupported(name))?;
        let before = std::mem::replace(&mut self.block().aggregates_allowed, AggregatesAllowed::Inside);
        let arguments = self.bind_aggregate_arguments(call);
        let filter = call.filter.as_ref().map(|filter| self.bind_condition(filter)).transpose();
        self.block().aggregates_allowed = before;
        let (mut arguments, filter) = (arguments?, filter?);
        self.settle_arguments(name, &mut arguments)?;
        if arguments.len() > function.arity.1 {
            return Err(Error::new(isc::FUNMISMAT).with(name));
        }
        self.described_aggregate(call, function, arguments, filter)
    }

    /// Tells parameters among the arguments their types: those of LIST are texts of one character.
    fn settle_arguments(&mut self, name: &str, arguments: &mut [Bound]) -> Result<()> {
        if name == "LIST"
            && let [text, separator] = arguments
        {
            let known = self.describe(text)?;
            let character_set = known.map_or(CharacterSet::NONE, |known| text_kind(&known.sql_type).0);
            let letter = ColumnType { sql_type: SqlType::char(1, character_set), nullable: false };
            self.tell(text, Some(letter))?;
            self.tell(separator, Some(letter))?;
        }
        for argument in arguments.iter_mut().filter(|argument| argument.shape.is_some()) {
            // COUNT and LIST take anything: they do not ask for the type.
            let known = if matches!(name, "COUNT" | "LIST") { None } else { self.describe(argument)? };
            match known {
                Some(known) => argument.column_type = known,
                None if matches!(name, "SUM" | "AVG") => {
                    return Err(Error::new(isc::DSQL_ERROR)
                        .and(isc::EXPRESSION_EVAL_ERR)
                        .and(isc::DSQL_AGG2_WRONGARG)
                        .with(name));
                }
                None => {}
            }
        }
        Ok(())
    }

    fn bind_aggregate_arguments(&mut self, call: &ast::AggregateCall) -> Result<Vec<Bound>> {
        match &call.arguments {
            ast::AggregateArguments::Star => Ok(Vec::new()),
            ast::AggregateArguments::List(list) => list
                .iter()
                .map(|value| {
                    let bound = self.bind_value(value)?;
                    if call.distinct {
                        check_sortable(bound.sql_type())?;
                    }
                    Ok(if call.function.as_str() == "COUNT" { bound } else { unless_array(bound) })
                })
                .collect(),
        }
    }

    /// Binds a call with OVER: a place among the block's window functions.
    pub(crate) fn bind_window(&mut self, call: &ast::WindowCall) -> Result<Bound> {
        self.check_aggregates_allowed()?;
        let specification = self.window_specification(&call.over)?;
        let (function, result, described) = self.bind_window_function(call)?;
        let partition = specification
            .partition_by
            .iter()
            .map(|value| {
                let bound = self.bind_value(value)?;
                check_sortable(bound.sql_type())?;
                let part = KeyPart { collation: collation_of(bound.sql_type()), ..KeyPart::default() };
                Ok(SortKey { value: bound.expression, part })
            })
            .collect::<Result<Vec<_>>>()?;
        let mut order_types = Vec::new();
        let order = specification
            .order_by
            .iter()
            .map(|item| {
                let bound = self.bind_value(&item.value)?;
                check_sortable(bound.sql_type())?;
                order_types.push(*bound.sql_type());
                Ok(SortKey { part: key_part(item, &bound.column_type), value: bound.expression })
            })
            .collect::<Result<Vec<_>>>()?;
        check_bounds(specification.frame.as_ref())?;
        check_range(specification.frame.as_ref(), &order_types)?;
        let frame = self.bind_frame(specification.frame.as_ref(), order.is_empty())?;
        self.block().windows.push(BoundWindow { partition, order, call: WindowCall { function, frame } });
        let place = self.block().windows.len() - 1;
        Ok(narrowed(Bound::new(Expression::Window(place), result.sql_type, result.nullable), described))
    }

    /// The window itself: a named one, or one that refines it.
    fn window_specification(&mut self, over: &ast::Over) -> Result<ast::WindowSpecification> {
        let specification = match over {
            ast::Over::Name(name) => {
                ast::WindowSpecification { base: Some(name.clone()), ..ast::WindowSpecification::default() }
            }
            ast::Over::Specification(specification) => specification.clone(),
        };
        let mut refined = specification;
        // A window with a frame is used by its name alone, never refined.
        let mut only_named = matches!(over, ast::Over::Name(_));
        // Named windows may refine each other; each name can be followed once.
        for _ in 0..=self.block().named_windows.len() {
            let Some(base) = refined.base.take() else { return Ok(refined) };
            let found = self.block().named_windows.iter().find(|window| window.name == base).cloned();
            let Some(found) = found else { return Err(window_not_found(base.as_str())) };
            let outer = found.specification;
            refined.base = outer.base;
            if !refined.partition_by.is_empty() {
                return Err(dsql(sqlcode::UNKNOWN_TABLE)
                    .and(isc::DSQL_WINDOW_CANT_OVERR_PART)
                    .with(base.as_str()));
            }
            refined.partition_by = outer.partition_by;
            if refined.order_by.is_empty() {
                refined.order_by = outer.order_by;
            } else if !outer.order_by.is_empty() {
                return Err(dsql(sqlcode::UNKNOWN_TABLE)
                    .and(isc::DSQL_WINDOW_CANT_OVERR_ORDER)
                    .with(base.as_str()));
            }
            if outer.frame.is_some() && !only_named {
                return Err(dsql(sqlcode::UNKNOWN_TABLE)
                    .and(isc::DSQL_WINDOW_CANT_OVERR_FRAME)
                    .with(base.as_str()));
            }
            refined.frame = refined.frame.or(outer.frame);
            only_named = false;
        }
        Err(window_not_found(""))
    }

    fn bind_frame(&mut self, frame: Option<&ast::WindowFrame>, unordered: bool) -> Result<WindowFrame> {
        let Some(frame) = frame else {
            // Without ORDER BY all rows are peers.
            let end = if unordered { FrameBound::UnboundedFollowing } else { FrameBound::CurrentRow };
            return Ok(WindowFrame {
                rows: false,
                start: FrameBound::UnboundedPreceding,
                end,
                exclusion: ast::FrameExclusion::NoOthers,
            });
        };
        Ok(WindowFrame {
            rows: frame.unit == ast::FrameUnit::Rows,
            start: self.bind_frame_bound(&frame.start)?,
            end: match &frame.end {
                Some(end) => self.bind_frame_bound(end)?,
                None => FrameBound::CurrentRow,
            },
            exclusion: frame.exclusion,
        })
    }

    fn bind_frame_bound(&mut self, bound: &ast::FrameBound) -> Result<FrameBound> {
        let mut value = |value: &ast::Expression| {
            let mut bound = self.bind_value(value)?;
            self.tell(&mut bound, Some(ColumnType { sql_type: SqlType::INTEGER, nullable: false }))?;
            let is_parameter = bound.shape.is_some() || matches!(bound.expression, Expression::Parameter(_));
            if !is_parameter && !is_number(bound.sql_type()) {
                return Err(Error::new(isc::DSQL_WINDOW_FRAME_VALUE_INV_TYPE));
            }
            Ok::<_, Error>(bound.expression)
        };
        Ok(match bound {
            ast::FrameBound::UnboundedPreceding => FrameBound::UnboundedPreceding,
            ast::FrameBound::Preceding(distance) => FrameBound::Preceding(value(distance)?),
            ast::FrameBound::CurrentRow => FrameBound::CurrentRow,
            ast::FrameBound::Following(distance) => FrameBound::Following(value(distance)?),
            ast::FrameBound::UnboundedFollowing => FrameBound::UnboundedFollowing,
        })
    }

    /// A window function, the type in which it is computed, and the one that it is said to have.
    fn bind_window_function(
        &mut self,
        call: &ast::WindowCall,
    ) -> Result<(WindowFunction, ColumnType, SqlType)> {
        let name = call.call.function.as_str();
        if lookup_aggregate(name).is_some() {
            let DescribedAggregate { call, described } = self.bind_window_aggregate(&call.call)?;
            let result = call.result;
            return Ok((WindowFunction::Aggregate(call), result, described));
        }
        let (function, result) = self.bind_ranking_function(call)?;
        let counts = matches!(
            function,
            WindowFunction::RowNumber
                | WindowFunction::Rank
                | WindowFunction::DenseRank
                | WindowFunction::Ntile(_)
        );
        let described = if counts && self.is_in_dialect_1() { SqlType::Double } else { result.sql_type };
        Ok((function, result, described))
    }

    /// A window function that is no aggregate.
    fn bind_ranking_function(&mut self, call: &ast::WindowCall) -> Result<(WindowFunction, ColumnType)> {
        let name = call.call.function.as_str();
        let bigint = ColumnType { sql_type: SqlType::BIGINT, nullable: false };
        let double = ColumnType { sql_type: SqlType::Double, nullable: false };
        let simple = match name {
            "ROW_NUMBER" => Some((WindowFunction::RowNumber, bigint)),
            "RANK" => Some((WindowFunction::Rank, bigint)),
            "DENSE_RANK" => Some((WindowFunction::DenseRank, bigint)),
            "PERCENT_RANK" => Some((WindowFunction::PercentRank, double)),
            "CUME_DIST" => Some((WindowFunction::CumeDist, double)),
            _ => None,
        };
        if let Some(simple) = simple {
            return Ok(simple);
        }
        if !matches!(name, "NTILE" | "LAG" | "LEAD" | "FIRST_VALUE" | "LAST_VALUE" | "NTH_VALUE") {
            return Err(unsupported(name));
        }
        let mut arguments = self.bind_aggregate_arguments(&call.call)?.into_iter();
        let mut first = arguments.next().ok_or_else(|| Error::new(isc::FUNMISMAT).with(name))?;
        let second = arguments.next();
        let third = arguments.next();
        if name == "NTILE" {
            self.tell(&mut first, Some(bigint))?;
            return Ok((WindowFunction::Ntile(first.expression), bigint));
        }
        let result = ColumnType { nullable: true, ..first.column_type };
        let whole = |binder: &mut Self, bound: Option<Bound>, default: i64| match bound {
            Some(mut bound) => {
                binder.tell(&mut bound, Some(bigint))?;
                Ok::<_, Error>(bound.expression)
            }
            None => Ok(Expression::Constant(Value::integer(default))),
        };
        let function = match name {
            "FIRST_VALUE" => WindowFunction::FirstValue(first.expression),
            "LAST_VALUE" => WindowFunction::LastValue(first.expression),
            "NTH_VALUE" => WindowFunction::NthValue {
                value: first.expression,
                number: whole(self, second, 1)?,
                from_last: call.from_last,
            },
            _ => {
                let default = match third {
                    Some(default) => default.converted(&result.sql_type).expression,
                    None => Expression::NULL,
                };
                WindowFunction::Offset {
                    value: first.expression,
                    distance: whole(self, second, 1)?,
                    default,
                    forward: name == "LEAD",
                }
            }
        };
        Ok((function, result))
    }

    /// An aggregate over a window: its arguments may themselves be aggregates of the groups.
    fn bind_window_aggregate(&mut self, call: &ast::AggregateCall) -> Result<DescribedAggregate> {
        let name = call.function.as_str();
        let function = lookup_aggregate(name).ok_or_else(|| unsupported(name))?;
        let mut arguments = self.bind_aggregate_arguments(call)?;
        let filter = call.filter.as_ref().map(|filter| self.bind_condition(filter)).transpose()?;
        self.settle_arguments(name, &mut arguments)?;
        self.described_aggregate(call, function, arguments, filter)
    }

    /// A call of an aggregate, with its arguments as the dialect takes them, and the type that it is said to have.
    fn described_aggregate(
        &self,
        call: &ast::AggregateCall,
        function: &'static AggregateFunction,
        mut arguments: Vec<Bound>,
        filter: Option<Expression>,
    ) -> Result<DescribedAggregate> {
        let described = match self.is_in_dialect_1() {
            true => aggregate_in_dialect_1(function.name, &mut arguments)?,
            false => None,
        };
        let argument_types: Vec<ColumnType> = arguments.iter().map(|argument| argument.column_type).collect();
        let result = (function.result)(function.name, &argument_types)?;
        let call = AggregateCall {
            function,
            arguments: arguments.into_iter().map(|argument| argument.expression).collect(),
            argument_types,
            result,
            distinct: call.distinct && !ignores_distinct(function.name),
            filter,
        };
        Ok(DescribedAggregate { call, described: described.unwrap_or(result.sql_type) })
    }
}

/// The item of a select list that a name in GROUP BY means: by its alias, or by its column's name.
///
/// # Errors
/// `dsql_ambiguous_field_name` if there are several.
fn named_item<'i>(name: &ast::Name, items: &'i [ast::SelectItem]) -> Result<Option<&'i ast::Expression>> {
    let mut named = items.iter().filter_map(|item| match item {
        ast::SelectItem::Expression { value, alias: Some(alias) } => {
            (alias == name).then_some((value, "an alias"))
        }
        ast::SelectItem::Expression { value, alias: None } => match &value.kind {
            ast::ExpressionKind::Column { name: column, .. } if column == name => Some((value, "a field")),
            _ => None,
        },
        _ => None,
    });
    let Some((first, kind)) = named.next() else { return Ok(None) };
    match named.next() {
        None => Ok(Some(first)),
        Some((_, other)) => Err(ambiguous_item(name, kind, other)),
    }
}

/// Whether equal values change nothing: there is no need to look for them then.
fn ignores_distinct(aggregate: &str) -> bool {
    matches!(aggregate, "MIN" | "MAX")
}

/// Rewrites an expression in terms of groups.
fn in_groups(
    expression: &mut Expression,
    keys: &[Expression],
    is_key: &dyn Fn(&Expression, &Expression) -> bool,
    error: &dyn Fn() -> Error,
) -> Result<()> {
    let mut stray = false;
    expression.rewrite(&mut |part| {
        if let Some(place) = keys.iter().position(|key| is_key(key, part)) {
            return Some(Expression::Column(place));
        }
        match part {
            Expression::Aggregate(place) => Some(Expression::Column(keys.len() + place)),
            Expression::Column(_) => {
                stray = true;
                None
            }
            _ => None,
        }
    });
    if stray { Err(error()) } else { Ok(()) }
}

/// Refuses a frame whose end lies before its beginning by the words alone.
fn check_bounds(frame: Option<&ast::WindowFrame>) -> Result<()> {
    let Some(ast::WindowFrame { start, end: Some(end), .. }) = frame else { return Ok(()) };
    let (first, second) = match (start, end) {
        (ast::FrameBound::CurrentRow, ast::FrameBound::Preceding(_)) => ("CURRENT ROW", "PRECEDING"),
        (ast::FrameBound::Following(_), ast::FrameBound::Preceding(_)) => {
            ("FOLLOWING", "PRECEDING or CURRENT ROW")
        }
        (ast::FrameBound::Following(_), ast::FrameBound::CurrentRow) => {
            ("FOLLOWING", "PRECEDING or CURRENT ROW")
        }
        _ => return Ok(()),
    };
    Err(Error::new(isc::DSQL_WINDOW_INCOMPAT_FRAMES).with(first).with(second))
}

/// Refuses a RANGE with a distance over an order that nothing can be added to.
fn check_range(frame: Option<&ast::WindowFrame>, order: &[SqlType]) -> Result<()> {
    let Some(frame) = frame.filter(|frame| frame.unit != ast::FrameUnit::Rows) else { return Ok(()) };
    let has_distance = std::iter::once(&frame.start)
        .chain(&frame.end)
        .any(|bound| matches!(bound, ast::FrameBound::Preceding(_) | ast::FrameBound::Following(_)));
    if !has_distance {
        return Ok(());
    }
    match order {
        [_, _, ..] => Err(Error::new(isc::DSQL_WINDOW_RANGE_MULTI_KEY)),
        [sql_type] if is_number(sql_type) || is_point_in_time(sql_type) => Ok(()),
        _ => Err(Error::new(isc::DSQL_WINDOW_RANGE_INV_KEY_TYPE)),
    }
}

fn is_number(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Exact { .. } | SqlType::Float | SqlType::Double | SqlType::DecFloat16 | SqlType::DecFloat34
    )
}

fn is_point_in_time(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Date | SqlType::Time | SqlType::TimeTz | SqlType::Timestamp | SqlType::TimestampTz
    )
}

/// Whether two calls are the same one: it is computed once then.
fn same_call(left: &AggregateCall, right: &AggregateCall) -> bool {
    left.function.name == right.function.name
        && left.arguments == right.arguments
        && left.argument_types == right.argument_types
        && left.distinct == right.distinct
        && left.filter == right.filter
        && !left.arguments.iter().chain(&left.filter).any(Expression::is_volatile)
}

fn window_not_found(name: &str) -> Error {
    dsql(sqlcode::UNKNOWN_TABLE).and(isc::DSQL_WINDOW_NOT_FOUND).with(name)
}

fn agg_error(code: u32) -> Error {
    dsql(sqlcode::SYNTAX).and(code)
}

fn position_error(clause: &str) -> Error {
    dsql(sqlcode::SYNTAX).and(isc::DSQL_COLUMN_POS_ERR).with(clause)
}
