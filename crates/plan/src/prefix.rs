//! What patterns begin with.

use farbird_expression::Expression;
use farbird_types::{Text, Value};

/// What a constant LIKE pattern begins with, before its first wildcard; nothing if it begins with one.
pub(crate) fn like_prefix(pattern: &Expression) -> Option<Expression> {
    let Expression::Constant(Value::Text(text)) = pattern else { return None };
    let end = text.bytes().iter().position(|byte| matches!(byte, b'%' | b'_')).unwrap_or(text.bytes().len());
    let prefix = text.bytes().get(..end).filter(|prefix| !prefix.is_empty())?;
    Some(Expression::Constant(Value::Text(Text::new(prefix, text.character_set()))))
}
