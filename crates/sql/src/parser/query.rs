//! SELECT and its clauses, FROM and PLAN apart.

use super::cursor::Parser;
use crate::ast::{
    ColumnName, CommonTable, Expression, ExpressionKind, Limit, Literal, Name, NamedWindow, NullsOrder,
    OptimizeFor, OrderItem, Position, Query, QueryBody, Select, SelectItem, SelectStatement, Union, With,
    WithLock,
};
use crate::lexer::TokenKind;
use farbird_types::{ExactWidth, Result};

impl Parser<'_> {
    /// Whether a query without parentheses begins here.
    pub(super) fn at_query(&self) -> bool {
        self.at_any_keyword(&["SELECT", "WITH"])
    }

    /// SELECT with the clauses of the outermost query.
    pub(super) fn select_statement(&mut self) -> Result<SelectStatement> {
        let query = self.query()?;
        let for_update = self.for_update()?;
        let with_lock = self.with_lock()?;
        let optimize_for = if self.eat_keyword("OPTIMIZE") { Some(self.optimize_mode()?) } else { None };
        Ok(SelectStatement { query, for_update, with_lock, optimize_for })
    }

    fn for_update(&mut self) -> Result<Option<Vec<ColumnName>>> {
        if !self.eat_keywords(&["FOR", "UPDATE"]) {
            return Ok(None);
        }
        if !self.eat_keyword("OF") {
            return Ok(Some(Vec::new()));
        }
        let columns = self.comma_list(|parser| Ok(ColumnName { qualifier: None, name: parser.name()? }))?;
        Ok(Some(columns))
    }

    fn with_lock(&mut self) -> Result<Option<WithLock>> {
        if !self.eat_keywords(&["WITH", "LOCK"]) {
            return Ok(None);
        }
        Ok(Some(WithLock { skip_locked: self.eat_keywords(&["SKIP", "LOCKED"]) }))
    }

    /// `FOR FIRST ROWS`, `FOR ALL ROWS`.
    pub(super) fn optimize_mode(&mut self) -> Result<OptimizeFor> {
        self.expect_keyword("FOR")?;
        let mode = if self.eat_keyword("FIRST") {
            OptimizeFor::FirstRows
        } else {
            self.expect_keyword("ALL")?;
            OptimizeFor::AllRows
        };
        self.expect_keyword("ROWS")?;
        Ok(mode)
    }

    /// A query with its order and limit.
    pub(super) fn query(&mut self) -> Result<Query> {
        let outer = self.enter()?;
        let position = self.position();
        let with = self.with()?;
        let first = self.query_term()?;
        let query = self.query_after(with, first, position)?;
        self.leave(outer);
        Ok(query)
    }

    /// A query whose first term is one in parentheses, parsed already.
    pub(super) fn query_after_nested(&mut self, nested: Query, position: Position) -> Result<Query> {
        self.grow()?;
        self.query_after(None, QueryBody::Nested(Box::new(nested)), position)
    }

    fn query_after(&mut self, with: Option<With>, first: QueryBody, position: Position) -> Result<Query> {
        let mut body = first;
        while self.at_keyword("UNION") {
            self.grow()?;
            let position = self.position();
            self.take();
            let all = self.eat_keyword("ALL");
            if !all {
                self.eat_keyword("DISTINCT");
            }
            let right = self.query_term()?;
            body = QueryBody::Union(Box::new(Union { left: body, right, all, position }));
        }
        let order_by = self.order_by()?;
        let limit = self.limit()?;
        Ok(Query { with, body, order_by, limit, position })
    }

    /// SELECT, or a query in parentheses.
    fn query_term(&mut self) -> Result<QueryBody> {
        if self.at_symbol("(") {
            return Ok(QueryBody::Nested(Box::new(self.parenthesised_query()?)));
        }
        let outer = self.enter()?;
        let select = self.select()?;
        self.leave(outer);
        Ok(QueryBody::Select(Box::new(select)))
    }

    fn with(&mut self) -> Result<Option<With>> {
        if !self.eat_keyword("WITH") {
            return Ok(None);
        }
        let recursive = self.eat_keyword("RECURSIVE");
        let tables = self.comma_list(|parser| {
            let name = parser.name()?;
            let columns = parser.optional_names()?;
            parser.expect_keyword("AS")?;
            Ok(CommonTable { name, columns, query: parser.parenthesised_query()? })
        })?;
        Ok(Some(With { recursive, tables }))
    }

    fn select(&mut self) -> Result<Select> {
        let position = self.position();
        self.expect_keyword("SELECT")?;
        let first = self.first_or_skip("FIRST")?;
        let skip = self.first_or_skip("SKIP")?;
        let distinct = self.eat_keyword("DISTINCT");
        if !distinct {
            self.eat_keyword("ALL");
        }
        let items = self.select_items()?;
        let from = self.from()?;
        let condition = self.where_clause()?;
        let group_by = if self.eat_keywords(&["GROUP", "BY"]) { self.expressions()? } else { Vec::new() };
        let having = if self.eat_keyword("HAVING") { Some(self.expression()?) } else { None };
        let windows =
            if self.eat_keyword("WINDOW") { self.comma_list(Self::named_window)? } else { Vec::new() };
        let plan = self.plan()?;
        Ok(Select {
            first,
            skip,
            distinct,
            items,
            from,
            condition,
            group_by,
            having,
            windows,
            plan,
            position,
        })
    }

    /// `[FIRST number | (value) | ?]`; a column may have that name too.
    fn first_or_skip(&mut self, keyword: &str) -> Result<Option<Expression>> {
        if !self.at_keyword(keyword)
            || !matches!(self.peek_ahead(1), TokenKind::Number(_) | TokenKind::Symbol("(" | "?"))
        {
            return Ok(None);
        }
        self.take();
        if self.eat_symbol("(") {
            let value = self.expression()?;
            self.expect_symbol(")")?;
            return Ok(Some(value));
        }
        self.row_count().map(Some)
    }

    /// A constant, a parameter or a variable.
    fn row_count(&mut self) -> Result<Expression> {
        let position = self.position();
        let kind = match self.peek() {
            TokenKind::Symbol("?") => ExpressionKind::Parameter(self.parameter()?),
            TokenKind::Symbol(":") => {
                self.take();
                let (qualifier, name) = self.qualified_name()?;
                ExpressionKind::Variable { qualifier, name }
            }
            TokenKind::Keyword { text: "TRUE" | "FALSE" | "DATE" | "TIME" | "TIMESTAMP", .. }
            | TokenKind::Symbol("-")
            | TokenKind::Text(_)
            | TokenKind::Binary(_)
            | TokenKind::Number(_)
            | TokenKind::NumberBeyondBigint(_)
            | TokenKind::Introducer(_) => return self.default_value(),
            _ => return Err(self.unexpected()),
        };
        Ok(Expression::new(kind, position))
    }

    /// `*`, or items with commas between them. Firebird lets `*` stand only alone.
    pub(super) fn select_items(&mut self) -> Result<Vec<SelectItem>> {
        if self.at_symbol("*") {
            let position = self.position();
            self.take();
            return Ok(vec![SelectItem::Star(position)]);
        }
        self.comma_list(Self::select_item)
    }

    fn select_item(&mut self) -> Result<SelectItem> {
        if self.at_name() && self.symbol_ahead(1, ".") && self.symbol_ahead(2, "*") {
            let qualifier = self.name()?;
            self.take();
            self.take();
            return Ok(SelectItem::QualifiedStar(qualifier));
        }
        let value = self.expression()?;
        Ok(SelectItem::Expression { value, alias: self.alias()? })
    }

    /// `[[AS] alias]`.
    pub(super) fn alias(&mut self) -> Result<Option<Name>> {
        if self.at_keyword("AS") && !self.keyword_ahead(1, "CURSOR") {
            self.take();
            return self.name().map(Some);
        }
        // Words that may be names, but begin a clause here.
        let begins_clause = self.at_keyword("RETURNING")
            || self.at_keyword("OPTIMIZE") && self.keyword_ahead(1, "FOR")
            || self.at_keyword("SKIP") && self.keyword_ahead(1, "LOCKED");
        if self.at_name() && !begins_clause { self.name().map(Some) } else { Ok(None) }
    }

    pub(super) fn where_clause(&mut self) -> Result<Option<Expression>> {
        if self.eat_keyword("WHERE") { self.expression().map(Some) } else { Ok(None) }
    }

    fn named_window(&mut self) -> Result<NamedWindow> {
        let name = self.name()?;
        self.expect_keyword("AS")?;
        Ok(NamedWindow { name, specification: self.window_specification()? })
    }

    /// `[ORDER BY ...]`.
    pub(super) fn order_by(&mut self) -> Result<Vec<OrderItem>> {
        if !self.eat_keyword("ORDER") {
            return Ok(Vec::new());
        }
        self.expect_keyword("BY")?;
        self.comma_list(|parser| {
            let value = parser.expression()?;
            let descending = parser.descending();
            Ok(OrderItem { value, descending, nulls: parser.nulls()? })
        })
    }

    /// `[ASC | DESC]`: whether DESC.
    pub(super) fn descending(&mut self) -> bool {
        if self.eat_keyword("DESC") || self.eat_keyword("DESCENDING") {
            return true;
        }
        if !self.eat_keyword("ASC") {
            self.eat_keyword("ASCENDING");
        }
        false
    }

    fn nulls(&mut self) -> Result<Option<NullsOrder>> {
        if !self.eat_keyword("NULLS") {
            return Ok(None);
        }
        if self.eat_keyword("FIRST") {
            return Ok(Some(NullsOrder::First));
        }
        self.expect_keyword("LAST")?;
        Ok(Some(NullsOrder::Last))
    }

    /// `[ROWS ...]`, or `[OFFSET ...] [FETCH ...]`.
    fn limit(&mut self) -> Result<Option<Limit>> {
        if self.at_keyword("ROWS") {
            return self.rows();
        }
        let offset = if self.eat_keyword("OFFSET") {
            let count = self.row_count()?;
            self.row_noise()?;
            Some(Box::new(count))
        } else {
            None
        };
        let fetch = if self.at_keyword("FETCH") { Some(Box::new(self.fetch_count()?)) } else { None };
        Ok((offset.is_some() || fetch.is_some()).then_some(Limit::OffsetFetch { offset, fetch }))
    }

    /// `[ROWS value [TO value]]`.
    pub(super) fn rows(&mut self) -> Result<Option<Limit>> {
        if !self.eat_keyword("ROWS") {
            return Ok(None);
        }
        let first = Box::new(self.expression()?);
        Ok(Some(if self.eat_keyword("TO") {
            Limit::Rows { from: Some(first), to: Box::new(self.expression()?) }
        } else {
            Limit::Rows { from: None, to: first }
        }))
    }

    /// `FETCH FIRST | NEXT [count] ROW | ROWS ONLY`.
    fn fetch_count(&mut self) -> Result<Expression> {
        self.take();
        if !self.eat_keyword("FIRST") {
            self.expect_keyword("NEXT")?;
        }
        let count = if self.at_any_keyword(&["ROW", "ROWS"]) {
            let one = Literal::Integer { value: 1, width: ExactWidth::Long };
            Expression::new(ExpressionKind::Literal(one), self.position())
        } else {
            self.row_count()?
        };
        self.row_noise()?;
        self.expect_keyword("ONLY")?;
        Ok(count)
    }

    fn row_noise(&mut self) -> Result<()> {
        if self.eat_keyword("ROW") { Ok(()) } else { self.expect_keyword("ROWS") }
    }
}
