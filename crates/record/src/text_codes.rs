//! A column of texts that repeat: each different text once, and for each row which one it has.
//!
//! What is computed of such a column is computed once for each text, and a row costs what a number costs.

use farbird_types::Value;

use crate::{ColumnVector, DecodeError};

/// The code of NULL.
const NULL: u32 = u32::MAX;

/// Texts of some rows of a column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TextCodes {
    texts: Vec<Value>,
    codes: Vec<u32>,
}

impl TextCodes {
    /// No rows yet, of these texts.
    pub(crate) fn of(texts: Vec<Value>) -> TextCodes {
        TextCodes { texts, codes: Vec::new() }
    }

    /// Appends a row with the text at a place.
    ///
    /// # Errors
    /// If there is no such text.
    pub(crate) fn push(&mut self, place: i64) -> Result<(), DecodeError> {
        let code = u32::try_from(place).ok().filter(|code| (*code as usize) < self.texts.len());
        let code = code.ok_or(DecodeError::Invalid { what: "index of a text", offset: self.codes.len() })?;
        self.codes.push(code);
        Ok(())
    }

    /// Appends a row with NULL.
    pub(crate) fn push_null(&mut self) {
        self.codes.push(NULL);
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// The different texts. Some may be no row's.
    pub fn texts(&self) -> &[Value] {
        &self.texts
    }

    /// The place of a row's text among [`TextCodes::texts`]; `None` if it is NULL, or past the end.
    #[inline]
    pub fn code(&self, row: usize) -> Option<usize> {
        self.codes.get(row).filter(|code| **code != NULL).map(|code| *code as usize)
    }

    /// The value of a row; `None` past the end.
    pub fn value(&self, row: usize) -> Option<&Value> {
        const NONE: Value = Value::Null;
        match *self.codes.get(row)? {
            NULL => Some(&NONE),
            code => self.texts.get(code as usize),
        }
    }

    /// The same, a value for each row.
    pub fn to_vector(&self) -> ColumnVector {
        ColumnVector::of_values(
            (0..self.len()).map(|row| self.value(row).cloned().unwrap_or_default()).collect(),
        )
    }
}
