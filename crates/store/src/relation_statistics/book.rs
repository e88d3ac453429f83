//! The figures of all relations that somebody has asked for or changed, what commits have changed since each was looked at,
//! and when to look again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::look::{Effort, Look};
use super::{RelationStatistics, stored};
use crate::keyspace::meta;
use crate::numbers::read_number;
use crate::store::Inner;
use crate::substrate::{Space, SubstrateState, WriteBatch};
use crate::transaction::Core;
use crate::write_set::OwnRow;
use crate::{CancelFlag, CommitNumber, RelationId, RelationLayout, Result};

/// Fewer changes are nobody's concern.
const CHANGES_MIN: u64 = 64;
/// Part of a relation's rows that is worth another look, or another plan.
const NOTABLE_PART: u64 = 10;

/// Changed rows that are counted one by one for who plans a statement.
const CHANGES_COUNTED_MAX: usize = 4_096;

/// What is known of all relations.
#[derive(Debug, Default)]
pub(crate) struct StatisticsBook {
    relations: Mutex<HashMap<RelationId, Known>>,
}

/// What is known of a relation.
#[derive(Debug, Default)]
struct Known {
    /// Whether the file was asked.
    is_loaded: bool,
    /// Whether somebody has asked who did not want to wait for a look.
    is_wanted: bool,
    /// Rows that commits have added, less those that they took away, since the database was opened.
    added: i64,
    /// Rows that commits have inserted, updated or deleted since.
    changed: u64,
    looked: Option<Looked>,
}

/// What a look has found.
#[derive(Debug, Clone)]
struct Looked {
    /// The relation as it was described then; `None`: by whoever had the database open before.
    layout: Option<Arc<RelationLayout>>,
    effort: Effort,
    /// `Known::added` and `Known::changed` of the moment.
    added: i64,
    changed: u64,
    rows: u64,
    /// When; `None`: by whoever had the database open before.
    at: Option<Instant>,
    /// What is told, with the rows as of now or nearly so.
    told: Arc<RelationStatistics>,
}

/// What a transaction has changed of a relation.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Changed {
    /// Rows inserted, less those deleted.
    pub(crate) rows: i64,
    /// Rows inserted, updated or deleted.
    pub(crate) changes: u64,
}

impl Changed {
    /// What a running transaction has changed of a relation.
    fn of(core: &Core, relation: RelationId) -> Changed {
        Changed::by(core, relation, usize::MAX)
    }

    /// As [`Changed::of`], in bounded time: of very many changed rows the first ones stand for all.
    pub(super) fn about(core: &Core, relation: RelationId) -> Changed {
        Changed::by(core, relation, CHANGES_COUNTED_MAX)
    }

    fn by(core: &Core, relation: RelationId, counted_max: usize) -> Changed {
        let mut changed = core.spilled_changes(relation);
        let Some(writes) = core.writes.relation(relation) else { return changed };
        for run in writes.runs() {
            changed.rows += run.len() as i64;
            changed.changes += run.len() as u64;
        }
        let count = writes.changed_count();
        let counted = writes.changed(..).take(counted_max);
        let deleted = counted.filter(|(_, own)| *own == OwnRow::Deleted).count();
        changed.changes += count as u64;
        changed.rows -= match count <= counted_max {
            true => deleted as i64,
            false => (deleted as f64 * count as f64 / counted_max as f64) as i64,
        };
        changed
    }

    /// What it has changed of all relations.
    pub(crate) fn of_all(core: &Core) -> Vec<(RelationId, Changed)> {
        core.changed_relations().map(|relation| (relation, Changed::of(core, relation))).collect()
    }
}

/// What is to be done before figures can be told.
enum Advice {
    /// Nothing.
    Tell(Arc<RelationStatistics>),
    /// The file is to be asked.
    Load,
    /// A quick look is to be taken.
    Look,
}

