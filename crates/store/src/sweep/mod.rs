//! The sweep: moves versions that no snapshot can tell apart into row blocks, and gives back what nobody needs: dead
//! versions with their index entries and BLOBs, dropped relations and indexes.
//!
//! It goes in steps. What is to be done is found without the right to write; that is held for a few milliseconds at most, so
//! that commits never wait long: how many changes are made under it follows the time that the latest ones took. Nothing
//! depends on the sweep but space and speed; a crash between steps loses nothing, within a step nothing either.

mod blobs;
mod block_writer;
mod dropped;
mod entry_list;
mod images;
mod portion;
mod relation;
mod settle;
mod watch;

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::figures::{SweepFigures, SweepState};
use crate::store::{Inner, RegisteredLayout, Store};
use crate::substrate::{Durability, WriteBatch};
use crate::{CommitNumber, RelationId, Result, RowId};

use relation::{Outcome, Portion};
use settle::Settling;
use watch::Watch;

pub(crate) use images::{blobs_of_block, blobs_of_version};

/// Where the sweep is, and the thread that drives it.
#[derive(Debug, Default)]
pub(crate) struct Sweeper {
    position: Mutex<SweepPosition>,
    thread: Mutex<Option<JoinHandle<()>>>,
    control: Arc<Control>,
    /// All writes of the store pass by here.
    pub(crate) watch: Watch,
    counts: Counts,
}

/// What it has done since the store was opened.
#[derive(Debug, Default)]
struct Counts {
    /// Steps that were of use.
    steps: AtomicU64,
    /// Rounds over all relations.
    rounds: AtomicU64,
    failures: AtomicU64,
    /// [`SweepState`] by its number.
    state: AtomicU8,
}

/// How the thread is told to end; apart from the rest, since the thread must not keep the database open.
#[derive(Debug, Default)]
struct Control {
    stopped: Mutex<bool>,
    wake: Condvar,
    /// Whether the thread leaves everything to those who ask for a sweep.
    is_idle: AtomicBool,
}

/// Where the sweep goes on.
#[derive(Debug, Default)]
struct SweepPosition {
    relation: Option<RelationId>,
    row: u64,
    /// Where the settling of the relation is, if anything is left to settle.
    settling: Option<Settling>,
    /// The part of the relation that is being swept.
    portion: Option<Portion>,
    /// Memory for the next portion, if it should have less than it may.
    portion_bytes: Option<usize>,
    paces: Paces,
    /// What there was to see when this round over all relations began. A round is made in many steps, and looks at a row
    /// once: what has changed since may be something to do for rows behind it.
    began_at: Option<Outlook>,
    /// Whether this round has found anything to do.
    useful: bool,
    /// What the last useless round saw when it began: while nothing changes another one would be useless too.
    idle_at: Option<Outlook>,
}

/// What may give the sweep something to do when it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Outlook {
    published: CommitNumber,
    horizon: CommitNumber,
    times_left: u64,
    blobs_given_back: u64,
    instances_left: u64,
}

/// How many changes are made at a time, by their kinds.
#[derive(Debug, Default)]
struct Paces {
    /// Rows that large transactions have left.
    rows: Pace,
    /// Index entries, which stand apart.
    entries: Pace,
    /// Versions, which stand together.
    versions: Pace,
    checkpoints: Checkpoints,
}

/// When the tree is made durable with what was swept: before so many pages wait for it that whoever commits next waits long,
/// or the file grows since space given up cannot be used again yet.
#[derive(Debug)]
struct Checkpoints {
    /// Changes since the latest, by [`Checkpoints::note`].
    since: usize,
    /// Changes between two.
    between: usize,
}

impl Default for Checkpoints {
    fn default() -> Self {
        Checkpoints { since: 0, between: BETWEEN_CHECKPOINTS_MIN }
    }
}

impl Checkpoints {
    /// Notes changes that have touched about so many pages.
    fn note(&mut self, pages: usize) {
        self.since += pages;
    }

