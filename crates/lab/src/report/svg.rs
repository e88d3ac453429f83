//! Drawing: a few shapes of SVG, with colours by class so that a chart follows the page's light or dark scheme.

use std::fmt::Write;

/// Classes of charts that are files of their own. The page has the same, and more.
pub(super) const STYLE: &str = include_str!("chart.css");

/// A drawing.
#[derive(Debug)]
pub(super) struct Svg {
    width: f64,
    height: f64,
    title: String,
    body: String,
}

/// Which end of a text its position is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    pub(super) fn new(title: &str, width: f64, height: f64) -> Svg {
        Svg { width, height, title: title.to_owned(), body: String::new() }
    }

    pub(super) fn rect(&mut self, class: &str, [x, y, width, height]: [f64; 4], radius: f64) {
        self.push(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{radius:.1}\"/>\n"
        ));
    }

    /// As [`Svg::rect`], with a text that is shown to who points at it.
    pub(super) fn named_rect(
        &mut self,
        class: &str,
        [x, y, width, height]: [f64; 4],
        radius: f64,
        name: &str,
    ) {
        let name = escape(name);
        self.push(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{radius:.1}\">\
             <title>{name}</title></rect>\n"
        ));
    }

    pub(super) fn line(&mut self, class: &str, [x1, y1, x2, y2]: [f64; 4]) {
        self.push(format_args!(
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>\n"
        ));
    }

    pub(super) fn text(&mut self, class: &str, anchor: Anchor, [x, y]: [f64; 2], text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escape(text);
        self.push(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>\n"
        ));
    }

    fn push(&mut self, shape: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.body.write_fmt(shape);
    }

    /// To stand in a page that has the classes.
    pub(super) fn to_element(&self) -> String {
        self.written("")
    }

    /// To stand alone.
    pub(super) fn to_file(&self) -> String {
        self.written(&format!("<style>{STYLE}</style>\n"))
    }

    fn written(&self, style: &str) -> String {
        let Svg { width, height, title, body } = self;
        let title = escape(title);
        format!(
            "<svg xmlns=\"{NAMESPACE}\" class=\"chart\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{title}\">\n\
             {style}{body}</svg>\n"
        )
    }
}

/// What makes a file an SVG: a name, not an address that anybody asks.
pub(super) const NAMESPACE: &str = "http://www.w3.org/2000/svg";

/// A text in markup.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML has no place for the other control characters.
            '\n' | '\t' => out.push(' '),
            other if other.is_control() => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

/// About how wide a text is, in units of the drawing, at a font size. Fonts differ; room is left.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let units: f64 = text
        .chars()
        .map(|character| match character {
            'i' | 'l' | 'j' | 't' | 'f' | 'I' | '.' | ',' | ':' | ' ' | '(' | ')' | '\'' | '|' => 0.36,
            'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.95,
            'A'..='Z' => 0.72,
            _ => 0.62,
        })
        .sum();
    units * size
}

/// A step of an axis up to `most` such that there are about `wanted` of them: 1, 2 or 5 times a power of ten.
pub(super) fn axis_step(most: f64, wanted: f64) -> f64 {
    let rough = (most / wanted).max(f64::MIN_POSITIVE);
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * power >= rough);
    step.unwrap_or(10.0) * power
}
