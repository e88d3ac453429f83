//! Events that a transaction tells others of when it commits, as far as savepoints may still take them back.
//!
//! Of a name there is at most one count for each savepoint that is open, however often it is posted.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// Different names that one transaction may post.
const NAMES_MAX: usize = 65_536;

/// Events that a transaction has posted.
#[derive(Debug, Default)]
pub(crate) struct PostedEvents {
    /// The posts of each name, oldest first; none is empty.
    names: BTreeMap<Arc<str>, Vec<Posts>>,
}

#[derive(Debug, Clone, Copy)]
struct Posts {
    /// The change number of the first of them.
    change: u64,
    count: u32,
}

impl PostedEvents {
    /// Notes a post made at a change number. `savepoints` are those that can still be gone back to, in order. Gives false,
    /// and notes nothing, if there are too many names.
    pub(crate) fn post(&mut self, name: &str, change: u64, savepoints: &[u64]) -> bool {
        let is_full = self.names.len() >= NAMES_MAX;
        let posts = match self.names.entry(Arc::from(name)) {
            Entry::Vacant(_) if is_full => return false,
            Entry::Vacant(entry) => entry.insert(Vec::new()),
            Entry::Occupied(entry) => entry.into_mut(),
        };
        posts.push(Posts { change, count: 1 });
        // Those between the same savepoints stay or go together.
        let before = |posts: Posts| savepoints.partition_point(|savepoint| *savepoint < posts.change);
        while let [.., earlier, later] = &mut posts[..]
            && before(*earlier) == before(*later)
        {
            earlier.count = earlier.count.saturating_add(later.count);
            posts.pop();
        }
        true
    }

    /// Takes back what was posted after a savepoint.
    pub(crate) fn undo(&mut self, savepoint: u64) {
        self.names.retain(|_, posts| {
            posts.truncate(posts.partition_point(|posts| posts.change <= savepoint));
            !posts.is_empty()
        });
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// How often each name was posted.
    pub(crate) fn counts(&self) -> Vec<(Arc<str>, u32)> {
        let count =
            |posts: &Vec<Posts>| posts.iter().fold(0_u32, |sum, posts| sum.saturating_add(posts.count));
        self.names.iter().map(|(name, posts)| (Arc::clone(name), count(posts))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(events: &PostedEvents) -> Vec<(String, u32)> {
        events.counts().into_iter().map(|(name, count)| (name.to_string(), count)).collect()
    }

    #[test]
    fn a_savepoint_takes_back_what_came_after_it() {
        let mut events = PostedEvents::default();
        assert!(events.post("A", 5, &[]));
        assert!(events.post("A", 7, &[6]));
        assert!(events.post("B", 7, &[6]));
        assert!(events.post("A", 9, &[6, 8]));
        events.undo(8);
        assert_eq!(counts(&events), [("A".to_owned(), 2), ("B".to_owned(), 1)]);
        events.undo(6);
        assert_eq!(counts(&events), [("A".to_owned(), 1)]);
        events.undo(4);
        assert_eq!(counts(&events), []);
    }

    #[test]
    fn a_name_costs_as_much_as_there_are_savepoints() {
        let mut events = PostedEvents::default();
        for change in 0..1_000 {
            let savepoint = change / 10 * 10;
            assert!(events.post("A", change, &[3, savepoint.max(4)]));
            assert!(events.names["A"].len() <= 3, "{:?}", events.names);
        }
        assert_eq!(counts(&events), [("A".to_owned(), 1_000)]);
        events.undo(3);
        assert_eq!(counts(&events), [("A".to_owned(), 4)]);
    }

    #[test]
    fn names_are_bounded() {
        let mut events = PostedEvents::default();
        assert!((0..NAMES_MAX).all(|number| events.post(&number.to_string(), 1, &[])));
        assert!(!events.post("one more", 1, &[]));
        assert!(events.post("0", 1, &[]));
        assert_eq!(events.counts().len(), NAMES_MAX);
    }
}
