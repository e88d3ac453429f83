//! Rows that indexes name, to be read in row order: the numbers of several ranges' rows, in all or in any of them, and of the rows
//! under the keys that a join tells.
//!
//! A set may have rows that the conditions do not leave, never lacks one that they do: an index has entries of versions that
//! nobody sees any more, and where there is no memory for a set all rows are in it.

use std::sync::Arc;

use farbird_budget::{Reservation, room};
use farbird_expression::ExecutionContext;
use farbird_plan::{IndexRange, KeyedRows, RowSet, TableScan};
use farbird_record::value_of_number;
use farbird_store::{IndexScan, KeyRange, Projection, RowId, ScanDirection};
use farbird_types::Result;

use crate::bounds::key_range;
use crate::key_filter::KeyFilter;
use crate::ordering::sort_by;

/// Entries that are read at a time.
const ENTRIES: usize = 4_096;

/// Numbers of rows, ascending, each once, and how far they have been gone through.
pub(crate) struct NamedRows {
    rows: Vec<RowId>,
    place: usize,
    /// Of a part of others' rows: nothing, since those are charged.
    memory: Option<Reservation>,
}

/// What joins say of a scan's columns: by position, which keys have a partner.
pub(crate) type Restrictions = [(usize, Arc<KeyFilter>)];

