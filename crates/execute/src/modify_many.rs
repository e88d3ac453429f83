//! INSERT, UPDATE and DELETE of many rows at once: batches of what the plan finds go to the store together.
//!
//! Only for plans whose rows are changed alone ([`Target::inserts_alone`], [`Target::updates_alone`], [`Target::deletes_alone`]): nobody
//! can see whether a row was changed before the next one was looked at.
//!
//! # Promises
//! - Rows are changed in the order in which the plan gives them, and the first error is that of the first row that has one.
//! - A row that the store does not change among others is [left](Progress::Left) to who changes single rows: it waits, restarts or
//!   fails there.

use std::collections::VecDeque;

use farbird_budget::heap_bytes;
use farbird_expression::{ExecutionContext, Expression};
use farbird_plan::Node;
use farbird_plan::modification::{DeletePlan, InsertPlan, Target, UpdatePlan};
use farbird_store::{RowId, RowUpdate};
use farbird_types::Value;

use crate::batch::{BATCH_ROWS_MAX, Batch};
use crate::build::build_for;
use crate::constraint::{check_foreign_keys, check_row, refused_row};
use crate::failure::{Change, Failure};
use crate::repeated::KeptSource;
use crate::row_change::{assigned, new_row, number_of, old_row};

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
    if let Some(mut keyed) = kept.take_keyed(&delete.source, context) {
        let found = keyed.find(context)?.and_then(|row| number_of(target, row));
        one(found, context, &mut progress, |rows, context| delete_rows(target, rows, context))?;
        kept.keep_keyed(keyed);
        return Ok(());
    }
    for_each_batch(&delete.source, kept, context, |batch, context| {
        let rows: Vec<RowId> = batch.rows().filter_map(|row| number_of(target, row)).collect();
        in_turns(rows, context, &mut progress, |rows, context| delete_rows(target, rows, context))
    })
}

/// Inserts the rows of a plan and tells `progress` of each.
///
/// # Errors
/// As [`delete`], and those of values, checks and foreign keys.
pub(crate) fn insert(
    insert: &InsertPlan,
    kept: &mut KeptSource,
    context: &mut ExecutionContext<'_>,
    mut progress: impl FnMut(Progress<Vec<Value>>, &mut ExecutionContext<'_>) -> Change<()>,
) -> Change<()> {
    let target = &*insert.row.target;
    for_each_batch(&insert.source, kept, context, |batch, context| {
        let change = |rows, context: &mut ExecutionContext<'_>| {
            in_turns(rows, context, &mut progress, |rows, context| insert_rows(target, rows, context))
        };
        let make = |row: &mut [Value], context: &mut ExecutionContext<'_>| {
            checked_row(insert, row, context).map(Some)
        };
        for_each_part(batch, context, make, |new| bytes_of(new), change)
    })
}

/// The row that an INSERT makes of one of its source, checked.
pub(crate) fn checked_row(
    insert: &InsertPlan,
    source: &mut [Value],
    context: &mut ExecutionContext<'_>,
) -> Change<Vec<Value>> {
    let new = new_row(&insert.row, source, context)?;
    check_row(&insert.row.target, &new, true, context)?;
    Ok(new)
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
    if let Some(mut keyed) = kept.take_keyed(&update.source, context) {
        let update = match keyed.find(context)? {
            Some(row) => row_update(target, &update.assignments, row, context)?,
            None => None,
        };
        one(update, context, &mut progress, |updates, context| update_rows(target, updates, context))?;
        kept.keep_keyed(keyed);
        return Ok(());
    }
    for_each_batch(&update.source, kept, context, |batch, context| {
        let change = |updates, context: &mut ExecutionContext<'_>| {
            in_turns(updates, context, &mut progress, |updates, context| {
                update_rows(target, updates, context)
            })
        };
        let make = |row: &mut [Value], context: &mut ExecutionContext<'_>| {
            row_update(target, &update.assignments, row, context)
        };
        for_each_part(batch, context, make, |update| bytes_of(&update.new), change)
    })
}

