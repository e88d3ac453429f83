//! A report: a question to a database whose answer people and programs can read.

use farbird_client::blocking::Connection;
use farbird_client::{Isolation, TransactionOptions};
use farbird_types::convert::to_display_text;
use farbird_types::{Error, Value};
use serde_json::Map;
use unicode_width::UnicodeWidthStr;

use crate::session::text_of_bytes;

/// What a column holds: how it is shown to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shows {
    /// A text or a name.
    Text,
    /// A whole number.
    Number,
    /// Bytes.
    Bytes,
    /// Milliseconds.
    Time,
    /// A point in time.
    Moment,
    /// A statement's text.
    Sql,
    /// Yes or no.
    Flag,
}

/// A column of a report.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    /// Its key in JSON, with its unit.
    pub(crate) key: &'static str,
    /// Its head for people.
    pub(crate) head: &'static str,
    pub(crate) shows: Shows,
}

/// A question.
#[derive(Debug)]
pub(crate) struct Report {
    /// Its name in JSON.
    pub(crate) name: &'static str,
    /// What it shows.
    pub(crate) title: &'static str,
    pub(crate) columns: &'static [Column],
    /// A query that gives these columns.
    pub(crate) sql: &'static str,
    /// What is said where there are no rows.
    pub(crate) nothing: &'static str,
}

/// A report with its answer.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) report: &'static Report,
    rows: Vec<Vec<Value>>,
}

impl Report {
    /// Asks in a transaction of its own, so that the moment is now.
    ///
    /// # Errors
    /// What the server says.
    pub(crate) fn ask(&'static self, connection: &Connection) -> Result<Answered, Error> {
        let options = TransactionOptions {
            isolation: Isolation::ReadCommitted,
            read_only: true,
            ..TransactionOptions::default()
        };
        let transaction = connection.begin(&options)?;
        let rows = connection.query_all(&transaction, self.sql)?;
        connection.commit(transaction)?;
        Ok(Answered { report: self, rows })
    }
}

impl Answered {
    /// A list of objects, whose values have the units that their keys name.
    pub(crate) fn json(&self) -> serde_json::Value {
        let object = |row: &Vec<Value>| {
            let fields = self.report.columns.iter().zip(row);
            let fields: Map<_, _> =
                fields.map(|(column, value)| (column.key.to_owned(), json_of(column.shows, value))).collect();
            serde_json::Value::Object(fields)
        };
        self.rows.iter().map(object).collect()
    }

    /// Columns under each other, no wider than `width` where the last one is a text that can be cut.
    pub(crate) fn table(&self, width: Option<usize>) -> String {
        let Report { columns, nothing, title, .. } = self.report;
        let mut out = format!("{title}\n");
        if self.rows.is_empty() {
            out.push_str(&format!("  {nothing}\n"));
            return out;
        }
        let cells: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| columns.iter().zip(row).map(|(column, value)| shown(column.shows, value)).collect())
            .collect();
        let mut widths: Vec<usize> = columns.iter().map(|column| column.head.width()).collect();
        for row in &cells {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        let heads: Vec<String> = columns.iter().map(|column| column.head.to_owned()).collect();
        for row in std::iter::once(&heads).chain(&cells) {
            let line = line_of(columns, row, &widths);
            out.push_str(&cut(&line, width));
            out.push('\n');
        }
        out
    }
}

fn line_of(columns: &[Column], row: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for ((column, cell), width) in columns.iter().zip(row).zip(widths) {
        let room = " ".repeat(width.saturating_sub(cell.width()));
        let is_right = matches!(column.shows, Shows::Number | Shows::Bytes | Shows::Time);
        line.push_str("  ");
        match is_right {
            true => line.extend([room.as_str(), cell.as_str()]),
            false => line.extend([cell.as_str(), room.as_str()]),
        }
    }
    line.trim_end().to_owned()
}

/// The beginning of a line, as much as there is room for.
fn cut(line: &str, width: Option<usize>) -> String {
    let Some(width) = width.filter(|width| line.width() > *width) else { return line.to_owned() };
    let mut out = String::new();
    for letter in line.chars() {
        if out.width() + 2 > width {
            break;
        }
        out.push(letter);
    }
    out.push('…');
    out
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Text(text) => text_of_bytes(text.bytes(), text.character_set()).trim_end().to_owned(),
        other => to_display_text(other),
    }
}

/// A whole number, without the places behind its point: milliseconds have one (DATEDIFF).
fn number_of(value: &Value) -> Option<i64> {
    match value {
        Value::Integer { unscaled, scale } => {
            let places = u32::from(scale.unsigned_abs());
            let unit = if *scale < 0 { 10_i64.checked_pow(places)? } else { 1 };
            Some(unscaled / unit)
        }
        // A sum of integers: this in dialect 3, a double in databases of dialect 1.
        Value::Int128 { unscaled, scale: 0 } => i64::try_from(*unscaled).ok(),
        Value::Double(number) if number.is_finite() => Some(*number as i64),
        _ => None,
    }
}

