//! All rows of an operator by columns: made by several threads when processors are idle, and taken by one in their order.
//!
//! # Promises
//! - Whoever takes the rows sees them in the order in which one thread would make them, and an error behind the rows before it:
//!   sums of doubles are the same to the last bit, however many threads there are.
//! - No thread outlives the call.
//! - There are no more helping threads at a time than the server allows; without one left a statement goes on alone. While other
//!   connections work as many of them rest as those need processors.

use std::collections::{BTreeMap, VecDeque};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use farbird_budget::{Account, HelpingThread, Reservation};
use farbird_expression::ExecutionContext;
use farbird_types::{Error, Result};
use farbird_vector::Vectors;
use parking_lot::{Condvar, Mutex};

use crate::batch::{BATCH_ROWS_MAX, Batch};
use crate::column_source::COLUMN_ROWS_MAX;
use crate::join_columns::bytes_of;
use crate::operator::Operator;
use crate::stage::{Stage, Stretch};

/// So many rows are looked at before others are asked to help: a short scan is over by then.
const ROWS_ALONE: usize = 32_768;
/// So long a thread rests before it looks again whether it is needed elsewhere.
const REST: Duration = Duration::from_millis(1);
/// How many parts of stretches for each thread may wait to be taken.
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
        return for_each_of(Source { stage, prepare }, context, take);
    }
    let mut rows = Vectors::default();
    while input.next_vectors(context, rows_max, &mut rows)? {
        let prepared = prepare(std::mem::take(&mut rows), context)?;
        take(prepared, context)?;
    }
    Ok(())
}

/// What makes prepared rows, for one of the threads.
struct Source<P> {
    stage: Box<dyn Stage>,
    prepare: P,
}

/// Prepared rows that follow each other: a stretch, or a part of one.
struct Part<T> {
    /// Of which stretch.
    number: u64,
    /// Whether that has no further part.
    is_last: bool,
    prepared: Option<T>,
    /// How many rows were looked at, or made.
    rows: usize,
    /// What the row behind them failed with.
    error: Option<Error>,
}

impl<T: Prepared, P: FnMut(Vectors, &mut ExecutionContext<'_>) -> Result<T> + Clone + Send> Source<P> {
    fn next(&mut self, context: &mut ExecutionContext<'_>) -> Option<Part<T>> {
        let Stretch { number, is_last, rows, looked_at, error } = self.stage.next(context)?;
        debug_assert!(rows.len() <= COLUMN_ROWS_MAX, "more rows than anybody has memory for");
        let mut part = Part { number, is_last, prepared: None, rows: looked_at.max(rows.len()), error };
        if !rows.is_empty() {
            match (self.prepare)(rows, context) {
                Ok(prepared) => part.prepared = Some(prepared),
                Err(error) => part.error = Some(error),
            }
        }
        Some(part)
    }

    fn another(&self) -> Option<Source<P>> {
        Some(Source { stage: self.stage.another()?, prepare: self.prepare.clone() })
    }
}

