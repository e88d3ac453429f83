//! Index scans.

use std::cmp::Ordering;
use std::iter::Peekable;
use std::ops::{Bound, Deref};
use std::sync::Arc;

use farbird_types::{Text, Value};

use crate::committed::RowFinder;
use crate::decoder::RowDecoder;
use crate::entry_rows::EntryRows;
use crate::keyed_projection::KeyedProjection;
use crate::keys::EntrySpan;
use crate::keyspace;
use crate::layout::IndexDefinition;
use crate::substrate::{Direction, Entries, KeyRoom, Slice, Space, SubstrateState, is_empty_span};
use crate::tally::RecordCounter;
use crate::transaction::Core;
use crate::{
    IndexId, Projection, ReadView, RelationLayout, Result, RowBatch, RowId, StoreError, Transaction,
};

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
    /// Room for an entry, and for a row's key.
    entry: KeyRoom,
    own_key: Vec<u8>,
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
            entry: KeyRoom::default(),
            own_key: Vec::new(),
        })
    }

    /// Begins anew with another range of the same index, as another view sees it.
    ///
    /// # Errors
    /// If a bound cannot be a key.
    pub fn begin_again(&mut self, range: &KeyRange, view: &ReadView) -> Result<()> {
        self.rewind();
        self.finished = true;
        let Some(definition) = self.layout.indexes.get(self.position) else { return Ok(()) };
        self.span = definition.span(range)?;
        self.is_single = is_whole_unique_key(definition, range);
        self.view.clone_from(view);
        self.finished = false;
        Ok(())
    }

    /// As [`IndexScan::begin_again`], with the keys that begin with these values.
    ///
    /// # Errors
    /// If they cannot be a key.
    pub fn begin_again_at(&mut self, values: &[Value], view: &ReadView) -> Result<()> {
        self.rewind();
        self.finished = true;
        let Some(definition) = self.layout.indexes.get(self.position) else { return Ok(()) };
        let start = self.span.start.get_or_insert_default();
        start.clear();
        definition.encode_into(values.iter(), start)?;
        let mut end = self.span.end.take().unwrap_or_default();
        self.span.end = keyspace::after_prefix_into(start, &mut end).then_some(end);
        self.is_single = is_whole_key(definition, values);
        self.view.clone_from(view);
        self.finished = false;
        Ok(())
    }

    /// As [`crate::RelationScan::next_batch`], in key order.
    pub fn next_batch(
        &mut self,
        transaction: &Transaction,
        rows_max: usize,
        batch: &mut RowBatch,
    ) -> Result<bool> {
        let instance = transaction.instance(&self.layout)?;
        let layout = instance.as_ref().unwrap_or(&self.layout);
        batch.clear();
        batch.width = self.columns.width(layout);
        let Some(index) = layout.indexes.get(self.position) else { return Ok(false) };
        if self.finished {
            return Ok(false);
        }
        let inner = &transaction.store().inner;
        transaction.lock_to_read(layout.id)?;
        let mut core = transaction.core()?;
        let snapshot = inner.snapshot();
        let (mut is_at_end, mut has_single) = (true, false);
        {
            // Where a range begins its keys are shown one by one, which takes less than a scan if they are few.
            let is_beginning = self.last.is_none()
                && self.span.start.is_some()
                && self.direction == Direction::Forward
                && !core.writes.entries.contains_key(&index.id);
            let entries = match is_beginning {
                true => None,
                false => Some(self.entries(&*snapshot, &core, index)?),
            };
            let mut rows = EntryRows {
                transaction,
                core: &core,
                relation: layout.id,
                index,
                columns: &self.columns,
                view: &self.view,
                finder: RowFinder::new(inner, &*snapshot, layout.id)?,
                decoder: RowDecoder::new(inner, layout, &self.columns.decoded),
                wanted: None,
                own_key: &mut self.own_key,
            };
            let (is_single, last) = (self.is_single, &mut self.last);
            let mut take = |entry: &[u8]| -> Result<bool> {
                if let Some(row) = rows.take(entry, &mut batch.values)? {
                    batch.rows.push(row);
                    has_single = is_single;
                }
                is_at_end = !has_single && batch.rows.len() < rows_max.max(1);
                if !is_at_end {
                    let last = last.get_or_insert_default();
                    last.clear();
                    last.extend_from_slice(entry);
                }
                Ok(is_at_end)
            };
            match entries {
                Some(mut entries) => {
                    while let Some(entry) = entries.next()? {
                        if !take(&entry)? {
                            break;
                        }
                    }
                }
                None => {
                    let start = self.span.start.as_deref().map_or(Bound::Unbounded, Bound::Included);
                    let end = self.span.end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
                    let space = Space::Index(index.id);
                    snapshot.visit_keys(space, (start, end), &mut self.entry, &mut take)?;
                }
            }
        }
        self.finished = is_at_end || has_single;
        core.pending.add(self.layout.id, RecordCounter::IdxReads, batch.rows.len() as u64);
        Ok(!batch.is_empty())
    }

    /// Appends the numbers of the rows that the next entries of the range are of, at most so many; false at the end.
    ///
    /// Nothing is read of the rows: a row may come more than once, may be invisible, or be visible with another key. Every visible
    /// row whose key is in the range is among them.
    pub fn next_candidates(
        &mut self,
        transaction: &Transaction,
        rows_max: usize,
        rows: &mut Vec<RowId>,
    ) -> Result<bool> {
        let instance = transaction.instance(&self.layout)?;
        let layout = instance.as_ref().unwrap_or(&self.layout);
        let Some(index) = layout.indexes.get(self.position) else { return Ok(false) };
        if self.finished {
            return Ok(false);
        }
        transaction.lock_to_read(layout.id)?;
        transaction.cancel_flag().check()?;
        let core = transaction.core()?;
        let snapshot = transaction.store().inner.snapshot();
        let mut entries = self.entries(&*snapshot, &core, index)?;
        let mut latest = None;
        for _ in 0..rows_max.max(1) {
            let Some(entry) = entries.next()? else {
                self.finished = true;
                break;
            };
            let (_, row) =
                keyspace::parse_entry(&entry).ok_or_else(|| StoreError::corrupt("an index entry"))?;
            rows.push(row);
            latest = Some(entry);
        }
        if let Some(entry) = latest {
            let last = self.last.get_or_insert_default();
            last.clear();
            last.extend_from_slice(&entry);
        }
        Ok(!self.finished)
    }

    /// Whether no more rows come.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    fn entries<'a>(
        &self,
        snapshot: &dyn SubstrateState,
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

