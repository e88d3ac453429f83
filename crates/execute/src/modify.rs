//! INSERT, UPDATE, DELETE, UPDATE OR INSERT and MERGE.
//!
//! A statement is whole or not at all: it runs under a savepoint. In READ COMMITTED a row that others changed while the
//! statement ran makes what the client asked for run again under a new view ([`farbird_expression::Restart`]).

use std::sync::Arc;

use farbird_expression::{ExecutionContext, Expression, Frame, evaluate_all};
use farbird_plan::Node;
use farbird_plan::modification::{
    DeletePlan, GoneRow, InsertPlan, InsertRow, MergeActionPlan, MergePlan, ModifyAction, ModifyPlan, Target,
    UpdateOrInsertPlan, UpdatePlan,
};
use farbird_session::RecordCounts;
use farbird_store::{RowId, RowUpdate};
use farbird_types::{Error, Result, Value, isc};

use crate::batch::{BATCH_ROWS_MAX, Batch};
use crate::build::build_for;
use crate::failure::{Change, Failure};
use crate::measured;
use crate::merge_many;
use crate::modify_many::{self, Progress};
use crate::repeated::KeptSource;
use crate::row_buffer::{BufferedRows, RowBuffer};
use crate::row_change::{self, assigned, new_row, number_of, old_row};
use crate::row_id_set::RowIdSet;

/// What a statement did.
pub struct Modified {
    /// Rows of RETURNING, in the order in which the rows were changed.
    pub returned: BufferedRows,
    /// Rows inserted, updated and deleted by the statement itself (ROW_COUNT), without what triggers and cascades did.
    pub rows: u64,
}

/// Runs a statement that changes rows. Whole or not at all: an error undoes what it did, its triggers and cascades
/// included.
///
/// # Errors
/// Violated constraints, conflicts with other transactions, those of its expressions and triggers.
pub fn modify(plan: &ModifyPlan, context: &mut ExecutionContext<'_>) -> Result<Modified> {
    modify_again(plan, &mut KeptSource::default(), context)
}

/// As [`modify`], for a statement that runs again and again: what can be kept from one run to the next stays in `kept`.
///
/// # Errors
/// As [`modify`].
pub fn modify_again(
    plan: &ModifyPlan,
    kept: &mut KeptSource,
    context: &mut ExecutionContext<'_>,
) -> Result<Modified> {
    match context.measurements.clone() {
        None => modify_whole(plan, kept, context),
        Some(measurements) => {
            let mut kept = KeptSource::default();
            let modify = |context: &mut ExecutionContext<'_>| modify_whole(plan, &mut kept, context);
            measured::modification(plan, &measurements, context, modify, |modified| modified.rows)
        }
    }
}

/// Runs an INSERT for each of these rows of parameters, from the first one on, as far as the store inserts such rows together and none
/// fails; gives for how many. For plans that [can be](ModifyPlan::is_repeatable) run so. An error undoes nothing: whoever calls
/// has a savepoint.
///
/// # Errors
/// Those of the store.
pub fn insert_together(
    plan: &ModifyPlan,
    parameters: &mut [Vec<Value>],
    context: &mut ExecutionContext<'_>,
) -> Result<usize> {
    let ModifyAction::Insert(insert) = &plan.action else { return Ok(0) };
    let mut made = Vec::with_capacity(parameters.len());
    for given in parameters {
        context.check_interrupt()?;
        std::mem::swap(&mut context.parameters, given);
        let row = modify_many::checked_row(insert, &mut [], context);
        std::mem::swap(&mut context.parameters, given);
        // It has its error when it is inserted by itself.
        let Ok(row) = row else { break };
        made.push(row);
    }
    modify_many::insert_rows(&insert.row.target, &made, context).map_err(Failure::into_error)
}

fn modify_whole(
    plan: &ModifyPlan,
    kept: &mut KeptSource,
    context: &mut ExecutionContext<'_>,
) -> Result<Modified> {
    let counts = context.counts;
    let savepoint = (!plan.is_one_change).then(|| context.transaction.store.savepoint());
    let outer = std::mem::replace(&mut context.frame, Frame::new(plan.frame));
    let result = run(plan, kept, context);
    context.frame = outer;
    let failure = match result {
        Ok((modified, own)) => {
            if let Some(savepoint) = savepoint {
                context.transaction.store.release(savepoint);
            }
            // What triggers and cascades did is theirs: clients are told of the statement's own rows.
            context.counts = RecordCounts {
                selected: counts.selected,
                inserted: counts.inserted + own.inserted,
                updated: counts.updated + own.updated,
                deleted: counts.deleted + own.deleted,
            };
            return Ok(modified);
        }
        Err(failure) => failure,
    };
    let error = match failure {
        Failure::Restart(error) => {
            context.want_restart();
            error
        }
        Failure::Error(error) => error,
    };
    if let Some(savepoint) = savepoint {
        context.undo_to(savepoint)?;
    }
    context.counts = counts;
    Err(error)
}