impl Known {
    fn rows_now(&self, looked: &Looked) -> u64 {
        looked.rows.saturating_add_signed(self.added - looked.added)
    }

    fn changes_since(&self, looked: &Looked) -> u64 {
        self.changed - looked.changed
    }

    fn advice(&mut self, layout: Option<&Arc<RelationLayout>>) -> Advice {
        let Some(layout) = layout else { return Advice::Tell(Arc::default()) };
        if !self.is_loaded {
            return Advice::Load;
        }
        let Some(looked) = &self.looked else { return Advice::Look };
        let since = self.changes_since(looked);
        let is_small = looked.rows <= Effort::Quick.rows();
        let is_worth_it = match is_small {
            true => since > (looked.rows / NOTABLE_PART).max(CHANGES_MIN),
            false => since > looked.rows,
        };
        if is_worth_it || !looked.is_of(layout) {
            return Advice::Look;
        }
        let rows = self.rows_now(looked);
        if let Some(looked) = &mut self.looked
            && rows != looked.told.rows
        {
            looked.tell(rows);
        }
        self.looked.as_ref().map_or(Advice::Look, |looked| Advice::Tell(Arc::clone(&looked.told)))
    }

    /// Whether the background should look. What a look was taken at waits for the next one for so long, unless hardly anything
    /// is left of what was seen: statement after statement that changes many rows costs no look each.
    fn is_due(&self, layout: &Arc<RelationLayout>, looks_apart: Duration) -> bool {
        match &self.looked {
            None => self.is_wanted || self.changed >= CHANGES_MIN,
            Some(looked) => {
                let since = self.changes_since(looked);
                let is_rested = since > looked.rows || looked.at.is_none_or(|at| at.elapsed() >= looks_apart);
                is_rested && since > (looked.rows / NOTABLE_PART).max(CHANGES_MIN)
                    || !looked.is_of(layout)
                    || looked.effort == Effort::Quick && !looked.told.is_exact
            }
        }
    }
}

impl Looked {
    /// Whether it is about the relation as it is described now.
    fn is_of(&self, layout: &Arc<RelationLayout>) -> bool {
        match &self.layout {
            Some(known) if Arc::ptr_eq(known, layout) => true,
            Some(known) if known.current != layout.current => false,
            _ => layout.indexes.iter().all(|index| !index.active || self.told.index(index.id).is_some()),
        }
    }

    /// Tells another number of rows; as other figures if it is notably another one.
    fn tell(&mut self, rows: u64) {
        let is_notable = rows.abs_diff(self.told.rows) > self.told.rows / NOTABLE_PART;
        let version = self.told.version + u64::from(is_notable);
        // Few rows more or less are told with the next ten.
        if is_notable || rows.abs_diff(self.told.rows) > self.told.rows / (NOTABLE_PART * NOTABLE_PART) {
            self.told = Arc::new(self.told.with_rows(rows, version));
        }
    }
}

impl StatisticsBook {
    /// Notes what a commit has changed. To be called while it is published.
    pub(crate) fn note(&self, changes: &[(RelationId, Changed)]) {
        let mut relations = self.relations.lock();
        for (relation, changed) in changes {
            let known = relations.entry(*relation).or_default();
            known.added += changed.rows;
            known.changed += changed.changes;
        }
    }

    /// Figures of a look at all rows since which nothing has changed.
    fn exact(&self, layout: &Arc<RelationLayout>) -> Option<Arc<RelationStatistics>> {
        let relations = self.relations.lock();
        let known = relations.get(&layout.id)?;
        let looked = known.looked.as_ref()?;
        let is_exact = looked.told.is_exact && known.changes_since(looked) == 0 && looked.is_of(layout);
        is_exact.then(|| Arc::clone(&looked.told))
    }

    /// Forgets a relation that is gone.
    pub(crate) fn forget(&self, relation: RelationId) {
        self.relations.lock().remove(&relation);
    }

