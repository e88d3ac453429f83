//! How a database is restored.

/// How a backup is restored.
#[derive(Debug, Clone, Default)]
pub struct RestoreOptions {
    /// Replace a database that is there already, once the restored one is whole.
    pub replace: bool,
    /// The restored database takes no changes.
    pub read_only: bool,
    /// The page size that it reports; without one that of the database which was backed up. The file's own pages are
    /// what they are (docs/store.md).
    pub page_size: Option<u32>,
}
