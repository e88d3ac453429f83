//! A waterfall: the flights of one run, one under the other, as a browser's network tab shows requests.
//!
//! The pale part of a bar is the wait for the first answer, the full part the time in which answers come in. A run that
//! waits for each answer before it asks again is a long staircase; one that asks ahead is a few bars.

use std::time::Duration;

use super::svg::{Anchor, Svg, axis_step, text_width};
use super::{bytes, duration};

/// What a flight belongs to: connecting, preparing, fetching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step(
    /// Number of its colour.
    pub u8,
);

/// A flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// What left: `op_execute, op_fetch`.
    pub label: String,
    /// What it belongs to.
    pub step: Step,
    /// When it left.
    pub departure: Duration,
    /// When the first bytes of its answers were there.
    pub first_answer: Duration,
    /// When the last of its answers was there.
    pub last_answer: Duration,
    /// Bytes that left, on the wire.
    pub sent_bytes: u64,
    /// Bytes that came until the next flight's answers, on the wire.
    pub received_bytes: u64,
}

/// The flights of one run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Waterfall {
    /// Its title.
    pub title: String,
    /// Names of the steps, by number.
    pub steps: Vec<String>,
    /// The flights, in the order in which they left.
    pub lanes: Vec<Lane>,
    /// A line under it.
    pub foot: String,
}

/// Most flights drawn; the others are counted.
const LANES_MAX: usize = 48;
const WIDTH: f64 = 960.0;
const LANE_HEIGHT: f64 = 19.0;
const BAR_HEIGHT: f64 = 11.0;
const NUMBER_WIDTH: f64 = 34.0;
const LABEL_SIZE: f64 = 11.5;
const LABEL_WIDTH_MAX: f64 = 345.0;
const BYTES_WIDTH: f64 = 132.0;
const KEY_HEIGHT: f64 = 24.0;

impl Waterfall {
    /// A file of its own.
    pub fn to_svg(&self) -> String {
        self.draw(true).to_file()
    }

    /// For a page, which shows the title itself.
    pub(super) fn to_element(&self) -> String {
        self.draw(false).to_element()
    }

    fn draw(&self, with_title: bool) -> Svg {
        let top = if with_title { 30.0 } else { 0.0 };
        let shown = self.lanes.len().min(LANES_MAX);
        let lanes = self.lanes.get(..shown).unwrap_or_default();
        let end = lanes.iter().map(|lane| lane.last_answer).max().unwrap_or_default();
        let lanes_top = top + KEY_HEIGHT + 26.0;
        let lanes_bottom = lanes_top + lanes.len() as f64 * LANE_HEIGHT;
        let label_width = lanes.iter().map(|lane| text_width(&lane.label, LABEL_SIZE)).fold(80.0, f64::max);
        let left = NUMBER_WIDTH + label_width.min(LABEL_WIDTH_MAX) + 12.0;
        let right = WIDTH - BYTES_WIDTH;
        let seconds = end.as_secs_f64().max(1e-6);
        let scale = (right - left) / seconds;

        let mut svg = Svg::new(&self.title, WIDTH, lanes_bottom + 34.0);
        if with_title {
            svg.text("title", Anchor::Start, [0.0, 18.0], &self.title);
        }
        self.draw_key(lanes, top, &mut svg);
        draw_axis(&mut svg, left, scale, seconds, [lanes_top - 6.0, lanes_bottom]);
        svg.text("axis", Anchor::End, [WIDTH, lanes_top - 10.0], "bytes out / in");
        for (index, lane) in lanes.iter().enumerate() {
            let y = lanes_top + index as f64 * LANE_HEIGHT;
            draw_lane(lane, index, y, left, scale, &mut svg);
        }
        let foot = match self.lanes.len() > shown {
            true => format!("The first {shown} flights, {}. {}", duration(end), self.foot),
            false => self.foot.clone(),
        };
        svg.text("axis", Anchor::Start, [0.0, lanes_bottom + 22.0], &foot);
        svg
    }

    fn draw_key(&self, lanes: &[Lane], top: f64, svg: &mut Svg) {
        let mut x = 0.0;
        for (index, name) in self.steps.iter().enumerate() {
            if !lanes.iter().any(|lane| usize::from(lane.step.0) == index) {
                continue;
            }
            svg.rect(&format!("bar step{}", index % STEP_COLOURS), [x, top + 3.0, 11.0, 11.0], 2.5);
            svg.text("key", Anchor::Start, [x + 17.0, top + 13.0], name);
            x += 17.0 + text_width(name, 12.5) + 18.0;
        }
        svg.text("key", Anchor::End, [WIDTH, top + 13.0], "pale: waiting   full: receiving");
    }
}

/// Colours of steps in the style sheet.
const STEP_COLOURS: usize = 6;

fn draw_axis(svg: &mut Svg, left: f64, scale: f64, seconds: f64, [top, bottom]: [f64; 2]) {
    let step = axis_step(seconds, 6.0);
    let mut at = 0.0;
    while at <= seconds * 1.0001 {
        let x = left + at * scale;
        svg.line(if at == 0.0 { "base" } else { "grid" }, [x, top, x, bottom]);
        svg.text("tick", Anchor::Middle, [x, top - 4.0], &moment(at, step));
        at += step;
    }
}

/// A moment on an axis with steps of so many seconds.
fn moment(at: f64, step: f64) -> String {
    match step {
        s if s >= 1.0 => format!("{at:.0} s"),
        s if s >= 0.001 => format!("{:.0} ms", at * 1e3),
        _ => format!("{:.2} ms", at * 1e3),
    }
}

fn draw_lane(lane: &Lane, index: usize, top: f64, left: f64, scale: f64, svg: &mut Svg) {
    let x = |time: Duration| left + time.as_secs_f64() * scale;
    if index % 2 == 1 {
        svg.rect("stripe", [0.0, top, WIDTH, LANE_HEIGHT], 0.0);
    }
    let text_y = top + LANE_HEIGHT - 5.5;
    svg.text("tick", Anchor::End, [NUMBER_WIDTH - 10.0, text_y], &(index + 1).to_string());
    svg.text("lane", Anchor::Start, [NUMBER_WIDTH, text_y], &shortened(&lane.label));
    let (departure, first) = (x(lane.departure), x(lane.first_answer));
    let last = x(lane.last_answer).max(first + 2.0);
    let bar_top = top + (LANE_HEIGHT - BAR_HEIGHT) / 2.0;
    let class = format!("bar step{}", usize::from(lane.step.0) % STEP_COLOURS);
    let name = format!(
        "{}: left at {}, first answer at {}, last at {}",
        lane.label,
        duration(lane.departure),
        duration(lane.first_answer),
        duration(lane.last_answer)
    );
    svg.named_rect(
        &format!("{class} waiting"),
        [departure, bar_top, (last - departure).max(1.0), BAR_HEIGHT],
        2.0,
        &name,
    );
    svg.named_rect(&class, [first, bar_top, last - first, BAR_HEIGHT], 2.0, &name);
    let carried = format!("{} / {}", bytes(lane.sent_bytes), bytes(lane.received_bytes));
    svg.text("tick", Anchor::End, [WIDTH, text_y], &carried);
}

/// A label that fits its column.
fn shortened(label: &str) -> String {
    if text_width(label, LABEL_SIZE) <= LABEL_WIDTH_MAX {
        return label.to_owned();
    }
    let mut out = String::new();
    for character in label.chars() {
        if text_width(&out, LABEL_SIZE) > LABEL_WIDTH_MAX - 12.0 {
            break;
        }
        out.push(character);
    }
    out.push('…');
    out
}
