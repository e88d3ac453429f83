//! What the store must know of a relation: record formats, defaults of added columns, index keys.

use std::sync::Arc;

use farbird_record::RecordFormat;
use farbird_store::{
    CodecId, IndexDefinition, IndexId as StoreIndex, KeyPart, KeySource, RelationId as StoreRelation,
    RelationLayout, RowPredicate, TemporaryRows,
};
use farbird_types::{CastContext, Collation, Result, SqlType, Timestamp, Value, ZoneId, convert};

use crate::index_compiler::index_compiler;
use crate::{Column, Format, Index, Relation, RelationKind};

/// The store's description of a relation; the same one for the same relation.
pub fn layout(relation: &Relation) -> Arc<RelationLayout> {
    Arc::clone(relation.layout.get_or_make(|| make(relation)))
}

fn make(relation: &Relation) -> RelationLayout {
    RelationLayout {
        id: StoreRelation(relation.id.0),
        formats: relation.formats.iter().map(record_format).collect(),
        current: u16::try_from(relation.formats.len().saturating_sub(1)).unwrap_or(u16::MAX),
        added_defaults: added_defaults(relation),
        indexes: relation.indexes.iter().map(|index| index_definition(relation, index)).collect(),
        codec: relation.codec.as_deref().and_then(codec),
        temporary: match relation.kind {
            RelationKind::TemporaryTransaction => Some(TemporaryRows::UntilTransactionEnds),
            RelationKind::TemporarySession => Some(TemporaryRows::UntilSessionEnds),
            RelationKind::Table
            | RelationKind::View { .. }
            | RelationKind::External { .. }
            | RelationKind::System => None,
        },
    }
}

/// The codec of this name. DDL has stored only names that there are; one of a newer program is as good as none.
pub fn codec(name: &str) -> Option<CodecId> {
    name.parse().inspect_err(|error| tracing::warn!(name, %error, "a codec is not known")).ok()
}

fn record_format(format: &Format) -> RecordFormat {
    RecordFormat::new(format.fields.iter().map(|field| field.unwrap_or(SqlType::Null)).collect())
}

/// By slot, the value of each column that was added with one; NULL for all others.
fn added_defaults(relation: &Relation) -> Vec<Value> {
    let mut values = Vec::new();
    for column in &relation.columns {
        if let Some(value) = added_default(column) {
            let slot = usize::from(column.field_id);
            if values.len() <= slot {
                values.resize(slot + 1, Value::Null);
            }
            values[slot] = value;
        }
    }
    values
}

fn added_default(column: &Column) -> Option<Value> {
    let text = column.added_default.as_ref()?;
    // The text was made of a value of this type (see ddl): nothing in it depends on a session or the time.
    let context = CastContext { session_zone: ZoneId(u16::MAX), now: Timestamp::default, ..CastContext::UTC };
    convert::cast(&Value::text(text), &column.sql_type, &context).ok()
}

/// Whether the entries of an index can be made of its rows alone, as its source now stands.
pub fn can_be_maintained(relation: &Relation, index: &Index) -> bool {
    key_parts(relation, index).is_ok() && condition(relation, index).is_ok()
}

/// Whether an index is kept up to date, so that it holds every row that it should.
pub fn is_maintained(relation: &Relation, index: &Index) -> bool {
    !index.inactive
        && layout(relation).index(StoreIndex(index.id.0)).is_some_and(|definition| definition.active)
}

fn index_definition(relation: &Relation, index: &Index) -> IndexDefinition {
    // DDL refuses what cannot be bound, but older files may have it: an index that is not kept up to date is not used, and
    // its table refuses writes (see `bind::target`).
    let made = key_parts(relation, index).and_then(|parts| Ok((parts, condition(relation, index)?)));
    let (parts, condition, usable) = match made {
        Ok((parts, condition)) => (parts, condition, true),
        Err(error) => {
            tracing::error!(index = index.name, %error, "an index cannot be used: its expression cannot be bound");
            (Vec::new(), None, false)
        }
    };
    IndexDefinition {
        id: StoreIndex(index.id.0),
        unique: index.unique,
        descending: index.descending,
        parts,
        condition,
        active: usable && !index.inactive,
    }
}

fn key_parts(relation: &Relation, index: &Index) -> Result<Vec<KeyPart>> {
    if let Some(source) = &index.expression_source {
        let (expression, sql_type) = index_compiler()?.value(relation, index, source)?;
        let collation = collation_of(&sql_type);
        return Ok(vec![KeyPart { source: KeySource::Expression(expression), collation }]);
    }
    Ok(index
        .columns
        .iter()
        .filter_map(|name| relation.column(name))
        .map(|column| KeyPart {
            source: KeySource::Column(column.field_id),
            collation: collation_of(&column.sql_type),
        })
        .collect())
}

fn condition(relation: &Relation, index: &Index) -> Result<Option<Arc<dyn RowPredicate>>> {
    match index.condition() {
        None => Ok(None),
        Some(source) => index_compiler()?.condition(relation, index, source).map(Some),
    }
}

/// The order of a type's texts.
pub fn collation_of(sql_type: &SqlType) -> Collation {
    match sql_type {
        SqlType::Text(text) => text.collation,
        SqlType::Blob { collation, .. } => *collation,
        _ => Collation::default(),
    }
}
