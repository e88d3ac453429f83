//! Cursors that a client has named, for WHERE CURRENT OF in its other statements.

use crate::bind::{Variable, VariableScope};

/// The cursors of an attachment as WHERE CURRENT OF finds them.
pub(super) struct ClientCursors<'a> {
    names: Vec<&'a str>,
    parameters: usize,
    pub(super) used: std::cell::RefCell<Vec<(String, String)>>,
}

impl ClientCursors<'_> {
    /// Of cursors with these names, in a statement with so many parameters.
    pub(super) fn new(names: Vec<&str>, parameters: u32) -> ClientCursors<'_> {
        ClientCursors {
            names,
            parameters: usize::try_from(parameters).unwrap_or(usize::MAX),
            used: std::cell::RefCell::new(Vec::new()),
        }
    }
}

impl VariableScope for ClientCursors<'_> {
    fn variable(&self, _qualifier: Option<&str>, _name: &str) -> Option<Variable> {
        None
    }

    fn cursor_row_number(&self, cursor: &str, relation: &str) -> Option<usize> {
        if !self.names.contains(&cursor) {
            return None;
        }
        let mut used = self.used.borrow_mut();
        let wanted = (cursor.to_owned(), relation.to_owned());
        let index = used.iter().position(|own| *own == wanted).unwrap_or_else(|| {
            used.push(wanted);
            used.len() - 1
        });
        Some(self.parameters + index)
    }

    fn is_psql(&self) -> bool {
        false
    }
}
