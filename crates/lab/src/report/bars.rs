//! Bar charts: groups of bars that lie side by side, with their values on them, as the articles draw them.

use super::svg::{Anchor, Svg, axis_step, text_width};

/// How a value came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarKind {
    /// It was measured in this run.
    Measured,
    /// A run was ended early, and this is what all of it would have come to.
    Projected,
    /// Somebody else published it.
    Published,
}

/// A bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Its length.
    pub value: f64,
    /// What stands at its end.
    pub label: String,
    /// How the value came about.
    pub kind: BarKind,
}

/// Colour of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// What the report is about.
    Accent,
    /// A generation before it: 0 is the oldest, 4 the newest.
    Generation(u8),
    /// Another product, by number.
    Other(u8),
}

impl Tone {
    fn class(self) -> String {
        match self {
            Tone::Accent => "accent".to_owned(),
            Tone::Generation(age) => format!("gen{}", age.min(4)),
            Tone::Other(number) => format!("other{}", number % 3),
        }
    }
}

/// What has one colour in all groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    /// Its name in the key.
    pub name: String,
    /// Its colour.
    pub tone: Tone,
    /// Whether it is a variant of the series before it, shown lighter.
    pub is_light: bool,
}

/// Bars that are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// What was measured.
    pub label: String,
    /// A bar for each series, or none where a series has no value.
    pub bars: Vec<Option<Bar>>,
}

/// A bar chart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BarChart {
    /// Its title.
    pub title: String,
    /// What the bars' lengths are: `ms`, `MB`, `rows a second`; and which way is good.
    pub axis: String,
    /// The series.
    pub series: Vec<Series>,
    /// The groups.
    pub groups: Vec<Group>,
}

const WIDTH: f64 = 960.0;
const BAR_HEIGHT: f64 = 15.0;
const BAR_GAP: f64 = 2.0;
const GROUP_GAP: f64 = 16.0;
const LABEL_SIZE: f64 = 13.0;
const VALUE_SIZE: f64 = 11.5;
/// How much wider bold letters are.
const BOLD_WIDTH: f64 = 1.1;
const KEY_ROW: f64 = 20.0;
const KEY_SWATCH: f64 = 11.0;
/// The shortest bar: a value that is there is seen.
const LENGTH_MIN: f64 = 2.0;

impl BarChart {
    /// A file of its own.
    pub fn to_svg(&self) -> String {
        self.draw(true).to_file()
    }

    /// For a page, which shows the title itself.
    pub(super) fn to_element(&self) -> String {
        self.draw(false).to_element()
    }

    fn draw(&self, with_title: bool) -> Svg {
        let top = if with_title { 34.0 } else { 4.0 };
        let key_rows = self.key_rows();
        let bars_top = top + key_rows.len() as f64 * KEY_ROW + 12.0;
        let left = self
            .groups
            .iter()
            .map(|group| text_width(&group.label, LABEL_SIZE))
            .fold(60.0, f64::max)
            .min(330.0)
            + 14.0;
        let heights: Vec<f64> = self.groups.iter().map(group_height).collect();
        let bars_bottom =
            bars_top + heights.iter().sum::<f64>() + GROUP_GAP * heights.len().saturating_sub(1) as f64;
        let bars = || self.groups.iter().flat_map(|group| group.bars.iter().flatten());
        let most = bars().map(|bar| bar.value).filter(|value| value.is_finite()).fold(0.0, f64::max);
        // Labels of what the reader looks for are bold, and wider.
        let label_room =
            bars().map(|bar| text_width(&bar.label, VALUE_SIZE * BOLD_WIDTH)).fold(0.0, f64::max) + 12.0;
        let length_max = (WIDTH - left - label_room).max(100.0);
        let scale = if most > 0.0 { length_max / most } else { 0.0 };

        let mut svg = Svg::new(&self.title, WIDTH, bars_bottom + 40.0);
        if with_title {
            svg.text("title", Anchor::Start, [0.0, 18.0], &self.title);
        }
        self.draw_key(&key_rows, top, &mut svg);
        self.draw_axis(&mut svg, left, scale, most, [bars_top - 6.0, bars_bottom + 6.0]);
        let mut y = bars_top;
        for (group, height) in self.groups.iter().zip(heights) {
            svg.text("label", Anchor::End, [left - 10.0, y + height / 2.0 + 4.5], &group.label);
            self.draw_group(group, left, y, scale, &mut svg);
            y += height + GROUP_GAP;
        }
        svg
    }

