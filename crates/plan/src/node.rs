//! Plans: trees of operators with bound expressions. Immutable and shared; operators run them.
//!
//! Each node hands out rows of a fixed width; the expressions of a node look at the rows of its input by position.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use farbird_catalog::{Relation, Routine};
use farbird_expression::{Expression, FrameSize};
use farbird_function::AggregateFunction;
use farbird_session::ColumnDescription;
use farbird_store::{IndexId, Projection, RelationLayout, ScanDirection};
use farbird_types::key::KeyPart;
use farbird_types::{ColumnType, SqlType};

/// A query ready to run.
#[derive(Debug)]
pub struct SelectPlan {
    /// Where its rows come from. Rows may be wider than the result: sort keys and row numbers follow the columns.
    pub root: Node,
    /// The columns of the result.
    pub columns: Vec<ColumnDescription>,
    /// What its frame needs.
    pub frame: FrameSize,
    /// Where each row carries the row numbers of the tables it was read from, when that was asked for: for
    /// WHERE CURRENT OF.
    pub row_numbers: Vec<RowNumberColumn>,
    /// Whether it calls routines that are declared in the routine it stands in: they share its variables, so that rows computed ahead
    /// would see others than those that are computed one by one.
    pub calls_local_routines: bool,
}

/// Where a row carries the number of the row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowNumberColumn {
    /// The table.
    pub relation: String,
    /// Position in the row.
    pub position: usize,
}

/// What the planner expects of a node: each time that it is opened, and whatever stands below it included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Rows that it hands out.
    pub rows: f64,
    /// What making them costs, in microseconds of one processor, more or less.
    pub cost: f64,
}

/// An operator with its inputs.
#[derive(Debug, Clone)]
pub enum Node {
    /// One row without columns.
    Single,
    /// Reads a table.
    Table(Arc<TableScan>),
    /// Reads a system table.
    System(Arc<SystemScan>),
    /// Reads an external table.
    External(Arc<ExternalScan>),
    /// Runs a selectable procedure.
    Procedure(Arc<ProcedureScan>),
    /// Rows for which a condition is true.
    Filter(Arc<Filter>),
    /// Computes new rows.
    Project(Arc<Project>),
    /// Joins by running the inner side for each row of the outer one.
    NestedLoop(Arc<NestedLoop>),
    /// Joins by a table in memory of the inner side's rows.
    HashJoin(Arc<HashJoin>),
    /// Joins by the order of a value of the inner side's rows.
    RangeJoin(Arc<RangeJoin>),
    /// Orders.
    Sort(Arc<Sort>),
    /// Groups.
    Aggregate(Arc<Aggregate>),
    /// Window functions.
    Window(Arc<Window>),
    /// Drops repeated rows.
    Distinct(Arc<Distinct>),
    /// Rows that other places of the statement ask for too.
    Shared(Arc<Shared>),
    /// Several inputs one after the other.
    Union(Arc<Union>),
    /// Some rows from the beginning are skipped, some handed out.
    Limit(Arc<Limit>),
    /// A recursive common table.
    Recursive(Arc<Recursive>),
    /// The row that the recursive member of a common table looks at.
    WorkingRow(Arc<WorkingRow>),
    /// Only how many rows a table has.
    Count(Arc<Count>),
    /// Locks the rows it hands on (WITH LOCK).
    Lock(Arc<Lock>),
}

/// Reads a table.
#[derive(Debug)]
pub struct TableScan {
    /// The table.
    pub relation: Arc<Relation>,
    /// What the store knows of it.
    pub layout: Arc<RelationLayout>,
    /// The columns of each row, by slot.
    pub columns: Projection,
    /// How many columns that are.
    pub width: usize,
    /// Whether the row number follows the columns.
    pub row_number: bool,
    /// How it is read.
    pub access: Access,
    /// Its names in the query: those of the views it stands in, then its own alias.
    pub path: Vec<String>,
    /// What a PLAN clause says of it.
    pub told: Option<Told>,
    /// What is expected of it, if the planner has said so: [`Node::estimate`].
    pub estimate: Option<Estimate>,
}