    fn loaded(&self, layout: &RelationLayout, found: Option<(RelationStatistics, Effort)>) {
        let mut relations = self.relations.lock();
        let known = relations.entry(layout.id).or_default();
        known.is_loaded = true;
        if let (None, Some((mut told, effort))) = (&known.looked, found) {
            told.version = 1;
            let rows = told.rows;
            known.looked = Some(Looked {
                layout: None,
                effort,
                added: 0,
                changed: 0,
                rows,
                at: None,
                told: Arc::new(told),
            });
        }
    }
}

impl Inner {
    /// As [`crate::Store::relation_statistics`].
    pub(super) fn relation_statistics(&self, relation: RelationId) -> Arc<RelationStatistics> {
        let layout = self.registered_layout(relation);
        loop {
            let advice =
                self.statistics.relations.lock().entry(relation).or_default().advice(layout.as_ref());
            let Some(layout) = &layout else { return Arc::default() };
            match advice {
                Advice::Tell(told) => return told,
                Advice::Load => self.load_statistics(layout),
                Advice::Look => return self.look_again(layout, Effort::Quick),
            }
        }
    }

    /// As [`crate::Store::known_statistics`].
    pub(super) fn known_statistics(&self, relation: RelationId) -> Option<Arc<RelationStatistics>> {
        let layout = self.registered_layout(relation)?;
        let advice = || {
            let mut relations = self.statistics.relations.lock();
            let known = relations.entry(relation).or_default();
            known.is_wanted = true;
            known.advice(Some(&layout))
        };
        match advice() {
            Advice::Tell(told) => return Some(told),
            Advice::Load => self.load_statistics(&layout),
            Advice::Look => {}
        }
        match advice() {
            Advice::Tell(told) => Some(told),
            _ => None,
        }
    }

    /// As [`crate::Store::analyze`].
    pub(super) fn analyze(
        &self,
        relation: RelationId,
        cancel: &CancelFlag,
    ) -> Result<Option<Arc<RelationStatistics>>> {
        let Some(layout) = self.registered_layout(relation) else { return Ok(None) };
        if let Some(exact) = self.statistics.exact(&layout) {
            return Ok(Some(exact));
        }
        self.look(&layout, Effort::Whole, cancel).map(Some)
    }

    /// Takes figures from the file if they are as of its latest commit.
    fn load_statistics(&self, layout: &RelationLayout) {
        let snapshot = self.snapshot();
        let load = || -> Result<Option<(RelationStatistics, Effort)>> {
            let Some(value) = snapshot.get(Space::Meta, &meta::statistics(layout.id))? else {
                return Ok(None);
            };
            // What was committed since this database was opened is counted.
            let is_whole = self.statistics_as_of == Some(self.opened_at);
            Ok(stored::decode(&value, layout).filter(|_| is_whole))
        };
        let found = load().unwrap_or_else(|error| {
            tracing::warn!(%error, relation = layout.id.0, "figures of a relation cannot be read");
            None
        });
        self.statistics.loaded(layout, found);
    }

    /// Looks; what cannot be looked at has no figures, or the old ones.
    fn look_again(&self, layout: &Arc<RelationLayout>, effort: Effort) -> Arc<RelationStatistics> {
        self.look(layout, effort, &CancelFlag::new()).unwrap_or_else(|error| {
            tracing::warn!(%error, relation = layout.id.0, "a relation cannot be looked at for its figures");
            let relations = self.statistics.relations.lock();
            let known = relations.get(&layout.id).and_then(|known| known.looked.as_ref());
            known.map_or_else(Arc::default, |looked| Arc::clone(&looked.told))
        })
    }

