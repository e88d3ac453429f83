//! Conditions. NOT is carried down to what it negates, as Firebird does: its programs have few negations.

use farbird_blr::{Code, code};
use farbird_sql::ast::{ComparisonOperator, ContextVariable, Expression, ExpressionKind, Quantifier, Query};

use crate::compiler::Compiler;
use crate::failure::{Made, placed};
use crate::piece::joined;
use crate::value::{constant, is_condition, operation, quantified, trigger_action, truth};

impl Compiler<'_> {
    /// A condition.
    pub(crate) fn condition(&mut self, it: &Expression) -> Made<Code> {
        self.nested(|compiler| compiler.signed(it, false))
    }

    fn signed(&mut self, it: &Expression, not: bool) -> Made<Code> {
        self.nested(|compiler| compiler.signed_inside(it, not))
    }

    fn signed_inside(&mut self, it: &Expression, not: bool) -> Made<Code> {
        match &it.kind {
            ExpressionKind::Not(inner) => self.signed(inner, !not),
            ExpressionKind::And(list) => self.all(if not { code::OR } else { code::AND }, list, not),
            ExpressionKind::Or(list) => self.all(if not { code::AND } else { code::OR }, list, not),
            ExpressionKind::Comparison { left, operator, right } => {
                let (left, right) = (self.code(left)?, self.code(right)?);
                let operator = if not { inverse(*operator) } else { *operator };
                Ok(operation(&[comparison(operator)], &[&left, &right]))
            }
            ExpressionKind::Distinct { left, right, negated } => {
                let (left, right) = (self.code(left)?, self.code(right)?);
                Ok(negative(negated == &not, operation(&[code::EQUIVALENT], &[&left, &right])))
            }
            ExpressionKind::Between { operand, low, high, negated } => {
                let (operand, low, high) = (self.code(operand)?, self.code(low)?, self.code(high)?);
                Ok(match *negated != not {
                    false => operation(&[code::BETWEEN], &[&operand, &low, &high]),
                    true => {
                        let below = operation(&[code::LESS], &[&operand, &low]);
                        let above = operation(&[code::GREATER], &[&operand, &high]);
                        joined(code::OR, &[below, above])
                    }
                })
            }
            ExpressionKind::Like { operand, pattern, escape, negated } => {
                let mut operands = vec![self.code(operand)?, self.code(pattern)?];
                if let Some(escape) = escape {
                    operands.push(self.code(escape)?);
                }
                let code = if escape.is_some() { code::ANSI_LIKE } else { code::LIKE };
                let operands: Vec<&Code> = operands.iter().collect();
                Ok(negative(*negated != not, operation(&[code], &operands)))
            }
            ExpressionKind::SimilarTo { operand, pattern, escape, negated } => {
                let (operand, pattern) = (self.code(operand)?, self.code(pattern)?);
                let mut made = operation(&[code::SIMILAR], &[&operand, &pattern]);
                made.byte(u8::from(escape.is_some()));
                if let Some(escape) = escape {
                    made.piece(&self.code(escape)?);
                }
                Ok(negative(*negated != not, made))
            }
            ExpressionKind::StartingWith { operand, prefix, negated } => {
                let (operand, prefix) = (self.code(operand)?, self.code(prefix)?);
                Ok(negative(*negated != not, operation(&[code::STARTING], &[&operand, &prefix])))
            }
            ExpressionKind::Containing { operand, part, negated } => {
                let (operand, part) = (self.code(operand)?, self.code(part)?);
                Ok(negative(*negated != not, operation(&[code::CONTAINING], &[&operand, &part])))
            }
            ExpressionKind::InList { operand, list, negated } => {
                let operand = self.code(operand)?;
                // As alternatives: only Firebird 5 has a list.
                let equal = list.iter().map(|item| {
                    let item = self.code(item)?;
                    Ok(operation(&[code::EQUAL], &[&operand, &item]))
                });
                let equal = equal.collect::<Made<Vec<_>>>()?;
                Ok(negative(*negated != not, joined(code::OR, &equal)))
            }
            ExpressionKind::InQuery { operand, query, negated } => match *negated != not {
                false => self.quantified(operand, ComparisonOperator::Equal, Quantifier::Any, query),
                true => self.quantified(operand, ComparisonOperator::NotEqual, Quantifier::All, query),
            },
            ExpressionKind::Quantified { left, operator, quantifier, query } => {
                let other = match quantifier {
                    Quantifier::Any => Quantifier::All,
                    Quantifier::All => Quantifier::Any,
                };
                match not {
                    false => self.quantified(left, *operator, *quantifier, query),
                    true => self.quantified(left, inverse(*operator), other, query),
                }
            }
            ExpressionKind::Exists(query) => {
                let selected = self.apart(|it| it.query(query))?;
                Ok(negative(not, operation(&[code::ANY], &[&selected.records])))
            }
            ExpressionKind::Singular(query) => {
                let selected = self.apart(|it| it.query(query))?;
                Ok(negative(not, operation(&[code::UNIQUE], &[&selected.records])))
            }
            ExpressionKind::IsNull { operand, negated } => {
                let operand = self.code(operand)?;
                Ok(negative(*negated != not, operation(&[code::MISSING], &[&operand])))
            }
            ExpressionKind::IsTruth { operand, truth: expected, negated } => {
                let operand = self.code(operand)?;
                let made = match truth(*expected) {
                    Some(expected) => operation(&[code::EQUIVALENT], &[&operand, &expected]),
                    None => operation(&[code::MISSING], &[&operand]),
                };
                Ok(negative(*negated != not, made))
            }
            ExpressionKind::ContextVariable(
                variable @ (ContextVariable::Inserting
                | ContextVariable::Updating
                | ContextVariable::Deleting
                | ContextVariable::Resetting),
            ) => Ok(negative(not, trigger_action(*variable))),
            kind if is_condition(kind) => self.condition(it),
            // A BOOLEAN.
            _ => {
                let value = self.code(it)?;
                let yes = constant(&farbird_sql::ast::Literal::Boolean(true))?.code;
                Ok(operation(&[if not { code::NOT_EQUAL } else { code::EQUAL }], &[&value, &yes]))
            }
        }
    }

    fn all(&mut self, operator: u8, list: &[Expression], not: bool) -> Made<Code> {
        let conditions = list.iter().map(|it| self.signed(it, not)).collect::<Made<Vec<_>>>()?;
        Ok(joined(operator, &conditions))
    }

    /// A comparison with the rows of a query, which become those of a query with the comparison as its condition.
    fn quantified(
        &mut self,
        left: &Expression,
        operator: ComparisonOperator,
        quantifier: Quantifier,
        query: &Query,
    ) -> Made<Code> {
        let left = self.code(left)?;
        let selected = self.apart(|it| it.query(query))?;
        let right = &placed(selected.columns.first())?.value.code;
        let mut made = Code::of(&[quantified(quantifier), code::RSE, 1]);
        made.piece(&selected.records).byte(code::BOOLEAN);
        made.piece(&operation(&[comparison(operator)], &[&left, right])).byte(code::END);
        Ok(made)
    }
}

fn negative(not: bool, condition: Code) -> Code {
    if not { operation(&[code::NOT], &[&condition]) } else { condition }
}

/// The code of an operator.
fn comparison(operator: ComparisonOperator) -> u8 {
    match operator {
        ComparisonOperator::Equal => code::EQUAL,
        ComparisonOperator::NotEqual => code::NOT_EQUAL,
        ComparisonOperator::Less => code::LESS,
        ComparisonOperator::LessOrEqual => code::LESS_OR_EQUAL,
        ComparisonOperator::Greater => code::GREATER,
        ComparisonOperator::GreaterOrEqual => code::GREATER_OR_EQUAL,
    }
}

fn inverse(operator: ComparisonOperator) -> ComparisonOperator {
    match operator {
        ComparisonOperator::Equal => ComparisonOperator::NotEqual,
        ComparisonOperator::NotEqual => ComparisonOperator::Equal,
        ComparisonOperator::Less => ComparisonOperator::GreaterOrEqual,
        ComparisonOperator::LessOrEqual => ComparisonOperator::Greater,
        ComparisonOperator::Greater => ComparisonOperator::LessOrEqual,
        ComparisonOperator::GreaterOrEqual => ComparisonOperator::Less,
    }
}