    /// Makes one if it is time.
    fn make_if_due(&mut self, inner: &Inner) -> Result<()> {
        if self.since < self.between {
            return Ok(());
        }
        let guard = inner.begin_write();
        let began = Instant::now();
        inner.write_under(&guard, WriteBatch::new(), Durability::Checkpoint)?;
        drop(guard);
        self.since = 0;
        let held = began.elapsed();
        if held > 2 * HELD_MAX {
            self.between = (self.between - self.between / 4).max(BETWEEN_CHECKPOINTS_MIN);
        } else if held < HELD_MAX {
            self.between = (self.between + self.between / 8).min(BETWEEN_CHECKPOINTS_MAX);
        }
        Ok(())
    }
}

/// Pages changed between two checkpoints, at least: however slow the disk is.
const BETWEEN_CHECKPOINTS_MIN: usize = 128;
/// And at most.
const BETWEEN_CHECKPOINTS_MAX: usize = 1_024;

/// How many changes are made at a time: as many as take about the right time.
#[derive(Debug, Clone, Copy)]
struct Pace {
    items: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Pace { items: ITEMS_AT_FIRST }
    }
}

impl Pace {
    /// Learns from so many changes that held the right to write for this time.
    fn note(&mut self, count: usize, held: Duration) {
        if held > HELD_MAX {
            self.items = (self.items - self.items / 4).max(ITEMS_MIN);
        } else if held < HELD_MAX / 2 && count >= self.items {
            self.items = (self.items + self.items / 8).min(ITEMS_MAX);
        }
    }
}

/// States of the sweep as they are noted.
const IDLE: u8 = 0;
const WORKING: u8 = 1;
const FAILING: u8 = 2;

/// The right to write should not be held for longer.
const HELD_MAX: Duration = Duration::from_millis(2);
/// A step, most of which needs no right to write, should not take much longer.
const STEP_TIME: Duration = Duration::from_millis(3);
/// Changes made at first, when nothing is known yet of how long they take.
const ITEMS_AT_FIRST: usize = 200;
/// No fewer changes are made at a time: beginning costs as much.
const ITEMS_MIN: usize = 64;
/// Nor are more.
const ITEMS_MAX: usize = 4_000;
/// A portion takes no less memory than this, in bytes.
const PORTION_BYTES_MIN: usize = 64 << 10;

/// Steps that the background thread does without a pause.
const STEPS_PER_TURN: usize = 8;
/// Its pause while there is work.
const PAUSE_BUSY: Duration = Duration::from_millis(20);
/// Its pause while there is work and others commit, in times of what the turn took: most of the time is theirs. What they leave meanwhile is swept
/// together, which costs less than one by one.
const PAUSE_AMONG_COMMITS: u32 = 2;
/// Its pause while there is none.
const PAUSE_IDLE: Duration = Duration::from_millis(500);
/// Its pause after a failure: the disk may be full, and not for ever.
const PAUSE_FAILED: Duration = Duration::from_secs(30);
/// Between two looks at one relation for its figures.
const LOOKS_APART: Duration = Duration::from_secs(10);

impl Sweeper {
    pub(crate) fn start(&self, inner: &Arc<Inner>) {
        let weak = Arc::downgrade(inner);
        let control = Arc::clone(&self.control);
        let thread = std::thread::Builder::new().name("farbird-sweep".to_owned());
        let spawned = thread.spawn(move || sweep_on(&weak, &control));
        match spawned {
            Ok(thread) => *self.thread.lock() = Some(thread),
            Err(error) => tracing::warn!(%error, "no background sweep"),
        }
    }

    /// Whether the thread sweeps, or leaves that to those who ask for it.
    pub(crate) fn set_automatic(&self, sweeps: bool) {
        self.control.is_idle.store(!sweeps, Ordering::Relaxed);
    }

