//! MERGE: which clause is for a row, and the changes of many rows at once.
//!
//! Rows go to the store together only for plans whose clauses change rows alone (`Target::merges_alone`): nobody can see whether a row was
//! changed before or behind another one.
//!
//! # Promises
//! - The first error is that of the first row that has one.
//! - A row that the store does not change among others is changed by itself, before all that come behind it and are not changed yet.

use std::collections::VecDeque;

use farbird_expression::ExecutionContext;
use farbird_plan::modification::{MergeActionPlan, MergePlan, Target};
use farbird_session::RecordCounts;
use farbird_sql::ast::MergeRows;
use farbird_store::{RowId, RowUpdate};
use farbird_types::{Error, Value, isc};

use crate::constraint::check_row;
use crate::failure::Change;
use crate::modify_many::{
    Pace, bytes_of, delete_rows, for_each_batch, for_each_part, insert_rows, row_update, update_rows,
};
use crate::repeated::KeptSource;
use crate::row_change::{self, new_row, number_of};
use crate::row_id_set::RowIdSet;

/// What the first clause that is for a row does with it; `number` is the target's row, if there is one. `touched` are the rows
/// that had a clause before.
///
/// # Errors
/// Those of conditions; `merge_dup_update` for a row that had one.
pub(crate) fn action_of<'p>(
    merge: &'p MergePlan,
    number: Option<RowId>,
    row: &[Value],
    touched: &mut RowIdSet,
    context: &mut ExecutionContext<'_>,
) -> Change<Option<&'p MergeActionPlan>> {
    let source_missing = match &merge.source_missing {
        Some(missing) => missing.truth(row, context)? == Some(true),
        None => false,
    };
    let rows = match number {
        None => MergeRows::NotMatchedByTarget,
        Some(_) if source_missing => MergeRows::NotMatchedBySource,
        Some(_) => MergeRows::Matched,
    };
    for clause in merge.clauses.iter().filter(|clause| clause.rows == rows) {
        if let Some(condition) = &clause.condition
            && condition.truth(row, context)? != Some(true)
        {
            continue;
        }
        if let Some(number) = number
            && !touched.insert(number)?
        {
            return Err(Error::new(isc::MERGE_DUP_UPDATE).into());
        }
        return Ok(Some(&clause.action));
    }
    Ok(None)
}

/// What is to become of a row.
enum RowChange {
    Insert(Vec<Value>),
    Update(RowUpdate),
    Delete(RowId),
}

/// Changes the rows of a plan and tells `progress` how many.
///
/// # Errors
/// Those of the plan, of conditions, values and checks, and of the store.
pub(crate) fn merge(
    merge: &MergePlan,
    kept: &mut KeptSource,
    context: &mut ExecutionContext<'_>,
    mut progress: impl FnMut(RecordCounts),
) -> Change<()> {
    let target = &*merge.target;
    let mut touched = RowIdSet::new(context.budget.reserve());
    for_each_batch(&merge.source, kept, context, |batch, context| {
        let make = |row: &mut [Value], context: &mut ExecutionContext<'_>| {
            let number = number_of(target, row);
            match action_of(merge, number, row, &mut touched, context)? {
                Some(action) => change_of(target, action, row, context),
                None => Ok(None),
            }
        };
        let bytes = |change: &RowChange| match change {
            RowChange::Insert(new) => bytes_of(new),
            RowChange::Update(update) => bytes_of(&update.new),
            RowChange::Delete(_) => 0,
        };
        for_each_part(batch, context, make, bytes, |changes, context| {
            progress(apply(target, changes, context)?);
            Ok(())
        })
    })
}

/// A row's change, computed and checked.
fn change_of(
    target: &Target,
    action: &MergeActionPlan,
    row: &mut [Value],
    context: &mut ExecutionContext<'_>,
) -> Change<Option<RowChange>> {
    Ok(match action {
        MergeActionPlan::Update(assignments) => {
            row_update(target, assignments, row, context)?.map(RowChange::Update)
        }
        MergeActionPlan::Delete => number_of(target, row).map(RowChange::Delete),
        MergeActionPlan::Insert(insert) => {
            let new = new_row(insert, row, context)?;
            check_row(target, &new, true, context)?;
            Some(RowChange::Insert(new))
        }
    })
}

