//! The cost model: what each way to read, join and order rows costs, in microseconds of one processor, more or less.
//!
//! `farbird bench calibrate` measures most of the constants; those of blocks were measured on a table of 3,000,000 rows that does not fit
//! in the cache. What matters is their ratios. All of the planner's choices go through here.

/// Starting a scan of a table.
const SCAN_START: f64 = 15.0;
/// Decoding what a condition looks at, and computing it, for one row of a scan by columns.
const SCAN_ROW: f64 = 0.015;
/// Handing on, by columns, a row that a scan has found.
const COLUMN_ROW: f64 = 0.015;
/// Joining two rows that come one by one.
const ROW_JOINED: f64 = 0.15;
/// Looking a row that comes by itself up in a hash table.
const ROW_PROBED: f64 = 0.1;
/// Finding the group of a row.
const GROUP_ROW: f64 = 0.02;
/// Making a group.
const GROUP: f64 = 0.5;
/// Making a row of what a scan has found.
const ROW_MADE: f64 = 0.2;
/// Finding the first entry of an index range.
const INDEX_START: f64 = 2.0;
/// A row found by an index in whose order the rows lie: its block is at hand.
const INDEX_ROW_NEAR: f64 = 0.7;
/// A row found by an index in whose order the rows do not lie.
const INDEX_ROW_FAR: f64 = 1.0;
/// Taking an entry of an index for the number of its row.
const ENTRY: f64 = 0.08;
/// Going to a row block.
const BLOCK_SOUGHT: f64 = 3.5;
/// Coming to a row block in a scan, whether or not its bounds say that nothing of it is looked at.
const BLOCK_PASSED: f64 = 4.0;
/// Undoing the compression of a row block that is not kept without it.
const BLOCK_UNPACKED: f64 = 8.0;
/// Row blocks that are kept without their compression, more or less, in the default cache.
const BLOCKS_KEPT: f64 = 2_000.0;
/// Picking a row out of a block and looking at it.
const ROW_PICKED: f64 = 0.6;
/// Putting a row, by columns, into a hash table.
const BUILD_ROW: f64 = 0.1;
/// Looking a row up in a hash table, by columns.
const PROBE_ROW: f64 = 0.04;
/// Looking one number of a scan by columns up among the keys of a hash table.
const FILTER_ROW: f64 = 0.005;
/// Searching rows in order for the ends of a range.
const SEARCH_ROW: f64 = 0.4;
/// Joining two rows by columns.
const JOINED_ROW: f64 = 0.02;
/// Trying a pair of rows.
const PAIR: f64 = 0.1;
/// Running a nested plan that is no index range, once.
const NESTED_START: f64 = 20.0;
/// Comparing two rows while sorting.
const SORT_COMPARISON: f64 = 0.025;

/// The constants that `farbird bench calibrate` measures, by their names.
pub const CONSTANTS: [(&str, f64); 16] = [
    ("SCAN_ROW", SCAN_ROW),
    ("COLUMN_ROW", COLUMN_ROW),
    ("INDEX_START", INDEX_START),
    ("INDEX_ROW_NEAR", INDEX_ROW_NEAR),
    ("INDEX_ROW_FAR", INDEX_ROW_FAR),
    ("ROW_JOINED", ROW_JOINED),
    ("BUILD_ROW", BUILD_ROW),
    ("PROBE_ROW", PROBE_ROW),
    ("JOINED_ROW", JOINED_ROW),
    ("FILTER_ROW", FILTER_ROW),
    ("ROW_PROBED", ROW_PROBED),
    ("PAIR", PAIR),
    ("SEARCH_ROW", SEARCH_ROW),
    ("SORT_COMPARISON", SORT_COMPARISON),
    ("GROUP_ROW", GROUP_ROW),
    ("GROUP", GROUP),
];

