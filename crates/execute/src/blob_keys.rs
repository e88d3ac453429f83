//! BLOBs as keys of groups and partitions: those of equal contents are one key.
//!
//! Where rows are only told apart or ordered (DISTINCT, UNION, ORDER BY) a BLOB counts by its id, as in Firebird.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use farbird_budget::Reservation;
use farbird_expression::ExecutionContext;
use farbird_function::blob::{blob_text, releasing};
use farbird_types::{BlobId, Collation, Result, Value, compare};

/// What a BLOB takes in the map, which is half full.
const ENTRY_BYTES: usize = 160;

/// The BLOBs that have been seen, one for each contents.
#[derive(Default)]
pub(crate) struct BlobKeys {
    known: HashMap<u64, Vec<BlobId>>,
    hasher: RandomState,
    /// What they are charged to, once there are any.
    memory: Option<Reservation>,
}

impl BlobKeys {
    /// A key's value: for a BLOB the first one that was seen with its contents; anything else as it is.
    ///
    /// # Errors
    /// Those of reading BLOBs; `virmemexh` past the statement's budget.
    pub(crate) fn key_of(
        &mut self,
        value: Value,
        collation: Collation,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Value> {
        let Value::Blob(id) = value else { return Ok(value) };
        context.check_interrupt()?;
        releasing(context, |context| self.first_of(id, collation, context)).map(Value::Blob)
    }

    /// The first BLOB that was seen with the contents of this one.
    fn first_of(
        &mut self,
        id: BlobId,
        collation: Collation,
        context: &mut ExecutionContext<'_>,
    ) -> Result<BlobId> {
        let contents = contents_key(id, collation, context)?;
        let candidates = self.known.entry(self.hasher.hash_one(&contents)).or_default();
        for candidate in candidates.iter() {
            if *candidate == id || contents_key(*candidate, collation, context)? == contents {
                return Ok(*candidate);
            }
        }
        self.memory.get_or_insert_with(|| context.budget.reserve()).grow(ENTRY_BYTES)?;
        candidates.push(id);
        Ok(id)
    }
}

fn contents_key(id: BlobId, collation: Collation, context: &mut ExecutionContext<'_>) -> Result<Vec<u8>> {
    let text = Value::Text(blob_text(context, id)?);
    let mut key = Vec::new();
    compare::equality_key(&text, collation, &mut key);
    Ok(key)
}
