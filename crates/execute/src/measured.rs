//! Measuring: what EXPLAIN ANALYZE shows of operators, and of statements that change rows.
//!
//! A measuring operator stands around each operator of a plan that is measured, and around none of any other. What a scan by columns
//! does for several nodes at once it notes itself ([`ScanMeasure`]). What is measured runs on one thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use farbird_budget::StatementBudget;
use farbird_expression::{ExecutionContext, Measured, Measurements};
use farbird_plan::modification::ModifyPlan;
use farbird_plan::{Filter, Node, TableScan, identity};
use farbird_store::ScannedBlocks;
use farbird_types::Result;
use farbird_vector::Vectors;

use crate::batch::Batch;
use crate::column_rows::ColumnRows;
use crate::key_filter::KeyFilter;
use crate::operator::{ByColumns, Operator};

/// What an operator that was asked has given.
#[derive(Clone, Copy)]
enum Gave {
    /// Nothing yet: it was opened.
    Opened,
    Rows(usize),
    /// It is at its end.
    End,
}

impl Gave {
    fn of(more: bool, rows: usize) -> Gave {
        if more { Gave::Rows(rows) } else { Gave::End }
    }
}

/// Notes what an operator does, and has what it takes charged to it alone.
pub(crate) struct MeasuredOperator {
    node: usize,
    operator: Box<dyn Operator>,
    /// Where it is noted; known when it is opened.
    measured: Option<Arc<Measured>>,
}

impl MeasuredOperator {
    pub(crate) fn new(node: &Node, operator: Box<dyn Operator>) -> MeasuredOperator {
        MeasuredOperator { node: node.identity(), operator, measured: None }
    }

    /// Runs it for so long as it takes, charged to it.
    fn run<T>(
        &mut self,
        context: &mut ExecutionContext<'_>,
        run: impl FnOnce(&mut dyn Operator, &mut ExecutionContext<'_>) -> Result<(T, Gave)>,
    ) -> Result<T> {
        let Some(measured) = &self.measured else {
            return run(self.operator.as_mut(), context).map(|(result, _)| result);
        };
        let (result, time) =
            timed(measured.budget(), context, |context| run(self.operator.as_mut(), context));
        let gave = result.as_ref().map_or(Gave::Rows(0), |(_, gave)| *gave);
        measured.note(|figures| {
            figures.time += time;
            match gave {
                Gave::Opened => figures.opened.note(time),
                Gave::Rows(rows) => {
                    figures.rows += rows as u64;
                    figures.fetched.note_many(rows, time);
                }
                Gave::End => figures.fetched.note(time),
            }
        });
        result.map(|(result, _)| result)
    }
}

impl Operator for MeasuredOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        if self.measured.is_none() {
            self.measured = context.measurements.as_ref().map(|all| all.part(self.node));
        }
        if let Some(measured) = &self.measured {
            measured.note(|figures| figures.loops += 1);
        }
        self.run(context, |operator, context| operator.open(context).map(|()| ((), Gave::Opened)))
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        self.run(context, |operator, context| {
            let more = operator.next(context, batch)?;
            Ok((more, Gave::of(more, batch.len())))
        })
    }

    fn restrict(&mut self, column: usize, keys: &Arc<KeyFilter>) {
        self.operator.restrict(column, keys);
    }

    fn at_most(&mut self, rows: usize) {
        self.operator.at_most(rows);
    }

    fn any_order(&mut self) {
        self.operator.any_order();
    }

    fn skip(&mut self, context: &mut ExecutionContext<'_>, rows: usize) -> Result<usize> {
        self.run(context, |operator, context| {
            operator.skip(context, rows).map(|skipped| (skipped, Gave::Rows(skipped)))
        })
    }

    fn has_vectors(&self) -> bool {
        self.operator.has_vectors()
    }

    fn want(&mut self, columns: &[bool]) {
        self.operator.want(columns);
    }

    fn next_vectors(
        &mut self,
        context: &mut ExecutionContext<'_>,
        rows_max: usize,
        vectors: &mut Vectors,
    ) -> Result<bool> {
        self.run(context, |operator, context| {
            let more = operator.next_vectors(context, rows_max, vectors)?;
            Ok((more, Gave::of(more, vectors.len())))
        })
    }

    fn next_columns(
        &mut self,
        context: &mut ExecutionContext<'_>,
        rows_max: usize,
        rows: &mut ColumnRows,
    ) -> Result<ByColumns> {
        self.run(context, |operator, context| {
            let found = operator.next_columns(context, rows_max, rows)?;
            let gave = match found {
                ByColumns::Rows => Gave::Rows(rows.len()),
                ByColumns::End => Gave::End,
                ByColumns::Unavailable => Gave::Rows(0),
            };
            Ok((found, gave))
        })
    }
}

