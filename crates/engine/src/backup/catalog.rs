//! The catalog's part in a backup: its entries, and the tables whose rows are copied.

use std::sync::Arc;

use farbird_store::SequenceId;
use farbird_store::backup::BackupRelation;
use farbird_types::Result;

use crate::api::reported_page_size;
use crate::backup::loosening::{with_inactive_indexes, without_validity};
use crate::backup::options::RestoreOptions;
use crate::catalog::{
    Catalog, CatalogObject, CollationData, DatabaseProperties, OrderedMap, RelationKind, ShutdownMode,
    layout, new_guid,
};
use crate::clock;

/// The entries of a catalog in the order of their keys, as the store has them: all that not every database has.
pub(super) fn entries(catalog: &Catalog) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let common = Catalog::empty();
    let mut entries = vec![entry(CatalogObject::Database(Arc::clone(&catalog.database)))?];
    let objects = own(&catalog.relations, &common.relations, CatalogObject::Relation)
        .chain(own(&catalog.domains, &common.domains, CatalogObject::Domain))
        .chain(own(&catalog.sequences, &common.sequences, CatalogObject::Sequence))
        .chain(own(&catalog.exceptions, &common.exceptions, CatalogObject::Exception))
        .chain(own(&catalog.procedures, &common.procedures, CatalogObject::Procedure))
        .chain(own(&catalog.functions, &common.functions, CatalogObject::Function))
        .chain(own(&catalog.packages, &common.packages, CatalogObject::Package))
        .chain(own(&catalog.triggers, &common.triggers, CatalogObject::Trigger))
        .chain(own(&catalog.roles, &common.roles, CatalogObject::Role))
        .chain(own(&catalog.privileges, &common.privileges, CatalogObject::Privilege))
        .chain(own(&catalog.collations, &common.collations, CatalogObject::Collation))
        .chain(own(&catalog.mappings, &common.mappings, CatalogObject::Mapping));
    for object in objects {
        entries.push(entry(object)?);
    }
    entries.sort();
    Ok(entries)
}

fn entry(object: CatalogObject) -> Result<(Vec<u8>, Vec<u8>)> {
    let (kind, name) = object.identity();
    Ok((kind.key(&name), object.encode()?))
}

/// The objects that are not those of every database.
fn own<'a, T: PartialEq>(
    objects: &'a OrderedMap<String, Arc<T>>,
    common: &'a OrderedMap<String, Arc<T>>,
    wrap: impl Fn(Arc<T>) -> CatalogObject + 'a,
) -> impl Iterator<Item = CatalogObject> + 'a {
    objects
        .iter()
        .filter(|(name, object)| common.get(*name) != Some(*object))
        .map(move |(_, object)| wrap(Arc::clone(object)))
}

/// The tables whose rows are copied: temporary ones have none that outlive their session.
pub(super) fn relations(catalog: &Catalog) -> Vec<BackupRelation> {
    let tables = catalog.relations.values().filter(|relation| relation.kind == RelationKind::Table);
    tables
        .map(|relation| BackupRelation {
            name: relation.name.clone(),
            layout: layout(relation),
            index_names: relation.indexes.iter().map(|index| index.name.clone()).collect(),
            is_passed_over: false,
        })
        .collect()
}

/// The sequences of users and identity columns.
pub(super) fn sequences(catalog: &Catalog) -> Vec<SequenceId> {
    catalog.sequences.values().map(|sequence| SequenceId(sequence.id.0)).collect()
}

/// The catalog of a database that is made of a backup's entries: another database, born now.
pub(super) fn restored(entries: &[(Vec<u8>, Vec<u8>)], options: &RestoreOptions) -> Result<Catalog> {
    let mut catalog = Catalog::empty();
    for (key, value) in entries {
        catalog.insert(CatalogObject::decode(key, value)?);
    }
    let properties = DatabaseProperties {
        guid: new_guid(),
        created_us: clock::now_us(),
        read_only: options.read_only,
        shutdown: ShutdownMode::Normal,
        page_size: options.page_size.map_or(catalog.database.page_size, reported_page_size),
        // Indexes are made of the rows.
        collation_data: CollationData::current(),
        ..DatabaseProperties::clone(&catalog.database)
    };
    catalog.insert(CatalogObject::Database(Arc::new(properties)));
    let inactive = if options.inactive_indexes { with_inactive_indexes(&catalog) } else { Vec::new() };
    inactive.into_iter().for_each(|object| catalog.insert(object));
    let loose = if options.no_validity { without_validity(&catalog) } else { Vec::new() };
    loose.into_iter().for_each(|object| catalog.insert(object));
    Ok(catalog)
}