/// What a PLAN clause says of a table, and what has come of that.
#[derive(Debug, Clone)]
pub struct Told {
    /// How it is to be read.
    pub hint: Arc<AccessHint>,
    /// The indexes among those that nothing uses: if any are left in a finished plan the clause is refused.
    pub unused: Vec<String>,
}

/// How a PLAN clause has a table read. Indexes by their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessHint {
    /// NATURAL: by no index.
    Natural,
    /// INDEX: by no others.
    Index(Vec<String>),
    /// ORDER: in the order of an index, and by no others than that and these.
    Order {
        /// Whose order.
        index: String,
        /// INDEX behind it.
        indexes: Vec<String>,
    },
}

impl AccessHint {
    /// Whether an index may be used.
    pub fn allows(&self, name: &str) -> bool {
        match self {
            AccessHint::Natural => false,
            AccessHint::Index(names) => names.iter().any(|known| known == name),
            AccessHint::Order { index, indexes } => {
                index == name || indexes.iter().any(|known| known == name)
            }
        }
    }

    /// The index whose order is followed.
    pub fn order(&self) -> Option<&str> {
        match self {
            AccessHint::Order { index, .. } => Some(index),
            _ => None,
        }
    }

    /// The indexes that find rows.
    pub fn indexes(&self) -> &[String] {
        match self {
            AccessHint::Natural => &[],
            AccessHint::Index(indexes) | AccessHint::Order { indexes, .. } => indexes,
        }
    }
}

/// How a table is read.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "there is one for each table of a plan")]
pub enum Access {
    /// All rows, in row order.
    Natural,
    /// The rows that keys (RDB$DB_KEY) name.
    RowKeys(Vec<Expression>),
    /// The row of this number.
    RowNumber(Expression),
    /// Rows in ranges of indexes; each row once.
    Index {
        /// The ranges, read one after the other.
        ranges: Vec<IndexRange>,
        /// Whether the rows come in the order of the (only) index, and which way.
        ordered: Option<ScanDirection>,
    },
    /// Rows that indexes name, in row order.
    Rows(RowSet),
}

/// A set of rows that indexes name. It may have more rows than the conditions that it comes from leave, never fewer: they are
/// looked at again.
#[derive(Debug, Clone)]
pub enum RowSet {
    /// Those in a range of an index.
    Range(IndexRange),
    /// Those under the keys that a hash join tells when its other side is there.
    Keys(KeyedRows),
    /// Those that are in all of these sets.
    All(Vec<RowSet>),
    /// Those that are in any of these sets.
    Any(Vec<RowSet>),
}

impl RowSet {
    /// Its ranges.
    pub fn ranges(&self) -> Vec<&IndexRange> {
        match self {
            RowSet::Range(range) | RowSet::Keys(KeyedRows { range, .. }) => vec![range],
            RowSet::All(sets) | RowSet::Any(sets) => sets.iter().flat_map(RowSet::ranges).collect(),
        }
    }

    pub(crate) fn ranges_mut(&mut self) -> Vec<&mut IndexRange> {
        match self {
            RowSet::Range(range) | RowSet::Keys(KeyedRows { range, .. }) => vec![range],
            RowSet::All(sets) | RowSet::Any(sets) => sets.iter_mut().flat_map(RowSet::ranges_mut).collect(),
        }
    }
}

/// The rows under some keys of a column, which leads an index. Where a join tells no keys, or too many, all rows are read.
#[derive(Debug, Clone)]
pub struct KeyedRows {
    /// The position of the column in the rows of the scan.
    pub column: usize,
    /// Its type.
    pub sql_type: SqlType,
    /// The range of one of the keys, whose value is not known before.
    pub range: IndexRange,
    /// Of more keys, or rows under them, reading all rows takes less.
    pub keys_max: usize,
    /// As `keys_max`.
    pub rows_max: usize,
}

