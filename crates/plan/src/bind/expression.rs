//! Values.

use std::sync::Arc;

use farbird_expression::{DomainConstraint, Expression, Subquery, SubqueryKind, context_type, error_type};
use farbird_sql::ast::{self, BinaryOperator, ContextVariable, ExpressionKind, UnaryOperator};
use farbird_types::arithmetic::{self, ArithmeticOperator};
use farbird_types::{CharacterSet, ColumnType, ExactWidth, Result, SqlType, Value, isc};

use crate::bind::alone::bind_domain_check;
use crate::bind::array::unless_array;
use crate::bind::binder::{Binder, Bound};
use crate::bind::collating::{collation_of_kind, meeting, stronger, text_kind};
use crate::bind::data_type;
use crate::bind::dialect_one::{arithmetic_in_dialect_1, negation_in_dialect_1};
use crate::bind::error::{dsql, invalid_blr, sqlcode, unknown_column, unsupported};
use crate::bind::literal::{self, constant};
use crate::bind::prepared::ComputedVariable;
use crate::bind::query::{BoundSubquery, RowsAsked};
use crate::bind::unifying::{null_value, typed, unified, unified_without_padding};
use crate::bound::column::ComputedRow;
use crate::subplan::PlannedQuery;

impl Binder<'_> {
    /// Binds a value.
    pub(crate) fn bind_value(&mut self, value: &ast::Expression) -> Result<Bound> {
        match &value.kind {
            ExpressionKind::Literal(literal) => {
                let (constant, sql_type) = constant(self.environment, literal)?;
                let nullable = constant.is_null();
                Ok(Bound::new(Expression::Constant(constant), sql_type, nullable))
            }
            ExpressionKind::Column { qualifier, name } => {
                let position = qualifier.as_ref().map_or(name.position, |qualifier| qualifier.position);
                if let Some(bound) = self.resolve_column(qualifier.as_ref(), name.as_str(), position)? {
                    return Ok(bound);
                }
                self.variable(qualifier.as_ref(), name, position)
            }
            // An error points to the colon.
            ExpressionKind::Variable { qualifier, name } => {
                self.variable(qualifier.as_ref(), name, value.position)
            }
            ExpressionKind::RecordKey { qualifier, kind } => {
                self.resolve_record_key(qualifier.as_ref(), *kind, value.position)
            }
            ExpressionKind::ArrayElement { array, subscripts } => self.bind_array_element(array, subscripts),
            ExpressionKind::Parameter(_) if self.variables.is_psql() => {
                Err(dsql(sqlcode::SYNTAX).and(isc::DSQL_COMMAND_ERR))
            }
            ExpressionKind::Parameter(number) => Ok(self.parameter(*number)),
            ExpressionKind::ContextVariable(variable) => {
                self.check_place(*variable)?;
                Ok(Bound::new(Expression::Context(*variable), context_type(*variable), false))
            }
            ExpressionKind::ErrorContext(item) => {
                Ok(Bound::new(Expression::ErrorContext(*item), error_type(*item), true))
            }
            ExpressionKind::DomainValue => match self.domain_value {
                Some(sql_type) => {
                    let value = self.bring_in(0, Expression::Column(0));
                    Ok(Bound::new(value, sql_type, true))
                }
                None => Err(dsql(sqlcode::VALUES).and(isc::DSQL_COMMAND_ERR)),
            },
            ExpressionKind::Unary { operator: UnaryOperator::Plus, operand } => self.bind_value(operand),
            ExpressionKind::Unary { operator: UnaryOperator::Minus, operand } => self.bind_negation(operand),
            ExpressionKind::Binary { left, operator, right } => self.bind_binary(left, *operator, right),
            ExpressionKind::Case(case) => self.bind_case(case),
            ExpressionKind::Cast { operand, target, format: None } => self.bind_cast(operand, target),
            ExpressionKind::Cast { .. } => Err(unsupported("CAST ... FORMAT")),
            ExpressionKind::Function(call) => self.bind_function_call(call),
            ExpressionKind::Aggregate(call) => self.bind_aggregate(call),
            ExpressionKind::Window(call) => self.bind_window(call),
            ExpressionKind::Sequence { name, step } => self.bind_sequence(name, step.as_deref()),
            ExpressionKind::Subquery(query) => {
                let subquery = self.bind_subquery(query, RowsAsked::All)?;
                let column = subquery.only_column()?;
                let expression = self.subquery(subquery, SubqueryKind::Scalar);
                Ok(Bound { expression, ..column })
            }
            ExpressionKind::Collate { operand, collation } => {
                let bound = self.bind_value(operand)?;
                // A parameter whose type is not known is a text without a character set here.
                let is_untyped = bound.shape.is_some() && *bound.sql_type() == SqlType::Null;
                let operand_type = match is_untyped {
                    true => SqlType::varchar(0, CharacterSet::NONE),
                    false => *bound.sql_type(),
                };
                let sql_type = data_type::collated(self.environment, &operand_type, collation)?;
                let nullable = bound.column_type.nullable;
                // A conversion, so that nobody takes the value for the same one in another order.
                let expression = match is_untyped {
                    true => bound.expression,
                    false => bound.expression.converted(&operand_type, &sql_type),
                };
                Ok(Bound::new(expression, sql_type, nullable))
            }
            ExpressionKind::AtTimeZone { operand, zone } => self.bind_at_time_zone(operand, zone.as_deref()),
            ExpressionKind::SystemPrivilege(name) => self.bind_system_privilege(name),
            ExpressionKind::SubstringSimilar { operand, pattern, escape } => {
                self.bind_substring_similar(operand, pattern, escape)
            }
            ExpressionKind::Comparison { .. }
            | ExpressionKind::Quantified { .. }
            | ExpressionKind::Distinct { .. }
            | ExpressionKind::Between { .. }
            | ExpressionKind::Like { .. }
            | ExpressionKind::SimilarTo { .. }
            | ExpressionKind::StartingWith { .. }
            | ExpressionKind::Containing { .. }
            | ExpressionKind::InList { .. }
            | ExpressionKind::InQuery { .. }
            | ExpressionKind::Exists(_)
            | ExpressionKind::Singular(_)
            | ExpressionKind::IsNull { .. }
            | ExpressionKind::IsTruth { .. }
            | ExpressionKind::Not(_)
            | ExpressionKind::And(_)
            | ExpressionKind::Or(_) => Ok(Bound::new(self.bind_predicate(value)?, SqlType::Boolean, true)),
            ExpressionKind::Extract { .. }
            | ExpressionKind::Substring { .. }
            | ExpressionKind::Trim { .. }
            | ExpressionKind::Overlay { .. }
            | ExpressionKind::DateAdd { .. }
            | ExpressionKind::DateDiff { .. }
            | ExpressionKind::PeriodDay { .. }
            | ExpressionKind::KeywordFunction(_) => self.bind_keyword_call(&value.kind),
        }
    }

    /// A value for a column or variable of a type.
    pub(crate) fn bind_value_for(
        &mut self,
        value: &ast::Expression,
        target: ColumnType,
    ) -> Result<Expression> {
        let mut bound = self.bind_value(value)?;
        self.tell(&mut bound, Some(target))?;
        if let Some(zero) = literal::negative_zero(value, &bound.expression, &target.sql_type) {
            return Ok(Expression::Constant(zero));
        }
        Ok(bound.converted(&target.sql_type).expression)
    }

    fn variable(
        &mut self,
        qualifier: Option<&ast::Name>,
        name: &ast::Name,
        position: ast::Position,
    ) -> Result<Bound> {
        if !self.inside_definition
            && let Some(qualifier) = qualifier
            && let Some(computed) = self.variables.computed_column(qualifier.as_str(), name.as_str())
        {
            return self.computed_variable(&computed);
        }
        let found = self.variables.variable(qualifier.map(ast::Name::as_str), name.as_str());
        let Some(variable) = found.filter(|_| !self.inside_definition) else {
            return Err(unknown_column(qualifier, name.as_str(), position));
        };
        self.variables_used += 1;
        let expression = Expression::Parameter(variable.slot);
        Ok(Bound::new(expression, variable.column_type.sql_type, variable.column_type.nullable))
    }

    fn computed_variable(&mut self, computed: &ComputedVariable) -> Result<Bound> {
        let ComputedVariable { relation, column, first } = computed;
        let sql_type = relation.columns.get(*column).map_or(SqlType::Null, |column| column.sql_type);
        let expression = match first {
            None => Expression::NULL,
            Some(first) => {
                let block = self.blocks.len().saturating_sub(1);
                let row = ComputedRow::Parameters { first: *first };
                self.bind_computed_column(block, row, relation, *column)?
            }
        };
        Ok(Bound::new(expression, sql_type, true))
    }

    /// Refuses context variables where they have no value.
    ///
    /// # Errors
    /// `isc_token_err` for those of PSQL in a statement of its own, and for those of triggers anywhere else.
    fn check_place(&self, variable: ContextVariable) -> Result<()> {
        use ContextVariable::{
            Deleting, GdsCode, Inserting, Resetting, RowCount, SqlCode, SqlState, Updating,
        };
        let (has_value, shown) = match variable {
            GdsCode => (self.variables.is_psql(), "GDSCODE"),
            SqlCode => (self.variables.is_psql(), "SQLCODE"),
            SqlState => (self.variables.is_psql(), "SQLSTATE"),
            RowCount => (self.variables.is_psql(), "ROW_COUNT"),
            Inserting | Updating | Deleting => (self.variables.is_trigger(), "INSERTING/UPDATING/DELETING"),
            Resetting => (self.variables.is_trigger(), "RESETTING"),
            _ => return Ok(()),
        };
        match has_value {
            true => Ok(()),
            false => Err(dsql(sqlcode::SYNTAX).and(isc::TOKEN_ERR).and(isc::RANDOM).with(shown)),
        }
    }

    fn bind_negation(&mut self, operand: &ast::Expression) -> Result<Bound> {
        if let Some((value, sql_type)) = literal::lowest_negated(operand) {
            return Ok(Bound::new(Expression::Constant(value), sql_type, false));
        }
        let bound = self.bind_value(operand)?;
        // A negative number is one constant.
        if let Expression::Constant(Value::Integer { unscaled, scale }) = &bound.expression
            && let Some(unscaled) = unscaled.checked_neg()
        {
            let value = Value::Integer { unscaled, scale: *scale };
            let column_type = match bound.column_type.sql_type {
                // The lowest INTEGER, which has no positive counterpart, is written as a BIGINT's negation, and the other way round.
                SqlType::BIGINT if *scale == 0 && unscaled == i64::from(i32::MIN) => SqlType::INTEGER,
                SqlType::INTEGER if i32::try_from(unscaled).is_err() => SqlType::BIGINT,
                other => other,
            };
            let column_type = ColumnType { sql_type: column_type, ..bound.column_type };
            return Ok(Bound { expression: Expression::Constant(value), column_type, origin: None, ..bound });
        }
        let shape = self.negation_shape(&bound);
        let bound = self.as_operand(bound, true);
        if self.is_in_dialect_1() && shape.is_none() {
            return negation_in_dialect_1(bound);
        }
        let sql_type = typed(arithmetic::negated_type(bound.sql_type()), &shape)?;
        let expression = Expression::Negate(Box::new(bound.expression));
        Ok(Bound { shape, ..Bound::new(expression, sql_type, bound.column_type.nullable) })
    }

    fn bind_binary(
        &mut self,
        left: &ast::Expression,
        operator: BinaryOperator,
        right: &ast::Expression,
    ) -> Result<Bound> {
        let (left_written, right_written) = (left, right);
        let left = self.bind_value(left)?;
        let right = self.bind_value(right)?;
        let left = beside_decimal(left_written, left, right.sql_type());
        let right = beside_decimal(right_written, right, left.sql_type());
        let nullable = left.column_type.nullable || right.column_type.nullable;
        let operator = match operator {
            BinaryOperator::Add => ArithmeticOperator::Add,
            BinaryOperator::Subtract => ArithmeticOperator::Subtract,
            BinaryOperator::Multiply => ArithmeticOperator::Multiply,
            BinaryOperator::Divide => ArithmeticOperator::Divide,
            BinaryOperator::Concatenate => {
                let (left, right) = (unless_array(left), unless_array(right));
                let shape = self.concatenation_shape(&left, &right);
                let result = arithmetic::concatenated_type(left.sql_type(), right.sql_type())?;
                let expression = Expression::Concatenate {
                    left: Box::new(left.expression),
                    right: Box::new(right.expression),
                    result,
                };
                return Ok(Bound { shape, ..Bound::new(expression, result, nullable) });
            }
        };
        let (left_type, right_type) = as_dates(operator, &left, &right);
        let shape = self.arithmetic_shape(operator, &left, &right);
        if self.is_in_dialect_1() && shape.is_none() {
            return arithmetic_in_dialect_1(operator, left, right);
        }
        let product = matches!(operator, ArithmeticOperator::Multiply | ArithmeticOperator::Divide);
        let left = self.as_operand(left, product);
        let right = self.as_operand(right, product);
        let left_type = left_type.as_ref().unwrap_or(left.sql_type());
        let right_type = right_type.as_ref().unwrap_or(right.sql_type());
        let result = typed(arithmetic::result_type(operator, left_type, right_type), &shape)?;
        let expression = Expression::Arithmetic {
            operator,
            left: Box::new(left.expression),
            right: Box::new(right.expression),
            result,
        };
        Ok(Bound { shape, ..Bound::new(expression, result, nullable) })
    }

    /// An operand of arithmetic. A text that parameters are part of is computed with as a number where its operator takes
    /// any (`takes_texts`): `a = ? * 2` makes texts of parameters.
    fn as_operand(&self, bound: Bound, takes_texts: bool) -> Bound {
        let made_of_parameters = || bound.expression.any(&|part| matches!(part, Expression::Parameter(_)));
        match bound.sql_type() {
            SqlType::Text(_) if takes_texts && !self.variables.is_psql() && made_of_parameters() => {
                bound.converted(&SqlType::Double)
            }
            _ => bound,
        }
    }

    fn bind_case(&mut self, case: &ast::Case) -> Result<Bound> {
        let operand = case.operand.as_ref().map(|operand| self.bind_value(operand)).transpose()?;
        let mut whens = Vec::with_capacity(case.branches.len());
        let mut thens = Vec::with_capacity(case.branches.len() + 1);
        for branch in &case.branches {
            whens.push(match &operand {
                Some(_) => self.bind_value(&branch.when)?,
                None => Bound::new(self.bind_condition(&branch.when)?, SqlType::Boolean, true),
            });
            thens.push(self.bind_value(&branch.then)?);
        }
        match &case.otherwise {
            Some(otherwise) => thens.push(self.bind_value(otherwise)?),
            None => thens.push(null_value()),
        }
        match operand {
            Some(operand) => self.simple_case(operand, whens, thens, "CASE"),
            None => self.searched_case(whens, thens),
        }
    }

    /// Searched CASE, IIF, NULLIF: `thens` has one more than `whens`, the ELSE.
    pub(crate) fn searched_case(&mut self, whens: Vec<Bound>, mut thens: Vec<Bound>) -> Result<Bound> {
        let shape = self.choice_shape(&mut thens)?;
        let (mut thens, column_type) = unified(thens, &shape, "CASE")?;
        let otherwise = Box::new(thens.pop().unwrap_or(Expression::NULL));
        let branches = whens.into_iter().map(|when| when.expression).zip(thens).collect();
        let expression = Expression::Case { branches, otherwise };
        Ok(Bound { shape, ..Bound::new(expression, column_type.sql_type, column_type.nullable) })
    }

    /// Simple CASE and DECODE: `thens` has one more than `whens`, the ELSE.
    pub(crate) fn simple_case(
        &mut self,
        operand: Bound,
        whens: Vec<Bound>,
        thens: Vec<Bound>,
        label: &'static str,
    ) -> Result<Bound> {
        let shape = self.decode_shape(&operand, &whens, &thens, label)?;
        let (mut thens, column_type, sent_as_char) = unified_without_padding(thens, &shape, label)?;
        let otherwise = Box::new(thens.pop().unwrap_or(Expression::NULL));
        let kind = whens
            .iter()
            .fold(text_kind(operand.sql_type()), |kind, when| stronger(kind, text_kind(when.sql_type())));
        let whens = whens.into_iter().map(|when| meeting(when, kind).expression);
        let expression = Expression::SimpleCase {
            branches: whens.zip(thens).collect(),
            operand: Box::new(meeting(operand, kind).expression),
            otherwise,
            collation: collation_of_kind(kind),
        };
        // Firebird says so even where there is an ELSE.
        Ok(Bound { shape, sent_as_char, ..Bound::new(expression, column_type.sql_type, true) })
    }

    fn bind_cast(&mut self, operand: &ast::Expression, target: &ast::DataType) -> Result<Bound> {
        let resolved = data_type::resolve(self.environment, target, None)?;
        let mut bound = self.bind_value(operand)?;
        // A parameter that is cast to a domain is told what the domain says of NULL.
        let nullable = resolved.domain.is_none() || !resolved.not_null;
        self.tell_cast(&mut bound, ColumnType { sql_type: resolved.sql_type, nullable });
        let nullable = bound.column_type.nullable;
        if let Some(zero) = literal::negative_zero(operand, &bound.expression, &resolved.sql_type) {
            bound = Bound::new(Expression::Constant(zero), resolved.sql_type, false);
        }
        if let (true, Expression::Constant(Value::Double(double)), SqlType::Exact { width, .. }) =
            (literal::has_exponent(operand), &bound.expression, &resolved.sql_type)
            && *width == ExactWidth::Int128
        {
            let number = literal::exact_digits(*double, &resolved.sql_type)?;
            bound = Bound::new(Expression::Constant(number), resolved.sql_type, false);
        }
        let mut cast = bound.converted(&resolved.sql_type);
        if let Some(constraint) = self.domain_constraint(&resolved)? {
            cast.expression = Expression::Constrained { operand: Box::new(cast.expression), constraint };
        }
        Ok(Bound::new(cast.expression, resolved.sql_type, nullable))
    }

    /// What a domain allows, if that is not everything.
    fn domain_constraint(
        &mut self,
        resolved: &data_type::ResolvedType,
    ) -> Result<Option<Arc<DomainConstraint>>> {
        let Some(domain) = &resolved.domain else { return Ok(None) };
        let check = match &domain.check_source {
            Some(source) => {
                let check = farbird_sql::parse_check(source, &self.parse_options())?;
                let (check, accesses) =
                    bind_domain_check(self.environment, &resolved.sql_type, &check.condition)?;
                self.accesses.extend(accesses);
                Some(check)
            }
            None => None,
        };
        if check.is_none() && !resolved.not_null {
            return Ok(None);
        }
        let domain = domain.name.clone();
        Ok(Some(Arc::new(DomainConstraint { domain, not_null: resolved.not_null, check })))
    }

    fn bind_sequence(&mut self, name: &ast::Name, step: Option<&ast::Expression>) -> Result<Bound> {
        let known = self.environment.catalog.sequences.get(name.as_str());
        let (id, increment) = match (known, farbird_catalog::system_sequence(name.as_str())) {
            (Some(sequence), _) => {
                let (id, increment) = (sequence.id, sequence.increment);
                self.access(
                    farbird_catalog::ObjectKind::Sequence,
                    name.as_str(),
                    None,
                    crate::bind::AccessPrivilege::Usage,
                );
                (id, increment)
            }
            // Everybody may look at the system's own; their increment is 0.
            (None, Some(id)) => (id, 0),
            (None, None) => return Err(invalid_blr().and(isc::GENNOTDEF).with(name.as_str())),
        };
        // GEN_ID of a NULL step is NULL; NEXT VALUE never is.
        let is_gen_id = step.is_some();
        let sql_type = if self.is_in_dialect_1() { SqlType::INTEGER } else { SqlType::BIGINT };
        let column_type = ColumnType { sql_type, nullable: is_gen_id };
        let (step, shape) = match step {
            Some(step) => {
                let step = self.bind_value(step)?;
                let shape = self.sequence_shape(&step, column_type);
                (step.converted(&SqlType::BIGINT).expression, shape)
            }
            None => (Expression::Constant(Value::integer(i64::from(increment))), None),
        };
        self.block().volatile = true;
        let expression = Expression::Sequence {
            sequence: farbird_store::SequenceId(id.0),
            step: Box::new(step),
            short: self.is_in_dialect_1(),
        };
        Ok(Bound { shape, ..Bound::new(expression, sql_type, is_gen_id) })
    }

    fn bind_at_time_zone(
        &mut self,
        operand: &ast::Expression,
        zone: Option<&ast::Expression>,
    ) -> Result<Bound> {
        let mut bound = self.bind_value(operand)?;
        let mut zone = zone.map(|zone| self.bind_value(zone)).transpose()?;
        let shape = self.at_time_zone_shape(&mut bound, zone.as_mut())?;
        let zone_type = SqlType::varchar(64, CharacterSet::ASCII);
        let zone = zone.map(|zone| Box::new(zone.converted(&zone_type).expression));
        let sql_type = match bound.sql_type() {
            SqlType::Time | SqlType::TimeTz => SqlType::TimeTz,
            _ => SqlType::TimestampTz,
        };
        let nullable = bound.column_type.nullable;
        let expression = Expression::AtTimeZone { operand: Box::new(bound.expression), zone };
        Ok(Bound { shape, ..Bound::new(expression, sql_type, nullable) })
    }

    /// A bound query as part of an expression.
    pub(crate) fn subquery(&mut self, query: BoundSubquery, kind: SubqueryKind) -> Expression {
        let place = self.frame.subqueries;
        self.frame.subqueries += 1;
        let invariant = !query.correlated && !query.volatile;
        self.block().volatile |= query.volatile;
        Expression::Subquery(Box::new(Subquery {
            place,
            kind,
            plan: Arc::new(PlannedQuery {
                node: query.plan,
                unnested: query.unnested,
                grouped: query.grouped,
            }),
            captures: query.captures,
            invariant,
            repeatable: query.repeatable,
        }))
    }
}

