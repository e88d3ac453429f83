//! Queries as record selection expressions.

use farbird_blr::{Code, code};
use farbird_sql::ast::{
    Expression, ExpressionKind, Limit, Literal, Name, NamedWindow, NullsOrder, OrderItem, Query, QueryBody,
    Select, SelectItem, SelectStatement, Union,
};
use farbird_types::SqlType;

use crate::compiler::Compiler;
use crate::data_type::cast;
use crate::failure::{Made, placed, unsupported};
use crate::map::{Grouping, Windows, map};
use crate::piece::{Typed, joined};
use crate::scope::{Scope, SourceColumn, Stage};
use crate::selected::{Selected, Streams};
use crate::value::{common, operation};

/// What stands behind the records of a selection, in Firebird's order.
#[derive(Debug, Default)]
struct Clauses {
    lock: Vec<u8>,
    first: Option<Code>,
    skip: Option<Code>,
    condition: Option<Code>,
    order: Option<Code>,
    distinct: Option<Code>,
}

impl Clauses {
    fn write(&self, head: Code) -> Code {
        let mut made = head;
        made.more(&self.lock);
        let marked = [(code::FIRST, &self.first), (code::SKIP, &self.skip), (code::BOOLEAN, &self.condition)];
        for (mark, clause) in marked {
            if let Some(clause) = clause {
                made.byte(mark).piece(clause);
            }
        }
        for clause in [&self.order, &self.distinct].into_iter().flatten() {
            made.piece(clause);
        }
        made.byte(code::END);
        made
    }

    fn is_empty(&self) -> bool {
        self.first.is_none() && self.skip.is_none() && self.order.is_none()
    }
}

/// blr_rse with its sources.
pub(crate) fn selection(sources: &[Code]) -> Made<Code> {
    let mut made = Code::of(&[code::RSE]);
    placed(made.count(sources.len()))?;
    for source in sources {
        made.piece(source);
    }
    Ok(made)
}

/// A selection with nothing but a condition.
pub(crate) fn simple_selection(sources: &[Code], condition: Option<Code>) -> Made<Code> {
    Ok(Clauses { condition, ..Clauses::default() }.write(selection(sources)?))
}

/// An item of ORDER BY.
pub(crate) fn order_item(made: &mut Code, item: &OrderItem, value: &Code) {
    match item.nulls {
        Some(NullsOrder::First) => drop(made.byte(code::NULLS_FIRST)),
        Some(NullsOrder::Last) => drop(made.byte(code::NULLS_LAST)),
        None => {}
    }
    made.byte(if item.descending { code::DESCENDING } else { code::ASCENDING }).piece(value);
}

