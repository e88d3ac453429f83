//! SELECT and its clauses.

use super::Printer;
use crate::ast::{
    DerivedTable, Join, JoinCondition, JoinKind, Limit, Name, NamedTable, NullsOrder, OptimizeFor, OrderItem,
    Plan, PlanAccess, Query, QueryBody, Select, SelectItem, SelectStatement, TableReference, With,
};

impl Printer {
    pub(super) fn select_statement(&mut self, select: &SelectStatement) {
        self.query(&select.query);
        if let Some(columns) = &select.for_update {
            self.word("FOR UPDATE").word_if(!columns.is_empty(), "OF");
            self.list(columns, |printer, column| {
                printer.qualified(column.qualifier.as_ref(), &column.name);
            });
        }
        if let Some(lock) = select.with_lock {
            self.word("WITH LOCK").word_if(lock.skip_locked, "SKIP LOCKED");
        }
        if let Some(mode) = select.optimize_for {
            self.word("OPTIMIZE").word(optimize_mode(mode));
        }
    }

    /// A query in parentheses.
    pub(super) fn nested_query(&mut self, query: &Query) {
        self.word("(").query(query);
        self.tight(")");
    }

    pub(super) fn query(&mut self, query: &Query) {
        if let Some(with) = &query.with {
            self.with(with);
        }
        self.query_body(&query.body);
        self.order_by(&query.order_by);
        self.limit(query.limit.as_ref());
    }

    fn with(&mut self, with: &With) {
        self.word("WITH").word_if(with.recursive, "RECURSIVE");
        self.list(&with.tables, |printer, table| {
            printer.name(&table.name).names_in_parentheses(&table.columns);
            printer.word("AS").nested_query(&table.query);
        });
    }

    fn query_body(&mut self, body: &QueryBody) {
        match body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Nested(query) => self.nested_query(query),
            QueryBody::Union(union) => {
                self.query_body(&union.left);
                self.word("UNION").word_if(union.all, "ALL").query_body(&union.right);
            }
        }
    }

    fn select(&mut self, select: &Select) {
        self.word("SELECT");
        for (keyword, count) in [("FIRST", &select.first), ("SKIP", &select.skip)] {
            if let Some(count) = count {
                self.word(keyword).word("(").expression(count);
                self.tight(")");
            }
        }
        self.word_if(select.distinct, "DISTINCT").select_items(&select.items);
        self.word("FROM").list(&select.from, Self::table_reference);
        self.expression_after("WHERE", select.condition.as_ref());
        if !select.group_by.is_empty() {
            self.word("GROUP BY").expressions(&select.group_by);
        }
        self.expression_after("HAVING", select.having.as_ref());
        if !select.windows.is_empty() {
            self.word("WINDOW").list(&select.windows, |printer, window| {
                printer.name(&window.name).word("AS").window_specification(&window.specification);
            });
        }
        self.plan(select.plan.as_ref());
    }

    pub(super) fn select_items(&mut self, items: &[SelectItem]) {
        self.list(items, |printer, item| match item {
            SelectItem::Star(_) => {
                printer.word("*");
            }
            SelectItem::QualifiedStar(qualifier) => {
                printer.name(qualifier).tight(".*");
            }
            SelectItem::Expression { value, alias } => {
                printer.expression(value);
                printer.alias(alias.as_ref());
            }
        });
    }

    pub(super) fn alias(&mut self, alias: Option<&Name>) {
        self.name_after("AS", alias);
    }

    pub(super) fn table_reference(&mut self, table: &TableReference) {
        match table {
            TableReference::Named(table) => self.named_table(table),
            TableReference::Derived(table) => self.derived_table(table),
            TableReference::Join(join) => self.join(join),
        }
    }

    fn named_table(&mut self, table: &NamedTable) {
        self.object_name(&table.name);
        if let Some(arguments) = &table.arguments {
            self.tight("(").expressions(arguments);
            self.tight(")");
        }
        self.alias(table.alias.as_ref());
    }

    fn derived_table(&mut self, table: &DerivedTable) {
        self.word_if(table.lateral, "LATERAL").nested_query(&table.query);
        self.alias(table.alias.as_ref());
        self.names_in_parentheses(&table.columns);
    }

    fn join(&mut self, join: &Join) {
        self.table_reference(&join.left);
        self.word_if(join.condition == JoinCondition::Natural, "NATURAL");
        self.word(match join.kind {
            JoinKind::Inner => "JOIN",
            JoinKind::Left => "LEFT JOIN",
            JoinKind::Right => "RIGHT JOIN",
            JoinKind::Full => "FULL JOIN",
            JoinKind::Cross => "CROSS JOIN",
        });
        if matches!(join.right, TableReference::Join(_)) {
            self.word("(").table_reference(&join.right);
            self.tight(")");
        } else {
            self.table_reference(&join.right);
        }
        match &join.condition {
            JoinCondition::None | JoinCondition::Natural => {}
            JoinCondition::On(condition) => self.word("ON").expression(condition),
            JoinCondition::Using(columns) => {
                self.word("USING").names_in_parentheses(columns);
            }
        }
    }

    pub(super) fn order_by(&mut self, items: &[OrderItem]) {
        if items.is_empty() {
            return;
        }
        self.word("ORDER BY").list(items, |printer, item| {
            printer.expression(&item.value);
            printer.word_if(item.descending, "DESC");
            match item.nulls {
                Some(NullsOrder::First) => {
                    printer.word("NULLS FIRST");
                }
                Some(NullsOrder::Last) => {
                    printer.word("NULLS LAST");
                }
                None => {}
            }
        });
    }

    pub(super) fn limit(&mut self, limit: Option<&Limit>) {
        match limit {
            None => {}
            Some(Limit::Rows { from, to }) => {
                self.expression_after("ROWS", from.as_deref());
                self.expression_after(if from.is_some() { "TO" } else { "ROWS" }, Some(to));
            }
            Some(Limit::OffsetFetch { offset, fetch }) => {
                self.expression_after("OFFSET", offset.as_deref());
                self.word_if(offset.is_some(), "ROWS");
                self.expression_after("FETCH FIRST", fetch.as_deref());
                self.word_if(fetch.is_some(), "ROWS ONLY");
            }
        }
    }

    pub(super) fn plan(&mut self, plan: Option<&Plan>) {
        if let Some(plan) = plan {
            self.word("PLAN").plan_item(plan);
        }
    }

    fn plan_item(&mut self, plan: &Plan) {
        let (word, items) = match plan {
            Plan::Join(items) => ("JOIN", items),
            Plan::Merge(items) => ("MERGE", items),
            Plan::Hash(items) => ("HASH", items),
            Plan::Sort(items) => ("SORT", items),
            Plan::Table { path, access } => {
                for name in path {
                    self.name(name);
                }
                return self.plan_access(access);
            }
        };
        self.word(word).parentheses(items, Self::plan_item);
    }

    fn plan_access(&mut self, access: &PlanAccess) {
        match access {
            PlanAccess::Natural => {
                self.word("NATURAL");
            }
            PlanAccess::Index(indexes) => {
                self.word("INDEX").names_in_parentheses(indexes);
            }
            PlanAccess::Order { index, indexes } => {
                self.word("ORDER").name(index).word_if(!indexes.is_empty(), "INDEX");
                self.names_in_parentheses(indexes);
            }
        }
    }
}

pub(super) fn optimize_mode(mode: OptimizeFor) -> &'static str {
    match mode {
        OptimizeFor::FirstRows => "FOR FIRST ROWS",
        OptimizeFor::AllRows => "FOR ALL ROWS",
    }
}
