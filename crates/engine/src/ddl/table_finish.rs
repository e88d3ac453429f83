//! A changed table becomes part of the catalog.

use std::sync::Arc;

use farbird_store::LockLevel;
use farbird_types::Result;

use crate::catalog::layout::can_be_maintained;
use crate::catalog::{CatalogObject, Index, ObjectKind, Relation};
use crate::ddl::constraint;
use crate::ddl::editor::Editor;
use crate::ddl::table_edit::{TableEdit, bring_format_up_to_date};
use crate::ddl::{error, external_table, reference};

impl TableEdit {
    /// Stores the table; then looks at its rows, if there can be any: makes new indexes, checks new constraints.
    pub(super) fn finish(mut self, editor: &mut Editor<'_, '_>) -> Result<Arc<Relation>> {
        bring_format_up_to_date(&mut self.relation);
        if self.relation.is_external() {
            external_table::check(&self.relation)?;
        }
        // A computed column that an index looks at may have got another definition.
        let computes = |index: &&Index| index.expression_source.is_some() || index.condition_source.is_some();
        let mut computed = self.relation.indexes.iter().filter(computes).filter(|index| !index.inactive);
        if computed.any(|index| !can_be_maintained(&self.relation, index)) {
            return Err(error::index_of_more_than_the_row());
        }
        for sequence in std::mem::take(&mut self.sequences) {
            editor.put(CatalogObject::Sequence(Arc::new(sequence)))?;
        }
        for sequence in &self.dropped_sequences {
            editor.remove(ObjectKind::Sequence, sequence)?;
        }
        let exists = self.before.is_some();
        let looks_at_rows = !self.new_indexes.is_empty()
            || !self.new_foreign_keys.is_empty()
            || !self.made_not_null.is_empty()
            || !self.dropped_indexes.is_empty();
        if exists && looks_at_rows {
            editor.lock(&self.relation, LockLevel::ProtectedWrite)?;
        }
        if exists {
            editor.check_rows_are_free(&self.relation, !self.new_indexes.is_empty())?;
        }
        let relation = editor.put_relation(self.relation)?;
        for index in &self.dropped_indexes {
            editor.drop_index(index)?;
        }
        if exists {
            constraint::check_no_nulls(editor, &relation, &self.made_not_null)?;
            for name in &self.new_indexes {
                if let Some(index) = relation.index(name).filter(|index| !index.inactive) {
                    editor.build_index(&relation, index)?;
                }
            }
            for name in &self.new_foreign_keys {
                reference::check_rows(editor, &relation, name)?;
            }
        }
        Ok(relation)
    }
}
