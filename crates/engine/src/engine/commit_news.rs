//! Commits of all databases of an engine, for those who keep what they have read: see [`CommitNews::subscribe`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use farbird_store::{CommitListener, CommitNumber, RelationId};
use parking_lot::Mutex;

/// Tells subscribers of commits.
#[derive(Default)]
pub struct CommitNews {
    subscribers: Mutex<Vec<Weak<CommitSubscription>>>,
}

impl std::fmt::Debug for CommitNews {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommitNews").field("subscribers", &self.subscribers.lock().len()).finish()
    }
}

/// What a subscriber has not taken yet, by the databases' numbers.
pub struct CommitSubscription {
    changes: Mutex<BTreeMap<u32, CommittedChanges>>,
    wake: Box<dyn Fn() + Send + Sync>,
}

/// What commits of one database have changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommittedChanges {
    /// The newest of them.
    pub commit: u64,
    /// Relations whose rows have changed.
    pub relations: BTreeSet<u32>,
    /// Whether definitions have changed, or privileges.
    pub is_catalog_changed: bool,
}

impl CommitNews {
    /// Begins to collect commits. A commit is among them before any transaction can see it. `wake` is called while nobody can commit: it
    /// must only leave a sign.
    pub fn subscribe(&self, wake: Box<dyn Fn() + Send + Sync>) -> Arc<CommitSubscription> {
        let subscription = Arc::new(CommitSubscription { changes: Mutex::default(), wake });
        let mut subscribers = self.subscribers.lock();
        subscribers.retain(|subscriber| subscriber.strong_count() > 0);
        subscribers.push(Arc::downgrade(&subscription));
        subscription
    }
}

impl CommitSubscription {
    /// What was committed since the last call, by the databases' numbers.
    pub fn take(&self) -> BTreeMap<u32, CommittedChanges> {
        std::mem::take(&mut self.changes.lock())
    }
}

/// Listens to one database.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) news: Arc<CommitNews>,
    pub(super) database: u32,
}

impl CommitListener for Listener {
    fn committed(&self, number: CommitNumber, relations: &[RelationId], is_catalog_changed: bool) {
        let subscribers = self.news.subscribers.lock();
        for subscriber in subscribers.iter().filter_map(Weak::upgrade) {
            let mut changes = subscriber.changes.lock();
            let own = changes.entry(self.database).or_default();
            own.commit = own.commit.max(number.0);
            own.relations.extend(relations.iter().map(|relation| relation.0));
            own.is_catalog_changed |= is_catalog_changed;
            drop(changes);
            (subscriber.wake)();
        }
    }
}
