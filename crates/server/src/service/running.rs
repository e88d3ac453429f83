//! The services that run, so that the server can stop them before it ends.
//!
//! A service has a thread of its own and may outlive the connection that has started it; without this the process would
//! end in the midst of its work.

use std::sync::Arc;
use std::time::Duration;

use farbird_engine::session::{Interrupt, StopReason};
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

/// How long the server waits for services that were told to stop: they look between two rows.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// All services of a server that run.
pub(crate) struct RunningServices {
    state: watch::Sender<State>,
}

#[derive(Default)]
struct State {
    interrupts: Vec<Arc<Interrupt>>,
    /// Whoever starts now is told to stop as well.
    is_stopping: bool,
}

/// A service that runs, until this is dropped.
pub(crate) struct Registered {
    state: watch::Sender<State>,
    interrupt: Arc<Interrupt>,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.state.send_modify(|state| {
            state.interrupts.retain(|interrupt| !Arc::ptr_eq(interrupt, &self.interrupt));
        });
    }
}

impl RunningServices {
    /// None yet.
    pub(crate) fn new() -> RunningServices {
        RunningServices { state: watch::Sender::new(State::default()) }
    }

    /// A service begins, which `interrupt` stops.
    pub(crate) fn register(&self, interrupt: &Arc<Interrupt>) -> Registered {
        self.state.send_modify(|state| state.interrupts.push(Arc::clone(interrupt)));
        if self.state.borrow().is_stopping {
            interrupt.raise(StopReason::Shutdown);
        }
        Registered { state: self.state.clone(), interrupt: Arc::clone(interrupt) }
    }

    /// Lets services run for the time of grace, then stops them; gives control back when all have ended.
    pub(crate) async fn stop(&self, grace: Duration) {
        let mut changes = self.state.subscribe();
        let deadline = Instant::now() + grace;
        // The sender lives as long as this.
        if timeout_at(deadline, changes.wait_for(|state| state.interrupts.is_empty())).await.is_err() {
            self.interrupt_all();
        }
        if timeout(STOP_TIMEOUT, changes.wait_for(|state| state.interrupts.is_empty())).await.is_err() {
            tracing::warn!("a backup or restore does not stop; it is left behind");
        }
    }

    fn interrupt_all(&self) {
        let mut running = Vec::new();
        self.state.send_modify(|state| {
            state.is_stopping = true;
            running.clone_from(&state.interrupts);
        });
        running.iter().for_each(|interrupt| interrupt.raise(StopReason::Shutdown));
    }
}
