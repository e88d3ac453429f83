//! Keeps a relation's layout beside the relation.

use std::sync::{Arc, OnceLock};

use farbird_store::RelationLayout;

/// A relation's layout, once it was asked for. Not part of the relation's value: a copy starts without.
#[derive(Debug, Default)]
pub struct LayoutCache(OnceLock<Arc<RelationLayout>>);

impl LayoutCache {
    /// The layout; made when it is first asked for.
    pub(crate) fn get_or_make(&self, make: impl FnOnce() -> RelationLayout) -> &Arc<RelationLayout> {
        self.0.get_or_init(|| Arc::new(make()))
    }
}

impl Clone for LayoutCache {
    /// Copies are made to be changed.
    fn clone(&self) -> LayoutCache {
        LayoutCache::default()
    }
}

impl PartialEq for LayoutCache {
    fn eq(&self, _other: &LayoutCache) -> bool {
        true
    }
}
