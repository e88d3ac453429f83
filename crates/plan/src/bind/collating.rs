//! Which collation compares texts of different character sets and collations.
//!
//! Firebird's rule, the same whichever side stands left: the higher of the two numbers that are made of the collation (first)
//! and the character set. So a collation that was asked for wins over a character set's own order, any character set over
//! NONE and ASCII; the other text is converted. Beside OCTETS texts are bytes. Source: INTL_compare, CVT2_compare,
//! InListBoolNode::dsqlPass of Firebird 5.

use farbird_expression::Expression;
use farbird_types::{CharacterSet, Collation, SqlType, Text, TextType, Value, arithmetic};

use crate::bind::binder::Bound;

/// A character set with one of its collations.
pub(crate) type TextKind = (CharacterSet, Collation);

/// The character set and collation of a text; nothing for what is no text.
pub(crate) fn text_kind(sql_type: &SqlType) -> Option<TextKind> {
    match sql_type {
        SqlType::Text(text) => Some((text.character_set, text.collation)),
        SqlType::Blob { subtype: 1, character_set, collation } => Some((*character_set, *collation)),
        _ => None,
    }
}

/// What compares two texts.
pub(crate) fn stronger(left: Option<TextKind>, right: Option<TextKind>) -> Option<TextKind> {
    let octets = (CharacterSet::OCTETS, Collation::default());
    match (left, right) {
        (Some(left), Some(right)) if left.0 == octets.0 || right.0 == octets.0 => Some(octets),
        (Some(left), Some(right)) => {
            let rank = |kind: TextKind| (kind.1.number(), kind.0.0);
            Some(if rank(right) > rank(left) { right } else { left })
        }
        (one, other) => one.or(other),
    }
}

/// The kind of an IN list: that of the type which can hold all items.
pub(crate) fn list_kind<'t>(items: impl Iterator<Item = &'t SqlType>) -> Option<TextKind> {
    let types: Vec<SqlType> = items.copied().collect();
    arithmetic::common_type(&types).ok().as_ref().and_then(text_kind)
}

/// The collation of a comparison.
pub(crate) fn collation_of_kind(kind: Option<TextKind>) -> Collation {
    kind.map_or_else(Collation::default, |(_, collation)| collation)
}

/// A text as it takes part in a comparison of this kind: converted if it is of another character set, beside OCTETS to its
/// bytes, otherwise where the order is not just that of the characters. BLOBs are converted when they are read.
pub(crate) fn meeting(bound: Bound, kind: Option<TextKind>) -> Bound {
    let Some(sql_type) = meeting_type(bound.sql_type(), kind) else { return bound };
    match bound.expression {
        // A constant stays one, which index bounds and comparisons of whole columns know.
        Expression::Constant(Value::Text(text)) if is_octets(&sql_type) => {
            let bytes = Value::Text(Text::new(text.bytes(), CharacterSet::OCTETS));
            Bound::new(Expression::Constant(bytes), sql_type, bound.column_type.nullable)
        }
        expression => Bound { expression, ..bound }.converted(&sql_type),
    }
}

/// What texts of a type are converted to for a comparison of this kind, if they are.
///
/// An index on a column in OCTETS serves beside any text, one on a column of characters not beside OCTETS: its keys are not in
/// the order of the bytes with zeros behind them.
pub(crate) fn meeting_type(sql_type: &SqlType, kind: Option<TextKind>) -> Option<SqlType> {
    let (Some((set, collation)), SqlType::Text(text)) = (kind, *sql_type) else { return None };
    let is_met = if set == CharacterSet::OCTETS {
        text.character_set == set
    } else {
        collation == Collation::default()
            || text.character_set == set
            || text.character_set == CharacterSet::OCTETS
    };
    if is_met {
        return None;
    }
    let length_chars = SqlType::Text(text).text_length_in(set);
    Some(SqlType::Text(TextType { varying: true, length_chars, character_set: set, collation }))
}

fn is_octets(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Text(text) if text.character_set == CharacterSet::OCTETS)
}
