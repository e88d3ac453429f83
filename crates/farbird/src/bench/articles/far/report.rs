//! What `farbird bench far` shows.

use std::time::Duration;

use farbird_lab::articles::far::{Asked, FarFigure, Goal, Way};
use farbird_lab::link::{Burst, Direction};
use farbird_lab::report::{
    BarKind, Block, Cell, Lane, Report, Section, Series, Step, Table, Tone, Waterfall, bytes, count,
};

use super::super::shown::{Bars, client, link_text, ratio, shown_ms, time_bar};
use super::Plan;

pub(super) fn report(
    plan: &Plan,
    facts: Vec<(String, String)>,
    figures: &[FarFigure],
    goals: &[Goal],
) -> Report {
    let mut facts = facts;
    facts.push(("link".to_owned(), link_text(&plan.link)));
    let allowed =
        [(plan.deferred_prepare, "deferred-prepare"), (plan.optimistic_writes, "optimistic-writes")];
    let allowed: Vec<&str> = allowed.iter().filter(|(is_on, _)| *is_on).map(|(_, name)| *name).collect();
    if !allowed.is_empty() {
        facts.push(("the edge's settings".to_owned(), allowed.join(", ")));
    }
    let mut sections = vec![overview(figures)];
    sections.extend(goal_section(goals));
    sections.extend(waterfalls(figures));
    Report {
        title: "Programs that know nothing of the distance".to_owned(),
        lead: "The same programs at a distant server and through a farlink: an edge beside them, an origin beside the server. \
               Trips are the time in which nothing arrived at the near end of the link, in round trips, which has in it what the \
               program itself did meanwhile. Waits are a program's waits for answers, across those for the other end."
            .to_owned(),
        facts,
        sections,
    }
}

/// The name of what ran.
fn name(figure: &FarFigure) -> String {
    match (figure.work, &figure.command) {
        (Some(work), _) => work.name().to_owned(),
        (None, Some(command)) => command.clone(),
        (None, None) => String::new(),
    }
}

fn time(figure: &FarFigure) -> String {
    let time = shown_ms(figure.projected_ms);
    if figure.is_complete { time } else { format!("about {time}") }
}

fn overview(figures: &[FarFigure]) -> Section {
    let labels = [
        "server",
        "program",
        "client",
        "",
        ">time",
        ">against without",
        ">trips",
        ">bytes out / in",
        ">waits",
        ">across",
        ">rows",
        ">BLOBs",
    ];
    let mut table = Table::new("", &labels);
    let mut far = Bars::new("Over the link", "milliseconds, less is better");
    let mut near = Bars::new("Without distance", "milliseconds, less is better");
    for figure in figures {
        let direct = figures.iter().find(|other| {
            other.way == Way::Direct
                && (&other.server, other.work, &other.command, other.preset)
                    == (&figure.server, figure.work, &figure.command, figure.preset)
        });
        let against = direct
            .filter(|_| figure.way != Way::Direct)
            .map(|direct| ratio(figure.projected_ms, direct.projected_ms))
            .unwrap_or_default();
        let client = figure.preset.map(client).unwrap_or_default();
        let is_strong = figure.way == Way::SecondRun;
        let line = figure.line;
        table.row([
            Cell::from(figure.server.as_str()),
            Cell::from(name(figure)),
            Cell::from(client.as_str()),
            Cell::from(figure.way.about()),
            Cell { text: time(figure), is_strong },
            Cell::from(against),
            Cell { text: line.map(|line| format!("{:.1}", line.trips)).unwrap_or_default(), is_strong },
            Cell::from(
                line.map(|line| format!("{} / {}", bytes(line.sent_bytes), bytes(line.received_bytes)))
                    .unwrap_or_default(),
            ),
            Cell::from(figure.waits.map(count).unwrap_or_default()),
            Cell::from(figure.across.map(count).unwrap_or_default()),
            Cell::from(figure.work.map(|_| count(figure.rows)).unwrap_or_default()),
            Cell::from(if figure.content_bytes > 0 { bytes(figure.content_bytes) } else { String::new() }),
        ]);
        let (tone, is_light) = match figure.way {
            Way::Direct => (Tone::Generation(1), false),
            Way::FirstRun => (Tone::Accent, true),
            Way::SecondRun => (Tone::Accent, false),
        };
        let series = Series { name: figure.way.about().to_owned(), tone, is_light };
        let group = format!("{}, {client}", name(figure));
        let kind = if figure.is_complete { BarKind::Measured } else { BarKind::Projected };
        let bars = if line.is_some() { &mut far } else { &mut near };
        bars.add(group.trim_end_matches(", "), &series, time_bar(figure.projected_ms, kind));
    }
    let mut blocks: Vec<Block> =
        [far.finish(), near.finish()].into_iter().flatten().map(Block::Bars).collect();
    blocks.push(Block::Table(table));
    let lead = match figures.iter().all(|figure| figure.is_complete) {
        true => String::new(),
        false => {
            "What took too long was ended; what all of it would have taken is marked \"about\".".to_owned()
        }
    };
    Section { heading: "All programs".to_owned(), lead, blocks }
}