/// A range of an index. Bounds are evaluated when the scan opens; a NULL bound means that there are no rows, since
/// nothing compares to NULL.
#[derive(Debug, Clone)]
pub struct IndexRange {
    /// The index.
    pub index: IndexId,
    /// Its name.
    pub name: String,
    /// Values of the first parts.
    pub equal: Vec<RangeKey>,
    /// Lower bound of the next part, and whether it belongs to the range.
    pub lower: Option<(Expression, bool)>,
    /// Upper bound of the next part, and whether it belongs to the range.
    pub upper: Option<(Expression, bool)>,
    /// Prefix of the next part.
    pub starting: Option<Expression>,
    /// Type of the part that bounds and prefix are about.
    pub bound_type: Option<SqlType>,
    /// Whether the range is one whole key of a unique index.
    pub unique: bool,
}

/// The value that a part of an index shall have.
#[derive(Debug, Clone)]
pub struct RangeKey {
    /// The value.
    pub value: Expression,
    /// Type of the indexed column.
    pub sql_type: SqlType,
    /// Whether NULL finds NULL (IS NULL, IS NOT DISTINCT FROM).
    pub null_matches: bool,
}

/// Reads the file of an external table, from its beginning to its end.
#[derive(Debug)]
pub struct ExternalScan {
    /// The table.
    pub relation: Arc<Relation>,
    /// Slots (field ids) of the columns.
    pub columns: Vec<u16>,
    /// Whether a row number follows the columns: the place in the file, from 1.
    pub row_number: bool,
    /// What is expected of it, if the planner has said so: [`Node::estimate`].
    pub estimate: Option<Estimate>,
    /// Its names in the query.
    pub path: Vec<String>,
}

/// Reads a system table.
#[derive(Debug)]
pub struct SystemScan {
    /// The table.
    pub relation: Arc<Relation>,
    /// Positions of the columns in the table.
    pub columns: Vec<usize>,
    /// Whether a row number follows the columns.
    pub row_number: bool,
    /// Its names in the query.
    pub path: Vec<String>,
}

/// Runs a selectable procedure.
#[derive(Debug)]
pub struct ProcedureScan {
    /// The procedure.
    pub procedure: Arc<Routine>,
    /// Its inputs, converted; they may look at registers.
    pub arguments: Vec<Expression>,
    /// Positions of the columns among its outputs.
    pub columns: Vec<usize>,
    /// Its names in the query.
    pub path: Vec<String>,
}

/// Rows for which a condition is true.
#[derive(Debug)]
pub struct Filter {
    /// The input.
    pub input: Node,
    /// The condition.
    pub condition: Expression,
    /// What is expected of it, if the planner has said so: [`Node::estimate`].
    pub estimate: Option<Estimate>,
}

/// Computes new rows.
#[derive(Debug)]
pub struct Project {
    /// The input.
    pub input: Node,
    /// The values of the new rows.
    pub items: Vec<Expression>,
}

/// Joins by running the inner side for each row of the outer one. Rows are those of the outer side followed, unless the
/// kind says otherwise, by those of the inner one.
#[derive(Debug)]
pub struct NestedLoop {
    /// The outer side.
    pub outer: Node,
    /// The inner side; looks at the outer row by registers.
    pub inner: Node,
    /// What the inner side takes from the outer row.
    pub captures: Vec<(usize, Expression)>,
    /// Which outer rows are handed out, and with what.
    pub kind: NestedLoopKind,
    /// What must hold for a pair of rows.
    pub condition: Option<Expression>,
    /// What is expected of it, if the planner has said so: [`Node::estimate`].
    pub estimate: Option<Estimate>,
}

/// What a nested loop hands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NestedLoopKind {
    /// Pairs of rows.
    Inner,
    /// Pairs of rows; outer rows without a partner come with NULLs.
    Left,
    /// Outer rows that have a partner, once each (EXISTS, IN).
    Semi,
    /// Outer rows that have none (NOT EXISTS).
    Anti,
}

