//! Expressions that stand by themselves: those of PSQL, defaults, CHECKs, computed columns and indexes.

use std::sync::Arc;

use farbird_catalog::{Access, Relation};
use farbird_expression::{BoundExpression, Expression, SubqueryKind};
use farbird_sql::ast;
use farbird_types::{ColumnType, Result, SqlType};

use crate::bind::binder::Binder;
use crate::bind::namespace::row_table;
use crate::bind::prepared::{NoVariables, VariableScope};
use crate::bound::column::{ComputedRow, RowSlot};
use crate::bound::environment::{Environment, RowExpressions, Surroundings};

pub(crate) fn bind_alone(
    environment: &Environment,
    expression: &ast::Expression,
    variables: &dyn VariableScope,
    target: Option<&SqlType>,
) -> Result<(BoundExpression, Vec<Access>)> {
    let mut binder = Binder::new(environment, variables);
    let mut bound = binder.bind_value(expression)?;
    if let Some(target) = target {
        bound = bound.converted(target);
    }
    let expression = BoundExpression::new(bound.expression, bound.column_type, binder.frame);
    Ok((expression, binder.accesses.into_iter().collect()))
}

pub(crate) fn bind_row_expression(
    environment: &Environment,
    relation: &Arc<Relation>,
    expression: &ast::Expression,
    target: Option<&SqlType>,
) -> Result<(BoundExpression, Vec<Access>)> {
    let mut binder = Binder::new(environment, &NoVariables);
    binder.inside_definition = true;
    let row = ComputedRow::Columns(RowSlot::at(0));
    binder.namespace().tables.push(row_table(environment, relation, row));
    let mut bound = binder.bind_value(expression)?;
    if let Some(target) = target {
        bound = bound.converted(target);
    }
    let expression = BoundExpression::new(bound.expression, bound.column_type, binder.frame);
    Ok((expression, binder.accesses.into_iter().collect()))
}

pub(crate) fn bind_domain_check(
    environment: &Environment,
    domain_type: &SqlType,
    check: &ast::Expression,
) -> Result<(BoundExpression, Vec<Access>)> {
    let mut binder = Binder::new(environment, &NoVariables);
    binder.inside_definition = true;
    binder.domain_value = Some(*domain_type);
    let condition = quantified_to_truth(binder.bind_condition(check)?, false);
    let truth = ColumnType { sql_type: SqlType::Boolean, nullable: true };
    let condition = BoundExpression::new(condition, truth, binder.frame);
    Ok((condition, binder.accesses.into_iter().collect()))
}

/// A domain's condition (or its negation) with quantified subqueries that leave nothing unknown. Elsewhere a CHECK takes
/// unknown for fulfilled, but Firebird 5 refuses NULL for `check (value in (select ...))` and `check (value not in
/// (select ...))` alike: there unknown is false, whatever NOT stands before it.
fn quantified_to_truth(condition: Expression, negated: bool) -> Expression {
    let all = |parts: Vec<Expression>| {
        parts.into_iter().map(|part| quantified_to_truth(part, negated)).collect::<Vec<_>>()
    };
    match condition {
        Expression::Not(operand) => quantified_to_truth(*operand, !negated),
        Expression::And(parts) if negated => Expression::Or(all(parts)),
        Expression::And(parts) => Expression::And(all(parts)),
        Expression::Or(parts) if negated => Expression::And(all(parts)),
        Expression::Or(parts) => Expression::Or(all(parts)),
        other => {
            let is_quantified = matches!(&other, Expression::Subquery(subquery)
                if matches!(subquery.kind, SubqueryKind::Quantified { .. }));
            let other = if negated { Expression::Not(Box::new(other)) } else { other };
            match is_quantified {
                true => Expression::IsTruth { operand: Box::new(other), truth: ast::Truth::True },
                false => other,
            }
        }
    }
}

/// What planning looks at.
pub(crate) fn surroundings(environment: &Environment) -> Surroundings<'_> {
    Surroundings { catalog: &environment.catalog, row_expressions: environment }
}

/// Indexes are computed of expressions that are bound as any other.
impl RowExpressions for Environment {
    fn value(&self, relation: &Arc<Relation>, source: &str) -> Result<BoundExpression> {
        let parsed = farbird_sql::parse_computed(source, &self.parse_options())?;
        bind_row_expression(self, relation, &parsed.value, None).map(|(bound, _)| bound)
    }

    fn condition(&self, relation: &Arc<Relation>, source: &str) -> Result<BoundExpression> {
        let parsed = farbird_sql::parse_expression(source, &self.parse_options())?;
        bind_row_expression(self, relation, &parsed, None).map(|(bound, _)| bound)
    }
}