fn run(
    plan: &ModifyPlan,
    kept: &mut KeptSource,
    context: &mut ExecutionContext<'_>,
) -> Change<(Modified, RecordCounts)> {
    let returned = (!plan.returning.is_empty()).then(|| RowBuffer::new(&context.budget));
    let mut output =
        Output { returning: &plan.returning, returned, rows: 0, counts: RecordCounts::default() };
    match &plan.action {
        ModifyAction::Insert(insert) => run_insert(insert, kept, &mut output, context)?,
        ModifyAction::Update(update) => run_update(update, kept, &mut output, context)?,
        ModifyAction::Delete(delete) => run_delete(delete, kept, &mut output, context)?,
        ModifyAction::UpdateOrInsert(statement) => {
            run_update_or_insert(statement, kept, &mut output, context)?;
        }
        ModifyAction::Merge(merge) => run_merge(merge, kept, &mut output, context)?,
    }
    let returned = output.returned.map_or_else(|| Vec::new().into(), RowBuffer::into_rows);
    Ok((Modified { returned, rows: output.rows }, output.counts))
}

/// What the statement gives back.
struct Output<'a> {
    returning: &'a [Expression],
    /// If there is RETURNING, its rows.
    returned: Option<RowBuffer>,
    rows: u64,
    counts: RecordCounts,
}

/// What became of a row.
enum Fate {
    Inserted,
    Updated,
    Deleted,
}

impl Output<'_> {
    /// Takes note of a changed row; `row` makes the row that RETURNING looks at.
    fn changed(
        &mut self,
        fate: Fate,
        context: &mut ExecutionContext<'_>,
        row: impl FnOnce() -> Vec<Value>,
    ) -> Change<()> {
        self.changed_many(fate, 1);
        if let Some(returned) = &mut self.returned {
            returned.push(evaluate_all(self.returning, &row(), context)?)?;
        }
        Ok(())
    }
}

impl Output<'_> {
    /// Takes note of changed rows of which nothing is returned.
    fn changed_many(&mut self, fate: Fate, rows: u64) {
        self.rows += rows;
        match fate {
            Fate::Inserted => self.counts.inserted += rows,
            Fate::Updated => self.counts.updated += rows,
            Fate::Deleted => self.counts.deleted += rows,
        }
    }

    /// A row that DELETE has found, and that its own triggers or cascades deleted before its turn: RETURNING has it, but it
    /// counts as theirs.
    fn gone_before(&mut self, row: &[Value], context: &mut ExecutionContext<'_>) -> Change<()> {
        if let Some(returned) = &mut self.returned {
            returned.push(evaluate_all(self.returning, row, context)?)?;
        }
        Ok(())
    }
}

