//! What a restore may leave out of the definitions of a backup, so that rows come back which do not satisfy them, or sooner.
//!
//! Source: gbak of Firebird 5, -inactive and -no_validity; unlike there keys have active indexes and columns that are NOT NULL.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use farbird_store::{Projection, RelationScan, RowBatch, Transaction};
use farbird_types::{Result, Value};

use super::Difference;
use crate::catalog::{Catalog, CatalogObject, ConstraintKind, Relation, RelationKind, layout};

/// Rows looked at between two looks whether the work is to stop.
const ROWS_PER_STEP: usize = 256;

/// The tables, changed by `change`, which says whether it has.
fn changed_tables(
    catalog: &Catalog,
    mut change: impl FnMut(&mut Relation) -> bool,
) -> impl Iterator<Item = CatalogObject> {
    catalog.relations.values().filter(|relation| relation.is_stored()).filter_map(move |relation| {
        let mut relation = Relation::clone(relation);
        relation.layout = Default::default();
        change(&mut relation).then(|| CatalogObject::Relation(Arc::new(relation)))
    })
}

/// The objects that change if all indexes become inactive but those of keys.
pub(super) fn with_inactive_indexes(catalog: &Catalog) -> Vec<CatalogObject> {
    let inactivate = |relation: &mut Relation| {
        let keys: BTreeSet<&str> = relation.constraints.iter().filter_map(|it| it.index()).collect();
        let active =
            relation.indexes.iter_mut().filter(|it| !it.inactive && !keys.contains(it.name.as_str()));
        active.map(|index| index.inactive = true).count() > 0
    };
    changed_tables(catalog, inactivate).collect()
}

/// The columns of a table's primary key.
fn primary_key(relation: &Relation) -> BTreeSet<String> {
    let index = relation.constraints.iter().find_map(|it| match &it.kind {
        ConstraintKind::PrimaryKey { index } => Some(index),
        _ => None,
    });
    let index = index.and_then(|name| relation.indexes.iter().find(|it| it.name == *name));
    index.map(|index| index.columns.iter().cloned().collect()).unwrap_or_default()
}

/// The objects that change if rows need satisfy nothing but keys and the CHECKs of their tables: columns may be NULL, but those of primary
/// keys and identity columns, and domains have no CHECK.
pub(crate) fn without_validity(catalog: &Catalog) -> Vec<CatalogObject> {
    let mut domains_of_keys = BTreeSet::new();
    let loosen = |relation: &mut Relation| {
        let key = primary_key(relation);
        let mut loosened = BTreeSet::new();
        for column in &mut relation.columns {
            if key.contains(&column.name) || column.identity.is_some() {
                domains_of_keys.insert(column.domain.clone());
            } else if std::mem::take(&mut column.not_null) {
                loosened.insert(column.name.clone());
            }
        }
        relation.constraints.retain(
            |it| !matches!(&it.kind, ConstraintKind::NotNull { column } if loosened.contains(column)),
        );
        !loosened.is_empty()
    };
    let mut changed: Vec<CatalogObject> = changed_tables(catalog, loosen).collect();
    for domain in catalog.domains.values() {
        let mut loose = (**domain).clone();
        loose.not_null &= domains_of_keys.contains(&loose.name);
        loose.check_source = None;
        if loose != **domain {
            changed.push(CatalogObject::Domain(Arc::new(loose)));
        }
    }
    changed
}

/// The tables that change if foreign keys go whose rows refer to tables that have none: those whose rows were left out. With each
/// what is told of it.
///
/// # Errors
/// Those of reading.
pub(super) fn without_dangling_keys(
    catalog: &Catalog,
    transaction: &Transaction,
) -> Result<Vec<(CatalogObject, Difference)>> {
    let mut changed = Vec::new();
    let view = transaction.view()?;
    let mut known = BTreeMap::new();
    let mut is_empty = |name: &str| -> Result<bool> {
        if let Some(empty) = known.get(name) {
            return Ok(*empty);
        }
        let Some(relation) = catalog.relation(name) else { return Ok(false) };
        let mut scan = RelationScan::new(layout(relation), view.clone(), Projection::of([]));
        let empty = !scan.next_batch(transaction, 1, &mut RowBatch::new())?;
        known.insert(name.to_owned(), empty);
        Ok(empty)
    };
    for relation in catalog.relations.values().filter(|it| it.kind == RelationKind::Table) {
        let mut left = Relation::clone(relation);
        let mut told = Vec::new();
        for constraint in &relation.constraints {
            let ConstraintKind::ForeignKey { index, referenced_relation, .. } = &constraint.kind else {
                continue;
            };
            let own = relation.indexes.iter().find(|it| it.name == *index);
            let Some(own) = own.filter(|_| *referenced_relation != relation.name) else { continue };
            if !is_empty(referenced_relation)? || !refers(relation, &own.columns, transaction)? {
                continue;
            }
            left.constraints.retain(|it| it.name != constraint.name);
            left.indexes.retain(|it| it.name != *index);
            told.push(Difference {
                object: format!("constraint {} of table {}", constraint.name, relation.name),
                reason: format!("the rows of {referenced_relation} that it refers to were left out"),
            });
        }
        left.layout = Default::default();
        let object = CatalogObject::Relation(Arc::new(left));
        changed.extend(told.into_iter().map(|told| (object.clone(), told)));
    }
    Ok(changed)
}

/// Whether a row has values in all of these columns.
fn refers(relation: &Relation, columns: &[String], transaction: &Transaction) -> Result<bool> {
    let slots: Vec<u16> =
        columns.iter().filter_map(|name| relation.column(name).map(|column| column.field_id)).collect();
    let mut scan = RelationScan::new(layout(relation), transaction.view()?, Projection::of(slots));
    let mut batch = RowBatch::new();
    while scan.next_batch(transaction, ROWS_PER_STEP, &mut batch)? {
        transaction.cancel_flag().check()?;
        for index in 0..batch.len() {
            // Those columns and no others.
            if batch.take_row(index).iter().all(|value| *value != Value::Null) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
