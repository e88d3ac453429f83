//! Predicates.

use farbird_expression::{Expression, PatternKind, PatternMatch, SubqueryKind};
use farbird_function::{Argument, lookup_scalar};
use farbird_sql::ast::{self, ComparisonOperator, ExpressionKind, Quantifier};
use farbird_types::{
    CharacterSet, ColumnType, Error, ExactSubtype, ExactWidth, Result, SqlType, arithmetic, isc,
};

use crate::bind::binder::{Binder, Bound};
use crate::bind::collating::{collation_of_kind, list_kind, meeting, meeting_type, stronger, text_kind};
use crate::bind::data_type::collation_of;
use crate::bind::error::{dsql, sqlcode};
use crate::bind::query::RowsAsked;
use crate::bound::shape::Shape;

/// What a text becomes beside an exact number: every BIGINT fits, with as many decimals as NUMERIC has elsewhere.
const TEXT_BESIDE_EXACT: SqlType =
    SqlType::Exact { width: ExactWidth::Int128, scale: -18, subtype: ExactSubtype::Numeric };

impl Binder<'_> {
    /// Binds something that must be true, false or unknown.
    pub(crate) fn bind_condition(&mut self, condition: &ast::Expression) -> Result<Expression> {
        let mut bound = self.bind_value(condition)?;
        if bound.shape.is_some() {
            let known = self.describe(&mut bound)?;
            if known.is_some_and(|known| !matches!(known.sql_type, SqlType::Boolean | SqlType::Null)) {
                return Err(dsql(sqlcode::SYNTAX).and(isc::INVALID_BOOLEAN_USAGE));
            }
            self.tell(&mut bound, Some(ColumnType { sql_type: SqlType::Boolean, nullable: false }))?;
            return Ok(bound.expression);
        }
        match bound.sql_type() {
            SqlType::Boolean | SqlType::Null => Ok(bound.expression),
            _ => Err(dsql(sqlcode::SYNTAX).and(isc::INVALID_BOOLEAN_USAGE)),
        }
    }

    pub(crate) fn bind_predicate(&mut self, value: &ast::Expression) -> Result<Expression> {
        match &value.kind {
            ExpressionKind::Comparison { left, operator, right } => {
                let left = self.bind_value(left)?;
                let right = self.bind_value(right)?;
                self.compare(*operator, left, right)
            }
            ExpressionKind::Quantified { left, operator, quantifier, query } => {
                let left = self.bind_value(left)?;
                self.quantified(left, *operator, *quantifier, query)
            }
            ExpressionKind::Distinct { left, right, negated } => {
                let mut left = self.bind_value(left)?;
                let mut right = self.bind_value(right)?;
                self.tell_each_other(&mut left, &mut right)?;
                let kind = stronger(text_kind(left.sql_type()), text_kind(right.sql_type()));
                let distinct = Expression::Distinct {
                    left: Box::new(meeting(left, kind).expression),
                    right: Box::new(meeting(right, kind).expression),
                    collation: collation_of_kind(kind),
                };
                Ok(negate_if(*negated, distinct))
            }
            ExpressionKind::Between { operand, low, high, negated } => {
                let mut operand = self.bind_value(operand)?;
                let mut low = self.bind_value(low)?;
                let mut high = self.bind_value(high)?;
                self.tell_each_other(&mut operand, &mut low)?;
                self.tell_type_of(&mut high, &mut operand)?;
                let bounds = stronger(text_kind(low.sql_type()), text_kind(high.sql_type()));
                let kind = stronger(text_kind(operand.sql_type()), bounds);
                let operand = beside(operand, low.sql_type());
                let between = Expression::Between {
                    operand: Box::new(meeting(operand, kind).expression),
                    low: Box::new(meeting(low, kind).expression),
                    high: Box::new(meeting(high, kind).expression),
                    collation: collation_of_kind(kind),
                };
                Ok(negate_if(*negated, between))
            }
            ExpressionKind::Like { operand, pattern, escape, negated } => {
                self.bind_pattern(PatternKind::Like, operand, pattern, escape.as_deref(), *negated)
            }
            ExpressionKind::SimilarTo { operand, pattern, escape, negated } => {
                self.bind_pattern(PatternKind::Similar, operand, pattern, escape.as_deref(), *negated)
            }
            ExpressionKind::StartingWith { operand, prefix, negated } => {
                self.bind_pattern(PatternKind::Starting, operand, prefix, None, *negated)
            }
            ExpressionKind::Containing { operand, part, negated } => {
                self.bind_pattern(PatternKind::Containing, operand, part, None, *negated)
            }
            ExpressionKind::InList { operand, list, negated } => {
                let operand = self.bind_value(operand)?;
                let list = list.iter().map(|item| self.bind_value(item)).collect::<Result<Vec<_>>>()?;
                Ok(negate_if(*negated, self.in_list(operand, list)?))
            }
            ExpressionKind::InQuery { operand, query, negated } => {
                let operand = self.bind_value(operand)?;
                let found = self.quantified(operand, ComparisonOperator::Equal, Quantifier::Any, query)?;
                Ok(negate_if(*negated, found))
            }
            ExpressionKind::Exists(query) => {
                let subquery = self.bind_subquery(query, RowsAsked::First)?;
                Ok(self.subquery(subquery, SubqueryKind::Exists))
            }
            ExpressionKind::Singular(query) => {
                let subquery = self.bind_subquery(query, RowsAsked::First)?;
                Ok(self.subquery(subquery, SubqueryKind::Singular))
            }
            ExpressionKind::IsNull { operand, negated } => {
                let mut operand = self.bind_value(operand)?;
                self.tell(&mut operand, Some(ColumnType { sql_type: SqlType::Null, nullable: true }))?;
                Ok(negate_if(*negated, Expression::IsNull(Box::new(operand.expression))))
            }
            ExpressionKind::IsTruth { operand, truth, negated } => {
                let operand = self.bind_condition(operand)?;
                Ok(negate_if(*negated, Expression::IsTruth { operand: Box::new(operand), truth: *truth }))
            }
            ExpressionKind::Not(operand) => Ok(Expression::Not(Box::new(self.bind_condition(operand)?))),
            ExpressionKind::And(parts) => Ok(Expression::And(self.conditions(parts)?)),
            ExpressionKind::Or(parts) => Ok(Expression::Or(self.conditions(parts)?)),
            _ => Err(dsql(sqlcode::SYNTAX).and(isc::INVALID_BOOLEAN_USAGE)),
        }
    }

    fn conditions(&mut self, parts: &[ast::Expression]) -> Result<Vec<Expression>> {
        parts.iter().map(|part| self.bind_condition(part)).collect()
    }

    /// `left operator right`.
    pub(crate) fn compare(
        &mut self,
        operator: ComparisonOperator,
        mut left: Bound,
        mut right: Bound,
    ) -> Result<Expression> {
        self.tell_each_other(&mut left, &mut right)?;
        let (left_type, right_type) = (*left.sql_type(), *right.sql_type());
        let kind = stronger(text_kind(&left_type), text_kind(&right_type));
        let left = meeting(beside(left, &right_type), kind);
        let right = meeting(beside(right, &left_type), kind);
        Ok(Expression::Comparison {
            operator,
            left: Box::new(left.expression),
            right: Box::new(right.expression),
            collation: collation_of_kind(kind),
        })
    }

    /// `operand IN (list)`.
    pub(crate) fn in_list(&mut self, mut operand: Bound, mut list: Vec<Bound>) -> Result<Expression> {
        for item in &mut list {
            self.tell_type_of(&mut operand, item)?;
        }
        for item in &mut list {
            self.tell_type_of(item, &mut operand)?;
        }
        self.check_list(&mut operand, &mut list)?;
        let kind = stronger(text_kind(operand.sql_type()), list_kind(list.iter().map(Bound::sql_type)));
        let item_type = list.first().map_or(SqlType::Null, |item| *item.sql_type());
        let operand = beside(operand, &item_type);
        Ok(Expression::InList {
            operand: Box::new(meeting(operand, kind).expression),
            list: list.into_iter().map(|item| meeting(item, kind).expression).collect(),
            collation: collation_of_kind(kind),
        })
    }

    fn quantified(
        &mut self,
        mut operand: Bound,
        operator: ComparisonOperator,
        quantifier: Quantifier,
        query: &ast::Query,
    ) -> Result<Expression> {
        let subquery = self.bind_subquery(query, RowsAsked::All)?;
        let nullable = subquery.columns.first().is_none_or(|column| column.column_type.nullable);
        let mut column = subquery.only_column()?;
        column.column_type.nullable = nullable;
        self.tell_type_of(&mut operand, &mut column)?;
        let text_kind = stronger(text_kind(operand.sql_type()), text_kind(column.sql_type()));
        let operand = beside(operand, column.sql_type());
        let kind = SubqueryKind::Quantified {
            operand: Box::new(meeting(operand, text_kind).expression),
            operator,
            quantifier,
            collation: collation_of_kind(text_kind),
            column: meeting_type(column.sql_type(), text_kind),
        };
        Ok(self.subquery(subquery, kind))
    }

    fn bind_pattern(
        &mut self,
        kind: PatternKind,
        operand: &ast::Expression,
        pattern: &ast::Expression,
        escape: Option<&ast::Expression>,
        negated: bool,
    ) -> Result<Expression> {
        let (found, ..) = self.pattern_match(kind, operand, pattern, escape)?;
        Ok(negate_if(negated, Expression::Pattern(Box::new(found))))
    }

    /// `SUBSTRING(operand SIMILAR pattern ESCAPE escape)`: as long as the operand may be.
    pub(crate) fn bind_substring_similar(
        &mut self,
        operand: &ast::Expression,
        pattern: &ast::Expression,
        escape: &ast::Expression,
    ) -> Result<Bound> {
        let (pattern, operand_type, shape) =
            self.pattern_match(PatternKind::SubstringSimilar, operand, pattern, Some(escape))?;
        let arguments = [Argument { column_type: operand_type, constant: None }];
        let column_type = substring_type(&arguments)?;
        let expression =
            Expression::SubstringSimilar { pattern: Box::new(pattern), result: column_type.sql_type };
        Ok(Bound { shape, ..Bound::new(expression, column_type.sql_type, true) })
    }

    /// The parts of a pattern predicate, the operand's type, and the shape that SUBSTRING makes of them.
    fn pattern_match(
        &mut self,
        kind: PatternKind,
        operand: &ast::Expression,
        pattern: &ast::Expression,
        escape: Option<&ast::Expression>,
    ) -> Result<(PatternMatch, ColumnType, Option<Box<Shape>>)> {
        let mut operand = self.bind_value(operand)?;
        let mut pattern = self.bind_value(pattern)?;
        // Not converted: one that is too long is no escape, rather than a text that is cut off.
        let mut escape = escape.map(|escape| self.bind_value(escape)).transpose()?;
        self.tell_pattern(&mut operand, &mut pattern, escape.as_mut())?;
        let shape = match (kind, &escape) {
            (PatternKind::SubstringSimilar, Some(escape)) => {
                self.substring_similar_shape(&operand, &pattern, escape)
            }
            _ => None,
        };
        let is_of_bytes =
            matches!(operand.sql_type(), SqlType::Text(text) if text.character_set == CharacterSet::OCTETS);
        let kind = match kind {
            PatternKind::Like if is_of_bytes && escape.is_none() => PatternKind::LikeBytes,
            other => other,
        };
        let place = self.frame.patterns;
        self.frame.patterns += 1;
        let found = PatternMatch {
            kind,
            // The operand's, whatever the pattern's is.
            collation: collation_of(operand.sql_type()),
            operand: operand.expression,
            pattern: pattern.expression,
            escape: escape.map(|escape| escape.expression),
            place,
        };
        Ok((found, operand.column_type, shape))
    }

    /// Refuses a list whose values have no common type, and operators in it that do not take the types they were told.
    fn check_list(&mut self, operand: &mut Bound, list: &mut [Bound]) -> Result<()> {
        self.describe(operand)?;
        let mut types = Vec::with_capacity(list.len());
        for item in list {
            let known = self.describe(item)?.map(|known| known.sql_type);
            // Lists are long, and mostly of one type.
            if let Some(known) = known.filter(|known| types.last() != Some(known)) {
                types.push(known);
            }
        }
        arithmetic::common_type_in(&types, "IN LIST").map(drop)
    }

    /// Each of two operands tells the other its type.
    fn tell_each_other(&mut self, left: &mut Bound, right: &mut Bound) -> Result<()> {
        self.tell_type_of(left, right)?;
        self.tell_type_of(right, left)
    }
}

fn negate_if(negated: bool, expression: Expression) -> Expression {
    if negated { Expression::Not(Box::new(expression)) } else { expression }
}

/// A value as it is compared with one of another type. A text column beside something else is converted for each row,
/// visibly, so that nobody looks it up in an index of texts: '05' = 5 but is not '5'.
fn beside(bound: Bound, other: &SqlType) -> Bound {
    let is_column = !matches!(bound.expression, Expression::Constant(_) | Expression::Parameter(_));
    if !matches!(bound.sql_type(), SqlType::Text(_)) || !is_column {
        return bound;
    }
    match other {
        SqlType::Null | SqlType::Text(_) | SqlType::Blob { .. } => bound,
        SqlType::Exact { .. } => bound.converted(&TEXT_BESIDE_EXACT),
        SqlType::DecFloat16 | SqlType::DecFloat34 => bound.converted(&SqlType::DecFloat34),
        SqlType::Float | SqlType::Double => bound.converted(&SqlType::Double),
        other => bound.converted(other),
    }
}

/// The type of a part of a text.
fn substring_type(arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let function = lookup_scalar("SUBSTRING").ok_or_else(|| Error::new(isc::FUNMISMAT).with("SUBSTRING"))?;
    (function.result)(function.name, arguments)
}
