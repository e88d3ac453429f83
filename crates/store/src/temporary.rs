//! Temporary relations: rows that only one session sees, until its transaction or the session itself ends.
//!
//! A temporary relation has no rows of its own. A session that writes to it gets an instance of it: a relation with numbers of its
//! own, which the catalog does not know, so that everything else - versions, keys, savepoints, spilled work, the sweep - is as for
//! every relation. Whoever calls a [`Transaction`](crate::Transaction) gives it the catalog's layout; the transaction puts the
//! instance's in its place.
//!
//! # Promises
//! - What a transaction that keeps rows only until it ends has in memory is never written, unless it is committed with RETAIN.
//! - What is in the file stands under a mark, and goes when the session or the transaction ends, or when the database is opened again.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::keyspace::meta;
use crate::substrate::{Space, WriteBatch};
use crate::{IndexId, RelationId, RelationLayout, Result, StoreError};

/// Relations and indexes from this number on are instances'.
const FIRST_NUMBER: u32 = 0x8000_0000;

/// "Dropped by this commit": nobody reads what a session that has ended kept.
const LONG_AGO: [u8; 8] = [0; 8];

impl RelationId {
    /// Whether it is an instance of a temporary relation.
    pub(crate) fn is_instance(self) -> bool {
        self.0 >= FIRST_NUMBER
    }
}

/// An instance of a temporary relation.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    /// As it was used last.
    pub(crate) layout: Arc<RelationLayout>,
    /// The catalog's number of each index that it was begun with, and its own.
    indexes: Arc<[(IndexId, IndexId)]>,
    /// Whether something of it may be in the file.
    pub(crate) is_in_file: bool,
}

/// The numbers of instances, and who has some.
#[derive(Debug, Default)]
pub(crate) struct Instances(Mutex<Numbers>);

#[derive(Debug, Default)]
struct Numbers {
    relations: FreeNumbers,
    indexes: FreeNumbers,
    /// How many instances there are of each relation of the catalog.
    alive: HashMap<RelationId, usize>,
    /// The indexes of each instance, those too that the catalog has dropped since.
    indexes_of: HashMap<RelationId, Arc<[(IndexId, IndexId)]>>,
    /// How many instances have left something in the file.
    left: u64,
}

/// Numbers that nobody uses.
#[derive(Debug, Default)]
struct FreeNumbers {
    /// How many have been given out so far.
    given: u32,
    given_back: Vec<u32>,
}

impl FreeNumbers {
    fn take(&mut self) -> Option<u32> {
        self.given_back.pop().or_else(|| {
            let number = FIRST_NUMBER.checked_add(self.given)?;
            self.given += 1;
            Some(number)
        })
    }
}

impl Instances {
    /// Numbers behind those that the file has of instances.
    pub(crate) fn behind(relations: &[u32], indexes: &[u32]) -> Instances {
        let behind = |numbers: &[u32]| {
            let of_instances = numbers.iter().filter_map(|number| number.checked_sub(FIRST_NUMBER));
            FreeNumbers { given: of_instances.max().map_or(0, |last| last + 1), given_back: Vec::new() }
        };
        let (relations, indexes) = (behind(relations), behind(indexes));
        Instances(Mutex::new(Numbers { relations, indexes, ..Numbers::default() }))
    }

    /// How many instances a relation has.
    pub(crate) fn count(&self, relation: RelationId) -> usize {
        self.0.lock().alive.get(&relation).copied().unwrap_or(0)
    }

    /// Makes an instance; its layout is to be registered.
    pub(crate) fn begin(&self, source: &RelationLayout) -> Result<Instance> {
        let mut numbers = self.0.lock();
        let none_left = || StoreError::BadLayout { relation: source.id, what: "number left for an instance" };
        let relation = RelationId(numbers.relations.take().ok_or_else(none_left)?);
        let mut indexes = Vec::with_capacity(source.indexes.len());
        for index in &source.indexes {
            indexes.push((index.id, IndexId(numbers.indexes.take().ok_or_else(none_left)?)));
        }
        let indexes: Arc<[_]> = indexes.into();
        *numbers.alive.entry(source.id).or_default() += 1;
        numbers.indexes_of.insert(relation, Arc::clone(&indexes));
        drop(numbers);
        let layout = instance_layout(source, relation, &indexes)?;
        Ok(Instance { layout, indexes, is_in_file: false })
    }

