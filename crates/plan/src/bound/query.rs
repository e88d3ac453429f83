//! A query, bound but not planned: what the binder hands to the planner.

use std::sync::Arc;

use farbird_expression::Expression;
use farbird_sql::ast;
use farbird_types::ColumnType;

use crate::bound::column::Origin;
use crate::bound::opaque::OpaqueColumns;
use crate::bound::shape::Shape;
use crate::bound::source::{FromTree, JoinHint, Slot, Source, SourceColumn};
use crate::node::{AccessHint, AggregateCall, FrameBound, JoinKey, SortKey, WindowCall, WindowFunction};

/// A column of a query's result.
#[derive(Debug, Clone)]
pub(crate) struct OutputColumn {
    /// Its name where others refer to it: alias or column's name.
    pub(crate) name: Option<String>,
    /// What it is called if it has no name: `ADD`, `COUNT`.
    pub(crate) label: String,
    /// Its value, over the row that the query's last step gives.
    pub(crate) expression: Expression,
    /// Its type.
    pub(crate) column_type: ColumnType,
    /// The column that it is, unchanged.
    pub(crate) origin: Option<Origin>,
    /// The parameters in it whose types are not known yet.
    pub(crate) shape: Option<Box<Shape>>,
    /// It is a VARCHAR, which clients are told to be a CHAR: simple CASE and DECODE over CHARs of different lengths. Firebird describes
    /// the longest of them and computes with each value as it is, so blanks stand behind the shorter ones in clients' messages only.
    pub(crate) sent_as_char: bool,
}

/// How many rows, bound.
#[derive(Debug, Clone)]
pub(crate) struct BoundLimit {
    /// How many are skipped.
    pub(crate) skip: Option<Expression>,
    /// How many are handed out.
    pub(crate) first: Option<Expression>,
    /// Both are ordinals (ROWS).
    pub(crate) ordinals: bool,
}

/// A query, bound but not planned.
#[derive(Debug)]
pub(crate) struct BoundSelect {
    /// Its sources, and what is computed from them.
    pub(crate) block: Block,
    /// How the sources are joined.
    pub(crate) tree: FromTree,
    /// The tables among the sources, in the order of their keys in RDB$DB_KEY of a view.
    pub(crate) keyed_sources: Vec<usize>,
    /// WHERE.
    pub(crate) conditions: Vec<Expression>,
    /// GROUP BY; `Some` without keys: one group of all.
    pub(crate) grouping: Option<Vec<JoinKey>>,
    /// HAVING.
    pub(crate) having: Vec<Expression>,
    /// The select list.
    pub(crate) items: Vec<OutputColumn>,
    /// DISTINCT.
    pub(crate) distinct: bool,
    /// ORDER BY.
    pub(crate) order: Vec<SortKey>,
    /// FIRST and SKIP, ROWS, OFFSET and FETCH: the inner ones first.
    pub(crate) limits: Vec<BoundLimit>,
    /// OPTIMIZE FOR: whether to hurry to the first rows. Nothing is said: if there is a limit.
    pub(crate) first_rows: Option<bool>,
}

impl BoundSelect {
    /// The query itself if it only selects and renames; given back otherwise.
    pub(crate) fn into_simple(self) -> std::result::Result<Box<BoundSelect>, Box<BoundSelect>> {
        let simple = self.grouping.is_none()
            && !self.distinct
            && self.order.is_empty()
            && self.limits.is_empty()
            && self.block.windows.is_empty()
            && !self.block.volatile
            && !self.items.iter().any(|item| item.expression.is_volatile());
        if simple { Ok(Box::new(self)) } else { Err(Box::new(self)) }
    }
}