impl Compiler<'_> {
    /// SELECT with the clauses of the outermost query.
    pub(crate) fn statement_query(&mut self, statement: &SelectStatement) -> Made<Selected> {
        let mut lock = Vec::new();
        if let Some(with_lock) = statement.with_lock {
            lock.push(code::WRITE_LOCK);
            if with_lock.skip_locked {
                lock.push(code::SKIP_LOCKED);
            }
        }
        self.query_with(&statement.query, lock)
    }

    /// A query.
    pub(crate) fn query(&mut self, query: &Query) -> Made<Selected> {
        self.query_with(query, Vec::new())
    }

    fn query_with(&mut self, query: &Query, lock: Vec<u8>) -> Made<Selected> {
        self.nested(|it| {
            let known = it.common_tables.mark();
            if let Some(with) = &query.with {
                it.common_tables.add(with);
            }
            let made = match &query.body {
                QueryBody::Select(select) => it.select(select, &query.order_by, query.limit.as_ref(), lock),
                QueryBody::Union(union) => it.union(union, &query.order_by, query.limit.as_ref()),
                QueryBody::Nested(inner) => it.nested_query(inner, query),
            };
            it.common_tables.back_to(known);
            made
        })
    }

    /// A query in parentheses, perhaps with an order and a limit around them.
    fn nested_query(&mut self, inner: &Query, outer: &Query) -> Made<Selected> {
        let mut selected = self.query(inner)?;
        let mut clauses = Clauses::default();
        self.limit(outer.limit.as_ref(), &mut clauses)?;
        clauses.order = self.ordinals(&outer.order_by, &selected.columns)?;
        if !clauses.is_empty() {
            selected.records = clauses.write(selection(&[selected.records])?);
        }
        Ok(selected)
    }

    fn select(
        &mut self,
        select: &Select,
        order_by: &[OrderItem],
        limit: Option<&Limit>,
        lock: Vec<u8>,
    ) -> Made<Selected> {
        let (made, _) = self.inside(Scope::new(), |it| it.select_inside(select, order_by, limit, lock))?;
        Ok(made)
    }

    fn select_inside(
        &mut self,
        select: &Select,
        order_by: &[OrderItem],
        limit: Option<&Limit>,
        lock: Vec<u8>,
    ) -> Made<Selected> {
        let mut streams = Streams::default();
        for table in &select.from {
            let more = self.table(table)?;
            streams.sources.extend(more.sources);
            streams.conditions.extend(more.conditions);
        }
        self.apart(|it| it.select_from(select, order_by, limit, lock, streams))
    }

    fn select_from(
        &mut self,
        select: &Select,
        order_by: &[OrderItem],
        limit: Option<&Limit>,
        lock: Vec<u8>,
        mut streams: Streams,
    ) -> Made<Selected> {
        self.scope()?.named_windows.clone_from(&select.windows);
        if let Some(condition) = &select.condition {
            streams.conditions.push(self.condition(condition)?);
        }
        let where_clause =
            Some(joined(code::AND, &streams.conditions)).filter(|_| !streams.conditions.is_empty());
        let items = self.expanded(&select.items)?;
        let of_query = || items.iter().map(|(value, _)| value).chain(order_by.iter().map(|it| &it.value));
        let has_windows =
            of_query().any(|it| crate::search::any(it, &|it| matches!(it.kind, ExpressionKind::Window(_))));
        let has_groups = !select.group_by.is_empty() || select.having.is_some() || of_query().any(groups);
        if has_groups {
            let keys = select.group_by.iter().map(|key| match ordinal(key) {
                Some(place) => self.code(&placed(items.get(place))?.0),
                None => self.code(alias_of(key, &items).unwrap_or(key)),
            });
            let keys = keys.collect::<Made<Vec<_>>>()?;
            let context = self.context()?;
            self.scope()?.grouping = Some(Grouping::new(context, keys));
        }
        if has_windows {
            let context = self.context()?;
            self.scope()?.windows = Some(Windows::new(context));
        }
        let having = match &select.having {
            Some(having) => Some(self.at(Stage::Groups, |it| it.condition(having))?),
            None => None,
        };
        let mut clauses = Clauses { lock, ..Clauses::default() };
        let columns = self.at(Stage::Windows, |it| {
            let columns = it.columns(&items)?;
            clauses.order = it.order(order_by, &items, &columns)?;
            if select.distinct {
                clauses.distinct = Some(distinct(&columns)?);
            }
            Ok(columns)
        })?;
        self.at(Stage::Rows, |it| {
            it.limit(limit, &mut clauses)?;
            if let Some(first) = &select.first {
                clauses.first = Some(it.code(first)?);
            }
            if let Some(skip) = &select.skip {
                clauses.skip = Some(it.code(skip)?);
            }
            Ok(())
        })?;
        self.assemble(streams, where_clause, having, clauses, columns)
    }

    /// Puts a query together: rows, groups of them, windows over these, and what stands behind.
    fn assemble(
        &mut self,
        streams: Streams,
        where_clause: Option<Code>,
        having: Option<Code>,
        mut clauses: Clauses,
        columns: Vec<SourceColumn>,
    ) -> Made<Selected> {
        let scope = self.scope()?;
        let mut contexts: Vec<u8> = scope.sources.iter().flat_map(|it| it.contexts.clone()).collect();
        let mut table = match scope.sources.as_slice() {
            [only] => only.key.map(|context| (only.name.clone(), context)),
            _ => None,
        };
        let (mut sources, mut condition) = (streams.sources, where_clause);
        if let Some(grouping) = &scope.grouping {
            let rows = simple_selection(&sources, condition)?;
            sources = vec![grouping.write(&rows)?];
            condition = having;
            contexts = vec![grouping.context];
            table = None;
        }
        if let Some(windows) = &scope.windows {
            let rows = simple_selection(&sources, condition)?;
            sources = vec![windows.write(&rows)?];
            condition = None;
            contexts = windows.contexts();
            table = None;
        }
        clauses.condition = condition;
        let records = clauses.write(selection(&sources)?);
        Ok(Selected { records, columns, contexts, table })
    }

    fn columns(&mut self, items: &[(Expression, Option<Name>)]) -> Made<Vec<SourceColumn>> {
        let columns = items.iter().map(|(value, alias)| {
            let name = match (alias, &value.kind) {
                (Some(alias), _) => alias.text.clone(),
                (None, ExpressionKind::Column { name, .. }) => name.text.clone(),
                (None, _) => String::new(),
            };
            Ok(SourceColumn { name, value: self.value(value)? })
        });
        columns.collect()
    }

    /// The select list with columns in the places of stars.
    pub(crate) fn expanded(&mut self, items: &[SelectItem]) -> Made<Vec<(Expression, Option<Name>)>> {
        let mut expanded = Vec::new();
        for item in items {
            let (qualifier, position) = match item {
                SelectItem::Expression { value, alias } => {
                    expanded.push((value.clone(), alias.clone()));
                    continue;
                }
                SelectItem::Star(position) => (None, *position),
                SelectItem::QualifiedStar(name) => (Some(name), name.position),
            };
            let scope = self.scope()?;
            let mut push = |qualifier: Option<Name>, name: &str| {
                let kind = ExpressionKind::Column { qualifier, name: Name::new(name) };
                expanded.push((Expression::new(kind, position), None));
            };
            let merged: Vec<&str> = match qualifier {
                None => scope.merged.iter().map(|it| it.name.as_str()).collect(),
                Some(_) => Vec::new(),
            };
            merged.iter().for_each(|name| push(None, name));
            for source in &scope.sources {
                let wanted = qualifier.is_none_or(|it| it.text == source.name);
                for column in source.columns.iter().filter(|_| wanted && !source.qualified_only) {
                    if !merged.contains(&column.name.as_str()) {
                        push(Some(Name::new(source.name.as_str())), &column.name);
                    }
                }
            }
        }
        Ok(expanded)
    }

    fn order(
        &mut self,
        order_by: &[OrderItem],
        items: &[(Expression, Option<Name>)],
        columns: &[SourceColumn],
    ) -> Made<Option<Code>> {
        if order_by.is_empty() {
            return Ok(None);
        }
        let mut made = Code::of(&[code::SORT]);
        placed(made.count(order_by.len()))?;
        for item in order_by {
            let value = match ordinal(&item.value) {
                Some(place) => placed(columns.get(place))?.value.code.clone(),
                None => self.code(alias_of(&item.value, items).unwrap_or(&item.value))?,
            };
            order_item(&mut made, item, &value);
        }
        Ok(Some(made))
    }

    /// ORDER BY of a query that is known by its columns alone.
    fn ordinals(&mut self, order_by: &[OrderItem], columns: &[SourceColumn]) -> Made<Option<Code>> {
        if order_by.is_empty() {
            return Ok(None);
        }
        let mut made = Code::of(&[code::SORT]);
        placed(made.count(order_by.len()))?;
        for item in order_by {
            let column = match (ordinal(&item.value), &item.value.kind) {
                (Some(place), _) => columns.get(place),
                (None, ExpressionKind::Column { qualifier: None, name }) => {
                    columns.iter().find(|it| it.name == name.text)
                }
                _ => None,
            };
            order_item(&mut made, item, &placed(column)?.value.code);
        }
        Ok(Some(made))
    }

    fn limit(&mut self, limit: Option<&Limit>, clauses: &mut Clauses) -> Made<()> {
        let one = Code::number(1);
        match limit {
            None => {}
            Some(Limit::Rows { from: None, to }) => clauses.first = Some(self.code(to)?),
            Some(Limit::Rows { from: Some(from), to }) => {
                let (from, to) = (self.code(from)?, self.code(to)?);
                let between = operation(&[code::SUBTRACT], &[&to, &from]);
                clauses.first = Some(operation(&[code::ADD], &[&between, &one]));
                clauses.skip = Some(operation(&[code::SUBTRACT], &[&from, &one]));
            }
            Some(Limit::OffsetFetch { offset, fetch }) => {
                clauses.first = fetch.as_ref().map(|it| self.code(it)).transpose()?;
                clauses.skip = offset.as_ref().map(|it| self.code(it)).transpose()?;
            }
        }
        Ok(())
    }

    /// The order and limit of a statement that changes rows.
    pub(crate) fn changed_rows(
        &mut self,
        source: Code,
        condition: Option<Code>,
        order_by: &[OrderItem],
        limit: Option<&Limit>,
        skip_locked: bool,
    ) -> Made<Code> {
        let mut clauses = Clauses { condition, ..Clauses::default() };
        if skip_locked {
            clauses.lock = vec![code::SKIP_LOCKED];
        }
        self.limit(limit, &mut clauses)?;
        clauses.order = self.order(order_by, &[], &[])?;
        Ok(clauses.write(selection(&[source])?))
    }

    fn union(&mut self, union: &Union, order_by: &[OrderItem], limit: Option<&Limit>) -> Made<Selected> {
        let context = self.context()?;
        let mut bodies = vec![&union.right];
        let mut left = &union.left;
        while let QueryBody::Union(inner) = left
            && inner.all == union.all
        {
            bodies.push(&inner.right);
            left = &inner.left;
        }
        bodies.push(left);
        bodies.reverse();
        let members = bodies.into_iter().map(|body| match body {
            QueryBody::Select(select) => self.select(select, &[], None, Vec::new()),
            QueryBody::Union(union) => self.nested(|it| it.union(union, &[], None)),
            QueryBody::Nested(query) => self.query(query),
        });
        let members = members.collect::<Made<Vec<_>>>()?;
        let (source, columns) = union_of(&[code::UNION, context], context, members)?;
        let mut clauses = Clauses::default();
        self.limit(limit, &mut clauses)?;
        clauses.order = self.ordinals(order_by, &columns)?;
        if !union.all {
            clauses.distinct = Some(distinct(&columns)?);
        }
        let records = clauses.write(selection(&[source])?);
        Ok(Selected { records, columns, contexts: vec![context], table: None })
    }

    /// The WINDOW clause of the innermost query.
    pub(crate) fn windows_clause(&self) -> Vec<NamedWindow> {
        self.scopes.last().map(|scope| scope.named_windows.clone()).unwrap_or_default()
    }
}

