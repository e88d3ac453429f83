//! Values and predicates: operators by precedence, operands by their first token.

use super::cursor::Parser;
use super::literal::beyond_bigint;
use crate::ast::{
    BinaryOperator, ComparisonOperator, ContextVariable, ErrorItem, Expression, ExpressionKind, Name,
    ObjectName, Position, Quantifier, Query, RecordKeyKind, Truth, UnaryOperator,
};
use crate::error;
use crate::lexer::TokenKind;
use crate::limits::LIST_VALUES_MAX;
use farbird_types::Result;

/// How tightly operators bind, loosest first. Source: the table of precedences in Firebird's parse.y.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Or,
    And,
    Not,
    Comparison,
    Is,
    Sum,
    Product,
    Sign,
    Concatenation,
    Collate,
    At,
    /// No operator at all.
    Operand,
}

/// Something that may become the left operand of an operator.
struct Operand {
    expression: Expression,
    /// A predicate without parentheses: arithmetic does not take it.
    predicate: bool,
}

/// An operator behind an operand.
#[derive(Clone, Copy)]
enum Infix {
    Or,
    And,
    Comparison(ComparisonOperator),
    /// NOT before LIKE and its siblings, or one of these.
    Predicate,
    Is,
    Binary(BinaryOperator, Level),
    Collate,
    At,
}

/// What parentheses hold.
pub(super) enum Parenthesised {
    Query(Query),
    Expression(Expression),
}

