//! The cost model: what each way to read, join and order rows costs, in microseconds of one processor, more or less.
//!
//! The constants were measured on the figures of `farbird bench`; what matters is their ratios. All of the planner's choices
//! go through here.

/// Starting a scan of a table.
const SCAN_START: f64 = 15.0;
/// Decoding what a condition looks at, and computing it, for one row of a scan by columns.
const SCAN_ROW: f64 = 0.04;
/// Making a row of what a scan has found.
const ROW_MADE: f64 = 0.2;
/// Finding the first entry of an index range.
const INDEX_START: f64 = 2.0;
/// A row found by an index in whose order the rows lie.
const INDEX_ROW_NEAR: f64 = 1.0;
/// A row found by an index in whose order the rows do not lie.
const INDEX_ROW_FAR: f64 = 1.6;
/// Putting a row into a hash table.
const BUILD_ROW: f64 = 0.4;
/// Looking a row up in a hash table.
const PROBE_ROW: f64 = 0.25;
/// Looking one number of a scan by columns up among the keys of a hash table.
const FILTER_ROW: f64 = 0.01;
/// Joining two rows.
const JOINED_ROW: f64 = 0.25;
/// Trying a pair of rows.
const PAIR: f64 = 0.15;
/// Running a nested plan that is no index range, once.
const NESTED_START: f64 = 20.0;
/// Comparing two rows while sorting.
const SORT_COMPARISON: f64 = 0.05;
/// Keeping a row to be sorted.
const SORT_ROW: f64 = 0.4;

/// That there may be more rows than are thought: a unique key is preferred.
pub(crate) const NOT_UNIQUE: f64 = 0.3;
/// Rows that are read until one is a partner, more or less.
const FIRST_ROWS: f64 = 2.0;

/// A table may grow after its plan is made: no scan is taken to read fewer rows than this.
const SCAN_ROWS_LEAST: f64 = 1_000.0;

/// Reading a whole table of which `found` rows are left by the conditions.
pub(crate) fn scan(rows: f64, found: f64) -> f64 {
    SCAN_START + rows.max(SCAN_ROWS_LEAST) * SCAN_ROW + found * ROW_MADE
}

/// Reading ranges of an index. `order` says how far the rows lie in the index's order, -1 to 1.
pub(crate) fn index(ranges: f64, rows: f64, order: f64) -> f64 {
    let row = INDEX_ROW_FAR - (INDEX_ROW_FAR - INDEX_ROW_NEAR) * order * order;
    ranges * INDEX_START + rows * row
}

/// Looking for a first partner by an index: the others are not read.
pub(crate) fn first_by_index(rows: f64, order: f64) -> f64 {
    index(1.0, rows.min(FIRST_ROWS), order)
}

/// A hash join of so many rows on the side that is built and on the side that asks, without reading them.
pub(crate) fn hash_join(built: f64, asking: f64, joined: f64) -> f64 {
    built * BUILD_ROW + asking * PROBE_ROW + joined * JOINED_ROW
}

/// What a hash join costs less if the side that asks is scanned by columns, and so many of its rows have a partner: the
/// others are left out before they are made.
pub(crate) fn left_out(asking: f64, partners: f64) -> f64 {
    (asking - partners).max(0.0) * (PROBE_ROW + ROW_MADE) - asking * FILTER_ROW
}

/// Trying each pair of rows.
pub(crate) fn all_pairs(built: f64, asking: f64, joined: f64) -> f64 {
    built * BUILD_ROW + built * asking * PAIR + joined * JOINED_ROW
}

/// Running an inner side by an index for each outer row.
pub(crate) fn nested_loop(outer: f64, lookup: f64, joined: f64) -> f64 {
    outer * lookup + joined * JOINED_ROW
}

/// Running an inner side that is no index range for each outer row.
pub(crate) fn nested_plan(outer: f64, inner: f64) -> f64 {
    outer * (NESTED_START + inner * ROW_MADE)
}

/// Grouping so many rows.
pub(crate) fn group(rows: f64, groups: f64) -> f64 {
    rows * PROBE_ROW + groups * BUILD_ROW
}

/// Sorting.
pub(crate) fn sort(rows: f64) -> f64 {
    let rows = rows.max(2.0);
    rows * (SORT_ROW + SORT_COMPARISON * rows.log2())
}
