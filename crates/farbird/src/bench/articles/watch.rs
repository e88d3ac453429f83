//! Progress on stderr, and Ctrl-C.

use std::sync::Arc;
use std::time::Duration;

use farbird_lab::articles::Observer;
use farbird_lab::sql::Stop;
use indicatif::{ProgressBar, ProgressStyle};

use crate::backup::Interrupt;

/// Shows a bar for each piece of an experiment, and ends it when the user has pressed Ctrl-C.
pub(in crate::bench) struct Watch {
    bar: ProgressBar,
    interrupt: Interrupt,
    /// `3/48`, in front of what is going on.
    place: String,
}

impl Watch {
    pub(in crate::bench) fn new() -> anyhow::Result<Watch> {
        let bar = ProgressBar::new(0);
        let style =
            ProgressStyle::with_template("{msg:<52!} [{bar:24}] {percent:>3} % {elapsed} (left {eta})");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        bar.enable_steady_tick(Duration::from_millis(200));
        Ok(Watch { bar, interrupt: Interrupt::watch()?, place: String::new() })
    }

    /// This is run `number` of `count`.
    pub(in crate::bench) fn run(&mut self, number: usize, count: usize) {
        self.place = format!("{number}/{count} ");
    }

    /// Tells other threads whether the user has pressed Ctrl-C.
    pub(in crate::bench) fn stop(&self) -> Stop {
        let raised = Arc::clone(self.interrupt.cancel());
        Arc::new(move || raised.is_raised())
    }

    pub(in crate::bench) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Watch {
    fn begin(&mut self, what: &str, units: u64) {
        self.bar.reset();
        self.bar.set_length(units);
        self.bar.set_message(format!("{}{what}", self.place));
    }

    fn advance(&mut self, units: u64) {
        self.bar.inc(units);
    }

    fn say(&mut self, line: &str) {
        self.bar.suspend(|| eprintln!("{line}"));
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.cancel().is_raised()
    }
}
