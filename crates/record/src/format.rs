//! Record formats: the column types of one generation of a relation.

use farbird_types::SqlType;

/// The column types of the rows that were written under one generation of a relation's definition.
///
/// Columns stand at their slot: a dropped column keeps its place (its values are NULL from then on), a new one comes
/// last. A row shorter than its format ends in NULLs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordFormat {
    columns: Vec<SqlType>,
}

impl RecordFormat {
    /// A format of these columns.
    pub fn new(columns: Vec<SqlType>) -> RecordFormat {
        RecordFormat { columns }
    }

    /// The types, by slot.
    pub fn columns(&self) -> &[SqlType] {
        &self.columns
    }

    /// How many columns there are.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether there is no column.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Size of a row's record image ([`crate::image`]) in bytes.
    pub fn image_bytes(&self) -> usize {
        crate::image::ImageLayout::new(self).size()
    }

    /// Slots of the columns whose values are BLOBs: arrays too.
    pub fn blob_slots(&self) -> impl Iterator<Item = usize> + '_ {
        self.columns
            .iter()
            .enumerate()
            .filter(|(_, sql_type)| matches!(sql_type, SqlType::Blob { .. } | SqlType::Array))
            .map(|(slot, _)| slot)
    }
}