/// Texts of so many bytes are enough for new rows that wait for others.
const NEW_BYTES_MAX: usize = 1 << 20;

/// Computes what becomes of each row of a batch and hands it on in parts.
pub(crate) fn for_each_part<Row>(
    batch: &mut Batch,
    context: &mut ExecutionContext<'_>,
    mut make: impl FnMut(&mut [Value], &mut ExecutionContext<'_>) -> Change<Option<Row>>,
    bytes_of: impl Fn(&Row) -> usize,
    mut change: impl FnMut(Vec<Row>, &mut ExecutionContext<'_>) -> Change<()>,
) -> Change<()> {
    let (mut made, mut bytes) = (Vec::with_capacity(batch.len()), 0);
    for index in 0..batch.len() {
        match make(batch.row_mut(index), context) {
            Ok(None) => continue,
            Ok(Some(row)) => {
                bytes += bytes_of(&row);
                made.push(row);
            }
            // The rows before the one that has failed have their turn, and their errors, first.
            Err(failure) => return change(made, context).and(Err(failure)),
        }
        if bytes > NEW_BYTES_MAX {
            change(std::mem::take(&mut made), context)?;
            bytes = 0;
        }
    }
    change(made, context)
}

/// What a new row takes beside its values.
pub(crate) fn bytes_of(row: &[Value]) -> usize {
    row.iter().map(heap_bytes).sum()
}

/// A row's update, computed and checked; `None` without a row of the table.
pub(crate) fn row_update(
    target: &Target,
    assignments: &[(usize, Expression)],
    row: &mut [Value],
    context: &mut ExecutionContext<'_>,
) -> Change<Option<RowUpdate>> {
    let Some(number) = number_of(target, row) else { return Ok(None) };
    let new = assigned(target, assignments, row, context)?;
    check_row(target, &new, false, context)?;
    let old = old_row(target, row).iter_mut().map(std::mem::take).collect();
    Ok(Some(RowUpdate { row: number, old, new }))
}

/// Inserts simple rows from the first one on; gives how many.
pub(crate) fn insert_rows(
    target: &Target,
    rows: &[Vec<Value>],
    context: &mut ExecutionContext<'_>,
) -> Change<usize> {
    let inserted = context.transaction.store.insert_rows(&target.layout, rows);
    let inserted = inserted.map_err(|error| refused_row(target, error, context))?.len();
    if !target.foreign_keys.is_empty() {
        for row in rows.iter().take(inserted) {
            context.check_interrupt()?;
            check_foreign_keys(target, None, row, context)?;
        }
    }
    Ok(inserted)
}

/// Updates simple rows from the first one on; gives how many.
pub(crate) fn update_rows(
    target: &Target,
    updates: &[RowUpdate],
    context: &mut ExecutionContext<'_>,
) -> Change<usize> {
    let updated = context.transaction.store.update_rows(&target.layout, &context.view, updates);
    updated.map_err(|error| refused_row(target, error, context))
}

/// Deletes simple rows from the first one on; gives how many.
pub(crate) fn delete_rows(
    target: &Target,
    rows: &[RowId],
    context: &mut ExecutionContext<'_>,
) -> Change<usize> {
    let deleted = context.transaction.store.delete_rows(&target.layout, &context.view, rows);
    deleted.map_err(|error| refused_row(target, error, context))
}

/// Lets the store change as many rows as it does together, and leaves the one behind them to `progress`, in turns.
fn in_turns<Row>(
    rows: Vec<Row>,
    context: &mut ExecutionContext<'_>,
    progress: &mut impl FnMut(Progress<Row>, &mut ExecutionContext<'_>) -> Change<()>,
    mut change: impl FnMut(&[Row], &mut ExecutionContext<'_>) -> Change<usize>,
) -> Change<()> {
    let mut pace = Pace::new(rows.len());
    // Rows are only taken from the front: those that are left stay one slice.
    let mut rows = VecDeque::from(rows);
    while !rows.is_empty() {
        context.check_interrupt()?;
        let asked = pace.asked(rows.len());
        let first = rows.make_contiguous().get(..asked).unwrap_or_default();
        let changed = change(first, context)?.min(asked);
        if changed > 0 {
            progress(Progress::Changed(changed as u64), context)?;
        }
        rows.drain(..changed);
        for _ in 0..pace.alone_behind(asked, changed) {
            let Some(next) = rows.pop_front() else { break };
            context.check_interrupt()?;
            progress(Progress::Left(next), context)?;
        }
    }
    Ok(())
}

/// As [`in_turns`] for one row at most.
fn one<Row>(
    row: Option<Row>,
    context: &mut ExecutionContext<'_>,
    progress: &mut impl FnMut(Progress<Row>, &mut ExecutionContext<'_>) -> Change<()>,
    change: impl FnOnce(&[Row], &mut ExecutionContext<'_>) -> Change<usize>,
) -> Change<()> {
    let Some(row) = row else { return Ok(()) };
    let progressed = match change(std::slice::from_ref(&row), context)? {
        0 => Progress::Left(row),
        _ => Progress::Changed(1),
    };
    progress(progressed, context)
}

/// How many rows the store is asked to change together: about as many as it lately did. It works on all that it is asked for before
/// it says which is the first that it leaves, so that to ask for all each time takes quadratic time where many are left.
pub struct Pace {
    most: usize,
}

impl Pace {
    /// For so many rows, of which nothing is known.
    pub fn new(rows: usize) -> Pace {
        Pace { most: rows.max(1) }
    }

    /// How many of so many rows to ask for.
    pub fn asked(&self, rows: usize) -> usize {
        self.most.min(rows)
    }

    /// Notes that so many of those asked for were changed; gives how many behind them are to be changed one by one.
    pub fn alone_behind(&mut self, asked: usize, changed: usize) -> usize {
        if changed >= asked {
            self.most = asked.saturating_mul(2).max(1);
            return 0;
        }
        self.most = changed.saturating_mul(2).max(1);
        // Where none was to be changed among others, the next ones hardly are: locked before, for instance.
        if changed == 0 { 1 + ALONE_AT_LEAST } else { 1 }
    }
}

/// So many rows are changed one by one behind one that had to be, and was the first of those asked for.
const ALONE_AT_LEAST: usize = 31;

/// Runs `change` for each batch of a plan's rows.
pub(crate) fn for_each_batch(
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

#[cfg(test)]
mod tests {
    use super::Pace;

    /// How many rows a store works on that stops at the first one it does not change among others; and how many it changed.
    fn worked_on(simple: &[bool]) -> (usize, usize) {
        let (mut pace, mut place, mut worked_on, mut together) = (Pace::new(simple.len()), 0, 0, 0);
        while place < simple.len() {
            let left = &simple[place..];
            let asked = pace.asked(left.len());
            assert!((1..=left.len()).contains(&asked), "{asked} of {}", left.len());
            let changed = left[..asked].iter().take_while(|simple| **simple).count();
            worked_on += asked;
            together += changed;
            place += changed + pace.alone_behind(asked, changed);
        }
        (worked_on, together)
    }

    #[test]
    fn the_store_works_on_few_rows_in_vain() {
        let rows = 4096;
        for between in [2, 3, 5, 17, 100, 1000] {
            let simple: Vec<bool> = (0..rows).map(|place| (place + 1) % between != 0).collect();
            let (worked_on, together) = worked_on(&simple);
            assert!(worked_on <= 5 * rows, "{worked_on} rows of {rows}, one in {between} not simple");
            assert_eq!(
                together,
                simple.iter().filter(|simple| **simple).count(),
                "one in {between} not simple"
            );
        }
    }

    #[test]
    fn simple_rows_go_together_again_behind_others() {
        let simple: Vec<bool> = (0..4096).map(|place| !(100..200).contains(&place)).collect();
        let (worked_on, together) = worked_on(&simple);
        assert!(worked_on <= 3 * simple.len(), "{worked_on}");
        assert!(together > 3900, "{together}");
        assert_eq!(super::Pace::new(4096).asked(4096), 4096, "all at first");
    }
}
