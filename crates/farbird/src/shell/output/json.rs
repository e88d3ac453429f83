//! JSON lines: one object per row.

use std::io::{self, Write};

use farbird_types::Value;

use super::{Cell, Layout};
use crate::session::Column;

/// One JSON object per line.
#[derive(Default)]
pub(super) struct JsonLines {
    /// As JSON texts.
    names: Vec<String>,
}

impl Layout for JsonLines {
    fn begin(&mut self, columns: &[Column], _out: &mut dyn Write) -> io::Result<()> {
        self.names =
            columns.iter().map(|column| serde_json::Value::from(column.name.as_str()).to_string()).collect();
        Ok(())
    }

    fn row(&mut self, values: &[Value], cells: Vec<Cell>, out: &mut dyn Write) -> io::Result<()> {
        // By hand: serde_json's objects would sort the columns.
        write!(out, "{{")?;
        for (index, ((name, value), cell)) in self.names.iter().zip(values).zip(cells).enumerate() {
            let json: serde_json::Value = match (value, cell) {
                (_, None) => serde_json::Value::Null,
                (Value::Boolean(truth), _) => (*truth).into(),
                (Value::Integer { unscaled, scale: 0 }, _) => (*unscaled).into(),
                (Value::Double(number), _) => (*number).into(),
                (Value::Float(number), _) => f64::from(*number).into(),
                // Exact numerics with decimals stay texts: a JSON reader would make binary floats of them.
                (_, Some(text)) => text.into(),
            };
            let comma = if index == 0 { "" } else { "," };
            write!(out, "{comma}{name}:{json}")?;
        }
        writeln!(out, "}}")
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