    /// What it has done and does. `horizon`: the oldest commit that somebody reads as of.
    pub(crate) fn figures(&self, horizon: CommitNumber) -> SweepFigures {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        SweepFigures {
            state: match self.counts.state.load(Ordering::Relaxed) {
                WORKING => SweepState::Working,
                FAILING => SweepState::Failing,
                _ => SweepState::Idle,
            },
            horizon,
            steps: count(&self.counts.steps),
            rounds: count(&self.counts.rounds),
            failures: count(&self.counts.failures),
        }
    }

    /// Notes how a turn has ended.
    fn note(&self, swept: &Result<usize>) {
        let state = match swept {
            Ok(0) => IDLE,
            Ok(steps) => {
                self.counts.steps.fetch_add(*steps as u64, Ordering::Relaxed);
                WORKING
            }
            Err(_) => {
                self.counts.failures.fetch_add(1, Ordering::Relaxed);
                FAILING
            }
        };
        self.counts.state.store(state, Ordering::Relaxed);
    }

    /// Ends the thread and waits for it.
    pub(crate) fn stop(&self) {
        self.control.stop();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("the background sweep had panicked");
        }
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        // Not waited for: it may be this very thread that holds the database last.
        self.control.stop();
    }
}

impl Control {
    fn stop(&self) {
        *self.stopped.lock() = true;
        self.wake.notify_all();
    }

    /// Sleeps; false if it is time to end.
    fn pause(&self, time: Duration) -> bool {
        let mut stopped = self.stopped.lock();
        if !*stopped {
            self.wake.wait_for(&mut stopped, time);
        }
        !*stopped
    }
}

fn sweep_on(weak: &Weak<Inner>, control: &Control) {
    loop {
        if control.is_idle.load(Ordering::Relaxed) {
            if !control.pause(PAUSE_IDLE) {
                return;
            }
            continue;
        }
        let Some(inner) = weak.upgrade() else { return };
        let (began, before) = (Instant::now(), inner.last_commit());
        let store = Store { inner };
        let swept = store.sweep_patiently(STEPS_PER_TURN, LOOKS_APART);
        let others_commit = store.inner.last_commit() != before;
        // The thread must not keep the database open while it pauses.
        drop(store);
        let pause = match swept {
            Ok(0) => PAUSE_IDLE,
            Ok(_) if others_commit => (began.elapsed() * PAUSE_AMONG_COMMITS).clamp(PAUSE_BUSY, PAUSE_IDLE),
            Ok(_) => PAUSE_BUSY,
            Err(error) => {
                tracing::warn!(%error, "the sweep pauses");
                PAUSE_FAILED
            }
        };
        if !control.pause(pause) {
            return;
        }
    }
}

impl Store {
    /// Sweeps for at most about `steps` bounded steps; gives how many were of use. 0: nothing is left to do now.
    pub fn sweep(&self, steps: usize) -> Result<usize> {
        self.sweep_patiently(steps, Duration::ZERO)
    }

    /// As [`Store::sweep`]; a relation is not looked at for its figures again before so much time has passed.
    fn sweep_patiently(&self, steps: usize, looks_apart: Duration) -> Result<usize> {
        let swept = self.sweep_some(steps, looks_apart);
        self.inner.sweeper.note(&swept);
        swept
    }

    fn sweep_some(&self, steps: usize, looks_apart: Duration) -> Result<usize> {
        let inner = &self.inner;
        let mut position = inner.sweeper.position.lock();
        let mut useful = 0;
        for _ in 0..steps {
            let published = inner.last_commit();
            let horizon = inner.registry.horizon(published);
            let outlook = Outlook {
                published,
                horizon,
                times_left: inner.spilled.times_left(),
                blobs_given_back: inner.blob_references.given_back(),
                instances_left: inner.instances.left(),
            };
            if position.idle_at == Some(outlook) {
                break;
            }
            let began_at = *position.began_at.get_or_insert(outlook);
            match self.step(&mut position) {
                Ok(true) => useful += 1,
                Ok(false) => {}
                Err(error) => {
                    position.drop_portion(inner);
                    return Err(error);
                }
            }
            if position.relation.is_none() {
                // What was swept is durable, and its space free, with the next durable write: nobody waits for it.
                position.idle_at = (!std::mem::take(&mut position.useful)).then_some(began_at);
                position.began_at = None;
                inner.sweeper.counts.rounds.fetch_add(1, Ordering::Relaxed);
            }
        }
        if useful == 0 {
            inner.rest()?;
            useful += usize::from(inner.look_at_changed(looks_apart));
        }
        Ok(useful)
    }

