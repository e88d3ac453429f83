//! All rows of an operator by columns: made by several threads when processors are idle, and taken by one in their order.
//!
//! # Promises
//! - Whoever takes the rows sees them in the order in which one thread would make them, and an error behind the rows before it:
//!   sums of doubles are the same to the last bit, however many threads there are.
//! - No thread outlives the call.
//! - There are no more helping threads at a time than the server allows; without one left a statement goes on alone.

use std::collections::BTreeMap;
use std::thread;

use farbird_budget::Reservation;
use farbird_expression::ExecutionContext;
use farbird_types::{Error, Result};
use farbird_vector::Vectors;
use parking_lot::{Condvar, Mutex};

use crate::batch::{BATCH_ROWS_MAX, Batch};
use crate::join_columns::bytes_of;
use crate::operator::Operator;
use crate::stage::{Stage, Stretch};

/// So many stretches are taken before others are asked to help: a short scan is over by then.
const ALONE_MAX: u64 = 4;
/// How many stretches for each thread may wait to be taken.
const AHEAD_MAX: usize = 4;

/// What is made of rows before they are taken in their order, by any thread.
pub(crate) trait Prepared: Sized + Send {
    /// What it takes in memory.
    fn size_bytes(&self) -> usize;
}

impl Prepared for Vectors {
    fn size_bytes(&self) -> usize {
        bytes_of(self)
    }
}

/// Calls `take` with all rows of an operator that has vectors and has been opened, in their order.
///
/// # Errors
/// Those of the rows, after those before have been taken; those of `take`.
pub(crate) fn for_each(
    input: &mut dyn Operator,
    rows_max: usize,
    context: &mut ExecutionContext<'_>,
    take: impl FnMut(Vectors, &mut ExecutionContext<'_>) -> Result<()>,
) -> Result<()> {
    for_each_prepared(input, rows_max, context, |rows, _| Ok(rows), take)
}

/// As [`for_each`], of an operator that need not have vectors: of its rows those columns are kept that are wanted.
///
/// # Errors
/// As [`for_each`].
pub(crate) fn for_each_by_columns(
    input: &mut dyn Operator,
    rows_max: usize,
    wanted: &[bool],
    context: &mut ExecutionContext<'_>,
    mut take: impl FnMut(Vectors, &mut ExecutionContext<'_>) -> Result<()>,
) -> Result<()> {
    if input.has_vectors() {
        return for_each(input, rows_max, context, take);
    }
    let mut batch = Batch::new(wanted.len(), BATCH_ROWS_MAX);
    while input.next(context, &mut batch)? {
        context.check_interrupt()?;
        take(Vectors::of_rows(batch.len(), batch.values(), wanted), context)?;
    }
    Ok(())
}

/// As [`for_each`], with what `prepare` makes of the rows: each thread has a copy of it.
///
/// # Errors
/// As [`for_each`]; those of `prepare`, as errors of the rows.
pub(crate) fn for_each_prepared<T: Prepared>(
    input: &mut dyn Operator,
    rows_max: usize,
    context: &mut ExecutionContext<'_>,
    mut prepare: impl FnMut(Vectors, &mut ExecutionContext<'_>) -> Result<T> + Clone + Send,
    mut take: impl FnMut(T, &mut ExecutionContext<'_>) -> Result<()>,
) -> Result<()> {
    if context.session.parallel_workers() > 1
        && let Some(stage) = input.stage(context)
    {
        return in_order(Source { stage, prepare }, context, take);
    }
    let mut rows = Vectors::default();
    while input.next_vectors(context, rows_max, &mut rows)? {
        let prepared = prepare(std::mem::take(&mut rows), context)?;
        take(prepared, context)?;
    }
    Ok(())
}

/// What makes prepared stretches, for one of the threads.
struct Source<P> {
    stage: Box<dyn Stage>,
    prepare: P,
}

/// Prepared rows that follow each other.
struct PreparedStretch<T> {
    number: u64,
    parts: Vec<T>,
    /// What the row behind them failed with.
    error: Option<Error>,
}

impl<T: Prepared, P: FnMut(Vectors, &mut ExecutionContext<'_>) -> Result<T> + Clone + Send> Source<P> {
    fn next(&mut self, context: &mut ExecutionContext<'_>) -> Option<PreparedStretch<T>> {
        let Stretch { number, rows, mut error } = self.stage.next(context)?;
        let mut parts = Vec::with_capacity(rows.len());
        for rows in rows {
            match (self.prepare)(rows, context) {
                Ok(part) => parts.push(part),
                Err(failed) => {
                    error = Some(failed);
                    break;
                }
            }
        }
        Some(PreparedStretch { number, parts, error })
    }

    fn another(&self) -> Option<Source<P>> {
        Some(Source { stage: self.stage.another()?, prepare: self.prepare.clone() })
    }
}

/// What the threads share.
struct Shared<T> {
    state: Mutex<State<T>>,
    /// A stretch is there, or a thread has ended.
    ready: Condvar,
    /// There is room for further stretches, or it is over.
    room: Condvar,
}

struct State<T> {
    stretches: BTreeMap<u64, (PreparedStretch<T>, usize)>,
    next: u64,
    /// Threads that help and have not ended.
    helping: usize,
    is_over: bool,
    /// What the stretches are charged to; without memory for more nobody works ahead.
    memory: Reservation,
    is_tight: bool,
}

impl<T: Prepared> Shared<T> {
    /// Puts a stretch where it is taken from.
    fn put(&self, stretch: PreparedStretch<T>) {
        let bytes = stretch.parts.iter().map(T::size_bytes).sum();
        let mut state = self.state.lock();
        let is_charged = state.memory.try_grow(bytes);
        state.is_tight |= !is_charged;
        state.stretches.insert(stretch.number, (stretch, if is_charged { bytes } else { 0 }));
        self.ready.notify_one();
    }

    /// The next stretch in order, if it is there.
    fn take(&self) -> Option<PreparedStretch<T>> {
        let mut state = self.state.lock();
        let next = state.next;
        let (stretch, bytes) = state.stretches.remove(&next)?;
        state.next += 1;
        state.memory.shrink(bytes);
        state.is_tight &= !state.stretches.is_empty();
        self.room.notify_all();
        Some(stretch)
    }

    /// Waits until a helping thread may make another stretch; false if it is over.
    fn may_go_on(&self) -> bool {
        let mut state = self.state.lock();
        while !state.is_over && (state.is_tight || state.stretches.len() >= AHEAD_MAX * (state.helping + 1)) {
            self.room.wait(&mut state);
        }
        !state.is_over
    }
}

/// A helping thread: counted until it ends, however it ends.
struct Helping<'a, T>(&'a Shared<T>);

impl<T> Drop for Helping<'_, T> {
    fn drop(&mut self) {
        self.0.state.lock().helping -= 1;
        self.0.ready.notify_one();
    }
}

/// Ends the helping threads, whatever becomes of the one that takes.
struct Taking<'a, T>(&'a Shared<T>);

impl<T> Drop for Taking<'_, T> {
    fn drop(&mut self) {
        self.0.state.lock().is_over = true;
        self.0.room.notify_all();
    }
}

