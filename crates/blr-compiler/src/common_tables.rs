//! The tables of WITH that can be named.

use farbird_sql::ast::{CommonTable, With};

use crate::scope::Source;

/// A common table, and what is known of it while its recursive part is compiled.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) table: CommonTable,
    pub(crate) recursive: bool,
    /// The rows made so far, within the recursive part.
    pub(crate) rows: Option<Source>,
}

/// Common tables that can be named.
#[derive(Debug, Default)]
pub(crate) struct CommonTables(pub(crate) Vec<Known>);

impl CommonTables {
    pub(crate) fn add(&mut self, with: &With) {
        let recursive = with.recursive;
        self.0.extend(with.tables.iter().map(|table| Known { table: table.clone(), recursive, rows: None }));
    }

    pub(crate) fn mark(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn back_to(&mut self, mark: usize) {
        self.0.truncate(mark);
    }
}
