//! How figures of several experiments become tables and charts.

use std::time::Duration;

use farbird_lab::articles::{FlightRecord, Preset, WireFigure};
use farbird_lab::link::LinkOptions;
use farbird_lab::report::{
    Bar, BarChart, BarKind, Cell, Group, Lane, Series, Step, Tone, Waterfall, bytes, count, duration,
};

/// A chart that is being filled: bars find their group and series by name.
pub(in crate::bench) struct Bars {
    chart: BarChart,
}

impl Bars {
    pub(in crate::bench) fn new(title: impl Into<String>, axis: &str) -> Bars {
        Bars {
            chart: BarChart {
                title: title.into(),
                axis: axis.to_owned(),
                series: Vec::new(),
                groups: Vec::new(),
            },
        }
    }

    /// Gives a series its place behind those that are here, before its first bar; gives the place.
    pub(in crate::bench) fn place(&mut self, series: &Series) -> usize {
        let all = &mut self.chart.series;
        all.iter().position(|one| one.name == series.name).unwrap_or_else(|| {
            all.push(series.clone());
            all.len() - 1
        })
    }

    /// Adds a bar; its series and group are made when they are met first, in that order.
    pub(in crate::bench) fn add(&mut self, group: &str, series: &Series, bar: Bar) {
        let place = self.place(series);
        let BarChart { groups, .. } = &mut self.chart;
        let at = groups.iter().position(|one| one.label == group).unwrap_or_else(|| {
            groups.push(Group { label: group.to_owned(), bars: Vec::new() });
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(at) {
            if group.bars.len() <= place {
                group.bars.resize(place + 1, None);
            }
            if let Some(slot) = group.bars.get_mut(place) {
                *slot = Some(bar);
            }
        }
    }

    /// The chart, unless it has nothing to compare.
    pub(in crate::bench) fn finish(self) -> Option<BarChart> {
        let bars = self.chart.groups.iter().flat_map(|group| &group.bars).flatten().count();
        (bars > 1).then_some(self.chart)
    }
}

/// A bar of milliseconds.
pub(in crate::bench) fn time_bar(milliseconds: f64, kind: BarKind) -> Bar {
    let time = shown_ms(milliseconds);
    let label = if kind == BarKind::Projected { format!("about {time}") } else { time };
    Bar { value: milliseconds, label, kind }
}

/// A bar of round trips.
pub(in crate::bench) fn trips_bar(trips: u64) -> Bar {
    Bar { value: trips as f64, label: count(trips), kind: BarKind::Measured }
}

/// Milliseconds as people read them.
pub(in crate::bench) fn shown_ms(milliseconds: f64) -> String {
    duration(Duration::from_secs_f64(milliseconds.max(0.0) / 1e3))
}

pub(in crate::bench) fn tone(preset: Preset) -> Tone {
    match preset {
        Preset::V2_0 => Tone::Generation(0),
        Preset::V2_5 => Tone::Generation(1),
        Preset::V5_0_1 => Tone::Generation(2),
        Preset::V5_0_2 => Tone::Generation(3),
        Preset::V5_0_3 => Tone::Generation(4),
        Preset::Farbird => Tone::Accent,
    }
}

/// The name of a client generation in a key: `5.0.3 client`.
pub(in crate::bench) fn client(preset: Preset) -> String {
    match preset {
        Preset::Farbird => "farbird client".to_owned(),
        other => format!("{} client", other.name()),
    }
}

/// Columns of wire statistics.
pub(in crate::bench) const WIRE_COLUMNS: [&str; 5] =
    [">round trips", ">logical packets", ">logical bytes", ">physical packets", ">physical bytes"];

/// Cells under them; what was sent stands before what was received.
pub(in crate::bench) fn wire_cells(wire: &WireFigure) -> [Cell; 5] {
    let both = |sent: String, received: String| Cell::from(format!("{sent} / {received}"));
    [
        Cell::from(count(wire.round_trips)),
        both(count(wire.logical_packets_sent), count(wire.logical_packets_received)),
        both(bytes(wire.logical_bytes_sent), bytes(wire.logical_bytes_received)),
        both(count(wire.physical_packets_sent), count(wire.physical_packets_received)),
        both(bytes(wire.physical_bytes_sent), bytes(wire.physical_bytes_received)),
    ]
}

/// The link in words.
pub(in crate::bench) fn link_text(link: &LinkOptions) -> String {
    match *link == LinkOptions::default() {
        true => "none in between".to_owned(),
        false => format!("{link}, emulated in this process"),
    }
}

/// How many times as long: `5.2x`.
pub(in crate::bench) fn ratio(value: f64, base: f64) -> String {
    if base <= 0.0 {
        return String::new();
    }
    match value / base {
        r if r < 10.0 => format!("{r:.2}x"),
        r if r < 100.0 => format!("{r:.1}x"),
        r => format!("{r:.0}x"),
    }
}

/// Heading over waterfalls.
pub(in crate::bench) const WATERFALL: &str = "Flights of one run";
/// What they show.
pub(in crate::bench) const WATERFALL_LEAD: &str = "Requests that left together, when they left, and when their answers came. The first \
                                         flight also waits for TCP's own round trip.";

/// What flights belong to, by the number of their colours.
const STEPS: [&str; 6] = ["connecting", "starting and preparing", "", "rows", "BLOBs", "ending"];

/// A waterfall of a run's flights, with a line under it.
pub(in crate::bench) fn waterfall(
    title: String,
    flights: &[FlightRecord],
    foot: String,
) -> Option<Waterfall> {
    let lanes: Vec<Lane> = flights
        .iter()
        .filter_map(|flight| {
            let (first_answer, last_answer) = (flight.first_answer?, flight.last_answer?);
            Some(Lane {
                label: requests_text(flight),
                step: step(flight),
                departure: flight.departure,
                first_answer,
                last_answer,
                sent_bytes: flight.sent_bytes,
                received_bytes: flight.received_bytes,
            })
        })
        .collect();
    let steps = STEPS.iter().map(|step| (*step).to_owned()).collect();
    (!lanes.is_empty()).then_some(Waterfall { title, steps, lanes, foot })
}

/// `execute, fetch ×3`: each operation once, with how many there are of it.
fn requests_text(flight: &FlightRecord) -> String {
    let mut counts: Vec<(&str, u32)> = Vec::new();
    for (name, count) in &flight.requests {
        let name = name.strip_prefix("op_").unwrap_or(name);
        let name = name.strip_suffix("_statement").unwrap_or(name);
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += count,
            None => counts.push((name, *count)),
        }
    }
    let texts: Vec<String> = counts
        .into_iter()
        .map(|(name, count)| if count == 1 { name.to_owned() } else { format!("{name} ×{count}") })
        .collect();
    texts.join(", ")
}

/// What a flight is for: the last thing in it that matters.
fn step(flight: &FlightRecord) -> Step {
    let has =
        |parts: &[&str]| flight.requests.iter().any(|(name, _)| parts.iter().any(|part| name.contains(part)));
    Step(match () {
        () if has(&["open_blob", "get_segment"]) => 4,
        () if has(&["execute", "fetch"]) => 3,
        () if has(&["connect", "auth", "crypt", "attach"]) => 0,
        () if has(&["transaction", "allocate", "prepare"]) => 1,
        () => 5,
    })
}
