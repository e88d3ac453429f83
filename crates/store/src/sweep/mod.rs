//! The sweep: moves versions that no snapshot can tell apart into row blocks, and gives back what nobody needs: dead
//! versions with their index entries and BLOBs, dropped relations and indexes.
//!
//! It goes in steps, each of which holds the right to write for a few milliseconds at most, so that commits never wait
//! long: the number of rows of a step follows the time that the latest ones took. Nothing depends on it but space and speed; a crash between steps loses nothing, within a step nothing either.

mod blobs;
mod dropped;
mod images;
mod relation;
mod settle;

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::store::{Inner, Store};
use crate::{CommitNumber, RelationId, Result};

use settle::Settling;

pub(crate) use images::{blobs_of_block, blobs_of_version};

/// Where the sweep is, and the thread that drives it.
#[derive(Debug, Default)]
pub(crate) struct Sweeper {
    place: Mutex<Place>,
    thread: Mutex<Option<JoinHandle<()>>>,
    control: Arc<Control>,
}

/// How the thread is told to end; apart from the rest, since the thread must not keep the database open.
#[derive(Debug, Default)]
struct Control {
    stopped: Mutex<bool>,
    wake: Condvar,
}

/// Where the sweep goes on.
#[derive(Debug, Default)]
struct Place {
    relation: Option<RelationId>,
    row: u64,
    /// Where the settling of the relation is, if anything is left to settle.
    settling: Option<Settling>,
    pace: Pace,
    /// Whether this round over all relations has found anything to do.
    useful: bool,
    /// What the last useless round saw: while nothing changes another one would be useless too.
    idle_at: Option<Outlook>,
}

/// What may give the sweep something to do when it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Outlook {
    published: CommitNumber,
    horizon: CommitNumber,
    times_left: u64,
    blobs_given_back: u64,
}

/// How many rows a step looks at: as many as take about the right time.
#[derive(Debug, Clone, Copy)]
struct Pace {
    rows: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Pace { rows: ROWS_AT_FIRST }
    }
}

impl Pace {
    /// Learns from a step that held the right to write for this time.
    fn note(&mut self, held: Duration) {
        if held > STEP_TIME {
            self.rows = (self.rows / 2).max(ROWS_MIN);
        } else if held < STEP_TIME / 4 {
            self.rows = (self.rows + self.rows / 4).min(ROWS_MAX);
        }
    }
}

/// A step should not hold the right to write for longer.
const STEP_TIME: Duration = Duration::from_millis(2);
/// Rows of the first step, when nothing is known yet of how long they take.
const ROWS_AT_FIRST: usize = 200;
/// A step looks at no fewer rows.
const ROWS_MIN: usize = 32;
/// And at no more.
const ROWS_MAX: usize = 4_000;

/// Steps that the background thread does without a pause.
const STEPS_PER_TURN: usize = 8;
/// Its pause while there is work: leaves most of the time to others.
const PAUSE_BUSY: Duration = Duration::from_millis(20);
/// Its pause while there is none.
const PAUSE_IDLE: Duration = Duration::from_millis(500);
/// Its pause after a failure: the disk may be full, and not for ever.
const PAUSE_FAILED: Duration = Duration::from_secs(30);

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
        let Some(inner) = weak.upgrade() else { return };
        let swept = Store { inner }.sweep(STEPS_PER_TURN);
        let pause = match swept {
            Ok(0) => PAUSE_IDLE,
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
        let inner = &self.inner;
        let mut place = inner.sweeper.place.lock();
        let mut useful = 0;
        for _ in 0..steps {
            let published = inner.last_commit();
            let horizon = inner.registry.horizon(published);
            let outlook = Outlook {
                published,
                horizon,
                times_left: inner.spilled.times_left(),
                blobs_given_back: inner.blob_references.given_back(),
            };
            if place.idle_at == Some(outlook) {
                break;
            }
            if self.step(&mut place)? {
                useful += 1;
                place.useful = true;
            }
            if place.relation.is_none() {
                // What was swept is durable, and its space free, with the next durable write: nobody waits for it.
                place.idle_at = (!std::mem::take(&mut place.useful)).then_some(outlook);
            }
        }
        if useful == 0 {
            inner.rest()?;
        }
        Ok(useful)
    }

    /// One step; leaves `place.relation` empty at the end of a round.
    fn step(&self, place: &mut Place) -> Result<bool> {
        let layouts = self.inner.layouts();
        let current = layouts
            .iter()
            .find(|registered| place.relation.is_none_or(|relation| registered.layout.id >= relation));
        let Some(registered) = current else {
            place.row = 0;
            let useful = dropped::sweep(&self.inner)?;
            let reaped = blobs::sweep(&self.inner)?;
            // Behind all relations there is more to do.
            place.relation = reaped.more.then_some(RelationId(u32::MAX));
            return Ok(useful || reaped.useful);
        };
        let id = registered.layout.id;
        if place.relation != Some(id) {
            place.relation = Some(id);
            place.row = 0;
        }
        let guard = self.inner.begin_write();
        let began = Instant::now();
        if !self.inner.spilled.unsettled(id).is_empty() {
            settle::step(&self.inner, &guard, &registered.layout, &mut place.settling, place.pace.rows)?;
            place.pace.note(began.elapsed());
            return Ok(true);
        }
        let step = relation::sweep(&self.inner, &guard, registered, place.row, place.pace.rows)?;
        drop(guard);
        place.pace.note(began.elapsed());
        match step.next_row {
            Some(row) => place.row = row,
            None => {
                place.relation = Some(RelationId(id.0.saturating_add(1)));
                place.row = 0;
            }
        }
        Ok(step.useful)
    }
}
