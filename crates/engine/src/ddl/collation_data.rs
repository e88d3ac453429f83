//! Making indexes anew whose keys are others with this program's collation data.

use std::sync::Arc;

use farbird_types::Result;

use crate::catalog::{CatalogObject, CollationData, DatabaseProperties};
use crate::ddl::editor::Editor;
use crate::ddl::table_edit::TableEdit;
use crate::expression::ExecutionContext;

/// Makes the outdated indexes of a database anew, and notes this program's data in it.
///
/// An index that cannot be made, since two values are the same to a unique one now, becomes inactive: the log says so, and
/// `farbird check` and RDB$INDICES show it. ALTER INDEX ... ACTIVE makes it when the rows have been mended.
///
/// # Errors
/// Those of the store. Nothing has changed then but the transaction, which is to be rolled back.
pub(crate) fn bring_up_to_date(context: &mut ExecutionContext<'_>) -> Result<()> {
    let transaction = context.transaction;
    transaction.catalog.lock().refresh(&context.database.catalog());
    let outdated: Vec<(String, String)> = {
        let catalog = transaction.current_catalog();
        catalog
            .outdated_indexes()
            .map(|(relation, index)| (relation.name.clone(), index.name.clone()))
            .collect()
    };
    for (table, index) in &outdated {
        context.check_interrupt()?;
        let savepoint = transaction.store.savepoint();
        let mark = transaction.catalog.lock().mark();
        match make_anew(&mut Editor::new(context), table, index, true) {
            Ok(()) => {
                tracing::info!(table, index, "an index was made anew: the collation data are others");
                transaction.store.release(savepoint);
            }
            Err(error) => {
                transaction.catalog.lock().restore(&mark);
                transaction.store.rollback_to(savepoint)?;
                tracing::error!(table, index, %error, "an index is inactive now: it cannot be made with the new collation data");
                make_anew(&mut Editor::new(context), table, index, false)?;
            }
        }
    }
    let mut editor = Editor::new(context);
    let mut database = DatabaseProperties::clone(&editor.catalog().database);
    database.collation_data = CollationData::current();
    editor.put(CatalogObject::Database(Arc::new(database)))
}

/// Gives an index entries of its own anew, or takes its entries and makes it inactive.
fn make_anew(editor: &mut Editor<'_, '_>, table: &str, name: &str, active: bool) -> Result<()> {
    let catalog = editor.catalog();
    let Some(relation) = catalog.relations.get(table) else { return Ok(()) };
    let mut edit = TableEdit::of(relation);
    let Some(index) = edit.relation.indexes.iter_mut().find(|index| index.name == name) else {
        return Ok(());
    };
    let old = index.clone();
    index.inactive = !active;
    index.id = editor.counters().index_id()?;
    if active {
        edit.new_indexes.push(name.to_owned());
    }
    edit.dropped_indexes.push(old);
    edit.finish(editor)?;
    Ok(())
}