fn for_each_of<T: Prepared>(
    mut own: Source<impl FnMut(Vectors, &mut ExecutionContext<'_>) -> Result<T> + Clone + Send>,
    context: &mut ExecutionContext<'_>,
    mut take: impl FnMut(T, &mut ExecutionContext<'_>) -> Result<()>,
) -> Result<()> {
    let mut take = |part: Part<T>, context: &mut ExecutionContext<'_>| -> Result<()> {
        if let Some(prepared) = part.prepared {
            take(prepared, context)?;
        }
        part.error.map_or(Ok(()), Err)
    };
    let mut next = |context: &mut ExecutionContext<'_>| own.next(context);
    let Some(begun) = alone(&mut next, context, &mut take)? else { return Ok(()) };
    let account = context.budget.account();
    let mut helpers = Vec::new();
    for _ in 1..context.session.parallel_workers() {
        let Some(mut permit) = Permit::of(account) else { break };
        let Some(mut source) = own.another() else { break };
        let mut context = context.for_thread();
        helpers.push((move || source.next(&mut context), move || permit.rests()));
    }
    let memory = context.budget.reserve();
    in_order(begun, |context| own.next(context), helpers, memory, context, take)
}

/// The place of a helping thread among those that the server allows: given back while the thread rests, and when it ends.
struct Permit {
    account: Arc<Account>,
    place: Option<HelpingThread>,
}

impl Permit {
    fn of(account: &Arc<Account>) -> Option<Permit> {
        let place = account.helping_thread()?;
        Some(Permit { account: Arc::clone(account), place: Some(place) })
    }

    /// Whether its thread rests now: there are too many at work, it is one of them, and nobody else has given up a place.
    fn rests(&mut self) -> bool {
        if self.account.is_crowded() {
            self.place = None;
        }
        if self.place.is_none() {
            self.place = self.account.helping_thread();
        }
        self.place.is_none()
    }
}

/// Takes the first rows; gives how far that is if there may be more.
///
/// # Errors
/// Those of `take`.
fn alone<T, C>(
    next: &mut impl FnMut(&mut C) -> Option<Part<T>>,
    context: &mut C,
    take: &mut impl FnMut(Part<T>, &mut C) -> Result<()>,
) -> Result<Option<Place>> {
    let (mut place, mut rows) = (Place::default(), 0);
    while rows < ROWS_ALONE {
        let Some(part) = next(context) else { return Ok(None) };
        place = Place::behind(&part);
        rows += part.rows;
        take(part, context)?;
    }
    Ok(Some(place))
}

/// How far stretches have been made, or taken.
#[derive(Default, Clone, Copy)]
struct Place {
    /// The stretch that comes next.
    stretch: u64,
    /// Whether parts of it have come already.
    is_begun: bool,
}

impl Place {
    fn behind<T>(part: &Part<T>) -> Place {
        Place { stretch: part.number + u64::from(part.is_last), is_begun: !part.is_last }
    }

    /// The stretch that whoever made the part before is still to make.
    fn under_way(self) -> Option<u64> {
        self.is_begun.then_some(self.stretch)
    }
}

/// What the threads share.
struct Shared<T> {
    state: Mutex<State<T>>,
    /// A part is there, or a thread has ended.
    ready: Condvar,
    /// There is room for further parts, or it is over.
    room: Condvar,
}

struct State<T> {
    /// The parts that wait to be taken, by stretch, with what they are charged.
    parts: BTreeMap<u64, VecDeque<(Part<T>, usize)>>,
    /// How many that are.
    waiting: usize,
    /// Up to where they have been taken.
    taken: Place,
    /// Threads that help and have not ended.
    helping: usize,
    /// Nothing is left to be begun.
    is_at_end: bool,
    is_over: bool,
    /// What the parts are charged to; without memory for more nobody works ahead.
    memory: Reservation,
    is_tight: bool,
}

impl<T> State<T> {
    /// Whether one who has this stretch under way, or none, may make another part. The one that all wait for is always made.
    fn has_room(&self, under_way: Option<u64>) -> bool {
        let is_awaited =
            under_way == Some(self.taken.stretch) && !self.parts.contains_key(&self.taken.stretch);
        is_awaited || !self.is_tight && self.waiting < AHEAD_MAX * (self.helping + 1)
    }

    /// The next part in order, if it is there.
    fn take(&mut self) -> Option<Part<T>> {
        let mut parts = self.parts.first_entry().filter(|parts| *parts.key() == self.taken.stretch)?;
        let (part, bytes) = parts.get_mut().pop_front()?;
        if parts.get().is_empty() {
            parts.remove();
        }
        self.taken = Place::behind(&part);
        self.waiting -= 1;
        self.memory.shrink(bytes);
        self.is_tight &= self.waiting > 0;
        Some(part)
    }
}

/// What the thread that takes does next.
enum Turn<T> {
    Take(Part<T>),
    Make,
    End,
}

impl<T: Prepared> Shared<T> {
    fn new(taken: Place, helping: usize, memory: Reservation) -> Shared<T> {
        let state = State {
            parts: BTreeMap::new(),
            waiting: 0,
            taken,
            helping,
            is_at_end: false,
            is_over: false,
            memory,
            is_tight: false,
        };
        Shared { state: Mutex::new(state), ready: Condvar::new(), room: Condvar::new() }
    }

    /// Puts a part of a stretch where it is taken from; gives what its maker has under way then.
    fn put(&self, part: Part<T>) -> Option<u64> {
        let under_way = Place::behind(&part).under_way();
        let bytes = part.prepared.as_ref().map_or(0, T::size_bytes);
        let mut state = self.state.lock();
        let is_charged = state.memory.try_grow(bytes);
        state.is_tight |= !is_charged;
        state.waiting += 1;
        state.parts.entry(part.number).or_default().push_back((part, if is_charged { bytes } else { 0 }));
        self.ready.notify_one();
        under_way
    }

    /// Waits until the next part is there, or room for another one; that of a thread that has ended without it never comes.
    ///
    /// # Errors
    /// Internal ones.
    fn turn(&self, under_way: Option<u64>, is_at_end: bool) -> Result<Turn<T>> {
        let mut state = self.state.lock();
        if is_at_end && !state.is_at_end {
            state.is_at_end = true;
            self.room.notify_all();
        }
        loop {
            if let Some(part) = state.take() {
                self.room.notify_all();
                return Ok(Turn::Take(part));
            }
            if !is_at_end && state.has_room(under_way) {
                return Ok(Turn::Make);
            }
            if state.helping > 0 && !state.is_over {
                self.ready.wait(&mut state);
            } else if state.is_over || state.waiting > 0 || state.taken.is_begun {
                return Err(Error::internal("a thread has ended without its rows"));
            } else {
                return Ok(Turn::End);
            }
        }
    }

    /// Waits until a helping thread may make another part; false if it is over. It rests between stretches while `rests` says so:
    /// never in one, since others may wait for that.
    fn may_go_on(&self, under_way: Option<u64>, rests: &mut impl FnMut() -> bool) -> bool {
        let mut state = self.state.lock();
        while !state.is_over {
            if under_way.is_none() && rests() {
                if state.is_at_end {
                    return false;
                }
                self.room.wait_for(&mut state, REST);
            } else if state.has_room(under_way) {
                return true;
            } else {
                self.room.wait(&mut state);
            }
        }
        false
    }
}

/// A helping thread: counted until it ends, however it ends.
struct Helping<'a, T>(&'a Shared<T>);