    /// One step; leaves `position.relation` empty at the end of a round.
    fn step(&self, position: &mut SweepPosition) -> Result<bool> {
        let layouts = self.inner.layouts();
        let current = layouts
            .iter()
            .find(|registered| position.relation.is_none_or(|relation| registered.layout.id >= relation));
        let Some(registered) = current else {
            position.drop_portion(&self.inner);
            position.row = 0;
            let useful = dropped::sweep(&self.inner)?;
            let reaped = blobs::sweep(&self.inner)?;
            // Behind all relations there is more to do.
            position.relation = reaped.more.then_some(RelationId(u32::MAX));
            position.useful |= useful || reaped.useful;
            return Ok(useful || reaped.useful);
        };
        let id = registered.layout.id;
        if position.relation != Some(id) {
            position.relation = Some(id);
            position.row = 0;
        }
        self.inner.spilled.forget_retired();
        if self.inner.spilled.is_unsettled(id) {
            position.drop_portion(&self.inner);
            let guard = self.inner.begin_write();
            let began = Instant::now();
            let rows = settle::step(
                &self.inner,
                &guard,
                &registered.layout,
                &mut position.settling,
                position.paces.rows.items,
            )?;
            drop(guard);
            position.paces.rows.note(rows, began.elapsed());
            position.paces.checkpoints.note(rows.div_ceil(16));
            position.paces.checkpoints.make_if_due(&self.inner)?;
            position.useful = true;
            return Ok(true);
        }
        self.sweep_portion(position, registered)
    }

    /// One step through a portion of a relation; whether there is more to do, or was anything.
    fn sweep_portion(&self, position: &mut SweepPosition, registered: &RegisteredLayout) -> Result<bool> {
        let inner = &self.inner;
        let id = registered.layout.id;
        let bytes_max = position.portion_bytes.unwrap_or(inner.options.write_set_bytes_max);
        if position.portion.as_ref().is_some_and(|portion| portion.relation() != id) {
            position.drop_portion(inner);
        }
        let SweepPosition { portion, paces, row, .. } = &mut *position;
        let from = RowId(*row);
        let portion = portion.get_or_insert_with(|| Portion::begin(inner, registered, from, bytes_max));
        match portion.advance(inner, paces)? {
            Outcome::Going => Ok(true),
            Outcome::GivenUp => {
                let useful = portion.is_useful();
                position.drop_portion(inner);
                position.useful |= useful;
                position.portion_bytes = Some((bytes_max / 2).max(PORTION_BYTES_MIN));
                Ok(true)
            }
            Outcome::Done { next_row, useful } => {
                position.drop_portion(inner);
                position.useful |= useful;
                let limit = inner.options.write_set_bytes_max;
                position.portion_bytes = Some(bytes_max.saturating_mul(2)).filter(|bytes| *bytes < limit);
                match next_row {
                    Some(row) => position.row = row.0,
                    None => {
                        position.relation = Some(RelationId(id.0.saturating_add(1)));
                        position.row = 0;
                    }
                }
                Ok(useful)
            }
        }
    }
}

impl SweepPosition {
    fn drop_portion(&mut self, inner: &Inner) {
        if self.portion.take().is_some() {
            inner.sweeper.watch.end();
        }
    }
}
