//! The leaf of an index that is asked for again and again: whoever looks up keys in their order, or always the same ones, finds it
//! here instead of through the tree.

use parking_lot::Mutex;

use super::read::{SharedLeaf, last_entry};
use crate::Result;

/// The leaf that was asked for twice in a row last. Of a state that does not change.
#[derive(Default)]
pub(in crate::substrate) struct RecentLeaf(Mutex<Recent>);

#[derive(Default)]
struct Recent {
    /// Key of the leaf that was asked for last.
    key: Vec<u8>,
    /// The one asked for twice, and its last entry.
    leaf: Option<(SharedLeaf, Vec<u8>)>,
}

impl RecentLeaf {
    /// The leaf that an entry belongs to, if it is this one. Who comes at the same time as another does not wait.
    pub(in crate::substrate) fn of(&self, entry: &[u8]) -> Option<SharedLeaf> {
        let recent = self.0.try_lock()?;
        let (leaf, last) = recent.leaf.as_ref()?;
        (&*leaf.0 <= entry && entry <= last.as_slice()).then(|| SharedLeaf::clone(leaf))
    }

    /// Takes note of a leaf that was asked for.
    ///
    /// # Errors
    /// `Corrupt` if it is damaged.
    pub(in crate::substrate) fn note(&self, leaf: &SharedLeaf) -> Result<()> {
        let Some(mut recent) = self.0.try_lock() else { return Ok(()) };
        let (key, value) = &**leaf;
        if recent.key == **key {
            recent.leaf = Some((SharedLeaf::clone(leaf), last_entry(key, value)?));
        } else {
            recent.key.clear();
            recent.key.extend_from_slice(key);
        }
        Ok(())
    }
}
