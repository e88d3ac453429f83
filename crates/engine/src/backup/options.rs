//! What a backup holds, and how a database is restored.

use std::sync::Arc;

use farbird_store::CancelFlag;
use farbird_types::Result;

use crate::pattern::NamePattern;
use crate::session::Interrupt;

/// The tables whose rows are backed up or restored; all of them by default. Definitions are always whole. What gbak says by `-meta_data`,
/// `-skip_data` and `-include_data`.
#[derive(Debug, Clone, Default)]
pub struct ChosenTables {
    none: bool,
    skipped: Option<Arc<NamePattern>>,
    included: Option<Arc<NamePattern>>,
}

impl ChosenTables {
    /// No rows at all. Sequences stand at 0 then, those of identity columns too, as after gbak.
    pub fn none() -> ChosenTables {
        ChosenTables { none: true, ..ChosenTables::default() }
    }

    /// By patterns of SIMILAR TO, with `\` as escape, for which case does not matter: tables of `skipped` are left out, and so are those
    /// that are not of `included`.
    ///
    /// # Errors
    /// `isc_invalid_similar_pattern`.
    pub fn by_patterns(skipped: Option<&str>, included: Option<&str>) -> Result<ChosenTables> {
        let compile = |pattern: &str| NamePattern::new(pattern, true).map(Arc::new);
        Ok(ChosenTables {
            none: false,
            skipped: skipped.map(compile).transpose()?,
            included: included.map(compile).transpose()?,
        })
    }

    /// Whether there are no rows whatever the tables are called.
    pub fn is_none(&self) -> bool {
        self.none
    }

    /// Whether the rows of a table belong to it.
    ///
    /// # Errors
    /// `isc_cancelled`.
    pub fn has(&self, table: &str, cancel: &Arc<CancelFlag>) -> Result<bool> {
        if self.none {
            return Ok(false);
        }
        let mut interrupt = Interrupt::new();
        interrupt.cancel = Arc::clone(cancel);
        let matches = |pattern: &Option<Arc<NamePattern>>, without: bool| match pattern {
            Some(pattern) => pattern.matches(table, &interrupt),
            None => Ok(without),
        };
        Ok(!matches(&self.skipped, false)? && matches(&self.included, true)?)
    }
}

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
    /// The tables whose rows are restored. A foreign key to rows that are not there is left out, and told.
    pub tables: ChosenTables,
    /// Indexes are there, and inactive. Those of keys are active: there are no inactive keys.
    pub inactive_indexes: bool,
    /// NOT NULL, but of primary keys, and the CHECKs of domains are left out.
    pub no_validity: bool,
}

/// Something of a backup that is not in the restored database, or not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What, by kind and name: `filter NOTES`.
    pub object: String,
    /// Why.
    pub reason: String,
}