impl NestedLoopKind {
    /// Whether only rows of the outer side are handed out.
    pub fn drops_inner(self) -> bool {
        matches!(self, NestedLoopKind::Semi | NestedLoopKind::Anti)
    }
}

/// Joins by the order of a value of the inner side's rows. Rows are those of the outer side followed, unless the kind says
/// otherwise, by those of the inner one.
#[derive(Debug)]
pub struct RangeJoin {
    /// The side that is read second.
    pub outer: Node,
    /// The side that is read first and put in order, in memory while that is enough.
    pub inner: Node,
    /// The value by which inner rows are in order. Rows in which it is NULL have no partner.
    pub key: Expression,
    /// Order of texts.
    pub collation: farbird_types::Collation,
    /// What it must be above, if anything; of the outer row.
    pub lower: Option<RangeBound>,
    /// What it must be below, if anything; of the outer row.
    pub upper: Option<RangeBound>,
    /// What is asked of another value of the inner row.
    pub beside: Option<RangeBeside>,
    /// Which outer rows are handed out, and with what.
    pub kind: NestedLoopKind,
    /// What else must hold for a pair of rows.
    pub condition: Option<Expression>,
    /// What is expected of it, if the planner has said so: [`Node::estimate`].
    pub estimate: Option<Estimate>,
}

/// One end of a range of inner values.
#[derive(Debug)]
pub struct RangeBound {
    /// A value of the outer row.
    pub value: Expression,
    /// Whether it belongs to the range.
    pub inclusive: bool,
}

/// That a second value of inner rows lies above, or below, one of the outer row.
#[derive(Debug)]
pub struct RangeBeside {
    /// The value of the inner row.
    pub key: Expression,
    /// Order of texts.
    pub collation: farbird_types::Collation,
    /// Above rather than below.
    pub above: bool,
    /// What.
    pub bound: RangeBound,
}

/// Joins by a table in memory of the inner side's rows. Rows are those of the outer side followed by those of the inner
/// one, or those of one side only, as the kind says.
#[derive(Debug)]
pub struct HashJoin {
    /// The side that is read second, and asks for partners.
    pub outer: Node,
    /// The side that is read first, into memory while that is enough.
    pub inner: Node,
    /// Values of the outer rows. Without any keys each pair of rows is tried.
    pub outer_keys: Vec<JoinKey>,
    /// Values of the inner rows.
    pub inner_keys: Vec<JoinKey>,
    /// What becomes of rows without a partner.
    pub kind: HashJoinKind,
    /// What else must hold for a pair of rows.
    pub condition: Option<Expression>,
    /// What is expected of it, if the planner has said so: [`Node::estimate`].
    pub estimate: Option<Estimate>,
}

/// What a hash join does with rows that have no partner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashJoinKind {
    /// They are dropped.
    Inner,
    /// Those of the outer side come with NULLs.
    Left,
    /// Those of the inner side come with NULLs.
    Right,
    /// Those of both sides come with NULLs.
    Full,
    /// They are dropped, and rows of the outer side that have a partner come alone, once each.
    Semi,
    /// Those of the outer side come, alone; all others are dropped.
    Anti,
    /// As `Semi`, for rows of the inner side.
    InnerSemi,
    /// As `Anti`, for rows of the inner side.
    InnerAnti,
}

impl HashJoinKind {
    /// Whether rows that are handed out begin with a row of the outer side, or NULLs in its place.
    pub fn has_outer(self) -> bool {
        !matches!(self, HashJoinKind::InnerSemi | HashJoinKind::InnerAnti)
    }

    /// Whether rows that are handed out end with a row of the inner side, or NULLs in its place.
    pub fn has_inner(self) -> bool {
        !matches!(self, HashJoinKind::Semi | HashJoinKind::Anti)
    }

    /// Whether outer rows whose key is NULL are handed out.
    pub fn keeps_outer(self) -> bool {
        matches!(self, HashJoinKind::Left | HashJoinKind::Full | HashJoinKind::Anti)
    }