impl NamedRows {
    /// The rows of a set, of a table; `None`: any row may be in it.
    ///
    /// # Errors
    /// Those of evaluating bounds, of reading indexes, and the interrupt's.
    pub(crate) fn of(
        set: &RowSet,
        scan: &TableScan,
        restrictions: &Restrictions,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Option<NamedRows>> {
        match set {
            RowSet::Range(range) => NamedRows::in_ranges([range], scan, context),
            RowSet::Keys(keyed) => NamedRows::under_keys(keyed, scan, restrictions, context),
            RowSet::Any(sets) => {
                let ranges: Option<Vec<&IndexRange>> = sets.iter().map(as_range).collect();
                if let Some(ranges) = ranges {
                    return NamedRows::in_ranges(ranges, scan, context);
                }
                let mut all: Option<NamedRows> = None;
                for set in sets {
                    let Some(rows) = NamedRows::of(set, scan, restrictions, context)? else {
                        return Ok(None);
                    };
                    all = match all {
                        None => Some(rows),
                        Some(mut known) => match known.extend(rows.rows) {
                            true => Some(known),
                            false => return Ok(None),
                        },
                    };
                }
                if let Some(rows) = &mut all {
                    rows.put_in_order(context)?;
                }
                Ok(all)
            }
            RowSet::All(sets) => {
                let mut common: Option<NamedRows> = None;
                for set in sets {
                    if common.as_ref().is_some_and(|rows| rows.rows.is_empty()) {
                        break;
                    }
                    common = match (common, NamedRows::of(set, scan, restrictions, context)?) {
                        (Some(mut common), Some(rows)) => {
                            common.rows.retain(|row| rows.rows.binary_search(row).is_ok());
                            Some(common)
                        }
                        (common, rows) => common.or(rows),
                    };
                }
                Ok(common)
            }
        }
    }

    fn in_ranges<'r>(
        ranges: impl IntoIterator<Item = &'r IndexRange>,
        scan: &TableScan,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Option<NamedRows>> {
        let mut named = NamedRows::none(context);
        for range in ranges {
            context.check_interrupt()?;
            let Some(keys) = key_range(range, context)? else { continue };
            let mut entries = entries(range, keys, scan, context)?;
            if !named.read(&mut entries, context)? {
                return Ok(None);
            }
        }
        named.put_in_order(context)?;
        Ok(Some(named))
    }

    /// The rows under the keys that a join tells of a column; `None` also if it tells none, or if there are too many of either.
    fn under_keys(
        keyed: &KeyedRows,
        scan: &TableScan,
        restrictions: &Restrictions,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Option<NamedRows>> {
        let told = restrictions.iter().filter(|(column, _)| *column == keyed.column);
        let Some(numbers) = told.filter_map(|(_, keys)| keys.few(keyed.keys_max)).min_by_key(|few| few.len())
        else {
            return Ok(None);
        };
        let mut numbers = numbers.to_vec();
        numbers.sort_unstable();
        numbers.dedup();
        let mut named = NamedRows::none(context);
        let mut entries = entries(&keyed.range, KeyRange::all(), scan, context)?;
        for number in numbers {
            context.check_interrupt()?;
            // No row has a number that its column cannot hold.
            let Some(key) = value_of_number(&keyed.sql_type, number) else { continue };
            entries.begin_again_at(&[key], &context.view)?;
            if !named.read(&mut entries, context)? || named.rows.len() > keyed.rows_max {
                return Ok(None);
            }
        }
        named.put_in_order(context)?;
        Ok(Some(named))
    }

    fn none(context: &ExecutionContext<'_>) -> NamedRows {
        NamedRows { rows: Vec::new(), place: 0, memory: Some(context.budget.reserve()) }
    }

    /// Appends the rows of a range; false if there is no memory for them.
    fn read(&mut self, entries: &mut IndexScan, context: &mut ExecutionContext<'_>) -> Result<bool> {
        let mut found = Vec::new();
        loop {
            context.check_interrupt()?;
            let more = entries
                .next_candidates(&context.transaction.store, ENTRIES, &mut found)
                .map_err(|error| context.transaction.status_of(error))?;
            if !self.extend(std::mem::take(&mut found)) {
                return Ok(false);
            }
            if !more {
                return Ok(true);
            }
        }
    }

    /// Appends rows, if there is memory for them and for putting them in order.
    fn extend(&mut self, rows: Vec<RowId>) -> bool {
        let Some(memory) = &mut self.memory else { return false };
        if self.rows.is_empty() && memory.bytes() == 0 {
            let bytes = rows.capacity() * size_of::<RowId>() * 2;
            let has_room = memory.try_grow(bytes);
            self.rows = rows;
            return has_room;
        }
        let bytes = room(&self.rows, rows.len()) * size_of::<RowId>() * 2;
        if !memory.try_grow(bytes) {
            return false;
        }
        farbird_budget::extend_within(&mut self.rows, rows.len(), rows);
        true
    }

    fn put_in_order(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        // The rows of one key come in order.
        if !self.rows.is_sorted() {
            sort_by(&mut self.rows, RowId::cmp, &context.session.interrupt)?;
        }
        self.rows.dedup();
        Ok(())
    }

    /// Takes the next rows out, so many at most, for somebody else; `None` at the end.
    pub(crate) fn split_off(&mut self, rows_max: usize) -> Option<NamedRows> {
        let end = self.rows.len().min(self.place.saturating_add(rows_max));
        let rows = self.rows.get(self.place..end).filter(|rows| !rows.is_empty())?.to_vec();
        self.place = end;
        Some(NamedRows { rows, place: 0, memory: None })
    }

    /// The next row.
    pub(crate) fn next(&self) -> Option<RowId> {
        self.rows.get(self.place).copied()
    }

    /// Whether there is a next row with a number from `first` to `last`.
    pub(crate) fn has_any(&self, first: RowId, last: RowId) -> bool {
        let rows = self.rows.get(self.place..).unwrap_or_default();
        let next = rows.partition_point(|row| *row < first);
        rows.get(next).is_some_and(|row| *row <= last)
    }

    /// The places of the next rows among others, whose numbers ascend; goes on behind the last of those.
    pub(crate) fn places(&mut self, others: &[RowId]) -> Vec<u32> {
        let Some(last) = others.last() else { return Vec::new() };
        let rows = self.rows.get(self.place..).unwrap_or_default();
        let rows = rows.get(..rows.partition_point(|row| row <= last)).unwrap_or_default();
        self.place += rows.len();
        let mut places = Vec::with_capacity(rows.len());
        let mut from = 0;
        for row in rows {
            let left = others.get(from..).unwrap_or_default();
            let next = match left.first() {
                Some(first) if first == row => 0,
                _ => left.partition_point(|other| other < row),
            };
            from += next;
            if others.get(from) == Some(row) {
                places.push(from as u32);
                from += 1;
            }
        }
        places
    }
}

/// The entries of a range of an index.
fn entries(
    range: &IndexRange,
    keys: KeyRange,
    scan: &TableScan,
    context: &ExecutionContext<'_>,
) -> Result<IndexScan> {
    let (layout, view) = (scan.layout.clone(), context.view.clone());
    let direction = ScanDirection::Ascending;
    Ok(IndexScan::new(layout, range.index, keys, direction, view, Projection::of([]))?)
}

fn as_range(set: &RowSet) -> Option<&IndexRange> {
    match set {
        RowSet::Range(range) => Some(range),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_each_stretch_are_found_and_passed() {
        let rows = [3, 7, 8, 20, 21, 90].map(RowId).to_vec();
        let mut named = NamedRows { rows, place: 0, memory: None };
        let others: Vec<RowId> = [1, 3, 5, 8, 9].map(RowId).to_vec();
        assert_eq!(named.places(&others), [1, 3]);
        assert_eq!(named.next(), Some(RowId(20)));
        assert!(!named.has_any(RowId(10), RowId(19)) && !named.has_any(RowId(0), RowId(9)));
        assert!(named.has_any(RowId(21), RowId(89)) && !named.has_any(RowId(22), RowId(89)));
        let others: Vec<RowId> = (15..200).map(RowId).collect();
        assert_eq!(named.places(&others), [5, 6, 75]);
        assert_eq!(named.next(), None);
    }

    #[test]
    fn rows_are_handed_out_in_parts() {
        let rows: Vec<RowId> = (0..7).map(RowId).collect();
        let mut named = NamedRows { rows: rows.clone(), place: 0, memory: None };
        let mut parts = Vec::new();
        while let Some(part) = named.split_off(3) {
            parts.push(part.rows);
        }
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 1]);
        assert_eq!(parts.concat(), rows);
        assert_eq!(named.next(), None);
    }
}
