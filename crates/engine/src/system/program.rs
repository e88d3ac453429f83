//! BLR of definitions, for the columns of the system tables that hold it: of those whose values and conditions are simple enough.
//!
//! Names are those of the row's own columns, or VALUE; there are no queries, no stored functions and no types. What is more has no BLR
//! here (`None`), and tools are shown an empty program.

use farbird_blr::{
    Binary, Comparison, Condition, Expression, Field, FieldName, Function, Item, Reference, ReferringAction,
    check_program, condition_program, on_delete_program, on_update_program, value_program,
};
use farbird_sql::ParseOptions;
use farbird_sql::ast::{
    self, BinaryOperator, ComparisonOperator, ContextVariable, ExpressionKind, Literal, UnaryOperator,
};
use farbird_types::{CharacterSet, Collation, ExactSubtype, ExactWidth, SqlType, Text, TextType, Value};

use crate::catalog::{Constraint, ConstraintKind, ReferentialAction, Relation};

/// What names stand for.
#[derive(Clone, Copy)]
enum Names<'a> {
    /// Nothing: a default.
    None,
    /// VALUE.
    Domain,
    /// The columns of a row.
    Row { relation: &'a Relation, context: u8 },
}

/// Of a default, as written.
pub(crate) fn of_default(source: &str) -> Option<Vec<u8>> {
    let parsed = farbird_sql::parse_default(source, &ParseOptions::default()).ok()?;
    value_program(&value(&parsed.value, Names::None)?)
}

/// Of a domain's `CHECK (...)`.
pub(crate) fn of_domain_check(source: &str) -> Option<Vec<u8>> {
    let parsed = farbird_sql::parse_check(source, &ParseOptions::default()).ok()?;
    condition_program(&condition(&parsed.condition, Names::Domain)?)
}

/// Of the expression of a computed column or of an index, with its parentheses.
pub(crate) fn of_computed(relation: &Relation, source: &str) -> Option<Vec<u8>> {
    let parsed = farbird_sql::parse_computed(source, &ParseOptions::default()).ok()?;
    value_program(&value(&parsed.value, Names::Row { relation, context: 0 })?)
}

/// Of the trigger of a constraint; `on_update` tells a foreign key's two apart.
pub(crate) fn of_constraint(
    relation: &Relation,
    constraint: &Constraint,
    referenced: Option<&Relation>,
    on_update: bool,
) -> Option<Vec<u8>> {
    match &constraint.kind {
        ConstraintKind::Check { source } => {
            let parsed = farbird_sql::parse_check(source, &ParseOptions::default()).ok()?;
            check_program(&condition(&parsed.condition, Names::Row { relation, context: 1 })?)
        }
        ConstraintKind::ForeignKey {
            index,
            referenced_constraint,
            on_update: update,
            on_delete: delete,
            ..
        } => {
            let own = &relation.index(index)?.columns;
            let referenced = referenced?;
            let key = referenced.constraint(referenced_constraint)?.index()?;
            let others = &referenced.index(key)?.columns;
            let columns = own.iter().map(String::as_str).zip(others.iter().map(String::as_str)).collect();
            let reference = Reference { table: &relation.name, columns };
            let action = |action| match action {
                ReferentialAction::Cascade => Some(ReferringAction::Cascade),
                ReferentialAction::SetNull => Some(ReferringAction::SetNull),
                ReferentialAction::SetDefault | ReferentialAction::Restrict => None,
            };
            match on_update {
                true => on_update_program(&reference, action(*update)?),
                false => on_delete_program(&reference, action(*delete)?),
            }
        }
        _ => None,
    }
}

fn values(list: &[ast::Expression], names: Names<'_>) -> Option<Vec<Expression>> {
    list.iter().map(|it| value(it, names)).collect()
}

fn boxed(it: &ast::Expression, names: Names<'_>) -> Option<Box<Expression>> {
    value(it, names).map(Box::new)
}

fn value(it: &ast::Expression, names: Names<'_>) -> Option<Expression> {
    let call = |function| Some(Expression::Call(function, Vec::new()));
    match &it.kind {
        ExpressionKind::Literal(it) => literal(it),
        ExpressionKind::DomainValue => match names {
            Names::Domain => Some(Expression::Field(Field { context: 0, name: FieldName::Id(0) })),
            _ => None,
        },
        ExpressionKind::Column { qualifier: None, name } => match names {
            Names::Row { relation, context } => {
                let column = relation.column(name.as_str())?;
                Some(Expression::Field(Field { context, name: FieldName::Name(column.name.clone()) }))
            }
            _ => None,
        },
        ExpressionKind::ContextVariable(it) => match it {
            ContextVariable::CurrentUser => call(Function::User),
            ContextVariable::CurrentRole => call(Function::Role),
            ContextVariable::CurrentConnection => call(Function::Connection),
            ContextVariable::CurrentTransaction => call(Function::Transaction),
            ContextVariable::CurrentDate => call(Function::CurrentDate),
            // Other precisions than the usual ones have codes of their own.
            ContextVariable::CurrentTime { precision: 0 } => call(Function::CurrentTime),
            ContextVariable::CurrentTimestamp { precision: 3 } => call(Function::CurrentTimestamp),
            _ => None,
        },
        ExpressionKind::Unary { operator: UnaryOperator::Plus, operand } => value(operand, names),
        ExpressionKind::Unary { operator: UnaryOperator::Minus, operand } => {
            Some(Expression::Negate(boxed(operand, names)?))
        }
        ExpressionKind::Binary { left, operator, right } => {
            let operator = match operator {
                BinaryOperator::Add => Binary::Add,
                BinaryOperator::Subtract => Binary::Subtract,
                BinaryOperator::Multiply => Binary::Multiply,
                BinaryOperator::Divide => Binary::Divide,
                BinaryOperator::Concatenate => Binary::Concatenate,
            };
            Some(Expression::Binary(operator, boxed(left, names)?, boxed(right, names)?))
        }
        ExpressionKind::Function(it) if it.name.package.is_none() => {
            let arguments = values(&it.arguments, names)?;
            let function = match (it.name.name.as_str(), arguments.len()) {
                ("UPPER", 1) => Function::Upper,
                ("LOWER", 1) => Function::Lower,
                ("COALESCE", 2..) => Function::Coalesce,
                _ => return None,
            };
            Some(Expression::Call(function, arguments))
        }
        _ => None,
    }
}

