//! BLOBs that a client takes for texts, and texts that it takes for BLOBs: what SET BIND OF BLOB TO VARCHAR and its like ask
//! for. Such values are read or written on their way.

use farbird_engine::SegmentRead;
use farbird_engine::api::BlobParameters;
use farbird_types::convert::to_display_text;
use farbird_types::{CharacterSet, ColumnType, Error, Result, SqlType, Text, Value, isc};
use farbird_wire::message::MessageFormat;
use farbird_wire::protocol::Handle;

use super::Session;

/// Longest BLOB that becomes a text, in bytes: that of the longest text.
const TEXT_BYTES_MAX: usize = 65_535;

/// A value that changes from one to the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Crossing {
    /// Its place in the row.
    place: usize,
    way: Way,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    /// A BLOB becomes a text of its character set.
    ToText(CharacterSet),
    /// What is no BLOB becomes one.
    ToBlob,
}

impl Crossing {
    /// Those between columns and the format that a client wants them in.
    pub(super) fn all(columns: &[ColumnType], format: &MessageFormat) -> Vec<Crossing> {
        let pairs = columns.iter().zip(format.columns()).enumerate();
        pairs
            .filter_map(|(place, (column, wanted))| match (&column.sql_type, wanted.is_blob()) {
                (SqlType::Blob { character_set, .. }, false) => {
                    Some(Crossing { place, way: Way::ToText(*character_set) })
                }
                (SqlType::Blob { .. } | SqlType::Array | SqlType::Null, _) | (_, false) => None,
                (_, true) => Some(Crossing { place, way: Way::ToBlob }),
            })
            .collect()
    }

    /// Those of parameters that are BLOBs where the statement takes something else.
    pub(super) fn of_parameters(values: &[Value], described: &[ColumnType]) -> Vec<Crossing> {
        let pairs = values.iter().zip(described).enumerate();
        pairs
            .filter_map(|(place, (value, column))| match (value, &column.sql_type) {
                (Value::Blob(_), SqlType::Blob { .. } | SqlType::Array | SqlType::Null) => None,
                (Value::Blob(_), SqlType::Text(text)) => {
                    Some(Crossing { place, way: Way::ToText(text.character_set) })
                }
                (Value::Blob(_), _) => Some(Crossing { place, way: Way::ToText(CharacterSet::NONE) }),
                _ => None,
            })
            .collect()
    }
}

impl Session {
    /// The row with these values changed; nothing if there are none.
    pub(super) fn crossed(
        &mut self,
        crossings: &[Crossing],
        transaction: Handle,
        values: &[Value],
    ) -> Result<Option<Vec<Value>>> {
        if crossings.is_empty() {
            return Ok(None);
        }
        let mut row = values.to_vec();
        for crossing in crossings {
            let Some(value) = row.get_mut(crossing.place) else { continue };
            *value = match (&*value, crossing.way) {
                (Value::Blob(id), Way::ToText(character_set)) => {
                    let bytes = self.blob_bytes(transaction, *id)?;
                    Value::Text(Text::new(bytes, character_set))
                }
                (Value::Null | Value::Blob(_), _) => continue,
                (Value::Text(text), Way::ToBlob) => self.blob_of(transaction, text.bytes())?,
                (other, Way::ToBlob) => {
                    let text = to_display_text(other);
                    self.blob_of(transaction, text.as_bytes())?
                }
                (_, Way::ToText(_)) => continue,
            };
        }
        Ok(Some(row))
    }

    fn blob_bytes(&mut self, transaction: Handle, id: farbird_types::BlobId) -> Result<Vec<u8>> {
        let transaction = self.objects.transaction(transaction)?;
        let attachment = self.attachment()?;
        let blob = attachment.open_blob(transaction, id, BlobParameters::default())?;
        let mut bytes = Vec::new();
        let mut read = Ok(());
        loop {
            match attachment.get_segment(blob, u16::MAX.into(), &mut bytes) {
                Ok(SegmentRead::End) => break,
                Ok(_) if bytes.len() <= TEXT_BYTES_MAX => {}
                Ok(_) => {
                    read = Err(Error::new(isc::ARITH_EXCEPT).and(isc::BLOB_TRUNCATION));
                    break;
                }
                Err(error) => {
                    read = Err(error);
                    break;
                }
            }
        }
        attachment.close_blob(blob)?;
        read.map(|()| bytes)
    }

    fn blob_of(&mut self, transaction: Handle, bytes: &[u8]) -> Result<Value> {
        let transaction = self.objects.transaction(transaction)?;
        let attachment = self.attachment()?;
        let (blob, id) = attachment.create_blob(transaction, BlobParameters::default())?;
        for segment in bytes.chunks(usize::from(u16::MAX)) {
            attachment.put_segment(blob, segment)?;
        }
        attachment.close_blob(blob)?;
        Ok(Value::Blob(id))
    }
}
