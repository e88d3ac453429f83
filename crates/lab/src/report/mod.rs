//! Reports: what an experiment found, as tables and charts, written as text for a terminal or as one HTML page.
//!
//! # Place
//! Pure functions from values to text: no files, no clock, no client. The experiments ([`crate::articles`]) know nothing
//! of reports; the binary puts figures into one.
//!
//! # Promises
//! - The page needs nothing from outside: no script, no font, no address. Its charts are SVG in the page itself, and each
//!   can also be had as a file of its own ([`BarChart::to_svg`], [`Waterfall::to_svg`]).
//! - Texts are escaped: whatever a server says of itself cannot become markup.

mod bars;
mod html;
mod number;
mod svg;
mod table;
mod text;
mod waterfall;

pub use bars::{Bar, BarChart, BarKind, Group, Series, Tone};
pub use number::{bytes, count, duration, rate};
pub use table::{Align, Cell, Table, TableColumn};
pub use waterfall::{Lane, Step, Waterfall};

/// What an experiment found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Its name.
    pub title: String,
    /// A sentence or two under it.
    pub lead: String,
    /// What the figures depend on: machine, servers, link.
    pub facts: Vec<(String, String)>,
    /// The findings.
    pub sections: Vec<Section>,
}

/// A part of a report.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Section {
    /// Its heading.
    pub heading: String,
    /// A sentence or two under it; may be empty.
    pub lead: String,
    /// What it shows, in order.
    pub blocks: Vec<Block>,
}

/// Something to show.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A remark.
    Note(String),
    /// A statement of SQL, or a command.
    Code(String),
    /// Figures.
    Table(Table),
    /// Figures as bars. Left out of texts for terminals: the table beside it has the same figures.
    Bars(BarChart),
    /// Flights of one run. Only in the page.
    Waterfall(Waterfall),
}

impl Report {
    /// For a terminal.
    pub fn to_text(&self) -> String {
        text::report(self)
    }

    /// One page that needs nothing else.
    pub fn to_html(&self) -> String {
        html::page(self)
    }

    /// The charts, each with a name made of its title, as files of their own.
    pub fn charts(&self) -> Vec<(String, String)> {
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        let charts = blocks.filter_map(|block| match block {
            Block::Bars(chart) => Some((file_name(&chart.title), chart.to_svg())),
            Block::Waterfall(waterfall) => Some((file_name(&waterfall.title), waterfall.to_svg())),
            Block::Note(_) | Block::Code(_) | Block::Table(_) => None,
        });
        charts.collect()
    }
}

/// Letters and digits of a title, with hyphens between the words.
fn file_name(title: &str) -> String {
    let mut name = String::new();
    for character in title.chars() {
        if character.is_ascii_alphanumeric() {
            name.push(character.to_ascii_lowercase());
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    name.trim_end_matches('-').to_owned()
}
