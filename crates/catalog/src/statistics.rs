//! What is known of the contents of tables: how a catalog comes to the figures that its store keeps.
//!
//! Planning asks through a trait, so that tests can say what it shall believe. All figures are estimates: a plan made from
//! wrong ones is slow, never wrong.

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use farbird_session::external_files::ExternalFolders;
use farbird_store::{RelationId, RelationStatistics, Store};
use parking_lot::RwLock;

use crate::{Relation, external};

/// Gives the figures of tables.
pub trait StatisticsSource: Send + Sync {
    /// What is known of a table; nothing if nobody can tell.
    fn relation(&self, relation: RelationId) -> Option<Arc<RelationStatistics>>;
}

/// Where the figures of a catalog's tables come from; by default there are none. Copies have one source.
#[derive(Clone, Default)]
pub struct Statistics {
    source: Option<Arc<Source>>,
    /// What a transaction sees of tables that it has changed much.
    seen: Arc<[Seen]>,
}

/// The figures of a table as one transaction sees it.
pub type Seen = (RelationId, Arc<RelationStatistics>);

struct Source {
    own: Arc<dyn StatisticsSource>,
    /// What is believed instead.
    believed: RwLock<Option<Arc<dyn StatisticsSource>>>,
    /// Where external tables have their rows.
    folders: OnceLock<Arc<ExternalFolders>>,
}

/// A store that may be closed while catalogs are still held.
struct OpenStore(Weak<Store>);

impl StatisticsSource for OpenStore {
    fn relation(&self, relation: RelationId) -> Option<Arc<RelationStatistics>> {
        Some(self.0.upgrade()?.relation_statistics(relation))
    }
}

impl Statistics {
    /// The figures that a store keeps.
    pub fn of_store(store: &Arc<Store>) -> Statistics {
        Statistics::from_source(Arc::new(OpenStore(Arc::downgrade(store))))
    }

    /// Figures from this source.
    pub fn from_source(source: Arc<dyn StatisticsSource>) -> Statistics {
        let source = Source { own: source, believed: RwLock::default(), folders: OnceLock::new() };
        Statistics { source: Some(Arc::new(source)), seen: Arc::default() }
    }

    /// The same source, but for these tables.
    #[must_use]
    pub fn with(&self, seen: &[Seen]) -> Statistics {
        Statistics { source: self.source.clone(), seen: seen.into() }
    }

    /// Makes the planner believe other figures from here on, of all catalogs of an open database; `None`: its own again. So
    /// any plan can be had that the planner would ever choose, and none gives other rows.
    pub fn believe(&self, figures: Option<Arc<dyn StatisticsSource>>) {
        if let Some(source) = &self.source {
            *source.believed.write() = figures;
        }
    }

    /// Says where external tables have their rows.
    pub(crate) fn set_external_folders(&self, folders: &Arc<ExternalFolders>) {
        if let Some(source) = &self.source {
            // Only the first time counts.
            let _ = source.folders.set(Arc::clone(folders));
        }
    }

    /// About how many rows an external table has; nothing if nobody can tell.
    pub fn external_rows(&self, relation: &Relation) -> Option<u64> {
        external::rows_by_length(relation, self.source.as_ref()?.folders.get()?)
    }

    /// What is known of a table; nothing if it has no rows, since it will have some.
    pub fn relation(&self, relation: RelationId) -> Option<Arc<RelationStatistics>> {
        let source = self.source.as_ref()?;
        let seen =
            || self.seen.iter().find(|(id, _)| *id == relation).map(|(_, figures)| Arc::clone(figures));
        let figures = match source.believed.read().clone() {
            Some(believed) => believed.relation(relation),
            None => seen().or_else(|| source.own.relation(relation)),
        };
        figures.filter(|statistics| statistics.rows > 0)
    }
}

impl fmt::Debug for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.source.is_some() { "Statistics" } else { "NoStatistics" })
    }
}
