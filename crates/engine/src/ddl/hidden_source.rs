//! Sources that are no longer shown: UPDATE of the system table that shows them has set them to NULL.

use std::sync::Arc;

use farbird_types::Result;

use crate::catalog::{CatalogObject, Package, Relation, Routine, Trigger};
use crate::ddl::editor::Editor;
use crate::expression::ExecutionContext;

/// Whose source is hidden.
pub(crate) enum Hidden {
    View(String),
    Trigger(String),
    Procedure(String),
    Function(String),
    /// Of the header, of the body, or of both.
    Package {
        name: String,
        header: bool,
        body: bool,
    },
}

/// Hides a source; false if there is none that is kept so: triggers of constraints show the source of these.
///
/// # Errors
/// Conflicts with other transactions.
pub(crate) fn hide(context: &mut ExecutionContext<'_>, object: Hidden) -> Result<bool> {
    let mut editor = Editor::new(context);
    editor.refresh();
    let catalog = editor.catalog();
    let hidden = match object {
        Hidden::View(name) => catalog.relation(&name).map(|view| {
            CatalogObject::Relation(Arc::new(Relation { source_hidden: true, ..Relation::clone(view) }))
        }),
        Hidden::Trigger(name) => catalog.triggers.get(&name).map(|trigger| {
            CatalogObject::Trigger(Arc::new(Trigger { source_hidden: true, ..Trigger::clone(trigger) }))
        }),
        Hidden::Procedure(name) => catalog.procedures.get(&name).map(|procedure| {
            CatalogObject::Procedure(Arc::new(Routine { source_hidden: true, ..Routine::clone(procedure) }))
        }),
        Hidden::Function(name) => catalog.functions.get(&name).map(|function| {
            CatalogObject::Function(Arc::new(Routine { source_hidden: true, ..Routine::clone(function) }))
        }),
        Hidden::Package { name, header, body } => catalog.packages.get(&name).map(|package| {
            let mut package = Package::clone(package);
            package.header_hidden |= header;
            package.body_hidden |= body;
            CatalogObject::Package(Arc::new(package))
        }),
    };
    let Some(hidden) = hidden else { return Ok(false) };
    editor.put(hidden)?;
    Ok(true)
}
