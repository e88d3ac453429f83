//! Results for people and for programs: what they look like, and where they go.

mod delimited;
mod expanded;
mod json;
mod pager;
mod table;
mod tree;

use std::io::Write;

use clap::ValueEnum;
use farbird_types::convert::to_display_text;
use farbird_types::{SqlType, TextType, Value};

pub(super) use pager::Screen;

use crate::session::{Blobs, Column, Failure, Sink, text_of_bytes};

/// Longest BLOB that is shown; the rest is said to be there.
const BLOB_BYTES_SHOWN: usize = 1 << 20;

/// How results look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns for people.
    #[value(alias = "aligned")]
    Table,
    /// A line for each column: for wide rows.
    Expanded,
    /// Comma-separated values with a header line per result.
    Csv,
    /// One JSON object per row.
    Json,
    /// A table for documents.
    Markdown,
}

impl Format {
    /// The format of a name.
    pub(super) fn by_name(name: &str) -> Option<Format> {
        <Format as ValueEnum>::from_str(name, true).ok()
    }

    /// Its name.
    pub(super) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Whether it is for people, who want to know how many rows there were.
    pub(super) fn is_for_people(self) -> bool {
        matches!(self, Format::Table | Format::Expanded)
    }
}

/// Which BLOBs are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlobDisplay {
    /// Contents of all of them: text as text, the rest as hexadecimal digits where it is no text.
    All,
    /// Contents of one subtype, ids of the others.
    Subtype(i16),
    /// Ids.
    Off,
}

/// How results look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) format: Format,
    /// What stands for NULL in results for people.
    pub(super) null: String,
    /// Whether the names of the columns are shown.
    pub(super) heading: bool,
    pub(super) blobs: BlobDisplay,
    /// Whether a terminal shows it, which can print bold.
    pub(super) color: bool,
}

impl Style {
    pub(super) fn new(format: Format) -> Style {
        Style { format, null: "<null>".to_owned(), heading: true, blobs: BlobDisplay::All, color: false }
    }
}

/// One cell: NULL or its text.
type Cell = Option<String>;

/// The rows of a result in one format.
trait Layout {
    /// Before the first row.
    fn begin(&mut self, columns: &[Column], out: &mut dyn Write) -> std::io::Result<()>;

    /// A row: its values and their texts.
    fn row(&mut self, values: &[Value], cells: Vec<Cell>, out: &mut dyn Write) -> std::io::Result<()>;

    /// Behind the last row: prints what was held back.
    fn end(&mut self, out: &mut dyn Write) -> std::io::Result<()>;
}

/// Prints one result.
pub(super) struct Printer<'a> {
    style: &'a Style,
    layout: Box<dyn Layout + 'a>,
    out: &'a mut dyn Write,
    columns: Vec<Column>,
    rows: u64,
}

impl<'a> Printer<'a> {
    pub(super) fn new(style: &'a Style, out: &'a mut dyn Write) -> Printer<'a> {
        let layout: Box<dyn Layout> = match style.format {
            Format::Table => Box::new(table::Table::new(style)),
            Format::Expanded => Box::new(expanded::Expanded::new(style)),
            Format::Csv => Box::new(delimited::Csv::new(style)),
            Format::Json => Box::new(json::JsonLines::default()),
            Format::Markdown => Box::new(delimited::Markdown),
        };
        Printer { style, layout, out, columns: Vec::new(), rows: 0 }
    }

    /// A printer for what EXPLAIN gives.
    pub(super) fn of_plan(style: &'a Style, out: &'a mut dyn Write) -> Printer<'a> {
        let mut printer = Printer::new(style, out);
        if style.format == Format::Table {
            printer.layout = Box::new(tree::Tree::new(style));
        }
        printer
    }

    /// Rows so far.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Prints what is held back. Gives the number of rows, if the statement was one that has any.
    pub(super) fn finish(mut self) -> std::io::Result<Option<u64>> {
        if self.columns.is_empty() {
            return Ok(None);
        }
        self.layout.end(self.out)?;
        self.out.flush()?;
        Ok(Some(self.rows))
    }

    /// The texts of a row's values.
    fn cells(&self, values: &[Value], blobs: &mut dyn Blobs) -> Result<Vec<Cell>, Failure> {
        let cell = |(value, column): (&Value, &Column)| match value {
            Value::Null => Ok(None),
            Value::Blob(id) if self.shows_blob(column) => {
                let contents = blobs.read(*id, BLOB_BYTES_SHOWN)?;
                let mut text = text_of_bytes(&contents.bytes, character_set_of(column));
                if contents.cut {
                    text.push_str(" ... (there is more)");
                }
                Ok(Some(text))
            }
            Value::Text(text) => Ok(Some(text_of_bytes(text.bytes(), text.character_set()))),
            other => Ok(Some(to_display_text(other))),
        };
        values.iter().zip(&self.columns).map(cell).collect()
    }

    fn shows_blob(&self, column: &Column) -> bool {
        match (self.style.blobs, column.sql_type) {
            // An array is shown as its id.
            (_, SqlType::Array) => false,
            (BlobDisplay::All, _) => true,
            (BlobDisplay::Off, _) => false,
            (BlobDisplay::Subtype(wanted), SqlType::Blob { subtype, .. }) => wanted == subtype,
            (BlobDisplay::Subtype(_), _) => false,
        }
    }
}

fn character_set_of(column: &Column) -> farbird_types::CharacterSet {
    match column.sql_type {
        SqlType::Blob { character_set, .. } | SqlType::Text(TextType { character_set, .. }) => character_set,
        _ => farbird_types::CharacterSet::NONE,
    }
}

impl Sink for Printer<'_> {
    fn columns(&mut self, columns: &[Column]) -> Result<(), Failure> {
        self.columns = columns.to_vec();
        Ok(self.layout.begin(columns, self.out)?)
    }

    fn row(&mut self, values: &[Value], blobs: &mut dyn Blobs) -> Result<(), Failure> {
        self.rows += 1;
        let cells = self.cells(values, blobs)?;
        Ok(self.layout.row(values, cells, self.out)?)
    }
}

/// Width on a terminal.
fn width_of(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

/// Fills a text up to a width, on the left or on the right.
fn pad(text: &str, width: usize, right: bool) -> String {
    let fill = " ".repeat(width.saturating_sub(width_of(text)));
    if right { fill + text } else { text.to_owned() + &fill }
}

/// Control characters as signs, so that a value stays on its line and does nothing to the terminal.
fn on_one_line(text: &str) -> String {
    let sign = |character: char| match character {
        '\n' => '\u{23ce}',
        '\t' => '\u{21e5}',
        control if control.is_control() => '\u{fffd}',
        other => other,
    };
    if text.chars().any(char::is_control) { text.chars().map(sign).collect() } else { text.to_owned() }
}

fn is_right_aligned(column: &Column) -> bool {
    matches!(
        column.sql_type,
        SqlType::Exact { .. } | SqlType::Float | SqlType::Double | SqlType::DecFloat16 | SqlType::DecFloat34
    )
}

#[cfg(test)]
mod tests;
