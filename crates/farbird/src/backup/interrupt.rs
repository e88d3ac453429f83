//! Ctrl-C and SIGTERM during a backup or a restore: the first one ends it in order, a second one at once.

use std::sync::Arc;

use anyhow::Context;
use farbird_engine::backup::CancelFlag;
use farbird_types::{Error, isc};

/// Exit code of a program that a signal has ended at once, as shells give it.
const EXIT_INTERRUPTED: i32 = 130;

/// Whether the user wants to stop.
pub(crate) struct Interrupt {
    cancel: Arc<CancelFlag>,
}

impl Interrupt {
    /// Watches for signals from now on.
    pub(crate) fn watch() -> anyhow::Result<Interrupt> {
        let cancel = CancelFlag::new();
        let raised = Arc::clone(&cancel);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot watch for Ctrl-C")?;
        std::thread::spawn(move || {
            let watched: std::io::Result<()> = runtime.block_on(async {
                use tokio::signal::unix::{SignalKind, signal};
                let mut terminate = signal(SignalKind::terminate())?;
                let mut interrupt = signal(SignalKind::interrupt())?;
                loop {
                    tokio::select! {
                        _ = terminate.recv() => {}
                        _ = interrupt.recv() => {}
                    }
                    if raised.is_raised() {
                        // It waits for something that does not come: standard input, a server.
                        std::process::exit(EXIT_INTERRUPTED);
                    }
                    raised.cancel();
                }
            });
            if let Err(error) = watched {
                eprintln!("farbird: cannot watch for Ctrl-C: {error}");
            }
        });
        Ok(Interrupt { cancel })
    }

    /// The flag that is raised by a signal.
    pub(crate) fn cancel(&self) -> &Arc<CancelFlag> {
        &self.cancel
    }

    /// Says of a cancellation what came of it.
    pub(crate) fn explain(&self, error: Error, outcome: &str) -> anyhow::Error {
        if error.has(isc::CANCELLED) && self.cancel.is_raised() {
            anyhow::anyhow!("interrupted; {outcome}")
        } else {
            error.into()
        }
    }
}
