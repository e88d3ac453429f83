//! EXPLAIN for people: the tree on the left, and the figures that there are beside it.

use std::io::{self, Write};

use farbird_types::Value;

use super::{Cell, Layout, Style, on_one_line, pad, width_of};
use crate::session::Column;

/// What columns are called here, and how their figures look; those of others are left out.
const FIGURES: &[(&str, &str, Shape)] = &[
    ("ESTIMATED_ROWS", "expected rows", Shape::Number),
    ("ACTUAL_ROWS", "rows", Shape::Number),
    ("LOOPS", "loops", Shape::Number),
    ("MILLISECONDS", "ms", Shape::Number),
    ("OWN_MILLISECONDS", "own ms", Shape::Number),
    ("MEMORY_PEAK", "memory", Shape::Bytes),
    ("SPILLED", "spilled", Shape::Bytes),
    ("ROWS_READ", "read", Shape::Number),
    ("BLOCKS_READ", "blocks", Shape::Number),
    ("BLOCKS_SKIPPED", "skipped", Shape::Number),
    ("WITHOUT_PARTNER", "no partner", Shape::Number),
    ("ESTIMATED_COST", "cost", Shape::Number),
];

/// The column with the tree.
const TREE: &str = "OPERATOR";

/// How a figure looks.
#[derive(Clone, Copy)]
enum Shape {
    Number,
    Bytes,
}

/// An explained plan.
pub(super) struct Tree<'a> {
    style: &'a Style,
    names: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(style: &'a Style) -> Tree<'a> {
        Tree { style, names: Vec::new(), rows: Vec::new() }
    }

    /// The texts of a column, its head first; nothing if no row has a figure there.
    fn figures(&self, name: &str, head: &str, shape: Shape) -> Option<Vec<String>> {
        let place = self.names.iter().position(|known| known == name)?;
        let cells = self.rows.iter().map(|row| row.get(place).cloned().flatten());
        let texts: Vec<String> =
            cells.map(|cell| cell.map_or(String::new(), |text| shown(&text, shape))).collect();
        let says_something = texts.iter().any(|text| !text.is_empty() && text != "0");
        says_something.then(|| std::iter::once(head.to_owned()).chain(texts).collect())
    }
}

impl Layout for Tree<'_> {
    fn begin(&mut self, columns: &[Column], _out: &mut dyn Write) -> io::Result<()> {
        self.names = columns.iter().map(|column| column.name.clone()).collect();
        Ok(())
    }

    fn row(&mut self, _values: &[Value], cells: Vec<Cell>, _out: &mut dyn Write) -> io::Result<()> {
        self.rows.push(cells);
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let place = self.names.iter().position(|name| name == TREE);
        let tree = self.rows.iter().map(|row| {
            let cell = place.and_then(|place| row.get(place)).cloned().flatten();
            on_one_line(cell.unwrap_or_default().trim_end_matches(' '))
        });
        let tree: Vec<String> = std::iter::once(String::new()).chain(tree).collect();
        let figures = FIGURES.iter().filter_map(|(name, head, shape)| self.figures(name, head, *shape));
        let columns: Vec<Vec<String>> = std::iter::once(tree).chain(figures).collect();
        let widths: Vec<usize> = columns
            .iter()
            .map(|column| column.iter().map(|text| width_of(text)).max().unwrap_or_default())
            .collect();
        for line in usize::from(!self.style.heading)..=self.rows.len() {
            let cells = columns.iter().zip(&widths).enumerate().map(|(number, (column, width))| {
                pad(column.get(line).map_or("", String::as_str), *width, number > 0)
            });
            let text = cells.collect::<Vec<_>>().join("  ");
            match self.style.color && line == 0 {
                true => writeln!(out, "{}", nu_ansi_term::Style::new().bold().paint(text.trim_end()))?,
                false => writeln!(out, "{}", text.trim_end())?,
            }
        }
        Ok(())
    }
}

/// A figure: zeros behind the point say nothing.
fn shown(text: &str, shape: Shape) -> String {
    let text = text.trim();
    match (shape, text.parse::<u64>()) {
        (Shape::Bytes, Ok(bytes)) => in_units(bytes),
        _ if text.contains('.') => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        _ => text.to_owned(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "rounded")]
fn in_units(bytes: u64) -> String {
    match bytes {
        0..1_024 => bytes.to_string(),
        1_024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}
