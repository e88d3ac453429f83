//! Index scans.

use std::cmp::Ordering;
use std::iter::Peekable;
use std::ops::Bound;
use std::sync::Arc;

use farbird_types::{Text, Value};

use crate::decoder::RowDecoder;
use crate::keys::{EntrySpan, IndexKey};
use crate::keyspace;
use crate::layout::{IndexDefinition, KeySource};
use crate::substrate::{Direction, Entries, Snapshot, Space, is_empty_span};
use crate::transaction::Core;
use crate::{IndexId, Projection, ReadView, RelationLayout, Result, RowBatch, StoreError, Transaction};

/// One end of a range of keys: values for the first parts of the index, in the types of its columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum KeyBound {
    /// No bound.
    #[default]
    Unbounded,
    /// Keys that begin with these values belong to the range.
    Included(Vec<Value>),
    /// Keys that begin with these values do not.
    Excluded(Vec<Value>),
}

/// A range of keys. "Lower" and "upper" are in the order of the values, also for descending indexes; NULL is the lowest value, so a
/// range that shall not contain NULLs needs the bound `Excluded(NULL)`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KeyRange {
    /// The lower end.
    pub lower: KeyBound,
    /// The upper end.
    pub upper: KeyBound,
    /// STARTING WITH: after the values of `lower` (which must be `Included` and equal to `upper`, or both unbounded),
    /// the next part is a text that starts with this.
    pub starting_with: Option<Text>,
}

impl KeyRange {
    /// All keys.
    pub fn all() -> KeyRange {
        KeyRange::default()
    }

    /// Keys that begin with these values; NULL stands for IS NULL.
    pub fn equal(values: Vec<Value>) -> KeyRange {
        KeyRange {
            lower: KeyBound::Included(values.clone()),
            upper: KeyBound::Included(values),
            starting_with: None,
        }
    }

    /// Keys that begin with these values and go on with a text that starts with `prefix`.
    pub fn starting_with(values: Vec<Value>, prefix: Text) -> KeyRange {
        KeyRange { starting_with: Some(prefix), ..KeyRange::equal(values) }
    }
}

/// Which way an index is walked: in the order of the values, or against it. A descending index serves both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ScanDirection {
    /// From the lowest value (NULL first).
    #[default]
    Ascending,
    /// From the highest value (NULL last).
    Descending,
}

/// A scan of an index in key order. A value: between batches it holds nothing but its place.
///
/// Each visible row whose key is in the range comes once. For STARTING WITH rows may come whose text differs from the
/// prefix in case, accents or trailing spaces (see [`farbird_types::key::encode_prefix`]): the caller checks.
#[derive(Debug, Clone)]
pub struct IndexScan {
    layout: Arc<RelationLayout>,
    /// Place of the index among the layout's.
    position: usize,
    span: EntrySpan,
    direction: Direction,
    view: ReadView,
    columns: KeyedProjection,
    /// Whether no view sees more than one row in the range: a whole key of a unique index.
    is_single: bool,
    /// The entry after which to go on.
    last: Option<Vec<u8>>,
    finished: bool,
}

/// The columns asked for together with those of the key.
#[derive(Debug, Clone)]
struct KeyedProjection {
    asked: Projection,
    /// What is decoded: the columns asked for, then those of the key; all if the key needs the whole row.
    decoded: Projection,
}

impl KeyedProjection {
    fn new(index: &IndexDefinition, asked: Projection) -> KeyedProjection {
        let key_slots = index.parts.iter().map(|part| match &part.source {
            KeySource::Column(slot) => Some(*slot),
            KeySource::Expression(_) => None,
        });
        let key_slots: Option<Vec<u16>> = key_slots.collect();
        let decoded = match (asked.slots(), key_slots) {
            (Some(asked), Some(key)) if index.condition.is_none() => Projection::of([asked, &key].concat()),
            _ => Projection::all(),
        };
        KeyedProjection { asked, decoded }
    }

    /// The key of a decoded row, and its columns asked for.
    fn split(
        &self,
        index: &IndexDefinition,
        mut decoded: Vec<Value>,
    ) -> Result<(Option<IndexKey>, Vec<Value>)> {
        match (self.decoded.slots(), self.asked.slots()) {
            (Some(_), Some(asked)) => {
                let key_values = decoded.split_off(asked.len());
                Ok((Some(index.encode(&key_values)?), decoded))
            }
            (_, None) => Ok((index.key(&decoded)?, decoded)),
            (None, Some(asked)) => {
                let key = index.key(&decoded)?;
                let column = |slot: &u16| decoded.get(usize::from(*slot)).cloned().unwrap_or_default();
                Ok((key, asked.iter().map(column).collect()))
            }
        }
    }
}