fn literal(it: &Literal) -> Option<Expression> {
    let (sql_type, value) = match it {
        Literal::Null => return Some(Expression::Null),
        Literal::Boolean(value) => (SqlType::Boolean, Value::Boolean(*value)),
        Literal::Integer { value, width } if *width != ExactWidth::Int128 => {
            (exact(*width, 0), Value::integer(i64::try_from(*value).ok()?))
        }
        Literal::Exact { unscaled, scale, width } if *width != ExactWidth::Int128 => (
            exact(*width, *scale),
            Value::Integer { unscaled: i64::try_from(*unscaled).ok()?, scale: *scale },
        ),
        Literal::Double(number) => (SqlType::Double, Value::Double(*number)),
        Literal::String { value, character_set: None } => {
            let sql_type = TextType {
                varying: false,
                length_chars: u32::try_from(value.chars().count()).ok()?,
                character_set: CharacterSet::UTF8,
                collation: Collation(0),
            };
            (SqlType::Text(sql_type), Value::Text(Text::new(value.as_bytes(), CharacterSet::UTF8)))
        }
        _ => return None,
    };
    Some(Expression::Literal { item: Item { sql_type, of_attachment: false }, value })
}

fn exact(width: ExactWidth, scale: i8) -> SqlType {
    let subtype = if scale == 0 { ExactSubtype::Integer } else { ExactSubtype::Numeric };
    SqlType::Exact { width, scale, subtype }
}

fn negated(negated: bool, it: Condition) -> Condition {
    if negated { Condition::Not(Box::new(it)) } else { it }
}

fn condition(it: &ast::Expression, names: Names<'_>) -> Option<Condition> {
    let compare = |comparison, left: &ast::Expression, right: &ast::Expression| {
        Some(Condition::Compare(comparison, boxed(left, names)?, boxed(right, names)?))
    };
    let both = |list: &[ast::Expression], join: fn(Box<Condition>, Box<Condition>) -> Condition| {
        let conditions: Option<Vec<Condition>> = list.iter().map(|it| condition(it, names)).collect();
        conditions?.into_iter().reduce(|left, right| join(Box::new(left), Box::new(right)))
    };
    match &it.kind {
        ExpressionKind::Comparison { left, operator, right } => {
            let comparison = match operator {
                ComparisonOperator::Equal => Comparison::Equal,
                ComparisonOperator::NotEqual => Comparison::NotEqual,
                ComparisonOperator::Less => Comparison::Less,
                ComparisonOperator::LessOrEqual => Comparison::LessOrEqual,
                ComparisonOperator::Greater => Comparison::Greater,
                ComparisonOperator::GreaterOrEqual => Comparison::GreaterOrEqual,
            };
            compare(comparison, left, right)
        }
        ExpressionKind::Distinct { left, right, negated: same } => {
            Some(negated(!same, compare(Comparison::Equivalent, left, right)?))
        }
        ExpressionKind::Between { operand, low, high, negated: not } => {
            let between = Condition::Between(boxed(operand, names)?, boxed(low, names)?, boxed(high, names)?);
            Some(negated(*not, between))
        }
        ExpressionKind::Like { operand, pattern, escape, negated: not } => {
            let escape = match escape {
                Some(escape) => Some(boxed(escape, names)?),
                None => None,
            };
            Some(negated(*not, Condition::Like(boxed(operand, names)?, boxed(pattern, names)?, escape)))
        }
        ExpressionKind::StartingWith { operand, prefix, negated: not } => {
            Some(negated(*not, compare(Comparison::Starting, operand, prefix)?))
        }
        ExpressionKind::Containing { operand, part, negated: not } => {
            Some(negated(*not, compare(Comparison::Containing, operand, part)?))
        }
        ExpressionKind::InList { operand, list, negated: not } => {
            Some(negated(*not, Condition::In(boxed(operand, names)?, values(list, names)?)))
        }
        ExpressionKind::IsNull { operand, negated: not } => {
            Some(negated(*not, Condition::Missing(boxed(operand, names)?)))
        }
        ExpressionKind::Not(inner) => Some(Condition::Not(Box::new(condition(inner, names)?))),
        ExpressionKind::And(list) => both(list, Condition::And),
        ExpressionKind::Or(list) => both(list, Condition::Or),
        _ => None,
    }
}