/// Starting a sort.
const SORT_START: f64 = 5.0;
/// Computing a key and finding that it comes behind the rows that are kept.
const KEY_COMPARED: f64 = 0.1;
/// How many times as much as is counted a scan costs, beside look-ups, where the table's blocks are kept without their compression: a row
/// that is looked up takes a third of what is counted then, opening a block of few wide rows more than looking at them. Measured on
/// TPC-H's LINEITEM, 340 rows a block; where blocks are not kept look-ups cost as many times more.
const KEPT_SCAN_TIMES: f64 = 6.0;
/// That there may be more rows than are thought: a unique key is preferred.
pub(crate) const NOT_UNIQUE: f64 = 0.3;
/// Rows that are read at least until one is a partner, more or less.
const FIRST_ROWS: f64 = 2.0;
/// A join of fewer rows tells no keys: the partners of a single one are looked up as quickly, and it may come again and again, as that of a
/// recursion does.
pub(crate) const KEYED_ROWS_MIN: f64 = 2.0;
/// Most keys that a join tells to be looked up.
pub(crate) const KEYS_MAX: f64 = 16_384.0;

/// A table may grow after its plan is made: no scan is taken to read fewer rows than this.
const SCAN_ROWS_LEAST: f64 = 4_000.0;

/// Reading a whole table of which `found` rows are left by the conditions.
pub(crate) fn scan(rows: f64, found: f64) -> f64 {
    SCAN_START + rows.max(SCAN_ROWS_LEAST) * SCAN_ROW + found * COLUMN_ROW
}

/// As [`scan`], of a table of so many blocks of which some are passed over: so many rows are in the others. No more than reading all.
pub(crate) fn scan_of_blocks(rows: f64, looked_at: f64, found: f64, blocks: f64) -> f64 {
    let passing = SCAN_START + blocks * BLOCK_PASSED + found * COLUMN_ROW;
    scan(looked_at, found).max(passing).min(scan(rows, found))
}

/// The part of a table's blocks whose compression must be undone each time.
fn packed_part(blocks: f64) -> f64 {
    1.0 - (BLOCKS_KEPT / blocks.max(1.0)).min(1.0)
}

/// Reading rows by ranges of an index, in its order. `order` says how far the rows lie in it, -1 to 1; the table has so many
/// blocks.
pub(crate) fn index(ranges: f64, rows: f64, order: f64, blocks: f64) -> f64 {
    let far = INDEX_ROW_FAR + packed_part(blocks) * BLOCK_UNPACKED;
    let row = far - (far - INDEX_ROW_NEAR) * order * order;
    ranges * INDEX_START + rows * row
}

/// Reading rows that indexes name in so many entries, in row order: they are in `sought` of the table's blocks.
pub(crate) fn named_rows(
    ranges: f64,
    entries: f64,
    rows: f64,
    found: f64,
    all_rows: f64,
    sought: f64,
    blocks: f64,
) -> f64 {
    let decoded = (sought / blocks.max(1.0)).min(1.0) * all_rows * SCAN_ROW;
    let looked_at = (rows * ROW_PICKED).min(decoded) + found.min(rows) * ROW_MADE;
    // Unlike single rows these do not come from blocks that are kept without their compression.
    let reached = sought * (BLOCK_SOUGHT + BLOCK_UNPACKED);
    SCAN_START + ranges * INDEX_START + entries * ENTRY + reached + looked_at
}

/// In how many of a table's blocks rows of it are. `order` says how far they lie together, -1 to 1.
pub(crate) fn blocks_of(rows: f64, all_rows: f64, blocks: f64, order: f64) -> f64 {
    let scattered = blocks * (1.0 - (1.0 - 1.0 / blocks.max(1.0)).powf(rows));
    let together = 1.0 + blocks * (rows / all_rows.max(1.0)).min(1.0);
    let part = order * order;
    (scattered * (1.0 - part) + together * part).clamp(1.0, blocks.max(1.0))
}

/// Looking for a first partner by an index, among so many rows of which conditions leave a part: those behind it are not read. Where
/// the conditions leave few most rows that are looked up have no partner, and all that the index finds are read.
pub(crate) fn first_by_index(rows: f64, part: f64, order: f64, blocks: f64) -> f64 {
    let part = part.clamp(f64::EPSILON, 1.0);
    let until_first = (1.0 - (1.0 - part).powf(rows)) / part;
    index(1.0, rows.min(until_first.max(FIRST_ROWS)), order, blocks)
}

/// A hash join of so many rows on the side that is built and on the side that asks, without reading them; whether those that ask come
/// by columns.
pub(crate) fn hash_join(built: f64, asking: f64, joined: f64, by_columns: bool) -> f64 {
    let (probe, join) = if by_columns { (PROBE_ROW, JOINED_ROW) } else { (ROW_PROBED, ROW_JOINED) };
    built * BUILD_ROW + asking * probe + joined * join
}

