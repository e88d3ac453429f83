//! Who is told of commits before anybody can see them: what others keep of a database's contents is dropped in time.

use crate::{CommitNumber, RelationId};

/// Told of commits.
pub trait CommitListener: Send + Sync + std::fmt::Debug {
    /// A commit is about to become visible: no transaction sees it before this returns. All commits wait for this, and it must not
    /// call the store. `relations` are those whose rows have changed; `is_catalog_changed` says whether definitions have.
    fn committed(&self, number: CommitNumber, relations: &[RelationId], is_catalog_changed: bool);
}
