//! Checking tables one by one, among their users.

use std::sync::Arc;

use farbird_store::{CancelFlag, IndexId};
use farbird_types::Result;

use super::references::check_references_of;
use super::{DatabaseReport, Names, room_of};
use crate::catalog::Relation;
use crate::database::Database;

/// A table that can be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedTable {
    /// Its name.
    pub name: String,
    /// Its number (RDB$RELATION_ID).
    pub id: u32,
    /// Its active indexes.
    pub indexes: Vec<String>,
}

/// The tables that are stored, in the order of their numbers.
pub(crate) fn tables_to_check(database: &Database) -> Vec<CheckedTable> {
    let catalog = database.catalog();
    let table = |relation: &Arc<Relation>| CheckedTable {
        name: relation.name.clone(),
        id: relation.id.0,
        indexes: relation
            .indexes
            .iter()
            .filter(|index| !index.inactive)
            .map(|index| index.name.clone())
            .collect(),
    };
    let mut tables: Vec<CheckedTable> =
        catalog.relations.values().filter(|relation| relation.is_stored()).map(table).collect();
    tables.sort_by_key(|table| table.id);
    tables
}

/// Checks the rows of a table with their BLOBs and foreign keys, and those of its indexes that `table` names. A table that is gone
/// is sound.
///
/// # Errors
/// If the check cannot go on, or `cancel` is raised.
pub(crate) fn check_table(
    database: &Database,
    table: &CheckedTable,
    cancel: &Arc<CancelFlag>,
) -> Result<DatabaseReport> {
    let catalog = database.catalog();
    let Some(relation) = catalog.relations.get(&table.name).filter(|relation| relation.is_stored()) else {
        return Ok(DatabaseReport::default());
    };
    let mut names = Names::default();
    let mut layout = names.learn_relation(relation, &catalog.database.collation_data);
    for index in relation.indexes.iter().filter(|index| !table.indexes.contains(&index.name)) {
        let id = IndexId(index.id.0);
        for definition in Arc::make_mut(&mut layout).indexes.iter_mut().filter(|it| it.id == id) {
            definition.active = false;
        }
    }
    let failed = |error| database.status(error);
    let room = room_of(&database.budget);
    let mut report = database.store.check_relation(&layout, &room, cancel).map_err(failed)?;
    check_references_of(&database.store, &catalog, relation, &mut report, &mut |_| {}, cancel)
        .map_err(failed)?;
    Ok(names.report(report))
}
