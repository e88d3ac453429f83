//! Threads run random transactions at once, with the sweep among them; what each of them did and saw is then compared with
//! a model.
//!
//! `FARBIRD_SEED` says what the threads do, not how they meet.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use common::history::{Event, History, Query, Row, Rows, check};
use common::*;
use farbird_sim::Random;
use farbird_store::log::LoggedSubstrate;
use farbird_store::{
    CommitNumber, IndexScan, Isolation, KeyBound, KeyRange, Projection, ReadView, RelationLayout,
    RelationScan, Result, RowBatch, RowId, RowUpdate, ScanDirection, Store, StoreError, StoreOptions,
    Transaction, TransactionOptions, Wait,
};
use farbird_types::Value;

const THREADS: u64 = 4;
const TRANSACTIONS_PER_THREAD: usize = 250;
/// So few that transactions often want the same.
const IDS: u64 = 40;
const NAMES: u64 = 15;

#[test]
fn what_many_threads_saw_agrees_with_a_model() {
    run_threads(&StoreOptions { background_sweep: true, ..options() });
}

#[test]
fn what_many_threads_saw_that_spill_all_they_write_agrees_with_a_model() {
    run_threads(&StoreOptions { background_sweep: true, write_set_bytes_max: 200, ..options() });
}

fn run_threads(options: &StoreOptions) {
    let given = std::env::var("FARBIRD_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let seed = given.unwrap_or(20_261_121);
    println!("FARBIRD_SEED={seed}");
    let backend = redb::backends::InMemoryBackend::new();
    let mut substrate = LoggedSubstrate::on_backend(backend, 16 << 20, 64 << 10).expect("a substrate");
    substrate.keep_leaves_small();
    let store = Store::on_substrate(Arc::new(substrate), options.clone()).expect("open");
    let layout = layout();
    store.register_layout(Arc::clone(&layout));
    let acknowledged = AtomicU64::new(0);
    let is_over = AtomicBool::new(false);
    let histories = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let mut worker = Worker {
                    store: &store,
                    layout: &layout,
                    random: Random::new(seed.wrapping_mul(THREADS).wrapping_add(thread)),
                    acknowledged: &acknowledged,
                };
                let run = move || (0..TRANSACTIONS_PER_THREAD).map(|_| worker.run_transaction()).collect();
                scope.spawn(run)
            })
            .collect();
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                store.sweep(3).expect("sweep");
                std::thread::yield_now();
            }
        });
        let outcomes: Vec<std::thread::Result<Vec<History>>> =
            workers.into_iter().map(|worker| worker.join()).collect();
        is_over.store(true, Ordering::Relaxed);
        outcomes.into_iter().flat_map(|outcome| outcome.expect("a worker")).collect::<Vec<History>>()
    });
    let committed = histories.iter().filter(|history| history.commit.is_some()).count();
    assert!(committed * 3 > histories.len(), "only {committed} of {} committed", histories.len());
    let rows = check(&histories).unwrap_or_else(|error| panic!("FARBIRD_SEED={seed}: {error}"));
    check_store(&store, &layout, &rows);
    while store.sweep(10).expect("sweep") > 0 {}
    check_store(&store, &layout, &rows);
}

/// Compares what the store holds in the end, by scan and by every index.
fn check_store(store: &Store, layout: &Arc<RelationLayout>, rows: &Rows) {
    let transaction = begin(store, SNAPSHOT);
    let view = transaction.view().expect("view");
    let queries = [
        Query::All,
        Query::Ids(0..i64::MAX),
        Query::Names { from: String::new(), descending: false },
        Query::Names { from: String::new(), descending: true },
    ];
    for query in queries {
        let found = read(&transaction, layout, &view, &query, |_, _| Ok(())).expect("a read");
        assert_eq!(found.len(), rows.len(), "{query:?}");
        assert_eq!(found.into_iter().collect::<Rows>(), *rows, "{query:?}");
    }
    assert_eq!(transaction.count_rows(layout, &view).expect("a count"), rows.len() as u64);
}

/// What one thread works with.
struct Worker<'a> {
    store: &'a Store,
    layout: &'a Arc<RelationLayout>,
    random: Random,
    /// The newest commit that anybody has been told of: whoever begins now sees it.
    acknowledged: &'a AtomicU64,
}

