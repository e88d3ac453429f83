//! What one database made of one piece of work.

use serde::Serialize;

/// How a piece of work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was done, and its answer is that of the others, if there are others.
    Done,
    /// It took too long and was ended.
    TimedOut,
    /// The database refused it.
    Failed,
    /// Its answer is not that of the others.
    Differs,
}

/// What a value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Unit {
    /// Milliseconds: less is better.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Executions per second: more is better.
    #[serde(rename = "/s")]
    PerSecond,
}

/// How long single operations took, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Percentiles {
    /// Half of them took no longer.
    pub p50_ms: f64,
    /// 95 of a hundred.
    pub p95_ms: f64,
    /// 99 of a hundred.
    pub p99_ms: f64,
    /// The longest.
    pub max_ms: f64,
}

impl Percentiles {
    /// Of times in milliseconds, which it sorts. `None` if there are none.
    pub(super) fn of(times: &mut [f64]) -> Option<Percentiles> {
        times.sort_by(f64::total_cmp);
        let at =
            |share: f64| times.get(((times.len() as f64 * share) as usize).min(times.len() - 1)).copied();
        let max_ms = *times.last()?;
        Some(Percentiles { p50_ms: at(0.5)?, p95_ms: at(0.95)?, p99_ms: at(0.99)?, max_ms })
    }
}

/// A figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// The section, as it is chosen: `tpch`.
    pub section: &'static str,
    /// The piece of work: `Q1`.
    pub name: String,
    /// What that is, in words.
    pub title: String,
    /// Who did it.
    pub server: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What the values count.
    pub unit: Unit,
    /// The best of the runs; `None` if none was finished.
    pub best: Option<f64>,
    /// Their median.
    pub median: Option<f64>,
    /// All runs that were finished, in their order.
    pub runs: Vec<f64>,
    /// Rows of the answer.
    pub row_count: Option<usize>,
    /// The sum of all numbers in the answer.
    pub number_sum: Option<f64>,
    /// Of single operations.
    pub percentiles: Option<Percentiles>,
    /// What the database said, or how its answer differs.
    pub message: Option<String>,
}

impl Figure {
    pub(super) fn new(section: &'static str, name: &str, title: &str, server: &str) -> Figure {
        Figure {
            section,
            name: name.to_owned(),
            title: title.to_owned(),
            server: server.to_owned(),
            outcome: Outcome::Done,
            unit: Unit::Milliseconds,
            best: None,
            median: None,
            runs: Vec::new(),
            row_count: None,
            number_sum: None,
            percentiles: None,
            message: None,
        }
    }

    /// Takes the value of one more run.
    pub(super) fn add(&mut self, value: f64) {
        self.runs.push(value);
        let mut sorted = self.runs.clone();
        sorted.sort_by(f64::total_cmp);
        self.best = match self.unit {
            Unit::Milliseconds => sorted.first(),
            Unit::PerSecond => sorted.last(),
        }
        .copied();
        self.median = sorted.get(sorted.len() / 2).copied();
    }

    pub(super) fn end(&mut self, outcome: Outcome, message: impl Into<String>) {
        self.outcome = outcome;
        self.message = Some(message.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_the_shortest_time_or_the_highest_rate() {
        let mut figure = Figure::new("tpch", "Q1", "", "Farbird");
        for value in [3.0, 1.0, 2.0] {
            figure.add(value);
        }
        assert_eq!((figure.best, figure.median), (Some(1.0), Some(2.0)));
        figure.unit = Unit::PerSecond;
        figure.add(0.5);
        assert_eq!(figure.best, Some(3.0));
    }

    #[test]
    fn percentiles_of_a_hundred() {
        let mut times: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let of = Percentiles::of(&mut times);
        let wanted = Percentiles { p50_ms: 51.0, p95_ms: 96.0, p99_ms: 100.0, max_ms: 100.0 };
        assert_eq!(of, Some(wanted));
        assert_eq!(Percentiles::of(&mut []), None);
    }
}
