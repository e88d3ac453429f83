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

/// A table that a plan reads.
#[derive(Debug)]
struct Table {
    relation: RelationId,
    /// When the plan was made.
    rows: u64,
    is_temporary: bool,
}

/// The tables that a plan reads, with their rows when it was made.
#[derive(Debug, Default)]
pub(super) struct TableSizes {
    tables: Vec<Table>,
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
            .map(|relation| {
                let (id, is_temporary) = (RelationId(relation.id.0), relation.is_temporary());
                Table { relation: id, rows: transaction.relation_statistics(id).rows, is_temporary }
            })
            .collect();
        TableSizes { tables, runs: AtomicU32::new(0) }
    }

    /// The figures of those tables that are, to the transaction, of another size than to others. Of temporary tables others know nothing.
    pub(super) fn seen_otherwise(&self, statistics: &Statistics, transaction: &Transaction) -> Vec<Seen> {
        let known = |relation| statistics.relation(relation).map_or(0, |figures| figures.rows);
        let seen = self.tables.iter().filter(|table| match table.is_temporary {
            true => table.rows > 0,
            false => is_another_size(known(table.relation), table.rows),
        });
        seen.map(|table| (table.relation, transaction.relation_statistics(table.relation))).collect()
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
        self.tables.iter().any(|table| is_another_size(table.rows, rows(table.relation)))
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