/// Queries one behind the other, whose columns come as those of one context.
pub(crate) fn union_of(head: &[u8], context: u8, members: Vec<Selected>) -> Made<(Code, Vec<SourceColumn>)> {
    let mut made = Code::of(head);
    placed(made.count(members.len()))?;
    let width = placed(members.first())?.columns.len();
    if members.iter().any(|it| it.columns.len() != width) {
        return unsupported("a union of unequal lists");
    }
    let mut types: Vec<Option<SqlType>> = Vec::new();
    for place in 0..width {
        types.push(common(members.iter().filter_map(|it| it.columns.get(place)).map(|it| &it.value)));
    }
    for member in &members {
        let values = member
            .columns
            .iter()
            .zip(&types)
            .map(|(column, sql_type)| converted(&column.value, sql_type.as_ref()));
        let values = values.collect::<Made<Vec<Code>>>()?;
        made.piece(&member.records);
        map(&mut made, values.iter())?;
    }
    let names = members.into_iter().next().map(|it| it.columns).unwrap_or_default();
    let columns = names.into_iter().zip(types).enumerate().map(|(place, (column, sql_type))| {
        let code = Code::place(context, placed(u16::try_from(place).ok())?);
        Ok(SourceColumn { name: column.name, value: Typed { code, sql_type } })
    });
    Ok((made, columns.collect::<Made<_>>()?))
}

