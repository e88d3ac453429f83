//! How large the tables of a prepared statement were when its plan was chosen, as its transaction saw them: a plan for an empty
//! table is not kept when that has a million rows, be they committed, the transaction's own, or a temporary table's.

use std::sync::atomic::{AtomicU32, Ordering};

use farbird_store::{RelationId, Transaction};

use crate::bind::{Access, AccessPrivilege};
use crate::catalog::statistics::{Seen, Statistics};
use crate::catalog::{Catalog, ObjectKind};

/// A table that has become so many times as large, or as small, deserves another plan.
const GROWTH: u64 = 8;

/// Differences below this do not matter.
const ROWS_MIN: u64 = 1_000;

/// It is looked at the first runs, and then every so many: asking costs more than a plain read of a row may.
const FIRST_RUNS: u32 = 16;
const RUNS_BETWEEN: u32 = 64;

/// The tables that a plan reads, with their rows when it was made.
#[derive(Debug, Default)]
pub(super) struct TableSizes {
    tables: Vec<(RelationId, u64)>,
    runs: AtomicU32,
}

impl TableSizes {
    /// Those of the tables that a statement reads.
    pub(super) fn of(catalog: &Catalog, accesses: &[Access], transaction: &Transaction) -> TableSizes {
        let read = accesses.iter().filter(|access| {
            access.kind == ObjectKind::Relation && access.privilege == AccessPrivilege::Select
        });
        let relations = read.filter_map(|access| catalog.relations.get(&access.object));
        let tables = relations
            .filter(|relation| relation.is_stored())
            .map(|relation| RelationId(relation.id.0))
            .map(|relation| (relation, transaction.relation_statistics(relation).rows))
            .collect();
        TableSizes { tables, runs: AtomicU32::new(0) }
    }

    /// The figures of those tables that are, to the transaction, of another size than to others, or of which others have no rows.
    pub(super) fn seen_otherwise(&self, statistics: &Statistics, transaction: &Transaction) -> Vec<Seen> {
        let tables = self.tables.iter().filter(|(relation, rows)| match statistics.relation(*relation) {
            Some(known) => is_another_size(known.rows, *rows),
            None => *rows > 0,
        });
        tables.map(|(relation, _)| (*relation, transaction.relation_statistics(*relation))).collect()
    }

    /// Whether a run of the statement deserves another plan.
    pub(super) fn have_changed(&self, transaction: &Transaction) -> bool {
        if self.tables.is_empty() {
            return false;
        }
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        if run >= FIRST_RUNS && !run.is_multiple_of(RUNS_BETWEEN) {
            return false;
        }
        let rows = |relation| transaction.relation_statistics(relation).rows;
        self.tables.iter().any(|(relation, then)| is_another_size(*then, rows(*relation)))
    }
}

fn is_another_size(then: u64, now: u64) -> bool {
    let (less, more) = (then.min(now), then.max(now));
    more > less.saturating_mul(GROWTH).saturating_add(ROWS_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_order_of_magnitude_is_another_size() {
        for (then, now, expected) in [
            (0, 900, false),
            (0, 2_000, true),
            (2_000, 0, true),
            (1_000_000, 3_000_000, false),
            (1_000_000, 9_000_000, true),
        ] {
            assert_eq!(is_another_size(then, now), expected, "{then} {now}");
        }
    }
}
