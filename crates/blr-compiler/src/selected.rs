//! Queries and parts of FROM, compiled.

use farbird_blr::Code;

use crate::scope::SourceColumn;

/// A query: its records, and its columns as values over them.
#[derive(Debug)]
pub(crate) struct Selected {
    pub(crate) records: Code,
    pub(crate) columns: Vec<SourceColumn>,
    /// The contexts that its columns are of.
    pub(crate) contexts: Vec<u8>,
    /// The table whose rows it shows, if it is one table.
    pub(crate) table: Option<(String, u8)>,
}

/// Record sources, and what must hold of their rows.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    pub(crate) sources: Vec<Code>,
    pub(crate) conditions: Vec<Code>,
}
