//! `farbird edge`, `farbird origin` and `farbird pair`: both ends of the farlink, and the keys by which they know each other.

pub(crate) mod edge;
pub(crate) mod knowledge;
pub(crate) mod origin;
pub(crate) mod pair;

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What an administrator's signals ask for.
pub(crate) enum Asked {
    /// SIGHUP.
    Reload,
    /// SIGTERM or SIGINT.
    Stop,
}

/// SIGHUP, SIGTERM and SIGINT.
pub(crate) struct Signals {
    hangup: Signal,
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(crate) fn new() -> anyhow::Result<Signals> {
        Ok(Signals {
            hangup: signal(SignalKind::hangup()).context("cannot listen for SIGHUP")?,
            terminate: signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?,
            interrupt: signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?,
        })
    }

    pub(crate) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.hangup.recv() => Asked::Reload,
            _ = self.terminate.recv() => Asked::Stop,
            _ = self.interrupt.recv() => Asked::Stop,
        }
    }

    /// Until a process is told to stop once more.
    async fn stop(&mut self) {
        while !matches!(self.next().await, Asked::Stop) {}
    }
}

/// The runtime of an end. One thread is the default: a byte that is handed from one thread to another on its way is late by as long as
/// waking that takes, and an end does little with each.
pub(crate) fn runtime(threads: usize) -> anyhow::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder
        .worker_threads(threads)
        .thread_name("farlink")
        .enable_all()
        .build()
        .context("cannot start the runtime")
}
