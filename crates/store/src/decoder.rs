//! From stored bytes to the values that a reader of one layout asked for: projection, and rows of older formats.

use std::cell::OnceCell;
use std::sync::Arc;

use farbird_record::value_codec::decode_row;
use farbird_record::{ColumnSet, DecodeError, RecordFormat};
use farbird_types::convert::{CastContext, cast};
use farbird_types::{SqlType, Timestamp, Value, ZoneId};

use crate::store::Inner;
use crate::{Projection, RelationLayout, Result, RowId, StoreError};

/// Stored values are converted without a session: in GMT, and without a present.
const STORED: CastContext =
    CastContext { session_zone: ZoneId(u16::MAX), now: Timestamp::default, ..CastContext::UTC };

/// Decodes rows of all formats of a layout for one projection.
pub(crate) struct RowDecoder<'a> {
    layout: &'a RelationLayout,
    /// Where the latest layout is asked for.
    inner: Option<&'a Inner>,
    /// The latest layout, once a row has a format that the reader's does not have: an old transaction meets such rows when
    /// it looks for the latest version of a row.
    latest: OnceCell<Option<Arc<RelationLayout>>>,
    columns: ColumnSet<'a>,
}

impl<'a> RowDecoder<'a> {
    pub(crate) fn new(
        inner: &'a Inner,
        layout: &'a RelationLayout,
        projection: &'a Projection,
    ) -> RowDecoder<'a> {
        RowDecoder {
            inner: Some(inner),
            latest: OnceCell::new(),
            ..RowDecoder::with_latest(layout, None, projection)
        }
    }

    /// As [`RowDecoder::new`], given what [`latest_layout`] gave before.
    pub(crate) fn with_latest(
        layout: &'a RelationLayout,
        latest: Option<Arc<RelationLayout>>,
        projection: &'a Projection,
    ) -> RowDecoder<'a> {
        let columns = match projection.slots() {
            None => ColumnSet::All,
            Some(slots) => ColumnSet::Slots(slots),
        };
        RowDecoder { layout, inner: None, latest: OnceCell::from(latest), columns }
    }

    /// The slot of a column of the projection.
    pub(crate) fn slot(&self, position: usize) -> Option<u16> {
        match self.columns {
            ColumnSet::All => u16::try_from(position).ok(),
            ColumnSet::Slots(slots) => slots.get(position).copied(),
        }
    }

    /// The type of the column at a slot, as readers see it.
    pub(crate) fn column_type(&self, slot: u16) -> SqlType {
        let format = self.layout.current_format();
        format.and_then(|format| format.columns().get(usize::from(slot))).copied().unwrap_or(SqlType::Null)
    }

    /// Whether the column at a slot has the same type in rows of this format as readers see it with.
    pub(crate) fn is_unchanged(&self, format: u16, slot: u16) -> Result<bool> {
        let written = self.format(format)?.columns().get(usize::from(slot));
        Ok(self.is_current(format) || written == Some(&self.column_type(slot)))
    }

    /// Values per row.
    pub(crate) fn width(&self) -> usize {
        match self.columns {
            ColumnSet::All => self.layout.current_format().map_or(0, RecordFormat::len),
            ColumnSet::Slots(slots) => slots.len(),
        }
    }

    /// The columns to ask a codec for.
    pub(crate) fn columns(&self) -> &ColumnSet<'a> {
        &self.columns
    }

    /// The record format of this number.
    pub(crate) fn format(&self, number: u16) -> Result<&RecordFormat> {
        let known = self.layout.formats.get(usize::from(number));
        let ask = || self.inner.and_then(|inner| latest_layout(inner, self.layout));
        let known = known.or_else(|| self.latest.get_or_init(ask).as_ref()?.formats.get(usize::from(number)));
        known.ok_or_else(|| {
            StoreError::corrupt(format!("relation {} has no format {number}", self.layout.id.0))
        })
    }

    /// Appends the values of one row in value encoding.
    pub(crate) fn decode(&self, row: RowId, format: u16, bytes: &[u8], out: &mut Vec<Value>) -> Result<()> {
        let start = out.len();
        decode_row(self.format(format)?, bytes, &self.columns, out)
            .map_err(|error| damaged_row(row, &error))?;
        self.adapt(format, start, out)
    }

    /// Whether rows of this format need [`RowDecoder::adapt`].
    pub(crate) fn is_current(&self, format: u16) -> bool {
        format == self.layout.current
    }

    /// Turns the values of one row, which start at `start`, from an older format into the current one.
    pub(crate) fn adapt(&self, format: u16, start: usize, values: &mut Vec<Value>) -> Result<()> {
        if self.is_current(format) {
            return Ok(());
        }
        values.resize(start + self.width(), Value::Null);
        let Some(row) = values.get_mut(start..) else { return Ok(()) };
        for (position, value) in row.iter_mut().enumerate() {
            match self.slot(position) {
                Some(slot) => self.adapt_value(format, slot, value)?,
                None => {
                    return Err(StoreError::corrupt(format!(
                        "a row wider than relation {}",
                        self.layout.id.0
                    )));
                }
            }
        }
        Ok(())
    }

    /// Turns a value of the column at a slot from an older format into the current one.
    pub(crate) fn adapt_value(&self, format: u16, slot: u16, value: &mut Value) -> Result<()> {
        let written = self.format(format)?.columns().get(usize::from(slot));
        match (written, self.column_type(slot)) {
            (_, SqlType::Null) => *value = Value::Null,
            (None | Some(SqlType::Null), _) => {
                *value = self.layout.added_defaults.get(usize::from(slot)).cloned().unwrap_or_default();
            }
            (Some(from), to) if *from == to || value.is_null() => {}
            (Some(_), to) => *value = cast(value, &to, &STORED)?,
        }
        Ok(())
    }
}

/// The latest layout of a relation, if it has formats that this one does not.
pub(crate) fn latest_layout(inner: &Inner, layout: &RelationLayout) -> Option<Arc<RelationLayout>> {
    inner.registered_layout(layout.id).filter(|latest| latest.formats.len() > layout.formats.len())
}

/// The error for a row that cannot be decoded.
pub(crate) fn damaged_row(row: RowId, error: &DecodeError) -> StoreError {
    StoreError::corrupt(format!("row {}: {error}", row.0))
}
