//! What is known of a relation's rows without reading them: how many there are, how many different values each column and
//! each index has, which are common, how they are spread. For whoever plans statements.
//!
//! # How it is kept
//! Every commit tells how many rows it has added and taken away ([`book`]). All else comes from looks at some rows: a quick
//! one by whoever asks first, or after much has changed; a larger one by the sweep when it has nothing else to do; one at all rows
//! when somebody asks for it ([`Store::analyze`]). Nothing of it is written while the database works: the figures are stored when it is
//! closed, and made anew where they are missing.
//!
//! # Promises
//! Figures are estimates of what is committed: never of damage, never an error. Nothing but speed may depend on them.

mod book;
mod column;
mod distinct;
mod look;
mod stored;

use std::sync::Arc;

use farbird_types::Value;

use crate::{IndexId, RelationId, Result, Store, Transaction};

pub(crate) use book::{Changed, StatisticsBook, figures_as_of};

/// What is known of a relation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RelationStatistics {
    /// Grows whenever figures have changed by more than about a tenth: plans made under another version are worth making
    /// again.
    pub version: u64,
    /// Rows: counted once, or estimated, and kept since by what commits tell.
    pub rows: u64,
    /// What they take in the file as they are packed, in bytes, without index entries and BLOBs.
    pub bytes: u64,
    /// Row blocks.
    pub blocks: u64,
    /// Average size of a row as it travels, in bytes; 0 if unknown.
    pub row_bytes: f64,
    /// By slot of the current format; empty if nothing is known yet.
    pub columns: Vec<ColumnStatistics>,
    /// Of the active indexes.
    pub indexes: Vec<IndexStatistics>,
    /// Whether all rows were looked at.
    pub is_exact: bool,
}

/// What is known of a column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ColumnStatistics {
    /// How many different values there are, NULL not among them.
    pub distinct: f64,
    /// The share of NULLs, 0 to 1.
    pub null_fraction: f64,
    /// The least value looked at; `None`: there is none, or the type has no order. Long texts are cut.
    pub least: Option<Value>,
    /// The greatest value looked at, as `least`.
    pub greatest: Option<Value>,
    /// The most common values with their shares of all rows, the most common first.
    pub common: Vec<(Value, f64)>,
    /// Bounds of slices with as many rows each, ascending, of the values that are neither NULL nor among the common ones:
    /// one bound more than slices. Empty: there are no such values. Long texts are cut.
    pub histogram: Vec<Value>,
    /// Average size of a value, in bytes.
    pub bytes: f64,
    /// How the order of the values follows that of the rows: 1: ascending, -1: descending, 0: not at all.
    pub correlation: f64,
}

/// What is known of an index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexStatistics {
    /// The index.
    pub id: IndexId,
    /// Rows that stand in it.
    pub entries: u64,
    /// How many different keys there are of the first part, of the first two, and so on. NULL counts as a value.
    pub distinct: Vec<f64>,
}

impl RelationStatistics {
    /// What is known of the column at a slot.
    pub fn column(&self, slot: u16) -> Option<&ColumnStatistics> {
        self.columns.get(usize::from(slot))
    }

    /// What is known of an index.
    pub fn index(&self, index: IndexId) -> Option<&IndexStatistics> {
        self.indexes.iter().find(|known| known.id == index)
    }

    /// The same for another number of rows: what grows with the rows grows with them.
    fn with_rows(&self, rows: u64, version: u64) -> RelationStatistics {
        let growth = if self.rows == 0 { 1.0 } else { rows as f64 / self.rows as f64 };
        let scaled =
            |distinct: f64, of: f64| if distinct > of * NEARLY_ALL { distinct * growth } else { distinct };
        let mut next = RelationStatistics { version, rows, is_exact: false, ..self.clone() };
        next.bytes = (self.bytes as f64 * growth) as u64;
        next.blocks = (self.blocks as f64 * growth).ceil() as u64;
        for column in &mut next.columns {
            let values = self.rows as f64 * (1.0 - column.null_fraction);
            column.distinct = scaled(column.distinct, values).min(rows as f64);
        }
        for index in &mut next.indexes {
            let entries = index.entries as f64;
            index.entries = (entries * growth) as u64;
            for distinct in &mut index.distinct {
                *distinct = scaled(*distinct, entries).min(index.entries as f64);
            }
        }
        next
    }
}

/// A column with so many different values, in parts of its rows, has new ones in new rows.
const NEARLY_ALL: f64 = 0.5;

impl Store {
    /// What is known of a relation's committed rows. Costs nothing as a rule; if nothing is known yet, or much of a small relation
    /// has changed, some thousand rows are looked at first.
    pub fn relation_statistics(&self, relation: RelationId) -> Arc<RelationStatistics> {
        self.inner.relation_statistics(relation)
    }

    /// What is known already of a relation, for who only wants to show it. `None`: nothing yet; the background will look at it.
    pub fn known_statistics(&self, relation: RelationId) -> Option<Arc<RelationStatistics>> {
        self.inner.known_statistics(relation)
    }

    /// Looks at all rows of a relation, unless they were looked at and have not changed since. `None`: the store does not know the relation.
    ///
    /// # Errors
    /// Those of reading; `Cancelled`.
    pub fn analyze(
        &self,
        relation: RelationId,
        cancel: &crate::CancelFlag,
    ) -> Result<Option<Arc<RelationStatistics>>> {
        self.inner.analyze(relation, cancel)
    }
}

impl Transaction {
    /// As [`Store::relation_statistics`], with the rows that this transaction itself has added and taken away; of a temporary relation
    /// those that its session or the transaction keeps.
    pub fn relation_statistics(&self, relation: RelationId) -> Arc<RelationStatistics> {
        match self.instance_of(relation) {
            Some(instance) => self.in_catalogs_indexes(relation, self.figures(instance)),
            None => self.figures(relation),
        }
    }

    fn figures(&self, relation: RelationId) -> Arc<RelationStatistics> {
        let known = self.store().relation_statistics(relation);
        let own = self.core().map_or(0, |core| Changed::about(&core, relation).rows);
        let rows = known.rows.saturating_add_signed(own);
        // A tenth more or less is no other plan.
        if rows.abs_diff(known.rows) <= known.rows / 10 {
            return known;
        }
        Arc::new(known.with_rows(rows, known.version))
    }
}