impl Worker<'_> {
    fn run_transaction(&mut self) -> History {
        let isolated = if self.random.once_in(3) { READ_COMMITTED } else { SNAPSHOT };
        let wait = [Wait::No, Wait::Forever, Wait::Timeout(Duration::from_millis(2))];
        let wait = wait[self.random.below(3) as usize];
        let acknowledged = self.acknowledged.load(Ordering::SeqCst);
        let transaction = begin(self.store, TransactionOptions { wait, ..isolated });
        assert!(transaction.snapshot().0 >= acknowledged, "a commit is not seen");
        let mut history = History::default();
        let mut savepoints = Vec::new();
        // Some live for long, while others commit much.
        let steps = if self.random.once_in(12) { 40 } else { 1 + self.random.below(8) };
        for _ in 0..steps {
            match self.random.below(16) {
                0 => {
                    savepoints.push(transaction.savepoint());
                    history.events.push(Event::Savepoint);
                }
                1 => {
                    if let Some(savepoint) = savepoints.pop() {
                        transaction.rollback_to(savepoint).expect("rollback");
                        history.events.push(Event::RollbackToSavepoint);
                    }
                }
                2 => {
                    if let Some(savepoint) = savepoints.pop() {
                        transaction.release(savepoint);
                        history.events.push(Event::ReleaseSavepoint);
                    }
                }
                _ => self.run_statement(&transaction, &mut history.events),
            }
            std::thread::yield_now();
        }
        if self.random.once_in(5) {
            transaction.rollback().expect("rollback");
        } else {
            let number = transaction.commit().expect("commit");
            self.acknowledged.fetch_max(number.0, Ordering::SeqCst);
            history.commit = Some(number);
        }
        history
    }

    /// Runs a statement; a conflict undoes all of it.
    fn run_statement(&mut self, transaction: &Transaction, events: &mut Vec<Event>) {
        let acknowledged = self.acknowledged.load(Ordering::SeqCst);
        let view = transaction.view().expect("view");
        match transaction.options().isolation {
            Isolation::ReadCommitted => {
                assert!(view.commit_number().0 >= acknowledged, "a commit is not seen")
            }
            _ => assert_eq!(view.commit_number(), transaction.snapshot()),
        }
        let savepoint = transaction.savepoint();
        let mut done = Vec::new();
        match self.try_statement(transaction, &view, &mut done) {
            Ok(()) => {
                transaction.release(savepoint);
                events.append(&mut done);
            }
            Err(
                StoreError::UniqueViolation { .. }
                | StoreError::UpdateConflict { .. }
                | StoreError::StatementRestart { .. }
                | StoreError::LockConflict { .. }
                | StoreError::LockTimeout { .. }
                | StoreError::Deadlock { .. },
            ) => transaction.rollback_to(savepoint).expect("rollback"),
            Err(error) => panic!("{error}"),
        }
    }

    fn try_statement(
        &mut self,
        transaction: &Transaction,
        view: &ReadView,
        events: &mut Vec<Event>,
    ) -> Result<()> {
        let seen = view.commit_number();
        if self.random.below(3) == 0 {
            let (id, name) = (self.random.below(IDS) as i64, self.name());
            let row = insert_row(transaction, self.layout, id, &name)?;
            events.push(Event::Write { seen, row, content: Some((id, name)) });
            return Ok(());
        }
        if self.random.once_in(5) {
            return self.insert_all(transaction, view, events);
        }
        let query = self.query();
        let changes = self.random.below(3) == 0;
        let mut writes = Vec::new();
        let rows = read(transaction, self.layout, view, &query, |number, (id, _)| {
            // Rows change while the cursor goes on.
            if changes && writes.len() < 5 && self.random.once_in(2) {
                let content = self.change(transaction, view, number, *id)?;
                writes.push(Event::Write { seen, row: number, content });
            }
            Ok(())
        })?;
        if let Some((number, _)) = rows.first() {
            self.read_single(transaction, view, *number, events)?;
        }
        if !changes && self.random.once_in(4) {
            self.change_all(transaction, view, &rows, &mut writes)?;
        }
        events.push(Event::Read { seen, query, rows });
        events.append(&mut writes);
        Ok(())
    }

    /// Inserts rows, as many at once as can be.
    fn insert_all(
        &mut self,
        transaction: &Transaction,
        view: &ReadView,
        events: &mut Vec<Event>,
    ) -> Result<()> {
        let seen = view.commit_number();
        let first = self.random.below(IDS) as i64;
        let contents: Vec<Row> =
            (first..first + 1 + self.random.below(4) as i64).map(|id| (id, self.name())).collect();
        let rows: Vec<Vec<Value>> = contents.iter().map(|(id, name)| row(*id, name)).collect();
        let mut numbers: Vec<RowId> = Vec::new();
        while numbers.len() < rows.len() {
            numbers.extend(transaction.insert_rows(self.layout, &rows[numbers.len()..])?);
            if let Some(left) = rows.get(numbers.len()) {
                numbers.push(transaction.insert(self.layout, &mut left.clone())?);
            }
        }
        events.extend(numbers.into_iter().zip(contents).map(|(row, content)| Event::Write {
            seen,
            row,
            content: Some(content),
        }));
        Ok(())
    }

    /// Deletes or updates rows, as many at once as can be.
    fn change_all(
        &mut self,
        transaction: &Transaction,
        view: &ReadView,
        rows: &[(RowId, Row)],
        writes: &mut Vec<Event>,
    ) -> Result<()> {
        let seen = view.commit_number();
        let deletes = self.random.once_in(4);
        let contents: Vec<Row> = rows
            .iter()
            .map(|(_, (id, _))| {
                let id = if self.random.once_in(12) { self.random.below(IDS) as i64 } else { *id };
                (id, self.name())
            })
            .collect();
        let updates: Vec<RowUpdate> = rows
            .iter()
            .zip(&contents)
            .map(|((number, (id, name)), (new_id, new_name))| RowUpdate {
                row: *number,
                old: row(*id, name),
                new: row(*new_id, new_name),
            })
            .collect();
        let numbers: Vec<RowId> = rows.iter().map(|(number, _)| *number).collect();
        let mut done = 0;
        while done < rows.len() {
            done += match deletes {
                true => transaction.delete_rows(self.layout, view, &numbers[done..])?,
                false => transaction.update_rows(self.layout, view, &updates[done..])?,
            };
            if let Some(update) = updates.get(done) {
                match deletes {
                    true => transaction.delete(self.layout, view, update.row)?,
                    false => transaction.update(self.layout, view, update.row, &mut update.new.clone())?,
                }
                done += 1;
            }
        }
        writes.extend(numbers.iter().zip(contents).map(|(number, content)| Event::Write {
            seen,
            row: *number,
            content: (!deletes).then_some(content),
        }));
        Ok(())
    }

    /// Reads one row by its number.
    fn read_single(
        &self,
        transaction: &Transaction,
        view: &ReadView,
        number: RowId,
        events: &mut Vec<Event>,
    ) -> Result<()> {
        let found = transaction.read_row(self.layout, view, number, &Projection::of([0, 1]))?;
        let rows = found.iter().map(|row| (number, (integer(&row[0]), text(&row[1])))).collect();
        events.push(Event::Read { seen: view.commit_number(), query: Query::Row(number), rows });
        Ok(())
    }

    /// Deletes a row or changes its name, or now and then its id.
    fn change(
        &mut self,
        transaction: &Transaction,
        view: &ReadView,
        number: RowId,
        id: i64,
    ) -> Result<Option<Row>> {
        if self.random.once_in(4) {
            return transaction.delete(self.layout, view, number).map(|()| None);
        }
        let id = if self.random.once_in(6) { self.random.below(IDS) as i64 } else { id };
        let name = self.name();
        transaction.update(self.layout, view, number, &mut row(id, &name))?;
        Ok(Some((id, name)))
    }

    fn name(&mut self) -> String {
        format!("name {:02}", self.random.below(NAMES))
    }

    fn query(&mut self) -> Query {
        match self.random.below(8) {
            0 => Query::All,
            1 | 2 => Query::Names { from: self.name(), descending: self.random.once_in(2) },
            length => {
                let first = self.random.below(IDS) as i64;
                Query::Ids(first..first + 2 * length as i64 - 5)
            }
        }
    }
}