fn in_order<T: Prepared>(
    mut own: Source<impl FnMut(Vectors, &mut ExecutionContext<'_>) -> Result<T> + Clone + Send>,
    context: &mut ExecutionContext<'_>,
    mut take: impl FnMut(T, &mut ExecutionContext<'_>) -> Result<()>,
) -> Result<()> {
    let mut take = |stretch: PreparedStretch<T>, context: &mut ExecutionContext<'_>| -> Result<()> {
        for part in stretch.parts {
            take(part, context)?;
        }
        stretch.error.map_or(Ok(()), Err)
    };
    for _ in 0..ALONE_MAX {
        match own.next(context) {
            Some(stretch) => take(stretch, context)?,
            None => return Ok(()),
        }
    }
    let account = context.budget.account();
    let permits: Vec<_> =
        (1..context.session.parallel_workers()).map_while(|_| account.helping_thread()).collect();
    if permits.is_empty() {
        while let Some(stretch) = own.next(context) {
            take(stretch, context)?;
        }
        return Ok(());
    }
    let shared = Shared {
        state: Mutex::new(State {
            stretches: BTreeMap::new(),
            next: ALONE_MAX,
            helping: permits.len(),
            is_over: false,
            memory: context.budget.reserve(),
            is_tight: false,
        }),
        ready: Condvar::new(),
        room: Condvar::new(),
    };
    thread::scope(|scope| {
        let _taking = Taking(&shared);
        for permit in permits {
            let (helping, shared) = (Helping(&shared), &shared);
            let Some(mut source) = own.another() else { continue };
            let mut context = context.for_thread();
            scope.spawn(move || {
                let (_permit, _helping) = (permit, helping);
                while shared.may_go_on()
                    && let Some(stretch) = source.next(&mut context)
                {
                    shared.put(stretch);
                }
            });
        }
        let mut is_at_end = false;
        loop {
            if let Some(stretch) = shared.take() {
                take(stretch, context)?;
                continue;
            }
            if !is_at_end {
                match own.next(context) {
                    Some(stretch) => shared.put(stretch),
                    None => is_at_end = true,
                }
                continue;
            }
            let mut state = shared.state.lock();
            let next = state.next;
            if state.stretches.contains_key(&next) {
                continue;
            }
            if state.helping == 0 {
                return match state.stretches.is_empty() {
                    true => Ok(()),
                    false => Err(Error::internal("a thread has ended without its rows")),
                };
            }
            shared.ready.wait(&mut state);
        }
    })
}
