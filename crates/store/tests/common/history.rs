//! What transactions did and saw, and a model that says whether that can be.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use farbird_store::{CommitNumber, RowId};

/// ID and NAME.
pub type Row = (i64, String);
/// The rows of a table.
pub type Rows = BTreeMap<RowId, Row>;

/// One transaction's work, in order.
#[derive(Debug, Clone, Default)]
pub struct History {
    pub events: Vec<Event>,
    /// `None`: rolled back.
    pub commit: Option<CommitNumber>,
}

#[derive(Debug, Clone)]
pub enum Event {
    /// What a query gave that saw the commits up to `seen`.
    Read {
        seen: CommitNumber,
        query: Query,
        rows: Vec<(RowId, Row)>,
    },
    /// What became of a row that was found as of `seen`; `None`: it was deleted.
    Write {
        seen: CommitNumber,
        row: RowId,
        content: Option<Row>,
    },
    Savepoint,
    /// Of the latest savepoint, which ends.
    RollbackToSavepoint,
    ReleaseSavepoint,
}

#[derive(Debug, Clone)]
pub enum Query {
    /// In the order of their numbers.
    All,
    Row(RowId),
    /// In the order of their ids.
    Ids(Range<i64>),
    /// Those with this name or a greater one, in the order of the names or against it.
    Names {
        from: String,
        descending: bool,
    },
}

impl Query {
    fn asks_for(&self, number: RowId, (id, name): &Row) -> bool {
        match self {
            Query::All => true,
            Query::Row(row) => *row == number,
            Query::Ids(ids) => ids.contains(id),
            Query::Names { from, .. } => name >= from,
        }
    }

    fn is_order_of(&self, rows: &[(RowId, Row)]) -> bool {
        match self {
            Query::All | Query::Row(_) => rows.is_sorted_by_key(|(number, _)| *number),
            Query::Ids(_) => rows.is_sorted_by_key(|(_, (id, _))| *id),
            Query::Names { descending: false, .. } => rows.is_sorted_by_key(|(_, (_, name))| name),
            Query::Names { descending: true, .. } => {
                rows.iter().rev().is_sorted_by_key(|(_, (_, name))| name)
            }
        }
    }
}

/// Every committed version of every row, the oldest first.
#[derive(Debug, Default)]
struct Model(BTreeMap<RowId, Vec<(CommitNumber, Option<Row>)>>);

impl Model {
    fn rows_at(&self, seen: CommitNumber) -> Rows {
        let newest = |versions: &[(CommitNumber, Option<Row>)]| {
            let count = versions.partition_point(|(commit, _)| *commit <= seen);
            versions.get(count.checked_sub(1)?)?.1.clone()
        };
        self.0.iter().filter_map(|(row, versions)| Some((*row, newest(versions)?))).collect()
    }

    /// A commit of this row by another transaction, after `seen` and before `own`.
    fn overtaken(&self, row: RowId, seen: CommitNumber, own: CommitNumber) -> Option<CommitNumber> {
        let versions = self.0.get(&row)?;
        versions.iter().map(|(commit, _)| *commit).find(|commit| seen < *commit && *commit < own)
    }
}

/// A transaction's own changes.
type Changes = BTreeMap<RowId, Option<Row>>;

/// Runs through a transaction; `at_read` is told of every read with the changes made before it.
fn replay(
    history: &History,
    mut at_read: impl FnMut(CommitNumber, &Query, &[(RowId, Row)], &Changes) -> Result<(), String>,
) -> Result<Changes, String> {
    let mut changes = Changes::new();
    let mut savepoints = Vec::new();
    for event in &history.events {
        match event {
            Event::Read { seen, query, rows } => at_read(*seen, query, rows, &changes)?,
            Event::Write { row, content, .. } => drop(changes.insert(*row, content.clone())),
            Event::Savepoint => savepoints.push(changes.clone()),
            Event::RollbackToSavepoint => changes = savepoints.pop().ok_or("no savepoint")?,
            Event::ReleaseSavepoint => drop(savepoints.pop()),
        }
    }
    Ok(changes)
}

