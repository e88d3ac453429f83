//! FROM: tables, derived tables, joins.

use super::cursor::Parser;
use crate::ast::{DerivedTable, Join, JoinCondition, JoinKind, NamedTable, Position, Query, TableReference};
use farbird_types::Result;

/// What parentheses in FROM hold.
enum InParentheses {
    Query(Query),
    Table(TableReference),
}

impl Parser<'_> {
    /// `FROM table, ...`.
    pub(super) fn from(&mut self) -> Result<Vec<TableReference>> {
        self.expect_keyword("FROM")?;
        self.comma_list(Self::table_reference)
    }

    /// A table with all that is joined to it.
    pub(super) fn table_reference(&mut self) -> Result<TableReference> {
        let outer = self.enter()?;
        let first = self.table_primary()?;
        let table = self.joins_after(first)?;
        self.leave(outer);
        Ok(table)
    }

    fn joins_after(&mut self, mut left: TableReference) -> Result<TableReference> {
        loop {
            let position = self.position();
            let natural = self.at_keyword("NATURAL");
            if self.eat_keyword("CROSS") {
                self.expect_keyword("JOIN")?;
                self.grow()?;
                let right = self.table_primary()?;
                left = join(left, right, JoinKind::Cross, JoinCondition::None, position);
            } else if natural {
                self.take();
                let kind = self.join_kind()?;
                self.grow()?;
                let right = self.table_primary()?;
                left = join(left, right, kind, JoinCondition::Natural, position);
            } else if self.at_any_keyword(&["JOIN", "INNER", "LEFT", "RIGHT", "FULL"]) {
                let kind = self.join_kind()?;
                self.grow()?;
                // Joins that stand before this one's condition belong to its right side.
                let right = self.table_reference()?;
                let condition = self.join_condition()?;
                left = join(left, right, kind, condition, position);
            } else {
                return Ok(left);
            }
        }
    }

    /// `[INNER | LEFT [OUTER] | RIGHT [OUTER] | FULL [OUTER]] JOIN`.
    fn join_kind(&mut self) -> Result<JoinKind> {
        let kind = match self.keyword() {
            Some("LEFT") => JoinKind::Left,
            Some("RIGHT") => JoinKind::Right,
            Some("FULL") => JoinKind::Full,
            _ => JoinKind::Inner,
        };
        if kind != JoinKind::Inner {
            self.take();
            self.eat_keyword("OUTER");
        } else {
            self.eat_keyword("INNER");
        }
        self.expect_keyword("JOIN")?;
        Ok(kind)
    }

    fn join_condition(&mut self) -> Result<JoinCondition> {
        if self.eat_keyword("USING") {
            return Ok(JoinCondition::Using(self.parenthesised_list(Self::name)?));
        }
        self.expect_keyword("ON")?;
        Ok(JoinCondition::On(self.expression()?))
    }

    fn table_primary(&mut self) -> Result<TableReference> {
        let position = self.position();
        if self.eat_keyword("LATERAL") {
            let query = self.parenthesised_query()?;
            return self.derived(query, true, position);
        }
        if self.eat_symbol("(") {
            let inside = self.table_parentheses()?;
            self.expect_symbol(")")?;
            return match inside {
                InParentheses::Query(query) => self.derived(query, false, position),
                InParentheses::Table(table) => Ok(table),
            };
        }
        self.named_table().map(TableReference::Named)
    }

    /// What stands behind an opening parenthesis: a query, or a join. As with values, parentheses within are parsed once
    /// and taken for what they turn out to be.
    fn table_parentheses(&mut self) -> Result<InParentheses> {
        let outer = self.enter()?;
        let position = self.position();
        let inside = if self.at_query() {
            InParentheses::Query(self.query()?)
        } else if self.eat_symbol("(") {
            let inner = self.table_parentheses()?;
            self.expect_symbol(")")?;
            self.after_inner_parentheses(inner, position)?
        } else {
            InParentheses::Table(self.joined_table()?)
        };
        self.leave(outer);
        Ok(inside)
    }

    fn after_inner_parentheses(&mut self, inner: InParentheses, position: Position) -> Result<InParentheses> {
        match inner {
            InParentheses::Query(query)
                if self.at_any_keyword(&["UNION", "ORDER", "ROWS", "OFFSET", "FETCH"]) =>
            {
                Ok(InParentheses::Query(self.query_after_nested(query, position)?))
            }
            InParentheses::Query(query) if self.at_symbol(")") => Ok(InParentheses::Query(query)),
            InParentheses::Query(query) => {
                let first = self.derived(query, false, position)?;
                Ok(InParentheses::Table(self.joins_after(first)?))
            }
            InParentheses::Table(table) => Ok(InParentheses::Table(self.joins_after(table)?)),
        }
    }

    /// Parentheses hold a join, not a single table.
    fn joined_table(&mut self) -> Result<TableReference> {
        let table = self.table_reference()?;
        match table {
            TableReference::Join(_) => Ok(table),
            TableReference::Named(_) | TableReference::Derived(_) => Err(self.unexpected()),
        }
    }

    /// `[[AS] alias [(columns)]]` behind a query in parentheses.
    fn derived(&mut self, query: Query, lateral: bool, position: Position) -> Result<TableReference> {
        let alias = self.alias()?;
        let columns = self.optional_names()?;
        Ok(TableReference::Derived(Box::new(DerivedTable { lateral, query, alias, columns, position })))
    }

    /// `[package.]name [(arguments)] [[AS] alias]`.
    fn named_table(&mut self) -> Result<NamedTable> {
        let name = self.object_name()?;
        let arguments = if self.eat_symbol("(") {
            let arguments = self.expressions()?;
            self.expect_symbol(")")?;
            Some(arguments)
        } else {
            None
        };
        Ok(NamedTable { name, arguments, alias: self.alias()? })
    }
}

fn join(
    left: TableReference,
    right: TableReference,
    kind: JoinKind,
    condition: JoinCondition,
    position: Position,
) -> TableReference {
    TableReference::Join(Box::new(Join { left, right, kind, condition, position }))
}
