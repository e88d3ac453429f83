//! CSV (RFC 4180, lines that end in LF) and Markdown.

use std::io::{self, Write};

use farbird_types::Value;

use super::{Cell, Layout, Style};
use crate::session::Column;

/// Comma-separated values. NULL is nothing, an empty text is `""`.
pub(super) struct Csv<'a> {
    style: &'a Style,
}

impl<'a> Csv<'a> {
    pub(super) fn new(style: &'a Style) -> Csv<'a> {
        Csv { style }
    }
}

impl Layout for Csv<'_> {
    fn begin(&mut self, columns: &[Column], out: &mut dyn Write) -> io::Result<()> {
        if !self.style.heading {
            return Ok(());
        }
        let heads: Vec<String> = columns.iter().map(|column| csv_cell(&column.name)).collect();
        writeln!(out, "{}", heads.join(","))
    }

    fn row(&mut self, _values: &[Value], cells: Vec<Cell>, out: &mut dyn Write) -> io::Result<()> {
        let line: Vec<String> =
            cells.iter().map(|cell| cell.as_deref().map_or(String::new(), csv_cell)).collect();
        writeln!(out, "{}", line.join(","))
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

fn csv_cell(text: &str) -> String {
    if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// A table of GitHub's Markdown.
pub(super) struct Markdown;

impl Layout for Markdown {
    fn begin(&mut self, columns: &[Column], out: &mut dyn Write) -> io::Result<()> {
        let heads: Vec<String> = columns.iter().map(|column| markdown_cell(&column.name)).collect();
        let rule = |column: &Column| if super::is_right_aligned(column) { "---:" } else { "---" };
        let rules: Vec<&str> = columns.iter().map(rule).collect();
        writeln!(out, "| {} |\n| {} |", heads.join(" | "), rules.join(" | "))
    }

    fn row(&mut self, _values: &[Value], cells: Vec<Cell>, out: &mut dyn Write) -> io::Result<()> {
        let cells: Vec<String> =
            cells.iter().map(|cell| cell.as_deref().map_or(String::new(), markdown_cell)).collect();
        writeln!(out, "| {} |", cells.join(" | "))
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

fn markdown_cell(text: &str) -> String {
    text.trim_end().replace('\\', "\\\\").replace('|', "\\|").replace("\r\n", "<br>").replace('\n', "<br>")
}