/// Checks transactions against a model that makes their commits one after the other, in the order of their numbers:
/// every read, of those too that were rolled back, gave what the model has as of the commit that was seen, with the
/// transaction's own changes; nobody changed for good a row that another one had changed since it was seen; ids were unique after
/// every commit. Gives the rows after the last one.
///
/// # Errors
/// What cannot be.
pub fn check(histories: &[History]) -> Result<Rows, String> {
    let model = committed(histories)?;
    for history in histories {
        replay(history, |seen, query, rows, changes| check_read(&model, seen, query, rows, changes))?;
        check_writes(&model, history)?;
    }
    Ok(model.rows_at(CommitNumber(u64::MAX)))
}

fn committed(histories: &[History]) -> Result<Model, String> {
    let mut commits = BTreeMap::new();
    for history in histories {
        let changes = replay(history, |_, _, _, _| Ok(()))?;
        if let Some(number) = history.commit.filter(|_| !changes.is_empty())
            && commits.insert(number, changes).is_some()
        {
            return Err(format!("two commits have the number {}", number.0));
        }
    }
    let mut model = Model::default();
    let mut rows = Rows::new();
    for (number, changes) in commits {
        for (row, content) in changes {
            match content.clone() {
                Some(content) => drop(rows.insert(row, content)),
                None => drop(rows.remove(&row)),
            }
            model.0.entry(row).or_default().push((number, content));
        }
        let mut ids: Vec<i64> = rows.values().map(|(id, _)| *id).collect();
        ids.sort_unstable();
        if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("commit {} makes a second row with the id {}", number.0, pair[0]));
        }
    }
    Ok(model)
}

fn check_read(
    model: &Model,
    seen: CommitNumber,
    query: &Query,
    rows: &[(RowId, Row)],
    changes: &Changes,
) -> Result<(), String> {
    let mut expected = model.rows_at(seen);
    for (row, content) in changes {
        match content.clone() {
            Some(content) => drop(expected.insert(*row, content)),
            None => drop(expected.remove(row)),
        }
    }
    expected.retain(|number, row| query.asks_for(*number, row));
    let given: Rows = rows.iter().cloned().collect();
    if given != expected || given.len() != rows.len() {
        let versions = wrong_rows(&given, &expected).map(|row| (row, model.0.get(&row), changes.get(&row)));
        return Err(format!(
            "{query:?} as of commit {} gave {rows:?}, not {expected:?}; versions and own change of what is wrong: {:?}",
            seen.0,
            versions.collect::<Vec<_>>()
        ));
    }
    if !query.is_order_of(rows) {
        return Err(format!("{query:?} gave {rows:?} in no order"));
    }
    Ok(())
}

/// The rows of which one side has something that the other one has not.
fn wrong_rows(given: &Rows, expected: &Rows) -> impl Iterator<Item = RowId> {
    let numbers: BTreeSet<RowId> = given.keys().chain(expected.keys()).copied().collect();
    numbers.into_iter().filter(|row| given.get(row) != expected.get(row))
}

fn check_writes(model: &Model, history: &History) -> Result<(), String> {
    let Some(own) = history.commit else { return Ok(()) };
    for (seen, row) in lasting_writes(history) {
        if let Some(other) = model.overtaken(row, seen, own) {
            return Err(format!(
                "commit {} changed row {} as of commit {}, although commit {} had changed it",
                own.0, row.0, seen.0, other.0
            ));
        }
    }
    Ok(())
}

/// The writes that were not undone: which rows, and as of when they were seen. What was undone others may have changed.
fn lasting_writes(history: &History) -> Vec<(CommitNumber, RowId)> {
    let mut writes = Vec::new();
    let mut savepoints = Vec::new();
    for event in &history.events {
        match event {
            Event::Read { .. } => {}
            Event::Write { seen, row, .. } => writes.push((*seen, *row)),
            Event::Savepoint => savepoints.push(writes.len()),
            Event::RollbackToSavepoint => writes.truncate(savepoints.pop().unwrap_or(0)),
            Event::ReleaseSavepoint => drop(savepoints.pop()),
        }
    }
    writes
}
