//! Rows that come from elsewhere than tables: system tables, procedures, recursion.

use std::sync::Arc;

use farbird_budget::{Reservation, row_bytes};
use farbird_expression::{ExecutionContext, Frame, ProcedureRows, evaluate_all};
use farbird_plan::{ProcedureScan, Recursive, SystemScan, WorkingRow};
use farbird_types::{Error, Result, Value, isc};

use crate::batch::Batch;
use crate::operator::{Build, Operator};

/// Deepest recursion of a common table: Firebird's own limit on clones of a request.
pub(crate) const RECURSION_DEPTH_MAX: usize = 1024;

/// What the operators of a level of recursion take, more or less.
const LEVEL_BYTES: usize = 4 << 10;

/// Reads a system table. Its rows are made once for a cursor: reading them again, as the inner side of a join does, shows
/// the same.
pub(crate) struct SystemScanOperator {
    scan: Arc<SystemScan>,
    rows: Option<Vec<Vec<Value>>>,
    /// What they are charged to.
    memory: Option<Reservation>,
    next: usize,
}

impl SystemScanOperator {
    pub(crate) fn new(scan: &Arc<SystemScan>) -> SystemScanOperator {
        SystemScanOperator { scan: scan.clone(), rows: None, memory: None, next: 0 }
    }
}

impl Operator for SystemScanOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        if self.rows.is_none() {
            let mut wanted = vec![false; self.scan.relation.columns.len()];
            for column in &self.scan.columns {
                if let Some(wanted) = wanted.get_mut(*column) {
                    *wanted = true;
                }
            }
            let rows = context.above.system_tables.rows(&self.scan.relation, &wanted, context)?;
            let memory = self.memory.insert(context.budget.reserve());
            memory.grow(rows.iter().map(|row| row_bytes(row)).sum())?;
            self.rows = Some(rows);
        }
        self.next = 0;
        Ok(())
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        context.check_interrupt()?;
        batch.reset(self.scan.columns.len() + usize::from(self.scan.row_number));
        while !batch.is_full() {
            let Some(row) = self.rows.as_ref().and_then(|rows| rows.get(self.next)) else { break };
            self.next += 1;
            let number = i64::try_from(self.next).unwrap_or(i64::MAX);
            let values = picked(row, &self.scan.columns)?;
            batch.push(values.into_iter().chain(self.scan.row_number.then_some(Value::integer(number))));
        }
        Ok(!batch.is_empty())
    }
}

/// Runs a selectable procedure.
pub(crate) struct ProcedureScanOperator {
    scan: Arc<ProcedureScan>,
    rows: Option<Box<dyn ProcedureRows>>,
}

impl ProcedureScanOperator {
    pub(crate) fn new(scan: &Arc<ProcedureScan>) -> ProcedureScanOperator {
        ProcedureScanOperator { scan: scan.clone(), rows: None }
    }
}

impl Operator for ProcedureScanOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let arguments = evaluate_all(&self.scan.arguments, &[], context)?;
        self.rows = Some(context.above.routines.open_procedure(&self.scan.procedure, arguments, context)?);
        Ok(())
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        context.check_interrupt()?;
        batch.reset(self.scan.columns.len());
        // A row at a time: what the procedure does after a SUSPEND happens when the next row is asked for.
        if let Some(rows) = &mut self.rows
            && let Some(row) = rows.next(context)?
        {
            batch.push(picked(&row, &self.scan.columns)?);
        }
        Ok(!batch.is_empty())
    }
}

/// Some values of a row.
fn picked(row: &[Value], columns: &[usize]) -> Result<Vec<Value>> {
    let value = |column: &usize| row.get(*column).cloned();
    let values: Option<Vec<Value>> = columns.iter().map(value).collect();
    values.ok_or_else(|| Error::internal("a row that is narrower than its description"))
}

/// The row that the recursive member of a common table looks at.
pub(crate) struct WorkingRowOperator {
    row: Arc<WorkingRow>,
    done: bool,
}

impl WorkingRowOperator {
    pub(crate) fn new(row: &Arc<WorkingRow>) -> WorkingRowOperator {
        WorkingRowOperator { row: row.clone(), done: true }
    }
}