    /// Whether inner rows whose key is NULL are handed out.
    pub fn keeps_inner(self) -> bool {
        matches!(self, HashJoinKind::Right | HashJoinKind::Full | HashJoinKind::InnerAnti)
    }

    /// Whether inner rows are handed out when all outer ones have been looked at: with a partner (`true`) or without.
    pub fn hands_out_inner(self) -> Option<bool> {
        match self {
            HashJoinKind::InnerSemi => Some(true),
            kind if kind.keeps_inner() => Some(false),
            _ => None,
        }
    }
}

/// A value by which rows are joined.
#[derive(Debug, Clone)]
pub struct JoinKey {
    /// The value.
    pub value: Expression,
    /// Which texts are equal.
    pub collation: farbird_types::Collation,
}

/// Orders.
#[derive(Debug)]
pub struct Sort {
    /// The input.
    pub input: Node,
    /// What is ordered by.
    pub keys: Vec<SortKey>,
    /// Only so many rows are kept at first: hardly more will be asked for. If they are, the input is read again and ordered as a
    /// whole, so it gives the same rows in the same order each time.
    pub first: Option<usize>,
}

/// A value by which rows are ordered.
#[derive(Debug, Clone)]
pub struct SortKey {
    /// The value.
    pub value: Expression,
    /// Direction, NULLs, order of texts.
    pub part: KeyPart,
}

/// Groups. Rows are the keys followed by the results of the aggregates.
#[derive(Debug)]
pub struct Aggregate {
    /// The input.
    pub input: Node,
    /// What rows are grouped by. None: one group of all rows, also when there are no rows.
    pub keys: Vec<JoinKey>,
    /// The aggregates.
    pub calls: Vec<AggregateCall>,
    /// What is expected of it, if the planner has said so: [`Node::estimate`].
    pub estimate: Option<Estimate>,
}

/// A call of an aggregate function.
#[derive(Clone)]
pub struct AggregateCall {
    /// The function.
    pub function: &'static AggregateFunction,
    /// Its arguments; none for COUNT(*).
    pub arguments: Vec<Expression>,
    /// Their types.
    pub argument_types: Vec<ColumnType>,
    /// Type of the result.
    pub result: ColumnType,
    /// DISTINCT.
    pub distinct: bool,
    /// FILTER.
    pub filter: Option<Expression>,
}

impl std::fmt::Debug for AggregateCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AggregateCall")
            .field("function", &self.function.name)
            .field("arguments", &self.arguments)
            .field("distinct", &self.distinct)
            .finish_non_exhaustive()
    }
}

/// Window functions over one ordering of the rows. Rows are those of the input followed by the results.
#[derive(Debug)]
pub struct Window {
    /// The input.
    pub input: Node,
    /// PARTITION BY.
    pub partition: Vec<SortKey>,
    /// ORDER BY.
    pub order: Vec<SortKey>,
    /// The calls.
    pub calls: Vec<WindowCall>,
}

/// A call of a window function.
#[derive(Debug, Clone)]
pub struct WindowCall {
    /// What it computes.
    pub function: WindowFunction,
    /// Its frame.
    pub frame: WindowFrame,
}

/// What a window function computes.
#[derive(Debug, Clone)]
pub enum WindowFunction {
    /// An aggregate over the frame.
    Aggregate(AggregateCall),
    /// ROW_NUMBER
    RowNumber,
    /// RANK
    Rank,
    /// DENSE_RANK
    DenseRank,
    /// PERCENT_RANK
    PercentRank,
    /// CUME_DIST
    CumeDist,
    /// NTILE
    Ntile(Expression),
    /// LAG (negative sign) and LEAD.
    Offset {
        /// The value.
        value: Expression,
        /// How many rows away.
        distance: Expression,
        /// The value when there is no such row.
        default: Expression,
        /// LEAD rather than LAG.
        forward: bool,
    },
    /// FIRST_VALUE
    FirstValue(Expression),
    /// LAST_VALUE
    LastValue(Expression),
    /// NTH_VALUE
    NthValue {
        /// The value.
        value: Expression,
        /// Which row, from 1.
        number: Expression,
        /// FROM LAST.
        from_last: bool,
    },
}

