//! A table that is being changed.

use std::sync::Arc;

use farbird_types::Result;

use crate::catalog::{Column, Format, Index, Relation, Sequence};
use crate::ddl::error;

/// A table while it is created or altered: nothing is stored before [`TableEdit::finish`].
pub(super) struct TableEdit {
    /// The table as it shall be.
    pub(super) relation: Relation,
    /// The table as it was; none for a new one.
    pub(super) before: Option<Arc<Relation>>,
    /// Sequences of new identity columns.
    pub(super) sequences: Vec<Sequence>,
    /// Sequences of identity columns that are no more.
    pub(super) dropped_sequences: Vec<String>,
    /// Names of indexes whose entries have to be made.
    pub(super) new_indexes: Vec<String>,
    /// Indexes that are no more.
    pub(super) dropped_indexes: Vec<Index>,
    /// Names of foreign keys that rows have to be checked against.
    pub(super) new_foreign_keys: Vec<String>,
    /// Columns that must not hold NULLs from now on.
    pub(super) made_not_null: Vec<String>,
}

impl TableEdit {
    /// A new table.
    pub(super) fn new(relation: Relation) -> TableEdit {
        TableEdit {
            relation,
            before: None,
            sequences: Vec::new(),
            dropped_sequences: Vec::new(),
            new_indexes: Vec::new(),
            dropped_indexes: Vec::new(),
            new_foreign_keys: Vec::new(),
            made_not_null: Vec::new(),
        }
    }

    /// A change of a table.
    pub(super) fn of(relation: &Arc<Relation>) -> TableEdit {
        TableEdit { before: Some(Arc::clone(relation)), ..TableEdit::new(Relation::clone(relation)) }
    }

    /// A column to be changed.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn column_mut(&mut self, name: &str) -> Result<&mut Column> {
        let Relation { name: table, columns, .. } = &mut self.relation;
        columns
            .iter_mut()
            .find(|column| column.name == name)
            .ok_or_else(|| error::column_not_found(name, table))
    }

    /// The table as it is so far, for binding expressions over its rows.
    pub(super) fn so_far(&self) -> Arc<Relation> {
        let mut relation = self.relation.clone();
        bring_format_up_to_date(&mut relation);
        Arc::new(relation)
    }
}

/// Adds a record format if the columns' types are not those of the current one.
pub(super) fn bring_format_up_to_date(relation: &mut Relation) {
    let mut fields = vec![None; usize::from(relation.next_field_id)];
    for column in &relation.columns {
        if let Some(field) = fields.get_mut(usize::from(column.field_id)) {
            *field = Some(column.sql_type);
        }
    }
    let format = Format { fields };
    if relation.formats.last() != Some(&format) {
        relation.formats.push(format);
    }
}
