//! ALTER CHARACTER SET: the collation of texts that are declared without one.
//!
//! As in Firebird what was declared before keeps the collation that it had.

use std::sync::Arc;

use farbird_sql::ast::Name;
use farbird_types::{CharacterSet, Collation, Error, Result, isc};

use crate::catalog::{CatalogObject, DatabaseProperties, collation_named};
use crate::ddl::editor::Editor;
use crate::ddl::rights;

/// ALTER CHARACTER SET name SET DEFAULT COLLATION collation.
///
/// # Errors
/// `isc_charset_not_found`, also for an alias as Firebird has it; `isc_collation_not_found`; `isc_no_priv`.
pub(super) fn alter(editor: &mut Editor<'_, '_>, name: &Name, collation: &Name) -> Result<()> {
    let name = name.as_str();
    let set = CharacterSet::by_name(name)
        .filter(|set| set.name() == name)
        .ok_or_else(|| Error::new(isc::CHARSET_NOT_FOUND).with(name))?;
    rights::check_alter_character_set(editor.context, name)?;
    let catalog = editor.catalog();
    let found = collation_named(&catalog, set, collation.as_str())
        .ok_or_else(|| Error::new(isc::COLLATION_NOT_FOUND).with(collation.as_str()).with(name))?;
    let mut database = DatabaseProperties::clone(&catalog.database);
    if found == Collation::default() {
        database.default_collations.remove(name);
    } else {
        database.default_collations.insert(name.to_owned(), collation.text.clone());
    }
    editor.put(CatalogObject::Database(Arc::new(database)))
}