    fn look(
        &self,
        layout: &Arc<RelationLayout>,
        effort: Effort,
        cancel: &CancelFlag,
    ) -> Result<Arc<RelationStatistics>> {
        let (until, snapshot, added, changed, rows) = self.with_published(|published| {
            let mut relations = self.statistics.relations.lock();
            let known = relations.entry(layout.id).or_default();
            let rows = known.looked.as_ref().map(|looked| known.rows_now(looked));
            (published, self.snapshot(), known.added, known.changed, rows)
        });
        let found = Look { inner: self, layout, snapshot, until, cancel }.at(effort, rows)?;
        let mut relations = self.statistics.relations.lock();
        let known = relations.entry(layout.id).or_default();
        let version = known.looked.as_ref().map_or(1, |looked| looked.told.version + 1);
        let rows = found.rows;
        let told = Arc::new(RelationStatistics { version, ..found });
        known.is_loaded = true;
        known.looked = Some(Looked {
            layout: Some(Arc::clone(layout)),
            effort,
            added,
            changed,
            rows,
            at: Some(Instant::now()),
            told: Arc::clone(&told),
        });
        Ok(told)
    }

    /// Looks at a relation that has changed much since it was looked at, if there is one: what the sweep does when it has nothing
    /// else to do, but not sooner than so long after the look before. Whether there was.
    pub(crate) fn look_at_changed(&self, looks_apart: Duration) -> bool {
        let due = {
            let relations = self.statistics.relations.lock();
            let mut changed =
                relations.iter().filter(|(_, known)| known.looked.is_some() || known.changed > 0);
            changed.find_map(|(relation, known)| {
                self.registered_layout(*relation).filter(|layout| known.is_due(layout, looks_apart))
            })
        };
        let Some(layout) = due else { return false };
        let before = self.statistics_moment(layout.id);
        self.look_again(&layout, Effort::Usual);
        // One that cannot be looked at is not looked at for ever.
        before != self.statistics_moment(layout.id)
    }

    fn statistics_moment(&self, relation: RelationId) -> Option<(Effort, u64, u64)> {
        let relations = self.statistics.relations.lock();
        let looked = relations.get(&relation)?.looked.as_ref()?;
        Some((looked.effort, looked.changed, looked.told.version))
    }

    /// Adds the figures to the last write before the database is closed.
    pub(crate) fn store_statistics(&self, batch: &mut WriteBatch) {
        let changed: Vec<RelationId> = {
            let relations = self.statistics.relations.lock();
            let is_new = |known: &Known| {
                known.changed > 0 || known.looked.as_ref().is_some_and(|looked| looked.layout.is_some())
            };
            relations.iter().filter(|(_, known)| is_new(known)).map(|(relation, _)| *relation).collect()
        };
        let is_whole = self.statistics_as_of == Some(self.opened_at);
        if changed.is_empty() && is_whole && self.last_commit() == self.opened_at {
            return;
        }
        for layout in changed.iter().filter_map(|relation| self.registered_layout(*relation)) {
            if !self.statistics.relations.lock().get(&layout.id).is_some_and(|known| known.is_loaded) {
                self.load_statistics(&layout);
            }
            let relations = self.statistics.relations.lock();
            let key = meta::statistics(layout.id);
            let known = relations.get(&layout.id);
            match known.and_then(|known| Some((known, known.looked.as_ref()?))) {
                Some((known, looked)) if looked.is_of(&layout) => {
                    let figures = looked.told.with_rows(known.rows_now(looked), 0);
                    let figures = RelationStatistics {
                        is_exact: looked.told.is_exact && known.changes_since(looked) == 0,
                        ..figures
                    };
                    batch.put(Space::Meta, key, stored::encode(&figures, looked.effort, &layout));
                }
                _ => batch.delete(Space::Meta, key),
            }
        }
        let now = self.last_commit();
        batch.put(Space::Meta, meta::STATISTICS_AS_OF.to_vec(), now.0.to_le_bytes().to_vec());
    }
}

/// The commit as of which the file's figures are; `None`: there are none, or they cannot be read.
pub(crate) fn figures_as_of(snapshot: &dyn SubstrateState) -> Option<CommitNumber> {
    read_number(snapshot, meta::STATISTICS_AS_OF).ok().flatten().map(CommitNumber)
}
