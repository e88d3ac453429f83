//! Names of result columns that have neither a name nor an alias: Firebird's word for what they are.

use farbird_function::call::keyword_call;
use farbird_sql::ast::{
    BinaryOperator, ContextVariable, Expression, ExpressionKind, RecordKeyKind, SelectItem, UnaryOperator,
};

/// What a column with this value is called.
pub(crate) fn label_of(value: &Expression) -> String {
    match &value.kind {
        ExpressionKind::Column { name, .. } | ExpressionKind::Variable { name, .. } => {
            name.as_str().to_owned()
        }
        ExpressionKind::ArrayElement { array, .. } => label_of(array),
        ExpressionKind::Literal(_) | ExpressionKind::Parameter(_) => String::from("CONSTANT"),
        ExpressionKind::Unary { operator, operand } => match (operator, &operand.kind) {
            (UnaryOperator::Plus, _) => label_of(operand),
            (_, ExpressionKind::Literal(_)) => String::from("CONSTANT"),
            (_, ExpressionKind::Unary { .. }) => label_of(operand),
            _ => String::new(),
        },
        ExpressionKind::Binary { operator, .. } => String::from(match operator {
            BinaryOperator::Add => "ADD",
            BinaryOperator::Subtract => "SUBTRACT",
            BinaryOperator::Multiply => "MULTIPLY",
            BinaryOperator::Divide => "DIVIDE",
            BinaryOperator::Concatenate => "CONCATENATION",
        }),
        ExpressionKind::RecordKey { kind, .. } => String::from(match kind {
            RecordKeyKind::DbKey => "DB_KEY",
            RecordKeyKind::RecordVersion => "RDB$RECORD_VERSION",
        }),
        ExpressionKind::Case(_) => String::from("CASE"),
        ExpressionKind::Cast { .. } | ExpressionKind::Collate { .. } => String::from("CAST"),
        ExpressionKind::AtTimeZone { .. } => String::from("AT"),
        ExpressionKind::Function(call) => match call.name.name.as_str() {
            "IIF" | "NULLIF" => String::from("CASE"),
            "CHARACTER_LENGTH" => String::from("CHAR_LENGTH"),
            name => name.to_owned(),
        },
        ExpressionKind::Aggregate(call) => call.function.as_str().to_owned(),
        ExpressionKind::Window(call) => call.call.function.as_str().to_owned(),
        ExpressionKind::Sequence { step, .. } => {
            String::from(if step.is_some() { "GEN_ID" } else { "NEXT_VALUE" })
        }
        ExpressionKind::ContextVariable(variable) => context_label(*variable).to_owned(),
        ExpressionKind::Subquery(query) => subquery_label(query),
        ExpressionKind::SystemPrivilege(_) => String::from("RDB$SYSTEM_PRIVILEGE"),
        ExpressionKind::SubstringSimilar { .. } => String::from("SUBSTRING"),
        kind => keyword_call(kind).map_or(String::new(), |(function, _)| function.name.to_owned()),
    }
}

/// A subquery is called what its column is called.
fn subquery_label(query: &farbird_sql::ast::Query) -> String {
    let mut body = &query.body;
    loop {
        match body {
            farbird_sql::ast::QueryBody::Select(select) => {
                return match select.items.first() {
                    Some(SelectItem::Expression { alias: Some(alias), .. }) => alias.as_str().to_owned(),
                    Some(SelectItem::Expression { value, .. }) => label_of(value),
                    _ => String::new(),
                };
            }
            farbird_sql::ast::QueryBody::Union(union) => body = &union.left,
            farbird_sql::ast::QueryBody::Nested(query) => body = &query.body,
        }
    }
}

fn context_label(variable: ContextVariable) -> &'static str {
    match variable {
        ContextVariable::CurrentUser => "USER",
        ContextVariable::CurrentRole => "ROLE",
        ContextVariable::CurrentConnection => "CURRENT_CONNECTION",
        ContextVariable::CurrentTransaction => "CURRENT_TRANSACTION",
        ContextVariable::CurrentDate => "CURRENT_DATE",
        ContextVariable::CurrentTime { .. } => "CURRENT_TIME",
        ContextVariable::CurrentTimestamp { .. } => "CURRENT_TIMESTAMP",
        ContextVariable::LocalTime { .. } => "LOCALTIME",
        ContextVariable::LocalTimestamp { .. } => "LOCALTIMESTAMP",
        ContextVariable::RowCount => "ROW_COUNT",
        ContextVariable::GdsCode => "GDSCODE",
        ContextVariable::SqlCode => "SQLCODE",
        ContextVariable::SqlState => "SQLSTATE",
        ContextVariable::Inserting => "INSERTING",
        ContextVariable::Updating => "UPDATING",
        ContextVariable::Deleting => "DELETING",
        ContextVariable::Resetting => "RESETTING",
    }
}
