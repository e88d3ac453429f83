//! Rows that come from elsewhere than tables: system tables, procedures, the working rows of recursion.

use std::sync::Arc;

use farbird_budget::{Reservation, row_bytes};
use farbird_expression::{ExecutionContext, ProcedureRows, evaluate_all};
use farbird_plan::{ProcedureScan, SystemScan, WorkingRow};
use farbird_store::{RecordCounter, RelationId};
use farbird_types::{Error, Result, Value};

use crate::batch::Batch;
use crate::operator::Operator;

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
            // The others are about the live server: Firebird counts no rows of theirs.
            if self.scan.relation.name.starts_with("RDB$") {
                let relation = RelationId(self.scan.relation.id.0);
                let tally = context.transaction.store.tally();
                tally.add(relation, RecordCounter::SeqReads, rows.len() as u64);
            }
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
