//! The contest's results as a table with bars for people, and as JSON for programs.

use std::collections::BTreeMap;
use std::fmt::Write;

use farbird_lab::contest::{About, Better, Figure, Goal, Role, Unit};
use serde_json::{Map, Value, json};

/// Width of the longest bar.
const BAR_CHARACTERS: f64 = 24.0;

/// Everything that is reported.
pub(super) struct Report {
    /// Processor, memory and the like.
    pub(super) machine: String,
    pub(super) sides: BTreeMap<Role, About>,
    pub(super) figures: Vec<Figure>,
}

impl Report {
    /// Goals that were not met.
    pub(super) fn missed(&self) -> usize {
        self.figures
            .iter()
            .flat_map(|figure| &figure.goals)
            .filter(|goal| goal.is_met() == Some(false))
            .count()
    }

    pub(super) fn to_text(&self) -> String {
        let mut out = format!("{}\n\n", self.machine);
        for (role, about) in &self.sides {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{:<15} {}\n{:<15} {}", role.name(), about.version, "", about.durability);
        }
        for figure in self.figures.iter().filter(|figure| !figure.samples.is_empty()) {
            out.push('\n');
            out.push_str(&figure_text(figure));
        }
        let goals: Vec<_> = self.figures.iter().flat_map(|figure| &figure.goals).collect();
        let met = goals.iter().filter(|goal| goal.is_met() == Some(true)).count();
        let open = goals.iter().filter(|goal| goal.is_met().is_none()).count();
        let _ = writeln!(out, "\ngoals: {met} met, {} missed, {open} without a comparison", self.missed());
        out
    }

    pub(super) fn to_json(&self) -> Value {
        let sides: Map<String, Value> = self
            .sides
            .iter()
            .map(|(role, about)| {
                let about = json!({ "version": about.version, "durability": about.durability });
                (role.key().to_owned(), about)
            })
            .collect();
        let figures: Vec<_> = self.figures.iter().map(figure_json).collect();
        json!({ "machine": self.machine, "sides": sides, "figures": figures })
    }
}

/// What was done, a line with a bar for each side, a line for each goal.
fn figure_text(figure: &Figure) -> String {
    let mut out = format!("{} [{}]\n", figure.title, figure.unit.name());
    let most = figure.samples.values().map(|sample| sample.best).fold(f64::MIN_POSITIVE, f64::max);
    let own = [Role::Embedded, Role::Served].into_iter().find(|role| figure.samples.contains_key(role));
    for (role, sample) in &figure.samples {
        let ratio = own
            .filter(|own| own != role)
            .and_then(|own| Some((own, figure.ratio(own, *role)?)))
            .map(|(own, ratio)| format!("{} is {}x as good", own.name(), shown_ratio(ratio)))
            .unwrap_or_default();
        let median = match sample.runs {
            1 => String::new(),
            runs => format!("(median {} of {runs})", shown(sample.median, figure.unit)),
        };
        let _ = writeln!(
            out,
            "  {:<15} {:>12}  {:<bar$}  {:<30} {}",
            role.name(),
            shown(sample.best, figure.unit),
            bar(sample.best / most),
            median,
            ratio,
            bar = BAR_CHARACTERS as usize,
        );
    }
    for goal in &figure.goals {
        out.push_str(&goal_text(goal));
    }
    // Blanks at the ends of lines are of no use to anybody.
    out.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn goal_text(goal: &Goal) -> String {
    match (goal.is_met(), goal.reached) {
        (Some(true), Some(reached)) => {
            format!("  goal MET     {} (reached {})\n", goal.text, shown_ratio(reached))
        }
        (Some(false), Some(reached)) => {
            format!("  goal MISSED  {} (reached {})\n", goal.text, shown_ratio(reached))
        }
        _ => format!("  goal ?       {} (nothing to compare with)\n", goal.text),
    }
}

/// A bar of eighths of characters.
fn bar(share: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * BAR_CHARACTERS * 8.0).round().max(1.0) as usize;
    let partial = EIGHTHS.get(eighths % 8).copied().unwrap_or_default();
    format!("{}{partial}", "█".repeat(eighths / 8))
}

fn shown(number: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds if number < 0.001 => format!("{number:.6}"),
        Unit::Seconds if number < 0.1 => format!("{number:.4}"),
        Unit::Seconds => format!("{number:.2}"),
        Unit::BytesPerRow => format!("{number:.2}"),
        Unit::PerSecond => format!("{number:.0}"),
    }
}

/// Three figures that count.
fn shown_ratio(number: f64) -> String {
    match number {
        _ if number >= 100.0 => format!("{number:.0}"),
        _ if number >= 10.0 => format!("{number:.1}"),
        _ if number >= 0.1 => format!("{number:.2}"),
        _ => format!("{number:.4}"),
    }
}

fn figure_json(figure: &Figure) -> Value {
    let sides: Map<String, Value> = figure
        .samples
        .iter()
        .map(|(role, sample)| {
            let sample = json!({ "best": sample.best, "median": sample.median, "runs": sample.runs });
            (role.key().to_owned(), sample)
        })
        .collect();
    let goals: Vec<_> = figure
        .goals
        .iter()
        .map(|goal| {
            let better = match goal.better {
                Better::Lower => "lower",
                Better::Higher => "higher",
            };
            json!({
                "goal": goal.text, "wanted": goal.wanted, "reached": goal.reached, "better": better,
                "met": goal.is_met(),
            })
        })
        .collect();
    json!({
        "name": figure.key, "title": figure.title, "unit": figure.unit.name(), "sides": sides, "goals": goals,
    })
}

#[cfg(test)]
mod tests {
    use farbird_lab::contest::Sample;

    use super::*;

    fn report() -> Report {
        let sample = |best| Sample { best, median: best, runs: 1 };
        let figure = Figure {
            key: "scan",
            title: "scan".to_owned(),
            unit: Unit::Seconds,
            samples: BTreeMap::from([(Role::Embedded, sample(0.05)), (Role::Firebird, sample(0.5))]),
            goals: vec![
                Goal {
                    text: "at least 5x Firebird".to_owned(),
                    wanted: 5.0,
                    reached: Some(10.0),
                    better: Better::Higher,
                },
                Goal { text: "fast".to_owned(), wanted: 0.01, reached: Some(0.05), better: Better::Lower },
                Goal { text: "other".to_owned(), wanted: 1.0, reached: None, better: Better::Higher },
            ],
        };
        let about = About { version: "one".to_owned(), durability: "safe".to_owned() };
        Report {
            machine: "a machine".to_owned(),
            sides: BTreeMap::from([(Role::Embedded, about)]),
            figures: vec![figure],
        }
    }

    #[test]
    fn people_see_both_sides_the_ratio_and_the_goals() {
        let text = report().to_text();
        for part in [
            "0.0500",
            "Farbird is 10.0x as good",
            "goal MET     at least 5x Firebird",
            "goal MISSED  fast",
            "goal ?       other",
            "goals: 1 met, 1 missed, 1 without a comparison",
        ] {
            assert!(text.contains(part), "{part} is not in:\n{text}");
        }
    }

    #[test]
    fn programs_get_the_same() {
        let json = report().to_json();
        assert_eq!(json["figures"][0]["sides"]["firebird"]["best"], 0.5);
        assert_eq!(json["figures"][0]["goals"][2]["met"], Value::Null);
    }
}