fn json_of(shows: Shows, value: &Value) -> serde_json::Value {
    match (shows, value) {
        (_, Value::Null) => serde_json::Value::Null,
        (_, Value::Boolean(flag)) => (*flag).into(),
        (Shows::Number | Shows::Bytes | Shows::Time, value) => {
            number_of(value).map_or_else(|| text_of(value).into(), Into::into)
        }
        (Shows::Flag, value) => (number_of(value) == Some(1)).into(),
        (_, value) => text_of(value).into(),
    }
}

fn shown(shows: Shows, value: &Value) -> String {
    match (shows, value) {
        (_, Value::Null) => "-".to_owned(),
        (Shows::Flag, Value::Boolean(flag)) => if *flag { "yes" } else { "no" }.to_owned(),
        (Shows::Flag, value) => if number_of(value) == Some(1) { "yes" } else { "no" }.to_owned(),
        (Shows::Bytes, value) => number_of(value).map_or_else(|| text_of(value), bytes),
        (Shows::Time, value) => number_of(value).map_or_else(|| text_of(value), time),
        (_, value) => printable(&text_of(value)),
    }
}

/// On one line, and without what would move a terminal's cursor or turn the order of its letters: texts come from programs.
fn printable(text: &str) -> String {
    let plain = |letter: char| if letter.is_control() || is_format(letter) { ' ' } else { letter };
    text.chars().map(plain).collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Separators of lines and paragraphs, embeddings, overrides and isolates of bidirectional text (Unicode, UAX #9).
fn is_format(letter: char) -> bool {
    matches!(letter, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Bytes as people read them.
fn bytes(bytes: i64) -> String {
    let mut size = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if size.abs() < 1024.0 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{size:.1} {unit}") };
        }
        size /= 1024.0;
    }
    format!("{size:.1} TiB")
}

/// Milliseconds as people read them.
fn time(milliseconds: i64) -> String {
    let seconds = milliseconds / 1_000;
    match seconds {
        _ if milliseconds < 1_000 => format!("{milliseconds} ms"),
        0..60 => format!("{:.1} s", milliseconds as f64 / 1e3),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static REPORT: Report = Report {
        name: "things",
        title: "Things",
        columns: &[
            Column { key: "id", head: "id", shows: Shows::Number },
            Column { key: "size_bytes", head: "size", shows: Shows::Bytes },
            Column { key: "running_ms", head: "running", shows: Shows::Time },
            Column { key: "holds", head: "holds", shows: Shows::Flag },
            Column { key: "sql", head: "text", shows: Shows::Sql },
        ],
        sql: "",
        nothing: "There are none.",
    };

    fn answered() -> Answered {
        let hostile = "select\n\t1 \u{1b}[2J from  rdb$database";
        let row = |id, size, time| {
            vec![
                Value::integer(id),
                Value::integer(size),
                time,
                Value::Boolean(id == 1),
                Value::text(hostile),
            ]
        };
        // As DATEDIFF gives milliseconds.
        let time = Value::Integer { unscaled: 615_004, scale: -1 };
        let rows = vec![row(1, 5, Value::Null), row(20, 3 << 20, time)];
        Answered { report: &REPORT, rows }
    }

    #[test]
    fn people_see_aligned_columns_and_no_control_characters() {
        let table = answered().table(None);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[0], "Things");
        assert_eq!(lines[1], "  id     size    running  holds  text");
        assert_eq!(lines[2], "   1      5 B          -  yes    select 1 [2J from rdb$database");
        assert_eq!(lines[3], "  20  3.0 MiB  1 min 1 s  no     select 1 [2J from rdb$database");
        assert!(answered().table(Some(20)).lines().all(|line| line.width() <= 20));
        assert_eq!(Answered { report: &REPORT, rows: Vec::new() }.table(None), "Things\n  There are none.\n");
    }

    #[test]
    fn nothing_turns_the_order_of_letters_or_begins_a_line() {
        let hostile = "a\u{202e}b\u{202a}c\u{2066}d\u{2069}e\u{2028}f\u{2029}g";
        assert_eq!(printable(hostile), "a b c d e f g");
        assert_eq!(printable("שלום"), "שלום");
    }

    #[test]
    fn programs_get_numbers_in_the_units_that_keys_name() {
        let json = answered().json();
        assert_eq!(json[1]["size_bytes"], 3 << 20);
        assert_eq!(
            (&json[0]["running_ms"], &json[1]["running_ms"]),
            (&serde_json::Value::Null, &61_500.into())
        );
        assert_eq!((&json[0]["holds"], &json[1]["holds"]), (&true.into(), &false.into()));
    }

    #[test]
    fn times_and_sizes_are_short() {
        let times = [5, 1_500, 90_000, 7_260_000, 180_000_000].map(time);
        assert_eq!(times, ["5 ms", "1.5 s", "1 min 30 s", "2 h 1 min", "2 d 2 h"]);
        assert_eq!([0, 1_023, 1_024, 5 << 30].map(bytes), ["0 B", "1023 B", "1.0 KiB", "5.0 GiB"]);
    }
}
