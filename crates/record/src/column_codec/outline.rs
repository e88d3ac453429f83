//! What is found out of a block of columns when rows of it are decoded one by one, kept for the next ones: where its columns stand, and
//! what their heads say.

use std::sync::OnceLock;

use farbird_types::Value;

use super::column::{Column, Outline};
use super::{check_rows, slot_at};
use crate::bytes::Reader;
use crate::{ColumnSet, DecodeError, RecordFormat};

/// What is known of a block beside its bytes; of each column as soon as it is asked for.
#[derive(Debug)]
pub struct BlockOutline {
    /// Where the columns begin.
    contents: usize,
    columns: Box<[ColumnOutline]>,
}

#[derive(Debug)]
struct ColumnOutline {
    /// Where it stands among the columns.
    start: usize,
    end: usize,
    outline: OnceLock<Box<Outline>>,
}

impl BlockOutline {
    pub(super) fn of(format: &RecordFormat, bytes: &[u8]) -> Result<BlockOutline, DecodeError> {
        let mut reader = Reader::new(bytes);
        let mut start = 0usize;
        let columns = (0..format.len())
            .map(|_| {
                let end = start.saturating_add(reader.length()?);
                let column = ColumnOutline { start, end, outline: OnceLock::new() };
                start = end;
                Ok(column)
            })
            .collect::<Result<_, DecodeError>>()?;
        Ok(BlockOutline { contents: reader.offset(), columns })
    }

    /// What it takes in memory once all columns were asked for.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.columns) + self.columns.len() * size_of::<Outline>()
    }

    /// As [`crate::RowCodec::decode_row`], for the bytes that it is the outline of.
    ///
    /// # Errors
    /// If the bytes are damaged.
    pub fn decode_row(
        &self,
        format: &RecordFormat,
        rows: usize,
        bytes: &[u8],
        index: usize,
        columns: &ColumnSet<'_>,
        out: &mut Vec<Value>,
    ) -> Result<(), DecodeError> {
        check_rows(rows, &(index..index.saturating_add(1)))?;
        let contents = bytes.get(self.contents..).unwrap_or_default();
        for position in 0..columns.width(format) {
            let slot = slot_at(columns, position);
            let (Some(sql_type), Some(column)) = (format.columns().get(slot), self.columns.get(slot)) else {
                out.push(Value::Null);
                continue;
            };
            let bytes = contents.get(column.start..column.end);
            let bytes = bytes.ok_or(DecodeError::Truncated { offset: self.contents + column.start })?;
            let outline = match column.outline.get() {
                Some(outline) => outline,
                None => {
                    let opened = Column::open(sql_type, rows, bytes)?;
                    column.outline.get_or_init(|| Box::new(opened.outline(bytes)))
                }
            };
            out.push(outline.value(sql_type, rows, bytes, index)?);
        }
        Ok(())
    }
}
