//! Where the rows of temporary relations are: in instances of the session, or of the transaction (see [`crate::temporary`]).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Core, Transaction};
use crate::layout::TemporaryRows;
use crate::store::Inner;
use crate::substrate::Durability;
use crate::temporary::Instance;
use crate::{IndexId, LockLevel, RelationId, RelationLayout, RelationStatistics, Result, Store, StoreError};

/// Instances of temporary relations, by the catalog's number of the relation.
#[derive(Debug, Default)]
pub(crate) struct InstanceMap(Mutex<HashMap<RelationId, Instance>>);

impl InstanceMap {
    /// The layout under which the rows of a relation are kept; `None`: there are none yet.
    pub(crate) fn find(&self, inner: &Inner, source: &RelationLayout) -> Result<Option<Arc<RelationLayout>>> {
        self.0.lock().get_mut(&source.id).map(|instance| layout_for(instance, inner, source)).transpose()
    }

    /// As [`InstanceMap::find`]; makes the instance if there is none.
    pub(crate) fn find_or_begin(
        &self,
        inner: &Inner,
        source: &RelationLayout,
    ) -> Result<Arc<RelationLayout>> {
        match self.0.lock().entry(source.id) {
            Entry::Occupied(mut known) => layout_for(known.get_mut(), inner, source),
            Entry::Vacant(vacant) => {
                let instance = inner.instances.begin(source)?;
                inner.register_layout(Arc::clone(&instance.layout));
                Ok(Arc::clone(&vacant.insert(instance).layout))
            }
        }
    }

    pub(crate) fn has(&self, relation: RelationId) -> bool {
        self.0.lock().contains_key(&relation)
    }

    /// The indexes of a relation's instance: the catalog's number of each, and the instance's own.
    fn indexes_of(&self, relation: RelationId) -> Option<Arc<[(IndexId, IndexId)]>> {
        self.0.lock().get(&relation).map(Instance::indexes)
    }

    /// The number of the instance of a relation.
    pub(crate) fn number_of(&self, relation: RelationId) -> Option<RelationId> {
        self.0.lock().get(&relation).map(|instance| instance.layout.id)
    }

    /// Notes of each instance of which `is_in_file` says so that something of it is in the file.
    pub(crate) fn note_in_file(&self, is_in_file: impl Fn(RelationId) -> bool) {
        for instance in self.0.lock().values_mut() {
            instance.is_in_file |= is_in_file(instance.layout.id);
        }
    }

    /// The layouts of the instances of which nothing is in the file.
    pub(crate) fn in_memory(&self) -> Vec<Arc<RelationLayout>> {
        let instances = self.0.lock();
        instances.values().filter(|instance| !instance.is_in_file).map(|it| Arc::clone(&it.layout)).collect()
    }

    /// Ends them all: no transaction uses them any more.
    pub(crate) fn end(&self, inner: &Inner) {
        for (source, instance) in self.0.lock().drain() {
            inner.unregister_layout(instance.layout.id);
            let batch = inner.instances.end(source, &instance);
            // What cannot be marked now is found under its other mark by the next open.
            if !batch.is_empty()
                && let Err(error) = inner.write(batch, Durability::Relaxed)
            {
                tracing::warn!(%error, "cannot give back the rows of a temporary table");
            }
        }
    }
}

/// The rows that a session keeps in temporary relations until it ends; dropping it gives them back. To be given to each
/// transaction of the session ([`Transaction::of_session`]).
#[derive(Debug)]
pub struct SessionRelations {
    store: Store,
    instances: InstanceMap,
}

impl SessionRelations {
    /// Of a new session.
    pub fn new(store: &Store) -> SessionRelations {
        SessionRelations { store: store.clone(), instances: InstanceMap::default() }
    }

    /// Gives all rows back, while no transaction of the session has changed any.
    pub fn clear(&self) {
        self.instances.end(&self.store.inner);
    }
}

impl Drop for SessionRelations {
    fn drop(&mut self) {
        self.instances.end(&self.store.inner);
    }
}

fn layout_for(
    instance: &mut Instance,
    inner: &Inner,
    source: &RelationLayout,
) -> Result<Arc<RelationLayout>> {
    let (layout, is_new) = instance.layout_for(source)?;
    if is_new {
        inner.register_layout(Arc::clone(&layout));
    }
    Ok(layout)
}

impl Transaction {
    /// Makes it one of a session: what that keeps in temporary relations it sees and changes. Without a session it keeps them itself.
    #[must_use]
    pub fn of_session(mut self, session: Arc<SessionRelations>) -> Transaction {
        self.session = Some(session);
        self
    }

    /// What its session keeps in temporary relations: for another transaction of the session.
    pub fn session(&self) -> Option<&Arc<SessionRelations>> {
        self.session.as_ref()
    }

