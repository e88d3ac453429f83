//! Plans as Firebird writes them: short and explained.

use crate::plan::Node;

/// The short form: `PLAN (T NATURAL)`.
pub fn short(root: &Node) -> String {
    let _ = root;
    String::new()
}

/// The explained form.
pub fn explained(root: &Node) -> String {
    let _ = root;
    String::new()
}
