//! Compiled routines of a catalog.
//!
//! The cache belongs to a catalog value and knows the version it was filled for: a copy starts empty, and a catalog that
//! is changed in place forgets what it had.

use std::collections::HashMap;
use std::sync::Arc;

use farbird_catalog::RelationId;
use farbird_sql::ast::DdlEvent;
use farbird_types::Result;
use parking_lot::Mutex;

use crate::routine::CompiledRoutine;

/// The compiled routines of one catalog.
#[derive(Default)]
pub(super) struct RoutineCache {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    version: u64,
    routines: HashMap<Key, Arc<[Arc<CompiledRoutine>]>>,
}

/// What is looked for. Numbers are never used again, so they name an object as well as its name does, and are cheaper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// RDB$PROCEDURE_ID, and whether it is one of those that come with every database: older files number theirs from 1 too.
    Procedure(u32, bool),
    /// As well, RDB$FUNCTION_ID.
    Function(u32, bool),
    /// The triggers of a relation for one of its six moments, in the order in which they fire.
    Triggers(RelationId, u8),
    /// The triggers of RDB$TRIGGER_TYPE: of connecting, disconnecting, and of transactions.
    DatabaseTriggers(u64),
    /// The triggers of a DDL event, of those that are committed; whether AFTER.
    DdlTriggers(DdlEvent, bool),
}

impl RoutineCache {
    /// What is known under a key, made by `compile` if it is new.
    ///
    /// # Errors
    /// Those of compiling.
    pub(super) fn routines(
        &self,
        version: u64,
        key: Key,
        compile: impl FnOnce() -> Result<Vec<Arc<CompiledRoutine>>>,
    ) -> Result<Arc<[Arc<CompiledRoutine>]>> {
        {
            let mut inner = self.inner.lock();
            if inner.version != version {
                *inner = Inner { version, routines: HashMap::new() };
            }
            if let Some(known) = inner.routines.get(&key) {
                return Ok(Arc::clone(known));
            }
        }
        // Not under the lock: compiling may take its time.
        let compiled: Arc<[Arc<CompiledRoutine>]> = compile()?.into();
        let mut inner = self.inner.lock();
        if inner.version == version {
            inner.routines.insert(key, Arc::clone(&compiled));
        }
        Ok(compiled)
    }
}
