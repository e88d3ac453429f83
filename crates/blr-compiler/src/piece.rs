//! Pieces of programs: values with their types, blocks, assignments.

use farbird_blr::{Code, code};
use farbird_types::SqlType;

/// A value's code, and its type where that is known.
#[derive(Debug, Clone)]
pub(crate) struct Typed {
    pub(crate) code: Code,
    pub(crate) sql_type: Option<SqlType>,
}

impl Typed {
    pub(crate) fn of(code: Code, sql_type: SqlType) -> Typed {
        Typed { code, sql_type: Some(sql_type) }
    }

    pub(crate) fn untyped(code: Code) -> Typed {
        Typed { code, sql_type: None }
    }
}

/// blr_begin ... blr_end around pieces.
pub(crate) fn block(pieces: &[Code]) -> Code {
    let mut made = Code::of(&[code::BEGIN]);
    for piece in pieces {
        made.piece(piece);
    }
    made.byte(code::END);
    made
}

/// What is assigned, and to what.
pub(crate) fn assignment(value: &Code, target: &Code) -> Code {
    let mut made = Code::of(&[code::ASSIGNMENT]);
    made.piece(value).piece(target);
    made
}

/// Joins conditions by AND or OR, as Firebird nests them: to the left.
pub(crate) fn joined(operator: u8, conditions: &[Code]) -> Code {
    let mut made = Code::of(&vec![operator; conditions.len().saturating_sub(1)]);
    for condition in conditions {
        made.piece(condition);
    }
    made
}