/// A value in the type that all members of a union have, if it has another one.
fn converted(value: &Typed, sql_type: Option<&SqlType>) -> Made<Code> {
    match (value.sql_type, sql_type) {
        (Some(own), Some(wanted))
            if own != *wanted
                && own != SqlType::Null
                && !matches!(wanted, SqlType::Blob { .. } | SqlType::Array | SqlType::Null) =>
        {
            cast(wanted, &value.code)
        }
        _ => Ok(value.code.clone()),
    }
}

/// Whether an expression needs groups: an aggregate, but not one with OVER, whose arguments may have some.
fn groups(it: &Expression) -> bool {
    crate::search::any(it, &|it| matches!(it.kind, ExpressionKind::Aggregate(_)))
}

/// blr_project.
fn distinct(columns: &[SourceColumn]) -> Made<Code> {
    let mut made = Code::of(&[code::PROJECT]);
    placed(made.count(columns.len()))?;
    for column in columns {
        made.piece(&column.value.code);
    }
    Ok(made)
}

/// The place, from 0, that a whole number names.
fn ordinal(it: &Expression) -> Option<usize> {
    match &it.kind {
        ExpressionKind::Literal(Literal::Integer { value, .. }) => {
            usize::try_from(*value).ok()?.checked_sub(1)
        }
        _ => None,
    }
}

/// The item that has a name as its alias.
fn alias_of<'i>(it: &Expression, items: &'i [(Expression, Option<Name>)]) -> Option<&'i Expression> {
    let ExpressionKind::Column { qualifier: None, name } = &it.kind else { return None };
    let found = items.iter().find(|(_, alias)| alias.as_ref().is_some_and(|alias| alias == name))?;
    Some(&found.0)
}
