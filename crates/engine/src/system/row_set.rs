//! Rows of a system table while they are made.

use std::collections::HashMap;
use std::sync::Arc;

use farbird_types::{CharacterSet, Result, SqlType, Text, TimestampTz, Value};

use crate::catalog::{Catalog, Column, Relation};
use crate::expression::ExecutionContext;
use crate::function::blob::{bytes_blob, text_blob};

/// blr_version5, blr_eoc.
const EMPTY_PROGRAM: [u8; 2] = [5, 76];

/// SUB_TYPE of BLR.
const BLR_SUBTYPE: i16 = 2;

/// Rows of a system table while they are made: values by column name, only for the columns that are asked for.
pub(super) struct RowSet<'r, 'e, 'a> {
    /// The statement that asks.
    pub(super) context: &'e mut ExecutionContext<'a>,
    /// The catalog that it sees.
    pub(super) catalog: Arc<Catalog>,
    columns: &'r [Column],
    /// Positions of the columns that are asked for.
    wanted: HashMap<&'r str, usize>,
    rows: Vec<Vec<Value>>,
    /// BLOBs made so far, by their texts: the same source is shown by many rows (and by one row asked for often).
    blobs: HashMap<(i16, String), Value>,
    /// The BLOB of [`EMPTY_PROGRAM`], once it was made.
    program: Option<Value>,
    failure: Option<farbird_types::Error>,
}

impl<'r, 'e, 'a> RowSet<'r, 'e, 'a> {
    pub(super) fn new(
        context: &'e mut ExecutionContext<'a>,
        relation: &'r Relation,
        wanted: impl Fn(usize) -> bool,
    ) -> RowSet<'r, 'e, 'a> {
        let catalog = context.transaction.current_catalog();
        let names = relation.columns.iter().enumerate();
        RowSet {
            context,
            catalog,
            columns: &relation.columns,
            wanted: names
                .filter(|(position, _)| wanted(*position))
                .map(|(position, column)| (column.name.as_str(), position))
                .collect(),
            rows: Vec::new(),
            blobs: HashMap::new(),
            program: None,
            failure: None,
        }
    }

    /// The rows; all columns that nobody set, or asked for, are NULL.
    pub(super) fn finish(self) -> Result<Vec<Vec<Value>>> {
        match self.failure {
            None => Ok(self.rows),
            Some(error) => Err(error),
        }
    }

    /// Begins a row: what is set from now on belongs to it.
    pub(super) fn row(&mut self) -> &mut Self {
        if self.failure.is_none() {
            self.failure = self.context.check_interrupt().err();
        }
        self.rows.push(vec![Value::Null; self.columns.len()]);
        self
    }

    /// Whether the column is asked for: for values that cost something.
    pub(super) fn wants(&self, column: &str) -> bool {
        self.wanted.contains_key(column)
    }

    fn set(&mut self, column: &str, value: impl FnOnce(&Column) -> Value) -> &mut Self {
        if let Some(position) = self.wanted.get(column).copied()
            && let Some(definition) = self.columns.get(position)
            && let Some(place) = self.rows.last_mut().and_then(|row| row.get_mut(position))
        {
            *place = value(definition);
        }
        self
    }

    /// A whole number.
    pub(super) fn number(&mut self, column: &str, number: impl Into<i64>) -> &mut Self {
        self.set(column, |_| Value::integer(number.into()))
    }

    /// Takes a value back.
    pub(super) fn unset(&mut self, column: &str) -> &mut Self {
        self.set(column, |_| Value::Null)
    }

    /// A whole number that there may be none of.
    pub(super) fn optional_number(&mut self, column: &str, number: Option<impl Into<i64>>) -> &mut Self {
        match number {
            Some(number) => self.number(column, number),
            None => self,
        }
    }

    /// 0 or 1.
    pub(super) fn flag(&mut self, column: &str, flag: bool) -> &mut Self {
        self.number(column, i64::from(flag))
    }

    /// A BOOLEAN.
    pub(super) fn boolean(&mut self, column: &str, value: Option<bool>) -> &mut Self {
        self.set(column, |_| value.map_or(Value::Null, Value::Boolean))
    }

    /// A DOUBLE PRECISION.
    pub(super) fn double(&mut self, column: &str, value: f64) -> &mut Self {
        self.set(column, |_| Value::Double(value))
    }

    /// A TIMESTAMP WITH TIME ZONE.
    pub(super) fn timestamp(&mut self, column: &str, value: TimestampTz) -> &mut Self {
        self.set(column, |_| Value::TimestampTz(value))
    }

    /// A TIMESTAMP WITH TIME ZONE, or NULL.
    pub(super) fn optional_timestamp(&mut self, column: &str, value: Option<TimestampTz>) -> &mut Self {
        self.set(column, |_| value.map_or(Value::Null, Value::TimestampTz))
    }

    /// A text, padded if the column is a CHAR, cut if it is too long.
    pub(super) fn text(&mut self, column: &str, text: &str) -> &mut Self {
        self.set(column, |column| fit(text, &column.sql_type))
    }

    /// Bytes of no character set.
    pub(super) fn octets(&mut self, column: &str, bytes: &[u8]) -> &mut Self {
        self.set(column, |_| Value::Text(Text::new(bytes, CharacterSet::OCTETS)))
    }

    /// A text that there may be none of.
    pub(super) fn optional_text(&mut self, column: &str, text: Option<impl AsRef<str>>) -> &mut Self {
        match text {
            Some(text) => self.text(column, text.as_ref()),
            None => self,
        }
    }

    /// A text in a BLOB, which is made only if the column is asked for.
    pub(super) fn blob(&mut self, column: &str, text: Option<impl AsRef<str>>) -> &mut Self {
        let Some(text) = text else { return self };
        if !self.wants(column) {
            return self;
        }
        match self.make_blob(column, text.as_ref()) {
            Ok(value) => self.set(column, |_| value),
            Err(error) => {
                self.failure.get_or_insert(error);
                self
            }
        }
    }

    /// Something compiled, where Firebird shows BLR. There is none here, but tools ask whether there is: views, computed
    /// columns and defaults are told by it. It holds the two bytes of an empty program.
    pub(super) fn compiled(&mut self, column: &str, present: bool) -> &mut Self {
        if !present || !self.wants(column) {
            return self;
        }
        match self.make_program() {
            Ok(value) => self.set(column, |_| value),
            Err(error) => {
                self.failure.get_or_insert(error);
                self
            }
        }
    }

    /// BLR. Where `make` gives none it is as [`RowSet::compiled`].
    pub(super) fn program(
        &mut self,
        column: &str,
        present: bool,
        make: impl FnOnce() -> Option<Vec<u8>>,
    ) -> &mut Self {
        if !present || !self.wants(column) {
            return self;
        }
        let Some(bytes) = make() else { return self.compiled(column, present) };
        let text = Text::new(bytes, CharacterSet::OCTETS);
        match text_blob(self.context, &text, BLR_SUBTYPE, CharacterSet::NONE) {
            Ok(blob) => self.set(column, |_| Value::Blob(blob)),
            Err(error) => {
                self.failure.get_or_insert(error);
                self
            }
        }
    }

    fn make_program(&mut self) -> Result<Value> {
        if let Some(known) = &self.program {
            return Ok(known.clone());
        }
        let text = Text::new(EMPTY_PROGRAM, CharacterSet::OCTETS);
        let value = Value::Blob(text_blob(self.context, &text, BLR_SUBTYPE, CharacterSet::NONE)?);
        self.program = Some(value.clone());
        Ok(value)
    }

    /// Bytes in a BLOB, which is made only if the column is asked for.
    pub(super) fn binary(&mut self, column: &str, bytes: &[u8]) -> &mut Self {
        let sql_type =
            self.wanted.get(column).and_then(|position| self.columns.get(*position)).map(|it| it.sql_type);
        let Some(SqlType::Blob { subtype, character_set, .. }) = sql_type else { return self };
        match bytes_blob(self.context, bytes, subtype, character_set) {
            Ok(id) => self.set(column, |_| Value::Blob(id)),
            Err(error) => {
                self.failure.get_or_insert(error);
                self
            }
        }
    }

    fn make_blob(&mut self, column: &str, text: &str) -> Result<Value> {
        let sql_type =
            self.wanted.get(column).and_then(|position| self.columns.get(*position)).map(|it| it.sql_type);
        let Some(SqlType::Blob { subtype, character_set, .. }) = sql_type else { return Ok(Value::Null) };
        if let Some(known) = self.blobs.get(&(subtype, text.to_owned())) {
            return Ok(known.clone());
        }
        let id = text_blob(self.context, &Text::utf8(text), subtype, character_set)?;
        self.blobs.insert((subtype, text.to_owned()), Value::Blob(id));
        Ok(Value::Blob(id))
    }
}

