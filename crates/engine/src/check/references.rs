//! Foreign keys: every row that refers to another one finds it.

use std::sync::Arc;

use farbird_store::check::{CheckReport, Location};
use farbird_store::{
    CancelFlag, IndexId, IndexScan, KeyRange, Projection, ReadView, RelationId, RelationLayout, RelationScan,
    Result, RowBatch, ScanDirection, Store, StoreError, Transaction, TransactionOptions,
};
use farbird_types::convert::{CastContext, cast};
use farbird_types::{SqlType, Timestamp, Value, ZoneId};

use crate::catalog::layout::layout;
use crate::catalog::{Catalog, ConstraintKind, Relation};
use crate::execute::key_text;

/// Rows read at a time.
const ROWS_PER_BATCH: usize = 1_000;

/// Keys of the two tables may differ in their width; they are converted without a session.
const STORED: CastContext =
    CastContext { session_zone: ZoneId(u16::MAX), now: Timestamp::default, ..CastContext::UTC };

/// A foreign key, resolved.
struct Reference<'a> {
    name: &'a str,
    child: &'a Relation,
    /// Its columns: names and slots.
    columns: &'a [String],
    slots: Vec<u16>,
    parent: &'a Relation,
    parent_layout: Arc<RelationLayout>,
    parent_index: IndexId,
    parent_types: Vec<SqlType>,
}

/// Reports the rows whose foreign keys lead nowhere, each table as of a snapshot of its own; `begun` is told of each foreign key's table.
///
/// # Errors
/// `Cancelled`, and whatever keeps the check from going on. A table that cannot be read was reported before.
pub(super) fn check_references(
    store: &Store,
    catalog: &Catalog,
    report: &mut CheckReport,
    begun: &mut dyn FnMut(&str),
    cancel: &Arc<CancelFlag>,
) -> Result<()> {
    for child in catalog.relations.values().filter(|relation| relation.is_stored()) {
        check_references_of(store, catalog, child, report, begun, cancel)?;
    }
    Ok(())
}

/// As [`check_references`], of one table.
pub(super) fn check_references_of(
    store: &Store,
    catalog: &Catalog,
    child: &Relation,
    report: &mut CheckReport,
    begun: &mut dyn FnMut(&str),
    cancel: &Arc<CancelFlag>,
) -> Result<()> {
    let references = references_of(catalog, child);
    if references.is_empty() {
        return Ok(());
    }
    let options = TransactionOptions { ignore_limbo: true, ..TransactionOptions::default() };
    let transaction = store.begin(options, Arc::clone(cancel))?;
    let view = transaction.view()?;
    for reference in references {
        begun(&child.name);
        match check_reference(&transaction, &view, &reference, report, cancel) {
            // The check of the table itself names the damage.
            Ok(()) | Err(StoreError::Corrupt { .. } | StoreError::Io(_)) => {}
            Err(error) => return Err(error),
        }
    }
    drop(view);
    transaction.rollback()
}

fn references_of<'a>(catalog: &'a Catalog, child: &'a Relation) -> Vec<Reference<'a>> {
    let resolved = child.constraints.iter().filter_map(|constraint| {
        let ConstraintKind::ForeignKey { index, referenced_relation, referenced_constraint, .. } =
            &constraint.kind
        else {
            return None;
        };
        let index = child.index(index)?;
        let parent = catalog.relation(referenced_relation)?;
        let key = parent.index(parent.constraint(referenced_constraint)?.index()?)?;
        let slot = |relation: &Relation, column: &String| Some(relation.column(column)?.field_id);
        let slots = index.columns.iter().map(|column| slot(child, column)).collect::<Option<Vec<u16>>>()?;
        let parent_layout = layout(parent);
        let format = parent_layout.current_format()?;
        let parent_types = key
            .columns
            .iter()
            .map(|column| format.columns().get(usize::from(slot(parent, column)?)).copied());
        let parent_types = parent_types.collect::<Option<Vec<SqlType>>>()?;
        (!key.inactive).then(|| Reference {
            name: &constraint.name,
            child,
            columns: &index.columns,
            slots,
            parent,
            parent_index: IndexId(key.id.0),
            parent_types,
            parent_layout,
        })
    });
    resolved.collect()
}

fn check_reference(
    transaction: &Transaction,
    view: &ReadView,
    reference: &Reference<'_>,
    report: &mut CheckReport,
    cancel: &Arc<CancelFlag>,
) -> Result<()> {
    let projection = Projection::of(reference.slots.clone());
    let mut scan = RelationScan::new(layout(reference.child), view.clone(), projection);
    let mut batch = RowBatch::new();
    // Neighbours often refer to the same row.
    let mut known: Option<(Vec<Value>, bool)> = None;
    while scan.next_batch(transaction, ROWS_PER_BATCH, &mut batch)? {
        cancel.check()?;
        for position in 0..batch.len() {
            let row = batch.row_id(position);
            let values = batch.take_row(position);
            // A key with a NULL in it refers to nothing and needs nothing.
            if values.iter().any(Value::is_null) {
                continue;
            }
            let found = match &known {
                Some((key, found)) if *key == values => *found,
                _ => reference.is_met(transaction, view, &values)?,
            };
            if !found {
                let what = format!(
                    "foreign key {} refers to {} of {}, which is not there",
                    reference.name,
                    key_text(reference.columns, &values, &CastContext::UTC),
                    reference.parent.name
                );
                report.add(Location::Reference(RelationId(reference.child.id.0), row), what);
            }
            known = Some((values, found));
        }
    }
    Ok(())
}

impl Reference<'_> {
    /// Whether the other table has a row with this key.
    fn is_met(&self, transaction: &Transaction, view: &ReadView, values: &[Value]) -> Result<bool> {
        let mut key = Vec::with_capacity(values.len());
        for (value, sql_type) in values.iter().zip(&self.parent_types) {
            match cast(value, sql_type, &STORED) {
                Ok(value) => key.push(value),
                // A value that the other table cannot hold is not in it.
                Err(_) => return Ok(false),
            }
        }
        let mut scan = IndexScan::new(
            Arc::clone(&self.parent_layout),
            self.parent_index,
            KeyRange::equal(key),
            ScanDirection::default(),
            view.clone(),
            Projection::of([]),
        )?;
        scan.next_batch(transaction, 1, &mut RowBatch::new())
    }
}
