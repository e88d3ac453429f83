//! What was measured, and what it is held to.

use std::collections::BTreeMap;

use super::side::Role;

/// Results of the runs of one piece of work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// The best.
    pub best: f64,
    /// The one in the middle; of an even number of runs the worse of the two.
    pub median: f64,
    /// How many there were.
    pub runs: usize,
}

impl Sample {
    /// The sample of these results; `None` of none.
    pub fn new(mut results: Vec<f64>, better: Better) -> Option<Sample> {
        results.sort_by(f64::total_cmp);
        if better == Better::Higher {
            results.reverse();
        }
        let (best, median) = (*results.first()?, *results.get(results.len() / 2)?);
        Some(Sample { best, median, runs: results.len() })
    }
}

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Time for all of it.
    Seconds,
    /// Bytes for each row.
    BytesPerRow,
    /// How often in a second.
    PerSecond,
}

impl Unit {
    /// As text.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::BytesPerRow => "bytes/row",
            Unit::PerSecond => "/s",
        }
    }

    /// Which way is better.
    pub const fn better(self) -> Better {
        match self {
            Unit::Seconds | Unit::BytesPerRow => Better::Lower,
            Unit::PerSecond => Better::Higher,
        }
    }
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Less.
    Lower,
    /// More.
    Higher,
}

/// What a figure is held to.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// In words.
    pub text: String,
    /// The number to reach.
    pub wanted: f64,
    /// The number reached; `None` if whom it is compared with did not take part.
    pub reached: Option<f64>,
    /// Which way is better.
    pub better: Better,
}

impl Goal {
    /// Whether it is met; `None` if that cannot be said.
    pub fn is_met(&self) -> Option<bool> {
        self.reached.map(|reached| match self.better {
            Better::Lower => reached <= self.wanted,
            Better::Higher => reached >= self.wanted,
        })
    }
}

/// One thing that was measured on several sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Name in machine-readable output.
    pub key: &'static str,
    /// What was done.
    pub title: String,
    /// What is counted.
    pub unit: Unit,
    /// What each side reached.
    pub samples: BTreeMap<Role, Sample>,
    /// What it is held to.
    pub goals: Vec<Goal>,
}

impl Figure {
    pub(crate) fn new(key: &'static str, title: impl Into<String>, unit: Unit) -> Figure {
        Figure { key, title: title.into(), unit, samples: BTreeMap::new(), goals: Vec::new() }
    }

    /// The best result of a side.
    pub fn best(&self, role: Role) -> Option<f64> {
        self.samples.get(&role).map(|sample| sample.best)
    }

    /// How many times as good a side is as another one.
    pub fn ratio(&self, role: Role, other: Role) -> Option<f64> {
        let (own, other) = (self.best(role)?, self.best(other)?);
        let (much, little) = match self.unit.better() {
            Better::Lower => (other, own),
            Better::Higher => (own, other),
        };
        (little > 0.0).then(|| much / little)
    }

    pub(crate) fn add(&mut self, role: Role, results: Vec<f64>) {
        if let Some(sample) = Sample::new(results, self.unit.better()) {
            self.samples.insert(role, sample);
        }
    }

    /// A side must reach this number.
    pub(crate) fn demand(&mut self, role: Role, text: impl Into<String>, wanted: f64) {
        let (reached, better) = (self.best(role), self.unit.better());
        self.goals.push(Goal { text: text.into(), wanted, reached, better });
    }

    /// A side must be so many times as good as another one.
    pub(crate) fn demand_ratio(&mut self, role: Role, other: Role, text: impl Into<String>, wanted: f64) {
        let reached = self.ratio(role, other);
        self.goals.push(Goal { text: text.into(), wanted, reached, better: Better::Higher });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_say_how_many_times_as_good() {
        let mut seconds = Figure::new("t", "time", Unit::Seconds);
        seconds.add(Role::Embedded, vec![2.0, 1.0, 3.0]);
        seconds.add(Role::Firebird, vec![10.0]);
        assert_eq!(seconds.samples[&Role::Embedded], Sample { best: 1.0, median: 2.0, runs: 3 });
        assert_eq!(seconds.ratio(Role::Embedded, Role::Firebird), Some(10.0));
        seconds.demand_ratio(Role::Embedded, Role::Firebird, "at least 5 times Firebird", 5.0);
        seconds.demand_ratio(Role::Embedded, Role::Postgres, "not behind PostgreSQL", 1.0);
        seconds.demand(Role::Embedded, "half a second", 0.5);
        let met: Vec<_> = seconds.goals.iter().map(Goal::is_met).collect();
        assert_eq!(met, [Some(true), None, Some(false)]);

        let mut rate = Figure::new("r", "rate", Unit::PerSecond);
        rate.add(Role::Embedded, vec![100.0, 300.0, 200.0, 250.0]);
        rate.add(Role::Postgres, vec![600.0]);
        assert_eq!(rate.samples[&Role::Embedded], Sample { best: 300.0, median: 200.0, runs: 4 });
        assert_eq!(rate.ratio(Role::Embedded, Role::Postgres), Some(0.5));
    }
}
