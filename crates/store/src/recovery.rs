//! What an open does after a crash: the substrate recovers itself; here the traces of unfinished transactions go.

use std::ops::Bound;

use crate::blob::references::delete_uncommitted;
use crate::keyspace::{self, meta};
use crate::spilled::parse_mark;
use crate::substrate::{Direction, Durability, Space, Substrate, SubstrateState, WriteBatch};
use crate::temporary::{Instances, put_dropped};
use crate::transaction::prepared::recorded;
use crate::{IndexId, RelationId, Result};

/// Deletes BLOBs, half-filled indexes and new relations of transactions that were running when the database was left.
/// Rows that they have spilled into other relations are seen by nobody; the sweep, which knows the relations' indexes,
/// removes them.
pub(crate) fn remove_unfinished(substrate: &dyn Substrate) -> Result<()> {
    let snapshot = substrate.snapshot()?;
    let mut batch = WriteBatch::new();
    for key in marks(&*snapshot, meta::PENDING_BLOB)? {
        if let Some(blob) = key.get(meta::PENDING_BLOB.len()..).and_then(keyspace::number) {
            delete_uncommitted(&*snapshot, blob, &mut batch)?;
        }
        batch.delete(Space::Meta, key);
    }
    for key in marks(&*snapshot, meta::PENDING_INDEX)? {
        if let Some(index) = key.get(meta::PENDING_INDEX.len()..).and_then(id) {
            batch.clear(Space::Index(IndexId(index)));
        }
        batch.delete(Space::Meta, key);
    }
    let prepared = recorded(&*snapshot)?;
    for key in marks(&*snapshot, meta::PENDING_ROWS)? {
        let mark = key.get(meta::PENDING_ROWS.len()..).and_then(parse_mark);
        let value = snapshot.get(Space::Meta, &key)?;
        let Some((relation, indexes)) = mark.zip(value.as_deref().and_then(created_indexes)) else {
            continue;
        };
        if prepared.contains(&relation.0) {
            continue;
        }
        clear_created(relation.1, indexes, &mut batch);
        batch.delete(Space::Meta, key);
    }
    if batch.is_empty() { Ok(()) } else { substrate.write(batch, Durability::Durable) }
}

/// The numbers that instances of temporary relations may have from now on. What the file still has of instances goes to the sweep.
pub(crate) fn begin_instances(snapshot: &dyn SubstrateState, batch: &mut WriteBatch) -> Result<Instances> {
    let (mut relations, mut indexes) = (Vec::new(), Vec::new());
    for key in marks(snapshot, meta::TEMPORARY)? {
        let Some(relation) = key.get(meta::TEMPORARY.len()..).and_then(id) else { continue };
        let value = snapshot.get(Space::Meta, &key)?;
        let own: Vec<u32> = value.iter().flat_map(|value| value.chunks(4)).filter_map(id).collect();
        put_dropped(RelationId(relation), own.iter().copied().map(IndexId), batch);
        relations.push(relation);
        indexes.extend(own);
    }
    for (prefix, numbers) in [(meta::DROPPED_RELATION, &mut relations), (meta::DROPPED_INDEX, &mut indexes)] {
        let dropped = marks(snapshot, prefix)?;
        numbers.extend(dropped.iter().filter_map(|key| id(key.get(prefix.len()..)?)));
    }
    Ok(Instances::behind(&relations, &indexes))
}

/// The indexes that a mark of uncommitted rows names, if its transaction created the relation.
fn created_indexes(value: &[u8]) -> Option<impl Iterator<Item = IndexId>> {
    let numbers = value.strip_prefix(&[meta::CREATED])?;
    Some(numbers.chunks(4).filter_map(id).map(IndexId))
}

/// Removes all that a transaction has spilled of a relation that it had created itself.
pub(crate) fn clear_created(
    relation: RelationId,
    indexes: impl Iterator<Item = IndexId>,
    batch: &mut WriteBatch,
) {
    batch.clear(Space::Blocks(relation));
    batch.clear(Space::Changes(relation));
    for index in indexes {
        batch.clear(Space::Index(index));
    }
}

/// Keys of the meta space that begin with `prefix`.
pub(crate) fn marks(snapshot: &dyn SubstrateState, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
    let after = keyspace::after_prefix(prefix);
    let upper = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let entries = snapshot.scan(Space::Meta, (Bound::Included(prefix), upper), Direction::Forward)?;
    entries.map(|entry| entry.map(|(key, _)| key.to_vec())).collect()
}

/// A relation's or index's number in a mark's key.
pub(crate) fn id(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_be_bytes)
}