impl Operator for WorkingRowOperator {
    fn open(&mut self, _context: &mut ExecutionContext<'_>) -> Result<()> {
        self.done = false;
        Ok(())
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        batch.reset(self.row.columns.len());
        if !std::mem::replace(&mut self.done, true)
            && let Some(row) = context.frame.working_rows.get(self.row.place)
        {
            batch.push(picked(row, &self.row.columns)?);
        }
        Ok(!batch.is_empty())
    }
}

/// A recursive common table: each row is followed by what the recursive members make of it.
pub(crate) struct RecursiveOperator {
    recursive: Arc<Recursive>,
    build: Build,
    anchor: Box<dyn Operator>,
    /// The row handed out last, whose successors come next.
    latest: Option<Vec<Value>>,
    levels: Vec<Level>,
    /// The members of levels that are over: they are used again.
    steps: Vec<Step>,
    anchor_rows: Batch,
}

/// One level of recursion: the recursive members, looking at one row.
struct Level {
    step: Step,
    frame: Frame,
    /// What its row is charged to: dropped with it.
    _memory: Reservation,
}

/// The operators of the recursive members, for one level at a time.
struct Step {
    operator: Box<dyn Operator>,
    rows: Batch,
    /// What they are charged to: dropped with them.
    _memory: Reservation,
}

impl RecursiveOperator {
    pub(crate) fn new(recursive: &Arc<Recursive>, build: Build) -> RecursiveOperator {
        RecursiveOperator {
            build,
            anchor: build(&recursive.anchor),
            latest: None,
            levels: Vec::new(),
            steps: Vec::new(),
            anchor_rows: Batch::new(recursive.anchor.width(), 1),
            recursive: recursive.clone(),
        }
    }

    fn descend(&mut self, row: Vec<Value>, context: &mut ExecutionContext<'_>) -> Result<()> {
        if self.levels.len() >= RECURSION_DEPTH_MAX {
            return Err(Error::new(isc::REQ_MAX_CLONES_EXCEEDED));
        }
        let step = match self.steps.pop() {
            Some(step) => step,
            None => self.step(context)?,
        };
        let mut memory = context.budget.reserve();
        memory.grow(row_bytes(&row))?;
        let mut frame = context.frame.descend();
        if let Some(place) = frame.working_rows.get_mut(self.recursive.place) {
            *place = row;
        }
        let mut level = Level { step, frame, _memory: memory };
        level.inside(context, |step, _, context| step.open(context))?;
        self.levels.push(level);
        Ok(())
    }

    fn step(&self, context: &ExecutionContext<'_>) -> Result<Step> {
        let mut memory = context.budget.reserve();
        memory.grow(LEVEL_BYTES)?;
        let operator = (self.build)(&self.recursive.step);
        Ok(Step { operator, rows: Batch::new(self.recursive.step.width(), 1), _memory: memory })
    }

    fn next_row(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>> {
        if let Some(row) = self.latest.take() {
            self.descend(row, context)?;
        }
        while let Some(level) = self.levels.last_mut() {
            if level.inside(context, |step, rows, context| step.next(context, rows))? {
                return Ok(Some(level.step.rows.take_row(0)));
            }
            self.steps.extend(self.levels.pop().map(|level| level.step));
        }
        if self.anchor.next(context, &mut self.anchor_rows)? {
            return Ok(Some(self.anchor_rows.take_row(0)));
        }
        Ok(None)
    }
}

impl Level {
    /// Runs with the level's own frame: deeper levels use the same registers.
    fn inside<T>(
        &mut self,
        context: &mut ExecutionContext<'_>,
        run: impl FnOnce(&mut dyn Operator, &mut Batch, &mut ExecutionContext<'_>) -> Result<T>,
    ) -> Result<T> {
        std::mem::swap(&mut self.frame, &mut context.frame);
        let result = run(self.step.operator.as_mut(), &mut self.step.rows, context);
        std::mem::swap(&mut self.frame, &mut context.frame);
        result
    }
}

impl Operator for RecursiveOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.latest = None;
        self.levels.clear();
        self.steps.clear();
        self.anchor.open(context)
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        batch.reset(self.recursive.anchor.width());
        while !batch.is_full() {
            context.check_interrupt()?;
            let Some(row) = self.next_row(context)? else { break };
            self.latest = Some(row.clone());
            batch.push(row);
        }
        Ok(!batch.is_empty())
    }
}
