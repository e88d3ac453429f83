//! Expressions and conditions of indexes: texts to what the store evaluates.

use std::sync::{Arc, OnceLock};

use farbird_store::{KeyExpression, RowPredicate};
use farbird_types::{Error, Result, SqlType};

use crate::{Index, Relation};

/// What makes an index's expression of its text. Binder and evaluator stand above the catalog; the engine gives one.
pub trait IndexCompiler: Send + Sync {
    /// The COMPUTED BY expression of an index, and the type of its value.
    ///
    /// # Errors
    /// Those of binding; `wish_list` if it looks at more than its row.
    fn value(
        &self,
        relation: &Relation,
        index: &Index,
        source: &str,
    ) -> Result<(Arc<dyn KeyExpression>, SqlType)>;

    /// The condition of a partial index.
    ///
    /// # Errors
    /// As [`IndexCompiler::value`].
    fn condition(&self, relation: &Relation, index: &Index, source: &str) -> Result<Arc<dyn RowPredicate>>;
}

static COMPILER: OnceLock<&'static dyn IndexCompiler> = OnceLock::new();

/// Says once for the process who makes expressions of indexes; what comes later is not heard. Without one, indexes with
/// expressions or conditions count as not maintained.
pub fn set_index_compiler(compiler: &'static dyn IndexCompiler) {
    let _ = COMPILER.set(compiler);
}

pub(crate) fn index_compiler() -> Result<&'static dyn IndexCompiler> {
    COMPILER.get().copied().ok_or_else(|| Error::internal("nobody makes expressions of indexes"))
}
