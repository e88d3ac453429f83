//! Results as tables, JSON lines or CSV.
//!
//! Tables need to know their widths, so a few rows are looked at first; the others follow as they come.

use std::io::{self, Write};

use farbird::{SqlType, Value};

use super::Format;

/// Rows that are looked at for column widths before the first is printed.
const ROWS_FOR_WIDTHS: usize = 100;
/// Widest a column of a table gets; longer values are printed whole, out of line.
const WIDTH_MAX: usize = 60;

/// One cell: NULL or its text.
pub(super) type Cell = Option<String>;

/// What is over a column.
pub(super) struct Heading {
    pub(super) name: String,
    pub(super) sql_type: SqlType,
}

/// Prints one result.
pub(super) struct Printer<'a, W: Write> {
    format: Format,
    columns: &'a [Heading],
    out: W,
    held: Vec<Vec<Cell>>,
    widths: Option<Vec<usize>>,
    rows: u64,
}

impl<'a, W: Write> Printer<'a, W> {
    pub(super) fn new(format: Format, columns: &'a [Heading], out: W) -> Printer<'a, W> {
        Printer { format, columns, out, held: Vec::new(), widths: None, rows: 0 }
    }

    /// Takes a row: its values and their texts.
    pub(super) fn row(&mut self, values: &[Value], cells: Vec<Cell>) -> io::Result<()> {
        self.rows += 1;
        match self.format {
            Format::Table => {
                if self.widths.is_some() {
                    return self.table_row(&cells);
                }
                self.held.push(cells);
                if self.held.len() >= ROWS_FOR_WIDTHS { self.table_head() } else { Ok(()) }
            }
            Format::Json => self.json_row(values, &cells),
            Format::Csv => {
                if self.rows == 1 {
                    self.csv_head()?;
                }
                let line: Vec<String> =
                    cells.iter().map(|cell| cell.as_deref().map_or(String::new(), csv_cell)).collect();
                writeln!(self.out, "{}", line.join(","))
            }
        }
    }

    /// Prints what is held back. Gives the number of rows.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        match self.format {
            Format::Table if self.widths.is_none() => self.table_head()?,
            Format::Csv if self.rows == 0 => self.csv_head()?,
            _ => {}
        }
        self.out.flush()?;
        Ok(self.rows)
    }

    fn table_head(&mut self) -> io::Result<()> {
        let mut widths: Vec<usize> = self.columns.iter().map(|column| width_of(&column.name)).collect();
        for row in &self.held {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.as_deref().map_or("<null>".len(), width_of)).min(WIDTH_MAX);
            }
        }
        let heads: Vec<String> = self
            .columns
            .iter()
            .zip(&widths)
            .map(|(column, width)| pad(&column.name, *width, is_right_aligned(column)))
            .collect();
        writeln!(self.out, "{}", heads.join("  ").trim_end())?;
        let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        writeln!(self.out, "{}", rules.join("  "))?;
        self.widths = Some(widths);
        for row in std::mem::take(&mut self.held) {
            self.table_row(&row)?;
        }
        Ok(())
    }

    fn table_row(&mut self, cells: &[Cell]) -> io::Result<()> {
        let widths = self.widths.as_deref().unwrap_or_default();
        let line: Vec<String> = cells
            .iter()
            .zip(widths)
            .zip(self.columns)
            .map(|((cell, width), column)| {
                let text = cell
                    .as_deref()
                    .map_or_else(|| "<null>".to_owned(), |text| text.replace('\n', "\u{23ce}"));
                pad(&text, *width, is_right_aligned(column))
            })
            .collect();
        writeln!(self.out, "{}", line.join("  ").trim_end())
    }

    fn json_row(&mut self, values: &[Value], cells: &[Cell]) -> io::Result<()> {
        let mut object = serde_json::Map::new();
        for ((column, value), cell) in self.columns.iter().zip(values).zip(cells) {
            let json = match (value, cell) {
                (_, None) => serde_json::Value::Null,
                (Value::Boolean(truth), _) => (*truth).into(),
                (Value::Integer { unscaled, scale: 0 }, _) => (*unscaled).into(),
                (Value::Double(number), _) => (*number).into(),
                (Value::Float(number), _) => f64::from(*number).into(),
                // Exact numerics with decimals stay texts: a JSON reader would make binary floats of them.
                (_, Some(text)) => text.as_str().into(),
            };
            object.insert(column.name.clone(), json);
        }
        writeln!(self.out, "{}", serde_json::Value::Object(object))
    }

    fn csv_head(&mut self) -> io::Result<()> {
        let heads: Vec<String> = self.columns.iter().map(|column| csv_cell(&column.name)).collect();
        writeln!(self.out, "{}", heads.join(","))
    }
}

fn csv_cell(text: &str) -> String {
    if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Width on the screen, near enough: one cell a character.
fn width_of(text: &str) -> usize {
    text.chars().count()
}

fn pad(text: &str, width: usize, right: bool) -> String {
    let fill = " ".repeat(width.saturating_sub(width_of(text)));
    if right { fill + text } else { text.to_owned() + &fill }
}

fn is_right_aligned(column: &Heading) -> bool {
    matches!(
        column.sql_type,
        SqlType::Exact { .. } | SqlType::Float | SqlType::Double | SqlType::DecFloat16 | SqlType::DecFloat34
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, sql_type: SqlType) -> Heading {
        Heading { name: name.to_owned(), sql_type }
    }

    fn printed(format: Format) -> String {
        let columns =
            [column("ID", SqlType::INTEGER), column("NAME", SqlType::varchar(10, Default::default()))];
        let mut out = Vec::new();
        let mut printer = Printer::new(format, &columns, &mut out);
        printer
            .row(&[Value::integer(1), Value::text("a,b")], vec![Some("1".into()), Some("a,b".into())])
            .unwrap();
        printer.row(&[Value::integer(20), Value::Null], vec![Some("20".into()), None]).unwrap();
        printer.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn tables_align_numbers_right_and_texts_left() {
        assert_eq!(printed(Format::Table), "ID  NAME\n--  ------\n 1  a,b\n20  <null>\n");
    }

    #[test]
    fn csv_quotes_what_needs_it_and_leaves_null_empty() {
        assert_eq!(printed(Format::Csv), "ID,NAME\n1,\"a,b\"\n20,\n");
    }

    #[test]
    fn json_keeps_types() {
        assert_eq!(printed(Format::Json), "{\"ID\":1,\"NAME\":\"a,b\"}\n{\"ID\":20,\"NAME\":null}\n");
    }
}