/// The rows of a window around the current one.
#[derive(Debug, Clone)]
pub struct WindowFrame {
    /// ROWS rather than RANGE.
    pub rows: bool,
    /// First row.
    pub start: FrameBound,
    /// Last row.
    pub end: FrameBound,
    /// EXCLUDE.
    pub exclusion: farbird_sql::ast::FrameExclusion,
}

/// One end of a window's frame.
#[derive(Debug, Clone)]
pub enum FrameBound {
    /// UNBOUNDED PRECEDING
    UnboundedPreceding,
    /// value PRECEDING
    Preceding(Expression),
    /// CURRENT ROW
    CurrentRow,
    /// value FOLLOWING
    Following(Expression),
    /// UNBOUNDED FOLLOWING
    UnboundedFollowing,
}

/// Drops repeated rows: rows are the same if their first columns are.
#[derive(Debug)]
pub struct Distinct {
    /// The input.
    pub input: Node,
    /// Order of texts per compared column.
    pub collations: Vec<farbird_types::Collation>,
    /// What is expected of it, if the planner has said so: [`Node::estimate`].
    pub estimate: Option<Estimate>,
}

/// Rows that are asked for in several places of a statement, each with a plan of its own, and computed once. They look at nothing
/// outside, and are the same in each place.
#[derive(Debug)]
pub struct Shared {
    /// What gives them.
    pub input: Node,
    /// Where in the frame they are kept.
    pub place: usize,
    /// How often they are asked for: the statement's plan is looked through when it is finished.
    pub(crate) uses: Arc<AtomicUsize>,
}

impl Shared {
    /// Whether they are asked for in more than one place.
    pub fn is_used_again(&self) -> bool {
        self.uses.load(Ordering::Relaxed) > 1
    }
}

/// Several inputs one after the other.
#[derive(Debug)]
pub struct Union {
    /// The inputs, all of one width.
    pub inputs: Vec<Node>,
}

/// Some rows from the beginning are skipped, some handed out.
#[derive(Debug)]
pub struct Limit {
    /// The input.
    pub input: Node,
    /// How many are skipped.
    pub skip: Option<Expression>,
    /// How many are handed out.
    pub first: Option<Expression>,
    /// Whether both count as in ROWS: `skip` is the number of the first row and `first` that of the last.
    pub ordinals: bool,
}

/// A recursive common table: the rows of the anchor, each followed by what the recursive members make of it (depth
/// first, as Firebird's).
#[derive(Debug)]
pub struct Recursive {
    /// The members that do not refer to the table.
    pub anchor: Node,
    /// The members that do.
    pub step: Node,
    /// Place of the working row in the frame.
    pub place: usize,
    /// Whether nobody can tell that the members are asked for some rows before the first of those is followed.
    pub reads_ahead: bool,
}

/// The row that the recursive member of a common table looks at.
#[derive(Debug)]
pub struct WorkingRow {
    /// Its place in the frame.
    pub place: usize,
    /// Positions of the columns in it.
    pub columns: Vec<usize>,
}

/// Only how many rows a table has: one row with one BIGINT.
#[derive(Debug)]
pub struct Count {
    /// The table.
    pub relation: Arc<Relation>,
    /// What the store knows of it.
    pub layout: Arc<RelationLayout>,
    /// Its names in the query.
    pub path: Vec<String>,
}

/// Locks the rows it hands on.
#[derive(Debug)]
pub struct Lock {
    /// The input.
    pub input: Node,
    /// What the store knows of the table.
    pub layout: Arc<RelationLayout>,
    /// Position of the row number.
    pub row_number: usize,
    /// SKIP LOCKED: rows that others hold are left out.
    pub skip_locked: bool,
}

