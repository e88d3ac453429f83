//! Services on threads of their own.

use std::sync::Arc;

use farbird_engine::session::{Interrupt, StopReason};
use farbird_types::{Error, Result, isc};

use super::pipe::Pipe;
use crate::connection_input::ConnectionInput;
use crate::shared::Shared;

/// A service that runs, or has something left to say.
pub(super) struct Running {
    pub(super) pipe: Arc<Pipe>,
    interrupt: Arc<Interrupt>,
    /// What it is, as Firebird says that it is busy.
    pub(super) name: &'static str,
    /// Whether it is of no use without its client.
    needs_client: bool,
}

impl Drop for Running {
    /// A backup to a file of the server goes on when its client leaves, as in Firebird.
    fn drop(&mut self) {
        if self.needs_client {
            self.interrupt.raise(StopReason::Cancelled);
        }
        self.pipe.abandon();
    }
}

impl Running {
    /// Waits for its end; it is told to stop if `line` breaks meanwhile.
    ///
    /// # Errors
    /// How it has failed.
    pub(super) fn finish(&self, line: &ConnectionInput) -> Result<()> {
        // One of its own: the service's knows already what is to be done when it is told to end.
        let of_line = Arc::new(Interrupt::new());
        of_line.pass_on_to(Arc::clone(&self.interrupt));
        line.set_interrupt(of_line);
        self.pipe.wait_for_end();
        self.pipe.take_failure().map_or(Ok(()), Err)
    }
}

/// Runs a service on a thread of its own. `interrupt` stops it: that of its attachment, if it has one.
pub(super) fn run(
    shared: &Shared,
    name: &'static str,
    needs_client: bool,
    interrupt: Arc<Interrupt>,
    service: impl FnOnce(&Arc<Pipe>, &Arc<Interrupt>) -> Result<()> + Send + 'static,
) -> Running {
    let running = Running { pipe: Arc::default(), interrupt, name, needs_client };
    let (pipe, interrupt) = (Arc::clone(&running.pipe), Arc::clone(&running.interrupt));
    // It may wait for its client, where it looks at no flag.
    interrupt.set_on_close({
        let pipe = Arc::clone(&pipe);
        move || pipe.abandon()
    });
    let registered = shared.services.register(&interrupt);
    std::thread::spawn(move || {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| service(&pipe, &interrupt)));
        let outcome = match done {
            // Whatever it met then, that is why.
            Ok(Err(_)) if interrupt.is_closing() => Err(interrupt.error()),
            Ok(outcome) => outcome,
            Err(_) => {
                Err(Error::new(isc::RANDOM).with("the service has failed; the server's log tells more"))
            }
        };
        if let Err(error) = &outcome {
            tracing::warn!(%error, service = name, "a service failed");
        }
        pipe.end(outcome);
        // By now it has let go of its files.
        drop(registered);
    });
    running
}
