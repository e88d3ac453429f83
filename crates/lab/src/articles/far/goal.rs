//! What the farlink is meant to reach, at 200 ms and 35 Mbit/s, and whether it has.

use std::time::Duration;

use serde::Serialize;

use super::{FarFigure, Sizes, Way, Work};
use crate::articles::Preset;
use crate::link::{LinkOptions, Rate};

/// A goal, and what was reached.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Goal {
    /// The server.
    pub server: String,
    /// The client generation; `None` for a program of others.
    pub preset: Option<Preset>,
    /// What was to be reached.
    pub text: String,
    /// The most that meets it.
    pub wanted: f64,
    /// What was reached.
    pub reached: f64,
    /// What is counted: `s`, `trips`, `x`.
    pub unit: &'static str,
    /// Whether it was met.
    pub is_met: bool,
}

/// Trips are told from times: so much of one is not another trip.
const TRIP_TOLERANCE: f64 = 0.25;
/// What frames, encryption and the end of a stream may take of a line's speed.
const LINE_SHARE: f64 = 0.9;

/// The goals that these figures speak to; those of time only on the link and for the sizes that they were set for.
pub fn goals(figures: &[FarFigure], link: &LinkOptions, sizes: &Sizes) -> Vec<Goal> {
    let as_set = LinkOptions::with_round_trip(Duration::from_millis(200)).with_rate(Some(Rate::mbit(35)));
    let is_usual = *link == as_set && *sizes == Sizes::default();
    let mut goals = Vec::new();
    for figure in figures {
        if figure.way == Way::Direct || figure.preset.is_none() {
            continue;
        }
        let mut add = |text: &str, wanted: f64, reached: f64, unit| {
            goals.push(Goal {
                server: figure.server.clone(),
                preset: figure.preset,
                text: text.to_owned(),
                wanted,
                reached,
                unit,
                is_met: reached <= wanted,
            });
        };
        let seconds = figure.projected_ms / 1e3;
        let trips = figure.line.map_or(0.0, |line| (line.trips - TRIP_TOLERANCE).max(0.0));
        match (figure.work, figure.way) {
            (Some(Work::Blobs), Way::SecondRun) if is_usual => {
                add("BLOBs of any size", 1.6, seconds, "s");
            }
            (Some(Work::Nested), Way::FirstRun) if is_usual => {
                add("nested loop, first run ever", 3.5, seconds, "s");
            }
            (Some(Work::Nested), Way::SecondRun) => {
                if is_usual {
                    add("nested loop", 1.2, seconds, "s");
                }
                add("nested loop", 5.0, trips, "trips");
            }
            (Some(Work::Connect), Way::SecondRun) => {
                if is_usual {
                    add("connect and first row", 0.45, seconds, "s");
                }
                add("connect and first row", 2.0, trips, "trips");
            }
            (Some(Work::Customers), Way::SecondRun) => {
                if let (Some(line), Some(rate)) = (figure.line, link.down.rate) {
                    let bytes = usize::try_from(line.received_bytes).unwrap_or(usize::MAX);
                    let at_speed = rate.time_of(bytes).as_secs_f64() / LINE_SHARE;
                    add(
                        "customers at the line's speed",
                        link.round_trip().as_secs_f64() + at_speed,
                        seconds,
                        "s",
                    );
                }
                add("customers", 1.0, trips, "trips");
            }
            (Some(Work::Points | Work::Fetch), Way::SecondRun) => {
                let direct = figures.iter().find(|other| {
                    (other.way, other.work, other.preset) == (Way::Direct, figure.work, figure.preset)
                        && other.server == figure.server
                });
                if let Some(direct) = direct.filter(|direct| direct.elapsed_ms > 0.0) {
                    let (text, wanted) = match figure.work {
                        Some(Work::Points) => ("point queries without distance", 1.5),
                        _ => ("narrow rows without distance", 1.2),
                    };
                    add(text, wanted, figure.elapsed_ms / direct.elapsed_ms, "x");
                }
            }
            _ => {}
        }
    }
    goals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::articles::far::LineFigure;

    fn figure(work: Work, way: Way, elapsed_ms: f64, trips: f64) -> FarFigure {
        let line = LineFigure { trips, sent_bytes: 1, received_bytes: 3_500_000, connections: 0 };
        FarFigure {
            server: "Farbird".to_owned(),
            work: Some(work),
            command: None,
            preset: Some(Preset::V2_5),
            way,
            round_trip_ms: 200.0,
            elapsed_ms,
            is_complete: true,
            projected_ms: elapsed_ms,
            line: work.is_far().then_some(line),
            waits: None,
            across: None,
            rows: 1,
            content_bytes: 0,
            asked: Vec::new(),
            bursts: Vec::new(),
        }
    }

    fn outcome(figures: &[FarFigure], link: &str) -> Vec<(String, bool)> {
        let goals = goals(figures, &link.parse().unwrap(), &Sizes::default());
        goals.into_iter().map(|goal| (format!("{}, {}", goal.text, goal.unit), goal.is_met)).collect()
    }

    #[test]
    fn goals_of_time_hold_on_the_link_that_they_were_set_for() {
        let figures = [
            figure(Work::Nested, Way::Direct, 24_000.0, 120.0),
            figure(Work::Nested, Way::FirstRun, 3_600.0, 9.0),
            figure(Work::Nested, Way::SecondRun, 1_100.0, 5.1),
        ];
        let (first, second) = ("nested loop, first run ever, s".to_owned(), "nested loop, s".to_owned());
        let trips = "nested loop, trips".to_owned();
        let seen = outcome(&figures, "rtt=200ms,rate=35mbit");
        assert_eq!(seen, [(first, false), (second, true), (trips.clone(), true)]);
        assert_eq!(outcome(&figures, "rtt=100ms"), [(trips, true)]);
    }

    #[test]
    fn an_edge_in_the_way_is_compared_with_none() {
        let figures =
            [figure(Work::Points, Way::Direct, 100.0, 0.0), figure(Work::Points, Way::SecondRun, 160.0, 0.0)];
        let seen = outcome(&figures, "rtt=200ms,rate=35mbit");
        assert_eq!(seen, [("point queries without distance, x".to_owned(), false)]);
    }

    #[test]
    fn rows_at_the_speed_of_the_line_are_its_bytes_and_a_trip() {
        // 3.5 MB take 0.8 s.
        let (slow, good) = (1_300.0, 1_050.0);
        for (elapsed, is_met) in [(slow, false), (good, true)] {
            let seen =
                outcome(&[figure(Work::Customers, Way::SecondRun, elapsed, 1.1)], "rtt=200ms,rate=35mbit");
            assert_eq!(seen[0], ("customers at the line's speed, s".to_owned(), is_met));
            assert!(seen[1].1);
        }
    }
}
