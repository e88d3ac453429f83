//! Writes JSON lines: one object for each row.

use std::io::{self, Write};

use farbird_types::Value;

use super::RowWriter;
use super::csv::text_of_contents;
use crate::exchange::text;
use crate::session::Column;

/// Writes JSON lines.
pub(super) struct JsonWriter<W> {
    out: W,
    /// Names with what stands around them.
    names: Vec<String>,
    line: String,
    field: String,
}

impl<W: Write> JsonWriter<W> {
    pub(super) fn new(out: W) -> JsonWriter<W> {
        JsonWriter { out, names: Vec::new(), line: String::new(), field: String::new() }
    }
}

impl<W: Write> RowWriter for JsonWriter<W> {
    fn begin(&mut self, columns: &[Column]) -> io::Result<()> {
        let name = |(index, column): (usize, &Column)| {
            let name = serde_json::Value::from(column.name.as_str());
            format!("{}{name}:", if index == 0 { "{" } else { "," })
        };
        self.names = columns.iter().enumerate().map(name).collect();
        Ok(())
    }

    fn row(
        &mut self,
        columns: &[Column],
        values: &[Value],
        contents: &mut [Option<Vec<u8>>],
    ) -> io::Result<()> {
        self.line.clear();
        for (((value, column), contents), name) in values.iter().zip(columns).zip(contents).zip(&self.names) {
            self.line.push_str(name);
            self.field.clear();
            match (value, contents) {
                (Value::Null, _) => {
                    self.line.push_str("null");
                    continue;
                }
                (Value::Boolean(truth), _) => {
                    self.line.push_str(if *truth { "true" } else { "false" });
                    continue;
                }
                (Value::Integer { scale: 0, .. }, _) => {
                    text::append(value, column.sql_type, &mut self.line);
                    continue;
                }
                (Value::Double(number), _) if number.is_finite() => {
                    text::append(value, column.sql_type, &mut self.line);
                    continue;
                }
                (Value::Float(number), _) if number.is_finite() => {
                    text::append(value, column.sql_type, &mut self.line);
                    continue;
                }
                (_, Some(bytes)) => self.field.push_str(&text_of_contents(bytes, column.sql_type)),
                // Exact numerics with decimals are texts: JSON's readers would make binary floats of them.
                (value, None) => text::append(value, column.sql_type, &mut self.field),
            }
            push_string(&self.field, &mut self.line);
        }
        self.line.push_str("}\n");
        self.out.write_all(self.line.as_bytes())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn push_string(text: &str, out: &mut String) {
    if text.contains(|c: char| c == '"' || c == '\\' || c < ' ') {
        out.push_str(&serde_json::Value::from(text).to_string());
    } else {
        out.push('"');
        out.push_str(text);
        out.push('"');
    }
}