impl HashJoin {
    /// Values per row.
    pub fn width(&self) -> usize {
        let outer = if self.kind.has_outer() { self.outer.width() } else { 0 };
        let inner = if self.kind.has_inner() { self.inner.width() } else { 0 };
        outer + inner
    }
}

/// A number for a node, or for anything else that plans share, that nothing else has while it lives: where it stands in memory.
pub fn identity<T>(shared: &Arc<T>) -> usize {
    Arc::as_ptr(shared) as usize
}

impl Node {
    /// Whether it is known to give one row at most: rows of a table that a whole key of a unique index, or a number, names.
    pub(crate) fn has_one_row_at_most(&self) -> bool {
        match self {
            Node::Table(scan) => match &scan.access {
                Access::Index { ranges, .. } => {
                    // A key of NULLs alone may be there more than once.
                    matches!(ranges.as_slice(), [range] if range.unique && !range.equal.iter().any(|key| key.null_matches))
                }
                Access::RowNumber(_) => true,
                Access::Natural | Access::RowKeys(_) | Access::Rows(_) => false,
            },
            Node::Filter(filter) => filter.input.has_one_row_at_most(),
            _ => false,
        }
    }

    /// As [`identity`]; 0 for one that is nothing but itself.
    pub fn identity(&self) -> usize {
        match self {
            Node::Single => 0,
            Node::Table(node) => identity(node),
            Node::System(node) => identity(node),
            Node::External(node) => identity(node),
            Node::Procedure(node) => identity(node),
            Node::Filter(node) => identity(node),
            Node::Project(node) => identity(node),
            Node::NestedLoop(node) => identity(node),
            Node::HashJoin(node) => identity(node),
            Node::RangeJoin(node) => identity(node),
            Node::Sort(node) => identity(node),
            Node::Aggregate(node) => identity(node),
            Node::Window(node) => identity(node),
            Node::Distinct(node) => identity(node),
            Node::Shared(node) => identity(node),
            Node::Union(node) => identity(node),
            Node::Limit(node) => identity(node),
            Node::Recursive(node) => identity(node),
            Node::WorkingRow(node) => identity(node),
            Node::Count(node) => identity(node),
            Node::Lock(node) => identity(node),
        }
    }

    /// Values per row.
    pub fn width(&self) -> usize {
        match self {
            Node::Single => 0,
            Node::Table(scan) => scan.width + usize::from(scan.row_number),
            Node::System(scan) => scan.columns.len() + usize::from(scan.row_number),
            Node::External(scan) => scan.columns.len() + usize::from(scan.row_number),
            Node::Procedure(scan) => scan.columns.len(),
            Node::Filter(filter) => filter.input.width(),
            Node::Project(project) => project.items.len(),
            Node::NestedLoop(join) if join.kind.drops_inner() => join.outer.width(),
            Node::NestedLoop(join) => join.outer.width() + join.inner.width(),
            Node::HashJoin(join) => join.width(),
            Node::RangeJoin(join) if join.kind.drops_inner() => join.outer.width(),
            Node::RangeJoin(join) => join.outer.width() + join.inner.width(),
            Node::Sort(sort) => sort.input.width(),
            Node::Aggregate(aggregate) => aggregate.keys.len() + aggregate.calls.len(),
            Node::Window(window) => window.input.width() + window.calls.len(),
            Node::Distinct(distinct) => distinct.input.width(),
            Node::Shared(shared) => shared.input.width(),
            Node::Union(union) => union.inputs.first().map_or(0, Node::width),
            Node::Limit(limit) => limit.input.width(),
            Node::Recursive(recursive) => recursive.anchor.width(),
            Node::WorkingRow(row) => row.columns.len(),
            Node::Count(_) => 1,
            Node::Lock(lock) => lock.input.width(),
        }
    }

    /// This node with a condition on its rows.
    #[must_use]
    pub fn filtered(self, conditions: Vec<Expression>) -> Node {
        if conditions.is_empty() {
            return self;
        }
        Node::Filter(Arc::new(Filter { input: self, condition: Expression::all(conditions), estimate: None }))
    }
}
