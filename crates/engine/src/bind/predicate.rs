//! Predicates.

use farbird_sql::ast::{self, ComparisonOperator, ExpressionKind, Quantifier};
use farbird_types::{
    CharacterSet, Collation, ColumnType, Error, ExactSubtype, ExactWidth, Result, SqlType, isc,
};

use crate::bind::binder::{Binder, Bound};
use crate::bind::data_type::collation_of;
use crate::bind::error::{dsql, sqlcode};
use crate::expression::{Expression, PatternKind, PatternMatch, SubqueryKind};
use crate::function::{Argument, lookup_scalar};

/// Length of a parameter that is a pattern for something that has no length itself.
const PATTERN_CHARS: u32 = 255;

/// What a text becomes beside an exact number: every BIGINT fits, with as many decimals as NUMERIC has elsewhere.
const TEXT_BESIDE_EXACT: SqlType =
    SqlType::Exact { width: ExactWidth::Int128, scale: -18, subtype: ExactSubtype::Numeric };

impl Binder<'_> {
    /// Binds something that must be true, false or unknown.
    pub(crate) fn bind_condition(&mut self, condition: &ast::Expression) -> Result<Expression> {
        let mut bound = self.bind_value(condition)?;
        self.infer(&mut bound, &SqlType::Boolean);
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
                self.infer_pair(&mut left, &mut right);
                let collation = common_collation(&left, &right);
                let distinct = Expression::Distinct {
                    left: Box::new(left.expression),
                    right: Box::new(right.expression),
                    collation,
                };
                Ok(negate_if(*negated, distinct))
            }
            ExpressionKind::Between { operand, low, high, negated } => {
                let mut operand = self.bind_value(operand)?;
                let mut low = self.bind_value(low)?;
                let mut high = self.bind_value(high)?;
                self.infer_pair(&mut operand, &mut low);
                self.infer_pair(&mut operand, &mut high);
                self.infer_pair(&mut operand, &mut low);
                let collation = common_collation(&operand, &low);
                let operand = beside(operand, low.sql_type());
                let between = Expression::Between {
                    operand: Box::new(operand.expression),
                    low: Box::new(low.expression),
                    high: Box::new(high.expression),
                    collation,
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
                Ok(negate_if(*negated, self.in_list(operand, list)))
            }
            ExpressionKind::InQuery { operand, query, negated } => {
                let operand = self.bind_value(operand)?;
                let found = self.quantified(operand, ComparisonOperator::Equal, Quantifier::Any, query)?;
                Ok(negate_if(*negated, found))
            }
            ExpressionKind::Exists(query) => {
                let subquery = self.bind_subquery(query)?;
                Ok(self.subquery(subquery, SubqueryKind::Exists))
            }
            ExpressionKind::Singular(query) => {
                let subquery = self.bind_subquery(query)?;
                Ok(self.subquery(subquery, SubqueryKind::Singular))
            }
            ExpressionKind::IsNull { operand, negated } => {
                let mut operand = self.bind_value(operand)?;
                self.type_as_null(&mut operand);
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
        self.infer_pair(&mut left, &mut right);
        let collation = common_collation(&left, &right);
        let (left_type, right_type) = (*left.sql_type(), *right.sql_type());
        let left = beside(left, &right_type);
        let right = beside(right, &left_type);
        Ok(Expression::Comparison {
            operator,
            left: Box::new(left.expression),
            right: Box::new(right.expression),
            collation,
        })
    }

    /// `operand IN (list)`.
    pub(crate) fn in_list(&mut self, mut operand: Bound, mut list: Vec<Bound>) -> Expression {
        for item in &mut list {
            self.infer_pair(&mut operand, item);
        }
        let collation = list.first().map_or_else(Collation::default, |item| common_collation(&operand, item));
        let item_type = list.first().map_or(SqlType::Null, |item| *item.sql_type());
        let operand = beside(operand, &item_type);
        Expression::InList {
            operand: Box::new(operand.expression),
            list: list.into_iter().map(|item| item.expression).collect(),
            collation,
        }
    }

    fn quantified(
        &mut self,
        mut operand: Bound,
        operator: ComparisonOperator,
        quantifier: Quantifier,
        query: &ast::Query,
    ) -> Result<Expression> {
        let subquery = self.bind_subquery(query)?;
        let column = subquery.only_column()?;
        self.infer(&mut operand, column.sql_type());
        let collation = common_collation(&operand, &column);
        let operand = beside(operand, column.sql_type());
        let kind = SubqueryKind::Quantified {
            operand: Box::new(operand.expression),
            operator,
            quantifier,
            collation,
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
        let (found, _) = self.pattern_match(kind, operand, pattern, escape)?;
        Ok(negate_if(negated, Expression::Pattern(Box::new(found))))
    }

    /// `SUBSTRING(operand SIMILAR pattern ESCAPE escape)`: as long as the operand may be.
    pub(crate) fn bind_substring_similar(
        &mut self,
        operand: &ast::Expression,
        pattern: &ast::Expression,
        escape: &ast::Expression,
    ) -> Result<Bound> {
        let (pattern, operand_type) =
            self.pattern_match(PatternKind::SubstringSimilar, operand, pattern, Some(escape))?;
        let arguments = [Argument { column_type: operand_type, constant: None }];
        let column_type = substring_type(&arguments)?;
        let expression =
            Expression::SubstringSimilar { pattern: Box::new(pattern), result: column_type.sql_type };
        Ok(Bound::new(expression, column_type.sql_type, true))
    }

    /// The parts of a pattern predicate, and the operand's type.
    fn pattern_match(
        &mut self,
        kind: PatternKind,
        operand: &ast::Expression,
        pattern: &ast::Expression,
        escape: Option<&ast::Expression>,
    ) -> Result<(PatternMatch, ColumnType)> {
        let mut operand = self.bind_value(operand)?;
        let mut pattern = self.bind_value(pattern)?;
        let pattern_type = pattern_type(operand.sql_type());
        self.infer(&mut pattern, &pattern_type);
        let operand_type = *pattern.sql_type();
        self.infer(&mut operand, &operand_type);
        let escape = match escape {
            // Not converted: one that is too long is no escape, rather than a text that is cut off.
            Some(escape) => {
                let mut escape = self.bind_value(escape)?;
                self.infer(&mut escape, &SqlType::varchar(1, CharacterSet::UTF8));
                Some(escape.expression)
            }
            None => None,
        };
        let place = self.frame.patterns;
        self.frame.patterns += 1;
        let found = PatternMatch {
            kind,
            collation: common_collation(&operand, &pattern),
            operand: operand.expression,
            pattern: pattern.expression,
            escape,
            place,
        };
        Ok((found, operand.column_type))
    }

    /// `? IS NULL`: a parameter that is only asked for NULL has the type of NULL.
    fn type_as_null(&mut self, operand: &mut Bound) {
        if self.is_untyped(operand)
            && let Expression::Parameter(number) = &operand.expression
            && let Some(place) = self.parameters.get_mut(*number)
        {
            *place = Some(farbird_types::ColumnType { sql_type: SqlType::Null, nullable: true });
        }
    }
}

fn negate_if(negated: bool, expression: Expression) -> Expression {
    if negated { Expression::Not(Box::new(expression)) } else { expression }
}

/// The collation by which two texts are compared: the one that was asked for rather than the default one.
fn common_collation(left: &Bound, right: &Bound) -> Collation {
    match collation_of(left.sql_type()) {
        Collation(0) => match (left.sql_type(), right.sql_type()) {
            (SqlType::Text(left), SqlType::Text(right)) if left.character_set != right.character_set => {
                Collation::default()
            }
            _ => collation_of(right.sql_type()),
        },
        collation => collation,
    }
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

/// The type of a parameter that is a pattern: a VARCHAR as long as what it is matched with.
fn pattern_type(operand: &SqlType) -> SqlType {
    match operand {
        SqlType::Text(text) => SqlType::Text(farbird_types::TextType { varying: true, ..*text }),
        SqlType::Blob { character_set, .. } => SqlType::varchar(PATTERN_CHARS, *character_set),
        SqlType::Null => SqlType::Null,
        _ => SqlType::varchar(PATTERN_CHARS, CharacterSet::UTF8),
    }
}