/// Runs a statement that changes rows, and notes it under its plan's number. `rows` says how many it has changed.
pub(crate) fn modification<T>(
    plan: &ModifyPlan,
    measurements: &Measurements,
    context: &mut ExecutionContext<'_>,
    modify: impl FnOnce(&mut ExecutionContext<'_>) -> Result<T>,
    rows: impl FnOnce(&T) -> u64,
) -> Result<T> {
    let measured = measurements.part(plan.identity());
    let (result, time) = timed(measured.budget(), context, modify);
    let rows = result.as_ref().map_or(0, rows);
    measured.note(|figures| {
        figures.loops += 1;
        figures.rows += rows;
        figures.time += time;
        figures.opened.note(Duration::ZERO);
        figures.fetched.note_many(usize::try_from(rows).unwrap_or(usize::MAX).saturating_add(1), time);
    });
    result
}

/// Runs something, charged to a budget of its own, and says how long that took.
fn timed<T>(
    budget: &Arc<StatementBudget>,
    context: &mut ExecutionContext<'_>,
    run: impl FnOnce(&mut ExecutionContext<'_>) -> T,
) -> (T, Duration) {
    let outer = std::mem::replace(&mut context.values.budget, Arc::clone(budget));
    let started = Instant::now();
    let result = run(context);
    let time = started.elapsed();
    context.values.budget = outer;
    (result, time)
}

/// Notes what a scan by columns does for the nodes that it stands for: a table, and filters over it, the innermost first.
pub(crate) struct ScanMeasure {
    table: Arc<Measured>,
    filters: Vec<Arc<Measured>>,
    /// What was known of the scan's blocks.
    blocks: ScannedBlocks,
    latest: Instant,
    /// Since the rows at hand are being looked for.
    time: Duration,
}

impl ScanMeasure {
    /// A scan that is being opened; nothing if nobody wants to know.
    pub(crate) fn open<'f>(
        scan: &Arc<TableScan>,
        filters: impl Iterator<Item = &'f Arc<Filter>>,
        context: &ExecutionContext<'_>,
    ) -> Option<Box<ScanMeasure>> {
        let measurements = context.measurements.as_ref()?;
        let measure = ScanMeasure {
            table: measurements.part(identity(scan)),
            filters: filters.map(|filter| measurements.part(identity(filter))).collect(),
            blocks: ScannedBlocks::default(),
            latest: Instant::now(),
            time: Duration::ZERO,
        };
        // The topmost one is measured as an operator.
        let nodes = std::iter::once(&measure.table).chain(&measure.filters);
        nodes.take(measure.filters.len()).for_each(|node| {
            node.note(|figures| {
                figures.loops += 1;
                figures.opened.note(Duration::ZERO);
                // It is asked once more than it has rows.
                figures.fetched.note(Duration::ZERO);
            });
        });
        Some(Box::new(measure))
    }

    /// Rows are looked for.
    pub(crate) fn begin(&mut self) {
        self.latest = Instant::now();
        self.time = Duration::ZERO;
    }

    /// Rows of the table have been looked at, and blocks been passed over.
    pub(crate) fn scanned(&mut self, rows: usize, blocks: ScannedBlocks) {
        let before = std::mem::replace(&mut self.blocks, blocks);
        self.table.note(|figures| {
            let scanned = figures.scanned.get_or_insert_default();
            scanned.rows += rows as u64;
            scanned.blocks_read += blocks.read - before.read;
            scanned.blocks_skipped += blocks.skipped - before.skipped;
        });
        let lap = self.lap();
        self.handed_on(0, 0, lap);
    }

    /// Of those so many are the table's: all, or those that indexes name.
    pub(crate) fn picked(&mut self, rows: usize) {
        let lap = self.lap();
        self.handed_on(0, rows, lap);
    }

    /// A filter has left so many rows of those before it.
    pub(crate) fn filtered(&mut self, filter: usize, rows: usize) {
        self.lap();
        self.handed_on(filter + 1, rows, self.time);
    }

    /// Of the rows that were left so many have no partner.
    pub(crate) fn without_partner(&mut self, rows: usize) {
        self.table.note(|figures| {
            figures.scanned.get_or_insert_default().without_partner += rows as u64;
        });
    }

    /// The time since it was asked for last.
    fn lap(&mut self) -> Duration {
        let now = Instant::now();
        let lap = now - std::mem::replace(&mut self.latest, now);
        self.time += lap;
        lap
    }

    /// Notes for a node what it hands on, and what it took; the topmost one is measured as an operator.
    fn handed_on(&self, node: usize, rows: usize, time: Duration) {
        if node == self.filters.len() {
            return;
        }
        let measured = match node.checked_sub(1) {
            None => Some(&self.table),
            Some(filter) => self.filters.get(filter),
        };
        if let Some(measured) = measured {
            measured.note(|figures| {
                figures.rows += rows as u64;
                figures.time += time;
                figures.fetched.note_many(rows, time);
            });
        }
    }
}