impl<T> Drop for Helping<'_, T> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.helping -= 1;
        // Nobody makes the stretch that a thread panics in: those behind it are for nothing.
        if thread::panicking() {
            state.is_over = true;
            self.0.room.notify_all();
        }
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

/// Calls `take` with all parts of stretches behind those that `own` has made, in their order: `own` makes the next one on this thread,
/// each of `helpers` on one of its own, but while its second part says that it should rest. If there are no threads to be had it goes on alone.
///
/// # Errors
/// Those of `take`.
///
/// # Panics
/// As the first of the helpers that panics.
fn in_order<T: Prepared, C>(
    begun: Place,
    mut own: impl FnMut(&mut C) -> Option<Part<T>>,
    helpers: Vec<(impl FnMut() -> Option<Part<T>> + Send, impl FnMut() -> bool + Send)>,
    memory: Reservation,
    context: &mut C,
    mut take: impl FnMut(Part<T>, &mut C) -> Result<()>,
) -> Result<()> {
    let shared = Shared::new(begun, helpers.len(), memory);
    thread::scope(|scope| {
        let taking = Taking(&shared);
        let mut threads = Vec::with_capacity(helpers.len());
        for (mut make, mut rests) in helpers {
            let (helping, shared) = (Helping(&shared), &shared);
            let run = move || {
                let _helping = helping;
                let mut under_way = None;
                while shared.may_go_on(under_way, &mut rests)
                    && let Some(part) = make()
                {
                    under_way = shared.put(part);
                }
            };
            let builder = thread::Builder::new().name("parallel-worker".to_owned());
            threads.extend(builder.spawn_scoped(scope, run));
        }
        let mut take_all = || -> Result<()> {
            let (mut under_way, mut is_at_end) = (begun.under_way(), false);
            loop {
                match shared.turn(under_way, is_at_end)? {
                    Turn::Take(part) => take(part, context)?,
                    Turn::Make => match own(context) {
                        Some(part) => under_way = shared.put(part),
                        None => is_at_end = true,
                    },
                    Turn::End => return Ok(()),
                }
            }
        };
        let taken = take_all();
        drop(taking);
        match threads.into_iter().find_map(|thread| thread.join().err()) {
            Some(panic) => resume_unwind(panic),
            None => taken,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use farbird_budget::{Account, Limits, Resource, StatementBudget};
    use farbird_types::Value;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// So many rows of a column.
    fn stretch(number: u64, rows: usize) -> Part<Vectors> {
        let numbers: Vec<_> = (0..rows as i64).map(Value::integer).collect();
        let prepared = Some(Vectors::of_rows(rows, &numbers, &[true]));
        Part { number, is_last: true, prepared, rows, error: None }
    }

    /// The numbers of the stretches below `end` in the order in which they were taken. Helpers do `help` before they hand one out.
    fn taken(
        helping: usize,
        end: u64,
        help: impl Fn() + Sync,
        mut take: impl FnMut(u64) -> Result<()>,
    ) -> Result<Vec<u64>> {
        let numbers = AtomicU64::new(0);
        let make = || {
            let number = numbers.fetch_add(1, Ordering::Relaxed);
            (number < end).then(|| stretch(number, 1))
        };
        let helper = || {
            let made = make()?;
            help();
            Some(made)
        };
        let mut order = Vec::new();
        let memory = StatementBudget::alone().reserve();
        let own = |(): &mut ()| make();
        in_order(
            Place::default(),
            own,
            vec![(helper, || false); helping],
            memory,
            &mut (),
            |stretch, ()| {
                order.push(stretch.number);
                take(stretch.number)
            },
        )?;
        Ok(order)
    }

    #[test]
    fn stretches_are_taken_in_order_whoever_makes_them() {
        for helping in [0, 1, 5] {
            let order = taken(helping, 500, || {}, |_| Ok(())).unwrap();
            assert!(order.into_iter().eq(0..500));
        }
    }

    #[test]
    fn helpers_rest_while_others_work() {
        let numbers = AtomicU64::new(0);
        let own = |(): &mut ()| {
            let number = numbers.fetch_add(1, Ordering::Relaxed);
            (number < 100).then(|| stretch(number, 1))
        };
        let helper = || -> Option<Part<Vectors>> { panic!("it should rest") };
        let mut order = Vec::new();
        let memory = StatementBudget::alone().reserve();
        in_order(Place::default(), own, vec![(helper, || true); 2], memory, &mut (), |stretch, ()| {
            order.push(stretch.number);
            Ok(())
        })
        .unwrap();
        assert!(order.into_iter().eq(0..100));
    }

    #[test]
    fn as_many_helpers_rest_as_others_work() {
        let account = Account::server(Limits { parallel_workers: 4, ..Limits::default() });
        let _own = account.begin_working();
        let mut permits: Vec<Permit> = (0..4).map_while(|_| Permit::of(&account)).collect();
        assert_eq!(permits.len(), 3);
        let mut resting = || permits.iter_mut().map(|permit| u8::from(permit.rests())).sum::<u8>();
        assert_eq!(resting(), 0);
        let mut others = Vec::new();
        for expected in [1, 2, 3, 3] {
            others.push(account.begin_working());
            assert_eq!([resting(), resting()], [expected; 2], "{} others", others.len());
        }
        for expected in [3, 2, 1, 0] {
            others.pop();
            assert_eq!([resting(), resting()], [expected; 2], "{} others", others.len());
        }
        // The place of one that rests is free for another statement's.
        let other = account.begin_working();
        assert_eq!(resting(), 1);
        drop(other);
        let theirs = account.helping_thread();
        assert!(theirs.is_some());
        assert_eq!(resting(), 1);
        drop(theirs);
        assert_eq!(resting(), 0);
    }

    #[test]
    fn nobody_waits_for_the_stretch_of_a_thread_that_has_panicked() {
        // Both have a stretch under way when one of them panics.
        let both = Barrier::new(2);
        let numbers = AtomicU64::new(0);
        let make = || {
            let number = numbers.fetch_add(1, Ordering::Relaxed);
            if number < 2 {
                both.wait();
            }
            (number < 500).then(|| stretch(number, 1))
        };
        let helper = || -> Option<Part<Vectors>> {
            make()?;
            panic!("made none")
        };
        let memory = StatementBudget::alone().reserve();
        let own = |(): &mut ()| make();
        let helpers = vec![(helper, || false)];
        let run = || in_order(Place::default(), own, helpers, memory, &mut (), |_, ()| Ok(()));
        let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"made none"));
    }

    #[test]
    fn threads_end_when_nobody_takes_any_more() {
        let full = |number| if number == 50 { Err(Error::internal("full")) } else { Ok(()) };
        assert!(taken(3, u64::MAX, || {}, full).is_err());
    }

    /// How many stretches of so many rows are made while the first one is awaited.
    fn made_ahead(rows: usize, statement_memory: u64) -> u64 {
        let account = Account::server(Limits { statement_memory, ..Limits::default() });
        let shared = Shared::new(Place::default(), 1, account.statement().reserve());
        let mut made = 0;
        while shared.state.lock().has_room(None) {
            made += 1;
            shared.put(stretch(made, rows));
        }
        made
    }

    #[test]
    fn parts_of_stretches_are_taken_in_order_however_little_memory_there_is() {
        for statement_memory in [1 << 30, 40_000] {
            let account = Account::server(Limits { statement_memory, ..Limits::default() });
            let numbers = AtomicU64::new(0);
            // Stretches of one to ten parts.
            let maker = || {
                let (numbers, mut place) = (&numbers, (0, 0));
                move || {
                    if place.1 == 0 {
                        let number = numbers.fetch_add(1, Ordering::Relaxed);
                        place = (number, number * 7 % 10 + 1);
                    }
                    place.1 -= 1;
                    (place.0 < 200).then(|| Part { is_last: place.1 == 0, ..stretch(place.0, 1_000) })
                }
            };
            let mut own = maker();
            let mut parts = vec![0; 200];
            let mut latest = 0;
            let memory = account.statement().reserve();
            let helpers = [maker(), maker(), maker()].map(|make| (make, || false)).into();
            in_order(
                Place::default(),
                |()| own(),
                helpers,
                memory,
                &mut (),
                |part, ()| {
                    assert!(part.number >= latest);
                    latest = part.number;
                    parts[usize::try_from(part.number).unwrap()] += 1;
                    Ok(())
                },
            )
            .unwrap();
            assert!(parts.into_iter().eq((0..200).map(|number| number * 7 % 10 + 1)));
            assert_eq!(account.usage(Resource::Memory).used, 0);
        }
    }

    #[test]
    fn so_many_stretches_are_made_ahead_as_there_is_memory_for() {
        assert_eq!(made_ahead(1, 64 << 10), 2 * AHEAD_MAX as u64);
        // The last one had none.
        assert_eq!(made_ahead(3_000, 64 << 10), 3);
    }

    #[test]
    fn a_short_scan_is_over_before_anybody_helps() {
        for (rows, blocks, asks) in [(250, 20, false), (250, 200, true), (8_192, 3, false), (8_192, 5, true)]
        {
            let mut numbers = 0..blocks;
            let mut next = |(): &mut ()| Some(Part { rows, ..stretch(numbers.next()?, 0) });
            let first = alone(&mut next, &mut (), &mut |_, ()| Ok(())).unwrap();
            assert_eq!(first.is_some(), asks, "{blocks} stretches of {rows} rows");
        }
    }
}
