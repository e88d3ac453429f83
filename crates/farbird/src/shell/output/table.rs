//! Aligned columns. Their widths are those of the first rows; the others follow as they come.

use std::io::{self, Write};

use farbird_types::Value;

use super::{Cell, Layout, Style, is_right_aligned, on_one_line, pad, width_of};
use crate::session::Column;

/// Rows that are looked at for column widths before the first is printed.
const ROWS_FOR_WIDTHS: usize = 100;
/// Widest a column of a table gets; longer values are printed whole, out of line.
const WIDTH_MAX: usize = 60;

/// A table for people.
pub(super) struct Table<'a> {
    style: &'a Style,
    heads: Vec<String>,
    right: Vec<bool>,
    held: Vec<Vec<Cell>>,
    widths: Option<Vec<usize>>,
}

impl<'a> Table<'a> {
    pub(super) fn new(style: &'a Style) -> Table<'a> {
        Table { style, heads: Vec::new(), right: Vec::new(), held: Vec::new(), widths: None }
    }

    fn head(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let heading = self.style.heading;
        let head_width = |head: &String| if heading { width_of(head) } else { 0 };
        let mut widths: Vec<usize> = self.heads.iter().map(head_width).collect();
        let null_width = width_of(&self.style.null);
        for row in &self.held {
            for (width, cell) in widths.iter_mut().zip(row) {
                let cell = cell.as_deref().map_or(null_width, |text| width_of(text.trim_end_matches(' ')));
                *width = (*width).max(cell.min(WIDTH_MAX));
            }
        }
        if heading {
            let heads: Vec<String> = (self.heads.iter().zip(&widths).zip(&self.right))
                .map(|((head, width), right)| pad(head, *width, *right))
                .collect();
            let heads = heads.join("  ");
            match self.style.color {
                true => writeln!(out, "{}", nu_ansi_term::Style::new().bold().paint(heads.trim_end()))?,
                false => writeln!(out, "{}", heads.trim_end())?,
            }
            let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
            writeln!(out, "{}", rules.join("  "))?;
        }
        self.widths = Some(widths);
        for row in std::mem::take(&mut self.held) {
            self.line(&row, out)?;
        }
        Ok(())
    }

    fn line(&self, cells: &[Cell], out: &mut dyn Write) -> io::Result<()> {
        let widths = self.widths.as_deref().unwrap_or_default();
        let mut line = String::new();
        for (index, ((cell, width), right)) in cells.iter().zip(widths).zip(&self.right).enumerate() {
            if index > 0 {
                line.push_str("  ");
            }
            match cell {
                // Spaces at the end are those of a CHAR.
                Some(text) => line.push_str(&pad(&on_one_line(text.trim_end_matches(' ')), *width, *right)),
                None if self.style.color => {
                    let padded = pad(&self.style.null, *width, *right);
                    line.push_str(&nu_ansi_term::Style::new().dimmed().paint(padded).to_string());
                }
                None => line.push_str(&pad(&self.style.null, *width, *right)),
            }
        }
        writeln!(out, "{}", line.trim_end())
    }
}

impl Layout for Table<'_> {
    fn begin(&mut self, columns: &[Column], _out: &mut dyn Write) -> io::Result<()> {
        self.heads = columns.iter().map(|column| column.name.clone()).collect();
        self.right = columns.iter().map(is_right_aligned).collect();
        Ok(())
    }

    fn row(&mut self, _values: &[Value], cells: Vec<Cell>, out: &mut dyn Write) -> io::Result<()> {
        if self.widths.is_some() {
            return self.line(&cells, out);
        }
        self.held.push(cells);
        if self.held.len() >= ROWS_FOR_WIDTHS { self.head(out) } else { Ok(()) }
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.widths.is_none() { self.head(out) } else { Ok(()) }
    }
}