fn insert_row(transaction: &Transaction, layout: &RelationLayout, id: i64, name: &str) -> Result<RowId> {
    transaction.insert(layout, &mut row(id, name))
}

/// A cursor of either kind.
enum Scan {
    Relation(RelationScan),
    Index(IndexScan),
}

impl Scan {
    fn new(layout: &Arc<RelationLayout>, view: &ReadView, query: &Query) -> Result<Scan> {
        let columns = Projection::of([0, 1]);
        let (index, lower, upper, direction) = match query {
            Query::All | Query::Row(_) => {
                return Ok(Scan::Relation(RelationScan::new(Arc::clone(layout), view.clone(), columns)));
            }
            Query::Ids(ids) => {
                let lower = KeyBound::Included(vec![Value::integer(ids.start)]);
                let upper = KeyBound::Excluded(vec![Value::integer(ids.end)]);
                (PRIMARY, lower, upper, ScanDirection::Ascending)
            }
            Query::Names { from, descending } => {
                let lower = KeyBound::Included(vec![Value::text(from)]);
                let (index, direction) = match descending {
                    true => (NAME_DESCENDING, ScanDirection::Descending),
                    false => (NAME, ScanDirection::Ascending),
                };
                (index, lower, KeyBound::Unbounded, direction)
            }
        };
        let range = KeyRange { lower, upper, starting_with: None };
        IndexScan::new(Arc::clone(layout), index, range, direction, view.clone(), columns).map(Scan::Index)
    }