/// Makes changes, in turns: each kind together as far as the store does that, then the first row that is left by itself.
fn apply(
    target: &Target,
    changes: Vec<RowChange>,
    context: &mut ExecutionContext<'_>,
) -> Change<RecordCounts> {
    let mut pace = Pace::new(changes.len());
    let mut left: VecDeque<RowChange> = changes.into();
    let mut counts = RecordCounts::default();
    while !left.is_empty() {
        context.check_interrupt()?;
        let asked = pace.asked(left.len());
        let first = left.drain(..asked).collect();
        let waiting = together(target, first, &mut counts, context)?;
        let changed = asked.saturating_sub(waiting.len());
        for change in waiting.into_iter().rev() {
            left.push_front(change);
        }
        for _ in 0..pace.alone_behind(asked, changed) {
            let Some(change) = left.pop_front() else { break };
            context.check_interrupt()?;
            by_itself(target, change, &mut counts, context)?;
        }
    }
    Ok(counts)
}

/// Makes changes of each kind together, as far as the store does that; gives the others, in their order.
fn together(
    target: &Target,
    changes: VecDeque<RowChange>,
    counts: &mut RecordCounts,
    context: &mut ExecutionContext<'_>,
) -> Change<VecDeque<RowChange>> {
    let (mut updates, mut deletes, mut inserts) = (Vec::new(), Vec::new(), Vec::new());
    // Where each of them stood.
    let mut places: [Vec<usize>; 3] = Default::default();
    let [updated, deleted, inserted] = &mut places;
    for (place, change) in changes.into_iter().enumerate() {
        match change {
            RowChange::Update(update) => (updates.push(update), updated.push(place)),
            RowChange::Delete(row) => (deletes.push(row), deleted.push(place)),
            RowChange::Insert(new) => (inserts.push(new), inserted.push(place)),
        };
    }
    // What stands behind a row that is left waits for it.
    let mut limit = usize::MAX;
    let before = |places: &[usize], limit| places.partition_point(|place| *place < limit);
    let mut done = [0; 3];
    done[0] = update_rows(target, &updates, context)?;
    limit = updated.get(done[0]).copied().unwrap_or(limit).min(limit);
    let wanted = before(deleted, limit);
    done[1] = delete_rows(target, deletes.get(..wanted).unwrap_or_default(), context)?;
    limit = deleted.get(done[1]).copied().unwrap_or(limit).min(limit);
    let wanted = before(inserted, limit);
    done[2] = insert_rows(target, inserts.get(..wanted).unwrap_or_default(), context)?;
    let [updated_rows, deleted_rows, inserted_rows] = done.map(|done| done as u64);
    counts.updated += updated_rows;
    counts.deleted += deleted_rows;
    counts.inserted += inserted_rows;
    let updates = updated.drain(..).zip(updates).skip(done[0]);
    let deletes = deleted.drain(..).zip(deletes).skip(done[1]);
    let inserts = inserted.drain(..).zip(inserts).skip(done[2]);
    let mut left: Vec<(usize, RowChange)> = updates
        .map(|(place, update)| (place, RowChange::Update(update)))
        .chain(deletes.map(|(place, row)| (place, RowChange::Delete(row))))
        .chain(inserts.map(|(place, new)| (place, RowChange::Insert(new))))
        .collect();
    left.sort_unstable_by_key(|(place, _)| *place);
    Ok(left.into_iter().map(|(_, change)| change).collect())
}

/// Makes one change, with its waits and errors.
fn by_itself(
    target: &Target,
    change: RowChange,
    counts: &mut RecordCounts,
    context: &mut ExecutionContext<'_>,
) -> Change<()> {
    match change {
        RowChange::Insert(mut new) => {
            row_change::insert(target, &mut new, context)?;
            counts.inserted += 1;
        }
        RowChange::Update(RowUpdate { row, mut old, mut new }) => {
            counts.updated += u64::from(row_change::update(target, row, &mut old, &mut new, context)?);
        }
        // Nothing looks at what was in it.
        RowChange::Delete(row) => {
            counts.deleted += u64::from(row_change::delete(target, row, &mut [], context)?);
        }
    }
    Ok(())
}
