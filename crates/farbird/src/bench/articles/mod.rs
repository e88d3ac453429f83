//! `farbird bench blobs | nested | fetch | connect | far | rows`: the experiments of `farbird_lab::articles`, shown.
//!
//! Here servers are put together from the command line and figures into reports. Data goes to stdout, progress and steps
//! go to stderr.

pub(super) mod blobs;
pub(super) mod connect;
pub(super) mod far;
pub(super) mod fetch;
pub(super) mod nested;
pub(super) mod rows;

pub(super) mod shown;
pub(super) mod stage;
pub(super) mod watch;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use farbird_lab::Failure;
use farbird_lab::link::{LinkOptions, Rate, parse_delay};
use farbird_lab::report::Report;
use serde::Serialize;
use serde_json::json;

use crate::output;

/// How results look.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables, for people.
    Table,
    /// One JSON object: docs/benchmarks.md says what its fields mean.
    Json,
}

/// Where results go.
#[derive(Args)]
pub(super) struct Output {
    /// How results are printed.
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Results")]
    format: Format,
    /// Also write a page with tables and charts, which needs nothing but a browser.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    html: Option<PathBuf>,
    /// Also write each chart as an SVG file into this folder.
    #[arg(long, value_name = "DIR", help_heading = "Results")]
    svg: Option<PathBuf>,
}

/// The link that is emulated, but for its round trip.
#[derive(Args)]
struct LinkArguments {
    /// Bandwidth of the emulated link in each direction, such as 35mbit or 1gbit [default: without limit].
    #[arg(long, value_name = "RATE", help_heading = "Link")]
    rate: Option<Rate>,
    /// What else the emulated link does, such as loss=1%,jitter=2ms,up.rate=5mbit: see docs/lab.md.
    #[arg(long, value_name = "OPTIONS", help_heading = "Link")]
    link: Option<LinkOptions>,
}

impl LinkArguments {
    fn options(&self, round_trip: Duration) -> LinkOptions {
        let mut options = self.link.clone().unwrap_or_default();
        if round_trip != Duration::ZERO || self.link.is_none() {
            options.both(|path| path.delay = round_trip / 2);
        }
        if self.rate.is_some() {
            options.both(|path| path.rate = self.rate);
        }
        options
    }
}

/// How long to wait: `200ms`, `1.5s`, `10m`.
pub(super) fn parse_patience(text: &str) -> Result<Duration, String> {
    if let Some(minutes) = text.strip_suffix('m').and_then(|minutes| minutes.parse::<u32>().ok()) {
        return Ok(Duration::from_secs(60 * u64::from(minutes)));
    }
    parse_delay(text).map_err(|error| error.to_string())
}

/// What is left to say of an experiment that failed, or that nobody wanted any more; `cleared` is what came of cleaning up.
pub(super) fn ended(failure: Failure, cleared: anyhow::Result<()>) -> anyhow::Result<ExitCode> {
    if let Err(error) = &cleared {
        eprintln!("farbird: {error:#}");
    }
    match failure {
        Failure::Interrupted => {
            let outcome = if cleared.is_ok() { "; what was made for it is gone again" } else { "" };
            eprintln!("farbird: interrupted{outcome}");
            Ok(ExitCode::from(EXIT_INTERRUPTED))
        }
        failure => Err(failure.into()),
    }
}

/// Exit code of a program that a signal has ended, as shells give it.
const EXIT_INTERRUPTED: u8 = 130;

/// Prints and writes what was found.
pub(super) fn show(
    output: &Output,
    experiment: &str,
    report: &Report,
    figures: &impl Serialize,
) -> anyhow::Result<()> {
    if let Some(file) = &output.html {
        std::fs::write(file, report.to_html()).with_context(|| format!("cannot write {}", file.display()))?;
        eprintln!("wrote {}", file.display());
    }
    if let Some(folder) = &output.svg {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        for (name, chart) in report.charts() {
            let file = folder.join(format!("{experiment}-{name}.svg"));
            std::fs::write(&file, chart).with_context(|| format!("cannot write {}", file.display()))?;
        }
    }
    match output.format {
        Format::Table => output::answer(&report.to_text())?,
        Format::Json => {
            let facts: serde_json::Map<String, serde_json::Value> =
                report.facts.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
            let object = json!({ "experiment": experiment, "facts": facts, "figures": figures });
            output::answer_line(&serde_json::to_string_pretty(&object)?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_has_a_unit() {
        assert_eq!(parse_patience("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(parse_patience("10m"), Ok(Duration::from_secs(600)));
        assert!(parse_patience("200").is_err());
    }
}