    /// Whether a temporary relation has rows, or had some, of another session or transaction than this one.
    pub fn is_kept_by_others(&self, relation: RelationId) -> bool {
        self.store.inner.instances.count(relation) > usize::from(self.keeps(relation))
    }

    /// Whether a temporary relation has rows, or had some, of this session or transaction.
    pub fn keeps(&self, relation: RelationId) -> bool {
        self.instances.has(relation)
            || self.session.as_ref().is_some_and(|session| session.instances.has(relation))
    }

    /// The layout under which the rows of a temporary relation are kept; `None` for other relations, and if there are no rows yet.
    ///
    /// # Errors
    /// `LayoutChanged`.
    pub(crate) fn instance(&self, layout: &RelationLayout) -> Result<Option<Arc<RelationLayout>>> {
        let inner = &self.store.inner;
        match (layout.temporary, &self.session) {
            (None, _) => Ok(None),
            (Some(TemporaryRows::UntilSessionEnds), Some(session)) => session.instances.find(inner, layout),
            (Some(_), _) => self.instances.find(inner, layout),
        }
    }

    /// The instance in which the rows of a temporary relation are kept.
    pub(crate) fn instance_of(&self, relation: RelationId) -> Option<RelationId> {
        let of_session = || self.session.as_ref()?.instances.number_of(relation);
        self.instances.number_of(relation).or_else(of_session)
    }

    /// The figures of a temporary relation's instance, with the numbers that the catalog has of its indexes.
    pub(crate) fn in_catalogs_indexes(
        &self,
        relation: RelationId,
        figures: Arc<RelationStatistics>,
    ) -> Arc<RelationStatistics> {
        let of_session = || self.session.as_ref()?.instances.indexes_of(relation);
        let Some(numbers) = self.instances.indexes_of(relation).or_else(of_session) else { return figures };
        if figures.indexes.is_empty() {
            return figures;
        }
        let mut figures = RelationStatistics::clone(&figures);
        for index in &mut figures.indexes {
            let catalogs = numbers.iter().find(|(_, own)| *own == index.id);
            index.id = catalogs.map_or(index.id, |(catalogs, _)| *catalogs);
        }
        Arc::new(figures)
    }

    /// As [`Transaction::instance`], for a write: makes the instance if there is none.
    pub(super) fn instance_to_write(&self, layout: &RelationLayout) -> Result<Option<Arc<RelationLayout>>> {
        let inner = &self.store.inner;
        if layout.temporary.is_some() && !self.keeps(layout.id) {
            // Whoever adds an index locks out those who begin an instance without it.
            self.lock_latest(layout, LockLevel::SharedWrite)?;
        }
        let instance = match (layout.temporary, &self.session) {
            (None, _) => return Ok(None),
            (Some(TemporaryRows::UntilSessionEnds), Some(session)) => {
                session.instances.find_or_begin(inner, layout)
            }
            (Some(_), _) => self.instances.find_or_begin(inner, layout),
        };
        instance.map(Some)
    }

    /// Notes of which instances there is something in the file, or will be with the commit.
    pub(super) fn note_instances_in_file(&self, core: &Core) {
        self.instances.note_in_file(|relation| core.spilled.contains_key(&relation));
        if let Some(session) = &self.session {
            session.instances.note_in_file(|relation| {
                core.spilled.contains_key(&relation) || core.writes.relation(relation).is_some()
            });
        }
    }

    /// Forgets, before the commit, the rows that last as long as the transaction and are in memory only.
    pub(super) fn forget_temporary_rows(&self, core: &mut Core) {
        for layout in self.instances.in_memory() {
            let indexes = layout.indexes.iter().map(|index| index.id);
            for (index, entries) in core.writes.forget(layout.id, indexes) {
                self.store.inner.pending_keys.remove_of_ended(index, core.id, &entries);
            }
            core.formats.retain(|(relation, _), _| *relation != layout.id);
            core.blobs.give_up_of(layout.id);
        }
    }
}

/// The index of the catalog's layout in the place of the instance's: who asked knows that one.
pub(super) fn in_catalogs_terms(
    error: StoreError,
    layout: &RelationLayout,
    instance: Option<&RelationLayout>,
) -> StoreError {
    match (error, instance) {
        (StoreError::UniqueViolation { index, values }, Some(instance)) => {
            StoreError::UniqueViolation { index: catalogs_index(index, layout, instance), values }
        }
        (error, _) => error,
    }
}

fn catalogs_index(index: IndexId, layout: &RelationLayout, instance: &RelationLayout) -> IndexId {
    let place = instance.indexes.iter().position(|known| known.id == index);
    place.and_then(|place| layout.indexes.get(place)).map_or(index, |known| known.id)
}
