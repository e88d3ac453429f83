//! A walk over a space that goes on behind what cannot be read.

use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use crate::StoreError;
use crate::substrate::{ALL_KEYS, Direction, Entries, Slice, Space, SubstrateState};

/// All entries of a space in order, and where there are some that cannot be read.
pub(super) struct Walk {
    snapshot: Arc<dyn SubstrateState>,
    space: Space,
    entries: Option<Entries>,
    /// The last key read.
    last: Option<Vec<u8>>,
    begun: bool,
}

/// Entries that cannot be read.
#[derive(Debug)]
pub(super) struct Gap {
    error: StoreError,
    /// Whether there are any behind it that can.
    is_bounded: bool,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extent = if self.is_bounded { "some entries" } else { "the remaining entries" };
        write!(f, "{extent} cannot be read: {}", self.error)
    }
}

impl Walk {
    pub(super) fn new(snapshot: &Arc<dyn SubstrateState>, space: Space) -> Walk {
        Walk { snapshot: Arc::clone(snapshot), space, entries: None, last: None, begun: false }
    }

    pub(super) fn next(&mut self) -> Option<Result<(Slice, Slice), Gap>> {
        if !self.begun {
            self.begun = true;
            match self.snapshot.scan(self.space, ALL_KEYS, Direction::Forward) {
                Ok(entries) => self.entries = Some(entries),
                Err(error) => return Some(Err(self.pass(error))),
            }
        }
        match self.entries.as_mut()?.next()? {
            Ok((key, value)) => {
                let last = self.last.get_or_insert_default();
                last.clear();
                last.extend_from_slice(&key);
                Some(Ok((key, value)))
            }
            Err(error) => Some(Err(self.pass(error))),
        }
    }

    /// Goes to the first entry behind the damage, which is found from the other end.
    fn pass(&mut self, error: StoreError) -> Gap {
        self.entries = None;
        let behind = self.last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let backward = self.snapshot.scan(self.space, (behind, Bound::Unbounded), Direction::Backward);
        let readable = backward.into_iter().flatten().map_while(|entry| entry.ok());
        let first = readable.last().map(|(key, _)| key.to_vec());
        if let Some(first) = &first {
            let span = (Bound::Included(first.as_slice()), Bound::Unbounded);
            self.entries = self.snapshot.scan(self.space, span, Direction::Forward).ok();
        }
        Gap { error, is_bounded: first.is_some() }
    }
}
