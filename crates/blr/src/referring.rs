//! The triggers of a foreign key's actions. The bytes are those that Firebird's own DDL stores.
//!
//! What has no place in BLR gives `None`.

use crate::assembly::Code;
use crate::code;

/// Contexts of a trigger: the row as it was and as it will be; of a referring row as it is, and as it is to be.
const OLD: u8 = 0;
const NEW: u8 = 1;
const REFERRING: u8 = 2;

/// What becomes of the columns that refer to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferringAction {
    /// They follow the row, or go with it.
    Cascade,
    /// They become NULL.
    SetNull,
    /// They get their defaults.
    SetDefault,
}

/// A column that refers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferringColumn<'a> {
    /// Its name.
    pub own: &'a str,
    /// What it refers to.
    pub referenced: &'a str,
    /// The value that it has by default; NULL without one.
    pub default: Option<Code>,
}

/// A foreign key as its triggers see it, which are those of the table that it refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference<'a> {
    /// The table that refers.
    pub table: &'a str,
    /// Its columns.
    pub columns: Vec<ReferringColumn<'a>>,
}

/// The trigger of ON DELETE.
pub fn on_delete_program(reference: &Reference<'_>, action: ReferringAction) -> Option<Vec<u8>> {
    let mut made = Code::new();
    referring(&mut made, reference)?;
    match action {
        ReferringAction::Cascade => drop(made.more(&[code::ERASE, REFERRING])),
        ReferringAction::SetNull | ReferringAction::SetDefault => modify(&mut made, reference, action)?,
    }
    Some(made.program())
}

/// The trigger of ON UPDATE, which looks first whether the key is another one.
pub fn on_update_program(reference: &Reference<'_>, action: ReferringAction) -> Option<Vec<u8>> {
    let mut made = Code::of(&[code::IF]);
    let more = reference.columns.len().checked_sub(1)?;
    made.more(&vec![code::OR; more]);
    for column in &reference.columns {
        made.byte(code::NOT_EQUAL);
        made.piece(&Code::field(OLD, column.referenced)?).piece(&Code::field(NEW, column.referenced)?);
    }
    made.more(&[code::BEGIN, code::BEGIN]);
    referring(&mut made, reference)?;
    modify(&mut made, reference, action)?;
    made.more(&[code::END, code::END, code::END]);
    Some(made.program())
}

/// FOR the rows that refer to the old one.
fn referring(made: &mut Code, reference: &Reference<'_>) -> Option<()> {
    made.more(&[code::FOR, code::RSE, 1, code::RELATION]).name(reference.table)?;
    made.more(&[REFERRING, code::BOOLEAN]);
    made.more(&vec![code::AND; reference.columns.len().checked_sub(1)?]);
    for column in &reference.columns {
        made.byte(code::EQUAL);
        made.piece(&Code::field(REFERRING, column.own)?).piece(&Code::field(OLD, column.referenced)?);
    }
    made.byte(code::END);
    Some(())
}

fn modify(made: &mut Code, reference: &Reference<'_>, action: ReferringAction) -> Option<()> {
    made.more(&[code::MODIFY, REFERRING, REFERRING, code::BEGIN]);
    for column in &reference.columns {
        made.byte(code::ASSIGNMENT);
        match (action, &column.default) {
            (ReferringAction::Cascade, _) => drop(made.piece(&Code::field(NEW, column.referenced)?)),
            (ReferringAction::SetDefault, Some(default)) => drop(made.piece(default)),
            (ReferringAction::SetNull | ReferringAction::SetDefault, _) => drop(made.byte(code::NULL)),
        }
        made.piece(&Code::field(REFERRING, column.own)?);
    }
    made.byte(code::END);
    Some(())
}