    fn draw_group(&self, group: &Group, left: f64, top: f64, scale: f64, svg: &mut Svg) {
        let present =
            self.series.iter().zip(&group.bars).filter_map(|(series, bar)| Some((series, bar.as_ref()?)));
        for (index, (series, bar)) in present.enumerate() {
            let y = top + index as f64 * (BAR_HEIGHT + BAR_GAP);
            let length = (bar.value.max(0.0) * scale).max(LENGTH_MIN);
            let kind = match bar.kind {
                BarKind::Measured => "",
                BarKind::Projected => " projected",
                BarKind::Published => " published",
            };
            let light = if series.is_light { " light" } else { "" };
            let class = format!("bar {}{light}{kind}", series.tone.class());
            let name = format!("{}, {}: {}", group.label, series.name, bar.label);
            svg.named_rect(&class, [left, y, length, BAR_HEIGHT], 2.5, &name);
            let strong = if series.tone == Tone::Accent { "value strong" } else { "value" };
            svg.text(strong, Anchor::Start, [left + length + 6.0, y + BAR_HEIGHT - 3.6], &bar.label);
        }
    }

    fn draw_axis(&self, svg: &mut Svg, left: f64, scale: f64, most: f64, [top, bottom]: [f64; 2]) {
        svg.line("base", [left, top, left, bottom]);
        svg.text("axis", Anchor::Start, [left, bottom + 30.0], &self.axis);
        if most <= 0.0 {
            return;
        }
        let whole = bars_are_whole(&self.groups);
        let step = if whole { axis_step(most, 6.0).max(1.0) } else { axis_step(most, 6.0) };
        let mut value = 0.0;
        while value <= most * 1.0001 {
            let x = left + value * scale;
            if value > 0.0 {
                svg.line("grid", [x, top, x, bottom]);
            }
            svg.text("tick", Anchor::Middle, [x, bottom + 14.0], &tick(value, step));
            value += step;
        }
    }

    /// The key, in as many lines as it needs: the series by number.
    fn key_rows(&self) -> Vec<Vec<usize>> {
        if self.series.len() < 2 {
            return Vec::new();
        }
        let mut rows: Vec<Vec<usize>> = vec![Vec::new()];
        let mut used = 0.0;
        for (index, series) in self.series.iter().enumerate() {
            let width = key_width(series);
            if used + width > WIDTH && used > 0.0 {
                rows.push(Vec::new());
                used = 0.0;
            }
            used += width;
            if let Some(row) = rows.last_mut() {
                row.push(index);
            }
        }
        rows
    }

    fn draw_key(&self, rows: &[Vec<usize>], top: f64, svg: &mut Svg) {
        for (line, row) in rows.iter().enumerate() {
            let y = top + line as f64 * KEY_ROW;
            let mut x = 0.0;
            for series in row.iter().filter_map(|index| self.series.get(*index)) {
                let light = if series.is_light { " light" } else { "" };
                let class = format!("bar {}{light}", series.tone.class());
                svg.rect(&class, [x, y + 2.0, KEY_SWATCH, KEY_SWATCH], 2.5);
                svg.text("key", Anchor::Start, [x + KEY_SWATCH + 6.0, y + 12.0], &series.name);
                x += key_width(series);
            }
        }
    }
}

/// Whether only counts are shown, whose axis has no fractions.
fn bars_are_whole(groups: &[Group]) -> bool {
    groups.iter().flat_map(|group| group.bars.iter().flatten()).all(|bar| bar.value.fract() == 0.0)
}

fn key_width(series: &Series) -> f64 {
    KEY_SWATCH + 6.0 + text_width(&series.name, 12.5) + 18.0
}

fn group_height(group: &Group) -> f64 {
    let bars = group.bars.iter().flatten().count().max(1) as f64;
    bars * BAR_HEIGHT + (bars - 1.0) * BAR_GAP
}

fn tick(value: f64, step: f64) -> String {
    if step >= 1.0 { super::count(value.round() as u64) } else { format!("{value:.*}", decimals(step)) }
}

fn decimals(step: f64) -> usize {
    (-step.log10().floor()).clamp(0.0, 6.0) as usize
}
