//! What the store knows of tables for those who plan statements: FARBIRD$STATISTICS, FARBIRD$SCANS, and RDB$STATISTICS of indexes.
//!
//! No values are shown, only how many there are: everybody may read system tables.

use std::sync::Arc;

use farbird_store::{IndexId as StoreIndex, RelationId as StoreRelation, RelationStatistics};

use crate::catalog::{Index, Relation};
use crate::system::row_set::RowSet;
use crate::system::tables::relations_in_order;

/// What is known of a table by now.
pub(super) fn known(rows: &RowSet<'_, '_, '_>, relation: &Relation) -> Option<Arc<RelationStatistics>> {
    if !relation.is_stored() {
        return None;
    }
    rows.context.database.store.known_statistics(StoreRelation(relation.id.0))
}

/// RDB$STATISTICS of the first parts of an index, one more than `part`: as of the latest SET STATISTICS, or else as it is known.
/// 0: not known, or no entries.
pub(super) fn selectivity(index: &Index, part: usize, known: Option<&RelationStatistics>) -> f64 {
    if let Some(selectivity) = index.selectivity.get(part) {
        return *selectivity;
    }
    let known = known.and_then(|known| known.index(StoreIndex(index.id.0)));
    match known.and_then(|known| known.distinct.get(part)) {
        Some(distinct) if *distinct >= 1.0 => 1.0 / distinct,
        _ => 0.0,
    }
}

/// FARBIRD$STATISTICS: a row for each table, one for each of its columns, one for each number of leading parts of its indexes: that of
/// all parts says what the index takes in the file. Tables of which nothing is known yet have none.
pub(super) fn statistics(rows: &mut RowSet<'_, '_, '_>) {
    let catalog = Arc::clone(&rows.catalog);
    for relation in relations_in_order(&catalog) {
        let Some(known) = known(rows, &relation) else { continue };
        rows.row()
            .text("FARBIRD$RELATION_NAME", &relation.name)
            .number("FARBIRD$ROWS", number(known.rows))
            .number("FARBIRD$BYTES", number(known.bytes))
            .number("FARBIRD$BLOCKS", number(known.blocks))
            .boolean("FARBIRD$EXACT", Some(known.is_exact));
        for column in &relation.columns {
            let Some(found) = known.column(column.field_id).filter(|_| column.computed_source.is_none())
            else {
                continue;
            };
            rows.row()
                .text("FARBIRD$RELATION_NAME", &relation.name)
                .text("FARBIRD$FIELD_NAME", &column.name)
                .number("FARBIRD$ROWS", number(known.rows))
                .double("FARBIRD$DISTINCT", found.distinct)
                .double("FARBIRD$NULL_FRACTION", found.null_fraction)
                .double("FARBIRD$CORRELATION", found.correlation)
                .boolean("FARBIRD$EXACT", Some(known.is_exact));
        }
        for index in &relation.indexes {
            let Some(found) = known.index(StoreIndex(index.id.0)) else { continue };
            for (part, distinct) in found.distinct.iter().enumerate() {
                rows.row()
                    .text("FARBIRD$RELATION_NAME", &relation.name)
                    .text("FARBIRD$INDEX_NAME", &index.name)
                    .number("FARBIRD$KEY_PARTS", number(part as u64 + 1))
                    .number("FARBIRD$ROWS", number(found.entries))
                    .double("FARBIRD$DISTINCT", *distinct)
                    .boolean("FARBIRD$EXACT", Some(known.is_exact));
                if part + 1 == found.distinct.len()
                    && rows.wants("FARBIRD$BYTES")
                    && let Ok(bytes) = rows.context.database.store.index_bytes(StoreIndex(index.id.0))
                {
                    rows.number("FARBIRD$BYTES", number(bytes));
                }
            }
        }
    }
}

/// FARBIRD$SCANS: row blocks that scans of tables have read and passed over since the database was opened.
pub(super) fn scans(rows: &mut RowSet<'_, '_, '_>) {
    let figures = rows.context.database.store.statistics();
    rows.row()
        .number("FARBIRD$BLOCKS_READ", number(figures.blocks_read))
        .number("FARBIRD$BLOCKS_SKIPPED", number(figures.blocks_skipped));
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
