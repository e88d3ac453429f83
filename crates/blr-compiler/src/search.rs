//! Looking for something in an expression, without its own queries, and in statements.

use farbird_sql::ast::{
    AggregateArguments, Block, Expression, ExpressionKind, KeywordArgumentValue, PsqlStatement,
    PsqlStatementKind,
};

/// Whether something in an expression is what is looked for.
pub(crate) fn any(it: &Expression, is: &dyn Fn(&Expression) -> bool) -> bool {
    is(it) || children(it).into_iter().any(|child| any(child, is))
}

/// What an expression is made of.
fn children(it: &Expression) -> Vec<&Expression> {
    match &it.kind {
        ExpressionKind::Unary { operand, .. }
        | ExpressionKind::IsNull { operand, .. }
        | ExpressionKind::IsTruth { operand, .. }
        | ExpressionKind::Not(operand)
        | ExpressionKind::Cast { operand, .. }
        | ExpressionKind::Extract { operand, .. }
        | ExpressionKind::PeriodDay { operand, .. }
        | ExpressionKind::Collate { operand, .. }
        | ExpressionKind::InQuery { operand, .. } => vec![operand],
        ExpressionKind::Binary { left, right, .. }
        | ExpressionKind::Comparison { left, right, .. }
        | ExpressionKind::Distinct { left, right, .. } => vec![left, right],
        ExpressionKind::Quantified { left, .. } => vec![left],
        ExpressionKind::Between { operand, low, high, .. } => vec![operand, low, high],
        ExpressionKind::Like { operand, pattern, escape, .. }
        | ExpressionKind::SimilarTo { operand, pattern, escape, .. } => {
            [operand, pattern].into_iter().chain(escape).map(|it| &**it).collect()
        }
        ExpressionKind::StartingWith { operand, prefix: other, .. }
        | ExpressionKind::Containing { operand, part: other, .. }
        | ExpressionKind::DateAdd { operand, amount: other, .. } => vec![operand, other],
        ExpressionKind::DateDiff { from, to, .. } => vec![from, to],
        ExpressionKind::InList { operand, list, .. } => std::iter::once(&**operand).chain(list).collect(),
        ExpressionKind::And(list) | ExpressionKind::Or(list) => list.iter().collect(),
        ExpressionKind::Case(case) => {
            let branches = case.branches.iter().flat_map(|it| [&it.when, &it.then]);
            case.operand.iter().chain(branches).chain(&case.otherwise).collect()
        }
        ExpressionKind::Substring { operand, start, length } => {
            [operand, start].into_iter().chain(length).map(|it| &**it).collect()
        }
        ExpressionKind::SubstringSimilar { operand, pattern, escape } => vec![operand, pattern, escape],
        ExpressionKind::Trim { what, operand, .. } => {
            std::iter::once(operand).chain(what).map(|it| &**it).collect()
        }
        ExpressionKind::Overlay { operand, replacement, start, length } => {
            [operand, replacement, start].into_iter().chain(length).map(|it| &**it).collect()
        }
        ExpressionKind::Function(call) => call.arguments.iter().collect(),
        ExpressionKind::KeywordFunction(call) => {
            let values = call.arguments.iter().filter_map(|it| match &it.value {
                KeywordArgumentValue::Expression(value) => Some(value),
                _ => None,
            });
            std::iter::once(&call.operand).chain(values).collect()
        }
        ExpressionKind::Aggregate(call) => arguments(&call.arguments),
        ExpressionKind::Window(call) => arguments(&call.call.arguments),
        ExpressionKind::Sequence { step, .. } => step.iter().map(|it| &**it).collect(),
        ExpressionKind::AtTimeZone { operand, zone } => {
            std::iter::once(operand).chain(zone).map(|it| &**it).collect()
        }
        ExpressionKind::ArrayElement { array, subscripts } => {
            std::iter::once(&**array).chain(subscripts).collect()
        }
        _ => Vec::new(),
    }
}

fn arguments(arguments: &AggregateArguments) -> Vec<&Expression> {
    match arguments {
        AggregateArguments::Star => Vec::new(),
        AggregateArguments::List(list) => list.iter().collect(),
    }
}

/// Whether a procedure gives rows: a SUSPEND stands in its body.
pub(crate) fn suspends(block: &Block) -> bool {
    block.statements.iter().chain(block.handlers.iter().map(|it| &it.action)).any(suspends_in)
}

fn suspends_in(it: &PsqlStatement) -> bool {
    match &it.kind {
        PsqlStatementKind::Suspend => true,
        PsqlStatementKind::Block(block) => suspends(block),
        PsqlStatementKind::If { then, otherwise, .. } => {
            suspends_in(then) || otherwise.as_deref().is_some_and(suspends_in)
        }
        PsqlStatementKind::While { body, .. }
        | PsqlStatementKind::ForExecuteStatement { body, .. }
        | PsqlStatementKind::AutonomousTransaction(body) => suspends_in(body),
        PsqlStatementKind::ForSelect(statement) => suspends_in(&statement.body),
        _ => false,
    }
}