/// What a hash join costs less if the side that asks is scanned by columns, and so many of its rows have a partner: the
/// others are left out before they are made.
pub(crate) fn left_out(asking: f64, partners: f64) -> f64 {
    (asking - partners).max(0.0) * (PROBE_ROW + COLUMN_ROW) - asking * FILTER_ROW
}

/// A join by ranges: the side that is built is put in order, and searched for each row of the other.
pub(crate) fn range_join(built: f64, asking: f64, joined: f64) -> f64 {
    built * BUILD_ROW + sort(built) + asking * SEARCH_ROW + joined * (PAIR + JOINED_ROW)
}

/// Trying each pair of rows.
pub(crate) fn all_pairs(built: f64, asking: f64, joined: f64) -> f64 {
    built * BUILD_ROW + built * asking * PAIR + joined * JOINED_ROW
}

/// Running an inner side by an index for each outer row.
pub(crate) fn nested_loop(outer: f64, lookup: f64, joined: f64) -> f64 {
    outer * lookup + joined * ROW_JOINED
}

/// Running an inner side that is no index range for each outer row.
pub(crate) fn nested_plan(outer: f64, inner: f64) -> f64 {
    outer * (NESTED_START + inner * ROW_MADE)
}

/// What a scan of a table of so many blocks costs beyond what is counted, where single rows could be looked up instead.
pub(crate) fn beyond_scan(counted: f64, blocks: f64) -> f64 {
    counted * (1.0 - packed_part(blocks)) * (KEPT_SCAN_TIMES - 1.0)
}

/// Grouping so many rows.
pub(crate) fn group(rows: f64, groups: f64) -> f64 {
    rows * GROUP_ROW + groups * GROUP
}

/// Putting the first of so many rows in order, so many that are kept.
pub(crate) fn first_of_order(rows: f64, kept: f64) -> f64 {
    (rows * KEY_COMPARED + sort(kept.min(rows))).min(sort(rows))
}

/// Sorting.
pub(crate) fn sort(rows: f64) -> f64 {
    let rows = rows.max(2.0);
    SORT_START + rows * SORT_COMPARISON * rows.log2()
}

/// Reading the rows of a table that an index names under keys that a join tells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct KeyedReading {
    /// The rows under a key.
    pub(crate) rows: f64,
    /// The part of them that the table's own conditions leave.
    pub(crate) part: f64,
    /// How far they lie together, -1 to 1.
    pub(crate) order: f64,
    /// The rows and blocks of the table.
    pub(crate) all_rows: f64,
    pub(crate) blocks: f64,
}

impl KeyedReading {
    /// How many rows are left of those under so many keys.
    pub(crate) fn found(&self, keys: f64) -> f64 {
        (keys * self.rows).min(self.all_rows) * self.part
    }

    /// What reading them costs, in row order.
    pub(crate) fn cost(&self, keys: f64) -> f64 {
        let rows = (keys * self.rows).min(self.all_rows);
        let sought = blocks_of(rows, self.all_rows, self.blocks, self.order);
        // A scan of all rows comes to each block as these do, and decodes more of it.
        let reached = sought * BLOCK_SOUGHT;
        let looked_at = rows * (ENTRY + ROW_PICKED) + self.found(keys) * COLUMN_ROW;
        SCAN_START + keys * INDEX_START + reached + looked_at
    }

    /// For how many keys it costs less than something else.
    pub(crate) fn keys_max(&self, other: f64) -> f64 {
        let mut keys = 1.0;
        while keys < KEYS_MAX && self.cost(keys * 2.0) < other {
            keys *= 2.0;
        }
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_keys_are_looked_up_and_many_are_not() {
        let reading =
            KeyedReading { rows: 30.0, part: 0.1, order: 0.0, all_rows: 6_000_000.0, blocks: 17_600.0 };
        let natural = scan(6_000_000.0, 600_000.0);
        let keys_max = reading.keys_max(natural);
        assert!(reading.cost(10.0) < natural / 10.0);
        assert!((64.0..KEYS_MAX).contains(&keys_max), "{keys_max}");
        assert!(reading.cost(keys_max * 2.0) >= natural);
    }
}
