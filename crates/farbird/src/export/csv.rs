//! Writes delimited text (RFC 4180, lines that end in LF).

use std::io::{self, Write};

use farbird_types::{CharacterSet, SqlType, Value};

use super::RowWriter;
use crate::exchange::text::hexadecimal;
use crate::exchange::{CsvStyle, text};
use crate::session::Column;

/// Writes delimited text.
pub(super) struct CsvWriter<W> {
    out: W,
    style: CsvStyle,
    line: String,
    field: String,
}

impl<W: Write> CsvWriter<W> {
    pub(super) fn new(out: W, style: CsvStyle) -> CsvWriter<W> {
        CsvWriter { out, style, line: String::new(), field: String::new() }
    }

    /// Adds the field at hand to the line.
    fn push_field(&mut self, is_first: bool) {
        let (delimiter, quote) = (char::from(self.style.delimiter), char::from(self.style.quote));
        if !is_first {
            self.line.push(delimiter);
        }
        let is_special = |c: char| c == delimiter || c == quote || c == '\n' || c == '\r';
        // What looks like NULL and is none stands in quotes.
        if self.field == self.style.null || self.field.is_empty() || self.field.contains(is_special) {
            self.line.push(quote);
            for character in self.field.chars() {
                if character == quote {
                    self.line.push(quote);
                }
                self.line.push(character);
            }
            self.line.push(quote);
        } else {
            self.line.push_str(&self.field);
        }
    }

    fn push_null(&mut self, is_first: bool) {
        if !is_first {
            self.line.push(char::from(self.style.delimiter));
        }
        self.line.push_str(&self.style.null);
    }

    fn write_line(&mut self) -> io::Result<()> {
        self.line.push('\n');
        if self.style.encoding == CharacterSet::UTF8 {
            self.out.write_all(self.line.as_bytes())?;
        } else {
            let encoded = self.style.encoding.encode(&self.line).map_err(|_| {
                let words = format!("a text has characters that {} has not", self.style.encoding.name());
                io::Error::new(io::ErrorKind::InvalidData, words)
            })?;
            self.out.write_all(&encoded)?;
        }
        self.line.clear();
        Ok(())
    }
}

impl<W: Write> RowWriter for CsvWriter<W> {
    fn begin(&mut self, columns: &[Column]) -> io::Result<()> {
        if !self.style.header {
            return Ok(());
        }
        for (index, column) in columns.iter().enumerate() {
            self.field.clear();
            self.field.push_str(&column.name);
            self.push_field(index == 0);
        }
        self.write_line()
    }

    fn row(
        &mut self,
        columns: &[Column],
        values: &[Value],
        contents: &mut [Option<Vec<u8>>],
    ) -> io::Result<()> {
        for (index, ((value, column), contents)) in values.iter().zip(columns).zip(contents).enumerate() {
            self.field.clear();
            match (value, contents) {
                (Value::Null, _) => {
                    self.push_null(index == 0);
                    continue;
                }
                (_, Some(bytes)) => self.field.push_str(&text_of_contents(bytes, column.sql_type)),
                (value, None) => text::append(value, column.sql_type, &mut self.field),
            }
            self.push_field(index == 0);
        }
        self.write_line()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A BLOB's contents as text: hexadecimal digits if they are none.
pub(super) fn text_of_contents(bytes: &[u8], sql_type: SqlType) -> String {
    match sql_type {
        SqlType::Blob { subtype: 1, .. } => String::from_utf8_lossy(bytes).into_owned(),
        _ => hexadecimal(bytes),
    }
}
