//! Ctrl-C: stops the statement that runs. With nothing running it ends a script; a person's prompt reads it itself.

use std::sync::Arc;

use anyhow::Context;
use parking_lot::Mutex;

use crate::session::Canceller;

/// Exit code of a program that a signal has ended, as shells give it.
const EXIT_INTERRUPTED: i32 = 130;

/// What runs, and how to stop it.
pub(super) struct Running {
    state: Mutex<State>,
}

struct State {
    canceller: Canceller,
    runs: bool,
    cancelled: bool,
    /// Whether Ctrl-C with nothing running ends the program.
    ends: bool,
}

impl Running {
    /// Watches for Ctrl-C from now on.
    pub(super) fn watch(is_person: bool) -> anyhow::Result<Arc<Running>> {
        let state = State { canceller: Box::new(|| {}), runs: false, cancelled: false, ends: !is_person };
        let running = Arc::new(Running { state: Mutex::new(state) });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot watch for Ctrl-C")?;
        let watched = Arc::clone(&running);
        std::thread::spawn(move || {
            let result: std::io::Result<()> = runtime.block_on(async {
                loop {
                    tokio::signal::ctrl_c().await?;
                    watched.interrupt();
                }
            });
            if let Err(error) = result {
                eprintln!("farbird: cannot watch for Ctrl-C: {error}");
            }
        });
        Ok(running)
    }

    /// Another session runs statements from now on.
    pub(super) fn stop_with(&self, canceller: Canceller) {
        self.state.lock().canceller = canceller;
    }

    fn interrupt(&self) {
        let mut state = self.state.lock();
        if state.runs && !(state.ends && state.cancelled) {
            state.cancelled = true;
            // Behind the ^C of the terminal.
            eprintln!();
            (state.canceller)();
        } else if state.ends {
            std::process::exit(EXIT_INTERRUPTED);
        }
    }

    /// A statement begins.
    pub(super) fn begin(&self) {
        let mut state = self.state.lock();
        (state.runs, state.cancelled) = (true, false);
    }

    /// It has ended. Whether Ctrl-C came meanwhile.
    pub(super) fn end(&self) -> bool {
        let mut state = self.state.lock();
        state.runs = false;
        std::mem::take(&mut state.cancelled)
    }
}