/// Runs `change` for each row of a source.
fn for_each_row(
    source: &Node,
    kept: &mut KeptSource,
    context: &mut ExecutionContext<'_>,
    mut change: impl FnMut(Vec<Value>, &mut ExecutionContext<'_>) -> Change<()>,
) -> Change<()> {
    if matches!(source, Node::Single) {
        return change(Vec::new(), context);
    }
    if let Some(mut keyed) = kept.take_keyed(source, context) {
        if let Some(row) = keyed.find(context)? {
            change(std::mem::take(row), context)?;
        }
        kept.keep_keyed(keyed);
        return Ok(());
    }
    let mut operator = build_for(context, source);
    operator.open(context)?;
    let mut batch = Batch::new(source.width(), BATCH_ROWS_MAX);
    while operator.next(context, &mut batch)? {
        for index in 0..batch.len() {
            context.check_interrupt()?;
            change(batch.take_row(index), context)?;
        }
    }
    Ok(())
}

fn run_insert(
    insert: &InsertPlan,
    kept: &mut KeptSource,
    output: &mut Output<'_>,
    context: &mut ExecutionContext<'_>,
) -> Change<()> {
    if insert.is_alone {
        return modify_many::insert(insert, kept, context, |progress, context| {
            let rows = match progress {
                Progress::Changed(rows) => rows,
                Progress::Left(mut new) => {
                    row_change::insert(&insert.row.target, &mut new, context)?;
                    1
                }
            };
            output.changed_many(Fate::Inserted, rows);
            Ok(())
        });
    }
    for_each_row(&insert.source, kept, context, |row, context| {
        let (mut new, number) = insert_row(&insert.row, &row, context)?;
        output.changed(Fate::Inserted, context, || {
            new.push(number);
            new
        })
    })
}

/// Inserts a row made of `source`; gives it as it was stored, and its number.
fn insert_row(
    plan: &InsertRow,
    source: &[Value],
    context: &mut ExecutionContext<'_>,
) -> Change<(Vec<Value>, Value)> {
    let target = &plan.target;
    let mut new = new_row(plan, source, context)?;
    let number = row_change::insert(target, &mut new, context)?;
    let number = number.and_then(|number| i64::try_from(number.0).ok()).map_or(Value::Null, Value::integer);
    Ok((new, number))
}

/// What RETURNING of UPDATE looks at: the source's row, then the new one.
fn joined(mut row: Vec<Value>, new: Vec<Value>) -> Vec<Value> {
    row.extend(new);
    row
}

/// Whether SKIP LOCKED leaves the row out.
fn is_skipped(target: &Target, row: RowId, skip_locked: bool, context: &ExecutionContext<'_>) -> bool {
    skip_locked
        && matches!(
            context.transaction.store.try_lock_row(&target.layout, &context.view, row),
            Err(farbird_store::StoreError::LockConflict { .. })
        )
}

fn run_update(
    update: &UpdatePlan,
    kept: &mut KeptSource,
    output: &mut Output<'_>,
    context: &mut ExecutionContext<'_>,
) -> Change<()> {
    let mut found = false;
    if update.is_alone {
        modify_many::update(update, kept, context, |progress, context| {
            found = true;
            let target = &update.target;
            match progress {
                Progress::Changed(rows) => output.changed_many(Fate::Updated, rows),
                Progress::Left(RowUpdate { row, mut old, mut new }) => {
                    if row_change::update(target, row, &mut old, &mut new, context)? {
                        output.changed_many(Fate::Updated, 1);
                    }
                }
            }
            Ok(())
        })?;
        return positioned(update.positioned, found);
    }
    for_each_row(&update.source, kept, context, |row, context| {
        let Some(number) = number_of(&update.target, &row) else { return Ok(()) };
        if is_skipped(&update.target, number, update.skip_locked, context) {
            return Ok(());
        }
        found = true;
        let mut row = row;
        let mut new = assigned(&update.target, &update.assignments, &row, context)?;
        if !row_change::update(&update.target, number, old_row(&update.target, &mut row), &mut new, context)?
        {
            return Ok(());
        }
        output.changed(Fate::Updated, context, || joined(row, new))
    })?;
    positioned(update.positioned, found)
}

fn run_delete(
    delete: &DeletePlan,
    kept: &mut KeptSource,
    output: &mut Output<'_>,
    context: &mut ExecutionContext<'_>,
) -> Change<()> {
    let mut found = false;
    if delete.is_alone {
        modify_many::delete(delete, kept, context, |progress, context| {
            found = true;
            match progress {
                Progress::Changed(rows) => output.changed_many(Fate::Deleted, rows),
                // Nothing looks at what was in it.
                Progress::Left(row) => {
                    if row_change::delete(&delete.target, row, &mut [], context)? {
                        output.changed_many(Fate::Deleted, 1);
                    }
                }
            }
            Ok(())
        })?;
        return positioned(delete.positioned, found);
    }
    for_each_row(&delete.source, kept, context, |row, context| {
        let Some(number) = number_of(&delete.target, &row) else { return Ok(()) };
        if is_skipped(&delete.target, number, delete.skip_locked, context) {
            return Ok(());
        }
        found = true;
        let mut row = row;
        if !row_change::delete(&delete.target, number, old_row(&delete.target, &mut row), context)? {
            return output.gone_before(&row, context);
        }
        output.changed(Fate::Deleted, context, || row)
    })?;
    positioned(delete.positioned, found)
}

/// WHERE CURRENT OF needs a row to stand on. Firebird's statuses.
fn positioned(positioned: Option<GoneRow>, found: bool) -> Change<()> {
    match positioned.filter(|_| !found) {
        None | Some(GoneRow::Ignored) => Ok(()),
        Some(GoneRow::NoCurrentRecord) => Err(Error::new(isc::NO_CUR_REC).into()),
        Some(GoneRow::Conflict) => {
            let error = Error::new(isc::SQLERR).with(-913).and(isc::DEADLOCK).and(isc::UPDATE_CONFLICT);
            Err(error.into())
        }
    }
}

fn run_update_or_insert(
    statement: &UpdateOrInsertPlan,
    kept: &mut KeptSource,
    output: &mut Output<'_>,
    context: &mut ExecutionContext<'_>,
) -> Change<()> {
    let target = &statement.insert.target;
    for (register, value) in &statement.values {
        let value = value.evaluate(&[], context)?;
        context.frame.set_register(*register, value);
    }
    let mut found = false;
    for_each_row(&statement.source, kept, context, |row, context| {
        let Some(number) = number_of(target, &row) else { return Ok(()) };
        found = true;
        let mut row = row;
        let mut new = assigned(target, &statement.assignments, &row, context)?;
        if !row_change::update(target, number, old_row(target, &mut row), &mut new, context)? {
            return Ok(());
        }
        output.changed(Fate::Updated, context, || joined(row, new))
    })?;
    if found {
        return Ok(());
    }
    let (mut new, number) = insert_row(&statement.insert, &[], context)?;
    let width = statement.source.width();
    output.changed(Fate::Inserted, context, || {
        new.push(number);
        joined(vec![Value::Null; width], new)
    })
}

fn run_merge(
    merge: &MergePlan,
    kept: &mut KeptSource,
    output: &mut Output<'_>,
    context: &mut ExecutionContext<'_>,
) -> Change<()> {
    let target: &Arc<Target> = &merge.target;
    if merge.is_alone {
        return merge_many::merge(merge, kept, context, |counts| {
            output.changed_many(Fate::Inserted, counts.inserted);
            output.changed_many(Fate::Updated, counts.updated);
            output.changed_many(Fate::Deleted, counts.deleted);
        });
    }
    let mut touched = RowIdSet::new(context.budget.reserve());
    for_each_row(&merge.source, kept, context, |row, context| {
        let number = number_of(target, &row);
        match merge_many::action_of(merge, number, &row, &mut touched, context)? {
            Some(action) => merge_row(action, target, number, row, output, context),
            None => Ok(()),
        }
    })
}

fn merge_row(
    action: &MergeActionPlan,
    target: &Arc<Target>,
    number: Option<RowId>,
    mut row: Vec<Value>,
    output: &mut Output<'_>,
    context: &mut ExecutionContext<'_>,
) -> Change<()> {
    match (action, number) {
        (MergeActionPlan::Update(assignments), Some(number)) => {
            let mut new = assigned(target, assignments, &row, context)?;
            if !row_change::update(target, number, old_row(target, &mut row), &mut new, context)? {
                return Ok(());
            }
            output.changed(Fate::Updated, context, || merged(row, Some(new), target))
        }
        (MergeActionPlan::Delete, Some(number)) => {
            if !row_change::delete(target, number, old_row(target, &mut row), context)? {
                return Ok(());
            }
            output.changed(Fate::Deleted, context, || merged(row, None, target))
        }
        (MergeActionPlan::Insert(insert), _) => {
            let (new, number) = insert_row(insert, &row, context)?;
            output.changed(Fate::Inserted, context, || {
                let mut returned = merged(row, Some(new), target);
                returned.push(number);
                returned
            })
        }
        (MergeActionPlan::Update(_) | MergeActionPlan::Delete, None) => Ok(()),
    }
}

/// What RETURNING of MERGE looks at: see [`MergePlan`].
fn merged(mut row: Vec<Value>, new: Option<Vec<Value>>, target: &Target) -> Vec<Value> {
    let width = target.columns.len();
    match new {
        Some(mut new) => {
            new.resize(width, Value::Null);
            row.extend_from_slice(&new);
            row.extend(new);
            row.push(Value::Boolean(true));
        }
        None => {
            let old = row.get(..width).unwrap_or_default().to_vec();
            row.resize(row.len() + width, Value::Null);
            row.extend(old);
            row.push(Value::Null);
        }
    }
    row
}