    /// How many instances have left something in the file that the sweep is to remove.
    pub(crate) fn left(&self) -> u64 {
        self.0.lock().left
    }

    /// Puts the mark of an instance of which something is to be written; nothing for other relations.
    pub(crate) fn mark_in_file(&self, relation: RelationId, batch: &mut WriteBatch) {
        if let Some(indexes) = self.0.lock().indexes_of.get(&relation) {
            let indexes = indexes.iter().flat_map(|(_, own)| own.0.to_be_bytes()).collect();
            batch.put(Space::Meta, meta::temporary(relation), indexes);
        }
    }

    /// Ends an instance of `source` that no transaction uses any more. Gives what is to be written.
    pub(crate) fn end(&self, source: RelationId, instance: &Instance) -> WriteBatch {
        let mut numbers = self.0.lock();
        if let Some(alive) = numbers.alive.get_mut(&source) {
            *alive -= 1;
            if *alive == 0 {
                numbers.alive.remove(&source);
            }
        }
        numbers.indexes_of.remove(&instance.layout.id);
        let mut batch = WriteBatch::new();
        let indexes = instance.indexes.iter().map(|(_, own)| *own);
        if instance.is_in_file {
            numbers.left += 1;
            put_dropped(instance.layout.id, indexes, &mut batch);
        } else {
            numbers.relations.given_back.push(instance.layout.id.0);
            numbers.indexes.given_back.extend(indexes.map(|index| index.0));
        }
        batch
    }
}

/// Leaves what the file has of an instance to the sweep.
pub(crate) fn put_dropped(
    relation: RelationId,
    indexes: impl Iterator<Item = IndexId>,
    batch: &mut WriteBatch,
) {
    batch.put(Space::Meta, meta::dropped_relation(relation), LONG_AGO.to_vec());
    for index in indexes {
        batch.put(Space::Meta, meta::dropped_index(index), LONG_AGO.to_vec());
    }
    batch.delete(Space::Meta, meta::temporary(relation));
}

/// The layout of an instance for rows as `source`, the catalog's layout, describes them.
///
/// # Errors
/// `LayoutChanged` if `source` has an index that the instance was not begun with: the catalog adds none while there are rows.
fn instance_layout(
    source: &RelationLayout,
    id: RelationId,
    indexes: &[(IndexId, IndexId)],
) -> Result<Arc<RelationLayout>> {
    let mut layout = RelationLayout { id, temporary: None, ..source.clone() };
    for index in &mut layout.indexes {
        let own = indexes.iter().find(|(catalogs, _)| *catalogs == index.id);
        index.id = own.ok_or(StoreError::LayoutChanged { relation: source.id })?.1;
    }
    Ok(Arc::new(layout))
}

impl Instance {
    /// The catalog's number of each index that it was begun with, and its own.
    pub(crate) fn indexes(&self) -> Arc<[(IndexId, IndexId)]> {
        Arc::clone(&self.indexes)
    }

    /// Its layout for rows as `source`, the catalog's layout, describes them, and whether that is another one than last time, to be
    /// registered: transactions that change the definition, and those that do not see that, take turns.
    ///
    /// # Errors
    /// Those of [`instance_layout`].
    pub(crate) fn layout_for(&mut self, source: &RelationLayout) -> Result<(Arc<RelationLayout>, bool)> {
        let is_new = !self.is_as(source);
        if is_new {
            self.layout = instance_layout(source, self.layout.id, &self.indexes)?;
        }
        Ok((Arc::clone(&self.layout), is_new))
    }

    /// Whether the layout of last time is that of `source`.
    fn is_as(&self, source: &RelationLayout) -> bool {
        let own = &*self.layout;
        let has_same_indexes = || {
            own.indexes
                .iter()
                .zip(&source.indexes)
                .all(|(own, given)| own.active == given.active && self.indexes.contains(&(given.id, own.id)))
        };
        own.current == source.current
            && own.formats == source.formats
            && own.added_defaults == source.added_defaults
            && own.codec == source.codec
            && own.indexes.len() == source.indexes.len()
            && has_same_indexes()
    }
}
