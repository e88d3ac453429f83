//! Imports the third, by a path.

pub struct Second;

fn quoted() -> char {
    match '"' {
        '\'' => crate::third::letter(),
        _ => '{',
    }
}
