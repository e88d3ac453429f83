//! A line for each column of each row.

use std::io::{self, Write};

use farbird_types::Value;

use super::{Cell, Layout, Style, pad, width_of};
use crate::session::Column;

/// Rows one above the other.
pub(super) struct Expanded<'a> {
    style: &'a Style,
    heads: Vec<String>,
    width: usize,
    rows: u64,
}

impl<'a> Expanded<'a> {
    pub(super) fn new(style: &'a Style) -> Expanded<'a> {
        Expanded { style, heads: Vec::new(), width: 0, rows: 0 }
    }
}

impl Layout for Expanded<'_> {
    fn begin(&mut self, columns: &[Column], _out: &mut dyn Write) -> io::Result<()> {
        self.heads = columns.iter().map(|column| column.name.clone()).collect();
        self.width = self.heads.iter().map(|head| width_of(head)).max().unwrap_or_default();
        Ok(())
    }

    fn row(&mut self, _values: &[Value], cells: Vec<Cell>, out: &mut dyn Write) -> io::Result<()> {
        self.rows += 1;
        if self.style.heading {
            writeln!(out, "-- row {} {}", self.rows, "-".repeat(self.width))?;
        }
        for (head, cell) in self.heads.iter().zip(&cells) {
            let text = cell.as_deref().map_or(self.style.null.as_str(), |text| text.trim_end_matches(' '));
            // Further lines of a value stand under its first one.
            let mut lines = text.split('\n');
            writeln!(out, "{} | {}", pad(head, self.width, false), lines.next().unwrap_or_default())?;
            for line in lines {
                writeln!(out, "{} | {line}", pad("", self.width, false))?;
            }
        }
        Ok(())
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