fn goal_section(goals: &[Goal]) -> Option<Section> {
    if goals.is_empty() {
        return None;
    }
    let mut table = Table::new("", &["server", "client", "goal", ">wanted", ">reached", ""]);
    for goal in goals {
        let shown = |value: f64| match goal.unit {
            "trips" => format!("{value:.1} trips"),
            unit => format!("{value:.2} {unit}"),
        };
        table.row([
            Cell::from(goal.server.as_str()),
            Cell::from(goal.preset.map(client).unwrap_or_default()),
            Cell::from(goal.text.as_str()),
            Cell::from(shown(goal.wanted)),
            Cell::from(shown(goal.reached)),
            Cell { text: if goal.is_met { "met" } else { "MISSED" }.to_owned(), is_strong: !goal.is_met },
        ]);
    }
    let met = goals.iter().filter(|goal| goal.is_met).count();
    Some(Section {
        heading: "Goals".to_owned(),
        lead: format!("{met} met, {} missed. A quarter of a trip is not counted.", goals.len() - met),
        blocks: vec![Block::Table(table)],
    })
}

/// What crossed the link, for each program without and with the farlink.
fn waterfalls(figures: &[FarFigure]) -> Option<Section> {
    let blocks: Vec<Block> = figures
        .iter()
        .filter(|figure| figure.way != Way::FirstRun)
        .filter_map(|figure| {
            let mut title = format!("{}: {}", figure.server, name(figure));
            if let Some(preset) = figure.preset {
                title = format!("{title}, {}", client(preset));
            }
            let lanes = lanes(figure);
            let trips = figure.line.map_or(0.0, |line| line.trips);
            (!lanes.is_empty()).then(|| Waterfall {
                title: format!("{title}, {}", figure.way.about()),
                steps: vec![String::new(), String::new(), String::new(), "across the link".to_owned()],
                lanes,
                foot: format!("{trips:.1} trips in all."),
            })
        })
        .map(Block::Waterfall)
        .collect();
    (!blocks.is_empty()).then(|| Section {
        heading: "What crossed the link".to_owned(),
        lead: "What left together, when it left, and when what came next began and ended to arrive. Beside it stands what the \
               program had asked since the line above, of the server or of the edge beside it; what a program of yours asks is seen by \
               the edge alone."
            .to_owned(),
        blocks,
    })
}

/// Each burst that left, with what arrived from a round trip later on until the next one's answers.
fn lanes(figure: &FarFigure) -> Vec<Lane> {
    let round_trip = Duration::from_secs_f64(figure.round_trip_ms / 1e3);
    let of = |direction: Direction| figure.bursts.iter().filter(move |burst| burst.direction == direction);
    let departures: Vec<&Burst> = of(Direction::Up).collect();
    let slack = round_trip / 50;
    let mut lanes = Vec::new();
    for (index, burst) in departures.iter().enumerate() {
        let next = departures.get(index + 1).map(|next| next.sent_from);
        let answered_by = |from: Duration| from + round_trip;
        let arrived: Vec<&Burst> = of(Direction::Down)
            .filter(|answer| {
                answer.received_from + slack >= answered_by(burst.sent_from)
                    && next.is_none_or(|next| answer.received_from + slack < answered_by(next))
            })
            .collect();
        let before = match index {
            0 => Duration::ZERO,
            _ => departures.get(index - 1).map_or(Duration::ZERO, |before| before.sent_until),
        };
        let arrival = burst.sent_from + round_trip;
        let first_answer = arrived.iter().map(|answer| answer.received_from).min().unwrap_or(arrival);
        lanes.push(Lane {
            label: asked(&figure.asked, before, burst.sent_until + slack),
            step: Step(3),
            departure: burst.sent_from,
            first_answer,
            last_answer: arrived.iter().map(|answer| answer.received_until).max().unwrap_or(first_answer),
            sent_bytes: burst.bytes,
            received_bytes: arrived.iter().map(|answer| answer.bytes).sum(),
        });
    }
    lanes
}

/// What a program has asked in this time: `execute x12, fetch x12`.
fn asked(asked: &[Asked], from: Duration, until: Duration) -> String {
    let mut counts: Vec<(&str, u64)> = Vec::new();
    for asked in asked.iter().filter(|asked| asked.at > from && asked.at <= until) {
        for (name, count) in &asked.requests {
            let name = name.strip_prefix("op_").unwrap_or(name);
            let name = name.strip_suffix("_statement").unwrap_or(name);
            match counts.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += count,
                None => counts.push((name, *count)),
            }
        }
    }
    let texts: Vec<String> = counts
        .into_iter()
        .map(|(name, count)| if count == 1 { name.to_owned() } else { format!("{name} ×{count}") })
        .collect();
    texts.join(", ")
}