impl Parser<'_> {
    /// A value or predicate.
    pub(super) fn expression(&mut self) -> Result<Expression> {
        self.operators(Level::Or)
    }

    /// One or more values with commas between them.
    pub(super) fn expressions(&mut self) -> Result<Vec<Expression>> {
        self.comma_list(Self::expression)
    }

    /// A value without operators looser than arithmetic.
    fn arithmetic(&mut self) -> Result<Expression> {
        self.operators(Level::Sum)
    }

    /// The text of SUBSTRING: what follows it may be SIMILAR, which is no operator there.
    pub(super) fn substring_operand(&mut self) -> Result<Expression> {
        self.arithmetic()
    }

    /// The first argument of POSITION: what follows it may be IN, which is no operator there.
    pub(super) fn position_operand(&mut self) -> Result<Expression> {
        self.arithmetic()
    }

    /// The distance of a window's bound: what follows it may be AND, which is no operator there.
    pub(super) fn frame_value(&mut self) -> Result<Expression> {
        self.arithmetic()
    }

    /// A value without operators, as a statement that calls a function is.
    pub(super) fn function_value(&mut self) -> Result<Expression> {
        self.primary()
    }

    /// Goes on with a value whose beginning has been parsed.
    pub(super) fn expression_after(&mut self, left: Expression) -> Result<Expression> {
        self.operators_after(Operand { expression: left, predicate: false }, Level::Or)
    }

    /// An operand and the operators behind it that bind at least as tightly.
    fn operators(&mut self, level: Level) -> Result<Expression> {
        let outer = self.enter()?;
        let operand = self.operand(level)?;
        let expression = self.operators_after(operand, level)?;
        self.leave(outer);
        Ok(expression)
    }

    fn operators_after(&mut self, mut left: Operand, level: Level) -> Result<Expression> {
        while let Some(infix) = self.infix() {
            let binds = infix.level();
            if binds < level || (binds >= Level::Sum && left.predicate) {
                break;
            }
            self.grow()?;
            left = self.infix_operation(left.expression, infix)?;
        }
        Ok(left.expression)
    }

    /// The operator that comes next, if one does.
    fn infix(&self) -> Option<Infix> {
        match self.peek() {
            TokenKind::Symbol(symbol) => infix_symbol(symbol),
            TokenKind::Keyword { text, .. } => match *text {
                "OR" => Some(Infix::Or),
                "AND" => Some(Infix::And),
                "IS" => Some(Infix::Is),
                "NOT" | "BETWEEN" | "LIKE" | "CONTAINING" | "STARTING" | "STARTS" | "SIMILAR" | "IN" => {
                    Some(Infix::Predicate)
                }
                "COLLATE" => Some(Infix::Collate),
                "AT" => Some(Infix::At),
                _ => None,
            },
            _ => None,
        }
    }

    fn infix_operation(&mut self, left: Expression, infix: Infix) -> Result<Operand> {
        let position = left.position;
        let (kind, predicate) = match infix {
            Infix::Or => (ExpressionKind::Or(self.flat(left, "OR", Level::And)?), true),
            Infix::And => (ExpressionKind::And(self.flat(left, "AND", Level::Not)?), true),
            Infix::Comparison(operator) => (self.comparison(left, operator)?, true),
            Infix::Predicate => (self.pattern_predicate(left)?, true),
            Infix::Is => (self.is_predicate(left)?, true),
            Infix::Binary(operator, level) => (self.binary(left, operator, level)?, false),
            Infix::Collate => (self.collate(left)?, false),
            Infix::At => (self.at_time_zone(left)?, false),
        };
        Ok(Operand { expression: Expression::new(kind, position), predicate })
    }

    /// The operands of AND or OR.
    fn flat(&mut self, left: Expression, keyword: &str, tighter: Level) -> Result<Vec<Expression>> {
        let mut operands = vec![left];
        while self.eat_keyword(keyword) {
            operands.push(self.operators(tighter)?);
        }
        Ok(operands)
    }

    fn binary(&mut self, left: Expression, operator: BinaryOperator, level: Level) -> Result<ExpressionKind> {
        self.take();
        let tighter = match level {
            Level::Sum => Level::Product,
            Level::Product => Level::Sign,
            _ => Level::Collate,
        };
        let right = self.operators(tighter)?;
        Ok(ExpressionKind::Binary { left: Box::new(left), operator, right: Box::new(right) })
    }

    fn collate(&mut self, operand: Expression) -> Result<ExpressionKind> {
        self.take();
        Ok(ExpressionKind::Collate { operand: Box::new(operand), collation: self.name()? })
    }

    fn at_time_zone(&mut self, operand: Expression) -> Result<ExpressionKind> {
        self.take();
        let zone = if self.eat_keyword("LOCAL") {
            None
        } else {
            self.expect_keywords(&["TIME", "ZONE"])?;
            Some(Box::new(self.operators(Level::Operand)?))
        };
        Ok(ExpressionKind::AtTimeZone { operand: Box::new(operand), zone })
    }

    fn comparison(&mut self, left: Expression, operator: ComparisonOperator) -> Result<ExpressionKind> {
        self.take();
        let left = Box::new(left);
        let quantifier = match self.keyword() {
            Some("ANY" | "SOME") => Quantifier::Any,
            Some("ALL") => Quantifier::All,
            _ => {
                let right = Box::new(self.operators(Level::Is)?);
                return Ok(ExpressionKind::Comparison { left, operator, right });
            }
        };
        self.take();
        let query = Box::new(self.parenthesised_query()?);
        Ok(ExpressionKind::Quantified { left, operator, quantifier, query })
    }

    /// \[NOT\] BETWEEN, LIKE, SIMILAR, CONTAINING, STARTING, IN.
    fn pattern_predicate(&mut self, operand: Expression) -> Result<ExpressionKind> {
        let negated = self.eat_keyword("NOT");
        let operand = Box::new(operand);
        if self.eat_keyword("BETWEEN") {
            let low = Box::new(self.arithmetic()?);
            self.expect_keyword("AND")?;
            let high = Box::new(self.arithmetic()?);
            Ok(ExpressionKind::Between { operand, low, high, negated })
        } else if self.eat_keyword("LIKE") {
            let (pattern, escape) = self.pattern()?;
            Ok(ExpressionKind::Like { operand, pattern, escape, negated })
        } else if self.eat_keyword("SIMILAR") {
            self.expect_keyword("TO")?;
            let (pattern, escape) = self.pattern()?;
            Ok(ExpressionKind::SimilarTo { operand, pattern, escape, negated })
        } else if self.eat_keyword("CONTAINING") {
            let part = Box::new(self.operators(Level::Is)?);
            Ok(ExpressionKind::Containing { operand, part, negated })
        } else if self.eat_keyword("STARTING") || self.eat_keyword("STARTS") {
            self.eat_keyword("WITH");
            let prefix = Box::new(self.operators(Level::Is)?);
            Ok(ExpressionKind::StartingWith { operand, prefix, negated })
        } else {
            self.expect_keyword("IN")?;
            self.in_predicate(operand, negated)
        }
    }

    fn pattern(&mut self) -> Result<(Box<Expression>, Option<Box<Expression>>)> {
        let pattern = Box::new(self.operators(Level::Is)?);
        let escape =
            if self.eat_keyword("ESCAPE") { Some(Box::new(self.operators(Level::Is)?)) } else { None };
        Ok((pattern, escape))
    }

    fn in_predicate(&mut self, operand: Box<Expression>, negated: bool) -> Result<ExpressionKind> {
        self.expect_symbol("(")?;
        let first = match self.inside_parentheses()? {
            Parenthesised::Query(query) => {
                self.expect_symbol(")")?;
                return Ok(ExpressionKind::InQuery { operand, query: Box::new(query), negated });
            }
            Parenthesised::Expression(first) => first,
        };
        let mut list = vec![first];
        while self.eat_symbol(",") {
            if list.len() >= LIST_VALUES_MAX {
                return Err(error::too_many_values(LIST_VALUES_MAX));
            }
            list.push(self.expression()?);
        }
        self.expect_symbol(")")?;
        Ok(ExpressionKind::InList { operand, list, negated })
    }

    fn is_predicate(&mut self, operand: Expression) -> Result<ExpressionKind> {
        self.take();
        let negated = self.eat_keyword("NOT");
        let operand = Box::new(operand);
        let truth = match self.keyword() {
            Some("NULL") => {
                self.take();
                return Ok(ExpressionKind::IsNull { operand, negated });
            }
            Some("DISTINCT") => {
                self.take();
                self.expect_keyword("FROM")?;
                // NOT begins a predicate here as it does behind a comparison.
                let level = if self.at_keyword("NOT") { Level::Is } else { Level::Sum };
                let right = Box::new(self.operators(level)?);
                return Ok(ExpressionKind::Distinct { left: operand, right, negated });
            }
            Some("TRUE") => Truth::True,
            Some("FALSE") => Truth::False,
            Some("UNKNOWN") => Truth::Unknown,
            _ => return Err(self.unexpected()),
        };
        self.take();
        Ok(ExpressionKind::IsTruth { operand, truth, negated })
    }

    // Operands.

    fn operand(&mut self, level: Level) -> Result<Operand> {
        if level <= Level::Is
            && self.at_any_keyword(&["NOT", "EXISTS", "SINGULAR"])
            && let Some(operand) = self.prefix_predicate()?
        {
            return Ok(operand);
        }
        Ok(Operand { expression: self.primary()?, predicate: false })
    }

    /// NOT, EXISTS, SINGULAR; none if the word is a name after all.
    fn prefix_predicate(&mut self) -> Result<Option<Operand>> {
        let position = self.position();
        let kind = if self.eat_keyword("NOT") {
            ExpressionKind::Not(Box::new(self.operators(Level::Not)?))
        } else if self.eat_keyword("EXISTS") {
            ExpressionKind::Exists(Box::new(self.parenthesised_query()?))
        } else if self.symbol_ahead(1, "(") {
            self.take();
            ExpressionKind::Singular(Box::new(self.parenthesised_query()?))
        } else {
            return Ok(None);
        };
        Ok(Some(Operand { expression: Expression::new(kind, position), predicate: true }))
    }

    fn primary(&mut self) -> Result<Expression> {
        let position = self.position();
        let kind = match self.peek() {
            TokenKind::Symbol("(") => return self.parenthesised_value(),
            TokenKind::Symbol("-" | "+") => self.signed()?,
            TokenKind::Symbol("?") => ExpressionKind::Parameter(self.parameter()?),
            TokenKind::Symbol(":") => self.variable()?,
            TokenKind::Text(_)
            | TokenKind::Binary(_)
            | TokenKind::Number(_)
            | TokenKind::NumberBeyondBigint(_)
            | TokenKind::Introducer(_) => ExpressionKind::Literal(self.literal()?),
            TokenKind::Keyword { reserved: true, .. } => self.reserved_word_operand()?,
            TokenKind::Word(_) | TokenKind::Keyword { .. } | TokenKind::QuotedName(_) => {
                self.named_operand()?
            }
            TokenKind::Symbol(_) | TokenKind::Unknown | TokenKind::Invalid(_) | TokenKind::End => {
                return Err(self.unexpected());
            }
        };
        self.with_subscripts(Expression::new(kind, position))
    }

    /// A value or a query of one value, with its parentheses.
    pub(super) fn parenthesised_value(&mut self) -> Result<Expression> {
        let position = self.position();
        self.expect_symbol("(")?;
        let inside = self.inside_parentheses()?;
        self.expect_symbol(")")?;
        Ok(match inside {
            Parenthesised::Query(query) => {
                Expression::new(ExpressionKind::Subquery(Box::new(query)), position)
            }
            Parenthesised::Expression(expression) => expression,
        })
    }

    /// What stands behind an opening parenthesis: a query or a value. Parentheses within decide it only at their end,
    /// so they are parsed once and taken for whatever they turn out to be.
    pub(super) fn inside_parentheses(&mut self) -> Result<Parenthesised> {
        let outer = self.enter()?;
        let position = self.position();
        let inside = if self.at_query() {
            Parenthesised::Query(self.query()?)
        } else if self.eat_symbol("(") {
            let inner = self.inside_parentheses()?;
            self.expect_symbol(")")?;
            match inner {
                Parenthesised::Query(query) => self.after_nested_query(query, position)?,
                Parenthesised::Expression(first) => Parenthesised::Expression(self.expression_after(first)?),
            }
        } else {
            Parenthesised::Expression(self.expression()?)
        };
        self.leave(outer);
        Ok(inside)
    }

    /// A query in parentheses may be a part of a larger query, the whole, or the operand of an operator.
    fn after_nested_query(&mut self, query: Query, position: Position) -> Result<Parenthesised> {
        if self.at_any_keyword(&["UNION", "ORDER", "ROWS", "OFFSET", "FETCH"]) {
            return Ok(Parenthesised::Query(self.query_after_nested(query, position)?));
        }
        if self.at_symbol(")") {
            return Ok(Parenthesised::Query(query));
        }
        let operand = Expression::new(ExpressionKind::Subquery(Box::new(query)), position);
        Ok(Parenthesised::Expression(self.expression_after(operand)?))
    }

    /// A query in parentheses, which stand around any number of further ones.
    pub(super) fn parenthesised_query(&mut self) -> Result<Query> {
        self.expect_symbol("(")?;
        if !self.at_query() && !self.at_symbol("(") {
            return Err(self.unexpected());
        }
        let unexpected = self.unexpected();
        match self.inside_parentheses()? {
            Parenthesised::Query(query) => {
                self.expect_symbol(")")?;
                Ok(query)
            }
            Parenthesised::Expression(_) => Err(unexpected),
        }
    }

    fn signed(&mut self) -> Result<ExpressionKind> {
        let operator = if self.eat_symbol("-") {
            UnaryOperator::Minus
        } else {
            self.expect_symbol("+")?;
            UnaryOperator::Plus
        };
        if let (UnaryOperator::Minus, TokenKind::NumberBeyondBigint(scale)) = (operator, self.peek()) {
            let literal = beyond_bigint(*scale, true);
            self.take();
            return Ok(ExpressionKind::Literal(literal));
        }
        let operand = Box::new(self.operators(Level::Sign)?);
        Ok(ExpressionKind::Unary { operator, operand })
    }

    /// `:[qualifier.]name`.
    fn variable(&mut self) -> Result<ExpressionKind> {
        self.expect_symbol(":")?;
        let (qualifier, name) = self.qualified_name()?;
        Ok(ExpressionKind::Variable { qualifier, name })
    }

    /// `[qualifier.]name`.
    pub(super) fn qualified_name(&mut self) -> Result<(Option<Name>, Name)> {
        let name = self.name()?;
        if self.eat_symbol(".") { Ok((Some(name), self.name()?)) } else { Ok((None, name)) }
    }

    /// A name: a column, or a call of a function, perhaps in a package.
    fn named_operand(&mut self) -> Result<ExpressionKind> {
        if self.at_call() {
            return self.call();
        }
        if self.at_keywords(&["NEXT", "VALUE"]) {
            return self.next_value();
        }
        let first = self.name()?;
        if !self.eat_symbol(".") {
            return Ok(ExpressionKind::Column { qualifier: None, name: first });
        }
        if let Some(kind) = self.record_key() {
            return Ok(ExpressionKind::RecordKey { qualifier: Some(first), kind });
        }
        let name = self.name()?;
        if self.at_symbol("(") {
            return self.plain_call(ObjectName { package: Some(first), name });
        }
        Ok(ExpressionKind::Column { qualifier: Some(first), name })
    }

    fn record_key(&mut self) -> Option<RecordKeyKind> {
        if self.eat_keyword("RDB$DB_KEY") {
            Some(RecordKeyKind::DbKey)
        } else if self.eat_keyword("RDB$RECORD_VERSION") {
            Some(RecordKeyKind::RecordVersion)
        } else {
            None
        }
    }

    fn with_subscripts(&mut self, operand: Expression) -> Result<Expression> {
        let is_column =
            matches!(operand.kind, ExpressionKind::Column { .. } | ExpressionKind::Variable { .. });
        if !is_column || !self.eat_symbol("[") {
            return Ok(operand);
        }
        let subscripts = self.expressions()?;
        self.expect_symbol("]")?;
        let position = operand.position;
        let kind = ExpressionKind::ArrayElement { array: Box::new(operand), subscripts };
        Ok(Expression::new(kind, position))
    }

    /// An operand that begins with a reserved word.
    fn reserved_word_operand(&mut self) -> Result<ExpressionKind> {
        if let Some(variable) = self.context_variable()? {
            return Ok(ExpressionKind::ContextVariable(variable));
        }
        if let Some(kind) = self.record_key() {
            return Ok(ExpressionKind::RecordKey { qualifier: None, kind });
        }
        match self.keyword().unwrap_or_default() {
            "NULL" | "TRUE" | "FALSE" | "UNKNOWN" | "DATE" | "TIME" | "TIMESTAMP" => {
                Ok(ExpressionKind::Literal(self.literal()?))
            }
            "VALUE" => {
                self.take();
                Ok(ExpressionKind::DomainValue)
            }
            "CASE" => self.case(),
            "CAST" => self.cast(),
            "RDB$ERROR" => self.error_context(),
            _ => self.reserved_word_call(),
        }
    }

    pub(super) fn context_variable(&mut self) -> Result<Option<ContextVariable>> {
        let variable = match self.keyword().unwrap_or_default() {
            "CURRENT_USER" | "USER" => ContextVariable::CurrentUser,
            "CURRENT_ROLE" => ContextVariable::CurrentRole,
            "CURRENT_CONNECTION" => ContextVariable::CurrentConnection,
            "CURRENT_TRANSACTION" => ContextVariable::CurrentTransaction,
            "CURRENT_DATE" => ContextVariable::CurrentDate,
            "CURRENT_TIME" => ContextVariable::CurrentTime { precision: 0 },
            "CURRENT_TIMESTAMP" => ContextVariable::CurrentTimestamp { precision: 3 },
            "LOCALTIME" => ContextVariable::LocalTime { precision: 0 },
            "LOCALTIMESTAMP" => ContextVariable::LocalTimestamp { precision: 3 },
            "ROW_COUNT" => ContextVariable::RowCount,
            "GDSCODE" => ContextVariable::GdsCode,
            "SQLCODE" => ContextVariable::SqlCode,
            "SQLSTATE" => ContextVariable::SqlState,
            "INSERTING" => ContextVariable::Inserting,
            "UPDATING" => ContextVariable::Updating,
            "DELETING" => ContextVariable::Deleting,
            "RESETTING" => ContextVariable::Resetting,
            _ => return Ok(None),
        };
        match variable {
            ContextVariable::CurrentDate => self.check_type_is_known("DATE")?,
            ContextVariable::CurrentTime { .. } | ContextVariable::LocalTime { .. } => {
                self.check_type_is_known("TIME")?;
            }
            _ => {}
        }
        self.take();
        Ok(Some(match variable {
            ContextVariable::CurrentTime { precision } => {
                ContextVariable::CurrentTime { precision: self.time_precision(precision)? }
            }
            ContextVariable::CurrentTimestamp { precision } => {
                ContextVariable::CurrentTimestamp { precision: self.time_precision(precision)? }
            }
            ContextVariable::LocalTime { precision } => {
                ContextVariable::LocalTime { precision: self.time_precision(precision)? }
            }
            ContextVariable::LocalTimestamp { precision } => {
                ContextVariable::LocalTimestamp { precision: self.time_precision(precision)? }
            }
            other => other,
        }))
    }

    /// `[(digits)]`.
    fn time_precision(&mut self, default: u8) -> Result<u8> {
        if !self.eat_symbol("(") {
            return Ok(default);
        }
        let digits = self.short()?;
        self.expect_symbol(")")?;
        u8::try_from(digits)
            .ok()
            .filter(|digits| *digits <= TIME_PRECISION_MAX)
            .ok_or_else(|| error::time_precision(TIME_PRECISION_MAX))
    }

    pub(super) fn error_context(&mut self) -> Result<ExpressionKind> {
        self.take();
        self.expect_symbol("(")?;
        let item = match self.keyword().unwrap_or_default() {
            "GDSCODE" => ErrorItem::GdsCode,
            "SQLCODE" => ErrorItem::SqlCode,
            "SQLSTATE" => ErrorItem::SqlState,
            "EXCEPTION" => ErrorItem::Exception,
            "MESSAGE" => ErrorItem::Message,
            _ => return Err(self.unexpected()),
        };
        self.take();
        self.expect_symbol(")")?;
        Ok(ExpressionKind::ErrorContext(item))
    }
}

