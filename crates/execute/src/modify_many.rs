//! UPDATE and DELETE of many rows at once: batches of what the plan finds go to the store together.
//!
//! Only for plans whose rows are changed alone ([`Target::updates_alone`], [`Target::deletes_alone`]): nobody can see whether a row was
//! changed before the next one was looked at.
//!
//! # Promises
//! - Rows are changed in the order in which the plan gives them, and the first error is that of the first row that has one.
//! - A row that the store does not change among others is [left](Progress::Left) to who changes single rows: it waits, restarts or
//!   fails there.

use farbird_budget::heap_bytes;
use farbird_expression::ExecutionContext;
use farbird_plan::Node;
use farbird_plan::modification::{DeletePlan, Target, UpdatePlan};
use farbird_store::{RowId, RowUpdate};
use farbird_types::Value;

use crate::batch::{BATCH_ROWS_MAX, Batch};
use crate::build::build_for;
use crate::constraint::{check_row, refused_row};
use crate::failure::{Change, Failure};
use crate::repeated::KeptSource;
use crate::row_change::{assigned, number_of, old_row};

/// What has become of the next rows, in their order.
pub(crate) enum Progress<Row> {
    /// So many were changed.
    Changed(u64),
    /// This one was not, and is to be changed by itself before anything else.
    Left(Row),
}

/// Deletes the rows of a plan and tells `progress` of each.
///
/// # Errors
/// Those of the plan, of the store, and of `progress`.
pub(crate) fn delete(
    delete: &DeletePlan,
    kept: &mut KeptSource,
    context: &mut ExecutionContext<'_>,
    mut progress: impl FnMut(Progress<RowId>, &mut ExecutionContext<'_>) -> Change<()>,
) -> Change<()> {
    let target = &*delete.target;
    for_each_batch(&delete.source, kept, context, |batch, context| {
        let rows: Vec<RowId> = batch.rows().filter_map(|row| number_of(target, row)).collect();
        in_turns(target, rows, context, &mut progress, |rows, context| {
            context.transaction.store.delete_rows(&target.layout, &context.view, rows)
        })
    })
}

/// Updates the rows of a plan and tells `progress` of each.
///
/// # Errors
/// As [`delete`], and those of assignments and checks.
pub(crate) fn update(
    update: &UpdatePlan,
    kept: &mut KeptSource,
    context: &mut ExecutionContext<'_>,
    mut progress: impl FnMut(Progress<RowUpdate>, &mut ExecutionContext<'_>) -> Change<()>,
) -> Change<()> {
    let target = &*update.target;
    for_each_batch(&update.source, kept, context, |batch, context| {
        let mut change = |updates, context: &mut ExecutionContext<'_>| {
            in_turns(target, updates, context, &mut progress, |updates, context| {
                context.transaction.store.update_rows(&target.layout, &context.view, updates)
            })
        };
        let (mut updates, mut bytes) = (Vec::with_capacity(batch.len()), 0);
        for index in 0..batch.len() {
            match row_update(update, batch.row_mut(index), context) {
                Ok(update) => updates.extend(update),
                // The rows before the one that has failed have their turn, and their errors, first.
                Err(failure) => return change(updates, context).and(Err(failure)),
            }
            bytes += updates.last().map_or(0, |update| update.new.iter().map(heap_bytes).sum());
            if bytes > NEW_BYTES_MAX {
                change(std::mem::take(&mut updates), context)?;
                bytes = 0;
            }
        }
        change(updates, context)
    })
}

/// Texts of so many bytes are enough for new rows that wait for others.
const NEW_BYTES_MAX: usize = 1 << 20;

/// A row's update, computed and checked; `None` without a row of the table.
fn row_update(
    update: &UpdatePlan,
    row: &mut [Value],
    context: &mut ExecutionContext<'_>,
) -> Change<Option<RowUpdate>> {
    let target = &*update.target;
    let Some(number) = number_of(target, row) else { return Ok(None) };
    let new = assigned(target, &update.assignments, row, context)?;
    check_row(target, &new, false, context)?;
    let old = old_row(target, row).iter_mut().map(std::mem::take).collect();
    Ok(Some(RowUpdate { row: number, old, new }))
}

/// Lets the store change as many rows as it does together, and leaves the one behind them to `progress`, in turns.
fn in_turns<Row>(
    target: &Target,
    rows: Vec<Row>,
    context: &mut ExecutionContext<'_>,
    progress: &mut impl FnMut(Progress<Row>, &mut ExecutionContext<'_>) -> Change<()>,
    change: impl Fn(&[Row], &ExecutionContext<'_>) -> farbird_store::Result<usize>,
) -> Change<()> {
    let mut rows = rows;
    while !rows.is_empty() {
        context.check_interrupt()?;
        let changed = change(&rows, context);
        let changed = changed.map_err(|error| refused_row(target, error, context))?;
        if changed > 0 {
            progress(Progress::Changed(changed as u64), context)?;
        }
        let mut left = rows.split_off(changed.min(rows.len())).into_iter();
        if let Some(next) = left.next() {
            progress(Progress::Left(next), context)?;
        }
        // Where the first one was not to be changed among others, the next ones hardly are: locked before, for instance.
        for next in left.by_ref().take(if changed == 0 { ALONE_AT_LEAST } else { 0 }) {
            context.check_interrupt()?;
            progress(Progress::Left(next), context)?;
        }
        rows = left.collect();
    }
    Ok(())
}

/// So many rows are changed one by one behind one that had to be, and was the first of its batch.
const ALONE_AT_LEAST: usize = 31;

/// Runs `change` for each batch of a plan's rows.
fn for_each_batch(
    source: &Node,
    kept: &mut KeptSource,
    context: &mut ExecutionContext<'_>,
    mut change: impl FnMut(&mut Batch, &mut ExecutionContext<'_>) -> Change<()>,
) -> Change<()> {
    let make = || (build_for(context, source), Batch::new(source.width(), BATCH_ROWS_MAX));
    let (mut operator, mut batch) = kept.take_or(make);
    operator.open(context)?;
    while operator.next(context, &mut batch).map_err(Failure::from)? {
        change(&mut batch, context)?;
    }
    kept.keep(source, operator, batch);
    Ok(())
}