/// One SELECT being bound: the sources of its rows and what is computed from them.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// What its rows come from.
    pub(crate) sources: Vec<Source>,
    /// The columns of the sources that are used: [`Expression::Column`] counts these.
    pub(crate) slots: Vec<Slot>,
    /// What it takes from the blocks around it: register, and value in terms of the block just outside.
    pub(crate) captures: Vec<(usize, Expression)>,
    /// Whether a block inside of it looks at a register of `captures`.
    pub(crate) captured_deeper: bool,
    /// Its aggregates: [`Expression::Aggregate`] counts these.
    pub(crate) aggregates: Vec<AggregateCall>,
    /// Its window functions: [`Expression::Window`] counts these.
    pub(crate) windows: Vec<BoundWindow>,
    /// Named windows of its WINDOW clause.
    pub(crate) named_windows: Vec<ast::NamedWindow>,
    /// While GROUP BY and what follows it is bound: the columns that stand for expressions.
    pub(crate) opaque: Option<OpaqueColumns>,
    /// Where aggregates may stand now.
    pub(crate) aggregates_allowed: AggregatesAllowed,
    /// Whether something in it has side effects or gives another value each time.
    pub(crate) volatile: bool,
    /// Whether it has a PLAN clause, or one around it names a table of its own: it is done as it is written.
    pub(crate) is_told: bool,
    /// Whether a PLAN clause around it names a table of its own: conditions from around may use the indexes of that.
    pub(crate) is_told_from_around: bool,
    /// In which order PLAN clauses have its sources joined: those of derived tables that were taken in, then its own.
    pub(crate) join_hints: Vec<JoinHint>,
    /// While FROM is bound: the tables that PLAN clauses name.
    pub(crate) told_tables: Vec<ToldTable>,
}

/// A table that a PLAN clause names.
#[derive(Debug, Clone)]
pub(crate) struct ToldTable {
    /// Its names as seen from the block; none if it is the only table of the view that the block is.
    pub(crate) path: Vec<String>,
    /// How it is read.
    pub(crate) access: Arc<AccessHint>,
    /// The view in whose query the block stands, if the clause stands around that.
    pub(crate) view: Option<String>,
}

/// Where in a block binding stands, as far as aggregates are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum AggregatesAllowed {
    /// FROM, FIRST and ROWS, and what is no query. Aggregates of queries in it stay those queries' own.
    #[default]
    No,
    /// WHERE.
    Where,
    /// GROUP BY.
    GroupBy,
    /// Select list, HAVING, ORDER BY.
    Yes,
    /// Inside of an aggregate.
    Inside,
}

impl Block {
    /// The slot of a column of a source.
    pub(crate) fn slot(&mut self, source: usize, column: SourceColumn) -> usize {
        let wanted = Slot { source, column };
        match self.slots.iter().position(|slot| *slot == wanted) {
            Some(place) => place,
            None => {
                self.slots.push(wanted);
                self.slots.len() - 1
            }
        }
    }
}

/// A call of a window function, bound.
#[derive(Debug, Clone)]
pub(crate) struct BoundWindow {
    /// PARTITION BY.
    pub(crate) partition: Vec<SortKey>,
    /// ORDER BY.
    pub(crate) order: Vec<SortKey>,
    /// The call.
    pub(crate) call: WindowCall,
}

impl BoundWindow {
    /// Whether two calls look at the rows in the same order.
    pub(crate) fn same_order(&self, other: &BoundWindow) -> bool {
        let same = |left: &[SortKey], right: &[SortKey]| {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| left.value == right.value && left.part == right.part)
        };
        same(&self.partition, &other.partition) && same(&self.order, &other.order)
    }

    /// Calls `change` with each expression.
    pub(crate) fn for_each_mut(&mut self, change: &mut dyn FnMut(&mut Expression)) {
        self.partition.iter_mut().chain(&mut self.order).for_each(|key| change(&mut key.value));
        for bound in [&mut self.call.frame.start, &mut self.call.frame.end] {
            if let FrameBound::Preceding(value) | FrameBound::Following(value) = bound {
                change(value);
            }
        }
        match &mut self.call.function {
            WindowFunction::Aggregate(call) => {
                call.arguments.iter_mut().chain(&mut call.filter).for_each(change);
            }
            WindowFunction::Ntile(value)
            | WindowFunction::FirstValue(value)
            | WindowFunction::LastValue(value) => change(value),
            WindowFunction::Offset { value, distance, default, .. } => {
                change(value);
                change(distance);
                change(default);
            }
            WindowFunction::NthValue { value, number, .. } => {
                change(value);
                change(number);
            }
            WindowFunction::RowNumber
            | WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::PercentRank
            | WindowFunction::CumeDist => {}
        }
    }

    /// Gives each column another position.
    pub(crate) fn move_columns(&mut self, position_of: &dyn Fn(usize) -> usize) {
        self.for_each_mut(&mut |expression| expression.move_columns(position_of));
    }
}