    fn next_batch(&mut self, transaction: &Transaction, batch: &mut RowBatch) -> Result<bool> {
        match self {
            Scan::Relation(scan) => scan.next_batch(transaction, 3, batch),
            Scan::Index(scan) => scan.next_batch(transaction, 3, batch),
        }
    }
}

/// The rows that a query gives; `with_row` may change each of them while the cursor stands there.
fn read(
    transaction: &Transaction,
    layout: &Arc<RelationLayout>,
    view: &ReadView,
    query: &Query,
    mut with_row: impl FnMut(RowId, &Row) -> Result<()>,
) -> Result<Vec<(RowId, Row)>> {
    let mut scan = Scan::new(layout, view, query)?;
    let mut batch = RowBatch::new();
    let mut rows = Vec::new();
    while scan.next_batch(transaction, &mut batch)? {
        for index in 0..batch.len() {
            let row = (integer(&batch.value(index, 0)), text(&batch.value(index, 1)));
            with_row(batch.row_id(index), &row)?;
            rows.push((batch.row_id(index), row));
        }
    }
    Ok(rows)
}

fn write(seen: u64, row: u64, content: Option<(i64, &str)>) -> Event {
    let content = content.map(|(id, name)| (id, name.to_owned()));
    Event::Write { seen: CommitNumber(seen), row: RowId(row), content }
}

fn read_all(seen: u64, rows: &[(u64, i64, &str)]) -> Event {
    let rows = rows.iter().map(|(row, id, name)| (RowId(*row), (*id, (*name).to_owned()))).collect();
    Event::Read { seen: CommitNumber(seen), query: Query::All, rows }
}

fn history(commit: u64, events: Vec<Event>) -> History {
    History { events, commit: Some(CommitNumber(commit)) }
}

#[test]
fn the_model_finds_what_cannot_be() {
    let first = history(1, vec![write(0, 1, Some((1, "a")))]);
    let second = history(2, vec![write(1, 1, Some((1, "b")))]);
    let fine = [
        read_all(1, &[(1, 1, "a")]),
        Event::Savepoint,
        write(1, 2, Some((2, "c"))),
        read_all(1, &[(1, 1, "a"), (2, 2, "c")]),
        Event::RollbackToSavepoint,
        read_all(1, &[(1, 1, "a")]),
        write(1, 3, Some((3, "d"))),
    ];
    let check_third = |events: &[Event]| check(&[second.clone(), history(3, events.to_vec()), first.clone()]);
    let rows = check_third(&fine).expect("nothing wrong");
    assert_eq!(rows.into_values().map(|(_, name)| name).collect::<Vec<_>>(), ["b", "d"]);
    let wrong = [
        ("a read of a newer commit", read_all(1, &[(1, 1, "b")])),
        ("a row that comes twice", read_all(1, &[(1, 1, "a"), (1, 1, "a")])),
        ("a row that does not come", read_all(2, &[])),
        ("a lost update", write(1, 1, Some((1, "e")))),
        ("a key twice", write(2, 2, Some((1, "e")))),
    ];
    for (what, event) in wrong {
        assert!(check_third(&[event]).is_err(), "{what}");
    }
    assert!(check(&[first.clone(), first]).is_err(), "two commits of one number");
}