/// Whether a range is one key, of which a unique index has one row at most.
fn is_whole_unique_key(index: &IndexDefinition, range: &KeyRange) -> bool {
    let KeyBound::Included(values) = &range.lower else { return false };
    range.lower == range.upper && range.starting_with.is_none() && is_whole_key(index, values)
}

/// Whether values are a whole key of a unique index, not of NULLs alone.
fn is_whole_key(index: &IndexDefinition, values: &[Value]) -> bool {
    index.unique && values.len() == index.parts.len() && !values.iter().all(Value::is_null)
}

/// Entries in the file and the transaction's own, in order, each once.
struct MergedEntries<'a> {
    committed: Peekable<Entries>,
    own: Peekable<Box<dyn Iterator<Item = &'a [u8]> + 'a>>,
    direction: Direction,
}

/// An entry in the file, or the transaction's own.
enum Entry<'a> {
    Committed(Slice),
    Own(&'a [u8]),
}

impl Deref for Entry<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Entry::Committed(slice) => slice,
            Entry::Own(bytes) => bytes,
        }
    }
}

impl<'a> MergedEntries<'a> {
    fn next(&mut self) -> Result<Option<Entry<'a>>> {
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
                self.committed.next().transpose().map(|entry| entry.map(|(entry, _)| Entry::Committed(entry)))
            }
            Ordering::Greater => Ok(self.own.next().map(Entry::Own)),
        }
    }
}