/// Digits of a second's fraction that CURRENT_TIMESTAMP can be asked for.
const TIME_PRECISION_MAX: u8 = 3;

fn infix_symbol(symbol: &str) -> Option<Infix> {
    Some(match symbol {
        "=" => Infix::Comparison(ComparisonOperator::Equal),
        "<>" | "!=" | "~=" | "^=" => Infix::Comparison(ComparisonOperator::NotEqual),
        "<" => Infix::Comparison(ComparisonOperator::Less),
        ">" => Infix::Comparison(ComparisonOperator::Greater),
        "<=" | "!>" | "~>" | "^>" => Infix::Comparison(ComparisonOperator::LessOrEqual),
        ">=" | "!<" | "~<" | "^<" => Infix::Comparison(ComparisonOperator::GreaterOrEqual),
        "+" => Infix::Binary(BinaryOperator::Add, Level::Sum),
        "-" => Infix::Binary(BinaryOperator::Subtract, Level::Sum),
        "*" => Infix::Binary(BinaryOperator::Multiply, Level::Product),
        "/" => Infix::Binary(BinaryOperator::Divide, Level::Product),
        "||" => Infix::Binary(BinaryOperator::Concatenate, Level::Concatenation),
        _ => return None,
    })
}

impl Infix {
    fn level(self) -> Level {
        match self {
            Infix::Or => Level::Or,
            Infix::And => Level::And,
            Infix::Comparison(_) | Infix::Predicate => Level::Comparison,
            Infix::Is => Level::Is,
            Infix::Binary(_, level) => level,
            Infix::Collate => Level::Collate,
            Infix::At => Level::At,
        }
    }
}