impl IndexScan {
    /// A scan of the rows that `view` sees, before the first one.
    ///
    /// # Errors
    /// If the layout has no such index, or a bound cannot be a key.
    pub fn new(
        layout: Arc<RelationLayout>,
        index: IndexId,
        range: KeyRange,
        direction: ScanDirection,
        view: ReadView,
        columns: Projection,
    ) -> Result<IndexScan> {
        let missing = StoreError::BadLayout { relation: layout.id, what: "index of this number" };
        let position = layout.indexes.iter().position(|other| other.id == index);
        let (position, definition) =
            position.and_then(|at| layout.indexes.get(at).map(|index| (at, index))).ok_or(missing)?;
        let span = definition.span(&range)?;
        let forward = (direction == ScanDirection::Ascending) != definition.descending;
        let direction = if forward { Direction::Forward } else { Direction::Backward };
        let columns = KeyedProjection::new(definition, columns);
        let is_single = is_whole_unique_key(definition, &range);
        Ok(IndexScan {
            layout,
            position,
            span,
            direction,
            view,
            columns,
            is_single,
            last: None,
            finished: false,
        })
    }

    /// As [`crate::RelationScan::next_batch`], in key order.
    pub fn next_batch(
        &mut self,
        transaction: &Transaction,
        rows_max: usize,
        batch: &mut RowBatch,
    ) -> Result<bool> {
        batch.clear();
        batch.width = RowDecoder::new(&transaction.store().inner, &self.layout, &self.columns.asked).width();
        let Some(index) = self.layout.indexes.get(self.position) else { return Ok(false) };
        let decoder = RowDecoder::new(&transaction.store().inner, &self.layout, &self.columns.decoded);
        transaction.lock_to_read(self.layout.id)?;
        let core = transaction.core()?;
        let snapshot = transaction.store().inner.snapshot();
        let mut entries = None;
        while !self.finished && batch.len() < rows_max.max(1) {
            if entries.is_none() {
                entries = Some(self.entries(&*snapshot, &core, index)?);
            }
            let Some(entry) = entries.as_mut().map_or(Ok(None), MergedEntries::next)? else {
                self.finished = true;
                break;
            };
            let (key, row) =
                keyspace::parse_entry(&entry).ok_or_else(|| StoreError::corrupt("an index entry"))?;
            let mut decoded = Vec::with_capacity(decoder.width());
            let layout = &self.layout;
            if transaction.read_visible(&core, &*snapshot, &decoder, layout, &self.view, row, &mut decoded)? {
                let (own_key, values) = self.columns.split(index, decoded)?;
                // The entry may be of another version of the row than the one seen.
                if own_key.is_some_and(|own| own.bytes == key) {
                    batch.rows.push(row);
                    batch.values.extend(values);
                    self.finished = self.is_single;
                }
            }
            self.last = Some(entry);
        }
        Ok(!batch.is_empty())
    }

    fn entries<'a>(
        &self,
        snapshot: &dyn Snapshot,
        core: &'a Core,
        index: &IndexDefinition,
    ) -> Result<MergedEntries<'a>> {
        let mut lower = self.span.start.as_deref().map_or(Bound::Unbounded, Bound::Included);
        let mut upper = self.span.end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        if let Some(last) = self.last.as_deref() {
            match self.direction {
                Direction::Forward => lower = Bound::Excluded(last),
                Direction::Backward => upper = Bound::Excluded(last),
            }
        }
        let committed = snapshot.scan(Space::Index(index.id), (lower, upper), self.direction)?.peekable();
        let own: Box<dyn Iterator<Item = &[u8]>> = match core.writes.entries.get(&index.id) {
            None => Box::new(std::iter::empty()),
            Some(_) if is_empty_span((lower, upper)) => Box::new(std::iter::empty()),
            Some(own) => {
                let range = own.range((lower, upper)).map(|(entry, _)| entry);
                match self.direction {
                    Direction::Forward => Box::new(range),
                    Direction::Backward => Box::new(range.rev()),
                }
            }
        };
        Ok(MergedEntries { committed, own: own.peekable(), direction: self.direction })
    }

    /// Goes back before the first row.
    pub fn rewind(&mut self) {
        self.last = None;
        self.finished = false;
    }
}

/// Whether a range is one key, of which a unique index has one row at most: a whole one, not of NULLs alone.
fn is_whole_unique_key(index: &IndexDefinition, range: &KeyRange) -> bool {
    let KeyBound::Included(values) = &range.lower else { return false };
    index.unique
        && range.lower == range.upper
        && range.starting_with.is_none()
        && values.len() == index.parts.len()
        && !values.iter().all(Value::is_null)
}

/// Entries in the file and the transaction's own, in order, each once.
struct MergedEntries<'a> {
    committed: Peekable<Entries>,
    own: Peekable<Box<dyn Iterator<Item = &'a [u8]> + 'a>>,
    direction: Direction,
}

impl MergedEntries<'_> {
    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let order = match (self.committed.peek(), self.own.peek()) {
            (None, None) => return Ok(None),
            (Some(_), None) | (Some(Err(_)), _) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(Ok((committed, _))), Some(own)) => match self.direction {
                Direction::Forward => (**committed).cmp(own),
                Direction::Backward => (**own).cmp(committed),
            },
        };
        if order == Ordering::Equal {
            self.own.next();
        }
        match order {
            Ordering::Less | Ordering::Equal => {
                self.committed.next().transpose().map(|entry| entry.map(|(entry, _)| entry.to_vec()))
            }
            Ordering::Greater => Ok(self.own.next().map(|own| own.to_vec())),
        }
    }
}
