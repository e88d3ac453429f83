//! Progress bars of long commands, on stderr. Nothing is drawn when stderr is no terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of `total` steps, labelled with what is going on. `total` may be 0 while it is unknown.
pub(crate) fn bar(label: &'static str, total: u64) -> ProgressBar {
    let bar = ProgressBar::new(total).with_message(label);
    bar.set_style(
        ProgressStyle::with_template(
            "{msg:<18} [{bar:32}] {percent:>3} % {pos}/{len} {elapsed} (left {eta})",
        )
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> "),
    );
    bar
}

/// As [`bar`], counting bytes.
pub(crate) fn bytes_bar(label: &'static str, total: u64) -> ProgressBar {
    let bar = ProgressBar::new(total).with_message(label);
    bar.set_style(
        ProgressStyle::with_template(
            "{msg:<18} [{bar:32}] {percent:>3} % {bytes}/{total_bytes} {bytes_per_sec} (left {eta})",
        )
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> "),
    );
    bar
}
