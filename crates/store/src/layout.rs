//! What the store must know of a relation: its record formats and its indexes.

use std::fmt;
use std::sync::Arc;

use farbird_record::{CodecId, RecordFormat};
use farbird_types::{Collation, Result, Value};

use crate::{IndexId, RelationId};

/// A relation as one generation of the catalog describes it. Rows are `Vec<Value>` by slot.
#[derive(Debug, Clone)]
pub struct RelationLayout {
    /// The relation.
    pub id: RelationId,
    /// All generations of its format, by format number: rows name the one they were written in.
    pub formats: Vec<RecordFormat>,
    /// The format in which rows are written.
    pub current: u16,
    /// By slot: the value of a column for rows that were written before the column existed. May be shorter than the
    /// format; NULL then.
    pub added_defaults: Vec<Value>,
    /// Its indexes, inactive ones too.
    pub indexes: Vec<IndexDefinition>,
    /// How its new blocks are packed; `None`: as the database's are ([`crate::Store::set_codec`]).
    pub codec: Option<CodecId>,
    /// For a temporary relation: how long its rows last. They are kept by its instances (see `temporary`), not by the relation.
    pub temporary: Option<TemporaryRows>,
}

/// How long the rows of a temporary relation last. Nobody but the session that has written them sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemporaryRows {
    /// As long as the transaction that has written them; COMMIT RETAIN does not end it.
    UntilTransactionEnds,
    /// As long as the session.
    UntilSessionEnds,
}

impl RelationLayout {
    /// The format in which rows are written.
    pub fn current_format(&self) -> Option<&RecordFormat> {
        self.formats.get(usize::from(self.current))
    }

    /// The index of this number.
    pub fn index(&self, id: IndexId) -> Option<&IndexDefinition> {
        self.indexes.iter().find(|index| index.id == id)
    }

    /// Whether some keys may be there once only.
    pub fn has_unique_keys(&self) -> bool {
        self.unique_indexes().next().is_some()
    }

    /// Whether such a key may be made of a column.
    pub fn is_of_unique_key(&self, slot: usize) -> bool {
        // What expressions and conditions look at is not known here.
        let is_part =
            |index| column_slots(index).is_none_or(|mut slots| slots.any(|part| usize::from(part) == slot));
        self.unique_indexes().any(is_part)
    }

    fn unique_indexes(&self) -> impl Iterator<Item = &IndexDefinition> {
        self.indexes.iter().filter(|index| index.unique && index.active)
    }
}

/// An index.
#[derive(Debug, Clone)]
pub struct IndexDefinition {
    /// The index.
    pub id: IndexId,
    /// Whether two rows may have the same key. As in Firebird, keys whose values are all NULL never collide.
    pub unique: bool,
    /// Whether the keys stand in descending order.
    pub descending: bool,
    /// What the key is made of.
    pub parts: Vec<KeyPart>,
    /// Rows for which this does not hold are left out.
    pub condition: Option<Arc<dyn RowPredicate>>,
    /// Inactive indexes are neither kept up to date nor usable.
    pub active: bool,
}

/// One part of an index key.
#[derive(Debug, Clone)]
pub struct KeyPart {
    /// Where the value comes from.
    pub source: KeySource,
    /// The order of texts.
    pub collation: Collation,
}

/// Where the value of a key part comes from.
#[derive(Debug, Clone)]
pub enum KeySource {
    /// The column at this slot.
    Column(u16),
    /// COMPUTED BY.
    Expression(Arc<dyn KeyExpression>),
}

/// An expression over one row, for COMPUTED BY indexes.
pub trait KeyExpression: fmt::Debug + Send + Sync {
    /// Its value for a row, given whole, by slot.
    fn evaluate(&self, row: &[Value]) -> Result<Value>;
}

/// A condition over one row, for partial indexes.
pub trait RowPredicate: fmt::Debug + Send + Sync {
    /// Whether it is true of a row, given whole, by slot.
    fn holds(&self, row: &[Value]) -> Result<bool>;
}

/// The slots of an index's parts, if columns are all that its keys are made of.
pub(crate) fn column_slots(index: &IndexDefinition) -> Option<impl Iterator<Item = u16>> {
    let is_plain = index.condition.is_none() && index.parts.iter().all(|part| slot_of(part).is_some());
    is_plain.then(|| index.parts.iter().filter_map(slot_of))
}

pub(crate) fn slot_of(part: &KeyPart) -> Option<u16> {
    match &part.source {
        KeySource::Column(slot) => Some(*slot),
        KeySource::Expression(_) => None,
    }
}