/// As which types the sides of a sum are looked at, where that is not their own: a bare NULL beside a date is taken for another
/// date, as by Firebird.
fn as_dates(operator: ArithmeticOperator, left: &Bound, right: &Bound) -> (Option<SqlType>, Option<SqlType>) {
    let is_null = |bound: &Bound| matches!(bound.expression, Expression::Constant(Value::Null));
    let date = |bound: &Bound| match bound.sql_type() {
        date @ (SqlType::Date
        | SqlType::Time
        | SqlType::Timestamp
        | SqlType::TimeTz
        | SqlType::TimestampTz) => Some(*date),
        _ => None,
    };
    match operator {
        ArithmeticOperator::Add if is_null(left) => (date(right), None),
        ArithmeticOperator::Add if is_null(right) => (None, date(left)),
        _ => (None, None),
    }
}

/// A literal with an exponent keeps its digits where it meets a DECFLOAT.
fn beside_decimal(written: &ast::Expression, bound: Bound, other: &SqlType) -> Bound {
    let meets_decimal = matches!(other, SqlType::DecFloat16 | SqlType::DecFloat34);
    let Expression::Constant(Value::Double(double)) = &bound.expression else { return bound };
    if !meets_decimal || !literal::has_exponent(written) {
        return bound;
    }
    match literal::decimal(*double, &SqlType::DecFloat34) {
        Some(decimal) => Bound::new(Expression::Constant(decimal), SqlType::DecFloat34, false),
        None => bound,
    }
}