/// A text as a value of a column: in its character set, no longer than it may be, padded if it is a CHAR.
fn fit(text: &str, sql_type: &SqlType) -> Value {
    let SqlType::Text(declared) = sql_type else { return Value::text(text) };
    let length = usize::try_from(declared.length_chars).unwrap_or(usize::MAX);
    let is_bytes = declared.character_set.bytes_per_character() == 1;
    // Names are in UTF-8 whatever the column says: a column of NONE counts bytes.
    let mut cut: String = if is_bytes {
        let end =
            text.char_indices().map(|(at, it)| at + it.len_utf8()).take_while(|end| *end <= length).last();
        text.get(..end.unwrap_or(0)).unwrap_or("").to_owned()
    } else {
        text.chars().take(length).collect()
    };
    if !declared.varying {
        let used = if is_bytes { cut.len() } else { cut.chars().count() };
        cut.extend(std::iter::repeat_n(' ', length.saturating_sub(used)));
    }
    let character_set = match declared.character_set {
        CharacterSet::UNICODE_FSS => CharacterSet::UTF8,
        other => other,
    };
    Value::Text(Text::new(cut.into_bytes(), character_set))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_padded_in_characters() {
        let Value::Text(text) = fit("Ä", &SqlType::char(3, CharacterSet::UTF8)) else { panic!("a text") };
        assert_eq!(text.bytes(), "Ä  ".as_bytes());
    }

    #[test]
    fn texts_of_no_character_set_are_cut_between_characters() {
        let Value::Text(text) = fit("aÄ", &SqlType::varchar(2, CharacterSet::NONE)) else {
            panic!("a text")
        };
        assert_eq!(text.bytes(), b"a");
    }
}
